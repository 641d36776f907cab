"""Arrays between pages that nobody may touch: code that reads or writes one element too far ends the process at once."""
from __future__ import annotations

import ctypes
import mmap
from math import prod

import numpy as np

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(size: int, at_end: bool = True) -> np.ndarray:
    """Bytes that end (or begin) where a page begins (or ends) that cannot be read or written."""
    room = -(-max(size, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, room + 2 * PAGE)
    whole = np.frombuffer(memory, np.uint8)
    for start in (0, room + PAGE):
        if LIBC.mprotect(whole.ctypes.data + start, PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + room - size if at_end else PAGE
    return whole[start:start + size]


def like(array: np.ndarray, at_end: bool = True) -> np.ndarray:
    """A guarded copy of an array."""
    copy = empty(array.shape, array.dtype, at_end)
    copy[...] = array
    return copy


def empty(shape: tuple[int, ...], dtype: np.dtype | type = np.float64, at_end: bool = True) -> np.ndarray:
    """A guarded array, filled with what no test expects."""
    made = guarded(prod(shape) * np.dtype(dtype).itemsize, at_end).view(dtype).reshape(shape)
    made.fill(77)
    return made
