"""Comprehensions that take in values which are there before: those of their target, or the extremum whose place is asked for."""
from __future__ import annotations

import math
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.comprehension import COMBINED_BY, Comprehension, Read, covers
from adcli.lang.ir.primitives import TABLE


def compacted(op: Comprehension, args: list[Atom]) -> tuple[Comprehension, list[Atom]]:
    """Without sources that only restrict ranges or that the body does not use."""
    from adcli.lang.ir.elementwise import compact
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
    from adcli.lang.ir.elementwise import every_element
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
