"""Programs with loops, each beside the same in plain Python: what their values and derivatives are compared with.

A meaning takes arrays of any numbers with mpmath's functions, and gives the outputs by name, as nested lists or numbers.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import mpmath
import numpy as np
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse

Meaning = Callable[[Mapping[str, Any], int], dict[str, Any]]


@dataclass(frozen=True)
class LoopProgram:
    """A text, its meaning (of the inputs and T), the shapes of its real inputs, and its whole numbers."""

    text: str
    meaning: Meaning
    shapes: dict[str, tuple[int, ...]]
    whole: dict[str, Any] = field(default_factory=dict)
    steps: int = 4

    def program(self) -> Program:
        return parse(self.text)


def given(made: LoopProgram, r: Random) -> dict[str, Any]:
    """Values for the real inputs."""
    return {n: np.array([r.uniform(0.3, 1.3) for _ in range(int(np.prod(s)))]).reshape(s) for n, s in made.shapes.items()}


def zeros(*shape: int) -> Any:
    return 0 if not shape else [zeros(*shape[1:]) for _ in range(shape[0])]


def recurrent_net(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h = [list(x["h0"])]
    for t in range(T):
        h.append([mpmath.tanh(sum(x["W"][n][m] * h[t][m] for m in range(3)) + x["x"][t][n]) for n in range(3)])
    return {"h": h}


def two_lags(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    v = [x["a"], 2 * x["b"]]
    for t in range(2, T):
        w = mpmath.sin(x["a"] * v[t - 1]) + x["b"] * v[t - 2]
        v.append(w * x["x"][t] + v[t - 2] / (1 + v[t - 1]**2))
    return {"v": v, "s": v[T - 1] * v[0]}


def backwards(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h = zeros(T + 1)
    h[T] = [a * x["x"][0][n] for n, a in enumerate(x["h0"])]
    for t in reversed(range(T)):
        h[t] = [mpmath.sqrt(1 + h[t + 1][n]**2) / x["W"][n][n] + x["x"][t][n] for n in range(3)]
    return {"y": [h[0][n] * h[1][n] for n in range(3)]}


def reductions(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h, s = [list(x["h0"])], [1]
    for t in range(T):
        m = max(h[t][n] * x["x"][t][n] for n in range(3))
        product = 1
        for n in range(3):
            product *= x["W"][n][n] + h[t][n] * m
        s.append(product)
        h.append([sum(x["W"][n][k] * h[t][k] * m for k in range(3)) + mpmath.tanh(s[t + 1]) * x["x"][t][n] for n in range(3)])
    return {"h": h, "y": sum(s[1:])}


def hidden_markov(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    K, obs = 3, [1, 0, 1, 1]
    A = [[mpmath.exp(a) for a in row] for row in x["A"]]
    B = [[mpmath.exp(a) for a in row] for row in x["B"]]
    p, loss = [mpmath.exp(a) for a in x["p0"]], 0
    for t in range(T):
        u = [sum(p[i] * A[i][j] for i in range(K)) * B[j][obs[t]] for j in range(K)]
        c = sum(u)
        p = [a / c for a in u]
        loss += mpmath.log(c)
    return {"loss": loss}


def in_logarithms(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    a = list(x["p0"])
    for t in range(T):
        a = [mpmath.log(sum(mpmath.exp(a[i] + x["A"][i][j]) for i in range(3))) + x["A"][j][t % 3] for j in range(3)]
    return {"loss": mpmath.log(sum(mpmath.exp(v) for v in a))}


def matrix_product(a: Any, b: Any) -> Any:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def kalman(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    """A filter of two states with one measurement each, and the log-likelihood."""
    A, Q = [list(r) for r in x["A"]], [list(r) for r in x["Q"]]
    m, P, loss = list(x["m0"]), [[1, 0], [0, 1]], 0
    for t in range(T):
        p = [sum(A[i][j] * m[j] for j in range(2)) for i in range(2)]
        B = matrix_product(matrix_product(A, P), [[*c] for c in zip(*A, strict=True)])
        S = [[B[i][j] + sum(Q[i][k] * Q[j][k] for k in range(2)) + (i == j) for j in range(2)] for i in range(2)]
        r = [x["y"][t][i] - p[i] for i in range(2)]
        det = S[0][0] * S[1][1] - S[0][1] * S[1][0]
        v = [(S[1][1] * r[0] - S[0][1] * r[1]) / det, (S[0][0] * r[1] - S[1][0] * r[0]) / det]
        loss += sum(a * b for a, b in zip(r, v, strict=True)) + mpmath.log(det)
        m = [p[i] + sum(S[i][j] * v[j] for j in range(2)) - v[i] for i in range(2)]
        inverse = [[S[1][1] / det, -S[0][1] / det], [-S[1][0] / det, S[0][0] / det]]
        P = [[(i == j) - inverse[i][j] for j in range(2)] for i in range(2)]
    return {"loss": loss, "w": m}


def heat(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    u = [list(x["u0"])]
    for t in range(T):
        last = u[t]
        inner = [last[i] + x["k"] * (last[i - 1] - 2 * last[i] + last[i + 1]) for i in range(1, 4)]
        u.append([last[0], *inner, x["right"] * (t + 1)])
    return {"u": u}


def two_loops(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h = [x["a"]]
    for t in range(2):
        h.append(h[t] * x["b"])
    for t in range(2, T):
        h.append(mpmath.cos(h[t]) + h[t - 2] * h[t])
    k = zeros(T + 1)
    k[T] = h[T]
    for t in reversed(range(T)):
        k[t] = k[t + 1] * h[t] + x["b"]
    return {"y": k[0]}


def gathered(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    at = [2, 0, 1, 2]
    h = [[a * a for a in x["h0"]]]
    for t in range(T):
        g = h[t][at[t]]
        new = [abs(a) if a > x["c"] else x["c"] * a for a in h[t]]
        new[at[t]] += g * x["c"]
        h.append(new)
    return {"y": sum(h[T][n] * (n + 1) for n in range(3))}


def diagonal(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h = [[0] * 5 for _ in range(T + 1)]
    h[0] = list(x["h0"])
    for t in range(T):
        h[t + 1] = [h[t][t] * h[t][n] + h[t][n] for n in range(5)]
    return {"y": h[T]}


def other_loop(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    """Steps that no input moves, and a history that nothing differentiated reads."""
    c, v = [1], [x["a"]]
    for t in range(T):
        c.append(c[t] / 2)
        v.append(v[t] + c[t + 1] * mpmath.log(1 + v[t]**2))
    return {"v": v, "w": [x["a"] * c[t] for t in range(T)]}


def assigned_and_added_to(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    """A step adds to its own element what it has just assigned, and to that of the step before."""
    h, y = [list(x["h0"])], []
    for t in range(T):
        r = [x["x"][t][n] - sum(x["W"][n][m] * h[t][m] for m in range(3)) for n in range(3)]
        y.append(r[0] * r[1])
        if t:
            y[t - 1] += mpmath.sin(r[2])
        h.append([mpmath.tanh(a) for a in r])
    return {"s": sum(a**2 for a in y[:T - 1])}


def triangle(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    b = [list(x["p"])]
    for _ in range(1, T):
        b.append([(1 - x["u"]) * v + x["u"] * mpmath.sin(w) for v, w in zip(b[-1], b[-1][1:], strict=False)])
    return {"y": [row[0] for row in b]}


def padded(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    h = list(x["h0"])
    for t in range(T):
        z = [sum((h[i + k - 1] if 0 <= i + k - 1 < 3 else 2) * x["w"][k] for k in range(3)) for i in range(3)]
        h = [mpmath.tanh(z[i] + x["x"][t][i]) for i in range(3)]
    return {"y": h}


def added_to_what_is_made(x: Mapping[str, Any], T: int) -> dict[str, Any]:
    """What a step makes by a root, a maximum and a sum of exponentials, and adds to behind."""
    u, s = x["h0"], 0
    for t in range(T):
        v = [a * x["x"][t][n] for n, a in enumerate(u)]
        made = [mpmath.sqrt(1 + a * a) + u[0] for a in v]
        s += sum(made) * (max(v) + u[1]) * (mpmath.log(sum(mpmath.exp(a) for a in v)) + u[2])
    return {"s": s}


LOOPS = {
    "added to what is made": LoopProgram("""input h0(N), x(T, N)
for t in 0:T {
    r(t, n) = sqrt(1 + (h0(n) * x(t, n))**2)
    r(t, n) += h0(0)
    m(t) max=! h0(n) * x(t, n)
    m(t) += h0(1)
    l(t) lse=! h0(n) * x(t, n)
    l(t) += h0(2)
}
s +=! r(t, n) * m(t) * l(t)
output s
""", added_to_what_is_made, {"h0": (3,), "x": (4, 3)}),
    "assigned and added to": LoopProgram("""input h0(N), W(N, N), x(T, N)
h(0, n) = h0(n)
for t in 0:T {
    r(t, n) = x(t, n)
    r(t, n) += -W(n, m) * h(t, m)
    y(t) = r(t, 0) * r(t, 1)
    y(t - 1) += sin(r(t, 2)) where t >= 1
    h(t + 1, n) = tanh(r(t, n))
}
s +=! y(t)**2 where t in 0:T - 1
output s
""", assigned_and_added_to, {"h0": (3,), "W": (3, 3), "x": (4, 3)}),
    "triangle": LoopProgram("""input p(T), u
b(0, i) = p(i)
for r in 1:T { b(r, i) = (1 - u)*b(r-1, i) + u*sin(b(r-1, i+1)) where i in 0:T - r }
y(r) = b(r, 0)
output y
""", triangle, {"p": (4,), "u": ()}),
    "padded": LoopProgram("""input h0(N), w(K), x(T, N)
h(0, i) = h0(i)
for t in 0:T {
    z(t, i) +=! (i + k >= 1 and i + k <= N ? h(t, i + k - 1) : 2)*w(k) where i in 0:N
    h(t+1, i) = tanh(z(t, i) + x(t, i))
}
y(i) = h(T, i)
output y
""", padded, {"h0": (3,), "w": (3,), "x": (4, 3)}),
    "recurrent net": LoopProgram("""input h0(N), W(N, N), x(T, N)
h(0, n) = h0(n)
for t in 0:T { z(t, n) +=! W(n, m) * h(t, m); h(t+1, n) = tanh(z(t, n) + x(t, n)) }
output h
""", recurrent_net, {"h0": (3,), "W": (3, 3), "x": (4, 3)}),
    "two lags": LoopProgram("""input a, b, x(T)
v(0) = a; v(1) = 2*b
for t in 2:T { w(t) = sin(a*v(t-1)) + b*v(t-2); v(t) = w(t)*x(t) + v(t-2)/(1 + v(t-1)**2) }
s = v(T-1)*v(0)
output v, s
""", two_lags, {"a": (), "b": (), "x": (4,)}),
    "backwards": LoopProgram("""input h0(N), W(N, N), x(T, N)
h(T, n) = h0(n)*x(0, n)
for t in 0:T down { h(t, n) = sqrt(1 + h(t+1, n)**2)/W(n, n) + x(t, n) }
y(n) = h(0, n)*h(1, n)
output y
""", backwards, {"h0": (3,), "W": (3, 3), "x": (4, 3)}),
    "reductions": LoopProgram("""input h0(N), W(N, N), x(T, N)
h(0, n) = h0(n)
for t in 0:T {
    m(t) max=! h(t, n)*x(t, n)
    s(t+1) *=! W(n, n) + h(t, n)*m(t)
    h(t+1, n) += W(n, k)*h(t, k)*m(t)
    h(t+1, n) += tanh(s(t+1))*x(t, n)
}
y +=! s(t) where t in 1:T+1
output h, y
""", reductions, {"h0": (3,), "W": (3, 3), "x": (4, 3)}),
    "hidden Markov": LoopProgram("""input A(K, K), B(K, M), p0(K)
input int32 obs(T)
p(0, k) = exp(p0(k))
for t in 0:T {
    u(t, j) +=! p(t, i)*exp(A(i, j))*exp(B(j, obs(t)))
    c(t) +=! u(t, j)
    p(t+1, j) = u(t, j)/c(t)
}
loss +=! log(c(t))
output loss
""", hidden_markov, {"A": (3, 3), "B": (3, 2), "p0": (3,)}, {"obs": [1, 0, 1, 1]}),
    "in logarithms": LoopProgram("""input A(K, K), p0(K)
input int32 obs(T)
a(0, k) = p0(k)
for t in 0:T {
    m(t, j) lse=! a(t, i) + A(i, j)
    a(t+1, j) = m(t, j) + A(j, obs(t))
}
loss lse=! a(T, j)
output loss
""", in_logarithms, {"A": (3, 3), "p0": (3,)}, {"obs": [0, 1, 2, 0]}),
    "Kalman filter": LoopProgram("""input A(N, N), Q(N, N), m0(N), y(T, N)
m(0, i) = m0(i)
P(0, i, j) = i == j ? 1 : 0 where i in 0:N, j in 0:N
for t in 0:T {
    p(t, i) +=! A(i, j)*m(t, j)
    B(t, i, k) +=! A(i, j)*P(t, j, k)
    C(t, i, j) +=! B(t, i, k)*A(j, k)
    S(t, i, j) += C(t, i, j) + (i == j ? 1 : 0)
    S(t, i, j) += Q(i, k)*Q(j, k)
    r(t, i) = y(t, i) - p(t, i)
    v(t) = solve(S(t), r(t))
    l(t) = logdet(S(t))
    m(t+1, i) += p(t, i) - v(t, i)
    m(t+1, i) += S(t, i, j)*v(t, j)
    V(t) = inverse(S(t))
    P(t+1, i, j) = (i == j ? 1 : 0) - V(t, i, j)
}
a +=! r(t, i)*v(t, i)
d +=! l(t)
loss = a + d
w(i) = m(T, i)
output loss, w
""", kalman, {"A": (2, 2), "Q": (2, 2), "m0": (2,), "y": (4, 2)}),
    "heat": LoopProgram("""input u0(N), k, right, int32 T
u(0, i) = u0(i)
for t in 0:T {
    u(t+1, i) = u(t, i) + k*(u(t, i-1) - 2*u(t, i) + u(t, i+1)) where i in 1:N-1
    u(t+1, 0) = u(t, 0)
    u(t+1, N-1) = right*(t + 1)
}
output u
""", heat, {"u0": (5,), "k": (), "right": ()}, {"T": 4}),
    "two loops": LoopProgram("""input a, b, int32 T
h(0) = a
for t in 0:2 { h(t+1) = h(t)*b }
for t in 2:T { h(t+1) = cos(h(t)) + h(t-2)*h(t) }
k(T) = h(T)
for t in 0:T down { k(t) = k(t+1)*h(t) + b }
y = k(0)
output y
""", two_loops, {"a": (), "b": ()}, {"T": 4}),
    "gathered": LoopProgram("""input h0(N), c
input int32 at(T)
h(0, n) = h0(n)**2
for t in 0:T {
    g(t) = h(t, at(t))
    r(t, n) = h(t, n) > c ? abs(h(t, n)) : c*h(t, n)
    h(t+1, n) += r(t, n)
    h(t+1, n) += n == at(t) ? g(t)*c : 0
}
y +=! h(T, n)*(n + 1)
output y
""", gathered, {"h0": (3,), "c": ()}, {"at": [2, 0, 1, 2]}),
    "diagonal": LoopProgram("""input h0(N), int32 T
h(0, n) = h0(n)
for t in 0:T { h(t+1, n) = h(t, t)*h(t, n) + h(t, n) }
y(n) = h(T, n)
output y
""", diagonal, {"h0": (5,)}, {"T": 4}),
    "other loop": LoopProgram("""input a, int32 T
c(0) = 1
v(0) = a
for t in 0:T { c(t+1) = c(t)/2; v(t+1) = v(t) + c(t+1)*log(1 + v(t)**2) }
w(t) = a*c(t) where t in 0:T
output v, w
""", other_loop, {"a": ()}, {"T": 4}),
}
