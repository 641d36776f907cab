"""Where a program is not smooth: for each operation with conditions the level it meets, the first point of its domain that
meets it, and what it reads there, as results of a program.

It is the program of lang/passes/status.py with more to say, made only when a user has to be told. All of it is
comprehensions again, so it is compiled like any other and needs no more memory: the point is found index by index, each the
least one among the points with those before it.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import NamedTuple

from adcli.lang.ir import DOMAIN, SINGULAR, Atom, Atoms, Equation, Lit, Program, Result, Var, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.primitives import abs_, select
from adcli.lang.ir.records import paused
from adcli.lang.modes.comprehension_rules import BodyBuilder
from adcli.lang.modes.guards import truth
from adcli.lang.modes.matrix_rules import matrices
from adcli.lang.operations.comprehension import Comprehension, Range, Read, identity_body
from adcli.lang.operations.elementwise import computed, elementwise, every_element
from adcli.lang.operations.matrix import DETERMINANTS, MatrixOperation
from adcli.lang.passes.status import (
    SELECT,
    Activity,
    Levels,
    Liveness,
    Reached,
    activity,
    conditions,
    is_nan,
    reached,
)
from adcli.lang.passes.status_tensors import MET, Inside, is_special, may_meet, ties

INF = float("inf")


class Place(NamedTuple):
    """An operation: its equation, and the names of the results that say its level, the indices of the point, and the values
    there: of its operands, of the sources of a body, or the number of ties. `kind` is row, body, ties, reduction or matrix: for
    an operation on matrices these are the least indices, and the matrices of all points. `known` is what is active in a body."""

    kind: str
    equation: Equation
    level: str
    ranges: tuple[Range, ...] = ()
    indices: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    known: Activity | None = None


@paused()
def places(program: Program, wrt: Collection[str] | None, derived: Program | None = None) -> tuple[Program, list[Place]]:
    """A program of the same inputs, and what its results say, in the order of the equations. Without `wrt`, as for a derivative,
    only where a NaN or an infinity is made is asked."""
    b, found = Builder(), _Found()
    known = None if wrt is None else activity(program, wrt, derived)
    b.equations.extend(program.equations)
    uses: dict[Atom, Liveness] = {r.atom: Liveness() for r in program.results}
    for each in list(reached(b, program.equations, uses)):
        if isinstance(each.equation.op, MatrixOperation):
            _matrix(b, each, each.equation.op, found, known)
        elif each.inside is None:
            _row(b, each, found, known)
        else:
            _comprehension(b, each, each.inside, found, known)
    return replace(program, equations=tuple(b.equations), results=tuple(found.results)), found.places[::-1]


class _Found:
    """Places, last first, with the results they need."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.places: list[Place] = []

    def name(self, atom: Atom) -> str:
        self.results.append(Result(f"r{len(self.results)}", atom))
        return self.results[-1].name

    def place(self, kind: str, e: Equation, level: Atom, at: tuple[tuple[Range, ...], Atoms] = ((), ()),
              values: Atoms = (), known: Activity | None = None) -> None:
        """Enter a place `at` indices of these ranges."""
        met, (ranges, indices) = self.name(level), at
        self.places.append(Place(kind, e, met, ranges, tuple(map(self.name, indices)), tuple(map(self.name, values)), known))


def _row(b: Builder, each: Reached, found: _Found, known: Activity | None) -> None:
    """An operation on scalars."""
    e, levels = each.equation, Levels(b)
    if known is not None:
        conditions(levels, [each], known)
    for level, made in _made(b, e, known):
        levels.note(level, made, each.use.guard)
    worst = levels.worst()
    if isinstance(worst, Var):
        operands = tuple(_number(b, a) for a in e.args)
        found.place("row", e, worst, values=operands)


def _number(b: Builder, a: Atom) -> Atom:
    return select(b.expr(a), 1, 0).atom if isinstance(a, Var) and a.truth else a


def _made(b: Builder, e: Equation, known: Activity | None) -> Iterator[tuple[int, Expr]]:
    """Whether a row gives NaN for operands that are numbers, and in a derivative infinity for finite ones, with their levels."""
    if e.op.truth or e.op is SELECT or e.op.name == "dup":
        return
    operands = [b.expr(a) for a in dict.fromkeys(e.args) if isinstance(a, Var) and not a.truth]
    out = b.expr(e.outs[0])
    yield DOMAIN, reduce(and_, [x == x for x in operands], out != out)
    if known is None:
        yield SINGULAR, reduce(and_, [abs_(x) < INF for x in operands], abs_(out) == INF)


def _matrix(b: Builder, each: Reached, op: MatrixOperation, found: _Found, known: Activity | None) -> None:
    """An operation on matrices that is not defined, with the matrices of all points, and the first values of the indices."""
    e = each.equation
    undefined = is_nan(b, _looked_at(b, e.outs[0], each.use.live))
    for s in op.sources:
        undefined = undefined & ~is_nan(b, e.args[s.arg])
    if each.use.guard:
        undefined = undefined & b.expr(truth(b, each.use.guard))
    level = select(undefined, DOMAIN, 0)
    if op.name in MET and (op.name in DETERMINANTS or (known is not None and may_meet(e, each.use, known))):
        level = select(~undefined & is_special(b, e, each.use), MET[op.name], level)
    lows = tuple([computed(b, Comprehension(), lambda x: x, [r.low]).atom for r in op.ranges])
    found.place("matrix", e, level.atom, (op.ranges, lows), (matrices(b, e),))


def _comprehension(b: Builder, each: Reached, inside: Inside, found: _Found, known: Activity | None) -> None:
    e, op = each.equation, inside.op
    wrong = is_nan(b, _looked_at(b, e.outs[0], each.use.live))
    for a in dict.fromkeys(e.args):
        if isinstance(a, Var) and not a.integer:
            wrong = wrong & ~is_nan(b, a)
    if known is not None and inside.may_tie(known):
        _ties(b, each, found)
    inner = Levels(inside.body.b)
    own = None if known is None else inside.active(known)
    if own is not None:
        conditions(inner, inside.equations, own)
    for line, use, _ in inside.equations:
        for level, made in _made(inside.body.b, line, known):
            inner.note(level, made, use.guard)
    worst = inner.worst()
    greatest = inside.greatest(worst)
    if greatest is not None:
        gated = greatest if not each.use.guard else select(b.expr(truth(b, each.use.guard)), greatest, 0)
        place = tuple(_point(inside.body, inside, b.expr(worst), greatest.atom))
        values = tuple(_there(inside, place))
        found.place("body", e, gated.atom, (op.ranges, place), values, own)
        wrong = wrong & ~(greatest >= DOMAIN)
    found.place("reduction", e, select(wrong, DOMAIN, 0).atom)


def _looked_at(b: Builder, value: Atom, live: Atom | None) -> Atom:
    """A value with 0 in the place of elements that reach no result."""
    return value if live is None else elementwise(b, lambda x, use: select(use != 0, x, 0), value, live).atom


def _point(body: BodyBuilder, inside: Inside, value: Expr, level: Atom) -> Iterator[Atom]:
    """The indices of the first point where a value in the body has the level."""
    here = body.b.expr(value.atom) == body.read(level, ())
    for r in inside.op.ranges:
        index = _index(body, r)
        found = inside.least(select(here, index, INF).atom)
        here = here & (index == body.read(found, ()))
        yield found


def _there(inside: Inside, place: Atoms) -> Iterator[Atom]:
    """The values of the sources of the body at a point."""
    body = inside.body
    here: Expr | None = None
    for r, at in zip(inside.op.ranges, place, strict=True):
        same = _index(body, r) == body.read(at, ())
        here = same if here is None else here & same
    for p in inside.op.body.params:
        x = body.b.expr(p.var)
        value = body.program((x if here is None else select(here, x, -INF)).atom)
        yield inside.reduced(value, "max").atom


def _index(body: BodyBuilder, r: Range) -> Expr:
    """The value of an index as one more source."""
    body.read(Lit(0.0), ())
    body.sources[-1] = affine(r.index)
    body.args.pop()
    return body.b.expr(body.params[-1].var)


def _ties(b: Builder, each: Reached, found: _Found) -> None:
    """Two elements or more that are the extremum."""
    e, inside = each.equation, each.inside
    assert inside is not None
    count, kind = ties(b, e)
    if count is None:
        return
    ranges, here = every_element(shape_of(count))
    elements = Comprehension(ranges=ranges, reduction="max", sources=(Read(0, here),), body=identity_body())
    over = Inside(b, Equation((Var(),), elements, (count,)), Liveness(each.use.guard))
    value = over.body.b.expr(over.op.body.params[0].var)
    if each.use.live is not None:
        value = select(over.body.read(each.use.live, here) != 0, value, 0)
    met = select(value > 1, kind, 0)
    level = over.greatest(met.atom)
    assert level is not None
    gated = level if not each.use.guard else select(b.expr(truth(b, each.use.guard)), level, 0)
    place = tuple(_point(over.body, over, met, level.atom))
    found.place("ties", e, gated.atom, (ranges, place), tuple(_there(over, place)))
