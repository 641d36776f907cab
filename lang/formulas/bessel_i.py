"""Modified Bessel functions of the first kind with their derivatives by order and argument.

I is the integral of exp(x·cosh(t) − ν·t)/(2πi) along a contour from ∞ − πi to ∞ + πi (NIST Digital Library of Mathematical
Functions, 10.32.12), here t = t₀ + 2·log(1 + iu) with sinh(t₀) = (ν + SHIFT)/x, on which it falls like a Gaussian function of u.
Derivatives are moments of −t and of cosh(t); for small arguments, where these cancel, those by x are sums over higher orders.
For orders below 0, I is that of −ν and a share of K (10.27.2).
"""
from __future__ import annotations

import math
from functools import cache
from typing import Any

from adcli.lang.formulas.bessel import EXPONENT, Saddle, cumulant, k_moment
from adcli.lang.formulas.elementary import Complex, derivative, half_turns, polynomial, times

NODES = tuple(((k + 0.5) / 40,) for k in range(40))
"""Of the midpoint rule from 0 to 1, which is exact to the last digit for such functions."""
SHIFT = 3.0
NEAR = 1.5
"""Arguments below which derivatives by x are sums over higher orders."""
TERMS = 10
"""Of the power series below NEAR."""
LARGEST = 1e30
"""Orders beyond which factors that are polynomials in them stay what they are."""


@cache
def higher_orders(n: int) -> tuple[tuple[int, ...], ...]:
    """The polynomials c in ν, from the constant on, with which the n-th derivative of I by x is a sum of c·I_(ν + j)/xⁿ⁻ʲ."""
    if n == 0:
        return ((1,),)
    found = [[0] * (n + 1) for _ in range(n + 1)]
    for j, coefficients in enumerate(higher_orders(n - 1)):
        for k, c in enumerate(coefficients):
            found[j][k] += (2 * j - n + 1) * c
            found[j][k + 1] += c
            found[j + 1][k] += c
    return tuple(map(tuple, found))


def powers(z: Complex, n: int) -> list[Complex]:
    found: list[Complex] = [(1.0, 0.0)]
    for _ in range(n):
        found.append(times(found[-1], z) if len(found) > 1 else z)
    return found


class BesselContour:
    """The contour for positive arguments, and moments of the integrand over its value at u = 0; with the sign −1 those of J, in
    whose integral sinh(t) is in the place of cosh(t)."""

    def __init__(self, nu: Any, x: Any, op: Any, shift: Any = SHIFT, sign: int = 1) -> None:
        self.nu, self.x, self.op = nu, x, op
        self.saddle = saddle = Saddle(nu + shift, x, op, sign < 0)
        self.unit, self.rest, both = saddle.unit, saddle.rest, saddle.order + saddle.root
        self.rising, self.fallen = both / 2, sign * x / both              # x·exp(t₀)/2, ±exp(−t₀)
        square = EXPONENT / self.rising
        for _ in range(3):
            more = x * self.fallen / 2 * (3 + square) / ((1 + square) * (1 + square))
            square = EXPONENT / (self.rising + more + nu * op.log1p(square) / square)
        self.width = op.sqrt(square)

    def by_argument(self, m: int, n: int, scaled: bool) -> list[list[Any]]:
        """Factors of powers of min(x, 1)·exp(−t), in sums over higher orders for min(x, 1)ⁿ times derivatives of I, and of
        exp(−x)·I if `scaled`, differentiated up to m times by ν."""
        order, ratio = self.op.min(self.nu, LARGEST), self.unit / self.x
        found = [[self.nu * 0.0 for _ in range(n + 1)] for _ in range(m + 1)]
        for k in range(n + 1) if scaled else (n,):
            less = self.op.pown(-self.unit, n - k) * math.comb(n, k) if k < n else 1.0
            for j, coefficients in enumerate(higher_orders(k)):
                for i in range(m + 1):
                    slopes = derivative(coefficients, i)
                    value = polynomial(slopes, order) if slopes else 0.0
                    found[i][j] = found[i][j] + less * self.op.pown(ratio, k - j) * value
        return found

    def moment(self, name: str, m: int, n: int, start: Any, above: Any, near: list[list[Any]]) -> Any:
        """Of (t₀ − t − start)**m·F, where F is a sum with the factors `near`, or beyond NEAR, unless it is the plain
        function, (cosh(t) − cosh(t₀) + above/x)ⁿ, times min(x, 1)ⁿ."""
        op, counts = self.op, [len(row) for row in near]

        def term(y: Any, *given: Any) -> Any:
            width, rising, x, fallen, nu, order, start, unit, above, *factors = given
            u = width * y
            v = u * u
            w, falling = 1 + v, x * fallen / 2
            real = -(rising * v) - falling * v * (3 + v) / (w * w)           # of x·(cosh(t) − cosh(t₀))
            imaginary = 2 * u * (order + falling * v * (2 + v) / (w * w))
            logarithm = op.log1p(v), 2 * op.atan(u)
            size, angle = op.exp(real - nu * logarithm[0]) / w, imaginary - nu * logarithm[1]
            density = times((size * op.cos(angle), size * op.sin(angle)), (1.0, -u))
            by_order = powers((-(start + logarithm[0]), -logarithm[1]), m)
            step = powers((unit * fallen * (1 - v) / (w * w), -2 * unit * fallen * u / (w * w)), n)
            left, total = iter(factors), (nu * 0.0, nu * 0.0)
            for i, count in enumerate(counts):
                inner = (nu * 0.0, nu * 0.0)
                for j in range(count):
                    factor = next(left)
                    inner = inner[0] + factor * step[j][0], inner[1] + factor * step[j][1]
                inner = times(by_order[m - i], inner)
                total = total[0] + math.comb(m, i) * inner[0], total[1] + math.comb(m, i) * inner[1]
            if n and name != "plain":
                beyond = times(by_order[m], powers(((above + real) / x * unit, imaginary / x * unit), n)[n])
                total = op.select(x < NEAR, total[0], beyond[0]), op.select(x < NEAR, total[1], beyond[1])
            return times(density, total)[0]
        total = op.table_sum(f"bessel_i_{name}_{m}_{n}", NODES, term, self.width, self.rising, self.x, self.fallen, self.nu,
                             self.saddle.order, start, self.unit, above, *[c for row in near for c in row],
                             cancels="Bessel functions")
        return total * self.width * (2 / math.pi / len(NODES))


def in_domain(nu: Any, x: Any, op: Any) -> tuple[Any, Any]:
    """Size of the order, and argument, or others for those outside the domain or infinite."""
    order = op.abs(nu)
    return op.select(order < math.inf, order, 0), op.select((x > 0) & (x < math.inf), x, 1)


def with_ends(n: int, value: Any, end: Any, far: float, nu: Any, x: Any, op: Any) -> Any:
    """The value over min(x, 1)ⁿ; those for x = 0, `end`, for infinite x and outside the domain."""
    for _ in range(n):
        value = value / op.min(x, 1)
    value = op.select(x == 0, end, op.select(x == math.inf, far, value))
    return op.select((op.abs(nu) < math.inf) & (x >= 0), value, math.nan)


def below_0(m: int, n: int, sine: Any, cosine: Any, whole: Any, op: Any) -> Any:
    """The limit at x = 0 of (−1)ᵐ times a derivative of sine·x**−ν, whose own by ν is as that of `cosine`; without it `whole`."""
    far = (-1.0) ** (m + n) * math.inf
    return op.select(sine == 0, cosine * far if m else whole, sine * far)


def i(scaled: bool, m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """I, m times by ν and n times by x; `scaled`, of exp(−x)·I."""
    order, at = in_domain(nu, x, op)
    along, (sine, cosine) = BesselContour(order, at, op), half_turns(order, op)
    factors = along.by_argument(m, n, scaled)
    moment = along.moment("scaled" if scaled else "plain", m, n, along.saddle.top, along.rest, factors)
    size = along.saddle.exponential(scaled, along.nu, -1)
    saddle, other = Saddle(order, at, op), 0.0
    for k in range(m + 1):
        moment_k = k_moment(m - k, n, saddle, "k", saddle.top, (-2 if scaled else -1) * saddle.unit)
        other = other + math.comb(m, k) * math.pi ** k * (sine, cosine, -sine, -cosine)[k % 4] * moment_k
    value = op.select(size == 0, 0, size * moment)
    share = op.select(other == 0, 0, other * saddle.exponential(-scaled, order)) * (2 / math.pi)
    value = op.select(nu < 0, (-1.0) ** m * (value + share), value)
    end = at_0(scaled, m, n, order, op)
    end = op.select(nu < 0, below_0(m, n, sine, cosine, end, op), end)
    return with_ends(n, value, end, 0.0 if scaled else math.nan if m else math.inf, nu, x, op)


def log_i(m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """log(I), m times by ν and n times by x. Below NEAR, those by x are of ν·log(x) and of log(I/x**ν)."""
    nu = op.select(nu >= 0, nu, math.nan)
    along = BesselContour(*in_domain(nu, x, op), op)
    zero, ratio, top = along.nu * 0.0, along.unit / along.x, along.saddle.top

    def moment(i: int, j: int, start: Any, above: Any) -> Any:
        near = [[c[0] * op.pown(ratio, j - k) for k, c in enumerate(higher_orders(j))]]
        return along.moment("log", i, j, start, above, near)
    total = moment(0, 0, zero, zero)
    if m + n == 0:
        value = op.select(along.x < NEAR, near_log(along.nu, op.min(along.x, NEAR), op),
                          op.log(total) + (along.rest + along.x - along.nu * top))
    elif (m, n) == (1, 0):
        value = moment(1, 0, top, zero) / total
    elif (m, n) == (0, 1):
        value = moment(0, 1, top, along.rest) / total + op.select(along.x < NEAR, 0, along.unit)
    else:
        start = moment(1, 0, zero, zero) / total if m else zero
        rest = moment(0, 1, zero, zero) / total if n else zero
        above, rest = -(rest * along.x / along.unit), op.select(along.x < NEAR, rest, 0)

        def found(i: int, j: int) -> Any:
            return None if (i, j) == (1, 0) else rest if (i, j) == (0, 1) else moment(i, j, start, above) / total
        value = cumulant(m, n, found)
    if n and m < 2:
        power = (-1.0) ** (n - 1) * math.factorial(n - 1) * op.pown(ratio, n)
        value = value + op.select(along.x < NEAR, power if m else along.nu * power, 0)
    far = math.inf if m + n == 0 else 1.0 if (m, n) == (0, 1) else 0.0
    return with_ends(n, value, log_at_0(m, n, nu, op), far, nu, x, op)


def near_log(nu: Any, x: Any, op: Any) -> Any:
    """log(I) by its power series, which keeps its digits where I is about 1."""
    rest, square = nu * 0.0, x * x / 4
    for k in reversed(range(1, TERMS + 1)):
        rest = square / (k * (nu + k)) * (1 + rest)
    return nu * op.log(x / 2) - op.lgamma(nu + 1) + op.log1p(rest)


def whole_at_0(k: int, n: int, sign: int = 1) -> float:
    """The n-th derivative of I, or for the sign −1 of J, of a whole order k at 0."""
    j = (n - k) // 2
    return 0.0 if k > n or (n - k) % 2 else sign ** j * math.factorial(n) / (2.0 ** n * math.factorial(j) * math.factorial(j + k))


def at_0(scaled: bool, m: int, n: int, nu: Any, op: Any, kind: int = 1) -> Any:
    """The limit at x = 0, where by the order it is that of log(x)**m; of the kind 1, I, or −1, J."""
    sign = nu * 0.0 + (-1.0) ** m
    for k in range(n):
        sign = sign * op.select(nu < k, -1, 1)
    value = op.select(nu > n, 0, sign * math.inf)
    for k in range(n + 1):
        whole = sum(math.comb(n, i) * (-1.0) ** (n - i) * whole_at_0(k, i, kind) for i in (range(n + 1) if scaled else (n,)))
        if m:
            whole = math.copysign(math.inf, (-1) ** (m if k == n else m + n - k))
        value = op.select(nu == k, whole, value)
    return value


def log_at_0(m: int, n: int, nu: Any, op: Any) -> Any:
    if m == 0:
        whole = cumulant(0, n, lambda i, j: whole_at_0(0, j)) if n else 0.0
        return op.select(nu == 0, whole, (-1.0) ** (n - 1) * math.inf)
    return nu * 0.0 + ((-1.0) ** (n - 1) * math.inf if m == 1 else math.nan)
