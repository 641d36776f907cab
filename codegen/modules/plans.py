"""Plans of calls: what follows from the shapes of the inputs.

The sizes, the proof that no subscript is outside, the memory needed (known before any is taken), which nest each step uses, where
in one block of memory the values lie that pass from step to step, and which steps threads share, if the whole is worth it.
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf, prod
from typing import Any

import numpy as np
from adcli.codegen.loops.joint_writer import JOINT
from adcli.codegen.loops.thread_pool import EVERYTHING, FROM, TO, WHOLE
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.modules import matrices
from adcli.codegen.modules.array_calls import blank
from adcli.codegen.modules.calls import CallPlan, ResultMemory, Shapes, Stretch, joined, numbered, refuse_much, seconds
from adcli.codegen.modules.module import TensorModule, gathers
from adcli.codegen.modules.segments import Run, SegmentPlan, in_order, planned
from adcli.codegen.modules.sweeps import Sweeps
from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.nests.row_sweeps import RowBlocks
from adcli.codegen.nests.steps import ModuleStep, of_its_own
from adcli.codegen.schedules.schedule import Schedule
from adcli.codegen.schedules.search import cost
from adcli.lang.ir import Atom, Equation, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import Comprehension, Read
from adcli.lang.operations.limits import BEYOND, MOST_INSTRUCTIONS, too_much
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.sizes.binding import bind, number, shapes
from adcli.lang.sizes.in_bounds import prove, prove_steps, require_words

USUAL_STEPS = 64
"""As many steps a loop is supposed to take at most that is left when it has ended."""
OF_A_CALL = 20.0
"""Instructions of a call in a loop, beside those of its nest."""
WORTH_THREADS = 5.5e-4
"""Seconds of what a team shares of a run beyond which it is worth more than one thread."""
WORTH_LINGERING, LINGERED = 7e-5, 1e-3
"""Threshold while a worker is still spinning, and how long (s) it spins after a run."""
LEAST_SHARED = 0.5
"""The least part of a run that a team shares, if the run is worth one."""
WORTH_HELP = 5e-6
"""Seconds of one step of it, or of what is done at one step of a loop, beyond which threads help with that."""
HELP = 2e-5
"""Seconds of a step that help gains nothing by: to hear of it, to have the data, to wait for one another."""


class CallPlanner:
    """Planner of the calls of a module.

    `counts` are the positions of the integers among the inputs that sizes are made of, `made` the results that compiled code
    makes; `limit` the bytes that a call may take.
    """

    def __init__(self, module: TensorModule, counts: Sequence[int], made: Sequence[Var], limit: int | None) -> None:
        self.module, self.program, self.counts, self.made = module, module.program, counts, made
        self.limit, self.real = limit, np.dtype(module.entry.code)
        self.own = module.values[len({p.var for p in self.program.params}) + len(made):]

    def plan(self, key: Shapes) -> CallPlan:
        """The plan for inputs of these shapes, behind which stand the integers that are sizes, if there are any. AdError where
        they do not fit, or need too much memory."""
        params = self.program.params
        integers = {params[k].name: n for k, n in zip(self.counts, key[-1], strict=True)} if self.counts else {}
        sizes = bind(self.program, {p.name: s for p, s in zip(params, key[:len(params)], strict=True)}, integers)
        prove(self.program, sizes)
        prove_steps(self.program, sizes)
        return PlanAtSizes(self, sizes).plan()

    def size(self, v: Var) -> int:
        """Bytes of an element."""
        return 8 if v.integer or v.truth else self.real.itemsize


class PlanAtSizes:
    """A plan under construction: the `shapes` of all values, the actions, and the `cells` of `env`, with the nests that steps use
    and what of them is for a team."""

    def __init__(self, planner: CallPlanner, sizes: Mapping[str, int]) -> None:
        self.planner, self.module, self.program, self.of_inputs = planner, planner.module, planner.program, sizes
        self.sizes = dict(sizes)
        self.shapes = shapes(self.program, sizes)
        for v in self.module.env.tensors:
            self.shapes.setdefault(v, tuple([number(x, sizes) for x in v.shape]))
        self.segments = self.segmented()
        self.sizes |= self.whole_ranges()
        self.cells: Any = (ctypes.c_int64 * self.module.cells)()
        for name, at in self.module.env.sizes.items():
            self.cells[at] = self.sizes.get(name, 0)

    def plan(self) -> CallPlan:
        """All of it. AdError where a gather has nothing to choose from, or a run is too much."""
        self.refuse_empty()
        module, planner, segments = self.module, self.planner, self.segments
        taken, of_team = [list(x) for x in zip(*[self.step(k, s) for k, s in enumerate(module.steps)], strict=True)] or [[], []]
        in_rows = {k for g in module.rows if self.sizes[g.name("parts")] for k in range(g.first, g.last)}
        for j in module.joints:
            if 0 < number(j.length, self.sizes) <= (j.most or 0) and in_rows.isdisjoint(j.numbers):
                for k in j.numbers:
                    self.cells[module.choices + k] = JOINT
        shared = sum(of_team) + sum(self.share_rows(k, g, taken[g.first:g.last]) for k, g in enumerate(module.rows))
        live, memory = self.offsets()
        outputs = [self.shapes[v] for v in planner.made]
        results = sum(planner.size(v) * prod(self.shapes[v]) for v in planner.made)
        refuse_much(memory + results, planner.limit)
        instructions = sum(x * segments.times(k) for k, x in enumerate(taken))
        refuse_long(instructions)
        numbers = self.numbers(live)
        actions = [numbered(self.stretch(x) if isinstance(x, Run) else x, numbers) for x in segments.actions]
        places = {numbers[v]: (at, self.count(v)) for v, at in live.items()}
        helped = inf if module.parts else module.helped(self.cells)
        return CallPlan(self.cells, places, memory, memory + results, outputs,
                        ResultMemory(outputs, planner.real.itemsize, partial(blank, dtype=planner.real)), joined(actions),
                        idle_window(shared, sum(taken), helped), instructions, dict(self.of_inputs), self.shapes, segments.bytes)

    def numbers(self, offsets: Mapping[object, int]) -> dict[object, int]:
        """Numbers for the names of memory: the cells of values, and numbers below 0 for what checkpoints keep."""
        kept = [name for name in offsets if not isinstance(name, Var)]
        return dict(chain(self.module.env.tensors.items(), ((name, -1 - k) for k, name in enumerate(kept))))

    # ------------------------------------------------------------ nests, and what threads share of them

    def step(self, k: int, step: ModuleStep) -> tuple[float, float]:
        """Choose the nests of a step; its instructions, and those of them that a team shares."""
        if step.loop is not None:
            return self.loop(step, step.loop)
        best, instructions = self.choose(k, self.costs(step, self.sizes))
        return instructions, self.share_step(k, step.schedules[best], [self.sizes]) if step.schedules else 0.0

    def loop(self, step: ModuleStep, loop: StepLoop) -> tuple[float, float]:
        """The same of a recurrence, by the middle one of its steps, for all steps."""
        low, high = number(loop.low, self.sizes), number(loop.high, self.sizes)
        count = min(high - low, USUAL_STEPS) if loop.leaves else high - low
        taken = shared = 0.0
        middle, *ends = [{**self.sizes, loop.step: t} for t in ((low + high) // 2, low, high - 1)]
        for inner in step.each if low < high else ():
            for sizes in ends:
                self.costs(inner, sizes)
            k = self.module.choosers.index(inner)
            best, instructions = self.choose(k, self.costs(inner, middle, high - low))
            taken += (instructions + OF_A_CALL) * count
            if inner.schedules:
                shared += self.share_step(k, inner.schedules[best], [middle, *ends], high - low) * count
        return taken, shared

    def costs(self, step: ModuleStep, sizes: Mapping[str, int], steps: int = 1) -> list[float]:
        """Costs of the schedules of a step, at each of so many steps of a loop. AdError where its whole numbers are too large."""
        for schedule in step.schedules:
            require_words(self.program, step.equations[0], schedule.op, sizes, self.shapes)
        if step.calls:
            return matrices.costs(step.equations[0], sizes)
        return [cost(n, sizes, self.module.entry.lanes, steps) for n in step.schedules]

    def choose(self, k: int, costs: Sequence[float]) -> tuple[int, float]:
        """Enter the cheapest nest; its number and cost."""
        least = min(costs, default=0.0)
        best = self.cells[self.module.choices + k] = costs.index(least) if costs else 0
        return best, least

    def share_step(self, k: int, schedule: Schedule, at: Sequence[Mapping[str, int]], steps: int = 1) -> float:
        """Enter the values of a nest's outermost index for a team, where that pays and they are the same for all of these sizes;
        the instructions of what is entered. The first sizes are the usual ones."""
        if self.module.env.team is None or schedule.shared is None:
            return 0.0
        taken, r = cost(schedule, at[0], self.module.entry.lanes, steps), schedule.range(schedule.shared)
        ends = {(number(r.low, sizes), number(r.high, sizes)) for sizes in at}
        if seconds(taken) < WORTH_HELP or len(ends) > 1:
            return 0.0
        self.enter(k, *ends.pop(), schedule.whole(self.module.entry.lanes))
        return taken

    def enter(self, k: int, low: int, high: int, whole: int = 1) -> None:
        """Enter values of an index for a team, in parts of multiples of `whole`."""
        assert self.module.env.team is not None
        first = self.module.env.team.of(k)
        self.cells[first + FROM], self.cells[first + TO], self.cells[first + WHOLE] = low, high, whole

    def entered(self, k: int) -> bool:
        """True if a team has something of a step."""
        team = self.module.env.team
        return team is not None and bool(self.cells[team.of(k) + FROM] < self.cells[team.of(k) + TO])

    def share_rows(self, k: int, g: RowBlocks, taken: Sequence[float]) -> float:
        """Enter the parts of rows that steps go along for a team, in place of what each of these has entered; the instructions
        that are entered so and have not been before."""
        parts = self.sizes[g.name("parts")]
        if self.module.env.team is None or not parts:
            return 0.0
        self.enter(len(self.module.choosers) + k, 0, parts)
        return sum(t for n, t in zip(range(g.first, g.last), taken, strict=True) if not self.entered(n))

    # ------------------------------------------------------------ actions

    def whole_ranges(self) -> dict[str, int]:
        """Cells for whole ranges: a step goes along all steps of time; and the rows done together."""
        found: dict[str, int] = {}
        for g in self.module.rows:
            found |= g.cells(self.sizes, self.planner.size, EVERYTHING)
        for step, p in zip(self.module.steps, self.module.parts, strict=False):
            if step.block is not None:
                ends = (-EVERYTHING, EVERYTHING) if step.loop is None else (number(p.low, self.sizes), number(p.high, self.sizes))
                found.update(zip(step.block.names, (*ends, 0), strict=True))
        return found

    def segmented(self) -> SegmentPlan:
        """Actions in order."""
        module = self.module
        if not module.parts:
            groups = *(j.numbers for j in module.joints), *(range(g.first, g.last) for g in module.rows)
            together = {k: r for r in groups for k in r}
            touched = list(dict.fromkeys(together.get(k, range(k, k + 1)) for k in range(len(module.steps))))
            apart: dict[object, int] = {}
            for g in module.rows:
                given = g.cells(self.sizes, self.planner.size, EVERYTHING)
                apart |= {v: max(0, given[g.name("parts")] - 1) * given[g.bytes_of_sum(k)] for k, (_, v) in g.sums.items()}
            return SegmentPlan([Run(k) for k in range(len(module.steps))], apart, [set(x) for x in touched])
        sweeps = Sweeps(module.parts, self.sizes, self.shapes, self.planner.real.itemsize)
        loops = [(k, s) for k, s in enumerate(module.steps) if s.loop is not None]
        checkpointed = {k for k, s in loops if isinstance(op := s.equations[0].op, Recurrence) and op.checkpoint}
        segments = planned(sweeps, checkpointed, set(self.planner.own)) if checkpointed else None
        return segments or in_order(sweeps, bool(checkpointed))

    def stretch(self, run: Run) -> Stretch:
        """One step, for some of its steps of time or all; a team shares what of them is done."""
        step, env = self.module.steps[run.k], self.module.env
        if run.low is None or run.high is None or step.block is None:
            return Stretch(run.k, run.k + 1)
        given = [(env.sizes[n], x) for n, x in zip(step.block.names, (run.low, run.high, int(run.more)), strict=True)]
        schedule = step.schedules[self.cells[self.module.choices + run.k]] if step.schedules else None
        if schedule is not None and env.team is not None and self.entered(run.k) and schedule.shared is step.block.index:
            first = env.team.of(run.k)
            given += [(first + FROM, run.low), (first + TO, run.high)]
        return Stretch(run.k, run.k + 1, tuple(given))

    # ------------------------------------------------------------ memory

    def offsets(self) -> tuple[dict[object, int], int]:
        """Where values lie that are neither input nor result, and the bytes of all: a value's place is free for others after the
        last step that reads it."""
        values, cells = self.module.values, self.module.env.tensors
        own = set[object](self.planner.own)
        phases: list[list[object]] = []
        for touched in self.segments.touched:
            names: dict[object, None] = {}
            for k in sorted(k for k in touched if isinstance(k, int)):
                names.update((values[cells[v]], None) for v in used(self.module.steps[k]) if isinstance(v, Var) and v in cells)
            phases.append([*(v for v in names if v in own), *(x for x in touched if isinstance(x, tuple))])
        last = {v: k for k, lives in enumerate(phases) for v in lives}
        placed, free, end = dict[object, int](), list[tuple[int, int]](), 0
        lying: dict[int, list[tuple[int, int]]] = {}
        for k, lives in enumerate(phases):
            for v in [v for v in lives if v not in placed]:
                size = -(-max(self.count(v), 8) // CACHE_LINE) * CACHE_LINE
                at = next((i for i, (_, n) in enumerate(free) if n >= size), None)
                if at is None:
                    start, end = end, end + size
                else:
                    start, n = free.pop(at)
                    if n > size:
                        free.append((start + size, n - size))
                placed[v] = start
                lying.setdefault(last[v], []).append((start, size))
            free = merged(free + lying.pop(k, []))
        return placed, end

    def count(self, v: object) -> int:
        """The bytes of a value, or of what checkpoints keep."""
        windows = self.segments.bytes
        return windows[v] if v in windows or not isinstance(v, Var) else self.planner.size(v) * prod(self.shapes[v])

    def refuse_empty(self) -> None:
        """AdError where a gather has nothing to choose from."""
        done = [step.equations if step.loop is None else step.loop.equations for step in self.module.steps
                if step.loop is None or number(step.loop.low, self.sizes) < number(step.loop.high, self.sizes)]
        for e, op in [(e, e.op) for equations in done for e in equations if isinstance(e.op, Comprehension)]:
            for s, tensor, d in gathers(e, op, op.write):
                if isinstance(tensor, Var) and self.shapes[tensor][d] == 0 and has_points(op, self.of_inputs):
                    raise AdError(f"{named(e, s)} selects from dimension {d} of '{tensor.name or 'a tensor'}', "
                                  f"which has no elements", e.span, None, self.program.source)


def made(step: ModuleStep) -> list[Var]:
    """The values that a step makes."""
    own = [] if step.loop is None else step.loop.own
    return [*(out for e in step.equations for out in e.outs), *own, *(v for s in (step, *step.each) for v in of_its_own(s))]


def used(step: ModuleStep) -> list[Atom]:
    """The values that a step reads or makes."""
    return [a for e in step.equations for a in e.args] + [*made(step)]


def idle_window(shared: float, instructions: float, helped: float) -> float:
    """How long ago the run before may have ended, in seconds, so that one of so many instructions is worth a team, which shares
    these of them and helps with so many steps; those of loops are too many."""
    if shared <= LEAST_SHARED * instructions:
        return 0.0
    return inf if seconds(shared) > WORTH_THREADS else LINGERED if seconds(shared) > WORTH_LINGERING + HELP * helped else 0.0


def refuse_long(instructions: float) -> None:
    """AdError where a run takes more than anybody waits for."""
    if instructions > MOST_INSTRUCTIONS:
        raise too_much("at these sizes one run takes about", int(min(instructions, BEYOND)), "instructions",
                       "use smaller tensors, or ranges with fewer points", MOST_INSTRUCTIONS)


def merged(free: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Free places, neighbours as one, the smallest first."""
    found: list[tuple[int, int]] = []
    for start, size in sorted(free):
        if found and found[-1][0] + found[-1][1] == start:
            found[-1] = found[-1][0], found[-1][1] + size
        else:
            found.append((start, size))
    return sorted(found, key=lambda place: place[1])


def has_points(op: Comprehension, sizes: Mapping[str, int]) -> bool:
    from adcli.lang.evaluate.comprehensions import points  # start-up: hardly any program asks
    return points(op, dict(sizes.items()))[1] > 0


def named(e: Equation, s: Read) -> str:
    source = e.args[s.arg]
    return (source.name if isinstance(source, Var) else None) or "the subscript"
