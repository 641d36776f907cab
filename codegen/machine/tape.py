"""Tapes: programs of scalars as bytecode, arrays of operations and operands that one interpreter executes for all.

A tape is made in a microsecond an equation, compiled code in ten; an operation on a block of rows takes a few nanoseconds
longer on a tape, with the same bits. `adcli.codegen.rows.bytecode` has both tape and interpreter, `adcli.codegen.rows.tiers`
the choice.
"""
from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, Pointers

END, RESULT = 0, 1
"""Instructions that are no operation: the end of a block, and that a value goes to a column."""
HEADER = CACHE_LINE
"""Bytes of the interpreter's memory before the slots: the addresses of code and constants, the number of constants and of
inputs."""
COUNTS = struct.Struct("=6q")
"""The head of a tape as bytes: the number of constants, then the numbers in `Tape`."""


class Tape(NamedTuple):
    """A program as instructions, each a number followed by where its result goes and its operands lie: for RESULT a column and a
    slot, for an operation slots. A slot has one value at a time, for each row of a block; input i is in slot i, constant k in
    slot -1 - k; the type of `constants` is that of all values. `instructions` counts them, with the END; `length` is how much
    work the program would be to compile (see `adcli.codegen.rows.llvm`)."""

    code: array[int]
    constants: array[float]
    inputs: int
    outputs: int
    slots: int
    instructions: int
    length: int

    def packed(self) -> bytes:
        """The tape as bytes of this machine."""
        counts = COUNTS.pack(len(self.constants), self.inputs, self.outputs, self.slots,
                             self.instructions, self.length)
        return counts + self.constants.tobytes() + self.code.tobytes()


def unpacked(data: bytes, kind: str = "d") -> Tape:
    """The tape in `packed` bytes, whose constants are of this type of `array`."""
    values, *numbers = COUNTS.unpack_from(data)
    code, constants = array("i"), reals(kind)
    middle = COUNTS.size + constants.itemsize * values
    constants.frombytes(data[COUNTS.size:middle])
    code.frombytes(data[middle:])
    return Tape(code, constants, *numbers)


def reals(kind: str) -> array[float]:
    """An empty array of real numbers with this letter."""
    return array("f") if kind == "f" else array("d")


class TapeKernel(Kernel):
    """A tape with its interpreter: called as compiled code is, from several threads at once; its memory is from `workspace`."""

    __slots__ = ("tape",)

    def __init__(self, tape: Tape, interpreter: Kernel) -> None:
        self.tape, self.held, self.function, self.lanes = tape, interpreter, interpreter.function, interpreter.lanes
        self.work_bytes = HEADER + interpreter.entry.size * self.lanes * (tape.slots + len(tape.constants))
        self.entry = interpreter.entry._replace(work_bytes=self.work_bytes, inputs=tape.inputs, outputs=tape.outputs)

    def workspace(self) -> Pointers:
        memory, t = super().workspace(), self.tape
        header = (t.code.buffer_info()[0], t.constants.buffer_info()[0], len(t.constants), t.inputs)
        struct.pack_into("=4Q", memory, 0, *header)
        return memory
