"""Where in a text the constant stands that a precision has no number for, found once code for it could not be made."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from adcli.lang.ir import Equation, Lit, Program
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.precision import Precision


@contextmanager
def placing_constants(program: Program, precision: Precision) -> Iterator[None]:
    """Code is made within: an AdError that names no place gets that of the first constant that is too large or too small."""
    try:
        yield
    except AdError as fault:
        span = first_without_number(program.equations, precision) if fault.span is None else None
        if span is None:
            raise
        raise AdError(fault.message, span, fault.help, program.source) from None


def first_without_number(equations: Iterable[Equation], precision: Precision) -> Span | None:
    """The place of the first operation, those inside of tensors too, with a constant that the precision has no number for."""
    from adcli.lang.ir.comprehension import Comprehension  # start-up: only what is refused is asked
    from adcli.lang.ir.recurrence import Recurrence
    for e in equations:
        if isinstance(e.op, Recurrence):
            span = first_without_number(e.op.statements, precision)
        elif isinstance(e.op, Comprehension):
            lost = any(isinstance(r.atom, Lit) and is_lost(r.atom.value, precision) for r in e.op.body.results)
            span = e.span if lost else first_without_number(e.op.body.equations, precision)
        else:
            span = None
        if span is None and any(isinstance(a, Lit) and is_lost(a.value, precision) for a in e.args):
            span = e.span
        if span is not None:
            return span
    return None


def is_lost(value: float, precision: Precision) -> bool:
    try:
        precision.nearest(value)
    except AdError:
        return True
    return False
