#!/usr/bin/env python3
"""Gradients beside the same equations in C under gcc -O3 -march=native -ffast-math; prints a table.

    taskset -c 1 python tests/tools/bench_gcc.py PROGRAM.ad… CASES.json… [--most N] [--only TEXT] [--seconds S] [--rows N]
        [--fast-math]

For every program (a file, or a case of a file as in tests/data): the value and all first partial derivatives, as native code
of adcli and as a C loop with one `double vN = …;` an equation. Both run alone, in turn, on the same memory on one thread: a
column an input and a result, at a distance that is no power of two. Points lie between those of a case, or in the declared
ranges. gcc may change roundings and assume that there is no NaN, and --fast-math gives adcli some of this licence; the column
`agree` is the share of finite numbers that are the same to nine digits all the same. A ratio above 1 means that adcli is the
faster. Programs with tensors are passed over; tests/tools/bench_tensors.py times such.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from adcli.codegen.c.spelling import language, number
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import Kernel, pointers
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.compiled import compile_program, linked
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Atom, Equation, Lit, Program, has_tensors
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE
from adcli.lang.tree.notation import ATOM, Piece

ROWS = 1 << 15
APART = 24
"""Doubles between columns."""
FLAGS = ["-O3", "-march=native", "-ffast-math", "-fPIC"]
EAGER = {"and": "&", "or": "|"}
"""Both sides are there already: && and || would be branches."""
C = language(DOUBLE)
CALLS = {"max": "fmax", "min": "fmin"}
"""With -ffast-math there is no NaN to tell these apart from ours."""


class Line(NamedTuple):
    """A program in the table; times are in nanoseconds a row."""

    name: str
    inputs: int
    outputs: int
    equations: int
    ours: float
    theirs: float
    agree: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        return (f"{self.name:40.40s} {self.inputs:6d} {self.outputs:7d} {self.equations:9d} {self.ours:9.2f} {self.theirs:9.2f} "
                f"{self.ratio:9.2f} {self.agree:7.1%}")


HEADER = f"{'program':40s} {'inputs':>6s} {'outputs':>7s} {'equations':>9s}" + "".join(
    f" {word:>9s}" for word in ("adcli", "gcc", "gcc/adcli")) + f" {'agree':>7s}"


# ---------------------------------------------------------------- programs and points

def programs(path: pathlib.Path, most: int, only: str) -> Iterator[tuple[str, Program, list[dict[str, float]]]]:
    """Name, program and sample points of a file, or of `most` of its cases, spread over it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".json":
        yield path.stem, parse(text, path.name), []
        return
    cases = [case for case in json.loads(text)["cases"] if only in case["id"]]
    for case in cases[::max(1, len(cases) // most)][:most]:
        points = [{x: float(digits) for x, digits in point["at"].items()} for point in case["points"]]
        yield case["id"], parse(case["program"], case["id"]), points


def sampled(program: Program, points: list[dict[str, float]], rows: int) -> np.ndarray:
    """Inputs, a row each: a point somewhere between two of the points, so that what they all satisfy is likely to hold."""
    rng = np.random.default_rng(0)
    (first, second), t = rng.integers(max(len(points), 1), size=(2, rows)), rng.random(rows)
    inputs = block(len(program.params), rows)
    for column, p in zip(inputs, program.params, strict=True):
        known = np.array([point[p.name] for point in points])
        if len(set(known)) > 1:
            column[:rows] = known[first] + t * (known[second] - known[first])
        else:
            column[:rows] = rng.uniform(*between(p.low, p.high, known), rows)
    return inputs


def between(low: float | None, high: float | None, known: np.ndarray) -> tuple[float, float]:
    """Where to sample an input of which there is no more than one value."""
    if len(known):
        width = 0.1 * abs(known[0]) or 0.1
        return known[0] - width, known[0] + width
    return (0.5, 1.5) if low is None or high is None else (low, high)


def block(columns: int, rows: int) -> np.ndarray:
    """Memory for columns, each at the beginning of a cache line."""
    stride = rows + APART
    memory = np.zeros(columns * stride + 8)
    first = -(memory.ctypes.data // 8) % 8
    return memory[first:first + columns * stride].reshape(columns, stride)


# ---------------------------------------------------------------- the program in C

def c_source(program: Program) -> str:
    """The function f(X, O, rows, distance of columns) as C."""
    names: dict[Atom, Piece] = {p.var: (f"x{i}", ATOM) for i, p in enumerate(program.params)}

    def piece(a: Atom) -> Piece:
        return number(a.value) if isinstance(a, Lit) else names[a]
    lines = [f"double x{i} = X[{i} * s + i];" for i in range(len(program.params))]
    for i, e in enumerate(program.equations):
        names[e.outs[0]] = (f"v{i}", ATOM)
        lines.append(f"{'_Bool' if e.op.truth else 'double'} v{i} = {c_operation(e, [piece(a) for a in e.args])};")
    lines += [f"O[{i} * s + i] = {piece(r.atom)[0]};" for i, r in enumerate(program.results)]
    return "\n".join([
        "#include <math.h>", "#include <stddef.h>",
        "void f(const double *restrict X, double *restrict O, ptrdiff_t n, ptrdiff_t s) {",
        "#pragma GCC ivdep", "for (ptrdiff_t i = 0; i < n; i++) {", *lines, "}}", ""])


def c_operation(e: Equation, args: list[Piece]) -> str:
    if e.op.name in EAGER:
        return f" {EAGER[e.op.name]} ".join(text for text, _ in args)
    return C.operation(e, CALLS.get(e.op.name, e.op.c), args)[0]


def c_function(program: Program) -> Callable[..., None]:
    """The compiled C; the library stays loaded after its file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        source, code, library = (pathlib.Path(folder) / name for name in ("f.c", "f.o", "f.so"))
        source.write_text(c_source(program))
        subprocess.run(["gcc", *FLAGS, "-c", str(source), "-o", str(code)], check=True)
        # Linked without -ffast-math, which would make the loaded library switch off subnormal numbers in the whole process.
        subprocess.run(["gcc", "-shared", str(code), "-o", str(library), "-lmvec", "-lm"], check=True)
        function = ctypes.CDLL(str(library)).f
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    function.restype = None
    return function


# ---------------------------------------------------------------- beside each other

def compared(name: str, source: Program, points: list[dict[str, float]], seconds: float, rows: int, fast: bool) -> Line:
    program = for_machine(gradient(source))
    kernel, theirs = native(program, fast), c_function(program)
    inputs, outputs = sampled(program, points, rows), block(len(program.results), rows)
    given, into = addresses(inputs), addresses(outputs)
    work = kernel.workspace()

    def run_ours() -> None:
        kernel(given, into, 0, rows, work)

    at, to = inputs.ctypes.data, outputs.ctypes.data

    def run_theirs() -> None:
        theirs(at, to, rows, rows + APART)

    run_ours()
    got = outputs[:, :rows].copy()
    run_theirs()
    agree = agreement(got, outputs[:, :rows])
    best = fastest([run_ours, run_theirs], seconds)
    return Line(name, len(program.params), len(program.results), len(program.equations), *(t / rows * 1e9 for t in best), agree)


def native(program: Program, fast: bool) -> Kernel:
    if not fast:
        return compile_program(program)
    module = llvm.emit(program, veclib.lanes(), veclib.host(), numbers=llvm.Numbers(fast=True))
    return linked(jit.object_code(module.text), module.entry)


def addresses(columns: np.ndarray) -> Any:
    return pointers([column.ctypes.data for column in columns])


def agreement(got: np.ndarray, wanted: np.ndarray) -> float:
    """The share of numbers that are the same to nine digits among those that are finite on both sides."""
    finite = np.isfinite(got) & np.isfinite(wanted)
    close = np.isclose(got[finite], wanted[finite], rtol=1e-9, atol=1e-300)
    return float(close.mean()) if close.size else math.nan


def fastest(runs: list[Callable[[], None]], seconds: float, least: int = 5) -> list[float]:
    """The shortest time of each, taken in turn so that a drift of the machine meets all alike."""
    best, end, rounds = [math.inf] * len(runs), time.perf_counter() + seconds * len(runs), 0
    while rounds < least or time.perf_counter() < end:
        for i, one in enumerate(runs):
            one()
            start = time.perf_counter()
            one()
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return best


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="programs, or JSON files of cases")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="cases of each JSON file at most")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose id contains this")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="time for each side of a program")
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help="rows, a multiple of 8 (default: 2**15)")
    parser.add_argument("--fast-math", action="store_true", help="as adcli's option of that name")
    args = parser.parse_args(arguments)
    print(HEADER)
    lines = []
    for path in args.files:
        for name, program, points in programs(path, args.most, args.only):
            if has_tensors(program):
                continue
            lines.append(compared(name, program, points, args.seconds, args.rows, args.fast_math))
            print(lines[-1], flush=True)
    if not lines:
        return 1
    worst = min(lines, key=lambda line: line.ratio)
    mean = math.exp(sum(math.log(line.ratio) for line in lines) / len(lines))
    print(f"{len(lines)} programs, worst {worst.ratio:.2f} ({worst.name}), geometric mean {mean:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
