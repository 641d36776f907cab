"""Limits by computation: against known ones, and where there are none or where they are too slow to be seen."""
from __future__ import annotations

import math
import random
import re

import pytest
from adcli.lang.analyse.limits import limits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.simplify.simplify import simplify
from command import adcli
from row_tables import each_row
from session_seed import half

INF, NAN = math.inf, math.nan


def both(text, x, result="dv_dx", **others):
    """The limits from the right and from the left; a reason stands as text."""
    program = parse(f"v = {text}\n")
    program = simplify(program) if result == "v" else gradient(program, None, None, "reverse")
    found = limits(program, result, {"x": x, **others}, "x")
    return tuple(None if s is None else s.reason if s.value is None else s.value for s in (found.right, found.left))


ROOT, LOG = "it is nan: sqrt at <text>:1:{} has no value", "it is nan: log at <text>:1:{} has no value"
POWER = "it is nan: pow at <text>:1:{} has no value"


@pytest.mark.parametrize("text, want", [
    ("x*sqrt(x)", (0.0, ROOT.format(7))), ("sqrt(x)**2", (1.0, ROOT.format(5))), ("exp(log(x))", (1.0, LOG.format(9))),
    ("sin(x)/x", (0.0, 0.0)), ("x**(2/3)*x**(1/3)", (1.0, POWER.format(5)))])
def test_removable_derivatives_at_0(text, want):
    assert both(text, 0.0) == want


@each_row("text, x, value, slope", [
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


EULER, ROOT_PI = 0.5772156649015329, math.sqrt(math.pi)
AT_INFINITY = [
    # Exponentials against powers, powers against logarithms.
    ("x**100/exp(x)", 0.0), ("exp(x)/x**100", INF), ("exp(sqrt(x))/x**9", INF), ("x**x/exp(x)", INF),
    ("exp(x) < exp(2*x) ? 1/x : x", 0.0), ("x**3 > exp(x) ? x : 1/x", 0.0), ("exp(-x)*x**x", INF),
    ("x**pi/x**3", INF), ("x**(1/log(x))", math.e), ("log(x)**log(x)/x", INF), ("log(x)**log(log(x))/x", 0.0),
    ("exp(log(x)**2)/x**5", INF), ("2**x/3**x", 0.0), ("(2**x + 3**x)**(1/x)", 3.0), ("exp2(x)/exp(x*log(2))", 1.0),
    ("(log(x) + x)/(x - log(x))", 1.0), ("exp(x)/(exp(x) + exp(2*x))", 0.0), ("max(exp(x), x**9)/exp(x)", 1.0),
    # Differences of what grows.
    ("log(1 + exp(x)) - x", 0.0), ("log(exp(x) + exp(2*x)) - 2*x", 0.0),
    ("sqrt(x*x + x) - x", 0.5), ("x - x**2*log(1 + 1/x)", 0.5), ("x**(1 + 1/x) - x", INF), ("(x**(1 + 1/x) - x)/log(x)", 1.0),
    ("log(x + 1) - log(x)", 0.0), ("x*(log(x + 1) - log(x))", 1.0),
    ("cbrt(x**3 + x**2) - x", 1 / 3), ("log(sinh(x)) - x", -math.log(2)), ("softplus(x) - x", 0.0),
    ("logaddexp(x, 2*x) - 2*x", 0.0),
    ("acosh(x) - log(x)", math.log(2)), ("asinh(x) - log(2*x)", 0.0),
    ("hypot(x, sqrt(x)) - x", 0.5), ("x - sqrt(x)*sqrt(x - 1)", 0.5),
    # Hyperbolic functions, sigmoids, tails.
    ("sinh(x)/cosh(x)", 1.0), ("exp(x)/(1 + exp(x))", 1.0),
    ("cosh(x)/exp(x)", 0.5), ("atan(exp(x))", math.pi / 2),
    ("x*(pi/2 - atan(x))", 1.0),
    # Multiples of π, and roots of them.
    *((f"x*(cbrt({k}pi/({k}{d})) - cbrt(pi)/{round(d ** (1 / 3))})", 0.0) for k in ("", "3*") for d in (8, 64, 4096)),
    ("x*(sqrt(pi/4) - sqrt(pi)/2)", 0.0), ("x*sin(32*pi)", 0.0), ("x*(1/sqrt(pi/16) - 4/sqrt(pi))", 0.0),
    ("erfc(-x)", 2.0), ("log(erfc(x))/x**2", -1.0), ("erfc(x + 1)/erfc(x)", 0.0),
    # Powers to growing exponents.
    ("(1 + 1/x)**x", math.e), ("(1 + 2/x)**(3*x)", math.exp(6)), ("(1 + 1/x)**(x*x)*exp(-x)", math.exp(-0.5)),
    ("(1 - 1/x)**x", math.exp(-1)), ("x**(1/x)", 1.0), ("(x/(x + 1))**x", math.exp(-1)), ("cos(1/x)**(x*x)", math.exp(-0.5)),
    ("(x + exp(x))**(1/x)", math.e), ("(3**x + 5**x)**(1/x)", 5.0),
    # The gamma function and its relatives.
    ("lgamma(x) - (x - 1/2)*log(x) + x", math.log(2 * math.pi) / 2),
    ("gamma(x + 1)/(x*gamma(x))", 1.0),
    ("gamma(x + 1/2)/(gamma(x)*sqrt(x))", 1.0), ("gamma(x)/x**x", 0.0), ("gamma(x)/exp(x)", INF), ("digamma(x) - log(x)", 0.0),
    ("x*(digamma(x) - log(x))", -0.5), ("x*polygamma(1, x)", 1.0), ("x**3*polygamma(2, x)/x", -1.0), ("exp(digamma(x))/x", 1.0),
    ("lgamma(x + 1) - lgamma(x) - log(x)", 0.0), ("1/gamma(x)", 0.0),
    # Towers.
    ("exp(exp(-x))", 1.0),
    ("exp(x*exp(-x)/(exp(-x) + exp(-2*x**2/(x + 1))))/exp(x)", 1.0),
    ("x/log(x**(log(x**(log(2)/log(x)))))", INF), ("gamma(x + 1)/sqrt(2*pi) - exp(-x)*(x**(x + 1/2) + x**(x - 1/2)/12)", INF),
]
AT_0 = [   # from the right and from the left; NaN where there is none
    ("exp(1/x) < exp(2/x) ? x : 1/x", 0.0, -INF), ("exp(1/x) == exp(2/x) ? x/x : x", 0.0, 0.0),
    ("exp(1/x) - exp(2/x)", -INF, 0.0),
    ("exp(-1/x)/x**9", 0.0, -INF), ("exp(-1/x**2)/x**20", 0.0, 0.0), ("exp(1/x)/(1 + exp(1/x))", 1.0, 0.0), ("x**x", 1.0, NAN),
    ("x*log(x)**9", 0.0, NAN), ("sinh(1/x)/cosh(1/x)", 1.0, -1.0),
    ("((exp(x) - 1)/x)**(1/x)", math.exp(0.5), math.exp(0.5)), ("(sin(x)/x)**(1/x**2)", math.exp(-1 / 6), math.exp(-1 / 6)),
    ("floor(sin(x)/x)", 0.0, 0.0), ("floor(tan(x)/x)", 1.0, 1.0), ("(1 + x)**(1/x)", math.e, math.e),
    ("((1 + x)**(1/x) - exp(1))/x", -math.e / 2, -math.e / 2), ("exp(1/x)*exp(-1/x)", 1.0, 1.0), ("x*exp(1/x)", INF, 0.0),
    ("(cosh(x) - 1)/x**2", 0.5, 0.5), ("x**sin(x)", 1.0, NAN), ("sin(x)**x", 1.0, NAN), ("abs(x)**(1/x)", 0.0, INF),
    ("(cos(x))**(1/x**2)", math.exp(-0.5), math.exp(-0.5)), ("gamma(x) - 1/x", -EULER, -EULER),
    ("x**2*polygamma(1, x)", 1.0, 1.0),
    ("(1 - cos(x))/(x*sin(x))", 0.5, 0.5), ("x**(x**x)", 0.0, NAN),
    ("softplus(1/x) - relu(1/x)", 0.0, 0.0), ("log(x)*log(1 - x)", 0.0, NAN),
    ("(tan(sin(x)) - sin(tan(x)))/x**7", 1 / 30, 1 / 30), ("(x - sin(x))/(x*x*asinh(x))", 1 / 6, 1 / 6),
    ("exp(x*log(x))", 1.0, NAN)]


def agrees(found, want):
    """A limit and the known one; NaN stands for none."""
    return isinstance(found, str) if want != want else found == pytest.approx(want, rel=1e-13, abs=0)


@each_row("text, want", half([*AT_INFINITY]))
def test_limits_at_infinity(text, want):
    """And at 0 of the same function of 1/x."""
    assert agrees(both(text, INF, "v")[1], want)
    assert agrees(both(re.sub(r"\bx\b", "(1/x)", text), 0.0, "v")[0], want)


@each_row("text, right, left", half([*AT_0]))
def test_limits_at_0_from_either_side(text, right, left):
    """And at another point, at 0 from the other side, and after a change of scale."""
    for shifted, x, want in ((text, 0.0, (right, left)), ("(x - 3)", 3.0, (right, left)), ("(-x)", 0.0, (left, right)),
                             ("(5*x)", 0.0, (right, left))):
        found = both(text if shifted == text else re.sub(r"\bx\b", shifted, text), x, "v")
        assert agrees(found[0], want[0]) and agrees(found[1], want[1]), (shifted, found)


def test_limits_of_sums_products_and_quotients_are_those_of_the_parts():
    """Over pairs of the table: where both have a limit and arithmetic knows what becomes of them, no other one is told."""
    parts = [(text, want) for text, want in AT_INFINITY if len(text) < 32]
    draw = random.Random(3)
    for (f, x), (g, y) in zip(draw.sample(parts, 16), draw.sample(parts, 16), strict=True):
        for name, want in (("+", x + y), ("-", x - y), ("*", x * y), ("/", x / y if y else NAN)):
            if want == want and (name != "/" or y):
                found = both(f"({f}) {name} ({g})", INF, "v")[1]
                assert isinstance(found, str) or found == pytest.approx(want, rel=1e-12), (f, name, g)


@pytest.mark.parametrize("text, result, reason", [
    ("sin(1/x)", "v", "it oscillates, here from -0.977 to 0.923"), ("sin(pi/x)", "v", "it oscillates"),
    ("x**2*sin(1/x)", "dv_dx", "it oscillates, here from -0.956 to 1.0"),
    ("sin(1/x)/x", "v", "it oscillates, more and more widely"),
    ("fmod(1/x, 2)", "v", "it oscillates"),
    ("sqrt(sin(1/x))", "v", "it has no value at some distances")])
def test_oscillation_is_told(text, result, reason):
    right, _ = both(text, 0.0, result)
    assert isinstance(right, str) and right.startswith(reason)


@each_row("text, truth", [
    ("1/log(x)", 0), ("log(log(1/x))", INF), ("x**0.001*log(x)**3", 0), ("1 + 1/log(x)", 1), ("atan(log(x))", -math.pi / 2),
    ("log(-log(x))/log(x)", 0), ("x**0.001", 0), ("cos(1/log(x))", 1), ("(1 - tanh(1/x))*exp(2/x)", 2),
    ("exp(exp(1/x))/exp(exp(1/x - 1))", INF), ("sin(log(-log(x)))", NAN), ("cos(log(x))", NAN),
    ("sign(sin(1/x))", NAN), ("exp(1/x)*sin(1/x)", NAN), ("erfc(1/x)*exp(1/x**2)/x", 1 / ROOT_PI)])
def test_what_is_too_slow_or_too_far_out_is_not_settled(text, truth):
    right, _ = both(text, 0.0, "v")
    assert isinstance(right, str) and right.startswith("it is not settled"), (right, truth)


@pytest.mark.parametrize("text, slope", [
    ("hypot(x, 1e-300)", 0.0), ("sqrt(x*x + 1e-24)", 0.0), ("x < 1e-200 ? 3*x : x", 3.0), ("tanh(1e300*x)", 1e300)])
def test_the_smallest_scales_of_a_program_are_not_overlooked(text, slope):
    assert both(text, 0.0)[0] == pytest.approx(slope, rel=1e-14)


def test_bounded_oscillation_times_a_small_number_has_a_limit():
    assert both("x*sin(1/x)", 0.0, "v") == both("sqrt(abs(x))*sin(1/x)", 0.0, "v") == (0.0, 0.0)


def test_what_lies_beyond_doubles_is_told_as_such():
    assert both("exp(800 + x)", 0.0, "v") == ("it is finite, but beyond the range of doubles",) * 2


def test_what_cancels_to_all_digits_is_0():
    """sin² + cos² − 1 is bounded by what doubles have for 0; a part of it that is not is not decided."""
    assert both("(sin(x)**2 + cos(x)**2 - 1)/(x - 2)", 2.0, "v") == (0.0, 0.0)
    assert both("floor(sin(x)**2 + cos(x)**2)", 2.0, "v")[0].startswith("it is not settled")


# ---------------------------------------------------------------- the command


def test_too_long_a_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("adcli.lang.analyse.limits.LONGEST_PROGRAM", 2_000)
    file = tmp_path / "long.ad"
    file.write_text("s = x\n" + "s = sin(s) + x\n" * 1_100 + "v = s/x\n")
    ended = adcli("why", file, "--at", "x=0", "--limit", "--wrt", "x")
    assert (ended.code, ended.out) == (2, "")
    assert "--limit: v takes 2201 operations, at most 2000 are allowed" in ended.err

