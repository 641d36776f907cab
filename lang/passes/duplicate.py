"""Explicit duplication: after this pass every value is used at most once.

A value used n times is copied by n − 1 `dup` equations: the first directly behind its definition, each further one right
before the use it serves. Reverse mode then needs no accumulation: the one sum of an adjoint is the rule of `dup`, and it
adds contributions as they become known, so few of them are alive at a time. A result counts as a use.
Tensors are copied as scalars are; truth values and tensors of integers have no adjoint and are not.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Program, Var
from adcli.lang.ir.primitives import TABLE


class _Copies:
    """Deals out the uses of each value in order."""

    def __init__(self, program: Program) -> None:
        self.left = Counter(a for e in program.equations for a in e.args if isinstance(a, Var) and not a.truth and not a.integer)
        self.left.update(r.atom for r in program.results if isinstance(r.atom, Var) and not r.atom.integer)
        self.ready: dict[Var, list[Var]] = {}
        self.made: Counter[Var] = Counter()
        self.equations: list[Equation] = []

    def open(self, value: Var, span: tuple[int, int] | None) -> None:
        """A value has been defined: copy it if more than one use will come."""
        if self.left[value] > 1:
            self.ready[value] = list(self.split(value, value, span))

    def split(self, origin: Var, value: Var, span: tuple[int, int] | None) -> tuple[Var, Var]:
        self.made[origin] += 2
        stem, n = origin.name or "i", self.made[origin]
        copies = Var(f"{stem}{n - 1}", True, shape=value.shape), Var(f"{stem}{n}", True, shape=value.shape)
        self.equations.append(Equation(copies, TABLE["dup"], (value,), span))
        return copies

    def use(self, atom: Atom, span: tuple[int, int] | None) -> Atom:
        """The copy that serves the next use of a value."""
        if not isinstance(atom, Var) or atom not in self.ready:
            return atom
        self.left[atom] -= 1
        copies = self.ready[atom]
        if len(copies) == 2:
            return copies.pop(0)
        if self.left[atom] == 0:
            return copies.pop()
        first, rest = self.split(atom, copies.pop(), span)
        copies.append(rest)
        return first


def duplicate(program: Program) -> Program:
    """The same program with every value used at most once."""
    copies = _Copies(program)
    for p in program.params:
        copies.open(p.var, None)
    for e in program.equations:
        copies.equations.append(e.with_args([copies.use(a, e.span) for a in e.args]))
        for out in e.outs:
            copies.open(out, e.span)
    results = tuple([r.with_atom(copies.use(r.atom, None)) for r in program.results])
    return replace(program, equations=tuple(copies.equations), results=results)
