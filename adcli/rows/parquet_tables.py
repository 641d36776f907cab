"""Tables in Parquet, which polars, the `data` extra, reads and writes: as the text of a CSV table and from it, and by their
columns."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, cast

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.lang.ir.errors import AdError
from adcli.output.frames import faults_kept, pl
from adcli.output.streams import spooled
from adcli.rows.appended import JSON_NUMBER, RowFormat
from adcli.rows.lists_polars import dimensions, from_text, list_text, nested
from adcli.rows.parquet_files import parquet_file
from adcli.rows.rows import Table
from adcli.rows.tables import Pieces, named

__all__ = ["as_csv", "frames", "parquet", "parquet_lists", "parquet_types", "taken", "write_columns"]

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


def write_columns(rows: str, out: BinaryIO, to: str | None, form: RowFormat, known: Mapping[str, pl.DataType],
                  lists: bool) -> None:
    """A CSV table as a Parquet file or, by way of one, as arrays, for results that go `to` a file."""
    table = typed(rows, form, known, lists)
    if form.form == "parquet":
        with faults_kept(out) as stream:
            table.sink_parquet(stream)
        return
    from adcli.output.tensors import write_npz
    with spooled(to) as (made, path):
        with faults_kept(made) as stream:
            table.sink_parquet(stream)
        made.flush()
        names = pl.scan_parquet(path).collect_schema()
        write_npz(out, ((name, as_array(pl.read_parquet(path, columns=[name])[name])) for name in names))


def typed(rows: str, form: RowFormat, known: Mapping[str, pl.DataType], lists: bool) -> pl.LazyFrame:
    """A CSV table as columns with types. Results are numbers or lists of numbers; other columns have the types that are `known`,
    else those that every one of their fields has: whole numbers, numbers, or text; those of tensors hold `lists`, unless a bad
    row may have anything there. Memory does not depend on the number of rows."""
    results, comma = form.names, form.table.dialect.comma
    real = pl.Float32() if form.table.dialect.single else pl.Float64()
    old = {**{p.name: nested(len(p.var.shape)) for p in form.table.inputs if p.var.shape and lists},
           **{form.table.dialect.renamed.get(name, name): kind for name, kind in known.items()}}
    known = {**({} if form.only else old),   # which are left out then: a result may have the name of one
             **{name: nested(rank, real) for name, rank in zip(results, form.ranks, strict=False) if rank}}
    with open(rows, "rb") as file:
        names = list(pl.read_csv(file.readline(), infer_schema=False).columns)
    frame = pl.scan_csv(rows, infer_schema=False)
    if frame.head(1).collect().is_empty():
        return pl.LazyFrame(schema={n: known.get(n, real if n in results else pl.String) for n in names})
    others = [n for n in names if n not in results and n not in known]
    integer, number = r"^(?:0|-?[1-9][0-9]{0,17})$", "^(?:" + JSON_NUMBER.pattern.replace(r"\.", "," if comma else r"\.") + ")$"
    fits = frame.select(*(pl.col(n).str.contains(p).all().alias(f"{k}{n}") for n in others for k, p in
                          (("i", integer), ("f", number)))).collect(engine="streaming") if others else pl.DataFrame()
    columns = []
    for name in names:
        column = pl.col(name)
        if name in known:
            columns.append(as_type(column, known[name]).alias(name))
        elif name in results:
            columns.append(column.cast(pl.Float64).cast(real))
        elif fits[f"i{name}"][0]:
            columns.append(column.cast(pl.Int64))
        elif fits[f"f{name}"][0]:
            columns.append((column.str.replace(",", ".", literal=True) if comma else column).cast(pl.Float64))
        else:
            columns.append(column)
    return frame.select(columns)


def as_array(column: pl.Series) -> np.ndarray:
    """A column as NumPy keeps it in a file: lists of the same sizes are one array, what would be objects there is text."""
    if column.dtype.is_nested():
        try:
            return np.array(column.to_list(), float)
        except (TypeError, ValueError):
            raise AdError(f"column '{column.name}': tensors of different sizes are not one array", help="write Parquet or JSON") \
                from None
    found = column.to_numpy()
    if found.dtype != object:
        return found
    words = column.cast(pl.String).fill_null("")
    longest = cast(int, words.str.len_chars().max() or 1)
    require_room(f"column '{column.name}' as an array of texts", 4 * longest * len(words), "write Parquet or CSV")
    return np.array(words.to_list(), f"<U{longest}")


def as_type(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Text as polars writes a column of a type, as that type again."""
    if kind.is_nested():
        return from_text(column, kind)
    if kind == pl.Boolean:
        return pl.when(column.is_null()).then(None).otherwise(column == "true")
    if kind.is_temporal():
        return column.str.strptime(kind)  # type: ignore[arg-type]  # temporal, as has been asked
    return column.cast(kind)
