"""The forward pass: the line of every rule, a tangent beside its value, linear in the direction and in length."""
from __future__ import annotations

import random
from typing import Any

import pytest
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.ir import Equation
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import forward
from adcli.lang.passes.pipeline import tangents
from adcli.lang.printing.printer import print_program
from hypothesis import given
from laws import check_transposes
from planted_faults import caught
from random_programs import Sample, choices, law, point, samples

WORKED = "p = 7*x\nr = 1/y\nq = p*x*5\nv = 2*p*q + 3*r"


@pytest.mark.parametrize(("line", "tangent"), [
    ("y = x1 + x2", "dy = add(dx1, dx2)"), ("y = x1 - x2", "dy = add(dx1, neg(dx2))"),
    ("y = x1*x2", "dy = add(mul(dx1, x2), mul(x1, dx2))"), ("y = 3*x", "dy = mul(3, dx)"),
    ("y = x1/x2", "dy = add(div(dx1, x2), mul(neg(div(dx2, x2)), y))"), ("y = sin(x)", "dy = mul(dx, cos(x))"),
    ("y = -x", "dy = neg(dx)")])
def test_a_line_and_its_tangent(line: str, tangent: str) -> None:
    assert print_program(tangents(parse(line)), "prefix").splitlines()[-1] == tangent


def test_a_tangent_stands_behind_its_line_and_changes_none() -> None:
    program = parse(WORKED)
    derived = tangents(program).equations
    places = [derived.index(e) for e in program.equations]
    assert places == sorted(places) and places[0] == 0
    assert [p for p, e in zip(places, derived, strict=False)] == places
    for e, after in zip(program.equations, [*places[1:], len(derived)], strict=True):
        (out,) = e.outs
        assert derived[after - 1].outs[0].name == f"d{out.name}", "the line before the next one is the tangent of this one"


def test_a_program_of_n_lines_has_a_derivative_of_a_few_times_n() -> None:
    for n in (100, 3000):
        lines = "".join(f"s = s*x + sin(s)/{k + 2}\n" for k in range(n))
        program = parse(f"s = x\n{lines}v = s")
        assert len(tangents(program).equations) <= 3 * len(program.equations)


@law(40)
@given(samples(16), choices)
def test_twice_the_direction_has_twice_the_tangents(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    derived, at = tangents(program), point(r, program)
    direction = {p.name: r.choice((1.0, -0.5, 2.0)) for p in derived.params if p.seed}
    once, twice = (every_value(derived, {**at, **{n: k * d for n, d in direction.items()}}, FLOAT) for k in (1.0, 2.0))
    if all(not x or 1e-290 < abs(x) < 1e290 for x in once.values()):       # where doubling is exact
        for result in derived.results[len(program.results):]:
            assert read(twice, result.atom, FLOAT) == 2 * read(once, result.atom, FLOAT)


def test_a_tangent_that_forgets_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    program, at = parse(WORKED), {"x": 2.0, "y": 5.0}
    check_transposes(program, at, {"x": 1.0, "y": -1.0}, {"v": 1.0})
    right = forward.contributions

    def forgetful(b: Any, e: Equation, positions: tuple[int, ...], seeds: list[Any], hint: Any) -> object:
        count = 1 if e.op.name == "mul" else len(seeds)
        return right(b, e, positions[:count], seeds[:count], hint)
    monkeypatch.setattr(forward, "contributions", forgetful)
    with caught():
        check_transposes(program, at, {"x": 1.0, "y": -1.0}, {"v": 1.0})
