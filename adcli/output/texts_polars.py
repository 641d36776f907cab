"""Many numbers as text, by polars, the `data` extra: the bytes that `repr` gives, ten times as fast.

Numbers are written by polars only in the range where it writes what `repr` writes, and by `repr` outside it.
"""
from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from adcli.output.frames import pl
from adcli.output.numbers import shortest


def texts(values: np.ndarray, other: Callable[[float], str] = shortest) -> pl.Series:
    """The numbers, or their texts where polars would not write all of them as `repr` does: `other` writes those."""
    size = np.abs(values)
    odd = np.flatnonzero(((size < 1e-4) & (size > 0)) | ~(size < 1e16))
    column = pl.Series(values)
    if not len(odd):
        return column
    own = pl.Series(list(map(other, values[odd].tolist())), dtype=pl.String)
    return column.cast(pl.String).scatter(odd, own)


def number_texts(values: Sequence[float]) -> list[str]:
    """`repr` of every number."""
    return texts(np.asarray(values, np.float64)).cast(pl.String).to_list()


def separated(columns: Sequence[pl.Series], separator: str) -> bytes:
    """Columns side by side, a line for each row. Nothing is quoted."""
    stream = io.BytesIO()
    frame = pl.DataFrame([c.alias(str(i)) for i, c in enumerate(columns)])
    frame.write_csv(stream, include_header=False, quote_style="never", separator=separator)
    return stream.getvalue()


def filled(pieces: Sequence[str], columns: Sequence[pl.Series]) -> bytes:
    """For each row the pieces with the columns between them, and a line end."""
    frame = pl.DataFrame([c.alias(str(i)) for i, c in enumerate(columns)])
    parts: list[pl.Expr] = [pl.lit(pieces[0])]
    for i, piece in enumerate(pieces[1:]):
        parts += [pl.col(str(i)), pl.lit(piece)]
    return separated([frame.select(pl.concat_str(parts)).to_series()], ",")


def words(values: Sequence[str]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def write_frame(out: BinaryIO, columns: Mapping[str, np.ndarray | list[str] | pl.Series]) -> None:
    """Columns as a Parquet file."""
    with faults_kept(out) as stream:
        pl.DataFrame(columns).write_parquet(stream)


class FaultKeeper(io.RawIOBase):
    """A stream that keeps what went wrong, of which polars makes a text. It has no number, by which polars would go around it."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.fault: Exception | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            return self.out.write(data)
        except Exception as fault:
            self.fault = fault
            raise


@contextlib.contextmanager
def faults_kept(out: BinaryIO, shown: str | None = None) -> Iterator[BinaryIO]:
    """A stream to `out` for polars, whose faults are those of `out`, or of a file that is called `shown`."""
    keeper = FaultKeeper(out)
    try:
        yield keeper  # type: ignore[misc]  # all that polars needs of one
    except Exception as error:
        if keeper.fault is not None:
            raise keeper.fault from None
        if number := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1])), shown) from None
        raise
