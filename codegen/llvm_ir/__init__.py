"""Functions in LLVM IR.

`frames` writes nested loops, with every value in the outermost loop that knows its operands; `translator` a function in a few words
of Python.
"""
