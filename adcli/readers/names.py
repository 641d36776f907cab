"""Functions of Python's libraries as functions of the language: one table for what is read and for what is recorded.

A function is a row of the language's table, one of its prelude, or a definition of `counterparts`, which then is written into
the program. `LIBRARIES` says which names each library has; the tests compare all of them with the originals.
"""
from __future__ import annotations

from adcli.lang.ir.primitives import TABLE
from adcli.lang.suggest.counterparts import EXPRESSIONS, SYNONYMS

ROWS = SYNONYMS | {"negative": "neg", "where": "select", "bitwise_and": "and", "bitwise_or": "or", "invert": "not"}
"""Names in the table of NumPy's functions, where they differ."""
NOT_CALLED = ("dup", "round")
"""Rows with two results, and what NumPy means otherwise: it rounds halves to even."""

MATH = """sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot
    fabs floor ceil trunc fmod copysign erf erfc gamma lgamma pow degrees radians fma remainder isnan isinf isfinite"""
ARRAYS = """sqrt cbrt square reciprocal exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin
    arccos arctan arctan2 asin acos atan atan2 sinh cosh tanh arcsinh arccosh arctanh asinh acosh atanh abs absolute
    fabs sign floor ceil trunc fix fmod mod remainder power pow float_power maximum minimum fmax fmin clip clamp where
    heaviside sinc deg2rad rad2deg radians degrees negative positive add subtract multiply divide true_divide
    floor_divide hypot copysign isnan isinf isfinite logical_and logical_or logical_not less less_equal greater
    greater_equal equal not_equal rint round float64 double ldexp"""
SPECIAL = """erf erfc erfcx erfinv erfcinv gamma gammaln loggamma lgamma digamma psi polygamma expit logit ndtr ndtri
    log_ndtr xlogy xlog1py entr rel_entr kl_div betaln beta cbrt exp2 exp10 expm1 log1p cosm1 boxcox huber pseudo_huber
    exprel sinc log_expit softplus gammainc gammaincc kv kve k0 k1 k0e k1e iv ive i0 i1 i0e i1e jv yv jn j0 j1 y0 y1
    modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 modified_bessel_i0
    modified_bessel_i1 bessel_j0 bessel_j1 bessel_y0 bessel_y1 voigt_profile betainc betaincc stdtr fdtr zeta owens_t"""
LEARNING = """sigmoid softplus relu relu6 elu celu selu gelu silu swish mish logsigmoid log_sigmoid leaky_relu hardtanh hard_tanh
    hardsigmoid hard_sigmoid hardswish hard_swish hard_silu softsign soft_sign tanhshrink tanh square log1p exp"""
TORCH = "rsqrt sigmoid relu erf erfc erfinv lgamma digamma polygamma xlogy square lerp selu celu"
ONLY_MATH = {"remainder": "x - y * (abs((x / y) - trunc(x / y)) == 0.5 ? 2 * round(x / y / 2) : round(x / y))"}
CHOSEN = {("remainder", 2): "mod(x, y)", ("leaky_relu", 1): "x > 0 ? x : 0.01 * x",
          ("loggamma", 1): "x < 0 ? nan : lgamma(x)",
          ("beta", 2): "x > 0 and y > 0 ? exp(lbeta(x, y)) : gamma(x) * gamma(y) / gamma(x + y)",
          ("betaln", 2): "x > 0 and y > 0 ? lbeta(x, y) : lgamma(x) + lgamma(y) - lgamma(x + y)"}
"""Meanings in these libraries where counterparts has several."""
NORMAL = {"cdf": "normal_cdf", "pdf": "normal_pdf", "logcdf": "normal_logcdf", "ppf": "normal_quantile", "sf": "norm_sf",
          "logpdf": "norm_logpdf"}
LIBRARIES: dict[str, str] = {
    "math": MATH, "numpy": ARRAYS, "jax.numpy": ARRAYS, "torch": f"{ARRAYS} {TORCH}", "scipy.special": SPECIAL,
    "jax.scipy.special": SPECIAL, "torch.special": SPECIAL, "torch.nn.functional": LEARNING, "jax.nn": LEARNING,
    "autograd.numpy": ARRAYS, "scipy.stats.norm": " ".join(NORMAL), "jax.scipy.stats.norm": " ".join(NORMAL),
    "": "abs pow round float", "adcli": " ".join(TABLE),
}
"""The functions of numbers of each library; those of adcli are what readers write for operations that the others lack."""
NAMED = {library: frozenset(names.split()) for library, names in LIBRARIES.items()}
CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586, "inf": float("inf"),
             "nan": float("nan"), "euler_gamma": 0.5772156649015329}
"""Constants of math, NumPy and torch."""


def row_of(name: str, count: int) -> str | None:
    """The row of the table, or function of the prelude, that is NumPy's; None where there is none of so many operands."""
    called = ROWS.get(name, name)
    row = TABLE.get(called) if name not in NOT_CALLED else None
    if row is None:
        from adcli.lang.lower.library import prelude  # most programs call none of its functions
        return called if called in prelude() and len(prelude()[called].params) == count else None
    return called if row.arity == count or (row.variadic and count > row.arity) else None


def definition_of(library: str, name: str, count: int) -> tuple[str, tuple[str, ...], str] | None:
    """A function that is written into the program: its name there, its parameters and its value."""
    if library == "math" and name in ONLY_MATH and count == 2:
        return "remainder_of_math", ("x", "y"), ONLY_MATH[name]
    for each in EXPRESSIONS.get((name, count), ()):
        if any(p.startswith("#") or p[0].isdigit() or p == "None" for p in each.params):
            continue
        value = CHOSEN.get((name, count))
        if value is not None:
            return name, tuple("xy"[:count]), value
        if len(each.choices) == 1:
            return name, each.params, each.choices[0][0]
    return (name, tuple("xy"[:count]), CHOSEN[name, count]) if (name, count) in CHOSEN else None


def renamed(library: str, name: str) -> str:
    """The name by which the table knows a function of a library."""
    if library.endswith("stats.norm"):
        return NORMAL[name]
    if library == "jax.nn" and name == "gelu":
        return "gelu_tanh"   # unless it is told otherwise
    return "rint" if name == "round" else name
