"""Tensors as text, JSON, CSV and arrays: the numbers that went in, in the place where they were, within the room there is."""
from __future__ import annotations

import io
import itertools
import json
import re

import numpy as np
import pytest
from adcli.codegen.machine import memory
from adcli.codegen.machine.memory import amount
from adcli.lang.ir.errors import AdError

from adcli.output import tensors
from adcli.output.layout import Layout, Row
from adcli.output.numbers import number_format, shortest

SHAPES = [(0,), (1,), (12,), (16,), (17,), (40,), (0, 3), (2, 0), (1, 1), (3, 4), (5, 9), (2, 30), (7, 8), (2, 2, 2), (2, 0, 3),
          (3, 2, 25)]
WIDTH, MANY = 100, 1000
BIG = [(1001,), (1200,), (4, 300), (300, 4), (7, 150), (8, 130), (2, 3, 200), (10, 11, 12)]


def filled(shape, seed=0):
    """An array of numbers of many lengths, some of which are none."""
    rng = np.random.default_rng([seed, *shape])
    x = np.array(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 9, size=shape)).round(3, out=np.empty(shape))
    x[rng.random(shape) < 0.1] = np.nan
    x[rng.random(shape) < 0.1] = -np.inf
    return x


def lines_of(x, cut=False, name="y", number=shortest):
    return list(tensors.result_lines(name, x, number, cut))


def joined(lines):
    return " ".join(line.strip() for line in lines)


def corners(x):
    """Nested lists of the texts of a tensor where the middle of each long dimension is left out."""
    if x.ndim == 0:
        return repr(x.item())
    kept = [corners(part) for part in x]
    return f"[{', '.join(kept if len(kept) <= 7 else [*kept[:3], '…', *kept[-3:]])}]"


@pytest.mark.parametrize("shape", [*SHAPES, *BIG], ids=str)
def test_text_has_every_number_in_its_place(shape):
    x = filled(shape)
    lines = lines_of(x)
    assert joined(lines) == f"y = {x.tolist()!r}"
    assert (len(lines) == 1) == (len(joined(lines)) <= WIDTH)
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("shape", [*SHAPES, *BIG], ids=str)
def test_lines_begin_below_their_bracket_and_are_full(shape):
    before = ""
    head, lines = len("name = "), lines_of(filled(shape), name="name")
    for line, following in itertools.zip_longest(lines, lines[1:]):
        depth = before.count("[") - before.count("]")
        if before:
            assert len(line) - len(line.lstrip()) == head + depth
        before += line
        if following is None or len(lines) == 1:
            continue
        room = WIDTH + head + len(shape) - 1
        assert len(line.rstrip("],")) < room
        if line.endswith(("],", "]")):
            continue
        fits = re.match(r"\s*([^,\]]*(?:,|\]))", following)[1]
        assert len(line) + 1 + len(fits) + fits.endswith(",") > room, "one more number would have had room"


@pytest.mark.parametrize("shape", BIG, ids=str)
def test_a_terminal_is_shown_corners_of_what_is_large(shape):
    x = filled(shape)
    assert joined(lines_of(x, cut=True)) == f"y = {corners(x)}"
    assert tensors.is_cut([1.0, x]) and not tensors.is_cut([1.0, x.reshape(-1)[:MANY]])
    small = filled((MANY,))
    assert lines_of(small, cut=True) == lines_of(small)


def test_a_number_longer_than_a_line_has_one_of_its_own():
    x = np.array([1.5, 2.5, 3.5])
    assert lines_of(x, number=lambda v: f"{v:.120f}") == [
        f"{'    ' if i else 'y = '}{' ' if i else '['}{v:.120f}{']' if v == 3.5 else ','}" for i, v in enumerate(x)]
    assert lines_of(np.array(2.0)) == lines_of(2.0) == ["y = 2.0"]
    assert lines_of(np.array([0.25, 2]), number=number_format("%.1f", False)) == ["y = [0.2, 2.0]"]


# ---------------------------------------------------------------- JSON and CSV

NON_FINITE = {"NaN": np.nan, "-Infinity": -np.inf, "Infinity": np.inf}


@pytest.mark.parametrize("shape", [(), *SHAPES], ids=str)
def test_json_reads_back(shape):
    x = filled(shape)
    for value in (x, np.where(np.isfinite(x), x, 0.5)):
        for number in (shortest, number_format("%.17e", False)):
            text = json.dumps(tensors.json_tensor(value, number), allow_nan=False)
            found = np.vectorize(lambda v: NON_FINITE.get(v, v), otypes=[float])(np.array(json.loads(text), object)) \
                if value.size else np.array(json.loads(text)).reshape(shape)
            assert np.array_equal(found, value, equal_nan=True)


def test_json_has_the_digits_that_are_asked_for_and_whole_numbers_as_such():
    coarse = number_format("%.1f", False)
    assert tensors.json_tensor(np.array([[0.123, np.inf]]), coarse) == [[0.1, "Infinity"]]
    assert tensors.json_tensor(0.123, coarse) == tensors.json_tensor(np.array(0.123), coarse) == 0.1
    for number in (shortest, coarse):
        assert repr(tensors.json_tensor(np.array([3, 4]), number)) == "[3, 4]"
        assert repr(tensors.json_tensor(np.array(3), number)) == "3"
        assert repr(tensors.json_tensor(3.0, number)) == "3.0" and repr(tensors.json_tensor(3, number)) == "3"


def layout(*names):
    return Layout(None, ("x",), "", {}, names, ())


@pytest.mark.parametrize(("x", "want"), [
    (np.array(2.0), "2.0\n"), (2.0, "2.0\n"), (np.array([1.0, 2.0]), "1.0\n2.0\n"), (np.zeros(0), ""), (np.zeros((0, 2)), ""),
    (np.zeros((2, 0)), "\n\n"),
    (np.array([[1.0, 2.0], [3.0, np.nan]]), "1.0,2.0\n3.0,nan\n"), (np.array([[1.0, 2.0]]), "1.0,2.0\n")])
def test_csv_is_a_matrix(x, want):
    for separator in ",\t":
        assert "".join(tensors.csv_matrix(layout("y"), Row({}, [x], 0), shortest, separator)) == want.replace(",", separator)


@pytest.mark.parametrize(("act", "said", "help"), [
    (lambda: list(tensors.csv_matrix(layout("y"), Row({}, [np.zeros((1, 2, 3))], 0), shortest, "\t")),
     "--format tsv writes matrices, but 'y' has 3 dimensions", "write -o FILE.npy"),
    (lambda: list(tensors.csv_matrix(layout("y", "z"), Row({}, [1.0, 2.0], 0), shortest, ",")),
     "--format csv holds one tensor, but the results are y, z", "use -o FILE.npz or --format json"),
    (lambda: tensors.write_arrays(io.BytesIO(), "npy", layout("y", "z"), [Row({}, [1.0, 2.0], 0)], 1),
     "an .npy file holds one tensor, but the results are y, z", "use -o FILE.npz or --format json"),
    (lambda: tensors.together("y", [np.zeros(2), np.zeros(2), np.zeros(3)]),
     "'y' has shape (2,) at one point and (3,) at another; an array file needs one shape",
     "use --format json, or one file per point"),
])
def test_what_a_file_cannot_hold(act, said, help):
    with pytest.raises(AdError) as found:
        act()
    assert (str(found.value.message), found.value.help) == (said, help)


# ---------------------------------------------------------------- arrays

def test_arrays_read_back_and_are_the_same_bytes_again():
    a, b = filled((2, 3)), np.asfortranarray(filled((3, 2), 1))
    rows = [Row({}, [a, b, 1.5], 0)]
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        tensors.write_arrays(file, "npz", layout("a", "b", "c"), rows, 1)
    assert files[0].getvalue() == files[1].getvalue()
    with np.load(io.BytesIO(files[0].getvalue())) as found:
        assert list(found) == ["a", "b", "c"]
        for name, want in zip("abc", rows[0].results, strict=True):
            assert np.array_equal(found[name], want, equal_nan=True) and found[name].flags.c_contiguous
            assert not np.lib.format.isfileobj(found[name])
    single = io.BytesIO()
    tensors.write_arrays(single, "npy", layout("b"), [Row({}, [b], 0), Row({}, [2*b], 0)], 2)
    assert np.array_equal(np.load(io.BytesIO(single.getvalue())), np.stack([b, 2*b]), equal_nan=True)
    assert b"'fortran_order': False" in single.getvalue()


# ---------------------------------------------------------------- room

def test_what_has_no_room_is_refused_before_it_is_made(monkeypatch):
    """The memory that is free is asked for only where the size is worth asking."""
    asked = []
    monkeypatch.setattr(memory, "UNASKED_BYTES", 1000)
    monkeypatch.setattr(memory, "available", lambda: asked.append(1) or 5000)
    for count, questions in ((5, 0), (6, 1), (25, 1)):   # of 25 numbers of 8 bytes: 1000, 1200 and 5000
        asked.clear()
        tensors.together("y", [np.zeros(25)] * count)
        assert len(asked) == questions
    with pytest.raises(AdError) as found:
        tensors.together("y", [np.zeros(25)] * 26)
    assert str(found.value.message) == f"'y' at 26 points needs {amount(5200)} of memory, but only {amount(5000)} is free"
    with pytest.raises(AdError, match="a file of 1 × 10 numbers needs"):
        tensors.write_arrays(io.BytesIO(), "npz", layout("y"), [Row({}, [1.0], 0)], 10)
    many = MANY
    tensors.require_text_room([np.zeros(many - 1), 1.0])
    with pytest.raises(AdError,
                       match=f"the text of {many + 1:,} numbers needs {re.escape(amount(100 * (many + 1)))} of memory"):
        tensors.require_text_room([np.zeros(many), 1.0])
