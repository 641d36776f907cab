"""Functions of single precision: float32 in and out where it lies, derivatives and copies of them, and what does not fit."""
from __future__ import annotations

import pickle

import numpy as np
import pytest
from adcli.lang.operations.precision import SINGLE

import adcli

WORKED, LOSS = "samples/worked.ad", "input A(M, N), B(N); C(i) +=! A(i, j) * B(j); L +=! tanh(C(i))**2"


def test_precision_goes_with_what_is_made_of_a_function() -> None:
    f = adcli.load(WORKED, precision="single")
    for each in (f, f.grad(), f.hessian().only("d2v_dx_dx"), f.jvp(), pickle.loads(pickle.dumps(f.vjp()))):
        assert each.precision == "single"
    assert adcli.load(WORKED).grad().precision == "double"
    assert f.grad().status(x=1.0, y=0.0) == "pole"
    assert "<4 x float>" in f.llvm(4)


def test_arrays_are_used_where_they_lie() -> None:
    g = adcli.load(WORKED, precision="single").grad()
    x, y = np.linspace(1, 2, 1001, dtype=np.float32), np.float32(3)
    found, want = g(x=x, y=y), adcli.load(WORKED).grad()(x=x, y=y)
    for name, c in found.items():
        assert c.dtype == np.float32
        np.testing.assert_allclose(c, want[name], rtol=1e-6)
    again = g(x=x[::-1], y=y, out=found)
    assert all(again[name] is c for name, c in found.items())
    number = g(x=1.5, y=3.0)
    assert number["v"] == SINGLE.rounded(number["v"]) and type(number["v"]) is float
    for _ in range(30):   # by whatever way is quick after some calls
        assert {k: v.tobytes() for k, v in g(x=x[::-1], y=y).items()} == {k: v.tobytes() for k, v in again.items()}
        assert g(x=1.5, y=3.0) == number


def test_tensors() -> None:
    r = np.random.default_rng(0)
    a, b = r.normal(size=(7, 5)).astype(np.float32), r.normal(size=5).astype(np.float32)
    g = adcli.compile(LOSS, precision="single").grad()
    found, want = g(A=a, B=b), adcli.compile(LOSS).grad()(A=a, B=b)
    for name in ("dL_dA", "dL_dB"):
        assert found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], want[name], rtol=1e-5, atol=1e-6)
    out = g(A=a, B=b, out={"dL_dA": np.empty((7, 5), np.float32)})
    assert np.array_equal(out["dL_dA"], found["dL_dA"])
    for _ in range(30):
        assert np.array_equal(g(A=a, B=b)["dL_dA"], found["dL_dA"])


@pytest.mark.parametrize("kind", ["jacobian", "hessian"])
@pytest.mark.parametrize("text, point", [
    ("v = x**3/3*y + sin(x*z)", {"x": 1.1, "y": 2.2, "z": 0.3}),
    ("input x(N); d(i) = x(i + 1)**3 - 0.1*x(i); v +=! d(i)**2; output v", {"x": [1.1, 2.3, 3.7]}),
])
def test_sparse_matrices_have_the_numbers_of_single_precision(kind, text, point):
    f = getattr(adcli.compile(text, precision="single"), kind)()
    found, wanted = f.sparse(**point).toarray(), f(**point)
    assert found.dtype == np.float32
    for i, x in enumerate(point):
        for j, y in enumerate(point):
            name = f"dv_d{x}" if kind == "jacobian" else f"d2v_d{x}_d{y}"
            if name in wanted:
                entries = found if len(point) == 1 else found[0, i] if kind == "jacobian" else found[i, j]
                assert np.ravel(entries).tolist() == np.ravel(wanted[name]).tolist(), name
