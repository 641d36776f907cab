"""Models of the same data side by side: criteria of information, and tests of one model against a smaller one.

The log likelihood is minus the loss, or that of normal residuals, whose variance is a parameter more where only the ratios of
uncertainties are known. Akaike 1974; Hurvich and Tsai 1989 (AICc); Schwarz 1978 (BIC); F test: Bates and Watts 1988, 3.10."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adcli.fit.fit import Fit, Fitted
from adcli.lang.ir.errors import AdError


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
