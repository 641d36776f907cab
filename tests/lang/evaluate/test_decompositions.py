"""Eigenvalues, factors, exponentials and sorting: laws, and hard matrices beside mpmath."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from command import adcli as run
from row_tables import each_row

import adcli

GRADED = [[1.0, 1e-8, 3e-12], [1e-8, 2e-9, 1e-14], [3e-12, 1e-14, 5e-18]]
NEAR = [[2.0, 1e-9, 0.0], [1e-9, 2.0 + 1e-8, 1e-9], [0.0, 1e-9, 3.0]]
PLAIN = [[1.0, 2.0, -0.5], [0.25, 3.0, 1.0], [2.0, 0.0, -1.25]]
TALL, SQUARE = ("qr_q", "qr_r", "singular_values", "svd_u", "svd_v"), ("eigenvalues", "eigenvectors", "expm", "det")
DECLARED = {**dict.fromkeys(TALL, "A(M, N)"), **dict.fromkeys(SQUARE, "A(N, N)"), **dict.fromkeys(("sort", "sort_order"), "x(N)")}
CALLS = {name: declared[0] for name, declared in DECLARED.items()}


def program(name: str) -> str:
    return f"input {DECLARED[name]}\nr = {name}({CALLS[name]})"


@each_row("name", CALLS)
@each_row("m", [PLAIN, GRADED, NEAR])
def test_doubles_are_those_of_fifty_digits(name: str, m: Any) -> None:
    given = m if CALLS[name] == "A" else [m[0][0], m[1][1], m[2][2]]
    found = adcli.compile(program(name))(**{CALLS[name]: given})["r"]
    precise = evaluate(parse(program(name)), {CALLS[name]: np.array(given)}, precise_arithmetic(50))["r"]
    tolerance = 1e-6 if name in ("eigenvectors", "svd_u", "svd_v") and m is NEAR else 1e-13
    np.testing.assert_allclose(found, np.array(precise, float), atol=tolerance * np.max(np.abs(found)))


@pytest.mark.parametrize("name", ["eigenvalues", "expm", "det"])
def test_fifty_digits_are_those_of_mpmath(name: str) -> None:
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):
        m = mp.matrix(NEAR)
        want = {"eigenvalues": lambda: list(mp.eigsy(m, eigvals_only=True)), "expm": lambda: list(mp.expm(m)),
                "det": lambda: [mp.det(m)]}[name]()
        found = evaluate(parse(program(name)), {"A": np.array(NEAR)}, precise_arithmetic(50))["r"]
        for x, y in zip(np.ravel(np.array(found, object)), want, strict=True):
            assert abs(mp.mpf(x.value.str(55, radius=False)) - y) < mp.mpf(10) ** -44


def test_a_large_exponential_is_scaled() -> None:
    found = adcli.compile(program("expm"))(A=[[-400.0, 400.0], [400.0, -400.0]])["r"]
    np.testing.assert_allclose(found, 0.5, rtol=1e-12)


@each_row("name", [n for n in CALLS if CALLS[n] == "A"])
def test_one_element_none_and_no_number(name: str) -> None:
    f = adcli.compile(program(name))
    assert np.size(f(A=[[2.0]])["r"]) == 1 and np.isnan(f(A=[[1.0, np.nan], [0.0, 1.0]])["r"]).all()
    assert np.size(f(A=np.zeros((0, 0)))["r"]) == (name == "det")


def test_sorting_takes_what_has_no_order() -> None:
    given = [np.nan, np.inf, 1.0, -np.inf, 1.0]
    found = adcli.compile("input x(N); s = sort(x); k = argsort(x); output s, k")(x=given)
    np.testing.assert_array_equal(found["s"], [-np.inf, 1, 1, np.inf, np.nan])
    np.testing.assert_array_equal(found["k"], [3, 2, 4, 1, 0])
    assert adcli.compile("input x(N); s = sort(x)")(x=[])["s"].shape == (0,)


@each_row("text, at, said, status", [
    ("input A(N, N); w = eigenvalues(A); v = w(1)", "A=[[2,0],[0,2]]", "eigenvalues of A, where two eigenvalues are equal",
     "kink"),
    ("input A(N, N); V = eigenvectors(A); v = V(0, 1)", "A=[[2,0],[0,2]]", "where two eigenvalues are equal", "singular"),
    ("input x(N); s = sort(x); v = s(1)", "x=[3,1,1]", "sort of x, where two elements are equal", "kink"),
    ("input x(N); k = argsort(x); v = x(k(0))*k(1)", "x=[3,1,1]", "where two elements are equal", "jump"),
    ("input A(M, N); s = singular_values(A); v = s(1)", "A=[[1,2],[2,4]]", "two singular values are equal or one is 0", "kink"),
    ("input A(M, N), b(M); x = lstsq(A, b); v = x(0)", "A=[[1,2],[2,4],[3,6]],b=[1,1,1]", "a column depends on those before",
     "singular"),
    ("input A(M, N), b(M); x = lstsq(A, b); v = x(0)", "A=[[1,2],[2,4],[3,7]],b=[1,1,1]", "", "smooth"),
    ("input A(M, N); R = qr_r(A); v = R(0, 0)", "A=[[1,2]]", "qr_r of A, which has fewer rows than columns, is nan", "domain"),
    ("input A(N, N); v = det(A)", "A=[[1,2],[2,4]]", "det at pivot 2 of A = 0.0 is 0", "singular"),
    ("input A(N, N); w = eigenvalues(A); v = w(1)", "A=[[2,1],[0,2]]", "", "smooth"),
    ("input x(N); s = sort(x); v = s(1)", "x=[3,1,2]", "", "smooth")])
def test_ties_and_singular_matrices_are_told(text: str, at: str, said: str, status: str) -> None:
    told = run("grad", "-e", text, "--at", at, "--status")
    assert said in told.err and f"status = {status}" in told.out


@pytest.mark.parametrize("text, said", [
    ("eval -e 'input A(N, N); w = eigenvalues(A)' --emit c", "'eigenvalues' is computed by NumPy, and this code stands alone"),
    ("why -e 'input A(N, N); w = expm(A); v = w(0, 0)/0' --at A=[[1,2],[3,4]]", "computed as a whole, not number by number"),
    ("eval -e 'input A(N, N); w = eigenvalues(A)' --at A=[[1,2],[3,4]] --enclose", "computed as a whole, not number by number"),
    ("eval -e 'input x(N); w = eigenvalues(x)' --at x=[1,2]", "'eigenvalues' takes a matrix here, and x has 1 dimension"),
    ("eval -e 'input A(M, N); w = expm(A)' --at A=[[1,2]]", "'expm' takes a square matrix, and A is 1 by 2")])
def test_what_cannot_be_is_refused(text: str, said: str) -> None:
    import shlex
    told = run(*shlex.split(text))
    assert told.code in (2, 3) and said in told.err
