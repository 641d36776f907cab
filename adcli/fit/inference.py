"""What follows from a fit: predictions at other rows, intervals of parameters, and models of the same data side by side.

Predictions: outputs with their standard errors, and the bands that hold the curve and a new observation (Bates and Watts,
Nonlinear Regression Analysis, 1988, 2.3.2: J C Jᵀ along the tangent plane at the solution).
Intervals: by the t-distribution, or by the profile of the cost, the least that the other parameters make of it where one
is fixed (the same, 6.1). With τ² = (cost − least cost)/s², an interval ends where |τ| is the quantile of the t-distribution,
or of the normal one where the scatter is known; a linear model has b ± t·u.
Models: criteria of information, and tests of one against a smaller one. The log likelihood is minus the loss, or that of normal
residuals, whose variance is a parameter more where only the ratios of uncertainties are known. Akaike 1974; Hurvich and Tsai 1989
(AICc); Schwarz 1978 (BIC); F test: Bates and Watts, 3.10.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.fit.fit import Fit, Fitted
from adcli.lang.ir import Program, Values, shape_of
from adcli.lang.ir.errors import AdError
from adcli.numerics.least_squares import NotFinite, Start, inverse_root, minimised, of_length_one, polished
from adcli.numerics.linear import Normal, Vector, column_lengths
from adcli.numerics.losses import Loss, Matrix
from adcli.propagate.coverage import coverage_factor

COVERAGE = 0.95
ALONG_LOST = 1e-6
"""Part of a derivative along a direction that the data do not determine, from which on an output depends on it."""


class Prediction(NamedTuple):
    """An output in every row: its value and standard error; half the widths of the band of the curve and of that of a new
    observation, None where its scatter is not known."""

    output: str
    value: Vector
    error: Vector
    half: Vector
    half_new: Vector | None

    @property
    def columns(self) -> dict[str, Vector]:
        """The columns of a table."""
        v, x = self.output, self.value
        found = {v: x, f"u_{v}": self.error}
        with np.errstate(invalid="ignore"):
            for of, half in (("", self.half), ("new_", self.half_new)):
                found |= {} if half is None else {f"low_{of}{v}": x - half, f"high_{of}{v}": x + half}
        return found


def require_predictable(program: Program, fit: Fit) -> None:
    """AdError where outputs are not a number a row."""
    if fit.places is None or any(shape_of(r.atom) for r in program.results):
        raise AdError("predictions are of outputs that are numbers, in the rows of a table")


def factor_of(found: Fitted, coverage: float) -> float:
    """Standard errors in half the width of an interval."""
    return coverage_factor(coverage, math.inf if found.absolute else found.dof)


@np.errstate(all="ignore")
def predictions(fit: Fit, found: Fitted, inputs: Values, scatters: Sequence[Any],
                coverage: float, places: Values | None = None) -> list[Prediction]:
    """Each output in rows with these `inputs`. `scatters` are the uncertainties of a new observation of each output, up to the
    scatter of the residuals where these are relative, None where they are not known; `places` as of a RowModel."""
    rows = max((len(x) for x in inputs.values() if np.ndim(x)), default=1)
    if not rows:
        none = np.zeros(0)
        return [Prediction(v, none, none, none, none if s is not None else None)
                for v, s in zip(fit.model.task.signature.outputs, scatters, strict=True)]
    model = fit.model.elsewhere(inputs, rows, places)
    values, jacobian = model(found.values)
    error, k = standard_errors(found, jacobian), factor_of(found, coverage)
    means, errors = map(model.by_output, (values, error))
    unit = 1.0 if found.absolute else found.residual_sd
    outputs = model.task.signature.outputs
    return [Prediction(v, mean, u, k * u, None if scatter is None else k * np.hypot(u, unit * np.asarray(scatter, float)))
            for v, mean, u, scatter in zip(outputs, means, errors, scatters, strict=True)]


def standard_errors(found: Fitted, jacobian: Matrix) -> Vector:
    """Of quantities with this Jacobian by the parameters; NaN where one depends on what the data do not determine."""
    free = np.flatnonzero(~found.end.held)
    triangle, rows = found.end.triangle[:, free], np.asarray(jacobian)[:, free]
    lengths = column_lengths(triangle)
    unit = rows / lengths
    if isinstance(triangle, np.ndarray):
        error = np.linalg.norm(unit @ inverse_root(triangle / lengths), axis=1)
    else:
        error = np.sqrt(np.sum(unit * Normal(of_length_one(triangle, lengths)).solve(unit.T).T, axis=1))
    lost = np.reshape(found.end.lost, (-1, len(free)))
    depends = np.abs(rows @ lost.T) > ALONG_LOST * (np.abs(rows) @ np.abs(lost).T)
    return np.where(depends.any(axis=1), math.nan, error * found.scale)


# ---------------------------------------------------------------- as a table

def predicted_table(inputs: Values, made: Sequence[Prediction]) -> dict[str, list[Any]]:
    """The inputs that differ from row to row, or were given so, then what is predicted."""
    columns: dict[str, Any] = {n: x for n, x in inputs.items() if np.ndim(x)}
    columns |= {n: x for p in made for n, x in p.columns.items()}
    return {name: list(x.tolist() if x.dtype != object else x) for name, x in columns.items()}


# ---------------------------------------------------------------- intervals

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
            return f"no {side} end of the profile interval is found: the other parameters could not be fitted there"
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
                try:
                    return float(brentq(lambda y: abs(self(y)) - k, inside, x, xtol=EXACT * self.u, rtol=1e-14))
                except ValueError:                                       # of SciPy, where a value between them is NaN
                    return math.nan
            if x == bound:
                return bound
            if step > FARTHEST * self.u:
                return side * math.inf
            inside, step = x, step * (min(max(1.05 * k / tau, 1 + 0.1 * count), 2.0) if tau > 0 else 2.0)
        return math.nan


# ---------------------------------------------------------------- models

class Rival(NamedTuple):
    """A model by its name: its free parameters and those of the likelihood, the cost, the log likelihood, the number of
    residuals; `scaled`: the variance is estimated."""

    name: str
    free: int
    parameters: int
    cost: float
    likelihood: float
    n: int
    scaled: bool

    @property
    def aic(self) -> float:
        return 2 * self.parameters - 2 * self.likelihood

    @property
    def aicc(self) -> float:
        room, k = self.n - self.parameters - 1, self.parameters
        return self.aic + 2 * k * (k + 1) / room if room > 0 else math.inf

    @property
    def bic(self) -> float:
        return self.parameters * math.log(self.n) - 2 * self.likelihood

    def test(self, other: Rival) -> tuple[float, float]:
        """F and its probability, or the likelihood ratio's χ² where the variance is known, of two models of which one is a
        case of the other; NaN where there is none."""
        from scipy.special import chdtrc, fdtrc
        if self.free < other.free:
            return other.test(self)
        smaller = other
        more, dof = self.free - smaller.free, self.n - self.free
        if more <= 0 or (self.scaled and (dof <= 0 or not self.cost > 0)):
            return math.nan, math.nan
        if self.scaled:
            f = max(smaller.cost - self.cost, 0.0) / more / (self.cost / dof)
            return f, float(fdtrc(more, dof, f))
        ratio = max(2 * (self.likelihood - smaller.likelihood), 0.0)
        return ratio, float(chdtrc(more, ratio))


def rival(name: str, fit: Fit, found: Fitted) -> Rival:
    """A fit as one of several models. AdError where it has no likelihood."""
    if found.loss.name != "linear" and not found.losses:
        raise AdError(f"models are compared by squares or a log density, not by ⟦--loss {found.loss.name}⟧")
    if len(found.losses) > 1:
        raise AdError("models with priors are not compared by their likelihood", help="leave out ⟦--prior⟧")
    n, free = len(found.residuals), len(found.residuals) - found.dof
    if found.losses:
        return Rival(name, free, free, found.losses[0], -found.losses[0], n, False)
    scales = float(np.sum(np.log(fit.factor))) - n / 2 * math.log(2 * math.pi)
    if found.absolute:
        return Rival(name, free, free, found.chi2, scales - found.chi2 / 2, n, False)
    likelihood = scales - n / 2 * (math.log(found.chi2 / n) + 1) if found.chi2 > 0 else math.inf
    return Rival(name, free, free + 1, found.chi2, likelihood, n, True)


def comparison(rivals: Sequence[Rival]) -> tuple[list[str], list[list[str | float]]]:
    """The head and the rows of a table, each model tested against the first. AdError where models are not of the same data."""
    if len({(r.n, r.scaled) for r in rivals}) > 1:
        raise AdError("the models have not the same residuals: " + ", ".join(f"{r.name}: {r.n}" for r in rivals),
                      help="leave rows out of the table that one of them cannot use")
    best, scaled = min(r.aic for r in rivals), rivals[0].scaled
    head = ["model", "parameters", "cost", "log likelihood", "AIC", "ΔAIC", "AICc", "BIC", "F" if scaled else "χ²", "p"]

    return head, [[r.name, float(r.free), r.cost, r.likelihood, r.aic, r.aic - best, r.aicc, r.bic, *r.test(rivals[0])]
                  for r in rivals]
