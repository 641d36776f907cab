#!/usr/bin/env python3
"""Numbers of JAX for programs with tensors, in tests/data/tensors/jax.json: see tests/data/README.md.

    python tests/tools/make_jax_references.py tests/data/tensors/jax.json

A command, not run by the tests. It needs jax and nothing of this project: every program is written here once in the language
and once with the operations of JAX. The numbers are those of forward over reverse mode: outputs, adjoints for random weights, and
the tangents of both along a random direction, in the order of the inputs and outputs. Points are random with few decimals, so
that a file holds them exactly; some have ties and zeros.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
Function = Callable[..., Any]
PROGRAMS: dict[str, tuple[str, dict[str, Any], Function, Any]] = {}
"""Name: text; shapes of the inputs, ("int", shape, end) for subscripts; the function; "pos", "ties", "zeros" or None."""


def program(
    name: str, text: str, shapes: dict[str, Any], function: Function, pos: bool = False, ties: str | None = None
) -> None:
    PROGRAMS[name] = text, shapes, function, "pos" if pos else ties


# ---------------------------------------------------------------- programs

program(
    "attn_def",
    """def softmax(float(N,M) x) -> (y) {
 m(i) max=! x(i,j)
 e(i,j) = exp(x(i,j) - m(i))
 s(i) +=! e(i,j)
 y(i,j) = e(i,j) / s(i)
}
def attention(float(T,D) Q, float(U,D) K, float(U,E) V) -> (O) {
 s(i,j) +=! Q(i,d) * K(j,d) / sqrt(D)
 w = softmax(s)
 O(i,k) +=! w(i,j) * V(j,k)
}
input Q(T,D), K(U,D), V(U,E)
O = attention(Q,K,V)
""",
    {"Q": (3, 4), "K": (5, 4), "V": (5, 2)},
    lambda Q, K, V: jax.nn.softmax(Q @ K.T / 2) @ V,
)


def bn(x, g, b):
    mu = x.mean((0, 2))
    v = ((x - mu[None, :, None]) ** 2).mean((0, 2))
    return g[None, :, None] * (x - mu[None, :, None]) / jnp.sqrt(v + 1e-5)[None, :, None] + b[None, :, None]


program(
    "batchnorm",
    """def bn(float(N,C,L) x, float(C) g, float(C) b) -> (y) {
 mu(c) +=! x(n,c,l)/(N*L)
 v(c) +=! (x(n,c,l)-mu(c))**2/(N*L)
 y(n,c,l) = g(c)*(x(n,c,l)-mu(c))*rsqrt(v(c)+1e-5)+b(c)
}""",
    {"x": (3, 2, 4), "g": (2,), "b": (2,)},
    bn,
)


def ln(x, g, b):
    mu = x.mean(-1, keepdims=True)
    v = ((x - mu) ** 2).mean(-1, keepdims=True)
    return g * (x - mu) / jnp.sqrt(v + 1e-5) + b


program(
    "layernorm",
    """input x(N,D), g(D), b(D)
mu(n) +=! x(n,d)
mu(n) = mu(n)/D
v(n) +=! (x(n,d)-mu(n))**2
s(n) = sqrt(v(n)/D+1e-5)
y(n,d) = g(d)*(x(n,d)-mu(n))/s(n)+b(d)
output y""",
    {"x": (3, 4), "g": (4,), "b": (4,)},
    ln,
)
program(
    "conv_sd",
    """input I(N,C,H,W), F(M,C,KH,KW)
O(n,m,h,w) +=! I(n,c,2*h+3*kh,2*w+kw)*F(m,c,kh,kw)""",
    {"I": (2, 2, 9, 8), "F": (3, 2, 2, 3)},
    lambda chosen, F: jax.lax.conv_general_dilated(chosen, F, (2, 2), "VALID", rhs_dilation=(3, 1)),
)
program(
    "conv_pad",
    """input I(H,W), F(KH,KW)
O(h,w) +=! I(h+kh-1,w+kw-1)*F(kh,kw) where h in 0:H, w in 0:W, kh in 0:KH, kw in 0:KW, h+kh>=1, h+kh<=H, w+kw>=1, w+kw<=W""",
    {"I": (5, 6), "F": (3, 3)},
    lambda chosen, F: jax.lax.conv_general_dilated(chosen[None, None], F[None, None], (1, 1), "SAME")[0, 0],
)
program(
    "convT",
    """input I(H), F(K)
O(2*h+k) +=! I(h)*F(k) where h in 0:H, k in 0:K, float(2*H+K-2) O""",
    {"I": (5,), "F": (3,)},
    lambda chosen, F: jnp.zeros(11).at[2 * jnp.arange(5)[:, None] + jnp.arange(3)[None]].add(chosen[:, None] * F[None]),
)
program("prefix2", "input x(N)\ny(i) *=! x(j) where i in 0:N, j in 0:i+1", {"x": (5,)}, lambda x: jnp.cumprod(x))
program(
    "pairdist",
    "input X(N,D)\nd2(i,j) +=! (X(i,k)-X(j,k))**2\nd(i,j) = i == j ? 0 : sqrt(d2(i,j))\ns +=! d(i,j)*(i+1)\noutput d,s",
    {"X": (4, 3)},
    lambda X: (lambda d: (d, (d * (jnp.arange(4) + 1)[:, None]).sum()))(
        jnp.where(
            jnp.eye(4, dtype=bool), 0.0, jnp.sqrt(jnp.where(jnp.eye(4, dtype=bool), 1.0, ((X[:, None] - X[None]) ** 2).sum(-1)))
        )
    ),
)
program(
    "lap",
    "input u(N,M), h\nL(i,j) = (u(i,j+1)+u(i+2,j+1)+u(i+1,j)+u(i+1,j+2)-4*u(i+1,j+1))/h**2",
    {"u": (5, 6), "h": ()},
    lambda u, h: (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) / h**2,
    pos=True,
)
program(
    "quad",
    "input x(N), A(N,N), b(N), c\nf +=! x(i)*A(i,j)*x(j)\nf += b(i)*x(i)\nf = f/2 + c\noutput f",
    {"x": (4,), "A": (4, 4), "b": (4,), "c": ()},
    lambda x, A, b, c: (x @ A @ x + b @ x) / 2 + c,
)
program(
    "mahal",
    """input x(N,D), mu(D), G(D,D)
P(i,j) +=! G(i,k)*G(j,k)
d(n,k) = x(n,k)-mu(k)
m(n) +=! d(n,i)*P(i,j)*d(n,j)
r(n) = sqrt(m(n))
output r""",
    {"x": (3, 2), "mu": (2,), "G": (2, 2)},
    lambda x, mu, G: jnp.sqrt(jnp.einsum("ni,ij,nj->n", x - mu, G @ G.T, x - mu)),
)
program(
    "bilin",
    "input A(I,J,K), x(B,I), y(B,K)\nz(b,j) +=! x(b,i)*A(i,j,k)*y(b,k)",
    {"A": (2, 3, 4), "x": (2, 2), "y": (2, 4)},
    lambda A, x, y: jnp.einsum("bi,ijk,bk->bj", x, A, y),
)
program("prod", "input x(N,M)\np(i) *=! x(i,j)\nq *=! p(i)\noutput p,q", {"x": (3, 3)}, lambda x: (x.prod(1), x.prod()))
program("prod0", "input x(N)\np *=! x(i)*cos(x(i))", {"x": (5,)}, lambda x: (x * jnp.cos(x)).prod(), ties="zeros")
program(
    "minmax",
    "input x(N,M)\na(i) max=! x(i,j)\nb(j) min=! sin(x(i,j))\nc max=! x(i,j)\noutput a,b,c",
    {"x": (3, 4)},
    lambda x: (x.max(1), jnp.sin(x).min(0), x.max()),
)
program(
    "minmaxties",
    "input x(N,M)\na(i) max=! x(i,j)*x(i,j)\nc min=! a(i)\noutput a,c",
    {"x": (3, 4)},
    lambda x: ((x * x).max(1), (x * x).max(1).min()),
    ties="ties",
)
program(
    "gather",
    "input T(R,D), w(B), int32 I(B)\no(b,d) = T(I(b),d)*w(b)\nn(d) +=! o(b,d)**2\noutput o,n",
    {"T": (4, 3), "w": (5,), "I": ("int", (5,), 4)},
    lambda T, w, chosen: (T[chosen] * w[:, None], ((T[chosen] * w[:, None]) ** 2).sum(0)),
)
program(
    "gather2",
    "input T(R,D), int32 I(B), int64 J(B)\no(b) = exp(T(I(b),J(b)))",
    {"T": (4, 3), "I": ("int", (5,), 4), "J": ("int", (5,), 3)},
    lambda T, chosen, J: jnp.exp(T[chosen, J]),
)
program(
    "lse",
    "input x(N,M)\nm(i) max=! x(i,j)\ns(i) +=! exp(x(i,j)-m(i))\nr(i) = m(i)+log(s(i))\noutput r",
    {"x": (3, 4)},
    lambda x: jax.nn.logsumexp(x, 1),
)
program(
    "ce",
    """def softmaxce(float(B,C) z, float(B,C) t) -> (l) {
 m(b) max=! z(b,c)
 s(b) +=! exp(z(b,c)-m(b))
 l +=! -t(b,c)*(z(b,c)-m(b)-log(s(b)))/B
}""",
    {"z": (3, 4), "t": (3, 4)},
    lambda z, t: (-t * jax.nn.log_softmax(z)).sum() / 3,
)
program(
    "reassign",
    """input x(N), a
y(i) = x(i)*a
y(i) = y(i) + x(0)
y(0) = a
y(i) += x(N-1-i)
a2 = a*y(1)
y(i) *= a2
s +=! y(i)
output y, s""",
    {"x": (4,), "a": ()},
    lambda x, a: (lambda y: (y * (a * y[1]), (y * (a * y[1])).sum()))(((x * a + x[0]).at[0].set(a)) + x[::-1]),
)
program(
    "updmax",
    """input x(N), y(N)
z(i) = x(i)
z(i) max= y(i)
z(i) min= 0.5
z(i) *= x(i)
output z""",
    {"x": (5,), "y": (5,)},
    lambda x, y: jnp.minimum(jnp.maximum(x, y), 0.5) * x,
)
program(
    "prodonto",
    """input x(N,M), y(N)
z(i) = y(i)
z(i) *= x(i,j)
z(i) += x(i,j)**2
output z""",
    {"x": (3, 4), "y": (3,)},
    lambda x, y: y * x.prod(1) + (x**2).sum(1),
)
program(
    "rank5",
    "input A(I,J,K,L,M), B(M,L)\nC(m,l,k,j,i) = A(i,j,k,l,m)*B(m,l)\nD(i,k) +=! C(m,l,k,j,i)*C(m,l,k,j,i)\noutput D",
    {"A": (2, 2, 3, 2, 2), "B": (2, 2)},
    lambda A, B: jnp.einsum("ijklm,ijklm,ml,ml->ik", A, A, B, B),
)
program(
    "indexval",
    "input x(N)\ny(i) = i*x(i) + N*x(i)**2 + sin(i)",
    {"x": (5,)},
    lambda x: jnp.arange(5) * x + 5 * x**2 + jnp.sin(jnp.arange(5.0)),
)


def cell(h, x, W, U):
    a = x @ W + h @ U
    z = jax.nn.sigmoid(a)
    return (1 - z) * h + z * jnp.tanh(a)


program(
    "gru",
    """def cell(float(B,H) h, float(B,I) x, float(I,H) W, float(H,H) U) -> (n) {
 a(b,j) +=! x(b,i)*W(i,j)
 a(b,j) += h(b,i)*U(i,j)
 z(b,j) = sigmoid(a(b,j))
 n(b,j) = (1-z(b,j))*h(b,j)+z(b,j)*tanh(a(b,j))
}
def two(float(B,H) h, float(B,I) x, float(I,H) W, float(H,H) U) -> (n) {
 m = cell(h,x,W,U)
 n = cell(m,x,W,U)
}
input h(B,H), x(B,I), W(I,H), U(H,H)
n = two(h,x,W,U)
""",
    {"h": (2, 3), "x": (2, 2), "W": (2, 3), "U": (3, 3)},
    lambda h, x, W, U: cell(cell(h, x, W, U), x, W, U),
)
program(
    "names",
    """input sin(N), max(N,N), add(N), where
i(j) +=! max(j,k)*sin(k)
dup_(sqrt) = i(sqrt)*add(sqrt)+where*exp(add(sqrt))
output dup_""",
    {"sin": (3,), "max": (3, 3), "add": (3,), "where": ()},
    lambda sin, max, add, where: (max @ sin) * add + where * jnp.exp(add),
)
program(
    "unicode",
    """input α(Ñ), 矩阵(Ñ,Ñ)
β(ι) +=! 矩阵(ι,κ)*α(κ)
""",
    {"α": (3,), "矩阵": (3, 3)},
    lambda a, b: b @ a,
)
program(
    "cond",
    """input x(N)
y(i) = i >= 1 ? x(i-1)*x(i) : 7*x(i) where i in 0:N
z(i) = x(i) > 0 ? sqrt(x(i)) : x(i)**2
output y,z""",
    {"x": (6,)},
    lambda x: (jnp.concatenate([7 * x[:1], x[:-1] * x[1:]]), jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), x**2)),
)
program(
    "scalarmix",
    """input A(N,N), s, t=2
u = s*t
B(i,j) = A(i,j)*u + A(j,i)
tr +=! B(i,i)
w = sin(tr)*B(0,1)*N
v(i) = w*B(i,0)
output w,v""",
    {"A": (3, 3), "s": (), "t": ()},
    lambda A, s, t: (lambda B: (lambda w: (w, w * B[:, 0]))(jnp.sin(jnp.trace(B)) * B[0, 1] * 3))(A * s * t + A.T),
)
program(
    "mogmax",
    """input x(N,K)
m(i) max=! x(i,k)
p(i) *=! m(j) - x(i,k)*0.1 where j in 0:N
o max=! p(i)
output m,p,o""",
    {"x": (2, 2)},
    lambda x: (lambda m, p: (m, p, p.max()))(
        x.max(1), jnp.stack([(x.max(1)[:, None] - x[i][None] * 0.1).prod() for i in range(2)])
    ),
)
program(
    "strided_w",
    "input x(N)\ny(2*i) = x(i)*x(i) where float(2*N) y\ny(2*i+1) = sin(x(i))\noutput y",
    {"x": (4,)},
    lambda x: jnp.stack([x * x, jnp.sin(x)], 1).reshape(-1),
)
program(
    "antidiag",
    "input x(N,M), f\ny(i+j) +=! f*x(i,j)*x(i,j)\nz(i-j+M-1) max=! x(i,j)\noutput y,z",
    {"x": (3, 4), "f": ()},
    lambda x, f: (
        jnp.stack([sum(f * x[i, s - i] ** 2 for i in range(3) if 0 <= s - i < 4) for s in range(6)]),
        jnp.stack([jnp.stack([x[i, i - s + 3] for i in range(3) if 0 <= i - s + 3 < 4]).max() for s in range(6)]),
    ),
)
program(
    "triang",
    "input L(N,N), b(N)\ny(i) +=! L(i,j)*b(j) where j in 0:i+1\nd *=! L(i,i)\nl +=! log(L(i,i)*L(i,i))\noutput y,d,l",
    {"L": (3, 3), "b": (3,)},
    lambda L, b: (jnp.tril(L) @ b, jnp.diag(L).prod(), jnp.log(jnp.diag(L) ** 2).sum()),
)
# ---------------------------------------------------------------- numbers

def several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def point(shapes: dict[str, Any], kind: str | None, r: np.random.Generator) -> list[np.ndarray]:
    found = []
    for s in shapes.values():
        if s and s[0] == "int":
            found.append(r.integers(0, s[2], s[1]))
            continue
        x = np.round(r.uniform(0.3, 1.7, s) if kind == "pos" else r.normal(size=s), 4)
        if kind == "ties":
            x = r.integers(-2, 3, s).astype(float)
        found.append(np.where(r.random(s) < 0.4, 0.0, x) if kind == "zeros" else x)
    return found


def numbers(shapes: dict[str, Any], function: Function, kind: str | None, r: np.random.Generator) -> dict[str, Any]:
    at = point(shapes, kind, r)
    real = [k for k, x in enumerate(at) if x.dtype.kind == "f"]

    def of_reals(*given: Any) -> tuple[Any, ...]:
        every: list[Any] = list(at)
        for k, x in zip(real, given, strict=True):
            every[k] = x
        return several(function(*every))

    def reverse(*given: Any) -> tuple[Any, ...]:
        out, pull = jax.vjp(of_reals, *given[: len(real)])
        return (*out, *pull(tuple(given[len(real) :])))

    reals = [jnp.asarray(at[k]) for k in real]
    weights = [jnp.asarray(np.round(r.normal(size=np.shape(y)), 4)) for y in of_reals(*reals)]
    direction = [jnp.asarray(np.round(r.normal(size=np.shape(x)), 4)) for x in (*reals, *weights)]
    values, tangents = jax.jvp(reverse, (*reals, *weights), tuple(direction))
    return {"at": [x.tolist() for x in (*at, *weights, *direction)], "found": [x.tolist() for x in (*values, *tangents)]}


def main() -> None:
    r = np.random.default_rng(0)
    cases = [
        {"name": name, "text": text, "inputs": list(shapes), **numbers(shapes, function, kind, r)}
        for name, (text, shapes, function, kind) in PROGRAMS.items()
    ]
    made = {"made by": f"jax {jax.__version__}, tests/tools/make_jax_references.py", "cases": cases}
    pathlib.Path(sys.argv[1]).write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")


main()
