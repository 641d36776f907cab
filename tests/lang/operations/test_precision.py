"""Rounding to single precision against NumPy's; constants that it does not have."""
from __future__ import annotations

import math

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.precision import DOUBLE, FIRST_TOO_LARGE, SINGLE
from back_ends import bits
from session_seed import drawn

AWKWARD = [0.0, -0.0, 1.0, 0.1, 2.0 ** -149, 2.0 ** -150, 3 * 2.0 ** -150, 2.0 ** -126, FIRST_TOO_LARGE,
           math.nextafter(FIRST_TOO_LARGE, 0.0), 1e300, -1e300, 1e-300, math.inf, -math.inf, math.nan]


def test_rounding() -> None:
    r = drawn("singles")
    for x in [*AWKWARD, *(r.uniform(-2, 2) * 2.0 ** r.randint(-160, 130) for _ in range(2000))]:
        with np.errstate(over="ignore"):
            want = float(np.float32(x))
        assert bits(SINGLE.rounded(x)) == bits(want), x
        assert SINGLE.holds(x) == (math.isinf(x) or not math.isinf(want))
        assert bits(DOUBLE.rounded(x)) == bits(DOUBLE.nearest(x)) == bits(x)


@pytest.mark.parametrize(("constant", "said"), [
    (1e39, "1e+39 is too large"), (-1e300, "-1e+300 is too large"), (1e-60, "1e-60 is too small")])
def test_constants_that_it_does_not_have(constant: float, said: str) -> None:
    with pytest.raises(AdError) as error:
        SINGLE.nearest(constant)
    assert error.value.message == f"{said} for a number of single precision"
    assert error.value.help == "use double precision, the default"


def test_the_smallest_normal_number_stays_one() -> None:
    assert SINGLE.nearest(DOUBLE.smallest) == SINGLE.smallest == float(np.finfo(np.float32).smallest_normal)


def test_units_in_the_last_place() -> None:
    r = drawn("units of singles")
    for x in [0.0, -0.0, 1.0, 2.0 ** -149, 2.0 ** -127, 2.0 ** -126, -3.5, 1e30, math.inf, *(
            SINGLE.rounded(r.uniform(-2, 2) * 2.0 ** r.randint(-155, 120)) for _ in range(500))]:
        assert SINGLE.ulp(x) == abs(float(np.spacing(np.float32(abs(x))))) if math.isfinite(x) else SINGLE.ulp(x) == math.inf, x
        assert DOUBLE.ulp(x) == math.ulp(x)
    assert math.isnan(SINGLE.ulp(math.nan))
    assert 7.2 < SINGLE.decimals < 7.3 and 15.9 < DOUBLE.decimals < 16
