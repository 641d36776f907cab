"""A program of scalars carried out by the reference evaluator, in the place of native code where a system refuses executable
memory: the same calls on the same memory, thousands of times slower."""
from __future__ import annotations

import ctypes

from adcli.codegen.machine.kernel import EntryPoint, Kernel, Pointers
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program


class Interpreted(Kernel):
    """A Kernel without native code; one row at a time, no workspace."""

    __slots__ = ("program",)

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entry = EntryPoint("interpreted", 1, 0, len(program.params), len(program.results), ())
        self.lanes, self.work_bytes = 1, 0

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        names = [p.name for p in self.program.params]
        given, found = columns(inputs, len(names)), columns(outputs, len(self.program.results))
        for row in range(begin, end):
            results = evaluate(self.program, {name: column[row] for name, column in zip(names, given, strict=True)})
            for column, r in zip(found, self.program.results, strict=True):
                column[row] = results[r.name]


def columns(pointers: Pointers, count: int) -> list[ctypes._Pointer[ctypes.c_double]]:
    """The columns behind an array of pointers, which is a ctypes array or an address."""
    address = pointers if isinstance(pointers, int) else ctypes.addressof(pointers)
    return list((ctypes.POINTER(ctypes.c_double) * count).from_address(address)) if count else []
