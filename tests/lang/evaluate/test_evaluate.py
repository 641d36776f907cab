"""The arithmetics of the reference evaluator against one another and against multiple precision."""
from __future__ import annotations

import math
import sys

import mpmath
import numpy as np
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.ir.primitives import TABLE
from back_ends import ulps, values
from multiple_precision import mpmath_arithmetic
from one_operation import REAL, SPECIAL_FUNCTIONS, SUMS, few_costly, power_terms, program, samples, special_points
from row_tables import each_row
from session_seed import fixed


@each_row("op", few_costly(REAL), ids=lambda op: op.name)
def test_the_numpy_evaluator_against_the_one_on_floats(op):
    at, names = samples(op, 10) + special_points(op), [p.name for p in program(op).params]
    columns = {name: np.array([point[name] for point in at]) for name in names}
    together = evaluate(program(op), columns, numpy_arithmetic())["z"]
    for point, got in zip(at, together, strict=True):
        want = evaluate(program(op), point, FLOAT)["z"]
        assert ulps(float(got), want) <= (16 if op.name in SUMS else 4) or abs(float(got) - want) < 1e-15, (point, got, want)


@each_row("low, high", [(0.05, 0.5), (0.5, 4.0), (4.0, 50.0), (-0.95, -0.05), (-5.9, -5.1)])
@each_row("name", sorted(SPECIAL_FUNCTIONS))
def test_special_functions_against_multiple_precision(name, low, high):
    mp, r = mpmath_arithmetic(40), fixed("test_special_functions_against_multiple_precision", name)
    f = program(TABLE[name])
    at = [{p.name: r.uniform(low, high) for p in f.params} for _ in range(60)]
    if name in ("dpow", "lbeta", "expint_e1"):   # numbers only where the base is positive, or both are
        at = [{k: y if (name, k) == ("dpow", "x1") else abs(y) for k, y in x.items()} for x in at]
    for point, got in zip(at, values(f, at, "native"), strict=True):
        want = float(evaluate(f, {k: mp.constant(v) for k, v in point.items()}, mp)["z"])
        terms = {"polygamma": 2 * abs(math.pi / math.sin(math.pi * point.get("x1", 1))) ** 3 if low < 0 else 0,
                 "digamma": abs(math.pi / math.sin(math.pi * point.get("x0", 1))) if low < 0 else 2,
                 "lbeta": 8, "dsinc": math.pi ** 2,
                 "dpow": power_terms(point["x0"], point["x1"], 2, 2) if name == "dpow" else 0}.get(name, 1)
        allowed = 8 if name in ("polygamma", "lbeta") else 4          # a polynomial in a cotangent, and a sum of ten reciprocals
        assert abs(got["z"] - want) <= allowed * math.ulp(max(abs(want), terms)), (point, got["z"], want)


SIGNED = {"copysign", "atan2"}
"""Functions that tell one zero from the other, which multiple precision does not."""


@each_row("op", few_costly(REAL), ids=lambda op: op.name)
def test_multiple_precision_follows_doubles_at_special_points(op):
    """The same where the result is a double: infinities and NaN included, but for the sign of zeros and powers of infinities."""
    exact, compared = mpmath_arithmetic(60), 0
    f = program(op)
    for at in special_points(op):
        expected = evaluate(f, at)["z"]
        found = evaluate(f, {k: exact.constant(x) for k, x in at.items()}, exact)["z"]
        if (op.name in SIGNED and (0.0 in at.values() or any(x != x for x in at.values()))) or (
                op.name in ("pow", "hypot") and any(math.isinf(x) for x in at.values())) or (
                op.name == "lgamma" and expected == math.inf) or (op.name == "gamma" and 0.0 in at.values()):
            continue
        compared += 1
        if not math.isfinite(expected) and found - found == 0:
            assert abs(found) > sys.float_info.max or expected != expected, at
        else:
            x = float(found)
            least = sys.float_info.min if op.name in SUMS else 0.0   # of weights that are subnormal doubles
            allowed = max(1e-13 * abs(expected), least)
            assert x == expected or (x != x and expected != expected) or abs(x - expected) <= allowed, at
    assert compared >= 8


@each_row("n", [1, 2, 7, 60, 140])
@each_row("x", [-0.5, -5e-324, -3.25, -999.75, -1e5 - 0.25, -1e8 - 0.25, -1e15 - 0.25])
def test_polygamma_takes_no_steps_from_far_on_the_left(n: int, x: float) -> None:
    """It is computed by reflection, at any precision; steps of 1 take minutes at −1e8. The reference steps once: the cotangent
    has the same derivatives at x and at x₀ in (−1, 0)."""
    from adcli.lang.analyse.enclosure import precision
    from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
    from flint import arb
    mp = mpmath.mp.clone()
    mp.dps = 200
    first = mp.mpf(math.fmod(x, 1))
    want = mp.psi(n, first) + (-1) ** n * (mp.psi(n, 1 - mp.mpf(x)) - mp.psi(n, 1 - first))
    numbers = mpmath_arithmetic(50)
    assert abs(mp.mpf(numbers.functions["polygamma"](n, numbers.constant(x))) / want - 1) < 1e-45
    intervals = interval_arithmetic()
    for bits in (128, 1300):
        with precision(bits):
            found = intervals.functions["polygamma"](intervals.constant(float(n)), intervals.constant(x))
            assert found.hi - found.lo < abs(found.lo) * arb(2) ** (20 - bits)
            assert abs(found.lo - arb(mp.nstr(want, 60))) < abs(found.lo) * arb(10) ** -30
