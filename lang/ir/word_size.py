"""Whether the whole numbers that a comprehension computes fit a machine word.

The proof in lang/ir/sizes.py is arithmetic without bounds, and what runs has 64 bits: a guard that overflowed would let
points pass that the proof has excluded. So expressions are measured with sizes as numbers: no partial sum and no product in
them may get near the end of a word.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, text
from adcli.lang.ir.comprehension import Read, Subscript
from adcli.lang.ir.matrix import Boxed

LARGEST_WHOLE = 1 << 56
"""Of elements: the bytes of an address are eight times as many, and a block of a loop may reach a little beyond its end."""

Ends = tuple[int, int]
"""The least and the greatest value of an expression."""
IndexBox = Mapping[Index, Ends]
"""The first and last value of every index."""


def too_large(op: Boxed, tensors: Sequence[tuple[tuple[Subscript, ...], tuple[int, ...]]],
              box: IndexBox, sizes: Mapping[str, int]) -> str | None:
    """The first expression of a comprehension whose numbers may not fit, as text. `tensors` are its accesses, each with the
    extents of its tensor; `box` has the first and last value of every index."""
    for x in expressions(op):
        if magnitude(x, box, sizes) > LARGEST_WHOLE:
            return text(x)
    for subscripts, extents in tensors:
        if prod(extents) > LARGEST_WHOLE:   # no memory holds it, which is for others to say
            continue
        for d, s in enumerate(subscripts):
            if isinstance(s, Affine) and magnitude(s, box, sizes) * prod(extents[d + 1:]) > LARGEST_WHOLE:
                return text(s)
    return None


def expressions(op: Boxed) -> Iterator[Affine]:
    """Every expression of whole numbers in a comprehension."""
    yield from op.guards
    yield from op.shape
    for r in op.ranges:
        yield from (r.low, r.high)
    stack: list[Subscript] = [*op.sources, *op.write]
    while stack:
        s = stack.pop()
        if isinstance(s, Read):
            stack += s.subscripts
        else:
            yield s


def magnitude(x: Affine, box: IndexBox, sizes: Mapping[str, int]) -> int:
    """A bound on the absolute value of the expression, of all its partial sums and of everything inside of it."""
    return abs(x.constant) + sum(abs(c) * _magnitude(a, box, sizes) for a, c in x.terms)


def _magnitude(a: AffineAtom, box: IndexBox, sizes: Mapping[str, int]) -> int:
    match a:
        case Index():
            return max(map(abs, box[a])) + 1
        case Floor(whole, _):
            return magnitude(whole, box, sizes)
        case Extreme(parts, _):
            return max(magnitude(p, box, sizes) for p in parts)
        case Product(left, right):
            return magnitude(left, box, sizes) * magnitude(right, box, sizes)
        case Modulo(whole, by):
            return magnitude(whole, box, sizes) + magnitude(by, box, sizes)
        case _:
            return sizes[a]
