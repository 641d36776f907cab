"""Values between bounds: the bounds hold, what is said to oscillate does, and squeezes have their limits."""
from __future__ import annotations

import math

import mpmath
import pytest
from adcli.lang.analyse.limits import limits
from adcli.lang.evaluate import evaluate, mpmath_arithmetic
from adcli.lang.evaluate.asymptotic import AsymptoticSeries, Between
from adcli.lang.evaluate.asymptotic_arithmetic import Expansions
from adcli.lang.evaluate.exact_reals import ONE
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.simplify import simplify
from germs import at_infinity, total
from session_seed import half

WAVES = ("sin(x)", "cos(x*x)", "round(x) - x", "x*(2 + cos(x))", "trunc(-x)", "1/(3 - sin(x))", "sin(x) > 0 ? 1/x : 2")
FORMS = ("{w}", "-({w})", "({w})**2", "({w})**3", "abs({w})", "1/(4 + ({w})**2)", "({w})*x - x", "({w})/(1 + x)",
         "exp(-abs({w}))", "atan({w})", "max({w}, 1/2)", "min({w}, -1/4)", "hypot({w}, 1)", "fma({w}, 2, 1/x)", "cos({w})",
         "sin({w})", "erfc({w})", "copysign({w}, sin(x))", "atan2({w}, x)", "atan2(1, {w})", "floor({w})", "cosh(({w})/x)",
         "({w})*sin(x)", "({w}) + cos(3*x)", "({w}) - ({w})", "tanh({w})", "2**(({w})/x)", "softplus({w})", "relu({w})")
RARE, GROWING = ("floor({w})",), ("x*(2 + cos(x))",)
"""Where the extremes are met at single points, which samples miss."""


@pytest.mark.parametrize("wave", half([*WAVES]))
def test_bounds_hold_and_are_met_where_that_is_said(wave):
    """Sampled far out: no value leaves the bounds, and values fall below `low` and rise above `high`."""
    arithmetic, bounded = mpmath_arithmetic(60), 0
    for form in FORMS:
        program = parse(f"v = {form.format(w=wave)}\n")
        found = at_infinity(program)
        if not isinstance(found, Between):
            continue
        bounded += 1
        falls, rises = found.low is None, found.high is None
        for k in range(36):
            x = mpmath.mpf(1000) + 2.4 * k
            y = evaluate(program, {"x": arithmetic.constant(0) + x}, arithmetic)["v"]
            with mpmath.workdps(60):
                (least, below), (most, above) = total(found.lower, x), total(found.upper, x)
                assert least - 10 * below <= y <= most + 10 * above, (form, wave, x)
                slack = 10 * (below + above) + 0.15 * (most - least)
                falls = falls or y <= total(found.low, x)[0] + slack
                rises = rises or y >= total(found.high, x)[0] - slack
        assert (falls and rises) or form in RARE or wave in GROWING, (form, wave)
    assert bounded >= 12


@pytest.mark.parametrize("text, x, want", [
    ("x*floor(1/x)", 0.0, 1.0), ("x*sin(1/x)", 0.0, 0.0), ("x/(2 + sin(1/x))", 0.0, 0.0), ("x*(1 - cos(1/x))", 0.0, 0.0),
    ("exp((2 + sin(x))*x)", math.inf, math.inf), ("exp(-x*(2 + sin(x)))", math.inf, 0.0), ("floor(x)/x", math.inf, 1.0),
    ("fmod(x, 7)/x", math.inf, 0.0), ("(x + sin(x))/(x + cos(x))", math.inf, 1.0), ("log(2 + sin(x))/log(x)", math.inf, 0.0),
    ("sin(1/x) > 0 ? x : -x", 0.0, 0.0), ("atan(x + sin(x))", math.inf, math.pi / 2), ("x**2*sin(1/x)/x", 0.0, 0.0),
    ("x*round(3/x)", 0.0, 3.0), ("cos(x*sin(1/x))", 0.0, 1.0), ("max(sin(x), x)/x", math.inf, 1.0),
    ("sin(x) - sin(x)", math.inf, 0.0),
    ("sqrt(x + sin(x)) - sqrt(x)", math.inf, 0.0), ("(1 + sin(x)/x**2)**x", math.inf, 1.0)])
def test_squeezes(text, x, want):
    for side in limits(simplify(parse(f"v = {text}\n")), "v", {"x": x}, "x").sides.values():
        assert side.value == pytest.approx(want, abs=0), (text, side)


@pytest.mark.parametrize("text, within", [
    ("sin(1/x)", "[-1.0, 1.0]"), ("abs(sin(1/x))", "[0.0, 1.0]"), ("sin(1/x)**2", "[0.0, 1.0]"), ("2 + 3*cos(1/x)",
    "[-1.0, 5.0]"),
    ("1/(2 + sin(1/x))", "[0.3333333333333333, 1.0]"), ("fmod(1/x, 1)", "[0.0, 1.0]"), ("1/x - floor(1/x)", "[0.0, 1.0]"),
    ("sin(1/x)/x", None), ("sin(1/x) + x*cos(2/x)", "[-1.0, 1.0]"), ("floor(1/2 + sin(1/x))", "[-1.0, 1.0]"),
    ("sin(1/x)/x - log(x)", None)])
def test_what_is_said_to_oscillate(text, within):
    right = limits(parse(f"v = {text}\n"), "v", {"x": 0.0}, "x").right
    assert right.reason.startswith("it oscillates without end" + (f" within {within}, as" if within else ", as")), right


@pytest.mark.parametrize("text", ["sin(1/x)*cos(1/x)", "sin(1/x) + cos(1/x)", "1/sin(1/x)", "tan(1/x)", "log(sin(1/x)**2)"])
def test_what_is_not_proven_is_not_said(text):
    right = limits(parse(f"v = {text}\n"), "v", {"x": 0.0}, "x").right
    assert right.value is None and right.reason.startswith("undecided")


def test_all_smooth_functions_of_one_argument_take_bounds():
    """A function that neither the table of rising ones nor a method knows has other rows for its value."""
    x = Between(*(Expansions(4).c.scale(Expansions(4).one, ONE * ONE) for _ in range(2)))
    functions = Expansions(4).arithmetic
    for op in TABLE.values():
        if op.arity == 1 and not op.truth and op.name not in ("dup", "gamma", "lgamma", "acosh", "atanh"):
            assert isinstance(functions.apply(op, [x], (None,)), Between | AsymptoticSeries), op.name
