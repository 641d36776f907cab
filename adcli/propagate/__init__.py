"""The verb propagate: uncertainties of inputs in, those of outputs out.

`command` takes the options and makes the budgets, `budgets` writes them, `monte_carlo` samples. The propagation itself is a
program (`adcli.lang.derive.uncertainty`), so rows and emitted code go the way of every verb.
"""
