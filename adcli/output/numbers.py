"""Numbers as text and in JSON: the one place that spells them.

Many numbers of single precision become the doubles that their shortest decimals are read as: what writes doubles writes these in
as few digits as singles need.
"""
from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adcli.lang.ir.errors import AdError

if TYPE_CHECKING:
    import numpy as np

Number = Callable[[float], str]
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The strings that stand in JSON for what it has no number for."""
NEARLY_LARGEST = 1e308
"""Numbers below this are finite however they are rounded."""
TEMPLATE = re.compile(r"%[-+ #0]*\d{0,3}(\.\d{1,3})?[eEfFgG]", re.ASCII)


def number_format(template: str | None, hexadecimal: bool, precision: str | None = None) -> Number:
    """Format of numbers: the shortest decimal that reads back in a precision, hexadecimal, or by a printf template."""
    if template is not None and hexadecimal:
        raise AdError("--fmt and --hex cannot be used together")
    if hexadecimal:
        return lambda x: x.hex() if math.isfinite(x) else repr(x)
    if template is None:
        return shortest_single if precision == "single" else shortest
    if not TEMPLATE.fullmatch(template):
        digits = re.fullmatch(r"%?[{:]*(\.\d{1,3}[eEfFgG])\}?", template, re.ASCII)
        raise AdError(f"--fmt '{template}' is not a number format; use %e, %f or %g",
                      help=f"write --fmt %{digits[1] if digits else '.6g'}")
    return lambda x: rounded(x, template) if math.isfinite(x) else repr(x)


def rounded(x: float, template: str) -> str:
    """A number by a template; as it is where rounding would carry it beyond the doubles, so that no reader gets an infinity."""
    text = template % x
    return text if abs(x) < NEARLY_LARGEST or math.isfinite(float(text)) else shortest(x)


def shortest(x: float) -> str:
    """The shortest decimal that reads back to the same double, with a point or an exponent."""
    return repr(float(x))


SMALLEST_SINGLE, DIGITS_OF_SINGLE = 2.0 ** -126, 6
"""The smallest normal number of single precision, and the digits with which each of them reads back from such a decimal."""


def shortest_single(x: float) -> str:
    """Shortest decimal of the single that is nearest to a double."""
    try:
        (x,) = struct.unpack("f", packed := struct.pack("f", x))
    except OverflowError:
        x = math.copysign(math.inf, x)
    if not math.isfinite(x):
        return repr(x)
    first = DIGITS_OF_SINGLE if abs(x) >= SMALLEST_SINGLE else 1
    found = (float(f"{x:.{digits}g}") for digits in range(first, 10))
    return repr(next((y for y in found if struct.pack("f", y) == packed), x))


SHORTEST = shortest, shortest_single


def json_number(x: float, number: Number = shortest) -> object:
    """A number as JSON has it: with the digits that `number` gives; a string where JSON has no number for it."""
    if not math.isfinite(x):
        return non_finite(x)
    shown = number(x)
    try:
        return float(shown)
    except ValueError:
        return shown


def non_finite(x: float) -> str:
    """The string for what JSON has no number for."""
    nan, positive, negative = NON_FINITE
    return nan if x != x else positive if x > 0 else negative


def json_text(record: object) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


MOST_DIGITS = 9
EXACT = 1e-13, 1e13
"""Sizes between which a single times the power of ten that makes a whole number of its digits is a double, but for a part in
2^53, and that power is one exactly."""
DOUBTFUL = 1e-6
"""Distance from a half within which that part could make a difference, and more."""


def as_spelled(columns: Sequence[np.ndarray], number: Callable[[float], str]) -> list[np.ndarray]:
    """The columns as they are to be written by what writes the shortest decimals of doubles, where `number` is to write them."""
    return [read_back(c) if c.dtype.kind == "f" else c for c in columns] if number is shortest_single else [*columns]


def read_back(values: np.ndarray) -> np.ndarray:
    """For each number the double next to the shortest decimal that tells its single from all others, nearest to it."""
    import numpy as np  # start-up: few numbers do without
    powers = np.array([float(f"1e{k}") for k in range(23)])
    with np.errstate(all="ignore"):
        singles = np.asarray(values).astype(np.float32)
        exact = singles.astype(np.float64)
        size = np.abs(exact)
        found, left = exact.copy(), (size >= EXACT[0]) & (size < EXACT[1])
        slow = ~left & (size > 0) & (size < np.inf)
        magnitude = np.floor(np.log10(np.where(left, size, 1.0))).astype(np.int64)
        for digits in range(DIGITS_OF_SINGLE, MOST_DIGITS + 1):
            power = digits - 1 - magnitude
            scale = powers[np.abs(power)]
            scaled = np.where(power < 0, exact / scale, exact * scale)
            whole = np.rint(scaled)
            slow |= left & (np.abs(np.abs(scaled - whole) - 0.5) < DOUBTFUL)
            decimal = np.where(power < 0, whole * scale, whole / scale)
            ends = left & ~slow & (decimal.astype(np.float32) == singles)
            found[ends] = decimal[ends]
            left &= ~(ends | slow)
        places = np.nonzero(slow | left)
        found[places] = [float(shortest_single(x)) for x in exact[places].tolist()]
    return found
