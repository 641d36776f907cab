"""Small tensors without NumPy, which takes longer to load than a short run takes otherwise.

A small tensor is a memoryview: it knows its shape, gives its elements as nested lists by `tolist`, and `numpy.asarray` makes an
array of it that shares its memory. There are none without elements.
"""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from ctypes import addressof
from math import prod
from typing import Any, TypeAlias

byte: Callable[[object], ctypes.c_char] = ctypes.c_char.from_buffer  # type: ignore[assignment]  # an array is a buffer
SmallTensor: TypeAlias = "memoryview[Any]"
SMALL_BYTES = 1 << 16
"""Bytes up to which NumPy is not loaded for tensors."""


def packed(shape: Sequence[int], elements: Sequence[float], code: str = "d") -> SmallTensor:
    """The tensor with these elements, in the order of memory; `code` is the letter that `array` has for their kind."""
    return memoryview(array(code, elements)).cast("B").cast(code, shape)  # type: ignore[call-overload]  # letters


def blank(shape: Sequence[int], code: str = "d") -> SmallTensor:
    """A tensor to be filled."""
    return memoryview(bytearray(array(code).itemsize * prod(shape))).cast(code, shape)  # type: ignore[call-overload]


def unpacked(x: SmallTensor) -> list[Any]:
    """The elements in the order of memory."""
    return x.cast("B").cast(x.format).tolist()  # type: ignore[call-overload]


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, a small tensor or a number."""
    found: tuple[int, ...] = getattr(x, "shape", ())
    return found


def place(x: SmallTensor) -> int:
    """Where the elements are."""
    return addressof(byte(x))


def spacious(size: int) -> Any:
    """A buffer of so many bytes, by NumPy where they are many: it asks the system for large pages."""
    if size <= SMALL_BYTES:
        return bytearray(size)
    from numpy import empty, uint8
    return empty(size, uint8)
