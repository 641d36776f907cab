"""Remainders of Taylor's theorem: they tell right derivatives from wrong ones, and a step over a kink tells nothing."""
from __future__ import annotations

import pytest
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.simplify.simplify import simplify
from adcli.lang.verify.differences import ORDERS, RELATIVE_STEPS, Remainder, remainders

FIRST, SECOND, LAST = RELATIVE_STEPS


def remainder(text: str, at: float, slopes: str | None = None) -> Remainder | None:
    """Along x, of the value of one formula and the derivatives of another one."""
    value, other = parse(f"v = {text}"), parse(f"v = {slopes or text}")
    return remainders(value, twice(other), {"x": at}, {"x": 1.0}, {"v": 0.0})["v"]


def twice(program: Program) -> Program:
    return simplify(jvp(simplify(jvp(program, ["x"])), ["x"]))


@pytest.mark.parametrize("text", ["sin(x)", "x**3", "exp(x)*x", "1/x"])
def test_a_right_derivative_leaves_a_remainder_of_the_next_order(text):
    found = remainder(text, 0.7)
    assert found is not None and found.right == (True, True) and found.h == FIRST
    assert found.slopes[0] > 1.9 and found.slopes[1] > 2.9


def test_a_wrong_slope_and_a_wrong_curvature_leave_one_of_their_own_order():
    first = remainder("sin(x)", 0.7, "sin(x) + (x - 0.7)*1e-6")
    second = remainder("sin(x)", 0.7, "sin(x) + (x - 0.7)**2*1e-6")
    assert first is not None and not first.right[0] and first.slopes[0] < ORDERS[0]
    assert second is not None and second.right == (True, False)


@pytest.mark.parametrize(("distance", "step"), [   # from a kink; some steps cross it, and of some not their first half
    (4 * FIRST, FIRST), (0.75 * FIRST, SECOND), (0.25 * FIRST, SECOND), (0.75 * SECOND, LAST), (0.25 * SECOND, LAST)])
def test_no_step_goes_over_a_kink(distance, step):
    for text in ("abs(x)", "max(x, 3*x)", "x < 0 ? x : x + x**2", "floor(x) + x"):
        found = remainder(text, -distance)
        assert found is not None and found.h == step and found.right == (True, True), text


@pytest.mark.parametrize("distance", [0.75 * LAST, 0.25 * LAST])
def test_where_all_steps_go_over_a_kink_nothing_is_known(distance):
    assert remainder("abs(x)", -distance) is None


def test_a_kink_that_half_a_step_does_not_reach_hides_no_wrong_slope():
    """Over it the remainder would seem to fall as fast as that of a right slope."""
    found = remainder("abs(x)", -0.75 * FIRST, "abs(x)*1.000001")
    assert found is not None and found.h < FIRST and not found.right[0]
