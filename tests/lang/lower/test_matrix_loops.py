"""Operations on matrices in loops over time: a Kalman filter, read back, differentiated twice and compiled."""
import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from same_programs import equal
from well_formed import check

KALMAN = """input F(N, N), H(M, N), Q(N, N), R(M, M), y(T, M), P0(N, N)
m(0, i) = 0 where i in 0:N
P(0, i, j) = P0(i, j)
for t in 0:T {
    a(t, i) +=! F(i, j)*m(t, j)
    FP(t, i, j) +=! F(i, k)*P(t, k, j)
    PF(t, i, j) +=! FP(t, i, k)*F(j, k)
    A(t, i, j) = PF(t, i, j) + Q(i, j)
    HA(t, c, j) +=! H(c, k)*A(t, k, j)
    HH(t, c, d) +=! HA(t, c, k)*H(d, k)
    S(t, c, d) = HH(t, c, d) + R(c, d)
    Ha(t, c) +=! H(c, k)*a(t, k)
    v(t, c) = y(t, c) - Ha(t, c)
    w(t) = solve(S(t), v(t))
    G(t) = solve(S(t), HA(t))
    l(t) = logdet(S(t))
    u(t, i) +=! HA(t, c, i)*w(t, c)
    m(t + 1, i) = a(t, i) + u(t, i)
    U(t, i, j) +=! HA(t, c, i)*G(t, c, j)
    P(t + 1, i, j) = A(t, i, j) - U(t, i, j)
}
fit +=! v(t, c)*w(t, c)
spread +=! l(t)
nll = 0.5*fit + 0.5*spread
output nll
"""
WRT = ["F", "H", "Q", "R", "y", "P0"]


def point() -> dict[str, np.ndarray]:
    draw, n, m, t = np.random.default_rng(2), 3, 2, 4
    return {"F": 0.4 * draw.normal(size=(n, n)), "H": draw.normal(size=(m, n)), "Q": 0.3 * np.eye(n), "R": 0.5 * np.eye(m),
            "y": draw.normal(size=(t, m)), "P0": np.eye(n)}


def filtered(F, H, Q, R, y, P0) -> float:
    """The same in NumPy."""
    m, covariance, total = np.zeros(len(F)), P0, 0.0
    for seen in y:
        ahead, spread = F @ m, F @ covariance @ F.T + Q
        s, v = H @ spread @ H.T + R, seen - H @ ahead
        w, gain = np.linalg.solve(s, v), np.linalg.solve(s, H @ spread)
        total += 0.5 * v @ w + 0.5 * np.linalg.slogdet(s)[1]
        m, covariance = ahead + (H @ spread).T @ w, spread - (H @ spread).T @ gain
    return total


def read_back(program):
    program = check(simplify(program))
    printed = print_program(program)
    again = check(parse(printed))
    assert equal(program, again) and print_program(again) == printed
    return again


@pytest.mark.engine
def test_a_kalman_filter_over_time():
    at, draw, h = point(), np.random.default_rng(3), 1e-5
    program = read_back(parse(KALMAN))
    value = filtered(**at)
    assert np.isclose(evaluate(program, at, numpy_arithmetic())["nll"], value, rtol=1e-12)
    along = {x: draw.normal(size=at[x].shape) for x in WRT}
    slope = (filtered(**{x: at[x] + h * along[x] for x in WRT}) - filtered(**{x: at[x] - h * along[x] for x in WRT})) / (2 * h)
    forward = read_back(jvp(program, WRT))
    tangent = evaluate(forward, {**at, **{f"d{x}": along[x] for x in WRT}}, numpy_arithmetic())["dnll"]
    assert np.isclose(tangent, slope, rtol=1e-8)
    reverse = read_back(vjp(duplicate(program), WRT))
    adjoints = evaluate(reverse, {**at, "d_dnll": 1.0}, numpy_arithmetic())
    assert np.isclose(sum(np.sum(adjoints[f"d_d{x}"] * along[x]) for x in WRT), tangent, rtol=1e-11)


@pytest.mark.engine
def test_its_native_gradient_and_its_hessian_times_a_direction():
    at, draw, h = point(), np.random.default_rng(3), 1e-5
    along = {x: draw.normal(size=at[x].shape) for x in WRT}
    reverse = simplify(vjp(duplicate(parse(KALMAN)), WRT))
    kernel = compile_tensors(reverse)
    adjoints, expected = kernel({**at, "d_dnll": 1.0}), evaluate(reverse, {**at, "d_dnll": 1.0}, numpy_arithmetic())
    assert all(np.allclose(adjoints[x], expected[x], rtol=1e-11, atol=1e-12) for x in expected)
    moved = [kernel({**{x: at[x] + s * h * along[x] for x in WRT}, "d_dnll": 1.0}) for s in (1, -1)]
    again = check(simplify(jvp(reverse, WRT)))
    assert equal(again, parse(print_program(again)))
    second = evaluate(again, {**at, "d_dnll": 1.0, **{f"d{x}": along[x] for x in WRT}}, numpy_arithmetic())
    assert all(np.allclose(second[f"dd_d{x}"], (moved[0][f"d_d{x}"] - moved[1][f"d_d{x}"]) / (2 * h), rtol=1e-6, atol=1e-7)
               for x in WRT)


def test_a_boundary_may_be_an_operation():
    program = read_back(parse("input A(N, N), b(N)\nX(0) = solve(A, b)\nfor t in 0:2 { X(t + 1) = solve(transpose(A), X(t)) }"))
    at = {"A": np.array([[2.0, 1.0], [0.0, 4.0]]), "b": np.array([2.0, 8.0])}
    found = evaluate(program, at)["X"]
    assert np.allclose(compile_tensors(program)(at)["X"], found, rtol=1e-15)
    a = np.array([[2.0, 1.0], [0.0, 4.0]])
    first = np.linalg.solve(a, [2.0, 8.0])
    assert np.allclose(found, [first, np.linalg.solve(a.T, first), np.linalg.solve(a.T, np.linalg.solve(a.T, first))])


def test_a_determinant_stands_inside_of_expressions():
    program = parse("""input A(N, N), B(K, N, N), w(K), x(T)
y(0) = 1
for t in 0:T {
    S(t, i, j) = A(i, j) * x(t)
    y(t + 1) +=! w(k)*y(t)*(logdet(B(k)) - 2*logdet(S(t))) where k in 0:K
    y(t + 1) += logdet(A)
}
output y""")
    draw = np.random.default_rng(3)
    a, b = np.eye(2) * 2 + draw.random((2, 2)), np.eye(2) * 3 + draw.random((3, 2, 2))
    w, x, y = draw.random(3), 1 + draw.random(4), [1.0]
    for t in range(4):
        y.append(np.linalg.slogdet(a)[1] + y[-1] * sum(
            w[k] * (np.linalg.slogdet(b[k])[1] - 2 * np.linalg.slogdet(a * x[t])[1]) for k in range(3)))
    point = {"A": a, "B": b, "w": w, "x": x}
    np.testing.assert_allclose(np.asarray(evaluate(program, point, numpy_arithmetic())["y"], float), y, rtol=1e-12)
    again = parse(print_program(simplify(jvp(program, ["x"]))))
    assert [r.name for r in again.results] == ["y", "dy"]
