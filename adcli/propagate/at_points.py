"""The budgets of a propagation at points, one after the other: what its program, its degrees of freedom and its samples say,
and what a reader of the figures must be told.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from adcli.answers.evaluation import evaluate
from adcli.answers.reporter import REMARKS, Reporter
from adcli.input.distributions import NORMAL, Spread, T
from adcli.input.settings import ResultOptions
from adcli.lang.derive.uncertainty_figures import figures
from adcli.lang.ir import KINK, POLE, Lit
from adcli.output.layout import Row
from adcli.propagate.budgets import EXTRA, Budget, CoverageInterval, FigureKey, OutputBudget
from adcli.propagate.coverage import coverage_factor, effective_dof
from adcli.propagate.given import GivenPoint, Sampling, evaluations
from adcli.task.tasks import Task, prepared
from adcli.task.verbs import TABLE_FORMATS

if TYPE_CHECKING:
    from adcli.propagate.monte_carlo import Experiment, Sampled, Told

ROUNDING = 1e-15
"""Of the contributions of inputs to a value, what rounding may move."""
class Budgets:
    """The budgets of a task at points, one after the other."""

    def __init__(self, task: Task, points: Sequence[GivenPoint], sampling: Sampling | None, options: ResultOptions,
                 reporter: Reporter) -> None:
        self.task, self.points, self.sampling, self.reporter, self.options = task, points, sampling, reporter, options
        self.outputs = list(task.signature.outputs)
        self.order, self.correlations = task.request.order, task.request.correlations
        self.figures = figures(self.outputs, task.signature.wrt, self.order, self.correlations)
        self.pairs = list(combinations(self.outputs, 2))
        self.spreads = {p.seed or "": p.name for p in task.signature.seeds}
        taken = task.signature.names()
        self.names: dict[FigureKey, str] = dict(zip(self.figures, (c.name for c in task.signature.derived), strict=True))
        if any(spread.dof < math.inf for point in points for spread in point.spreads.values()):
            self.names |= {("dof", v, ()): taken.fresh(f"dof_{v}") for v in self.outputs}
        if sampling:
            self.names |= {(kind, v, ()): taken.fresh(f"{kind}_{v}") for v in self.outputs for kind in EXTRA}
            self.names |= {("mc_corr", v, (w,)): taken.fresh(f"mc_corr_{v}_{w}") for v, w in self.pairs}
        self.status = taken.fresh("status") if options.status else None
        self.given: deque[GivenPoint] = deque()
        self.keep = 0
        self.told: Told | None = None
        if sampling and sampling.samples != 0:
            from adcli.propagate.draws import draws
            for point in points:
                draws(point.spreads, self.correlations)

    def beside(self, verb: str) -> Task:
        """Another derivative of the same outputs."""
        wrt = None if verb == "eval" else self.task.request.wrt
        request = self.task.request._replace(verb=verb, wrt=wrt, order=1, correlations=(), moments=())
        return prepared(request, self.options, self.task.whole)

    @cached_property
    def gradient(self) -> Task:
        return self.beside("grad")

    @cached_property
    def sampler(self) -> Task:
        return self.beside("eval")

    def all(self) -> Iterator[Budget]:
        """The budgets of all points; every name is checked before the first comes out."""
        at = [(given.located(self.task.signature.own, self.reporter.say, self.task.signature.source), given)
              for given in self.points]
        return map(self.budget, self.reporter.over(self.rows(self.complete(at))))

    def rows(self, at: Iterable[dict[str, float]]) -> Iterator[Row]:
        """Values and figures at complete points."""
        return evaluate(self.task, at)

    def complete(self, at: Iterable[tuple[Iterator[dict[str, float]], GivenPoint]]) -> Iterator[dict[str, float]]:
        """The points with their standard uncertainties; what was given for each waits until its results are there."""
        for points, given in at:
            u = {name: given.spreads[x].u if x in given.spreads else 0.0 for x, name in self.spreads.items()}
            for point in points:
                self.given.append(given)
                yield {**point, **u}

    def budget(self, row: Row) -> Budget:
        """The budget at one point, with what there is to say about it."""
        given = self.given.popleft()
        count = len(self.outputs)
        values = dict(zip(self.outputs, row.results, strict=False))
        found: dict[FigureKey, float] = dict(zip(self.figures, row.results[count:], strict=True))
        at = {p.name: row.at[p.name] for p in self.task.signature.own}
        spreads = {x: given.spreads.get(x) or Spread(at[x], 0.0) for x in self.spreads}
        told = self.sampled(at, spreads)
        if told:
            self.warn_of_tails(spreads)
        sampled = dict(zip(self.outputs, told.outputs, strict=True)) if told else {}
        slopes = self.slopes(at) if self.options.form in TABLE_FORMATS or self.vanishes(found, spreads) else None
        rounding = {v: self.rounding(slopes[v], spreads) if slopes and found["u", v, ()] == 0 else 0.0 for v in self.outputs}
        outputs = [self.output(v, values[v], found, spreads, sampled.get(v), rounding[v]) for v in self.outputs]
        for output in outputs:
            self.remark(output, told.samples if told else 0, spreads, row.level == 0, rounding[output.name] > 0)
        if KINK <= row.level <= POLE and not sampled:
            self.say("note: a linear model means little where a result is not smooth; try ⟦--monte-carlo 100000⟧")
        correlations = {pair: found["corr", pair[0], pair[1:]] for pair in self.pairs}
        place = {v: i for i, v in enumerate(self.outputs)}
        together = {(v, w): float(told.correlations[place[v], place[w]]) for v, w in self.pairs} if told else {}
        return Budget(at, spreads, self.correlations, outputs, correlations, together, row.level, self.names, self.spreads,
                      self.status, self.sampling, told.samples if told else 0, slopes)

    def output(self, v: str, x: float, found: Mapping[FigureKey, float], spreads: Mapping[str, Spread],
               sampled: Sampled | None, rounding: float) -> OutputBudget:
        u = found["u", v, ()]
        known = u < math.inf or u != u   # no share of what is infinite can be told
        shares = {":".join(f.along): found[f] if known else math.nan for f in self.figures if f.kind == "share" and f.of == v}
        quadratic = (found["mean", v, ()], found["u2", v, ()]) if self.order > 1 else None
        dof = self.dof(shares, spreads)
        if u == 0 and sampled and not sampled.u and not (any(s.u for s in spreads.values()) and self.depends(v)):
            return OutputBudget(v, x, u, {}, None, quadratic, self.interval(x, u, dof), None, sampled)
        return OutputBudget(v, x, u, shares if u else {}, dof if ("dof", v, ()) in self.names else None, quadratic,
                            self.interval(x, u, dof, sampled, rounding),
                            self.interval(*quadratic, dof, sampled, rounding) if quadratic else None, sampled)

    def dof(self, shares: Mapping[str, float], spreads: Mapping[str, Spread]) -> float | None:
        """The effective degrees of freedom."""
        return effective_dof(shares, {x: s.dof for x, s in spreads.items()}, evaluations(spreads, self.correlations))

    def interval(self, mean: float, u: float, dof: float | None, sampled: Sampled | None = None,
                 rounding: float = 0.0) -> CoverageInterval | None:
        """The coverage interval of a normal distribution, or of a t-distribution where degrees of freedom are known, and how it
        compares with the sampled one."""
        if self.sampling is None:
            return None
        k = coverage_factor(self.sampling.coverage, math.inf if dof is None else dof)
        interval = CoverageInterval(mean, k, k * u)
        if sampled is None or math.isnan(sampled.mean) or not math.isfinite(interval.expanded):
            return interval
        from adcli.propagate.monte_carlo import compared
        return replace(interval, agreement=compared(interval.low, interval.high, u, sampled, rounding))

    # ------------------------------------------------------------ contributions that cancel or underflow

    def vanishes(self, found: Mapping[FigureKey, float], spreads: Mapping[str, Spread]) -> bool:
        """True if an output has no uncertainty although inputs have: contributions may cancel, or underflow."""
        return any(s.u for s in spreads.values()) and any(found["u", v, ()] == 0 for v in self.outputs)

    def slopes(self, at: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """The partial derivatives of every output."""
        (row,) = evaluate(self.gradient, [dict(at)])
        found: dict[str, dict[str, float]] = {v: {} for v in self.outputs}
        for column, c in zip(self.gradient.signature.derived, row.results[len(self.outputs):], strict=True):
            found[column.of or ""][column.wrt[0]] = c
        return found

    @staticmethod
    def rounding(slopes: Mapping[str, float], spreads: Mapping[str, Spread]) -> float:
        """How far rounding alone may move samples of an output without uncertainty; 0 where it has no contributions."""
        return ROUNDING * math.fsum(abs(c) * (abs(spreads[x].x) + 10 * spreads[x].u) for x, c in slopes.items()
                                    if x in spreads and spreads[x].u)

    # ------------------------------------------------------------ Monte Carlo, and what is said

    def sampled(self, at: Mapping[str, float], spreads: Mapping[str, Spread]) -> Told | None:
        """Result of Monte Carlo, with as many samples as are to be kept for a picture."""
        if not (how := self.sampling) or how.samples == 0:
            return None
        from adcli.output.streams import Progress
        from adcli.propagate.monte_carlo import sample
        experiment = self.experiment(at, spreads)
        progress = Progress(how.samples, shown=self.reporter.loud and self.reporter.heard is None)
        try:
            self.told = sample(experiment, how, self.options.jobs, lambda done: progress.update(done, done), self.keep)
            return self.told
        finally:
            progress.clear()

    def experiment(self, at: Mapping[str, float], spreads: Mapping[str, Spread]) -> Experiment:
        """The program with its uncertain inputs, to be sampled."""
        from adcli.propagate.draws import draws
        from adcli.propagate.monte_carlo import Experiment
        sampler = self.sampler
        return Experiment(sampler.kernel, {p.name: at[p.name] for p in sampler.signature.inputs},
                          draws(spreads, self.correlations))

    def warn_of_tails(self, spreads: Mapping[str, Spread]) -> None:
        """Say which inputs have samples of infinite variance: t-distributed ones, up to 2 degrees of freedom."""
        for x, spread in spreads.items():
            if spread.kind is T and spread.u and spread.dof <= 2:
                self.say(f"note: samples of {x}, {spread.label}, have no standard deviation;"
                         " mc_mean and mc_u may not settle, intervals do")

    def remark(self, output: OutputBudget, samples: int, spreads: Mapping[str, Spread], smooth: bool, vanishes: bool) -> None:
        """Say what a reader of the figures must know."""
        v, sampled = output.name, output.sampled
        uncertain = any(s.u for s in spreads.values())
        all_normal = all(s.kind is NORMAL for s in spreads.values())
        if sampled and sampled.bad:
            self.reporter.failed = True
            self.say(f"note: {v} is NaN or infinite for {sampled.bad} of {samples} samples;"
                     " the Monte Carlo figures leave these out")
        if output.interval and math.isnan(output.interval.k):
            self.say(f"note: {v} has {output.dof:.2g} effective degrees of freedom: with less than 1 there is no coverage factor")
        if output.u == 0 and uncertain and vanishes:
            self.say(f"note: to first order, the contributions to the uncertainty of {v} cancel: it has no shares"
                     if self.correlations else f"note: the uncertainty of {v} underflows: it is smaller than any double")
        elif output.u == 0 and uncertain and smooth and not sampled and not output.quadratic and self.depends(v):
            self.say(f"note: to first order, no uncertain input changes {v} here;"
                     " try ⟦--second-order⟧ or ⟦--monte-carlo 100000⟧")
        if sampled and output.verdicts:
            self.judge(output, samples, all_normal, smooth)
        if sampled and self.sampling and self.sampling.samples is None and not sampled.stable:
            self.say(f"note: {samples} samples did not make the figures of {v} stable; its distribution may have heavy tails")

    def judge(self, output: OutputBudget, samples: int, curved: bool, smooth: bool) -> None:
        """Say what Monte Carlo thinks of the models, where it is not simply that the linear one is good enough. The second order
        may help where all inputs are normal, so that only what is `curved` can be wrong with the linear one."""
        v, sampled, linear = output.name, output.sampled, output.verdicts[-1]
        quadratic = output.verdicts[0] if output.wider else None
        assert sampled is not None, "a verdict is on samples"
        if linear.verdict == "differs":
            otherwise = "use the Monte Carlo figures"
            better = {None: "it is not smooth" if not smooth else "try ⟦--second-order⟧" if curved else otherwise,
                      "agrees": "the quadratic one is", "unclear": "the quadratic one may be",
                      "differs": f"neither is the quadratic one; {otherwise}"}[quadratic.verdict if quadratic else None]
            self.say(f"note: the linear model is not good enough for {v} here; {better}")
        elif linear.verdict == "unclear":
            from adcli.propagate.monte_carlo import samples_wanted
            wanted = samples_wanted(samples, linear, sampled)
            enough = f"; try ⟦--monte-carlo {wanted}⟧" if wanted and samples < wanted <= 10**10 else ""
            self.say(f"note: too few samples to tell whether the linear model is good enough for {v}{enough}")

    def depends(self, v: str) -> bool:
        """True if an output depends on anything uncertain at all."""
        atom = self.task.program.result(self.names["u", v, ()]).atom
        return not isinstance(atom, Lit)

    def say(self, remark: str) -> None:
        """A remark, as long as there are not too many."""
        self.reporter.remark(REMARKS, lambda: remark)
