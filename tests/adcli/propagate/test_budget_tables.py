"""Budgets as tables, in brackets, and to second order for distributions that are not normal."""
from __future__ import annotations

import math
import re

import pytest
from command import adcli, numbers, succeeds

from adcli.propagate.budgets import concise

ARGS = ("propagate", "-e", "v_max = x*y", "-e", "w = x", "--at", "x=2±0.1~rect,y=0.50(1)~t(9)", "--coverage", "95%")


def test_outputs_have_a_matrix_of_their_correlations():
    asked = ("propagate", "-e", "v_max = x*y", "-e", "w = x - y", "-e", "z = x", "--at", "x=2±0.3,y=0.5±0.1", "-q")
    known = succeeds(*asked, "--format", "json").records[0]["correlation"]
    text = succeeds(*asked, "--format", "markdown", "--fmt", "%.17g").out.split("**Correlation coefficients**\n\n")[1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert rows[0] == ["Quantity", r"v\_max", "w", "z"]
    assert [[float(x) for x in row[1:] if x] for row in rows[2:]] == [
        [1], [known["v_max:w"], 1], [known["v_max:z"], known["w:z"], 1]]
    sampled = succeeds(*asked, "--format", "latex", "--monte-carlo", "1000").out
    assert r"Quantity & $v_{\text{max}}$ & $w$ & $z$ \\" in sampled and "% Correlation coefficients by Monte Carlo\n" in sampled
    assert rf"$w$ & ${known['v_max:w']:.3g}$ & $1$ &  \\" in sampled
    assert "Correlation" not in succeeds("propagate", "-e", "x", "--at", "x=1(1)", "--format", "markdown").out


def test_a_tabular_of_latex_is_whole():
    """Every row has as many cells as the layout, and nothing is left that LaTeX would take for a command of its own."""
    text = succeeds(*ARGS, "--format", "latex", "--monte-carlo", "1000", "-q").out
    layout, body = re.search(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end\{tabular\}", text, re.S).groups()
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(layout)}
    assert r"$v_{\text{max}}$ & $1.000$ & $0.035$" in text
    assert not re.search(r"(?<!\\)[#_%](?!\{)", re.sub(r"^% .*$", "", text, flags=re.M))
    assert "±" not in text


@pytest.mark.parametrize("value, u, text", [
    (12.0, 0.15, "12.00(15)"), (3920.6, 588.0, "3920(590)"), (6.62607015e-34, 1.2e-41, "6.62607015(12)e-34"),
    (2.0, 0.0, "2.0 ± 0"),
    (0.0, 1.5, "0.0(15)"), (1.0, 1e-20, "1.0 ± 1.0e-20 (1e-18 %)"), (-5.0, 1e4, "0(10000)"), (0.0, 1e8, "0.0(10)e8"),
    (math.inf, 1.0, "inf ± 1.0"), (1e300, 1e299, "1.00(10)e300")])
def test_a_value_with_its_uncertainty_in_brackets(value, u, text):
    assert concise(value, u) == text


# ---------------------------------------------------------------- the second order

@pytest.mark.parametrize("at, fourth", [
    ("x=3±0.5~rect", 0.5**4 / 5), ("x=3±0.5~tri", 0.5**4 / 15), ("x=3±0.5~arcsine", 3 * 0.5**4 / 8),
    ("x=3±0.5~trap(0)", 0.5**4 / 15),
    ("x=3±0.5~trap(1)", 0.5**4 / 5), ("x=3±0.5", 3 * 0.5**4)])
def test_a_square_has_its_exact_moments(at, fourth):
    """E(X²) and the standard deviation of X², from the moments of X about its mean."""
    got = numbers(succeeds("propagate", "-e", "v = x**2", "--at", at, "--second-order").out)
    u2 = got["u_v"] ** 2 / 36
    assert got["mean_v"] == pytest.approx(9 + u2)
    assert got["u2_v"] ** 2 == pytest.approx(36 * u2 + fourth - u2 * u2)


def test_skewed_inputs_have_their_exact_moments():
    """X exponential: E(X²) = 2x², E(X⁴) = 24x⁴; a gamma of shape k and scale 1: E(Xⁿ) = k(k + 1)…(k + n − 1)."""
    got = numbers(succeeds("propagate", "-e", "v = x**2", "--at", "x=3~exp", "--second-order").out)
    assert (got["mean_v"], got["u2_v"]) == pytest.approx((18, math.sqrt(24 * 81 - 18**2)))
    got = numbers(succeeds("propagate", "-e", "v = x**2 + z", "-e", "w = z*x", "--at", "x=7±7**0.5~gamma,z=1±2~rect",
                           "--second-order").out)
    assert (got["mean_v"], got["u2_v"]) == pytest.approx((57, math.sqrt(7 * 8 * 9 * 10 - 56**2 + 4 / 3)))
    assert got["u2_w"] ** 2 == pytest.approx(49 * 4 / 3 + 7 + 7 * 4 / 3)


def test_the_linear_model_of_normal_inputs_is_not_blamed_by_ten_samples():
    for seed in range(8):
        ended = adcli("propagate", "-e", "x + y", "--at", "x=1±1,y=1±1", "--monte-carlo", 10, "--seed", seed)
        assert ended.err.startswith("note: too few samples to tell whether the linear model is good enough for f; try")


def test_as_many_samples_as_the_figures_need():
    """The errors are within the tolerance, and with half as many they are not (JCGM 101, 7.9)."""
    (record,) = adcli("propagate", "-e", "x + y", "--at", "x=1±0.8,y=1±0.6~rect", "--monte-carlo", "auto", "--format",
                      "json").records
    told = record["monte_carlo"]
    tolerance, errors = record["interval"]["f"]["monte_carlo"]["tolerance"], told["of"]["f"]["error"].values()
    assert 2 * max(errors) <= tolerance < 2 * 2 * max(errors)
    assert told["samples"] % 65536 == 0


def test_the_shortest_interval_of_a_skewed_output():
    """exp(−x/3)/3: the shortest 95 % interval begins at 0 and ends at −3 ln 0.05."""
    got = numbers(adcli("propagate", "-e", "x", "--at", "x=3~exp", "--monte-carlo", "2e5", "--shortest").out)
    assert got["mc_short_low_f"] == pytest.approx(0, abs=0.01)
    assert got["mc_short_high_f"] == pytest.approx(-3 * math.log(0.05), rel=0.02)
    assert got["mc_short_high_f"] - got["mc_short_low_f"] < got["mc_high_f"] - got["mc_low_f"]


def test_json_and_csv_say_the_same():
    args = (*ARGS, "--monte-carlo", "1e4", "--shortest", "-q")
    (record,) = succeeds(*args, "--format", "json").records
    head, row = (line.split(",") for line in succeeds(*args, "--format", "csv").out.splitlines())
    found = dict(zip(head, map(float, row), strict=True))
    assert record["distribution"] == {"x": "rect", "y": "t(9)"}
    assert record["dof"] == {"v_max": found["dof_v_max"], "w": "Infinity"}
    assert record["interval"]["v_max"]["k"] == found["k_v_max"]
    assert record["monte_carlo"]["of"]["w"]["shortest"] == [found["mc_short_low_w"], found["mc_short_high_w"]]
    assert (found["u_x"], record["spread"]["x"]) == (0.1 / math.sqrt(3),) * 2
