"""Whether a sum has a term that exists: asked of each tensor by itself.

    i(t, u) +=! a(t, e) != 0 or b(u, e) != 0 ? 1 : 0       T·U·E points

    i1(t) +=! a(t, e) != 0 ? 1 : 0                         T·E
    i2(u) +=! b(u, e) != 0 ? 1 : 0                         U·E
    i(t, u) = i1(t) != 0 or i2(u) != 0 ? 1 : 0             T·U

So it takes no longer to say where a product of matrices exists than to read the matrices. Indices that a question does not move
with are left out of its sum, and guards say that there is a point for the others.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import reduce

from adcli.lang.ir import Atom, Equation, Param, Var
from adcli.lang.ir.affine import Affine, Index, affine, linear, never_negative, slope
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.comprehension import BodySource, Comprehension, Range, Read, body_of, ends_of
from adcli.lang.ir.elementwise import emit
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.passes.nonzero_domains import follows, without_index

OR = TABLE["or"]
Applied = tuple[Comprehension, tuple[Atom, ...]]
"""A comprehension and its arguments."""


def in_parts(b: Builder, op: Comprehension, args: tuple[Atom, ...], exists: Var) -> Applied | None:
    """What is not zero where a sum has a term for which the truth value `exists` of its body holds, made of sums over fewer
    indices, which are emitted; None where there are none."""
    kept = indices_of(op.write)
    if op.reduction != "+" or not all(isinstance(s, Affine) for s in op.write) or not closed(op.ranges, kept):
        return None
    conditions = [*op.guards, *(c for r in op.ranges for c in inside(r))]
    bound = {i for c in conditions if not kept.issuperset(c.indices()) for i in c.indices()} & kept
    questions: dict[frozenset[Index], list[Var]] = {}
    for v in alternatives(op.body.equations, exists):
        questions.setdefault(frozenset(asked_along(op, v) | bound), []).append(v)
    sums = list[tuple[Comprehension, tuple[Affine, ...]]]()
    for along, asked in questions.items():
        made = None if along.issuperset(op.indices) else sum_along(op, along, kept, conditions, asked)
        if made is None:
            return None
        sums.append(made)
    params, inner = tuple([Param(Var(f"x{k}"), f"x{k}") for k in range(len(sums))]), Builder()
    value = one_where_any(inner, [inner.expr(p.var) != 0 for p in params])
    whole = replace(op, ranges=tuple([r for r in op.ranges if r.index in kept]), onto=None,
                    guards=tuple([g for g in op.guards if kept.issuperset(g.indices())]),
                    sources=tuple([Read(k, subscripts) for k, (_, subscripts) in enumerate(sums)]),
                    body=body_of(value, params, inner.equations))
    return whole, tuple([emit(b, made, args).atom for made, _ in sums])


def sum_along(op: Comprehension, along: Collection[Index], kept: Collection[Index], conditions: Iterable[Affine],
              asked: Iterable[Var]) -> tuple[Comprehension, tuple[Affine, ...]] | None:
    """At how many points along some indices any of the truth values `asked` holds, for each value of those of them that are
    `kept`, and how an element is read; None where conditions cannot be said without the other indices."""
    left: list[Affine] | None = list(conditions)
    for i in op.indices:
        if i not in along and left is not None:
            left = without_index(left, i)
    ranges = tuple([r for r in op.ranges if r.index in along])
    places = [place_of(op, r) for r in ranges if r.index in kept]
    if left is None or not closed(ranges, along) or None in places:
        return None
    subscripts, shape = (tuple([p[k] for p in places if p is not None]) for k in (0, 1))
    ends, inner = ends_of(ranges), Builder()
    inner.equations.extend(op.body.equations)
    body = body_of(one_where_any(inner, map(inner.expr, asked)), op.body.params, inner.equations)
    guards = tuple(dict.fromkeys([c for c in left if not follows(c, ends, ())]))
    return Comprehension(ranges=ranges, guards=guards, write=subscripts, shape=shape, reduction="+", sources=op.sources,
                         body=body), subscripts


def place_of(op: Comprehension, r: Range) -> tuple[Affine, Affine] | None:
    """A subscript that tells the values of an index apart, with an extent that is one at all sizes; None where none is known."""
    for s, extent in zip(op.write, op.shape, strict=True):
        if isinstance(s, Affine) and s.indices() == [r.index] and linear(s) and slope(s, r.index).number in (1, -1):
            return s, extent
    length = r.high - r.low
    return None if length.indices() or not never_negative(length) else (affine(r.index) - r.low, length)


def alternatives(equations: Iterable[Equation], truth: Var) -> Iterator[Var]:
    """The truth values of which one holds where `truth` does."""
    made = {e.outs[0]: e for e in equations}
    stack: list[Atom] = [truth]
    while stack:
        v = stack.pop()
        assert isinstance(v, Var)
        if v in made and made[v].op is OR:
            stack += reversed(made[v].args)
        else:
            yield v


def asked_along(op: Comprehension, truth: Var) -> set[Index]:
    """The indices that a value of a body moves with."""
    needed: set[Atom] = {truth}
    for e in reversed(op.body.equations):
        if not needed.isdisjoint(e.outs):
            needed.update(e.args)
    return indices_of([s for p, s in zip(op.body.params, op.sources, strict=True) if p.var in needed])


def indices_of(sources: Iterable[BodySource]) -> set[Index]:
    """The indices in sources or subscripts, those inside of what is read too."""
    return {i for s in sources for i in (indices_of(s.subscripts) if isinstance(s, Read) else s.indices())}


def inside(r: Range) -> tuple[Affine, Affine]:
    """What holds of an index in its range."""
    return affine(r.index) - r.low, r.high - 1 - affine(r.index)


def closed(ranges: Iterable[Range], among: Collection[Index]) -> bool:
    """Whether the ranges of these indices are said without others."""
    return all(i in among for r in ranges if r.index in among for end in (r.low, r.high) for i in end.indices())


def one_where_any(b: Builder, truths: Iterable[Expr]) -> Atom:
    """1 where one of some truth values holds, else 0."""
    return select(reduce(lambda x, y: x | y, truths), 1, 0).atom
