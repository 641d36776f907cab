"""Parquet files as frames of polars: those of this machine by polars itself, those by URL through pyarrow, which asks for the end
of the file first and then for the row groups that are wanted, one at a time."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Protocol

from adcli.lang.ir.extras import missing
from adcli.output.frames import pl
from adcli.output.remote import RemoteFile, faults, is_url, word

PIECE_BYTES = 1 << 26
"""Bytes of a frame, about, where the file has lists."""


class ParquetFile(Protocol):
    """The columns of a Parquet file, its number of rows, and some of them, a bounded number at a time."""

    schema: pl.Schema
    rows: int

    def frames(self, start: int, end: int, most: int, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows from `start` to before `end`, `most` at a time, all their columns or some."""
        ...


def parquet_file(path: str) -> ParquetFile:
    """The file at a path or a URL. AdError or an error of polars where it is none."""
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
