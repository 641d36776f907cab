"""The Markdown of the chapters as blocks: headings, paragraphs, lists, tables, and text that stays as it is.

Chapters are written in this part of Markdown alone, so that a web page, a terminal and `man` show the same. A line
`<!-- name -->` stands for what `generated` makes of that name when the chapter is read.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


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
