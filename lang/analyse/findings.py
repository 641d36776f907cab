"""What there is to explain at a point: every value and derivative that is NaN, infinite or exactly 0, with what made it so."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adcli.lang.analyse.explain import Cause, Explainer, Question, kind_of
from adcli.lang.derive.derivatives import gradient, partial_name
from adcli.lang.ir import Program
from adcli.lang.passes.simplify import simplify


@dataclass(frozen=True)
class Finding:
    """A value or derivative that is NaN, infinite or exactly 0, with what made it so."""

    name: str
    value: float
    causes: tuple[Cause, ...]
    of: str | None = None
    wrt: tuple[str, ...] = ()


def bad(x: float) -> bool:
    """Whether a number is one that asks for an explanation."""
    return x == 0 or not math.isfinite(x)


def explained(primal: Program, at: Mapping[str, float], wrt: Sequence[str], forward: bool,
              order: int) -> Iterator[tuple[Explainer, list[Finding]]]:
    """What there is to explain in the values and first derivatives of a program; then, for `order` 2, in the second ones,
    which are the first derivatives of the gradient."""
    program = simplify(primal)
    explainer = Explainer(program, at, wrt)
    found = [Finding(r.name, x, explainer.causes(Question(r.atom)), r.name) for r in program.results
             if bad(x := explainer.number(r.atom))]
    for r, x, number, question in explainer.derivatives(program.results, forward):
        if bad(number):
            found.append(Finding(partial_name(r.name, [x]), number, explainer.causes(question), r.name, (x,)))
    yield explainer, found
    if order == 2:
        gradients = gradient(primal, wrt, None, "forward" if forward else "reverse")
        explainer, found, place = Explainer(gradients, at, wrt), [], {x: i for i, x in enumerate(wrt)}
        for r, x, number, question in explainer.derivatives([r for r in gradients.results if r.wrt], forward):
            if bad(number) and place[x] >= place[r.wrt[0]]:
                assert r.of is not None
                both = (*r.wrt, x)
                found.append(Finding(partial_name(r.of, both), number, explainer.causes(question), r.of, both))
        yield explainer, found


def other_mode(explainer: Explainer, findings: Sequence[Finding], forward: bool, most: int) -> dict[str, float]:
    """What the other mode gives for those derivatives that are not finite, where it is a number of another kind. At most
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
