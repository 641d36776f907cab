"""f.fit(…): least squares over columns of numbers, with SciPy's result object."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adcli.api.arguments import real_array
from adcli.api.view import picture_view
from adcli.fit.data import Begin, Observations, Places, objects, packed, parameters, require_numbers, starts
from adcli.fit.fit import planned
from adcli.fit.minimum import LOSSES, Loss, NotFinite
from adcli.fit.notes import explained, not_finite_at, not_smooth, notes
from adcli.input.points import complete, ranks, unknown_name
from adcli.input.values import listed
from adcli.lang.derive import derivatives
from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError, Source, missing, nearest
from adcli.task.derive import DerivedProgram, chosen
from adcli.task.request import Request
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Data = Mapping[str, Any] | Any
"""Columns by name: a mapping of arrays, or a frame of pandas or polars."""


Tasks = dict[tuple[tuple[str, ...], ...], Task]
"""The Jacobians that a Function has been fitted with, by outputs and parameters."""


def fit(program: Program, kept: Tasks, data: Data, y: Any, sigma: Any, params: Any, of: Sequence[str] | None,
        at: Mapping[str, Any], weights: Any, absolute_sigma: bool | None, loss: str, f_scale: float, evaluations: int,
        jobs: int | None, plot: bool) -> OptimizeResult:
    """See `Function.fit`; Jacobians that are made are `kept`."""
    try:
        from scipy.optimize import OptimizeResult
    except ImportError:
        raise missing("a fit", "scipy") from None
    if loss not in LOSSES:
        raise AdError(f"no loss '{loss}'", help=nearest(str(loss), LOSSES) or f"the losses are {', '.join(LOSSES)}")
    if not 0 < f_scale < float("inf"):
        raise AdError(f"f_scale must be greater than 0 and finite, not {f_scale!r}")
    for name, count in (("evaluations", evaluations), ("jobs", jobs)):
        if count is not None and (not isinstance(count, int) or count < 1):
            raise AdError(f"{name} must be a whole number from 1, not {count!r}")
    program = chosen(program, of)
    outputs = [r.name for r in program.results]
    if isinstance(y, str) and y == "y" and "y" not in columns_of(data) and set(outputs) <= set(columns_of(data)):
        y = {v: v for v in outputs}
    observed, sigmas = by_output("y", y, outputs), by_output("sigma", sigma, outputs)
    program = chosen(program, list(observed))
    begins = parameters(program, begins_of(params, program))
    absolute = (any(s is not None for s in sigmas.values()) and loss == "linear") if absolute_sigma is None else absolute_sigma
    if absolute and (loss != "linear" or all(s is None for s in sigmas.values())):
        raise AdError("absolute_sigma needs sigma, and loss='linear'")
    o = observations(program, begins, data, observed, sigmas, at, weights)
    require_numbers(o)
    key = tuple(observed), tuple(begins)
    if key not in kept:
        kept[key] = task_of(program, list(begins))
    task = kept[key]
    fit = planned(task, begins, o, jobs)
    try:
        found = fit.made(Loss(loss, f_scale), absolute, evaluations)
    except NotFinite as fault:
        error = AdError(not_finite_at(fit, fault.at))
        for text in explained(fit, task, fault.at):
            error.add_note(text)
        raise error from None
    said = [*notes(fit, task, found), *not_smooth(fit, task, found)]
    mask = [0 if n not in found.held else -1 if x == low else 1
            for n, x, low in zip(found.names, found.values, found.start.low, strict=True)]
    result = OptimizeResult(
        x=found.values, fun=found.residuals, jac=found.jacobian, cost=0.5 * found.cost, success=found.converged,
        status=int(found.converged), message="\n".join(said) or "converged", nfev=found.evaluations,
        active_mask=np.array(mask), solver=found.solver, names=found.names, params=packed(begins, found.values),
        uncertainties=packed(begins, found.uncertainties), covariance=found.covariance, correlation=found.correlation,
        chi2=found.chi2, dof=found.dof, residual_sd=found.residual_sd, held=list(found.held),
        undetermined=[dict(d.moves) for d in found.undetermined])
    if plot:
        from adcli.fit.figure import picture
        result.plot = picture_view("fit", picture(fit, program, found, o))
    return result


def task_of(program: Program, wrt: list[str]) -> Task:
    """The Jacobian of a program that no command line asked for."""
    derived = DerivedProgram(program, derivatives.jacobian(program, wrt, zeros=True), wrt)
    request = Request("jacobian", program.source or Source("<text>", ""), wrt=wrt, zeros=True)
    return Task(request, derived.signature, worked=derived)


def columns_of(data: Data) -> list[Any]:
    """The names of columns."""
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


def begins_of(params: Any, program: Program) -> dict[str, Begin | None] | None:
    """Starts and bounds of `params`: names, starts, (start, low, high), or a text as --params has it."""
    if params is None:
        return None
    if isinstance(params, str):
        return starts(params, ranks(program.params)) if "=" in params else dict.fromkeys(listed(params))
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


def observations(program: Program, begins: Mapping[str, Begin], data: Data, observed: Mapping[str, Any],
                 sigmas: Mapping[str, Any], at: Mapping[str, Any], weights: Any) -> Observations:
    """Everything that is fitted to, as arrays; all columns of the same length where there are no tensors."""
    if data is not None and not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise AdError("data has columns by name: a mapping of arrays, or a frame of pandas or polars")
    names = columns_of(data)
    others = [p for p in program.params if p.name not in begins]
    for name in at:
        if name in begins:
            raise AdError(f"'{name}' is a parameter, and has no fixed value")

    tensors = has_tensors(program)
    by_row = tensors and any(has_rows(data[p.name], len(p.var.shape)) for p in others if p.name in names and p.name not in at)

    def column(x: Any, what: str) -> Any:
        if x is None:
            return None
        if isinstance(x, str):
            if x not in names:
                raise AdError(f"no column '{x}'", help=nearest(x, names) or f"the columns are {', '.join(map(str, names[:10]))}")
            what, x = f"column '{x}'", data[x]
        if by_row and has_rows(x, 0):
            return objects([real_array(f"{what}, row {i}", e) for i, e in enumerate(x)])
        return real_array(what, x)

    from_data = {p.name: column(p.name, "") for p in others if p.name not in at and p.name in names}
    absent = [p.name for p in others if p.default is None and p.name not in from_data and p.name not in at]
    if absent and names:
        column(absent[0], "")
    fixed = {n: x if tensors else real_array(f"input '{n}'", x) for n, x in at.items()}
    inputs = complete(others, {**from_data, **fixed})
    called = [f"column '{x}'" if isinstance(x, str) else "y" for x in observed.values()]
    ys = [column(x, "y") for x in observed.values()]
    given = [column(sigmas.get(v), "sigma") for v in observed]
    w = column(weights, "weights")
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
    return Observations(inputs, ys, given, w, called, Places(np.arange(rows)))
