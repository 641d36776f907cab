"""The zeta functions of Hurwitz and Riemann with their derivatives by s, and Owen's T function.

Hurwitz's is summed by the formula of Euler and Maclaurin (NIST Digital Library of Mathematical Functions, 25.11.5). Riemann's is
that of 1, beside its pole a Laurent series (DLMF 25.2.4), and on the left by the functional equation (DLMF 25.4.1).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adcli.lang.formulas.beta import bernoulli
from adcli.lang.formulas.elementary import derivative, half_turns, polynomial
from adcli.lang.formulas.incomplete_gamma import bell
from adcli.lang.formulas.quadrature import gauss_legendre

TERMS, CORRECTIONS = 10, 10
"""Terms that are summed, and of the series for the others."""
STEEP = 6.0
"""s over a + TERMS, from which on the others are nothing beside the first."""
NEAR, LEFT = 2.0, -1.0
"""Distance from 1 to which the Laurent series is used, and where the functional equation takes over."""
LAURENT = (
    0.5772156649015329, 0.07281584548367673, -0.00484518159643616, -0.00034230573671722433, 9.689041939447084e-05,
    -6.6110318108421895e-06, -3.316240908752772e-07, 1.0462094584479188e-07, -8.733218100273798e-09, 9.47827778276236e-11,
    5.658421927608708e-11, -6.768689863513697e-12, 3.4921159366720317e-13, 4.4104247417577536e-15, -2.3997862217709992e-15,
    2.1677312200726828e-16, -9.544466076366965e-18, -7.387676660538637e-20, 4.800850782488065e-20, -4.139956737713306e-21,
    1.9168201593991233e-22, -2.0441543122262165e-24, -4.818498501107353e-25, 4.8118570515125666e-26, -2.560263310318815e-27,
    6.927840895304667e-29, 1.628607550485587e-30, -3.1939375611532554e-31)
"""Coefficients of the powers of s − 1, Stieltjes' constants over factorials."""
NODES, REACH, FARTHEST = 28, 8.6, 50.0
"""Of the integral of T; standard deviations that it is over; arguments from which on it is 0."""


def hurwitz(m: int, s: Any, a: Any, op: Any) -> Any:
    """The m-th derivative by s of the sum of (a + k)**−s over k from 0 on."""
    def term(k: Any, s: Any, a: Any) -> Any:
        power = op.pow(a + k, -s)
        return op.pown(op.log(a + k), m) * power if m else power
    total = op.table_sum(f"zeta_{m}", [(float(k),) for k in range(TERMS)], term, s, a)
    y = a + TERMS
    steep = s >= STEEP * y
    rest = others(m, op.select(steep, 2, s), y, op)
    value = (-1.0) ** m * (total + op.select(steep | (y == math.inf), 0, rest))
    return op.select((s >= 1) & (a >= 0), op.select(a == math.inf, 0, value), math.nan)


def others(m: int, s: Any, y: Any, op: Any) -> Any:
    """(−∂/∂s)**m of the sum of (y + k)**−s over k from 0 on."""
    log, inverse = op.log(y), 1 / y
    products = [s * inverse, inverse, *[0.0] * m][:m + 1]        # s(s + 1)…(s + 2j − 2)·y**(1 − 2j), differentiated by s
    found = [0.0 * s for _ in products]
    for j in range(1, CORRECTIONS + 1):
        if j > 1:
            for k in (2 * j - 3, 2 * j - 2):
                raised = [p * (s + k) for p in products]
                products = [(p + i * products[i - 1] if i else p) * inverse for i, p in enumerate(raised)]
        factor = float(bernoulli(2 * j)) / math.factorial(2 * j)
        found = [f + factor * p for f, p in zip(found, products, strict=True)]
    pole, total, root = 1 / (s - 1), 0.0, op.pow(y, -0.5 * s)
    found[0] = found[0] + 0.5
    for i in range(m + 1):
        part = math.comb(m, i) * (pole + (-1.0) ** i * found[i] * inverse)
        total = total + (part * op.pown(log, m - i) if i < m else part)
        pole = (i + 1) * pole / (s - 1)
    return total * (root * y) * root


def zeta(s: Any, n: int, op: Any) -> Any:
    """The n-th derivative of Riemann's function."""
    left = s < LEFT
    u = op.select(left, 1 - s, s)
    near = u < 1 + NEAR
    inside, outside, pole, right = op.select(near, u - 1, NEAR), op.select(near, 1 + NEAR, u), 1.0, []
    for j in range(n + 1):
        pole = pole / inside
        beside = (-1.0) ** j * math.factorial(j) * pole + polynomial(derivative(LAURENT, j), inside)
        right.append(op.select(near, beside, hurwitz(j, outside, op.select(s == s, 1, s), op)))
    return op.select(left, mirrored(s, op.select(left, u, 2), right, op), right[n])


def mirrored(s: Any, u: Any, right: Sequence[Any], op: Any) -> Any:
    """The derivative at s of 2·(2π)**−u·Γ(u)·sin(πs/2)·ζ(u), where u = 1 − s, with the derivatives of ζ at u on the right."""
    n, (sine, cosine) = len(right) - 1, half_turns(s / 2, op)
    ratios = bell(n, op.digamma(u) - math.log(2 * math.pi) if n else 0, [op.polygamma(j, u) for j in range(1, n)])
    total: Any = 0.0
    for j in range(n + 1):
        factor = 0.0
        for i in range(j + 1):
            factor = factor + math.comb(j, i) * ratios[j - i] * right[i]
        wave = (sine, cosine, -sine, -cosine)[(n - j) % 4]
        total = total + math.comb(n, j) * (-1.0) ** j * (math.pi / 2) ** (n - j) * factor * wave
    value = total
    for v in (u / 2, u / 2 + 0.5):                               # the duplication formula, whose factors overflow later
        gamma = op.gamma(v)
        value = value * op.select(gamma < math.inf, gamma * op.pow(math.pi, -v), gamma)
    return op.select(total == 0, 0, value)


def owens_t(h: Any, a: Any, op: Any) -> Any:
    """The integral of exp(−h²(1 + x²)/2)/(1 + x²)/2π over x from 0 to a, for |a| > 1 by that of |ah| and 1/|a| (D. B. Owen, The
    Annals of Mathematical Statistics 27, 1956)."""
    size, slope = op.abs(h), op.abs(a)
    steep = slope > 1
    product = op.select(size == 0, 0, size * slope)
    p, q = op.min(op.select(steep, product, size), FARTHEST), op.select(steep, 1 / slope, slope)
    width = op.min(q, REACH / p)

    def term(node: Any, weight: Any, width: Any, p: Any) -> Any:
        x = node * width
        return weight * op.exp(-0.5 * (p * x) * (p * x)) / (1 + x * x)
    total = op.table_sum("owens_t_integral", gauss_legendre(NODES), term, width, p, cancels="owens_t")
    inner = op.normal_pdf(p) * (width * total) / math.sqrt(2 * math.pi)
    tails = op.normal_cdf(-size), op.normal_cdf(-p)
    value = op.select(steep, (0.5 * tails[0] + 0.5 * tails[1] - tails[0] * tails[1]) - inner, inner)
    return op.select(a < 0, -value, value)
