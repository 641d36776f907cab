"""Evaluation of recurrences: step after step, in each all statements in their order, which write into the histories.

The meaning is that of the docstring of `adcli.lang.operations.recurrence`, with nothing in it that is quick.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from adcli.lang.evaluate.comprehensions import ElementArithmetic, Evaluate, Known, is_double, make_neutral, written
from adcli.lang.evaluate.matrices import written_matrices
from adcli.lang.ir import Equation, Lit
from adcli.lang.ir.affine import value
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.recurrence import at_one_step
from adcli.lang.operations.reductions import written_out


def recurrence(e: Equation, args: list[Any], sizes: Known, arithmetic: ElementArithmetic, evaluate: Evaluate) -> list[Any]:
    """The values of a recurrence's results: its histories behind the last step."""
    wanted = len(e.outs)
    (plain,) = written_out(e)
    op, args = plain.op, [*args[:wanted], *[arithmetic.constant(0.0)] * (len(plain.outs) - wanted), *args[wanted:]]
    count = len(op.histories)
    shapes = [tuple([value(x, sizes) for x in h.shape]) for h in op.histories]
    values = dict(zip(op.histories, [_copied(a, shape, arithmetic) for a, shape in zip(args, shapes, strict=False)], strict=True))
    constants = dict(zip(op.constants, args[count:], strict=True))
    steps = range(value(op.low, sizes), value(op.high, sizes))
    for t in reversed(steps) if op.down else steps:
        for s in op.statements:
            arithmetic.enter(s)
            given = [arithmetic.constant(a.value) if isinstance(a, Lit) else values[a] if a in values else constants[a]
                     for a in s.args]
            known, out = {**sizes, op.step: t}, values[s.outs[0]]
            if isinstance(s.op, MatrixOperation):
                written_matrices(s, at_one_step(s.op, op.step), out, given, known, arithmetic)
            else:
                here = at_one_step(s.op, op.step)
                if here.onto is None and here.reduction != "=":
                    make_neutral(s, here, out, given, known, arithmetic)
                written(s, here, out, given, known, arithmetic, evaluate)
    return list(values.values())[:wanted]


def _copied(start: Any, shape: tuple[int, ...], arithmetic: ElementArithmetic) -> np.ndarray:
    """A new array with what a history starts from; a number is every element."""
    out = np.empty(shape, np.float64 if is_double(arithmetic) else object)
    out[...] = start
    return out
