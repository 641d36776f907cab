"""Intervals by the profile of the cost: published ones, linear models, closed forms, and profiles that do not rise."""
from __future__ import annotations

import json
import math

import numpy as np
import pytest
from command import adcli, succeeds
from scipy import optimize, stats

from adcli import compile
from adcli.fit.inference import Profile

CONC = [0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.10, 1.10]
RATE = [76.0, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]
PUROMYCIN = {"x": CONC, "y": RATE}
ENZYME = "v = Vm*x/(K + x)"
ROWS = ("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(CONC, RATE, strict=True))).encode()
ARGS = ("fit", "-e", ENZYME, "--params", "Vm=200,K=0.05", "--y", "y", "--interval", "profile")


def test_puromycin_has_the_intervals_of_confint_in_r() -> None:
    """Bates and Watts (1988), A1.3, the treated cells; confint(nls) of R interpolates the profile."""
    r = compile(ENZYME).fit(PUROMYCIN, params="Vm=200,K=0.05", interval="profile")
    published = {"Vm": (197.30213, 229.29006), "K": (0.04692517, 0.08615995)}
    for name, ends in published.items():
        np.testing.assert_allclose(r.intervals[name], ends, rtol=2e-4)
    told = json.loads(succeeds(*ARGS, "--format", "json", stdin=ROWS).out)
    assert told["intervals"] == {n: list(ends) for n, ends in r.intervals.items()} and told["interval"] == "profile"


@pytest.mark.engine
def test_lmfit_finds_the_same_ends() -> None:
    lmfit = pytest.importorskip("lmfit")
    model = lmfit.Model(lambda x, Vm, K: Vm*x/(K + x))
    made = model.fit(RATE, x=np.array(CONC), Vm=200, K=0.05)
    r = compile(ENZYME).fit(PUROMYCIN, params="Vm=200,K=0.05", interval="profile", coverage=0.9)
    for name, ends in lmfit.conf_interval(made, made, sigmas=[0.9]).items():
        np.testing.assert_allclose(r.intervals[name], [ends[0][1], ends[2][1]], rtol=2e-4)


def test_a_linear_model_has_symmetric_intervals() -> None:
    args = {"params": "a=1,b=0,c=0", "coverage": 0.9}
    f = compile("v = a + b*x + c*x**2")
    profile, t = (f.fit(PUROMYCIN, interval=kind, **args) for kind in ("profile", "t"))
    for name, x in profile.params.items():
        half = stats.t.ppf(0.95, 9) * profile.uncertainties[name]
        np.testing.assert_allclose(t.intervals[name], [x - half, x + half], rtol=1e-12)
        np.testing.assert_allclose(profile.intervals[name], t.intervals[name], rtol=1e-7)
    known = f.fit(PUROMYCIN, sigma=10.0, interval="profile", params="a=1,b=0,c=0")
    half = stats.norm.ppf(0.975) * known.uncertainties["a"]
    assert known.intervals["a"][1] - known.params["a"] == pytest.approx(half, rel=1e-6)


def test_a_likelihood_has_the_profile_of_its_ratio() -> None:
    """Exponential times, F = −n log β + β Σy: 2(F − F₀) = z². The mean and scale of normal data: n log(1 + (μ − m)²/s²) = z²."""
    y = np.array([0.3, 1.2, 0.7, 2.9, 0.1])
    r = compile("v = beta").fit({"y": y}, params="beta=1", loss="exponential", interval="profile")
    b, z = 1 / y.mean(), stats.norm.ppf(0.975)
    ends = [optimize.brentq(lambda x: 2*5*(np.log(b/x) + x/b - 1) - z*z, *bracket) for bracket in ((0.01*b, b), (b, 10*b))]
    np.testing.assert_allclose(r.intervals["beta"], ends, rtol=1e-7)
    r = compile("v = mu").fit({"y": y}, params="mu=1,s=1 in [0, 100]", interval="profile",
                              loss="-normal_lpdf(observed, predicted, s)")
    half = y.std() * np.sqrt(np.expm1(z*z / 5))
    np.testing.assert_allclose(r.intervals["mu"], [y.mean() - half, y.mean() + half], rtol=1e-7)


@pytest.mark.parametrize(("args", "code", "said", "shown"), [
    (("-e", "v = a*(1 - exp(-k*x))", "--params", "a=10,k=1"), 0, "k: the profile interval has no upper end", "to inf"),
    (("-e", "v = a*(1 - exp(-k*x))", "--params", "a=10,k=1 in [0, 9]"), 0,
     "k: the upper end of the profile interval is the bound 9", "to 9.0"),
    (("-e", "v = a*(1 - exp(-k*x)) + 0*c", "--params", "a=10,k=1,c=1"), 1, "c has no influence", "interval of k"),
    (("-e", "v = a*x", "--params", "a=1", "--loss", "huber"), 2,
     "a profile is of squares or a log density, not of --loss huber", ""),
    (("-e", "v = a*x", "--params", "a=1", "--interval", "wald"), 2, "no interval 'wald'", ""),
])
def test_a_profile_without_an_end_says_so(args: tuple[str, ...], code: int, said: str, shown: str) -> None:
    rows = b"x,y\n1,8.9\n2,10.2\n3,9.7\n4,10.4\n5,9.9\n"
    found = adcli("fit", *args, *(() if "--interval" in args else ("--interval", "profile")), "--y", "y", stdin=rows)
    assert (found.code, said in found.err, shown in found.out) == (code, True, True), found


class ProfileWithAGap(Profile):
    """τ = x⁵ that is NaN between the estimate and the end, where the others cannot be fitted."""

    def __init__(self) -> None:
        self.at, self.u, self.low, self.high = 0.0, 1.0, -math.inf, math.inf

    def __call__(self, x: float) -> float:
        return math.nan if 0.1 < x < 1.1 else x**5


def test_no_end_is_claimed_where_the_profile_has_a_gap() -> None:
    assert math.isnan(ProfileWithAGap().end(1.2, 1)) and ProfileWithAGap().end(1.2, -1) == pytest.approx(-1.2**0.2)


def test_profiles_are_tables_and_pictures() -> None:
    told = succeeds(*ARGS, "--plot", stdin=ROWS).out
    assert "# 95 % profile interval of Vm = 197.30" in told and "(parameter − estimate) / standard uncertainty" in told
    assert "| 95 % interval |" in succeeds(*ARGS, "--format", "markdown", stdin=ROWS).out
    assert ",interval_low,interval_high," in succeeds(*ARGS, "--format", "csv", stdin=ROWS).out
