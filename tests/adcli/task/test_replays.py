"""Programs with tensors from the cache: the same bytes, notes and exit codes as the first time, with nothing worked out again."""
from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from adcli.codegen.machine import cache
from adcli.codegen.modules import calls
from command import adcli, succeeds
from places import ROOT

from adcli.task import derive

NETWORK = str(ROOT / "samples/feed_forward.ad")
PRODUCT = ("-e", "input x(N), y; s *=! x(i) * y\nd(i) = s - x(i)\noutput s, d")
LOOP = ("-e", "input x(N), s0(M), int32 T; s(0, m) = s0(m)\nfor t in 0:T checkpoint { s(t+1, m) = sin(s(t, m)) * x(m) }\n"
              "L +=! s(T, m) where m in 0:M")
COPIES = ("-e", "param T = 0.5\ninput x(N) in [0, 1]; y = x\nz = 3\nw(i) = x(i) + T\nv = w\noutput y, z, w, v")
WHOLE = ("-e", "input int32 k(N), int32 n, x(N,M)\nm(i) = k(i) + n\nint32 f(i,j) = floor(x(i,j)/1e300)\nc = n\nl = k\n"
                "y +=! x(i,j)\noutput m, f, c, y, l")
FILLED = ("-e", "input x(N,M)\ny(i,j) = 0.7 where i in 0:N, j in 0:M\nz(0) = 1.5; for t in 0:N { z(t+1) = z(t)*x(t,0) }\n"
                "output y, z")

RUNS = [
    ("grad", NETWORK, "--at", f"@{NETWORK[:-2]}json"),
    ("jvp", *PRODUCT, "--at", "x=[1,2,3],y=2", "--tangent", "x=[1,0,0.5],y=1", "--format", "json"),
    ("jvp", *PRODUCT, "--at", "x=[1,2,3],y=2", "--tangent", "x=1,y=0", "--hex"),
    ("vjp", *PRODUCT, "--at", "x=[1,2,3],y=2", "--cotangent", "s=1,d=0", "--status"),
    ("hvp", *PRODUCT, "--of", "s", "--at", "x=[1,2,3],y=2", "--tangent", "x=[1,0,0.5],y=1", "--precision", "single"),
    ("grad", *LOOP, "--at", "x=[0.5,2],s0=[1,2],T=40"),
    ("eval", *COPIES, "--at", "x=[-0.0,2],T=0:1:3", "--jobs", "2"),
    ("eval", *COPIES, "--at", "x=[0.5,7]", "--format", "json"),
    ("eval", *WHOLE, "--at", "k=[1,-2],n=3,x=[[0.5],[3.3e300]]", "--format", "json"),
    ("eval", *WHOLE, "--at", "k=[1,-2],n=3,x=[[0.5],[3.3e300]]", "--at", "k=[1,-2],n=3,x=[[0.5],[-3.3e300]]"),
    ("eval", *FILLED, "--at", "x=[[1,2],[3,4]]", "--fmt", "%.3g"),
    ("eval", "-e", "input x(N,M); y(j,i) = x(i,j)/3", "--at", "x=[[1,2],[3,4]]", "--format", "csv"),
    ("grad", "-e", "input x(N); y +=! x(i)**2/3", "--at", f"x={[k / 7 for k in range(9000)]}"),
]
"""What is worked out once."""
ORDINARY = [
    ("grad", "-e", "input x(N); y +=! sqrt(x(i))", "--at", "x=[1,0]"),
    ("eval", "-e", "input x(N); y(i) = log(x(i))", "--at", "x=[1,-1]", "--strict"),
    ("grad", "-e", "input A(N,N), b(N); x = solve(A, b); v +=! x(i)**2", "--at", "A=[[2,1],[1,3]],b=[1,2]"),
    ("eval", "-e", "input x(N,M), b(M); y(j) +=! x(i,j)*b(j)", "--at", "x=[],b=[1]", "--at", "x=[[1,2]],b=[3,4]"),
    ("eval", "-e", "input x(N,M), b(M); y(j) +=! x(i,j)*b(j)", "--at", "x=[[1,2]],b=[3,4]", "--at", "x=[],b=[1]"),
    ("eval", "-e", "input x(N,M), b(M), int32 k; y(j) +=! x(i,j)*b(j)*k", "--at", "x=[],b=[1],k=3"),
    ("eval", *WHOLE, "--at", "k=[1,-2],n=3,x=[[0.5],[nan]]"),
    ("eval", *WHOLE, "--at", "k=[1,-2.5],n=3,x=[[0.5],[1]]"),
    ("eval", "-e", "input x(N); y(i) = x(i)*1e300", "--at", "x=[1,1e300]"),
    ("eval", "-e", "input x(N), y(N); v +=! x(i) * y(i)", "--at", "x=[1,2],y=[1]"),
]
"""What is explained by the program, or needs it, as other shapes do."""
GATHER = ("eval", "-e", "input x(N), int32 k(M); s +=! x(k(i))**2", "--at")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def once(monkeypatch):
    """From when it is called on, nothing is worked out."""
    return lambda: monkeypatch.setattr(derive, "derived", lambda *_: pytest.fail("worked out again"))


def test_a_run_with_the_same_shapes_is_worked_out_once(folder, once):
    first = [adcli(*run) for run in RUNS]
    assert not any(ended.code for ended in first), first
    once()
    assert [adcli(*run) for run in RUNS] == first


def test_such_a_run_imports_nothing_that_works_out(folder):
    succeeds(*RUNS[0])
    run = [sys.executable, "-X", "importtime", "-m", "adcli", *RUNS[0]]
    said = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "numpy" not in said.stderr
    imported = set(re.findall(r"\| +(adcli\.(?:lang|codegen)\.\w+)", said.stderr))
    assert "adcli.codegen.modules" in imported
    assert imported.isdisjoint({f"adcli.lang.{room}" for room in ("lower", "passes", "derive", "evaluate")})


@pytest.mark.parametrize("run", ORDINARY, ids=lambda run: " ".join(run[1 + run.index("--at"):]))
def test_what_the_program_has_to_explain_it_explains_again(folder, run):
    first = adcli(*run)
    assert adcli(*run) == first == adcli(*run, "--no-cache")


def test_what_the_plan_is_not_for_is_worked_out_again(folder, once):
    """Other shapes, other sizes given as integers, other zeros among seeds, and a subscript that is outside."""
    def fresh(*run):
        return adcli(*run, "--no-cache")

    for run in ((*GATHER, "x=[1,2,3],k=[0,2]"), RUNS[1], RUNS[5]):
        succeeds(*run)
    for run in ((*GATHER, "x=[1,2,3],k=[0,3]"), (*GATHER, "x=[1,2],k=[0,1]"), (*GATHER, "x=[1,2],k=[0,0.5]"),
                (*RUNS[5][:-1], "x=[0.5,2],s0=[1,2],T=7"), (*RUNS[1][:-3], "x=0,y=1", *RUNS[1][-2:])):
        assert adcli(*run) == fresh(*run), run
    once()
    assert succeeds(*GATHER, "x=[4,2,3],k=[1,2]").out == "s = 13.0\n"


def test_what_is_worked_out_again_is_announced_once(folder, monkeypatch):
    monkeypatch.setattr(calls, "LONG_RUN", 1)
    adcli(*GATHER, "x=[1,2,3],k=[0,2]")
    again = adcli(*GATHER, "x=[1,2,3],k=[0,3]")
    assert again == adcli(*GATHER, "x=[1,2,3],k=[0,3]", "--no-cache")
    assert again.err.count("one run takes") == 1


def test_code_that_is_gone_is_made_again(folder):
    first = succeeds(*GATHER, "x=[1,2,3],k=[0,2]")
    store = cache.Store(str(folder), pytest.fail)
    (code,) = [json.loads(data)["code"] for path in folder.iterdir() if b'"cells"' in (data := store.get(path.stem))]
    (folder / f"{code}.adc").unlink()
    assert succeeds(*GATHER, "x=[1,2,3],k=[0,2]") == first
    assert store.get(code) is not None
