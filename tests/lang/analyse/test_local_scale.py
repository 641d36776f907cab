"""The length on which a value varies, found from values alone: in doubles, and where they fail in multiple precision."""
from __future__ import annotations

import math

import pytest
from adcli.lang.analyse.local_scale import exact_scale, ladder, local_scale
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse

SCALES = [("sin(x)", 0.3, 1.0), ("sin(x)", 5e9, 1.0), ("sin(1e7*x)", 2.5, 1e-7), ("sin(x**3)", 1e4, 1e-9),
          ("hypot(x, 1e-300)", 0.0, 1e-300),
          ("atan(1e200*x)", 0.0, 1e-200), ("x + 1e-6*sin(1e8*x)", 1.0, 1e-8), ("cos(x)", math.pi, 1.0), ("sqrt(x*x)", 1e-3, 1e-3),
          ("1/(1e-5 + x)", 0.0, 1e-5), ("tanh(x)", 1e-300, 1.0), ("log(x)", 1e-200, 1e-200)]


def in_doubles(text, x):
    program, steps = parse(f"f = {text}"), ladder(x)
    f = [evaluate(program, {"x": y})["f"] for y in (x, *(x + h for h in steps), *(x - h for h in steps))]
    return local_scale(steps, f[1:1 + len(steps)], f[1 + len(steps):], f[0], 4 * math.ulp(f[0]))


@pytest.mark.parametrize(("text", "x", "want"), SCALES)
def test_it_is_found_within_three_orders_of_magnitude(text, x, want):
    got = in_doubles(text, x)
    assert got is not None and want / 1000 < got < 30 * want


@pytest.mark.parametrize(("text", "x"), [("sin(x)", 1e50), ("sin(x)", 1e300), ("tan(1e9*x)", 1e20), ("cos(x)", 1.7e308)])
def test_where_neighbours_are_too_far_apart_doubles_do_not_show_it_and_multiple_precision_does(text, x):
    assert in_doubles(text, x) is None
    got = exact_scale(parse(f"f = {text}"), {"x": x}, "x", {"f": 1.0})["f"]
    want = 1e-9 if "1e9" in text else 1.0
    assert got is not None and want * 2.0 ** -40 < got < 30 * want


@pytest.mark.parametrize("text", ["x - x", "0*x + 1", "3*x", "sin(x)**2 + cos(x)**2"])
def test_what_never_turns_has_a_scale_as_long_as_is_looked_at(text):
    got = exact_scale(parse(f"f = {text}"), {"x": 1.0}, "x", {"f": 1.0})["f"]
    assert got is not None and got > 2.0 ** -32
