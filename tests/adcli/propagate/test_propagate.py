"""Uncertainties: against the published examples of the GUM, closed forms and exact moments; what is printed, and faults."""
from __future__ import annotations

import csv
import io
import itertools
import math
import re

import numpy as np
import pytest
from adcli.lang.derive.uncertainty import propagation
from adcli.lang.derive.uncertainty_figures import cholesky
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import adcli, numbers, succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from adcli.propagate.budgets import rounded
from adcli.propagate.coverage import probability


def budget(program: str, at: str, *more: object) -> dict[str, float]:
    return numbers(succeeds("propagate", "-e", program, "--at", at, *more).out)


# ---------------------------------------------------------------- JCGM 100:2008, annex H

VOLTS = [5.007, 4.994, 5.005, 4.990, 4.999]
MILLIAMPERES = [19.663, 19.639, 19.640, 19.685, 19.678]
RADIANS = [1.0456, 1.0438, 1.0468, 1.0428, 1.0433]
IMPEDANCE = ("R = V / I * cos(phi)", "X = V / I * sin(phi)", "Z = V / I")


def test_simultaneous_resistance_and_reactance():
    """Example H.2: five observations of each quantity (table H.2), and the published results (table H.3)."""
    observed = np.array([VOLTS, [x / 1000 for x in MILLIAMPERES], RADIANS])
    mean, u, r = observed.mean(axis=1), observed.std(axis=1, ddof=1) / math.sqrt(5), np.corrcoef(observed)
    at = ",".join(f"{n}={x!r}±{s!r}" for n, x, s in zip(("V", "I", "phi"), mean.tolist(), u.tolist(), strict=True))
    assert [f"{x:.2f}" for x in (r[0, 1], r[0, 2], r[1, 2])] == ["-0.36", "0.86", "-0.65"]
    correlation = f"V:I={float(r[0, 1])!r},V:phi={float(r[0, 2])!r},I:phi={float(r[1, 2])!r}"
    lines = [part for line in IMPEDANCE for part in ("-e", line)]
    got = numbers(succeeds("propagate", *lines, "--at", at, "--correlation", correlation).out)
    shown = {name: f"{x:.3f}" for name, x in got.items()}
    assert (shown["R"], shown["X"], shown["Z"]) == ("127.732", "219.847", "254.260")
    assert [got[f"u_{v}"] for v in "RXZ"] == pytest.approx([0.071, 0.295, 0.236], abs=1e-3)   # one unit of the last digit
    assert (shown["corr_R_X"], shown["corr_R_Z"], shown["corr_X_Z"]) == ("-0.588", "-0.485", "0.993")


def test_it_is_the_spread_of_results_of_every_observation():
    """The other way of example H.2 (table H.4): R, X and Z of each of the five observations, and their statistics."""
    v, i, phi = np.array(VOLTS), np.array(MILLIAMPERES) / 1000, np.array(RADIANS)
    each = np.array([v / i * np.cos(phi), v / i * np.sin(phi), v / i])
    observed = np.array([v, i, phi])
    whole = propagation(parse("\n".join([*IMPEDANCE, ""])), ["V", "I", "phi"], 1, [
        ("V", "I", float(np.corrcoef(observed)[0, 1])), ("V", "phi", float(np.corrcoef(observed)[0, 2])),
        ("I", "phi", float(np.corrcoef(observed)[1, 2]))])
    at = dict(zip(("V", "I", "phi", "u_V", "u_I", "u_phi"),
                  [*observed.mean(axis=1), *observed.std(axis=1, ddof=1) / math.sqrt(5)], strict=True))
    got = evaluate(whole, {name: float(x) for name, x in at.items()})
    want = each.std(axis=1, ddof=1) / math.sqrt(5)
    assert [f"{x:.3f}" for x in want] == ["0.071", "0.295", "0.236"]   # as published
    assert [got[f"u_{q}"] for q in "RXZ"] == pytest.approx(want.tolist(), abs=5e-4)
    assert f"{got['corr_R_X']:.3f}" == f"{np.corrcoef(each)[0, 1]:.3f}" == "-0.588"


def test_end_gauge_to_second_order():
    """Example H.1: 32 nm, and 34 nm with the terms of second order, which are 11.7 nm and 1.7 nm (H.1.7)."""
    at = (f"ls=50000623±25,d=215±9.7,da=0±{1e-6 / math.sqrt(3)},theta=-0.1±{math.hypot(0.2, 0.5 / math.sqrt(2))},"
          f"as=11.5e-6±{2e-6 / math.sqrt(3)},dt=0±{0.05 / math.sqrt(3)}")
    got = numbers(succeeds("propagate", ROOT / "samples/gauge_block.ad", "--at", at, "--second-order").out)
    assert (got["l"], round(got["u_l"]), round(got["u2_l"])) == (50000838.0, 32, 34)
    assert got["u_l"] ** 2 == pytest.approx(1002, abs=1)
    assert got["u2_l"] == pytest.approx(math.sqrt(got["u_l"] ** 2 + 11.7**2 + 1.7**2), rel=1e-3)


# ---------------------------------------------------------------- closed forms

def test_relative_variances_of_a_product_add():
    got = budget("v = x**2 * y / sqrt(z)", "x=2±0.02,y=5±0.1,z=9±0.3")
    parts = [(2 * 0.01) ** 2, 0.02**2, (0.5 * 0.3 / 9) ** 2]
    assert got["u_v"] == pytest.approx(got["v"] * math.sqrt(sum(parts)), rel=1e-14)
    shares = [got[f"share_v_{x}"] for x in "xyz"]
    assert shares == pytest.approx([100 * p / sum(parts) for p in parts], rel=1e-13)


@pytest.mark.parametrize("r, want", [(0, math.hypot(3, 4)), (1, 7), (-1, 1), (0.5, math.sqrt(37)), (-0.5, math.sqrt(13))])
def test_a_sum_of_correlated_inputs(r, want):
    got = budget("v = x + y", "x=1±3,y=1±4", "--correlation", f"x:y={r}")
    assert got["u_v"] == pytest.approx(want, rel=1e-15)
    assert sum(x for name, x in got.items() if name.startswith("share")) == pytest.approx(100, rel=1e-13)
    assert got.get("share_v_x_y", 0) == pytest.approx(100 * 2 * r * 12 / want**2)


def test_what_cancels_completely_has_no_uncertainty():
    ended = adcli("propagate", "-e", "v = x - y", "--at", "x=3±0.1,y=1±0.1", "--correlation", "x:y=1")
    assert numbers(ended.out) == {"v": 2, "u_v": 0}
    assert ended.err == "note: to first order, the contributions to the uncertainty of v cancel: it has no shares\n"


THIRDS = "x:y=-1/3,x:z=-1/3,x:w=-1/3,y:z=-1/3,y:w=-1/3,z:w=-1/3"
HALVES = "x:y=-0.5,x:z=-0.5,y:z=-0.5"


@pytest.mark.parametrize("program, correlation, u", [
    ("v = x + y + z", HALVES, 0), ("v = 3*x + 3*y + 3*z", HALVES, 0), ("v = 0.1*x + 0.1*y + 0.1*z", HALVES, 0),
    ("v = x + y + z + w", THIRDS, 0), ("v = x/7 + y/7 + z/7 + w/7", THIRDS, 0),
    ("v = 0.1*x + 0.2*y - 0.3*z", "x:y=1,x:z=1,y:z=1", 0),
    ("v = x - y", "x:y=0.6", math.sqrt(0.8)), ("v = x - (1 - 1e-9)*y", "x:y=1", 1e-9), ("v = x + y + (1 + 1e-6)*z", HALVES, 1e-6),
    ("v = x + y + z", "x:y=-0.5,x:z=-0.5,y:z=-0.4999999999", math.sqrt(2e-10)), ("v = 1e200*x - 1e200*y", "x:y=1", 0),
    ("v = 1e308*x - 1e308*y", "x:y=0", math.sqrt(2) * 1e308), ("v = 1e-320*x - 1e-320*y", "x:y=1", 0)])
@pytest.mark.parametrize("second", [(), ("--second-order",)])
def test_contributions_cancel_exactly_or_not_at_all(program, correlation, u, second):
    """By hand: what cancels within rounding is 0 and has no shares, what is small is as right as its inputs."""
    names = [n for n in "xyzw" if n in program]
    ended = adcli("propagate", "-e", program, "--at", ",".join(f"{n}=1±1" for n in names), "--correlation", correlation, *second)
    got = numbers(ended.out)
    assert got["u_v"] == pytest.approx(u, rel=2e-6)
    assert not second or got["u2_v"] == pytest.approx(u, rel=2e-6)
    shares = [x for name, x in got.items() if name.startswith("share")]
    assert bool(shares) == bool(u)
    if u > 1e-5:
        assert sum(shares) == pytest.approx(100, rel=1e-3)


def test_outputs_are_correlated_by_what_they_share():
    got = numbers(succeeds("propagate", "-e", "s = x + y", "-e", "d = x - y", "-e", "w = 2*x", "-e", "c = k", "--at",
                           "x=1±0.3,y=2±0.4,k=1").out)
    assert got["corr_s_d"] == pytest.approx((0.09 - 0.16) / 0.25)
    assert got["corr_s_w"] == pytest.approx(0.6)
    assert got["corr_d_w"] == pytest.approx(0.6)
    assert (got["u_c"], got["corr_s_c"]) == (0, 0)


def test_neither_tiny_nor_huge_contributions_are_lost():
    assert budget("v = x * y", "x=1e-200±1e-201,y=1e-5±1e-6")["u_v"] == pytest.approx(math.sqrt(2) * 1e-206)
    assert budget("v = x * y", "x=1e150±1e149,y=1e100±1e99")["u_v"] == pytest.approx(math.sqrt(2) * 1e249)


# ---------------------------------------------------------------- exact moments of normal inputs

@pytest.mark.parametrize("program, at, more, mean, variance", [
    ("v = x**2", "x=3±0.5", [], 9 + 0.25, 4 * 9 * 0.25 + 2 * 0.5**4),
    ("v = x**2", "x=0±0.5", [], 0.25, 2 * 0.5**4),
    ("v = x*y", "x=3±0.5,y=2±0.4", [], 6, 9 * 0.16 + 4 * 0.25 + 0.04),
    ("v = x*y", "x=3±0.5,y=2±0.4", ["--correlation", "x:y=0.25"], 6 + 0.05,
     9 * 0.16 + 4 * 0.25 + 2 * 3 * 2 * 0.05 + 0.04 + 0.05**2),
    ("v = x**2 + y**2", "x=0±1,y=0±1", [], 2, 4),
    ("v = x + 2*y", "x=1±1,y=1±1", [], 3, 5)])
def test_quadratic_programs_have_their_exact_moments_to_second_order(program, at, more, mean, variance):
    got = budget(program, at, "--second-order", *more)
    assert got["mean_v"] == pytest.approx(mean, rel=1e-14)
    assert got["u2_v"] == pytest.approx(math.sqrt(variance), rel=1e-14)


def test_the_lognormal_distribution_to_second_order():
    """exp(x): mean e^(μ + σ²/2), variance (e^σ² − 1) e^(2μ + σ²); the error is of the fourth order in σ."""
    for s in (0.1, 0.05):
        got = budget("v = exp(x)", f"x=1±{s}", "--second-order")
        assert got["mean_v"] == pytest.approx(math.exp(1 + s * s / 2), rel=s**4)
        assert got["u2_v"] ** 2 == pytest.approx((math.exp(s * s) - 1) * math.exp(2 + s * s), rel=1.5 * s**2)


# ---------------------------------------------------------------- a program as any other

def test_the_emitted_program_gives_the_same(tmp_path):
    text = succeeds("propagate", ROOT / "samples/worked.ad", "--emit", "text").data
    assert text.startswith(b"# adcli ")
    again = numbers(succeeds("eval", "-", "--at", "x=2,y=5,u_x=0.1,u_y=0.2", stdin=text).out)
    assert again == numbers(succeeds("propagate", ROOT / "samples/worked.ad", "--at", "x=2±0.1,y=5±0.2").out)


def test_rows_are_points():
    rows = b"id,y,u_y,x,u_x\na,5,0.2,2,0.1\nb,4,0,1,0.5\n"
    got = list(csv.DictReader(io.StringIO(succeeds("propagate", ROOT / "samples/worked.ad", stdin=rows).out)))
    assert [row["id"] for row in got] == ["a", "b"]
    for row, at in zip(got, ("x=2±0.1,y=5±0.2", "x=1±0.5,y=4±0"), strict=True):
        want = numbers(succeeds("propagate", ROOT / "samples/worked.ad", "--at", at).out)
        assert {name: float(row[name]) for name in want} == want


def test_params_are_exact_unless_they_have_a_spread():
    text = "param k = 2\nv = k*x\n"
    assert "share_v_k" not in budget(text, "x=1±0.1")
    assert budget(text, "x=1±0.1,k=2±0.2")["share_v_k"] == pytest.approx(50)


def test_an_exact_input_brings_nothing_even_where_its_derivative_is_infinite():
    ended = adcli("propagate", "-e", "v = sqrt(x) + y", "--at", "x=0±0,y=1±0.1")
    assert numbers(ended.out) == {"v": 1, "u_v": 0.1, "share_v_x": 0, "share_v_y": 100}
    ended = adcli("propagate", "-e", "v = sqrt(x) + y**2", "--at", "x=0±0,y=1±0.1", "--second-order")
    assert numbers(ended.out)["mean_v"] == pytest.approx(1.01)


@pytest.mark.parametrize("program", ["v = x**2", "v = exp(x)", "v = x", "v = x*x - w*x"])
def test_without_uncertainty_the_estimate_is_the_value(program):
    got = budget(program, "x=3±0,w=2±0" if "w" in program else "x=3±0", "--second-order", "--coverage", "0.9")
    assert got["mean_v"] == got["v"] == got["low_v"] == got["high2_v"] != 0
    assert got["u_v"] == got["u2_v"] == 0


# ---------------------------------------------------------------- correlations

@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_a_matrix_is_refused_if_and_only_if_it_is_not_positive_semidefinite(coefficients):
    names, matrix = "abcd", np.eye(4)
    pairs = [(names[i], names[j], r) for (i, j), r in zip(itertools.combinations(range(4), 2), coefficients, strict=True)]
    for x, y, r in pairs:
        matrix[names.index(x), names.index(y)] = matrix[names.index(y), names.index(x)] = r
    least = np.linalg.eigvalsh(matrix)[0]
    try:
        cholesky(names, pairs)
        assert least > -1e-6
    except AdError as error:
        assert least < 1e-6
        assert "not positive semidefinite" in error.message


def test_the_pair_that_contradicts_the_others_is_named_with_what_it_could_be():
    with pytest.raises(AdError, match=r"--correlation y:z=-0.9 contradicts the others") as caught:
        cholesky(["x", "y", "z"], [("x", "y", 0.9), ("x", "z", 0.9), ("y", "z", -0.9)])
    low, high = map(float, re.findall(r"-?[\d.]+", caught.value.help)[-2:])
    assert (low, high) == pytest.approx((0.62, 1), abs=1e-6)   # 0.81 ∓ 0.19


# ---------------------------------------------------------------- how it reads

@pytest.mark.parametrize("value, u, text", [
    (3920.6, 588.0, "3920 ± 590 (15 %)"), (127.73217, 0.0711, "127.732 ± 0.071 (0.056 %)"), (1.0, 0.0996, "1.00 ± 0.10 (10 %)"),
    (50000838.0, 31.7, "50000838 ± 32 (6.3e-05 %)"), (0.0, 1.5, "0.0 ± 1.5"), (2.0, 0.0, "2.0 ± 0"), (-5.0, 1e4, "0 ± 10000"),
    (6.62607015e-34, 1.2e-41, "(6.62607015 ± 0.00000012)e-34 (1.8e-06 %)"), (1e300, 1e299, "(1.00 ± 0.10)e300 (10 %)"),
    (1.0, 1e-20, "1.0 ± 1.0e-20 (1e-18 %)"), (math.inf, math.nan, "inf ± nan"), (9.96, 0.3, "9.96 ± 0.30 (3 %)"),
    (999999.96, 0.95, "999999.96 ± 0.95 (9.5e-05 %)"), (5e-324, 5e-324, "(4.9 ± 4.9)e-324 (100 %)")])
def test_a_value_with_its_uncertainty_for_people(value, u, text):
    assert rounded(value, u) == text


def test_text_is_a_program_and_says_the_same_as_the_other_formats():
    args = ("propagate", "-e", "v = x*y", "-e", "w = x/y", "--at", "x=2±0.1,y=5±2%", "--correlation", "x:y=0.5", "--second-order",
            "--monte-carlo", "20000", "--coverage", "90%", "-q", "--status")
    text = succeeds(*args).out
    got = numbers(text.replace("status = smooth\n", ""))
    program = parse(text.replace("status = smooth\n", ""))
    assert evaluate(program, {}) == got
    (row,) = csv.DictReader(io.StringIO(succeeds(*args, "--format", "csv").out))
    assert row.pop("status") == "smooth"
    assert {name: float(row[name]) for name in got} == got
    assert set(row) - set(got) == {"x", "y", "u_x", "u_y", "mc_bad_v", "mc_bad_w",
                                   *(f"mc_{k}_error_{v}" for k in ("mean", "u", "low", "high") for v in "vw")}
    (record,) = succeeds(*args, "--format", "json").records
    assert record["spread"] == {"x": 0.1, "y": 0.1}
    assert record["u"] == {v: got[f"u_{v}"] for v in "vw"}
    assert record["share"]["w"] == {"x": got["share_w_x"], "y": got["share_w_y"], "x:y": got["share_w_x_y"]}
    assert record["correlation"] == {"v:w": got["corr_v_w"]}
    assert record["second_order"]["v"]["u"] == got["u2_v"]
    assert record["interval"]["v"]["low"] == got["low_v"]
    assert record["monte_carlo"]["of"]["w"]["high"] == got["mc_high_w"]
    assert record["monte_carlo"]["correlation"] == {"v:w": got["mc_corr_v_w"]}
    assert record["coverage"] == 0.9


def test_coverage_alone_gives_the_normal_interval():
    got = budget("v = 2*x", "x=1±0.5", "--coverage", "0.99")
    assert (got["low_v"], got["high_v"]) == pytest.approx((2 - 2.5758293035489004, 2 + 2.5758293035489004), rel=1e-14)


def test_not_more_remarks_than_one_reads():
    ended = adcli("propagate", "-e", "v = y*x**2", "--at", "x=0±1,y=1:50:50")
    lines = ended.err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "note: 30 more remarks of this kind"


# ---------------------------------------------------------------- what is wrong is said


@pytest.mark.parametrize("text, p", [("0.95", 0.95), ("95%", 0.95), ("99.73 %", 0.9973)])
def test_a_probability(text, p):
    assert probability(text) == pytest.approx(p)


def test_too_many_are_refused():
    wide = "v = " + " + ".join(f"x{i}*x{i + 1}" for i in range(500))
    at = ",".join(f"x{i}=1±0.1" for i in range(501))
    assert budget(wide, at)["u_v"] == pytest.approx(math.sqrt(0.01 * (2 + 4 * 499)))
    ended = adcli("propagate", "-e", wide, "--at", at, "--second-order")
    assert (ended.code, "too many for one propagation" in ended.err) == (2, True)


def test_arrays_give_what_points_give():
    """The propagation program on NumPy arrays, which is how rows go."""
    program = propagation(parse("v = x*sin(y)\n"), ["x", "y"])
    at = {"x": np.array([1.0, 2.0]), "y": np.array([0.5, 1.5]), "u_x": np.array([0.1, 0.2]), "u_y": np.array([0.3, 0.0])}
    got = evaluate(program, at, numpy_arithmetic())
    want = np.hypot(np.sin(at["y"]) * at["u_x"], at["x"] * np.cos(at["y"]) * at["u_y"])
    assert got["u_v"] == pytest.approx(want, rel=1e-14)

