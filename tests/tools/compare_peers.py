#!/usr/bin/env python3
"""The figures of the comparison in README.md, measured in one run, and written between its marks.

    taskset -c 0 python tests/tools/compare_peers.py [--seconds S] [--write]

Needs JAX, CasADi (the extra `engines`) and gcc. Without --write the text is printed. Everything runs on one thread,
in turns where that is possible, and the least time counts; times of processes are medians of fifteen.
"""
from __future__ import annotations

import argparse
import json
import math
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import adcli

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- tests/tools/compare_peers.py -->\n", "<!-- end of the figures -->\n"
ROWS, ROWS_CASADI = 1 << 15, 1 << 12
VARIABLES = 10_000
NAN = math.nan


class Kernel(NamedTuple):
    """Nanoseconds for each row: the value and all first derivatives."""

    program: str
    shape: str
    adcli: float
    jax: float
    casadi: float
    gcc: float


START = "start to result, the gradient of the first sample, ms"
CALL = "one call of it from Python, µs"
HESSIANS = [f"sparse Hessian of Rosenbrock's function, {VARIABLES:,} variables, written {how}, s"
            for how in ("as a sum", "term by term")]
TENSORS = {"matrix product, 512 × 512": ("matrix_matrix", 512), "convolution of images, 64 × 64": ("convolution", 64),
           "LSTM, 128 steps": ("lstm", 128)}
OF_TENSORS = [f"{title}: value and gradient, ms" for title in TENSORS]
JOBS = [(START, False, False), (CALL, True, False), *((title, True, False) for title in HESSIANS),
        *((title, False, True) for title in OF_TENSORS)]
"""The jobs of the second table, and whether JAX and CasADi have no figure there."""


class Job(NamedTuple):
    """The times of one job in its unit; NaN where a tool does not have it."""

    what: str
    adcli: float
    jax: float
    casadi: float


# ---------------------------------------------------------------- the text

def rendered(kernels: list[Kernel], jobs: list[Job], machine: str) -> str:
    """What stands between the marks."""
    rows = [f"| {k.program} | {k.shape} | {' | '.join(map(figure, k[2:]))} |" for k in kernels]
    others = [f"| {j.what} | {' | '.join(map(figure, j[1:]))} |" for j in jobs]
    return "\n".join([
        f"Nanoseconds per row for the value and all first derivatives, {ROWS:,} rows, one thread, all in one run on {machine}:",
        "", "| program | inputs → outputs | adcli | JAX, `jit(vmap(…))` | CasADi, `map` | gcc `-O3 -ffast-math` |",
        "|---|---|---|---|---|---|", *rows, "", "| in the same run | adcli | JAX | CasADi |", "|---|---|---|---|", *others, ""])


def figure(x: float) -> str:
    """Two digits; of an absent one a dash."""
    return "–" if math.isnan(x) else f"{float(f'{x:.2g}'):,.0f}" if x >= 9.95 else f"{x:.1f}" if x >= 0.995 else f"{x:.2g}"


def parts(text: str) -> tuple[str, str, str]:
    """The text before the figures, they, and after them."""
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md must have the marks {BEGIN.strip()} and {END.strip()}")
    return before + begin, between, end + after


def shape(text: str) -> str:
    """The text without its figures and the name of the machine."""
    return re.sub(r"(?<=\| )(–|[\d.,]+)(?= \|)", "#", re.sub(r"on [^:\n]+:$", "on #:", text, flags=re.M))


def machine() -> str:
    name = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text("utf-8"), re.M)
    return (name[1] if name else platform.machine()).replace("Processor", "").strip()


# ---------------------------------------------------------------- rows

def programs() -> Iterator[tuple[str, str]]:
    """Name and text of each program of numbers."""
    for name, path in (("`samples/worked.ad`", "worked"), ("Rosenbrock's function", "rosenbrock"),
                       ("Black-Scholes price", "black_scholes")):
        yield name, (ROOT / "samples" / f"{path}.ad").read_text("utf-8")
    cases = json.loads((ROOT / "tests" / "data" / "adbench.json").read_text("utf-8"))["cases"]
    yield "bundle-adjustment residual", next(c["program"] for c in cases if c["id"] == "adbench/ba-reproj-select")


def kernel(name: str, text: str, seconds: float) -> Kernel:
    from adcli.lang.lower.frontend import parse
    from bench_gcc import compared, fastest
    function = adcli.compile(text)
    jacobian = function.jacobian()
    draw = np.random.default_rng(0).uniform
    at = {p.name: draw(0.5, 1.5, ROWS) if p.low is None or p.high is None else draw(p.low, p.high, ROWS)
          for p in function.program.params}
    out = jacobian(at, jobs=1)
    evaluate = python(text)
    runs = [lambda: jacobian(at, jobs=1, out=out), jax_rows(evaluate, at, function.outputs),
            casadi_rows(evaluate, at, function.outputs)]
    ours, jax, casadi = fastest(runs, seconds)
    line = compared(name, parse(text), [], seconds, ROWS, False)
    mine = ours / ROWS * 1e9
    return Kernel(name, inputs_and_outputs(text), mine, jax / ROWS * 1e9, casadi / ROWS_CASADI * 1e9, mine * line.ratio)


def inputs_and_outputs(text: str) -> str:
    function = adcli.compile(text)
    return f"{len(function.inputs)} → {len(function.outputs)}"


def python(text: str) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """The program as a function of the functions it calls and of its inputs: its lines in single-assignment form are Python."""
    shown = subprocess.run([sys.executable, "-m", "adcli", "show", "--stage", "ssa", "-"], input=text, text=True, check=True,
                           capture_output=True).stdout
    lines = [re.sub(r"= (.+) \? (.+) : (.+)", r"= where(\1, \2, \3)", line)
             for line in shown.splitlines() if re.match(r"\w+ = ", line)]
    code = compile("\n".join(lines), "program", "exec")

    def evaluate(functions: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        names = {**functions, **inputs}
        exec(code, names)
        return names
    return evaluate


def jax_rows(evaluate: Callable[..., dict[str, Any]], at: dict[str, Any], outputs: Sequence[str]) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erf, erfc
    jax.config.update("jax_enable_x64", True)
    functions = {name: getattr(jnp, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "where")}

    def value(*x: Any) -> Any:
        found = evaluate({**functions, "erf": erf, "erfc": erfc}, dict(zip(at, x, strict=True)))
        values = [found[name] for name in outputs]
        return values[0] if len(values) == 1 else jnp.stack(values)
    every = tuple(range(len(at)))
    both = jax.value_and_grad(value, every) if len(outputs) == 1 else lambda *x: (value(*x), jax.jacrev(value, every)(*x))
    run, given = jax.jit(jax.vmap(both)), [jnp.asarray(x) for x in at.values()]
    return lambda: jax.block_until_ready(run(*given))


def casadi_rows(evaluate: Callable[..., dict[str, Any]], at: dict[str, Any], outputs: Iterable[str]) -> Callable[[], Any]:
    import casadi
    symbols = {name: casadi.SX.sym(name) for name in at}
    functions = {name: getattr(casadi, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "erf")}
    found = evaluate({**functions, "erfc": lambda x: 1 - casadi.erf(x), "where": casadi.if_else}, symbols)
    inputs, values = casadi.vertcat(*symbols.values()), casadi.vertcat(*[found[name] for name in outputs])
    function = casadi.Function("f", [inputs], [values, casadi.jacobian(values, inputs)]).map(ROWS_CASADI)
    points = np.stack([x[:ROWS_CASADI] for x in at.values()])
    return lambda: function(points)


# ---------------------------------------------------------------- processes, calls, a large Hessian, tensors

CASADI = """
import casadi
x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
p = 7*x; r = 1/y; q = p*x*5; v = 2*p*q + 3*r
"""
PROCESSES = {
    "adcli": ("-m", "adcli", "grad", str(ROOT / "samples" / "worked.ad"), "--at", "x=2,y=5"),
    "jax": ("-c", "import jax\ndef f(x, y):\n p = 7*x; r = 1/y; q = p*x*5\n return 2*p*q + 3*r\n"
                  "print(f(2., 5.), jax.jit(jax.grad(f, (0, 1)))(2., 5.))"),
    "casadi": ("-c", CASADI + "print(casadi.Function('f', [x, y], [v, casadi.gradient(v, casadi.vertcat(x, y))])(2, 5))"),
}


def processes() -> Job:
    """Start to result of the first sample's gradient."""
    times: dict[str, list[float]] = {name: [] for name in PROCESSES}
    for _ in range(16):
        for name, words in PROCESSES.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            times[name].append((time.perf_counter() - start) * 1e3)
    return Job(START, *(statistics.median(t[1:]) for t in times.values()))


def calls(seconds: float) -> Job:
    """One call of a compiled gradient from Python."""
    import casadi
    from bench_gcc import fastest
    names: dict[str, Any] = {}
    exec(CASADI, names)
    x, y, v = names["x"], names["y"], names["v"]
    theirs = casadi.Function("f", [x, y], [v, casadi.gradient(v, casadi.vertcat(x, y))])
    ours = adcli.load(str(ROOT / "samples" / "worked.ad")).grad()
    runs = [lambda: [ours(x=2.0, y=5.0) for _ in range(1000)], lambda: [theirs(2.0, 5.0) for _ in range(1000)]]
    mine, casadis = (t * 1e3 for t in fastest(runs, seconds))
    return Job(CALL, mine, NAN, casadis)


def large_hessians() -> Iterator[Job]:
    """Reading, differentiating and one value of the Hessian of Rosenbrock's function of many variables."""
    import casadi
    start = time.perf_counter()
    x = casadi.SX.sym("x", VARIABLES)
    f = casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    hessian = casadi.Function("h", [x], [casadi.hessian(f, x)[0]])
    nonzero = hessian(np.ones(VARIABLES)).nnz()
    theirs = time.perf_counter() - start
    written = "f = " + " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(VARIABLES - 1)) + "\n"
    texts = ("input x(N)\nf +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2\n", {"x": np.ones(VARIABLES)}), (
        written, {f"x{i}": 1.0 for i in range(VARIABLES)})
    for title, (text, at) in zip(HESSIANS, texts, strict=True):
        start = time.perf_counter()
        found = adcli.compile(text).hessian().sparse(at)
        ours = time.perf_counter() - start
        assert found.nnz == nonzero, title
        yield Job(title, ours, NAN, theirs)


def tensors(seconds: float) -> Iterator[Job]:
    """Gradients of programs with tensors, in milliseconds."""
    from adcli.lang.operations.precision import PRECISIONS
    from bench_tensors import measured
    for title, (name, size) in zip(OF_TENSORS, TENSORS.values(), strict=True):
        line = next(x for x in measured(name, size, seconds, "JAX", 1, PRECISIONS["double"], False) if " gradient " in x)
        ours, theirs = map(float, line.split()[3:5])
        yield Job(title, ours / 1e3, theirs / 1e3, NAN)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each figure")
    parser.add_argument("--write", action="store_true", help="into README.md")
    given = parser.parse_args()
    kernels = [kernel(name, text, given.seconds) for name, text in programs()]
    jobs = [processes(), calls(given.seconds), *large_hessians(), *tensors(given.seconds)]
    text = rendered(kernels, jobs, machine())
    if given.write:
        before, _, after = parts(README.read_text("utf-8"))
        README.write_text(before + text + after, "utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
