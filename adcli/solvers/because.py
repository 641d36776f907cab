"""What `why` says of a point where an answer failed or is suspicious: what made a NaN, why an input has no influence."""
from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError

if TYPE_CHECKING:
    from adcli.why.command import Explanation

MOST_TOLD = 3
"""Causes that are told of one point."""


def not_finite(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[str]:
    """What made the numbers at a point that are NaN or infinite: the values, and where they are finite the derivatives."""
    found = [g for g in _groups(primal, wrt, at) if any(not math.isfinite(f.value) for f in g.findings)]
    outputs = {r.name for r in primal.results}
    values = [g for g in found if any(f.name in outputs and not math.isfinite(f.value) for f in g.findings)]
    return _paragraphs(values or found)


def no_influence(primal: Program, wrt: Sequence[str], at: Mapping[str, float], flat: Collection[str]
                 ) -> tuple[Sequence[object], list[str]]:
    """What made the derivatives at a point zero by the inputs that are `flat`: the causes with their places in the text, and
    the words for them."""
    ends = tuple(f"_d{x}" for x in flat)
    found = [g for g in _groups(primal, [x for x in wrt if x in flat], at)
             if any(f.value == 0 and f.name.endswith(ends) for f in g.findings)]
    return tuple((c.kind, c.equation and c.equation.span) for g in found for c in g.findings[0].causes), _paragraphs(found)


def _groups(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[Explanation]:
    from adcli.why.command import WhyAt, groups
    if has_tensors(primal):
        return []
    try:
        return groups(WhyAt(primal, list(wrt), False, 1, False), at)
    except AdError:
        return []


def _paragraphs(found: Sequence[Explanation]) -> list[str]:
    from adcli.why.command import paragraph
    told: set[str] = set()
    return ["\n".join(paragraph(group, told)) for group in found[:MOST_TOLD]]
