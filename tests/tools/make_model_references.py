#!/usr/bin/env python3
"""Numbers of JAX for the models in tests/programs/models, in tests/data/tensors/models.json: see tests/data/README.md.

    python tests/tools/make_model_references.py tests/data/tensors/models.json [NAME …]

A command, not run by the tests; with names, the cases of these alone are made again. It needs jax and nothing of this project:
every model is written here once more, with the operations of JAX. The numbers are a loss, its gradient, and
the tangents of both along a random direction, which are its derivative and a Hessian-vector product. Points are random with few
decimals, so that a file holds them exactly. `tests/tools/bench_tensors.py` takes the functions of some models from here.
"""
from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import sigmoid, softplus
from jax.scipy.special import erf, gammaln, logsumexp

jax.config.update("jax_enable_x64", True)
Draw = Callable[[np.random.Generator], Any]


class Drawn(NamedTuple):
    """How an input is drawn, and whether the loss is differentiated by it."""

    draw: Draw
    varies: bool = True


class Model(NamedTuple):
    """The loss as a function of JAX arrays by name, and how its inputs are drawn."""

    loss: Callable[..., Any]
    inputs: dict[str, Drawn]


MODELS: dict[str, Model] = {}


def model(**inputs: Drawn) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The model whose name the function has."""
    def entered(loss: Callable[..., Any]) -> Callable[..., Any]:
        MODELS[loss.__name__] = Model(loss, inputs)
        return loss
    return entered


def normal(*shape: int, by: float = 1.0, at: float = 0.0) -> Drawn:
    return Drawn(lambda r: np.round(at + by * r.normal(size=shape), 2))


def between(low: float, high: float, *shape: int) -> Drawn:
    return Drawn(lambda r: np.round(r.uniform(low, high, shape), 2))


def whole(end: int, *shape: int, low: int = 0) -> Drawn:
    return Drawn(lambda r: r.integers(low, end, shape), False)


def chosen(value: Any) -> Drawn:
    return Drawn(lambda r: np.asarray(value))


def fixed(value: Any) -> Drawn:
    return data(chosen(value))


def data(drawn: Drawn) -> Drawn:
    """The same numbers, of an input that the loss is not differentiated by."""
    return Drawn(drawn.draw, False)


# ---------------------------------------------------------------- networks

def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    return g * (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) + b


@model(x=normal(4, 4), g1=normal(4), b1=normal(4), Q=normal(4, 2, 2), K=normal(4, 2, 2), V=normal(4, 2, 2), R=normal(2, 2, 4),
       g2=normal(4), b2=normal(4), W1=normal(4, 5), c1=normal(5), W2=normal(5, 4), c2=normal(4), y=data(normal(4, 4)))
def transformer_block(x, g1, b1, Q, K, V, R, g2, b2, W1, c1, W2, c2, y):
    n = layer_norm(x, g1, b1)
    q, k, v = (jnp.einsum("td,dhe->the", n, w) for w in (Q, K, V))
    s = jnp.einsum("the,uhe->htu", q, k) / np.sqrt(Q.shape[2])
    w = jax.nn.softmax(jnp.where(np.tri(len(x), dtype=bool), s, -jnp.inf))
    r = x + jnp.einsum("htu,uhe,hed->td", w, v, R)
    f = layer_norm(r, g2, b2) @ W1 + c1
    o = r + (f / 2 * (1 + erf(f / np.sqrt(2)))) @ W2 + c2
    return ((o - y) ** 2).sum() / len(x)


@model(q=normal(3, 6), k=normal(4, 6), v=normal(4, 6), R=normal(2, 3, 4), y=data(normal(3, 4)))
def attention(q, k, v, R, y):
    heads = len(R)
    q, k, v = (a.reshape(len(a), heads, -1) for a in (q, k, v))
    w = jax.nn.softmax(jnp.einsum("the,uhe->htu", q, k) / np.sqrt(q.shape[2]))
    return ((jnp.einsum("htu,uhe,hem->tm", w, v, R) - y) ** 2).sum()


@model(F1=normal(2, 1, 3, 3), a1=normal(2), F2=normal(3, 2, 3, 3), a2=normal(3), W1=normal(4, 3, 2, 2), c1=normal(4),
       W2=normal(3, 4), c2=normal(3), x=data(normal(2, 1, 14, 14)), label=whole(3, 2))
def lenet(F1, a1, F2, a2, W1, c1, W2, c2, x, label):
    def layer(x, w, b):
        z = jnp.tanh(lax.conv(x, w, (1, 1), "VALID") + b[:, None, None])
        return z.reshape(*z.shape[:2], z.shape[2] // 2, 2, z.shape[3] // 2, 2).mean((3, 5))
    e = jnp.tanh(jnp.einsum("jbpq,nbpq->nj", W1, layer(layer(x, F1, a1), F2, a2)) + c1)
    z = jax.nn.log_softmax(e @ W2.T + c2)
    return -z[jnp.arange(len(x)), label].mean()


@model(F=normal(3, 2, 2, 2), G=normal(3, 2, 2, 2), b=normal(3, 2), o=normal(2), x=data(normal(2, 2, 11)), y=data(normal(2, 4)))
def dilated_convolution(F, G, b, o, x, y):
    h = x
    for k, step in enumerate((1, 2, 4)):
        f, g = (lax.conv_general_dilated(h, w[k], (1,), "VALID", rhs_dilation=(step,)) for w in (F, G))
        z = jnp.tanh(f) * sigmoid(g + b[k][:, None])
        h = z if k == 2 else z + h[:, :, step:]
    return ((jnp.einsum("c,nct->nt", o, h) - y) ** 2).sum()


@model(x=normal(2, 6, 5), F=normal(3, 2, 2, 2), w=data(normal(2, 6, 4)))
def grouped_convolution(x, F, w):
    groups, outs, ins, width = F.shape
    z = lax.conv_general_dilated(x, F.reshape(groups * outs, ins, width), (1,), "VALID", feature_group_count=groups)
    z = z.reshape(len(x), groups, outs, -1).transpose(0, 2, 1, 3).reshape(z.shape)
    return (w * jnp.sin(z)).sum()


@model(W1=normal(2, 3), U1=normal(2, 3), W2=normal(3, 3), U2=normal(3, 3), o=normal(3), x=data(normal(5, 2)), src=whole(5, 8),
       dst=whole(5, 8), y=data(normal()))
def graph_network(W1, U1, W2, U2, o, x, src, dst, y):
    for w, u in ((W1, U1), (W2, U2)):
        x = jnp.tanh((x @ u).at[dst].add((x @ w)[src]))
    return ((x @ o).sum() - y) ** 2


@model(A=normal(4, 3), a=normal(3), M=normal(3, 2), m=normal(2), S=normal(3, 2), s=normal(2), B=normal(2, 3), b=normal(3),
       C=normal(3, 4), c=normal(4), x=data(whole(2, 5, 4)), noise=data(normal(5, 2)))
def vae(A, a, M, m, S, s, B, b, C, c, x, noise):
    h = softplus(x @ A + a)
    mean, logvar = h @ M + m, h @ S + s
    code = softplus((mean + jnp.exp(logvar / 2) * noise) @ B + b)
    logits = code @ C + c
    return ((softplus(logits) - x * logits).sum() + (jnp.exp(logvar) + mean**2 - 1 - logvar).sum() / 2) / len(x)


@model(W=normal(2, 4), b=normal(4), P=normal(4, 3), M=normal(4, 3), S=normal(4, 3), x=data(normal(5, 2)), y=data(normal(5)))
def mixture_density(W, b, P, M, S, x, y):
    a = jnp.tanh(x @ W + b)
    p, m, s = a @ P, a @ M, a @ S
    each = jax.nn.log_softmax(p) - s - ((y[:, None] - m) * jnp.exp(-s)) ** 2 / 2
    return (np.log(2 * np.pi) / 2 - logsumexp(each, axis=1)).mean()


@model(A1=normal(3, 4), g1=normal(4), b1=normal(4), B1=normal(4, 3), A2=normal(3, 4), g2=normal(4), b2=normal(4), B2=normal(4, 3),
       o=normal(3), x=data(normal(5, 3)), y=data(normal(5)))
def residual_net(A1, g1, b1, B1, A2, g2, b2, B2, o, x, y):
    for A, g, b, B in ((A1, g1, b1, B1), (A2, g2, b2, B2)):
        z = x @ A
        z = g * (z - z.mean(0)) * lax.rsqrt(z.var(0) + 1e-3) + b
        x = x + jax.nn.relu(z) @ B
    return ((x @ o - y) ** 2).mean()


@model(a=normal(4, 3), b=normal(4, 3), tau=between(0.3, 1))
def contrastive_loss(a, b, tau):
    u, v = (x / jnp.sqrt((x**2).sum(1, keepdims=True)) for x in (a, b))
    s = u @ v.T / tau
    return (logsumexp(s, axis=1) + logsumexp(s, axis=0) - 2 * jnp.diag(s)).sum() / (2 * len(a))


@model(W=normal(3, 2), code=normal(4, 2), V=normal(2, 3), x=data(normal(5, 3)), beta=fixed(0.25))
def vector_quantisation(W, code, V, x, beta):
    stop = lax.stop_gradient
    e = x @ W
    q = code[jnp.argmin(((e[:, None] - code) ** 2).sum(2), axis=1)]
    z = e + stop(q - e)
    return ((z @ V - x) ** 2).sum() + ((stop(e) - q) ** 2).sum() + beta * ((e - stop(q)) ** 2).sum()


@model(image=normal(5, 6), A=chosen([[1.03, 0.11], [-0.07, 0.93]]), b=between(0.5, 0.8, 2),
       y=data(normal(3, 4)))
def bilinear_sampling(image, A, b, y):
    u, v = jnp.meshgrid(jnp.arange(y.shape[0]), jnp.arange(y.shape[1]), indexing="ij")
    px, py = (A[k, 0] * u + A[k, 1] * v + b[k] for k in range(2))
    i, j = (jnp.floor(p).astype(int) for p in (px, py))
    r, s = px - i, py - j
    low = (1 - s) * image[i, j] + s * image[i, j + 1]
    high = (1 - s) * image[i + 1, j] + s * image[i + 1, j + 1]
    return (((1 - r) * low + r * high - y) ** 2).sum()


# ---------------------------------------------------------------- recurrent networks

@model(W=normal(2, 4, 3), U=normal(3, 4, 3), b=normal(4, 3), h0=normal(2, 3), c0=normal(2, 3), x=data(normal(5, 2, 2)),
       y=data(normal(2, 3)))
def lstm(W, U, b, h0, c0, x, y):
    hidden = h0.shape[1]
    W, U, b = W.reshape(len(W), -1), U.reshape(len(U), -1), b.reshape(-1)

    def step(state, x):
        h, c = state
        a = x @ W + h @ U + b
        i, f, g, o = (a[:, k * hidden:(k + 1) * hidden] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        return (sigmoid(o) * jnp.tanh(c), c), None
    (h, _), _ = lax.scan(step, (h0, c0), x)
    return ((h - y) ** 2).sum()


@model(W=normal(2, 3, 3), U=normal(3, 3, 3), b=normal(3, 3), c=normal(3), h0=normal(2, 3), x=data(normal(5, 2, 2)),
       y=data(normal(2, 3)))
def gru(W, U, b, c, h0, x, y):
    hidden = h0.shape[1]
    W, U, b = W.reshape(len(W), -1), U.reshape(len(U), -1), b.reshape(-1)

    def step(h, x):
        u, v = x @ W + b, h @ U
        r, z = (sigmoid(u[:, k * hidden:(k + 1) * hidden] + v[:, k * hidden:(k + 1) * hidden]) for k in range(2))
        m = jnp.tanh(u[:, 2 * hidden:] + r * (v[:, 2 * hidden:] + c))
        return (1 - z) * m + z * h, None
    h, _ = lax.scan(step, h0, x)
    return ((h - y) ** 2).sum()


@model(E=normal(4, 2), W=normal(2, 3), U=normal(3, 3), b=normal(3), R=normal(3, 4), s=whole(4, 6), next=whole(4, 6))
def elman(E, W, U, b, R, s, next):
    def step(h, x):
        h = jnp.tanh(x @ W + h @ U + b)
        return h, h
    _, h = lax.scan(step, jnp.zeros(len(U)), E[s])
    return -jax.nn.log_softmax(h @ R)[jnp.arange(len(s)), next].mean()


# ---------------------------------------------------------------- sequences

@model(p=normal(3), A=normal(3, 3), B=normal(3, 4), o=whole(4, 7))
def hidden_markov(p, A, B, o):
    p, A, B = jax.nn.log_softmax(p), jax.nn.log_softmax(A), jax.nn.log_softmax(B)

    def step(f, symbol):
        return logsumexp(f[:, None] + A, axis=0) + B[:, symbol], None
    f, _ = lax.scan(step, p + B[:, o[0]], o[1:])
    return -logsumexp(f)


@model(y=normal(6, 4), letter=fixed([0, 2, 0, 1, 0, 1, 0]), skip=fixed([0, 0, 0, 0, 0, -1e30, 0]))
def ctc(y, letter, skip):
    each = jax.nn.log_softmax(y)[:, letter]
    none = jnp.full(len(letter), -1e30)

    def step(f, each):
        one, two = none.at[1:].set(f[:-1]), none.at[2:].set(f[:-2] + skip[2:])
        return jnp.logaddexp(jnp.logaddexp(f, one), two) + each, None
    f, _ = lax.scan(step, none.at[:2].set(each[0, :2]), each[1:])
    return -jnp.logaddexp(f[-1], f[-2])


@model(x=normal(4, 2), y=normal(3, 2), g=between(0.5, 1))
def soft_dtw(x, y, g):
    D = ((x[:, None] - y[None]) ** 2).sum(2)
    R = {(i, j): 1e10 if i or j else 0.0 for i in range(5) for j in range(4) if i == 0 or j == 0}
    for i in range(1, 5):
        for j in range(1, 4):
            before = jnp.stack([R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]])
            R[i, j] = D[i - 1, j - 1] - g * logsumexp(-before / g)
    return R[4, 3]


@model(x=normal(2, 4, 3), p=normal(2, 3, 3), y=fixed([[1, 2, 0], [2, 2, 0]]))
def rnn_transducer(x, p, y):
    def one(x, p, y):
        each = jax.nn.log_softmax(x[:, None] + p[None])
        blank, emit = each[:, :, 0], jnp.take_along_axis(each, y[None, :, None], 2)[:, :, 0]
        a = {(0, 0): 0.0}
        for t in range(4):
            for u in range(3):
                ways = [a[t - 1, u] + blank[t - 1, u]] if t else []
                ways += [a[t, u - 1] + emit[t, u - 1]] if u else []
                a[t, u] = logsumexp(jnp.stack(ways)) if ways else 0.0
        return -(a[3, 2] + blank[3, 2])
    return jax.vmap(one)(x, p, y).sum()


@model(A=normal(2, 2, by=0.5), Q=normal(2, 2), C=normal(2, 2), R=chosen([[1.1, 0], [0.3, 0.8]]), m0=normal(2),
       P0=normal(2, 2), y=data(normal(5, 2)))
def kalman_filter(A, Q, C, R, m0, P0, y):
    def step(state, y):
        m, P = state
        m, V = A @ m, A @ P @ A.T + Q @ Q.T
        e, S = y - C @ m, C @ V @ C.T + R @ R.T
        X = jnp.linalg.solve(S, C @ V)
        each = e @ jnp.linalg.solve(S, e) + jnp.linalg.slogdet(S)[1] + len(y) * np.log(2 * np.pi)
        return (m + X.T @ e, V - (C @ V).T @ X), each / 2
    return lax.scan(step, (m0, P0 @ P0.T), y)[1].sum()


@model(A=normal(2, 2, by=0.5), q=between(0.4, 1, 2), c=normal(2), r=between(0.5, 1), m0=normal(2), y=data(normal(5)),
       path=data(normal(5, 2)))
def kalman_smoother(A, q, c, r, m0, y, path):
    def step(state, y):
        m, P = state
        u, V = A @ m, A @ P @ A.T + jnp.diag(q**2)
        s = c @ V @ c + r**2
        after = u + V @ c * (y - c @ u) / s, V - jnp.outer(V @ c, V @ c) / s
        return after, (u, V, A @ P, m)

    def back(n, found):
        u, V, AP, m = found
        n = m + jnp.linalg.solve(V, AP).T @ (n - u)
        return n, n
    (m, _), found = lax.scan(step, (m0, jnp.eye(2)), y)
    _, n = lax.scan(back, m, jax.tree.map(lambda a: a[1:], found), reverse=True)
    return ((jnp.concatenate([n, m[None]]) - path) ** 2).sum()


@model(c=normal(), phi1=normal(by=0.5), phi2=normal(by=0.3), theta=normal(by=0.5), sigma=between(0.5, 1), y=data(normal(8)))
def arma(c, phi1, phi2, theta, sigma, y):
    def step(e, y):
        e = y[2] - c - phi1 * y[1] - phi2 * y[0] - theta * e
        return e, e
    _, e = lax.scan(step, 0.0, jnp.stack([y[:-2], y[1:-1], y[2:]], axis=1))
    return ((e / sigma) ** 2 / 2 + jnp.log(sigma) + np.log(2 * np.pi) / 2).sum()


@model(mu=normal(by=0.1), omega=between(0.1, 0.3), alpha=between(0.1, 0.3), beta=between(0.3, 0.6), y=data(normal(8)))
def garch(mu, omega, alpha, beta, y):
    def step(v, y):
        v = omega + alpha * (y - mu) ** 2 + beta * v
        return v, v
    first = omega / (1 - alpha - beta)
    v = jnp.concatenate([first[None], lax.scan(step, first, y[:-1])[1]])
    return (((y - mu) ** 2 / v + jnp.log(2 * jnp.pi * v)) / 2).sum()


@model(alpha=between(0.1, 0.9), beta=between(0.1, 0.9), l0=normal(), b0=normal(), y=data(normal(8)))
def exponential_smoothing(alpha, beta, l0, b0, y):
    def step(state, y):
        level, trend = state
        e = y - level - trend
        return (level + trend + alpha * e, trend + alpha * beta * e), e
    return (lax.scan(step, (l0, b0), y)[1] ** 2).sum()


@model(b=normal(3), a=normal(2, by=0.5), x=data(normal(8)), y=data(normal(8)))
def iir_filter(b, a, x, y):
    def step(state, x):
        x1, x2, z1, z2 = state
        z = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * z1 - a[1] * z2
        return (x, x1, z, z1), z
    zero = jnp.zeros(())
    return ((lax.scan(step, (zero,) * 4, x)[1] - y) ** 2).sum()


@model(theta=between(0.3, 1), mu=normal(), sigma=between(0.3, 1), t=fixed([0, 0.3, 0.8, 1.1, 2.0]), x=data(normal(5)))
def ornstein_uhlenbeck(theta, mu, sigma, t, x):
    d = jnp.exp(-theta * jnp.diff(t))
    v = sigma**2 / (2 * theta) * (1 - d**2)
    return (((x[1:] - mu - (x[:-1] - mu) * d) ** 2 / v + jnp.log(2 * jnp.pi * v)) / 2).sum()


# ---------------------------------------------------------------- statistics

@model(a=normal(3), mu=normal(3, 2), s=normal(3, 2), x=data(normal(5, 2)))
def gaussian_mixture(a, mu, s, x):
    q = (-(((x[:, None] - mu) * jnp.exp(-s)) ** 2) / 2 - s - np.log(2 * np.pi) / 2).sum(2)
    return -logsumexp(jax.nn.log_softmax(a) + q, axis=1).sum()


@model(w=normal(3), b=normal(), ridge=between(0.1, 1), x=data(normal(6, 3)), y=fixed([-1, 1, 1, -1, -1, 1]))
def logistic_regression(w, b, ridge, x, y):
    return softplus(-y * (x @ w + b)).mean() + ridge / 2 * w @ w


@model(w=normal(3), b=normal(), x=data(normal(6, 3)), e=data(between(0.5, 2, 6)), y=data(whole(5, 6)))
def poisson_regression(w, b, x, e, y):
    eta = b + jnp.log(e) + x @ w
    return (jnp.exp(eta) - y * eta + gammaln(y + 1.0)).sum()


@model(U=normal(3, 2), V=normal(4, 2), a=normal(3), b=normal(4), mean=normal(), user=whole(3, 7), item=whole(4, 7),
       y=data(normal(7)), ridge=fixed(0.1))
def matrix_factorisation(U, V, a, b, mean, user, item, y, ridge):
    p = mean + a[user] + b[item] + (U[user] * V[item]).sum(1)
    return ((p - y) ** 2).sum() + ridge * ((U**2).sum() + (V**2).sum())


@model(W=normal(3, 2), c=normal(3), x=data(normal(5, 3)))
def principal_components(W, c, x):
    return ((c - x + (x - c) @ W @ W.T) ** 2).sum() / len(x)


@model(c=normal(3, 2), x=data(normal(7, 2)))
def k_means(c, x):
    return ((x[:, None] - c) ** 2).sum(2).min(1).mean()


@model(w=normal(2), x=data(normal(6, 2)), event=fixed([1, 0, 1, 1, 0, 1]))
def cox(w, x, event):
    eta = x @ w
    return (event * (jnp.log(jnp.cumsum(jnp.exp(eta))) - eta)).sum()


@model(x=normal(6), width=between(0.4, 0.8), c=fixed([-1, -0.25, 0.5, 1.25]), p=fixed([0.1, 0.4, 0.3, 0.2]))
def soft_histogram(x, width, c, p):
    h = jax.nn.softmax(-(((x[:, None] - c) / width) ** 2) / 2).mean(0)
    return (p * jnp.log(p / h)).sum()


@model(q=normal(4, 3), leak=normal(3), cause=fixed([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]),
       seen=data(whole(2, 4, 3)))
def noisy_or(q, leak, cause, seen):
    p = 1 - (1 - sigmoid(q) * cause[:, :, None]).prod(1) * sigmoid(leak)
    return -(seen * jnp.log(p) + (1 - seen) * jnp.log(1 - p)).sum()


@model(length=between(0.5, 1.5, 2), amp=between(0.8, 1.5), noise=between(0.3, 0.6), x=data(normal(5, 2)), y=data(normal(5)))
def gaussian_process(length, amp, noise, x, y):
    d = (((x[:, None] - x) / length) ** 2).sum(2)
    K = amp**2 * jnp.exp(-d / 2) + noise**2 * jnp.eye(len(x))
    C = jnp.linalg.cholesky(K)
    z = jax.scipy.linalg.solve_triangular(C, y, lower=True)
    return z @ z / 2 + jnp.log(jnp.diag(C)).sum() + len(x) * np.log(2 * np.pi) / 2


@model(s0=between(0.9, 1.1), rate=between(0.01, 0.1), sigma=between(0.2, 0.5), strike=between(0.8, 1.1), noise=data(normal(4, 6)),
       dt=fixed(0.1))
def asian_option(s0, rate, sigma, strike, noise, dt):
    def step(s, noise):
        s = s * jnp.exp((rate - sigma**2 / 2) * dt + sigma * jnp.sqrt(dt) * noise)
        return s, s
    _, s = lax.scan(step, jnp.full(noise.shape[1], s0), noise)
    return jnp.exp(-rate * len(noise) * dt) * jax.nn.relu(s.mean(0) - strike).mean()


# ---------------------------------------------------------------- numerical methods

@model(k=between(0.5, 1.5, 5), F=normal(3, 2), B=data(normal(5, 3)), y=data(normal(3, 2)))
def dense_solve(k, F, B, y):
    u = jnp.linalg.solve((B.T * k**2) @ B + 0.1 * jnp.eye(F.shape[0]), F)
    return ((u - y) ** 2).sum() + (F * u).sum()


@model(a=normal(6), b=between(3, 5, 6), c=normal(6), d=normal(6), y=data(normal(6)))
def tridiagonal(a, b, c, d, y):
    x = jnp.linalg.solve(jnp.diag(b) + jnp.diag(a[1:], -1) + jnp.diag(c[:-1], 1), d)
    return ((x - y) ** 2).sum()


@model(f=normal(6), x=chosen([0.25, 1.6, 2.1, 2.9, 4.75]), y=data(normal(5)))
def spline(f, x, y):
    n = len(f)
    K = 4 * np.eye(n - 2) + np.eye(n - 2, k=1) + np.eye(n - 2, k=-1)
    s = jnp.pad(jnp.linalg.solve(K, 6 * (f[2:] - 2 * f[1:-1] + f[:-2])), 1)
    k = jnp.floor(x).astype(int)
    r = x - k
    v = (1 - r) * f[k] + r * f[k + 1] + ((1 - r) ** 3 - (1 - r)) / 6 * s[k] + (r**3 - r) / 6 * s[k + 1]
    return ((v - y) ** 2).sum()


@model(x0=normal(3, 3), v0=normal(3, 3), mass=between(0.5, 1.5, 3), y=data(normal(3, 3)), dt=fixed(0.1), T=fixed(4))
def n_body(x0, v0, mass, y, dt, T):
    def step(state, _):
        x, v = state
        x = x + dt * v
        apart = x[None] - x[:, None]
        a = jnp.einsum("j,ijk,ij->ik", mass, apart, ((apart**2).sum(2) + 0.01) ** -1.5)
        return (x, v + dt * a), None
    (x, _), _ = lax.scan(step, (x0, v0), length=int(T))
    return ((x - y) ** 2).sum()


@model(x0=between(0.5, 1.5), y0=between(0.5, 1.5), a=between(0.5, 1.5), b=between(0.5, 1.5), c=between(0.5, 1.5),
       d=between(0.5, 1.5), dt=fixed(0.05), T=fixed(6))
def lotka_volterra(x0, y0, a, b, c, d, dt, T):
    def rate(x, y):
        return x * (a - b * y), y * (d * x - c)

    def step(state, _):
        x, y = state
        u1, v1 = rate(x, y)
        u2, v2 = rate(x + dt / 2 * u1, y + dt / 2 * v1)
        u3, v3 = rate(x + dt / 2 * u2, y + dt / 2 * v2)
        u4, v4 = rate(x + dt * u3, y + dt * v3)
        return (x + dt / 6 * (u1 + 2 * u2 + 2 * u3 + u4), y + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)), None
    (x, y), _ = lax.scan(step, (x0, y0), length=int(T))
    return (x - 1) ** 2 + (y - 1) ** 2


@model(z0=normal(3), sigma=between(8, 11), rho=between(20, 30), beta=between(2, 3), y=data(normal(5)), dt=fixed(0.02))
def lorenz(z0, sigma, rho, beta, y, dt):
    def rate(z):
        return jnp.stack([sigma * (z[1] - z[0]), z[0] * (rho - z[2]) - z[1], z[0] * z[1] - beta * z[2]])

    def step(z, _):
        z = z + dt * rate(z + dt / 2 * rate(z))
        return z, z[0]
    return ((lax.scan(step, z0, length=len(y))[1] - y) ** 2).sum()


@model(beta=between(0.3, 0.6), gamma=between(0.1, 0.3), i0=between(5, 15), n=fixed(1000), count=data(whole(20, 8, low=3)))
def epidemic(beta, gamma, i0, n, count):
    def step(state, _):
        s, i = state
        new = beta * s * i / n
        return (s - new, i + new - gamma * i), new
    _, new = lax.scan(step, (n - i0, i0), length=len(count))
    return (new - count * jnp.log(new)).sum()


@model(q0=normal(), p0=normal(), g=between(5, 10), dt=between(0.05, 0.15), T=fixed(7))
def leapfrog(q0, p0, g, dt, T):
    def step(state, _):
        q, p = state
        h = p - dt / 2 * g * jnp.sin(q)
        q = q + dt * h
        return (q, h - dt / 2 * g * jnp.sin(q)), None
    (q, p), _ = lax.scan(step, (q0, p0), length=int(T))
    return p**2 / 2 - g * jnp.cos(q) + q


@model(u0=normal(5, 4), k=between(0.05, 0.2, 5, 4), y=data(normal(5, 4)), T=fixed(4))
def heat(u0, k, y, T):
    def step(u, _):
        change = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(k[1:-1, 1:-1] * change), None
    u, _ = lax.scan(step, u0, length=int(T))
    return ((u - y) ** 2).sum()


@model(u0=normal(6), c=between(0.3, 0.9, 6), y=data(normal(6)), T=fixed(6))
def periodic_wave(u0, c, y, T):
    def step(state, _):
        u, before = state
        return (2 * u - before + c**2 * (jnp.roll(u, -1) + jnp.roll(u, 1) - 2 * u), u), None
    (u, _), _ = lax.scan(step, (u0, u0), length=int(T) - 2)
    return ((u - y) ** 2).sum()


@model(u=normal(4, 5), h=between(0.5, 1))
def periodic_laplacian(u, h):
    lap = (jnp.roll(u, -1, 0) + jnp.roll(u, 1, 0) + jnp.roll(u, -1, 1) + jnp.roll(u, 1, 1) - 4 * u) / h**2
    return ((u**2 - 1) ** 2 / 4 - u * lap / 2).sum()


@model(x=normal(3, 2), y=normal(4, 2), a=normal(3), b=normal(4), eps=between(0.5, 1), T=fixed(5))
def sinkhorn(x, y, a, b, eps, T):
    C = ((x[:, None] - y) ** 2).sum(2)
    a, b = jax.nn.log_softmax(a), jax.nn.log_softmax(b)

    def step(state, _):
        f = eps * (a - logsumexp((state[1] - C) / eps, axis=1))
        g = eps * (b - logsumexp((f[:, None] - C) / eps, axis=0))
        return (f, g), None
    (f, g), _ = lax.scan(step, (jnp.zeros(len(a)), jnp.zeros(len(b))), length=int(T))
    return (jnp.exp((f[:, None] + g - C) / eps) * C).sum()


@model(w=normal(8), damp=between(0.5, 0.8), src=fixed([0, 0, 1, 1, 2, 3, 3, 2]), dst=fixed([1, 2, 2, 3, 0, 0, 2, 3]),
       start=fixed([0.25, 0.25, 0.25, 0.25]))
def pagerank(w, damp, src, dst, start):
    weight = jnp.exp(w)
    share = weight / jnp.zeros(len(start)).at[src].add(weight)[src]

    def step(state, _):
        r, done = state
        after = (1 - damp) / len(start) + damp * jnp.zeros(len(start)).at[dst].add(share * r[src])
        return (jnp.where(done, r, after), done | (jnp.abs(after - r).sum() < 1e-4)), None
    (r, _), _ = lax.scan(step, (start, False), length=60)
    return jnp.log(r[0])


@model(e=between(0.2, 0.8), m=between(0.5, 2))
def kepler(e, m):
    def step(state, _):
        E, done = state
        change = (E - e * jnp.sin(E) - m) / (1 - e * jnp.cos(E))
        return (jnp.where(done, E, E - change), done | (jnp.abs(change) < 1e-9)), None
    (E, _), _ = lax.scan(step, (m, False), length=20)
    return jnp.cos(E) - e + 2 * jnp.sqrt(1 - e**2) * jnp.sin(E)


@model(w0=normal(2), rate=between(0.05, 0.2), momentum=between(0.3, 0.8), penalty=between(0.1, 0.5), x=data(normal(5, 2)),
       y=data(normal(5)), xv=data(normal(3, 2)), yv=data(normal(3)), T=fixed(5))
def gradient_descent(w0, rate, momentum, penalty, x, y, xv, yv, T):
    def step(state, _):
        w, v = state
        v = momentum * v - rate * ((x @ w - y) @ x / len(x) + penalty * w)
        return (w + v, v), None
    (w, _), _ = lax.scan(step, (w0, jnp.zeros(len(w0))), length=int(T))
    return ((xv @ w - yv) ** 2).mean()


# ---------------------------------------------------------------- functions of slices

@model(y0=between(0.5, 1.5, 3), p=between(0.3, 1.2, 6), h=between(0.1, 0.3), z=data(normal(5, 3)))
def runge_kutta(y0, p, h, z):
    def f(y):
        eaten = p[0] * y[0] * y[1] / (1 + p[1] * y[0])
        return jnp.stack([p[2] * y[0] * (1 - y[0] / p[3]) - eaten, p[4] * eaten - p[5] * y[1] * y[2], y[1] * y[2] - y[2]])

    def step(y, z):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
        return y, ((y - z) ** 2).sum()
    return lax.scan(step, y0, z)[1].sum()


@model(W=normal(3, 4, 2), b=normal(3, 4), V=normal(3, 2, 4), x=normal(2), z=data(normal(2)))
def layered_steps(W, b, V, x, z):
    for w, c, v in zip(W, b, V, strict=True):
        x = x + v @ jnp.tanh(w @ x + c)
    return ((x - z) ** 2).sum()


def forces(r, softening):
    """The force on each body, of unit masses, from each other one."""
    d = r[None] - r[:, None]
    return d / ((d ** 2).sum(-1) + softening)[..., None] ** 1.5


@model(r=normal(4, 3), m=between(0.5, 2, 4))
def pair_forces(r, m):
    return (jnp.einsum("i,j,ijk->ik", m, m, forces(r, 0.1)) ** 2).sum()


@model(q0=normal(3, 2), v0=normal(3, 2, by=0.3), m=between(0.5, 1, 3), h=between(0.05, 0.1), T=fixed(4))
def symplectic(q0, v0, m, h, T):
    def step(state, _):
        q, v = state
        v = v + h / 2 * jnp.einsum("j,ijk->ik", m, forces(q, 0.05))
        q = q + h * v
        return (q, v + h / 2 * jnp.einsum("j,ijk->ik", m, forces(q, 0.05))), None
    (q, v), _ = lax.scan(step, (q0, v0), None, length=int(T))
    return (q ** 2 + v ** 2).sum()


@model(A=normal(3, 3, by=0.5), q=between(0.5, 1, 3), C=normal(2, 3), r=between(0.5, 1, 2), m0=normal(3), p0=between(0.5, 1, 3),
       y=data(normal(4, 2)))
def kalman_step(A, q, C, r, m0, p0, y):
    def step(state, y):
        m, P = state
        u, V = A @ m, A @ P @ A.T + jnp.diag(q ** 2)
        e, S = y - C @ u, C @ V @ C.T + jnp.diag(r ** 2)
        G = C @ V
        X = jnp.linalg.solve(S, G)
        return (u + e @ X, V - G.T @ X), (jnp.linalg.slogdet(S)[1] + e @ jnp.linalg.solve(S, e)) / 2
    return lax.scan(step, (m0, jnp.diag(p0 ** 2)), y)[1].sum()


@model(k=between(0.5, 2, 3), y0=between(0.3, 1, 3), h=data(between(0.1, 0.2)), z=data(normal(3, 3)))
def robertson(k, y0, h, z):
    def f(y):
        a, b = -k[0] * y[0] + k[2] * y[1] * y[2], k[1] * y[1] ** 2
        return jnp.stack([a, -a - b, b])

    def step(y, z):
        x = y
        for _ in range(3):
            x = x - jnp.linalg.solve(jnp.eye(3) - h * jax.jacfwd(f)(x), x - y - h * f(x))
        return x, ((x - z) ** 2).sum()
    return lax.scan(step, y0, z)[1].sum()


@model(y0=normal(2), g=between(0.5, 2), h=between(0.1, 0.3), T=fixed(4))
def newton_root(y0, g, h, T):
    def residual(x, y):
        return x - y - h * jnp.stack([(x[1] + y[1]) / 2, -g * jnp.sin((x[0] + y[0]) / 2)])

    def energy(y):
        return y[1] ** 2 / 2 - g * jnp.cos(y[0])

    def step(y, _):
        x = y
        for _ in range(2):
            x = x - jnp.linalg.solve(jax.jacfwd(residual)(x, y), residual(x, y))
        return x, y
    last, ys = lax.scan(step, y0, None, length=int(T))
    return sum((energy(y) - energy(y0) + y[0]) ** 2 for y in [*ys, last])


@model(Q=normal(2, 3, 2), K=normal(2, 4, 2), V=normal(2, 4, 3), W=normal(2, 3, 2), z=data(normal(3, 2)))
def attention_heads(Q, K, V, W, z):
    w = jax.nn.softmax(jnp.einsum("htd,hud->htu", Q, K))
    return ((jnp.einsum("htu,huc,hca->ta", w, V, W) - z) ** 2).sum()


@model(W=normal(2, 4, 3), U=normal(3, 4, 3), b=normal(4, 3), h0=normal(3), c0=normal(3), x=data(normal(4, 2)),
       y=data(normal(4, 3)))
def lstm_cell(W, U, b, h0, c0, x, y):
    def step(state, now):
        (h, c), (x, y) = state, now
        a = b + jnp.einsum("i,igj->gj", x, W) + jnp.einsum("k,kgj->gj", h, U)
        c = sigmoid(a[1]) * c + sigmoid(a[0]) * jnp.tanh(a[2])
        h = sigmoid(a[3]) * jnp.tanh(c)
        return (h, c), ((h - y) ** 2).sum()
    return lax.scan(step, (h0, c0), (x, y))[1].sum()


@model(S=between(0.9, 1.1), K=between(0.9, 1.1), sigma=between(0.2, 0.4), rate=between(0.02, 0.06), tau=between(0.5, 1),
       T=fixed(5))
def option_lattice(S, K, sigma, rate, tau, T):
    dt = tau / T
    up = jnp.exp(sigma * jnp.sqrt(dt))
    p = (jnp.exp(rate * dt) - 1 / up) / (up - 1 / up)

    def payoff(t):
        return softplus(20 * (K - S * up ** (2 * np.arange(t + 1) - t))) / 20
    v = payoff(int(T))
    for t in range(int(T) - 1, -1, -1):
        v = jnp.maximum(payoff(t), jnp.exp(-rate * dt) * (p * v[1:] + (1 - p) * v[:-1]))
    return v[0]


@model(w=between(0.1, 0.4, 3), v0=between(0.5, 1), mu=normal(by=0.1), y=data(normal(5)))
def garch_step(w, v0, mu, y):
    def step(v, y):
        e = y - mu
        v = w[0] + w[1] * e ** 2 + w[2] * v
        return v, jnp.log(v) / 2 + e ** 2 / (2 * v)
    return lax.scan(step, v0, y)[1].sum()


@model(q0=normal(4), p0=normal(4), k=between(0.5, 1.5), b=between(0.1, 0.5), h=between(0.05, 0.15), T=fixed(4))
def leapfrog_chain(q0, p0, k, b, h, T):
    def force(q):
        e = jnp.diff(q)
        g = k * e + b * e ** 3
        return jnp.pad(g, (0, 1)) - jnp.pad(g, (1, 0)) - q * (jnp.arange(4) % 3 == 0)

    def step(state, _):
        q, p = state
        p = p + h / 2 * force(q)
        q = q + h * p
        return (q, p + h / 2 * force(q)), None
    (q, p), _ = lax.scan(step, (q0, p0), None, length=int(T))
    return (q ** 2 + p ** 4).sum()


@model(phi=normal(3, by=0.4), mu=normal(by=0.2), s=between(0.5, 1.5), x=data(normal(9)))
def autoregression(phi, mu, s, x):
    K, T = phi.shape[0], x.shape[0]
    return sum(((x[t] - mu - phi @ (x[t - K:t][::-1] - mu)) / s) ** 2 / 2 + jnp.log(s) for t in range(K, T))


@model(phi=normal(2, by=0.4), season=between(0.3, 0.8), e=normal(10), y0=normal(4), target=normal(10))
def forecast(phi, season, e, y0, target):
    y = list(y0)
    for t in range(len(y0), e.shape[0]):
        y.append(season * y[t - len(y0)] + e[t] + sum(p * jnp.tanh(y[t - 1 - k]) for k, p in enumerate(phi)))
    return sum((y[t] - target[t]) ** 2 for t in range(len(y0), e.shape[0]))


@model(R=between(0.8, 2, 8), g=between(0.1, 0.4, 4), seed=between(1, 3), N=between(50, 90), cases=data(between(1, 4, 8)))
def renewal(R, g, seed, N, cases):
    i, left = [seed], N - seed
    for t in range(1, 8):
        force = sum(g[s] * i[t - s] for s in range(1, min(t, 3) + 1))
        i.append(-left * jnp.expm1(-R[t] * force / N))
        left = left - i[t]
    i = jnp.stack(i)
    return (i - cases * jnp.log(i)).sum()


@model(omega=between(0.1, 0.3), alpha=between(0.1, 0.3, 2), beta=between(0.1, 0.3, 3), y=data(normal(8)))
def garch_orders(omega, alpha, beta, y):
    v = []
    for t in range(8):
        v.append(omega + sum(alpha[p] * y[t - 1 - p] ** 2 for p in range(min(2, t)))
                 + sum(beta[q] * v[t - 1 - q] for q in range(min(3, t))))
    v = jnp.stack(v)
    return ((y ** 2 / v + jnp.log(v)) / 2).sum()


@model(h0=normal(3), W=normal(3, 3, by=0.5), V=normal(3, 3, by=0.5), T=fixed(4))
def self_attention_steps(h0, W, V, T):
    h = h0[None]
    for _ in range(int(T)):
        p = jax.nn.softmax(h @ (W @ h[-1]))
        h = jnp.concatenate([h, (h[-1] + jnp.tanh(V @ (p @ h)))[None]])
    return (h[-1] ** 2).sum()


@model(A=normal(3, 3), B=normal(5, 3), cost=normal(5, 3))
def viterbi(A, B, cost):
    d, back = B[0], []
    for t in range(1, 5):
        back.append(jnp.argmax(d[:, None] + A, 0))
        d = (d[:, None] + A).max(0) + B[t]
    path = [jnp.argmax(d)]
    for b in reversed(back):
        path.insert(0, b[path[0]])
    return d.max() ** 2 + sum(cost[t, k] ** 2 for t, k in enumerate(path))


@model(a=between(0.5, 1), s=between(0.3, 0.8), x0=normal(4), y=data(normal(5)), e=data(normal(5, 4)), u=data(between(0, 1, 5)))
def particle_filter(a, s, x0, y, e, u):
    x, total = x0, 0.0
    for t in range(5):
        m = a * jnp.tanh(x) + s * e[t]
        log = -(y[t] - m) ** 2
        c = jnp.cumsum(jnp.exp(log - logsumexp(log)))
        x = m[jnp.searchsorted(c[:-1], (jnp.arange(4) + u[t]) / 4)]
        total += logsumexp(log)
    return total


@model(Q=normal(3, 2), move=normal(3, 2), gain=normal(3), s0=normal(2), T=fixed(5))
def greedy_policy(Q, move, gain, s0, T):
    s, total = s0, 0.0
    for _ in range(int(T)):
        a = jnp.argmax(Q @ s)
        total += gain[a] * (s ** 2).sum()
        s = jnp.tanh(s + move[a])
    return total
# ---------------------------------------------------------------- matrices

@model(x=normal(7, 4))
def robust_components(x):
    r = x - x.mean(0)
    v = jnp.linalg.eigh(r.T @ r / len(x))[1][:, -2:]
    return (jnp.sqrt(1 + (r - r @ v @ v.T) ** 2) - 1).sum()


def positive_definite(*shape: int) -> Drawn:
    def drawn(r: np.random.Generator) -> Any:
        a = np.round(r.normal(size=shape), 2)
        return a @ np.swapaxes(a, -1, -2) + 0.5 * np.eye(shape[-1])
    return Drawn(drawn)


@model(S=positive_definite(4, 3, 3), G=normal(3, 3))
def log_euclidean_mean(S, G):
    w, v = jnp.linalg.eigh(S)
    mean = jnp.einsum("tik,tk,tjk->ij", v, jnp.log(w), v) / len(S)
    return ((jax.scipy.linalg.expm(mean) - G) ** 2).sum()


@model(q=normal(3, 3), time=data(between(0.2, 2, 4)), count=data(Drawn(lambda r: r.integers(0, 9, (4, 3, 3)).astype(float))))
def rate_matrix(q, time, count):
    rates = jnp.exp(q) * (1 - jnp.eye(3))
    rates = rates - jnp.diag(rates.sum(1))
    p = jnp.stack([jax.scipy.linalg.expm(t * rates) for t in time])
    return -(count * jnp.log(p)).sum()


@model(a=fixed([0.3, 1.5])._replace(varies=True), t=fixed([0.0, 0.5, 1.0, 1.5, 2.5, 4.0, 6.0]), y=data(normal(7)))
def variable_projection(a, t, y):
    basis = jnp.exp(-a * t[:, None])
    return ((basis @ jnp.linalg.lstsq(basis, y)[0] - y) ** 2).sum()


@model(x=normal(6), y=normal(6))
def wasserstein(x, y):
    return ((jnp.sort(x) - jnp.sort(y)) ** 2).mean()


@model(W=normal(4, 3), b=normal(4), v=normal(4), x=data(normal(5, 3)), y=data(normal(5)))
def spectral_penalty(W, b, v, x, y):
    return 0.1 * jnp.linalg.norm(W, 2) ** 2 + ((jnp.tanh(x @ W.T + b) @ v - y) ** 2).mean()


@model(x=normal(10), w=between(0.3, 1, 4), c=normal(3, 4), s=normal(3, 4), want=data(normal(3, 3)), hop=fixed(3))
def hopping_spectrum(x, w, c, s, want, hop):
    frames = w * jnp.stack([x[f * int(hop):f * int(hop) + 4] for f in range(3)])
    return ((jnp.log((frames @ c.T) ** 2 + (frames @ s.T) ** 2 + 0.1) - want) ** 2).sum()


@model(k=between(0.1, 2, 3), y0=between(0.2, 1, 3), h=fixed(0.25), seen=data(between(0.2, 1, 4)))
def implicit_kinetics(k, y0, h, seen):
    def rate(y):
        first, last = k[1] * y[1] * y[2] - k[0] * y[0], k[2] * y[1] ** 2
        return jnp.array([first, -first - last, last])
    y, loss = y0, 0.0
    for t in range(4):
        z = y
        for _ in range(3):
            z = z - jnp.linalg.solve(jnp.eye(3) - h * jax.jacfwd(rate)(z), z - y - h * rate(z))
        y = z
        loss = loss + (y[2] - seen[t]) ** 2
    return loss


@model(A=normal(4, 4, by=0.2), b=normal(5, 4), w=fixed(0.8)._replace(varies=True))
def relaxation(A, b, w):
    x = jnp.zeros(4)
    for t in range(5):
        u = x
        for _ in range(6):
            u = u + w * (b[t] - u - A @ u)
        x = jnp.tanh(u)
    return (x ** 2).sum()


@model(x=normal(6, 3), W=normal(2, 3, 3, by=0.4), V=normal(2, 3, 3, by=0.4))
def layers_over_time(x, W, V):
    h = [jnp.zeros(3)] * 2
    for t in range(6):
        a = x[t]
        for n in range(2):
            a = h[n] = jnp.tanh(W[n] @ a + V[n] @ h[n])
    return (h[1] ** 2).sum()


# ---------------------------------------------------------------- numbers

def case(name: str) -> dict[str, Any]:
    """One case: the point `at`, the `direction`, and the loss with its derivatives."""
    loss, inputs = MODELS[name]
    r = np.random.default_rng(sum(map(ord, name)))
    at = {key: drawn.draw(r) for key, drawn in inputs.items()}
    varied = {key: jnp.asarray(at[key], float) for key, drawn in inputs.items() if drawn.varies}
    kept = {key: x for key, x in at.items() if key not in varied}
    direction = {key: jnp.asarray(np.round(r.normal(size=x.shape), 2)) for key, x in varied.items()}
    (value, grad), (along, hvp) = jax.jvp(jax.value_and_grad(lambda d: loss(**d, **kept)), (varied,), (direction,))
    lists = [{key: np.asarray(x).tolist() for key, x in d.items()} for d in (at, direction, grad, hvp)]
    return {"name": name, "at": lists[0], "direction": lists[1], "value": float(value), "along": float(along), "grad": lists[2],
            "hvp": lists[3]}


def main() -> None:
    file, *names = sys.argv[1:]
    path = pathlib.Path(file)
    old = {c["name"]: c for c in json.loads(path.read_text(encoding="utf-8"))["cases"]} if names else {}
    cases = {name: old[name] if names and name not in names else case(name) for name in sorted(MODELS)}
    lines = ",\n".join(json.dumps(c) for c in cases.values())
    made = f"jax {jax.__version__}, double precision, x86-64, tests/tools/make_model_references.py"
    path.write_text(f'{{"made by": {json.dumps(made)}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
