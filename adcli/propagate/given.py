"""Points of propagate: estimates, and what is known of the uncertainty of every input.

A derivative program is one for all points, so what it is made with must be the same at all of them: correlations, and for the
second order the moments of distributions.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from adcli.input.distributions import Spread, split
from adcli.input.points import located
from adcli.input.values import value
from adcli.lang.derive.uncertainty_figures import Correlation, Moments, components
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError, Source

if TYPE_CHECKING:
    from adcli.rows.sample_columns import SampleTable

Fact = TypeVar("Fact")
NORMAL_MOMENTS = 0.0, 3.0


@dataclass(frozen=True)
class Sampling:
    """How samples are drawn: how many (0: none are; None: as many as make the figures stable), from what seed, for what coverage
    probability, and whether also for the shortest interval."""

    samples: int | None
    seed: int
    coverage: float
    shortest: bool = False

    @property
    def chance(self) -> str:
        """The coverage probability in percent."""
        return f"{100 * self.coverage:.10g} %"


class GivenPoint(NamedTuple):
    """One --at: the point without spreads, and the spreads by input. `elements` has the numbers of all inputs, where these are
    the elements of tensors; `widths` what stands behind the ± of a tensor."""

    plain: str
    spreads: Mapping[str, Spread]
    widths: Mapping[str, str] = MappingProxyType({})
    elements: Mapping[str, float] | None = None

    def refuse_factor(self, params: Sequence[Param]) -> None:
        """AdError for x=2±0.1,k=2 where k is no input but the coverage factor of an expanded uncertainty."""
        parts = [[s.strip() for s in part.partition("=")] for part in self.plain.split(",")]
        for (name, _, _), (word, _, text) in pairwise(parts):
            if word == "k" and name in self.spreads and all(p.name != "k" for p in params):
                x, u = self.spreads[name].x, self.spreads[name].width / value(word, text)
                raise AdError("no input 'k', and ± has the standard uncertainty",
                              help=f"for k = {text} write {name}={x:.15g}±{u:.15g}")

    def located(self, params: Sequence[Param], say: Callable[..., None], source: Source | None) -> Iterator[dict[str, float]]:
        """The points that it gives, complete."""
        self.refuse_factor(params)
        return located(params, [self.plain], say, source) if self.elements is None else iter([dict(self.elements)])


def given_points(specs: Iterable[str], opened: Callable[[str], SampleTable]) -> list[GivenPoint]:
    """Points of --at, each file `opened` once, and each of its columns read once."""
    file = cache(opened)

    @cache
    def read(path: str, column: str) -> tuple[float, ...]:
        return tuple(file(path).column(column))

    return [GivenPoint(*split(spec, read)) for spec in specs]


def uncertain(points: Iterable[GivenPoint]) -> list[str]:
    """The inputs with a spread, in the order in which they are given."""
    return list(dict.fromkeys(x for point in points for x in point.spreads))


def with_files(points: Iterable[GivenPoint], told: Sequence[Correlation]) -> tuple[Correlation, ...]:
    """The correlations that are told, and those of columns of one file, which are values found together (JCGM 100, 5.2.3)."""
    known = {frozenset(c[:2]) for c in told}

    def estimated() -> Iterator[tuple[str, Correlation]]:
        for point in points:
            for (x, one), (y, other) in combinations(point.spreads.items(), 2):
                if one.sample and other.sample and one.sample.path == other.sample.path and frozenset((x, y)) not in known:
                    if one.kind is not other.kind:
                        raise AdError(f"{x} and {y} are columns of one file, and only one has ~t", help="write ~t after both")
                    yield f"{x} and {y}", (x, y, one.sample.correlation(other.sample))

    return *told, *(c for c in same("correlation of", estimated()).values() if c[2])


def moments(points: Iterable[GivenPoint], correlations: Iterable[Correlation]) -> tuple[Moments, ...]:
    """Skewness and kurtosis of every input that is not normal. AdError for one that is correlated."""
    known = ((x, (x, *spread.moments)) for point in points for x, spread in point.spreads.items() if spread.u)
    others = {x: m for x, m in same("distribution of", known).items() if m[1:] != NORMAL_MOMENTS}
    for x, y, r in correlations:
        for name in (x, y):
            if r and name in others:
                raise AdError(f"⟦--second-order⟧: {x} and {y} are correlated, and {name} is not normal",
                              help="a correlation says nothing of the moments that second order needs; try ⟦--monte-carlo 1e6⟧")
    return tuple(others.values())


def same(what: str, facts: Iterable[tuple[str, Fact]]) -> dict[str, Fact]:
    """Facts by what they are about. AdError where two points differ."""
    found: dict[str, Fact] = {}
    for about, fact in facts:
        if found.setdefault(about, fact) != fact:
            raise AdError(f"the {what} {about} is not the same at all points", help="run adcli once for each of them")
    return found


def evaluations(spreads: Mapping[str, Spread], correlations: Iterable[Correlation]) -> list[list[str]]:
    """Uncertain inputs in groups that no correlation joins."""
    names = [x for x, spread in spreads.items() if spread.u]
    return components(names, [c for c in correlations if c[0] in names and c[1] in names])


def require_degrees(points: Iterable[GivenPoint], correlations: Sequence[Correlation]) -> None:
    """AdError where correlated inputs have different degrees of freedom: there is no formula for their sum (JCGM 100, G.4.1)."""
    for point in points:
        for group in evaluations(point.spreads, correlations):
            if len({point.spreads[x].dof for x in group}) > 1:
                raise AdError(f"no effective degrees of freedom: {' and '.join(group)} are correlated, and theirs differ",
                              help="the formula of Welch and Satterthwaite is for independent inputs; without ⟦--coverage⟧ and"
                                   " ⟦--monte-carlo⟧ there are standard uncertainties")
