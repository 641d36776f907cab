"""Which operation a wrong derivative comes from: every rule beside the operation it belongs to, where the program uses it.

At the operands that an operation has in a run, its partial derivatives by the rule of the table are compared with differences
of the operation itself in multiple precision. A rule that is wrong so names itself, whatever stands around it; where all
are right, the fault is in how a sweep puts them together.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adcli.lang.analyse.numeric_rules import by_rule
from adcli.lang.evaluate import Arithmetic, every_value, precise_arithmetic, read
from adcli.lang.ir import Equation, Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values
from adcli.lang.verify.precise_differences import Standing, settled

RULE_DIGITS = 60
WRONG_FROM = 1e-11
"""Relative difference from which a rule is wrong; constants in rules are doubles."""
SETTLED_TO = 1e-20
MOST_PARTIALS = 20_000
"""Partial derivatives looked at, so that a long program is answered in seconds."""


@dataclass(frozen=True)
class Culprit:
    """An operation with operand values at which the rule for one operand gives `got` and differences give `expected`."""

    equation: Equation
    position: int
    operands: tuple[float, ...]
    got: float
    expected: float

    @property
    def wrong_by(self) -> float:
        return abs(self.got - self.expected) / max(abs(self.got), abs(self.expected))


def culprit(program: Program, at: Mapping[str, float], wrt: Collection[str]) -> Culprit | None:
    """The operation whose rule is wrong by most at a point where the program is smooth, None where every rule is right."""
    found = list(culprits(program, at, wrt))
    return max(found, key=lambda c: c.wrong_by) if found else None


def culprits(program: Program, at: Mapping[str, float], wrt: Collection[str]) -> Iterator[Culprit]:
    """Every wrong rule in the order of the program."""
    exact = precise_arithmetic(RULE_DIGITS)
    values = every_value(program, {n: exact.constant(x) for n, x in at.items()}, exact)
    active, seen = active_values(program, wrt), 0
    for e in program.equations:
        if e.op.truth or e.op is TABLE["dup"]:
            continue
        args = [read(values, a, exact) for a in e.args]
        for i, a in enumerate(e.args):
            if a in active and seen < MOST_PARTIALS:
                seen += 1
                wrong = _wrong(e, i, args, exact)
                if wrong:
                    yield wrong


def _wrong(e: Equation, i: int, args: list[Any], exact: Arithmetic) -> Culprit | None:
    made = by_rule(e, i, exact.constant(1.0), exact.apply(e.op, args, e.args), args, exact)
    got = exact.constant(0.0) if made is None else made
    scale = abs(args[i]) or exact.constant(1.0)
    if e.op.pieces == "step":
        scale = min(scale, exact.constant(1.0))   # far out a part of the operand is many steps
    standing = by_differences(e, i, args, scale, exact)
    if "z" not in standing.values:
        return None
    want, apart = standing.values["z"] / scale, standing.apart["z"] / scale
    if not abs(got - want) > WRONG_FROM * max(abs(got), abs(want)) + apart or float(got) == float(want):   # both may underflow
        return None
    return Culprit(e, i, tuple(float(x) for x in args), float(got), float(want))


def by_differences(e: Equation, i: int, args: list[Any], scale: Any, exact: Arithmetic) -> Standing:
    """Partial derivative by differences of the operation alone, times the scale of the operand."""
    def quotient(exact: Arithmetic, h: Any) -> dict[str, Any]:
        here = [x if isinstance(x, bool) else exact.constant(x) for x in args]
        above, below = (exact.apply(e.op, [*here[:i], here[i] + s * h * scale, *here[i + 1:]], e.args) for s in (1, -1))
        return {"z": ((above - below) / (2 * h), max(abs(above), abs(below)))}
    size = abs(exact.apply(e.op, args, e.args))
    return settled(quotient, 1, SETTLED_TO, {"z": size}, {"z": SETTLED_TO * size})
