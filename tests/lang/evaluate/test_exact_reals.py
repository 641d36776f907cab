"""Coefficients as exact numbers: one is zero only where that is certain."""
from __future__ import annotations

import math
from fractions import Fraction

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
    with pytest.raises(Undecided):
        _ = (constant("sin", two, math.sin) - number(Fraction(math.sin(2)))).sign
