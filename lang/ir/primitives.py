"""The primitive table: one row an operation, for both modes, every test and every target.

A row is a name, a signature, one linear map per argument, and columns of plain data. The signature lists the kinds of
the arguments and of the result: `r` real, `t` truth, as in `trr>r`.

A map is written once, in the language itself, as what happens to a seed `t`: `div` has `t / y` and `-(t / y) * z`, where z
is the result. For a scalar operation each map is its own transpose, so forward mode applies it to the argument's tangent
and reverse mode to the adjoint of the result; the two modes cannot drift apart. None is zero by construction; `When(c, m)`
is the map m where c holds and zero by construction elsewhere. The forms are chosen for what they give at the awkward
points of SEMANTICS.md (a `+ 0` turns −0 into +0, `(1 - x) * (1 + x)` keeps the digits of 1 − x²).

Other columns, inert data all of them:

    many        of an operation with any number of arguments, the maps for more of them than the signature has
    status      where the operation is not smooth
    value       a definition by other rows, for operations that no machine has
    llvm, libm  an instruction or intrinsic, or the symbol of a mathematics library, for operations that a machine has
    c, js, python
                the operator or function of C99, of JavaScript and of NumPy, which have those of C if nothing is said; None where
                the language has to write the operation out, since it has none or one that differs at some point
    ulps        how far the result of a machine may be off, in units in the last place: 0 rounds nothing, 0.5 rounds correctly.
                None where other rows define the operation, whose errors add up; `absolute`: the units are those of the larger
                of 1 and the argument, since digits are lost beside the zeros
    static      the arguments that are integer constants
    telling     the arguments that the maps look at whether they are constants
    commutes    its arguments, all of them, can stand in any order
    hides_nan   a NaN among the arguments can give a result that is a number
    pieces      how a piecewise function is put together: "step" (constant on each piece), "hinge" (flat on one side),
                "largest" or "smallest" (of its arguments), "sign" (an argument or its negative), "sawtooth" (it rises, falls
                back and starts again)
    vanishes    0 where its first argument is 0, or where all are (a sum, a length)
    saturates   far out, on one side at least, it levels off: its derivative falls to 0
    factored    its derivative with respect to one argument has another argument as a factor
    periodic    it repeats without end, so there is no limit at infinity
    about       what it is, in a phrase
    args        what its arguments are called in writing; x, or x and y, if nothing is said
    defined     the condition, in terms of these, under which finite arguments have a finite value if it is not too large for
                a double; empty where that is everywhere
    domain      where tests sample
    spelled     the name in the text where it differs
    latex, unicode
                how mathematics writes it: a function's name, an operator, or a form in which #1 and #2 stand for operands.
                The name in the text, if nothing is said

Adding an operation edits one row and nothing else; only an operation that is not defined by others (`value`) needs, beyond it, an
entry in each arithmetic of lang/evaluate that is to know it.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adcli.lang.ir import DOMAIN, JUMP, KINK, POLE, SINGULAR, Lit, ManyArguments, Primitive, Status
from adcli.lang.ir.build import OPERATORS, Expr, When, apply
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.rounded import Rounded
from adcli.lang.ir.special_functions import (
    HIGHEST_ORDER,
    Operations,
    exponential_of_square,
    log_factor,
    log_product_partial,
    normal_probability,
    polygamma_value,
    power_partial,
    quantile,
    scaled_complement,
)
from adcli.lang.ir.special_rows import enter as enter_special_rows

NAN, INF = math.nan, math.inf
LN2 = Rounded(math.log(2), ("log", 2.0))
PER_LN2, PER_LN10 = (Rounded(1 / math.log(base), ("div", 1.0, ("log", base))) for base in (2.0, 10.0))
PER_ROOT_TWO_PI = Rounded(1 / math.sqrt(2 * math.pi), ("div", 1.0, ("sqrt", ("mul", 8.0, ("atan", 1.0)))))
ROOT_TWO_PI = Rounded(math.sqrt(2 * math.pi), ("sqrt", ("mul", 8.0, ("atan", 1.0))))
ROOT_HALF_PI = Rounded(math.sqrt(math.pi / 2), ("sqrt", ("mul", 2.0, ("atan", 1.0))))
HALF_ROOT_PI = Rounded(math.sqrt(math.pi) / 2, ("sqrt", ("atan", 1.0)))
ROOT_HALF = Rounded(math.sqrt(0.5), ("sqrt", 0.5))
TWO_OVER_ROOT_PI = Rounded(2 / math.sqrt(math.pi), ("div", 1.0, ("sqrt", ("atan", 1.0))))
ANY, POSITIVE, UNIT = (-3.0, 3.0), (0.1, 4.0), (-0.95, 0.95)

ARGUMENTS = "x, y, z"
HALF_ULP = 0.5
"""Units in the last place that a correctly rounded result is off by at most."""
FUNCTION_ULPS = 6.0
"""Units in the last place that a function of a mathematics library may be off by, where nothing else is known of it."""

TABLE: dict[str, Primitive] = {}
Fn = Callable[..., Expr]


def row(name: str, signature: str, *maps: Callable[..., Any] | None, **columns: Any) -> Fn:
    """Enter a row; returns the operation as a function of Exprs, for the rows below it."""
    count = signature.index(">")
    machine = "value" not in columns and signature.endswith("r")
    c = columns.get("c", columns.get("libm"))
    function = c is not None and c.isalnum()
    columns = {"domain": (ANY,) * count, "args": ARGUMENTS[:3 * count - 2], "c": c, "js": f"Math.{c}" if function else c,
               "python": f"np.{c}" if function else c, "ulps": FUNCTION_ULPS if machine else None, **columns}
    primitive = TABLE[name] = Primitive(name, signature, maps, **columns)
    return lambda *args: apply(primitive, *args)


def at(level: int, condition: Callable[..., Any], **marks: Any) -> Status:
    return Status(level, condition, **marks)


# --- Truth: comparisons carry no derivative; a tie of what they compare is where a select may jump.

def comparison(name: str, predicate: str, c: str, about: str, **columns: Any) -> Fn:
    return row(name, "rr>t", llvm=f"fcmp {predicate}", c=c, about=f"whether x is {about} y", hides_nan=True,
               status=(at(JUMP, lambda z, x, y: x == y),), **columns)


lt, le = comparison("lt", "olt", "<", "less than"), comparison("le", "ole", "<=", "at most", latex=r"\le")
gt, ge = comparison("gt", "ogt", ">", "greater than"), comparison("ge", "oge", ">=", "at least", latex=r"\ge")
eq = comparison("eq", "oeq", "==", "equal to", js="===", latex="=", commutes=True)
ne = comparison("ne", "une", "!=", "different from", js="!==", latex=r"\ne", commutes=True)
and_ = row("and", "tt>t", llvm="and", c="&&", python="np.logical_and", latex=r"\wedge", commutes=True,
           about="whether both are true")
or_ = row("or", "tt>t", llvm="or", c="||", python="np.logical_or", latex=r"\vee", commutes=True,
          about="whether one of two is true")
not_ = row("not", "t>t", llvm="xor true", c="!", python="np.logical_not", latex=r"\neg",
           about="whether it is false")
select = row("select", "trr>r", None, lambda t, z, c, x, y: When(c, t), lambda t, z, c, x, y: When(~c, t),
             llvm="select", c="?:", python="np.where", hides_nan=True, args="c, x, y",
             latex=r"#2 \text{ if } #1 \text{ else } #3", ulps=0.0, about="x where c is true, else y")

# --- Arithmetic. `dup` copies a value; its adjoint is the one sum of reverse mode.

row("dup", "r>rr", lambda t, z, x: t, vanishes=True, ulps=0.0, about="two copies")
add = row("add", "rr>r", lambda t, z, x, y: t, lambda t, z, x, y: t, llvm="fadd", c="+", ulps=HALF_ULP, commutes=True,
          vanishes=True, about="sum")
sub = row("sub", "rr>r", lambda t, z, x, y: t, lambda t, z, x, y: -t, llvm="fsub", c="-", ulps=HALF_ULP, vanishes=True,
          about="difference")
mul = row("mul", "rr>r", lambda t, z, x, y: t * y, lambda t, z, x, y: x * t, llvm="fmul", c="*", ulps=HALF_ULP, commutes=True,
          vanishes=True, factored=True, latex=r"\cdot", unicode="×", about="product")
div = row("div", "rr>r", lambda t, z, x, y: t / y, lambda t, z, x, y: -(t / y) * z, llvm="fdiv", c="/", ulps=HALF_ULP,
          status=(at(POLE, lambda z, x, y: y == 0),), domain=(ANY, POSITIVE), vanishes=True, factored=True,
          latex=r"\frac{#1}{#2}", about="quotient", defined="y != 0")
neg = row("neg", "r>r", lambda t, z, x: -t, llvm="fneg", c="-", ulps=0.0, vanishes=True, about="the number with the other sign")
stop = row("stop", "r>r", None, value=lambda x: x, ulps=0.0, vanishes=True,
           about="x as a constant: it has no derivative, by construction")
fma = row("fma", "rrr>r", lambda t, z, a, b, c: t * b, lambda t, z, a, b, c: a * t, lambda t, z, a, b, c: t,
          llvm="llvm.fma", c="fma", js=None, python=None, ulps=HALF_ULP,
          factored=True, args="a, b, c", about="a*b + c, rounded once", vanishes=True)

# --- Powers. An integer constant as exponent never meets a logarithm: `pown` is multiplications.

LONGEST_CHAIN = 64
"""Largest |n| for which x**n is multiplied out; beyond it libm's pow has the better rounding."""


def whole(n: Expr) -> int:
    """A static argument."""
    count = n.literal.integer
    assert count is not None
    return count


def pown_value(x: Expr, n: Expr) -> Expr:
    """x**n by repeated squaring, n a constant; for n < 0 the reciprocal of x**−n."""
    count = whole(n)
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
    count = whole(n)
    if count == 0:
        return None
    if count == 1:
        return t
    return t * (count * (x if count == 2 else pown(x, count - 1)))


pown = row("pown", "rr>r", pown_map, None, static=(1,), spelled="pow", value=pown_value, hides_nan=True,
           status=(at(POLE, lambda z, x, n: (x == 0) & (n < 0)),), domain=(POSITIVE, (2.0, 3.0)), vanishes=True, factored=True,
           about="x to the power n, a constant whole number", args="x, n", defined="x != 0 or n >= 0")


def slope_of_power(t: Expr, z: Expr, x: Expr, y: Expr) -> Expr:
    """t·y·x**(y − 1), as this formula where y is a constant: as long as y does not vary, so are its derivatives."""
    return t * (select(y == 0, 0, y * pow_(x, y - 1)) if isinstance(y.atom, Lit) else dpow(x, y, 1, 0))


def growth_of_power(t: Expr, z: Expr, x: Expr, y: Expr) -> Expr:
    """t·x**y·log(x), as this formula where x is a constant beside which it is a number."""
    return t * (z * log(x) if isinstance(x.atom, Lit) and x.literal.value > 0 else dpow(x, y, 0, 1))


pow_: Fn = row(
    "pow", "rr>r", slope_of_power, growth_of_power, libm="pow", js=None, python="np.float_power", hides_nan=True,
    domain=(POSITIVE, ANY), vanishes=True, factored=True, telling=(0, 1), about="x to the power y",
    defined="x > 0 or x == 0 and y >= 0 or x < 0 and y == trunc(y)",
    status=(
        at(JUMP, lambda z, x, y: (x == 0) & (y == 0), needs=1),
        at(SINGULAR, lambda z, x, y: (x == 0) & (y > 0) & (y < 1), needs=0),
        at(POLE, lambda z, x, y: (x == 0) & (y < 0)),
        at(POLE, lambda z, x, y: (x == 0) & (y < 0), needs=1, nan=True),
        at(DOMAIN, lambda z, x, y: x < 0, needs=1, nan=True),
        at(SINGULAR, lambda z, x, y: (abs_(y) == INF) | ((x == INF) & (y == 0))),
    ))


dpow: Fn = row(
    "dpow", "rrrr>r", lambda t, z, x, y, m, n: t * dpow(x, y, whole(m) + 1, whole(n)),
    lambda t, z, x, y, m, n: t * dpow(x, y, whole(m), whole(n) + 1), None, None, static=(2, 3), args="x, y, m, n",
    domain=(POSITIVE, ANY, (0.0, 2.0), (0.0, 2.0)), hides_nan=True, vanishes=True,
    value=lambda x, y, m, n: power_partial(x, y, whole(m), whole(n), operations),
    about="derivative of x**y, m times by x and n times by y",
    defined="x > 0 or x == 0 and y > m or n == 0 and y - m == trunc(y - m) and (x < 0 or y >= 0)",
    status=(
        at(SINGULAR, lambda z, x, y, m, n: (x == 0) & (y >= 0) & (y <= m + 1) & ((n > 0) | (y != floor(y))), needs=0),
        at(SINGULAR, lambda z, x, y, m, n: (x == 0) & (y >= 0) & (y <= m), needs=1),
        at(POLE, lambda z, x, y, m, n: (x == 0) & (y < 0)),
        at(POLE, lambda z, x, y, m, n: (x == 0) & (y < 0), needs=1, nan=True),
        at(DOMAIN, lambda z, x, y, m, n: x < 0, needs=1, nan=True),
        at(SINGULAR, lambda z, x, y, m, n: (abs_(y) == INF) | ((x == INF) & (y <= m))),
    ))


def index_power_map(t: Expr, z: Expr, x: Expr, n: Expr) -> Expr:
    """t · n·x**(n−1), which n = 0 makes 0 at any x."""
    return t * select(n == 0, 0, n * apply(INDEX_POWER, x, n - 1))


INDEX_POWER = Primitive(
    "powi", "rr>r", (index_power_map, None), spelled="pow", llvm="powi", value=pow_, hides_nan=True, vanishes=True, factored=True,
    status=(at(POLE, lambda z, x, n: (x == 0) & (n < 0)),), domain=(POSITIVE, ANY), args="x, n",
    about="x to the power n, a whole number made of indices: the product of n factors x from left to right")
"""Of bodies of comprehensions alone, where indices are, so it is no row of the table: in a program of numbers nothing else is a
whole number by construction. For n < 0 it is 1 divided by the product of −n factors, for n = 0 it is 1 whatever x is."""
singular_at_0 = (at(SINGULAR, lambda z, x: x == 0),)
sqrt = row("sqrt", "r>r", lambda t, z, x: t * (0.5 / (z + 0)), llvm="llvm.sqrt", c="sqrt", ulps=HALF_ULP, domain=(POSITIVE,),
           status=singular_at_0, vanishes=True, saturates=True,
           latex=r"\sqrt{#1}", unicode="√#1", about="square root", defined="x >= 0")
cbrt = row("cbrt", "r>r", lambda t, z, x: t / (3 * (z * z)), libm="cbrt", domain=(POSITIVE,),
           status=singular_at_0, vanishes=True, saturates=True, about="cube root")


hypot: Fn = row("hypot", "rr>r", lambda t, z, x, y: t * unit(x, y), lambda t, z, x, y: t * unit(y, x),
                many=ManyArguments(lambda t, z, u: t * select(z == 0, 0, u / z)), libm="hypot", commutes=True, hides_nan=True,
                status=(at(KINK, lambda z, *xs: z == 0),), vanishes=True,
                about="length of a vector: the root of the sum of squares", args="x, y, …")


def unit_map(t: Expr, w: Expr, x: Expr, y: Expr) -> Expr:
    """t·w·y/h², where h is the length of (x, y) and w a component of (x, y)/h; 0 at the origin."""
    h = hypot(x, y)
    return t * (w * select(h == 0, 0, unit(y, x) / h))


def unit_value(x: Expr, y: Expr) -> Expr:
    h = hypot(x, y)
    return select(h == 0, 0, x / h)


unit: Fn = row("unit", "rr>r", lambda t, z, x, y: unit_map(t, unit(y, x), x, y), lambda t, z, x, y: -unit_map(t, z, x, y),
               value=unit_value, hides_nan=True, status=(at(SINGULAR, lambda z, x, y: (x == 0) & (y == 0)),), vanishes=True,
               saturates=True, factored=True, about="x/hypot(x, y), a component of a unit vector")

# --- Exponentials and logarithms. Outside the domain a derivative is NaN, as the value is.

exp = row("exp", "r>r", lambda t, z, x: t * z, libm="exp", saturates=True, latex=r"\exp", about="exponential function")
exp2 = row("exp2", "r>r", lambda t, z, x: t * (z * LN2), libm="exp2", js=None, saturates=True, about="2 to the power x")
expm1 = row("expm1", "r>r", lambda t, z, x: t * exp(x), libm="expm1", vanishes=True, saturates=True,
            about="exp(x) - 1, accurate near 0")


def logarithm(name: str, scale: float, about: str, **columns: Any) -> Fn:
    """A logarithm whose derivative is scale/x."""
    return row(name, "r>r", lambda t, z, x: t * select(x < 0, z, scale / (x + 0)), libm=name, domain=(POSITIVE,),
               status=singular_at_0, saturates=True, about=about, defined="x > 0", **columns)


log: Fn = logarithm("log", 1, "natural logarithm", latex=r"\ln", unicode="ln")
log2 = logarithm("log2", PER_LN2, "logarithm to the base 2", latex=r"\log_2")
log10 = logarithm("log10", PER_LN10, "logarithm to the base 10", latex=r"\log_{10}")
log1p = row("log1p", "r>r", lambda t, z, x: t * select(x < -1, z, 1 / (1 + x)), libm="log1p",
            domain=((-0.9, 3.0),), status=(at(SINGULAR, lambda z, x: x == -1),), vanishes=True, saturates=True,
            about="log(1 + x), accurate near 0", defined="x > -1")

# --- Circular and hyperbolic functions.

sin = row("sin", "r>r", lambda t, z, x: t * cos(x), libm="sin", vanishes=True, periodic=True, latex=r"\sin", about="sine")
cos: Fn = row("cos", "r>r", lambda t, z, x: -(t * sin(x)), libm="cos", periodic=True, latex=r"\cos", about="cosine")
tan = row("tan", "r>r", lambda t, z, x: t * (1 + z * z), libm="tan", domain=((-1.4, 1.4),), vanishes=True, periodic=True,
          latex=r"\tan", about="tangent")
at_one = (at(SINGULAR, lambda z, x: abs_(x) == 1),)
asin = row("asin", "r>r", lambda t, z, x: t / sqrt(fma(-x, x, 1)), libm="asin", python="np.arcsin", domain=(UNIT,), status=at_one,
           vanishes=True, latex=r"\arcsin", about="arc sine", defined="abs(x) <= 1")
acos = row("acos", "r>r", lambda t, z, x: -(t / sqrt(fma(-x, x, 1))), libm="acos", python="np.arccos", domain=(UNIT,),
           status=at_one, latex=r"\arccos", about="arc cosine", defined="abs(x) <= 1")
lorentz = row("lorentz", "r>r", lambda t, z, x: t * (-2 * (select(z == 0, z, x * z) * z)), value=lambda x: 1 / (1 + x * x),
              saturates=True, about="1/(1 + x**2)")
atan = row("atan", "r>r", lambda t, z, x: t * lorentz(x), libm="atan", python="np.arctan", vanishes=True,
           saturates=True, latex=r"\arctan", about="arc tangent")


def atan2_map(t: Expr, z: Expr, u: Expr, v: Expr) -> Expr:
    """t·u/(u² + v²) without overflow; 0 where u or v is infinite, NaN at the origin."""
    h = hypot(u, v)
    return t * select(h == INF, 0 * z, unit(u, v) / h)


atan2 = row("atan2", "rr>r", lambda t, z, y, x: atan2_map(t, z, x, y), lambda t, z, y, x: -atan2_map(t, z, y, x),
            libm="atan2", python="np.arctan2", domain=(POSITIVE, ANY), vanishes=True,
            status=(at(SINGULAR, lambda z, y, x: (x == 0) & (y == 0), nan=True),
                    at(JUMP, lambda z, y, x: (y == 0) & (x < 0), needs=0)),
            saturates=True, factored=True, about="angle of the point (x, y), from -pi to pi", args="y, x")
sinh = row("sinh", "r>r", lambda t, z, x: t * cosh(x), libm="sinh", vanishes=True, latex=r"\sinh", about="hyperbolic sine")
cosh: Fn = row("cosh", "r>r", lambda t, z, x: t * sinh(x), libm="cosh", latex=r"\cosh", about="hyperbolic cosine")
tanh: Fn = row("tanh", "r>r", lambda t, z, x: t * sech2(x), libm="tanh", vanishes=True, saturates=True, latex=r"\tanh",
           about="hyperbolic tangent")

sech2: Fn = row("sech2", "r>r", lambda t, z, x: t * (-2 * (z * tanh(x))), value=lambda x: pown(1 / cosh(x), 2), saturates=True,
                about="square of the hyperbolic secant, 1/cosh(x)**2")
asinh = row("asinh", "r>r", lambda t, z, x: t / hypot(1, x), libm="asinh", python="np.arcsinh", vanishes=True, saturates=True,
            about="inverse of the hyperbolic sine")
acosh = row("acosh", "r>r", lambda t, z, x: t / sqrt(x - 1) / sqrt(x + 1), libm="acosh", python="np.arccosh",
            domain=((1.1, 4.0),), status=(at(SINGULAR, lambda z, x: x == 1),), saturates=True,
            about="inverse of the hyperbolic cosine", defined="x >= 1")
atanh = row("atanh", "r>r", lambda t, z, x: t * select(abs_(x) > 1, z, 1 / fma(-x, x, 1)), libm="atanh", python="np.arctanh",
            domain=(UNIT,), status=at_one, vanishes=True, about="inverse of the hyperbolic tangent", defined="abs(x) < 1")

# --- Pieces. A piece that is not taken contributes nothing, by construction; where the value is NaN so is a partial.


def where_nan(x: Expr, t: Expr) -> When:
    """The map of a step function: zero by construction, NaN where x is."""
    return When(x != x, t * NAN)


def or_nan(t: Expr, one: Expr) -> Expr:
    """t where `one` holds (a comparison that a NaN fails), else NaN."""
    return t * select(one, 1, NAN)


Share = Callable[..., When]


def extremum_maps(before: Callable[[Expr, Expr], Expr]) -> tuple[tuple[Share, Share], ManyArguments]:
    """The maps of max or min: 1/k for each of k equal extrema, NaN where any argument is NaN."""
    def share(t: Expr, u: Expr, other: Expr) -> When:
        weight = select(u == other, 0.5, select(before(u, other), 1, NAN))
        return When(~before(other, u), t * weight)

    def weight(z: Expr, *xs: Expr) -> Expr:
        count = select(xs[0] == z, 1, 0)
        for x in xs[1:]:
            count = count + select(x == z, 1, 0)
        return select(z == z, 1 / count, NAN)
    many = ManyArguments(lambda t, z, u, weight: When(~before(z, u), t * weight), weight)
    return (lambda t, z, x, y: share(t, x, y), lambda t, z, x, y: share(t, y, x)), many


def tied(z: Expr, *xs: Expr) -> Expr:
    """Whether two or more arguments equal the extremum."""
    if len(xs) == 2:
        return xs[0] == xs[1]
    seen, tie = xs[0] == z, xs[0] != xs[0]
    for x in xs[1:]:
        tie, seen = tie | (seen & (x == z)), seen | (x == z)
    return tie


def extremum(name: str, pieces: str, before: Callable[[Expr, Expr], Expr]) -> Fn:
    maps, many = extremum_maps(before)
    return row(name, "rr>r", *maps, many=many, llvm=f"llvm.{name}imum", js=f"Math.{name}", ulps=0.0, commutes=True, vanishes=True,
               status=(at(KINK, tied),), pieces=pieces, latex=rf"\{name}", about=f"the {pieces}; NaN where one is NaN",
               args="x, y, …")


max_, min_ = extremum("max", "largest", lambda x, y: x > y), extremum("min", "smallest", lambda x, y: x < y)


def number_extremum(name: str, pieces: str, before: Callable[[Expr, Expr], Expr]) -> Fn:
    """As max or min, but a NaN yields to a number."""
    def share(t: Expr, u: Expr, other: Expr) -> When:
        weight = select(u == other, 0.5, select(u == u, 1, NAN))
        return When(~before(other, u) & ((u == u) | (other != other)), t * weight)
    return row(name, "rr>r", lambda t, z, x, y: share(t, x, y), lambda t, z, x, y: share(t, y, x), libm=name, js=None,
               python=None, ulps=0.0, commutes=True, hides_nan=True, pieces=pieces, vanishes=True,
               status=(at(KINK, lambda z, x, y: x == y), at(DOMAIN, lambda z, x, y: (x != x) | (y != y))),
               about=f"the {pieces.replace('st', 'r')}; of a number and NaN the number")


fmax = number_extremum("fmax", "largest", lambda x, y: x > y)
fmin = number_extremum("fmin", "smallest", lambda x, y: x < y)
abs_: Fn = row("abs", "r>r", lambda t, z, x: t * sign(x), llvm="llvm.fabs", c="fabs", js="Math.abs", python="np.abs", ulps=0.0,
               status=(at(KINK, lambda z, x: x == 0),), pieces="sign", vanishes=True, latex=r"\lvert #1 \rvert", unicode="|#1|",
               about="absolute value")
sign: Fn = row("sign", "r>r", lambda t, z, x: where_nan(x, t), status=(at(JUMP, lambda z, x: x == 0),), pieces="step",
               vanishes=True, value=lambda x: select(x > 0, 1, select(x < 0, -1, x)), about="-1, 0 or 1")
relu = row("relu", "r>r", lambda t, z, x: When(~(x <= 0), or_nan(t, x > 0)), pieces="hinge", vanishes=True,
           value=lambda x: select(x <= 0, 0, x), status=(at(KINK, lambda z, x: x == 0),), about="x where it is positive, else 0")
relu2 = row("relu2", "r>r", lambda t, z, x: t * (2 * relu(x)), vanishes=True, saturates=True, pieces="hinge",
            value=lambda x: relu(x) * relu(x), status=(at(KINK, lambda z, x: x == 0, order=2),),
            about="square of relu(x), whose first derivative has a kink at 0")
row("relu3", "r>r", lambda t, z, x: t * (3 * relu2(x)), vanishes=True, saturates=True, pieces="hinge",
    value=lambda x: relu(x) * relu2(x), status=(at(KINK, lambda z, x: x == 0, order=3),),
    about="cube of relu(x), whose second derivative has a kink at 0")
clamp = row("clamp", "rrr>r",
            lambda t, z, x, lo, hi: When(~(((x < lo) | (x > hi)) & (z == z)), or_nan(t, z == z)),
            lambda t, z, x, lo, hi: When(~(((lo <= x) | (lo > hi)) & (z == z)), or_nan(t, z == z)),
            lambda t, z, x, lo, hi: When(~((x <= hi) & (lo <= hi) & (z == z)), or_nan(t, z == z)),
            value=lambda x, lo, hi: min_(max_(x, lo), hi), domain=(ANY, (-2.0, -1.0), (1.0, 2.0)), pieces="hinge",
            vanishes=True, args="x, lo, hi",
            status=(at(KINK, lambda z, x, lo, hi: (lo <= hi) & ((x == lo) | (x == hi))),
                    *[at(KINK, lambda z, x, lo, hi: (lo == hi) & (x < lo), needs=bound) for bound in (1, 2)]),
            about="x, or the bound that it is beyond")


def rounded(name: str, about: str, jumps: Callable[..., Expr] = lambda z, x: z == x, **columns: Any) -> Fn:
    """The rounding of a number in one way, constant between jumps."""
    return row(name, "r>r", lambda t, z, x: where_nan(x, t), llvm=f"llvm.{name}", c=name, ulps=0.0, pieces="step", vanishes=True,
               status=(at(JUMP, jumps),), about=about, **columns)


floor: Fn = rounded("floor", "the largest whole number not above x")
ceil = rounded("ceil", "the smallest whole number not below x")
trunc = rounded("trunc", "the whole part: rounded towards 0", lambda z, x: (z == x) & (x != 0))
round_ = rounded("round", "the nearest whole number, halves away from 0", lambda z, x: abs_(x - trunc(x)) == 0.5, js=None,
                 python=None)
fmod = row("fmod", "rr>r", lambda t, z, x, y: t * select(z == z, 1, z), lambda t, z, x, y: -(t * round_((x - z) / y)),
           libm="fmod", js="%", ulps=0.0, domain=(POSITIVE, (1.0, 2.0)), status=(at(JUMP, lambda z, x, y: (z == 0) & (x != 0)),),
           pieces="sawtooth", vanishes=True, about="remainder of x/y, with the sign of x", defined="y != 0")
fdim = row("fdim", "rr>r", lambda t, z, x, y: When(~(x <= y), or_nan(t, x > y)),
           lambda t, z, x, y: When(~(x <= y), -or_nan(t, x > y)), pieces="hinge", vanishes=True, c="fdim", js=None, python=None,
           value=lambda x, y: select(x <= y, 0, x - y), status=(at(KINK, lambda z, x, y: x == y),),
           about="x - y where that is positive, else 0")
copysign: Fn = row("copysign", "rr>r", lambda t, z, x, y: t * (sign(x) * copysign(1, y)), None, llvm="llvm.copysign",
                   c="copysign", js=None, ulps=0.0, hides_nan=True, pieces="sign", vanishes=True,
                   status=(at(KINK, lambda z, x, y: x == 0), at(JUMP, lambda z, x, y: (y == 0) & (x != 0), needs=1)),
                   about="x with the sign of y")

# --- Special functions.

erfc = row("erfc", "r>r", lambda t, z, x: -(t * (TWO_OVER_ROOT_PI * gauss(x))), libm="erfc", js=None, python=None, saturates=True,
           about="1 - erf(x), accurate in the tail")
operations: Operations = Operations(select, abs_, floor, round_, log, log1p, pow_, pown, sin, cos, exp, sqrt, fma, erfc)
gauss: Fn = row("gauss", "r>r", lambda t, z, x: t * (-2 * select(z == 0, z, x * z)), saturates=True,
            value=lambda x: exponential_of_square(x, -1.0, operations), about="exp(-x**2), accurate far out")
erf = row("erf", "r>r", lambda t, z, x: t * (TWO_OVER_ROOT_PI * gauss(x)), libm="erf", js=None, python=None, vanishes=True,
          saturates=True, about="error function")
normal_pdf = row("normal_pdf", "r>r", lambda t, z, x: t * -select(z == 0, z, x * z), saturates=True,
                 value=lambda x: PER_ROOT_TWO_PI * exponential_of_square(x, -0.5, operations),
                 about="density of the standard normal distribution")
normal_cdf = row("normal_cdf", "r>r", lambda t, z, x: t * normal_pdf(x), value=lambda x: normal_probability(x, operations),
                 saturates=True, about="probability of the standard normal distribution up to x")
derfcx: Fn = row("derfcx", "rr>r", lambda t, z, x, n: t * derfcx(x, whole(n) + 1), None, static=(1,), args="x, n", saturates=True,
                 domain=(ANY, (0.0, 2.0)), value=lambda x, n: scaled_complement(x, whole(n), operations),
                 about="derivative n of exp(x**2)*erfc(x)")
erfcx = row("erfcx", "r>r", lambda t, z, x: t * derfcx(x, 1), value=lambda x: scaled_complement(x, 0, operations), saturates=True,
            about="exp(x**2)*erfc(x) without overflow in the tail")


def quantile_slope(t: Expr, z: Expr, p: Expr) -> Expr:
    """t·√(2π)·exp(z²/2), which far out is a function of the probability beyond z as well, and loses no digits as such."""
    s, tail = abs_(z), select(p < 0.5, p, 1 - p)
    far = ROOT_HALF_PI * erfcx(min_(s, LARGE) * ROOT_HALF) / tail
    return t * select(s < 1, ROOT_TWO_PI * exp(0.5 * (z * z)), far)


def erfinv_slope(t: Expr, z: Expr, x: Expr) -> Expr:
    """t·√π/2·exp(z²), and the same far out."""
    s = abs_(z)
    far = erfcx(min_(s, LARGE)) / (1 - abs_(x))
    return t * (HALF_ROOT_PI * select(s < 0.7, exp(z * z), far))


LARGE = 1e30
normal_quantile = row("normal_quantile", "r>r", quantile_slope, domain=((0.05, 0.95),), args="p", defined="p > 0 and p < 1",
                      value=lambda p: quantile(p - 0.5, select(p < 0.5, p, 1 - p), operations),
                      status=(at(SINGULAR, lambda z, p: (p == 0) | (p == 1)),),
                      about="quantile of the standard normal distribution")
erfinv = row("erfinv", "r>r", erfinv_slope, domain=(UNIT,), vanishes=True, defined="abs(x) < 1",
             value=lambda x: math.sqrt(0.5) * quantile(x / 2, (1 - abs_(x)) / 2, operations),
             status=(at(SINGULAR, lambda z, x: abs_(x) == 1),), about="inverse of the error function")
at_poles = (at(POLE, lambda z, *x: (x[-1] <= 0) & (floor(x[-1]) == x[-1]), nan=True),)
beside_poles = "x > 0 or x != floor(x)"
gamma = row("gamma", "r>r", lambda t, z, x: t * (z * digamma(x)), libm="tgamma", js=None, python=None, ulps=16.0,
            domain=(POSITIVE,), status=at_poles, about="gamma function", defined=beside_poles)
lgamma = row("lgamma", "r>r", lambda t, z, x: t * digamma(x), libm="lgamma", js=None, python=None, ulps=16.0, absolute=True,
             domain=(POSITIVE,), status=at_poles, about="logarithm of abs(gamma(x))", defined=beside_poles)
digamma: Fn = row("digamma", "r>r", lambda t, z, x: t * polygamma(1, x), domain=(POSITIVE,), status=at_poles,
                  value=lambda x: polygamma_value(0, x, operations), saturates=True, about="derivative of log(gamma(x))",
                  defined=beside_poles)


def polygamma_map(t: Expr, z: Expr, n: Expr, x: Expr) -> Expr:
    """t·ψ⁽ⁿ⁺¹⁾(x), as far as that is known."""
    if whole(n) >= HIGHEST_ORDER:
        raise AdError(f"the derivative of polygamma({HIGHEST_ORDER}, x) is not known", help="differentiate less often")
    return t * polygamma(whole(n) + 1, x)


polygamma: Fn = row("polygamma", "rr>r", None, polygamma_map, static=(0,),
                domain=((0.0, 2.0), POSITIVE), status=at_poles,
                value=lambda n, x: polygamma_value(whole(n), x, operations),
                saturates=True, about="derivative n of digamma, n a constant whole number", args="n, x",
                defined=beside_poles)

# --- Functions of learning, whose compositions would overflow or lose their tails.

# The exponential is that of `softplus`, and of the sigmoid of -x.
sigmoid: Fn = row("sigmoid", "r>r", lambda t, z, x: t * (0.25 * sech2(0.5 * x)), saturates=True,
                  value=lambda x: select(x < 0, exp(-abs_(x)), 1) * (1 / (1 + exp(-abs_(x)))),
                  about="logistic function, 1/(1 + exp(-x))")
softplus = row("softplus", "r>r", lambda t, z, x: t * sigmoid(x), saturates=True,
               value=lambda x: max_(x, 0) + log1p(exp(-abs_(x))), about="log(1 + exp(x)) without overflow")


def logaddexp_map(t: Expr, x: Expr, y: Expr, gap: Expr) -> Expr:
    """t·sigmoid(gap), where gap is x - y or its negative; one half where both are the same infinity."""
    return t * select((x == y) & (abs_(x) == INF), 0.5, sigmoid(gap))


logaddexp = row("logaddexp", "rr>r", lambda t, z, x, y: logaddexp_map(t, x, y, x - y),
                lambda t, z, x, y: logaddexp_map(t, x, y, -(x - y)),
                commutes=True, saturates=True, about="log(exp(x) + exp(y)) without overflow",
                value=lambda x, y: max_(x, y) + log1p(select((x == y) & (abs_(x) == INF), 1, exp(-abs_(x - y)))))
xlogy = row("xlogy", "rr>r", lambda t, z, x, y: t * log(y), lambda t, z, x, y: t * dxlogy(x, y, 1),
            value=lambda x, y: log_product_partial(x, y, 0, operations), hides_nan=True, domain=(POSITIVE, POSITIVE),
            status=(at(SINGULAR, lambda z, x, y: (y == 0) | ((x == 0) & (y == INF))),), vanishes=True, factored=True,
            about="x*log(y), and 0 where x is 0", defined="x == 0 or y > 0")


def dxlogy_map(t: Expr, y: Expr, n: Expr) -> Expr:
    """t times the n-th derivative of log(y), a power of the first one."""
    return t * (log_factor(whole(n)) * pown(select(y < 0, log(y), 1 / (y + 0)), whole(n)) if whole(n) else log(y))


dxlogy: Fn = row("dxlogy", "rrr>r", lambda t, z, x, y, n: dxlogy_map(t, y, n),
                 lambda t, z, x, y, n: t * dxlogy(x, y, whole(n) + 1), None, static=(2,), args="x, y, n",
                 domain=(POSITIVE, POSITIVE, (0.0, 2.0)), value=lambda x, y, n: log_product_partial(x, y, whole(n), operations),
                 status=(at(SINGULAR, lambda z, x, y, n: y == 0),), vanishes=True, factored=True, defined="x == 0 or y > 0",
                 about="derivative of x*log(y), n times by y")

enter_special_rows(row, TABLE)
OPERATORS.update({name: TABLE[name] for name in
                  ("add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")})
