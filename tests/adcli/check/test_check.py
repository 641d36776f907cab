"""`adcli check`: what it compares, what it leaves out and says so, and that it raises no false alarm."""
from __future__ import annotations

import functools
import json
import math
import sys
from dataclasses import replace

import pytest
from adcli.codegen.rows.native_arithmetic import NATIVE
from adcli.lang.analyse.rounding import Rounding
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from compare_corpus import cases
from places import DATA
from planted_faults import wrong_rule
from session_seed import half, part

from adcli.answers.diagnose import described
from adcli.check import methods as check_methods
from adcli.check import subject as check_subject
from adcli.check.points import Check
from adcli.check.subject import Subject
from adcli.input.sampling import ranged

METHODS = ["forward against reverse", "native against reference", "multiple precision",
           "Taylor remainder, gradient", "Taylor remainder, Hessian"]


def record(*args: object) -> dict:
    """The JSON of a check that finds nothing wrong."""
    ended = succeeds("check", *args, "--format", "json")
    assert len(ended.records) == 1
    return ended.records[0]


def method(found: dict, name: str) -> dict:
    return next(m for m in found["methods"] if m["method"] == name)


# ---------------------------------------------------------------- what it says

def test_a_table_with_a_line_for_every_method_and_a_verdict():
    out = succeeds("check", "-e", "v = x*sin(y)", "--at", "x=2,y=0.5").out.splitlines()
    assert out[:2] == ["points: 1 given", "entries: 2 first and 3 second derivatives"]
    rows = [line for line in out if line.startswith(tuple(METHODS))]
    assert [line[:30].strip() for line in rows] == [m[:30] for m in METHODS]
    assert all("  ok" in line for line in rows)
    assert "slope 2.00" in rows[-2] and "slope 3.00" in rows[-1]
    assert out[-1] == "ok: 39 comparisons, no disagreement"


def test_json_has_the_same_figures():
    found = record("-e", "v = x*sin(y)", "--at", "x=2,y=0.5")
    assert found["points"] == {"how": "given", "usable": 1, "unusable": 0, "seed": None, "looked_at": 1}
    assert found["entries"] == {"first": 2, "second": 3, "all": True}
    assert [m["method"] for m in found["methods"]] == METHODS
    assert {m["verdict"] for m in found["methods"]} == {"ok"} and found["verdict"] == "ok" and found["fault"] is None
    assert sum(m["compared"] for m in found["methods"]) == 39
    assert method(found, "multiple precision")["digits"] > 14
    assert method(found, "Taylor remainder, Hessian")["slope"] == pytest.approx(3, abs=1e-3)
    worst = method(found, "multiple precision")["worst"]
    assert worst["at"] == {"x": 2.0, "y": 0.5} and abs(worst["got"] - worst["expected"]) <= worst["allowed"] < 1e-9


def test_quiet_says_the_verdict_alone_and_a_file_gets_the_table(tmp_path):
    assert succeeds("check", "-e", "x*y", "--at", "x=2,y=3", "-q").out == "ok: 39 comparisons, no disagreement\n"
    file = tmp_path / "report"
    assert succeeds("check", "-e", "x*y", "--at", "x=2,y=3", "-o", file).out == ""
    assert file.read_text(encoding="utf-8").startswith("points: 1 given\n")


def test_points_are_drawn_from_the_declared_ranges_and_the_same_seed_draws_the_same():
    program = "input x in [2, 3], y in [-1, 1]\nv = log(x)*y"
    one, again, other = (succeeds("check", "-e", program, "--format", "json", "--seed", n).out for n in (1, 1, 2))
    assert one == again != other
    for m in json.loads(one)["methods"]:
        assert 2 <= m["worst"]["at"]["x"] <= 3 and -1 <= m["worst"]["at"]["y"] <= 1


@pytest.mark.parametrize(("low", "high"), [(1e7, 1e8), (-1e9, -1e8), (5e8, math.inf), (-math.inf, -2e7), (-math.inf, math.inf),
                                           (0.0, math.inf), (-1e300, 1e300), (3.0, 3.0)])
def test_a_drawn_number_lies_in_its_range_however_far_out_that_is(low, high):
    drawn = [ranged(low, high, place / 8) for place in range(9)]
    assert all(low <= x <= high and math.isfinite(x) for x in drawn) and drawn == sorted(drawn)
    assert len(set(drawn)) == (1 if low == high else 9)


def test_without_python_flint_the_rest_runs_and_its_installation_is_named(monkeypatch):
    monkeypatch.setattr(check_methods, "find_spec", lambda name: None)
    out = succeeds("check", "-e", "x*sin(y)", "--at", "x=1,y=2").out
    assert out.count(f"not run: {sys.executable} -m pip install python-flint") == 3 and out.splitlines()[-1].startswith("ok: ")


def test_wrt_and_of_choose_the_entries():
    found = record("-e", "v = x*y*z", "-e", "w = x + z", "--at", "x=1,y=2,z=3", "--wrt", "y,z", "--of", "v")
    assert found["entries"] == {"first": 2, "second": 3, "all": True}


def test_a_long_program_is_looked_at_in_part_and_the_table_says_so(monkeypatch):
    monkeypatch.setattr(check_subject, "MANY_EQUATIONS", 1000)
    lines = "\n".join(f"t{i} = sin(t{i - 1})*x{i % 8} + 0.5*t{i - 1}" for i in range(1, 50))
    text = f"input {', '.join(f'x{i}' for i in range(8))}, t0\n{lines}\n"
    ended = succeeds("check", "-e", text, "--at", ",".join([*(f"x{i}=0.{i + 1}" for i in range(8)), "t0=0.3"]))
    assert "of 9 first derivatives, drawn by seed 0; --all looks at every one, and remainders use all" in ended.out


# ---------------------------------------------------------------- what it must not alarm at

AWKWARD = [("abs(x)", "x=0", "kink"), ("1/x", "x=0", None), ("exp(x)", "x=1000", None), ("sqrt(x)", "x=-1", None),
           ("sqrt(x)", "x=0", "singular"), ("max(x, y)", "x=1,y=1", "kink"), ("x*sqrt(x)", "x=0", "indeterminate"),
           ("x < 0.5 ? x : x**2", "x=0.5", "jump"), ("x", "x=nan", None), ("x", "x=inf", None), ("x*y", "x=inf,y=1", None),
           ("log(x) + x**3", "x=1e-300", "not finite"), ("x*y", "x=1e300,y=1e-300", ""), ("x**2*1e-10", "x=1e150", ""),
           ("max(x, y) + 1/x", "x=1,y=1.0000000000000002", "pieces change"),
           ("floor(x) + x", "x=1.0000000001", ""),
           ("tan(x)", "x=1.5707963267948966", ""), ("abs(x - 1)", "x=1.0000000000000002", ""),
           ("sqrt(x - 1)", "x=1.0000000000000002", ""), ("sin(1e6*x)", "x=1.827273087801317", ""),
           ("exp(-1/x**2)", "x=1e-3", ""), ("x**3", "x=0", ""), ("hypot(x, y)", "x=1e-320,y=0", "indeterminate"),
           ("(1 - cos(x))/x**2", "x=1e-6", ""), ("sin(x)**2 + cos(x)**2", "x=0.7", ""), ("(x + 1e20) - 1e20", "x=1", ""),
           ("exp(x)*exp(-x)", "x=300", ""), ("x - x", "x=0.1", ""), ("0*x", "x=2", ""), ("1/3*x - x/3", "x=0.1", "")]


@pytest.mark.parametrize(("formula", "at", "reason"), half([*AWKWARD]))
def test_awkward_points_are_counted_and_raise_no_alarm(formula, at, reason):
    ended = adcli("check", "-e", formula, "--at", at, "--format", "json")
    found = ended.records[0]
    skipped = [text for m in found["methods"] for text in m["skipped"]]
    assert (ended.code, ended.err) == (int(reason is None), "")
    if reason is None:
        assert found["verdict"] == "nothing compared"
    else:
        assert found["verdict"] == "ok" and (not reason or any(reason in text for text in skipped)), skipped


FAR = ["sin(1e7*x)", "sin(2*pi*1e9*x)", "tan(1e9*x)", "sin(x**3)", "x*1e-250*x", "exp(-x*x)", "sin(x)", "atan(1e200*x)", "tan(x)",
       "hypot(x, 1e-300)", "(1 - cos(x))/x**2", "erf(1e8*x)", "1/sin(x)", "fmod(x, 1e-300)", "sin(1e30*x)"]
PLACES = [0.0, 5e-324, 1e-300, 0.3, 50.0, 1e4, 5e9, 1e10, 1e17, 1e50, 1e200, 1.7e308]


@pytest.mark.parametrize("formula", half([*FAR]))
def test_no_false_alarm_however_far_the_scale_of_a_function_is_from_the_size_of_its_input(formula):
    check = Check(parse(f"f = {formula}"), ["x"])
    points = [{"x": x} for x in PLACES]
    for at in (p for p, finite in zip(points, check.finite(points), strict=True) if all(finite)):
        check.run([at])
        assert not check.failed, (at, [t for t in check.tallies if t.failed])


EDGES = [("sqrt(exp(x))", "x=-720"), ("exp(x)**0.25", "x=-740"), ("log(exp(x))", "x=-740"), ("log(exp(x))", "x=709"),
         ("sqrt(x*y)", "x=1e-200,y=1e-120"), ("cbrt(x*y)", "x=1e-160,y=1e-155"), ("x*y*z", "x=1e-150,y=1e-150,z=1e-5"),
         ("(x*y)/(y*z)", "x=1e-160,y=1e-155,z=1e-3"), ("x**-100", "x=1000"), ("x**-100", "x=1e-3"), ("exp(-x**2)", "x=27"),
         ("log(exp(-x**2))", "x=27"), ("log(erfc(x))", "x=26.6"), ("log(erfc(x))", "x=-26.604497395108737"),
         ("atan2(x*y, z)", "x=91.8,y=-9.5e-90,z=-1.046e-320"), ("tanh(exp(x))", "x=1e12"), ("tanh(exp(exp(x)))", "x=40"),
         ("1/(1/x + 1/y)", "x=1e-308,y=1e-300"), ("hypot(x*y, z)", "x=1e-200,y=1e-110,z=1e-310"), ("1e-300*x", "x=1e-20"),
         ("log(1e-310*x)", "x=3"), ("sigmoid(x)", "x=-745"), ("x*exp(-x)", "x=744")]
"""Values on the way, or steps, that are near the ends of the range of doubles."""


@pytest.mark.parametrize(("formula", "at"), EDGES)
def test_no_false_alarm_where_something_underflows_or_overflows(formula, at):
    ended = adcli("check", "-e", f"v = {formula}", "--at", at)
    assert "FAIL" not in ended.out and ended.code in (0, 1), ended
    assert ended.code == 0 or "nothing compared" in ended.out


@pytest.mark.parametrize(("formula", "at"), [("sin(1e7*x)", 2.5), ("cos(x)", 5e9), ("tan(1e9*x)", 0.3), ("sin(x**3)", 1e4),
                                             ("sin(x)", 1e300), ("erf(1e8*x)", 1e-300), ("1e-250*sin(x)", 0.7)])
def test_a_wrong_rule_is_caught_there_too(formula, at):
    name = formula.split("(")[0].split("*")[-1]
    with wrong_rule(name, 0, lambda m: m * (1 + 1e-6)):
        ended = adcli("check", "-e", formula, "--at", f"x={at}")
    assert ended.code == 1 and "FAIL" in ended.out


def test_digits_that_cancellation_takes_are_no_disagreement_and_are_counted():
    found = record("-e", "(1 - cos(x))/x**2", "--at", "x=1e-6")
    assert method(found, "multiple precision")["digits"] < 6
    assert method(found, "multiple precision")["compared"] == 6


CORPUS = [c for c in cases(DATA) if c["n_ops"] < 150][::4]


@pytest.mark.parametrize("case", part(CORPUS, 4), ids=lambda case: case["id"])
def test_no_false_alarm_on_programs_of_other_people(case):
    at = [f"--at={','.join(f'{n}={x}' for n, x in point['at'].items())}" for point in case["points"][:1]]
    for points in (at, ["--samples", "2"]):
        ended = adcli("check", "-e", case["program"], *points)
        assert ended.code == 0, ended


@pytest.mark.parametrize("name", ["max", "hypot"])
def test_an_operation_of_many_arguments_is_the_work_of_as_many_operations_of_two(name):
    xs = [f"x{i}" for i in range(60)]
    flat, nested = (Subject(parse(f"v = {text}"), list(xs), seed=3)
                    for text in (f"{name}({', '.join(xs)})", functools.reduce(lambda u, v: f"{name}({u}, {v})", xs)))
    assert (flat.order, flat.some_wrt) == (nested.order, nested.some_wrt)


@pytest.mark.parametrize("inputs, outputs, order", [(9, 6, 2), (9, 7, 1), (10, 5, 2), (10, 6, 1), (11, 5, 2), (4, 3, 2)])
def test_second_derivatives_are_left_out_where_they_are_long(inputs, outputs, order):
    """By inputs, outputs and equations, of which there are as many as outputs here."""
    assert products(inputs, outputs).order == order


@pytest.mark.parametrize("size, inputs, outputs", [(86, 86, 86), (87, 87, 86), (122, 122, 61), (123, 121, 60)])
def test_entries_are_drawn_where_there_are_many(size, inputs, outputs):
    looked_at = products(size, size)
    assert (len(looked_at.some_wrt), len(looked_at.some_of)) == (inputs, outputs)


def products(inputs, outputs):
    """Products of two inputs each."""
    xs, vs = ([f"{name}{k}" for k in range(count)] for name, count in (("x", inputs), ("v", outputs)))
    lines = [f"{v} = {xs[k % inputs]}*{xs[(k + 1) % inputs]}" for k, v in enumerate(vs)]
    return Subject(parse("\n".join([f"input {', '.join(xs)}", *lines, f"output {', '.join(vs)}"])), xs)


@pytest.mark.parametrize("off, found", [(1e-14, ["sin(u)"]), (1e-15, [])])
def test_a_function_of_native_code_that_is_off_is_found(off, found):
    """The reference has the functions of native code, which are compared with Python's for that."""
    functions = {**NATIVE.functions, "sin": lambda x: math.sin(x)*(1 + off)}
    rounding = Rounding(parse("v = exp(sin(x))*x"), {"x": 1.0}, arithmetic=replace(NATIVE, functions=functions))
    assert [described(e, "") for e, got, expected, allowed in rounding.strange if abs(got - expected) > allowed] == found


def test_what_is_not_a_number_there_is_none_for_the_reference_either():
    """cos and sin of libm and of a vector library decide otherwise whether this root has a value; check goes by the latter."""
    for x in ("0.3", "0.4", "0.6", "1.1"):
        value = float(adcli("eval", "-e", "v = sqrt(1 - cos(x)**2 - sin(x)**2)", "--at", f"x={x}").out.partition("=")[2])
        said = adcli("check", "-e", "v = sqrt(1 - cos(x)**2 - sin(x)**2)", "--at", f"x={x}").out
        assert ("every value is not finite" in said) == math.isnan(value)
        assert "native against reference: not finite" not in said or value == 0 or math.isnan(value)

