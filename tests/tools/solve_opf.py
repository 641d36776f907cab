#!/usr/bin/env python3
"""AC optimal power flow solved: `adcli minimize` beside CasADi's nlpsol with IPOPT from Python, a process each, in turn.

    taskset -c 0 python tests/tools/solve_opf.py FILE.m ... [--solver pounce] [--no-casadi]

The files are MATPOWER cases. The table has the objective (PGLib's is in its BASELINE.md), the verdict and the exit code of adcli,
iterations, and seconds of whole processes.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from opf import PROGRAM, UNKNOWNS, Network, read

ELEMENTS = {"va": "N", "vm": "N", "pg": "G", "qg": "G", "angle": "L", "power_from": "L", "power_to": "L"}


def command(network: Network, folder: pathlib.Path, solver: str) -> list[str]:
    """The command that solves a network, whose program and point are written into a folder."""
    bounds = {f"{end}_{name}": x for name in ELEMENTS for end, x in zip(("low", "high"), network.bounds[name], strict=True)}
    declared = ", ".join(f"low_{name}({size}), high_{name}({size})" for name, size in ELEMENTS.items())
    (folder / "opf.ad").write_text(PROGRAM.replace("cost +=!", f"param {declared}\ncost +=!", 1), encoding="utf-8")
    point = {name: np.asarray(x).tolist() for name, x in {**network.inputs, **bounds}.items()}
    (folder / "opf.json").write_text(json.dumps(point), encoding="utf-8")
    conditions = ["p == 0", "q == 0", *(f"low_{name} <= {name} <= high_{name}" for name in ELEMENTS)]
    return [sys.executable, "-m", "adcli", "minimize", str(folder / "opf.ad"), "--at", f"@{folder / 'opf.json'}", "--of", "cost",
            "--wrt", ",".join(UNKNOWNS), *(x for each in conditions for x in ("--subject-to", each)), "--solver", solver,
            "--format", "json"]


def of_casadi(path: str) -> None:
    """Solve a case with nlpsol, and print its objective and iterations."""
    import casadi
    from bench_opf import casadi_model
    network = read(path)
    x, whole = casadi_model(network)
    solver = casadi.nlpsol("s", "ipopt", {"x": x, "f": whole[0], "g": whole[1:]}, {"ipopt.print_level": 0, "print_time": False})
    low, high = (np.concatenate([np.ravel(network.bounds[name][k]) for name in UNKNOWNS]) for k in (0, 1))
    names = ("p", "q", "power_from", "power_to", "angle")
    c_low, c_high = (np.concatenate([np.ravel(network.bounds[name][k]) for name in names]) for k in (0, 1))
    start = np.concatenate([np.ravel(network.inputs[name]) for name in UNKNOWNS])
    found = solver(x0=start, lbx=low, ubx=high, lbg=c_low, ubg=c_high)
    print(json.dumps([float(found["f"]), solver.stats()["iter_count"]]))


def timed(line: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    start = time.perf_counter()
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    return time.perf_counter() - start, ended


def row(path: str, solver: str, casadi: bool) -> list[Any]:
    network = read(path)
    with tempfile.TemporaryDirectory() as name:
        seconds, ended = timed(command(network, pathlib.Path(name), solver))
    found = json.loads(ended.stdout)
    cells = [f"{len(network.inputs['pd']):,}", f"{found['value']['cost']:.5g}", found["verdict"], ended.returncode,
             found["iterations"], f"{seconds:.2f}"]
    if not casadi:
        return cells
    seconds, ended = timed([sys.executable, __file__, "--only-casadi", path])
    value, iterations = json.loads(ended.stdout.splitlines()[-1])
    return [*cells, f"{value:.5g}", iterations, f"{seconds:.2f}"]


def main() -> None:
    options = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    options.add_argument("files", nargs="+")
    options.add_argument("--solver", default="auto")
    options.add_argument("--no-casadi", action="store_true")
    options.add_argument("--only-casadi", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.only_casadi:
        of_casadi(given.files[0])
        return
    columns = ["buses", "$/h", "verdict", "exit", "iterations", "s"]
    columns += [] if given.no_casadi else ["CasADi: $/h", "iterations", "s"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for path in given.files:
        print(f"| {' | '.join(map(str, row(path, given.solver, not given.no_casadi)))} |", flush=True)


if __name__ == "__main__":
    main()
