"""A reduction that conditions on indices divide into several comprehensions, where none can go on from what another one has made,
as in a loop: the values of all of them are kept, one for each point, and reduced together.

    h(t + 1, i) max=! i + k >= 1 ? x(t, i + k - 1) : 0      is      h1(t + 1, i, k) = i + k >= 1 ? x(t, i + k - 1) : 0
                                                                    h(t + 1, i) max=! h1(t + 1, i, k)

So equal elements share a derivative, and products with zeros are exact, whatever comprehension each element belongs to.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adcli.lang.ir import Atom
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.comprehension import Comprehension, Range, corner, ends_of, implied, needed_guards

Made = tuple[Comprehension, list[Atom]]
"""A comprehension and its arguments."""


def kept_points(made: Sequence[Made], step: Affine, extent: Affine) -> list[Made]:
    """The comprehensions that keep the value of each point, in a history: first `step`, of an `extent`, then a dimension
    for each index but the step, which has the first range."""
    first = made[0][0]
    here, shape = (part[1:] for part in corner(first.ranges))
    found = []
    for op, args in made:
        write = (step, *(substituted(x, renamed(first.ranges, op.ranges)) for x in here))
        found.append((replace(op, write=write, shape=(extent, *shape), reduction="="), args))
    return found


def common_guards(ops: Sequence[Comprehension]) -> tuple[Affine, ...]:
    """What holds at the points of all of some comprehensions over one box, in the indices of the first."""
    first = ops[0]
    sides = [[substituted(g, renamed(op.ranges, first.ranges)) for g in op.guards] for op in ops]
    ends = ends_of(first.ranges)
    shared = [g for side in sides for g in side if all(implied(g, ends, other) for other in sides)]
    return needed_guards(shared, first.ranges)


def renamed(ranges: Sequence[Range], others: Sequence[Range]) -> dict[Index | str, Affine]:
    """The indices of a box as those of another one that have their names."""
    found = {r.index.name: affine(r.index) for r in others}
    return {r.index: found[r.index.name] for r in ranges}
