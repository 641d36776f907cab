"""What is said beside a picture: what stands still, and which places are not smooth."""
from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adcli.lang.ir.errors import Source, plural, visible
from adcli.pictures.picture import SYMBOLS

if TYPE_CHECKING:
    from adcli.input.points import GridRange
    from adcli.lang.analyse.special_places import Telltale
    from adcli.plot.breaks import BreakPlace
    from adcli.plot.ranges import Setting

LONGEST = 40
"""Characters of the text of an operation."""
MOST_NAMED = 6
"""Places that are named one by one."""
CROWDED = 100
"""Places from which on two of them may have lain between neighbours of the search, and only one was seen."""
WORDS = {"kink": "kink", "jump": "jump", "pole": "pole", "singular": "singular", "domain": "edge of the domain",
         "hole": "no value", "overflow": "too large for a double"}


def fixed_text(setting: Setting) -> str:
    """The inputs that do not vary, as --at has them."""
    ranged = {r.name for r in setting.ranges}
    names = [n for n in setting.fixed if n not in ranged]
    shown = ", ".join(f"{n} = {setting.fixed[n]:.6g}" for n in names[:MOST_NAMED])
    return f"{shown}, …" if len(names) > MOST_NAMED else shown


class Found(NamedTuple):
    """A place where an output is not smooth, what it is there, and the operation to blame."""

    place: BreakPlace
    kind: str
    blame: Telltale | None


def place_notes(span: GridRange, found: Iterable[Sequence[Found]], source: Source | None) -> Iterator[str]:
    """A line for each kind of place, with the operations that make it."""
    places: dict[tuple[str, str], set[float]] = {}
    for each in found:
        for f in each:
            places.setdefault((f.kind, operation(f.blame, source)), set()).add(float(f.place.at[0]))
    lines: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (kind, text), at in places.items():
        lines.setdefault((kind, tuple(sorted(at))), []).append(text)
    for (kind, spots), texts in lines.items():
        text = ", ".join(filter(None, texts))
        yield f"{SYMBOLS[kind]} {WORDS[kind]} {where(span, spots)}{f': {text}' if text else ''}"


def where(span: GridRange, at: Sequence[float]) -> str:
    """At x = 1, 2; of many, how many there are and how far they reach. Six digits of the range are told."""
    largest, wide = max(map(abs, span.ends)), min(abs(span.ends[1] - span.ends[0]), sys.float_info.max)
    digits = min(6 + max(0, math.floor(math.log10(largest / wide))), 17)
    x, words = span.name, [f"{value:.{digits}g}" for value in at]
    if len(at) > MOST_NAMED:
        more = " or more" if len(at) > CROWDED else ""
        return f"at {plural(len(at), 'place')}{more} from {x} = {words[0]} to {words[-1]}"
    return f"at {x} = {', '.join(words)}"


def told_apart(numbers: Sequence[float], least: int = 6) -> list[str]:
    """Numbers with so many digits, or as many as tell different ones apart."""
    several = len(set(numbers))
    texts = ([f"{x + 0.0:.{digits}g}" for x in numbers] for digits in range(least, 18))
    return next(words for words in texts if len(set(words)) == several)


def operation(blame: Telltale | None, source: Source | None) -> str:
    """The operation to blame as it was written."""
    if blame is None or source is None or blame.equation.span is None:
        return ""
    start, end = blame.equation.span
    text = visible(" ".join(source.text[start:end].split()))
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"
