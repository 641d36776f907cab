"""Sparse Jacobians and Hessians of programs with tensors, loops or matrices, at a point: native sweeps, one for each colour."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.input.arrays import fitting
from adcli.lang.derive.element_sparsity import computes_subscripts
from adcli.lang.ir import Program
from adcli.lang.ir.precision import PRECISIONS
from adcli.solvers.functions import TensorVectorFunction
from adcli.task.matrices import ColouredReading, element_matrix, read_by_colours, sparse_array
from adcli.task.verbs import MatrixKind


class EntryPlaces(NamedTuple):
    """The shape of a matrix, how its entries are read, and row, column and number of the entry of all that are not zero."""

    shape: tuple[int, int]
    reading: ColouredReading
    i: np.ndarray
    j: np.ndarray
    entry: np.ndarray


class ColouredMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `names`, in numbers of a
    precision, `fast` as --fast-math says."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str], precision: str = "double",
                 fast: bool = False) -> None:
        self.program, self.kind, self.names, self.precision, self.fast = program, kind, list(names), precision, fast
        self.vector: TensorVectorFunction | None = None
        self.known: dict[object, EntryPlaces] = {}
        self.keeps = not computes_subscripts(program)

    def at(self, point: Mapping[str, Any]) -> Any:
        """The matrix at a point, a scipy.sparse array. AdError where its pattern is too large."""
        point = fitting(self.program, dict(point))
        shape, reading, i, j, entry = self.places(point)
        f = self.vector = self.vector.elsewhere(point) if self.vector else self.first(point)
        x, ones = f.pack(point), np.ones(1)
        if self.kind == "hessian":
            numbers = reading.numbers(lambda seed: f.hessp(x, ones, seed))
        else:
            numbers = reading.numbers(lambda seed: (f.vjp if reading.reverse else f.jvp)(x, seed)[1])
        return sparse_array(numbers.astype(PRECISIONS[self.precision].code)[entry], i.copy(), j.copy(), shape)

    def places(self, point: Mapping[str, Any]) -> EntryPlaces:
        """Where the entries stand at a point, row by row, and how they are read: the same for the same shapes and integers,
        unless subscripts are computed."""
        key = tuple([(np.shape(x), np.asarray(x).tobytes() if p.var.integer else None)
                     for p in self.program.params for x in (point[p.name],)])
        found = self.known.get(key) if self.keeps else None
        if found is None:
            matrix = element_matrix(self.program, point, self.kind, self.names)
            reading = read_by_colours(matrix)
            where = reading.both_triangles() if self.kind == "hessian" else (reading.i, reading.j, np.arange(len(reading.i)))
            found = EntryPlaces((len(matrix.rows), len(matrix.columns)), reading, *where)
            self.known = {key: found}
        return found

    def first(self, point: Mapping[str, Any]) -> TensorVectorFunction:
        fixed = {p.name: point[p.name] for p in self.program.params if p.name not in self.names}
        shapes = [np.shape(point[name]) for name in self.names]
        return TensorVectorFunction(self.program, self.names, fixed, shapes, self.precision, self.fast)
