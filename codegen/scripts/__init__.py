"""Programs as modules of JavaScript and of Python, complete and readable: for web pages, and for NumPy; and as tapes, data that
an interpreter in JavaScript carries out.

`javascript` and `python` are languages with their modules, `nested_arrays` and `numpy_nests` write programs with tensors in them,
and `tape` says what a tape is. The text depends on the program alone. Nothing here runs a script; the modules need nothing but
their language and NumPy, the interpreter nothing but `javascript.operations`.
"""
