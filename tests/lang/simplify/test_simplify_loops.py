"""Loops in simplification: what nobody reads, what is there twice, what stands beside a loop again."""
from __future__ import annotations

from dataclasses import replace

import pytest
from adcli.lang.ir import Equation, Program, Result, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify

BEFORE = "input a, x(T)\nh(0) = a\n"
LOOP = BEFORE + "for t in 0:T {{ {} }}\n{}\n"
CASES = {
    "a history that nothing reads": ("u(t) = h(t)*x(t); h(t+1) = sin(h(t))", "output h", ["u("], []),
    "a loop that nothing reads": ("h(t+1) = sin(h(t))", "y = a + 1\noutput y", ["for "], ["y = a + 1"]),
    "a statement that is there twice": ("u(t) = h(t)*x(t); v(t) = h(t)*x(t); h(t+1) = u(t)*v(t)", "output h",
                                        ["v(t)"], ["h(t + 1) = u(t) * u(t)"]),
    "a statement again beside the loop": ("u(t) = h(t)*x(t); h(t+1) = sin(u(t))", "w(t) = h(t)*x(t)\ny +=! w(t)**2\noutput h, y",
                                          ["w(t)"], ["y +=! u(t) * u(t)"]),
    "one constant under two names": ("h(t+1) = h(t)*x(t) + b*c", "output h", [], ["a * a"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_has_what_it_needs(name: str) -> None:
    body, after, gone, there = CASES[name]
    text = LOOP.format(body, after)
    if "b*c" in body:
        text = text.replace("h(0) = a\n", "h(0) = a\nb = a\nc = a\n")
    shown = print_program(simplify(parse(text)))
    assert all(x not in shown for x in gone) and all(x in shown for x in there), shown


def test_a_read_of_elements_that_were_not_overwritten_goes_past_the_writing() -> None:
    shown = print_program(simplify(parse("""input x(N)
y = x
y(i) += 1 where i in 2:N
s = y(0)*y(1)
r = y(2)
output s, r
""")))
    assert "s = x(0) * x(1)" in shown and "r = y(2)" in shown


@pytest.mark.parametrize("source", [
    "input a, g(T, N, N)\nh(i, j, l) = g(i - 2, j, l) where i in 2:T + 2\n"
    "p *=! 1 + 0.3*h(i, j, l)*a where i in 2:T + 2\noutput p",
    "input z(T, N), d(T), int32 at(T)\nfor t in 2:T { w(t) = (t >= 3 ? tanh(z(t, at(t - 2))) : d(t)) * tanh(z(t, 0)) }\n"
    "y +=! w(t) where t in 2:T\noutput y",
])
def test_texts_of_derivatives_are_fixed_points(source: str) -> None:
    tangents, adjoints = (of(parse(source)) for of in (tangent_program, adjoint_program))
    for program in (tangents, adjoints, tangent_program(adjoints), adjoint_program(tangents)):
        text = print_program(program)
        assert print_program(parse(text)) == text


def test_an_assignment_to_all_elements_starts_from_nothing() -> None:
    program = parse("input x(N), y(N)\nz(i) = sin(x(i))\nw(i) = y(N - i - 1)\noutput w")
    (first, second), source = program.equations, program.source
    assert isinstance(second.op, Comprehension) and isinstance(first.outs[0], Var)
    onto = Equation(second.outs, replace(second.op, onto=1), (*second.args, first.outs[0]), second.span)
    made = simplify(Program(program.params, (first, onto), (Result("w", second.outs[0]),), source))
    assert print_program(made) == "input x(N), y(N)\nw(i) = y(N - i - 1)\noutput w\n"
