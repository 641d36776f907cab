"""Expressions of SymPy as programs.

The text of `srepr` or `str` is parsed as Python's, and read as a function by `from_python`. Nothing of it is executed, and
SymPy is not imported.
"""
