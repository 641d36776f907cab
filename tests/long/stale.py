"""Versions of adcli that share a cache: files of equal sizes and times and other content, processors with other features.

The law: what a version answers from a cache that others have filled is what it answers without one.
"""
from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness import Command, Finding, Tell, announce
from places import ROOT

ABOUT = "versions of equal sizes and times, and other processors, that share one cache"
PLACES = ("lang/ir/primitives.py", "lang/modes/reverse.py", "lang/simplify/simplify.py", "codegen/rows/instructions.py",
          "lang/prelude/elementary.ad", "codegen/loops/bodies.py", "lang/derive/derivatives.py", "adcli/task/derive.py")
SMALL = re.compile(r"(?<=[ (])[0-9](?=[ ),])|(?<= )[+*-](?= )|(?<=\()-(?=\w)")
"""What another version may have otherwise: a digit, an operator."""
LINES = ("grad -e v=tan(x)*softplus(y) --at x=0.3,y=2", "grad -e v=atan2(x,y)+x/y --at x=0.3,y=2",
         "hessian -e v=exp(x)*y --at x=1,y=2", "grad t.ad --at A=[[1,2],[3,4]]", "jvp -e v=hypot(x,y) --at x=3,y=4 --tangent x=1",
         f"minimize m.ad --at x={[0.5] * 12} --subject-to c<=2".replace(", ", ","))
RUN = "import sys; sys.path[:0] = [sys.argv.pop(1)]; {}from adcli.__main__ import main; main()"
OTHER = "from adcli.codegen.machine import veclib; veclib.processor = lambda: {!r}; "


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        command = (r.choice(LINES), str(r.randrange(2**32)))
        announce("", command, counts)
        what = replay(b"", command)
        counts["versions"] += 2
        if what:
            tell(Finding("stale", 0, what, "", command))
    return counts


def replay(data: bytes, command: Command) -> str | None:
    line, r = command[0].split(), random.Random(int(command[1]))
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder, name) for name in ("a", "b")]
        (Path(folder) / "t.ad").write_text("input A(M, N)\nv +=! A(i, j)*tanh(A(i, j))\n")
        (Path(folder) / "m.ad").write_text("input x(N)\nv +=! (x(i+1) - x(i)**2)**2 + exp(x(i))\nc +=! x(i)**2\noutput v, c\n")
        for tree in trees:
            install(tree)
        changed = edit(trees[1], r)
        for tree in trees:
            plain(tree)
        answers = [go(folder, tree, line, cache="none") for tree in trees]   # a relative path is no cache
        order = [*r.choices((0, 1), k=2), 0, 1]
        for i in order:
            if (found := go(folder, trees[i], line)) != answers[i]:
                return f"{changed}: version {i} of {order} answers {found} with a cache and {answers[i]} without one"
        kept = len(list(Path(folder, "cache").glob("*")))
        go(folder, trees[0], line, processor="another one")
        if answers[0][0] == 0 and len(list(Path(folder, "cache").glob("*"))) == kept and kept:
            return "another processor ran the same entry"
    return None


def install(tree: Path) -> None:
    """The package as an installer lays it out."""
    ignored = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(ROOT / "adcli", tree / "adcli", ignore=ignored)
    for name in ("lang", "codegen", "samples"):
        shutil.copytree(ROOT / name, tree / "adcli" / name, ignore=ignored)


def edit(tree: Path, r: random.Random) -> str:
    """One character of one file is another; says which."""
    places = {place: tree / (place if place.startswith("adcli") else f"adcli/{place}") for place in PLACES}
    texts = {place: path.read_text(encoding="utf-8") for place, path in places.items()}
    place = r.choice([place for place, text in texts.items() if SMALL.search(text)])
    path, text = places[place], texts[place]
    found = r.choice(list(SMALL.finditer(text)))
    other = r.choice([c for c in ("0123456789" if found[0].isdigit() else "+-*") if c != found[0]])
    path.write_text(text[:found.start()] + other + text[found.end():], encoding="utf-8")
    return f"{place}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]} → {other}"


def plain(tree: Path) -> None:
    """All files of one time."""
    for path in tree.rglob("*"):
        os.utime(path, (315532800, 315532800))


def go(folder: str, tree: Path, line: list[str], processor: str = "", cache: str | None = None) -> tuple[int, str]:
    """Exit code and answer of a version."""
    before = OTHER.format(processor) if processor else ""
    environment = {**os.environ, "ADCLI_CACHE_DIR": cache or f"{folder}/cache", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", RUN.format(before), str(tree), *line], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout
