"""How C writes numbers and names."""
from __future__ import annotations

import math
import re

from adcli.codegen.c.language import Helpers
from adcli.codegen.c.spelling import KEYWORDS, LANGUAGE, MATHS, identifier, language, number
from adcli.lang.operations.precision import DOUBLE
from hypothesis import given
from hypothesis import strategies as st
from random_programs import law
from row_tables import each_row


@each_row("value, text", [
    (2.0, "2.0"), (-0.0, "-0.0"), (0.5, "0.5"), (-0.125, "-0.125"), (0.1, "0x1.999999999999ap-4"), (1e15, "1000000000000000.0"),
    (1e16, "0x1.1c37937e08p+53"), (5e-324, "0x0.0000000000001p-1022"), (2.0 ** 60, "0x1p+60"), (math.inf, "(double)INFINITY"),
    (-math.inf, "-(double)INFINITY"), (math.nan, "(double)NAN")])
def test_numbers(value: float, text: str) -> None:
    assert number(value)[0] == text


@law(130)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_with_its_bits(value: float) -> None:
    text = number(value)[0]
    back = float.fromhex(text) if "x" in text else float(text)
    assert (back, math.copysign(1, back)) == (value, math.copysign(1, value))


@each_row("name, letters", [
    ("x", "x"), ("α", "alpha"), ("Δt", "deltat"), ("größe", "gro_e"), ("x̂", "x"), ("a·b", "a_b"), ("_u", "v_u"), ("__", "v_"),
    ("NAN", "v_NAN"), ("I", "I"), ("1st", "v_1st"), ("变", "v_"), ("x₂", "x2"), ("ﬁ", "fi"), ("é", "e")])
def test_names(name: str, letters: str) -> None:
    assert identifier(name) == letters


@law(40)
@given(st.lists(st.text(min_size=1, max_size=8), max_size=20))
def test_every_name_is_one_of_c_and_no_two_are_the_same(hints: list[str]) -> None:
    names = Helpers(language(DOUBLE), ["f"])
    given_names = [names.named(hint) for hint in hints]
    assert len(set(given_names)) == len(given_names)
    for name in given_names:
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name, re.ASCII)
        assert name not in KEYWORDS | MATHS | {"f"}


def test_a_symbol_is_a_name_of_c_and_stays_one() -> None:
    for text in ("worked_grad", "a b", "sin", "1", "in", "α_grad", "-x.y"):
        assert LANGUAGE.symbol(LANGUAGE.symbol(text)) == LANGUAGE.symbol(text)
    assert LANGUAGE.symbol("worked_grad") == "worked_grad"
