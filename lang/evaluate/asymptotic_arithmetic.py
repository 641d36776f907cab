"""What each primitive does to an expansion: the arithmetic with which `evaluate` carries a program out on series.

A value is an `AsymptoticSeries`, is `Between` two of them, or a `Beyond`; a truth value is a bool, or a `Beyond` where it
cannot be told. Nothing is raised to the outside, since a `select` may drop what went wrong in the arm that is not taken.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from adcli.lang.evaluate import COMPARISONS, Arithmetic
from adcli.lang.evaluate.asymptotic import (
    AsymptoticSeries,
    Between,
    Beyond,
    Calculus,
    Expansion,
    Lost,
    Stop,
    infinite,
    nan,
)
from adcli.lang.evaluate.asymptotic_special import SpecialExpansions
from adcli.lang.evaluate.beyond import beyond, conjunction, disjunction, rank
from adcli.lang.evaluate.exact_reals import ONE, PI, ExactReal, Undecided, constant, logarithm, number
from adcli.lang.evaluate.growth import exponential_of
from adcli.lang.evaluate.squeeze import Squeeze, ends
from adcli.lang.ir.rounded import meant

SeriesFunction = Callable[..., Any]
HALF = Fraction(1, 2)
CONSTANT_NAN = "outside a domain"
UNKNOWN = "a leading term that is not known"
UNDECIDED_CONDITION = "a condition that is true and false by turns, or may be"

LOG2, LOG10 = (logarithm(number(n)) for n in (2, 10))
MULTIPLES_OF_PI = {m: Fraction(k) / Fraction(2) ** e for k in (1, 3, 5, 7) for m, e in [math.frexp(k * math.pi)]}
"""The doubles from ½ to 1 that one gets for simple multiples of π, and for these times any power of 2, which rounds nothing."""


def literal(x: float) -> AsymptoticSeries | Beyond:
    """A constant of the formula as it is meant: π, or the decimal that one writes for it, which is exact."""
    if not math.isfinite(x):
        return Beyond("an infinite constant" if x == x else CONSTANT_NAN, x)
    m, e = math.frexp(abs(x))
    if m in MULTIPLES_OF_PI:
        return Calculus(1).constant(PI * number(MULTIPLES_OF_PI[m] * Fraction(2) ** e * (1 if x > 0 else -1)))
    return Calculus(1).constant(number(Fraction(repr(x))))


class Expansions:
    """The primitives on series of `keep` terms; `arithmetic` is for `evaluate`."""

    def __init__(self, keep: int) -> None:
        self.keep, self.c = keep, Calculus(keep)
        c, special_functions = self.c, SpecialExpansions(self.c)
        plain: dict[str, SeriesFunction] = {
            "add": c.add, "sub": c.sub, "neg": c.neg, "mul": c.mul, "div": c.div,
            "fma": lambda x, y, z: c.add(c.mul(x, y), z),
            "pown": self.pow, "pow": self.pow, "sqrt": lambda f: c.power(f, HALF), "cbrt": self.cbrt,
            "hypot": lambda *xs: c.power(reduce(c.add, [c.mul(x, x) for x in xs]), HALF),
            "exp": self.exp, "expm1": lambda f: c.sub(c.exp(f), self.one), "exp2": lambda f: self.exp(c.scale(f, LOG2)),
            "log": c.log, "log1p": lambda f: c.log(c.add(self.one, f)),
            "log2": lambda f: c.scale(c.log(f), LOG2.inverse()), "log10": lambda f: c.scale(c.log(f), LOG10.inverse()),
            "sin": lambda f: self.wave(f) or self.circular(f)[0], "cos": lambda f: self.wave(f) or self.circular(f)[1],
            "tan": lambda f: c.div(*self.circular(f)), "asin": self.asin, "acos": self.acos, "atan": self.atan,
            "atan2": self.atan2,
            "sinh": lambda f: self.halved("sub", f), "cosh": lambda f: self.halved("add", f), "tanh": self.tanh,
            "asinh": self.asinh, "acosh": self.acosh, "atanh": self.atanh,
            **dict.fromkeys(("max", "fmax"), lambda *xs: reduce(lambda x, y: c.extreme(x, y, 1), xs)),
            **dict.fromkeys(("min", "fmin"), lambda *xs: reduce(lambda x, y: c.extreme(x, y, -1), xs)),
            "abs": lambda f: c.neg(f) if f.sign < 0 else f, "copysign": self.copysign,
            "floor": lambda f: self.steps(f, -1, 0) or self.floor(f), "ceil": lambda f: self.steps(f, 0, 1) or self.ceil(f),
            "round": lambda f: self.steps(f, -HALF, HALF) or self.round(f), "trunc": self.trunc, "fmod": self.fmod,
            "erf": special_functions.erf, "erfc": special_functions.erfc, "gamma": special_functions.gamma,
            "lgamma": special_functions.lgamma, "digamma": lambda f: special_functions.polygamma(0, f),
            "polygamma": lambda n, f: special_functions.polygamma(int(self.rational(n)), f)}
        lifted = {name: self.lifted(name, f) for name, f in plain.items()}
        self.bounds = Squeeze(lifted, c)
        functions: dict[str, Callable[..., Any]] = {
            **lifted, **{name: self.comparison(name) for name in COMPARISONS}, "select": self.select, "and": conjunction,
            "or": disjunction, "not": lambda x: x if isinstance(x, Beyond) else not x}
        self.arithmetic = Arithmetic(functions, lambda x: meant(x, functions, literal))

    @property
    def one(self) -> AsymptoticSeries:
        return self.c.constant(ONE)

    # -- what has no expansion

    def lifted(self, name: str, function: SeriesFunction) -> Callable[..., Expansion]:
        def applied(*args: Expansion) -> Expansion:
            bounded = any(isinstance(a, Between) for a in args)
            try:
                if any(isinstance(a, Beyond) for a in args):
                    return beyond(name, args)
                found: Expansion = self.bounds.apply(name, args) if bounded else function(*args)
                return found
            except Stop as stop:   # what an end is outside a domain is nothing certain of what is between
                return Beyond(stop.beyond.reason) if bounded else stop.beyond
            except Lost:
                return Beyond(UNKNOWN)
            except Undecided as reason:
                return Beyond(str(reason))
        return applied

    def comparison(self, name: str) -> Callable[..., bool | Beyond]:
        def applied(x: Expansion, y: Expansion) -> bool | Beyond:
            try:
                return self.compare(name, x, y)
            except Stop as stop:
                return stop.beyond
            except Lost:
                return Beyond(UNKNOWN)
            except Undecided as reason:
                return Beyond(str(reason))
        return applied

    def compare(self, name: str, x: Expansion, y: Expansion) -> bool:
        """A comparison for small s, by the sign of the difference; infinite constants by their rank."""
        if isinstance(x, Beyond) or isinstance(y, Beyond):
            return bool(COMPARISONS[name](rank(x), rank(y)))
        if isinstance(x, AsymptoticSeries) and isinstance(y, AsymptoticSeries):
            return bool(COMPARISONS[name](self.c.sub(x, y).sign, 0))
        gap = ends(self.bounds.sub(x, y))
        outcomes = {bool(COMPARISONS[name](sign, 0)) for sign in range(gap.lower.sign, gap.upper.sign + 1)}
        if len(outcomes) > 1:
            raise Stop(Beyond(UNDECIDED_CONDITION))
        return outcomes.pop()

    def select(self, condition: bool | Beyond, x: Expansion, y: Expansion) -> Expansion:
        """One of two; where the condition is not known, something between them."""
        if not isinstance(condition, Beyond):
            return x if condition else y
        try:
            return self.bounds.either(x, y)
        except (Stop, Lost, Undecided):
            return condition

    def wave(self, f: AsymptoticSeries) -> Between | None:
        """Sine or cosine of an argument that grows without end: it takes all values from -1 to 1 again and again."""
        if not infinite(f):
            return None
        down, up = self.c.neg(self.one), self.one
        return Between(down, up, down, up, continuous=True)

    def steps(self, f: AsymptoticSeries, first: Fraction | int, last: Fraction | int) -> Between | None:
        """The whole number that belongs to a growing argument: from `first` to `last` beyond it, all of them by turns."""
        if not infinite(f):
            return None
        offsets = [first + Fraction(k, 4) * (last - first) for k in (0, 1, 3, 4)]
        lower, low, high, upper = (self.c.add(f, self.c.constant(number(x))) for x in offsets)
        return Between(lower, upper, low, high)

    # -- powers, exponentials, logarithms

    def rational(self, f: AsymptoticSeries) -> Fraction:
        """A constant order."""
        q = f.constant.rational if f.constant is not None else None
        if q is None:
            raise Stop(Beyond("an order that is no rational constant"))
        return q

    def pow(self, f: AsymptoticSeries, g: AsymptoticSeries) -> Expansion:
        if g.constant is not None and (q := g.constant.rational) is not None:
            return self.c.power(f, q)
        if f.zero:
            if g.sign > 0:
                return f
            raise Stop(Beyond("a power of zero along the whole line", math.inf))
        return self.exp(self.c.mul(g, self.c.log(f)))

    def exp(self, f: AsymptoticSeries) -> Expansion:
        """The exponential function. Where the terms that are known are too few for its first one, it lies between the
        exponentials of half of f and of twice f."""
        if f.settled or not infinite(f):
            return self.c.exp(f)
        m, c = f.lead
        far, near = (AsymptoticSeries(((exponential_of([(m, c * number(k))]), ONE),)) for k in (Fraction(2), HALF))
        return Between(near, far) if c.sign > 0 else Between(far, near)

    def cbrt(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero or f.sign > 0:
            return self.c.power(f, Fraction(1, 3))
        return self.c.neg(self.c.power(self.c.neg(f), Fraction(1, 3)))

    # -- circular and hyperbolic functions

    def circular(self, f: AsymptoticSeries) -> tuple[AsymptoticSeries, AsymptoticSeries]:
        """Sine and cosine."""
        if infinite(f):
            raise Stop(Beyond("poles without end"))
        limit, d = self.c.split(f)
        terms = [number(Fraction((-1) ** (k // 2), math.factorial(k))) for k in range(self.keep + 1)]
        sines, cosines = ([x if k % 2 == odd else ExactReal({}) for k, x in enumerate(terms)] for odd in (1, 0))
        s, c = self.c.compose(sines, d), self.c.compose(cosines, d)
        if not limit.terms:
            return s, c
        sine, cosine = turned(limit)
        return (self.c.add(self.c.scale(c, sine), self.c.scale(s, cosine)),
                self.c.sub(self.c.scale(c, cosine), self.c.scale(s, sine)))

    def halved(self, join: str, f: AsymptoticSeries) -> Expansion:
        """(exp(f) ± exp(−f))/2."""
        functions = self.arithmetic.functions
        joined = functions[join](functions["exp"](f), functions["exp"](self.c.neg(f)))
        found: Expansion = functions["mul"](joined, self.c.constant(number(HALF)))
        return found

    def tanh(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if infinite(f) < 0:
            return self.c.neg(self.tanh(self.c.neg(f)))
        tail = self.c.exp(self.c.scale(f, number(-2)))
        return self.c.div(self.c.sub(self.one, tail), self.c.add(self.one, tail))

    def asinh(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if infinite(f) < 0:
            return self.c.neg(self.asinh(self.c.neg(f)))
        return self.c.log(self.c.add(f, self.c.power(self.c.add(self.c.mul(f, f), self.one), HALF)))

    def acosh(self, f: AsymptoticSeries) -> AsymptoticSeries:
        c = self.c
        return c.log(c.add(f, c.mul(c.power(c.sub(f, self.one), HALF), c.power(c.add(f, self.one), HALF))))

    def atanh(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.scale(self.c.sub(self.c.log(self.c.add(self.one, f)), self.c.log(self.c.sub(self.one, f))), number(HALF))

    def asin(self, f: AsymptoticSeries) -> AsymptoticSeries:
        limit, d = self.c.split(f)
        size = (limit * limit - ONE).sign
        if size > 0:
            raise nan("an inverse sine or cosine beyond 1")
        if size == 0:
            if limit.sign < 0:
                return self.c.neg(self.asin(self.c.neg(f)))
            half = self.c.scale(self.c.sub(self.one, f), number(HALF))
            return self.c.sub(self.c.constant(PI * number(HALF)), self.c.scale(self.asin(self.c.power(half, HALF)), number(2)))
        slope = lambda t: self.c.power(self.c.sub(self.one, self.c.mul(t, t)), -HALF)   # noqa: E731  # named for what it is
        return self.c.compose(self.c.integrated("asin", limit, math.asin, slope), d)

    def acos(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.sub(self.c.constant(PI * number(HALF)), self.asin(f))

    def atan(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = infinite(f)
        if side:
            right = self.c.constant(PI * number(Fraction(side, 2)))
            return self.c.sub(right, self.atan(self.c.div(self.one, f)))
        limit, d = self.c.split(f)
        slope = lambda t: self.c.div(self.one, self.c.add(self.one, self.c.mul(t, t)))   # noqa: E731  # named for what it is
        return self.c.compose(self.c.integrated("atan", limit, math.atan, slope), d)

    def atan2(self, y: AsymptoticSeries, x: AsymptoticSeries) -> AsymptoticSeries:
        if x.zero and y.zero:
            raise nan("atan2 at the origin")
        if x.zero:
            return self.c.constant(PI * number(Fraction(y.sign, 2)))
        angle = self.atan(self.c.div(y, x))
        if x.sign > 0:
            return angle
        return self.c.add(angle, self.c.constant(PI if y.sign >= 0 else -PI))

    # -- pieces

    def whole(self, f: AsymptoticSeries) -> tuple[int, int]:
        """The largest integer below the limit of f or at it, and the sign of what f has beyond that integer."""
        limit, d = self.c.split(f)
        q = limit.rational
        if q is None:
            low = math.floor(float(limit))
            if (limit - number(low)).sign <= 0 or (limit - number(low + 1)).sign >= 0:
                raise Undecided("an integer part that cannot be told")
            return low, 1
        low = math.floor(q)
        return (low, 1) if q != low else (low, d.sign)

    def floor(self, f: AsymptoticSeries) -> AsymptoticSeries:
        low, beyond_it = self.whole(f)
        return self.c.constant(number(low if beyond_it >= 0 else low - 1))

    def ceil(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.neg(self.floor(self.c.neg(f)))

    def trunc(self, f: AsymptoticSeries) -> Expansion:
        side = f.sign
        return self.steps(f, min(0, -side), max(0, -side)) or (self.floor(f) if side >= 0 else self.ceil(f))

    def fmod(self, x: AsymptoticSeries, y: AsymptoticSeries) -> Expansion:
        """x − y·trunc(x/y); where the quotient grows, between 0 and y, with the sign of x."""
        quotient = self.c.div(x, y)
        if not infinite(quotient):
            return self.c.sub(x, self.c.mul(y, self.floor(quotient) if quotient.sign >= 0 else self.ceil(quotient)))
        reach = self.c.neg(y) if y.sign < 0 else y
        low, high = (self.c.scale(reach, number(Fraction(k, 4))) for k in (1, 3))
        rest = Between(self.c.constant(ExactReal({})), reach, low, high)
        return rest if x.sign > 0 else self.bounds.neg(rest)

    def round(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = f.sign
        near = self.floor(self.c.add(self.c.neg(f) if side < 0 else f, self.c.constant(number(HALF))))
        return self.c.neg(near) if side < 0 else near

    def copysign(self, x: AsymptoticSeries, y: AsymptoticSeries) -> AsymptoticSeries:
        flip = (x.sign < 0) != (y.sign < 0)
        return self.c.neg(x) if flip else x


def turned(x: ExactReal) -> tuple[ExactReal, ExactReal]:
    """Sine and cosine of a number, exactly at multiples of π/2."""
    quarters = (x * PI.inverse()).rational
    if quarters is not None and (2 * quarters).denominator == 1:
        sine = (0, 1, 0, -1)
        n = int(2 * quarters)
        return number(sine[n % 4]), number(sine[(n + 1) % 4])
    return constant("sin", x, math.sin), constant("cos", x, math.cos)
