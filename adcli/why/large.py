"""Explanations at points too large to be written out: the element in which a value that is not finite was made.

Native code computes every value; from a result that is not finite one goes back, element by element, through the elements that
passed it on, to the statement that made it. That statement alone is written out and explained as any program of numbers.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.evaluation import all_values
from adcli.input.arrays import filled
from adcli.lang.analyse.findings import Finding, explained
from adcli.lang.derive.derivatives import PartialNames
from adcli.lang.evaluate.one_element import Element, KnownValues, MadeElement
from adcli.lang.evaluate.recording import TooLong, element
from adcli.lang.evaluate.unfolding import elements_of
from adcli.lang.ir import Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.reductions import in_sums
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
from adcli.why.causes import Words
from adcli.why.groups import Explanation, WhyAt, rank

LONGEST_WAY = 20_000
"""KnownValues that may have passed a number on."""
MOST_CAUSES = 3
"""Infinities followed back from a NaN made of them."""


class MadeAt(NamedTuple):
    """The element that made a number, how, and the elements that passed it on, from there to the result."""

    made: Element
    how: MadeElement
    way: list[str]


def groups_of_large(asked: WhyAt, at: Mapping[str, Any]) -> list[Explanation]:
    """Numbers that are not finite, first among the values, then among the derivatives of each output."""
    found = explanations(asked, asked.primal, at, {r.name: r.name for r in asked.primal.results})
    for output in [] if found else asked.primal.results:
        found += of_derivatives(asked, at, output.name)
    return found


def of_derivatives(asked: WhyAt, at: Mapping[str, Any], output: str) -> list[Explanation]:
    """The derivatives of an output, of a tensor those of the sum of its elements."""
    swept = adjoint_program(asked.primal, asked.wrt, [output])
    point = filled(swept, at, {p.name: 1.0 for p in swept.params if p.seed})
    made = evaluation_program(swept)
    plain = replace(made, params=tuple([replace(p, seed=None) for p in made.params]))
    names, called = [r.name for r in plain.results[-len(asked.wrt):]], PartialNames(asked.primal)
    return explanations(asked, plain, point, {n: called(output, [x]) for n, x in zip(names, asked.wrt, strict=True)})


def explanations(asked: WhyAt, program: Program, at: Mapping[str, Any], names: Mapping[str, str]) -> list[Explanation]:
    """The results of these names that are not finite, by the element that made them so; they are called as `names` has it."""
    plain = in_sums(program)
    elements = KnownValues(plain, all_values(plain, at, asked.precision.name), asked.arithmetic)
    origins: dict[tuple[str, str], tuple[MadeAt, list[Finding]]] = {}
    for r in plain.results:
        if r.name in names and isinstance(r.atom, Var):
            for kind, x, name in not_finite(elements, r.atom, names[r.name]):
                origin = origin_of(elements, x)
                known = origins.setdefault((kind, elements.name(origin.made)), (origin, []))
                known[1].append(Finding(name, elements.number(x), ()))
    found = [each for origin, findings in origins.values() for each in told(asked, elements, origin, findings)]
    return sorted(found, key=lambda g: rank(g.findings[0].value))


def not_finite(elements: KnownValues, of: Var, name: str) -> Iterator[tuple[str, Element, str]]:
    """The first NaN and the first infinity of a value, each with what it is called there and how many more there are."""
    numbers = np.asarray(elements.values[of], float)
    for kind, wrong in (("nan", np.isnan(numbers)), ("inf", np.isinf(numbers))):
        count = int(wrong.sum())
        if count:
            place = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), numbers.shape))
            more = f" and {count - 1:,} more of its elements" if count > 1 else ""
            yield kind, Element(of, place), element(name, place) + more


def origin_of(elements: KnownValues, x: Element) -> MadeAt:
    """Where a number that is not finite was made: by operands that are not of its kind. An input comes first, then what is read
    first."""
    alike, way = math.isnan if math.isnan(elements.number(x)) else math.isinf, list[str]()
    for _ in range(LONGEST_WAY):
        how = made(elements, x)
        passing = [each for each in how.read.values() if alike(elements.number(each))]
        if not passing:
            return MadeAt(x, how, list(dict.fromkeys(reversed(way))))
        x = next((each for each in passing if each.of not in elements.makers), passing[0])
        way.append(elements.name(x))
    raise AdError(f"{elements.name(x)} is {elements.number(x)}, passed on by more than {LONGEST_WAY:,} elements",
                  help="give smaller tensors: fewer steps")


def made(elements: KnownValues, x: Element) -> MadeElement:
    """Operations that make an element. AdError where there are too many."""
    try:
        return elements.made(x)
    except TooLong:
        raise AdError(f"{elements.name(x)} is {elements.number(x)}; the statement that makes it has too many operations to be"
                      " written out", help="give smaller tensors: fewer rows of a batch, fewer units") from None


def told(asked: WhyAt, elements: KnownValues, origin: MadeAt, findings: Sequence[Finding]) -> Iterator[Explanation]:
    """Cause of an element, and the causes of the infinities that a NaN was made of."""
    ((explainer, (found, *_)),) = explained(origin.how.program, origin.how.at, [], False, 1,
                                              arithmetic=asked.arithmetic)
    own = [replace(found, name=f.name, value=f.value) for f in findings]
    yield Explanation(own, Words(explainer, elements_of(explainer.program), asked.precision), None, [], {}, origin.way[1:])
    if math.isnan(elements.number(origin.made)):
        infinite = [x for x in origin.how.read.values() if math.isinf(elements.number(x)) and x.of in elements.makers]
        for x in infinite[:MOST_CAUSES]:
            yield from told(asked, elements, origin_of(elements, x), [Finding(elements.name(x), elements.number(x), ())])
