"""Sums over a triangle whose terms do not depend on the result's index, in linear time.

    y(i) +=! x(j) where j in 0:i + 1            N² / 2 points

    a(0) = 0
    for j in 0:N { a(j + 1) = a(j) + x(j) }     N
    y(i) = a(i + 1)

A condition j <= i + c makes running sums from the start, j >= i + c from the end; products likewise. The terms are added one by
one. As the order of sums of products is (sum_order.py), this is part of what a program means, and of derivatives.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import Atoms, Equation
from adcli.lang.ir.affine import Affine, Index, affine, bounds, never_negative
from adcli.lang.ir.build import Builder
from adcli.lang.operations.comprehension import (
    Comprehension,
    Range,
    Read,
    atoms_in,
    corner,
    extent_of,
    fixed_indices,
    identity_body,
)
from adcli.lang.operations.elementwise import compact, emit
from adcli.lang.operations.reductions import running
from adcli.lang.simplify.sum_parts import reads_inside


class Triangle(NamedTuple):
    """An index of the result, the row, and how far the sum of each goes: over the part of a range below the `end` of its index,
    or from there on where it is `down`."""

    row: Range
    along: Range
    end: Affine
    down: bool


def linear(e: Equation[Comprehension], fewest: int, agreed: Mapping[Index | str, Affine]) -> Iterator[Equation]:
    """A sum over a triangle of at least so many points as a loop and a copy; any other equation as it is. `agreed` are sizes that
    are equal to others."""
    op = e.op
    found = triangle(op) if isinstance(op, Comprehension) and op.reduction in ("+", "*") and len(op.guards) == 1 else None
    if found is None or _few(found, fewest) or not reads_inside(e, op.sources, agreed):
        yield e
        return
    b = Builder()
    b.span, b.group = e.span, e.group
    fixed = fixed_indices(op.ranges, op.write)
    shared = tuple([r for r in op.ranges if r.index in fixed and r is not found.row])
    terms, args = _terms(b, replace(op, onto=None), e.args, found.along, shared)
    partial = running(b, terms, args, found.down)
    read = Read(0, (found.end - found.along.low, *corner(shared)[0]))
    copy = replace(op, ranges=tuple([r for r in op.ranges if r.index in fixed]), guards=(), sources=(read,), body=identity_body(),
                   reduction="=" if op.reduction == "+" and op.onto is None else op.reduction,
                   onto=None if op.onto is None else 1)
    onto = () if op.onto is None else (e.args[op.onto],)
    yield from b.equations
    yield e.with_op(copy, (partial, *onto))


def triangle(op: Comprehension) -> Triangle | None:
    """The triangle that the guard of a reduction makes, if the body is the same for every index of the result."""
    if not all(isinstance(s, Affine) for s in op.write):
        return None
    (guard,), fixed = op.guards, fixed_indices(op.ranges, op.write)
    ranges = {r.index: r for r in op.ranges}
    mine, its = ([i for i in guard.indices() if (i in fixed) is kept] for kept in (True, False))
    if len(mine) != 1 or len(its) != 1 or mine[0] in atoms_in(op.sources) or not fixed.issuperset(atoms_in(op.write) & {*ranges}):
        return None
    i, j = ranges[mine[0]], ranges[its[0]]
    slopes = guard.coefficient(i.index), guard.coefficient(j.index)
    if slopes not in ((1, -1), (-1, 1)) or len(guard.terms) != 2:
        return None
    down = slopes[0] < 0
    end = affine(i.index) + (-guard.constant if down else guard.constant + 1)   # j < end, or j >= end
    least, most = bounds(end, {i.index: (i.low, i.high - 1)})
    if not never_negative(least - j.low) or not never_negative(j.high - most) or j.low.number is None:
        return None
    used = replace(j, low=least) if down else replace(j, high=most)   # of a term that no sum takes, nobody may hear
    return None if used.low.number is None else Triangle(i, used, end, down)


def _few(found: Triangle, fewest: int) -> bool:
    """Whether a triangle is known to have fewer points than it takes to be worth a loop."""
    n, m = extent_of(found.row).number, extent_of(found.along).number
    return n is not None and m is not None and n * m < fewest


def _terms(b: Builder, op: Comprehension, args: Atoms, along: Range, shared: tuple[Range, ...]
           ) -> tuple[Comprehension, Atoms]:
    """What is added step by step: elements that are there, or a tensor of what is made of them, other indices reduced."""
    fixed = fixed_indices(op.ranges, op.write)
    others = tuple([r for r in op.ranges if r.index not in fixed and r.index is not along.index])
    plain = replace(op, ranges=(along, *others, *shared), guards=())
    if not others and not op.body.equations:
        return compact(replace(plain, write=(), shape=()), args)
    here, extents = corner((along, *shared))
    kept = emit(b, replace(plain, write=here, shape=extents, reduction=op.reduction if others else "="), args).atom
    read = Read(0, here)
    return replace(plain, ranges=(along, *shared), sources=(read,), body=identity_body()), (kept,)
