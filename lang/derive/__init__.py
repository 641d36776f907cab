"""Which sweeps give the derivatives that are asked for.

`derivatives` is the menu: gradient, Jacobian, Hessian, chosen partial derivatives, Hessian times a direction; `taylor` has
coefficients and `uncertainty` propagates standard uncertainties. Behind the menu `sparsity` finds what is zero by
construction, `colouring` what can share a sweep, `cost` what a sweep costs, and `sweep_plans` takes the cheapest.

A file here chooses and composes sweeps; how one operation is differentiated is the table's business, how a sweep is written
down that of lang/passes. Everything takes a Program and gives a Program; no numbers of a point are known here.
"""
