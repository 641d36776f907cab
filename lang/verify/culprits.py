"""The part of a formula that a wrong derivative comes from: the one whose contribution explains how far it is off, or the rule
of an operation.

A derivative is a sum over the paths from the output to the input. What runs through one argument of one operation is the adjoint
that the argument receives there times its own tangent, so two sweeps at a point give the contribution of every part of the
formula. Somebody who forgot a term, took it with the wrong sign or counted it twice is off by -1, -2 or 1 times its
contribution, everywhere: a part is named only where one such factor explains every difference, at several points. The
same holds of values, with the value of the argument in place of its tangent, as far as the output is linear in it.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adcli.lang.analyse.numeric_sweeps import ArgumentUse, by_rule, forward_sweep, reverse_sweep
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value, read
from adcli.lang.ir import Atom, Equation, Point, Program, Result, definitions
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values
from adcli.lang.verify.differences import Standing, settled

MATCH = 1e-9
"""Relative difference up to which a contribution explains a difference."""
CLEAR = 100.0
"""A difference is so many times its tolerance, at two points at least, where anything is said of it."""
FEWEST, FEWEST_ODD = 2, 3
"""Points at which a factor is borne out, if it is a usual one, and if it is any other."""
MOST_CASES = 12
"""Points that are looked at."""
USUAL = (-1.0, 0.0, 2.0, 0.5)
"""Factors of a part with the wrong sign, without the part, with twice of it, and half."""
SMALL = 12
"""Numerators and denominators of factors that are shown as fractions."""
CLOSE = 1e-3
"""A factor that is said as a difference from 1."""
SUMS = tuple(TABLE[name] for name in ("add", "sub", "neg"))


@dataclass(frozen=True)
class Difference:
    """How far a number is from what it should be at a point, and how far that may be wrong."""

    at: Point
    difference: float
    tolerance: float


@dataclass(frozen=True)
class WrongTerm:
    """A part of a formula that counts `factor` times, with the equation that it is computed by (where there is one) and the one
    that it is used in (None: it is the output itself). `whole`: all of the entry comes from it."""

    part: Atom
    computed: Equation | None
    used: Equation | None
    factor: float
    points: int
    whole: bool


def wrong_term(program: Program, result: Result, wrt: str | None, cases: Sequence[Difference]) -> WrongTerm | None:
    """The part of `result` that explains the differences of its derivative by `wrt` (of its value where that is None); None where
    none does at several points."""
    cases = [*cases][:MOST_CASES]
    if sum(abs(c.difference) > CLEAR * c.tolerance for c in cases) < FEWEST:
        return None
    found = [contributions(program, result.atom, wrt, c.at) for c in cases]
    whole = explains([total for total, _ in found], cases)
    uses = dict.fromkeys(use for _, parts in found for use in parts)
    factors = {use: f for use in uses if (f := explains([parts.get(use, 0.0) for _, parts in found], cases)) is not None}
    if whole is None and not factors:
        return None
    order = {e: i for i, e in enumerate(program.equations)}
    computed = definitions(program.equations)
    if whole is not None:
        part, used, factor = result.atom, None, whole
    else:
        use = max(factors, key=lambda u: (order[u[0]], -u[1]))
        part, used, factor = use[0].args[use[1]], use[0], factors[use]
    while (e := computed.get(part)) is not None and e.op in SUMS:  # of a Lit nothing is computed
        inner = [i for i in range(len(e.args)) if (e, i) in factors]
        if len(inner) != 1:
            break
        part, used, factor = e.args[inner[0]], e, factors[e, inner[0]]
    return WrongTerm(part, computed.get(part), used, factor, len(cases), whole is not None)


def contributions(program: Program, out: Atom, wrt: str | None,
                  at: Point) -> tuple[float, dict[ArgumentUse, float]]:
    """The derivative of a result (its value) at a point, and what of it runs through each argument of each operation."""
    values = every_value(program, at, FLOAT)
    if wrt is None:
        reached: set[Atom] = {a for e in program.equations if not e.op.truth for a in (*e.args, *e.outs)}
        moved = {a: float(read(values, a, FLOAT)) for a in reached | {out}}
    else:
        reached = active_values(program, [wrt])
        moved = forward_sweep(program, values, [(program.param(wrt).var, 1.0)]).numbers
    backward = reverse_sweep(program, values, [(out, 1.0)], reached, reached)
    found = {}
    for line in backward.lines:
        for part in line:
            use = part.equation, part.position
            found[use] = part.value * moved.get(part.equation.args[part.position], 0.0)
    return moved.get(out, 0.0), found


def explains(parts: Sequence[float], cases: Sequence[Difference]) -> float | None:
    """How many times a part is counted, if that explains every difference; None if it does not."""
    if not all(map(math.isfinite, parts)):
        return None
    k = max(range(len(cases)), key=lambda i: abs(cases[i].difference) / (cases[i].tolerance or 5e-324))
    if not parts[k]:
        return None
    factor = 1 + cases[k].difference / parts[k]
    usual = min(USUAL, key=lambda f: abs(f - factor))
    usual_one = abs(usual - factor) < max(MATCH, cases[k].tolerance / abs(parts[k]))
    factor = usual if usual_one else factor
    for x, c in zip(parts, cases, strict=True):
        if abs(c.difference - (factor - 1) * x) > 2 * c.tolerance + MATCH * abs(c.difference):
            return None
    clear = [x for x, c in zip(parts, cases, strict=True) if abs(c.difference) > CLEAR * c.tolerance]
    varied = len(clear) >= FEWEST_ODD and (
        max(map(abs, clear)) > (1 + 1e-3) * min(map(abs, clear)) or min(clear) < 0 < max(clear))
    return factor if usual_one or varied else None


def told(factor: float) -> str:
    """Fault of a part that counts so many times, in words."""
    if factor in USUAL:
        return ("has the wrong sign", "is missing", "counts twice", "counts half")[USUAL.index(factor)]
    if abs(factor - 1) < CLOSE:
        return f"is too {'large' if factor > 1 else 'small'} by {abs(factor - 1):.2g} of itself"
    close = Fraction(factor).limit_denominator(SMALL)
    near = abs(close - factor) < MATCH * abs(factor) and abs(close.numerator) <= SMALL
    return f"counts {close if near else f'{factor:.6g}'} times"


# ---------------------------------------------------------------- wrong rules
# At the operands that an operation has in a run, its partial derivatives by the rule of the table are compared with differences
# of the operation itself in multiple precision. A rule that is wrong so names itself, whatever stands around it; where all
# are right, the fault is in how a sweep puts them together.

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


def culprit(program: Program, at: Point, wrt: Collection[str]) -> Culprit | None:
    """The operation whose rule is wrong by most at a point where the program is smooth, None where every rule is right."""
    found = list(culprits(program, at, wrt))
    return max(found, key=lambda c: c.wrong_by) if found else None


def culprits(program: Program, at: Point, wrt: Collection[str]) -> Iterator[Culprit]:
    """Every wrong rule in the order of the program."""
    exact = precise_arithmetic(RULE_DIGITS)
    values = every_value(program, exact.point(at), exact)
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
