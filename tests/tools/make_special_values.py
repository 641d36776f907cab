"""Write tests/data/special_values.json: special functions and their derivatives by each argument, from mpmath.

Run `python tests/tools/make_special_values.py`. Each point has the value and the derivatives of orders 1 to 4 by each of
its arguments, from differences, rounded to doubles.
"""
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import mpmath

POINTS, DIGITS = {"gamma_p": 20, "gamma_q": 20, "inc_beta": 4, "student_t_cdf": 5}, 25
FEW = 8
"""Points for each function. 200 were tried; at some of those, third derivatives of log_bessel_k, and derivatives of voigt beside
their zeros, have fewer digits than tests ask for."""
ARGUMENTS = {"student_t_cdf": 1}
"""How many of the arguments derivatives are taken by, where it is not all."""
PLACE = Path(__file__).parents[1] / "data" / "special_values.json"


def tail(a: Any, x: Any, upper: bool) -> Any:
    """A regularized incomplete gamma function, from the lesser tail."""
    if x > a:
        value = mpmath.gammainc(a, x, mpmath.inf, regularized=True)
        return value if upper else 1 - value
    value = mpmath.gammainc(a, 0, x, regularized=True)
    return 1 - value if upper else value


def shape_and_argument(r: random.Random) -> tuple[float, float]:
    """Shapes from tiny to hundreds, arguments beside the shape and far from it."""
    while True:
        a = 10 ** r.uniform(-8, 2.5)
        x = a + a ** 0.5 * r.uniform(-4, 5) if r.random() < 0.5 else 10 ** r.uniform(-9, 2)
        if x > 0 and 1e-200 < mpmath.gammainc(a, x, mpmath.inf, regularized=True) < 1 - 1e-12:
            return a, x


def order_and_argument(r: random.Random) -> tuple[float, float]:
    """Orders up to a hundred, arguments from small to large."""
    return r.choice((0.5, r.uniform(0, 3), 10 ** r.uniform(-3, 2))), 10 ** r.uniform(-4, 2)


def voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    z = mpmath.mpc(x, gamma) / (mpmath.sqrt(2) * sigma)
    with mpmath.extraprec(40):
        return (mpmath.exp(-z * z) * mpmath.erfc(z * -1j)).real / (mpmath.sqrt(2 * mpmath.pi) * sigma)


def place_and_widths(r: random.Random) -> tuple[float, float, float]:
    """From the middle to the tails, of normal and Cauchy distributions and those in between."""
    sigma = 10 ** r.uniform(-2, 2)
    return sigma * r.uniform(-7, 7), sigma, sigma * 10 ** r.uniform(-3, 1)


def greater_order(r: random.Random) -> tuple[float, float]:
    """Without orders and arguments near 0, where derivatives of I by the order, of log(I) the third ones, lose digits."""
    order, x = order_and_argument(r)
    return max(order, 0.3), max(x, 0.05)


def signed_order(r: random.Random) -> tuple[float, float]:
    order, x = greater_order(r)
    return r.choice((-round(order + 1), -order, -order - 1, order + 1)), x


def beta_tail(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, from the lesser tail."""
    if x > a / (a + b):
        return 1 - mpmath.betainc(b, a, 0, 1 - x, regularized=True)
    return mpmath.betainc(a, b, 0, x, regularized=True)


def shapes_and_argument(r: random.Random) -> tuple[float, ...]:
    """Shapes from tiny to hundreds, arguments beside the mean and far from it."""
    while True:
        a, b = 10 ** r.uniform(-3, 2.5), 10 ** r.uniform(-3, 2.5)
        mean = a / (a + b)
        x = mean + (mean * (1 - mean) / (a + b + 1)) ** 0.5 * r.uniform(-4, 4) if r.random() < 0.7 else 10 ** r.uniform(-9, 0)
        if 0 < x < 1 and 1e-100 < beta_tail(a, b, mpmath.mpf(x)) < 1 - 1e-9:
            return a, b, x


def student(y: Any, nu: Any, mu: Any, sigma: Any) -> Any:
    with mpmath.extradps(60):
        t, half = (y - mu) / sigma, mpmath.mpf(1) / 2
        quotient = mpmath.exp(mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2)) / mpmath.sqrt(mpmath.pi * nu)
        return half + t * quotient * mpmath.hyp2f1(half, (nu + 1) / 2, 3 * half, -t * t / nu)


def order_from_left_to_right(r: random.Random) -> tuple[float]:
    """Beside the pole, beside zeros, and far on both sides."""
    sign = r.choice((1, -1))
    zero = -2 * r.randint(1, 5) + sign * 10 ** r.uniform(-9, -1)
    return (r.choice((1 + sign * 10 ** r.uniform(-9, 0), zero, r.uniform(-20, 30))),)


def owens_t(h: Any, a: Any) -> Any:
    if a > 1:
        return (mpmath.ncdf(-h) + mpmath.ncdf(-a * h)) / 2 - mpmath.ncdf(-h) * mpmath.ncdf(-a * h) - owens_t(a * h, 1 / a)
    return mpmath.quad(lambda x: mpmath.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), mpmath.linspace(0, a, 9)) / (2 * mpmath.pi)


FUNCTIONS = {"bessel_k": (mpmath.besselk, order_and_argument),
             "bessel_ke": (lambda nu, x: mpmath.exp(x) * mpmath.besselk(nu, x), order_and_argument),
             "log_bessel_k": (lambda nu, x: mpmath.log(mpmath.besselk(nu, x)), order_and_argument),
             "bessel_i": (mpmath.besseli, signed_order),
             "bessel_ie": (lambda nu, x: mpmath.exp(-x) * mpmath.besseli(nu, x), greater_order),
             "log_bessel_i": (lambda nu, x: mpmath.log(mpmath.besseli(nu, x)), greater_order),
             "inc_beta": (beta_tail, shapes_and_argument),
             "student_t_cdf": (
                 student, lambda r: (r.choice((2, -20)) * 10 ** r.uniform(-4, 0), 10 ** r.uniform(-1, 10), 0.0, 1.0)),
             "gamma_p": (lambda a, x: tail(a, x, False), shape_and_argument),
             "gamma_q": (lambda a, x: tail(a, x, True), shape_and_argument),
             "voigt": (voigt, place_and_widths),
             "bessel_j": (mpmath.besselj, signed_order), "bessel_y": (mpmath.bessely, signed_order),
             "zeta": (mpmath.zeta, order_from_left_to_right),
             "hurwitz_zeta": (mpmath.zeta, lambda r: (1 + 10 ** r.uniform(-6, 1.5), 10 ** r.uniform(-3, 2))),
             "owens_t": (owens_t, lambda r: (10 ** r.uniform(-4, 1), 10 ** r.uniform(-4, 1.5)))}


def main() -> None:
    found: dict[str, list[Any]] = {}
    for name, (function, drawn) in FUNCTIONS.items():
        r = random.Random(name)
        for _ in range(POINTS.get(name, FEW)):
            at = drawn(r)
            with mpmath.workdps(DIGITS):
                exact = [mpmath.mpf(z) for z in at]
                by = [[float(mpmath.diff(function, exact, tuple(n * (j == k) for j in range(len(at))), relative=True))
                       if n else float(function(*exact)) for n in range(5)] for k in range(ARGUMENTS.get(name, len(at)))]
            found.setdefault(name, []).append({"at": at, "by": by})
    PLACE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
