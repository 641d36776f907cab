"""A file that takes the place of another once it is whole: a failure leaves the old one as it was, and a process that ends leaves
nothing behind.

The new file is renamed, with the permissions of the old one. Where that would make another file of it, for those who know it by
another name, own it or have it mounted, or where no file can be made beside it, the old one is written over instead, when all
that it is to hold is there and has room.
"""
from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import threading
from collections.abc import Iterator
from typing import BinaryIO

from adcli.output.standard import BYTES_AT_ONCE, NamedFile, by_way_of, renamed

WRITING = threading.Lock()
"""Held while a piece that must not be cut is being written."""

UNFINISHED: set[str] = set()
"""Temporary files and folders that a sudden end must remove."""
_numbers = itertools.count(1)


@contextlib.contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """A stream to write the new contents of a file to; faults speak of the file as `path`."""
    old, real = _found(path), os.path.realpath(path)
    if old and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied", path)
    folder, base = os.path.split(real)
    base = base.encode("utf-8", "surrogateescape")[:80].decode("utf-8", "ignore")
    temporary = os.path.join(folder, f".{base}.{os.getpid()}-{next(_numbers)}.part")
    UNFINISHED.add(temporary)
    try:
        if old and not _may_be_another(old, folder):
            with nameless(folder, path) or _elsewhere(path) as stream:
                yield stream
                _write_over(stream, real, path)
            return
        with nameless(folder, path) or created(temporary, path) as stream:
            yield stream
            stream.flush()
            with _faults_of(path):
                if os.fstat(stream.fileno()).st_nlink == 0:
                    _name(stream, temporary)
                if old:
                    _like(old, real, temporary)
                if not _moved(temporary, real):
                    _write_over(stream, real, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        UNFINISHED.discard(temporary)


def created(path: str, shown: str) -> BinaryIO:
    """A new file, or a device or pipe that is there, to write to and, where it is a file, to read again."""
    if path != shown:
        with contextlib.suppress(FileNotFoundError):   # left behind by a process of the same number
            os.unlink(path)
    try:
        return io.BufferedWriter(NamedFile(path, "w" if path == shown else "x+", shown))
    except OSError as error:
        raise renamed(error, shown) from None


def remove_unfinished() -> None:
    """Remove the temporary files and folders of a run that ends now."""
    for temporary in list(UNFINISHED):
        with contextlib.suppress(OSError):
            if os.path.isdir(temporary):
                from shutil import rmtree
                rmtree(temporary, ignore_errors=True)
            else:
                os.unlink(temporary)


def _found(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _may_be_another(old: os.stat_result, folder: str) -> bool:
    """Test that a new file with the same owner may replace the old one, which has no other name."""
    if old.st_nlink > 1 or not os.access(folder, os.W_OK | os.X_OK):
        return False
    return os.name != "posix" or os.geteuid() == 0 or (
        old.st_uid == os.geteuid() and old.st_gid in (os.getegid(), *os.getgroups()))


@contextlib.contextmanager
def _faults_of(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise renamed(error, shown) from None


def nameless(folder: str, shown: str) -> BinaryIO | None:
    """A file in `folder` that has no name yet, so that a process that is killed leaves nothing; None where the system or
    the file system has no such files."""
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except (AttributeError, OSError):
        return None
    if os.path.exists(f"/proc/self/fd/{file}"):
        return io.BufferedWriter(NamedFile(file, "r+", shown))
    os.close(file)
    return None


def _elsewhere(shown: str) -> BinaryIO:
    """A nameless file in the folder for temporary files."""
    import tempfile
    with tempfile.TemporaryFile(buffering=0) as file:
        return io.BufferedWriter(NamedFile(os.dup(file.fileno()), "r+", by_way_of(shown, tempfile.gettempdir())))


def _name(stream: BinaryIO, path: str) -> None:
    """Give a nameless file its name. A directory is named for os.link to take linkat, which follows the link in /proc."""
    with contextlib.suppress(FileNotFoundError):   # left behind by a process of the same number
        os.unlink(path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{stream.fileno()}", path, src_dir_fd=folder)
    finally:
        os.close(folder)


def _like(old: os.stat_result, path: str, new: str) -> None:
    """Give a new file the owner, the permissions and the attributes (access lists are such) of the one at `path`."""
    with contextlib.suppress(OSError):
        if (old.st_uid, old.st_gid) != ((now := os.stat(new)).st_uid, now.st_gid):
            os.chown(new, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):
        os.chmod(new, old.st_mode & 0o777)
    with contextlib.suppress(OSError, AttributeError):
        for name in os.listxattr(path):
            os.setxattr(new, name, os.getxattr(path, name))


def _moved(new: str, path: str) -> bool:
    """Rename the new file over the old one; False where that is mounted."""
    try:
        os.replace(new, path)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV) or not os.path.exists(path):
            raise
        return False
    return True


def _write_over(stream: BinaryIO, path: str, shown: str) -> None:
    """Write what is in a file over another, for which room is made first."""
    from shutil import copyfileobj
    stream.flush()
    size = os.fstat(stream.fileno()).st_size
    source = NamedFile(stream.fileno(), "r", shown, closefd=False)
    source.seek(0)
    with io.BufferedWriter(NamedFile(path, "r+", shown)) as target, WRITING:
        before = os.fstat(target.fileno()).st_size
        try:
            if size > before:
                os.posix_fallocate(target.fileno(), 0, size)
        except OSError as error:
            target.truncate(before)
            raise renamed(error, shown) from None
        copyfileobj(source, target, BYTES_AT_ONCE)
        target.truncate(size)
