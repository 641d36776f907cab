"""Calling native code: a row depends on nothing but itself, wherever it stands."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from adcli.codegen.machine import kernel as kernels
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from hypothesis import given
from laws import check_rows
from planted_faults import caught
from random_programs import Sample, choices, extreme, law, point


def run_in_turn(wrong: Callable[[list[list[float]], int], list[list[float]]]) -> Callable[..., list[list[float]]]:
    """kernel.run with its results spoiled."""
    right = kernels.run
    return lambda kernel, columns, rows: wrong(right(kernel, columns, rows), kernel.lanes)


def last_row_repeats(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [c[:-1] + c[-2:-1] if len(c) % lanes and len(c) > 1 else c for c in columns]


def lanes_exchanged(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[c[1], c[0], *c[2:]] if len(c) >= lanes > 1 else c for c in columns]


def padding_shows(columns: list[list[float]], lanes: int) -> list[list[float]]:
    return [[*c[:-1], 0.0] if len(c) % lanes and len(c) > lanes else c for c in columns]


@pytest.mark.parametrize("wrong", [last_row_repeats, lanes_exchanged, padding_shows])
def test_a_wrong_lane_or_tail(wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(1)
    program = gradient(parse("v = exp(x)*y"))
    points = [{"x": r.uniform(-1, 1), "y": r.uniform(1, 2)} for _ in range(19)]
    check_rows(program, points)
    monkeypatch.setattr(kernels, "run", run_in_turn(wrong))
    with caught():
        check_rows(program, points)


@law(50)
@given(extreme, choices)
def test_a_row_depends_on_nothing_but_itself(written: Sample, r: random.Random) -> None:
    program = gradient(parse(written.text))
    check_rows(program, [point(r, program, 3) for _ in range(11)])
