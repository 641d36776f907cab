"""Jacobians and Hessians by tensors as programs: what they look like, what they are, in both modes, and what is zero by
construction. (Against JAX, for whole models: tests/test_models.py.)"""
from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient, hessian, jacobian
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import checked, tangents
from adcli.lang.simplify.simplify import simplify
from comprehension_samples import Sample
from hypothesis import given
from random_comprehensions import tensor_samples
from random_programs import law
from row_tables import each_row
from tensor_laws import NUMPY, close, direction

import adcli

A = np.array([[2.0, 1.0], [0.5, 3.0]])
U = np.array([1.0, 2.0, 4.0])


@law(25)
@given(tensor_samples())
def test_jacobians_give_the_tangents_along_a_direction(made: Sample) -> None:
    program, r = made.program(), random.Random(3)
    v = {n: direction(r, np.shape(made.values[n])) for n in made.reals}
    tangent = evaluate(simplify(tangents(program)), {**made.values, **{f"d{n}": x for n, x in v.items()}}, NUMPY)
    for mode in ("forward", "reverse"):
        found = evaluate(checked(jacobian(program, mode=mode)), made.values, NUMPY)
        for name in made.results:
            along = sum(np.tensordot(found[f"d{name}_d{x}"], dx, np.ndim(dx)) for x, dx in v.items())
            close(along, tangent[f"d{name}"], 1e-9, f"{name}, {mode}")


SHOWN = [
    ("input A(M, N), B(N); C(i) +=! A(i, j) * B(j)", "jacobian",
     ["dC_dB(i, j) = A(i, j)", "dC_dA(i, i, j) = d_dA(i, j)"]),
    ("input u(N); d(i) = u(i + 1)**2 - u(i)", "jacobian",
     ["dd_du_1(i + 1, i) = u(i + 1) + u(i + 1)", "dd_du_1(i, i) += -1 where i in 0:N - 1"]),
    ("input u(N), int32 k(M); y(m) = sin(u(k(m)))", "jacobian", ["dy_du(m, k(m)) = cos(u(k(m))) where float(M, N) dy_du"]),
    ("input x(N); y(i) = sin(x(i)); v +=! y(i)", "hessian", ["d2v_dx_dx(i, i) = dd_dx_dx(i)"]),
    ("input x(N); h(0, n) = x(n); for t in 0:T { h(t+1, n) = h(t, n)**2 }; y(n) = h(T, n)", "jacobian",
     ["dh_dx(n, 0, n) = 1 where n in 0:N", "    dh_dx(k, t + 1, n) = t1 + t1 where t1 = dh_dx(k, t, n) * h(t, n)"]),
]
"""Unit tensors are not made where an index can take their place; what a loop carries has one direction an index."""

VALUES = [
    ("input x(N); y(i) = sqrt(x(i) + x(i + 1))", {"x": [0.0, 0.0, 4.0]},
     {"dy_dx": [[math.inf, math.inf, 0], [0, .25, .25]]}),
    ("input A(N, N), b(N); x = solve(A, b)", {"A": A, "b": U[:2]},
     {"dx_db": np.linalg.inv(A), "dx_dA": -np.einsum("ij,k->ijk", np.linalg.inv(A), np.linalg.solve(A, U[:2]))}),
    ("input A(N, N); v = logdet(A); V = inverse(A)", {"A": A},
     {"dv_dA": np.linalg.inv(A).T, "dV_dA": -np.einsum("ik,lj->ijkl", np.linalg.inv(A), np.linalg.inv(A))}),
    ("input A(N, N), x(N); h(0, n) = x(n); for t in 0:3 { h(t+1, n) +=! A(n, m) * h(t, m) }; y(n) = h(3, n)",
     {"A": A, "x": U[:2]}, {"dy_dx": A @ A @ A}),
    ("input x(N); m max=! x(i); y(i) = x(i) * m + x(1); output y", {"x": U},
     {"dy_dx": [[4, 1, 1], [0, 5, 2], [0, 1, 8]]}),
    ("input A(M, N), B(N); C(i) +=! A(i, j) * B(j); t = C; output C, t", {"A": A, "B": U[:2]},
     {f"d{c}_d{x}": d for c in "Ct" for x, d in (("B", A), ("A", np.einsum("ik,l->ikl", np.eye(2), U[:2])))}),
    ("input x(N); p *=! x(i); q = p < 0 ? p : 2*p; y(i) = q + x(i); output y", {"x": U},
     {"dy_dx": np.array([[16, 8, 4]] * 3) + np.eye(3)}),
]


@pytest.mark.parametrize(("text", "verb", "lines"), SHOWN)
def test_a_matrix_of_derivatives_is_a_program_without_unit_tensors(text: str, verb: str, lines: list[str]) -> None:
    f = adcli.compile(text)
    written = getattr(f, verb)().text()
    assert {*lines} <= {*written.split("\n")}, written
    assert adcli.compile(written).text() == written


@each_row("mode", ["forward", "reverse"])
@each_row(("text", "at", "wanted"), VALUES)
def test_jacobians_are_those_of_mathematics(text: str, at: dict[str, Any], wanted: dict[str, Any], mode: str) -> None:
    found = evaluate(jacobian(parse(text), mode=mode), at, NUMPY)
    for name, matrix in wanted.items():
        np.testing.assert_allclose(found[name], matrix, rtol=1e-13, atol=1e-14, err_msg=f"{name}, {mode}")


def test_a_third_derivative_by_a_tensor_is_symmetric() -> None:
    """v = Σ x²·Σ x: its derivatives are known."""
    program = gradient(parse("input x(N); s +=! x(i); q +=! x(i)**2; v = s * q; output v"), order=3)
    found = evaluate(program, {"x": U}, NUMPY)
    one = np.eye(3)
    np.testing.assert_allclose(found["d2v_dx_dx"], 2 * (U[:, None] + U + U.sum() * one), rtol=1e-14)
    np.testing.assert_allclose(found["d3v_dx_dx_dx"], 2 * (one[:, :, None] + one[:, None] + one), rtol=1e-14)


def test_blocks_of_a_hessian_stand_above_the_diagonal_in_the_order_of_the_inputs() -> None:
    found = evaluate(hessian(parse("input x(N), y(M); s +=! x(i)**2; v +=! s * y(j)**3")), {"x": U, "y": [1.0, 2.0]}, NUMPY)
    assert [name for name in found if name.startswith("d2")] == ["d2v_dx_dx", "d2v_dx_dy", "d2v_dy_dy"]
    np.testing.assert_allclose(found["d2v_dx_dy"], np.outer(2 * U, [3, 12]), rtol=1e-14)


@pytest.mark.parametrize(("text", "wanted"), [
    ("u +=! x(i); v = u * z(0)", np.outer(np.ones(3), [1, 0])), ("u *=! x(i); v = u * z(1)**2", np.outer(8 / U, [0, 10]))])
def test_what_exists_along_one_way_and_is_along_another_is_no_sum_of_the_two(text: str, wanted: np.ndarray) -> None:
    """It is zero where either is, so all of it was taken for zero, which ended in an internal error."""
    found = evaluate(hessian(parse(f"input x(N), z(M); {text}; output v")), {"x": U, "z": [3.0, 5.0]}, NUMPY)
    np.testing.assert_allclose(found["d2v_dx_dz"], wanted, rtol=1e-14)
