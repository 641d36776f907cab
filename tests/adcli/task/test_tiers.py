"""--tier: the same bytes from a tape and from compiled code, in every form of results, from the cache and without it."""
from __future__ import annotations

import re
import threading

import pytest
from adcli.codegen.machine.kernel import Kernel, TapeKernel
from adcli.codegen.rows import jit, tiers
from adcli.lang.ir.errors import Source
from command import adcli, succeeds

import adcli as api
from adcli.task import tasks
from adcli.task.request import Request

PROGRAM = "input x in [-2, 2]; input y\nu = select(x < 0, x*sin(y), exp(x)/y)\nv = hypot(u, y)*lgamma(x) - max(x, y)"
ROWS = b"x,y\n1,2\n-1,0.5\n0,0\n,3\nnan,inf\n1e308,-1e-308\n2,2\n3,1\n1,1\n"
POINTS = ("--at", "x=0:1:19,y=-1:1:3")


@pytest.fixture
def begins(monkeypatch):
    """Every program begins on a tape, as a long one does."""
    monkeypatch.setattr(tiers, "TAPE_FROM", 0)
    monkeypatch.setattr(tiers, "LONG", 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of the test's own."""
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiles(monkeypatch):
    """What was compiled: the number of functions that each text defines is more than none."""
    texts, original = [], jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda text, **more: (texts.append(text), original(text, **more))[1])
    return texts


@pytest.mark.parametrize("line", [
    ("eval", *POINTS, "--hex"), ("grad", *POINTS, "--status"), ("grad", *POINTS, "--order", 2, "--format", "json", "--status"),
    ("jvp", "--tangent", "x=1,y=0", *POINTS, "--hex"), ("vjp", "--cotangent", "v=-2", *POINTS), ("jacobian", *POINTS),
    ("hessian", "--of", "v", *POINTS, "--hex"), ("hvp", "--of", "v", "--tangent", "x=1", *POINTS),
    ("taylor", "--tangent", "x=1", *POINTS, "--hex"),
    ("propagate", "--at", "x=1±0.1,y=2±0.1"), ("propagate", "--at", "x=1±0.1,y=2±0.1", "--monte-carlo", "3001"),
    ("grad", "--format", "csv", "--missing", "nan", "--status"), ("grad", "--mean", "--missing", "nan")])
def test_the_same_bytes(line):
    program = [PROGRAM.splitlines()[0].split(";")[0], *PROGRAM.splitlines()[1:]]
    args = [line[0], *(word for text in program for word in ("-e", text)), *line[1:]]
    found = [adcli(*args, "--tier", tier, "--no-cache", stdin=ROWS) for tier in ("compiled", "tape")]
    assert found[0] == found[1] and found[0].out


def test_a_long_program_says_from_how_many_rows_on_it_is_compiled(begins):
    last = adcli("grad", "-e", "v = x*y", "--explain").out.splitlines()[-1]
    rows = int(re.fullmatch(r"code: a tape; counted length 47, compiling pays from ([0-9,]+) rows on", last)[1].replace(",", ""))
    assert rows % 2 == 0 and 10_000 < rows < 10_000_000


def test_a_tape_is_kept_and_replaced_by_what_is_asked_for(folder, compiles):
    line = ("grad", "-e", "v = x*sin(y)", "--at", "x=2,y=5", "--hex")
    first = succeeds(*line, "--tier", "tape")
    interpreter = len(compiles)
    for tier, more in (("tape", 0), ("auto", 0), ("compiled", 1), ("auto", 1), ("compiled", 1), ("tape", 1), ("auto", 1)):
        assert succeeds(*line, "--tier", tier) == first
        assert len(compiles) == interpreter + more, tier


def test_explaining_a_long_program_keeps_its_compiled_code(folder, begins, compiles):
    line = ("grad", "-e", "v = x*sin(y)", "--at", "x=2,y=5", "--hex")
    first = succeeds(*line, "--tier", "compiled")
    kept = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    ended = adcli(*line, "--explain")
    assert (ended.out, len(compiles)) == (first.out, 1)
    assert "code: compiled; counted length 50, but the cache has the code\n" in ended.err
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == kept


def test_rows_that_keep_coming_leave_compiled_code_in_the_cache(folder, begins, compiles, monkeypatch):
    monkeypatch.setattr(tiers, "blocks_worth", lambda tape: 3)
    rows = b"x,y\n" + b"".join(b"%d,%d\n" % (i % 7, i % 5) for i in range(20_000))
    line = ("grad", "-e", "v = x*sin(y)", "--hex")
    found = succeeds(*line, stdin=rows)
    for thread in threading.enumerate():
        if "rise" in repr(getattr(thread, "_target", "")):
            thread.join()
    texts = len(compiles)
    assert succeeds(*line, stdin=rows) == found == succeeds(*line, "--tier", "compiled", stdin=rows)
    assert len(compiles) == texts


def test_a_task_is_compiled_where_rows_come_in_parts(begins):
    from adcli.input.settings import ResultOptions
    request = Request("grad", Source("f.ad", "v = x*y\n"))
    whole, parts = (tasks.prepared(request, ResultOptions(verb="grad", no_cache=True, resume=r)) for r in (False, True))
    assert isinstance(whole.kernel, tiers.TieredKernel) and type(parts.kernel) is Kernel


def test_a_function_moves_up_when_it_is_called_again_and_again(begins, monkeypatch):
    monkeypatch.setattr(tiers, "blocks_worth", lambda tape: 5)
    f = api.compile("v = x*sin(y)").grad()
    found = set()
    for call in range(9):
        found.add(repr(f(x=2.0, y=5.0)))
        kernel = f.kernel()
        for thread in threading.enumerate():
            if getattr(thread, "_target", None) == kernel.succession.rise:
                thread.join()
        assert isinstance(kernel.current, TapeKernel) == (call < 4)
    assert len(found) == 1 and type(kernel.current) is Kernel
    assert repr(f(x=[2.0] * 9, y=5.0)["dv_dy"].tolist()[8]) in found.pop()

