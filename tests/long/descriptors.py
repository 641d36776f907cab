"""Standard streams that are closed, full, broken, of the wrong kind or not waited for, in random combinations with runs.

A run ends with an answer or a message, and where its file or its standard output is in order and it ends well, all of the answer
is there.
"""
from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
import time
from collections import Counter
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path

from harness import Command, Finding, Tell, announce
from typical_runs import RUNS, UNSAYABLE, Place, expected, place, warm_cache

ABOUT = "standard streams closed, full, broken or of the wrong kind, in random combinations with runs"
KINDS = ("in order", "closed", "/dev/null", "/dev/full", "broken pipe", "read-only", "write-only", "a folder", "not waited for",
         "a terminal")
OPTIONS = ((), (), ("--status",), ("-q",), ("--no-cache",), ("--format", "json"), ("--jobs", "2"), ("-o", "/dev/stdout"),
           ("-o", "/dev/stderr"), ("-o", "/dev/fd/2"), ("-o", "-"), ("--help",))


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        streams = [r.choice(KINDS) if r.random() < 0.6 else "in order" for _ in range(3)]
        name = r.choice(sorted(n for n in RUNS if RUNS[n].of_command))
        command = (name, r.choice(("cold", "warm")), *streams, *r.choice(OPTIONS))
        announce("", command, counts)
        what = replay(b"", command)
        for kind in streams:
            counts[kind] += 1
        if what:
            tell(Finding("descriptors", 0, what, "", command))
    return counts


def replay(data: bytes, command: Command) -> str | None:
    name, state, *rest = command
    with place(warm_cache(name) if state == "warm" else None) as p:
        return attempt(p, name, rest[:3], tuple(rest[3:]))


def attempt(p: Place, name: str, kinds: list[str], options: tuple[str, ...]) -> str | None:
    r, want = RUNS[name], expected(name)
    with contextlib.ExitStack() as stack:
        files = [p.work / r.stdin if r.stdin else p.temporary / "stream0", p.temporary / "stream1", p.temporary / "stream2"]
        found = [handle(kind, i, files[i], stack) for i, kind in enumerate(kinds)]

        def join() -> None:
            moved = [None if each is None else fcntl(each, F_DUPFD_CLOEXEC, 100) for each in found]
            for i, each in enumerate(moved):
                if each is None:
                    os.close(i)
                else:
                    os.dup2(each, i)

        process = subprocess.Popen([*r.command(), *options], cwd=p.work, env=p.environment(), preexec_fn=join)
        try:
            code = process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "it hangs"
    out, err = (each.read_bytes() if each.exists() else b"" for each in files[1:])
    for each in files[1:]:
        each.unlink(missing_ok=True)
    ended = p.ended(r, code, out, err)
    shown = f"exit {code}, {ended.err[-1500:]!r}, {out[:200]!r}"
    if "init_sys_streams" in ended.err:
        return None   # Python itself takes no folder for a stream
    if code not in (0, 1, 2, 3, 4, 5):
        return f"it ends with {code}\n{shown}"
    if said := UNSAYABLE.search(ended.err):
        return f"it says '{said[0]}'\n{shown}"
    if ended.left:
        return f"it leaves {', '.join(ended.left)}\n{shown}"
    if code == 0 and not options and not r.stdin:
        if kinds[1] == "in order" and out != want.out:
            return f"it ends well without its output\n{shown}"
        if ended.file != want.file:
            return f"it ends well without its file\n{shown}"
        if kinds[1] in ("closed", "/dev/full", "read-only", "a folder") and want.out:
            return f"it ends well though its output went nowhere\n{shown}"
    return None


def handle(kind: str, i: int, file: Path, stack: contextlib.ExitStack) -> int | None:
    """A descriptor of a kind, None for a closed one."""
    def keep(handle: int) -> int:
        stack.callback(os.close, handle)
        return handle

    match kind:
        case "closed":
            return None
        case "in order":
            if i:
                return keep(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            return keep(os.open(file if file.exists() else os.devnull, os.O_RDONLY))
        case "/dev/null" | "/dev/full":
            return keep(os.open(kind, os.O_RDWR))
        case "broken pipe":
            read, write = os.pipe()
            os.close(write if i == 0 else read)
            return keep(read if i == 0 else write)
        case "read-only":
            return keep(os.open(os.devnull, os.O_RDONLY))
        case "write-only":
            return keep(os.open(os.devnull, os.O_WRONLY))
        case "a folder":
            return keep(os.open("/", os.O_RDONLY))
        case "not waited for":
            read, write = os.pipe()
            os.set_blocking(write if i else read, False)
            other, own = (write, read) if i == 0 else (read, write)
            threading.Thread(target=closed_later if i == 0 else drained, args=(other,), daemon=True).start()
            return keep(own)
        case _:
            main, own = os.openpty()
            threading.Thread(target=drained, args=(main,), daemon=True).start()
            return keep(own)


def closed_later(other: int) -> None:
    """Nothing is written to the other end for a while, then it is closed."""
    time.sleep(0.2)
    os.close(other)


def drained(other: int) -> None:
    """What is written to the other end of a terminal or a pipe is taken; once nobody has that open any more, it is closed."""
    with contextlib.suppress(OSError):
        while os.read(other, 1 << 16):
            time.sleep(0.001)   # so that the end which does not wait is full at times
    os.close(other)
