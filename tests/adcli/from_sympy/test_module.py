"""Texts of SymPy as programs, which needs no SymPy."""
from __future__ import annotations

import pytest
from command import adcli

READ = [
    ("x**2*sin(y) + Rational(1, 2)*exp(-x)", "input x, y\nf = x**2 * sin(y) + 1 / 2 * exp(-x)\noutput f\n"),
    ("Add(Mul(Integer(2), Symbol('x', real=True)), Pow(Symbol('y'), Rational(1, 2)), pi)",
     "input x, y\nf = 2 * x + sqrt(y) + pi\noutput f\n"),
    ("Piecewise((x**2, (x > 1) & (y < 2)), (log(x, 2), True))",
     "input x, y\nf = x > 1 and y < 2 ? x**2 : log(x) / log(2)\noutput f\n"),
    ("Piecewise(ExprCondPair(Symbol('x'), StrictGreaterThan(Symbol('x'), Integer(0))))",
     "input x\nf = x > 0 ? x : nan\noutput f\n"),
    ("Sum(a[i]*x[i], (i, 0, n - 1))", "input a(n), x(n)\nf +=! a(i) * x(i)\noutput f\n"),
    ("Sum(A[i, j]*x[j], (j, 0, n - 1), (i, 0, m - 1))",
     "input A(m, n), x(n)\nt(i) +=! A(i, j) * x(j)\nf +=! t(i)\noutput f\n"),
    ("Product(Indexed(IndexedBase(Symbol('x')), Symbol('i', integer=True)), Tuple(Symbol('i'), Integer(0), Integer(1)))",
     "input x(2)\nf = x(0) * x(1)\noutput f\n"),
    ("Matrix([[x, 1], [0, y]])", "input x, y\nf(0, 0) = x\nf(0, 1) = 1\nf(1, 0) = 0\nf(1, 1) = y\noutput f\n"),
    ("(x, Max(x, y, 0), sec(y))", "input x, y\nf = x\nf2 = max(x, y, 0)\nf3 = 1 / cos(y)\noutput f, f2, f3\n"),
    ("Symbol('lambda')*Symbol('x_{1}')", "input lambda, x_1\nf = lambda * x_1\noutput f\n"),
    ("Rational('1/4')*Symbol('E')*E", "input E\nf = 0.25 * E * 2.718281828459045\noutput f\n"),
    ("x = Symbol('k', real=True)\ny = 2*x\n{'a': y, 'b': y**2}", "input k\na = 2 * k\nb = a**2\noutput a, b\n"),
    ("Float('0.25', precision=53)*E**EulerGamma + factorial(x)",
     "input x\nf = 0.25 * e**0.5772156649015329 + gamma(x + 1)\noutput f\n")]


@pytest.mark.parametrize(("text", "program"), READ)
def test_a_text_is_read(text: str, program: str) -> None:
    ended = adcli("show", "--from", "sympy", "-", stdin=text.encode())
    assert (ended.out, ended.err) == (program.replace("e**0.57", "2.718281828459045**0.57"), "")


def test_a_text_that_is_nested_too_deep_is_refused() -> None:
    ended = adcli("grad", "--from", "sympy", "-", "--at", "x=1", stdin=b"(" * 400 + b"x" + b")" * 400)
    assert ended.code in (2, 3) and "internal" not in ended.err
