"""Powers of ten against fractions."""
from fractions import Fraction

from adcli.codegen.texts.powers import BITS, HIGHEST, LOWEST, exponent, power


def test_powers_are_rounded_up_to_their_bits() -> None:
    for k in range(LOWEST, HIGHEST + 1):
        true = Fraction(10)**k / Fraction(2)**(exponent(k) - BITS + 1)
        assert 0 <= power(k) - true < 1 and 1 << BITS - 1 <= power(k) < 1 << BITS


def test_the_exponent_is_that_of_the_power_of_two_below() -> None:
    assert all(Fraction(2)**exponent(k) <= Fraction(10)**k < Fraction(2)**(exponent(k) + 1) for k in range(-1233, 1234, 3))
