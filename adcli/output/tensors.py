"""Tensors, written: nested lists as text and in JSON, matrices as CSV, arrays as .npy and .npz.

Everything is written in full, except that a terminal is shown the corners of a large tensor and told how to get all of it.
"""
from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

from adcli.codegen.machine.memory import require_room
from adcli.codegen.machine.small import shape_of, unpacked
from adcli.lang.ir.errors import AdError
from adcli.output.layout import Layout, Row
from adcli.output.numbers import SHORTEST, Number, json_number, shortest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

TENSOR_WIDTH = 100
"""Characters of a line that numbers are wrapped at."""
MANY_ELEMENTS = 1000
"""Elements of a tensor beyond which a terminal is shown its corners only, and JSON of a point its first."""
FIRST = 8
"""Elements that are left of a tensor that is abridged."""
EDGE = 3
CHARACTERS = 100
"""Bytes that writing an element as text takes at most, roughly, with all that is held meanwhile."""


# ---------------------------------------------------------------- text

def result_lines(name: str, x: Any, number: Number, cut: bool) -> Iterator[str]:
    """One result: on one line where it fits, else a line or more for each row."""
    shape = shape_of(x)
    if not shape:
        yield f"{name} = {element(x, number)}"
        return
    head, size = f"{name} = ", math.prod(shape)
    cut = cut and size > MANY_ELEMENTS
    x = x.tolist() if isinstance(x, memoryview) else x
    if size * 4 <= TENSOR_WIDTH:
        short = head + " ".join(map(str.strip, nested_lines(x, len(shape), number, cut)))
        if len(short) <= TENSOR_WIDTH:
            yield short
            return
    for i, line in enumerate(nested_lines(x, len(shape), number, cut)):
        yield (" " * len(head) if i else head) + line


def element(x: Any, number: Number) -> str:
    """A number; whole numbers have no fraction, whatever the format."""
    return str(int(x)) if is_whole(x) else number(float(x))


def is_whole(x: Any) -> bool:
    """True if a scalar is of an integer type."""
    return isinstance(x, int) or (not isinstance(x, float) and x.dtype.kind != "f")


def nested_lines(x: Any, dimensions: int, number: Number, cut: bool) -> Iterator[str]:
    """The lines of an array, or of nested lists, those within a bracket one place to the right of it."""
    if dimensions == 1:
        yield from wrapped(row_texts(x, number, cut))
        return
    rows = [["…"] if k is None else nested_lines(x[k], dimensions - 1, number, cut) for k in shown(len(x), cut)]
    before = "["
    for i, row in enumerate(rows):
        for line, last in marked(row):
            after = "" if not last else "]" if i == len(rows) - 1 else ","
            yield before + line + after
            before = " "
    if not rows:
        yield "[]"


def shown(count: int, cut: bool) -> Sequence[int | None]:
    """The places along one dimension; None stands for those that are left out."""
    return [*range(EDGE), None, *range(count - EDGE, count)] if cut and count > 2 * EDGE + 1 else range(count)


def row_texts(x: Any, number: Number, cut: bool) -> list[str]:
    """The numbers of a row; doubles are written all at once."""
    places = shown(len(x), cut)
    if number is shortest and len(places) == len(x):
        row = x if isinstance(x, list) else x.tolist()
        if {*map(type, row)} == {float}:
            return str(row)[1:-1].split(", ")
    return ["…" if k is None else element(x[k], number) for k in places]


def wrapped(items: Sequence[str]) -> Iterator[str]:
    """A list of numbers over lines."""
    first, length, last = 0, 1, len(items) - 1
    for i, item in enumerate(items):
        length += len(item) + (1 if i == last else 2)
        if length > TENSOR_WIDTH and i > first:
            yield ("[" if first == 0 else " ") + ", ".join(items[first:i]) + ","
            first, length = i, 1 + len(item) + (1 if i == last else 2)
    yield ("[" if first == 0 else " ") + ", ".join(items[first:]) + "]"


def marked(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is the last."""
    held: str | None = None
    for line in lines:
        if held is not None:
            yield held, False
        held = line
    if held is not None:
        yield held, True


def is_cut(rows: Sequence[Any]) -> bool:
    """True if a terminal is shown only a part of these results."""
    return any(math.prod(shape_of(x)) > MANY_ELEMENTS for x in rows)


# ---------------------------------------------------------------- JSON and CSV

def json_tensor(x: Any, number: Number) -> object:
    """A tensor as nested lists, with strings for what JSON has no number for."""
    if not shape_of(x):
        x = x.tolist() if isinstance(x, memoryview) else x
        return int(x) if is_whole(x) else json_number(float(x), number)
    if isinstance(x, memoryview) and number is shortest and all(map(math.isfinite, unpacked(x))):
        return x.tolist()
    import numpy as np

    from adcli.output.numbers import as_spelled
    x = np.asarray(x)
    if x.dtype.kind != "f" or (number in SHORTEST and np.isfinite(x).all()):
        return as_spelled([x], number)[0].tolist()
    leaves = np.empty(x.size, object)
    leaves[:] = [json_number(e, number) for e in x.reshape(-1).tolist()]
    return leaves.reshape(x.shape).tolist()


def abridged(x: Array, written: Callable[[Array], object]) -> dict[str, object]:
    """Of a long tensor the extremes and the first elements, each as `written`."""
    import numpy as np
    smallest, largest = map(np.asarray, extremes(x))
    return {"smallest": written(smallest), "largest": written(largest), "first": written(x.reshape(-1)[:FIRST])}


def point_lists(point: Mapping[str, Any], written: Callable[[Any], object]) -> dict[str, object]:
    """A point with tensors as nested lists, each as `written`; of a long one the shape, the norm, the extremes and the first
    elements."""
    import numpy as np

    def long(x: Array) -> dict[str, object]:
        return {"shape": list(x.shape), "norm": written(np.asarray(norm(x))), **abridged(x, written)}
    return {name: long(x) if np.size(x) > MANY_ELEMENTS else written(x) for name, x in point.items()}


def norm(x: Array) -> float:
    """The Euclidean norm of all elements."""
    import numpy as np
    with np.errstate(all="ignore"):
        return float(np.linalg.norm(x.reshape(-1)))


def extremes(x: Array) -> tuple[float, float]:
    """The smallest and the largest element that is a number."""
    import numpy as np
    return float(np.fmin.reduce(x, axis=None)), float(np.fmax.reduce(x, axis=None))


def csv_matrix(layout: Layout, row: Row, number: Number, separator: str) -> Iterator[str]:
    """The one result as a matrix, a line for each row; a vector is a column."""
    form = "tsv" if separator == "\t" else "csv"
    name, x = one(layout, row, f"--format {form}")
    dimensions = len(shape_of(x))
    if dimensions > 2:
        raise AdError(f"--format {form} writes matrices, but '{name}' has {dimensions} dimensions", help="write -o FILE.npy")
    for line in [[x]] if not dimensions else x.tolist() if dimensions == 2 else [[e] for e in x.tolist()]:
        yield separator.join(map(number, line)) + "\n"


def one(layout: Layout, row: Row, what: str) -> tuple[str, Any]:
    """The only result. AdError where there are several."""
    require_one(layout, what)
    return layout.names[0], row.results[0]


def require_one(layout: Layout, what: str) -> None:
    """AdError where there are several results."""
    if len(layout.names) != 1:
        raise AdError(f"{what} holds one tensor, but the results are {', '.join(layout.names)}",
                      help="use -o FILE.npz or --format json")


def require_text_room(values: Iterable[Any]) -> None:
    elements = sum(math.prod(shape_of(x)) for x in values)
    if elements > MANY_ELEMENTS:
        require_room(f"the text of {elements:,} numbers", CHARACTERS * elements)


# ---------------------------------------------------------------- arrays

HELD, HELD_POINT = 16, 1000
"""Bytes that a number takes on its way to a file, once by itself and once among those of all points; and a point beside them."""


def write_arrays(out: BinaryIO, kind: str, layout: Layout, found: Iterable[Row], points: int, code: str = "d") -> None:
    """All results in an .npz, or the only one in an .npy; several points lie along a first dimension. Numbers that are no tensors
    are of the NumPy type `code`. AdError where memory does not hold what the first of so many `points` shows."""
    rows: list[Row] = []
    for row in found:
        if not rows:
            if kind == "npy":
                require_one(layout, "an .npy file")
            numbers = sum(math.prod(shape_of(x)) for x in row.results)
            require_room(f"a file of {numbers:,} × {points:,} numbers", (HELD * numbers + HELD_POINT) * points,
                         "take fewer points, or write --format json, which takes any number")
        rows.append(row)
    arrays = {name: together(name, [row.results[k] for row in rows], code) for k, name in enumerate(layout.names)}
    if kind == "npy":
        write_npy(out, next(iter(arrays.values())))
    else:
        write_npz(out, arrays.items())


def together(name: str, values: Sequence[Any], code: str = "d") -> Array:
    """The values of one result at all points; floats get the NumPy type `code`, tensors have theirs."""
    import numpy as np
    kind = code if isinstance(values[0], float) else None
    shapes = list(dict.fromkeys(np.shape(x) for x in values))
    if len(shapes) > 1:
        raise AdError(f"'{name}' has shape {shapes[0]} at one point and {shapes[1]} at another; an array file needs one shape",
                      help="use --format json, or one file per point")
    if len(values) == 1:
        return np.asarray(values[0], kind)
    require_room(f"'{name}' at {len(values):,} points", 8 * len(values) * math.prod(shapes[0]))
    return np.stack(values) if shapes[0] else np.array(values, kind)


def write_npy(file: Any, array: Array) -> None:
    """An array as a file. NumPy is not told which: by its number it would write around the stream, and lose what went wrong."""
    import numpy as np
    np.lib.format.write_array(SimpleNamespace(write=file.write), np.asarray(array, order="C"), allow_pickle=False)


def write_npz(file: Any, arrays: Iterable[tuple[str, Array]]) -> None:
    """An archive that NumPy's load reads, of arrays with their names; the same arrays give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays:
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                write_npy(entry, array)
