"""The verb fit: parameters of a program from the rows of a table, by least squares."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from adcli.answers.reporter import Reporter
from adcli.command.options import FOR_C, format_option, of_option, option, plot_option, program_options, result_options, takes
from adcli.command.usage import TRUST, WHAT, Command, OneOf, WholeNumber
from adcli.fit.data import Begin, Comparison, Observations, places_at, starts, targets
from adcli.fit.fit import Fit, Fitted, planned
from adcli.fit.inference import COVERAGE, KINDS, comparison, intervals, predicted_table, predictions, require_predictable, rival
from adcli.fit.notes import connected, explained, is_gauge, not_finite_at, not_smooth, notes
from adcli.fit.objective import RowLoss, apart, cost_of, require_scatter, with_inputs
from adcli.fit.observed import EVALUATIONS, FitOptions, GivenTables, fixed_inputs, grid, no_target, observations
from adcli.fit.summary import FORMATS, Answered, written
from adcli.input.points import names_in, ranks, unknown_name
from adcli.input.programs import is_formula, read_source
from adcli.input.settings import EMIT_OPTIONS, PART_OPTIONS
from adcli.input.values import listed
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse_source
from adcli.numerics.least_squares import NotFinite
from adcli.numerics.losses import LOSSES, Loss
from adcli.output.streams import packed_destination, say, write_points
from adcli.propagate.coverage import probability
from adcli.tables.streams import BadTable
from adcli.task.request import Request
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared

DENSITIES = ("poisson", "poisson_log", "bernoulli", "bernoulli_logit", "exponential")
"""The log densities that are losses by their names, which are loaded when one is asked for."""
WITHOUT = ("emit", *EMIT_OPTIONS, *PART_OPTIONS, "digits", "enclose", "status", "only", "form")


class LossText(OneOf):
    """The name of a loss, or an expression, which is looked at later."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


@click.command("fit", cls=Command,
               examples=("adcli fit -e 'v = a*(1 - exp(-k*x))' --params a=100,k=1e-3 --data samples/adsorption.csv --y y",
                         "adcli fit samples/adsorption.ad --data samples/adsorption.csv --y y --params 'b1=500 in [0,1e3],b2'"))
@program_options
@option(WHAT, "--y", metavar="COLUMN",
        help="What the output is compared with: a column or a number, after : its standard uncertainty; v=y1:s1,w=y2 for several"
             " outputs; 0 where the output is the residual (default: the column of the output's name).")
@option(WHAT, "--params", metavar="x=1,…",
        help="Parameters with starts and bounds: b1=500,b2=1e-4, 'b1=500 in [0, 1000]', A=@start.npy; 'b=5 by run' has one value"
             " for each run, 'b=2*a' is linked (default: all params that --at does not fix).")
@of_option("Outputs to fit (default: all).")
@option(WHAT, "--sigma", type=OneOf("word", ("absolute", "relative")),
        help="Take the uncertainties after --y y:s as they are (absolute, the default), or only their ratios.")
@option(WHAT, "--weights", metavar="COLUMN", help="The weights of the squares, a column or an expression of columns: '1/s**2'.")
@option(WHAT, "--loss", type=LossText("loss", (*LOSSES, *DENSITIES)), default="linear",
        help="What is minimised: squares (linear), a loss that gives outliers less weight, minus the log density of counts, or an"
             " expression of predicted, observed, residual, parameters and columns.")
@option(WHAT, "--prior", multiple=True, metavar="EXPR",
        help="A log density of parameters, such as 'normal_lpdf(k, 0, 1)', that is added to minus the loss; repeatable.")
@option(WHAT, "--f-scale", type=float, default=1.0, metavar="C",
        help="The residual, in standard uncertainties where they are given, from which on it counts as an outlier.")
@option(TRUST, "--evaluations", type=WholeNumber(1, 10**9), default=EVALUATIONS, metavar="N",
        help="Evaluations of the model that one attempt of a solver may take.")
@option(WHAT, "--uncertainties", metavar="x,…",
        help="Parameters that get standard uncertainties, or all (default: all, where there are at most 1000 numbers).")
@option(WHAT, "--predict", metavar="ROWS",
        help="Write the outputs of the fit at the rows of a table, or at x=0:10:11, with standard errors, and bands of the curve"
             " and of new observations.")
@option(WHAT, "--interval", type=OneOf("interval", KINDS),
        help="Also intervals of the parameters: by the t-distribution, or by the profile of the cost, which --plot then draws.")
@option(WHAT, "--against", multiple=True, metavar="PROGRAM",
        help="Another model of the same data, a file or a formula: also a table of AIC, AICc, BIC and the F or likelihood ratio"
             " test; --params has the parameters of all; repeatable.")
@option(WHAT, "--coverage", metavar="P", help="The probability that bands and intervals hold (default: 0.95).")
@plot_option("the data, the curve with its bands and the residuals")
@format_option(FORMATS, "Format of the results (default: by the suffix of -o FILE; else text, which is param lines); program,"
                        " or -o FILE.ad, is the fitted program with its uncertainties, which eval and propagate read.")
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
    try:
        tables, source = GivenTables(options), options.source
        asked = posed(options, source, tables)
        found = answered(asked, options)
        if found is None:
            return 1
        coverage = COVERAGE if options.coverage is None else probability(options.coverage)
        ends = intervals(found, options.interval, coverage, bool(options.plot)) if options.interval else None
        predicted = predicted_rows(asked, found, options, coverage) if options.predict is not None else None
        rivals = compared(asked, found, source, options, tables) if options.against else None
    except BadTable as fault:
        say(fault)
        return 5
    fixed = fixed_inputs(asked.program, asked.declared, options)
    known = any(t.sigma is not None for t in asked.wanted)
    told = Answered(found, asked.program, asked.begins, fixed, known, predicted, ends, rivals)
    with packed_destination(options.output) as out:
        write_points(out, written(told, options))
    if options.plot:
        from adcli.fit.figure import picture, profiles
        options.draw(profiles(found, ends) if ends and ends.kind == "profile" else
                     picture(asked.fit, asked.program, found, asked.observations, coverage))
    for note in ends.said() if ends else ():
        asked.reporter.say(note)
    return concluded(asked, found, options) or int(ends is not None and ends.failed)


class PosedFit(NamedTuple):
    """A fit that is asked for."""

    program: Program
    declared: Mapping[str, Begin]
    begins: Mapping[str, Begin]
    wanted: Sequence[Comparison]
    absolute: bool
    task: Task
    reporter: Reporter
    observations: Observations
    fit: Fit


def posed(options: FitOptions, source: Source, tables: GivenTables,
          first: Mapping[str, Begin] = MappingProxyType({})) -> PosedFit:
    """The fit of the program with this text. What has no start has that of the `first` of several models. BadTable where a row is
    bad."""
    program = parse_source(source)
    text, links = apart(options.params)
    links = {n: e for n, e in links.items() if not options.against or any(p.name == n for p in program.params)}
    program, cost = cost_of(options.loss, options.prior).of_model(program, links, options.outputs, tables.columns)
    read = program
    given = None if options.params is None else starts(text or "", ranks(program.params))
    if given is None and (at := {*chain.from_iterable(map(names_in, options.at))}):
        given = {p.name: None for p in program.params if not p.active and not p.var.integer and p.name not in at}
    if given is not None and options.against:   # of which each model has some
        own = {p.name for p in program.params} | {*cost.names}
        given = {name: begin for name, begin in given.items() if name in own}
    if first:
        given = {p.name: None for p in program.params if not p.active and not p.var.integer} if given is None else given
        given |= {p.name: first[p.name] for p in program.params
                  if p.name in first and p.default is None and given.get(p.name) is None}
    begins = cost.parameters(program, given, tables.columns)
    program = with_inputs(program, begins)
    outputs = [r.name for r in program.results]
    wanted = [Comparison(v, v) for v in outputs] if options.y is None else targets(options.y, outputs)
    absolute = absolute_sigma(options, wanted, cost)
    request = Request("jacobian", source, [t.output for t in wanted], list(begins), fast=options.fast_math, zeros=True)
    task = prepared(request, options, None if not links and program is read else program)
    reporter = Reporter(task, options, options.jobs)
    reporter.begin()
    try:
        o = observations(with_inputs(program, cost.names), begins, wanted, options, tables)
    except BadTable as fault:
        if options.y is None and any(f"no column '{v}'" in fault.message for v in outputs):
            raise no_target() from None
        raise
    fit = planned(task, begins, o, options.jobs, cost)
    return PosedFit(program, begins, fit.begins, wanted, absolute, task, reporter, o, fit)


def compared(asked: PosedFit, found: Fitted, source: Source, options: FitOptions,
             tables: GivenTables) -> tuple[list[str], list[list[str | float]]]:
    """The table of --against. AdError where a parameter is one of no model, or another model has no fit; BadTable where a row is
    bad."""
    rivals, known = [rival(model_name(source), asked.fit, found)], {*asked.declared}
    one = options.y or (str(asked.wanted[0].observed) if len(asked.wanted) == 1 else None)   # whatever another output is called
    for text in options.against:
        other = read_source(None, (text,)) if is_formula(text) else read_source(text, ())
        posed_other = posed(replace(options, of=None, uncertainties=None, y=one), other, tables, asked.declared)
        fitted = answered(posed_other, options)
        if fitted is None or not fitted.converged:
            raise AdError(f"the fit of {model_name(other)} has not converged", help="give starts nearer to its solution")
        rivals.append(rival(model_name(other), posed_other.fit, fitted))
        known |= {*posed_other.declared}
    for name in starts(apart(options.params)[0] or "", {}) if options.params else ():
        if name not in known:
            raise unknown_name("parameter", name, sorted(known))
    return comparison(rivals)


def model_name(source: Source) -> str:
    """A file, or the text of -e on one line."""
    return "; ".join(source.text.split("\n")).strip("; ") if source.name == "-e" else source.name


def answered(asked: PosedFit, options: FitOptions) -> Fitted | None:
    """The fit, or None where the start has no residuals, which is said."""
    names = listed(options.uncertainties) if options.uncertainties else None
    try:
        return asked.fit.made(Loss(options.loss, options.f_scale), asked.absolute, options.evaluations, names)
    except NotFinite as fault:
        told = explained(asked.fit, fault.at)
        say("\n".join([f"adcli: error: {not_finite_at(asked.fit, fault.at)}", *told]))
        return None


def absolute_sigma(options: FitOptions, wanted: Sequence[Comparison], cost: RowLoss) -> bool:
    """True if the standard uncertainties of observations are taken as they are."""
    known = any(t.sigma is not None for t in wanted)
    if not options.f_scale > 0 or options.f_scale == float("inf"):
        raise AdError(f"--f-scale {options.f_scale}: must be greater than 0 and finite")
    require_fit(options, "fit")
    if cost.loss:
        require_fit(options, "log density")
        require_scatter(cost, known)
        return True
    if options.sigma == "absolute" and not known:
        columns = ",".join([f"{t.output}={t.observed}:SIGMA" for t in wanted])
        raise AdError("--sigma absolute needs standard uncertainties", help=f"name their column: ⟦--y {columns}⟧")
    if options.sigma == "absolute" and options.loss != "linear":
        raise AdError(f"--sigma absolute and --loss {options.loss} cannot be used together",
                      help="with a robust loss, uncertainties come from the scatter of the residuals")
    return known and options.sigma != "relative" and options.loss == "linear"


def predicted_rows(asked: PosedFit, found: Fitted, options: FitOptions, coverage: float) -> dict[str, list[Any]]:
    """The table of --predict. BadTable where a row is bad."""
    fit = asked.fit
    require_predictable(asked.program, fit)
    inputs, scatters, labels = grid(asked.program, fit.model.names, asked.wanted, options, asked.observations.sets)
    places = places_at(fit.model.of, asked.observations.sets, asked.declared, labels) if labels else None
    made = predictions(fit, found, inputs, scatters, coverage, places)
    if not options.quiet and any(p.half_new is None for p in made):
        robust = options.loss != "linear"
        say("note: no band for new observations: " + ("their scatter is not known with this loss" if robust else
                                                    "the rows have no column of their standard uncertainty or weight"))
    return predicted_table({**labels, **inputs}, made)


def concluded(asked: PosedFit, found: Fitted, options: FitOptions) -> int:
    """Say what a reader of the answer must know; returns the exit code."""
    fit, task, reporter = asked.fit, asked.task, asked.reporter
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
    code = reporter.conclude()
    return code or int(not found.converged or not all(map(is_gauge, connected(found.undetermined))))
