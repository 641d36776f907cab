"""Faults planted on purpose: `check` must catch each of them at points it draws itself, and say where it is."""
from __future__ import annotations

from contextlib import contextmanager

import pytest
from adcli.lang.ir.build import When, apply
from adcli.lang.ir.primitives import TABLE, cos
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import forward, reverse
from adcli.lang.modes.guards import Term
from adcli.lang.passes import pipeline
from adcli.lang.verify.culprits import culprit
from command import adcli, succeeds
from planted_faults import planted, wrong_rule
from session_seed import each_choice, half

from adcli.check import elements
from adcli.check import methods as check_methods
from adcli.check import subject as check_subject

# The operation stands in the middle of each program, and on its second line.
MIDDLE = {
    ("sin", 0): "u = x*y\nw = sin(u)\nv = exp(w)*x", ("tanh", 0): "u = x + y\nw = tanh(u)\nv = x*w**2",
    ("div", 1): "u = 1 + y*y\nw = x/u\nv = sqrt(1 + w*w)", ("log", 0): "u = 1 + x*x\nw = log(u)\nv = w*y",
    ("erf", 0): "u = x*y\nw = erf(u)\nv = w*w + y", ("pow", 0): "u = 1 + x*x\nw = u**y\nv = w*x",
    ("atan2", 0): "u = x*y\nw = atan2(u, y)\nv = x*w", ("lgamma", 0): "u = 1 + x*x\nw = lgamma(u)\nv = w*y",
    ("hypot", 0): "u = x*x\nw = hypot(u, y)\nv = w*x", ("softplus", 0): "u = x*y\nw = softplus(u)\nv = w*w",
    ("mul", 1): "u = sin(x)\nw = u*y\nv = exp(w)", ("asinh", 0): "u = x*y\nw = asinh(u)\nv = w*x",
}
CHANGES = {"one part in a million": lambda m: m * (1 + 1e-6), "wrong sign": lambda m: -m, "a factor missing": lambda m: m * 0.5}


@pytest.mark.parametrize("text", half([*MIDDLE.values()]))
def test_right_rules_are_found_right(text):
    succeeds("check", "-e", text, "--samples", 4)


def test_a_rule_whose_value_underflows_is_no_culprit():
    assert culprit(parse("v = exp(-x * 1000)"), {"x": 1e308}, ["x"]) is None


@pytest.mark.parametrize(("place", "change"), each_choice([*MIDDLE], [*CHANGES.values()]))
def test_a_wrong_rule_is_caught_and_named_with_its_line(place, change):
    name, position = place
    text = MIDDLE[name, position]
    with wrong_rule(name, position, change):
        record = adcli("check", "-e", text, "--samples", 4, "--format", "json").records[0]
        ended = adcli("check", "-e", text, "--samples", 4) if change is CHANGES["wrong sign"] else None
    if ended:
        assert ended.code == 1 and "FAIL: " in ended.out.splitlines()[-1]
        assert "-e:2:5: error: the rule of " in ended.out and "^" in ended.out
    fault = record["fault"]
    assert (record["verdict"], fault["line"], fault["column"]) == ("FAIL", 2, 5)
    assert fault["operation"] == (TABLE[name].spelled or name)
    assert abs(fault["got"] - fault["expected"]) > fault["allowed"]


@pytest.mark.parametrize(("name", "position"), half([*MIDDLE]), ids=lambda x: str(x))
def test_a_wrong_rule_is_caught_without_multiple_precision(name, position, monkeypatch):
    monkeypatch.setattr(check_methods, "find_spec", lambda package: None)
    succeeds("check", "-e", MIDDLE[name, position], "--samples", 4)
    with wrong_rule(name, position, lambda m: m * (1 + 1e-6)):
        assert adcli("check", "-e", MIDDLE[name, position], "--samples", 4).code == 1


@contextmanager
def rules(name, *maps):
    """A row of the table with other maps."""
    right = TABLE[name].maps
    with planted(TABLE[name], "maps", maps):
        yield right


def test_a_rule_with_its_arguments_swapped():
    with rules("sub", lambda t, z, x, y: -t, lambda t, z, x, y: t):
        ended = adcli("check", "-e", "u = x*x\nw = u - y\nv = sin(w)")
    assert ended.code == 1 and "-e:2:5: error: the rule of u - v" in ended.out


def test_the_rule_of_another_function():
    with rules("sin", lambda t, z, x: -(t * cos(x))):
        assert adcli("check", "-e", "v = x*sin(x*y)").code == 1


def test_a_piece_that_is_taken_the_wrong_way_round():
    with rules("max", lambda t, z, u, *xs: When(u < z, t)):
        ended = adcli("check", "-e", "v = x*max(x*x, y)")
    assert ended.code == 1 and "the rule of max(u, v)" in ended.out


SECOND = {"scalar": "v = sin(x*y)*x", "tensor": "input x(N), y; v +=! sin(x(i)*y)*x(i)"}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("text", SECOND.values(), ids=SECOND)
def test_a_rule_that_only_second_derivatives_use(text, change):
    with wrong_rule("cos", 0, change):
        record = adcli("check", "-e", text, "--samples", 2, "--format", "json").records[0]
    assert record["verdict"] == "FAIL" and not any(m["failed"] for m in record["methods"] if "gradient" in m["method"])


@pytest.mark.parametrize("most", [0, elements.MOST_WRITTEN], ids=["large", "small"])
@pytest.mark.parametrize("precise", [False, True], ids=["doubles", "multiple precision"])
def test_a_rule_that_is_wrong_at_one_element_only(most, precise, monkeypatch):
    monkeypatch.setattr(elements, "MOST_WRITTEN", most)
    if not precise:
        monkeypatch.setattr(check_methods, "find_spec", lambda package: None)
    text, at = "input x(N); v +=! sin(x(i))*x(i)", "x=[0.5,-0.7,0.2,2,0.9]"
    succeeds("check", "-e", text, "--at", at)
    with rules("sin", lambda t, z, x: t * cos(x) * apply(TABLE["select"], x > 1, 1 + 1e-5, 1.0)):
        assert adcli("check", "-e", text, "--at", at).code == 1


# ---------------------------------------------------------------- the sweeps

SHARED = "s = x*y\nt = sin(s)*s\nv = t*s + x/t"


def test_a_sum_of_adjoints_that_drops_a_term(monkeypatch):
    """The rule of `dup` in reverse mode adds; forward mode knows nothing of it and stays right."""
    monkeypatch.setattr(pipeline, "CHECKS", ())
    monkeypatch.setattr(reverse, "add", lambda b, first, second, *hint: first)
    ended = adcli("check", "-e", SHARED)
    assert ended.code == 1 and "the fault is in a sweep" in ended.out
    row = next(line for line in ended.out.splitlines() if line.startswith("forward against reverse"))
    assert "FAIL" in row


def test_a_rule_that_is_wrong_in_one_mode_only(monkeypatch):
    right = forward.contributions

    def wrong(b, equation, *given):
        term = right(b, equation, *given)
        return term if equation.op.name != "sin" or term is None else Term.of(term.value * (1 + 1e-6), term.guard)
    monkeypatch.setattr(forward, "contributions", wrong)
    ended = adcli("check", "-e", SHARED)
    assert ended.code == 1 and "the modes differ: the fault is in a sweep" in ended.out


def test_native_code_that_is_wrong(monkeypatch):
    right = check_subject.Native.__call__

    def wrong(self, points):
        return [[x * (1 + 1e-9) for x in column] if i == 1 else column for i, column in enumerate(right(self, points))]
    monkeypatch.setattr(check_subject.Native, "__call__", wrong)
    monkeypatch.setattr(check_methods, "find_spec", lambda package: None)
    ended = adcli("check", "-e", "v = x*sin(y)", "--at", "x=1,y=2")
    assert ended.code == 1 and "the fault is in native code" in ended.out
