"""Programs as mathematics writes them: equal inside of the domain, and as short as a person writes them."""
from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import tangents
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.mathematics import decided, mathematical
from adcli.lang.simplify.rule_cases import RANGES, inside
from adcli.lang.simplify.rule_cases_tensors import carried_out, tensors_drawn
from adcli.lang.simplify.simplify import simplify
from adcli.lang.tree.notation import ATOM, infix
from command import adcli
from one_operation import BETA, few_costly
from random_comprehensions import sample as tensors
from random_programs import sample
from row_tables import each_row
from session_seed import drawn

from adcli.manual.functions import argument_names


def agree(program: Program, points: int) -> int:
    """Check the text against the program at points inside of its domain; how many values were compared."""
    read = parse(print_program(mathematical(program)))
    found, met = inside(program)[:points], 0
    for point in found:
        at = {p.name: point[p.var] for p in program.params}
        want, got = evaluate(program, at), evaluate(read, at)
        for name in want:
            if math.isfinite(got[name]):   # at the edge, as in 0**y, a text for reading may have no value
                assert math.isclose(want[name], got[name], rel_tol=1e-7, abs_tol=1e-9), (name, at, print_program(program))
                met += 1
    return met


ROWS = [row for row in TABLE.values()
        if row.maps and not row.truth and row.name not in ("dup", "select", "dvoigt", *BETA)   # sums are slow here
        and len(argument_names(row)) == row.arity]


@each_row("row", few_costly(ROWS), ids=lambda row: row.name)
def test_every_operation_and_its_derivatives_to_second_order(row):
    args = [str(int(row.domain[i][0] + 1)) if i in row.static else name for i, name in enumerate(argument_names(row))]
    text = infix(row.spelled or row.name, [(a, ATOM) for a in args])[0]
    program = parse(f"v = {text}")
    assert agree(gradient(program, order=2), 8) > 0


def test_random_programs():
    r = drawn("mathematics")
    met = [agree(gradient(parse(sample(r, 12, True).text)), 3) for _ in range(16)]
    assert sum(met) > 20 and sum(m > 0 for m in met) > 5


@pytest.mark.parametrize("formula", [
    "(x**2)**0.5", "(x**2)**1.5", "((x*y)**2)**0.25", "sqrt(x**2)*sqrt(x**2)", "(x**4)**y", "sqrt(4*x**2)**3"])
def test_a_power_of_a_power_keeps_the_sign_of_its_base(formula):
    program = parse(f"v = {formula}")
    read = parse(print_program(mathematical(program)))
    for x in (-2.0, -0.5, 3.0):
        at = {p.name: x for p in program.params}
        assert evaluate(read, at)["v"] == pytest.approx(evaluate(program, at)["v"], rel=1e-14)


@each_row("formula, derivatives", [
    ("log(x)", "1 / x"), ("sqrt(x)", "1 / (2 * sqrt(x))"), ("x**y", "y * x**(y - 1); x**y * log(x)"), ("x**3", "3 * x**2"),
    ("x*x", "2 * x"), ("1/x", "-1 / x**2"), ("exp(-x**2/2)/sqrt(2*pi)", "-x * exp(-x**2 / 2) / sqrt(2 * pi)"),
    ("max(x, y)", "y > x ? 0 : 1; x > y ? 0 : 1"), ("atan2(x, y)", "y / (x**2 + y**2); -x / (x**2 + y**2)"),
    ("asin(x)", "1 / sqrt(1 - x**2)"), ("exp2(x)", "log(2) * exp2(x)"), ("erf(x)", "2 * exp(-x**2) / sqrt(pi)"),
    ("4*pi**2*x/y**2", "4 * pi**2 / y**2; -8 * pi**2 * x / y**3"), ("tanh(x)", "1 / cosh(x)**2"), ("x*log(x)", "log(x) + 1"),
    ("(x - 1)**2 + 100*(y - x**2)**2", "2 * (x - 1) - 400 * x * (y - x**2); 200 * (y - x**2)"),
    ("x > 8 ? log(x) : 2*x", "x > 8 ? 1 / x : 2"),
    ("x > 1000 ? x : 2*x", "x > 1000 ? 1 : 2"),   # a choice of the text stays, though no point is in one part of it
    ("0.1*x + 3*0.1*x", "0.4"), ("abs(x)*log(x)", "log(x) + abs(x) / x"), ("input x in [0, inf]; f = abs(x)", "1"),
    ("input x in [-inf, -1]; f = abs(x) + max(x, 0)", "-1"), ("input x in [2, 3], y in [4, 5]; f = max(x, y)*x", "y; x")])
def test_a_derivative_is_what_a_person_writes(formula, derivatives):
    text = print_program(mathematical(gradient(parse(formula if "=" in formula else f"f = {formula}"))))
    lines = [line.partition(" = ")[2] for line in text.splitlines() if line.startswith("df_d")]
    assert "; ".join(lines) == derivatives


@pytest.mark.parametrize("formula, x, line", [
    ("log(x)", 2.0, "dv = dx * (1 / x)"), ("log(x)", -2.0, "dv = dx * (x < 0 ? v : 1 / x)"),
    ("log(x)", -0.0, "dv = dx * (1 / (x + 0))"), ("relu(x)", 2.0, "dv_1 = dx"),
    ("max(x, 1)", 1.0, "dv_1 = dx * (x == 1 ? 0.5 : 1)")])
def test_a_case_that_holds_the_point_stays(formula, x, line):
    program = tangents(parse(f"v = {formula}"))
    read = decided(program, {"x": x, "dx": 1.0}).program
    assert line in print_program(read).splitlines()
    assert {*(o for e in read.equations for o in e.outs)} <= {*(o for e in program.equations for o in e.outs)}


def test_the_style_of_text_and_what_it_refuses():
    ended = adcli("grad", "-e", "log(x)", "--emit", "text", "--style", "math")
    assert ended.out.endswith("f = log(x)\ndf_dx = 1 / x\n")
    assert "# for reading: the mathematics inside of the domain" in ended.out
    ended = adcli("grad", "-e", "input x(N); v +=! log(x(i))", "--emit", "text", "--style", "math")
    assert ended.out.endswith("v +=! log(x(i))\ndv_dx(i) = 1 / x(i)\noutput v, dv_dx\n")


# ---------------------------------------------------------------- tensors

TENSORS = {
    "input x(N), y; v +=! log(x(i)/y)*sqrt(x(i))": "dv_dy +=! -sqrt(x(i)) / y",
    "input x(N); v +=! x(i) > 0.5 ? log(x(i)) : x(i)": "dv_dx(i) = x(i) > 1 / 2 ? 1 / x(i) : 1",
    "input A(M, N), b(N); y(i) +=! A(i, j)*b(j); v +=! sqrt(y(i)**2 + 1)": "d_dy(i) = y(i) / sqrt(y(i)**2 + 1)",
    "input x(T), w; h(0) = 0; for t in 0:T { h(t+1) = log(w*h(t) + x(t)) }; y = h(T)":
        "    d_dh(t) += w * d_dh(t + 1) / (w * h(t) + x(t))",
    "input b, a, x(N); v +=! relu(a)*b*x(i)": "dv_da +=! a <= 0 ? 0 : x(i) * b",
    "input x(N), y(N); v max=! atan2(x(i), y(i))": None, "input x(N); s +=! x(i)**2; v = log(s)": "i1 = 1 / s",
    "input A(N, N), b(N); x = solve(A, b); v +=! abs(x(i))**1.5": None}


@pytest.mark.parametrize("text, line", TENSORS.items())
def test_tensors(text, line):
    """The derivative has the line that a person writes, and the text has the values of the exact program."""
    program = gradient(parse(text))
    shown = print_program(mathematical(program))
    assert line is None or line in shown.splitlines()
    draw = random.Random(1)
    assert agree_on_tensors(program, [tensors_drawn(program, draw, *bounds) for bounds in RANGES]) > 5


def test_random_tensors():
    r, met = drawn("mathematics of tensors"), 0
    for _ in range(6):
        made = tensors(r)
        program = simplify(tangents(made.program()))
        seeds = {p.name: np.ones(np.shape(made.values[p.seed])) for p in program.params if p.seed}
        met += agree_on_tensors(program, [{**made.values, **seeds}])
    assert met > 0


def agree_on_tensors(program: Program, points: Sequence[Mapping[str, Any]]) -> int:
    """Check the text against the program at points, where it is finite; how many values were compared."""
    read, met = parse(print_program(mathematical(program))), 0
    for at in points:
        if carried_out(program, at, True):
            want, got = evaluate(program, at), evaluate(read, at)
            for name in want:
                assert np.allclose(want[name], got[name], rtol=1e-7, atol=1e-9), (name, at, print_program(program))
                met += np.size(want[name])
    return met
