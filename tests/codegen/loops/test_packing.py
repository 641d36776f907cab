"""Tiles that read copies of panels: the same bits with any number of threads."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules import plans
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.codegen.nests import steps
from adcli.codegen.schedules import search
from adcli.codegen.schedules.schedule import Schedule
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, SINGLE, Precision
from native_tensors import assert_same_bits
from row_tables import each_row
from session_seed import half

PRODUCTS = {"apart": "input A(M, K), B(K, N)\nC(i, j) +=! A(i, k)*B(k, j)\noutput C",
            "together": "input A(K, M), B(K, N)\nC(i, j) +=! A(k, i)*B(k, j)\noutput C",
            "two sums": "input A(M, L, K), B(L, K, N)\nC(i, j) +=! A(i, l, k)*B(l, k, j)\noutput C",
            "triangle": "input A(M, K), B(K, N)\nC(i, j) +=! A(i, k)*B(k, j) where j >= i\noutput C",
            "onto": "input A(M, K), B(K, N), D(M, N)\nC(i, j) = D(i, j)\nC(i, j) += A(i, k)*B(k, j)\noutput C"}
LOOP = """input U(K, K), h0(B, K), x(T, B)
h(0, n, j) = h0(n, j)
for t in 0:T {
    v(t, n, j) +=! h(t, n, k) * U(k, j)
    h(t + 1, n, j) = tanh(v(t, n, j) + x(t, n))
}
output h
"""


@pytest.fixture(autouse=True)
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels are copied wherever they can be, and everything is worth a team."""
    def packed(*args: Any) -> list[Schedule]:
        found = search.schedules(*args)
        return [n for n in found if n.packed] or found
    monkeypatch.setattr(steps, "schedules", packed)
    monkeypatch.setattr(plans, "WORTH_HELP", 0.0)
    monkeypatch.setattr(plans, "WORTH_THREADS", 0.0)


def drawn(shapes: dict[str, tuple[int, ...]], precision: Precision = DOUBLE) -> dict[str, np.ndarray]:
    r = np.random.default_rng(len(shapes))
    return {name: r.standard_normal(shape).astype(precision.code) for name, shape in shapes.items()}


def product(kind: str, m: int, k: int, n: int, precision: Precision = DOUBLE) -> tuple[TensorKernel, dict[str, np.ndarray]]:
    a, b = {"together": ((k, m), (k, n)), "two sums": ((m, 3, k), (3, k, n))}.get(kind, ((m, k), (k, n)))
    at = drawn({"A": a, "B": b, **({"D": (m, n)} if kind == "onto" else {})}, precision)
    return compile_tensors(parse(PRODUCTS[kind]), 8 * 8 // precision.bytes, precision=precision), at


@each_row("precision", [DOUBLE, SINGLE])
@each_row("kind", half([*PRODUCTS]))
@each_row("m, k, n", [(64, 64, 96), (45, 13, 301), (131, 300, 77), (8, 701, 230), (7, 20, 100)])
def test_the_bits_are_those_of_one_thread(kind: str, m: int, k: int, n: int, precision: Precision) -> None:
    kernel, at = product(kind, m, k, n, precision)
    want = kernel(at, jobs=1)["C"]
    for jobs in (2, 3, 5):
        assert_same_bits(kernel(at, jobs=jobs)["C"], want, jobs)
    where = {"together": "ki,kj->ij", "two sums": "ilk,lkj->ij"}.get(kind, "ik,kj->ij")
    exact = np.einsum(where, at["A"].astype(float), at["B"].astype(float)) + at.get("D", np.zeros(()))
    exact = np.triu(exact) if kind == "triangle" else exact
    np.testing.assert_allclose(want, exact, rtol=0, atol=1e-10 if precision is DOUBLE else 1e-2)


@pytest.mark.parametrize("k", [200, 300, 400, 600])
def test_the_bits_are_those_of_a_sum_that_begins_at_0(k: int) -> None:
    """What is a short sum is decided by its points, wherever they are."""
    begin = 400
    at = drawn({"A": (45, begin + k), "B": (begin + k, 301)})
    from_0 = compile_tensors(parse(PRODUCTS["apart"]), 8)
    moved = compile_tensors(parse(f"input A(M, K), B(K, N)\nC(i, j) +=! A(i, k)*B(k, j) where k in {begin}:K\noutput C"), 8)
    want = from_0({"A": at["A"][:, begin:].copy(), "B": at["B"][begin:].copy()}, jobs=1)["C"]
    assert_same_bits(moved(at, jobs=1)["C"], want, k)


def test_copies_of_a_run_are_not_read_by_the_next() -> None:
    """Nor by one thread, in the same memory."""
    kernel, at = product("apart", 45, 70, 301)
    kernel(at, jobs=3)
    other = {**at, "A": -2 * at["A"]}
    assert_same_bits(kernel(other, jobs=1)["C"], -2 * kernel(at, jobs=2)["C"], "one thread")
    assert_same_bits(kernel(other, jobs=2)["C"], -2 * kernel(at, jobs=1)["C"], "two threads")


@pytest.mark.parametrize("sizes", [(70, 45, 5), (129, 64, 3)])
def test_panels_of_the_steps_of_a_loop(sizes: tuple[int, int, int]) -> None:
    k, b, t = sizes
    kernel = compile_tensors(parse(LOOP), 8)
    at = drawn({"U": (k, k), "h0": (b, k), "x": (t, b)})
    at["U"] /= k
    want = kernel(at, jobs=1)["h"]
    for jobs in (2, 3):
        assert_same_bits(kernel(at, jobs=jobs)["h"], want, jobs)
    h = at["h0"]
    for x in at["x"]:
        h = np.tanh(h @ at["U"] + x[:, None])
    np.testing.assert_allclose(want[-1], h, rtol=0, atol=1e-12)
