"""The reverse pass: the text of the worked example, the transpose of the forward pass, and a sweep in the wrong order."""
from __future__ import annotations

import random
from dataclasses import replace

import pytest
from adcli.lang.ir import Lit, Result
from adcli.lang.ir.build import Builder
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import guards, reverse
from adcli.lang.modes.guards import Term
from adcli.lang.modes.reverse import duplicate
from adcli.lang.operations.activity import active_values
from adcli.lang.passes import pipeline
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from hypothesis import given
from laws import check_modes_agree, check_transposes
from planted_faults import caught
from random_programs import Sample, choices, extreme, law, mixed_points

SHARED = parse("s = x*y\nt = sin(s)*s\nv = t*s + x/t\nw = t - y")
POINTS = [{"x": 1.25, "y": -0.5}, {"x": 0.0, "y": 2.0}, {"x": 3.0, "y": 0.1}]


@pytest.mark.parametrize(("line", "adjoints"), [
    ("y = x1 + x2", ["(d_dx1, d_dx2) = dup(d_dy)"]),
    ("y = x1*x2", ["(d_dx1, d_dx2) = (mul(d_dy, x2), mul(x1, d_dy))"]),
    ("y = x1/x2", ["d_dx1 = div(d_dy, x2)", "d_dx2 = mul(neg(div(d_dy, x2)), y)"]),
    ("(y, z) = dup(x)", ["d_dx = add(d_dy, d_dz)"]),
    ("y = 3*x", ["d_dx = mul(3, d_dy)"]),
    ("y = sin(x)", ["d_dx = mul(d_dy, cos(x))"])])
def test_a_line_and_its_adjoints(line: str, adjoints: list[str]) -> None:
    lines = print_program(pipeline.adjoints(parse(line)), "prefix").splitlines()
    assert lines[-len(adjoints):] == adjoints


def test_the_program_stands_first_and_its_adjoints_in_reverse_order() -> None:
    program = parse("p = 7*x\nr = 1/y\nq = p*x*5\nv = 2*p*q + 3*r")
    copied, derived = duplicate(program), pipeline.adjoints(program)
    lines, sweep = derived.equations[:len(copied.equations)], derived.equations[len(copied.equations):]
    assert [[o.name for o in e.outs] for e in lines] == [[o.name for o in e.outs] for e in copied.equations]
    adjoints = [out.name for e in sweep for out in e.outs if out.name]
    assert adjoints == [
        "d_di3", "d_di4", "d_dr", "d_di2", "d_dq", "d_dp2", "d_di1", "d_dp1", "d_dx2", "d_dy", "d_dp", "d_dx1", "d_dx"]


def test_a_sweep_in_the_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_modes_agree(SHARED, POINTS) == 12
    right = reverse.reached
    monkeypatch.setattr(reverse, "reached", lambda *given: [lines[::-1] for lines in right(*given)])
    with caught():
        check_modes_agree(SHARED, POINTS)


@law(130)
@given(extreme, choices)
def test_partial_derivatives_are_those_of_the_program_with_copies(written: Sample, r: random.Random) -> None:
    """Their sweep makes no copies, and emits the lines that one through copies does."""
    program = simplify(parse(written.text))
    wrt, of = [p.name for p in program.params], r.choice([x.name for x in program.results])
    b, one = Builder(), Lit(1.0)
    b.equations.extend(program.equations)
    found = reverse.partials(b, program, [[of]], wrt)
    linear = duplicate(program)
    through = Builder()
    through.equations.extend(linear.equations)
    adjoints = reverse.pull_back(through, linear, {of: Term.of(through.expr(one))}, active_values(linear, wrt))
    wanted = {(0, p.name): guards.result(through, adjoints[p.var]) for p in linear.params if p.var in adjoints}
    assert found.keys() == wanted.keys()
    texts = [print_program(simplify(replace(program, equations=tuple(lines.equations),
                                            results=tuple([Result(f"d_{x}", a) for (_, x), a in values.items()]))))
             for lines, values in ((b, found), (through, wanted))]
    assert texts[0] == texts[1]


def direction(r: random.Random, names: list[str]) -> dict[str, float]:
    return {name: r.choice((0.0, 1.0, -2.5, 0.3, -0.0)) for name in names}


@law(130)
@given(extreme, choices)
def test_forward_equals_reverse(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    check_modes_agree(program, mixed_points(r, program))


@law(130)
@given(extreme, choices)
def test_the_reverse_program_is_the_transpose_of_the_forward_program(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    inputs, outputs = [p.name for p in program.params], [x.name for x in program.results]
    for at in mixed_points(r, program):
        check_transposes(program, at, direction(r, inputs), direction(r, outputs))
