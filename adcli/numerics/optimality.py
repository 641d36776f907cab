"""Optimality of a point: the conditions of Karush, Kuhn and Tucker with exact derivatives, whatever a solver says of it.

Of a problem: minimise f(x) with low ≤ x ≤ high and low ≤ c(x) ≤ high. The Lagrangian is f − Σ λ c − Σ μ x over what is active;
λ ≥ 0 where a lower bound holds a value, λ ≤ 0 where an upper one does, and λ is free for an equation. Multipliers are those with
the least gradient of the Lagrangian (a bounded linear least-squares problem). For the second order the Hessian of the Lagrangian
is projected onto the null space of what is active; its inertia does not depend on the scale of the variables, which are scaled by
its diagonal first (Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, sections 12.3 and 12.5). Multipliers are claimed
where the gradients of what is active are independent (ibid., section 12.2), and these are nearly the same where a Newton step
onto the bounds leads: the gradient of x² at 1e-19 is not zero, and means nothing for x² ≤ 0.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
"""Variables up to which the second order is looked at: it takes all eigenvalues."""
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

MOST_DROPPED = 20
"""Multipliers that are not unique and are tried as zero."""

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
    bounds the rounding errors of its gradient. Along rows of `flat` nothing changes: curvature is looked at across them."""

    x: Vector
    f: float
    c: Vector
    gradient: Vector
    jacobian: Vector
    hess: Callable[[Vector], Vector] | None
    noise: Callable[[Vector], Vector] | None = None
    flat: Vector | None = None


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
    c and x are at bounds; `eigenvalues` are those of the projected Hessian, in variables scaled to a diagonal of ±1, and `free`
    its eigenvectors in x; `step` is the Newton step, `direction` one along which f does not change, or falls."""

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
    eigenvalues: Vector | None = None
    free: Vector | None = None
    step: Vector | None = None
    direction: Vector | None = None

    @property
    def rank(self) -> tuple[int, float]:
        """The lower, the better."""
        return VERDICTS.index(self.verdict), (self.f if self.violation <= FEASIBLE else self.violation)


def assess(at: PointDerivatives, bounds: Bounds, size: Vector, width: float = ACTIVE, without: int | None = None) -> Assessment:
    """Verdict on a point; `size` is how large the variables are, for the length of steps, and `width` how near to a bound a value
    is held by it; what is active `without` a multiplier, counted in c and then x, has 0."""
    nothing = np.zeros(len(at.c)), np.zeros(len(at.x))
    if not (np.isfinite(at.f) and np.isfinite(at.c).all() and np.isfinite(at.gradient).all() and np.isfinite(at.jacobian).all()):
        flags = np.zeros(len(at.c), bool), np.zeros(len(at.x), bool)
        return Assessment(at.x, at.f, at.c, NOT_FINITE, at.gradient, np.inf, *nothing, *flags)
    violation = max(outside(at.x, bounds.low, bounds.high), outside(at.c, bounds.c_low, bounds.c_high))
    c_side, x_side = sides(at.c, bounds.c_low, bounds.c_high, width), sides(at.x, bounds.low, bounds.high, width)
    active, held = np.isfinite(c_side), np.isfinite(x_side)
    rows = np.concatenate([at.jacobian[active], np.eye(len(at.x))[held]])
    found, residual = multipliers(rows, at.gradient, np.concatenate([c_side[active], x_side[held]]), without)
    of_c, of_x = nothing
    of_c[active], of_x[held] = found[:int(active.sum())], found[int(active.sum()):]

    def verdict(word: str, **more: Any) -> Assessment:
        word = INFEASIBLE if violation > FEASIBLE else word
        return Assessment(at.x, at.f, at.c, word, residual, violation, of_c, of_x, active, held, **more)

    small = float(np.max(np.abs(residual * size), initial=0.0)) <= GRADIENT * max(1.0, abs(at.f))
    hessian = at.hess(of_c) if at.hess is not None else None
    if hessian is None or not np.isfinite(hessian).all():
        return verdict(STATIONARY if small and hessian is None else FLAT if small else MOVING)
    scale = 1 / np.sqrt(np.where((d := np.abs(np.diag(hessian))) > 0, d, 1.0))
    scaled = hessian * scale[:, None] * scale
    pull = np.abs(found) * np.linalg.norm(rows, axis=1) if len(rows) else found
    flat = np.zeros((0, len(at.x))) if at.flat is None else at.flat
    equal = np.concatenate([c_side[active], x_side[held]]) == 0
    strong = equal | (pull > GRADIENT * max(1.0, float(np.max(np.abs(at.gradient)))))
    values, vectors = inertia(scaled, np.concatenate([rows[strong], flat / size**2]) * scale)
    if positive(values):
        step = -scale * (vectors @ ((vectors.T @ (scale * residual)) / values))
        near = bool(np.all(np.abs(step) <= STEP * size)) and (not len(rows) or small_part(rows, residual, at.gradient))
        sure = near or (small and near_in_value(step, residual, at.f))
        word = FLAT if small else MOVING
        if sure:
            word = NOT_UNIQUE if len(flat) else MINIMUM
        return verdict(word, eigenvalues=values, step=step, free=scale[:, None] * vectors,
                       direction=flat[0] / np.max(np.abs(flat[0])) if len(flat) else None)
    if not strong.all():   # what does not pull may hold all the same
        values, vectors = inertia(scaled, rows * scale)
    bent = inertia(hessian * size[:, None] * size, rows * size)[0]   # what a step as long as the variables would tell
    word = MOVING if not small else SADDLE if negative(values, SINGULAR) and negative(bent, SADDLE_SIZE) else FLAT
    along = scale * vectors[:, 0] if len(values) else None
    return verdict(word, eigenvalues=values,
                   direction=None if along is None else along / max(float(np.max(np.abs(along))), 1e-300))


def inertia(hessian: Vector, rows: Vector) -> tuple[Vector, Vector]:
    """The eigenvalues of a matrix projected on what is orthogonal to the rows, the least first, and its eigenvectors in full."""
    free = null_space(rows)
    values, vectors = np.linalg.eigh(free.T @ hessian @ free)
    return values, free @ vectors


def positive(values: Vector) -> bool:
    """True if the least of these eigenvalues is positive beyond rounding; so it is where there is none."""
    return not len(values) or values[0] > SINGULAR * np.max(np.abs(values))


def negative(values: Vector, part: float) -> bool:
    """True if the least of these eigenvalues is negative by more than a part of the largest."""
    return bool(len(values) and values[0] < -part * np.max(np.abs(values)))


def near_in_value(step: Vector, residual: Vector, f: float) -> bool:
    """True if the Newton step lowers f by less than rounding."""
    return abs(float(step @ residual)) <= 1e-14 * max(abs(f), 1e-300)


def small_part(rows: Vector, residual: Vector, gradient: Vector) -> bool:
    """True if what is left of the gradient has no part that the constraints should have taken up: multipliers of the right sign
    that are missing."""
    taken = rows.T @ np.linalg.lstsq(rows.T, residual, rcond=None)[0]
    return float(np.max(np.abs(taken))) <= 100 * GRADIENT * max(1.0, float(np.max(np.abs(gradient))))


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


def multipliers(rows: Vector, gradient: Vector, side: Vector, without: int | None = None) -> tuple[Vector, Vector]:
    """Multipliers of active rows with the least gradient of the Lagrangian, and that gradient."""
    if without is not None:
        found, residual = multipliers(np.delete(rows, without, 0), gradient, np.delete(side, without))
        return np.insert(found, without, 0.0), residual
    if not len(rows):
        return np.zeros(0), gradient
    from scipy.optimize import lsq_linear
    norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    low, high = np.where(side > 0, 0.0, -np.inf), np.where(side < 0, 0.0, np.inf)
    found = lsq_linear((rows / norms[:, None]).T, gradient, (low, high), method="bvls", tol=1e-15).x / norms
    return found, gradient - rows.T @ found


def null_space(rows: Vector) -> Vector:
    """An orthonormal basis of what is orthogonal to all rows."""
    n = rows.shape[1]
    if not len(rows):
        return np.eye(n)
    norms = np.linalg.norm(rows, axis=1)
    _, singular, basis = np.linalg.svd(rows / np.where(norms > 0, norms, 1.0)[:, None])
    return np.asarray(basis[int(np.sum(singular > 1e-10)):].T)


def polished(at: Callable[[Vector], PointDerivatives], x: Vector, bounds: Bounds, size: Vector) -> Assessment:
    """The point, or a better one near by: Newton steps on what is active, as long as they leave less to do. A solver may have
    stopped at some distance from the bounds that hold its answer, so that these are looked for farther and farther away."""
    best = assess(at(x), bounds, size)
    for width in WIDTHS:
        if best.verdict in (MINIMUM, NOT_UNIQUE) and width > ACTIVE:
            break
        found = newton(at, x, bounds, size, width)
        best = found if (VERDICTS.index(found.verdict), left(found)) < (VERDICTS.index(best.verdict), left(best)) else best
    if best.verdict in (MINIMUM, NOT_UNIQUE) and not steady(at, best):
        best = replace(best, verdict=FLAT)
    return qualified(at, best, bounds, size) if best.active.any() and len(x) <= MOST_INPUTS else best


def qualified(at: Callable[[Vector], PointDerivatives], found: Assessment, bounds: Bounds, size: Vector) -> Assessment:
    """Assessment with no more multipliers, and no more of a verdict, than the gradients of what is active can show. Where they
    are dependent, several multipliers do, and any that shows a minimum shows it."""
    if found.verdict in (INFEASIBLE, NOT_FINITE):
        return found
    here = at(found.x)
    side = np.concatenate([sides(found.c, bounds.c_low, bounds.c_high, ACTIVE)[found.active],
                           sides(found.x, bounds.low, bounds.high, ACTIVE)[found.held]])
    rows = active_rows(here, found) * size
    alone = independent(rows)
    for i in np.flatnonzero(~alone)[:MOST_DROPPED]:
        if found.verdict not in (FLAT, SADDLE):
            break
        other = assess(here, bounds, size, without=int(i))
        found = other if other.verdict in (MINIMUM, NOT_UNIQUE) and steady(at, other) else found
    firm = steady_rows(at, found, bounds, size)
    if not firm or (found.verdict == MOVING and not sides_agree(rows, side)) \
            or (found.verdict != MOVING and not spanned(here.gradient * size, rows)):
        alone[:] = False
        found = replace(found, verdict=DEGENERATE)
    c, x = found.multipliers.copy(), found.bound_multipliers.copy()
    count = int(found.active.sum())
    c[np.flatnonzero(found.active)[~alone[:count]]] = np.nan
    x[np.flatnonzero(found.held)[~alone[count:]]] = np.nan
    return replace(found, multipliers=c, bound_multipliers=x)


def active_rows(at: PointDerivatives, found: Assessment) -> Vector:
    """The gradients of what is active: conditions, then variables."""
    return np.concatenate([at.jacobian[found.active], np.eye(len(at.x))[found.held]])


def independent(rows: Vector) -> Vector:
    """Which rows are no combination of others, nor zero."""
    left_vectors, singular, _ = np.linalg.svd(of_length_one(rows))
    null = left_vectors[:, int(np.sum(singular > STEP)):]   # of a point that is known no better
    return np.asarray(np.linalg.norm(null, axis=1) <= 1e-6)


def spanned(gradient: Vector, rows: Vector) -> bool:
    """True if a gradient is a combination of rows, where directions in which these hardly differ do not count: multipliers that
    are made of such a difference are those of a point that is known no better."""
    _, singular, right = np.linalg.svd(of_length_one(rows), full_matrices=False)
    if not (lost := right[singular <= STEP]).size:
        return True
    return float(np.linalg.norm(lost @ gradient)) <= STEP * float(np.linalg.norm(gradient))


def of_length_one(rows: Vector) -> Vector:
    norms = np.linalg.norm(rows, axis=1)
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def sides_agree(rows: Vector, side: Vector) -> bool:
    """True if some direction leads into all that is active, as Mangasarian and Fromovitz ask: equations are independent, and no
    positive multiple of the gradients of inequalities is a combination of theirs."""
    from scipy.optimize import nnls
    unit = of_length_one(rows)
    equal, inward = unit[side == 0], (unit * side[:, None])[side != 0]
    if len(equal) and not independent(equal).all():
        return False
    free = null_space(equal) if len(equal) else np.eye(rows.shape[1])
    whole = np.concatenate([(inward @ free).T, np.ones((1, len(inward)))])
    return not len(inward) or float(nnls(whole, np.eye(len(whole))[-1])[1]) > 1e-8


def steady_rows(at: Callable[[Vector], PointDerivatives], found: Assessment, bounds: Bounds, size: Vector) -> bool:
    """True if the gradients of what pulls are nearly the same where a Newton step onto the bounds leads: where a gradient is zero
    at the bound itself, half of it is lost on the way at least, however near the point is."""
    values = np.concatenate([found.c, found.x])
    low, high = np.concatenate([bounds.c_low, bounds.low]), np.concatenate([bounds.c_high, bounds.high])
    side = sides(values, low, high, ACTIVE)
    pulls = np.isfinite(side) & ((np.concatenate([found.multipliers, found.bound_multipliers]) != 0) | (side == 0))
    if not pulls[:len(found.c)].any():
        return True
    bound = np.where(side >= 0, low, high)[pulls]
    gap = bound - values[pulls]
    gap = np.copysign(np.maximum(np.abs(gap), np.finfo(float).eps * np.maximum(1.0, np.abs(bound))), gap)

    def gradients(x: Vector) -> Vector:
        return np.concatenate([at(x).jacobian, np.eye(len(x))])[pulls] * size

    rows = gradients(found.x)
    norms = np.linalg.norm(rows, axis=1)
    if not norms.all():
        return False
    back = np.linalg.pinv(rows / norms[:, None], rcond=SINGULAR)
    there = found.x + beyond_rounding(found.x, size * (back @ (gap / norms)))
    change = (gradients(there) - rows) / norms[:, None]
    return bool(np.isfinite(change).all() and np.linalg.norm(change @ back, 2) <= STEADY)


def left(found: Assessment) -> float:
    """How far a point is from fulfilling the conditions of first order."""
    return float(np.max(np.abs(found.residual), initial=0.0)) + found.violation


def steady(at: Callable[[Vector], PointDerivatives], found: Assessment) -> bool:
    """True if the Hessian is nearly the same where the Newton step leads, and as far as the rounding of the gradient reaches, so
    that it tells of the minimum itself: at 1e-9 that of x³ is positive too."""
    here = at(found.x)
    if here.hess is None or found.step is None or found.eigenvalues is None or not len(found.eigenvalues):
        return True
    assert found.free is not None
    one, unit = here.hess(found.multipliers), found.free / np.sqrt(found.eigenvalues)   # in which the Hessian is 1
    scale = np.diag(1 / np.sqrt(np.where((d := np.abs(np.diag(one))) > 0, d, 1.0)))

    def keeps(step: Vector, basis: Vector, most: float) -> bool:
        there = at(found.x + beyond_rounding(found.x, step)).hess
        change = np.full((1, 1), np.inf) if there is None else basis.T @ (there(found.multipliers) - one) @ basis
        return bool(np.isfinite(change).all() and np.linalg.norm(change, 2) <= most)

    if np.any(found.step) and not keeps(found.step, scale, STEADY * found.eigenvalues[0]):
        return False
    return all(keeps(move, unit, STEADY) or keeps(-move, unit, STEADY) for move in reach(here, found))


def reach(here: PointDerivatives, found: Assessment) -> Iterator[Vector]:
    """How far the rounding of the gradient may have moved a minimum, along each eigenvector of the Hessian."""
    assert found.free is not None and found.eigenvalues is not None
    if here.noise is None:
        return
    noise = MARGIN * here.noise(found.multipliers)
    if not np.isfinite(noise).all():
        return
    for move in (found.free * (np.abs(found.free).T @ noise / found.eigenvalues)).T[:MOST_MOVES]:
        if np.max(np.abs(move) / np.maximum(np.abs(found.x), 1.0)) > SURE:
            yield move


def beyond_rounding(x: Vector, step: Vector) -> Vector:
    """A step that leads to another point: no component less than a few units of the last digit."""
    least = 4 * np.spacing(np.abs(x))
    return np.where(np.abs(step) >= least, step, np.copysign(least, step))


def newton(at: Callable[[Vector], PointDerivatives], x: Vector, bounds: Bounds, size: Vector, width: float) -> Assessment:
    """Where Newton steps lead that hold what is within a width of its bounds and pulls at them."""
    derived, left = at(x), np.inf
    now = best = assess(derived, bounds, size, width)
    low, high = np.concatenate([bounds.c_low, bounds.low]), np.concatenate([bounds.c_high, bounds.high])
    for _ in range(POLISHING):
        if now.step is None:
            break
        side = sides(values := np.concatenate([now.c, now.x]), low, high, width)
        pulls = (np.concatenate([now.multipliers, now.bound_multipliers]) != 0) | (side == 0)
        holding = np.isfinite(side) & pulls
        gap = (np.where(side >= 0, low, high) - values)[holding]
        todo = float(np.max(np.abs(now.step) / size, initial=0.0) + np.max(np.abs(gap), initial=0.0)) + now.violation
        if not todo < left:
            break
        best, left = now, todo
        rows = np.concatenate([derived.jacobian, np.eye(len(x))])[holding]
        back = np.linalg.lstsq(rows, gap, rcond=None)[0] if len(rows) else 0.0
        derived = at(np.clip(now.x + now.step + back, bounds.low, bounds.high))
        now = assess(derived, bounds, size, width)
    return assess(at(best.x), bounds, size)
