"""Joint loops in LLVM IR: the statements of a group (adcli.codegen.nests.fusion) in one loop.

Each sum has as many accumulators as its own nest has, and adds to them in the same order: of registers that are done together,
number u goes to accumulator u modulo their number, but to the first one where its own nest would do these one by one.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.bodies import BodyWriter
from adcli.codegen.loops.index_loops import BOX, FEWER_BLOCKS
from adcli.codegen.loops.nest_writer import NestWriter
from adcli.codegen.nests.fusion import SCATTER, TOTAL, joinable
from adcli.codegen.nests.row_sweeps import SweptResult, one_statement
from adcli.codegen.nests.steps import ModuleStep
from adcli.codegen.schedules.schedule import Schedule
from adcli.lang.ir import Equation, Var
from adcli.lang.ir.affine import Affine
from adcli.lang.operations.comprehension import NEUTRAL, Range

JOINT = -1
"""The choice of the steps that are done so."""


@dataclass(frozen=True, slots=True)
class JointLoop:
    """The steps of these numbers, behind each other, in one loop over `along`. It has what they compute alone as long as that has
    `most` values: None if always. Where they are done by blocks of rows it is not used."""

    numbers: range
    steps: tuple[ModuleStep, ...]
    along: Range
    most: int | None

    @property
    def length(self) -> Affine:
        return self.along.high - self.along.low

    def wanted(self, choices: Sequence[int | None]) -> bool:
        """True if a text for these choices has it, with None for any."""
        return choices[self.numbers.start] in (None, JOINT)


def joint_loop(numbers: range, steps: Sequence[ModuleStep], lanes: int) -> JointLoop:
    """Those of a group. Boxes of a long sum depend on its accumulators, and threads may share a long step."""
    sums = [n.blocks for s in steps for n in s.schedules if n.reduces or n.inner]
    most = None if lanes == 1 else BOX * lanes * min(sums, default=1)
    return JointLoop(numbers, tuple(steps), steps[0].equations[0].op.ranges[0], most)


def simple(step: ModuleStep) -> Equation | None:
    """The equation of a step that may be in a group; None for any other."""
    if len(step.schedules) != 1 or step.loop is not None:
        return None
    (n,), (e,) = step.schedules, step.equations
    whole = n.packed or n.predicated or n.windows or n.powers or n.tile is not None or n.innermost is not None
    x = None if whole else joinable(e)
    return None if x is None or n.vector not in (None, n.op.ranges[0].index) or n.scatter != (x.kind == SCATTER) else e


class JointWriter(NestWriter):
    """Writes the loop of a group."""

    def __init__(self, env: Environment, joint: JointLoop) -> None:
        self.blocks = {s.equations[0].outs[0]: s.schedules[0].blocks for s in joint.steps}
        schedule, self.results = one_loop(joint)
        first = joint.steps[0].equations[0]
        super().__init__(env, replace(first, op=schedule.op, args=schedule.args), schedule)
        self.of_all = self.op

    @contextmanager
    def of(self, r: SweptResult) -> Iterator[None]:
        """The nest as that of one result."""
        self.out, self.op = r.out, replace(self.of_all, write=r.write)
        yield
        self.op = self.of_all

    def write(self) -> None:
        sums = [r for r in self.results if r.kind == TOTAL]
        accumulators = {r.out: [self.vectors.constant(NEUTRAL["+"])] * self.blocks[r.out] for r in sums}
        index = self.op.ranges[0].index
        low, high = self.limits(index)
        for first, last, step, count in self.turns(low, high):
            names = self.open_loop(index, first, last, step, [(self.real, x) for r in sums for x in accumulators[r.out]])
            for r in sums:
                accumulators[r.out], names = names[:self.blocks[r.out]], names[self.blocks[r.out]:]
            self.tail = self.remaining(high) if count == 0 else None
            self.registers(max(count, 1), accumulators)
            self.tail = self.mask = None
            ends = self.close(index, [x for r in sums for x in accumulators[r.out]])
            for r in sums:
                accumulators[r.out], ends = ends[:self.blocks[r.out]], ends[self.blocks[r.out]:]
        for r in sums:
            with self.of(r):
                self.store([(0, 0)], [self.across(accumulators[r.out])], 1)

    def turns(self, low: str, high: str) -> list[tuple[str, str, int, int]]:
        """First, last, step and registers of the loops: those of each sum alone are among them."""
        if self.schedule.vector is None:
            return [(low, high, 1, 1)]
        every, found = {b for n in self.blocks.values() for b in (n, min(n, FEWER_BLOCKS), 1)}, []
        for blocks in sorted(every, reverse=True):
            end = self.whole(low, high, self.lanes * blocks)
            found.append((low, end, self.lanes * blocks, blocks))
            low = end
        return [*found, (low, high, self.lanes, 0)]

    def registers(self, count: int, accumulators: dict[Var, list[str]]) -> None:
        """So many registers of all statements."""
        body = BodyWriter(self, 1, count)
        body.read_sources()
        for r in self.results:
            body.compute(r.equations)
        for r in self.results:
            own = self.blocks[r.out]
            for u in range(count):
                if r.kind == TOTAL:
                    k = u % own if count in (own, min(own, FEWER_BLOCKS)) or count > own else 0
                    old = accumulators[r.out][k]
                    new = self.accumulated(body, 0, u, old, r.value, r.product)
                    accumulators[r.out][k] = new if self.tail is None else self.put(self.chosen(new, old))
                else:
                    with self.of(r):
                        value = body.operand(r.value, 0, u, self.lanes > 1)
                        if r.kind == SCATTER:
                            self.scatter(0, u, value)
                        else:
                            self.stored(self.step_over(self.address(r.out, r.write, 0)[0], u), value)


def one_loop(joint: JointLoop) -> tuple[Schedule, list[SweptResult]]:
    """The nest of a group, and what is written in it."""
    e, results = one_statement([s.equations[0] for s in joint.steps])
    index, some = e.op.ranges[0].index, joint.steps[0].schedules[0].vector is not None
    blocks = max(n.blocks for s in joint.steps for n in s.schedules)
    return Schedule(e.op, e.args, (), () if some else (index,), index if some else None, blocks=blocks), results
