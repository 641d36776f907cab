"""Special functions that no libm has, as straight-line compositions of those it has.

`polygamma_value` is the n-th derivative of digamma, for a constant n. Formulas: NIST Digital Library of Mathematical
Functions, 5.5.2 and 5.15.5 (recurrence), 5.11.2 and 5.15.8 (asymptotic expansion), 5.5.4 and 5.15.6 (reflection).
There are no branches, only one select at the reflection, so the code vectorises.
`scaled_complement` is the n-th derivative of erfcx(x) = exp(x²)·erfc(x), which has one sign and falls to 0 for x > 0. There it is
a series of Chebyshev polynomials of (x − c)/(x + c), over (x + c)ⁿ⁺¹ (after Shepherd and Laframboise, Mathematics of Computation
36, 1981, who have n = 0). Its coefficients are made from values in decimal arithmetic when they are first needed.
The operations that functions are made of are rows of the table that these are rows of, so they are given.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.lang.ir import Lit
from adcli.lang.ir.build import Expr

if TYPE_CHECKING:
    from decimal import Decimal
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
# Beside x = 0 a sum of products would be inf - inf or 0·inf, and an arm that is a constant would have the derivative 0. So these
# are rows of the table, each with the ones of the next order as its derivatives, and every order of differentiating ends at the
# same one. What is here is never differentiated.

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


# ---------------------------------------------------------------- functions of the normal distribution

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
