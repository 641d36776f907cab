"""What people run all day, as processes of their own in folders of their own, and what is wrong with how one ended.

Whatever the system refuses to a run (memory, files, threads, calls) and whoever ends it, there are three ways for it to end: the
right answer, a message with the right exit code, or the signal. Nothing that lies under the user's name is ever half of a file,
nothing else is left behind, and the cache has whole entries.
"""
from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from adcli.codegen.machine import cache as kept

ROWS = 3000
SCRIPT = """
import pickle
import numpy as np
import adcli
f = adcli.compile("v = x*sin(y)")
g = pickle.loads(pickle.dumps(f)).grad()
print(g(x=2.0, y=5.0))
print(float(g(x=np.linspace(0, 1, 100000), y=2.0, jobs=2)["dv_dy"].sum()))
print(adcli.compile("input A(M, N)\\nv +=! A(i, j)*A(i, j)").grad()(A=[[1.0, 2.0]]))
"""
"""The same from Python."""
PROGRAM = "v = x*sin(y)\nw = v > 0 ? log(x) : exp(-y*y)\n"
TENSORS = "input A(M, N), b(N)\nc(i) +=! A(i, j)*b(j)\nv +=! tanh(c(i))\n"
GIVEN = ("rows.csv", "f.ad", "t.ad", "A.npz", "script.py")
"""The files that every folder has."""
OLD = b"old"
STARTED = """
import runpy, sys
{}
if sys.argv[1] == "-m":
    del sys.argv[1:3]
    from adcli.__main__ import main
    main()
else:
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The same as Python's own -m and a script, after a text."""
NUMBER = re.compile(r"-?\b\d+\.\d+(?:e[+-]?\d+)?")
UNSAYABLE = re.compile(r"Traceback|internal error|Exception ignored|Fatal Python|LLVM ERROR|terminate called|Error:")
"""What no message of adcli has in it."""


class Run(NamedTuple):
    """A command line without `adcli`, or a script; what it is given, and the file it writes."""

    args: tuple[str, ...]
    stdin: str | None = None
    out: str | None = None

    @property
    def of_command(self) -> bool:
        return not self.args[0].endswith(".py")

    def command(self, before: str = "") -> list[str]:
        """As a process of this Python, which carries out a text `before` that."""
        if before:
            return [sys.executable, "-c", STARTED.format(before), *(("-m", "adcli") if self.of_command else ()), *self.args]
        return [sys.executable, *(("-m", "adcli") if self.of_command else ()), *self.args]


def run(line: str, stdin: str | None = None, out: str | None = None) -> Run:
    return Run((*line.split(), *(("-o", out) if out else ())), stdin, out)


RUNS = {
    "point": run("grad f.ad --at x=2,y=5"),
    "formula": run("eval -e x*x --at x=3 --format json"),
    "grid": run("grad f.ad --at x=1:2:50,y=0:1:40 --format csv"),
    "rows": run("grad f.ad --data rows.csv"),
    "rows from a pipe": run("grad f.ad", stdin="rows.csv"),
    "rows, two jobs": run("grad f.ad --data rows.csv --jobs 2 --status"),
    "rows to csv": run("grad f.ad --data rows.csv", out="r.csv"),
    "rows to gz": run("grad f.ad --data rows.csv", out="r.csv.gz"),
    "rows to json": run("grad f.ad --data rows.csv", out="r.json"),
    "rows to parquet": run("grad f.ad --data rows.csv", out="r.parquet"),
    "grid to npz": run("grad f.ad --at x=1:2:50,y=0:1:40", out="r.npz"),
    "grid to parquet": run("grad f.ad --at x=1:2:50,y=0:1:40", out="r.parquet"),
    "tensors": run("grad t.ad --at A=@A.npz,b=@A.npz"),
    "tensors to npz": run("vjp t.ad --at A=@A.npz,b=@A.npz", out="r.npz"),
    "check": run("check f.ad --at x=2,y=5 -q"),
    "why": run("why -e v=sqrt(x)**2 --at x=0 --limit"),
    "trace": run("trace f.ad --at x=2,y=5 --tangent x=1"),
    "monte carlo": run("propagate f.ad --at x=2±0.1,y=0.5±2% --monte-carlo 1e5 --format json"),
    "digits": run("grad f.ad --at x=2,y=5 --digits"),
    "enclose": run("grad f.ad --at x=2,y=5 --enclose"),
    "program": run("grad f.ad --emit text", out="r.ad"),
    "llvm": run("grad f.ad --emit llvm"),
    "object": run("grad f.ad --emit object", out="r.o"),
    "help": run("help rows"),
    "api": Run(("script.py",)),
}


class Ended(NamedTuple):
    """How a run ended: exit code (negative for a signal), what it wrote, its file, and what else lies there now."""

    code: int
    out: bytes
    err: str
    file: bytes | None
    left: tuple[str, ...]


class Place(NamedTuple):
    """A folder to run in, a cache, and a folder for temporary files."""

    work: Path
    cache: Path
    temporary: Path

    def environment(self) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "ADCLI", "PYTHON"))}
        return {**own, "ADCLI_CACHE_DIR": str(self.cache), "TMPDIR": str(self.temporary), "POLARS_MAX_THREADS": "2",
                "PYTHONDONTWRITEBYTECODE": "1"}   # Python renames what a full disk left of one

    def ended(self, r: Run, code: int, out: bytes, err: bytes) -> Ended:
        """After the process: what it left, which is removed, so that the place is as new but for its cache."""
        file = (self.work / r.out).read_bytes() if r.out and (self.work / r.out).exists() else None
        left = [p for folder in (self.work, self.temporary) for p in folder.iterdir() if p.name not in (*GIVEN, r.out)]
        if r.out:
            (self.work / r.out).unlink(missing_ok=True)
        for path in left:
            path.unlink()
        return Ended(code, out, err.decode("utf-8", "replace"), file, tuple(p.name for p in left))

    def go(self, r: Run, command: Sequence[str] | None = None, timeout: float = 90, **popen: object) -> Ended:
        """Run to its end. TimeoutExpired where it has none."""
        stdin = (self.work / r.stdin).open("rb") if r.stdin else subprocess.DEVNULL
        popen.setdefault("env", self.environment())
        done = subprocess.run(command or r.command(), cwd=self.work, stdin=stdin, capture_output=True, timeout=timeout,
                              check=False, **popen)   # type: ignore[call-overload]  # whatever Popen takes
        return self.ended(r, done.returncode, done.stdout, done.stderr)


@contextmanager
def place(warm_from: Path | None = None) -> Iterator[Place]:
    """A new place; its cache is a copy of `warm_from`, or not there."""
    with tempfile.TemporaryDirectory() as folder:
        made = Place(Path(folder, "work"), Path(folder, "cache"), Path(folder, "tmp"))
        made.work.mkdir()
        made.temporary.mkdir()
        fill(made.work)
        if warm_from is not None:
            shutil.copytree(warm_from, made.cache)
        yield made


def fill(folder: Path) -> None:
    """The files that runs read."""
    chance = np.random.default_rng(1)
    lines = (f"{i},{x!r},{y!r}" for i, (x, y) in enumerate(chance.uniform(0.1, 3, (ROWS, 2)).tolist()))
    (folder / "rows.csv").write_text("id,x,y\n" + "\n".join(lines) + "\n")
    (folder / "f.ad").write_text(PROGRAM)
    (folder / "t.ad").write_text(TENSORS)
    (folder / "script.py").write_text(SCRIPT)
    np.savez(folder / "A.npz", A=chance.standard_normal((20, 30)), b=chance.standard_normal(30))


@cache
def expected(name: str) -> Ended:
    """How a run ends that nothing is refused to; the same again with its code in the cache."""
    with place() as p:
        first, again = (p.go(RUNS[name]) for _ in range(2))
        kept_here = Path(tempfile.mkdtemp())
        _WARM[name] = kept_here
        atexit.register(shutil.rmtree, kept_here, True)
        if p.cache.exists():
            shutil.copytree(p.cache, kept_here, dirs_exist_ok=True)
    same = (first.code, first.out, first.file) == (again.code, again.out, again.file)
    assert same and first.code == 0 and not first.left, (name, first, again)
    return first


_WARM: dict[str, Path] = {}


def warm_cache(name: str) -> Path:
    """A cache that has the code of a run."""
    expected(name)
    return _WARM[name]


def tried(name: str, warm: bool, old: bool, go: Callable[[Place], Ended], signals: Sequence[int] = (), exact: bool = True,
          harmless: bool = False) -> str | None:
    """What is wrong with a run that `go` carries out, if anything.

    `warm`: its code is in the cache. `old`: a file stands where it writes. `signals` may end it. Without `exact` numbers may
    differ in their last digits. `harmless`: it must have the answer. What it left in the cache is whole, and the run after it is
    right.
    """
    expected(name)
    with place(warm_cache(name) if warm else None) as p:
        if old and RUNS[name].out:
            (p.work / str(RUNS[name].out)).write_bytes(OLD)
        try:
            ended = go(p)
        except subprocess.TimeoutExpired:
            return "it hangs"
        what = wrong(name, ended, old, signals, exact)
        if what is None and harmless and ended.code:
            what = "it is refused what it does not need"
        if what is None and (bad := unsound(p.cache)):
            what = f"it leaves {bad[0]} in the cache, not whole"
        if what is None and not warm:
            after, want = p.go(RUNS[name]), expected(name)
            if (after.code, after.out, after.err, after.file) != (0, want.out, want.err, want.file):
                what = f"the run after it is another: {after.code} {after.err[-1500:]}"
        return what and f"{what}\nexit {ended.code}, {ended.err[-1500:]!r}, {ended.out[:200]!r}"


def wrong(name: str, ended: Ended, old: bool, signals: Sequence[int] = (), exact: bool = True) -> str | None:
    """What is wrong with how a run ended; see `tried`."""
    want, r = expected(name), RUNS[name]
    answered = ended.code == 0 and same(ended.out, want.out, exact) and same(ended.file, want.file, exact)
    if not r.of_command:   # Python's own words, for whatever Python was refused
        return None if answered or ended.code in (1, 2, 120) or -ended.code in signals else f"it ends with {ended.code}"
    if "SystemError: error return without exception set" in ended.err:   # Python itself, out of memory
        return None
    if said := UNSAYABLE.search(ended.err):
        return f"it says '{said[0]}'"
    if ended.code not in (0, 1, 2, 3, 4, 5, 130, *(-s for s in signals)) or (ended.code == 130 and signal.SIGINT not in signals):
        return f"it ends with {ended.code}"
    if left := [n for n in ended.left if ended.code >= 0 or n.endswith(r.out or "\0")]:   # who is killed cannot clean up
        return f"it leaves {', '.join(left)}"
    if ended.code == 0:
        return None if answered else "it gives another answer"
    if r.out and ended.file != (OLD if old else None) and not same(ended.file, want.file, exact):
        return f"it leaves half a file ({len(ended.file or b'')} bytes)"
    if not want.out.startswith(ended.out):
        return "it prints something else before it fails"
    if ended.code in (1, 2, 3, 4, 5) and not ended.err.strip():
        return f"it ends with {ended.code} without a word"
    return None


def same(a: bytes | None, b: bytes | None, exact: bool) -> bool:
    """Whether two outputs are the same; without `exact` texts whose numbers are near, and any binary file."""
    if exact or a is None or b is None or a == b:
        return a == b
    if b"\0" in b[:1000]:
        return True
    numbers = [[float(x) for x in NUMBER.findall(each.decode())] for each in (a, b)]
    return NUMBER.sub("#", a.decode()) == NUMBER.sub("#", b.decode()) and bool(np.allclose(*numbers, rtol=1e-9, equal_nan=True))


def unsound(folder: Path) -> list[str]:
    """The entries of a cache that are not whole."""
    every = {p.name: p.read_bytes() for p in folder.glob("*" + kept.SUFFIX)} if folder.exists() else {}
    return [name for name, data in every.items() if kept.content(data, name.removesuffix(kept.SUFFIX)) is None]
