"""Functions of C files as programs.

`text` does what the preprocessor does, with the places kept; `tree`, `expressions` and `body` make of pycparser's tree one of
Python's `ast`, which `from_python` reads; `frame` and `module` say what is C's own: whole numbers, sizes that are parameters,
pointers, and outputs by them. Nothing is executed.
"""
