"""Axes: round numbers for ticks and levels, where an axis begins and ends, and how a number is placed on it."""
from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from adcli.pictures.picture import Contour, Panel, Picture

STEPS = (1.0, 2.0, 5.0, 10.0)
MARGIN = 0.04
"""Of the height, left free above and below curves."""
DECADES = 12
"""Of a logarithmic axis, at most."""


class Scale(NamedTuple):
    """The ends of an axis, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    def place(self, x: float) -> float:
        """From 0 at the low end to 1 at the high one; beyond them outside of that, NaN for what has no place."""
        if self.log:
            return math.nan if not 0 < x < math.inf else \
                (math.log10(x) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        part = 1.0 if math.isfinite(self.high - self.low) else 0.5   # the width may be larger than any double
        return (x * part - self.low * part) / (self.high * part - self.low * part) if math.isfinite(x) else math.nan

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the axis, about as many."""
        if not self.log:
            return round_numbers(self.low, self.high, most)
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0 ** k for k in range(first, last + 1, max(1, math.ceil((last - first + 1) / max(1, most))))]


def scale_of(values: Iterable[float], low: float | None = None, high: float | None = None, log: bool = False) -> Scale:
    """The axis of these values with a margin, unless its ends are given."""
    finite = [x for x in values if math.isfinite(x) and (x > 0 or not log)]
    least, most = min(finite, default=1.0 if log else 0.0), max(finite, default=1.0)
    if log:
        first, last = math.floor(math.log10(max(least, most * 10.0 ** -DECADES))), math.ceil(math.log10(most))
        return Scale(10.0 ** min(first, last - 1), 10.0 ** last, True)
    least, most = least if low is None else low, most if high is None else high
    wide = MARGIN * (most / 2 - least / 2) * 2 or 0.5 * abs(most) or 0.5
    return Scale(max(least - wide, -1.7e308) if low is None else low, min(most + wide, 1.7e308) if high is None else high)


def horizontal(picture: Picture) -> Scale:
    """The axis that all panels share: functions fill it, points and curves that turn back have a margin."""
    curves = [c for p in picture.panels for c in p.every]
    x = [v for c in curves for v in c.x if math.isfinite(v)]
    turning = any(b < a for c in curves for a, b in pairwise(c.x))
    if picture.log_x or turning or any(c.style == "points" for c in curves) or not x or min(x) == max(x):
        return scale_of(x, log=picture.log_x)
    return Scale(min(x), max(x))


def vertical(p: Panel) -> Scale:
    """The axis of a panel's own."""
    return scale_of((y for c in p.curves for y in (*c.y, *(end for _, *ends in c.bars for end in ends))), p.low, p.high, p.log)


def heights_of(c: Contour) -> Scale:
    """The axis of the values of a map."""
    finite = [v for row in c.z for v in row if math.isfinite(v)]
    return Scale(min(finite, default=0.0), max(finite, default=1.0))


def placed(c: Contour, across: Scale, up: Scale) -> tuple[list[float], list[float], Any, list[float]]:
    """A map with values on axes from 0 to 1, heights too: x, y, z, masked where there is no value, and the levels."""
    import numpy as np
    heights = heights_of(c)
    z = np.ma.masked_invalid([[heights.place(v) for v in row] for row in c.z])
    return [across.place(v) for v in c.x], [up.place(v) for v in c.y], z, [heights.place(v) for v in c.levels]


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, from low to high, at most as many (and at least one, if there is one)."""
    rough = (high / 2 - low / 2) * 2 / max(1, most) if high / 2 - low / 2 < 8e307 else 1.7e308 / max(1, most)
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 1e-307 else rough
    step = next(s * power for s in STEPS if s * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)] if last - first <= 10 * most else [low, high]


def labels(ticks: Sequence[float]) -> list[str]:
    """The ticks as text: as few digits as tell them apart."""
    for digits in range(1, 17):
        found = [f"{x if x else 0.0:.{digits}g}" for x in ticks]
        close = min((abs(b - a) for a, b in pairwise(ticks)), default=0.0)
        if len(set(found)) == len(found) and all(abs(float(t) - x) <= 1e-3 * close for t, x in zip(found, ticks, strict=True)):
            return [re.sub(r"e(-?)\+?0?", r"e\1", f"{float(text):.{max(digits, 6)}g}") for text in found]
    return [repr(x) for x in ticks]
