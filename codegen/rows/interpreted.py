"""A program of scalars carried out by the reference evaluator, in the place of native code where a system refuses executable
memory: the same calls on the same memory, thousands of times slower."""
from __future__ import annotations

import ctypes
from typing import Any

from adcli.codegen.machine.kernel import EntryPoint, Kernel, Pointers
from adcli.lang.evaluate import evaluate, rounded_arithmetic
from adcli.lang.ir import Program
from adcli.lang.ir.precision import DOUBLE, Precision


class Interpreted(Kernel):
    """A Kernel without native code; one row at a time, no workspace."""

    __slots__ = ("arithmetic", "program")

    def __init__(self, program: Program, precision: Precision = DOUBLE) -> None:
        self.program, self.arithmetic = program, rounded_arithmetic(precision)
        self.entry = EntryPoint("interpreted", 1, 0, len(program.params), len(program.results), (), precision.code)
        self.lanes, self.work_bytes = 1, 0

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        names = [p.name for p in self.program.params]
        code = self.entry.code
        given, found = columns(inputs, len(names), code), columns(outputs, len(self.program.results), code)
        for row in range(begin, end):
            at = {name: column[row] for name, column in zip(names, given, strict=True)}
            results = evaluate(self.program, at, self.arithmetic)
            for column, r in zip(found, self.program.results, strict=True):
                column[row] = results[r.name]


def columns(pointers: Pointers, count: int, code: str) -> list[Any]:
    """The columns behind an array of pointers, which is a ctypes array or an address; of numbers with this letter."""
    kind = ctypes.c_double if code == "d" else ctypes.c_float
    address = pointers if isinstance(pointers, int) else ctypes.addressof(pointers)
    return list((ctypes.POINTER(kind) * count).from_address(address)) if count else []
