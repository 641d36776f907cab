"""Sparse Jacobians and Hessians of programs with tensors, loops or matrices, at a point: native sweeps, one for each colour."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adcli.input.arrays import fitting
from adcli.lang.ir import Program
from adcli.solvers.functions import TensorVectorFunction
from adcli.task.element_matrices import element_matrix, hessian_entries, jacobian_entries
from adcli.task.matrices import scipy_coo
from adcli.task.verbs import MatrixKind


class ColouredMatrix:
    """The Jacobian of all outputs, or the Hessian of the one output, by the elements of the inputs `names`, in numbers of a
    precision."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str], precision: str = "double") -> None:
        self.program, self.kind, self.names, self.precision = program, kind, list(names), precision
        self.vector: TensorVectorFunction | None = None

    def at(self, point: Mapping[str, Any]) -> Any:
        """The matrix at a point, a scipy.sparse array. AdError where its pattern would take too long."""
        point = fitting(self.program, dict(point))
        found = element_matrix(self.program, point, self.kind, self.names, "sparse()")
        f = self.vector = self.vector.elsewhere(point) if self.vector else self.first(point)
        x = f.pack(point)
        if self.kind == "hessian":
            places, values = hessian_entries(found.pattern, lambda seed: f.hessp(x, np.ones(1), seed))
        else:
            places, values = jacobian_entries(found.pattern, f.n, lambda seed: f.jvp(x, seed)[1], lambda seed: f.vjp(x, seed)[1])
        return scipy_coo(found.matrix(self.kind, places), values, f.precision)

    def first(self, point: Mapping[str, Any]) -> TensorVectorFunction:
        fixed = {p.name: point[p.name] for p in self.program.params if p.name not in self.names}
        shapes = [np.shape(point[name]) for name in self.names]
        return TensorVectorFunction(self.program, self.names, fixed, shapes, self.precision)
