"""Sensitivities of solutions as programs, against solutions in closed form."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.implicit import sensitivities
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program

A, B, X = np.array([[2.0, 0.5], [-1, 3]]), np.array([1.0, -2]), np.array([[1.0, 2, 0.5], [3, 0.25, 1]])


def linear() -> tuple[dict[str, Any], dict[str, Any]]:
    x, inverse = np.linalg.solve(A, B), np.linalg.inv(A)
    return {"A": A, "x": x, "b": B}, {"dx_db": inverse, "dx_dA": -inverse[:, :, None] * x}


def of_a_matrix() -> tuple[dict[str, Any], dict[str, Any]]:
    """X = √(c·y) with y = 2·√c: X(i, j) = (2·c(i, j)·√s)^½."""
    c, s = X, 2.25
    y, x = 2 * np.sqrt(s), np.sqrt(2 * c * np.sqrt(s))
    both = np.einsum("ik,jl,ij->ijkl", np.eye(2), np.eye(3), x / (2 * c))
    return {"X": x, "c": c, "s": s, "y": y}, {"dX_dc": both, "dX_ds": x / (4 * s), "dy_dc": 0 * c, "dy_ds": 1 / np.sqrt(s)}


CASES: list[tuple[str, list[str], Callable[[], tuple[dict[str, Any], dict[str, Any]]]]] = [
    ("f = x**2 - a", ["x"], lambda: ({"x": 1.5, "a": 2.25}, {"dx_da": 1 / 3})),
    ("input a(N), y, int32 k\ng = -y**3\ng += a(i)*y*k", ["y"],
     lambda: ({"a": np.array([1.0, 3]), "y": 4.0, "k": 4}, {"dy_da": np.full(2, 0.5)})),
    ("f = x + 2*y - a\ng = x - y - b", ["x", "y"], lambda: (
        {"x": 1.0, "y": 2.0, "a": 5.0, "b": -1.0}, {"dx_da": 1/3, "dx_db": 2/3, "dy_da": 1/3, "dy_db": -1/3})),
    ("input A(N, N), x(N), b(N)\nf(i) +=! A(i, j)*x(j)\nf(i) += -b(i)", ["x"], linear),
    ("input X(M, N), c(M, N), s, y\nf(i, j) = X(i, j)**2 - c(i, j)*y\ng = y**2 - 4*s\noutput f, g", ["X", "y"], of_a_matrix)]


@pytest.mark.parametrize("text, unknowns, solution", CASES)
def test_the_derivatives_of_solutions(text: str, unknowns: list[str], solution: Any) -> None:
    at, wanted = solution()
    made = sensitivities(parse(text), unknowns)
    written = print_program(made)
    assert print_program(parse(written)) == written
    found = evaluate(parse(written), at, FLOAT)
    assert all(np.allclose(np.asarray(found[r.name], float), 0, atol=1e-14) for r in parse(text).results)
    for name, x in wanted.items():
        np.testing.assert_allclose(np.asarray(found[name], float), x, rtol=1e-13, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("text, unknowns, message", [
    ("input x(N), y(M)\nf(i) = x(i)*y(0)", ["x", "y"], r"as many equations as unknowns, and there are N and M \+ N"),
    ("f = x + y - a", ["x", "y"], "and there are 1 and 2"),
    ("f = x**2 - 2", ["x"], "no input beside the unknowns")])
def test_what_has_no_sensitivities(text: str, unknowns: list[str], message: str) -> None:
    with pytest.raises(AdError, match=message):
        sensitivities(parse(text), unknowns)
