"""`adcli check` at points that are too large to be written out: derivatives along random directions, by native code alone."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from adcli.lang.operations.precision import DOUBLE
from command import adcli
from planted_faults import wrong_rule

from adcli.check import directions, elements

SUM = "input x(N), a; s +=! tanh(x(i)) * a"
HELD = "input x(N); s +=! x(i) * stop(x(i))"


@pytest.fixture(autouse=True)
def all_points_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MOST_WRITTEN", 0)


def checked(text: str) -> tuple[int, dict[str, dict], dict]:
    ended = adcli("check", "-e", text, "--samples", 1, "--format", "json")
    record = ended.records[0]
    return ended.code, {m["method"]: m for m in record["methods"]}, record


def test_what_native_code_can_do_is_done_and_the_rest_is_said_to_be_left_out() -> None:
    code, methods, record = checked(SUM)
    assert code == 0 and record["entries"] == {"first": 0, "second": 0, "all": False}
    counts = {name: m["compared"] for name, m in methods.items()}
    assert [n for n in counts.values() if n] == [2, 5, 2]
    assert {m["note"] for m in methods.values() if not m["compared"]} == {directions.LEFT_OUT}
    assert list(methods) == [
        "forward against reverse", "native against reference", "multiple precision", "differences along directions",
        "Taylor remainder, gradient", "Taylor remainder, Hessian"]
    assert methods["differences along directions"]["worst"]["allowed"] < 1e-6


def test_a_rule_that_is_wrong_by_a_millionth_is_caught() -> None:
    with wrong_rule("tanh", 0, lambda m: m * (1 + 1e-6)):
        code, methods, record = checked(SUM)
    assert code == 1 and methods["differences along directions"]["failed"] and "leave out the point" in record["fault"]["message"]


def test_what_stop_holds_is_not_moved_and_many_operations_are_taken_along_one_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    code, methods, _ = checked(HELD)
    assert code == 0 and methods["differences along directions"]["note"] == "not run: stop holds values that a step moves"
    monkeypatch.setattr(directions, "MOST_EVALUATED", 0)
    _, methods, _ = checked(SUM)
    assert methods["differences along directions"]["compared"] == 1
    assert methods["differences along directions"]["note"] == "all inputs move together"


@pytest.mark.parametrize(("at", "sizes"), [
    ([1e-9, 0.5, 2.0, -3e7], [1e-9, 0.5, 2.0, 3e7]), ([0.0, -0.25, 0.0], [0.25, 0.25, 0.25]), ([0.0, 0.0], [1.0, 1.0]), ([], [])])
def test_every_element_moves_by_about_its_size(at, sizes) -> None:
    of = SimpleNamespace(given={"x": np.array(at)}, random=np.random.default_rng(7), of=SimpleNamespace(precision=DOUBLE))
    moved = np.abs(directions.DirectionalCheck.along(of, SimpleNamespace(name="x")))
    assert ((0.5 * np.array(sizes) <= moved) & (moved <= sizes)).all()
