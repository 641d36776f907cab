"""Named inputs, numbers and tensors, as the components of one vector."""
from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from adcli.lang.ir.errors import AdError, missing

Vector = np.ndarray
UNREAD = "f2py", "testing", "ma", "polynomial", "ctypeslib"
"""Packages of NumPy that take as long to load as all of scipy.sparse, which copies every name of NumPy and uses none of these."""


def load_scipy() -> None:
    """Import scipy.sparse without these packages: for a process of our own, in which nobody else looks at NumPy meanwhile."""
    if find_spec("scipy") is None:
        return
    absent = [name for name in UNREAD if name not in vars(np)]
    for name in absent:
        setattr(np, name, None)
    try:
        import_module("scipy.sparse")
    finally:
        for name in absent:
            if vars(np)[name] is None:
                delattr(np, name)


@contextmanager
def quiet_scipy(what: str) -> Iterator[None]:
    """Silence NumPy and SciPy within. AdError where `what` needs SciPy and there is none."""
    if find_spec("scipy") is None:
        raise missing(what, "scipy")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Components:
    """The inputs `names` with their `shapes`, one after another, tensors raveled in the order of memory: n components."""

    def __init__(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        self.names, self.shapes = list(names), list(shapes)
        self.sizes = [math.prod(shape) for shape in shapes]
        self.n = sum(self.sizes)

    @cached_property
    def components(self) -> list[str]:
        """Names of the components: x, W(1, 0)."""
        from adcli.task.matrices import elements
        return [x for name, shape in zip(self.names, self.shapes, strict=True) for x in elements(name, shape)]

    def pack(self, point: Mapping[str, Any]) -> Vector:
        """The vector of a point, of which other inputs do not matter."""
        parts = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            part = np.asarray(point[name], dtype=np.float64)
            if part.shape != shape:
                raise AdError(f"'{name}' has shape {part.shape}, and {shape} in the vector")
            parts.append(part.ravel())
        return np.concatenate(parts) if parts else np.zeros(0)

    def unpack(self, x: Vector) -> dict[str, Any]:
        """The inputs of a vector: floats, and arrays where they are tensors."""
        found, at = {}, 0
        for name, shape, size in zip(self.names, self.shapes, self.sizes, strict=True):
            part = np.asarray(x[at:at + size], dtype=np.float64)
            found[name] = part.reshape(shape) if shape else float(part[0])
            at += size
        return found

    def repeated(self, values: Sequence[Any]) -> Vector:
        """One value for each input as one for each of its components."""
        return np.repeat(values, self.sizes)


def dense(matrix: Any) -> Vector:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def entries(matrix: Any) -> Vector:
    """The numbers of a matrix that are stored."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.data


def places(matrix: Any) -> tuple[Vector, Vector]:
    """Rows and columns of the entries of a matrix, dense or in compressed rows, in their order."""
    if isinstance(matrix, np.ndarray):
        i, j = np.indices(matrix.shape).reshape(2, -1)
        return i, j
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def scaled(matrix: Any, columns: Vector, rows: Vector | None = None) -> Any:
    """A dense or sparse matrix with its columns, and rows, multiplied by numbers; a sparse one keeps its entries."""
    if isinstance(matrix, np.ndarray):
        return matrix * columns if rows is None else matrix * rows[:, None] * columns
    made = copy(matrix)
    made.data = (matrix.data if rows is None else matrix.data * np.repeat(rows, np.diff(matrix.indptr))) * columns[matrix.indices]
    return made
