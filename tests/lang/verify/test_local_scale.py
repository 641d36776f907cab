"""The length on which a value varies, found from values alone in multiple precision."""
from __future__ import annotations

import math

import pytest
from adcli.lang.lower.frontend import parse
from adcli.lang.verify.differences import local_scale
from row_tables import each_row

SCALES = [("sin(x)", 0.3, 1.0), ("sin(x)", 5e9, 1.0), ("sin(1e7*x)", 2.5, 1e-7), ("sin(x**3)", 1e4, 1e-9),
          ("hypot(x, 1e-300)", 0.0, 1e-300),
          ("atan(1e200*x)", 0.0, 1e-200), ("x + 1e-6*sin(1e8*x)", 1.0, 1e-8), ("cos(x)", math.pi, 1.0), ("sqrt(x*x)", 1e-3, 1e-3),
          ("1/(1e-5 + x)", 0.0, 1e-5), ("tanh(x)", 1e-300, 1.0), ("log(x)", 1e-200, 1e-200)]


def found(text, x):
    return local_scale(parse(f"f = {text}"), {"x": x}, "x", {"f": 1.0})["f"]


FAR = [("sin(x)", 1e50, 1.0), ("sin(x)", 1e300, 1.0), ("tan(1e9*x)", 1e20, 1e-9), ("cos(x)", 1.7e308, 1.0)]


@each_row(("text", "x", "want"), [*SCALES, *FAR])
def test_it_is_no_longer_than_what_goes_on_and_not_far_shorter(text, x, want):
    assert want * 2.0 ** -40 < found(text, x) < 1000 * want


@pytest.mark.parametrize("text", ["x - x", "0*x + 1", "3*x", "sin(x)**2 + cos(x)**2"])
def test_what_never_turns_has_a_scale_as_long_as_is_looked_at(text):
    assert found(text, 1.0) > 2.0 ** -32
