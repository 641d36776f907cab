"""Slices, and elements counted from the end, which other languages have, as statements about elements.

`x[1:] - x[:-1]` is `x(i + 1) - x(i) where i in 0:N - 1`. Asked only after a fault.
"""
from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

NAME = r"(?<![\w.])[^\W\d]\w*(?!\w)"
ACCESS = re.compile(rf"({NAME})\s*[\[(]([^\[\](){{}}?=]*:[^\[\](){{}}?=]*)[\])]")
"""A tensor with a slice among its subscripts."""
FROM_END = re.compile(r"-\s*(\d+)")
"""A subscript that is counted from the end."""


class Sliced(NamedTuple):
    """An expression about elements, or subscripts; the indices in it, and their ranges as a statement ends with them."""

    text: str
    indices: str
    ranges: str


def sliced(text: str, shapes: Mapping[str, Sequence[str]], taken: Container[str]) -> Sliced | None:
    """An expression with indices in place of slices; `shapes` are the extents of tensors, `taken` names that are no indices.
    None where there is no slice, or one that cannot be written."""
    found = {m[0]: subscripted(m[2].split(","), shapes.get(m[1], ()), taken) for m in ACCESS.finditer(text)}
    known = [s for s in found.values() if s is not None]
    if not known or len(known) < len(found):
        return None
    changed = ACCESS.sub(lambda m: f"{m[1]}({s.text})" if (s := found[m[0]]) else m[0], text)
    longest = max(known, key=lambda s: (len(s.indices), len(s.ranges)))
    return Sliced(changed, longest.indices, longest.ranges)


def subscripted(subscripts: Sequence[str], shape: Sequence[str], taken: Container[str]) -> Sliced | None:
    """Subscripts with an index in place of each slice. None where one is counted from an end that is not known, or has steps and
    an end."""
    fresh = (i for i in "ijklmnpqr" if i not in taken)
    ranges: list[str] = []
    written: list[str] = []
    indices: list[str] = []
    for d, subscript in enumerate(subscripts):
        extent = shape[d] if d < len(shape) else None
        low, colon, rest = (part.strip() for part in subscript.partition(":"))
        high, _, step = (part.strip() for part in rest.partition(":"))
        if extent is None and any(FROM_END.fullmatch(end) for end in (low, high)):
            return None
        low, high = (FROM_END.sub(rf"{extent} - \1", end) if FROM_END.fullmatch(end) else end for end in (low, high))
        if not colon:
            written.append(low)
            continue
        indices.append(index := next(fresh))
        if step == "-1" and extent and not low + high:
            written.append(f"{extent} - 1 - {index}")
        elif step in ("", "1") or (step.isdecimal() and not high):
            written.append(f"{step}*" * (step not in ("", "1")) + index + f" + {low}" * (low not in ("", "0")))
            ranges += [f"{index} in 0:{difference(high, low or '0')}"] if high else []
        else:
            return None
    return Sliced(", ".join(written), ", ".join(indices), f" where {', '.join(ranges)}" if ranges else "")


def difference(high: str, low: str) -> str:
    if high.isdecimal() and low.isdecimal():
        return str(max(int(high) - int(low), 0))
    return high if low == "0" else f"{high} - {low if low.isalnum() else f'({low})'}"
