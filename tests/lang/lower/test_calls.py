"""Functions of tensors on slices, in loops and for each point of an index: the statements that a call becomes, and faults."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from laws import check_round_trip

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
    (F + LOOP % "(y(t+1), w(t)) = f(y(t), k)", "'f' gives 1 result, 2 wanted here"),
    (F + "input A(M, N), c\nv(i) = f(A(j), c)", "index 'i' is not in the call of 'f'"),
    (F + "input A(M, N), c\nz +=! f(A(i), c)", "'f(A(i), c)' is a tensor, and 'z' has no dimensions"),
    ("def f(float(3) x) -> (d) { d = f(x) }\n" + LOOP % "y(t+1) = f(y(t))", "function 'f' calls itself"),
    ("def f(float(3) x) -> (d) { d(i) = k * x(i) }\n" + LOOP % "y(t+1) = f(y(t))", "function 'f' has no parameter 'k'"),
    (SUMS + LOOP % "y(t+1) = s(y(t))", "function 's' has a loop, and is called in one"),
    (f"{SQUARE}def f0(float(N) x) -> (z) {{ z(i) = x(i) / s(x) }}\n" + "".join(
        f"def f{n + 1}(float(N) x) -> (z) {{ a(i) = x(i); z = f{n}(f{n}(a)) }}\n" for n in range(20))
     + LOOP % "y(t+1) = f20(y(t))",
     "the limit of a program is"),
]


@pytest.mark.parametrize(("text", "line"), BECOMES)
def test_a_call_becomes_the_statements_of_its_function(text: str, line: str) -> None:
    program = parse(text)
    assert line in print_program(program)
    check_round_trip(program)


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_a_fault_of_a_call_is_told_at_its_place(text: str, said: str) -> None:
    with pytest.raises(AdError) as raised:
        parse(text)
    assert said in str(raised.value)
