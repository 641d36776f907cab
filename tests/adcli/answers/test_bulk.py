"""Many points give the bytes that few give: in arrays, with polars and without, or one by one."""
from __future__ import annotations

import json
from unittest import mock

import numpy as np
import pytest
from command import adcli
from hypothesis import given, settings
from hypothesis import strategies as st

from adcli.answers import bulk, results
from adcli.input.points import span
from adcli.output import lines

PROGRAM = "v = abs(x)*log(y) + z\nw = 1/y"
POINTS = [["x=-1:1:7,y=-1:3:9,z=0.1:0.7:3"], ["x=0:1e-7:5,y=1e300,z=1:1e17:4"], ["x=1,y=1,z=0:3:4", "y=2,z=-0.0:1:3,x=1e16"],
          ["x=0:pi:9,y=inf,z=nan"], ["@p.json,x=0:1:2"], ["x=1", "y=2,z=0:1:3"], ["x=1,y=1,z=1"]]


def ways(*args):
    """What the way point by point and the two ways in arrays give."""
    found = []
    for many, block, there in ((10**9, 5, True), (0, 5, True), (0, 1 << 15, True), (0, 5, False)):
        with mock.patch.object(results, "MANY", many), mock.patch.object(bulk, "BLOCK", block), \
                mock.patch.object(lines, "find_spec", lambda _, there=there: there or None):
            found.append(adcli(*args))
    return found


@pytest.mark.parametrize("form", ["text", "json", "csv", "tsv"])
@pytest.mark.parametrize("at", POINTS, ids=" ".join)
def test_the_same_bytes(form, at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_text(json.dumps([{"y": 1, "z": 2.5}, {"z": 1e-5, "y": "NaN"}]))
    points = [word for spec in at for word in ("--at", spec)]
    for more in ([], ["--status"], ["--fmt", "%.3g"], ["--hex"], ["-q", "--strict"]):
        first, *others = ways("grad", "-e", PROGRAM, *points, "--format", form, *more)
        assert first.code in (0, 4)
        for other in others:
            assert other == first


@pytest.mark.parametrize("args", [
    ("jvp", "-e", "v = x*y", "--tangent", "x=2", "--at", "x=1:2:5,y=3"), ("eval", "-e", "x % 2", "--at", "x=1:2:5"),
    ("taylor", "-e", "input x in [0, 1]\nv = sin(x)", "--at", "x=0.5:2:6"), ("hessian", "-e", "x**3*y", "--at", "x=1:2:5,y=3"),
    ("grad", "-e", "input x1, x2\nv = x1", "--at", "x1=1:2:3,x2=1,x3=4"), ("eval", "-e", "v = 2", "--at", ""),
], ids=lambda args: args[0])
def test_every_verb_and_note(args):
    for form in ("text", "json", "csv"):
        first, *others = ways(*args, "--format", form)
        for other in others:
            assert other == first


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), st.floats(allow_nan=False, allow_infinity=False)),
       st.one_of(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), st.floats(allow_nan=False, allow_infinity=False)),
       st.integers(2, 10**7), st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_a_range_is_the_same_at_once(first, last, count, places):
    axis, index = span("x", f"{first!r}:{last!r}:{count}"), np.array([*(i % count for i in places), 0, count - 1])
    assert axis.values(index).tolist() == [axis[i]["x"] for i in index.tolist()]


def test_an_endless_grid_begins_at_once():
    ended = adcli("eval", "-e", "x*y", "--at", "x=0:1:9007199254740992,y=0:1:9007199254740992", "--format", "nonsense")
    assert ended.code == 2
    columns = next(bulk.columns_of([span("x", "0:1:9007199254740992"), span("y", "0:pi:9007199254740992")]))
    assert len(columns["x"]) == bulk.BLOCK
