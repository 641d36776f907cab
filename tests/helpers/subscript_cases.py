"""Programs whose subscripts have sizes as factors, floors and remainders, or are computed: each with shapes or values of its
inputs, and what it means in NumPy's terms."""
from __future__ import annotations

from typing import Any

import numpy as np

LAPLACIAN = """input u(N, M)
L(i, j) = u((i + 1) % N, j)**2 + u((i - 1) % N, j) + u(i, (j + 1) % M) * u(i, (j - 1) % M) - 4*u(i, j)"""

SUBSCRIPTS: list[tuple[str, dict[str, tuple[int, ...]], Any]] = [
    ("input A(M, N)\nB(i*N + j) = sin(A(i, j))", {"A": (3, 4)}, lambda A: np.sin(A).reshape(-1)),
    ("input B(M*N), g(M), w(N)\nA(i, j) = B(i*N + j)**2 * w(j) * g(i)", {"B": (12,), "g": (3,), "w": (4,)},
     lambda B, g, w: B.reshape(3, 4)**2 * w * g[:, None]),
    ("input B(M*N), g(M), w(N)\nA(i) +=! B(i*N + j)**2 * w(j) * g(i)", {"B": (12,), "g": (3,), "w": (4,)},
     lambda B, g, w: B.reshape(3, 4)**2 @ w * g),
    ("input w(D), g(H), q(T, H*D), k(T, H*D)\ns(h, t, v) +=! q(t, h*D + d) * k(v, h*D + d) * w(d) * g(h)",
     {"w": (2,), "g": (3,), "q": (3, 6), "k": (3, 6)},
     lambda w, g, q, k: np.einsum("thd,vhd,d,h->htv", q.reshape(3, 3, 2), k.reshape(3, 3, 2), w, g)),
    ("input A(B, H, D)\nf((b*H + h)*D + d) = exp(A(b, h, d))", {"A": (2, 3, 2)}, lambda A: np.exp(A).reshape(-1)),
    ("input x(G*C, L), w(G, O, C, K)\ny(g*O + o, l) +=! x(g*C + c, l + k) * w(g, o, c, k)", {"x": (4, 5), "w": (2, 3, 2, 2)},
     lambda x, w: np.concatenate([sum(np.einsum("cl,oc->ol", x[2*g:2*g + 2, k:k + 4], w[g, :, :, k]) for k in range(2))
                                  for g in range(2)])),
    ("input x(C, L), w(M, C/G, K), z(G)\ny(m, l) +=! x(floor(m/(M/G))*(C/G) + c, l + k) * w(m, c, k) * z(floor(m/(M/G)))",
     {"x": (4, 5), "w": (6, 2, 2), "z": (2,)},
     lambda x, w, z: np.concatenate([z[g] * sum(x[2*g:2*g + 2, k:k + 4].T @ w[3*g:3*g + 3, :, k].T for k in range(2)).T
                                     for g in range(2)])),
    ("input x(N), w(K), s(S)\ny(i) +=! x(i*S + k)**2 * w(k) * s(0) where i in 0:(N - K)/S + 1, k in 0:K",
     {"x": (7,), "w": (3,), "s": (2,)}, lambda x, w, s: s[0]*np.array([(x[2*i:2*i + 3]**2) @ w for i in range(3)])),
    (LAPLACIAN, {"u": (5, 4)},
     lambda u: np.roll(u, -1, 0)**2 + np.roll(u, 1, 0) + np.roll(u, -1, 1) * np.roll(u, 1, 1) - 4*u),
    ("input x(N)\ny(i) = x((2 - i) % N)**2 where i in 0:N", {"x": (5,)}, lambda x: x[[2, 1, 0, 4, 3]]**2),
    ("input x(N)\ny(i) = x(i % N)**2 + x((i + 2) % 3) where i in 0:2*N", {"x": (4,)},
     lambda x: np.concatenate([x, x])**2 + x[[2, 0, 1, 2, 0, 1, 2, 0]]),
    ("input x(N)\ny(i) = x(floor(i / 2))**2 * (i % 3) where i in 0:2*N", {"x": (3,)},
     lambda x: np.repeat(x, 2)**2 * [0, 1, 2, 0, 1, 2]),
    ("input x(N)\ny(i) = i >= 1 && i < N - 1 ? x(i - 1) * x(i + 1) : x(i)**2 where i in 0:N", {"x": (5,)},
     lambda x: np.concatenate([x[:1]**2, x[:-2] * x[2:], x[-1:]**2])),
    ("input x(N)\ny(i) = i == 0 or not i < N - 1 ? 0 : x(i - 1) * x(i + 1) where i in 0:N", {"x": (5,)},
     lambda x: np.concatenate([[0], x[:-2] * x[2:], [0]])),
    ("input x(N)\ns +=! x(i)**2 where i != 2, i % 3 == 0 or i > 1", {"x": (6,)}, lambda x: (x[[0, 3, 4, 5]]**2).sum()),
    ("input x(N)\ny(i) = i % 2 == 0 ? x(floor(i/2)) : 0.5*x(floor(i/2))*x(floor(i/2) + 1) where i in 0:2*N - 1", {"x": (4,)},
     lambda x: np.append(np.stack([x[:-1], 0.5*x[:-1]*x[1:]], 1).reshape(-1), x[-1])),
    ("input x(N)\ny(i, r % 2) +=! x(r + i)**2 where i in 0:2, r in 0:N - 1", {"x": (6,)},
     lambda x: np.array([[sum(x[r + i]**2 for r in range(5) if r % 2 == p) for p in range(2)] for i in range(2)])),
]


def spline(x: Any, c: Any) -> Any:
    k = np.floor(x).astype(int)
    return c[k] * (1 - (x - k)) + c[k + 1] * (x - k)


def bilinear(A: Any, x: Any, y: Any) -> Any:
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = x - i, y - j
    return A[i, j]*(1 - s)*(1 - t) + A[i + 1, j]*s*(1 - t) + A[i, j + 1]*(1 - s)*t + A[i + 1, j + 1]*s*t


X, Y = np.array([0.3, 2.4, 1.7]), np.array([1.2, 0.1, 0.6])
WHOLE_NUMBERS: list[tuple[str, dict[str, Any], Any]] = [
    ("input x(N), c(M)\nint32 k(i) = floor(x(i))\ny(i) = c(k(i)) * (1 - (x(i) - k(i))) + c(k(i) + 1) * (x(i) - k(i))",
     {"x": X, "c": (5,)}, spline),
    ("input x(N), c(M)\ny(i) = c(floor(x(i))) * (1 - fmod(x(i), 1)) + c(floor(x(i)) + 1) * fmod(x(i), 1)",
     {"x": X, "c": (5,)}, spline),
    ("input A(M, N), x(B), y(B)\nint32 i(b) = floor(x(b))\nint32 j(b) = floor(y(b))\ns(b) = x(b) - i(b)\nt(b) = y(b) - j(b)\n"
     "z(b) = A(i(b), j(b))*(1 - s(b))*(1 - t(b)) + A(i(b) + 1, j(b))*s(b)*(1 - t(b)) + A(i(b), j(b) + 1)*(1 - s(b))*t(b) "
     "+ A(i(b) + 1, j(b) + 1)*s(b)*t(b)", {"A": (5, 4), "x": X, "y": Y}, bilinear),
    ("input x(N), int32 J(B)\ny(b, r) = x(J(b) + r)**2 where r in 0:3", {"x": (6,), "J": np.array([3, 0, 2])},
     lambda x, J: x[J[:, None] + np.arange(3)]**2),
    ("input x(N), w(N)\nint32 k(i) = floor(4*abs(x(i)))\nh(k(i)) +=! w(i)**2 where float(6) h", {"x": X / 4, "w": (3,)},
     lambda x, w: np.bincount(np.floor(4*abs(x)).astype(int), w**2, minlength=6)),
    ("input z(B, C), w(C)\nk(b) argmax=! z(b, c)\nv(b) = w(k(b)) * exp(z(b, k(b)))\noutput v",
     {"z": np.array([[1.0, 3, 2, 0], [4, 1, 2, 3.5]]), "w": (4,)},
     lambda z, w: w[z.argmax(1)] * np.exp(z.max(1))),
    ("input x(N), y\nk argmin=! sin(x(i) - y) where i in 1:N\nv = x(k)**2*y\noutput k, v",
     {"x": np.array([9.0, 3, 1, 2]), "y": 0.5},
     lambda x, y: x[1 + np.sin(x[1:] - y).argmin()]**2*y),
    ("input x(N), y\nint32 n = floor(y)\nv = x(n)*y + x(n + 1)**2 + x(floor(y) + 2)", {"x": (5,), "y": 1.25},
     lambda x, y: x[1]*y + x[2]**2 + x[3]),
    ("input x(N)\ny(i) = x(min(i + 1, N - 1)) - 2*x(i)**2 + x(max(i - 1, 0)) where i in 0:N", {"x": (4,)},
     lambda x: np.append(x[1:], x[-1]) - 2*x**2 + np.append(x[:1], x[:-1])),
    ("input x(N)\ny(i) = x(abs(i - 1))**2 * x(N - 1 - abs(N - 1 - abs(i - 2))) where i in 0:N", {"x": (5,)},
     lambda x: x[[1, 0, 1, 2, 3]]**2 * x[[2, 1, 0, 1, 2]]),
    ("input x(N), w(K)\ny(i) +=! x(clamp(i + k - 1, 0, N - 1))**2 * w(k) where i in 0:N", {"x": (5,), "w": (3,)},
     lambda x, w: np.correlate(np.pad(x, 1, mode="edge")**2, w)),
    ("input x(N), w(K)\ny(i) +=! x(i + k < 1 ? 1 - i - k : i + k > N ? 2*N - 1 - i - k : i + k - 1)*w(k)**2 where i in 0:N",
     {"x": (5,), "w": (3,)}, lambda x, w: np.correlate(np.pad(x, 1, mode="reflect"), w**2)),
    ("input c(M), x(N)\ny(i) = c(k)*(1 - t) + c(k + 1)*t where k = floor(x(i)), t = x(i) - k", {"c": (5,), "x": X},
     lambda c, x: np.interp(x, np.arange(5), c)),
    ("input A(M, N)\ny(i) = A(floor(i/N), i % N)**2 where i in 0:M*N", {"A": (2, 3)}, lambda A: A.reshape(-1)**2),
    ("input A(M, N), B(P, Q)\nK(i, j) = A(floor(i/P), floor(j/Q)) * B(i % P, j % Q) where i in 0:M*P, j in 0:N*Q",
     {"A": (2, 2), "B": (2, 3)}, lambda A, B: np.kron(A, B)),
    ("input p(K), x(N)\ny(i) +=! p(floor(i*(i + 1)/2) + j)*x(j)**2 where i in 0:N, j in 0:i + 1", {"p": (6,), "x": (3,)},
     lambda p, x: np.array([p[0]*x[0]**2, p[1:3] @ x[:2]**2, p[3:] @ x**2])),
    ("input x(N)\ny(i) = x(i < N - 1 ? i + 1 : 0)*x(i) where i in 0:N", {"x": (4,)}, lambda x: np.roll(x, -1)*x),
    ("input x(N)\ny(i) = i >= 1 ? x(i*i - 1) : x(N - 1)**2 where i in 0:3", {"x": (4,)}, lambda x: np.append(x[3]**2, x[[0, 3]])),
    ("input x(N), u(T)\ny(i) = i >= 1 ? u(i)*x(floor(u(i - 1))) : 0 where i in 0:T", {"x": (5,), "u": X},
     lambda x, u: np.append(0, u[1:]*x[np.floor(u[:-1]).astype(int)])),
    ("input x(N), u(T)\nfor t in 0:T { z(t) = x(floor(u(t)))*u(t); q(t) = z(t)**2 }\noutput q", {"x": (5,), "u": X},
     lambda x, u: (x[np.floor(u).astype(int)]*u)**2),
    ("input x(N), u(T), y\nh(0) = y\nfor t in 0:T { h(t+1) = t >= 1 ? x(floor(u(t-1)))*h(t) : 2*h(t) }\noutput h",
     {"x": (5,), "u": X, "y": 1.5}, lambda x, u, y: y*np.cumprod([1, 2, *x[np.floor(u[:-1]).astype(int)]])),
]
