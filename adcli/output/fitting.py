"""Reports that fit a terminal: words go to the next line whole, and carets stay under what they point at.

Where output goes to a file or a pipe nothing is fitted, so that what a program reads never depends on a window. Nothing is left
out either, but for parts of source lines beside the carets, which … marks.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adcli.codegen.documents.columns import width
from adcli.lang.ir.errors import excerpt
from adcli.output.columns import folded

MARGIN = 6
"""Columns of an excerpt beside the source: four in front, and two for the marks of what is cut."""
CARETS = re.compile(r"    ([ \t]*)(\^+)")
COPIED = "help: "
"""How a line begins that is there to be copied."""


def fitted(text: str, columns: int | None, program: bool = False) -> str:
    """A report in so many columns. Of one that is a `program` with comments only the comments are folded, so that it remains
    one; and a help that is there to be copied is left to the terminal."""
    if columns is None:
        return text
    lines = with_carets(text.split("\n"), columns)
    if program:
        return "\n".join(part for line in lines for part in commented(line, columns))
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


def commented(line: str, columns: int) -> list[str]:
    """A line of a program: a comment is folded, and goes below a statement that leaves it no room."""
    statement, mark, comment = line.partition("#")
    if width(line) <= columns or not mark:
        return [line]
    if not statement.strip():
        return folded(line, columns, f"{statement}#   ")
    return [statement.rstrip(), *folded(f"    # {comment.strip()}", columns, "    #   ")]
