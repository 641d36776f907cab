"""Patterns of Jacobians and Hessians, and which rows or columns share a sweep.

`sparsity` has the patterns of programs of numbers and, by `element_sparsity`, those of tensors at the sizes of a point, from what
statements hand on between elements (`element_flows`); `number_sets` are the sets that it does this with. `colouring` says which
columns or rows have no entry in common. Which sweeps are worth their cost is asked above, in `adcli.lang.derive`.
"""
