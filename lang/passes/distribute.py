"""What of a loop needs no steps, beside it: `z(t, n) +=! W(n, m) * x(t, m)` is a product of matrices before a loop that reads it,
and a result that nothing in the loop reads is one operation behind it.

Every statement stays what it is, with the step as an index like any other, so no bit changes. A loop that is to end before its
last step stays whole.
"""
from __future__ import annotations

from dataclasses import replace

from adcli.lang.ir import Equation, Program
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import Range
from adcli.lang.ir.matrix import Boxed
from adcli.lang.ir.recurrence import Recurrence, step_place, whole_statements
from adcli.lang.passes.systems import StepSystem


def distributed(program: Program) -> Program:
    """The program with recurrences of what depends on itself only."""
    if not any(isinstance(e.op, Recurrence) for e in program.equations):
        return program
    b = Builder()
    for e in program.equations:
        b.span, b.group = e.span, e.group
        if isinstance(e.op, Recurrence) and e.op.until is None:
            _distribute(b, e, e.op)
        else:
            b.equations.append(e)
    return replace(program, equations=tuple(b.equations))


def _distribute(b: Builder, e: Equation, op: Recurrence) -> None:
    system, statements = StepSystem(Range(op.step, op.low, op.high), op.down, op.checkpoint), whole_statements(e)
    places = {s.outs[0]: step_place(s.op, op.step)[0] for s in statements if isinstance(s.op, Boxed)}
    for out, start in zip(e.outs, e.args, strict=False):
        system.history(out, start, places[out], zeros=False)
    for s in statements:
        system.enter(s)
    system.emit(b)
