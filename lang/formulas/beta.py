"""Logarithms of the beta function, and differences of polygamma functions, for positive arguments.

Differences of functions of y and y + b are divided by b term by term before they are added, so that none loses digits. Both
arguments are first lifted by whole steps to where Stirling's series has converged (NIST Digital Library of Mathematical
Functions, 5.5.2, 5.11.1, 5.11.2 and 5.15.8).
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

STEPS, TERMS = 10, 11
"""Steps up, and terms of Stirling's series."""
LARGE, SMALL = 8.0, 1e-30
"""Arguments between which products of gamma functions are in range, and have the better rounding."""


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n (DLMF 24.5.3)."""
    return Fraction(1) if n == 0 else -sum((math.comb(n + 1, k) * bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)


def divided(coefficients: list[float], u: Any, v: Any) -> Any:
    """(p(u) − p(v))/(u − v) for a polynomial with coefficients of rising powers."""
    value, slope = coefficients[-1] + v * 0.0, v * 0.0
    for c in reversed(coefficients[:-1]):
        slope, value = slope * u + value, value * v + c
    return slope


def lbeta(a: Any, b: Any, op: Any) -> Any:
    """log(Γ(a)Γ(b)/Γ(a + b))."""
    least, most = op.min(a, b), op.max(a, b)
    y = most + STEPS
    product = 1 + least / most
    for k in range(1, STEPS):
        product = product * (1 + least / (most + k))
    series = [0.0] + [float(bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in range(1, TERMS + 1)]
    u, v = 1 / y, 1 / (y + least)
    # Stirling's series is u times a polynomial in u²: u·p(u²) − v·p(v²) = (u − v)·(p(u²) + v·(u + v)·p[u², v²])
    slope = divided(series[1:], u * u, v * v)
    correction = horner(series[1:], u * u) + v * (u + v) * slope
    rest = -(y - 0.5) * op.log1p(least / y) - least * op.log(y + least) + least + correction * (least * u * v)
    far = op.lgamma(least) + op.log(product) + rest
    p = op.max(least, LARGE)                                     # both large: nothing that grows as p·log(p) is taken away
    stirling = [horner(series[1:], 1 / (x * x)) / x for x in (p, most, p + most)]
    large = (-(p - 0.5) * op.log1p(most / p) - most * op.log1p(p / most)
             + (math.log(2 * math.pi) / 2 - 0.5 * op.log(most)) + (stirling[0] + (stirling[1] - stirling[2])))
    far = op.select(least >= LARGE, large, far)
    inside = (most < LARGE) & (least > SMALL)
    p, q = op.select(inside, least, 1), op.select(inside, most, 1)
    near = op.log(op.gamma(p) * (op.gamma(q) / op.gamma(p + q)))
    value = op.select(inside, near, op.select(most == math.inf, op.select(least > 0, -math.inf, math.nan), far))
    return op.select(least >= 0, op.select(least == 0, op.select(most == math.inf, math.nan, math.inf), value), math.nan * least)


def horner(coefficients: list[float], x: Any) -> Any:
    value = x * 0.0
    for c in reversed(coefficients):
        value = value * x + c
    return value


def polygamma_gap(n: int, m: int, a: Any, b: Any, op: Any) -> Any:
    """ψ⁽ⁿ⁾(a) − ψ⁽ⁿ⁾(a + b), differentiated m times by b."""
    if m:
        return op.select((a > 0) & (b > 0), -op.polygamma(n + m, a + b), math.nan)
    infinite = b == math.inf
    steps = STEPS + n
    total: Any = None
    for k in range(steps):
        lower = 1 / (a + k)
        upper = 1 / ((a + k) + b)
        term, power = op.select(infinite, 1, b * upper) * lower, upper
        powers: Any = None                                            # the sum of lowerⁱ·upperⁿ⁻ⁱ
        for _ in range(n):
            powers = lower + upper if powers is None else powers * lower + power
            power = power * upper
        term = term if powers is None else term * powers
        total = term if total is None else total + term
    y = a + steps
    u, v = 1 / y, 1 / (y + b)
    coefficients = [0.0] * (n + 2 * TERMS + 1)
    coefficients[n] = 0.0 if n == 0 else float(math.factorial(n - 1))
    coefficients[n + 1] = math.factorial(n) / 2
    for k in range(1, TERMS + 1):
        coefficients[n + 2 * k] = float(bernoulli(2 * k) * math.factorial(2 * k + n - 1) / math.factorial(2 * k))
    tail = divided(coefficients, u, v) * (op.select(infinite, 1, b * v) * u)
    value = math.factorial(n) * total + tail
    value = op.select(infinite, -math.inf, -(value + op.log1p(b * u))) if n == 0 else value if n % 2 else -value
    return op.select((a > 0) & (b > 0), value, math.nan)
