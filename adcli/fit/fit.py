"""Nonlinear least squares: the residuals of a program and their Jacobian by native code, for all rows of a table in one call or
of whole tensors; the least cost that is found; and what the answer is worth, from the singular values of the Jacobian there."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.fit.data import Begin, Observations, Places, components_of, packed, separated, start_of
from adcli.fit.objective import NewtonResiduals, RowLoss, RowProgram, objective
from adcli.input.points import unknown_name
from adcli.lang.ir import Values, has_tensors
from adcli.lang.ir.errors import AdError, plural
from adcli.numerics.least_squares import End, Residuals, Start, inverse_root, minimised, of_length_one
from adcli.numerics.linear import MOST_DENSE, Normal, Vector, column_lengths, times
from adcli.numerics.losses import Loss, Matrix
from adcli.output.layout import Row
from adcli.output.wrap import few
from adcli.solvers.scalar_function import vector_function

if TYPE_CHECKING:
    from adcli.solvers.vector_function import VectorFunction
    from adcli.task.tasks import Task

Array = np.ndarray
PASSES = 4
"""Units that residuals are taken in, one after another."""
VANISHING = 1e-100
"""Residuals in their unit whose squares may be no doubles."""
LARGEST_IN_SCALE = 1e60
"""Residuals in the scale of a loss, of which fourth powers are taken."""
MOST_REPORTED = 1000
"""Parameters that get standard uncertainties if none are asked for."""
COPIES = 6
"""Jacobians that a solver holds at a time, with their decompositions."""


# ---------------------------------------------------------------- what a fit has found

class NullDirection(NamedTuple):
    """Parameters that can be moved together, each by so much, without a change of any residual; the `names` of all, in order."""

    moves: Mapping[str, float]
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit. Uncertainties are standard uncertainties, NaN where a parameter is not determined or held by a
    bound; `covariance` and `correlation`, of the parameters that are `reported`, have NaN there too. `chi2` is
    Σr², of residuals divided by their uncertainties where these are known; `dof` the number of residuals less the rank of the
    Jacobian by the parameters that are not held, `residual_sd` sqrt(chi2/dof). `end` of the `problem` is what the uncertainties
    come from, `scale` their factor; `losses` the sums of a loss of one's own and of minus log priors, () of least squares.
    `stopped_at` is where some solver met numbers that are not finite, `next` where the next step would lead."""

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
    reported: Vector
    problem: Residuals
    end: End
    scale: float
    losses: tuple[float, ...] = ()
    held: Mapping[str, float] = field(default_factory=dict)
    undetermined: Sequence[NullDirection] = ()
    stopped_at: Vector | None = None
    next: Vector | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.start.names

    @property
    def reported_names(self) -> list[str]:
        """Names of the parameters with standard uncertainties."""
        return [self.names[i] for i in self.reported]


@np.errstate(all="ignore")
def fitted(residuals: Residuals, start: Start, loss: Loss, absolute: bool, most: int, asked: Vector | None = None) -> Fitted:
    """The fit from a start, with uncertainties of the parameters `asked`, by default all. AdError where there are fewer residuals
    than parameters, NotFinite where they are not numbers."""
    n, p, unit = len(residuals.checked(start.values)[0]), len(start.names), residuals.unit
    asked = np.arange(p) if asked is None else asked
    loss = loss._replace(scale=loss.scale / unit)
    end, stopped = minimised(residuals, start, loss, most)
    plain, jacobian = residuals.checked(end.at)
    free = np.flatnonzero(~end.held)
    dof = n - len(free) + len(end.lost)
    u, correlation = uncertainties(end, free, asked)
    scale = 1 / unit if absolute else math.sqrt(variance_of(plain, loss, dof, p))
    u *= scale
    names = [start.names[i] for i in free]
    directions = [NullDirection({names[i]: float(d[i]) for i in np.flatnonzero(d)}, names) for d in end.lost]
    held = {name: float(x) for name, x, h in zip(start.names, end.at, end.held, strict=True) if h}
    chi2 = float(plain @ plain)
    sd = math.sqrt(chi2 / dof) * unit if dof > 0 else math.nan
    return Fitted(start, end.at, u, correlation * np.outer(u[asked], u[asked]), correlation, plain * unit, jacobian * unit,
                  end.cost * unit * unit, chi2 * unit * unit, sd, dof, end.converged(residuals.size), residuals.evaluations,
                  end.solver, loss, absolute, asked, residuals, end, scale, (), held, directions, stopped,
                  np.clip(end.at + end.step, start.low, start.high))


def uncertainties(end: End, free: Vector, asked: Vector) -> tuple[Vector, Vector]:
    """Standard uncertainties, up to the scatter of the residuals, of the parameters `asked`, else NaN; correlations of these."""
    u, known = np.full(len(end.at), math.nan), np.flatnonzero(~end.held[asked])
    correlation = np.full((len(asked), len(asked)), math.nan)
    if len(known):
        within = np.searchsorted(free, asked[known])
        u[asked[known]], correlation[np.ix_(known, known)] = spread(end.triangle[:, free], end.lost, within)
    return u, correlation


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


def spread(j: Matrix, lost: Vector, asked: Vector) -> tuple[Vector, Vector]:
    """The roots of the diagonal of (JᵀJ)⁻¹, and that matrix with ones on its diagonal, of the columns `asked`; NaN for parameters
    that are not determined."""
    lengths = column_lengths(j)
    if isinstance(j, np.ndarray):
        root = inverse_root(j / lengths)
        root = root if len(asked) == len(root) else root[asked]
        inner, products = column_lengths(root.T), root @ root.T
    else:
        products = Normal(of_length_one(j, lengths)).inverse(asked)
        inner = np.sqrt(np.maximum(products.diagonal(), 1e-300))
    found, together = inner / lengths[asked], np.clip(products / np.outer(inner, inner), -1.0, 1.0)
    np.fill_diagonal(together, 1.0)
    unknown = np.any(lost != 0, axis=0)[asked] if len(lost) else np.zeros(len(asked), bool)
    found[unknown] = together[unknown, :] = together[:, unknown] = math.nan
    return found, together


def require_rows(rows: int, names: Sequence[str]) -> None:
    """AdError where there are fewer residuals than parameters."""
    if rows < len(names):
        raise AdError(f"{plural(rows, 'residual')} for {plural(len(names), 'parameter')}: {few(names)}",
                      help="give more rows, or fewer parameters: ⟦--params NAME=START⟧")


# ---------------------------------------------------------------- residuals of a program

class Outputs(NamedTuple):
    """The outputs at some parameters, one after another, flat; their Jacobian."""

    values: Array
    jacobian: Matrix


class RowModel:
    """Outputs of scalars for all rows: `columns` has an array or a number for each input that is no parameter, `places` for each
    that is one its number among the parameters of the fit, or one for each row."""

    def __init__(self, task: Task, places: Values, columns: Values, rows: int, jobs: int | None) -> None:
        self.task, self.rows, self.jobs, self.of = task, rows, jobs, places
        self.names, self.outputs = list(places), list(task.signature.outputs)
        require_room(f"a Jacobian of {rows:,} rows", COPIES * 8 * rows * len(self.outputs) * len(self.names))
        self.program = RowProgram(task, columns, rows, jobs, self.names)
        each = ((places[c.wrt[0]], self.outputs.index(c.of or "")) for c in task.signature.derived)
        self.places = [(1 + i, of, np.arange(rows)) if np.ndim(i) else (1 + i, of) for i, of in each]

    def elsewhere(self, columns: Values, rows: int, places: Values | None = None) -> RowModel:
        """The model for other rows."""
        return RowModel(self.task, places or self.of, columns, rows, self.jobs)

    def point(self, b: Array, row: int) -> dict[str, Any]:
        """All inputs of the program in a row."""
        own = {name: float(c[row]) for name, c in self.program.columns.items()}
        return {**own, **{n: float(b[i[row] if np.ndim(i) else i]) for n, i in self.of.items()}}

    def explained(self, b: Array, row: int) -> list[str]:
        """Explanation of numbers in a row that are not finite."""
        from adcli.why.command import remarks_on_numbers
        return remarks_on_numbers(self.task.primal, self.names, self.point(b, row))

    def by_output(self, x: Array) -> Array:
        """Numbers of all rows, those of each output together."""
        return x.reshape(len(self.outputs), self.rows)

    def levels(self, b: Array) -> Array:
        """The status of every row."""
        return self.program([b[i] for i in self.of.values()])[-1]

    def __call__(self, b: Array) -> Outputs:
        m, n = len(self.outputs), self.rows
        results, found = self.program([b[i] for i in self.of.values()]), np.zeros((1 + len(b), m, n))
        found[0] = results[:m]
        for place, result in zip(self.places, results[m:-1], strict=True):
            found[place] = result
        flat = found.reshape(1 + len(b), m * n)
        return Outputs(flat[0], flat[1:].T)

    def row_of(self, i: int) -> int:
        """The row that an element of the flat outputs is from."""
        return i % self.rows


class TensorModel:
    """The elements of outputs that are tensors, or that depend on some, at a point or in every row: each of `points` has a value
    for each input that is no parameter."""

    def __init__(self, task: Task, begins: Mapping[str, Begin], points: Sequence[Values], jobs: int | None) -> None:
        from adcli.answers.evaluation import callable_program, computation
        from adcli.input.arrays import given
        from adcli.lang.simplify.simplify import simplify
        self.task, self.begins, self.points, self.jobs, self.names = task, begins, points, jobs, list(begins)
        self.given, self.ends = given, np.zeros(len(points), int)
        self.sparse = self.sparse_functions()
        if self.sparse:
            self.compute = callable_program(task, simplify(task.primal), list(begins), jobs, None)
            return
        self.compute = computation(task, jobs, None)
        require_room(f"a Jacobian of {len(points):,} rows", COPIES * 8 * len(points) * start_of(begins).values.size)

    def point(self, b: Array, row: int) -> dict[str, Any]:
        """All inputs of the program in a row."""
        return {**self.points[row], **packed(self.begins, b)}

    def elsewhere(self, columns: Values, rows: int, places: Values | None = None) -> TensorModel:
        """The model for other rows."""
        return TensorModel(self.task, self.begins, points_of(columns, rows), self.jobs)

    def sparse_functions(self) -> list[VectorFunction]:
        """The outputs of each row as functions of the parameters, if there are many parameters and the Jacobian is sparse."""
        b = start_of(self.begins).values
        if len(b) <= MOST_DENSE:
            return []
        start = self.whole(b, 0)
        fixed = {name: x for name, x in start.items() if name not in self.begins}
        first = vector_function(self.task.primal, list(self.begins), fixed, start)
        if isinstance(first.jac(b), np.ndarray):
            return []
        return [first, *(first.elsewhere(self.whole(b, k)) for k in range(1, len(self.points)))]

    def explained(self, b: Array, row: int) -> list[str]:
        """Explanation of numbers in a row that are not finite."""
        from adcli.answers.diagnose import note
        from adcli.answers.reporter import not_finite
        values, matrices, level = self.results(b, row)
        bad = [*not_finite(self.task.signature.outputs, values)]
        bad = bad or [*not_finite([c.name for c in self.task.signature.derived], [*matrices.values()])]
        return [*bad, *([str(note(self.task, Row(self.point(b, row), [], level)))] if level > 0 else [])]

    def by_output(self, x: Array) -> Array:
        """Numbers of all rows, those of each output together."""
        return x.reshape(len(self.points), -1).T

    def levels(self, b: Array) -> Array:
        """The status of every row."""
        return np.array([float(self.compute(self.whole(b, k))[1]) for k in range(len(self.points))])

    def __call__(self, b: Array) -> Outputs:
        if self.sparse:
            from scipy.sparse import vstack
            rows = [f.values_and_jacobian(b) for f in self.sparse]
            self.ends = np.cumsum([len(values) for values, _ in rows])
            return Outputs(np.concatenate([values for values, _ in rows]), vstack([j for _, j in rows], format="csr"))
        found = [self.results(b, k) for k in range(len(self.points))]
        values = [np.concatenate([np.ravel(v) for v in vs]) for vs, _, _ in found]
        self.ends = np.cumsum([len(v) for v in values])
        blocks = [np.concatenate([np.reshape(matrices[v, x], (np.size(value), -1)) for x in self.begins], axis=1)
                  for vs, matrices, _ in found for v, value in zip(self.task.signature.outputs, vs, strict=True)]
        return Outputs(np.concatenate(values), np.concatenate(blocks))

    def results(self, b: Array, k: int) -> tuple[Sequence[Any], dict[tuple[str | None, str], Any], int]:
        """The outputs of a row, their derivatives, the status."""
        results, level = self.compute(self.whole(b, k))
        m = len(self.task.signature.outputs)
        keys = [] if self.sparse else [(c.of, c.wrt[0]) for c in self.task.signature.derived]
        return results[:m], dict(zip(keys, results[m:], strict=True)), level

    def whole(self, b: Array, k: int) -> dict[str, Any]:
        """All inputs of the program in a row. AdError where their shapes do not fit."""
        from adcli.input.arrays import fitting
        point = self.point(b, k)
        found: dict[str, Any] = fitting(self.task.primal, {p.name: self.given(p, point[p.name]) for p in self.task.primal.params})
        return found

    def row_of(self, i: int) -> int:
        """The row that an element of the flat outputs is from."""
        return int(np.searchsorted(self.ends, i, "right"))


class Fit(NamedTuple):
    """A fit that is to be made: the model with its parameters, and what its outputs are compared with; `places` are
    where the rows come from, None for tensors."""

    model: Any
    places: Places | None
    begins: Mapping[str, Begin]
    start: Start
    observed: Array
    factor: Array
    objective: NewtonResiduals | None = None

    def residuals(self, at: Array) -> Residuals:
        """Outputs less observations, weighted, in a power of 2 near the largest of them `at` some parameters; the size of the
        observations, or of the outputs where these are zero, tells what is rounding."""
        with np.errstate(all="ignore"):
            begun = self.model(at).values
            compared = self.observed if np.any(self.observed) else begun
            unit = power(largest((begun - self.observed) * self.factor))
            factor = self.factor / unit

        def compute(b: Array) -> tuple[Array, Array]:
            found = self.model(b)
            with np.errstate(all="ignore"):
                return (found.values - self.observed) * factor, times(found.jacobian, factor)
        return Residuals(compute, largest(compared * factor), unit)

    def asked(self, names: Sequence[str] | None) -> Vector:
        """Numbers of the parameters that uncertainties are asked for, `all` or by names of inputs: by default all, if they are
        few."""
        of = components_of(self.begins)
        if names == ["all"]:
            return np.arange(of.n)
        if names is None:
            return np.arange(of.n if of.n <= MOST_REPORTED else 0)
        for name in names:
            if name not in of.names:
                raise unknown_name("parameter", name, of.names)
        return np.flatnonzero(of.repeated([name in names for name in of.names]))

    def made(self, loss: Loss, absolute: bool, most: int, uncertain: Sequence[str] | None = None) -> Fitted:
        """The fit, with uncertainties of some parameters. AdError where there are fewer residuals than parameters, NotFinite
        where the start has none."""
        asked = self.asked(uncertain)
        if self.objective is not None:
            return self.of_objective(self.objective, loss, most, asked)
        require_rows(len(self.observed), self.start.names)
        start, again = self.start, PASSES
        while True:
            residuals = self.residuals(start.values)
            require_scale(loss, largest(residuals(start.values)[0]) * residuals.unit)
            found, again = fitted(residuals, start, loss, absolute, most, asked), again - 1
            if not again or not 0 < largest(found.residuals) < VANISHING * residuals.unit:
                return replace(found, start=self.start)
            start = start._replace(values=found.values)   # squares have underflowed in the unit of the start


    def of_objective(self, objective: NewtonResiduals, loss: Loss, most: int, asked: Vector) -> Fitted:
        """The fit with the least objective."""
        found = fitted(objective, self.start, Loss(), True, most, asked)
        outputs = self.model(found.values)
        residuals, jacobian = (outputs.values - self.observed) * self.factor, times(outputs.jacobian, self.factor)
        free = len(found.values) - len(found.held) - len(found.undetermined)
        losses = tuple(part(found.values)[0] for part in objective.parts)
        return replace(found, residuals=residuals, jacobian=jacobian, chi2=float(residuals @ residuals),
                       residual_sd=math.nan, dof=len(residuals) - free, loss=loss, losses=losses)


def require_scale(loss: Loss, residual: float) -> None:
    """AdError where residuals in the scale of a loss have squares that are no doubles."""
    if loss.name != "linear" and residual < math.inf and residual / loss.scale > LARGEST_IN_SCALE:
        raise AdError(f"the loss differs from squares from {loss.scale!r} on, which is nothing next to residuals of up to"
                      f" {residual:.3g}",
                      help="give the residual from which on it counts as an outlier, as in ⟦--f-scale 0.1⟧")


def largest(x: Array) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def power(x: float) -> float:
    """A power of 2 near a number, 1 where there is none."""
    return 2.0 ** min(max(math.frexp(x)[1], -1000), 1000) if 0 < x < math.inf else 1.0


def planned(task: Task, begins: Mapping[str, Begin], o: Observations, jobs: int | None, cost: RowLoss) -> Fit:
    """The fit of a task, a Jacobian by the parameters."""
    fit = least_squares(task, begins, o, jobs)
    return fit._replace(objective=objective(task.primal, cost, fit.model.of, o, jobs)) if cost.loss else fit


def least_squares(task: Task, begins: Mapping[str, Begin], o: Observations, jobs: int | None) -> Fit:
    """The fit of a task by least squares."""
    begins, places = separated(begins, o.sets)
    start = start_of(begins)
    rows = 1 if o.places is None else len(o.places.rows)
    if not has_tensors(task.primal):
        observed, factors = (np.concatenate([np.broadcast_to(x, rows) for x in xs]) for xs in (o.observed, o.factors))
        return Fit(RowModel(task, places, o.inputs, rows, jobs), o.places, begins, start, observed, factors)
    if o.sets:
        raise AdError("sets of rows with parameters of their own are for programs of numbers")
    points: list[Values] = [o.inputs]
    each: list[tuple[Sequence[Any], Sequence[Any]]] = [(o.observed, o.factors)]
    if o.places is not None:
        both = [[np.broadcast_to(x, rows) for x in xs] for xs in (o.observed, o.factors)]
        points = points_of(o.inputs, rows)
        each = [([x[k] for x in both[0]], [x[k] for x in both[1]]) for k in range(rows)]
    model = TensorModel(task, begins, points, jobs)
    found = [*compared_at(task, model, start, o, each)]
    observed, factors = (np.concatenate(xs) if xs else np.zeros(0) for xs in ([y for y, _ in found], [f for _, f in found]))
    return Fit(model, o.places, begins, start, observed, factors)


def points_of(columns: Values, rows: int) -> list[Values]:
    """The inputs of each row."""
    each = {name: np.broadcast_to(x, rows) for name, x in columns.items()}
    return [{name: x[k] for name, x in each.items()} for k in range(rows)]


def compared_at(task: Task, model: TensorModel, start: Start, o: Observations,
                compared: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> Iterator[tuple[Array, Array]]:
    """Observations and factors for the elements of the outputs in every row. AdError where shapes do not fit."""
    from adcli.answers.evaluation import callable_program
    from adcli.lang.simplify.simplify import simplify
    outputs = callable_program(task, simplify(task.primal), (), None, None)
    for k, (observed, factors) in enumerate(compared):
        try:
            shapes = [np.shape(x) for x in outputs(model.whole(start.values, k))[0]]
            yield flat(observed, shapes, o.called), flat(factors, shapes, o.called)
        except AdError as fault:
            if o.places is None:
                raise
            raise AdError(f"{o.places.named(k)}: {fault.message}", help=fault.help) from None


def flat(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], called: Sequence[str]) -> Array:
    """One array for each output, broadcast to its shape, all one after another."""
    found = []
    for x, shape, name in zip(arrays, shapes, called, strict=True):
        if np.ndim(x) and np.shape(x) != shape:
            raise AdError(f"{name} has shape {np.shape(x)}, and its output {shape}")
        found.append(np.broadcast_to(x, shape).reshape(math.prod(shape)))
    return np.concatenate(found)
