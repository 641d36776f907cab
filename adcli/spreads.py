"""Points with a spread: `x=2±0.1`, for uncertainties and for boxes.

`+-` stands for ± on keyboards that have none, and `x=2±5%` is a part of the value itself. A point without any spread is a
point as every other verb knows it.
"""
from __future__ import annotations

import math
import re

from adcli.points import value
from lang.errors import AdError

SIGN = re.compile(r"±|\+-|\+/-")


def split(spec: str) -> tuple[str, dict[str, float]]:
    """A point without its spreads, and the spread of every input that has one: a finite number, 0 or more."""
    plain, spreads = [], {}
    for part in spec.split(","):
        number, *spread = SIGN.split(part)
        plain.append(number)
        if spread:
            name, _, text = (s.strip() for s in number.partition("="))
            if len(spread) > 1:
                raise AdError(f"'{part.strip()}' has two spreads")
            if not text or ":" in text:
                raise AdError(f"'{part.strip()}' is not name=value±spread", help="write x=2±0.1")
            spreads[name] = width(name, text, spread[0].strip())
    return ",".join(plain), spreads


def width(name: str, center: str, text: str) -> float:
    """The spread of one input, given as a number or in percent of the value."""
    if text.endswith("%"):
        found = abs(value(name, center)) * value(f"{name}'s spread", text[:-1]) / 100
    else:
        found = value(f"{name}'s spread", text)
    if not (math.isfinite(found) and found >= 0):
        raise AdError(f"{name}'s spread must be a finite number, 0 or more, not {text}")
    return found
