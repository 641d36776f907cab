#!/usr/bin/env python3
"""Models with small matrices, gathers and loops beside JAX's jit; prints a table of microseconds a call.

    python tests/tools/bench_models.py [--only TEXT] [--seconds S] [--gradients]

Each row is one model at one size: its loss, and the loss with its gradient. Both sides compute in double precision on one
thread: the process keeps to one processor, and the time is its own. They run in turn, and the least of several times counts. A
ratio above 1 says how many times slower adcli is; `agree` is the largest difference of any result, relative to the largest of
its numbers, and beyond 1e-6 the exit status is 1. Ours are Functions that are given arrays; JAX gets arrays that it has already,
and its results are waited for. Models of tests/programs/models come from there, and their JAX from make_model_references.py.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from adcli.lang.operations.precision import DOUBLE

import adcli

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.append(str(TOOLS))

from bench_tensors import best, difference, function  # noqa: E402
from make_model_references import MODELS  # noqa: E402   which makes JAX compute in doubles

Draw = Callable[[np.random.Generator, int], dict[str, Any]]
APART = 1e-6


class Row(NamedTuple):
    """A model with the loss L: its text, the loss of JAX arrays under the same names, its inputs at a size, by which of them it
    is differentiated, its size in the table, and its least one."""

    text: str
    loss: Callable[..., Any]
    draw: Draw
    wrt: tuple[str, ...]
    size: int
    least: int = 2


# ---------------------------------------------------------------- operations on small matrices

OPERATIONS: dict[str, tuple[str, int, str, Callable[..., Any]]] = {
    "solve": ("solve({}(t), b(t))", 2, "X(t, i)", lambda m, b: jnp.linalg.solve(m, b[..., None])[..., 0]),
    "cholesky": ("cholesky({}(t))", 3, "X(t, i, i)", lambda m, b: jnp.linalg.cholesky(m)),
    "inverse": ("inverse({}(t))", 2, "X(t, i, i)", lambda m, b: jnp.linalg.inv(m)),
    "logdet": ("logdet({}(t))", 2, "X(t)", lambda m, b: jnp.linalg.slogdet(m)[1])}
"""The call for one matrix, the power of its results that a batch sums up, what a loop goes on with, and JAX's operation."""
COUNTS = {2: 1000, 4: 1000, 8: 300, 16: 100, 32: 40, 64: 10}
"""Matrices of so many rows."""
LOOP = """
s(0) = 0
for t in 0:T {{
    M(t, i, j) = S(t, i, j) + (i == j ? s(t) : 0)
    X(t) = {}
    d(t) +=! {}
    s(t + 1) = 1 + s(t) / 2 + 0.1 * sin(d(t))
}}
L = s(T)"""
"""Steps that need one another, so that no batch can be made of them."""


def small(name: str, rows: int, loops: bool) -> Row:
    call, power, number, peer = OPERATIONS[name]
    if loops:
        text = LOOP.format(call.format("M"), number)
    else:
        text = f"X(t) = {call.format('S')}; L +=! {number.replace('i, i', 'i, j')}**{power}"

    def loss(S, b):
        def step(s, at):
            x = peer(at[0] + s * jnp.eye(rows), at[1])
            return 1 + s / 2 + 0.1 * jnp.sin(jnp.trace(x) if x.ndim == 2 else x.sum()), None
        return jax.lax.scan(step, 0.0, (S, b))[0] if loops else (peer(S, b) ** power).sum()

    def draw(random: np.random.Generator, count: int) -> dict[str, Any]:
        a = random.normal(size=(count, rows, rows))
        return {"S": a @ np.swapaxes(a, 1, 2) / rows + 0.5 * np.eye(rows), "b": random.normal(size=(count, rows))}
    return Row(f"input S(T, N, N), b(T, N)\n{text}\noutput L", loss, draw, ("S", "b")[:2 if name == "solve" else 1], COUNTS[rows])


# ---------------------------------------------------------------- filters and dynamics

UNSCENTED = """
input a(N, N), q(N), r(M), m0(N)
param C(M, N), w(2*N + 1), y(T, M)
P(0, i, j) = i == j ? 1 : 0 where i in 0:N, j in 0:N
m(0) = m0
n(0) = 0
for t in 0:T {
    G(t) = cholesky(P(t))
    x(t, 0, i) = m(t, i) where float(T, 2*N + 1, N) x
    x(t, j + 1, i) = m(t, i) + sqrt(N) * G(t, i, j)
    x(t, N + j + 1, i) = m(t, i) - sqrt(N) * G(t, i, j)
    f(t, s, i) = x(t, s, i)
    f(t, s, i) += 0.1 * sin(x(t, s, j)) * a(i, j)
    u(t, i) +=! w(s) * f(t, s, i)
    z(t, s, k) +=! C(k, i) * f(t, s, i)
    h(t, s, k) = z(t, s, k) + 0.1 * z(t, s, k)**2
    v(t, k) +=! w(s) * h(t, s, k)
    Q(t, i, j) = i == j ? q(i)**2 : 0
    Q(t, i, j) += w(s) * (f(t, s, i) - u(t, i)) * (f(t, s, j) - u(t, j))
    V(t, k, l) = k == l ? r(k)**2 : 0
    V(t, k, l) += w(s) * (h(t, s, k) - v(t, k)) * (h(t, s, l) - v(t, l))
    B(t, k, i) +=! w(s) * (h(t, s, k) - v(t, k)) * (f(t, s, i) - u(t, i))
    K(t) = solve(V(t), B(t))
    e(t, k) = y(t, k) - v(t, k)
    g(t) = solve(V(t), e(t))
    m(t + 1, i) = u(t, i)
    m(t + 1, i) += K(t, k, i) * e(t, k)
    P(t + 1, i, j) = Q(t, i, j)
    P(t + 1, i, j) += -B(t, k, i) * K(t, k, j)
    c(t) +=! g(t, k) * e(t, k)
    n(t + 1) = n(t) + c(t) / 2 + logdet(V(t)) / 2
}
L = n(T)
output L
"""


def unscented(a, q, r, m0, C, w, y):
    n = len(m0)

    def step(state, y):
        m, P = state
        G = jnp.sqrt(n) * jnp.linalg.cholesky(P).T
        x = jnp.concatenate([m[None], m + G, m - G])
        f = x + 0.1 * jnp.sin(x) @ a.T
        z = f @ C.T
        h = z + 0.1 * z**2
        u, v = w @ f, w @ h
        df, dh = f - u, h - v
        B, V = (dh.T * w) @ df, (dh.T * w) @ dh + jnp.diag(r**2)
        K, e = jnp.linalg.solve(V, B), y - v
        new = u + e @ K, (df.T * w) @ df + jnp.diag(q**2) - B.T @ K
        return new, (e @ jnp.linalg.solve(V, e) + jnp.linalg.slogdet(V)[1]) / 2
    return jax.lax.scan(step, (m0, jnp.eye(n)), y)[1].sum()


def unscented_draw(random: np.random.Generator, steps: int) -> dict[str, Any]:
    n, m = 4, 2
    w = np.array([0.2, *[0.8 / (2 * n)] * (2 * n)])
    return {"a": 0.5 * random.normal(size=(n, n)), "q": np.full(n, 0.5), "r": np.full(m, 0.7), "m0": random.normal(size=n),
            "C": random.normal(size=(m, n)), "w": w, "y": random.normal(size=(steps, m))}


EXTENDED = """
input q(4), r(2), x0(4)
param h, y(T, 2)
F = [[1, 0, h, 0], [0, 1, 0, h], [0, 0, 1, 0], [0, 0, 0, 1]]
P(0, i, j) = i == j ? 1 : 0 where i in 0:4, j in 0:4
x(0) = x0
n(0) = 0
for t in 0:T {
    u(t, i) +=! F(i, j) * x(t, j)
    FP(t, i, k) +=! F(i, j) * P(t, j, k)
    Q(t, i, l) = i == l ? q(i)**2 : 0
    Q(t, i, l) += FP(t, i, k) * F(l, k)
    d(t) = sqrt(u(t, 0)**2 + u(t, 1)**2)
    H(t, 0, i) = i < 2 ? u(t, i) / d(t) : 0
    H(t, 1, i) = i < 2 ? (2 * i - 1) * u(t, 1 - i) / d(t)**2 : 0
    HQ(t, a, j) +=! H(t, a, i) * Q(t, i, j)
    S(t, a, b) = a == b ? r(a)**2 : 0
    S(t, a, b) += HQ(t, a, j) * H(t, b, j)
    K(t) = solve(S(t), HQ(t))
    e(t, 0) = y(t, 0) - d(t)
    e(t, 1) = y(t, 1) - atan2(u(t, 1), u(t, 0))
    g(t) = solve(S(t), e(t))
    x(t + 1, i) = u(t, i)
    x(t + 1, i) += K(t, a, i) * e(t, a)
    P(t + 1, i, j) = Q(t, i, j)
    P(t + 1, i, j) += -Q(t, i, k) * H(t, a, k) * K(t, a, j)
    c(t) +=! g(t, a) * e(t, a)
    n(t + 1) = n(t) + c(t) / 2 + logdet(S(t)) / 2
}
L = n(T)
output L
"""


def extended(q, r, x0, h, y):
    F = jnp.eye(4) + h * jnp.eye(4, k=2)

    def step(state, y):
        x, P = state
        u, Q = F @ x, F @ P @ F.T + jnp.diag(q**2)
        d = jnp.sqrt(u[0]**2 + u[1]**2)
        H = jnp.array([[u[0] / d, u[1] / d, 0, 0], [-u[1] / d**2, u[0] / d**2, 0, 0]])
        G = H @ Q
        S = G @ H.T + jnp.diag(r**2)
        K, e = jnp.linalg.solve(S, G), y - jnp.array([d, jnp.arctan2(u[1], u[0])])
        return (u + e @ K, Q - Q @ H.T @ K), (e @ jnp.linalg.solve(S, e) + jnp.linalg.slogdet(S)[1]) / 2
    return jax.lax.scan(step, (x0, jnp.eye(4)), y)[1].sum()


def extended_draw(random: np.random.Generator, steps: int) -> dict[str, Any]:
    y = np.array([5.0, 0.5]) + 0.05 * random.normal(size=(steps, 2))
    return {"q": np.full(4, 0.3), "r": np.full(2, 0.5), "x0": np.array([4.0, 3.0, 0.1, 0.1]), "h": 0.1, "y": y}


def model(name: str, draw: Draw, wrt: str, size: int, least: int = 2) -> Row:
    """One of tests/programs/models."""
    text = (TOOLS.parent / "programs" / "models" / f"{name}.ad").read_text(encoding="utf-8")
    return Row(text, MODELS[name].loss, draw, tuple(wrt.split()), size, least)


PROCESS = """
input length, amp, noise
param x(N), y(N)
K(i, j) = amp**2 * exp(-((x(i) - x(j)) / length)**2 / 2) + (i == j ? noise**2 : 0)
a = solve(K, y)
q +=! a(i) * y(i)
L = q / 2 + logdet(K) / 2
output L
"""


def process(length, amp, noise, x, y):
    K = amp**2 * jnp.exp(-(((x[:, None] - x) / length) ** 2) / 2) + noise**2 * jnp.eye(len(x))
    return (jnp.linalg.solve(K, y) @ y + jnp.linalg.slogdet(K)[1]) / 2


LENNARD_JONES = """
input x0(N, 3), v0(N, 3), s, e
param h, int32 T
def force(float(N, 3) x, s, e) -> (F) {
    d(i, j) +=! (x(i, k) - x(j, k))**2
    g(i, j) = i == j ? 0 : (2 * (s**2 / d(i, j))**6 - (s**2 / d(i, j))**3) / d(i, j)
    F(i, k) +=! 24 * e * g(i, j) * (x(i, k) - x(j, k))
}
x(0) = x0
v(0) = v0
f(0) = force(x0, s, e)
for t in 0:T {
    u(t, i, k) = v(t, i, k) + h/2*f(t, i, k)
    x(t + 1) = x(t) + h*u(t)
    f(t + 1) = force(x(t + 1), s, e)
    v(t + 1) = u(t) + h/2*f(t + 1)
}
L +=! x(T, i, k)**2 + v(T, i, k)**2
output L
"""


def lennard_jones(x0, v0, s, e, h, T):
    eye = jnp.eye(len(x0))

    def force(x):
        d = x[:, None] - x
        square = (d**2).sum(-1) + eye
        p = (s**2 / square) ** 3
        return 24 * e * jnp.einsum("ij,ijk->ik", (1 - eye) * (2 * p**2 - p) / square, d)

    def step(state, _):
        x, v, f = state
        u = v + h / 2 * f
        x = x + h * u
        f = force(x)
        return (x, u + h / 2 * f, f), None
    (x, v, _), _ = jax.lax.scan(step, (x0, v0, force(x0)), length=T)
    return (x**2 + v**2).sum()


def lennard_jones_draw(random: np.random.Generator, bodies: int) -> dict[str, Any]:
    side = round(bodies ** (1 / 3)) + 1
    grid = 1.2 * np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)[:bodies]
    return {"x0": grid + 0.05 * random.normal(size=(bodies, 3)), "v0": 0.1 * random.normal(size=(bodies, 3)), "s": 1.0, "e": 1.0,
            "h": 0.002, "T": 20}


# ---------------------------------------------------------------- gathers, images and iterations

def gathered(x, at):
    return jnp.tanh(x[at]).sum()


def segments(v, at, n):
    return (jax.ops.segment_sum(v, at, len(n)) ** 2).sum()


U_NET = """
input A(C, 1, 3, 3), a(C), B(D, C, 3, 3), b(D), E(C, D, 3, 3), c(C), F(1, G, 3, 3), f(1)
param x(N, 1, X, Y), y(N, 1, X, Y)
def layer(float(N, C, X, Y) x, float(O, C, 3, 3) w, float(O) b) -> (z) {
    z(n, o, i, j) = b(o) where n in 0:N, i in 0:X, j in 0:Y
    z(n, o, i, j) += x(n, c, i + p - 1, j + q - 1) * w(o, c, p, q) where i + p >= 1, i + p <= X, j + q >= 1, j + q <= Y
}
d = layer(x, A, a)
h(n, o, i, j) = relu(d(n, o, i, j))
m(n, o, i, j) max=! h(n, o, 2*i + p, 2*j + q) where p in 0:2, q in 0:2
k = layer(m, B, b)
g(n, o, i, j) = relu(k(n, o, i, j))
u(n, o, i, j) = g(n, o, floor(i / 2), floor(j / 2)) where i in 0:X, j in 0:Y
e = layer(u, E, c)
s(n, o, i, j) = relu(e(n, o, i, j)) where float(N, G, X, Y) s
s(n, o + C, i, j) = h(n, o, i, j)
z = layer(s, F, f)
L +=! (z(n, o, i, j) - y(n, o, i, j))**2
output L
"""


def u_net(A, a, B, b, E, c, F, f, x, y):
    relu = jax.nn.relu

    def layer(x, w, b):
        return jax.lax.conv(x, w, (1, 1), "SAME") + b[:, None, None]
    h = relu(layer(x, A, a))
    m = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    g = relu(layer(m, B, b))
    u = g.repeat(2, 2).repeat(2, 3)
    s = jnp.concatenate([relu(layer(u, E, c)), h], axis=1)
    return ((layer(s, F, f) - y) ** 2).sum()


def u_net_draw(random: np.random.Generator, size: int) -> dict[str, Any]:
    n, c, d = 4, 8, 16
    shapes = {"A": (c, 1, 3, 3), "a": (c,), "B": (d, c, 3, 3), "b": (d,), "E": (c, d, 3, 3), "c": (c,), "F": (1, 2 * c, 3, 3),
              "f": (1,), "x": (n, 1, size, size), "y": (n, 1, size, size)}
    return {name: 0.3 * random.normal(size=shape) for name, shape in shapes.items()}


POWER = """
input A(N, N), x(N)
v(0) = x
for k in 0:50 {
    z(k, i) +=! A(i, j) * v(k, j)
    s(k) +=! z(k, i)**2
    v(k + 1, i) = z(k, i) / sqrt(s(k))
}
w(i) +=! A(i, j) * v(50, j)
L +=! w(i) * v(50, i)
output L
"""


def power(A, x):

    def step(v, _):
        z = A @ v
        return z / jnp.sqrt((z**2).sum()), None
    v, _ = jax.lax.scan(step, x, length=50)
    return (A @ v) @ v


SQUARING = """
input A(N, N)
B(i, j) = A(i, j) / 64
E(0, i, j) = i == j ? 1 : 0 where i in 0:N, j in 0:N
for k in 0:8 {
    E(k + 1, i, j) = i == j ? 1 : 0
    E(k + 1, i, j) += B(i, l) * E(k, l, j) / (8 - k)
}
S(0, i, j) = E(8, i, j)
for k in 0:6 { S(k + 1, i, j) +=! S(k, i, l) * S(k, l, j) }
L +=! S(6, i, j)**2
output L
"""


def squaring(A):
    B, eye = A / 64, jnp.eye(len(A))
    E, _ = jax.lax.scan(lambda e, k: (eye + B @ e / (8 - k), None), eye, jnp.arange(8.0))
    E, _ = jax.lax.scan(lambda e, _: (e @ e, None), E, length=6)
    return (E**2).sum()


def exponential(A):
    return (jax.scipy.linalg.expm(A) ** 2).sum()


def matrix(random: np.random.Generator, n: int) -> dict[str, Any]:
    return {"A": random.normal(size=(n, n)) / np.sqrt(n)}


ROWS: dict[str, Row] = {
    **{f"{operation} {rows} {'in loops' if loops else 'in batches'}": small(operation, rows, loops)
       for operation in OPERATIONS for loops in (True, False) for rows in COUNTS},
    "unscented Kalman filter": Row(UNSCENTED, unscented, unscented_draw, ("a", "q", "r", "m0"), 200),
    "extended Kalman filter": Row(EXTENDED, extended, extended_draw, ("q", "r", "x0"), 200),
    "Robertson, Newton": model("robertson", lambda r, n: {
        "k": np.array([0.04, 30.0, 10.0]), "y0": np.array([1.0, 0.0, 0.0]), "h": 0.1, "z": r.normal(size=(n, 3))}, "k y0", 200),
    "Gaussian process, 20": model("gaussian_process", lambda r, n: {
        "length": np.array([0.8]), "amp": 1.1, "noise": 0.3, "x": r.normal(size=(n, 1)), "y": r.normal(size=n)},
                                  "length amp noise", 20),
    "Gaussian process by solve": Row(PROCESS, process, lambda r, n: {
        "length": 0.8, "amp": 1.1, "noise": 0.3, "x": r.normal(size=n), "y": r.normal(size=n)}, ("length", "amp", "noise"), 60),
    "Lennard-Jones": Row(LENNARD_JONES, lennard_jones, lennard_jones_draw, ("x0", "v0", "s", "e"), 64, 4),
    "gathered elements": Row("input x(N), int32 at(E); s +=! tanh(x(at(e))); L = s; output L", gathered, lambda r, n: {
        "x": r.normal(size=n // 10), "at": r.integers(0, n // 10, n)}, ("x",), 1_000_000, 50),
    "segment sums": Row("input v(E), int32 at(E), n(N); y(at(e)) +=! v(e) where float(N) y; L +=! y(i)**2; output L", segments,
                        lambda r, n: {"v": r.normal(size=n), "at": r.integers(0, n // 100, n), "n": np.zeros(n // 100)}, ("v",),
                        1_000_000, 500),
    "heat": model("heat", lambda r, n: {
        "u0": r.normal(size=(n, n)), "k": r.uniform(0.05, 0.2, (n, n)), "y": r.normal(size=(n, n)), "T": 20}, "u0 k", 512, 5),
    "U-net": Row(U_NET, u_net, u_net_draw, tuple("AaBbEcFf"), 32, 4),
    "power iteration": Row(POWER, power, lambda r, n: {**matrix(r, n), "x": r.normal(size=n)}, ("A", "x"), 64),
    "expm by squaring, 64": Row(SQUARING, squaring, matrix, ("A",), 64),
    **{f"expm, {n}": Row("input A(N, N); E = expm(A); L +=! E(i, j)**2; output L", exponential, matrix, ("A",), n)
       for n in (8, 64)}}


# ---------------------------------------------------------------- the measurement

HEADER = f"{'model':24s} {'':8s} {'adcli µs':>10s} {'JAX µs':>10s} {'ratio':>8s} {'agree':>8s}"


def measured(name: str, row: Row, size: int, seconds: float, kinds: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Lines of the table, each with the difference of the results."""
    at = row.draw(np.random.default_rng(size), size)
    whole = {x: a for x, a in at.items() if isinstance(a, int)}
    value = adcli.compile(row.text)
    for kind in kinds:
        f = value if kind == "value" else value.grad(wrt=list(row.wrt))
        ours = function(f.program, DOUBLE)
        theirs = peer(row, kind, at, whole)
        agree = difference(ours(at), theirs())
        one, two = best([lambda f=ours: f(at, jobs=1), theirs], seconds)
        yield f"{name:24s} {kind:8s} {one:10.1f} {two:10.1f} {one / two:8.2f} {agree:8.0e}", agree


def peer(row: Row, kind: str, at: dict[str, Any], whole: dict[str, int]) -> Callable[[], dict[str, Any]]:
    """JAX's loss, or loss and gradient, under the names of ours. Whole numbers are part of its program."""
    varied, kept = ({x: jax.device_put(a) for x, a in at.items() if x not in whole and (x in row.wrt) is wanted}
                    for wanted in (True, False))

    def loss(varied, kept):
        return row.loss(**varied, **kept, **whole)
    run = jax.jit(loss if kind == "value" else jax.value_and_grad(loss))

    def called() -> dict[str, Any]:
        found = jax.block_until_ready(run(varied, kept))
        return {"L": found} if kind == "value" else {"L": found[0], **{f"dL_d{x}": d for x, d in found[1].items()}}
    return called


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", metavar="TEXT", help="rows whose name has this text")
    arguments.add_argument("--seconds", type=float, default=0.5, help="for one row (default: 0.5)")
    arguments.add_argument("--gradients", action="store_true", help="no values alone")
    chosen = arguments.parse_args()
    if len(os.sched_getaffinity(0)) > 1:   # which OpenBLAS and JAX read as they start
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        os.execv(sys.executable, [sys.executable, *sys.argv])
    print(HEADER)
    apart = False
    for name, row in ROWS.items():
        if chosen.only in name:
            kinds = ("gradient",) if chosen.gradients else ("value", "gradient")
            for line, agree in measured(name, row, row.size, chosen.seconds, kinds):
                print(line, flush=True)
                apart |= not agree <= APART
    return int(apart)


if __name__ == "__main__":
    sys.exit(main())
