"""Kernels on NumPy arrays: columns are computed where they lie, without a copy.

Results are laid out so that their streams do not meet in the cache: columns that begin at the same place of a page evict each
other, which costs as much as the arithmetic of a program with many outputs.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import addressof
from itertools import pairwise

import numpy as np
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, Pointers, check_columns, pointers
from adcli.codegen.machine.small import byte
from adcli.codegen.machine.workers import shared

STAGGER = 3 * CACHE_LINE
"""Bytes between the end of one result column and the beginning of the next."""


def run_arrays(kernel: Kernel, columns: Sequence[np.ndarray], rows: int | None = None,
               out: Sequence[np.ndarray] | None = None, jobs: int | None = 1) -> list[np.ndarray]:
    """Results for columns of inputs: contiguous one-dimensional arrays of the kernel's precision; into `out` where it is given.

    A column that lies in the memory of `out` is copied first. `jobs` threads share the rows (None: one for each processor,
    where there is work enough); the results do not depend on how many.
    """
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    code = kernel.entry.code
    results = empty_columns(kernel.entry.outputs, rows, code) if out is None else list(out)
    check_columns(kernel, [len(c) for c in columns], rows, [len(c) for c in results])
    if not all(is_column(c, code) for c in (*columns, *results)) or not all(c.flags.writeable for c in results):
        raise ValueError(f"a column must be a contiguous one-dimensional array of {np.dtype(code)}")
    compute(kernel, columns, results, rows, jobs, new=out is None)
    return results


def compute(kernel: Kernel, columns: Sequence[np.ndarray], results: Sequence[np.ndarray], rows: int, jobs: int | None,
            new: bool) -> None:
    """Compute columns that are known to be right; where `results` are `new` no column lies in their memory.

    Whole blocks are computed in place, the last rows through a padded copy.
    """
    given, into, entry = addresses(columns), addresses(results), kernel.entry
    if not new:
        refuse_overlap(into, entry.size * rows)
        columns, given = apart(columns, given, into, entry.size * rows)
    whole = rows - rows % kernel.lanes
    shared(kernel, pointers(given), pointers(into), whole, jobs, held=(columns, results))
    if whole < rows:
        last = [np.append(c[whole:], np.full(kernel.lanes - (rows - whole), c[-1], entry.code)) for c in columns]
        ends = [np.empty(kernel.lanes, entry.code) for _ in results]
        kernel(pointers(addresses(last)), pointers(addresses(ends)), 0, kernel.lanes, kernel.workspace())
        for target, end in zip(results, ends, strict=True):
            target[whole:] = end[:rows - whole]


def empty_columns(count: int, rows: int, code: str = "d") -> list[np.ndarray]:
    """Uninitialised columns in one block of memory, each at the beginning of a cache line, at a distance that is no power
    of two."""
    size = np.dtype(code).itemsize
    line = CACHE_LINE // size
    stride = -(-rows // line) * line + STAGGER // size
    block = np.empty(count * stride + line, code)
    first = -(addressof(byte(block)) // size) % line
    return [block[at:at + rows] for at in range(first, first + count * stride, stride)]


PIECE = 1 << 14
"""Rows that are converted at a time."""


def of_doubles(kernel: Kernel) -> Kernel:
    """The kernel on columns of doubles, which it may have already."""
    return kernel if kernel.entry.code == "d" else OfDoubles(kernel)


class OfDoubles(Kernel):
    """A kernel of another precision on columns of doubles: inputs are rounded, and results are doubles again."""

    __slots__ = ("kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.lanes, self.work_bytes = kernel, kernel.lanes, kernel.work_bytes
        self.entry = kernel.entry._replace(code="d")

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        given, into = (views(each, count, end) for each, count in ((inputs, self.entry.inputs), (outputs, self.entry.outputs)))
        results = empty_columns(len(into), min(PIECE, end - begin), self.kernel.entry.code)
        for at in range(begin, end, PIECE):
            rows = min(PIECE, end - at)
            with np.errstate(over="ignore"):
                columns = [c[at:at + rows].astype(self.kernel.entry.code) for c in given]
            self.kernel(pointers(addresses(columns)), pointers(addresses(results)), 0, rows, work)
            for target, found in zip(into, results, strict=True):
                target[at:at + rows] = found[:rows]

    def workspace(self) -> Pointers:
        return self.kernel.workspace()


def views(columns: Pointers, count: int, rows: int) -> list[np.ndarray]:
    """The columns of doubles behind an array of pointers."""
    place = columns if isinstance(columns, int) else addressof(columns)
    at = (ctypes.c_void_p * count).from_address(place) if count else ()
    return [np.ndarray(rows, np.float64, memoryview((ctypes.c_double * rows).from_address(each or 0))) for each in at]


class Overlap(ValueError):
    """Result column `index` lies in the memory of another one."""

    def __init__(self, index: int) -> None:
        super().__init__(f"result column {index} overlaps another one")
        self.index = index


def refuse_overlap(into: list[int], size: int) -> None:
    """Raise Overlap where two of the columns of `size` bytes, given by their addresses, share memory."""
    order = sorted(into)
    for start, following in pairwise(order):
        if following < start + size:
            raise Overlap([i for i, at in enumerate(into) if at in (start, following)][1])


def apart(columns: Sequence[np.ndarray], given: list[int], into: list[int],
          size: int) -> tuple[Sequence[np.ndarray], list[int]]:
    """The columns with their addresses, copied where they may lie in the memory that results are written into."""
    low, high = min(into, default=0) - size, max(into, default=0) + size
    for start in given:
        if low < start < high:
            columns = [c.copy() if low < at < high else c for c, at in zip(columns, given, strict=True)]
            return columns, addresses(columns)
    return columns, given


def addresses(columns: Sequence[np.ndarray]) -> list[int]:
    """Where the memory of contiguous arrays begins; by the buffer interface, which is five times as fast as NumPy's own way
    but knows no array that is empty or cannot be written."""
    try:
        return [addressof(byte(c)) for c in columns]
    except (TypeError, ValueError):
        return [c.ctypes.data for c in columns]


def is_column(a: np.ndarray, code: str) -> bool:
    flags = a.flags
    return a.dtype.char == code and a.dtype.isnative and a.ndim == 1 and flags.c_contiguous and flags.aligned
