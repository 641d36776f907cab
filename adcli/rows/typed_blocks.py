"""Rows on the way to Parquet whose numbers need not become text: blocks of plain numbers go there as they were read and computed.

The type of a column is known when all rows are: until then blocks are in a temporary file, each with its numbers and its text,
which counts where a column turns out to be of whole numbers or of texts. A block that is not plain is there as CSV.
"""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from adcli.codegen.nests.result_memory import HELD_ONCE, references
from adcli.lang.ir import LEVELS
from adcli.output.frames import faults_kept, pl
from adcli.rows.appended import JSON_NUMBER

try:
    from polars.io.plugins import register_io_source
except ImportError:   # an older polars, for which all blocks are CSV
    register_io_source = None   # type: ignore[assignment]

INTEGER, NUMBER = r"^(?:0|-?[1-9][0-9]{0,17})$", f"^(?:{JSON_NUMBER.pattern})$"
MOST_WHOLE = 1e17
"""Below this a number without a point has so few digits that it is one of a column of whole numbers."""
DIGITS, POINT, MINUS, LINE, ZERO = 10, ord("."), ord("-"), ord("\n"), ord("0")


class TypedBlock(NamedTuple):
    """The rows of a block: their text, the numbers of its columns, which of these are of whole numbers, the results, and the
    status of each row."""

    text: bytes
    columns: list[np.ndarray]
    whole: list[bool]
    results: Sequence[np.ndarray]
    levels: np.ndarray


def typed_block(text: bytes, separator: bytes, columns: list[np.ndarray], results: Sequence[np.ndarray],
                levels: np.ndarray) -> TypedBlock | None:
    """A block whose fields are numbers, those of `columns`; None where one is not written as Parquet's text would have it."""
    if columns and not plain(text, separator):
        return None
    whole = [bool((c == np.trunc(c)).all()) for c in columns]
    if any(whole) and (b"." in text or not all(np.abs(c).max(initial=0.0) < MOST_WHOLE for c in columns)):
        fields = as_text(text, separator.decode(), [str(i) for i in range(len(columns))])
        whole = [w and all_match(fields[str(i)], INTEGER) for i, w in enumerate(whole)]
    return TypedBlock(text, columns, whole, results, levels)


def plain(text: bytes, separator: bytes) -> bool:
    """Whether fields that are read as numbers are such as JSON has them, without exponents. Bytes are looked at by their
    neighbours."""
    a = np.frombuffer(b"\n" + text + b"0", np.uint8)
    digit = a - ZERO < DIGITS   # modulo 256
    point, minus, ends = a == POINT, a == MINUS, (a == LINE) | (a == separator[0])
    if np.count_nonzero(digit) + sum(map(np.count_nonzero, (point, minus, ends))) < len(a):
        return False
    before, at, after = slice(None, -2), slice(1, -1), slice(2, None)
    begins = ends[before]
    wrong = point[at] & ~(digit[before] & digit[after])
    wrong |= minus[at] & ~(begins & digit[after])
    signed = minus[before]
    wrong |= (a[at] == ZERO) & digit[after] & (begins | signed)
    wrong |= ends[at] & begins
    wrong |= (a[at] == ZERO) & signed & ends[after]   # -0 is no whole number
    return not wrong.any()


def possible() -> bool:
    """True if this polars and this system support sources of our own and positioned reads."""
    return register_io_source is not None and hasattr(os, "preadv")


def as_text(text: bytes, separator: str, names: Sequence[str]) -> pl.DataFrame:
    """The fields of a block as texts, and null where there is nothing."""
    return pl.read_csv(text, has_header=False, new_columns=list(names), separator=separator, infer_schema=False)


def all_match(column: pl.Series, pattern: str) -> bool:
    return bool(column.str.contains(pattern).all())


class TypedRows:
    """Blocks in a file, in order, and what is known of the `old` columns, behind which stand `results` and maybe a `status`. The
    header has the names of all; fields of plain blocks are apart by the separator."""

    def __init__(self, file: BinaryIO, separator: str, header: bytes, results: int, status: bool) -> None:
        self.file, self.separator = file, separator
        self.names = pl.read_csv(header, infer_schema=False).columns
        self.status = self.names[-1] if status else None
        old = len(self.names) - results - status
        self.old, self.results = self.names[:old], self.names[old:old + results]
        self.whole, self.number = [True] * len(self.old), [True] * len(self.old)
        self.blocks: list[tuple[int, int, int]] = []
        """Where each begins, the bytes of its text, and its rows; of CSV -1."""
        self.end = 0
        self.memory: list[np.ndarray] = []

    def _put(self, *pieces: bytes | np.ndarray) -> int:
        begin = self.end
        for piece in pieces:
            self.file.write(piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).data.cast("B"))
            self.end += len(piece) if isinstance(piece, bytes) else piece.nbytes
        return begin

    def add(self, block: TypedBlock) -> None:
        numbers = [np.asarray(c, np.float64) for c in (*block.columns, *block.results)]
        begin = self._put(block.text, *numbers, np.asarray(block.levels, np.int8))
        self.blocks.append((begin, len(block.text), len(block.levels)))
        self.whole = [a and b for a, b in zip(self.whole, block.whole, strict=True)]

    def add_csv(self, text: bytes) -> None:
        self.blocks.append((self._put(text), len(text), -1))
        fields = as_text(text, ",", self.names)
        for i, name in enumerate(self.old):
            self.whole[i] = self.whole[i] and all_match(fields[name], INTEGER)
            self.number[i] = self.number[i] and all_match(fields[name], NUMBER)

    def write(self, out: BinaryIO) -> None:
        """All rows as Parquet."""
        self.file.flush()
        kinds: list[pl.DataType] = [pl.Int64() if self.blocks and w else pl.Float64() if self.blocks and n else pl.String()
                                    for w, n in zip(self.whole, self.number, strict=True)]
        schema = dict(zip(self.names, (*kinds, *(pl.Float64() for _ in self.results), pl.String()), strict=False))

        def frames(columns: list[str] | None, predicate: pl.Expr | None, most: int | None,
                   size: int | None) -> Iterator[pl.DataFrame]:
            for block in self.blocks:
                frame = self._frame(schema, *block)
                yield frame if columns is None else frame.select(columns)

        with faults_kept(out) as stream:
            register_io_source(frames, schema=schema).sink_parquet(stream, compression_level=1)

    def _memory(self, numbers: int) -> np.ndarray:
        """Memory for so many numbers, if it can be that of a block which polars is done with: new memory takes long."""
        free = [m for m, count in zip(self.memory, references(self.memory), strict=True) if count == HELD_ONCE]
        found = next((m for m in free if len(m) >= numbers), None)
        if found is None:
            found = np.empty(numbers)
            self.memory = [*(m for m in self.memory if all(m is not f for f in free)), found]
        return found[:numbers]

    def _frame(self, schema: dict[str, pl.DataType], begin: int, size: int, rows: int) -> pl.DataFrame:
        """A block with the types of all."""
        text, count = b"", len(self.old)
        if rows < 0 or any(schema[name] != pl.Float64 for name in self.old):
            text = os.pread(self.file.fileno(), size, begin)
        if rows < 0:
            fields = as_text(text, ",", self.names)
            return fields.select(pl.col(name).cast(kind) for name, kind in schema.items())
        width = count + len(self.results)
        numbers = self._memory(rows * width).reshape(width, rows)
        os.preadv(self.file.fileno(), [numbers.data.cast("B")], begin + size)
        found = {name: pl.Series(name, numbers[i]) for i, name in enumerate(self.names[:width])}
        if text:
            fields = as_text(text, self.separator, self.old)
            found |= {name: fields[name].cast(schema[name]) for name in self.old if schema[name] != pl.Float64}
        if self.status is not None:
            levels = np.frombuffer(os.pread(self.file.fileno(), rows, begin + size + 8 * rows * width), np.int8)
            found[self.status] = pl.Series(self.status, np.array(LEVELS)[levels].tolist(), pl.String)
        return pl.DataFrame(list(found.values()))
