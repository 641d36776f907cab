"""Loops in loops against the same statements written out, and what is said where they cannot be."""
from __future__ import annotations

import re

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.loops import nested_loops
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from row_tables import each_row

OUTER = "input a\nx(0) = a\nfor t in 0:3 {{ {} }}\nv = x(3)\noutput v"
WRITTEN_OUT = {
    "its own history": (
        "u(0) = x(t); for k in 0:2 { u(k + 1) = sin(u(k)) + a*x(t) }; x(t + 1) = u(2)",
        "u(t, 0) = x(t); u(t, 1) = sin(u(t, 0)) + a*x(t); u(t, 2) = sin(u(t, 1)) + a*x(t); x(t + 1) = u(t, 2)"),
    "down": (
        "u(2) = x(t); for k in 0:2 down { u(k) = a*u(k + 1) + k }; x(t + 1) = u(0)",
        "u(t, 2) = x(t); u(t, 1) = a*u(t, 2) + 1; u(t, 0) = a*u(t, 1) + 0; x(t + 1) = u(t, 0)"),
    "a history of both": (
        "h(t, 0) = x(t); for k in 0:2 { h(t, k + 1) = a*h(t, k)**2 }; x(t + 1) = h(t, 2)",
        "h(t, 0) = x(t); h(t, 1) = a*h(t, 0)**2; h(t, 2) = a*h(t, 1)**2; x(t + 1) = h(t, 2)"),
    "two in turn": (
        "for k in 0:2 { u(k) = x(t)*(k + a) }; for k in 0:2 { w(k) = u(1 - k)*u(k) }; x(t + 1) = w(0) + w(1)",
        "u(t, 0) = x(t)*(0 + a); u(t, 1) = x(t)*(1 + a); w(t, 0) = u(t, 1)*u(t, 0); w(t, 1) = u(t, 0)*u(t, 1); "
        "x(t + 1) = w(t, 0) + w(t, 1)"),
    "three deep": (
        "for k in 0:2 { for l in 0:2 { g(k, l) = x(t)/(1 + k + a*l) }; s(k) = g(k, 0)*g(k, 1) }; x(t + 1) = s(0) - s(1)",
        "g(t, 0, 0) = x(t)/(1 + 0 + a*0); g(t, 0, 1) = x(t)/(1 + 0 + a*1); s(t, 0) = g(t, 0, 0)*g(t, 0, 1); "
        "g(t, 1, 0) = x(t)/(1 + 1 + a*0); g(t, 1, 1) = x(t)/(1 + 1 + a*1); s(t, 1) = g(t, 1, 0)*g(t, 1, 1); "
        "x(t + 1) = s(t, 0) - s(t, 1)"),
    "sums and indices": (
        "u(0, i) = x(t)*i where i in 0:2; for k in 0:2 { r(k) +=! u(k, i)*a; u(k + 1, i) = cos(u(k, i)) + r(k) }; "
        "x(t + 1) +=! u(2, i)",
        "u(t, 0, i) = x(t)*i where i in 0:2; r(t, 0) +=! u(t, 0, i)*a; u(t, 1, i) = cos(u(t, 0, i)) + r(t, 0); "
        "r(t, 1) +=! u(t, 1, i)*a; u(t, 2, i) = cos(u(t, 1, i)) + r(t, 1); x(t + 1) +=! u(t, 2, i)"),
    "a declared shape": (
        "u(0) = x(t) where float(3) u; for k in 0:2 { u(k + 1) = sin(u(k)) where k >= 0 }; x(t + 1) = u(2)",
        "u(t, 0) = x(t) where float(3, 3) u; u(t, 1) = sin(u(t, 0)); u(t, 2) = sin(u(t, 1)); x(t + 1) = u(t, 2)"),
    "one that ends": (
        "u(0) = x(t); for k in 0:3 until u(k + 1) > a { u(k + 1) = sin(u(k)) + x(t) }; x(t + 1) = u(3)",
        "u(t, 0) = x(t); u(t, 1) = sin(u(t, 0)) + x(t); e(t, 1) = u(t, 1) > a ? 1 : 0\n"
        "u(t, 2) = e(t, 1) > 0.5 ? u(t, 1) : sin(u(t, 1)) + x(t); e(t, 2) = e(t, 1) > 0.5 ? 1 : u(t, 2) > a ? 1 : 0\n"
        "u(t, 3) = e(t, 2) > 0.5 ? u(t, 2) : sin(u(t, 2)) + x(t); x(t + 1) = u(t, 3)"),
    "down to an end, with sums": (
        "u(2, i) = x(t)*(i + 1) where i in 0:2\n"
        "for k in 0:2 down until r(k) > a { r(k) +=! u(k + 1, i); u(k, i) = u(k + 1, i) + r(k)\n"
        "u(k, i) += 1 }; x(t + 1) = u(0, 1) + r(0)",
        "u(t, 2, i) = x(t)*(i + 1) where i in 0:2; r(t, 1) +=! u(t, 2, i); u(t, 1, i) = u(t, 2, i) + r(t, 1); u(t, 1, i) += 1\n"
        "e(t) = r(t, 1) > a ? 1 : 0; q(t) +=! u(t, 1, i); r(t, 0) = e(t) > 0.5 ? r(t, 1) : q(t)\n"
        "u(t, 0, i) = e(t) > 0.5 ? u(t, 1, i) : u(t, 1, i) + r(t, 0); u(t, 0, i) += e(t) > 0.5 ? 0 : 1\n"
        "x(t + 1) = u(t, 0, 1) + r(t, 0)"),
    "no step": ("u(0) = a*x(t); for k in 0:0 { u(k + 1) = u(k)/2 }; x(t + 1) = u(0)", "u(t, 0) = a*x(t); x(t + 1) = u(t, 0)"),
}


@each_row("name", WRITTEN_OUT)
def test_an_inner_loop_is_its_steps(name: str) -> None:
    """Values and derivatives to second order, to the bit, and of the text that reads back."""
    nested, plain = (parse(OUTER.format(text)) for text in WRITTEN_OUT[name])
    for order in (1, 2):
        derived = gradient(nested, order=order)
        expected = evaluate(gradient(plain, order=order), {"a": 0.7})
        assert evaluate(derived, {"a": 0.7}) == evaluate(parse(print_program(derived)), {"a": 0.7}) == expected


@pytest.mark.parametrize(("until", "written_out"), [
    ("abs(u(2) - u(1)) < 0.1", "abs(u(t, 2) - u(t, 1)) < 0.1"), ("u(2) > 0.5",) * 2])
def test_the_loop_around_may_end_by_what_is_of_its_step(until: str, written_out: str) -> None:
    nested = "input a\nx(0) = a\nfor t in 0:9 until {} {{ {} }}\nv = x(9)\noutput v"
    body, plain = WRITTEN_OUT["its own history"]
    at = {"a": 0.7}
    assert evaluate(gradient(parse(nested.format(until, body))), at) == evaluate(
        gradient(parse(nested.format(written_out.replace("u(2)", "u(t, 2)"), plain))), at)


def test_a_loop_of_which_no_step_is_left() -> None:
    assert evaluate(parse(OUTER.format("for k in 0:0 { u(k) = x(t) }").replace("x(3)", "x(0)")), {"a": 0.7})["v"] == 0.7


def test_a_function_with_loops_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ("def f(float(N) y, x0) -> (v) {{ x(0) = x0; for t in 0:N {{ {} }}; v = x(N) }}\ninput y(N), a\nw = f(y, a)\noutput w")
    nested, plain = (f.format(text.replace("a", "y(t)")) for text in WRITTEN_OUT["its own history"])
    at = {"y": [0.3, -0.5], "a": 1.25}
    assert evaluate(parse(nested), at) == evaluate(parse(plain), at)
    monkeypatch.setattr(nested_loops, "MOST_STATEMENTS", 2)
    with pytest.raises(AdError, match="a step of the outer loop has 4 statements"):
        parse(OUTER.format("for k in 0:4 { u(k) = x(t) }; x(t + 1) = u(0)"))


EDGES = "z(i, 0) = x(i, 0) where float({}) z; z(0, j) = x(0, j) where j in 1:M\n"
OVER_SIZES = {
    "up": (EDGES.format("N, M"), "for i in 1:N {{ for j in 1:M {{ {} }} }}; v +=! z(i, j)*x(i, j)",
           "z(i, j) = sin(x(i, j) + z(i - 1, j - 1)*z(i, j - 1)) - z(i - 1, j)"),
    "steeper": (EDGES.format("N, M + 1") + "z(i, M) = x(i, 1)",
                "for i in 1:N {{ for j in 1:M {{ {} }} }}; v = z(N-1, M-1)",
                "z(i, j) = x(i, j)*z(i - 1, j + 1) + z(i, j - 1)"),
    "down": ("z(N, j) = 1 where float(N + 1, M + 2) z; z(i, M + k) = x(i, k) where k in 0:2",
             "for i in 0:N down {{ for j in 0:M down {{ {} }} }}; v = z(0, 0)", "z(i, j) = x(i, j)*z(i, j+2) + cos(z(i+1, j))"),
    "at once, beside others": (
        "z(0, j) = x(0, j) where float(N, M) z",
        "for i in 0:N-1 {{ s(i) = 0; for j in 0:M {{ {} }}; w(i) = s(i)*2 }}; v +=! z(N-1, j)*w(0)",
        "u(j) = z(i, j)*x(i, 0); z(i + 1, j) = sin(z(i, 0))*x(i, j) + u(j); s(i) += z(i + 1, j)*j"),
    "two tensors": (EDGES.format("N, M"), "for i in 1:N {{ for j in 1:M {{ {} }} }}; v +=! z(i, j)",
                    "w(i, j) = z(i - 1, j)*x(i, j); z(i, j) = w(i, j) + w(i, j)*z(i, j - 1)"),
    "an offset, checkpointed": (
        EDGES.format("N, M"),
        "for i in 0:N-1 checkpoint {{ for j in 0:M-1 {{ {} }} }}; v = z(N-1, M-1)",
        "z(i+1, j+1) = z(i, j)*x(i, j) + z(i+1, j)*z(i, j+1)"),
}


@pytest.mark.parametrize("name", OVER_SIZES)
def test_a_loop_over_sizes_in_a_loop_is_its_steps(name: str) -> None:
    """Values and gradients, also of texts, against loops over numbers."""
    before, loops, body = OVER_SIZES[name]
    for n, m in ((3, 4), (4, 2), (2, 2)):
        x = np.random.default_rng(n).normal(size=(n, m))
        whole = gradient(parse(f"input x(N, M)\n{before}\n{loops.format(body)}\noutput v"))
        plain = re.sub("(in [^{]*)", lambda r, n=n, m=m: r[0].replace("N", str(n)).replace("M", str(m)), loops).format(body)
        steps = gradient(parse(f"input x(N, M)\n{before}\n{plain}\noutput v"))
        found, again, expected = (evaluate(p, {"x": x}) for p in (whole, parse(print_program(whole)), steps))
        for key in ("v", "dv_dx"):
            assert np.array_equal(again[key], found[key])
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-12, atol=1e-12)


FIRST = "a(0, j) = x(j) where j in 0:N"
TRIANGLES = [
    ("1:N", "i:N", FIRST, "sin(a(i - 1, j)) + select(j > i, x(0)*a(i, j - 1), 0)"),
    ("1:N", "1:i + 1", f"{FIRST}; a(j, 0) = x(j)/2 where j in 1:N", "sin(a(i - 1, j - 1)) + x(i)*a(i, j - 1)"),
    ("1:N", "0:N - i", FIRST, "sin(a(i - 1, j) + x(i)*a(i - 1, j + 1)) + select(j > 0, a(i, j - 1), 1)"),
    ("1:N", "i:N", f"{FIRST}; a(j, j - 1) = x(j) where j in 1:N", "sin(a(i - 1, j)) + x(0)*a(i, j - 1)"),
    ("1:N", "2*i:2*N", f"{FIRST}; a(0, j + N) = x(j) where j in 0:N",
     "sin(a(i - 1, j)) + a(i - 1, j - 1)*select(j > 2*i, a(i, j - 1), 1)"),
    ("0:N - 1 down", "0:i + 1 down", "a(N - 1, j) = x(j) where j in 0:N",
     "sin(a(i + 1, j) + x(i)*a(i + 1, j + 1)) + select(j < i, a(i, j + 1), 1)")]


@pytest.mark.parametrize(("outer", "inner", "given", "value"), TRIANGLES)
def test_an_inner_range_may_depend_on_the_outer_step(outer: str, inner: str, given: str, value: str) -> None:
    """Values and gradients against loops of Python, over complex numbers with a small imaginary part."""
    program = parse(f"input x(N)\n{given}\n"
                    f"for i in {outer} {{ for j in {inner} {{ a(i, j) = {value} }} }}\n"
                    f"v +=! a(i, j) where i in {outer.removesuffix(' down')}, j in {inner.removesuffix(' down')}\noutput v")
    whole = gradient(program)

    def steps(text: str, **names: int) -> range:
        low, high = (eval(end, names) for end in text.removesuffix(" down").split(":"))
        return range(low, high)[::-1] if text.endswith("down") else range(low, high)

    def by_steps(x: np.ndarray) -> complex:
        n, a = len(x), np.zeros((len(x) + 1, 2 * len(x) + 1), complex)
        names = {"a": lambda i, j: a[i, j], "x": lambda i: x[i], "sin": np.sin, "N": n, "select": lambda c, y, z: y if c else z}
        for line in given.split("; "):
            left, right, low = re.fullmatch(r"a(.*) = (.*) where j in (.):N", line).groups()
            for j in range(int(low), n):
                a[eval(left, {"N": n, "j": j})] = eval(right, names, {"j": j})
        for i in steps(outer, N=n):
            for j in steps(inner, N=n, i=i):
                a[i, j] = eval(value, names, {"i": i, "j": j})
        return sum((a[i, j] for i in steps(outer, N=n) for j in steps(inner, N=n, i=i)), 0j)

    for n in (1, 2, 5):
        x = np.random.default_rng(n).normal(size=n)
        slopes = [by_steps(x + 1e-30j * np.eye(n)[k]).imag / 1e-30 for k in range(n)]
        for found in (evaluate(whole, {"x": x}), evaluate(parse(print_program(whole)), {"x": x})):
            np.testing.assert_allclose(found["v"], by_steps(x).real, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(found["dv_dx"], slopes, rtol=1e-12, atol=1e-12)


def test_edges_of_loops_over_sizes_are_written_before() -> None:
    with pytest.raises(AdError, match="'z' is read beside what the loops assign, where nothing has written it"):
        parse("input x(N, M)\nfor i in 1:N { for j in 1:M { z(i, j) = x(i, j)*z(i, j - 1) } }")
    with pytest.raises(AdError, match=r"this reads z\(0, 1\), which nothing has written"):
        parse("input x(N, M)\nz(0, 0) = 1; z(i, 0) = 1 where i in 1:N\n"
              "for i in 1:N { for j in 1:M { z(i, j) = x(i, j)*z(i - 1, j) } }")
