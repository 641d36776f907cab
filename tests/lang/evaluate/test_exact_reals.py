"""Coefficients as exact numbers: one is zero only where that is certain."""
from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from adcli.lang.evaluate.exact_reals import PI, ExactReal, Undecided, constant, exponential, logarithm, number


def test_coefficients_are_zero_only_where_that_is_certain():
    e, two = exponential(number(1)), number(2)
    assert (e * exponential(number(-1)) - number(1)).terms == {}
    assert (exponential(logarithm(two)) - two).terms == {} and (logarithm(e * e) - two).terms == {}
    root = two.power(Fraction(1, 2))
    assert (root * root - two).terms == {} and (number(Fraction(9, 4)).power(Fraction(1, 2)) - number(Fraction(3, 2))).terms == {}
    assert (root.inverse() * two - root).terms == {}
    assert number(-3).sign == -1 and (PI - number(3)).sign == 1 and ExactReal({}).sign == 0
    sine, cosine = constant("sin", two, math.sin), constant("cos", two, math.cos)
    with pytest.raises(Undecided):
        _ = (sine * sine + cosine * cosine - number(1)).sign


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "asin", "atan", "erf", "lgamma"])
def test_guaranteed_bounds_tell_what_doubles_cannot(name, monkeypatch):
    """The sign and the digits of a number less the double nearest to it, against mpmath; undecided without python-flint."""
    function, q = getattr(math, name), Fraction(5, 7)
    made = constant(name, number(q), function)
    gap = made - number(Fraction(function(5 / 7)))
    with mpmath.workdps(60):
        exact = getattr(mpmath, {"lgamma": "loggamma"}.get(name, name))(mpmath.mpf(5) / 7) - mpmath.mpf(function(5 / 7))
    assert gap.sign == mpmath.sign(exact) and float(gap) == pytest.approx(float(exact), rel=1e-14)
    monkeypatch.setitem(sys.modules, "flint", None)
    again = made - number(Fraction(function(5 / 7)))
    with pytest.raises(Undecided, match="may be zero or not"):
        _ = again.sign
    with pytest.raises(Undecided, match="its digits cancel"):
        float(again)


def test_constants_as_deep_as_a_program_is_long():
    """Bounds are those of each constant once, without recursion."""
    x = number(Fraction(1, 3))
    for _ in range(3000):
        x = constant("sin", x, math.sin) + number(Fraction(1, 3))
    twice = x + constant("sin", x, math.sin) - x - constant("sin", x, math.sin)
    assert twice.terms == {}
    gap = x - number(Fraction(float(x)))
    assert gap.sign in (1, -1) and abs(float(gap)) < 1e-15


@pytest.mark.parametrize("q", [Fraction(10) ** 400, Fraction(1, 10 ** 500), Fraction(7) ** 600 / 3, Fraction(5, 3)])
@pytest.mark.parametrize("degree", [2, 3, 7])
def test_roots_of_numbers_beyond_the_range_of_doubles(q, degree):
    with mpmath.workdps(40):
        want = float(mpmath.root(mpmath.mpf(q.numerator) / q.denominator, degree))
    assert float(number(q).power(Fraction(1, degree))) == pytest.approx(want, rel=1e-14)
