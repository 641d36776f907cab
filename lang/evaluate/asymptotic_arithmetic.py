"""What each primitive does to an expansion: the arithmetic with which `evaluate` carries a program out on series.

A value is an `AsymptoticSeries`, or a `Beyond` where there is none; a truth value is a bool, or a `Beyond` where it cannot be
told. Nothing is raised to the outside, since a `select` may drop what went wrong in the arm that is not taken.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from adcli.lang.evaluate import COMPARISONS, FLOAT, Arithmetic, evaluate
from adcli.lang.evaluate.asymptotic import (
    CONSTANT_ORDER,
    FLAT,
    AsymptoticSeries,
    Beyond,
    Calculus,
    Lost,
    SeriesOrBeyond,
    Stop,
    made,
    nan,
)
from adcli.lang.evaluate.beyond import beyond, conjunction, disjunction, rank, select
from adcli.lang.evaluate.exact_reals import ONE, PI, ExactReal, Undecided, constant, number
from adcli.lang.ir import Lit
from adcli.lang.ir.build import composed
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import meant

SeriesFunction = Callable[..., Any]
HALF = Fraction(1, 2)
OSCILLATES = "oscillates without end"
CONSTANT_NAN = "outside a domain"
UNKNOWN = "a leading term that is not known"
MOST_GAMMA_STEPS = 50
"""Steps by which the recurrence of the gamma function may lift its argument."""


def infinite(f: AsymptoticSeries) -> int:
    """The sign of the infinity that a series goes to, 0 where it stays bounded."""
    if f.terms and f.terms[0][0] < CONSTANT_ORDER:
        return f.lead[1].sign
    if not f.terms and f.error is not None and f.error <= CONSTANT_ORDER:
        raise Lost
    return 0


LOG2, LOG10 = (constant("log", number(n), math.log) for n in (2, 10))
MULTIPLES_OF_PI = {k * math.pi / d: Fraction(k, d) for d in (4, 2, 1) for k in range(-8, 9) if k}
"""The doubles that one gets for simple multiples of π."""
ERF_SLOPE = (PI * number(Fraction(1, 4))).power(HALF).inverse()


def literal(x: float) -> SeriesOrBeyond:
    """A constant of the formula as it is meant: π, or the decimal that one writes for it, which is exact."""
    if not math.isfinite(x):
        return Beyond("an infinite constant" if x == x else CONSTANT_NAN, x)
    exact = PI * number(MULTIPLES_OF_PI[x]) if x in MULTIPLES_OF_PI else number(Fraction(repr(x)))
    return AsymptoticSeries(((CONSTANT_ORDER, exact),) if x else ())


class Expansions:
    """The primitives on series of `keep` terms; `arithmetic` is for `evaluate`."""

    def __init__(self, keep: int) -> None:
        self.keep, self.c = keep, Calculus(keep)
        self.taylor: dict[tuple[str, object], list[ExactReal]] = {}
        c = self.c
        plain: dict[str, SeriesFunction] = {
            "add": c.add, "sub": c.sub, "neg": c.neg, "mul": c.mul, "div": c.div,
            "fma": lambda x, y, z: c.add(c.mul(x, y), z),
            "pown": self.pown, "pow": self.pow, "sqrt": lambda f: c.power(f, HALF), "cbrt": self.cbrt,
            "hypot": lambda *xs: c.power(reduce(c.add, [c.mul(x, x) for x in xs]), HALF),
            "exp": c.exp, "expm1": lambda f: c.sub(c.exp(f), self.one), "exp2": self.exp2,
            "log": c.log, "log1p": lambda f: c.log(c.add(self.one, f)),
            "log2": lambda f: c.scale(c.log(f), LOG2.inverse()), "log10": lambda f: c.scale(c.log(f), LOG10.inverse()),
            "sin": lambda f: self.circular(f)[0], "cos": lambda f: self.circular(f)[1],
            "tan": lambda f: c.div(*self.circular(f)), "asin": self.asin, "acos": self.acos, "atan": self.atan,
            "atan2": self.atan2,
            "sinh": lambda f: self.halved(c.sub, f), "cosh": lambda f: self.halved(c.add, f), "tanh": self.tanh,
            "asinh": self.asinh, "acosh": self.acosh, "atanh": self.atanh,
            "max": lambda *xs: reduce(lambda x, y: y if self.compare("lt", x, y) else x, xs),
            "min": lambda *xs: reduce(lambda x, y: y if self.compare("gt", x, y) else x, xs),
            "fmax": lambda x, y: y if self.compare("lt", x, y) else x, "fmin": lambda x, y: y if self.compare("gt", x, y) else x,
            "abs": lambda f: c.neg(f) if f.sign < 0 else f, "copysign": self.copysign,
            "floor": self.floor, "ceil": lambda f: c.neg(self.floor(c.neg(f))), "trunc": self.trunc, "round": self.round,
            "fmod": lambda x, y: c.sub(x, c.mul(y, self.trunc(c.div(x, y)))),
            "erf": self.erf, "erfc": self.erfc, "gamma": self.gamma, "lgamma": self.lgamma,
            "digamma": lambda f: self.polygamma_of(0, f), "polygamma": self.polygamma}
        functions = {name: self.lifted(name, f) for name, f in plain.items()}
        functions |= {name: self.comparison(name) for name in COMPARISONS}
        functions |= {"select": select, "and": conjunction, "or": disjunction,
                      "not": lambda x: x if isinstance(x, Beyond) else not x}
        self.arithmetic = Arithmetic(functions, lambda x: meant(x, functions, literal))

    @property
    def one(self) -> AsymptoticSeries:
        return self.c.constant(ONE)

    # -- what has no expansion

    def lifted(self, name: str, function: SeriesFunction) -> SeriesFunction:
        def applied(*args: SeriesOrBeyond) -> SeriesOrBeyond:
            try:
                if any(isinstance(a, Beyond) for a in args):
                    return beyond(name, args)
                found: SeriesOrBeyond = function(*args)
                return found
            except Stop as stop:
                return stop.beyond
            except Lost:
                return Beyond(UNKNOWN)
            except Undecided as reason:
                return Beyond(str(reason))
        return applied

    def comparison(self, name: str) -> SeriesFunction:
        def applied(x: SeriesOrBeyond, y: SeriesOrBeyond) -> Any:
            try:
                return self.compare(name, x, y)
            except Stop as stop:
                return stop.beyond
            except (Lost, Undecided):
                return Beyond(UNKNOWN)
        return applied

    def compare(self, name: str, x: SeriesOrBeyond, y: SeriesOrBeyond) -> bool:
        """A comparison for small s, by the sign of the difference; infinite constants and steep growth by their rank."""
        if isinstance(x, AsymptoticSeries) and isinstance(y, AsymptoticSeries):
            return bool(COMPARISONS[name](self.c.sub(x, y).sign, 0))
        left, right = rank(x), rank(y)
        return bool(COMPARISONS[name](left, right))

    # -- powers, exponentials, logarithms

    def pown(self, f: AsymptoticSeries, n: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.power(f, self.rational(n))

    def rational(self, f: AsymptoticSeries) -> Fraction:
        """A constant exponent."""
        q = f.terms[0][1].rational if len(f.terms) == 1 and f.error is None and f.terms[0][0] == CONSTANT_ORDER else None
        if f.zero:
            return Fraction(0)
        if q is None:
            raise Stop(Beyond("an exponent that is no rational constant"))
        return q

    def pow(self, f: AsymptoticSeries, g: AsymptoticSeries) -> AsymptoticSeries:
        constant_exponent = g.error is None and all(o == CONSTANT_ORDER for o, _ in g.terms)
        if constant_exponent:
            return self.c.power(f, self.rational(g))
        if f.zero:
            if g.sign > 0:
                return f
            raise Stop(Beyond("a power of zero along the whole line", math.inf))
        return self.c.exp(self.c.mul(g, self.c.log(f)))

    def cbrt(self, f: AsymptoticSeries) -> AsymptoticSeries:
        if f.zero or f.sign > 0:
            return self.c.power(f, Fraction(1, 3))
        return self.c.neg(self.c.power(self.c.neg(f), Fraction(1, 3)))

    def exp2(self, f: AsymptoticSeries) -> AsymptoticSeries:
        limit, d = self.c.split(f)
        q = limit.rational
        head = number(2).power(q) if q is not None else constant("exp2", limit, lambda x: 2.0 ** x)
        return self.c.scale(self.c.exp(self.c.scale(d, LOG2)), head)

    # -- circular and hyperbolic functions

    def circular(self, f: AsymptoticSeries) -> tuple[AsymptoticSeries, AsymptoticSeries]:
        """Sine and cosine; for a growing argument they are bounded, and no more is known."""
        if infinite(f):
            return AsymptoticSeries((), CONSTANT_ORDER), AsymptoticSeries((), CONSTANT_ORDER)
        limit, d = self.c.split(f)
        terms = [number(Fraction((-1) ** (k // 2), math.factorial(k))) for k in range(self.keep + 1)]
        sines, cosines = ([x if k % 2 == odd else ExactReal({}) for k, x in enumerate(terms)] for odd in (1, 0))
        s, c = self.c.compose(sines, d), self.c.compose(cosines, d)
        if not limit.terms:
            return s, c
        sine, cosine = turned(limit)
        return (self.c.add(self.c.scale(c, sine), self.c.scale(s, cosine)),
                self.c.sub(self.c.scale(c, cosine), self.c.scale(s, sine)))

    def halved(self, join: SeriesFunction, f: AsymptoticSeries) -> AsymptoticSeries:
        up, down = self.arithmetic.functions["exp"](f), self.arithmetic.functions["exp"](self.c.neg(f))
        joined = self.arithmetic.functions["add" if join == self.c.add else "sub"](up, down)
        return self.series(self.arithmetic.functions["mul"](joined, literal(0.5)))

    def series(self, x: SeriesOrBeyond) -> AsymptoticSeries:
        if isinstance(x, Beyond):
            raise Stop(x)
        return x

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
        return self.c.compose(self.integrated("asin", limit, math.asin, slope), d)

    def acos(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.sub(self.c.constant(PI * number(HALF)), self.asin(f))

    def atan(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = infinite(f)
        if side:
            right = self.c.constant(PI * number(Fraction(side, 2)))
            return self.c.sub(right, self.atan(self.c.div(self.one, f)))
        limit, d = self.c.split(f)
        slope = lambda t: self.c.div(self.one, self.c.add(self.one, self.c.mul(t, t)))   # noqa: E731  # named for what it is
        return self.c.compose(self.integrated("atan", limit, math.atan, slope), d)

    def atan2(self, y: AsymptoticSeries, x: AsymptoticSeries) -> AsymptoticSeries:
        if x.zero and y.zero:
            raise nan("atan2 at the origin")
        if x.zero:
            return self.c.constant(PI * number(Fraction(y.sign, 2)))
        angle = self.atan(self.c.div(y, x))
        if x.sign > 0:
            return angle
        return self.c.add(angle, self.c.constant(PI if y.sign >= 0 else -PI))

    def integrated(self, name: str, at: ExactReal, function: Callable[[float], float], slope: SeriesFunction) -> list[ExactReal]:
        """The Taylor coefficients at a number of a function whose derivative is `slope`."""
        key = (name, at.key)
        if key not in self.taylor:
            t = made([(CONSTANT_ORDER, at), ((Fraction(1), Fraction(0)), ONE)], None, self.keep)
            powers = {o[0]: c for o, c in slope(t).terms}
            self.taylor[key] = [special(name, at) or constant(name, at, function)]
            self.taylor[key] += [powers.get(Fraction(k), ExactReal({})) * number(Fraction(1, k + 1)) for k in range(self.keep)]
        return self.taylor[key]

    # -- pieces

    def whole(self, f: AsymptoticSeries) -> tuple[int, int]:
        """The largest integer below the limit of f or at it, and the sign of what f has beyond that integer."""
        if infinite(f):
            raise Stop(Beyond("steps without end"))
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

    def trunc(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.floor(f) if f.sign >= 0 else self.c.neg(self.floor(self.c.neg(f)))

    def round(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = f.sign
        near = self.floor(self.c.add(self.c.neg(f) if side < 0 else f, self.c.constant(number(HALF))))
        return self.c.neg(near) if side < 0 else near

    def copysign(self, x: AsymptoticSeries, y: AsymptoticSeries) -> AsymptoticSeries:
        flip = (x.sign < 0) != (y.sign < 0)
        return self.c.neg(x) if flip else x

    # -- special functions

    def erf(self, f: AsymptoticSeries) -> AsymptoticSeries:
        side = infinite(f)
        if side:
            if f.lead[0][0] == 0:
                raise Stop(Beyond("a tail of erf in a logarithm"))
            return self.c.add(self.c.constant(number(side)), AsymptoticSeries((), FLAT))
        limit, d = self.c.split(f)
        slope = lambda t: self.c.scale(self.c.exp(self.c.neg(self.c.mul(t, t))), ERF_SLOPE)   # noqa: E731  # named for what it is
        return self.c.compose(self.integrated("erf", limit, math.erf, slope), d)

    def erfc(self, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.c.sub(self.one, self.erf(f))

    def lifts(self, f: AsymptoticSeries) -> list[AsymptoticSeries]:
        """f, f + 1, … as long as the limit is not positive: the recurrence of the gamma function goes through them."""
        limit, _ = self.c.split(f)
        steps = 0 if limit.sign > 0 else 1 - math.floor(float(limit))
        if steps > MOST_GAMMA_STEPS:
            raise Stop(Beyond("a gamma function far on the left"))
        return [self.c.add(f, self.c.constant(number(k))) for k in range(steps + 1)]

    def regular(self, first: list[ExactReal], order: int, f: AsymptoticSeries) -> AsymptoticSeries:
        """The Taylor series at a positive limit of f, whose coefficients after `first` are those of polygamma from `order` on,
        divided by factorials: `first` is as long as the integrations that lead there."""
        limit, d = self.c.split(f)
        n = len(first)
        later = [psi(order + k, limit) * number(Fraction(1, math.factorial(k + n))) for k in range(self.keep)]
        return self.c.compose(first + later, d)

    def polygamma(self, n: AsymptoticSeries, f: AsymptoticSeries) -> AsymptoticSeries:
        return self.polygamma_of(int(self.rational(n)), f)

    def polygamma_of(self, n: int, f: AsymptoticSeries) -> AsymptoticSeries:
        *below, top = self.lifts(f)
        whole = self.regular([], n, top)
        factor = number((-1) ** (n + 1) * math.factorial(n))
        for g in below:
            whole = self.c.add(whole, self.c.scale(self.c.power(g, Fraction(-n - 1)), factor))
        return whole

    def lgamma(self, f: AsymptoticSeries) -> AsymptoticSeries:
        *below, top = self.lifts(f)
        limit, _ = self.c.split(top)
        whole = self.regular([special("lgamma", limit) or constant("lgamma", limit, math.lgamma)], 0, top)
        for g in below:
            whole = self.c.sub(whole, self.c.log(self.c.neg(g) if g.sign < 0 else g))
        return whole

    def gamma(self, f: AsymptoticSeries) -> AsymptoticSeries:
        *below, top = self.lifts(f)
        whole = self.c.exp(self.lgamma(top))
        for g in below:
            whole = self.c.div(whole, g)
        return whole


def turned(x: ExactReal) -> tuple[ExactReal, ExactReal]:
    """Sine and cosine of a number, exactly at multiples of π/2."""
    quarters = (x * PI.inverse()).rational
    if quarters is not None and (2 * quarters).denominator == 1:
        sine = (0, 1, 0, -1)
        n = int(2 * quarters)
        return number(sine[n % 4]), number(sine[(n + 1) % 4])
    return constant("sin", x, math.sin), constant("cos", x, math.cos)


def special(name: str, x: ExactReal) -> ExactReal | None:
    """The exact value of an odd function at 0, of lgamma at 1 and 2, and of atan at ±1."""
    q = x.rational
    if (q == 0 and name != "lgamma") or (name == "lgamma" and q in (1, 2)):
        return ExactReal({})
    return PI * number(q / 4) if name == "atan" and q in (1, -1) and q is not None else None


def psi(n: int, x: ExactReal) -> ExactReal:
    """polygamma(n, x) as a constant."""
    program = composed(TABLE["polygamma"], {0: Lit(float(n))})
    return constant(f"polygamma {n}", x, lambda y: float(evaluate(program, {"x1": y}, FLOAT)["z"]))
