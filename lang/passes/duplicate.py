"""Explicit duplication: after this pass every value is used at most once.

A value used n times is copied by n − 1 `dup` equations: the first directly behind its definition, each further one right
before the use it serves. Reverse mode then needs no accumulation: the one sum of an adjoint is the rule of `dup`, and it
adds contributions as they become known, so few of them are alive at a time. A result counts as a use.
Tensors are copied as scalars are; truth values and whole numbers have no adjoint and are not.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Program, Var
from adcli.lang.ir.errors import Span
from adcli.lang.ir.primitives import TABLE

DUP = TABLE["dup"]


class _Copies:
    """Deals out the uses of each value in order."""

    def __init__(self, program: Program) -> None:
        self.left = Counter([a for e in program.equations for a in e.args if type(a) is Var])
        self.left.update([r.atom for r in program.results if type(r.atom) is Var])
        self.ready: dict[Atom, list[Var]] = {}   # the last one first
        self.made: dict[Var, int] = {}
        self.equations: list[Equation] = []

    def open(self, value: Var, span: Span | None) -> None:
        """A value has been defined: copy it if more than one use will come."""
        if self.left[value] > 1 and not value.truth and not value.integer and not value.whole:
            self.ready[value] = self.split(value, value, span)

    def read(self, args: tuple[Atom, ...], span: Span | None) -> tuple[Atom, ...]:
        """What serves these uses."""
        return args if self.ready.keys().isdisjoint(args) else tuple([self.use(a, span) for a in args])

    def split(self, origin: Var, value: Var, span: Span | None) -> list[Var]:
        n = self.made.get(origin, 0) + 2
        self.made[origin] = n
        stem, shape = origin.name or "i", value.shape
        first, second = Var(f"{stem}{n - 1}", True, False, shape), Var(f"{stem}{n}", True, False, shape)
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
    """The same program with every value used at most once."""
    return duplicated(program)[0]


def duplicated(program: Program) -> tuple[Program, Mapping[Equation, Equation]]:
    """The same program with every value used at most once, and for each equation of it that reads copies the one that it was."""
    copies, plain = _Copies(program), dict[Equation, Equation]()
    for p in program.params:
        copies.open(p.var, None)
    for e in program.equations:
        args = copies.read(e.args, e.span)
        if args is e.args:
            copies.equations.append(e)
        else:
            copy = Equation(e.outs, e.op, args, e.span, e.group)
            copies.equations.append(copy)
            plain[copy] = e
        for out in e.outs:
            copies.open(out, e.span)
    results = tuple([r.with_atom(copies.use(r.atom, None)) for r in program.results])
    return replace(program, equations=tuple(copies.equations), results=results), plain
