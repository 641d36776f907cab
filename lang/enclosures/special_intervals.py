"""Special functions on intervals, by Arb's: rows of `lang/ir/special_rows.py`, which are formulas for doubles only.

A function that rises or falls in each of its arguments is evaluated at two corners; others on balls, which is sharp where
these are narrow. Constants that say how often a row is differentiated are the first arguments here.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from math import comb, factorial, isnan, nan
from typing import Any

from adcli.lang.enclosures import beta_intervals as beta
from adcli.lang.enclosures.intervals import (
    EMPTY,
    INF,
    ONE,
    REACH,
    UNDEFINED,
    ZERO,
    Interval,
    IntervalFunction,
    clipped,
    enclosed,
    exponential,
    falling,
    hull,
    infinity,
    point,
    rising,
)
from adcli.lang.evaluate import FLOAT
from adcli.lang.ir import Lit
from adcli.lang.ir.primitives import TABLE
from flint import acb, acb_series, arb, arb_series, ctx

IntervalFunctionOfMany = Callable[..., Interval]


def corners(f: Callable[..., Any], signs: tuple[int, ...], pole: Interval = UNDEFINED) -> IntervalFunctionOfMany:
    """A function of positive arguments that rises (1) or falls (−1) in each; `pole` is what it is where one is 0."""
    def bounds(*xs: Interval) -> Interval:
        if not all(x.bounded for x in xs):
            return UNDEFINED
        if any(x.lo <= 0 for x in xs):
            return EMPTY if any(x.hi < 0 for x in xs) else pole if all(x.thin for x in xs) else UNDEFINED
        low, high = ([x.lo if sign * end > 0 else x.hi for x, sign in zip(xs, signs, strict=True)] for end in (1, -1))
        ends = enclosed(f(*low)), enclosed(f(*high))
        return UNDEFINED if UNDEFINED in ends else Interval(ends[0].lo, ends[1].hi)
    return bounds


PIECES, PER_UNIT = 1000, 1000
"""Balls that a wide interval is cut into, and those for a unit of its width."""


def on_balls(f: Callable[[Any], Any]) -> IntervalFunction:
    """A smooth function of one number, as Arb has it on balls."""
    def bounds(x: Interval) -> Interval:
        if not x.bounded:
            return UNDEFINED
        if x.lo is x.hi:
            return enclosed(f(x.lo))
        pieces = 1 + int(min(PIECES, PER_UNIT * float(x.hi - x.lo)))
        step = (x.hi - x.lo) / pieces
        cuts = [x.lo + k * step for k in range(pieces)] + [x.hi]
        found = [enclosed(f(a.union(b))) for a, b in pairwise(cuts)]
        return UNDEFINED if UNDEFINED in found else reduce(hull, found)
    return bounds


def sinc(n: int) -> IntervalFunctionOfMany:
    """The n-th derivative of sin(πx)/(πx), an integral of πⁿtⁿcos(πxt + nπ/2) over t from 0 to 1."""
    most = (arb.pi() ** n / (n + 1)).upper()
    turned = acb(0, arb.pi()) ** n / (n + 1)

    def f(t: Any) -> Any:
        if not n:
            return t.sinc_pi() if t == 0 or not t.is_integer() else ZERO
        y = arb.pi() * t
        if not abs(y) > n + 4:
            return (turned * acb(0, y).hypgeom_1f1(acb(n + 1), acb(n + 2))).real
        sine, cosine = t.sin_pi(), t.cos_pi()
        value = sine / y
        for k in range(1, n + 1):
            value = ((sine, cosine, -sine, -cosine)[k % 4] - k * value) / y
        return value * arb.pi() ** n
    ball = on_balls(f)
    return lambda x: clipped(z, -most, most) if (z := ball(x)) is not UNDEFINED else Interval(-most, most)


def exprel(n: int) -> IntervalFunctionOfMany:
    def f(t: Any) -> Any:
        if abs(t) < n + 64:
            return t.hypgeom_1f1(arb(n + 1), arb(n + 2)) / (n + 1)
        value, growing = t.expm1() / t, t.exp()
        for k in range(1, n + 1):
            value = (growing - k * value) / t
        return value
    far = exponential(f, ZERO, REACH)
    return lambda x: far(x)


def lbeta(a: Any, b: Any) -> Any:
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def polygamma_gap(n: int, m: int) -> IntervalFunctionOfMany:
    def psi(n: int, x: Any) -> Any:
        return acb(x).polygamma(acb(n)).real if n else x.digamma()

    def f(a: Any, b: Any) -> Any:
        if abs(b) < a * arb(2) ** -ctx.prec:                     # the mean value theorem: no digits to take away
            return -b * psi(n + 1, a.union(a + b))
        return psi(n, a) - psi(n, a + b)
    sign = 1 if n % 2 else -1
    if m:
        sign = 1 if (n + m) % 2 else -1
        return corners(lambda a, b: -psi(n + m, a + b), (sign, sign))
    return corners(f, (-sign, sign))


EDGE = (-arb(-1).exp()).upper()
"""Where the branches of Lambert's function meet, rounded up to the precision at which this is loaded."""


def lambert(branch: int) -> IntervalFunction:
    def f(t: Any) -> Any:
        return t.lambertw(branch)
    if branch == 0:
        return rising(f, EDGE, least=-ONE)
    down = falling(f, EDGE, most=-ONE)
    return lambda x: down(x) if x.hi < 0 else EMPTY if x.lo > 0 else infinity(-INF) if x.thin else UNDEFINED


FAR = 1 << 20
"""Shapes and arguments beyond it are too large for Arb's incomplete gamma functions."""


def gamma_tail(upper: bool, m: int) -> Callable[..., Any]:
    """The m-th derivative by a of a regularized incomplete gamma function, by Cauchy's formula: a trapezoidal sum over a circle,
    and what it may be off by. On a larger circle |Γ(s, x)| and |γ(s, x)| are at most what they are at its real points."""
    if m == 0:
        return lambda a, x: x.gamma_upper(a, 1) if upper else x.gamma_lower(a, 1)

    def f(a: Any, x: Any) -> Any:
        bits = 64 if a.rad() == 0 and x.rad() == 0 else 4          # of the ratio of the two circles
        count, ratio, before = ctx.prec // bits + m + 4, arb(2) ** bits, ctx.prec
        ctx.prec += bits * m
        above, radius, total = not x < a, arb(1) / 4 if a > 1 or not x < a else a.lower() / 4, acb(0)
        for k in range(count):
            s = a + radius / ratio * (acb(2 * k) / count).exp_pi_i()
            value = acb(x).gamma_upper(s, 1) if above else acb(x).gamma_lower(s, 1)
            total += value * (acb(-2 * k * m) / count).exp_pi_i()
        ends = [x.gamma_upper(s) if above else x.gamma_lower(s) for s in (a - radius, a + radius)]
        inverse = (arb.pi() * radius).cosh().sqrt() / (a - radius).gamma() if a > 2 else \
            abs(acb(a + arb(0, radius), arb(0, radius)).rgamma())
        off = ends[0].max(ends[1]) * inverse / (ratio ** count - 1) / radius ** m
        found = (total.real / count * (ratio / radius) ** m + arb(0, off.upper())) * factorial(m)
        ctx.prec = before
        return found if upper == above else -found
    return f


def gamma_density(m: int, n: int) -> Callable[..., Any]:
    """The derivative of x**(a − 1)·exp(−x)/Γ(a), m times by a and n times by x, by power series."""
    def f(a: Any, x: Any) -> Any:
        total = arb(0)
        for j in range(n + 1):
            shape = arb_series([a - j, 1], m + 1)
            power = (arb_series([a - 1 - j, 1], m + 1) * x.log()).exp() * shape.rgamma()
            total += (-1) ** (n - j) * comb(n, j) * power[m]
        return total * (-x).exp() * factorial(m)
    return f


def monotone_tail(upper: bool) -> IntervalFunctionOfMany:
    """P or Q itself, between 0 and 1."""
    within = corners(gamma_tail(upper, 0), (1, -1) if upper else (-1, 1))

    def bounds(a: Interval, x: Interval) -> Interval:
        if a.hi < 0 or x.hi < 0:
            return EMPTY
        if x.thin and x.lo == 0 and a.lo > 0:
            return Interval(ONE, ONE) if upper else Interval(ZERO, ZERO)
        if a.thin and a.lo == 0 and x.lo > 0:
            return Interval(ZERO, ZERO) if upper else Interval(ONE, ONE)
        if not (a.bounded and x.bounded) or a.lo <= 0 or x.lo <= 0 or a.hi > FAR or x.hi > FAR:
            return UNDEFINED
        found = within(a, x)
        return found if found is UNDEFINED else clipped(found, ZERO, ONE)
    return bounds


def of_gamma(f: Callable[..., Any], beyond: int = 0) -> IntervalFunctionOfMany:
    """A function of a shape and an argument, both positive, on balls; where the argument is 0, it is 0 for shapes `beyond`."""
    def bounds(a: Interval, x: Interval) -> Interval:
        if not (a.bounded and x.bounded):
            return UNDEFINED
        if a.hi < 0 or x.hi < 0:
            return EMPTY
        if x.thin and x.lo == 0 and a.lo > beyond:
            return Interval(ZERO, ZERO)
        if a.lo < 0 or x.lo <= 0 or a.hi > FAR or x.hi > FAR:
            return UNDEFINED
        return enclosed(f(a.ball(), x.ball()))
    return bounds


RADIUS, NARROW = 2.0 ** -6, arb(2) ** -20
"""The radius of circles around an order, and that of the widest balls for which sums over them are worth their while."""


def on_circle(f: Callable[[Any], Any], most: Any, m: int) -> Callable[[Any], Any]:
    """The m-th derivative of an analytic function by Cauchy's formula: a trapezoidal sum over a small circle, and what it may be
    off by; `most` bounds the function on the circle of RADIUS."""
    if m == 0:
        return lambda a: f(acb(a)).real

    def derived(a: Any) -> Any:
        bits = 64 if a.rad() < arb(2) ** -64 else 4              # of the ratio of the two circles
        count, ratio, before = ctx.prec // bits + m + 4, arb(2) ** bits, ctx.prec
        ctx.prec += bits * m
        try:
            total, radius = acb(0), RADIUS / ratio
            for k in range(count):
                total += f(a + radius * (acb(2 * k) / count).exp_pi_i()) * (acb(-2 * k * m) / count).exp_pi_i()
            return (total.real / count + arb(0, (most / (ratio ** count - 1)).upper())) / radius ** m * factorial(m)
        finally:
            ctx.prec = before
    return derived


def beside_whole(f: Callable[[Any], Any], most: Callable[[Any], Any], nu: Any) -> Any:
    """f(ν), but beside whole orders, where Arb loses digits, that of the whole order, within 2·|δ|·`most` of the order above."""
    whole = arb(nu.real.mid().floor()) if (nu.real.mid() - nu.real.mid().floor()) < 0.5 else arb(nu.real.mid().ceil())
    off = abs(nu - whole).upper()
    if not 0 < off < arb(2) ** (8 - ctx.prec):
        return f(nu)
    error = (2 * off * most(abs(whole) + 1)).upper()
    return f(acb(whole)) + acb(arb(0, error), arb(0, error))


def k_of_order(nu: Any, x: Any, scaled: bool) -> Any:
    """K, or exp(x)·K; K of the order above bounds the integral of t·cosh(νt)·exp(−x·cosh(t))."""
    return beside_whole(lambda s: acb(x).bessel_k(s, scaled=scaled), lambda s: most_of_k(s, 0, x, scaled), nu)


def most_of_k(nu: Any, off: Any, x: Any, scaled: bool) -> Any:
    return acb(x).bessel_k(acb(abs(nu) + off), scaled=scaled).real


def i_of_order(nu: Any, x: Any, scaled: bool) -> Any:
    return acb(x).bessel_i(nu, scaled=scaled)


def j_of_order(nu: Any, x: Any, scaled: bool) -> Any:
    return acb(x).bessel_j(nu)


def y_of_order(nu: Any, x: Any, scaled: bool) -> Any:
    return beside_whole(acb(x).bessel_y, lambda s: most_of_y(s, 0, x, scaled), nu)


def most_of_i(nu: Any, off: Any, x: Any, scaled: bool) -> Any:
    """A bound for complex orders on circles: by I of the least order and |Γ(s)| >= Γ(Re(s))/√cosh(π·Im(s)), or by integrals (NIST
    Digital Library of Mathematical Functions, 5.6.7 and 10.32.4)."""
    if nu >= off:
        return 2 * i_of_order(acb(nu - off), x, scaled).real
    return 2 * i_of_order(acb(0), x, scaled).real + most_of_k(nu, off, x, False) * (-x if scaled else arb(0)).exp()


def most_of_j(nu: Any, off: Any, x: Any, scaled: bool) -> Any:
    return most_of_i(nu, off, x, False) if x < 1 and nu >= off else most_of_y(nu, off, x, False)


def most_of_y(nu: Any, off: Any, x: Any, scaled: bool) -> Any:
    """A bound for J, Y and half of their derivatives by the order, by Schläfli's integrals (NIST Digital Library of Mathematical
    Functions, 10.9.6 and 10.9.7), where sinh(t) >= cosh(t) − 1."""
    return 2 + 4 * most_of_k(nu, off, x, True)


def bessel(of_order: Callable[..., Any], most_of: Callable[..., Any], lower: int, upper: int,
           scaled: bool) -> Callable[[int, int], Callable[..., Any]]:
    """The derivatives of a Bessel function, whose own by x is half the sum of those of the lower and the upper order with these
    signs, or with `scaled` of exp(−lower·x) times it: m times by the order, by whose real part they are bounded, and n times by
    x (NIST Digital Library of Mathematical Functions, 10.6.7 and 10.29.5)."""
    def derivative(m: int, n: int) -> Callable[..., Any]:
        def f(nu: Any, x: Any) -> Any:
            def by_argument(s: Any) -> Any:
                return sum((comb(n, i) * lower ** (i - j) * upper ** j * (-lower) ** (n - i) / arb(2) ** i * comb(i, j)
                            * of_order(s - i + 2 * j, x, scaled)
                            for i in (range(n + 1) if scaled else (n,)) for j in range(i + 1)), acb(0))
            most = most_of(nu, n + RADIUS, x, scaled) * 2 ** n
            if lower < 0 and m % 2 and abs(nu) < arb(2) ** (-ctx.prec // 2):       # even in the order
                return nu * on_circle(by_argument, most, m + 1)(nu.union(arb(0)))
            return on_circle(by_argument, most, m)(nu)
        return f
    return derivative


def first_at_0(name: str, nu: Interval, m: int, n: int) -> Interval:
    """I, J or Y, or a derivative, at x = 0, where its formula for doubles is exact."""
    order = float(nu.lo) if nu.thin else nan
    at = [order, 0.0, float(m), float(n)]
    value = float(FLOAT.apply(TABLE[f"d{name}"], at, tuple(map(Lit, at)))) if nu.lo == order else nan
    return UNDEFINED if isnan(value) else point(value)


def of_bessel(name: str, derivative: Callable[[int, int], Callable[..., Any]]) -> Callable[..., IntervalFunctionOfMany]:
    """A row of derivatives of a Bessel function, or of its logarithm, for positive arguments; other than K, at 0 too,
    and of log(I) for orders from 0 on."""
    first, logarithm = "_k" not in name, "log" in name
    positive = first and logarithm

    def of_logarithm(m: int, n: int) -> Callable[..., Any]:
        from adcli.lang.formulas.bessel import cumulant

        def f(nu: Any, x: Any) -> Any:
            total = derivative(0, 0)(nu, x)
            return cumulant(m, n, lambda i, j: derivative(i, j)(nu, x) / total) if m + n else total.log()
        return f

    def row(m: int, n: int) -> IntervalFunctionOfMany:
        f = (of_logarithm if logarithm else derivative)(m, n)

        def bounds(nu: Interval, x: Interval) -> Interval:
            if not (nu.bounded and x.bounded):
                return UNDEFINED
            if x.hi < 0 or (positive and nu.hi < 0):
                return EMPTY
            if first and x.thin and x.lo == 0:
                return first_at_0(name, nu, m, n)
            if x.lo <= 0 or x.hi > FAR or nu.hi > FAR or nu.lo < (0 if positive else -FAR):
                return infinity((-1) ** n * INF) if x.thin and x.lo == 0 and m == 0 else UNDEFINED
            if m % 2 and nu.thin and nu.lo == 0 and not first:
                return Interval(ZERO, ZERO)
            wide = max(nu.ball().rad(), x.ball().rad()) > NARROW if m + logarithm else False
            return UNDEFINED if wide else enclosed(f(nu.ball(), x.ball()))
        return bounds
    return row


def faddeeva(n: int, z: Any) -> Any:
    """The n-th derivative of w(z) = exp(−z²)·erfc(−iz) in the upper half-plane, far out as a confluent hypergeometric function
    (NIST Digital Library of Mathematical Functions, 7.10.3, 7.18.4 and 7.18.10)."""
    def from_two(last: Any, value: Any) -> Any:
        for k in range(n):
            last, value = value, -2 * (z * value + max(k, 1) * last)
        return value

    if abs(z) < 32:
        return from_two(acb(0, -1) / arb.pi().sqrt(), (-z * z).exp() * (z * acb(0, -1)).erfc())
    if z.real > 0:                                               # away from the cut
        return (-1) ** n * faddeeva(n, acb(-z.real, z.imag)).conjugate()
    value = acb(0, 1) ** n * factorial(n) / arb.pi().sqrt() * (-z * z).hypgeom_u(acb(n + 1) / 2, acb(0.5))
    return acb(from_two(acb(0), (-z * z).exp()).real, value.imag) if z.imag == 0 else value


def voigt(m: int, n: int) -> IntervalFunctionOfMany:
    """The derivative of the Voigt profile, m times by x and n times by γ."""
    def f(x: Any, sigma: Any, gamma: Any) -> Any:
        z, unit, turn = acb(x, gamma), sigma * arb(2).sqrt(), acb(0, 1) ** n
        if sigma == 0:
            return (turn * acb(0, (-1) ** (m + n) * factorial(m + n)) / z ** (m + n + 1)).real / arb.pi()
        return (turn * faddeeva(m + n, z / unit)).real / unit ** (m + n + 1) / arb.pi().sqrt()

    def bounds(x: Interval, sigma: Interval, gamma: Interval) -> Interval:
        if sigma.hi < 0 or gamma.hi < 0:
            return EMPTY
        inside = sigma.lo >= 0 and gamma.lo >= 0 and (sigma.lo > 0 or (sigma.thin and gamma.lo > 0))
        if not (inside and x.bounded and sigma.bounded and gamma.bounded):
            return UNDEFINED
        return enclosed(f(x.ball(), sigma.ball(), gamma.ball()))
    return bounds


def zeta(m: int, s: Any, a: Any) -> Any:
    return acb_series([acb(s), 1], m + 1).zeta(acb(a))[m].real * factorial(m)


def riemann(m: int) -> IntervalFunction:
    """The m-th derivative of Riemann's zeta function."""
    def bounds(s: Interval) -> Interval:
        if s.lo <= 1 <= s.hi or abs(s.lo) > FAR or abs(s.hi) > FAR:
            return infinity((-1) ** m * INF) if s.thin and s.lo == 1 else UNDEFINED
        return enclosed(zeta(m, s.ball(), arb(1)))
    return bounds


def hurwitz(m: int) -> IntervalFunctionOfMany:
    """The m-th derivative by s of Hurwitz's zeta function."""
    def bounds(s: Interval, a: Interval) -> Interval:
        if s.hi < 1 or a.hi < 0:
            return EMPTY
        if not (s.bounded and a.bounded) or s.lo <= 1 or a.lo <= 0 or s.hi > FAR or a.hi > FAR:
            return UNDEFINED
        return enclosed(zeta(m, s.ball(), a.ball()))
    return bounds


def owens_t(h: Any, a: Any) -> Any:
    """For numbers, a sum of N(j)·qʲ, where N(j) is the integral of (1 − u²)ʲ·exp(−zu²) over u from 0 to 1, with what it leaves
    out; from the last N on, by their recurrence downwards, which loses exp(z) at most."""
    if a < 0:
        return -owens_t(h, -a)
    if h > FAR:
        return (-h * h / 2).exp().union(ZERO)
    bits = ctx.prec
    with ctx.workprec(3 * bits + 100):
        p, end = (h * a, 1 / a) if a > 1 else (h, a)
        reach, beyond = arb(2 * bits).sqrt(), arb(0)
        if p * end > reach:
            end, beyond = reach / p, beyond.union(end * arb(-bits).exp())
        z, scale, root = (p * end) ** 2 / 2, end / (1 + end * end), arb.pi().sqrt() / 2
        q = scale * end
        count = 2 + int(bits / float(-(q + arb(2) ** -bits).log() / arb(2).log()))
        later, last = ((-z).exp() * root * arb(j).gamma() / arb(j + 0.5).gamma() * z.hypgeom_1f1(arb(j), arb(j + 0.5))
                       for j in (count + 2, count + 1))
        total = last * arb(1).union(arb(2))
        for j in range(count, 0, -1):
            later, last = last, (2 * z * later + (2 * j + 1 - 2 * z) * last) / (2 * j)
            total = last + q * total
        inner = (total * scale + beyond) * (-p * p / 2).exp() / (2 * arb.pi())
        tails = [(x / arb(2).sqrt()).erfc() / 2 for x in (h, p)]
        return (tails[0] + tails[1]) / 2 - tails[0] * tails[1] - inner if a > 1 else inner


def owens_t_between(h: Interval, a: Interval) -> Interval:
    """It rises in a, and falls to 0 in |h|."""
    if not (h.bounded and a.bounded):
        return UNDEFINED
    near, far = sorted((abs(h.lo), abs(h.hi)))
    near = ZERO if h.lo < 0 < h.hi else near
    low = enclosed(owens_t(far if a.lo > 0 else near, a.lo))
    high = low if h.thin and a.thin else enclosed(owens_t(near if a.hi > 0 else far, a.hi))
    return UNDEFINED if UNDEFINED in (low, high) else Interval(low.lo, high.hi)


def below_zero_too(right: IntervalFunction, left: IntervalFunction, between: Interval) -> IntervalFunction:
    """A function that is one thing on the right of 0 and another on the left, with a pole `between`."""
    return lambda x: right(x) if x.lo > 0 else left(x) if x.hi < 0 else between if x.thin else UNDEFINED


def with_orders(f: Callable[..., IntervalFunctionOfMany], positions: tuple[int, ...]) -> IntervalFunctionOfMany:
    """The row whose arguments at these positions are constants."""
    def called(*args: Interval) -> Interval:
        orders = [int(float(args[i].lo)) for i in positions]
        return f(*orders)(*[a for i, a in enumerate(args) if i not in positions])
    return called


SPECIAL: dict[str, IntervalFunctionOfMany] = {
    "sinc": sinc(0), "exprel": exprel(0), "lbeta": corners(lbeta, (-1, -1), pole=infinity(INF)),
    "lambert_w0": lambert(0), "lambert_wm1": lambert(-1),
    "expint_e1": below_zero_too(falling(lambda t: t.expint(arb(1)), least=ZERO), lambda x: EMPTY, infinity(INF)),
    "expint_ei": below_zero_too(rising(arb.ei), falling(arb.ei, most=ZERO), infinity(-INF)),
    "dsinc": with_orders(sinc, (1,)), "dexprel": with_orders(exprel, (1,)), "polygamma_gap": with_orders(polygamma_gap, (0, 1)),
    "inc_betac": beta.probability(beta.at, True), "gamma_p": monotone_tail(False), "gamma_q": monotone_tail(True),
    "dgamma_p": with_orders(lambda m: of_gamma(gamma_tail(False, m)), (2,)),
    "gamma_density": with_orders(lambda m, n: of_gamma(gamma_density(m, n), n + 1), (2, 3)),
    "voigt": voigt(0, 0), "dvoigt": with_orders(voigt, (3, 4)),
    "zeta": riemann(0), "dzeta": with_orders(riemann, (1,)), "owens_t": owens_t_between,
    "hurwitz_zeta": hurwitz(0), "dhurwitz_zeta": with_orders(hurwitz, (2,)),
}
for _kind, _names in {(k_of_order, most_of_k, -1, -1): "bessel_k bessel_ke log_bessel_k",
                      (i_of_order, most_of_i, 1, 1): "bessel_i bessel_ie log_bessel_i",
                      (j_of_order, most_of_j, 1, -1): "bessel_j", (y_of_order, most_of_y, 1, -1): "bessel_y"}.items():
    for _name in _names.split():
        _row = of_bessel(_name, bessel(*_kind, _name[-1] == "e"))
        SPECIAL |= {_name: _row(0, 0), f"d{_name}": with_orders(_row, (2, 3))}
for _name, _place in (("inc_beta", beta.at), ("inc_beta_logit", beta.at_log_odds)):
    _partials = partial(beta.derivative, _place)
    SPECIAL |= {_name: _partials(0, 0), f"d{_name}": with_orders(_partials, (3, 4)),
                f"{_name}_density": with_orders(_partials, (3, 4, 5))}
SLOW = dict.fromkeys(("dgamma_p", *(name for name in SPECIAL if "bessel" in name or "inc_beta" in name)), 60)
"""Sums over circles, which take as long as so many additions."""
