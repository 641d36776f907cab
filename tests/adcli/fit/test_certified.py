"""NIST's 27 nonlinear regressions from both of their starts: at least the certified digits that others reach."""
from __future__ import annotations

import json
from typing import Any

import pytest
from compare_fits import DATA, attainable, cases, digits, fewer, fit, main, reached

import adcli

OTHERS = json.loads((DATA.parent / "certified_digits.json").read_text(encoding="utf-8"))
LEAST = 10.0
"""Digits that all parameters and standard deviations have, of 11 that are certified."""


@pytest.mark.parametrize("case", cases(), ids=lambda c: c["name"])
def test_certified_values_are_reached_from_both_starts(case: dict[str, Any]) -> None:
    f = adcli.compile(case["program"])
    for start in ("start1", "start2"):
        found = fit(f, case, start)
        mine = reached(case, found)
        assert found.success and mine.parameters >= LEAST and mine.deviations >= min(LEAST, attainable(case)), (start, mine)
        for name, (parameters, deviations) in zip(("lmfit", "curve_fit"), OTHERS[f"{case['name']} {start}"], strict=True):
            assert not fewer(case, mine, parameters, deviations), (start, name, mine)
        enough = min(LEAST, attainable(case) - 0.4)   # of the sum of squares, whose relative error is twice that of its root
        assert digits([found.chi2], [case["sum_of_squares"]]) >= enough
        assert digits([found.residual_sd], [case["residual_sd"]]) >= enough
        assert found.dof == len(case["columns"]["y"]) - len(case["params"])


@pytest.mark.engine
def test_the_others_reach_what_stands_in_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lmfit")
    monkeypatch.setattr("sys.argv", ["compare_fits.py"])
    assert main() == 0
    assert "54 runs, 0 with fewer digits" in capsys.readouterr().out
