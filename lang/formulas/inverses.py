"""Lambert's function and exponential integrals.

The two real branches of the solution w of w·exp(w) = x meet at −1/e, where both are a power series of √(2(ex + 1)) (Corless,
Gonnet, Hare, Jeffrey and Knuth, Advances in Computational Mathematics 5, 1996, 4.23); elsewhere three steps of fourth order lead
to them (Fritsch, Shafer and Crowley, Communications of the ACM 16, 1973, algorithm 443). Exponential integrals: NIST Digital
Library of Mathematical Functions, 6.6.2, 6.9.1 and 6.12.2.
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

from adcli.lang.formulas.elementary import polynomial

E = float.fromhex("0x1.5bf0a8b145769p+1"), float.fromhex("0x1.4d57ee2b1013ap-53")
"""The number e as the sum of two doubles."""
NEAR, TERMS, STEPS = 0.3, 26, 3
"""√(2(ex + 1)) up to which the power series is used, its terms, and steps towards the root elsewhere."""
EULER = 0.5772156649015329
SMALL, QUOTIENTS, LARGE = 1.0, 90, 40.0
"""Arguments up to which E₁ is a power series, partial quotients beyond; arguments of Ei up to which that is one."""


@cache
def branch_series() -> tuple[float, ...]:
    mu, alpha = [-1.0, 1.0], [2.0, -1.0]
    for k in range(2, TERMS):
        alpha.append(sum(mu[j] * mu[k + 1 - j] for j in range(2, k)))
        mu.append((k - 1) / (k + 1) * (mu[k - 2] / 2 + alpha[k - 2] / 4) - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return tuple(mu)


def lambert(branch: int, x: Any, op: Any) -> Any:
    """The branch 0 or −1 of w with w·exp(w) = x."""
    p = op.sqrt(2 * (op.fma(x, E[0], 1) + x * E[1]))
    near = p < NEAR
    beside = polynomial(list(branch_series()), op.select(near, p if branch == 0 else -p, 0))
    far = op.select(near | (x == 0) | (x == math.inf), 1 if branch == 0 else -0.1, x)
    if branch == 0:
        first = op.log1p(far)
        w = first * (1 - op.log1p(first) / (2 + first))
    else:
        first = op.log(-far)
        second = op.log(-first)
        w = first - second + second / first
    for _ in range(STEPS):
        z = op.log(far / w) - w
        q = 2 * (1 + w) * (1 + w + (2 / 3) * z)
        w = w * (1 + z / (1 + w) * ((q - z) / (q - 2 * z)))
    value = op.select(near, beside, op.select(p >= 0, w, math.nan))
    if branch == 0:
        return op.select((x == 0) | (x == math.inf), x, value)
    return op.select(x < 0, value, op.select(x == 0, -math.inf, math.nan))


def e1(x: Any, op: Any) -> Any:
    """The integral of exp(−t)/t from x > 0 on."""
    near = x <= SMALL
    inside = op.select(near, x, 1)
    series = polynomial([-(-1.0) ** k / (k * math.factorial(k)) for k in range(1, 26)], inside) * inside
    far, fraction = op.select(near, 1, x), None
    for k in range(QUOTIENTS, 0, -1):
        quotient = far + (2 * k - 1)
        fraction = k * k / (quotient + 2 if fraction is None else quotient + 2 - fraction)
    beyond = op.exp(-far) / (far + 1 - fraction)
    return op.select(near, op.select(x < 0, math.nan, (series - EULER) - op.log(inside)), beyond)


def ei(x: Any, op: Any) -> Any:
    """The principal value of the integral of exp(t)/t from −∞ to x."""
    near = x <= LARGE
    inside = op.select(near & (x > 0), x, 1)
    scaled = [float(Fraction(int(LARGE) ** k, k * math.factorial(k))) for k in range(1, 140)]   # in the range of single precision
    series = polynomial(scaled, inside / LARGE) * (inside / LARGE)
    far = op.select(near, LARGE, x)
    beyond = op.exp(far) / far * polynomial([math.factorial(k) / LARGE ** k for k in range(40)], LARGE / far)
    right = op.select(near, (series + EULER) + op.log(inside), op.select(x == math.inf, x, beyond))
    return op.select(x > 0, right, op.select(x == 0, -math.inf, -e1(-x, op)))
