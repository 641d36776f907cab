"""A fault of the system at every call that a run makes after Python's own start."""
from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness import Command, Finding, Tell, announce
from typical_runs import RUNS, Ended, Place, place, tried, warm_cache

ABOUT = "a refused system call, every kind at every place: the right answer or a clean message"
STOP = "import adcli.__main__, os; os.kill(os.getpid(), 19)"
ATTACHED = re.compile(r"Process \d+ attached")
CALL = re.compile(r"(\d+) +(?:\d+\.\d+ )?(\w+)\(")
FAULTS = {call: errors.split() for call, errors in {
    "openat": "EIO EACCES EMFILE ENFILE ENOMEM ENOSPC EROFS ELOOP EINTR", "read": "EIO EINTR EISDIR ENOMEM",
    "pread64": "EIO EINTR", "readv": "EIO", "write": "EIO ENOSPC EDQUOT EFBIG EINTR EAGAIN", "pwrite64": "EIO ENOSPC EDQUOT",
    "writev": "EIO ENOSPC", "close": "EIO EINTR ENOSPC EDQUOT", "lseek": "EINVAL ESPIPE EOVERFLOW",
    "newfstatat": "EACCES ENOMEM EIO ELOOP ENOENT", "fstat": "EIO ENOMEM", "statx": "EIO ENOMEM", "ioctl": "EIO ENOTTY",
    "fcntl": "EIO EINVAL EPERM", "getdents64": "EIO ENOMEM", "rename": "EIO ENOSPC EDQUOT EBUSY EACCES EXDEV EROFS",
    "renameat": "EIO ENOSPC EACCES", "linkat": "EIO ENOSPC EDQUOT EPERM EEXIST ENOENT", "unlink": "EIO EACCES EROFS",
    "unlinkat": "EIO EACCES", "mkdir": "EIO ENOSPC EACCES EROFS", "chmod": "EPERM EIO", "utimensat": "EPERM EIO",
    "ftruncate": "EIO ENOSPC", "mmap": "ENOMEM EPERM EAGAIN", "mremap": "ENOMEM", "mprotect": "ENOMEM EACCES",
    "madvise": "ENOMEM EINVAL", "memfd_create": "ENOMEM ENOSYS", "clone3": "EAGAIN ENOMEM ENOSYS", "clone": "EAGAIN ENOMEM",
    "sched_getaffinity": "EINVAL", "getrandom": "EINTR", "getcwd": "ENOENT", "statfs": "EIO", "prlimit64": "EPERM",
    "sysinfo": "EFAULT", "readlink": "EIO EACCES", "pselect6": "EINTR", "epoll_create1": "EMFILE", "eventfd2": "EMFILE",
    "pipe2": "EMFILE", "access": "EACCES",
}.items()}
"""Calls, and the errors that each may have. (brk says in another way that there is no memory.)"""


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    """A call and a place in a run, drawn at random: rare calls as often as those that there are thousands of."""
    counts: Counter[str] = Counter()
    if skipped := unavailable():
        return Counter({skipped: 1})
    while time.monotonic() < until:
        name, state = r.choice(sorted(RUNS)), r.choice(("cold", "warm"))
        found = calls(name, state == "warm")
        for _ in range(8):
            call = r.choice(sorted(found))
            error, at = r.choice(FAULTS[call]), r.randint(1, found[call])
            ever = "+" if error != "EINTR" and r.random() < 0.25 else ""
            command = (name, state, r.choice(("new", "old")), f"{call}:error={error}:when={at}{ever}")
            announce("", command, counts)
            what = replay(b"", command)
            counts[call] += 1
            if what:
                tell(Finding("system_calls", 0, what, "", command))
            if time.monotonic() > until:
                break
    return counts


def replay(data: bytes, command: Command) -> str | None:
    name, state, file, inject = command
    call = inject.partition(":")[0]

    def go(p: Place) -> Ended:
        ended = traced(p, name, ["-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={inject}"])
        if call.startswith("unlink"):
            return ended._replace(left=())
        return ended._replace(err=ended.err or "not even this") if call.startswith("write") else ended

    return tried(name, state == "warm", file == "old", go)


def unavailable() -> str:
    """Why nothing can be tried here, if so."""
    if shutil.which("strace") is None:
        return "skipped: no strace"
    try:
        with place() as p:
            traced(p, "formula", [])
    except (OSError, subprocess.TimeoutExpired, RuntimeError) as error:
        return f"skipped: strace may not attach ({error})"
    return ""


COUNTS: dict[tuple[str, bool], dict[str, int]] = {}


def calls(name: str, warm: bool) -> dict[str, int]:
    """The calls of a run after Python's start, the most that one of its threads makes."""
    if (name, warm) not in COUNTS:
        per: Counter[tuple[str, str]] = Counter()
        with place(warm_cache(name) if warm else None) as p, tempfile.NamedTemporaryFile("r", errors="replace") as log:
            traced(p, name, ["-o", log.name])
            per.update((m[2], m[1]) for m in map(CALL.match, log) if m)
        COUNTS[name, warm] = {}
        for (call, _), n in per.items():
            if call in FAULTS:
                COUNTS[name, warm][call] = max(n, COUNTS[name, warm].get(call, 0))
    return COUNTS[name, warm]


def traced(p: Place, name: str, options: list[str]) -> Ended:
    """A run that strace is attached to before the first line of adcli."""
    r = RUNS[name]
    with (tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
          (p.work / r.stdin if r.stdin else Path(os.devnull)).open("rb") as given):
        process = subprocess.Popen(r.command(STOP), cwd=p.work, env=p.environment(), stdin=given, stdout=out, stderr=err)
        try:
            os.waitpid(process.pid, os.WUNTRACED)
            strace = subprocess.Popen(["strace", "-f", "-p", str(process.pid), *(options or ["-o", os.devnull])],
                                      stderr=subprocess.PIPE, text=True)
            assert strace.stderr is not None
            if not ATTACHED.search(line := strace.stderr.readline()):
                raise RuntimeError(line.strip())
            os.kill(process.pid, signal.SIGCONT)
            code = process.wait(timeout=90)
        finally:
            process.kill()
            process.wait()
        strace.communicate(timeout=10)
        out.seek(0)
        err.seek(0)
        return p.ended(r, code, out.read(), err.read())
