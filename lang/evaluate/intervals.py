"""Intervals with ends in multiple precision, rounded outwards, and their algebra.

The ends are exact numbers of Arb, at the precision that its context has at the time (F. Johansson, Arb: efficient
arbitrary-precision midpoint-radius interval arithmetic, 2017; the extra package python-flint, which whoever imports this
module must have). A monotone function is evaluated at both ends: over wide intervals that is sharper than its ball.

`nan` marks an interval about which nothing is known: an argument may leave the domain, or a quotient pass through a pole.
All other bounds hold wherever the operations are defined; beside a one-sided pole they end in infinity.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

End = Any
"""An exact arb, or an infinite one."""
INF, ZERO, ONE = arb.pos_inf(), arb(0), arb(1)


class Interval:
    """All numbers from `lo` to `hi`; where `nan` is set, nothing is known. Never changed once made."""

    __slots__ = ("hi", "lo", "nan")

    def __init__(self, lo: End, hi: End, nan: bool = False) -> None:
        self.lo, self.hi, self.nan = lo, hi, nan

    @property
    def thin(self) -> bool:
        return self.lo is self.hi or bool(self.lo == self.hi)

    @property
    def bounded(self) -> bool:
        return bool(self.lo.is_finite() and self.hi.is_finite())

    def has(self, x: Any) -> bool:
        return bool(self.lo <= x <= self.hi)

    def ball(self) -> Any:
        return self.lo if self.lo is self.hi else self.lo.union(self.hi)


UNDEFINED = Interval(-INF, INF, True)


def point(x: float) -> Interval:
    """One double, not NaN."""
    end = arb(x)
    return Interval(end, end)


def enclosed(ball: Any) -> Interval:
    """The interval of a ball; UNDEFINED where it is not finite."""
    if ball.is_exact() and ball.is_finite():
        return Interval(ball, ball)
    return Interval(ball.lower(), ball.upper()) if ball.is_finite() else UNDEFINED


def hull(x: Interval, y: Interval) -> Interval:
    if x.nan or y.nan:
        return UNDEFINED
    return Interval(x.lo if x.lo <= y.lo else y.lo, x.hi if x.hi >= y.hi else y.hi)


def meet(x: Interval, y: Interval) -> Interval:
    """What two enclosures of one value leave."""
    if x.nan or y.nan:
        return y if x.nan else x
    return Interval(x.lo if x.lo >= y.lo else y.lo, x.hi if x.hi <= y.hi else y.hi)


# ---------------------------------------------------------------- arithmetic

def add(x: Interval, y: Interval) -> Interval:
    if x.lo is x.hi and y.lo is y.hi:
        return enclosed(x.lo + y.lo)
    return Interval((x.lo + y.lo).lower(), (x.hi + y.hi).upper()) if x.bounded and y.bounded else _add(x, y)


def _add(x: Interval, y: Interval) -> Interval:
    """With infinite ends, whose sum is infinite outwards."""
    low, high = -INF in (x.lo, y.lo), INF in (x.hi, y.hi)
    if INF in (x.lo, y.lo) or -INF in (x.hi, y.hi):
        return UNDEFINED
    return Interval(-INF if low else (x.lo + y.lo).lower(), INF if high else (x.hi + y.hi).upper())


def neg(x: Interval) -> Interval:
    return Interval(-x.hi, -x.lo) if x.lo is not x.hi else point_of(-x.lo)


def point_of(end: Any) -> Interval:
    return Interval(end, end)


def sub(x: Interval, y: Interval) -> Interval:
    if x is y and x.bounded:
        return point_of(ZERO)
    return add(x, neg(y))


def mul(x: Interval, y: Interval) -> Interval:
    if x is y:
        return even_power(x, 2)
    if x.lo is x.hi and y.lo is y.hi and x.bounded and y.bounded:
        return enclosed(x.lo * y.lo)
    if x.lo >= 0 and y.lo >= 0:
        return Interval(_product(x.lo, y.lo).lower(), _product(x.hi, y.hi).upper())
    products = [_product(a, b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return Interval(_least([p.lower() for p in products]), _most([p.upper() for p in products]))


def _product(a: Any, b: Any) -> Any:
    """Of two ends: a bound 0 is attained or approached, so 0·∞ is 0."""
    return ZERO if a == 0 or b == 0 else a * b


def _least(ends: list[Any]) -> Any:
    found = ends[0]
    for x in ends[1:]:
        found = x if x < found else found
    return found


def _most(ends: list[Any]) -> Any:
    return -_least([-x for x in ends])


def div(x: Interval, y: Interval) -> Interval:
    if x.lo is x.hi and y.lo is y.hi and x.bounded and y.bounded:
        return enclosed(x.lo / y.lo)
    if x is y and not y.has(ZERO) and y.bounded:
        return point_of(ONE)
    inverse = reciprocal(y)
    return UNDEFINED if inverse.nan else mul(x, inverse)


def reciprocal(y: Interval) -> Interval:
    """1/y; one-sided beside 0, undefined across it."""
    if y.lo < 0 < y.hi or (y.thin and y.lo == 0):
        return UNDEFINED
    low = -INF if y.hi == 0 else ZERO if not y.hi.is_finite() else (1 / y.hi).lower()
    high = INF if y.lo == 0 else ZERO if not y.lo.is_finite() else (1 / y.lo).upper()
    return Interval(low, high)


def fma(a: Interval, b: Interval, c: Interval) -> Interval:
    return add(mul(a, b), c)


def absolute(x: Interval) -> Interval:
    if x.lo >= 0:
        return x
    return neg(x) if x.hi <= 0 else Interval(ZERO, _most([-x.lo, x.hi]))


def even_power(x: Interval, n: int) -> Interval:
    a = absolute(x)
    return enclosed(a.lo ** n) if a.thin and a.bounded else Interval((a.lo ** n).lower(), (a.hi ** n).upper())


def pown(x: Interval, exponent: Interval) -> Interval:
    """x**n, n an integer constant."""
    n = int(float(exponent.lo))
    if n == 0:
        return point_of(ONE)
    if n < 0:
        return reciprocal(pown(x, point(float(-n))))
    if n % 2 == 0:
        return even_power(x, n)
    return rising(lambda t: t ** n)(x)


def power(x: Interval, y: Interval) -> Interval:
    """x**y: for x > 0 monotone in x and in y, so the extremes are at corners."""
    if (y.thin and y.lo == 0) or (x.thin and x.lo == 1):
        return point_of(ONE)
    if x.nan or y.nan:
        return UNDEFINED
    if y.thin and y.lo.is_integer() and abs(y.lo) <= 2 ** 53:
        return pown(x, y)
    if x.lo < 0 or not x.bounded or not y.bounded:
        return UNDEFINED if x.lo < 0 else Interval(ZERO, INF)
    if x.lo == 0:
        if y.lo <= 0:
            return UNDEFINED if x.thin else Interval(ZERO, INF)
        return Interval(ZERO, _most([ZERO] if x.thin else [(x.hi ** b).upper() for b in (y.lo, y.hi)]))
    corners = [a ** b for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    if not all(c.is_finite() for c in corners):
        return Interval(ZERO, INF)
    return Interval(_most([ZERO, _least([c.lower() for c in corners])]), _most([c.upper() for c in corners]))


# ---------------------------------------------------------------- monotone functions

IntervalFunction = Callable[[Interval], Interval]


def rising(f: Callable[[End], Any], low: End = -INF, high: End = INF, least: End = -INF, most: End = INF) -> IntervalFunction:
    """A function that rises from `least` to `most` over its domain low…high, from `f`, which gives a ball for a number."""
    def bounds(x: Interval) -> Interval:
        if x.lo < low or x.hi > high:
            return UNDEFINED
        if x.lo is x.hi:
            return clipped(enclosed(f(x.lo)), least, most) if x.lo.is_finite() else UNDEFINED
        below, above = _at_end(f, x.lo), _at_end(f, x.hi)
        return clipped(Interval(least if below is None else below.lower(), most if above is None else above.upper()), least, most)
    return bounds


def _at_end(f: Callable[[End], Any], end: End) -> Any | None:
    """The ball of a function at the end of a wide interval; None where there is none."""
    ball = f(end) if end.is_finite() else None
    return ball if ball is not None and ball.is_finite() else None


def exponential(f: Callable[[End], Any], least: End) -> IntervalFunction:
    """A rising function that grows without end, from `least`: far out it is bounded by its value at REACH and infinity."""
    plain = rising(f, least=least)

    def bounds(x: Interval) -> Interval:
        if x.lo >= -REACH and x.hi <= REACH:
            return plain(x)
        near = plain(Interval(_within(x.lo), _within(x.hi)))
        return Interval(least if x.lo < -REACH else near.lo, INF if x.hi > REACH else near.hi)
    return bounds


REACH = arb(2) ** 40


def _within(end: End) -> End:
    return REACH if end > REACH else -REACH if end < -REACH else end


def falling(f: Callable[[End], Any], low: End = -INF, high: End = INF, least: End = -INF, most: End = INF) -> IntervalFunction:
    mirrored = rising(lambda t: f(-t), -high, -low, least, most)
    return lambda x: mirrored(neg(x))


def clipped(x: Interval, least: End, most: End) -> Interval:
    """The part of bounds that a function can reach."""
    if x.nan or (x.lo >= least and x.hi <= most):
        return x
    return Interval(x.lo if x.lo >= least else least, x.hi if x.hi <= most else most)
