"""An arithmetic of mpmath's numbers: an independent reference for values, in as many digits as one wants."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from adcli.lang.evaluate import CHOICES, COMPARISONS, FLOAT, MOST_EXPONENT_BITS, RING, Arithmetic
from adcli.lang.ir import Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import meant
from adcli.lang.ir.special_functions import reflected
from flint import acb, acb_series, arb, ctx

_divide = FLOAT.functions["div"]

MOST_ANGLE_BITS = 1 << 14
"""Bits before the point beyond which an angle is not reduced: no double needs so many."""


def of_arb(x: Any) -> Any:
    """A number of mpmath as one of Arb."""
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * arb(int(mantissa)) * arb(2) ** int(exponent)


def by_arb(f: Callable[..., Any], at: Sequence[Any], orders: Sequence[int], plain: bool, mp: Any) -> Any:
    """The derivative of f of these orders by each argument; unless it is `plain` that of 1 − f."""
    total = sum(orders)
    before, ctx.prec = ctx.prec, (total + 3) * (mp.prec + 40) + 400
    try:
        exact = [of_arb(z) for z in at]
        steps = [(min(arb(1), abs(z)) if z != 0 else arb(1)) * arb(2) ** (-mp.prec - 20) for z in exact]
        for _ in range(3):
            value = arb(0)
            for k in itertools.product(*(range(m + 1) for m in orders)):
                factor = math.prod((-1) ** (m - j) * math.comb(m, j) for m, j in zip(orders, k, strict=True))
                value += factor * f(*(z + (j - m / 2) * h for z, h, j, m in zip(exact, steps, k, orders, strict=True)))
            for h, m in zip(steps, orders, strict=True):
                value /= h ** m
            if value.rel_accuracy_bits() > mp.prec:
                break
            ctx.prec *= 2
        value = value if plain else (arb(0) if total else arb(1)) - value
        middle = value.mid()
        mantissa, exponent = middle.man_exp()
        return mp.ldexp(mp.mpf(int(mantissa)), int(exponent)) if middle.is_finite() else mp.nan
    finally:
        ctx.prec = before


BESSEL: dict[str, Callable[[Any, Any], Any]] = {
    "bessel_k": lambda nu, x: acb(x).bessel_k(acb(nu)).real,
    "bessel_ke": lambda nu, x: acb(x).bessel_k(acb(nu), scaled=True).real,
    "log_bessel_k": lambda nu, x: acb(x).bessel_k(acb(nu)).real.log(),
    "bessel_j": lambda nu, x: acb(x).bessel_j(acb(nu)).real,
    "bessel_y": lambda nu, x: acb(x).bessel_y(acb(nu)).real,
    "bessel_i": lambda nu, x: acb(x).bessel_i(acb(nu)).real,
    "bessel_ie": lambda nu, x: acb(x).bessel_i(acb(nu), scaled=True).real,
    "log_bessel_i": lambda nu, x: acb(x).bessel_i(acb(nu)).real.log()}
"""Bessel functions of Arb."""


@cache
def mpmath_arithmetic(digits: int = 50) -> Arithmetic:
    """Multiple precision with `digits` decimal digits (the extra package mpmath).

    Exponents have no end: what overflows or underflows in doubles is a number here. There is one zero, without a sign.
    Beyond 2**(2**MOST_EXPONENT_BITS) numbers are infinite, and their reciprocals the smallest number there is, never 0.
    """
    import mpmath
    mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
    mp.dps = digits
    tiny = mp.ldexp(1, -(1 << MOST_EXPONENT_BITS))

    def real(function: Callable[..., Any], inside: Callable[..., bool] = lambda *x: True) -> Callable[..., Any]:
        """The function where its value is real, NaN elsewhere and where `inside` does not hold."""
        def called(*args: Any) -> Any:
            try:
                value = function(*args) if inside(*args) else mp.nan
            except (ValueError, ZeroDivisionError):
                return mp.nan
            return value if isinstance(value, mp.mpf) else mp.nan if value.imag else value.real
        return called

    def near(*args: Any, bits: int = MOST_EXPONENT_BITS) -> bool:
        return all(not mp.isfinite(x) or not x or mp.mag(x) <= bits for x in args)

    def growing(function: Callable[..., Any], down: Any) -> Callable[..., Any]:
        """An exponential; far out it is infinite on the right, and `down` on the left."""
        return lambda x: function(x) if near(x) else mp.inf if x > 0 else down

    def angle(name: str) -> Callable[..., Any]:
        return real(getattr(mp, name), lambda x: near(x, bits=MOST_ANGLE_BITS))

    def divide(x: Any, y: Any) -> Any:
        return x / y if y else mp.mpf(_divide(float(mp.sign(x)), float(y)))

    def root(x: Any) -> Any:
        return -mp.cbrt(-x) if x < 0 else mp.cbrt(x)

    def power(x: Any, y: Any) -> Any:
        if y == 0 or x == 1:
            return mp.one
        if not x:
            return mp.zero if y > 0 else mp.inf if y < 0 else mp.nan
        if near(y):
            return mp.power(x, y)
        even = x < 0 and mp.isfinite(y) and mp.floor(y / 2) * 2 == y
        return exponential(y * mp.log(abs(x))) if x > 0 or even else mp.nan

    def nearest(x: Any) -> Any:
        return mp.sign(x) * mp.floor(abs(x) + mp.mpf(1) / 2)

    def truncated(x: Any) -> Any:
        return mp.sign(x) * mp.floor(abs(x))

    def remainder(x: Any, y: Any) -> Any:
        if mp.isinf(y) and mp.isfinite(x):
            return x
        more = mp.mag(x) - mp.mag(y) if x and y and mp.isfinite(x) else 0
        with mp.workprec(mp.prec + min(max(0, more), MOST_ANGLE_BITS)):   # the quotient must be exact before the point
            return +(x - y * truncated(x / y))

    def log_gamma(x: Any) -> Any:
        if x <= 0 and mp.floor(x) == x:
            return mp.inf
        return mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))

    def known(*x: Any) -> bool:
        """Where gamma's relatives can be computed: to the right of 0, and not far to the left."""
        return bool(near(x[-1], bits=MOST_ANGLE_BITS if x[-1] > 0 else MOST_EXPONENT_BITS) and x[-1] != -mp.inf)

    def polygamma(order: Any, x: Any) -> Any:
        n = int(order)
        if x > 0:
            return mp.psi(n, x)
        if mp.floor(x) == x:
            return mp.nan
        turns = x - mp.nint(x)                                   # exact: mpmath itself goes to the right of 0 by steps of 1
        return reflected(n, mp.psi(n, 1 - x), mp.cospi(turns) / mp.sinpi(turns), +mp.pi)

    def complement(x: Any) -> Any:
        return mp.erfc(x) if near(x, bits=MOST_EXPONENT_BITS // 2) else tiny if x > 0 else mp.mpf(2)

    def scaled_complement(x: Any, n: Any) -> Any:
        """The n-th derivative of exp(x²)·erfc(x), an integral of repeated integrals of erfc for x > 0."""
        k = int(n)
        if mp.isinf(x):
            return mp.zero if x > 0 else mp.inf * (-1) ** k
        return 2 / mp.sqrt(mp.pi) * (-2) ** k * mp.factorial(k) * mp.hermite(-k - 1, x)

    def quantile(p: Any) -> Any:
        if not 0 <= p <= 1:
            return mp.nan
        with mp.workprec(mp.prec + max(0, -mp.mag(p)) if p else mp.prec):   # 1 − 2p must be exact
            return mp.sqrt(2) * mp.erfinv(2 * p - 1)

    def turned(y: Any, x: Any) -> Any:
        """atan2, of two infinities too, which mpmath 1.3 does not have."""
        return mp.atan2(mp.sign(y), mp.sign(x)) if mp.isinf(x) and mp.isinf(y) else mp.atan2(y, x)

    def whole_power(x: Any, n: Any) -> Any:
        return x ** int(n) if x or n >= 0 else mp.inf

    exponential = growing(mp.exp, tiny)
    functions = {name: real(getattr(mp, name)) for name in (
        "sqrt", "log", "log10", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh", "floor",
        "ceil", "erf")}
    functions |= {"atan2": real(turned)} | {name: angle(name) for name in ("sin", "cos", "tan")}
    functions |= {
        "exp": exponential, "exp2": growing(lambda x: mp.power(2, x), tiny), "expm1": growing(mp.expm1, -mp.one),
        "sinh": growing(mp.sinh, -mp.inf), "cosh": growing(mp.cosh, mp.inf),
        "tanh": lambda x: mp.tanh(x) if near(x, bits=MOST_ANGLE_BITS) else mp.sign(x),
        "div": divide, "pow": real(power), "pown": whole_power, "powi": whole_power,
        "cbrt": root, "hypot": lambda *x: mp.sqrt(sum((a * a for a in x), mp.zero)),
        "log2": real(lambda x: mp.log(x) / mp.ln2), "fma": lambda a, b, c: a * b + c,
        "trunc": truncated, "round": nearest, "fmod": real(remainder),
        "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x), "erfc": complement,
        "gamma": real(lambda x: mp.inf if not x or (x > 0 and not near(x)) else mp.gamma(x), lambda x: x > 0 or near(x)),
        "lgamma": real(log_gamma, known), "digamma": real(mp.digamma, known),
        "polygamma": real(polygamma, known)}
    functions |= {
        "normal_pdf": real(mp.npdf), "normal_cdf": real(lambda x: complement(-x / mp.sqrt(2)) / 2), "erfinv": real(mp.erfinv),
        "normal_quantile": real(quantile), "erfcx": real(lambda x: scaled_complement(x, 0)),
        "derfcx": real(scaled_complement)}
    def sinc(x: Any, n: Any) -> Any:
        """The n-th derivative of sin(πx)/(πx), by parts, or near 0 an integral."""
        if mp.isinf(x):
            return mp.zero
        if not x and int(n) % 2:
            return mp.zero
        if int(n) and (not x or mp.mag(x) < -mp.prec):
            return mp.pi ** n * (mp.cospi(n / 2) / (n + 1) - mp.pi * x * mp.sinpi(n / 2) / (n + 2))
        with mp.workprec(2 * mp.prec + int(n) * (20 + max(0, -2 * mp.mag(x) if x else 0))):
            value, y = mp.sincpi(x), mp.pi * x
            for k in range(1, int(n) + 1):
                wave = (mp.sinpi, mp.cospi, lambda t: -mp.sinpi(t), lambda t: -mp.cospi(t))[k % 4](x)
                value = (wave - k * value) / y
            return value * mp.pi ** n

    def exprel(x: Any, n: Any) -> Any:
        if mp.isinf(x):
            return mp.inf if x > 0 else mp.zero
        if not x or mp.mag(x) < -mp.prec:
            return 1 / mp.mpf(n + 1) + x / (n + 2)
        with mp.workprec(2 * mp.prec + int(n) * (20 + max(0, -mp.mag(x)))):
            value, growing = functions["expm1"](x) / x, exponential(x)
            for k in range(1, int(n) + 1):
                value = growing if growing == mp.inf else (growing - k * value) / x
            return value

    def lbeta(a: Any, b: Any) -> Any:
        if not (a >= 0 and b >= 0):
            return mp.nan
        if mp.isinf(a) or mp.isinf(b):
            return mp.nan if not a or not b else -mp.inf
        if not a or not b:
            return mp.inf
        least, most = min(a, b), max(a, b)
        if mp.mag(most) - max(0, 2 * mp.mag(least)) > 2 * mp.prec:
            return mp.loggamma(least) - least * mp.log(most)
        with mp.workprec(2 * mp.prec + 20 + abs(mp.mag(a) - mp.mag(b))):
            return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    def polygamma_gap(n: Any, m: Any, a: Any, b: Any) -> Any:
        if not (a > 0 and b > 0):
            return mp.nan
        if m:
            return -polygamma(n + m, a + b)
        if mp.isinf(b) or mp.isinf(a):
            return mp.zero if mp.isinf(a) and not (mp.isinf(b) and not n) else -mp.inf if not n else mp.psi(int(n), a)
        closer = mp.mag(a) - mp.mag(b) if b else mp.inf
        if closer > mp.prec:
            return -b * mp.psi(int(n) + 1, a)
        with mp.workprec(mp.prec + 20 + max(0, int(closer))):
            return mp.psi(int(n), a) - mp.psi(int(n), a + b)

    def e1(x: Any) -> Any:
        if not x > 0:
            return mp.nan if x else mp.inf
        return (mp.e1(x) if near(x, bits=MOST_ANGLE_BITS) else exponential(-x)) if mp.isfinite(x) else mp.zero

    def ei(x: Any) -> Any:
        if mp.isinf(x):
            return x if x > 0 else mp.zero
        return (mp.ei(x) if near(x, bits=MOST_ANGLE_BITS) else mp.sign(x) * exponential(x)) if x else -mp.inf

    def lambert(x: Any, branch: int) -> Any:
        if mp.isinf(x) or (not x and branch):
            return mp.inf if x > 0 and not branch else -mp.inf if not x else mp.nan
        return mp.lambertw(x, branch)

    def gamma_tail(a: Any, x: Any, m: Any, upper: bool) -> Any:
        """The m-th derivative by a of a regularized incomplete gamma function, by a difference at higher precision, with Arb."""
        if not (a >= 0 and x >= 0 and a + x > 0) or (mp.isinf(a) and mp.isinf(x)):
            return mp.nan
        if a == x and not near(a, bits=16):
            return mp.zero if m else mp.mpf(1) / 2
        above = mp.isinf(x) or (x > a and not mp.isinf(a))
        if mp.isinf(a) or mp.isinf(x) or not x or not near(a, x, bits=16):
            return mp.one if not m and upper != above else mp.zero
        return by_arb(lambda s: of_arb(x).gamma_upper(s, 1) if above else of_arb(x).gamma_lower(s, 1), [a], [int(m)],
                      upper == above, mp)

    def gamma_density(a: Any, x: Any, m: Any, n: Any) -> Any:
        """The derivative of x**(a − 1)·exp(−x)/Γ(a), m times by a and n times by x."""
        if not (a >= 0 and x >= 0 and a + x > 0) or (mp.isinf(a) and mp.isinf(x)):
            return mp.nan
        if mp.isinf(a) or mp.isinf(x) or not near(a, x, bits=16):
            return mp.zero
        if not x:
            at = [float(a), 0.0, float(m), float(n)]
            return mp.mpf(FLOAT.apply(TABLE["gamma_density"], at, tuple(map(Lit, at))))
        return by_arb(lambda s: sum((-1) ** (int(n) - j) * math.comb(int(n), j) * of_arb(x) ** (s - 1 - j) * (-of_arb(x)).exp()
                                    * (s - j).rgamma() for j in range(int(n) + 1)), [a], [int(m)], True, mp)

    def incomplete_beta(a: Any, b: Any, x: Any, *orders: Any, upper: bool = False, name: str = "inc_beta") -> Any:
        """The derivative of these orders, by the arguments, of a regularized incomplete beta function, or of 1 minus it."""
        logit, density = "logit" in name, name.endswith("density")
        counts = [*map(int, orders), 0, 0, 0][:3]
        counts[2] += density
        if (not logit and not (0 <= x <= 1 and a + x > 0 and b + (1 - x) > 0)) or not (a >= 0 and b >= 0 and a + b > 0) or \
                (mp.isinf(a) and mp.isinf(b)):
            return mp.nan
        if not near(a, b, bits=16) or not mp.isfinite(a + b + x) or min(a, b) < mp.mpf(2) ** -64 or x in (0, 1) or abs(x) > 700:
            at = [float(z) for z in (a, b, x, *orders)]
            return mp.mpf(FLOAT.apply(TABLE[name], at, tuple(map(Lit, at))))

        def f(a: Any, b: Any, z: Any) -> Any:
            return (1 / (1 + (1 - of_arb(x) - z).exp()) if logit else z).beta_lower(a, b, 1)
        return by_arb(f, (a, b, mp.one if logit else x), counts, not upper, mp)

    def bessel(name: str) -> Callable[..., Any]:
        """A Bessel function, or a derivative, by differences with Arb; outside its domain, and far out, as floats have it."""
        def value(nu: Any, x: Any, m: Any = 0, n: Any = 0) -> Any:
            m, n = int(m), int(n)
            if not (mp.isfinite(nu) and mp.isfinite(x) and x > 0 and near(nu, x, bits=20)) or (nu < 0 and name == "log_bessel_i"):
                at = [float(nu), float(x), float(m), float(n)]
                return mp.mpf(FLOAT.apply(TABLE[f"d{name}"], at, tuple(map(Lit, at))))
            if m % 2 and not nu and "_k" in name:
                return mp.zero
            return by_arb(BESSEL[name], (nu, x), (m, n), True, mp)
        return value

    def voigt(x: Any, sigma: Any, gamma: Any, m: Any = 0, n: Any = 0) -> Any:
        """A derivative of the Voigt profile: recurrence of the Faddeeva function, or far out its asymptotic expansion."""
        m, n = int(m), int(n)
        if not (mp.isfinite(x) and 0 <= sigma < mp.inf and 0 <= gamma < mp.inf and sigma + gamma > 0):
            at = [float(x), float(sigma), float(gamma), float(m), float(n)]
            return mp.mpf(FLOAT.apply(TABLE["dvoigt"], at, tuple(map(Lit, at))))
        k, z = m + n, mp.mpc(x, gamma)
        close = abs(z) < 45 * sigma
        bits = min(int(abs(z / sigma) ** 2), mp.mag(z) - mp.mag(gamma) if gamma else mp.inf) if close else 0
        with mp.workprec(2 * mp.prec + 100 + bits):                # as many more as the real part is smaller
            if close:
                z, unit = z / (mp.sqrt(2) * sigma), mp.sqrt(2) * sigma
                last, value = mp.mpc(0, 2) / mp.sqrt(mp.pi), mp.exp(-z * z) * mp.erfc(-1j * z)
                for j in range(k):
                    last, value = value, -2 * z * value + (-2 * j * last if j else last)
                value /= unit ** (k + 1) * mp.sqrt(mp.pi)
            else:
                ratio, value, term = (sigma / z) ** 2 / 2, mp.zero, math.factorial(k) * mp.mpc(1)
                for j in range(60):
                    value += term
                    term *= ratio * (2 * j + k + 1) * (2 * j + k + 2) / (j + 1)
                value *= (-1) ** k * 1j / mp.pi / z ** (k + 1)
            return (1j ** n * value).real

    def zeta(name: str) -> Callable[..., Any]:
        """A derivative of a zeta function by s, by power series of Arb; at the pole and far out as floats have it."""
        def value(s: Any, a: Any = 1, m: Any = 0) -> Any:
            at = [float(s), float(m)] if name == "zeta" else [float(s), float(a), float(m)]
            inside = mp.isfinite(s) and mp.isfinite(a) and near(s, a, bits=10) and s != 1
            if not inside or (name != "zeta" and not (s > 1 and a > 0)):
                return mp.mpf(FLOAT.apply(TABLE[f"d{name}"], at, tuple(map(Lit, at))))
            return by_arb(lambda t: (acb_series([acb(t), 1], int(m) + 1).zeta(acb(of_arb(mp.mpf(a))))[int(m)].real
                                     * math.factorial(int(m))), [s], [0], True, mp)
        return value

    def owens_t(h: Any, a: Any) -> Any:
        if a < 0 or h < 0:
            return owens_t(abs(h), abs(a)) * mp.sign(a)
        if not (mp.isfinite(h * a) and near(h, a, bits=20)):
            return mp.mpf(FLOAT.apply(TABLE["owens_t"], [float(h), float(a)], ()))
        if a > 1:
            tails = [mp.erfc(x / mp.sqrt(2)) / 2 for x in (h, a * h)]
            return sum(tails) / 2 - tails[0] * tails[1] - owens_t(a * h, 1 / a)
        end = min(a, 25 / h) if h else a
        inner = mp.quadgl(lambda x: mp.exp(-(h * end * x) ** 2 / 2) / (1 + (end * x) ** 2), [0, 1])
        return mp.exp(-h * h / 2) * inner * end / (2 * mp.pi)

    functions |= {d + name: real(f) for name, f in (("zeta", lambda s, m=0: zeta("zeta")(s, 1, m)), ("hurwitz_zeta",
                  zeta("hurwitz_zeta"))) for d in ("", "d")} | {"owens_t": real(owens_t)}
    functions |= {"voigt": real(voigt), "dvoigt": real(voigt)}
    functions |= {d + name: real(bessel(name)) for name in BESSEL for d in ("", "d")}
    functions |= {"gamma_p": real(lambda a, x: gamma_tail(a, x, 0, False)),
                  "gamma_q": real(lambda a, x: gamma_tail(a, x, 0, True)),
                  **{row: real(lambda *args, row=row: incomplete_beta(*args, name=row)) for name in ("inc_beta", "inc_beta_logit")
                     for row in (name, f"d{name}", f"{name}_density")},
                  "inc_betac": real(lambda a, b, x: incomplete_beta(a, b, x, upper=True, name="inc_betac")),
                  "dgamma_p": real(lambda a, x, m: gamma_tail(a, x, m, False)), "gamma_density": real(gamma_density)}
    functions |= {"lambert_w0": real(lambda x: lambert(x, 0)), "lambert_wm1": real(lambda x: lambert(x, -1)),
                  "expint_e1": real(e1), "expint_ei": real(ei)}
    functions |= {"sinc": real(lambda x: sinc(x, 0)), "dsinc": real(sinc), "exprel": real(lambda x: exprel(x, 0)),
                  "dexprel": real(exprel), "lbeta": real(lbeta), "polygamma_gap": real(polygamma_gap)}
    functions = {**COMPARISONS, **RING, **CHOICES, **functions}
    return Arithmetic(functions, lambda x: meant(x, functions, mp.mpf))
