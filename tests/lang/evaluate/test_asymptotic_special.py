"""Expansions of special functions at infinity and at poles, against mpmath far out."""
from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.evaluate.asymptotic import Beyond, nearby
from adcli.lang.evaluate.asymptotic_arithmetic import Expansions
from adcli.lang.evaluate.exact_reals import number
from adcli.lang.evaluate.growth import SMALL
from adcli.lang.lower.frontend import parse
from germs import at_infinity, total

FAR = 10 ** 6


@pytest.mark.parametrize("text, exact", [
    ("erfc(x)", mpmath.erfc), ("erf(x) - 1", lambda x: -mpmath.erfc(x)), ("1 + erf(-x)", mpmath.erfc),
    ("lgamma(x)", mpmath.loggamma), ("gamma(x)", mpmath.gamma), ("digamma(x)", mpmath.digamma),
    ("gamma(x + 1/2)", lambda x: mpmath.gamma(x + 0.5)),
    *[(f"polygamma({n}, x)", lambda x, n=n: mpmath.psi(n, x)) for n in (1, 2, 3, 7)]])
@pytest.mark.parametrize("keep", [4, 6, 9])
def test_sums_at_infinity_are_right_up_to_what_they_leave_out(text, exact, keep):
    found, x = at_infinity(parse(f"v = {text}\n"), keep), mpmath.mpf(FAR)
    with mpmath.workdps(60):
        value, wrong = total(found, x)
        assert abs(value - exact(x)) <= FAR / 10 * wrong   # an order more or less would be seen


@pytest.mark.parametrize("text", ["gamma(x)", "lgamma(x)", "digamma(x)", "polygamma(2, x)"])
def test_on_the_left_there_are_poles_without_end(text):
    found = at_infinity(parse(f"v = {text}\n"), factor=number(-1))
    assert found == Beyond("poles without end")


@pytest.mark.parametrize("pole", [0, -1, -4])
def test_poles_have_their_residues(pole):
    """gamma has the residue (−1)ⁿ/n! at −n, digamma −1 (DLMF 5.2)."""
    for text, want in (("gamma(x)", Fraction((-1) ** -pole, math.factorial(-pole))), ("digamma(x)", Fraction(-1))):
        found = evaluate(parse(f"v = {text}\n"), {"x": nearby(number(pole))}, Expansions(4).arithmetic)["v"]
        m, c = found.lead
        assert m is SMALL ** Fraction(-1) and c.rational == want
