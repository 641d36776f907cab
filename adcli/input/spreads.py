"""Points with a spread: `x=2±0.1`, for uncertainties and for boxes.

`+-` stands for ± on keyboards that have none, and `x=2±5%` is a part of the value itself. A point without any spread is a
point as every other verb knows it.
"""
from __future__ import annotations

import math
import re

from adcli.input.points import value
from adcli.lang.ir.errors import AdError

SIGN = re.compile(r"±|\+-|\+/-")
CONCISE = re.compile(r"([+-]?\d*)\.?(\d*)\((\d+)\)([eE][+-]?\d+)?", re.ASCII)
"""1.23(4), an uncertainty in units of the last digit, as tables of constants have it."""


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
        elif known := CONCISE.fullmatch(part.partition("=")[2].strip()):
            raise AdError(f"'{part.strip()}': write the spread after ±", help=f"write {spelled_out(part, known)}")
    return ",".join(plain), spreads


def spelled_out(part: str, known: re.Match[str]) -> str:
    """`x=1.23(4)` as x=1.23±0.04."""
    whole, fraction, digits, power = known.groups(default="")
    point = "." if fraction else ""
    last = digits.rjust(len(fraction) + 1, "0")
    small = last[:len(last) - len(fraction)] + point + last[len(last) - len(fraction):]
    return f"{part.partition('=')[0].strip()}={whole or '0'}{point}{fraction}{power}±{small}{power}"


def width(name: str, center: str, text: str) -> float:
    """The spread of one input, given as a number or in percent of the value."""
    number = text.removesuffix("%").strip()
    if not number:
        raise AdError(f"'{name}={center}±{text}' has no spread after ±", help=f"write {name}={center}±0.1")
    try:
        found = value(name, number)
    except AdError as error:
        raise AdError(f"{name}'s spread {error.message.removeprefix(f'{name}=')}", help=error.help) from None
    if text.endswith("%"):
        found = abs(value(name, center)) * found / 100
    if not (math.isfinite(found) and found >= 0):
        raise AdError(f"{name}'s spread must be a finite number, 0 or more, not {text}")
    return found
