"""Gauss–Legendre quadrature: nodes and weights for integrals from 0 to 1 (NIST Digital Library of Mathematical
Functions, 3.5.15).
"""
from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache

DIGITS, STEPS = 30, 4
"""Decimal digits, and steps of Newton's method from double precision on."""


@cache
def gauss_legendre(count: int) -> tuple[tuple[float, float], ...]:
    """Nodes with their weights, an even number of them, in ascending order."""
    with localcontext() as context:
        context.prec = DIGITS
        found = []
        for k in range(count // 2):
            x = Decimal(math.cos(math.pi * (k + 0.75) / (count + 0.5)))
            for _ in range(STEPS):
                value, slope = legendre(count, x)
                x -= value / slope
            slope = legendre(count, x)[1]
            found.append((x, 1 / ((1 - x * x) * slope * slope)))
        return tuple((float((1 + x) / 2), float(w)) for x, w in [*((-x, w) for x, w in found), *reversed(found)])


def legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """The Legendre polynomial P_n and its derivative."""
    before, value = Decimal(1), x
    for j in range(2, n + 1):
        before, value = value, ((2 * j - 1) * x * value - (j - 1) * before) / j
    return value, n * (x * value - before) / (x * x - 1)
