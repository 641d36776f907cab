"""`adcli check --precision single`: code in single precision beside that in doubles, within what rounding does to it."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from adcli.lang.ir import Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import SINGLE
from command import Ended, adcli
from one_operation import IN_DOUBLE, REAL, program, samples
from session_seed import each_choice, half, part

import adcli as api
from adcli.check import elements, subject
from adcli.check.methods import other_precision
from adcli.check.subject import Subject

METHOD = "single precision against double"
NUMBERS = "v = x*sin(y) + exp(x)/y"


def checked(text: str, *points: str) -> tuple[Ended, dict[str, Any]]:
    """The answer, and the record of the method."""
    ended = adcli("check", "-e", text, *(points or ("--samples", "2")), "--precision", "single", "--format", "json")
    return ended, next(m for m in ended.records[0]["methods"] if m["method"] == METHOD)


def test_code_in_single_precision_is_looked_at() -> None:
    ended, method = checked(NUMBERS)
    assert ended.code == 0 and method["verdict"] == "ok" and 1 < method["digits"] < 7.3
    assert 1e-8 < method["worst"]["allowed"] / max(1.0, abs(method["worst"]["expected"])) < 1e-3


def test_a_large_point_is_looked_at_along_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MOST_WRITTEN", 0)
    ended, method = checked("input x(N), a; s +=! tanh(x(i)) * a")
    assert ended.code == 0 and method["compared"] == 10 and ended.records[0]["verdict"] == "ok"


@pytest.mark.parametrize("op", part([op for op in REAL if op.name not in IN_DOUBLE], 12), ids=lambda op: op.name)
def test_every_operation_stays_within_its_bound(op: Any) -> None:
    """With its derivatives to second order, in both modes."""
    p = program(op)
    looked_at = Subject(p, [x.name for x in p.params if x.name.startswith("x")], precision=SINGLE)
    seen = looked_at.see([{n: SINGLE.rounded(x) for n, x in at.items()} for at in samples(op, 3)])
    (tally,) = other_precision(looked_at, seen)
    assert not tally.failed and tally.compared, tally.worst


def compute_in_singles(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """Code of numbers in single precision has another operation in place of sin."""
    right = subject.compile_program

    def wrong(p: Program, precision: str) -> Any:
        equations = tuple([dataclasses.replace(e, op=TABLE[other]) if precision == "single" and e.op is TABLE["sin"] else e
                           for e in p.equations])
        return right(dataclasses.replace(p, equations=equations), precision=precision)
    monkeypatch.setattr(subject, "compile_program", wrong)


def test_wrong_code_for_numbers_is_caught_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    compute_in_singles(monkeypatch, "tanh")
    ended, method = checked(NUMBERS)
    assert ended.code == 1 and method["failed"] and ended.records[0]["fault"]["message"].endswith("code of single precision")


@pytest.mark.parametrize("most", [0, elements.MOST_WRITTEN], ids=["large", "small"])
def test_wrong_code_for_tensors_is_caught(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = elements.native

    def wrong(p: Program, precision: str) -> Any:
        kernel = right(p, precision=precision)

        def called(given: Any) -> dict[str, Any]:
            found = kernel(given)
            return {n: np.asarray(x) * (1 + 1e-3) if n == "s" and precision == "single" else x for n, x in found.items()}
        called.program = kernel.program   # type: ignore[attr-defined]
        return called
    monkeypatch.setattr(elements, "native", wrong)
    monkeypatch.setattr(elements, "MOST_WRITTEN", most)
    ended, method = checked("input x(N), a; s +=! tanh(x(i)) * a")
    assert ended.code == 1 and method["failed"] and method["worst"]["entry"] == "s"


def test_points_are_of_single_numbers_and_too_large_ones_are_refused() -> None:
    _, method = checked("v = x*x", "--at", "x=0.1")
    assert method["worst"]["at"] == {"x": SINGLE.rounded(0.1)}
    ended = adcli("check", "-e", "v = x*x", "--at", "x=1e39", "--precision", "single")
    assert (ended.code, ended.err.partition("\n")[0]) == (
        2, "adcli: error: x=1e+39 is too large for a number of single precision")


def test_what_stop_holds_is_looked_at_too() -> None:
    ended, method = checked("v = x*stop(exp(x))")
    assert ended.code == 0 and method["compared"]


def test_what_stop_holds_may_be_too_large_for_singles() -> None:
    ended, method = checked("v = x*stop(exp(x)); w = x", "--at", "x=100", "--at", "x=1")
    assert (ended.code, method["verdict"]) == (0, "ok") and method["skipped"]["not finite"]


def test_numbers_of_somebody_in_single_precision_are_allowed(tmp_path: Any) -> None:
    (tmp_path / "m.py").write_text("import numpy as np\ndef f(p):\n    x, y = np.asarray(p, np.float32)\n"
                                   "    return [np.sin(y), x*np.cos(y)]\ndef g(p):\n    return [1.0001 * z for z in f(p)]\n")
    given = "check", "-e", "v = x*sin(y)", "--at", "x=1.3,y=0.7", "--against"
    ended = adcli(*given, f"{tmp_path}/m.py:f")
    assert ended.code == 1 and "--precision single allows for that" in ended.out
    assert adcli(*given, f"{tmp_path}/m.py:f", "--precision", "single").code == 0
    assert adcli(*given, f"{tmp_path}/m.py:g", "--precision", "single").code == 1


def test_a_function_of_single_precision_checks_its_code() -> None:
    for precision, there in (("double", False), ("single", True)):
        view = api.compile("v = x*sin(y)", precision=precision).check(x=0.1, y=2.0)
        assert view["verdict"] == "ok" and (METHOD in [m["method"] for m in view["methods"]]) == there


DECIDED = [
    ("v = fmod(x*10000000, 1)", "x=1.23456789"),   # of which a single has no digit behind the point
    ("input x(M), t(N); v +=! x(j) * t(i)**(0 - j)", "x=[1,10,100],t=[1e20,0.5]"),   # 1/(t*t), where t*t overflows
    ("v = sqrt(1 + x - 1 - x*0.9999999)", "x=1e-3"),   # of a number that singles see below 0
    ("input x(N), c(M); int32 k(i) = floor(x(i)*10); y(i) = c(k(i))", "x=[0.7],c=[0,1,2,3,4,5,6,7,8,9]"),   # 7 in singles, not 6
    ("input x(N), c(N), d(N); z(b, i) = x(i)*c(i) where b in 0:1; k(b) argmax=! z(b, i); y(b) = d(k(b))",
     "x=[1.0000001192092896,1],c=[0.9999998807907104,1],d=[1,2]"),   # which are equal in singles
    ("input x(N); y(i) = x(i)*0.1*0.3/0.7*1.1/0.9*0.123*7.1/0.33*1.7*0.61", "x=[1.3,0.7]"),   # whose factors code multiplies
    ("input x(N); y(i) = 1e-40*x(i)/-(0.3)", "x=[1.3,0.7]"),   # a factor that has few digits in singles
    ("h(0) = a; for k in 0:20 until h(k+1) >= 0.8 { h(k+1) = h(k) + 0.1 }; r = h(20)", "a=0"),   # 9 steps, in singles 8
    ("input x(N); s *=! x(i)", "x=[1e-25,1e-25,1e-20,1e-20]"),   # which is 0 in singles
]


@pytest.mark.parametrize(("case", "most"), half(each_choice(DECIDED, (elements.MOST_WRITTEN, 0))))
def test_what_single_precision_decides_or_loses_is_no_fault(case: tuple[str, str], most: int,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    text, at = case
    monkeypatch.setattr(elements, "MOST_WRITTEN", most)
    _, method = checked(text, "--at", at)
    assert not method["failed"], method


def test_what_is_infinite_on_the_way_to_others_is_no_fault() -> None:
    """A derivative of the product meets 0·∞ in singles."""
    _, method = checked("input x(N); s *=! x(i)", "--at", "x=[1e-25,1e15,1e-25,1e15,1e-25,1e15,1e-25,1e15,1e20,1e20]")
    assert method["compared"] and not method["failed"]


def test_elements_that_are_infinite_do_not_hide_the_others_of_a_large_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MOST_WRITTEN", 0)
    _, method = checked("input x(N); y(i) = exp(x(i))", "--at", "x=[1,100]")
    assert (method["compared"], method["skipped"], method["failed"]) == (4, {"not finite": 4}, 0)


def test_nothing_compared_in_single_precision_is_not_ok() -> None:
    ended, method = checked("v = exp(x*x)", "--at", "x=20")
    assert not method["compared"] and (ended.code, ended.records[0]["verdict"]) == (1, "nothing compared")
    ended = adcli("check", "-e", "v = exp(x*x)", "--at", "x=20", "--precision", "single", "-q")
    assert ended.out == "nothing compared: no entry of single precision against double can be told at these points\n"


def test_code_that_gives_no_number_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    compute_in_singles(monkeypatch, "log")
    ended, method = checked("v = sin(x)", "--at", "x=-0.5")
    assert ended.code == 1 and method["failed"] and method["worst"]["got"] == "NaN"


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_function_checks_what_stop_holds(precision: str) -> None:
    view = api.compile("v = x*stop(exp(x)) + y*y", precision=precision).check(x=1.0, y=2.0)
    assert view["verdict"] == "ok" and "what stop holds is kept" in str(view)


def test_where_no_element_has_a_bound_rounding_is_measured_along_directions() -> None:
    ended, method = checked("input x(N)\nv +=! x(i)*x(i)/(x(0) - x(1))", "--at", "x=[1,1.0000002]")
    assert ended.code == 0 and method["compared"] == 4 and "along random directions" in method["note"]
