"""Incomplete beta functions on intervals.

Values rise or fall in each argument, so they are evaluated at corners. Derivatives are those of analytic functions: sums over
small circles around the middle of each argument, with what Cauchy's formula says of the rest on larger ones.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import factorial, prod
from types import SimpleNamespace
from typing import Any

from adcli.lang.enclosures.intervals import (
    EMPTY,
    INF,
    ONE,
    UNDEFINED,
    ZERO,
    Interval,
    clipped,
    enclosed,
    infinity,
    point_of,
)
from adcli.lang.formulas.incomplete_beta import density_at_0
from flint import acb, arb, ctx

Bounds = Callable[..., Interval]
Place = Callable[[Any], tuple[Any, Any]]
FAR, FARTHEST = 1 << 20, 700
"""Shapes and log odds beyond which nothing is enclosed."""
OPERATIONS = SimpleNamespace(select=lambda c, x, y: x if c else y)


def at(x: Any) -> tuple[Any, Any]:
    return x, 1 - x


def at_log_odds(u: Any) -> tuple[Any, Any]:
    return 1 / (1 + (-u).exp()), 1 / (1 + u.exp())


def on_circles(f: Callable[..., Any], most: Callable[..., Any], given: Sequence[Any], radii: Sequence[Any],
               orders: Sequence[int]) -> Any:
    """The derivative of these orders of an analytic function of real balls, where `most` bounds it on balls of complex numbers
    that reach further by these radii: by trapezoidal sums over lesser circles, and the mean value theorem."""
    scale = prod((factorial(n) / r ** n for n, r in zip(orders, radii, strict=True)), start=arb(1))
    around = [acb(arb(x.mid(), x.rad() + r), arb(0, r)) for x, r in zip(given, radii, strict=True)]
    bound = abs(most(*around)).upper() * scale.upper()
    off = sum(((n + 1) * x.rad() / r for n, x, r in zip(orders, given, radii, strict=True)), arb(0))
    counts, bits, before = [n + 3 if n else 1 for n in orders], ctx.prec // 4 + 8, ctx.prec
    if any(orders):
        off += 2 * len(orders) * arb(2) ** -(4 * bits)
    ctx.prec += bits * sum(orders) + 60
    try:
        total, ratio = acb(0), arb(2) ** bits
        for turns in product(*map(range, counts)):
            steps = [(acb(2 * k) / c).exp_pi_i() if n else acb(0) for k, c, n in zip(turns, counts, orders, strict=True)]
            value = f(*(x.mid() + r / ratio * z for x, r, z in zip(given, radii, steps, strict=True)))
            total += value * prod((z ** -n for z, n in zip(steps, orders, strict=True) if n), start=acb(1))
        return total.real / prod(counts) * ratio ** sum(orders) * scale + arb(0, (off * bound).upper())
    finally:
        ctx.prec = before


def quotient(a: Any, b: Any) -> Any:
    """Γ(a + b)/(Γ(a)Γ(b))."""
    return (a + b).gamma() * a.rgamma() * b.rgamma()


def tail_derivative(place: Place, orders: Sequence[int]) -> Callable[..., Any]:
    def f(a: Any, b: Any, x: Any) -> Any:
        middle = x.mid()
        swapped = not place(middle)[0] * (a + b) < a               # to the lesser tail
        shapes, turned = ([b, a], orders[::-1]) if swapped else ([a, b], orders)

        def lesser() -> Any:
            return place(middle)[swapped]

        def most(p: Any, q: Any) -> Any:
            return lesser().upper().beta_lower(p.real.lower(), q.real.lower()) * abs(quotient(p, q))
        radii = [(shapes[0].lower().min(arb(1)) / 4).lower(), radius(a, b)]
        found = on_circles(lambda p, q: acb(lesser()).beta_lower(p, q, 1), most, shapes, radii, turned)
        beside = x.rad() * density_derivative(place, (*orders, 0))(a, b, x) if x.rad() else arb(0)
        return (-found if swapped else found) + arb(0, abs(beside).upper())
    return f


def density_derivative(place: Place, orders: Sequence[int]) -> Callable[..., Any]:
    step = place is at

    def value(a: Any, b: Any, x: Any) -> Any:
        p, q = place(x)
        return ((a - step) * p.log() + (b - step) * q.log()).exp() * quotient(a, b)

    def f(a: Any, b: Any, x: Any) -> Any:
        reach = (x.lower().min((1 - x).lower()) if step else arb(1)) / (a + b + 4).upper()
        return on_circles(value, value, (a, b, x), [radius(a, b), radius(a, b), reach.lower()], orders)
    return f


def radius(a: Any, b: Any) -> Any:
    """About a shape, so that the sum of both remains positive."""
    return ((a + b).lower().min(arb(1)) / 8).lower()


def within(place: Place, f: Callable[..., Any], orders: Sequence[int]) -> Bounds:
    """A tail or its derivative of these two orders, or that of three of a density, on balls; at the ends 0 or limits."""
    ends = place is at

    def bounds(a: Interval, b: Interval, x: Interval) -> Interval:
        if a.hi < 0 or b.hi < 0 or (ends and (x.hi < 0 or x.lo > 1)):
            return EMPTY
        if not (a.bounded and b.bounded and x.bounded) or min(a.lo, b.lo) < 0 or max(a.hi, b.hi) > FAR or a.lo + b.lo == 0:
            return UNDEFINED
        if not ends and not abs(x.ball()) < FARTHEST:
            return UNDEFINED
        if ends and not (x.lo > 0 and x.hi < 1):
            end = x.thin and ((x.lo == 0 and a.lo > 0) or (x.lo == 1 and b.lo > 0))
            return at_end(a.ball(), b.ball(), x.lo == 1, orders) if end else UNDEFINED
        if (a.hi == 0 and orders[0] == 0) or (b.hi == 0 and orders[1] == 0):
            return Interval(ZERO, ZERO)
        return enclosed(f(a.ball(), b.ball(), x.ball()))
    return bounds


def at_end(a: Any, b: Any, last: bool, orders: Sequence[int]) -> Interval:
    if len(orders) == 2:
        return Interval(ZERO, ZERO)
    m, k, n = orders
    end = density_at_0(k, m, n, b, a, OPERATIONS) if last else density_at_0(m, k, n, a, b, OPERATIONS)
    end = arb(end) * (-1 if last and n % 2 else 1)
    return infinity(end) if abs(end) == INF else enclosed(end)


def probability(place: Place, upper: bool) -> Bounds:
    """A tail itself, between 0 and 1: the lower one falls in a, and rises in b and in the argument."""
    def f(a: Any, b: Any, x: Any) -> Any:
        p, q = place(x)
        below = bool(p * (a + b) < a)
        value = p.beta_lower(a, b, 1) if below else q.beta_lower(b, a, 1)
        return value if below != upper else 1 - value
    value = within(place, f, (1, 1))

    def bounds(a: Interval, b: Interval, x: Interval) -> Interval:
        bounded = place is at
        if min(a.lo, b.lo) >= 0 and (not bounded or (x.lo >= 0 and x.hi <= 1)):
            first, last = bounded and x.hi == 0, bounded and x.lo == 1
            none, all_of_it = (ONE, ZERO) if upper else (ZERO, ONE)
            if a.lo > 0 and (first or (b.hi == 0 and (not bounded or x.hi < 1))):
                return point_of(none)
            if b.lo > 0 and (last or (a.hi == 0 and (not bounded or x.lo > 0))):
                return point_of(all_of_it)
        least, most = value(point_of(a.hi), point_of(b.lo), point_of(x.lo)), value(point_of(a.lo), point_of(b.hi), point_of(x.hi))
        if EMPTY in (least, most) or UNDEFINED in (least, most):
            return EMPTY if least is EMPTY and most is EMPTY else UNDEFINED
        return clipped(Interval(most.lo, least.hi) if upper else Interval(least.lo, most.hi), ZERO, ONE)
    return bounds


def derivative(place: Place, *orders: int) -> Bounds:
    """The derivative of a lower tail by the shapes, of two orders, or that of a density, of three."""
    if orders == (0, 0):
        return probability(place, False)
    return within(place, (density_derivative if len(orders) == 3 else tail_derivative)(place, orders), orders)
