"""Programs of scalars as code: one loop over blocks of rows.

`expand` writes out what no machine has, `instructions` says what an operation becomes, `parts` cuts long programs, `llvm` writes
the kernel, and `jit`, the one file that touches llvmlite.binding, makes code of the text. None but `jit` asks what machine it is
on: the same arguments give the same text everywhere. Comprehensions are not known here.
"""
