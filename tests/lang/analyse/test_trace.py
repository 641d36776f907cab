"""Traces: their totals are those of the derivative programs."""
from __future__ import annotations

import math
from functools import lru_cache

import one_operation
import pytest
from adcli.lang.analyse.trace import traced
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from back_ends import bits
from compare_corpus import cases
from places import DATA
from row_tables import each_row
from session_seed import half


@lru_cache(1)
def derived(program: Program, *wrt: str) -> tuple[Program, Program]:
    """The forward and the reverse program, for all points in turn."""
    return drop_zero_seeds(tangents(program, wrt)), drop_zero_seeds(adjoints(program, wrt))


def check_totals(program: Program, at: dict[str, float], tangent: dict[str, float], cotangent: dict[str, float]) -> None:
    """Every tangent and adjoint at the ends of the trace is what the forward or reverse program gives, bit for bit."""
    wrt = list(tangent)
    trace = traced(program, at, wrt, tangent, cotangent)
    forward, reverse = derived(program, *wrt)
    seeds = {p.name: given[p.seed] for derived, given in ((forward, tangent), (reverse, cotangent))
             for p in derived.params if p.seed}
    pushed, pulled = (evaluate(p, {**at, **seeds}, FLOAT) for p in (forward, reverse))
    outputs = program.results
    for r, d in zip(outputs, forward.results[len(outputs):], strict=True):
        assert bits(total(trace.tangents, r.atom)) == bits(pushed[d.name]), (r.name, at)
    for x, d in zip(wrt, reverse.results[len(outputs):], strict=True):
        assert bits(total(trace.adjoints, program.param(x).var)) == bits(pulled[d.name]), (x, at)
    for r in outputs:
        if isinstance(r.atom, Var):
            assert bits(trace.values[r.atom]) == bits(pushed[r.name])


def total(found, atom) -> float:
    return found[atom].value if atom in found else 0.0


SMALL = [c for c in cases(DATA) if c["n_ops"] <= 120]


@each_row("case", half(SMALL), ids=lambda case: case["id"])
def test_the_totals_of_programs_that_other_people_wrote(case):
    program = parse(case["program"])
    wrt = [p.name for p in program.params if p.active]
    for point in case["points"][:3]:
        at = {p.name: float(point["at"].get(p.name, p.default or 0)) for p in program.params}
        check_totals(program, at, {x: 1 + 0.5 * i for i, x in enumerate(wrt)},
                     {r.name: 1 - 0.25 * i for i, r in enumerate(program.results)})
        check_totals(program, at, {x: float(i == 0) for i, x in enumerate(wrt)},
                     {r.name: float(i == 0) for i, r in enumerate(program.results)})


@each_row("op, count", half([(op, n) for op in one_operation.few_costly(one_operation.REAL)
                                            for n in ((None, 3) if op.variadic else (None,))]))
def test_the_totals_of_every_row_at_special_points(op, count):
    program = one_operation.program(op, count=count)
    wrt = [p.name for p in program.params]
    for at in one_operation.samples(op) + one_operation.special_points(op)[::2]:
        if len(at) == len(wrt):
            check_totals(program, {x: at.get(x, 1.0) for x in wrt}, dict.fromkeys(wrt, 1.5), {"z": -2.0})
            check_totals(program, {x: at.get(x, 1.0) for x in wrt}, {x: float(i > 0) for i, x in enumerate(wrt)}, {"z": 0.0})


@each_row("text", [
    "v = x*x*x + x\nw = v*v + x*v\n", "(a, b) = dup(x)\nv = a*b + x\nw = a\n", "v = x\nw = x\nu = 3\n",
    "v = x > 0.5 ? log(x - 0.5) : y * x\nw = v + v * v\n", "v = max(x, x, y) + max(x, x)\n", "x = x*y + x\n",
    "v = x*0 + (y > 9 ? x / 0 : y)\n", "output y, v\ny = 3*2\nv = x*y + y*y\n"])
@each_row("x, y", [(0.3, 1.7), (0.7, -1.1), (0.0, 0.0), (math.inf, 2.0), (math.nan, 1.0)])
def test_the_totals_where_values_are_used_more_than_once(text, x, y):
    program = parse(text)
    at = {p.name: {"x": x, "y": y}[p.name] for p in program.params}
    for dx in (1.1, 0.0):
        check_totals(program, at, {name: dx if name == "x" else 0.7 for name in at},
                     {r.name: 0.3 * (i + 1) for i, r in enumerate(program.results)})


@pytest.mark.parametrize("made", ["3*2", "exp(2)", "u*u"])
def test_an_output_that_is_a_constant_has_its_weight_and_what_its_uses_contribute(made):
    """Its adjoint is that of a constant which is an input: whether anything flows on from it makes no difference."""
    body = "v = x*y + sin(y)\n(w, z) = dup(y)\noutput y, v, w, z\n"
    program, other = parse(f"u = 2\ny = {made}\n{body}"), parse(f"input x, c\ny = c + 0\n{body}")
    weights = {"y": 0.5, "v": 2.0, "w": 3.0, "z": 4.0}
    trace = traced(program, {"x": 1.5}, ["x"], None, weights)
    y = trace.values[program.result("y").atom]
    wanted = traced(other, {"x": 1.5, "c": y}, ["x", "c"], None, weights)
    assert trace.adjoints[program.result("y").atom] == wanted.adjoints[other.result("y").atom]
    assert trace.adjoints[program.param("x").var] == wanted.adjoints[other.param("x").var]
