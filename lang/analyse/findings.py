"""Numbers to explain at a point: every value and derivative that is NaN, infinite or exactly 0, with what made it so."""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from adcli.lang.analyse.conventions import AskedDerivative, conventions_met, rough_among
from adcli.lang.analyse.explain import Cause, Explainer, Question, kind_of
from adcli.lang.derive.derivatives import PartialNames, gradient
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value, read
from adcli.lang.ir import LEVELS, Point, Program
from adcli.lang.simplify.simplify import simplify


@dataclass(frozen=True)
class Finding:
    """A value or derivative that is NaN, infinite or exactly 0, with what made it so."""

    name: str
    value: float
    causes: tuple[Cause, ...]
    of: str | None = None
    wrt: tuple[str, ...] = ()
    question: Question | None = field(default=None, compare=False)


Asked = tuple[Finding, Question]
"""A finding without its causes, and the question for them."""


def bad(x: float) -> bool:
    """True if a number is one that asks for an explanation."""
    return x == 0 or not math.isfinite(x)


def each_bad(found: Iterable[Asked]) -> Iterable[Asked]:
    """The numbers that ask for an explanation, each for itself."""
    return (each for each in found if bad(each[0].value))


def explained(primal: Program, at: Point, wrt: Sequence[str], forward: bool,
              chosen: Callable[[Iterable[Asked]], Iterable[Asked]] = each_bad,
              of: Collection[str] | None = None, arithmetic: Arithmetic = FLOAT) -> tuple[Explainer, list[Finding]]:
    """Numbers to explain in the values and first derivatives of a program. `chosen` picks what is explained; `of` are the outputs
    whose derivatives are looked at, all by default; numbers are those of the `arithmetic`."""
    program = simplify(primal)
    explainer, names = Explainer(program, at, wrt, arithmetic), PartialNames(primal)
    differentiated = [r for r in program.results if of is None or r.name in of]

    def numbers() -> Iterator[Asked]:
        for r in program.results:
            yield Finding(r.name, explainer.number(r.atom), (), r.name), Question(r.atom)
        for r, x, number, question in explainer.derivatives(differentiated, forward):
            if kind_of(number) != "number":
                yield Finding(names(r.name, [x]), number, (), r.name, (x,)), question
    return explainer, answered(explainer, chosen(numbers()))


def explained_second(primal: Program, at: Point, wrt: Sequence[str], forward: bool,
                     chosen: Callable[[Iterable[Asked]], Iterable[Asked]] = each_bad,
                     arithmetic: Arithmetic = FLOAT) -> tuple[Explainer, list[Finding]]:
    """Numbers to explain in the second derivatives, which are the first ones of the gradient."""
    gradients, names = gradient(primal, wrt, None, "forward" if forward else "reverse"), PartialNames(primal)
    explainer, place = Explainer(gradients, at, wrt, arithmetic), {x: i for i, x in enumerate(wrt)}

    def numbers() -> Iterator[Asked]:
        for r, x, number, question in explainer.derivatives([r for r in gradients.results if r.wrt], forward):
            if kind_of(number) != "number" and place[x] >= place[r.wrt[0]]:
                assert r.of is not None
                both = (*r.wrt, x)
                yield Finding(names(r.of, both), number, (), r.of, both), question
    return explainer, answered(explainer, chosen(numbers()))


def answered(explainer: Explainer, asked: Iterable[Asked]) -> list[Finding]:
    """The findings with their causes."""
    return [replace(f, causes=explainer.causes(question), question=question) for f, question in asked]


def conventional(primal: Program, explainer: Explainer, order: int, of: Collection[str] | None) -> list[Finding]:
    """The derivatives up to an order of the outputs `of` that are numbers chosen at a kink or a jump. The `explainer` is that of
    the program itself."""
    program, values, at = explainer.program, explainer.values, explainer.at
    if not rough_among(program.equations, values):
        return []
    derived = gradient(primal, explainer.wrt, None if of is None else [*of], "reverse", order)
    partials = [r for r in derived.results if r.of is not None and r.wrt]
    met = conventions_met(program, values, [AskedDerivative((r.of or "",), [(x,) for x in r.wrt]) for r in partials])
    numbers = every_value(derived, at, values.arithmetic)
    return [Finding(r.name, x, (Cause("convention", found[1], 0, LEVELS[found[0]]),), r.of, r.wrt)
            for r, found in zip(partials, met, strict=True)
            if found and math.isfinite(x := read(numbers, r.atom, values.arithmetic))]


def other_mode(explainer: Explainer, findings: Sequence[Finding], forward: bool, most: int) -> dict[str, float]:
    """Results of the other mode for derivatives that are not finite, where one is a number of another kind. At most
    about `most` operations are spent on it."""
    wanted = {(f.of, f.wrt[0]): f for f in findings if len(f.wrt) == 1 and not math.isfinite(f.value)}
    results = [r for r in explainer.program.results if any(r.name == of for of, _ in wanted)]
    inputs = [x for x in explainer.wrt if any(x == y for _, y in wanted)]
    if not wanted or len(explainer.program.equations) * (len(inputs) if forward else len(results)) > most:
        return {}
    found = {}
    for r, x, number, _ in explainer.derivatives(results, forward, inputs):
        f = wanted.get((r.name, x))
        if f is not None and kind_of(number) != kind_of(f.value):
            found[f.name] = number
    return found


def in_other_mode_alone(primal: Program, explainer: Explainer, forward: bool, most: int) -> list[tuple[Finding, float]]:
    """The derivatives that are NaN, infinite or 0 in the other mode alone, as where it adds up in another order, with their
    numbers in this one. No more than about `most` operations are spent on it."""
    results, names = explainer.program.results, PartialNames(primal)
    if len(explainer.program.equations) * (len(results) + len(explainer.wrt)) > most:
        return []
    here = {(r.name, x): number for r, x, number, _ in explainer.derivatives(results, forward)}
    return [(Finding(names(r.name, [x]), number, explainer.causes(question), r.name, (x,), question), here[r.name, x])
            for r, x, number, question in explainer.derivatives(results, not forward)
            if kind_of(number) != "number" and kind_of(here[r.name, x]) == "number"]
