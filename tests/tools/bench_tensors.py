#!/usr/bin/env python3
"""Programs with tensors beside JAX's jit on the same work; prints a table of microseconds a call.

    python tests/tools/bench_tensors.py [--only TEXT] [--size N] [--seconds S] [--no-jax] [--scaling] [--precision single]
        [--fast-math]

Each line is one program at one size: its results, and its results with the adjoints of the inputs (for a scalar result the
gradient). Ours are Functions, given arrays and floats; JAX gets arrays that it has already, and its results are waited for. Both
run in turn, in one process, and the least of several times counts. With `--scaling` adcli with one thread stands in the place of
JAX, so that the ratio says what threads are worth. A ratio above 1 means that adcli is the faster; `agree` is the largest
difference of any result, relative to the largest of its numbers. Under `taskset -c 0` both have one thread, and the time is that
of the process, without what others on the machine take. Loops over time are models of tests/programs/models, and those of
make_model_references.py with `lax.scan`; their size is the number of steps.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from adcli.codegen.machine.kernel import processors
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.ir import Program
from adcli.lang.ir.primitives import exp, log, relu, sigmoid
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import PRECISIONS, Precision
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.simplify.simplify import simplify

from adcli.api.function import Function

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS / "helpers"))

from tensor_notation import Tensors  # noqa: E402


class Work(NamedTuple):
    """A program, the shapes of its inputs at each size (whole numbers as they stand, and subscripts as "int" with their end), and
    the sizes."""

    name: str
    program: Callable[[], Program]
    shapes: Callable[[int], dict[str, Any]]
    sizes: tuple[int, ...]


# ---------------------------------------------------------------- the programs

def matrix_vector() -> Program:
    t = Tensors(A="M N", B="N")
    return t.make("C", "i", "+", "i:M j:N", ["A i j", "B j"], lambda a, b: a * b).program("C")


def matrix_matrix() -> Program:
    t = Tensors(A="M K", B="K N")
    return t.make("C", "i j", "+", "i:M j:N k:K", ["A i k", "B k j"], lambda a, b: a * b).program("C")


def convolution() -> Program:
    t = Tensors(I="N C H W", F="M C KH KW")
    return t.make("O", "n m h w", "+", "n:N m:M h:H-KH+1 w:W-KW+1 c:C kh:KH kw:KW", ["I n c h+kh w+kw", "F m c kh kw"],
                  lambda a, b: a * b).program("O")


def mixture() -> Program:
    """ADBench's GMM: the log-likelihood of points x under K Gaussians with inverse covariance factors exp(q) + L, and a Wishart
    prior without its constants."""
    t = Tensors(a="K", mu="K D", q="K D", L="K D D", x="N D", g="")
    points, pairs = "n:N k:K i:D", "k:K i:D j:D"
    t.make("e", "k i", "=", "k:K i:D", ["q k i"], exp)
    t.make("c", "n k i", "=", points, ["x n i", "mu k i"], lambda x, m: x - m)
    t.make("y0", "n k i", "=", points, ["e k i", "c n k i"], lambda e, c: e * c)
    t.make("y", "n k i", "+", points + " j:D", ["L k i j", "c n k j"], lambda low, c: low * c, guards=["i-j-1"], onto="y0")
    t.make("s", "n k", "+", points, ["y n k i"], lambda y: y * y)
    t.make("p", "k", "+", "k:K i:D", ["q k i"], lambda q: q)
    t.make("w", "n k", "=", "n:N k:K", ["a k", "p k", "s n k"], lambda a, p, s: a + p - 0.5 * s)
    t.make("m", "n", "max", "n:N k:K", ["w n k"], lambda w: w)
    t.make("z", "n", "+", "n:N k:K", ["w n k", "m n"], lambda w, m: exp(w - m))
    t.make("f0", "", "+", "n:N", ["z n", "m n"], lambda z, m: log(z) + m)
    t.make("am", "", "max", "k:K", ["a k"], lambda a: a)
    t.make("az", "", "+", "k:K", ["a k", "am"], lambda a, m: exp(a - m))
    t.make("f1", "", "=", "", ["f0", "am", "az", "=N"], lambda f, m, z, n: f - n * (log(z) + m))
    t.make("r0", "", "+", "k:K i:D", ["e k i", "q k i", "g"], lambda e, q, g: 0.5 * g * g * (e * e) - q)
    t.make("r1", "", "+", pairs, ["L k i j", "g"], lambda low, g: 0.5 * g * g * (low * low), guards=["i-j-1"])
    return t.make("f", "", "=", "", ["f1", "r0", "r1"], lambda f, a, b: f + a + b).program("f")


def affine_layer(t: Tensors, out: str, x: str, inputs: str, outputs: str, w: str, b: str, function: Callable[..., Any]) -> None:
    t.make(out + "0", "n o", "+", f"n:N o:{outputs} i:{inputs}", [f"{x} n i", f"{w} i o"], lambda x, w: x * w)
    t.make(out, "n o", "=", f"n:N o:{outputs}", [f"{out}0 n o", f"{b} o"], lambda z, b: function(z + b))


def feed_forward() -> Program:
    """The first network of seeds/004: three affine layers with sigmoid and relu, squared loss."""
    t = Tensors(x="N I", y="N O", w1="I P", b1="P", w2="P Q", b2="Q", w3="Q O", b3="O")
    affine_layer(t, "h", "x", "I", "P", "w1", "b1", sigmoid)
    affine_layer(t, "g", "h", "P", "Q", "w2", "b2", relu)
    affine_layer(t, "u", "g", "Q", "O", "w3", "b3", lambda z: z)
    return t.make("f", "", "+", "n:N o:O", ["u n o", "y n o"], lambda u, y: (u - y) * (u - y)).program("f")


def recurrent() -> Program:
    """The second network of seeds/004: three time steps of relu on an affine map of input and state, squared loss."""
    t = Tensors(x="N T I", y="N O", w1="J S", b1="S", w2="S O", b2="O", s0="N S")
    for k in range(3):
        t.make(f"c{k}", "n i", "=", "n:N i:I", [f"x n {k} i"], lambda x: x, shape="N J")
        t.make(f"d{k}", "n I+o", "=", "n:N o:S", [f"s{k} n o"], lambda s: s, shape="N J", onto=f"c{k}")
        affine_layer(t, f"s{k + 1}", f"d{k}", "J", "S", "w1", "b1", relu)
    affine_layer(t, "u", "s3", "S", "O", "w2", "b2", lambda z: z)
    return t.make("f", "", "+", "n:N o:O", ["u n o", "y n o"], lambda u, y: (u - y) * (u - y)).program("f")


CAUSAL_ATTENTION = """
input q(T, E), k(T, E), v(T, E)
s(t, u) +=! q(t, e) * k(u, e) / sqrt(E) where u in 0:t + 1
z(t) lse=! s(t, u) where u in 0:t + 1
w(t, u) = exp(s(t, u) - z(t)) where u in 0:t + 1
a(t, e) +=! w(t, u) * v(u, e) where u in 0:t + 1
output a
"""
LAYER_NORM = """
input x(T, D), g(D), b(D)
mean(t) +=! x(t, d) / D
var(t) +=! (x(t, d) - mean(t))**2 / D
y(t, d) = g(d) * (x(t, d) - mean(t)) / sqrt(var(t) + 1e-5) + b(d)
output y
"""
DEEP = """
input x(N, I), W(I, H), b(H), V(H, H), c(H), U(H, O), d(O)
param label(N, O)
p(n, j) +=! x(n, i) * W(i, j)
q(n, j) +=! tanh(p(n, i) + b(i)) * V(i, j)
r(n, j) +=! tanh(q(n, i) + c(i)) * U(i, j)
z(n) lse=! r(n, j) + d(j)
L +=! label(n, j) * (z(n) - r(n, j) - d(j))
output L
"""


def text(source: str) -> Callable[[], Program]:
    return lambda: parse(source)


def model(name: str) -> Callable[[], Program]:
    return lambda: parse((TESTS / "programs/models" / f"{name}.ad").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the same in JAX

def peers(precision: Precision) -> dict[str, Callable[..., dict[str, Any]]]:
    """The functions of JAX arrays; imported only where they are wanted."""
    import jax
    import jax.numpy as jnp

    def gmm(a: Any, mu: Any, q: Any, L: Any, x: Any, g: Any) -> dict[str, Any]:
        e, low, c = jnp.exp(q), jnp.tril(L, -1), x[:, None, :] - mu
        y = e * c + jnp.einsum("kij,nkj->nki", low, c)
        w = a + q.sum(1) - 0.5 * (y * y).sum(2)
        lse = jax.scipy.special.logsumexp
        prior = 0.5 * g * g * ((e * e).sum() + (low * low).sum()) - q.sum()
        return {"f": lse(w, axis=1).sum() - x.shape[0] * lse(a) + prior}

    def ffn(x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> dict[str, Any]:
        h = jax.nn.relu(jax.nn.sigmoid(x @ w1 + b1) @ w2 + b2)
        return {"f": ((h @ w3 + b3 - y) ** 2).sum()}

    def rnn(x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, s0: Any) -> dict[str, Any]:
        s = s0
        for k in range(3):
            s = jax.nn.relu(jnp.concatenate([x[:, k], s], axis=1) @ w1 + b1)
        return {"f": ((s @ w2 + b2 - y) ** 2).sum()}

    def conv(**at: Any) -> dict[str, Any]:
        return {"O": jax.lax.conv(at["I"], at["F"], (1, 1), "VALID")}

    def causal_attention(q: Any, k: Any, v: Any) -> dict[str, Any]:
        s = jnp.where(np.tri(len(q), dtype=bool), q @ k.T / np.sqrt(q.shape[1]), -jnp.inf)
        return {"a": jax.nn.softmax(s) @ v}

    def deep(x: Any, W: Any, b: Any, V: Any, c: Any, U: Any, d: Any, label: Any) -> dict[str, Any]:
        r = jnp.tanh(jnp.tanh(x @ W + b) @ V + c) @ U + d
        return {"L": -(label * jax.nn.log_softmax(r)).sum()}

    def lost(loss: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
        return lambda **at: {"L": loss(**at)}

    from make_model_references import MODELS, layer_norm
    jax.config.update("jax_enable_x64", precision.name == "double")   # which that has set
    return {name: lost(m.loss) for name, m in MODELS.items()} | {
        "matrix_vector": lambda A, B: {"C": A @ B}, "matrix_matrix": lambda A, B: {"C": A @ B}, "convolution": conv,
        "mixture": gmm, "feed_forward": ffn, "recurrent": rnn, "causal_attention": causal_attention, "deep": deep,
        "layer_norm": lambda x, g, b: {"y": layer_norm(x, g, b)}}


WORK = (
    Work("matrix_vector", matrix_vector, lambda n: {"A": (n, n), "B": (n,)}, (16, 64, 256, 1024)),
    Work("matrix_matrix", matrix_matrix, lambda n: {"A": (n, n), "B": (n, n)}, (16, 32, 64, 128, 256, 512, 1024, 2048, 3072)),
    Work("convolution", convolution, lambda n: {"I": (2, 8, n + 2, n + 2), "F": (8, 8, 3, 3)}, (8, 32, 64, 128)),
    Work("mixture", mixture,
         lambda n: {"a": (25,), "mu": (25, n), "q": (25, n), "L": (25, n, n), "x": (1000, n), "g": ()}, (2, 10, 32, 64)),
    Work("feed_forward", feed_forward, lambda n: {"x": (n, n), "y": (n, n), "w1": (n, n), "b1": (n,), "w2": (n, n), "b2": (n,),
                                                  "w3": (n, n), "b3": (n,)}, (2, 16, 64, 256)),
    Work("recurrent", recurrent, lambda n: {"x": (n, 3, n), "y": (n, n), "w1": (2 * n, n), "b1": (n,), "w2": (n, n), "b2": (n,),
                                            "s0": (n, n)}, (2, 16, 64, 256)),
    Work("deep", text(DEEP), lambda n: {"x": (n, 784), "W": (784, 256), "b": (256,), "V": (256, 256), "c": (256,), "U": (256, 10),
                                        "d": (10,), "label": (n, 10)}, (256,)),
    Work("layer_norm", text(LAYER_NORM), lambda n: {"x": (n, 768), "g": (768,), "b": (768,)}, (512,)),
    Work("attention", model("attention"), lambda n: {**dict.fromkeys("qkvy", (n, 256)), "R": (4, 64, 256)}, (64, 256)),
    Work("causal_attention", text(CAUSAL_ATTENTION), lambda n: {"q": (n, 64), "k": (n, 64), "v": (n, 64)}, (64, 256, 512)),
    Work("transformer_block", model("transformer_block"),
         lambda n: {"x": (n, 128), "g1": (128,), "b1": (128,), **dict.fromkeys("QKV", (128, 4, 32)), "R": (4, 32, 128),
                    "g2": (128,), "b2": (128,), "W1": (128, 512), "c1": (512,), "W2": (512, 128), "c2": (128,), "y": (n, 128)},
         (64, 256)),
    Work("graph_network", model("graph_network"),
         lambda n: {**dict.fromkeys(("W1", "U1", "W2", "U2"), (64, 64)), "o": (64,), "x": (n, 64), "src": ("int", n, 8 * n),
                    "dst": ("int", n, 8 * n), "y": ()}, (1000,)),
    Work("lstm", model("lstm"), lambda n: {"W": (64, 4, 256), "U": (256, 4, 256), "b": (4, 256), "h0": (64, 256), "c0": (64, 256),
                                           "x": (n, 64, 64), "y": (64, 256)}, (128,)),
    Work("gru", model("gru"), lambda n: {"W": (64, 3, 256), "U": (256, 3, 256), "b": (3, 256), "c": (256,), "h0": (64, 256),
                                         "x": (n, 64, 64), "y": (64, 256)}, (128,)),
    Work("heat", model("heat"), lambda n: {"u0": (256, 256), "k": (256, 256), "y": (256, 256), "T": n}, (100,)),
    Work("hidden_markov", model("hidden_markov"), lambda n: {"p": (64,), "A": (64, 64), "B": (64, 16), "o": ("int", 16, n)},
         (500,)),
    Work("lotka_volterra", model("lotka_volterra"),
         lambda n: {**dict.fromkeys(("x0", "y0", "a", "b", "c", "d", "dt"), ()), "T": n}, (10_000,)),
)
SCALES = {"U": 0.1, "k": 0.1, "dt": 1e-3}
"""What the numbers of an input are multiplied by: with these the loops stay finite."""


# ---------------------------------------------------------------- the measurement

def best(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Microseconds a call of each, run in turn: the least of several."""
    clock = time.process_time if processors() == 1 else time.perf_counter
    counts = []
    for call in calls:
        call()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < seconds / 20:
            call()
            n += 1
        counts.append(max(1, n // 2))
    found = [float("inf")] * len(calls)
    end = time.perf_counter() + seconds
    turns = 0
    while turns < 3 or (time.perf_counter() < end and turns < 200):
        turns += 1
        for k, (call, n) in enumerate(zip(calls, counts, strict=True)):
            start = clock()
            for _ in range(n):
                call()
            found[k] = min(found[k], (clock() - start) / n * 1e6)
    return found


def in_precision(values: dict[str, Any], precision: Precision) -> dict[str, Any]:
    """The real numbers among the values in a precision."""
    return {name: np.asarray(x, precision.code) if np.asarray(x).dtype.kind == "f" else x for name, x in values.items()}


def point(work: Work, size: int) -> dict[str, Any]:
    """Random inputs."""
    random = np.random.default_rng(size)

    def drawn(name: str, shape: Any) -> Any:
        if isinstance(shape, int):
            return shape
        if shape[:1] == ("int",):
            return random.integers(0, shape[1], shape[2:])
        numbers = random.standard_normal(shape) / 2 * SCALES.get(name, 1)
        return np.abs(numbers) if shape == () or name == "k" else numbers
    return {name: drawn(name, shape) for name, shape in work.shapes(size).items()}


def measured(only: str, size: int | None, seconds: float, other: str, jobs: int | None, precision: Precision,
             fast: bool) -> Iterator[str]:
    """Lines of the table; the `other` is "JAX", "one thread" or nobody."""
    known = peers(precision) if other == "JAX" else {}
    for work in WORK:
        if only not in work.name:
            continue
        program = simplify(work.program())
        reverse = simplify(adjoints(program))
        value, derivative = (function(p, precision, fast) for p in (program, reverse))
        for n in work.sizes if size is None else [n for n in work.sizes if n == size]:
            random = np.random.default_rng(n)
            at = in_precision(point(work, n), precision)
            out = value(at)
            seeds = {f"d_d{name}": random.standard_normal(a.shape) if a.shape else np.array(1.0)
                     for name, a in zip(out, map(np.asarray, out.values()), strict=True)}
            seeds = in_precision(seeds, precision)
            sizes = {name for name, x in at.items() if isinstance(x, int)}
            wrt = [name for name in at if f"d_d{name}" in {r.name for r in reverse.results}]
            for kind, kernel, values in (("value", value, at), ("gradient", derivative, {**at, **seeds})):
                given = {name: float(x) if np.shape(x) == () and name not in sizes else x for name, x in values.items()}
                calls: list[Callable[[], Any]] = [lambda k=kernel, a=given: k(a, jobs=jobs)]
                agree = float("nan")
                if other:
                    calls.append(peer_call(known[work.name], kind, at, seeds, wrt) if other == "JAX" else
                                 lambda k=kernel, a=given: k(a, jobs=1))
                    agree = difference(kernel(given), calls[1]())
                times = best(calls, seconds)
                theirs = times[1] if other else float("nan")
                name = f"{work.name:17s} {n:5d} {kind:9s}"
                yield f"{name} {times[0]:11.1f} {theirs:13.1f} {theirs / times[0]:8.2f} {agree:9.0e}"


def function(program: Program, precision: Precision, fast: bool = False) -> Function:
    """A Function whose code is made well at once, for all shapes."""
    found = Function(program, precision=precision.name, fast_math=fast)
    found._kernel = compile_tensors(program, precision=precision, fast=fast)
    return found


def peer_call(function: Callable[..., dict[str, Any]], kind: str, at: dict[str, Any], seeds: dict[str, np.ndarray],
              wrt: list[str]) -> Callable[[], dict[str, Any]]:
    """JAX's value, or value and adjoints under the names of ours. Whole numbers are part of its program."""
    import jax
    sizes = {k: a for k, a in at.items() if isinstance(a, int)}
    varied, kept, cotangents = ({k: jax.device_put(a) for k, a in d.items()} for d in (
        {k: at[k] for k in wrt}, {k: a for k, a in at.items() if k not in wrt and k not in sizes}, seeds))

    def both(varied: dict[str, Any], kept: dict[str, Any], cotangents: dict[str, Any]) -> dict[str, Any]:
        out, back = jax.vjp(lambda d: function(**d, **kept, **sizes), varied)
        (adjoint,) = back({k.removeprefix("d_d"): v for k, v in cotangents.items()})
        return {**out, **{f"d_d{k}": v for k, v in adjoint.items()}}

    if kind == "value":
        run = jax.jit(lambda varied, kept: function(**varied, **kept, **sizes))
        return lambda: jax.block_until_ready(run(varied, kept))
    derivative = jax.jit(both)
    return lambda: jax.block_until_ready(derivative(varied, kept, cotangents))


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """The largest difference of any result that both have, relative to the largest of its numbers."""
    found = [0.0]
    for name in set(ours) & set(theirs):
        x, y = np.asarray(ours[name]), np.asarray(theirs[name])
        found.append(float(np.max(np.abs(x - y)) / (np.max(np.abs(y)) or 1.0)))
    return max(found)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("--only", default="", help="programs whose name has this text")
    arguments.add_argument("--size", type=int, help="this size only")
    arguments.add_argument("--seconds", type=float, default=0.6, help="a line")
    arguments.add_argument("--jobs", type=int, help="threads of adcli (default: one for each processor)")
    arguments.add_argument("--no-jax", action="store_true")
    arguments.add_argument("--precision", choices=PRECISIONS, default="double", help="of both")
    arguments.add_argument("--fast-math", action="store_true", help="as adcli's option of that name")
    arguments.add_argument("--scaling", action="store_true")
    chosen = arguments.parse_args()
    other = "one thread" if chosen.scaling else "" if chosen.no_jax else "JAX"
    print(f"{'program':17s} {'size':>5s} {'':9s} {'adcli µs':>11s} {other + ' µs':>13s} {'ratio':>8s} {'agree':>9s}")
    for line in measured(chosen.only, chosen.size, chosen.seconds, other, chosen.jobs, PRECISIONS[chosen.precision],
                         chosen.fast_math):
        print(line, flush=True)


if __name__ == "__main__":
    main()
