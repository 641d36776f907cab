"""Small tensors: what NumPy makes of them, and what is in them."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest
from adcli.codegen.machine.small import SMALL_BYTES, blank, byte, packed, place, shape_of, spacious, unpacked


@pytest.mark.parametrize(("shape", "code"), [((), "d"), ((3,), "q"), ((2, 3), "d"), ((2, 1, 3), "f")])
def test_a_small_tensor_is_an_array_without_numpy(shape, code):
    expected = np.arange(1, 1 + np.prod(shape, dtype=int)).astype(code).reshape(shape)
    found, filled = packed(shape, expected.reshape(-1).tolist(), code), blank(shape, code)
    ctypes.memmove(place(filled), place(found), found.nbytes)
    for x in (found, filled):
        assert shape_of(x) == shape and x.tolist() == expected.tolist() and unpacked(x) == expected.reshape(-1).tolist()
        array = np.asarray(x)
        assert array.dtype.char.replace("l", "q") == code and array.ctypes.data == place(x) and (array == expected).all()


def test_a_number_has_no_dimensions():
    assert shape_of(2.0) == () == shape_of(np.float64(2))


@pytest.mark.parametrize("size", [1, SMALL_BYTES, SMALL_BYTES + 1])
def test_a_buffer_has_so_many_bytes(size):
    buffer = spacious(size)
    ctypes.memset(ctypes.addressof(byte(buffer)), 7, size)
    assert bytes(buffer) == b"\7" * size
