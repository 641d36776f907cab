"""How many digits of a result are right, and what an exact value is."""
from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from adcli.lang.analyse.right_digits import EXACT, right_digits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, mpmath_arithmetic
from adcli.lang.lower.frontend import parse
from compare_corpus import cases
from one_operation import REAL, special_points
from one_operation import program as program_of
from places import DATA

LOSING = list(cases(DATA / "cancellation"))


def references(case, point):
    """Every number that a point of a case states, by the output and what it is differentiated by."""
    for v, text in point["value"].items():
        yield v, (), text
    for v, partials in point.get("grad", {}).items():
        for x, text in partials.items():
            yield v, (x,), text


def digits_of(x, reference):
    """The right digits of x by the 25 digits of a reference."""
    exact = Fraction(reference)
    error = abs(Fraction(x) - exact)
    if not error:
        return EXACT
    return float(min(max(-mpmath.log10(mpmath.mpf(error.numerator) / error.denominator / abs(mpmath.mpf(reference))), 0), 16)) \
        if exact else 0.0


def judged(case):
    """The digits of every number of a case that has a reference: as counted, and by the reference."""
    program = gradient(parse(case["program"]), case["inputs"])
    for point in case["points"]:
        at = {k: float(x) for k, x in point["at"].items()}
        values = evaluate(program, at, FLOAT)
        found = dict(zip([(r.of or r.name, r.wrt) for r in program.results],
                         right_digits(program, at, [values[r.name] for r in program.results]), strict=True))
        names = {(r.of or r.name, r.wrt): r.name for r in program.results}
        for v, wrt, text in references(case, point):
            x = values[names[v, wrt]]
            if math.isfinite(x):
                yield found[v, wrt], digits_of(x, text), text


@pytest.mark.parametrize("case", LOSING, ids=[c["id"] for c in LOSING])
def test_digits_lost_to_cancellation_are_counted(case):
    """Every number within one digit of the count by the reference, and at least one of them has lost some."""
    counts = list(judged(case))
    assert all(abs(min(d.count, 16) - min(expected, 16)) <= 1 for d, expected, _ in counts)
    assert all(abs(mpmath.mpf(d.value) / mpmath.mpf(text) - 1) < 1e-23 for d, _, text in counts if float(text))
    assert min(expected for _, expected, _ in counts) < 12


def test_there_are_twenty_programs_that_lose_digits():
    assert len({c["id"] for c in LOSING}) >= 20
    assert {c["source"]["licence"].split()[0] for c in LOSING} == {"MIT", "NIST"}


# ---------------------------------------------------------------- the arithmetic

SIGNED = {"copysign", "atan2"}
"""Functions that tell one zero from the other, which multiple precision does not."""


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_multiple_precision_follows_doubles_at_special_points(op):
    """The same where the result is a double: infinities and NaN included, but for the sign of zeros and powers of infinities."""
    exact, compared = mpmath_arithmetic(60), 0
    program = program_of(op)
    for at in special_points(op):
        expected = evaluate(program, at)["z"]
        found = evaluate(program, {k: exact.constant(x) for k, x in at.items()}, exact)["z"]
        if (op.name in SIGNED and (0.0 in at.values() or any(x != x for x in at.values()))) or (
                op.name in ("pow", "hypot") and any(math.isinf(x) for x in at.values())) or (
                op.name == "lgamma" and expected == math.inf) or (op.name == "gamma" and 0.0 in at.values()):
            continue
        compared += 1
        if not math.isfinite(expected) and found - found == 0:
            assert abs(found) > sys.float_info.max or expected != expected, at
        else:
            x = float(found)
            assert x == expected or (x != x and expected != expected) or abs(x - expected) <= 1e-13 * abs(expected), at
    assert compared >= 8


@pytest.mark.parametrize("formula", ["exp(exp(exp(x)))", "sin(exp(exp(x)))", "gamma(exp(x))", "exp(-exp(exp(x)))",
                                     "tan(exp(exp(x)))",
                                     "erfc(exp(exp(x)))", "exp(x)**exp(exp(x))", "cosh(sinh(exp(x)))", "fmod(exp(exp(x)), 0.1)"])
def test_towers_of_exponentials_end(formula):
    for x in (50.0, 300.0):
        found = right_digits(gradient(parse(f"v = {formula}")), {"x": x}, [math.inf, math.inf])
        assert [d.count in (0.0, EXACT, None) for d in found] == [True, True]


def test_a_long_program_is_done_in_reasonable_time():
    lines = "\n".join(["s = x"] + [f"s = s * 0.99 + sin(s) / {i + 3}" for i in range(2000)] + ["v = s"])
    program = gradient(parse(lines))
    values = evaluate(program, {"x": 0.3})
    counts = right_digits(program, {"x": 0.3}, list(values.values()))
    assert all(d.count > 9 for d in counts)
