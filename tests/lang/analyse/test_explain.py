"""The causes of every NaN, infinity and zero: those of the table of conventions, and all that a derivative program gives."""
from __future__ import annotations

import math
import time

import pytest
from adcli.lang.analyse.explain import kind_of
from adcli.lang.analyse.findings import bad, explained, explained_second, other_mode
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import succeeds
from hypothesis import given
from hypothesis import strategies as st
from random_programs import law, points, samples
from row_tables import each_row

from adcli.answers.cause_texts import HOW
from adcli.why.causes import LINEAR, Words

INF, NAN = math.inf, math.nan
MODES = ("reverse", "forward")


def findings(text, at, wrt=None, mode="reverse", order=1):
    program = parse(f"v = {text}\n" if "=" not in text.replace("==", "") else text)
    names = wrt or [p.name for p in program.params]
    asked = [ask(program, at, names, mode == "forward") for ask in (explained, explained_second)[:order]]
    return [(explainer, f) for explainer, found in asked for f in found]


def causes(text, at, wrt=None, mode="reverse"):
    """name → the kinds of the causes, each with its operation."""
    return {f.name: [(c.kind, c.equation.op.name if c.equation else c.name) for c in f.causes]
            for _, f in findings(text, at, wrt, mode)}


X0 = [("input", "x")]
"""A zero, an infinity or a NaN that was given."""


def same(kind, operation, *names):
    return {name: [(kind, operation)] for name in names}


# Every row of the table of conventions: program, point, what there is to explain.
CONVENTIONS = [
    ("abs(x)", {"x": 0.0}, {"v": X0, "dv_dx": [("kink", "abs")]}),
    ("abs(x)", {"x": -0.0}, {"v": X0, "dv_dx": [("kink", "abs")]}),
    ("max(x, y)", {"x": 1.5, "y": 1.5}, {}),
    ("max(x, y, z)", {"x": 2.0, "y": 1.0, "z": 2.0}, same("not the winner", "max", "dv_dy")),
    ("min(x, y, z)", {"x": 2.0, "y": 2.0, "z": 3.0}, same("not the winner", "min", "dv_dz")),
    ("max(x, y)", {"x": NAN, "y": 1.0}, same("input", "x", "v", "dv_dx", "dv_dy")),
    ("min(x, y)", {"x": 1.0, "y": NAN}, same("input", "y", "v", "dv_dx", "dv_dy")),
    ("fmax(x, y)", {"x": NAN, "y": 1.0}, same("not the winner", "fmax", "dv_dx")),
    ("fmin(x, y)", {"x": 1.0, "y": NAN}, same("not the winner", "fmin", "dv_dy")),
    ("relu(x)", {"x": 0.0}, {"v": X0, "dv_dx": [("kink", "relu")]}),
    ("relu(x)", {"x": -1.0}, same("hinge", "relu", "v", "dv_dx")),
    ("clamp(x, 0, 1)", {"x": 0.0}, {"v": X0}),
    ("clamp(x, lo, hi)", {"x": 5.0, "lo": 0.0, "hi": 1.0}, same("hinge", "clamp", "dv_dx", "dv_dlo")),
    ("sqrt(x)", {"x": 0.0}, {"v": X0, "dv_dx": [("singular", "sqrt")]}),
    ("cbrt(x)", {"x": 0.0}, {"v": X0, "dv_dx": [("singular", "cbrt")]}),
    ("hypot(x, y)", {"x": 0.0, "y": 0.0}, {"v": X0, **same("kink", "hypot", "dv_dx", "dv_dy")}),
    ("hypot(x, y)", {"x": 0.0, "y": 2.0}, same("stationary", "hypot", "dv_dx")),
    ("x**3", {"x": 0.0}, {"v": X0, "dv_dx": [("stationary", "pown")]}),
    ("x**0", {"x": 0.0}, same("absent", "x", "dv_dx")),
    ("x**1", {"x": -7.0}, {}),
    ("x**-2", {"x": 0.0}, same("pole", "pown", "v", "dv_dx")),
    ("x**y", {"x": 0.0, "y": 1.5}, {"v": X0, "dv_dx": [("stationary", "pow")], "dv_dy": [("zero factor", "pow")]}),
    ("x**y", {"x": 0.0, "y": 1.0}, {"v": X0, "dv_dy": [("zero factor", "pow")]}),
    ("x**y", {"x": 0.0, "y": 0.0}, {"dv_dx": [("zero factor", "pow")], "dv_dy": [("singular", "pow")]}),
    ("x**y", {"x": 0.0, "y": 0.5}, {"v": X0, "dv_dx": [("singular", "pow")], "dv_dy": [("zero factor", "pow")]}),
    ("x**y", {"x": 0.0, "y": -1.0}, {**same("pole", "pow", "v", "dv_dx"), **same("undefined", "pow", "dv_dy")}),
    ("x**y", {"x": -2.0, "y": 2.0}, same("undefined", "pow", "dv_dy")),
    ("x < 1 ? x*x : log(y)", {"x": 0.5, "y": -1.0}, same("not taken", "select", "dv_dy")),
    *[(f"{f}(x)", {"x": 1.2}, same("step", f, "dv_dx")) for f in ("floor", "ceil", "round", "trunc", "sign")],
    *[(f"{f}(x)", {"x": NAN}, same("input", "x", "v", "dv_dx")) for f in ("floor", "ceil", "round", "trunc", "sign")],
    ("floor(x)", {"x": 0.5}, same("step", "floor", "v", "dv_dx")),
    ("fmod(x, y)", {"x": 6.0, "y": 2.0}, same("root", "fmod", "v")),
    ("fmod(x, y)", {"x": 1.5, "y": 2.0}, same("stationary", "fmod", "dv_dy")),
    ("atan2(y, x)", {"y": 0.0, "x": 0.0}, {"v": [("input", "y")], **same("undefined", "atan2", "dv_dx", "dv_dy")}),
    ("x / y", {"x": 1.0, "y": 0.0}, same("pole", "div", "v", "dv_dx", "dv_dy")),
    ("x / y", {"x": 0.0, "y": 0.0}, {"v": [("0/0", "div")], "dv_dx": [("pole", "div")], "dv_dy": [("0/0", "div")]}),
    *[(f"{f}(x)", {"x": 0.0}, same("singular", f, "v", "dv_dx")) for f in ("log", "log2", "log10")],
    ("log1p(x)", {"x": -1.0}, same("singular", "log1p", "v", "dv_dx")),
    *[(f"{f}(x)", {"x": x}, same("domain", f, "v", "dv_dx")) for f, x in (
        ("log", -2.0), ("log2", -2.0), ("log10", -2.0), ("log1p", -2.0), ("sqrt", -1.0), ("asin", 2.0), ("acos", -2.0),
        ("acosh", 0.0), ("atanh", 2.0), ("sin", INF), ("cos", -INF), ("tan", INF), ("gamma", -1.0))],
    ("asin(x)", {"x": 1.0}, same("singular", "asin", "dv_dx")),
    ("acos(x)", {"x": 1.0}, {"v": [("root", "acos")], "dv_dx": [("singular", "acos")]}),
    ("acosh(x)", {"x": 1.0}, {"v": [("root", "acosh")], "dv_dx": [("singular", "acosh")]}),
    ("atanh(x)", {"x": -1.0}, same("singular", "atanh", "v", "dv_dx")),
    *[(f"{f}(x)", {"x": x}, same("tail" if x == INF else "underflow", f, "dv_dx"))
      for f in ("tanh", "sigmoid", "erf") for x in (1e4, INF, 1e308)],
    ("softplus(x)", {"x": -1e4}, same("underflow", "softplus", "v", "dv_dx")),
    ("erfc(x)", {"x": INF}, same("tail", "erfc", "v", "dv_dx")),
    ("logaddexp(x, y)", {"x": 1e4, "y": 0.0}, same("underflow", "logaddexp", "dv_dy")),
    ("xlogy(x, y)", {"x": 0.0, "y": 0.0}, {"v": X0, "dv_dx": [("singular", "xlogy")], "dv_dy": [("zero factor", "xlogy")]}),
    ("xlogy(x, y)", {"x": 0.0, "y": 2.0}, {"v": X0, "dv_dy": [("zero factor", "xlogy")]}),
    *[("lgamma(x)", {"x": x}, {"v": [("pole", "lgamma")], "dv_dx": [("undefined", "lgamma")]}) for x in (0.0, -1.0, -2.0)],
    ("sqrt(relu(x))", {"x": -1.0}, same("hinge", "relu", "v", "dv_dx")),
    ("sqrt(max(x, 0))", {"x": -1.0}, {"v": [("constant", None)], "dv_dx": [("not the winner", "max")]}),
    ("max(x, x)", {"x": 0.0}, {"v": X0}),
    *[(f"{f}(x, y)", {"x": x, "y": y}, same("input", "x" if x != x else "y", "v", "dv_dx", "dv_dy"))
      for f in ("max", "min") for x, y in ((NAN, 1.0), (1.0, NAN))],
    *[(f"{f}(x, y)", {"x": NAN, "y": NAN}, same("input", "x", "v", "dv_dx", "dv_dy")) for f in ("fmax", "fmin")],
    *[(f"{f}(x, y)", {"x": 1.0, "y": NAN}, same("not the winner", f, "dv_dy")) for f in ("fmax", "fmin")],
    *[(f, {"x": NAN}, same("input", "x", "v", "dv_dx")) for f in ("relu(x)", "clamp(x, 0, 1)", "abs(x)")],
    ("relu(x)", {"x": -0.0}, {"v": X0, "dv_dx": [("kink", "relu")]}),
    ("clamp(x, -1, 0)", {"x": 0.0}, {"v": X0}),
    ("clamp(x, 0, 1)", {"x": -1.0}, {"v": [("constant", None)], "dv_dx": [("hinge", "clamp")]}),
    *[(f"{f}(x)", {"x": -0.0}, {"v": X0, "dv_dx": [("singular", f)]}) for f in ("sqrt", "cbrt")],
    ("hypot(x, y, z)", {"x": 0.0, "y": 0.0, "z": 0.0}, {"v": X0, **same("kink", "hypot", "dv_dx", "dv_dy", "dv_dz")}),
    ("x**0", {"x": NAN}, same("absent", "x", "dv_dx")),
    ("x**1", {"x": 0.0}, {"v": X0}),
    ("x**2", {"x": -0.0}, {"v": X0, "dv_dx": [("zero factor", "mul")]}),
    ("x**-1", {"x": 0.0}, same("pole", "pown", "v", "dv_dx")),
    ("x**y", {"x": 0.0, "y": -0.5}, {**same("pole", "pow", "v", "dv_dx"), **same("undefined", "pow", "dv_dy")}),
    ("x**y", {"x": -2.0, "y": 0.5}, same("domain", "pow", "v", "dv_dx", "dv_dy")),
    ("x**2.5", {"x": -2.0}, same("domain", "pow", "v", "dv_dx")),
    *[(f"{f}(x)", {"x": 2.0}, same("step", f, "dv_dx")) for f in ("floor", "ceil", "round", "trunc", "sign")],
    ("sign(x)", {"x": 0.0}, {"v": X0, "dv_dx": [("step", "sign")]}),
    *[("fmod(x, y)", {"x": x, "y": y}, same("domain", "fmod", "v", "dv_dx", "dv_dy")) for x, y in ((1.0, 0.0), (INF, 2.0))],
    ("atan2(y, x)", {"y": 0.0, "x": -1.0}, same("zero factor", "atan2", "dv_dx")),
    ("atan2(y, x)", {"y": 1.0, "x": 0.0}, same("zero factor", "atan2", "dv_dy")),
    ("x / y", {"x": INF, "y": INF}, {**same("inf/inf", "div", "v", "dv_dy"), "dv_dx": [("tail", "div")]}),
    ("recip(x)", {"x": 0.0}, same("pole", "div", "v", "dv_dx")),
    ("rsqrt(x)", {"x": -1.0}, same("domain", "sqrt", "v", "dv_dx")),
    ("asin(x)", {"x": -1.0}, same("singular", "asin", "dv_dx")),
    ("acos(x)", {"x": -1.0}, same("singular", "acos", "dv_dx")),
    ("atanh(x)", {"x": 1.0}, same("singular", "atanh", "v", "dv_dx")),
    *[(f"{f}(x)", {"x": -INF}, same("tail", f, "dv_dx")) for f in ("tanh", "erf")],
    *[(f"{f}(x)", {"x": -INF}, same("tail", f, "v", "dv_dx")) for f in ("sigmoid", "softplus")],
    ("sigmoid(x)", {"x": -1e4}, same("underflow", "sigmoid", "v", "dv_dx")),
    ("erfc(x)", {"x": 1e4}, same("underflow", "erfc", "v", "dv_dx")),
    ("erfc(x)", {"x": -1e4}, same("underflow", "erfc", "dv_dx")),
    ("logaddexp(x, y)", {"x": INF, "y": 0.0}, {"v": [("input", "x")], "dv_dy": [("tail", "logaddexp")]}),
    ("logaddexp(x, y)", {"x": -INF, "y": -INF}, {"v": [("input", "x")]}),
    ("xlogy(x, y)", {"x": 1.0, "y": 0.0}, same("singular", "xlogy", "v", "dv_dx", "dv_dy")),
    ("xlogy(x, y)", {"x": 1.0, "y": -1.0}, same("domain", "xlogy", "v", "dv_dx", "dv_dy")),
    ("gamma(x)", {"x": 0.0}, {"v": [("pole", "gamma")], "dv_dx": [("undefined", "gamma")]}),
    *[("digamma(x)", {"x": x}, same("domain", "digamma", "v", "dv_dx")) for x in (0.0, -1.0)],
    ("fdim(x, y)", {"x": 0.0, "y": 1.0}, same("hinge", "fdim", "v", "dv_dx", "dv_dy")),
    ("fdim(x, y)", {"x": 1.0, "y": 1.0}, {"v": [("hinge", "fdim")], **same("kink", "fdim", "dv_dx", "dv_dy")}),
    ("copysign(x, y)", {"x": 0.0, "y": 1.0}, {"v": X0, **same("kink", "copysign", "dv_dx", "dv_dy")}),
    ("copysign(x, y)", {"x": 2.0, "y": 0.0}, same("step", "copysign", "dv_dy")),
]


@each_row("mode", MODES)
@each_row("text, at, want", CONVENTIONS)
def test_every_convention_is_explained(text, at, want, mode):
    assert causes(text, at, None, mode) == want


# What is no convention: overflow, underflow, cancellation, products of 0 and infinity.
OTHERS = [
    ("exp(x)", {"x": 800.0}, same("overflow", "exp", "v", "dv_dx")),
    ("exp(x)", {"x": -800.0}, same("underflow", "exp", "v", "dv_dx")),
    ("x*y", {"x": 1e-200, "y": 1e-200}, same("underflow", "mul", "v")),
    ("x*y", {"x": 2.0, "y": 0.0}, {"v": [("input", "y")], "dv_dx": [("zero factor", "mul")]}),
    ("x*x + y*y", {"x": 0.0, "y": 1e-200}, {"v": [("underflow", "mul")], "dv_dx": [("zero factor", "mul")]}),
    ("x - x", {"x": 2.0}, {"v": [("cancellation", "sub")], "dv_dx": [("cancellation", "sub")]}),
    ("1 - cos(x)", {"x": 1e-9}, same("cancellation", "sub", "v")),
    ("x - y", {"x": INF, "y": INF}, same("inf-inf", "sub", "v")),
    ("cos(x)", {"x": 0.0}, same("stationary", "cos", "dv_dx")),
    ("log(x)", {"x": 1.0}, same("root", "log", "v")),
    ("floor(x) + 1", {"x": 2.5}, same("step", "floor", "dv_dx")),
    ("tanh(400 + 1e-9*x)", {"x": 1.0}, same("underflow", "tanh", "dv_dx")),
    ("copysign(2, x)", {"x": 1.0}, same("step", "copysign", "dv_dx")),
    ("x*1e300*1e300", {"x": 2.0}, {"v": [("overflow", "mul")], "dv_dx": [("overflow", "mul")]}),
    ("sin(1/x)", {"x": 0.0}, {"v": [("domain", "sin")], "dv_dx": [("domain", "sin")]}),
]


@each_row("mode", MODES)
@each_row("text, at, want", OTHERS)
def test_other_causes(text, at, want, mode):
    assert causes(text, at, None, mode) == want


@pytest.mark.parametrize("mode, made", [("reverse", ("0·inf", "exp")), ("forward", ("inf·0", "mul"))])
def test_an_infinity_that_meets_a_zero(mode, made):
    assert causes("exp(x)*y", {"x": 800.0, "y": 0.0}, None, mode) == {
        "v": [("0·inf", "mul")], "dv_dx": [made], "dv_dy": [("overflow", "exp")]}


def test_a_zero_with_several_paths_names_where_each_ends():
    found = causes("x > 0 ? x : floor(x)", {"x": -1.5})
    assert {kind for kind, _ in found["dv_dx"]} == {"not taken", "comparison", "step"}
    found = causes("x > y ? x : y", {"x": 0.0, "y": 0.0})
    assert {kind for kind, _ in found["dv_dx"]} == {"not taken", "comparison"}
    assert causes("x*y + floor(y)*0", {"x": 0.0, "y": 1.5})["dv_dy"][0] == ("zero factor", "mul")


@pytest.mark.parametrize("mode, kind, operation, seed, partial", [
    ("reverse", "0·inf", "sqrt", 0.0, INF), ("forward", "inf·0", "mul", INF, 0.0)])
def test_the_product_that_made_a_nan(mode, kind, operation, seed, partial):
    """0·∞ with both factors, in the order of either sweep; the place is where the product was made."""
    [(explainer, f)] = [(e, f) for e, f in findings("x*sqrt(x)", {"x": 0.0}, None, mode) if f.name == "dv_dx"]
    (cause,) = f.causes
    assert (cause.kind, cause.equation.op.name, cause.seed, cause.partial) == (kind, operation, seed, partial)
    assert cause.sweep == {"reverse": "adjoint", "forward": "tangent"}[mode]
    assert [c.kind for q in cause.because for c in explainer.causes(q)] == (
        ["zero factor", "input"] if mode == "reverse" else ["singular", "input"])


def test_modes_that_differ_are_compared():
    at = {"x": 0.0, "y": 0.0}
    program = parse("v = sqrt(x*y + x)\n")
    explainer, found = explained(program, at, ["x", "y"], False)
    assert {f.name: kind_of(f.value) for f in found} == {"v": "zero", "dv_dx": "nan", "dv_dy": "nan"}
    assert other_mode(explainer, found, True, 10 ** 6) == {"dv_dx": INF}
    assert "forward mode multiplies in another order: there dv_dx is inf" in succeeds(
        "why", "-e", "v = sqrt(x*y + x)", "--at", "x=0,y=0").out


def test_second_derivatives():
    found = {f.name: (f.value, [c.kind for c in f.causes]) for _, f in findings("abs(x)*y", {"x": 0.0, "y": 2.0}, order=2)}
    assert found["d2v_dx_dx"] == (0.0, ["step"])
    assert found["d2v_dy_dy"] == (0.0, ["absent"])
    text = succeeds("why", "-e", "v = x*log(x)", "--at", "x=0", "--order", "2").out
    assert "d2v_dx_dx is" in text and "in the derivative of log(x)" in text


# ---------------------------------------------------------------- the law: what is explained is what grad prints

@law(100)
@given(st.data())
def test_exactly_what_the_derivative_program_gives_is_explained(data):
    """Every NaN, infinity and zero of the gradient, and nothing else, in both modes, each with a sentence."""
    program = parse(data.draw(samples(extreme=True)).text)
    names = [p.name for p in program.params]
    for at in data.draw(points(program, 2, special=3)):
        for mode in MODES:
            try:
                want = evaluate(gradient(program, names, None, mode), at, FLOAT)
            except AdError:
                return
            explainer, found = explained(program, at, names, mode == "forward")
            assert {f.name: kind_of(f.value) for f in found} == {n: kind_of(x) for n, x in want.items() if bad(x)}
            words = Words(explainer)
            for f in found:
                assert f.causes
                for cause in f.causes:
                    assert words.sentence(cause) and all(words.reasons(cause))
                    kinds = LINEAR if cause.position is not None else {**HOW, "input": "", "constant": "", "absent": ""}
                    assert cause.kind in kinds


@pytest.mark.no_cover
def test_long_programs_take_linear_time():
    """Ten times as many equations may take no more than about that many times as long."""
    def seconds(n):
        lines = "".join("s = sin(s)*1.01 + x\n" for _ in range(n))
        program = parse(f"s = x\n{lines}v = sqrt(x)*s + y*0\n")
        start = time.process_time()
        _, found = explained(program, {"x": 0.0, "y": 1.0}, ["x", "y"], False)
        assert {f.name: [c.kind for c in f.causes] for f in found} == {
            "v": ["input"], "dv_dx": ["0·inf"], "dv_dy": ["zero factor"]}
        return time.process_time() - start
    seconds(300)
    assert seconds(3_000) < 4 * 10 * max(seconds(300), 0.005)
