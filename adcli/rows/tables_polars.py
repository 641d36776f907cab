"""What polars, the `data` extra, does for tables: plain blocks read and written several times faster, and Parquet.

Nothing here decides what a table means. A block is read only where it is certain that every row has the right number of
fields and every number is one that `rows.number` takes; numbers are written by polars only in the range where it writes
what `repr` writes, and by `repr` outside it. So the bytes are those of the standard library's reader.
"""
from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from adcli.input.fields import Fault, field_number
from adcli.lang.ir.errors import AdError
from adcli.rows.rows import Table
from adcli.rows.tables import Pieces

NO_SEPARATOR = "\x01"
"""A character that separates nothing: with it every line is one field."""
PARQUET_ROWS = 1 << 16


class Lines:
    """Rows as they were written and their inputs, in polars' and NumPy's memory."""

    def __init__(self, texts: pl.Series, columns: list[np.ndarray]) -> None:
        self.texts, self.columns = texts, columns

    def __len__(self) -> int:
        return len(self.texts)


def read(table: Table, block: bytes) -> Lines | None:
    """The rows of a plain block; None where the careful reader has to look at it."""
    text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    rows = regular(text, table.separator, len(table.names)) if table.separator else 0
    if not rows or table.separator is None:
        return None
    try:
        texts = parsed(text, NO_SEPARATOR, {"column_1": pl.String}, [0], None).to_series()
        places = [p for p in table.places if p is not None]
        types = {f"column_{i + 1}": pl.Float64 if i in places else pl.String for i in range(len(table.names))}
        found = parsed(text, table.separator.decode(), types, sorted(set(places)), '"' if b'"' in text else None)
    except pl.exceptions.PolarsError:
        return None
    if len(texts) != rows or (places and len(found) != rows):
        return None
    columns = []
    for p, place in zip(table.inputs, table.places, strict=True):
        column = np.full(rows, p.default) if place is None else checked(table, texts, found[f"column_{place + 1}"], place)
        if column is None:
            return None
        columns.append(column)
    return Lines(texts, columns)


def regular(text: bytes, separator: bytes, fields: int) -> int:
    """How many rows there are, if each is a line of so many fields without odd characters and quotes are where they belong;
    else 0.

    Where every one of the `fields`-th delimiters is a line end and no other is, the rows are so.
    """
    if b"\r" in text or b"\x01" in text or text.startswith(b"\n") or (fields == 1 and b"\n\n" in text):
        return 0
    data = np.frombuffer(text, np.uint8)
    ends = data == 10
    rows = int(np.count_nonzero(ends))
    delimiters = ends | (data == separator[0])
    if b'"' in text and not set_quoted_apart(data, ends, delimiters):
        return 0
    found = np.flatnonzero(delimiters)
    return rows if len(found) == rows * fields and ends[found[fields - 1::fields]].all() else 0


def set_quoted_apart(data: np.ndarray, ends: np.ndarray, delimiters: np.ndarray) -> bool:
    """Take what is quoted out of the delimiters. False where a quote is at an odd place or a line end is quoted.

    Quotes open and close in turn. An opening one follows a delimiter, a closing one stands before a delimiter; or the two
    touch, which is a doubled quote.
    """
    marks = data == 34
    places = np.flatnonzero(marks)
    if len(places) % 2 or not (marks | delimiters)[np.append(places[::2] - 1, places[1::2] + 1)].all():
        return False
    quoted = (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)
    if (quoted & ends).any():
        return False
    delimiters &= ~quoted
    return True


def parsed(text: bytes, separator: str, types: dict[str, Any], columns: list[int],
           quote: str | None) -> pl.DataFrame:
    return pl.read_csv(text, has_header=False, separator=separator, quote_char=quote, schema=types, columns=columns,
                       ignore_errors=True)


def checked(table: Table, texts: pl.Series, found: pl.Series, place: int) -> np.ndarray | None:
    """A column where what polars gives no finite number for has been read again by the rule; None where that fails."""
    values = found.fill_null(np.nan).to_numpy()
    doubtful = np.flatnonzero(~np.isfinite(values))
    if not len(doubtful):
        return values
    values = values.copy()
    for i in doubtful.tolist():
        field = table.fields(texts[i].encode())[place]
        if not field.strip(b" \t") and table.nan:
            continue
        try:
            values[i] = field_number(field)
        except Fault:
            return None
    return values


def write(lines: Lines, results: Sequence[np.ndarray], separator: str, words: Sequence[str] | None,
          levels: np.ndarray) -> bytes:
    """The rows with the results appended, and the word for each level where there are words."""
    columns = [lines.texts.alias("row"), *[texts(r).alias(f"r{i}") for i, r in enumerate(results)]]
    if words is not None:
        columns.append(pl.Series("status", list(words)).gather(levels.astype(np.uint32)).alias("status"))
    stream = io.BytesIO()
    pl.DataFrame(columns).write_csv(stream, include_header=False, quote_style="never", separator=separator)
    return stream.getvalue()


def texts(values: np.ndarray) -> pl.Series:
    """The numbers, or their texts where polars would not write all of them as `repr` does."""
    size = np.abs(values)
    other = np.flatnonzero(((size < 1e-4) & (size > 0)) | ~(size < 1e16))
    column = pl.Series(values)
    if not len(other):
        return column
    own = pl.Series(list(map(repr, values[other].tolist())), dtype=pl.String)
    return column.cast(pl.String).scatter(other, own)


def number_texts(values: Sequence[float]) -> list[str]:
    """`repr` of every number."""
    return texts(np.asarray(values, np.float64)).cast(pl.String).to_list()


def parquet(path: str) -> Pieces:
    """A Parquet file as the text of a CSV table."""
    try:
        frame = pl.scan_parquet(path)
        rows = frame.select(pl.len()).collect().item()
        yield pl.DataFrame(schema=frame.collect_schema()).write_csv().encode()
        for start in range(0, rows, PARQUET_ROWS):
            yield frame.slice(start, PARQUET_ROWS).collect().write_csv(include_header=False).encode()
    except pl.exceptions.PolarsError as error:
        raise AdError(f"{path}: {str(error).splitlines()[0]}") from None
