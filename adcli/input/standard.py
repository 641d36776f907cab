"""Standard input, which one thing of a command line can be read from, and files that may be it."""
from __future__ import annotations

import io
import sys
from typing import Any, BinaryIO

from adcli.lang.ir.errors import AdError
from adcli.output.standard import NamedFile

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
