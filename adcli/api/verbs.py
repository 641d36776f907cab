"""The verbs that look at a program, called from Python: their options checked, their data and texts as a View."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.answers.array_calls import common_shape, one_number, real_array, real_arrays
from adcli.answers.evaluation import rounded_point
from adcli.api.scientific import whole_point
from adcli.api.view import PictureView, View, beside, in_characters, picture_view
from adcli.api.words import Inspected, OneOrMore, by_name, names, one_of, truth, unused, whole, word
from adcli.input.points import complete, parts, within
from adcli.input.values import value
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, plural, worded
from adcli.lang.operations.precision import PRECISIONS
from adcli.output import html
from adcli.output.numbers import shortest
from adcli.task.derive import looked_at
from adcli.task.request import NO_TEXT, Request

if TYPE_CHECKING:
    from adcli.propagate.given import GivenPoint
    from adcli.propagate.prepare import PropagateOptions

Given = Mapping[str, Any]
"""A point by name."""


def traced(asked: Inspected, tangent: str | Given | None, cotangent: str | Given | None, naming: str,
           element: str | None) -> View:
    """See `Inspection.trace`."""
    from adcli.trace.at_points import Tables, TraceOptions, prepared
    from adcli.trace.tables import RENDERERS
    naming = one_of("names", naming, ("textbook", "program"))
    if element is not None:
        word("element", element)
    request = Request("eval", asked.program.source or NO_TEXT, asked.of, asked.wrt, precision=asked.precision)
    options = TraceOptions(verb="trace", tangent=None, cotangent=None, naming=naming, fmt=None, element=element,
                           precision=asked.precision)
    said: list[str] = []
    tasks = prepared(request, direction("tangent", tangent), direction("cotangent", cotangent), asked.program)
    tables = Tables(tasks, options, heard(said))
    for reporter in tables.reporters[:1]:
        reporter.begin()
    point = given_point(tables.primal, asked.point, said)
    ((writer, point, level),) = tables.all([point])
    text = "".join(tables.lines(writer, point, False, 0))
    markup = "".join(part for table in tables.tables(writer) for part in RENDERERS["html"](table))
    return View("trace", tables.record(writer, point, level), text, markup, tuple(said))


def direction(kind: str, given: str | Given | None) -> str | dict[str, Any] | None:
    """A tangent or cotangent: a text as the option has it, or numbers by name."""
    known = by_name(kind, given)
    if known is None or isinstance(known, str):
        return known
    return {name: one_number(str(name), x) if np.ndim(x) == 0 else real_array(str(name), x) for name, x in known.items()}


def given_point(program: Program, at: Given, said: list[str]) -> dict[str, Any]:
    """A point that is complete, with a note where it leaves a declared range."""
    (point,) = within(program.params, [whole_point(program, at)], heard(said), program.source)
    return point


def heard(said: list[str]) -> Callable[[object], None]:
    """Collector of remarks, worded for Python."""
    return lambda remark: said.append(worded(str(remark)))


class Claim(NamedTuple):
    """Somebody's derivatives that ours are compared with, and how they are run; None where there are none."""

    against: str | None
    symbol: str | None
    returns: str | None
    time_limit: int | None

    def require_sense(self, kinds: Sequence[str]) -> None:
        """AdError where one of these is no text, or says more of a claim that is not given."""
        for what, given in (("against", self.against), ("symbol", self.symbol), ("returns", self.returns)):
            if given is not None:
                word(what, given)
        if self.against is None:
            unused({"symbol": self.symbol, "returns": self.returns, "time_limit": self.time_limit},
                   "says more of against, which is not given")
        if self.returns is not None:
            one_of("returns", self.returns, kinds)


def checked(asked: Inspected, samples: int | None, seed: int, digits: int, claim: Claim, plot: bool, everything: bool) -> View:
    """See `Inspection.check`."""
    from adcli.check import prepare
    from adcli.check.report import html_report, record, text_report
    claim.require_sense(prepare.RETURNS)
    if asked.point:
        unused({"samples": samples}, "and a point cannot be used together", "leave out one of the two")
    options = prepare.CheckOptions(
        verb="check", samples=whole("samples", prepare.SAMPLES if samples is None else samples, 1, prepare.MOST_POINTS),
        seed=whole("seed", seed, 0, 1 << 53), digits=whole("digits", digits, 17, 100),
        time_limit=whole("time_limit", prepare.TIME_LIMIT if claim.time_limit is None else claim.time_limit, 1,
                         prepare.MOST_SECONDS),
        against=claim.against, symbol=claim.symbol, returns=claim.returns, everything=everything,
        precision=asked.precision, plot=None)
    primal, inputs = prepare.differentiated(asked.program, asked.of, asked.wrt)
    check, said = prepare.check_of(primal, inputs, options), list[str]()
    at, summary = prepare.usable_points(check, checked_points(primal, asked.point, check.scalars, heard(said))) \
        if asked.point else prepare.drawn_points(check, options.samples, options.seed)
    prepare.run(check, at, heard(said))
    told = View("check", record(check, summary, float), text_report(check, summary), html_report(check, summary), tuple(said))
    if not plot:
        return told
    from adcli.check.pictured import picture
    return beside(told, picture(check))


def checked_points(program: Program, at: Given, scalars: bool, remark: Callable[[object], None]) -> list[dict[str, Any]]:
    """The points that are given, several for a program of `scalars`."""
    from adcli.check.prepare import MOST_POINTS
    from adcli.input.arrays import fitting
    found = points(program, at, MOST_POINTS) if scalars else [fitting(program, whole_point(program, at))]
    return list(within(program.params, found, remark, program.source))


def points(program: Program, at: Given, most: int) -> list[dict[str, float]]:
    """The points that numbers and arrays give, which are broadcast."""
    given = complete(program.params, at)
    arrays = real_arrays(list(given), list(given.values()))
    count = math.prod(shape := common_shape(list(given), arrays))
    if count > most:
        raise AdError(f"{count:,} points are given; the limit is {most:,}")
    columns = [np.broadcast_to(a, shape).ravel().tolist() for a in arrays]
    return [dict(zip(given, row, strict=True)) for row in zip(*columns, strict=True)]


def explained(asked: Inspected, mode: str, order: int, limit: bool) -> View:
    """See `Inspection.why`."""
    from adcli.output.tensors import point_lists
    from adcli.why.command import SWEEPS, groups, nothing, paragraphs, record
    from adcli.why.groups import WhyAt
    forward = one_of("mode", mode, SWEEPS) == "forward"
    primal, inputs = looked_at(asked.program, asked.of, asked.wrt)
    said = [str(note) for note in primal.notes]
    real = PRECISIONS[asked.precision]
    point = rounded_point(given_point(primal, asked.point, said), real)
    question = WhyAt(primal, inputs, forward, whole("order", order, 1, 2), truth("limit", limit), real)
    found = groups(question, point)
    told, shown = (paragraphs(found), html.preformatted) if found else ([nothing(question)], html.paragraph)
    at_lists = point_lists(point, lambda x: np.asarray(x).tolist())
    return View("why", {"at": at_lists, "why": [record(g, float) for g in found]}, "\n\n".join(told), "".join(map(shown, told)),
                tuple(said))


# ---------------------------------------------------------------- uncertainties

class MonteCarlo(NamedTuple):
    """Sampling that is asked for: the number of samples, their seed, the kind of interval, and threads; None: by default."""

    samples: int | str | None
    seed: int | None
    shortest: bool
    jobs: int | None

    def number(self, auto: str) -> int | str | None:
        """The number of samples. AdError where that is none, or the others say more of a sampling that is not asked for."""
        if self.samples is None:
            unused({"shortest": self.shortest or None, "seed": self.seed, "jobs": self.jobs}, "needs monte_carlo",
                   "write monte_carlo=100000")
            return None
        if not isinstance(self.samples, str):
            return whole("monte_carlo", self.samples, 2, 10**10)
        if self.samples != auto:
            raise AdError(f"monte_carlo is a number of samples, not '{self.samples}'",
                          help="write monte_carlo=100000 or 'auto'")
        return auto


def propagated(asked: Inspected, correlation: str | Mapping[tuple[str, str], float] | None, covariance: str | Given | None,
               second_order: bool, monte_carlo: MonteCarlo, coverage: float | str | None, plot: bool) -> View:
    """See `Inspection.propagate`."""
    from adcli.propagate.budgets import record, rounded, text
    from adcli.propagate.prepare import AUTO, PropagateOptions, coefficients, prepared_budgets
    from adcli.propagate.tables import tables
    seed, jobs = monte_carlo.seed, monte_carlo.jobs
    options = PropagateOptions(
        verb="propagate", form="markdown", of=None if asked.of is None else ",".join(asked.of),
        second_order=truth("second_order", second_order), monte_carlo=monte_carlo.number(AUTO),
        seed=whole("seed", 0 if seed is None else seed, 0, 2**63 - 1),
        coverage=None if coverage is None else str(coverage), shortest=monte_carlo.shortest,
        covariance=covariance_texts(covariance),
        jobs=None if jobs is None else whole("jobs", jobs, 1, 256))
    point, said = uncertain_point(asked.program, asked.point, options), list[str]()
    sampling = options.sampling
    writer = prepared_budgets(asked.program.source or NO_TEXT, [point], coefficients(pairs(correlation)), sampling, options,
                              asked.program, heard(said))
    if plot:
        from adcli.propagate.pictured import keep_samples, picture_of
        keep_samples(writer)
    budgets = writer.all()
    budget = next(budgets)
    if next(budgets, None) is not None:
        raise AdError("propagate is of one point", help="call it for each value of a range")
    markup = "".join(tables("html", [budget], None, rounded, False))
    told = View("propagate", record(budget, float), "".join(text([budget], shortest, False)), markup, tuple(said))
    return beside(told, picture_of(writer)) if plot else told


def uncertain_point(program: Program, at: Given, options: PropagateOptions) -> GivenPoint:
    """Estimates and spreads of every input. AdError where none has a spread."""
    from adcli.propagate.given import GivenPoint
    complete(program.params, dict.fromkeys(at, 0.0))   # the names, before anything is made of them
    tensors = {p.name for p in program.params if p.var.shape}
    found = [uncertain_tensor(program, name, x) if name in tensors else uncertain_number(name, x, options)
             for name, x in at.items()]
    spreads = {x: spread for point in found for x, spread in point.spreads.items()}
    widths = {x: width for point in found for x, width in point.widths.items()}
    if not (spreads or widths or options.covariance):
        raise AdError("no uncertainties", help="give an input a spread: x=([1.0, 2.0], 0.1), or covariance={'x': C}" if tensors
                      else "give an input a spread: x=(2.0, 0.1), or x='2±0.1~rect'")
    return GivenPoint(",".join(point.plain for point in found), spreads, widths)


def uncertain_number(name: str, x: Any, options: PropagateOptions) -> GivenPoint:
    """A text as the shell takes it, a pair of an estimate and its standard uncertainty, a value, or several that it takes."""
    from adcli.input.distributions import Sample
    from adcli.input.spreads import of_sample
    from adcli.propagate.given import GivenPoint, given_points
    from adcli.rows.sample_columns import opened
    if isinstance(x, tuple):
        estimate, u = (one_number(name, part) for part in two(name, x))
        x = f"{estimate!r}±{u!r}"
    if isinstance(x, str):
        (given,) = given_points([f"{name}={one_value(name, x)}"], partial(opened, options=options))
        return given
    if not (array := real_array(f"input '{name}'", x)).ndim:
        return GivenPoint(f"{name}={float(array)!r}", {})
    if array.ndim > 1:
        raise AdError(f"the values of input '{name}' are one column, not an array of shape {array.shape}")
    number, spread = of_sample(f"input '{name}'", name, Sample(name, tuple(array.tolist())), False)
    return GivenPoint(f"{name}={number}", {name: spread})


def uncertain_tensor(program: Program, name: str, x: Any) -> GivenPoint:
    """A text as the shell takes it, an array, or a pair of an array and its standard uncertainties: one for each element, or one
    for all."""
    from adcli.propagate.elements import given_tensors
    if not isinstance(x, str):
        x = "±".join(listed(name, part) for part in (two(name, x) if isinstance(x, tuple) else (x,)))
    return given_tensors(program, f"{name}={one_value(name, x)}")


def listed(name: str, x: Any) -> str:
    """Numbers as the shell takes them, to the last bit."""
    return str(real_array(f"input '{name}'", x).tolist())


def two(name: str, x: tuple[Any, ...]) -> tuple[Any, ...]:
    """An estimate and its standard uncertainty."""
    if len(x) != 2:
        raise AdError(f"input '{name}' is given as {len(x)} numbers",
                      help=f"write {name}=(2.0, 0.1), an estimate and its standard uncertainty, or a list of values")
    return x


def one_value(name: str, x: str) -> str:
    """A text that is of one input."""
    if len(list(parts(x))) > 1 or "=" in x:
        raise AdError(f"input '{name}' is one value, not '{x}'", help=f"write {name}='2±0.1'")
    return x


def covariance_texts(given: object) -> tuple[str, ...]:
    """Covariance matrices as the option has them."""
    found = by_name("covariance", given) or {}
    return (found,) if isinstance(found, str) else tuple(f"{name}={listed(name, matrix)}" for name, matrix in found.items())


def pairs(correlation: str | Mapping[tuple[str, str], float] | None) -> str | None:
    """Correlation coefficients as the option has them."""
    if correlation is None or isinstance(correlation, str):
        return correlation
    if isinstance(correlation, Mapping) and not correlation:   # none of those there could be
        return None
    if not isinstance(correlation, Mapping) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in correlation):
        raise AdError("correlation is a number for each pair of inputs", help="write correlation={('x', 'y'): 0.5}")
    return ",".join(f"{x}:{y}={one_number(f'{x}:{y}', r)!r}" for (x, y), r in correlation.items())


def drawn(asked: Inspected, stage: str, tangent: str | Given | None, cotangent: str | Given | None,
          fold: OneOrMore) -> PictureView:
    """See `Inspection.draw`."""
    from adcli.draw.drawing import DERIVED, DrawnPoint, graph, without_adjoints
    word("stage", stage)
    program, point, said = asked.program, asked.point, list[str]()
    given = {"tangent": tangent, "cotangent": cotangent}
    if not point:
        unused(given, "needs a point")
        unused({"wrt": None if stage in DERIVED else asked.wrt}, "needs a point, or stage forward or reverse")
    if stage in DERIVED:
        unused({kind: x for kind, x in given.items() if kind != DERIVED[stage]}, f"is no seed of stage {stage}")
    folded = names(fold) or ["auto"]
    located = DrawnPoint(given_point(program, point, said), seeds("tangent", tangent), seeds("cotangent", cotangent)) \
        if point else None
    drawing = graph(program, stage, located, of=asked.of, wrt=asked.wrt, fold=folded[0] if len(folded) == 1 else folded)
    if point and cotangent is None and (note := without_adjoints(program, stage, asked.of)):
        said.append(worded(note))
    nodes, edges = drawing.graph.nodes, drawing.graph.edges
    data = {"stage": stage, "nodes": [asdict(node) for node in nodes], "edges": [asdict(edge) for edge in edges],
            "dot": drawing.dot}
    caption = f"graph at stage {stage}: {plural(len(nodes), 'node')}, {plural(len(edges), 'edge')}"
    return in_characters("draw", data, drawing.text, tuple(said), drawing.picture, caption)


def seeds(kind: str, given: str | Given | None) -> Mapping[str, Any] | None:
    """A direction or weights, numbers or arrays by name."""
    known = by_name(kind, given)
    if isinstance(known, str):
        from adcli.answers.seeding import components
        return components(known, kind)
    return known


def plotted(asked: Inspected, derivatives: int, points: int | None) -> PictureView:
    """See `Inspection.plot`."""
    from adcli.plot.plots import picture
    from adcli.plot.ranges import HIGHEST
    ranges, said = {name: extent(name, x) for name, x in asked.point.items()}, [str(note) for note in asked.program.notes]
    count = None if points is None else whole("points", points, 2, 100_000)
    found = picture(asked.program, ranges, asked.of, whole("derivatives", derivatives, 0, HIGHEST), count, heard(said))
    return picture_view("plot", found, tuple(said))


def extent(name: str, x: Any) -> float | tuple[float, ...]:
    """A number, or the ends of a range and how many points it has: a tuple, or a text as the shell has it."""
    if isinstance(x, str):
        fields = tuple(value(name, part) for part in x.split(":"))
        return fields if len(fields) > 1 else fields[0]
    if isinstance(x, list):
        raise AdError(f"input '{name}' must be one number or a range, not a list",
                      help=f"write {name}=(-3, 3), a pair of ends")
    return tuple(one_number(name, part) for part in x) if isinstance(x, tuple) else one_number(name, x)
