"""No rewrite is offered that gives what is known to be wrong at the point."""
from __future__ import annotations

import math

import pytest
from adcli.lang.analyse.findings import Finding
from adcli.lang.analyse.limits import Contradictions, near
from adcli.lang.analyse.rewrites import REWRITE_RULES
from adcli.lang.lower.frontend import parse
from command import succeeds
from row_tables import each_row
from session_seed import half

NAN = math.nan
INSIDE = ("({r})**(1/x)", "({r})**(1/x**2)", "floor({r})", "ceil({r})", "(({r}) - 1)/x", "(({r}) - 1)/x**2", "1/(1 - ({r}))*x**2",
          "sign(1 - ({r}))", "fmod({r}, 1)", "exp((({r}) - 1)/x**2)")
"""Contexts in which a filled singularity shows, since what is beside it counts."""


@pytest.mark.parametrize("form", half(INSIDE))
def test_no_rewrite_contradicts_a_limit_that_is_printed(form):
    """Over all singularities that the rewrites fill in and contexts that look closely: help and limits in one paragraph agree."""
    filled = [row.pattern.replace("a", "x").replace("txn", "tan") for row in REWRITE_RULES if "==" in row.replacement]
    assert len(filled) >= 4
    for pattern in filled:
        (record,) = succeeds("why", "-e", f"v = {form.format(r=pattern)}", "--at", "x=0", "--limit", "--format", "json").records
        for group in record["why"]:
            gives = group.get("rewrite", {}).get("gives", {})
            for limit in group.get("limits", ()):
                sides = [float(limit[side]) for side in ("right", "left") if not isinstance(limit.get(side), dict)]
                if limit["result"] in gives and sides:
                    assert near(gives[limit["result"]], min(sides), max(sides)), (pattern, form, group)


@each_row("x, low, high, is_near", [
    (1.0, 0.0, 2.0, True), (2.0, 0.0, 1.0, False), (1 + 1e-7, 0.0, 1.0, True), (1 + 1e-5, 0.0, 1.0, False),
    (1e-13, 0.0, 0.0, True), (1e-8, 0.0, 0.0, False), (-1e-8, 0.0, 1.0, False), (2.0, 0.0, math.inf, False),
    (math.inf, 0.0, math.inf, True)])
def test_a_number_is_as_good_as_a_limit_within_rounding(x, low, high, is_near):
    assert near(x, low, high) == is_near


def test_one_sided_limits_bound_what_a_convention_may_say():
    known = Contradictions(parse("v = sqrt(x*x)\n"), {"x": 0.0}, ["x"])
    slope = Finding("dv_dx", NAN, (), "v", ("x",))
    assert [known.contradicted(slope, x) for x in (-1.5, -1.0, 0.0, 1.0, 1.5)] == [True, False, False, False, True]


def test_a_limit_along_any_input_will_do():
    """x·log(y) tends to ∓∞ along one input and to 0 along the other."""
    known = Contradictions(parse("v = x*log(y)\n"), {"x": 0.0, "y": 0.0}, ["x", "y"])
    value = Finding("v", NAN, (), "v", ())
    assert not known.contradicted(value, 0.0) and known.contradicted(value, 1.0)


def test_multiple_precision_at_the_point_counts_first():
    known = Contradictions(parse("v = log(exp(x))\n"), {"x": 800.0}, ["x"])
    value = Finding("v", math.inf, (), "v", ())
    assert not known.contradicted(value, 800.0) and known.contradicted(value, 801.0)

