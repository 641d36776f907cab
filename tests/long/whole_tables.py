"""Tests of the suite, with all rows of their tables and another seed: a run of the suite takes some rows of the longest."""
from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter

from harness import LIMIT, Finding, Tell, announce
from places import ROOT
from session_seed import WHOLE

ABOUT = "tests of the suite with all rows of their tables and other seeds"
TAKES_TOO_LONG = LIMIT - 20
"""Seconds after which a file is given up, and is no finding."""


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    while time.monotonic() < until:
        command = (r.choice(files), str(r.randrange(2**32)))
        announce("", command, tried)
        tried["files"] += 1
        try:
            what = replay(b"", command)
        except subprocess.TimeoutExpired:
            tried["files given up"] += 1
        else:
            if what is not None:
                tell(Finding("whole_tables", 0, what, "", command))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    """What pytest says of a file and a seed, if a test fails."""
    path, seed = command
    done = subprocess.run([sys.executable, "-m", "pytest", "-n0", "-x", "--no-header", "--seed", seed, path], cwd=ROOT, text=True,
                          env=os.environ | {WHOLE: "1"}, capture_output=True, check=False, timeout=TAKES_TOO_LONG)
    return None if done.returncode in (0, 5) else f"{done.stdout[-3000:]}{done.stderr[-1000:]}\n{path} fails"   # 5: no tests
