"""A kernel that is called often: the results of each call, quick or not, and the faults."""
import sys
import time
from typing import Any

import numpy as np
import pytest
from adcli.codegen.builtins import direct
from adcli.codegen.builtins.direct import never
from adcli.codegen.modules.direct_tensors import FIRST_CALLS, OftenCalled
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from side_by_side import in_threads

import adcli

TEXT = "input x(N), a, int32 k(M), b = 2.0\ny(j) = a*x(k(j))\ns +=! y(j)*b\noutput s, y"


def test_quick_calls_are_those_of_the_kernel() -> None:
    kernel = compile_tensors(parse("input x(N), a, int32 k(M)\ny(j) = a*x(k(j))\ns +=! y(j)\noutput y, s"))
    often, draw = OftenCalled(kernel), np.random.default_rng(0)
    for turn in range(2 * FIRST_CALLS):
        n = 4 if turn % 7 else 5   # other shapes in between
        at = {"x": draw.normal(size=n), "a": float(turn), "k": draw.integers(0, n, 3)}
        found, want = often(at), kernel(at)
        assert np.array_equal(found["y"], want["y"]) and found["s"] == want["s"]
    assert never not in often.quick
    with pytest.raises(AdError, match=r"k\(1\) = 9 is out of range"):
        often({"x": np.ones(4), "a": 1.0, "k": np.array([0, 9, 1])})


def often(f: adcli.Function, at: dict[str, Any]) -> None:
    """Call it until it has its builtins, for which code that was made in haste is made well."""
    end = time.monotonic() + 30
    while f._numbers in (None, never) and time.monotonic() < end:
        f(at)


@pytest.mark.parametrize("patience", [direct.PATIENCE, 0])
def test_each_thread_has_its_own_results(monkeypatch: pytest.MonkeyPatch, patience: int) -> None:
    """Also where Python's lock is given back while one of them computes, and for what is no quick call."""
    monkeypatch.setattr(direct, "PATIENCE", patience)
    f, k = adcli.compile(TEXT), np.arange(600) % 5
    points = [{"x": np.arange(5.0) + n, "a": 1.0 + n, "k": k, **({"b": n} if n else {})} for n in range(4)]
    want = [f(at) for at in points]
    often(f, points[0])
    assert list(f._numbers(points[0])) == ["s", "y"]

    def work(n: int) -> bool:
        at = {**points[n], "x": points[n]["x"].astype(np.float32)} if n == 3 else points[n]
        found = [f(at) for _ in range(300)]
        return all(r["s"] == want[n]["s"] and np.array_equal(r["y"], want[n]["y"]) for r in found)

    assert all(in_threads(work, 4))


def test_no_call_keeps_anything() -> None:
    f, at = adcli.compile(TEXT), {"x": np.ones(5), "a": 1.5, "k": np.arange(3)}
    often(f, at)
    given = [*at.values(), None]
    wrong, before, blocks = {**at, "k": np.array([0, 9, 1])}, [sys.getrefcount(x) for x in given], sys.getallocatedblocks()
    for _ in range(2000):
        assert f._numbers(at) is not None and f._numbers(wrong) is None and f._numbers({**at, "x": [1.0]}) is None
    assert all(abs(sys.getrefcount(x) - n) < 20 for x, n in zip(given, before, strict=True))
    assert sys.getallocatedblocks() - blocks < 100
    y = f(at)["y"]
    assert sys.getrefcount(y) == 2
