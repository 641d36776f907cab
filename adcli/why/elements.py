"""What why says of a program with tensors: it is written out as a program of numbers at the point, which is explained as any.

What differs is how much is told. Every NaN and every infinity is, but an exact zero only where all elements of a tensor are zero:
one that is zero by itself is seldom a question. Where the same operation does the same in several elements, one is told in full
and the others are named.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adcli.lang.analyse.explain import Cause
from adcli.lang.analyse.findings import Asked, Finding, explained, other_mode
from adcli.lang.evaluate.unfolding import MOST_OPERATIONS, Unfolded, elements_of, length, unfolded
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.matrix import NoValue
from adcli.lang.ir.names import tensor_of
from adcli.why.causes import Words
from adcli.why.groups import COMPARED, Explanation, WhyAt, rank, with_limits

MOST_SWEPT = 2_000_000
"""Operations that sweeps may go through, all together: some seconds."""


def groups_of_elements(asked: WhyAt, at: Mapping[str, Any]) -> list[Explanation]:
    """Everything there is to explain at a point, grouped by the operation that made it."""
    if is_large(asked, at):
        from adcli.why.large import groups_of_large
        return groups_of_large(asked, at)
    whole = unfolded(asked.primal, at, asked.arithmetic)
    wrt = [x for x in whole.at if tensor_of(x) in set(asked.wrt)]
    of = differentiated(asked, whole, wrt)
    found, first = list[Explanation](), list[Words]()
    chosen = Choice(whole.program, wrt).chosen
    for explainer, findings in explained(whole.program, whole.at, wrt, asked.forward, asked.order, chosen, of,
                                         asked.arithmetic):
        words = Words(explainer, elements_of(explainer.program), asked.precision)
        first.append(words)
        other = other_mode(explainer, findings, not asked.forward, COMPARED)
        together: dict[Hashable, list[Finding]] = {}
        for f in findings:
            together.setdefault((rank(f.value), *map(operation, f.causes)), []).append(f)
        for same in together.values():
            there = {f.name: other[f.name] for f in same if f.name in other}
            question = same[0].question
            found.append(Explanation(same, words, None, [], there, words.way(question) if question else (), also(same, words)))
    found.sort(key=lambda g: rank(g.findings[0].value))
    return with_limits(asked, whole.program, of, first[0], found) if asked.limit else found


def is_large(asked: WhyAt, at: Mapping[str, Any]) -> bool:
    """Whether a point is too large to be written out. AdError where something is asked that needs it written out."""
    if (operations := length(asked.primal, at)) <= MOST_OPERATIONS:
        return False
    for option, given in (("⟦--limit⟧", asked.limit), ("⟦--order⟧ 2", asked.order == 2), ("⟦--mode⟧ forward", asked.forward)):
        if given:
            raise AdError(f"{option} writes out every operation on numbers, at most {MOST_OPERATIONS:,}; here there are"
                          f" {operations:,}", help=f"leave out {option}, or give smaller tensors")
    return True


def differentiated(asked: WhyAt, whole: Unfolded, wrt: Sequence[str]) -> set[str]:
    """The elements of outputs whose derivatives are looked at: all, or those that the effort allows, first what is not finite.
    AdError where it allows none."""
    count = max(1, len(whole.program.equations)) * (len(wrt) ** (asked.order - 1))
    names = [r.name for r in whole.program.results]
    if (len(wrt) if asked.forward else 1) * count > MOST_SWEPT:
        raise AdError(f"--{'mode forward' if asked.forward else 'order 2'} takes {len(wrt):,} sweeps here, each of {count:,} "
                      f"operations, which is too much", help="name fewer inputs with ⟦--wrt⟧, or give smaller tensors")
    return set(names if asked.forward else names[:max(1, MOST_SWEPT // count)])


class Choice:
    """What is explained: numbers that are not finite, and tensors all elements of which are 0."""

    def __init__(self, program: Program, wrt: Sequence[str]) -> None:
        self.sizes = Counter([*(tensor_of(r.name) for r in program.results), *map(tensor_of, wrt)])

    def chosen(self, found: Iterable[Asked]) -> Iterator[Asked]:
        """Those numbers; of a tensor of zeros the first, with the name of the tensor."""
        zeros: dict[str, list[Asked]] = {}
        for each in found:
            if not math.isfinite(each[0].value):
                yield each
            elif each[0].value == 0:
                zeros.setdefault(tensor_of(each[0].name), []).append(each)
        for name, those in zeros.items():
            f, question = those[0]
            if len(those) == math.prod(self.sizes[tensor_of(x)] for x in (f.of or "", *f.wrt)):
                yield replace(f, name=name if len(those) == 1 else f"every element of {name}"), question


def operation(cause: Cause) -> Hashable:
    """What is the same of a cause in all elements of a tensor."""
    e = cause.equation
    position = None if e and isinstance(e.op, NoValue) else cause.position   # an element of the matrix
    return (cause.kind, position, cause.sweep, tensor_of(cause.name or ""), e and (e.span, e.op.name))


def also(same: Sequence[Finding], words: Words) -> list[str]:
    """The elements beside that of the first finding where the same operation does the same."""
    def places(f: Finding) -> list[str]:
        return [words.element_of.get(c.equation.outs[0], "") if c.equation else c.name or "" for c in f.causes]
    told = set(places(same[0]))
    return [x for x in dict.fromkeys(x for f in same[1:] for x in places(f)) if x and x not in told]
