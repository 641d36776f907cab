"""f.fit(…): least squares over columns of numbers, with SciPy's result object."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.answers.array_calls import real_array
from adcli.api.view import picture_view
from adcli.fit.data import Begin, Observations, Places, objects, packed, places_at, require_numbers, starts
from adcli.fit.fit import Fit, Fitted, planned
from adcli.fit.inference import KINDS, intervals, predictions, require_predictable
from adcli.fit.notes import explained, not_finite_at, not_smooth, notes
from adcli.fit.objective import (
    RowLoss,
    apart,
    computed,
    cost_of,
    expression,
    is_expression,
    is_function,
    require_scatter,
    task_of,
    with_inputs,
)
from adcli.fit.observed import sets_of
from adcli.input.points import complete, ranks, unknown_name
from adcli.input.values import listed
from adcli.lang.ir import Program, Values, has_tensors
from adcli.lang.ir.errors import AdError, missing, nearest
from adcli.numerics.least_squares import NotFinite
from adcli.numerics.losses import Loss
from adcli.task.derive import chosen
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Data = Values | Any
"""Columns by name: a mapping of arrays, or a frame of pandas or polars."""


Tasks = dict[tuple[tuple[str, ...], ...], Task]
"""The Jacobians that a Function has been fitted with, by outputs and parameters."""


class FitRequest(NamedTuple):
    """See `Function.fit`."""

    data: Data
    y: Any
    sigma: Any
    params: Any
    of: Sequence[str] | None
    at: Values
    weights: Any
    absolute_sigma: bool | None
    loss: str
    f_scale: float
    evaluations: int
    jobs: int | None
    plot: bool
    uncertainties: Sequence[str] | None
    predict: Data
    coverage: float
    prior: Sequence[str]
    interval: str | None

    def require_sense(self) -> None:
        """AdError where an option has a value that it cannot have."""
        if not 0 < self.f_scale < float("inf"):
            raise AdError(f"f_scale must be greater than 0 and finite, not {self.f_scale!r}")
        if self.interval not in (None, *KINDS):
            raise AdError(f"interval is one of {', '.join(KINDS)}, not {self.interval!r}")
        if not 0 < self.coverage < 1:
            raise AdError(f"coverage must lie between 0 and 1, not {self.coverage!r}")
        for name, count in (("evaluations", self.evaluations), ("jobs", self.jobs)):
            if count is not None and (not isinstance(count, int) or count < 1):
                raise AdError(f"{name} must be a whole number from 1, not {count!r}")

    def by_output(self, outputs: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What each output is compared with, and its standard uncertainty."""
        y, columns = self.y, columns_of(self.data)
        if isinstance(y, str) and y == "y" and "y" not in columns and set(outputs) <= set(columns):
            y = {v: v for v in outputs}
        return by_output("y", y, outputs), by_output("sigma", self.sigma, outputs)

    def is_absolute(self, known: bool, cost: RowLoss) -> bool:
        """True if the uncertainties are not scaled by the residuals; `known`: some standard uncertainty is given."""
        if cost.loss:
            require_scatter(cost, known)
            return True
        if self.absolute_sigma is None:
            return known and self.loss == "linear"
        if self.absolute_sigma and (self.loss != "linear" or not known):
            raise AdError("absolute_sigma needs sigma, and loss='linear'")
        return self.absolute_sigma


def fit(program: Program, kept: Tasks, request: FitRequest) -> OptimizeResult:
    """See `Function.fit`; Jacobians that are made are `kept`."""
    try:
        from scipy.optimize import OptimizeResult
    except ImportError:
        raise missing("a fit", "scipy") from None
    request.require_sense()
    cost = cost_of(request.loss, request.prior)
    given, links = begins_of(request.params, program)
    program, cost = cost.of_model(program, links, request.of, lambda: columns_of(request.data))
    observed, sigmas = request.by_output([r.name for r in program.results])
    program = chosen(program, list(observed))
    begins = cost.parameters(program, given, lambda: [*columns_of(request.data), *request.at])
    program = with_inputs(program, begins)
    absolute = request.is_absolute(any(s is not None for s in sigmas.values()), cost)
    o = observations(with_inputs(program, cost.names), begins, request, observed, sigmas)
    require_numbers(o)
    key = tuple(observed), tuple(begins), tuple(f"{n}={e}" for n, e in links.items())
    if key not in kept:
        kept[key] = task_of(program, "jacobian", list(begins))
    fit = planned(task := kept[key], begins, o, request.jobs, cost)
    declared, begins = begins, dict(fit.begins)
    found = answered(fit, request, absolute)
    said = [*notes(fit, task, found), *not_smooth(fit, task, found)]
    result = OptimizeResult(**members(found, begins, "\n".join(said) or "converged"))
    if request.interval is not None:
        ends = intervals(found, request.interval, request.coverage)
        result.intervals = {name: (i.low, i.high) for name, i in ends.of.items()}
        result.message = "\n".join([*said, *ends.said()]) or "converged"
    if request.predict is not None:
        labels = {by: np.array([str(x) for x in columned(request.predict, by)]) for by in o.sets}
        places = places_at(fit.model.of, o.sets, declared, labels) if labels else None
        result.predicted = predicted(fit, program, found, request, sigmas, places)
    if request.plot:
        from adcli.fit.figure import picture
        result.plot = picture_view("fit", picture(fit, program, found, o, request.coverage))
    return result


def answered(fit: Fit, request: FitRequest, absolute: bool) -> Fitted:
    """The fit. AdError where the start has no residuals."""
    try:
        return fit.made(Loss(request.loss, request.f_scale), absolute, request.evaluations, request.uncertainties)
    except NotFinite as fault:
        error = AdError(not_finite_at(fit, fault.at))
        for text in explained(fit, fault.at):
            error.add_note(text)
        raise error from None


def predicted(fit: Fit, program: Program, found: Fitted, request: FitRequest, sigmas: Values,
              places: Values | None) -> dict[str, Any]:
    """The outputs at rows of data, with their standard errors and bands, as arrays by name."""
    require_predictable(program, fit)
    names = columns_of(request.predict)
    rows = request._replace(data=request.predict, sigma=None, weights=None)
    inputs = observations(program, dict.fromkeys(fit.model.names, Begin(0.0)), rows, {}, {}).inputs
    column = column_reader(request.predict, False)

    def known(x: Any, none: Any) -> Any:
        return none if x is None else column(x, "sigma") if x in names else None if isinstance(x, str) or np.ndim(x) else x

    expressed = isinstance(request.weights, str) and is_expression(request.weights)
    weight = weights_in(request.weights, column) if expressed else known(request.weights, 1.0)
    each = [known(sigmas.get(r.name), 1.0) if request.loss == "linear" else None for r in program.results]
    scatters = [None if s is None or weight is None else s / np.sqrt(weight) for s in each]
    return {n: x for p in predictions(fit, found, inputs, scatters, request.coverage, places) for n, x in p.columns.items()}


def members(found: Fitted, begins: Mapping[str, Begin], message: str) -> dict[str, Any]:
    """Members of SciPy's result object."""
    mask = [0 if n not in found.held else -1 if x == low else 1
            for n, x, low in zip(found.names, found.values, found.start.low, strict=True)]
    same = ("solver", "names", "covariance", "correlation", "chi2", "dof", "residual_sd")
    return {name: getattr(found, name) for name in same} | {
        "x": found.values, "fun": found.residuals, "jac": found.jacobian, "cost": 0.5 * found.cost, "losses": found.losses,
        "success": found.converged, "status": int(found.converged), "message": message, "nfev": found.evaluations,
        "active_mask": np.array(mask), "params": packed(begins, found.values),
        "uncertainties": packed(begins, found.uncertainties), "held": list(found.held), "reported": found.reported_names,
        "undetermined": [dict(d.moves) for d in found.undetermined]}


def columns_of(data: Data) -> list[Any]:
    """The names of columns. AdError where data are no columns."""
    if data is not None and not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise AdError("data has columns by name: a mapping of arrays, or a frame of pandas or polars")
    return list(data if isinstance(data, Mapping) else getattr(data, "columns", ()))


def by_output(what: str, given: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """Values by output, from one for all or a dictionary."""
    if not isinstance(given, Mapping):
        if len(outputs) > 1 and (isinstance(given, str) or np.ndim(given)):
            raise AdError(f"{what} is one column, and there are {len(outputs)} outputs: {', '.join(outputs)}",
                          help=f"write {what}={{'{outputs[0]}': …, '{outputs[1]}': …}}, or choose one output: of='{outputs[0]}'")
        return dict.fromkeys(outputs, given)
    for name in given:
        if name not in outputs:
            raise unknown_name("output", str(name), outputs)
    return dict(given)


def begins_of(params: Any, program: Program) -> tuple[dict[str, Begin | None] | None, dict[str, str]]:
    """Starts and bounds of `params`: names, starts, (start, low, high), or a text as --params has it; those that are functions of
    others, texts."""
    if isinstance(params, str):
        text, links = apart(params)
        return (starts(text or "", ranks(program.params)) if "=" in params else dict.fromkeys(listed(params))), links
    pairs = params.items() if isinstance(params, Mapping) else ()
    links = {n: x for n, x in pairs if isinstance(x, str) and is_function(x, params)}
    return starts_in({n: x for n, x in params.items() if n not in links} if links else params, program), links


def starts_in(params: Any, program: Program) -> dict[str, Begin | None] | None:
    """Starts and bounds by name."""
    if params is None:
        return None
    if not isinstance(params, Mapping):
        if not isinstance(params, list | tuple) or not all(isinstance(name, str) for name in params):
            raise AdError("params are names, or starts by name", help="write params={'a': 1.0, 'b': (2.0, 0, 10)} or 'a=1,b=2'")
        return dict.fromkeys(params)
    found: dict[str, Begin | None] = {}
    shapes = {p.name: p.var.shape for p in program.params}
    for name, given in params.items():
        if isinstance(given, tuple) and len(given) == 3 and np.ndim(given[0]) == len(shapes.get(name, ())):
            start, low, high = (real_array(f"parameter '{name}'", x) for x in given)
            found[name] = Begin(start if start.ndim else float(start), float(low), float(high))
        else:
            start = real_array(f"the start of parameter '{name}'", given)
            if start.ndim != len(shapes.get(name, ())):
                raise AdError(f"the start of parameter '{name}' is one number, or (start, low, high)" if not shapes.get(name) else
                              f"the start of parameter '{name}' is an array of {len(shapes[name])} dimensions")
            found[name] = Begin(start if start.ndim else float(start))
    return found


def has_rows(x: Any, rank: int) -> bool:
    """Test for a column with one more dimension than one of its rows."""
    return hasattr(x, "__len__") and not isinstance(x, str) and (1 + np.ndim(next(iter(x))) if len(x) else 1) > rank


def column_reader(data: Data, by_row: bool) -> Callable[[Any, str], Any]:
    """Function from a column of the data, by its name or itself, to an array, one of arrays where shapes are `by_row`."""
    def column(x: Any, what: str) -> Any:
        if x is None:
            return None
        if isinstance(x, str):
            what, x = f"column '{x}'", columned(data, x)
        if by_row and has_rows(x, 0):
            return objects([real_array(f"{what}, row {i}", e) for i, e in enumerate(x)])
        return real_array(what, x)

    return column


def weights_in(given: Any, column: Callable[[Any, str], Any]) -> Any:
    """The weight of each row: a column, an array, or an expression of columns."""
    if not (isinstance(given, str) and is_expression(given)):
        return column(given, "weights")
    columns = {p.name: column(p.name, "weights") for p in expression(given, "--weights").params}
    return computed(given, "--weights", columns, max((len(x) for x in columns.values()), default=1))


def columned(data: Data, name: str) -> Any:
    """A column of labels."""
    names = columns_of(data)
    if name not in names:
        raise AdError(f"no column '{name}'", help=nearest(name, names) or f"the columns are {', '.join(map(str, names[:10]))}")
    return data[name]


def observations(program: Program, begins: Mapping[str, Begin], request: FitRequest, observed: Values,
                 sigmas: Values) -> Observations:
    """Everything that is fitted to, as arrays; all columns of the same length where there are no tensors."""
    data, at = request.data, request.at
    names = columns_of(data)
    others = [p for p in program.params if p.name not in begins]
    for name in at:
        if name in begins:
            raise AdError(f"'{name}' is a parameter, and has no fixed value")

    tensors = has_tensors(program)
    by_row = tensors and any(has_rows(data[p.name], len(p.var.shape)) for p in others if p.name in names and p.name not in at)

    column = column_reader(data, by_row)
    from_data = {p.name: column(p.name, "") for p in others if p.name not in at and p.name in names}
    absent = [p.name for p in others if p.default is None and p.name not in from_data and p.name not in at]
    if absent and names:
        column(absent[0], "")
    fixed = {n: x if tensors else real_array(f"input '{n}'", x) for n, x in at.items()}
    inputs = complete(others, {**from_data, **fixed})
    called = [f"column '{x}'" if isinstance(x, str) else "y" for x in observed.values()]
    ys = [column(x, "y") for x in observed.values()]
    given = [column(sigmas.get(v), "sigma") for v in observed] or [None]
    w = weights_in(request.weights, column)
    if tensors and not by_row:
        return Observations({n: np.asarray(x) for n, x in inputs.items()}, ys, given, w, called)
    varying = inputs if not by_row else {n: x for n, x in inputs.items() if n in from_data}
    lengths = {n: np.shape(x) for n, x in [*varying.items(), *zip(called, ys, strict=True), ("sigma", given[0]), ("weights", w)]
               if np.ndim(x)}
    if any(len(shape) > 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise AdError(f"columns have one length: {', '.join(f'{n} has {s}' for n, s in lengths.items())}")
    rows = next((s[0] for s in lengths.values()), 1)
    if by_row:
        inputs = {n: x if n in from_data else objects([x])[[0] * rows] for n, x in inputs.items()}
        w = w if w is None else w.astype(np.float64)
    sets = {by: np.array([str(x) for x in columned(data, by)]) for by in sets_of(begins)}
    return Observations(inputs, ys, given, w, called, Places(np.arange(rows)), sets)
