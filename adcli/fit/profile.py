"""Intervals of parameters: by the t-distribution, or by the profile of the cost, the least that the other parameters make of it
where one is fixed (Bates and Watts, Nonlinear Regression Analysis, 1988, 6.1). With τ² = (cost − least cost)/s², an interval ends
where |τ| is the quantile of the t-distribution, or of the normal one where the scatter is known; a linear model has b ± t·u.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adcli.fit.fit import Fitted
from adcli.fit.predict import factor_of
from adcli.lang.ir.errors import AdError
from adcli.numerics.least_squares import NotFinite, Start, minimised, polished
from adcli.numerics.losses import Loss
from adcli.numerics.vectors import Vector

KINDS = ("t", "profile")
FARTHEST = 1e6
"""Standard uncertainties from the estimate up to which an end is looked for."""
MOST_STEPS = 60
BELOW = 1e-6
"""How far τ² may fall below 0 by rounding, and by an end that is a little short of the minimum."""
EXACT = 1e-9
"""Relative accuracy of an end."""
CURVE = 12
"""Points of a profile on either side."""


class Between(NamedTuple):
    """The ends, infinite where the profile does not rise far enough, NaN where it cannot be followed; points of the profile
    (b, τ); remarks."""

    low: float
    high: float
    points: Sequence[tuple[float, float]] = ()
    said: tuple[str, ...] = ()


class Intervals(NamedTuple):
    """Of each parameter that has one."""

    kind: str
    coverage: float
    of: Mapping[str, Between]

    @property
    def chance(self) -> str:
        """The coverage probability in percent."""
        return f"{100 * self.coverage:.10g} %"

    @property
    def failed(self) -> bool:
        """True if some end is not known."""
        return any(math.isnan(x) for i in self.of.values() for x in i[:2])

    def said(self) -> Iterator[str]:
        """Notes on ends that are none."""
        for name, interval in self.of.items():
            yield from (f"note: {name}: {text}" for text in interval.said)


def intervals(found: Fitted, kind: str, coverage: float, drawn: bool = False) -> Intervals:
    """Intervals of the parameters with standard uncertainties, with points for a picture where it is `drawn`. AdError where the
    loss has no profile."""
    k = factor_of(found, coverage)
    known = [i for i in found.reported if math.isfinite(found.uncertainties[i]) and found.uncertainties[i] > 0]
    if kind == "t":
        half = {i: k * float(found.uncertainties[i]) for i in known}
        of = {found.names[i]: Between(float(found.values[i]) - w, float(found.values[i]) + w) for i, w in half.items()}
        return Intervals(kind, coverage, of)
    if found.loss.name != "linear" and not found.losses:
        raise AdError(f"a profile is of squares or a log density, not of ⟦--loss {found.loss.name}⟧", help="write ⟦--interval t⟧")
    return Intervals(kind, coverage, {found.names[i]: Profile(found, i).interval(k, drawn) for i in known})


class Profile:
    """τ as a function of one parameter: the others are fitted anew, from where they were at the point before."""

    def __init__(self, found: Fitted, i: int) -> None:
        self.found, self.i = found, i
        self.others = np.arange(len(found.values)) != i
        self.at, self.u = float(found.values[i]), float(found.uncertainties[i])
        self.low, self.high = float(found.start.low[i]), float(found.start.high[i])
        self.known: dict[float, tuple[float, Vector]] = {self.at: (0.0, found.values[self.others])}
        self.fault: str | None = None

    def __call__(self, x: float) -> float:
        """τ at a value; NaN where the others cannot be fitted."""
        if x not in self.known:
            near = min(self.known, key=lambda y: abs(x - y))
            try:
                lowest, others = self.refitted(x, self.known[near][1])
            except NotFinite:
                return math.nan
            squared = (lowest - self.found.end.cost) / self.found.scale**2
            if squared < -BELOW:
                self.fault = f"a lower cost is at {x:.6g}: the fit is not at the lowest minimum, so that there is no interval"
                return math.nan
            self.known[x] = math.copysign(math.sqrt(max(squared, 0.0)), x - self.at), others
        return self.known[x][0]

    def refitted(self, x: float, guess: Vector) -> tuple[float, Vector]:
        """The least cost for a value of the parameter, and the others there."""
        problem, start = self.found.problem.fixed(self.i, x), self.found.start
        if not len(guess):
            return self.found.problem.cost(np.array([x]), Loss()), guess
        names = tuple(n for n, other in zip(start.names, self.others, strict=True) if other)
        start = Start(names, guess, start.low[self.others], start.high[self.others])
        end = polished(problem, start, guess, Loss(), "profile")
        if not end.converged(problem.size):
            end, _ = minimised(problem, start, Loss(), 1000)
        return (end.cost, end.at) if end.converged(problem.size) else (math.nan, end.at)

    def interval(self, k: float, drawn: bool) -> Between:
        """The interval for a quantile."""
        with np.errstate(all="ignore"):
            ends = [self.end(k, side) for side in (-1, 1)]
            if drawn:
                for end, side in zip(ends, (-1, 1), strict=True):
                    reach = abs(end - self.at) if math.isfinite(end) else k * self.u
                    for step in np.linspace(0, 1, CURVE + 1)[1:]:
                        self(min(max(self.at + side * step * reach, self.low), self.high))
        if self.fault:
            ends = [math.nan, math.nan]
        said = [self.fault] if self.fault else [text for end, side in zip(ends, ("lower", "upper"), strict=True)
                                               if (text := self.said(end, side, k))]
        points = sorted((x, tau) for x, (tau, _) in self.known.items() if math.isfinite(tau))
        return Between(ends[0], ends[1], points, tuple(said))

    def said(self, end: float, side: str, k: float) -> str | None:
        """Remark on an end."""
        if math.isnan(end):
            return f"no {side} end of the profile interval is found: the other parameters cannot be fitted there"
        if math.isinf(end):
            return f"the profile interval has no {side} end: the cost does not rise far enough"
        if end in (self.low, self.high) and abs(self(end)) < k:
            return f"the {side} end of the profile interval is the bound {end:.6g}"
        return None

    def end(self, k: float, side: int) -> float:
        """Where |τ| = k on one side; the bound of the parameter where it is not reached before that."""
        from scipy.optimize import brentq
        bound, inside, step = (self.low, self.high)[side > 0], self.at, k * self.u
        for count in range(1, MOST_STEPS):
            x = self.at + side * step
            x = max(x, bound) if side < 0 else min(x, bound)
            tau = abs(self(x))
            if math.isnan(tau):
                return math.nan
            if tau >= k:
                return float(brentq(lambda y: abs(self(y)) - k, inside, x, xtol=EXACT * self.u, rtol=1e-14))
            if x == bound:
                return bound
            if step > FARTHEST * self.u:
                return side * math.inf
            inside, step = x, step * (min(max(1.05 * k / tau, 1 + 0.1 * count), 2.0) if tau > 0 else 2.0)
        return math.nan
