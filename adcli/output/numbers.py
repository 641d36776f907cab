"""Numbers as text and in JSON: the one place that spells them."""
from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable

from adcli.lang.ir.errors import AdError

Number = Callable[[float], str]
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The strings that stand in JSON for what it has no number for."""
NEARLY_LARGEST = 1e308
"""Numbers below this are finite however they are rounded."""
TEMPLATE = re.compile(r"%[-+ #0]*\d{0,3}(\.\d{1,3})?[eEfFgG]", re.ASCII)


def number_format(template: str | None, hexadecimal: bool, precision: str | None = None) -> Number:
    """How numbers are written: the shortest decimal that reads back in a precision, hexadecimal, or by a printf template."""
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
    """The same for the number of single precision that is nearest to a double."""
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
