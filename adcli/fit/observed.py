"""The rows that a command line names: observations that are fitted to, and rows at which a fit predicts."""
from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adcli.fit.data import (
    Begin,
    Comparison,
    Observations,
    Places,
    Wanted,
    objects,
    wrong,
)
from adcli.fit.objective import computed, expression, is_expression
from adcli.input.fixed_inputs import fixed as of_inputs
from adcli.input.fixed_inputs import given
from adcli.input.nested import arrays_of
from adcli.input.points import axes, combined, complete, ranks, unknown_name
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Param, Program, Values, Var, has_tensors, shape_of
from adcli.lang.ir.errors import AdError, plural
from adcli.output.streams import say
from adcli.rows.sample_columns import SampleTable, whole_table
from adcli.rows.stream import given_tables
from adcli.tables.sources import locations
from adcli.tables.streams import BadTable
from adcli.task.rules import require_fit

EVALUATIONS = 1000


@dataclass(frozen=True, kw_only=True)
class FitOptions(ResultOptions):
    """Options of fit."""

    y: str | None = None
    params: str | None = None
    sigma: str | None = None
    weights: str | None = None
    loss: str = "linear"
    prior: tuple[str, ...] = ()
    f_scale: float = 1.0
    evaluations: int = EVALUATIONS
    uncertainties: str | None = None
    predict: str | None = None
    coverage: str | None = None
    interval: str | None = None
    against: tuple[str, ...] = ()


def no_target() -> AdError:
    return AdError("nothing to compare the output with: no column has its name",
                   help="name a column: --y y, or --y 0 where the output is the residual")


class GivenTables:
    """The tables of rows, each read once."""

    def __init__(self, options: FitOptions) -> None:
        self.options = options

    @cached_property
    def whole(self) -> list[tuple[str, SampleTable]]:
        """Names and contents. BadTable where one cannot be read."""
        return [(there.name, whole_table(there.opened(), self.options)) for there in given_tables(self.options)]

    def columns(self) -> list[str]:
        """The names of all columns. BadTable where a table cannot be read."""
        return [name for _, table in self.whole for name in next(records(table), {})]

    def labels(self, name: str) -> Any:
        """The words in a column, of all tables. BadTable where there is none."""
        if not self.whole:
            raise AdError(f"no table with a column '{name}'", help="give one: --data FILE, or a pipe")
        return np.concatenate([labels(table, name) for _, table in self.whole])


def sets_of(begins: Mapping[str, Begin]) -> list[str]:
    """The columns that name sets of rows."""
    return list(dict.fromkeys(b.by for b in begins.values() if b.by is not None))


def labels(table: SampleTable, name: str) -> Any:
    """The words in a column. BadTable where there is none."""
    rows = list(records(table))
    if any(row.get(name) is None for row in rows):
        raise BadTable(f"{table.name}:1: no column '{name}'")
    return np.array([str(row[name]).strip() for row in rows])


def records(table: SampleTable) -> Iterator[dict[str, Any]]:
    """The words of each row by the names of their columns."""
    text, form = table.text.decode(), table.dialect
    if form.kind == "ndjson":
        rows: Iterable[dict[str, Any]] = (json.loads(line) for line in text.splitlines() if line.strip())
    else:
        rows = csv.DictReader(io.StringIO(text), form.columns, delimiter=(form.separator or form.other).decode())
    for row in rows:
        yield {form.renamed.get(name, name): x for name, x in row.items()}


def observations(program: Program, begins: Mapping[str, Begin], wanted: Sequence[Comparison], options: FitOptions,
                 tables: GivenTables) -> Observations:
    """Everything that is fitted to. BadTable where a row is bad."""
    others = [p for p in program.params if p.name not in begins]
    fixed = fixed_inputs(program, begins, options)
    free = [p for p in others if p.name not in fixed]
    tensors = has_tensors(program)
    columns = compared_columns(program, wanted, options)
    if tensors and not (options.data or columns or any(p.default is None for p in free)):
        return of_tensors(others, fixed, wanted, options)
    found: dict[str, Any] = {}
    faults: dict[int, BadTable] = {}
    places = Places(np.arange(1))
    if there := tables.whole:
        found, faults, places = table_columns(there, free, columns, fixed, options, tensors)
    elif options.y is None:
        raise no_target()
    elif columns or any(p.default is None for p in free):
        more = ", or tensors by --at A=@matrix.npy and --y @y.npy" if tensors else ""
        raise AdError("no table", help=f"give one: --data FILE, or a pipe{more}")
    else:
        require_fit(options, "fit without a table")

    def numbers(x: Wanted | None) -> Any:
        if x is None or isinstance(x, str):
            return None if x is None else found[column(x)]
        return every_row(np.asarray(x, np.float64))

    def every_row(x: Any) -> Any:
        return objects([x])[[0] * len(places.rows)] if tensors else x

    known = [p.name for p in columns]
    inputs = {p.name: found[p.name] if p.name in found else every_row(fixed.get(p.name, p.default)) for p in others}
    o = Observations(inputs, [numbers(t.observed) for t in wanted], [numbers(t.sigma) for t in wanted],
                     weights_of(options.weights, {n: found.get(column(n)) for n in known}, len(places.rows)),
                     [called(t) for t in wanted], places, {by: tables.labels(by) for by in sets_of(begins)})
    return without_bad(o, faults, options)


def weights_of(text: str | None, columns: Values, rows: int) -> Any:
    """The weight of each row, a column or an expression of columns; None where all are 1, or something is not there."""
    if text is None or not is_expression(text):
        return None if text is None or columns.get(text) is None else np.asarray(columns[text], np.float64)
    names = [p.name for p in expression(text, "--weights").params]
    if any(columns.get(n) is None for n in names):
        return None
    return computed(text, "--weights", {n: np.asarray(columns[n], np.float64) for n in names}, rows)


def compared_columns(program: Program, wanted: Sequence[Comparison], options: FitOptions) -> list[Param]:
    """The columns of a table that something is compared with, or weighted by. AdError where one is no column."""
    shapes = {r.name: shape_of(r.atom) for r in program.results}
    found, tensors = dict[str, Param](), has_tensors(program)
    for t in wanted:
        for x in (t.observed, t.sigma):
            if isinstance(x, np.ndarray) and not shapes[t.output]:
                raise AdError(f"'{t.output}' is a number, which is compared with a column or a number",
                              help=f"write --y {t.output}=y, for a column y of the table")
            if isinstance(x, str) and not (x.startswith("@") and tensors):
                found[x] = Param(Var(x, shape=shapes[t.output]), x)
    if (w := options.weights) and is_expression(w):
        found |= {p.name: p for p in expression(w, "--weights").params if p.name not in found}
    elif w and not (w.startswith("@") and tensors):
        found.setdefault(w, Param(Var(w), w))
    return list(found.values())


def column(name: str) -> str:
    """Key of a column that is compared with, distinct from those of inputs."""
    return f"--y {name}"


def called(t: Comparison) -> str:
    return f"column '{t.observed}'" if isinstance(t.observed, str) else f"--y for {t.output}"


def fixed_inputs(program: Program, begins: Collection[str], options: FitOptions) -> dict[str, Any]:
    """The inputs that --at gives."""
    values = list(given(options.at, ranks(program.params), "--at gives inputs one value for all rows"))
    if (parameter := next((name for name, _ in values if name in begins), None)) is not None:
        raise AdError(f"'{parameter}' is a parameter, which --at fixes", help=f"its start: --params {parameter}=1")
    return arrays_of(of_inputs([p for p in program.params if p.name not in begins], values))


def of_tensors(others: Sequence[Param], fixed: Values, wanted: Sequence[Comparison],
               options: FitOptions) -> Observations:
    """Inputs by --at, and observations that are numbers, lists or files."""
    require_fit(options, "fit without a table")

    def numbers(x: Wanted | None, v: str) -> Any:
        if isinstance(x, str):
            from adcli.input.arrays import read_tensor
            return read_tensor(v, x[1:], 1)
        return None if x is None else np.asarray(x, np.float64)

    o = Observations(complete(others, fixed), [numbers(t.observed, t.output) for t in wanted],
                     [numbers(t.sigma, t.output) for t in wanted],
                     None if options.weights is None else numbers(options.weights, "--weights"), [called(t) for t in wanted])
    for reason, where in wrong(o._replace(inputs={})):
        if np.any(where):
            raise AdError(reason)
    return o


def table_columns(there: Sequence[tuple[str, SampleTable]], free: Sequence[Param], others: Sequence[Param],
                  fixed: Collection[str], options: FitOptions,
                  tensors: bool) -> tuple[dict[str, Any], dict[int, BadTable], Places]:
    """The columns of inputs, and those that are compared with by `column`; the bad rows; where rows come from."""
    if options.on_error == "mark":
        raise AdError("a fit writes no rows that could be marked", help="write --on-error skip")
    params = [*free, *others]
    parts: list[list[Any]] = [[] for _ in params]
    faults: dict[int, BadTable] = {}
    sizes: list[tuple[str, int]] = []
    for name, table in there:
        found, bad = table.read(params, fixed)
        before = sum(size for _, size in sizes)
        faults |= {before + row: fault for row, fault in bad.items()}
        sizes.append((name, len(found[0]) if found else 0))
        for part, values in zip(parts, found, strict=True):
            part.append(objects(values) if tensors else np.asarray(values, np.float64))
    keys = [*(p.name for p in free), *(column(p.name) for p in others)]
    rows = sum(size for _, size in sizes)
    return {key: np.concatenate(part) for key, part in zip(keys, parts, strict=True)}, faults, Places(np.arange(rows), sizes)


def without_bad(o: Observations, faults: Mapping[int, BadTable], options: FitOptions) -> Observations:
    """The rows of which residuals can be made. BadTable for the first of the others, unless they are left out."""
    assert o.places is not None
    said = {row: str(fault) for row, fault in faults.items()}
    rows = len(o.places.rows)
    for reason, where in wrong(o):
        for row in np.flatnonzero(np.broadcast_to(where, rows)).tolist():
            said.setdefault(row, f"{o.places.named(row)}: {reason}\nhelp: --on-error skip leaves such rows out")
    if not said:
        return o
    first = said[min(said)]
    if options.on_error == "stop":
        raise BadTable(first)
    if not options.quiet:
        say(f"note: {plural(len(said), 'bad row')} left out, the first: {first.partition(chr(10))[0]}")
    good = np.ones(rows, bool)
    good[list(said)] = False
    return o.only(good)


# ---------------------------------------------------------------- rows at which a fit predicts

def grid(program: Program, begins: Collection[str], wanted: Sequence[Comparison], options: FitOptions,
         sets: Collection[str] = ()) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """The inputs in the rows of --predict, a table or a range; the scatter of a new observation of each output, up to that of the
    residuals where these are relative, None where it is not known; the labels in the columns `sets`. BadTable for a bad row."""
    assert options.predict is not None
    if not options.predict.strip():
        raise AdError("--predict names nothing", help="write --predict grid.csv or --predict x=0:10:11")
    others = [p for p in program.params if p.name not in begins]
    fixed, tensors = fixed_inputs(program, begins, options), has_tensors(program)
    weighing = [p.name for p in expression(options.weights or "1", "--weights").params] if is_expression(
        options.weights) else [options.weights]
    extra = [x for x in (*(t.sigma for t in wanted), *weighing) if isinstance(x, str)]
    if "=" in options.predict:
        if sets:
            raise AdError(f"--predict needs a table with a column '{next(iter(sets))}', which says whose parameters to take")
        found: Mapping[str, Sequence[Any]] = of_ranges(options.predict, program, [*(p.name for p in others), *extra])
    else:
        (location,) = locations((options.predict,))
        table = whole_table(location.opened(), options)
        found = of_table(table, [p for p in others if p.name not in fixed], extra, fixed)
    values = {n: objects(x) if tensors else np.asarray(x, np.float64) for n, x in found.items()}
    inputs = complete(others, {**fixed, **{p.name: values[p.name] for p in others if p.name in values}})
    if tensors:
        rows = len(next(iter(values.values())))
        inputs = {n: x if n in values else objects([x])[[0] * rows] for n, x in inputs.items()}

    weight = 1.0 if options.weights is None else weights_of(options.weights, values, len(next(iter(values.values()))))

    def scatter(t: Comparison) -> Any:
        sigma = 1.0 if t.sigma is None else values.get(t.sigma) if isinstance(t.sigma, str) else t.sigma
        return None if sigma is None or weight is None or options.loss != "linear" else sigma / np.sqrt(weight)

    return inputs, [scatter(t) for t in wanted], {by: labels(table, by) for by in sets}


def of_ranges(text: str, program: Program, known: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of the points that ranges span."""
    points = [arrays_of(point) for point in combined(axes(text, ranks(program.params)))]
    for name in points[0]:
        if name not in known:
            raise unknown_name("input", name, known)
    return {name: [point[name] for point in points] for name in points[0]}


def of_table(table: SampleTable, free: Sequence[Param], extra: Sequence[str],
             fixed: Collection[str]) -> dict[str, Sequence[Any]]:
    """Columns of a table: those of inputs, and of the `extra` ones as many as there are."""
    more = [Param(Var(n), n) for n in extra]
    while True:
        try:
            found, faults = table.read([*free, *more], fixed)
        except BadTable as fault:
            absent = [p for p in more if f"no column '{p.name}'" in fault.message]
            if not absent:
                raise
            more = [p for p in more if p not in absent]
            continue
        if faults:
            raise faults[min(faults)]
        return {p.name: column for p, column in zip([*free, *more], found, strict=True)}
