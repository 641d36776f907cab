"""Points at which a program is looked at when no one names any: from the declared ranges, around defaults, around 1.

An input with a range is drawn from it; one with a default from its neighbourhood; any other is a power of two up to 2^±3
in size, smaller spreads and positive signs being tried in turn, since many formulas want lengths and temperatures.
Points at which a value is not finite are drawn again.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from adcli.input.points import Point
from adcli.lang.ir import Param

FARTHEST = 1e6
DRAWS_EACH = 60
"""Points drawn for each one wanted, at most."""
SPREADS = ((1.0, 0.0), (3.0, 0.0), (1.0, 0.3), (3.0, 0.5))
"""Exponents of two, and the probability of a negative sign, taken in turn."""


def draw(params: Sequence[Param], seed: int) -> Iterator[Point]:
    """Points without end, the same for the same seed."""
    r = random.Random(f"adcli {seed}")
    while True:
        for spread, negative in SPREADS:
            yield {p.name: drawn_number(r, p, spread, negative) for p in params}


def drawn_number(r: random.Random, p: Param, spread: float, negative: float) -> float:
    """One input, or an element of one."""
    sign, size, place = (-1.0 if r.random() < negative else 1.0), 2.0 ** r.uniform(-spread, spread), r.random()
    if p.low is not None and p.high is not None:
        return ranged(p.low, p.high, place)
    if p.default is None:
        return sign * size
    return p.default * (0.75 + place / 2) if p.default else place - 0.5


def ranged(low: float, high: float, place: float) -> float:
    """A number of a range, as far out as a formula may be expected to bear: up to `FARTHEST`, or up to that many times the end
    that is nearer to 0."""
    low, high = max(low, min(-FARTHEST, FARTHEST * high)), min(high, max(FARTHEST, FARTHEST * low))
    return min(high, max(low, low * (1 - place) + high * place))


def usable(source: Iterator[Point], count: int, finite: Callable[[list[Point]], list[bool]]) -> tuple[list[Point], int]:
    """`count` points of those drawn that are `finite`, or fewer where `DRAWS_EACH` draws for each do not find them; and how many
    were not."""
    found: list[Point] = []
    failed = drawn = 0
    while len(found) < count and drawn < DRAWS_EACH * count:
        batch = [next(source) for _ in range(min(max(8, 2 * (count - len(found))), DRAWS_EACH * count - drawn))]
        drawn += len(batch)
        for point, good in zip(batch, finite(batch), strict=True):
            if len(found) == count:
                break
            if good:
                found.append(point)
            else:
                failed += 1
    return found, failed
