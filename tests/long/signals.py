"""Signals at random instants of a run, and runs that race for one entry of the cache.

A run that is stopped goes on as if nothing had been; one that is ended leaves no half of a file under the user's name, and a
cache that the next run gets the right answer with. Signals come after Python's own start.
"""
from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from harness import Command, Finding, Tell, announce
from typical_runs import RUNS, Ended, Place, Run, expected, tried, wrong

ABOUT = "signals at random instants, and processes that race for one entry of the cache"
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGPIPE", "SIGXCPU")
PASSING = ("SIGTSTP", "SIGSTOP", "SIGWINCH", "SIGCHLD", "SIGURG", "SIGCONT")
"""Signals that a run takes no notice of; one that stops is followed by SIGCONT."""
STOP = "import adcli.__main__, os, _signal; _signal.signal(2, _signal.SIG_DFL); os.kill(os.getpid(), 19)"


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        name, state = r.choice(sorted(RUNS)), r.choice(("cold", "warm"))
        if r.random() < 0.1:
            command: Command = ("race", name, state, str(r.randint(2, 10)), str(r.randrange(2**32)))
        else:
            seconds = r.choice((0.1, 0.5, 1.5)) * r.random()
            command = (r.choice(ENDING * 2 + PASSING), name, state, r.choice(("new", "old")), f"{seconds:.4f}")
        announce("", command, counts)
        what = replay(b"", command)
        counts[command[0]] += 1
        if what:
            tell(Finding("signals", 0, what, "", command))
    return counts


def replay(data: bytes, command: Command) -> str | None:
    kind, name, state, *more = command
    if kind == "race":
        return tried(name, state == "warm", False, lambda p: race(p, name, int(more[0]), random.Random(int(more[1]))))
    number = signal.Signals[kind]
    return tried(name, state == "warm", more[0] == "old", lambda p: signalled(p, RUNS[name], number, float(more[1])),
                 signals=(number,) if kind in ENDING else ())


def signalled(p: Place, r: Run, number: int, seconds: float) -> Ended:
    """A run that gets a signal so many seconds after its start."""
    with started(p, r) as (process, out, err):
        time.sleep(seconds)
        process.send_signal(number)
        if number in (signal.SIGTSTP, signal.SIGSTOP):
            time.sleep(seconds / 4)
            process.send_signal(signal.SIGCONT)
        code = process.wait(timeout=90)
        return p.ended(r, code, out(), err())


@contextmanager
def started(p: Place, r: Run) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], bytes], Callable[[], bytes]]]:
    """A process at the first line of adcli, and what it has written."""
    with (tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
          (p.work / r.stdin if r.stdin else Path(os.devnull)).open("rb") as given):
        process = subprocess.Popen(r.command(STOP), cwd=p.work, env=p.environment(), stdin=given, stdout=out, stderr=err)

        def written(file: BinaryIO) -> bytes:
            file.seek(0)
            return file.read()

        try:
            os.waitpid(process.pid, os.WUNTRACED)
            process.send_signal(signal.SIGCONT)
            yield process, partial(written, out), partial(written, err)
        finally:
            process.kill()
            process.wait()


def race(p: Place, name: str, count: int, chance: random.Random) -> Ended:
    """Some runs at once in one place, some of which are killed; how the first ended that does not end well, else the last."""
    r = RUNS[name]
    ends: list[Ended] = []
    with ExitStack() as stack:
        begun = [stack.enter_context(started(p, r)) for _ in range(count)]
        killed = [process for process, *_ in begun[1:] if chance.random() < 0.3]
        for process in killed:
            time.sleep(0.2 * chance.random())
            process.kill()
        for process, out, err in begun:
            code = process.wait(timeout=90)
            if process not in killed:
                ends.append(Ended(code, out(), err().decode("utf-8", "replace"), expected(name).file, ()))
    last = p.ended(r, ends[-1].code, ends[-1].out, ends[-1].err.encode())
    left = tuple(n for n in last.left if not (killed and (n.endswith(".part") or n.startswith("tmp"))))
    return next((e for e in ends if wrong(name, e, False)), last._replace(left=left))
