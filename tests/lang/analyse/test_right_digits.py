"""How many digits of a result are right, and what an exact value is."""
from __future__ import annotations

import math
import random
import sys
from fractions import Fraction

import mpmath
import pytest
from adcli.lang.analyse.right_digits import EXACT, exact_results, right_digits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, mpmath_arithmetic
from adcli.lang.ir import Lit
from adcli.lang.ir.rounded import Rounded, meant
from adcli.lang.passes.simplify import simplify
from adcli.lang.syntax.parse import parse
from compare_corpus import cases
from one_operation import REAL, special_points
from one_operation import program as program_of
from places import DATA

LOSING = list(cases(DATA / "cancellation"))


def references(case, point):
    """Every number that a point of a case states, by the output and what it is differentiated by."""
    for v, text in point["value"].items():
        yield v, (), text
    for v, partials in point.get("grad", {}).items():
        for x, text in partials.items():
            yield v, (x,), text


def digits_of(x, reference):
    """The right digits of x by the 25 digits of a reference."""
    exact = Fraction(reference)
    error = abs(Fraction(x) - exact)
    if not error:
        return EXACT
    return float(min(max(-mpmath.log10(mpmath.mpf(error.numerator) / error.denominator / abs(mpmath.mpf(reference))), 0), 16)) \
        if exact else 0.0


def judged(case):
    """The digits of every number of a case that has a reference: as counted, and by the reference."""
    program = gradient(parse(case["program"]), case["inputs"])
    for point in case["points"]:
        at = {k: float(x) for k, x in point["at"].items()}
        values = evaluate(program, at, FLOAT)
        found = dict(zip([(r.of or r.name, r.wrt) for r in program.results],
                         right_digits(program, at, [values[r.name] for r in program.results]), strict=True))
        names = {(r.of or r.name, r.wrt): r.name for r in program.results}
        for v, wrt, text in references(case, point):
            x = values[names[v, wrt]]
            if math.isfinite(x):
                yield found[v, wrt], digits_of(x, text), text


@pytest.mark.parametrize("case", LOSING, ids=[c["id"] for c in LOSING])
def test_digits_lost_to_cancellation_are_counted(case):
    """Every number within one digit of the count by the reference, and at least one of them has lost some."""
    counts = list(judged(case))
    assert all(abs(min(d.count, 16) - min(expected, 16)) <= 1 for d, expected, _ in counts)
    assert all(abs(mpmath.mpf(d.value) / mpmath.mpf(text) - 1) < 1e-23 for d, _, text in counts if float(text))
    assert min(expected for _, expected, _ in counts) < 12


def test_there_are_twenty_programs_that_lose_digits():
    assert len({c["id"] for c in LOSING}) >= 20
    assert {c["source"]["licence"].split()[0] for c in LOSING} == {"MIT", "NIST"}


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


@pytest.mark.parametrize("formula", TRUE)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_rules_hold_beyond_doubles(formula, mode):
    """Derivatives to order 3 agree with closed forms to 40 digits, whatever constants the rules hold."""
    program = gradient(parse(f"v = {formula}"), mode=mode, order=3)
    with mpmath.workdps(60):
        found, _ = exact_results(program, {"x": 1.3})
        for k in (1, 2, 3):
            assert abs(mpmath.mpf(found[k]) / TRUE[formula](k) - 1) < 1e-40, (formula, k)


def test_a_rounded_constant_would_be_noticed():
    """The same derivative with ln 2 as a plain literal is wrong in the 17th digit."""
    found, _ = exact_results(parse("v = exp2(x) * 0.6931471805599453"), {"x": 1.3})
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
    r, rounded = random.Random(4), 0
    for _ in range(300):
        text, exact = constant_expression(r, 4)
        program = simplify(parse(f"v = {text} * x"))
        rounded += any(isinstance(a, Lit) and type(a.value) is Rounded for e in program.equations for a in e.args)
        found, _ = exact_results(program, {"x": 1.0})
        with mpmath.workdps(700):
            assert found[0] == 0 == exact or abs(mpmath.mpf(found[0]) * exact.denominator / exact.numerator - 1) < 1e-28, text
        value = evaluate(program, {"x": 1.0})["v"]
        assert value == evaluate(parse(f"v = {text} * x"), {"x": 1.0})["v"] or value != value
    assert rounded > 100


def test_an_overflowing_constant_has_its_meaning():
    found, _ = exact_results(simplify(parse("v = 1e300 * 1e300 / x")), {"x": 1e300})
    assert abs(found[0] / 1e300 - 1) < 1e-15


def test_a_negated_constant_is_negated_in_meaning():
    third = Rounded(1 / 3, ("div", 1.0, 3.0))
    exact = mpmath_arithmetic(50)
    assert meant(-third, exact.functions, exact.constant) == -meant(third, exact.functions, exact.constant)
    assert -third == -1 / 3


SIGNED = {"copysign", "atan2"}
"""Functions that tell one zero from the other, which multiple precision does not."""


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_multiple_precision_follows_doubles_at_special_points(op):
    """The same where the result is a double: infinities and NaN included, but for the sign of zeros and powers of infinities."""
    exact, compared = mpmath_arithmetic(60), 0
    program = program_of(op)
    for at in special_points(op):
        expected = evaluate(program, at)["z"]
        found = evaluate(program, {k: exact.constant(x) for k, x in at.items()}, exact)["z"]
        if (op.name in SIGNED and (0.0 in at.values() or any(x != x for x in at.values()))) or (
                op.name in ("pow", "hypot") and any(math.isinf(x) for x in at.values())) or (
                op.name == "lgamma" and expected == math.inf) or (op.name == "gamma" and 0.0 in at.values()):
            continue
        compared += 1
        if not math.isfinite(expected) and found - found == 0:
            assert abs(found) > sys.float_info.max or expected != expected, at
        else:
            x = float(found)
            assert x == expected or (x != x and expected != expected) or abs(x - expected) <= 1e-13 * abs(expected), at
    assert compared >= 8


@pytest.mark.parametrize("formula", ["exp(exp(exp(x)))", "sin(exp(exp(x)))", "gamma(exp(x))", "exp(-exp(exp(x)))",
                                     "tan(exp(exp(x)))",
                                     "erfc(exp(exp(x)))", "exp(x)**exp(exp(x))", "cosh(sinh(exp(x)))", "fmod(exp(exp(x)), 0.1)"])
def test_towers_of_exponentials_end(formula):
    for x in (50.0, 300.0):
        found = right_digits(gradient(parse(f"v = {formula}")), {"x": x}, [math.inf, math.inf])
        assert [d.count in (0.0, EXACT, None) for d in found] == [True, True]


def test_a_long_program_is_done_in_reasonable_time():
    lines = "\n".join(["s = x"] + [f"s = s * 0.99 + sin(s) / {i + 3}" for i in range(2000)] + ["v = s"])
    program = gradient(parse(lines))
    values = evaluate(program, {"x": 0.3})
    counts = right_digits(program, {"x": 0.3}, list(values.values()))
    assert all(d.count > 9 for d in counts)
