"""Systems of equations, outputs = 0: SciPy's solvers with the exact Jacobian, and Newton steps to the last digits.

Unknowns with declared ranges are looked for inside of these: from several starts, and where there is one unknown, between the
points of a grid at which the residual has both signs.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.operations.activity import inputs_to_differentiate
from adcli.numerics.linear import LocalModel, Square, Vector, entries, largest, levenberg, manageable, over, quiet_scipy, scaled
from adcli.output.wrap import few
from adcli.solvers.conditions import with_equations
from adcli.solvers.problem import SMALLEST_SCALE
from adcli.solvers.scalar_function import GIVEN_UP, vector_function
from adcli.solvers.solution import Root, Solution, System, certain, judged, length, sizes
from adcli.solvers.vector_function import VectorFunction

POLISHING = 30
SLOW = 0.3
"""Newton steps of which each is longer than this part of the one before end at a zero of higher order."""
ATTEMPTS, INSIDE = ("hybr", "lm", "trf"), ("trf", "dogbox")
SPARSE_ATTEMPTS, SPARSE_INSIDE = ("newton", "levenberg"), ("levenberg",)
"""The solvers to ask, one after another: of any unknowns, and of unknowns with ranges; where the Jacobian is sparse."""
MOST_STEPS, SHORTEST = 100, 1e-8
"""Steps of Newton's method, and the part of one that it is shortened to at most."""
STARTS, GRID = 12, 33
"""Starts in the ranges of several unknowns, and points in that of one, where nothing is found from the user's start."""


def stated(program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None, equations: Sequence[str],
           point: Mapping[str, Any], before: System | None = None) -> System:
    """The system: the outputs in `of` are zero (default: all, where there are no `equations` such as 'g == 1'), the unknowns are
    in `wrt` (default: all inputs but params). It has the code of the one that was stated so `before`."""
    if before:
        return system(before.function.elsewhere(point), before.others.elsewhere(point), point)
    program = with_equations(program, of, equations)
    unknowns = inputs_to_differentiate(program, wrt)
    if not unknowns:
        raise AdError("no unknowns", help="name them: ⟦--wrt x⟧")
    fixed = {k: v for k, v in point.items() if k not in unknowns}
    others = [p.name for p in program.params if p.name not in unknowns and not p.var.integer]
    f = vector_function(program, unknowns, fixed, point)
    both = vector_function(program, [*unknowns, *others], {k: v for k, v in fixed.items() if k not in others}, point)
    return system(f, both, point)


def system(f: VectorFunction, both: VectorFunction, point: Mapping[str, Any]) -> System:
    """The system from a start, which is moved into the declared ranges. AdError where there are too few equations."""
    made = System(f, both, f.start(point))
    require_equations(f, made.start)
    return replace(made, start=made.inside(made.start))


def require_equations(f: VectorFunction, start: Vector) -> None:
    """AdError where there are fewer equations than unknowns."""
    count = sum(f.output_sizes(start))
    if count < f.n:
        named = ",".join(as_many(f, count))
        raise AdError(f"{plural(count, 'equation')} for {plural(f.n, 'unknown')}, {few(f.components)}",
                      help=f"name the unknowns: ⟦--wrt {named}⟧; the others are then given by ⟦--at⟧" if named else
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
        self.system = system = stated(self.program, *self.asked, point, self.system)
        found = solve(system)
        if not found.found and self.last is not None and len(self.last) == system.function.n:
            again = solve(replace(system, start=self.last))
            found = again if again.found else found
        self.last = found.x if found.found else self.last
        return found


# ---------------------------------------------------------------- the way there

@quiet_scipy("solve")
def solve(system: System) -> Solution:
    """A solution from the start; where none is found, the point with the least residuals."""
    best = begun = judged(system, system.start, "the start", 0)
    square = len(begun.residual) == system.function.n
    if begun.verdict == Root.NOT_FINITE and not system.ranged:
        return replace(begun, bad=system.start)
    count, bad = 0, None
    for attempt, method, x in ends(system, square):
        found = polished(system, x, method, attempt.count)
        count += found.evaluations
        bad = attempt.bad if bad is None else bad
        if (found.verdict.rank, found.norm) < (best.verdict.rank, best.norm) or best is begun:
            best = found
        if best.verdict == Root.SOLUTION or (best.verdict == Root.LEAST_SQUARES and not square):
            break
    return replace(best, evaluations=count, bad=bad)


def ends(system: System, square: bool) -> Iterator[tuple[Attempt, str, Vector]]:
    """Attempts, each with its solver and the point where it ended."""
    inside, anywhere = (INSIDE, ATTEMPTS) if isinstance(manageable(system.function.jac(system.start)), np.ndarray) else (
        SPARSE_INSIDE, SPARSE_ATTEMPTS)
    for method in inside if system.ranged else anywhere if square else anywhere[1:]:
        attempt = Attempt(system, system.start)
        yield attempt, method, attempt.run(method)
    low, high = system.function.ranges
    if not system.ranged or not np.isfinite(high - low).all():
        return
    if len(low) == 1 and square:
        yield from between_signs(system, np.linspace(low[0], high[0], GRID).tolist())
        return
    for k in range(1, STARTS):
        parts = k * np.sqrt(np.arange(2.0, len(low) + 2.0)) % 1.0
        attempt = Attempt(system, low + (high - low) * parts)
        yield attempt, inside[0], attempt.run(inside[0])


def between_signs(system: System, grid: Sequence[float]) -> Iterator[tuple[Attempt, str, Vector]]:
    """Where one equation changes its sign between points of a grid."""
    from scipy import optimize
    attempt = Attempt(system, system.start)

    def residual(x: float) -> float:
        attempt.count += 1
        return float(system.function.fun(np.array([x]))[0])

    for (a, at_a), (b, at_b) in pairwise([(x, residual(x)) for x in grid]):
        if min(at_a, at_b) <= 0 <= max(at_a, at_b):
            try:
                x = optimize.brentq(residual, a, b, xtol=1e-300)
            except GIVEN_UP:   # a number that is not finite
                continue
            yield attempt, "brentq", np.array([x])
            attempt = Attempt(system, system.start)


class Attempt:
    """One run of a solver in scaled unknowns and equations, those by the Jacobian at the start; counted."""

    def __init__(self, system: System, start: Vector) -> None:
        self.system, self.start, self.count = system, start, 0
        self.bad: Vector | None = None
        jacobian = manageable(system.function.jac(start))
        self.scale = np.maximum(np.abs(start), SMALLEST_SCALE)
        rows = largest(scaled(jacobian, self.scale), 1)
        self.rows = np.where((rows > 0) & np.isfinite(rows), rows, 1.0)
        if jacobian.shape[0] > jacobian.shape[1]:   # a sum of squares has its own weights
            self.rows[:] = 1.0

    def residual(self, y: Vector) -> Vector:
        self.count += 1
        found = np.array(self.system.function.fun(y * self.scale))
        if not np.isfinite(found).all():
            self.bad = y * self.scale if self.bad is None and np.isfinite(y).all() else self.bad
            found[~np.isfinite(found)] = 1e100   # solvers take a shorter step
        return found / self.rows

    def jacobian(self, y: Vector) -> Any:
        found = over(scaled(manageable(self.system.function.jac(y * self.scale)), self.scale), self.rows)
        np.nan_to_num(entries(found), copy=False)
        return found

    def run(self, method: str) -> Vector:
        y0 = self.start / self.scale
        try:
            y = self.newton(y0) if method == "newton" else self.of_scipy(method, y0)
        except GIVEN_UP:
            y = y0
        return self.system.inside(y * self.scale if np.isfinite(y).all() else self.start)

    def of_scipy(self, method: str, y: Vector) -> Vector:
        """Where a solver of SciPy ends, or for many residuals, which are sparse, the method of Levenberg and Marquardt."""
        from scipy import optimize
        bounds = [end / self.scale for end in self.system.function.ranges]
        if method == "hybr":
            return np.asarray(optimize.root(self.residual, y, jac=self.jacobian, method="hybr", options={"xtol": 1e-14}).x)
        if method == "levenberg":
            return levenberg(self.point, y, *bounds)
        options: dict[str, Any] = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": 2000}
        if self.system.ranged:
            options["bounds"] = bounds
        return np.asarray(optimize.least_squares(self.residual, y, jac=self.jacobian, method=method, **options).x)

    def point(self, y: Vector) -> LocalModel:
        r = self.residual(y)
        return LocalModel(float(r @ r), r, self.jacobian(y))

    def newton(self, y: Vector) -> Vector:
        """Where Newton's method ends, its steps shortened until the next, with the same Jacobian, would be shorter (Deuflhard,
        Newton Methods for Nonlinear Problems, 2004, section 3.3)."""
        part = 1.0
        for _ in range(MOST_STEPS):
            inverse = Square(self.jacobian(y))
            step = -inverse.solve(self.residual(y))
            length, part = float(np.linalg.norm(step)), min(1.0, 2 * part)
            while np.linalg.norm(inverse.solve(self.residual(y + part * step))) > (1 - part / 4) * length and part > SHORTEST:
                part /= 2
            y = y + part * step
            if length <= 1e-14 * np.linalg.norm(y) or part <= SHORTEST:
                break
        return y


def polished(system: System, x: Vector, method: str, count: int) -> Solution:
    """Newton steps from where a solver ended, as long as each is shorter than the one before; the solution it is then. Near a
    zero of order m each is 1 − 1/m of the one before, and the sum of the series leads there at once."""
    best = judged(system, x, method, count)
    size = sizes(best.x)
    for _ in range(POLISHING):
        new = judged(system, system.inside(best.x + best.step), method, best.evaluations + 1)
        if new.verdict == Root.NOT_FINITE or not (left := length(new, size)) < (before := length(best, size)):
            break
        best, rate = new, left / before
        if rate > SLOW:
            new = judged(system, system.inside(best.x + best.step / (1 - rate)), method, best.evaluations + 1)
            nearer = new.verdict != Root.NOT_FINITE and length(new, size) < left
            best = new if nearer else replace(best, evaluations=new.evaluations)
    return certain(best)
