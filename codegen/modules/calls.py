"""Calls of compiled programs, as their plans say: which memory, which steps, which threads.

All that a call needs is plain data, so that it can be kept beside the code: a CallInterface for all shapes, and a CallPlan for
some. Nothing here knows programs or needs NumPy; `adcli.codegen.modules.array_calls` has the calls on arrays.
"""
from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from ctypes import addressof
from dataclasses import dataclass, field
from math import inf, prod
from sys import getrefcount
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from adcli.codegen.builtins.plan_words import CallMemory
from adcli.codegen.loops.thread_pool import (
    ENDED,
    GONE,
    HELPS,
    LEADS,
    NUMBER,
    PARTS,
    POSTS,
    TAKEN,
    TAKEN_APART,
    TEAM,
    THREAD_PARTS,
    WAITS,
)
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel, processors
from adcli.codegen.machine.memory import available, require_room
from adcli.codegen.machine.small import byte, spacious
from adcli.codegen.machine.workers import Mailbox, lead
from adcli.lang.ir import Param, Var
from adcli.lang.ir.errors import Note, Source, Span, plural
from adcli.lang.operations.limits import quantity
from adcli.lang.operations.precision import Precision

if TYPE_CHECKING:
    from adcli.codegen.builtins.direct import Quick

PLANS = 64
"""Sets of shapes whose plans are kept."""
SPARE_BYTES = 1 << 28
"""Bytes of memory that a plan keeps for the next call, and as many for its results; less where there are many plans, so that all
keep some of these only."""
SPARE_PART = 8
"""The part of the memory that the system has left which a plan may keep that is the only one, where that is more."""
NANOSECONDS = 0.4
"""About what a vector instruction takes, to tell what is worth threads."""
LARGE = 1 << 17
"""Bytes from which on an array has memory of its own from the system, which it gives back."""
LONG_RUN = 2e11
"""Instructions of one run from which on it is worth a word before it begins: more than a minute of one processor."""
INT64 = "q"
"""The letter that `array` has for integers of 64 bits."""
Role = ctypes.c_int64 * 3
"""Role of a thread: see `adcli.codegen.loops.thread_pool`."""
Shapes = tuple[tuple[int, ...], ...]
Allocate = Callable[[int], Any]
"""An array of so many bytes."""
Result = TypeVar("Result")


# ---------------------------------------------------------------- what a call does

Place = tuple[Hashable, int]
"""A name of memory with an offset in bytes."""


class Stretch(NamedTuple):
    """Steps `first` to `last`; these `cells` are set before."""

    first: int
    last: int
    cells: tuple[tuple[int, int], ...] = ()


class Move(NamedTuple):
    """Bytes of a block of memory from one place to another."""

    target: Place
    source: Place
    bytes: int


class Fill(NamedTuple):
    """Elements with what those are that nothing writes."""

    place: Place
    elements: int
    value: float


class Base(NamedTuple):
    """The address of a tensor in `env`."""

    tensor: Hashable
    offset: int


CallAction = Stretch | Move | Fill | Base


def joined(actions: Sequence[CallAction]) -> list[CallAction]:
    """Neighbours that compiled code runs as one."""
    found: list[CallAction] = []
    for x in actions:
        before = found[-1] if found else None
        if isinstance(x, Stretch) and isinstance(before, Stretch) and x.first == before.last:
            found[-1] = Stretch(before.first, x.last, before.cells + x.cells)
        else:
            found.append(x)
    return found


def numbered(action: CallAction, numbers: Mapping[Hashable, int]) -> CallAction:
    """The action with numbers for names."""
    match action:
        case Move((target, at), (source, begin), size):
            return Move((numbers[target], at), (numbers[source], begin), size)
        case Fill((name, at), elements, value):
            return Fill((numbers[name], at), elements, value)
        case Base(tensor, offset):
            return Base(numbers[tensor], offset)
    return action


# ---------------------------------------------------------------- memory of results

# Memory that is new to the process takes longer to come by than many results take: the system hands it out page by page, as it is
# first written, and what is given back is new the next time.

def references(arrays: Sequence[object]) -> list[int]:
    """How many references there are to each array, with those that counting takes. A view of an array is one, too."""
    return [getrefcount(a) for a in arrays]


HELD_ONCE = references([object()])[0]
"""`references` of an array that is in its list and nowhere else."""


class ResultMemory:
    """The large results of the last calls; several threads may ask at once. `blank` makes an array of a shape, whose elements
    have so many bytes."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], element: int, blank: Callable[[tuple[int, ...]], Any]) -> None:
        sizes = [element * prod(shape) for shape in shapes]
        self.shapes, self.blank, self.bytes, self.large = shapes, blank, sum(sizes), max(sizes, default=0) >= LARGE
        self.kept: list[list[Any]] = []

    def arrays(self, limit: int) -> list[Any]:
        """An array for each result. None is kept where they take more bytes than the limit."""
        if not self.large or self.bytes > limit:
            self.kept.clear()
            return [self.blank(shape) for shape in self.shapes]
        try:
            before = self.kept.pop()
        except IndexError:
            before = []
        free = [a for a, count in zip(before, references(before), strict=True) if count == HELD_ONCE]
        found = []
        for shape in self.shapes:
            k = next((k for k, a in enumerate(free) if a.shape == shape), None)
            found.append(self.blank(shape) if k is None else free.pop(k))
        left = [a for a in before if not any(a is b for b in found)][:len(found)]
        self.kept.append([a for a in (*found, *left) if a.nbytes >= LARGE])   # who has what is left may give it back for the next
        return found


# ---------------------------------------------------------------- what a call needs

class CallInterface(NamedTuple):
    """Interface of a compiled program, for all shapes.

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
    """Plan for one set of shapes. `cells` is `env` with everything but addresses; `places` are the offsets and bytes of values,
    and of what checkpoints keep, in the block of `memory` bytes; `needed` are these with those of the results, whose shapes are
    `outputs`. What is to be done are `actions`. A run is worth a team if the one before has ended no longer than `idle_window`
    seconds ago: whenever that was, or so soon that a helper of that one still lingers, or never."""

    cells: Any
    places: dict[int, tuple[int, int]]
    memory: int
    needed: int
    outputs: list[tuple[int, ...]]
    results: ResultMemory
    actions: list[CallAction]
    idle_window: float
    instructions: float
    sizes: dict[str, int] = field(default_factory=dict)
    shapes: dict[Var, tuple[int, ...]] = field(default_factory=dict)
    windows: dict[object, int] = field(default_factory=dict)
    """The bytes of what has a window, and of what checkpoints keep."""
    spare: list[CallMemory] = field(default_factory=list)
    """Memory of former calls that no call uses now."""
    quick: tuple[Quick, Quick] | None = None


class PlannedCode(ABC):
    """A compiled program, callable from several threads at once, by the plans that `plan` makes."""

    ended = -inf
    """When a run of any program that may be worth a team has ended."""

    def __init__(self, interface: CallInterface, kernel: Kernel, limit: int | None = None,
                 allocate: Allocate | None = None) -> None:
        self.interface, self.kernel, self.limit, self.allocate = interface, kernel, limit, allocate
        self.remark: Callable[[Note], object] | None = None
        """Callback: told of a long run before it begins."""
        self.spend: Callable[[float], None] | None = None
        """Callback: told of the instructions of every run, where the code was made in haste."""
        self.plans = dict[Shapes, CallPlan]()
        self.real, self.most_whole = self.kind(interface.precision.code), 2.0 ** interface.precision.digits
        self.counts, self.made, self.copies, self.whole = interface.counts, interface.made, interface.copies, interface.whole
        self.inputs = [(p, p.name, self.kind(INT64) if p.var.integer else self.real) for p in interface.inputs]
        self.given = slice(0, len(self.inputs) + len(self.made))

    def kind(self, code: str) -> Any:
        """Type of elements, by the letter that `array` has for it."""
        return code

    @abstractmethod
    def plan(self, key: Shapes) -> CallPlan:
        """The plan for inputs of these shapes, behind which stand the integers that are sizes, if there are any. AdError where
        they do not fit, or need too much memory."""

    @abstractmethod
    def fault(self, plan: CallPlan, env: Any) -> BaseException:
        """Error of a run that set the flag."""

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

    def computed(self, plan: CallPlan, places: Sequence[int], jobs: int | None) -> None:
        """Run the code on inputs and results that lie at these places. What `fault` says is raised if it sets the flag."""
        try:
            frame = plan.spare.pop()
        except IndexError:
            frame = self.frame(plan)
        env = frame[0]
        env[self.given] = places
        if plan.idle_window and (team := self.team(plan, jobs)) > 1:
            self.share(env, lambda role: self.run(frame, plan.actions, role), team)
        else:
            self.run(frame, plan.actions, None)
        if plan.idle_window:
            self.run_ended()
        if env[self.interface.flag]:
            raise self.fault(plan, env)
        if self.allocate is None and plan.memory <= self.spare_bytes(plan.memory):
            plan.spare.append(frame)

    def team(self, plan: CallPlan, jobs: int | None) -> int:
        """How many threads share a run, of at most `jobs` (None: one for each processor)."""
        soon = plan.idle_window == inf or monotonic() - self.ended < plan.idle_window
        return 1 if not soon else processors() if jobs is None else jobs

    @staticmethod
    def run_ended() -> None:
        """Note that a run has ended that may be worth a team."""
        PlannedCode.ended = monotonic()

    def spare_bytes(self, needed: int) -> int:
        """How many bytes a plan may keep for the next call that needs so many. The system is asked only for much: memory that is
        new takes longer than asking, and a good part of what a run of that size takes."""
        most = SPARE_BYTES // max(1, len(self.plans))
        return most if needed <= most or len(self.plans) > 1 else available() // SPARE_PART

    def key(self, given: Sequence[Any]) -> Shapes:
        """Key of a plan: the shapes of arrays, or of small tensors, and the integers that are sizes where there are
        any."""
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
            block = spacious(plan.memory + CACHE_LINE)
            start = addressof(byte(block))
            start += -start % CACHE_LINE
            places, held = {n: start + offset for n, (offset, _) in plan.places.items()}, [block]
        for n, place in places.items():
            if n >= 0:
                env[n] = place
        return env, places, held

    def run(self, frame: CallMemory, actions: Sequence[CallAction], role: Any) -> None:
        """All that there is to do, by one thread, which may lead a team."""
        env, places, _ = frame
        for action in actions:
            if isinstance(action, Stretch):
                for cell, value in action.cells:
                    env[cell] = value
                self.kernel.function(env, role, action.first, action.last, None)
            else:
                self.arrange(env, places, action)

    def arrange(self, env: Any, places: Mapping[Any, int], action: Move | Fill | Base) -> None:
        """Carry out an action on memory between steps."""
        def lies(place: Place) -> int:
            name, at = place
            return at + (int(env[name]) if name not in places else places[name])

        if isinstance(action, Base):
            env[action.tensor] = lies(action)
        elif isinstance(action, Move):
            ctypes.memmove(lies(action.target), lies(action.source), action.bytes)
        else:
            number = array(self.interface.precision.code, [action.value]).tobytes()
            size = action.elements * len(number)
            if any(number):
                ctypes.memmove(lies(action.place), number * action.elements, size)
            else:
                ctypes.memset(lies(action.place), 0, size)

    def share(self, env: Any, run: Callable[[Any], Result], jobs: int) -> Result:
        """Result of `run` for the leader of a team, in more parts of a step than there are threads: none waits long for
        another."""
        team = self.interface.team
        assert team is not None
        taken = (ctypes.c_char * (TAKEN_APART * THREAD_PARTS * jobs))()
        first = {PARTS: THREAD_PARTS * jobs, TAKEN: addressof(taken)}
        env[team:team + TEAM] = [first.get(k, 0) for k in range(TEAM)]
        kernel = self.kernel

        def leader() -> Result:
            try:
                return run(Role(LEADS, 0, 0))
            finally:
                env[team + ENDED] = 1

        def helper(k: int, mailbox: Mailbox, held: object = taken) -> None:
            try:
                kernel.function(env, Role(HELPS, THREAD_PARTS * k, mailbox.address), 0, 0, None)
            except BaseException:   # it has not come
                env[team + GONE] += 1
                raise

        def post(k: int, mailbox: Mailbox) -> bool:
            role, asked = Role(HELPS, THREAD_PARTS * k, 0), Role(POSTS, 0, mailbox.address)
            mailbox.give(kernel.address, addressof(env), addressof(role), (kernel, env, role, taken))
            kernel.function(env, asked, 0, 0, None)
            if not asked[NUMBER]:
                mailbox.held = None
            return bool(asked[NUMBER])

        def wait(helpers: int) -> None:
            env[team + ENDED] = 1   # where the leader did not begin
            kernel.function(env, Role(WAITS, helpers, 0), 0, 0, None)
        return lead(leader, helper, range(1, jobs), post, wait)


def refuse_much(needed: int, limit: int | None) -> None:
    """AdError where there is not so much memory."""
    require_room("this", needed, "use smaller tensors", limit)


def seconds(instructions: float) -> float:
    """About what instructions take."""
    return instructions * NANOSECONDS * 1e-9


def long_run(instructions: float) -> Note:
    """Note before a long run."""
    minutes = seconds(instructions) / 60
    least = plural(round(minutes), "minute") if minutes < 120 else plural(round(minutes / 60), "hour")
    count = quantity(int(instructions))
    return Note(f"at these sizes one run takes about {count} instructions, {least} of one processor or more")
