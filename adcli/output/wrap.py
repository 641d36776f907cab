"""Text in columns and wrapped: reports and messages that fit a terminal.

Words go to the next line whole, and carets stay under what they point at. Where output goes to a file or a pipe nothing is
fitted, so that what a program reads never depends on a window.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from adcli.codegen.documents.columns import padded, width
from adcli.lang.ir.errors import excerpt

BELOW = "    "
"""In front of what did not fit beside its row."""


def few(words: Iterable[str], most: int = 6) -> str:
    """The first of some words, with … for the others."""
    first = list(islice(words, most + 1))
    return ", ".join([*first[:most], *["…"] * (len(first) > most)])



def aligned(rows: Sequence[Sequence[str]], sides: str, gap: str = "  ", least: Sequence[int] = ()) -> list[str]:
    """A line for each row; `sides` has `<` for a column of words and `>` for one of numbers. Columns are as wide as their longest
    cell, and at least as wide as `least` says."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    widths = [max(pair) for pair in zip(widths, least, strict=True)] if least else widths
    return [gap.join(padded(cell, wide, side) for cell, side, wide in zip(row, sides, widths, strict=True)).rstrip()
            for row in rows]


def table(rows: Sequence[Sequence[str]], sides: str, columns: int | None, gap: str = "  ",
          least: Sequence[int] = ()) -> list[str]:
    """Table with headings as the first row, in at most so many columns (None for any number): a last cell of words that does
    not fit goes below its row, and where the rest does not either, each row is a paragraph that repeats the headings."""
    lines = aligned(rows, sides, gap, least)
    if columns is None or max(map(width, lines)) <= columns:
        return lines
    if sides[-1] == "<":
        lines = aligned([row[:-1] for row in rows], sides[:-1])
        if max(map(width, lines)) <= columns:
            below = [folded(BELOW + row[-1], columns) if row[-1] else [] for row in rows]
            return [line for head, rest in zip(lines, below, strict=True) for line in (head, *rest)]
    return [line for row in rows[1:] for line in paragraph(rows[0], row, columns)]


def paragraph(headings: Sequence[str], row: Sequence[str], columns: int) -> Iterator[str]:
    """A row by itself, each cell with its heading."""
    yield from folded(f"{headings[0]}: {row[0]}" if headings[0] else row[0], columns)
    told = [f"{heading} {cell}".strip() for heading, cell in zip(headings[1:], row[1:], strict=True) if cell.strip()]
    yield from folded(f"  {', '.join(told)}", columns)


def folded(line: str, columns: int, further: str | None = None) -> list[str]:
    """A line of words as lines of at most so many columns, but for words that are longer; those after the first begin with
    `further`, or two columns further right."""
    if width(line) <= columns:
        return [line]
    further = line[:len(line) - len(line.lstrip())] + "  " if further is None else further
    lines, begun = [], ""
    for word in re.findall(r"\s*\S+", line):
        if begun.strip() and width(begun + word) > columns:
            lines.append(begun)
            begun, word = further, word.lstrip()
        begun += word
    return [*lines, begun]


def commented(lines: Sequence[str], comments: Sequence[str]) -> list[str]:
    """Lines of a program with comments behind them, which begin in one column; an empty one is none."""
    width = max(map(len, lines), default=0)
    return [f"{line:{width}}   # {comment}" if comment else line for line, comment in zip(lines, comments, strict=True)]


MARGIN = 6
"""Columns of an excerpt beside the source: four in front, and two for the marks of what is cut."""
CARETS = re.compile(r"    ([ \t]*)(\^+)")
COPIED = "help: "
"""Start of a line that is there to be copied."""


def fitted(text: str, columns: int | None, program: bool = False) -> str:
    """A report in so many columns. Of one that is a `program` with comments only the comments are folded, so that it remains
    one; and a help that is there to be copied is left to the terminal."""
    if columns is None:
        return text
    lines = with_carets(text.split("\n"), columns)
    if program:
        return "\n".join(part for line in lines for part in comment_folded(line, columns))
    return "\n".join(part for line in lines for part in ([line] if line.startswith(COPIED) else folded(line, columns)))


def with_carets(lines: Sequence[str], columns: int) -> Iterator[str]:
    """The lines, in which source lines with carets below are cut so that both fit, and the carets stand below what they mean."""
    cut = False
    for line, below in zip(lines, (*lines[1:], ""), strict=True):
        if cut:   # with the line above
            cut = False
        elif carets := CARETS.fullmatch(below):
            cut = True
            yield from pointed(line, below, len(carets[1]), len(carets[2]), columns)
        else:
            yield line


def pointed(line: str, below: str, start: int, length: int, columns: int) -> Sequence[str]:
    """A source line and the carets below `length` of its characters from `start`: as they are where both fit, cut where they do
    not, and carets as wide as the characters, of which some take two columns and some none."""
    shown, room = [line, below], columns - MARGIN
    while max(map(width, shown)) > columns and room > 0:
        shown = excerpt(line[4:], start, length, room)
        room -= 1
    source, carets = shown
    if source.isascii():
        return shown
    first, behind = carets.index("^"), len(carets)
    under = "".join("\t" if c == "\t" else " " * width(c) for c in source[:first])
    return source, under + "^" * max(1, width(source[first:behind]))


def comment_folded(line: str, columns: int) -> list[str]:
    """A line of a program: a comment is folded, and goes below a statement that leaves it no room."""
    statement, mark, comment = line.partition("#")
    if width(line) <= columns or not mark:
        return [line]
    if not statement.strip():
        return folded(line, columns, f"{statement}#   ")
    return [statement.rstrip(), *folded(f"    # {comment.strip()}", columns, "    #   ")]
