"""The text of programs with tensors: it reads back, it is readable, and `fmt` keeps what was written."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.affine import value
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, adjoints, tangent_program, tangents
from adcli.lang.printing.format import format_tree
from adcli.lang.printing.printer import STYLES, print_program
from adcli.lang.simplify.simplify import simplify
from adcli.lang.syntax.parse import parse_tree
from row_tables import each_row
from same_programs import equal
from session_seed import drawn, half, part
from tensor_laws import NUMPY
from tensor_texts import ACCEPTED, LUT, MAXPOOL, NAMED, TOP, halves, random_text


def reads_back(program: Program) -> None:
    for style in STYLES:
        text = print_program(program, style)
        again = parse(text)
        assert equal(again, program), text
        assert print_program(again, style) == text or style == "prefix"   # no name drifts from text to text


def fmt(text: str) -> str:
    return format_tree(parse_tree(Source("t", text)))


@each_row("definition", part(ACCEPTED, 4), ids=lambda d: d["id"])
def test_every_definition_and_its_derivatives_read_back(definition):
    program = parse(definition["text"])
    reads_back(program)
    reads_back(simplify(tangents(program)))
    reads_back(adjoints(program))
    reads_back(simplify(adjoints(program)))


@pytest.mark.parametrize("name", half([*NAMED]))
def test_second_derivatives_read_back(name):
    program = parse(NAMED[name])
    reads_back(program)
    for first in (tangents, adjoints):
        for second in (tangents, adjoints):
            reads_back(simplify(second(simplify(first(program)))))


def test_a_result_is_declared_with_its_shape_where_subscripts_would_ask_for_another():
    head = print_program(simplify(adjoints(parse(MAXPOOL)))).splitlines()[0]
    assert head.endswith("float(B, C, H / 2, W / 2) d_dOUT) -> (OUT, float(B, C, H, W) d_dIN) {")
    assert "    d_dLUT(I(i, k), j) +=! d_dO(i, j)\n" in print_program(simplify(adjoints(parse(LUT))))
    assert "(O, float(E, D) d_dLUT) {" in print_program(simplify(adjoints(parse(LUT))))
    program = parse("input A(N)\nT(i) = 1 where i in 0:2, float(N) T\nv +=! T(i) * A(i)")
    assert print_program(program) == "input A(N)\nT(i) = 1 where float(N) T, i in 0:2\nv +=! T(i) * A(i)\noutput v\n"


def test_text_at_the_top_level():
    assert print_program(parse(TOP)) == """\
input A(M, N), x, int32 I(B, L)
input s in [0, 1]
param k = 3
input LUT(E, D), B1(N)
C(i) +=! A(i, j) * B1(j)
p(i) = 2 * C(i)
q +=! C(i)
y = A(0, 1) * x + N * k + exp(s)
O(b, d) +=! LUT(I(b, l), d)
Z(i, j) = A(i, j) + y + i - 2*j
Z(i, j) = Z(i, j) * 2 where i in 1:M, i >= j
w() = y
t = p
output C, p, q, y, O, Z, w, t
"""


@pytest.mark.parametrize(("given", "where"), [
    ("C(i, j) = A(i, j) where i in 0:M, j in 0:N", None), ("C(i, j) = A(i, j) where i in 0:2", "i in 0:2"),
    ("C(i) +=! A(i, j) where j in 0:i+1", "j in 0:M, i >= j"), ("C(i, j) = 1 where i in 0:M, j in 0:N", "i in 0:M, j in 0:N"),
    ("C(i, j) = A(0, j) where i in 0:3", "i in 0:3"), ("C(i) = t * t + t where t = A(i, 0) + 1", "t1 = A(i, 0) + 1"),
    ("C(i) +=! A(i, j) where 2*i >= 3*j", "2*i >= 3*j"),
])
def test_where_is_written_only_where_it_is_needed(given, where):
    program = parse(f"input A(M, N)\n{given}")
    line = print_program(program).splitlines()[1]
    assert line.partition(" where ")[2] == (where or "")
    reads_back(program)


@each_row("text", [
    "input A(M), x\nx1 = 2 * x\nC(i) = A(i) * x1",                  # a scalar that a body reads keeps its statement
    "def add1(a) = a + 1\ninput A(M)\nC(i) = A(i) * add1(i) - add1(2)",   # 1 + i that was not written as a sum of indices
    "input A(M)\nC(i) = -(i + 1) * A(i) / (2*i - M)",
    "input A(M), i1\nC(i) = A(i) * i1\nD(j) = C(j) + A(j)",
    "input B(N), A(M)\nD(i) = B(i)\nC(i) = A(i)\nC(i) += D(i) where i in 0:2\nE(i) = C(i) * D(i)",
    "input A(M)\nB = A\nx = A(0)\ny = x\noutput B, y, x",
    "input A(M), x\nx() = 2 * x\noutput x",
    "input A(M, M)\nt +=! A(i, i)\nC(i) = t < A(i, 0) and not (t > 3) ? t : A(0, i)",
    "input A(M)\n(B, C) = dup(A)\nv +=! B(i) * C(i)",
    "input A(M), int32 I(M, L), int32 J(L)\nC(i) +=! A(I(J(i), k)) + I(i, k) * J(0)",
    "input A(N), s\nv = s\nv += " + " + ".join(f"(i >= {k} ? A(i - {k}) : s)" for k in range(1, 4)) + " where i in 0:N",
    "param A(M)\nparam int32 k\ninput x\nv +=! A(i) * x + k",
])
def test_programs_that_take_care(text):
    reads_back(parse(text))


def test_random_programs_read_back_and_keep_their_format():
    r, programs = drawn("test_random_programs_read_back_and_keep_their_format"), 0
    while programs < 4:
        text = random_text(r)
        try:
            program = parse(text)
        except AdError as fault:
            assert re.search("goes|same element|elements, (and|not)|empty", str(fault)), (text, fault)
            continue
        programs += 1
        reads_back(program)
        if programs % 4 == 0:
            for derivative in (tangent_program, adjoint_program):
                reads_back(derivative(program))
        assert equal(parse(fmt(text)), program) and fmt(fmt(text)) == fmt(text)


@each_row("text", [*NAMED.values(), *(d["text"] for d in ACCEPTED),
                                  "h(0) = w\nfor t in 0:T - 1 { h(t + 1) = w * h(t) }\ny = h(T - 1)"])
def test_the_source_tree_reads_back_in_every_form(text):
    tree = parse_tree(Source("t", text))
    program = parse(text)
    for written in (format_tree(tree), format_tree(tree, "prefix")):
        assert equal(parse(written), program), written
    assert fmt(format_tree(tree)) == format_tree(tree)
    assert format_tree(tree).count("#") == text.count("#")


def test_fmt_writes_one_statement_a_line_and_keeps_comments():
    assert fmt("""def  f( double(M,N) A,int32(M) I , float s)→(float(M) C,D){ # head
  # first
  C(i)+=!A(i,j)*s   # sum
     where j in 0 : N , k in i:M , exists A(i,k),2*k>=i, t=A(i,0)*2

  D(i)=A( int32(I(i)),0 )+ t <=> foo(A(i,0)) where t=-i % 3, float(M) D }
input float(3)  B , int32 J(K)
v  max=!B(i)""") == """\
def f(double(M, N) A, int32(M) I, float s) -> (float(M) C, D) {  # head
    # first
    # sum
    C(i) +=! A(i, j) * s where j in 0:N, k in i:M, exists A(i, k), 2 * k >= i, t = A(i, 0) * 2

    D(i) = A(int32(I(i)), 0) + t <=> foo(A(i, 0)) where t = -i % 3, float(M) D
}
input float B(3), int32 J(K)
v max=! B(i)
"""


def test_tensors_may_have_the_names_of_operations():
    text = "input add(M, N), select(M)\nsub(i, j) = add(i, j) - select(i)\nv +=! sub(i, j) * max(select(i), 2)\n"
    assert fmt(text) == text
    reads_back(parse(text))


@each_row(("program", "at"), [
    ("input I(H), F(K)\nO(h) +=! I(h + k - 1) * F(k) where h in 0:H, k in 0:K, h + k >= 1, h + k <= H", {"H": 5, "K": 3}),
    ("input u(N), h\nL(i) = (u(i) + u(i + 2) - 2*u(i + 1)) / h**2", {"N": 6}),
    ("def f(float(N) x) -> (y) { y(i) = x(i) * N }\ninput x(H)\nz(i) = x(2*i) * x(2*i + 1)\ny = f(z)", {"H": 5}),
    ("def f(float(N) x) -> (s) {\n m = N * 2\n s +=! x(i) * m }\ninput x(H)\nz(i) = x(2*i)\ns = f(z)", {"H": 5}),
    ("input x(M), y(N), z(Q)\ns max=! x(m) * y(m) where m in max(M - Q, 0):min(M, N)", {"M": 5, "N": 4, "Q": 3}),
    ("input x(N), y(M)\nz(i) = x(i) * floor(N / 2) * min(M, N) * max(3, N - M) + floor(i / 2) + floor(N / M)", {"N": 5, "M": 2}),
    (halves(3), {"H": 17}),
    ("input x(C, N), w(K, C/G, L), z(G)\ny(k, n) +=! w(k, c, l) * x(floor(k/(K/G))*(C/G) + c, n + l) * z(floor(k/(K/G))) "
     "where n in 0:N - L + 1", {"C": 6, "N": 4, "K": 9, "L": 2, "G": 3}),
    ("input x(N), w(W), v(H)\ny(f, k) +=! x(H*f + k) * w(k) * v(k % H) where f in 0:(N - W)/H + 1", {"N": 11, "W": 3, "H": 3}),
])
def test_derivatives_read_back_and_compute_the_same(program: str, at: dict[str, int]) -> None:
    first = parse(program)
    r = np.random.default_rng(0)
    for derivative in (tangents, adjoints):
        p = simplify(derivative(first))
        again = parse(print_program(p))
        given = shaped(first, at, r)
        with np.errstate(all="ignore"):
            outputs = evaluate(first, given, NUMPY)
            given |= {q.name: r.uniform(1, 2, np.shape(given.get(q.name[1:], outputs.get(q.name[3:]))))
                      for q in p.params if q.name not in given}
            expected, found = evaluate(p, given, NUMPY), evaluate(again, given, NUMPY)
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-13, err_msg=name)


def shaped(program: Any, sizes: dict[str, int], r: np.random.Generator) -> dict[str, Any]:
    return {p.name: r.uniform(1, 2, tuple(value(x, sizes) for x in p.var.shape)) for p in program.params}   # type: ignore[arg-type]


def test_a_loop_that_reads_what_a_history_starts_from_reads_it_under_another_name():
    """The cotangents of z and w are equal before the loop, which adds to the one and reads the other."""
    adjoints = adjoint_program(parse("input a, b, int32 T\nh(0) = b\nfor t in 0:T { z(t) = sin(h(t)); w(t) = h(t)**2; "
                                     "h(t + 1) = exp(z(t)) }\ny +=! (z(t) + w(t))*a\noutput y"))
    text, at = print_program(adjoints), {"a": 0.5, "b": 0.25, "T": 3, "d_dy": 1.0}
    assert evaluate(parse(text), at) == evaluate(adjoints, at)
