#!/usr/bin/env python3
"""Times of two versions of adcli in turns, as ratios: the part of the gate that is about speed.

    python tests/tools/gate_times.py PYTHON_BEFORE PYTHON_AFTER [--only TEXT] [--rounds N] [--tensors TEXT]

Each PYTHON is the interpreter of an environment with one version, installed from a checkout. A line has the least processor
seconds of each over the rounds, and their ratio: above 1 the later version is slower. Whole processes are started anew each time;
kernels and calls are timed inside of a process. `--tensors` also takes lines of bench_tensors.py, each from its own checkout.
"""
from __future__ import annotations

import argparse
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
KERNEL = """
import sys, time, numpy as np, adcli
f = adcli.load(sys.argv[1]); g = f.jacobian(); draw = np.random.default_rng(0).uniform
between = {p.name: (.5, 1.5) if p.low is None or p.high is None else (p.low, p.high) for p in f.program.params}
at = {name: draw(*limits, 1 << 15) for name, limits in between.items()}
out = g(at, jobs=1); best = 9.0
for _ in range(60):
    start = time.process_time(); g(at, jobs=1, out=out); best = min(best, time.process_time() - start)
print(best)
"""
CALL = """
import sys, time, adcli
g = adcli.load(sys.argv[1]).grad(); best = 9.0
for _ in range(20):
    start = time.process_time()
    for _ in range(5000): g(x=2.0, y=5.0)
    best = min(best, time.process_time() - start)
print(best)
"""
ROWS, STATEMENTS = 300_000, 20_000

Job = Callable[[str], float]
"""Seconds with one interpreter."""


def process(*words: str) -> Job:
    """Processor seconds of a whole process `adcli`."""
    def run(python: str) -> float:
        child = os.posix_spawn(python, [python, "-m", "adcli", *words], os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
        _, status, used = os.wait4(child, 0)
        if status:
            raise SystemExit(f"{python} -m adcli {' '.join(words)}: exit {os.waitstatus_to_exitcode(status)}")
        return used.ru_utime + used.ru_stime
    return run


def script(text: str, path: pathlib.Path) -> Job:
    """The seconds that a script prints."""
    return lambda python: float(printed(python, "-c", text, str(path)))


def printed(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def jobs(folder: pathlib.Path) -> Iterator[tuple[str, Job]]:
    worked, price = str(SAMPLES / "worked.ad"), SAMPLES / "black_scholes.ad"
    yield "start, warm", process("grad", worked, "--at", "x=2,y=5")
    yield "start, cold", process("grad", worked, "--at", "x=2,y=5", "--no-cache")
    yield "start, a tensor program", process("grad", str(SAMPLES / "mixture.ad"), "--at", f"@{SAMPLES / 'mixture.json'}")
    yield "emit C", process("grad", str(price), "--emit", "c")
    yield "check", process("check", worked)
    yield "why", process("why", str(SAMPLES / "kinks.ad"), "--at", "x=0")
    draw = random.Random(1).uniform
    table, long = folder / "rows.csv", folder / "long.ad"
    table.write_text("s,k,r,v,t\n" + "".join(
        ",".join(repr(draw(0.5, 1.5)) for _ in range(5)) + "\n" for _ in range(ROWS)), "utf-8")
    for form in ("csv", "json"):
        yield f"rows to {form}", process("grad", str(price), "--data", str(table), "--format", form)
    lines = [f"t{i} = sin(t{i - 1}) + 0.3*t{max(0, i - 7)}*x{i % 9}" for i in range(1, STATEMENTS)]
    long.write_text("\n".join(["t0 = x0", *lines, f"v = t{STATEMENTS - 1}", "output v"]), "utf-8")
    yield f"{STATEMENTS:,} statements", process("grad", str(long), "--at", ",".join(f"x{i}=0.5" for i in range(9)), "--no-cache")
    for name in ("worked", "rosenbrock", "black_scholes", "pendulum"):
        yield f"kernel, {name}", script(KERNEL, SAMPLES / f"{name}.ad")
    yield "calls", script(CALL, SAMPLES / "worked.ad")


def tensors(python: str, only: str) -> dict[str, float]:
    """The times of lines of bench_tensors.py, in seconds."""
    where = printed(python, "-c", "import adcli; print(adcli.__file__)")
    tool = pathlib.Path(where.strip()).parents[1] / "tests" / "tools" / "bench_tensors.py"
    text = printed(python, str(tool), "--no-jax", "--jobs", "1", "--seconds", "0.3", "--only", only)
    return {f"tensors, {' '.join(m[1].split())}": float(m[2]) / 1e6
            for m in re.finditer(r"^(\w+ +\d+ \w+) +([\d.]+) ", text, re.M)}


def line(name: str, before: float, after: float) -> str:
    return f"{name:36s} {before:10.6f} {after:10.6f} {after / before:7.3f}"


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pythons", nargs=2, metavar="PYTHON")
    parser.add_argument("--only", default="", help="jobs whose name has this text")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tensors", metavar="TEXT", help="also programs of bench_tensors.py whose name has this text")
    given = parser.parse_args(args)
    ratios = []
    print(f"{'processor seconds':36s} {'before':>10s} {'after':>10s} {'ratio':>7s}")
    with tempfile.TemporaryDirectory() as folder:
        for name, job in jobs(pathlib.Path(folder)):
            if given.only not in name:
                continue
            times = [[job(python) for python in given.pythons] for _ in range(given.rounds)]
            before, after = (min(column) for column in zip(*times, strict=True))
            ratios.append(after / before)
            print(line(name, before, after), flush=True)
    if given.tensors is not None:
        rounds = [[tensors(python, given.tensors) for python in given.pythons] for _ in range(min(3, given.rounds))]
        for name in rounds[0][0]:
            before, after = (min(pair[k][name] for pair in rounds) for k in (0, 1))
            ratios.append(after / before)
            print(line(name, before, after), flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} figures: geometric mean {mean:.3f}, highest {max(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
