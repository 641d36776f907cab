"""Constants that are not what they say: the number that a rounded one stands for."""
from __future__ import annotations

from fractions import Fraction

import mpmath
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Lit
from adcli.lang.ir.rounded import Rounded, meant
from adcli.lang.lower.frontend import parse
from adcli.lang.simplify.simplify import simplify
from exact_values import exact_values
from multiple_precision import mpmath_arithmetic
from row_tables import each_row
from session_seed import fixed

X = mpmath.mpf(1.3)
TRUE = {
    "exp2(x)": (lambda k: mpmath.mpf(2) ** X * mpmath.log(2) ** k),
    "log2(x)": (lambda k: mpmath.diff(lambda t: mpmath.log(t), X, k) / mpmath.log(2)),
    "log10(x)": (lambda k: mpmath.diff(lambda t: mpmath.log(t), X, k) / mpmath.log(10)),
    "erf(x)": (lambda k: 2 / mpmath.sqrt(mpmath.pi) * [0, 1, -2 * X, 4 * X * X - 2][k] * mpmath.exp(-X * X)),
    "erfc(x)": (lambda k: -2 / mpmath.sqrt(mpmath.pi) * [0, 1, -2 * X, 4 * X * X - 2][k] * mpmath.exp(-X * X)),
    "lgamma(x)": (lambda k: mpmath.psi(k - 1, X)),
    "x**(1/3)": (lambda k: mpmath.mpf([1, 1, -2, 10][k]) / 3 ** k * mpmath.cbrt(X) / X ** k),
}


@each_row("formula", TRUE)
@each_row("mode", ["forward", "reverse"])
def test_rules_hold_beyond_doubles(formula, mode):
    """Derivatives to order 3 agree with closed forms to 40 digits, whatever constants the rules hold."""
    program = gradient(parse(f"v = {formula}"), mode=mode, order=3)
    with mpmath.workdps(60):
        found = exact_values(program, {"x": 1.3})
        for k in (1, 2, 3):
            assert abs(mpmath.mpf(found[k]) / TRUE[formula](k) - 1) < 1e-40, (formula, k)


def test_a_rounded_constant_would_be_noticed():
    """The same derivative with ln 2 as a plain literal is wrong in the 17th digit."""
    found = exact_values(parse("v = exp2(x) * 0.6931471805599453"), {"x": 1.3})
    with mpmath.workdps(60):
        assert 1e-20 < abs(mpmath.mpf(found[0]) / TRUE["exp2(x)"](1) - 1) < 1e-15


def constant_expression(r, depth):
    """A random expression of constants, and its exact value."""
    if depth == 0 or r.random() < 0.2:
        x = r.choice([0.1, 0.3, 2.0, 3.0, 7.0, 0.7, 1e-9, 123.456, 1e17])
        return repr(x), Fraction(x)
    (a, x), (b, y) = constant_expression(r, depth - 1), constant_expression(r, depth - 1)
    op = r.choice("+-*/") if y else "+"
    return f"({a} {op} {b})", {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else x}[op]


def test_folded_constants_keep_what_they_stand_for():
    r, rounded = fixed("test_folded_constants_keep_what_they_stand_for"), 0
    for _ in range(300):
        text, exact = constant_expression(r, 4)
        program = simplify(parse(f"v = {text} * x"))
        rounded += any(isinstance(a, Lit) and type(a.value) is Rounded for e in program.equations for a in e.args)
        found = exact_values(program, {"x": 1.0})
        with mpmath.workdps(700):
            assert found[0] == 0 == exact or abs(mpmath.mpf(found[0]) * exact.denominator / exact.numerator - 1) < 1e-28, text
        value = evaluate(program, {"x": 1.0})["v"]
        assert value == evaluate(parse(f"v = {text} * x"), {"x": 1.0})["v"] or value != value
    assert rounded > 100


def test_an_overflowing_constant_has_its_meaning():
    found = exact_values(simplify(parse("v = 1e300 * 1e300 / x")), {"x": 1e300})
    assert abs(found[0] / 1e300 - 1) < 1e-15


def test_a_negated_constant_is_negated_in_meaning():
    third = Rounded(1 / 3, ("div", 1.0, 3.0))
    exact = mpmath_arithmetic(50)
    assert meant(-third, exact.functions, exact.constant) == -meant(third, exact.functions, exact.constant)
    assert -third == -1 / 3
