"""What is said about a wrong call from Python: the whole text, for every kind of fault, in the golden `faults.txt`.

A case is an expression, and behind it the error. `--rewrite-programs` writes today's texts, as for the command line.
"""
from __future__ import annotations

import re

import numpy as np
import pytest
from places import ROOT

import adcli

GOLDEN = ROOT / "tests" / "adcli" / "api" / "faults.txt"
CASES = [case.split("\n", 1)[0] for case in re.split(r"^\$ ", GOLDEN.read_text(encoding="utf-8"), flags=re.M)[1:]]
KNOWN = {
    "adcli": adcli, "np": np, "numbers": adcli.compile("v = x*sin(y)"), "two": adcli.compile("v = x*y; w = x + y"),
    "tensors": adcli.compile("input x(N), A(N, N); y(i) +=! A(i, j)*x(j); s +=! y(i)**2"),
    "whole": adcli.compile("input int32 k(N), x(N); s +=! x(k(i))"), "line": adcli.compile("y = a*t + b"),
    "product": adcli.compile("input A(M, N), B(N); C(i) +=! A(i, j)*B(j)"), "rows": {"t": [1.0, 2.0, 3.0], "y": [1.0, 3.0, 5.0]},
    "squares": adcli.compile("input x(N); param y(M), h; v +=! x(i)**2 + 0*y(0)"),
    "start": {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0], "h": float("inf")},
}


def said(call: str) -> str:
    with pytest.raises(adcli.AdError) as raised:
        eval(call, dict(KNOWN))
    return f"{raised.value}\n"


def test_the_golden_file_is_that_of_today(request: pytest.FixtureRequest) -> None:
    today = "".join(f"$ {call}\n{said(call)}" for call in CASES)
    if request.config.getoption("--rewrite-programs"):
        GOLDEN.write_text(today, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == today
