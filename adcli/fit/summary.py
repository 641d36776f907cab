"""Output of fits: as param lines of the language with comments, as JSON, CSV, or a table for a report."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adcli.fit.data import Begin, packed
from adcli.fit.fit import Fitted
from adcli.fit.inference import Between, Intervals
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Program, Values
from adcli.lang.ir.errors import AdError
from adcli.lang.printing.printer import print_program
from adcli.output.numbers import Number, json_number, json_text, number_format
from adcli.output.report import csv_text
from adcli.output.streams import columns_of
from adcli.output.typeset import MARKUPS
from adcli.output.version import __version__
from adcli.output.wrap import fitted
from adcli.propagate.budgets import pair
from adcli.propagate.prepare import stated_lines

FORMATS = ("text", "json", "csv", "tsv", "markdown", "latex", "program")
MOST_CORRELATED = 20
"""Parameters of which text shows all correlation coefficients."""


class Answered(NamedTuple):
    """A fit; the program with its parameters as they were given, and inputs that had one value; whether observations have known
    uncertainties; predictions, in columns; intervals of parameters;
    head and rows of a table of models."""

    fit: Fitted
    program: Program
    begins: Mapping[str, Begin]
    fixed: Values
    known: bool
    predicted: Mapping[str, Sequence[Any]] | None = None
    intervals: Intervals | None = None
    comparison: tuple[list[str], list[list[str | float]]] | None = None


def written(told: Answered, options: ResultOptions) -> Iterator[str]:
    """The fit in the format that is asked for."""
    number = number_format(options.fmt, options.hexadecimal)
    separator = "\t" if options.form == "tsv" else ","
    if (more := [*more_tables(told, number)]) and options.form in ("csv", "tsv", *(["text"] * (told.predicted is not None))):
        yield csv_text(more[-1][0], *more[-1][1], separator=separator)
        return
    match options.form:
        case "json":
            yield json_text(record(told, number)) + "\n"
        case "csv" | "tsv":
            yield table(told, number, separator)
        case "markdown" | "latex":
            markup, number = MARKUPS[options.form], "{:.6g}".format
            yield from markup.table(head(told), rows(told))
            yield "\n" * (options.form == "markdown")
            yield from (markup.sentence(f"{name}: {x}") for name, x in figures(told, number))
            for title, cells in more_tables(told, number):
                yield from ("\n", *markup.table(title, cells))
        case "program":
            yield print_program(fitted_program(told), header=[*header(told, number)])
        case _:
            columns = columns_of(options.output)
            yield from (fitted(part, columns, program=True) for part in text(told, number, columns))


def more_tables(told: Answered, number: Number) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Heads and rows of the tables of models and of predictions, as far as they are asked for."""
    if told.comparison is not None:
        yield told.comparison[0], model_cells(told.comparison[1], number)
    if told.predicted is not None:
        yield list(told.predicted), predicted_cells(told.predicted, number)


def model_lines(title: list[str], body: Sequence[Sequence[Any]]) -> Iterator[str]:
    """A table of models in comments."""
    cells = [title, *model_cells(body, lambda x: f"{x:.6g}")]
    widths = [max(len(row[k]) for row in cells) for k in range(len(title))]
    yield "# models, each tested against the first, which supposes that one is a case of the other:\n"
    for row in cells:
        line = "  ".join(f"{c:{'<' if not k else '>'}{widths[k]}}" for k, c in enumerate(row))
        yield f"# {line.rstrip()}\n"


def model_cells(body: Sequence[Sequence[Any]], number: Number) -> list[list[str]]:
    """The rows of a table of models."""
    def cell(x: str | float) -> str:
        return x if isinstance(x, str) else "" if math.isnan(x) else number(x)
    return [[str(name), f"{free:.0f}", *map(cell, rest)] for name, free, *rest in body]


def fitted_program(told: Answered) -> Program:
    """The program with the fitted values as its parameters. AdError where there are tensors among them."""
    found = {**told.fixed, **packed(told.begins, told.fit.values)}
    if tensor := next((n for n, x in found.items() if np.ndim(x) or "(" in n), None):
        raise AdError(f"'{tensor}' is one of many, which have no default in the text of a program",
                      help="write -o FILE.json, which ⟦--at @FILE.json⟧ reads")
    params = []
    for p in told.program.params:
        if p.name in told.begins:
            low, high = (x if math.isfinite(x) else None for x in told.begins[p.name][1:3])
            p = replace(p, default=float(found[p.name]), low=low, high=high, active=False)
        params.append(replace(p, default=float(found[p.name])) if p.name in told.fixed else p)
    return replace(told.program, params=tuple(params))


def header(told: Answered, number: Number) -> Iterator[str]:
    """Comments in front of a fitted program: how good it is, and the uncertainties that propagate reads."""
    fit = told.fit
    yield f"adcli {__version__}: fitted {', '.join(fit.names)}"
    yield from (f"{name}: {x}" for name, x in figures(told, number))
    known = {n: float(u) for n, u in zip(fit.names, fit.uncertainties, strict=True) if math.isfinite(u)}
    yield from (f"{n}: {worth(fit, n, math.nan)}" for n in fit.names if n not in known)
    rows = {n: dict(zip(fit.reported_names, map(float, row), strict=True))
            for n, row in zip(fit.reported_names, fit.correlation, strict=True)}
    yield from stated_lines(known, math.inf if fit.absolute else fit.dof, rows)


def predicted_cells(columns: Mapping[str, Sequence[Any]], number: Number) -> list[list[str]]:
    """The rows of predictions; a tensor is a list of JSON."""
    from adcli.output.tensors import json_tensor

    def cell(x: Any) -> str:
        return x if isinstance(x, str) else json_text(json_tensor(x, number)) if np.ndim(x) else number(x)

    each = [[*map(cell, column)] for column in columns.values()]
    return [list(row) for row in zip(*each, strict=True)]


# ---------------------------------------------------------------- text

def text(told: Answered, number: Number, columns: int | None) -> Iterator[str]:
    """A param line for each parameter, a tensor as --at takes it; all else in comments. The matrix of correlations is cut into
    blocks of so many columns."""
    fit = told.fit
    values, uncertainties = packed(told.begins, fit.values), packed(told.begins, fit.uncertainties)
    lines = []
    for name, begin in told.begins.items():
        if np.ndim(begin.value):
            from adcli.output.tensors import result_lines
            lines += [(line, "") for line in result_lines(name, values[name], number, False)]
            if np.isfinite(uncertainties[name]).any():
                known = result_lines(f"u_{name}", uncertainties[name], lambda x: f"{x:.3g}", False)
                lines += [(f"# {line}", "") for line in known]
            continue
        finite = math.isfinite(begin.low) or math.isfinite(begin.high)
        declared = "# " if "(" in name else "param "   # one of a set of rows is no parameter of the program
        range_ = f" in [{number(begin.low)}, {number(begin.high)}]" if finite else ""
        lines.append((f"{declared}{name} = {number(values[name])}{range_}", f"  # {worth(fit, name, uncertainties[name])}"))
    width = max(len(left) for left, right in lines if right) if any(right for _, right in lines) else 0
    yield "".join(f"{left:{width}}{right}\n" if right else f"{left}\n" for left, right in lines)
    yield "".join(f"# {name} = {x}\n" for name, x in figures(told, number))
    if ends := told.intervals:
        for name, i in ends.of.items():
            yield f"# {ends.chance} {ends.kind} interval of {name} = {number(i.low)} to {number(i.high)}\n"
    if told.comparison is not None:
        yield from model_lines(*told.comparison)
    names = fit.reported_names
    if 1 < len(names) <= MOST_CORRELATED:
        yield "# correlation coefficients:\n"
        cells = [[coefficient(x) for x in row[:i + 1]] for i, row in enumerate(fit.correlation)]
        width = 2 + max(map(len, [*names, *(c for row in cells for c in row)]))
        beside = len(names) if columns is None else max(1, (columns - 2) // width - 1)
        for k in range(0, len(names), beside):
            yield f"# {'':{width}}{''.join(f'{n:>{width}}' for n in names[k:k + beside])}\n"
            for name, row in zip(names[k:], cells[k:], strict=True):
                yield f"# {name:{width}}{''.join(f'{c:>{width}}' for c in row[k:k + beside])}\n"


def coefficient(x: float) -> str:
    """A correlation coefficient in three digits; none rounds to 1 that is not 1."""
    if math.isnan(x):
        return "-"
    shown = f"{x:.3f}"
    return shown if abs(float(shown)) < 1 or abs(x) == 1 else f"{x:.6f}"


def worth(fit: Fitted, name: str, u: float) -> str:
    """The standard uncertainty of a parameter, or why it has none."""
    if name in fit.held:
        return "at its bound"
    if any(name in d.moves for d in fit.undetermined):
        return "not determined"
    if name not in fit.reported_names:
        return "uncertainty not asked for"
    return "± unknown" if math.isnan(u) else f"± {u:.3g}"


def figures(told: Answered, number: Number) -> Iterator[tuple[str, str]]:
    """Figures of the whole fit."""
    fit = told.fit
    yield "residuals", str(len(fit.residuals))
    yield "degrees of freedom", str(fit.dof)
    if fit.losses:
        yield "loss", number(fit.losses[0])
        yield from (("log prior", number(-x)) for x in fit.losses[1:])
        yield "uncertainties", f"from the inverse Hessian of the loss{' and the priors' if fit.losses[1:] else ''}"
        if not fit.converged:
            yield "converged", "no"
        return
    yield ("chi-squared" if told.known else "sum of squares"), number(fit.chi2)
    if fit.absolute and fit.dof > 0:
        from scipy.special import chdtrc
        yield "probability of a larger chi-squared", f"{chdtrc(fit.dof, fit.chi2):.3g}"
    if fit.dof > 0:
        yield "residual standard deviation", number(fit.residual_sd)
    if fit.loss.name != "linear":
        yield f"{fit.loss.name} loss", number(fit.cost)
    if not fit.converged:
        yield "converged", "no"


# ---------------------------------------------------------------- JSON and tables

def record(told: Answered, number: Number) -> dict[str, Any]:
    """The fit as one object, whose parameters --at @FILE reads; null for what is not known, and where there is no bound."""
    from adcli.output.tensors import json_tensor
    fit, at = told.fit, packed(told.begins, told.fit.values)

    def known(x: float) -> object:
        return json_number(float(x), number) if math.isfinite(x) else None

    def square(matrix: Any) -> dict[str, Any]:
        return {n: dict(zip(fit.reported_names, map(known, row), strict=True))
                for n, row in zip(fit.reported_names, matrix, strict=True)}

    s = fit.start
    entries = zip(fit.names, fit.values, fit.uncertainties, s.values, s.low, s.high, strict=True)
    return {
        "at": {n: json_tensor(x, number) if np.ndim(x) else json_number(x, number) for n, x in at.items()},
        "params": {n: {"value": known(x), "uncertainty": known(u), "start": known(at), "low": known(low), "high": known(high)}
                   for n, x, u, at, low, high in entries},
        "correlation": square(fit.correlation), "covariance": square(fit.covariance),
        "residuals": len(fit.residuals), "dof": fit.dof, "chi2": known(fit.chi2), "residual_sd": known(fit.residual_sd),
        "sigma": "absolute" if fit.absolute else "relative", "loss": fit.loss.name,
        "cost": known(sum(fit.losses) if fit.losses else fit.cost),
        "converged": fit.converged, "evaluations": fit.evaluations, "solver": fit.solver,
        "held": {n: known(x) for n, x in fit.held.items()},
        "undetermined": [{n: known(x) for n, x in d.moves.items()} for d in fit.undetermined],
        **({} if told.intervals is None else {"interval": told.intervals.kind, "coverage": told.intervals.coverage, "intervals": {
            n: [json_number(i.low, number), json_number(i.high, number)] for n, i in told.intervals.of.items()}}),
        **({} if told.comparison is None else {"models": [
            {n: x if isinstance(x, str) else known(x) for n, x in zip(told.comparison[0], row, strict=True)}
            for row in told.comparison[1]]}),
        **({} if told.predicted is None else {"predicted": {
            n: [x if isinstance(x, str) else json_tensor(x, number) if np.ndim(x) else known(x) for x in column]
            for n, column in told.predicted.items()}}),
    }


def table(told: Answered, number: Number, separator: str) -> str:
    """A row for each parameter, with its correlation coefficients."""
    fit, s = told.fit, told.fit.start
    ends = told.intervals and told.intervals.of
    head = ["param", "value", "uncertainty", "start", "low", "high", *ENDS[:2 * bool(told.intervals)],
            *(f"corr_{n}" for n in fit.reported_names)]
    correlation = np.full((len(fit.names), len(fit.reported)), math.nan)
    correlation[fit.reported] = fit.correlation
    entries = zip(fit.names, fit.values, fit.uncertainties, s.values, s.low, s.high, correlation, strict=True)
    between = {n: ends.get(n, NO_ENDS)[:2] if ends is not None else () for n in fit.names}
    body = [[n, *map(number, map(float, (x, u, at, low, high))), *map(number, between[n]), *map(number, row)]
            for n, x, u, at, low, high, row in entries]
    return csv_text(head, *body, separator=separator)


ENDS = ("interval_low", "interval_high")
NO_ENDS = Between(math.nan, math.nan)


def head(told: Answered) -> list[str]:
    """The head of a table for a report."""
    between = [f"{told.intervals.chance} interval"] if told.intervals else []
    return ["Parameter", "Estimate", "Standard uncertainty", *between]


def rows(told: Answered) -> Iterator[list[str]]:
    """Parameters for a report, each rounded by its uncertainty."""
    fit = told.fit
    for name, x, u in zip(fit.names, fit.values, fit.uncertainties, strict=True):
        if math.isfinite(u) and u > 0:
            value, width, exponent = pair(float(x), float(u))
            row = [name, value + exponent, width + exponent]
        else:
            row = [name, f"{x:.6g}", worth(fit, name, u)]
        if told.intervals:
            between = told.intervals.of.get(name)
            row.append(f"{between.low:.6g} to {between.high:.6g}" if between else "")
        yield row
