"""Functions in LLVM IR.

`frames` writes nested loops, with every value in the outermost loop that knows its operands; `translator` writes functions from
a few words of Python.
"""
