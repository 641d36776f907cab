"""The part of functions at special values notices wrong values, wrong bounds, verbs that differ, and a wrong verdict."""
from __future__ import annotations

import primitives
import pytest
from adcli.lang.evaluate import FLOAT
from mutations import Answer
from session_seed import drawn


@pytest.mark.parametrize("name, values", [("sin", [0.3]), ("pown", [-5.0, 1.5]), ("log", [-1.0])])
def test_nothing_is_wrong_with_these(name, values):
    assert [primitives.replay(b"", (kind, name, *map(repr, values))) for kind in ("verbs", "Arb", "bounds")] == [None] * 3


def test_every_function_is_tried():
    r = drawn("primitives")
    tried = [primitives.chosen(r) for _ in range(4000)]
    assert {name for name, _ in tried} == {*primitives.FUNCTIONS, *primitives.FORMULAS, *primitives.STATIC}
    for name, values in tried[:200]:
        source, at = primitives.formula(name, values)
        assert primitives.parse(source).params and set(at) == {p.name for p in primitives.parse(source).params}, source


def test_a_wrong_value_is_noticed(monkeypatch):
    monkeypatch.setitem(FLOAT.functions, "tanh", lambda x: x)
    assert "digits are lost: tanh" in primitives.replay(b"", ("Arb", "tanh", "0.7"))


def test_bounds_that_do_not_hold_are_noticed(monkeypatch):
    exact = primitives.exact_values
    monkeypatch.setattr(primitives, "exact_values", lambda p, at: [x * (1 + 2**-45) for x in exact(p, at)])
    assert "bounds of tanh do not hold" in primitives.replay(b"", ("bounds", "tanh", "0.7"))


def test_verbs_that_differ_are_noticed(monkeypatch):
    answers = iter(["v = 2.0\n", "", "", "v = 2.0\ndv_dx = inf\n", "v = 2.0\ndv_dx = 1e308\n"])
    monkeypatch.setattr(primitives.mutations, "answer", lambda args: Answer(0, next(answers), "", 0.0))
    assert "verbs differ on exp" in primitives.replay(b"", ("verbs", "exp", "1.0"))


def test_a_wrong_verdict_is_noticed(monkeypatch):
    monkeypatch.setattr(primitives.mutations, "answer", lambda args: Answer(int(args[0] == "check"), "FAIL", "", 0.0))
    assert "check judges exp wrong" in primitives.replay(b"", ("verbs", "exp", "1.0"))
