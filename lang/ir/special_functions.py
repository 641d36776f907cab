"""Special functions that no libm has, as straight-line compositions of those it has.

`polygamma_value` is the n-th derivative of digamma, for a constant n. Formulas: NIST Digital Library of Mathematical
Functions, 5.5.2 and 5.15.5 (recurrence), 5.11.2 and 5.15.8 (asymptotic expansion), 5.5.4 and 5.15.6 (reflection).
There are no branches, only one select at the reflection, so the code vectorises. The operations they are made of are rows of
the table that this is a row of, so they are given.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.lang.ir import Lit
from adcli.lang.ir.build import Expr

if TYPE_CHECKING:
    from fractions import Fraction

HIGHEST_ORDER = 140
"""Largest order of polygamma: beyond it n! and with it most values leave the range of doubles."""
STEPS, SERIES_TERMS = 10, 11
"""Steps of the recurrence for digamma, and terms of the asymptotic series."""
ROOT = float.fromhex("0x1.762d86356be3fp+0"), float.fromhex("0x1.b86a722197829p-54")
"""Where digamma is 0, as the sum of two doubles (DLMF 5.4.19)."""


class Operations(NamedTuple):
    """The rows of the table that others are made of."""

    select: Callable[..., Expr]
    abs: Callable[..., Expr]
    floor: Callable[..., Expr]
    round: Callable[..., Expr]
    log: Callable[..., Expr]
    log1p: Callable[..., Expr]
    pow: Callable[..., Expr]
    pown: Callable[..., Expr]
    sin: Callable[..., Expr]
    cos: Callable[..., Expr]
    exp: Callable[..., Expr]
    sqrt: Callable[..., Expr]
    fma: Callable[..., Expr]
    erfc: Callable[..., Expr]


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, by its recurrence (DLMF 24.5.3)."""
    from fractions import Fraction
    if n == 0:
        return Fraction(1)
    return -sum((math.comb(n + 1, k) * bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)


def polygamma_value(n: int, x: Expr, op: Operations) -> Expr:
    """ψ⁽ⁿ⁾(x); NaN at the poles 0, −1, −2, … and at −inf."""
    left = x < 0
    positive = op.select(left, 1 - x, x)
    right = right_polygamma(n, positive, op) if n else right_digamma(positive, op)
    mirrored = (right if n % 2 == 0 else -right) - math.pi * cotangent_derivative(n, x, op)
    value = op.select(left, mirrored, right)
    return op.select((x <= 0) & (op.floor(x) == x), math.nan, value)


def right_digamma(x: Expr, op: Operations) -> Expr:
    """ψ(x) for x > 0 as ψ(x) − ψ(x₀), where x₀ is its root: every term of the recurrence and of the asymptotic series is
    divided by x − x₀ in advance, and none has another sign, so no digit is lost beside the root."""
    from fractions import Fraction
    root, steps = sum(map(Fraction, ROOT)), STEPS
    d, y, y0 = (x - ROOT[0]) - ROOT[1], x + steps, root + steps
    shift = sum((float(1 / (root + k)) / (x + k) for k in range(1, steps)), float(1 / root) / x)
    inverse, divided, coefficients = 1 / y, Fraction(0), []
    for k in range(SERIES_TERMS, 0, -1):                         # (p(s) − p(s₀))/(s − s₀), where s = 1/y²
        divided = divided / y0 ** 2 + bernoulli(2 * k) / (2 * k)
        coefficients.append(float(divided / y0 ** 2))
    series, square = inverse * 0.0, inverse * inverse
    for coefficient in coefficients:
        series = series * square + coefficient
    slope = shift + inverse * (float(1 / (2 * y0)) + (1 + float(y0) * inverse) * series)
    return op.select(x == math.inf, x, op.log1p(d / float(y0)) + d * slope)


def right_polygamma(n: int, x: Expr, op: Operations) -> Expr:
    """ψ⁽ⁿ⁾(x) for x > 0, n > 0: the recurrence lifts x by `steps`, where the asymptotic series has converged.

    Powers are of x over a power of two that is near the root of n!, so that neither they nor n! leave the range of doubles
    where the result does not.
    """
    from fractions import Fraction
    steps, sign = STEPS + n, -1 if n % 2 == 0 else 1
    exponent = round(math.log2(math.factorial(n)) / (n + 1))
    scale = 2.0 ** -exponent
    shift = sum((1 / op.pown((x + k) * scale, n + 1) for k in range(1, steps)), 1 / op.pown(x * scale, n + 1))
    y = x + steps
    square = 1 / (y * y)
    series = square * 0.0
    for k in range(SERIES_TERMS, 0, -1):
        series = (series + float(bernoulli(2 * k) * math.comb(2 * k + n - 1, n - 1))) * square
    tail = (1 + 0.5 * n / y + series) / op.pown(y * scale, n)
    scales = [float(Fraction(math.factorial(m), 2 ** (exponent * (m + 1)))) for m in (n - 1, n)]
    return sign * (scales[0] * tail + scales[1] * shift)


def cotangent_derivative(n: int, x: Expr, op: Operations) -> Expr:
    """The n-th derivative of cot(πx), a polynomial in cot(πx); x is first reduced to [−½, ½], exactly."""
    r = math.pi * (x - op.round(x))
    c = op.cos(r) / op.sin(r)
    return horner(cotangent_polynomial(n), c, c * 0.0) * math.pi ** n


def cotangent_polynomial(n: int) -> list[int]:
    """The coefficients, of rising powers of c = cot(x), of the n-th derivative of cot. Those that are not 0 have one sign and
    powers two apart, so nothing cancels in their sum."""
    coefficients = [0, 1]                                        # P₀(c) = c;  P′ = −(1 + c²) dP/dc
    for _ in range(n):
        slope = [k * a for k, a in enumerate(coefficients)][1:]
        coefficients = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return coefficients


def horner(coefficients: Sequence[float], x: Any, value: Any = 0) -> Any:
    """A polynomial at x; `value` is the 0 to begin with."""
    for a in reversed(coefficients):
        value = value * x + a
    return value


def reflected(n: int, right: Any, cotangent: Any, pi: Any) -> Any:
    """ψ⁽ⁿ⁾(x) for x < 0, from ψ⁽ⁿ⁾(1 − x) on the `right` and cot(πx), in any arithmetic (DLMF 5.15.6): no steps of 1."""
    return (right if n % 2 == 0 else -right) - pi ** (n + 1) * horner(cotangent_polynomial(n), cotangent)


# ---------------------------------------------------------------- partial derivatives of x**y and of x*log(y), of any order
#
# Partial derivatives of x**y and of x*log(y), of any order, as straight-line compositions.
#
# Beside x = 0 a sum of products would be inf - inf or 0·inf, and an arm that is a constant would have the derivative 0. So these
# are rows of the table, each with the ones of the next order as its derivatives, and every order of differentiating ends at the
# same one. What is here is never differentiated. The operations are rows of the same table, so they are given.

PARTIALS = ("dpow", "dxlogy")
"""The rows with these definitions, which are short."""
DERIVED = (*PARTIALS, "derfcx")
"""Rows that stand in texts that were derived and that nobody types."""


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
