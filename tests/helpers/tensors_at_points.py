"""Small programs with every kind of statement, each with a point: name to text and inputs."""
from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(7)
SQUARE = RNG.normal(size=(3, 3))
PROGRAMS = {
    "a sum, a gather and a choice": ("input A(m, n), int32 k(m)\nv(i) +=! A(k(i), j) > 0 ? A(i, j)*j : sin(A(i, j))\noutput v",
                                     {"A": RNG.normal(size=(3, 4)), "k": np.array([2, 0, 2])}),
    "extrema, products and lse": ("input x(n)\na max=! x(i)\nb min=! x(i)\nc *=! x(i)\nd lse=! 3*x(i)\noutput a, b, c, d",
                                  {"x": RNG.normal(size=5)}),
    "a loop with lags": ("input W(n, n), h0(n), T\nh(0, i) = h0(i)\nfor t in 0:4 {\na(t, i) +=! W(i, j)*h(t, j)\n"
                         "h(t + 1, i) = tanh(a(t, i) + T)\n}\nL +=! h(4, i)\noutput L",
                         {"W": SQUARE, "h0": np.ones(3), "T": 0.5}),
    "matrices": ("input A(n, n), b(n)\nM(i, j) +=! A(k, i)*A(k, j)\nx = solve(A, b)\ny = solve_lower(cholesky(M), b)\n"
                 "d = logdet(M)\nV = inverse(A)\noutput x, y, d, V", {"A": SQUARE, "b": np.arange(3.0)}),
    "a singular matrix": ("input A(n, n), b(n)\nx = solve(A, b)\nd = logdet(A)\noutput x, d",
                          {"A": np.ones((2, 2)), "b": np.ones(2)}),
    "a matrix that is infinite": ("input A(n, n), b(n)\nx = solve(A, b)\noutput x",
                                  {"A": np.array([[np.inf, 0.0], [0.0, 1.0]]), "b": np.ones(2)}),
}
