"""Columns of a table as numbers: values that are given by a file, as samples of inputs."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Param, Var
from adcli.lang.ir.errors import AdError
from adcli.rows.blocks import LARGE, fast_tables, parquet_tables
from adcli.tables.dialect import Dialect, dialect
from adcli.tables.reader import Table
from adcli.tables.streams import TYPED, BadTable, Input, kind_of, lines_of


class SampleTable(NamedTuple):
    """A whole table: its name in messages, its text, which ends in LF, how it is written, and whether code for it is kept."""

    name: str
    text: bytes
    dialect: Dialect
    keep: bool

    def column(self, name: str) -> Sequence[float]:
        """The numbers in a column. AdError where there is none, or a bad row."""
        try:
            (found,), faults = self.read([Param(Var(name), name)])
            for bad in faults.values():
                raise bad
        except BadTable as fault:
            raise AdError(fault.message, help=fault.help) from None
        return found

    def read(self, inputs: Sequence[Param], fixed: Collection[str] = ()) -> tuple[list[Sequence[float]], dict[int, BadTable]]:
        """The columns of these inputs, NaN in bad rows, and what is wrong with each of those. BadTable where a column is
        missing, or there although it is `fixed`."""
        table, text, line = Table(self.dialect, inputs, fixed), self.text, 1
        try:
            if not text.strip():
                raise Fault("the table is empty")
            if table.separator is not None:
                head, above = next(table.split(text), (b"", 0))
                if table.take_first(head):
                    text = text[text.index(head) + len(head):].partition(b"\n")[2]
                    line = above + head.count(b"\n") + 2
        except Fault as fault:
            raise self._bad(line, fault) from None
        fast = fast_tables(self.keep) if len(text) >= LARGE else None
        if fast and (lines := fast.read(table, text)) is not None:
            return lines.columns, {}
        found = table.careful(text)
        return [*found.columns], {row: self._bad(line + found.places[row], fault) for row, fault in found.faults.items()}

    def _bad(self, line: int, fault: Fault) -> BadTable:
        return BadTable(f"{self.name}:{line}: {fault.reason}", fault.help)


def opened(path: str, options: ResultOptions) -> SampleTable:
    """A CSV, TSV, JSON or Parquet file, or standard input, that --at names. AdError where it cannot be read."""
    try:
        return whole_table(Input(path, f"--at @{path}"), options)
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    except BadTable as fault:
        raise AdError(fault.message, help=fault.help) from None


def whole_table(source: Input, options: ResultOptions) -> SampleTable:
    """A table that has been opened, read as the options say. OSError or BadTable where it cannot be."""
    try:
        if typed := kind_of(source.path, options.input_format, source.head) in TYPED:
            kind, pieces = "csv", parquet_tables(f"{source.name}: Parquet").parquet(source.path, ",")
        else:
            kind, pieces = lines_of(source, options.input_format)
        text = b"".join(piece for piece in pieces if piece)
        text = text if text.endswith(b"\n") else text + b"\n"
        form = dialect("ndjson" if kind == "json" else kind, options, typed)
        if form.columns == ():
            raise AdError("--no-header does not say which column an input takes", help="name the columns: --columns x,y")
        return SampleTable(source.name, text, form, not options.no_cache)
    finally:
        source.close()
