"""Points at the command line: lists, ranges, grids, files."""
from __future__ import annotations

import csv
import io
import math
import pathlib

import numpy as np
import pytest
from command import adcli, succeeds

pytestmark = pytest.mark.usefixtures("empty_folder")


def column(form: list[str], program: str = "x + y") -> list[list[float]]:
    """The inputs and the value at every point."""
    rows = list(csv.reader(io.StringIO(succeeds("eval", "-e", program, *form, "--format", "csv").out)))
    return [[float(x) for x in row] for row in rows[1:]]


def test_several_points():
    assert column(["--at", "x=1,y=2", "--at", "x=3,y=4"]) == [[1, 2, 3], [3, 4, 7]]
    assert succeeds("eval", "-e", "x + y", "--at", "x=1,y=2", "--at", "y=4,x=3").out == \
        "# x = 1.0, y = 2.0\nf = 3.0\n\n# x = 3.0, y = 4.0\nf = 7.0\n"


def test_ranges_and_grids():
    assert column(["--at", "x=0:1:3,y=0"]) == [[0, 0, 0], [0.5, 0, 0.5], [1, 0, 1]]
    assert column(["--at", "x=0:1:2,y=10:30:3"]) == [[x, y, x + y] for x in (0, 1) for y in (10, 20, 30)]
    assert column(["--at", "x=1:-1:3,y=2:2:1"]) == [[1, 2, 3], [0, 2, 2], [-1, 2, 1]]


def test_every_point_of_a_range_is_the_nearest_double():
    assert [x for x, *_ in column(["--at", "x=0:0.3:4"], "x")] == [0.0, 0.1, 0.2, 0.3]
    assert [x for x, *_ in column(["--at", "x=1:10:10"], "x")] == [float(i) for i in range(1, 11)]
    assert [x for x, *_ in column(["--at", "x=0:pi:2"], "x")] == [0.0, math.pi]
    assert [x for x, *_ in column(["--at", "x=-1e308:1e308:3"], "x")] == [-1e308, 0.0, 1e308]


def test_numbers_as_in_the_language():
    for text, number in (("pi/2", math.pi / 2), (".5", 0.5), ("1_000", 1000.0), ("0x1.8p-2", 0.375), ("-2**2", -4.0),
                        ("inf", math.inf)):
        assert column(["-q", "--at", f"x={text}"], "x")[0] == [number, number]


def test_points_from_a_file():
    for content in ('{"x": 1, "y": 2}', '[{"x": 1, "y": 2}]', '\ufeff{"y": 2, "x": 1}\n'):
        pathlib.Path("p.json").write_text(content)
        assert column(["--at", "@p.json"]) == [[1, 2, 3]]
    pathlib.Path("p.json").write_text('{"x": 1}\n\n{"x": 2}\n')
    assert column(["--at", "y=0:1:2,@p.json"]) == [[1, 0, 1], [2, 0, 2], [1, 1, 2], [2, 1, 3]]
    pathlib.Path("p.json").write_text("[]")
    assert column(["--at", "@p.json"]) == []


# ---------------------------------------------------------------- first guesses

@pytest.mark.parametrize(("at", "want"), [
    (["x=3", "y=2"], [[3, 2, 5]]),
    (["y=2", "x=3"], [[3, 2, 5]]),
    (["x=0:1:2", "y=2"], [[0, 2, 2], [1, 2, 3]]),
    (["x=3,y=2", "x=1,y=1"], [[3, 2, 5], [1, 1, 2]]),
])
def test_parts_of_one_point(at, want):
    assert column([word for spec in at for word in ("--at", spec)]) == want


def test_one_point_in_parts_has_no_heading():
    assert succeeds("eval", "-e", "x + y", "--at", "x=3", "--at", "y=2").out == "f = 5.0\n"


@pytest.mark.parametrize(("program", "at", "said"), [
    ("x + y", ["x=3", "x=1"], "no value for y"), ("x + y", ["x=3,y=1", "x=1"], "no value for y"),
    ("x + y + z", ["x=3", "y=1"], "no value for z"),
    ("x + y", ["x=" + "1" * 400 + ",y=2"], "this number is too large for a double"),
    ("x + y", ["x=0..1,y=2"], "x=0..1: a range is first:last:count\nhelp: write x=0:1:11 for 11 points"),
    ("x + y", ["x=3,5,y=2"], "'5' is not name=value\nhelp: a decimal point, not a comma: write --at x=3.5,y=2"),
    ("x + y", ["x=-3,5,y=2,25"], "write --at x=-3.5,y=2.25"), ("x + y", ["x=,5,y=1"], "write --at x=.5,y=1"),
    ("x + y", ["x=3,5,7,y=1"], "'5' is not name=value\nhelp: write --at x=2,y=5"),
    ("x + y", ["x=1,five"], "'five' is not name=value"),
    ("input x(N)\ns *=! x(i)", ["x=3,5"], "write --at x=[3,5,…]"),
])
def test_points_that_are_none(program, at, said):
    ended = adcli("eval", *[word for line in program.split("\n") for word in ("-e", line)],
                  *[word for spec in at for word in ("--at", spec)])
    assert (ended.code, said in ended.err) == (2, True), ended.err


def test_defaults_leave_points_apart():
    """Each of these is a whole point."""
    program = ["-e", "input x = 1, y = 2", "-e", "v = x + y"]
    assert succeeds("eval", *program, "--at", "x=3", "--at", "y=5").out == (
        "# x = 3.0, y = 2.0\nv = 5.0\n\n# x = 1.0, y = 5.0\nv = 6.0\n")


@pytest.mark.parametrize(("at", "given", "want"), [
    (["x=@-,y=1"], b" 2.5\n", [[2.5, 1, 3.5]]), (["x=@-", "y=1"], b"\xef\xbb\xbfpi/2", [[math.pi / 2, 1, 1 + math.pi / 2]]),
    (["@-"], b'[{"x": 1, "y": 2}, {"y": 3, "x": 4}]', [[1, 2, 3], [4, 3, 7]]), (["x=@n.txt,y=1"], b"", [[7, 1, 8]]),
])
def test_values_from_standard_input_and_files(at, given, want):
    pathlib.Path("n.txt").write_text("7\n")
    ended = adcli("eval", "-e", "x + y", *[word for spec in at for word in ("--at", spec)], "--format", "csv", stdin=given)
    assert [[float(x) for x in row] for row in list(csv.reader(io.StringIO(ended.out)))[1:]] == want, ended


def test_tensors_from_standard_input():
    for given in (b"[1, 2, 3]", b"1,2,3", npy([1.0, 2.0, 3.0])):
        ended = adcli("eval", "-e", "input x(N)", "-e", "s *=! x(i)", "--at", "x=@-", stdin=given)
        assert (ended.code, ended.out) == (0, "s = 6.0\n"), ended


def npy(numbers):
    stream = io.BytesIO()
    np.save(stream, numbers)
    return stream.getvalue()


@pytest.mark.parametrize(("args", "given", "said"), [
    (["-e", "x + y", "--at", "x=@-,y=@-"], b"1", "--at @- can be standard input once"),
    (["-", "--at", "x=@-"], b"v = x", "the program and --at @- cannot both be standard input"),
    (["-e", "x + y", "--data", "-", "--at", "y=@-"], b"x\n1\n", "--data and --at @- cannot both be standard input"),
    (["-", "--data", "-"], b"v = x", "the program and --data cannot both be standard input"),
    (["-e", "x", "--at", "x=@-"], b"1 2\n", "'x' is one number, and there are 2 words\nhelp: rows of numbers go to --data"),
    (["-e", "x", "--at", "x=@-"], b"", "there are 0 words"), (["-e", "x", "--at", "x=@-"], b"abc", "x=abc: not a constant"),
    (["-e", "x", "--at", "x=@-"], b"\xff\xfe", "x=@-: expected a number, not a tensor"),
    (["-e", "x", "--at", "x=@none"], b"", "none: No such file"),
    (["-e", "x", "--at", "x=@"], b"", "x=@ needs a file name"),
])
def test_what_standard_input_cannot_be(args, given, said):
    ended = adcli("eval", *args, stdin=given)
    assert (ended.code, said in ended.err) == (2, True), ended.err
