"""The remainder of Taylor's theorem in multiple precision (the extra package python-flint): a test of derivatives without
differences.

What is left of f(x + hv) after the terms up to order k falls with h^(k+1) where those terms are right, and with a lower power
where one is wrong; in multiple precision no rounding hides it.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import Arithmetic, evaluate, every_value, read
from adcli.lang.ir import Point, Program
from adcli.lang.verify.differences import spare_digits
from adcli.lang.verify.local_scale import decided

REMAINDER_DIGITS = 90
RELATIVE_STEPS = (1e-10, 1e-14, 1e-18)
"""Steps relative to the scale. At the first, a slope that is wrong by one part in a million shows; the others are for
functions that are not yet smooth over it."""
SMALLEST, ROUNDED = -400, 1e-80
"""A remainder that no double could show is none, and neither is one that rounding makes of the terms."""
ORDERS = (1.5, 2.5)
"""Slopes above these are right: a remainder that has the term of its order falls with that order, 2 and 3, or faster."""


@dataclass(frozen=True)
class Remainder:
    """Remainder of a value at the step `h` after the terms of Taylor's expansion up to the first, and up to the second:
    sizes, and slopes in h (infinite where nothing is left)."""

    h: float
    sizes: tuple[float, float]
    slopes: tuple[float, float]

    @property
    def right(self) -> tuple[bool, bool]:
        return self.slopes[0] >= ORDERS[0], self.slopes[1] >= ORDERS[1]


def remainders(program: Program, derivatives: Program, at: Point, direction: Point,
               noise: Mapping[str, Any]) -> dict[str, Remainder | None]:
    """For every result of the program the remainder along a direction; None where pieces change over every step, or a
    value is not finite. `derivatives` is the tangent program with respect to the names of the direction, or the tangent
    program of that, without which nothing is known of the second remainder. A remainder up to `noise` is what this
    arithmetic makes of nothing."""
    exact = precise_arithmetic(REMAINDER_DIGITS + spare_digits(at, direction))
    terms = _terms(program, derivatives, at, direction, exact)
    centre = decided(program, every_value(program, _point(at, direction, exact.constant(0.0), exact), exact), exact)
    found: dict[str, Remainder | None] = {r.name: None for r in program.results}
    orders = len(terms) // len(found) // 2
    for size in RELATIVE_STEPS:
        h = exact.constant(size)
        runs = [every_value(program, _point(at, direction, s, exact), exact) for s in (h, h / 2)]
        if any(decided(program, run, exact) != centre for run in runs):
            continue
        for i, r in enumerate(program.results):
            known = found[r.name]
            if known is None or not all(known.right[:orders]):
                moved = [read(run, r.atom, exact) for run in runs]
                made = _remainder(moved, terms[i::len(program.results)], h, noise[r.name], exact)
                found[r.name] = known if made is None else made
        if all(x is not None and all(x.right[:orders]) for x in found.values()):
            break
    return found


def sizes(program: Program, derivatives: Program, at: Point, direction: Point,
          steps: Sequence[float]) -> dict[str, list[tuple[float, ...]]]:
    """For every result, and every step h along a direction, what is left of its value after the terms of orders 0, 1 and, where
    they are known, 2."""
    exact = precise_arithmetic(REMAINDER_DIGITS + spare_digits(at, direction))
    terms = _terms(program, derivatives, at, direction, exact)
    found: dict[str, list[tuple[float, ...]]] = {r.name: [] for r in program.results}
    for size in steps:
        h = exact.constant(size)
        moved = evaluate(program, _point(at, direction, h, exact), exact)
        for i, r in enumerate(program.results):
            value, slope, *more = terms[i::len(program.results)]
            rests = [moved[r.name] - value, moved[r.name] - value - h * slope]
            found[r.name].append(tuple(float(abs(x)) for x in (*rests, *(rests[1] - h * h * c / 2 for c in more[1:]))))
    return found


def _terms(program: Program, derivatives: Program, at: Point, direction: Point,
           exact: Arithmetic) -> list[Any]:
    """Derivatives at the point: values and slopes, or with them slopes again and curvatures, for all results."""
    along = [direction[p.name] for p in program.params if p.name in direction]
    names = [p.name for p in derivatives.params[len(program.params):]]
    seeds = dict(zip(names, along + along, strict=False))
    return list(evaluate(derivatives, {n: exact.constant(x) for n, x in {**at, **seeds}.items()}, exact).values())


def _remainder(moved: Sequence[Any], terms: Sequence[Any], h: Any, nothing: Any, exact: Arithmetic) -> Remainder | None:
    """`moved` are the values at h and h/2, `terms` the value and its derivatives: f, f′v, or f, f′v, f′v, vᵀf″v."""
    value, slope, *_, curve = (*terms, 0 * h) if len(terms) == 2 else terms
    rests = []
    for f, step in zip(moved, (h, h / 2), strict=True):
        rest = f - value - step * slope
        rests.append((abs(rest), abs(rest - step * step * curve / 2)))
    if not all(x - x == 0 for pair in rests for x in pair):
        return None
    log, constant = exact.functions["log2"], exact.constant
    nothing = max(nothing, constant(10.0) ** SMALLEST, *(abs(x) * ROUNDED for x in (*moved, value, h * slope, h * h * curve)))
    first, second = (float(log(one / half)) if one > nothing and half else float("inf")
                     for one, half in zip(*rests, strict=True))
    return Remainder(float(h), (float(rests[0][0]), float(rests[0][1])), (first, second))


def _point(at: Point, direction: Point, h: Any, exact: Arithmetic) -> dict[str, Any]:
    return {n: exact.constant(x) + h * exact.constant(direction.get(n, 0.0)) for n, x in at.items()}
