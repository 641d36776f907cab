"""Patterns of Jacobians and Hessians, and which rows or columns share a sweep.

`sparsity` has the patterns of programs of numbers, `element_sparsity` those of programs with tensors at the sizes of a point, by
what statements hand on between elements. `colouring` says which columns or rows have no entry in common. Which sweeps are worth
their cost is asked above, in `adcli.lang.derive`.
"""
