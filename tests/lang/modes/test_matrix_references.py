"""Derivatives of operations on matrices beside JAX's: adjoints, and Hessian-vector products of a sum of squares, nearly singular
matrices included."""
import numpy as np
import pytest
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.operations.matrix import FORMS
from adcli.lang.simplify.simplify import simplify
from multiple_precision import mpmath_arithmetic

PROGRAMS = ["solve(A, b)", "solve(A, B)", "solve(transpose(A), b)", "solve_lower(A, b)", "solve_upper(A, B)",
            "solve_lower(transpose(A), B)", "cholesky(P)", "logdet(P)", "inverse(A)", "det(A)", "eigenvalues(A)",
            "eigenvectors(P)", "qr_q(T)", "qr_r(T)", "expm(E)", "sort(b)", "lstsq(T, y)",
            "singular_values(T)", "svd_u(T)", "svd_v(T)", "pinv(T)"]


def hilbert(n: int) -> np.ndarray:
    i = np.arange(n)
    return 1.0 / (i[:, None] + i + 1)


def peers(jax):
    """The same functions in JAX."""
    np_, solve_triangular = jax.numpy, jax.scipy.linalg.solve_triangular
    return {"solve(A, b)": lambda at: np_.linalg.solve(at["A"], at["b"]),
            "solve(A, B)": lambda at: np_.linalg.solve(at["A"], at["B"]),
            "solve(transpose(A), b)": lambda at: np_.linalg.solve(at["A"].T, at["b"]),
            "solve_lower(A, b)": lambda at: solve_triangular(at["A"], at["b"], lower=True),
            "solve_upper(A, B)": lambda at: solve_triangular(at["A"], at["B"], lower=False),
            "solve_lower(transpose(A), B)": lambda at: solve_triangular(at["A"].T, at["B"], lower=True),
            "cholesky(P)": lambda at: np_.linalg.cholesky(at["P"]),
            "logdet(P)": lambda at: np_.linalg.slogdet(at["P"])[1],
            "inverse(A)": lambda at: np_.linalg.inv(at["A"]), "det(A)": lambda at: np_.linalg.det(at["A"]),
            "eigenvalues(A)": lambda at: np_.linalg.eigvalsh((at["A"] + at["A"].T) / 2),
            "eigenvectors(P)": lambda at: np_.linalg.eigh(at["P"])[1],
            "qr_q(T)": lambda at: np_.linalg.qr(at["T"])[0], "qr_r(T)": lambda at: np_.linalg.qr(at["T"])[1],
            "singular_values(T)": lambda at: np_.linalg.svd(at["T"], compute_uv=False),
            "pinv(T)": lambda at: np_.linalg.pinv(at["T"]),
            "svd_u(T)": lambda at: np_.linalg.svd(at["T"], full_matrices=False)[0],
            "svd_v(T)": lambda at: np_.linalg.svd(at["T"], full_matrices=False)[2],
            "expm(E)": lambda at: jax.scipy.linalg.expm(at["E"]), "sort(b)": lambda at: np_.sort(at["b"]),
            "lstsq(T, y)": lambda at: np_.linalg.lstsq(at["T"], at["y"])[0]}


@pytest.mark.engine
@pytest.mark.parametrize("call", PROGRAMS)
def test_gradients_and_hessian_vector_products_are_those_of_jax(call):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    n, draw = 6, np.random.default_rng(PROGRAMS.index(call))
    a = draw.normal(size=(n, n)) + 3 * np.eye(n)
    points = {"A": a, "P": a @ a.T, "b": draw.normal(size=n), "B": draw.normal(size=(n, 2)),
              "T": draw.normal(size=(n + 3, n)), "y": draw.normal(size=n + 3), "E": 0.3 * a}
    declared = {"A": "A(N, N)", "P": "P(N, N)", "b": "b(N)", "B": "B(N, K)", "T": "T(M, N)", "y": "y(M)",
                "E": "E(N, N)"}
    at = {x: points[x] for x in points if x in call.partition("(")[2]}
    along = {x: draw.normal(size=v.shape) for x, v in at.items()}
    made = FORMS.get(call.partition("(")[0], ("", "nn" if "pinv" in call else "n"))[1]
    rank = 1 if call.endswith("b)") else len(made)
    power = 4 if call.startswith(("eigenvectors", "qr", "svd")) else 2   # whatever signs columns have
    square = [f"v = x**{power}", f"v +=! x(i)**{power}", f"v +=! x(i, j)**{power}"][rank]
    program = parse(f"input {', '.join(declared[x] for x in at)}\nx = {call}\n{square}\noutput v")
    reverse = simplify(vjp(duplicate(program), [*at]))
    seeds = {"d_dv": 1.0, **{f"d{x}": d for x, d in along.items()}}
    found = evaluate(simplify(jvp(reverse, [*at])), {**at, **seeds}, numpy_arithmetic())

    def squares(at):
        return (peers(jax)[call](at) ** power).sum()
    gradient, product = jax.jvp(jax.grad(squares), (at,), (along,))
    for x in at:
        assert np.allclose(found[f"d_d{x}"], gradient[x], rtol=1e-10, atol=1e-11)
        assert np.allclose(found[f"dd_d{x}"], product[x], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("call, expected", [("solve(A, b)", 1e-4), ("logdet(A)", 1e-4), ("cholesky(A)", 1e-4)])
def test_a_nearly_singular_matrix_gives_what_its_condition_leaves(call, expected):
    """Hilbert's matrix of 8 rows has condition 1.5e10: doubles keep some 5 digits of a derivative, and these are right."""
    right = ", b(N)" if "b" in call.partition("(")[2] else ""
    rank = {"solve(A, b)": "v +=! x(i)", "logdet(A)": "v = x", "cholesky(A)": "v +=! log(x(i, i))"}[call]
    program = simplify(vjp(duplicate(parse(f"input A(N, N){right}\nx = {call}\n{rank}\noutput v")), ["A"]))
    at = {"A": hilbert(8), "d_dv": 1.0, **({"b": np.ones(8)} if right else {})}
    precise = np.array(evaluate(program, at, mpmath_arithmetic(50))["d_dA"], float)
    found = evaluate(program, at)["d_dA"]
    assert np.max(np.abs(found - precise)) <= expected * np.max(np.abs(precise)) and np.isfinite(found).all()
