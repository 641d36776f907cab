"""Matrices of the derivatives of tensors by elements: which entries can be other than zero, and their numbers by few sweeps.

A pattern is read off the statements (`adcli.lang.derive.element_sparsity`). Inputs whose columns do not meet share a sweep, so
time and memory go with the entries of a sparse matrix and not with its size.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.input.nested import element
from adcli.lang.derive.colouring import column_colours, row_colours, star_colours, star_reads
from adcli.lang.derive.derivatives import one_output
from adcli.lang.derive.sparsity import Pattern
from adcli.lang.ir import Program, Var
from adcli.lang.ir.gc import paused
from adcli.task.matrices import Matrix
from adcli.task.verbs import MatrixKind

if TYPE_CHECKING:
    import numpy as np

Product = Callable[["np.ndarray"], "np.ndarray"]
"""A matrix times a vector."""


class ElementMatrix(NamedTuple):
    """The elements that are the rows and the columns of a matrix, and its pattern."""

    kind: MatrixKind
    rows: list[str]
    columns: list[str]
    pattern: Pattern

    def places(self) -> list[tuple[int, int]]:
        """The entries in the order of rows; of a Hessian those on and above the diagonal."""
        return [(i, j) for i, row in enumerate(self.pattern) for j in row if self.kind == "jacobian" or i <= j]

    def matrix(self, name: str, places: Sequence[tuple[int, int]]) -> Matrix:
        """The matrix with entries at these places, without their numbers."""
        return Matrix(name, tuple(self.rows), tuple(self.columns), tuple([i for i, _ in places]), tuple([j for _, j in places]),
                      self.kind == "hessian")


@paused()
def element_matrix(program: Program, at: Mapping[str, Any], kind: MatrixKind, wrt: Sequence[str]) -> ElementMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `wrt` at a point, which has
    every input. AdError where the pattern is too large, and where a Hessian is of no one number."""
    import numpy as np

    from adcli.lang.derive.element_sparsity import hessian_elements, jacobian_elements
    if kind == "hessian":
        one_output(program, None)
    columns = [x for name in wrt for x in elements(name, np.shape(at[name]))]
    rows = columns if kind == "hessian" else [x for name, shape in output_shapes(program, at).items()
                                              for x in elements(name, shape)]
    return ElementMatrix(kind, rows, columns, (hessian_elements if kind == "hessian" else jacobian_elements)(program, at, wrt))


def elements(name: str, shape: Sequence[int]) -> list[str]:
    """What the elements of a value are called, as people write them: x(0, 2); a number as it is."""
    return [element(name, i, tuple(shape)) for i in range(math.prod(shape))]


def output_shapes(program: Program, at: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of every output at a point."""
    from adcli.lang.evaluate.unfolding import sizes_at
    from adcli.lang.sizes.binding import shapes
    found = shapes(program, sizes_at(program, at))
    return {r.name: found[r.atom] if isinstance(r.atom, Var) else () for r in program.results}


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

    def both_triangles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and entry of all places of a symmetric matrix, of which there are the entries on and above the diagonal."""
        import numpy as np
        above = np.flatnonzero(self.i != self.j)
        i, j = np.concatenate([self.i, self.j[above]]), np.concatenate([self.j, self.i[above]])
        entry = np.concatenate([np.arange(len(self.i)), above])
        order = np.lexsort((j, i))
        return i[order], j[order], entry[order]


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
