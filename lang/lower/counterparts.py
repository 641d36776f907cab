"""Functions that other languages have, and what is written for them here: another name, an expression, or statements.

The statements stand as the language has them, of tensors `x` and `y` with the value `v`, where `N` is the number of elements of
`x`; `suggestions` puts the names of a program in their place.
"""
from __future__ import annotations

SYNONYMS = {
    "ln": "log", "lg": "log10", "ld": "log2", "lb": "log2", "power": "pow", "sqr": "square",
    "reciprocal": "recip", "inv": "recip",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "tg": "tan", "arctg": "atan", "sh": "sinh", "ch": "cosh", "th": "tanh", "sq": "square", "int": "trunc",
    "loge": "log", "log_e": "log", "log_2": "log2", "log_10": "log10", "fix": "trunc",
    "arsinh": "asinh", "arcosh": "acosh", "artanh": "atanh",
    "fabs": "abs", "absolute": "abs", "sgn": "sign", "signum": "sign", "maximum": "max", "minimum": "min", "clip": "clamp",
    "mod": "fmod", "ceiling": "ceil", "tgamma": "gamma", "gammaln": "lgamma", "loggamma": "lgamma", "lngamma": "lgamma",
    "psi": "digamma", "expit": "sigmoid", "logistic": "sigmoid", "negative": "negate",
    "stop_gradient": "stop", "stopgradient": "stop", "stop_grad": "stop", "detach": "stop",
}
"""Functions that have another name here."""
OF_MATRICES = {"pinv": "inverse", "chol": "cholesky", "slogdet": "logdet", "linsolve": "solve", "solve_triangular": "solve_lower",
               "trsv": "solve_lower"}
"""The same for functions of matrices."""
OF_A_MATRIX = {"inv": "inverse", "t": "transpose"}
"""The same where an argument is a tensor."""

EXPRESSIONS_OF_TENSORS = {**dict.fromkeys([("det", 1), ("determinant", 1)], "exp(logdet({0}))"),
                          ("norm", 1): "sqrt(sum({0:atom}**2))"}
"""Functions of matrices, or of elements, that are expressions here."""
EXPRESSIONS = {
    ("where", 3): "{0:truth} ? {1:or} : {2}", ("ifelse", 3): "{0:truth} ? {1:or} : {2}",
    ("if", 3): "{0:truth} ? {1:or} : {2}", ("iif", 3): "{0:truth} ? {1:or} : {2}", ("cond", 3): "{0:truth} ? {1:or} : {2}",
    ("log", 2): "log({0}) / log({1})", ("norm", 2): "hypot({0}, {1})", ("atan", 2): "atan2({0}, {1})",
    ("cot", 1): "1 / tan({0})", ("sec", 1): "1 / cos({0})", ("csc", 1): "1 / sin({0})", ("exp10", 1): "10**{0:unary}",
    ("ctg", 1): "1 / tan({0})", ("factorial", 1): "gamma({0:sum} + 1)", ("root", 2): "{0:atom}**(1 / {1:unary})",
    ("nthroot", 2): "{0:atom}**(1 / {1:unary})", ("logb", 2): "log({0}) / log({1})", ("logn", 2): "log({0}) / log({1})",
    ("float", 1): "{0}", ("double", 1): "{0}", ("real", 1): "{0}", ("print", 1): "{0}",
    ("sum", 2): "{0:sum} + {1:product}", ("prod", 2): "{0:product} * {1:unary}",
    ("floordiv", 2): "floor({0:product} / {1:unary})",
    ("radians", 1): "{0:product} * pi / 180", ("degrees", 1): "{0:product} * 180 / pi", ("heaviside", 1): "{0:sum} >= 0 ? 1 : 0",
}
"""By the function and the number of its arguments, each with the level that it needs where it stands."""
DERIVATIVES = frozenset(("diff", "grad", "derivative", "differentiate", "D", "deriv", "gradient", "jacobian", "hessian",
                         "Derivative"))
"""Functions that differentiate."""
STATEMENTS = {
    "sum": ("v +=! x(i)",),
    "prod": ("v *=! x(i)",),
    "mean": ("v +=! x(i) / N",), "average": ("v +=! x(i) / N",), "avg": ("v +=! x(i) / N",),
    "max": ("v max=! x(i)",), "min": ("v min=! x(i)",), "amax": ("v max=! x(i)",), "amin": ("v min=! x(i)",),
    "norm": ("s +=! x(i)**2; v = sqrt(s)",),
    "softmax": ("s lse=! x(i); v(i) = exp(x(i) - s)",),
    "logsumexp": ("v lse=! x(i)",), "log_sum_exp": ("v lse=! x(i)",), "lse": ("v lse=! x(i)",),
    "log_softmax": ("s lse=! x(i); v(i) = x(i) - s",),
    "outer": ("v(i, j) = x(i) * y(j)",),
    "diff": ("v(i) = x(i + 1) - x(i)",), "cumsum": ("v(0) = x(0); for t in 1:N { v(t) = v(t - 1) + x(t) }",),
    "cumprod": ("v(0) = x(0); for t in 1:N { v(t) = v(t - 1) * x(t) }",),
    "var": ("s +=! x(i) / N; v +=! (x(i) - s)**2 / N",), "std": ("s +=! x(i) / N; t +=! (x(i) - s)**2 / N; v = sqrt(t)",),
    "asum": ("v +=! abs(x(i))",), "norm_inf": ("v max=! abs(x(i))",),
    "argmax": ("v argmax=! x(i)",), "argmin": ("v argmin=! x(i)",),
    "diag": ("v(i, i) = x(i)", "v(i) = x(i, i)"), "diagonal": ("v(i) = x(i, i)",), "diagm": ("v(i, i) = x(i)",),
    **dict.fromkeys(("conv", "convolve"), ("v(i + j) +=! x(i) * y(j)",)), "correlate": ("v(i) +=! x(i + j) * y(j)",),
    "trace": ("v +=! x(i, i)",), "tr": ("v +=! x(i, i)",),
    "dot": ("v +=! x(i) * y(i)", "v(i) +=! x(i, j) * y(j)", "v(j) +=! x(i) * y(i, j)", "v(i, k) +=! x(i, j) * y(j, k)"),
    "matmul": ("v(i, k) +=! x(i, j) * y(j, k)", "v(i) +=! x(i, j) * y(j)", "v(j) +=! x(i) * y(i, j)", "v +=! x(i) * y(i)"),
}
"""Functions of tensors `x` and `y` with the value `v`, for one number of dimensions after another; where only `i` is a subscript,
for any."""

MADE = {
    "zeros": ("v(i) = 0 where i in 0:N", "v(i, j) = 0 where i in 0:N, j in 0:M"),
    "ones": ("v(i) = 1 where i in 0:N", "v(i, j) = 1 where i in 0:N, j in 0:M"),
    **dict.fromkeys(("eye", "identity"), ("v(i, i) = 1 where i in 0:N",)), "arange": ("v(i) = i where i in 0:N",),
    "linspace": ("v(i) = N + (M - N) * i / (K - 1) where i in 0:K",),
    "reshape": ("v(i, j) = x(i*M + j) where i in 0:N, j in 0:M", "v(i) = x(i) where i in 0:N",
                "v(i, j, k) = x((i*M + j)*K + k) where i in 0:N, j in 0:M, k in 0:K"),
}
"""Functions that make a tensor `v`, for one number of arguments after another: `x` where it is made of a tensor, and the numbers
that are `N`, `M` and `K`."""
NORMS = {"1": "asum", "2": "norm", **dict.fromkeys(("inf", "Inf"), "norm_inf")}
"""What a norm is by its order."""
NONE_HERE = frozenset(("sort", "argsort", "any", "all", "kron", "map", "cross", "median", "cov"))
"""Functions of tensors that have no counterpart and are no mistyped name of another."""
