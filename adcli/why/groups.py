"""What there is to explain at a point, grouped by the cause; of programs of numbers."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adcli.lang.analyse.explain import Cause
from adcli.lang.analyse.findings import Finding, explained, other_mode
from adcli.lang.analyse.limits import Limits, limits_of
from adcli.lang.analyse.rewrites import Rewrite, mended
from adcli.lang.evaluate import Arithmetic, rounded_arithmetic
from adcli.lang.ir import Program
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.why.causes import Words

COMPARED = 2_000_000
"""Operations that may be spent on asking the other mode."""


class WhyAt(NamedTuple):
    """What is to be explained at every point."""

    primal: Program
    wrt: list[str]
    forward: bool
    order: int
    limit: bool
    precision: Precision = DOUBLE

    @property
    def arithmetic(self) -> Arithmetic:
        """What numbers are computed in."""
        return rounded_arithmetic(self.precision)



class Explanation(NamedTuple):
    """Findings with the same cause, and the words for it."""

    findings: list[Finding]
    words: Words
    rewrite: Rewrite | None
    limits: list[Limits]
    other: dict[str, float]
    way: Sequence[str] = ()
    """The elements that passed the first finding's number on."""
    alike: Sequence[str] = ()
    """Elements of tensors beside the one that is told of, in which the same happens."""


def groups_of_numbers(asked: WhyAt, at: Mapping[str, float]) -> list[Explanation]:
    """Everything there is to explain at a point, grouped by cause: NaN first, then infinities, then zeros."""
    found: list[Explanation] = []
    for explainer, findings in explained(asked.primal, at, asked.wrt, asked.forward, asked.order,
                                         arithmetic=asked.arithmetic):
        words = Words(explainer, precision=asked.precision)
        other = other_mode(explainer, findings, not asked.forward, COMPARED)
        together: dict[tuple[Cause, ...], list[Finding]] = {}
        for f in findings:
            together.setdefault(f.causes, []).append(f)
        found += [Explanation(same, words, None, [], {f.name: other[f.name] for f in same if f.name in other})
                  for same in together.values()]
    found.sort(key=lambda g: rank(g.findings[0].value))
    rewrites = mended(asked.primal, at, [(g.findings, g.words.explainer) for g in found])
    limits: list[list[Limits]] = [[] for _ in found]
    if asked.limit:
        limits = limits_of(asked.primal, at, asked.wrt, [g.findings for g in found], asked.order)
    return [g._replace(rewrite=r, limits=ls) for g, r, ls in zip(found, rewrites, limits, strict=True)]


def rank(x: float) -> int:
    return 0 if x != x else 2 if x == 0 else 1
