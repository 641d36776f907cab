"""What operations on matrices mean: doubles and multiple precision against exact fractions, near-singular matrices included."""
from fractions import Fraction

import numpy as np
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.lower.frontend import parse
from multiple_precision import mpmath_arithmetic
from row_tables import each_row

NAN = float("nan")


def exact_solution(rows, right):
    """A·x = b in fractions, by Gauss and Jordan."""
    rows = [[Fraction(x) for x in (*row, b)] for row, b in zip(rows, right, strict=True)]
    for k in range(len(rows)):
        best = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [row if i == k else [x - row[k] * y for x, y in zip(row, rows[k], strict=True)] for i, row in enumerate(rows)]
    return [row[-1] for row in rows]


def hilbert(n):
    return [[1 / (i + j + 1) for j in range(n)] for i in range(n)]


def test_multiple_precision_solves_a_nearly_singular_system():
    at = {"A": hilbert(10), "b": [1.0] * 10}   # condition 1.6e13: doubles keep 3 digits, 40 digits keep 27
    program = parse("input A(N, N), b(N)\nx = solve(A, b)")
    exact = exact_solution(at["A"], at["b"])
    precise, double = evaluate(program, at, mpmath_arithmetic(40))["x"], evaluate(program, at)["x"]
    one = mpmath_arithmetic(40).constant(1.0)
    assert all(abs(p * x.denominator / x.numerator - one) < 1e-24 for p, x in zip(precise, exact, strict=True))
    assert np.allclose(double, [float(x) for x in exact], rtol=1e-2)


OPERATIONS = ["solve(A, b)", "solve(A, B)", "solve(transpose(A), b)", "solve_lower(A, b)", "solve_upper(A, B)",
              "solve_lower(transpose(A), B)", "cholesky(P)", "inverse(A)", "logdet(P)", "logdet(A)"]


@each_row("call", OPERATIONS)
def test_doubles_and_elimination_agree(call):
    draw = np.random.default_rng(OPERATIONS.index(call))
    a = draw.normal(size=(5, 5)) + 3 * np.eye(5)
    at = {"A": a, "P": a @ a.T, "b": draw.normal(size=5), "B": draw.normal(size=(5, 2))}
    program = parse(f"input A(N, N), P(N, N), b(N), B(N, K)\nx = {call}")
    precise = np.array(evaluate(program, at, mpmath_arithmetic(30))["x"], float)
    for arithmetic in (None, numpy_arithmetic()):
        assert np.allclose(evaluate(program, at, arithmetic)["x"], precise, rtol=1e-11, atol=1e-12, equal_nan=True)


SINGULAR = [("solve(A, b)", [[1, 2], [2, 4]]), ("inverse(A)", [[0, 0], [0, 0]]), ("solve_lower(A, b)", [[1, 0], [3, 0]]),
            ("solve_upper(A, b)", [[0, 1], [0, 1]]), ("cholesky(A)", [[1, 2], [2, 1]]), ("cholesky(A)", [[0, 0], [0, 1]]),
            ("logdet(A)", [[0, 1], [1, 0]]), ("solve(A, b)", [[1, NAN], [0, 1]])]


@each_row("call, a", SINGULAR)
def test_what_is_not_defined_is_nan_in_every_element(call, a):
    program = parse(f"input A(N, N), b(N)\nx = {call}")
    for arithmetic in (None, mpmath_arithmetic(20)):
        x = np.array(evaluate(program, {"A": a, "b": [1.0, 1.0]}, arithmetic)["x"], float)
        assert np.isnan(x).all()


def test_one_singular_matrix_of_many_spoils_no_other():
    program = parse("input S(T, N, N), c(T, N)\nX = solve(S, c)\nl = logdet(S)")
    found = evaluate(program, {"S": [[[2.0]], [[0.0]], [[4.0]]], "c": [[2.0], [2.0], [2.0]]})
    assert np.array_equal(found["X"], [[1.0], [NAN], [0.5]], equal_nan=True)
    assert np.array_equal(found["l"], [np.log(2.0), -np.inf, np.log(4.0)])


def test_what_a_triangular_solve_does_not_read_does_not_matter():
    program = parse("input L(N, N), b(N)\nx = solve_lower(L, b)\ny = solve_upper(transpose(L), b)")
    x = evaluate(program, {"L": [[2.0, NAN], [1.0, 4.0]], "b": [2.0, 9.0]})
    assert x["x"].tolist() == [1.0, 2.0] and x["y"].tolist() == [-0.125, 2.25]


def test_a_long_triangular_system_is_cut_in_halves():
    n, draw = 3 * SMALL, np.random.default_rng(3)
    a, b = np.tril(draw.normal(size=(n, n))) / n + np.eye(n), draw.normal(size=(n, 2))
    program = parse("input L(N, N), b(N, K)\nx = solve_lower(L, b)\ny = solve_upper(transpose(L), b)")
    found = evaluate(program, {"L": a, "b": b})
    assert np.allclose(a @ found["x"], b) and np.allclose(a.T @ found["y"], b)


def test_the_empty_matrix():
    program = parse("input A(N, N), b(N)\nx = solve(A, b)\nl = logdet(A)\nL = cholesky(A)")
    found = evaluate(program, {"A": np.zeros((0, 0)), "b": np.zeros(0)})
    assert found["x"].shape == (0,) and found["l"] == 0 and found["L"].shape == (0, 0)


def test_cholesky_takes_the_symmetric_part():
    program = parse("input A(N, N)\nL = cholesky(A)")
    assert np.array_equal(evaluate(program, {"A": [[4.0, 1.0], [3.0, 2.0]]})["L"], [[2.0, 0.0], [1.0, 1.0]])
