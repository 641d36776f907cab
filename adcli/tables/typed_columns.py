"""Rows on their way to Parquet or arrays, whose columns have types.

Inputs are numbers, and null where a bad row has none; other columns are what every field is: whole numbers, numbers or text. That
is known when all rows are: until then blocks are in a temporary file, as frames of the numbers that were read and computed and of
texts.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from polars.io.plugins import register_io_source

from adcli.codegen.machine.memory import require_room
from adcli.lang.ir.errors import AdError
from adcli.output.frames import faults_kept, pl
from adcli.output.streams import spooled
from adcli.tables.appended import JSON_NUMBER, RowFormat
from adcli.tables.parquet import nested

Kinds = Mapping[str, pl.DataType]


class ColumnBlock(NamedTuple):
    """Rows, as a frame of Parquet or as CSV with this separator; their inputs as they were read, results and status by name; and
    the bad rows."""

    old: pl.DataFrame | bytes
    separator: str
    frame: pl.DataFrame
    bad: Sequence[int] = ()


def column_block(form: RowFormat, old: Any, separator: bytes, given: Sequence[Any], results: Sequence[Any],
                 words: Sequence[str] | None, bad: Sequence[int] = ()) -> ColumnBlock:
    """A block of the columns that `form` writes. Inputs are `given` for text that is written."""
    table, columns = form.table, []
    if isinstance(old, bytes) and not form.only:
        columns = [series(p.name, x, len(p.var.shape)) for p, x in zip(table.inputs, given, strict=True) if p.name in table.names]
    ranks, real = form.ranks or [0] * len(results), pl.Float32() if table.dialect.single else pl.Float64()
    columns += [series(name, x, rank, real) for name, x, rank in zip(form.names, results, ranks, strict=True)]
    if words is not None:
        columns.append(pl.Series(form.status, words, pl.String))
    return ColumnBlock(old, separator.decode(), pl.DataFrame(columns), bad)


def series(name: str, x: Any, rank: int, real: Any = None) -> pl.Series:
    """Numbers, or tensors of this rank, as a column; null where a bad row has none."""
    if rank:
        return pl.Series(name, [e.tolist() if hasattr(e, "tolist") else None for e in x], nested(rank, real))
    found = pl.Series(name, np.asarray(x, np.float64))
    return found.cast(real) if real else found


class TypedColumns:
    """Blocks of rows in a temporary file, which is open to be written and can be opened at `path`; the types that columns have
    in tables with types, None in others; and the columns in which there is a field that is no number, or no whole one. Where
    there are no rows, columns have the types of the `first` table."""

    def __init__(self, file: BinaryIO, path: str, form: RowFormat, first: Kinds) -> None:
        self.file, self.path, self.form, self.dialect, self.first = file, path, form, form.table.dialect, first
        self.number = "^(?:" + JSON_NUMBER.pattern.replace(r"\.", "," if self.dialect.comma else r"\.") + ")$"
        self.kinds: defaultdict[str, set[Any]] = defaultdict(set)
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
            whole = block.frame if self.form.only else self._with_frame(block.old, block.frame) \
                if isinstance(block.old, pl.DataFrame) else self._with_texts(block, block.old)
            before = self.file.tell()
            with faults_kept(self.file) as stream:
                whole.write_ipc_stream(stream)
            self.sizes.append(self.file.tell() - before)

    def _with_frame(self, old: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
        """Columns that have types, with results."""
        columns = [old[:, i].alias(name) for i, name in enumerate(self.old)]
        self._typed(columns)
        return pl.DataFrame([*columns, *results])

    def _typed(self, columns: Iterable[pl.Series]) -> None:
        """Note the types of columns."""
        for column in columns:
            self.kinds[column.name].add(column.dtype)
            if not column.dtype.is_integer():
                self.no_whole.add(column.name)
            if not column.dtype.is_numeric():
                self.no_number.add(column.name)

    def _with_texts(self, block: ColumnBlock, text: bytes) -> pl.DataFrame:
        """The frame with all columns of the table: whole numbers where all fields so far are, numbers that were read, or
        texts."""
        frame, found = block.frame, dict[str, pl.Series]()
        lists = [c for c in frame if c.dtype.is_nested() and c.name in self.old]
        self._typed(lists)
        read = {*self.old} & {*frame.columns} - {c.name for c in lists}
        self.no_whole |= {n for n in read - self.no_whole if not ((frame[n] == frame[n].floor()) | frame[n].is_nan()).all()}
        wanted = [n for n in self.old if n not in frame.columns or (n in read and (n not in self.no_whole or block.bad))]
        for column in fields(text, block.separator, self.old, wanted):
            name = column.name
            self.kinds[name].add(None)
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

    def write(self, out: BinaryIO, to: str | None) -> None:
        """All rows as a Parquet file or, by way of one, as arrays, for results that go `to` a file."""
        self.file.flush()
        if self.form.form == "parquet":
            self._parquet(out)
            return
        from adcli.output.tensors import write_npz
        with spooled(to) as (made, path):
            self._parquet(made)
            made.flush()
            names = pl.scan_parquet(path).collect_schema()
            write_npz(out, ((name, as_array(pl.read_parquet(path, columns=[name])[name])) for name in names))

    def _parquet(self, out: BinaryIO) -> None:
        schema = self._schema()

        def frames(columns: list[str] | None, predicate: pl.Expr | None, most: int | None,
                   size: int | None) -> Iterator[pl.DataFrame]:
            with open(self.path, "rb") as spool:
                for size in self.sizes:
                    block = pl.read_ipc_stream(spool.read(size))
                    frame = pl.DataFrame([self._as(block[name], kind) for name, kind in schema.items()])
                    yield frame if columns is None else frame.select(columns)

        with faults_kept(out) as stream:
            register_io_source(frames, schema=schema).sink_parquet(stream, compression_level=1)

    def _schema(self) -> dict[str, pl.DataType]:
        """The types of all columns."""
        real = pl.Float32() if self.dialect.single else pl.Float64()
        ranks = self.form.ranks or [0] * len(self.form.names)
        found = {name: self._kind(name) for name in self.old}
        found |= {name: nested(rank, real) for name, rank in zip(self.form.names, ranks, strict=True)}
        return found if self.form.status is None else {**found, self.form.status: pl.String()}

    def _kind(self, name: str) -> pl.DataType:
        """The type of a column of the table."""
        if not self.sizes:
            return self.first.get(name, pl.String())
        known = [*self.kinds[name]]
        if len(known) == 1 and known[0] is not None:
            return cast(pl.DataType, known[0])
        return pl.String() if name in self.no_number else pl.Float64() if name in self.no_whole else pl.Int64()

    def _as(self, column: pl.Series, kind: pl.DataType) -> pl.Series:
        """A column of a block in the type that all have."""
        if kind == pl.Float64 and column.dtype == pl.String:
            return self._numbers(column)
        return column.fill_nan(None) if self.dialect.nan and column.name in self.old and column.dtype == pl.Float64 else \
            column.cast(kind)


def fields(text: bytes, separator: str, names: Sequence[str], wanted: Sequence[str]) -> pl.DataFrame:
    """Some columns of a CSV table, as texts, and null where a field holds nothing."""
    if not wanted:
        return pl.DataFrame()
    mark = next(c for c in map(chr, range(1, 32)) if c not in "\t\r\n" and c.encode() not in text) if b"\r" in text else ""
    if mark:   # polars takes a return off the end of any field
        text = re.sub(rb"\r(?!\n)", mark.encode(), text)
    places = sorted(names.index(n) for n in wanted)
    found = pl.read_csv(text, has_header=False, separator=separator, infer_schema=False, columns=places)
    found.columns = [names[i] for i in places]   # `new_columns` are of all columns, or of those read, as polars' version has it
    return found.with_columns(pl.all().str.replace_all(mark, "\r", literal=True)) if mark else found


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
