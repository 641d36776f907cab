"""Derivatives by extrapolated differences, against multiple precision."""
from __future__ import annotations

import math

from adcli.lang.evaluate import evaluate
from adcli.lang.verify.differences import derivative, extrapolated
from one_operation import REAL, samples
from one_operation import program as one_operation
from row_tables import each_row


def steps(x, length):
    """Pairs of points above and below x, the farthest first."""
    return [(x + length * 2.0 ** -k, x - length * 2.0 ** -k) for k in range(3, 33) if x + length * 2.0 ** -k > x]


@each_row("op", REAL, ids=lambda op: op.name)
def test_differences_agree_with_multiple_precision(op):
    """Every row of the table, at points of its domain."""
    program = one_operation(op)
    size = {"z": 100.0}
    for at in samples(op):
        for name in at:
            want = derivative(program, at, [{name: 1.0}], 1e-25, size, {"z": 1e-18}).values.get("z")
            assert want is not None or op.name in ("lgamma", "select")
            if want is None:
                continue
            pairs = steps(at[name], abs(at[name]) / 16)
            values = [[evaluate(program, {**at, name: p[i]})["z"] for p in pairs] for i in (0, 1)]
            centre = evaluate(program, at)["z"]
            found = extrapolated([a - b for a, b in pairs], *values, centre, 1e-15 * max(1, abs(centre)))
            assert found.problem or abs(found.value - want) <= found.bar <= 1e-6 * max(1, abs(want)), (at, name, found)


def test_differences_see_a_kink_that_no_comparison_shows():
    pairs = steps(1.0, 1.0)
    values = [[math.sqrt((p[i] - 1) ** 2) for p in pairs] for i in (0, 1)]
    assert extrapolated([a - b for a, b in pairs], *values, 0.0, 1e-16).problem
