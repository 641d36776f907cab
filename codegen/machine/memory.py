"""How much memory there is, asked before much of it is taken: by data, and by the large libraries, which crash, or end the
process with words of their own, where there is too little of it, or where they get no threads."""
from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from adcli.lang.ir.errors import AdError

UNASKED_BYTES = 1 << 26
"""Bytes that are taken without asking how many there are."""


class Limit(NamedTuple):
    """A limit on the memory of a process: what it counts, the command that raises it, its name and that of what is used in the
    system's files, and how much of it loading a library and a little work with it take, as measured on Linux for x86-64."""

    counts: str
    raised_by: str
    name: str
    used: str
    libraries: Mapping[str, int]


LIMITS = (
    Limit("address space", "ulimit -v", "Max address space", "VmSize:",
          {"numpy": 88 << 20, "llvmlite": 192 << 20, "polars": 512 << 20}),
    Limit("data", "ulimit -d", "Max data size", "VmData:",
          {"numpy": 46 << 20, "llvmlite": 10 << 20, "polars": 192 << 20}),
)
LIBRARIES = tuple(LIMITS[0].libraries)
THREADED, OWN_THREADS = "polars", 24
"""The library that has threads of its own, some for itself and some for each processor: with fewer it ends the process, or waits
for ever."""
THREAD_BYTES = 256 << 20
"""Memory that a limit must leave for each thread that is started: what one sets aside for itself, and what it works on. Where it
gets less, the C library may end the process."""
NEXT_TO_NOTHING = 2 << 20
"""Bytes with which Python can hardly load a module."""
UNKNOWN = 1 << 62


def require_room(what: str, size: int, help: str | None = None, limit: int | None = None) -> None:
    """AdError where `what` takes more bytes than are free, or than `limit`: what is large asks this before it is made."""
    if limit is None and size <= UNASKED_BYTES:
        return
    free = available() if limit is None else limit
    if size > free:
        raise AdError(f"{what} needs {amount(size)} of memory, but only {amount(free)} is free", help=help)


def available() -> int:
    """Bytes of memory that the system has left, or that a limit on this process or on its control group (a container, a service)
    leaves it; very many where none is known."""
    free = min(*map(left, LIMITS), kibibytes("/proc/meminfo", "MemAvailable:"))
    with suppress(OSError, ValueError):
        return min(free, of_group(_text("/proc/self/cgroup"), "/sys/fs/cgroup"))
    return free


def of_group(groups: str, root: str) -> int:
    """Bytes that the control group (version 2) named in `groups` may still take, and each one above it; the memory of files read
    lately is given up where there is too little."""
    path, free = next((line[3:].rstrip("/") for line in groups.splitlines() if line.startswith("0::")), ""), UNKNOWN
    while True:
        with suppress(OSError, ValueError):
            most, used = int(_text(f"{root}{path}/memory.max")), int(_text(f"{root}{path}/memory.current"))
            files = kibibytes(f"{root}{path}/memory.stat", "inactive_file ")   # which are bytes
            free = min(free, max(0, most - used + (0 if files == UNKNOWN else files // 1024)))
        if not path:
            return free
        path = path.rpartition("/")[0]


def _text(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def left(limit: Limit) -> int:
    """Bytes that a limit on this process leaves it; very many without a limit."""
    most = kibibytes("/proc/self/limits", limit.name)   # which are bytes
    return most if most == UNKNOWN else most // 1024 - kibibytes("/proc/self/status", limit.used)


def threads_with_room(count: int) -> int:
    """So many threads; one where a limit leaves less than they set aside."""
    return 1 if any(left(limit) < count * THREAD_BYTES for limit in LIMITS) else count


def kibibytes(path: str, name: str) -> int:
    """The number behind a name in a file of the system, taken as KiB."""
    try:
        with open(path, encoding="ascii") as lines:
            return next(int(line.removeprefix(name).split()[0]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration, ValueError):
        return UNKNOWN


def allow(what: str, needed: Callable[[Limit], int]) -> None:
    """MemoryError where a limit leaves less than what is to be done needs of what it counts: a library would end the process."""
    for limit in LIMITS:
        if (most := needed(limit)) > (free := left(limit)):
            raise MemoryError(f"{what} needs {amount(most)} of {limit.counts}, but the limit leaves {amount(max(free, 0))}"
                              f"\nhelp: raise it: {limit.raised_by} unlimited")


def exhausted() -> str | None:
    """A message where a limit leaves next to nothing: then anything fails, with any error."""
    for limit in LIMITS:
        if (free := left(limit)) < NEXT_TO_NOTHING:
            return f"not enough memory: the limit leaves {amount(max(free, 0))} of {limit.counts}" \
                   f"\nhelp: raise it: {limit.raised_by} unlimited"
    return None


class NoRoom(MemoryError, ImportError):
    """A library that is not loaded because it would not get what it takes. Who can do without it goes on, as where it is not
    installed."""


class RoomToLoad:
    """Refuses to load a library that the limits on this process leave no room for: a finder that finds nothing. It looks when the
    first part of the library is imported, as whether there is a library may always be asked."""

    def __init__(self) -> None:
        self.unseen = set(LIBRARIES)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        library, inner, _ = name.partition(".")
        if not inner or library not in self.unseen:
            return
        try:
            allow(library, lambda limit: limit.libraries[library])
        except MemoryError as refused:
            raise NoRoom(*refused.args) from None
        if library == THREADED:
            from adcli.codegen.machine.kernel import processors
            if not threads_left(needed := OWN_THREADS + 4 * processors()):
                raise NoRoom(f"{library} needs {needed} threads, but the system gives fewer\nhelp: raise the limit: ulimit -u")
        self.unseen.remove(library)


def threads_left(count: int) -> bool:
    """True where so many more threads can run at a time."""
    from adcli.codegen.machine.kernel import started  # ctypes with it, which not every run needs
    enough = threading.Event()
    threads = [threading.Thread(target=enough.wait, daemon=True) for _ in range(count)]
    try:
        return all(map(started, threads))
    finally:
        enough.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def watch_loading() -> None:
    """Look at every import of a large library. OpenBLAS takes memory for each thread, and nothing here multiplies matrices by
    it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, RoomToLoad())


def amount(size: int) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 10_000 or unit == "GiB":
            break
        size //= 1024
    return f"{size} {unit}"
