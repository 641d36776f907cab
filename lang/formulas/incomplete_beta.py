"""Incomplete beta functions with their derivatives by both shapes and by the argument.

With u = log(x/(1 − x)) the two tails of the beta distribution are D = xᵃ(1 − x)ᵇ·Γ(a + b + 1)/(Γ(a + 1)Γ(b + 1)) times
integrals over log odds on either side of u, whose integrand is the exponential of a concave function. Derivatives by the shapes
are moments of the same integrand: D times a polynomial in log(t), log(1 − t) and polygamma functions. One tail is summed, about
the lesser, and the other is its complement. Of the lower tail, that of a + 1 is summed, I(a, b) = D·b/(a + b) + I(a + 1, b) (NIST
Digital Library of Mathematical Functions, 8.17.20), since its integrand does not spread as a goes to 0; of the upper one, that of
b + 1. D is a quotient of gamma densities, which has no large logarithms that cancel.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

from adcli.lang.formulas.beta import polygamma_gap
from adcli.lang.formulas.elementary import exponential_beyond_linear, logarithm_beyond_linear
from adcli.lang.formulas.incomplete_gamma import EXPONENT, GammaDensity
from adcli.lang.formulas.quadrature import gauss_legendre

NODES, FLAT, KNEE = 64, 2.0, 2.0
"""Nodes; the length in log odds beyond which they lie wider; how far beyond the bend of a flat integrand they lie densest."""
SMALLEST = 1e-30
"""Stands for a divisor 0."""
Jet = dict[tuple[int, int], Any]
"""A number with its derivatives by a and b, as many of each as the key says; those that are missing are 0."""


class BetaArgument(NamedTuple):
    """An argument x, 1 − x, their logarithms, and (a + b)·x − a without loss of digits."""

    x: Any
    y: Any
    log_x: Any
    log_y: Any
    beyond: Any
    factor: Any = 1.0
    """That of xᵃ(1 − x)ᵇ which x and 1 − x are out of range for."""


def at(a: Any, b: Any, x: Any, op: Any) -> BetaArgument:
    """The place x."""
    inside = op.select((x >= 0) & (x <= 1), x, math.nan)
    s = a + b
    lost = op.select(a > b, b - (s - a), a - (s - b))
    return BetaArgument(inside, 1 - inside, op.log(inside), op.log1p(-inside), op.fma(inside, s, -a) + inside * lost)


def at_log_odds(a: Any, b: Any, u: Any, op: Any) -> BetaArgument:
    """The place with these log odds."""
    least = sys.float_info.min
    x, y, log_x, log_y = op.max(op.sigmoid(u), least), op.max(op.sigmoid(-u), least), -op.softplus(-u), -op.softplus(u)
    lost = a * op.select(x > least, 0, log_x - op.log(x)) + b * op.select(y > least, 0, log_y - op.log(y))
    off = u - op.log(op.max(a, SMALLEST) / op.max(b, SMALLEST))
    beyond = op.select(off > 0, -x * b * op.expm1(-off), y * a * op.expm1(op.min(off, 0)))
    return BetaArgument(x, y, log_x, log_y, beyond, op.exp(lost))


def times(f: Jet, g: Jet) -> Jet:
    """The product of two jets."""
    found: Jet = {}
    for (i, j), (p, q) in product(f, g):
        value = f[i, j] * g[p, q]
        ways = math.comb(i + p, i) * math.comb(j + q, j)
        value = value if ways == 1 else ways * value
        found[i + p, j + q] = found[i + p, j + q] + value if (i + p, j + q) in found else value
    return found


def up_to(m: int, k: int, f: Jet) -> Jet:
    return {(i, j): value for (i, j), value in f.items() if i <= m and j <= k}


def exponential_jet(m: int, k: int, exponent: Jet) -> Jet:
    """exp(f) over its value, where `exponent` has the derivatives of f."""
    found: Jet = {(0, 0): 1.0}
    for i, j in list(product(range(m + 1), range(k + 1)))[1:]:
        total: Any = 0.0
        di, dj = (1, 0) if i else (0, 1)                         # exp(f)′ = f′·exp(f)
        for p, q in product(range(i - di + 1), range(j - dj + 1)):
            term = exponent[p + di, q + dj] * found[i - di - p, j - dj - q]
            ways = math.comb(i - di, p) * math.comb(j - dj, q)
            total = total + (term if ways == 1 else ways * term)
        found[i, j] = total
    return found


class BetaKernel:
    """D, with the derivatives of its logarithm by a and b."""

    def __init__(self, m: int, k: int, a: Any, b: Any, place: BetaArgument, op: Any) -> None:
        self.m, self.k, self.a, self.b, self.place, self.op = m, k, a, b, place, op
        s = a + b
        of_a = GammaDensity(0, a, s * place.x, op, difference=place.beyond)
        of_b = GammaDensity(0, b, s * place.y, op, difference=-place.beyond)
        lost = (s * place.x == 0) & (place.x > 0)                # to underflow: a is so small that only x counts
        whole = GammaDensity(0, s, s, op, difference=s * 0.0)
        self.value = op.select(lost, op.pow(place.x, a), of_a.value) * (of_b.value / whole.value) * place.factor
        self.logarithm: Jet = {}
        for i, j in list(product(range(m + 1), range(k + 1)))[1:]:
            n, (this, other) = i + j - 1, (a, b) if i else (b, a)
            self.logarithm[i, j] = op.polygamma(n, s + 1) if i and j else \
                -polygamma_gap(n, 0, this + 1, op.max(other, SMALLEST), op)
            if n == 0:
                self.logarithm[i, j] = (place.log_x if i else place.log_y) + self.logarithm[i, j]
        self.jet = exponential_jet(m, k, self.logarithm)

    def share(self, of_b: Any) -> Jet:
        """b/(a + b), or unless it is `of_b` a/(a + b)."""
        s, side = self.a + self.b, self.op.select(of_b, 1, -1)
        p, q = self.a / s, self.b / s
        found: Jet = {(0, 0): self.op.select(of_b, q, p)}
        for n in range(1, self.m + self.k + 1):
            p, q = p / s, q / s
            for i in range(max(0, n - self.k), min(self.m, n) + 1):
                factor = -(-1.0) ** n * math.factorial(i) * math.factorial(n - i)
                terms = [math.comb(n - 1, i) * factor * p] * (i < n) + [-math.comb(n - 1, max(i - 1, 0)) * factor * q] * (i > 0)
                found[i, n - i] = side * sum(terms[1:], terms[0])
        return found

    def log_odds_density(self) -> Jet:
        """The density of log odds over D."""
        return times(self.jet, times({(0, 0): self.a, (1, 0): 1.0}, self.share(self.a >= 0)))


def tail(upper: bool, m: int, k: int, a: Any, b: Any, place: BetaArgument, op: Any) -> Any:
    """The derivative of the lower tail, m times by a and k times by b, or the `upper` one itself."""
    x, y, s = place.x, place.y, a + b
    kernel = BetaKernel(m, k, a, b, place, op)
    left = x * op.max(b, 1) <= y * op.max(a, 1)
    first = kernel.value * op.select(left, b * op.exp(-b * place.log_y), a * op.exp(-a * place.log_x))   # ∫ tᵃ⁻¹ dt over B
    below = (left & ((a >= 1) | (first < s / 2))) | (~left & (b < 1) & (first >= s / 2))
    near, shape, other = op.select(below, x, y), op.select(below, a, b), op.select(below, b, a)
    slope = op.select(below, y - place.beyond, x + place.beyond)
    width = summed_width(op.max(slope, 0), (s + 1) * x * y, (s + 1) * op.select(below, place.log_y, place.log_x), shape + 1, op)
    bend = op.log(near * op.max(other, 1) / (shape + 1)) - op.select(below, place.log_y, place.log_x)
    centre = op.min(op.max(KNEE + bend, 0), width)
    start = -op.asinh(centre / FLAT)
    angle = op.asinh((width - centre) / FLAT) - start
    keys = list(kernel.logarithm)
    sum_of = op.table_sum(f"beta_tail_{m}_{k}", gauss_legendre(NODES), beta_term(m, k, keys, op), start, angle, centre,
                          op.select(below, -1, 1), slope, a, b, x, y, *kernel.logarithm.values())
    edge = times(kernel.jet, kernel.share(below))[m, k]
    mass = FLAT * angle * near * sum_of
    found = op.select(kernel.value == 0, 0, kernel.value * (edge + mass))
    if m + k:
        value, ends = op.select(below, found, -found), (0.0, 0.0)
    else:
        value, ends = op.select(~below if upper else below, found, 1 - found), (1.0, 0.0) if upper else (0.0, 1.0)
    low, high = (place.log_x == -math.inf) | (a == math.inf), (place.log_y == -math.inf) | (b == math.inf)
    value = op.select(low, ends[0], op.select(high, ends[1], value))
    return op.select(inside(a, b, place, op), value, math.nan)


def inside(a: Any, b: Any, place: BetaArgument, op: Any) -> Any:
    """True where shapes and place are those of a distribution."""
    some = ((a > 0) | (place.log_x > -math.inf)) & ((b > 0) | (place.log_y > -math.inf)) & (a + b > 0)
    return (a >= 0) & (b >= 0) & some & (op.min(a, b) < math.inf) & (place.x >= 0)


def summed_width(slope: Any, curvature: Any, flat: Any, shape: Any, op: Any) -> Any:
    """The length over which the integrand falls by exp(−EXPONENT), or a little more: the exponent falls by at least
    slope·r + curvature·r²/(2 + r), and by shape·r + flat."""
    excess = 2 * slope - EXPONENT
    steep = 4 * EXPONENT / (excess + op.hypot(excess, op.sqrt(8 * EXPONENT * (slope + curvature))))
    return op.min(steep, (EXPONENT - flat) / shape)


def beta_term(m: int, k: int, keys: list[tuple[int, int]], op: Any) -> Callable[..., Any]:
    """The integrand at a node, over D and the place, where `keys` say which derivatives of log(D) follow."""
    def term(node: Any, weight: Any, *given: Any) -> Any:
        start, angle, centre, side, slope, a, b, x, y, *logarithm = given
        turn = start + angle * node
        r = centre + FLAT * op.sinh(turn)
        lesser, sign = op.min(x, y), op.select(x <= y, side, -side)
        z = lesser * op.expm1(op.min(sign * r, 700))
        far = z > 0.5
        inside = op.select(far, 0, z)
        curved = op.select(                                      # log1p(z) − lesser·sign·r
            far, r * (1 - lesser) + op.log(lesser + (1 - lesser) * op.exp(-r)),
            logarithm_beyond_linear(inside, op) + lesser * exponential_beyond_linear(op.select(far, 0, sign * r), op))
        slopes = dict(zip(keys, logarithm, strict=True))
        below, more = side < 0, {(1, 0): y * (side * r) - curved, (0, 1): -x * (side * r) - curved}   # of log(x), log(1 − x)
        jet = exponential_jet(m, k, {key: value + more[key] if key in more else value for key, value in slopes.items()})
        by_b, by_a = b * jet[m, k] + (k * jet[m, k - 1] if k else 0), a * jet[m, k] + (m * jet[m - 1, k] if m else 0)
        factor = op.select(below, by_b, by_a)
        return weight * op.cosh(turn) * op.exp(-slope * r - (a + b + 1) * curved) * factor
    return term


Polynomial = dict[tuple[int, int, int, int], int]
"""Coefficients of cⁱ·wʲ·pʰ·sᵒ, where p = x(1 − x), w = 1 − 2x, and c = p·dlog(f)/dx for a density f, so that p·dc/dx = −s·p."""


def density_polynomial(n: int, step: int) -> Polynomial:
    """f⁽ⁿ⁾·pⁿ/f, derivatives by x, or with `step` 0 those by log odds over f."""
    found: Polynomial = {(0, 0, 0, 0): 1}
    for order in range(n):
        before, found = found, {}
        for (i, j, h, o), factor in before.items():
            for place, more in (((i + 1, j, h, o), 1), ((i, j + 1, h, o), h - step * order), ((i - 1, j, h + 1, o + 1), -i),
                                ((i, j - 1, h + 1, o), -2 * j)):
                if more:
                    found[place] = found.get(place, 0) + factor * more
    return found


def products(offsets: Iterable[int], a: Any, position: tuple[int, int]) -> Jet:
    """The product of a + j for these j, where `position` says by which shape it is differentiated."""
    value: Jet = {(0, 0): 1.0}
    for j in offsets:
        value = times(value, {(0, 0): a + j, position: 1.0})
    return value


def derived_density(step: int, m: int, k: int, n: int, a: Any, b: Any, place: BetaArgument, op: Any) -> Any:
    """The derivative of the density of x, or with `step` 0 of log odds, m times by a, k times by b and n by the argument."""
    x, y = place.x, place.y
    kernel = BetaKernel(m, k, a, b, place, op)
    value = kernel.value / x / y if step else kernel.value
    value = value * density_over_kernel(step, n, kernel)
    if step:
        for _ in range(n):
            value = value / x / y
        if n:
            value = op.select((a >= n + 1) & (b >= n + 1), value, lesser_shapes(n, kernel))
    value = op.select(kernel.value > 0, value, 0)
    if step:
        first, last = density_at_0(m, k, n, a, b, op), (-1.0) ** n * density_at_0(k, m, n, b, a, op)
        value = op.select(x == 0, first, op.select(y == 0, last, value))
    return op.select(inside(a, b, place, op), value, math.nan)


def density_over_kernel(step: int, n: int, kernel: BetaKernel) -> Any:
    """The derivative of a density over D, or of that of x over D/(x(1 − x))ⁿ⁺¹."""
    m, k, x, y, op = kernel.m, kernel.k, kernel.place.x, kernel.place.y, kernel.op
    c: Jet = {(0, 0): step * (x - y) - kernel.place.beyond, (1, 0): y, (0, 1): -x}
    s: Jet = {(0, 0): kernel.a + kernel.b - 2 * step, (1, 0): 1.0, (0, 1): 1.0}
    total: Jet = {(0, 0): x * 0.0}
    for (i, j, h, o), factor in sorted(density_polynomial(n, step).items()):
        term: Jet = {(0, 0): factor * op.pown(x * y, h) * op.pown(y - x, j)}
        for each in [c] * i + [s] * o:
            term = up_to(m, k, times(term, each))
        for key, value in term.items():
            total[key] = total[key] + value if key in total else value
    return times(kernel.log_odds_density(), total)[m, k]


def lesser_shapes(n: int, kernel: BetaKernel) -> Any:
    """The derivative of the density of x as a sum whose terms vanish where a or b is a whole number up to n."""
    m, k, place, op = kernel.m, kernel.k, kernel.place, kernel.op
    total, front = 0.0, kernel.log_odds_density()
    for j in range(n + 1):
        factors = up_to(m, k, times(products(range(-j, 0), kernel.a, (1, 0)), products(range(j - n, 0), kernel.b, (0, 1))))
        factor = times(front, factors)[m, k]
        term = op.select(factor == 0, 0, factor * kernel.value / op.pown(place.x, j + 1)) / op.pown(place.y, n - j + 1)
        total = total + (-1.0) ** (n - j) * math.comb(n, j) * term
    return total


def density_at_0(m: int, k: int, n: int, a: Any, b: Any, op: Any) -> Any:
    """The limit at x = 0 of the density's derivative: of log(x)ᵐ·x**(a − 1 − n)·(a − 1)…(a − n) times a derivative of 1/B(a, b),
    whose sign is that of b**a, or where a is a whole number up to n + 1 of the first term that does not vanish."""
    sign = a * 0.0 + (-1.0) ** m
    for j in [*range(1, n + 1), *range(1, k)]:
        sign = sign * op.select(a < j, -1, 1)
    value = op.select(a > n + 1, 0, sign * math.inf)
    for j in range(n + 1):                                       # 1/B(j + 1, b) = b·(b + 1)…(b + j)/j!
        whole = (-1.0) ** (n - j) * math.comb(n, j) * products([*range(j + 1), *range(j - n, 0)], b, (0, 1)).get((0, k), 0.0)
        value = op.select(a == j + 1, whole if m == 0 else whole * (-math.inf) ** m, value)
    return value
