"""Intervals with ends in multiple precision, rounded outwards, their decorations, and their algebra.

The ends are exact numbers of Arb, at the precision that its context has at the time (F. Johansson, Arb: efficient
arbitrary-precision midpoint-radius interval arithmetic, 2017; the extra package python-flint, which whoever imports this
module must have). A monotone function is evaluated at both ends: over wide intervals that is sharper than its ball.

Bounds hold wherever all operations on the way are defined. Whether they are, the decoration says (IEEE Std 1788-2015, clause
8): how well the operations so far behave on the box. A function here gives the decoration of its own step, and the arithmetic
(`adcli.lang.enclosures.interval_arithmetic`) takes the worst of it and those of the arguments, so that is done in one place.

Four values are no real numbers: EMPTY, of an operation that certainly has no value; an infinity, of a pole that is certainly
hit; EITHER, an infinity with the sign of a zero; and UNDEFINED, where nothing is known.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, ctx, fmpq  # noqa: F401  # for those who use intervals

End = Any
"""An exact arb, or an infinite one."""
INF, ZERO, ONE = arb.pos_inf(), arb(0), arb(1)
NOTHING, DEFINED, CONTINUOUS, COMMON = range(4)
"""Decorations: nothing is known; defined on the whole box; continuous on it too; and all of it within finite bounds."""
DECORATIONS = ("trv", "def", "dac", "com")
"""Their names in the standard. Its fifth, ill, is of intervals that are none: they do not get as far as this."""


class Interval:
    """All numbers from `lo` to `hi`, with a decoration. Never changed once made."""

    __slots__ = ("decoration", "hi", "lo")

    def __init__(self, lo: End, hi: End, decoration: int = COMMON) -> None:
        self.lo, self.hi, self.decoration = lo, hi, decoration

    @property
    def thin(self) -> bool:
        return self.lo is self.hi or bool(self.lo == self.hi)

    @property
    def bounded(self) -> bool:
        return bool(self.lo.is_finite() and self.hi.is_finite())

    @property
    def infinite(self) -> bool:
        """True if it is certainly an infinity, that of a pole; what is only too large is a number."""
        return self is EITHER or (self.lo is self.hi and not self.lo.is_finite())

    @property
    def valueless(self) -> bool:
        """True if it certainly is no real number."""
        return self is EMPTY or (self.decoration == NOTHING and self.infinite)

    def has(self, x: Any) -> bool:
        return bool(self.lo <= x <= self.hi)

    def ball(self) -> Any:
        return self.lo if self.lo is self.hi else self.lo.union(self.hi)


UNDEFINED, EITHER = Interval(-INF, INF, NOTHING), Interval(-INF, INF, NOTHING)
EMPTY = Interval(INF, -INF, NOTHING)


def infinity(end: End) -> Interval:
    """The value at a pole."""
    return Interval(end, end, NOTHING)


def point(x: float) -> Interval:
    """One double, not NaN; an infinite one is that infinity."""
    end = arb(x)
    return Interval(end, end) if end.is_finite() else infinity(end)


def enclosed(ball: Any) -> Interval:
    """The interval of a ball; UNDEFINED where it is not finite."""
    if ball.is_exact() and ball.is_finite():
        return Interval(ball, ball)
    return Interval(ball.lower(), ball.upper()) if ball.is_finite() else UNDEFINED


def marked(x: Interval, decoration: int) -> Interval:
    """Bounds with a decoration that is no better than this."""
    return x if x.decoration <= decoration else Interval(x.lo, x.hi, decoration)


def hull(x: Interval, y: Interval) -> Interval:
    """Hull of two intervals, decorated like the worse."""
    if x is EMPTY or y is EMPTY:
        other = y if x is EMPTY else x
        return UNDEFINED if other.infinite else marked(other, NOTHING)
    worse = x.decoration if x.decoration <= y.decoration else y.decoration
    return Interval(x.lo if x.lo <= y.lo else y.lo, x.hi if x.hi >= y.hi else y.hi, worse)


def meet(x: Interval, y: Interval) -> Interval:
    """Intersection of two enclosures of one value."""
    if x.valueless or y.valueless:
        return x if x.valueless else y
    found = x if x.decoration >= y.decoration else y
    lo, hi = x.lo if x.lo >= y.lo else y.lo, x.hi if x.hi <= y.hi else y.hi
    return found if lo > hi else Interval(lo, hi, found.decoration)


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
    return point_of(ZERO) if x is y else add(x, neg(y))


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
    if x.lo is x.hi and y.lo is y.hi and x.bounded and y.bounded and y.lo != 0:
        return enclosed(x.lo / y.lo)
    if y.thin and y.lo == 0:
        return EMPTY if x.thin and x.lo == 0 else UNDEFINED if x.has(ZERO) else EITHER
    if x is y:
        return Interval(ONE, ONE, NOTHING if y.has(ZERO) else COMMON)
    inverse = reciprocal(y)
    return UNDEFINED if inverse is UNDEFINED else marked(mul(x, inverse), inverse.decoration)


def reciprocal(y: Interval) -> Interval:
    """1/y; one-sided beside 0, unknown across it."""
    if y.lo < 0 < y.hi:
        return UNDEFINED
    if y.thin and y.lo == 0:
        return EITHER
    low = -INF if y.hi == 0 else ZERO if not y.hi.is_finite() else (1 / y.hi).lower()
    high = INF if y.lo == 0 else ZERO if not y.lo.is_finite() else (1 / y.lo).upper()
    return Interval(low, high, NOTHING if y.lo == 0 or y.hi == 0 else COMMON)


def fma(a: Interval, b: Interval, c: Interval) -> Interval:
    return add(mul(a, b), c)


def absolute(x: Interval) -> Interval:
    if x.lo >= 0:
        return x
    return neg(x) if x.hi <= 0 else Interval(ZERO, _most([-x.lo, x.hi]))


def even_power(x: Interval, n: int) -> Interval:
    a = absolute(x)
    return enclosed(a.lo ** n) if a.thin and a.bounded else Interval((a.lo ** n).lower(), _upper(a.hi ** n))


def _upper(ball: Any) -> End:
    """The upper end of a ball; infinity where Arb gave up."""
    return ball.upper() if ball.is_finite() else INF


def pown(x: Interval, exponent: Interval) -> Interval:
    """x**n, n an integer constant."""
    n = int(float(exponent.lo))
    if n == 0:
        return point_of(ONE)
    if n < 0:
        base = pown(x, point(float(-n)))
        return infinity(INF) if n % 2 == 0 and base.thin and base.lo == 0 else reciprocal(base)
    return even_power(x, n) if n % 2 == 0 else rising(lambda t: t ** n)(x)


def power(x: Interval, y: Interval) -> Interval:
    """x**y: for x > 0 monotone in x and in y, so the extremes are at corners."""
    if (y.thin and y.lo == 0) or (x.thin and x.lo == 1):
        return point_of(ONE)
    if y.thin and y.lo.is_integer() and abs(y.lo) <= 2 ** 53:
        return pown(x, y)
    if x.lo < 0:
        return negative_power(x, y)
    if not x.bounded or not y.bounded:
        return Interval(ZERO, INF, CONTINUOUS if x.lo > 0 or y.lo > 0 else NOTHING)
    if x.lo == 0:
        if y.lo <= 0:
            return infinity(INF) if x.thin and y.hi < 0 else UNDEFINED if x.thin else Interval(ZERO, INF, NOTHING)
        return Interval(ZERO, _most([ZERO] if x.thin else [_upper(x.hi ** b) for b in (y.lo, y.hi)]))
    corners = [a ** b for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    if not all(c.is_finite() for c in corners):
        return Interval(ZERO, INF, CONTINUOUS)
    if x.thin and y.thin:
        return enclosed(corners[0])
    return Interval(_most([ZERO, _least([c.lower() for c in corners])]), _most([c.upper() for c in corners]))


def negative_power(x: Interval, y: Interval) -> Interval:
    """Of a base that may be negative: it has a power where the exponent is whole."""
    if y.has(y.lo.ceil()):
        return UNDEFINED
    return EMPTY if x.hi < 0 else marked(power(Interval(ZERO, x.hi), y), NOTHING)


# ---------------------------------------------------------------- monotone functions

IntervalFunction = Callable[[Interval], Interval]


def rising(f: Callable[[End], Any], low: End = -INF, high: End = INF, least: End = -INF, most: End = INF,
           poles: bool = False) -> IntervalFunction:
    """A function that rises from `least` to `most` over its domain low…high, from `f`, which gives a ball for a number.

    With `poles` the finite ends of the domain are poles.
    """
    def bounds(x: Interval) -> Interval:
        if x.lo < low or x.hi > high:
            inside = Interval(low if x.lo < low else x.lo, high if x.hi > high else x.hi)
            if inside.lo > inside.hi:
                return EMPTY
            return UNDEFINED if poles and inside.thin else marked(bounds(inside), NOTHING)
        if poles and (x.lo == low or x.hi == high):
            if x.thin:
                return infinity(least if x.lo == low else most)
            decoration = NOTHING
        elif x.lo is x.hi:
            return clipped(enclosed(f(x.lo)), least, most)
        else:
            decoration = COMMON
        below, above = _at_end(f, x.lo), _at_end(f, x.hi)
        ends = Interval(least if below is None else below.lower(), most if above is None else above.upper(), decoration)
        return clipped(ends, least, most)
    return bounds


def _at_end(f: Callable[[End], Any], end: End) -> Any | None:
    """The ball of a function at the end of a wide interval; None where there is none."""
    ball = f(end) if end.is_finite() else None
    return ball if ball is not None and ball.is_finite() else None


def exponential(f: Callable[[End], Any], least: End, reach: End) -> IntervalFunction:
    """A rising function that grows without end, from `least`: all that is known of it beyond ±`reach` is that it is a number
    beyond the value there."""
    plain = rising(f, least=least)

    def bounds(x: Interval) -> Interval:
        if x.lo >= -reach and x.hi <= reach:
            return plain(x)
        near = plain(Interval(_most([-reach, _least([x.lo, reach])]), _most([-reach, _least([x.hi, reach])])))
        return Interval(least if x.lo < -reach else near.lo, INF if x.hi > reach else near.hi)
    return bounds


REACH = arb(2) ** 600
"""Beyond it the exponents of exponentials have more bits than are worth their time."""


def falling(f: Callable[[End], Any], low: End = -INF, high: End = INF, least: End = -INF, most: End = INF,
            poles: bool = False) -> IntervalFunction:
    mirrored = rising(lambda t: f(-t), -high, -low, least, most, poles)
    return lambda x: mirrored(neg(x))


def clipped(x: Interval, least: End, most: End) -> Interval:
    """The part of bounds that a function can reach."""
    if x.lo >= least and x.hi <= most:
        return x
    return Interval(x.lo if x.lo >= least else least, x.hi if x.hi <= most else most, x.decoration)
