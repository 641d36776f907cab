"""Numbers in fields of tables and in JSON: which texts are numbers, which number each is, and what is said of the others."""
from __future__ import annotations

import math
import random
import re

import pytest
from adcli.lang.ir.errors import AdError

from adcli.input.fields import CHARACTERS_SHOWN, Fault, field_number, shown
from adcli.input.values import json_number, one_text

UNGROUPED = re.compile(r"_(?!\d{3}(?!\d))|(?<=\d{4})_|(?<=\.)_|(?<=\.\d)_|(?<=\.\d\d)_|e.*_")
LAST_GROUP = re.compile(r"(?<=\.\d{3}_\d{3})_\d{1,2}(?!\d)")


def reference(text: str) -> float | None:
    """Python's own reading, without what only Python takes: digits that are not grouped by three, hexadecimal numbers without
    0x."""
    bare = text.strip(" \t")
    try:
        if "x" in bare.lower():
            digits, p, exponent = bare.lower().partition("p")
            plain = re.sub(r"(?<=[0-9a-f])_(?=[0-9a-f])", "", digits) + p + exponent
            return float.fromhex(plain) if plain.lstrip("+-").startswith("0x") else None
        ungrouped = UNGROUPED.search(LAST_GROUP.sub("", bare.lower()))
        return None if ungrouped else float(bare)
    except OverflowError:
        return math.inf
    except ValueError:
        return None


def same(found: float, want: float) -> bool:
    return found == want or (found != found and want != want)


def test_a_field_is_the_number_that_python_reads_in_it() -> None:
    r = random.Random(1)
    pieces = [*"+-01_.ey \t", "27", "E5", "e-3", "e+400", "0x", "0X1F", "p4", "P-2", "inf", "INFINITY", "nan", "9" * 400]
    numbers = 0
    for _ in range(1500):
        text = "".join(r.choices(pieces, k=r.randint(0, 4)))
        if "x" in text.lower():   # Python finds 400 digits too large before it finds that they are no number
            text = text.replace("9" * 400, "9")
        want = reference(text)
        large = want is not None and math.isinf(want) and "inf" not in text.lower()
        try:
            found = field_number(text.encode())
        except Fault as fault:
            assert want is None or large, (text, want)
            assert fault.reason == f"{shown(text)} is {'too large for a double' if large else 'not a number'}"
            continue
        numbers += 1
        assert want is not None and same(found, want) and not large, text
    assert numbers > 100


def test_a_hexadecimal_number_may_be_too_large() -> None:
    assert field_number(b"0x1p1023") == 2.0**1023
    with pytest.raises(Fault, match="'0x1p1024' is too large for a double"):
        field_number(b"0x1p1024")


@pytest.mark.parametrize("text", ["1.5", "1.234", "-.25e3", "1_000.5", " 2.\t", "inf", "nan", "7"])
def test_a_decimal_comma_is_a_point(text: str) -> None:
    assert same(field_number(text.replace(".", ",").encode(), comma=True), float(text))
    if "." in text:
        with pytest.raises(Fault, match="is not a number") as fault:
            field_number(text.replace(".", ",").encode())
        thousands = "; without them write 1234" if text == "1.234" else ""
        assert fault.value.help == f"--decimal , reads decimal commas{thousands}"
        with pytest.raises(Fault, match="is not a number") as fault:
            field_number(text.encode(), comma=True)
        assert fault.value.help is None


@pytest.mark.parametrize("text", [b"1,2,3", b"a,b", b"", b"1,x", b"1;5"])
def test_what_is_no_number_with_a_comma_gets_no_advice(text: bytes) -> None:
    with pytest.raises(Fault, match="is not a number") as fault:
        field_number(text)
    assert fault.value.help is None


def test_a_field_is_shown_in_one_line_of_some_length() -> None:
    most = "x" * CHARACTERS_SHOWN
    assert CHARACTERS_SHOWN == 40
    assert (shown(most), shown(most + "x")) == (f"'{most}'", f"'{most[1:]}…'")
    assert shown(b"a\nb\x1b\xff") == "'a�b��'"


# ---------------------------------------------------------------- JSON

@pytest.mark.parametrize(("text", "number"), [
    ("2", 2.0), ("-1.5e3", -1500.0), ("NaN", math.nan), ("-Infinity", -math.inf), ('"NaN"', math.nan), ('"Infinity"', math.inf),
    ('"-Infinity"', -math.inf), ('"0x1.8p+1"', 3.0), ('"-0x1p-1074"', -5e-324), ("9007199254740993", 9007199254740992.0)])
def test_numbers_in_json(text: str, number: float) -> None:
    [x] = one_text("p", text)
    assert same(json_number("'x'", x), number)


@pytest.mark.parametrize(("text", "said"), [
    *((text, "'x' is not a number") for text in ("true", "null", '"1.5"', '"0x1.8"', '{"y": 1}')),
    ("1e999", "'x' is too large for a double"), ("-1e999", "'x' is too large for a double"),
    ('"0x1p9999"', "'x'=0x1p9999: this number is too large for a double")])
def test_what_json_has_that_is_no_number(text: str, said: str) -> None:
    [x] = one_text("p", text)
    with pytest.raises(AdError) as fault:
        json_number("'x'", x)
    assert fault.value.message == said
    assert (fault.value.help == 'infinity is written "Infinity"') is ("1e999" in text)


def test_one_object_gives_each_name_once() -> None:
    assert one_text("p", '[{"x": 1}, {"x": 2}]') == [{"x": 1.0}, {"x": 2.0}]
    assert one_text("p", '{"a": {"x": 1}, "x": 2}') == [{"a": {"x": 1.0}, "x": 2.0}]
    with pytest.raises(AdError, match="error: p: 'x' is given twice in one object"):
        one_text("p", '{"x": 1, "x": 1}')
    with pytest.raises(AdError, match="error: p: JSON nested too deeply"):
        one_text("p", "[" * 100_000)
