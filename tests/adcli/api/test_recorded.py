"""Python functions as programs: what NumPy means is what the program computes, and what cannot be written down is an error."""
from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import adcli
from adcli.api.recorded import row_of, written

UFUNCS = sorted({f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc) and row_of(f.__name__, f.nin)})
TRUTHS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not",
          "invert", "bitwise_and", "bitwise_or"}


@pytest.mark.parametrize("name", sorted(set(UFUNCS) - TRUTHS))
def test_a_function_of_numpy_is_that_of_the_language(name):
    function = getattr(np, name)
    f = adcli.compile(lambda x, y: function(x, y)) if function.nin == 2 else adcli.compile(lambda x: function(x))
    with np.errstate(all="ignore"):
        for point in ((0.7, 0.3), (-0.7, 2.5), (1.5, -2.0), (-2.5, -0.4), (2.5, 1.0), (-3.0, 2.0)):
            want = float(function(*point[:function.nin]))
            (got,) = f(dict(zip(f.inputs, point, strict=False))).values()
            assert got == pytest.approx(want, rel=1e-14, nan_ok=True), point


@pytest.mark.parametrize("name, counts, ours", [
    ("maximum", (2, 3), "max"), ("add", (2,), "add"), ("hypot", (2, 3), "hypot"), ("exp", (1,), "exp"), ("where", (3,), "select"),
    ("isfinite", (), None)])
def test_a_function_takes_so_many_operands(name, counts, ours):
    assert {k: row_of(name, k) for k in range(4)} == {k: ours if k in counts else None for k in range(4)}


def test_most_functions_are_known():
    assert {"sin", "arctan2", "hypot", "power", "maximum", "fmin", "square", "reciprocal", "absolute", "logaddexp"} <= set(UFUNCS)
    assert {"remainder", "rint", "floor_divide", "divmod"}.isdisjoint(UFUNCS)   # which mean something else, or nothing


@pytest.mark.parametrize("condition", [
    lambda x, y: x < y, lambda x, y: x >= y, lambda x, y: (x > 0) & (y != 2), lambda x, y: (x == 0.7) | ~(y <= 1),
    lambda x, y: np.logical_and(x < 1, np.logical_not(y > 0))])
def test_conditions_and_where(condition):
    f = adcli.compile(lambda x, y: np.where(condition(x, y), x*y, -x))
    for x, y in ((0.7, 0.3), (-0.7, 2.0), (1.5, 1.5), (0.0, -1.0)):
        assert f(x=x, y=y) == {"f": x*y if condition(np.float64(x), np.float64(y)) else -x}


def loop(x, terms=4, *, scale=2.0):
    total = 0
    for k in range(terms if isinstance(terms, int) else 4):
        total = total + x**k / math.factorial(k)
    return {"sum": scale * total, "terms": terms + 0}


@pytest.mark.parametrize("function, at, want", [
    (lambda x, y: x*y + np.sin(x), {"x": 2.0, "y": 3.0}, {"f": 6 + math.sin(2)}),
    (lambda x, y=2: (x**2, -y/x, abs(x), +x), {"x": -2.0}, {"f": 4.0, "f2": 1.0, "f3": 2.0, "f4": -2.0}),
    (lambda f, x: [f*x, f], {"f": 3.0, "x": 2.0}, {"f2": 6.0, "f3": 3.0}),
    (loop, {"x": 1.0}, {"sum": 2 * (1 + 1 + 1/2 + 1/6), "terms": 4.0}),
    (lambda x, y: np.sum(np.sin(np.array([x, y])) * [1, 2]), {"x": 1.0, "y": 2.0}, {"f": math.sin(1) + 2*math.sin(2)}),
    (lambda x: np.array([1.0, 2.0]) * x, {"x": 3.0}, {"f": 3.0, "f2": 6.0}),
    (lambda x: np.float64(2) * x**0.5 - np.int64(1), {"x": 4.0}, {"f": 3.0}),
    (lambda x: np.clip(x, 0, 1) + x.sin(), {"x": 2.0}, {"f": 1 + math.sin(2)}),
    (lambda x: {"x": x * 2, "c": 7}, {"x": 2.0}, {"x": 4.0, "c": 7.0}),
    (lambda x, /, unused: -x * -2.5e-300, {"x": 1.0, "unused": 0.0}, {"f": 2.5e-300}),
    (lambda x: x * math.inf, {"x": -1.0}, {"f": -math.inf}), (lambda: 2, {}, {"f": 2.0}),
    (lambda t1: (lambda e: e * e)(np.exp(t1)), {"t1": 0.0}, {"f": 1.0}),
])
def test_a_function(function, at, want):
    f = adcli.compile(function)
    assert f(at) == pytest.approx(want, rel=1e-15)
    assert pickle.loads(pickle.dumps(f))(at) == f(at)


def test_what_is_used_twice_is_written_once():
    def doubled(x):
        for _ in range(200):
            x = x * x
        return x
    text = written(doubled)
    assert text.count("mul") == 200 and len(text) < 10_000
    assert adcli.compile(lambda x, y: x*np.sin(y) + 1).text() == adcli.compile("f = x*sin(y) + 1").text()
    assert adcli.compile(lambda x, y: x*np.sin(y)).grad()(x=2.0, y=0.5) == adcli.compile("f = x*sin(y)").grad()(x=2.0, y=0.5)
