"""The jobs a gradient is wanted for beside a fit: a minimum, the solution of a system.

The solvers are SciPy's (the extra `scipy`) and interior-point methods (`optimize`, `ipopt`), derivatives and the code that they
call are ours, and what is said of an answer is checked here at the answer itself, whatever the solver says of it, by
`adcli.numerics`. `vector_function` is what `adcli.fit` takes, too.
"""
