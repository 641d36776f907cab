"""Functions of the normal distribution that no libm has, as straight-line compositions of those it has.

`scaled_complement` is the n-th derivative of erfcx(x) = exp(x²)·erfc(x), which has one sign and falls to 0 for x > 0. There it is
a series of Chebyshev polynomials of (x − c)/(x + c), over (x + c)ⁿ⁺¹ (after Shepherd and Laframboise, Mathematics of Computation
36, 1981, who have n = 0). Its coefficients are made from values in decimal arithmetic when they are first needed. The operations
are rows of the table that these are rows of, so they are given.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.lang.ir import Lit
from adcli.lang.ir.special_functions import Operations, horner

if TYPE_CHECKING:
    from decimal import Decimal

    from adcli.lang.ir.build import Expr

CENTRE = 2.0
"""The c of (x − c)/(x + c)."""
SMALLEST_TERM = 2.0 ** -57
"""Coefficients below it, relative to the least value of the series, are left out."""
SERIES_UP_TO, DIGITS, FRACTIONS = 4, 60, 400
"""Arguments up to which values are sums of the power series; decimal digits; partial quotients of the continued fraction."""
PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
FAR = 2000.0
"""Squares so large that exp(−x²/2) is 0."""
ROOT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1"), float.fromhex("-0x1.bdd3413b26456p-55")
"""The square root of one half, as the sum of two doubles."""


def scaled_complement(x: Expr, n: int, op: Operations) -> Expr:
    """The n-th derivative of exp(x²)·erfc(x); for x < 0 by that of exp(x²)·(2 − erfc(−x))."""
    u = op.abs(x)
    right = clenshaw(chebyshev_coefficients(n), 1 - 2 * CENTRE / (u + CENTRE)) / op.pown(u + CENTRE, n + 1)
    *lower, highest = square_exponential_polynomial(n)
    growing = 2 * horner(lower, u, u.builder.expr(Lit(float(highest)))) * exponential_of_square(u, 1.0, op)
    left = growing - right
    return op.select(x < 0, left, right) if n % 2 == 0 else -op.select(x < 0, growing + right, right)


def exponential_of_square(x: Expr, scale: float, op: Operations) -> Expr:
    """exp(scale·x²), in which the rounding error of x² counts where x is large."""
    square = x * x
    value = op.exp(scale * square)
    return value + op.select(square < FAR if scale < 0 else value < math.inf, value * (scale * op.fma(x, x, -square)), 0)


def normal_probability(x: Expr, op: Operations) -> Expr:
    """erfc(−x/√2)/2, in which the rounding error of x/√2 counts where x is large and negative."""
    high, low = ROOT_HALF
    y = -x * high
    lost = op.select(x * x < FAR, -op.fma(x, high, y) - x * low, 0)
    return 0.5 * op.erfc(y) - lost * (exponential_of_square(y, -1.0, op) / math.sqrt(math.pi))


class RationalFunction(NamedTuple):
    """Coefficients of rising powers, above and below."""

    above: Sequence[float]
    below: Sequence[float]

    def at(self, x: Expr) -> Expr:
        zero = x * 0.0
        return horner(self.above, x, zero) / horner(self.below, x, zero)


MIDDLE = RationalFunction(
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457,
     67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077, 21213.794301586595867, 39307.895800092710610,
     28729.085735721942674, 5226.4952788528545610))
TAIL = RationalFunction(
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504, 1.27045825245236838258,
     0.241780725177450611770, 0.0227238449892691845833, 0.000774545014278341407640),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550, 0.148103976427480074590,
     0.0151986665636164571966, 0.000547593808499534494600, 1.05075007164441684324e-9))
FAR_TAIL = RationalFunction(
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230, 0.0265321895265761230930,
     0.00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525, 0.000786869131145613259100,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15))


def quantile(q: Expr, tail: Expr, op: Operations) -> Expr:
    """The number up to which the standard normal distribution has the probability ½ + q, where `tail` = ½ − |q| (M. J. Wichura,
    Algorithm AS 241, Applied Statistics 37, 1988)."""
    middle = q * MIDDLE.at(0.180625 - q * q)
    r = op.sqrt(-op.log(tail))
    far = op.select(r == math.inf, r, op.select(r <= 5, TAIL.at(r - 1.6), FAR_TAIL.at(op.select(r == math.inf, 5, r) - 5)))
    return op.select(op.abs(q) <= 0.425, middle, op.select(q < 0, -far, far))


def clenshaw(coefficients: Sequence[float], t: Any) -> Any:
    """A sum of Chebyshev polynomials, the first with half its coefficient."""
    later, latest = t * 0.0, t * 0.0 + coefficients[-1]
    for c in reversed(coefficients[1:-1]):
        later, latest = latest, 2 * t * latest - later + c
    return t * latest - later + coefficients[0] / 2


@cache
def chebyshev_coefficients(n: int) -> tuple[float, ...]:
    """The series of |dⁿ erfcx(x)/dxⁿ|·(x + c)ⁿ⁺¹ in (x − c)/(x + c), for x > 0."""
    from decimal import Decimal, localcontext
    with localcontext() as context:
        context.prec = DIGITS
        count, c = 40 + 2 * n, Decimal(CENTRE)
        nodes = [cosine(Decimal(PI) * (2 * k + 1) / (2 * count)) for k in range(count)]
        arguments = [c * (1 + t) / (1 - t) for t in nodes]
        values = [decreasing(n, x) * (x + c) ** (n + 1) for x in arguments]
        before, polynomials = [Decimal(1)] * count, nodes
        found = [2 * sum(values, Decimal(0)) / count]
        for _ in range(1, count):
            found.append(2 * sum((v * p for v, p in zip(values, polynomials, strict=True)), Decimal(0)) / count)
            before, polynomials = polynomials, [2 * t * p - b for t, p, b in zip(nodes, polynomials, before, strict=True)]
        least = min(values) * Decimal(SMALLEST_TERM)
        return tuple(float(a) for a in found[:max(j for j, a in enumerate(found) if abs(a) > least) + 1])


def cosine(x: Decimal) -> Decimal:
    """cos(x) by its power series."""
    total = term = x / x
    for k in range(1, DIGITS, 2):
        term *= -x * x / (k * (k + 1))
        total += term
    return total


def decreasing(n: int, x: Decimal) -> Decimal:
    """|dⁿ erfcx(x)/dxⁿ| for x > 0: its power series at 0, which alternates, or the continued fraction of the ratios of one order
    to the one before, r(n) = 2n/(2x + r(n + 1)) (NIST Digital Library of Mathematical Functions, 7.18.7)."""
    from decimal import Decimal
    root = Decimal(PI).sqrt()
    if x > SERIES_UP_TO:
        ratio, product = Decimal(0), 2 / root
        for m in range(n + FRACTIONS, 0, -1):
            ratio = 2 * m / (2 * x + ratio)
            product *= ratio if m <= n else 1
        return product / (2 * x + ratio)
    total, power, m = Decimal(0), Decimal(1), n
    factor = Decimal(math.factorial(n)) / half_gamma(n, root)    # n!/Γ(n/2 + 1), and of the next order
    following = Decimal(math.factorial(n + 1)) / half_gamma(n + 1, root)
    while abs(power * factor) > Decimal(10) ** -(DIGITS - 5) or m < n + 8:
        total += power * factor
        factor, following = following, factor * 2 * (m + 1)
        m += 1
        power *= -x / (m - n)
    return total


def half_gamma(n: int, root: Decimal) -> Decimal:
    """Γ(n/2 + 1), where `root` is that of pi."""
    from decimal import Decimal
    value = Decimal(1) if n % 2 == 0 else root / 2
    for k in range(n, 1, -2):
        value *= Decimal(k) / 2
    return value


def square_exponential_polynomial(n: int) -> list[int]:
    """The coefficients, of rising powers, of exp(−x²) times the n-th derivative of exp(x²)."""
    coefficients = [1]                                           # P₀ = 1;  Pₙ₊₁ = Pₙ′ + 2x·Pₙ
    for _ in range(n):
        slope = [k * a for k, a in enumerate(coefficients)][1:]
        coefficients = [a + b for a, b in zip([*slope, 0, 0], [0, *(2 * a for a in coefficients)], strict=True)]
    return coefficients
