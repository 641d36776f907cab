"""Nonlinear least squares: the least cost that is found, and what the answer is worth, from the singular values of the Jacobian
there."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from adcli.lang.ir.errors import AdError, plural
from adcli.solvers.fit_algebra import Matrix, Vector, null_space, spread
from adcli.solvers.fit_minimum import Loss, Residuals, Start, minimised
from adcli.solvers.fit_undetermined import NullDirection


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit has found. Uncertainties are standard uncertainties, NaN where a parameter is not determined or held by a
    bound; `covariance` and `correlation` have NaN there too. `chi2` is Σr², of residuals divided by their uncertainties where
    these are known; `dof` the number of residuals less the rank of the Jacobian by the parameters that are not held,
    `residual_sd` sqrt(chi2/dof). `stopped_at` is where some solver met numbers that are not finite, `next` where the next step
    would lead."""

    start: Start
    values: Vector
    uncertainties: Vector
    covariance: Matrix
    correlation: Matrix
    residuals: Vector
    jacobian: Matrix
    cost: float
    chi2: float
    residual_sd: float
    dof: int
    converged: bool
    evaluations: int
    solver: str
    loss: Loss
    absolute: bool
    held: Mapping[str, float] = field(default_factory=dict)
    undetermined: Sequence[NullDirection] = ()
    stopped_at: Vector | None = None
    next: Vector | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.start.names


@np.errstate(all="ignore")
def fitted(residuals: Residuals, start: Start, loss: Loss, absolute: bool, most: int) -> Fitted:
    """The fit from a start. AdError where there are fewer residuals than parameters, NotFinite where they are not numbers."""
    n, p, unit = len(residuals.checked(start.values)[0]), len(start.names), residuals.unit
    loss = loss._replace(scale=loss.scale / unit)
    end, stopped = minimised(residuals, start, loss, most)
    plain, jacobian = residuals.checked(end.at)
    free, lost = ~end.held, null_space(end.triangle[:, ~end.held])
    dof = n - int(free.sum()) + len(lost)
    scatter = 1 / unit if absolute else math.sqrt(variance_of(plain, loss, dof, p))
    u, correlation = np.full(p, math.nan), np.full((p, p), math.nan)
    if free.any():
        u[free], correlation[np.ix_(free, free)] = spread(end.triangle[:, free], lost)
    u *= scatter
    names = [name for name, x in zip(start.names, free, strict=True) if x]
    directions = [NullDirection({names[i]: float(d[i]) for i in np.flatnonzero(d)}, names) for d in lost]
    held = {name: float(x) for name, x, h in zip(start.names, end.at, end.held, strict=True) if h}
    chi2 = float(plain @ plain)
    sd = math.sqrt(chi2 / dof) * unit if dof > 0 else math.nan
    return Fitted(start, end.at, u, correlation * np.outer(u, u), correlation, plain * unit, jacobian * unit,
                  end.cost * unit * unit, chi2 * unit * unit, sd, dof, end.converged(residuals.size), residuals.evaluations,
                  end.solver, loss, absolute, held, directions, stopped, np.clip(end.at + end.step, start.low, start.high))


def variance_of(r: Vector, loss: Loss, dof: int, p: int) -> float:
    """The factor of (JᵀJ)⁻¹: Σr²/ν; with a robust loss K²·(Σψ²/ν)/mean(ψ')², K = 1 + p·var(ψ')/(n·mean(ψ')²) (Huber, Robust
    Statistics, 1981, 7.6). NaN without degrees of freedom."""
    if dof <= 0:
        return math.nan
    psi, slope = loss.influence(r)
    mean = float(slope.mean())
    if mean <= 0:
        return math.nan
    k = 1 + p * float(slope.var()) / (len(r) * mean**2)
    return k**2 * float(psi @ psi) / dof / mean**2


def require_rows(rows: int, names: Sequence[str]) -> None:
    """AdError where there are fewer residuals than parameters."""
    if rows < len(names):
        raise AdError(f"{plural(rows, 'residual')} for {plural(len(names), 'parameter')}: {', '.join(names)}",
                      help="give more rows, or fewer parameters: ⟦--params NAME=START⟧")
