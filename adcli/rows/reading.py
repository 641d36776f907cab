"""One table that is read: what it is, where its header is, and where its rows are on their way."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError
from adcli.rows.blocks import Work, parquet_tables
from adcli.tables.dialect import dialect
from adcli.tables.reader import Table, members
from adcli.tables.sources import Location
from adcli.tables.streams import PIECE, BadTable, beginning, blocks, flushed, json_items, kind_of, without_mark
from adcli.task.tasks import Task


class Reading:
    """A table that is being read: its rows in blocks, and what is done with them, `work`. `line` is where it is, in the words of
    its `place`; of its rows so many are written. `kind` is what is done with its blocks, if not
    what the program asks for."""

    kind: type[Work] | None = None

    def __init__(self, task: Task, location: Location, options: ResultOptions, known: Mapping[str, Any]) -> None:
        self.source = source = location.opened()
        self.options = options
        self.parquet = kind_of(source.path, options.input_format, source.head) == "parquet"
        self.line, self.place, self.rows = 1 + (source.rows[0] if source.rows else 0), f"{source.name}:", 0
        self.types: Mapping[str, Any] = {}
        self.pieces: Iterator[bytes | None] = iter(())
        form = dialect(self._kind(), options, self.parquet)
        kind = self.kind or self.work_of(task)
        self.table = Table(form, kind.inputs([p for p in task.free if p.name not in known], options), known)
        if self.parquet:
            self._look_at_types()
        self.work = kind(task, self.table, options, known)

    @staticmethod
    def work_of(task: Task) -> type[Work]:
        """The class of work on rows."""
        if not task.signature.tensors:
            return Work
        from adcli.rows.tensor_rows import TensorWork
        return TensorWork

    def close(self) -> None:
        self.source.close()

    def _look_at_types(self) -> None:
        """Find the types of the columns of Parquet."""
        if self.source.path == "-":
            raise AdError("Parquet cannot be read from a pipe", help="give it as a file: --data rows.parquet")
        tables, renamed = parquet_tables(f"{self.source.name}: Parquet"), self.table.dialect.renamed
        self.types = {renamed.get(name, name): kind for name, kind in tables.parquet_types(self.source.path).items()}
        self.table.lists.update({name: depth for name, kind in self.types.items() if (depth := tables.dimensions(kind))})

    def _frames(self, first: Reading | None) -> Iterator[Any]:
        """The rows of Parquet, all columns where they are written."""
        tables, table = parquet_tables("Parquet"), self.table
        try:
            table.take_header(list(tables.parquet_types(self.source.path)))
            if first:
                table.compare(first.table.names, first.source.name)
        except Fault as fault:
            raise BadTable(f"{self.source.name}:{self.line}: {fault.reason}", fault.help) from None
        places = sorted({*(place for place in table.places if place is not None), *table.words}) or [0]
        most = max(1, tables.PARQUET_ROWS * self.work.block // PIECE)
        start, count = self.source.rows or (0, None)
        wanted = places if self.work.form.only else None
        return iter(tables.frames(self.source.path, start, count, wanted, most, self.source.told))

    def _kind(self) -> str:
        """The kind of the rows. What unpacked text starts with can tell another one than the packed bytes did; JSON that is not
        written in lines is put into lines."""
        if self.parquet:
            return "csv"
        pieces = without_mark(self.source.pieces(), self.source.name)
        start = beginning(pieces)
        self.pieces = _after(start, pieces)
        kind = kind_of(self.source.path, self.options.input_format, start)
        if kind != "json":
            return kind
        self.place, self.pieces = f"{self.source.name}: item ", json_items(self.pieces, self.source.name)
        return "ndjson"

    def blocks(self, first: Reading | None = None) -> Iterator[Any]:
        """The rows behind the header, from which on the columns are known. Where they are written, they are those of the `first`
        table. BadTable where they are not."""
        if self.parquet:
            return self._frames(first if self.work.form.tabular else None)
        found = blocks(flushed(self.pieces), self.table.separator, self.source.name, self.work.block)
        if self.table.separator is not None:
            found = self._first_row(found, first if self.work.form.tabular else None)
        elif self.work.form.closed and first:
            self.table.take_columns(first.table.names)
        elif self.work.form.closed:
            found = self._first_object(found)
        return found

    def _first_row(self, found: Iterator[bytes | None], first: Reading | None) -> Iterator[bytes | None]:
        """Find the columns in the first row that is not blank; the blocks of the rows that are left."""
        for block in filter(None, found):
            for text, line in self.table.split(block):
                try:
                    header = self.table.take_first(text)
                    if first:
                        self.table.compare(first.table.names, first.source.name)
                except Fault as fault:
                    raise BadTable(f"{self.source.name}:{self.line + line}: {fault.reason}", fault.help) from None
                return _after(self._rest(block, line) if header else block, found)
            self.line += block.count(b"\n")
        raise BadTable(f"{self.source.name}:1: the table is empty" + ": no header" * (self.table.dialect.columns is None))

    def _first_object(self, found: Iterator[bytes | None]) -> Iterator[bytes | None]:
        """Find the columns in the first row that is an object; all blocks."""
        seen = []
        for block in found:
            seen.append(block)
            for text, line in self.table.split(block or b""):
                with suppress(Fault):
                    members(text)
                    try:
                        self.table.take_object(text)
                    except Fault as fault:
                        raise BadTable(f"{self.place}{self.line + line}: {fault.reason}", fault.help) from None
                    return chain(seen, found)
        self.table.take_columns([p.name for p in self.table.inputs])   # no object ever came
        return iter(seen)

    def _rest(self, block: bytes, line: int) -> bytes:
        """The block after the header, which stands at this line."""
        assert self.table.header is not None
        start = 0
        for _ in range(line):
            start = block.index(b"\n", start) + 1
        end = block.index(b"\n", start + len(self.table.header)) + 1
        self.line += block.count(b"\n", 0, end)
        return block[end:]


def _after(one: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if one:
        yield one
    yield from rest
