"""Loops as they are written to loops as they are lowered: source tree to source tree.

`nested_loops` is the door: steps of an inner loop become statements of the outer one, or an index of them, and what
a step assigns without it gets its subscript; `skewed_loops` runs two loops over sizes along diagonals. The room `lower` makes
recurrences of what is left.
"""
