"""Operations on matrices in C and in machine code that stands alone: the numbers of the reference, NaN where it has NaN, for
every operation, in and out of loops, on matrices that are regular, singular, not positive definite or not finite."""
from __future__ import annotations

import pathlib

import numpy as np
import pytest
from adcli.codegen.c.language import Helpers
from adcli.codegen.c.spelling import language
from adcli.codegen.c.tensors import tensor_source
from adcli.codegen.nests.standalone import emit
from adcli.codegen.rows.jit import baseline, object_code
from adcli.lang.ir.precision import DOUBLE, SINGLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from c_programs import CC
from c_tensors import Point, expected, run_tensors

TEXT = """input A(N, N), P(N, N), b(N), B(N, K), S(T, N, N), c(T, N), int32 k(M)
x = solve(A, b)
X = solve(transpose(A), B)
L = cholesky(P)
l = 0.5*logdet(P) + b(0)
V = inverse(A)
Y = solve(S, c)
z(m) = logdet(S(k(m)))
w(2*t) = solve_lower(S(t), c(t))
u = solve_upper(transpose(L), b)
h(0, i) = b(i)
for t in 0:T { g(t) = solve(S(t), h(t)); h(t+1, i) = tanh(g(t, i)) + c(t, i) }
output x, X, L, l, V, Y, z, w, u, h
"""


def point(n: int, bad: str = "") -> Point:
    draw, t = np.random.default_rng(n), 2
    a = draw.normal(size=(t + 2, n, n)) + n * np.eye(n)
    at = {"A": a[0], "P": a[1] @ a[1].T, "b": draw.normal(size=n), "B": draw.normal(size=(n, 2)), "S": a[2:],
          "c": draw.normal(size=(t, n)), "k": np.array([1, 0, 1])}
    if bad == "singular":
        at["A"][1], at["S"][0] = 2 * at["A"][0], 0.0
    elif bad == "negative":
        at["P"], at["S"][1] = -at["P"], -at["S"][1]
    elif bad:
        at["A"][0, -1] = at["P"][1, 0] = at["S"][1, 0, 1] = float(bad)
    return at, {"N": n, "K": 2, "T": t, "M": 3}


POINTS = [point(1), point(2), point(5), point(3, "singular"), point(3, "negative"), point(3, "nan"), point(2, "inf")]


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_the_numbers_of_the_reference(tmp_path: pathlib.Path) -> None:
    programs = [parse(TEXT), adjoint_program(parse(TEXT), wrt=["A", "S"], of=["h", "Y", "V"])]
    at, sizes = point(3)
    seeds = {"d_dh": np.ones((3, 3)), "d_dY": np.ones((2, 3)), "d_dV": np.eye(3)}
    points = [POINTS, [({**at, **seeds}, sizes)]]
    machine_code = [object_code(emit(p, 1, f"f{k}").text, baseline(), 2) for k, p in enumerate(programs)]
    for objects in ((), machine_code):   # C, and what stands alone beside it
        for program, row, found in zip(programs, points, run_tensors(tmp_path, programs, points, objects), strict=True):
            for (values, _), (code, got) in zip(row, found, strict=True):
                assert code == 0
                np.testing.assert_allclose(got, expected(program, values) or [], rtol=1e-11, atol=1e-12)


def test_a_file_has_the_functions_that_it_calls() -> None:
    helpers = Helpers(language(DOUBLE), ["f"], "f_")
    helpers.function("solve_lower")
    assert [name for name, _ in helpers.known] == ["solve_lower", "finite", "undefined"]
    assert [line.split("(")[0] for line in helpers.lines if line.startswith("static")] == [
        "static int f_finite", "static void f_undefined", "static void f_solve_lower"]
    single = tensor_source(parse("input A(N, N)\nv = logdet(A)"), "f", precision=SINGLE).text
    assert "static float f_logdet(" in single and "logf(fabsf(" in single and "double *" not in single
