"""What figures are made with: the factor of a correlation matrix."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
from adcli.lang.derive.uncertainty_figures import cholesky, components


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


@pytest.mark.parametrize("r", [-1 / 3, -0.3333, 0.999999999, 0.5])
def test_every_entry_of_the_factor_is_rounded_once(r):
    """Against the same factor at 80 digits."""
    names = ["a", "b", "c", "d"]
    got = cholesky(names, [(x, y, r) for i, x in enumerate(names) for y in names[i + 1:]])
    with mpmath.workdps(80):
        shown = mpmath.mpf(repr(r))
        want: list[list[mpmath.mpf]] = []
        for i in range(4):
            row = []
            for k in range(i):
                pivot = want[k][k]
                row.append((shown - mpmath.fdot(row, want[k][:k])) / pivot)
            rest = 1 - mpmath.fdot(row, row)
            want.append([*row, mpmath.sqrt(rest) if rest > 1e-14 else mpmath.mpf(0)])
        for i, row in enumerate(got):
            assert [row.get(k, 0.0) for k in range(i + 1)] == [float(x) for x in want[i]]


def test_groups_that_no_correlation_joins():
    pairs = [("a", "c", 0.5), ("d", "c", -1.0), ("b", "e", 0.0)]
    assert sorted(map(sorted, components(list("abcde"), pairs))) == [["a", "c", "d"], ["b"], ["e"]]
    assert components([], []) == []
