"""Uncertainties as programs: both orders are the formulas with matrices."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.uncertainty import propagation
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from hypothesis import given, settings
from hypothesis import strategies as st
from same_programs import equal
from well_formed import check


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


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_second_order_is_exact_for_quadratics_of_any_independent_inputs(seed):
    """Mean and standard deviation of a quadratic program over every combination of inputs with three possible values each."""
    r = np.random.default_rng(seed)
    a = [round(x, 2) for x in r.standard_normal(9).tolist()]
    text = f"v = {a[0]}*x + {a[1]}*y + {a[2]}*z + {a[3]}*x*x + {a[4]}*y**2 + {a[5]}*z*z + {a[6]}*x*y + {a[7]}*y*z + {a[8]}*x*z\n"
    program, values, chances = parse(text.replace("+ -", "- ")), r.standard_normal((3, 3)), r.dirichlet([1, 1, 1], 3)
    mean = (values * chances).sum(axis=1)
    central = [(chances * (values - mean[:, None]) ** k).sum(axis=1) for k in (2, 3, 4)]
    u = np.sqrt(central[0])
    names = [p.name for p in program.params]
    moments = [(n, float(central[1][i] / u[i] ** 3), float(central[2][i] / u[i] ** 4)) for i, n in enumerate(names)]
    got = evaluate(check(propagation(program, names, 2, [], moments)), dict(zip(names, mean.tolist(), strict=True))
                   | {f"u_{n}": float(s) for n, s in zip(names, u, strict=True)})
    total = square = 0.0
    for places in itertools.product(range(3), repeat=3):
        chance = math.prod(float(chances[i, k]) for i, k in enumerate(places))
        v = evaluate(program, {n: float(values[i, k]) for i, (n, k) in enumerate(zip(names, places, strict=True))})["v"]
        total, square = total + chance * v, square + chance * v * v
    assert got["mean_v"] == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert got["u2_v"] == pytest.approx(math.sqrt(max(square - total**2, 0)), rel=1e-6, abs=1e-7)
