"""Rows of sparse matrices that are combinations of others, beside singular vectors of the dense matrix."""
from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array, vstack

from adcli.numerics.sparse_optimality import STEP, dependent, of_length_one


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 2), (5, 9), (8, 8), (40, 100)])
@pytest.mark.parametrize("twice", [0, 1, 3])
@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-4])
def test_rows_that_singular_vectors_show(rows: int, columns: int, twice: int, apart: float) -> None:
    made = random_array((rows, columns), density=min(1.0, 4 / columns), rng=rows + twice)
    made = (made + csr_array((np.ones(rows), (range(rows), np.arange(rows) % columns)), shape=(rows, columns))).tocsr()
    again = 2 * made[:twice]
    again.data[again.indptr[:-1]] += apart
    whole = of_length_one(vstack([made, again]))
    left, size, _ = np.linalg.svd(np.hstack([whole.toarray(), np.zeros((whole.shape[0],) * 2)]), full_matrices=False)
    assert dependent(whole).tolist() == (np.abs(left[:, size < STEP]).max(axis=1, initial=0.0) > STEP).tolist()


def test_differences_along_a_circle_add_up() -> None:
    n = 2000
    place = np.arange(n)
    unit = csr_array((np.ones(n), (place, place)))
    circle = (unit - unit[np.roll(place, -1)]).tocsr()
    assert dependent(of_length_one(circle)).all() and not dependent(of_length_one(circle[:-1])).any()
