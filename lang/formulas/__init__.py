"""Special functions as straight-line formulas, in whatever arithmetic they are given: of expressions, they are the definitions of
rows of the table of primitives (`lang/ir/special_rows.py`), and code inlines them.

A formula takes its arguments, how often it is differentiated by each as numbers, and `op`, which has the operations of the
table by name. All arms of a choice are computed, so none may raise; the one that is not taken may be any number or NaN.
"""
