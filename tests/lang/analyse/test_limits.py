"""Limits by expansion: against known limits, against multiple precision beside the point, and where there are none."""
from __future__ import annotations

import math

import pytest
from adcli.lang.analyse.limits import limits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds

INF = math.inf


def both(text, x, result="dv_dx", **others):
    """The limits from the right and from the left; a reason stands as text."""
    program = gradient(parse(f"v = {text}\n"), None, None, "reverse")
    found = limits(program, result, {"x": x, **others}, "x")
    return tuple(None if s is None else s.reason if s.value is None else s.value for s in (found.right, found.left))


ROOT = "it is nan, a root of a negative number at <text>:1:{}"
LOG = "it is nan, a logarithm of a negative number at <text>:1:{}"


@pytest.mark.parametrize("text, want", [
    ("x*sqrt(x)", (0.0, ROOT.format(7))), ("sqrt(x)**2", (1.0, ROOT.format(5))), ("exp(log(x))", (1.0, LOG.format(9))),
    ("sin(x)/x", (0.0, 0.0)), ("x**(2/3)*x**(1/3)", (1.0, ROOT.format(5)))])
def test_removable_derivatives_at_0(text, want):
    assert both(text, 0.0) == want


@pytest.mark.parametrize("text, x, value, slope", [
    ("sin(x)/x", 0.0, (1.0, 1.0), (0.0, 0.0)), ("(1 - cos(x))/x**2", 0.0, (0.5, 0.5), (0.0, 0.0)),
    ("(exp(x) - 1)/x", 0.0, (1.0, 1.0), (0.5, 0.5)), ("log(1 + x)/x", 0.0, (1.0, 1.0), (-0.5, -0.5)),
    ("1/x", 0.0, (INF, -INF), (-INF, -INF)), ("abs(x)", 0.0, (0.0, 0.0), (1.0, -1.0)),
    ("exp(-1/x)", 0.0, (0.0, INF), (0.0, INF)), ("tanh(1/x)", 0.0, (1.0, -1.0), (0.0, 0.0)),
    ("atan(1/x)", 0.0, (math.pi / 2, -math.pi / 2), (-1.0, -1.0)), ("floor(x)", 2.0, (2.0, 1.0), (0.0, 0.0)),
    ("relu(x)", 0.0, (0.0, 0.0), (1.0, 0.0)), ("sqrt(x*x)", 0.0, (0.0, 0.0), (1.0, -1.0)),
    ("(x**2 - 4)/(x - 2)", 2.0, (4.0, 4.0), (1.0, 1.0)), ("(sqrt(x) - 2)/(x - 4)", 4.0, (0.25, 0.25), (-1 / 64, -1 / 64)),
    ("(exp(x) - exp(1))/(x - 1)", 1.0, (math.e, math.e), (math.e / 2, math.e / 2)),
    ("(sin(x) - sin(2))/(x - 2)", 2.0, (math.cos(2),) * 2, (-math.sin(2) / 2,) * 2),
    ("(exp(log(x)) - 2)/(x - 2)", 2.0, (1.0, 1.0), (0.0, 0.0)), ("sin(x)/(x - pi)", math.pi, (-1.0, -1.0), (0.0, 0.0)),
    ("cos(x)/(x - pi/2)", math.pi / 2, (-1.0, -1.0), (0.0, 0.0)), ("erf(x)/x", 0.0, (2 / math.sqrt(math.pi),) * 2, (0.0, 0.0)),
    ("(log2(x) - 1)/(x - 2)", 2.0, (0.5 / math.log(2),) * 2, (-0.125 / math.log(2),) * 2),
    ("x*gamma(x)", 0.0, (1.0, 1.0), (-0.5772156649015329,) * 2), ("1/gamma(x)", 0.0, (0.0, 0.0), (1.0, 1.0)),
    ("digamma(x) + 1/x", 0.0, (-0.5772156649015329,) * 2, (math.pi ** 2 / 6,) * 2),
    ("asin(x)/x", 0.0, (1.0, 1.0), (0.0, 0.0)), ("atanh(x)/x", 0.0, (1.0, 1.0), (0.0, 0.0)),
    ("fmod(x, 2)", 4.0, (0.0, 2.0), (1.0, 1.0)), ("x < 0 ? 0 : x", 0.0, (0.0, 0.0), (1.0, 0.0)),
    ("softplus(1/x)*x", 0.0, (1.0, 0.0), (0.0, 0.0)),
])
def test_known_limits(text, x, value, slope):
    assert both(text, x, "v") == pytest.approx(value, rel=1e-14)
    assert both(text, x) == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize("text, x, want", [
    ("sqrt(x + 1) - sqrt(x)", INF, (None, 0.0)), ("log(x)/x", INF, (None, 0.0)), ("x/exp(x)", INF, (None, 0.0)),
    ("tanh(x)", -INF, (-1.0, None)), ("(2*x + 1)/(x - 3)", INF, (None, 2.0)), ("exp(x)", -INF, (0.0, None))])
def test_limits_at_infinity_have_one_side(text, x, want):
    assert both(text, x, "v") == want


@pytest.mark.parametrize("text, result, reason", [
    ("sin(1/x)", "v", "it oscillates without end within [-1.0, 1.0], as sin(u) at <text>:1:5 does"),
    ("x**2*sin(1/x)", "dv_dx", "it oscillates without end within [-1.0, 1.0], as sin(u) at <text>:1:10 does"),
])
def test_where_no_limit_is_found_it_is_said_why(text, result, reason):
    right, _ = both(text, 0.0, result)
    assert isinstance(right, str) and right.startswith(reason)


def test_bounded_oscillation_times_a_small_number_has_a_limit():
    assert both("x*sin(1/x)", 0.0, "v") == (0.0, 0.0)


def test_a_number_that_may_be_zero_is_not_decided():
    """sin² + cos² − 1 is 0, but no rule here shows it."""
    right, left = both("(sin(x)**2 + cos(x)**2 - 1)/(x - 2)", 2.0, "v")
    assert "may be zero" in right and "may be zero" in left


# ---------------------------------------------------------------- the command

def test_the_limits_are_told_in_words():
    text = succeeds("why", "-e", "v = 1/x", "--at", "x=0", "--limit").out
    assert "limit: v → inf as x → 0.0 from the right and -inf from the left: the sides differ\n" in text
    text = succeeds("why", "-e", "v = abs(x)", "--at", "x=0", "--limit").out
    assert "limit: dv_dx → 1.0 as x → 0.0 from the right and -1.0 from the left: the sides differ\n" in text
    text = succeeds("why", "-e", "v = sin(1/x)", "--at", "x=0", "--limit").out
    assert "limit: none found for v as x → 0.0: it oscillates without end within [-1.0, 1.0], as sin(u) at -e:1:5 does\n" in text
    (record,) = succeeds("why", "-e", "v = 1/x", "--at", "x=0", "--limit", "--format", "json").records
    assert record["why"][0]["limits"] == [{"result": "v", "wrt": "x", "right": "Infinity", "left": "-Infinity"}]


def test_mixed_second_derivatives_have_limits_along_each_input():
    text = succeeds("why", "-e", "v = sin(x)/x*y", "--at", "x=0,y=2", "--order", "2", "--limit").out
    assert "limit: dv_dy → 1.0 as x → 0.0, from either side" in text
    assert "limit: d2v_dx_dy → 0.0 as x → 0.0, from either side" in text
    assert "limit: d2v_dx_dx → -0.6666666666666666 as x → 0.0, from either side" in text


def test_too_long_a_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("adcli.lang.analyse.limits.LONGEST_PROGRAM", 2_000)
    file = tmp_path / "long.ad"
    file.write_text("s = x\n" + "s = sin(s) + x\n" * 1_100 + "v = s/x\n")
    ended = adcli("why", file, "--at", "x=0", "--limit", "--wrt", "x")
    assert (ended.code, ended.out) == (2, "")
    assert "--limit: v takes 2201 operations, at most 2000 are allowed" in ended.err
