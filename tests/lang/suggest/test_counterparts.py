"""What is written for functions of other languages is, as a number, what they are there; what is only near is asked for."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.lower.library import prelude
from adcli.lang.suggest.counterparts import EXPRESSIONS, EXPRESSIONS_OF_TENSORS, OF_TENSORS, SYNONYMS
from row_tables import each_row
from scipy import linalg, special, stats
from session_seed import drawn
from tensor_laws import NUMPY

GRID = (-7.25, -2.5, -1.0, -0.4, 0.3, 0.5, 1.0, 2.0, 3.5)
HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.0, -0.3)
UNIT, POSITIVE, COUNTS = (-0.9, -0.3, 0.2, 0.7), (0.2, 0.5, 1.0, 3.7), (0.0, 1.0, 2.0, 3.0)
PROBABILITIES = (0.01, 0.3, 0.5, 0.9)
SQRT2, PI = math.sqrt(2), math.pi
norm = stats.norm


def real(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of mpmath; NaN where it is not real or has a pole."""
    def value(*args: float) -> float:
        try:
            found = f(*args)
        except (ValueError, ZeroDivisionError):
            return math.nan
        return math.nan if isinstance(found, mp.mpc) else float(found)
    return value


def odd_root(x: float, n: float) -> float:
    return math.copysign(abs(x)**(1 / n), x)


def truth(c: Callable[..., bool]) -> Callable[..., float]:
    return lambda *args: 1.0 if c(*args) else 0.0


def lambert(x: float) -> float:
    return special.lambertw(x).real


SAME: dict[str, Callable[..., Any]] = {
    "log": np.log, "log10": np.log10, "log2": np.log2, "pow": np.power, "square": np.square, "recip": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "trunc": np.fix, "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x), "cbrt": np.cbrt,
    "abs": np.absolute, "sign": np.sign, "max": np.maximum, "min": np.minimum, "clamp": np.clip, "fmod": math.fmod,
    "ceil": np.ceil, "gamma": special.gamma, "lgamma": special.gammaln, "digamma": special.psi, "sigmoid": special.expit,
    "relu": lambda x: np.maximum(x, 0.0), "softplus": lambda x: np.logaddexp(0, x), "xlogy": special.xlogy,
    "negate": np.negative, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "lt": truth(np.less),
    "le": truth(np.less_equal), "gt": truth(np.greater), "ge": truth(np.greater_equal), "eq": truth(np.equal),
    "ne": truth(np.not_equal), "and": truth(np.logical_and), "or": truth(np.logical_or), "not": truth(np.logical_not),
    "mod": np.mod, "heaviside": lambda x: np.heaviside(x, 0.5), "silu": lambda x: x * special.expit(x), "logit": special.logit,
    "logsigmoid": special.log_expit, "log1mexp": lambda x: np.log(-np.expm1(x)),
    "log_diff_exp": lambda x, y: x + np.log(-np.expm1(y - x)),
    "normal_cdf": special.ndtr, "normal_logcdf": special.log_ndtr, "normal_pdf": norm.pdf, "erfcx": special.erfcx,
    "normal_quantile": special.ndtri, "erfinv": special.erfinv, "erfcinv": special.erfcinv, "gelu": lambda x: x * norm.cdf(x),
    "stop": lambda x: x, "sin": np.sin, "cos": np.cos, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log1p": np.log1p,
    "fmax": np.fmax, "fmin": np.fmin,
    "sqrt": np.sqrt, "hypot": np.hypot, "floor": np.floor, "erf": special.erf, "erfc": special.erfc,
}
"""By a name that others have in these tables: the function that it is there."""
LIBRARIES = (np, special)
"""Where a foreign name that is in one of these has to mean that one."""
ANOTHER_MEANING = {"fix": SAME["trunc"], "int": math.trunc, "sqr": np.square, "heaviside": SAME["heaviside"]}


def value_of(text: str, at: dict[str, Any]) -> float:
    """The value of an expression as a program; a truth value as 1 or 0."""
    try:
        program = parse(f"v = {text}")
    except AdError as error:
        assert "truth" in error.message, str(error)
        program = parse(f"v = ({text}) ? 1 : 0")
    with np.errstate(all="ignore"):
        return float(evaluate(program, {p.name: at[p.name] for p in program.params}, FLOAT)["v"])


@each_row("name", SYNONYMS)
def test_a_synonym_is_the_same_function(name: str) -> None:
    assert name == name.casefold(), "as it is looked for"
    ours = SYNONYMS[name]
    reference = ANOTHER_MEANING.get(name) or next((getattr(m, name) for m in LIBRARIES if hasattr(m, name)), SAME[ours])
    row = TABLE.get({"negate": "neg"}.get(ours, ours))
    count = row.arity if row else len(prelude()[ours].params)
    for args in itertools.product(GRID if count < 3 else (-2.5, -0.4, 1.0, 2.0), repeat=count):
        if ours == "clamp" and args[1] > args[2]:
            continue
        truths = ours in ("and", "or", "not")
        call = ", ".join(f"{x} > 0" if truths else repr(x) for x in args)
        with np.errstate(all="ignore"):
            try:
                wanted = float(reference(*(x > 0 for x in args) if truths else args))
            except ValueError:
                wanted = math.nan
        if not (ours in ("gamma", "digamma", "lgamma") and args[0] <= 0 and args[0] == int(args[0])):   # poles
            assert value_of(f"{ours}({call})", {}) == pytest.approx(wanted, rel=1e-12, abs=1e-15, nan_ok=True), (name, args)


def of(names: str, reference: Callable[..., Any], *domains: tuple[float, ...]) -> dict[tuple[str, int], Any]:
    count = len(domains) or reference.__code__.co_argcount
    return {(name, count): (reference, domains or (GRID,) * count) for name in names.split()}


REFERENCES: dict[tuple[str, int], Any] = {
    **of("where ifelse if iif cond", lambda c, x, y: np.where(c > 0, x, y)), **of("merge", lambda x, y, c: x if c > 0 else y),
    **of("boole indicator", lambda c: float(c > 0)), **of("log logb logn", lambda x, b: math.log(x, b), (0.2, 0.5, 3.7),
        (0.5, 2.0, 3.0)),
    **of("LOG", lambda x: math.log(x), POSITIVE), **of("norm", lambda x, y: np.linalg.norm([x, y])),
    **of("atan arctan ATAN2", lambda y, x: np.arctan2(y, x)), **of("Sqr SQR", lambda x: math.sqrt(x), POSITIVE),
    **of("Int INT", lambda x: math.floor(x)), **of("cot ctg cotan", real(mp.cot), GRID), **of("sec", real(mp.sec), GRID),
    **of("csc cosec", real(mp.csc), GRID), **of("coth", real(mp.coth), GRID), **of("sech", real(mp.sech), GRID),
    **of("csch", real(mp.csch), GRID), **of("acot arccot", real(mp.acot), GRID), **of("asec arcsec", real(mp.asec), GRID),
    **of("acsc arccsc", real(mp.acsc), GRID), **of("acoth arccoth arcoth", real(mp.acoth), (-7.25, -2.5, -0.4, 0.3, 2.0)),
    **of("asech arcsech arsech", real(mp.asech), (-2.5, -0.4, 0.3, 1.0)), **of("acsch arccsch arcsch", real(mp.acsch), GRID),
    **of("sind sindg", special.sindg, GRID), **of("cosd cosdg", special.cosdg, GRID), **of("tand tandg", special.tandg, GRID),
    **of("cotd cotdg", special.cotdg, GRID), **of("asind", lambda x: math.degrees(math.asin(x)), UNIT),
    **of("acosd", lambda x: math.degrees(math.acos(x)), UNIT), **of("atand", lambda x: math.degrees(math.atan(x))),
    **of("atan2d atand", lambda y, x: math.degrees(math.atan2(y, x))), **of("sinpi", lambda x: math.sin(PI * x)),
    **of("cospi", lambda x: math.cos(PI * x)), **of("tanpi", lambda x: math.tan(PI * x)), **of("Sinc", real(mp.sinc),
        (*GRID, 0.0)),
    **of("radians deg2rad", np.deg2rad, GRID),
    **of("degrees rad2deg", np.rad2deg, GRID), **of("haversine hav", lambda x: (1 - math.cos(x)) / 2),
    **of("versin", lambda x: 1 - math.cos(x)), **of("exp10 pow10", special.exp10, GRID),
    **of("dexp", lambda x: math.exp(x)), **of("cube", lambda x: x**3),
    **of("inv_square", lambda x: x**-2), **of("root", lambda x, n: np.power(x, 1 / n), GRID, (2.0, 3.0)),
    **of("nthroot real_root surd", odd_root, GRID, (3.0, 7.0)), **of("sqrtpi", lambda x: math.sqrt(PI * x), POSITIVE),
    **of("softplus", lambda x, b: np.logaddexp(0, b * x) / b, GRID, POSITIVE),
    **of("float double real print positive dble float64 tensor item", lambda x: x), **of("plus", lambda x, y: x + y),
    **of("AVERAGE", lambda x, y: np.mean([x, y])),
    **of("minus", lambda x, y: x - y), **of("prod times mtimes", lambda x, y: x * y),
    **of("rdivide mrdivide truediv rational fraction", lambda x, y: x / y), **of("muladd mad", lambda a, b, c: a * b + c),
    **of("QUOTIENT idivide", lambda x, y: math.trunc(x / y)),
    **of("floordiv floor_divide fld quotient", np.floor_divide, GRID, GRID),
    **of("cld", lambda x, y: math.ceil(x / y)), **of("MOD remainder", np.mod, GRID, GRID),
    **of("ieeeremainder drem", math.remainder, (-7.25, -1.2, 0.3, 5.1), (-2.0, 1.5, 3.0)),
    **of("mod2pi", lambda x: np.mod(x, 2 * PI)), **of("rint nearbyint roundeven", np.rint, HALVES),
    **of("round", lambda x, n: np.round(x, int(n)), (-2.37, -0.4, 1.26, 3.14159), COUNTS),
    **of("frac fractionalpart", lambda x: math.modf(x)[0]), **of("fract", lambda x: x - math.floor(x)),
    **of("sign isign dsign", lambda x, y: math.copysign(x, y)),
    **of("heaviside", lambda x, h: np.heaviside(x, h), (*GRID, 0.0), GRID),
    **of("unitstep step", lambda x: np.heaviside(x, 1), (*GRID, 0.0)), **of("step", lambda a, x: 0.0 if x < a else 1.0),
    **of("saturate", lambda x: np.clip(x, 0, 1)), **of("lerp mix", lambda a, b, t: (1 - t) * a + t * b),
    **of("smoothstep", lambda a, b, x: (t := np.clip((x - a) / (b - a), 0, 1)) * t * (3 - 2 * t), (-1.0, 0.0), (0.5, 2.0), GRID),
    **of("isnan", lambda x: float(np.isnan(x)), (1.0, math.inf, math.nan)),
    **of("isinf", lambda x: float(np.isinf(x)), (1.0, math.inf, -math.inf, math.nan)),
    **of("isfinite", lambda x: float(np.isfinite(x)), (1.0, math.inf, -math.inf, math.nan)),
    **of("ldexp", lambda x, n: math.ldexp(x, int(n)), GRID, (-3.0, 4.0)), **of("factorial fact", special.factorial, COUNTS),
    **of("lfactorial", lambda n: math.log(math.factorial(int(n))), COUNTS), **of("loggamma", special.loggamma, POSITIVE),
    **of("rgamma", special.rgamma, (-2.5, -0.4, 0.3, 5.0)), **of("trigamma", lambda x: special.polygamma(1, x), POSITIVE),
    **of("polygamma psi", special.psi, (-2.5, -0.4, 0.3, 5.0)), **of("psi",
        lambda n, x: special.polygamma(int(n), x), (1.0,), POSITIVE),
    **of("betaln logbeta log_beta", special.betaln, POSITIVE, POSITIVE),
    **of("binom binomial comb nchoosek", special.binom, (4.0, 7.5), COUNTS),
    **of("logabsbinomial binomial_coefficient_log", lambda n, k: math.log(special.binom(n, k)), (4.0, 7.5), COUNTS),
    **of("gammainc igamma gammap", special.gammainc, POSITIVE, POSITIVE),
    **of("gammaincc igammac gammaq", special.gammaincc, POSITIVE, POSITIVE),
    **of("pgamma", lambda x, a, b: special.gammainc(a, b * x), POSITIVE, POSITIVE, POSITIVE),
    **of("pchisq chi2cdf", lambda x, n: special.chdtr(n, x), POSITIVE, POSITIVE),
    **of("ppois poisscdf", special.pdtr, COUNTS, POSITIVE),
    **of("kv besselk modified_bessel_second_kind", special.kv, COUNTS, POSITIVE),
    **of("kve besselkx", special.kve, COUNTS, POSITIVE),
    **of("k0 modified_bessel_k0", special.k0, POSITIVE), **of("k1 modified_bessel_k1", special.k1, POSITIVE),
    **of("k0e scaled_modified_bessel_k0", special.k0e, POSITIVE), **of("k1e scaled_modified_bessel_k1", special.k1e, POSITIVE),
    **of("voigt_profile", special.voigt_profile, (-2.0, 0.3), POSITIVE, POSITIVE),
    **of("iv besseli modified_bessel_first_kind", special.iv, COUNTS, POSITIVE),
    **of("ive besselix", special.ive, COUNTS, POSITIVE),
    **of("i0 modified_bessel_i0", special.i0, GRID), **of("i1 modified_bessel_i1", special.i1, GRID),
    **of("i0e", special.i0e, GRID), **of("i1e", special.i1e, GRID),
    **of("betainc ibeta btdtr", special.betainc, POSITIVE, POSITIVE, PROBABILITIES),
    **of("betaincc ibetac", special.betaincc, POSITIVE, POSITIVE, PROBABILITIES),
    **of("betainc_regularized", lambda a, b, zero, x: special.betainc(a, b, x), POSITIVE, POSITIVE, (0.0,), PROBABILITIES),
    **of("pbeta betacdf", lambda x, a, b: special.betainc(a, b, x), PROBABILITIES, POSITIVE, POSITIVE),
    **of("stdtr", special.stdtr, POSITIVE, GRID), **of("pt tcdf", lambda t, n: special.stdtr(n, t), GRID, POSITIVE),
    **of("fdtr", special.fdtr, POSITIVE, POSITIVE, POSITIVE),
    **of("pf fcdf", lambda x, m, n: special.fdtr(m, n, x), POSITIVE, POSITIVE, POSITIVE),
    **of("bdtr pbinom binocdf", special.bdtr, COUNTS, (4.0, 7.0), PROBABILITIES),
    **of("nbdtr pnbinom nbincdf", lambda k, n, p: special.nbdtr(k, int(n), p), COUNTS, (1.0, 4.0), PROBABILITIES),
    **of("jv jn besselj", special.jv, COUNTS, POSITIVE), **of("yv yn bessely", special.yv, COUNTS, POSITIVE),
    **of("j0 bessel_j0", special.j0, GRID), **of("j1 bessel_j1", special.j1, GRID),
    **of("y0 bessel_y0", special.y0, POSITIVE), **of("y1 bessel_y1", special.y1, POSITIVE),
    **of("riemann_zeta", special.zeta, (1.5, 3.0)), **of("zetac", special.zetac, (-1.5, 0.3, 3.0)),
    **of("zeta hurwitzzeta zeta_hurwitz", special.zeta, (1.5, 3.0), POSITIVE),
    **of("owenst owen_t", special.owens_t, GRID, GRID),
    **of("exp1 e1", special.exp1, POSITIVE), **of("expi ei expinti expintegralei", special.expi, (-2.5, 0.3, 5.0)),
    **of("expint", special.exp1, POSITIVE), **of("lambertw productlog lambert_w", lambert, (-0.3, *POSITIVE)),
    **of("lambertw", lambda x, k: lambert(x), (-0.3, *POSITIVE), (0.0,)),
    **of("poch rising_factorial", special.poch, (-2.5, -0.4, 1.5), COUNTS),
    **of("norm_cdf", lambda x, m: norm.cdf(x, m)), **of("normcdf pnorm norm_cdf normal_cdf", norm.cdf, GRID, GRID, POSITIVE),
    **of("norm_sf", norm.sf, (*GRID, 30.0)), **of("norm_sf", lambda x, m, s: norm.sf(x, m, s), GRID, GRID, POSITIVE),
    **of("norm_pdf", lambda x, m: norm.pdf(x, m)), **of("normpdf dnorm norm_pdf normal_pdf", norm.pdf, GRID, GRID, POSITIVE),
    **of("norm_ppf norminv qnorm", norm.ppf, PROBABILITIES, GRID, POSITIVE),
    **of("norm_logpdf normlogpdf std_normal_lpdf", norm.logpdf, GRID),
    **of("norm_logpdf normlogpdf", norm.logpdf, GRID, GRID, POSITIVE),
    **of("Phi_approx", lambda x: special.expit(0.07056 * x**3 + 1.5976 * x)),
    **of("cloglog", lambda p: math.log(-math.log(1 - p)), PROBABILITIES), **of("inv_cloglog",
        lambda x: 1 - math.exp(-math.exp(x)), (-2.5, 0.3, 1.0)),
    **of("log1m", lambda x: math.log1p(-x), UNIT),
    **of("logexpm1 softplus_inverse softplusinv", real(lambda x: mp.log(mp.expm1(x))), (*POSITIVE, 800.0)),
    **of("logsumexp log_sum_exp lse", np.logaddexp, GRID, GRID), **of("logaddexp2", np.logaddexp2, GRID, GRID),
    **of("log1m_inv_logit", lambda x: math.log(1 - special.expit(x))), **of("xlog1py", special.xlog1py, (-0.4, 0.0, 2.0),
        (-0.4, 0.3, 2.0)),
    **of("xlogx", lambda x: special.xlogy(x, x), (*POSITIVE, 0.0)), **of("entr", special.entr, (*GRID, 0.0)),
    **of("rel_entr", special.rel_entr, POSITIVE, POSITIVE), **of("kl_div", special.kl_div, POSITIVE, POSITIVE),
    **of("boxcox", special.boxcox, POSITIVE, (-1.5, 0.0, 0.5)), **of("huber", special.huber, POSITIVE, GRID),
    **of("pseudo_huber", special.pseudo_huber, POSITIVE, GRID),
    **of("gelu_tanh gelu_new", lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / PI) * (x + 0.044715 * x**3)))),
    **of("elu", lambda x: x if x > 0 else math.exp(x) - 1), **of("elu", lambda x, a: x if x > 0 else a * (math.exp(x) - 1)),
    **of("celu", lambda x, a: max(x, 0) + min(0, a * (math.exp(x / a) - 1)), GRID, POSITIVE),
    **of("selu", lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * (math.exp(x) - 1))),
    **of("leaky_relu leakyrelu", lambda x: max(0.01 * x, x)), **of("leaky_relu leakyrelu prelu",
        lambda x, a: x if x > 0 else a * x),
    **of("relu6", lambda x: min(max(x, 0), 6)),
    **of("swish", lambda x, b: x / (1 + math.exp(-b * x))), **of("mish", lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    **of("hardsigmoid hard_sigmoid", lambda x: min(max(x + 3, 0), 6) / 6),
    **of("hardswish hard_swish hard_silu", lambda x: x * min(max(x + 3, 0), 6) / 6),
    **of("hardtanh hard_tanh", lambda x: min(max(x, -1), 1)), **of("hardtanh", lambda x, a, b: min(max(x, a), b), GRID, (-2.0,),
        (0.5,)),
    **of("softsign soft_sign", lambda x: x / (1 + abs(x))), **of("tanhshrink tanh_shrink", lambda x: x - math.tanh(x)),
    **of("softshrink soft_shrink", lambda x, a: math.copysign(max(abs(x) - a, 0), x), GRID, POSITIVE),
    **of("hardshrink hard_shrink", lambda x, a: x if abs(x) > a else 0, GRID, POSITIVE),
    **of("threshold", lambda x, a, b: x if x > a else b),
    **of("clip", lambda x, a, b: np.clip(x, a, b)),
}
FORMS = {"{}": lambda x: x, "{} - 1": lambda x: x + 1, "-{}": lambda x: -x}
"""An argument as it is written, and what its name then has to be."""


def answered(text: str) -> str:
    """A program with the first thing that is said to be written in it."""
    with pytest.raises(AdError) as fault:
        parse(text)
    error = fault.value
    if error.fix is not None:
        return error.fix.applied(text)
    assert error.help is not None and error.help.startswith("write "), str(error)
    return f"v = {error.help.removeprefix('write ').partition(' or ')[0].rpartition(' (')[0]}"


@each_row(("name", "count"), EXPRESSIONS)
def test_an_expression_is_the_function(name: str, count: int) -> None:
    """The first choice of each definition, over its domain, with arguments that need parentheses and that do not."""
    reference, domains = REFERENCES[name, count]
    for each in EXPRESSIONS[name, count]:
        fixed = {i: p for i, p in enumerate(each.params) if p[0].isdigit() or p[0].isupper()}
        numbers = {i for i, p in enumerate(each.params) if p[0] == "#"}
        for form, back in [drawn("form", name, count).choice([*FORMS.items()])]:
            points = [dict(enumerate(args)) for args in itertools.product(*domains)]
            for i, text in fixed.items():
                points = [{**at, i: None if text == "None" else float(text)} for at in points]
            if name in ("nthroot", "real_root", "surd") and fixed.get(1) in ("2", "4"):
                points = [{**at, 0: abs(at[0])} for at in points]
            for given in ({}, *(dict.fromkeys(numbers, x) for x in {at[i] for at in points for i in numbers})):
                if bool(given) != bool(numbers):
                    continue
                texts = [fixed.get(i, repr(given[i]) if i in given else
                                   f"{'abcdefgh'[i]} > 0" if p == "c" else form.format("abcdefgh"[i]))
                         for i, p in enumerate(each.params)]
                call = f"{name}({', '.join(texts)})"
                try:
                    program = parse(answered(f"v = {call}"))
                except AdError as error:
                    assert "truth" in error.message, str(error)   # isnan(x)
                    program = parse(answered(f"v = {call} ? 1 : 0"))
                for at in points:
                    if all(at[i] == x for i, x in given.items()):
                        named = {"abcdefgh"[i]: x if each.params[i] == "c" else back(x) for i, x in at.items() if x is not None}
                        near(program, named, reference(*at.values() if each.params[0] != "#b" else reversed(at.values())), form)


def near(program: Program, at: dict[str, float], wanted: float, form: str) -> None:
    with np.errstate(all="ignore"):
        found = evaluate(program, {p.name: at[p.name] for p in program.params}, FLOAT)["v"]
    exact = "1" not in form   # x + 1 - 1 is rounded
    assert found == pytest.approx(float(wanted), rel=2e-11 if exact else 1e-8, abs=1e-14 if exact else 1e-8, nan_ok=True), at


def test_every_expression_has_a_reference() -> None:
    assert REFERENCES.keys() == EXPRESSIONS.keys()


X, Y, Z = np.array([1.0, -2.0, 3.5]), np.array([0.5, 3.0, -1.0]), np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 5.0]])
FOREIGN: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("average", "avg"), ("x", X.mean())), **dict.fromkeys(("max", "maxval", "maximum"), ("x", X.max())),
    **dict.fromkeys(("min", "minval", "minimum"), ("x", X.min())), "product": ("x", X.prod()), "total": ("x", X.sum()),
    **dict.fromkeys(("log_sum_exp", "lse"), ("x", special.logsumexp(X))),
    **dict.fromkeys(("dot_product", "inner", "vdot"), ("x, y", X @ Y)), "dot": ("A, x", Z @ X),
    "asum": ("x", np.abs(X).sum()), "norm": ("x - y, 1", np.abs(X - Y).sum()), "diagonal": ("A", np.diagonal(Z)),
    "diagm": ("x", np.diag(X)), "conv": ("x, y", np.convolve(X, Y)), "tr": ("A", np.trace(Z)),
    "trapz": ("x, y", np.trapezoid(X, Y)),
    "determinant": ("A", np.linalg.det(Z)), "slogdet": ("A", np.linalg.slogdet(Z)[1]),
    **dict.fromkeys(("eig", "eigvals", "eigvalsh"), ("A", np.linalg.eigvalsh(Z))),
    **dict.fromkeys(("matrix_exp", "matrixexp"), ("A", linalg.expm(Z))),
    **dict.fromkeys(("svdvals", "svd_vals"), ("A", linalg.svdvals(Z))),
    "chol": ("A", np.linalg.cholesky(Z)),
    **dict.fromkeys(("solve_triangular", "trsv"), ("A, x", np.linalg.solve(np.tril(Z), X))),
    "linsolve": ("A, x", np.linalg.solve(Z, X)),
    "inv": ("A", np.linalg.inv(Z)), "t": ("A", Z.T),
}


@each_row("name", FOREIGN)
def test_statements_are_the_function_of_tensors(name: str) -> None:
    args, wanted = FOREIGN[name]
    first = "input x(N), y(N), A(N, N)\n"
    with pytest.raises(AdError) as fault:
        parse(f"{first}v = {name}({args})")
    help, fix = fault.value.help or "", fault.value.fix
    text = fix.applied(f"{first}v = {name}({args})") if fix else f"{first}v = {help[6:].partition(' (')[0]}"
    program = parse(text)
    point = {"x": X, "y": Y, "A": Z}
    found = evaluate(program, {p.name: point[p.name] for p in program.params}, NUMPY)["v"]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_every_function_of_tensors_is_tested() -> None:
    assert {*OF_TENSORS, *(name for name, _ in EXPRESSIONS_OF_TENSORS)} == FOREIGN.keys()
