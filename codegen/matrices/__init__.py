"""Operations on matrices as LLVM IR: `algorithms` in a few words of Python, which `writer` translates.

Nothing is said here of what an operation means, which is in `lang/operations/matrix.py`, nor of where LAPACK is called instead.
"""
