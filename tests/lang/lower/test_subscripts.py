"""Subscripts with sizes as factors, floors and remainders: values against NumPy's own reshaping and rolling, and every law of
derivatives."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.affine import Index, affine, product, remainder, substituted, text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from session_seed import drawn, half
from source_laws import check_source
from tensor_laws import NUMPY, direction

LAPLACIAN = """input u(N, M)
L(i, j) = u((i + 1) % N, j)**2 + u((i - 1) % N, j) + u(i, (j + 1) % M) * u(i, (j - 1) % M) - 4*u(i, j)"""

PROGRAMS: list[tuple[str, dict[str, tuple[int, ...]], Any]] = [
    ("input A(M, N)\nB(i*N + j) = sin(A(i, j))", {"A": (3, 4)}, lambda A: np.sin(A).reshape(-1)),
    ("input B(M*N), w(N)\nA(i, j) = B(i*N + j)**2 * w(j)", {"B": (12,), "w": (4,)}, lambda B, w: B.reshape(3, 4)**2 * w),
    ("input B(M*N), w(N)\nA(i) +=! B(i*N + j)**2 * w(j)", {"B": (12,), "w": (4,)}, lambda B, w: B.reshape(3, 4)**2 @ w),
    ("input w(D), q(T, H*D), k(T, H*D)\ns(h, t, v) +=! q(t, h*D + d) * k(v, h*D + d) * w(d)",
     {"w": (2,), "q": (3, 6), "k": (3, 6)},
     lambda w, q, k: np.einsum("thd,vhd,d->htv", q.reshape(3, 3, 2), k.reshape(3, 3, 2), w)),
    ("input A(B, H, D)\nf((b*H + h)*D + d) = exp(A(b, h, d))", {"A": (2, 3, 2)}, lambda A: np.exp(A).reshape(-1)),
    ("input x(G*C, L), w(G, O, C, K)\ny(g*O + o, l) +=! x(g*C + c, l + k) * w(g, o, c, k)", {"x": (4, 5), "w": (2, 3, 2, 2)},
     lambda x, w: np.concatenate([sum(np.einsum("cl,oc->ol", x[2*g:2*g + 2, k:k + 4], w[g, :, :, k]) for k in range(2))
                                  for g in range(2)])),
    ("input x(N), w(K), s(S)\ny(i) +=! x(i*S + k)**2 * w(k) * s(0) where i in 0:(N - K) / 2 + 1, k in 0:K",
     {"x": (7,), "w": (3,), "s": (2,)}, lambda x, w, s: s[0]*np.array([(x[2*i:2*i + 3]**2) @ w for i in range(3)])),
    (LAPLACIAN, {"u": (5, 4)},
     lambda u: np.roll(u, -1, 0)**2 + np.roll(u, 1, 0) + np.roll(u, -1, 1) * np.roll(u, 1, 1) - 4*u),
    ("input x(N)\ny(i) = x((2 - i) % N)**2 where i in 0:N", {"x": (5,)}, lambda x: x[[2, 1, 0, 4, 3]]**2),
    ("input x(N)\ny(i) = x(i % N)**2 + x((i + 2) % 3) where i in 0:2*N", {"x": (4,)},
     lambda x: np.concatenate([x, x])**2 + x[[2, 0, 1, 2, 0, 1, 2, 0]]),
    ("input x(N)\ny(i) = x(floor(i / 2))**2 * (i % 3) where i in 0:2*N", {"x": (3,)},
     lambda x: np.repeat(x, 2)**2 * [0, 1, 2, 0, 1, 2]),
    ("input x(N)\ny(i, r % 2) +=! x(r + i)**2 where i in 0:2, r in 0:N - 1", {"x": (6,)},
     lambda x: np.array([[sum(x[r + i]**2 for r in range(5) if r % 2 == p) for p in range(2)] for i in range(2)])),
]


@pytest.mark.parametrize(("source", "shapes", "reference"), half(PROGRAMS), ids=lambda x: x[:60] if isinstance(x, str) else "")
def test_subscripts_mean_what_numpy_does_and_keep_every_law(source: str, shapes: dict[str, tuple[int, ...]],
                                                            reference: Any) -> None:
    r = drawn("subscripts", source)
    check_source(source, {n: direction(r, shape) for n, shape in shapes.items()}, reference, r)


@pytest.mark.parametrize(("source", "at", "said"), [
    ("input B(3*N), w(K)\nA(i, j) = B(i*K + j) where i in 0:N, j in 0:K", {"B": (6,), "w": (4,)}, "runs from 0 to 7, and"),
    ("input x(N), w(K)\ny(i, k) = x((i + 3) % K) * w(k) where i in 0:N", {"x": (3,), "w": (5,)}, "runs from 0 to"),
    ("input x(N), w(K)\ny(i) = x(i % K) where i in 0:N", {"x": (3,), "w": (0,)}, "the remainder by K is taken, which is 0"),
])
def test_what_sizes_do_not_allow_is_said_when_they_are_known(source: str, at: dict[str, tuple[int, ...]], said: str) -> None:
    program = parse(source)
    values = {n: np.ones(s) for n, s in at.items()}
    for run in (lambda: evaluate(program, values, NUMPY), lambda: compile_tensors(program)(values)):
        with pytest.raises(AdError, match=said):
            run()


@pytest.mark.parametrize(("source", "said"), [
    ("input A(M, K), w(N)\nB(i*N + j) = A(i, j)", "two points write the same element of 'B'"),
    ("input x(N)\ny(i) = x((i + 1) % N)", "the range of index 'i' is ambiguous"),
    ("input x(N)\ny(i) = x(i % (1 - 1)) where i in 0:N", "a remainder by 0"),
    ("input x(N)\ny(i, j) = x(i % j) where i in 0:N, j in 1:N", "is not affine"),
    ("input x(N)\ny(i) = x(i / 2) where i in 0:N", "a quotient by 2 that is not always exact"),
])
def test_what_has_no_meaning_is_refused(source: str, said: str) -> None:
    with pytest.raises(AdError, match=said):
        parse(source)


def test_expressions_are_numbers_and_their_own_text() -> None:
    r = drawn("expressions of subscripts")
    i, j = Index("i"), Index("j")
    for _ in range(200):
        known = {i: r.randrange(5), j: r.randrange(5), "N": r.randrange(1, 5), "M": r.randrange(1, 5)}
        x, number = affine(0), 0
        for a in (i, j, "N", "M", None, None):
            c = r.randrange(-3, 4)
            x, number = (x + c, number + c) if a is None else (x + affine(a) * c, number + c * known[a])
        size, times = r.choice([(affine("N"), known["N"]), (affine("N") + 1, known["N"] + 1), (affine(3), 3)])
        for made, n in ((product(x, size), number * times), (remainder(x, size), number % times),
                        (remainder(product(x, size) + remainder(x, size) * 2 + 1, size), (2 * (number % times) + 1) % times)):
            assert value(made, known) == n
            assert eval(text(made), {a.name if isinstance(a, Index) else a: k for a, k in known.items()}) == n
            assert substituted(made, {a: affine(k) for a, k in known.items()}).number == n
