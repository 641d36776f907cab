"""Texts of SymPy as programs, which needs no SymPy: what they are read as is in reports.txt, what is refused in faults.txt."""
from __future__ import annotations

from command import adcli


def test_a_text_that_is_nested_too_deep_is_refused() -> None:
    ended = adcli("grad", "--from", "sympy", "-", "--at", "x=1", stdin=b"(" * 400 + b"x" + b")" * 400)
    assert ended.code in (2, 3) and "internal" not in ended.err
