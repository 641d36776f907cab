"""The reverse pass: the text of the worked example, the transpose of the forward pass, and a sweep in the wrong order."""
from __future__ import annotations

import random

import pytest
from adcli.lang.passes import reverse
from adcli.lang.syntax.parse import parse
from hypothesis import given
from laws import check_modes_agree, check_transposes
from planted_faults import caught
from random_programs import Sample, choices, extreme, law, mixed_points

SHARED = parse("s = x*y\nt = sin(s)*s\nv = t*s + x/t\nw = t - y")
POINTS = [{"x": 1.25, "y": -0.5}, {"x": 0.0, "y": 2.0}, {"x": 3.0, "y": 0.1}]


def test_a_sweep_in_the_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_modes_agree(SHARED, POINTS) == 12
    right = reverse.pull_back
    monkeypatch.setattr(reverse, "pull_back", lambda b, equations, *rest: right(b, equations[::-1], *rest))
    with caught():
        check_modes_agree(SHARED, POINTS)


def direction(r: random.Random, names: list[str]) -> dict[str, float]:
    return {name: r.choice((0.0, 1.0, -2.5, 0.3, -0.0)) for name in names}


@law(300)
@given(extreme, choices)
def test_forward_equals_reverse(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    check_modes_agree(program, mixed_points(r, program))


@law(200)
@given(extreme, choices)
def test_the_reverse_program_is_the_transpose_of_the_forward_program(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    inputs, outputs = [p.name for p in program.params], [x.name for x in program.results]
    for at in mixed_points(r, program):
        check_transposes(program, at, direction(r, inputs), direction(r, outputs))
