"""Statements along the rows of one tensor are done together: which they are, and that nothing is lost wherever rows are cut."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.modules import calls
from adcli.codegen.modules.module import TensorModule, laid_out
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program
from adcli.lang.ir.affine import text as text_of
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from comprehension_samples import Sample
from far_rows import far, whole_numbers
from native_tensors import LANES, assert_same_bits, everywhere
from random_comprehensions import sample
from session_seed import drawn, half

SQUARES = "input A(M, N), x(N), b(M)\ny(i) +=! A(i, j) * x(j)\nv +=! (y(i) - b(i))**2\noutput v"
NORMALISED = """
input x(M, N), g(N), b(N)
m(i) +=! x(i, j)
c(i, j) = x(i, j) - 2 * m(i)
s(i) +=! c(i, j)**2
y(i, j) = c(i, j) * s(i) * g(j) + b(j)
output y
"""
TEXTS = {
    "a product and that with the transpose":
        "input A(M, N), x(N), s(M)\ny(i) +=! A(i, j) * x(j)\nz(j) +=! A(i, j) * s(i)\noutput y, z",
    "sums of rows, of columns and of all":
        "input A(M, N)\nr(i) +=! A(i, j)\nc(j) +=! A(i, j)\ns +=! A(i, j) * r(i)\noutput r, c, s",
    "what rows start from":
        "input A(M, N), u(M), w(N)\ny(i) = u(i)\ny(i) += A(i, j)\nz(j) = w(j)\nz(j) += A(i, j) * y(i)\noutput y, z",
    "rows after what is made of all of them":
        "input A(M, N)\nc(j) +=! A(i, j)\ny(i, j) = A(i, j) - c(j)\nz(i) +=! y(i, j) * A(i, j)\nt +=! A(i, j)\noutput z, t",
    "elements of a sum of all rows, as many as there are rows":
        "input A(M, M)\nc(j) +=! A(i, j)\nz(i) +=! A(i, j) * c(i)\nr(i) +=! A(i, j)\noutput c, z, r",
    "a row and another one": "input A(M, N)\ny(i) +=! A(i, j)\nz(i) +=! A(i, j) * y(M - 1 - i)\nt(j) +=! A(i, j)\noutput z, t",
    "normalised rows": NORMALISED,
    "least, greatest and a product": "input A(M, N)\na(i) min=! A(i, j)\nb(j) max=! A(i, j)\nc(i) *=! A(i, j) where j in 0:2\n"
                                     "d(j) +=! A(i, j)\noutput a, b, c, d",
    "three dimensions":
        "input A(M, N, K)\ny(i, k) +=! A(i, j, k)\nz(k) +=! A(i, j, k) * y(i, k)\nt(j) +=! A(i, j, k)\noutput z, t",
}


def groups(text: str | Program) -> list[list[str]]:
    """The names of what is made together."""
    module = laid(text)
    return [[e.outs[0].name or "?" for s in module.steps[g.first:g.last] for e in s.equations] for g in module.rows]


def laid(text: str | Program) -> TensorModule:
    return laid_out(parse(text) if isinstance(text, str) else text, veclib.lanes(), veclib.host())


@pytest.mark.parametrize("name", half(list(TEXTS)))
@pytest.mark.parametrize("rows", [1, 2, 8])
def test_every_row_is_done_once_wherever_they_are_cut(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    far(monkeypatch, rows)
    program, r = parse(TEXTS[name]), drawn(name)
    assert laid(program).rows
    for m, n in ((r.randint(5, 30), r.randint(2, 30)), (1, 2), (0, 3), (2 * rows, 17)):
        at = whole_numbers(program, {"M": m, "N": n, "K": 3}, name)
        everywhere(program, at, evaluate(program, at, numpy_arithmetic()), r.choice(LANES), exact=True)


@pytest.mark.parametrize("text", [SQUARES, NORMALISED, TEXTS["three dimensions"]])
def test_derivatives_are_the_same_wherever_rows_are_cut(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(text)
    made = gradient(program) if "output v" in text else adjoint_program(program)
    far(monkeypatch, 2)
    r = np.random.default_rng(5)
    sizes = {"M": 11, "N": 7, "K": 3}
    at = {p.name: r.random([sizes[text_of(x)] for x in p.var.shape]) for p in made.params}
    assert laid(made).rows
    everywhere(made, at, evaluate(made, at, numpy_arithmetic()))


@pytest.mark.parametrize("number", half(range(24)))
def test_random_programs_are_the_same_wherever_rows_are_cut(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    far(monkeypatch, 2)
    s: Sample = sample(drawn(f"rows {number}"))
    program = adjoint_program(s.program())
    r = np.random.default_rng(number)
    shapes = {p.name: np.shape(s.values[p.name]) for p in s.program().params}
    want = evaluate(s.program(), s.values, numpy_arithmetic())
    at = {p.name: s.values[p.name] if p.name in shapes else r.random(np.shape(want[p.name.removeprefix("s_")]))
          for p in program.params if p.name in shapes or p.name.removeprefix("s_") in want}
    if len(at) == len(program.params):
        everywhere(program, at, evaluate(program, at, numpy_arithmetic()))


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("name", TEXTS)
def test_a_team_does_every_row_once(name: str, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    far(monkeypatch, 8)
    monkeypatch.setattr("adcli.codegen.modules.plans.WORTH_HELP", 0.0)
    monkeypatch.setattr("adcli.codegen.modules.plans.WORTH_THREADS", 0.0)
    kernel = compile_tensors(parse(TEXTS[name]))
    at = whole_numbers(kernel.module.program, {"M": 53, "N": 19, "K": 3}, name)
    want = kernel(at, jobs=1)
    seen = list[int]()
    monkeypatch.setattr(calls, "lead", lambda *given, lead=calls.lead: (seen.append(1 + len(given[2])), lead(*given)))
    for _ in range(5):
        for result, found in kernel(at, jobs=jobs).items():
            assert_same_bits(found, want[result], (name, result))
    assert seen


def test_what_reads_the_rows_of_one_tensor_or_of_one_like_it_is_a_group() -> None:
    assert groups(SQUARES) == []   # the sum reads no rows of A
    assert groups(gradient(parse(SQUARES)))[0][0] == "y"
    assert [len(g) for g in groups(TEXTS["a product and that with the transpose"])] == [2]
    assert groups(TEXTS["sums of rows, of columns and of all"]) == [["r", "c", "s"]]
    assert groups(TEXTS["rows after what is made of all of them"]) == [["c", "t"]]
    assert groups(TEXTS["elements of a sum of all rows, as many as there are rows"]) == [["c", "r"]]
    assert groups(TEXTS["a row and another one"]) == [["y", "t"]]
    assert groups(TEXTS["what rows start from"])[0][-1] == "z"
    assert groups("input A(M, N)\ny(i) +=! A(i, j)\nz(i) +=! A(j, i)\noutput y, z") == [["y", "z"]]
    assert len(groups(NORMALISED)[0]) >= 3
    (whole,) = groups(adjoint_program(parse(NORMALISED)))   # those that read the adjoint of y only are done with it, too
    assert {"y", "d_dg", "d_db", "d_dx"} <= {*whole}
    assert groups("input A(M, N), B(M, N), C(N, M)\ny(i) +=! A(i, j)\nz(i) +=! B(i, j) * A(i, j)\nw(i) +=! C(j, i)\n"
                  "x(j) +=! B(i, j)\noutput w, x, y, z") == [["y", "z", "x"]]


@pytest.mark.parametrize("text", [
    "input A(M, K), B(K, N)\nC(i, j) +=! A(i, k) * B(k, j)\nt(k) +=! A(i, k)\noutput C, t",   # more points than elements
    "input A(M, N)\ny(i) +=! A(i, j)\nz(i) +=! A(i, j) where j >= i\noutput y, z",           # a guard
    "input A(M, N)\ny(i) +=! A(i, j)\nz(i) +=! A(i, j) where i in 1:M\noutput y, z",         # other rows
    "input A(M, N)\ns +=! A(i, j)\nz(i) +=! A(i, j) * s\noutput z",                          # needs all rows before
    "input a(M)\ny(i) = exp(a(i))\ns +=! a(i)\noutput y, s",                                 # no rows
])
def test_what_is_no_group(text: str) -> None:
    assert groups(text) == []


def test_rows_that_are_near_or_too_long_are_not_cut() -> None:
    (group,) = laid(TEXTS["a product and that with the transpose"]).rows

    def cells(m: int, n: int) -> list[int]:
        found = group.cells({"M": m, "N": n}, lambda v: 8, 1 << 62)
        return [found[group.name(of)] for of in ("rows", "blocks", "parts")]

    assert [cells(m, n)[1:] for m, n in ((10, 10), (0, 5), (5, 0), (1000, 100), (9, 1 << 30))] == [[0, 0]] * 5
    assert cells(1024, 1024) == [8, 128, 16]
    assert cells(100_000, 100) == [80, 1250, 16]
    assert cells(4000, 4000) == [8, 500, 16]


def test_a_gradient_of_many_rows_is_that_of_numpy() -> None:
    """At a size at which rows are cut without being told."""
    kernel = compile_tensors(gradient(parse(SQUARES), wrt=["x"]))
    r = np.random.default_rng(1)
    at = {"A": r.standard_normal((3001, 130)), "x": r.standard_normal(130), "b": r.standard_normal(3001)}
    (group,) = kernel.module.rows
    plan = kernel.plan(kernel.key(list(at.values())))
    assert plan.cells[kernel.module.env.sizes[group.name("parts")]] == 16
    assert kernel.plan(((300, 130), (130,), (300,))).cells[kernel.module.env.sizes[group.name("parts")]] == 0
    for jobs in (1, 2):
        found = kernel(at, jobs=jobs)["dv_dx"]
        np.testing.assert_allclose(found, 2 * at["A"].T @ (at["A"] @ at["x"] - at["b"]), rtol=1e-11)
