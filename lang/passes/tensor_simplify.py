"""Simplification inside of comprehensions, and what makes two of them the same.

Nothing here changes a bit of a result: a body is simplified as any program is, constants among the arguments and equal sources
go into it, guards that always hold are dropped.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Lit, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.comprehension import Comprehension, Read, Source
from adcli.lang.ir.elementwise import compact
from adcli.lang.passes.simplify import simplify

Form = tuple[object, ...]


def normal(op: Comprehension, args: tuple[Atom, ...]) -> tuple[Comprehension, tuple[Atom, ...]]:
    """The same comprehension with a simplified body, and without sources, arguments and guards that it does not need."""
    known: dict[Atom, Atom] = {}
    first: dict[object, Var] = {}
    for p, s in zip(op.body.params, op.sources, strict=True):
        constant = _constant(s, args)
        if constant is not None:
            known[p.var] = constant
        else:
            earlier = first.setdefault(_read_form(s, args), p.var)
            if earlier is not p.var:
                known[p.var] = earlier
    guards = tuple(g for g in op.guards if g.number is None or g.number < 0)
    return compact(replace(op, guards=guards, body=simplify(op.body, known)), args)


def empty(op: Comprehension) -> bool:
    """Whether the domain has no points whatever the sizes are."""
    lengths = [(r.high - r.low).number for r in op.ranges]
    return any(g.number is not None and g.number < 0 for g in op.guards) or any(n is not None and n <= 0 for n in lengths)


def _constant(s: Source, args: tuple[Atom, ...]) -> Lit | None:
    if isinstance(s, Read):
        atom = args[s.arg]
        return atom if isinstance(atom, Lit) else None
    return None if s.number is None else Lit(float(s.number))


def _read_form(s: Source, args: tuple[Atom, ...]) -> object:
    """What two sources have in common that are the same value: the argument is known by its value."""
    return (id(args[s.arg]), *[_read_form(x, args) for x in s.subscripts]) if isinstance(s, Read) else s


def structure(op: Comprehension) -> Form:
    """What two comprehensions have in common that compute the same of the same arguments, whatever their indices are called."""
    by: dict[Index | str, Affine] = {r.index: affine(f" {k}") for k, r in enumerate(op.ranges)}
    return (op.reduction, op.onto, op.shape, tuple((r.low, r.high) for r in op.ranges),
            tuple(substituted(g, by) for g in op.guards), tuple(_form(s, by) for s in op.write),
            tuple(_form(s, by) for s in op.sources), body_structure(op.body))


def _form(s: Source, by: Mapping[Index | str, Affine]) -> object:
    return (s.arg, *[_form(x, by) for x in s.subscripts]) if isinstance(s, Read) else substituted(s, by)


def body_structure(body: Program) -> Form:
    """The operations of a body in order, with numbers for its values."""
    number: dict[Atom, int] = {p.var: k for k, p in enumerate(body.params)}

    def part(a: Atom) -> object:
        return a.bits if isinstance(a, Lit) else number[a]

    lines: list[object] = []
    for e in body.equations:
        lines.append((e.op, *map(part, e.args)))
        for out in e.outs:
            number[out] = len(number)
    return (len(body.params), *lines, part(body.results[0].atom))
