"""A kernel that is called often: the results of each call, quick or not, and the faults."""
import numpy as np
import pytest
from adcli.codegen.builtins.direct import never
from adcli.codegen.modules.direct_tensors import FIRST_CALLS, OftenCalled
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse


def test_quick_calls_are_those_of_the_kernel() -> None:
    kernel = compile_tensors(parse("input x(N), a, int32 k(M)\ny(j) = a*x(k(j))\ns +=! y(j)\noutput y, s"))
    often, draw = OftenCalled(kernel), np.random.default_rng(0)
    for turn in range(2 * FIRST_CALLS):
        n = 4 if turn % 7 else 5   # other shapes in between
        at = {"x": draw.normal(size=n), "a": float(turn), "k": draw.integers(0, n, 3)}
        found, want = often(at), kernel(at)
        assert np.array_equal(found["y"], want["y"]) and found["s"] == want["s"]
    assert often.quick is not never
    with pytest.raises(AdError, match=r"k\(1\) = 9 is out of range"):
        often({"x": np.ones(4), "a": 1.0, "k": np.array([0, 9, 1])})
