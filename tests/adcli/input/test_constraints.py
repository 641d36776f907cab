"""Points that are drawn for inputs in simplex or in ordered; what is said of others, and what refuses them: faults.txt."""
from __future__ import annotations

import numpy as np
from adcli.lang.lower.frontend import parse

from adcli.input.constraints import HOLDS
from adcli.input.sampled_tensors import draw

PAIR = "input p(K) in simplex, c(D, L) in ordered, F(M, M) in cholesky_factor_corr; " \
    "a +=! p(k); b +=! c(i, j); e +=! F(i, j); v = a*b*e; output v"


def test_points_are_drawn_within_constraints() -> None:
    points = draw(parse(PAIR), 1)
    for _ in range(20):
        at = next(points)
        assert HOLDS["simplex"](at["p"]) and HOLDS["ordered"](at["c"]).all() and HOLDS["cholesky_factor_corr"](at["F"])
        assert np.shape(at["p"]) and np.ndim(at["c"]) == 2
