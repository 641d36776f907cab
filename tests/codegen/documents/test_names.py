"""One naming of values: the trace, graphs, pages and LaTeX agree, no two values look alike, and derivatives are told apart."""
from __future__ import annotations

import re

import pytest
from adcli.codegen.documents.graph import INPUT, program_graph
from adcli.codegen.documents.latex import document
from adcli.codegen.documents.names import DocumentNames, derivatives
from adcli.codegen.documents.notation import Unicode
from adcli.lang.derive.derivatives import gradient, hessian
from adcli.lang.ir import Program
from adcli.lang.ir.errors import Source
from adcli.lang.ir.names import name_table
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES, adjoint_program, tangent_program
from adcli.lang.simplify.mathematics import mathematical
from command import succeeds
from random_programs import sample
from session_seed import drawn

from adcli.explore.data import document as page

TEXT = "p = 7*x1\nv = 2*p*p*x1 + 3/y"


def test_trace_graph_and_page_say_the_same() -> None:
    (trace,) = succeeds("trace", "-e", TEXT, "--at", "x1=2,y=3", "--cotangent", "v=1", "--format", "json").records
    values = [line["name"] for line in trace["lines"]]
    assert values == ["p", "w₁", "w₂", "w₃", "w₄", "v"]
    nodes = program_graph(parse(TEXT)).nodes
    assert [n.lines[0].partition(" = ")[0] for n in nodes if n.kind != INPUT] == values
    made = page(Source("-e", TEXT))[0]
    names = made["names"]["unicode"]
    assert [names[out["value"]] for each in made["operations"] for out in each["outs"]] == values
    reverse = program_graph(STAGES["reverse"](parse(TEXT)))
    drawn_there = {n.lines[0].partition(" = ")[0] for n in reverse.nodes}
    adjoints = {names[out["adjoint"]] for each in made["operations"] for out in each["outs"]}
    assert {"x₁₁, x₁₂", "p̄₁", "x̄₁₁", "w̄₂", "x̄₁", "v̄"} <= drawn_there and adjoints - {"w̄₃, w̄₄"} <= {*names}
    for said in (reverse.legend, made["legend"]):
        assert ": the adjoint of " in said and "x₁₁: the first copy of x₁" in said


def test_latex_numbers_what_has_a_line() -> None:
    text, legend = document(mathematical(gradient(parse("a = x1*sin(x1*x2)\ny = a*a + exp(x1*x2)"))))
    assert {*re.findall(r"v_\{\d+\}", text)} == {"v_{1}"}
    assert legend == r"v_{1}: a value without a name in the program; \bar{a}: the adjoint of a"
    assert "w_{" not in succeeds("hvp", "-e", "v = x**3", "--emit", "latex").out


def test_random_programs_have_no_two_names_alike() -> None:
    r = drawn("names")
    for _ in range(10):
        primal = parse(sample(r, 12, True).text)
        for stage in ("dup", "forward", "reverse"):
            made = STAGES[stage](primal)
            texts = DocumentNames(made, name_table(made), Unicode(str)).texts
            assert len({*texts.values()}) == len(texts)


PRIMAL = parse("p = sin(x) * y\nv = p * exp(p)")


def named(program: Program) -> set[str]:
    table = name_table(program)
    return {table[x] for x in derivatives(program).values}


@pytest.mark.parametrize("made", [
    lambda p: gradient(p, mode="forward"), lambda p: gradient(p, mode="reverse"), hessian,
    lambda p: tangent_program(p, ["x", "y"]), lambda p: adjoint_program(p, ["x", "y"], None),
    lambda p: tangent_program(p, []), lambda p: gradient(p, order=3)])
def test_values_are_told_from_derivatives(made) -> None:
    program = made(PRIMAL)
    table = name_table(program)
    values = {table[p.var] for p in program.params} | {table[o] for e in program.equations for o in e.outs}
    assert {"x", "y", "p", "v"} <= values - named(program)
    assert {r.name for r in program.results if r.name != "v" and r.name in values} <= named(program)


def test_a_program_without_derivatives_has_none() -> None:
    program = parse("dx = a * x\ndy = -y * dx")
    assert named(program) == set() and derivatives(program).results == set()


def test_a_derivative_that_is_an_input_is_one() -> None:
    """As is the tangent of x*y along x, or the partial derivative of x."""
    assert derivatives(parse("input x, y\nf = x * y\ndf = y\noutput f, df")).results == {"df"}
    assert derivatives(gradient(parse("v = x * y"))).results == {"dv_dx", "dv_dy"}
