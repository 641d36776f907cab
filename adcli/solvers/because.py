"""What `why` says of a point where an answer failed or is suspicious: what made a NaN, why an input has no influence."""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from adcli.lang.ir import Program
from adcli.lang.ir.elementwise import has_tensors
from adcli.lang.ir.errors import AdError

MOST_TOLD = 3
"""Causes that are told of one point."""


def not_finite(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[str]:
    """What made the numbers at a point that are NaN or infinite: the values, and where they are finite the derivatives."""
    return list(_paragraphs(primal, wrt, at, lambda name, x: not math.isfinite(x)))


def no_influence(primal: Program, wrt: Sequence[str], at: Mapping[str, float], flat: Collection[str]) -> list[str]:
    """What made the derivatives at a point zero by the inputs that are `flat`."""
    ends = tuple(f"_d{x}" for x in flat)
    return list(_paragraphs(primal, [x for x in wrt if x in flat], at, lambda name, x: x == 0 and name.endswith(ends)))


def _paragraphs(primal: Program, wrt: Sequence[str], at: Mapping[str, float], asked: object) -> Iterator[str]:
    from adcli.why.command import WhyAt, groups, paragraph
    if has_tensors(primal):
        return
    told: set[str] = set()
    try:
        found = groups(WhyAt(primal, list(wrt), False, 1, False), at)
    except AdError:
        return
    for group in [g for g in found if any(asked(f.name, f.value) for f in g.findings)][:MOST_TOLD]:   # type: ignore[operator]
        yield "\n".join(paragraph(group, told))
