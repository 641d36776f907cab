"""The steps of a module along the steps of time: which elements of histories each of them reads and writes.

A history is a tensor with one dimension for the step of a loop. Beside loops, operations on tensors are `stepwise` where they go
along the step, too: at step t they read and write elements a constant number of steps from t. So they can be done for some steps
and then for others, with the steps of a loop between.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.codegen.schedules.schedule import Schedule, indices
from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.operations.comprehension import Subscript, fixed_indices
from adcli.lang.operations.matrix import Boxed, MatrixOperation, elements_read
from adcli.lang.operations.recurrence import Recurrence, step_offset, whole_statements

PLAIN, LOOP, SUM, EACH, ELEMENT = "plain", "loop", "sum", "each", "element"
"""Kinds of steps of a module: not stepwise; a loop; something that goes along the step, into a tensor that has no step; the same
into a history; an assignment of one element of a history."""
NEITHER = PLAIN, None, False
ZERO = affine(0)


@dataclass(frozen=True, slots=True)
class StepAccess:
    """A tensor that is read or written: at a distance from the step, at one element along the step, or in another way. The step
    is its dimension `place`."""

    tensor: Var
    offset: int | None = None
    element: Affine | None = None
    writes: bool = False
    place: int = 0


@dataclass(frozen=True, slots=True)
class StepPart:
    """A step of a module, number `k`: its kind, its steps, the index that goes along them, and what it reads and writes; the
    tensors are those in whose memory they lie. `way` is 1 or -1 for a loop, else 0. With `again` a second run gives the same;
    with `adds` several steps of time give one element."""

    k: int
    kind: str
    accesses: tuple[StepAccess, ...]
    low: Affine = ZERO
    high: Affine = ZERO
    index: Index | None = None
    way: int = 0
    again: bool = True
    adds: bool = False
    starts: Mapping[Var, float | None] = ()  # type: ignore[assignment]
    """Initial value of elements that nothing writes, by history; None where all that are read are written."""

    @property
    def free(self) -> bool:
        """True if it could be run in any sweep."""
        return self.kind in (EACH, ELEMENT)

    def moves(self, a: StepAccess) -> bool:
        """True if an access goes along the step, or makes one element."""
        return self.kind != PLAIN and (a.offset is not None or (self.kind == ELEMENT and a.writes))

    @property
    def written(self) -> Var:
        """The one tensor that a part writes, or the first."""
        return next(a.tensor for a in self.accesses if a.writes)

    def reads(self, tensor: Var) -> list[int]:
        return [a.offset for a in self.accesses if a.tensor is tensor and a.offset is not None and not a.writes]

    def writes(self, tensor: Var) -> list[int]:
        return [a.offset for a in self.accesses if a.tensor is tensor and a.offset is not None and a.writes]


def step_parts(steps: Sequence[tuple[Sequence[Equation], Sequence[Schedule]]], home: Callable[[Var], Var],
               given: Collection[Atom], starts: Callable[[int], Mapping[Var, float | None]]) -> list[StepPart]:
    """The steps of a module: equations, and the schedules that they have. `home` is where a value lies, `given` are inputs and
    what does not lie in memory, `starts` what a step fills its results with."""
    places = _Places(steps, home, given)
    return [places.part(k, starts(k)) for k in range(len(steps))]


def subscript_at(subscripts: Sequence[Subscript], place: int | None) -> Subscript | None:
    """The subscript of a dimension; None where none is asked for, and of those that an operation on matrices takes whole."""
    return subscripts[place] if place is not None and place < len(subscripts) else None


class _Places:
    """Which dimension of a tensor is the step: known of histories, and of what is read or made beside them along the step."""

    def __init__(self, steps: Sequence[tuple[Sequence[Equation], Sequence[Schedule]]], home: Callable[[Var], Var],
                 given: Collection[Atom]) -> None:
        self.steps, self.home, self.given = steps, home, given
        self.found: dict[Var, int | None] = {}
        for equations, _ in steps:
            if isinstance(equations[0].op, Recurrence):
                self.of_loop(equations[0], equations[0].op)
        before = -1
        while len(self.found) > before:
            before = len(self.found)
            for equations, schedules in steps:
                if (i := self.index(equations[0], schedules)) is not None:
                    self.learn(equations[0], i)

    def of_loop(self, e: Equation, op: Recurrence) -> None:
        for out, inner in zip(e.outs, op.histories, strict=True):
            if out.shape != inner.shape:   # a ring
                self.found[self.home(out)] = None
        for s in whole_statements(e):
            self.learn(s, op.step)

    def learn(self, e: Equation, i: Index) -> None:
        """Note the tensors read and written at a distance from index `i`."""
        for a, subscripts in self.accesses(e):
            having = [d for d, s in enumerate(subscripts) if i in indices(s)]
            if having:
                plain = len(having) == 1 and step_offset(subscripts[having[0]], i) is not None
                place = having[0] if plain else None
                if self.found.setdefault(a, place) != place and not (plain and self.found[a] is None):
                    self.found[a] = None

    def accesses(self, e: Equation[Boxed]) -> Iterator[tuple[Var, tuple[Subscript, ...]]]:
        """The tensors that are made here, with the subscripts."""
        for a, subscripts in ((e.outs[0], e.op.write), *elements_read(e, e.op)):
            if isinstance(a, Var) and a not in self.given:
                yield self.home(a), subscripts

    def index(self, e: Equation, schedules: Sequence[Schedule]) -> Index | None:
        """The index of an operation that goes along the step."""
        if not isinstance(e.op, Boxed):
            return None
        mine = {r.index for r in e.op.ranges}
        votes: Counter[Index] = Counter()
        for n, (a, subscripts) in enumerate(self.accesses(e)):
            place = self.found.get(a)
            s = subscript_at(subscripts, place)
            i = next((i for i in mine if s is not None and step_offset(s, i) is not None), None)
            if i is not None:
                votes[i] += 1 if n else len(e.args) + 2
        for i, _ in votes.most_common(1):
            if all(any(r.index is i for r in n.op.ranges) and all(p.along is not i for p in n.powers) for n in schedules):
                return i
        return None

    # ------------------------------------------------------------ parts

    def part(self, k: int, starts: Mapping[Var, float | None]) -> StepPart:
        equations, schedules = self.steps[k]
        e = equations[0]
        if isinstance(e.op, Recurrence):
            return self.loop(k, e, e.op, starts)
        kind, i, adds = self.kind(e, schedules) if isinstance(e.op, Boxed) else NEITHER
        if kind == PLAIN:
            return StepPart(k, PLAIN, tuple(dict.fromkeys(self.whole(equations))), starts=starts)
        made = StepPart(k, kind, tuple(self.touched(e, i)), adds=adds, starts=starts)
        if i is None:
            return made
        r = next(r for r in e.op.ranges if r.index is i)
        return replace(made, low=r.low, high=r.high, index=i, again=e.op.onto is None)

    def kind(self, e: Equation[Boxed], schedules: Sequence[Schedule]) -> tuple[str, Index | None, bool]:
        """The kind of an operation, the index that goes along the step, and whether several steps of time give one element."""
        op, i, out = e.op, self.index(e, schedules), self.home(e.outs[0])
        if any(r.index is i and (indices(r.low) or indices(r.high)) for r in op.ranges):
            return NEITHER
        if (place := self.found.get(out)) is not None:
            s, start = subscript_at(op.write, place), op.start(e)
            if s is None or (start is not None and (isinstance(start, Lit) or self.home(start) is not out)):
                return NEITHER
            if i is not None:
                return (EACH, i, False) if step_offset(s, i) is not None else NEITHER
            return (ELEMENT, None, False) if isinstance(s, Affine) and not indices(s) else NEITHER
        if i is None or isinstance(op, MatrixOperation):
            return NEITHER
        several = i not in fixed_indices(op.ranges, op.write) or any(n.scatter for n in schedules)
        return (SUM, i, several) if op.reduction != "=" or not several else NEITHER

    def loop(self, k: int, e: Equation, op: Recurrence, starts: Mapping[Var, float | None]) -> StepPart:
        found = [a for s in whole_statements(e) for a in self.touched(s, op.step)]
        found += [StepAccess(self.home(out), writes=True) for out in e.outs
                  if out not in self.given and self.found.get(self.home(out)) is None]
        again = all(s.op.onto is None for s in op.statements)
        return StepPart(k, LOOP, tuple(dict.fromkeys(found)), op.low, op.high, op.step, -1 if op.down else 1, again,
                        starts=starts)

    def touched(self, e: Equation[Boxed], i: Index | None) -> Iterator[StepAccess]:
        """Accesses of an operation."""
        for n, (a, subscripts) in enumerate(((e.outs[0], e.op.write), *elements_read(e, e.op))):
            if not isinstance(a, Var) or a in self.given:
                continue
            a, place = self.home(a), self.found.get(self.home(a))
            s = subscript_at(subscripts, place)
            offset = None if s is None or i is None else step_offset(s, i)
            fixed = isinstance(s, Affine) and offset is None and not indices(s)
            yield StepAccess(a, offset, s if fixed and isinstance(s, Affine) else None, n == 0, place or 0)
        if isinstance(start := e.op.start(e), Var) and self.home(start) is not self.home(e.outs[0]) \
                and start not in self.given:
            yield StepAccess(self.home(start))

    def whole(self, equations: Sequence[Equation]) -> Iterator[StepAccess]:
        """Accesses of a step that reads and writes whole tensors."""
        if len(equations) == 1 and isinstance((e := equations[0]).op, Boxed):
            yield from (a for a in self.touched(e, None) if not a.writes)
        else:
            yield from (StepAccess(self.home(a)) for e in equations for a in e.args if isinstance(a, Var) and a not in self.given)
        yield from (StepAccess(self.home(out), writes=True) for e in equations for out in e.outs)
