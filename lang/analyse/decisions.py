"""Where a program decides which of its pieces it is on, so that differences and expansions can keep to one."""
from __future__ import annotations

from adcli.lang.ir import Equation, Program
from adcli.lang.ir.primitives import TABLE

DIV = TABLE["div"]


def decisions(program: Program) -> list[Equation]:
    """The comparisons, the operations with pieces of their own, and the quotients, whose denominators have signs."""
    return [e for e in program.equations if e.op.truth or e.op.pieces or e.op is DIV]
