"""Sparsity patterns of programs with tensors, by elements, at the sizes of a point.

What statements hand on between elements is listed as edges, in the order in which they are carried out: a statement at every
point of its box, one of a loop at every step. Sets of inputs go along them as they do along the equations of a program of numbers
(`adcli.lang.sparsity.sparsity`), which is also where it is found what a body depends on; conditions on indices are decided first.
A Hessian is the Jacobian of the adjoints.

Of an operation on matrices every element of the result depends on every element that is read of the matrix, since all are NaN
where it is not defined, and of the column of the right-hand side. What it reads goes through elements of its own between (hubs),
so that n² elements that depend on n² others are 2 n² edges.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import every_value, numpy_arithmetic
from adcli.lang.evaluate.comprehensions import Known, as_value, bound, numbers, points, subscripts_at
from adcli.lang.evaluate.recording import box_points
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.operations.activity import with_outputs
from adcli.lang.operations.comprehension import Comprehension, Read, Subscript
from adcli.lang.operations.matrix import Boxed, MatrixOperation
from adcli.lang.operations.recurrence import Recurrence, active_histories, whole_statements
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import shapes
from adcli.lang.sparsity.sparsity import Pattern, jacobian_pattern, passing, pattern_by, symmetric

MOST_EDGES = 1 << 24
"""Between elements: half a gigabyte with what they are made from."""
BLOCK = 1 << 16
"""Edges that are gone along at once."""
FORGOTTEN = -1
"""In the place of an element that an edge comes from: that it goes to is written afresh."""
ONE_SIDE = {"solve_lower": np.greater_equal, "solve_upper": np.less_equal}
"""Of operations that do not read the whole matrix, how the row of what they read compares with its column."""


def jacobian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern:
    """The pattern of the Jacobian of all outputs at a point, which has every input: a row for every element of every output,
    columns are the elements of the inputs `wrt`, one input after another. AdError where it is too large."""
    return ElementEdges(simplify(program), at, wrt).jacobian([r.name for r in program.results])


def hessian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern:
    """The pattern of the Hessian of the one output, a number, at a point: rows and columns are the elements of the inputs.
    AdError where it is too large."""
    swept, names = adjoints(simplify(program), wrt, program.results[0].name)
    cotangent, = swept.params[len(program.params):]
    return symmetric(ElementEdges(swept, {**at, cotangent.name: 1.0}, wrt).jacobian(names))


def adjoints(program: Program, wrt: Sequence[str], of: str) -> tuple[Program, list[str]]:
    """The program of the adjoints that inputs have for a result, and what these are called, in the order of `wrt`."""
    swept = simplify(vjp(duplicate(program), wrt, [of]))
    by = dict(zip([p.name for p in program.params if p.name in wrt], swept.results[len(program.results):], strict=True))
    names = [by[name].name for name in wrt]
    return simplify(with_outputs(swept, names)), names


def computes_subscripts(program: Program) -> bool:
    """Whether subscripts are computed, so that a pattern depends on the values of inputs that are no integers."""
    return any(o.whole for e in program.equations for o in e.outs)


class TooManyEdges(AdError):
    """There are more edges than memory should hold."""


class Edges(NamedTuple):
    """Edges to elements `to` from elements `source`, each of a point of a box."""

    to: np.ndarray
    source: np.ndarray
    point: np.ndarray


class ElementEdges:
    """The edges of a program at a point, of what depends on the inputs `wrt`. Elements are known by their numbers."""

    def __init__(self, program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> None:
        self.program = program
        self.values = {p.var: as_value(p, at[p.name], numpy_arithmetic()) if p.var.shape else at[p.name] for p in program.params}
        self.sizes: dict[Any, int] = dict(bound(program, self.values).items())
        self.shapes = shapes(program, self.sizes)
        if computes_subscripts(program):
            self.values = every_value(program, at, numpy_arithmetic())
        self.first, self.elements, self.count = dict[Var, int](), 0, 0
        self.edges: list[tuple[np.ndarray, np.ndarray]] = []
        self.inputs = [program.param(name).var for name in wrt]
        self.active: set[Atom] = {*self.inputs}
        for e in program.equations:
            if not (e.op.truth or self.active.isdisjoint(e.args)):
                self.enter(e)

    def jacobian(self, results: Sequence[str]) -> Pattern:
        """The pattern of these results: sets of inputs go forward, or sets of results backward, whichever are fewer."""
        columns = [k for x in self.inputs for k in self.every(x).tolist()]
        by = {r.name: r.atom for r in self.program.results}
        rows = [k for name in results for k in self.every(by[name]).tolist()]
        return pattern_by(rows, columns, self.pushed, self.pulled)

    def every(self, a: Atom) -> np.ndarray:
        """The numbers of the elements of a value; a constant is an element that nothing leads to."""
        if isinstance(a, Lit) or a not in self.first:
            count = math.prod(self.shapes[a]) if isinstance(a, Var) else 1
            found = self.fresh(count)
            if isinstance(a, Var):
                self.first[a] = self.elements - count
            return found
        return self.first[a] + np.arange(math.prod(self.shapes[a]))

    def fresh(self, count: int) -> np.ndarray:
        """The numbers of so many more elements."""
        self.elements += count
        return np.arange(self.elements - count, self.elements)

    # ---- along the edges

    def pushed(self, seeds: Mapping[int, int]) -> dict[int, int]:
        """For each element the union of the sets of those that it depends on."""
        sets = self.seeded(seeds)
        for to, source in self.pairs(self.edges):
            if source == FORGOTTEN:
                sets[to] = 0
            elif bits := sets[source]:
                sets[to] |= bits
        return dict(enumerate(sets))

    def pulled(self, seeds: Mapping[int, int]) -> dict[int, int]:
        """For each element the union of the sets of those that depend on it."""
        sets = self.seeded(seeds)
        for to, source in self.pairs([(to[::-1], source[::-1]) for to, source in reversed(self.edges)]):
            if source == FORGOTTEN:
                sets[to] = 0
            elif bits := sets[to]:
                sets[source] |= bits
        return dict(enumerate(sets))

    def seeded(self, seeds: Mapping[int, int]) -> list[int]:
        sets = [0] * self.elements
        for k, bits in seeds.items():
            sets[k] = bits
        return sets

    def pairs(self, edges: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[tuple[int, int]]:
        """Edges one by one, of which some at a time are Python's numbers."""
        for ends, sources in edges:
            for k in range(0, len(ends), BLOCK):
                yield from zip(ends[k:k + BLOCK].tolist(), sources[k:k + BLOCK].tolist(), strict=True)

    # ---- the edges

    def enter(self, e: Equation) -> None:
        """Add the edges of an equation."""
        op = e.op
        if isinstance(op, Recurrence):
            self.loop(e, op)
        elif isinstance(op, Boxed):
            for before, out in op.started(e):
                self.copy(out, before)
            edges, _ = self.statement(e)
            self.append(edges.to, edges.source)
        else:   # a row of the table; a tensor may be copied
            for out in e.outs:
                for i in passing(e):
                    self.copy(out, e.args[i])
        self.active.update(e.outs)

    def append(self, to: np.ndarray, source: np.ndarray) -> None:
        self.edges.append((to, source))
        self.require(len(to))

    def require(self, count: int) -> None:
        """TooManyEdges where these are."""
        self.count += count
        if self.count > MOST_EDGES:
            raise TooManyEdges(f"the sparsity pattern is too large: more than {MOST_EDGES:,} reads of elements",
                               help="give smaller tensors, or choose inputs with ⟦--wrt⟧ and outputs with ⟦--of⟧")

    def copy(self, out: Var, a: Atom) -> None:
        """Each element of a value depends on that of another, if this is active; a number is every element."""
        if a in self.active:
            to = self.every(out)
            self.append(to, np.broadcast_to(self.every(a), to.shape))

    def loop(self, e: Equation, op: Recurrence) -> None:
        """The edges of all statements of a loop, step by step."""
        self.active |= active_histories(e, self.active)
        for out, start in zip(e.outs, e.args, strict=False):
            self.copy(out, start)
        found, steps = list[Edges](), list[np.ndarray]()
        for s in whole_statements(e):
            if not self.active.isdisjoint(s.args):
                edges, known = self.statement(s)
                found.append(edges)
                steps.append(known[op.step][edges.point])
        if found:
            step = np.concatenate(steps)
            order = np.argsort(-step if op.down else step, kind="stable")
            self.append(np.concatenate([x.to for x in found])[order], np.concatenate([x.source for x in found])[order])

    def statement(self, e: Equation[Boxed]) -> tuple[Edges, Known]:
        """The edges of a statement, those that write afresh before the others, and the indices at all points of its box."""
        op = e.op
        self.require(box_points(op, self.sizes))
        known, count = points(op, self.sizes)
        every = np.arange(count)
        to = self.places(e, op.write, e.outs[0], known, count)
        if isinstance(op, MatrixOperation):
            found = [*self.matrices(e, op, to, known, count)]
        else:
            found = [*self.comprehension(e, op, to, known, count)] if count else []
            if op.onto is None or op.reduction == "=":
                found.insert(0, Edges(to, np.full(count, FORGOTTEN), every))
        parts = [np.concatenate([every[:0], *part]) for part in zip(*found, strict=True)] if found else [every[:0]] * 3
        return Edges(*parts), known

    def places(self, e: Equation, subscripts: tuple[Subscript, ...], tensor: Atom, known: Known, count: int) -> np.ndarray:
        """The elements with these subscripts at all points; of leading subscripts, the first of what stands behind them."""
        assert isinstance(tensor, Var), "constants have no elements"
        whole = self.shapes[tensor]
        shape = whole[:len(subscripts)]
        args = [self.values[a] if isinstance(a, Var) and a in self.values else   # of what nothing depends on, the shape alone
                np.broadcast_to(0.0, self.shapes[a] if isinstance(a, Var) else ()) for a in e.args]
        at = subscripts_at(e, subscripts, tensor, shape, args, known, count)
        place = np.ravel_multi_index(at, shape).astype(np.int64) if shape else np.zeros(count, np.int64)
        self.every(tensor)
        return self.first[tensor] + place * math.prod(whole[len(subscripts):])

    def comprehension(self, e: Equation, op: Comprehension, to: np.ndarray, known: Known, count: int) -> Iterator[Edges]:
        """Edges from each element that a body depends on."""
        elements = {i: self.places(e, s.subscripts, e.args[s.arg], known, count)
                    for i, s in op.reads() if e.args[s.arg] in self.active}
        for body, some in decided(op, known, count) if elements else ():
            positions = list(elements)
            row, = jacobian_pattern(body, [body.params[i].name for i in positions], [body.results[0].name])
            yield from (Edges(to[some], elements[positions[k]][some], some) for k in row)

    def matrices(self, e: Equation, op: MatrixOperation, to: np.ndarray, known: Known, count: int) -> Iterator[Edges]:
        """Edges through hubs: one for each matrix, and for each of its right-hand sides."""
        out = e.outs[0]
        whole = np.arange(math.prod(self.shapes[out][len(op.write):]))

        def joined(to: np.ndarray, source: np.ndarray) -> Edges:
            to, source, point = np.broadcast_arrays(to, source, np.arange(count)[:, None])
            return Edges(to.ravel(), source.ravel(), point.ravel())

        results = to[:, None] + whole
        yield joined(results, np.array(FORGOTTEN))
        for n, s in op.reads():
            tensor = e.args[s.arg]
            if isinstance(tensor, Var) and tensor in self.active:
                shape = self.shapes[tensor][len(s.subscripts):]
                read, columns = np.arange(math.prod(shape)), math.prod(shape[1:]) if n else 1
                hubs = self.fresh(count * columns).reshape(count, columns)
                if not n and op.name in ONE_SIDE:
                    row, column = np.divmod(read, max(shape[1], 1))
                    read = read[ONE_SIDE[op.name](*((column, row) if op.transposed else (row, column)))]
                self.require(count * (len(read) + len(whole)))
                elements = self.places(e, s.subscripts, tensor, known, count)[:, None] + read
                yield joined(hubs[:, read % columns] if columns else elements, elements)
                yield joined(results, hubs[:, whole % columns] if columns else results)


def decided(op: Comprehension, known: Known, count: int) -> Iterator[tuple[Program, np.ndarray]]:
    """The body as it is for some of the points: conditions that are made of indices and sizes have their value there."""
    arithmetic, found = numpy_arithmetic(), dict[Atom, Any]()
    for p, s in op.inputs():
        if not isinstance(s, Read):
            found[p.var] = np.broadcast_to(numbers(s, known), count)
    conditions = []
    for line in op.body.equations:
        if type(line.op) is Primitive and all(isinstance(a, Lit) or a in found for a in line.args):
            values = [a.value if isinstance(a, Lit) else found[a] for a in line.args]
            found[line.outs[0]] = arithmetic.apply(line.op, values, line.args, line)
            conditions += [line.outs[0]] * line.op.truth
    if not conditions:
        yield simplify(op.body), np.arange(count)
        return
    table = np.stack([np.broadcast_to(found[c], count) for c in conditions], axis=1)
    different, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ends = np.searchsorted(group.ravel()[order], np.arange(len(different) + 1)).tolist()
    for truths, (a, b) in zip(different.tolist(), pairwise(ends), strict=True):
        yield simplify(op.body, truths=dict(zip(conditions, truths, strict=True))), order[a:b]
