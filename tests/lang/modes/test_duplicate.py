"""Explicit duplication: every value is used once, no bit changes, and faults in it are caught."""
from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from adcli.lang.ir import Equation, Lit, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import reverse
from adcli.lang.passes import pipeline
from hypothesis import given
from laws import check_duplicate, check_modes_agree
from planted_faults import caught
from random_programs import Sample, choices, extreme, law, mixed_points

SHARED = parse("s = x*y\nt = sin(s)*s\nv = t*s + x/t\nw = t - y")
POINTS = [{"x": 1.25, "y": -0.5}, {"x": 0.0, "y": 2.0}, {"x": 3.0, "y": 0.1}]


def drops_a_copy(program: Program) -> Program:
    """The second copy is made, and a constant used in its place."""
    right = DUPLICATE(program)
    lost = next(e.outs[1] for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, lost, Lit(0.0))


def uses_the_original(program: Program) -> Program:
    """The first copy is made, and the original used once more in its place."""
    right = DUPLICATE(program)
    made = next(e for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, made.outs[0], made.args[0])


def uses_a_copy_twice(program: Program) -> Program:
    right = DUPLICATE(program)
    made = next(e for e in right.equations if e.op is TABLE["dup"])
    return replaced(right, made.outs[0], made.outs[1])


def copies_nothing(program: Program) -> Program:
    return program


DUPLICATE = reverse.duplicate


def replaced(program: Program, old: Var, new: Var | Lit) -> Program:
    equations = tuple(Equation(e.outs, e.op, tuple(new if a is old else a for a in e.args)) for e in program.equations)
    return Program(program.params, equations, program.results)


@pytest.mark.parametrize("fault", [drops_a_copy, uses_the_original, uses_a_copy_twice, copies_nothing])
def test_a_fault_in_duplication(fault: Callable[[Program], Program], monkeypatch: pytest.MonkeyPatch) -> None:
    check_duplicate(SHARED, POINTS)
    assert check_modes_agree(SHARED, POINTS) == 12
    monkeypatch.setattr(reverse, "duplicate", fault)
    with caught():
        check_duplicate(SHARED, POINTS)
    monkeypatch.setattr(pipeline, "duplicate", fault)
    monkeypatch.setattr(pipeline, "CHECKS", ())            # the modes alone must notice a value that is lost; they need no copies
    if fault is drops_a_copy:
        with caught():
            check_modes_agree(SHARED, POINTS)


@law(100)
@given(extreme, choices)
def test_explicit_duplication_changes_no_bit(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    check_duplicate(program, mixed_points(r, program))
