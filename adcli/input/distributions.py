"""Distributions of inputs: what x=2±0.1~rect says. One row each, and nothing else knows their names.

These are the distributions that JCGM 101:2008 (Evaluation of measurement data: Supplement 1 to the GUM) assigns in table 1. The
number after ± is what a certificate states: half the width between the limits where there are limits, the standard uncertainty of
a normal quantity, and with degrees of freedom the standard uncertainty s/√n of a mean, which scales a t-distribution. The
standard uncertainty is that of the GUM (JCGM 100:2008, 4.3.7 to 4.3.9); samples follow Supplement 1, clause 6.4.

Points with a spread: `x=2±0.1`, for uncertainties and for boxes.

`+-` stands for ± on keyboards that have none, `x=2±5%` is a part of the value itself, and x=2.0(1) is 2.0±0.1, as tables of
constants have it. For uncertainties a distribution may follow (`x=2±0.1~rect`), and values may come from a file
(`x=@values.csv:column`). A point without any spread is a point as every other verb knows it.
"""
from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from adcli.input.points import SPREAD
from adcli.input.values import value
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.ir.names import composed

if TYPE_CHECKING:
    import numpy as np


CALL = re.compile(r"\s*([^\W\d]\w*)\s*(?:\((.*)\))?\s*")


class Distribution(NamedTuple):
    """A row. x is the estimate, w the number after ±, p the parameter.

    `u` is the standard uncertainty, `moments` skewness and kurtosis, `dof` the degrees of freedom of the standard uncertainty.
    `draw` gives so many values of the quantity from a NumPy generator; it is None where they are drawn together with those of
    other inputs (`adcli.propagate.draws`). `parameter` says what stands in parentheses, `accepts` which numbers may, `range` says
    so; a `relative` one may be a part of w, in percent. `spread` says whether there is a ±, `positive` that the estimate must be.
    """

    name: str
    about: str
    u: Callable[[float, float, float], float]
    moments: Callable[[float, float, float], tuple[float, float]]
    draw: Callable[[np.random.Generator, int, float, float, float], np.ndarray] | None
    dof: Callable[[float, float], float] = lambda w, p: math.inf
    parameter: str = ""
    accepts: Callable[[float, float], bool] = lambda w, p: True
    range: str = ""
    relative: bool = False
    spread: bool = True
    positive: bool = False


def kurtosis(k: float) -> Callable[[float, float, float], tuple[float, float]]:
    """The moments of a symmetric distribution."""
    return lambda x, w, p: (0.0, k)


def trapezoid(x: float, w: float, p: float) -> tuple[float, float]:
    """The moments of the sum of two rectangular deviations of half-widths w(1 + p)/2 and w(1 − p)/2."""
    a, b = (1 + p) ** 2, (1 - p) ** 2
    return 0.0, 3 - 1.2 * (a * a + b * b) / (a + b) ** 2


def inexact_limits(random: np.random.Generator, size: int, x: float, w: float, d: float) -> np.ndarray:
    """Values between limits that are themselves known to ± d (JCGM 101, 6.4.3.4)."""
    reach = w + d * random.uniform(-1, 1, size)
    return x + reach * random.uniform(-1, 1, size)


def gamma(random: np.random.Generator, size: int, x: float, w: float, p: float) -> np.ndarray:
    if not w:
        return random.uniform(x, x, size)
    shape = min(max(x / w * (x / w), 1e-300), 1e300)
    return x * random.gamma(shape, 1 / shape, size)


NORMAL = Distribution("normal", "normal; w is the standard uncertainty", lambda x, w, p: w, kurtosis(3), None)
T = Distribution(
    "t", "w is the standard uncertainty s/√n of a mean with N degrees of freedom; samples are those of x + w·t",
    lambda x, w, p: w, kurtosis(3), None, dof=lambda w, p: p, parameter="N", accepts=lambda w, p: p >= 1, range="1 or more")
SAMPLES = Distribution("samples", "the values of a column of a file, each as probable as the others", lambda x, w, p: w,
                       kurtosis(3), None)
DISTRIBUTIONS = {d.name: d for d in (
    NORMAL,
    Distribution("rect", "rectangular from x − w to x + w: u = w/√3", lambda x, w, p: w / math.sqrt(3), kurtosis(1.8),
                 lambda r, n, x, w, p: x + w * r.uniform(-1, 1, n)),
    Distribution("tri", "triangular from x − w to x + w: u = w/√6", lambda x, w, p: w / math.sqrt(6), kurtosis(2.4),
                 lambda r, n, x, w, p: x + w * (r.uniform(-0.5, 0.5, n) + r.uniform(-0.5, 0.5, n))),
    Distribution("trap", "trapezoidal from x − w to x + w, its top B times as wide as its base: u = w·√((1 + B²)/6)",
                 lambda x, w, p: w * math.sqrt((1 + p * p) / 6), trapezoid,
                 lambda r, n, x, w, p: x + w / 2 * ((1 + p) * r.uniform(-1, 1, n) + (1 - p) * r.uniform(-1, 1, n)),
                 parameter="B", accepts=lambda w, p: 0 <= p <= 1, range="from 0 to 1"),
    Distribution("arcsine", "what oscillates between x − w and x + w: u = w/√2", lambda x, w, p: w / math.sqrt(2), kurtosis(1.5),
                 lambda r, n, x, w, p: x + w * (2 * r.beta(0.5, 0.5, n) - 1)),
    Distribution("ctrap", "rectangular with limits that are known to ± D: u = w/√3 with ½(w/D)² degrees of freedom",
                 lambda x, w, p: w / math.sqrt(3), kurtosis(1.8), inexact_limits,
                 dof=lambda w, p: 0.5 * (w / p) * (w / p) if p else math.inf, parameter="D", accepts=lambda w, p: 0 <= p <= w,
                 range="from 0 to the spread", relative=True),
    T,
    Distribution("exp", "of a quantity that is not negative only the estimate is known: u = x, without ±", lambda x, w, p: w,
                 lambda x, w, p: (2.0, 9.0), lambda r, n, x, w, p: r.exponential(w, n), spread=False, positive=True),
    Distribution("gamma", "positive, of mean x; w is the standard uncertainty", lambda x, w, p: w,
                 lambda x, w, p: (2 * (w / x), 3 + 6 * (w / x) ** 2), gamma, positive=True),
)}
SYNONYMS = {word: name for name, words in {
    "normal": "gauss gaussian n norm", "rect": "rectangular uniform r u box", "tri": "triangular triangle", "trap": "trapezoidal",
    "ctrap": "curvilinear", "arcsine": "arcsin ushaped u_shaped sine", "t": "student students", "exp": "exponential",
    "gamma": "poisson counts erlang"}.items() for word in words.split()}


class Sample(NamedTuple):
    """The values of a column of a file."""

    path: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def deviations(self) -> list[float]:
        """The values less their mean."""
        mean = self.mean
        return [x - mean for x in self.values]

    @property
    def s(self) -> float:
        """The experimental standard deviation (JCGM 100, equation 4)."""
        return math.hypot(*self.deviations) / math.sqrt(len(self.values) - 1)

    def moment(self, order: int) -> float:
        """The mean power of the deviations in units of their root mean square; 0 where there are none."""
        scale = math.hypot(*self.deviations) / math.sqrt(len(self.values))
        return math.fsum((d / scale) ** order for d in self.deviations) / len(self.values) if scale else 0.0

    def correlation(self, other: Sample) -> float:
        """The correlation coefficient of values that were found together (JCGM 100, 5.2.3); 0 where one does not vary."""
        one, two = self.deviations, other.deviations
        scale, other_scale = math.hypot(*one), math.hypot(*two)
        if not (scale and other_scale):
            return 0.0
        return max(-1.0, min(1.0, math.fsum((a / scale) * (b / other_scale) for a, b in zip(one, two, strict=True))))


@dataclass(frozen=True)
class Spread:
    """Spread of an input with the estimate x: the number after ± and its distribution, and where they come from a file
    the values there."""

    x: float
    width: float
    kind: Distribution = NORMAL
    parameter: float = math.nan
    sample: Sample | None = None

    @property
    def u(self) -> float:
        """The standard uncertainty."""
        return self.kind.u(self.x, self.width, self.parameter)

    @property
    def dof(self) -> float:
        """The degrees of freedom of the standard uncertainty."""
        return self.kind.dof(self.width, self.parameter)

    @property
    def moments(self) -> tuple[float, float]:
        """Skewness and kurtosis."""
        if self.kind is SAMPLES and self.sample:
            return self.sample.moment(3), self.sample.moment(4)
        return self.kind.moments(self.x, self.width, self.parameter)

    @property
    def label(self) -> str:
        """The distribution as it is written."""
        if self.kind is SAMPLES and self.sample:
            return f"{len(self.sample.values)} samples"
        return f"{self.kind.name}({self.parameter:.15g})" if self.kind.parameter else self.kind.name


def distribution(name: str, text: str, width: float) -> tuple[Distribution, float]:
    """Distribution after ~ in a point, with its parameter."""
    written = CALL.fullmatch(text)
    known = ", ".join(f"{d.name}({d.parameter})" if d.parameter else d.name for d in DISTRIBUTIONS.values())
    if not written:
        raise AdError(f"{name}: '~{text.strip()}' is not a distribution", help=f"the distributions are {known}")
    word, inside = written[1].lower(), written[2]
    found = DISTRIBUTIONS.get(word)
    if found is None:
        raise AdError(f"{name}: no distribution '{written[1]}'",
                      help=nearest(word, DISTRIBUTIONS, SYNONYMS) or f"the distributions are {known}")
    if not found.parameter:
        if inside is not None:
            raise AdError(f"{name}: {word} has no parameter", help=f"write ~{word}")
        return found, math.nan
    form = f"~{word}({found.parameter}), {found.parameter} {found.range}"
    if inside is None or not inside.strip():
        raise AdError(f"{name}: {word} needs a parameter", help=f"write {form}")
    percent = inside.rstrip().endswith("%") and found.relative
    p = value(f"{name}: {found.parameter}", inside.rstrip().removesuffix("%") if percent else inside)
    p = width * p / 100 if percent else p
    if not (math.isfinite(p) and found.accepts(width, p)):
        raise AdError(f"{name}: {word}({inside.strip()}): the parameter must be {found.range}")
    return found, p


# ---------------------------------------------------------------- spreads

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
