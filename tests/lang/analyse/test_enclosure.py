"""Enclosures: bounds that hold, are narrow at a point, and say over a box how much too wide they may be, and decorations."""
from __future__ import annotations

import itertools
import math
import random
import sys
from fractions import Fraction
from statistics import median

import pytest
from adcli.lang.analyse import enclosure
from adcli.lang.analyse.enclosure import enclose
from adcli.lang.derive.derivatives import gradient
from adcli.lang.enclosures import intervals
from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import POLE
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from compare_corpus import cases
from exact_values import exact_values
from hypothesis import given
from hypothesis import strategies as st
from multiple_precision import mpmath_arithmetic
from one_operation import BESSEL, REAL, SUMS, few_costly, special_points
from one_operation import program as program_of
from places import DATA
from random_programs import Sample, law, samples
from row_tables import each_row
from session_seed import fixed, half, part

CASES = [*cases(DATA), *cases(DATA / "cancellation")]


def thin(at):
    return {name: (x, x) for name, x in at.items()}


def holds(bounds, exact):
    """Whether an exact value, known to 25 digits or more, is within bounds."""
    lo, hi = bounds
    if lo == -math.inf and hi == math.inf:
        return True
    x = exact if isinstance(exact, Fraction) else fraction(exact)
    slack = abs(x) / 10**24
    return (lo == -math.inf or Fraction(lo) <= x + slack) and (hi == math.inf or x - slack <= Fraction(hi))


def fraction(x):
    """A multiple-precision number as it is; below all doubles only its sign counts."""
    sign, man, exp, bits = x._mpf_
    if man and exp + bits < -1100:
        man, exp = 1, -1100
    return (-1) ** sign * int(man) * Fraction(2) ** int(exp)


def misses(program, box, r, count=6):
    """Results at points sampled in a box that the bounds over the box do not hold, or that have no value although the decoration
    promises one; how many results they hold."""
    known, held, missed = enclose(program, box), 0, []
    for _ in range(count):
        at = {n: r.choice((lo, hi, r.uniform(lo, hi), r.uniform(lo, hi))) for n, (lo, hi) in box.items()}
        exact = exact_values(program, at)
        for result, bounds, decoration, x in zip(program.results, known.bounds, known.decorations, exact, strict=True):
            if x is not None and x != x and decoration != "trv":
                missed.append((result.name, at, x, decoration))
            if x is not None and x - x == 0 and abs(x) < 1e300:
                held += bounds != (-math.inf, math.inf)
                if not holds(bounds, x):
                    missed.append((result.name, at, x, bounds))
    return missed, held


# ---------------------------------------------------------------- at points

@each_row("case", part(CASES, 3), ids=lambda c: c["id"])
def test_bounds_hold_the_references_and_are_narrow(case):
    program = gradient(parse(case["program"]), case["inputs"], order=2 if case["n_ops"] < 500 and any(
        "hessian" in p for p in case["points"]) else 1)
    widths = []
    for point in case["points"]:
        known = enclose(program, thin({k: float(x) for k, x in point["at"].items()}))
        for r, (lo, hi) in zip(program.results, known.bounds, strict=True):
            text = reference(point, r)
            if text is not None:
                assert holds((lo, hi), Fraction(text)), (r.name, lo, hi, text)
                widths.append((hi - lo) / abs(float(text)) if float(text) else hi - lo)
    assert median(widths) < 1e-14 and max(widths) < 1e-14


def reference(point, result):
    of, wrt = result.of or result.name, result.wrt
    if len(wrt) == 2:
        rows = point.get("hessian", {}).get(of, {})
        return rows.get(wrt[0], {}).get(wrt[1]) or rows.get(wrt[1], {}).get(wrt[0])
    return point.get("grad", {}).get(of, {}).get(wrt[0]) if wrt else point["value"].get(of)


def test_a_wrong_reference_is_noticed():
    known = enclose(parse("v = sin(x)"), thin({"x": 1.0}))
    exact = fraction(exact_values(parse("v = sin(x)"), {"x": 1.0})[0])
    assert holds(known.bounds[0], exact) and not holds(known.bounds[0], exact * (1 + Fraction(1, 10**15)))


def test_hard_cancellation_is_narrow_all_the_same():
    """S. M. Rump's expression of 1988, whose value in doubles has not one right digit."""
    rump = "v = 333.75*b**6 + a**2*(11*a**2*b**2 - b**6 - 121*b**4 - 2) + 5.5*b**8 + a/(2*b)"
    ((lo, hi),) = enclose(parse(rump), thin({"a": 77617.0, "b": 33096.0})).bounds
    assert lo <= -0.8273960599468214 <= hi and hi - lo < 1e-15


@each_row(("formula", "at", "bounds"), [
    ("x > 0 ? x : log(x-5)", {"x": 1.0}, (1.0, 1.0)), ("x > 0 ? log(x-5) : x", {"x": -1.0}, (-1.0, -1.0)),
    ("exp(x)", {"x": 1000.0}, (sys.float_info.max, math.inf)), ("exp(-x)", {"x": 1000.0}, (0.0, 5e-324)),
    ("log(x)", {"x": -1.0}, (-math.inf, math.inf)), ("1/x", {"x": 0.0}, (-math.inf, math.inf)),
    ("exp(exp(exp(x)))", {"x": 10.0}, (0.0, math.inf)), ("x*x - x*x", {"x": 0.1}, (0.0, 0.0)),
    ("sin(x)**2 + cos(x)**2 - 1 > 0 ? x : -x", {"x": 1.0}, (-1.0, 1.0)),
    ("fmod(x, 0.1)", {"x": 1e22}, None), ("sin(x)", {"x": 1e22}, None), ("floor(x*10)", {"x": 0.3}, (2.0, 2.0)),
])
def test_bounds_at_a_point(formula, at, bounds):
    ((lo, hi),) = enclose(parse(f"v = {formula}"), thin(at)).bounds
    if bounds is None:
        assert hi - lo < 1e-15
    else:
        assert (lo if formula != "exp(exp(exp(x)))" else 0.0, hi) == bounds


@each_row("formula", ["exp2(x)", "log2(x)", "log10(x)", "erf(x)", "erfc(x)", "x/3", "x*(0.1+0.2)", "x**(1/3)"])
def test_rounded_constants_are_not_taken_at_their_word(formula):
    """Bounds at 200 bits hold the derivative to 50 digits: a constant of 53 bits would be outside them."""
    program = gradient(parse(f"v = {formula}"), order=2)
    exact = exact_values(program, {"x": 1.3})
    with enclosure.precision(200):
        found = enclosure.results(program, enclosure.interval_values(program, thin({"x": 1.3})))
        for x, value in zip(found, exact, strict=True):
            sign, man, exp, _ = value._mpf_
            assert x.bounded and not x.hi - x.lo > 1e-50
            with enclosure.precision(4000):
                end = (-1) ** sign * intervals.arb(int(man)) * intervals.arb(2) ** int(exp)
                slack = intervals.arb("1e-90")
                assert x.lo - slack <= end <= x.hi + slack


# ---------------------------------------------------------------- over boxes

SIDES = (0.0, 1e-9, 0.01, 0.3, 1.0, 5.0, 40.0)
SPOTS = (0.0, 1.0, -1.0, 0.5, -2.0, 3.7, 10.0, -100.5, 1.46, math.pi, -0.3, 0.999, 1e5)


def boxes(names, r):
    """A random box: special corners and others, thin and wide sides."""
    corner = {n: r.choice(SPOTS) if r.random() < 0.5 else r.uniform(-4, 4) for n in names}
    return {n: (x, x + r.choice(SIDES)) for n, x in corner.items()}


BOXED = [op for op in REAL if op.name not in {"owens_t", "dzeta", "dhurwitz_zeta", "dbessel_k", *BESSEL} - {"bessel_k"}]
"""Rows whose bounds over wide boxes, and values of multiple precision, are soon found."""


@each_row("op", half(few_costly(BOXED)), ids=lambda op: op.name)
def test_every_primitive_holds_its_values_over_boxes(op):
    """By its own interval function, before any bisection; and what its decoration says is true."""
    program, r, held = program_of(op), fixed("test_every_primitive_holds_its_values_over_boxes", op.name), 0
    for _ in range(12 if op.name in ("voigt", "zeta", "hurwitz_zeta") else 20 if op.name in BESSEL else 30):
        box = boxes([p.name for p in program.params], r)
        found = own_interval(program, box)
        bounds = (-math.inf, math.inf) if found.valueless else (enclosure.down(found.lo), enclosure.up(found.hi))
        for at in inside(box, r):
            x = exact_value(program, at)
            if x - x == 0 and abs(x) < 1e300:
                held += found.bounded
                assert holds(bounds, x), (at, x, bounds)
        assert not belied(program, box, found, r), (box, found.decoration)
        assert found.decoration or op.defined or op.name == "tan" or POLE in {s.level for s in op.status}, box
    assert held > 4 or op.name == "lambert_wm1" or "inc_beta" in op.name   # whose domain few boxes meet


WIDER = {"dpow", "fmod", *SUMS} - {"gamma_p", "gamma_q", "owens_t"}


@each_row("op", half([op for op in few_costly(REAL) if op.name not in WIDER]), ids=lambda op: op.name)
def test_one_operation_is_no_wider_than_its_values(op):
    """Over boxes in its domain, by its own interval function: little beyond the values on a grid. Remainders of many periods
    and partial derivatives of powers, incomplete gamma functions and Bessel functions are bounded by what they are made of."""
    program, r, sharp = program_of(op), fixed("test_one_operation_is_no_wider_than_its_values", op.name), 0
    names = [p.name for p in program.params]
    for _ in range(4):
        ends = [sorted(r.uniform(*op.domain[min(i, len(op.domain) - 1)]) for _ in "ab") for i in range(len(names))]
        found = own_interval(program, dict(zip(names, map(tuple, ends), strict=True)))
        n = 200 if len(names) == 1 else 16 if len(names) == 2 else 8
        grid = itertools.product(*[[lo + (hi - lo) * k / n for k in range(n + 1)] for lo, hi in ends])
        values = [evaluate(program, dict(zip(names, at, strict=True)))["z"] for at in grid]
        low, high = min(values), max(values)
        slack = 0.05 * (high - low) + 1e-12
        sharp += found.bounded and abs(float(found.lo) - low) <= slack and abs(float(found.hi) - high) <= slack
    assert sharp == 4


@each_row("op", REAL, ids=lambda op: op.name)
def test_poles_and_missing_values_are_those_of_doubles(op):
    """At zeros, infinities and NaN: what certainly has no value is NaN in doubles, what is certainly infinite is so, and what is
    certainly a number is one, though it may overflow."""
    program, certain = program_of(op), 0
    for at in special_points(op):
        found, x = own_interval(program, thin(at)), evaluate(program, at)["z"]
        certain += found.valueless or found.decoration > 0
        if found is intervals.EMPTY:
            assert x != x, at
        elif found.infinite:
            assert math.isinf(x) and found.has(intervals.arb(x)), (at, x)
        elif found.decoration:
            assert x == x or max(map(abs, at.values())) >= 1e300, (at, x)
    assert certain >= 8


EXACT = mpmath_arithmetic(100)


def own_interval(program, box):
    with enclosure.precision(128):
        (found,) = enclosure.results(program, enclosure.interval_values(program, box))
    return found


def exact_value(program, at):
    return evaluate(program, {n: EXACT.constant(a) for n, a in at.items()}, EXACT)["z"]


def inside(box, r, count=4):
    return [{n: r.choice((lo, hi, r.uniform(lo, hi))) for n, (lo, hi) in box.items()} for _ in range(count)]


def belied(program, box, found, r):
    """A point of a box at which a decoration is not true: no value, or a step to the one beside it."""
    def within(n, a):
        return min(max(a, box[n][0]), box[n][1])

    for at in inside(box, r, 6):
        at = {n: EXACT.constant(within(n, round(2 * a) / 2 if r.random() < 0.7 else a)) for n, a in at.items()}
        x = exact_value(program, at)
        if x - x != 0:
            if found.decoration >= intervals.DEFINED:
                return at, x
        elif found.decoration >= intervals.CONTINUOUS:
            beside = {n: within(n, a + r.choice((-1, 0, 1)) * SMALL_STEP) for n, a in at.items()}
            y = exact_value(program, beside)
            if not abs(y - x) <= 1e-9 * (1 + abs(x)):            # a root of a step this small is still smaller
                return at, x, y
    return None


SMALL_STEP = EXACT.constant(2.0 ** -200)


@pytest.mark.parametrize(("name", "wrong"), [
    ("floor", intervals.rising(intervals.arb.floor)), ("sqrt", lambda x: intervals.Interval(intervals.ZERO, intervals.INF)),
    ("fmod", lambda x, y: intervals.Interval(-abs(y.hi), abs(y.hi))), ("atan2", lambda y, x: intervals.Interval(-4, 4)),
    ("log", lambda x: intervals.marked(intervals.UNDEFINED, 3) if x.lo > 0 else intervals.Interval(-intervals.INF, x.hi)),
])
def test_a_decoration_that_promises_too_much_is_noticed(name, wrong, monkeypatch):
    monkeypatch.setitem(interval_arithmetic().functions, name, wrong)
    program, r = program_of(TABLE[name]), random.Random(name)
    tried = [boxes([p.name for p in program.params], r) for _ in range(200)]
    assert any(belied(program, box, own_interval(program, box), r) for box in tried)


@each_row(("formula", "box", "bounds", "decoration", "undefined"), [
    ("sqrt(x)", (-1, 1), (0, 1), "trv", "somewhere"), ("sqrt(x)", (0, 1), (0, 1), "com", ""),
    ("sqrt(x)", (-2, -1), (-math.inf, math.inf), "trv", "everywhere"), ("log(x)", (0, 1), (-math.inf, 0), "trv", "somewhere"),
    ("1/x", (-1, 1), (-math.inf, math.inf), "trv", "somewhere"), ("floor(x)", (0, 1.5), (0, 1), "def", ""),
    ("floor(x)", (0, 0.5), (0, 0), "com", ""), ("abs(x)", (-1, 1), (0, 1), "com", ""), ("sign(x)", (-1, 1), (-1, 1), "def", ""),
    ("x > 0 ? 1 : 2", (-1, 1), (1, 2), "def", ""), ("x > 0 ? log(x) : 1", (1, 1), (0, 0), "com", ""),
    ("exp(x)", (0, 1000), (1, math.inf), "dac", ""), ("asin(2*x)", (0, 1), (0, math.pi / 2), "trv", "somewhere"),
    ("sqrt(x)*sqrt(-1-x)", (-3, 3), (-math.inf, math.inf), "trv", "everywhere"), ("x == x ? x : nan", (0, 1), (0, 1), "com", ""),
    ("sqrt(x) < 5 ? 1 : 2", (-1, 1), (1, 2), "def", ""), ("fmax(sqrt(x), -1)", (-1, 1), (-1, 1), "trv", ""),
    ("1/x", (0, 0), (-math.inf, math.inf), "trv", "everywhere"),
    ("gamma(x)", (-3, -3), (-math.inf, math.inf), "trv", "everywhere"),
    ("x - x", (0, 1), (0, 0), "com", ""), ("s - s where s = sqrt(x)", (-1, 1), (0, 0), "trv", "somewhere"),
    ("1/x - 1/(x+1)", (-1, 1), (-math.inf, math.inf), "trv", "somewhere"),
])
def test_decorations(formula, box, bounds, decoration, undefined):
    known = enclose(parse(f"v = {formula}"), {"x": box})
    (lo, hi), = known.bounds
    assert (known.decorations, known.undefined) == ([decoration], [undefined])
    assert lo <= bounds[0] <= math.nextafter(lo, 9) and math.nextafter(hi, -9) <= bounds[1] <= hi


def test_an_inner_range_is_never_the_wrong_way_round():
    """A constant that is no double, and one that is."""
    known = enclose(parse("v = sqrt(2) + 0*x; w = 2 + 0*x"), {"x": (0.0, 2.0)})
    assert known.inner == [None, (2.0, 2.0)]


@pytest.mark.parametrize("source", part([
    "v = x*sin(y)", "v = (x-1)*(x-2)*(x-3)*(x-y)", "v = abs(x) + floor(y)", "v = x > y ? x*x : y", "v = max(x, y)*relu(x)",
    "v = atan2(y, x)", "v = sqrt(x*x + y*y)", "v = fmod(x, y)", "v = exp(x)/(1 + exp(y))", "v = hypot(x, y)**3 - x**2*y",
    "v = clamp(x, -1, y)", "v = log(1 + x*x)*tan(y/3)", "v = copysign(x, y)", "v = sign(x)*y + round(x*y)",
    "v = gamma(2 + x*x)/y",
    "v = sqrt(x) + log(y)", "v = x**y", "v = fmax(sqrt(x), y) + fmin(log(y), x)",
    "v = log(x) > y ? x : sqrt(y)", "v = sqrt(x) != 1 ? log(y) : x", "v = copysign(x, log(y))",
    "v = erf(x)*erfc(y) + sigmoid(x*y)", "v = x**3 - 3*x*y**2", "v = cbrt(x) + logaddexp(x, y)", "v = xlogy(x, abs(y))",
], 4))
def test_values_and_derivatives_hold_over_boxes(source):
    program, r, held = gradient(parse(source)), fixed("test_values_and_derivatives_hold_over_boxes", source), 0
    for n in range(40):
        if n >= 4 and held > 20:
            return
        x, y = r.uniform(-3, 3), r.uniform(-3, 3)
        missed, found = misses(program, {"x": (x, x + r.choice((0.1, 1.0, 3.0))), "y": (y, y + r.choice((0.0, 0.2, 2.0)))}, r)
        assert not missed, missed[0]
        held += found
    raise AssertionError("hardly anything was defined")


@law(25)
@given(samples(30), st.integers(0, 10**6))
def test_random_programs_hold_over_boxes(written: Sample, seed: int) -> None:
    program, r = parse(written.text), random.Random(seed)
    try:
        program = gradient(program, [p.name for p in program.params])
    except AdError:                                              # polygamma has a highest order
        return
    box = {p.name: (x := round(r.uniform(-3, 3), 2), x + r.choice((0.0, 0.01, 1.0))) for p in program.params}
    missed, _ = misses(program, box, r, 3)
    assert not missed, (written.text, box, missed[0])


@pytest.mark.parametrize(("source", "box", "least", "most", "factor"), [
    ("v = x*x - 2*x", {"x": (0, 3)}, -1, 3, 1.002), ("v = x - x*x", {"x": (0, 1)}, 0, 0.25, 1.002),
    ("v = (x+y)**2 - x*x - 2*x*y", {"x": (-5, 5), "y": (1, 2)}, 1, 4, 1.01),
    ("v = sin(x) + cos(x)", {"x": (0, 7)}, -math.sqrt(2), math.sqrt(2), 1.002),
    ("v = x*exp(-x*x)", {"x": (-9, 9)}, -0.42888194248035344, 0.42888194248035344, 1.002),
    ("v = (1-x)**2 + 100*(y-x**2)**2", {"x": (-1, 1), "y": (-1, 1)}, 0, 404, 1.002),
])
def test_overestimation_is_small_and_never_understated(source, box, least, most, factor):
    known = enclose(parse(source), box)
    (lo, hi), (low, high) = known.bounds[0], known.inner[0]
    assert lo <= least <= low and high <= most <= hi
    assert (hi - lo) <= factor * (most - least)


@pytest.mark.no_cover
def test_a_long_program_is_bounded_without_bisection():
    lines = "\n".join(["s = x"] + [f"s = s * 0.5 + sin(s) / {i + 3}" for i in range(1500)] + ["v = s"])
    known = enclose(gradient(parse(lines)), {"x": (0.0, 0.1)})
    assert all(math.isfinite(hi - lo) for lo, hi in known.bounds)
    assert all(hi - lo < 1e-15 for lo, hi in enclose(parse(lines), thin({"x": 0.3})).bounds)


# ---------------------------------------------------------------- planted faults

def all_hold():
    """A few of the checks above, as one answer."""
    r = random.Random(1)
    for source, box in (("v = x*y/3", {"x": (0.1, 0.1), "y": (0.7, 0.7)}), ("v = x > 0.5 ? x*x : -x", {"x": (0.0, 1.0)}),
                        ("v = sin(x)", {"x": (0.5, 2.5)}), ("v = floor(x) + x*0", {"x": (0.5, 1.5)}),
                        ("v = x*y", {"x": (-1.0, 2.0), "y": (-3.0, 1.0)}), ("v = exp2(x)*0 + x/7", {"x": (1.0, 1.0)})):
        program = parse(source)
        with enclosure.precision(enclosure.BOX_PRECISION):
            (bounds,) = enclosure.Bisection(program, box).piece(box).bounds
        for _ in range(20):
            exact = exact_values(program, {n: r.uniform(lo, hi) for n, (lo, hi) in box.items()})
            if not holds(bounds, exact[0]):
                return False
    return True


def inner_double(end):
    return math.nextafter(enclosure_down(end), math.inf) if intervals.arb(enclosure_down(end)) != end else float(end)


enclosure_down = enclosure.down
FAULTS = {
    "ends rounded inwards": lambda m: m.setattr(enclosure, "down", inner_double),
    "a hull forgotten": lambda m: m.setitem(
        interval_arithmetic().functions, "select", lambda c, x, y: x if c is not False else y),
    "a peak forgotten": lambda m: m.setitem(interval_arithmetic().functions, "sin", intervals.rising(intervals.arb.sin)),
    "a jump forgotten": lambda m: m.setitem(interval_arithmetic().functions, "floor", intervals.rising(intervals.arb.floor)),
    "products by two corners": lambda m: m.setitem(interval_arithmetic().functions, "mul", lambda x, y: intervals.Interval(
        (x.lo * y.lo).lower(), (x.hi * y.hi).upper())),
}


def test_without_a_fault_all_hold():
    assert all_hold()


@pytest.mark.parametrize("fault", FAULTS)
def test_an_unsound_operation_is_caught(fault, monkeypatch):
    FAULTS[fault](monkeypatch)
    assert not all_hold()


def test_precision_is_left_as_it_was():
    from flint import ctx
    before = ctx.prec
    enclose(parse("v = sqrt(x)"), thin({"x": 2.0}))
    assert ctx.prec == before


@each_row("formula, box, operation, reason", [
    ("1 + log(x)", {"x": (-1.0, -1.0)}, "log", "there is no value"),          # at a point, in a box, at a pole
    ("1 + log(x)", {"x": (-2.0, -1.0)}, "log", "there is no value"),
    ("2 - 1/x", {"x": (0.0, 0.0)}, "div", "there is no value"),
    ("lgamma(x)", {"x": (-1.0, -1.0)}, "lgamma", "there is no value"),
    ("1 + sqrt(x)", {"x": (-1.0, 1.0)}, "sqrt", "not defined everywhere"),    # bounded, and no value for x < 0
    ("asin(2*x)", {"x": (0.0, 1.0)}, "asin", "not defined everywhere"),
    ("1/x + y", {"x": (-1.0, 1.0), "y": (1.0, 1.0)}, "div", "no bound is known"),
    ("exp(x) + 1", {"x": (1e300, 1e300)}, "exp", "no bound is known"),        # a number, out of reach
    ("log(x)", {"x": (0.0, 1.0)}, "log", "no bound is known"),
    ("sin(x)**2 + cos(x)**2 - 1 > 0 ? 1 : 5", {"x": (2.5, 2.5)}, "gt", "cannot be decided"),
    ("log(x)*sqrt(x)", {"x": (-1.0, -1.0)}, "log", "there is no value"),      # the first of two
    ("x > 0 ? log(x) : log(-x)", {"x": (1.0, 2.0)}, None, None)])            # the arm not taken has no part in it
def test_the_operation_to_blame_and_the_reason(formula, box, operation, reason):
    found = enclose(parse(f"v = {formula}"), box).culprit
    assert (found and (found[0].op.name, found[2])) == ((operation, reason) if operation else None)
