"""Taylor coefficients: against multiple precision for every row, against forward mode at special points, and what they cost."""
from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping

import mpmath
import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.power_series import Expansion
from adcli.lang.derive.taylor import taylor
from adcli.lang.evaluate import FLOAT, evaluate, every_value
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.guards import Term
from adcli.lang.passes.status import with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.printer import STYLES, print_program
from back_ends import alike, ulps
from hypothesis import given
from multiple_precision import mpmath_arithmetic
from one_operation import REAL, SUMS, few_costly, program, samples, special_points
from random_programs import choices, law, point, sample
from row_tables import each_row
from same_programs import equal
from session_seed import fixed, half
from well_formed import check

INF, NAN = math.inf, math.nan
COMPOSITIONS = [
    "exp(sin(x)*y)", "x*sin(y)/(1 + x*x)", "sqrt(1 + x*x + y*y)", "log(2 + cos(x*y))", "(x*x + y*y)**1.5", "(1 + x*x)**y",
    "tanh(x/y)*erf(x - y)", "atan2(x*y, x + 3)", "hypot(x, y, x*y)", "gamma(2 + sin(x))*y", "sigmoid(x*y) + softplus(x - y)",
    "x < y ? sin(x)*y : exp(x*y)", "max(x*x, y)*min(x, y*y)", "abs(x - 2*y)**3", "fma(x, y, x*x)/y", "(x + y)**-3",
    "(2 + x*y)**7 - (x*x*x + 1)**-0.5", "clamp(x*y, -1, 1)*x", "logaddexp(x, y*y)", "xlogy(x, 1 + y*y)",
    "cbrt(1 + x*x)*acosh(2 + y*y)", "lgamma(3 + x)/digamma(3 + y)", "2**x*exp2(y)", "asin(x/4)*acos(y/4) + atanh(x*y/9)"]


def inputs(p: Program) -> list[str]:
    return [x.name for x in p.params]


def coefficients(p: Program, order: int, at: Mapping[str, float], direction: Mapping[str, float], arithmetic=FLOAT, **options):
    """Of the first output, along the direction."""
    derived = check(taylor(p, list(direction), None, order, **options))
    seeds = {p.name: arithmetic.constant(direction[p.seed]) for p in derived.params if p.seed}
    found = evaluate(derived, {name: arithmetic.constant(x) for name, x in at.items()} | seeds, arithmetic)
    return [found[r.name] for r in derived.results[:order + 1]]


def reference(p: Program, order: int, at: Mapping[str, float], direction: Mapping[str, float]):
    """By differences in multiple precision, which know no rule."""
    arithmetic = mpmath_arithmetic(40)
    mp = arithmetic.constant(0.0).context

    def along(s):
        here = {name: arithmetic.constant(x) + s * arithmetic.constant(direction.get(name, 0.0)) for name, x in at.items()}
        return evaluate(p, here, arithmetic)[p.results[0].name]

    return mp.taylor(along, 0, order)


def compare_with_reference(p: Program, order: int, at: Mapping[str, float], direction: Mapping[str, float]) -> None:
    want = reference(p, order, at, direction)
    exact = coefficients(p, order, at, direction, mpmath_arithmetic(60))
    got = coefficients(p, order, at, direction)
    size = max(map(abs, want))
    for k in range(order + 1):
        assert abs(exact[k] - want[k]) <= 1e-20 * size, (at, k, exact[k], want[k])
        assert abs(got[k] - want[k]) <= 1e-12 * max(abs(want[k]), 1e-2 * size), (at, k, got[k], want[k])


# ---------------------------------------------------------------- values

@each_row("op", half([op for op in few_costly(REAL) if op.name != "stop"]), ids=lambda op: op.name)   # constant there
def test_every_row_agrees_with_multiple_precision(op):
    for at, slope in zip(samples(op, 2), (1.0, -0.5), strict=False):
        p, most = program(op), 2 if op.name == "voigt" else 4 if op.name in SUMS else 6
        compare_with_reference(p, most, at, {name: slope * (-1) ** i for i, name in enumerate(at)})


@each_row("text", half([*COMPOSITIONS]))
def test_a_composition_agrees_with_multiple_precision(text):
    p = parse(f"v = {text}")
    for at in ({"x": 0.7, "y": 1.3}, {"x": -0.4, "y": 0.9}):
        for direction in ({"x": 0.5, "y": -0.25}, {"y": 0.5}):
            compare_with_reference(p, 6, at, direction)


@each_row("text, x, want", [
    ("1/(1 - x)", 0.0, [1.0] * 9),
    ("exp(x)", 0.0, [1 / math.factorial(k) for k in range(9)]),
    ("3*x**4 - 2*x**2 + x - 7", 2.0, [35.0, 89.0, 70.0, 24.0, 3.0, 0.0, 0.0, 0.0, 0.0]),
    ("((2*x - 1)*x + 5)*x", 3.0, [60.0, 53.0, 17.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("fma(x, x, x)", 3.0, [12.0, 7.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("abs(x)", -0.3, [0.3, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("abs(x*x*x)", -2.0, [8.0, -12.0, 6.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("floor(x)*x", 2.5, [5.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("x < 1 ? x**2 : log(-x)", 0.5, [0.25, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("fmin(sign(atanh(x)), 3)", 2.0, [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),   # a NaN is passed over, and its slope
    ("fmax(floor(log(-x)), 2*x)", 2.0, [4.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("5", 2.0, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("x", 2.0, [2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
])
def test_exact_coefficients(text, x, want):
    assert coefficients(parse(f"input x\nv = {text}"), 8, {"x": x}, {"x": 1.0}) == pytest.approx(want, rel=1e-15, abs=0)


@pytest.mark.parametrize("f, pieces", [
    ("max", ("x*y", "sin(x)")), ("min", ("sin(x)", "x*y")), ("fmax", ("x*y", "sin(x)")), ("fmin", ("sin(x)", "x*y")),
    ("select", ("x < y", "x*y", "sin(x)")), ("relu", ("x*y",)), ("fdim", ("x*y", "0*x"))])
def test_a_piece_has_the_coefficients_of_what_was_taken(f, pieces):
    at, along = {"x": 0.7, "y": 1.3}, {"x": 0.3, "y": -0.7}
    whole = parse(f"v = {f}({', '.join(pieces)})")
    alone = parse(f"input x, y\nv = {'sin(x)' if f in ('min', 'fmin') else 'x*y'}")
    assert coefficients(whole, 6, at, along) == coefficients(alone, 6, at, along)


@each_row("text, at, want", [
    ("x**2.5", {"x": 0.0}, [0.0, 0.0, 0.0, INF]),
    ("x**3", {"x": 0.0}, [0.0, 0.0, 0.0, 1.0]),
    ("x**-1", {"x": 0.0}, [INF, -INF]),
    ("x**-2", {"x": -0.0}, [INF, INF]),
    ("sqrt(x)", {"x": 0.0}, [0.0, INF, -INF]),
    ("abs(x)", {"x": 0.0}, [0.0, 0.0, 0.0]),
    ("max(x, 3*x)", {"x": 0.0}, [0.0, 2.0, 0.0]),
    ("relu(x)", {"x": 0.0}, [0.0, 0.0, 0.0]),
    ("hypot(x, 2*x)", {"x": 0.0}, [0.0, 0.0]),
    ("x < 1 ? x*x : sqrt(x - 2)", {"x": 0.5}, [0.25, 1.0, 1.0, 0.0]),
    ("sqrt(x > 0 ? x : 0)", {"x": -1.0}, [0.0, 0.0, 0.0, 0.0]),
    ("sqrt(relu(x))*x", {"x": -1.0}, [0.0, 0.0, 0.0]),
])
def test_conventions(text, at, want):
    got = coefficients(parse(f"v = {text}"), len(want) - 1, at, {"x": 1.0})
    assert all(map(alike, got, want)), got


@each_row("text, x", [
    ("log(x)", -2.0), ("log2(x)", -2.0), ("log1p(x)", -2.0), ("atanh(x)", 2.0), ("sqrt(x)", -1.0), ("asin(x)", 2.0),
    ("acosh(x)", 0.0), ("x**0.5", -1.0),
    ("abs(x)", NAN), ("floor(x)", NAN), ("max(x, 1)", NAN), ("relu(x)", NAN), ("clamp(x, 0, 1)", NAN),
    ("fmod(x, 2)", INF), ("sin(x)", INF), ("3*abs(x) + x", NAN), ("sign(x)*x", NAN), ("x/floor(x)", NAN), ("1/floor(x)", NAN),
    ("(x != x ? inf : x)*ceil(x)", NAN)])
def test_outside_the_domain_no_coefficient_is_a_number(text, x):
    got = coefficients(parse(f"v = {text}"), 4, {"x": x}, {"x": 1.0})
    assert all(map(math.isnan, got)), got


def test_a_power_with_exponent_zero_has_its_mixed_derivative():
    compare_with_reference(parse("v = x**y"), 5, {"x": 2.0, "y": 0.0}, {"x": 1.0, "y": 1.0})
    for mode in ("forward", "reverse"):
        found = evaluate(gradient(parse("v = x**y"), order=2, mode=mode), {"x": 2.0, "y": 0.0})
        assert found["d2v_dx_dy"] == 0.5


def test_scaled_gives_derivatives():
    p = parse("v = exp(2*x)*y")
    plain = coefficients(p, 6, {"x": 0.5, "y": 3.0}, {"x": 1.0})
    scaled = coefficients(p, 6, {"x": 0.5, "y": 3.0}, {"x": 1.0}, scaled=True)
    assert scaled == [c * math.factorial(k) for k, c in enumerate(plain)]


# ---------------------------------------------------------------- against the two modes

@each_row("op", few_costly(REAL), ids=lambda op: op.name)
def test_order_one_is_forward_mode_at_every_special_point(op):
    for static in (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 70.0) if op.name == "pown" else (2.0,):
        p = program(op, static)
        series, tangents = check(taylor(p, inputs(p), None, 1)), jvp(p, inputs(p))
        for at, slopes in itertools.product(special_points(op), ((1.0, 1.0, 1.0), (0.5, -2.0, 1.0))):
            here = {**at, **{f"d{x}": d for x, d in zip(at, slopes, strict=False)}}
            got, want = evaluate(series, here), evaluate(tangents, here)
            assert alike(got["z_0"], want["z"])
            assert ulps(got["z_1"], want["dz"]) <= 4, here


@each_row("text", COMPOSITIONS)
def test_coefficients_are_repeated_derivatives(text):
    p = parse(f"v = {text}")
    at, along = {"x": 0.7, "y": 1.3}, {"x": 0.5, "y": -0.25}
    partials, got = gradient(p, order=3), coefficients(p, 3, at, along, scaled=True)
    found = evaluate(partials, at)
    by_order = [0.0] * 4
    for r in partials.results[1:]:
        count = math.comb(len(r.wrt), r.wrt.count("x"))
        by_order[len(r.wrt)] += count * found[r.name] * math.prod(along[x] for x in r.wrt)
    size = max(map(abs, by_order))
    assert got[1:] == pytest.approx(by_order[1:], rel=1e-11, abs=1e-12 * size)


@law(100)
@given(choices)
def test_order_one_is_forward_mode_for_random_programs(r: random.Random):
    p = parse(sample(r).text)
    series, tangents = check(taylor(p, inputs(p), None, 1)), jvp(p, inputs(p))
    values = len(p.results)
    at = {**point(r, p)}
    seeds = [r.uniform(-1, 1) for _ in p.params]
    got = evaluate(series, at | dict(zip(inputs(series)[len(at):], seeds, strict=True)))
    want = evaluate(tangents, at | dict(zip(inputs(tangents)[len(at):], seeds, strict=True)))
    for i in range(values):
        x, y = got[series.results[2 * i + 1].name], want[tangents.results[values + i].name]
        largest = max([abs(v) for v in every_value(tangents, at | dict(zip(inputs(tangents)[len(at):], seeds, strict=True)),
                                                   FLOAT).values() if math.isfinite(v)], default=1.0)
        assert alike(x, y) or abs(x - y) <= 1e-12 * largest, print_program(p)


# ---------------------------------------------------------------- the remainder

def check_remainder(p: Program, order: int, at: Mapping[str, float], along: Mapping[str, float]) -> bool:
    """v(x + s·dx) − Σ vₖ sᵏ over sᴺ⁺¹ tends to a constant, in 60 digits; whether the point is one at which to look."""
    status = with_status(gradient(p), p, inputs(p))
    if evaluate(status, at)[status.results[-1].name] != 0 or any(e.op is TABLE["stop"] for e in p.equations):
        return False   # what a `stop` holds is no constant to the remainder
    rounded = coefficients(p, order + 1, at, along)
    if not all(math.isfinite(c) and abs(c) < 1e3 for c in rounded):
        return False
    mp = mpmath_arithmetic(60)
    series = coefficients(p, order, at, along, mp)

    def remainder(s: float):
        here = {x: mp.constant(v) + mp.constant(s) * mp.constant(along.get(x, 0.0)) for x, v in at.items()}
        value = evaluate(p, here, mp)[p.results[0].name]
        return (value - sum(c * mp.constant(s) ** k for k, c in enumerate(series))) / mp.constant(s) ** (order + 1)

    near, nearer = remainder(2.0 ** -30), remainder(2.0 ** -31)
    assert abs(near - nearer) <= 1e-3 * max(1, abs(nearer)), (print_program(p), at, along, float(near), float(nearer))
    return True


@law(80)
@given(choices)
def test_the_remainder_of_a_random_program(r: random.Random):
    p = parse(sample(r).text)
    if p.params:
        check_remainder(p, 4, point(r, p), {x: r.uniform(-1, 1) for x in inputs(p)})


def test_the_remainder_looks_at_many_programs():
    r = fixed("test_the_remainder_looks_at_many_programs")
    looked = 0
    for _ in range(30):
        p = parse(sample(r).text)
        looked += bool(p.params) and check_remainder(p, 4, point(r, p), {x: r.uniform(-1, 1) for x in inputs(p)})
    assert looked >= 10


def wrong_product(self: Expansion, s, k):
    """A convolution that forgets its last term."""
    x, y = s.args
    return self.sum([self.times(x.term(j), y.term(k - j)) for j in range(max(1, k))])


def wrong_quotient(self: Expansion, s, k):
    x, y = s.args
    head = None if (top := x.term(k)) is None else Term.of(top.value / y.value, top.guard)
    return self.sum([head, *[self.times(self.ratio(y, j), s.term(k - j)) for j in range(1, k)]])


def wrong_integral(self: Expansion, m, k):
    return m.series.term(k - 1) if m.series.origin is None else m.series.origin.term(k)


@pytest.mark.parametrize("name, wrong", [("product", wrong_product), ("quotient", wrong_quotient), ("integral", wrong_integral)])
def test_a_planted_fault_is_caught(monkeypatch, name, wrong):
    p = parse("v = exp(sin(x)*x)/(2 + x*x)")
    check_remainder(p, 4, {"x": 0.7}, {"x": 1.0})
    compare_with_reference(p, 4, {"x": 0.7}, {"x": 1.0})
    monkeypatch.setattr(Expansion, name, wrong)
    with pytest.raises(AssertionError):
        check_remainder(p, 4, {"x": 0.7}, {"x": 1.0})
    with pytest.raises(AssertionError):
        compare_with_reference(p, 4, {"x": 0.7}, {"x": 1.0})


# ---------------------------------------------------------------- a program like any other

@each_row("text", COMPOSITIONS[:8])
def test_the_text_reads_back_and_means_the_same(text):
    derived = taylor(parse(f"v = {text}"), ["x", "y"], None, 4)
    for style in STYLES:
        assert equal(derived, parse(print_program(derived, style)))


def test_a_coefficient_is_differentiated_again():
    p = parse("v = sin(x*y)*exp(y)")
    again = gradient(taylor(p, ["x"], None, 2), ["x", "y"], ["v_2"])
    at = {"x": 0.7, "y": 1.3}
    found, higher = evaluate(again, {**at, "dx": 1.0}), evaluate(gradient(p, order=3), at)
    assert found["v_2"] == pytest.approx(higher["d2v_dx_dx"] / 2, rel=1e-14)
    assert found["dv_2_dx"] == pytest.approx(higher["d3v_dx_dx_dx"] / 2, rel=1e-13)
    assert found["dv_2_dy"] == pytest.approx(higher["d3v_dx_dx_dy"] / 2, rel=1e-13)


def test_names_and_interface():
    p = parse("input x in [0, 1], dx, v_1\nv = x*dx*v_1\nw = x + dx")
    derived = taylor(p, ["x"], None, 1)
    assert inputs(derived) == ["x", "dx", "v_1", "dx_1"]
    assert derived.params[-1].seed == "x"
    assert [r.name for r in derived.results] == ["v_0", "v_1_1", "w_0", "w_1"]
    assert [r.name for r in taylor(p, ["x"], ["w"], 2).results] == ["w_0", "w_1", "w_2"]
    assert [r.name for r in taylor(p, [], ["w"], 0).results] == ["w_0"]


def test_a_direction_of_exact_zero_drops_what_it_would_have_caused():
    p = parse("v = sqrt(x)*y*y")
    derived = drop_zero_seeds(taylor(p, ["x", "y"], None, 3))
    found = evaluate(derived, {"x": 0.0, "y": 3.0, "dx": 0.0, "dy": 1.0})
    assert [found[f"v_{k}"] for k in range(4)] == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("options, message", [
    ({"order": -1}, "at least 0, not -1"), ({"order": 1.5}, "at least 0, not 1.5"),
    ({"order": 171, "scaled": True}, "171! is too large for a double"),
    ({"wrt": ["z"], "order": 1}, "no input 'z'"), ({"of": ["w"], "order": 1}, "no output 'w'")])
def test_faults_of_the_user(options, message):
    with pytest.raises(AdError, match=message):
        taylor(parse("v = x*y"), **{"wrt": ["x"], "of": None} | options)


def test_a_program_of_coefficients_that_would_be_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("adcli.lang.derive.taylor.MOST_OPERATIONS", 200_000)
    with pytest.raises(AdError, match=r"take about [0-9,]+ operations; the limit is 200,000"):
        taylor(parse("v = exp(sin(x*y))"), ["x", "y"], None, 1000)


# ---------------------------------------------------------------- cost

@each_row("text", ["x*y", "x/y", "exp(x)", "sin(x)", "tan(x)", "tanh(x)", "sqrt(x)", "log(x)", "x**1.5", "x**-2.5",
                                  "x**20", "x**-3", "atan2(x, y)", "hypot(x, y)", "erf(x)", "sigmoid(x)", "cbrt(x)", "asin(x)"])
def test_the_cost_of_an_operation_is_quadratic_in_the_order(text):
    full = f"x = 1/(2 + u)\ny = 1/(3 - u)\nv = {text}"
    low, middle, high = (len(taylor(parse(full), ["u"], None, n).equations) for n in (6, 12, 24))
    assert middle <= 4.2 * low
    assert high <= 4.2 * middle


def test_functions_that_lead_to_others_do_not_explode():
    for text in ("gamma(x*x)", "x**y", "polygamma(2, x*x)"):
        low, high = (len(taylor(parse(f"v = {text}"), ["x"], None, n).equations) for n in (12, 24))
        assert high <= 8.5 * low


def test_a_high_order():
    derived = check(taylor(parse("v = exp(sin(x))/(1 + x*x) + gamma(x) + x**y"), ["x"], None, 60))
    found = evaluate(derived, {"x": 1.5, "y": 2.5, "dx": 1.0})
    assert all(math.isfinite(found[r.name]) for r in derived.results)


@pytest.mark.no_cover
def test_a_chain_of_rules_longer_than_the_recursion_limit_allows():
    assert coefficients(parse("v = lgamma(x)"), 130, {"x": 2.0}, {"x": 1.0})[130] == pytest.approx(
        -reference_zeta_tail(130), rel=1e-10)


def reference_zeta_tail(k: int) -> float:
    """(1 − ζ(k))/k with the sign of (−1)ᵏ⁺¹: lgamma(2 + s) = (1 − γ)s + Σ (−1)ᵏ (ζ(k) − 1) sᵏ/k (DLMF 5.7.3)."""
    import mpmath
    return float(-(mpmath.zeta(k) - 1) / k)


@pytest.mark.no_cover
def test_a_long_program_takes_no_recursion():
    lines = ["a = x"] + ["a = sin(a) + x", "a = a*a - 1", "a = a/(2 + a*a)"] * 400
    p = parse("\n".join([*lines, "v = a"]))
    assert len(p.equations) > 2_000
    derived = check(taylor(p, ["x"], None, 2))
    assert len(derived.equations) < 8 * len(p.equations)


def test_every_row_with_a_rule_has_a_series():
    for op in TABLE.values():
        if not op.truth and op.name != "dup":
            p = program(op)
            assert len(check(taylor(p, inputs(p), None, 3)).results) == 4


TENSORS = [
    ("input x(N), W(N, N); h(i) +=! W(i, j) * tanh(x(j)); v *=! h(i)", 3),
    ("input x(N), W(N, N); h(0, n) = x(n); for t in 0:2 { h(t+1, n) = sin(h(t, n)) * x(n) }; v lse=! W(i, i) * h(2, i)", 3),
    ("input x(N), W(N, N); A(i, j) = W(i, j) + (i == j ? 4 : 0); z = solve(A, x); v = logdet(A) * z(0)", 2),
]


@pytest.mark.parametrize(("text", "order"), TENSORS)
def test_coefficients_of_tensors_loops_and_matrices_against_multiple_precision(text: str, order: int) -> None:
    primal = parse(text)
    at, along = {"x": [0.5, -0.25], "W": [[1.5, 0.5], [-0.75, 2.0]]}, {"dx": [1.0, 0.5], "dW": [[0.0, 1.0], [0.5, -1.0]]}
    found = evaluate(taylor(primal, ["x", "W"], ["v"], order), at | along, FLOAT)
    scaled = evaluate(taylor(primal, ["x", "W"], ["v"], order, scaled=True), at | along, FLOAT)
    with mpmath.workdps(100):
        def moved(s: mpmath.mpf) -> mpmath.mpf:
            near = {name: np.array(x, object) + s * np.array(along[f"d{name}"], object) for name, x in at.items()}
            return evaluate(primal, near, mpmath_arithmetic(100))["v"]
        wanted = [mpmath.diff(moved, 0, k, h=mpmath.mpf(10) ** -15) / math.factorial(k) for k in range(order + 1)]
    for k, coefficient in enumerate(wanted):
        assert found[f"v_{k}"] == pytest.approx(float(coefficient), rel=1e-12)
        assert scaled[f"v_{k}"] == pytest.approx(float(coefficient) * math.factorial(k), rel=1e-12)


def test_an_element_that_no_direction_moves_has_no_coefficients() -> None:
    program = drop_zero_seeds(taylor(parse("input x(N); y(i) = sqrt(x(i))"), ["x"], None, 2))
    found = evaluate(program, {"x": [4.0, 0.0], "dx": [1.0, 0.0]}, FLOAT)
    assert [list(found[f"y_{k}"]) for k in range(3)] == [[2.0, 0.0], [0.25, 0.0], [-0.015625, 0.0]]


def test_orders_of_tensors_that_would_be_too_long_are_refused() -> None:
    with pytest.raises(AdError, match="take more than") as refused:
        taylor(parse("input x(N); v *=! sin(x(i))*exp(x(i))"), ["x"], None, 30)
    assert refused.value.help == "ask for a lower order"
