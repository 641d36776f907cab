"""Kernels on NumPy arrays: columns are computed where they lie, without a copy.

Results are laid out so that their streams do not meet in the cache: columns that begin at the same place of a page evict each
other, which costs as much as the arithmetic of a program with many outputs.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import addressof
from itertools import pairwise

import numpy as np
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, check_columns, pointers, shared

byte: Callable[[object], ctypes.c_char] = ctypes.c_char.from_buffer  # type: ignore[assignment]  # an array is a buffer
STAGGER = 24
"""Doubles between the end of one result column and the beginning of the next."""
LINE_DOUBLES = CACHE_LINE // 8
"""Doubles of a cache line, at which columns begin."""


def run_arrays(kernel: Kernel, columns: Sequence[np.ndarray], rows: int | None = None,
               out: Sequence[np.ndarray] | None = None, jobs: int | None = 1) -> list[np.ndarray]:
    """Results for columns of inputs: contiguous one-dimensional arrays of float64; into `out` where it is given.

    A column that lies in the memory of `out` is copied first. `jobs` threads share the rows (None: one for each processor,
    where there is work enough); the results do not depend on how many.
    """
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    results = empty_columns(kernel.entry.outputs, rows) if out is None else list(out)
    check_columns(kernel, [len(c) for c in columns], rows, [len(c) for c in results])
    if not all(map(is_column, (*columns, *results))) or not all(c.flags.writeable for c in results):
        raise ValueError("a column must be a contiguous one-dimensional array of float64")
    compute(kernel, columns, results, rows, jobs, new=out is None)
    return results


def compute(kernel: Kernel, columns: Sequence[np.ndarray], results: Sequence[np.ndarray], rows: int, jobs: int | None,
            new: bool) -> None:
    """The same for columns that are known to be right; where `results` are `new` no column lies in their memory.

    Whole blocks are computed in place, the last rows through a padded copy.
    """
    given, into = addresses(columns), addresses(results)
    if not new:
        refuse_overlap(into, 8 * rows)
        columns, given = apart(columns, given, into, 8 * rows)
    whole = rows - rows % kernel.lanes
    shared(kernel, pointers(given), pointers(into), whole, jobs)
    if whole < rows:
        last = [np.append(c[whole:], np.full(kernel.lanes - (rows - whole), c[-1])) for c in columns]
        ends = [np.empty(kernel.lanes) for _ in results]
        kernel(pointers(addresses(last)), pointers(addresses(ends)), 0, kernel.lanes, kernel.workspace())
        for target, end in zip(results, ends, strict=True):
            target[whole:] = end[:rows - whole]


def empty_columns(count: int, rows: int) -> list[np.ndarray]:
    """Uninitialised columns in one block of memory, each at the beginning of a cache line, at a distance that is no power
    of two."""
    stride = -(-rows // LINE_DOUBLES) * LINE_DOUBLES + STAGGER
    block = np.empty(count * stride + LINE_DOUBLES)
    first = -(addressof(byte(block)) // 8) % LINE_DOUBLES
    return [block[at:at + rows] for at in range(first, first + count * stride, stride)]


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


def is_column(a: np.ndarray) -> bool:
    flags = a.flags
    return a.dtype.char == "d" and a.dtype.isnative and a.ndim == 1 and flags.c_contiguous and flags.aligned
