"""Minima: SciPy's solvers (or IPOPT) with exact derivatives, one after another until one ends at what is a minimum.

Variables are scaled by the start, as inputs often differ by orders of magnitude. What a solver says of its answer is not asked:
the answer is polished by Newton steps and looked at by `optimality`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from adcli.lang.ir import Lit, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.activity import inputs_to_differentiate
from adcli.numerics.linear import MOST_DENSE, Vector, dense, quiet_scipy
from adcli.numerics.optimality import MOST_INPUTS, Assessment, Bounds, Verdict, agreed, mended
from adcli.numerics.sparse_optimality import judged, of_higher_order
from adcli.solvers.conditions import StatedCondition, greatest, value_of, with_conditions
from adcli.solvers.interior import ITERATIONS, PACKAGES, installed, interior, solver_module
from adcli.solvers.problem import CLOSER, Evaluations, Problem, SolverEnd, Watch
from adcli.solvers.scalar_function import GIVEN_UP, ScalarVectorFunction, vector_function

IDLE = 40
"""Iterations without a lower value, each with a quarter of the step before, after which there is none."""
FAR_OUT = 1e9
"""How far from the start, relative to it, a minimum is looked for."""
ASIDE = 0.01
"""How far a solver starts again beside a saddle point, relative to the variables."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The answer: what it is found to be in the problem's own variables and signs (`multipliers` are the change of the optimum
    for each unit of the bound that holds it), the solver that ended there, and what it took. `bad` is the first point at which
    the objective or a condition is not finite, if there was one."""

    found: Assessment
    solver: str
    iterations: int
    evaluations: dict[str, int]
    message: str
    bad: Vector | None


# ---------------------------------------------------------------- the problem

def stated(program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None, subject_to: Sequence[str], maximize: bool,
           point: Mapping[str, Any], before: Problem | None = None) -> Problem:
    """The problem that a user states: inputs in `wrt` (by default all but params) are moved from `point`, within their declared
    ranges; the others stay there. It has the code of the one that was stated so `before`, where that serves."""
    if before and (again := before.elsewhere(point)):
        return again
    names = inputs_to_differentiate(program, wrt)
    if not names:
        raise AdError("no input to move", help="name one: ⟦--wrt x⟧")
    whole, conditions, bounds = with_conditions(program, of, subject_to, names)
    f = vector_function(whole, names, {k: v for k, v in point.items() if k not in names}, point)
    start = f.start(point)
    low, high = (end.copy() for end in f.ranges)
    for c in bounds:
        where, shape = f.repeated([x == c.name for x in names]), np.shape(point[c.name])
        of_low, of_high = (of_shape(value_of(bound, whole, point), shape, c) for bound in (c.low, c.high))
        low[where], high[where] = np.maximum(low[where], of_low), np.minimum(high[where], of_high)
        if np.any(impossible(low, high)):
            raise AdError(f"'{c.stated.text}' leaves nothing of the range of {c.name}")
    shapes = f.shapes_of_outputs(start)[1:]
    each = [(c, place) for c, shape in zip(conditions, shapes, strict=True) for place in np.ndindex(shape)]
    c_low, c_high = (np.concatenate([np.zeros(0), *(of_shape(value_of(end(c), whole, point), shape, c)
                                                    for c, shape in zip(conditions, shapes, strict=True))])
                     for end in (attrgetter("low"), attrgetter("high")))
    if (empty := np.flatnonzero(impossible(c_low, c_high))).size:
        (c, place), least, most = each[empty[0]], c_low[empty[0]], c_high[empty[0]]
        why = f"{least!r} is more than {most!r}" if least > most else "no number is infinite"
        raise AdError(f"'{c.stated.element(place)}' holds nowhere: {why}")
    texts = tuple(c.stated.element(place) for c, place in each)
    here_only = any(not isinstance(end, Lit) for c in (*bounds, *conditions) for end in (c.low, c.high))
    return Problem(f, Bounds(low, high, c_low, c_high), -1.0 if greatest(program, of, maximize) else 1.0, texts, start, here_only)


def impossible(low: Vector, high: Vector) -> Any:
    """Where no number lies between bounds."""
    return (low > high) | (low == np.inf) | (high == -np.inf)


def of_shape(bound: Any, shape: tuple[int, ...], condition: StatedCondition) -> Vector:
    """A bound as a vector, one number for each element of the value that it holds."""
    if np.ndim(bound) and np.shape(bound) != shape:
        raise AdError(f"'{condition.stated.text}': tensors of different shapes, {np.shape(bound)} and {shape}")
    return np.broadcast_to(bound, shape).ravel()


# ---------------------------------------------------------------- solvers

def scipy_method(method: str, second: str = "", tolerance: dict[str, float] | None = None,
                 most: str = "maxiter") -> Callable[[Evaluations, Vector], SolverEnd]:
    """A method of scipy.optimize.minimize, which takes a dense Hessian, products with it, or no `second` derivatives."""
    def solve(e: Evaluations, y0: Vector) -> SolverEnd:
        from scipy import optimize
        more: dict[str, Any] = {}
        if second == "dense":
            more["hess"] = lambda y: finite(dense(e.hess(y, e.no_weights(y))))
        elif second == "product":
            more["hessp"] = lambda y, d: finite(e.hessp(y, d))
        elif second == "any":
            more["hess"] = lambda y: e.hess(y, e.no_weights(y))
        if np.isfinite(e.bounds.low).any() or np.isfinite(e.bounds.high).any():
            more["bounds"] = optimize.Bounds(e.bounds.low, e.bounds.high)
        if len(e.bounds.c_low) and method in CONDITIONED:
            own: dict[str, Any] = {"jac": lambda y: dense(e.jac(y))} if method == "SLSQP" else {
                "jac": e.jac, "hess": lambda y, v: e.hess(y, v, 0.0)}
            more["constraints"] = optimize.NonlinearConstraint(e.c, e.bounds.c_low, e.bounds.c_high, **own)
        if method.startswith("trust-") and method != "trust-constr":
            more["callback"] = Watcher(e)
        found = optimize.minimize(e.f, y0, jac=lambda y: finite(e.g(y)), method=method,
                                  options={most: ITERATIONS, **(tolerance or {})}, **more)
        return SolverEnd(found.x, int(found.get("nit", 0)), str(found.message))
    return solve


def finite(derivative: Vector) -> Vector:
    """A derivative with 0 where it is not finite: no step leaves from there, and SciPy's methods take no other number."""
    return np.nan_to_num(derivative, nan=0.0, posinf=0.0, neginf=0.0)


class Watcher:
    """Ends a trust-region method that would go on for nothing: at a point that no step leaves, and far out."""

    def __init__(self, e: Evaluations) -> None:
        self.e, self.lowest, self.idle = e, np.inf, 0

    def __call__(self, y: Vector) -> None:
        f = self.e.f(y)
        self.idle = 0 if f < self.lowest else self.idle + 1
        self.lowest = min(f, self.lowest)
        if self.idle > IDLE or float(np.max(np.abs(y))) > FAR_OUT:
            raise StopIteration


TRUST = {"gtol": 1e-13, "max_trust_radius": 1e9}
SOLVERS: dict[str, Callable[[Evaluations, Vector], SolverEnd]] = {
    "trust-exact": scipy_method("trust-exact", "dense", {**TRUST, "maxiter": 1000}),
    "trust-krylov": scipy_method("trust-krylov", "product", {**TRUST, "gtol": 1e-9}),
    "Newton-CG": scipy_method("Newton-CG", "product", {"xtol": 1e-12}),
    "BFGS": scipy_method("BFGS", "", {"gtol": 1e-13}),
    "L-BFGS-B": scipy_method("L-BFGS-B", "", {"ftol": 1e-15, "gtol": 1e-10, "maxfun": 10 * ITERATIONS, "maxcor": 20}),
    "TNC": scipy_method("TNC", "", {"ftol": 1e-15, "gtol": 1e-10}, most="maxfun"),
    "SLSQP": scipy_method("SLSQP", "", {"ftol": 1e-13, "maxiter": 300}),
    "trust-constr": scipy_method("trust-constr", "any", {"gtol": 1e-10, "xtol": 1e-12, "maxiter": 1000}),
    **{name: interior(name) for name in PACKAGES},
}
CONDITIONED = ("SLSQP", "trust-constr", *PACKAGES)
BOUNDED = ("L-BFGS-B", "TNC", *CONDITIONED)
"""The solvers that take bounds, and those that take conditions."""


def candidates(problem: Problem, solver: str) -> Sequence[str]:
    """The solvers to ask, one after another. AdError where the one named does not fit the problem."""
    b, many = problem.bounds, problem.function.n > MOST_INPUTS
    bounded = bool(np.isfinite(b.low).any() or np.isfinite(b.high).any())
    if solver != "auto":
        if solver in PACKAGES and solver_module(solver) is None:
            from adcli.lang.ir.errors import missing
            raise missing(f"⟦--solver⟧ {solver}", PACKAGES[solver][1])
        if len(b.c_low) and solver not in CONDITIONED:
            raise AdError(f"{solver} takes no conditions", help=f"write ⟦--solver auto⟧, or one of {', '.join(CONDITIONED)}")
        if bounded and solver not in BOUNDED:
            raise AdError(f"{solver} takes no bounds", help=f"write ⟦--solver auto⟧, or one of {', '.join(BOUNDED)}")
        return [solver]
    own = installed()[:1] if problem.function.has_matrices else []   # they take matrices, no products
    if len(b.c_low):
        large = many or problem.is_large
        if own and large and solver_module(own[0]) is not None:   # what it fails at, SciPy's crash at
            return own
        return ["trust-constr"] if many or (own and large) else ["SLSQP", *own, "trust-constr"]
    if bounded:
        return [*own, "L-BFGS-B"] if many else ["L-BFGS-B", "SLSQP", *own, "trust-constr"]
    few = isinstance(problem.function, ScalarVectorFunction) or problem.function.n <= MOST_DENSE
    return ["trust-exact", "BFGS", "Newton-CG", "L-BFGS-B"] if few and not many else ["L-BFGS-B", "trust-krylov"]


def advice(problem: Problem, solver: str) -> str | None:
    """A note where a large problem has no interior-point method."""
    if solver != "auto" or not problem.is_large or installed():
        return None
    from adcli.lang.ir.errors import install
    size = f"{problem.function.n:,} variables and {len(problem.conditions):,} conditions"
    return f"note: {size} may take SciPy's solvers minutes\nhelp: {install(PACKAGES['pounce'][1])}, for an interior-point method"


@quiet_scipy("minimize")
def minimize(problem: Problem, solver: str = "auto", watch: Watch = lambda *state: None) -> Optimum:
    """The best that the solvers find from the start, which is moved into the bounds."""
    x0 = np.clip(problem.start, problem.bounds.low, problem.bounds.high)
    e = Evaluations(problem, x0, watch)
    y0 = x0 / e.scale
    if not (np.isfinite(e.values(y0)).all() and np.isfinite(e.g(y0)).all()):
        return finished(e, judgement(e, y0, None), solver, 0, "the start", x0)
    best: tuple[Assessment, str, int, str] | None = None
    for name in candidates(problem, solver):
        if name in PACKAGES and solver_module(name) is None:
            continue
        found = ended(e, name, y0)
        if found[0].verdict == Verdict.SADDLE and found[0].direction is not None:   # one step off it, to either side
            aside = ASIDE * np.maximum(np.abs(found[0].x), 1.0) * found[0].direction
            found = min(found, *(ended(e, name, found[0].x + s * aside) for s in (1, -1)), key=lambda end: end[0].rank)
        if found[0].verdict in (Verdict.MOVING, Verdict.FLAT) and e.large and name in PACKAGES:
            e.tolerance = CLOSER
            found = min(found, ended(e, name, y0), key=lambda end: end[0].rank)
        if best is None or found[0].rank < best[0].rank:
            best = found
        if best[0].verdict.rank <= Verdict.FLAT.rank:
            break
    assert best is not None
    return finished(e, *best, e.bad)


def ended(e: Evaluations, name: str, y0: Vector) -> tuple[Assessment, str, int, str]:
    """Assessment of the end of a solver, its name, its iterations, and what it says."""
    e.kept.clear()
    e.iteration, e.lowest = 0, (np.inf, None)
    try:
        end = SOLVERS[name](e, np.clip(y0, e.bounds.low, e.bounds.high))
    except GIVEN_UP as error:
        end = SolverEnd(y0 if e.lowest[1] is None else e.lowest[1], 0, str(error))
    y = np.clip(end.y if np.isfinite(end.y).all() else y0, e.bounds.low, e.bounds.high)
    return judgement(e, y, end.pulls), name, end.iterations, end.message


def judgement(e: Evaluations, y: Vector, pulls: tuple[Vector, Vector] | None) -> Assessment:
    """Assessment of a point, or a better one near by."""
    size = np.maximum(np.abs(y), 1.0)
    found = judged(e.derivatives, y, e.bounds, size, pulls)
    if found.verdict != Verdict.FLAT or e.large:
        return found
    other = judged(mended(e.derivatives, size), y, e.bounds, size)   # the Hessian may be a convention
    return other if other.verdict == Verdict.MINIMUM else of_higher_order(e.derivatives, found, e.bounds, size)


def is_removable(problem: Problem, found: Assessment) -> bool:
    """True if second derivatives on all sides of a point agree, so that a kink there says nothing."""
    e = Evaluations(problem, problem.start)
    y = found.x / e.scale
    if e.derivatives(y).hess is None:
        return False
    with np.errstate(all="ignore"):
        return agreed(e.derivatives, e.derivatives(y), np.maximum(np.abs(y), 1.0),
                      e.sign * np.nan_to_num(found.multipliers)) is not None


def finished(e: Evaluations, found: Assessment, solver: str, iterations: int, message: str, bad: Vector | None) -> Optimum:
    """The answer in the problem's own variables and signs; values at bounds are the bounds."""
    x = found.x * e.scale
    own = replace(found, x=x, f=e.sign * found.f, residual=e.sign * found.residual / e.scale,
                  multipliers=e.sign * found.multipliers, bound_multipliers=e.sign * found.bound_multipliers / e.scale,
                  step=None if found.step is None else found.step * e.scale,
                  direction=None if found.direction is None else found.direction * e.scale)
    return Optimum(own, solver, iterations, dict(e.counts), message, bad)
