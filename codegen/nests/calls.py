"""Calls of compiled programs on NumPy arrays, as their plans say: which memory, which steps, which threads.

All that a call needs is plain data, so that it can be kept beside the code: a CallInterface for all shapes, and a CallPlan for
some. Nothing here knows programs.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from adcli.codegen.machine.arrays import byte
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, processors
from adcli.codegen.machine.memory import available, require_room
from adcli.codegen.machine.workers import share
from adcli.codegen.nests.actions import Base, CallAction, Fill, Move, Place, Stretch
from adcli.codegen.nests.result_memory import ResultMemory
from adcli.codegen.nests.teams import HELPS, LEADS, PARTS, TAKEN, TAKEN_APART, TEAM
from adcli.lang.ir import Param, Var
from adcli.lang.ir.allowance import quantity
from adcli.lang.ir.errors import AdError, Note, Source, Span, plural
from adcli.lang.ir.precision import Precision

if TYPE_CHECKING:
    from adcli.codegen.rows.direct import Quick

INT64 = np.dtype(np.int64)
PLANS = 64
"""Sets of shapes whose plans are kept."""
SPARE_BYTES = 1 << 28
"""Bytes of memory that a plan keeps for the next call, and as many for its results; less where there are many plans, so that all
keep some of these only."""
SPARE_PART = 8
"""The part of the memory that the system has left which a plan may keep that is the only one, where that is more."""
NANOSECONDS = 0.4
"""About what a vector instruction takes, to tell what is worth threads."""
LONG_RUN = 2e11
"""Instructions of one run from which on it is worth a word before it begins: more than a minute of one processor."""
THREAD_PARTS = 4
"""Parts of a step for each thread."""
Shapes = tuple[tuple[int, ...], ...]
Allocate = Callable[[int], np.ndarray]
CallMemory = tuple[Any, dict[int, int], object]
"""An `env`, where values lie, and what holds the memory."""


class CallInterface(NamedTuple):
    """What a call must know of a compiled program, whatever the shapes.

    Of the `inputs` some are `counts`, integers that sizes are made of. Compiled code makes the results `made`; `copies` are
    numbers, or have the position of what they are the same as, among the inputs and these; `whole` are whole numbers. In `env`
    are the cells of the `flag`, and of the `team` if there is one.
    """

    inputs: Sequence[Param]
    counts: Sequence[int]
    made: Sequence[str]
    copies: Sequence[tuple[str, float | int]]
    whole: Sequence[tuple[str, Span | None]]
    flag: int
    team: int | None
    precision: Precision
    source: Source | None = None


@dataclass(slots=True)
class CallPlan:
    """What one set of shapes needs. `cells` is `env` with everything but addresses; `places` are the offsets and bytes of values,
    and of what checkpoints keep, in the block of `memory` bytes; `needed` are these with those of the results, whose shapes are
    `outputs`. What is to be done are `actions`; a run is worth a team if it is `shared`."""

    cells: Any
    places: dict[int, tuple[int, int]]
    memory: int
    needed: int
    outputs: list[tuple[int, ...]]
    results: ResultMemory
    actions: list[CallAction]
    shared: bool
    instructions: float
    sizes: dict[str, int] = field(default_factory=dict)
    shapes: dict[Var, tuple[int, ...]] = field(default_factory=dict)
    windows: dict[object, int] = field(default_factory=dict)
    """The bytes of what has a window, and of what checkpoints keep."""
    spare: list[CallMemory] = field(default_factory=list)
    """What calls have used and no call uses now."""
    quick: Quick | None = None


class PlannedKernel:
    """A compiled program, callable from several threads at once, by the plans that `plan` makes."""

    def __init__(self, interface: CallInterface, kernel: Kernel, limit: int | None = None,
                 allocate: Allocate | None = None) -> None:
        self.interface, self.kernel, self.limit, self.allocate = interface, kernel, limit, allocate
        self.remark: Callable[[Note], object] | None = None
        """What hears of a long run before it begins."""
        self.spend: Callable[[float], None] | None = None
        """What hears of the instructions of every run, where the code was made in haste."""
        self.plans = dict[Shapes, CallPlan]()
        self.real, self.most_whole = np.dtype(interface.precision.code), 2.0 ** interface.precision.digits
        self.counts, self.made, self.copies, self.whole = interface.counts, interface.made, interface.copies, interface.whole
        self.inputs = [(p, p.name, INT64 if p.var.integer else self.real) for p in interface.inputs]
        self.given = slice(0, len(self.inputs) + len(self.made))

    def plan(self, key: Shapes) -> CallPlan:
        """The plan for inputs of these shapes, behind which stand the integers that are sizes, if there are any. AdError where
        they do not fit, or need too much memory."""
        raise NotImplementedError

    def fault(self, plan: CallPlan, env: Any) -> BaseException:
        """What a run has ended with that set the flag."""
        raise NotImplementedError

    def kept(self, key: Shapes, plan: CallPlan) -> CallPlan:
        """The plan, which is looked up from now on."""
        if plan.instructions >= LONG_RUN and self.remark is not None:
            self.remark(long_run(plan.instructions))
        if len(self.plans) >= PLANS:
            self.plans.pop(next(iter(list(self.plans)), key), None)   # other threads plan, too
        for other in list(self.plans.values()):
            if other.memory > SPARE_BYTES:   # kept while it was the only one
                other.spare.clear()
            if other.results.bytes > SPARE_BYTES:
                other.results.kept.clear()
        self.plans[key] = plan
        return plan

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
            if a.__class__ is float or a.__class__ is int:
                a = np.array(a)
            if a.__class__ is not np.ndarray or a.dtype is not dtype:
                a = converted(p, a, dtype)
            place = address(a)
            if place is None:
                a = converted(p, a, dtype)
                place = a.ctypes.data
            given.append(a)
            places.append(place)
        key = self.key(given)
        plan = self.plans.get(key) or self.plan(key)
        if self.spend is not None:
            self.spend(plan.instructions)
        spare = self.spare_bytes(plan.results.bytes)
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
        if env[self.interface.flag]:
            raise self.fault(plan, env)
        if self.allocate is None and plan.memory <= self.spare_bytes(plan.memory):
            plan.spare.append(frame)
        found = dict(zip(self.made, results, strict=True))
        if self.copies or out is not None:
            self.finish(found, given, out)
        for name, span in self.whole if out is None else ():
            found[name] = self.whole_numbers(name, found[name], span)
        return found

    def whole_numbers(self, name: str, given: np.ndarray, span: Span | None) -> np.ndarray:
        """A result of whole numbers as integers. AdError where one is NaN or beyond the integers that the precision tells
        apart."""
        wrong = np.argwhere(~(np.abs(given) <= self.most_whole))
        if len(wrong):
            where = f"({', '.join(map(str, wrong[0]))})" if given.ndim else ""
            help = "it comes from a NaN, from a number that is too large, or from a range that is empty"
            raise AdError(f"{name}{where} = {given[tuple(wrong[0])]} is no whole number", span, help, self.interface.source)
        return given.astype(np.int64)

    def spare_bytes(self, needed: int) -> int:
        """How many bytes a plan may keep for the next call that needs so many. The system is asked only for much: memory that is
        new takes longer than asking, and a good part of what a run of that size takes."""
        most = SPARE_BYTES // max(1, len(self.plans))
        return most if needed <= most or len(self.plans) > 1 else available() // SPARE_PART

    def key(self, given: Sequence[np.ndarray]) -> Shapes:
        """What a plan depends on: the shapes, and the integers that are sizes where there are any."""
        key = tuple([a.shape for a in given])
        if self.counts:
            key += (tuple([int(given[k][()]) if given[k].ndim == 0 else 0 for k in self.counts]),)
        return key

    def frame(self, plan: CallPlan) -> CallMemory:
        """A new `env` for a call, with memory for the values that pass from step to step."""
        env = plan.cells.__class__.from_buffer_copy(plan.cells)
        if self.allocate is not None:
            apart = {n: self.allocate(size) for n, (_, size) in plan.places.items()}
            places, held = {n: memory.ctypes.data for n, memory in apart.items()}, [*apart.values()]
        else:
            block = np.empty(plan.memory + CACHE_LINE, np.uint8)
            start = block.ctypes.data
            start += -start % CACHE_LINE
            places, held = {n: start + offset for n, (offset, _) in plan.places.items()}, [block]
        for n, place in places.items():
            if n >= 0:
                env[n] = place
        return env, places, held

    def run(self, env: Any, stretch: Stretch, jobs: int) -> None:
        """Some steps, by a team of so many threads."""
        for cell, value in stretch.cells:
            env[cell] = value
        if jobs == 1:
            self.kernel.function(env, None, stretch.first, stretch.last, None)
        else:
            self.share(env, stretch, jobs)

    def arrange(self, env: Any, places: Mapping[Any, int], action: Move | Fill | Base) -> None:
        """What a plan does with memory between steps."""
        def lies(place: Place) -> int:
            name, at = place
            return at + (int(env[name]) if name not in places else places[name])

        if isinstance(action, Base):
            env[action.tensor] = lies(action)
        elif isinstance(action, Move):
            ctypes.memmove(lies(action.target), lies(action.source), action.bytes)
        else:
            memory: Any = (ctypes.c_char * (action.elements * self.real.itemsize)).from_address(lies(action.place))
            np.frombuffer(memory, self.real).fill(action.value)

    def share(self, env: Any, stretch: Stretch, jobs: int) -> None:
        """Steps by a team, in more parts of a step than there are threads: none waits long for another."""
        team = self.interface.team
        assert team is not None
        taken = (ctypes.c_char * (TAKEN_APART * THREAD_PARTS * jobs))()
        first = {PARTS: THREAD_PARTS * jobs, TAKEN: addressof(taken)}
        env[team:team + TEAM] = [first.get(k, 0) for k in range(TEAM)]
        roles = [(ctypes.c_int64 * 2)(HELPS if k else LEADS, THREAD_PARTS * k) for k in range(jobs)]
        share(lambda k: self.kernel.function(env, roles[k], stretch.first, stretch.last, None), range(jobs), jobs)

    def targets(self, plan: CallPlan, given: Sequence[np.ndarray], places: Sequence[int],
                out: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Where results go: arrays of `out` that can be written in place, new ones else. The inputs lie at `places`."""
        found: list[np.ndarray] = []
        apart = len(out) < 2 or disjoint(list(out.values()))
        for name, shape in zip(self.made, plan.outputs, strict=True):
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
            values = [*given, *[found[name] for name in self.made]]
            for name, source in self.copies:
                found[name] = np.array(values[source] if isinstance(source, int) else source, self.real)
        for name, target in (out or {}).items():
            if name not in found:
                raise AdError(f"no result '{name}'", help=f"the results are {', '.join(found)}")
            if target is not found[name]:
                target[...] = found[name]
                found[name] = target


def refuse_much(needed: int, limit: int | None) -> None:
    """AdError where there is not so much memory."""
    require_room("this", needed, "use smaller tensors", limit)


def seconds(instructions: float) -> float:
    """About what instructions take."""
    return instructions * NANOSECONDS * 1e-9


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
