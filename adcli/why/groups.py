"""What there is to explain at a point, grouped by the cause; of programs of numbers."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.explain import Cause
from adcli.lang.analyse.findings import Finding, conventional, explained, in_other_mode_alone, other_mode
from adcli.lang.analyse.limits import Limits, limits_of
from adcli.lang.analyse.rewrites import Rewrite, mended
from adcli.lang.evaluate import Arithmetic
from adcli.lang.ir import Program
from adcli.lang.ir.names import tensor_of
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.why.causes import Words

COMPARED, COMPARED_ALWAYS = 2_000_000, 100_000
"""Operations that may be spent on asking the other mode: of numbers that are not finite, and of all."""


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
        return native_arithmetic(self.precision)



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
    found, first = list[Explanation](), list[Words]()
    for explainer, findings in explained(asked.primal, at, asked.wrt, asked.forward, asked.order,
                                         arithmetic=asked.arithmetic):
        words = Words(explainer, precision=asked.precision)
        first.append(words)
        other = other_mode(explainer, findings, not asked.forward, COMPARED)
        together: dict[tuple[Cause, ...], list[Finding]] = {}
        for f in findings:
            together.setdefault(f.causes, []).append(f)
        found += [Explanation(same, words, None, [], {f.name: other[f.name] for f in same if f.name in other})
                  for same in together.values()]
    found += [Explanation([f], first[0], None, [], {f.name: here}) for f, here in in_other_mode_alone(
        asked.primal, first[0].explainer, asked.forward, COMPARED_ALWAYS)]
    found.sort(key=lambda g: rank(g.findings[0].value))
    rewrites = mended(asked.primal, at, [(g.findings, g.words.explainer) for g in found])
    found = [g._replace(rewrite=r) for g, r in zip(found, rewrites, strict=True)]
    return with_limits(asked, asked.primal, None, first[0], found) if asked.limit else found


def with_limits(asked: WhyAt, program: Program, of: Collection[str] | None, words: Words,
                found: Sequence[Explanation]) -> list[Explanation]:
    """The explanations with limits, and further ones for numbers that are chosen at a kink or a jump, one for each tensor. The
    `words` are those about the program itself."""
    chosen = conventional(program, words.explainer, asked.order, of)
    told = {tensor_of(f.name.rpartition(" ")[2]) for g in found for f in g.findings}
    together: dict[tuple[Cause, ...], list[Finding]] = {}
    for f in {tensor_of(f.name): f for f in reversed(chosen)}.values():
        if tensor_of(f.name) not in told:
            together.setdefault(f.causes, []).insert(0, f)
    whole = [*found, *(Explanation(same, words, None, [], {}) for same in together.values())]
    limits = limits_of(program, words.explainer.at, words.explainer.wrt, [g.findings for g in whole], asked.order,
                       {(f.of, f.wrt) for f in chosen})
    return [g._replace(limits=each) for g, each in zip(whole, limits, strict=True)]


def rank(x: float) -> int:
    return 0 if x != x else 2 if x == 0 else 1
