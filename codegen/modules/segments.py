"""Checkpointed loops: of histories only windows are kept, and what is needed again is made again, block by block.

In the memory of a history there is a window, the elements that one block touches; the address in `env` is that of an element 0
that may not exist, so compiled code is the same with and without. Going on to the next block moves the elements that both have.
What a loop carries from block to block is kept at the beginning of every block where a later sweep makes the loop again.

A plan is a list of actions:

    Run     steps of the module, for some of their steps of time
    Move    bytes from one place to another
    Fill    elements with what those are that nothing writes
    Base    the address of a tensor in `env`

A history stays whole where it is a result, where something else than the steps beside it reads more of it than its window has, or
where a block would read what another one has half made.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from adcli.codegen.modules.calls import Base, Fill, Move
from adcli.codegen.modules.sweeps import StepSweep, Sweeps
from adcli.codegen.nests.stepwise import EACH, ELEMENT, LOOP, PLAIN, SUM, StepPart
from adcli.lang.ir import Var
from adcli.lang.sizes.binding import number


@dataclass(frozen=True, slots=True)
class Run:
    """Part `k` for the steps `low` to `high`, or as a whole; with `more` it adds to what blocks before it have left."""

    k: int
    low: int | None = None
    high: int | None = None
    more: bool = False


Action = Run | Move | Fill | Base


class _Unfit(Exception):
    """A tensor of which a window is not enough."""

    def __init__(self, tensor: Var) -> None:
        self.tensor = tensor


@dataclass(slots=True)
class SegmentPlan:
    """The actions of a call; the bytes of each tensor that has a window, and of what is kept at the beginnings of blocks; and
    for each phase the tensors that it touches, to know which may share memory."""

    actions: list[Action]
    bytes: dict[object, int]
    touched: list[set[object]]
    more: Counter[int] = field(default_factory=Counter)
    """How many sweeps make again what a step makes."""

    def times(self, k: int) -> int:
        return 1 + self.more[k]


def in_order(sweeps: Sweeps, fills: bool) -> SegmentPlan:
    """The plan without windows: all steps in their order, sums over steps in blocks; sums into one tensor together."""
    found = SegmentPlan([], {}, [])
    chains: dict[tuple[float, Var], list[int]] = {}
    for p in sweeps.parts:
        if p.adds and sweeps.count[sweeps.group[p.k]] > 1:
            chains.setdefault((sweeps.level[p.k], p.written), []).append(p.k)
    together = {k: (n, ks) for (n, _), ks in chains.items() for k in ks}
    for p in sweeps.parts:
        n, ks = together.get(p.k, (0, [p.k]))
        if p.k != ks[-1]:
            continue
        found.touched.append(set(ks))
        found.actions += filled(sweeps, ks, set(sweeps.writers)) if fills else []
        found.actions += of_blocks(sweeps, int(n), ks) if p.k in together else [Run(p.k)]
    return found


def of_blocks(sweeps: Sweeps, n: int, ks: Sequence[int]) -> list[Action]:
    """Sums of a sweep, block by block."""
    found, done = list[Action](), set[int]()
    for j in sweeps.blocks(n):
        for k in ks:
            low, high = sweeps.block(n, k, j)
            if low < high or k not in done:   # each begins before what adds to it, be there steps or not
                found.append(Run(k, low, max(low, high), k in done))
                done.add(k)
    return found


def started(sweeps: Sweeps, v: Var) -> float | None:
    """Initial value of elements that nothing writes; None where a step fills them."""
    mine = [sweeps.parts[k] for k in sweeps.writers[v]]
    found = [dict(p.starts).get(v) for p in mine if p.free or p.kind == LOOP]
    return next((x for x in found if x is not None), None)


def filled(sweeps: Sweeps, ks: Sequence[int], whole: set[Var]) -> list[Action]:
    """Fills before parts that are the first to write whole tensors."""
    first = [v for k in ks for v in dict.fromkeys(a.tensor for a in sweeps.parts[k].accesses if a.writes)
             if v in whole and sweeps.writers[v][0] == k]
    return [Fill((v, 0), prod(sweeps.shapes[v]), x) for v in first if (x := started(sweeps, v)) is not None]


def planned(sweeps: Sweeps, checkpointed: set[int], own: set[Var]) -> SegmentPlan | None:
    """The plan with windows for what groups with a checkpointed loop make, of the tensors that are not results; None where that
    saves nothing."""
    whole = {v for v in sweeps.writers if v not in own}
    groups = {g for g in (sweeps.group[k] for k in checkpointed) if sweeps.count.get(g, 1) > 1}
    if not groups:
        return None
    for v in sweeps.writers:
        if not _along(sweeps, v, groups):
            whole.add(v)
    while True:
        try:
            plan = _Planner(sweeps, groups, whole)
        except _Unfit as unfit:
            if unfit.tensor in whole:
                return None
            whole.add(unfit.tensor)
            continue
        return plan.found if plan.windowed else None


def _along(sweeps: Sweeps, v: Var, groups: set[int]) -> bool:
    """True if all that touches a tensor goes along the step, in one of these groups, or touches single elements; its step is the
    first dimension, so that what a block touches lies together."""
    for p in sweeps.parts:
        mine = [a for a in p.accesses if a.tensor is v]
        if any(a.place or (a.offset is None and a.element is None) for a in mine):
            return False
        if p.kind == PLAIN and any(a.writes for a in mine):
            return False
        alone = p.free and sweeps.run_of(p.k) % 1
        if alone and any(a.writes or a.offset is not None for a in mine):
            return False
        if any(a.writes for a in mine) and (sweeps.group[p.k] not in groups or p.kind == SUM):
            return False
    return True


class _Runs:
    """Which parts run where: `runs` has those of each sweep, `again` the loops among them that an earlier sweep has made; what is
    in `windowed` has windows, what is in `whole` none."""

    def __init__(self, sweeps: Sweeps, groups: set[int], whole: set[Var]) -> None:
        self.sweeps, self.groups, self.whole = sweeps, groups, whole
        self.windowed = {v for v in sweeps.writers if v not in whole}
        self.runs = {n: self.members(n) for n in range(len(sweeps.sweeps))}
        self.again = {n: [k for k in ks if sweeps.parts[k].kind == LOOP and sweeps.level[k] < n] for n, ks in self.runs.items()}
        self.check()

    def alone(self, p: StepPart) -> float | None:
        """The level of a part that runs between sweeps."""
        if p.kind == PLAIN:
            return self.sweeps.level[p.k]
        if p.free and self.sweeps.run_of(p.k) % 1:
            return self.sweeps.run_of(p.k)
        return None

    def members(self, n: int) -> list[int]:
        """The parts that run in a sweep: what it is there for, and what makes the windows that these read."""
        s, roots = self.sweeps, list[int]()
        for k in s.sweeps[n].members:
            p = s.parts[k]
            here = s.level[k] == n if p.kind in (LOOP, SUM) else s.run_of(k) == n
            if here and (p.kind in (LOOP, SUM) or k in s.asked or any(a.writes and a.tensor in self.whole for a in p.accesses)):
                roots.append(k)
        return sorted(s.closure(roots, self.windowed.__contains__))

    def check(self) -> None:
        """_Unfit where blocks would read what is not there."""
        s = self.sweeps
        for n, ks in self.runs.items():
            for k in ks:
                for a in s.parts[k].accesses:
                    if a.tensor in s.sweeps[n].strained and a.tensor in self.windowed:
                        raise _Unfit(a.tensor)
                    if not a.writes and a.tensor in self.whole and any(
                            s.level_of(w) < n for w in s.writers[a.tensor] if w > k):
                        raise self.unfit(k, a.tensor)   # it has been written over by then
            for k in self.again[n]:
                mine = {a.tensor for a in s.parts[k].accesses if a.writes}
                carried = {a.tensor for a in s.parts[k].accesses if a.writes and a.offset is None and a.element is None}
                if (not s.parts[k].again and mine & self.whole) or any(self.wanted(v, k, n) for v in carried):
                    raise _Unfit(next((v for v in mine if v in self.windowed), next(iter(mine))))
                owner = s.sweeps[int(s.level[k])]
                for v in mine & self.windowed:
                    edge = owner.windows[v][1 if owner.way > 0 else 0]
                    ends = {owner.shifts[w] + o for w in s.writers[v] for o in s.parts[w].writes(v) if w in owner.shifts}
                    if ends != {edge}:
                        raise _Unfit(v)
                    early = {w for w in ks if w < k for o in s.parts[w].reads(v) if s.sweeps[n].shifts[w] + o != edge}
                    if early:   # what has been kept of it is there before they read
                        raise self.unfit(min(early), v)

    def unfit(self, k: int, v: Var) -> _Unfit:
        """Fault: the tensor that part `k` makes again, or else reads, must be whole."""
        return _Unfit(next((a.tensor for a in self.sweeps.parts[k].accesses if a.writes and a.tensor in self.windowed), v))

    def wanted(self, v: Var, k: int, n: int) -> bool:
        """True if another part than loop `k` reads a tensor in sweep `n` or behind it, when the loop has begun again."""
        for p in self.sweeps.parts:
            if p.k != k and any(a.tensor is v and not a.writes for a in p.accesses):
                alone = self.alone(p)
                if (alone is not None and alone > n) or any(m >= n and p.k in ks for m, ks in self.runs.items()):
                    return True
        return False


class _Planner(_Runs):
    """Goes through all phases as a call will, and writes down what it does."""

    def __init__(self, sweeps: Sweeps, groups: set[int], whole: set[Var]) -> None:
        super().__init__(sweeps, groups, whole)
        self.found = SegmentPlan([], {}, [], Counter(k for ks in self.again.values() for k in ks))
        self.at: dict[Var, tuple[int, int]] = {}
        """The first element of the window of a tensor now, and the one behind its last."""
        self.begun: set[int] = set()
        self.made: dict[Var, set[int]] = {v: set() for v in self.windowed}
        """The parts that have written what is in a window now."""
        self.strides = {v: sweeps.width * prod(sweeps.shapes[v][1:]) for v in self.windowed}
        others = [(x, p.k) for p in sweeps.parts if (x := self.alone(p)) is not None]
        for level, k in sorted([*((float(n), -1) for n in self.runs), *others]):
            if k < 0:
                self.sweep(int(level), sweeps.sweeps[int(level)])
            else:
                self.single(sweeps.parts[k])

    # ------------------------------------------------------------ phases

    def single(self, p: StepPart) -> None:
        self.touch([p.k])
        self.elements(p)
        self.found.actions.append(Run(p.k))

    def touch(self, ks: Sequence[int], more: Sequence[object] = ()) -> None:
        self.found.touched.append({*more, *ks})
        self.found.actions += filled(self.sweeps, [k for k in ks if k not in self.begun], self.whole)
        self.begun.update(ks)

    def elements(self, p: StepPart) -> None:
        """_Unfit where an element that is read or written alone is not in the window."""
        for a in p.accesses:
            if a.element is not None and a.tensor in self.windowed:
                (low, high), x = self.at.get(a.tensor, (0, 0)), number(a.element, self.sweeps.sizes)
                lacking = set(self.sweeps.before(p, a.tensor)) - self.made[a.tensor]
                there = a.writes or not any(self.concerns(self.sweeps.parts[k], a.tensor, x) for k in lacking)
                if not there or not low <= x < high:
                    raise _Unfit(a.tensor)

    def concerns(self, p: StepPart, v: Var, element: int) -> bool:
        """True if a part may write an element."""
        return p.kind != ELEMENT or any(a.tensor is v and a.writes and a.element is not None
                                        and number(a.element, self.sweeps.sizes) == element for a in p.accesses)

    def sweep(self, n: int, sweep: StepSweep) -> None:
        if sweep.group < 0:
            return
        order, done = list(self.sweeps.blocks(n)), set[int]()
        mine = [v for v in self.windowed if v in sweep.windows and any(
            a.tensor is v and a.offset is not None for k in self.runs[n] for a in self.sweeps.parts[k].accesses)]
        self.touch(self.runs[n], [*mine, *self.keeps(n)])
        self.made.update((v, set()) for v in mine)
        for turn, j in enumerate(order):
            for v in mine:
                self.slide(sweep, v, j, turn == 0)
            self.restore(n, j, turn)
            for v in mine:
                self.refresh(n, sweep, v, j)
            self.keep(n, j, turn)
            for k in self.runs[n]:
                self.run(n, k, j, turn == 0, done)

    def run(self, n: int, k: int, j: int, first: bool, done: set[int]) -> None:
        s, p = self.sweeps, self.sweeps.parts[k]
        if p.kind == ELEMENT:
            if j == self.beginning(n, k):
                self.elements(p)
                self.behind(n, p, j)
                self.found.actions.append(Run(k))
                self.writes(p)
            return
        low, high = s.block(n, k, j)
        empty = p.adds or s.ends[k][0] >= s.ends[k][1]
        if low < high or (empty and first):
            self.elements(p)
            self.found.actions.append(Run(k, low, max(low, high), k in done))
            self.writes(p)
            done.add(k)

    def writes(self, p: StepPart) -> None:
        for a in p.accesses:
            if a.writes and a.tensor in self.windowed:
                self.made[a.tensor].add(p.k)

    def behind(self, n: int, p: StepPart, j: int) -> None:
        """_Unfit where a later block would overwrite a single element."""
        s = self.sweeps
        for a in p.accesses:
            for k in s.before(p, a.tensor) if a.writes and a.tensor in self.whole else ():
                if k not in self.runs[n] or s.parts[k].kind != EACH or a.element is None:
                    continue
                (low, high), x = s.block(n, k, j), number(a.element, s.sizes)
                if not any(low <= x - o < high for o in s.parts[k].writes(a.tensor)):
                    raise _Unfit(a.tensor)

    def beginning(self, n: int, k: int) -> int:
        """The block in which single elements of a tensor are assigned: the first of the sweep of its loop."""
        v = self.sweeps.parts[k].written
        owner = self.owner(n, v)
        return next(self.sweeps.blocks(n if owner is None else owner))

    def owner(self, n: int, v: Var) -> int | None:
        """The sweep in which the loop stands that writes a tensor here."""
        loops = [k for k in self.sweeps.writers[v] if self.sweeps.parts[k].kind == LOOP and k in self.runs[n]]
        return int(self.sweeps.level[loops[0]]) if loops else None

    # ------------------------------------------------------------ windows

    def window(self, sweep: StepSweep, v: Var, j: int) -> tuple[int, int]:
        begin = self.sweeps.first[sweep.group] + j * self.sweeps.size[sweep.group]
        low, high = sweep.windows[v]
        return begin + low, begin + self.sweeps.size[sweep.group] + high

    def place(self, v: Var, element: int) -> tuple[object, int]:
        return v, (element - self.at[v][0]) * self.strides[v]

    def slide(self, sweep: StepSweep, v: Var, j: int, first: bool) -> None:
        """Go on to the window of a block; elements that the one before has, too, move along."""
        before, now, stride = self.at.get(v), self.window(sweep, v, j), self.strides[v]
        if before is not None and not first:
            low, high = max(before[0], now[0]), min(before[1], now[1])
            if low < high and before != now:
                ends = (v, (low - now[0]) * stride), (v, (low - before[0]) * stride)
                self.found.actions.append(Move(*ends, (high - low) * stride))
        self.at[v] = now
        self.found.bytes[v] = max(self.found.bytes.get(v, 0), (now[1] - now[0]) * stride)
        self.found.actions.append(Base(v, -now[0] * stride))

    def refresh(self, n: int, sweep: StepSweep, v: Var, j: int) -> None:
        """Fill the elements that a block is the first to touch."""
        value = started(self.sweeps, v)
        if value is None:
            return
        owner = self.owner(n, v)
        original = sweep if owner is None else self.sweeps.sweeps[owner]
        low, high = self.window(original, v, j)
        kept_low, kept_high = self.carried(original, v, j)
        if j != next(self.sweeps.blocks(n if owner is None else owner)):
            low, high = (max(low, kept_high), high) if original.way > 0 else (low, min(high, kept_low))
        if low < high:
            self.found.actions.append(Fill(self.place(v, low), (high - low) * self.strides[v] // self.sweeps.width, value))

    # ------------------------------------------------------------ what is carried from block to block

    def carried(self, sweep: StepSweep, v: Var, j: int) -> tuple[int, int]:
        """The elements of a window that the block before had, too."""
        (low, high), (other_low, other_high) = self.window(sweep, v, j), self.window(sweep, v, j - sweep.way)
        return max(low, other_low), min(high, other_high)

    def states(self, loops: Sequence[int]) -> dict[Var, int]:
        """The tensors that loops carry on in windows, or as a whole where they are rings, with the sweeps of the loops."""
        found = {}
        for k in loops:
            for a in self.sweeps.parts[k].accesses:
                if a.writes and (a.tensor in self.windowed or (a.offset is None and a.element is None)):
                    found[a.tensor] = int(self.sweeps.level[k])
        return found

    def later(self, n: int) -> list[int]:
        """The loops of a sweep that are made again in later ones."""
        return sorted({k for m, ks in self.again.items() if m > n for k in ks if self.sweeps.level[k] == n})

    def keeps(self, n: int) -> list[object]:
        """The names of what is kept, of all that is written or read in a sweep."""
        names: list[object] = [("kept", v) for v in self.states(self.later(n) + self.again[n])]
        for name in names:
            self.found.bytes.setdefault(name, 0)
        return names

    def slot(self, v: Var, sweep: StepSweep, j: int) -> tuple[object, int, int]:
        """Where the state of a tensor before a block is kept, and how long it is."""
        if v in self.windowed:
            low, high = self.carried(sweep, v, j)
            size = max(0, high - low) * self.strides[v]
        else:
            size = self.sweeps.width * prod(self.sweeps.shapes[v])
        name = ("kept", v)
        self.found.bytes[name] = size * self.sweeps.count[sweep.group]
        return name, j * size, size

    def state(self, v: Var, sweep: StepSweep, j: int) -> tuple[object, int]:
        return self.place(v, self.carried(sweep, v, j)[0]) if v in self.windowed else (v, 0)

    def keep(self, n: int, j: int, turn: int) -> None:
        """Keep what loops begin a block with that are made again later."""
        for v in self.states(self.later(n)):
            if turn or v not in self.windowed:
                name, at, size = self.slot(v, self.sweeps.sweeps[n], j)
                if size:
                    self.found.actions.append(Move((name, at), self.state(v, self.sweeps.sweeps[n], j), size))

    def restore(self, n: int, j: int, turn: int) -> None:
        """Give loops that are made again what they began the block with."""
        for v, owner in self.states(self.again[n]).items():
            sweep = self.sweeps.sweeps[owner]
            begins = j == next(self.sweeps.blocks(owner))
            if (v not in self.windowed or not begins) and (turn == 0 or sweep.way != self.sweeps.sweeps[n].way):
                name, at, size = self.slot(v, sweep, j)
                if size:
                    self.found.actions.append(Move(self.state(v, sweep, j), (name, at), size))
