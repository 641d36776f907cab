"""A problem with its objective, conditions and bounds, and its values and derivatives as solvers ask for them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.linear import MOST_DENSE, Vector, dense, scaled
from adcli.numerics.optimality import MOST_INPUTS, Bounds, PointDerivatives
from adcli.solvers.scalar_function import ScalarVectorFunction
from adcli.solvers.vector_function import VectorFunction

SMALLEST_SCALE = 1e-3
"""A variable that starts at 0, or nearer, is scaled as if it started here."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The least (for `sign` -1 the greatest) value of the first output of `function`, with bounds on its variables and on the
    other outputs."""

    function: VectorFunction
    bounds: Bounds
    sign: float = 1.0
    conditions: tuple[str, ...] = ()
    """Texts of the conditions, one for each of the other outputs."""
    start: Vector = field(default_factory=lambda: np.zeros(0))
    here_only: bool = False
    """True if bounds are values of inputs."""

    def elsewhere(self, point: Mapping[str, Any]) -> Problem | None:
        """Problem from another point; None where inputs have other shapes there, or other bounds may hold."""
        if self.here_only:
            return None
        function = self.function.elsewhere(point)
        here = self.function.point(self.start)
        same = all(np.shape(point[name]) == np.shape(here[name]) for name in here)
        return replace(self, function=function, start=function.start(point)) if same else None

    @property
    def is_large(self) -> bool:
        """True where an interior-point method takes a tenth of the time of SciPy's solvers with conditions, or less."""
        conditions = len(self.bounds.c_low)
        return conditions > 0 and self.function.n + conditions > MOST_DENSE


Watch = Callable[[int, int, float, Vector, Bounds], None]
"""Is told the number of an iteration, 0 where that is not known, and of an evaluation, the objective, the conditions and their
bounds."""


OF_FEW, OF_MANY, CLOSER = 1e-10, 1e-9, 1e-12
"""Tolerances of interior-point solvers: of a few variables, of many, and where the answer is too far off for a verdict."""


class Evaluations:
    """A problem in scaled variables y = x / scale, each value and derivative computed once at a point, and counted."""

    def __init__(self, problem: Problem, x0: Vector, watch: Watch = lambda *state: None) -> None:
        self.watch, self.iteration = watch, 0
        self.function, self.sign = problem.function, problem.sign
        self.large = problem.function.n > MOST_DENSE and not isinstance(problem.function, ScalarVectorFunction)
        self.tolerance = OF_MANY if self.large else OF_FEW
        own = self.large and len(problem.bounds.c_low) > 0   # interior-point solvers do better without
        self.scale = np.ones(len(x0)) if own else np.maximum(np.abs(x0), SMALLEST_SCALE)
        self.bounds = problem.bounds._replace(low=problem.bounds.low / self.scale, high=problem.bounds.high / self.scale)
        self.counts: Counter[str] = Counter()
        self.bad: Vector | None = None
        self.lowest: tuple[float, Vector | None] = np.inf, None
        """The least value so far where there are no conditions, and its point."""
        self.kept: dict[str, tuple[bytes, Any]] = {}

    def once(self, what: str, y: Vector, more: bytes, compute: Callable[[Vector], Any]) -> Any:
        key = y.tobytes() + more
        known = self.kept.get(what)
        if known is None or known[0] != key:
            self.counts[what] += 1
            self.kept[what] = known = key, compute(y * self.scale)
        return known[1]

    def values(self, y: Vector) -> Vector:
        """f and c."""
        found = np.array(self.once("values", y, b"", self.function.fun))
        self.watch(self.iteration, self.counts["values"], float(found[0]), found[1:], self.bounds)
        if self.bad is None and not np.isfinite(found).all() and np.isfinite(y * self.scale).all():
            self.bad = y * self.scale
        found[0] *= self.sign
        return found

    def f(self, y: Vector) -> float:
        """For solvers, which take a shorter step where it is infinite, and lose themselves where it is NaN."""
        f, *conditions = self.values(y)
        if f < self.lowest[0] and not conditions:
            self.lowest = float(f), np.array(y)
        return float(f) if f == f else np.inf

    def c(self, y: Vector) -> Vector:
        return self.values(y)[1:]

    def jacobian(self, y: Vector) -> Any:
        return self.once("gradients", y, b"", self.function.jac)

    def g(self, y: Vector) -> Vector:
        return self.sign * self.scale * np.ravel(dense(self.jacobian(y)[[0]]))

    def jac(self, y: Vector) -> Any:
        """The Jacobian of c, sparse where it is."""
        return scaled(self.jacobian(y)[1:], self.scale)

    def hess(self, y: Vector, v: Vector, f: float = 1.0) -> Any:
        """The Hessian of f·(the objective) + Σ v c."""
        weights = np.concatenate([[self.sign * f], v])
        made = self.once("hessians", y, weights.tobytes(), lambda x: self.function.hess(x, weights))
        if not hasattr(made, "matvec"):
            return scaled(made, self.scale, self.scale)
        from scipy.sparse.linalg import LinearOperator
        return LinearOperator(made.shape, matvec=lambda d: self.scale * (made @ (self.scale * np.ravel(d))), dtype=float)

    def hessp(self, y: Vector, direction: Vector) -> Vector:
        weights = np.zeros(len(self.values(y)))
        weights[0] = self.sign
        self.counts["products"] += 1
        return self.scale * self.function.hessp(y * self.scale, weights, direction * self.scale)

    def no_weights(self, y: Vector) -> Vector:
        return np.zeros(len(self.values(y)) - 1)

    def derivatives(self, y: Vector) -> PointDerivatives:
        def noise(multipliers: Vector) -> Vector:
            if self.large:   # it would take longer than the search
                return np.full(len(y), np.inf)
            return self.scale * self.function.gradient_rounding(y * self.scale, np.concatenate([[1.0], multipliers]))

        from scipy.sparse import csr_array
        many = len(y) > MOST_INPUTS and not self.function.has_matrices
        return PointDerivatives(y, float(self.values(y)[0]), self.c(y), self.g(y), csr_array(self.jac(y)),
                                None if many else lambda v: self.matrix(y, -v), noise)

    def matrix(self, y: Vector, v: Vector) -> Any:
        """The Hessian of f + Σ v c as a sparse matrix; by products with unit vectors where there is no other way."""
        from scipy.sparse import csr_array
        made = self.hess(y, v)
        return csr_array(made @ np.eye(len(y)) if hasattr(made, "matvec") else made)


class SolverEnd(NamedTuple):
    """Where a solver ends, its iterations, its message, and multipliers of conditions and variables if it has them: positive
    where a lower bound holds."""

    y: Vector
    iterations: int
    message: str
    pulls: tuple[Vector, Vector] | None = None
