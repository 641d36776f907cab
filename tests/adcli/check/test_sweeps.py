"""Both modes of a program with tensors, as native code."""
from __future__ import annotations

import numpy as np
from adcli.lang.lower.frontend import parse

from adcli.check.sweeps import TensorDerivatives, hot


def test_a_seed_of_one_element_gives_its_row_and_its_column() -> None:
    sweeps = TensorDerivatives(parse("input x(N); y(i) = i * x(i)"), ["x"])
    at = {"x": np.array([3.0, 4.0, 5.0])}
    for kernel, one, result in ((sweeps.ahead, "x(2)", 1), (sweeps.back, "y(2)", 1)):
        found = kernel({**at, **hot(kernel.program, {"N": 3}, one)})
        assert list(found.values())[result].tolist() == [0.0, 0.0, 2.0]
    assert sweeps.finite(at) == [True, True] and sweeps.finite({"x": np.array([1.0, np.inf])}) == [False, False]
