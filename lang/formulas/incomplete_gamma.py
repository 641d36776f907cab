"""Incomplete gamma functions with their derivatives by both arguments.

With t = x·exp(v), the two tails of the gamma distribution are x**a·exp(−x)/Γ(a + 1) times the integrals of a·exp(a·v −
x·(exp(v) − 1)) over v > 0 and v < 0. Derivatives by a are moments of the same integrand: exp(a·log(t))/Γ(a + 1) times a
polynomial in log(t) − ψ(a + 1). One tail is summed, about the lesser, and the other is its complement. Of the lower tail, that
of a + 1 is summed, P(a, x) = x**a·exp(−x)/Γ(a + 1) + P(a + 1, x) (NIST Digital Library of Mathematical Functions, 8.8.5), since
its integrand does not spread as a goes to 0.
"""
from __future__ import annotations

import math
from typing import Any

from adcli.lang.formulas.beta import bernoulli
from adcli.lang.formulas.elementary import exponential_beyond_linear, logarithm_beyond_linear, polynomial
from adcli.lang.formulas.quadrature import gauss_legendre

NODES = 48
EXPONENT = 40.0
"""The integrand is summed to where it has fallen by exp(−EXPONENT)."""
FLAT = 3.0
"""Lengths in v beyond which nodes lie wider, away from where the integrand falls."""
WIDEST = 1000.0
LARGE, FAR = 10.0, 1000.0
"""Shapes from which on Stirling's series is used, whose terms follow; arguments at which the density of lesser shapes is 0."""
STIRLING_TERMS = 8
DEAD = -750.0
"""Exponents at which exponentials are 0."""
EULER = 0.5772156649015329


def bell(m: int, c: Any, cumulants: list[Any]) -> list[Any]:
    """The derivatives of orders 0 to m of exp(f) over exp(f), where c is f′ and `cumulants` are the derivatives after it."""
    found: list[Any] = [1.0]
    for k in range(m):
        value = c * found[k]
        for j in range(1, k + 1):
            value = value + math.comb(k, j) * cumulants[j - 1] * found[k - j]
        found.append(value)
    return found


class GammaDensity:
    """G = x**a·exp(−x)/Γ(a + 1), for large shapes also over xⁿ; log(x) − ψ(a + 1), the derivative of its logarithm by a, with
    those after it."""

    def __init__(self, m: int, a: Any, x: Any, op: Any, n: int = 0, difference: Any = None) -> None:
        large = a >= LARGE
        shape, least = op.select(large, a, LARGE), op.select(large, 1, a)
        difference, ratio = x - shape if difference is None else op.select(large, difference, 0), x / shape
        far, excess = op.abs(ratio - 1) > 0.5, difference / shape
        beyond = op.select(far, op.log(ratio) - excess, logarithm_beyond_linear(excess, op))
        logarithm, exponent = op.select(far, op.log(ratio), excess + beyond), shape * beyond
        root = op.pow(ratio, shape / 8) * op.exp(-difference / 8)
        kernel = op.select(far & (exponent > DEAD), op.pown(root, 8), op.exp(exponent))
        square = 1 / (shape * shape)
        terms = range(1, STIRLING_TERMS + 1)
        series = polynomial([float(bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in terms], square) / shape
        stirling = kernel * op.exp(-series) / op.sqrt(2 * math.pi * shape)
        for _ in range(n):
            stirling = stirling / x
        inside, self.least = op.min(x, FAR), least
        self.scale = op.exp(-inside) / op.gamma(least + 1)          # of powers of x, for lesser shapes
        self.log = op.log(x)
        self.large, self.inside = stirling, inside
        self.value = op.select(large, stirling, op.pow(inside, least) * self.scale)
        slopes = polynomial([-float(bernoulli(2 * k) / (2 * k)) for k in terms], square) * square
        self.slope = op.select(large, logarithm - (0.5 / shape + slopes), self.log - op.digamma(least + 1))
        self.cumulants = [-op.polygamma(j, a + 1) for j in range(1, m)]

    def over_value(self, m: int) -> list[Any]:
        """Its derivatives by a, of orders 0 to m, over G."""
        return bell(m, self.slope, self.cumulants)


def tail(upper: bool, m: int, a: Any, x: Any, op: Any) -> Any:
    """The m-th derivative by a of Q(a, x), `upper`, or P(a, x)."""
    density = GammaDensity(m, a, x, op)
    above = op.select(a >= 1, x - (a - 1 / 3), a * (density.log + EULER) + math.log(2)) >= 0
    width = op.select(above, width_above(a, x, op), width_below(a, x, op))
    angle = op.asinh(width / FLAT)

    def term(y: Any, weight: Any, angle: Any, start: Any, a: Any, x: Any, excess: Any, *slopes: Any) -> Any:
        v = start - FLAT * op.sinh(angle * y)
        curved = exponential_beyond_linear(v, op)
        polynomials = bell(m, slopes[0] + v, list(slopes[1:])) if m else [1.0]
        last = m * polynomials[m - 1] if m else 0
        factor = op.select(start > 0, a * polynomials[m] + last, x * (curved + 1 + v) * polynomials[m])
        return weight * op.cosh(angle * y) * op.exp(excess * v - x * curved) * factor
    total = op.table_sum(f"gamma_tail_{m}", gauss_legendre(NODES), term, angle, op.select(above, width, 0), a, x, a - x,
                      *([density.slope, *density.cumulants] if m else []))
    edge = op.select(above, 0, density.over_value(m)[m])
    found = op.select(density.value == 0, 0, density.value * (edge + FLAT * angle * total))
    if m == 0:
        lesser, ends = (above, (1.0, 0.0)) if upper else (~above, (0.0, 1.0))
        value = op.select(lesser, found, 1 - found)
    else:
        value, ends = op.select(above, found if upper else -found, -found if upper else found), (0.0, 0.0)
    value = op.select((x == 0) | (a == math.inf), ends[0], op.select(x == math.inf, ends[1], value))
    return op.select((a >= 0) & (x >= 0) & (a + x > 0) & (op.min(a, x) < math.inf), value, math.nan)


def width_above(a: Any, x: Any, op: Any) -> Any:
    """v up to which a·v − x·(exp(v) − 1) has fallen to −EXPONENT, or a little more, by bounds from above."""
    excess = x - a
    width = op.min(2 * EXPONENT / (excess + op.hypot(excess, op.sqrt(2 * EXPONENT * x))), WIDEST)
    for _ in range(3):
        width = op.min(width, op.log1p((EXPONENT + a * width) / x))
    return width


def width_below(a: Any, x: Any, op: Any) -> Any:
    """−v down to which the integrand for the shape a + 1 has fallen by as much, as exp(−v) − 1 + v is at least v²/(2 + v)."""
    excess = 2 * (a + 1 - x) - EXPONENT
    return 4 * EXPONENT / (excess + op.hypot(excess, op.sqrt(8 * EXPONENT * (a + 1))))


def density_polynomial(n: int) -> dict[tuple[int, int], int]:
    """∂ₓⁿ of x**(a − 1)·exp(−x), over x**(a − 1 − n)·exp(−x), as coefficients of cⁱ·bʲ, where b = a − 1 and c = b − x."""
    found = {(0, 0): 1}
    for k in range(n):                                           # r ← (c − k)·r − (b − c)·∂r/∂c
        before, found = found, {}
        for (i, j), factor in before.items():
            for place, more in (((i + 1, j), factor), ((i, j), -k * factor + i * factor), ((i - 1, j + 1), -i * factor)):
                if more:
                    found[place] = found.get(place, 0) + more
    return found


def by_shape(r: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The derivative of such a polynomial by a."""
    found: dict[tuple[int, int], int] = {}
    for (i, j), factor in r.items():
        for place, more in (((i - 1, j), i * factor), ((i, j - 1), j * factor)):
            if more:
                found[place] = found.get(place, 0) + more
    return found


def lesser_shapes(m: int, n: int, a: Any, density: GammaDensity, op: Any) -> Any:
    """The sum of binomial(n, j)·(−1)ⁿ⁻ʲ·(a − 1)…(a − j)·x**(a − 1 − j), whose terms vanish where a is a whole number up to j."""
    products: list[Any] = [1.0] + [0.0] * m                      # with its derivatives by a
    total: Any = 0.0
    for j in range(n + 1):
        if j:
            products = [products[k] * (a - j) + (k * products[k - 1] if k else 0.0) for k in range(m + 1)]
        factor = summed(m, a, density, products)
        term = op.select(factor == 0, 0, factor * op.pow(density.inside, density.least - (j + 1)))
        total = total + (-1.0) ** (n - j) * math.comb(n, j) * term
    return density.scale * total


def centred_terms(m: int, n: int, a: Any, x: Any, op: Any) -> list[Any]:
    """The derivatives by a of the polynomial in c and b, which loses no digits where a is large and beside x."""
    c, b, found, r = a - x - 1, a - 1, [], density_polynomial(n)
    for _ in range(m + 1):
        value = x * 0.0
        for (i, j), factor in sorted(r.items()):
            value = value + factor * op.pown(c, i) * op.pown(b, j)
        found.append(value)
        r = by_shape(r)
    return found


def derived_density(m: int, n: int, a: Any, x: Any, op: Any) -> Any:
    """The derivative of x**(a − 1)·exp(−x)/Γ(a), m times by a and n times by x."""
    density = GammaDensity(m, a, x, op, n + 1)
    value = op.select(a >= LARGE, density.large * summed(m, a, density, centred_terms(m, n, a, x, op)),
                      lesser_shapes(m, n, a, density, op))
    none = (op.select(a >= LARGE, density.large, density.scale) == 0) & (x > 0)
    value = op.select(none, 0, op.select(x == 0, density_at_0(m, n, a, op), value))
    return op.select((a >= 0) & (x >= 0) & (a + x > 0) & (op.min(a, x) < math.inf), value, math.nan)


def summed(m: int, a: Any, density: GammaDensity, terms: list[Any]) -> Any:
    """The m-th derivative by a of the product of a, the terms and the density, over the density."""
    total, shapes = 0.0, density.over_value(m)
    for k in range(m + 1):
        total = total + math.comb(m, k) * (a * terms[k] + (k * terms[k - 1] if k else 0.0)) * shapes[m - k]
    return total


def density_at_0(m: int, n: int, a: Any, op: Any) -> Any:
    """Its limit at x = 0: that of log(x)**m·x**(a − 1 − n), unless a is a whole number at which that has the factor 0."""
    sign = a * 0.0 + (-1.0) ** m
    for k in range(1, n + 1):
        sign = sign * op.select(a < k, -1, 1)
    value = op.select(a > n + 1, 0, sign * math.inf)
    for k in range(n + 1):
        whole = (-1.0) ** (n - k) * math.comb(n, k)
        value = op.select(a == k + 1, whole if m == 0 else math.copysign(math.inf, whole * (-1) ** m), value)
    return value
