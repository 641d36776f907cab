"""The doubles that the shortest decimals of singles are read as: NumPy's texts are the judge."""
from __future__ import annotations

import numpy as np
from session_seed import drawn

from adcli.output.numbers import as_spelled, json_number, number_format, read_back, shortest, shortest_single

AWKWARD = [0.0, -0.0, 1.0, 0.1, 1e-45, 1.1754944e-38, 3.4028235e38, 16777216.0, 9.999999e9, 1e13, 1e-13, 8.589973e9, np.inf,
           -np.inf, np.nan]


def singles() -> np.ndarray:
    r = np.random.default_rng(drawn("singles").getrandbits(32))
    any_bits = r.integers(0, 2 ** 32, 3000, dtype=np.uint32).view(np.float32)
    decimals = (r.integers(-10 ** 6, 10 ** 6, 2000) / 10.0 ** r.integers(0, 9, 2000)).astype(np.float32)
    return np.concatenate([np.array(AWKWARD, np.float32), any_bits, decimals, (10.0 ** np.arange(-44, 39)).astype(np.float32)])


def test_each_is_the_shortest_that_reads_back() -> None:
    values = singles()
    with np.errstate(invalid="ignore"):
        doubles = values.astype(np.float64)
    texts = [repr(x) for x in read_back(doubles).tolist()]
    assert texts == [repr(float(str(x))) for x in values] == list(map(shortest_single, doubles.tolist()))


def test_what_is_spelled_otherwise_stays() -> None:
    values, whole = np.array([0.1, 1 / 3]), np.array([1, 2])
    assert as_spelled([values], shortest)[0] is values
    assert as_spelled([values, whole], shortest_single)[0].tolist() == [0.1, 0.33333334]
    assert as_spelled([values, whole], shortest_single)[1] is whole
    assert number_format(None, False, "single") is shortest_single
    assert shortest_single(1e300) == "inf" and shortest_single(-1e300) == "-inf"
    assert json_number(1 / 3, shortest_single) == 0.33333334
