"""Compiled code as something to call, and what must be known to call it.

Nothing here needs LLVM, programs or NumPy: code that was kept runs with this module alone.
`adcli.codegen.machine.arrays` has the same for NumPy arrays.

Tapes: programs of scalars as bytecode, arrays of operations and operands that one interpreter executes for all.

A tape is made in a microsecond an equation, compiled code in ten; an operation on a block of rows takes a few nanoseconds
longer on a tape, with the same bits. `adcli.codegen.rows.bytecode` has both tape and interpreter, `adcli.codegen.rows.tiers`
the choice.
"""
from __future__ import annotations

import ctypes
import os
import struct
import threading
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from adcli.lang.ir.errors import AdError

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
Pointers = Any
"""An address, or a ctypes array of pointers."""


CACHE_LINE = 64
"""Bytes of a cache line."""


COMPILING = threading.RLock()
"""Held while code is made, and all the time that LLVM works."""
if hasattr(os, "register_at_fork"):   # a child would wait for ever for what a thread of its parent was making
    os.register_at_fork(before=COMPILING.acquire, after_in_parent=COMPILING.release, after_in_child=COMPILING.release)


class CodegenError(RuntimeError):
    """LLVM refuses what this package wrote: a defect of adcli, never of a program or a point."""


class NoExecutableMemory(AdError):
    """The system lets no process write code and run it."""

    def __init__(self) -> None:
        super().__init__("this system allows no executable memory")


class EntryPoint(NamedTuple):
    """Compiled code for callers and the loader: `externals` are the functions it calls, `code` is the letter that
    `array` and NumPy have for the numbers in its columns, which are doubles or of single precision."""

    name: str
    lanes: int
    work_bytes: int
    inputs: int
    outputs: int
    externals: tuple[str, ...]
    code: str = "d"

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return array(self.code).itemsize


class Kernel:
    """Compiled code, callable from several threads at once; each call brings its own workspace. `pace` is the seconds that a row
    took last, once that is known."""

    __slots__ = ("address", "entry", "function", "held", "lanes", "pace", "work_bytes")
    pace: float

    def __init__(self, entry: EntryPoint, address: int, held: object) -> None:
        self.entry, self.lanes, self.work_bytes = entry, entry.lanes, entry.work_bytes
        self.address, self.function, self.held = address, SIGNATURE(address), held

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        """Compute rows `begin` to `end`, a multiple of `lanes`; see `adcli.codegen.rows.llvm`. The GIL is released meanwhile."""
        self.function(inputs, outputs, begin, end, work)

    def workspace(self) -> Pointers:
        """Memory for one call at a time, from the beginning of a cache line; None where the program needs none."""
        if not self.work_bytes:
            return None
        memory = ctypes.create_string_buffer(self.work_bytes + CACHE_LINE)
        return (ctypes.c_char * self.work_bytes).from_buffer(memory, -ctypes.addressof(memory) % CACHE_LINE)


def run(kernel: Kernel, columns: Sequence[Sequence[float]], rows: int | None = None) -> list[list[float]]:
    """Results for columns of inputs, one list per result, without numpy; `rows` counts them where there is no input."""
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    check_columns(kernel, [len(c) for c in columns], rows)
    if rows == 0:
        return [[] for _ in range(kernel.entry.outputs)]
    full = -(-rows // kernel.lanes) * kernel.lanes
    code, size = kernel.entry.code, kernel.entry.size
    inputs = [array(code, c) + array(code, c[-1:]) * (full - rows) for c in columns]
    outputs = [array(code, bytes(size * full)) for _ in range(kernel.entry.outputs)]
    kernel(pointers([a.buffer_info()[0] for a in inputs]), pointers([a.buffer_info()[0] for a in outputs]), 0, full,
           kernel.workspace())
    return [list(a[:rows]) for a in outputs]


def started(thread: threading.Thread) -> bool:
    """Start a thread, if the system has one."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_columns(kernel: Kernel, inputs: list[int], rows: int, outputs: list[int] | None = None) -> None:
    """Compiled code checks nothing: the number of columns and their lengths are checked here."""
    entry = kernel.entry
    if len(inputs) != entry.inputs or (outputs is not None and len(outputs) != entry.outputs):
        raise ValueError(f"{entry.inputs} columns of inputs and {entry.outputs} of results expected")
    if rows < 0 or any(length != rows for length in (*inputs, *(outputs or ()))):
        raise ValueError("columns must have equal lengths")


def pointers(values: Sequence[int]) -> Pointers:
    return (ctypes.c_void_p * len(values))(*values)


# ---------------------------------------------------------------- tape

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
