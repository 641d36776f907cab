"""Programs of scalars as modules of JavaScript and of Python, complete and readable: for web pages, and for NumPy.

`module` writes the functions of a module with what a `Language` says of its spelling; each file beside it is one language. The
text depends on the program alone. Nothing here runs a script, and the modules need nothing but their language and NumPy.
"""
