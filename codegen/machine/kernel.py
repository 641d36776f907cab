"""Compiled code as something to call, and what must be known to call it.

Nothing here needs LLVM, programs or NumPy: code that was kept runs with this module alone.
`adcli.codegen.machine.arrays` has the same for NumPy arrays.
"""
from __future__ import annotations

import ctypes
import os
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
