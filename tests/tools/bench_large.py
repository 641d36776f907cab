#!/usr/bin/env python3
"""Large problems solved: `adcli minimize` beside CasADi's nlpsol with IPOPT from Python, a process each, in turn.

    taskset -c 0 python tests/tools/bench_large.py [FILE.m ...] [--solver pounce] [--sizes K] [--only WORDS] [--write]

The problems of large_models.py at their first K sizes, and the AC optimal power flow of MATPOWER cases, as those of PGLib-OPF.
Seconds are those of whole processes. --write puts the table between its marks in the manual.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent))

from large_models import BUNDLE, CAMERA, CASES, SCENES, Problem, pictures, scene
from opf import BASELINE, PROGRAM, UNKNOWNS, read

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "adcli" / "manual" / "solvers.md"
BEGIN, END = "<!-- tests/tools/bench_large.py -->\n", "<!-- end of the table -->\n"
HEAD = ("problem", "variables, conditions", "objective", "published", "CasADi's", "verdict", "iterations", "s",
        "CasADi: iterations", "s")
OF_NETWORK = ("p", "q", "power_from", "power_to", "angle")


class Instance(NamedTuple):
    """A problem at a size: the text and objective, a point, bounds of unknowns and outputs; the expressions of CasADi."""

    title: str
    text: str
    objective: str
    unknowns: tuple[str, ...]
    point: dict[str, Any]
    bounds: Mapping[str, tuple[Any, Any]]
    outputs: tuple[str, ...]
    model: Callable[[Any], tuple[Any, Any, Any]]
    published: str


def of_problem(problem: Problem, size: int) -> Instance:
    point = problem.data(size)

    def model(ca: Any) -> tuple[Any, Any, Any]:
        x = {name: ca.SX.sym(name, int(np.size(point[name]))) for name in problem.unknowns}
        f, equations = problem.model(ca, x, point)
        return ca.vertcat(*x.values()), f, ca.vertcat(*equations)

    bounds = {**problem.ranges(size), **dict.fromkeys(problem.equations, (0.0, 0.0))}
    return Instance(problem.title, problem.text, "f", problem.unknowns, point, bounds, problem.equations, model,
                    problem.published)


def of_network(path: str) -> Instance:
    network = read(path)

    def model(ca: Any) -> tuple[Any, Any, Any]:
        from bench_opf import casadi_model
        x, whole = casadi_model(network)
        return x, whole[0], whole[1:]
    buses = len(network.inputs["pd"])
    return Instance(f"PGLib: {buses:,} buses", PROGRAM, "cost", UNKNOWNS, network.inputs, network.bounds, OF_NETWORK, model,
                    BASELINE.get(buses, ""))


def command(instance: Instance, folder: pathlib.Path, solver: str) -> list[str]:
    """The command that solves a problem, whose text and point are written into a folder: bounds are further inputs."""
    point, conditions, declared = dict(instance.point), [], []
    for name, ends in instance.bounds.items():
        if np.ndim(ends[0]) == 0:
            conditions.append(f"{name} == 0" if ends == (0.0, 0.0) else f"{name} >= {ends[0]}")
            continue
        sizes = ", ".join(f"{name}_{k}" for k in range(np.ndim(ends[0])))
        declared += [f"low_{name}({sizes})", f"high_{name}({sizes})"]
        point |= {f"low_{name}": ends[0], f"high_{name}": ends[1]}
        conditions.append(f"low_{name} <= {name} <= high_{name}")
    text = f"param {', '.join(declared)}\n{instance.text}" if declared else instance.text
    (folder / "model.ad").write_text(text, encoding="utf-8")
    at = {name: np.asarray(x).tolist() for name, x in point.items()}
    (folder / "point.json").write_text(json.dumps(at), encoding="utf-8")
    return [sys.executable, "-m", "adcli", "minimize", str(folder / "model.ad"), "--at", f"@{folder / 'point.json'}", "--of",
            instance.objective, "--wrt", ",".join(instance.unknowns), *(w for c in conditions for w in ("--subject-to", c)),
            "--solver", solver, "--format", "json"]


def ends(instance: Instance, end: int, conditions: int) -> tuple[np.ndarray, np.ndarray]:
    """The lower (0) or upper (1) bounds of the unknowns, and of so many conditions, which without arrays are 0, as vectors."""
    none = (-np.inf, np.inf)
    low = [np.broadcast_to(instance.bounds.get(name, none)[end], np.shape(instance.point[name])) for name in instance.unknowns]
    given = [np.ravel(instance.bounds[name][end]) for name in instance.outputs]
    of_conditions = np.concatenate(given) if sum(map(len, given)) == conditions > 0 else np.zeros(conditions)
    return np.concatenate([np.ravel(x) for x in low]), of_conditions


def of_casadi(instance: Instance) -> None:
    """Solve with nlpsol, and print the counts of variables and conditions, the objective and the iterations."""
    import casadi
    x, f, g = instance.model(casadi)
    solver = casadi.nlpsol("s", "ipopt", {"x": x, "f": f, "g": g}, {"ipopt.print_level": 0, "print_time": False})
    start = np.concatenate([np.ravel(instance.point[name]) for name in instance.unknowns])
    (low, g_low), (high, g_high) = (ends(instance, end, g.numel()) for end in (0, 1))
    found = solver(x0=start, lbx=low, ubx=high, **({"lbg": g_low, "ubg": g_high} if g.numel() else {}))
    ended = solver.stats()
    value = float(found["f"]) if ended["success"] else np.nan
    print(json.dumps([len(start), g.numel(), value, ended["iter_count"]]), ended["return_status"])


def timed(line: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    start = time.perf_counter()
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    return time.perf_counter() - start, ended


def row(name: str, instance: Instance, solver: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        seconds, ended = timed(command(instance, pathlib.Path(folder), solver))
    found = json.loads(ended.stdout) if ended.stdout else {"value": {instance.objective: np.nan}, "verdict": ended.stderr[:200],
                                                           "iterations": 0}
    theirs, ended = timed([sys.executable, __file__, "--only-casadi", name])
    numbers, status = ended.stdout.splitlines()[-1].split("] ")
    n, m, value, iterations = json.loads(numbers + "]")
    shown = f"{value:.6g}" if np.isfinite(value) else status.replace("_", " ")
    return [instance.title, f"{n:,}, {m:,}", f"{found['value'][instance.objective]:.6g}", instance.published, shown,
            found["verdict"], str(found["iterations"]), f"{seconds:.2f}", str(iterations), f"{theirs:.2f}"]


# ---------------------------------------------------------------- fits

FIT_HEAD = ("cameras, points", "parameters, residuals", "sum of squares", "SciPy's", "s", "SciPy: s")


def of_scipy(sizes: tuple[int, int, int]) -> None:
    """Fit a scene with least_squares and the pattern of the Jacobian, and print the sum of squares."""
    from scipy.optimize import least_squares
    from scipy.sparse import lil_array
    start, data = scene(*sizes)
    parts = np.cumsum([start[name].size for name in CAMERA])
    camera, seen = data["camera"], data["seen"]
    pattern, o = lil_array((2 * len(seen), parts[-1] + start["point"].size), dtype=int), np.arange(len(seen))
    for end, size, who in ((0, 3, camera), (parts[0], 3, camera), (parts[1], 5, camera), (parts[2], 3, seen)):
        for k in range(size):
            pattern[2 * o, end + size * who + k] = pattern[2 * o + 1, end + size * who + k] = 1

    def residuals(x: np.ndarray) -> np.ndarray:
        each = dict(zip((*CAMERA, "point"), np.split(x, parts), strict=True))
        shaped = {name: part.reshape(start[name].shape) for name, part in each.items()}
        return (pictures(shaped, camera, seen) - np.stack([data["a"], data["b"]], axis=1)).ravel()

    x = np.concatenate([start[name].ravel() for name in (*CAMERA, "point")])
    print(2 * least_squares(residuals, x, jac_sparsity=pattern, method="trf", x_scale="jac", ftol=1e-8).cost)


def fit_row(number: int) -> list[str]:
    start, data = scene(*SCENES[number])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for key, x in {**start, **data}.items():
            np.save(folder / f"{key}.npy", x)
        (folder / "bundle.ad").write_text(BUNDLE, encoding="utf-8")
        at, params = (",".join(f"{key}=@{folder / key}.npy" for key in keys) for keys in (data, start))
        seconds, ended = timed([sys.executable, "-m", "adcli", "fit", str(folder / "bundle.ad"), "--at", at, "--params", params,
                                "--y", "0", "--format", "json"])
    found = json.loads(ended.stdout)
    theirs, ended = timed([sys.executable, __file__, "--only-scipy", str(number)])
    n, m, _ = SCENES[number]
    return [f"{n}, {m:,}", f"{len(found['params']):,}, {found['residuals']:,}", f"{found['chi2']:.6g}",
            f"{float(ended.stdout):.6g}", f"{seconds:.2f}", f"{theirs:.2f}"]


def named(name: str) -> Instance:
    """The instance of a file, or of the k-th problem at a size: 3/1000."""
    k, slash, size = name.partition("/")
    return of_problem(CASES[int(k)], int(size)) if slash and k.isdigit() else of_network(name)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    options.add_argument("files", nargs="*")
    options.add_argument("--solver", default="auto")
    options.add_argument("--sizes", type=int, default=3)
    options.add_argument("--only", default="", metavar="WORDS")
    options.add_argument("--write", action="store_true")
    options.add_argument("--fits", action="store_true", help="bundle adjustment with `adcli fit`, beside SciPy's least_squares")
    options.add_argument("--only-casadi", help=argparse.SUPPRESS)
    options.add_argument("--only-scipy", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.only_casadi:
        of_casadi(named(given.only_casadi))
    elif given.only_scipy is not None:
        of_scipy(SCENES[given.only_scipy])
    elif given.fits:
        table(FIT_HEAD, map(fit_row, range(len(SCENES))))
    else:
        problems = [f"{k}/{size}" for k, p in enumerate(CASES) if given.only in p.title for size in p.sizes[:given.sizes]]
        rows = table(HEAD, (row(name, named(name), given.solver) for name in [*given.files, *problems]))
        if given.write:
            before, after = MANUAL.read_text("utf-8").split(BEGIN)
            MANUAL.write_text(before + BEGIN + rows + END + after.split(END)[1], encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[list[str]]) -> str:
    """A table of Markdown, which is printed as it grows."""
    lines = []
    for cells in chain((head, ["---"] * len(head)), rows):
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
