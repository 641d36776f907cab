"""Derivatives from values alone in multiple precision (the extra package mpmath).

With twice the digits of an answer to spare, a difference quotient of a tiny step has all the digits one could ask for. The
precision is raised, and the step with it, until two quotients agree to more digits than a double has, and how many of a
double's digits are right can be counted.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

from lang.evaluate import Arithmetic, evaluate, every_value, mpmath_arithmetic, read
from lang.ir import Program

DIGITS = (50, 100, 200, 400, 800)
"""Working precisions in decimal digits; the step of each is 10 to minus 3/8 of it, times the scale of the input."""
LOST = 64.0
"""How many units in the last place a value may be wrong by in terms of the numbers it is made of."""

Point = Mapping[str, Any]
Quotients = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """Derivatives that stand, by result, each with how far its last two quotients are apart. Results that no precision
    settled are missing."""

    values: Quotients
    apart: Quotients


@cache
def arithmetic(digits: int) -> Arithmetic:
    """Multiple precision of so many decimal digits."""
    return mpmath_arithmetic(digits)


def settled(quotients: Callable[[Arithmetic, Any], Quotients], order: int, agreed: float, size: Mapping[str, float],
            enough: Mapping[str, float]) -> Standing:
    """Quotients at rising precision, until each has two that agree and that rounding has left alone.

    `quotients` gives them for an arithmetic and a step relative to the scale. `size` says, by result, how large the numbers
    are that a value is made of: a digit lost there is an error of the quotient. A quotient that goes to 0 never agrees with
    another in relative terms; it stands when no more than `enough` is left.
    """
    values: Quotients = {}
    apart: Quotients = {}
    before: Quotients = {}
    for digits in DIGITS:
        exact = arithmetic(digits)
        h = exact.constant(10.0) ** (-3 * digits // 8) if order == 1 else exact.constant(10.0) ** (-digits // 4)
        now = quotients(exact, h)
        for name, x in now.items() if before else ():
            noise = LOST * size[name] * exact.constant(10.0) ** -digits / h ** order
            distance = abs(x - before[name]) + noise
            if name not in values and distance <= max(agreed * abs(x), enough[name]):
                values[name], apart[name] = x, distance
        if len(values) == len(now):
            break
        before = now
    return Standing(values, apart)


def derivative(program: Program, at: Mapping[str, float], directions: Sequence[Mapping[str, float]], agreed: float,
               size: Mapping[str, float], enough: Mapping[str, float]) -> Standing:
    """The derivative of every result along one direction, or the second derivative along two, by central differences."""
    signs = list(product((1, -1), repeat=len(directions)))

    def quotients(exact: Arithmetic, h: Any) -> Quotients:
        moved = [_moved(program, at, exact, [s * h for s in some], directions) for some in signs]
        divisor = (2 * h) ** len(directions)
        return {n: sum((prod(some) * m[n] for some, m in zip(signs, moved, strict=True)), exact.constant(0.0)) / divisor
                for n in moved[0]}
    return settled(quotients, len(directions), agreed, size, enough)


def same_as_program(derivative: Program, at: Mapping[str, float], wanted: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The results named in `wanted` of a derivative program in multiple precision. Precision is raised until all are as
    wanted, each a quotient with the distance it may have, so that what cancels has digits to spare; those that never are
    come as the highest precision has them."""
    found: dict[str, Any] = {}
    for digits in DIGITS[1:]:
        exact = arithmetic(digits)
        made = evaluate(derivative, {n: exact.constant(x) for n, x in at.items()}, exact)
        found = {n: made[n] for n in wanted}
        if all(abs(found[n] - want) <= allowed for n, (want, allowed) in wanted.items()):
            break
    return found


def _moved(program: Program, at: Mapping[str, float], exact: Arithmetic, steps: Sequence[Any],
           directions: Sequence[Mapping[str, float]]) -> Quotients:
    point = {n: exact.constant(x) for n, x in at.items()}
    for h, direction in zip(steps, directions, strict=True):
        for n, v in direction.items():
            point[n] += h * exact.constant(v)
    return evaluate(program, point, exact)


# ---------------------------------------------------------------- the remainder of Taylor's theorem

REMAINDER_DIGITS = 90
REMAINDER_STEPS = (1e-10, 1e-14, 1e-18)
"""Steps relative to the scale. At the first, a slope that is wrong by one part in a million shows; the others are for
functions that are not yet smooth over it."""
ORDERS = (1.5, 2.5)
"""Slopes above these are right: a remainder that has the term of its order falls with that order, 2 and 3, or faster."""


@dataclass(frozen=True)
class Remainder:
    """What is left of a value at the step `h` after the terms of Taylor's expansion up to the first, and up to the second:
    sizes, and slopes in h (infinite where nothing is left)."""

    h: float
    sizes: tuple[float, float]
    slopes: tuple[float, float]

    @property
    def right(self) -> tuple[bool, bool]:
        return self.slopes[0] >= ORDERS[0], self.slopes[1] >= ORDERS[1]


def remainders(program: Program, derivatives: Program, at: Mapping[str, float], direction: Mapping[str, float],
               noise: Mapping[str, float]) -> dict[str, Remainder | None]:
    """For every result of the program the remainder along a direction; None where pieces change over every step, or a
    value is not finite. `derivatives` is the tangent program with respect to the names of the direction, or the tangent
    program of that, without which nothing is known of the second remainder. A remainder up to `noise` is what this
    arithmetic makes of nothing."""
    exact = arithmetic(REMAINDER_DIGITS)
    along = [direction[p.name] for p in program.params if p.name in direction]
    names = [p.name for p in derivatives.params[len(program.params):]]
    seeds = dict(zip(names, along + along, strict=False))
    terms = list(evaluate(derivatives, {n: exact.constant(x) for n, x in {**at, **seeds}.items()}, exact).values())
    centre = _decisions(program, every_value(program, _point(at, direction, exact.constant(0.0), exact), exact), exact)
    found: dict[str, Remainder | None] = {r.name: None for r in program.results}
    orders = len(terms) // len(found) // 2
    for size in REMAINDER_STEPS:
        h = exact.constant(size)
        runs = [every_value(program, _point(at, direction, s, exact), exact) for s in (h, h / 2)]
        if any(_decisions(program, run, exact) != centre for run in runs):
            continue
        for i, r in enumerate(program.results):
            known = found[r.name]
            if known is None or not all(known.right[:orders]):
                moved = [read(run, r.atom, exact) for run in runs]
                made = _remainder(moved, terms[i::len(program.results)], h, noise[r.name])
                found[r.name] = known if made is None else made
        if all(x is not None and all(x.right[:orders]) for x in found.values()):
            break
    return found


def _remainder(moved: Sequence[Any], terms: Sequence[Any], h: Any, nothing: float) -> Remainder | None:
    """`moved` are the values at h and h/2, `terms` the value and its derivatives: f, f′v, or f, f′v, f′v, vᵀf″v."""
    value, slope, *_, curve = (*terms, 0 * h) if len(terms) == 2 else terms
    rests = []
    for f, step in zip(moved, (h, h / 2), strict=True):
        rest = f - value - step * slope
        rests.append((abs(rest), abs(rest - step * step * curve / 2)))
    if not all(x - x == 0 for pair in rests for x in pair):
        return None
    log = h.context.log
    first, second = (float(log(one / half) / log(2)) if one > nothing and half else float("inf")
                     for one, half in zip(*rests, strict=True))
    return Remainder(float(h), (float(rests[0][0]), float(rests[0][1])), (first, second))


def _point(at: Mapping[str, float], direction: Mapping[str, float], h: Any, exact: Arithmetic) -> dict[str, Any]:
    return {n: exact.constant(x) + h * exact.constant(direction.get(n, 0.0)) for n, x in at.items()}


def _decisions(program: Program, values: Mapping[Any, Any], exact: Arithmetic) -> list[object]:
    """What decides between pieces: comparisons, the order of what max or abs sees, steps; and the signs of denominators."""
    found: list[object] = []
    for e in program.equations:
        if e.op.truth or e.op.name in ("floor", "ceil", "round", "trunc", "sign"):
            found.append(values[e.outs[0]])
        elif e.op.name in ("max", "min", "fmax", "fmin", "abs", "copysign", "fdim", "fmod", "div"):
            args = [read(values, a, exact) for a in e.args]
            found += [x < y for x in args for y in (*args, 0)]
            if e.op.name == "fmod" and args[1]:
                found.append((args[0] - values[e.outs[0]]) / args[1] // 0.5)
    return found
