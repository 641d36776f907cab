"""One statement of tensors: source tree to a comprehension or a matrix operation.

`comprehension` lowers a statement with indices and `comprehension_body` what stands right of its sign; `index_conditions` says
which conditions bound an index and which choose an arm. `matrix_statement` lowers a call of an operation on
matrices, `slices` what a slice of a tensor is. Loops, functions of tensors and whole programs are the room `lower`; no
derivative and no machine is known here.
"""
