"""The laws of derivatives on random programs, at ordinary and at special points; random text; a small run of the byte fuzzer."""
from __future__ import annotations

import random

import fuzz_bytes
import laws
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Program
from adcli.lang.ir.check import check
from adcli.lang.ir.errors import AdError
from adcli.lang.syntax.parse import parse
from back_ends import MODES
from hypothesis import given
from hypothesis import strategies as st
from random_programs import Sample, Scope, law, point, samples

choices = st.randoms(use_true_random=False)
programs = samples(24)
extreme = samples(24, extreme=True)


def mixed_points(r: random.Random, program: Program, count: int = 3) -> list[dict[str, float]]:
    """An ordinary point, and some with more and more special values."""
    return [point(r, program, special) for special in (0, 4, 2, 1)[:count]]


def direction(r: random.Random, names: list[str]) -> dict[str, float]:
    return {name: r.choice((0.0, 1.0, -2.5, 0.3, -0.0)) for name in names}


@law(300)
@given(extreme, choices)
def test_forward_equals_reverse(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    laws.check_modes_agree(program, mixed_points(r, program))


@law(200)
@given(extreme, choices)
def test_the_reverse_program_is_the_transpose_of_the_forward_program(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    inputs, outputs = [p.name for p in program.params], [x.name for x in program.results]
    for at in mixed_points(r, program):
        laws.check_transposes(program, at, direction(r, inputs), direction(r, outputs))


@law(200)
@given(extreme, choices)
def test_a_zero_seed_drops_its_contributions(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    laws.check_zero_seeds(program, mixed_points(r, program))


@law(200)
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
        r = random.Random(seed)
        program = parse(sample(r, 24).text)
        compared += laws.check_differences(program, point(r, program), "reverse") > 0
    assert compared >= 20


@law(200)
@given(extreme, choices)
def test_simplification_changes_no_bit(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    laws.check_simplify(program, mixed_points(r, program))


@law(150)
@given(extreme, choices)
def test_explicit_duplication_changes_no_bit(written: Sample, r: random.Random) -> None:
    program = parse(written.text)
    laws.check_duplicate(program, mixed_points(r, program))


@law(150)
@given(extreme, choices)
def test_native_operations_against_the_reference(written: Sample, r: random.Random) -> None:
    program = gradient(parse(written.text), mode=r.choice(MODES))
    laws.check_native(program, mixed_points(r, program, 4))


@law(50)
@given(extreme, choices)
def test_a_row_depends_on_nothing_but_itself(written: Sample, r: random.Random) -> None:
    program = gradient(parse(written.text))
    laws.check_rows(program, [point(r, program, 3) for _ in range(11)])


# ---------------------------------------------------------------- arms that are not taken

UNDEFINED = ("log(-1 - ({0})**2)", "({0})/0", "sqrt(-1 - ({0})*({0}))", "inf*({0}) - inf*({0})", "gamma(-1 + 0*({0}))",
             "acosh(0*({0}))", "exp(1e300*({0})**2)", "(0*({0}))**-1", "pow(-2, ({0})*0 + 0.5)", "nan*({0})", "atan2(0*({0}), 0)")
"""Formulas of e with a value or a derivative that is no finite number, for most values of e."""
CHOICES = ("c > 0 ? {f} : {g}", "c <= 0 ? {g} : {f}", "not (c <= 0) ? {f} : {g}", "c > 0 ? (c < 5 ? {f} : {g}) : {g}",
           "select(c > 0 and c < 5, {f}, {g})", "c < 0 or c > 5 ? {g} : (c == 1 ? {f} : {g})")
"""Ways to choose f at c = 1."""
AROUND = ("{s}", "sin({s})*x", "({s}) - 2*y", "max({s}, x, y)", "({s})*z + x*y")
"""What is done with the choice."""


def arms(r: random.Random) -> tuple[Program, Program]:
    """A program, and the same with its formula as the arm taken of a choice."""
    scope = Scope(r, {}, set(), 12)
    scope.kinds.update(x="r", y="r", z="r")
    taken, other = scope.real(3).calls, scope.real(2).calls
    around, undefined = r.choice(AROUND), r.choice(UNDEFINED).format(other)
    chosen = "(" + r.choice(CHOICES).format(f=taken, g=undefined) + ")"
    head = "input c, x, y, z\nv = "
    return parse(head + around.format(s=taken)), parse(head + around.format(s=chosen))


@law(400)
@given(choices)
def test_an_arm_that_is_not_taken_changes_no_bit(r: random.Random) -> None:
    alone, chosen = arms(r)
    laws.check_arm(alone, chosen, [{**at, "c": 1.0} for at in mixed_points(r, alone)])


# ---------------------------------------------------------------- text that is no program

TOKENS = (
    "x", "y", "v", "f", "sin", "pow", "dup", "α", "where", "_", "input", "output", "param", "def", "in", "and", "or", "not",
    "2", ".5", "0x1p3", "1e999", "inf", "nan", "pi", "(", ")", "(", ")", "[", "]", "{", "}", ",", "=", "=", "=", "->",
    "+", "-", "*", "/", "**", "^", "<", "<=", ">", ">=", "==", "!=", "?", ":", "!", "&&", "||", ";", "\n", "\n", "\n", " ", "\r",
    "#", "+=", "+=!", "−", "“", "@", "\0", "x = ", "v = x", "(a, b) =", "def g(a) = a*a", "output v", "input x")


@law(1500)
@given(st.lists(st.sampled_from(TOKENS), max_size=25), st.sampled_from(("", " ")))
def test_any_text_is_a_program_or_an_error_with_a_message(tokens: list[str], blank: str) -> None:
    text = blank.join(tokens)
    try:
        program = parse(text)
    except AdError as fault:
        assert "error" in str(fault)
        assert all(str(other) for other in fault.more)
    else:
        check(gradient(check(program)))


def test_mutated_files_are_answered(tmp_path: pytest.TempPathFactory) -> None:
    assert list(fuzz_bytes.fuzz(2000, 7)) == []


def test_the_byte_fuzzer_notices_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails with a traceback, ends the process' work or says nothing is a finding."""
    def broken(args: list[str]) -> int:
        raise SystemExit(0)
    assert fuzz_bytes.fault(b"v = x", ["fmt", "-"]) is None
    for stand_in in (broken, lambda args: 70, lambda args: 3):
        monkeypatch.setattr(fuzz_bytes.main, "run", stand_in)
        assert fuzz_bytes.fault(b"v = x", ["fmt", "-"]) is not None
