"""--explain of programs with tensors: their steps, and at a point sizes, work, memory and threads."""
from __future__ import annotations

import re

import pytest
from command import adcli, succeeds

LOOP = ("-e", "input W(n, n), h0(n)", "-e", "h(0, i) = h0(i)",
        "-e", "for t in 0:3 { a(t, i) +=! W(i, j)*h(t, j); h(t + 1, i) = tanh(a(t, i)) }", "-e", "v +=! h(3, i)")


def test_without_a_point_the_steps_are_told():
    out = succeeds("grad", *LOOP, "--explain").out
    assert re.match(r"code: compiled; \d+ steps? on tensors, a loop of 2 statements, a loop of \d statements?\n", out)
    assert out.endswith("a point says more: its sizes, the work and the memory (--at)\n")
    solve = ("-e", "input A(n, n), b(n)", "-e", "x = solve(A, b)", "-e", "v +=! x(i)")
    assert ", 2 operations on matrices\n" in succeeds("grad", *solve, "--explain").out


@pytest.mark.parametrize("n, threads", [
    (2, "one; the whole is too short for more"), (500, "several share 1 step"),
    (180, "several share 1 step of a run that begins less than 1 ms after another")])
def test_a_point_gives_the_sizes_and_the_work(tmp_path, n, threads):
    import numpy as np
    np.savez(tmp_path / "p.npz", A=np.zeros((n, n)), B=np.zeros((n, n)))
    product = ("-e", "input A(n, n), B(n, n), s", "-e", "C(i, j) +=! A(i, k)*B(k, j)", "-e", "v +=! s*C(i, j)**2", "--wrt", "s")
    err = adcli("grad", *product, "--explain", "--at", f"@{tmp_path / 'p.npz'},s=1").err
    figures = dict(line.split(": ", 1) for line in err.splitlines() if ": " in line)
    assert figures["sizes"] == f"n = {n:,}" and figures["threads"] == threads
    assert int(figures["memory"].split()[0].replace(",", "")) >= 8*n*n
