"""The laws of derivatives, over every primitive and every special value, both modes, native and reference."""
from __future__ import annotations

import math

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.simplify.simplify import simplify
from back_ends import BACK_ENDS, MODES, alike, bits, derivatives, same, ulps
from laws import unsimplified
from one_operation import REAL, SPECIAL, program, samples, special_points
from row_tables import each_row
from session_seed import each_choice

import adcli

both_back_ends = pytest.mark.parametrize("back_end", BACK_ENDS)

LINEAR = {"add", "sub", "neg", "mul", "div", "fma", "select", "copysign", "stop"}
"""Rows that are linear in an argument: the partial with respect to it is the other factor (1 in a sum), whatever is NaN; and
`stop`, whose partial is 0 by construction."""
PARTLY = {"pow", "pown", "hypot", "fmin", "fmax", "xlogy", "dxlogy"}
"""Rows whose value can be a number although an argument is NaN, so a partial can be one too."""


def points(op):
    return samples(op, 10) + special_points(op)


@each_row("op, back_end", each_choice(REAL, BACK_ENDS))
def test_both_modes_agree_to_the_bit_and_nan_and_smooth_are_told(op, back_end):
    at = points(op)
    by_forward, by_reverse = (derivatives(program(op), at, mode, back_end) for mode in MODES)
    for point, (one, one_status), (got, status) in zip(at, by_forward, by_reverse, strict=True):
        assert one_status == status, point
        assert {k: bits(x) for k, x in one.items()} == {k: bits(x) for k, x in got.items()}, point
        assert has_nan_where_the_value_is(op, point, got), (point, got)
        assert status != "smooth" or is_finite_with_the_value(op, point, got), (point, got)


def has_nan_where_the_value_is(op, point, got):
    partials = [x for name, x in got.items() if name != "z" and not name.endswith("dc0")]
    if got["z"] == got["z"] or op.name in LINEAR or math.inf in map(abs, point.values()):
        return True
    return (any if op.name in PARTLY else all)(x != x for x in partials)


def is_finite_with_the_value(op, point, got):
    if not math.isfinite(got["z"]) or all(map(math.isfinite, got.values())):
        return True
    operands = all(map(math.isfinite, point.values()))
    return any(abs(x) >= 1e300 or 0 < abs(x) <= 1e-300 for x in point.values()) or (not operands and op.name == "mul")


@both_back_ends
@pytest.mark.parametrize("mode", MODES)
def test_weights_of_a_tie_sum_to_one(mode, back_end):
    f = adcli.compile("v = min(x, y) + max(x, y)").program
    at = [{"x": x, "y": y} for x in SPECIAL for y in SPECIAL if x == x and y == y]
    for point, (got, _) in zip(at, derivatives(f, at, mode, back_end), strict=True):
        assert (got["dv_dx"], got["dv_dy"]) == (1, 1), point


@both_back_ends
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("taken, other", [("x*exp(x)", "log(x)"), ("sqrt(x)*y", "1/x"), ("x/y", "gamma(x)*y"), ("y - x", "x**y")])
def test_select_has_the_gradient_of_the_arm_taken(taken, other, mode, back_end):
    alone = adcli.compile(f"input x, y\nv = {taken}").program
    at = [{"x": x, "y": y} for x in SPECIAL for y in SPECIAL if x == x]
    wanted = [got for got, _ in derivatives(alone, at, mode, back_end)]
    for condition, point_filter in ((f"x < inf ? {taken} : {other}", lambda p: p["x"] < math.inf),
                                    (f"x >= inf ? {other} : {taken}", lambda p: p["x"] < math.inf)):
        chosen = adcli.compile(f"input x, y\nv = {condition}").program
        for point, (got, _), want in zip(at, derivatives(chosen, at, mode, back_end), wanted, strict=True):
            if point_filter(point):
                assert {k: bits(x) for k, x in got.items()} == {k: bits(x) for k, x in want.items()}, point


@both_back_ends
@pytest.mark.parametrize("mode", MODES)
def test_the_square_however_written(mode, back_end):
    at = [{"x": x} for x in SPECIAL]
    one, two, three, four = (derivatives(adcli.compile(f"v = {t}").program, at, mode, back_end)
                             for t in ("x**2", "x*x", "pow(x, 2)", "square(x)"))
    for a, b, c, d in zip(one, two, three, four, strict=True):
        assert bits(a[0]["dv_dx"]) == bits(b[0]["dv_dx"]) == bits(c[0]["dv_dx"]) == bits(d[0]["dv_dx"])
        assert bits(a[0]["v"]) == bits(b[0]["v"]) == bits(c[0]["v"]) == bits(d[0]["v"])


@each_row("op, mode", each_choice(REAL, MODES))
def test_simplification_changes_no_bit(op, mode):
    p = program(op)
    plain = unsimplified(p, mode)
    once, twice = simplify(plain), gradient(p, mode=mode, order=1)
    for at in points(op):
        want = evaluate(plain, at, FLOAT)
        for simple in (once, twice):
            got = evaluate(simple, at, FLOAT)
            assert all(same(got[k], want[k]) for k in got if k in want), at


def test_alike_tells_a_difference():
    assert not alike(1.0, math.nan)
    assert not same(0.0, -0.0)
    assert ulps(1.0, math.nextafter(1.0, 2)) == 1
