"""Programs of scalars as code: one loop over blocks of rows.

There are two tiers: `llvm` writes a program as code to be compiled, `bytecode` as a tape with its interpreter; `tiers` chooses,
and changes from the one to the other while rows come.

`expand` writes out what no machine has, `instructions` says what an operation becomes, `parts` cuts long programs, `llvm`
writes the kernel, `long_kernel` that of a long program, `point` the function of one point, and `jit` makes code of the text.
Code for the machines in `platforms` is made by `cross_compile`; these two files alone touch llvmlite.binding and ask what
machine they are on: the same arguments give the same text everywhere. Comprehensions are not known here.
"""
