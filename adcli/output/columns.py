"""Text in columns, each as wide as its longest cell."""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adcli.codegen.documents.columns import padded, width

BELOW = "    "
"""In front of what did not fit beside its row."""


def aligned(rows: Sequence[Sequence[str]], sides: str, gap: str = "  ", least: Sequence[int] = ()) -> list[str]:
    """A line for each row; `sides` has `<` for a column of words and `>` for one of numbers. Columns are as wide as their longest
    cell, and at least as wide as `least` says."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    widths = [max(pair) for pair in zip(widths, least, strict=True)] if least else widths
    return [gap.join(padded(cell, wide, side) for cell, side, wide in zip(row, sides, widths, strict=True)).rstrip()
            for row in rows]


def table(rows: Sequence[Sequence[str]], sides: str, columns: int | None, gap: str = "  ",
          least: Sequence[int] = ()) -> list[str]:
    """The same with headings as the first row, in at most so many columns (None for any number): a last cell of words that does
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
