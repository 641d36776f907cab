"""Loops that end early take the time and memory of the steps that are taken, and give what the whole loop does."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules import counted
from adcli.codegen.modules.counted import CountedKernel, rounded_up
from adcli.lang.evaluate import evaluate
from adcli.lang.passes import steps_taken
from command import succeeds

import adcli

NEWTON = """input x0(N), a(N)
x(0, i) = x0(i)
for t in 0:{0} until d(t) < 1e-20 {{ x(t + 1, i) = (x(t, i) + a(i)/x(t, i))/2; d(t) +=! (x(t + 1, i) - x(t, i))**2 }}
s +=! x({0}, i)
output s"""
TRIED = 4
"""Steps that are tried first, here."""
VECTORS = {"x0": np.ones(3), "a": np.array([1.0, 2.0, 3.0])}
PROGRAMS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "vectors": (NEWTON.format(20), VECTORS, [7]),
    "lags, and elements in the middle": (
        "input u(T)\nx(0) = b; x(1) = a*b; for k in 1:T until x(k+1) > 5 { x(k+1) = x(k-1) + u(k)*a }\n"
        "y = x(T) + x(9)*x(0) + x(2)",
        {"u": np.linspace(0.1, 1, 40), "b": 0.5, "a": 2.0}, [16]),
    "never": ("x(0) = b; for k in 0:T until x(k+1) > 9 { x(k+1) = sin(x(k)) + a }; y = x(T)",
              {"b": 0.5, "a": 1.5, "T": 70}, [70]),
    "at once": ("x(0) = b; for k in 0:40 until x(k+1) > 0 { x(k+1) = x(k)*a }; y = x(40)", {"b": 0.5, "a": 1.5}, [2]),
    "at the end of what is tried": (f"x(0) = b; for k in 0:70 until k >= {TRIED - 1} {{ x(k+1) = x(k)*a }}; y = x(70)",
                                    {"b": 0.5, "a": 1.01}, [TRIED + 1]),
    "behind it": (f"x(0) = b; for k in 0:70 until k >= {8*TRIED} {{ x(k+1) = x(k)*a }}; y = x(70)", {"b": 0.5, "a": 1.01}, [36]),
    "no steps": ("x(0) = b; for k in 0:T until x(k+1) > 7 { x(k+1) = x(k)*a }; y = x(T)", {"b": 0.5, "a": 1.5, "T": 0}, [0]),
    "NaN": ("x(0) = b; for k in 0:40 until x(k+1) > 7 { x(k+1) = x(k)*a }; y = x(40)", {"b": float("nan"), "a": 1.5}, [40]),
    "a second loop": (NEWTON.format(20).replace("s +=! x(20, i)", "z(0, i) = x(20, i)\nfor t in 0:20 until e(t) > 50 "
                      "{ z(t+1, i) = z(t, i)*a(i) + x(20, i); e(t) max=! z(t+1, i) }\ns +=! z(20, i)"), VECTORS, [7, 4]),
    "sums, and a step of its own": (
        "input u(N); v(0) = b; for k in 0:20 until v(k+1) > 7 { w(k) = v(k)*1.1; v(k+1) = w(k); v(k+1) += u(i) }\n"
        "y = v(20)*w(19)",
        {"u": np.ones(3), "b": 0.5}, [4]),
    "matrices": (
        "input A(N, N), c(N); x(0, i) = c(i)\n"
        "for t in 0:9 until d(t) < 1e-18 { J(t, i, j) = A(i, j) + (i == j ? 3*x(t, i)**2 : 0)\n"
        "q(t, i) +=! A(i, j)*x(t, j); r(t, i) = q(t, i) + x(t, i)**3 - c(i); dx(t) = solve(J(t), r(t))\n"
        "x(t+1, i) = x(t, i) - dx(t, i); d(t) +=! dx(t, i)**2 }; s +=! x(9, i)**2; output s",
        {"A": np.eye(3)*4 + 1, "c": np.array([1.0, 2, 3])}, [8]),
}


@pytest.fixture(autouse=True)
def _all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "FIRST_STEPS", TRIED)
    monkeypatch.setattr(steps_taken, "LEAST_STEPS", 1)
    monkeypatch.setattr(steps_taken, "LEAST_OF_NUMBERS", 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_the_whole_loop(name: str) -> None:
    """The results of the evaluator, which takes all steps; and as many steps as that takes, and one or a few more."""
    text, at, steps = PROGRAMS[name]
    f = adcli.compile(text).only("s" if "output s" in text else "y")
    every = [f.jvp, f.hvp, lambda: f.vjp().only(f.vjp().outputs[-1])]
    few = name in ("matrices", "at once", "at the end of what is tried", "behind it", "no steps")
    for g in [derive() for derive in (every if name == "vectors" else every[:1] if few else every[1:2])]:
        seeds = {p.name: np.full(np.shape(at[p.seed]), 0.7) if p.seed in at else 0.7 for p in g.program.params if p.seed}
        given = at | {n: x if np.ndim(x) else float(x) for n, x in seeds.items()}
        got, want = g(given), evaluate(g.program, given)
        for result, value in want.items():
            np.testing.assert_allclose(got[result], value, rtol=1e-13, atol=1e-30, err_msg=result)
        kernel = g._kernel
        if steps == [0]:   # so few are not counted
            continue
        assert isinstance(kernel, CountedKernel)
        assert [*kernel.steps(given).values()] == steps
        if name in ("NaN", "at once"):   # which compiles
            assert g.status(given) == ("domain" if name == "NaN" else "smooth")


def test_a_range_of_a_million_takes_the_memory_and_operations_of_the_steps() -> None:
    """Of 5 steps with 1,000 elements; the whole has 16 GB of histories."""
    f, n = adcli.compile(NEWTON.format(10**6)), 1000
    at = {"x0": np.ones(n), "a": np.linspace(1, 3, n)}
    value, g, h = f, f.grad(), f.hvp()
    assert value(at)["s"] == pytest.approx(np.sqrt(at["a"]).sum(), rel=1e-15)
    np.testing.assert_allclose(g(at)["ds_da"], 0.5/np.sqrt(at["a"]), rtol=1e-12)
    np.testing.assert_allclose(h(at | {"dx0": 0.0, "da": 1.0})["hvp_a"], -0.25*at["a"]**-1.5, rtol=1e-9)
    kernels = [value._kernel, *(k for each in (g._kernel, h._kernel) for k in (each.counter(), each.short()))]
    plans = [plan for kernel in kernels for plan in kernel.plans.values()]
    assert max(plan.memory for plan in plans) < 80 * 8*n   # of 7 steps
    assert max(plan.instructions for plan in plans) < 64 * 10*n


def test_the_places_where_a_loop_ends_are_jumps() -> None:
    f = adcli.compile("x(0) = a; for k in 0:50 until x(k+1) >= 6 { x(k+1) = x(k) + 1 }; root = x(50)**2").grad()
    assert [f.status(a=a) for a in (3.0, 3.5)] == ["jump", "smooth"]


def test_rows_are_points_each_with_its_own_steps() -> None:
    text = "x(0) = x0; for k in 0:100000 until (x(k+1) - x(k))**2 < 1e-24 { x(k+1) = (x(k) + a/x(k))/2 }; root = x(100000)"
    rows = [("2", "1"), ("3", "1"), ("4", "1000"), ("1e10", "1"), ("2", "1e-200")]
    table = succeeds("grad", "-e", text, stdin=b"a,x0\n" + b"".join(f"{a},{x}\n".encode() for a, x in rows)).out.splitlines()[1:]
    for row, (a, x) in zip(table, rows, strict=True):
        point = succeeds("grad", "-e", text, "--at", f"a={a},x0={x}").out.splitlines()
        assert row.split(",")[2:] == [line.split(" = ")[1] for line in point]


def test_many_calls_with_few_steps_and_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same results, quick or not."""
    monkeypatch.setattr(steps_taken, "LEAST_STEPS", 10)
    g = adcli.compile(NEWTON.replace("{0}", "T").replace("{{", "{").replace("}}", "}")).grad()
    for steps in (9, 30, 9):
        found = [g(VECTORS | {"T": steps})["ds_da"] for _ in range(25)]
        assert all(np.array_equal(x, found[0]) for x in found)
        np.testing.assert_allclose(found[0], 0.5/np.sqrt(VECTORS["a"]), rtol=1e-12)


def test_few_numbers_of_steps_are_planned() -> None:
    found = {rounded_up(n) for n in range(1, 10**5)}
    assert len(found) < 130
    assert all(n <= rounded_up(n) <= n + n // 8 for n in range(1, 10**4))


def test_solvers_take_the_steps_of_each_point() -> None:
    text = ("input b(N); x(0, i) = 1 where i in 0:N\n"
            "for t in 0:{0} until d(t) < 1e-20 {{ x(t+1, i) = (x(t, i) + (b(i)**2 + 1)/x(t, i))/2\n"
            "d(t) +=! (x(t+1, i) - x(t, i))**2 }}; f +=! x({0}, i) + (b(i) - 1)**2; output f")
    whole, counted = (succeeds("minimize", "-e", text.format(steps), "--at", "b=[2,3,-1]").out for steps in (30, 10**6))
    assert whole == counted
    assert "0.7104241" in whole
