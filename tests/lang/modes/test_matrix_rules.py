"""Derivatives of operations on matrices, against differences in multiple precision: both modes, and second ones both ways."""
from collections import Counter

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.recurrence import with_statements
from adcli.lang.passes.pipeline import run
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from multiple_precision import mpmath_arithmetic
from row_tables import each_row
from same_programs import equal
from session_seed import half
from well_formed import check

import adcli

N, T, K = 3, 2, 2
MP = mpmath_arithmetic(50)
STEP = MP.constant(2.0**-60)
DECLARED = {"A": "A(N, N)", "b": "b(N)", "B": "B(N, K)", "P": "P(N, N)", "S": "S(T, N, N)", "c": "c(T, N)", "C": "C(T, N, K)",
            "k": "int32 k(M)"}
PROGRAMS = [
    ("A b", "x = solve(A, b)"), ("A b", "x = solve(transpose(A), b)"), ("A B", "x = solve(A, B)"),
    ("A B", "x = solve(transpose(A), B)"),
    ("A b", "x = solve_lower(A, b)"), ("A B", "x = solve_lower(transpose(A), B)"), ("A b", "x = solve_upper(transpose(A), b)"),
    ("A B", "x = solve_upper(A, B)"), ("P", "x = cholesky(P)"), ("P", "x = logdet(P)"), ("A", "x = inverse(A)"),
    ("A", "x = transpose(A)"), ("S c", "x = solve(S, c)"), ("S C", "x = solve_lower(S, C)"), ("S", "x = cholesky(S)"),
    ("S", "x = logdet(S)"), ("S", "x = inverse(S)"), ("S c", "x(t) = solve(S(0), c(t))"), ("S c", "x(t) = solve(S(t), c(0))"),
    ("S c", "x(2*t + 1) = solve(S(t), c(t))"), ("S c k", "x(m) = solve(S(k(m)), c(k(m)))"), ("S c", "x = solve(S(1), c(0))"),
    ("S b", "x(t) = logdet(S(t))\ny(t) = solve(S(t), b)\nx(t) += y(t, 0)"),
    ("P b", "L = cholesky(P)\ny = solve_lower(L, b)\nx +=! 0.5*y(i)**2\nx += log(L(i, i))"),
    ("P b", "y = solve(P, b)\nq +=! 0.5*y(i)*b(i)\nx = q + 0.5*logdet(P)"),
    ("A b", "y = solve(A, b)\nx = solve(transpose(A), y)"),
]


def drawn_points():
    draw = np.random.default_rng(5)
    a = draw.normal(size=(T + 1, N, N)) + 3 * np.eye(N)
    positive = np.einsum("tik,tjk->tij", a, a)
    return {"A": a[0], "P": positive[T], "S": positive[:T], "b": draw.normal(size=N), "B": draw.normal(size=(N, K)),
            "c": draw.normal(size=(T, N)), "C": draw.normal(size=(T, N, K)), "k": np.array([1, 0, 1])}


def lifted(x):
    return np.vectorize(lambda z: MP.constant(float(z)), otypes=[object])(x)


def difference(program, at, along):
    """The derivatives of all results along a direction, by a central difference with a step of 2⁻⁶⁰."""
    exact = {name: x if name == "k" else lifted(x) for name, x in at.items()}

    def moved(h):
        found = evaluate(program, {**exact, **{x: exact[x] + h * lifted(d) for x, d in along.items()}}, MP)
        return {name: np.asarray(x) for name, x in found.items()}
    up, down = moved(STEP), moved(-STEP)
    return {name: np.array((up[name] - down[name]) / (2 * STEP), float) for name in up}


def read_back(program):
    """A derivative as its text says it, which is a fixed point."""
    program = check(run(program, [simplify]))
    printed = print_program(program)
    again = check(parse(printed))
    assert equal(program, again) and print_program(again) == printed
    return again


@each_row("inputs, text", half(PROGRAMS))
def test_both_modes_and_both_second_orders(inputs, text):
    names, points, draw = inputs.split(), drawn_points(), np.random.default_rng(7)
    wrt = [x for x in names if x != "k"]
    program = parse(f"input {', '.join(DECLARED[x] for x in names)}\n{text}\noutput x")
    at, along = {x: points[x] for x in names}, {x: draw.normal(size=points[x].shape) for x in wrt}
    tangents = {f"d{x}": d for x, d in along.items()}
    slope = difference(program, at, along)["x"]
    found = evaluate(read_back(jvp(program, wrt)), {**at, **tangents})["dx"]
    assert np.allclose(found, slope, rtol=1e-12, atol=1e-13)

    reverse, seed = read_back(vjp(duplicate(program), wrt)), draw.normal(size=np.shape(slope))
    at["d_dx"] = seed
    adjoints = evaluate(reverse, at)
    assert np.isclose(sum(np.sum(adjoints[f"d_d{x}"] * along[x]) for x in wrt), np.sum(seed * slope), rtol=1e-12, atol=1e-12)

    second = difference(reverse, at, along)
    over = evaluate(read_back(jvp(reverse, wrt)), {**at, **tangents})
    assert all(np.allclose(over[f"dd_d{x}"], second[f"d_d{x}"], rtol=1e-11, atol=1e-12) for x in wrt)
    twice = read_back(vjp(duplicate(reverse), wrt, [f"d_d{x}" for x in wrt]))
    weights = {f"d_dd_d{x}": draw.normal(size=points[x].shape) for x in wrt}
    found = evaluate(twice, {**at, **weights})
    left = sum(np.sum(weights[f"d_dd_d{x}"] * second[f"d_d{x}"]) for x in wrt)
    assert np.isclose(sum(np.sum(found[f"d_d{x}_1"] * along[x]) for x in wrt), left, rtol=1e-11, atol=1e-11)


def test_the_adjoint_of_solve_is_a_solve_with_the_transpose():
    program = parse("input A(N, N), b(N)\nx = solve(A, b)")
    lines = print_program(simplify(vjp(duplicate(program), ["A", "b"]))).splitlines()
    assert lines[-4:-1] == ["x = solve(A, b)", "d_db = solve(transpose(A), d_dx)", "d_dA(i, j) = -(d_db(i) * x(j))"]


def test_the_adjoint_of_choleskys_factor_is_symmetric():
    program = simplify(vjp(duplicate(parse("input A(N, N)\nL = cholesky(A)")), ["A"]))
    found = evaluate(program, {"A": drawn_points()["P"], "d_dL": np.random.default_rng(1).normal(size=(N, N))})["d_dA"]
    assert np.array_equal(found, found.T)


def test_what_is_not_read_of_a_triangular_matrix_has_no_derivative():
    nan = float("nan")
    program = simplify(vjp(duplicate(parse("input L(N, N), b(N)\nx = solve_lower(L, b)")), ["L", "b"]))
    found = evaluate(program, {"L": [[2.0, nan], [1.0, 4.0]], "b": [2.0, 9.0], "d_dx": [1.0, 1.0]})
    assert found["d_dL"][0, 1] == 0 and np.isfinite(found["d_dL"]).all()


def test_what_no_point_reads_is_zero_by_construction():
    """The adjoint of a member of a batch that is not used does not meet the infinity before it."""
    text = "input S(T, N, N), c(T, N)\ny(t, i) = sqrt(c(t, i))\nx = solve(S(0), y(0))"
    program = simplify(vjp(duplicate(parse(text)), ["S", "c"]))
    found = evaluate(program, {"S": np.stack([np.eye(2)] * 2), "c": [[1.0, 4.0], [0.0, 0.0]], "d_dx": [1.0, 1.0]})
    assert found["d_dc"].tolist() == [[0.5, 0.25], [0.0, 0.0]] and not found["d_dS"][1].any()


def test_a_zero_seed_at_a_member_of_a_batch_drops_what_it_would_have_caused():
    from adcli.lang.passes.zero_seeds import drop_zero_seeds
    text = "input S(T, N, N), c(T, N)\ny(t, i) = sqrt(c(t, i))\nx = solve(S, y)"
    program = drop_zero_seeds(simplify(vjp(duplicate(parse(text)), ["c"])))
    at = {"S": np.stack([np.eye(2)] * 2), "c": [[1.0, 4.0], [0.0, 0.0]], "d_dx": [[1.0, 1.0], [0.0, 0.0]]}
    assert evaluate(check(program), at)["d_dc"].tolist() == [[0.5, 0.25], [0.0, 0.0]]


@pytest.mark.parametrize(("text", "count"), [
    ("input A(N, N); V = inverse(A); L +=! V(i, j)**2; L += logdet(A) + det(A)", {"inverse": 1, "logdet": 1, "det": 1}),
    ("input A(N, N), b(N); C = cholesky(A); z = solve_lower(C, b); L +=! z(i)**2 + log(C(i, i))",
     {"cholesky": 1, "solve_lower": 1, "solve_upper": 3}),
    ("input A(N, N), b(N); x = solve(A, b); y = solve(A, b); L +=! x(i) * y(i); L += logdet(A) / logdet(A)",
     {"solve": 2, "logdet": 1, "inverse": 1}),
    ("input A(T, N, N), b(T, N); s(0) = 0; for t in 0:T { x(t) = solve(A(t), b(t)); q(t) +=! x(t, i) * b(t, i); "
     "s(t + 1) = s(t) + q(t) + logdet(A(t)) / logdet(A(t)) }; L = s(T)", {"solve": 2, "logdet": 1, "inverse": 1})])
def test_an_operation_on_one_matrix_is_there_once_with_its_adjoints(text: str, count: dict[str, int]) -> None:
    """Of a gradient, in loops too: a solve has its transpose besides, which divides the adjoint."""
    program = adcli.compile(text).grad().program
    assert Counter(e.op.name for e in with_statements(program.equations) if isinstance(e.op, MatrixOperation)) == count
