"""Up to tens of millions of rows through pipes, in pieces of random sizes with pauses: every byte as expected, in bounded memory.

The input is one block of rows again and again, so what must come out is the result of the block again and again, and that is
compared with NumPy once.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from harness import Command, Finding, Tell, announce

ABOUT = "up to 30 million rows through pipes in random pieces: every byte right, memory bounded"
BLOCK = 20_000
MOST_MEMORY = 600 << 20
"""Bytes of a run, however long its table is."""
OPTIONS = ((), ("--jobs", "1"), ("--jobs", "3"), ("--status",), ("--format", "json"), ("--fmt", "%.6g"), ("--on-error", "mark"))


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        blocks = int(10 ** r.uniform(0, 3.2))
        command = ("grad", "-e", "v = x*sin(y) + z", *r.choice(OPTIONS), "--", str(blocks), str(r.randrange(2**32)))
        announce("", command, counts)
        what = compared(command, lambda command=command: announce("", command, counts))
        counts["rows"] += blocks * BLOCK
        counts["runs"] += 1
        if what:
            tell(Finding("long_rows", 0, what, "", command))
    return counts


def replay(data: bytes, command: Command) -> str | None:
    return compared(command, lambda: None)


def compared(command: Command, beat: Callable[[], None]) -> str | None:
    """What is wrong with a run; `beat` is called while all is well."""
    at = command.index("--")
    args, blocks, r = command[:at], int(command[at + 1]), random.Random(int(command[at + 2]))
    head, body = block(r)
    first = subprocess.run([sys.executable, "-m", "adcli", *args], input=head + body, capture_output=True, check=True).stdout
    top, _, rest = (b"", b"", first) if first.startswith(b"{") else first.partition(b"\n")
    if "--fmt" not in args and "json" not in args and (what := differs(body, rest, "--status" in args or "mark" in args)):
        return what
    process = subprocess.Popen([sys.executable, "-m", "adcli", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    writer = threading.Thread(target=write, args=(process.stdin.fileno(), head, body, blocks, r), daemon=True)
    writer.start()
    what = read(process.stdout.fileno(), (top + b"\n" if top else b""), rest, blocks, random.Random(r.random()), beat)
    process.stdout.close()
    writer.join(10)
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if what is None and process.returncode:
        what = f"exit {process.returncode}"
    if what is None and used.ru_maxrss << 10 > MOST_MEMORY:
        what = f"it took {used.ru_maxrss >> 10} MiB of memory for {blocks * BLOCK} rows"
    return what


def block(r: random.Random) -> tuple[bytes, bytes]:
    """A header and rows, in which a field is passed on."""
    chance = np.random.default_rng(r.randrange(2**32))
    x = chance.standard_normal((BLOCK, 3)) * 10.0 ** chance.integers(-3, 4, (BLOCK, 3))
    words = [r.choice(("a", '"b,c"', "é", "", "7")) for _ in range(BLOCK)]
    return b"name,x,y,z\n", "".join(f"{w},{a!r},{b!r},{c!r}\n" for w, (a, b, c) in zip(words, x.tolist(), strict=True)).encode()


def differs(given: bytes, found: bytes, more: bool) -> str | None:
    """Where the results of the block are not NumPy's."""
    rows = [line.rsplit(b",", 7 + more)[1:8] for line in found.splitlines()]
    if len(rows) != BLOCK:
        return f"{len(rows)} rows for {BLOCK}"
    x, y, z, *made = np.array(rows, dtype=np.float64).T
    right = (x * np.sin(y) + z, np.sin(y), x * np.cos(y), np.ones(BLOCK))
    for name, a, b in zip(("v", "dv_dx", "dv_dy", "dv_dz"), made, right, strict=True):
        if not np.allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(x).max()):
            return f"{name} is not what NumPy has"
    return None


def write(pipe: int, head: bytes, body: bytes, blocks: int, r: random.Random) -> None:
    """The table in pieces of random sizes."""
    pieces = head + body
    try:
        for _ in range(blocks):
            at = 0
            while at < len(pieces):
                size = int(2 ** r.uniform(0, 22))
                at += os.write(pipe, pieces[at:at + size])
                if r.random() < 0.01:
                    time.sleep(0.01 * r.random())
            pieces = body
        os.close(pipe)
    except BrokenPipeError:
        os.close(pipe)


def read(pipe: int, top: bytes, rest: bytes, blocks: int, r: random.Random, beat: Callable[[], None]) -> str | None:
    """What does not come out as it should."""
    wanted, at, done = top + rest, 0, 0
    while data := os.read(pipe, int(2 ** r.uniform(8, 22))):
        while data:
            piece = wanted[at:at + len(data)]
            if data[:len(piece)] != piece or done == blocks:
                return f"other bytes in block {done} from byte {at}: {data[:100]!r}, not {piece[:100]!r}"
            data, at = data[len(piece):], at + len(piece)
            if at == len(wanted):
                wanted, at, done = rest, 0, done + 1
                beat()
        if r.random() < 0.001:
            time.sleep(0.02 * r.random())
    return None if done == blocks else f"{done} blocks came out of {blocks}"


