"""sin(πx)/(πx) and (eˣ − 1)/x with their derivatives, and quotients of gamma functions without loss of digits.

Derivatives of the first two are integrals of tⁿ·cos(πxt + nπ/2) and of tⁿ·exp(xt) over t from 0 to 1: beside 0 their power
series, further out their recurrence by parts.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Complex = tuple[Any, Any]
"""A real and an imaginary part."""
SMALLEST_TERM = 1e-19
"""Terms of a power series below it, relative to the first, are left out."""


def boundary(n: int) -> float:
    """The argument from which on the recurrence to order n loses no digits."""
    return 1.0 if n == 0 else 1.5 + n / 2


def count_terms(at: float) -> int:
    """Terms of the exponential series at an argument."""
    k, term = 0, 1.0
    while term > SMALLEST_TERM or k < at:
        k += 1
        term *= at / k
    return k


def times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def derivative(coefficients: Sequence[float], n: int) -> list[float]:
    """The coefficients of rising powers of the n-th derivative of a polynomial."""
    return [math.perm(k, n) * c for k, c in enumerate(coefficients)][n:]


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """A polynomial with coefficients of rising powers."""
    value = x * 0.0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def half_turns(x: Any, op: Any) -> tuple[Any, Any]:
    """sin(πx) and cos(πx), with all digits beside their zeros."""
    whole = op.round(x)
    sign, rest = 1 - 2 * op.abs(whole - 2 * op.floor(whole / 2)), x - whole
    return sign * op.sin(math.pi * rest), sign * op.sin(math.pi * (0.5 - op.abs(rest)))


def exponential_beyond_linear(v: Any, op: Any) -> Any:
    """exp(v) − 1 − v."""
    near = op.abs(v) < 0.5
    z = op.select(near, v, 0)
    return op.select(near, z * z * polynomial([1 / math.factorial(k) for k in range(2, 17)], z), op.expm1(v) - v)


def logarithm_beyond_linear(v: Any, op: Any) -> Any:
    """log1p(v) − v, by the series of atanh(w), w = v/(2 + v)."""
    near = op.abs(v) <= 0.5
    z = op.select(near, v, 0)
    w = z / (2 + z)
    series = w * w * w * polynomial([2 / (2 * k + 3) for k in range(16)], w * w) - z * w
    return op.select(near, series, op.log1p(v) - v)


def sinc(x: Any, n: int, op: Any) -> Any:
    """The n-th derivative of sin(πx)/(πx)."""
    near = op.abs(x) * math.pi < boundary(n)
    inside = op.select(near, x, 0)
    square, odd = inside * inside * math.pi ** 2, n % 2
    first = n + odd                                              # the lowest even power that n derivatives leave
    last = first + count_terms(boundary(n)) // 2 * 2
    series = polynomial([(-1) ** (k // 2) / ((k + 1) * math.factorial(k - n)) for k in range(first, last + 1, 2)], square)
    if odd:
        series = series * (inside * math.pi)
    far = op.select(near | (op.abs(x) == math.inf), 1, x)
    (sine, cosine), y, value = half_turns(far, op), math.pi * far, None
    for k in range(n + 1):
        wave = (sine, cosine, -sine, -cosine)[k % 4]
        value = wave / y if value is None else (wave - k * value) / y
    return math.pi ** n * op.select(near, series, op.select(op.abs(x) == math.inf, 0, value))


def exprel(x: Any, n: int, op: Any) -> Any:
    """The n-th derivative of (exp(x) − 1)/x."""
    size = op.abs(x)
    near = size < boundary(n)
    inside = op.select(near, size, 0)
    count = count_terms(boundary(n)) + 1
    right = polynomial([1 / (math.factorial(k) * (n + 1 + k)) for k in range(count)], inside)
    left = op.exp(-inside) * polynomial([math.factorial(n) / math.factorial(n + 1 + k) for k in range(count)], inside)
    far = op.select(near, 1, x)
    value, growing = op.expm1(far) / far, op.exp(far)
    for k in range(1, n + 1):
        value = (growing - k * value) / far
    value = op.select(growing == math.inf, growing, op.select(far == -math.inf, 0, value))
    return op.select(near, op.select(x < 0, left, right), value)
