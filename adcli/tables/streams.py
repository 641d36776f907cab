"""Tables as streams of bytes: where they come from, how they are packed, and where their rows end.

A table is read in blocks of whole rows, so memory does not depend on its length. A block ends early when nothing more can
be had at once: rows typed or produced slowly come out without waiting for more. Fields follow RFC 4180: one is quoted where
its first character is a quote, which is doubled inside; a quoted field may hold line ends, so rows are found by the same
expression that later splits them. Lines end with LF or CRLF.
"""
from __future__ import annotations

import codecs
import io
import json
import os
import re
import select
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any

from adcli.lang.ir.errors import AdError, one_line
from adcli.lang.syntax.scan import other_encoding
from adcli.output import remote
from adcli.output.standard import NamedFile, standard_input

PIECE = 1 << 20
"""Bytes asked for at a time."""
BLOCK = 1 << 19
"""Bytes of a block, at least, where they can be had at once."""
LONGEST_ROW = 32 << 20
"""Bytes of a row. A longer one is a quote that nothing closes, or not a table."""

BLOCK_WAIT = 0.02
"""Seconds after which what is there is worked on, although it is less than a block."""

SEPARATORS = {"csv": b",", "tsv": b"\t"}
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json",
            ".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}
TYPED = ("parquet", "npz")
"""Kinds of tables whose columns have types."""
PACKED = (".gz", ".zst")
MARK, MARK_BYTES = b"\xef\xbb\xbf", 4
"""The byte order mark of UTF-8, and the bytes of the longest of any encoding."""

Pieces = Iterator[bytes | None]
"""Bytes as they arrive; None says that there is nothing more for a moment."""


class BadTable(Exception):
    """The rows cannot be used: the message, which names the place, and a help."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message if help is None else f"{message}\nhelp: {help}")
        self.message, self.help = message, help


class Input:
    """A file or standard input, opened and unpacked; `taken` of its `size` bytes (None: unknown) have been read. Of a Parquet
    file `rows` alone may be meant: from where on, and how many. Messages call who reads standard input `reader`."""

    rows: tuple[int, int] | None = None

    def __init__(self, path: str, reader: str = "--data") -> None:
        self.name = named(path)
        self.path, self.taken = path, 0
        self.file = unbuffered_input(reader) if path == "-" else opened(path)
        self.size = os.stat(path).st_size if path != "-" and os.path.isfile(path) else None
        self.head = self._first()

    def _first(self) -> bytes:
        """The first bytes, enough to see how they are packed; they are kept."""
        found = b""
        while len(found) < 4 and (more := self.file.read(PIECE)):
            found += more
        self.taken = len(found)
        return found

    def close(self) -> None:
        if self.path != "-":
            self.file.close()

    def told(self, share: float) -> None:
        """So much has been read by somebody else."""
        self.taken = round(share * (self.size or 0))

    def pieces(self) -> Pieces:
        """The contents, unpacked."""
        if self.head.startswith(b"\x1f\x8b"):
            return gunzip(self._raw(), self.name)
        if self.head.startswith(b"\x28\xb5\x2f\xfd"):
            return unzstd(self._raw(), self.name)
        return self._raw()

    def _raw(self) -> Pieces:
        if self.head:
            yield self.head
        while True:
            if not self._ready():
                yield None
            piece = self.file.read(PIECE)
            if not piece:
                return
            self.taken += len(piece)
            yield piece

    def _ready(self) -> bool:
        with suppress(OSError, ValueError):
            return bool(select.select([self.file], [], [], BLOCK_WAIT)[0])
        return True


def unbuffered_input(reader: str) -> Any:
    """Standard input without a buffer, so that rows are there as soon as they have been sent."""
    found = standard_input(reader)
    return getattr(found, "raw", found)


def gunzip(pieces: Pieces, name: str) -> Pieces:
    """One gzip stream or several after each other, a bounded amount at a time."""
    engine = zlib.decompressobj(31)
    for piece in pieces:
        if piece is None:
            yield None
            continue
        while piece:
            if engine.eof:
                piece = piece.lstrip(b"\0")
                engine = zlib.decompressobj(31) if piece else engine
                continue
            try:
                made = engine.decompress(piece, BLOCK)
            except zlib.error:
                raise AdError(f"{name}: damaged gzip data") from None
            piece = engine.unused_data if engine.eof else engine.unconsumed_tail
            yield made
        while not engine.eof and (made := engine.decompress(b"", BLOCK)):
            yield made
    if not engine.eof:
        raise AdError(f"{name}: the gzip data ends too early")


def unzstd(pieces: Pieces, name: str) -> Pieces:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        raise AdError(f"{name}: this Python has no zstd (3.14 has)", help="zstd -dc FILE | adcli … --data -") from None
    engine = zstd.ZstdDecompressor()
    for piece in pieces:
        if piece is None:
            yield None
            continue
        while piece or not (engine.eof or engine.needs_input):
            if engine.eof:
                engine = zstd.ZstdDecompressor()
            try:
                yield engine.decompress(piece, BLOCK)
            except zstd.ZstdError:
                raise AdError(f"{name}: damaged zstd data") from None
            piece = engine.unused_data if engine.eof else b""
    if not engine.eof:
        raise AdError(f"{name}: the zstd data ends too early")


def named(path: str) -> str:
    """The name of a table in messages."""
    return "<stdin>" if path == "-" else remote.shown(path) if remote.is_url(path) else one_line(path)


def opened(path: str, anywhere: bool = False) -> io.RawIOBase:
    """A file of this machine, or a URL, to be read from its start to its end or `anywhere`."""
    return remote.RemoteFile(path, anywhere) if remote.is_url(path) else NamedFile(path, "r", path)


def kind_by_name(path: str) -> str | None:
    """csv, tsv, ndjson, json, parquet or npz by the suffix, before which that of packing stands."""
    stem, suffix = os.path.splitext((remote.shown(path) if remote.is_url(path) else path).lower())
    return SUFFIXES.get(os.path.splitext(stem)[1] if suffix in PACKED else suffix)


def kind_of(path: str, asked: str | None, start: bytes) -> str:
    """The kind of a table: as asked for, by the suffix, or by the start of its text."""
    if found := asked or kind_by_name(path):
        return found
    if start.startswith(b"PAR1"):
        return "parquet"
    text = start.removeprefix(MARK).lstrip()
    if text[:1] in (b"{", b"["):
        return "ndjson" if text[:1] == b"{" else "json"
    header = text.partition(b"\n")[0]
    return "tsv" if header.count(b"\t") > header.count(b",") else "csv"


@cache
def field_pattern(separator: bytes) -> bytes:
    """One field as it is written: quoted (and what wrongly follows the quote), bare, or empty."""
    s = re.escape(separator)
    return rb'(?:"(?:[^"]++|"")*+"[^%b\n]*+|[^"%b\n][^%b\n]*+|)' % (s, s, s)


@cache
def row_pattern(separator: bytes) -> re.Pattern[bytes]:
    """One row with its LF."""
    field = field_pattern(separator)
    return re.compile(rb"%b(?:%b%b)*+\n" % (field, re.escape(separator), field))


@cache
def rows_pattern(separator: bytes) -> re.Pattern[bytes]:
    """As many whole rows as there are."""
    return re.compile(rb"(?:%b)*+" % row_pattern(separator).pattern)


def end_of_rows(text: bytes, separator: bytes | None) -> int:
    """Where the last whole row ends; without a separator every line is a row."""
    if separator is None or b'"' not in text:
        return text.rfind(b"\n") + 1
    whole = rows_pattern(separator).match(text)
    return whole.end() if whole else 0


def flushed(pieces: Pieces) -> Pieces:
    """Let everything read before a fault go its way first."""
    try:
        yield from pieces
    except (AdError, BadTable, OSError):
        yield None
        raise


def blocks(pieces: Pieces, separator: bytes | None, name: str, most: int = PIECE) -> Iterator[bytes | None]:
    """Blocks of whole rows, each ending in LF, of `most` bytes or a row; None where the input has to be waited for. The last
    row may lack its line end."""
    held: list[bytes] = []
    size = 0
    wanted = BLOCK
    for piece in pieces:
        if piece:
            held.append(piece)
            size += len(piece)
        if not size or (piece is not None and size < wanted):
            if piece is None:
                yield None
            continue
        text = b"".join(held)
        end = end_of_rows(text, separator)
        held, size = [text[end:]], len(text) - end
        wanted = size + BLOCK
        if size > LONGEST_ROW:
            raise BadTable(f"{name}: a row longer than {LONGEST_ROW >> 20} MiB", "is a quote not closed?")
        if end:
            yield from cut(text[:end], separator, most)
        if piece is None:
            yield None
    text = b"".join(held)
    if text:
        yield from cut(text if text.endswith(b"\n") else text + b"\n", separator, most)


def cut(rows: bytes, separator: bytes | None, most: int) -> Iterator[bytes]:
    """Rows in blocks of `most` bytes, or of a longer row; as they are where `most` is what is read at a time."""
    at, size = 0, most
    while most < PIECE and len(rows) - at > size:
        end = end_of_rows(rows[at:at + size], separator)
        if end:
            yield rows[at:at + end]
        at, size = at + end, most if end else 2 * size
    yield rows[at:] if at else rows


def without_mark(pieces: Pieces, name: str) -> Pieces:
    """The text without a byte order mark in front."""
    start = b""
    for piece in pieces:
        start += piece or b""
        if len(start) >= MARK_BYTES:
            break
        if piece is None:
            yield None
    if (other := other_encoding(start)) is not None:
        raise AdError(f"{name}: this is {other}", help=f"iconv -f {other} -t UTF-8 FILE | adcli … --data -")
    yield start.removeprefix(MARK)
    yield from pieces


def beginning(pieces: Pieces) -> bytes:
    """The first pieces of a text, as many as `kind_of` needs: up to a bracket or the end of the first line."""
    start = b""
    for piece in pieces:
        start += piece or b""
        text = start.lstrip()
        if text.startswith((b"{", b"[")) or b"\n" in text or len(text) > LONGEST_ROW:
            break
    return start


def lines_of(source: Input, asked: str | None) -> tuple[str, Pieces]:
    """The kind of a table of text, and the text. What it starts with when it is unpacked can tell another kind than the packed
    bytes did; JSON that is not written in lines is put into lines."""
    pieces = without_mark(source.pieces(), source.name)
    start = beginning(pieces)
    pieces = chain([start] if start else [], pieces)
    kind = kind_of(source.path, asked, start)
    return kind, json_items(pieces, source.name) if kind == "json" else pieces


# ---------------------------------------------------------------- JSON that is not written in lines

GAP = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"[-+.0-9eE]*")
SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # it tells where a value ends


def json_items(pieces: Pieces, name: str) -> Pieces:
    """The items of a JSON array, or JSON values one after the other, each on a line of its own however it is written."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    text, items = "", JsonItems()
    for piece in chain(pieces, [b""]):   # the last one says that there is no more
        if piece is None:
            yield None
            continue
        lines, text = items.taken(text + decode(piece, not piece), last=not piece)
        yield "".join(lines).encode("utf-8", "surrogateescape")
        if items.fault:
            raise BadTable(f"{name}: item {items.count + 1}: not JSON: {items.fault}")


class JsonItems:
    """State of the scan of a JSON text: `state` is start, first (after the bracket), item, after (an item) or end; `array`:
    items stand in one; how many there were; what is wrong with the next one."""

    def __init__(self) -> None:
        self.state, self.array, self.count = "start", False, 0
        self.fault: str | None = None

    def taken(self, text: str, last: bool) -> tuple[list[str], str]:
        """The whole items of a text as lines, and the rest of it. Nothing follows the `last` one."""
        lines, at = [], past(GAP, text, 0)
        while at < len(text):
            end = at + 1
            if not self._mark(text[at]):
                found = self._item_end(text, at, last)
                if found is None:
                    break
                end = found
                lines.append(text[at:end].replace("\n", " ").replace("\r", " ") + "\n")
                self.state, self.count = "after" if self.array else "item", self.count + 1
            at = past(GAP, text, end)
        if last and self.array and self.state != "end":
            self.fault = self.fault or "the array is not closed"
        return lines, text[at:]

    def _mark(self, mark: str) -> bool:
        """Take a bracket of the array or a comma in it; False where an item begins."""
        if self.state == "start":
            self.array = mark == "["
            self.state = "first" if self.array else "item"
            return self.array
        if self.state in ("first", "after") and self.array and mark == "]":
            self.state = "end"
            return True
        if self.state == "after" and mark == ",":
            self.state = "item"
            return True
        return False

    def _item_end(self, text: str, at: int, last: bool) -> int | None:
        """The end of an item; None where more of it is to come, or it is none."""
        if self.state in ("after", "end"):
            self.fault = "text after the array" if self.state == "end" else "Expecting ',' delimiter"
            return None
        try:
            _, end = SCAN(text, at)
        except RecursionError:
            self.fault = "nested too deeply"
            return None
        except (StopIteration, json.JSONDecodeError) as error:
            if last or len(text) - at > LONGEST_ROW:
                self.fault = getattr(error, "msg", "Expecting value")
            return None
        return int(end) if last or past(NUMBER, text, at) < len(text) else None   # a number may go on


def past(characters: re.Pattern[str], text: str, at: int) -> int:
    """Where such characters at a place end, if there are any."""
    found = characters.match(text, at)
    assert found is not None
    return found.end()
