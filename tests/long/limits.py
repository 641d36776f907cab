"""Runs that the system gives little to: memory, files, threads, executable pages, variables, places to write.

Each ends with the right answer, or with a message and the right exit code; what a run does not need, it is not to miss.
"""
from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import time
from collections import Counter
from typing import NamedTuple

from harness import Command, Finding, Tell, announce
from typical_runs import RUNS, Ended, Place, expected, tried

ABOUT = "little memory, few files, no threads, no executable memory, odd environments: an answer or a clean message"
NO_PYTHON = re.compile("Fatal Python error: .*init|error while loading shared libraries|cannot allocate memory in static TLS"
                       r'|\(most recent call last\):\n  File "<string>", line \d+, in <module>\nMemoryError')
"""What is said where Python itself, or the text that begins a run here, does not get as far as our code."""
NO_ALLOCATION = "no memory at allocation"


class Limit(NamedTuple):
    """What a run meets: limits of resources, a text that the process carries out before, changed variables (None: removed), a
    command in front. `harmless`: the answer must be there all the same; `exact`: with the same bits."""

    name: str
    resources: tuple[tuple[int, int], ...] = ()
    before: str = ""
    variables: tuple[tuple[str, str | None], ...] = ()
    front: tuple[str, ...] = ()
    harmless: bool = False
    exact: bool = True

    @property
    def kind(self) -> str:
        return self.name.rstrip("0123456789 ")


THREADS = """
import threading, _thread
make, left = _thread.start_new_thread, [0] * {}
def few(*given, **more):
    if not left:
        raise RuntimeError("can't start new thread")
    left.pop()
    return make(*given, **more)
_thread.start_new_thread = threading._start_new_thread = few
"""
NO_PAGES = "import ctypes; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)"
"""PR_SET_MDWE: what is writable is never executable."""
NO_FILES = "import os; os.memfd_create = lambda *given: os.open('/absent', 0)"
NO_MEMORY = "import _testcapi, adcli.__main__, adcli.main; _testcapi.set_nomemory({}, {})"
NO_PROC = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-")
NO_FOLDER = ("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "-")
HARMLESS = (
    Limit("no executable memory", before=NO_PAGES),
    Limit("/proc not mounted", front=NO_PROC, exact=False),   # where the processor's features are read
    Limit("no HOME", variables=(("HOME", None), ("ADCLI_CACHE_DIR", None), ("XDG_CACHE_HOME", None))),
    *(Limit("nowhere to keep code", variables=(("ADCLI_CACHE_DIR", where),)) for where in (
        "/proc/self/adcli", "/dev/null", "", "relative", "/sys/adcli", "/etc/passwd/adcli")),
    Limit("no TMPDIR", variables=(("TMPDIR", "/absent"),)),
    *(Limit("a locale", variables=(("LC_ALL", locale), ("PYTHONUTF8", utf8), ("PYTHONCOERCECLOCALE", "0"))) for locale in (
        "C", "POSIX", "tr_TR.UTF-8", "tr_TR", "de_DE.ISO-8859-1", "nonsense", "") for utf8 in ("0", "1")),
    *(Limit("Python's switches", variables=((name, value),)) for name, value in (
        ("PYTHONOPTIMIZE", "1"), ("PYTHONOPTIMIZE", "2"), ("PYTHONMALLOC", "debug"), ("PYTHONDEVMODE", "1"),
        ("PYTHONHASHSEED", "1"), ("PYTHONUNBUFFERED", "1"), ("PYTHONSAFEPATH", "1"), ("PYTHONINTMAXSTRDIGITS", "640"),
        ("PYTHONIOENCODING", "ascii"))),
    *(Limit("a terminal", variables=(("TERM", term), ("COLUMNS", columns))) for term in ("dumb", "", "nonsense") for columns in (
        "1", "0", "-1", "1000000", "x")),
    Limit("a stack without end", resources=((resource.RLIMIT_STACK, resource.RLIM_INFINITY),)),
    *(Limit(f"threads: {n}", before=THREADS.format(n)) for n in range(6)),
)
"""What no run needs."""


def drawn(r: random.Random) -> Limit:
    """A limit at random: of memory as often as all others together."""
    k = int(2 ** r.uniform(14.6, 22))   # 25 MB to 4 GB
    match r.randrange(15):
        case 0 | 1 | 2:
            return Limit(f"ulimit -v {k}", ((resource.RLIMIT_AS, k << 10),))
        case 3:
            return Limit(f"ulimit -d {k}", ((resource.RLIMIT_DATA, k << 10),))
        case 4 | 5 | 6:
            at = int(10 ** r.uniform(0, 6))
            return Limit(f"{NO_ALLOCATION} {at}", before=NO_MEMORY.format(at, at + r.choice((1, 1, 1, 10, 10**6))))
        case 7:
            n = r.choice((0, 1, 100, 4096, 8192, 100_000, 250_000))
            return Limit(f"ulimit -f {n}", ((resource.RLIMIT_FSIZE, n),))
        case 8:
            n = r.randrange(5, 40)
            return Limit(f"ulimit -n {n}", ((resource.RLIMIT_NOFILE, n),))
        case 9:
            return Limit("neither executable memory nor files of memory", before=f"{NO_PAGES}; {NO_FILES}", exact=False)
        case 10:
            return Limit("a folder that is no more", front=NO_FOLDER)
        case _:
            return r.choice(HARMLESS)._replace(harmless=True)


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    """A run and a limit, drawn at random."""
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        command = (r.choice(sorted(RUNS)), r.choice(("cold", "warm")), r.choice(("new", "old")), str(r.randrange(2**32)))
        limit = drawn(random.Random(int(command[3])))
        announce("", command, counts)
        what = replay(b"", command)
        counts[limit.kind] += 1
        if what:
            tell(Finding("limits", 0, f"{limit.name} {dict(limit.variables) or ''}\n{what}", "", command))
    return counts


def replay(data: bytes, command: Command) -> str | None:
    name, state, file, seed = command
    limit = drawn(random.Random(int(seed)))

    def go(p: Place) -> Ended:
        environment = {k: v for k, v in {**p.environment(), **dict(limit.variables)}.items() if v is not None}
        try:
            ended = p.go(RUNS[name], [*limit.front, *RUNS[name].command(limit.before)], env=environment, preexec_fn=bounded)
        except subprocess.TimeoutExpired:
            raise
        except (OSError, subprocess.SubprocessError):   # no process starts
            return expected(name)
        if limit.kind == NO_ALLOCATION:   # where it cannot raise what is injected, Python says so
            ended = ended._replace(err=re.sub(r"Exception ignored .*\n(.*\n)?MemoryError.*\n", "", ended.err))
        parquet = "polars needs" in ended.err   # which nothing else writes
        return expected(name) if parquet or NO_PYTHON.search(ended.err) else ended

    def bounded() -> None:
        for which, most in limit.resources:
            resource.setrlimit(which, (most, most))

    if name == "help" and limit.kind == "a terminal":
        return None   # its width is asked for
    if limit.front is NO_PROC and os.system(" ".join([*limit.front[:2], "true", "2>/dev/null"])):
        return None   # no namespaces here
    return tried(name, state == "warm", file == "old", go, exact=limit.exact, harmless=limit.harmless)
