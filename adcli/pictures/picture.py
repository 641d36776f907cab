"""A picture as plain data: panels one below the other that share the horizontal axis, or one map with contours.

Numbers are tuples of floats. A NaN in a curve is a gap: no line is drawn across it.
"""
from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import Any, NamedTuple

from adcli.lang.ir.errors import AdError, missing

Numbers = tuple[float, ...]
NONE: Numbers = ()


@dataclass(frozen=True)
class Curve:
    """A line through points, or the points alone. `style`: line, dashed, points, or steps (a histogram: one more x than y)."""

    name: str
    x: Numbers
    y: Numbers
    style: str = "line"
    number: int = 0
    """Its place among the colours: curves of one output have one colour."""
    error: Numbers = NONE
    """How far the error bar of each point reaches up and down; empty for none."""

    @property
    def bars(self) -> list[tuple[float, float, float]]:
        """The error bars: x, the lower end, the upper end."""
        return [(x, y - e, y + e) for x, y, e in zip(self.x, self.y, self.error, strict=False)]


@dataclass(frozen=True)
class Mark:
    """An event at one place: a kind of `SYMBOLS`; `value` is what a curve is at a jump itself."""

    kind: str
    x: float
    y: float


@dataclass(frozen=True)
class Panel:
    """A pair of axes. `low` and `high` are ends of the vertical axis that curves are clipped to, else None; `upright` are places
    of vertical lines that no curve crosses; `flat` those of horizontal ones. A `log` axis is logarithmic. A `twin` is drawn
    over it, on an axis at the right."""

    name: str
    curves: tuple[Curve, ...]
    marks: tuple[Mark, ...] = ()
    upright: Numbers = NONE
    flat: Numbers = NONE
    low: float | None = None
    high: float | None = None
    log: bool = False
    share: float = 1.0
    """Of the height, beside that of other panels."""
    twin: Panel | None = None

    @property
    def every(self) -> tuple[Curve, ...]:
        """All curves, those of the twin too."""
        return self.curves + (self.twin.curves if self.twin else ())

    @property
    def legend(self) -> list[str]:
        """The names of all curves, with the axis of those at the right."""
        return [c.name for c in self.curves] + [f"{c.name} (right)" for c in (self.twin.curves if self.twin else ())]


@dataclass(frozen=True)
class Contour:
    """Values over a grid, `z[j][i]` at x[i], y[j], NaN where there is none; the levels to draw; arrows (x, y, dx, dy) that point
    where the value grows, at x and y and as long as these parts of the two axes; places where the value is not smooth; and points
    of data (x, y, value), NaN where they have no value."""

    name: str
    x: Numbers
    y: Numbers
    z: tuple[Numbers, ...]
    levels: Numbers
    arrows: tuple[tuple[float, float, float, float], ...] = ()
    marks: tuple[Mark, ...] = ()
    points: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class PictureTable:
    """The numbers under a picture. Words stand where a column has words."""

    names: tuple[str, ...]
    rows: tuple[tuple[float | str, ...], ...]


class PictureSize(NamedTuple):
    """Width and height of a file in inches, with the pixels of an inch where the size is in pixels; or those of characters,
    columns and lines."""

    inches: tuple[float, float]
    dots: int | None = None
    cells: tuple[int, int] | None = None


UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "px": 1 / 96, "": 1 / 96}
"""Inches of a unit."""


def size_of(text: str) -> PictureSize:
    """The size that a text names: 16x10cm, 6x4in, 800x600 pixels, which are columns and lines of a picture in characters."""
    given = re.fullmatch(r"(\d{1,5}(?:\.\d+)?)\s*[x×]\s*(\d{1,5}(?:\.\d+)?)\s*(\w*)", text.strip())
    if given is None or given[3] not in UNITS:
        raise AdError(f"⟦--size⟧ '{text}' is not a width and a height",
                      help="write ⟦--size 16x10cm⟧, 6x4in or 800x600 (pixels; of a picture in characters, columns and lines)")
    width, height = (float(given[k]) for k in (1, 2))
    cells = None if given[3] else (round(width), round(height))
    return PictureSize((width * UNITS[given[3]], height * UNITS[given[3]]), 96 if given[3] in ("", "px") else None, cells)


def look(form: str, size: str | None, theme: str) -> dict[str, Any]:
    """The members of a picture that say how it looks. AdError where one in characters has another size than in these."""
    found = None if size is None else size_of(size)
    if form == "text" and found and found.cells is None:
        raise AdError("a picture in characters has columns and lines", help="write ⟦--size 100x30⟧, or -o picture.svg")
    return {"size": found, "theme": theme}


@dataclass(frozen=True)
class Picture:
    """All of it: `panels`, or the `contour` with the name of its other axis; `notes` are the lines below, one for each kind of
    place. The `theme` is light or dark."""

    title: str
    x_name: str
    panels: tuple[Panel, ...] = ()
    contour: Contour | None = None
    y_name: str = ""
    notes: tuple[str, ...] = ()
    table: PictureTable = field(default_factory=lambda: PictureTable((), ()))
    log_x: bool = False
    size: PictureSize | None = None
    theme: str = "light"

    @property
    def caption(self) -> str:
        """The picture in words."""
        shown = [self.contour.name] if self.contour else [panel.name for panel in self.panels]
        across = " and ".join(filter(None, (self.x_name, self.y_name)))
        return "; ".join([f"{', '.join(shown)} against {across}", *self.notes])


SYMBOLS = {"kink": "◆", "jump": "○", "pole": "┊", "singular": "▲", "domain": "■", "hole": "□", "overflow": "■",
           "value": "●"}
"""Characters of the kinds of marks; files have markers of the same shape."""


# ---------------------------------------------------------------- kinds of pictures, and the packages that draw them

FILES = ("svg", "png", "pdf")
FORMATS = ("text", "csv", *FILES)
one_at_a_time = Lock()
"""Held while plotext or matplotlib draws: both keep what they draw with in one place for all threads."""


def unlocked() -> None:
    """In a process that was forked while another thread was drawing."""
    global one_at_a_time
    one_at_a_time = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=unlocked)


def require_package(form: str) -> None:
    """AdError where what draws a kind of picture is not installed. Asked before the work, not after it."""
    if form not in FORMATS:
        raise AdError(f"no kind of picture '{form}'", help=f"the kinds are {', '.join(FORMATS)}")
    if form == "text" and find_spec("plotext") is None:
        raise missing("a picture in characters", "plotext")
    if form in FILES and find_spec("matplotlib") is None:
        raise missing("a picture in a file", "matplotlib")
