"""Programs as equations of LaTeX."""
from __future__ import annotations

import itertools
import re

import pytest
from adcli.codegen.documents.latex import broken, equations, width, with_subscripts
from adcli.codegen.documents.notation import CAPITALS, LETTERS
from adcli.lang.derive.derivatives import gradient, hessian
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from compare_corpus import cases
from loop_programs import LOOPS
from one_operation import REAL, few_costly, program
from places import DATA
from random_programs import sample
from row_tables import each_row
from session_seed import drawn, half, session_seed

COMMANDS = frozenset((
    *LETTERS, *CAPITALS, "text", "mathit", "operatorname", "textit", "frac", "partial", "bar", "dot", "sqrt", "cdot", "vee",
    "wedge", "neg", "le", "ge", "ne", "lvert", "rvert", "max", "min", "exp", "ln", "log", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sum", "sinh", "cosh", "tanh", "infty", "Leftrightarrow", "quad", "begin", "end"))


def check(text: str) -> None:
    """Every environment is closed, every line has one & for each column of equations, braces and parentheses are balanced, and
    every command is known."""
    blocks = re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}\n", text, re.S)
    assert "".join(f"\\begin{{align*}}\n{b}\n\\end{{align*}}\n" for b in blocks) == text
    for block in blocks:
        lines = block.split(" \\\\\n")
        assert 0 < len(lines) <= 50 and all("\n" not in line for line in lines)
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} in ({1}, {3}), block
        whole = re.sub(r"\\\\\n&\\quad ", "", block)
        for line in whole.split(" \\\\\n"):
            bare = re.sub(r"\\[{}]", "", line)
            assert bare.count("{") == bare.count("}") and bare.count("(") == bare.count(")"), line
            assert not re.search(r"[#$%~]|\^[^{]|_[^{\d]", re.sub(r"\\[_#$%]", "", line)), line
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= COMMANDS, set(re.findall(r"\\([a-zA-Z]+)", text)) - COMMANDS


def test_every_operation() -> None:
    for op in half(few_costly(REAL)):
        check(equations(gradient(program(op))))


def test_programs_of_others_and_random_ones() -> None:
    r = drawn("latex")
    for case in itertools.islice(cases(DATA), session_seed() % 16, None, 16):
        check(equations(gradient(parse(case["program"], case["id"]))))
    for _ in range(5):
        p = parse(sample(r, 20, True).text)
        check(equations(gradient(p, mode=r.choice(("forward", "reverse")))))


PRIMAL = parse("p = 7*x\nr = 1/y\nq = p*x*5\nv = 2*p*q + 3*r")
CASES = {
    "forward": (tangent_program(PRIMAL, ["x", "y"]), [
        r"p &= 7 \cdot x & \dot{p} &= 7 \cdot \dot{x} \\",
        r"\dot{v} &= 2 \cdot \dot{p} \cdot q + 2 \cdot p \cdot \dot{q} + 3 \cdot \dot{r}"]),
    "reverse": (adjoint_program(PRIMAL, ["x", "y"], None), [
        r"p &= 7 \cdot x & \bar{q} &= 2 \cdot p \cdot \bar{v} \\",
        r"\bar{x} &= 7 \cdot \bar{p} + 5 \cdot p \cdot \bar{q}"]),
    "gradient": (gradient(PRIMAL, mode="forward"), [r"\frac{\partial r}{\partial y} &= -r^{2} \\"]),
    "quotient": (gradient(parse("v = pi*x/y**2")), [r"\frac{\partial v}{\partial y} &= -\frac{2 \cdot \pi \cdot x}{y^{3}}"]),
    "hessian": (hessian(PRIMAL), [
        r"\dot{\bar{p}}^{(1)} &= ", r"\frac{\partial^{2} v}{\partial x^{2}} &= ",
        r"\frac{\partial^{2} v}{\partial x \, \partial y} &= 0"]),
    "adjoints along inputs": (hessian(parse("input x(N), a\nv +=! a*x(i)**3")), [r"\frac{\partial \bar{x}}{\partial x_{i}} &= "]),
    "names": (gradient(parse("α = x1*y_max\none_long_name = max(α, x_1)\noutput one_long_name")), [
        r"\alpha &= \mathit{x1} \cdot y_{\text{max}} \\",
        r"\frac{\partial \mathit{one\_long\_name}}{\partial \mathit{x\_1}} &="]),
    "conditions": (parse("c = x < 1 or y > 2\nv = c ? x : not c and x >= y ? y : 1e-9"), [
        r"c &\Leftrightarrow x < 1 \vee y > 2 \\",
        r"v &= x \text{ if } c \text{ else } y \text{ if } \neg c \wedge x \ge y \text{ else } 1 \cdot 10^{-9}"]),
    "plain": (parse("dx = a * x\ndy = -y * dx\noutput dx, dy"), [
        r"\mathit{dx} &= a \cdot x \\", r"\mathit{dy} &= -y \cdot \mathit{dx}"]),
    "copies": (parse("u = x\nw = 2"), [r"u &= x \\", "w &= 2"]),
    "copy": (parse("(a, b) = dup(x)\nv = a * b"), [r"v &= x \cdot x"]),
}


@each_row("made, lines", CASES.values())
def test_a_line(made: Program, lines: list[str]) -> None:
    text = equations(made)
    check(text)
    for line in lines:
        assert line in text, text


def test_derivatives_stand_beside_values_or_below_them() -> None:
    beside = equations(gradient(PRIMAL, mode="reverse"))
    below = equations(gradient(parse(f"v = {' + '.join(f'sin(x*{k})*y**{k}' for k in range(2, 9))}"), mode="reverse"))
    assert (beside.count(r"\begin{align*}"), below.count(r"\begin{align*}")) == (1, 2)
    columns = [line.split(" & ") for line in beside.splitlines()[1:-1]]
    halves = ["\n".join(half) for half in zip(*columns, strict=True)]
    for first, second in (halves, below.split("\\begin{align*}\n")[1:]):
        assert r"\partial" not in first and r"\bar" not in first and "v &=" in first
        assert second.count(r"\frac{\partial v}") == 2


def test_a_long_formula_goes_on_in_further_lines() -> None:
    line = "v &= " + " + ".join(rf"\frac{{a_{{{i}}} + b}}{{c}} \cdot (d - e_{{{i}}})" for i in range(12))
    lines = list(broken(line))
    assert len(lines) > 2 and all(width(x) <= 70 for x in lines)
    assert lines[0].startswith("v &= ") and all(x.startswith(r"&\quad {}") for x in lines[1:])
    assert " ".join(x.removeprefix(r"&\quad {}") for x in lines) == line
    assert list(broken("v &= a - b")) == ["v &= a - b"]


def test_a_long_program_has_many_environments() -> None:
    text = equations(parse("\n".join([*(f"a{k + 1} = sin(a{k})*x" for k in range(500)), "output a500"])))
    check(text)
    assert text.count(r"\begin{align*}") == 13


# ---------------------------------------------------------------- tensors

def lines_of(text: str) -> list[str]:
    return equations(parse(text)).splitlines()[1:-1]


@each_row("text, wanted", [
    ("input A(M, N), B(N)\nC(i) +=! A(i, j)*B(j)", [r"C_{i} &= \sum_{j=0}^{N-1} A_{i,j} \cdot B_{j}"]),
    ("input x(N), w(K)\ny(i) max=! x(i + 2*k) - w(k)", [r"y_{i} &= \max_{0 \le k < K} (x_{i+2 k} - w_{k})"]),
    ("input z(N, K)\ns(n) lse=! z(n, k)", [r"s_{n} &= \log \sum_{k=0}^{K-1} \exp z_{n,k}"]),
    ("input x(N)\ns +=! x(i) where i in 1:N, 5 >= i", [r"s &= \sum_{\substack{1 \le i < N \\ 5 \ge i}} x_{i}"]),
    ("input T(R, D), int32 k(B)\ny(b, d) = T(k(b), d)", [r"y_{b,d} &= T_{k_{b},d}"]),
    ("input A(N, N), b(N)\nx = solve(transpose(A), b)\nv = logdet(A)\nV = inverse(A)\nL = cholesky(V)\noutput x, v, L",
     [r"x &= A^{-\mathsf{T}} b \\", r"v &= \log \det A \\", r"V &= A^{-1} \\", r"L &= \operatorname{chol} V"]),
    ("input S(T, N, N), c(T, N)\nX(t) = solve_lower(S(t), c(t))", [r"X_{t} &= \operatorname{tril}(S_{t})^{-1} c_{t}"]),
    ("input U(N, N), c(N)\nx = solve_upper(transpose(U), c)", [r"x &= \operatorname{triu}(U^{\mathsf{T}})^{-1} c"]),
    ("input a, int32 T\nh(T) = a\nfor t in 0:T down { h(t) = h(t+1)/2; h(t) += t }",
     [r"h_{T} &= a \\", r"&\text{for } t = T-1, \ldots, 0\colon \\", r"\quad h_{t} &= \frac{h_{t+1}}{2} \\",
      r"\quad h_{t} &\mathrel{+}= t"]),
])
def test_the_text_of_tensors(text: str, wanted: list[str]) -> None:
    assert lines_of(text) == wanted


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
        for line in equations(adjoint_program(made.program())).split(" \\\\\n"):
            assert line.count("{") == line.count("}") and line.count("(") == line.count(")"), line
