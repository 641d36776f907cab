#!/usr/bin/env python3
"""How the programs of tests/data were chosen from a larger collection; see tests/data/README.md.

    python tests/tools/make_data.py FOLDER tests/data

FOLDER has a JSON file for each family, in the format of tests/data. A program is described by its features (functions and
pairs of them, length, numbers of inputs and outputs, whether it has second derivatives, cancellation, an arm that is not
taken and not finite). Programs are taken one by one, always the one with the most features that fewer than two of the
programs before it have, the shorter one where that ties; so the choice is varied and always the same.
"""
from __future__ import annotations

import json
import pathlib
import sys
from collections import Counter
from itertools import combinations
from typing import Any

FAMILIES = {"fpbench": 24, "fpbench_ops": 42, "herbie": 46, "mgh": 16, "nist": 10, "adbench": 4, "tcunroll": 14}
"""Programs to take from each family whose licence allows a copy."""
LONGEST = 30_000
"""Characters of the longest case that is taken."""
ENOUGH = 2
"""Programs that must have a feature before it no longer counts."""


def features(case: dict[str, Any]) -> set[str]:
    functions = sorted(case["functions"])
    points = case["points"]
    found = {*functions, *(f"{a} with {b}" for a, b in combinations(functions, 2))}
    found |= {f"length {case['n_ops'].bit_length()}", f"{len(case['inputs']).bit_length()} inputs",
              f"{len(case['outputs']).bit_length()} outputs"}
    found |= {key for p in points for key in ("hessian", "abs_err_bound", "untaken_branch_nonfinite", "tag") if key in p}
    return found


def chosen(cases: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """At most `count` of the cases, in their own order."""
    left = {i: features(c) for i, c in enumerate(cases) if len(json.dumps(c)) <= LONGEST}
    seen: Counter[str] = Counter()
    taken = []
    while left and len(taken) < count:
        best = max(left, key=lambda i: (sum(seen[f] < ENOUGH for f in left[i]), -cases[i]["n_ops"], -i))
        seen.update(left.pop(best))
        taken.append(best)
    return [cases[i] for i in sorted(taken)]


def main(source: pathlib.Path, target: pathlib.Path) -> None:
    for family, count in FAMILIES.items():
        cases = json.loads((source / f"{family}.json").read_text(encoding="utf-8"))["cases"]
        lines = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in chosen(cases, count))
        (target / f"{family}.json").write_text(f'{{"family":"{family}","cases":[\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
