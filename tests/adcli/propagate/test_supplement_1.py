"""The examples of JCGM 101:2008, clause 9, as printed: the tables' figures, and closed forms where there are any."""
from __future__ import annotations

import math

import numpy as np
import pytest
from command import adcli, numbers
from places import ROOT

SUM = ("propagate", "-e", "y = x1 + x2 + x3 + x4")


def figures(*args: object) -> dict[str, float]:
    ended = adcli(*args)
    assert ended.code == 0, ended.err
    return numbers(ended.out)


def each(*texts: str) -> str:
    """The four inputs, all alike where one is given."""
    return ",".join(f"x{i}={text}" for i, text in enumerate(texts * (4 // len(texts)), 1))


# ---------------------------------------------------------------- 9.2: an additive model

def test_9_2_2_normal_inputs():
    """Table 2: GUM and Monte Carlo give 0, 2.0, [−3.92, 3.92]."""
    got = figures(*SUM, "--at", each("0±1"), "--monte-carlo", "1e6")
    assert got["u_y"] == pytest.approx(2)
    assert (got["low_y"], got["high_y"]) == pytest.approx((-3.92, 3.92), abs=0.005)
    assert got["mc_u_y"] == pytest.approx(2, abs=0.01)
    assert (got["mc_low_y"], got["mc_high_y"]) == pytest.approx((-3.92, 3.92), abs=0.03)


def test_9_2_3_rectangular_inputs_of_the_same_width():
    """Table 3: GUM [−3.92, 3.92], Monte Carlo [−3.88, 3.88]; exactly ± 2√3·(2 − (3/5)^¼) (9.2.3.2, annex E)."""
    got = figures(*SUM, "--at", each("0±3**0.5~rect"), "--monte-carlo", "1e6")
    exact = 2 * math.sqrt(3) * (2 - 0.6**0.25)
    assert exact == pytest.approx(3.88, abs=0.005)
    assert got["u_y"] == pytest.approx(2)
    assert (got["low_y"], got["high_y"]) == pytest.approx((-3.92, 3.92), abs=0.005)
    assert (-got["mc_low_y"], got["mc_high_y"]) == pytest.approx((exact, exact), abs=0.02)


def test_9_2_4_rectangular_inputs_of_which_one_is_wider():
    """Table 4: GUM 10.1 and [−19.9, 19.9]; Monte Carlo 10.1 and [−17.0, 17.0]: the linear model does not hold."""
    ended = adcli(*SUM, "--at", each(*["0±3**0.5~rect"] * 3, "0±10*3**0.5~rect"), "--monte-carlo", "1e6")
    got = numbers(ended.out)
    assert (f"{got['u_y']:.3g}", f"{got['mc_u_y']:.3g}") == ("10.1", "10.1")
    assert (got["low_y"], got["high_y"]) == pytest.approx((-19.9, 19.9), abs=0.05)
    assert (got["mc_low_y"], got["mc_high_y"]) == pytest.approx((-17.0, 17.0), abs=0.06)
    assert ended.err == "note: the linear model is not good enough for y here; use the Monte Carlo figures\n"


# ---------------------------------------------------------------- 9.3: mass calibration

def test_9_3_mass_calibration():
    """Table 6, in milligrams: GUM 1.2340, 0.0539, [1.1285, 1.3395]; with terms of higher order 0.0750, [1.0870, 1.3810]; Monte
    Carlo 1.2341, 0.0754, [1.0834, 1.3825]. The first is not validated, the second is."""
    at = "m=100000.000±0.050,trim=1.234±0.020,air=1.20±0.10~rect,W=8e3±1e3~rect,R=8.00e3±0.05e3~rect"
    ended = adcli("propagate", ROOT / "samples/mass_calibration.ad", "--at", at, "--second-order", "--monte-carlo", "1e6",
                  "--shortest")
    got = numbers(ended.out)
    v = "deviation"
    assert [f"{got[f'{kind}_{v}']:.4f}" for kind in ("u", "low", "high")] == ["0.0539", "1.1285", "1.3395"]
    assert got[v] == pytest.approx(1.234, abs=1e-9)
    assert [got[f"{kind}_{v}"] for kind in ("u2", "low2", "high2")] == pytest.approx([0.0750, 1.0870, 1.3810], abs=1e-4)
    assert got[f"mc_mean_{v}"] == pytest.approx(1.2341, abs=3e-4)
    assert got[f"mc_u_{v}"] == pytest.approx(0.0754, abs=3e-4)
    assert (got[f"mc_short_low_{v}"], got[f"mc_short_high_{v}"]) == pytest.approx((1.0834, 1.3825), abs=0.004)
    assert ended.err.startswith(f"note: the linear model is not good enough for {v} here")


# ---------------------------------------------------------------- 9.4: comparison loss in microwave power meter calibration

@pytest.mark.parametrize("x1, r, interval", [
    (0.0, 0.0, (0, 150)), (0.010, 0.0, (0, 367)), (0.050, 0.0, (1590, 3543)), (0.0, 0.9, (0, 185)), (0.010, 0.9, (13, 398))])
def test_9_4_comparison_loss(x1, r, interval):
    """Y = X1² + X2² in millionths, with x2 = 0 and u = 0.005: the estimate and standard uncertainty are known exactly (annex F),
    and the second order gives them; the shortest intervals are those of tables 8 and 9."""
    at = f"x1={x1}±0.005,x2=0±0.005"
    ended = adcli("propagate", ROOT / "samples/comparison_loss.ad", "--at", at, *(("--correlation", f"x1:x2={r}") if r else ()),
                  "--second-order", "--monte-carlo", "1e6", "--shortest")
    got = numbers(ended.out)
    u = 0.005
    mean, variance = x1**2 + 2 * u**2, 4 * u**2 * x1**2 + 4 * u**4 * (1 + r**2)
    assert got["u_loss"] == pytest.approx(2 * x1 * u)
    assert got["mean_loss"] == pytest.approx(mean, rel=1e-12)
    assert got["u2_loss"] == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert got["mc_mean_loss"] == pytest.approx(mean, abs=4e-3 * math.sqrt(variance))
    assert got["mc_u_loss"] == pytest.approx(math.sqrt(variance), rel=0.01)
    shortest = [1e6 * got[f"mc_short_{end}_loss"] for end in ("low", "high")]
    assert shortest == pytest.approx(interval, abs=max(3, 0.02 * interval[1]))


# ---------------------------------------------------------------- 9.5: gauge block calibration

def test_9_5_gauge_block():
    """Table 11, in nanometres: GUM 838, 32, 99 % interval [745, 931]; Monte Carlo 838, 36. The interval of a million samples is
    that of Metrology 2022, 2(1), 3, section 4.1, [745, 932], and of a simulation with NumPy alone."""
    at = ("ls=50000623±25~t(18),d=215±6~t(24),d1=0±4~t(5),d2=0±7~t(8),as=11.5e-6±2e-6~rect,theta=-0.1±0.2,"
          "cycle=0±0.5~arcsine,da=0±1e-6~ctrap(10%),dt=0±0.050~ctrap(50%)")
    got = figures("propagate", ROOT / "samples/gauge_block.ad", "--at", at, "--coverage", "99%", "--monte-carlo", "1e6",
                  "--shortest")
    nominal = 50_000_000
    assert (got["l"] - nominal, round(got["u_l"])) == (838, 32)
    assert (got["low_l"] - nominal, got["high_l"] - nominal) == pytest.approx((745, 931), abs=1)
    assert math.floor(got["dof_l"]) == 16   # JCGM 100, H.1.6
    assert got["mc_mean_l"] - nominal == pytest.approx(838, abs=0.5)
    assert round(got["mc_u_l"]) == 36
    shortest = got["mc_short_low_l"] - nominal, got["mc_short_high_l"] - nominal
    assert shortest == pytest.approx((745, 932), abs=2)


def test_9_5_with_the_whole_model():
    """The quotient that the model of the guide is linear in, and its samples drawn as clause 6.4 says, by NumPy."""
    r, count = np.random.default_rng(0), 400_000

    def inexact(w: float, d: float) -> np.ndarray:
        low = -w - d + 2 * d * r.random(count)
        return low - 2 * low * r.random(count)

    ls, d = 50000623 + 25 * r.standard_t(18, count), 215 + 6 * r.standard_t(24, count)
    d = d + 4 * r.standard_t(5, count) + 7 * r.standard_t(8, count)
    alpha = r.uniform(9.5e-6, 13.5e-6, count)
    theta = -0.1 + 0.2 * r.standard_normal(count) + 0.5 * np.sin(2 * np.pi * r.random(count))
    want = (ls * (1 + alpha * (theta - inexact(0.05, 0.025))) + d) / (1 + (alpha + inexact(1e-6, 1e-7)) * theta)
    got = figures("propagate", "-e", "l = (ls*(1 + a*(t + c - dt)) + d + d1 + d2) / (1 + (a + da)*(t + c))", "--at",
                  "ls=50000623±25~t(18),d=215±6~t(24),d1=0±4~t(5),d2=0±7~t(8),a=11.5e-6±2e-6~rect,t=-0.1±0.2,c=0±0.5~arcsine,"
                  "da=0±1e-6~ctrap(10%),dt=0±0.050~ctrap(50%)", "--coverage", "99%", "--monte-carlo", count)
    assert (got["mc_mean_l"], got["mc_u_l"]) == (pytest.approx(want.mean(), abs=0.4), pytest.approx(want.std(), rel=0.01))
    assert (got["mc_low_l"], got["mc_high_l"]) == pytest.approx(np.quantile(want, [0.005, 0.995]).tolist(), abs=2)
