#!/usr/bin/env python3
"""adcli as a tool of GradBench (github.com/gradbench/gradbench): speaks its protocol on standard input and output.

    gradbench run --eval 'gradbench eval lse' --tool 'python tests/gradbench.py'

One JSON object a line comes in (start, define, evaluate, analysis), and one goes out for each, with its `id`. `define` says
whether there is such an eval; `evaluate` runs one of its functions at least `min_runs` times and for `min_seconds`; its timings
are `prepare` (everything up to the first result, compilation included) and one `evaluate` for each run, in nanoseconds.

The programs are the files in tests/data/gradbench; EVALS says what each function does with them. Iterations of which nobody knows
the number of steps before are loops with `until` in the programs, which are called with more steps where those of a call were too
few. Everything runs on one core unless --jobs says more.
"""
from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import os
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path.pop(0)   # tests has a folder adcli
import adcli

PROGRAMS = pathlib.Path(__file__).resolve().parent / "data" / "gradbench"
JOBS = 1
"""The number of threads of a call; --jobs changes it."""

Values = dict[str, Any]


class Prepared(NamedTuple):
    """A function at one input: what is timed, and what makes JSON of its result."""

    run: Callable[[], Any]
    answer: Callable[[Any], Any]


Evaluation = Callable[[Any], Prepared]
"""Makes an input of a function, as it comes in JSON, ready to run."""


# ---------------------------------------------------------------- programs

compiled = functools.cache(adcli.compile)


@functools.cache
def text(name: str) -> str:
    return (PROGRAMS / f"{name}.ad").read_text(encoding="utf-8")


def program(name: str) -> adcli.Function:
    return compiled(text(name), f"{name}.ad")


@functools.cache
def derived(f: adcli.Function, method: str, **options: Any) -> adcli.Function:
    """A derivative of a Function, derived and compiled once."""
    made: adcli.Function = getattr(f, method)(**options)
    return made


@functools.cache
def only(f: adcli.Function, output: str) -> adcli.Function:
    """The program of a Function with one of its outputs alone."""
    lines = [line for line in f.text().splitlines() if not line.startswith("output ")]
    return compiled("\n".join([*lines, f"output {output}\n"]))


def repeated(f: adcli.Function, values: Values) -> Callable[[], Values]:
    """Calls at one point, which compute into the same arrays where these are large. A long program's code, which is made in haste
    at first and well when calls have taken as long as that takes, is made well before any is timed."""
    arrays = {name: found for name, found in f(values, jobs=JOBS).items() if isinstance(found, np.ndarray)}
    rise(f)
    out = arrays if sum(a.size for a in arrays.values()) > 10_000 else None
    return lambda: f(values, out=out, jobs=JOBS)


def rise(f: adcli.Function) -> None:
    """Make the code of a Function well that has been called once."""
    if hasattr(kernel := f._made(), "rise"):
        kernel.rise()


def simple(f: adcli.Function, output: str, values: Values) -> Prepared:
    """One output of a Function at one point."""
    return Prepared(repeated(f, values), lambda found: np.asarray(found[output]).tolist())


def function_of(f: adcli.Function, name: str, inputs: str, outputs: str) -> str:
    """The text of a program of scalars as the definition of a function."""
    body = [line for line in f.text().splitlines() if line.split()[0] not in ("input", "param", "output")]
    return "\n    ".join([f"def {name}({inputs}) -> ({outputs}) {{", *body]) + "\n}\n"


# ---------------------------------------------------------------- evals of one program

def of_vector(name: str, *more: str) -> dict[str, Evaluation]:
    """The value v of a program and its gradient by the vector x; `more` inputs are named as in the JSON."""
    def values(given: Any) -> Values:
        return {"x": np.array(given["x"], dtype=float)} | {key: given[key] for key in more}

    return {"primal": lambda given: simple(program(name), "v", values(given)),
            "gradient": lambda given: simple(derived(program(name), "grad", wrt="x"), "dv_dx", values(given))}


def gmm_values(given: Any) -> Values:
    """The factors' parts below the diagonal come by columns; the program has them in a matrix for each component."""
    d, k = given["d"], given["k"]
    lower = np.zeros((k, d, d))
    columns, rows = np.triu_indices(d, 1)
    lower[:, rows, columns] = np.array(given["l"], dtype=float).reshape(k, -1)
    return {name: np.array(given[name], dtype=float).reshape(-1, d) for name in ("x", "mu", "q")} | {
        "alpha": np.array(given["alpha"], dtype=float), "l": lower, "gamma": float(given["gamma"]), "m": float(given["m"])}


def gmm_gradient(given: Any) -> Prepared:
    def answer(found: Values) -> Any:
        columns, rows = np.triu_indices(given["d"], 1)
        packed = {"l": found["derr_dl"][:, rows, columns].tolist()}
        return {name: found[f"derr_d{name}"].tolist() for name in ("alpha", "mu", "q")} | packed

    return Prepared(repeated(derived(program("gmm"), "grad", wrt="alpha,mu,q,l"), gmm_values(given)), answer)


def kmeans_values(given: Any) -> Values:
    return {"c": np.array(given["centroids"], dtype=float), "p": np.array(given["points"], dtype=float)}


def kmeans_direction(given: Any) -> Prepared:
    """The gradient over the diagonal of the Hessian, which is its product with ones: an element stands for one centroid alone.
    Both are of the cost with the nearest centroids as they are, so that only these have work."""
    values = kmeans_values(given)
    f = derived(derived(program("assigned"), "grad", wrt="c"), "jvp", wrt="c", of="dcost_dc")
    ones = np.ones_like(values["c"])

    def direction() -> Any:
        nearest = program("nearest")(values, jobs=JOBS)["at"].astype(np.int64)
        found = f(values | {"at": nearest, "dc": ones}, jobs=JOBS)
        with np.errstate(invalid="ignore"):   # of a centroid that is the nearest to no point
            return found["dcost_dc"] / found["ddcost_dc"]
    return Prepared(direction, np.ndarray.tolist)


# ---------------------------------------------------------------- bundle adjustment

CAMERA, POINT = ("r1", "r2", "r3", "c1", "c2", "c3", "f", "u", "v", "k1", "k2"), ("X1", "X2", "X3")
COLUMNS = (*CAMERA, *POINT, "w")
BLOCK = 4096
"""Observations of one call, whose results stay in the cache while they are put in order."""


class Observations:
    """The observations of bundle adjustment, and arrays for their errors and the Jacobian of these as compressed sparse rows."""

    def __init__(self, given: Any) -> None:
        self.n, self.m, self.p = given["n"], given["m"], given["p"]
        self.cameras = np.repeat(np.array(given["cam"], dtype=float)[:, None], self.n, axis=1)
        self.points = np.repeat(np.array(given["x"], dtype=float)[:, None], self.m, axis=1)
        self.w = np.full(self.p, float(given["w"]))
        self.seen = np.repeat(np.array(given["feat"], dtype=float)[:, None], self.p, axis=1)
        self.camera, self.point = np.arange(self.p) % self.n, np.arange(self.p) % self.m
        self.of_points, self.of_weights = np.empty((self.p, 2)), np.empty(self.p)
        wide = len(COLUMNS)
        self.rows, self.columns = np.empty(3 * self.p + 1, np.int32), np.empty((2 * wide + 1) * self.p, np.int32)
        self.values = np.empty((2 * wide + 1) * self.p)

    def blocks(self, f: adcli.Function) -> Iterator[tuple[slice, np.ndarray]]:
        """The outputs of f for one block of observations after the other, a row each."""
        results = np.empty((len(f.outputs), BLOCK))
        for start in range(0, self.p, BLOCK):
            rows = slice(start, min(start + BLOCK, self.p))
            n = rows.stop - start
            values = dict(zip(CAMERA, self.cameras.take(self.camera[rows], axis=1), strict=True))
            values |= zip(POINT, self.points.take(self.point[rows], axis=1), strict=True)
            values |= {"w": self.w[rows], "a": self.seen[0, rows], "b": self.seen[1, rows]}
            f(values, out=dict(zip(f.outputs, results[:, :n], strict=True)), jobs=JOBS)
            yield rows, results[:, :n]

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        for rows, found in self.blocks(program("ba")):
            self.of_points[rows] = found[:2].T
            self.of_weights[rows] = found[2]
        return self.of_points, self.of_weights

    def jacobian(self) -> dict[str, np.ndarray]:
        """Two rows of an observation's errors, one after the other, then the rows of the weights."""
        p, wide = self.p, len(COLUMNS)
        f = derived(program("ba"), "grad", of="; ".join([f"{e}:{x}" for e in ("e1", "e2") for x in COLUMNS] + ["ew:w"]))
        values = self.values[:2 * wide * p].reshape(p, 2 * wide)
        columns = self.columns[:2 * wide * p].reshape(p, 2, wide)
        first = f.outputs.index(f"de1_d{COLUMNS[0]}")
        for rows, found in self.blocks(f):
            values[rows] = found[first:first + 2 * wide].T
            self.values[2 * wide * p:][rows] = found[first + 2 * wide]
            columns[rows, :, :11] = (11 * self.camera[rows])[:, None, None] + np.arange(11)
            columns[rows, :, 11:14] = (11 * self.n + 3 * self.point[rows])[:, None, None] + np.arange(3)
        of_weights = self.columns[2 * wide * p:]
        of_weights[:] = np.arange(11 * self.n + 3 * self.m, 11 * self.n + 3 * self.m + p)
        columns[:, :, 14] = of_weights[:, None]
        self.rows[:2 * p + 1] = np.arange(0, (2 * p + 1) * wide, wide)
        self.rows[2 * p:] = np.arange(2 * p * wide, 2 * p * wide + p + 1)
        return {"rows": self.rows, "cols": self.columns, "vals": self.values}


def ba_errors(given: Any) -> Prepared:
    def answer(found: tuple[np.ndarray, np.ndarray]) -> Any:
        of_points, of_weights = found
        return {"reproj_error": {"elements": of_points[0].tolist(), "repeated": len(of_points)},
                "w_err": {"element": float(of_weights[0]), "repeated": len(of_weights)}}

    return Prepared(Observations(given).errors, answer)


def ba_jacobian(given: Any) -> Prepared:
    """The answer is short, as all observations are alike: the first 30 elements and the last."""
    return Prepared(Observations(given).jacobian, lambda found: {name: a[[*range(30), -1]].tolist() for name, a in found.items()})


# ---------------------------------------------------------------- determinants

@functools.cache
def minors(size: int) -> tuple[adcli.Function, Values]:
    """The determinant by expansion along the first row, and so on for the minors, each of which is computed once; and the tables
    of the column of each term and of the minor that is left."""
    lines, tables = [], Values()
    left = {(column,): column for column in range(size)}
    for m in range(2, size + 1):
        sets = list(itertools.combinations(range(size), m))
        tables[f"column{m}"] = np.array(sets, dtype=np.int64)
        tables[f"left{m}"] = np.array([[left[s[:j] + s[j + 1:]] for j in range(m)] for s in sets], dtype=np.int64)
        lines.append(f"minor{m}(s) +=! (j % 2 == 0 ? 1 : -1) * A(L - {m}, column{m}(s, j)) * minor{m - 1}(left{m}(s, j))")
        left = {s: i for i, s in enumerate(sets)}
    declared = "".join(f", int32 {name}({name.upper()}_S, {name.upper()}_T)" for name in tables)
    source = "\n".join([f"input A(L, L){declared}", "minor1(s) = A(L - 1, s)", *lines, f"v = minor{size}(0)", "output v"])
    return compiled(source), tables


def det(method: str) -> Evaluation:
    def prepared(given: Any) -> Prepared:
        size = given["ell"]
        f, tables = minors(size)
        values = tables | {"A": np.array(given["A"], dtype=float).reshape(size, size)}
        if method == "value":
            return simple(f, "v", values)
        return Prepared(repeated(derived(f, "grad", wrt="A"), values), lambda found: found["dv_dA"].reshape(-1).tolist())
    return prepared


# ---------------------------------------------------------------- hand tracking

def ht_values(given: Any) -> Values:
    """A last bone is put below the roots; a point at a vertex is one in a triangle of three times that vertex."""
    data, model = given["data"], given["data"]["model"]
    parents = np.array(model["parents"], dtype=np.int64)
    parents = np.append(np.where(parents < 0, len(parents), parents), len(parents)).astype(np.int64)
    by_two = parents[parents]
    by_four = by_two[by_two]
    if (by_four[by_four] < len(parents) - 1).any():
        raise ValueError("the program is for at most eight bones in a row")
    us = np.array(given["us"], dtype=float).reshape(-1, 2)
    found = np.array(data["correspondences"], dtype=np.int64)
    corners = np.array(model["triangles"], dtype=np.int64)[found] if len(us) else np.repeat(found[:, None], 3, axis=1)
    return {"theta": np.array(given["theta"], dtype=float)[:, None], "u": us if len(us) else np.tile([1.0, 0.0], (len(found), 1)),
            "base": np.concatenate([np.array(model["base_relatives"], dtype=float), np.eye(4)[None]]),
            "inverse": np.array(model["inverse_base_absolutes"], dtype=float),
            "position": np.array(model["base_positions"], dtype=float), "weight": np.array(model["weights"], dtype=float),
            "point": np.array(data["points"], dtype=float), "mirror": -1.0 if model["is_mirrored"] else 1.0,
            "jump": np.stack([parents, by_two, by_four]), "tri": corners}


def ht_errors(given: Any) -> Prepared:
    """At one pose, by the program without the dimension of poses: the last one of a tensor is the one that registers go along."""
    values, one = ht_values(given), re.sub(r"\(e\)|, [eE](?=\))|(, | where )e in 0:E", "", text("ht"))
    values["theta"] = values["theta"][:, 0]
    return Prepared(repeated(compiled(one), values), lambda found: found["err"].reshape(-1).tolist())


def ht_jacobian(given: Any) -> Prepared:
    """Forward mode: a pose for each of its parameters moves along that one; the barycentric coordinates, of which each point has
    its own, move along two directions."""
    values = ht_values(given)
    theta, u = values["theta"], values["u"]
    poses = {"theta": np.repeat(theta, len(theta), axis=1), "dtheta": np.eye(len(theta))}
    along = [values | {"du": np.tile(e, (len(u), 1))} for e in np.eye(2) if given["us"]]
    runs = [repeated(only(derived(program("ht"), "jvp", wrt="u"), "derr"), moved) for moved in along]
    runs.append(repeated(only(derived(program("ht"), "jvp", wrt="theta"), "derr"), values | poses))
    return Prepared(lambda: np.concatenate([run()["derr"] for run in runs], axis=2).reshape(3 * len(u), -1), np.ndarray.tolist)


# ---------------------------------------------------------------- loops over time

def lengths(n: int, most: int) -> list[int]:
    """How many of n steps each call does."""
    if n < 1:
        raise ValueError("there must be at least one step")
    return [most] * (n // most) + [n % most] * (n % most > 0)


@functools.cache
def lstm_program(layers: int) -> adcli.Function:
    """All layers in one loop over time, then the predictions of all steps."""
    def layer(i: int) -> str:
        into, hidden, memory = f"hidden{i}(t + 1, b)", f"hidden{i + 1}", f"memory{i + 1}"
        change = f"change({hidden}(t, b), main({i}, 3, b), main({i}, 7, b))"
        forget, emit = (f"gate({into}, main({i}, {k}, b), main({i}, {4 + k}, b))" for k in (0, 2))
        admit = f"gate({hidden}(t, b), main({i}, 1, b), main({i}, 5, b))"
        return (f"    {memory}(t + 1, b) = {memory}(t, b) * {forget} + {admit} * {change}\n"
                f"    {hidden}(t + 1, b) = {emit} * tanh({memory}(t + 1, b))\n")

    def start(i: int) -> str:
        return f"hidden{i + 1}(0, b) = state({2 * i}, b)\nmemory{i + 1}(0, b) = state({2 * i + 1}, b)\n"

    return compiled("".join([
        text("lstm"), *map(start, range(layers)), "for t in 0:R - 1 {\n    hidden0(t + 1, b) = x(t, b) * extra(0, b)\n",
        *map(layer, range(layers)), "}\n",
        f"y(t, b) = hidden{layers}(t + 1, b) * extra(1, b) + extra(2, b) where t in 0:R - 1\n",
        "sum(t) +=! exp(y(t, b))\nlike +=! x(t + 1, b) * (y(t, b) - log(sum(t) + 2)) where t in 0:R - 1\noutput like\n"]))


def lstm(differentiate: bool) -> Evaluation:
    def prepared(given: Any) -> Prepared:
        parts = {"main": "main_params", "extra": "extra_params", "state": "state", "x": "sequence"}
        values = {name: np.array(given[key], dtype=float) for name, key in parts.items()}
        layers, (steps, b) = len(values["main"]) // 2, values["x"].shape
        f, scale = lstm_program(layers), -1 / ((steps - 1) * b)
        values["main"] = values["main"].reshape(layers, 8, b)
        if not differentiate:
            return Prepared(repeated(f, values), lambda found: scale * found["like"])
        run = repeated(derived(f, "grad", wrt="main,extra"), values)

        def gradient() -> np.ndarray:
            found = run()
            return scale * np.concatenate([found[f"dlike_d{name}"].reshape(-1) for name in ("main", "extra")])
        return Prepared(gradient, np.ndarray.tolist)
    return prepared


STEPS_ODE = 10
"""Steps of the value in one call: more are fewer calls, and longer compilation."""


@functools.cache
def ode_program(steps: int) -> adcli.Function:
    """Steps in a row, which are sooner done than those of a loop where they are short."""
    lines = [f"y{t + 1} = step(y{t}, x, h)" for t in range(steps)]
    return compiled("\n".join([text("ode"), "input y0(N), x(N)\nparam h", *lines, f"end = y{steps}\noutput end\n"]))


def ode_value(given: Any) -> Prepared:
    x, s = np.array(given["x"], dtype=float), given["s"]
    calls = [(ode_program(n), np.empty(len(x))) for n in lengths(s, STEPS_ODE)]

    def value() -> np.ndarray:
        y = np.zeros(len(x))
        for f, end in calls:
            y = f({"x": x, "h": 2 / s, "y0": y}, out={"end": end}, jobs=JOBS)["end"]
        return y
    value()
    for f, _ in calls:
        rise(f)
    return Prepared(value, np.ndarray.tolist)


def ode_gradient(given: Any) -> Prepared:
    values = {"x": np.array(given["x"], dtype=float), "h": 2 / given["s"], "S": given["s"]}
    return simple(derived(program("ode_end"), "grad", wrt="x", of="end:x"), "dend_dx", values)


# ---------------------------------------------------------------- derivatives of programs with derivatives in them

MODES = {"f": "forward", "r": "reverse"}
FEW_STEPS = 64
"""The steps in time that are tried first."""


class Descent:
    """The output v of a program, whose loop over time ends early, as a function of the inputs `wrt`, and where it is least."""

    def __init__(self, f: adcli.Function, wrt: Sequence[str], mode: str, fixed: Values) -> None:
        self.f, self.slopes = f, derived(f, "grad", wrt=tuple(wrt), of="v", mode=mode)
        self.wrt, self.partials, self.given = wrt, [f"dv_d{name}" for name in wrt], fixed | {"T": FEW_STEPS}

    def at(self, x: Sequence[float]) -> Values:
        """All outputs at a point, with as many steps as they need."""
        self.given.update(zip(self.wrt, x, strict=True))
        while (found := self.f(self.given, jobs=JOBS))["left"] > 0:
            self.given["T"] += self.given["T"] // 4
        return found

    def slope(self) -> list[float]:
        """The gradient at the point of the last call of `at`."""
        found = self.slopes(self.given, jobs=JOBS)
        return [found[name] for name in self.partials]

    def least(self, x: Sequence[float]) -> list[float]:
        """Where v is least, by gradient descent as GradBench prescribes it: the rate doubles after ten steps that went down and
        halves after one that did not, and the search ends where the gradient or a step is at most 1e-5 long."""
        self.given["T"] = FEW_STEPS
        x, v, g, rate, falls = list(x), self.at(x)["v"], self.slope(), 1e-5, 0
        while math.hypot(*g) > 1e-5:
            if falls == 10:
                rate, falls = 2 * rate, 0
                continue
            tried = [a - rate * b for a, b in zip(x, g, strict=True)]
            if math.dist(tried, x) <= 1e-5:
                break
            if (at := self.at(tried)["v"]) < v:
                x, v, g, falls = tried, at, self.slope(), falls + 1
            else:
                rate, falls = rate / 2, 0
        return x


@functools.cache
def particle_program(mode: str) -> adcli.Function:
    force = derived(program("potential"), "grad", wrt="x,y", of="a:x; a:y", mode=mode)
    return compiled(function_of(force, "force", "x, y, w", "da_dx, da_dy") + text("particle"))


def particle(outer: str, inner: str) -> Evaluation:
    """How far the charge is to be lowered for the particle to land at 0; `outer` and `inner` are the modes of the derivatives."""
    def prepared(given: Any) -> Prepared:
        search = Descent(particle_program(MODES[inner]), ["w"], MODES[outer], {})
        return Prepared(lambda: search.least([float(given["w"])])[0], float)
    return prepared


@functools.cache
def ascent_program(mode: str) -> adcli.Function:
    f, inputs = program("saddle"), "x1, y1, x2, y2"
    slope = derived(f, "grad", wrt="x2,y2", of="v:x2; v:y2", mode=mode)
    return compiled(function_of(f, "value", inputs, "v") + function_of(slope, "slope", inputs, "dv_dx2, dv_dy2") + text("ascent"))


def saddle(outer: str, inner: str) -> Evaluation:
    """The point (x1, y1) where the greatest value over (x2, y2) is least, and (x2, y2) there."""
    def prepared(given: Any) -> Prepared:
        begin = [float(x) for x in given["start"]]
        search = Descent(ascent_program(MODES[inner]), ["p", "q"], MODES[outer], dict(zip(("x0", "y0"), begin, strict=True)))

        def point() -> list[float]:
            p = search.least(begin)
            found = search.at(p)
            return [*p, found["x2"], found["y2"]]
        return Prepared(point, list)
    return prepared


def both(prepared: Callable[[str, str], Evaluation]) -> dict[str, Evaluation]:
    return {outer + inner: prepared(outer, inner) for outer in MODES for inner in MODES}


# ---------------------------------------------------------------- the evals

EVALS: dict[str, dict[str, Evaluation]] = {
    "hello": {"square": lambda given: simple(program("hello"), "y", {"x": given}),
              "double": lambda given: simple(derived(program("hello"), "grad"), "dy_dx", {"x": given})},
    "gmm": {"objective": lambda given: simple(program("gmm"), "err", gmm_values(given)), "jacobian": gmm_gradient},
    "ba": {"objective": ba_errors, "jacobian": ba_jacobian},
    "kmeans": {"cost": lambda given: simple(program("kmeans"), "cost", kmeans_values(given)), "dir": kmeans_direction},
    "lstm": {"objective": lstm(False), "jacobian": lstm(True)},
    "llsq": of_vector("llsq", "n"),
    "lse": of_vector("lse"),
    "det": {"primal": det("value"), "gradient": det("grad")},
    "ht": {"objective": ht_errors, "jacobian": ht_jacobian},
    "ode": {"primal": ode_value, "gradient": ode_gradient},
    "particle": both(particle),
    "saddle": both(saddle),
}


# ---------------------------------------------------------------- the protocol

def timed(prepared: Prepared, min_runs: int, min_seconds: float) -> tuple[Any, list[int]]:
    """The last result and the nanoseconds of each run."""
    times: list[int] = []
    while len(times) < max(min_runs, 1) or sum(times) < min_seconds * 1e9:
        start = time.perf_counter_ns()
        result = prepared.run()
        times.append(time.perf_counter_ns() - start)
    return result, times


def evaluate(message: Any) -> Values:
    functions = EVALS.get(message["module"], {})
    if message["function"] not in functions:
        return {"success": False, "error": f"there is no function {message['function']} of an eval {message['module']}"}
    given = message["input"]
    runs = (given.get("min_runs", 1), given.get("min_seconds", 0)) if isinstance(given, dict) else (1, 0)
    start = time.perf_counter_ns()
    prepared = functions[message["function"]](given)
    prepared.run()
    ready = time.perf_counter_ns() - start
    result, times = timed(prepared, *runs)
    timings = [{"name": "prepare", "nanoseconds": ready}, *({"name": "evaluate", "nanoseconds": t} for t in times)]
    return {"success": True, "output": prepared.answer(result), "timings": timings}


def define(message: Any) -> Values:
    if message["module"] in EVALS:
        return {"success": True}
    return {"success": False, "error": f"there is no eval {message['module']}; there are {', '.join(EVALS)}"}


def response(message: Any) -> str:
    """One line for one message; what fails is said in it."""
    answers: dict[str, Callable[[Any], Values]] = {"start": lambda _: {"tool": "adcli"}, "define": define, "evaluate": evaluate}
    try:
        found = answers.get(message["kind"], lambda _: {})(message)
        return json.dumps({"id": message["id"]} | found, allow_nan=False)
    except Exception as error:   # the eval goes on with its next message
        return json.dumps({"id": message["id"], "success": False, "error": f"{type(error).__name__}: {error}"})


def main() -> None:
    global JOBS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="threads of a call")
    JOBS = parser.parse_args().jobs
    for line in sys.stdin:
        try:
            message = json.loads(line)
            _ = message["id"], message["kind"]
        except (ValueError, TypeError, KeyError):
            sys.exit(f"no message of the protocol, which has an id and a kind: {line[:100].rstrip()}")
        print(response(message), flush=True)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:   # the eval has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
