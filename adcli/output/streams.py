"""Where results go: standard output, or a file that is written beside its place and renamed when it is whole. And where
messages go: standard error."""
from __future__ import annotations

import contextlib
import io
import itertools
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import BinaryIO

from adcli.lang.ir.errors import AdError
from adcli.output import suffixes

ATOMIC = 4096
"""Bytes that a pipe takes whole or not at all (PIPE_BUF)."""
BYTES_AT_ONCE = 1 << 20
"""Bytes that a file is given at a time."""
STANDARD = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

_unfinished: set[str] = set()
"""Temporary files and folders that a sudden end must remove."""
_writing = threading.Lock()
"""Held while a piece that must not be cut is being written."""
_numbers = itertools.count(1)


@contextlib.contextmanager
def packed_destination(path: str | None) -> Iterator[BinaryIO]:
    """The same, packed where the name of the file says so: results.csv.gz."""
    packer = suffixes.packer(suffixes.split(path)[1])
    with destination(path) as out:
        if packer is None:
            yield out
            return
        with packer(out) as within, Unnumbered(within) as stream:
            yield stream


def require_parquet(path: str | None) -> None:
    """AdError where Parquet cannot be written: without polars, or to a terminal."""
    if find_spec("polars") is None:
        from adcli.lang.ir.extras import missing
        raise missing("Parquet", "polars")
    if path in (None, *STANDARD) and sys.stdout.isatty():
        raise AdError("refusing to write Parquet to a terminal; use -o FILE.parquet")


class Unnumbered(io.BufferedWriter):
    """A stream without a file number, by which what is written would go around the packer."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation


@contextlib.contextmanager
def destination(path: str | None) -> Iterator[BinaryIO]:
    """A binary stream to write results to. A file appears only when all of it has been written; a failure leaves the old
    one as it was. What is not a regular file (a device, a pipe) is written directly."""
    if path is None or path in STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif path == "":
        raise AdError("-o needs a file name", help="write -o FILE")
    elif not regular(path):
        with open(path, "wb") as stream:
            yield stream
    else:
        with _renamed(os.path.realpath(path), path) as stream:
            yield stream


def regular(path: str) -> bool:
    """Whether there is a regular file or none. OSError where the system does not let us look, as at a link that somebody else put
    into a folder of everybody's (`fs.protected_symlinks`)."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


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
    try:
        target = stream.fileno()
    except OSError:   # a stream in memory
        stream.write(data)
        return
    pipe = stat.S_ISFIFO(os.fstat(target).st_mode)
    view, at = memoryview(data), 0
    while at < len(data):
        step = room(target) if pipe else BYTES_AT_ONCE
        end = data.rfind(b"\n", at, at + step) + 1 or data.find(b"\n", at + step) + 1 or len(data)
        with _writing:
            while at < end:
                at += os.write(target, view[at:end])


def room(pipe: int) -> int:
    """Bytes that a pipe certainly takes in one step: its capacity where it is empty."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl
        import termios
        held = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
        return ATOMIC if any(held) else fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    return ATOMIC


@contextlib.contextmanager
def _renamed(path: str, shown: str) -> Iterator[BinaryIO]:
    """A temporary file in the folder of `path` that takes its place; faults speak of the file as `shown`."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied", shown)
    base = os.path.basename(path).encode("utf-8", "surrogateescape")[:80].decode("utf-8", "ignore")
    temporary = os.path.join(os.path.dirname(path), f".{base}.{os.getpid()}-{next(_numbers)}.part")
    _unfinished.add(temporary)
    try:
        with _nameless(os.path.dirname(path)) or _created(temporary, shown) as stream:
            yield stream
            stream.flush()
            if os.fstat(stream.fileno()).st_nlink == 0:
                _name(stream, temporary)
        with contextlib.suppress(OSError):
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        _unfinished.discard(temporary)


def _nameless(folder: str) -> BinaryIO | None:
    """A file in `folder` that has no name yet, so that a process that is killed leaves nothing; None where the system or
    the file system has no such files."""
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except (AttributeError, OSError):
        return None
    if os.path.exists(f"/proc/self/fd/{file}"):
        return os.fdopen(file, "wb")
    os.close(file)
    return None


def _name(stream: BinaryIO, path: str) -> None:
    """Give a nameless file its name. A directory is named for os.link to take linkat, which follows the link in /proc."""
    with contextlib.suppress(FileNotFoundError):   # left behind by a process of the same number
        os.unlink(path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{stream.fileno()}", path, src_dir_fd=folder)
    finally:
        os.close(folder)


def _created(temporary: str, shown: str) -> BinaryIO:
    with contextlib.suppress(FileNotFoundError):   # left behind by a process of the same number
        os.unlink(temporary)
    try:
        return open(temporary, "xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, shown) from None


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that only this user can look into, as long as it is needed."""
    from tempfile import TemporaryDirectory
    with TemporaryDirectory(prefix="adcli-") as folder:
        _unfinished.add(folder)
        try:
            yield folder
        finally:
            _unfinished.discard(folder)


def say(message: object) -> None:
    """A message on standard error, as long as there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(message, file=sys.stderr, flush=True)


def discard_unfinished() -> None:
    """Remove the temporary files and folders of a run that ends now, after the piece that is being written, if that is soon.
    Nothing is written in one piece afterwards."""
    _writing.acquire(timeout=0.5)
    for temporary in list(_unfinished):
        with contextlib.suppress(OSError):
            if os.path.isdir(temporary):
                from shutil import rmtree
                rmtree(temporary, ignore_errors=True)
            else:
                os.unlink(temporary)
