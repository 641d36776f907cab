#!/usr/bin/env python3
"""Certified digits of NIST's nonlinear regressions: adcli beside lmfit and SciPy's curve_fit. Prints a table; exit 1 where adcli
has fewer digits than another.

    python tests/tools/compare_fits.py [OUT]    OUT is tests/data/fits/certified_digits.json

Each of the 27 data sets is fitted from both starts by three programs in this process, with the options that a user who types
none gets; curve_fit's evaluations are limited to 10000 instead of its few hundred. The log relative error (LRE) is
-log10(|x - c|/|c|), at most the 11 digits that are certified, of the worst parameter and of the worst standard deviation; 0 where
a fit ended elsewhere or raised. What is written is what lmfit and curve_fit reach. Digits that rounding of the observations to
doubles decides count for nobody: the standard deviations of Lanczos1, whose residuals are 1e-13 of the observations, have two.
"""
from __future__ import annotations

import json
import math
import pathlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import adcli

DATA = pathlib.Path(__file__).parents[1] / "data" / "fits" / "observations.json"
CERTIFIED = 11.0
"""Digits that NIST prints."""
ENOUGH = 10.0
"""Digits beyond which more are rounding of the certified ones, and of the data."""
FAILED = (0.0, 0.0)


class Run(NamedTuple):
    """The digits of the worst parameter and of the worst standard deviation, evaluations, seconds."""

    parameters: float
    deviations: float
    evaluations: int
    seconds: float


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))["cases"]
    return found


def digits(found: Sequence[float], certified: Sequence[str]) -> float:
    """The log relative error of the worst number."""
    return min(one(float(x), float(c)) for x, c in zip(found, certified, strict=True))


def one(x: float, c: float) -> float:
    if not math.isfinite(x):
        return 0.0
    return CERTIFIED if x == c else min(CERTIFIED, max(0.0, -math.log10(abs(x - c) / abs(c))))


def ours(case: dict[str, Any], start: str) -> Run:
    """adcli."""
    f, before = adcli.compile(case["program"]), time.process_time()
    found = fit(f, case, start)
    return reached(case, found, time.process_time() - before)


def fit(f: adcli.Function, case: dict[str, Any], start: str) -> Any:
    y = "y" if case["y"] == "y" else 0.0
    return f.fit(case["columns"], y=y, params=dict(zip(case["params"], case[start], strict=True)))


def reached(case: dict[str, Any], r: Any, seconds: float = 0.0) -> Run:
    """The digits of a fit by adcli."""
    return Run(digits(r.x, case["certified"]), digits(list(r.uncertainties.values()), case["deviations"]), r.nfev, seconds)


def model(case: dict[str, Any]) -> tuple[Callable[..., Any], Any]:
    """A program in NumPy, b1 and further ones behind the columns, and what it is compared with."""
    text = case["program"].partition("=")[2]
    columns = {n: np.array(c) for n, c in case["columns"].items()}
    names = {n: getattr(np, n) for n in ("exp", "log", "cos", "sin", "pi")} | {"atan": np.arctan}
    code = compile(text.strip(), case["name"], "eval")

    def f(x: Any, *b: float) -> Any:
        return eval(code, {"__builtins__": {}}, {**names, **columns, **dict(zip(case["params"], b, strict=True))})
    return f, columns["y"] if case["y"] == "y" else np.zeros(len(columns["y"]))


def by_curve_fit(case: dict[str, Any], start: str) -> Run:
    """scipy.optimize.curve_fit."""
    from scipy.optimize import curve_fit
    f, y = model(case)
    before = time.process_time()
    try:
        found, covariance, info, _, _ = curve_fit(f, y, y, p0=case[start], full_output=True, maxfev=10000)
    except RuntimeError:
        return Run(*FAILED, 10000, time.process_time() - before)
    with np.errstate(invalid="ignore"):
        u = np.sqrt(np.diag(covariance))
    return Run(digits(found, case["certified"]), digits(u, case["deviations"]), int(info["nfev"]), time.process_time() - before)


def by_lmfit(case: dict[str, Any], start: str) -> Run:
    """lmfit.minimize, method leastsq."""
    import lmfit
    f, y = model(case)
    params = lmfit.Parameters()
    for name, x in zip(case["params"], case[start], strict=True):
        params.add(name, value=x)
    before = time.process_time()
    try:
        r = lmfit.minimize(lambda p: f(None, *(p[n].value for n in case["params"])) - y, params)
    except ValueError:
        return Run(*FAILED, 0, time.process_time() - before)
    found = [r.params[n] for n in case["params"]]
    u = [p.stderr if p.stderr is not None else math.nan for p in found]
    return Run(digits([p.value for p in found], case["certified"]), digits(u, case["deviations"]), r.nfev,
               time.process_time() - before)


def compared() -> Iterator[tuple[dict[str, Any], str, Run, Run, Run]]:
    """Every data set and start, with the runs of adcli, lmfit and curve_fit."""
    for case in cases():
        for start in ("start1", "start2"):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                yield case, start, ours(case, start), by_lmfit(case, start), by_curve_fit(case, start)


def fewer(case: dict[str, Any], mine: Run, parameters: float, deviations: float) -> bool:
    """Whether digits are fewer than another's, as far as they are certified."""
    return mine.parameters < min(parameters, ENOUGH) or mine.deviations < min(deviations, ENOUGH, attainable(case))


def attainable(case: dict[str, Any]) -> float:
    """Digits of standard deviations that are left where each residual is wrong by 4 units of rounding of its observation."""
    y, rss = np.abs(case["columns"]["y"]), float(case["sum_of_squares"])
    typical = math.sqrt(rss / len(y))   # of |r|; the deviations go with the root of the sum of squares
    return -math.log10(0.5 * 2 * typical * 4 * np.finfo(float).eps * float(y.sum()) / rss)


def main() -> int:
    print(f"{'':12}{'adcli':>22}{'lmfit':>24}{'curve_fit':>24}\n{'':12}" + f"{'LRE b  LRE u   f    ms':>24}" * 3)
    table, missed = {}, 0
    for case, start, mine, *others in compared():
        name = case["name"]
        runs = [f"{r.parameters:7.2f}{r.deviations:7.2f}{r.evaluations:5d}{1e3 * r.seconds:5.0f}" for r in (mine, *others)]
        print(f"{name:9} {start[-1]} {'  '.join(runs)}", flush=True)
        table[f"{name} {start}"] = [[round(r.parameters, 2), round(r.deviations, 2)] for r in others]
        if any(fewer(case, mine, r.parameters, r.deviations) for r in others):
            missed += 1
            print(f"{name} {start}: fewer digits than another")
    print(f"{len(table)} runs, {missed} with fewer digits than another")
    if sys.argv[1:]:
        lines = ",\n".join(f"{json.dumps(key)}:{json.dumps(x)}" for key, x in table.items())
        pathlib.Path(sys.argv[1]).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
