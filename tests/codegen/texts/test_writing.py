"""Texts of doubles against Python's `repr`, which is another algorithm; and rows of texts."""
from __future__ import annotations

import json
import math
import struct
from contextlib import suppress
from random import Random

import numpy as np
import pytest
from adcli.codegen.machine.kernel import Kernel
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.codegen.texts import writing
from adcli.codegen.texts.writing import FieldColumn, NumberSpelling, TextColumn, WordColumn, filled, writer
from hypothesis import given, settings
from hypothesis import strategies as st
from session_seed import drawn


def bits(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, 0), x, math.nextafter(x, math.inf)]


def edges() -> list[float]:
    """Where notations, lengths and distances to the neighbours change; whole numbers and the smallest."""
    found = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, *(math.ldexp(n, -1074) for n in range(1, 400))]
    for exponent in range(-1074, 1024, 2):
        found += neighbours(math.ldexp(1.0, exponent))
    for exponent in range(-323, 309):
        found += [*neighbours(float(f"1e{exponent}")), float(f"5e{exponent - 1}"), -float(f"9.5e{exponent - 1}")]
    return [*found, *(float(10**k - 1) for k in range(1, 18)), *(10.0**k + 0.5 for k in range(16))]


def wild(random: Random, count: int) -> list[float]:
    """Doubles of any bits, and such as people have: few digits, and results."""
    any_bits = struct.unpack(f"<{count}d", random.randbytes(8 * count))
    return [*any_bits, *(round(random.uniform(-1e4, 1e4), random.randrange(6)) for _ in range(count)),
            *(random.gauss(0, 1) for _ in range(count))]


def texts(kernel: Kernel, values: list[float]) -> list[str]:
    return filled(kernel, len(values), [np.array(values), b"\n"], NumberSpelling()).decode().split("\n")[:-1]


def test_numbers_are_written_as_python_writes_them() -> None:
    values = [*edges(), *wild(drawn("texts of doubles"), 30_000)]
    assert texts(writer(), values) == list(map(repr, values))


@pytest.mark.parametrize("wrong", [
    ("sub i64 %vbr, %outside", "sub i64 %vbr, 0"), ("%closer, i64 1, i64 2", "%closer, i64 2, i64 2"),
    ("add i64 %q.log, 1", "add i64 %q.log, 2"), ("icmp ugt i64 %cut, 1 ", "icmp ugt i64 %cut, -2 "),
    ("i1 %over, %to.even", "i1 %over, %half"), ("icmp ule i64 %w10, %upper", "icmp ule i64 %w10, 0"),
    ("icmp ult i64 %exponent, 16", "icmp ult i64 %exponent, 15"), ("icmp ult i64 %above, 4", "icmp ult i64 %above, 3"),
    ("icmp ne i64 %e.hundreds, 0", "icmp ne i64 %e.hundreds, 1"), ("mul i64 %twos, 103", "mul i64 %twos, 102")],
    ids=lambda w: w[1])
def test_a_wrong_digit_is_noticed(wrong: tuple[str, str]) -> None:
    text = writing.text()
    assert wrong[0] in text
    broken = linked(object_code(text.replace(*wrong), level=0), writer().entry)
    values = [*edges(), *wild(drawn("wrong digits", *wrong), 3000)]
    assert texts(broken, values) != list(map(repr, values))


def test_rows_have_their_pieces_in_order() -> None:
    text, places = "a;é;ccc".encode(), np.array([[0, 1], [2, 4], [5, 8], [1, 1]])
    numbers = np.array([1.5, -math.inf, math.nan, -0.0])
    pieces = [b"<", TextColumn(text, places), b"", numbers, b"%s",
              WordColumn(np.array([1.0, 0.0, 2.0, 1.0]), [b"no", b"", b"yes"]), b"\n"]
    spelling = NumberSpelling(b",", (b'"NaN"', b'"Infinity"', b'"-Infinity"'))
    assert filled(writer(), 4, pieces, spelling).decode() == '<a1,5%s\n<é"-Infinity"%sno\n<ccc"NaN"%syes\n<-0,0%s\n'
    assert filled(writer(), 0, [np.array([]), b"\n"], spelling) == b""
    assert filled(writer(), 3, [], spelling) == b""


def test_the_longest_texts_have_room() -> None:
    values = np.full(1000, -2.2250738585072014e-308)
    assert filled(writer(), 1000, [values], NumberSpelling()) == b"-2.2250738585072014e-308" * 1000
    names = (b"n" * writing.NAME, b"i" * writing.NAME, b"j" * writing.NAME)
    assert filled(writer(), 2, [np.array([math.nan, -math.inf])], NumberSpelling(names=names)) == names[0] + names[2]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text('01.,-+eE"\\aé ', max_size=6), min_size=1, max_size=30), st.sampled_from(".,"))
def test_fields_are_values_of_json(words: list[str], mark: str) -> None:
    """As `json` writes the same: a field in quotes is that without, and a number is what JSON itself says is one."""
    fields = [f'"{w.replace(chr(34), chr(34) * 2)}"' if i % 2 or w.startswith('"') else w for i, w in enumerate(words)]
    text, ends = "".join(fields).encode(), np.cumsum([len(f.encode()) for f in fields])
    places = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    found = filled(writer(), len(words), [FieldColumn(text + b"\n", places), b"\n"], NumberSpelling(mark=mark.encode())).decode()
    assert found.split("\n")[:-1] == [as_json(word, mark) for word in words]


def as_json(word: str, mark: str) -> str:
    number = word if mark == "." else word.translate(str.maketrans(".,", "!."))
    with suppress(ValueError):
        if number == number.strip() and type(json.loads(number)) in (int, float):
            return number
    return json.dumps(word, ensure_ascii=False)
