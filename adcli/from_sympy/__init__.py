"""Expressions of SymPy as programs: the text of `srepr` or `str` is parsed, and nothing of it is executed."""
