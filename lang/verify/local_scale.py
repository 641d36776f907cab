"""How far from a point a value goes on as it begins there: the length that steps of differences and expansions are parts of.

The size of the input is no such length: sin(1e7*x) turns over a millionth of it, and hypot(x, 1e-300) at 0 knows nothing of 1.
Steps that are longer than that length see another function, and all of them agree on a wrong answer. So values are looked at
in multiple precision from the shortest step upwards: as long as the change of the value grows about as fast as the step, nothing
has turned yet, and no comparison or rounding on the way comes out otherwise: over steps of 1e200, round(x) is a line. No rule of
differentiation has a part in it.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import Arithmetic, every_value, read
from adcli.lang.ir import Equation, Point, Program
from adcli.lang.ir.primitives import TABLE

# ---------------------------------------------------------------- decisions
#
# Which of its pieces a program is on, so that differences and expansions can keep to one.

DIV = TABLE["div"]


def decisions(program: Program) -> Iterator[Equation]:
    """The comparisons, the operations with pieces of their own, and the quotients, whose denominators have signs."""
    return (e for e in program.equations if e.op.truth or e.op.pieces or e.op is DIV)


def decided(program: Program, values: Mapping[Any, Any], exact: Arithmetic) -> list[object]:
    """The outcomes that decide between pieces: comparisons, steps, the order of what max or abs sees, signs of denominators."""
    found: list[object] = []
    for e in decisions(program):
        if e.op.truth or e.op.pieces == "step":
            found.append(values[e.outs[0]])
        else:
            args = [read(values, a, exact) for a in e.args]
            found += [x < y for x in args for y in (*args, 0)]
            if e.op.pieces == "sawtooth" and args[1]:
                found.append(exact.functions["floor"](2 * (args[0] - values[e.outs[0]]) / args[1]))
    return found


# ---------------------------------------------------------------- scales

ODD_PART = 1e-12
"""A part of a change by which the two sides differ, below which that may be rounding."""
RUNG, GROWTH, STEP = 32, 2.0 ** 24, 1100
"""Each step is 2 to so many times the one before, a change grows at least by such a factor, and the first step is 2 to minus
so many."""
DIGITS = 60
"""Decimal digits to spare."""
NEAR = 180
"""Where multiple precision looks first, before it goes down to that: steps from 2 to minus so many, times the input."""


def size_of(x: float, low: float | None, high: float | None) -> float:
    """The length of steps where nothing better is known: the size of an input; at 0 the width of its range, else 1."""
    if x:
        return abs(x)
    return high - low if low is not None and high is not None and 0 < high - low < math.inf else 1.0


def local_scale(program: Program, at: Point, name: str, size: Point) -> dict[str, float | None]:
    """The longest step up to which every result goes on as it begins; None where not even the shortest step shows it.
    `size` says how large the numbers are that a value is made of."""
    last = math.frexp(at[name])[1] if at[name] else -STEP
    found: dict[str, float | None] = {r.name: None for r in program.results}
    for first in dict.fromkeys((max(last - NEAR, -STEP), -STEP)):
        if None in found.values():
            deeper = _scales(program, at, name, size, range(first, max(last, 0) + 3, RUNG))
            found = {r: deeper[r] if h is None else h for r, h in found.items()}
    return found


def _scales(program: Program, at: Point, name: str, size: Point,
                 powers: range) -> dict[str, float | None]:
    digits = DIGITS + int(max(0, math.frexp(at[name])[1] - powers[0], -powers[0]) * math.log10(2))
    exact = precise_arithmetic(digits)
    point, two = exact.point(at), exact.constant(2.0)

    def seen(at: Mapping[str, Any]) -> tuple[dict[str, Any], list[object]]:
        values = every_value(program, at, exact)
        return {r.name: read(values, r.atom, exact) for r in program.results}, decided(program, values, exact)

    centre, pieces = seen(point)
    rounded = {r: exact.constant(size[r]) * exact.constant(10.0) ** (20 - digits) for r in centre}
    changes: dict[str, list[tuple[Any, Any]]] = {r: [] for r in centre}
    found: dict[str, float | None] = dict.fromkeys(centre)
    going = set(centre)
    for power in powers:
        (above, over), (below, under) = (seen({**point, name: point[name] + s * two ** power}) for s in (1, -1))
        moved = above, below
        if not over == under == pieces:
            break
        for r in sorted(going):
            changes[r].append((max(abs(m[r] - centre[r]) for m in moved), abs(moved[0][r] - moved[1][r])))
            if not _still_goes_on(changes[r], rounded[r]):
                going.discard(r)
            elif len(changes[r]) > 1:
                found[r] = math.ldexp(1.0, min(max(power, -1074), 1023))
        if not going:
            break
    return found


def _still_goes_on(changes: Sequence[tuple[Any, Any]], rounded: Any) -> bool:
    """True if the last of the changes, each with the difference of the two sides, follows from those before it: nothing from
    nothing, and a power of the step from a power."""
    now, apart = changes[-1]
    if now - now != 0 or len(changes) == 1:
        return bool(now - now == 0)
    (last, odd), least = changes[-2], GROWTH
    if not last > rounded:
        return not now > rounded
    if len(changes) > 2 and changes[-3][0] > rounded:
        least = max(least, last / changes[-3][0] * (GROWTH / 2.0 ** RUNG))
    return bool(now >= least * last and (odd <= max(rounded, ODD_PART * last) or apart >= GROWTH * odd))
