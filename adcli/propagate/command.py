"""The verb propagate: standard uncertainties of inputs in, those of outputs out.

To first and second order that is a Program (`adcli.lang.derive.uncertainty`), so rows and emitted code are what they are for
every other verb. At points, given as x=2±0.1, there is an uncertainty budget, and on request a Monte-Carlo run of the same
native code with a verdict on the linear model.
"""
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from adcli.answers.reporter import Reporter
from adcli.command.options import FOR_C, of_option, option, plot_option, program_options, result_options, takes
from adcli.command.usage import WHAT, WRITTEN, Command, WholeNumber
from adcli.input.distributions import split
from adcli.input.points import joined, several
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import AdError, Source
from adcli.output.numbers import number_format
from adcli.output.streams import columns_of, packed_destination, write_points
from adcli.output.wrap import fitted
from adcli.propagate import budgets
from adcli.propagate.given import Sampling, given_points
from adcli.propagate.prepare import AUTO, PropagateOptions, coefficients, prepared_budgets, with_stated
from adcli.rows.sample_columns import opened
from adcli.rows.stream import stream, tables
from adcli.task.emit import emit
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared
from adcli.task.verbs import TABLE_FORMATS, VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adcli.lang.derive.uncertainty_figures import Correlation
    from adcli.lang.ir import Program

BUDGET_FORMATS = ("text", "json", "csv", *TABLE_FORMATS)
ROW = VERBS["propagate"]


@click.command("propagate", cls=Command, help=ROW.help, examples=ROW.examples)
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="Uncertain inputs, for rows and --emit (default: all but params).")
@of_option("Outputs to show (default: all).")
@option(WHAT, "--correlation", metavar="x:y=0.5,…", help="Correlation coefficients; inputs without one are independent.")
@option(WHAT, "--covariance", multiple=True, metavar="x=@C.npy",
        help="The covariance matrix of the elements of a tensor, row by row; repeatable.")
@option(WHAT, "--second-order", help="Also mean and uncertainty to second order, by the Hessian.")
@option(WHAT, "--monte-carlo", type=WholeNumber(2, 10**10, (AUTO,)), metavar="N",
        help="Also Monte Carlo: N samples of the inputs, as in 1e6; auto draws until the figures are stable.")
@option(WHAT, "--seed", type=WholeNumber(0, 2**63 - 1), default=0, metavar="S", help="Seed of the samples.")
@option(WHAT, "--coverage", metavar="P",
        help="Also expanded uncertainties and intervals that hold a value with probability P (default with --monte-carlo: 0.95).")
@option(WHAT, "--shortest", help="Also the shortest interval of the samples.")
@plot_option("the sampled distribution and that of the linear model")
@option(WRITTEN, "--concise", help="Write 12.0(1) instead of 12.0 ± 0.1 in comments and tables.")
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
    options = with_stated(program, options)
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
    if options.form not in BUDGET_FORMATS:
        raise AdError(f"an uncertainty budget is not written as {options.form}",
                      help="write --format text, json, csv, markdown or latex")
    return at_points(program, told, options.sampling, options)


def in_rows(task: Task, options: PropagateOptions) -> int:
    """Propagation without a point: rows, or a program; piped rows need no --data."""
    if options.coverage is None:
        reporter = Reporter(task, options)
    else:
        from adcli.propagate.prepare import CoverageReporter, CoverageRun
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


def tensors(text: Source, specs: Sequence[str], options: PropagateOptions) -> Program | None:
    """The program, where points may have tensors and it has some: a file may hold either a tensor or the values of a number."""
    if not options.covariance and not any(c in spec for spec in specs for c in "[@"):
        return None
    from adcli.lang.lower.frontend import parse_source
    program = parse_source(text)
    return program if has_tensors(program) else None


def at_points(text: Source, told: tuple[Correlation, ...], sampling: Sampling | None, options: PropagateOptions) -> int:
    """Write the budgets of all points; returns the exit code."""
    specs = together(text, options.at)
    whole = tensors(text, specs, options)
    if whole:
        from adcli.propagate.uncertain_tensors import given_tensors
        points = [given_tensors(whole, spec) for spec in specs]
    else:
        points = given_points(specs, partial(opened, options=options))
    if not any(spread.sample for point in points for spread in point.spreads.values()):
        require_fit(options, "propagate without values")
    writer = prepared_budgets(text, points, told, sampling, options, whole)
    number = number_format(options.fmt, options.hexadecimal)
    shown = budgets.concise if options.concise else budgets.rounded
    headed = several([point.plain for point in points])
    found = writer.all()
    if options.plot:
        from adcli.propagate.pictured import keep_samples, picture_of
        keep_samples(writer)
        found = iter(drawn := [*found])
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
                from adcli.propagate.budget_tables import tables
                plain = options.fmt is None and not options.hexadecimal
                written = tables(form, found, None if plain else number, shown, headed)
        write_points(out, written)
    if options.plot:
        options.draw(picture_of(writer, drawn[0]))
    return writer.reporter.conclude()
