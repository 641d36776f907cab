"""`adcli check --precision single`: code in single precision beside that in doubles, within what rounding does to it."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from adcli.lang.ir import Program
from adcli.lang.ir.precision import SINGLE
from adcli.lang.ir.primitives import TABLE
from command import Ended, adcli
from one_operation import REAL, program, samples

import adcli as api
from adcli.check import elements, subject, sweeps
from adcli.check.methods import Check

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


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_every_operation_stays_within_its_bound(op: Any) -> None:
    """With its derivatives to second order, in both modes."""
    p = program(op)
    check = Check(p, [x.name for x in p.params if x.name.startswith("x")], precision=SINGLE)
    seen = list(check.see([{n: SINGLE.rounded(x) for n, x in at.items()} for at in samples(op, 3)]))
    (tally,) = check.in_singles(seen)
    assert not tally.failed and tally.compared, tally.worst


def test_wrong_code_for_numbers_is_caught_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = subject.compile_program

    def wrong(p: Program, precision: str) -> Any:
        equations = tuple([dataclasses.replace(e, op=TABLE["tanh"]) if precision == "single" and e.op is TABLE["sin"] else e
                           for e in p.equations])
        return right(dataclasses.replace(p, equations=equations), precision=precision)
    monkeypatch.setattr(subject, "compile_program", wrong)
    ended, method = checked(NUMBERS)
    assert ended.code == 1 and method["failed"] and ended.records[0]["fault"]["message"].endswith("code of single precision")


@pytest.mark.parametrize("most", [0, elements.MOST_WRITTEN], ids=["large", "small"])
def test_wrong_code_for_tensors_is_caught(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sweeps.native

    def wrong(p: Program, precision: str) -> Any:
        kernel = right(p, precision=precision)

        def called(given: Any) -> dict[str, Any]:
            found = kernel(given)
            return {n: np.asarray(x) * (1 + 1e-3) if n == "s" and precision == "single" else x for n, x in found.items()}
        called.program = kernel.program   # type: ignore[attr-defined]
        return called
    monkeypatch.setattr(sweeps, "native", wrong)
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
