"""Explanations for solvers, which are asked for no `why`: of numbers that are not finite, and of inputs without influence."""
from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError
from adcli.why.command import Explanation, WhyAt, groups, paragraphs

MOST_TOLD = 3
"""Causes that are told of one point."""


def not_finite(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[str]:
    """Explanations of NaN and infinite numbers at a point: of values, or where these are finite of derivatives."""
    found = [g for g in explanations(primal, wrt, at) if any(not math.isfinite(f.value) for f in g.findings)]
    outputs = {r.name for r in primal.results}
    values = [g for g in found if any(f.name in outputs and not math.isfinite(f.value) for f in g.findings)]
    return paragraphs((values or found)[:MOST_TOLD])


def no_influence(primal: Program, wrt: Sequence[str], at: Mapping[str, float], flat: Collection[str]
                 ) -> tuple[Sequence[object], list[str]]:
    """Explanations of zero derivatives by the inputs that are `flat`: the causes with their places in the text, and
    the words for them."""
    ends = tuple(f"_d{x}" for x in flat)
    found = [g for g in explanations(primal, [x for x in wrt if x in flat], at)
             if any(f.value == 0 and f.name.endswith(ends) for f in g.findings)]
    causes = tuple((c.kind, c.equation and c.equation.span) for g in found for c in g.findings[0].causes)
    return causes, paragraphs(found[:MOST_TOLD])


def explanations(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[Explanation]:
    """All there are; none of a program with tensors."""
    if has_tensors(primal):
        return []
    try:
        return groups(WhyAt(primal, list(wrt), False, 1, False), at)
    except AdError:
        return []
