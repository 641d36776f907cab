"""Destinations of results: standard output, or a file that is written beside its place and renamed when it is whole. And where
messages go: standard error."""
from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, BinaryIO, TextIO

from adcli.lang.ir.errors import LONGEST_PART, AdError, shortened, visible, worded
from adcli.output import standard, suffixes
from adcli.output.replacing import UNFINISHED, WRITING, created, nameless, remove_unfinished, replaced
from adcli.output.standard import BYTES_AT_ONCE, NamedFile, by_way_of, renamed

ATOMIC = 4096
"""Bytes that a pipe takes whole or not at all (PIPE_BUF)."""
LONGEST_LINE = 2 * LONGEST_PART
"""Characters of a line of a message."""
STDOUT = 1
LINKS = 40
"""Links that are followed, as many as the system does."""


@contextlib.contextmanager
def packed_destination(path: str | None, document: bool = False) -> Iterator[BinaryIO]:
    """Destination that is compressed where its name says so: results.csv.gz. Lines of JSON become one `document`, an array."""
    packer = suffixes.packer(suffixes.split(path)[1])
    with destination(path) as out, contextlib.ExitStack() as layers:
        if packer is not None:
            out = layers.enter_context(Unnumbered(layers.enter_context(packer(out))))
        if document:
            out = layers.enter_context(JsonArray(out))
        yield out


def require_parquet(path: str | None, what: str = "Parquet") -> None:
    """AdError where Parquet cannot be written, or `what` is made by way of it: without polars, or to a terminal."""
    if find_spec("polars") is None:
        from adcli.lang.ir.errors import missing
        raise missing(what, "polars")
    if descriptor(path) == STDOUT and sys.stdout.isatty():
        raise AdError("refusing to write Parquet to a terminal; use -o FILE.parquet")


class Unnumbered(io.BufferedWriter):
    """A stream without a file number, by which what is written would go around the packer, which cannot go back either."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation


class JsonArray(io.BufferedIOBase, BinaryIO):
    """Lines of JSON as the items of an array, each on its line."""

    def __init__(self, out: BinaryIO) -> None:
        self.out, self.before = out, b"[\n"

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = bytes(data)
        if text:
            lines = text.removesuffix(b"\n")
            self.out.write(self.before + lines.replace(b"\n", b",\n"))
            self.before = b"" if lines == text else b",\n"
        return len(data)

    def flush(self) -> None:
        self.out.flush()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.out.write(b"[]\n" if self.before == b"[\n" else b"\n]\n")


@contextlib.contextmanager
def destination(path: str | None) -> Iterator[BinaryIO]:
    """A binary stream to write results to. A file appears only when all of it has been written; a failure leaves the old
    one as it was. What is not a regular file (a device, a pipe, an open file by its number) is written directly, and a terminal
    is shown what it would obey."""
    if path == "":
        raise AdError("-o needs a file name", help="write -o FILE")
    if path and to_url(path):
        with sent(path) as stream:
            yield stream
        return
    number = descriptor(path)
    if path is None or number == STDOUT:
        yield shown(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif number is not None:
        with standard.opened_number(number, path) as stream:
            yield shown(stream)
    elif path.endswith(os.sep) or not regular(path):
        with created(path, path) as stream:
            yield shown(stream)
    else:
        with replaced(path) as stream:
            yield stream


def to_url(path: str) -> bool:
    """True if results go over the network."""
    if "://" not in path:
        return False
    from adcli.output.remote import is_url
    return is_url(path)


@contextlib.contextmanager
def sent(url: str) -> Iterator[BinaryIO]:
    """A stream to write a file to that is sent to a URL when all of it is there."""
    from adcli.output import remote
    remote.require_whole(url)
    with spooled(url) as (stream, local):
        yield stream
        stream.flush()
        remote.put(local, url)


def regular(path: str) -> bool:
    """True if there is a regular file or none. OSError where the system does not let us look, as at a link that somebody else put
    into a folder of everybody's (`fs.protected_symlinks`)."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def shown(stream: BinaryIO) -> BinaryIO:
    """The stream, made visible where it is a terminal."""
    return VisibleOutput(stream) if stream.isatty() else stream


class VisibleOutput(io.BufferedIOBase, BinaryIO):
    """A terminal that is given whole lines of text, of which it obeys nothing."""

    def __init__(self, terminal: BinaryIO) -> None:
        self.terminal = terminal

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.terminal.write(visible(bytes(data).decode("utf-8", "surrogateescape")).encode())
        return len(data)

    def flush(self) -> None:
        self.terminal.flush()


def descriptor(path: str | None) -> int | None:
    """The number of the open file that a path names, such as /dev/stderr or a link to it, None where it names none of them. The
    file behind is not what is meant: it may be open at some place, shared, or gone."""
    if path is None or path == "-":
        return STDOUT
    for _ in range(LINKS):
        folder, name = os.path.split(os.path.abspath(path))
        folder = os.path.realpath(folder)
        if name.isdecimal() and folder in ("/dev/fd", f"/proc/{os.getpid()}/fd"):
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(os.path.join(folder, name)))
        except OSError:
            return None
    return None


def write_points(stream: BinaryIO, points: Iterable[str]) -> None:
    """Write the texts of points as they come, a few at a time, so that a sudden end leaves whole ones."""
    piece = bytearray()
    for point in points:
        data = point.encode()
        if piece and len(piece) + len(data) > ATOMIC:
            _write_piece(stream, piece)
            piece = bytearray()
        piece += data
    _write_piece(stream, piece)


def _write_piece(stream: BinaryIO, piece: bytes | bytearray) -> None:
    """An empty buffer passes a piece on in one step."""
    stream.write(piece)
    stream.flush()


def write_rows(stream: BinaryIO, data: bytes) -> None:
    """Write lines of a table (for `adcli.rows.stream`) so that a run that is interrupted leaves whole ones: a pipe gets as
    many as it takes in one step, which holds even where its reader has stopped; anything else gets pieces that
    `discard_unfinished` waits for."""
    stream.flush()
    raw = getattr(stream, "raw", None)
    if not isinstance(raw, NamedFile):   # a stream in memory, or a terminal
        stream.write(data)
        stream.flush()
        return
    target = raw.fileno()
    pipe = stat.S_ISFIFO(os.fstat(target).st_mode)
    view, at = memoryview(data), 0
    while at < len(data):
        step = room(target) if pipe else BYTES_AT_ONCE
        end = data.rfind(b"\n", at, at + step) + 1 or data.find(b"\n", at + step) + 1 or len(data)
        with WRITING:
            while at < end:
                at += raw.write(view[at:end])


def room(pipe: int) -> int:
    """Bytes that a pipe certainly takes in one step: its capacity where it is empty."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl
        import termios
        held = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
        return ATOMIC if any(held) else fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    return ATOMIC


@contextlib.contextmanager
def spooled(path: str | None) -> Iterator[tuple[BinaryIO, str]]:
    """A temporary file on the way to the results in `path`: a stream to write it, and a path to open it by as long as that is
    open. It has no name where the system has such files, so that nothing is left of it however the process ends."""
    from tempfile import gettempdir
    shown = "standard output" if path in (None, "-") else str(path)
    try:
        folder = gettempdir()
    except OSError as error:
        raise renamed(error, shown) from None
    if (stream := nameless(folder, by_way_of(shown, folder))) is not None:
        with stream:
            yield stream, f"/proc/self/fd/{stream.fileno()}"
        return
    with temporary_folder(path) as made, created(local := os.path.join(made, "results"), by_way_of(shown, folder)) as stream:
        yield stream, local


@contextlib.contextmanager
def temporary_folder(path: str | None) -> Iterator[str]:
    """A folder that only this user can look into, as long as it is needed on the way to the results in `path`."""
    from tempfile import TemporaryDirectory
    try:
        made = TemporaryDirectory(prefix="adcli-")
    except OSError as error:
        raise renamed(error, "standard output" if path in (None, "-") else str(path)) from None
    with made as folder:
        UNFINISHED.add(folder)
        try:
            yield folder
        finally:
            UNFINISHED.discard(folder)


def say(message: object) -> None:
    """A message on standard error, as long as there is one. Nothing in it is obeyed by a terminal, and no line is endless."""
    if sys.stderr is not None:
        lines = [shortened(visible(line), LONGEST_LINE) for line in worded(str(message)).split("\n")]
        with contextlib.suppress(MemoryError, SystemError, OSError, ImportError):   # what it loads may not fit; the message does
            lines = for_reader(lines, sys.stderr)
        with contextlib.suppress(OSError):
            print("\n".join(lines), file=sys.stderr, flush=True)


def for_reader(lines: list[str], stream: TextIO) -> list[str]:
    """The lines of a message as wide as the terminal that they go to, and in colour, where that is wanted."""
    from adcli.output import colour
    if (columns := columns_of(stream)) is not None:
        from adcli.output import wrap
        lines = list(wrap.with_carets(lines, columns))
    return [colour.message(line) for line in lines] if colour.wanted(stream) else lines


LEAST = 24
"""Columns that a text is given at least, however narrow the window."""


def columns_of(to: str | TextIO | None) -> int | None:
    """The columns of the terminal that a stream, or `-o path`, writes to; None where it writes elsewhere."""
    if to is None or isinstance(to, str):
        if descriptor(to) != STDOUT:
            return None
        to = sys.stdout
    if not to.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    with contextlib.suppress(OSError, ValueError):   # no terminal after all, or none that knows
        return max(LEAST, int(given) if given.isdecimal() and int(given) else os.get_terminal_size(to.fileno()).columns or WIDTH)
    return WIDTH


WIDTH = 80
"""Columns of a terminal that does not know them."""


ENDINGS: set[Callable[[], None]] = set()
"""Clean-up at a sudden end, such as of processes that were started."""


def discard_unfinished() -> None:
    """End what a run that ends now has started, and remove its temporary files and folders, after the piece that is being
    written, if that is soon. Nothing is written in one piece afterwards."""
    for ending in list(ENDINGS):
        ending()
    WRITING.acquire(timeout=0.5)
    remove_unfinished()


SHOWN_AFTER = 2.0
"""Seconds before anything is shown."""
EVERY = 0.5


class Progress:
    """Shows rows, rows a second and, where the size of the input is known, the time left; or another line."""

    def __init__(self, size: int | None, stream: TextIO | None = None, shown: bool = True) -> None:
        self.size, self.stream = size, stream or sys.stderr
        self.shown = shown and self.stream.isatty()
        self.start = self.last = time.monotonic()
        self.written = False

    def update(self, rows: int, taken: int, more: str = "") -> None:
        self.show(lambda seconds: line(rows, taken, self.size, seconds, more))

    def show(self, text: Callable[[float], str]) -> None:
        """Show the text after so many seconds, if it is time to."""
        now = time.monotonic()
        if self.shown and now - self.start >= SHOWN_AFTER and now - self.last >= EVERY:
            self.last, self.written = now, True
            self._write(text(now - self.start))

    def clear(self) -> None:
        if self.written:
            self._write("")

    def _write(self, text: str) -> None:
        """Rewrite the line. A terminal that has gone is no reason to stop."""
        try:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
        except OSError:
            self.shown = self.written = False


def line(rows: int, taken: int, size: int | None, seconds: float, more: str = "") -> str:
    """Progress line after so many seconds, `taken` of `size` bytes read, and what `more` there is to say."""
    shown = f"{rows:,} rows, {rows / seconds:,.0f} rows/s{more}"
    if not size or not taken:
        return shown
    left = round(seconds * max(size - taken, 0) / taken)
    return f"{shown}, {100 * min(taken, size) // size}%, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
