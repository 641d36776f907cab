"""The verb propagate: standard uncertainties of inputs in, those of outputs out.

To first and second order that is a Program (`adcli.lang.derive.uncertainty`), so rows and emitted code are what they are for
every other verb. At points, given as x=2±0.1, there is an uncertainty budget, and on request a Monte-Carlo run of the same
native code with a verdict on the linear model.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import click

from adcli.answers.evaluation import evaluate
from adcli.answers.watch import REMARKS, Watch
from adcli.command.options import ResultOptions, of_option, option, program_options, result_options, takes
from adcli.command.usage import WHAT, Command
from adcli.input.points import located, several
from adcli.input.spreads import split
from adcli.input.values import value
from adcli.lang.ir import KINK, POLE, Lit
from adcli.lang.ir.errors import AdError, Source
from adcli.output.layout import Row
from adcli.output.numbers import number_format
from adcli.output.streams import destination, write_points
from adcli.propagate import budgets
from adcli.propagate.budgets import Budget, Correlations, CoverageInterval, OutputBudget, Sampling
from adcli.rows.stream import source, stream
from adcli.task.emit import emit
from adcli.task.request import Request
from adcli.task.tasks import Task, prepared
from adcli.task.verbs import VERBS

if TYPE_CHECKING:
    from adcli.propagate.monte_carlo import Sampled

COVERAGE = 0.95
AT_POINTS = ("monte_carlo", "seed", "coverage")
"""Options that only points have."""


ROW = VERBS["propagate"]


@dataclass(frozen=True, kw_only=True)
class PropagateOptions(ResultOptions):
    """What propagate is told."""

    correlation: str | None = None
    second_order: bool = False
    monte_carlo: int | None = None
    seed: int = 0
    coverage: str | None = None

    def request(self, source: Source, wrt: list[str] | None) -> Request:
        """The propagation of the uncertainties of these inputs."""
        return Request("propagate", source, self.outputs, wrt, order=2 if self.second_order else 1, fast=self.fast_math,
                       correlations=coefficients(self.correlation))


@click.command("propagate", cls=Command, help=ROW.help, examples=ROW.examples)
@program_options
@option(WHAT, "--wrt", metavar="x,…", help="Uncertain inputs, for rows and --emit (default: all but params).")
@of_option("Outputs to show (default: all).")
@option(WHAT, "--correlation", metavar="x:y=0.5,…", help="Correlation coefficients; inputs without one are independent.")
@option(WHAT, "--second-order", is_flag=True, help="Also mean and uncertainty to second order, by the Hessian.")
@option(WHAT, "--monte-carlo", type=click.IntRange(2, 10**10), metavar="N",
        help="Also Monte Carlo: N samples of normally distributed inputs.")
@option(WHAT, "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="S", help="Seed of the samples.")
@option(WHAT, "--coverage", metavar="P",
        help="Also intervals that hold a value with probability P (default with --monte-carlo: 0.95).")
@result_options(ROW.formats, without=("digits", "enclose"), helps={
    "at": "x=2±0.1,y=5±2%,z=1 (+- works for ±); exact inputs also z=0:1:11 for a range or @points.json; repeatable.",
    "data": "A table with columns x and u_x, or - for standard input: CSV, TSV, NDJSON, Parquet. Piped rows need no --data.",
    "jobs": "Threads for rows and samples (default: all)."})
@takes(PropagateOptions)
def command(options: PropagateOptions) -> int:
    program = options.source
    for name in options.outputs or ():
        if ":" in name:
            raise AdError(f"--of {name}: propagate takes outputs, not derivatives")
    if not options.at:
        options.refuse(AT_POINTS, "needs points (--at POINT)")
        return in_rows(prepared(options.request(program, options.inputs), options), options)
    options.refuse(["wrt"], "is for rows and --emit; at points, inputs with a spread are uncertain")
    options.refuse(["emit", "style", "lanes"], "and --at cannot be used together")
    options.refuse(["data"], "and --at cannot be used together")
    options.refuse(["input_format", "on_error", "missing"], "needs rows (--data FILE)")
    coverage = options.coverage
    chance = probability(coverage) if coverage is not None else COVERAGE if options.monte_carlo else None
    if options.monte_carlo is None:
        options.refuse(["seed", "jobs"], "needs --monte-carlo N")
    return at_points(program, Sampling(options.monte_carlo or 0, options.seed, chance) if chance is not None else None, options)


def coefficients(text: str | None) -> tuple[tuple[str, str, float], ...]:
    """The coefficients of --correlation, each a number from −1 to 1 for two different names."""
    found: dict[frozenset[str], tuple[str, str, float]] = {}
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        pair, equals, number = part.partition("=")
        x, colon, y = (name.strip() for name in pair.partition(":"))
        if not (equals and colon and x and y):
            raise AdError(f"--correlation: '{part}' is not x:y=number", help="write --correlation x:y=0.5")
        r = value(f"{x}:{y}", number)
        if not -1 <= r <= 1:
            raise AdError(f"--correlation {part}: a correlation coefficient must be from -1 to 1")
        if x == y:
            raise AdError(f"--correlation {part}: give two different inputs")
        if frozenset((x, y)) in found:
            raise AdError(f"--correlation: {x}:{y} is given twice")
        found[frozenset((x, y))] = (x, y, r)
    if text is not None and not found:
        raise AdError("--correlation names nothing", help="write --correlation x:y=0.5")
    return tuple(found.values())


def probability(text: str) -> float:
    """A coverage probability, as a number or in percent."""
    p = value("--coverage", text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 < p < 1:
        raise AdError(f"--coverage {text}: a probability must lie between 0 and 1", help="write --coverage 0.95 or 95%")
    return p


def in_rows(task: Task, options: PropagateOptions) -> int:
    """What the verb does without a point; piped rows need no --data."""
    watch = Watch(task, options)
    watch.begin()
    if options.emit:
        emit(task, options)
        return 0
    options.refuse(["style", "lanes"], "needs --emit TARGET")
    table = source(task, options)
    if table is None:
        raise AdError("no uncertainties", help="give a point with spreads: --at x=2±0.1,y=5±2%; rows with columns x and u_x:"
                                               " --data FILE or piped in; or --emit text for the program itself")
    return stream(task, table, options, watch)


# ---------------------------------------------------------------- points

def at_points(text: Source, sampling: Sampling | None, options: PropagateOptions) -> int:
    """Write the budgets of all points; returns the exit code."""
    specs = [split(spec) for spec in options.at]
    uncertain = list(dict.fromkeys(x for _, spreads in specs for x in spreads))
    if not uncertain:
        raise AdError("no uncertainties", help="give inputs a spread, one standard deviation: --at x=2±0.1,y=5±2%")
    task = prepared(options.request(text, uncertain), options)
    watch = Watch(task, options)
    watch.begin()
    writer = Budgets(task, sampling, options, watch)
    number = number_format(options.fmt, options.hexadecimal)
    found = writer.all(with_spreads(task, specs, watch))
    with destination(options.output) as out:
        match options.form:
            case "json":
                written = budgets.json_rows(found, number)
            case "csv":
                written = budgets.csv_rows(found, number)
            case _:
                written = budgets.text(found, number, several([plain for plain, _ in specs]))
        write_points(out, written)
    return watch.conclude(options.strict)


def with_spreads(task: Task, specs: Sequence[tuple[str, dict[str, float]]], watch: Watch) -> Iterator[dict[str, float]]:
    """All points, complete, with the spreads of each; every name is checked before the first comes out."""
    inputs = task.signature.own
    spreads = {p.seed or "": p.name for p in task.signature.seeds}
    found = []
    for plain, given in specs:
        at = located(inputs, [plain], watch.say, task.signature.source)
        found.append((at, {name: given.get(x, 0.0) for x, name in spreads.items()}))
    return ({**point, **known} for at, known in found for point in at)


class Budgets:
    """The budgets of a task at points, one after the other."""

    def __init__(self, task: Task, sampling: Sampling | None, options: PropagateOptions, watch: Watch) -> None:
        from adcli.lang.derive.uncertainty_figures import cholesky, figures
        self.task, self.sampling, self.watch, self.jobs = task, sampling, watch, options.jobs
        self.outputs = list(task.signature.outputs)
        self.order, correlations = task.request.order, task.request.correlations
        wrt = task.signature.wrt
        self.figures = figures(self.outputs, wrt, self.order, correlations)
        self.pairs = list(combinations(self.outputs, 2))
        self.factor = cholesky(wrt, correlations)
        self.spreads = {p.seed or "": p.name for p in task.signature.seeds}
        taken = task.signature.names()
        self.names: dict[budgets.FigureKey, str] = dict(zip(self.figures, (c.name for c in task.signature.derived), strict=True))
        if sampling:
            self.names |= {(kind, v, ()): taken.fresh(f"{kind}_{v}") for v in self.outputs for kind in budgets.EXTRA}
            self.names |= {("mc_corr", v, (w,)): taken.fresh(f"mc_corr_{v}_{w}") for v, w in self.pairs}
        self.status = taken.fresh("status") if options.status else None
        self.sampler: Task | None = None
        if sampling and sampling.samples:
            self.sampler = prepared(task.request._replace(verb="eval", wrt=None, order=1, correlations=()), options)

    def all(self, at: Iterable[dict[str, float]]) -> Iterator[Budget]:
        return map(self.budget, self.watch.over(evaluate(self.task, at)))

    def budget(self, row: Row) -> Budget:
        """The budget at one point, with what there is to say about it."""
        count = len(self.outputs)
        values = dict(zip(self.outputs, row.results, strict=False))
        found: dict[budgets.FigureKey, float] = dict(zip(self.figures, row.results[count:], strict=True))
        spreads = {x: row.at[name] for x, name in self.spreads.items()}
        at = {p.name: row.at[p.name] for p in self.task.signature.own}
        sampled, sampled_together = self.sampled(at, spreads)
        outputs = [self.output(v, values[v], found, sampled.get(v)) for v in self.outputs]
        for output in outputs:
            self.remark(output, any(spreads.values()), smooth=row.level == 0)
        if KINK <= row.level <= POLE and not sampled:
            self.say("note: a linear model means little where a result is not smooth; try --monte-carlo 100000")
        correlations = {pair: found["corr", pair[0], pair[1:]] for pair in self.pairs}
        return Budget(at, spreads, outputs, correlations, sampled_together, row.level, self.names, self.spreads, self.status,
                      self.sampling)

    def output(self, v: str, x: float, found: Mapping[budgets.FigureKey, float], sampled: Sampled | None) -> OutputBudget:
        u = found["u", v, ()]
        known = u < math.inf or u != u   # no share of what is infinite can be told
        shares = {":".join(f.along): found[f] if known else math.nan for f in self.figures if f.kind == "share" and f.of == v}
        quadratic = (found["mean", v, ()], found["u2", v, ()]) if self.order > 1 else None
        return OutputBudget(v, x, u, shares, quadratic, self.interval(x, u, sampled),
                      self.interval(*quadratic, sampled) if quadratic else None, sampled)

    def interval(self, mean: float, u: float, sampled: Sampled | None) -> CoverageInterval | None:
        """The coverage interval of a normal distribution, and how it compares with the sampled one."""
        if self.sampling is None:
            return None
        from statistics import NormalDist
        reach = NormalDist().inv_cdf((1 + self.sampling.coverage) / 2) * u
        if sampled is None:
            return CoverageInterval(mean - reach, mean + reach)
        from adcli.propagate.monte_carlo import compared
        return CoverageInterval(mean - reach, mean + reach, compared(mean - reach, mean + reach, u, sampled))

    def sampled(self, at: Mapping[str, float], spreads: Mapping[str, float]) -> tuple[dict[str, Sampled], Correlations]:
        """What Monte Carlo says of every output and of every two of them."""
        if self.sampler is None or self.sampling is None:
            return {}, {}
        from adcli.output.progress import Progress
        from adcli.propagate.monte_carlo import Experiment, sample
        inputs = [p.name for p in self.sampler.signature.inputs]
        experiment = Experiment(self.sampler.kernel, [at[x] for x in inputs],
                                {inputs.index(x): u for x, u in spreads.items()}, self.factor)
        samples, seed, coverage = self.sampling.samples, self.sampling.seed, self.sampling.coverage
        progress = Progress(samples, shown=self.watch.loud)
        try:
            found, matrix = sample(experiment, samples, seed, coverage, self.jobs, lambda done: progress.update(done, done))
        finally:
            progress.clear()
        place = {v: i for i, v in enumerate(self.outputs)}
        return (dict(zip(self.outputs, found, strict=True)),
                {(v, w): float(matrix[place[v], place[w]]) for v, w in self.pairs})

    def remark(self, output: OutputBudget, uncertain: bool, smooth: bool) -> None:
        """Say what a reader of the figures must know."""
        v, sampled = output.name, output.sampled
        if sampled and sampled.bad and self.sampling:
            self.watch.failed = True
            self.say(f"note: {v} is NaN or infinite for {sampled.bad} of {self.sampling.samples} samples;"
                           " the Monte Carlo figures leave these out")
        if output.u == 0 and uncertain and smooth and not sampled and not output.quadratic and self.depends(v):
            self.say(f"note: to first order, no uncertain input changes {v} here;"
                           " try --second-order or --monte-carlo 100000")
        verdicts = [i.agreement for i in (output.wider, output.interval) if i and i.agreement]
        if not sampled or not verdicts or not self.sampling:
            return
        if verdicts[-1].verdict == "differs":
            better = {None: "try --second-order" if smooth else "it is not smooth", "agrees": "the quadratic one is",
                      "unclear": "the quadratic one may be",
                      "differs": "neither is the quadratic one; use the Monte Carlo figures"}
            self.say(f"note: the linear model is not good enough for {v} here;"
                           f" {better[verdicts[0].verdict if output.wider else None]}")
        elif verdicts[-1].verdict == "unclear":
            from adcli.propagate.monte_carlo import samples_wanted
            wanted = max(samples_wanted(self.sampling.samples, verdicts[-1], sampled), default=0)
            enough = f"; try --monte-carlo {wanted}" if self.sampling.samples < wanted <= 10**10 else ""
            self.say(f"note: too few samples to tell whether the linear model is good enough for {v}{enough}")

    def depends(self, v: str) -> bool:
        """Whether an output depends on anything uncertain at all."""
        atom = self.task.program.result(self.names["u", v, ()]).atom
        return not isinstance(atom, Lit)

    def say(self, remark: str) -> None:
        """A remark, as long as there are not too many."""
        self.watch.remark(REMARKS, lambda: remark)
