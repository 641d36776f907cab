"""What a derivative is at every awkward point: each row of the table of conventions, both modes, native and reference."""
from __future__ import annotations

import math

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from back_ends import BACK_ENDS, MODES, alike, derivatives
from row_tables import each_row

import adcli

INF, NAN = math.inf, math.nan

# program, point, partial derivatives with respect to the named inputs, status
TABLE = [
    ("abs(x)", {"x": 0.0}, {"x": 0}, "kink"),
    ("abs(x)", {"x": -0.0}, {"x": 0}, "kink"),
    ("x * stop(x)", {"x": 3.0}, {"x": 3}, "smooth"),
    ("stop(x * y) + x", {"x": 3.0, "y": 0.5}, {"x": 1, "y": 0}, "smooth"),
    ("x * stop(abs(x)) + stop(floor(x))", {"x": 0.0}, {"x": 0}, "smooth"),
    ("x + stop(abs(x)) * abs(x)", {"x": 0.0}, {"x": 1}, "kink"),
    ("x + stop(x > 0 ? sqrt(x) : abs(x))", {"x": 0.0}, {"x": 1}, "smooth"),
    ("y + stop(sqrt(x))", {"x": 0.0, "y": 1.0}, {"x": 0, "y": 1}, "smooth"),
    ("y + stop(1 / x)", {"x": 0.0, "y": 1.0}, {"x": 0, "y": 1}, "pole"),
    ("y + stop(log(x))", {"x": -1.0, "y": 1.0}, {"x": 0, "y": 1}, "domain"),
    ("max(x, y)", {"x": 1.5, "y": 1.5}, {"x": 0.5, "y": 0.5}, "kink"),
    ("max(x, y)", {"x": 0.0, "y": -0.0}, {"x": 0.5, "y": 0.5}, "kink"),
    ("min(x, y)", {"x": 1.5, "y": 1.5}, {"x": 0.5, "y": 0.5}, "kink"),
    ("max(x, x)", {"x": 3.0}, {"x": 1}, "kink"),
    ("min(x, x)", {"x": 3.0}, {"x": 1}, "kink"),
    ("max(x, y, z)", {"x": 2.0, "y": 2.0, "z": 2.0}, {"x": 1 / 3, "y": 1 / 3, "z": 1 / 3}, "kink"),
    ("max(x, y, z)", {"x": 2.0, "y": 1.0, "z": 2.0}, {"x": 0.5, "y": 0, "z": 0.5}, "kink"),
    ("min(x, y, z)", {"x": 2.0, "y": 2.0, "z": 3.0}, {"x": 0.5, "y": 0.5, "z": 0}, "kink"),
    ("max(x, y, z)", {"x": 1.0, "y": 1.0, "z": 3.0}, {"x": 0, "y": 0, "z": 1}, "smooth"),
    ("max(x, y)", {"x": NAN, "y": 1.0}, {"x": NAN, "y": NAN}, "domain"),
    ("min(x, y)", {"x": 1.0, "y": NAN}, {"x": NAN, "y": NAN}, "domain"),
    ("max(x, y, z)", {"x": 1.0, "y": NAN, "z": 0.0}, {"x": NAN, "y": NAN, "z": NAN}, "domain"),
    ("fmax(x, y)", {"x": NAN, "y": 1.0}, {"x": 0, "y": 1}, "domain"),
    ("fmin(x, y)", {"x": 1.0, "y": NAN}, {"x": 1, "y": 0}, "domain"),
    ("fmax(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.5, "y": 0.5}, "kink"),
    ("relu(x)", {"x": 0.0}, {"x": 0}, "kink"),
    ("relu(x)", {"x": -0.0}, {"x": 0}, "kink"),
    ("relu(x)", {"x": NAN}, {"x": NAN}, "domain"),
    ("clamp(x, 0, 1)", {"x": 0.0}, {"x": 1}, "kink"),
    ("clamp(x, 0, 1)", {"x": 1.0}, {"x": 1}, "kink"),
    ("clamp(x, lo, hi)", {"x": 5.0, "lo": 0.0, "hi": 1.0}, {"x": 0, "lo": 0, "hi": 1}, "smooth"),
    ("clamp(x, lo, hi)", {"x": 0.5, "lo": 1.0, "hi": 1.0}, {"x": 0, "lo": 1, "hi": 0}, "kink"),
    ("clamp(x, 1, 1)", {"x": 0.5}, {"x": 0}, "smooth"),
    ("clamp(x, lo, hi)", {"x": 1.0, "lo": 1.0, "hi": 0.0}, {"x": 0, "lo": 0, "hi": 1}, "smooth"),
    ("copysign(x, y)", {"x": 2.0, "y": 0.0}, {"x": 1, "y": 0}, "jump"),
    ("copysign(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0, "y": 0}, "kink"),
    ("sqrt(x)", {"x": 0.0}, {"x": INF}, "singular"),
    ("sqrt(x)", {"x": -0.0}, {"x": INF}, "singular"),
    ("cbrt(x)", {"x": 0.0}, {"x": INF}, "singular"),
    ("cbrt(x)", {"x": -0.0}, {"x": INF}, "singular"),
    ("hypot(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0, "y": 0}, "kink"),
    ("hypot(x, y, z)", {"x": 0.0, "y": 0.0, "z": 0.0}, {"x": 0, "y": 0, "z": 0}, "kink"),
    ("hypot(x, y, z)", {"x": 0.0, "y": 0.0, "z": 2.0}, {"x": 0, "y": 0, "z": 1}, "smooth"),
    ("x**3", {"x": -2.0}, {"x": 12}, "smooth"),
    ("x**3", {"x": 0.0}, {"x": 0}, "smooth"),
    ("x**0", {"x": 0.0}, {"x": 0}, "smooth"),
    ("x**1", {"x": 0.0}, {"x": 1}, "smooth"),
    ("x**1", {"x": -7.0}, {"x": 1}, "smooth"),
    ("x**-2", {"x": 0.0}, {"x": -INF}, "pole"),
    ("x**-1", {"x": -2.0}, {"x": -0.25}, "smooth"),
    ("x**y", {"x": 0.0, "y": 1.5}, {"x": 0, "y": 0}, "smooth"),
    ("x**y", {"x": 0.0, "y": 1.0}, {"x": 1, "y": 0}, "smooth"),
    ("x**y", {"x": 0.0, "y": 0.0}, {"x": 0, "y": -INF}, "singular"),
    ("x**y", {"x": 0.0, "y": 0.5}, {"x": INF, "y": 0}, "singular"),
    ("x**y", {"x": 0.0, "y": -1.0}, {"x": -INF, "y": NAN}, "pole"),
    ("x**y", {"x": -2.0, "y": 2.0}, {"x": -4, "y": NAN}, "domain"),
    ("x**y", {"x": -2.0, "y": 2.0}, {"x": -4}, "smooth"),
    ("x < 1 ? x*x : log(y)", {"x": 0.5, "y": -1.0}, {"x": 1, "y": 0}, "smooth"),
    ("x < 1 ? x*x : 7*x", {"x": 1.0}, {"x": 7}, "jump"),
    ("sqrt(x > 0 ? x : 0)", {"x": -1.0}, {"x": 0}, "singular"),
    ("sqrt(relu(x))", {"x": -1.0}, {"x": 0}, "singular"),
    ("sqrt(max(x, 0))", {"x": -1.0}, {"x": 0}, "singular"),
    *[(f"{f}(x)", {"x": 1.2}, {"x": 0}, "smooth") for f in ("floor", "ceil", "round", "trunc", "sign")],
    *[(f"{f}(x)", {"x": NAN}, {"x": NAN}, "domain") for f in ("floor", "ceil", "round", "trunc", "sign")],
    *[(f"{f}(x)", {"x": 2.0}, {"x": 0}, "jump") for f in ("floor", "ceil", "trunc")],
    ("round(x)", {"x": 2.5}, {"x": 0}, "jump"),
    ("sign(x)", {"x": 0.0}, {"x": 0}, "jump"),
    ("fmod(x, y)", {"x": 7.5, "y": 2.0}, {"x": 1, "y": -3}, "smooth"),
    ("fmod(x, y)", {"x": -7.5, "y": 2.0}, {"x": 1, "y": 3}, "smooth"),
    ("fmod(x, y)", {"x": 6.0, "y": 2.0}, {"x": 1, "y": -3}, "jump"),
    ("atan2(y, x)", {"y": 0.0, "x": 0.0}, {"y": NAN, "x": NAN}, "singular"),
    ("atan2(y, x)", {"y": 0.0, "x": -2.0}, {"y": -0.5, "x": -0.0}, "jump"),
    ("atan2(y, x)", {"y": -0.0, "x": -2.0}, {"y": -0.5, "x": 0.0}, "jump"),
    ("atan2(y, x)", {"y": 0.0, "x": -2.0}, {"x": -0.0}, "smooth"),
    ("atan2(y, x)", {"y": 0.0, "x": 2.0}, {"y": 0.5, "x": -0.0}, "smooth"),
    ("atan2(y, x)", {"y": 1e300, "x": 1e300}, {"y": 5e-301, "x": -5e-301}, "smooth"),
    ("atan2(y, x)", {"y": 1e-300, "x": 1e-300}, {"y": 5e299, "x": -5e299}, "smooth"),
    ("x / y", {"x": 1.0, "y": 0.0}, {"x": INF, "y": -INF}, "pole"),
    ("1 / y", {"y": 0.0}, {"y": -INF}, "pole"),
    *[(f"{f}(x)", {"x": zero}, {"x": INF}, "singular") for f in ("log", "log2", "log10") for zero in (0.0, -0.0)],
    ("log1p(x)", {"x": -1.0}, {"x": INF}, "singular"),
    *[(f, {"x": x}, {"x": NAN}, "domain") for f, x in (
        ("log(x)", -2.0), ("log2(x)", -2.0), ("log10(x)", -2.0), ("log1p(x)", -2.0), ("sqrt(x)", -1.0), ("asin(x)", 2.0),
        ("acos(x)", -2.0), ("acosh(x)", 0.0), ("acosh(x)", -3.0), ("atanh(x)", 2.0), ("rsqrt(x)", -1.0), ("sin(x)", INF),
        ("x**0.5", -1.0), ("gamma(x)", -1.0))],
    ("asin(x)", {"x": 1.0}, {"x": INF}, "singular"),
    ("asin(x)", {"x": -1.0}, {"x": INF}, "singular"),
    ("acos(x)", {"x": 1.0}, {"x": -INF}, "singular"),
    ("acos(x)", {"x": -1.0}, {"x": -INF}, "singular"),
    ("acosh(x)", {"x": 1.0}, {"x": INF}, "singular"),
    ("atanh(x)", {"x": 1.0}, {"x": INF}, "singular"),
    ("atanh(x)", {"x": -1.0}, {"x": INF}, "singular"),
    *[(f, {"x": x}, {"x": d}, "smooth") for f, below, above in (
        ("tanh(x)", 0, 0), ("sigmoid(x)", 0, 0), ("softplus(x)", 0, 1), ("erf(x)", 0, 0), ("erfc(x)", 0, 0))
      for x, d in ((-1e4, below), (1e4, above), (-INF, below), (INF, above), (1e308, above))],
    *[("logaddexp(x, y)", {"x": x, "y": y}, {"x": dx, "y": dy}, "smooth") for x, y, dx, dy in (
        (1e4, 0.0, 1, 0), (-1e4, 0.0, 0, 1), (1e308, 1e308, 0.5, 0.5), (INF, INF, 0.5, 0.5), (-INF, -INF, 0.5, 0.5))],
    ("xlogy(x, y)", {"x": 0.0, "y": 0.0}, {"x": -INF, "y": 0}, "singular"),
    ("xlogy(x, y)", {"x": 0.0, "y": 2.0}, {"x": math.log(2), "y": 0}, "smooth"),
    *[("lgamma(x)", {"x": x}, {"x": NAN}, "pole") for x in (0.0, -1.0, -2.0)],
    ("sqrt(x)**2", {"x": 0.0}, {"x": NAN}, "indeterminate"),
    ("x*sqrt(x)", {"x": 0.0}, {"x": NAN}, "indeterminate"),
]


def name_of(case):
    text, at, partials, _ = case
    return f"{text} at {','.join(f'{k}={v}' for k, v in at.items())} wrt {','.join(partials)}"


@each_row("back_end", BACK_ENDS)
@each_row("mode", MODES)
@each_row("case", TABLE, ids=name_of)
def test_convention(case, mode, back_end):
    text, at, partials, status = case
    program = adcli.compile(f"v = {text}").program
    [(got, word)] = derivatives(program, [at], mode, back_end, wrt=list(partials))
    for x, want in partials.items():
        found = got[f"dv_d{x}"]
        assert alike(found, want) or found == pytest.approx(want, rel=1e-15, nan_ok=True), (x, found)
    assert word == status


VALUES = [
    ("max(x, y)", {"x": NAN, "y": 1.0}, NAN), ("min(x, y)", {"x": 1.0, "y": NAN}, NAN),
    ("fmax(x, y)", {"x": NAN, "y": 1.0}, 1.0), ("fmin(x, y)", {"x": 1.0, "y": NAN}, 1.0),
    ("lgamma(x)", {"x": 0.0}, INF), ("lgamma(x)", {"x": -3.0}, INF),
    ("xlogy(x, y)", {"x": 0.0, "y": 0.0}, 0.0), ("x**0", {"x": NAN}, 1.0),
    ("softplus(x)", {"x": 1e4}, 1e4), ("softplus(x)", {"x": -1e4}, 0.0), ("sigmoid(x)", {"x": -1e4}, 0.0),
    ("logaddexp(x, y)", {"x": 1e4, "y": 1e4}, 1e4 + math.log(2)), ("logaddexp(x, y)", {"x": -INF, "y": -INF}, -INF),
    ("round(x)", {"x": 2.5}, 3.0), ("round(x)", {"x": -0.5}, -1.0),
    ("hypot(x, y)", {"x": 1e200, "y": 1e200}, math.hypot(1e200, 1e200)),
]


@each_row("back_end", BACK_ENDS)
@each_row("text, at, want", VALUES)
def test_value_at_an_awkward_point(text, at, want, back_end):
    program = adcli.compile(f"v = {text}").program
    [(got, _)] = derivatives(program, [at], "reverse", back_end)
    assert alike(got["v"], want) or got["v"] == pytest.approx(want, rel=4e-16)


@each_row("mode", MODES)
@each_row("formula, at", [
    ("log(x)", -2.0), ("log2(x)", -2.0), ("log10(x)", -0.5), ("log1p(x)", -3.0), ("sqrt(x)", -1.0), ("asin(x)", 2.0),
    ("acos(x)", -2.0), ("acosh(x)", 0.5), ("atanh(x)", 2.0), ("x**0.5", -1.0), ("2**y * (x**y)", -1.5), ("xlogy(2, x)", -1.0),
    ("lgamma(x)", -1.0), ("gamma(x)", -2.0)])
def test_outside_the_domain_derivatives_of_every_order_are_nan(formula, at, mode):
    """A NaN that a rule puts in by convention has a derivative that is NaN too, not the zero of a constant."""
    made = gradient(parse(f"param y = 0.5\nv = {formula}\n"), ["x"], mode=mode, order=3)
    got = evaluate(made, {"x": at})
    assert all(math.isnan(got[name]) for name in ("dv_dx", "d2v_dx_dx", "d3v_dx_dx_dx")), got


@pytest.mark.parametrize("mode", MODES)
def test_the_partial_of_a_power_by_its_exponent_stays_nan(mode):
    for x, y in ((-2.0, 3.0), (-2.0, -2000.0), (0.0, -1.0)):
        got = evaluate(gradient(parse("v = x**y\n"), mode=mode, of=["v:y", "v:y,y", "v:x,y"]), {"x": x, "y": y})
        assert all(math.isnan(x) for name, x in got.items() if name != "v"), got
