"""Functions of tensors on slices, in loops and for each point of an index: the statements that a call becomes, and faults."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from laws import check_round_trip
from row_tables import each_row
from session_seed import part

from adcli import compile

F = "def f(float(N) x, k) -> (d) { d(i) = -k * x(i) }\n"
G = "def g(float(3) x, float(3, 3) A) -> (d) { d(i) +=! A(i, j) * x(j) }\n"
SQUARE = "def s(float(N) x) -> (z) { z +=! x(i)**2 }\n"
SUMS = "def s(float(N) x) -> (z) { z(0) = x(0); for t in 1:N { z(t) = z(t-1)/2 + x(t) } }\n"
LOOP = "input y0(3), B(2, 3), k\ny(0) = y0\nfor t in 0:T { %s }"
BECOMES = [
    (F + LOOP % "y(t+1) = f(y(t), k)", "y(t + 1, i) = -k * y(t, i)"),
    (F + LOOP % "y(t+1) = y(t) + 2*f(y(t) + y0, k*t)", """x_1(t, i) = y(t, i) + y0(i)
    k_1(t) = k * t
    d_1(t, i) = -k_1(t) * x_1(t, i)
    y(t + 1, i) = y(t, i) + 2 * d_1(t, i)"""),
    (SQUARE + LOOP % "y(t+1, i) = y(t, i) / s(y(t))", "z_1(t) +=! y(t, j)**2\n    y(t + 1, i) = y(t, i) / z_1(t)"),
    ("def f(float(N) t, i) -> (j) { T(k) = t(k) * i; j(k) = T(k)**2 }\n" + LOOP % "y(t+1) = f(y(t), k)",
     "T_1(t, i) = y(t, i) * k\n    y(t + 1, i) = T_1(t, i)**2"),
    ("def f(float(N) x) -> (z) { z(i) = 2*x(i); z(i) = z(i)**2 }\n" + LOOP % "y(t+1) = f(y(t))",
     "z_1(t, i) = 2 * y(t, i)\n    y(t + 1, i) = z_1(t, i)**2"),
    ("def f(float(N) x, int32 n) -> (z) { z(i) = x(i) * x(n) }\n" + LOOP % "y(t+1) = f(y(t), 1)",
     "y(t + 1, i) = y(t, i) * y(t, 1)"),
    (f"{F}def h(float(N) x) -> (z, w) {{ z = f(x, 2); w = f(x + z, 3) }}\n" + LOOP % "(y(t+1), w(t)) = h(y(t))",
     "y(t + 1, i) = -2 * y(t, i)\n    x_1(t, i) = y(t, i) + y(t + 1, i)\n    w(t, i) = -3 * x_1(t, i)"),
    (F + "input A(M, N), c\nv(i) = f(A(i), c) where i in 1:M", "v(i, j) = -c * A(i, j) where i in 1:M"),
    (SQUARE + "input A(M, N)\nL +=! s(A(i)) where i % 2 == 0", "z_1(i) +=! A(i, j)**2 where"),
    (SUMS + "input A(M, N)\nL(m) = s(A(m))", "for t in 1:N {\n    L(m, t) = L(m, t - 1) / 2 + A(m, t)\n}"),
    ("def d(float(3) a, float(3) b) = a(0)*b(0) + a(1)*b(1) + a(2)*b(2)\ninput A(M, 3)\nL(i, j) = d(A(i), A(j))",
     "L(i, j) = A(i, 0) * A(j, 0) + A(i, 1) * A(j, 1) + A(i, 2) * A(j, 2)"),
    ("def o(float(N) x) -> (z) { z(0) = 1; z(1) = x(0); z(2) = 2 }\ninput A(M, N)\nL(i) = o(A(i))",
     "L(i, 0) = 1 where float(M, 3) L\nL(i, 1) = A(i, 0)\nL(i, 2) = 2\n"),
    ("def at(x, float(N) y) -> (v) { int32 k = floor(x); v = y(k)*x }\ninput y(N), x(M)\nL(i) = at(x(i), y)",
     "int32 k_1(i) = floor(x(i))\nL(i) = y(k_1(i)) * x(i)"),
    ("def o(float(3) x) -> (z) { z(0) = x(1); z(1) = x(0); z(2) = 2 }\n" + LOOP % "r(t) = o(y(t)); y(t+1, i) = y(t, i) + r(t, i)",
     "r(t, 0) = y(t, 1)"),
]
FAULTS = [
    (F + LOOP % "y(t+1) = f(y(t))", "'f' takes 2 arguments, not 1"),
    (F + LOOP % "y(t+1) = f(y(t, 0), k)", "parameter 'x' of 'f' has 1 dimension, and this argument has no dimensions"),
    (F + LOOP % "y(t+1) = f(B, k)", "parameter 'x' of 'f' has 1 dimension, and this argument has 2 dimensions"),
    (G + LOOP % "y(t+1) = g(y(t), B)", "dimension 0 of 'A' in 'g' has 2 elements, not 3"),
    (F + LOOP % "y(t+1) = y(t) + f(B(0), k) + B", "slices of 1 dimension and of 2 dimensions in one expression"),
    (F + "input A(M, 2)\nh(0) = A(0)\nb(i) = 1 where i in 0:3\nfor t in 0:T { h(t+1) = f(b, 1) }",
     "dimension 1 of 'h' has 2 elements, and 'f' gives 3"),
    (F + "input A(M, 2)\nh(0) = A(0)\nfor t in 0:T { h(t+1) = f(A, 1) }", "has 1 dimension, and this argument has 2 dimensions"),
    (F + LOOP % "w(t) = f(z(t), k); y(t+1) = y(t)", "unknown function 'z'"),
    (F + LOOP % "w(t) = f(v(t), k); v(t) = y(t); y(t+1) = y(t)", "'v' is read before anything has written it"),
    (F + LOOP % "y(t+1) = f(y(t+2), k)", "so t + 2 is written by a later one"),
    (F + LOOP.replace("0:T", "0:T until f(y(t+1), k) < 1") % "y(t+1) = y(t)", "'f(y(t+1), k)' is a tensor, and a loop ends by"),
    (F + LOOP % "(y(t+1), w(t)) = f(y(t), k)", "'f' gives 1 result, 2 wanted here"),
    (F + "input A(M, N), c\nv(i) = f(A(j), c)", "index 'i' is not in the call of 'f'"),
    (F + "input A(M, N), c\nz = f(A(i), c)", "index 'i' is not on the left"),
    (SQUARE + "input A(M, N)\nz = 2*s(A(i + 1))", "index 'i' is not on the left"),
    ("input A(M, N)\nv(i) = A(i)", "'A' has 2 dimensions"),
    (F + "input A(M, N), c\nz +=! f(A(i), c)", "'f(A(i), c)' is a tensor, and 'z' has no dimensions"),
    ("def f(float(3) x) -> (d) { d = f(x) }\n" + LOOP % "y(t+1) = f(y(t))", "function 'f' calls itself"),
    ("def f(float(3) x) -> (d) { d(i) = k * x(i) }\n" + LOOP % "y(t+1) = f(y(t))", "function 'f' has no parameter 'k'"),
    (SUMS + LOOP % "y(t+1) = s(y(t))", "function 's' has a loop, and is called in one"),
    (f"{SQUARE}def f0(float(N) x) -> (z) {{ z(i) = x(i) / s(x) }}\n" + "".join(
        f"def f{n + 1}(float(N) x) -> (z) {{ a(i) = x(i); z = f{n}(f{n}(a)) }}\n" for n in range(20))
     + LOOP % "y(t+1) = f20(y(t))",
     "the limit of a program is"),
]
A = np.array([[0.1, -0.5, 2], [1.5, 0.3, -1], [0.7, 0.9, 0.2], [-1.2, 0.4, 0.6]])
B = np.array([[1., 2], [3, 4], [5, 6]])
PLACES = [2, 0, 2]
DECAY = "def f(float(N) x, k) -> (d) { d(i) = -k * x(i); d(i) = d(i)**2 + i }\n"
ADDS = "def f(float(3) x, a) -> (x) { x(1) += a; x(2) += a**2 }\n"
SOLVE = "def f(float(N, N) X, float(N) b) -> (x) { x = solve(X, b); x(i) = x(i) + b(i) }\n"
MOMENTS = "def f(float(N) x, float(M) w) -> (y, z) { u(i, j) = x(i) * w(j); y(i) +=! u(i, j); z +=! y(i); z = z * N + M }\n"
GRAM = "G(k, i, j) = A(k, i) * A(k, j) + (i == j ? 3 : 0)"


def decay(x: np.ndarray, k: float) -> np.ndarray:
    return (k * x)**2 + np.arange(len(x))


def gram(x: np.ndarray) -> np.ndarray:
    return np.outer(x, x) + 3 * np.eye(len(x))


VALUES = [
    (DECAY + "y(i) = f(A(i), a) where b = A(i, 0), a = 2*b", [decay(a, 2 * a[0]) for a in A]),
    (DECAY + "y(i) = f(A(i), 2) where float(6, 3) y, i in 0:2", [*[decay(a, 2) for a in A[:2]], *np.zeros((4, 3))]),
    (DECAY + "y(q) = f(A(I(q)), 2)", [decay(A[k], 2) for k in PLACES]),
    (DECAY + "y(i) = f(A(i) + A(i + 1), i)", [decay(A[i] + A[i + 1], i) for i in range(3)]),
    (DECAY + "y(i) = f(A(i) + A(i + 1), 3 - i) where i in 0:3", [decay(A[i] + A[i + 1], 3 - i) for i in range(3)]),
    (DECAY + "y(i) = f(A(i) + A(i - 1), sin(i) + B(0, 0))",
     [np.zeros(3), *[decay(A[i] + A[i - 1], np.sin(i) + 1) for i in (1, 2, 3)]]),
    (DECAY + "y(i) = 1 + f(A(i - 1), 2)", np.array([np.zeros(3), *[1 + decay(a, 2) for a in A]])),
    ("y(0) = A(0)/2 + A(1); y(1) = A(1)", [A[0] / 2 + A[1], A[1]]),
    (DECAY + "y(i, j) = A(i, j); y(1) = f(y(1), 2)", [A[0], decay(A[1], 2), A[2], A[3]]),
    (DECAY + "y(i, j) = A(i, j); y(i) = f(y(i), 2) where i in 0:2", [decay(A[0], 2), decay(A[1], 2), A[2], A[3]]),
    (MOMENTS + "(y(i), z(i)) = f(A(i), B(i)) where i in 0:3", [a * b.sum() for a, b in zip(A, B, strict=False)]),
    (MOMENTS + "(z(i), y(i)) = f(A(i), B(i)) where i in 0:3", [3 * a.sum() * b.sum() + 2 for a, b in zip(A, B, strict=False)]),
    (SOLVE + f"{GRAM}; y(k) = f(G(k), A(k))", [np.linalg.solve(gram(a), a) + a for a in A]),
    (SOLVE + f"{GRAM}; y(k) = f(inverse(G(k)), A(k))", [gram(a) @ a + a for a in A]),
    ("def f(float(N) x) -> (m) { int32 k argmax=! x(i); m = x(k) }\ny(i) = f(A(i))", A.max(1)),
    ("def f(float(N) x) -> (z) { (a, b) = (x(0), x(1)); (a, b) = (b, a); z = a - 2*b }\ny(i) = f(A(i))", A[:, 1] - 2 * A[:, 0]),
    ("def f(float(N) x) -> (z) { z = 0; z += x(i) where i in 0:2; z = z * 2; z += x(i) }\ny(i) = f(A(i))",
     2 * A[:, :2].sum(1) + A.sum(1)),
    ("def f(float(N) x) -> (z) { z(i) = x(i) where i in 1:N; z(0) = 5 }\ny(i) = f(A(i))", np.c_[np.full(4, 5.), A[:, 1:]]),
    (f"{SUMS}def f(float(N) x) -> (w) {{ z = s(x); w = z(N-1) }}\ny(m) = f(A(m))", A @ [.25, .5, 1]),
    ("def f(float(N) x, int32 n) -> (z) { z +=! x(i) where i in 0:n }\n"
     "y(0) = 0; for t in 1:4 { y(t) = y(t-1) + f(A(0), t) }\noutput y", [0, *np.cumsum(np.cumsum(A[0]))]),
    (ADDS + "y(i) = f(A(i), 2)", A + np.array([0, 2, 4])),
    (ADDS + "y = f(A(1), 2)", A[1] + np.array([0, 2, 4])),
    (ADDS + "y(i, j) = A(i, j); for t in 0:3 { y(t) = f(y(t), 2) }\noutput y", A + np.outer([1, 1, 1, 0], [0, 2, 4])),
    (ADDS + "y(0) = A(0); for t in 0:2 { y(t + 1) = f(y(t), t) }\noutput y", A[0] + np.outer([0, 0, 1], [0, 1, 1])),
    ("def f(float(N) x) -> (z) { a = x(1); b = a; z = a*b; z += x(1) }\ny(i) = f(A(i))", A[:, 1]**2 + A[:, 1]),
]
KEPT = """def f(float(4) s, float u, float(7) p) -> (d) {
    c = cos(s(2)); n = sin(s(2)); m = p(0)
    drag = p(2)*s(1)*abs(s(1))
    spring = p(3)*s(0) + p(4)*s(0)**3
    damp = p(5)*s(3)
    lift = p(6)*s(1)**2*n
    force = u - drag - spring - lift
    torque = -9.81*m*n - damp + force*c
    inertia = 1 + m*c**2
    a = force/m + p(1)*s(3)**2*n
    b = torque/inertia
    d(0) = s(1)
    d(1) = a*c - b/m
    d(2) = s(3)
    d(3) = b - a*n
}
input s0(4), u(T), p(7), h
s(0) = s0
for t in 0:T {
    k1(t) = f(s(t), u(t), p); k2(t) = f(s(t) + h/2*k1(t), u(t), p)
    k3(t) = f(s(t) + h/2*k2(t), u(t), p); k4(t) = f(s(t) + h*k3(t), u(t), p)
    s(t + 1) = s(t) + h/6*(k1(t) + 2*k2(t) + 2*k3(t) + k4(t))
}
L +=! s(t, i)**2
output L"""


@each_row(("text", "value"), VALUES)
def test_a_call_means_what_its_function_means(text: str, value: object) -> None:
    program = compile(f"input A(M, N), B(N, K), int32 I(Q)\n{text}")
    np.testing.assert_allclose(program(A=A, B=B, I=PLACES)["y"], np.asarray(value), rtol=1e-12, atol=1e-12)


@each_row(("text", "line"), BECOMES)
def test_a_call_becomes_the_statements_of_its_function(text: str, line: str) -> None:
    program = parse(text)
    assert line in print_program(program)
    check_round_trip(program)


@each_row(("text", "said"), FAULTS)
def test_a_fault_of_a_call_is_told_at_its_place(text: str, said: str) -> None:
    with pytest.raises(AdError) as raised:
        parse(text)
    assert said in str(raised.value)


@pytest.mark.parametrize(("verbs", "lines", "functions"), part([
    ([], 32, 1), (["jvp"], 62, 2), (["grad"], 120, 3), (["vjp", "jvp"], 260, 5)], 4))
def test_a_function_is_one_in_the_text_of_derivatives(verbs: list[str], lines: int, functions: int) -> None:
    """A step of Runge and Kutta: short texts, with a function for each direction, that read back to what the derivatives are."""
    derived = compile(KEPT)
    for verb in verbs:
        derived = getattr(derived, verb)()
    text = derived.text()
    again = compile(text)
    assert text.count("\n") < lines and text.count("def f") >= functions
    assert again.text("anf") == derived.text("anf")
    assert functions > 2 or again.text() == text
    assert functions != 3 or "(t)) = f_adjoint(" in text
