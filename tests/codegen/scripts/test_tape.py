"""Tapes: what the interpreter in JavaScript makes of them is what the reference evaluator makes of the program."""
from __future__ import annotations

import json

import numpy as np
import pytest
from adcli.codegen.scripts.javascript import in_library, operations
from adcli.codegen.scripts.tape import as_json, tape
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.evaluate.comprehensions import bound
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence
from pages import in_node
from random_comprehensions import sample
from script_programs import NODE
from session_seed import drawn

needs_node = pytest.mark.skipif(NODE is None, reason="no node")


@needs_node
def test_random_comprehensions(tmp_path) -> None:
    """Ranks, strides, windows, diagonals, guards, gathers, scatters, every reduction: values and adjoints."""
    r, asked = drawn("tapes of comprehensions"), []
    while len(asked) < 12:
        made = sample(r, rank=3)
        p = made.program()
        if len(asked) % 2 and made.reals:
            p = gradient(p, made.reals[:1], None, "reverse") if all(not made.shapes[v] for v in made.results) else p
        if any(isinstance(e.op, Recurrence) for e in p.equations):   # of a product; pages refuse it
            continue
        asked.append((p, [made.values[x.name] for x in p.params]))
    told = in_node(tmp_path, [({"tape": tape(p, bound(p, dict(zip([x.var for x in p.params], at, strict=True))))}, [(at,)])
                              for p, at in asked])
    for (p, at), (row,) in zip(asked, told, strict=True):
        want = evaluate(p, dict(zip([x.name for x in p.params], at, strict=True)), FLOAT)
        for name, got in zip(want, row, strict=True):
            assert np.shape(got) == np.shape(want[name])
            np.testing.assert_allclose(got, want[name], rtol=1e-13, atol=1e-300)


@needs_node
def test_floors_and_extremes_in_subscripts(tmp_path) -> None:
    p = parse("input x(N)\ny(i) +=! x(2*i) * x(2*i + 1)\nz +=! y(i) * i\noutput y, z")
    x = [1.0, 2.0, 3.0, 4.0, 5.0]
    (((y, z),),) = in_node(tmp_path, [({"tape": tape(p, {"N": 5})}, [([x],)])])
    assert y.tolist() == [2.0, 12.0] and z == 12.0


def test_a_tape_is_plain_data_and_small() -> None:
    """Strict JSON, and numbers of every kind survive it."""
    made = tape(parse("v = x * inf + nan * x - (-0.0) / x"), {})
    again = json.loads(json.dumps(made, allow_nan=False))
    assert again == made and "Infinity" in made["constants"] and "NaN" in made["constants"]
    assert [as_json(x) for x in (-0.0, float("-inf"), 1.5)] == [-0.0, "-Infinity", 1.5]
    assert len(made["equations"]) < 10


def test_the_library_has_every_operation_that_a_tape_can_have() -> None:
    text = operations("library", TABLE)
    for op in TABLE.values():
        assert in_library(op) == (f"\n    {op.name}: (" in text), op
        if not in_library(op):
            assert op.value is not None or op.name in ("dup", "exp2", "fmax", "fmin"), op

