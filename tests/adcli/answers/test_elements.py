"""Matrices of tensors by elements: --format coo and mtx, --pattern, against derivatives written down."""
from __future__ import annotations

import pytest
from command import adcli, succeeds

CHAIN = ("-e", "input x(N)", "-e", "y(i) = x(i+1)**2 - x(i)")
VALLEY = ("-e", "input x(N)", "-e", "f +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2")
AT = ("--at", "x=[1,2,3]")


def entries(text: str) -> dict[tuple[int, int], float]:
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return {(int(row[0]), int(row[1])): float(row[-1]) for row in rows}


def test_a_jacobian_has_the_entries_that_are_not_zero_by_construction() -> None:
    got = succeeds("jacobian", *CHAIN, *AT, "--format", "coo").out
    assert entries(got) == {(0, 0): -1, (0, 1): 4, (1, 1): -1, (1, 2): 6}
    assert got.splitlines()[1] == "0,0,y(0),x(0),-1.0"


def test_a_hessian_is_that_of_the_valley() -> None:
    """Rosenbrock (1960): f″ is tridiagonal."""
    got = entries(succeeds("hessian", *VALLEY, *AT, "--format", "coo").out)
    assert got == {(0, 0): 402, (0, 1): -400, (1, 0): -400, (1, 1): 3802, (1, 2): -800, (2, 1): -800, (2, 2): 200}


def test_a_pattern_has_the_colours() -> None:
    assert succeeds("hessian", *VALLEY, *AT, "--pattern").out.endswith("7 of 9 entries, 78 %, 2 colours as a symmetric matrix\n")


@pytest.mark.parametrize(("words", "said"), [
    (("jacobian", *CHAIN, "--pattern"), "no values for x(N)"),
    (("jacobian", *CHAIN, *AT, "--at", "x=[1,2]", "--format", "coo"), "run adcli once for each of them"),
    (("jacobian", *CHAIN, *AT, "--format", "parquet", "-o", "a.parquet"), "rows with tensors come from --data FILE"),
    (("jacobian", *CHAIN, *AT, "--format", "mtx", "--tier", "tape"), "has no effect on --format mtx"),
])
def test_faults(words: tuple[str, ...], said: str) -> None:
    ended = adcli(*words)
    assert ended.code == 2 and said in ended.err
