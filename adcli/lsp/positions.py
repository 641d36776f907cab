"""Places of an editor and places of a program: line and column there, an offset of characters here.

An editor counts lines as its text has them (ended by LF, CRLF or CR) and columns in units of an encoding, UTF-16 unless it agreed
on another. A program is read from the same text with LF for every line end, no byte order mark, and composed letters.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

from lsprotocol.types import Position, Range

from adcli.lang.ir.errors import Source
from adcli.lang.syntax.source import normal

LINE_END = re.compile(r"\r\n|\r|\n")
UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}
"""How long a text is in each encoding that an editor may count in."""


class Positions:
    """The places of one text: `text` as the editor has it, `source` as the program is read from it."""

    def __init__(self, text: str, source: Source, encoding: str = "utf-16") -> None:
        self.source, self.units = source, UNITS[encoding]
        self.lines = LINE_END.split(text)
        self._units: dict[int, list[int]] = {}   # of lines beyond ASCII: where each character stands
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
        if number not in self._units:
            self._units[number] = [0, *accumulate(map(self.units, line))]
        return Position(number - 1, self._units[number][characters])

    def characters(self, line: str, units: int) -> int:
        """How many characters of a line are so many units long; a unit inside of a character is at its start."""
        if line.isascii():
            return max(0, min(units, len(line)))
        low, high = 0, len(line)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.units(line[:middle]) <= units else (low, middle - 1)
        return low

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def written(self, text: str) -> str:
        """A piece of the program with the line ends of the editor's text."""
        return text if self.ends == "\n" else text.replace("\n", self.ends)
