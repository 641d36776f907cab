"""Uncertain tensors: against J C Jᵀ with Jacobians written down, closed forms, and faults."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli

from adcli.propagate.uncertain_tensors import of_tensor

MATRIX, RIGHT = np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([1.0, 2.0])
SOLVE = ("-e", "input A(N, N), b(N)", "-e", "x = solve(A, b)")
LOOP = ("-e", "input s", "-e", "x(0) = s", "-e", "for t in 0:3 { x(t+1) = sin(x(t)) }", "-e", "y = x(3)")


def told(*words: str) -> dict[str, Any]:
    return json.loads(adcli("propagate", *words, "--format", "json").out)  # type: ignore[no-any-return]


def test_the_covariance_of_a_tensor_goes_through_a_solve(tmp_path: Path) -> None:
    """x = A⁻¹b has dx = A⁻¹(db − dA·x)."""
    inverse, of_b = np.linalg.inv(MATRIX), np.array([[0.01, 0.004], [0.004, 0.04]])
    x = inverse @ RIGHT
    jacobian = np.hstack([-np.einsum("ia,b->iab", inverse, x).reshape(2, 4), inverse])
    covariance = np.diag([0.0025] * 4 + [0.0] * 2)
    covariance[4:, 4:] = of_b
    expected = jacobian @ covariance @ jacobian.T
    np.save(tmp_path / "C.npy", of_b)
    got = told(*SOLVE, "--at", "A=[[4,1],[2,3]]±0.05,b=[1,2]", "--covariance", f"b=@{tmp_path / 'C.npy'}")
    u = [got["u"]["x(0)"], got["u"]["x(1)"]]
    assert u == pytest.approx(np.sqrt(expected.diagonal()), rel=1e-12)
    assert got["correlation"]["x(0):x(1)"] == pytest.approx(expected[0, 1] / (u[0] * u[1]), rel=1e-12)


def test_elements_have_spreads_of_their_own_and_distributions() -> None:
    got = told("-e", "input x(N)", "-e", "s +=! x(i)**2", "--at", "x=[1,2]±[0.1,0.2]~rect", "--second-order", "--coverage", "95%")
    assert got["u"]["s"] ** 2 == pytest.approx((4 * 0.01 + 16 * 0.04) / 3, rel=1e-12)
    assert got["second_order"]["s"]["mean"] == pytest.approx(5 + (0.01 + 0.04) / 3, rel=1e-12)


def test_elements_of_an_output_are_asked_for_alone() -> None:
    got = told("-e", "input x(N)", "-e", "y(i,j) = x(i)*x(j)", "-e", "z = x(0)", "--at", "x=[1,2]±0.1", "--of", "y(0,1),z")
    assert got["u"] == pytest.approx({"y(0, 1)": 0.1*5**0.5, "z": 0.1})


def test_a_loop_has_a_budget_and_samples() -> None:
    got = told(*LOOP, "--at", "s=2±0.01", "--monte-carlo", "1e4")
    assert got["u"]["y"] == pytest.approx(0.01 * abs(np.cos(2) * np.cos(np.sin(2)) * np.cos(np.sin(np.sin(2)))), rel=1e-12)
    assert got["monte_carlo"]["of"]["y"]["u"] == pytest.approx(got["u"]["y"], rel=0.05)


def test_more_elements_than_a_propagation_takes_are_refused_before_they_are_named() -> None:
    with pytest.raises(AdError, match="'x' has 100,001 uncertain elements, and a propagation takes 100,000 at most"):
        of_tensor("x", np.ones(100_001), "0.1")

