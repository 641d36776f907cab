"""Directions along which nothing changes: found in each group of variables that conditions connect, if it is small."""
import numpy as np
import pytest

from adcli.numerics import optimality as module
from adcli.numerics.optimality import PointDerivatives, flat_directions

JACOBIAN = np.array([[1.0, 2, 0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 3, 0, 0, 0],
                     [0, 0, 0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 2, 1]])
GROUPS = [[0, 1], [2, 3, 4], [5], [6, 7, 8]]
DIRECTIONS = [1, 2, 0, 1]
"""How many there are in each group."""


def along(x: np.ndarray) -> PointDerivatives:
    return PointDerivatives(x, 0.0, JACOBIAN @ x, np.zeros(9), JACOBIAN, lambda multipliers: np.zeros((9, 9)),
                            lambda multipliers: np.zeros(9))


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_each_group_has_its_own(most, monkeypatch):
    monkeypatch.setattr(module, "MOST_TOGETHER", most)
    size = np.arange(1.0, 10.0)
    found = flat_directions(along, np.ones(9), np.ones(9, bool), size).toarray()
    np.testing.assert_allclose(JACOBIAN @ found.T, 0, atol=1e-14)
    for group, count in zip(GROUPS, DIRECTIONS, strict=True):
        own = found[np.any(found[:, group] != 0, axis=1)]
        assert len(own) == np.linalg.matrix_rank(own) == (count if len(group) <= most else 0)
        assert not np.delete(own, group, axis=1).any()


def test_variables_that_are_held_are_left_out():
    free = np.arange(9) != 3
    found = flat_directions(along, np.ones(9), free, np.ones(9)).toarray()
    assert len(found) == 3 and not found[:, 3].any()
