"""Every rule of the table to third order, in both modes, against derivatives in multiple precision."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from laws import check_differences
from multiple_precision import mpmath_arithmetic
from one_operation import REAL, program, samples
from planted_faults import caught, wrong_rule
from session_seed import each_choice

MP = mpmath_arithmetic(250)   # far more digits than the differences take away


def exact(op_program, at, wrt):
    """A mixed partial by mpmath's differences of the value alone; no rule takes part in it."""
    names = [p.name for p in op_program.params]
    counts = tuple(wrt.count(n) for n in names)
    with mpmath.workdps(40 if len(names) < 3 else 25):             # differences of differences take twice as many each
        def f(*xs):
            return mpmath.mpf(evaluate(op_program, dict(zip(names, map(MP.constant, xs), strict=True)), MP)["z"])
        return mpmath.diff(f, tuple(mpmath.mpf(at[n]) for n in names), counts)


@pytest.mark.parametrize("op, mode", each_choice([op for op in REAL if op.name != "stop"], ["forward", "reverse"]),
                         ids=lambda x: getattr(x, "name", x))   # the derivative of stop is another's
def test_derivatives_to_third_order(op, mode):
    value = program(op)
    derivative = gradient(value, mode=mode, order=3)
    for at in samples(op, 2):
        got = evaluate(derivative, at, FLOAT)
        for r in derivative.results:
            want = exact(value, at, r.wrt) if r.wrt else MP.constant(got["z"])
            assert abs(got[r.name] - want) <= 1e-11 * max(1, abs(want)), (r.name, at, got[r.name], float(want))


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_the_value_on_floats_against_multiple_precision(op):
    for at in samples(op, 20, seed=1):
        got = evaluate(program(op), at, FLOAT)["z"]
        want = evaluate(program(op), {k: MP.constant(v) for k, v in at.items()}, MP)["z"]
        assert abs(got - want) <= 1e-14 * max(abs(want), 0.1), (at, got, float(want))


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("name", ["max", "min", "hypot"])
def test_more_than_two_arguments(name, count):
    op = next(op for op in REAL if op.name == name)
    value = program(op, count=count)
    at = {f"x{i}": x for i, x in enumerate([0.7, 1.9, -0.4, 1.1][:count])}
    for mode in ("forward", "reverse"):
        derivative = gradient(value, mode=mode, order=2)
        got = evaluate(derivative, at, FLOAT)
        for r in derivative.results:
            if r.wrt:
                assert got[r.name] == pytest.approx(float(exact(value, at, r.wrt)), abs=1e-12)


@pytest.mark.parametrize("order", [20, 50, 100, 140])
@pytest.mark.parametrize("x", [0.7, 3.3, 50.0, -2.6])
def test_polygamma_of_high_order(order, x):
    op = next(op for op in REAL if op.name == "polygamma")
    got = evaluate(program(op, static=float(order)), {"x1": x}, FLOAT)["z"]
    with mpmath.workdps(40):
        assert abs(got / mpmath.psi(order, mpmath.mpf(x)) - 1) < 1e-13


def test_polygamma_ends_where_factorials_do():
    with pytest.raises(AdError, match="polygamma is known up to order 140"):
        parse("v = polygamma(141, x)")
    with pytest.raises(AdError, match=r"the derivative of polygamma\(140, x\) is not known"):
        gradient(parse("v = polygamma(139, x)"), order=2)


# ---------------------------------------------------------------- planted faults

ROWS = ("mul", "div", "sub", "sin", "tanh", "sqrt", "hypot", "max", "select", "fma", "atan2", "sigmoid", "erf", "log", "abs",
        "relu", "lgamma", "pown")
RULES = [(name, position) for name in ROWS
         for position, rule in enumerate(TABLE[name].maps) if rule is not None]
CHANGES = {"one part in a million": lambda m: m * (1 + 1e-6), "sign": lambda m: -m, "zero": lambda m: m * 0.0,
           "twice": lambda m: m + m}


def program_of(name: str) -> Program:
    """A program in which every argument of an operation counts, at the point `HERE` away from anything awkward."""
    texts = {"mul": "x*y", "div": "x/y", "sub": "x - y", "select": "(c > 0 ? x : y) + (c < 0 ? x : y)", "pown": "x**3",
             "max": "max(x, y) + max(c, x)"}
    call = f"{name}({', '.join(('x', 'y', 'c')[:TABLE[name].arity])})"
    return parse(f"input x, y, c\nv = exp({texts.get(name, call)})*x")


HERE = {"x": 1.3, "y": 0.7, "c": 0.4}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("name", "position"), RULES)
def test_a_wrong_rule(name: str, position: int, change: Callable[[Any], Any]) -> None:
    program = program_of(name)
    for mode in ("forward", "reverse"):
        assert check_differences(program, HERE, mode)
        with wrong_rule(name, position, change), caught():
            check_differences(program, HERE, mode)
        assert check_differences(program, HERE, mode)
