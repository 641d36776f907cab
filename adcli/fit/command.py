"""The verb fit: parameters of a program from the rows of a table, by least squares."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from adcli.answers.reporter import Reporter
from adcli.command.options import FOR_C, format_option, of_option, option, plot_option, program_options, result_options, takes
from adcli.command.usage import TRUST, WHAT, Command, OneOf, WholeNumber
from adcli.fit.data import (
    Begin,
    Comparison,
    Observations,
    Places,
    Wanted,
    objects,
    parameters,
    starts,
    targets,
    wrong,
)
from adcli.fit.fit import Fit, Fitted, planned
from adcli.fit.minimum import LOSSES, Loss, NotFinite
from adcli.fit.notes import connected, explained, is_gauge, not_finite_at, not_smooth, notes
from adcli.fit.summary import FORMATS, Answered, written
from adcli.input.nested import arrays_of
from adcli.input.points import axes, complete, ranks, unknown_name
from adcli.input.settings import EMIT_OPTIONS, PART_OPTIONS, ResultOptions
from adcli.input.values import listed
from adcli.lang.ir import Param, Program, Var, has_tensors, shape_of
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.lower.frontend import parse_source
from adcli.output.streams import packed_destination, say, write_points
from adcli.rows.sample_columns import whole_table
from adcli.rows.stream import given_tables
from adcli.tables.sources import Location
from adcli.tables.streams import BadTable
from adcli.task.derive import chosen
from adcli.task.request import Request
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared

EVALUATIONS = 1000
WITHOUT = ("emit", *EMIT_OPTIONS, *PART_OPTIONS, "digits", "enclose", "status", "only", "form")


@dataclass(frozen=True, kw_only=True)
class FitOptions(ResultOptions):
    """Options of fit."""

    y: str | None = None
    params: str | None = None
    sigma: str | None = None
    weights: str | None = None
    loss: str = "linear"
    f_scale: float = 1.0
    evaluations: int = EVALUATIONS
    uncertainties: str | None = None
    plot: str | None = None


@click.command("fit", cls=Command,
               examples=("adcli fit -e 'v = a*(1 - exp(-k*x))' --params a=100,k=1e-3 --data samples/adsorption.csv --y y",
                         "adcli fit samples/adsorption.ad --data samples/adsorption.csv --y y --params 'b1=500 in [0,1e3],b2'"))
@program_options
@option(WHAT, "--y", metavar="COLUMN",
        help="What the output is compared with: a column or a number, after : its standard uncertainty; v=y1:s1,w=y2 for several"
             " outputs; 0 where the output is the residual (default: the column of the output's name).")
@option(WHAT, "--params", metavar="x=1,…",
        help="Parameters with starts and bounds: b1=500,b2=1e-4, 'b1=500 in [0, 1000]', A=@start.npy (default: all params).")
@of_option("Outputs to fit (default: all).")
@option(WHAT, "--sigma", type=OneOf("word", ("absolute", "relative")),
        help="Take the uncertainties after --y y:s as they are (absolute, the default), or only their ratios.")
@option(WHAT, "--weights", metavar="COLUMN", help="A column of weights of the squares.")
@option(WHAT, "--loss", type=OneOf("loss", tuple(LOSSES)), default="linear", show_default=True,
        help="The loss; others than linear give outliers less weight.")
@option(WHAT, "--f-scale", type=float, default=1.0, show_default=True, metavar="C",
        help="The residual, in standard uncertainties where they are given, from which on it counts as an outlier.")
@option(TRUST, "--evaluations", type=WholeNumber(1, 10**9), default=EVALUATIONS, show_default=True, metavar="N",
        help="Evaluations of the model that one attempt of a solver may take.")
@option(WHAT, "--uncertainties", metavar="x,…",
        help="Parameters that get standard uncertainties, or all (default: all, where there are at most 1000 numbers).")
@plot_option("the data, the curve and the residuals")
@format_option(FORMATS, "Format of the results (default: by the suffix of -o FILE; else text, which is param lines).")
@result_options(FORMATS, without=WITHOUT, helps={
    **FOR_C,
    "at": "Inputs with one value for all rows: k=3; tensors: A=@matrix.npy.",
    "data": "A table, or - for standard input: CSV, TSV, JSON, Parquet. Piped rows need no --data."})
@takes(FitOptions)
def command(options: FitOptions) -> int:
    """Parameters of a program from the rows of a table, by nonlinear least squares.

    Inputs that are no parameters are columns of the table, or fixed by --at. Prints the parameters as param lines of the language
    with their standard uncertainties, then the sum of squares, the residual standard deviation and the correlation coefficients.
    Exits 1 where the fit has not converged or a parameter is not determined.
    """
    source = options.source
    if options.plot:
        from adcli.pictures.destinations import require_place
        require_place(options.plot, options.form, options.output)
    program = chosen(parse_source(source), options.outputs)
    given = None if options.params is None else starts(options.params, ranks(program.params))
    begins = parameters(program, given)
    outputs = [r.name for r in program.results]
    wanted = [Comparison(v, v) for v in outputs] if options.y is None else targets(options.y, outputs)
    absolute = absolute_sigma(options, wanted)
    request = Request("jacobian", source, [t.output for t in wanted], list(begins), fast=options.fast_math, zeros=True)
    task = prepared(request, options)
    reporter = Reporter(task, options, options.jobs)
    reporter.begin()
    try:
        o = observations(program, begins, wanted, options)
    except BadTable as fault:
        if options.y is None and any(f"no column '{v}'" in fault.message for v in outputs):
            raise no_target() from None
        say(fault)
        return 5
    fit = planned(task, begins, o, options.jobs)
    try:
        asked = listed(options.uncertainties) if options.uncertainties else None
        found = fit.made(Loss(options.loss, options.f_scale), absolute, options.evaluations, asked)
    except NotFinite as fault:
        say("\n".join([f"adcli: error: {not_finite_at(fit, fault.at)}", *explained(fit, task, fault.at)]))
        return 1
    told = Answered(found, begins, any(t.sigma is not None for t in wanted))
    with packed_destination(options.output) as out:
        write_points(out, written(told, options))
    if options.plot:
        from adcli.fit.figure import picture
        from adcli.pictures.destinations import write_beside
        write_beside(picture(fit, program, found, o), options.plot)
    return concluded(fit, task, found, reporter, options)


def no_target() -> AdError:
    return AdError("nothing to compare the output with: no column has its name",
                   help="name a column: --y y, or --y 0 where the output is the residual")


def absolute_sigma(options: FitOptions, wanted: Sequence[Comparison]) -> bool:
    """True if the standard uncertainties of observations are taken as they are."""
    known = any(t.sigma is not None for t in wanted)
    if not options.f_scale > 0 or options.f_scale == float("inf"):
        raise AdError(f"--f-scale {options.f_scale}: must be greater than 0 and finite")
    require_fit(options, "fit")
    if options.sigma == "absolute" and not known:
        raise AdError("--sigma absolute needs standard uncertainties", help=f"name their column: --y {options.y}:SIGMA")
    if options.sigma == "absolute" and options.loss != "linear":
        raise AdError(f"--sigma absolute and --loss {options.loss} cannot be used together",
                      help="with a robust loss, uncertainties come from the scatter of the residuals")
    return known and options.sigma != "relative" and options.loss == "linear"


# ---------------------------------------------------------------- the observations

def observations(program: Program, begins: Mapping[str, Begin], wanted: Sequence[Comparison],
                 options: FitOptions) -> Observations:
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
    if there := given_tables(options):
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

    inputs = {p.name: found[p.name] if p.name in found else every_row(fixed.get(p.name, p.default)) for p in others}
    o = Observations(inputs, [numbers(t.observed) for t in wanted], [numbers(t.sigma) for t in wanted],
                     np.asarray(found[column(options.weights)], np.float64) if options.weights else None,
                     [called(t) for t in wanted], places)
    return without_bad(o, faults, options)


def compared_columns(program: Program, wanted: Sequence[Comparison], options: FitOptions) -> list[Param]:
    """The columns of a table that something is compared with, or weighted by. AdError where one is no column."""
    shapes = {r.name: shape_of(r.atom) for r in program.results}
    found: dict[str, Param] = {}
    for t in wanted:
        for x in (t.observed, t.sigma):
            if isinstance(x, np.ndarray) and not shapes[t.output]:
                raise AdError(f"'{t.output}' is a number, which is compared with a column or a number",
                              help=f"write --y {t.output}=y, for a column y of the table")
            if isinstance(x, str) and not (x.startswith("@") and has_tensors(program)):
                found[x] = Param(Var(x, shape=shapes[t.output]), x)
    if (w := options.weights) and not (w.startswith("@") and has_tensors(program)):
        found.setdefault(w, Param(Var(w), w))
    return list(found.values())


def column(name: str) -> str:
    """Key of a column that is compared with, distinct from those of inputs."""
    return f"--y {name}"


def called(t: Comparison) -> str:
    return f"column '{t.observed}'" if isinstance(t.observed, str) else f"--y for {t.output}"


def fixed_inputs(program: Program, begins: Mapping[str, Begin], options: FitOptions) -> dict[str, Any]:
    """The inputs that --at gives."""
    found: dict[str, Any] = {}
    kinds = ranks(program.params)
    known = [p.name for p in program.params if p.name not in begins]
    for spec in options.at:
        for axis in axes(spec, kinds):
            if len(axis) != 1:
                raise AdError("--at gives inputs one value for all rows", help="write --at k=3")
            for name, x in arrays_of(axis[0]).items():
                if name in begins:
                    raise AdError(f"'{name}' is a parameter, which --at fixes", help=f"its start: --params {name}=1")
                if name not in known:
                    raise unknown_name("input", name, known)
                if name in found:
                    raise AdError(f"'{name}' is given twice")
                found[name] = x
    return found


def of_tensors(others: Sequence[Param], fixed: Mapping[str, Any], wanted: Sequence[Comparison],
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


def table_columns(there: Sequence[Location], free: Sequence[Param], others: Sequence[Param], fixed: Collection[str],
                  options: FitOptions, tensors: bool) -> tuple[dict[str, Any], dict[int, BadTable], Places]:
    """The columns of inputs, and those that are compared with by `column`; the bad rows; where rows come from."""
    if options.on_error == "mark":
        raise AdError("a fit writes no rows that could be marked", help="write --on-error skip")
    params = [*free, *others]
    parts: list[list[Any]] = [[] for _ in params]
    faults: dict[int, BadTable] = {}
    sizes: list[tuple[str, int]] = []
    for location in there:
        found, bad = whole_table(location.opened(), options).read(params, fixed)
        before = sum(size for _, size in sizes)
        faults |= {before + row: fault for row, fault in bad.items()}
        sizes.append((location.name, len(found[0]) if found else 0))
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


def concluded(fit: Fit, task: Task, found: Fitted, reporter: Reporter, options: FitOptions) -> int:
    """Say what a reader of the answer must know; returns the exit code."""
    for note in notes(fit, task, found):
        reporter.say(note)
    if not found.converged:
        more = f", or allow more: --evaluations {10 * options.evaluations}" if found.evaluations > options.evaluations else ""
        reporter.say(f"help: start nearer to the solution (--params), or set bounds ('b=1 in [0, 10]'){more}")
    if not len(found.reported):
        reporter.say(f"help: name those whose uncertainties are needed, --uncertainties {next(iter(fit.begins))}, or all")
    rough = list(not_smooth(fit, task, found))
    for note in rough:
        reporter.say(note)
    reporter.failed |= bool(rough)
    code = reporter.conclude(options.strict)
    return code or int(not found.converged or not all(map(is_gauge, connected(found.undetermined))))
