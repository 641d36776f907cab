"""Modified Bessel functions of the second kind with their derivatives by order and argument.

K is half the integral of exp(ν·t − x·cosh(t)) over all t (NIST Digital Library of Mathematical Functions, 10.32.9), so its
derivatives are moments of t and of −cosh(t), and those of its logarithm are joint cumulants of the two. Exponents are taken
relative to their largest, at sinh(t) = ν/x.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from adcli.lang.formulas.elementary import exponential_beyond_linear
from adcli.lang.formulas.quadrature import gauss_legendre

NODES = 72
FLAT = 2.0
"""Lengths in t beyond which nodes lie wider, away from where the integrand falls."""
EXPONENT = 45.0
"""Integrands are summed to where they have fallen by exp(−EXPONENT)."""
LONGEST = 700.0
"""Lengths in t that are not exceeded."""
LARGE = 1000.0
"""Orders from which on ((ν + √(ν² + x²))/x)**ν may be out of range where the function is not."""


class Saddle:
    """The largest value of ν·t − x·cosh(t) for positive numbers: `top`, the t that has it, and `root`, √(ν² + x²); with
    `oscillating` of ν·t − x·sinh(t), where ν >= x and root = √(ν² − x²)."""

    def __init__(self, order: Any, x: Any, op: Any, oscillating: bool = False) -> None:
        self.order, self.x, self.op = order, x, op
        self.root = 2 * op.sqrt((order - x) / 2) * op.sqrt(order / 2 + x / 2) if oscillating else op.hypot(order, x)
        self.rest = self.root if oscillating else order * (order / (self.root + x))    # √(ν² + x²) − x
        self.unit, ratio = op.min(x, 1), (self.root if oscillating else order) / x
        self.top = op.select(ratio < math.inf, op.asinh(ratio), op.log(order) - op.log(x) + math.log(2))

    def exponential(self, scaled: int, order: Any, sign: int = 1) -> Any:
        """exp(sign·(order·t − x·cosh(t))) there, times exp(sign·scaled·x), where `scaled` is at most 1."""
        op, x, rest = self.op, self.x, self.rest
        ratio, small = (self.order + self.root) / x, order < LARGE
        power = op.select(small & (ratio > 2) & (ratio < math.inf), op.pow(ratio, sign * order / 4),
                          op.exp(sign * order * self.top / 4))
        fallen, lost = op.exp(-sign * rest / 4), (1 - scaled) * x
        if scaled < 1:
            fallen = fallen * op.exp(-sign * lost / 4)
        exponent = sign * ((order * self.top - rest) - lost)
        return op.pown(op.select(small, power * fallen, op.exp(exponent / 4)), 4)

    def width_above(self) -> Any:
        return 2 * self.op.asinh(math.sqrt(EXPONENT / 2) / self.op.sqrt(self.root))

    def width_below(self) -> Any:
        op = self.op
        spread = op.sqrt(EXPONENT * EXPONENT + 8 * EXPONENT * self.order)
        curved = 2 * op.asinh(math.sqrt(EXPONENT / 2) * op.sqrt(self.root + self.order) / self.x)
        return op.min(op.min(curved, (EXPONENT + spread) / (2 * self.order)), op.min(self.top, LONGEST))


def k_moment(m: int, n: int, saddle: Saddle, of: str, start: Any, above: Any) -> Any:
    """Half the integral of (t − top + start)**m·cⁿ over all t, u = min(x, 1), with the integrand of K over its largest value; of
    K, c is above + u·(1 − cosh(t)), and of its logarithm, above + u·(cosh(top) − cosh(t))."""
    op, order, x, top = saddle.op, saddle.order, saddle.x, saddle.top
    widest = saddle if n == 0 else Saddle(order + n, x, op)
    reach = widest.width_above() + (widest.top - top)
    angle = op.asinh((reach + saddle.width_below()) / FLAT)
    gap = x * (x / (saddle.root + order))

    def term(y: Any, weight: Any, *given: Any) -> Any:
        angle, reach, top, order, gap, start, above, u = given
        v = reach - FLAT * op.sinh(angle * y)
        half = op.sinh(v / 2)
        right, left = (op.pown(v + start, m), op.pown(v + (2 * top - start), m) * (-1.0) ** m) if m else (1.0, 1.0)
        less = -2 * order * (top + v)
        both = op.select(less < -1, right + left * op.exp(less), (right + left) + left * op.expm1(less))
        fallen = op.exp(-(2 * gap * half * half + order * exponential_beyond_linear(v, op)))
        found = weight * op.cosh(angle * y) * fallen * both
        rise = op.sinh((top + v) / 2)
        risen = rise * rise if of == "k" else op.sinh(top + v / 2) * half
        return found * op.pown(above - 2 * u * risen, n) if n else found
    total = op.table_sum(f"bessel_{of if n else 'k'}_{m}_{n}", gauss_legendre(NODES), term, angle, reach, top, order, gap, start,
                         above, saddle.unit, cancels="Bessel functions")
    return total * angle * (FLAT / 2)


def k(scaled: bool, m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """K, m times by ν and n times by x; `scaled`, of exp(x)·K."""
    saddle, zero = inside(nu, x, op)
    moment = k_moment(m, n, saddle, "k", saddle.top, zero if scaled else -saddle.unit)
    return at_ends(m, n, moment * saddle.exponential(scaled, saddle.order), 0.0, nu, x, saddle)


def log_k(m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """log(K), m times by ν and n times by x."""
    saddle, zero = inside(nu, x, op)
    total = k_moment(0, 0, saddle, "k", zero, zero)
    if m + n == 0:
        value = op.log(total) + (saddle.order * saddle.top - saddle.root)
        return at_ends(0, 0, value, -math.inf, nu, x, saddle)
    if m + n == 1:
        value = k_moment(m, n, saddle, "k", saddle.top, -saddle.unit) / total
    else:
        near = op.select(saddle.order < 1, saddle.top, 0)          # the mean of t is close to 0, or to top
        start = near - k_moment(1, 0, saddle, "k", near, zero) / total if m else zero
        above = -(k_moment(0, 1, saddle, "log_k", zero, zero) / total) if n else zero
        value = cumulant(m, n, lambda i, j: k_moment(i, j, saddle, "log_k", start, above) / total if i + j > 1 else None)
    return at_ends(m, n, value, -1.0 if (m, n) == (0, 1) else 0.0, nu, x, saddle)


def cumulant(m: int, n: int, moment: Callable[[int, int], Any]) -> Any:
    """A joint cumulant of two variables, of their moments; the first ones may be None, for 0."""
    moment = cache(moment)

    @cache
    def found(m: int, n: int) -> Any:
        value = moment(m, n)
        for i in range(max(m, 1)):
            for j in range(n + (m > 0)):
                if i + j > 0 and (lesser := moment(i, j)) is not None and (rest := found(m - i, n - j)) is not None:
                    value = value - (math.comb(m - 1, i) * math.comb(n, j) if m else math.comb(n - 1, j)) * lesser * rest
        return value
    return found(m, n)


def inside(nu: Any, x: Any, op: Any) -> tuple[Saddle, Any]:
    """The saddle, for arguments in the domain, and 0."""
    order = op.abs(nu)
    return Saddle(op.select(order < math.inf, order, 0), op.select((x > 0) & (x < math.inf), x, 1), op), order * 0


def at_ends(m: int, n: int, value: Any, far: float, nu: Any, x: Any, saddle: Saddle) -> Any:
    """The value over min(x, 1)ⁿ with the sign of the order; those for infinite arguments, at 0 and outside the domain."""
    op = saddle.op
    for _ in range(n):
        value = value / saddle.unit
    value = op.select(nu < 0, -value, value) if m % 2 else value
    ends = op.select(x == 0, (-1.0) ** n * math.inf if m == 0 else math.nan, op.select(x == math.inf, far, math.nan))
    return op.select(op.abs(nu) < math.inf, op.select((x > 0) & (x < math.inf), value, ends), math.nan)
