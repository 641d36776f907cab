"""Programs with tensors, loops and operations on matrices as modules of JavaScript and of Python: the numbers of the reference,
and errors of the language where sizes or subscripts do not fit."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
from adcli.codegen.scripts import javascript, python
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
from adcli.lang.syntax.printer import print_program
from c_tensors import Point, derivatives, drawn_point, expected
from loop_programs import LOOPS
from script_programs import NODE, flat, tensors_in_node, tensors_in_python
from session_seed import drawn

LANGUAGES = ["python"] if NODE is None else ["python", "js"]


def test_the_numbers_of_the_reference(tmp_path: pathlib.Path) -> None:
    r = drawn("tensors in scripts")
    texts = [made.text for made in r.sample(sorted(LOOPS.values(), key=lambda made: made.text), 2)] + [MATRICES, AWKWARD]
    programs = [evaluation_program(p) for p in [*derivatives(r, 6), *(adjoint_program(parse(text)) for text in texts)]]
    points = [[drawn_point(r, p, choices) for choices in ((2,), (3,), (5,), (0, 1), (0, 1, 2, 3))] for p in programs]
    compare(tmp_path, programs, points)


def test_nothing_is_read_where_no_point_is(tmp_path: pathlib.Path) -> None:
    """NumPy looks at subscripts of no points, too."""
    texts = ["y(i) = x(2)*z(i)", "y(i) +=! x(i)*z(2) where i in 0:N", "y(j) +=! x(2*i)*z(j) where i in 0:3",
             "s +=! x(N - 1)*z(i)", "y(i) = x(5)*z(i) where i in 0:M, i >= 5",
             "s max=! x(5)*z(i) where i in 0:M, i >= 5", "y(j) +=! x(k(i))*z(j)",
             "y(i) = z(i) + x(1) where i in 1:M", "y(2) +=! z(i)*x(0) where float(M) y"]
    programs = [parse(f"input x(N), z(M), int32 k(K)\n{text}") for text in texts]
    every = [{"N": n, "M": m, "K": k} for n in (0, 1, 3, 6) for m in (0, 1, 3) for k in (0, 1)]
    row: list[Point] = [({"x": np.arange(s["N"]) + 0.5, "z": np.arange(s["M"]) - 1.0, "k": np.full(s["K"], 2)}, s) for s in every]
    compare(tmp_path, programs, [row]*len(programs))


def compare(folder: pathlib.Path, programs: list[Program], points: list[list[Point]]) -> None:
    for language in LANGUAGES:
        found = tensors_in_node(folder, programs, points) if language == "js" else tensors_in_python(programs, points)
        alike(programs, points, found, language == "js")


def alike(programs: list[Program], points: list[list[Point]], found: list[Any], nested: bool) -> None:
    """The results are those of the reference. Lists in lists do not say how long the elements of an empty list would be."""
    results, numbers = iter(found), 0
    for program, row in zip(programs, points, strict=True):
        for at, sizes in row:
            want, got = expected(program, at), next(results)
            if want is None:
                assert got == "refused" or not flat(got), (sizes, at)
            elif not (nested and got == "refused" and any(0 in np.shape(x)[:-1] for x in at.values())):
                assert got != "refused", (sizes, at)
                np.testing.assert_allclose(flat(got), want, rtol=1e-10, atol=1e-10, err_msg=print_program(program, "nested", []))
                numbers += len(want)
    assert numbers


MATRICES = """input A(N, N), b(N), S(T, N, N), c(T, N)
L = cholesky(A)
x = solve(transpose(A), b)
V = inverse(A)
h(0, i) = b(i)
for t in 0:T { g(t) = solve(S(t), h(t)); d(t) = logdet(S(t)); h(t+1, i) = tanh(g(t, i)) + c(t, i) + d(t) }
w = solve_lower(A, x)
u = solve_upper(S, c)
output x, L, V, h, w, u
"""
AWKWARD = """input range(len, bool), min(len), int32 IndexError(len)
int(0) = min(0)
for reversed in 0:len { int(reversed+1) = tanh(int(reversed))*range(reversed, 0) }
__proto__(RangeError) +=! range(IndexError(RangeError), ArrayBuffer)*min(RangeError)**(RangeError - 1)
max +=! int(RangeError)*__proto__(RangeError) where RangeError in 0:len
output max, int, __proto__
"""
"""Names of what modules call, and powers of indices."""
WRONG = [
    ("input x(N), y(N)\nz(i) = x(i) + y(i)", [[1, 2], [1, 2, 3]], "dimension 0 of y is not N"),
    ("input x(N), int32 k(M)\nz(m) = x(k(m))", [[1, 2], [0, 2]], "outside"),
    ("input x(N), int32 k(M)\nz(m) = x(k(m))", [[1, 2], [0.5]], "whole number"),
    ("input x(2*N)\nz(i) = x(2*i)", [[1, 2, 3]], "dimension 0 of x is not 2*N"),
    ("input x(N, M)\nz(i) +=! x(i, j)", [[1, 2]], "dimensions"),
    ("input x(N, M)\nz(i) +=! x(i, j)", [[[1, 2], [1]]], "rows of different lengths|inhomogeneous"),
    ("input a, int32 T\nv(0) = a\nfor t in 0:T { v(t+1) = v(t)/2 }", [1, -1], "T is below 0")]


def test_what_does_not_fit_is_an_error_of_python() -> None:
    for text, at, message in WRONG:
        scope: dict[str, Any] = {}
        exec(compile(python.module(parse(text), "f"), "f.py", "exec"), scope)
        with pytest.raises((ValueError, IndexError), match=message.replace("*", r"\*")):
            scope["f"](*at)


@pytest.mark.skipif(NODE is None, reason="no node")
def test_nested_arrays_do_not_say_the_extents_behind_a_0(tmp_path: pathlib.Path) -> None:
    text = ("input A(N, M), B(M, K), C(2, L+1), D(0, 3)\nz(j) +=! A(i, j)\ny(j) = z(j) + 1\n"
            "u(k) +=! B(j, k)\nw +=! C(i, j)\nv +=! D(i, j)\noutput y, u, w, v")
    (tmp_path / "f.mjs").write_text(javascript.module(parse(text), "f"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text("import {f} from './f.mjs'; console.log(JSON.stringify("
                                      "[f([], [[1], [2]], [[5], [6]], []), f([[], []], [], [[5], [6]], [])]))", encoding="utf-8")
    said = subprocess.run([str(NODE), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [{"y": [1, 1], "u": [3], "w": 11, "v": 0}, {"y": [], "u": [], "w": 11, "v": 0}]


@pytest.mark.skipif(NODE is None, reason="no node")
def test_what_does_not_fit_is_an_error_of_javascript(tmp_path: pathlib.Path) -> None:
    programs = [parse(text) for text, *_ in WRONG]
    for k, program in enumerate(programs):
        (tmp_path / f"f{k}.mjs").write_text(javascript.module(program, "f"), encoding="utf-8")
    calls = [f"import {{f as f{k}}} from './f{k}.mjs'; try {{ f{k}(...{json.dumps(at)}); }}"
             " catch (e) { console.log(e.message); }"
             for k, (_, at, _) in enumerate(WRONG)]
    (tmp_path / "run.mjs").write_text("\n".join(calls), encoding="utf-8")
    said = subprocess.run([str(NODE), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(WRONG)
    for line, (*_, message) in zip(said, WRONG, strict=True):
        assert any(part in line for part in message.split("|")), line
