"""Programs with tensors as LaTeX: sums with their ranges, loops, operations on matrices, and names with two kinds of indices."""
from __future__ import annotations

import pytest
from adcli.codegen.documents.latex import equations
from adcli.codegen.documents.latex_tensors import TensorLatexWriter, with_subscripts
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from loop_programs import LOOPS


def lines(text: str) -> list[str]:
    return equations(parse(text), TensorLatexWriter).splitlines()[1:-1]


@pytest.mark.parametrize("text, wanted", [
    ("input A(M, N), B(N)\nC(i) +=! A(i, j)*B(j)", [r"C_{i} &= \sum_{j=0}^{N-1} A_{i,j} \cdot B_{j}"]),
    ("input x(N), w(K)\ny(i) max=! x(i + 2*k) - w(k)", [r"y_{i} &= \max_{0 \le k < K} (x_{i+2 k} - w_{k})"]),
    ("input z(N, K)\ns(n) lse=! z(n, k)", [r"s_{n} &= \log \sum_{k=0}^{K-1} \exp z_{n,k}"]),
    ("input x(N)\ns +=! x(i) where i in 1:N, 5 >= i", [r"s &= \sum_{\substack{1 \le i < N \\ 5 \ge i}} x_{i}"]),
    ("input T(R, D), int32 k(B)\ny(b, d) = T(k(b), d)", [r"y_{b,d} &= T_{k_{b},d}"]),
    ("input A(N, N), b(N)\nx = solve(transpose(A), b)\nv = logdet(A)\nV = inverse(A)\nL = cholesky(V)\noutput x, v, L",
     [r"x &= A^{-\mathsf{T}} b \\", r"v &= \log \det A \\", r"V &= A^{-1} \\", r"L &= \operatorname{chol} V"]),
    ("input S(T, N, N), c(T, N)\nX(t) = solve_lower(S(t), c(t))", [r"X_{t} &= \operatorname{tril}(S_{t})^{-1} c_{t}"]),
    ("input a, int32 T\nh(T) = a\nfor t in 0:T down { h(t) = h(t+1)/2; h(t) += t }",
     [r"h_{T} &= a \\", r"&\text{for } t = T-1, \ldots, 0\colon \\", r"\quad h_{t} &= \frac{h_{t+1}}{2} \\",
      r"\quad h_{t} &\mathrel{+}= t"]),
])
def test_the_text(text: str, wanted: list[str]) -> None:
    assert lines(text) == wanted


@pytest.mark.parametrize("name, subscripts, wanted", [
    ("x_{1}", "ij", r"x_{1;\,i,j}"), (r"x_{\text{max}}", "i", r"x_{\text{max};\,i}"),
    (r"\frac{\partial v}{\partial W}", "i", r"\frac{\partial v}{\partial W_{i}}"),
    (r"\frac{\partial C}{\partial W}", "ijk", r"\frac{\partial C_{i}}{\partial W_{j,k}}"),
    (r"\frac{\partial^{3} C}{\partial W^{2} \, \partial x}", "abcdef",
     r"\frac{\partial^{3} C_{a}}{\partial W_{b,c} \, \partial W_{d,e} \, \partial x_{f}}")])
def test_subscripts_stand_behind_an_index_and_at_the_tensors_of_a_derivative(name: str, subscripts: str, wanted: str) -> None:
    assert with_subscripts(name, subscripts, {"C": 1, "W": 2, "x": 1}) == wanted


def test_loops_and_their_adjoints_are_well_formed() -> None:
    for made in LOOPS.values():
        for line in equations(adjoint_program(made.program()), TensorLatexWriter).split(" \\\\\n"):
            assert line.count("{") == line.count("}") and line.count("(") == line.count(")"), line
