"""Distributions of inputs: every row against SciPy and against its own samples; and what a file says."""
from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from adcli.input.distributions import DISTRIBUTIONS, SYNONYMS, Sample, Spread, distribution, split
from adcli.propagate.draws import draws

X, W = 3.0, 0.7


def curvilinear(d: float):
    """The density of JCGM 101, equation 3, for limits X ± W."""
    a, b = X - W, X + W
    middle, width = (a + b) / 2, (b - a) / 2

    class Density:
        def pdf(self, x: float) -> float:
            off = abs(x - middle)
            return math.log((width + d) / max(width - d, off)) / (4 * d) if off < width + d else 0.0

        def mean(self) -> float:
            return middle
    return Density()


LAW = {
    "normal": ("normal", stats.norm(X, W)), "rect": ("rect", stats.uniform(X - W, 2 * W)),
    "tri": ("tri", stats.triang(0.5, X - W, 2 * W)), "trap": ("trap(0.4)", stats.trapezoid(0.3, 0.7, X - W, 2 * W)),
    "arcsine": ("arcsine", stats.arcsine(X - W, 2 * W)), "t": ("t(9)", stats.t(9, X, W)), "exp": ("exp", stats.expon(0, X)),
    "gamma": ("gamma", stats.gamma((X / W) ** 2, 0, W * W / X)), "ctrap": ("ctrap(20%)", curvilinear(0.2 * W))}


def spread(name: str) -> Spread:
    text = LAW[name][0]
    return split(f"x={X}~{text}" if name == "exp" else f"x={X}±{W}~{text}")[1]["x"]


def moments(law: object) -> tuple[float, float, float]:
    """Standard deviation, skewness and kurtosis, of what has only a density by quadrature."""
    if not hasattr(law, "std"):
        m = [integrate.quad(lambda x, k=k: law.pdf(x) * (x - X) ** k, X - 2 * W, X + 2 * W, limit=200)[0] for k in (2, 3, 4)]
        return math.sqrt(m[0]), m[1] / m[0] ** 1.5, m[2] / m[0] ** 2
    skewness, kurtosis = law.stats("sk")
    return float(law.std()), float(skewness), float(kurtosis) + 3


def test_every_distribution_is_compared():
    assert set(LAW) == set(DISTRIBUTIONS)
    assert set(SYNONYMS.values()) <= set(DISTRIBUTIONS)
    assert not set(SYNONYMS) & set(DISTRIBUTIONS)


@pytest.mark.parametrize("name", LAW)
def test_a_row_is_its_distribution(name):
    """The standard uncertainty and the moments; a t-distribution and inexact limits count as the GUM has them: by their scale,
    with degrees of freedom."""
    given, law = spread(name), LAW[name][1]
    u, skewness, kurtosis = moments(law)
    if name == "t":
        assert (given.u, given.dof, given.moments) == (W, 9, (0, 3))
    elif name == "ctrap":
        assert (given.u, given.dof) == (pytest.approx(W / math.sqrt(3)), pytest.approx(12.5))
        assert math.hypot(given.u, 0.2 * W / 3) == pytest.approx(u, rel=1e-6)   # JCGM 101, 6.4.3.3
    else:
        assert given.u == pytest.approx(u, rel=1e-12)
        assert given.moments == pytest.approx((skewness, kurtosis), rel=1e-12, abs=1e-12)
        assert given.dof == math.inf


@pytest.mark.parametrize("name", LAW)
def test_samples_follow_their_distribution(name):
    """By the test of Kolmogorov and Smirnov where the distribution function is known, else by its moments."""
    values = draws({"x": spread(name)}, []).block(np.random.default_rng(5), 50_000)["x"]
    law = LAW[name][1]
    if hasattr(law, "cdf"):
        assert stats.kstest(values, law.cdf).pvalue > 1e-4
        return
    u, _, kurtosis = moments(law)
    assert values.mean() == pytest.approx(X, abs=5 * u / math.sqrt(50_000))
    assert values.std() == pytest.approx(u, rel=0.01)
    assert stats.kurtosis(values, fisher=False) == pytest.approx(kurtosis, rel=0.02)


@pytest.mark.parametrize("name", LAW)
def test_without_a_spread_every_sample_is_the_estimate(name):
    if name != "exp":
        given = Spread(X, 0.0, DISTRIBUTIONS[name], 0.0 if name in ("ctrap", "trap") else 9.0)
        assert given.u == 0
        assert (draws({"x": given}, []).block(np.random.default_rng(1), 10)["x"] == X).all()


def test_a_parameter_in_percent_is_a_part_of_the_spread():
    assert distribution("x", "ctrap(10%)", 2.0)[1] == pytest.approx(0.2)
    assert Spread(0.0, 2.0, *distribution("x", "ctrap(10%)", 2.0)).dof == pytest.approx(50)   # JCGM 100, H.1.6
    assert Spread(0.0, 2.0, *distribution("x", "ctrap(50%)", 2.0)).dof == pytest.approx(2)


# ---------------------------------------------------------------- values of files

def test_the_statistics_of_a_sample():
    r = np.random.default_rng(2)
    a, b = r.gamma(2, size=50), r.standard_normal(50)
    one, other = Sample("f", tuple(a.tolist())), Sample("f", tuple((b + a).tolist()))
    assert (one.mean, one.s) == pytest.approx((a.mean(), a.std(ddof=1)))
    assert (one.moment(3), one.moment(4)) == pytest.approx((stats.skew(a), stats.kurtosis(a, fisher=False)))
    assert one.correlation(other) == pytest.approx(np.corrcoef(a, a + b)[0, 1])
    still = Sample("f", (1.0, 1.0))
    assert (still.s, still.moment(4), still.correlation(Sample("f", (1.0, 2.0)))) == (0, 0, 0)


@pytest.mark.parametrize("text, path, column, kind, u", [
    ("@v.csv:a", "v.csv", "a", "samples", 1.0), ("@v.csv", "v.csv", "x", "samples", 1.0),
    ("@v.csv:a~t", "v.csv", "a", "t", 3**-0.5),
    ("@~/v.csv", "~/v.csv", "x", "samples", 1.0), ("@~/v.csv ~ t", "~/v.csv", "x", "t", 3**-0.5)])
def test_values_of_a_file(text, path, column, kind, u):
    asked = []

    def read(*which):
        asked.append(which)
        return [1.0, 2.0, 3.0]

    plain, spreads = split(f"x={text}", read)
    assert (plain, asked) == ("x=2.0", [(path, column)])
    assert (spreads["x"].kind.name, spreads["x"].u) == (kind, pytest.approx(u))
    assert spreads["x"].dof == (2 if kind == "t" else math.inf)
