"""`adcli why` at points that are too large to be written out: a fault with the numbers that are not finite on the way."""
from __future__ import annotations

import pytest
from adcli.lang.evaluate import recording
from command import adcli

LOOP = ("input W(n, n), h0(n)\nh(0, i) = h0(i)\nfor t in 0:3 { a(t, i) +=! W(i, j)*h(t, j); h(t + 1, i) = sqrt(a(t, i)) }\n"
        "v +=! h(3, i)")


@pytest.mark.parametrize(("text", "at", "said"), [
    (LOOP, "W=[[1,-1],[1,1]],h0=[4,1]", "a(2, 0) is nan, h(2, 0) is nan, v is nan\n"),
    (LOOP, "W=[[1,1],[nan,1]],h0=[4,1]", "W(1, 0) is nan, "),
    (LOOP, "W=[[1,0],[0,0]],h0=[4,1]", "d_dh(0, 0) is nan"),
    (LOOP, "W=[[1,1],[1,1]],h0=[4,1]", "operations\n"),
    ("input x(n); y(i) = exp(x(i)); z(i) = y(i) - y(i)*2; s +=! z(i)", "x=[1,1000]", "y(1) is inf, z(1) is nan, s is nan\n"),
], ids=["made in a loop", "an input", "a derivative", "nothing", "an overflow"])
def test_the_first_element_of_each_value_that_is_not_finite_is_named(text: str, at: str, said: str,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_OPERATIONS", 0)
    ended = adcli("why", "-e", text, "--at", at)
    assert ended.code == 2 and "why follows at most 0 operations on numbers; here there are " in ended.err
    assert "help: give smaller tensors" in ended.err and (said in ended.err or said == "operations\n"), ended.err
