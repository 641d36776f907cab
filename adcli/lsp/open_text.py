"""A text that an editor has open, as it was at one moment, with everything that is known of it; worked out when first asked."""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from urllib.parse import unquote, urlsplit

from lsprotocol.types import Position, Range

from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, Note, Source
from adcli.lang.lower.frontend import read_through
from adcli.lang.syntax.source import normal
from adcli.lang.tree.nodes import Tree
from adcli.lsp.scopes import Name, ScopedNames


class OpenText:
    """One version of a text. Nothing in it changes; the next version is another object."""

    def __init__(self, uri: str, text: str, version: int | None = None, encoding: str = "utf-16") -> None:
        self.uri, self.text, self.version = uri, text, version
        self.source: Source = normal(text, unquote(urlsplit(uri).path).rpartition("/")[2] or uri)
        self.places = Positions(text, self.source, encoding)

    @cached_property
    def _read(self) -> tuple[Tree, Program | None, AdError | None]:
        return read_through(self.source)

    @property
    def tree(self) -> Tree:
        return self._read[0]

    @property
    def program(self) -> Program | None:
        """The program; None where the text is wrong."""
        return self._read[1]

    @property
    def faults(self) -> Sequence[AdError]:
        error = self._read[2]
        return () if error is None else (error, *error.more)

    @property
    def notes(self) -> Sequence[Note]:
        return self.program.notes if self.program is not None else ()

    @cached_property
    def names(self) -> ScopedNames:
        return ScopedNames(self.tree)

    def name_at(self, offset: int) -> Name | None:
        return self.names.at(offset)

    def comment_above(self, offset: int) -> str:
        """The comment that stands over the line of a place, or behind it on the line."""
        line = self.source.place(offset)[0]
        by_line = {self.source.place(c.start)[0]: c for c in self.tree.comments}
        beside, found = by_line.get(line), []
        while (comment := by_line.get(line := line - 1)) is not None and self.source.line(line).lstrip().startswith("#"):
            found.append(comment)
        kept = [beside] if beside is not None and not found else found[::-1]
        return "\n".join(c.text.lstrip("#").strip() for c in kept)


LINE_END = re.compile(r"\r\n|\r|\n")
UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}
"""Length of a text in each encoding that an editor may count in."""


class Positions:
    """The places of one text: `text` as the editor has it, `source` as the program is read from it."""

    def __init__(self, text: str, source: Source, encoding: str = "utf-16") -> None:
        self.source, self.units = source, UNITS[encoding]
        self.lines = LINE_END.split(text)
        self.ends = "\r\n" if "\r\n" in text else "\n"

    def offset(self, position: Position) -> int:
        """The offset in the program of a place; the nearest one, where there is no such place."""
        if position.line >= len(self.lines):
            return len(self.source.text)
        line = self.lines[max(0, position.line)]
        column = len(normal(line[:self.characters(line, position.character)], "").text)
        return self.source.start_of(position.line + 1) + column

    def position(self, offset: int) -> Position:
        """The place of an offset in the program."""
        number, column = self.source.place(max(0, min(offset, len(self.source.text))))
        characters = column - 1
        line = self.lines[number - 1]
        if line.isascii():   # most lines: this is known at once, however long they are
            return Position(number - 1, characters)
        if line != self.source.line(number):   # letters that were composed, or a byte order mark
            characters = max((c for c in range(len(line) + 1) if len(normal(line[:c], "").text) <= characters), default=0)
        return Position(number - 1, self.units(line[:characters]))

    def characters(self, line: str, units: int) -> int:
        """Number of characters of a line in so many units; a unit inside of a character is at its start."""
        if line.isascii():
            return max(0, min(units, len(line)))
        return max(0, bisect_right(range(len(line) + 1), units, key=lambda count: self.units(line[:count])) - 1)

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def written(self, text: str) -> str:
        """A piece of the program with the line ends of the editor's text."""
        return text if self.ends == "\n" else text.replace("\n", self.ends)
