"""Predictions of a fit: the formulas of regression, what propagate makes of the fitted program, and what is refused."""
from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from command import adcli, succeeds
from scipy import optimize, stats

from adcli import compile

X, Y = np.array([1.0, 2.0, 3.0, 5.0, 8.0]), np.array([2.0, 4.0, 3.0, 7.0, 11.0])
LINE = "x,y,s\n" + "".join(f"{x},{y},{0.1 * x}\n" for x, y in zip(X, Y, strict=True))
FIT = ("fit", "-e", "v = a*x + b", "--params", "a=1,b=0")
MODEL = ("fit", "samples/adsorption.ad", "--data", "samples/adsorption.csv", "--y", "y")


def columns(text: str) -> dict[str, np.ndarray]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def predicted(*args: object, stdin: str = LINE) -> dict[str, np.ndarray]:
    return columns(succeeds(*args, stdin=stdin.encode()).out)


def test_a_line_has_the_bands_of_textbooks() -> None:
    there = np.array([0.0, 10.0, 20.0])
    line = stats.linregress(X, Y)
    s = np.sqrt(np.sum((Y - line.intercept - line.slope * X)**2) / 3)
    u = s * np.sqrt(1 / len(X) + (there - X.mean())**2 / np.sum((X - X.mean())**2))
    mean, t = line.intercept + line.slope * there, stats.t.ppf(0.95, 3)
    expected = {"v": mean, "u_v": u, "low_v": mean - t * u, "high_v": mean + t * u,
                "low_new_v": mean - t * np.hypot(u, s), "high_new_v": mean + t * np.hypot(u, s)}
    found = predicted(*FIT, "--y", "y", "--predict", "x=0:20:3", "--coverage", "90%")
    again = compile("v = a*x + b").fit({"x": X, "y": Y}, params="a=1,b=0", predict={"x": there}, coverage=0.9).predicted
    assert list(found) == ["x", *expected] and list(again) == list(expected)
    for name, x in expected.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(again[name], x, rtol=1e-12, err_msg=name)
    told = json.loads(succeeds(*FIT, "--y", "y", "--predict", "x=0:20:3", "--format", "json", stdin=LINE.encode()).out)
    np.testing.assert_allclose(told["predicted"]["u_v"], u, rtol=1e-12)


@pytest.mark.parametrize("absolute", [True, False])
def test_new_observations_scatter_as_the_rows_say(absolute: bool, tmp_path: Path) -> None:
    b, c = optimize.curve_fit(lambda x, a, b: a*x + b, X, Y, [1, 0], 0.1 * X, absolute_sigma=absolute)
    j = np.column_stack([X, np.ones(5)])
    u = np.sqrt(np.sum(j @ c * j, axis=1))
    sd = 1.0 if absolute else np.sqrt(np.sum(((Y - j @ b) / (0.1 * X))**2) / 3)
    k = stats.norm.ppf(0.975) if absolute else stats.t.ppf(0.975, 3)
    args = (*FIT, "--y", "y:s", "--sigma", "absolute" if absolute else "relative")
    (table := tmp_path / "line.csv").write_text(LINE, encoding="utf-8")
    found = predicted(*args, "--predict", table)
    np.testing.assert_allclose(found["u_v"], u, rtol=1e-6)
    np.testing.assert_allclose(found["high_v"] - found["v"], k * u, rtol=1e-6)
    np.testing.assert_allclose(found["high_new_v"] - found["v"], k * np.hypot(u, sd * 0.1 * X), rtol=1e-6)
    without = adcli(*args, "--predict", "x=0:1:2", stdin=LINE.encode())
    assert "low_new_v" not in without.out and "note: no band for new observations" in without.err
    by_weight = predicted(*FIT, "--y", "y", "--weights", "w", "--predict", "x=3,w=4",
                          stdin=LINE.replace("s\n", "w\n", 1))
    plain = predicted(*FIT, "--y", "y", "--weights", "w", "--predict", "x=3,w=1", stdin=LINE.replace("s\n", "w\n", 1))
    new, old = (((f["high_new_v"] - f["v"])**2 - (f["high_v"] - f["v"])**2) for f in (by_weight, plain))
    np.testing.assert_allclose(4 * new, old, rtol=1e-9)


def test_a_fitted_program_is_read_by_eval_and_propagate(tmp_path: Path) -> None:
    fitted, rows = tmp_path / "fitted.ad", tmp_path / "rows.csv"
    rows.write_text("x\n0.5\n200\n700\n", encoding="utf-8")
    succeeds(*MODEL, "-o", fitted)
    expected = predicted(*MODEL, "--predict", rows, "--coverage", "0.9")
    values = columns(succeeds("eval", fitted, "--data", rows).out)
    for found in (columns(succeeds("propagate", fitted, "--data", rows, "--coverage", "0.9").out),
                  columns(succeeds("propagate", fitted, "--coverage", "0.9", stdin=rows.read_bytes()).out)):
        for name in ("y", "u_y", "low_y", "high_y"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(values["y"], expected["y"], rtol=1e-13)
    (at,) = adcli("propagate", fitted, "--at", "x=200", "--coverage", "90%", "--format", "json").records
    assert (at["u"]["y"], at["dof"]["y"]) == pytest.approx((expected["u_y"][1], 12), rel=1e-9)
    (exact,) = adcli("propagate", fitted, "--at", "x=200±0.1,b1=238,b2=5.5e-4", "--format", "json").records
    assert exact["share"]["y"] == {"x": 100}
    alone = succeeds(*MODEL, "--format", "program").out.replace("input x\ny = b1 * (1 - exp(-b2 * x))", "half = log(2)/b2")
    assert "half = 1260 ± 17" in succeeds("propagate", "-", stdin=alone.encode()).out


def test_no_rows_are_predicted_as_none_and_infinity_as_far_off(tmp_path: Path) -> None:
    (none := tmp_path / "none.csv").write_text("x\n", encoding="utf-8")
    assert succeeds(*FIT, "--y", "y", "--predict", none, stdin=LINE.encode()).out == "x,v,u_v,low_v,high_v,low_new_v,high_new_v\n"
    far = succeeds(*FIT, "--y", "y", "--predict", "x=inf", stdin=LINE.encode()).out
    assert far.splitlines()[1].startswith("inf,inf,inf,nan,inf")


def test_what_is_not_determined_has_no_error_and_sums_that_are_do() -> None:
    args = ("fit", "-e", "v = (a + c)*x + b + c*z", "--at", "z=0", "--params", "a=1,b=0,c=1", "--y", "y")
    found = columns(adcli(*args, "--predict", "x=1,z=0:1:2", stdin=LINE.encode()).out)
    plain = predicted(*FIT, "--y", "y", "--predict", "x=1")
    np.testing.assert_allclose(found["u_v"], [plain["u_v"][0], np.nan], rtol=1e-9)


def test_rows_of_lists_are_predicted_at() -> None:
    rows = "".join(f'{{"x":[{x},1],"y":{y}}}\n' for x, y in zip(X, Y, strict=True)).encode()
    args = ("fit", "-e", "input x(M), w(M)", "-e", "v +=! x(j)*w(j)", "--params", "w=[0,0]", "--y", "y")
    found = columns(succeeds(*args, "--predict", "x=[4,1]", stdin=rows).out.replace('"[4.0,1.0]"', "4"))
    plain = predicted(*FIT, "--y", "y", "--predict", "x=4")
    for name in ("v", "u_v", "low_new_v"):
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-9)
