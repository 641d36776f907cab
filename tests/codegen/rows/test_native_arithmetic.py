"""The arithmetic of explanations: every operation as native code carries it out, bit for bit, in both precisions."""
from __future__ import annotations

import struct

import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Param, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import PRECISIONS
from one_operation import IN_DOUBLE, SUMS, few_costly
from row_tables import each_row
from session_seed import drawn

from adcli.task.native import compiled

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), float("-inf"), float("nan"), 1e-38, 700.0)
ROWS = [row for row in TABLE.values()
        if not row.truth and row.outs == 1 and not row.static and "t" not in row.signature.split(">")[0]]


def bits(x):
    return b"nan" if x != x else struct.pack("<d", x)


@each_row("name", PRECISIONS)
@each_row("row", few_costly(ROWS), ids=lambda row: row.name)
def test_every_operation_is_that_of_native_code(row, name):
    precision, random = PRECISIONS[name], drawn(row.name)
    if name == "single" and row.name in IN_DOUBLE:
        return   # tests/codegen/c/test_source.py
    for count in {row.arity, *([3] if row.variadic else [])}:
        args, out = tuple([Var(f"x{i}") for i in range(count)]), Var("z")
        program = Program(tuple([Param(a, a.name) for a in args]), (Equation((out,), row, args),), (Result("z", out),))
        points = [[precision.rounded(random.choice([random.uniform(-3, 3), random.uniform(0, 1), random.uniform(-40, 40),
                                                    random.choice(SPECIAL)])) for _ in args]
                  for _ in range(8 if row.name in SUMS else 64)]
        (found,) = run(compiled(program, precision=name), list(map(list, zip(*points, strict=True))))
        ours = [native_arithmetic(precision).apply(row, point, args) for point in points]
        assert [*map(bits, ours)] == [*map(bits, found)]


@pytest.mark.parametrize("text", ["v = sqrt(1 - cos(x)**2 - sin(x)**2); w = log(exp(x)*exp(-x))",
                                  "v = acos(sin(x)*sin(y) + cos(x)*cos(y))*hypot(x, y, sin(x))",
                                  "v = x > sin(y) ? tanh(x)**3 : lgamma(x) - x**y; w = sigmoid(v) + softplus(x) + erf(y)"])
def test_a_program_too(text):
    program, random = parse(text), drawn(text)
    names = [p.name for p in program.params]
    points = [[random.uniform(0, 3)] * len(names) for _ in range(200)]
    found = run(compiled(program), list(map(list, zip(*points, strict=True))))
    for k, point in enumerate(points):
        ours = evaluate(program, dict(zip(names, point, strict=True)), native_arithmetic(PRECISIONS["double"]))
        assert [bits(x) for x in ours.values()] == [bits(column[k]) for column in found]
