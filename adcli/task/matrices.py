"""Sparse matrices: their entries among the derivatives of scalars and of elements of tensors, and how they are written.

Only entries that are not zero by construction are written; one that is 0 at the point is. The Matrix Market exchange format
is that of Boisvert, Pozo & Remington (NISTIR 5935, 1996), which knows no NaN and no infinity: these are written as `nan` and
`inf`, which SciPy and the C library read. For tensors a pattern is found element by element (`lang.sparsity.element_sparsity`).
Inputs whose columns do not meet share a sweep, so time and memory go with the entries of a sparse matrix, not with its size.
"""
from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from adcli.input.nested import element
from adcli.lang.derive.derivatives import one_output
from adcli.lang.ir import Program, Values, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import paused
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.sparsity.colouring import column_colours, row_colours, star_colours, star_reads
from adcli.lang.sparsity.sparsity import Pattern
from adcli.output.numbers import Number, shortest
from adcli.output.report import csv_text
from adcli.output.version import __version__
from adcli.task.request import Column
from adcli.task.verbs import MatrixKind

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import coo_array

MatrixPoint = tuple[Mapping[str, float], Sequence[float]]
"""The inputs, and a value for each entry of a matrix there."""

COMMENT_WIDTH = 100
"""Characters in a line of a comment; the format allows 1024."""


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix without its numbers: entry k stands in row `i[k]` and column `j[k]`, both counted from 0.

    `name` says what it is ("jacobian", "hessian of v"). Of a `symmetric` one each pair of equal entries is there once, in
    either triangle.
    """

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    i: tuple[int, ...]
    j: tuple[int, ...]
    symmetric: bool = False

    def places(self) -> list[tuple[int, int, int]]:
        """Row, column and number of every entry, row by row, both triangles of a symmetric matrix."""
        found = [(i, j, k) for k, (i, j) in enumerate(zip(self.i, self.j, strict=True))]
        if self.symmetric:
            found += [(j, i, k) for i, j, k in found if i != j]
        return sorted(found)


def matrix_among(results: Sequence[Column], wrt: Sequence[str], kind: MatrixKind) -> tuple[Matrix, list[int]]:
    """The matrix that the results of a program hold, and which of the results are its entries."""
    order = 2 if kind == "hessian" else 1
    values = [r.name for r in results if not r.wrt]
    rows = list(wrt) if order == 2 else values
    row_number, column_number = ({name: k for k, name in enumerate(names)} for names in (rows, wrt))
    places = [k for k, r in enumerate(results) if len(r.wrt) == order]
    i = tuple(row_number[r.wrt[0] if order == 2 else r.of or ""] for r in (results[k] for k in places))
    j = tuple(column_number[results[k].wrt[-1]] for k in places)
    name = f"hessian of {values[0]}" if order == 2 else "jacobian"
    return Matrix(name, tuple(rows), tuple(wrt), i, j, order == 2), places


def coo(matrix: Matrix, points: Iterable[MatrixPoint], number: Number = shortest, several: bool = False) -> Iterator[str]:
    """The entries as CSV, a piece for the header and one for each point: row and column number from 0, their names, and the
    value. Where there may be `several` points, the number of the point comes first."""
    places = [(i, j, matrix.rows[i], matrix.columns[j], k) for i, j, k in matrix.places()]
    yield csv_text(["point"] * several + ["i", "j", "row", "column", "value"])
    for p, (_, values) in enumerate(points):
        _check(matrix, values)
        written = [number(x) for x in values]
        first = [p] if several else []
        yield csv_text(*[[*first, i, j, row, column, written[k]] for i, j, row, column, k in places])


def matrix_market(matrix: Matrix, points: Iterable[MatrixPoint], number: Number = shortest) -> Iterator[str]:
    """The one point as a Matrix Market file, with comments that name the rows, the columns and the point.

    Of a symmetric matrix the lower triangle. AdError for a second point: a file holds one matrix.
    """
    written = [_market(matrix, at, values, number) for at, values in _one(points)]
    yield from written


def _one(points: Iterable[MatrixPoint]) -> Iterator[MatrixPoint]:
    """The points, of which there may be one."""
    for p, point in enumerate(points):
        if p:
            raise AdError("a Matrix Market file holds one matrix, but --at gives several points",
                          help="give one point, or --format coo, which numbers them")
        yield point


def _market(matrix: Matrix, at: Mapping[str, float], values: Sequence[float], number: Number) -> str:
    _check(matrix, values)
    i, j = (matrix.i, matrix.j) if not matrix.symmetric else _lower(matrix)
    order = sorted(range(len(values)), key=lambda k: (j[k], i[k]))
    shape = f"{len(matrix.rows)} {len(matrix.columns)}"
    kind = "symmetric" if matrix.symmetric else "general"
    lines = [f"%%MatrixMarket matrix coordinate real {kind}",
             *_comment(f"adcli {__version__}: {matrix.name}"),
             *_comment("rows: " + " ".join(matrix.rows)),
             *_comment("columns: " + " ".join(matrix.columns)),
             *_comment("at " + ", ".join(f"{name} = {number(x)}" for name, x in at.items()) if at else ""),
             f"{shape} {len(values)}",
             *[f"{i[k] + 1} {j[k] + 1} {number(values[k])}" for k in order]]
    return "\n".join(lines) + "\n"


def _lower(matrix: Matrix) -> tuple[list[int], list[int]]:
    """Rows and columns of the entries in the lower triangle."""
    pairs = list(zip(matrix.i, matrix.j, strict=True))
    return [max(pair) for pair in pairs], [min(pair) for pair in pairs]


def _comment(text: str) -> list[str]:
    """The text as lines that begin with %, none if it is empty; names stay whole."""
    return textwrap.wrap(text, COMMENT_WIDTH, initial_indent="% ", subsequent_indent="%   ", break_long_words=False,
                         break_on_hyphens=False)


def scipy_coo(matrix: Matrix, values: Sequence[float], precision: str = "double") -> coo_array:
    """The matrix at a point as a scipy.sparse.coo_array of float64, or float32 where its numbers are of single precision; both
    triangles of a symmetric one. AdError without SciPy."""
    import numpy as np
    _check(matrix, values)
    places = np.array(matrix.places(), dtype=np.int64).reshape(-1, 3)
    numbers = np.asarray(values, dtype=PRECISIONS[precision].code)[places[:, 2]]
    return sparse_array(numbers, places[:, 0], places[:, 1], (len(matrix.rows), len(matrix.columns)))


def sparse_array(numbers: np.ndarray, i: np.ndarray, j: np.ndarray, shape: tuple[int, int]) -> coo_array:
    """A scipy.sparse.coo_array with these numbers in rows i and columns j. AdError without SciPy."""
    try:
        from scipy.sparse import coo_array
    except ModuleNotFoundError:
        from adcli.lang.ir.errors import missing
        raise missing("a sparse array", "scipy") from None
    return coo_array((numbers, (i, j)), shape=shape)


def _check(matrix: Matrix, values: Sequence[float]) -> None:
    assert len(values) == len(matrix.i), f"{len(values)} values for {len(matrix.i)} entries"


Product = Callable[["np.ndarray"], "np.ndarray"]
"""A matrix times a vector."""


class ElementMatrix(NamedTuple):
    """The elements that are the rows and the columns of a matrix, and its pattern, with how it was found."""

    kind: MatrixKind
    rows: list[str]
    columns: list[str]
    pattern: Pattern
    pattern_from: str = "statement by statement"

    def places(self) -> list[tuple[int, int]]:
        """The entries in the order of rows; of a Hessian those on and above the diagonal."""
        return [(i, j) for i, row in enumerate(self.pattern) for j in row if self.kind == "jacobian" or i <= j]

    def matrix(self, name: str, places: Sequence[tuple[int, int]]) -> Matrix:
        """The matrix with entries at these places, without their numbers."""
        return Matrix(name, tuple(self.rows), tuple(self.columns), tuple([i for i, _ in places]), tuple([j for _, j in places]),
                      self.kind == "hessian")


@paused()
def matrix_by_edges(program: Program, at: Values, kind: MatrixKind, wrt: Sequence[str]) -> ElementMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `wrt` at a point, which has
    every input. TooManyEdges where these are, AdError where a Hessian is of no one number."""
    from adcli.lang.sparsity.element_sparsity import hessian_elements, jacobian_elements
    if kind == "hessian":
        one_output(program, None)
    found = (hessian_elements if kind == "hessian" else jacobian_elements)(program, at, wrt)
    return ElementMatrix(kind, *rows_and_columns(program, at, kind, wrt), found)


def rows_and_columns(program: Program, at: Values, kind: MatrixKind,
                     wrt: Sequence[str]) -> tuple[list[str], list[str]]:
    """The elements that are the rows and the columns of a matrix."""
    import numpy as np
    columns = [x for name in wrt for x in elements(name, np.shape(at[name]))]
    return columns if kind == "hessian" else [x for name, shape in output_shapes(program, at).items()
                                              for x in elements(name, shape)], columns


def elements(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the elements of a value: x(0, 2); of a scalar its own."""
    return [element(name, i, tuple(shape)) for i in range(math.prod(shape))]


def output_shapes(program: Program, at: Values) -> dict[str, tuple[int, ...]]:
    """The shape of every output at a point."""
    from adcli.lang.evaluate.recording import sizes_at
    from adcli.lang.sizes.binding import shapes
    found = shapes(program, sizes_at(program, at))
    return {r.name: found[r.atom] if isinstance(r.atom, Var) else () for r in program.results}


def dense(blocks: Mapping[tuple[str, str], np.ndarray], of: Values, wrt: Values) -> np.ndarray:
    """Derivatives of tensors by tensors as one matrix, with a row for each element and zeros where there is no block."""
    import numpy as np
    if not wrt:
        return np.zeros((sum(map(np.size, of.values())), 0))
    return np.concatenate([np.concatenate([blocks[v, x].reshape(np.size(y), np.size(a)) if (v, x) in blocks else
                                           np.zeros((np.size(y), np.size(a))) for x, a in wrt.items()], axis=1)
                           for v, y in of.items()])


# ---------------------------------------------------------------- numbers

class ColouredReading(NamedTuple):
    """How the entries of a matrix are read from sweeps, one for each colour, that start from the sum of the unit vectors of this
    colour: entry k, in row i[k] and column j[k], is element position[k] of what the sweep sweep[k] gives. Sweeps are in reverse
    mode, of rows, or forward, of columns."""

    i: np.ndarray
    j: np.ndarray
    colours: np.ndarray
    sweep: np.ndarray
    position: np.ndarray
    reverse: bool = False

    def numbers(self, product: Product) -> np.ndarray:
        """The numbers of the entries."""
        import numpy as np
        values, order = np.empty(len(self.sweep)), np.argsort(self.sweep, kind="stable")
        ends = np.searchsorted(self.sweep[order], np.arange(self.colours.max(initial=-1) + 2))
        for colour, (first, last) in enumerate(pairwise(ends.tolist())):
            if first < last:
                some = order[first:last]
                values[some] = product((self.colours == colour).astype(np.float64))[self.position[some]]
        return values


@paused()
def read_by_colours(found: ElementMatrix, mode: str = "auto") -> ColouredReading:
    """How the entries of a matrix are read: of a Hessian from its products with the vectors of a star colouring; of a Jacobian
    from its own, or those of its transpose, unless a mode is asked for, whichever are fewer."""
    if found.kind == "hessian":
        colours = star_colours(found.pattern)
        reads = star_reads(found.pattern, colours)
        return reading(list(reads), colours, [c for _, c in reads.values()], [i for i, _ in reads.values()])
    places = found.places()
    across, along = column_colours(found.pattern, len(found.columns)), row_colours(found.pattern, len(found.columns))
    if mode == "forward" or (mode == "auto" and max(across, default=-1) < max(along, default=-1)):
        return reading(places, across, [across[j] for _, j in places], [i for i, _ in places])
    return reading(places, along, [along[i] for i, _ in places], [j for _, j in places], reverse=True)


def reading(places: Sequence[tuple[int, int]], colours: Sequence[int], sweep: Sequence[int], position: Sequence[int],
            reverse: bool = False) -> ColouredReading:
    import numpy as np
    i, j = np.array(places, np.int64).reshape(-1, 2).T
    return ColouredReading(i, j, np.array(colours, np.int64), np.array(sweep, np.int64), np.array(position, np.int64), reverse)
