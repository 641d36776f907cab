"""`why`: the cause of every NaN, infinity and zero, as the conventions have it; the words, the command."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from command import succeeds

from adcli import compile

# ---------------------------------------------------------------- the command


def test_many_names_are_counted():
    text = " + ".join(f"x{i}*y" for i in range(20))
    ones = ",".join(f"x{i}=1" for i in range(20))
    out = succeeds("why", "-e", f"v = {text}", "--at", f"{ones},y=0").out
    assert out.count("y = 0.0 is a factor of the derivative of x") == 20
    out = succeeds("why", "-e", f"v = floor({text})", "--at", f"{ones},y=1.01").out
    assert out.startswith("dv_dx0, dv_dy, dv_dx1, dv_dx2, dv_dx3, dv_dx4 and 15 more are 0.0\n")


def test_json_has_of_a_long_tensor_its_size_and_first_elements(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1001.0))
    (record,) = succeeds("why", "-e", "input x(N), s", "-e", "v +=! log(x(i)*s)", "--at", f"x=@{tmp_path / 'x.npy'},s=1",
                         "--format", "json").records
    assert record["at"] == {"x": {"shape": [1001], "norm": pytest.approx((1000*1001*2001/6)**0.5, rel=1e-15), "smallest": 0.0,
                                  "largest": 1000.0, "first": [0.0, 1, 2, 3, 4, 5, 6, 7]}, "s": 1.0}
    assert record["why"][0]["results"] == {"dv_ds": "NaN"}


# ---------------------------------------------------------------- tensors, loops, matrices


def test_what_is_too_large_says_so():
    with pytest.raises(AdError, match=r"why follows at most 400,000 operations on numbers; here there are 4,194,304"):
        compile("input A(n, n)\nB(i, j) +=! A(i, k)*A(k, j)\noutput B").why(A=np.ones((128, 128)) - 1, order=2)

