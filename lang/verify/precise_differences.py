"""Derivatives from values alone in multiple precision (the extra package python-flint).

With twice the digits of an answer to spare, a difference quotient of a tiny step has all the digits one could ask for. The
precision is raised, and the step with it, until two quotients agree to more digits than a double has, and how many of a
double's digits are right can be counted.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from adcli.lang.evaluate import Arithmetic, evaluate, precise_arithmetic
from adcli.lang.ir import Program

WORKING_DIGITS = (50, 100, 200, 400, 800)
"""Working precisions in decimal digits; the step of each is 10 to minus 3/8 of it, times the scale of the input."""
LOST = 64.0
"""How many units in the last place a value may be wrong by in terms of the numbers it is made of."""

ExactPoint = Mapping[str, Any]
Quotients = dict[str, Any]
"""By result; while they are settled, each with the largest value it was made of."""


@dataclass(frozen=True)
class Standing:
    """Derivatives that stand, by result, each with how far its last two quotients are apart. Results that no precision
    settled are missing."""

    values: Quotients
    apart: Quotients


def settled(quotients: Callable[[Arithmetic, Any], Quotients], order: int, agreed: float, size: Mapping[str, float],
            enough: Mapping[str, Any], spare: int = 0) -> Standing:
    """Quotients at rising precision, until each has two that agree and that rounding has left alone.

    `quotients` gives them for an arithmetic and a step relative to the scale, each with the largest value that it was made of.
    `size` says, by result, how large the numbers are that a value is made of: a digit lost there is an error of the quotient. A
    quotient that goes to 0 never agrees with another in relative terms; it stands when no more than `enough` is left. `spare`
    digits are more than the step asks for: those of an input before its scale.
    """
    values: Quotients = {}
    apart: Quotients = {}
    before: Quotients = {}
    for digits in WORKING_DIGITS:
        exact = precise_arithmetic(digits + spare)
        h = exact.constant(10.0) ** (-3 * digits // 8) if order == 1 else exact.constant(10.0) ** (-digits // 4)
        now = quotients(exact, h)
        for name, (x, largest) in now.items() if before else ():
            noise = LOST * (size[name] + largest) * exact.constant(10.0) ** -digits / h ** order
            distance = abs(x - before[name][0]) + noise
            if name not in values and distance <= max(agreed * abs(x), enough[name]):
                values[name], apart[name] = x, distance
        if len(values) == len(now):
            break
        before = now
    return Standing(values, apart)


def derivative(program: Program, at: Mapping[str, float], directions: Sequence[Mapping[str, float]], agreed: float,
               size: Mapping[str, float], enough: Mapping[str, Any]) -> Standing:
    """The derivative of every result along one direction, or the second derivative along two, by central differences."""
    signs = list(product((1, -1), repeat=len(directions)))

    def quotients(exact: Arithmetic, h: Any) -> Quotients:
        moved = [_moved(program, at, exact, [s * h for s in some], directions) for some in signs]
        divisor = (2 * h) ** len(directions)
        return {n: (sum((prod(some) * m[n] for some, m in zip(signs, moved, strict=True)), exact.constant(0.0)) / divisor,
                    max(abs(m[n]) for m in moved)) for n in moved[0]}
    return settled(quotients, len(directions), agreed, size, enough, max(spare_digits(at, d) for d in directions))


def spare_digits(at: Mapping[str, float], direction: Mapping[str, float]) -> int:
    """The digits of the inputs before the first that a direction changes."""
    return max([0, *(int((math.frexp(at[n])[1] - math.frexp(v)[1]) * math.log10(2)) + 1 for n, v in direction.items() if v)])


def same_as_program(derivative: Program, at: Mapping[str, float], wanted: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The results named in `wanted` of a derivative program in multiple precision. Precision is raised until all are as
    wanted, each a quotient with the distance it may have, so that what cancels has digits to spare; those that never are
    come as the highest precision has them."""
    found: dict[str, Any] = {}
    for digits in WORKING_DIGITS[1:]:
        exact = precise_arithmetic(digits)
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
