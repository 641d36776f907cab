"""A propagation at points that is asked for: its options, and the budgets ready to be computed."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adcli.answers.reporter import Reporter
from adcli.input.points import axes
from adcli.input.settings import ResultOptions
from adcli.input.values import listed, value
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import tensor_of
from adcli.propagate.at_points import Budgets
from adcli.propagate.coverage import probability
from adcli.propagate.given import GivenPoint, Sampling, moments, require_degrees, uncertain, with_files
from adcli.task.request import Request
from adcli.task.tasks import prepared

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
    from adcli.propagate.elements import Linearised, MatrixBudgets, given_elements, many, numbers_of, with_elements
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
