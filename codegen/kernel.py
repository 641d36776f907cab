"""Compiled code as something to call, and what must be known to call it.

Nothing here needs LLVM, the language or NumPy (`run_arrays` imports it): code that was kept runs with this module alone.
"""
from __future__ import annotations

import ctypes
import os
import threading
import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
Pointers = Any
"""An address, or a ctypes array of pointers."""


PROBE = 4096
"""Rows that are timed before threads are started; a multiple of every number of lanes."""
WORTH_A_THREAD = 1e-3
"""Seconds of work beyond which a thread pays for its start."""


class CodegenError(RuntimeError):
    """LLVM refuses what this package wrote: a defect of adcli, never of a program or a point."""


class Entry(NamedTuple):
    """What a caller of compiled code must know, and the loader: `externals` are the functions it calls."""

    name: str
    lanes: int
    work_bytes: int
    inputs: int
    outputs: int
    externals: tuple[str, ...]


class Kernel:
    """Compiled code, callable from several threads at once; each call brings its own workspace."""

    __slots__ = ("entry", "function", "held", "lanes", "work_bytes")

    def __init__(self, entry: Entry, address: int, held: object) -> None:
        self.entry, self.lanes, self.work_bytes = entry, entry.lanes, entry.work_bytes
        self.function, self.held = SIGNATURE(address), held

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        """Compute rows `begin` to `end`, a multiple of `lanes`; see `codegen.llvm`. The GIL is released meanwhile."""
        self.function(inputs, outputs, begin, end, work)

    def workspace(self) -> Pointers:
        """Memory for one call at a time; None where the program needs none."""
        return ctypes.create_string_buffer(self.work_bytes) if self.work_bytes else None


def run(kernel: Kernel, columns: Sequence[Sequence[float]], rows: int | None = None) -> list[list[float]]:
    """Results for columns of inputs, one list per result, without numpy; `rows` counts them where there is no input."""
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    check_columns(kernel, [len(c) for c in columns], rows)
    if rows == 0:
        return [[] for _ in range(kernel.entry.outputs)]
    full = -(-rows // kernel.lanes) * kernel.lanes
    inputs = [array("d", c) + array("d", c[-1:]) * (full - rows) for c in columns]
    outputs = [array("d", bytes(8 * full)) for _ in range(kernel.entry.outputs)]
    kernel(pointers([a.buffer_info()[0] for a in inputs]), pointers([a.buffer_info()[0] for a in outputs]), 0, full,
           kernel.workspace())
    return [list(a[:rows]) for a in outputs]


def run_arrays(kernel: Kernel, columns: Sequence[np.ndarray], rows: int | None = None,
               out: Sequence[np.ndarray] | None = None, jobs: int | None = 1) -> list[np.ndarray]:
    """The same for NumPy arrays of float64, one-dimensional and contiguous; results go into `out` where it is given.

    Whole blocks are computed in place, without a copy; the last rows through a padded one. `jobs` threads share the rows
    (None: one for each processor, where there is work enough); the results do not depend on how many.
    """
    import numpy as np
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    out = [np.empty(rows) for _ in range(kernel.entry.outputs)] if out is None else list(out)
    check_columns(kernel, [len(c) for c in columns], rows, [len(c) for c in out])
    if not all(map(is_column, (*columns, *out))) or not all(c.flags.writeable for c in out):
        raise ValueError("a column must be a contiguous one-dimensional array of float64")
    whole = rows - rows % kernel.lanes
    shared(kernel, addresses(columns), addresses(out), whole, jobs)
    if whole < rows:
        last = [np.append(c[whole:], np.full(kernel.lanes - (rows - whole), c[-1])) for c in columns]
        results = [np.empty(kernel.lanes) for _ in out]
        kernel(addresses(last), addresses(results), 0, kernel.lanes, kernel.workspace())
        for target, result in zip(out, results, strict=True):
            target[whole:] = result[:rows - whole]
    return out


def shared(kernel: Kernel, inputs: Pointers, outputs: Pointers, rows: int, jobs: int | None) -> None:
    """Compute whole blocks in `jobs` threads. With None the first rows are timed, and threads are started only where the
    rest takes long enough to be worth it."""
    begin = 0
    if jobs is None:
        begin = min(rows, PROBE)
        start = time.perf_counter()
        kernel(inputs, outputs, 0, begin, kernel.workspace())
        rest = (time.perf_counter() - start) * (rows - begin) / max(begin, 1)
        jobs = processors() if rest > WORTH_A_THREAD else 1
    share = -(-(rows - begin) // (jobs * kernel.lanes)) * kernel.lanes
    threads = [threading.Thread(target=kernel, args=(inputs, outputs, at, min(rows, at + share), kernel.workspace()))
               for at in range(begin + share, rows, max(share, 1))]
    for thread in threads:
        thread.start()
    kernel(inputs, outputs, begin, min(rows, begin + share), kernel.workspace())
    for thread in threads:
        thread.join()


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_column(a: np.ndarray) -> bool:
    return a.dtype.char == "d" and a.dtype.isnative and a.ndim == 1 and a.flags.c_contiguous and a.flags.aligned


def check_columns(kernel: Kernel, inputs: list[int], rows: int, outputs: list[int] | None = None) -> None:
    """Compiled code checks nothing: the number of columns and their lengths are checked here."""
    entry = kernel.entry
    if len(inputs) != entry.inputs or (outputs is not None and len(outputs) != entry.outputs):
        raise ValueError(f"{entry.inputs} columns of inputs and {entry.outputs} of results expected")
    if rows < 0 or any(length != rows for length in (*inputs, *(outputs or ()))):
        raise ValueError("columns must have equal lengths")


def addresses(columns: Sequence[np.ndarray]) -> Pointers:
    return pointers([c.ctypes.data for c in columns])


def pointers(values: Sequence[int]) -> Pointers:
    return (ctypes.c_void_p * len(values))(*values)
