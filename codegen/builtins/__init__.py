"""Kernels as builtin functions of Python, whose calls cost a tenth of those by ctypes.

`calls` writes builtins as LLVM IR around any kernel; `direct` makes and binds them; `layout` has the words of memory both
share. A kernel is given to them: nothing here reads a program.
"""
