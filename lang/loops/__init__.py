"""Loops in loops as one loop: source tree to source tree.

`nested_loops` is the door: steps of an inner loop become statements of the outer one, or an index of them; `skewed_loops` runs
two loops over sizes along diagonals. The room `lower` makes recurrences of what is left.
"""
