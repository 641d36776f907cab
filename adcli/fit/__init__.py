"""`fit`: parameters from the rows of a table, by least squares or maximum likelihood, with their uncertainties.

`data` and `observed` read parameters and rows, `objective` has what is minimised, and parameters related by expressions,
`fit` plans and carries out, with the minimum that `adcli.numerics.least_squares` finds. `notes` and `summary` say what was found,
`inference` has what follows from it, `figure` draws it; `command` is the verb. What fits share with `minimize`
and `solve` is in `adcli.solvers`.
"""
