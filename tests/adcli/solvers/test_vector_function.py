"""Sparse matrices of programs with tensors, loops and matrices, against closed forms."""
from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import rosen_hess

import adcli
from adcli.solvers.vector_function import SparseMatrix
from adcli.task import entries

X = np.array([0.3, 1.2, 0.0, 2.5])


@pytest.mark.parametrize("text, at, expected, entries", [
    ("input x(N), s\ny(i) = sqrt(x(i))*s\nw = s**2\noutput y, w", {"x": X, "s": 3.0},   # 1/0 spoils no other entry of its sweep
     [[*row, np.sqrt(x)] for row, x in zip(np.diag([1.5/np.sqrt(0.3), 1.5/np.sqrt(1.2), np.inf, 1.5/np.sqrt(2.5)]), X,
                                            strict=True)]
     + [[0, 0, 0, 0, 6]], 9),
    ("input int I(M), x(N)\nh(0, m) = x(I(m))\nfor t in 0:2 { h(t+1, m) = h(t, m)**2 }\ny(m) = h(2, m)\noutput y",
     {"I": [3, 1], "x": X}, [[0, 0, 0, 4*2.5**3], [0, 4*1.2**3, 0, 0]], 2),
    ("input b(N)\nparam A(N, N)\nu = solve(A, b)\noutput u", {"A": [[4, 1], [1, 3]], "b": [1.0, 2]},
     np.array([[3, -1], [-1, 4]])/11, 4)])
def test_a_jacobian_has_the_elements_for_rows_and_columns(text, at, expected, entries):
    jacobian = adcli.compile(text).jacobian()
    for each in (jacobian, pickle.loads(pickle.dumps(jacobian))):
        matrix = each.sparse(at)
        assert matrix.nnz == entries and matrix.toarray() == pytest.approx(np.array(expected), rel=1e-15)


def test_a_hessian_takes_a_product_for_each_colour_and_not_for_each_element():
    hessian = adcli.compile("input x(N)\nv +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2").hessian()
    assert hessian.sparse(x=X).toarray() == pytest.approx(rosen_hess(X), rel=1e-14)
    assert hessian.sparse(x=np.ones(3000)).nnz == 3*3000 - 2   # dense it would take 72 MB


@pytest.mark.parametrize(("text", "points"), [
    ("input x(N), int k(M)\ny(i) = x(k(i))**2\noutput y", [{"k": [0, 1]}, {"k": [2, 1]}, {"k": [2, 1, 0]}, {"x": [5.0, 7, 9]}]),
    ("input x(N), z(M)\nint32 k(i) = floor(z(i))\ny(i) = x(k(i))**2*z(i)\noutput y", [{"z": [0.5, 1.5]}, {"z": [2.5, 1.5]}]),
    ("input x(N), z(M)\ny(i) = i % 2 == 0 ? x(i)*z(i) : z(i)\noutput y", [{"z": [1.0, 2, 4]}, {"x": [2.0, 3], "z": [3.0, 1]}]),
    ("input x(N), s\nh(0, i) = x(i)\nfor t in 0:3 until s*h(t, 0) > 1 { h(t+1, i) = h(t, i)*x(0) }\ny(i) = h(3, i)\noutput y",
     [{"s": 9.0}, {"s": 0.01}, {"x": [2.0, 3]}]),
    ("input x(N), int n\ny(i) = x(i)*x(n) where i in 0:n\noutput y", [{"n": 2}, {"n": np.int64(1)}, {"n": 0}]),
])
def test_a_pattern_is_kept_for_points_that_have_it(text, points):
    f = adcli.compile(text)
    jacobian, at = f.jacobian(), {"x": [1.0, 2, 3]}
    for point in points:
        at |= point
        again = f.jacobian().sparse(at)   # a new one knows no pattern
        for _ in range(2):
            found = jacobian.sparse(at)
            assert found.nnz == again.nnz and (found.toarray() == again.toarray()).all()


@pytest.mark.no_cover
def test_a_loop_of_many_operations_has_the_matrix_of_its_steps():
    f = adcli.compile("input x(N)\nh(0, i) = x(i)\nfor t in 0:50 { h(t+1, i) = 0.5*h(t, i)**2 + h(t, i) }\nv +=! h(50, i)")
    x = np.linspace(-0.5, 0.01, 4_000)
    value, first, second = x, np.ones_like(x), np.zeros_like(x)
    for _ in range(50):
        value, first, second = 0.5*value**2 + value, (value + 1)*first, (value + 1)*second + first**2
    found = f.hessian().sparse(x=x)
    assert found.nnz == 4_000 and found.diagonal() == pytest.approx(second, rel=1e-12)


def test_sweeps_are_taken_where_they_are_fewer_operations_than_entries_made_statement_by_statement(monkeypatch):
    """Through four layers of windows, 4⁸ paths lead from an element to another for each element of the last."""
    layers = "\n".join(f"h{n + 1}(i) +=! tanh(w(k)*h{n}(i + k))" for n in range(4))
    f = adcli.compile(f"input x(N), w(4)\nh0(i) = x(i)\n{layers}\nv +=! h4(i)**2\noutput v")
    point = {"x": np.linspace(-1, 1, 16), "w": [0.3, -0.2, 0.5, 0.1]}

    def found(long):
        monkeypatch.setattr(entries, "LONG", long)
        matrix = SparseMatrix(f.program, "hessian", ["x"])
        return matrix.places(point).sweeps, matrix.at(point).toarray()
    (sweeps, numbers), (none, expected) = found(1), found(1e9)
    assert (sweeps, none) == (15, 0)   # x(0) and x(15) share one
    np.testing.assert_allclose(numbers, expected, rtol=1e-12)


def test_what_is_too_large_says_so():
    with pytest.raises(adcli.AdError, match="the sparsity pattern is too large"):   # and makes no points, of 160 GB
        adcli.compile("input x(N)\nv +=! exp(x(i)*x(j))").jacobian().sparse(x=np.ones(100_000))


GATHERED = adcli.compile("input x(N), int32 k(N)\nv +=! (1 + i)*x(i)**4*x(k(i)) + exp(x(i))")
POINTS = [{"x": np.linspace(0.1, 1, n), "k": (np.arange(n) + shift) % n} for n, shift in [(30, 1), (30, 2), (20, 1), (30, 1)]]


def matrices_at_points():
    """The Hessian at all points, by one function and by a new one at each."""
    one = GATHERED.hessian()
    return [h.sparse(at).toarray() for at in POINTS for h in (one, GATHERED.hessian())]


def test_entries_that_the_cache_has_are_not_derived_again_and_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", "nowhere")
    plain = matrices_at_points()
    assert plain[0] == pytest.approx(GATHERED.hessian()(POINTS[0])["d2v_dx_dx"], rel=1e-14)
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):   # while entries come into being, and when they are there
        assert all(map(np.array_equal, matrices_at_points(), plain))
    with monkeypatch.context() as nothing:
        nothing.setattr(entries, "hessian_entries", None)
        assert np.array_equal(GATHERED.hessian().sparse(POINTS[2]).toarray(), plain[4])
    with pytest.raises(adcli.AdError, match="out of range"):
        GATHERED.hessian().sparse({**POINTS[2], "k": np.full(20, 20)})
    for file in (tmp_path / "cache").iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert all(map(np.array_equal, matrices_at_points(), plain))
