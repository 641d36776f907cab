"""Optimality of a point: the conditions of Karush, Kuhn and Tucker with exact derivatives, whatever a solver says of it.

Of a problem: minimise f(x) with low ≤ x ≤ high and low ≤ c(x) ≤ high. The Lagrangian is f − Σ λ c − Σ μ x over what is active;
λ ≥ 0 where a lower bound holds a value, λ ≤ 0 where an upper one does, and λ is free for an equation. For the second order the
Hessian of the Lagrangian is looked at on the null space of what is active (Nocedal and Wright, Numerical Optimization, 2nd ed.
2006, sections 12.3 and 12.5); `sparse_optimality` does so. Multipliers are claimed where the gradients of what is active are
independent (ibid., section 12.2), and these are nearly the same where a Newton step onto the bounds leads: the gradient of x² at
1e-19 is not zero, and means nothing for x² ≤ 0.

Directions along which nothing of a problem changes: an optimum that has one is not unique, and can be an optimum all the same.

A variable is linear where its row of the Hessian of f − Σ λ c is zero, for weights λ that no terms cancel with, at the point and
at others on both sides, near by and far away, as x¹²⁰ underflows near 0; a function that is analytic is then linear in it. What
the constant Jacobian of linear variables maps to zero, as the difference of two generators at one bus, changes neither f nor any
condition, however long the step.

Second derivatives at a point where they are conventions, though those on all sides of it agree.

The Hessian of hypot(x, y)**2 is twice the identity everywhere but at 0, where the rules of a kink give 0. Such a Hessian is found
out by its neighbours, and taken from them: they are the same in several directions and at two distances, and the value and the
gradient change from the point to each of them as that Hessian says. A kink of the value or of the gradient does not pass.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.linear import Vector, dense

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


class RankedVerdict(StrEnum):
    """Verdicts on the ends of solvers, the best first."""

    @property
    def rank(self) -> int:
        return [*type(self)].index(self)


class Verdict(RankedVerdict):
    """Verdict on a point: a strict local minimum; one that is strict but for directions along which nothing changes; one whose
    projected Hessian is zero to rounding along some, and semidefinite on both sides; a stationary point with too many inputs to
    look at the second order; one where the projected Hessian is singular; one where the gradients of what is active are zero or
    dependent, so that no multipliers need exist; one with a direction along which f falls to second order; one from which a
    Newton step leads far; one at which a condition does not hold; one at which a value or a derivative is not finite."""

    MINIMUM = "minimum"
    NOT_UNIQUE = "not unique"
    NOT_STRICT = "not strict"
    STATIONARY = "stationary"
    FLAT = "flat"
    DEGENERATE = "degenerate"
    SADDLE = "saddle"
    MOVING = "not stationary"
    INFEASIBLE = "infeasible"
    NOT_FINITE = "not finite"

    @property
    def shown(self) -> bool:
        """True if a point has everything that a minimum has."""
        return self.rank <= Verdict.STATIONARY.rank


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
    verdict: Verdict
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
        """The lower, the better; a value where a derivative is infinite is as good as one where a solver still moves."""
        feasible = self.violation <= FEASIBLE
        verdict = Verdict.MOVING if self.verdict == Verdict.NOT_FINITE and feasible else self.verdict
        return verdict.rank, (self.f if feasible else self.violation)


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


# ---------------------------------------------------------------- flat directions

ASIDE = 1e-5, -1e-5, 1e-3, -1e-3, 0.5, -0.5
"""Distances of the other points, relative to the size of variables."""
MOST_TOGETHER = 300
"""Linear variables that conditions connect, up to which directions are looked for."""
NULL = 1e-13
"""Largest change, relative to the largest that there is, that is rounding."""


def flat_directions(at: Callable[[Vector], PointDerivatives], x: Vector, free: Vector, size: Vector) -> Any:
    """A basis of directions of `free` variables along which neither f nor a condition changes: rows of a sparse matrix."""
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.csgraph import connected_components
    linear = np.flatnonzero(free & linear_variables(at, x, size))
    here = at(x)
    changes = csr_array(vstack([csr_array(here.gradient[None, :]), csr_array(here.jacobian)]))[:, linear].multiply(size[linear])
    changes = csr_array(changes)
    changes.eliminate_zeros()
    meets = csr_array(changes != 0)
    count, label = connected_components(meets.T @ meets, directed=False) if len(linear) else (0, np.zeros(0, np.int64))
    order, starts = np.argsort(label, kind="stable"), np.cumsum(np.bincount(label, minlength=count))
    columns, found = changes.tocsc(), list[tuple[Vector, Vector]]()
    for group in np.split(order, starts[:-1]) if count else []:
        part = columns[:, group]
        if len(group) > MOST_TOGETHER or (len(group) == 1 and part.nnz):
            continue
        rows = np.unique(part.indices)
        found += [(linear[group], direction) for direction in null_vectors(part.tocsr()[rows].toarray())]
    numbers = np.concatenate([d for _, d in found]) if found else np.zeros(0)
    index = np.concatenate([i for i, _ in found]) if found else np.zeros(0, np.int64)
    ends = np.cumsum([0, *(len(d) for _, d in found)])
    return csr_array((numbers * size[index], index, ends), shape=(len(found), len(x)))


def null_vectors(matrix: Vector) -> Vector:
    """An orthonormal basis of what a matrix maps to zero, a row each."""
    _, singular, right = np.linalg.svd(matrix)
    return right[int(np.sum(singular > NULL * max(matrix.shape) * np.max(singular, initial=0.0))):]


def linear_variables(at: Callable[[Vector], PointDerivatives], x: Vector, size: Vector) -> Vector:
    """True for variables in which f and all conditions are linear near by."""
    from scipy.sparse import csr_array
    count = np.arange(len(x))
    found = np.ones(len(x), bool)
    for step in (0.0, *(part * np.copysign(0.5 + np.cos(count)**2, np.cos(count)) for part in ASIDE)):
        there = at(x + step * size)
        if there.hess is None:
            return np.zeros(len(x), bool)
        hessian = csr_array(there.hess(1.0 + np.sin(1.0 + np.arange(len(there.c))) / 3))
        hessian.data[np.isnan(hessian.data)] = 1.0
        found &= np.asarray(abs(hessian).sum(axis=1)).ravel() == 0
    return found


# ---------------------------------------------------------------- removable singularities

DISTANCES = 1e-6, 1e-8
"""How far away neighbours are, relative to the size of the variables."""
DerivativesAt = Callable[[Vector], PointDerivatives]


def mended(at: DerivativesAt, size: Vector) -> DerivativesAt:
    """The derivatives at a point, with the Hessian of its neighbours where these agree."""
    from scipy.sparse import csr_array

    def derivatives(x: Vector) -> PointDerivatives:
        here = at(x)
        own = here.hess

        def hess(v: Vector) -> Vector:
            assert own is not None
            found = agreed(at, here, size, v)
            return own(v) if found is None else csr_array(found)
        return here if own is None else here._replace(hess=hess)
    return derivatives


def agreed(at: DerivativesAt, here: PointDerivatives, size: Vector, multipliers: Vector) -> Vector | None:
    """The Hessian of the Lagrangian on all sides of a point; None where there is not one that value and gradient know."""
    found = [(step, there, dense(there.hess(multipliers))) for step in steps(size)
             if (there := at(here.x + step)).hess is not None]
    if not found or not all(np.isfinite(h).all() for *_, h in found):
        return None
    middle: Vector = np.mean([h for *_, h in found], axis=0)
    scale = 1 / np.sqrt(np.where((d := np.abs(np.diag(middle))) > 0, d, 1.0))
    least = float(np.min(np.abs(np.linalg.eigvalsh(middle * scale[:, None] * scale))))
    for step, there, hessian in found:
        if np.linalg.norm((hessian - middle) * scale[:, None] * scale, 2) > STEADY * least:
            return None
        change, expected = gradient(there, multipliers) - gradient(here, multipliers), middle @ step
        if float(np.max(np.abs(change - expected) * scale)) > STEADY * float(np.max(np.abs(expected) * scale)):
            return None
        rise, slope = value(there, multipliers) - value(here, multipliers), float(gradient(here, multipliers) @ step)
        room = abs(float(step @ expected)) + 1e-14 * max(abs(here.f), abs(there.f))
        if abs(rise - slope) > room:
            return None
    return middle


def steps(size: Vector) -> Iterator[Vector]:
    """To neighbours on both sides along two directions, in which all variables move."""
    count = np.arange(len(size))
    directions = 1.5 + np.cos(count), np.cos(np.pi * count) + np.sin(count) / 2
    for direction, distance, side in product(directions, DISTANCES, (1, -1)):
        yield side * distance * size * direction


def value(at: PointDerivatives, multipliers: Vector) -> float:
    return at.f - float(multipliers @ at.c)


def gradient(at: PointDerivatives, multipliers: Vector) -> Vector:
    return at.gradient - at.jacobian.T @ multipliers
