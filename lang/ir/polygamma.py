"""Special functions that no libm has, as straight-line compositions of those it has.

`polygamma_value` is the n-th derivative of digamma, for a constant n. Formulas: NIST Digital Library of Mathematical
Functions, 5.5.2 and 5.15.5 (recurrence), 5.11.2 and 5.15.8 (asymptotic expansion), 5.5.4 and 5.15.6 (reflection).
There are no branches, only one select at the reflection, so the code vectorises. The operations they are made of are rows of
the table that this is a row of, so they are given.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from adcli.lang.ir.build import Expr

if TYPE_CHECKING:
    from fractions import Fraction

HIGHEST_ORDER = 140
"""Largest order of polygamma: beyond it n! and with it most values leave the range of doubles."""
SERIES_TERMS = 11
"""Terms of the asymptotic series."""


class Operations(NamedTuple):
    """The rows of the table that a polygamma is made of."""

    select: Callable[..., Expr]
    floor: Callable[..., Expr]
    round: Callable[..., Expr]
    log: Callable[..., Expr]
    pown: Callable[..., Expr]
    sin: Callable[..., Expr]
    cos: Callable[..., Expr]


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, by its recurrence (DLMF 24.5.3)."""
    from fractions import Fraction
    if n == 0:
        return Fraction(1)
    return -sum((math.comb(n + 1, k) * bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)


def polygamma_value(n: int, x: Expr, op: Operations) -> Expr:
    """ψ⁽ⁿ⁾(x); NaN at the poles 0, −1, −2, … and at −inf."""
    reflected = x < 0
    right = right_polygamma(n, op.select(reflected, 1 - x, x), op)
    mirrored = (right if n % 2 == 0 else -right) - math.pi * cotangent_derivative(n, x, op)
    value = op.select(reflected, mirrored, right)
    return op.select((x <= 0) & (op.floor(x) == x), math.nan, value)


def right_polygamma(n: int, x: Expr, op: Operations) -> Expr:
    """ψ⁽ⁿ⁾(x) for x > 0: the recurrence lifts x by `steps`, where the asymptotic series has converged."""
    from fractions import Fraction
    steps, sign = 10 + n, -1 if n % 2 == 0 else 1
    shift = sum((1 / op.pown(x + k, n + 1) for k in range(1, steps)), 1 / op.pown(x, n + 1))
    y = x + steps
    square = 1 / (y * y)
    series = square * 0.0
    for k in range(SERIES_TERMS, 0, -1):
        coefficient = bernoulli(2 * k) * Fraction(math.factorial(2 * k + n - 1), math.factorial(2 * k))
        series = (series + float(coefficient)) * square
    if n == 0:
        return op.log(y) - 0.5 / y - series - shift
    tail = (math.factorial(n - 1) + math.factorial(n) * 0.5 / y + series) / op.pown(y, n)
    return sign * (tail + math.factorial(n) * shift)


def cotangent_derivative(n: int, x: Expr, op: Operations) -> Expr:
    """The n-th derivative of cot(πx), a polynomial in cot(πx); x is first reduced to [−½, ½], exactly."""
    r = math.pi * (x - op.round(x))
    c = op.cos(r) / op.sin(r)
    coefficients = [0, 1]                                        # P₀(c) = c;  P′ = −(1 + c²) dP/dc
    for _ in range(n):
        slope = [k * a for k, a in enumerate(coefficients)][1:]
        coefficients = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    value = c * 0.0
    for a in reversed(coefficients):
        value = value * c + a
    return value * math.pi ** n
