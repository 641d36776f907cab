"""Patterns read off statements are those of the program written out as one of numbers, or where that is said have more."""
from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate.recording import unfolded
from adcli.lang.ir import Program, shape_of
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import tensor_of
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.activity import with_outputs
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sparsity import element_sparsity
from adcli.lang.sparsity.element_sparsity import hessian_elements, jacobian_elements
from adcli.lang.sparsity.sparsity import Pattern, hessian_pattern, jacobian_pattern
from places import DATA, ROOT
from random_comprehensions import sample
from random_loops import random_loop
from random_steps import random_steps
from row_tables import each_row
from session_seed import drawn, fixed, half

CASES = {case["name"]: case["at"] for case in json.loads((DATA / "tensors" / "models.json").read_text(encoding="utf-8"))["cases"]}
DECOMPOSED = {"log_euclidean_mean", "rate_matrix", "robust_components", "spectral_penalty", "variable_projection", "wasserstein"}
"""Models with operations that are not written out number by number."""
M = np.array([[4.0, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 5]])

PROGRAMS = {
    "windows and edges": ("y(i) = i > 2 and i < 5 ? x(i)**2*s : x(0)*x(i)\nv +=! y(i)**2*(i % 2 == 0 ? 1 : s)\noutput y, v",
                          {"x": np.linspace(0.5, 1, 8), "s": 2.0}),
    "sums onto others": ("y(i) = x(i)**3\ny(i) += z(i)*x(0) where i in 0:2\nv *=! y(i) + s\noutput y, v",
                         {"x": np.linspace(0.5, 1, 4), "z": np.ones(4), "s": 3.0}),
    "computed subscripts": ("int32 k(i) = floor(x(i))\ny(i) = z(k(i))*x(i)\nv lse=! y(i)\noutput y, v",
                            {"x": np.array([0.5, 1.5, 2.5]), "z": np.ones(4)}),
    "factors that two terms share": ("v *=! x(i) + x((i + 1) % N)\nw *=! x(i)*z(i)\nu min=! x(i)**2\noutput u, v, w",
                                     {"x": np.linspace(1, 2, 3), "z": np.ones(3)}),
    "numbers between tensors": ("m +=! x(i)\nr = sqrt(m)*s + x(0)\ny(i) = x(i)/r\nv +=! y(i)*z(i)\noutput r, v",
                                {"x": np.linspace(1, 2, 3), "z": np.ones(3), "s": 2.0}),
    "what is not differentiated": (
        "k = [1, 2, 3]\nc(i) = x(i) > 1 ? 1 : 0\ny(i) = k(i)*c(i) + stop(x(i))\nv +=! y(i)*x(i)**2\noutput y, v",
        {"x": np.array([0.5, 1.5, 2.5])}),
    "nothing": ("v +=! x(i)**2\ny(i) = x(i)\noutput v, y", {"x": np.zeros(0)}),
}


LOOPS = {
    "conditions on the step": ("input x(T), a\ns(0) = a\nfor t in 0:T { s(t+1) = t % 2 == 0 ? s(t)*x(t) : sin(s(t)) + a }\n"
                               "v = s(T)\noutput s, v", {"x": np.linspace(0.5, 1, 5), "a": 0.4}),
    "steps of two kinds, of the same elements": ("input a, T\nh(0) = a\nfor t in 0:4 { h(t+1) = t % 2 == 0 ? h(t)**2 : 2*h(t) }\n"
                                                 "v = h(4) + T\noutput v", {"a": 0.4, "T": 1.0}),
    "two loops, of which the second is linear": (
        "input a, r, int T\nh(0) = a\nfor t in 0:T { h(t+1) = h(t)**2 }\ng(0) = h(T)\n"
        "for t in 0:T { g(t+1) = 2*g(t) }\nv = g(T) + r*g(1)\noutput v",
        {"a": 0.4, "r": 2.0, "T": 4}),
    "a sum that is carried": ("input x(M), int T\ns(0) = 0\nfor t in 0:T { s(t+1) = s(t) + (x(t+1) - x(t)**2)**2 }\nv = s(T)\n"
                              "output s, v", {"x": np.linspace(0.5, 1, 6), "T": 5}),
    "sums that are carried": ("input x(T)\ns(0) = 0\nfor t in 0:T { s(t+1) = 2*s(t) + x(t)**2 }\nv = s(T)\noutput s, v",
                              {"x": np.linspace(0.5, 1, 5)}),
    "elements that change places": (
        "input a(N), int k(T, N)\nh(0, i) = a(i)\nfor t in 0:T { h(t+1, i) = h(t, k(t, i)) }\nv = h(T, 0)**2\noutput h, v",
        {"a": np.ones(3), "k": [[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 2, 0]]}),
    "an input at the step, at twice the step and at the start": (
        "input x(M), int T\ns(0) = 0\nfor t in 0:T { s(t+1) = x(0) + s(t) + x(t)*x(2*t) }\nv = s(T)\noutput s, v",
        {"x": np.linspace(0.5, 1, 9), "T": 5}),
    "products of the step before": ("input x(T, N)\nh(0, i) = x(0, i)\nfor t in 0:T { h(t+1, i) *=! h(t, i) + x(t, j) }\n"
                                    "v +=! h(T, i)\noutput h, v", {"x": np.full((2, 3), 0.7)}),
    "sums onto elements of a step": (
        "input x(T, N), a\nh(0, i) = a where i in 0:3\nfor t in 0:T {\nh(t+1, i) = h(t, i)*x(t, i)\n"
        "h(t+1, i) += x(t, j)*a where j in 0:2\n}\nv +=! h(T, i)\noutput h, v", {"x": np.full((3, 3), 0.7), "a": 0.4}),
    "terms that meet": (
        "input x(T, N), a\nh(0, i) = a*x(0, i)\nfor t in 0:T {\np(t) *=! h(t, j) + x(t, j)\n"
        "q(t, i) lse=! h(t, j)*x(t, i) + x(t, j)\nh(t+1, i) = p(t)*q(t, i)\n}\nv +=! h(T, i)\noutput h, v",
        {"x": np.full((2, 2), 0.7), "a": 0.4}),
    "steps downward, several back, of elements that are gathered": (
        "input x(M), a, int k(T)\nh(T) = a\nh(T+1) = x(0)\nh(T+2) = a**2\n"
        "for t in 0:T down { h(t) = h(t+3)*h(t+1) + x(k(t)) }\nv = h(0)\noutput h, v",
        {"x": np.linspace(0.5, 1, 4), "a": 0.4, "k": [2, 0, 2, 3]}),
    "computed subscripts": (
        "input x(M), z(T), a\nint32 k(t) = floor(z(t))\nh(0) = a\nfor t in 0:T { h(t+1) = h(t)*x(k(t)) }\nv = h(T)\noutput h, v",
        {"x": np.ones(3), "z": np.array([0.5, 2.5, 0.25]), "a": 0.4}),
    "no steps": ("input a, x(N), int T\nh(0, i) = x(i)*a\nfor t in 0:T { h(t+1, i) = h(t, i)**2 }\nv +=! h(T, i)\noutput v",
                 {"a": 2.0, "x": np.ones(2), "T": 0}),
}
MATRICES = {
    "a system": ("input A(N, N), b(N)\nx = solve(A, b)\nv +=! x(i)**2*b(i)\noutput x, v", {"A": M, "b": np.ones(3)}),
    "a matrix of right-hand sides": ("input B(N, K)\nparam A(N, N)\nX = solve(A, B)\nv +=! X(i, k)**3\noutput X, v",
                                     {"A": M, "B": np.ones((3, 2))}),
    "systems that are gathered": (
        "input A(M, N, N), B(M, N), int k(K)\nX(i) = solve(A(k(i)), B(k(i)))\nv +=! X(i, j)**2\noutput X, v",
        {"A": np.stack([M, 2 * M]), "B": np.ones((2, 3)), "k": [1, 1, 0]}),
    "an inverse and a determinant": ("input A(N, N), k\nB(i, j) = A(i, j)*k\nV = inverse(B)\nv = V(0, 1)*logdet(A)\noutput V, v",
                                     {"A": M, "k": 1.5}),
    "systems in a loop": (
        "input A(N, N), b(N), int T\nx(0, i) = b(i)\nfor t in 0:T {\nr(t, i) = x(t, i)*b(i)\nx(t+1) = solve(A, r(t))\n}\n"
        "v +=! x(T, i)**2\noutput x, v", {"A": M, "b": np.ones(3), "T": 3}),
    "systems in a loop that has no step": (
        "input A(N, N), b(N), int T\nx(0, i) = b(i)\nfor t in 0:T { x(t+1) = solve(A, x(t)) }\nv +=! x(T, i)**2\noutput x, v",
        {"A": M, "b": np.ones(3), "T": 0}),
}
MORE = {
    # there are entries that the steps of the elimination show to be zero, as long as the matrix is regular, and of elements that
    # the result does not depend on
    "elements that are written over": ("input u(N), a\nh(i) = u(i)**2\nfor t in 0:3 { h(t+1) = h(t)*a }\nv = h(2) + h(4)\n"
                                       "output h, v", {"u": np.linspace(0.5, 1, 5), "a": 2.0}),
    "a system of its own at each step": ("input A(T, N, N), b(N)\nx(0, i) = b(i)\nfor t in 0:T { x(t+1) = solve(A(t), x(t)) }\n"
                                         "v = x(1, 1)\noutput x, v", {"A": np.stack([M, 2 * M, 3 * M]), "b": np.ones(3)}),
    "triangular systems": (
        "input A(N, N), B(N, K)\nX = solve_lower(A, B)\nY = solve_upper(transpose(A), B)\nv = X(1, 1)*Y(0, 0)\noutput X, Y, v",
        {"A": M, "B": np.ones((3, 2))}),
    "no factor": ("input A(N, N)\nL = cholesky(A)\nv = L(0, 0)**2\nX = solve_lower(A, A)\noutput L, X, v",
                  {"A": np.diag([1.0, 2, -1]) + 0.1}),
    "factors in a loop": (
        "input Q(N, N), int T\nP(0, i, j) = Q(i, j)\nfor t in 0:T {\nL(t) = cholesky(P(t))\n"
        "P(t+1, i, j) +=! L(t, i, k)*L(t, j, k)*Q(i, j)\n}\nv = P(T, 1, 0)\noutput L, v", {"Q": M, "T": 2}),
}


def model(name: str) -> Program:
    return parse((ROOT / f"tests/programs/models/{name}.ad").read_text(encoding="utf-8"))


def declared(text: str, at: Mapping[str, Any]) -> Program:
    return parse("input " + ", ".join(f"{name}(N)" if np.ndim(x) else name for name, x in at.items() if name != "z")
                 + (", z(M)\n" if "z" in at else "\n") + text)


def agree(program: Program, at: Mapping[str, Any], exact: bool = True, second: bool | None = None) -> None:
    """The Jacobian of all outputs, and the Hessian of each that is a number, or patterns that hold these."""
    whole = simplify(unfolded(program, at).program)
    wrt = [p.name for p in program.params if not p.var.integer]
    columns = [p.name for name in wrt for p in whole.params if tensor_of(p.name) == name]
    fits = operator.eq if exact else holds
    assert fits(jacobian_elements(program, at, wrt), jacobian_pattern(whole, columns, [r.name for r in whole.results]))
    for r in program.results:
        if not shape_of(r.atom):
            found = hessian_elements(with_outputs(program, [r.name]), at, wrt)
            same = operator.eq if (exact if second is None else second) else holds
            assert same(found, hessian_pattern(whole, columns, r.name)), r.name


def holds(found: Pattern, expected: Pattern) -> bool:
    """Whether a pattern has all entries of another."""
    return all({*row} <= {*mine} for mine, row in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_patterns_are_those_of_the_program_written_out(name: str) -> None:
    text, at = PROGRAMS[name]
    agree(declared(text, at), at)


@each_row("name", [*LOOPS, *MATRICES])
def test_patterns_of_loops_and_matrices(name: str) -> None:
    text, at = (LOOPS | MATRICES)[name]
    agree(simplify(parse(text)), at)


@pytest.mark.parametrize("name", MORE)
def test_patterns_of_what_is_eliminated_row_by_row_miss_nothing(name: str) -> None:
    text, at = MORE[name]
    agree(parse(text), at, exact=False)


def test_what_a_triangular_system_does_not_read_has_no_entry() -> None:
    """All that it reads has one: where the matrix is singular all derivatives are NaN."""
    for text, below in (("solve_lower(A, b)", True), ("solve_upper(A, b)", False), ("solve_lower(transpose(A), b)", False)):
        found = jacobian_elements(parse(f"input A(N, N), b(N)\nx = {text}\noutput x"), {"A": M, "b": np.ones(3)}, ["A"])
        assert found == (tuple([3 * i + j for i in range(3) for j in range(3) if i == j or (i > j) == below]),) * 3


@each_row("name", drawn("patterns").sample(sorted(CASES.keys() - DECOMPOSED), 12))
def test_patterns_of_models(name: str) -> None:
    agree(model(name), CASES[name], second=name != "tridiagonal")   # which has elements that the result does not depend on


@each_row("number", range(20))
def test_patterns_of_random_programs(number: int) -> None:
    """The same programs in every run: in one of some thousand a condition on indices is decided here by functions that are not
    exact, and in the program written out it is not."""
    made = sample(fixed("elements", number))
    agree(made.program(), made.values)


@each_row("number", half(range(30)))
def test_patterns_of_random_loops_miss_nothing(number: int) -> None:
    """They have more where the end of a loop, or a number that is no input, decides what is written out at the point."""
    r = fixed("element loops", number)
    text, steps, n = random_loop(r), r.randint(1, 4), r.randint(1, 4)
    program, values = parse(text), np.random.default_rng(number).normal
    given = {"a": 0.3, "b": 0.7, "c": values(size=steps), "x": values(size=(steps, n)), "W": values(size=(n, n)),
             "u": values(size=n), "T": steps}
    agree(program, {p.name: given[p.name] for p in program.params}, "until" not in text and "0.5\n" not in text,
          second=False)


@each_row("number", half(range(30)))
def test_patterns_of_random_steps_miss_nothing(number: int) -> None:
    text, at = random_steps(fixed("element steps", number))
    program = parse(text)
    agree(program, {p.name: at[p.name] for p in program.params}, exact=False)


def test_a_loop_of_many_steps() -> None:
    """What 1000 steps of a chain of 100 elements, or 10,000 of two, make of where they began; 50 steps reach 50 elements."""
    chain = parse("input u0(N), int T\nu(0, i) = u0(i)\nfor t in 0:T {\n"
                  "u(t+1, i) = u(t, i) + 0.1*(u(t, i-1) - 2*u(t, i) + u(t, i+1)) where i in 1:N-1\n"
                  "u(t+1, 0) = u(t, 0)\nu(t+1, N-1) = u(t, N-1)\n}\ny(i) = u(T, i)**2\nv +=! y(i)\noutput y, v")
    rows = jacobian_elements(chain, {"u0": np.ones(100), "T": 1000}, ["u0"])
    assert rows == ((0,), *[tuple(range(100))] * 98, (99,), tuple(range(100)))
    rows = jacobian_elements(with_outputs(chain, ["y"]), {"u0": np.ones(200), "T": 50}, ["u0"])
    assert rows == ((0,), *[tuple(range(max(i - 50, 0), min(i + 51, 200))) for i in range(1, 199)], (199,))
    at = CASES["lotka_volterra"] | {"T": 10_000}
    assert hessian_elements(model("lotka_volterra"), at, ["x0", "a"]) == ((0, 1), (0, 1))


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program, at = parse("input x(N)\nm +=! x(i)\ny(i) = m*x(i)\nv +=! y(i)"), {"x": np.ones(200)}
    assert jacobian_elements(program, at, ["x"]) == (tuple(range(200)),)
    monkeypatch.setattr(element_sparsity, "MOST_EDGES", 300)
    with pytest.raises(AdError, match="the sparsity pattern is too large"):
        hessian_elements(program, at, ["x"])


@pytest.mark.no_cover
def test_a_banded_hessian_of_many_elements() -> None:
    """Rosenbrock (1960): f″ is tridiagonal."""
    n = 50_000
    found: Pattern | None = hessian_elements(parse("input x(N)\nv +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2"),
                                             {"x": np.ones(n)}, ["x"])
    assert found == tuple(tuple(range(max(i - 1, 0), min(i + 2, n))) for i in range(n))
