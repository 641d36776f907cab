"""`adcli trace` at points that are too large to be written out: the same numbers by native code, abridged."""
from __future__ import annotations

import numpy as np
import pytest
from command import adcli, succeeds

from adcli.output.tensors import FIRST
from adcli.trace import tensors

LOOP = ("input W(n, n), h0(n)\nh(0, i) = h0(i)\nfor t in 0:2 { a(t, i) +=! W(i, j)*h(t, j); h(t + 1, i) = tanh(a(t, i)) }\n"
        "u(i) = h(2, i)**2\nv +=! u(i)\nl lse=! h(2, i)")
GIVEN = "trace", "-e", LOOP, "--at", "W=[[1,-1],[1,1]],h0=[4,1]"
SEEDS = "--tangent", "W=1", "--cotangent", "v=1"


def small(*more: str) -> dict:
    return adcli(*GIVEN, *more, "--format", "json").records[0]


def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "MOST_OPERATIONS", 0)


def test_values_and_derivatives_are_those_of_a_small_point(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = small(*SEEDS)
    large(monkeypatch)
    found = small(*SEEDS)
    for part in ("inputs", "lines", "outputs"):
        assert [x["name"] for x in found[part]] == [x["name"] for x in expected[part]]
        for got, want in zip(found[part], expected[part], strict=True):
            assert {"value", "tangent", "adjoint"} - got.keys() == ({"adjoint"} if got["name"] in ("a", "h") else set())
            for kind in got.keys() & {"value", "tangent", "adjoint", "norm"}:
                np.testing.assert_allclose(got[kind], want[kind], atol=1e-14, err_msg=f"{kind} of {got['name']}")


def test_json_of_a_large_point_has_the_extremes_and_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    large(monkeypatch)
    given = "trace", "-e", "input x(N)\ny(i) = x(i)*x(i)", "--at", f"x={list(range(FIRST + 2))}", "--format", "json"
    record = succeeds(*given).records[0]
    assert record["at"]["x"] == {"smallest": 0.0, "largest": 9.0, "first": [float(k) for k in range(FIRST)]}
    assert record["outputs"][0]["value"] == {"smallest": 0.0, "largest": 81.0, "first": [float(k*k) for k in range(FIRST)]}


def test_a_row_has_the_extremes_and_single_operations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    large(monkeypatch)
    assert "= 2 × 2, norm 6.16278, -0.00485445 to 5 " in succeeds(*GIVEN).out
    assert "--element writes out every operation on numbers" in adcli(*GIVEN, "--element", "h(2, 0)").err

