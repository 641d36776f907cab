"""The Voigt profile with its derivatives, by the trapezoidal rule with the residue of the pole (Matta and Reichel, Mathematics of
Computation 25, 1971; Al Azah and Chandler-Wilde, SIAM Journal on Numerical Analysis 59, 2021).

The profile is the real part of F(x + iγ), the convolution of i/(π(x + iγ)) with a Gaussian density of standard deviation σ. Its
derivatives by x and γ are those of F by its complex argument, and ∂F/∂σ = σ·F″. The argument is halfway between two nodes. Where
the pole is near the real line, the mean of sums along two parallels to it is taken, of which neither is near the pole.
"""
from __future__ import annotations

import math
from typing import Any

from adcli.lang.formulas.elementary import Complex, polynomial, times

STEP = 0.375
REACH = 8.0
"""Distances between nodes, and of the last ones from 0, in units of √2·σ."""
FREQUENCY = 2 * math.pi / STEP
APART = 1.25
"""The distance of the parallels from the real line, where the pole is nearer to it than CLOSE, and within CENTRE of 0."""
CLOSE, CENTRE = 0.55, 9.0
DEAD = 27.0
"""Arguments beyond which the Gaussian is 0."""


def inverse(re: Any, im: Any) -> Complex:
    size = re * re + im * im
    return re / size, -im / size


def voigt(by_x: int, by_gamma: int, x: Any, sigma: Any, gamma: Any, op: Any) -> Any:
    """The profile, differentiated by x and by γ: the real part of a power of i times a derivative of F."""
    n, part = by_x + by_gamma, by_gamma % 2
    sane = (x == x) & (sigma >= 0) & (gamma >= 0) & (sigma + gamma > 0) & (op.max(sigma, gamma) < math.inf)
    finite = op.abs(x) < math.inf
    x, sigma, gamma = op.select(finite, x, 0), op.select(sane, sigma, 1), op.select(sane, gamma, 1)
    unit, scale = sigma * math.sqrt(2), op.max(op.max(op.abs(x), gamma), sigma)
    narrow = (unit == 0) | (op.abs(x) / unit > DEAD)
    at, height = op.select(narrow, DEAD, x / unit), op.select(unit == 0, math.inf, gamma / unit)
    apart = op.select((height < CLOSE) & (op.abs(at) < CENTRE), APART, 0)
    place = at / STEP
    total = trapezoids(n, part, (x / scale, unit / scale, gamma / scale, (place - op.floor(place) - 0.5) * STEP, apart), op)
    residue = op.select(narrow | (height > math.pi / STEP), 0, pole(n, part, at, op.min(height, math.pi / STEP), apart, op))
    for _ in range(n + 1):
        total, residue = total / scale, residue / unit
    value = total + op.select(residue == residue, residue, 0) / math.sqrt(math.pi)
    return op.select(sane, op.select(finite, -value if by_gamma % 4 in (1, 2) else value, 0), math.nan)


def trapezoids(n: int, part: int, given: tuple[Any, ...], op: Any) -> Any:
    """The trapezoidal sum for the n-th derivative of F, its real (0) or imaginary (1) part, `given` what a term has."""
    def term(node: Any, x: Any, unit: Any, gamma: Any, shift: Any, apart: Any) -> Any:
        t = node + shift
        u, above, angle = x - unit * t, apart * unit, 2 * apart * t
        p, q = inverse(u, above - gamma), inverse(u, above + gamma)
        total, left, right = (1.0, 0.0), p, q
        for _ in range(n):
            total = times(total, p)
            total, left, right = (total[0] + right[0], total[1] + right[1]), times(left, p), times(right, q)
        found = (left[0] + right[0], left[1] + right[1]) if part else times(times(p, q), total)
        return op.exp(apart * apart - t * t) * (op.cos(angle) * found[0] - op.sin(angle) * found[1])
    count = round(REACH / STEP)
    nodes = [(k * STEP,) for k in range(-count, count + 1)]
    total = op.table_sum(f"voigt_{n}_{part}", nodes, term, *given, cancels="voigt")
    return total * (0.5 if part else given[2]) * ((-1.0) ** n * math.factorial(n) * STEP / math.pi ** 1.5)


def pole(n: int, part: int, x: Any, y: Any, apart: Any, op: Any) -> Any:
    """The n-th derivative of exp(−z²) times the sum of two logistic functions of i·FREQUENCY·z, at z = x + iy."""
    size, turn = op.exp((y - x) * (y + x)), 2 * x * y
    wave, hermite = (op.cos(turn), -op.sin(turn)), [(1.0, 0.0), (-2 * x, -2 * y)]
    for j in range(1, n):
        a, b = times((-2 * x, -2 * y), hermite[j]), hermite[j - 1]
        hermite.append((a[0] - 2 * j * b[0], a[1] - 2 * j * b[1]))
    far, near = op.sigmoid(-FREQUENCY * (apart + y)), op.sigmoid(-FREQUENCY * op.abs(apart - y))
    re, im = x * 0.0, x * 0.0
    for j in range(n + 1):
        other = logistic(j, near) if j else op.sigmoid(FREQUENCY * (apart - y))
        if j > 0 and j % 2 == 0:
            other = op.select(apart > y, -other, other)
        factor = math.comb(n, j) * FREQUENCY ** j * (logistic(j, far) + other)
        for_part = hermite[n - j]
        for _ in range(j % 4):
            for_part = (-for_part[1], for_part[0])
        re, im = re + factor * for_part[0], im + factor * for_part[1]
    return size * times(wave, (re, im))[part]


def logistic(j: int, s: Any) -> Any:
    """The j-th derivative of the logistic function, as a polynomial in its value."""
    coefficients = [0, 1]
    for _ in range(j):
        slopes = [k * c for k, c in enumerate(coefficients)]       # of s·p′(s)
        coefficients = [a - b for a, b in zip([*slopes, 0], [0, *slopes], strict=True)]
    return polynomial(coefficients, s)
