#!/usr/bin/env python3
"""Every program of a corpus of JSON files against its references in multiple precision; prints a table, exit 1 on a miss.

    python tests/tools/compare_corpus.py tests/data                    the programs kept here (see tests/data/README.md)
    python tests/tools/compare_corpus.py FOLDER [--hessians] [--c] [--only NAME]

For every case: value and gradient by forward and by reverse mode, native and (up to 3,000 operations) in the reference
evaluator, at every point; with --hessians the second derivatives too; then the sparse Jacobian and the Hessian of every output
in the modes that cost least; with --c the reverse gradient as C too, under sanitizers. The rule:
|x - ref| <= max(1e-12·|ref|, 10·bound), where `bound` is the absolute error that a case states for entries lost to cancellation,
and 1e-11 for second derivatives.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from adcli.lang.derive.derivatives import gradient, hessian, jacobian
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
from back_ends import BACK_ENDS, MODES, values

LONGEST = 3000
"""Operations up to which the reference evaluator runs a case too."""


def cases(folder: pathlib.Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8")).get("cases", [])


def entries(reference: dict[str, Any], hessians: bool) -> Iterator[tuple[str, str, float, float]]:
    """Output, name, reference and allowed difference of every number that a point states."""
    bounds = reference.get("abs_err_bound", {})

    def allowed(ref: float, relative: float, bound: float) -> float:
        return max(relative * abs(ref), 10 * bound)

    for v, text in reference["value"].items():
        yield v, v, float(text), allowed(float(text), 1e-12, float(bounds.get("value", {}).get(v, 0)))
    for v, row in reference.get("grad", {}).items():
        for x, text in row.items():
            bound = float(bounds.get("grad", {}).get(v, {}).get(x, 0))
            yield v, f"d{v}_d{x}", float(text), allowed(float(text), 1e-12, bound)
    for v, rows in reference.get("hessian", {}).items() if hessians else ():
        for x, row in rows.items():
            for y, text in row.items():
                bound = float(bounds.get("hessian", {}).get(v, {}).get(x, {}).get(y, 0))
                yield v, f"d2{v}_d{x}_d{y}", float(text), allowed(float(text), 1e-11, bound)


def misses(case: dict[str, Any], hessians: bool, in_c: bool = False) -> Iterator[str]:
    """What is wrong with a case, as lines."""
    program = parse(case["program"], case["id"])
    if [p.name for p in program.params] != case["inputs"] or [r.name for r in program.results] != case["outputs"]:
        yield "inputs or outputs are not those of the case"
        return
    second = hessians and any("hessian" in point for point in case["points"])
    for mode in MODES:
        derivative = gradient(program, mode=mode, order=2 if second else 1)
        for back_end in BACK_ENDS if case["n_ops"] <= LONGEST else ("native",):
            yield from compare(case, derivative, back_end, second, f"{mode}, {back_end}")
    if in_c:
        yield from compare(case, gradient(program, mode="reverse"), "c", False, "reverse, C")
    yield from compare(case, jacobian(program, zeros=False), "native", False, "jacobian")
    for v in case["outputs"] if second else ():
        yield from compare(case, hessian(program, of=[v], zeros=False), "native", True, "hessian", v)


def compare(case: dict[str, Any], derivative: Program, back_end: str, second: bool, how: str, only: str | None = None,
            ) -> Iterator[str]:
    """The entries that are wrong, of one output where `only` names it. An entry that a sparse matrix leaves out is 0."""
    at = [{x: float(text) for x, text in point["at"].items()} for point in case["points"]]
    for got, reference in zip(values(derivative, at, back_end), case["points"], strict=True):
        for v, name, want, allowed in entries(reference, second):
            if only in (None, v) and not abs(got.get(name, 0.0) - want) <= allowed:
                yield f"{how}: {name} = {got.get(name, 0.0)!r}, wanted {want!r} ± {allowed:.1e} at {reference['at']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hessians", action="store_true", help="second derivatives too")
    parser.add_argument("--c", action="store_true", help="gradients as C too")
    parser.add_argument("--only", default="", help="cases whose id contains this")
    args = parser.parse_args()
    count: Counter[str] = Counter()
    start = time.perf_counter()
    for case in cases(args.folder):
        if args.only not in case["id"]:
            continue
        family = case["id"].split("/")[0]
        count[family] += 1
        count["points"] += len(case["points"])
        try:
            wrong = list(misses(case, args.hessians, args.c))
        except AdError as error:
            wrong = [str(error)]
        if wrong:
            count["missed"] += 1
            print(f"{case['id']}: {wrong[0]}" + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""), flush=True)
    missed, points = count.pop("missed", 0), count.pop("points", 0)
    for family, n in sorted(count.items()):
        print(f"{family:14s} {n:4d} programs")
    print(f"{sum(count.values())} programs, {points} points, {missed} programs with a miss, {time.perf_counter() - start:.0f} s")
    return 1 if missed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
