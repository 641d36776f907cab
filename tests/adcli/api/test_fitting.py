"""f.fit: the same as the verb from Python, with columns in whatever holds them."""
from __future__ import annotations

from typing import Any

import numpy as np
import polars
import pytest

import adcli

DATA = {"t": [0.0, 1.0, 2.0, 4.0, 8.0], "n": [9.8, 6.1, 3.5, 1.4, 0.2], "s": [0.1, 0.1, 0.1, 0.05, 0.05]}
START = {"a": 5, "k": (0.1, 0, 10)}
DECAY = adcli.compile("v = a*exp(-k*t)")


def test_columns_may_be_in_anything_that_has_columns() -> None:
    expected = DECAY.fit(DATA, "n", "s", START)
    arrays = {name: np.array(x) for name, x in DATA.items()}
    others = [
        DECAY.fit(arrays, "n", "s", START), DECAY.fit(polars.DataFrame(DATA), "n", "s", START),
        DECAY.fit(DATA, arrays["n"], DATA["s"], "a=5,k=0.1 in [0, 10]"),
        DECAY.fit({"t": DATA["t"]}, {"v": arrays["n"]}, {"v": arrays["s"]}, START),
        DECAY.fit(at={"t": arrays["t"]}, y=arrays["n"], sigma=arrays["s"], params=START),
        adcli.compile("param a = 5, k = 0.1 in [0, 10]; v = a*exp(-k*t)").fit(DATA, "n", "s"),
        adcli.compile("param a = 5, k = 0.1 in [0, 10]; v = a*exp(-k*t)").fit(DATA, "n", "s", params=["a", "k"]),
        adcli.compile("v = a*exp(-k*t); w = a*t").fit(DATA, "n", "s", START, of="v"),
    ]
    for found in others:
        assert (found.x.tolist(), found.chi2) == (expected.x.tolist(), expected.chi2)
        np.testing.assert_array_equal(found.covariance, expected.covariance)
    assert expected.success and expected.params == dict(zip("ak", expected.x, strict=True)) and expected.dof == 3
    assert expected.uncertainties["a"] == pytest.approx(np.sqrt(expected.covariance[0, 0]))
    assert "params" in repr(expected)   # SciPy's own way of showing a result
    np.testing.assert_allclose(expected.fun, (expected.x[0] * np.exp(-expected.x[1] * arrays["t"]) - arrays["n"])
                               / arrays["s"], rtol=1e-12, atol=1e-12)


def test_it_agrees_with_curve_fit() -> None:
    from scipy.optimize import curve_fit
    t, n, s = (np.array(DATA[x]) for x in "tns")
    for absolute in (True, False):
        ours = DECAY.fit(DATA, "n", "s", START, absolute_sigma=absolute)
        x, covariance = curve_fit(lambda t, a, k: a * np.exp(-k * t), t, n, [5, 0.1], s, absolute)
        np.testing.assert_allclose(ours.x, x, rtol=1e-7)
        np.testing.assert_allclose(ours.covariance, covariance, rtol=1e-4)


def test_tensors_are_fitted_by_their_elements() -> None:
    f = adcli.compile("input A(N, M), w(M), c; r(i) +=! A(i, j)*w(j); v(i) = r(i) + c")
    a = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 1.0], [4.0, 5.0], [1.0, 1.0]])
    y = np.array([1.0, 4.0, 6.0, 2.0, 3.0])
    found = f.fit(y=y, params={"w": [0, 0], "c": 1.0}, at={"A": a})
    np.testing.assert_allclose(found.x, np.linalg.lstsq(np.column_stack([a, np.ones(5)]), y, rcond=None)[0], rtol=1e-12)
    assert found.params["w"].shape == (2,) and isinstance(found.params["c"], float) and found.names == ("w(0)", "w(1)", "c")


def test_what_is_not_finite_and_what_is_not_determined() -> None:
    with pytest.raises(adcli.AdError, match="row 0: the output is not finite at the start, a = -1") as fault:
        adcli.compile("v = log(a)*t").fit(DATA, "n", params={"a": -1})
    assert "log(u) at u = a = -1.0 is nan: outside its domain" in fault.value.__notes__[0]
    found = adcli.compile("v = (a + c)*exp(-k*t)").fit(DATA, "n", params={"a": 5, "c": 0, "k": 0.1})
    assert "a and c can only be had together: here the data determine a + c" in found.message
    assert found.undetermined == [{"a": 1.0, "c": pytest.approx(-1.0)}] and np.isfinite(found.uncertainties["k"])
    held = DECAY.fit(DATA, "n", params={"a": (5, 0, 6), "k": 0.1})
    assert held.held == ["a"] and held.active_mask.tolist() == [1, 0] and held.params["a"] == 6


@pytest.mark.parametrize(("asked", "reported"), [(None, ["a", "k"]), ("all", ["a", "k"]), ("k", ["k"]), (["k", "a"], ["a", "k"])])
def test_uncertainties_of_the_parameters_asked_for(asked: Any, reported: list[str]) -> None:
    whole, found = (DECAY.fit(DATA, "n", params=START, uncertainties=x) for x in (None, asked))
    at = ["ak".index(name) for name in reported]
    np.testing.assert_allclose(found.covariance, whole.covariance[np.ix_(at, at)], rtol=1e-12)
    assert found.reported == reported
    known = {name: u for name, u in found.uncertainties.items() if u == u}
    assert known == pytest.approx({name: whole.uncertainties[name] for name in reported})
