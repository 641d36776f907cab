"""Programs of numbers as functions of one vector: the Jacobian and the Hessian of a weighted sum of outputs as programs of their
own, sparse where many entries are zero by construction. `vector_function` chooses between these and those of tensors."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from adcli.codegen.builtins.direct import Gathered, of_vector
from adcli.codegen.rows.expand import expand
from adcli.lang.derive import derivatives
from adcli.lang.derive.repeated_terms import OTHERS, UNKNOWNS, Repeated, repeated
from adcli.lang.ir import Program, Result, has_tensors
from adcli.lang.passes.status import with_status
from adcli.numerics.linear import Vector
from adcli.solvers.vector_function import VectorFunction, rounding_errors, weighted_sum
from adcli.task.derive import DerivedProgram
from adcli.task.matrices import matrix_among
from adcli.task.native import compiled
from adcli.task.request import columns
from adcli.task.tasks import Task
from adcli.task.verbs import MatrixKind

GIVEN_UP = (ValueError, ArithmeticError, np.linalg.LinAlgError, LookupError, RuntimeError, UnboundLocalError)
"""Exceptions of solvers where numbers are not finite. SciPy's trust-exact has no step then, and reads one that it never made."""
LONG = 5000
"""Operations of a program of numbers from which on it is looked at for terms that repeat."""


def vector_function(program: Program, names: Sequence[str], fixed: Mapping[str, Any], start: Mapping[str, Any]) -> VectorFunction:
    """The function for a program; the shapes of tensors are those that `start` has for them."""
    if not has_tensors(program):
        found = repeated(program, names) if len(program.equations) >= LONG else None
        return ScalarVectorFunction(program, names, fixed) if found is None else RepeatedTerms(program, names, fixed, found)
    return VectorFunction(program, names, fixed, [np.shape(start[name]) for name in names])


class ScalarVectorFunction(VectorFunction):
    """A program of numbers: three programs, compiled when they are first called."""

    def __init__(self, program: Program, names: Sequence[str], fixed: Mapping[str, float]) -> None:
        plain = tuple(Result(r.name, r.atom) for r in program.results)   # derivatives may be outputs like any others
        super().__init__(replace(program, results=plain), names, fixed, [()] * len(names))
        self.bound: dict[str, Callable[..., Vector]] = {}
        self.products: tuple[bytes, Any] = b"-", None

    def shapes_of_outputs(self, x: Vector) -> list[tuple[int, ...]]:
        return [()] * len(self.program.results)

    def elsewhere(self, point: Mapping[str, Any]) -> Self:
        other = super().elsewhere(point)
        other.bound, other.products = {}, (b"-", None)
        return other

    @cached_property
    def watched(self) -> Task:
        """The outputs and their gradients with the status."""
        worked = DerivedProgram(self.program, derivatives.gradient(self.program, self.names, None, "reverse"), self.names)
        code = compiled(with_status(worked.program, self.program, self.names), keep=True)
        return Task(self.request, worked.signature, worked=worked, linked=code)

    @cached_property
    def machine(self) -> Program:
        return expand(self.program)

    def rounding(self, x: Vector) -> Vector:
        return rounding_errors(self.machine, self.point(x))

    @cached_property
    def jacobian_machine(self) -> Program:
        return expand(self.jacobian_code.program)

    def gradient_rounding(self, x: Vector, v: Vector) -> Vector:
        jacobian, numbers = self.jacobian_code, np.zeros(self.jacobian_code.size)
        numbers[list(jacobian.places)] = rounding_errors(self.jacobian_machine, self.point(x))[list(jacobian.sources)]
        return np.asarray(np.abs(v) @ jacobian.matrix(numbers[len(self.program.results):]))

    @cached_property
    def value_code(self) -> Called:
        return Called(self.program, self.names)

    @cached_property
    def jacobian_code(self) -> CalledMatrix:
        return CalledMatrix(derivatives.jacobian(self.program, self.names), "jacobian", self.names, self.names)

    @cached_property
    def hessian_code(self) -> CalledMatrix:
        weighted, weights = weighted_sum(self.program)
        return CalledMatrix(derivatives.hessian(weighted, self.names), "hessian", self.names, (*self.names, *weights))

    def filled(self, which: str) -> Callable[..., Vector]:
        """Function that fills an array with the results of the program `which` for vectors."""
        found = self.bound.get(which)
        if found is None:
            found = self.bound[which] = getattr(self, which).with_constants(self.fixed)
        return found

    def values(self, x: Vector) -> Vector:
        return self.filled("value_code")(x)

    def values_and_jacobian(self, x: Vector) -> tuple[Vector, Any]:
        found = self.filled("jacobian_code")(x)
        if self.gradient and not self.jacobian_code.sparse:
            return found[:1], found[None, 1:]
        m = len(self.program.results)
        return found[:m].copy(), self.jacobian_code.matrix(found[m:])

    has_matrices = True

    def hess(self, x: Vector, v: Vector) -> Any:
        return self.hessian_code.matrix(self.filled("hessian_code")(x, v))

    def hessp(self, x: Vector, v: Vector, direction: Vector) -> Vector:
        key, hessian = x.tobytes() + v.tobytes(), self.products
        if hessian[0] != key:
            hessian = self.products = key, self.hess(x, v)
        return np.asarray(hessian[1] @ direction)


class RepeatedTerms(ScalarVectorFunction):
    """A long program of numbers whose outputs are sums of terms of few shapes: derivatives are those of statements over these."""

    def __init__(self, program: Program, names: Sequence[str], fixed: Mapping[str, float], made: Repeated) -> None:
        super().__init__(program, names, fixed)
        self.others, self.data = made.others, {name: np.array(x) for name, x in made.data.items()}
        self.terms = VectorFunction(made.program, [UNKNOWNS], self.constants(), [(self.n,)])

    def constants(self) -> dict[str, Any]:
        """The inputs of the statements beside the unknowns."""
        return {OTHERS: np.array([self.fixed[name] for name in self.others], np.float64), **self.data}

    def elsewhere(self, point: Mapping[str, Any]) -> Self:
        other = super().elsewhere(point)
        other.terms = self.terms.elsewhere({**other.constants(), UNKNOWNS: np.zeros(self.n)})
        return other

    def values_and_jacobian(self, x: Vector) -> tuple[Vector, Any]:
        return self.values(x), self.terms.values_and_jacobian(x)[1]

    def hess(self, x: Vector, v: Vector) -> Any:
        return self.terms.hess(x, v)

    def hessp(self, x: Vector, v: Vector, direction: Vector) -> Vector:
        return self.terms.hessp(x, v, direction)


class Called:
    """A program of numbers with its code, of which the inputs `names` are a vector, and others constants. What it gives is an
    array of `size` numbers, made by `empty`."""

    def __init__(self, program: Program, names: Sequence[str]) -> None:
        self.program, self.kernel = program, compiled(program, keep=True)
        self.names = names
        self.sources: Sequence[int] = range(len(program.results))
        self.places: Sequence[int] = self.sources
        self.size, self.empty = len(program.results), np.empty

    def with_constants(self, fixed: Mapping[str, float]) -> Callable[..., Vector]:
        """Function that makes and fills such an array for vectors, whose lengths are known to be right."""
        place = {name: i for i, name in enumerate(self.names)}
        order = [p.name for p in self.program.params]
        gathered = Gathered(len(self.names), [place.get(name, -1) for name in order], self.sources, self.places, self.size)
        quick = of_vector(self.kernel, [fixed.get(name, 0.0) for name in order], gathered, len(self.program.equations))
        empty, size = self.empty, self.size

        def filled(*vectors: Vector) -> Vector:
            into = empty(size)
            if quick(into, *vectors) is None and quick(into, *[np.array(x, np.float64).ravel() for x in vectors]) is None:
                raise MemoryError
            return into

        return filled


class CalledMatrix(Called):
    """Code of a Jacobian or Hessian by `inputs`: dense, or sparse where entries were left out. The numbers of a Jacobian
    come after those of the outputs."""

    def __init__(self, program: Program, kind: MatrixKind, inputs: Sequence[str], names: Sequence[str]) -> None:
        super().__init__(program, names)
        form, results = matrix_among(columns(program), inputs, kind)
        self.shape = n, m = len(form.rows), len(form.columns)
        i, j, entry = np.array(list(form.places()), dtype=np.int64).reshape(-1, 3).T
        self.sparse = len(results) < (n * (n + 1) // 2 if form.symmetric else n * m)
        order = np.lexsort((j, i))
        self.rows, self.column = np.searchsorted(i[order], np.arange(n + 1)).astype(np.int32), j[order].astype(np.int32)
        within, before = np.arange(len(order)) if self.sparse else (i * m + j)[order], 0 if form.symmetric else n
        self.sources = [*range(before), *np.array(results, np.int64)[entry[order]].tolist()]
        self.places = [*range(before), *(before + within).tolist()]
        self.size = before + (len(order) if self.sparse else n * m)
        self.empty = np.empty if len(self.places) == self.size else np.zeros

    def matrix(self, numbers: Vector) -> Any:
        if not self.sparse:
            return numbers.reshape(self.shape)
        from scipy.sparse import csr_array
        return csr_array((numbers, self.column.copy(), self.rows.copy()), shape=self.shape)
