"""Uncertainty budgets: what a propagation found at one point, as text, JSON or CSV.

Text is a program, as all results are: exact figures as assignments, and in comments what a person writes down, with the
uncertainty rounded to two significant digits and the value to the same place (JCGM 100:2008, 7.2.6).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adcli.input.distributions import NORMAL, Spread
from adcli.lang.ir import LEVELS
from adcli.lang.ir.errors import plural
from adcli.output.numbers import Number, json_number, json_text
from adcli.output.report import csv_text
from adcli.propagate.given import Sampling

if TYPE_CHECKING:
    from adcli.propagate.monte_carlo import ModelVerdict, Sampled

FigureKey = tuple[str, str, tuple[str, ...]]
"""Kind, output and further names of a figure, as `adcli.lang.derive.uncertainty_figures.Figure` has them."""
Correlations = Mapping[tuple[str, str], float]
"""The correlation coefficient of every two outputs."""
EXTRA = ("k", "U", "low", "high", "low2", "high2", "mc_mean", "mc_mean_error", "mc_u", "mc_u_error", "mc_low", "mc_low_error",
         "mc_high", "mc_high_error", "mc_short_low", "mc_short_high", "mc_bad")
"""Kinds of figures that are no results of the propagation program and need a coverage probability or samples."""
Shown = Callable[[float, float], str]
"""How a value with its standard uncertainty is written for people."""

LARGEST, SMALLEST = 8, -4
"""Powers of ten between which numbers are written without an exponent."""
MOST_INPUTS = 100
"""Inputs that the heading of a point names."""
SURE_DIGITS = 15
"""Digits of a double that are sure to be right."""


@dataclass(frozen=True)
class CoverageInterval:
    """The coverage interval of one output, an estimate ± k standard uncertainties, by a linear or quadratic model; how it
    compares with the sampled one."""

    estimate: float
    k: float
    expanded: float
    agreement: ModelVerdict | None = None

    @property
    def low(self) -> float:
        return self.estimate - self.expanded

    @property
    def high(self) -> float:
        return self.estimate + self.expanded


@dataclass(frozen=True)
class OutputBudget:
    """One output: its value, its standard uncertainty and the shares of the inputs in its variance (none where that is 0), and
    what was asked for beside. `dof` are the effective degrees of freedom, None where there are none to tell."""

    name: str
    value: float
    u: float
    shares: dict[str, float]
    dof: float | None = None
    quadratic: tuple[float, float] | None = None
    interval: CoverageInterval | None = None
    wider: CoverageInterval | None = None
    sampled: Sampled | None = None

    @property
    def verdicts(self) -> list[ModelVerdict]:
        """Comparisons of the models with samples: of the quadratic one, then of the linear one."""
        return [i.agreement for i in (self.wider, self.interval) if i and i.agreement]


@dataclass(frozen=True)
class Budget:
    """All outputs at one point. `names` has the name of every figure: its kind, its output, what it is along. `samples` were
    drawn. `slopes` are the partial derivatives, by output and input, where they are shown."""

    at: dict[str, float]
    spreads: Mapping[str, Spread]
    given_correlations: Sequence[tuple[str, str, float]]
    outputs: Sequence[OutputBudget]
    correlations: Correlations
    sampled_correlations: Correlations
    level: int
    names: Mapping[FigureKey, str]
    spread_names: Mapping[str, str]
    status: str | None
    sampling: Sampling | None = None
    samples: int = 0
    slopes: Mapping[str, Mapping[str, float]] | None = None

    @property
    def u(self) -> dict[str, float]:
        """The standard uncertainties of the inputs."""
        return {x: spread.u for x, spread in self.spreads.items()}

    @property
    def together(self) -> list[tuple[str, Correlations]]:
        """The correlations by kind."""
        return [("corr", self.correlations), ("mc_corr", self.sampled_correlations)]


# ---------------------------------------------------------------- for people

def rounded(value: float, u: float) -> str:
    """value ± u with two significant digits of u and the value to the same place, and the relative uncertainty."""
    shown, width, exponent = pair(value, u)
    text = f"({shown} ± {width}){exponent}" if exponent else f"{shown} ± {width}"
    relative = 100 * u / abs(value) if value else math.inf
    return f"{text} ({percent(relative)})" if 0 < relative < 1000 and math.isfinite(value) else text


def pair(value: float, u: float) -> tuple[str, str, str]:
    """Value and uncertainty rounded alike, and the exponent that both have."""
    if u == 0 or not (math.isfinite(value) and math.isfinite(u)):
        return repr(value), "0" if u == 0 else repr(u), ""
    last, exponent = places(value, u)
    if exponent is None:
        return repr(value), f"{u:.1e}", ""
    return at_place(value, last, exponent), at_place(u, last, exponent), f"e{exponent}" if exponent else ""


def concise(value: float, u: float) -> str:
    """Concise notation, 12.00(15): the uncertainty in units of the last digit (JCGM 100, 7.2.2), as points are read too."""
    last, exponent = places(value, u) if 0 < u < math.inf and math.isfinite(value) else (0, None)
    if exponent is None:
        return rounded(value, u)
    digits = int(at_place(u, last, last))
    if last > 0 and exponent == 0:
        digits *= 10**last
    return f"{at_place(value, last, exponent)}({digits}){f'e{exponent}' if exponent else ''}"


def places(value: float, u: float) -> tuple[int, int | None]:
    """The power of ten of the last digit that is shown, and that of the exponent, 0 for none; None where the value would need
    more digits than it has."""
    last = power(u, 1) - 1
    top = max(power(value, SURE_DIGITS), last + 1)
    return last, None if top - last > SURE_DIGITS else 0 if SMALLEST <= top < LARGEST else top


def power(x: float, digits: int) -> int:
    """The power of ten of the leading digit of x, rounded to so many digits behind it; that of 0 is far down."""
    return int(f"{x:.{digits}e}".partition("e")[2]) if x else -400


def at_place(x: float, last: int, scale: int = 0) -> str:
    """x / 10^scale, rounded at the digit of 10^last."""
    from decimal import Context, Decimal
    wide = Context(prec=400)
    whole = Decimal(x).quantize(Decimal(1).scaleb(last, wide), context=wide)
    shifted = whole.scaleb(-scale, wide)
    return f"{shifted or abs(shifted):f}"   # no −0


def percent(x: float) -> str:
    return f"{x:.0f} %" if x >= 10 else f"{x:.2g} %"


def text(budgets: Iterable[Budget], number: Number, several: bool, shown: Shown = rounded) -> Iterator[str]:
    """A paragraph a point, one part of it for each output."""
    for i, budget in enumerate(budgets):
        lines = [""] * bool(i and several)
        if several:
            lines.append(f"# {', '.join(heading(budget, number))}")
        for j, output in enumerate(budget.outputs):
            lines += [*[""] * bool(j), *paragraph(budget, output, number, shown)]
        lines += [""] * bool(budget.correlations)
        for kind, found in budget.together:
            lines += [f"{named(budget, kind, v, w)} = {number(r)}" for (v, w), r in found.items()]
        if budget.status:
            lines.append(f"{budget.status} = {LEVELS[budget.level]}")
        yield "\n".join(lines) + "\n"


def heading(budget: Budget, number: Number) -> Iterator[str]:
    """The inputs as they were given: where they are many the first that are uncertain, and how many more there are."""
    few = len(budget.at) <= MOST_INPUTS
    names = list(budget.at if few else budget.spreads)[:MOST_INPUTS]
    yield from (given(name, budget.at[name], budget.spreads.get(name), number) for name in names)
    if len(names) < len(budget.at):
        yield f"and {plural(len(budget.at) - len(names), 'more input')}"


def given(name: str, x: float, spread: Spread | None, number: Number) -> str:
    """An input as it was given."""
    if spread is None:
        return f"{name} = {number(x)}"
    kind = "" if spread.kind is NORMAL else f" ~ {spread.label}"
    return f"{name} = {number(x)} ± {number(spread.width)}{kind}"


def paragraph(budget: Budget, output: OutputBudget, number: Number, shown: Shown) -> Iterator[str]:
    """One output."""
    v = output.name
    yield f"# {v} = {shown(output.value, output.u)}"
    yield f"{v} = {number(output.value)}"
    yield f"{named(budget, 'u', v)} = {number(output.u)}"
    if output.dof is not None:
        yield f"{named(budget, 'dof', v)} = {number(output.dof)}"
    for along, share in output.shares.items():
        yield f"{named(budget, 'share', v, *along.split(':'))} = {number(share)}"
    chance = budget.sampling.chance if budget.sampling else ""
    if output.interval:
        yield from ends(budget, f"# {chance} interval of the linear model", "", v, output.interval, number)
    if output.quadratic:
        mean, u = output.quadratic
        yield f"# to second order, {v} = {shown(mean, u)}"
        yield f"{named(budget, 'mean', v)} = {number(mean)}"
        yield f"{named(budget, 'u2', v)} = {number(u)}"
    if output.wider:
        yield from ends(budget, f"# {chance} interval to second order", "2", v, output.wider, number)
    if output.sampled and budget.sampling:
        sampled = output.sampled
        yield f"# Monte Carlo, {budget.samples} samples: {v} = {shown(sampled.mean, sampled.u)}"
        for kind, (x, error) in sampled.figures.items():
            yield f"{named(budget, f'mc_{kind}', v)} = {number(x)}   # ± {error:.2g}"
        if sampled.shortest:
            yield f"# the shortest {chance} interval"
            for kind, x in zip(("low", "high"), sampled.shortest, strict=True):
                yield f"{named(budget, f'mc_short_{kind}', v)} = {number(x)}"
        if sampled.bad:
            yield f"{named(budget, 'mc_bad', v)} = {sampled.bad}"


def ends(budget: Budget, heading: str, kind: str, v: str, interval: CoverageInterval, number: Number) -> Iterator[str]:
    """The lines of an interval, and how it compares with the sampled one."""
    told = f"; {judged(interval.agreement)}" if interval.agreement else ""
    yield f"{heading}{told}"
    yield from (f"{name} = {number(x)}" for name, x in interval_columns(budget, kind, v, interval).items())


def interval_columns(budget: Budget, kind: str, v: str, interval: CoverageInterval) -> dict[str, float]:
    """The figures of an interval by name; those of the second order have the factor of the first."""
    found = {} if kind else {"k": interval.k, "U": interval.expanded}
    found |= {f"low{kind}": interval.low, f"high{kind}": interval.high}
    return {named(budget, name, v): x for name, x in found.items()}


def judged(agreement: ModelVerdict) -> str:
    """An agreement in words."""
    words = {"agrees": "agrees with Monte Carlo", "differs": "differs from Monte Carlo", "unclear": "too few samples to tell"}
    return (f"{words[agreement.verdict]}: ends off by {agreement.low:.2g} and {agreement.high:.2g},"
            f" tolerance {agreement.tolerance:.2g}")


def named(budget: Budget, kind: str, of: str, *along: str) -> str:
    return budget.names[kind, of, along]


# ---------------------------------------------------------------- for programs

def columns(budget: Budget) -> dict[str, float]:
    """All figures by name, in the order of the columns of CSV: inputs, their uncertainties, results."""
    found = dict(budget.at) | {name: budget.spreads[x].u for x, name in budget.spread_names.items()}
    for output in budget.outputs:
        v = output.name
        found[v], found[named(budget, "u", v)] = output.value, output.u
        if ("dof", v, ()) in budget.names:
            found[named(budget, "dof", v)] = math.nan if output.dof is None else output.dof
        found |= {name: output.shares.get(":".join(along), math.nan)
                  for (kind, of, along), name in budget.names.items() if (kind, of) == ("share", v)}
        if output.quadratic:
            found[named(budget, "mean", v)], found[named(budget, "u2", v)] = output.quadratic
        for kind, interval in (("", output.interval), ("2", output.wider)):
            found |= interval_columns(budget, kind, v, interval) if interval else {}
        if output.sampled:
            for kind, (x, error) in output.sampled.figures.items():
                found[named(budget, f"mc_{kind}", v)], found[named(budget, f"mc_{kind}_error", v)] = x, error
            if output.sampled.shortest:
                found[named(budget, "mc_short_low", v)], found[named(budget, "mc_short_high", v)] = output.sampled.shortest
            found[named(budget, "mc_bad", v)] = output.sampled.bad
    return found | {named(budget, kind, v, w): r for kind, pairs in budget.together for (v, w), r in pairs.items()}


def csv_rows(budgets: Iterable[Budget], number: Number) -> Iterator[str]:
    for i, budget in enumerate(budgets):
        found = columns(budget)
        head = [] if i else [[*found, *([budget.status] if budget.status else [])]]
        yield csv_text(*head, [*map(number, found.values()), *([LEVELS[budget.level]] if budget.status else [])])


def json_rows(budgets: Iterable[Budget], number: Number) -> Iterator[str]:
    """One object a point."""
    for budget in budgets:
        yield json_text(record(budget, lambda x: json_number(x, number))) + "\n"


def interval_record(of: CoverageInterval, written: Callable[[float], object]) -> dict[str, Any]:
    """A coverage interval as an object, with the verdict of samples on it."""
    found: dict[str, Any] = {"k": written(of.k), "U": written(of.expanded), "low": written(of.low), "high": written(of.high)}
    if of.agreement:
        tolerance, low, high, verdict = of.agreement
        found["monte_carlo"] = {"tolerance": written(tolerance), "low_off": written(low), "high_off": written(high),
                                "verdict": verdict}
    return found


def record(budget: Budget, written: Callable[[float], object]) -> dict[str, Any]:
    """Everything known at a point; `written` is a number as it stands there."""
    def numbers(found: Mapping[str, float]) -> dict[str, object]:
        return {name: written(x) for name, x in found.items()}

    def pairs(found: Correlations) -> dict[str, object]:
        return {f"{v}:{w}": written(r) for (v, w), r in found.items()}

    outputs = budget.outputs
    found: dict[str, Any] = {"at": numbers(budget.at), "spread": numbers(budget.u),
                             "value": numbers({o.name: o.value for o in outputs}), "u": numbers({o.name: o.u for o in outputs}),
                             "share": {o.name: numbers(o.shares) for o in outputs}}
    if any(spread.kind is not NORMAL for spread in budget.spreads.values()):
        found["distribution"] = {x: spread.label for x, spread in budget.spreads.items()}
    if any(o.dof is not None for o in outputs):
        found["dof"] = numbers({o.name: o.dof for o in outputs if o.dof is not None})
    if budget.correlations:
        found["correlation"] = pairs(budget.correlations)
    if budget.sampling:
        found["coverage"] = budget.sampling.coverage
        found["interval"] = {o.name: interval_record(o.interval, written) for o in outputs if o.interval}
    if any(o.quadratic for o in outputs):
        found["second_order"] = {
            o.name: {**numbers(dict(zip(("mean", "u"), o.quadratic, strict=True))),
                     **({"interval": interval_record(o.wider, written)} if o.wider else {})} for o in outputs if o.quadratic}
    if budget.sampling and any(o.sampled for o in outputs):
        found["monte_carlo"] = {
            "samples": budget.samples, "seed": budget.sampling.seed,
            "of": {o.name: {**numbers({kind: x for kind, (x, _) in o.sampled.figures.items()}),
                            "error": numbers({kind: error for kind, (_, error) in o.sampled.figures.items()}),
                            **({} if (both := o.sampled.shortest) is None else {"shortest": [*map(written, both)]}),
                            "bad": o.sampled.bad} for o in outputs if o.sampled},
            **({"correlation": pairs(budget.sampled_correlations)} if budget.sampled_correlations else {})}
    return found | {"status": LEVELS[budget.level]}
