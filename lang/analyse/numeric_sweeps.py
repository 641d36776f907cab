"""The two sweeps of differentiation carried out on numbers at one point, with every contribution kept.

`forward.py` and `reverse.py` write a sweep down as a program; here it is run, on the same rows and in the same order, so that
one can ask of every tangent or adjoint what it was made of. A value that has no number is zero by construction; `blocked`
then names the operations where its paths end.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from adcli.lang.analyse.numeric_rules import Values, contribution
from adcli.lang.ir import Atom, Equation, Program, Var

Use = tuple[Equation, int]
"""An operation and the position of one of its arguments."""
MOST = 4
"""Ends of paths that are remembered for one value."""


class Part(NamedTuple):
    """One contribution: what the map of an operation at one argument makes of the number of `source`."""

    equation: Equation
    position: int
    source: Atom
    value: float


class Sweep:
    """The tangents (adjoints, in a reverse sweep) of a program at a point: `numbers` with the `parts` each is the sum of."""

    def __init__(self, forward: bool, seed: Atom) -> None:
        self.forward, self.seed = forward, seed
        self.numbers: dict[Atom, float] = {seed: 1.0}
        self.parts: dict[Atom, list[Part]] = {}
        self.blocked: dict[Atom, tuple[Use, ...]] = {}

    @property
    def word(self) -> str:
        return "tangent" if self.forward else "adjoint"

    def step(self, e: Equation, position: int, source: Atom, target: Atom, values: Values, active: bool) -> None:
        """Carry the number of `source` through one argument of an operation to `target`."""
        if source in self.numbers:
            made = contribution(e, position, values, self.numbers[source]) if active else None
            if made is None:
                self.block(target, ((e, position),))
            else:
                self.parts.setdefault(target, []).append(Part(e, position, source, made))
                self.numbers[target] = self.numbers[target] + made if target in self.numbers else made
        elif source in self.blocked:
            self.block(target, self.blocked[source])

    def block(self, target: Atom, uses: tuple[Use, ...]) -> None:
        known = self.blocked.get(target, ())
        if known is not uses and len(known) < MOST:
            self.blocked[target] = (*known, *[u for u in uses if u not in known])[:MOST]


def forward_sweep(program: Program, values: Values, x: Var) -> Sweep:
    """The tangents along one input."""
    sweep = Sweep(True, x)
    for e in program.equations:
        for i, a in enumerate(e.args):
            if a in sweep.numbers or a in sweep.blocked:
                sweep.step(e, i, a, e.outs[0], values, not e.op.truth)
    return sweep


def reverse_sweep(program: Program, values: Values, result: Atom, depends: Collection[Atom], active: Collection[Atom]) -> Sweep:
    """The adjoints of one result, for the values in `depends`; those not in `active` can only be reached by truth values."""
    sweep = Sweep(False, result)
    for e in reversed(program.equations):
        out = e.outs[0]
        if out in sweep.numbers or out in sweep.blocked:
            for i in reversed(range(len(e.args))):
                if e.args[i] in depends:
                    sweep.step(e, i, out, e.args[i], values, e.args[i] in active)
    return sweep


def dependent(program: Program, wrt: Collection[str]) -> set[Atom]:
    """The values that depend on an input in `wrt`, also those that do so through a truth value only."""
    found: set[Atom] = {p.var for p in program.params if p.name in wrt}
    for e in program.equations:
        if not found.isdisjoint(e.args):
            found.update(e.outs)
    return found
