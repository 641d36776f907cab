"""Systems of many equations, each of few unknowns: found, judged and refused as those with a dense Jacobian are."""
import numpy as np
import pytest
from session_seed import half

import adcli
from adcli.numerics import linear

N = 6
BRATU = """input u(N, N){}
param lambda = 6, h
r(i, j) = 4*u(i, j) - h**2*lambda*exp(u(i, j)) where i in 0:N, j in 0:N
r(i, j) += -u(i - 1, j) where i in 1:N
r(i, j) += -u(i + 1, j) where i in 0:N-1
r(i, j) += -u(i, j - 1) where j in 1:N
r(i, j) += -u(i, j + 1) where j in 0:N-1
"""
RING = """input x(N), a(N), k
r(i) = x(i)*abs(x(i)) + k*x(i) - a(i)
r(i) += -k*x(i - 1) where i in 1:N
{}"""
KNOWN = {"u": np.zeros((N, N)), "h": 1 / (N + 1)}
CHAIN = {"x": np.full(40, 0.3), "a": np.cos(np.arange(40.0)) + 2, "k": 0.5}
DIFFERENCES = "input x(N), a(N)\nr(i) = x(i) - a(i) where i in 0:N\nr(i) += -x(i - 1) where i in 1:N\nr(0) += -x(N - 1)"
TALL = "input x(N), a(N)\nr(i) = x(i)**2 + x(i) - a(i)\ns(i) = x(i) - {}*a(i)"


@pytest.mark.parametrize("program, at, verdict", half([
    (BRATU.format(""), KNOWN, "solution"), (BRATU.format(" in [0, 9]"), KNOWN, "solution"),
    (BRATU.format(""), {**KNOWN, "lambda": 8.0}, "no solution"),
    (RING.format(""), CHAIN, "solution"), (RING.format("r(0) += -sqrt(x(0) - 1)"), CHAIN, "not finite"),
    (DIFFERENCES, {"x": np.zeros(40), "a": np.zeros(40)}, "singular"),
    (DIFFERENCES, {"x": np.zeros(40), "a": np.ones(40)}, "no solution"),
    (TALL.format(0.5), {"x": np.zeros(40), "a": np.cos(np.arange(40.0)) + 2}, "least squares"),
    (TALL.format(0), {"x": np.ones(40), "a": np.zeros(40)}, "solution"),
]))
def test_a_sparse_jacobian_leads_to_the_verdict_of_a_dense_one(monkeypatch, program, at, verdict):
    f, names = adcli.compile(program), "u" if "u" in at else "x"
    whole = f.solve(at, wrt=names)
    monkeypatch.setattr(linear, "MOST_DENSE", 0)
    found = f.solve(at, wrt=names)
    assert (found.verdict, whole.verdict) == (verdict, verdict), (found.message, whole.message)
    assert not isinstance(found.jac, np.ndarray) and isinstance(whole.jac, np.ndarray)
    if found.success:
        assert found.x == pytest.approx(whole.x, rel=1e-9, abs=1e-9)
        assert found.condition == pytest.approx(whole.condition, rel=1e-2)
        for name, rates in whole.sensitivity.items():
            assert found.sensitivity[name] == pytest.approx(rates, rel=1e-7, abs=1e-9)


def test_derivatives_by_many_inputs_are_left_out_and_that_is_said():
    at = {"x": np.full(1200, 0.3), "a": np.cos(np.arange(1200.0)) + 2, "k": 0.5}
    found = adcli.compile(RING.format("")).solve(at, wrt="x")
    assert found.success and set(found.sensitivity) == {"dx_dk"}
    assert "derivatives of 1200 unknowns by a are left out" in "".join(found.why)
