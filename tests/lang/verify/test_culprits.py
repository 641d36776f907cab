"""Which part of a formula a wrong derivative comes from."""
from __future__ import annotations

import math

import pytest
from adcli.lang.lower.frontend import parse
from adcli.lang.verify.culprits import Difference, contributions, explains, told


def test_a_contribution_is_what_runs_through_an_argument():
    program, at = parse("v = x*sin(x) + 3*y*x"), {"x": 0.7, "y": 2.0}
    total, parts = contributions(program, program.results[0].atom, "x", at)
    named = {(e.op.name, i): c for (e, i), c in parts.items()}
    assert total == pytest.approx(math.sin(0.7) + 0.7*math.cos(0.7) + 6, rel=1e-15)
    assert named["sin", 0] == pytest.approx(0.7*math.cos(0.7), rel=1e-15) and named["add", 1] == pytest.approx(6, rel=1e-15)
    assert named["add", 0] + named["add", 1] == pytest.approx(total, rel=1e-15)


def test_a_part_explains_a_difference_at_every_point_or_not_at_all():
    def cases(*differences):
        return [Difference({}, d, 1e-15) for d in differences]
    assert explains([1.0, 2.0, 5.0], cases(-2.0, -4.0, -10.0)) == -1 and explains([1.0, 2.0], cases(-1.0, -2.0)) == 0
    assert explains([1.0, 2.0, 5.0], cases(-2.0, -4.0, -10.1)) is None and explains([0.0, 2.0], cases(-1.0, -2.0)) is None
    assert explains([1.0, 2.0, 4.0], cases(0.3, 0.6, 1.2)) == pytest.approx(1.3)
    assert explains([1.0, 1.0, 1.0], cases(0.3, 0.3, 0.3)) is None, "a constant explains any constant"
    assert [told(f) for f in (-1.0, 0.0, 2.0, 0.5, 3.0, 1/3, math.pi, 1 + 2**-30, 3.14159/math.pi)] == [
        "has the wrong sign", "is missing", "counts twice", "counts half", "counts 3 times", "counts 1/3 times",
        "counts 3.14159 times", "is too large by 9.3e-10 of itself", "is too small by 8.4e-07 of itself"]


def test_a_difference_hardly_beyond_rounding_explains_nothing():
    assert explains([1.0], [Difference({}, 3e-15, 1e-15)]) is None
