"""Python functions as programs: the reader of `.py` files.

It takes the syntax tree with values that know what is done to them in place of numbers, and executes nothing. `values` are
they, `frame` makes lines of them; `arrays`, `expressions`, `functions`, `calls`, `loops` and `statements` are the
parts of Python, each built on those before; and `module` is a file, of which one function is the program.
"""
