"""Values of the table against multiple precision, and rules that are slightly wrong, which are noticed."""
from __future__ import annotations

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
from row_tables import each_row

MP = mpmath_arithmetic(40)


@each_row("op", [op for op in REAL if op.ulps is None], ids=lambda op: op.name)
def test_the_value_on_floats_against_multiple_precision(op):
    """Rows of which the table says no units in the last place, which `test_columns` measures."""
    for at in samples(op, 20, seed=1):
        got = evaluate(program(op), at, FLOAT)["z"]
        want = evaluate(program(op), {k: MP.constant(v) for k, v in at.items()}, MP)["z"]
        assert abs(got - want) <= 1e-14 * max(abs(want), 0.1), (at, got, float(want))


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


def program_of(name: str) -> Program:
    """A program in which every argument of an operation counts, at the point `HERE` away from anything awkward."""
    texts = {"mul": "x*y", "div": "x/y", "sub": "x - y", "select": "(c > 0 ? x : y) + (c < 0 ? x : y)", "pown": "x**3",
             "max": "max(x, y) + max(c, x)"}
    call = f"{name}({', '.join(('x', 'y', 'c')[:TABLE[name].arity])})"
    return parse(f"input x, y, c\nv = exp({texts.get(name, call)})*x")


HERE = {"x": 1.3, "y": 0.7, "c": 0.4}


@each_row(("name", "position"), RULES)
def test_a_wrong_rule(name: str, position: int) -> None:
    """By one part in a million: what is more wrong is further off."""
    program = program_of(name)
    for mode in ("forward", "reverse"):
        assert check_differences(program, HERE, mode)
        with wrong_rule(name, position, lambda m: m * (1 + 1e-6)), caught():
            check_differences(program, HERE, mode)
