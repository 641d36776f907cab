"""A text that an editor has open, as it was at one moment, with everything that is known of it; worked out when first asked."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from urllib.parse import unquote, urlsplit

from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, Note, Source
from adcli.lang.lower.frontend import read_through
from adcli.lang.syntax.source import normal
from adcli.lang.syntax.tree import Tree
from adcli.lsp.occurrences import Occurrence, Occurrences, occurrences
from adcli.lsp.one_name import IndexRanges, index_ranges
from adcli.lsp.positions import Positions


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
    def names(self) -> Occurrences:
        return occurrences(self.tree)

    @cached_property
    def indices(self) -> dict[int, IndexRanges]:
        return index_ranges(self.tree, self.program)

    def name_at(self, offset: int) -> Occurrence | None:
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
