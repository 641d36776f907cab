"""Systems of equations, outputs = 0: SciPy's solvers with the exact Jacobian, Newton steps to the last digits, and what the
solution changes by when another input does.

Of r(x, p) = 0 with the Jacobian J by the unknowns x, the implicit function theorem has dx/dp = −J⁻¹ ∂r/∂p. With more equations
than unknowns x is where ½|r|² is least; there Jᵀr = 0, and the same theorem for that system has dx/dp = −H⁻¹ (Jᵀ ∂r/∂p + Σ rᵢ
∂²rᵢ/∂x∂p) with H = JᵀJ + Σ rᵢ ∂²rᵢ/∂x², from exact second derivatives.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from adcli.lang.ir import Program
from adcli.lang.ir.activity import inputs_to_differentiate
from adcli.lang.ir.errors import AdError, plural
from adcli.solvers.conditions import with_equations
from adcli.solvers.functions import GIVEN_UP, Vector, VectorFunction, vector_function
from adcli.solvers.optimality import beyond_rounding

ZERO = 1e-8
"""A residual below this part of what the unknowns make of it is zero: |rᵢ| ≤ ZERO Σ |Jᵢⱼ| size of xⱼ."""
STEP = 1e-8
"""A Newton step that moves every unknown by less than this part of its size ends at the same solution."""
STEADY = 0.25
"""How much the Jacobian may change over the Newton step relative to itself, so that the step leads to a zero (Kantorovich)."""
SINGULAR = 1e-12
"""The least singular value of the Jacobian, scaled to a largest entry of 1 in each row and column, relative to its largest, that
counts as 0."""
POLISHING = 30
SMALLEST_SCALE = 1e-3
"""An unknown that starts at 0, or nearer, is scaled as if it started here."""
ATTEMPTS = ("hybr", "lm", "trf")

SOLUTION, LEAST_SQUARES, SINGULAR_SOLUTION, NOT_CONVERGED, NOT_FINITE = VERDICTS = (
    "solution", "least squares", "singular", "no solution", "not finite")


@dataclass(frozen=True, eq=False)
class System:
    """Equations: every element of the outputs of `function` is zero; `others` is the same program as a function of the unknowns
    and of the inputs that it may be asked how the solution depends on."""

    function: VectorFunction
    others: VectorFunction
    start: Vector

    def elsewhere(self, point: Mapping[str, Any]) -> System:
        """The same equations with the known inputs, and the start, of another point."""
        function = self.function.elsewhere(point)
        start = function.start(point)
        require_equations(function, start)
        return System(function, self.others.elsewhere(point), start)


@dataclass(frozen=True, eq=False)
class Solution:
    """What was found at x: residuals, the Jacobian by the unknowns, its condition number (2-norm), the solver and what it took.
    `lost` is a direction in which the residuals do not change, where the Jacobian is singular; `bad` the first point at which a
    residual is not finite."""

    system: System
    x: Vector
    residual: Vector
    jacobian: Vector
    verdict: str
    step: Vector
    solver: str
    evaluations: int
    lost: Vector | None = None
    bad: Vector | None = None

    @property
    def norm(self) -> float:
        largest = float(np.max(np.abs(self.residual), initial=0.0))
        return largest * float(np.linalg.norm(self.residual / largest)) if 0 < largest < np.inf else largest

    @property
    def condition(self) -> float:
        if not np.isfinite(self.jacobian).all():
            return np.nan
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return float(np.linalg.cond(self.jacobian))

    @property
    def found(self) -> bool:
        return self.verdict in (SOLUTION, LEAST_SQUARES)

    @cached_property
    def sensitivity(self) -> Vector | None:
        """dx/dp, a column for each component of the other inputs; None where it does not exist."""
        f, n = self.system.others, self.system.function.n
        if not self.found or f.n == n:
            return None
        whole = joined(self.system, self.x)
        by_others = dense(f.jac(whole))[:, n:]
        if self.verdict == SOLUTION and len(self.residual) == n:
            return -divided(self.jacobian, by_others)
        curved = full(f, whole, self.residual)
        left = self.jacobian.T @ self.jacobian + curved[:n, :n]
        return -divided(left, self.jacobian.T @ by_others + curved[:n, n:])


def stated(program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None, point: Mapping[str, Any],
           equations: Sequence[str] = ()) -> System:
    """The system: the outputs in `of` are zero (default: all, where there are no `equations` such as 'g == 1'), the unknowns are
    in `wrt` (default: all inputs but params)."""
    program = with_equations(program, of, equations)
    unknowns = inputs_to_differentiate(program, wrt)
    if not unknowns:
        raise AdError("no unknowns", help="name them: --wrt x")
    fixed = {k: v for k, v in point.items() if k not in unknowns}
    others = [p.name for p in program.params if p.name not in unknowns and not p.var.integer]
    f = vector_function(program, unknowns, fixed, point)
    both = vector_function(program, [*unknowns, *others], {k: v for k, v in fixed.items() if k not in others}, point)
    start = f.start(point)
    require_equations(f, start)
    return System(f, both, start)


def require_equations(f: VectorFunction, start: Vector) -> None:
    """AdError where there are fewer equations than unknowns."""
    count = sum(f.output_sizes(start))
    if count < f.n:
        few = ", ".join(f.components[:6]) + (", …" if f.n > 6 else "")
        named = ",".join(as_many(f, count))
        raise AdError(f"{plural(count, 'equation')} for {plural(f.n, 'unknown')}, {few}",
                      help=f"name the unknowns: --wrt {named}; the others are then given by --at" if named else
                      "write an equation for each element")


def as_many(f: VectorFunction, count: int) -> Iterator[str]:
    """The first inputs that have no more elements than this."""
    for name, size in zip(f.names, f.sizes, strict=True):
        if 0 < size <= count:
            count -= size
            yield name


class Sequel:
    """The solutions of one system after another, the same but for the known inputs; code is made once. Where the start leads
    nowhere, the solution before is the start."""

    def __init__(self, program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None, equations: Sequence[str]) -> None:
        self.program, self.asked = program, (wrt, of, equations)
        self.system: System | None = None
        self.last: Vector | None = None

    def __call__(self, point: Mapping[str, Any]) -> Solution:
        wrt, of, equations = self.asked
        system = self.system.elsewhere(point) if self.system else stated(self.program, wrt, of, point, equations)
        found, self.system = solve(system), system
        if not found.found and self.last is not None and len(self.last) == system.function.n:
            again = solve(replace(system, start=self.last))
            found = again if again.found else found
        self.last = found.x if found.found else self.last
        return found


def joined(system: System, x: Vector) -> Vector:
    """The unknowns with the other inputs behind them."""
    return system.others.pack(system.function.point(x))


def dense(matrix: Any) -> Vector:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def full(f: VectorFunction, x: Vector, weights: Vector) -> Vector:
    """The Hessian of the weighted sum of the outputs as a matrix."""
    made = f.hess(x, weights)
    return np.asarray(made @ np.eye(f.n)) if hasattr(made, "matvec") else dense(made)


def divided(matrix: Vector, right: Vector) -> Vector:
    """The solution of a linear system, whose rows and columns are scaled first."""
    rows = np.max(np.abs(matrix), axis=1)
    columns = np.max(np.abs(matrix / rows[:, None]), axis=0)
    found = np.linalg.solve(matrix / rows[:, None] / columns, (right.T / rows).T)
    return np.asarray((found.T / columns).T)


# ---------------------------------------------------------------- the way there

def solve(system: System) -> Solution:
    """A solution from the start; where none is found, the point with the least residuals."""
    if find_spec("scipy") is None:
        from adcli.lang.ir.extras import missing
        raise missing("solve", "scipy")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return solved(system)


def solved(system: System) -> Solution:
    """The same, with the warnings of NumPy and SciPy off."""
    begun = judged(system, system.start, "the start", 0)
    if begun.verdict == NOT_FINITE:
        return replace(begun, bad=system.start)
    best = begun
    count, bad = 0, None
    square = len(begun.residual) == system.function.n
    for method in ATTEMPTS if square else ATTEMPTS[1:]:
        attempt = Attempt(system, begun.jacobian)
        found = polished(system, attempt.run(method), method, attempt.count)
        count += found.evaluations
        bad = attempt.bad if bad is None else bad
        if (VERDICTS.index(found.verdict), found.norm) < (VERDICTS.index(best.verdict), best.norm) or best is begun:
            best = found
        if best.verdict == SOLUTION or (best.verdict == LEAST_SQUARES and not square):
            break
    return replace(best, evaluations=count, bad=bad)


class Attempt:
    """One run of a solver in scaled unknowns and equations, those by the Jacobian at the start; counted."""

    def __init__(self, system: System, jacobian: Vector) -> None:
        self.system, self.count = system, 0
        self.bad: Vector | None = None
        self.scale = np.maximum(np.abs(system.start), SMALLEST_SCALE)
        largest = np.max(np.abs(jacobian * self.scale), axis=1)
        self.rows = np.where(largest > 0, largest, 1.0)
        if jacobian.shape[0] > jacobian.shape[1]:   # a sum of squares has its own weights
            self.rows[:] = 1.0

    def residual(self, y: Vector) -> Vector:
        self.count += 1
        found = np.array(self.system.function.fun(y * self.scale))
        if not np.isfinite(found).all():
            self.bad = y * self.scale if self.bad is None and np.isfinite(y).all() else self.bad
            found[~np.isfinite(found)] = 1e100   # solvers take a shorter step
        return found / self.rows

    def jacobian(self, y: Vector) -> Vector:
        return np.nan_to_num(dense(self.system.function.jac(y * self.scale)) * self.scale / self.rows[:, None])

    def run(self, method: str) -> Vector:
        from scipy import optimize
        y0 = self.system.start / self.scale
        try:
            if method == "hybr":
                y = optimize.root(self.residual, y0, jac=self.jacobian, method="hybr", options={"xtol": 1e-14}).x
            else:
                tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
                y = optimize.least_squares(self.residual, y0, jac=self.jacobian, method=method, max_nfev=2000, **tight).x
        except GIVEN_UP:
            y = y0
        return np.asarray(y * self.scale if np.isfinite(y).all() else self.system.start)


def polished(system: System, x: Vector, method: str, count: int) -> Solution:
    """Newton steps from where a solver ended, as long as each is shorter than the one before; the solution it is then."""
    best = judged(system, x, method, count)
    size = sizes(best.x)
    for k in range(POLISHING):
        new = judged(system, best.x + best.step, method, count + k + 1)
        if not length(new, size) < length(best, size):
            break
        best = new
    if best.verdict not in (SOLUTION, LEAST_SQUARES) or not np.any(best.step):
        return best
    there = best.x + beyond_rounding(best.x, best.step)
    change = np.linalg.lstsq(best.jacobian, dense(system.function.jac(there)) - best.jacobian, rcond=None)[0]
    return best if np.linalg.norm(change, 2) <= STEADY else replace(best, verdict=SINGULAR_SOLUTION)


def length(found: Solution, size: Vector) -> float:
    """How long the Newton step is, relative to the unknowns."""
    return float(np.max(np.abs(found.step) / size, initial=0.0)) if np.isfinite(found.step).all() else np.inf


def sizes(x: Vector) -> Vector:
    """How large unknowns are, for the length of steps: those that are next to nothing beside the others as large as these."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return np.maximum(np.abs(x), 1e-3 * largest if largest > 0 else 1.0)


def judged(system: System, x: Vector, solver: str, count: int) -> Solution:
    """What a point is."""
    f = system.function
    r, j = f.fun(x), dense(f.jac(x))
    here = Solution(system, x, r, j, NOT_FINITE, np.zeros(f.n), solver, count)
    if not (np.isfinite(r).all() and np.isfinite(j).all() and np.isfinite(x).all()):
        return here
    size = sizes(x)
    small = bool(np.all(np.abs(r) <= ZERO * np.maximum(np.abs(j) @ size, 1e-300)))
    rows = np.maximum(np.max(np.abs(j * size), axis=1), 1e-300)
    columns = np.max(np.abs(j * size / rows[:, None]), axis=0)
    if not columns.all() or (values := np.linalg.svd(j * size / rows[:, None] / columns)[1])[-1] <= SINGULAR * values[0]:
        _, _, basis = np.linalg.svd(j * size / rows[:, None])
        lost = basis[-1] * size
        return replace(here, verdict=SINGULAR_SOLUTION if small else NOT_CONVERGED, lost=lost / np.max(np.abs(lost)))
    if len(r) == f.n:
        step = -divided(j, r)
        near = small and length(replace(here, step=step), size) <= STEP
        return replace(here, verdict=SOLUTION if near else NOT_CONVERGED, step=step)
    return least(here, small, size)


def least(here: Solution, small: bool, size: Vector) -> Solution:
    """The same for more equations than unknowns: a solution, or where the sum of squares is least."""
    f, j, r = here.system.function, here.jacobian, here.residual
    curved = j.T @ j + full(f, here.x, r)
    scale = 1 / np.sqrt(np.diag(j.T @ j))
    values, vectors = np.linalg.eigh(curved * scale[:, None] * scale)
    if values[0] <= SINGULAR * np.max(np.abs(values)):   # no minimum: the step of Gauss and Newton leads on
        return replace(here, verdict=NOT_CONVERGED, step=-np.linalg.lstsq(j, r, rcond=None)[0])
    step = -scale * (vectors @ ((vectors.T @ (scale * (j.T @ r))) / values))
    near = length(replace(here, step=step), size) <= STEP
    return replace(here, verdict=SOLUTION if small and near else LEAST_SQUARES if near else NOT_CONVERGED, step=step)
