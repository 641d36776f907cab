"""Sums of products: split where that saves points, into the least number of them, and equal to the sum as it is written."""
from __future__ import annotations

import math
import pickle
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program, Result, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.printing.printer import STYLES, print_program
from adcli.lang.simplify.sum_order import contracted
from row_tables import each_row
from same_programs import equal
from session_seed import drawn, half
from well_formed import check

import adcli

SPLIT = {
    "a form": ("input x(N), A(N, N), y(N)\ns +=! x(i) * A(i, j) * A(j, k) * y(k)",
               ["x_A(j) +=! x(i) * A(i, j)", "x_A_A(k) +=! x_A(j) * A(j, k)", "s +=! x_A_A(k) * y(k)"]),
    "a chain that ends in a vector": ("input A(N, M), B(M, K), v(K)\nr(i) +=! A(i, j) * B(j, k) * v(k)",
                                      ["B_v(j) +=! B(j, k) * v(k)", "r(i) +=! A(i, j) * B_v(j)"]),
    "a chain": ("input A(N, M), B(M, K), C(K, L)\nr(i, l) +=! A(i, j) * B(j, k) * C(k, l)",
                ["A_B(i, k) +=! A(i, j) * B(j, k)", "r(i, l) +=! A_B(i, k) * C(k, l)"]),
    "sums apart": ("input x(N), y(M)\ns +=! x(i) * y(j)", ["sum_y +=! y(j)", "s +=! x(i) * sum_y"]),
    "constants and signs": ("input x(N), y(M), a\ns +=! -(a * exp(x(i))) * y(j) / 2", ["sum_y +=! y(j)",
                                                                                 "x_a_sum_y +=! a * exp(x(i)) * sum_y",
                                                                                 "s = -(x_a_sum_y / 2)"]),
    "a divisor": ("input x(N), y(M)\ns +=! x(i) / y(j)", ["sum_y +=! 1 / y(j)", "s +=! x(i) * sum_y"]),
    "onto": ("input x(N), y(M), s0\ns = s0\ns += x(i) * y(j)", ["sum_y +=! y(j)", "s += x(i) * sum_y where s = s0"]),
    "windows": ("input x(N + K), w(K), y(M)\nr(i) +=! x(i + k) * w(k) * y(l) where i in 0:N",
                ["x_w(i) +=! x(i + k) * w(k) where i in 0:N", "sum_y +=! y(l)", "r(i) = x_w(i) * sum_y"]),
    "not from 0": ("input x(N), A(N, N), y(N)\ns +=! x(i) * A(i, j) * A(j, k) * y(k) where j in 2:N",
                   ["x_A(j - 2) +=! x(i) * A(i, j) where float(max(N - 2, 0)) x_A, j in 2:N",
                    "A_y(j - 2) +=! A(j, k) * y(k) where float(max(N - 2, 0)) A_y, j in 2:N",
                    "s +=! x_A(j - 2) * A_y(j - 2) where j in 2:N"]),
    "a result that is the same everywhere": ("input x(N), c\nr(i) +=! c * x(j) where i in 0:N",
                                             ["sum_x +=! x(j)", "r(i) = c * sum_x where i in 0:N"]),
    "three rotations": ("input x(N, 3), R(3, 3), S(3, 3)\ny(n, c) +=! x(n, a) * R(a, b) * S(b, c)",
                        ["R_S(a, c) +=! R(a, b) * S(b, c)", "y(n, c) +=! x(n, a) * R_S(a, c)"]),
    "a factor made of sizes": ("input q(T, E), k(U, E)\ns(t, u) +=! q(t, e) * k(u, e) / sqrt(E) where t >= u",
                               ["q_k(t, u) +=! q(t, e) * k(u, e) where t >= u", "s(t, u) = q_k(t, u) / sqrt(E) where t >= u"]),
    "a mean": ("input x(N)\ns +=! (x(i) - 1)**2 / (2*N - 1)", ["sum_x +=! (x(i) - 1)**2", "s = sum_x / (2 * N - 1)"]),
    "a factor of a sum that begins elsewhere": ("input x(N), s0\ns = s0\ns += 3 * x(i)",
                                                ["sum_x +=! x(i)", "s += 3 * sum_x where s = s0"]),
    "calls": ("input x(N, K), b(K), W(K, M)\ny(n, m) +=! tanh(x(n, k) + b(k)) * W(k, m)",
              ["tanh_x_b(n, k) = tanh(x(n, k) + b(k))", "y(n, m) +=! tanh_x_b(n, k) * W(k, m)"]),
    "calls where they are needed": (
        "input x(N, K), z(N), v(K, E)\ny(n, e) +=! exp(x(n, k) - z(n)) * v(k, e) where n >= k",
        ["exp_x_z(n, k) = exp(x(n, k) - z(n)) where n >= k", "y(n, e) +=! exp_x_z(n, k) * v(k, e) where n >= k"]),
    "a scatter": ("input x(N, D), W(D, K), int32 a(E), int32 b(E)\ns(b(e), j) +=! x(a(e), d) * W(d, j) where float(N, K) s",
                  ["x_W(e, j) +=! x(a(e), d) * W(d, j)", "s(b(e), j) +=! x_W(e, j) where float(N, K) s"]),
    "a scatter onto, of terms": (
        "input x(N, K), c(N), s0(N), int32 I(N)\ns = s0\ns(I(i)) += (x(i, k) - c(i))**2 where i >= 1",
        ["x_c(i) +=! (x(i, k) - c(i))**2 where i >= 1", "s(I(i)) += x_c(i) where i >= 1, s = s0"]),
    "a condition on what is not summed": ("input x(N)\ns(i) +=! 2 * x(k) where i in 0:3, i >= 1",
                                          ["sum_x +=! x(k)", "s(i) = 2 * sum_x where i in 0:3, i >= 1"]),
    "a scatter of products": ("input x(N), A(N, N), int32 I(N)\ny(I(i)) +=! x(i) * A(i, j) * x(k) where float(N) y",
                              ["sum_x +=! x(k)", "x_A_x(i) +=! x(i) * A(i, j) * sum_x",
                               "y(I(i)) +=! x_A_x(i) where float(N) y"]),
}
"""A text, and the statements that it becomes."""

KEPT = {
    "two factors": "input A(M, N), x(N)\ny(i) +=! A(i, j) * x(j)",
    "a factor with all indices": "input A(M, N), x(M), y(N), c\ns +=! c * x(i) * A(i, j) * y(j)",
    "guards": "input x(N), A(N, N), y(N)\ns +=! x(i) * A(i, j) * A(j, k) * y(k) where i >= k",
    "no sum": "input x(N), y(M), z(K)\nT(i, j, k) = x(i) * y(j) * z(k)",
    "a sum of terms": "input x(N), y(M)\ns +=! x(i) + y(j)",
    "a maximum": "input x(N), y(M)\ns max=! x(i) * y(j)",
    "few points": "input x(3), A(3, 3), y(3)\ns +=! x(i) * A(i, j) * A(j, k) * y(k)",
    "an index of no factor": "input x(N)\ns +=! x(i) * x(i) where j in 0:N",
    "a tensor larger than all": "input x(N), y(M), z(K, L)\nr(i, j) +=! x(i) * y(j) * exp(z(k, 0) * x(i) * y(j) * z(0, l))",
    "a gather": "input T(E, D), u(D), w(D), int32 I(B)\ns +=! T(I(b), d) * u(d) * w(e)",
    "a read that may be outside where another range is empty":
        "input w(P, Q), x(N), y(M), z(K)\ns +=! w(0, 0) * x(i) * y(j) * z(k) where i in 0:P, k in 1:Q",
    "calls for more points than there are numbers": "input x(N), v(N, C)\ny(i, c) +=! exp(-(x(i) - x(j))**2) * v(j, c)",
    "calls under other conditions": "input x(N, K), v(K, E)\ny(n, e) +=! exp(x(n, k)) * v(k, e) where e >= k",
    "a condition on what is summed": "input c(N, M)\nr(i) +=! c(j, i) / sqrt(M) where j >= i",
    "nothing but divisors": "input x(N)\ns +=! 2 / x(i)",
    "a divisor that is 0": "input x(N)\ns +=! x(i) / 0",
    "a scatter of single terms": "input x(N, K), int32 I(N)\ny(I(i), k) +=! x(i, k) where float(N, K) y",
    "a scatter under conditions on what is summed":
        "input x(N), A(N, N), int32 I(N)\ny(I(i)) +=! x(i) * A(i, j) where float(N) y, i >= j",
    "a scatter of sums that are more than there are numbers":
        "input x(E, D), w(D, J), v(D, K), int32 b(E)\ns(b(e), j, k) +=! x(e, d) * w(d, j) * v(d, k) where float(8, J, K) s",
}


def lines(program: Program) -> list[str]:
    return [x for x in print_program(program).splitlines() if not x.startswith(("input", "output"))]


@each_row("name", SPLIT)
def test_what_is_split(name):
    text, want = SPLIT[name]
    assert lines(parse(text)) == want
    assert len(parse(text, exact_order=True).equations) == 1


@each_row("name", KEPT)
def test_what_stays(name):
    assert equal(parse(KEPT[name]), parse(KEPT[name], exact_order=True))


SHARED = """
a(r) +=! d(s) * exp(A(r, s)) where r >= 1
z +=! -(d(s) * exp(A(t, s))) where t >= 1
b = d
b(s) += d(s) * exp(A(r, s)) where r >= 1
c(r, s) = -(d(s) * exp(A(r, s)))
y = y0
y += d(s) * exp(A(r, s))
e(s) +=! exp(-d(s)) where float(S) e, s in 0:S - 1
e(S - 1) += 1
x +=! exp(-d(s)) where s in 0:S - 1
"""


def test_terms_that_an_earlier_sum_has_are_read_from_it() -> None:
    """By an index of its own or a sign; not where conditions differ, indices are gone, or elements were written over."""
    text = "input A(R, S), d(S), y0\n" + SHARED + "output a, z, b, c, y, e, x"
    want = SHARED.replace("-(d(s) * exp(A(t, s))) where t >= 1", "-a(t) where t >= 1").replace(
        "y += d(s) * exp(A(r, s))", "y += -c(r, s)")
    program, written = parse(text), parse(text, exact_order=True)
    assert lines(program) == lines(parse(f"input A(R, S), d(S), y0\n{want}output a, z, b, c, y, e, x", exact_order=True))
    r = np.random.default_rng(1)
    at = {"A": r.standard_normal((3, 4)), "d": r.standard_normal(4), "y0": np.array(2.0)}
    found, expected = (evaluate(p, at, FLOAT) for p in (program, written))
    for name in expected:
        np.testing.assert_allclose(np.asarray(found[name], float), np.asarray(expected[name], float), rtol=1e-14, err_msg=name)


@each_row("text", half([*[t for t, _ in SPLIT.values()], *KEPT.values()]))
def test_texts_of_programs_and_derivatives_are_not_split_again(text):
    program = parse(text)
    wrt = [p.name for p in program.params if not p.var.integer]
    for made in (program, tangent_program(program, wrt), adjoint_program(program, wrt)):
        assert contracted(made) is made
        for style in STYLES:
            again = parse(print_program(made, style))
            assert equal(again, made), print_program(made, style)
            assert print_program(again, style) == print_program(made, style)


# ---------------------------------------------------------------- against sums over all points, in exact arithmetic

def random_sum(r: random.Random) -> tuple[str, dict[str, tuple[str, ...]], str]:
    """A text, the indices of its factors, and those of its result; each index has the size of its own name."""
    names = "ijklm"[:r.randint(2, 5)]
    operands = {chr(ord("A") + k): tuple(r.sample(names, r.randint(1, min(3, len(names))))) for k in range(r.randint(2, 8))}
    met = sorted({i for x in operands.values() for i in x})
    out = "".join(r.sample(met, r.randint(0, min(2, len(met)))))
    inputs = ", ".join(f"{n}({', '.join(f'S{i}' for i in x)})" for n, x in operands.items())
    value = " * ".join(f"{n}({', '.join(x)})" for n, x in operands.items())
    target = f"r({', '.join(out)})" if out else "r"
    return f"input {inputs}\n{target} +=! {value}", operands, out


def points(program: Program, n: int) -> int:
    return sum(n ** len(e.op.ranges) for e in program.equations if isinstance(e.op, Comprehension))


def by_numpy(operands: dict[str, tuple[str, ...]], out: str, n: int) -> int:
    """The points of the order that NumPy finds, which makes no larger tensors either."""
    now = [frozenset(x) for x in operands.values()]
    shapes = [np.broadcast_to(0.0, (n,) * len(x)) for x in operands.values()]
    path, _ = np.einsum_path(",".join("".join(x) for x in operands.values()) + "->" + out, *shapes, optimize="optimal")
    count = 0
    for step in path[1:]:
        taken = [now.pop(k) for k in sorted(step, reverse=True)]
        box = frozenset().union(*taken)
        count += n ** len(box)
        now.append(box & frozenset(out).union(*now))
    return count


def test_random_sums_are_what_they_were_and_of_the_least_degree():
    r, splits = drawn("random sums"), 0
    for _ in range(60):
        text, operands, out = random_sum(r)
        program, exact = parse(text), parse(text, exact_order=True)
        splits += len(program.equations) > 1
        values = {n: np.array([r.randint(-9, 9) for _ in range(2 ** len(x))], float).reshape((2,) * len(x))
                  for n, x in operands.items()}
        want = np.einsum(",".join("".join(x) for x in operands.values()) + "->" + out,
                         *[np.vectorize(Fraction, otypes=[object])(v) for v in values.values()])
        for p in (program, exact):
            assert np.array_equal(evaluate(p, values, FLOAT)["r"], np.asarray(want, float)), text
        most = max(len(x) for x in (*operands.values(), out))
        assert all(len(v.shape) <= most for e in program.equations for v in e.outs), text
        if len(operands) <= 6:
            assert points(program, 1000) <= 2 * by_numpy(operands, out, 1000), text
    assert splits > 10


def test_sizes_that_must_agree_are_one_size():
    text = "input x(N), A(M, K), y(L)\ns +=! x(i) * A(i, j) * A(j, k) * y(k)"
    assert len(parse(text).equations) == 3
    with pytest.raises(adcli.AdError, match="3 elements"):
        adcli.compile(text)(x=[1.0, 2.0], A=[[1.0, 2.0]] * 3, y=[1.0, 2.0])


def test_a_statement_over_no_points_reads_nothing():
    text = "input x(N), y(M), z(K)\ns +=! x(2 + i) * y(j) * z(k) where i in 0:2, j in 0:M-5"
    assert evaluate(parse(text), {"x": np.ones(2), "y": np.ones(4), "z": np.ones(3)}, FLOAT)["s"] == 0


def test_equations_that_share_a_body_do_not_share_its_values():
    """What a body makes of literals alone becomes an equation of numbers, of each statement one of its own."""
    program = parse("input x(N), a\ny +=! cos(a)*x(i)*tanh(1.91)", exact_order=True)
    (e,), z = program.equations, Var("z")
    assert program.source is not None
    twice = replace(program, equations=(e, replace(e, outs=(z,))), results=(*program.results, Result("z", z)),
                    source=replace(program.source, exact_order=False))
    found = evaluate(check(contracted(twice)), {"x": np.ones(3), "a": 0.0}, FLOAT)
    assert found["y"] == found["z"] == 3 * math.tanh(1.91)


# ---------------------------------------------------------------- turned off

def test_exact_order_holds_for_derivatives_and_when_pickled():
    text = "input x(N), y(M)\ns +=! x(i) * y(j) + x(i)"
    point = {"x": [1.0, 2.0, 4.0], "y": [3.0, 5.0]}
    plain, exact = adcli.compile(text).grad("y"), adcli.compile(text, exact_order=True).grad("y")
    assert len(plain.program.equations) > len(exact.program.equations)
    for f in (plain, exact, pickle.loads(pickle.dumps(plain)), pickle.loads(pickle.dumps(exact))):
        got = f(**point)
        assert got["s"] == 7 * 8 + 7 * 2
        assert list(got["ds_dy"]) == [7.0, 7.0]


def test_what_overflows_may_differ():
    text = "input x(N), y(N)\ns +=! x(i) * y(j)"
    point = {"x": np.array([1e300, 1e300]), "y": np.array([1e300, -1e300])}
    assert evaluate(parse(text), point, FLOAT)["s"] == 0
    assert np.isnan(evaluate(parse(text, exact_order=True), point, FLOAT)["s"])


@pytest.mark.parametrize(("before", "body", "expected"), [
    ("", "h(t + 1, n) += W(n, m) * h(t, m) / (3 + t)", ["W_h(t, n) +=! W(n, m) * h(t, m)", "h(t + 1, n) += W_h(t, n) / (t + 3)"]),
    (" until h(t + 1, 0) > 1", "h(t + 1, n) +=! 0.5 * W(n, m) * h(t, m)",
     ["W_h(t, n) +=! W(n, m) * h(t, m)", "h_1(t + 1, n) = 0.5 * W_h(t, n)"]),
    (" down", "h(t, n) +=! -(W(n, m) * h(t + 1, m)) / N", ["W_h(t, n) +=! W(n, m) * h(t + 1, m)", "h(t, n) = -(W_h(t, n) / N)"])])
def test_a_loop_sums_without_constants(before: str, body: str, expected: list[str]) -> None:
    start = "4" if "down" in before else "0"
    text = f"input W(N, N), b(N)\nh({start}, n) = b(n)\nfor t in 0:4{before} {{\n    {body}\n}}\nL +=! h(t, n)**2\noutput L"
    program, at = parse(text), {"W": np.array([[0.4, -0.2], [0.1, 0.3]]), "b": np.array([0.7, -0.5])}
    assert all(f"    {line}\n" in print_program(program) for line in expected)
    found, written = (evaluate(p, at)["L"] for p in (program, parse(text, exact_order=True)))
    assert found == pytest.approx(written, rel=1e-14)
    derivative = adcli.compile(text).grad()
    assert all(np.array_equal(x, derivative(at)[name]) for name, x in adcli.compile(derivative.text())(at).items())
