"""Uncertainties as programs: both orders are the formulas with matrices."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.uncertainty import propagation
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.check import check
from adcli.lang.ir.equal import equal
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.printer import print_program
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_both_orders_are_the_matrix_formulas(seed):
    """gᵀΣg, ½ tr(HΣ) and ½ tr((HΣ)²) by NumPy from the gradient and the Hessian, with random correlations."""
    r = np.random.default_rng(seed)
    program = parse("v = x*y + sin(y*z) + exp(z/3) * w\nw2 = x + 3*y*w\n")
    names = [p.name for p in program.params]
    root = r.standard_normal((4, 4))
    sigma = root @ root.T
    u = np.sqrt(np.diag(sigma))
    pairs = [(a, b) for a, b in itertools.combinations(range(4), 2)]
    given_pairs = [(names[a], names[b], float(sigma[a, b] / u[a] / u[b])) for a, b in pairs]
    at = dict(zip(names, r.standard_normal(4).tolist(), strict=True))
    whole = check(propagation(program, names, 2, given_pairs))
    got = evaluate(whole, at | {f"u_{n}": float(s) for n, s in zip(names, u, strict=True)})
    d = evaluate(gradient(program, order=2), at)
    slopes = []
    for v in ("v", "w2"):
        g = np.array([d[f"d{v}_d{n}"] for n in names])
        h = np.array([[d.get(f"d2{v}_d{a}_d{b}", d.get(f"d2{v}_d{b}_d{a}")) for b in names] for a in names])
        slopes.append(g)
        assert got[f"u_{v}"] == pytest.approx(math.sqrt(g @ sigma @ g), rel=1e-9)
        assert got[f"mean_{v}"] == pytest.approx(got[v] + np.trace(h @ sigma) / 2, rel=1e-9, abs=1e-9)
        assert got[f"u2_{v}"] ** 2 == pytest.approx(g @ sigma @ g + np.trace(h @ sigma @ h @ sigma) / 2, rel=1e-9)
        assert sum(x for name, x in got.items() if name.startswith(f"share_{v}_")) == pytest.approx(100, rel=1e-6)
    assert got["corr_v_w2"] == pytest.approx(slopes[0] @ sigma @ slopes[1] / got["u_v"] / got["u_w2"], abs=1e-9)


def test_it_is_a_program_that_reads_back():
    program = propagation(parse("v = x*sin(y)\nw = u_x / y\n"), ["x", "y"], 2, [("x", "y", 0.5)])
    assert [p.name for p in program.params] == ["x", "y", "u_x", "u_x_1", "u_y"]
    assert equal(parse(print_program(program)), program)
