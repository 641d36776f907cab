"""polars, the `data` extra, as `pl`, and columns as files by it. ImportError where it is not installed or cannot be loaded."""
from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

try:
    import polars as pl
except RuntimeError:   # where memory cannot be made executable, it cannot ask the processor what it can
    os.environ.setdefault("POLARS_SKIP_CPU_CHECK", "1")
    import polars as pl
    os.environ.pop("POLARS_SKIP_CPU_CHECK")

try:
    pl.Series([0.0])
except NameError:   # where there is too little memory for its library, polars says so in a warning
    raise ImportError("polars cannot be loaded") from None

__all__ = ["faults_kept", "pl", "words", "write_frame"]


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
def faults_kept(out: BinaryIO) -> Iterator[BinaryIO]:
    """A stream to `out` for polars, whose faults are those of `out`."""
    keeper = FaultKeeper(out)
    try:
        yield keeper  # type: ignore[misc]  # all that polars needs of one
    except Exception as error:
        if keeper.fault is not None:
            raise keeper.fault from None
        if number := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
        raise
