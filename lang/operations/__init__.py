"""Operations on tensors, and what can be told from an operation of any kind without running it.

`comprehension`, `recurrence` and `matrix` are the operations; `elementwise` makes comprehensions of scalar programs and writes
reductions by others, `forms` compares operations whatever their indices and variables are called. `activity` says which
values carry derivatives, `precision` which numbers an operation may hold, `limits` how long a program may become, `slices` what
stands for those of other languages. Files here know neither sizes as numbers, nor text, nor the rules of modes.
"""
