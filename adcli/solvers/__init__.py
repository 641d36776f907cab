"""The jobs a gradient is wanted for: a fit, a minimum, the solution of a system.

The solvers are SciPy's (the extra `scipy`), derivatives and the code that they call are ours, and what is said of an answer is
checked here at the answer itself, whatever the solver says of it. `fit…` have least squares over the rows of a table.
"""
