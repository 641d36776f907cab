"""`adcli why` at points that are too large to be written out: the element that made a number, found by native code."""
from __future__ import annotations

import pytest
from adcli.lang.evaluate import one_element, unfolding
from command import adcli, succeeds

LOOP = ("input W(n, n), h0(n)\nh(0, i) = h0(i)\nfor t in 0:3 { a(t, i) +=! W(i, j)*h(t, j); h(t + 1, i) = sqrt(a(t, i)) }\n"
        "v +=! h(3, i)")
SOLVE = "input A(n, n), b(n); x = solve(A, b); s +=! x(i)"


@pytest.fixture(autouse=True)
def all_points_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfolding, "MOST_OPERATIONS", 0)


@pytest.mark.parametrize(("text", "at", "said"), [
    (LOOP, "W=[[1,-1],[1,1]],h0=[4,1]", ["v is nan\n", "in h(2, 0), sqrt(u) at u = a(1, 0) = -0.5040171699309126 is nan",
                                         "passed on through a(2, 0), h(3, 0)\n"]),
    (LOOP, "W=[[1,1],[nan,1]],h0=[4,1]", ["v is nan\nW(1, 0) is nan, which is passed on\n",
                                          "passed on through a(0, 1), h(1, 1), a(1, 0), h(2, 0), a(2, 0), h(3, 0)\n"]),
    (LOOP, "W=[[1,0],[0,0]],h0=[4,1]", ["dv_dW(0, 0) and 3 more of its elements", "are nan\n",
                                         "in d_dh(2, 0), u * v at u = W(1, 0) = 0.0, v = d_da(2, 1) = inf",
                                         "d_da(2, 1) is inf\n", "division by zero"]),
    (LOOP, "W=[[1,1],[1,1]],h0=[4,1]", ["nothing to explain: all values and derivatives here are finite (for exact zeros"]),
    (SOLVE, "A=[[1,2],[2,4]],b=[1,1]", ["in x(0), solve(A, b) at pivot 2 of its matrix = 0.0 is nan", "with A(0, 1) = 2.0"]),
    ("input x(n); y(i) = exp(x(i)); z(i) = y(i) - y(i)*2; s +=! z(i)", "x=[1,1000]",
     ["s is nan\n", "in z(1), u - v at u = y(1) = inf", "y(1) is inf\n", "exp(u) at u = x(1) = 1000.0 is inf: overflow"]),
], ids=["made in a loop", "an input", "a derivative", "nothing", "a pivot", "an overflow behind it"])
def test_the_element_and_step_that_made_a_number_are_told(text: str, at: str, said: list[str]) -> None:
    out = succeeds("why", "-e", text, "--at", at).out
    assert [x for x in said if x not in out] == [], out


def test_what_needs_every_operation_is_refused_with_the_option_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "why", "-e", LOOP, "--at", "W=[[1,-1],[1,1]],h0=[4,1]"
    assert "--limit writes out every operation on numbers" in adcli(*given, "--limit").err
    monkeypatch.setattr(one_element, "MOST_POINTS", 1)
    assert "v is nan; the statement that makes it has too many operations" in adcli(*given).err
