"""Points with a spread: `x=2±0.1`, for uncertainties and for boxes.

`+-` stands for ± on keyboards that have none, `x=2±5%` is a part of the value itself, and x=2.0(1) is 2.0±0.1, as tables of
constants have it. For uncertainties a distribution may follow (`x=2±0.1~rect`), and values may come from a file
(`x=@values.csv:column`). A point without any spread is a point as every other verb knows it.
"""
from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adcli.input.distributions import NORMAL, SAMPLES, Sample, Spread, T, distribution
from adcli.input.points import SPREAD
from adcli.input.values import value
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import composed

if TYPE_CHECKING:
    import numpy as np

SIGN = re.compile(r"±|\+-|\+/-")
EXPANDED = re.compile(r"\s*([\d.eE+-]+)\s*(%?)[\s(;]*k\s*=\s*(\d+\.?\d*)\s*\)?\s*", re.ASCII)
"""An expanded uncertainty with its coverage factor, behind ±: 0.1 (k=2)."""
CONCISE = re.compile(r"([+-]?)(\d*(?:_\d{3})*)(?:\.(\d*))?\((\d+|\d*\.\d+|\d+\.)\)([eE][+-]?\d+)?", re.ASCII)
"""1.23(4), an uncertainty in units of the last digit; with a point of its own, 12.0(1.2), as it stands (JCGM 100, 7.2.2)."""
TAIL = re.compile(r"~\s*([^\W\d]\w*\s*(?:\([^()]*\))?)\s*$")
"""A distribution behind the name of a file, which may have a ~ itself."""
LEAF = re.compile(r"[^\[\],]*[^\[\],\s][^\[\],]*")
"""An element of a list."""
Read = Callable[[str, str], Sequence[float]]
"""The values in a column of a file."""


def split(spec: str, read: Read | None = None) -> tuple[str, dict[str, Spread]]:
    """A point without its spreads, and the spread of every input that has one. Without `read`, files are none of its business."""
    plain, spreads = [], {}
    for part in spec.split(","):
        name, _, text = (s.strip() for s in part.partition("="))
        name = composed(name)
        file = text.startswith("@")
        found = from_file(name, text, read) if file and read else None if file else written(part, name, text)
        if found is None:
            plain.append(part)
            continue
        if name in spreads:
            raise AdError(f"'{name}' is given twice in '{spec}'")
        number, spreads[name] = found
        plain.append(f"{name}={number}")
    return ",".join(plain), spreads


def widths(spec: str) -> tuple[str, dict[str, float]]:
    """Point of a box without widths, and half the width of every input that has one."""
    plain, spreads = split(spec)
    for name, spread in spreads.items():
        if spread.kind is not NORMAL:
            raise AdError(f"{name}: a box has no distribution", help=f"write {name}={spread.x:.15g}±{spread.width:.15g}")
    return plain, {name: spread.width for name, spread in spreads.items()}


# ---------------------------------------------------------------- a number with its spread

def written(part: str, name: str, text: str) -> tuple[str, Spread] | None:
    """The number of x=2±0.1~rect as it is written, and its spread; None where there is none."""
    body, tilde, kind = text.partition("~")
    number, *width = (s.strip() for s in SIGN.split(body))
    if not (width or tilde or CONCISE.fullmatch(number) or SIGN.search(part)):
        if SPREAD.match(number):
            raise AdError(f"'{part.strip()}' is not a number with its uncertainty in parentheses",
                          help="write x=1.23(4), or with an exponent x=1.23(4)e-5")
        return None
    if len(width) > 1:
        raise AdError(f"'{part.strip()}' has two spreads")
    if not width and (concise := CONCISE.fullmatch(number)):
        number, spread = spelled_out(concise)
        width = [spread]
    if not number or ":" in number:
        raise AdError(f"'{part.strip()}' is not name=value±spread", help="write x=2±0.1")
    x = value(name, number)
    if tilde and not width:
        return number, without_width(part, name, x, kind)
    w = positive_width(name, number, width[0])
    return number, spread_of(name, number, x, w, kind if tilde else None)


def spread_of(name: str, number: str, x: float, w: float, kind: str | None) -> Spread:
    """The spread of a number that is written so, by what stands behind ± and, where there is one, behind ~."""
    known, parameter = (NORMAL, math.nan) if kind is None else distribution(name, kind, w)
    if not known.spread:
        raise AdError(f"{name}: ~{known.name} has no spread of its own", help=f"write {name}={number}~{known.name}")
    if known.positive and not x > 0:
        raise AdError(f"{name}={number}: ~{known.name} is for positive quantities")
    return Spread(x, w, known, parameter)


def without_width(part: str, name: str, x: float, kind: str) -> Spread:
    """The spread of x=2~exp, where the estimate says all."""
    known, _ = distribution(name, kind, math.inf)
    if known.spread:
        raise AdError(f"'{part.strip()}' has no spread", help=f"write {name}={x:.15g}±0.1~{kind.strip()}")
    if not 0 < x < math.inf:
        raise AdError(f"{name}={x:.15g}: ~{known.name} is for positive quantities")
    return Spread(x, x, known)


def spelled_out(known: re.Match[str]) -> tuple[str, str]:
    """1.23(4) as 1.23 and 0.04."""
    sign, whole, fraction, digits, power = known.groups(default="")
    number = f"{sign}{whole or '0'}{'.' if fraction else ''}{fraction}{power}"
    if "." in digits:
        return number, digits + power
    last = digits.rjust(len(fraction) + 1, "0")
    return number, (f"{last[:-len(fraction)]}.{last[-len(fraction):]}" if fraction else last) + power


def positive_width(name: str, center: str, text: str) -> float:
    """The spread of one input, given as a number or in percent of the value: finite, 0 or more."""
    if expanded := EXPANDED.fullmatch(text):
        u, percent, k = expanded.groups()
        raise AdError(f"{name}={center}±{text}: ± has the standard uncertainty",
                      help=f"for k = {k} write {name}={center}±{value(name, u) / float(k):.15g}{percent}")
    number = text.removesuffix("%").strip()
    if not number:
        raise AdError(f"'{name}={center}±{text}' has no spread after ±", help=f"write {name}={center}±0.1")
    try:
        found = value(name, number)
    except AdError as error:
        help = error.help and error.help.replace(f"write {name}=", f"write {name}={center}±")
        raise AdError(f"{name}'s spread {error.message.removeprefix(f'{name}=')}", help=help) from None
    if text.endswith("%"):
        found = abs(value(name, center)) * found / 100
    if not (math.isfinite(found) and found >= 0):
        raise AdError(f"{name}'s spread must be a finite number, 0 or more, not {text}")
    return found


# ---------------------------------------------------------------- tensors

def tensor_parts(part: str) -> tuple[str, str | None]:
    """x=[1,2]±0.1 without its spread, and what stands behind ±. AdError for spreads of elements within the list."""
    value, *width = SIGN.split(part, maxsplit=1)
    if value.count("[") > value.count("]") or (not width and any(CONCISE.fullmatch(x.strip()) for x in LEAF.findall(value))):
        name, _, text = (s.strip() for s in part.partition("="))
        apart = ["".join(each) for each in zip(*(leaf_parts(x) for x in re.split(f"({LEAF.pattern})", text)), strict=True)]
        raise AdError(f"{name}: the spreads of elements stand in a list of their own", help=f"write {name}={'±'.join(apart)}")
    return value, width[0].strip() if width else None


def leaf_parts(text: str) -> tuple[str, str]:
    """An element of a list, or what stands between two, and its spread."""
    number, *width = (s.strip() for s in SIGN.split(text))
    if concise := CONCISE.fullmatch(number):
        number, *width = spelled_out(concise)
    if not LEAF.fullmatch(text):
        return text, text
    spread = (*width, "0")[0]
    return number, f"{positive_width('x', number, spread):.15g}" if spread.endswith("%") else spread


def tensor_widths(name: str, at: np.ndarray, text: str) -> np.ndarray:
    """Widths of the elements of a tensor after ±: one number or percentage for all, or a tensor of the same
    shape."""
    import numpy as np  # start-up: only for tensors

    from adcli.input.arrays import read_tensor, text_array
    if text[:1] not in ("[", "@"):
        return np.array([positive_width(name, repr(float(x)), text) for x in at.flat]).reshape(at.shape)
    given = text_array(name, text) if text[0] == "[" else read_tensor(name, text[1:], at.ndim)
    if given.shape != at.shape:
        raise AdError(f"{name} has the shape {at.shape}, and its spread {given.shape}",
                      help="give one number for all elements, or a spread for each")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise AdError(f"{name}'s spread must have finite numbers, 0 or more")
    return np.asarray(given, float)


# ---------------------------------------------------------------- values of a file

def from_file(name: str, text: str, read: Read) -> tuple[str, Spread]:
    """x=@values.csv:column, values of the quantity itself, or with ~t repeated observations of it, whose mean is its estimate
    (JCGM 100, 4.2; JCGM 101, 6.4.9); the column is the one with the name of the input if no other is named."""
    tail = TAIL.search(text)
    place = (text[:tail.start()] if tail else text)[1:].strip()
    path, column = place, name
    if ":" in place and not os.path.exists(place):
        path, _, column = (part.strip() for part in place.rpartition(":"))
    if not path or not column:
        raise AdError(f"'{name}={text}' names no column", help=f"write {name}=@FILE:COLUMN")
    if tail and tail[1].strip() != T.name:
        raise AdError(f"'{name}={text}': values of a file have a distribution already",
                      help=f"write {name}=@{place}, or with ~t for observations whose mean is wanted")
    return of_sample(f"{path}: {column}", name, Sample(path, tuple(read(path, column))), tail is not None)


def of_sample(place: str, name: str, sample: Sample, repeated: bool) -> tuple[str, Spread]:
    """The estimate and the spread that values of an input give, or `repeated` observations of it; `place` is where they stand."""
    count = len(sample.values)
    if count < 2:
        raise AdError(f"{place}: {plural(count, 'value')} cannot say how much {name} varies", help="give 2 or more")
    if not math.isfinite(sample.s):
        raise AdError(f"{place}: the values must be finite")
    if repeated:
        return repr(sample.mean), Spread(sample.mean, sample.s / math.sqrt(count), T, count - 1.0, sample)
    return repr(sample.mean), Spread(sample.mean, sample.s, SAMPLES, math.nan, sample)
