"""The long run: parts that try new inputs until their time is over, each in a process of its own, and what they found.

    tests/long/run [--minutes 15] [--seed N] [--save FOLDER] [PART …]      run them side by side; exit 1 if there are findings
    tests/long/run --list                                                  what parts there are
    tests/long/run --replay FILE                                           one finding once more; exit 1 if it still is one

A part is a module of this folder with

    ABOUT: str                                                             one line on what it tries
    def run(r: random.Random, until: float, tell: Tell) -> Counter[str]    tries, until time.monotonic() passes `until`
    def replay(data: bytes, command: Command) -> str | None                what is wrong with one input, if anything

`run` draws everything from `r`, announces each input before it runs it, tells what it finds, and returns how many inputs of
each kind it tried. `replay` is left out where an input alone does not bring a finding back. A process that dies, or says
nothing for LIMIT seconds, is a finding by itself: the input is the one announced last, and a fresh process goes on behind it.

A finding is a file of two parts: a line of JSON with the part, the command and what was wrong, then the bytes of the input. A
command is what the part makes of it; for the command line it is the words behind `adcli`, where a file that begins with
`input.` holds the input, and the input is standard input where there is none. Those in `findings` are replayed by the suite.
"""
from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import importlib
import json
import os
import random
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
FINDINGS = HERE / "findings"
START = 120.0
"""Seconds until a process has announced its first input."""
LIMIT = 120.0
"""Seconds of silence after which a process is taken to hang. An input has far less: a part measures its processor time."""
MEMORY = 6 << 30
"""Bytes of address space that the process of a part may have: small inputs that want more are findings, and no machine
goes down with them."""
SHOWN = 3
"""Findings alike that are printed and saved; the others are counted."""

Command = tuple[str, ...]
Tell = Callable[["Finding"], None]


@dataclass(frozen=True)
class Finding:
    """What was wrong with an input. `seed` is the seed of the whole run."""

    part: str
    seed: int
    what: str
    input: bytes | str
    command: Command

    @property
    def data(self) -> bytes:
        return self.input if isinstance(self.input, bytes) else self.input.encode("utf-8", "surrogatepass")

    @property
    def kind(self) -> str:
        """What findings alike have in common: the last line, without numbers and names."""
        last = self.what.strip().splitlines()[-1:] or [""]
        return re.sub(r"0x[0-9a-f]+|'[^']*'|-?\d[\d.]*(e[+-]?\d+)?", "#", last[0])[:200]

    def text(self) -> bytes:
        """The file of a finding."""
        head = {"part": self.part, "seed": self.seed, "command": list(self.command), "what": self.what}
        return json.dumps(head, ensure_ascii=True).encode() + b"\n" + self.data


def read_finding(path: Path) -> Finding:
    head, _, data = path.read_bytes().partition(b"\n")
    found = json.loads(head)
    return Finding(found["part"], found.get("seed", 0), found["what"], data, tuple(found["command"]))


def part(name: str) -> Any:
    """The module of a part."""
    return importlib.import_module(name)


def part_names() -> list[str]:
    """All modules of this folder are parts, but this one and the tests."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem != "harness" and not p.stem.startswith("test_"))


# ---------------------------------------------------------------- in the process of a part

_pipe: TextIO | None = None


def announce(data: bytes | str, command: Command = (), tried: Counter[str] | None = None) -> None:
    """Say what comes next, so that it is known if the process does not come back; with the counts so far."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    _say("next", [raw.decode("latin-1"), list(command)], tried)


def _say(word: str, content: object, tried: Counter[str] | None = None) -> None:
    if _pipe is not None:   # a part can be run without a parent, in a test
        print(json.dumps([word, content, tried]), file=_pipe, flush=True)


def work(name: str, seed: int, launch: int, until: float) -> None:
    """What the process of a part does."""
    global _pipe
    _pipe = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)   # what the work prints by mistake is not a message
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def tell(found: Finding) -> None:
        _say("found", [found.what, found.data.decode("latin-1"), list(found.command)])

    tried = part(name).run(random.Random(f"{seed}/{name}/{launch}"), until, tell)
    _say("end", None, tried)


# ---------------------------------------------------------------- around it

@dataclass
class Row:
    """What became of a part: a line of the table."""

    name: str
    tried: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    found: Counter[str] = field(default_factory=Counter)


class Run:
    """A long run: the parts, their seed, and what they have found so far."""

    def __init__(self, names: Sequence[str], seed: int, seconds: float, save: Path) -> None:
        self.rows, self.seed, self.seconds, self.save = {n: Row(n) for n in names}, seed, seconds, save
        self.ended, self.lock = threading.Event(), threading.Lock()

    def everything(self) -> None:
        """Run each part, as many at a time as there are processors, each as long as all have the same share."""
        processors = len(os.sched_getaffinity(0))
        jobs = list(self.rows) * max(1, processors // len(self.rows))
        share = min(self.seconds, self.seconds * processors / len(jobs))
        with ThreadPoolExecutor(processors) as pool:
            work = [pool.submit(self.one, name, share, i * 1000) for i, name in enumerate(jobs)]
            try:
                for each in work:
                    each.result()
            except BaseException:
                self.ended.set()
                pool.shutdown(cancel_futures=True)
                raise

    def one(self, name: str, seconds: float, launch: int) -> None:
        """Run a part for some seconds, with a fresh process behind each one that dies or hangs."""
        until, row = time.monotonic() + seconds, self.rows[name]
        while time.monotonic() < until and not self.ended.is_set():
            began, tried = time.monotonic(), self.process(name, until, launch)
            row.tried.update(tried)
            row.seconds += time.monotonic() - began
            launch += 1

    def process(self, name: str, until: float, launch: int) -> Counter[str]:
        """One process of a part; what it has tried."""
        command = [sys.executable, str(HERE / "run"), f"--work={name}", f"--seed={self.seed}", f"--launch={launch}",
                   f"--until={until}"]
        last, tried, end = ("", []), Counter[str](), ""
        with (tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as folder,
              subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, process_group=0,
                               cwd=folder, env={**os.environ, "ADCLI_CACHE_DIR": f"{folder}/cache"}) as child):
            try:
                for word, content, counts in messages(child, self.ended):
                    tried = Counter(counts) if counts is not None else tried
                    if word == "next":
                        last = content
                    elif word == "found":
                        self.note(Finding(name, self.seed, content[0], content[1].encode("latin-1"), tuple(content[2])))
                    else:
                        end = word
            finally:
                hung = child.poll() is None and not end
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                code = child.wait()
            if end or self.ended.is_set():
                return tried
            errors.seek(0)
            said = errors.read()[-3000:].decode("utf-8", "replace")
            what = f"no answer within {LIMIT:g} seconds" if hung else f"{said}\nthe process died with {code}"
            self.note(Finding(name, self.seed, what, last[0].encode("latin-1"), tuple(last[1])))
            if not tried and not last[1] and not last[0]:
                time.sleep(1)   # it does not even start; not a thousand times a second
        return tried

    def note(self, found: Finding) -> None:
        """Print and save a finding, unless there have been enough like it."""
        with self.lock:
            kinds = self.rows[found.part].found
            kinds[found.kind] += 1
            if kinds[found.kind] > SHOWN:
                return
            self.save.mkdir(parents=True, exist_ok=True)
            path = self.save / f"{found.part}-{hashlib.sha256(found.data + repr(found.command).encode()).hexdigest()[:8]}"
            path.write_bytes(found.text())
            print(f"{found.part} (seed {found.seed}): {shlex.join(found.command)}\n{found.what.strip()}\n"
                  f"again: tests/long/run --replay {path}\n", flush=True)

    def table(self) -> str:
        lines = [f"{'part':<16}{'seconds':>8}{'findings':>10}{'kinds':>7}  tried"]
        for row in self.rows.values():
            tried = ", ".join(f"{n:,} {kind}" for kind, n in sorted(row.tried.items()))
            lines.append(f"{row.name:<16}{row.seconds:>8.0f}{row.found.total():>10}{len(row.found):>7}  {tried}")
        return "\n".join(lines)

    @property
    def findings(self) -> int:
        return sum(row.found.total() for row in self.rows.values())


def messages(child: subprocess.Popen[bytes], ended: threading.Event) -> Iterator[Any]:
    """What a process says, as it comes; ends where it ends, where it is silent for too long, and where the run is over."""
    assert child.stdout is not None
    rest, end = b"", time.monotonic() + START
    while not ended.is_set() and time.monotonic() < end:
        if not select.select([child.stdout], [], [], 0.2)[0]:
            continue
        data = os.read(child.stdout.fileno(), 1 << 16)
        if not data:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LIMIT)
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from map(json.loads, whole)
        end = time.monotonic() + LIMIT


def replayed(path: Path) -> str | None:
    """What is wrong with a finding today; None if nothing is."""
    found = read_finding(path)
    again: str | None = part(found.part).replay(found.data, found.command)
    return again


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("tests/long/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="what to run; everything, if none is given")
    parser.add_argument("--minutes", type=float, default=15.0, help="how long the whole run takes (15)")
    parser.add_argument("--seed", type=int, help="what is drawn; a new one in every run, if not given")
    parser.add_argument("--save", type=Path, default=Path(tempfile.gettempdir()) / "adcli-findings", metavar="FOLDER",
                        help="where the files of findings go")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one finding once more")
    parser.add_argument("--list", action="store_true", help="what parts there are")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--launch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    names = part_names()
    if unknown := [n for n in given.parts if n not in names]:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(names)}")
    if given.work:
        work(given.work, given.seed, given.launch, given.until)
        return 0
    if given.list:
        print("\n".join(f"{n:<16}{part(n).ABOUT}" for n in names))
        return 0
    if given.replay:
        what = replayed(given.replay)
        print(what or "nothing is wrong with it")
        return int(what is not None)
    seed = int.from_bytes(os.urandom(6)) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    long = Run(given.parts or names, seed, given.minutes * 60, given.save)
    try:
        long.everything()
    except KeyboardInterrupt:
        print("interrupted")
    print(long.table())
    return int(long.findings > 0)
