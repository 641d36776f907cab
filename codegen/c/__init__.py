"""Programs as C99, which any compiler of C takes and a person can read.

`spelling` says how C writes numbers, names and operations, `source` writes a program of scalars with it, as a function of two
arrays, and `tensors` one with tensors: `loops` a comprehension, `recurrences` a loop over steps, `matrices` an operation on
matrices. The text depends on the program
alone. Nothing here runs a compiler or knows LLVM.
"""
