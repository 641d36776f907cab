"""Where a program decides which of its pieces it is on, so that differences and expansions can keep to one."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adcli.lang.evaluate import Arithmetic, read
from adcli.lang.ir import Equation, Program
from adcli.lang.ir.primitives import TABLE

DIV = TABLE["div"]


def decisions(program: Program) -> Iterator[Equation]:
    """The comparisons, the operations with pieces of their own, and the quotients, whose denominators have signs."""
    return (e for e in program.equations if e.op.truth or e.op.pieces or e.op is DIV)


def decided(program: Program, values: Mapping[Any, Any], exact: Arithmetic) -> list[object]:
    """The outcomes that decide between pieces: comparisons, steps, the order of what max or abs sees, signs of denominators."""
    found: list[object] = []
    for e in decisions(program):
        if e.op.truth or e.op.pieces == "step":
            found.append(values[e.outs[0]])
        else:
            args = [read(values, a, exact) for a in e.args]
            found += [x < y for x in args for y in (*args, 0)]
            if e.op.pieces == "sawtooth" and args[1]:
                found.append(exact.functions["floor"](2 * (args[0] - values[e.outs[0]]) / args[1]))
    return found
