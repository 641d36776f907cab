"""Sets of rows that share some parameters: they are fits of one program in which each has its own."""
from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import succeeds

from adcli import compile

T = np.array([0.0, 1, 2, 4, 0, 1, 2, 4])
N = np.array([10.0, 6.2, 3.6, 1.4, 20, 12, 7.5, 2.6])
RUN = ["a"] * 4 + ["b, 2"] * 4
ROWS = "run,t,n,z\n" + "".join(f'"{r}",{t},{n},{r == "a":d}\n' for r, t, n in zip(RUN, T, N, strict=True))
ARGS = ("fit", "-e", "v = A*exp(-k*t)", "--params", "A=5 by run,k=0.1", "--y", "n")
WRITTEN_OUT = ("fit", "-e", "v = (z > 0 ? A : B)*exp(-k*t)", "--params", "A=5,B=5,k=0.1", "--y", "n")


def fit(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeeds(*args, "--format", "json", stdin=ROWS.encode()).out)
    return found


@pytest.mark.parametrize("more", [(), ("--loss", "-normal_lpdf(observed, predicted, 0.1)"), ("--interval", "profile")])
def test_parameters_of_sets_are_those_of_a_program_with_all_of_them(more: tuple[str, ...]) -> None:
    found, expected = fit(*ARGS, *more), fit(*WRITTEN_OUT, *more)
    assert list(found["params"]) == ["A(a)", "A(b, 2)", "k"]
    for what in ("value", "uncertainty"):
        one, other = ([p[what] for p in f["params"].values()] for f in (found, expected))
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert found["dof"] == expected["dof"] == 5
    for one, other in zip(found.get("intervals", {}).values(), expected.get("intervals", {}).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)


def test_a_set_predicts_with_its_own(tmp_path: Path) -> None:
    (table := tmp_path / "grid.csv").write_text('run,t\n"b, 2",3\na,3\n', encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(succeeds(*ARGS, "--predict", table, stdin=ROWS.encode()).out)))
    r = compile("v = A*exp(-k*t)").fit({"run": RUN, "t": T, "n": N}, y="n", params="A=5 by run,k=0.1",
                                       predict={"run": ["b, 2", "a"], "t": [3.0, 3.0]})
    k = r.params["k"]
    expected = [r.params["A(b, 2)"] * np.exp(-3*k), r.params["A(a)"] * np.exp(-3*k)]
    assert [row["run"] for row in rows] == ["b, 2", "a"]
    np.testing.assert_allclose(r.predicted["v"], expected, rtol=1e-12)
    for name, x in r.predicted.items():
        np.testing.assert_allclose([float(row[name]) for row in rows], x, rtol=1e-12)
    text = succeeds(*ARGS, "--plot", stdin=ROWS.encode()).out
    assert "# A(b, 2) = 19.97" in text and "param k = " in text


def test_a_fit_of_tensors_is_drawn_by_element() -> None:
    args = ("fit", "-e", "input A(N, M), w(M); v(i) +=! A(i, j)*w(j)", "--at", "A=[[1,1],[1,2],[1,4],[1,5]]",
            "--params", "w=[0,0]", "--y", "[1,3,4,7]", "--plot")
    assert "element" in (shown := succeeds(*args).out) and "residual" in shown
    r = compile(args[2]).fit(at={"A": [[1, 1], [1, 2], [1, 4], [1, 5]]}, y=[1.0, 3, 4, 7], params={"w": [0.0, 0.0]}, plot=True)
    assert "element" in str(r.plot)
