"""Elements of its histories that a loop over steps assigns and reads."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache

from adcli.codegen.nests.fusion import own_indices
from adcli.lang.ir import Atom, Equation, Lit, Shape
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, substituted
from adcli.lang.operations.comprehension import Comprehension, Range, Subscript
from adcli.lang.operations.matrix import Boxed, accesses
from adcli.lang.operations.recurrence import Recurrence, at_one_step, step_place, whole_statements

MOST_CONDITIONS = 12
"""Conditions on indices beyond which it is not found out whether statements assign all elements together."""


@lru_cache(maxsize=4)
def history_elements(e: Equation[Recurrence]) -> HistoryElements:
    """The elements that a recurrence assigns and reads; asked many times of one."""
    return HistoryElements(e)


class HistoryElements:
    """Elements of histories in the statements of a recurrence, which are operations over all steps here.

    `touched` has for each value the statements that read and write its elements, with the subscripts, a write before what its
    statement reads; `writers` those that write it. The values of `in_memory` lie there whole, as operations on matrices read and
    write them.
    """

    def __init__(self, e: Equation[Recurrence]) -> None:
        self.loop = e
        self.touched: defaultdict[Atom, list[tuple[Equation, tuple[Subscript, ...]]]] = defaultdict(list)
        self.writers: defaultdict[Atom, list[Boxed]] = defaultdict(list)
        self.in_memory: set[Atom] = set()
        for s in whole_statements(e):
            self.writers[s.outs[0]].append(s.op)
            if isinstance(s.op, Comprehension):
                for a, subscripts in reversed([*accesses(s, s.op)]):
                    self.touched[a].append((s, subscripts))
            else:
                self.in_memory.update((*s.args, *s.outs))

    def one_step(self, k: int, outside: Collection[Atom]) -> int | None:
        """The dimension of history k that is the step, where no element of it is read but at the step of its writing, and after
        that; else None. It is then a tensor of one step."""
        step, out = self.loop.op.step, self.loop.outs[k]
        if out in outside or not isinstance(self.loop.args[k], Lit) or out in self.in_memory or out.whole:
            return None   # subscripts lie in memory
        found: tuple[int, Affine] | None = None
        for s, subscripts in self.touched[out]:
            if found is None:
                if s.outs != (out,) or any(a is out for n, a in enumerate(s.args) if n != s.op.onto):
                    return None
                if (at := step_place(s.op, step)) is None:
                    return None
                found = at[0], affine(step) + at[1]
            elif s.outs == (out,) and s.op.onto is None and s.op.reduction != "=":
                return None
            if subscripts[found[0]] != found[1]:
                return None
        return found[0] if found else None

    def written_wholly(self, k: int, steps: Collection[int] = ()) -> bool:
        """True if the loop assigns every element of history k, but for those of some `steps` that something before it assigned,
        before anything else is done with them."""
        op, found = self.loop.op, self.assigned(k)
        if found is None:
            return False
        place, offset = found
        first = (op.low + offset).number
        return (op.high + offset == self.loop.outs[k].shape[place] and first is not None and first >= 0
                and set(range(first)) <= set(steps))

    def assigned(self, k: int) -> tuple[int, int] | None:
        """The dimension of history k that is the step, and which element along it, counted from the step, its first statements
        assign at every step as a whole; None where they do anything else."""
        step, out = self.loop.op.step, self.loop.outs[k]
        mine = [x for x in self.writers[out] if isinstance(x, Comprehension)]
        found = step_place(mine[0], step) if out not in self.in_memory else None
        if found is None:
            return None
        first = [x for x in mine if x.onto is None and step_place(x, step) == found]
        cases = [guarded(x, step, out.shape, found[0]) for x in first]
        return found if first[:1] == mine[:1] and one_holds([g for g in cases if g is not None]) else None

    def boundary(self, k: int, before: Equation) -> int | None:
        """The step of history k whose elements an equation assigns, all of them; None where it does anything else."""
        statement = next(iter(self.writers[self.loop.outs[k]]), None)
        if not isinstance(statement, Comprehension) or not isinstance(op := before.op, Comprehension):
            return None
        written = step_place(statement, self.loop.op.step)
        if written is None:
            return None
        at, place = op.write[written[0]], written[0]
        return at.number if isinstance(at, Affine) and covers(op, place) else None


def guarded(statement: Comprehension, step: Index, shape: Shape, place: int) -> frozenset[Affine] | None:
    """The conditions that say which elements a statement writes, at a step, of those with its subscript in dimension `place`, in
    terms of the same indices for all; None where there are no such."""
    op = at_one_step(statement, step)
    by: NewSubstitution = {step: affine("step")}
    conditions = list(op.guards)
    for d, (s, extent) in enumerate(zip(op.write, shape, strict=True)):
        found = moved_range(op, s) if d != place else None
        if found is not None and found[0].index not in by:
            (r, shift), at = found, affine(f"index {d}")
            by[r.index] = at - shift
            first, end = r.low + shift, r.high + shift
            conditions += [g for g, always in ((at - first, first == affine(0)), (end - 1 - at, end == extent)) if not always]
        elif d != place:
            return None
    if op.reduction == "=" and any(r.index not in by for r in op.ranges):
        return None
    whole = frozenset(substituted(g, by) for g in conditions)
    return None if any(g.indices() for g in whole) else whole


def moved_range(op: Comprehension, s: Subscript) -> tuple[Range, Affine] | None:
    """The range of the index that a subscript is, and what is added to that; a subscript without indices is added to 0. None for
    any other subscript."""
    if not isinstance(s, Affine):
        return None
    for r in op.ranges:
        if (shift := s - affine(r.index)).indices() == []:
            return r, shift
    return None if s.indices() else (Range(Index("edge"), affine(0), affine(1)), s)


def one_holds(cases: list[frozenset[Affine]]) -> bool:
    """True if all conditions of one of the cases hold, whatever the values in them are: they are told apart by conditions and
    their opposites."""
    known = {g for case in cases for g in case}
    if not cases or not all(cases):
        return bool(cases)
    if len(known) > MOST_CONDITIONS:
        return False
    g = next(iter(cases[0]))
    opposite = -g - 1
    return (one_holds([case - {g} for case in cases if opposite not in case])
            and one_holds([case - {opposite} for case in cases if g not in case]))


def covers(op: Comprehension, place: int) -> bool:
    """True if an operation writes every element that has its subscript in dimension `place`, whatever the sizes are."""
    found = own_indices(op, place)
    return found is not None and not op.guards and (len(op.ranges) == len(found) or op.reduction != "=")
