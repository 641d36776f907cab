"""The conditions of `optimality` by sparse factorisations, whatever a solver says of its answer.

Multipliers are those of the solver, or of least squares over what is active. That the Hessian of the Lagrangian H is positive
definite on the null space of the active gradients A is shown by one matrix H + σ AᵀA that is positive definite (Debreu
1952): its factorisation without pivoting has positive pivots only, and its least eigenvalue, by inverse iteration (Lanczos) with
the factors, is above rounding. Directions along which nothing changes count as rows of A; a minimum with such is not unique.
A point is stationary where the Newton step of what is free to move is short, or lowers f by next to nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.linear import Vector, dense, entries, places, scaled
from adcli.numerics.optimality import (
    ACTIVE,
    FEASIBLE,
    GRADIENT,
    MARGIN,
    POLISHING,
    SADDLE_SIZE,
    SINGULAR,
    STEADY,
    STEP,
    SURE,
    WIDTHS,
    Assessment,
    Bounds,
    PointDerivatives,
    Verdict,
    beyond_rounding,
    flat_directions,
    left,
    outside,
    sides,
)

Derivatives = Callable[[Vector], PointDerivatives]
Sides = tuple[Vector, Vector]
"""Of each condition and each variable the bound that holds it, as `optimality.sides` has it; or its multiplier."""
PENALTIES = 1.0, 30.0, 1e3, 3e4, 1e6, 1e8, 3e9
"""Weights σ that are tried, relative to the one at which the largest entries of H and of AᵀA are alike. Conditions that add up
along n steps, as those of a differential equation, take n²."""
FEW = 16
"""Columns up to which matrices that only verdicts ask for are dense."""
RESTARTS = 10
"""Restarts of Lanczos' method, of some fifteen products each, after which an eigenvalue counts as unknown."""
REGULAR = 1e-10
"""Regularisation of systems of equations that may be singular: added to the diagonal; refinement takes it back."""
LONG_ROW = 20
"""Entries of an active gradient, above which it is split, as AᵀA would be dense."""
BACKWARD = 1e-8
"""The backward error before refinement up to which a matrix needs no pivoting."""
SYMMETRIC: dict[str, Any] = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
"""Options of SuperLU for a symmetric matrix that needs no pivoting."""
RELEASES, REFINEMENTS = 10, 4
DIVERGED = 1e12
"""Beside what was left at the best point: Newton's steps lead nowhere."""
NEAR = 0.5
"""How far a better point may be, relative to the variables."""
MOST_DEPENDENT = 10
FACTORED = 1e-13
"""The backward error of a factorisation, relative to the norm of a matrix with a unit diagonal: some hundred roundings."""
MOST_LEAST = 6
"""Directions of least curvature that are looked at; where there are as many as this there may be more."""
BESIDE = 1e-4, 0.01, 0.1
"""How far to both sides of a point, relative to the variables."""
SAME_VALUE = 1e-14
"""Values that differ by less than this part of their terms are the same."""
IN_VALUE = 1e-10
"""A Newton step that lowers f by less than this part of it ends at the same minimum."""


class Active(NamedTuple):
    """Active conditions and variables with their multipliers, and what these leave of the gradient, in scaled variables."""

    conditions: Vector
    variables: Vector
    multipliers: Vector
    bound_multipliers: Vector
    residual: Vector


def judged(at: Derivatives, x: Vector, bounds: Bounds, size: Vector, pulls: Sides | None = None) -> Assessment:
    """Assessment of a point, or of a better one that Newton steps lead to. `pulls` are a solver's multipliers of conditions and
    variables: what has a multiplier that is large beside the distance from its bound is held first."""
    here = at(x)
    near = within(here, bounds, ACTIVE) if pulls is None else by_multipliers(here, bounds, size, pulls)
    on = active(here, size, near) if pulls is None else with_multipliers(here, size, near, pulls[0])
    best = assessed(at, x, bounds, size, on)
    tried = set[bytes]()
    for width in [None, *WIDTHS]:
        ends = best.verdict.rank <= Verdict.NOT_STRICT.rank or best.verdict == Verdict.NOT_FINITE
        if ends and (tried or is_sharp(best)):
            break
        if width is not None:
            on = active(here, size, near := within(here, bounds, width))
        if (held := on.conditions.tobytes() + on.variables.tobytes()) in tried:
            continue
        tried.add(held)
        y, multipliers = newton(at, x, bounds, size, near, on)
        found = assessed(at, y, bounds, size, with_multipliers(at(y), size, within(at(y), bounds, ACTIVE), multipliers))
        near_by = largest((y - x) / size) <= NEAR
        best = found if near_by and (found.rank[0], left(found)) < (best.rank[0], left(best)) else best
    if best.verdict == Verdict.MOVING and pulls is not None:
        on = with_multipliers(here, size, by_multipliers(here, bounds, size, pulls), pulls[0])
        found = assessed(at, x, bounds, size, beside_bounds(here, bounds, size, on))
        best = found if found.rank < best.rank else best
    here = at(best.x)
    if best.verdict == Verdict.MOVING and best.active.any():
        held = scaled(here.jacobian, size)[best.active][:, ~best.held]
        if not firm(at, best, bounds, of_length_one(held), best.active, ~best.held, size):
            return degenerate(best)
    return best


def of_higher_order(at: Derivatives, found: Assessment, bounds: Bounds, size: Vector) -> Assessment:
    """Assessment of a point where the Hessian is positive and changes too much over a Newton step, as that of x⁴."""
    here = at(found.x)
    if found.step is None or here.hess is None:
        return found
    rows, hessian = compact(scaled(here.jacobian, size)), compact(scaled(here.hess(found.multipliers), size, size))
    strong, free = freedom(here, found, bounds, size, rows)
    other = bent(at, found, hessian[free][:, free], of_length_one(rows[strong][:, free]), free, size)
    return other if other.verdict == Verdict.NOT_STRICT else found


def freedom(here: PointDerivatives, known: Assessment, bounds: Bounds, size: Vector, rows: Any) -> tuple[Vector, Vector]:
    """The conditions that pull at a bound, or are equations, and the variables that do not."""
    least = GRADIENT * max(1.0, float(np.max(np.abs(here.gradient * size))))
    pull = np.abs(known.multipliers) * lengths(rows)
    strong = known.active & ((pull > least) | (bounds.c_low == bounds.c_high))
    return strong, ~(known.held & ((np.abs(known.bound_multipliers * size) > least) | (bounds.low == bounds.high)))


def is_sharp(found: Assessment) -> bool:
    """True if no Newton step would bring a point nearer to a minimum."""
    return found.step is not None and not np.any(found.step) and found.violation == 0


def degenerate(found: Assessment) -> Assessment:
    """Assessment of a point at which no multipliers need exist."""
    return replace(found, verdict=Verdict.DEGENERATE, multipliers=np.where(found.active, np.nan, 0.0),
                   bound_multipliers=np.where(found.held, np.nan, 0.0))


def within(here: PointDerivatives, bounds: Bounds, width: float) -> Sides:
    """The bounds of conditions and variables that are not farther away than a width."""
    return sides(here.c, bounds.c_low, bounds.c_high, width), sides(here.x, bounds.low, bounds.high, width)


def by_multipliers(here: PointDerivatives, bounds: Bounds, size: Vector, pulls: Sides) -> Sides:
    """The bounds that a solver's multipliers pull at: in its answer the product of distance and multiplier is the same for all,
    so that one of both is small."""
    unit = np.sqrt(max(1.0, float(np.max(np.abs(here.gradient * size)))))

    def pulled(x: Vector, low: Vector, high: Vector, pull: Vector, size: Vector) -> Vector:
        gap, free = np.where(pull >= 0, x - low, high - x), low < high
        found = np.where(gap * unit < np.abs(pull) * size**2, np.sign(pull), np.nan)
        return np.where(free, found, 0.0)

    length = 1 / lengths(scaled(here.jacobian, size))
    return (pulled(here.c, bounds.c_low, bounds.c_high, pulls[0], 1 / length),
            pulled(here.x, bounds.low, bounds.high, pulls[1], size))


def assessed(at: Derivatives, x: Vector, bounds: Bounds, size: Vector, on: Active) -> Assessment:
    """Verdict on a point with these multipliers."""
    here = at(x)
    violation = max(outside(x, bounds.low, bounds.high), outside(here.c, bounds.c_low, bounds.c_high))
    if not all(np.isfinite(part).all() for part in (here.f, here.c, here.gradient, here.jacobian.data)):
        nothing = np.zeros(len(here.c)), np.zeros(len(x))
        violation = violation if np.isfinite(here.f) and np.isfinite(here.c).all() else np.inf
        return Assessment(x, here.f, here.c, Verdict.NOT_FINITE, here.gradient, violation, *nothing,
                          *(part != 0 for part in nothing))
    known = Assessment(x, here.f, here.c, Verdict.FLAT, on.residual / size, violation, on.multipliers,
                       on.bound_multipliers / size,
                       on.conditions, on.variables)
    apart = slackness(here, bounds, size, on)
    unit = GRADIENT * max(1.0, abs(here.f))
    if violation > FEASIBLE or np.max(apart, initial=0.0) > unit:
        return replace(known, verdict=Verdict.INFEASIBLE if violation > FEASIBLE else Verdict.MOVING)
    residual = largest(on.residual)
    found = with_curvature(at, here, known, bounds, size) if residual <= unit / STEP else known
    sure = residual <= unit or found.verdict.rank <= Verdict.NOT_UNIQUE.rank
    return found if sure else replace(known, verdict=Verdict.MOVING)


def beside_bounds(here: PointDerivatives, bounds: Bounds, size: Vector, on: Active) -> Active:
    """Active set with the variables that a bound pulls at from so near that their multiplier times the distance is zero."""
    gap = np.where(on.residual > 0, here.x - bounds.low, bounds.high - here.x)
    near = ~on.variables & (gap <= WIDTHS[-1] * size)
    pulled = near & (np.abs(on.residual) / size * np.where(near, gap, 0.0) <= GRADIENT * max(1.0, abs(here.f)))
    pull = np.where(pulled, on.residual, on.bound_multipliers)
    return on._replace(variables=on.variables | pulled, bound_multipliers=pull, residual=np.where(pulled, 0.0, on.residual))


def slackness(here: PointDerivatives, bounds: Bounds, size: Vector, on: Active) -> Vector:
    """Multipliers times the distances from the bounds that they belong to."""
    low, high = np.concatenate([bounds.c_low, bounds.low]), np.concatenate([bounds.c_high, bounds.high])
    pull, x = np.concatenate([on.multipliers, on.bound_multipliers / size]), np.concatenate([here.c, here.x])
    return np.abs(pull) * np.where(pull == 0, 0.0, np.abs(np.where(pull > 0, low, high) - x))


def with_curvature(at: Derivatives, here: PointDerivatives, known: Assessment, bounds: Bounds, size: Vector) -> Assessment:
    """Assessment of a stationary point by second derivatives along what does not pull at its bound."""
    from scipy.sparse import vstack
    if here.hess is None:
        return replace(known, verdict=Verdict.STATIONARY)
    jacobian = compact(scaled(here.jacobian, size))
    strong, free = freedom(here, known, bounds, size, jacobian)
    hessian = compact(scaled(here.hess(known.multipliers), size, size))
    if not np.isfinite(entries(hessian)).all():
        return known
    rows = held = of_length_one(jacobian[strong][:, free])
    inner = hessian[free][:, free]
    flat: Any = np.zeros((0, len(size)))
    if (solve := definite(inner, rows)) is None:
        flat = compact(scaled(flat_directions(at, known.x, free, size), 1 / size))
        more = of_length_one(flat[:, free])
        rows = np.vstack([held, more]) if isinstance(held, np.ndarray) else vstack([held, more]).tocsr()
        solve = definite(inner, rows) if flat.shape[0] else None
    if solve is None:
        return bent(at, known, inner, rows, free, size)
    along = None if not flat.shape[0] else greatest_one(dense(flat[[0]]).ravel() * size)
    step, right = np.zeros(len(size)), known.residual[free] * size[free]
    step[free] = -solve(right)
    found = replace(known, step=step * size, direction=along)
    lower = float(right @ solve(right))
    near = bool(np.all(np.abs(step) <= STEP)) or lower <= IN_VALUE * abs(known.f)
    if not near or not steady(at, found, hessian, rows, free, size):
        return replace(found, direction=None)
    if held.shape[0] and not firm(at, known, bounds, held, strong, free, size):
        return degenerate(found)
    if known.active.any():
        multipliers = found.multipliers.copy()
        multipliers[np.flatnonzero(known.active)[dependent(of_length_one(jacobian[known.active][:, free]))]] = np.nan
        found = replace(found, multipliers=multipliers)
    return replace(found, verdict=Verdict.MINIMUM if along is None else Verdict.NOT_UNIQUE,
                   cornered=rows.shape[0] >= rows.shape[1])


def steady(at: Derivatives, found: Assessment, hessian: Any, rows: Any, free: Vector, size: Vector) -> bool:
    """True if the Hessian changes over the Newton step by less than a part of itself along all that is free to move."""
    assert found.step is not None
    part = STEADY * hessian[free][:, free]

    def keeps(step: Vector) -> bool:
        there = at(found.x + beyond_rounding(found.x, step)).hess
        assert there is not None
        change = (compact(scaled(there(found.multipliers), size, size)) - hessian)[free][:, free]
        numbers = entries(change)
        return bool(np.isfinite(numbers).all()) and (not numbers.any() or all(
            definite(part + way * change, rows) is not None for way in (1.0, -1.0)))

    moves = reach(at(found.x), found, hessian[free][:, free], rows, free, size)
    return keeps(found.step) and all(keeps(move) or keeps(-move) for move in moves)


def reach(here: PointDerivatives, found: Assessment, hessian: Any, rows: Any, free: Vector, size: Vector) -> Iterator[Vector]:
    """How far the rounding of the gradient may have moved a minimum, along the directions of least curvature."""
    noise = MARGIN * size * here.noise(found.multipliers)
    if not np.isfinite(noise).all():
        return
    for d in least_directions(hessian, rows):
        if (bend := float(d @ (hessian @ d))) <= 0:   # held by rows
            continue
        move = np.zeros(len(size))
        move[free] = d * float(np.abs(d) @ noise[free]) / bend
        if np.max(np.abs(move * size) / np.maximum(np.abs(found.x), 1.0)) > SURE:
            yield move * size


def firm(at: Derivatives, found: Assessment, bounds: Bounds, held: Any, strong: Vector, free: Vector, size: Vector) -> bool:
    """True if the gradients of the active conditions change little over a Newton step onto their bounds, or one as long as
    rounding: where a gradient is zero at the bound itself, half of it is lost on the way."""
    pull, c = found.multipliers[strong], found.c[strong]
    side = np.where(pull != 0, np.sign(pull), sides(c, bounds.c_low[strong], bounds.c_high[strong], WIDTHS[-1]))
    bound = np.where(side >= 0, bounds.c_low[strong], bounds.c_high[strong])
    least = np.finfo(float).eps * np.maximum(1.0, np.abs(bound))
    gap = np.copysign(np.maximum(np.abs(bound - c), least), bound - c)
    rows = compact(scaled(at(found.x).jacobian, size))[strong][:, free]
    length = lengths(rows)
    step = np.zeros(len(size))
    step[free] = newton_step(None, held, np.zeros(held.shape[1]), gap / length)[0]
    there = at(found.x + beyond_rounding(found.x, step * size)).jacobian
    change = scaled(compact(scaled(there, size))[strong][:, free] - rows, np.ones(rows.shape[1]), 1 / length)
    return bool(np.isfinite(entries(change)).all()) and float(np.max(abs(change).sum(axis=1), initial=0.0)) <= STEADY


def dependent(rows: Any) -> Vector:
    """Which rows of length one are combinations of others, as far as MOST_DEPENDENT such combinations show."""
    from scipy.sparse.linalg import LinearOperator
    m, n = rows.shape
    if m <= MOST_DEPENDENT:
        some = np.eye(m)
    else:
        solve = factored(kkt(None, rows)[1], np.ones(n + m))
        assert solve is not None, "it is quasi-definite"
        inverse = LinearOperator((m, m), matvec=lambda v: -solve(np.concatenate([np.zeros(n), np.ravel(v)]))[n:], dtype=float)
        if np.max(lanczos(inverse, 1, which="LA", tol=0.1)[0], initial=0.0) < 0.5 / REGULAR:   # none: no need to tell which
            return np.zeros(m, bool)
        some = lanczos(inverse, MOST_DEPENDENT, which="LA", tol=1e-9)[1]
    sums = rows.T @ some
    _, size, turned = np.linalg.svd(np.vstack([sums, np.zeros((sums.shape[1],) * 2)]), full_matrices=False)
    return np.asarray(np.abs(some @ turned[size < STEP].T).max(axis=1, initial=0.0) > STEP)


def definite(hessian: Any, rows: Any, weights: Sequence[float] = PENALTIES) -> Callable[[Vector], Vector] | None:
    """The inverse of H + σ AᵀA, if for one of these σ it shows that H is positive definite on what is orthogonal to rows."""
    n = hessian.shape[0]
    if not n:
        return lambda right: right
    hessian, rows = split(hessian, rows)
    for weight in weights:
        whole = penalised(hessian, rows, weight)
        if not (whole.diagonal() > 0).all():
            continue
        scale = 1 / np.sqrt(whole.diagonal())
        unit = scaled(whole, scale, scale)
        solve = factors(unit)
        if solve is not None and least_eigenvalue(solve, len(scale)) > FACTORED * float(abs(unit).sum(axis=1).max()):
            return lambda right: (scale * solve(scale * np.pad(right, (0, len(scale) - n))))[:n]
    return None


def split(hessian: Any, rows: Any) -> tuple[Any, Any]:
    """H and A with a variable for each partial sum of long rows, and rows that say so: on their null space H is as before."""
    from scipy.sparse import csr_array
    if isinstance(rows, np.ndarray):
        return hessian, rows
    count = np.diff(rows.indptr)
    parts = np.maximum(1, -(-count // LONG_ROW))
    ends = np.cumsum(parts)
    sums = np.delete(np.arange(parts.sum()), ends - 1)
    n, wide = rows.shape[1], rows.shape[1] + len(sums)
    if wide == n:
        return hessian, rows
    row, column = places(rows)
    part = (ends - parts)[row] + (np.arange(len(row)) - rows.indptr[row]) // LONG_ROW
    unit, own = np.repeat(lengths(rows) / np.sqrt(parts), parts)[sums], np.arange(n, wide)
    entries = np.concatenate([rows.data, unit, -unit])
    where = np.concatenate([part, sums, sums + 1]), np.concatenate([column, own, own])
    return (csr_array((hessian.data, places(hessian)), shape=(wide, wide)), csr_array((entries, where), shape=(ends[-1], wide)))


def penalised(hessian: Any, rows: Any, weight: float) -> Any:
    """H + σ AᵀA, with σ relative to the one at which the largest entries are alike."""
    penalty = rows.T @ rows
    one, other = (largest(entries(m)) or 1.0 for m in (hessian, penalty))
    return hessian + weight * one / other * penalty


def factors(matrix: Any) -> Callable[[Vector], Vector] | None:
    """The solution by a symmetric matrix, factored without pivoting; None unless all pivots are positive."""
    if isinstance(matrix, np.ndarray):
        try:
            np.linalg.cholesky(matrix), np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return None
        return lambda right: np.linalg.solve(matrix, right)
    from scipy.sparse.linalg import splu
    try:
        found = splu(matrix.tocsc(), **SYMMETRIC)
    except RuntimeError:   # singular
        return None
    positive = np.array_equal(found.perm_r, found.perm_c) and bool((found.U.diagonal() > 0).all())
    return found.solve if positive else None


def lanczos(matrix: Any, count: int, **wanted: Any) -> tuple[Vector, Vector]:
    """So many eigenvalues and eigenvectors of a symmetric matrix, by Lanczos' method; fewer where it does not converge soon."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh
    try:
        values, vectors = eigsh(matrix, count, maxiter=RESTARTS, **wanted)
    except ArpackNoConvergence as found:
        return found.eigenvalues, found.eigenvectors
    return values, vectors


def least_eigenvalue(solve: Callable[[Vector], Vector], n: int) -> float:
    """The least eigenvalue of a positive definite matrix, of which the inverse is known; 0 where it is not found."""
    from scipy.sparse.linalg import LinearOperator
    if n <= FEW:
        return float(1 / np.max(np.linalg.eigvalsh(solve(np.eye(n)))))
    inverse = LinearOperator((n, n), matvec=lambda v: solve(np.ravel(v)), dtype=float)
    found, _ = lanczos(inverse, 1, which="LA", tol=1e-3)
    return float(1 / found[0]) if len(found) else 0.0


def bent(at: Derivatives, known: Assessment, hessian: Any, rows: Any, free: Vector, size: Vector) -> Assessment:
    """Assessment where no curvature is shown: with a direction along which f falls, or hardly changes, to second order. It is not
    strict where the Hessian is semidefinite to rounding here, and beside the point along all such directions, from where no
    Newton step would lead lower."""
    from scipy.sparse import csr_array, identity
    directions = least_directions(hessian, rows)
    if not len(directions):
        return known
    along = in_all(directions, free, size)
    rounding = FACTORED * float(abs(hessian).sum(axis=1).max())
    zero = compact(csr_array(rounding * identity(hessian.shape[0])))
    weight = next((w for w in PENALTIES if definite(hessian + zero, rows, [w]) is not None), None)
    if weight is None:
        falling = -SADDLE_SIZE * largest(entries(hessian))
        for d in (*directions[:1], *least_directions(hessian, rows, 1.0)[:1]):
            if float(d @ (hessian @ d)) < falling * float(d @ d):
                return replace(known, verdict=Verdict.SADDLE, direction=in_all(d[None, :], free, size)[0])
        return replace(known, verdict=Verdict.FLAT, direction=along[0])
    pulls = known.bound_multipliers

    def least(here: PointDerivatives) -> float:
        """The Lagrangian where a Newton step leads."""
        assert here.hess is not None
        slope = ((here.gradient - here.jacobian.T @ known.multipliers - pulls) * size)[free]
        bends = compact(scaled(here.hess(known.multipliers), size, size))[free][:, free]
        finite = np.isfinite(here.f) and np.isfinite(slope).all() and np.isfinite(entries(bends)).all()
        solve = definite(bends + zero, rows, [weight]) if finite else None
        if solve is None:
            return -np.inf
        return here.f - float(known.multipliers @ here.c + pulls @ here.x) - float(slope @ solve(slope)) / 2

    here = at(known.x)
    scale = abs(here.f) + float(np.abs(known.multipliers) @ np.abs(here.c) + np.abs(pulls) @ np.abs(here.x))
    lowest = here.f - float(known.multipliers @ here.c + pulls @ here.x) - SAME_VALUE * scale
    reached = least(here)
    lowest = min(lowest, reached) if known.step is not None else lowest
    shown = len(along) < MOST_LEAST and reached >= lowest > -np.inf and all(
        least(at(known.x + way * part * d)) >= lowest for d in along for part in BESIDE for way in (1.0, -1.0))
    return replace(known, verdict=Verdict.NOT_STRICT if shown else Verdict.FLAT, direction=along[0])


def in_all(directions: Vector, free: Vector, size: Vector) -> Vector:
    """Directions of the scaled free variables as such of all variables, a row each."""
    along = np.zeros((len(directions), len(size)))
    along[:, free] = directions
    return np.array([greatest_one(d) for d in along]) * size


def least_directions(hessian: Any, rows: Any, below: float = SINGULAR) -> Vector:
    """Directions along which a matrix bends least of all that are orthogonal to rows, by Lanczos near zero or so far `below`; a
    row each."""
    from scipy.sparse.linalg import ArpackError
    n = hessian.shape[0]
    whole = penalised(*split(hessian, rows), PENALTIES[3])
    scale = 1 / np.sqrt(np.where((d := np.abs(whole.diagonal())) > 0, d, 1.0))
    unit = scaled(whole, scale, scale)
    try:
        if len(scale) <= FEW:
            values, vectors = np.linalg.eigh(dense(unit))
        else:
            values, vectors = lanczos(unit.tocsc(), MOST_LEAST, sigma=-below, tol=1e-8)
    except (ArpackError, RuntimeError):
        return np.zeros((0, n))
    order = [k for k in np.argsort(values) if values[k] <= max(values.min(initial=np.inf), SINGULAR)]
    return np.asarray((scale[:, None] * vectors[:, order]).T)[:, :n]


def newton(at: Derivatives, x: Vector, bounds: Bounds, size: Vector, near: Sides, on: Active) -> tuple[Vector, Vector]:
    """Where Newton steps lead, and the multipliers of conditions there. Each step holds what is active and says what is active
    next (Hintermüller, Ito and Kunisch, The primal-dual active set strategy as a semismooth Newton method, 2003): a bound that
    it passes holds, one whose multiplier gets the wrong sign lets go."""
    c_side, x_side = (np.where(kept, side, np.nan) for kept, side in zip(on[:2], near, strict=True))
    multipliers, best, done, same = on.multipliers, (x, on.multipliers), np.inf, False
    for _ in range(POLISHING):
        conditions, held = np.isfinite(c_side), np.isfinite(x_side)
        x = np.where(held, np.where(x_side >= 0, bounds.low, bounds.high), x)
        here = at(x)
        rows = scaled(here.jacobian, size)
        gap = np.where(conditions, np.where(c_side >= 0, bounds.c_low, bounds.c_high) - here.c, 0.0)
        slope = here.gradient * size - rows.T @ multipliers
        todo = max(largest(slope[~held]), wrong(slope, x_side)) / max(1.0, abs(here.f)) + largest(gap)
        best, done, ended = ((x, multipliers), todo, False) if todo < done else (best, done, same)
        if ended or here.hess is None or not todo <= DIVERGED * max(done, 1.0):
            break
        hessian = scaled(here.hess(multipliers), size, size)
        if not np.isfinite(hessian.data).all():
            break
        some = rows[conditions]
        length, step, moved = lengths(some[:, ~held]), np.zeros(len(x)), multipliers.copy()
        step[~held], change = newton_step(hessian[~held][:, ~held], of_length_one(some[:, ~held]), -slope[~held],
                                          gap[conditions] / length)
        moved[conditions] -= change / length
        pull = slope + hessian @ step - rows.T @ (moved - multipliers)
        least = GRADIENT * max(1.0, float(np.max(np.abs(here.gradient * size))))
        before = c_side.tobytes() + x_side.tobytes()
        c_side = next_sides(c_side, here.c + rows @ step, moved, least / lengths(rows), (bounds.c_low, bounds.c_high))
        x_side = next_sides(x_side, x + size * step, pull, least, (bounds.low, bounds.high))
        x, multipliers = np.clip(x + size * step, bounds.low, bounds.high), np.where(np.isfinite(c_side), moved, 0.0)
        same = before == c_side.tobytes() + x_side.tobytes()
    return best


def wrong(pull: Vector, side: Vector) -> float:
    """The largest multiplier of the wrong sign."""
    return float(np.max(-np.nan_to_num(pull * side), initial=0.0))


def next_sides(side: Vector, values: Vector, pull: Vector, least: Any, bounds: tuple[Vector, Vector]) -> Vector:
    """The bounds that hold behind a step: those that are passed, and those that held and whose multipliers have the right
    sign."""
    low, high = bounds
    kept = np.where(pull * side < -least, np.nan, side)
    passed = np.where(values < low, 1.0, np.where(values > high, -1.0, np.nan))
    return np.where(np.isfinite(side), kept, passed)


def active(here: PointDerivatives, size: Vector, near: Sides) -> Active:
    """The active set: conditions and variables `near` their bounds but for those whose multiplier, by least squares, has the
    wrong sign."""
    c_side, x_side = near[0].copy(), near[1].copy()
    rows, gradient = scaled(here.jacobian, size), here.gradient * size
    slack = GRADIENT * max(1.0, float(np.max(np.abs(gradient))))
    of_c = np.zeros(len(c_side))
    for _ in range(RELEASES):
        on, held = np.isfinite(c_side), np.isfinite(x_side)
        some = rows[on]
        length = lengths(some[:, ~held])
        of_c[:] = 0
        of_c[on] = -newton_step(None, of_length_one(some[:, ~held]), -gradient[~held], np.zeros(some.shape[0]))[1] / length
        wrong_c = of_c[on] * c_side[on] < -slack / length
        wrong_x = (gradient - rows.T @ of_c)[held] * x_side[held] < -slack
        if not (wrong_c.any() or wrong_x.any()):
            break
        c_side[np.flatnonzero(on)[wrong_c]] = np.nan
        x_side[np.flatnonzero(held)[wrong_x]] = np.nan
    return with_multipliers(here, size, (c_side, x_side), of_c)


def with_multipliers(here: PointDerivatives, size: Vector, near: Sides, multipliers: Vector) -> Active:
    """Conditions and variables `near` their bounds with their multipliers, those of the wrong sign left out, and the residual of
    the gradient."""
    c_side, x_side = near
    on, held = np.isfinite(c_side), np.isfinite(x_side)
    of_c = np.where(on & ~(multipliers * c_side < 0), multipliers, 0.0)
    residual = here.gradient * size - scaled(here.jacobian, size).T @ of_c
    of_x = np.where(held & ~(residual * x_side < 0), residual, 0.0)
    return Active(on, held, of_c, of_x, residual - of_x)


def newton_step(hessian: Any, rows: Any, right: Vector, gap: Vector) -> tuple[Vector, Vector]:
    """d and ν with H d + Aᵀν = right and A d = gap, where H is 1 without a `hessian`; nearly so where this is singular."""
    n = rows.shape[1]
    size = 1.0 if hessian is None else largest(hessian.data) or 1.0
    h = None if hessian is None else hessian / size
    (exact, regular), b = kkt(h, rows), np.concatenate([right / size, gap])
    solve = factored(regular, b)
    if solve is None:
        return np.zeros(n), np.zeros(rows.shape[0])
    found = solve(b)
    for _ in range(REFINEMENTS):
        found = found + solve(b - exact @ found)
    return found[:n], found[n:] * size


def factored(matrix: Any, b: Vector) -> Callable[[Vector], Vector] | None:
    """The solution by a regularised matrix; None where this is singular to rounding all the same. Pivoting would fill it in, and
    is needed only where `b` is not solved for without: never of a matrix that is quasi-definite (Vanderbei 1995)."""
    from scipy.sparse.linalg import splu
    for options in (SYMMETRIC, {}):
        with suppress(RuntimeError):
            solve: Callable[[Vector], Vector] = splu(matrix, **options).solve
            found = solve(b)
            if not options or largest(b - matrix @ found) <= BACKWARD * (largest(b) + largest(matrix.data) * largest(found)):
                return solve
    return None


def largest(v: Vector) -> float:
    """The largest absolute value; 0 of none."""
    return float(np.max(np.abs(v), initial=0.0))


def kkt(hessian: Any, rows: Any) -> tuple[Any, Any]:
    """[[H, Aᵀ], [A, 0]], where H is 1 without a `hessian`, and the matrix regularised: more on and less on the diagonal."""
    from scipy.sparse import csc_array
    (i, j), (m, n) = places(rows), rows.shape
    own = np.arange(n + m)
    a = np.ravel(entries(rows))
    h_i, h_j, h = (own[:n], own[:n], np.ones(n)) if hessian is None else (*places(hessian), hessian.data)
    where = np.concatenate([h_i, j, i + n, own]), np.concatenate([h_j, i + n, j, own])
    exact, regular = (csc_array((np.concatenate([h, a, a, np.repeat([more, -more], [n, m])]), where), shape=(n + m, n + m))
                      for more in (0.0, REGULAR))
    return exact, regular


def lengths(rows: Any) -> Vector:
    """The length of each row, 1 of a row of zeros."""
    found = np.sqrt(np.ravel((rows * rows).sum(axis=1)))
    return np.where(found > 0, found, 1.0)


def of_length_one(rows: Any) -> Any:
    return scaled(rows, np.ones(rows.shape[1]), 1 / lengths(rows))


def compact(matrix: Any) -> Any:
    """A sparse matrix, as an array if it has few columns: the same steps take a tenth of the time then."""
    return dense(matrix) if matrix.shape[1] <= FEW else matrix


def greatest_one(direction: Vector) -> Vector:
    return direction / max(largest(direction), 1e-300)
