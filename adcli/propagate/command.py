"""The verb propagate: standard uncertainties of inputs in, those of outputs out.

To first and second order that is a Program (`adcli.lang.derive.uncertainty`), so rows and emitted code are what they are for
every other verb. At points, given as x=2±0.1, there is an uncertainty budget, and on request a Monte-Carlo run of the same
native code with a verdict on the linear model.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from adcli.answers.results import Watch, carry_out, evaluate
from adcli.command.options import names, program_options, read_source, refuse, result_options
from adcli.command.usage import Verb
from adcli.input.points import points, several, value, within
from adcli.input.spreads import split
from adcli.lang.ir import KINK, POLE, Lit
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.output.report import Row, number_format
from adcli.output.streams import destination, write_points
from adcli.propagate import budgets
from adcli.propagate.budgets import Budget, Correlations, Interval, Output, Sampling
from adcli.task.tasks import Request, Task, prepared

if TYPE_CHECKING:
    from adcli.lang.ir.errors import Source
    from adcli.propagate.monte_carlo import Sampled

COVERAGE = 0.95
AT_POINTS = ("monte_carlo", "seed", "coverage")
"""Options that only points have."""


@click.command("propagate", cls=Verb, short_help="Uncertainties of the outputs from those of the inputs.",
               example="adcli propagate -e 'v = x*sin(y)' --at x=2±0.1,y=0.5±2%")
@program_options
@click.option("--wrt", metavar="x,…", help="For rows and --emit, the uncertain inputs (default: all but params).")
@click.option("--of", metavar="v,…", help="Outputs to show (default: all).")
@click.option("--correlation", metavar="x:y=0.5,…", help="Correlation coefficients; inputs not paired are independent.")
@click.option("--second-order", is_flag=True, help="Also mean and uncertainty to second order, by the Hessian.")
@click.option("--monte-carlo", type=click.IntRange(2, 10**10), metavar="N", help="Also N samples of normally distributed inputs.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="S", help="Of the samples.")
@click.option("--coverage", metavar="P", help="Also intervals that contain a value with probability P (Monte Carlo: 0.95).")
@result_options
def propagate_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None,
                      correlation: str | None, second_order: bool, monte_carlo: int | None, seed: int, coverage: str | None,
                      **options: Any) -> int:
    """The outputs with their standard uncertainties, and the share of every input in them (percent of the variance).

    Uncertainties are standard uncertainties (one standard deviation); inputs without one are exact. Rows have them in
    columns u_x beside x. Results: v, u_v, share_v_x, corr_v_w; mean_v and u2_v with --second-order.
    """
    options |= {"digits": False, "enclose": False}
    source, outputs = read_source(program, expressions), names(of, "--of")
    for name in outputs or ():
        if ":" in name:
            raise AdError(f"--of {name}: outputs only, no derivatives of them")
    asked = {"order": 2 if second_order else 1, "fast": options["fast_math"], "correlations": coefficients(correlation)}
    if not options["at"]:
        refuse(AT_POINTS, "is for points, which --at gives")
        request = Request("propagate", source, outputs, names(wrt, "--wrt"), **asked)
        return in_rows(request, options)
    refuse(["wrt"], "is for rows and --emit: at points the inputs with a spread are the uncertain ones")
    refuse(["emit", "style", "lanes"], "and --at exclude each other")
    refuse(["data"], "and --at exclude each other")
    refuse(["input_format", "on_error", "missing"], "is about rows, which --data gives")
    chance = probability(coverage) if coverage is not None else COVERAGE if monte_carlo else None
    if monte_carlo is None:
        refuse(["seed", "jobs"], "is for --monte-carlo")
    sampling = Sampling(monte_carlo or 0, seed, chance) if chance is not None else None
    return at_points(source, outputs, asked, sampling, options)


SAID = {"at": "x=2±0.1,y=5±2%,z=1; +- is ± too; other inputs also z=0:1:11 for a range or @points.json; repeatable.",
        "data": "A table with columns x and u_x, - for standard input: CSV, TSV, NDJSON, Parquet. Piped rows need no --data.",
        "jobs": "Threads for rows and samples (default: all)."}
"""What options that all verbs have mean here."""
for parameter in propagate_command.params:
    if isinstance(parameter, click.Option) and parameter.name in SAID:
        parameter.help = SAID[parameter.name]
propagate_command.params = [p for p in propagate_command.params if p.name not in ("digits", "enclose")]


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
            raise AdError(f"--correlation {part}: a correlation coefficient lies from -1 to 1")
        if x == y:
            raise AdError(f"--correlation {part}: that of an input with itself is 1")
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
        raise AdError(f"--coverage {text}: a probability lies between 0 and 1", help="write --coverage 0.95 or 95%")
    return p


def in_rows(request: Request, options: Mapping[str, Any]) -> int:
    """What the verb does without a point; piped rows need no --data."""
    if options["emit"] or options["data"] is not None:
        return carry_out(prepared(request, options), options)
    from adcli.rows.stream import source, stream
    table = source(None)
    if table is None:
        raise AdError("no uncertainties", help="give a point with spreads, --at x=2±0.1,y=5±2%; rows with columns x and u_x,"
                                               " --data FILE or piped in; or --emit text for the program itself")
    refuse(["style", "lanes"], "is for --emit")
    task = prepared(request, options)
    watch = Watch(task, loud=not options["quiet"], derivatives=False)
    for remark in task.primal.notes:
        watch.say(remark)
    return stream(task, table, options)


# ---------------------------------------------------------------- points

def at_points(source: Source, of: list[str] | None, asked: Mapping[str, Any], sampling: Sampling | None,
              options: Mapping[str, Any]) -> int:
    """Write the budgets of all points; returns the exit code."""
    specs = [split(spec) for spec in options["at"]]
    uncertain = list(dict.fromkeys(x for _, spreads in specs for x in spreads))
    if not uncertain:
        raise AdError("no uncertainties", help="give inputs a spread, one standard deviation: --at x=2±0.1,y=5±2%")
    task = prepared(Request("propagate", source, of, uncertain, **asked), options)
    watch = Watch(task, loud=not options["quiet"], derivatives=options["form"] != "json")
    for remark in task.primal.notes:
        watch.say(remark)
    writer = Budgets(task, sampling, options, watch)
    number = number_format(options["fmt"], options["hexadecimal"])
    found = writer.all(located(task, specs, watch))
    written = {"text": lambda: budgets.text(found, number, several([plain for plain, _ in specs])),
               "csv": lambda: budgets.csv_rows(found, number), "json": lambda: budgets.json_rows(found, number)}
    with destination(options["output"]) as out:
        write_points(out, written[options["form"]]())
    writer.conclude()
    return 4 if options["strict"] and watch.failed else 0


def located(task: Task, specs: Sequence[tuple[str, dict[str, float]]], watch: Watch) -> Iterator[dict[str, float]]:
    """All points, complete, with the spreads of each; every name is checked before the first comes out."""
    inputs = [p for p in task.program.params if not p.seed]
    spreads = {p.seed or "": p.name for p in task.program.params if p.seed}
    found = []
    for plain, given in specs:
        at = within(inputs, points(inputs, [plain], watch.say), watch.say, task.primal.source)
        found.append((at, {name: given.get(x, 0.0) for x, name in spreads.items()}))
    return ({**point, **known} for at, known in found for point in at)


class Budgets:
    """The budgets of a task at points, one after the other."""

    def __init__(self, task: Task, sampling: Sampling | None, options: Mapping[str, Any], watch: Watch) -> None:
        from adcli.lang.derive.uncertainty_figures import cholesky, figures
        self.task, self.sampling, self.watch, self.jobs = task, sampling, watch, options["jobs"]
        self.outputs = [r.name for r in task.primal.results]
        self.order, correlations = task.request.order, task.request.correlations
        self.figures = figures(self.outputs, task.wrt, self.order, correlations)
        self.pairs = list(combinations(self.outputs, 2))
        self.factor = cholesky(task.wrt, correlations)
        self.spreads = {p.seed or "": p.name for p in task.program.params if p.seed}
        taken = Names.of(task.program)
        self.names: dict[budgets.Key, str] = dict(
            zip(self.figures, (r.name for r in task.program.results[len(self.outputs):]), strict=True))
        if sampling:
            self.names |= {(kind, v, ()): taken.fresh(f"{kind}_{v}") for v in self.outputs for kind in budgets.EXTRA}
            self.names |= {("mc_corr", v, (w,)): taken.fresh(f"mc_corr_{v}_{w}") for v, w in self.pairs}
        self.status = taken.fresh("status") if options["status"] else None
        self.told = 0
        self.sampler: Task | None = None
        if sampling and sampling.samples:
            self.sampler = prepared(task.request._replace(verb="eval", wrt=None, order=1, correlations=()), options)

    def all(self, at: Iterable[dict[str, float]]) -> Iterator[Budget]:
        return map(self.budget, self.watch.over(evaluate(self.task, at)))

    def budget(self, row: Row) -> Budget:
        """The budget at one point, with what there is to say about it."""
        count = len(self.outputs)
        values = dict(zip(self.outputs, row.results, strict=False))
        found: dict[budgets.Key, float] = dict(zip(self.figures, row.results[count:], strict=True))
        spreads = {x: row.at[name] for x, name in self.spreads.items()}
        at = {p.name: row.at[p.name] for p in self.task.program.params if not p.seed}
        sampled, sampled_together = self.sampled(at, spreads)
        outputs = [self.output(v, values[v], found, sampled.get(v)) for v in self.outputs]
        for output in outputs:
            self.remark(output, any(spreads.values()), smooth=row.level == 0)
        if KINK <= row.level <= POLE and not sampled:
            self.say("note: a linear model means little where a result is not smooth; --monte-carlo N samples around it")
        correlations = {pair: found["corr", pair[0], pair[1:]] for pair in self.pairs}
        return Budget(at, spreads, outputs, correlations, sampled_together, row.level, self.names, self.spreads, self.status,
                      self.sampling)

    def output(self, v: str, x: float, found: Mapping[budgets.Key, float], sampled: Sampled | None) -> Output:
        u = found["u", v, ()]
        known = u < math.inf or u != u   # no share of what is infinite can be told
        shares = {":".join(f.along): found[f] if known else math.nan for f in self.figures if f.kind == "share" and f.of == v}
        quadratic = (found["mean", v, ()], found["u2", v, ()]) if self.order > 1 else None
        return Output(v, x, u, shares, quadratic, self.interval(x, u, sampled),
                      self.interval(*quadratic, sampled) if quadratic else None, sampled)

    def interval(self, mean: float, u: float, sampled: Sampled | None) -> Interval | None:
        """The coverage interval of a normal distribution, and how it compares with the sampled one."""
        if self.sampling is None:
            return None
        from statistics import NormalDist
        reach = NormalDist().inv_cdf((1 + self.sampling.coverage) / 2) * u
        if sampled is None:
            return Interval(mean - reach, mean + reach)
        from adcli.propagate.monte_carlo import compared
        return Interval(mean - reach, mean + reach, compared(mean - reach, mean + reach, u, sampled))

    def sampled(self, at: Mapping[str, float], spreads: Mapping[str, float]) -> tuple[dict[str, Sampled], Correlations]:
        """What Monte Carlo says of every output and of every two of them."""
        if self.sampler is None or self.sampling is None:
            return {}, {}
        from adcli.output.progress import Progress
        from adcli.propagate.monte_carlo import Experiment, sample
        inputs = [p.name for p in self.sampler.program.params]
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

    def remark(self, output: Output, uncertain: bool, smooth: bool) -> None:
        """Say what a reader of the figures must know."""
        v, sampled = output.name, output.sampled
        if sampled and sampled.bad and self.sampling:
            self.watch.failed = True
            self.say(f"note: {v} is NaN or infinite for {sampled.bad} of {self.sampling.samples} samples;"
                           " the figures of Monte Carlo are those of the others")
        if output.u == 0 and uncertain and smooth and not sampled and not output.quadratic and self.depends(v):
            self.say(f"note: to first order nothing uncertain changes {v} here;"
                           " --second-order and --monte-carlo say more")
        verdicts = [i.agreement for i in (output.wider, output.interval) if i and i.agreement]
        if not sampled or not verdicts or not self.sampling:
            return
        if verdicts[-1].verdict == "differs":
            better = {None: "--second-order may do better" if smooth else "it is not smooth", "agrees": "to second order it is",
                      "unclear": "to second order it may be", "differs": "nor is the quadratic one: Monte Carlo is"}
            self.say(f"note: the linear model is not good enough for {v} here;"
                           f" {better[verdicts[0].verdict if output.wider else None]}")
        elif verdicts[-1].verdict == "unclear":
            from adcli.propagate.monte_carlo import samples_wanted
            wanted = max(samples_wanted(self.sampling.samples, verdicts[-1], sampled), default=0)
            enough = f": --monte-carlo {wanted} may" if self.sampling.samples < wanted <= 10**10 else ""
            self.say(f"note: too few samples to tell whether the linear model is good enough for {v}{enough}")

    def depends(self, v: str) -> bool:
        """Whether an output depends on anything uncertain at all."""
        atom = self.task.whole().program.result(self.names["u", v, ()]).atom
        return not isinstance(atom, Lit)

    def say(self, remark: str) -> None:
        """A remark, as long as there are not too many."""
        self.told += 1
        if self.told <= Watch.MOST:
            self.watch.say(remark)

    def conclude(self) -> None:
        self.watch.conclude()
        if self.told > Watch.MOST:
            self.watch.say(f"note: {self.told - Watch.MOST} more remarks of this kind")
