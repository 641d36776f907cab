"""Programs with tensors on NumPy arrays: compiled once for all sizes, planned once for each set of shapes.

A plan is what follows from the shapes of the inputs: the sizes, the proof that no subscript is outside, the memory needed (known
before any is taken), which nest each step uses, where in one block of memory the values lie that pass from step to step, and
which steps threads share, if the whole is worth it. A call looks its plan up, fills in addresses and runs the code.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from adcli.codegen.machine import veclib
from adcli.codegen.machine.arrays import byte
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, processors
from adcli.codegen.machine.memory import require_room
from adcli.codegen.machine.workers import share
from adcli.codegen.nests.matrices import MatrixCaller, cost
from adcli.codegen.nests.module import FLAG, ModuleStep, TensorModule, emit
from adcli.codegen.nests.nests import Nest
from adcli.codegen.nests.result_memory import ResultMemory
from adcli.codegen.nests.segments import Base, Fill, Move, Run, SegmentPlan, in_order, planned
from adcli.codegen.nests.sequence import EVERYTHING
from adcli.codegen.nests.sweeps import Sweeps
from adcli.codegen.nests.teams import HELPS, LEADS, PARTS, TEAM
from adcli.codegen.rows import calls
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.direct import Quick, Shaped, ShapedValue, of_tensors
from adcli.codegen.rows.jit import object_code
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.allowance import BEYOND, MOST_INSTRUCTIONS, quantity, too_much
from adcli.lang.ir.comprehension import Comprehension, Read
from adcli.lang.ir.errors import AdError, Note, plural
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.ir.recurrence import Recurrence
from adcli.lang.ir.sizes import bind, counts, elements, no_subscript, number, prove, require_words, shapes
from adcli.lang.ir.step_order import prove_steps

INT64 = np.dtype(np.int64)
PLANS = 64
"""Sets of shapes whose plans are kept."""
SPARE_BYTES = 1 << 28
"""Bytes of memory that a plan keeps for the next call, and as many for its results; less where there are many plans, so that all
keep some of these only."""
NANOSECONDS = 0.4
"""About what a vector instruction takes, to tell what is worth threads."""
OF_A_CALL = 20.0
"""Instructions of a call in a loop, beside those of its nest."""
LONG_RUN = 2e11
"""Instructions of one run from which on it is worth a word before it begins: more than a minute of one processor."""
WORTH_THREADS = 1e-3
"""Seconds of a run beyond which it is worth more than one thread."""
WORTH_HELP = 3e-5
"""Seconds of one step of it, or of what is done at one step of a loop, beyond which threads help with that."""
THREAD_PARTS = 4
"""Parts of a step for each thread."""
Shapes = tuple[tuple[int, ...], ...]
Allocate = Callable[[int], np.ndarray]
CallMemory = tuple[Any, dict[object, int], object]
"""An `env`, where values lie, and what holds the memory."""


@dataclass(slots=True)
class CallPlan:
    """What one set of shapes needs. `cells` is `env` with everything but addresses; `offsets` are the places of values, and of
    what checkpoints keep, in the block of `memory` bytes; `outputs` are shapes of results. What is to be done are `actions`; a
    run is worth a team if it is `shared`."""

    sizes: dict[str, int]
    cells: Any
    offsets: dict[object, int]
    memory: int
    outputs: list[tuple[int, ...]]
    results: ResultMemory
    actions: list[Stretch | Move | Fill | Base]
    shared: bool
    shapes: dict[Var, tuple[int, ...]]
    instructions: float
    bytes: dict[object, int]
    """The bytes of what has a window, and of what checkpoints keep."""
    spare: list[CallMemory] = field(default_factory=list)
    """What calls have used and no call uses now."""
    quick: Quick | None = None


@dataclass(slots=True)
class Stretch:
    """Steps `first` to `last`; these `cells` are set before."""

    first: int
    last: int
    cells: tuple[tuple[int, int], ...] = ()


def compile_tensors(program: Program, lanes: int | None = None, library: veclib.Library | None = None,
                    limit: int | None = None, allocate: Allocate | None = None, precision: Precision = DOUBLE) -> TensorKernel:
    """The program as native code for this machine.

    `limit` is how many bytes a call may take (default: what the system has left), `allocate` gives an array of so many bytes for
    each value that is no result, in place of one block for all.
    """
    module = emit(program, lanes or veclib.lanes(precision.bytes), library or veclib.host(), precision=precision)
    return TensorKernel(module, linked(object_code(module.text), module.entry), limit, allocate)


class TensorKernel:
    """A compiled program, callable from several threads at once."""

    def __init__(self, module: TensorModule, kernel: Kernel, limit: int | None = None, allocate: Allocate | None = None) -> None:
        self.module, self.kernel, self.limit, self.allocate = module, kernel, limit, allocate
        self.remark: Callable[[Note], object] | None = None
        """What hears of a long run before it begins."""
        self.program, self.plans = module.program, dict[Shapes, CallPlan]()
        self.real, self.most_whole = np.dtype(module.entry.code), 2.0 ** module.env.precision.digits
        self.counts = [self.program.params.index(p) for p in counts(self.program)]
        self.inputs = [(p, p.name, INT64 if p.var.integer else self.real) for p in self.program.params]
        bound = {p.var for p in self.program.params}
        names: dict[Var, str] = {}
        self.copies: list[Result] = []
        for r in self.program.results:
            if isinstance(r.atom, Lit) or r.atom in bound or r.atom in names:
                self.copies.append(r)
            else:
                names[r.atom] = r.name
        self.made = [(names[v], v) for v in module.values if v in names]
        self.own = module.values[len(bound) + len(self.made):]
        self.whole = [r.name for r in self.program.results if isinstance(r.atom, Var) and r.atom.whole]
        self.given = slice(0, len(bound) + len(self.made))
        matrices = {k: (s.equations[0], s.stays) for k, s in enumerate(module.choosers) if s.calls}
        self.caller = MatrixCaller(matrices, module.env, module.cells) if matrices else None

    def __call__(self, arrays: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None,
                 jobs: int | None = None) -> dict[str, np.ndarray]:
        """The results by name, for arrays (or numbers) by name; into the arrays of `out` where it has one for a result.

        `jobs` threads share a run that is long enough (None: one for each processor). Results do not depend on how many.
        AdError where shapes do not fit the program, a gathered subscript is outside, or there is not memory enough.
        """
        given: list[np.ndarray] = []
        places: list[int] = []
        for p, name, dtype in self.inputs:
            a = arrays.get(name)
            if a.__class__ is not np.ndarray or a.dtype is not dtype:
                a = np.array(a) if a.__class__ is float and dtype.char == "d" else converted(p, a, dtype)
            place = address(a)
            if place is None:
                a = converted(p, a, dtype)
                place = a.ctypes.data
            given.append(a)
            places.append(place)
        key = self.key(given)
        plan = self.plans.get(key) or self.plan(key)
        spare = SPARE_BYTES // max(1, len(self.plans))
        results = plan.results.arrays(spare) if out is None else self.targets(plan, given, places, out)
        places += [address(a) or a.ctypes.data for a in results]
        try:
            frame = plan.spare.pop()
        except IndexError:
            frame = self.frame(plan)
        env = frame[0]
        env[self.given] = places
        team = processors() if jobs is None else jobs
        for action in plan.actions:
            if isinstance(action, Stretch):
                self.run(env, action, team if plan.shared else 1)
            else:
                self.arrange(env, frame[1], action)
        if env[self.module.env.flag]:
            raise self.outside(plan, env) if env[self.module.env.flag] > 0 or self.caller is None else self.caller.fault(env)
        if plan.memory * len(self.plans) <= SPARE_BYTES and self.allocate is None:
            plan.spare.append(frame)
        found = {name: a for (name, _), a in zip(self.made, results, strict=True)}
        if self.copies or out is not None:
            self.finish(found, given, out)
        for name in self.whole if out is None else ():
            found[name] = self.whole_numbers(name, found[name])
        return found

    def whole_numbers(self, name: str, given: np.ndarray) -> np.ndarray:
        """A result of whole numbers as integers. AdError where one is NaN or beyond the integers that the precision tells
        apart."""
        wrong = np.argwhere(~(np.abs(given) <= self.most_whole))
        if len(wrong):
            where = f"({', '.join(map(str, wrong[0]))})" if given.ndim else ""
            help = "it comes from a NaN, from a number that is too large, or from a range that is empty"
            raise AdError(f"{name}{where} = {given[tuple(wrong[0])]} is no whole number", None, help, self.program.source)
        return given.astype(np.int64)

    # ------------------------------------------------------------ plans

    def key(self, given: Sequence[np.ndarray]) -> Shapes:
        """What a plan depends on: the shapes, and the integers that are sizes where there are any."""
        key = tuple([a.shape for a in given])
        if self.counts:
            key += (tuple([int(given[k][()]) if given[k].ndim == 0 else 0 for k in self.counts]),)
        return key

    def plan(self, key: Shapes) -> CallPlan:
        """The plan for inputs of these shapes, behind which stand the integers that are sizes, if there are any. AdError where
        they do not fit, or need too much memory."""
        program, module = self.program, self.module
        integers = {program.params[k].name: n for k, n in zip(self.counts, key[-1], strict=True)} if self.counts else {}
        given = key[:len(program.params)]
        sizes = bind(program, {p.name: s for p, s in zip(program.params, given, strict=True)}, integers)
        prove(program, sizes)
        prove_steps(program, sizes)
        found = shapes(program, sizes)
        for v in module.env.tensors:
            found.setdefault(v, tuple([number(x, sizes) for x in v.shape]))
        self.refuse_empty(sizes, found)
        segments = self.segmented(sizes, found)
        live = self.offsets(found, segments)
        results = sum(self.size(v) * prod(found[v]) for _, v in self.made)
        self.refuse_much(live[1] + results)
        cells = (ctypes.c_int64 * module.cells)()
        of_inputs, sizes = sizes, {**sizes, **self.whole_ranges(sizes)}
        for name, at in module.env.sizes.items():
            cells[at] = sizes.get(name, 0)
        if self.caller is not None:
            cells[module.env.flag + FLAG] = self.caller.address
        taken, shared = list[float](), False
        for k, step in enumerate(module.steps):
            if step.loop is not None:
                taken.append(self.plan_loop(step, sizes, found, cells))
                shared |= self.share_loop(step, sizes, cells)
                continue
            costs = self.costs(step, sizes, found)
            best = cells[module.choices + k] = cheapest(costs)
            taken.append(costs[best] if costs else 0.0)
            shared |= bool(step.nests) and self.share_step(k, step.nests[best], [sizes], cells)
        actions = joined([self.stretch(x, cells) if isinstance(x, Run) else x for x in segments.actions])
        instructions = sum(cost * segments.times(k) for k, cost in enumerate(taken))
        refuse_long(instructions)
        if instructions >= LONG_RUN and self.remark is not None:
            self.remark(long_run(instructions))
        outputs = [found[v] for _, v in self.made]
        plan = CallPlan(of_inputs, cells, live[0], live[1], outputs, ResultMemory(outputs, self.real), actions,
                        shared and seconds(instructions) > WORTH_THREADS, found, instructions, segments.bytes)
        if len(self.plans) >= PLANS:
            self.plans.pop(next(iter(list(self.plans)), key), None)   # other threads plan, too
        self.plans[key] = plan
        return plan

    def costs(self, step: ModuleStep, sizes: Mapping[str, int], found: Mapping[Var, tuple[int, ...]]) -> list[float]:
        """What each nest of a step takes. AdError where its whole numbers are too large."""
        for nest in step.nests:
            require_words(self.program, step.equations[0], nest.op, sizes, found)
        if step.calls:
            return [cost(step.equations[0], sizes)]
        return [n.cost(sizes, self.module.entry.lanes) for n in step.nests]

    def plan_loop(self, step: ModuleStep, sizes: Mapping[str, int], found: Mapping[Var, tuple[int, ...]], cells: Any) -> float:
        """Choose the nests of a recurrence, by the middle one of its steps. The instructions of all steps."""
        loop, total = step.loop, 0.0
        assert loop is not None
        low, high = number(loop.low, sizes), number(loop.high, sizes)
        if low >= high:
            return 0.0
        for inner in step.each:
            for end in (low, high - 1):
                self.costs(inner, {**sizes, loop.step: end}, found)
            costs = self.costs(inner, {**sizes, loop.step: (low + high) // 2}, found)
            best = cells[self.module.choices + self.module.choosers.index(inner)] = cheapest(costs)
            total += (costs[best] + OF_A_CALL) * (high - low)
        return total

    def share_loop(self, step: ModuleStep, sizes: Mapping[str, int], cells: Any) -> bool:
        """Enter what of a recurrence is for a team; whether there is anything."""
        loop, shared = step.loop, False
        assert loop is not None
        low, high = number(loop.low, sizes), number(loop.high, sizes)
        at = [{**sizes, loop.step: t} for t in ((low + high) // 2, low, high - 1)]
        for inner in step.each if low < high else ():
            k = self.module.choosers.index(inner)
            shared |= bool(inner.nests) and self.share_step(k, inner.nests[cells[self.module.choices + k]], at, cells)
        return shared

    def share_step(self, k: int, nest: Nest, at: Sequence[Mapping[str, int]], cells: Any) -> bool:
        """Enter the values of a nest's outermost index for a team, where that pays and they are the same for all of these sizes.
        The first sizes are the usual ones."""
        team = self.module.env.team
        if team is None or nest.shared is None or seconds(nest.cost(at[0], self.module.entry.lanes)) < WORTH_HELP:
            return False
        r = nest.range(nest.shared)
        ends = {(number(r.low, sizes), number(r.high, sizes)) for sizes in at}
        if len(ends) > 1:
            return False
        first = team.cells + TEAM + 2 * k
        cells[first], cells[first + 1] = ends.pop()
        return True

    def whole_ranges(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """What says that a step goes along all steps of time."""
        found: dict[str, int] = {}
        for step, p in zip(self.module.steps, self.module.parts, strict=False):
            if step.block is not None:
                ends = (-EVERYTHING, EVERYTHING) if step.loop is None else (number(p.low, sizes), number(p.high, sizes))
                found.update(zip(step.block.names, (*ends, 0), strict=True))
        return found

    def segmented(self, sizes: Mapping[str, int], found: Mapping[Var, tuple[int, ...]]) -> SegmentPlan:
        """What is to be done in which order."""
        module = self.module
        if not module.parts:
            return SegmentPlan([Run(k) for k in range(len(module.steps))], {}, [{k} for k in range(len(module.steps))])
        sweeps = Sweeps(module.parts, sizes, found, self.real.itemsize)
        loops = [(k, s) for k, s in enumerate(module.steps) if s.loop is not None]
        checkpointed = {k for k, s in loops if isinstance(op := s.equations[0].op, Recurrence) and op.checkpoint}
        own = set(self.own)
        segments = planned(sweeps, checkpointed, own) if checkpointed else None
        return segments or in_order(sweeps, bool(checkpointed))

    def stretch(self, run: Run, cells: Any) -> Stretch:
        """One step, for some of its steps of time or all; a team shares what of them is done. `cells` are the plan's."""
        step, env, team = self.module.steps[run.k], self.module.env, self.module.env.team
        if run.low is None or run.high is None or step.block is None:
            return Stretch(run.k, run.k + 1)
        given = [(env.sizes[n], x) for n, x in zip(step.block.names, (run.low, run.high, int(run.more)), strict=True)]
        nest = step.nests[cells[self.module.choices + run.k]] if step.nests else None
        first = 0 if team is None else team.cells + TEAM + 2 * run.k
        if nest is not None and first and cells[first] < cells[first + 1] and nest.shared is step.block.index:
            given += [(first, run.low), (first + 1, run.high)]
        return Stretch(run.k, run.k + 1, tuple(given))

    def offsets(self, found: Mapping[Var, tuple[int, ...]], segments: SegmentPlan) -> tuple[dict[object, int], int]:
        """Where values lie that are neither input nor result, and the bytes of all: a value's place is free for others after the
        last step that reads it."""
        values, cells = self.module.values, self.module.env.tensors
        own = set[object](self.own)
        phases: list[list[object]] = []
        for touched in segments.touched:
            names: dict[object, None] = {}
            for k in sorted(k for k in touched if isinstance(k, int)):
                names.update((values[cells[v]], None) for v in used(self.module.steps[k]) if isinstance(v, Var) and v in cells)
            phases.append([*(v for v in names if v in own), *(x for x in touched if isinstance(x, tuple))])
        last = {v: k for k, lives in enumerate(phases) for v in lives}
        placed, free, end = dict[object, int](), list[tuple[int, int]](), 0
        lying: dict[int, list[tuple[int, int]]] = {}
        for k, lives in enumerate(phases):
            for v in lives:
                if v in placed:
                    continue
                size = -(-max(self.count(v, segments.bytes, found), 8) // CACHE_LINE) * CACHE_LINE
                at = next((i for i, (_, n) in enumerate(free) if n >= size), None)
                if at is None:
                    start, end = end, end + size
                else:
                    start, n = free.pop(at)
                    if n > size:
                        free.append((start + size, n - size))
                placed[v] = start
                lying.setdefault(last[v], []).append((start, size))
            free += lying.pop(k, [])
            free = merged(free)
        return placed, end

    def size(self, v: Var) -> int:
        """Bytes of an element."""
        return 8 if v.integer or v.truth else self.real.itemsize

    def count(self, v: object, windows: Mapping[object, int], shapes: Mapping[Var, tuple[int, ...]]) -> int:
        """The bytes of a value, or of what checkpoints keep."""
        return windows[v] if v in windows or not isinstance(v, Var) else self.size(v) * prod(shapes[v])

    def refuse_much(self, needed: int) -> None:
        require_room("this", needed, "use smaller tensors", self.limit)

    def refuse_empty(self, sizes: Mapping[str, int], found: Mapping[Var, tuple[int, ...]]) -> None:
        """AdError where a gather has nothing to choose from."""
        for e, s, tensor, d in self.module.env.gathers:
            if isinstance(tensor, Var) and found[tensor][d] == 0 and isinstance(e.op, Comprehension) and has_points(e.op, sizes):
                raise AdError(f"{named(e, s)} selects from dimension {d} of '{tensor.name or 'a tensor'}', "
                              f"which has no elements", e.span, None, self.program.source)

    # ------------------------------------------------------------ calls

    def quick(self, arrays: Mapping[str, Any], defaults: Mapping[str, float]) -> tuple[CallPlan, Quick] | None:
        """The plan for such values, and what computes them in its frames; None where that needs threads or copies of values."""
        key = self.key([np.asarray(arrays[name]) for _, name, _ in self.inputs])
        plan = self.plans.get(key)
        if plan is None or self.copies or self.whole or self.caller is not None or self.allocate is not None \
                or plan.memory * len(self.plans) > SPARE_BYTES or plan.shared \
                or plan.actions != [Stretch(0, len(self.module.steps))]:
            return None
        if plan.quick is None:
            counts = dict(zip(self.counts, key[-1], strict=True)) if self.counts else {}
            columns = [given_column(8 if p.var.integer else self.real.itemsize, p.var.integer, shape, counts.get(k))
                       for k, ((p, *_), shape) in enumerate(zip(self.inputs, key, strict=False))]
            columns += [given_column(self.real.itemsize, False, shape) for shape in plan.outputs]
            shaped = Shaped(columns, 0, len(self.module.steps), self.module.env.flag)
            names = [name for _, name, _ in self.inputs], [name for name, _ in self.made]
            plan.quick = of_tensors(self.kernel, names, defaults, shaped, plan.instructions)
        return plan, plan.quick

    def frame(self, plan: CallPlan) -> CallMemory:
        """A new `env` for a call, with memory for the values that pass from step to step."""
        env = plan.cells.__class__.from_buffer_copy(plan.cells)
        tensors = self.module.env.tensors
        if self.allocate is not None:
            apart = {v: self.allocate(self.count(v, plan.bytes, plan.shapes)) for v in plan.offsets}
            places, held = {v: memory.ctypes.data for v, memory in apart.items()}, [*apart.values()]
        else:
            block = np.empty(plan.memory + CACHE_LINE, np.uint8)
            start = block.ctypes.data
            start += -start % CACHE_LINE
            places, held = {v: start + offset for v, offset in plan.offsets.items()}, [block]
        for v, place in places.items():
            if isinstance(v, Var):
                env[tensors[v]] = place
        return env, places, held

    def run(self, env: Any, stretch: Stretch, jobs: int) -> None:
        """Some steps, by a team of so many threads."""
        for cell, value in stretch.cells:
            env[cell] = value
        if jobs == 1:
            self.kernel.function(env, None, stretch.first, stretch.last, None)
        else:
            self.share(env, stretch, jobs)

    def arrange(self, env: Any, places: Mapping[object, int], action: Move | Fill | Base) -> None:
        """What a plan does with memory between steps."""
        if isinstance(action, Base):
            env[self.module.env.tensors[action.tensor]] = places[action.tensor] + action.offset
        elif isinstance(action, Move):
            (target, at), (source, begin) = action.target, action.source
            ctypes.memmove(places[target] + at, places[source] + begin, action.bytes)
        else:
            name, at = action.place
            where = env[self.module.env.tensors[name]] if isinstance(name, Var) and name not in places else places[name]
            start = where + at
            memory: Any = (ctypes.c_char * (action.count * self.real.itemsize)).from_address(start)
            np.frombuffer(memory, self.real).fill(action.value)

    def share(self, env: Any, stretch: Stretch, jobs: int) -> None:
        """Steps by a team, in more parts of a step than there are threads: none waits long for another."""
        team = self.module.env.team
        assert team is not None
        for k in range(TEAM):
            env[team.cells + k] = THREAD_PARTS * jobs if k == PARTS else 0
        roles = [(ctypes.c_int64 * 1)(HELPS if k else LEADS) for k in range(jobs)]
        share(lambda k: self.kernel.function(env, roles[k], stretch.first, stretch.last, None), range(jobs), jobs)

    def targets(self, plan: CallPlan, given: Sequence[np.ndarray], places: Sequence[int],
                out: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Where results go: arrays of `out` that can be written in place, new ones else. The inputs lie at `places`."""
        found: list[np.ndarray] = []
        apart = len(out) < 2 or disjoint(list(out.values()))
        for (name, _), shape in zip(self.made, plan.outputs, strict=True):
            target = out.get(name)
            if target is None:
                found.append(np.empty(shape, self.real))
                continue
            if target.shape != shape:
                raise AdError(f"the array for '{name}' has shape {target.shape}, but the result has {shape}")
            if not apart and any(np.may_share_memory(target, a) for other, a in out.items() if other != name):
                raise AdError(f"the array for '{name}' overlaps the array for another result")
            start = address(target) if target.dtype is self.real else None
            fits = start is not None and not any(start < place + a.nbytes and place < start + target.nbytes
                                                 for a, place in zip(given, places, strict=True))
            found.append(target if fits else np.empty(shape, self.real))
        return found

    def finish(self, found: dict[str, np.ndarray], given: Sequence[np.ndarray], out: Mapping[str, np.ndarray] | None) -> None:
        """Results that are constants, inputs or the same as others; and results that could not be written in place."""
        if self.copies:
            values = {p.var: a for (p, *_), a in zip(self.inputs, given, strict=True)}
            values |= {v: found[name] for name, v in self.made}
            for r in self.copies:
                found[r.name] = np.array(r.atom.value if isinstance(r.atom, Lit) else values[r.atom], self.real)
        for name, target in (out or {}).items():
            if name not in found:
                raise AdError(f"no result '{name}'", help=f"the results are {', '.join(found)}")
            if target is not found[name]:
                target[...] = found[name]
                found[name] = target

    def outside(self, plan: CallPlan, env: Any) -> AdError:
        """What to say of a gathered subscript that is no subscript."""
        flag = self.module.env.flag
        e, s, tensor, d = self.module.env.gathers[env[flag] - 1]
        source = e.args[s.arg]
        assert isinstance(source, Var)
        shape = plan.shapes[source]
        place = np.unravel_index(env[flag + 2] // self.size(source), shape)
        where = f"({', '.join(str(int(w)) for w in place)})" if shape else ""
        extent = plan.shapes[tensor][d] if isinstance(tensor, Var) else 0
        target = tensor.name if isinstance(tensor, Var) and tensor.name else "the tensor"
        got = np.int64(env[flag + 1])
        value, help = no_subscript(float(got.view(np.float64)) if source.whole else int(got), extent)
        return AdError(f"{named(e, s)}{where} = {value} is out of range for dimension {d} of '{target}', which has "
                       f"{elements(extent)}", self.module.gathering.get((tensor, source, d)) or e.span, help, self.program.source)


def seconds(instructions: float) -> float:
    """About what instructions take."""
    return instructions * NANOSECONDS * 1e-9


def cheapest(costs: Sequence[float]) -> int:
    return costs.index(min(costs)) if costs else 0


def made(step: ModuleStep) -> list[Var]:
    """The values that a step makes."""
    return [out for e in step.equations for out in e.outs] + (step.loop.own if step.loop is not None else [])


def used(step: ModuleStep) -> list[Atom]:
    """The values that a step reads or makes."""
    return [a for e in step.equations for a in e.args] + [*made(step)]


def given_column(size: int, integer: bool, shape: tuple[int, ...], count: int | None = None) -> ShapedValue:
    """How a value with elements of `size` bytes is handed over by a call from Python; `count` is the value of an integer that is
    a size."""
    if shape:
        return ShapedValue(calls.WHOLES if integer else calls.REALS, (len(shape), *shape), size * prod(shape))
    if count is not None:
        return ShapedValue(calls.COUNT, (count,), 0)
    return ShapedValue(calls.WHOLE if integer else calls.REAL, (), 0)


def refuse_long(instructions: float) -> None:
    """AdError where a run takes more than anybody waits for."""
    if instructions > MOST_INSTRUCTIONS:
        raise too_much("at these sizes one run takes about", int(min(instructions, BEYOND)), "instructions",
                       "use smaller tensors, or ranges with fewer points", MOST_INSTRUCTIONS)


def long_run(instructions: float) -> Note:
    """What there is to say before a long run."""
    minutes = seconds(instructions) / 60
    least = plural(round(minutes), "minute") if minutes < 120 else plural(round(minutes / 60), "hour")
    count = quantity(int(instructions))
    return Note(f"at these sizes one run takes about {count} instructions, {least} of one processor or more")


def address(a: np.ndarray) -> int | None:
    """Where the elements of an array are; None where they do not lie as compiled code needs them, or that is slow to say."""
    try:
        place = addressof(byte(a))
    except (TypeError, ValueError):
        return None
    return None if place % a.itemsize else place


def disjoint(arrays: Sequence[np.ndarray]) -> bool:
    """Whether no two of the arrays lie in the same memory, as far as that is quickly said."""
    spans: list[tuple[int, int]] = []
    for a in arrays:
        place = address(a)
        if place is None:
            return False
        spans.append((place, place + a.nbytes))
    spans.sort()
    return all(end <= start for (_, end), (start, _) in pairwise(spans))


def converted(p: Param, given: Any, dtype: np.dtype) -> np.ndarray:
    """A value for an input as an array that compiled code can read."""
    if given is None:
        if p.default is None:
            raise AdError(f"no value for '{p.name}'")
        given = p.default
    try:
        a = np.asarray(given)
    except ValueError as error:
        raise AdError(f"'{p.name}' is not an array: its rows have different lengths") from error
    real = dtype.kind == "f"
    if a.dtype.kind not in ("fiub" if real else "iu"):
        whole = a.dtype.kind == "f" and bool((a == np.floor(a)).all()) and bool((np.abs(a) < 2.0 ** 63).all())
        if real or not whole:
            raise AdError(f"'{p.name}' has elements of type {a.dtype}",
                          help="elements are real numbers" if real else "it is a tensor of integers")
    try:
        with np.errstate(over="raise"):
            return np.require(a, dtype, ["C", "A"]).reshape(a.shape)
    except FloatingPointError:
        raise AdError(f"'{p.name}' has elements that are too large for single precision",
                      help="use double precision, the default") from None


def joined(actions: Sequence[Stretch | Move | Fill | Base]) -> list[Stretch | Move | Fill | Base]:
    """Neighbours that compiled code runs as one."""
    found: list[Stretch | Move | Fill | Base] = []
    for x in actions:
        before = found[-1] if found else None
        if isinstance(x, Stretch) and isinstance(before, Stretch) and x.first == before.last:
            found[-1] = Stretch(before.first, x.last, before.cells + x.cells)
        else:
            found.append(x)
    return found


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
