"""Lines of JSON that are alike, against Python's reader of JSON; and which lines are not."""
from __future__ import annotations

import json
import math

import pytest
from adcli.codegen.texts.objects import object_reader, scanned_objects
from adcli.codegen.texts.reading import ScannedRows
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row

PIECES = [b'{"x": ', b' ,"n":', b', "y":', b" }"]


def scanned(text: bytes) -> ScannedRows | None:
    """x and y of the objects, and places of what is odd."""
    return scanned_objects(object_reader(), text, PIECES, [0, 2])


def line(x: str, n: str, y: str) -> bytes:
    return "".join(piece.decode() + value for piece, value in zip(PIECES, (x, n, y, ""), strict=True)).encode()


@pytest.mark.parametrize("n", ["1", "-0.5e+3", '""', '"a, {é}:"', "true", "false", "null"])
def test_numbers_among_other_values(n: str) -> None:
    lines = [line("1.5", n, "-0"), line("1e3", n, "9007199254740993"), line("0.1", n, "1e999")]
    found = scanned(b"\r\n".join(lines) + b"\n")
    assert found is not None
    text = b"\r\n".join(lines)
    assert [text[a:b] for a, b in found.places.tolist()] == lines
    assert found.numbers[0].tolist() == [1.5, 1000.0, 0.1] and math.copysign(1, found.numbers[2][0]) == -1
    assert [(row, member, text[a:b]) for row, member, a, b in found.odd.tolist()] == [
        (1, 2, b"9007199254740993"), (2, 2, b"1e999")]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.text('01.-+eE"\\tru nlfas,}\x01', max_size=6)] * 3), min_size=1, max_size=3))
def test_what_is_read_is_json(values: list[tuple[str, str, str]]) -> None:
    """Nothing is taken for an object of this form that is none, however it is cut up."""
    text = b"".join(line(*v) + b"\n" for v in [("1", "2", "3"), *values])
    found = scanned(text)
    if found is None:
        return
    for row, (start, end) in enumerate(found.places.tolist()):
        whole = json.loads(text[start:end])
        assert list(whole) == ["x", "n", "y"] and not isinstance(whole["n"], list | dict)
        assert found.odd.size or [float(whole["x"]), float(whole["y"])] == [found.numbers[i][row] for i in (0, 2)]


@each_row("other", [
    b"", b"\n", line("", "1", "2"), line("1", "", "2"), line("01", "1", "2"), line("+1", "1", "2"), line("1", "01", "2"),
    line(".5", "1", "2"), line("1.", "1", "2"), line('"1"', "1", "2"), line("null", "1", "2"), line("NaN", "1", "2"),
    line("1", "nan", "2"), line("1", "tru", "2"), line("1", "[1]", "2"), line("1", '"a\\n"', "2"), line("1", '"a', "2"),
    line("1", '"a\x01"', "2"), line("1 ", "1", "2"), line("1", "1", "2") + b" ", line("1", "1", "2") + b"\rx",
    line("1", "1", "2")[:-1], line("1", "1", "2").replace(b"x", b"z"), line("1", "1", "2")[1:], b"\r\n", b'{"x": 1}'])
def test_other_lines_are_handed_back(other: bytes) -> None:
    first = line("1", "1", "2") + b"\n"
    assert scanned(first) is not None and scanned(first[:-1]) is None
    assert scanned(first + other + b"\n") is None
    assert scanned(first + other + b"\n" + first) is None
