"""Wherever a row of the table says that it is not smooth, a quantity says that there is a place."""
from __future__ import annotations

import math
from itertools import product

import pytest
from adcli.lang.analyse.numeric_sweeps import met
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.ir import Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from one_operation import OTHER_FORMS, few_costly
from row_tables import each_row

from adcli.plot.breaks import quantities

SPECIAL = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
ROWS = [op for op in TABLE.values() if op.status and not op.truth and "t" not in op.signature.partition(">")[0]
        and op.name not in OTHER_FORMS]
"""Comparisons are looked at through what chooses by them."""


def alone(op):
    """A program of one operation."""
    count = op.arity
    inputs = [Var(f"x{i}") for i in range(count)]
    args = tuple(Lit(2.0) if i in op.static else x for i, x in enumerate(inputs))
    out = Var("v")
    return Program(tuple(Param(x, x.name) for i, x in enumerate(inputs) if i not in op.static),
                   (Equation((out,), op, args),), (Result("v", out),))


def conditions(program, point):
    """Those of its one operation that hold."""
    return list(met(program.equations[0], every_value(program, point, FLOAT)))


@each_row("op", few_costly(ROWS), ids=lambda op: op.name)
def test_every_condition_has_a_quantity_that_vanishes_or_a_step_that_is_taken(op):
    program = alone(op)
    names = [p.name for p in program.params]
    told, known = quantities(program, names)

    def at(point):
        values = every_value(told, point, FLOAT)
        return [read(values, r.atom, FLOAT) for r in told.results]

    seen = 0
    for numbers in product(SPECIAL, repeat=len(names)):
        point = dict(zip(names, numbers, strict=True))
        near = [{**point, name: x + d} for name, x in point.items() for d in (-1e-9, 1e-9)]
        if not conditions(program, point) or all(conditions(program, other) for other in near):   # of a region, not of a place
            continue
        seen += 1
        here, beside = at(point), [at(other) for other in near]
        assert any(not q.step and value == 0 for q, value in zip(known, here, strict=True)) or any(
            q.step and any(other[k] != here[k] for other in beside) for k, q in enumerate(known)), point
    assert seen or op.name in ("pown", "polygamma", "owens_t"), "no condition was met"   # at finite numbers, or beside them


@pytest.mark.parametrize("text, signs", [
    ("v = x > y ? x : y", (-1, 1)), ("v = tan(x)", (1, -1)), ("v = max(x, 3, y)", (-1, 1)),
])
def test_the_sign_changes_from_one_side_to_the_other(text, signs):
    program, known = quantities(parse(text), ["x"])
    ends = (1.0, 2.0) if "tan" in text else (2.9, 3.1)
    found = [every_value(program, {"x": x, "y": 3.0}, FLOAT) for x in ends]
    pairs = {tuple(int(math.copysign(1, read(values, r.atom, FLOAT))) for values in found) for r in program.results}
    assert signs in pairs and known


def test_what_does_not_depend_on_the_input_is_left_out():
    assert quantities(parse("v = abs(y)*x"), ["x"])[1] == []
