"""Rows on their way to Parquet or arrays, whose columns have types.

Inputs are numbers, and null where a bad row has none; other columns are what every field is: whole numbers, numbers or text. That
is known when all rows are: until then blocks are in a temporary file, as frames of the numbers that were read and computed and of
texts.
"""
from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from polars.io.plugins import register_io_source

from adcli.codegen.machine.memory import require_room
from adcli.lang.ir.errors import AdError
from adcli.output.frames import faults_kept, pl
from adcli.output.streams import spooled
from adcli.rows.appended import JSON_NUMBER, RowFormat
from adcli.rows.parquet_tables import from_text, nested

Kinds = Mapping[str, pl.DataType]


class ColumnBlock(NamedTuple):
    """Rows as CSV with this separator; their inputs that are numbers, results and status by name; and the bad rows."""

    text: bytes
    separator: str
    frame: pl.DataFrame
    bad: Sequence[int] = ()


def column_block(form: RowFormat, text: bytes, separator: bytes, inputs: Mapping[str, Any], results: Sequence[Any],
                 words: Sequence[str] | None, bad: Sequence[int] = ()) -> ColumnBlock:
    """A block of the columns that `form` writes, with a column of numbers for each of some inputs."""
    real = pl.Float32() if form.table.dialect.single else pl.Float64()
    columns = [] if form.only else [pl.Series(name, np.asarray(x, np.float64)) for name, x in inputs.items()]
    for name, x, rank in zip(form.names, results, form.ranks or [0] * len(results), strict=True):
        columns.append(pl.Series(name, [None if e is None else e.tolist() for e in x], nested(rank, real)) if rank else
                       pl.Series(name, np.asarray(x, np.float64)).cast(real))
    if words is not None:
        columns.append(pl.Series(form.status, words, pl.String))
    return ColumnBlock(b"" if form.only else text, separator.decode(), pl.DataFrame(columns), bad)


class TypedColumns:
    """Blocks of rows in a temporary file, which is open to be written and can be opened at `path`; and the columns in which
    there is a field that is no number, or no whole one. Of the columns `as_text` no numbers are read."""

    def __init__(self, file: BinaryIO, path: str, form: RowFormat, as_text: Collection[str]) -> None:
        self.file, self.path, self.form, self.dialect, self.as_text = file, path, form, form.table.dialect, as_text
        self.number = "^(?:" + JSON_NUMBER.pattern.replace(r"\.", "," if self.dialect.comma else r"\.") + ")$"
        self.no_number: set[str] = set()
        self.no_whole: set[str] = set()
        self.sizes: list[int] = []
        """The bytes of each block."""

    @property
    def old(self) -> Sequence[str]:
        """The columns of the table."""
        return [] if self.form.only else self.form.table.names

    def add(self, block: ColumnBlock) -> None:
        """Add rows, which come after those before."""
        if len(block.frame):
            data = io.BytesIO()
            self._with_texts(block).write_ipc(data)
            self.sizes.append(self.file.write(data.getbuffer()))

    def _with_texts(self, block: ColumnBlock) -> pl.DataFrame:
        """The frame with all columns of the table: whole numbers where all fields so far are, numbers that were read, or
        texts."""
        frame, found = block.frame, dict[str, pl.Series]()
        read = {*self.old} & {*frame.columns} - {*self.as_text}
        self.no_whole |= {n for n in read - self.no_whole if not ((frame[n] == frame[n].floor()) | frame[n].is_nan()).all()}
        wanted = [n for n in self.old if n not in read or n not in self.no_whole or block.bad]
        for column in fields(block.text, block.separator, self.old, wanted):
            name = column.name
            if name in read and block.bad:
                bad = pl.Series(np.isin(np.arange(len(frame)), block.bad))
                column = column.set(~column.str.contains(self.number), None)
                frame = frame.with_columns(self._numbers(column).zip_with(bad, frame[name]))
            if name not in self.no_whole:
                whole = column.cast(pl.Int64, strict=False)
                if whole.cast(pl.String).eq_missing(column).all():
                    found[name] = whole
                    continue
                self.no_whole.add(name)
            if name not in read:
                found[name] = column
                if name not in self.no_number and not column.str.contains(self.number).all():
                    self.no_number.add(name)
        return frame.with_columns(**found)

    def _numbers(self, texts: pl.Series) -> pl.Series:
        """Fields that are numbers, as doubles."""
        return (texts.str.replace(",", ".", literal=True) if self.dialect.comma else texts).cast(pl.Float64)

    # ------------------------------------------------------------ all rows

    def write(self, out: BinaryIO, to: str | None, known: Kinds) -> None:
        """All rows as a Parquet file or, by way of one, as arrays, for results that go `to` a file. Columns as text have types
        that are `known`, or are as the others."""
        self.file.flush()
        if self.form.form == "parquet":
            self._parquet(out, known)
            return
        from adcli.output.tensors import write_npz
        with spooled(to) as (made, path):
            self._parquet(made, known)
            made.flush()
            names = pl.scan_parquet(path).collect_schema()
            write_npz(out, ((name, as_array(pl.read_parquet(path, columns=[name])[name])) for name in names))

    def _parquet(self, out: BinaryIO, known: Kinds) -> None:
        known = {name: kind for name, kind in known.items() if name in self.old}
        schema = self._schema(known)

        def frames(columns: list[str] | None, predicate: pl.Expr | None, most: int | None,
                   size: int | None) -> Iterator[pl.DataFrame]:
            with open(self.path, "rb") as spool:
                for size in self.sizes:
                    block = pl.read_ipc(io.BytesIO(spool.read(size)))
                    frame = pl.DataFrame([self._as(block[name], kind, name in known) for name, kind in schema.items()])
                    yield frame if columns is None else frame.select(columns)

        with faults_kept(out) as stream:
            register_io_source(frames, schema=schema).sink_parquet(stream, compression_level=1)

    def _schema(self, known: Kinds) -> dict[str, pl.DataType]:
        """The types of all columns."""
        real = pl.Float32() if self.dialect.single else pl.Float64()
        ranks = self.form.ranks or [0] * len(self.form.names)
        found: dict[str, pl.DataType] = {name: pl.String() if not self.sizes or name in self.no_number else
                                         pl.Float64() if name in self.no_whole else pl.Int64() for name in self.old}
        found |= {**known, **{name: nested(rank, real) for name, rank in zip(self.form.names, ranks, strict=True)}}
        return found if self.form.status is None else {**found, self.form.status: pl.String()}

    def _as(self, column: pl.Series, kind: pl.DataType, known: bool) -> pl.Series:
        """A column of a block in the type that all have."""
        if known:
            return column.cast(pl.String).to_frame().select(as_type(pl.col(column.name), kind).alias(column.name)).to_series()
        if kind == pl.Float64 and column.dtype == pl.String:
            return self._numbers(column)
        return column.fill_nan(None) if self.dialect.nan and column.name in self.old and column.dtype == pl.Float64 else \
            column.cast(kind)


def fields(text: bytes, separator: str, names: Sequence[str], wanted: Sequence[str]) -> pl.DataFrame:
    """Some columns of a CSV table, as texts, and null where a field holds nothing."""
    if not wanted:
        return pl.DataFrame()
    return pl.read_csv(text, has_header=False, separator=separator, infer_schema=False, new_columns=list(names),
                       columns=[names.index(n) for n in wanted])


def as_type(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Text as polars writes a column of a type, as that type again."""
    if kind.is_nested():
        return from_text(column, kind)
    if kind == pl.Boolean:
        return pl.when(column.is_null()).then(None).otherwise(column == "true")
    if kind.is_temporal():
        return column.str.strptime(kind)  # type: ignore[arg-type]  # temporal, as has been asked
    return column.cast(kind)


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
