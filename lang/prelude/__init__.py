"""Functions of the language that need no definition and are written in it.

`elementary.ad`, `probability.ad`, `densities.ad` and `learning.ad` have functions of numbers, which may call one
another across files, and those of `parts.ad`; `tensors.ad` has functions of whole tensors. A file is read when a
program calls one of its functions. A function belongs here that is a composition of others and loses no digits by it; one
that would is a row of the table of primitives. What a call means is said by the room `lower`.
"""
