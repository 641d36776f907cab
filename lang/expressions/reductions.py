"""Comprehensions that a statement needs beside its own: for values that are there before, for the place of an extremum, and for a
reduction that conditions on indices divide into several.

In a loop, none of several can go on from what another one has made: the values of all of them are kept, one for each point, and
reduced together. So equal elements share a derivative, and products with zeros are exact, whatever comprehension each belongs to.

    h(t + 1, i) max=! i + k >= 1 ? x(t, i + k - 1) : 0      is      h1(t + 1, i, k) = i + k >= 1 ? x(t, i + k - 1) : 0
                                                                    h(t + 1, i) max=! h1(t + 1, i, k)
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, substituted
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import (
    COMBINED_BY,
    Comprehension,
    Range,
    Read,
    corner,
    covers,
    ends_of,
    implied,
    needed_guards,
)


def compacted(op: Comprehension, args: list[Atom]) -> tuple[Comprehension, list[Atom]]:
    """Without sources that only restrict ranges or that the body does not use."""
    from adcli.lang.operations.elementwise import compact
    op, kept = compact(op, tuple(args))
    return op, list(kept)


def updated(op: Comprehension, args: list[Atom], onto: Atom) -> tuple[Comprehension, list[Atom]]:
    """The same with what was there, where nothing is reduced: every element is written once."""
    old, z, result = Var("old"), Var("z"), op.body.results[0].atom
    equation = Equation((z,), TABLE[COMBINED_BY[op.reduction]], (old, result))
    body = Program((Param(old, "old"), *op.body.params), (*op.body.equations, equation), (Result("z", z),))
    sources = (Read(len(args), op.write), *op.sources)
    made = replace(op, reduction="=", sources=sources, body=body)
    return (made, [*args, onto]) if covers(made) else (replace(made, onto=len(args) + 1), [*args, onto, onto])


def combination(op: Comprehension, onto: Atom, fresh: Atom) -> tuple[Comprehension, list[Atom]]:
    """The elementwise product, or log-sum-exp, of what was there and a reduction."""
    from adcli.lang.operations.elementwise import every_element
    ranges, here = every_element(op.shape)
    x, y, z = Var("x"), Var("y"), Var("z")
    row = TABLE[COMBINED_BY[op.reduction]]
    body = Program((Param(x, "x"), Param(y, "y")), (Equation((z,), row, (x, y)),), (Result("z", z),))
    return Comprehension(ranges=ranges, write=here, shape=op.shape, reduction="=", sources=(Read(0, here), Read(1, here)),
                         body=body), [onto, fresh]


def first_place(op: Comprehension, args: list[Atom], extremum: Atom, along: Index) -> tuple[Comprehension, list[Atom]]:
    """The first value of an index at which a comprehension has its extremum, infinity where it does not."""
    x, place, z, same = Var("z"), Var("place"), Var("k"), Var("same", truth=True)
    lines = (Equation((same,), TABLE["eq"], (op.body.results[0].atom, x)),
             Equation((z,), TABLE["select"], (same, place, Lit(math.inf))))
    params = (*op.body.params, Param(x, "z"), Param(place, "place"))
    body = Program(params, (*op.body.equations, *lines), (Result("z", z),))
    sources = (*op.sources, Read(len(args), op.write), affine(along))
    return compacted(replace(op, reduction="min", sources=sources, body=body), [*args, extremum])


# ---------------------------------------------------------------- divided reductions

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


def renamed(ranges: Sequence[Range], others: Sequence[Range]) -> NewSubstitution:
    """The indices of a box as those of another one that have their names."""
    found = {r.index.name: affine(r.index) for r in others}
    return {r.index: found[r.index.name] for r in ranges}
