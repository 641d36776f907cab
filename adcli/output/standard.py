"""Standard input, output and error, whatever the process was started with; and files that faults name as the user does.

`set_up` gives the command three streams. A number from 0 to 2 that is closed is opened on the null device, so that no file
opened later gets it and has messages written into it.
"""
from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from adcli.lang.ir.errors import AdError

ENCODING = "utf-8"
BYTES_AT_ONCE = 1 << 20
"""Bytes that a file is given, or asked for, at a time."""

CLOSED: set[int] = set()
"""The numbers that were closed when the process began."""


class NobodyReads(Exception):
    """The pipe that results go to is closed. click would make an exit code of its own out of the plain error."""


class NamedFile(io.FileIO):
    """An open file whose faults name it as `shown`, and which waits where the other end is not ready though it was opened not
    to wait (a pipe shared with a program that reads and writes asynchronously)."""

    def __init__(self, file: int | str, mode: str, shown: str, closefd: bool = True) -> None:
        self.shown = shown
        super().__init__(file, mode, closefd)

    def write(self, data: Any) -> int:
        return int(self._done(super().write, data))

    def readinto(self, buffer: Any) -> int:
        return int(self._done(super().readinto, buffer))

    def read(self, size: int | None = -1) -> bytes:
        return self.readall() if size is None or size < 0 else bytes(self._done(super().read, size))

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(BYTES_AT_ONCE), b""))

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:
            raise renamed(error, self.shown) from None

    def _done(self, call: Callable[[Any], Any], data: Any) -> Any:
        """The call carried out, once there is something to read or room to write."""
        try:
            while (found := call(data)) is None:
                import select  # most streams wait by themselves
                select.select([self] * self.readable(), [self] * self.writable(), [])
            return found
        except BrokenPipeError:
            raise NobodyReads from None
        except OSError as error:
            raise renamed(error, self.shown) from None


class NoOutput(io.RawIOBase):
    """Standard output where it is closed."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise AdError("standard output is closed", help="write to a file with -o FILE")


def renamed(error: OSError, shown: str) -> OSError:
    """The error with the name that the user knows the file by."""
    return type(error)(error.errno, error.strerror or str(error), shown)


def by_way_of(shown: str, folder: str) -> str:
    """Name in messages of a temporary file in `folder`."""
    return f"{shown} (a temporary file in {folder})"


def set_up() -> None:
    """Three streams, in UTF-8 whatever the locale."""
    CLOSED.update(i for i, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)) if stream is None)
    if CLOSED:
        while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
            pass
        os.close(spare)
    if 0 not in CLOSED:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(NamedFile(0, "r", "standard input", closefd=False)), ENCODING)
    raw = NoOutput() if 1 in CLOSED else NamedFile(1, "w", "standard output", closefd=False)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), ENCODING, "surrogateescape", line_buffering=raw.isatty())
    if 2 in CLOSED:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # as long as the process lives
    sys.stderr.reconfigure(encoding=ENCODING, errors="backslashreplace")  # type: ignore[union-attr]  # a text stream


def opened_number(number: int, shown: str) -> BinaryIO:
    """A file that the process was given by its number, to write behind what has been written there."""
    try:
        return io.BufferedWriter(NamedFile(os.dup(-1 if number in CLOSED else number), "w", shown))
    except OSError as error:
        raise renamed(error, shown) from None


_readers: list[tuple[object, str]] = []
"""The stream that is read, and what reads it."""


def standard_input(reader: str) -> BinaryIO:
    """Standard input for a `reader`, which messages call so. AdError where it is closed or another one reads it."""
    if sys.stdin is None:
        raise AdError("standard input is closed")
    for stream, other in _readers:
        if stream is sys.stdin:
            raise AdError(f"{other} and {reader} cannot both be standard input" if other != reader else
                          f"{reader} can be standard input once")
    _readers[:] = [(sys.stdin, reader)]
    return sys.stdin.buffer


def opened(path: str) -> Any:
    """A file that a point names, or standard input for -, as a stream of bytes that can be looked into and moved about in."""
    if path == "-":
        return io.BufferedReader(io.BytesIO(standard_input("--at @-").read()))
    return io.BufferedReader(NamedFile(path, "r", path))
