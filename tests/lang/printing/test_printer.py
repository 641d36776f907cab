"""Text is the interchange format: whatever is printed reads back to an equal program, at every stage and of every derivative."""
from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Lit, Program, Result
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes import pipeline
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import STYLES, print_program
from adcli.lang.simplify.simplify import simplify
from adcli.lang.syntax.scan import KEYWORDS
from adcli.lang.tree import notation
from hypothesis import given
from laws import (
    check_round_trip,
    stages,
)
from planted_faults import caught
from random_programs import SPECIAL, Sample, law, sample, samples
from same_programs import equal

small = samples(size=12)


@law(325)
@given(samples(extreme=True))
def test_operators_and_calls_say_the_same(written: Sample) -> None:
    assert equal(parse(written.text), parse(written.calls)), written.text


@law(195)
@given(samples(extreme=True))
def test_every_stage_reads_back(written: Sample) -> None:
    for program in stages(parse(written.text)):
        check_round_trip(program)


@pytest.mark.parametrize("text", [
    "(y, x̂) = dup(x)\noutput y", "v = x*2; w = x̂ + x; output w", "a·b = x; c = a·b*a; output c, a·b", "input π; v = π*x",
    "π = x*2; v = π*π", "input π, x(N); s +=! π*x(i); output s", "input x̂(N), x; s(i) = x̂(i)*x; output s"])
def test_names_with_marks_and_names_of_constants_keep_the_interface(text):
    for program in stages(parse(text)):
        check_round_trip(program)


PLACES = [
    "v = 2*{0}", "input {0}\nv = 2*{0}", "param {0} = 3\nv = {0}*x", "input {0} in [0, 1], y\nv = -{0} < y ? {0} : y",
    "{0} = 2*x",
    "{0} = 2*x\nv = {0}*{0}", "{0} = 2*x\nv = {0}*3\noutput v, {0}", "({0}, b) = dup(x)\nv = {0}*b",
    "(b, {0}) = (x, y*x)\nv = {0}*b",
    "def {0}(a) = a*a\nv = {0}(x)", "def f({0}) = {0}*{0}\nv = f(x)", "def f(a) -> ({0}) {{ {0} = a*a }}",
    "input a(N)\nv = a(2)*{0}",
    "input {0}(N)\ns +=! {0}(i)", "input A({0})\nv +=! A(i)*{0}", "input A(N)\nB({0}) = A({0})*2", "input A(N)\nv +=! A({0})",
    "input A(N)\n{0}(i) = 2*A(i)", "input A(N)\n{0}(i) = 2*A(i)\nv +=! {0}(i)*{0}(i)", "input A(N)\n{0} +=! A(i)\nv = {0}*{0}",
    "input A(N), {0}\nB(i) = A(i)*{0}", "input A(N), int32 {0}(M)\nv +=! A({0}(i))", "input A(N), int32 {0}\nv = A({0})",
    "input A(N)\nB(i) = A(i)*{0} where {0} = A(0)", "def {0}(float(N) A) -> (C) {{ C(i) = A(i)*2 }}",
    "def f(float(N) {0}) -> (C) {{ C(i) = {0}(i)*2 }}", "def f(float({0}) A) -> (C) {{ C(i) = A(i)*{0} }}",
    "def f(float(N) A) -> ({0}) {{ {0}(i) = A(i)*2 }}", "input i1, {0}\nv = sin(cos({0})*i1)",
    "input A(N)\nv +=! A(i)*{0}(i)\ninput {0}(N)"]
"""Every place that a name can have in a text."""


def test_a_name_that_is_accepted_reads_back_in_every_place() -> None:
    """Words of the language, names that derivatives make of others (d and ef), names that look like those of the printer."""
    words = [*KEYWORDS, "dup", "max", "float", "int32", "pi", "nan", "_", "t1", "ef", "ᵢ", "ᵢ1", "ｉn", "n\u0303"]
    refused = {"and", "or", "not", "in", "nan", "ｉn"}
    accepted = Counter()
    for at, (word, place) in enumerate(itertools.product(words, PLACES)):
        try:
            program = parse(place.format(word))
        except AdError:
            continue
        accepted[word] += 1
        derivative = pipeline.tangents if at % 2 else pipeline.adjoints
        for made in (program, simplify(derivative(program))):
            text = print_program(made)
            assert equal(parse(text), made), (word, place, text)
    assert not [w for w in refused - {"nan"} if accepted[w]]
    assert not [w for w in {*words} - refused - {*KEYWORDS} if accepted[w] < 15]


@pytest.mark.parametrize("clause", ["u = 2*A(i)", "u = A(i), w = u*i", "u = A(2*i)", "exists A(i)", "u = b*A(i)"])
def test_a_name_in_where_that_nothing_uses_leaves_the_range(clause) -> None:
    for statement in ("v +=! 2*i", "C(i) = b", "v +=! B(i)", "v = b; v += b"):
        program = parse(f"input A(N), B(M), b\n{statement} where {clause}")
        ranges = [e.op.ranges[0] for e in program.equations if isinstance(e.op, Comprehension)]
        assert ranges[-1].why and "A" in ranges[-1].why
        check_round_trip(program)
        check_round_trip(simplify(program))


@law(40)
@given(small)
def test_gradients_read_back_to_third_order(written: Sample) -> None:
    program = parse(written.text)
    wrt, of = [p.name for p in program.params][:2], [program.results[0].name]
    for _ in range(3):
        program = gradient(program, wrt, of)
        check_round_trip(program)
        of = [program.results[-1].name]


@law(25)
@given(small)
def test_derivatives_of_seeded_programs_read_back(written: Sample) -> None:
    program = parse(written.text)
    wrt = [p.name for p in program.params]
    tangents = pipeline.tangents(program, wrt)
    for derived in (pipeline.tangents(tangents, wrt), pipeline.adjoints(simplify(tangents), wrt),
                    with_status(gradient(program, wrt), program, wrt)):
        check_round_trip(derived)
        check_round_trip(simplify(derived))


def test_results_that_overwrite_inputs() -> None:
    """x and y exchanged, and the sum of what they were: every input is read before its name is taken."""
    program = parse("input x, y\noutput x, y, s\ns = x + y\n(x, y) = (y, x)")
    for style in STYLES:
        assert equal(program, parse(print_program(program, style)))


def test_infinite_constants_and_bounds() -> None:
    program = parse("input x = -inf in [-inf, inf]\nv = x*inf - 1e15 + -inf")
    check_round_trip(program)


def test_an_input_called_pi_is_declared() -> None:
    check_round_trip(parse("input pi\nv = 2*pi"))


def test_an_exponent_that_simplifies_to_an_integer_stays_a_power() -> None:
    """x**(1.5*2) goes through libm's pow, x**3 does not: simplification may not turn one into the other."""
    program = simplify(parse("n = 1.5*2\nv = x**n"))
    assert [e.op.name for e in program.equations][-1] == "pow"
    check_round_trip(program)
    assert equal(program, simplify(program))


def test_a_minus_before_a_call_is_no_part_of_a_constant() -> None:
    """-f(2) is an operation, however f comes to its constant."""
    assert equal(parse("def f(a) = a\nv = x - -f(2)"), parse("def f(a) = a\nv = x - neg(f(2))"))


def test_programs_use_every_operation() -> None:
    """The generator of this file reaches every row of the table."""
    used = {e.op.name for seed in range(1000) for e in parse(sample(random.Random(seed)).text).equations}
    assert used == set(TABLE)


def test_special_results_read_back() -> None:
    """Constants of every kind as results."""
    program = Program((), (), tuple(Result(f"v{i}", Lit(x)) for i, x in enumerate(SPECIAL)))
    check_round_trip(program)


# ---------------------------------------------------------------- planted faults

def test_a_printer_without_parentheses(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse("v = (x - (y - z))*x")
    check_round_trip(program)
    monkeypatch.setattr(notation, "enclosed", lambda piece, least: piece[0])
    with caught():
        check_round_trip(parse("v = (x - (y - z))*x"))


@pytest.mark.parametrize(("text", "level"), [("(x**y)**z", notation.POWER), ("a and (b < c or x < y) ? 1 : 0", notation.OR),
                                             ("x/(y*z)", notation.PRODUCT), ("(c < 0 ? x : y)*z", notation.TERNARY)])
def test_a_printer_that_forgets_one_kind_of_parentheses(text: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(f"v = {text}".replace("a and", "a < 1 and"))
    check_round_trip(program)
    right = notation.enclosed
    monkeypatch.setattr(notation, "enclosed", lambda piece, least: piece[0] if piece[1] == level else right(piece, least))
    with caught():
        check_round_trip(program)


def test_a_printer_with_six_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse("v = x*0.1 + 1e-300")
    check_round_trip(program)
    inexact = parse("v = x*0.12345678901234567")
    check_round_trip(inexact)
    monkeypatch.setattr(notation, "number", lambda value: f"{value:g}")
    with caught():
        check_round_trip(inexact)
