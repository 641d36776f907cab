"""The order of growth: an order of the multiplicative group of monomials, and the one of mathematics."""
from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import pytest
from adcli.lang.evaluate.asymptotic import Beyond
from adcli.lang.evaluate.exact_reals import Undecided
from adcli.lang.evaluate.growth import CONSTANT, LEVELS, SMALL, compare, variable
from adcli.lang.lower.frontend import parse
from germs import at_infinity

CHAIN = ("exp(-exp(x))", "exp(-x**2)", "exp(-2*x)", "exp(-x - sqrt(x))", "exp(-x)", "exp(-x + log(x)**2)", "exp(-sqrt(x))",
         "exp(-log(x)**2)", "x**-pi", "x**-3", "1/x", "exp(-sqrt(log(x)))", "1/log(x)", "1/log(log(x))", "1", "log(log(log(x)))",
         "log(log(x))**7", "sqrt(log(x))", "log(x)", "log(x)*log(log(x))", "log(x)**log(log(x))", "exp(sqrt(log(x)))",
         "sqrt(x)/log(x)", "sqrt(x)", "x", "x*log(log(x))", "x*log(x)", "x**1.001", "x**3", "x**pi", "x**log(x)",
         "exp(x/log(x))", "exp(x)/x**9", "exp(x)", "exp(x)*log(x)", "exp(x + sqrt(x))", "exp(2*x)", "exp(pi*x)", "x**x",
         "gamma(2*x)",
         "exp(x**2)", "2**(x**2)*exp(x**2)", "exp(exp(x)/x)", "exp(exp(x))/exp(x)", "exp(exp(x))", "exp(exp(x) + x)",
         "exp(exp(2*x)/x)", "exp(exp(exp(x)))")
"""Functions of x → ∞, each grows more slowly than the next (G. H. Hardy, Orders of Infinity, 1910, chapters 2 to 4)."""


def monomials(*texts):
    """The monomial of the first term of each."""
    return [at_infinity(parse(f"v = {text}\n")).lead[0] for text in texts]


def test_the_chain_of_hardy():
    chain = monomials(*CHAIN)
    for slow, fast in pairwise(range(len(chain))):
        assert compare(chain[slow], chain[fast]) == -1, (CHAIN[slow], CHAIN[fast])
    for i, j in product(range(0, len(chain), 3), repeat=2):
        assert compare(chain[i], chain[j]) == (i > j) - (i < j), (CHAIN[i], CHAIN[j])
    assert chain[CHAIN.index("1")] is CONSTANT


def test_monomials_are_an_ordered_group():
    """A product of monomials is known in whatever way it was made, and the order is that of products."""
    chain = monomials(*CHAIN[::4])
    for m, n in product(chain, repeat=2):
        assert m * n is n * m and (m * n) / n is m and (m / n) * (n / m) is CONSTANT
        assert (m ** Fraction(2, 3)) ** Fraction(3, 2) is m
        assert compare(m, n) == (m / n).growth == compare(m * SMALL, n * SMALL)
        assert compare(m ** Fraction(-2), n ** Fraction(-2)) == -compare(m, n)


def test_one_function_is_one_monomial():
    for same in (("x**pi/x**3", "exp((pi - 3)*log(x))"), ("exp(2*log(x) + x)", "x*x*exp(x)"), ("x**x", "exp(x*log(x))"),
                 ("log(x)**x", "exp(x*log(log(x)))"), ("exp(log(x)*log(x))", "x**log(x)")):
        first, second = monomials(*same)
        assert first is second, same


def test_towers_higher_than_any_in_use_are_undecided():
    with pytest.raises(Undecided, match="a logarithm taken more than"):
        variable(LEVELS)
    tower = "x" + "".join(f"; t{k} = exp({'x' if k == 1 else f't{k - 1}'})" for k in range(1, 60))
    assert at_infinity(parse(f"a = {tower}; v = t59\n")) == Beyond("exponentials more than 20 deep")
