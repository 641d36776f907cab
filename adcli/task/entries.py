"""The entries of sparse matrices of programs with tensors as numbers: their places once for the sizes and whole numbers of a
point, and native code that makes them all, statement by statement (`adcli.lang.derive.entries`)."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.codegen.machine.cache import Store, location, to_stderr
from adcli.lang.derive.derivatives import one_output
from adcli.lang.derive.entries import EntryProgram, hessian_entries, jacobian_entries
from adcli.lang.derive.linear_statements import NoStatements
from adcli.lang.evaluate.recording import length_of_sizes, sizes_at
from adcli.lang.ir import Param, Values, Var
from adcli.lang.sizes.binding import shapes
from adcli.lang.sparsity.element_sparsity import TooManyEdges
from adcli.task.matrices import ElementMatrix, matrix_by_edges, output_shapes, rows_and_columns
from adcli.task.native import compiled
from adcli.task.replays import KeptCode, point_name, words_of

if TYPE_CHECKING:
    from adcli.lang.ir import Program
    from adcli.task.verbs import MatrixKind

MOST_FULL = 1 << 20
"""Entries of a matrix that counts as full where it takes too long to find out which there are."""
MOST_ELEMENTS = 1 << 25
"""Of all values on the way to entries; beyond, memory could end."""
LONG = 16
"""Sweeps as long as all entries from which on it is asked how many sweeps would do."""
SHORT = 1 << 20
"""Operations that entries may take, however many those of a sweep are: a millisecond."""


@dataclass(frozen=True, eq=False)
class EntryPlaces:
    """Rows and columns of the entries of a matrix of this shape, row by row, of a Hessian in the lower triangle. `source` says
    how their numbers are found: from so many `sweeps`; where statements make them, a sparse matrix that adds up their elements
    and, behind these, the products of the elements `left` and `right`, with factors that are there before up to each of the
    `ends`."""

    shape: tuple[int, int]
    i: np.ndarray
    j: np.ndarray
    source: Any
    symmetric: bool = False
    left: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    right: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    ends: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    sweeps: int = 0

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
    """The Jacobian of all outputs by the elements of the inputs `names`, or the Hessian of their sum with weights. Nothing is
    derived where the cache has places and code for the shapes and whole numbers of the first point."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str], precision: str = "double",
                 fast: bool = False) -> None:
        self.program, self.kind, self.names = program, kind, list(names)
        self.precision, self.fast = precision, fast
        self.head: EntryHead | None = None

    @cached_property
    def made(self) -> EntryProgram | None:
        return entry_program(self.program, self.kind, self.names)

    @cached_property
    def words(self) -> list[str]:
        return ["entries", self.kind, *self.names, str(self.fast), *words_of(self.program)]

    @cached_property
    def code(self) -> KeptCode:
        assert self.head is not None

        def made() -> Any:
            assert self.made is not None
            return compiled(self.made.values, True, self.precision, self.fast)

        weights = [Param(Var(name), name) for name in self.head.weights]
        return KeptCode(self.words, [*self.program.params, *weights], self.precision, made)

    def places(self, point: Values, by_sweeps: Callable[[], EntryPlaces]) -> EntryPlaces:
        """Where entries stand at a point, and whether statements or sweeps make them: these where statements do not, have too
        many points, or are more operations."""
        store, name = Store(location(), to_stderr), ""
        if self.head is None:
            name = point_name(["entry places", *self.words], self.program.params, point, integers=True)
            if (data := store.get(name) if name else None) is not None:
                self.head, known = unpacked(data, self.kind)
                return known
        found = by_sweeps() if self.made is None else self.cheaper(self.made, point, by_sweeps)
        if self.made is None or isinstance(found.source, tuple):
            return found
        self.head = EntryHead(tuple([b.value for b in self.made.blocks]), self.made.weights)
        if name:
            store.put(name, packed(self.head, found))
        return found

    def cheaper(self, made: EntryProgram, point: Values, by_sweeps: Callable[[], EntryPlaces]) -> EntryPlaces:
        """The places of whichever are fewer operations. Through layers of windows statements have an entry for each path from an
        input to an output, where a sweep goes through each layer once."""
        sizes = sizes_at(self.program, point)
        if too_many(made, sizes):
            return by_sweeps()
        mine, swept = operations(made, sizes)
        if are_many(mine, swept):
            with suppress(TooManyEdges):
                other = by_sweeps()
                if other.sweeps * swept < mine:
                    return other
        return self.new_places(made, point) or by_sweeps()

    def new_places(self, made: EntryProgram, point: Values) -> EntryPlaces | None:
        """The places that statements say; None where there are too many products."""
        columns = sum(math.prod(np.shape(point[name])) for name in self.names)
        rows = columns if self.kind == "hessian" else sum(map(math.prod, output_shapes(self.program, point).values()))
        try:
            i, j, entry, left, right, ends = made.every_place(point)
        except NoStatements:
            return None
        if self.kind == "hessian":
            lower = np.flatnonzero(i >= j)
            i, j, entry = i[lower], j[lower], entry[lower]
        key, slot = np.unique(i * max(columns, 1) + j, return_inverse=True)
        order = np.argsort(slot, kind="stable")
        starts = np.searchsorted(slot[order], np.arange(len(key) + 1)).astype(np.int32)
        return EntryPlaces((rows, columns), *np.divmod(key, max(columns, 1)), sums(starts, entry[order].astype(np.int32)),
                           self.kind == "hessian", left.astype(np.int32), right.astype(np.int32), ends.astype(np.int32))

    def numbers(self, places: EntryPlaces, point: Values, weights: Sequence[Any] = ()) -> np.ndarray:
        """The numbers of the entries at a point, where outputs have these weights."""
        assert self.head is not None
        if not self.head.blocks:
            return np.zeros(0)
        found = self.code({**point, **dict(zip(self.head.weights, weights, strict=True))})
        every = np.concatenate([np.ravel(found[name]) for name in self.head.blocks])
        for start, end in pairwise([0, *places.ends.tolist()]):
            every = np.concatenate([every, every[places.left[start:end]] * every[places.right[start:end]]])
        return np.asarray(places.source @ every[:places.source.shape[1]])


def entry_program(program: Program, kind: MatrixKind, names: Sequence[str]) -> EntryProgram | None:
    """The programs of entries; None where statements do not make them."""
    try:
        return (jacobian_entries if kind == "jacobian" else hessian_entries)(program, names, staged=True)
    except NoStatements:
        return None


def too_many(made: EntryProgram, sizes: Mapping[str, int]) -> bool:
    """True where statements have more points than memory may hold."""
    return sum(sum(map(math.prod, shapes(p, sizes).values())) for p in (made.values, made.places)) > MOST_ELEMENTS


def operations(made: EntryProgram, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Of all entries, and of one sweep."""
    return length_of_sizes(made.values, sizes), length_of_sizes(made.swept, sizes)


def are_many(entries: int, swept: int) -> bool:
    """True if the operations of entries are so many, beside those of a sweep, that sweeps may be fewer."""
    return entries > max(LONG * swept, SHORT)


def element_matrix(program: Program, at: Values, kind: MatrixKind, wrt: Sequence[str]) -> ElementMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `wrt` at a point, which has
    every input: the places of its entries where statements make these, else what edges between elements say."""
    if kind == "hessian":
        one_output(program, None)
    try:
        made = (jacobian_entries if kind == "jacobian" else hessian_entries)(program, wrt, staged=True)
        if too_many(made, sizes := sizes_at(program, at)):
            return by_edges_or_full(program, at, kind, wrt, "statements have many points")
        mine, swept = operations(made, sizes)
        if are_many(mine, swept):
            with suppress(TooManyEdges):
                return matrix_by_edges(program, at, kind, wrt)._replace(
                    pattern_from=f"element by element: statements would be {mine:,} operations, a sweep is {swept:,}")
        i, j, _, left, *_ = made.every_place(at)
    except NoStatements as error:
        return by_edges_or_full(program, at, kind, wrt, error.reason)
    if kind == "hessian":
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
    rows, columns = rows_and_columns(program, at, kind, wrt)
    row, column = np.divmod(np.unique(i * max(len(columns), 1) + j), max(len(columns), 1))
    ends, listed = np.searchsorted(row, np.arange(len(rows) + 1)).tolist(), column.tolist()
    found = ElementMatrix(kind, rows, columns, tuple([tuple(listed[a:b]) for a, b in pairwise(ends)]))
    products = f", with {len(left):,} products" if len(left) else ""
    return found._replace(pattern_from=f"{found.pattern_from}, {mine:,} operations{products}; a sweep is {swept:,}")


def by_edges_or_full(program: Program, at: Values, kind: MatrixKind, wrt: Sequence[str], reason: str) -> ElementMatrix:
    """The matrix of `element_matrix` without statements, for a reason: as edges between elements say, or where these are too
    many a small one with all entries."""
    try:
        return matrix_by_edges(program, at, kind, wrt)._replace(pattern_from=f"element by element: {reason}")
    except TooManyEdges:
        rows, columns = rows_and_columns(program, at, kind, wrt)
        if len(rows) * len(columns) > MOST_FULL:
            raise
        full = (tuple(range(len(columns))),) * len(rows)
        return ElementMatrix(kind, rows, columns, full, "all entries: elements are read too often")


class EntryHead(NamedTuple):
    """The results of the program of values that have entries, in order, and its inputs that are weights."""

    blocks: tuple[str, ...]
    weights: tuple[str, ...]


def sums(starts: np.ndarray, entry: np.ndarray) -> Any:
    """The sparse matrix that adds up the entries of each place, which lie behind one another."""
    from scipy.sparse import csr_array
    return csr_array((np.ones(len(entry)), entry, starts), shape=(len(starts) - 1, int(entry.max(initial=-1)) + 1))


def packed(head: EntryHead, places: EntryPlaces) -> bytes:
    """Places as an entry of the cache: a line of JSON, then the arrays."""
    arrays = places.i, places.j, places.source.indptr, places.source.indices, places.left, places.right, places.ends
    line = json.dumps([*head, places.shape, [(a.dtype.str, len(a)) for a in arrays]])
    return b"\n".join([line.encode(), b"".join([a.tobytes() for a in arrays])])


def unpacked(data: bytes, kind: MatrixKind) -> tuple[EntryHead, EntryPlaces]:
    line, _, rest = data.partition(b"\n")
    blocks, weights, shape, kinds = json.loads(line)
    arrays, at = [], 0
    for code, count in kinds:
        arrays.append(np.frombuffer(rest, code, count, at))
        at += arrays[-1].nbytes
    i, j, starts, entry, left, right, ends = arrays
    return (EntryHead(tuple(blocks), tuple(weights)),
            EntryPlaces((shape[0], shape[1]), i, j, sums(starts, entry), kind == "hessian", left, right, ends))
