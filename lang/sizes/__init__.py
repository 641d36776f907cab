"""Reasoning about sizes: what subscripts reach, with sizes as numbers and for all sizes at once.

`binding` makes names of sizes numbers from the shapes of given values; `in_bounds` proves with these numbers that every access is
inside its tensor and loops run in the right order, and `all_sizes` asks the same of names, for code written before they are
known. `ranges` infers the ranges of indices, `histories` says which elements are written, all on `proofs` of inequalities and
`condition_dnf`. Everything is arithmetic on extents and subscripts, never on elements: no values, no derivatives, no text.
"""
