"""Which part of a formula somebody's wrong derivative comes from: the one whose contribution explains how far it is off.

A derivative is a sum over the paths from the output to the input. What runs through one argument of one operation is the adjoint
that the argument receives there times its own tangent, so two sweeps at a point give the contribution of every part of the
formula. Somebody who forgot a term, took it with the wrong sign or counted it twice is off by -1, -2 or 1 times its
contribution, everywhere: a part is named only where one such factor explains every difference, at several points. The
same holds of values, with the value of the argument in place of its tangent, as far as the output is linear in it.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adcli.lang.analyse.numeric_sweeps import ArgumentUse, forward_sweep, reverse_sweep
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.ir import Atom, Equation, Program, Result
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values

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

    at: Mapping[str, float]
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
    computed = {out: e for e in program.equations for out in e.outs}
    if whole is not None:
        part, used, factor = result.atom, None, whole
    else:
        use = max(factors, key=lambda u: (order[u[0]], -u[1]))
        part, used, factor = use[0].args[use[1]], use[0], factors[use]
    while (e := computed.get(part)) is not None and e.op in SUMS:   # type: ignore[arg-type]  # of a Lit nothing is computed
        inner = [i for i in range(len(e.args)) if (e, i) in factors]
        if len(inner) != 1:
            break
        part, used, factor = e.args[inner[0]], e, factors[e, inner[0]]
    return WrongTerm(part, computed.get(part), used, factor, len(cases), whole is not None)   # type: ignore[arg-type]


def contributions(program: Program, out: Atom, wrt: str | None,
                  at: Mapping[str, float]) -> tuple[float, dict[ArgumentUse, float]]:
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
    varied = max(map(abs, clear)) > (1 + 1e-3) * min(map(abs, clear)) or min(clear) < 0 < max(clear)
    return factor if usual_one or (varied and len(clear) >= FEWEST_ODD) else None


def told(factor: float) -> str:
    """Fault of a part that counts so many times, in words."""
    if factor in USUAL:
        return ("has the wrong sign", "is missing", "counts twice", "counts half")[USUAL.index(factor)]
    if abs(factor - 1) < CLOSE:
        return f"is too {'large' if factor > 1 else 'small'} by {abs(factor - 1):.2g} of itself"
    close = Fraction(factor).limit_denominator(SMALL)
    near = abs(close - factor) < MATCH * abs(factor) and abs(close.numerator) <= SMALL
    return f"counts {close if near else f'{factor:.6g}'} times"


