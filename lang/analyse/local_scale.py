"""How far from a point a value goes on as it begins there: the length that steps of differences and expansions are parts of.

The size of the input is no such length: sin(1e7*x) turns over a millionth of it, and hypot(x, 1e-300) at 0 knows nothing of 1.
Steps that are longer than that length see another function, and all of them agree on a wrong answer. So values are looked at
from the shortest step upwards: as long as the change of the value grows about as fast as the step, nothing has turned yet.
No rule of differentiation has a part in it.

Where doubles show nothing, since neighbours are too far apart or rounding hides the change, multiple precision is asked.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adcli.lang.evaluate import evaluate, mpmath_arithmetic
from adcli.lang.ir import Program

RUNG = 16.0
"""Each step is so many times the one before."""
GROWTH = 7.0
"""By what factor a change grows at least from step to step, where the value goes on as it began: 16 for a slope."""
FINEST = 4.0
"""The first step, in units in the last place of the input."""
LEAST_STEP, LONGEST = 2.0 ** -1060, 8.0
"""The first step at 0; and the last one, times the size of the input or 1."""
ODD_PART = 1e-12
"""A part of a change by which the two sides differ, below which that may be rounding."""
VISIBLE = 64.0
"""A change is seen that is so many times what rounding can do."""
EXACT_RUNG, EXACT_GROWTH, EXACT_STEP = 32, 2.0 ** 24, 1100
"""The same in multiple precision: steps are powers of two, the first is 2 to minus so many."""
NEAR = 180
"""Where multiple precision looks first, before it goes down to that: steps from 2 to minus so many, times the input."""


def ladder(x: float) -> list[float]:
    """The steps to look at, the shortest first."""
    h, last = max(FINEST * math.ulp(x), LEAST_STEP), LONGEST * max(abs(x), 1.0)
    steps = []
    while h <= last and abs(x) + h < math.inf:
        steps.append(h)
        h *= RUNG
    return steps


def local_scale(steps: Sequence[float], above: Sequence[float], below: Sequence[float], centre: float,
                noise: float) -> float | None:
    """The longest step of a ladder up to which a value goes on as it begins; None where doubles do not show it. Values are NaN
    where the step reaches another piece; `noise` bounds the error of a value."""
    changes = [max(abs(a - centre), abs(b - centre)) if a - b == a - b else math.nan for a, b in zip(above, below, strict=True)]
    seen = next((k for k, c in enumerate(changes) if not c <= VISIBLE * noise), len(changes))
    if seen == len(changes) or not changes[seen] < math.inf:
        return None if noise > 0 or not seen else steps[seen - 1]
    apart = [abs(a - b) for a, b in zip(above, below, strict=True)]

    def goes_on(k: int) -> bool:
        odd = apart[k] > VISIBLE * noise + ODD_PART * changes[k]
        power = changes[k] / changes[k - 1] / RUNG if k > seen and changes[k - 1] else 1.0
        return (GROWTH * max(power, 1.0) * changes[k] <= changes[k + 1] < math.inf
                and (not odd or GROWTH * apart[k] <= apart[k + 1]))

    last = seen
    while last + 1 < len(changes) and goes_on(last):
        last += 1
    if last - seen >= 2:
        return steps[last]
    return None if seen == 0 else steps[seen - 1]


def exact_scale(program: Program, at: Mapping[str, float], name: str, size: Mapping[str, float]) -> dict[str, float | None]:
    """The same for every result in multiple precision; None where not even the shortest step shows it. `size` says how large the
    numbers are that a value is made of."""
    last = math.frexp(at[name])[1] if at[name] else 0
    found: dict[str, float | None] = {r.name: None for r in program.results}
    for first in (max(last - NEAR, -EXACT_STEP), -EXACT_STEP):
        if None in found.values():
            deeper = _exact_scale(program, at, name, size, range(first, max(last, 0) + 3, EXACT_RUNG))
            found = {r: deeper[r] if h is None else h for r, h in found.items()}
    return found


def _exact_scale(program: Program, at: Mapping[str, float], name: str, size: Mapping[str, float],
                 powers: range) -> dict[str, float | None]:
    digits = 60 + int(max(0, math.frexp(at[name])[1] - powers[0], -powers[0]) * math.log10(2))
    exact = mpmath_arithmetic(digits)
    point, two = {n: exact.constant(x) for n, x in at.items()}, exact.constant(2.0)
    centre = evaluate(program, point, exact)
    rounded = {r: exact.constant(size[r]) * exact.constant(10.0) ** (20 - digits) for r in centre}
    changes: dict[str, list[tuple[Any, Any]]] = {r: [] for r in centre}
    found: dict[str, float | None] = dict.fromkeys(centre)
    going = set(centre)
    for power in powers:
        moved = [evaluate(program, {**point, name: point[name] + s * two ** power}, exact) for s in (1, -1)]
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
    """Whether the last of the changes, each with the difference of the two sides, follows from those before it: nothing from
    nothing, and a power of the step from a power."""
    now, apart = changes[-1]
    if now - now != 0 or len(changes) == 1:
        return bool(now - now == 0)
    (last, odd), least = changes[-2], EXACT_GROWTH
    if not last > rounded:
        return not now > rounded
    if len(changes) > 2 and changes[-3][0] > rounded:
        least = max(least, last / changes[-3][0] * (EXACT_GROWTH / 2.0 ** EXACT_RUNG))
    return bool(now >= least * last and (odd <= max(rounded, ODD_PART * last) or apart >= EXACT_GROWTH * odd))
