"""The entries of sparse matrices of programs with tensors as numbers: their places once for the sizes and whole numbers of a
point, and native code that makes them all, statement by statement (`adcli.lang.derive.entries`)."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adcli.lang.derive.entries import EntryProgram
from adcli.lang.evaluate.unfolding import sizes_at
from adcli.lang.sizes.binding import shapes
from adcli.lang.sparsity.number_sets import MOST_AT_ONCE
from adcli.task.matrices import output_shapes
from adcli.task.native import compiled

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.task.verbs import MatrixKind


@dataclass(frozen=True, eq=False)
class EntryPlaces:
    """Rows and columns of the entries of a matrix of this shape, row by row, of a Hessian in the lower triangle. `source` says
    how their numbers are found; where statements make them, a sparse matrix that adds them up."""

    shape: tuple[int, int]
    i: np.ndarray
    j: np.ndarray
    source: Any
    symmetric: bool = False

    @cached_property
    def both_triangles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and entry of all places of a symmetric matrix, row by row."""
        below = np.flatnonzero(self.i != self.j)
        i, j = np.concatenate([self.i, self.j[below]]), np.concatenate([self.j, self.i[below]])
        order = np.lexsort((j, i))
        return i[order], j[order], np.concatenate([np.arange(len(self.i)), below])[order]

    @cached_property
    def by_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts of rows, and column and entry of all places, in both triangles of a symmetric matrix."""
        i, j, entry = self.both_triangles if self.symmetric else (self.i, self.j, np.arange(len(self.i)))
        index = np.int32 if max(*self.shape, len(i)) <= np.iinfo(np.int32).max else np.int64
        return np.searchsorted(i, np.arange(self.shape[0] + 1)).astype(index), j.astype(index), entry


class StatementEntries:
    """The Jacobian of all outputs by the elements of the inputs `names`, or the Hessian of their sum with weights."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str], made: EntryProgram, precision: str = "double",
                 fast: bool = False) -> None:
        self.program, self.kind, self.names, self.made = program, kind, list(names), made
        self.precision, self.fast = precision, fast

    @cached_property
    def code(self) -> Any:
        return compiled(self.made.values, True, self.precision, self.fast)

    def places(self, point: Mapping[str, Any]) -> EntryPlaces | None:
        """Where entries stand at a point; None where statements have too many points."""
        sizes = sizes_at(self.program, point)
        if sum(sum(map(math.prod, shapes(p, sizes).values())) for p in (self.made.values, self.made.places)) > MOST_AT_ONCE:
            return None
        from scipy.sparse import csr_array
        columns = sum(math.prod(np.shape(point[name])) for name in self.names)
        rows = columns if self.kind == "hessian" else sum(map(math.prod, output_shapes(self.program, point).values()))
        i, j, entry = self.every_place(point)
        key, slot = np.unique(i * max(columns, 1) + j, return_inverse=True)
        order = np.argsort(slot, kind="stable")
        starts = np.searchsorted(slot[order], np.arange(len(key) + 1)).astype(np.int32)
        sums = csr_array((np.ones(len(order)), entry[order].astype(np.int32), starts),
                         shape=(len(key), int(entry.max(initial=-1)) + 1))
        return EntryPlaces((rows, columns), *np.divmod(key, max(columns, 1)), sums, self.kind == "hessian")

    def every_place(self, point: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and number of every entry, of a Hessian in the lower triangle."""
        i, j, entry = self.made.every_place(point)
        if self.kind == "hessian":
            lower = np.flatnonzero(i >= j)
            i, j, entry = i[lower], j[lower], entry[lower]
        return i, j, entry

    def numbers(self, places: EntryPlaces, point: Mapping[str, Any], weights: Sequence[Any] = ()) -> np.ndarray:
        """The numbers of the entries at a point, where outputs have these weights."""
        if not self.made.blocks:
            return np.zeros(0)
        found = self.code({**point, **dict(zip(self.made.weights, weights, strict=True))})
        every = np.concatenate([np.ravel(found[b.value]) for b in self.made.blocks])
        return np.asarray(places.source @ every[:places.source.shape[1]])
