"""Programs that other people wrote, against references in multiple precision: values, gradients, second derivatives.

The programs, their provenance and the rule of comparison are in tests/data/README.md. Both modes and both back ends run.
"""
from __future__ import annotations

import json

import pytest
from compare_corpus import cases, misses
from places import DATA
from row_tables import each_row
from session_seed import part

CASES = list(cases(DATA))


@each_row("case", part(CASES, 4), ids=lambda case: case["id"])
def test_the_program_agrees_with_its_references(case):
    assert list(misses(case, hessians=True)) == []


@pytest.mark.parametrize("kind", ["value", "grad", "hessian"])
def test_a_wrong_reference_is_noticed(kind):
    """The comparison itself can fail: a number changed by one part in 10⁹ is a miss."""
    wrong = json.loads(json.dumps(next(c for c in CASES if c["id"] == "fpbench/fptaylor-extra/i6")))
    row = wrong["points"][0][kind]
    while not isinstance(next(iter(row.values())), str):
        row = next(iter(row.values()))
    name = next(iter(row))
    row[name] = repr(float(row[name]) * (1 + 1e-9))
    assert list(misses(wrong, hessians=True))


def test_the_collection_is_varied_and_its_origin_is_stated():
    functions = {f for c in CASES for f in c["functions"]}
    assert len({c["id"] for c in CASES}) == len(CASES) == 156
    assert functions >= {"sqrt", "cbrt", "exp", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
                         "atan2", "sinh", "cosh", "tanh", "erf", "gamma", "lgamma", "hypot", "fma", "abs", "floor", "select"}
    assert max(c["n_ops"] for c in CASES) > 2000
    assert {c["source"]["licence"].split()[0] for c in CASES} == {"MIT", "NIST", "Apache-2.0"}
    assert all(c["source"]["repo"] and c["source"]["commit"] and c["source"]["file"] for c in CASES)
