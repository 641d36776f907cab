"""The outputs of a program as one vector, a function of some of its inputs as one vector, with its derivatives.

The vector x holds the inputs one after another, tensors raveled in the order of memory; so does the vector of the outputs. The
Jacobian is computed a row (reverse mode) or a column (forward mode) at a time, and products with the Hessian by forward over
reverse mode, whatever its size; sparse matrices at a point, where many entries are zero by construction.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from adcli.codegen.modules.direct_tensors import OftenCalled
from adcli.codegen.rows.expand import expand
from adcli.input.arrays import fitting
from adcli.input.constraints import require_unconstrained
from adcli.lang.analyse.rounding import NEAR, Rounding
from adcli.lang.evaluate.recording import length, unfolded
from adcli.lang.ir import Atom, Param, Program, Result, Var, shape_of
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import Names
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.passes import pipeline
from adcli.lang.sparsity.element_sparsity import computes_subscripts
from adcli.numerics.linear import MOST_DENSE, Components, Vector
from adcli.task.derive import DerivedProgram, short
from adcli.task.entries import EntryPlaces, StatementEntries
from adcli.task.matrices import matrix_by_edges, output_shapes, read_by_colours, sparse_array
from adcli.task.native import compiled, with_steps
from adcli.task.replays import KeptCode, slot_of, words_of
from adcli.task.request import Request
from adcli.task.tasks import Task
from adcli.task.verbs import MatrixKind

MOST_WRITTEN = 100_000
"""Operations up to which a program is written out for bounds of its rounding errors: about half a second."""
FEW = 10
"""Rows or columns up to which a matrix is dense."""


class VectorFunction(Components):
    """Outputs as a function of the inputs in `names`, the others `fixed`, by sweeps, of which each program is compiled when it is
    first called, in numbers of a precision, `fast` as --fast-math says.

    `shapes` are those of the inputs in `names`; n components of x, m of the outputs. A Jacobian is m × n, a Hessian, that of the
    outputs' sum with weights v, is n × n; either is dense or a sparse array of SciPy.
    """

    def __init__(self, program: Program, names: Sequence[str], fixed: Mapping[str, Any],
                 shapes: Sequence[tuple[int, ...]], precision: str = "double", fast: bool = False) -> None:
        Components.__init__(self, names, shapes)
        self.program, self.precision, self.fast = program, precision, fast
        self.fixed = {name: np.ascontiguousarray(x) if isinstance(x, np.ndarray) and x.ndim else x for name, x in fixed.items()}
        self.outputs = [r.name for r in program.results]
        self.gradient = len(program.results) == 1 and not shape_of(program.results[0].atom)
        self.forget()

    def forget(self) -> None:
        """Know no point. `known` has the outputs at the last one, `waiting` a Jacobian computed with them, and `followed` says
        whether a Jacobian was asked for since outputs were last computed. Threads may share a function, so each is replaced
        as a whole."""
        self.output_shapes: list[tuple[int, ...]] | None = None
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

    # ---------------------------------------------------------------- sweeps

    def code(self, program: Program) -> Any:
        return compiled(program, True, self.precision, self.fast)

    def swept(self, sweep: Callable[[Program], Program], primal: Program, seeds: Sequence[str],
              results: Sequence[str]) -> tuple[OftenCalled, list[str], list[str]]:
        """The code of the program that a sweep makes, with the steps that are taken of loops that end early; the seeds that it
        has added to those of `primal`, and its results."""
        program, found = sweep(self.program), short(self.program)
        code = self.code(program) if found is None else \
            with_steps(found.counted, program, sweep(found.counted.program), self.code)
        return OftenCalled(code), *self.seeds_and_results(program, primal, seeds, results)

    @cached_property
    def value(self) -> KeptCode:
        words = ["values", str(self.fast), *words_of(self.program)]
        return KeptCode(words, self.program.params, self.precision, lambda: self.code(self.program))

    @cached_property
    def watched(self) -> Task:
        """All outputs with the status, for what `status` says of a point, from the cache where it has their code."""
        worked = DerivedProgram(self.program, self.program, self.names)
        sizes = [p.name for p in self.program.params if p.var.integer and not p.var.shape]
        return Task(self.request, worked.signature, worked=worked, counts=sizes,
                    slot=slot_of(["watched", *self.names, *words_of(self.program)]))

    @cached_property
    def reverse(self) -> tuple[OftenCalled, list[str], list[str]]:
        """The code of the reverse sweep, its cotangents output by output, and the adjoints input by input."""
        return self.swept(lambda p: pipeline.adjoint_program(p, self.names), self.program, self.outputs, self.names)

    @cached_property
    def forward(self) -> tuple[OftenCalled, list[str], list[str]]:
        """The code of the forward sweep, its tangents input by input, and those of the outputs."""
        return self.swept(lambda p: pipeline.tangent_program(p, self.names), self.program, self.names, self.outputs)

    @cached_property
    def second(self) -> tuple[OftenCalled, list[str], list[str], list[str]]:
        """The code of forward over reverse mode, its cotangents, its tangents, and the products input by input."""
        reverse = pipeline.adjoint_program(self.program, self.names)
        cotangents, adjoints = self.seeds_and_results(reverse, self.program, self.outputs, self.names)
        code, tangents, products = self.swept(
            lambda p: pipeline.tangent_program(pipeline.adjoint_program(p, self.names), self.names, adjoints), reverse,
            self.names, self.names)
        return code, cotangents, tangents, products

    def seeds_and_results(self, swept: Program, primal: Program, seeds: Sequence[str],
                          results: Sequence[str]) -> tuple[list[str], list[str]]:
        """The seeds that a sweep has added to the inputs, in the order of what they belong to, and its own results, in the
        order of the inputs or outputs that `results` names. A sweep has those in the order of the program."""
        by = {p.seed: p.name for p in swept.params[len(primal.params):] if p.seed}
        place = {name: i for i, name in enumerate([*(p.name for p in self.program.params), *self.outputs])}
        own = dict(zip(sorted(results, key=place.__getitem__), swept.results[-len(results):], strict=True))
        return [by[name] for name in seeds], [own[name].name for name in results]

    def shapes_of_outputs(self, x: Vector) -> list[tuple[int, ...]]:
        if self.output_shapes is None:
            self.values(x)
        assert self.output_shapes is not None
        return self.output_shapes

    def rounding(self, x: Vector) -> Vector:
        """Bounds of the rounding errors of the outputs at x, infinite where none is known."""
        return self.written_out(self.program, self.point(x), sum(self.output_sizes(x)))

    def gradient_rounding(self, x: Vector, v: Vector) -> Vector:
        """Bounds of the rounding errors of the gradient of the outputs' sum with weights v."""
        program = pipeline.adjoint_program(self.program, self.names)
        cotangents, adjoints = self.seeds_and_results(program, self.program, self.outputs, self.names)
        at = {**self.point(x), **dict(zip(cotangents, self.weights(x, v), strict=True))}
        return self.written_out(replace(program, results=tuple(map(program.result, adjoints))), at, self.n)

    def written_out(self, program: Program, at: Mapping[str, Any], count: int) -> Vector:
        """Bounds of the rounding errors of so many results at a point."""
        if length(program, at) > MOST_WRITTEN:
            return np.full(count, np.inf)
        whole = unfolded(program, at)
        return rounding_errors(expand(whole.program), whole.at)

    def values(self, x: Vector) -> Vector:
        """The outputs."""
        found = self.value(self.point(x))
        self.output_shapes = [np.shape(found[name]) for name in self.outputs]
        return flat(found, self.outputs)

    def vjp(self, x: Vector, v: Vector) -> tuple[Vector, Vector]:
        """The outputs, and the Jacobian transposed times v."""
        code, cotangents, adjoints = self.reverse
        found = code({**self.point(x), **dict(zip(cotangents, self.weights(x, v), strict=True))})
        return flat(found, self.outputs), flat(found, adjoints)

    def jvp(self, x: Vector, direction: Vector) -> tuple[Vector, Vector]:
        """The outputs, and the Jacobian times a direction."""
        code, tangents, results = self.forward
        found = code({**self.point(x), **dict(zip(tangents, self.unpack(direction).values(), strict=True))})
        return flat(found, self.outputs), flat(found, results)

    def values_and_jacobian(self, x: Vector) -> tuple[Vector, Any]:
        """The outputs and their Jacobian, of one computation."""
        m = sum(self.output_sizes(x))
        if min(m, self.n) > FEW and (places := self.sparse_jacobian.sparse_places(point := self.point(x))):
            values = self.known.get(x.tobytes())
            return self.values(x) if values is None else values, self.sparse_jacobian.by_rows(places, point)
        by_rows = m <= self.n
        swept = [(self.vjp if by_rows else self.jvp)(x, direction) for direction in np.eye(min(m, self.n))]
        jacobian = np.array([found for _, found in swept]).reshape((m, self.n) if by_rows else (self.n, m))
        return swept[0][0] if swept else self.values(x), jacobian if by_rows else jacobian.T

    def hessp(self, x: Vector, v: Vector, direction: Vector) -> Vector:
        """The Hessian times a direction."""
        code, cotangents, tangents, products = self.second
        seeds = dict(zip(cotangents, self.weights(x, v), strict=True))
        along = dict(zip(tangents, self.unpack(direction).values(), strict=True))
        return flat(code({**self.point(x), **seeds, **along}), products)

    @property
    def has_matrices(self) -> bool:
        """True if Jacobian and Hessian are matrices with fixed entries, dense or sparse."""
        if self.n <= MOST_DENSE:
            return True
        return self.sparse_hessian.sparse_places(self.point(np.zeros(self.n))) is not None

    def hess(self, x: Vector, v: Vector) -> Any:
        if self.n > FEW and (places := self.sparse_hessian.sparse_places(point := self.point(x))):
            return self.sparse_hessian.by_rows(places, point, self.weights(x, v))
        if self.n > MOST_DENSE:
            from scipy.sparse.linalg import LinearOperator
            return LinearOperator((self.n, self.n), matvec=lambda d: self.hessp(x, v, np.ravel(d)), dtype=np.float64)
        full = np.array([self.hessp(x, v, column) for column in np.eye(self.n)]).reshape(self.n, self.n)
        return (full + full.T) / 2

    @cached_property
    def sparse_jacobian(self) -> SparseMatrix:
        return SparseMatrix(self.program, "jacobian", self.names, self.precision, self.fast)

    @cached_property
    def sparse_hessian(self) -> SparseMatrix:
        return SparseMatrix(self.program, "hessian", self.names, self.precision, self.fast)

    def weights(self, x: Vector, v: Vector) -> list[Any]:
        """Weights of the outputs, each in its shape."""
        parts = np.split(np.asarray(v, dtype=np.float64), np.cumsum(self.output_sizes(x))[:-1])
        return [part.reshape(s) if s else float(part[0]) for part, s in zip(parts, self.shapes_of_outputs(x), strict=True)]


def flat(found: Mapping[str, Any], names: Sequence[str]) -> Vector:
    """Results one after another."""
    return np.concatenate([np.ravel(found[name]) for name in names]) if names else np.zeros(0)


def rounding_errors(machine: Program, at: Mapping[str, float]) -> Vector:
    """Bounds of the rounding errors of the outputs, near a point, of a program in operations of a machine."""
    found = Rounding(machine, at, NEAR)
    return np.array([found.of(r.atom)[1] for r in machine.results])


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


# ---------------------------------------------------------------- sparse matrices

class SparseMatrix:
    """The Jacobian of all outputs, or the Hessian of their sum with weights, by the elements of the inputs `names`, in numbers of
    a precision, `fast` as --fast-math says: statement by statement where values are sums over boxes, else by coloured sweeps."""

    def __init__(self, program: Program, kind: MatrixKind, names: Sequence[str], precision: str = "double",
                 fast: bool = False) -> None:
        self.program, self.kind, self.names, self.precision, self.fast = program, kind, list(names), precision, fast
        self.vector: VectorFunction | None = None
        self.known: tuple[object, EntryPlaces] = (), EntryPlaces((0, 0), np.zeros(0), np.zeros(0), None)
        self.keeps = not computes_subscripts(program)

    @cached_property
    def by_statements(self) -> StatementEntries:
        return StatementEntries(self.program, self.kind, self.names, self.precision, self.fast)

    def at(self, point: Mapping[str, Any], weights: Sequence[Any] = (1.0,)) -> Any:
        """The matrix at a point, a scipy.sparse array. AdError where its pattern is too large."""
        point = fitting(self.program, dict(point))
        places = self.places(point)
        numbers = self.of_places(places, point, weights).astype(PRECISIONS[self.precision].code)
        if self.kind == "jacobian":
            return sparse_array(numbers, places.i.copy(), places.j.copy(), places.shape)
        i, j, entry = places.both_triangles
        return sparse_array(numbers[entry], i.copy(), j.copy(), places.shape)

    def by_rows(self, places: EntryPlaces, point: Mapping[str, Any], weights: Sequence[Any] = (1.0,)) -> Any:
        """The matrix with entries in these places at a point, a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array
        numbers = self.of_places(places, point, weights)
        starts, j, entry = places.by_rows
        return csr_array((numbers[entry], j.copy(), starts.copy()), shape=places.shape)

    def sparse_places(self, point: Mapping[str, Any]) -> EntryPlaces | None:
        """Where the entries stand, if most are zero by construction, wherever they are looked at."""
        try:
            places = self.places(point) if self.keeps else None
        except AdError:   # too large a pattern
            return None
        both = 2 if self.kind == "hessian" else 1
        return places if places and 2 * both * len(places.i) <= math.prod(places.shape) else None

    def of_places(self, places: EntryPlaces, point: Mapping[str, Any], weights: Sequence[Any]) -> Vector:
        """The numbers of the entries in these places."""
        if not isinstance(places.source, tuple):
            return self.by_statements.numbers(places, point, weights if self.kind == "hessian" else ())
        if self.vector is None:
            fixed = {p.name: point[p.name] for p in self.program.params if p.name not in self.names}
            shapes = [np.shape(point[name]) for name in self.names]
            self.vector = VectorFunction(self.program, self.names, fixed, shapes, self.precision, self.fast)
        f = self.vector = self.vector.elsewhere(point)
        reading, order = places.source
        x, v = f.pack(point), np.concatenate([np.ravel(w) for w in weights])
        if self.kind == "hessian":
            return np.asarray(reading.numbers(lambda seed: f.hessp(x, v, seed))[order])
        return np.asarray(reading.numbers(lambda seed: (f.vjp if reading.reverse else f.jvp)(x, seed)[1])[order])

    def places(self, point: Mapping[str, Any]) -> EntryPlaces:
        """Where the entries stand at a point: the same for the same shapes and integers, unless subscripts are computed."""
        key = tuple([(np.shape(x), np.asarray(x).tobytes() if p.var.integer else None)
                     for p in self.program.params for x in (point[p.name],)])
        if not self.keeps or self.known[0] != key:
            self.known = key, self.by_statements.places(point, lambda: self.coloured(point))
        return self.known[1]

    def coloured(self, point: Mapping[str, Any]) -> EntryPlaces:
        """Where the entries stand, and how they are read from sweeps."""
        program = self.program
        if self.kind == "hessian":
            program, names = weighted_sum(program)
            point = {**point, **dict(zip(names, map(np.ones, output_shapes(self.program, point).values()), strict=True))}
        matrix = matrix_by_edges(program, point, self.kind, self.names)
        reading = read_by_colours(matrix)
        i, j = reading.i, reading.j
        if self.kind == "hessian":
            i, j = np.maximum(i, j), np.minimum(i, j)
        order = np.lexsort((j, i))
        return EntryPlaces((len(matrix.rows), len(matrix.columns)), i[order], j[order], (reading, order), self.kind == "hessian",
                           sweeps=1 + int(reading.colours.max(initial=-1)))
