"""Running sums and products: the partial results of a reduction along one index, as a loop.

    a(0) = 0
    for i in 0:N { a(i + 1) = a(i) + x(i) }

Element i of the result is that of all points below i; run downwards it is that of all points from i on. Either costs as many
operations as there are points.
"""
from __future__ import annotations

from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Param, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, expanded, product
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import (
    COMBINED_BY,
    NEUTRAL,
    Comprehension,
    Range,
    Read,
    body_of,
    constant_body,
    corner,
    extent_of,
    identity_body,
)
from adcli.lang.ir.elementwise import emit
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.recurrence import Recurrence, signature_of


def running(b: Builder, terms: Comprehension, args: tuple[Atom, ...], down: bool, name: str | None = None) -> Var:
    """The partial results of a reduction along the first range of `terms`, whose low end is a number; the other indices have a
    dimension each behind that, and no guard leaves out a point."""
    along, *others = terms.ranges
    here, extents = corner(others)
    shape = (extent_of(along) + 1, *extents)
    at = affine(along.index) - along.low
    before, behind = (at + 1, at) if down else (at, at + 1)
    start = _nothing_yet(b, terms.reduction, others, (extent_of(along) if down else affine(0), *here), shape)
    inside, out = Var(name, name is None, shape=shape), Var(name, name is None, shape=shape)
    constants = {a: Var(a.name, a.temp, a.truth, a.shape, a.integer, a.whole) for a in args if isinstance(a, Var)}
    known = tuple([constants[a] if isinstance(a, Var) else a for a in args])
    step = replace(terms, write=(behind, *here), shape=shape, reduction="=", onto=None,
                   sources=(*terms.sources, Read(len(args), (before, *here))), body=_combined(terms))
    statement = Equation((inside,), step, (*known, inside), b.span)
    loop = Recurrence(signature=signature_of(1), step=along.index, low=along.low, high=along.high, down=down,
                      histories=(inside,), constants=tuple(constants.values()), statements=(statement,))
    b.equations.append(Equation((out,), loop, (start, *constants), b.span, b.group))
    return out


def _nothing_yet(b: Builder, reduction: str, others: list[Range], write: tuple[Affine, ...], shape: tuple[Affine, ...]) -> Atom:
    """What the results start from: the neutral value behind no point."""
    first = Comprehension(ranges=tuple(others), write=write, shape=shape,
                          body=constant_body(NEUTRAL[reduction]))
    return emit(b, first, ()).atom


def _combined(terms: Comprehension) -> Program:
    """The body of one step: the result before it, given last, with the value of the body."""
    last, made = Var("last"), Var("made")
    line = Equation((made,), TABLE[COMBINED_BY[terms.reduction]], (last, terms.body.results[0].atom))
    name = Names.of(terms.body).fresh("last")
    return body_of(made, (*terms.body.params, Param(last, name)), (*terms.body.equations, line))


def in_a_row(b: Builder, op: Comprehension, args: tuple[Atom, ...], shared: tuple[Range, ...]
             ) -> tuple[Comprehension, tuple[Atom, ...], Affine]:
    """The values of a reduction's body for `running`: one range for all points that meet in an element, in front of the `shared`
    ranges, and the place of a point in it. Points that guards leave out have the neutral value."""
    own = [r for r in op.ranges if r not in shared]
    here, extents = corner(shared)
    place, count = affine(0), affine(1)
    for r in own:
        place = product(place, extent_of(r)) + affine(r.index) - r.low
        count = expanded(product(count, extent_of(r)))   # a sum as in `place`, so that texts give the same extents
    if len(own) == 1 and not op.guards and not op.body.equations and own[0].low.number is not None:
        return replace(op, ranges=(own[0], *shared), onto=None), args, place
    kept = emit(b, replace(op, ranges=(*own, *shared), write=(place, *here), shape=(count, *extents), onto=None,
                           reduction=op.reduction if op.guards else "="), args).atom
    along = Range(Index(own[0].index.name), affine(0), count)
    read = Read(0, (affine(along.index), *here))
    return replace(op, ranges=(along, *shared), guards=(), sources=(read,), body=identity_body(), onto=None), (kept,), place
