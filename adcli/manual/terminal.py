"""Chapters on a terminal: paragraphs wrapped to its width, tables fitted into it, code as it is.

With `styled` headings are bold and code is coloured; without, code keeps its backticks, since a formula may hold blanks.
Lines are longer than the width only where code is.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

from adcli.manual.markdown import BREAK, SPAN, Block, Bullet, CellTable, Code, Heading, Paragraph, spans

WIDEST = 100
"""Characters of a line that are pleasant to read, however wide the terminal is."""
GLUED = 24
"""Characters of code that stay on one line where they can."""
BOLD, COLOUR, PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[0m"
ESCAPE = re.compile(r"\x1b\[\d*m")
Cell = Sequence[str]
"""The lines of a cell, before they are wrapped."""
BLANK = "\0"
"""A blank at which no line is broken."""


def render(chapter: Iterable[Block], width: int = 80, styled: bool = False) -> str:
    """The text of a chapter."""
    page = _Page(min(width, WIDEST), styled)
    shown = list(chapter)
    parts = ["\n".join(page.block(b)) for b in shown]
    between = ["\n" if type(a) is type(b) is Bullet else "\n\n" for a, b in pairwise(shown)]
    text = "".join(part + gap for part, gap in zip(parts, [*between, "\n"], strict=True))
    return text.replace(BLANK, " ")


class _Page:
    def __init__(self, width: int, styled: bool) -> None:
        self.width, self.styled = width, styled

    def block(self, block: Block) -> Iterator[str]:
        match block:
            case Heading(level, text):
                yield from self.heading(level, text)
            case Paragraph(text):
                yield from wrapped(self.inline(text), self.width - 2, "  ")
            case Bullet(text):
                first, *rest = wrapped(self.inline(text), self.width - 4)
                yield from [f"  - {first}", *(f"    {line}" for line in rest)]
            case Code(_, lines):
                yield from (f"    {line}".rstrip() for line in lines)
            case CellTable(rows):
                yield from self.table([[[self.cell(part) for part in cell.split(BREAK)] for cell in row] for row in rows])

    def heading(self, level: int, text: str) -> Iterator[str]:
        for line in wrapped(text, self.width):
            yield f"{BOLD}{line}{PLAIN}" if self.styled else line
            if not self.styled and level == 1:
                yield "=" * len(line)

    def inline(self, text: str) -> str:
        return spans(text, self.code, self.strong)

    def strong(self, text: str) -> str:
        return " ".join(f"{BOLD}{word}{PLAIN}" for word in text.split()) if self.styled else text

    def cell(self, text: str) -> str:
        """The text of a cell, where any blank may end a line; code alone needs no mark to be told from words."""
        alone = SPAN.fullmatch(text) and not self.styled
        return text.strip("`") if alone else self.inline(text).replace(BLANK, " ")

    def code(self, text: str) -> str:
        """Code on one line, or word by word where it is long, so that a style never goes beyond a line."""
        if len(text) <= min(GLUED, self.width // 3):
            text = text.replace(" ", BLANK)
        if not self.styled:
            return f"`{text}`"
        return " ".join(f"{COLOUR}{word}{PLAIN}" for word in text.split(" "))

    def table(self, rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
        """Columns side by side, the widest of them wrapped; the cells of a row below each other where not even words fit."""
        count = len(rows[0])
        natural = [max(visible(line) for row in rows for line in row[i]) for i in range(count)]
        widths = shares(natural, self.width - 2 * count)
        words = [max(visible(word) for row in rows for line in row[i] for word in line.split(" ")) for i in range(count)]
        if any(word > wide for word, wide in zip(words, widths, strict=True)):
            widths = shares(natural, self.width - 2 * count, words)
        if sum(widths) > self.width - 2 * count:
            yield from self.stacked(rows)
            return
        for n, row in enumerate(rows):
            cells = [[part for line in cell for part in wrapped(line, wide)] for cell, wide in zip(row, widths, strict=True)]
            for parts in zip_longest(*cells, fillvalue=""):
                yield "".join("  " + padded(part, wide) for part, wide in zip(parts, widths, strict=True)).rstrip()
            if n == 0:
                yield "  " + "  ".join("-" * wide for wide in widths)

    def stacked(self, rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
        for (first,), *others in rows[1:]:
            yield from wrapped(first, self.width - 2, "  ")
            for line in (line for cell in others for line in cell):
                yield from wrapped(line, self.width - 6, "      ")


def shares(natural: Sequence[int], room: int, least: Sequence[int] | None = None) -> list[int]:
    """The widths of columns: what each needs, as long as there is room; the widest share what is left, each at least `least`."""
    widths = list(natural)
    while sum(widths) > room:
        able = [i for i, w in enumerate(widths) if w > (least[i] if least else 1)]
        if not able:
            return widths
        widths[max(able, key=lambda i: widths[i])] -= 1
    return widths


def visible(text: str) -> int:
    """Characters that a terminal shows."""
    return len(ESCAPE.sub("", text)) if "\x1b" in text else len(text)


def padded(text: str, width: int) -> str:
    return text + " " * (width - visible(text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` characters; a word that is longer has a line of its own, broken at the blanks in it."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        for part in word.split(BLANK) if visible(word) > width else [word]:
            if line and visible(line) + 1 + visible(part) > width:
                lines.append(indent + line)
                line = part
            else:
                line = f"{line} {part}" if line else part
    return [*lines, indent + line] if line else lines
