"""Matrices of the derivatives of tensors by elements: which entries can be other than zero, and their numbers by few sweeps.

A pattern is read off the comprehensions (`adcli.lang.derive.element_sparsity`); where that has none, the program is written out
as one of numbers at the point. Inputs whose columns do not meet share a sweep, so time and memory go with the entries of a
sparse matrix and not with its size.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.input.nested import element
from adcli.lang.derive.colouring import column_colours, row_colours, star_colours, star_reads
from adcli.lang.derive.sparsity import Pattern, hessian_pattern, jacobian_pattern
from adcli.lang.ir import Program, shape_of
from adcli.lang.ir.gc import paused
from adcli.lang.passes.simplify import simplify
from adcli.task.matrices import Matrix
from adcli.task.shapes import written_out
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
def element_matrix(program: Program, at: Mapping[str, Any], kind: MatrixKind, wrt: Sequence[str], what: str) -> ElementMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `wrt` at a point, which has
    every input. AdError in the name of `what` where the pattern would take too long."""
    import numpy as np

    from adcli.lang.derive.element_sparsity import hessian_elements, jacobian_elements
    columns = [x for name in wrt for x in elements(name, np.shape(at[name]))]
    rows = columns if kind == "hessian" else [x for name, shape in output_shapes(program, at).items()
                                              for x in elements(name, shape)]
    found = (hessian_elements if kind == "hessian" else jacobian_elements)(program, at, wrt)
    if found is None:
        whole = simplify(written_out(program, at, what).program)
        outputs = [r.name for r in whole.results]
        found = hessian_pattern(whole, columns, outputs[0]) if kind == "hessian" else jacobian_pattern(whole, columns, outputs)
    return ElementMatrix(kind, rows, columns, found)


def elements(name: str, shape: Sequence[int]) -> list[str]:
    """What the elements of a value are called, as people write them: x(0, 2); a number as it is."""
    return [element(name, i, tuple(shape)) for i in range(math.prod(shape))]


def output_shapes(program: Program, at: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of every output at a point."""
    from adcli.lang.evaluate import FLOAT
    from adcli.lang.evaluate.comprehensions import as_value, bound
    from adcli.lang.ir.sizes import number
    sizes = bound(program, {p.var: as_value(p, at[p.name], FLOAT) if p.var.shape else at[p.name] for p in program.params})
    return {r.name: tuple([number(x, sizes) for x in shape_of(r.atom)]) for r in program.results}


# ---------------------------------------------------------------- numbers

@paused()
def hessian_entries(pattern: Pattern, product: Product) -> tuple[list[tuple[int, int]], list[float]]:
    """Places and numbers of the entries of a Hessian, from its products with the sum of the unit vectors of each colour."""
    colours = star_colours(pattern)
    products = [product(seed) for seed in seeds(colours)] if any(pattern) else []
    reads = star_reads(pattern, colours)
    return list(reads), [float(products[colour][i]) for i, colour in reads.values()]


@paused()
def jacobian_entries(pattern: Pattern, columns: int, forward: Product, reverse: Product, mode: str = "auto"
                     ) -> tuple[list[tuple[int, int]], list[float]]:
    """The same of a Jacobian: by its products `forward`, or those of its transpose, `reverse`; unless a mode is asked for,
    whichever are fewer."""
    places = [(i, j) for i, row in enumerate(pattern) for j in row]
    across, along = column_colours(pattern, columns), row_colours(pattern, columns)
    if mode == "forward" or (mode == "auto" and max(across, default=-1) < max(along, default=-1)):
        products = [forward(seed) for seed in seeds(across)]
        return places, [float(products[across[j]][i]) for i, j in places]
    products = [reverse(seed) for seed in seeds(along)]
    return places, [float(products[along[i]][j]) for i, j in places]


def seeds(colours: Sequence[int]) -> Iterator[np.ndarray]:
    """For each colour a vector that is 1 where it is, else 0."""
    import numpy as np
    of = np.array(colours, np.int64)
    for colour in range(max(colours, default=-1) + 1):
        yield (of == colour).astype(np.float64)
