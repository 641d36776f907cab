"""Values that have no expansion but lie between two that have: what each operation does to the bounds.

A sine whose argument grows without end has no expansion, and neither has an integer part. Both are kept between bounds, and where
the bounds of a result have one limit, so has the result. Operands are taken as if they had nothing to do with each other, so
bounds are wider than need be, but they always hold.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from adcli.lang.evaluate.asymptotic import AsymptoticSeries, Between, Beyond, Calculus, Expansion, Lost, Stop
from adcli.lang.evaluate.exact_reals import PI, Undecided, number
from adcli.lang.ir.primitives import TABLE

Bound = AsymptoticSeries
QUARTER_TURN = Fraction(3, 2)
"""A little less than π/2."""
RISING: Mapping[str, tuple[Fraction | None, Fraction | None]] = {
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "asin", "atan", "sinh", "tanh",
                     "asinh", "acosh", "atanh", "erf", "floor", "ceil", "trunc", "round"), (None, None)),
    **dict.fromkeys(("sin", "tan"), (-QUARTER_TURN, QUARTER_TURN)),
    **dict.fromkeys(("gamma", "lgamma"), (Fraction(2), None)), "digamma": (Fraction(0), None)}
"""Functions that never fall between these numbers, or wherever they are defined."""
FALLING = ("acos", "erfc")
UNKNOWN_BETWEEN = "an operand of which too little is known but its bounds"


class Squeeze:
    """The operations on values between bounds; `functions` are those on all kinds of values."""

    def __init__(self, functions: Mapping[str, Callable[..., Expansion]], calculus: Calculus) -> None:
        self.functions, self.c = functions, calculus
        self.named: dict[str, Callable[..., Expansion]] = {
            "add": self.add, "sub": self.sub, "neg": self.neg, "mul": self.mul, "div": self.div,
            "fma": lambda x, y, z: self.add(self.mul(x, y), z), "pown": self.pow, "pow": self.pow, "hypot": self.hypot,
            "max": lambda *xs: reduce(self.greater, xs), "fmax": self.greater, "min": self.smaller, "fmin": self.smaller,
            "abs": lambda x: self.even("abs", x), "cosh": lambda x: self.even("cosh", x), "sin": self.sin, "cos": self.cos,
            "copysign": self.copysign, "atan2": self.atan2}

    def apply(self, name: str, args: Sequence[Expansion]) -> Expansion:
        """An operation some of whose operands are between bounds."""
        if name in self.named:
            return self.named[name](*args)
        if name in RISING:
            return self.rising(name, args[0])
        if name in FALLING:
            return self.image(self.neg(args[0]), lambda end: self.functions[name](self.c.neg(end)))
        raise Stop(Beyond(UNKNOWN_BETWEEN))

    # -- images

    def image(self, x: Expansion, function: Callable[[Bound], Expansion], continuous: bool = True) -> Between:
        """A rising function of a value: of its bounds."""
        f = ends(x)
        return Between(ends(function(f.lower)).lower, ends(function(f.upper)).upper, f.low and ends(function(f.low)).upper,
                       f.high and ends(function(f.high)).lower, f.continuous and continuous)

    def rising(self, name: str, x: Expansion) -> Between:
        first, last = RISING[name]
        f = ends(x)
        if (first is None or self.less(self.whole(first), f.lower)) and (last is None or self.less(f.upper, self.whole(last))):
            return self.image(f, self.functions[name], TABLE[name].pieces != "step")
        raise Stop(Beyond(UNKNOWN_BETWEEN))

    def even(self, name: str, x: Expansion, *more: Expansion) -> Between:
        """A function that falls on the left of 0 and rises on the right."""
        return self.image(self.distance(x), lambda end: self.functions[name](end, *more))

    def distance(self, x: Expansion) -> Between:
        """The absolute value."""
        f = ends(x)
        if f.lower.sign >= 0:
            return f
        if f.upper.sign <= 0:
            return self.neg(f)
        peaks = [p for p in (f.low and self.c.neg(f.low), f.high) if p and p.sign > 0]
        return Between(self.whole(0), self.extreme([self.c.neg(f.lower), f.upper], 1),
                       self.whole(0) if f.continuous and len(peaks) == 2 else None, self.best(peaks, 1), f.continuous)

    def inverse(self, x: Expansion) -> Expansion:
        """1/x: on either side of 0, −1/x rises."""
        one = self.whole(1)
        if isinstance(x, AsymptoticSeries):
            return self.c.div(one, x)
        if not self.side(ends(x)):
            raise Stop(Beyond("a division by what may be 0 again and again"))
        return self.neg(self.image(x, lambda end: self.c.neg(self.c.div(one, end))))

    # -- bounds

    def whole(self, q: Fraction | int) -> Bound:
        return self.c.constant(number(q))

    def less(self, x: Bound, y: Bound) -> bool:
        return self.c.sub(x, y).sign < 0

    def side(self, f: Between) -> int:
        """The sign of all between the bounds; 0 where they have not one."""
        return 1 if f.lower.sign > 0 else -1 if f.upper.sign < 0 else 0

    def extreme(self, found: Sequence[Bound], want: int) -> Bound:
        """The largest (want = 1) or smallest of some bounds."""
        return reduce(lambda x, y: self.c.extreme(x, y, want), found)

    def best(self, found: Sequence[Bound | None], want: int) -> Bound | None:
        """One of some bounds any of which holds: the best, as far as that can be told."""
        known = [x for x in found if x]
        try:
            return self.extreme(known, want) if known else None
        except (Lost, Undecided):
            return known[0]

    # -- arithmetic

    def neg(self, x: Expansion) -> Between:
        f, turn = ends(x), self.c.neg
        return Between(turn(f.upper), turn(f.lower), f.high and turn(f.high), f.low and turn(f.low), f.continuous)

    def add(self, x: Expansion, y: Expansion) -> Between:
        f, g, plus = ends(x), ends(y), self.c.add
        return Between(plus(f.lower, g.lower), plus(f.upper, g.upper),
                       self.best([f.low and plus(f.low, g.upper), g.low and plus(g.low, f.upper)], -1),
                       self.best([f.high and plus(f.high, g.lower), g.high and plus(g.high, f.lower)], 1),
                       f.continuous and g.continuous)

    def sub(self, x: Expansion, y: Expansion) -> Expansion:
        return self.whole(0) if x is y else self.add(x, self.neg(y))

    def mul(self, x: Expansion, y: Expansion) -> Expansion:
        if x is y:
            return self.even("pown", x, self.whole(2))
        if any(isinstance(z, AsymptoticSeries) and z.zero for z in (x, y)):
            return self.whole(0)
        f, g = ends(x), ends(y)
        if self.side(f) < 0:
            return self.neg(self.mul(self.neg(f), g))
        if self.side(g) < 0:
            return self.neg(self.mul(f, self.neg(g)))
        products = [self.c.mul(a, b) for a in (f.lower, f.upper) for b in (g.lower, g.upper)]
        low, high = [], []
        for wave, factor in ((f, g), (g, f)):
            if self.side(factor) > 0:
                low += [self.extreme([self.c.mul(wave.low, b) for b in (factor.lower, factor.upper)], 1)] if wave.low else []
                high += [self.extreme([self.c.mul(wave.high, b) for b in (factor.lower, factor.upper)], -1)] if wave.high else []
        return Between(self.extreme(products, -1), self.extreme(products, 1), self.best(low, -1), self.best(high, 1),
                       f.continuous and g.continuous)

    def div(self, x: Expansion, y: Expansion) -> Expansion:
        return self.whole(1) if x is y else self.mul(x, self.inverse(y))

    def pow(self, x: Expansion, y: Expansion) -> Expansion:
        """A power; exp(y log x) where the exponent is no rational constant."""
        q = y.constant.rational if isinstance(y, AsymptoticSeries) and y.constant is not None else None
        if q is None:
            return self.apply("exp", [self.mul(y, self.image(x, self.functions["log"]))])
        if q == 0:
            return self.whole(1)
        if q < 0:
            return self.inverse(self.pow(x, self.whole(-q)))
        if q.denominator == 1 and q % 2 == 0:
            return self.even("pown", x, y)
        return self.image(x, lambda end: self.functions["pow"](end, y))

    def hypot(self, *xs: Expansion) -> Expansion:
        return self.rising("sqrt", reduce(self.add, [self.mul(x, x) for x in xs]))

    def greater(self, x: Expansion, y: Expansion) -> Between:
        f, g = ends(x), ends(y)
        low = [self.extreme([a, b], 1) for a, b in ((f.low, g.upper), (g.low, f.upper)) if a]
        return Between(self.extreme([f.lower, g.lower], 1), self.extreme([f.upper, g.upper], 1),
                       self.best(low, -1), self.best([f.high, g.high], 1), f.continuous and g.continuous)

    def smaller(self, x: Expansion, y: Expansion) -> Between:
        return self.neg(self.greater(self.neg(x), self.neg(y)))

    def either(self, x: Expansion, y: Expansion) -> Between:
        """One of two, now this, now that."""
        f, g = ends(x), ends(y)
        return Between(self.extreme([f.lower, g.lower], -1), self.extreme([f.upper, g.upper], 1))

    # -- angles and signs

    def sin(self, x: Expansion) -> Between:
        try:
            return self.rising("sin", x)
        except Stop:
            return Between(self.whole(-1), self.whole(1), None, None, ends(x).continuous)

    def cos(self, x: Expansion) -> Between:
        """1 − 2 sin²(x/2)."""
        half = self.sin(self.mul(x, self.whole(Fraction(1, 2))))
        return self.add(self.whole(1), self.mul(self.whole(-2), self.even("pown", half, self.whole(2))))

    def copysign(self, x: Expansion, y: Expansion) -> Between:
        side, size = self.side(ends(y)), self.distance(x)
        return size if side > 0 else self.neg(size) if side < 0 else self.either(size, self.neg(size))

    def atan2(self, y: Expansion, x: Expansion) -> Expansion:
        if self.side(ends(x)) > 0:
            return self.rising("atan", self.div(y, x))
        return Between(self.c.constant(-PI), self.c.constant(PI))


def ends(x: Expansion) -> Between:
    """The bounds of a value; an expansion is its own."""
    if isinstance(x, Beyond):
        raise Stop(Beyond(UNKNOWN_BETWEEN))
    return Between(x, x, x, x, True) if isinstance(x, AsymptoticSeries) else x
