"""The primitives on intervals: an `Arithmetic` that gives bounds of all values a Program can take (python-flint, an extra).

A truth value is True, False, or None where some numbers of the intervals say the one and some the other, or an operand may
have no value. A select on None gives the hull of both arms; one that is decided never looks at the other arm. An operation on one
and the same value is seen as such: x − x is 0, x·x has no negative part, x = x holds.

Functions that are not monotone are evaluated on a ball where that is narrow, and over wide intervals from their extremes. What
happens to decorations, to infinities and where there is no value, is said once for all of them (`decorated`). Zero has no sign.
Whoever imports this module must have python-flint.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce
from itertools import product
from typing import Any

from adcli.lang.enclosures.intervals import (
    COMMON,
    CONTINUOUS,
    DEFINED,
    EITHER,
    EMPTY,
    INF,
    NOTHING,
    ONE,
    REACH,
    UNDEFINED,
    ZERO,
    End,
    Interval,
    IntervalFunction,
    absolute,
    add,
    clipped,
    div,
    enclosed,
    even_power,
    exponential,
    falling,
    fma,
    hull,
    infinity,
    marked,
    mul,
    neg,
    point,
    point_of,
    power,
    pown,
    rising,
    sub,
)
from adcli.lang.enclosures.special_intervals import SPECIAL
from adcli.lang.evaluate import FLOAT, Arithmetic
from adcli.lang.ir import Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import meant
from adcli.lang.ir.special_functions import reflected
from flint import acb, arb

Truth = bool | None
BallFunction = Callable[[End], Any]
"""A function from an exact number, or a ball, to a ball."""
NARROW = arb(2) ** -16
"""Width below which a function is evaluated on the ball."""
ARB_HALF = arb(0.5)


# ---------------------------------------------------------------- truth

def comparison(same: bool, holds: Callable[[Interval, Interval], bool], fails: Callable[[Interval, Interval], bool],
               without: bool = False) -> Callable[[Interval, Interval], Truth]:
    """`same` is the answer for one value compared with itself, `without` where an operand has no value."""
    def compared(x: Interval, y: Interval) -> Truth:
        for a in (x, y):
            if a.decoration == NOTHING and (a is EITHER or not a.infinite):
                return without if x is EMPTY or y is EMPTY else None
        if x is y:
            return same
        return True if holds(x, y) else False if fails(x, y) else None
    return compared


def _below(x: Interval, y: Interval) -> bool:
    return bool(x.hi < y.lo)


def _at_most(x: Interval, y: Interval) -> bool:
    return bool(x.hi <= y.lo)


def _equal(x: Interval, y: Interval) -> bool:
    return x.thin and y.thin and bool(x.lo == y.lo)


def _apart(x: Interval, y: Interval) -> bool:
    return bool(x.hi < y.lo or y.hi < x.lo)


INTERVAL_COMPARISONS: dict[str, Callable[..., Any]] = {
    "lt": comparison(False, _below, lambda x, y: _at_most(y, x)), "gt": comparison(False, lambda x, y: _below(y, x), _at_most),
    "le": comparison(True, _at_most, lambda x, y: _below(y, x)), "ge": comparison(True, lambda x, y: _at_most(y, x), _below),
    "eq": comparison(True, _equal, _apart), "ne": comparison(False, _apart, _equal, True)}


def both(x: Truth, y: Truth) -> Truth:
    return False if x is False or y is False else None if x is None or y is None else True


def negation(x: Truth) -> Truth:
    return None if x is None else not x


def select(c: Truth, x: Interval, y: Interval) -> Interval:
    """It may jump where it is not decided."""
    return marked(hull(x, y), DEFINED) if c is None else x if c else y


def constant(x: float) -> Interval:
    return point(x) if x == x else EMPTY


# ---------------------------------------------------------------- pieces

def larger(x: Interval, y: Interval) -> Interval:
    return Interval(x.lo if x.lo >= y.lo else y.lo, x.hi if x.hi >= y.hi else y.hi)


def smaller(x: Interval, y: Interval) -> Interval:
    return Interval(x.lo if x.lo <= y.lo else y.lo, x.hi if x.hi <= y.hi else y.hi)


def of_numbers(f: Callable[[Interval, Interval], Interval]) -> Callable[[Interval, Interval], Interval]:
    """fmax or fmin from max or min: where one may have no value, the other is the result."""
    def chosen(x: Interval, y: Interval) -> Interval:
        if x is EMPTY or y is EMPTY:
            return y if x is EMPTY else x
        found = f(x, y)
        for one, other in ((x, y), (y, x)):
            if one.decoration == NOTHING and not one.infinite:
                found = hull(found, other)
        return found
    return chosen


def relu(x: Interval) -> Interval:
    return x if x.lo >= 0 else larger(x, point_of(ZERO))


def step(f: BallFunction) -> IntervalFunction:
    """A step function that rises."""
    def bounds(x: Interval) -> Interval:
        lo = f(x.lo).lower() if x.lo.is_finite() else x.lo
        hi = f(x.hi).upper() if x.hi.is_finite() else x.hi
        return point_of(lo) if lo == hi else Interval(lo, hi, DEFINED)
    return bounds


def sign_of(t: End) -> End:
    return arb((t > 0) - (t < 0))


def truncated(t: End) -> Any:
    return t.floor() if t >= 0 else t.ceil()


def nearest(t: End) -> Any:
    return (t + ARB_HALF).floor() if t >= 0 else (t - ARB_HALF).ceil()


trunc = step(truncated)


def remainder(x: Interval, y: Interval) -> Interval:
    """fmod: x − y·trunc(x/y), which has the sign of x and is smaller than y."""
    if y.has(ZERO):
        return EMPTY if y.thin else UNDEFINED
    most = smaller(absolute(x), absolute(y)).hi
    least, most = ZERO if x.lo >= 0 else -most, ZERO if x.hi <= 0 else most
    quotient = trunc(div(x, y)) if x.bounded and y.bounded else UNDEFINED
    return clipped(sub(x, mul(quotient, y)), least, most) if quotient.thin else Interval(least, most, DEFINED)


def with_sign(x: Interval, y: Interval) -> Interval:
    """copysign; a zero may have either sign, and so may what has no value."""
    if x is EMPTY:
        return EMPTY
    a = absolute(x)
    if y.decoration > NOTHING and (y.lo > 0 or y.hi < 0):
        return a if y.lo > 0 else neg(a)
    return marked(hull(neg(a), a), DEFINED)


# ---------------------------------------------------------------- functions that rise and fall

def narrow(x: Interval) -> bool:
    return x.lo is x.hi or bool(x.bounded and x.hi - x.lo < NARROW)


def wave(f: BallFunction, peak: float) -> IntervalFunction:
    """sin or cos, whose greatest values are `peak` and whole numbers of turns from 0."""
    def bounds(x: Interval) -> Interval:
        if x.bounded and narrow(x):
            return clipped(enclosed(f(x.ball())), -ONE, ONE)
        if not x.bounded or x.hi - x.lo > 7:
            return Interval(-ONE, ONE)
        ends = hull(enclosed(f(x.lo)), enclosed(f(x.hi)))
        turns = _turns(x, 2)
        top, bottom = (not whole_free(sub(turns, point(shift))) for shift in (peak, peak + 0.5))
        return clipped(Interval(-ONE if bottom else ends.lo, ONE if top else ends.hi), -ONE, ONE)
    return bounds


def _turns(x: Interval, halves: int) -> Interval:
    """x in units of `halves` times π."""
    unit = halves * arb.pi()
    return Interval((x.lo / unit).lower(), (x.hi / unit).upper())


def whole_free(x: Interval) -> bool:
    """True if certainly no whole number is inside."""
    floor = x.lo.floor()
    return bool(x.lo > floor and x.hi < floor + 1)


def tangent(x: Interval) -> Interval:
    if not x.bounded:
        return UNDEFINED
    if narrow(x):
        return enclosed(x.ball().tan())
    return rising(arb.tan)(x) if whole_free(sub(_turns(x, 1), point(0.5))) else UNDEFINED


def angle(y: Interval, x: Interval) -> Interval:
    """atan2: away from the origin and from the cut the extremes are at corners."""
    pi = arb.pi()
    if y.thin and x.thin and y.lo == 0 and x.lo == 0:
        return point_of(ZERO)
    if (x.lo <= 0 <= x.hi and y.has(ZERO)) or (x.lo < 0 and y.lo < 0 <= y.hi):
        return Interval((-pi).lower(), pi.upper(), DEFINED)
    if not (x.bounded and y.bounded):
        return Interval((-pi).lower(), pi.upper())
    corners = [enclosed(arb.atan2(b, a)) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return reduce(hull, corners)


def valley(f: BallFunction, left: End, right: End, least: End) -> IntervalFunction:
    """A function that for x > 0 falls to `least`, somewhere between `left` and `right`, and rises then."""
    up, down = rising(f, ZERO, poles=True), falling(f, ZERO, most=INF, poles=True)

    def bounds(x: Interval) -> Interval:
        if narrow(x) or x.lo < 0:
            return enclosed(f(x.ball())) if x.bounded else UNDEFINED
        if x.lo >= right:
            return up(x)
        if x.hi <= left:
            return down(x)
        beyond = up(Interval(right, x.hi)) if x.hi > right else point_of(least)
        sides = hull(down(Interval(x.lo, left)) if x.lo < left else point_of(least), beyond)
        return Interval(least, sides.hi, sides.decoration)
    return bounds


LOWEST = arb("1.46163214496836").lower(), arb("1.46163214496837").upper()
"""Where gamma is least for x > 0: at 1.461632144968362341… (NIST Digital Library of Mathematical Functions, 5.4(iii))."""


def with_poles(f: IntervalFunction, zero: Interval, below: Interval) -> IntervalFunction:
    """A relative of gamma, with what it is at 0 and at −1, −2, …"""
    return lambda x: (below if x.lo < 0 else zero) if x.thin and x.lo <= 0 and x.lo.is_integer() else f(x)


def log_gamma(t: Any) -> Any:
    return t.lgamma() if t > 0 else abs(t.gamma()).log()


def digamma(x: Interval) -> Interval:
    """It rises between its poles 0, −1, −2, …"""
    if x.lo > 0 or (x.bounded and x.hi < 0 and whole_free(x)):
        return rising(arb.digamma)(x)
    return rising(arb.digamma, ZERO, poles=True)(x) if x.lo == 0 and x.hi > 0 else UNDEFINED


def polygamma(n: Interval, x: Interval) -> Interval:
    """ψ⁽ⁿ⁾: of one sign for x > 0, and there with a falling absolute value."""
    order = int(float(n.lo))
    if order == 0:
        return with_poles(digamma, EMPTY, EMPTY)(x)
    if x.thin and x.lo <= 0 and x.lo.is_integer():
        return EMPTY

    def f(t: Any) -> Any:
        if t < 0:
            return reflected(order, f(1 - t), t.cot_pi(), arb.pi())
        return acb(t).polygamma(acb(order)).real

    if x.lo >= 0 and x.hi > 0:
        return falling(f, ZERO, least=ZERO, poles=True)(x) if order % 2 else rising(f, ZERO, most=ZERO, poles=True)(x)
    if narrow(x) and x.bounded and (x.lo > 0 or whole_free(x)):
        return enclosed(f(x.ball()))
    return UNDEFINED


# ---------------------------------------------------------------- compositions

def euclidean(*xs: Interval) -> Interval:
    return rising(arb.sqrt, ZERO)(reduce(add, [even_power(x, 2) for x in xs]))


def scaled_complement(x: Interval, n: Interval) -> Interval:
    """The n-th derivative of exp(x²)·erfc(x), by Hermite's function of order −n − 1: of one sign, and it tends to 0."""
    order = int(float(n.lo))

    def f(t: End) -> Any:
        return 2 / arb.pi().sqrt() * arb(-2) ** order * arb.fac_ui(order) * t.hermite_h(arb(-order - 1))
    return rising(f, most=ZERO)(x) if order % 2 else falling(f, least=ZERO)(x)


def bell(f: BallFunction) -> IntervalFunction:
    """An even function that is 1 at 0 and falls to 0 on both sides."""
    down = falling(f, ZERO, least=ZERO, most=ONE)
    return lambda x: down(absolute(x))


def component(x: Interval, y: Interval) -> Interval:
    """unit(x, y), which rises in x and comes nearer to 0 where y gets larger."""
    r = absolute(y)
    if x.has(ZERO) and r.lo == 0:
        low, high = -ONE if x.lo < 0 else ZERO, ONE if x.hi > 0 else ZERO
        return point_of(ZERO) if x.thin and r.thin else Interval(low, high, DEFINED)
    if not (x.bounded and r.bounded):
        return Interval(-ONE, ONE)
    corners = [enclosed(a / (a * a + b * b).sqrt()) for a in (x.lo, x.hi) for b in (r.lo, r.hi)]
    return clipped(reduce(hull, corners), -ONE, ONE)


def real_root(t: End) -> Any:
    if t == 0:
        return ZERO
    return t.root(3) if t >= 0 else -((-t).root(3))


def sigmoid(t: End) -> Any:
    return 1 / (1 + (-t).exp())


def softplus(t: End) -> Any:
    return (t if t > 0 else ZERO) + (-abs(t)).exp().log1p()


def log_of_sum(x: Interval, y: Interval) -> Interval:
    """log(eˣ + eʸ), which rises in both; y + softplus(x − y)."""
    if not (x.bounded and y.bounded):
        return UNDEFINED
    ends = [enclosed((a if a > b else b) + (-abs(a - b)).exp().log1p()) for a, b in ((x.lo, y.lo), (x.hi, y.hi))]
    return hull(*ends)


def power_of_two(t: End) -> Any:
    return arb(2) ** t


def logarithm(f: Callable[[End], Any]) -> IntervalFunction:
    return rising(f, ZERO, poles=True)


def exponentials(reach: End) -> dict[str, IntervalFunction]:
    """The functions that grow like an exponential, as far out as is worth their time."""
    cosh = exponential(arb.cosh, ONE, reach)
    return {"exp": exponential(arb.exp, ZERO, reach), "exp2": exponential(power_of_two, ZERO, reach),
            "expm1": exponential(arb.expm1, -ONE, reach), "sinh": exponential(arb.sinh, -INF, reach),
            "cosh": lambda x: cosh(absolute(x))}


MONOTONE: dict[str, IntervalFunction] = {
    "sqrt": rising(arb.sqrt, ZERO, least=ZERO), "cbrt": rising(real_root), "log": logarithm(arb.log),
    "log2": logarithm(lambda t: t.log() / arb.const_log2()), "log10": logarithm(lambda t: t.log() / arb.const_log10()),
    "log1p": rising(arb.log1p, -ONE, poles=True), "asin": rising(arb.asin, -ONE, ONE),
    "acos": falling(arb.acos, -ONE, ONE, least=ZERO), "atan": rising(arb.atan),
    "tanh": rising(arb.tanh, least=-ONE, most=ONE),
    "asinh": rising(arb.asinh), "acosh": rising(arb.acosh, ONE, least=ZERO), "atanh": rising(arb.atanh, -ONE, ONE, poles=True),
    "erf": rising(arb.erf, least=-ONE, most=ONE), "erfc": falling(arb.erfc, least=ZERO, most=ONE + 1),
    "normal_cdf": rising(lambda t: (-t / arb(2).sqrt()).erfc() / 2, least=ZERO, most=ONE),
    "normal_quantile": rising(lambda t: -(2 * t).erfcinv() * arb(2).sqrt(), ZERO, ONE, poles=True),
    "erfinv": rising(arb.erfinv, -ONE, ONE, poles=True), "erfcx": lambda x: scaled_complement(x, point_of(ZERO)),
    "sigmoid": rising(sigmoid, least=ZERO, most=ONE), "softplus": rising(softplus, least=ZERO)}

NOT_MONOTONE: dict[str, Callable[..., Interval]] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "fma": fma, "pown": pown, "hypot": euclidean,
    "sin": wave(arb.sin, 0.25), "cos": wave(arb.cos, 0.0), "tan": tangent, "atan2": angle,
    "abs": absolute, "relu": relu,
    "max": lambda *xs: reduce(larger, xs), "min": lambda *xs: reduce(smaller, xs), "fmax": of_numbers(larger),
    "fmin": of_numbers(smaller), "pow": power,
    "sign": step(sign_of), "floor": step(arb.floor), "ceil": step(arb.ceil), "trunc": trunc, "round": step(nearest),
    "fmod": remainder, "fdim": lambda x, y: relu(sub(x, y)), "copysign": with_sign,
    "gamma": with_poles(valley(arb.gamma, *LOWEST, arb("0.88560319441088").lower()), EITHER, EMPTY),
    "lgamma": with_poles(valley(log_gamma, *LOWEST, arb("-0.12148629053585").lower()), infinity(INF), infinity(INF)),
    "digamma": with_poles(digamma, EMPTY, EMPTY), "polygamma": polygamma, "logaddexp": log_of_sum,
    "unit": component, "gauss": bell(lambda t: (-t * t).exp()), "derfcx": scaled_complement,
    "normal_pdf": bell(lambda t: (-t * t / 2).exp() / (2 * arb.pi()).sqrt()), "lorentz": bell(lambda t: 1 / (1 + t * t)),
    "sech2": bell(lambda t: t.sech() ** 2)}


# ---------------------------------------------------------------- decorations, infinities, and what has no value

OWN_WAY = frozenset(("max", "min", "fmax", "fmin", "copysign"))
"""Operations that know infinities, and two of them arguments that have no value."""


def decorated(name: str, f: Callable[..., Interval]) -> Callable[..., Interval]:
    """A function as an operation: its result is decorated no better than its arguments."""
    hides_nan, own_way = TABLE[name].hides_nan, name in OWN_WAY

    def called(*args: Interval) -> Interval:
        worst = min([x.decoration for x in args])
        if worst == NOTHING:
            if not hides_nan and any(x is EMPTY for x in args):
                return EMPTY
            if not own_way and any(x is EMPTY or x.infinite for x in args):
                return of_extended(name, args)
        z = f(*args)
        if z is UNDEFINED:                                       # two of them are two values, not one
            return Interval(-INF, INF, NOTHING)
        if z.decoration < worst:
            worst = z.decoration
        if worst == COMMON and not z.bounded:
            worst = CONTINUOUS
        return marked(z, worst)
    return called


def of_extended(name: str, args: tuple[Interval, ...]) -> Interval:
    """An operation on infinities, or where an argument has no value: infinite or without a value where that is what doubles
    give for all numbers that the arguments may be."""
    atoms = tuple(Lit(float(x.lo)) for x in args)
    spots = [doubles(x, name == "pow") for x in args]
    found = [FLOAT.apply(TABLE[name], list(xs), atoms) for xs in product(*spots)]
    if all(z != z for z in found) and found:
        return EMPTY
    if not all(abs(z) == float("inf") for z in found) or not found:
        return UNDEFINED
    return EITHER if min(found) < max(found) else infinity(arb(found[0]))


def doubles(x: Interval, exactly: bool) -> list[float]:
    """The doubles among which an operation changes its mind, as far as it does where another argument is infinite; none where
    that is not known."""
    if x is EMPTY:
        return [float("nan")]
    if x.infinite:
        return [float("-inf"), float("inf")] if x is EITHER else [float(x.lo)]
    if x.decoration == NOTHING or not x.bounded:
        return []
    ends = [float(x.lo), float(x.hi)]
    if exactly:
        return ends[:1] if x.thin and arb(ends[0]) == x.lo else []
    ends = [math.nextafter(end, end - outwards) if arb(end) != exact else end
            for end, exact, outwards in zip(ends, (x.lo, x.hi), (1, -1), strict=True)]
    return ends + [a for a in (0.0, -0.0, 1.0, -1.0) if ends[0] <= a <= ends[1]]


@cache
def interval_arithmetic() -> Arithmetic:
    """Intervals at the precision that python-flint's context has at the time."""
    functions: dict[str, Callable[..., Any]] = {name: decorated(name, f) for name, f in
                                                 (MONOTONE | NOT_MONOTONE | SPECIAL | exponentials(REACH)).items()}
    functions |= INTERVAL_COMPARISONS | {
        "select": select, "and": both, "or": lambda x, y: negation(both(negation(x), negation(y))), "not": negation}
    return Arithmetic(functions, lambda x: meant(x, functions, constant))
