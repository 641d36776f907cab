"""The Markdown of the chapters as blocks: headings, paragraphs, lists, tables, and text that stays as it is.

Chapters are written in this part of Markdown alone, so that a web page, a terminal and `man` show the same. A line
`<!-- name -->` stands for what `generated` makes of that name when the chapter is read; other comments are left out.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Bullet:
    """A point of a list."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that are shown as they are; `language` is what stands behind the fence."""

    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellTable:
    """Rows of cells; the first row is the heading."""

    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | Bullet | Code | CellTable
FENCE = re.compile(r"```(\w*)")
HEADING = re.compile(r"(#+) (.+)")
GENERATED = re.compile(r"<!-- (\w+) -->")
CELLS = re.compile(r"(?<!\\)\|")
BREAK = "<br>"
"""A line ends here, in a cell of a table."""
SPAN = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


def blocks(text: str, generated: Callable[[str], str] | None = None) -> Iterator[Block]:
    """The blocks of a chapter in order."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if fence := FENCE.fullmatch(line):
            end = lines.index("```", end)
            yield Code(fence[1], tuple(lines[at + 1:end]))
            end += 1
        elif heading := HEADING.fullmatch(line):
            yield Heading(len(heading[1]), heading[2])
        elif (name := GENERATED.fullmatch(line)) and generated:
            yield from blocks(generated(name[1]))
        elif line.startswith("<!--"):
            pass
        elif line.startswith("    "):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
            yield Code("", tuple(part[4:] for part in lines[at:end]))
        elif line.startswith("|"):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
            yield CellTable(tuple(cells(row) for row in (line, *lines[at + 2:end])))
        elif line.strip():
            end = next((i for i in range(end, len(lines)) if not lines[i].strip() or lines[i].startswith(("- ", "|", "```"))),
                       len(lines))
            whole = " ".join(part.strip() for part in lines[at:end])
            yield Bullet(whole[2:]) if line.startswith("- ") else Paragraph(whole)
        at = end


def cells(row: str) -> tuple[str, ...]:
    """The cells of a row of a table."""
    return tuple(cell.strip().replace("\\|", "|") for cell in CELLS.split(row.strip())[1:-1])


def table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A table as the text that `blocks` reads."""
    lines = [heading, ("---",) * len(heading), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def spans(text: str, code: Callable[[str], str], strong: Callable[[str], str],
          plain: Callable[[str], str] = lambda text: text) -> str:
    """The text with its `code` and its **strong** parts, and what is between them, each as the function for it writes it."""
    parts, at = [], 0
    for found in SPAN.finditer(text):
        parts += [plain(text[at:found.start()]), code(found[1]) if found[1] else strong(found[2])]
        at = found.end()
    return "".join([*parts, plain(text[at:])])


# ---------------------------------------------------------------- on a terminal

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
