"""The outputs of a program as one vector, a function of some of its inputs as one vector, with its derivatives.

The vector x holds the inputs one after another, tensors raveled in the order of memory; so does the vector of the outputs. A
program of scalars has its Jacobian and the Hessian of a weighted sum of outputs as programs, sparse where many entries are zero
by construction. One with tensors has its Jacobian a row (reverse mode) or a column (forward mode) at a time, and products with
the Hessian by forward over reverse mode, whatever its size.
"""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from adcli.codegen.builtins.direct import Gathered, of_vector
from adcli.codegen.rows.expand import expand
from adcli.input.constraints import require_unconstrained
from adcli.lang.analyse.rounding import NEAR, Rounding
from adcli.lang.derive import derivatives
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var, shape_of
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import Names, repeated
from adcli.lang.operations.activity import inputs_to_differentiate
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.status import with_status
from adcli.numerics.linear import Components, Vector
from adcli.task.derive import DerivedProgram
from adcli.task.matrices import matrix_among, scipy_coo
from adcli.task.native import compiled
from adcli.task.request import Request, columns
from adcli.task.tasks import Task
from adcli.task.verbs import MatrixKind

GIVEN_UP = (ValueError, ArithmeticError, np.linalg.LinAlgError, LookupError, RuntimeError, UnboundLocalError)
"""Exceptions of solvers where numbers are not finite. SciPy's trust-exact has no step then, and reads one that it never made."""
MOST_DENSE = 300
"""Components up to which the Hessian of a program with tensors is a matrix, a product for each column."""


class VectorFunction(Components, ABC):
    """Outputs as a function of the inputs in `names`, the others `fixed`.

    `shapes` are those of the inputs in `names`; n components of x, m of the outputs. A Jacobian is m × n, a Hessian, that of the
    outputs' sum with weights v, is n × n; either is dense or a sparse array of SciPy.
    """

    def __init__(self, program: Program, names: Sequence[str], fixed: Mapping[str, Any],
                 shapes: Sequence[tuple[int, ...]]) -> None:
        Components.__init__(self, names, shapes)
        self.program, self.fixed = program, dict(fixed)
        self.gradient = len(program.results) == 1 and not shape_of(program.results[0].atom)
        self.forget()

    def forget(self) -> None:
        """Know no point. `known` has the outputs at the last one, `waiting` a Jacobian computed with them, and `followed` says
        whether a Jacobian was asked for since outputs were last computed. Threads may share a function, so each is replaced
        as a whole."""
        self.known: dict[bytes, Vector] = {}
        self.waiting: dict[bytes, Any] = {}
        self.followed = False

    def elsewhere(self, point: Mapping[str, Any]) -> Self:
        """This function at the values and shapes that inputs have at another point; code that is there is used again."""
        other = copy(self)
        other.fixed = {name: point[name] for name in self.fixed}
        Components.__init__(other, self.names, [np.shape(point[name]) for name in self.names])
        other.forget()
        other.__dict__.pop("components", None)
        other.__dict__.pop("ranges", None)
        return other

    @property
    @abstractmethod
    def watched(self) -> Task:
        """All outputs with the status, for what `status` says of a point."""

    @property
    def request(self) -> Request:
        """Derivatives of the outputs, as notes on a point speak of them."""
        primal = self.program
        return Request("grad", primal.source or Source("<text>", ""), [r.name for r in primal.results], self.names)

    def start(self, point: Mapping[str, Any]) -> Vector:
        """The vector of a point where a solver can begin. AdError where it is empty or not finite."""
        x = self.pack(point)
        if not self.n:
            raise AdError(f"there is nothing to find: no element in {', '.join(self.names)}",
                          help="give an array that is not empty")
        if not np.isfinite(x).all():
            i = int(np.flatnonzero(~np.isfinite(x))[0])
            raise AdError(f"the start of {self.components[i]} is {float(x[i])!r}, which is not finite")
        return x

    def point(self, x: Vector) -> dict[str, Any]:
        """Every input, in the program's order."""
        every = {**self.fixed, **self.unpack(x)}
        return {p.name: every[p.name] for p in self.program.params}

    @cached_property
    def ranges(self) -> tuple[Vector, Vector]:
        """The ends of the declared range of each component."""
        params = [self.program.param(name) for name in self.names]
        for p in params:
            require_unconstrained(p)
        return self.repeated([p.ends[0] for p in params]), self.repeated([p.ends[1] for p in params])

    @abstractmethod
    def rounding(self, x: Vector) -> Vector:
        """Bounds of the rounding errors of the outputs at x, infinite where none is known."""

    @abstractmethod
    def gradient_rounding(self, x: Vector, v: Vector) -> Vector:
        """Bounds of the rounding errors of the gradient of the outputs' sum with weights v."""

    @abstractmethod
    def shapes_of_outputs(self, x: Vector) -> list[tuple[int, ...]]: ...

    def output_sizes(self, x: Vector) -> list[int]:
        """The number of elements of each output."""
        return [math.prod(shape) for shape in self.shapes_of_outputs(x)]

    def fun(self, x: Vector) -> Vector:
        """The outputs. A gradient that was asked for at the point before, too, is computed with them, and waits: it takes little
        longer, which a Jacobian of many rows does not."""
        key = x.tobytes()
        found = self.known.get(key)
        if found is None:
            if self.followed and self.gradient:
                found, jacobian = self.values_and_jacobian(x)
                self.waiting = {key: jacobian}
            else:
                found = self.values(x)
            self.known, self.followed = {key: found}, False
        return found.copy()

    def jac(self, x: Vector) -> Any:
        """The Jacobian. The outputs are known with it."""
        key = x.tobytes()
        jacobian = self.waiting.pop(key, None)   # in one step, and once: it is the caller's now
        if jacobian is None:
            found, jacobian = self.values_and_jacobian(x)
            self.known = {key: found}
        self.followed = True
        return jacobian

    @abstractmethod
    def values(self, x: Vector) -> Vector:
        """The outputs."""

    @abstractmethod
    def values_and_jacobian(self, x: Vector) -> tuple[Vector, Any]:
        """The outputs and their Jacobian, of one computation."""

    @property
    @abstractmethod
    def has_matrices(self) -> bool:
        """True if Jacobian and Hessian are matrices with fixed entries, dense or sparse."""

    @abstractmethod
    def hess(self, x: Vector, v: Vector) -> Any: ...

    @abstractmethod
    def hessp(self, x: Vector, v: Vector, direction: Vector) -> Vector:
        """The Hessian times a direction."""


def moved_inputs(program: Program, order: Sequence[str] | None, fixed: Mapping[str, Any]) -> list[str]:
    """The inputs that are components of the vector: those in `order`, by default all but params that are not `fixed`."""
    known = inputs_to_differentiate(program, order)
    integers = {p.name for p in program.params if p.var.integer}
    inputs_to_differentiate(program, [name for name in fixed if name not in integers])
    if order is None:
        return [name for name in known if name not in fixed]
    if (twice := repeated([*fixed, *order])) is not None:
        raise AdError(f"input '{twice}' is given twice")
    return known


# ---------------------------------------------------------------- scalars

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
        return expand(self.jacobian.program)

    def gradient_rounding(self, x: Vector, v: Vector) -> Vector:
        jacobian, numbers = self.jacobian, np.zeros(self.jacobian.size)
        numbers[list(jacobian.places)] = rounding_errors(self.jacobian_machine, self.point(x))[list(jacobian.sources)]
        return np.asarray(np.abs(v) @ jacobian.matrix(numbers[len(self.program.results):]))

    @cached_property
    def value(self) -> Called:
        return Called(self.program, self.names)

    @cached_property
    def jacobian(self) -> CalledMatrix:
        return CalledMatrix(derivatives.jacobian(self.program, self.names), "jacobian", self.names, self.names)

    @cached_property
    def hessian(self) -> CalledMatrix:
        weighted, weights = weighted_sum(self.program)
        return CalledMatrix(derivatives.hessian(weighted, self.names), "hessian", self.names, (*self.names, *weights))

    def filled(self, which: str) -> Callable[..., Vector]:
        """Function that fills an array with the results of the program `which` for vectors."""
        found = self.bound.get(which)
        if found is None:
            found = self.bound[which] = getattr(self, which).with_constants(self.fixed)
        return found

    def values(self, x: Vector) -> Vector:
        return self.filled("value")(x)

    def values_and_jacobian(self, x: Vector) -> tuple[Vector, Any]:
        found = self.filled("jacobian")(x)
        if self.gradient and not self.jacobian.sparse:
            return found[:1], found[None, 1:]
        m = len(self.program.results)
        return found[:m].copy(), self.jacobian.matrix(found[m:])

    has_matrices = True

    def hess(self, x: Vector, v: Vector) -> Any:
        return self.hessian.matrix(self.filled("hessian")(x, v))

    def hessp(self, x: Vector, v: Vector, direction: Vector) -> Vector:
        key, hessian = x.tobytes() + v.tobytes(), self.products
        if hessian[0] != key:
            hessian = self.products = key, self.hess(x, v)
        return np.asarray(hessian[1] @ direction)


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


def weighted_sum(program: Program) -> tuple[Program, list[str]]:
    """The sum of the outputs, each times a further input, and the names of these inputs."""
    names, b = Names.of(program), Builder()
    b.equations.extend(program.equations)
    weights = [Param(Var(n := names.fresh(f"weight_{r.name}"), shape=shape_of(r.atom)), n) for r in program.results]
    total: Expr | None = None
    for r, w in zip(program.results, weights, strict=True):
        term = weighted(b, r.atom, w.var)
        total = term if total is None else total + term
    assert total is not None, "there is an output"
    result = Result(names.fresh("total"), total.atom)
    return Program((*program.params, *weights), tuple(b.equations), (result,), program.source), [w.name for w in weights]


def weighted(b: Builder, value: Atom, weight: Var) -> Expr:
    """The sum of the elements of a value, each times its weight."""
    if not weight.shape:
        return b.expr(value) * b.expr(weight)
    from adcli.lang.operations.elementwise import computed, every_element
    ranges, here = every_element(weight.shape)
    return computed(b, Comprehension(ranges=ranges, reduction="+"), lambda x, w: x * w, [(value, here), (weight, here)])


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


def sparse(program: Program, kind: MatrixKind, inputs: Sequence[str], found: Sequence[Any], precision: str) -> Any:
    """The matrix of a Jacobian or Hessian with these results, without entries that are 0 by construction."""
    kept = [k for k, r in enumerate(program.results) if not (r.wrt and isinstance(r.atom, Lit) and r.atom.value == 0)]
    every = columns(program)
    form, places = matrix_among([every[k] for k in kept], inputs, kind)
    if any(np.ndim(x) for x in found):
        raise AdError("sparse() takes one point, not arrays")
    return scipy_coo(form, [found[kept[k]] for k in places], precision)


def rounding_errors(machine: Program, at: Mapping[str, float]) -> Vector:
    """Bounds of the rounding errors of the outputs, near a point, of a program in operations of a machine."""
    found = Rounding(machine, at, NEAR)
    return np.array([found.of(r.atom)[1] for r in machine.results])
