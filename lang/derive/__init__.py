"""Which sweeps give the derivatives that are asked for.

`derivatives` is the menu: gradient, Jacobian, Hessian, chosen partial derivatives, Hessian times a direction; `taylor` has
coefficients and `uncertainty` propagates standard uncertainties. Behind the menu `cost` says what a sweep costs and `sweep_plans`
takes the cheapest; `entries` makes sparse matrices statement by statement instead.

A file here chooses and composes sweeps; how one operation is differentiated is the table's business, how a sweep is written
down that of `adcli.lang.modes`, what is zero by construction that of `adcli.lang.sparsity`. Everything takes a Program and gives
a Program; no numbers of a point are known here.
"""
