"""A picture in characters, by plotext: braille dots for lines, which a terminal of any kind shows.

Everything is placed here on axes from 0 to 1, so that numbers of any size, logarithms and clipped axes are one case.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from adcli.lang.ir.errors import AdError, missing
from adcli.pictures import picture as pictures
from adcli.pictures.picture import SYMBOLS, Contour, Curve, Mark, Panel, Picture, require_package
from adcli.pictures.scales import Scale, horizontal, labels, placed, vertical

LINES = 30
"""Of a picture that is not for a terminal."""
NARROWEST, WIDEST, LOWEST = 30, 160, 6
COLOURS = (32, 208, 36, 175, 74, 166, 178)
"""Of curves, among the 256 of a terminal: those of Okabe and Ito (2008), on dark and on light ground."""
POINT, BAR = "•", "│"
CHARACTERS = ("braille", "•", "+", "x", "o", "*", "#")
"""Characters of curves where there is no colour."""
GREY = 244
ARROWS = "→↗↑↖←↙↓↘"
COLD, WARM = (27, 33, 39, 45), (220, 214, 208, 202)
"""Colours of levels below and above the middle."""
APART = 9, 2.5
"""Columns or lines between arrows."""


def text(picture: Picture, width: int = 80, height: int = LINES, colour: bool = False) -> str:
    """The picture, as many characters wide and about as many lines high, with its notes below."""
    require_package("text")
    import plotext
    if picture.contour and find_spec("contourpy") is None:
        raise missing("a map in characters", "contourpy")
    if width < NARROWEST:
        raise AdError(f"{width} columns are too narrow for a picture", help="write it to a file: -o picture.svg")
    width = min(width, WIDEST)
    draw = TerminalDrawing(plotext, width, colour)
    lines = [f" {picture.title}"] if picture.title else []
    with pictures.one_at_a_time:
        if picture.contour:
            lines += draw.contour(picture, picture.contour, max(height - len(picture.notes) - 4, LOWEST))
        else:
            lines += draw.panels(picture, height)
    return "\n".join([*lines, *(f" {note}" for note in picture.notes), ""])


class Ruler:
    """A vertical axis of about so many lines, with its ticks and what they are called."""

    def __init__(self, height: int, scale: Scale) -> None:
        self.scale, self.ticks = scale, scale.ticks(max(3, height // 2))
        self.words = labels(self.ticks)


class TerminalDrawing:
    """State shared by the panels of one picture."""

    def __init__(self, plotext: Any, width: int, colour: bool) -> None:
        self.plotext, self.width, self.colour = plotext, width, colour

    # -- curves

    def panels(self, picture: Picture, height: int) -> Iterator[str]:
        """The panels one below the other; the last has the numbers of the horizontal axis."""
        across = horizontal(picture)
        shares = sum(p.share for p in picture.panels)
        free = height - 2 * len(picture.panels) - len(picture.notes) - 4
        heights = [max(LOWEST, round(free * p.share / shares)) for p in picture.panels]
        pairs = [[Ruler(h, vertical(part)) if part else None for part in (p, p.twin)]
                 for p, h in zip(picture.panels, heights, strict=True)]
        for rulers, aligned in zip(zip(*pairs, strict=True), (str.rjust, str.ljust), strict=True):
            margin = max((len(word) for ruler in rulers if ruler for word in ruler.words), default=1)
            for ruler in filter(None, rulers):
                ruler.words = [aligned(word, margin) for word in ruler.words]
        for p, h, (left, right) in zip(picture.panels, heights, pairs, strict=True):
            yield f" {self.legend(p) or p.name}"
            yield from self.panel(p, across, h + 2, left, right)
        yield f"{picture.x_name:^{self.width}}".rstrip()

    def legend(self, p: Panel) -> str:
        """The names of several curves behind what they are drawn with."""
        if len(p.every) < 2:
            return ""
        shown = ["⠤⠤" if c == "braille" else c for c in self.characters(p)]
        return "   ".join(f"{self.painted(s, c.number)} {name}" for s, c, name in zip(shown, p.every, p.legend, strict=True))

    def painted(self, word: str, number: int) -> str:
        return f"\x1b[38;5;{COLOURS[number % len(COLOURS)]}m{word}\x1b[0m" if self.colour else word

    def characters(self, p: Panel) -> list[str]:
        """The character of each curve of a panel."""
        free = [c for c in CHARACTERS if c != POINT or all(curve.style != "points" for curve in p.every)]
        lines = [curve for curve in p.every if curve.style != "points"]
        return [POINT if curve.style == "points" else "braille" if self.colour else free[lines.index(curve) % len(free)]
                for curve in p.every]

    def panel(self, p: Panel, across: Scale, height: int, left: Ruler | None, right: Ruler | None) -> list[str]:
        figure, characters = self.figure(height, across, left, right), self.characters(p)
        for part, ruler in ((p, left), (p.twin, right)):
            if part and ruler:
                self.traced(figure, part, across, ruler.scale, characters[:len(part.curves)])
                characters = characters[len(part.curves):]
        return self.built(figure)

    def traced(self, figure: Any, p: Panel, across: Scale, up: Scale, characters: Sequence[str]) -> None:
        """Draw the curves and the marks of a panel."""
        for x in p.upright:
            if 0 <= (place := across.place(x)) <= 1:
                figure.line(place, orientation="vertical", style="dotted", pixel=GREY if self.colour else None)
        for y in p.flat:
            figure.line(up.place(y), orientation="horizontal", style="dotted", pixel=GREY if self.colour else None)
        for c, character in sorted(zip(p.curves, characters, strict=True), key=lambda each: each[0].style == "points"):
            colour = COLOURS[c.number % len(COLOURS)]
            for x, *ends in c.bars:
                if bar := clipped(*((across.place(x), up.place(end)) for end in ends)):
                    self.signal(figure, [x for x, _ in bar], [y for _, y in bar], BAR, colour, True)
            for xs, ys in runs(c, across, up):
                self.signal(figure, xs, ys, character, colour, c.style != "points")
        for mark in p.marks:
            self.mark(figure, mark, across, up)

    def mark(self, figure: Any, mark: Mark, across: Scale, up: Scale) -> None:
        x, y = across.place(mark.x), up.place(mark.y)
        if 0 <= x <= 1 and 0 <= y <= 1:
            self.signal(figure, [x], [y], SYMBOLS[mark.kind], COLOURS[1], False)

    def signal(self, figure: Any, x: Sequence[float], y: Sequence[float], character: str, colour: int, lines: bool) -> None:
        marker = self.plotext.marker(character, pixel=colour) if self.colour else character
        signal = figure.signal(x, y, marker=marker)
        figure.draw(signal.lines() if lines and len(x) > 1 else signal)

    def figure(self, height: int, across: Scale, left: Ruler | None, right: Ruler | None = None) -> Any:
        """An empty frame with its ticks, the axes from 0 to 1."""
        figure = self.plotext.figure
        figure.clear()
        self.plotext.terminal.limit(False, False)   # the width is known, and may be that of no terminal
        figure.theme("colorless")
        figure.plot_size(self.width, height)
        flat = across.ticks(max(2, self.width // 12))
        figure.ruler("x").lim(0, 1)
        figure.ruler("x").ticks([across.place(t) for t in flat], labels(flat))
        for side, ruler in (("left", left), ("right", right)):
            if ruler:
                figure.ruler("y", side).lim(0, 1)
                figure.ruler("y", side).ticks([ruler.scale.place(t) for t in ruler.ticks], ruler.words)
        return figure

    def built(self, figure: Any) -> list[str]:
        made = figure.build().string(colorless=not self.colour)
        return [line.rstrip() for line in made.rstrip("\n").split("\n")]

    # -- contours

    def contour(self, picture: Picture, c: Contour, height: int) -> Iterator[str]:
        """Lines of equal value, and arrows that point where the value grows."""
        across, up = Scale(c.x[0], c.x[-1]), Scale(c.y[0], c.y[-1])
        figure = self.figure(height, across, Ruler(height // 2, up))
        for k, lines in enumerate(level_lines(c, across, up)):
            for line in lines:
                self.signal(figure, line[:, 0].tolist(), line[:, 1].tolist(), "braille", shade(k, len(c.levels)), True)
        for mark in c.marks:
            self.mark(figure, mark, across, up)
        data = [place for x, y, _ in c.points if 0 <= (place := (across.place(x), up.place(y)))[0] <= 1 and 0 <= place[1] <= 1]
        if data:
            self.signal(figure, [x for x, _ in data], [y for _, y in data], POINT, COLOURS[1], False)
        for x, y, turn in sparse(c, across, up, self.width, height):
            self.signal(figure, [x], [y], ARROWS[turn], GREY, False)
        yield f" {picture.y_name}"
        yield from self.built(figure)
        yield f"{picture.x_name:^{self.width}}".rstrip()
        words = labels(c.levels) if c.levels else []
        named = [f"\x1b[38;5;{shade(k, len(words))}m{w}\x1b[0m" if self.colour else w for k, w in enumerate(words)]
        yield f" contours of {c.name} at {', '.join(named)}" if words else f" {c.name} has no contours here"


def level_lines(c: Contour, across: Scale, up: Scale) -> Iterator[Sequence[Any]]:
    """For each level the lines on which the value is that, as arrays of places on the axes. Cells with a corner that has no value
    have none."""
    if c.levels:
        from contourpy import contour_generator
        x, y, z, levels = placed(c, across, up)
        lines = contour_generator(x, y, z, name="serial", corner_mask=False).lines
        yield from map(lines, levels)


def sparse(c: Contour, across: Scale, up: Scale, width: int, height: int) -> Iterator[tuple[float, float, int]]:
    """Arrows far enough apart that the lines between them are seen: places on the axes, and one of eight directions as it looks
    there."""
    kept = list[tuple[float, float]]()
    for x, y, dx, dy in c.arrows:
        at = across.place(x), up.place(y)
        if all(abs(at[0] - a) * width >= APART[0] or abs(at[1] - b) * height >= APART[1] for a, b in kept):
            kept.append(at)
            slant = math.atan2(dy * height * 2, dx * width)
            yield *at, round(slant / (math.pi / 4)) % 8


def shade(k: int, count: int) -> int:
    """The colour of a level, from cold to warm."""
    colours = (*COLD, *WARM)
    return colours[k * (len(colours) - 1) // max(1, count - 1)]


def runs(c: Curve, across: Scale, up: Scale) -> Iterator[tuple[list[float], list[float]]]:
    """The parts of a curve inside of the axes, each without a gap, as places on them."""
    x, y = stepped(c) if c.style == "steps" else (c.x, c.y)
    part: list[tuple[float, float]] = []
    before: tuple[float, float] | None = None
    for one in zip(map(across.place, x), map(up.place, y), strict=True):
        known = one[0] == one[0] and one[1] == one[1]
        inside = known and -1e-9 <= one[1] <= 1 + 1e-9
        if known and before is not None and c.style != "points":
            piece = clipped(before, one)
            if piece:
                part += piece if not part else piece[1:]
        elif inside:
            part.append(one)
        if part and not inside:
            yield [p[0] for p in part], [p[1] for p in part]
            part = []
        before = one if known else None
    if part:
        yield [p[0] for p in part], [p[1] for p in part]


def clipped(a: tuple[float, float], b: tuple[float, float]) -> list[tuple[float, float]]:
    """The part of a segment at heights from 0 to 1; empty where there is none."""
    if max(a[1], b[1]) < 0 or min(a[1], b[1]) > 1:
        return []

    def at(height: float) -> tuple[float, float]:
        share = (height - a[1]) / (b[1] - a[1])
        return a[0] + share * (b[0] - a[0]), height
    return [p if 0 <= p[1] <= 1 else at(min(max(p[1], 0.0), 1.0)) for p in (a, b)]


def stepped(c: Curve) -> tuple[list[float], list[float]]:
    """The outline of a histogram."""
    x = [edge for edge in c.x for _ in (0, 1)]
    return x, [0.0, *[h for h in c.y for _ in (0, 1)], 0.0]
