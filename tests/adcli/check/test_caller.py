"""What the process that calls somebody's function makes of it and of what it returns."""
from __future__ import annotations

import json
import math

import pytest

from adcli.check import caller


def test_the_caller_reads_what_functions_return():
    assert caller.record((1, [2.5, (3,)])) == {"numbers": [1.0, 2.5, 3.0]}
    assert caller.record({"v": 2, "dv_dx": [3]}) == {"names": ["v", "dv_dx"], "numbers": [2.0, 3.0]}
    for wrong in (None, "1", b"1", True, 1j, {1, 2}, [[None]]):
        with pytest.raises(caller.Wrong):
            caller.record(wrong)
    assert caller.arguments(lambda p: p, "f", ["x", "y"]) is None and caller.arguments(lambda *a: a, "f", ["x", "y"]) is None
    assert caller.arguments(lambda y, x, scale=1: y, "f", ["x", "y"]) == {"y": "y", "x": "x"}
    assert caller.arguments(lambda x=0, y=2: y, "f", ["x", "y"]) == caller.arguments(lambda x, y=2: y, "f", ["x", "y"])
    assert caller.arguments(lambda x, y=2: y, "f", ["x", "y"]) == {"x": "x", "y": "y"}
    assert caller.arguments(lambda x, tolerance=2: x, "f", ["x", "y"]) is None
    assert caller.arguments(lambda x, lambda_: x, "f", ["lambda", "x"]) == {"x": "x", "lambda_": "lambda"}
    assert caller.arguments(lambda *, x: x, "f", ["x", "y"]) == {"x": "x"}
    with pytest.raises(caller.Unusable):
        caller.arguments(lambda a, b: a, "f", ["x", "y"])
    assert math.sin(caller.array([0.5])) == math.sin(0.5) and list(caller.array([1, 2])) == [1.0, 2.0]
    assert json.loads(json.dumps(caller.python_function(lambda x, y: x/y, "f", ["x", "y"])([1.0, 4.0]))) == {"numbers": [0.25]}
