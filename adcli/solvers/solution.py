"""Solutions of systems of equations, outputs = 0, and how they depend on the other inputs.

Of r(x, p) = 0 with the Jacobian J by the unknowns x, the implicit function theorem has dx/dp = −J⁻¹ ∂r/∂p. With more equations
than unknowns x is where ½|r|² is least; there Jᵀr = 0, and the same theorem for that system has dx/dp = −H⁻¹ (Jᵀ ∂r/∂p + Σ rᵢ
∂²rᵢ/∂x∂p) with H = JᵀJ + Σ rᵢ ∂²rᵢ/∂x², from exact second derivatives.

A computed residual is zero, or not, up to its rounding error e, so the solution is somewhere within J⁻¹e. A Jacobian that changes
over that distance by as much as itself tells nothing of the solution: at a double root it is 0, and at 1e-9 beside it is not.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from adcli.numerics.linear import (
    Square,
    Vector,
    condition,
    dense,
    entries,
    leading,
    least_squares,
    lost_direction,
    manageable,
    scaled,
)
from adcli.numerics.optimality import MARGIN, MOST_MOVES, SURE, RankedVerdict, beyond_rounding
from adcli.numerics.sparse_optimality import factors, least_eigenvalue
from adcli.solvers.vector_function import VectorFunction

ZERO = 1e-8
"""A residual below this part of what the unknowns make of it is zero: |rᵢ| ≤ ZERO Σ |Jᵢⱼ| size of xⱼ."""
STEP = 1e-8
"""A Newton step that moves every unknown by less than this part of its size ends at the same solution."""
STEADY = 0.25
"""How much the Jacobian may change over a step relative to itself, so that the step leads to a zero (Kantorovich)."""
SINGULAR = 1e-12
"""The least singular value of the Jacobian, scaled to a largest entry of 1 in each row and column, relative to its largest, that
counts as 0."""
UNKNOWN = 1e-3
"""Where rounding moves a solution by more than this part of its size, the Jacobian is singular to rounding."""

MOST_RATES = 10**6
"""Derivatives of the unknowns by an input that are computed; those by an input with more are left out."""


class Root(RankedVerdict):
    """Verdict on the end of a solver of equations."""

    SOLUTION = "solution"
    LEAST_SQUARES = "least squares"
    SINGULAR = "singular"
    NOT_CONVERGED = "no solution"
    NOT_FINITE = "not finite"

    @property
    def found(self) -> bool:
        return self.rank <= Root.LEAST_SQUARES.rank


@dataclass(frozen=True, eq=False)
class System:
    """Equations: every element of the outputs of `function` is zero; `others` is the same program as a function of the unknowns
    and of the inputs that it may be asked how the solution depends on. The unknowns stay in their declared ranges."""

    function: VectorFunction
    others: VectorFunction
    start: Vector

    @property
    def ranged(self) -> bool:
        return any(bool(np.isfinite(end).any()) for end in self.function.ranges)

    @cached_property
    def rated(self) -> list[bool]:
        """Of each other input, True if the derivatives of the unknowns by it are not too many."""
        f, others = self.function, self.others
        return [f.n * size <= MOST_RATES for size in others.sizes[len(f.names):]]

    def inside(self, x: Vector) -> Vector:
        """The point of the declared ranges that is nearest to x."""
        return np.clip(x, *self.function.ranges)


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution at x: residuals, the Jacobian by the unknowns, its condition number (2-norm), the solver and what it took.
    `lost` is a direction in which the residuals do not change, where the Jacobian is singular; `bad` the first point at which a
    residual is not finite."""

    system: System
    x: Vector
    residual: Vector
    jacobian: Any
    verdict: Root
    step: Vector
    solver: str
    evaluations: int
    lost: Vector | None = None
    bad: Vector | None = None

    @property
    def norm(self) -> float:
        largest = float(np.max(np.abs(self.residual), initial=0.0))
        return largest * float(np.linalg.norm(self.residual / largest)) if 0 < largest < np.inf else largest

    @cached_property
    def condition(self) -> float:
        return condition(self.jacobian) if np.isfinite(entries(self.jacobian)).all() else np.nan

    @property
    def found(self) -> bool:
        return self.verdict.found

    @cached_property
    def sensitivity(self) -> Vector | None:
        """dx/dp, a column for each component of the other inputs that are `rated`; None where it does not exist."""
        f, n = self.system.others, self.system.function.n
        if not self.found or f.n == n:
            return None
        whole = joined(self.system, self.x)
        columns = n + np.flatnonzero(np.repeat(self.system.rated, f.sizes[len(self.system.function.names):]))
        by_others = dense(f.jac(whole)[:, columns])
        if self.verdict == Root.SOLUTION and len(self.residual) == n:
            return -Square(self.jacobian).solve(by_others)
        curved = full(f, whole, self.residual)
        left = self.jacobian.T @ self.jacobian + curved[:n, :n]
        return -Square(left).solve(self.jacobian.T @ by_others + dense(curved[:n, columns]))


def joined(system: System, x: Vector) -> Vector:
    """The unknowns with the other inputs behind them."""
    return system.others.pack(system.function.point(x))


def full(f: VectorFunction, x: Vector, weights: Vector) -> Any:
    """The Hessian of the weighted sum of the outputs as a matrix."""
    made = f.hess(x, weights)
    return np.asarray(made @ np.eye(f.n)) if hasattr(made, "matvec") else manageable(made)


def length(found: Solution, size: Vector) -> float:
    """How long the Newton step is, relative to the unknowns."""
    return float(np.max(np.abs(found.step) / size, initial=0.0)) if np.isfinite(found.step).all() else np.inf


def sizes(x: Vector) -> Vector:
    """How large unknowns are, for the length of steps: those that are next to nothing beside the others as large as these."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return np.maximum(np.abs(x), 1e-3 * largest if largest > 0 else 1.0)


def judged(system: System, x: Vector, solver: str, count: int) -> Solution:
    """The verdict on a point."""
    f = system.function
    r, j = f.fun(x), manageable(f.jac(x))
    here = Solution(system, x, r, j, Root.NOT_FINITE, np.zeros(f.n), solver, count)
    if not (np.isfinite(r).all() and np.isfinite(entries(j)).all() and np.isfinite(x).all()):
        return here
    size = sizes(x)
    small = bool(np.all(np.abs(r) <= ZERO * np.maximum(abs(j) @ size, 1e-300)))
    lost = lost_direction(scaled(j, size), SINGULAR)
    if lost is not None:
        lost = lost * size
        return replace(here, verdict=Root.SINGULAR if small else Root.NOT_CONVERGED, lost=lost / np.max(np.abs(lost)))
    if len(r) == f.n:
        step = -Square(j).solve(r)
        near = small and length(replace(here, step=step), size) <= STEP
        return replace(here, verdict=Root.SOLUTION if near else Root.NOT_CONVERGED, step=step)
    return least(here, small, size)


def least(here: Solution, small: bool, size: Vector) -> Solution:
    """Verdict with more equations than unknowns: a solution, or where the sum of squares is least."""
    j, r = here.jacobian, here.residual
    scale = 1 / np.sqrt((j.T @ j).diagonal())
    matrix = scaled(slope(here.system, here.x), scale, scale)
    inverse = factors(matrix)
    shown = SINGULAR * float(np.max(abs(matrix).sum(axis=1)))
    if inverse is None or least_eigenvalue(inverse, len(scale)) <= shown:   # no minimum: Gauss and Newton lead on
        return replace(here, verdict=Root.NOT_CONVERGED, step=-least_squares(j, r))
    step = -scale * inverse(scale * (j.T @ r))
    near = length(replace(here, step=step), size) <= STEP
    found = Root.NOT_CONVERGED if not near else Root.SOLUTION if small else Root.LEAST_SQUARES
    return replace(here, verdict=found, step=step)


def certain(found: Solution) -> Solution:
    """Solution with no more of a verdict than rounding leaves: where it may move the solution so far that the Jacobian is another
    one, the solution is singular; where the last Newton step leads out of a declared range, there is none."""
    x, size = found.x, sizes(found.x)
    if found.verdict in (Root.SINGULAR, Root.NOT_FINITE) or found.lost is not None:
        return found
    noise = MARGIN * rounding(found)
    if found.verdict == Root.NOT_CONVERGED and not np.all(np.abs(found.residual) <= noise):
        return found
    matrix = slope(found.system, x)
    inverse, error = Square(matrix), noise if len(noise) == len(x) else np.abs(found.jacobian.T) @ noise
    parts, along = reached(inverse, error, size)
    moves = [part * size * direction for part, direction in zip(parts, along, strict=True) if part > SURE][:MOST_MOVES]
    if not (parts[0] <= UNKNOWN and all(steady(found, matrix, move) for move in (found.step, *moves, *(-m for m in moves)))):
        return replace(found, verdict=Root.SINGULAR)
    beyond = np.abs(x + found.step - found.system.inside(x + found.step))
    outside = np.flatnonzero(beyond > 4 * np.spacing(np.abs(x)))
    room = (float(np.abs(inverse.transposed(np.where(np.arange(len(x)) == i, 1.0, 0.0))) @ error) for i in outside)
    sure = all(beyond[i] <= far + 4 * np.spacing(abs(x[i])) for i, far in zip(outside, room, strict=True))
    return found if sure else replace(found, verdict=Root.NOT_CONVERGED)


def reached(inverse: Square, error: Vector, size: Vector) -> tuple[Vector, Vector]:
    """How far an error of the equations may move the solution, relative to its size, in which directions, a row each: all, or
    the largest move where the matrix is sparse."""
    if inverse.factors is None:
        along, parts, _ = np.linalg.svd(inverse.solve(np.diag(error)) / size[:, None])
        return parts, along.T
    return leading(lambda v: inverse.solve(error * v) / size, lambda v: error * inverse.transposed(v / size), len(size))


def rounding(found: Solution) -> Vector:
    """How far from the residuals rounding may have carried them. Where no bound is known, that is what it does to the inputs."""
    bounds = found.system.function.rounding(found.x)
    if np.isfinite(bounds).all():
        return bounds
    whole = joined(found.system, found.x)
    changes = found.system.others.jac(whole)
    np.nan_to_num(entries(changes), copy=False)
    moved = abs(changes) @ np.spacing(np.abs(whole))
    return np.where(np.isfinite(bounds), bounds, moved + np.spacing(np.abs(found.residual)))


def slope(system: System, x: Vector) -> Any:
    """The matrix of Newton's method: the Jacobian, or the Hessian of ½|r|² where there are more equations than unknowns."""
    f = system.function
    j = manageable(f.jac(x))
    return j if j.shape[0] == f.n else j.T @ j + full(f, x, f.fun(x))


def steady(found: Solution, matrix: Any, move: Vector) -> bool:
    """True if the matrix of Newton's method is nearly the same after a move; beyond the domain of the equations nothing is."""
    size = sizes(found.x)
    there = slope(found.system, found.x + beyond_rounding(found.x, move)) if np.any(move) else matrix
    if not np.isfinite(entries(there)).all():
        return bool(np.isfinite(entries(slope(found.system, found.x - beyond_rounding(found.x, move)))).all())
    change, inverse = scaled(there - matrix, size), Square(matrix)
    if isinstance(change, np.ndarray):
        return float(np.linalg.norm(inverse.solve(change) / size[:, None], 2)) <= STEADY
    if not change.data.any():
        return True
    return float(leading(lambda v: inverse.solve(change @ v) / size, lambda v: change.T @ inverse.transposed(v / size),
                         len(size), accuracy=0.1)[0][0]) <= STEADY
