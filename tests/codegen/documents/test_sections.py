"""Which values are there for derivatives alone."""
from __future__ import annotations

import pytest
from adcli.codegen.documents.sections import derivatives
from adcli.lang.derive.derivatives import gradient, hessian
from adcli.lang.ir import Program
from adcli.lang.ir.names import name_table
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program, tangent_program

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
