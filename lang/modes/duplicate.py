"""Explicit duplication: after this pass every value is used at most once.

A value used n times is copied by n − 1 `dup` equations: the first directly behind its definition, each further one right
before the use it serves. Reverse mode then needs no accumulation: the one sum of an adjoint is the rule of `dup`, and it
adds contributions as they become known, so few of them are alive at a time. A result counts as a use.
Tensors are copied as scalars are; truth values and whole numbers have no adjoint and are not.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

from adcli.lang.ir import Atom, Atoms, Equation, Program, Var
from adcli.lang.ir.errors import Span
from adcli.lang.ir.primitives import TABLE

DUP = TABLE["dup"]


def copied_values(program: Program) -> dict[Atom, int]:
    """The values that are copied, each with the number of its uses."""
    used = Counter([a for e in program.equations for a in e.args])
    used.update([r.atom for r in program.results])
    return {a: n for a, n in used.items()
            if n > 1 and type(a) is Var and not a.truth and not a.integer and not a.whole}


def copy_name(value: Var, number: int) -> str:
    """The name of a numbered copy of a value; they are numbered as they are made, two at a time."""
    return f"{value.name or 'i'}{number}"


def serving(use: int, uses: int) -> int:
    """The number of the copy that serves a use, from 1, of so many: the first one of its two, but for the last use."""
    return 2 * use - 1 if use < uses else 2 * use - 2


class _Copies:
    """Deals out the uses of each value in order."""

    def __init__(self, program: Program) -> None:
        self.left = copied_values(program)
        self.ready: dict[Atom, list[Var]] = {}   # the last one first
        self.made: dict[Var, int] = {}
        self.equations: list[Equation] = []

    def open(self, value: Var, span: Span | None) -> None:
        """A value has been defined: copy it if more than one use will come."""
        if value in self.left:
            self.ready[value] = self.split(value, value, span)

    def read(self, args: Atoms, span: Span | None) -> Atoms:
        """The copies that serve these uses."""
        return args if self.ready.keys().isdisjoint(args) else tuple([self.use(a, span) for a in args])

    def split(self, origin: Var, value: Var, span: Span | None) -> list[Var]:
        n = self.made.get(origin, 0) + 2
        self.made[origin] = n
        first, second = [Var(copy_name(origin, i), True, False, value.shape) for i in (n - 1, n)]
        self.equations.append(Equation((first, second), DUP, (value,), span))
        return [second, first]

    def use(self, atom: Atom, span: Span | None) -> Atom:
        """The copy that serves the next use of a value."""
        copies = self.ready.get(atom)
        if copies is None or type(atom) is not Var:
            return atom
        self.left[atom] -= 1
        if len(copies) == 2:
            return copies.pop()
        if self.left[atom] == 0:
            return self.ready.pop(atom).pop()
        rest, first = self.split(atom, copies.pop(), span)
        copies.append(rest)
        return first


def duplicate(program: Program) -> Program:
    """Bring a program into explicit-duplication form: every value used at most once."""
    copies = _Copies(program)
    for p in program.params:
        copies.open(p.var, None)
    for e in program.equations:
        args = copies.read(e.args, e.span)
        copies.equations.append(e if args is e.args else Equation(e.outs, e.op, args, e.span, e.group))
        for out in e.outs:
            copies.open(out, e.span)
    results = tuple([r.with_atom(copies.use(r.atom, None)) for r in program.results])
    return replace(program, equations=tuple(copies.equations), results=results)
