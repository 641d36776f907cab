"""The verb propagate: uncertainties of inputs in, those of outputs out.

`command` takes the options, `prepare` makes the budgets of them for the shell and for Python. `given` has the points with the
uncertainties of inputs, `at_points` makes the budgets. `draws` draws inputs and `monte_carlo` samples outputs, `coverage` has
degrees of freedom and coverage factors; `budgets` and `tables` write what was found. The propagation itself is a program
(`adcli.lang.derive.uncertainty`), so rows and emitted code go the way of every verb.
"""
