"""Sparse Jacobians and Hessians of programs with tensors, loops or matrices, at a point.

What can be other than zero is known from the program written out as one of numbers (`adcli.lang.evaluate.unfolding`). The
numbers are those of native sweeps, one for each colour, so time and memory go with the entries and not with the whole matrix.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adcli.input.arrays import fitting
from adcli.lang.derive.colouring import column_colours, row_colours, star_colours, star_reads
from adcli.lang.derive.sparsity import Pattern, hessian_pattern, jacobian_pattern
from adcli.lang.evaluate.unfolding import Unfolded
from adcli.lang.ir import Program
from adcli.lang.ir.names import tensor_of
from adcli.solvers.functions import TensorVectorFunction, Vector
from adcli.task.matrices import Matrix, scipy_coo
from adcli.task.shapes import written_out
from adcli.task.verbs import MatrixKind


class ColouredMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `names`."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str]) -> None:
        self.program, self.kind, self.names = program, kind, list(names)
        self.vector: TensorVectorFunction | None = None

    def at(self, point: Mapping[str, Any]) -> Any:
        """The matrix at a point, a scipy.sparse array. AdError where the program written out would be too long."""
        point = fitting(self.program, dict(point))
        whole = written_out(self.program, point, "sparse()")
        self.vector = self.vector.elsewhere(point) if self.vector else self.first(point)
        x, rows = self.vector.pack(point), [r.name for r in whole.program.results]
        if self.kind == "hessian":
            return hessian(self.vector, x, hessian_pattern(whole.program, elements(whole, self.names), rows[0]))
        return jacobian(self.vector, x, rows, jacobian_pattern(whole.program, elements(whole, self.names), rows))

    def first(self, point: Mapping[str, Any]) -> TensorVectorFunction:
        fixed = {p.name: point[p.name] for p in self.program.params if p.name not in self.names}
        return TensorVectorFunction(self.program, self.names, fixed, [np.shape(point[name]) for name in self.names])


def elements(whole: Unfolded, names: Sequence[str]) -> list[str]:
    """The elements of the inputs, one input after another."""
    of = {name: [p.name for p in whole.program.params if tensor_of(p.name) == name] for name in names}
    return [x for name in names for x in of[name]]


def jacobian(f: TensorVectorFunction, x: Vector, rows: Sequence[str], pattern: Pattern) -> Any:
    """The Jacobian by sweeps forward or in reverse, whichever are fewer."""
    forward, reverse = column_colours(pattern, f.n), row_colours(pattern, f.n)
    places = [(i, j) for i, row in enumerate(pattern) for j in row]
    if max(forward, default=-1) < max(reverse, default=-1):
        swept = [f.jvp(x, seed)[1] for seed in seeds(forward)]
        values = [swept[forward[j]][i] for i, j in places]
    else:
        swept = [f.vjp(x, seed)[1] for seed in seeds(reverse)]
        values = [swept[reverse[i]][j] for i, j in places]
    return scipy_coo(matrix("jacobian", rows, f, places), values)


def hessian(f: TensorVectorFunction, x: Vector, pattern: Pattern) -> Any:
    """The Hessian by its products with the sum of the unit vectors of each colour."""
    colours = star_colours(pattern)
    products = [f.hessp(x, np.ones(1), seed) for seed in seeds(colours)] if any(pattern) else []
    reads = star_reads(pattern, colours)
    values = [products[colour][i] for i, colour in reads.values()]
    return scipy_coo(matrix("hessian", f.components, f, list(reads)), values)


def matrix(name: str, rows: Sequence[str], f: TensorVectorFunction, places: Sequence[tuple[int, int]]) -> Matrix:
    return Matrix(name, tuple(rows), tuple(f.components), tuple(i for i, _ in places), tuple(j for _, j in places),
                  name == "hessian")


def seeds(colours: Sequence[int]) -> Vector:
    """A row for each colour, 1 where it is."""
    return np.eye(max(colours, default=-1) + 1)[list(colours)].T
