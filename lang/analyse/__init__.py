"""Questions about a program at a point: what happened on a line, what made a NaN, how many digits are right.

Numbers of one operation and of a whole sweep come from `numeric_sweeps`. On these stand the trace, explanations
(`explain`, `findings`, `rewrites`, `limits`), the error bar of computed values (`rounding`), right digits and guaranteed bounds.

Files here read programs and make no new ones for anybody else; they return data, and adcli/ finds the words for people. No
rule is repeated here: what is known of a function is a column of the table (lang/ir/primitives.py). Nothing here may know of
kernels, tables of rows or the command line.
"""
