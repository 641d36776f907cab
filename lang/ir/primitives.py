"""The primitive table: one row an operation, for both modes, every test and every target.

A row is a name, a signature, one linear map per argument, and columns of plain data. The signature lists the kinds of
the arguments and of the result: `r` real, `t` truth, as in `trr>r`.

A map is written once, in the language itself, as what happens to a seed `t`: `div` has `t / y` and `-(t / y) * z`, where z
is the result. For a scalar operation each map is its own transpose, so forward mode applies it to the argument's tangent
and reverse mode to the adjoint of the result; the two modes cannot drift apart. None is zero by construction; `When(c, m)`
is the map m where c holds and zero by construction elsewhere. The forms are chosen for what they give at the awkward
points of SEMANTICS.md (a `+ 0` turns −0 into +0, `(1 - x) * (1 + x)` keeps the digits of 1 − x²).

Other columns: `status`, where the operation is not smooth; `value`, a definition by other rows for operations that no
machine has; `llvm` (instruction or intrinsic) and `libm` (symbol) for those it has; `domain`, where tests sample; `commutes`;
`hides_nan`, true where a NaN argument can give a result that is a number; `static`, the arguments that are integer
constants; `spelled`, the name in the text where it differs. Adding an operation edits one row and nothing else.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adcli.lang.ir import DOMAIN, JUMP, KINK, POLE, SINGULAR, Primitive, Status
from adcli.lang.ir.build import OPERATORS, Expr, When, apply
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.polygamma import HIGHEST, polygamma_value
from adcli.lang.ir.rounded import Rounded

NAN, INF = math.nan, math.inf
LN2 = Rounded(math.log(2), ("log", 2.0))
PER_LN2, PER_LN10 = (Rounded(1 / math.log(base), ("div", 1.0, ("log", base))) for base in (2.0, 10.0))
TWO_OVER_ROOT_PI = Rounded(2 / math.sqrt(math.pi), ("div", 1.0, ("sqrt", ("atan", 1.0))))
ANY, POSITIVE, UNIT = (-3.0, 3.0), (0.1, 4.0), (-0.95, 0.95)

TABLE: dict[str, Primitive] = {}
Fn = Callable[..., Expr]


def row(name: str, signature: str, *maps: Callable[..., Any] | None, **columns: Any) -> Fn:
    """Enter a row; returns the operation as a function of Exprs, for the rows below it."""
    columns.setdefault("domain", (ANY,) * signature.index(">"))
    primitive = TABLE[name] = Primitive(name, signature, maps, **columns)
    return lambda *args: apply(primitive, *args)


def at(level: int, condition: Callable[..., Any], **marks: Any) -> Status:
    return Status(level, condition, **marks)


# --- Truth: comparisons carry no derivative; a tie of what they compare is where a select may jump.

def comparison(name: str, predicate: str, **columns: Any) -> Fn:
    return row(name, "rr>t", llvm=f"fcmp {predicate}", hides_nan=True,
               status=(at(JUMP, lambda z, x, y: x == y),), **columns)


lt, le, gt, ge = (comparison(n, p) for n, p in (("lt", "olt"), ("le", "ole"), ("gt", "ogt"), ("ge", "oge")))
eq, ne = comparison("eq", "oeq", commutes=True), comparison("ne", "une", commutes=True)
and_ = row("and", "tt>t", llvm="and", commutes=True)
or_ = row("or", "tt>t", llvm="or", commutes=True)
not_ = row("not", "t>t", llvm="xor true")
select = row("select", "trr>r", None, lambda t, z, c, x, y: When(c, t), lambda t, z, c, x, y: When(~c, t),
             llvm="select", hides_nan=True)

# --- Arithmetic. `dup` copies a value; its adjoint is the one sum of reverse mode.

row("dup", "r>rr", lambda t, z, x: t)
add = row("add", "rr>r", lambda t, z, x, y: t, lambda t, z, x, y: t, llvm="fadd", commutes=True)
sub = row("sub", "rr>r", lambda t, z, x, y: t, lambda t, z, x, y: -t, llvm="fsub")
mul = row("mul", "rr>r", lambda t, z, x, y: t * y, lambda t, z, x, y: x * t, llvm="fmul", commutes=True)
div = row("div", "rr>r", lambda t, z, x, y: t / y, lambda t, z, x, y: -(t / y) * z, llvm="fdiv",
          status=(at(POLE, lambda z, x, y: y == 0),), domain=(ANY, POSITIVE))
neg = row("neg", "r>r", lambda t, z, x: -t, llvm="fneg")
fma = row("fma", "rrr>r", lambda t, z, a, b, c: t * b, lambda t, z, a, b, c: a * t, lambda t, z, a, b, c: t,
          llvm="llvm.fma")

# --- Powers. An integer constant as exponent never meets a logarithm: `pown` is multiplications.

LONGEST_CHAIN = 64
"""Largest |n| for which x**n is multiplied out; beyond it libm's pow has the better rounding."""


def pown_value(x: Expr, n: Expr) -> Expr:
    """x**n by repeated squaring, n a constant; for n < 0 the reciprocal of x**−n."""
    count = n.literal.integer
    assert count is not None
    if count < 0:
        return 1 / pown_value(x, x.builder.expr(type(n.literal)(float(-count))))
    if count > LONGEST_CHAIN:
        return apply(TABLE["pow"], x, count)
    if count == 0:
        return x.builder.expr(type(n.literal)(1.0))
    if count == 1:
        return x
    if count % 2:
        return pown_value(x, x.builder.expr(type(n.literal)(float(count - 1)))) * x
    half = pown_value(x, x.builder.expr(type(n.literal)(float(count // 2))))
    return half * half


def pown_map(t: Expr, z: Expr, x: Expr, n: Expr) -> Expr | None:
    """t · n·x**(n−1), with the two factors that are structural for n = 0, 1, 2 left out."""
    count = n.literal.integer
    assert count is not None
    if count == 0:
        return None
    if count == 1:
        return t
    return t * (count * (x if count == 2 else pown(x, count - 1)))


pown = row("pown", "rr>r", pown_map, None, static=(1,), spelled="pow", value=pown_value, hides_nan=True,
           status=(at(POLE, lambda z, x, n: (x == 0) & (n < 0)),), domain=(POSITIVE, (2.0, 3.0)))
SMALLEST = 2.0 ** -1022
"""From here on 1/x is finite, so y·x**(y − 1) is 0 for y = 0, and its derivative with respect to y is 1/x."""
pow_: Fn = row(
    "pow", "rr>r",
    lambda t, z, x, y: t * select((y == 0) & ~(abs_(x) >= SMALLEST), 0, y * pow_(x, y - 1)),
    lambda t, z, x, y: t * select(x < 0, z * log(x), select((x == 0) & (y < 0), z - z, select(z == 0, 0, z * log(x)))),
    libm="pow", hides_nan=True, domain=(POSITIVE, ANY),
    status=(
        at(JUMP, lambda z, x, y: (x == 0) & (y == 0), needs=1),
        at(SINGULAR, lambda z, x, y: (x == 0) & (y > 0) & (y < 1), needs=0),
        at(POLE, lambda z, x, y: (x == 0) & (y < 0)),
        at(POLE, lambda z, x, y: (x == 0) & (y < 0), needs=1, nan=True),
        at(DOMAIN, lambda z, x, y: x < 0, needs=1, nan=True),
        at(SINGULAR, lambda z, x, y: (abs_(y) == INF) | ((x == INF) & (y == 0))),
    ))
sqrt = row("sqrt", "r>r", lambda t, z, x: t * (0.5 / (z + 0)), llvm="llvm.sqrt", domain=(POSITIVE,),
           status=(at(SINGULAR, lambda z, x: x == 0),))
cbrt = row("cbrt", "r>r", lambda t, z, x: t / (3 * (z * z)), libm="cbrt", domain=(POSITIVE,),
           status=(at(SINGULAR, lambda z, x: x == 0),))
hypot = row("hypot", "rr>r", lambda t, z, u, *xs: t * select(z == 0, 0, u / z), variadic=True, libm="hypot",
            commutes=True, hides_nan=True, status=(at(KINK, lambda z, *xs: z == 0),))

# --- Exponentials and logarithms. Outside the domain a derivative is NaN, as the value is.

exp = row("exp", "r>r", lambda t, z, x: t * z, libm="exp")
exp2 = row("exp2", "r>r", lambda t, z, x: t * (z * LN2), libm="exp2")
expm1 = row("expm1", "r>r", lambda t, z, x: t * exp(x), libm="expm1")


def logarithm(name: str, scale: float) -> Fn:
    """A logarithm whose derivative is scale/x."""
    return row(name, "r>r", lambda t, z, x: t * select(x < 0, z, scale / (x + 0)), libm=name, domain=(POSITIVE,),
               status=(at(SINGULAR, lambda z, x: x == 0),))


log: Fn = logarithm("log", 1)
log2, log10 = logarithm("log2", PER_LN2), logarithm("log10", PER_LN10)
log1p = row("log1p", "r>r", lambda t, z, x: t * select(x < -1, z, 1 / (1 + x)), libm="log1p",
            domain=((-0.9, 3.0),), status=(at(SINGULAR, lambda z, x: x == -1),))

# --- Circular and hyperbolic functions.

sin = row("sin", "r>r", lambda t, z, x: t * cos(x), libm="sin")
cos: Fn = row("cos", "r>r", lambda t, z, x: -(t * sin(x)), libm="cos")
tan = row("tan", "r>r", lambda t, z, x: t * (1 + z * z), libm="tan", domain=((-1.4, 1.4),))
at_one = (at(SINGULAR, lambda z, x: abs_(x) == 1),)
asin = row("asin", "r>r", lambda t, z, x: t / sqrt((1 - x) * (1 + x)), libm="asin", domain=(UNIT,), status=at_one)
acos = row("acos", "r>r", lambda t, z, x: -(t / sqrt((1 - x) * (1 + x))), libm="acos", domain=(UNIT,), status=at_one)
atan = row("atan", "r>r", lambda t, z, x: t / (1 + x * x), libm="atan")


def atan2_map(t: Expr, z: Expr, u: Expr, y: Expr, x: Expr) -> Expr:
    """t·u/(x² + y²) without overflow; 0 where x or y is infinite, NaN at the origin."""
    h = hypot(y, x)
    return t * select(h == INF, 0 * z, (u / h) / h)


atan2 = row("atan2", "rr>r", lambda t, z, y, x: atan2_map(t, z, x, y, x), lambda t, z, y, x: -atan2_map(t, z, y, y, x),
            libm="atan2", domain=(POSITIVE, ANY), status=(at(SINGULAR, lambda z, y, x: (x == 0) & (y == 0), nan=True),))
sinh = row("sinh", "r>r", lambda t, z, x: t * cosh(x), libm="sinh")
cosh: Fn = row("cosh", "r>r", lambda t, z, x: t * sinh(x), libm="cosh")
tanh = row("tanh", "r>r", lambda t, z, x: t * ((1 - z) * (1 + z)), libm="tanh")
asinh = row("asinh", "r>r", lambda t, z, x: t / hypot(1, x), libm="asinh")
acosh = row("acosh", "r>r", lambda t, z, x: t / (sqrt(x - 1) * sqrt(x + 1)), libm="acosh", domain=((1.1, 4.0),),
            status=(at(SINGULAR, lambda z, x: x == 1),))
atanh = row("atanh", "r>r", lambda t, z, x: t * select(abs_(x) > 1, z, 1 / ((1 - x) * (1 + x))), libm="atanh",
            domain=(UNIT,), status=at_one)

# --- Pieces. A piece that is not taken contributes nothing, by construction; where the value is NaN so is a partial.


def where_nan(x: Expr, t: Expr) -> When:
    """The map of a step function: zero by construction, NaN where x is."""
    return When(x != x, t * NAN)


def or_nan(t: Expr, one: Expr) -> Expr:
    """t where `one` holds (a comparison that a NaN fails), else NaN."""
    return t * select(one, 1, NAN)


def extremum_map(before: Callable[[Expr, Expr], Expr]) -> Callable[..., When]:
    """The map of max or min: 1/k for each of k equal extrema, NaN where any argument is NaN."""
    def share(t: Expr, z: Expr, u: Expr, *xs: Expr) -> When:
        if len(xs) == 2:
            other = xs[0] if u.atom is xs[1].atom else xs[1]
            weight = select(u == other, 0.5, select(before(u, other), 1, NAN))
            return When(~before(other, u), t * weight)
        count = select(xs[0] == z, 1, 0)
        for x in xs[1:]:
            count = count + select(x == z, 1, 0)
        return When(~before(z, u), t * select(z == z, 1 / count, NAN))
    return share


def tied(z: Expr, *xs: Expr) -> Expr:
    """Whether two or more arguments equal the extremum."""
    if len(xs) == 2:
        return xs[0] == xs[1]
    seen, tie = xs[0] == z, xs[0] != xs[0]
    for x in xs[1:]:
        tie, seen = tie | (seen & (x == z)), seen | (x == z)
    return tie


max_ = row("max", "rr>r", extremum_map(lambda x, y: x > y), variadic=True, llvm="llvm.maximum", commutes=True,
           status=(at(KINK, tied),))
min_ = row("min", "rr>r", extremum_map(lambda x, y: x < y), variadic=True, llvm="llvm.minimum", commutes=True,
           status=(at(KINK, tied),))


def number_map(before: Callable[[Expr, Expr], Expr]) -> tuple[Callable[..., When], Callable[..., When]]:
    """The maps of fmax or fmin: as max and min, but a NaN yields to a number."""
    def share(t: Expr, z: Expr, u: Expr, other: Expr) -> When:
        weight = select(u == other, 0.5, select(u == u, 1, NAN))
        return When(~before(other, u) & ((u == u) | (other != other)), t * weight)
    return (lambda t, z, x, y: share(t, z, x, y)), (lambda t, z, x, y: share(t, z, y, x))


nan_argument = at(DOMAIN, lambda z, x, y: (x != x) | (y != y))
fmax = row("fmax", "rr>r", *number_map(lambda x, y: x > y), libm="fmax", commutes=True, hides_nan=True,
           status=(at(KINK, lambda z, x, y: x == y), nan_argument))
fmin = row("fmin", "rr>r", *number_map(lambda x, y: x < y), libm="fmin", commutes=True, hides_nan=True,
           status=(at(KINK, lambda z, x, y: x == y), nan_argument))
abs_: Fn = row("abs", "r>r", lambda t, z, x: t * sign(x), llvm="llvm.fabs", status=(at(KINK, lambda z, x: x == 0),))
sign: Fn = row("sign", "r>r", lambda t, z, x: where_nan(x, t), status=(at(JUMP, lambda z, x: x == 0),),
           value=lambda x: select(x > 0, 1, select(x < 0, -1, x)))
relu = row("relu", "r>r", lambda t, z, x: When(~(x <= 0), or_nan(t, x > 0)),
           value=lambda x: select(x <= 0, 0, x), status=(at(KINK, lambda z, x: x == 0),))
clamp = row("clamp", "rrr>r",
            lambda t, z, x, lo, hi: When(~(((x < lo) | (x > hi)) & (z == z)), or_nan(t, z == z)),
            lambda t, z, x, lo, hi: When(~(((lo <= x) | (lo > hi)) & (z == z)), or_nan(t, z == z)),
            lambda t, z, x, lo, hi: When(~((x <= hi) & (lo <= hi) & (z == z)), or_nan(t, z == z)),
            value=lambda x, lo, hi: min_(max_(x, lo), hi), domain=(ANY, (-2.0, -1.0), (1.0, 2.0)),
            status=(at(KINK, lambda z, x, lo, hi: (x == lo) | (x == hi)),))
floor = row("floor", "r>r", lambda t, z, x: where_nan(x, t), llvm="llvm.floor",
            status=(at(JUMP, lambda z, x: z == x),))
ceil = row("ceil", "r>r", lambda t, z, x: where_nan(x, t), llvm="llvm.ceil", status=(at(JUMP, lambda z, x: z == x),))
trunc = row("trunc", "r>r", lambda t, z, x: where_nan(x, t), llvm="llvm.trunc",
            status=(at(JUMP, lambda z, x: (z == x) & (x != 0)),))
round_ = row("round", "r>r", lambda t, z, x: where_nan(x, t), llvm="llvm.round",
             status=(at(JUMP, lambda z, x: abs_(x - trunc(x)) == 0.5),))
fmod = row("fmod", "rr>r", lambda t, z, x, y: or_nan(t, z == z), lambda t, z, x, y: -(t * round_((x - z) / y)),
           libm="fmod", domain=(POSITIVE, (1.0, 2.0)), status=(at(JUMP, lambda z, x, y: (z == 0) & (x != 0)),))
fdim = row("fdim", "rr>r", lambda t, z, x, y: When(~(x <= y), or_nan(t, x > y)),
           lambda t, z, x, y: When(~(x <= y), -or_nan(t, x > y)),
           value=lambda x, y: select(x <= y, 0, x - y), status=(at(KINK, lambda z, x, y: x == y),))
copysign: Fn = row("copysign", "rr>r", lambda t, z, x, y: t * (sign(x) * copysign(1, y)), None, llvm="llvm.copysign",
               hides_nan=True,
               status=(at(KINK, lambda z, x, y: x == 0), at(JUMP, lambda z, x, y: y == 0, needs=1)))

# --- Special functions.

erf = row("erf", "r>r", lambda t, z, x: t * (TWO_OVER_ROOT_PI * exp(-(x * x))), libm="erf")
erfc = row("erfc", "r>r", lambda t, z, x: -(t * (TWO_OVER_ROOT_PI * exp(-(x * x)))), libm="erfc")
at_poles = (at(POLE, lambda z, *x: (x[-1] <= 0) & (floor(x[-1]) == x[-1]), nan=True),)
gamma = row("gamma", "r>r", lambda t, z, x: t * (z * digamma(x)), libm="tgamma", domain=(POSITIVE,), status=at_poles)
lgamma = row("lgamma", "r>r", lambda t, z, x: t * digamma(x), libm="lgamma", domain=(POSITIVE,), status=at_poles)
digamma: Fn = row("digamma", "r>r", lambda t, z, x: t * polygamma(1, x), domain=(POSITIVE,), status=at_poles,
              value=lambda x: polygamma_value(0, x))


def polygamma_map(t: Expr, z: Expr, n: Expr, x: Expr) -> Expr:
    """t·ψ⁽ⁿ⁺¹⁾(x), as far as that is known."""
    if n.literal.value >= HIGHEST:
        raise AdError(f"the derivative of polygamma({HIGHEST}, x) is not known", help="differentiate less often")
    return t * polygamma(n.literal.value + 1, x)


polygamma: Fn = row("polygamma", "rr>r", None, polygamma_map, static=(0,),
                domain=((0.0, 2.0), POSITIVE), status=at_poles,
                value=lambda n, x: polygamma_value(n.literal.integer, x))

# --- Functions of learning, whose compositions would overflow or lose their tails.

sigmoid: Fn = row("sigmoid", "r>r", lambda t, z, x: t * (z * sigmoid(-x)), value=lambda x: 1 / (1 + exp(-x)))
softplus = row("softplus", "r>r", lambda t, z, x: t * sigmoid(x),
               value=lambda x: max_(x, 0) + log1p(exp(-abs_(x))))


def logaddexp_map(t: Expr, x: Expr, y: Expr) -> Expr:
    """t·e^x/(e^x + e^y); one half where both are the same infinity."""
    return t * select((x == y) & (abs_(x) == INF), 0.5, sigmoid(x - y))


logaddexp = row("logaddexp", "rr>r", lambda t, z, x, y: logaddexp_map(t, x, y), lambda t, z, x, y: logaddexp_map(t, y, x),
                commutes=True,
                value=lambda x, y: max_(x, y) + log1p(exp(-select((x == y) & (abs_(x) == INF), 0, abs_(x - y)))))
xlogy = row("xlogy", "rr>r", lambda t, z, x, y: t * log(y),
            lambda t, z, x, y: t * select((x == 0) & (y == 0), 0, select((y < 0) & (x != 0), z, x / (y + 0))),
            value=lambda x, y: select((x == 0) & (y == y), 0, x * log(y)), hides_nan=True, domain=(POSITIVE, POSITIVE),
            status=(at(SINGULAR, lambda z, x, y: (y == 0) | ((x == 0) & (y == INF))),))

OPERATORS.update({name: TABLE[name] for name in
                  ("add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")})
