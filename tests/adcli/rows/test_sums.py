"""The states of sums: as integers, whatever comes together in them."""
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from adcli.rows.sum_work import ArraySums
from adcli.rows.sums import ExactSum, Group, Sums


def summed(*terms: float) -> Sums:
    total = ArraySums(["v"], keep=False)
    for x in terms:
        total.add([x], 0)
    return total.sums()


def only(sums: Sums) -> Group:
    (_, found), = sums.items()
    return found


def test_a_sum_is_rounded_once_and_a_quotient_too() -> None:
    terms = [1.0, 2.0 ** -60, -3.5, 1e308, -1e308, 5e-324, -0.0]
    found, exact = only(summed(*terms)), sum(map(Fraction, terms))
    assert found.values() == [float(exact)] and found.values(mean=True) == [float(exact / 7)]
    assert only(summed(-5e-324)).values() == [-5e-324]
    assert math.isnan(found.sums[0].over(ExactSum())) and found.sums[0].over(*only(summed(-math.inf)).sums) == 0.0


@pytest.mark.parametrize(("terms", "want"), [
    ([math.inf, -math.inf], "nan"), ([math.inf, -1e308], "inf"), ([1.0, math.nan], "nan"), ([1.7e308, 1.7e308], "inf"),
    ([-1.7e308, -1.7e308], "-inf")])
def test_what_ieee_makes_of_terms_that_are_not_finite(terms: list[float], want: str) -> None:
    assert [repr(x) for x in only(summed(*terms)).values()] == [want]


def test_nothing_is_zero_and_has_no_mean() -> None:
    nothing = only(Sums({"v": ()}, [1]))
    assert nothing.values() == [0.0] and math.isnan(nothing.values(mean=True)[0])


def test_states_are_packed_and_those_of_other_names_are_not_added() -> None:
    total = ArraySums(["u", "v"], "w", keep=False)
    for key, x in (("a", -3e9), ('"', math.inf), ("a", math.nan), ("a", 5e-324)):
        total.add([x, np.full((2, 2), -x)], 1, (key,), -0.1)
    one = total.sums()
    there = Sums.unpacked(json.loads(json.dumps(one.packed())))
    assert list(there.items()) == list(one.items())
    assert [*Sums.unpacked(one.packed(sorted(one.index))).index] == [('"',), ("a",)]
    with pytest.raises(ValueError, match="'v'"):
        Sums({"v": ()}, [1]).merge(Sums({"u": ()}, [1]))
