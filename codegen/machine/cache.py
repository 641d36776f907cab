"""Compiled programs kept between runs: where they lie, what an entry is called by, and how it is read and written.

An entry is called by the SHA-256 of everything that its content depends on, and begins with the SHA-256 of all that
follows, so nothing is believed before it has been verified: a truncated, changed or misplaced entry is no entry. It is
written to a file of its own and renamed, so a process may be killed, or run two hundred times at once, at any moment.

The folder and the file must be the user's own and writable by nobody else, since what lies there is executed; anything
else is ignored with a warning. Whatever the disk or the system refuses means only that nothing is kept.
"""
from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import adcli.codegen
import adcli.lang
from adcli.codegen.machine import veclib
from adcli.lang.ir.errors import one_line

SCHEMA = 1
"""Counted up when the content of entries changes its meaning."""
MAGIC = b"adcli cache 1\n"
HEADER = len(MAGIC) + 64
"""Bytes before the content: the magic, the hash of what follows, the name."""
BYTES_KEPT = 256 << 20
"""At most, all entries together."""
LARGEST_ENTRY = BYTES_KEPT // 8
"""Bytes of its content."""
ENTRIES_KEPT = 4096
"""At most, so that looking through the folder stays a matter of milliseconds."""
LEAN_HASHES, LONG_DATA = "_sha2" if sys.version_info >= (3, 12) else "_sha256", 1 << 20
"""Python's own SHA-256, and the bytes that OpenSSL hashes quicker although it has to be loaded first."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file has a time of its own, on every file system."""
STALE = 3600
"""Seconds after which a temporary file is nobody's, and after which a use is noted in the time of an entry."""
SUFFIX, TEMPORARY = ".adc", ".part"
OURS = re.compile(r"[0-9a-f]{64}(\.adc|-[0-9a-f]{16}\.part)")
"""Names of entries and temporary files."""
UNREAD = ("__pycache__", "analyse", "tests")
"""Folders in packages that no compiled code comes from."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def location() -> str | None:
    """The cache folder: ADCLI_CACHE_DIR, or adcli in the user's cache folder (XDG). None where there is none."""
    own = os.environ.get("ADCLI_CACHE_DIR", "")
    if own:
        return own if os.path.isabs(own) else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return os.path.join(base, "adcli")
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    return os.path.join(home, ".cache", "adcli") if os.path.isabs(home) else None


# ---------------------------------------------------------------- keys

def key(parts: Iterable[str]) -> str:
    """The name of the entry for these parts; no two lists of parts give the same text to the hash."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in (str(SCHEMA), *parts)]
    return sha256(b"".join([len(data).to_bytes(8, "little") + data for data in encoded])).hex()


def sha256(data: bytes | memoryview) -> bytes:
    """By a module of Python's own, as its `random` does: hashlib brings OpenSSL, which is a twentieth of a warm run."""
    try:
        module = import_module(LEAN_HASHES if len(data) < LONG_DATA else "hashlib")
    except ModuleNotFoundError:
        module = import_module("hashlib")
    return bytes(module.sha256(data).digest())


def surroundings() -> list[str]:
    """Ingredients of compiled code other than the program: this package, LLVM, the processor, the maths libraries. OSError where
    our own files cannot be read."""
    uname = os.uname() if hasattr(os, "uname") else None
    return [remembered_content(), llvm_files(), uname.machine if uname else "", veclib.processor() or llvm_processor(),
            c_library()]


@cache
def remembered_content() -> str:
    """`own_content`, from the cache where no file has another size, time or number since. A file that was changed just now may
    change again without any of them changing."""
    status = [(path, os.stat(path)) for folder in own_folders() for path in sorted(paths(folder))]
    said = [f"{path} {s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}" for path, s in status]
    if max(s.st_ctime_ns for _, s in status) > time.time_ns() - SETTLED:
        return own_content()
    store, name = Store(location(), to_stderr), key(said)
    if (known := store.get(name)) is not None:
        return known.decode()
    store.put(name, own_content().encode())
    return own_content()


@cache
def own_content() -> str:
    """The digest of our own files, names and content. Some installers give all files one time, and a rule can change
    without the size of its file."""
    hashed = own_hash()
    for folder in own_folders():
        for path in sorted(paths(folder)):
            with open(path, "rb", buffering=0) as file:
                data = file.read()
            hashed.update(f"{path[len(folder):]}\0{len(data)}\0".encode("utf-8", "surrogatepass") + data)
    return str(hashed.hexdigest())


def own_hash() -> Any:
    """BLAKE2, which is quick on 1.5 MB without OpenSSL."""
    try:
        return import_module("_blake2").blake2b()
    except ModuleNotFoundError:
        return import_module("hashlib").blake2b()


def own_folders() -> list[str]:
    """The folders of this package that entries come from: the language, code generators, readers, and what uses them."""
    own = (f.path for f in os.scandir(adcli.__path__[0]) if f.is_dir() and re.match(r"(task|readers|from_\w+)$", f.name))
    return [*sorted(own), *adcli.lang.__path__, *adcli.codegen.__path__]


def paths(folder: str) -> Iterator[str]:
    """Every file in a folder and in the folders in it, but for those that are `UNREAD`."""
    folders = [folder]
    for inner in folders:
        with os.scandir(inner) as found:
            for f in found:
                if f.is_file():
                    yield f.path
                elif f.name not in UNREAD and f.is_dir():
                    folders.append(f.path)


def llvm_files() -> str:
    """The installed llvmlite with the LLVM in it, found without importing it: its version, and names, sizes and times of its
    files, which are too large to be read each time."""
    spec = find_spec("llvmlite")
    if spec is None or not spec.origin:
        return "unknown"
    folder = os.path.dirname(spec.origin)
    with open(os.path.join(folder, "_version.py"), encoding="utf-8", errors="replace") as file:
        said = [folder, file.read()]
    for path in sorted(paths(folder)):
        status = os.stat(path)
        said += [path[len(folder):], str(status.st_size), str(status.st_mtime_ns)]
    return "\0".join(said)


def llvm_processor() -> str:
    """The processor as LLVM detects it, for systems without a file about it."""
    try:
        from llvmlite import binding
        return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    except (ImportError, RuntimeError):
        return ""


def c_library() -> str:
    """The version of the C library, to which libm and libmvec belong."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""


# ---------------------------------------------------------------- entries

class Info(NamedTuple):
    """The content of `adcli cache info`: `reason` says why the folder is not used, where it is not."""

    folder: str | None
    entries: int
    size: int
    reason: str | None


class Distrust(Exception):
    """A folder or a file that somebody else may have written."""


class Store:
    """The entries of one folder. `warn` receives at most one warning; nothing raises."""

    def __init__(self, folder: str | None, warn: Callable[[str], None]) -> None:
        self.folder = folder if hasattr(os, "geteuid") else None
        self.warn = warn
        self.warned = False

    def get(self, name: str) -> bytes | None:
        """The content of an entry, verified; None where there is none that can be trusted."""
        with self.guarded(), self.opened() as folder:
            return content(read(folder, name), name)
        return None

    def put(self, name: str, data: bytes) -> None:
        """Keep an entry, if that is possible."""
        if self.folder is None or len(data) > LARGEST_ENTRY:
            return
        with self.guarded():
            make(self.folder)
            with self.opened() as folder:
                write(folder, name, data)
                prune(folder)

    def info(self) -> Info:
        try:
            with self.opened() as folder:
                found = [s for n, s in entries(folder) if n.endswith(SUFFIX)]
                return Info(self.folder, len(found), sum(s.st_size for s in found), None)
        except FileNotFoundError:
            return Info(self.folder, 0, 0, None)
        except Distrust as fault:
            return Info(self.folder, 0, 0, str(fault))
        except OSError as fault:
            return Info(self.folder, 0, 0, fault.strerror or str(fault))

    def clear(self) -> int:
        """Remove all entries; says how many. OSError or Distrust where that is not possible."""
        removed = 0
        with contextlib.suppress(FileNotFoundError), self.opened() as folder:
            for name, _ in list(entries(folder)):
                os.unlink(name, dir_fd=folder)
                removed += name.endswith(SUFFIX)
        return removed

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """The folder, if it is ours alone. What is checked is what is used: it is opened once."""
        if self.folder is None:
            raise FileNotFoundError("no cache folder")
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISLNK(os.lstat(self.folder).st_mode):
                raise Distrust(f"the cache {self.folder} is a symbolic link")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            trust(os.fstat(folder), f"the cache {self.folder}")
            yield folder
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """A fault of the disk is no fault of the run."""
        try:
            yield
        except Distrust as fault:
            if not self.warned:
                self.warn(f"{fault}: not used")
                self.warned = True
        except OSError:
            pass


def make(folder: str) -> None:
    """The folder, below one that belongs to this user or the system: root makes none at other people's, as sudo would have it."""
    if os.path.lexists(folder):
        return
    parent = os.path.dirname(folder)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if os.stat(parent).st_uid not in (0, os.geteuid()):
        raise PermissionError(errno.EPERM, "would lie in a folder of another user", folder)
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def trust(found: os.stat_result, what: str) -> None:
    """Distrust unless this user owns it and nobody else may write to it."""
    if found.st_uid != os.geteuid():
        raise Distrust(f"{what} belongs to another user")
    if found.st_mode & OTHERS_WRITE:
        raise Distrust(f"{what} is writable by others")


def read(folder: int, name: str) -> bytes:
    """The bytes of an entry's file, which must be a regular file of ours."""
    path = name + SUFFIX
    if stat.S_ISLNK(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode):
        raise Distrust(f"the cache entry {path} is a symbolic link")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        trust(found, f"the cache entry {path}")
        if not stat.S_ISREG(found.st_mode):
            raise Distrust(f"the cache entry {path} is not a file")
        if time.time() - found.st_mtime > STALE:
            with contextlib.suppress(OSError):
                os.utime(handle)
        return file.read(found.st_size) if found.st_size <= LARGEST_ENTRY + HEADER else b""


def content(data: bytes, name: str) -> bytes | None:
    """The content of an entry, None unless every byte of it is as it was written, under this name."""
    start = len(MAGIC) + 32
    body = memoryview(data)[start:]
    if not data.startswith(MAGIC) or data[len(MAGIC):start] != sha256(body):
        return None
    return bytes(body[32:]) if body[:32] == bytes.fromhex(name) else None


def write(folder: int, name: str, data: bytes) -> None:
    """A new entry, complete or not at all."""
    body = bytes.fromhex(name) + data
    temporary = f"{name}-{os.urandom(8).hex()}{TEMPORARY}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(MAGIC + sha256(body))
            file.write(body)
        os.rename(temporary, name + SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """The files that this module has made, by their names: a folder of the user's own may hold others. They come and go while
    they are looked at."""
    with os.scandir(folder) as found:
        for file in found:
            if OURS.fullmatch(file.name):
                with contextlib.suppress(FileNotFoundError):
                    yield file.name, file.stat(follow_symlinks=False)


def prune(folder: int) -> None:
    """Remove what killed runs left behind, and the entries longest unused where there are too many."""
    now = time.time()
    kept: list[tuple[float, int, str]] = []
    for name, found in list(entries(folder)):
        if name.endswith(SUFFIX):
            kept.append((found.st_mtime, found.st_size, name))
        elif now - found.st_mtime > STALE:
            remove(folder, name)
    size, count = sum(s for _, s, _ in kept), len(kept)
    if size <= BYTES_KEPT and count <= ENTRIES_KEPT:
        return
    for _, each, name in sorted(kept):
        if size <= BYTES_KEPT * 3 // 4 and count <= ENTRIES_KEPT * 3 // 4:
            return
        remove(folder, name)
        size, count = size - each, count - 1


def remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def to_stderr(message: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(f"adcli: warning: {one_line(message)}", file=sys.stderr)
