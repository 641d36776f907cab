#!/usr/bin/env python3
"""Published optima against gradients and SciPy's solvers: prints a table, exit 1 on a miss.

    python tests/tools/compare_optima.py FOLDER...    folders of JSON files as tests/data has them

For every case that states a minimiser (`xmin_approx`, `xstar` of a problem without constraints, NIST's certified parameters): the
gradient there is no larger than the printed digits of the minimiser allow, |g| <= |H|·(a unit of the last digit); and from the
published start, or from nearer to the minimiser where that leads to another minimum, a solver of SciPy given the functions of
`Function.scipy` reaches the published minimum; for NIST's data the certified parameters, from one of the two starts.
"""
from __future__ import annotations

import json
import pathlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

import adcli

CLOSE = 1e-6
"""Relative difference of parameters and minima that counts as reached."""
WRONG = {
    "hs/HS110": "the minimiser is printed as 9.35025655; the gradient of the formula is zero at 9.35026583",
    "hs/HS255": "the squares of Wood's function are missing in the source, so the formula has no minimum",
}
"""Problems whose published minimiser is not one of the formula, and why."""
METHODS = ("trust-exact", "BFGS", "Newton-CG", "trust-krylov")


def problems(folders: list[str]) -> Iterator[dict[str, Any]]:
    """The cases of one output that state a minimiser."""
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            for case in json.loads(path.read_text(encoding="utf-8")).get("cases", []):
                if minimiser(case) and len(case["outputs"]) == 1:
                    yield case


def minimiser(case: dict[str, Any]) -> list[str]:
    """The components of the published minimiser as they are printed; none where the case has none."""
    published = case.get("published", {})
    if "certified_parameters" in published:
        return published["certified_parameters"] if case["outputs"] == ["rss"] else []
    if "xstar" in published:   # a problem that has lost its objective has no minimum; others may have bounds
        return published["xstar"] if case["outputs"] == ["obj"] and published.get("fstar_agrees") else []
    return published.get("xmin_approx", []) if published.get("f_at_xmin_agrees") else []


def order(case: dict[str, Any]) -> list[str]:
    """The inputs as the publication numbers them."""
    return sorted(case["inputs"], key=lambda x: int(x.lstrip("xb")))


def unit(text: str) -> float:
    """One unit of the last digit that is printed."""
    digits, _, exponent = text.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def stationary(case: dict[str, Any]) -> str | None:
    """What is wrong with the gradient at the published minimiser."""
    printed = minimiser(case)
    solver = adcli.compile(case["program"]).scipy(order=order(case))
    at = np.array([float(x) for x in printed])
    gradient, hessian = solver.jac(at), dense(solver.hess(at))
    units = np.array([unit(x) for x in printed])
    rounding = 1e-13 * (np.abs(hessian) @ np.abs(at) + abs(solver.fun(at)))
    allowed = np.abs(hessian) @ units + rounding
    worst = int(np.argmax(np.abs(gradient) / np.maximum(allowed, 1e-300)))
    return None if abs(gradient[worst]) <= allowed[worst] else \
        f"gradient {gradient[worst]:.3g} in {order(case)[worst]}, allowed {allowed[worst]:.3g}"


def dense(matrix: Any) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def reached(case: dict[str, Any]) -> str | None:
    """What is wrong with the best minimum that solvers find."""
    published = case["published"]
    printed = published.get("certified_rss") or published.get("fmin") or published.get("fstar") or "0.0"
    lowest = float(printed)
    starts = [published[k] for k in ("x0", "start2", "start1") if k in published]
    starts += [[p["at"][x] for x in order(case)] for p in case["points"] if p["tag"] in ("mid", "perturbed")]
    solver = adcli.compile(case["program"]).scipy(order=order(case))
    found: list[float] = []
    for start in starts:
        highest = abs(solver.fun(np.array(start, dtype=float)))
        for x in solutions(solver, np.array([float(v) for v in start])):
            found.append(solver.fun(x))
            if "certified_parameters" in published:
                wanted = np.array([float(v) for v in minimiser(case)])
                if np.allclose(x, wanted, rtol=CLOSE, atol=0):
                    return None
            elif found[-1] <= lowest + max(unit(printed) if lowest else 0.0, 1e-9 * highest):
                return None
    return f"lowest {min(found, default=np.nan):.8g}, published {lowest:.8g}"


def solutions(solver: Any, start: np.ndarray) -> Iterator[np.ndarray]:
    """Where solvers end, one after another."""
    scale = np.maximum(np.abs(start), 1e-3)   # as parameters differ by orders of magnitude, steps are taken relative to the start
    for method in METHODS:
        limits = {"maxiter": 3000} if method == "Newton-CG" else {"maxiter": 3000, "gtol": 1e-14}
        hess = {} if method == "BFGS" else {"hess": lambda y: scale[:, None] * dense(solver.hess(scale * y)) * scale}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                end = minimize(lambda y: solver.fun(scale * y), start / scale, jac=lambda y: scale * solver.jac(scale * y),
                               method=method, options=limits, **hess).x * scale
            except (ValueError, np.linalg.LinAlgError, OverflowError):   # a step out of the domain
                continue
        if np.all(np.isfinite(end)):
            yield end


def main() -> int:
    missed = count = 0
    for case in problems(sys.argv[1:]):
        count += 1
        for name, check in (("stationary", stationary), ("reached", reached)):
            fault = check(case)
            if fault and case["id"] in WRONG:
                print(f"{case['id']}: {fault} ({WRONG[case['id']]})", flush=True)
            elif fault:
                missed += 1
                print(f"{case['id']}: not {name}: {fault}", flush=True)
    print(f"{count} problems, {missed} misses")
    return 1 if missed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
