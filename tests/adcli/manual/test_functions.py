"""What is said of functions is what differentiation does with them."""
from __future__ import annotations

import math
import re

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from one_operation import samples
from session_seed import part

from adcli.manual.functions import FunctionFacts, functions, names

ALL = functions()


DIFFERENTIABLE = [f for f in ALL if f.derivatives and f.name not in ("select", "dup")]


@pytest.mark.parametrize("function", part([*DIFFERENTIABLE], 4), ids=lambda f: f.form)
def test_the_derivative_that_is_shown_is_the_derivative(function: FunctionFacts):
    """Inside the domain of the row, away from the points that the status names; both texts are programs."""
    fixed = {a: x for a, _, x in (part.partition(" = ") for part in filter(None, function.example.split(", ")))}
    form = re.sub("|".join(rf"\b{a}\b" for a in fixed) or "(?!)", lambda a: fixed[a[0]], function.form.replace(", …", ""))
    derived = gradient(parse(f"v = {form}\n"))
    rows = [row for row in TABLE.values() if (row.spelled or row.name) == function.name and bool(row.static) == bool(fixed)]
    free = [a for a in function.arguments if a not in fixed]
    points = [dict(zip(free, at.values(), strict=True)) for at in samples(rows[0], 16)] if rows else [
        {a: 0.1 * k + 0.3 * i for i, a in enumerate(free)} for k in range(1, 20)]
    for at in points:
        got = evaluate(derived, at)
        for shown, rel in ((function.derivatives, 1e-9), (function.rule, 1e-13)):   # mathematics has differences that cancel
            for a, formula in shown.items():
                told = evaluate(parse(f"input {', '.join(at)}; w = {formula}\n"), at)["w"]
                value = got[f"dv_d{a}"]    # NaN outside the domain of a function of the prelude
                assert math.isclose(told, value, rel_tol=rel, abs_tol=rel / 100) or (
                    math.isnan(told) and math.isnan(value)), (formula, at)


def test_every_name_is_listed_and_can_be_called():
    listed = {f.name for f in ALL}
    assert {row.spelled or row.name for row in TABLE.values()} <= listed
    for name in {f.name for f in ALL if not f.operator}:
        static = TABLE[name].static if name in TABLE else ()
        words = ["1" if i in static else x for i, x in enumerate("xyzwst")]
        assert any(accepted(f"v = {name}({', '.join(words[:n])})\n") for n in range(1, 7)), name
    assert listed <= set(names())


def accepted(program: str) -> bool:
    try:
        return bool(parse(program))
    except AdError:
        return False


def test_functions_one_all_and_as_json():
    assert succeeds("functions", "atan2").out.startswith("atan2(y, x): ")
    assert succeeds("functions", "negate").out == succeeds("functions", "neg").out
    assert succeeds("functions", "solve").out.startswith("solve(A, b): x with A·x = b\n  domain      whole matrices (")
    assert [f["arguments"] for f in succeeds("functions", "solve", "--format", "json").records] == [["A", "b"]]
    assert [f["form"] for f in succeeds("functions", "pow", "--format", "json").records] == ["x**n", "x**y"]
    assert len(succeeds("functions", "--format", "json").records) == len(ALL)
    (record,) = succeeds("functions", "sqrt", "--format", "json").records
    assert record["derivatives"] == {"x": "1 / (2 * sqrt(x))"}
    assert record["status"] == [{"level": "singular", "where": "x == 0", "wrt": None}]
    assert succeeds("functions").out in succeeds("help", "functions").out
    assert adcli("functions", "ln").err == "adcli: error: no function 'ln'\nhelp: did you mean 'log'?\n"
    ended = adcli("functions", "tahn")
    assert (ended.code, ended.err) == (2, "adcli: error: no function 'tahn'\nhelp: did you mean 'tanh'?\n")
