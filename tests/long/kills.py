"""adcli is killed at random moments while it fills a cache; then one looks at what is left.

Every entry that has its final name must be whole, whatever happened; what is half written has a name that is never read and
goes away; and the run after a kill gives the right answer without a word.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from adcli.codegen.machine import cache
from harness import Finding, Tell, announce
from places import ROOT

ABOUT = "the command killed at random moments while it fills a cache"
ROUND = 20
"""Runs in one folder."""

SLOW = """
import os, time
make, rename = os.open, os.rename
def slow_open(path, *args, **kwargs):
    handle = make(path, *args, **kwargs)
    time.sleep(0.02 if str(path).endswith('.part') else 0)
    return handle
def slow_rename(*args, **kwargs):
    time.sleep(0.02)
    rename(*args, **kwargs)
    time.sleep(0.02)
os.open, os.rename = slow_open, slow_rename
from adcli.main import main
main()
"""
"""The command with a slow disk, so that a kill meets the moments between making, filling and renaming a file."""


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        seed = r.randrange(2**32)
        announce("", (str(seed),), tried)
        with tempfile.TemporaryDirectory() as folder:
            try:
                killed, unfinished = kill_at_random(ROUND, Path(folder), seed)
            except (AssertionError, subprocess.SubprocessError) as fault:
                tell(Finding("kills", 0, f"{type(fault).__name__}: {fault}", "", (str(seed),)))
                continue
        tried.update({"runs": ROUND, "killed": killed, "unfinished files": unfinished})
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            kill_at_random(ROUND, Path(folder), int(command[0]))
        except AssertionError as fault:
            return str(fault)
    return None


def command(i: int) -> list[str]:
    """A run with a program of its own, so that it is compiled and kept."""
    return [sys.executable, "-c", SLOW, "grad", "-e", f"v = sin(x)*x + {i}", "--at", "x=0"]


def expected(i: int) -> str:
    return f"v = {float(i)!r}\ndv_dx = 0.0\n"


def kill_at_random(count: int, folder: Path, seed: int = 1) -> tuple[int, int]:
    """Run and kill `count` times; says how many were killed and how many temporary files were seen. AssertionError if
    anything is wrong."""
    env = {**os.environ, "ADCLI_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    chance, killed, unfinished = random.Random(seed), 0, set()
    for i in range(count):
        run = subprocess.Popen(command(i), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            if i % 4:   # three of four are killed while they write, or just after
                wait_for_writing(run, folder, unfinished)
            out, err = run.communicate(timeout=chance.uniform(0, 0.07 if i % 4 else 0.5))
            assert (run.returncode, out, err) == (0, expected(i), ""), (out, err)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            killed += 1
        unfinished |= half_written(folder)
        assert not broken(folder), f"not whole after run {i}"
    again = subprocess.run(command(count - 1), env=env, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (again.returncode, again.stdout, again.stderr) == (0, expected(count - 1), "")
    return killed, len(unfinished)


def wait_for_writing(run: subprocess.Popen[str], folder: Path, before: set[str]) -> None:
    """Wait until the run has made a file that is not there `before`, or has ended."""
    while run.poll() is None and half_written(folder) <= before:
        time.sleep(0.001)


def half_written(folder: Path) -> set[str]:
    return {p.name for p in folder.glob("*" + cache.TEMPORARY)}


def broken(folder: Path) -> list[str]:
    """The entries that are not whole."""
    every = {p.name: p.read_bytes() for p in folder.glob("*" + cache.SUFFIX)}
    return [name for name, data in every.items() if cache.content(data, name.removesuffix(cache.SUFFIX)) is None]
