#!/usr/bin/env python3
"""Log densities and their gradients beside stanli, which has Stan's; prints a table of microseconds a call.

    python tests/tools/bench_likelihoods.py [--only TEXT] [--seconds S]

Each row is one model: `Function.logdensity` of its text and `Model.log_prob_grad` of its Stan program, at one point of the same
vector without bounds, called from Python on one processor. They run in turn, and the least of several times counts. A ratio above
1 says how many times slower stanli is; `agree` is the largest relative difference of value and gradient, and beyond 1e-9 the exit
status is 1.
"""
from __future__ import annotations

import argparse
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

if __name__ == "__main__" and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})   # before adcli counts processors

import numpy as np
import stanli

import adcli

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
APART = 1e-9
WARM = 1.0
"""Seconds of the processor for calls before the measured ones."""
Draw = Callable[[np.random.Generator], dict[str, Any]]


class Row(NamedTuple):
    """A model as text, or the name of a sample; the same in Stan, its parameters in the same order; its data, where groups count
    from 0; the shapes of parameters that the data do not show."""

    text: str
    stan: str
    draw: Draw
    start: Mapping[str, tuple[int, ...]] = MappingProxyType({})


def regression(rows: int, columns: int, made: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Draw:
    def draw(r: np.random.Generator) -> dict[str, Any]:
        x = r.standard_normal((rows, columns))
        return {"X": x, "y": made(r, x @ np.linspace(-1, 1, columns))}
    return draw


def grouped(rows: int, groups: int, made: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Draw:
    def draw(r: np.random.Generator) -> dict[str, Any]:
        k = r.integers(0, groups, rows)
        return {"k": k, "y": made(r, 0.3 * r.standard_normal(groups)[k]), "G": groups}
    return draw


def schools(r: np.random.Generator) -> dict[str, Any]:
    return {"y": np.array([28, 8, -3, 7, -1, 1, 18, 12.0]), "s": np.array([15, 10, 16, 11, 9, 11, 10, 18.0])}


def houses(r: np.random.Generator) -> dict[str, Any]:
    level, county = r.integers(0, 2, 919) * 1.0, r.integers(0, 85, 919)
    return {"y": 1.5 + 0.3 * r.standard_normal(85)[county] - 0.7 * level + 0.7 * r.standard_normal(919), "level": level,
            "county": county, "C": 85}


def series(length: int) -> Draw:
    return lambda r: {"y": r.standard_normal(length).cumsum() * 0.1 + r.standard_normal(length)}


REGRESSION = "input X(N, K), y(N), b(K)"
IN_STAN = "data { int N; int K; matrix[N, K] X; %s y; } parameters { vector[K] b; %s} model { %s }"
ROWS = {
    "eight schools": Row("eight_schools", """data { int J; vector[J] y; vector[J] s; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
model { target += normal_lpdf(mu | 0, 5) + cauchy_lpdf(tau | 0, 5) + log(2) + normal_lpdf(z | 0, 1);
        target += normal_lpdf(y | mu + tau * z, s); }""", schools),
    "linear, n = 434": Row(f"{REGRESSION}, sigma in [0, inf]; m(i) +=! X(i, j)*b(j); lp +=! normal_lpdf(y(i), m(i), sigma)",
                           IN_STAN % ("vector[N]", "real<lower=0> sigma; ", "target += normal_lpdf(y | X * b, sigma);"),
                           regression(434, 4, lambda r, m: m + r.standard_normal(len(m)))),
    "AR(5)": Row("input y(T), a, b(5), sigma in [0, inf]; m(t) +=! b(k)*y(t + 4 - k) where t in 0:T - 5, k in 0:5; "
                 "lp +=! normal_lpdf(y(t + 5), a + m(t), sigma)",
                 """data { int T; vector[T] y; } parameters { real a; vector[5] b; real<lower=0> sigma; }
model { for (t in 6:T) { real m = a; for (k in 1:5) m += b[k] * y[t - k]; target += normal_lpdf(y[t] | m, sigma); } }""",
                 series(200)),
    "GARCH": Row("input y(T), mu, w in [0, inf], a in [0, 1], b in [0, 1]; v(0) = 1; "
                 "for t in 0:T - 1 { v(t + 1) = w + a*(y(t) - mu)**2 + b*v(t) }; "
                 "lp +=! normal_lpdf(y(t), mu, sqrt(v(t))); output lp",
                 """data { int T; vector[T] y; }
parameters { real mu; real<lower=0> w; real<lower=0, upper=1> a; real<lower=0, upper=1> b; }
model { vector[T] v; v[1] = 1; for (t in 1:(T - 1)) v[t + 1] = w + a * (y[t] - mu)^2 + b * v[t];
        target += normal_lpdf(y | mu, sqrt(v)); }""", series(200)),
    "radon": Row("radon", """data { int N; int C; vector[N] y; vector[N] level; array[N] int county; }
parameters { real mu; real<lower=0> tau; real slope; real<lower=0> sigma; vector[C] z; }
model { target += normal_lpdf(mu | 0, 10) + normal_lpdf(slope | 0, 10) + normal_lpdf(tau | 0, 1) + normal_lpdf(sigma | 0, 1);
        target += 2 * log(2) + normal_lpdf(z | 0, 1); vector[C] alpha = mu + tau * z;
        target += normal_lpdf(y | alpha[county] + slope * level, sigma); }""", houses, {"z": (85,)}),
    "logistic": Row(f"{REGRESSION}; m(i) +=! X(i, j)*b(j); lp +=! bernoulli_logit_lpmf(y(i), m(i))",
                    IN_STAN % ("array[N] int", "", "target += bernoulli_logit_lpmf(y | X * b);"),
                    regression(500, 5, lambda r, m: (r.random(len(m)) < 1 / (1 + np.exp(-m))).astype(int))),
    "Poisson, 400 effects": Row("input y(N), int32 k(N), a, tau in [0, inf], z(G); e(g) = a + tau*z(g); "
                                "prior +=! normal_lpdf(z(g), 0, 1); rows +=! poisson_log_lpmf(y(i), e(k(i))); "
                                "lp = prior + rows; output lp",
                                """data { int N; int G; array[N] int y; array[N] int k; }
parameters { real a; real<lower=0> tau; vector[G] z; }
model { vector[G] e = a + tau * z; target += normal_lpdf(z | 0, 1) + poisson_log_lpmf(y | e[k]); }""",
                                grouped(2000, 400, lambda r, m: r.poisson(np.exp(m))), {"z": (400,)}),
    "mixture": Row("input y(N), theta in [0, 1], m1, m2, s1 in [0, inf], s2 in [0, inf]; "
                   "lp +=! logaddexp(log(theta) + normal_lpdf(y(i), m1, s1), log1p(-theta) + normal_lpdf(y(i), m2, s2))",
                   """data { int N; vector[N] y; }
parameters { real<lower=0, upper=1> theta; real m1; real m2; real<lower=0> s1; real<lower=0> s2; }
model { for (i in 1:N) target += log_mix(theta, normal_lpdf(y[i] | m1, s1), normal_lpdf(y[i] | m2, s2)); }""",
                   lambda r: {"y": np.concatenate([r.standard_normal(500) - 2, r.standard_normal(500) + 2])}),
    "Student t": Row(f"{REGRESSION}, nu in [0, inf], sigma in [0, inf]; m(i) +=! X(i, j)*b(j); "
                     "lp +=! student_t_lpdf(y(i), nu, m(i), sigma)",
                     IN_STAN % ("vector[N]", "real<lower=0> nu; real<lower=0> sigma; ",
                                "target += student_t_lpdf(y | nu, X * b, sigma);"),
                     regression(434, 4, lambda r, m: m + r.standard_t(4, len(m)))),
    "GP, n = 60": Row("input x(N), y(N), rho in [0, inf], alpha in [0, inf], sigma in [0, inf]; "
                      "K(i, j) = alpha**2*exp(-0.5*((x(i) - x(j))/rho)**2) + (i == j ? sigma**2 : 0); L = cholesky(K); "
                      "w = solve_lower(L, y); fit +=! w(i)**2; size +=! log(L(i, i)); "
                      "lp = -fit/2 - size - N*log(2*pi)/2; output lp",
                      """data { int N; array[N] real x; vector[N] y; }
parameters { real<lower=0> rho; real<lower=0> alpha; real<lower=0> sigma; }
model { matrix[N, N] L = cholesky_decompose(add_diag(gp_exp_quad_cov(x, alpha, rho), square(sigma)));
        target += multi_normal_cholesky_lpdf(y | rep_vector(0, N), L); }""",
                      lambda r: {"x": (x := np.linspace(0, 6, 60)), "y": np.sin(x) + 0.1 * r.standard_normal(60)}),
    "HMM": Row("input y(T), A(3, 3), m(3), s in [0, inf]; n(i) lse=! A(i, j); "
               "f(0, j) = normal_lpdf(y(0), m(j), s) - log(3); "
               "for t in 1:T { g(t, j) lse=! f(t - 1, i) + A(i, j) - n(i); f(t, j) = g(t, j) + normal_lpdf(y(t), m(j), s) }; "
               "lp lse=! f(T - 1, j); output lp",
               """data { int T; vector[T] y; } parameters { matrix[3, 3] A; vector[3] m; real<lower=0> s; }
model { array[T] vector[3] f; matrix[3, 3] W; for (i in 1:3) W[i] = A[i] - log_sum_exp(A[i]);
        for (j in 1:3) f[1][j] = normal_lpdf(y[1] | m[j], s) - log(3);
        for (t in 2:T) for (j in 1:3) f[t][j] = log_sum_exp(f[t - 1] + W[, j]) + normal_lpdf(y[t] | m[j], s);
        target += log_sum_exp(f[T]); }""", series(100)),
}


def sides(row: Row) -> tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray, np.ndarray]:
    """Ours and theirs with a vector for each: a matrix lies by rows here, and by columns in Stan."""
    data = row.draw(np.random.default_rng(1))
    f = adcli.compile(row.text) if " " in row.text else adcli.load(SAMPLES / f"{row.text}.ad")
    ours = f.logdensity(start={name: np.zeros(shape) for name, shape in row.start.items()},
                        **{name: x for name, x in data.items() if name in f.inputs})
    sizes = {**dict.fromkeys("NJT", len(data["y"])), **({"K": data["X"].shape[1]} if "X" in data else {})}
    counted = {name: x + 1 if name in ("k", "county") else x for name, x in data.items()}
    theirs = stanli.Model(stan_code=row.stan, data={**sizes, **counted})
    u = 0.3 * np.cos(np.arange(ours.dim))
    return ours, theirs.log_prob_grad, u, permuted(ours.names)


def permuted(names: list[str]) -> np.ndarray:
    """The places of our components in the order of Stan."""
    first = {name.partition("(")[0]: k for k, name in reversed([*enumerate(names)])}
    return np.array(sorted(range(len(names)), key=lambda k: (
        first[names[k].partition("(")[0]], [int(i) for i in names[k].rstrip(")").partition("(")[2].split(", ")[::-1] if i])))


def measured(name: str, row: Row, seconds: float) -> tuple[str, float, float]:
    """A line of the table, its ratio, and the largest relative difference."""
    ours, theirs, u, order = sides(row)
    v = np.ascontiguousarray(u[order])
    (value, gradient), (wanted, slopes) = ours(u), theirs(v)
    apart = max(abs(value - wanted) / abs(wanted), float(np.max(np.abs(gradient[order] - slopes)) / np.max(np.abs(slopes))))
    warm = time.process_time() + WARM
    while time.process_time() < warm:   # until the code for many calls is there
        ours(u)
    times, end = [math.inf, math.inf], time.perf_counter() + seconds
    while True:
        for k, (function, at) in enumerate(((ours, u), (theirs, v))):
            start = time.perf_counter()
            for _ in range(20):
                function(at)
            times[k] = min(times[k], (time.perf_counter() - start) / 20 * 1e6)
        if time.perf_counter() > end:
            break
    ratio = times[1] / times[0]
    return f"{name:22}{times[0]:10.1f}{times[1]:10.1f}{ratio:8.2f}{apart:10.0e}", ratio, apart


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="the rows with this in their name")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S", help="for each row")
    asked = parser.parse_args()
    print(f"{'':22}{'adcli':>10}{'stanli':>10}{'ratio':>8}{'agree':>10}")
    found = []
    for name, row in ROWS.items():
        if asked.only in name:
            line, *figures = measured(name, row, asked.seconds)
            found.append(figures)
            print(line, flush=True)
    if found:
        print(f"{'geometric mean':42}{math.exp(sum(math.log(r) for r, _ in found) / len(found)):8.2f}")
    return int(any(not apart < APART for _, apart in found))


if __name__ == "__main__":
    sys.exit(main())
