"""Partial derivatives of x**y and of x*log(y), of any order, as straight-line compositions.

Beside x = 0 a sum of products would be inf - inf or 0·inf, and an arm that is a constant would have the derivative 0. So these
are rows of the table, each with the ones of the next order as its derivatives, and every order of differentiating ends at the
same one. What is here is never differentiated. The operations are rows of the same table, so they are given.
"""
from __future__ import annotations

import math

from adcli.lang.ir import Lit
from adcli.lang.ir.build import Expr
from adcli.lang.ir.polygamma import Operations

PARTIALS = ("dpow", "dxlogy")
"""The rows with these definitions, which texts have that were derived and nobody types."""


def power_partial(x: Expr, y: Expr, m: int, n: int, op: Operations) -> Expr:
    """∂ₓᵐ∂ᵧⁿ x**y, whose limits at x = 0 it has for y >= 0; NaN for n > 0 where x < 0, and where x = 0 and y < 0."""
    power = op.pow(x, less(y, m))
    if n == 0:
        for k in reversed(range(m)):
            power = op.select(y == k, 0, less(y, k) * power)
        return power
    log = op.log(x)
    if m == 0:
        value = product(power, log, n)
    else:
        power = op.abs(power)   # of −0 as of 0
        value = power * log_polynomial(x, y, log, m, n, op)
    return op.select((x < 0) | ((x == 0) & (y < 0)), math.nan, op.select(power == 0, 0, value))


def log_polynomial(x: Expr, y: Expr, log: Expr, m: int, n: int, op: Operations) -> Expr:
    """∂ₓᵐ∂ᵧⁿ x**y over x**(y − m): Q(m, n) = (y − m + 1)·Q(m − 1, n) + n·Q(m − 1, n − 1), Q(0, n) = log(x)ⁿ. At x = 0 the first
    term, with the higher power of the logarithm, is all of it unless its factor is 0."""
    row = [x.builder.expr(Lit(1.0)), *[product(log, log, k) for k in range(n)]]
    for k in range(m):
        factor = less(y, k)
        before, row = row, [factor * row[0]]
        for j in range(1, n + 1):
            first, second = factor * before[j], j * before[j - 1]
            row.append(op.select(x == 0, op.select(y == k, second, first), first + second))
    return row[n]


def product(value: Expr, factor: Expr, times: int) -> Expr:
    """value·factorⁿ, from left to right."""
    for _ in range(times):
        value = value * factor
    return value


def less(y: Expr, k: int) -> Expr:
    return y - k if k else y


def log_product_partial(x: Expr, y: Expr, n: int, op: Operations) -> Expr:
    """∂ᵧⁿ x·log(y); 0 where x and y are."""
    if n == 0:
        return op.select((x == 0) & (y == y), 0, x * op.log(y))
    value, over = x, y + 0
    for _ in range(n):
        value = value / over
    return op.select((x == 0) & (y == 0), 0, op.select((y < 0) & (x != 0), math.nan, log_factor(n) * value))


def log_factor(n: int) -> float:
    """The n-th derivative of log(y) times yⁿ."""
    return float((-1) ** (n - 1) * math.factorial(n - 1))
