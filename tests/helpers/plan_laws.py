"""The law of plans: whatever a plan keeps and makes again, every step reads what it reads in the order of the program.

A plan is carried out on marks in the place of numbers. The mark of an element is its own number and the weights of all that has
been written into it; what the program has there at some step is known without a plan. So a mark tells an element that is another
one, is not complete, has been written over, or shares its memory.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

import numpy as np
from adcli.codegen.machine import veclib
from adcli.codegen.modules.calls import Base, Fill, Move
from adcli.codegen.modules.module import laid_out
from adcli.codegen.modules.plans import CallPlanner, PlanAtSizes
from adcli.codegen.modules.runtime import interface_of
from adcli.codegen.modules.segments import Action, Run, in_order, started
from adcli.codegen.modules.sweeps import Sweeps
from adcli.codegen.nests.stepwise import SUM, StepAccess, StepPart
from adcli.lang.ir import Program, Var
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.sizes.binding import number

WIDTH = 8
ELEMENT = 1 << 40
"""The weight of the number of an element, above those of all writes."""


class PlanOnMarks:
    """What a call does with inputs of these shapes, and these integers that are sizes: `actions`, with `windows` for some
    tensors."""

    def __init__(self, program: Program, shapes: Mapping[str, tuple[int, ...]], integers: Mapping[str, int]) -> None:
        module = laid_out(program, 4, veclib.host())
        interface, made = interface_of(module)
        planner = CallPlanner(module, interface.counts, made, None)
        counts = [tuple(integers[interface.inputs[k].name] for k in interface.counts)] if interface.counts else []
        plan = planner.plan((*(shapes[p.name] for p in program.params), *counts))
        at_sizes = PlanAtSizes(planner, plan.sizes)
        segments = at_sizes.segments
        self.sweeps = Sweeps(module.parts, plan.sizes, plan.shapes, WIDTH)
        planned = any(s.equations[0].op.checkpoint for s in module.steps if isinstance(s.equations[0].op, Recurrence))
        self.actions = segments.actions if planned else in_order(self.sweeps, True).actions   # what steps fill themselves, too
        self.bytes = segments.bytes
        self.windows = {v for v in segments.bytes if isinstance(v, Var)}
        self.places, self.end = at_sizes.offsets()
        self.results = [v for v in made if v in self.sweeps.writers]
        for v in self.results:
            self.places[v], self.end = self.end, self.end + WIDTH * prod(self.sweeps.shapes[v])
        self.parts = [replace(p, accesses=tuple(x for x in p.accesses if x.tensor in self.places)) for p in module.parts]
        random = Random(0)
        self.weights = {(p.k, x): random.randrange(1, ELEMENT >> 12) for p in self.parts for x in p.accesses if x.writes}

    def check(self, actions: Sequence[Action]) -> None:
        """AssertionError where a step reads or goes on from something else than in the order of the program, where a result is
        not complete, or where sums over steps have another order."""
        self.memory, self.base = np.zeros(self.end // WIDTH, np.int64), dict.fromkeys(self.windows, 0)
        for x in actions:
            self.run(x) if isinstance(x, Run) else self.arrange(x)
        for v in self.results:
            self.demand(v, np.arange(self.length(v)), len(self.parts), (0, 0), "at the end")
        assert self.sums(actions) == self.sums(in_order(self.sweeps, True).actions), "sums have another order"

    # ------------------------------------------------------------ what the program has

    def steps(self, p: StepPart) -> tuple[int, int]:
        low, high = self.sweeps.ends.get(p.k, (0, 1))
        return low, max(low, high)

    def mark(self, v: Var, elements: np.ndarray, k: int, steps: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The marks of elements behind all parts before part `k` and some of its steps; and which are there."""
        found = np.zeros(elements.shape, np.int64)
        for p in self.parts[:k + 1]:
            low, high = steps if p.k == k else self.steps(p)
            for x in p.accesses:
                if x.writes and x.tensor is v:
                    found += self.weights[p.k, x] * self.times(x, elements, low, high)
        return elements * ELEMENT + found, (found > 0) | (started(self.sweeps, v) is not None)

    def times(self, x: StepAccess, elements: np.ndarray, low: int, high: int) -> Any:
        """How many of these steps write elements."""
        if x.offset is not None:
            return (low <= elements - x.offset) & (elements - x.offset < high)
        return high - low if x.element is None else (high > low) & (elements == number(x.element, self.sweeps.sizes))

    def touched(self, x: StepAccess, low: int, high: int) -> np.ndarray:
        """The elements that a part reads or writes at some steps."""
        every = np.arange(self.length(x.tensor))
        return every if x.element is None and x.offset is None else every[self.times(x, every, low, high)]

    def length(self, v: Var) -> int:
        return self.sweeps.shapes[v][self.place(v)] if self.sweeps.shapes[v] else 1

    def place(self, v: Var) -> int:
        """The dimension of the step."""
        return max(x.place for p in self.parts for x in p.accesses if x.tensor is v)

    def sums(self, actions: Sequence[Action]) -> dict[Var, list[tuple[int, ...]]]:
        """In which order steps are added."""
        found: dict[Var, list[tuple[int, ...]]] = {}
        for x in actions:
            if isinstance(x, Run) and self.parts[x.k].adds:
                found.setdefault(self.parts[x.k].written, []).append((x.k, *self.ran(x), x.more))
        return found

    # ------------------------------------------------------------ what a plan does

    def ran(self, x: Run) -> tuple[int, int]:
        """The steps of a run."""
        low, high = self.steps(self.parts[x.k]) if x.low is None or x.high is None else (x.low, x.high)
        return (low, high) if low < high else (0, 0)

    def run(self, x: Run) -> None:
        p, (low, high) = self.parts[x.k], self.ran(x)
        begin, end = self.steps(p)
        before, behind = ((begin, low), (begin, high)) if p.way >= 0 else ((high, end), (low, end))
        for a in p.accesses:
            if not (a.writes and p.kind == SUM):
                self.demand(a.tensor, self.touched(a, low, high), p.k, before, f"part {p.k}, steps {low} to {high}", p.again)
        for a in [a for a in p.accesses if a.writes]:
            elements = self.touched(a, low, high)
            if p.kind == SUM:   # in any order: those who read it see what is missing
                on = x.more or (not p.again and self.sweeps.writers[a.tensor][0] < p.k)
                start = self.found(a.tensor, elements) if on else elements * ELEMENT
                self.put(a.tensor, elements, start + self.weights[p.k, a] * (high - low))
            else:
                self.put(a.tensor, elements, self.mark(a.tensor, elements, p.k, behind)[0])

    def rows(self, v: Var) -> np.ndarray:
        """The memory of a tensor or its window, an element a row."""
        shape, place = self.sweeps.shapes[v], self.place(v)
        size = self.bytes[v] // WIDTH if v in self.windows else prod(shape)
        memory = self.memory[self.places[v] // WIDTH:][:size]
        if v in self.windows:
            return memory.reshape(-1, max(1, prod(shape[1:])))
        return np.moveaxis(memory.reshape(shape or (1,)), place, 0)

    def found(self, v: Var, elements: np.ndarray) -> np.ndarray:
        """The marks of elements, 0 where they are not in the window, or not wholly what they are."""
        rows, at = self.rows(v), elements + self.base.get(v, 0)
        inside = (at >= 0) & (at < len(rows))
        marks = rows[np.where(inside, at, 0)].reshape(len(at), prod(rows.shape[1:]))
        return np.where(inside & (marks == marks[:, :1]).all(1), marks[:, 0], 0)

    def put(self, v: Var, elements: np.ndarray, marks: np.ndarray) -> None:
        rows, at = self.rows(v), elements + self.base.get(v, 0)
        assert not len(at) or (at.min() >= 0 and at.max() < len(rows)), f"'{v.name}' is written outside of its window"
        rows[at] = marks.reshape(-1, *[1] * (rows.ndim - 1))

    def demand(self, v: Var, elements: np.ndarray, k: int, steps: tuple[int, int], where: str, again: bool = False) -> None:
        """AssertionError where elements that are there in the order of the program are something else. What is made `again`
        may be made already."""
        (marks, there), found = self.mark(v, elements, k, steps), self.found(v, elements)
        wrong = there & (found != marks)
        if again:
            wrong &= found != self.mark(v, elements, k, self.steps(self.parts[k]))[0]
        wrong = elements[wrong]
        assert not len(wrong), f"{where}: element {wrong[0]} of '{v.name}' is not what the program has there"

    def arrange(self, x: Action) -> None:
        if isinstance(x, Move):
            (target, to), (source, start), size = x
            self.numbers(target, to, size)[...] = self.numbers(source, start, size).copy()
        elif isinstance(x, Base):
            assert isinstance(x.tensor, Var)
            self.base[x.tensor] = x.offset // (WIDTH * prod(self.sweeps.shapes[x.tensor][1:]))
        elif isinstance(x, Fill):
            v, offset = x.place
            assert isinstance(v, Var)
            if v not in self.windows:
                self.put(v, every := np.arange(self.length(v)), every * ELEMENT)
                return
            row = prod(self.sweeps.shapes[v][1:])
            first = offset // (WIDTH * row) - self.base[v]
            elements = np.arange(first, first + x.elements // row)
            self.put(v, elements, elements * ELEMENT)

    def numbers(self, name: Any, offset: int, size: int) -> np.ndarray:
        start = (self.places[name] + offset) // WIDTH
        return self.memory[start:start + size // WIDTH]
