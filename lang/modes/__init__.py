"""Forward and reverse mode: the rules by which one equation becomes its derivative, and the two sweeps that apply them.

`guards` has the linear maps of primitives as lines, `comprehension_rules`, `recurrence_rules` and `matrix_rules` those of
tensors; `forward` and `reverse` are the sweeps, the latter also with copies made explicit, `vmap` takes many directions at once.
Which sweeps are worth their cost is asked above, in `adcli.lang.derive`; the order of passes is in `adcli.lang.passes.pipeline`.
"""
