"""The comparison of log densities with stanli: that both sides compute the same numbers."""
from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.engine
bench = pytest.importorskip("bench_likelihoods")


@pytest.mark.parametrize("name", bench.ROWS)
def test_both_sides_have_one_value_and_gradient(name: str) -> None:
    ours, theirs, u, order = bench.sides(bench.ROWS[name])
    (value, gradient), (wanted, slopes) = ours(u), theirs(np.ascontiguousarray(u[order]))
    assert value == pytest.approx(wanted, rel=1e-11)
    np.testing.assert_allclose(gradient[order], slopes, rtol=1e-9, atol=1e-9 * np.max(np.abs(slopes)))


def test_the_table_has_a_line_for_a_row() -> None:
    line, ratio, apart = bench.measured("AR(5)", bench.ROWS["AR(5)"], 0.0)
    assert line.startswith("AR(5)") and ratio > 0 and apart < 1e-11
