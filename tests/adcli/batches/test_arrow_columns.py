"""Columns of Arrow as arrays: every type of numbers, every kind of lists, with nulls and in slices, against what Python makes of
the same values."""
from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from engines import package

pytestmark = pytest.mark.engine

INTEGERS = {f"{sign}int{bits}": (-(2 ** (bits - 1)) if not sign else 0, 2 ** (bits - (not sign)) - 1)
            for sign in ("", "u") for bits in (8, 16, 32, 64)}


@pytest.fixture(scope="module")
def pa():
    return package("pyarrow")


@pytest.fixture(scope="module")
def columns(pa):
    from adcli.batches import arrow_columns
    return arrow_columns


def doubles_of(values):
    """What Python's own conversion, which is exact and rounded once, makes of each."""
    return [float("nan") if x is None else float(x) for x in values]


def bits(values):
    return np.asarray(values, np.float64).tobytes()


def same_with_slices(columns, array):
    for part in (array, array.slice(1), array.slice(1, 2), array.slice(0, 0)):
        assert bits(columns.doubles(part)) == bits(doubles_of(part.to_pylist())), part.type


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_become_the_nearest_doubles(kind, pa, columns):
    low, high = INTEGERS[kind]
    draw = random.Random(kind)
    values = [low, high, 0, None, *(draw.randint(low, high) for _ in range(200))]
    same_with_slices(columns, pa.array(values, kind))
    same_with_slices(columns, pa.array(values[:3], kind))
    same_with_slices(columns, pa.array([low, high, None, low], kind).dictionary_encode())


def test_floats_of_every_length_truth_values_and_null(pa, columns):
    for kind in ("float16", "float32", "float64"):
        same_with_slices(columns, pa.array([0.1, -0.0, float("inf"), float("nan"), None, 65504.0], kind))
    same_with_slices(columns, pa.array([True, False, None]))
    same_with_slices(columns, pa.array([None, None, None]))
    same_with_slices(columns, pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())))


def test_null_in_a_dictionary_is_null(pa, columns):
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], "int8"), pa.array([2.0, None]))
    assert columns.nulls(array).tolist() == [1, 2, 3]
    assert bits(columns.doubles(array)) == bits(doubles_of([2.0, None, None, None]))


def test_decimals_are_rounded_once(pa, columns):
    """Arrow's own conversion rounds one in five of these twice."""
    draw = random.Random(1)
    for kind in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256):
        digits = {pa.decimal32: 9, pa.decimal64: 18, pa.decimal128: 38, pa.decimal256: 76}[kind]
        for scale in (0, digits // 2, digits):
            values = [draw.randint(-10 ** digits + 1, 10 ** digits - 1) for _ in range(100)]
            array = pa.array([Decimal((x < 0, tuple(map(int, str(abs(x)))), -scale)) for x in values], kind(digits, scale))
            assert columns.doubles(array).tolist() == [float(Fraction(x, 10 ** scale)) for x in values]


def test_doubles_are_not_copied_on_the_way_in_or_out(pa, columns):
    values = np.arange(10.0)
    array = pa.array(values)
    assert np.shares_memory(columns.doubles(array.slice(3, 4)), values[3:7])
    out = columns.number_column(values, np.arange(10) % 2 == 0)
    assert out.buffers()[1].address == values.ctypes.data
    assert out.to_pylist() == [None if i % 2 == 0 else float(i) for i in range(10)]
    out.validate(full=True)


# ---------------------------------------------------------------- lists

def nested(draw, dimensions, kind):
    """What a row holds: a tensor of random sizes, null, null inside, or ragged."""
    shape = [draw.randint(0, 3) for _ in range(dimensions)]
    made = np.arange(np.prod(shape, dtype=int)).reshape(shape).tolist()
    if kind == "null":
        return None
    if kind == "ragged" and dimensions > 1:
        return [[1.0 if dimensions == 2 else [1.0]] * n for n in (2, 1)]
    if kind == "null inside":
        inner = [1.0, None]
        for _ in range(dimensions - 1):
            inner = [inner]
        return inner
    return made


def depth(value, dimensions):
    """The shape of nested lists as their type says it, which an empty list alone does not; None where ragged or with null."""
    if dimensions == 0:
        return () if value is not None else None
    if value is None:
        return None
    inner = {depth(x, dimensions - 1) for x in value}
    if not inner:
        return (0,) * dimensions
    return (len(value), *inner.pop()) if len(inner) == 1 and None not in inner else None


@pytest.mark.parametrize("kind", ["list_", "large_list", "list_view", "large_list_view"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_lists_are_tensors_row_by_row(kind, dimensions, pa, columns):
    draw = random.Random(f"{kind} {dimensions}")
    of = pa.float64()
    for _ in range(dimensions):
        of = getattr(pa, kind)(of)
    for _ in range(20):
        rows = [nested(draw, dimensions, draw.choice(["", "", "", "null", "ragged", "null inside"])) for _ in range(8)]
        whole = pa.array(rows, of)
        for array in (whole, whole.slice(3), whole.slice(2, 4), whole.slice(0, 0)):
            found = columns.lists(array, dimensions, False)
            for i, value in enumerate(array.to_pylist()):
                shape = depth(value, dimensions)
                assert (shape is None) == bool(found.lacking[i] or found.ragged[i]), value
                if shape is not None:
                    assert found.row(i).shape == shape
                    assert found.row(i).ravel().tolist() == np.array(value, float).ravel().tolist()


def test_lists_of_a_fixed_length(pa, columns):
    array = pa.array([[[1, 2], [3, 4]], None, [[5, 6], [7, 8]], [[1, None], [1, 1]]], pa.list_(pa.list_(pa.int32(), 2), 2))
    for part in (array, array.slice(2), array.slice(1, 2)):
        found = columns.lists(part, 2, False)
        assert [None if found.lacking[i] else found.row(i).tolist() for i in range(len(part))] == [
            None if x is None or None in x[0] else x for x in part.to_pylist()]


@pytest.mark.parametrize("order", [None, [0, 1, 2], [2, 0, 1], [1, 0, 2]])
def test_a_column_of_tensors(order, pa, columns):
    kind = pa.fixed_shape_tensor(pa.float64(), [2, 3, 2], permutation=order)
    physical = np.arange(5 * 12.0).reshape(5, 2, 3, 2)
    rows = [None if i == 1 else x.ravel().tolist() for i, x in enumerate(physical)]
    array = pa.ExtensionArray.from_storage(kind, pa.array(rows, pa.list_(pa.float64(), 12)))
    for start, count in ((0, 5), (2, 2), (4, 1), (3, 0)):
        found = columns.lists(array.slice(start, count), 3, False)
        for i in range(count):
            assert found.lacking[i] == (start + i == 1)
            assert found.lacking[i] or np.array_equal(found.row(i), physical[start + i].transpose(order or [0, 1, 2]))


def test_large_integers_in_lists_stay_themselves(pa, columns):
    assert columns.lists(pa.array([[2 ** 53 + 1], [None]], pa.list_(pa.int64())), 1, True).row(0).tolist() == [2 ** 53 + 1]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_tensors_become_lists(dimensions, pa, columns):
    draw = random.Random(dimensions)
    tensors = [np.random.default_rng(i).random([draw.randint(0, 3) for _ in range(dimensions)]) for i in range(9)]
    bad = np.array([i % 4 == 3 for i in range(9)])
    tensors = [np.empty((0,) * dimensions) if b else x for x, b in zip(tensors, bad, strict=True)]
    column = columns.list_column(tensors, dimensions, bad)
    column.validate(full=True)
    assert column.type == columns.list_type(dimensions)
    assert column.to_pylist() == [None if b else x.tolist() for x, b in zip(tensors, bad, strict=True)]
    assert columns.list_column([], dimensions, None).to_pylist() == []


def test_what_holds_no_numbers_has_no_rank(pa, columns):
    for kind in (pa.string(), pa.timestamp("s"), pa.struct([("x", pa.float64())]), pa.list_(pa.string()), pa.date32(),
                 pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        assert columns.rank(kind) is None, kind
    for kind, dimensions in ((pa.null(), 0), (pa.dictionary(pa.int8(), pa.int64()), 0), (pa.list_(pa.list_(pa.int8(), 2)), 2),
                             (pa.decimal128(5), 0), (pa.fixed_shape_tensor(pa.int8(), [2, 2]), 2)):
        assert columns.rank(kind) == dimensions, kind
