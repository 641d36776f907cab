"""Tables in Parquet, which polars, the `data` extra, reads and writes: as the text of a CSV table and from it, and by their
columns."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from adcli.lang.ir.errors import AdError
from adcli.output.frames import pl
from adcli.rows.lists_polars import dimensions, list_text
from adcli.rows.parquet_files import parquet_file
from adcli.rows.rows import Table
from adcli.rows.tables import Pieces, named

__all__ = ["as_csv", "frames", "parquet", "parquet_lists", "parquet_types", "taken"]

PARQUET_ROWS, FRAME_ROWS = 1 << 16, 1 << 18
"""Rows of a block, and rows that are read at a time where few columns are."""
TEXT_BYTES = 1 << 22
"""Bytes of lists that are made text at a time."""
EXACT = (pl.Float64, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
"""Types whose numbers their text says exactly, or to the same double."""


class Lines:
    """Rows of a piece of a Parquet file: their inputs in NumPy's memory, and as text what the table wants of them."""

    def __init__(self, columns: list[np.ndarray], fields: pl.DataFrame, rows: int) -> None:
        self.columns, self.fields, self.count = columns, fields, rows

    def __len__(self) -> int:
        return self.count

    def grouped(self, table: Table) -> tuple[list[tuple[str, ...]], np.ndarray]:
        """The groups of rows that have the same texts where the table wants them, in order of first appearance, and for each row
        the number of its group."""
        names = [f"column_{place + 1}" for place in table.words]
        fields = self.fields.select(name if i == names.index(name) else pl.col(name).alias(f"{name}.{i}")
                                    for i, name in enumerate(names))
        keys = fields.unique(maintain_order=True).with_row_index("number")
        numbers = fields.join(keys, on=fields.columns, how="left", maintain_order="left")["number"]
        return keys.drop("number").rows(), numbers.to_numpy().astype(np.int32)


def parquet(path: str, separator: str, start: int = 0, count: int | None = None,
            told: Callable[[float], object] = lambda share: None) -> Pieces:
    """A Parquet file, or `count` of its rows from `start` on, as the text of a CSV table, in which lists of numbers are JSON
    arrays; how much of that has been read is `told`, as a share."""
    try:
        file, done = parquet_file(path), 0
        for name, kind in file.schema.items():
            if (kind.is_nested() and not dimensions(kind)) or kind in (pl.Binary, pl.Object, pl.Duration):
                raise AdError(f"{named(path)}: column '{name}' is of type {kind}, which no field of a row holds",
                              help="keep the columns of numbers, of lists of numbers and of text, as with polars: frame.drop(…)")
        rows = file.rows - start if count is None else count
        yield pl.DataFrame(schema=dict.fromkeys(file.schema, pl.String)).write_csv(separator=separator).encode()
        lists = lists_as_text(file.schema)
        for frame in file.frames(start, start + rows, PARQUET_ROWS):
            most = max(1, len(frame) * TEXT_BYTES // max(1, int(frame.estimated_size()))) if lists else PARQUET_ROWS
            for part in frame.iter_slices(most):
                yield part.with_columns(lists).write_csv(include_header=False, separator=separator).encode()
            done += len(frame)
            told(done / rows)
    except pl.exceptions.PolarsError as error:
        raise AdError(f"{named(path)}: {str(error).splitlines()[0]}") from None


def lists_as_text(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """The columns of lists of numbers as JSON arrays."""
    return [list_text(pl.col(name), kind) for name, kind in schema.items() if dimensions(kind)]


def frames(path: str, places: Sequence[int], told: Callable[[float], object], start: int = 0,
           count: int | None = None) -> Iterator[pl.DataFrame]:
    """The columns of a Parquet file that stand at these places, or `count` of their rows from `start` on, in pieces; they are
    called by their places, from 1 on. How much has been read is `told`, as a share."""
    try:
        file, done = parquet_file(path), 0
        names = [list(file.schema)[i] for i in places]
        rows = file.rows - start if count is None else count
        for frame in file.frames(start, start + rows, FRAME_ROWS, names):
            done += len(frame)
            frame.columns = [f"column_{i + 1}" for i in places]
            yield from frame.iter_slices(PARQUET_ROWS)
            told(done / rows)
    except pl.exceptions.PolarsError as error:
        raise AdError(f"{named(path)}: {str(error).splitlines()[0]}") from None


def taken(table: Table, frame: pl.DataFrame) -> Lines | None:
    """The inputs in a piece of a Parquet file. None where its text may mean something else: with missing values, a type whose
    numbers are written in fewer digits than are wanted of them, or words that count as empty."""
    if table.dialect.empty:
        return None
    columns = []
    for p, place in zip(table.inputs, table.places, strict=True):
        if place is None:
            columns.append(np.full(len(frame), p.default))
            continue
        column = frame[f"column_{place + 1}"]
        if not (column.dtype in EXACT or (table.dialect.single and column.dtype == pl.Float32)) or column.null_count():
            return None
        columns.append(np.ascontiguousarray(column.cast(pl.Float64).to_numpy()))
    words = [frame[f"column_{place + 1}"] for place in sorted(table.words)]
    if any(w.dtype != pl.String and not w.dtype.is_integer() for w in words):
        return None
    return Lines(columns, pl.DataFrame([w.cast(pl.String).fill_null("") for w in words]), len(frame))


def as_csv(table: Table, frame: pl.DataFrame) -> bytes:
    """The rows of a piece of a Parquet file as text, with nothing in the columns that it lacks."""
    names, separator = [f"column_{i + 1}" for i in range(len(table.names))], (table.separator or b",").decode()
    whole = frame.with_columns(lists_as_text(frame.schema)).select(
        pl.col(name) if name in frame.columns else pl.lit(None).alias(name) for name in names)
    return whole.write_csv(include_header=False, separator=separator).encode()


def parquet_types(path: str) -> dict[str, pl.DataType]:
    """The types of the columns of a Parquet file."""
    try:
        return dict(parquet_file(path).schema)
    except pl.exceptions.PolarsError as error:
        raise AdError(f"{named(path)}: {str(error).splitlines()[0]}") from None


def parquet_lists(path: str) -> dict[str, int]:
    """The columns of a Parquet file that hold lists of numbers, with their dimensions."""
    return {name: depth for name, kind in parquet_types(path).items() if (depth := dimensions(kind))}
