"""Tables in Parquet, which polars, the `data` extra, reads, and arrays: as the text of a CSV table, and by their columns.

Files of this machine are read by polars itself, those by URL through pyarrow, which asks for the end of the file first and then
for the row groups that are wanted, one at a time.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from adcli.input.arrays import read_npz
from adcli.lang.ir.errors import AdError, missing
from adcli.output.frames import pl
from adcli.output.remote import RemoteFile, faults, is_url, word
from adcli.tables.reader import Table
from adcli.tables.streams import Pieces, kind_by_name, named, opened

PARQUET_ROWS, FRAME_ROWS = 1 << 16, 1 << 18
"""Rows of a block, and rows that are read at a time where few columns are."""
PIECE_BYTES = 1 << 26
"""Bytes of a frame, about, where the file has lists."""
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


def parquet(path: str, separator: str, start: int = 0, count: int | None = None) -> Pieces:
    """A Parquet file, or `count` of its rows from `start` on, as the text of a CSV table, in which lists of numbers are JSON
    arrays."""
    yield pl.DataFrame(schema=dict.fromkeys(parquet_types(path), pl.String)).write_csv(separator=separator).encode()
    for frame in frames(path, start, count):
        yield csv(frame, separator)


def csv(frame: pl.DataFrame, separator: str) -> bytes:
    lists = [list_text(pl.col(name), kind) for name, kind in frame.schema.items() if dimensions(kind)]
    return frame.with_columns(lists).write_csv(include_header=False, separator=separator).encode()


def frames(path: str, start: int = 0, count: int | None = None, places: Sequence[int] | None = None, most: int | None = None,
           told: Callable[[float], object] = lambda share: None) -> Iterator[pl.DataFrame]:
    """The columns of a Parquet file, or those at some `places`, and their rows, or `count` from `start` on, in pieces of `most`
    rows; columns are called by their places, from 1 on. The share that has been read is `told`."""
    with faults_named(path):
        file, done, most = parquet_file(path), 0, most or PARQUET_ROWS
        names = list(file.schema) if places is None else [list(file.schema)[i] for i in places]
        for name, kind in file.schema.items():
            if name in names and ((kind.is_nested() and not dimensions(kind)) or kind in (pl.Binary, pl.Object, pl.Duration)):
                raise AdError(f"{named(path)}: column '{name}' is of type {kind}, which no field of a row holds",
                              help="keep the columns of numbers, of lists of numbers and of text, as with polars: frame.drop(…)")
        rows = file.rows - start if count is None else count
        for frame in file.frames(start, start + rows, PARQUET_ROWS if places is None else FRAME_ROWS, names):
            if any(kind.is_nested() for kind in frame.dtypes):
                most = max(1, min(most, len(frame) * TEXT_BYTES // max(1, int(frame.estimated_size()))))
            done += len(frame)
            frame.columns = [f"column_{i + 1}" for i in places or range(len(names))]
            yield from frame.iter_slices(most)
            told(done / rows)


@contextmanager
def faults_named(path: str) -> Iterator[None]:
    """Errors of polars, as AdError that names the file."""
    try:
        yield
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
    names = [f"column_{i + 1}" for i in range(len(table.names))]
    whole = frame.select(pl.col(name) if name in frame.columns else pl.lit(None).alias(name) for name in names)
    return csv(whole, (table.separator or b",").decode())


def parquet_types(path: str) -> dict[str, pl.DataType]:
    """The types of the columns of a Parquet file."""
    with faults_named(path):
        return dict(parquet_file(path).schema)


# ---------------------------------------------------------------- files

class ParquetFile(Protocol):
    """The columns of a Parquet file, its number of rows, and some of them, a bounded number at a time."""

    schema: pl.Schema
    rows: int

    def frames(self, start: int, end: int, most: int, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows from `start` to before `end`, `most` at a time, all their columns or some."""
        ...


def parquet_file(path: str) -> ParquetFile:
    """The file at a path or a URL. AdError or an error of polars where it is none."""
    if kind_by_name(path) == "npz":
        return ArrayColumns(path)
    return RemoteParquet(path) if is_url(path) else LocalParquet(path)


class LocalParquet:
    """A file of this machine."""

    def __init__(self, path: str) -> None:
        self.frame = pl.scan_parquet(path, glob=False)
        self.schema = self.frame.collect_schema()
        self.rows = self.frame.select(pl.len()).collect().item()

    def frames(self, start: int, end: int, most: int, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        frame = self.frame if columns is None else self.frame.select(columns)
        lists = any(kind.is_nested() for kind in frame.collect_schema().dtypes())
        step = 1 if lists else most
        while start < end:
            found = frame.slice(start, min(step, end - start)).collect()
            yield found
            start += step
            if lists:
                step = min(most, 4 * step, max(1, step * PIECE_BYTES // max(1, int(found.estimated_size()))))


class ArrayColumns:
    """The arrays of an .npz as columns: the first dimension is that of the rows, and a number is the same in all of them."""

    def __init__(self, path: str) -> None:
        with opened(path, anywhere=True) as file:
            arrays = read_npz(named(path), file, "fiubU")
        lengths = {len(a): name for name, a in arrays.items() if a.ndim} or {1: ""}
        if len(lengths) > 1:
            (n, one), (m, other), *_ = sorted(lengths.items())
            raise AdError(f"{named(path)}: '{one}' has {n:,} elements and '{other}' {m:,}, so they are no columns of one table",
                          help="save the columns alone, with numpy.savez; "
                          f"what is the same in all rows goes to --at {one}=@FILE.npy")
        (self.rows, _), = lengths.items()
        columns = {name: a if a.ndim else np.full(self.rows, a) for name, a in arrays.items()}
        self.frame = pl.DataFrame([pl.Series(name, plain(a)) for name, a in columns.items()])
        self.schema = self.frame.schema

    def frames(self, start: int, end: int, most: int, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        yield from self.frame.select(columns or pl.all())[start:end].iter_slices(most)


def plain(array: np.ndarray) -> np.ndarray:
    """An array with elements of a kind that polars has."""
    kinds = {"b": np.int8, "f": np.float32 if array.dtype.itemsize <= 4 else np.float64}
    return np.ascontiguousarray(array, kinds.get(array.dtype.kind, array.dtype.newbyteorder("=")))


class RemoteParquet:
    """A file that is read over the network. Memory depends on the size of its row groups."""

    def __init__(self, url: str) -> None:
        try:
            from pyarrow.parquet import ParquetFile as Opened
        except ImportError:
            raise missing(f"Parquet by {word(url)}://", "pyarrow") from None
        self.url = url
        with faults(url):
            self.file = Opened(RemoteFile(url, anywhere=True))
            self.schema = frame_of(self.file.schema_arrow.empty_table()).schema
        self.rows = self.file.metadata.num_rows
        groups = [self.file.metadata.row_group(i) for i in range(self.file.num_row_groups)]
        self.starts = list(accumulate((group.num_rows for group in groups), initial=0))
        self.size = sum(group.total_byte_size for group in groups)

    def frames(self, start: int, end: int, most: int, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        if any(kind.is_nested() for kind in self.schema.dtypes()):
            most = min(most, max(1, self.rows * PIECE_BYTES // max(1, self.size)))
        for group, (first, after) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            if after <= start or first >= end:
                continue
            at = first
            with faults(self.url):
                for batch in self.file.iter_batches(most, [group], columns):
                    found = frame_of(batch)
                    kept = found[max(0, start - at):max(0, end - at)]
                    at += len(found)
                    if len(kept):
                        yield kept if columns is None else kept.select(columns)


def frame_of(found: object) -> pl.DataFrame:
    """A table of pyarrow as a frame."""
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    return frame


# ---------------------------------------------------------------- lists of numbers

def dimensions(kind: Any) -> int:
    """How deep the lists of a column are nested whose elements are numbers; 0 for any other column."""
    depth = 0
    while isinstance(kind, pl.List | pl.Array):
        depth, kind = depth + 1, kind.inner
    return depth if kind.is_numeric() else 0


def list_text(column: pl.Expr, kind: Any) -> pl.Expr:
    """Lists of numbers as JSON arrays. What is not finite stands bare in them, and a float of less than 64 bits has all digits of
    the double that it is."""
    if isinstance(kind, pl.Array):   # one level of lists, whatever its shape
        return list_text(column.arr.to_list(), pl.List(kind.inner))
    if not isinstance(kind, pl.List):
        return column.cast(pl.Float64).cast(pl.String).str.replace("inf", "Infinity", literal=True) if kind.is_float() else \
            column.cast(pl.String)
    parts = column.list.eval(list_text(pl.element(), kind.inner).fill_null("null")).list.join(",")
    return parts.str.replace("^", "[") + "]"


def nested(rank: int, real: Any = None) -> Any:
    """The type of a tensor of so many dimensions, of doubles or of other real numbers."""
    return pl.List(nested(rank - 1, real)) if rank else real or pl.Float64()
