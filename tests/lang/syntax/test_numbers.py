"""Numbers as other languages write them: none is read as another number, and what is said to be written is what they are."""
from __future__ import annotations

import math
import re

import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.numbers import as_number
from adcli.lang.syntax.scan import scan
from row_tables import each_row
from session_seed import drawn

from adcli.input.fields import Fault, field_number
from adcli.input.nested import of_text
from adcli.input.values import value

ELSEWHERE = [
    # Fortran, and others with an exponent of another letter.
    ("1.0d0", 1.0), ("1.5D+00", 1.5), ("2.5d-3", 0.0025), ("1d-3", 0.001), (".5D2", 50.0), ("1.q2", 100.0), ("1.0f0", 1.0),
    ("2.5f-1", 0.25), ("1.5*^3", 1500.0), ("3.0D0_dp", 3.0),
    # Kinds and types.
    ("2.5_dp", 2.5), ("1.0e-3_real64", 0.001), ("1_f64", 1.0), ("1.0_8", 1.0), ("0.5_4", 0.5), ("1.000_8", 1.0), ("7_16", 7.0),
    ("1.f", 1.0), ("1.0e-3f", 0.001), ("1e5L", 1e5), ("1.0L", 1.0), (".5F", 0.5), ("1.5f32", 1.5), ("2f64", 2.0), ("5ULL", 5.0),
    ("3i32", 3.0),
    # Marks between digits.
    ("1_00", 100.0), ("12_34_567", 1234567.0), ("1_0000", 10000.0), ("0.12_34", 0.1234), ("1'000'000.5", 1000000.5),
    ("1,234,567.8", 1234567.8), ("1,234.5", 1234.5), ("1.234,5", 1234.5), ("1.234.567", 1234567.0),
    # Other bases, and hundredths.
    ("0b101", 5.0), ("0o17", 15.0), ("5%", 0.05), ("12.5 %", 0.125),
]
ALONE = [("5L", 5.0), ("5f", 5.0), ("1.5d", 1.5), ("2u", 2.0), ("1 000 000", 1000000.0), ("1.5-105", 1.5e-105), ("1,5", 1.5)]
"""What is a number only where no product, sum or list can stand."""
HERE = [("1_000", 1000.0), ("12_345.678_901", 12345.678901), ("3.141_592_65", 3.14159265), ("0.000_001", 1e-6), ("0x10", 16.0),
        ("0xFF_FF", 65535.0), ("0x1.8p1", 3.0), ("2.5E+3", 2500.0), (".5", 0.5), ("5.", 5.0), ("017", 17.0)]


def said(help: str | None) -> float:
    """The first number that a help says to write."""
    found = re.search(r"write (?:v = |x=)?(\S+)", help or "")
    assert found, help
    return float(found[1])


@each_row(("text", "number"), ELSEWHERE)
def test_a_program_says_what_a_number_is_here(text: str, number: float) -> None:
    for form in ("v = {}", "v = {}*x", "v = x - {}", "input x = {}\nv = x"):
        if "%" in text and form == "v = {}*x" and not text.endswith("%"):
            continue
        with pytest.raises(AdError) as fault:
            parse(form.format(text))
        if fault.value.fix:
            program = parse(fault.value.fix.applied(form.format(text)))
            at = {p.name: p.default if p.default is not None else 2.0 for p in program.params}
            assert evaluate(program, at, FLOAT)["v"] == {"v = {}*x": 2 * number, "v = x - {}": 2 - number}.get(form, number)
        else:
            assert said(fault.value.help) == number


@each_row(("text", "number"), [*ELSEWHERE, *ALONE])
@each_row("sign", ["", "-"])
def test_points_and_tables_say_what_a_number_is_here(text: str, number: float, sign: str) -> None:
    wanted = -number if sign else number
    if text != "1.5-105":   # a difference
        with pytest.raises(AdError) as fault:
            value("x", sign + text)
        assert said(fault.value.help) == wanted
    if "," not in text and " " not in text and text != "1.5-105":
        with pytest.raises(AdError):
            of_text("x", f"[{sign}{text}, 2]")
    with pytest.raises(Fault) as bad:
        field_number((sign + text).encode())
    assert (bad.value.help == "--decimal , reads decimal commas") == (text == "1,5")
    assert text == "1,5" or said(bad.value.help) == wanted


@each_row(("text", "number"), HERE)
def test_numbers_of_the_language_are_the_same_everywhere(text: str, number: float) -> None:
    assert value("x", text) == field_number(text.encode()) == evaluate(parse(f"v = {text}"), {}, FLOAT)["v"] == number
    assert as_number(text) is None


def test_a_number_is_read_as_python_reads_it_or_not_at_all() -> None:
    """Where digits are grouped as the language has it; where they are not, nothing is read in their place."""
    r = drawn("test_a_number_is_read_as_python_reads_it_or_not_at_all")
    for _ in range(3000):
        text = "".join(r.choice("0123456789___..eE+-") for _ in range(r.randint(1, 9)))
        tokens = [t for t in scan(text)[0] if t.type != "SEP"]
        if len(tokens) == 1 and tokens[0].type == "NUMBER" and float(text) < math.inf:
            assert re.fullmatch(r"\d*(?:(?<=\d)_\d{3})*\.?(?:\d*|\d{3}(?:_\d{3})+(?:_\d{1,2})?)(?:[eE][-+]?\d+)?", text), text
            assert float(text) == field_number(text.encode()) == value("x", text)


@each_row("sign", ["", "+", "-"])
@each_row(("text", "x"), [*ALONE, ("1.0d0", 1.0), ("1,234.5", 1234.5)])
def test_a_sign_belongs_to_the_number(sign, text, x):
    found = as_number(sign + text)
    assert found is not None and found.text == sign + text
    assert [float(c) for c in found.choices][:1] == [float(f"{sign}1") * x]

