"""Rows of texts: their pieces in order, room for the longest, and fields as JSON has them."""
from __future__ import annotations

import json
import math
from contextlib import suppress

import numpy as np
from adcli.codegen.texts.shortest import NAME
from adcli.codegen.texts.writing import FieldColumn, NumberSpelling, TextColumn, WordColumn, filled, writer
from hypothesis import given, settings
from hypothesis import strategies as st


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
    names = (b"n" * NAME, b"i" * NAME, b"j" * NAME)
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
