"""The laws of derivatives on random programs: both modes against differences, native code against the reference."""
from __future__ import annotations

import random

import laws
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from back_ends import MODES
from hypothesis import given
from random_programs import Sample, choices, extreme, law, mixed_points, point, samples
from session_seed import fixed

programs = samples(24)


@law(130)
@given(programs, choices)
def test_derivatives_against_differences(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    for mode in MODES:
        laws.check_differences(program, point(r, program), mode)


def test_differences_look_at_most_programs_that_have_a_finite_value() -> None:
    """A law that is never applied says nothing."""
    from random_programs import sample
    compared = 0
    for seed in range(60):
        r = fixed("test_differences_look_at_most_programs_that_have_a_finite_value", seed)
        program = parse(sample(r, 24).text)
        compared += laws.check_differences(program, point(r, program), "reverse") > 0
    assert compared >= 20


@law(100)
@given(extreme, choices)
def test_native_operations_against_the_reference(written: Sample, r: random.Random) -> None:
    program = gradient(parse(written.text), mode=r.choice(MODES))
    laws.check_native(program, mixed_points(r, program, 4))
