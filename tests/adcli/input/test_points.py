"""Points at the command line: lists, ranges, grids, files."""
from __future__ import annotations

import csv
import io
import math
import pathlib

import pytest
from command import succeeds

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
