"""Bessel functions of the first and second kind with their derivatives by order and argument.

J + iY is the integral of exp(x·sinh(t) − ν·t)/(πi) along a contour from −∞ to ∞ + πi (NIST Digital Library of Mathematical
Functions, 10.9.18), here through the saddle point iβ, where cos(β) = ν/x, or for orders beyond x along the real line through −α,
where cosh(α) = ν/x, and from 0 upwards. Derivatives are moments of −t and of sinh(t). J of such orders, and beside 0, is that of
an integral like that of I.
"""
from __future__ import annotations

import math
from typing import Any

from adcli.lang.formulas.bessel import EXPONENT, FLAT, NODES, Saddle
from adcli.lang.formulas.bessel_i import SHIFT, BesselContour, at_0, in_domain, powers, with_ends
from adcli.lang.formulas.elementary import Complex, times
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
    """The contour for positive arguments, and integrals along it."""

    def __init__(self, nu: Any, x: Any, op: Any) -> None:
        self.nu, self.x, self.op, self.beyond = nu, x, op, nu > x
        self.saddle = Saddle(op.max(nu, x), op.min(nu, x), op, True)
        self.root, select = self.saddle.root, op.select
        self.alpha, self.beta = select(self.beyond, self.saddle.top, 0), select(self.beyond, 0, op.atan2(self.root, nu))
        self.unit, self.gap = op.min(x, 1), select(self.beyond, x * (x / (nu + self.root)), nu)
        widths = [3 * op.asinh(op.cbrt(EXPONENT / 4 / y)) for y in (self.saddle.order, x)]
        self.left = op.min(widths[0], 2 * op.asinh(op.sqrt(EXPONENT / 2 / self.root)))
        self.right = select(self.beyond, widths[1], self.left)
        ratio = 1.5 * EXPONENT / self.root
        self.below = op.min(self.alpha, (ratio + op.sqrt(ratio * (ratio + 8))) / 2)

    def moment(self, second: bool, m: int, n: int) -> Any:
        """J or Y, with (−t)ᵐ·sinh(t)ⁿ·min(x, 1)ⁿ in its integral."""
        op, select = self.op, self.op.select
        less = self.nu * (self.nu / (self.x + self.root) + self.beta)      # than x, as the phase at iβ
        a, b, c, d = op.sin(self.x), op.cos(self.x), op.sin(less), op.cos(less)
        sine, cosine = select(self.beyond, 0, a * d - b * c), select(self.beyond, 1, b * d + a * c)
        factors = (-cosine, sine) if second else (sine, cosine)
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
            nu, x, alpha, gap, real, imaginary, unit, end, angle, height, length, late, a, b = given
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
            value = times(powers((-t[0], -t[1]), m)[m], powers((unit * high[0], unit * high[1]), n)[n])
            value = times(times(density, (1.0, above / (length * fade))), value)
            return weight * op.cosh(angle * y) * (a * value[0] + b * value[1])
        turn = op.select(self.beyond, -self.root, 0), op.select(self.beyond, 0, self.root)
        name = f"bessel_{'left' if sign < 0 else 'right'}_{m}_{n}"
        return angle * op.table_sum(name, gauss_legendre(NODES), term, self.nu, self.x, self.alpha, self.gap, *turn, self.unit,
                                    end, angle, height, length, late, *factors, cancels="Bessel functions")


def y(m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """Y, m times by ν and n times by x."""
    return with_ends(n, HankelContour(*in_domain(nu, x, op), op).moment(True, m, n),
                     math.nan if m else (-1.0) ** (n + 1) * math.inf, 0.0, nu, x, op)


def j(m: int, n: int, nu: Any, x: Any, op: Any) -> Any:
    """J, m times by ν and n times by x."""
    order, at = in_domain(nu, x, op)
    alone = at <= op.max(order * (1 - CLOSE), 1)
    least = op.select(alone, at, 1)
    along = BesselContour(order, least, op, SHIFT + 2 * op.cbrt(least), -1)
    size = along.saddle.exponential(True, order, -1)
    moment = along.moment("first", m, n, along.saddle.top, along.rest, along.by_argument(m, n, False))
    value = op.select(size == 0, 0, size * moment)
    both = HankelContour(op.select(alone, 0, order), op.select(alone, 1, at), op).moment(False, m, n)
    return with_ends(n, op.select(alone, value, both), at_0(False, m, n, nu, op, -1), 0.0, nu, x, op)
