"""Formats: numbers in shortest digits, plain JSON, CSV."""
from __future__ import annotations

import csv
import io
import math
import sys

import pytest
from command import adcli, succeeds

from adcli.output.numbers import shortest

pytestmark = pytest.mark.usefixtures("empty_folder")

AWKWARD = ["grad", "-e", "v = x/y", "-e", "w = log(x)", "--at", "x=-1:1:3,y=-0.0", "--at", "x=1e-320,y=3", "--at", "x=nan,y=inf"]


def test_json_is_always_valid():
    records = adcli(*AWKWARD, "--format", "json").records
    assert len(records) == 5
    assert records[1]["value"] == {"v": "NaN", "w": "-Infinity"}
    assert records[0]["value"]["v"] == "Infinity"
    assert records[4]["at"] == {"x": "NaN", "y": "Infinity"}


def test_csv_has_the_same_numbers_as_json():
    def flat(record):
        partials = [x for of in record["grad"].values() for x in of.values()]
        return [float(x) for x in (*record["at"].values(), *record["value"].values(), *partials)]
    rows = list(csv.reader(io.StringIO(adcli(*AWKWARD, "--format", "csv").out)))
    assert rows[0] == ["x", "y", "v", "w", "dv_dx", "dv_dy", "dw_dx", "dw_dy"]
    for row, record in zip(rows[1:], adcli(*AWKWARD, "--format", "json").records, strict=True):
        assert list(map(repr, map(float, row))) == list(map(repr, flat(record)))


def test_csv_ends_its_lines_with_a_line_feed():
    assert succeeds("eval", "-e", "x", "--at", "x=1", "--format", "csv").data == b"x,f\n1.0,1.0\n"


def test_numbers_are_the_shortest_that_read_back():
    for x in (0.1, 3.0, 1e-300, 5e-324, 1e16, 1e22, -0.0, 1 / 3, 2.0**53, math.inf):
        text = adcli("eval", "-e", "x", "-q", "--at", f"x={x!r}").out
        assert text == f"f = {shortest(x)}\n"
        assert any(c in shortest(x) for c in ".en")
        assert math.copysign(1, float(shortest(x))) == math.copysign(1, x)
        assert float(shortest(x)) == x


EXTREME = [sys.float_info.max, -sys.float_info.max, 1.75e308, 9.99e307, 5e-324, -5e-324, sys.float_info.min, 0.0, -0.0, 1e22,
           math.inf, math.nan]


@pytest.mark.parametrize("template", ["%.0e", "%.3e", "%.1g", "%g", "%.0f", "%+ .2E", "%#.1G", "%300.3e"])
@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_a_rounded_number_is_finite_where_the_number_is(template, form):
    """At points and on rows: whoever reads a result reads a number of the same kind."""
    points = [arg for x in EXTREME for arg in ("--at", f"x={x!r}")]
    rows = "x\n" + "".join(f"{x!r}\n" for x in EXTREME)
    for args, given in ((points, b""), (["--data", "-"], rows.encode())):
        ended = adcli("eval", "-e", "x", *args, "--fmt", template, "--format", form, "-q", stdin=given)
        assert ended.code == 0, ended
        if form == "json":
            found = [float(r["value"]["f"] if "value" in r else r["f"]) for r in ended.records]
        elif form == "csv":
            found = [float(line.split(",")[1]) for line in ended.out.splitlines()[1:]]
        else:
            found = [float(line.split("=")[1]) for line in ended.out.splitlines() if line.startswith("f = ")]
        assert [(math.isfinite(x), x != x) for x in found] == [(math.isfinite(x), x != x) for x in EXTREME]


@pytest.mark.parametrize("command", [
    ("eval", "-e", "x", "--digits"), ("grad", "-e", "x", "--digits"), ("trace", "-e", "y = x + 0", "--tangent", "x=1"),
    ("propagate", "-e", "x", "--at", "x=1±1.79e308"), ("jacobian", "-e", "input x(N); y(i) = x(i) + 0", "--at", "x=[1.79e308]")])
def test_a_template_ends_well_with_every_verb_that_takes_one(command):
    at = () if "--at" in command else ("--at", "x=1.7976931348623157e308")
    for form in ("text", "json"):
        ended = adcli(*command, *at, "--fmt", "%.1e", "--format", form, "-q")
        assert ended.code == 0, ended
        assert form == "text" or ended.records
