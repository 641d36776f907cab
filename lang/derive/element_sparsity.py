"""Sparsity patterns of programs with tensors, by elements, read off the comprehensions at the sizes of a point.

What a comprehension reads and writes at all points of its box is arrays of the numbers of elements. So a pattern takes some
operations on whole arrays for each statement, and nothing is written out. What a body does with the numbers that it reads is the
pattern of a program of numbers (`adcli.lang.derive.sparsity`); conditions on indices in it are decided first, and points that
decide them otherwise have patterns of their own.

The sweeps are those of that module. Under a product every term meets every other, under a log-sum-exp itself too. There is no
pattern (None) where loops or operations on matrices stand in the program, and where the sets are too large.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.derive.sparsity import (
    Pattern,
    TooMany,
    hessian_pattern,
    interactions,
    jacobian_pattern,
    passing,
    symmetric,
    transposed,
)
from adcli.lang.evaluate import every_value, numpy_arithmetic
from adcli.lang.evaluate.comprehensions import Known, as_value, bound, numbers, points, subscripts_at
from adcli.lang.evaluate.unfolding import box_points
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.comprehension import Comprehension, Read
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import statics
from adcli.lang.ir.sizes import shapes
from adcli.lang.passes.simplify import simplify

MOST_AT_ONCE = 1 << 25
"""Elements of sets, and points of a box, that are handled at once; beyond, memory could end."""
MEETING = ("*", "lse")
"""Reductions whose terms meet: what one adds to the derivative depends on the others."""


def jacobian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern | None:
    """The pattern of the Jacobian of all outputs at a point, which has every input: a row for every element of every output,
    columns are the elements of the inputs `wrt`, one input after another."""
    program = simplify(program)
    try:
        sweep = ElementSweep.of(program, at, wrt)
        return None if sweep is None else sweep.jacobian([r.atom for r in program.results])
    except TooMany:
        return None


def hessian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern | None:
    """The pattern of the Hessian of the one output, a number, at a point: rows and columns are the elements of the inputs."""
    program = simplify(program)
    try:
        sweep = ElementSweep.of(program, at, wrt)
        return None if sweep is None else sweep.hessian(program.results[0].atom)
    except TooMany:
        return None


def of_comprehensions(program: Program) -> bool:
    """Whether a program has no operations on tensors but comprehensions."""
    return all(isinstance(e.op, Comprehension) or not e.op.tensors for e in program.equations)


def computes_subscripts(program: Program) -> bool:
    """Whether subscripts are computed, so that a pattern depends on the values of inputs that are no integers."""
    return any(o.whole for e in program.equations for o in e.outs)


# ---------------------------------------------------------------- sets of numbers, one for each element

Members = tuple[np.ndarray, np.ndarray]
"""Members of sets, each with the place of the element whose set it is of."""


class Sets(NamedTuple):
    """A set of numbers for each of some elements: that of element i is members[start[i]:start[i + 1]], in ascending order."""

    start: np.ndarray
    members: np.ndarray

    @classmethod
    def collected(cls, pairs: Iterable[Members], elements: int, numbers: int) -> Sets:
        """The sets that pairs of an element and a number say; numbers are below `numbers`."""
        keys = [element * numbers + member for element, member in pairs]
        different = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
        start = np.searchsorted(different, np.arange(elements + 1) * numbers)
        return cls(start, different % numbers if numbers else different)

    @classmethod
    def single(cls, first: int, elements: int) -> Sets:
        """Of each element a number of its own, from `first` on."""
        return cls(np.arange(elements + 1), np.arange(first, first + elements))

    def read(self, at: np.ndarray) -> Members:
        """The members of the sets of these elements, each with the place in `at` that it comes from. TooMany beyond a limit."""
        first = self.start[at]
        counts = self.start[at + 1] - first
        whole = int(counts.sum())
        if whole > MOST_AT_ONCE:
            raise TooMany
        ends = np.cumsum(counts)
        return np.repeat(np.arange(len(at)), counts), self.members[np.arange(whole) + np.repeat(first - ends + counts, counts)]

    def pattern(self) -> Pattern:
        members = self.members.tolist()
        return tuple([tuple(members[a:b]) for a, b in pairwise(self.start.tolist())])


# ---------------------------------------------------------------- what equations hand on

class Flow(NamedTuple):
    """What an equation hands on to elements `to` of its result, or several do: of `reads`, arguments with the elements that are
    read, one for each of `to`. `meetings` are for each read the reads beside it that its map depends on; under a `reduction`
    whose terms meet it depends on other terms too."""

    out: Var
    to: np.ndarray
    reads: tuple[tuple[Var, np.ndarray], ...]
    meetings: tuple[tuple[int, ...], ...]
    reduction: str = "="


class ElementSweep:
    """The flows of a program in order, of what depends on the inputs `wrt`; `columns` is the number of their elements."""

    def __init__(self, flows: list[Flow], inputs: dict[Var, Sets], columns: int, extents: Mapping[Atom, int]) -> None:
        self.flows, self.inputs, self.columns, self.extents = flows, inputs, columns, extents

    @classmethod
    def of(cls, program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> ElementSweep | None:
        """The sweep at a point. None for a program with other operations than comprehensions and rows of the table."""
        if not of_comprehensions(program):
            return None
        values = {p.var: as_value(p, at[p.name], numpy_arithmetic()) if p.var.shape else at[p.name] for p in program.params}
        sizes = bound(program, values)
        if computes_subscripts(program):
            values = every_value(program, at, numpy_arithmetic())
        known = shapes(program, sizes)
        extents: dict[Atom, int] = {r.atom: 1 for r in program.results} | {v: math.prod(shape) for v, shape in known.items()}
        inputs, columns, given = dict[Var, Sets](), 0, {p.name: p.var for p in program.params}
        for name in wrt:
            inputs[given[name]] = Sets.single(columns, extents[given[name]])
            columns += extents[given[name]]
        active, flows = set[Atom](inputs), list[Flow]()
        for e in program.equations:
            found = list(_flows(e, active, KnownPoint(values, sizes, known)))
            flows += found
            active.update(f.out for f in found)
        return cls(flows, inputs, columns, extents)

    def jacobian(self, results: Sequence[Atom]) -> Pattern:
        """Sets of inputs go forward, or where these are too large sets of results go backward."""
        try:
            within = self.domains()
            return tuple([row for r in results for row in (
                within[r].pattern() if isinstance(r, Var) else ((),) * self.extents[r])])
        except TooMany:
            return self.by_columns(results)

    def domains(self, wanted: set[Var] | None = None) -> Growing:
        """The columns that each element depends on: of all values, or of the `wanted` ones and those that lead to them."""
        if wanted is not None:
            wanted = set(wanted)
            for f in reversed(self.flows):
                if f.out in wanted:
                    wanted.update(a for a, _ in f.reads)
        within = Growing(self.extents, self.columns, self.inputs)
        for f in self.flows:
            if wanted is None or f.out in wanted:
                for a, elements in f.reads:
                    place, members = within[a].read(elements)
                    within.add(f.out, f.to[place], members)
        return within

    def by_columns(self, results: Sequence[Atom]) -> Pattern:
        """The pattern of a Jacobian by sets of results that go backward."""
        reached, rows = Growing(self.extents, sum(self.extents[r] for r in results), {}), 0
        for r in results:
            if isinstance(r, Var):
                reached.add(r, np.arange(self.extents[r]), np.arange(rows, rows + self.extents[r]))
            rows += self.extents[r]
        for out, flows in self.backward():
            after = reached[out]
            for f in flows:
                place, members = after.read(f.to)
                for a, elements in f.reads:
                    reached.add(a, elements[place], members)
        return transposed(tuple([row for x in self.inputs for row in reached[x].pattern()]), rows)

    def hessian(self, result: Atom) -> Pattern:
        """By the sets of columns that adjoints depend on, as `hessian_pattern` finds them."""
        self.flows = self.leading_to(result)
        within = self.domains({f.reads[q][0] for f in self.flows for met in f.meetings for q in met}
                              | {f.out for f in self.flows if f.reduction in MEETING})
        adjoint = Growing(self.extents, self.columns, {})
        for out, flows in self.backward():
            after, others = adjoint[out], self.other_terms(flows, within)
            for f, beside in zip(flows, others, strict=True):
                of_all = [after.read(f.to), *beside]
                for (a, elements), met in zip(f.reads, f.meetings, strict=True):
                    for place, members in (*of_all, *[within[b].read(at) for b, at in (f.reads[q] for q in met)]):
                        adjoint.add(a, elements[place], members)
        return symmetric(tuple([row for x in self.inputs for row in adjoint[x].pattern()]))

    def leading_to(self, result: Atom) -> list[Flow]:
        """The flows to elements that a result, a number, depends on."""
        needed: dict[Atom, np.ndarray] = {result: np.ones(1, bool)}
        kept = []
        for f in reversed(self.flows):
            if f.out in needed and (some := needed[f.out][f.to]).any():
                reads = tuple([(a, elements[some]) for a, elements in f.reads])
                kept.append(f._replace(to=f.to[some], reads=reads))
                for a, elements in reads:
                    needed.setdefault(a, np.zeros(self.extents[a], bool))[elements] = True
        return kept[::-1]

    def other_terms(self, flows: Sequence[Flow], within: Growing) -> list[list[Members]]:
        """For each flow to a value the columns that the terms depend on which each of its own meets, if any."""
        reduction, out = flows[0].reduction, flows[0].out
        if reduction not in MEETING:
            return [[] for _ in flows]
        every = [within[out].read(f.to) for f in flows]
        if reduction == "*":   # a column that one term alone depends on does not meet it
            own = [Sets.collected([within[a].read(at) for a, at in f.reads], len(f.to), self.columns).read(np.arange(len(f.to)))
                   for f in flows]
            keys = [f.to[place] * self.columns + members for f, (place, members) in zip(flows, own, strict=True)]
            different, times = np.unique(np.concatenate(keys), return_counts=True)
            for k, (place, members) in enumerate(own):
                alone = times[np.searchsorted(different, keys[k])] == 1
                at, found = every[k]
                stay = ~np.isin(at * self.columns + found, (place * self.columns + members)[alone])
                every[k] = at[stay], found[stay]
        return [[each] for each in every]

    def backward(self) -> Iterator[tuple[Var, list[Flow]]]:
        """What equations define, last one first, with the flows to it."""
        flows = dict[Var, list[Flow]]()
        for f in self.flows:
            flows.setdefault(f.out, []).append(f)
        return reversed(flows.items())


class Growing:
    """Sets for the elements of every value, which are added to until they are asked for; members are below `numbers`."""

    def __init__(self, extents: Mapping[Atom, int], numbers: int, sets: Mapping[Var, Sets]) -> None:
        self.extents, self.numbers = extents, numbers
        self.sets, self.pairs = dict(sets), dict[Var, list[Members]]()

    def add(self, value: Var, elements: np.ndarray, members: np.ndarray) -> None:
        """Add a member to the set of each of these elements."""
        self.pairs.setdefault(value, []).append((elements, members))

    def __getitem__(self, value: Var) -> Sets:
        if value not in self.sets:
            self.sets[value] = Sets.collected(self.pairs.pop(value, ()), self.extents[value], self.numbers)
        return self.sets[value]


# ---------------------------------------------------------------- the flows of one equation

class KnownPoint(NamedTuple):
    """The point: `values` of inputs, of all variables where subscripts are computed; `sizes`; the `shapes` of all variables."""

    values: Mapping[Var, Any]
    sizes: Mapping[str, int]
    shapes: Mapping[Var, tuple[int, ...]]


def _flows(e: Equation, active: set[Atom], here: KnownPoint) -> Iterator[Flow]:
    """What an equation hands on of active values."""
    if active.isdisjoint(e.args) or e.op.truth:
        return
    if isinstance(e.op, Comprehension):
        yield from _of_comprehension(e, e.op, active, here)
        return
    positions = [i for i in range(len(e.args)) if e.args[i] in active] if e.op is TABLE["dup"] else [
        i for i in passing(e) if e.args[i] in active]
    table = ((),) * len(e.args) if e.op is TABLE["dup"] else interactions(e.op, statics(e), len(e.args))
    for out in e.outs if positions else ():
        every = np.arange(math.prod(here.shapes[out]))   # a tensor may be copied
        reads = tuple([(a, every) for i in positions if isinstance(a := e.args[i], Var)])
        yield Flow(out, every, reads, tuple([tuple([positions.index(q) for q in table[p] if q in positions]) for p in positions]))


def _of_comprehension(e: Equation, op: Comprehension, active: set[Atom], here: KnownPoint) -> Iterator[Flow]:
    out = e.outs[0]
    shape, every = here.shapes[out], np.arange(math.prod(here.shapes[out]))
    args = [here.values[a] if isinstance(a, Var) and a in here.values else
            np.broadcast_to(0.0, here.shapes[a] if isinstance(a, Var) else ()) for a in e.args]
    if box_points(op, here.sizes) * (1 + len(op.sources)) > MOST_AT_ONCE:
        raise TooMany
    known, count = points(op, dict(here.sizes.items()))
    to = _numbered(subscripts_at(e, op.write, out, shape, args, known, count), shape, count)
    if op.onto is not None and (start := e.args[op.onto]) in active and isinstance(start, Var):
        kept = np.setdiff1d(every, to) if op.reduction == "=" else every
        yield Flow(out, kept, ((start, kept),), ((),), op.reduction)
    if not count:
        return
    elements = {i: _numbered(subscripts_at(e, s.subscripts, e.args[s.arg], np.shape(args[s.arg]), args, known, count),
                             np.shape(args[s.arg]), count) for i, s in op.reads() if e.args[s.arg] in active}
    for body, some in _decided(op, known, count):
        positions, meetings = _of_body(body, tuple(elements))
        reads = tuple([(a, elements[i][some]) for i in positions if isinstance(a := e.args[_read(op, i).arg], Var)])
        if reads:
            yield Flow(out, to[some], reads, meetings, op.reduction)


def _read(op: Comprehension, position: int) -> Read:
    source = op.sources[position]
    assert isinstance(source, Read)
    return source


def _numbered(subscripts: tuple[np.ndarray, ...], shape: tuple[int, ...], count: int) -> np.ndarray:
    """The numbers of elements with these subscripts."""
    return np.ravel_multi_index(subscripts, shape).astype(np.int64) if shape else np.zeros(count, np.int64)


def _of_body(body: Program, sources: Sequence[int]) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """Which of these sources a body's value depends on, and for each of them those that its derivative depends on."""
    names = [body.params[i].name for i in sources]
    [row] = jacobian_pattern(body, names, [body.results[0].name])
    second, place = hessian_pattern(body, names, body.results[0].name), {k: n for n, k in enumerate(row)}
    return [sources[k] for k in row], tuple([tuple([place[j] for j in second[k] if j in place]) for k in row])


def _decided(op: Comprehension, known: Known, count: int) -> Iterator[tuple[Program, np.ndarray]]:
    """The body as it is for some of the points: conditions that are made of indices and sizes have their value there."""
    arithmetic, found = numpy_arithmetic(), dict[Atom, Any]()
    for p, s in zip(op.body.params, op.sources, strict=True):
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
    for k, truths in enumerate(different):
        yield simplify(op.body, truths=dict(zip(conditions, truths.tolist(), strict=True))), np.flatnonzero(group.ravel() == k)
