"""`fit`: parameters from the rows of a table, by least squares, with their uncertainties.

`data` reads observations and parameters, `minimum` finds the least sum of squares and judges it, `fit` plans and carries out,
`notes` and `summary` say what was found, `figure` draws it; `command` is the verb. What fits share with `minimize` and `solve`
is in `adcli.solvers`.
"""
