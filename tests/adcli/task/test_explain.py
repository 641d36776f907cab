"""--explain of programs with tensors: their steps, and at a point sizes, work, memory and threads."""
from __future__ import annotations

import pytest
from command import adcli


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



def test_the_steps_that_a_loop_takes_are_the_sizes():
    loop = ("-e", "input x0(n)", "-e", "x(0, i) = x0(i)",
            "-e", "for t in 0:1000000 until x(t + 1, 0) > 9 { x(t + 1, i) = 2*x(t, i) }", "-e", "s +=! x(1000000, i)**2")
    err = adcli("grad", *loop, "--of", "s", "--explain", "--at", "x0=[1,2,3]").err
    figures = dict(line.split(": ", 1) for line in err.splitlines() if ": " in line)
    assert {*figures["sizes"].split(", ")} == {"steps = 5", "n = 3"}
    assert int(figures["memory"].split()[0].replace(",", "")) < 2000
