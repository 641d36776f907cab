"""A propagation at points that is asked for: its options, what the program states, and the budgets ready to be computed.

A program states uncertainties in comments, as `fit -o FILE.ad` writes them: what --at has after ± for each input, and what
--correlation has. The estimates are the defaults of the inputs.

    # uncertain: a±0.1~t(9), b±0.02~t(9)
    # correlation: a:b=-0.5

Rows with coverage intervals: k, U and both ends of each output, from its standard uncertainty and its effective degrees of
freedom, of which the program gives the inverse: infinitely many are the rule.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from adcli.answers.reporter import Reporter
from adcli.input.points import axes, names_in
from adcli.input.settings import ResultOptions
from adcli.input.values import listed, value
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import AdError, Note, Source
from adcli.lang.ir.names import tensor_of
from adcli.lang.lower.frontend import parse_source
from adcli.output.layout import Row
from adcli.propagate.at_points import Budgets
from adcli.propagate.coverage import ENDLESS, WHOLE, coverage_factor, probability
from adcli.propagate.given import GivenPoint, Sampling, moments, require_degrees, uncertain, with_files
from adcli.rows.blocks import Work
from adcli.rows.stream import TableRun, piped
from adcli.tables.appended import RowFormat
from adcli.tables.reader import Table
from adcli.task.request import Request
from adcli.task.rules import require_fit
from adcli.task.tasks import Task, prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adcli.lang.derive.uncertainty_figures import Correlation, Moments
    from adcli.lang.ir import Param, Program


COVERAGE = 0.95
AUTO = "auto"
"""--monte-carlo without a number: as many samples as make the figures stable."""


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
        require_fit(self, "sampling")
        if self.monte_carlo is None:
            return None if self.coverage is None else Sampling(0, 0, probability(self.coverage))
        samples = None if isinstance(self.monte_carlo, str) else self.monte_carlo
        return Sampling(samples, self.seed, COVERAGE if self.coverage is None else probability(self.coverage), self.shortest)


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


def of_elements(text: Source, points: Sequence[GivenPoint], told: tuple[Correlation, ...], sampling: Sampling | None,
                options: PropagateOptions, program: Program, heard: Callable[[object], object] | None) -> Budgets:
    """Budgets of a program with tensors or loops, whose elements are numbers."""
    from adcli.propagate.uncertain_tensors import Linearised, MatrixBudgets, given_elements, many, numbers_of, with_elements
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


# ---------------------------------------------------------------- what a program states

UNCERTAIN = re.compile(r"^# uncertain: (.+)$", re.MULTILINE)
CORRELATION = re.compile(r"^# correlation: (.+)$", re.MULTILINE)


def stated_lines(spreads: Mapping[str, float], dof: float, correlation: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The lines of comments for standard uncertainties with so many degrees of freedom."""
    if spreads:
        tail = "" if dof == float("inf") else f"~t({dof:g})"
        yield "uncertain: " + ", ".join(f"{x}±{u!r}{tail}" for x, u in spreads.items())
    if pairs := [f"{x}:{y}={correlation[x][y]!r}" for x, y in combinations(spreads, 2)]:
        yield "correlation: " + ", ".join(pairs)


def with_stated(text: Source, options: PropagateOptions) -> PropagateOptions:
    """The options, with what the program states of inputs that --at does not give."""
    spreads = dict(part.partition("±")[::2] for line in UNCERTAIN.findall(text.text) for part in listed(line))
    if not spreads:
        return options
    program = parse_source(text)
    defaults = {p.name: p.default for p in program.params}
    if (wrong := next((x for x in spreads if defaults.get(x) is None), None)) is not None:
        raise AdError(f"the program states the uncertainty of '{wrong}', which is no input with a default")
    rows = bool(options.data or options.emit) or (not options.at and None in defaults.values())
    given = {*chain.from_iterable(map(names_in, options.at))}
    known = {x: f"{x}={defaults[x]!r}±{u}" for x, u in spreads.items() if x not in given}
    spec, told = ",".join(known.values()), {frozenset(c[:2]) for c in coefficients(options.correlation)}
    pairs = [f"{x}:{y}={r!r}" for line in CORRELATION.findall(text.text) for x, y, r in coefficients(line)
             if {x, y} <= known.keys() and frozenset((x, y)) not in told]
    options = replace(options, correlation=",".join(filter(None, (options.correlation, *pairs))) or None)
    if not rows:
        return replace(options, at=tuple(f"{at},{spec}" if at and spec else at or spec for at in options.at or ("",)))
    options = replace(options, wrt=options.wrt or ",".join(known) or None)
    if options.emit or not spec:
        return options
    piped_rows = ("-",) if options.program != "-" and piped() else ()
    return replace(options, at=(*options.at, spec), data=options.data or piped_rows)


# ---------------------------------------------------------------- coverage of rows

KINDS = ("k", "U", "low", "high")


class CoverageWork(Work):
    """From rows to rows with results, and with coverage intervals of all outputs after these."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, Any]) -> None:
        super().__init__(task, table, options, fixed)
        outputs, taken = task.signature.outputs, task.signature.names()
        self.count, self.coverage = len(outputs), probability(getattr(options, "coverage", ""))
        layout = task.layout(self.words)
        more = [(name := taken.fresh(f"{kind}_{v}"), (task.verb.name, name)) for v in outputs for kind in KINDS]
        self.form = RowFormat(table, options, layout._replace(derived=(*layout.derived, *more)), self.texts, self.form.number)

    def written(self, results: Sequence[Any]) -> list[Any]:
        """The results with the columns of intervals; of all outputs the results have first the values, then the standard
        uncertainties, then the inverses of the degrees of freedom."""
        found, n = list(map(np.asarray, results)), self.count
        with np.errstate(divide="ignore"):
            found[2 * n:3 * n] = [1 / inverse for inverse in found[2 * n:3 * n]]
        for estimate, u, dof in zip(found[:n], found[n:2 * n], found[2 * n:3 * n], strict=True):
            k = factors(self.coverage, dof)
            expanded = k * u
            found += [k, expanded, estimate - expanded, estimate + expanded]
        return found if isinstance(results[0], np.ndarray) else [x.tolist() for x in found]


def factors(coverage: float, dof: np.ndarray) -> np.ndarray:
    """The coverage factors for degrees of freedom."""
    each, place = np.unique(np.floor(np.minimum(dof, ENDLESS) * (1 + WHOLE)), return_inverse=True)
    return np.array([factor(coverage, whole) for whole in each.tolist()])[place]


@lru_cache(1 << 16)
def factor(coverage: float, whole: float) -> float:
    return math.nan if whole != whole else coverage_factor(coverage, whole if whole < ENDLESS else math.inf)


class CoverageReporter(Reporter):
    """Says of a row why it has no degrees of freedom where all else is finite."""

    def explained(self, row: Row) -> Note | str:
        n = len(self.task.signature.outputs)
        unknown = [v for v, x in zip(self.task.signature.outputs, row.results[2 * n:], strict=False) if math.isnan(x)]
        if not unknown or not all(map(math.isfinite, row.results[:2 * n])):
            return super().explained(row)
        return (f"note: {', '.join(unknown)}: no effective degrees of freedom, since inputs are correlated and their degrees of"
                " freedom differ")


class CoverageRun(TableRun):
    """Tables of standard uncertainties on their way to coverage intervals."""

    @staticmethod
    def work_of(task: Task) -> type[CoverageWork]:
        return CoverageWork
