"""Log densities of the prelude against the densities in multiple precision: values and gradients, in the tails too."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import beta, binomial, exp, gamma, mp, pi, sqrt
from row_tables import each_row
from scipy import stats

import adcli


def t_density(y: Any, nu: Any, mu: Any, s: Any) -> Any:
    return gamma((nu + 1) / 2) / gamma(nu / 2) / sqrt(nu * pi) / s * (1 + ((y - mu) / s)**2 / nu)**(-(nu + 1) / 2)


def negative_binomial(n: Any, mu: Any, phi: Any) -> Any:
    return gamma(n + phi) / gamma(phi) / gamma(n + 1) * (mu / (mu + phi))**n * (phi / (mu + phi))**phi


DENSITIES: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]]]] = {
    "normal_lpdf": (lambda y, mu, s: mpmath.npdf(y, mu, s), [(1.0, 0.25, 0.75), (-30.0, 2.0, 0.5), (1e-8, 0.0, 3.0)]),
    "lognormal_lpdf": (lambda y, mu, s: mpmath.npdf(mpmath.log(y), mu, s) / y, [(1.5, 0.25, 0.75), (1e-6, -1.0, 2.0)]),
    "student_t_lpdf": (t_density, [(1.0, 4.0, 0.25, 0.75), (50.0, 1.5, 0.0, 2.0), (-3.0, 30.0, 1.0, 0.1)]),
    "cauchy_lpdf": (lambda y, mu, s: 1 / (pi * s * (1 + ((y - mu) / s)**2)), [(1.0, 0.25, 0.75), (1e5, 0.0, 2.0)]),
    "double_exponential_lpdf": (lambda y, mu, s: exp(-abs(y - mu) / s) / (2 * s), [(1.0, 0.25, 0.75), (-80.0, 0.0, 0.5)]),
    "logistic_lpdf": (lambda y, mu, s: mpmath.sech((y - mu) / (2 * s))**2 / (4 * s),
                      [(1.0, 0.25, 0.75), (-40.0, 0.0, 0.5), (900.0, 0.0, 1.0)]),
    "von_mises_lpdf": (lambda y, mu, k: exp(k * mpmath.cos(y - mu)) / (2 * pi * mpmath.besseli(0, k)),
                       [(1.0, 0.25, 0.75), (0.375, 0.25, 4000.0)]),
    "rice_lpdf": (lambda y, nu, s: y / s**2 * exp(-(y**2 + nu**2) / (2 * s**2)) * mpmath.besseli(0, y * nu / s**2),
                  [(1.0, 0.25, 0.75), (40.0, 41.0, 0.5)]),
    "exponential_lpdf": (lambda y, b: b * exp(-b * y), [(0.5, 2.0), (40.0, 3.0)]),
    "gamma_lpdf": (lambda y, a, b: b**a / gamma(a) * y**(a - 1) * exp(-b * y), [(0.5, 2.5, 3.0), (20.0, 0.25, 2.0)]),
    "inv_gamma_lpdf": (lambda y, a, b: b**a / gamma(a) * y**(-a - 1) * exp(-b / y), [(0.5, 2.5, 3.0), (20.0, 0.25, 2.0)]),
    "weibull_lpdf": (lambda y, a, s: a / s * (y / s)**(a - 1) * exp(-(y / s)**a), [(0.5, 2.5, 3.0), (4.0, 0.75, 1.25)]),
    "beta_lpdf": (lambda y, a, b: y**(a - 1) * (1 - y)**(b - 1) / beta(a, b), [(0.25, 2.5, 3.0), (0.96875, 0.5, 0.25)]),
    "poisson_lpmf": (lambda n, r: r**n * exp(-r) / gamma(n + 1), [(0.0, 2.5), (7.0, 3.25)]),
    "poisson_log_lpmf": (lambda n, a: exp(n * a - exp(a)) / gamma(n + 1), [(0.0, 2.5), (7.0, 1.25)]),
    "binomial_logit_lpmf": (lambda n, m, a: binomial(m, n) * exp(n * a) / (1 + exp(a))**m, [(2.0, 7.0, 0.5), (5.0, 5.0, 30.0)]),
    "binomial_lpmf": (lambda n, m, p: binomial(m, n) * p**n * (1 - p)**(m - n), [(2.0, 7.0, 0.375), (5.0, 5.0, 0.9375)]),
    "bernoulli_lpmf": (lambda y, p: p**y * (1 - p)**(1 - y), [(1.0, 0.375), (0.0, 0.9375)]),
    "bernoulli_logit_lpmf": (lambda y, a: exp(y * a) / (1 + exp(a)), [(1.0, 0.5), (0.0, -35.0), (1.0, 40.0)]),
    "neg_binomial_2_lpmf": (negative_binomial, [(0.0, 2.5, 0.5), (7.0, 3.25, 4.0)]),
}
ROUNDINGS = 100 * 2.0**-53


@each_row("name", DENSITIES)
def test_a_log_density_and_its_gradient(name: str) -> None:
    """Relative to the largest term; of a probability near 1, to its logarithm."""
    density, points = DENSITIES[name]
    names = [f"x{k}" for k in range(len(points[0]))]
    whole = (2 if name.startswith("binomial") else 1) if name.endswith("lpmf") else 0   # counts have no derivative here
    f = adcli.compile(f"v = {name}({', '.join(names)})").grad(wrt=names[whole:])
    for at in points:
        found = f(**dict(zip(names, at, strict=True)))
        with mp.workdps(60):
            given = [mpmath.mpf(x) for x in at]
            value = mpmath.log(density(*given))
            terms = 0 if name.startswith("bernoulli") else 1 + abs(mpmath.loggamma(sum(map(abs, given)) + 1))
            assert abs(found["v"] - value) <= ROUNDINGS * (abs(value) + terms), at
            for k in range(whole, len(at)):
                slope = mpmath.diff(lambda *z: mpmath.log(density(*z)), given, tuple(int(j == k) for j in range(len(at))))
                assert abs(found[f"dv_d{names[k]}"] - slope) <= ROUNDINGS * (abs(slope) + min(terms, 1)), (at, k)


R = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
L = np.linalg.cholesky(2 * R)


def lkj(k: int, eta: float) -> float:
    """The log density of `k` rows of R, by the products of beta functions of Lewandowski, Kurowicka and Joe (2009)."""
    rest = sum((2 * eta - 2 + j) * j * math.log(2) + j * 2 * math.lgamma(eta + (j - 1) / 2) - j * math.lgamma(2 * eta + j - 1)
               for j in range(1, k))
    return (eta - 1) * float(np.linalg.slogdet(R[:k, :k])[1]) - rest


@each_row(("call", "at", "want"), [
    ("dirichlet_lpdf(x, y)", {"x": [0.2, 0.5, 0.3], "y": [1.5, 2.0, 0.75]},
     stats.dirichlet([1.5, 2, 0.75]).logpdf([0.2, 0.5, 0.3])),
    ("multi_normal_cholesky_lpdf(x, y, A)", {"x": [1.0, 2.0, 3.0], "y": [0.0, 0.5, 1.0], "A": L},
     stats.multivariate_normal([0, 0.5, 1], 2 * R).logpdf([1, 2, 3])),
    *[("lkj_corr_lpdf(A, eta)", {"A": R[:k, :k], "eta": eta}, lkj(k, eta)) for k in (1, 2, 3) for eta in (1.0, 2.5)],
    ("lkj_corr_cholesky_lpdf(A, 2.5)", {"A": np.linalg.cholesky(R)},
     lkj(3, 2.5) + float(np.log(np.diag(np.linalg.cholesky(R))) @ [2, 1, 0]))])
def test_densities_of_vectors_and_matrices(call: str, at: dict[str, Any], want: float) -> None:
    declared = {"x": "x(N)", "y": "y(N)", "A": "A(N, N)", "eta": "eta"}
    f = adcli.compile(f"input {', '.join(declared[x] for x in at)}\nv = {call}")
    assert f(**at)["v"] == pytest.approx(want, rel=1e-14, abs=1e-14)


def log_gamma_density(y: Any, a: Any, b: Any) -> Any:
    return a * mpmath.log(b) + (a - 1) * mpmath.log(y) - b * y - mpmath.loggamma(a)


def log_poisson(n: Any, r: Any) -> Any:
    return n * mpmath.log(r) - r - mpmath.loggamma(n + 1)


def log_binomial(n: Any, m: Any, p: Any) -> Any:
    loggamma = mpmath.loggamma
    return loggamma(m + 1) - loggamma(n + 1) - loggamma(m - n + 1) + n * mpmath.log(p) + (m - n) * mpmath.log1p(-p)


def log_negative_binomial(n: Any, mu: Any, phi: Any) -> Any:
    return log_binomial(n, n + phi - 1, mu / (mu + phi)) + mpmath.log(phi / (mu + phi))


LARGE: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]]]] = {
    "gamma_lpdf": (log_gamma_density, [(2.0, 1e3, 501.0), (1.0000001, 1e12, 1e12), (1e-3, 1e15, 1e18), (2.0, 1e12, 2e11)]),
    "inv_gamma_lpdf": (lambda y, a, b: log_gamma_density(1 / y, a, b) - 2 * mpmath.log(y),
                       [(2.0, 1e3, 2001.0), (1.0000001, 1e12, 1e12)]),
    "poisson_lpmf": (log_poisson, [(64.0, 70.0), (1e9, 1e9 + 1e4), (1e15, 1e15 + 3e7), (1e9, 2e9), (3.0, 1e12)]),
    "poisson_log_lpmf": (lambda n, a: log_poisson(n, exp(a)), [(100.0, 4.5), (1e12, 27.6310211159), (3.0, -800.0),
                                                                           (1e15, 34.538776394910684)]),
    "binomial_lpmf": (log_binomial, [(5e11, 1e12, 0.500001), (3.0, 1e12, 3e-12), (1e3, 1e15, 1.01e-12), (3e8, 1e9, 0.6),
                                     (1e12 - 3, 1e12, 1 - 2.0**-40), (90.0, 200.0, 0.375)]),
    "binomial_logit_lpmf": (lambda n, m, a: log_binomial(n, m, 1 / (1 + exp(-a))),
                            [(5e11, 1e12, 1e-6), (3.0, 1e12, -26.0), (2e8, 1e9, -1.375), (80.0, 1e3, -800.0)]),
    "neg_binomial_2_lpmf": (log_negative_binomial, [(3.0, 2.5, 1e12), (1e9, 1e9 + 1e4, 1e12), (3.0, 40.0, 90.0)]),
    "beta_lpdf": (lambda y, a, b: log_binomial(a, a + b, y) + mpmath.log(a * b / (a + b) / y / (1 - y)),
                  [(0.5, 1e3, 1e3), (0.5000001, 1e12, 1e12), (1e-9, 3.0, 1e12), (1 - 2.0**-30, 1e12, 1e3), (0.25, 70.0, 200.0)]),
}


@cache
def hessian(name: str, count: int) -> adcli.Function:
    names = [f"x{k}" for k in range(count)]
    return adcli.compile(f"v = {name}({', '.join(names)})").hessian(wrt=names)


@each_row(("name", "at"), [(name, at) for name, (_, points) in LARGE.items() for at in points])
def test_large_parameters(name: str, at: tuple[float, ...]) -> None:
    """Values and derivatives err by no more than some rounding errors of the arguments would make."""
    density, names = LARGE[name][0], [f"x{k}" for k in range(len(at))]
    found = hessian(name, len(at))(**dict(zip(names, at, strict=True)))
    with mp.workdps(70):
        given = [mpmath.mpf(x) for x in at]

        def slope(*by: int) -> Any:
            return mpmath.diff(density, given, tuple(by.count(k) for k in range(len(at)))) if by else density(*given)

        def allowed(*by: int) -> Any:
            return ROUNDINGS * (abs(slope(*by)) + sum(abs(x * slope(k, *by)) for k, x in enumerate(given)))

        assert abs(found["v"] - slope()) <= allowed()
        for j, n in enumerate(names):
            assert abs(found[f"dv_d{n}"] - slope(j)) <= allowed(j), n
            assert found[f"d2v_d{n}_d{n}"] == pytest.approx(float(slope(j, j)), rel=1e-13), n


def test_far_from_a_centre() -> None:
    found = adcli.compile("v = cauchy_lpdf(1e200, mu, sigma)").grad(wrt="sigma")(mu=0.0, sigma=1.0)
    assert found["v"] == pytest.approx(-400 * math.log(10) - math.log(math.pi)) and found["dv_dsigma"] == 1


@pytest.mark.parametrize("large", [1e3, 1e8, 1e15])
def test_limits_that_densities_approach(large: float) -> None:
    """Poisson's and the normal distribution; nothing of the size of lgamma(1e15) is left of what cancels."""
    t, nb = (adcli.compile(f"v = {text}") for text in ("student_t_lpdf(y, nu, 0.2, 0.7)", "neg_binomial_2_lpmf(n, 2.5, phi)"))
    with mp.workdps(60):
        assert t(y=1.3, nu=large)["v"] == pytest.approx(float(mpmath.log(t_density(mpmath.mpf(1.3), large, mpmath.mpf(0.2),
                                                                                   mpmath.mpf(0.7)))), rel=1e-13)
        assert nb(n=3.0, phi=large)["v"] == pytest.approx(
            float(mpmath.log(negative_binomial(3, 2.5, mpmath.mpf(large)))), rel=1e-13)


@each_row(("call", "value"), [
    ("lognormal_lpdf(0, 0.5, 2)", -math.inf), ("inv_gamma_lpdf(0, 2.5, 3)", -math.inf), ("gamma_lpdf(0, 2.5, 3)", -math.inf),
    ("gamma_lpdf(0, 0.5, 3)", math.inf), ("gamma_lpdf(0, 1, 3)", math.log(3)), ("weibull_lpdf(0, 2, 1)", -math.inf),
    ("beta_lpdf(0, 2, 3)", -math.inf), ("beta_lpdf(1, 2, 3)", -math.inf), ("beta_lpdf(0, 1, 3)", math.log(3)),
    ("beta_lpdf(1, 90, 70)", -math.inf), ("binomial_lpmf(0, 200, 0)", 0.0), ("binomial_lpmf(200, 200, 1)", 0.0),
    ("binomial_lpmf(90, 200, 0)", -math.inf), ("poisson_lpmf(0, 0)", 0.0), ("poisson_log_lpmf(0, 800)", -math.inf),
    ("bernoulli_lpmf(1, 0)", -math.inf)])
def test_at_the_ends_of_the_support(call: str, value: float) -> None:
    assert adcli.compile(f"v = {call} + 0*x")(x=1.0)["v"] == pytest.approx(value, abs=1e-15)
