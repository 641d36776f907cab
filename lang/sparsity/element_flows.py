"""Data flow between elements of tensors, at the sizes of a point.

What a comprehension reads and writes at all points of its box is arrays of the numbers of elements. So a statement takes some
operations on whole arrays, and nothing is written out. What a body does with the numbers that it reads is the pattern of a
program of numbers (`adcli.lang.sparsity.sparsity`); conditions on indices in it are decided first, and points that decide them
otherwise have patterns of their own.

A loop is its statements at one step after another. Where a step does what the first one does, so many elements further along, it
is that, moved; elsewhere many steps are found at once. All writes to an element come before its first read, so in this order
everything is complete when it is read. The end of a loop with `until` is a choice between values, either of which may be.

Of an operation on matrices every element of the result depends on every element that is read of the matrix, since all are NaN
where it is not defined, and of the column of the right-hand side. What it reads goes through elements of its own between
(hubs), so that n² elements that depend on n² others are 2 n².
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import numpy_arithmetic
from adcli.lang.evaluate.comprehensions import Known, numbers, points, subscripts_at
from adcli.lang.evaluate.unfolding import box_points
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, value, without
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, Read, Subscript
from adcli.lang.operations.matrix import Boxed, MatrixOperation
from adcli.lang.operations.recurrence import Recurrence, active_histories, at_one_step, whole_statements
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sparsity.number_sets import MOST_AT_ONCE, TooMany
from adcli.lang.sparsity.sparsity import hessian_pattern, interactions, jacobian_pattern, passing

MEETING = ("*", "lse")
"""Reductions whose terms meet: what one adds to the derivative depends on the others."""
MANY_POINTS = 1 << 18
"""Points of a box, with what is read at them, from which on the steps of a loop are found in parts."""


class Flow(NamedTuple):
    """The flow from an equation, or several, to elements `to` of a result: of `reads`, arguments with the elements that are
    read, one for each of `to`. `meetings` are for each read the reads beside it that its map depends on; under a `reduction`
    whose terms meet it depends on other terms too. What the elements held before is gone where they are written `afresh`."""

    out: Var
    to: np.ndarray
    reads: tuple[tuple[Var, np.ndarray], ...]
    meetings: tuple[tuple[int, ...], ...]
    reduction: str = "="
    afresh: bool = False

    def over(self, some: np.ndarray | slice) -> Flow:
        """To some of the elements."""
        return self._replace(to=self.to[some], reads=tuple([(a, elements[some]) for a, elements in self.reads]))


Block = list[Flow]
"""The flows to elements of one value, which are complete behind it."""


class KnownPoint(NamedTuple):
    """The point: `values` of inputs, of all variables where subscripts are computed; `sizes`; the `shapes` of all variables."""

    values: Mapping[Var, Any]
    sizes: Mapping[Index | str, int]
    shapes: dict[Var, tuple[int, ...]]

    def count(self, a: Atom) -> int:
        """The number of elements."""
        return math.prod(self.shapes[a]) if isinstance(a, Var) else 1


class Stage(NamedTuple):
    """Blocks, one behind another. Stages of one `structure` do the same to the elements `touched`, each of which is there once:
    what one makes of them follows from what they were."""

    blocks: Callable[[], Sequence[Block]]
    touched: np.ndarray | None = None
    structure: object = None


Offsets = Mapping[Atom, int]
"""The number of the first element of each value among those of all."""
Links = Iterator[tuple[Var, set[Var], set[Var]]]
"""For each value what it depends on, and what its derivatives depend on."""


class FlowsOnce(NamedTuple):
    """Flows outside of loops."""

    found: list[Block]

    def stages(self, offsets: Offsets, back: bool = False) -> Iterator[Stage]:
        """The stages in order, or the last one first."""
        yield Stage(lambda: self.found)

    def links(self) -> Links:
        for f in (f for block in self.found for f in block):
            yield f.out, {a for a, _ in f.reads}, {f.reads[q][0] for met in f.meetings for q in met} | _met(f.out, f.reduction)


class LoopFlows(NamedTuple):
    """The statements of a recurrence at its steps."""

    steps: Sequence[int]
    statements: list[Stepped]

    def stages(self, offsets: Offsets, back: bool = False) -> Iterator[Stage]:
        """A stage for each step, in their order, or the last one first."""
        steps, moving = self.steps[::-1] if back else self.steps, len(self.steps) > 1 and self.moving(offsets)
        for t in steps:
            blocks = partial(self.at, t)
            if moving:
                yield Stage(blocks, moving[0] + (t - self.steps[0]) * moving[1], id(self.statements))
            else:
                kinds, arrays = _listed(found := blocks())
                places = np.concatenate([np.zeros(0, np.int64), *[offsets[a] + at for a, at in arrays]])
                touched, order = np.unique(places, return_inverse=True)
                yield Stage(partial(list[Block], found), touched, (id(self.statements), kinds, order.tobytes()))

    def moving(self, offsets: Offsets) -> tuple[np.ndarray, np.ndarray] | None:
        """The elements that the first step touches, and by how much those of a step later lie further along; None where they do
        not keep their distances."""
        if not all(s.moves for s in self.statements):
            return None
        both = [_listed(self.at(t))[1] for t in self.steps[:2]]
        moves = [(a, int(then[0] - at[0]) * (self.steps[1] - self.steps[0]) if len(at) else 0)
                 for (a, at), (_, then) in zip(*both, strict=True)]
        if len({a for a, _ in moves}) < len({*moves}):
            return None
        places = np.concatenate([np.zeros(0, np.int64), *[offsets[a] + at for a, at in both[0]]])
        touched, first = np.unique(places, return_index=True)
        moved = [np.full(len(at), move) for (_, move), (_, at) in zip(moves, both[0], strict=True)]
        return touched, np.concatenate([places[:0], *moved])[first]

    def at(self, t: int) -> list[Block]:
        """The blocks of a step."""
        return [block for s in self.statements for block in s.at(t) if block]

    def links(self) -> Links:
        return (link for s in self.statements for link in s.links)


def _listed(blocks: Sequence[Block]) -> tuple[list[object], list[tuple[Var, np.ndarray]]]:
    """The structure of flows without elements, and the elements in all of them."""
    flows = [f for block in blocks for f in block]
    return ([(f.out, [a for a, _ in f.reads], f.meetings, f.reduction, len(f.to)) for f in flows],
            [each for f in flows for each in ((f.out, f.to), *f.reads)])


def flows_of(e: Equation, active: set[Atom], here: KnownPoint) -> Iterator[FlowsOnce | LoopFlows]:
    """The flows of active values through an equation."""
    if active.isdisjoint(e.args) or e.op.truth:
        return
    if isinstance(e.op, Recurrence):
        yield from _of_recurrence(e, e.op, active, here)
    elif isinstance(e.op, MatrixOperation):
        yield FlowsOnce(MatrixFlows(e, e.op, active, here, box_points(e.op, here.sizes)).blocks(e.op, {}, 0))
    elif isinstance(e.op, Comprehension):
        to, _, found = _of_comprehension(e, e.op, active, here)
        flows = [f for f, _ in found]
        if e.op.onto is not None and (start := e.args[e.op.onto]) in active:
            every = np.arange(here.count(e.outs[0]))
            kept = np.setdiff1d(every, to) if e.op.reduction == "=" else every
            flows.insert(0, _copied(e.outs[0], start, kept, here)._replace(reduction=e.op.reduction))
        yield FlowsOnce([flows] if flows else [])
    else:
        yield FlowsOnce([[f] for f in _of_row(e, active, here)])


def _of_row(e: Equation, active: set[Atom], here: KnownPoint) -> Iterator[Flow]:
    """Of a row of the table; a tensor may be copied."""
    positions = [i for i in range(len(e.args)) if e.args[i] in active] if e.op is TABLE["dup"] else [
        i for i in passing(e) if e.args[i] in active]
    table = ((),) * len(e.args) if e.op is TABLE["dup"] else interactions(e)
    for out in e.outs if positions else ():
        every = np.arange(here.count(out))
        reads = tuple([(a, every) for i in positions if isinstance(a := e.args[i], Var)])
        yield Flow(out, every, reads, tuple([tuple([positions.index(q) for q in table[p] if q in positions]) for p in positions]))


def _met(out: Var, reduction: str) -> set[Var]:
    return {out} if reduction in MEETING else set()


def _copied(out: Var, start: Atom, elements: np.ndarray, here: KnownPoint) -> Flow:
    """Elements that a value starts with; a number is every one."""
    assert isinstance(start, Var)
    return Flow(out, elements, ((start, elements if here.shapes[start] else np.zeros_like(elements)),), ((),))


# ---------------------------------------------------------------- loops

def _of_recurrence(e: Equation, op: Recurrence, active: set[Atom], here: KnownPoint) -> Iterator[FlowsOnce | LoopFlows]:
    steps = range(value(op.low, here.sizes), value(op.high, here.sizes))
    within = active | active_histories(e, active)
    yield FlowsOnce([[_copied(out, start, np.arange(here.count(out)), here)] for out, start in zip(e.outs, e.args, strict=False)
                     if start in active])
    yield LoopFlows(steps[::-1] if op.down else steps, [
        Stepped(s, op.step, steps, within, here) for s in whole_statements(e) if not within.isdisjoint(s.args)])


class Stepped:
    """A statement of a loop, as an operation over all steps `e`, at each of its steps."""

    def __init__(self, e: Equation, step: Index, steps: range, active: set[Atom], here: KnownPoint) -> None:
        assert isinstance(e.op, Boxed)
        self.e, self.op, self.step, self.steps, self.active, self.here = e, e.op, step, steps, active, here
        self.points = box_points(self.op, here.sizes) // max(len(steps), 1)
        self.matrices: MatrixFlows | None = None
        if isinstance(e.op, MatrixOperation):
            self.matrices = MatrixFlows(e, e.op, active, here, self.points * len(steps))
        self.moves, self.at_once = _moves(self.op, step), 1
        if isinstance(e.op, Comprehension) and not self.moves:
            self.at_once = max(1, MANY_POINTS // (1 + self.points * (1 + len(e.op.sources))))
        self.found: tuple[int, list[list[Block]]] = -1, []

    def at(self, t: int) -> list[Block]:
        """Its blocks at a step."""
        if not self.moves:
            part, k = divmod(t - self.steps[0], self.at_once)
            if self.found[0] != part:
                self.found = part, self.computed(self.steps[part * self.at_once:(part + 1) * self.at_once])
            return self.found[1][k]
        if self.found[0] < 0:
            self.found = 0, [self.computed(self.steps[k:k + 1])[0] for k in range(min(len(self.steps), 2))]
        first, second = self.found[1][0], self.found[1][-1]
        return [[_moved(f, g, t - self.steps[0]) for f, g in zip(*blocks, strict=True)]
                for blocks in zip(first, second, strict=True)]

    def computed(self, steps: range) -> list[list[Block]]:
        """Its blocks at each of some steps."""
        if self.matrices is not None:
            assert isinstance(self.op, MatrixOperation)
            first = (steps[0] - self.steps[0]) * self.points
            found = [self.matrices.blocks(at_one_step(self.op, self.step), {self.step: steps[0]}, first)]
        else:
            assert isinstance(self.op, Comprehension)
            _, known, flows = _of_comprehension(self.e, _over(self.op, steps), self.active, self.here)
            found = [[[]] for _ in steps]
            for f, some in flows:
                ends = np.searchsorted(known[self.step][some], np.arange(steps[0], steps[-1] + 2)).tolist()
                for k, (a, b) in enumerate(pairwise(ends)):
                    if a < b or self.moves:
                        found[k][0].append(f.over(slice(a, b)))
        if self.op.onto is None:
            return [[*blocks[:-1], [f._replace(afresh=True) for f in blocks[-1]]] for blocks in found]
        return found

    @cached_property
    def links(self) -> list[tuple[Var, set[Var], set[Var]]]:
        """As those of `LoopFlows`."""
        if self.matrices is not None:
            return [*self.matrices.links()]
        assert isinstance(self.op, Comprehension)
        reads = {i: a for i, s in self.op.reads() if isinstance(a := self.e.args[s.arg], Var) and a in self.active}
        positions, meetings = _of_body(simplify(self.op.body), tuple(reads))
        met = {reads[positions[q]] for each in meetings for q in each} | _met(self.e.outs[0], self.op.reduction)
        return [(self.e.outs[0], {reads[i] for i in positions}, met)]


def _over(op: Comprehension, steps: range) -> Comprehension:
    """A statement of a loop over some of the steps."""
    return replace(op, ranges=(replace(op.ranges[0], low=affine(steps[0]), high=affine(steps[-1] + 1)), *op.ranges[1:]))


def _moves(op: Boxed, step: Index) -> bool:
    """Whether a statement does at every step the same to elements that lie as much further along as the step is."""
    fixed = [x for r in op.ranges[1:] for x in (r.low, r.high)] + list(op.guards)
    for s in (*op.write, *[x for _, r in op.reads() for x in r.subscripts]):
        if not isinstance(s, Affine):
            return False
        fixed.append(without(s, step))
    if isinstance(op, Comprehension) and any(line.op.truth for line in op.body.equations):
        fixed += [s for s in op.sources if isinstance(s, Affine)]
    return all(step not in atoms(x) for x in fixed)


def _moved(f: Flow, following: Flow, k: int) -> Flow:
    """A flow of the first step k steps later, from that of the second step."""
    def there(at: np.ndarray, then: np.ndarray) -> np.ndarray:
        return at + k * (then[0] - at[0]) if len(at) and k else at
    return f._replace(to=there(f.to, following.to), reads=tuple([
        (a, there(at, then)) for (a, at), (_, then) in zip(f.reads, following.reads, strict=True)]))


# ---------------------------------------------------------------- comprehensions

def _of_comprehension(e: Equation, op: Comprehension, active: set[Atom], here: KnownPoint,
                      ) -> tuple[np.ndarray, Known, list[tuple[Flow, np.ndarray]]]:
    """The elements that are written, the indices at all points, and the flows, each with the points that it is of."""
    out = e.outs[0]
    if box_points(op, dict(here.sizes.items())) * (1 + len(op.sources)) > MOST_AT_ONCE:
        raise TooMany
    known, count = points(op, dict(here.sizes.items()))
    args = _arguments(e, here)
    to = _places(e, op.write, out, here, args, known, count)
    if not count:
        return to, known, []
    elements = {i: _places(e, s.subscripts, e.args[s.arg], here, args, known, count)
                for i, s in op.reads() if e.args[s.arg] in active}
    found = []
    for body, some in _decided(op, known, count) if elements else ():
        positions, meetings = _of_body(body, tuple(elements))
        reads = tuple([(a, elements[i][some]) for i in positions if isinstance(a := e.args[_read(op, i).arg], Var)])
        if reads:
            found.append((Flow(out, to[some], reads, meetings, op.reduction), some))
    return to, known, found


def _arguments(e: Equation, here: KnownPoint) -> list[Any]:
    """The values of arguments, of those that nothing depends on their shapes alone."""
    return [here.values[a] if isinstance(a, Var) and a in here.values else
            np.broadcast_to(0.0, here.shapes[a] if isinstance(a, Var) else ()) for a in e.args]


def _places(e: Equation, subscripts: tuple[Subscript, ...], tensor: Atom, here: KnownPoint, args: list[Any], known: Known,
            count: int) -> np.ndarray:
    """The numbers of the elements with these subscripts at all points; of leading subscripts, of what stands behind them."""
    shape = here.shapes[tensor][:len(subscripts)] if isinstance(tensor, Var) else ()
    at = subscripts_at(e, subscripts, tensor, shape, args, known, count)
    return np.ravel_multi_index(at, shape).astype(np.int64) if shape else np.zeros(count, np.int64)


def _read(op: Comprehension, position: int) -> Read:
    source = op.sources[position]
    assert isinstance(source, Read)
    return source


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


# ---------------------------------------------------------------- operations on matrices

class MatrixFlows:
    """The flows of an operation on matrices, of which there are `count` in all. What each reads of its matrix goes into one hub,
    and of each column of its right-hand side into another."""

    def __init__(self, e: Equation, op: MatrixOperation, active: set[Atom], here: KnownPoint, count: int) -> None:
        self.e, self.op, self.here = e, op, here
        self.operands = [a if isinstance(a := e.args[s.arg], Var) and a in active else None for s in op.sources]
        self.extents = [here.shapes[_tensor(e.args[s.arg])][len(s.subscripts):] for s in op.sources]
        self.columns = math.prod(self.extents[-1][1:]) if len(op.sources) > 1 else 1
        self.hubs = Var(), Var()
        for hub, each in zip(self.hubs, (1, self.columns), strict=True):
            here.shapes[hub] = (count * each,)

    def blocks(self, op: MatrixOperation, more: Known, first: int) -> list[Block]:
        """The blocks of the matrices of a box, whose hubs stand behind those of `first` others. (`more` are indices that are no
        range of the operation `op`.)"""
        known, count = points(op, {**self.here.sizes, **more})
        if count * sum(map(math.prod, self.extents)) > MOST_AT_ONCE:
            raise TooMany
        args, box = _arguments(self.e, self.here), first + np.arange(count)[:, None]
        found = list[Block]()
        for operand, source, shape, hub, each in zip(
                self.operands, op.sources, self.extents, self.hubs, (1, self.columns), strict=False):
            if operand is not None:
                every = np.arange(math.prod(shape))
                if hub is self.hubs[0] and op.name in ONE_SIDE:
                    row, column = np.divmod(every, max(shape[1], 1))
                    every = every[ONE_SIDE[op.name](column, row) if op.transposed else ONE_SIDE[op.name](row, column)]
                start = _places(self.e, source.subscripts, operand, self.here, args, known, count)[:, None]
                into = np.broadcast_to(box * each + every % each, (count, len(every)))
                found.append([Flow(hub, into.ravel(), ((operand, (start * math.prod(shape) + every).ravel()),), ((),))])
        out = self.e.outs[0]
        shape = self.here.shapes[out][len(op.write):]
        every = np.arange(math.prod(shape))
        start = _places(self.e, op.write, out, self.here, args, known, count)[:, None]
        kept = [k for k, a in enumerate(self.operands) if a is not None]
        reads = [(self.hubs[k], np.broadcast_to((box, box * self.columns + every % self.columns)[k], (count, len(every))).ravel())
                 for k in kept]
        met = [tuple([n for n, j in enumerate(kept) if (k, j) != (1, 1)]) for k in kept]   # linear in the right-hand side
        return [*found, [Flow(out, (start * len(every) + every).ravel(), tuple(reads), tuple(met))]]

    def links(self) -> Links:
        hubs = {hub: a for hub, a in zip(self.hubs, self.operands, strict=False) if a is not None}
        for hub, a in hubs.items():
            yield hub, {a}, set()
        yield self.e.outs[0], {*hubs}, {*hubs} if self.operands[0] is not None else set()


ONE_SIDE = {"solve_lower": np.greater_equal, "solve_upper": np.less_equal}
"""Of operations that do not read the whole matrix, how the row of what they read compares with its column."""


def _tensor(a: Atom) -> Var:
    assert isinstance(a, Var), "a matrix is a tensor"
    return a
