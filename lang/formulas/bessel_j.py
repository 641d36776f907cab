"""Bessel functions of the first and second kind with their derivatives by order and argument.

J + iY is the integral of exp(x·sinh(t) − ν·t)/(πi) along a contour from −∞ to ∞ + πi (NIST Digital Library of Mathematical
Functions, 10.9.18), here through the saddle point iβ, where cos(β) = ν/x, or for orders beyond x along the real line through −α,
where cosh(α) = ν/x, and from 0 upwards. Derivatives are moments of −t and of sinh(t). J of such orders, and beside 0, is that of
an integral like that of I. With order −ν, t − πi takes the place of −t (10.4.6).
"""
from __future__ import annotations

import math
from typing import Any

from adcli.lang.formulas.bessel import EXPONENT, FLAT, NODES, Saddle
from adcli.lang.formulas.bessel_i import SHIFT, BesselContour, at_0, below_0, in_domain, powers, with_ends
from adcli.lang.formulas.elementary import Complex, half_turns, times
from adcli.lang.formulas.quadrature import gauss_legendre

RISE = 1.65
"""The length in which the contour rises to πi, and at most that in which it leaves the real line."""
CLOSE = 1e-14
"""Relative differences between order and argument below which J is found with Y."""
TERMS = 9
"""Of the power series of sinh(z) − z up to |z| = 1."""


def exponential(z: Complex, op: Any) -> Complex:
    size = op.exp(z[0])
    return size * op.cos(z[1]), size * op.sin(z[1])


def sinh(z: Complex, op: Any) -> Complex:
    return op.sinh(z[0]) * op.cos(z[1]), op.cosh(z[0]) * op.sin(z[1])


def near_exponent(d: Complex, nu: Any, turn: Complex, op: Any) -> Complex:
    """turn·(cosh(d) − 1) + ν·(sinh(d) − d), for |d| < 1."""
    square, odd = times(d, d), (0.0, 0.0)
    for k in reversed(range(TERMS)):
        odd = times(odd, square)
        odd = odd[0] + nu / math.factorial(2 * k + 3), odd[1]
    half = sinh((d[0] / 2, d[1] / 2), op)
    even, odd = times(turn, times(half, half)), times(times(d, square), odd)
    return 2 * even[0] + odd[0], 2 * even[1] + odd[1]


class HankelContour:
    """The contour for positive arguments, and integrals along it, whose t is less by `turn`·i."""

    def __init__(self, nu: Any, x: Any, op: Any, turn: Any) -> None:
        self.nu, self.x, self.op, self.beyond, self.turn = nu, x, op, nu > x, turn
        self.saddle = Saddle(op.max(nu, x), op.min(nu, x), op, True)
        self.root, select = self.saddle.root, op.select
        self.alpha, self.beta = select(self.beyond, self.saddle.top, 0), select(self.beyond, 0, op.atan2(self.root, nu))
        self.unit, self.gap = op.min(x, 1), select(self.beyond, x * (x / (nu + self.root)), nu)
        widths = [3 * op.asinh(op.cbrt(EXPONENT / 4 / y)) for y in (self.saddle.order, x)]
        self.left = op.min(widths[0], 2 * op.asinh(op.sqrt(EXPONENT / 2 / self.root)))
        self.right = select(self.beyond, widths[1], self.left)
        ratio = 1.5 * EXPONENT / self.root
        self.below = op.min(self.alpha, (ratio + op.sqrt(ratio * (ratio + 8))) / 2)

    def moment(self, first: Any, second: Any, m: int, n: int) -> Any:
        """first·J + second·Y, with (turn·i − t)ᵐ·sinh(t)ⁿ·min(x, 1)ⁿ in their integral."""
        op, select = self.op, self.op.select
        less = self.nu * (self.nu / (self.x + self.root) + self.beta)      # than x, as the phase at iβ
        a, b, c, d = op.sin(self.x), op.cos(self.x), op.sin(less), op.cos(less)
        sine, cosine = select(self.beyond, 0, a * d - b * c), select(self.beyond, 1, b * d + a * c)
        factors = first * sine - second * cosine, first * cosine + second * sine
        length = op.max(self.beta, op.min((self.alpha + self.left) / 8, RISE))
        total = self.side(-1, m, n, factors, (self.beta, self.left, self.left + self.below, length)) \
            + self.side(1, m, n, factors, (math.pi - self.beta, self.right, self.right, self.nu * 0.0 + RISE))
        return select(self.beyond, self.saddle.exponential(True, self.nu), 1) * total * (FLAT / math.pi)

    def side(self, sign: int, m: int, n: int, factors: Complex, path: tuple[Any, Any, Any, Any]) -> Any:
        """The part left or right of iβ, or of 0, that loses its height over that of its end in about a length: its height, its
        end, its span and that length."""
        op, (height, end, span, length) = self.op, path
        late, angle = op.pow(self.x, -1 / length), op.asinh(span / FLAT)

        def term(y: Any, weight: Any, *given: Any) -> Any:
            nu, x, alpha, gap, real, imaginary, unit, end, angle, height, length, late, a, b, *less = given
            r = end - FLAT * op.sinh(angle * y)
            falling = op.exp(-r / length)
            fade = 1 + late * falling
            above, lost = height * (1 + late) * falling / fade, -height * op.expm1(-r / length) / fade
            t, d = ((r, math.pi - above), (alpha + r, lost)) if sign > 0 else ((-alpha - r, above), (-r, -lost))
            near = d[0] * d[0] + d[1] * d[1] < 1
            inner = near_exponent((op.select(near, d[0], 0), op.select(near, d[1], 0)), nu, (real, imaginary), op)
            back, forth = times((gap / 2 - nu, imaginary / 2), exponential((-d[0], -d[1]), op)), exponential(t, op)
            outer = back[0] + x / 2 * forth[0] + nu * (1 - d[0]) - gap, back[1] + x / 2 * forth[1] - nu * d[1] - imaginary
            density = exponential((op.select(near, inner[0], outer[0]), op.select(near, inner[1], outer[1])), op)
            high = sinh(t, op)
            by_order = powers((-t[0], less[0] - t[1]), m)[m] if m else (1.0, 0.0)
            value = times(by_order, powers((unit * high[0], unit * high[1]), n)[n])
            value = times(times(density, (1.0, above / (length * fade))), value)
            return weight * op.cosh(angle * y) * (a * value[0] + b * value[1])
        turn = op.select(self.beyond, -self.root, 0), op.select(self.beyond, 0, self.root)
        name = f"bessel_{'left' if sign < 0 else 'right'}_{m}_{n}"
        return angle * op.table_sum(name, gauss_legendre(NODES), term, self.nu, self.x, self.alpha, self.gap, *turn, self.unit,
                                    end, angle, height, length, late, *factors, *[self.turn] * (m > 0),
                                    cancels="Bessel functions")


def of_kind(second: bool, m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """J, or Y if `second`, m times by ν and n times by x. Those of −ν are sums of both; in derivatives of these by the order, a
    J that is small is nothing beside Y, and has no integral of its own."""
    order, at = in_domain(nu, x, op)
    below, (sine, cosine) = nu < 0, half_turns(order, op)
    both = (sine, cosine) if second else (cosine, -sine)
    first, other = op.select(below, both[0], float(not second)), op.select(below, both[1], float(second))
    value, alone = 0.0, (first != 0) & (at <= op.max(order * (1 - CLOSE), 1))
    if m:
        alone = alone & ~below
    if not (second and m):
        least = op.select(alone, at, 1)
        along = BesselContour(order, least, op, SHIFT + 2 * op.cbrt(least), -1)
        size = along.saddle.exponential(True, order, -1)
        moment = along.moment("first", m, n, along.saddle.top, along.rest, along.by_argument(m, n, False))
        value, first = op.select(alone & (size > 0), first * size * moment, 0), op.select(alone, 0, first)
    needed = (first != 0) | (other != 0)
    contour = HankelContour(op.select(needed, order, 0), op.select(needed, at, 1), op, op.select(below, math.pi, 0))
    value = value + contour.moment(first, other, m, n)
    value = op.select(below, (-1.0) ** m * value, value)
    whole = at_0(False, m, n, order, op, -1)
    end = (math.nan if m else (-1.0) ** (n + 1) * math.inf) if second else whole
    end = op.select(below, below_0(m, n, -both[1], both[0], both[0] * whole, op), end)
    return with_ends(n, value, end, 0.0, nu, x, op)
