"""Optimality of a point: the conditions of Karush, Kuhn and Tucker with exact derivatives, whatever a solver says of it.

Of a problem: minimise f(x) with low ≤ x ≤ high and low ≤ c(x) ≤ high. The Lagrangian is f − Σ λ c − Σ μ x over what is active;
λ ≥ 0 where a lower bound holds a value, λ ≤ 0 where an upper one does, and λ is free for an equation. For the second order the
Hessian of the Lagrangian is looked at on the null space of what is active (Nocedal and Wright, Numerical Optimization, 2nd ed.
2006, sections 12.3 and 12.5); `sparse_optimality` does so. Multipliers are claimed where the gradients of what is active are
independent (ibid., section 12.2), and these are nearly the same where a Newton step onto the bounds leads: the gradient of x² at
1e-19 is not zero, and means nothing for x² ≤ 0.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.vectors import Vector

FEASIBLE = 1e-8
"""How far a value may be outside of its bounds, relative to the bound or 1."""
ACTIVE = 1e-7
"""How near to a bound a value is held by it, relative to the bound or 1."""
STEP = 1e-6
"""A Newton step that moves every variable by less than this part of its size ends at the same minimum."""
GRADIENT = 1e-8
"""The gradient of the Lagrangian, relative to f or 1, that counts as zero where there is no Newton step to ask."""
SINGULAR = 1e-10
"""An eigenvalue of the scaled projected Hessian below this part of the largest is zero to rounding."""
SADDLE_SIZE = 1e-8
"""Threshold for a direction along which f falls, in variables scaled by their sizes."""
STEADY = 0.25
"""How much the Hessian may change over a step relative to itself, and over the Newton step relative to its least eigenvalue: less
than a half is what the theorem of Kantorovich asks for a zero of the gradient near by."""
MOST_INPUTS = 1000
"""Variables up to which the second order is looked at by products with the Hessian."""
WIDTHS = ACTIVE, 1e-5, 1e-3
"""How far from its answer a solver may have stopped."""
POLISHING = 20
"""Newton steps that are tried on the answer of a solver."""

MARGIN = 4.0
"""Bounds of rounding errors are multiplied by this, since points near by have others."""
SURE = 1e-12
"""Where rounding moves a point by less than this part of its size, what may change on the way is not looked at."""
MOST_MOVES = 8
"""Directions of such moves."""

VERDICTS = ("minimum", "not unique", "not strict", "stationary", "flat", "degenerate", "saddle", "not stationary", "infeasible",
            "not finite")
MINIMUM, NOT_UNIQUE, NOT_STRICT, STATIONARY, FLAT, DEGENERATE, SADDLE, MOVING, INFEASIBLE, NOT_FINITE = VERDICTS
"""Verdicts on a point, the best first: a strict local minimum; one that is strict but for directions along which nothing
changes; one whose projected Hessian is zero to rounding along some, and semidefinite on both sides; a stationary point with
too many inputs to look at the second order; one where the projected Hessian is singular; one where the gradients of what is
active are zero or dependent, so that no multipliers need exist; one with a direction along which f falls to second order; one
from which a Newton step leads far; one at which a condition does not hold; one at which a value or a derivative is not
finite."""


class PointDerivatives(NamedTuple):
    """f, c, and their derivatives at a point; `hess(λ)` is the Hessian of f − Σ λ c, None where it takes too much, and `noise(λ)`
    bounds the rounding errors of its gradient. Matrices are sparse."""

    x: Vector
    f: float
    c: Vector
    gradient: Vector
    jacobian: Any
    hess: Callable[[Vector], Any] | None
    noise: Callable[[Vector], Vector]


class Bounds(NamedTuple):
    """low ≤ x ≤ high, and c_low ≤ c ≤ c_high."""

    low: Vector
    high: Vector
    c_low: Vector
    c_high: Vector


@dataclass(frozen=True, eq=False)
class Assessment:
    """Assessment of x. `multipliers` are those of c, `bound_multipliers` those of x, NaN where none are claimed; `residual` is
    the gradient of the Lagrangian, `violation` how far c and x are outside of their bounds at most; `active` and `held` say which
    c and x are at bounds; `step` is the Newton step, `direction` one along which f does not change, or falls; it is `cornered`
    where what is active leaves no direction free."""

    x: Vector
    f: float
    c: Vector
    verdict: str
    residual: Vector
    violation: float
    multipliers: Vector
    bound_multipliers: Vector
    active: Vector
    held: Vector
    step: Vector | None = None
    direction: Vector | None = None
    cornered: bool = False

    @property
    def rank(self) -> tuple[int, float]:
        """The lower, the better."""
        return VERDICTS.index(self.verdict), (self.f if self.violation <= FEASIBLE else self.violation)


def outside(values: Vector, low: Vector, high: Vector) -> float:
    """How far values are outside of their bounds at most, relative to the bound or 1."""
    with np.errstate(invalid="ignore"):
        under = np.where(np.isfinite(low), (low - values) / np.maximum(1.0, np.abs(low)), 0.0)
        over = np.where(np.isfinite(high), (values - high) / np.maximum(1.0, np.abs(high)), 0.0)
    return float(max(np.max(under, initial=0.0), np.max(over, initial=0.0)))


def sides(values: Vector, low: Vector, high: Vector, width: float) -> Vector:
    """Active bound of each value: 1 its lower bound, -1 the upper one, 0 both, nan neither."""
    at_low = np.isfinite(low) & (values - low <= width * np.maximum(1.0, np.abs(low)))
    at_high = np.isfinite(high) & (high - values <= width * np.maximum(1.0, np.abs(high)))
    found = np.full(len(values), np.nan)
    found[at_low], found[at_high] = 1.0, -1.0
    found[at_low & at_high] = 0.0
    return found


def left(found: Assessment) -> float:
    """How far a point is from fulfilling the conditions of first order."""
    return float(np.max(np.abs(found.residual), initial=0.0)) + found.violation


def beyond_rounding(x: Vector, step: Vector) -> Vector:
    """A step that leads to another point: no component less than a few units of the last digit."""
    least = 4 * np.spacing(np.abs(x))
    return np.where(np.abs(step) >= least, step, np.copysign(least, step))
