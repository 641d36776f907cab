"""One column of a table as numbers: values that are given by a file, as samples of an input."""
from __future__ import annotations

from collections.abc import Iterator

from adcli.input.fields import Fault
from adcli.lang.ir import Param, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.extras import missing
from adcli.rows.blocks import fast_tables
from adcli.rows.dialect import Dialect
from adcli.rows.rows import Table
from adcli.rows.tables import SEPARATORS, Input, Pieces, json_items, kind_of, without_mark


def column(path: str, name: str) -> list[float]:
    """The numbers in a column of a CSV, TSV, NDJSON or Parquet file. AdError where it has none, or a bad row."""
    try:
        source = Input(path)
    except OSError as error:
        raise AdError(f"{path}: {error.strerror or error}") from None
    try:
        return list(_numbers(source, name))
    finally:
        source.close()


def _numbers(source: Input, name: str) -> Iterator[float]:
    text = b"".join(piece for piece in _pieces(source) if piece)
    text = text if text.endswith(b"\n") else text + b"\n"
    kind = kind_of(source.path, None, text)
    if kind == "json":
        text, kind = b"".join(filter(None, json_items(iter([text]), source.name))), "ndjson"
    separator = SEPARATORS.get("csv" if kind == "parquet" else kind)
    table = Table(Dialect(kind, separator, separator or b",", False), [Param(Var(name), name)])
    line = 1
    try:
        if not text.strip():
            raise Fault("the table is empty")
        if table.separator is not None:
            head, above = next(table.split(text), (b"", 0))
            table.take_first(head)
            text = text[text.index(head) + len(head):].partition(b"\n")[2]
            line = above + head.count(b"\n") + 2
        found = table.plain(text) or table.careful(text)
        for row, fault in found.faults.items():
            line += found.places[row]
            raise fault
    except Fault as fault:
        raise AdError(f"{source.name}:{line}: {fault.reason}", help=fault.help) from None
    yield from found.columns[0]


def _pieces(source: Input) -> Pieces:
    if kind_of(source.path, None, source.head) != "parquet":
        return without_mark(source.pieces(), source.name)
    fast = fast_tables()
    if fast is None:
        raise missing(f"{source.name}: Parquet", "polars")
    pieces: Pieces = fast.parquet(source.path, ",")
    return pieces
