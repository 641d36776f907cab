"""What figures are made with: the factor of a correlation matrix."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.derive.uncertainty_figures import cholesky


@pytest.mark.parametrize("given_pairs", [
    [], [("a", "b", 0.5)], [("a", "b", 1.0)], [("b", "c", -1.0), ("a", "d", 0.25)],
    [("a", "b", 0.9), ("a", "c", 0.9), ("b", "c", 0.9)], [("a", "b", 1.0), ("a", "c", 0.3), ("b", "c", 0.3)]])
def test_the_factor_times_its_transpose_is_the_matrix(given_pairs):
    names = ["a", "b", "c", "d"]
    factor = np.zeros((4, 4))
    for i, row in enumerate(cholesky(names, given_pairs)):
        for k, x in row.items():
            factor[i, k] = x
    want = np.eye(4)
    for x, y, r in given_pairs:
        want[names.index(x), names.index(y)] = want[names.index(y), names.index(x)] = r
    assert factor @ factor.T == pytest.approx(want, abs=1e-15)
