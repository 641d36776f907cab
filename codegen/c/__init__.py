"""Programs of scalars as C99: functions of two arrays, which any compiler of C takes and a person can read.

`spelling` says how C writes numbers, names and operations, `source` writes a program with it. The text depends on the program
alone. Nothing here runs a compiler or knows LLVM.
"""
