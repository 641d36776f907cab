"""Distributions of inputs: what x=2±0.1~rect says. One row each, and nothing else knows their names.

These are the distributions that JCGM 101:2008 (Evaluation of measurement data: Supplement 1 to the GUM) assigns in table 1. The
number after ± is what a certificate states: half the width between the limits where there are limits, the standard uncertainty of
a normal quantity, and with degrees of freedom the standard uncertainty s/√n of a mean, which scales a t-distribution. The
standard uncertainty is that of the GUM (JCGM 100:2008, 4.3.7 to 4.3.9); samples follow Supplement 1, clause 6.4.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from adcli.input.values import value
from adcli.lang.ir.errors import AdError, nearest

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
