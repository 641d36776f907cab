"""The states of sums: as integers, whatever comes together in them."""
import math
from fractions import Fraction

import pytest

from adcli.rows.sums import ExactSum, Group, Sums


def test_a_sum_is_rounded_once_and_a_quotient_too() -> None:
    terms = [1.0, 2.0 ** -60, -3.5, 1e308, -1e308, 5e-324, -0.0]
    total = sum((ExactSum.term(x) for x in terms), ExactSum())
    exact = sum(map(Fraction, terms))
    assert total.rounded() == float(exact) and total.over(ExactSum(7)) == float(exact / 7)
    assert total + ExactSum.term(math.inf) + ExactSum.term(1.0) == (total + ExactSum.term(1.0)) + ExactSum.term(math.inf)
    assert ExactSum.term(-5e-324).rounded() == -5e-324
    assert math.isnan(total.over(ExactSum())) and total.over(ExactSum.term(-math.inf)) == 0.0


@pytest.mark.parametrize(("terms", "want"), [
    ([math.inf, -math.inf], "nan"), ([math.inf, -1e308], "inf"), ([1.0, math.nan], "nan"), ([1.7e308, 1.7e308], "inf"),
    ([-1.7e308, -1.7e308], "-inf")])
def test_what_ieee_makes_of_terms_that_are_not_finite(terms: list[float], want: str) -> None:
    assert repr(sum(map(ExactSum.term, terms), ExactSum()).rounded()) == want


def test_nothing_is_zero_and_has_no_mean() -> None:
    assert Sums(("v",)).values() == [0.0]
    assert math.isnan(Sums(("v",)).values(mean=True)[0])


def test_states_are_packed_and_those_of_other_names_are_not_added() -> None:
    one = Sums(("u",), {("a", '"'): Group(2, [1, 1, 0, 0, 0, 0, 0], [ExactSum(-3, 7, 1, 2, 3)])})
    assert Sums.unpacked(one.packed()) == one
    with pytest.raises(ValueError, match="different"):
        one.merge(Sums(("v",)))
