"""Operations on matrices in native code: the numbers of the reference, from several threads, and errors that come out whole."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.simplify.simplify import simplify

TEXT = """input A(N, N), P(N, N), b(N), B(N, K), S(T, N, N), c(T, N), int32 k(M)
x = solve(A, b)
X = solve(transpose(A), B)
L = cholesky(P)
l = 0.5*logdet(P)
V = inverse(A)
D = det(A)
E = expm(A)
Y = solve(S, c)
q(t) = logdet(S(t))
z(m) = logdet(S(k(m)))
h(0) = 0
for t in 0:T {
    G(t, i, j) = S(t, i, j) + h(t)
    r(t) = solve(transpose(G(t)), c(t))
    g(t) = det(G(t))
    h(t + 1) = h(t) + r(t, 0) / (1 + abs(g(t)))
    y(t) = solve(G(t), r(t))
}
w(2*t) = solve_lower(S(t), c(t))
u = solve_upper(transpose(L), b)
output x, X, L, l, V, D, E, Y, q, z, w, u, h, y
"""


def points(n: int, t: int = 2) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(n)
    a = draw.normal(size=(t + 2, n, n)) + n * np.eye(n)
    return {"A": a[0], "P": a[1] @ a[1].T, "b": draw.normal(size=n), "B": draw.normal(size=(n, 2)), "S": a[2:],
            "c": draw.normal(size=(t, n)), "k": np.array([1, 0, 1])}


@pytest.fixture(scope="module")
def kernel() -> TensorKernel:
    return compile_tensors(parse(TEXT))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 17, SMALL, SMALL + 6])
def test_native_code_has_the_numbers_of_the_reference(kernel: TensorKernel, n: int) -> None:
    """Those of small matrices, which it computes without LAPACK, to the bit, with pivots all over the place."""
    at = points(n)
    if n <= SMALL:
        draw = np.random.default_rng(n + 1)
        at |= {"A": draw.normal(size=(n, n)), "S": draw.normal(size=(2, n, n))}
    expected = evaluate(kernel.program, at, numpy_arithmetic())
    for _ in range(2):   # the second time in memory that was used
        found = kernel(at)
        assert all(np.allclose(found[name], expected[name], rtol=1e-12, atol=1e-13, equal_nan=True) for name in expected)
        assert n > SMALL or all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected)


HARD = {"a zero column": lambda a: a * (np.arange(len(a)) != 1), "NaN": lambda a: np.where(a == a[1, 0], np.nan, a),
        "overflow": lambda a: a * 1e300, "ties of pivots": np.round, "not definite": lambda a: -a, "zeros": np.zeros_like}


@pytest.mark.parametrize("n", [2, 3, 7, 20])
@pytest.mark.parametrize("kind", HARD)
def test_where_there_is_no_value_native_code_has_the_bits_of_the_reference(kernel: TensorKernel, kind: str, n: int) -> None:
    at = {name: HARD[kind](x) if name in "AP" else np.stack(list(map(HARD[kind], x))) if name == "S" else x
          for name, x in points(n).items()}
    expected, found = evaluate(kernel.program, at, numpy_arithmetic()), kernel(at)
    assert all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected)


@pytest.mark.parametrize("lanes", [1, 2, 4, 16])
def test_blocks_of_registers_change_no_bit(lanes: int) -> None:
    program = parse(TEXT)
    other = compile_tensors(program, lanes=lanes)
    for n in (3, 5, 18):
        at = points(n) | {"A": np.random.default_rng(lanes).normal(size=(n, n))}
        expected, found = evaluate(program, at, numpy_arithmetic()), other(at)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


FILTER = """input a, S(T, N, N)
param b(T, N)
h(0) = 0
for t in 0:T {LOOP{
    M(t, i, j) = S(t, i, j) + a * h(t)
    x(t) = solve(M(t), b(t))
    l(t) = logdet(M(t))
    h(t + 1) = h(t) + tanh(x(t, 0)) / 9 + l(t) / 9
}
v = h(T)
output v"""


@pytest.mark.parametrize("loop, made, read", [("", 1, 3), (" checkpoint ", 1, 1), (" until h(t + 1) < -99 ", 2, 2)])
def test_operations_on_one_matrix_share_its_factor(loop: str, made: int, read: int) -> None:
    """Those of the adjoint too, but for loops that keep few steps or end early."""
    program = simplify(vjp(duplicate(parse(FILTER.replace("{LOOP", loop))), ["a", "S"]))
    kernel = compile_tensors(program)
    n, draw = 6, np.random.default_rng(2)
    at = {"a": 0.3, "S": draw.normal(size=(4, n, n)) + n * np.eye(n), "b": draw.normal(size=(4, n)), "d_dv": 1.0}
    found, expected = kernel(at), evaluate(program, at, numpy_arithmetic())
    assert all(np.allclose(found[name], expected[name], rtol=1e-13) for name in expected)
    there = [s.factor.there for s in kernel.module.choosers if s.factor is not None]
    assert (there.count(False), there.count(True)) == (made, read)


def test_threads_share_a_kernel(kernel: TensorKernel) -> None:
    many = [points(n, t) for n in (2, 3, 5) for t in (1, 2, 3) for _ in range(4)]
    many = [{**at, "k": at["k"] * 0} for at in many]
    with ThreadPoolExecutor(4) as pool:
        for at, found in zip(many, pool.map(kernel, many), strict=True):
            assert np.allclose(at["A"] @ found["x"], at["b"]) and np.allclose(found["L"] @ found["L"].T, at["P"])


def test_a_subscript_that_is_read_outside_is_an_error_and_the_next_call_is_whole(kernel: TensorKernel) -> None:
    at = points(3)
    with pytest.raises(AdError, match=r"k\(1\) = 7 is out of range for dimension 0 of 'S'"):
        kernel({**at, "k": np.array([0, 7])})
    assert np.isfinite(kernel(at)["x"]).all()


def test_extents_that_do_not_fit_are_said_with_both(kernel: TensorKernel) -> None:
    square = compile_tensors(parse("input R(M, N), b(M)\nx = solve(R, b)"))
    with pytest.raises(AdError, match="takes a square matrix, and R is 2 by 3"):
        square({"R": np.ones((2, 3)), "b": np.ones(2)})


def test_derivatives_of_a_large_system() -> None:
    program = simplify(vjp(duplicate(parse("input A(N, N), b(N)\nx = solve(A, b)\nv +=! x(i)**2\noutput v")), ["A", "b"]))
    n, draw = 200, np.random.default_rng(0)
    a, b = draw.normal(size=(n, n)) + n * np.eye(n), draw.normal(size=n)
    found = compile_tensors(program)({"A": a, "b": b, "d_dv": 1.0})
    x = np.linalg.solve(a, b)
    adjoint = np.linalg.solve(a.T, 2 * x)
    assert np.allclose(found["d_db"], adjoint, rtol=1e-10) and np.allclose(found["d_dA"], -np.outer(adjoint, x), rtol=1e-10)


def test_a_step_that_calls_counts_among_the_instructions(kernel: TensorKernel) -> None:
    at = {name: x.shape for name, x in points(4).items()}
    small = kernel.plan(tuple([at[p.name] for p in kernel.program.params])).instructions
    at = {name: x.shape for name, x in points(40).items()}
    assert kernel.plan(tuple([at[p.name] for p in kernel.program.params])).instructions > 5 * small
