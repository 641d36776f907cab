"""The verb propagate: standard uncertainties of inputs in, those of outputs out.

To first and second order that is a Program (`adcli.lang.derive.uncertainty`), so rows and emitted code are what they are for
every other verb. At points, given as x=2±0.1, there is an uncertainty budget, and on request a Monte-Carlo run of the same
native code with a verdict on the linear model.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from adcli.answers.reporter import Reporter
from adcli.command.options import FOR_C, of_option, option, plot_option, program_options, result_options, takes
from adcli.command.usage import WHAT, WRITTEN, Command, WholeNumber
from adcli.input.points import axes, joined, several
from adcli.input.settings import ResultOptions
from adcli.input.spreads import split
from adcli.input.values import listed, value
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import tensor_of
from adcli.output.numbers import number_format
from adcli.output.streams import columns_of, packed_destination, write_points
from adcli.output.wrap import fitted
from adcli.propagate import budgets
from adcli.propagate.at_points import Budgets
from adcli.propagate.coverage import probability
from adcli.propagate.given import GivenPoint, Sampling, given_points, moments, require_degrees, uncertain, with_files
from adcli.rows.sample_columns import opened
from adcli.rows.stream import stream, tables
from adcli.task.emit import emit
from adcli.task.request import Request
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared
from adcli.task.verbs import TABLE_FORMATS, VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adcli.lang.derive.uncertainty_figures import Correlation, Moments
    from adcli.lang.ir import Param, Program

COVERAGE = 0.95
BUDGET_FORMATS = ("text", "json", "csv", *TABLE_FORMATS)
AUTO = "auto"
"""--monte-carlo without a number: as many samples as make the figures stable."""


ROW = VERBS["propagate"]


@dataclass(frozen=True, kw_only=True)
class PropagateOptions(ResultOptions):
    """Options of propagate."""

    correlation: str | None = None
    second_order: bool = False
    monte_carlo: int | str | None = None
    seed: int = 0
    coverage: str | None = None
    shortest: bool = False
    concise: bool = False
    plot: str | None = None
    covariance: tuple[str, ...] = ()

    def request(self, source: Source, wrt: list[str] | None, correlations: tuple[Correlation, ...],
                moments: tuple[Moments, ...] = ()) -> Request:
        """The propagation of the uncertainties of these inputs."""
        for name in self.outputs or ():
            if ":" in name:
                raise AdError(f"⟦--of {name}⟧: propagate takes outputs, not derivatives")
        return Request("propagate", source, self.outputs, wrt, order=2 if self.second_order else 1, fast=self.fast_math,
                       correlations=correlations, moments=moments)

    @property
    def sampling(self) -> Sampling | None:
        """Sampling and coverage that are asked for."""
        if self.monte_carlo is None:
            self.refuse(["seed", "jobs", "shortest"], "needs ⟦--monte-carlo⟧ N")
            return None if self.coverage is None else Sampling(0, 0, probability(self.coverage))
        samples = None if isinstance(self.monte_carlo, str) else self.monte_carlo
        return Sampling(samples, self.seed, COVERAGE if self.coverage is None else probability(self.coverage), self.shortest)


@click.command("propagate", cls=Command, help=ROW.help, examples=ROW.examples)
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="Uncertain inputs, for rows and --emit (default: all but params).")
@of_option("Outputs to show (default: all).")
@option(WHAT, "--correlation", metavar="x:y=0.5,…", help="Correlation coefficients; inputs without one are independent.")
@option(WHAT, "--covariance", multiple=True, metavar="x=@C.npy",
        help="The covariance matrix of the elements of a tensor, row by row; repeatable.")
@option(WHAT, "--second-order", is_flag=True, help="Also mean and uncertainty to second order, by the Hessian.")
@option(WHAT, "--monte-carlo", type=WholeNumber(2, 10**10, (AUTO,)), metavar="N",
        help="Also Monte Carlo: N samples of the inputs, as in 1e6; auto draws until the figures are stable.")
@option(WHAT, "--seed", type=WholeNumber(0, 2**63 - 1), default=0, show_default=True, metavar="S", help="Seed of the samples.")
@option(WHAT, "--coverage", metavar="P",
        help="Also expanded uncertainties and intervals that hold a value with probability P (default with --monte-carlo: 0.95).")
@option(WHAT, "--shortest", is_flag=True, help="Also the shortest interval of the samples.")
@plot_option("the sampled distribution and that of the linear model")
@option(WRITTEN, "--concise", is_flag=True, help="Write 12.0(1) instead of 12.0 ± 0.1 in comments and tables.")
@result_options(ROW.formats, without=("digits", "enclose"), helps={
    **FOR_C,
    "at": "x=2±0.1,y=5±2%,z=1 (+- works for ±); x=2.0(1); x=2±0.1~rect for a distribution; x=@values.csv:column; exact inputs"
          " also z=0:1:11 for a range or @points.json; repeatable.",
    "data": "A table with columns x and u_x: a file of CSV, TSV, JSON or Parquet, a folder of these, 'parts/*.csv', or - for"
            " standard input; repeatable. Piped rows need no --data.",
    "jobs": "Threads for rows and samples (default: all)."})
@takes(PropagateOptions)
def command(options: PropagateOptions) -> int:
    program = options.source
    told = coefficients(options.correlation)
    if not options.at or options.data or options.emit:
        require_fit(options, "propagate")
        for name in {} if not options.emit else split(",".join(options.at))[1]:
            raise AdError(f"⟦--at {name}⟧: an emitted program has the uncertainty as an input, u_{name}",
                          help=f"leave '{name}' out of ⟦--at⟧, or its spread for an exact constant")
        task = prepared(options.request(program, options.inputs, told)._replace(dof=options.coverage is not None), options)
        if task.signature.tensors:
            raise AdError("uncertainties of tensors, and through loops and matrices, are worked out at points",
                          help="give a point: ⟦--at 'x=[1,2]±0.1'⟧, or ⟦--at x=@x.npy⟧ with ⟦--covariance x=@C.npy⟧")
        return in_rows(task, options)
    require_fit(options, "propagate at points")
    if options.plot:
        from adcli.pictures.destinations import require_place
        require_place(options.plot, options.form, options.output)
    if options.form not in BUDGET_FORMATS:
        raise AdError(f"an uncertainty budget is not written as {options.form}",
                      help="write --format text, json, csv, markdown or latex")
    return at_points(program, told, options.sampling, options)


def coefficients(text: str | None) -> tuple[tuple[str, str, float], ...]:
    """The coefficients of --correlation, each a number from −1 to 1 for two different names."""
    found: dict[frozenset[str], tuple[str, str, float]] = {}
    for part in listed(text or ""):
        pair, equals, number = part.partition("=")
        x, colon, y = (name.strip() for name in pair.partition(":"))
        if not (equals and colon and x and y):
            raise AdError(f"⟦--correlation⟧: '{part}' is not x:y=number", help="write ⟦--correlation x:y=0.5⟧")
        r = value(f"{x}:{y}", number)
        if not -1 <= r <= 1:
            raise AdError(f"⟦--correlation {part}⟧: a correlation coefficient must be from -1 to 1")
        if x == y:
            raise AdError(f"⟦--correlation {part}⟧: give two different inputs")
        if frozenset((x, y)) in found:
            raise AdError(f"⟦--correlation⟧: {x}:{y} is given twice")
        found[frozenset((x, y))] = (x, y, r)
    if text is not None and not found:
        raise AdError("⟦--correlation⟧ names nothing", help="write ⟦--correlation x:y=0.5⟧")
    return tuple(found.values())


def in_rows(task: Task, options: PropagateOptions) -> int:
    """Propagation without a point: rows, or a program; piped rows need no --data."""
    if options.coverage is None:
        reporter = Reporter(task, options)
    else:
        from adcli.propagate.coverage_rows import CoverageReporter, CoverageRun
        reporter = CoverageReporter(task, options)
    reporter.begin()
    if options.emit:
        emit(task, options)
        return 0
    require_fit(options, "nothing emitted")
    if options.data and options.in_parts:
        from adcli.engines.run import run
        require_fit(options, "propagate in parts")
        return run(task, options, reporter)
    require_fit(options, "whole tables")
    found = tables(task, options)
    if not found:
        raise AdError("no uncertainties", help="give a point with spreads: ⟦--at x=2±0.1,y=5±2%⟧; rows with columns x and u_x:"
                                               " --data FILE or piped in; or --emit text for the program itself")
    return stream(task, found, options, reporter, None if options.coverage is None else CoverageRun)


# ---------------------------------------------------------------- points

def together(text: Source, specs: Sequence[str]) -> Sequence[str]:
    """Points of --at, `joined`, before the derivative is known, which depends on them."""
    if len(specs) < 2:
        return specs
    from adcli.lang.lower.frontend import parse_source
    return joined(parse_source(text).params, specs)


def prepared_budgets(text: Source, points: Sequence[GivenPoint], told: tuple[Correlation, ...], sampling: Sampling | None,
                     options: PropagateOptions, whole: Program | None = None,
                     heard: Callable[[object], object] | None = None) -> Budgets:
    """Budgets of all points, ready to be computed; `whole` as of a Task, `heard` as of a Reporter."""
    if whole and has_tensors(whole):
        return of_elements(text, points, told, sampling, options, whole, heard)
    names = uncertain(points)
    if not names:
        for point in points if whole is None else ():
            axes(point.plain, {})   # what is wrong there is said first
        example = with_spreads(text)
        raise AdError("no uncertainties", help=f"give inputs a spread, one standard deviation: ⟦--at {example}⟧" if example else
                      "the program has no input that could have a spread")
    correlations = with_files(points, told)
    if sampling:
        require_degrees(points, correlations)
    beyond = moments(points, correlations) if options.second_order else ()
    task = prepared(options.request(text, names, correlations, beyond), options, whole)
    if task.signature.tensors:
        return of_elements(text, points, told, sampling, options, task.primal, heard)
    if options.covariance:
        raise AdError("⟦--covariance⟧ is of the elements of a tensor", help="write ⟦--correlation x:y=0.5⟧ for numbers")
    reporter = Reporter(task, options, heard=heard)
    reporter.begin()
    return Budgets(task, points, sampling, options, reporter)


def with_spreads(text: Source) -> str:
    """A point with spreads, of the first inputs that the program has; empty where none may have one."""
    from adcli.lang.lower.frontend import parse_source
    known = [p for p in parse_source(text).params if not p.var.integer][:2]
    given = [f"{p.name}={estimate(p, number)}{spread}"
             for p, number, spread in zip(known, ("2", "5"), ("±0.1", "±2%"), strict=False)]
    point = ",".join(given)
    return f"'{point}'" if "[" in point else point


def estimate(param: Param, number: str) -> str:
    """Example of a value for an input: a number, a vector, a file."""
    return number if not param.var.shape else "[2,3]" if len(param.var.shape) == 1 else f"@{param.name}.npy"


def tensors(text: Source, specs: Sequence[str], options: PropagateOptions) -> Program | None:
    """The program, where points may have tensors and it has some: a file may hold either a tensor or the values of a number."""
    if not options.covariance and not any(c in spec for spec in specs for c in "[@"):
        return None
    from adcli.lang.lower.frontend import parse_source
    program = parse_source(text)
    return program if has_tensors(program) else None


def of_elements(text: Source, points: Sequence[GivenPoint], told: tuple[Correlation, ...], sampling: Sampling | None,
                options: PropagateOptions, program: Program, heard: Callable[[object], object] | None) -> Budgets:
    """Budgets of a program with tensors or loops, whose elements are numbers."""
    from adcli.propagate.elements import given_elements, with_elements
    from adcli.propagate.matrices import Linearised, MatrixBudgets, many, numbers_of
    from adcli.task.derive import chosen
    from adcli.task.shapes import written_out
    remarks: list[object] = []
    request = options.request(text, None, ())
    primal = chosen(program, request.of and list(dict.fromkeys(tensor_of(name) for name in request.of)))
    draws = sampling is not None and sampling.samples != 0
    at, point, correlations = given_elements(primal, points, options.covariance, draws, remarks.append)
    if not draws and not options.second_order and point.spreads and many(primal, point.spreads, at):
        found = Linearised(request._replace(of=None), options, primal, at, list(point.spreads), request.of)
        whole_point = point._replace(elements=numbers_of(primal, at, point.spreads))
        budgets: Budgets = MatrixBudgets(found, whole_point, (*told, *correlations), sampling, options, heard)
    else:
        whole = written_out(primal, at, "propagate")
        budgets = prepared_budgets(text, [point._replace(elements=whole.at)], (*told, *correlations), sampling,
                                   replace(options, of=None, covariance=()), with_elements(whole.program, request.of), heard)
    for remark in remarks:
        budgets.reporter.say(remark)
    return budgets


def at_points(text: Source, told: tuple[Correlation, ...], sampling: Sampling | None, options: PropagateOptions) -> int:
    """Write the budgets of all points; returns the exit code."""
    specs = together(text, options.at)
    whole = tensors(text, specs, options)
    if whole:
        from adcli.propagate.elements import given_tensors
        points = [given_tensors(whole, spec) for spec in specs]
    else:
        points = given_points(specs, partial(opened, options=options))
    if not any(spread.sample for point in points for spread in point.spreads.values()):
        require_fit(options, "propagate without values")
    writer = prepared_budgets(text, points, told, sampling, options, whole)
    if options.plot:
        from adcli.propagate.pictured import keep_samples
        keep_samples(writer)
    number = number_format(options.fmt, options.hexadecimal)
    shown = budgets.concise if options.concise else budgets.rounded
    headed = several([point.plain for point in points])
    found = writer.all()
    with packed_destination(options.output, options.document and headed) as out:
        match options.form:
            case "json":
                written = budgets.json_rows(found, number)
            case "csv":
                written = budgets.csv_rows(found, number)
            case "text":
                columns = columns_of(options.output)
                written = (fitted(text, columns, program=True) for text in budgets.text(found, number, headed, shown))
            case form:
                from adcli.propagate.tables import tables
                plain = options.fmt is None and not options.hexadecimal
                written = tables(form, found, None if plain else number, shown, headed)
        write_points(out, written)
    if options.plot:
        from adcli.pictures.destinations import write_beside
        from adcli.propagate.pictured import picture_of
        write_beside(picture_of(writer), options.plot)
    return writer.reporter.conclude(options.strict)
