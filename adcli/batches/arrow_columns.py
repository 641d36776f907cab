"""Arrow's columns as NumPy arrays and back, without a copy where the types allow it.

A column of 64-bit floats lies in memory as an array does. Every other type of numbers is converted, each number to the double
nearest to it; a list is a tensor of as many dimensions as lists are nested.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types
from pyarrow.compute import indices_nonzero, list_value_length

from adcli.answers.array_calls import DOUBLE

NUMBERS = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
LISTS = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
DOUBLES = pa.float64()
NAN = pa.Array.from_buffers(DOUBLES, 1, [None, pa.py_buffer(np.array([np.nan]))])[0]   # pyarrow.scalar imports pandas
ZERO = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(np.zeros(1, np.int64))])[0]
MOST_ELEMENTS = 2**31 - 1
"""Elements that the lists of one column can have in all, since places in them are 32-bit integers."""


class Lists(NamedTuple):
    """Tensors, one a row, their elements one after another: row i is `values[starts[i]:ends[i]]` of shape `shapes[i]`, its
    dimensions in another `order` where one is given; unless it is null or has null in it, which `lacking[i]` says, or is
    `ragged[i]`."""

    values: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    shapes: np.ndarray
    lacking: np.ndarray
    ragged: np.ndarray
    order: Sequence[int] | None = None

    def row(self, row: int) -> np.ndarray:
        """The tensor of a row."""
        found = self.values[self.starts[row]:self.ends[row]].reshape(self.shapes[row])
        return found if self.order is None else found.transpose(self.order)


def rank(kind: pa.DataType) -> int | None:
    """Dimensions of what a column of this type holds in a row: 0 for numbers; None where it holds something else."""
    if isinstance(kind, pa.FixedShapeTensorType):
        return len(kind.shape) if rank(kind.value_type) == 0 else None
    if any(is_such(kind) for is_such in LISTS):
        inner = rank(kind.value_type)
        return None if inner is None else inner + 1
    kind = kind.value_type if types.is_dictionary(kind) else kind.storage_type if isinstance(kind, pa.Bool8Type) else kind
    return 0 if any(is_such(kind) for is_such in NUMBERS) else None


def plain(column: pa.Array) -> pa.Array:
    """Numbers of a type that has them as they are."""
    if types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def memory(column: pa.Array) -> np.ndarray:
    """Integers or doubles without null where they lie. (What pyarrow has for this imports pandas first, where that is.)"""
    dtype = np.dtype(str(column.type))
    if not len(column):
        return np.empty(0, dtype)
    found = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
    return found if found.flags.aligned else found.copy()


def doubles(column: pa.Array) -> np.ndarray:
    """A column of numbers as float64, NaN for null; the memory of the column where it has these already."""
    column = plain(column)
    if types.is_decimal(column.type):   # its own conversion multiplies by a power of ten, and so rounds twice
        column = column.cast(pa.string())
    if column.type != DOUBLES:
        column = column.cast(DOUBLES, safe=False)
    return memory(column.fill_null(NAN) if column.null_count else column)


def elements(column: pa.Array, integer: bool) -> np.ndarray:
    """The numbers of lists; for a tensor of integers whole ones as they are, since a double does not hold them all."""
    column = plain(column)
    if integer and types.is_integer(column.type):
        return memory(column.fill_null(ZERO.cast(column.type)))
    return doubles(column)


def nulls(column: pa.Array) -> np.ndarray:
    """The rows that are null, also where a dictionary has null for them."""
    column = plain(column)
    return memory(indices_nonzero(column.is_null())).astype(np.intp) if column.null_count else np.empty(0, np.intp)


def lists(column: pa.Array, dimensions: int, integer: bool) -> Lists:
    """A column of nested lists, or of tensors of one shape."""
    if isinstance(column.type, pa.FixedShapeTensorType):
        return of_one_shape(column, integer)
    if types.is_null(column.type):
        column = column.cast(list_type(dimensions))
    rows = len(column)
    starts, ends = np.arange(rows), np.arange(1, rows + 1)
    lacking, ragged = np.zeros(rows, bool), np.zeros(rows, bool)
    shapes = np.empty((rows, dimensions), np.intp)
    for k in range(dimensions):
        lacking |= among(nulls(column), len(column), starts, ends)
        column, offsets = opened(column)
        lengths = np.append(np.diff(offsets), 0)
        shapes[:, k] = np.where(starts < ends, lengths[starts], 0)
        ragged |= among(np.flatnonzero(lengths[1:-1] != lengths[:-2]) + 1, len(lengths), starts + 1, np.maximum(ends, starts + 1))
        starts, ends = offsets[starts], offsets[ends]
    lacking |= among(nulls(column), len(column), starts, ends)
    return Lists(elements(column, integer), starts, ends, shapes, lacking, ragged)


def of_one_shape(column: pa.Array, integer: bool) -> Lists:
    """A column of tensors whose shape its type says, as it lies in memory, with the order of the dimensions."""
    kind = column.type
    shapes = np.broadcast_to(np.array(kind.shape, np.intp), (len(column), len(kind.shape)))
    return lists(column.storage, 1, integer)._replace(shapes=shapes, order=kind.permutation)


def opened(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Flattened lists with their offsets. Lists that are null hold nothing."""
    lengths = list_value_length(column)
    lengths = memory(lengths.fill_null(ZERO.cast(lengths.type)))
    return column.flatten(), np.append(0, np.cumsum(lengths, dtype=np.intp))


def among(marked: np.ndarray, count: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """For each range from `starts` to `ends`, test whether any of the `marked` of `count` items lies in it."""
    before = np.zeros(count + 1, np.intp)
    before[marked + 1] = 1
    np.cumsum(before, out=before)
    return before[np.minimum(ends, count)] > before[np.minimum(starts, count)]


def without(column: pa.Array, bad: np.ndarray) -> pa.Array:
    """The rows of a column of any type that are not `bad`."""
    try:
        return column.filter(pa.array(~bad))
    except pa.ArrowNotImplementedError:   # such as texts of the type that data frames of polars have
        places = np.append(np.flatnonzero(bad), len(column)).tolist()
        begins = [0, *(place + 1 for place in places[:-1])]
        return pa.concat_arrays([column.slice(a, b - a) for a, b in zip(begins, places, strict=True)])


# ---------------------------------------------------------------- results

def validity(bad: np.ndarray | None) -> pa.Buffer | None:
    """The bits that say which rows are not null."""
    return None if bad is None else pa.py_buffer(np.packbits(~bad, bitorder="little"))


def number_column(values: np.ndarray, bad: np.ndarray | None) -> pa.Array:
    """Doubles as a column in the same memory, null where they are `bad`."""
    assert values.dtype is DOUBLE
    return pa.Array.from_buffers(DOUBLES, len(values), [validity(bad), pa.py_buffer(values)])


def list_column(tensors: Sequence[np.ndarray], dimensions: int, bad: np.ndarray | None) -> pa.Array:
    """Tensors as a column of nested lists, null where they are `bad`."""
    inner = number_column(np.concatenate([np.empty(0), *(x.reshape(-1) for x in tensors)]), None)
    for k in reversed(range(dimensions)):
        lengths = (length for x in tensors for length in [x.shape[k]] * math.prod(x.shape[:k]))
        offsets = np.fromiter(accumulate(lengths, initial=0), np.int64)
        if offsets[-1] > MOST_ELEMENTS:
            raise OverflowError
        count = len(offsets) - 1
        inner = pa.Array.from_buffers(pa.list_(inner.type), count, [validity(bad if k == 0 else None),
                                      pa.py_buffer(offsets.astype(np.int32))], children=[inner])
    return inner


def list_type(dimensions: int) -> pa.DataType:
    """The type of a column of tensors, of numbers where they have no dimension."""
    kind = pa.float64()
    for _ in range(dimensions):
        kind = pa.list_(kind)
    return kind
