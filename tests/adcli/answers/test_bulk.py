"""Many points give the bytes that few give: in arrays, written by native code and without, or one by one."""
from __future__ import annotations

import json
from unittest import mock

import numpy as np
import pytest
from adcli.codegen.machine.kernel import NoExecutableMemory
from command import adcli
from hypothesis import given, settings
from hypothesis import strategies as st
from session_seed import each_choice, half

from adcli.answers import bulk, results
from adcli.answers.evaluation import NUMBERS_AT_ONCE
from adcli.input.points import span

PROGRAM = "v = abs(x)*log(y) + z\nw = 1/y"
POINTS = [["x=-1:1:7,y=-1:3:9,z=0.1:0.7:3"], ["x=0:1e-7:5,y=1e300,z=1:1e17:4"], ["x=1,y=1,z=0:3:4", "y=2,z=-0.0:1:3,x=1e16"],
          ["x=0:pi:9,y=inf,z=nan"], ["@p.json,x=0:1:2"], ["x=1", "y=2,z=0:1:3"], ["x=1,y=1,z=1"]]
MORE = [[], ["--status"], ["--fmt", "%.3g"], ["--hex"], ["-q", "--strict"]]


def no_writer(keep):
    """As where a system runs no code of ours."""
    raise NoExecutableMemory


def ways(*args):
    """What the way point by point and the two ways in arrays give."""
    found = []
    for many, block, writer in ((10**9, 5, bulk.writer), (0, 5, bulk.writer), (0, 1 << 15, bulk.writer), (0, 5, no_writer)):
        with mock.patch.object(results, "MANY", many), mock.patch.object(bulk, "BLOCK", block), \
                mock.patch.object(bulk, "writer", writer):
            found.append(adcli(*args))
    return found


@pytest.mark.parametrize("form", ["text", "json", "csv", "tsv"])
@pytest.mark.parametrize(("at", "more"), half(each_choice(POINTS, MORE)), ids=str)
def test_the_same_bytes(form, at, more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_text(json.dumps([{"y": 1, "z": 2.5}, {"z": 1e-5, "y": "NaN"}]))
    points = [word for spec in at for word in ("--at", spec)]
    first, *others = ways("grad", "-e", PROGRAM, *points, "--format", form, *more)
    assert first.code in (0, 4)
    for other in others:
        assert other == first


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_the_same_bytes_in_single_precision(form):
    first, *others = ways("grad", "-e", PROGRAM, "--at", "x=0:1e-7:5,y=0.1,z=1:1e17:4", "--format", form, "--precision", "single")
    assert first.code == 0 and others == [first] * 3


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
    columns = next(bulk.columns_of([span("x", "0:1:9007199254740992"), span("y", "0:pi:9007199254740992")], bulk.BLOCK))
    assert len(columns["x"]) == bulk.BLOCK


@pytest.mark.parametrize("grid", ["x=0:1:1e9,y=1", "x=0:1:1e15,y=0:1:1e15", "x=0:1:1e6,y=0:1:1e6,z=0:1:1e6"])
@pytest.mark.parametrize("file", ["g.npz", "g.npy", "g.parquet", "t.npz", "t.npy"])
def test_a_grid_that_memory_does_not_hold_is_refused_before_it_is_computed(file, grid, tmp_path, monkeypatch):
    """Text streams; a file of arrays has all of its points at once. Of tensors one point is computed, to see how large it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adcli.codegen.machine.memory.available", lambda: 1 << 33)
    tensors = ["-e", "input A(n), x, y, z = 1", "-e", "v = A(0)*x*y*z"], f"A=[1],{grid}"
    given, at = tensors if file.startswith("t") else (["-e", "param z = 1", "-e", "v = x*y*z"], grid)
    with mock.patch.object(bulk, "run_arrays", side_effect=AssertionError):
        ended = adcli("eval", *given, "--at", at, "-o", file)
    assert ended.code == 2 and "numbers needs" in ended.err and " of memory, but only " in ended.err
    assert "help: " in ended.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", [1, 600])
def test_a_block_has_no_more_numbers_where_a_program_has_more_results(count, tmp_path):
    """Memory depends neither on the number of points nor on that of results: 8 GB for 1000 results of 600,000 rows."""
    program = "\n".join(f"v{i} = x*{i}.5" for i in range(count))
    run, seen = bulk.run_arrays, []

    def counted(kernel, columns, rows):
        seen.append(rows)
        return run(kernel, columns, rows)
    with mock.patch.object(bulk, "run_arrays", counted):
        ended = adcli("eval", "-e", program, "--at", "x=0:1:2100", "--format", "csv", "-o", str(tmp_path / "out.csv"))
    assert ended.code == 0 and sum(seen) == 2100
    assert max(seen) * (count + 1) <= NUMBERS_AT_ONCE
