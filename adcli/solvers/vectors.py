"""Named inputs, numbers and tensors, as the components of one vector."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adcli.lang.ir.errors import AdError

Vector = np.ndarray


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
