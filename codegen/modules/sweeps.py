"""Steps of a module along the steps of time, block by block: what goes together, in which direction, and in which blocks.

The stepwise steps of a module that share histories are a group; its loops make `StepSweep`s through time, upwards or downwards.
In a sweep every step of the module does one block of its steps after another, and between two of its blocks the others do theirs.
Where it reads ahead of what others have written its blocks are moved against theirs, by its `shift`:

    block j of a part is  first + j*size + shift  to  first + (j + 1)*size + shift

A sum over steps is the sum of its blocks, in the order of its sweep: whether the blocks are done one after another or between
those of others, the bits are the same. That is what checkpoints (adcli.codegen.modules.segments) rest on. Blocks depend on the
extents alone.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isqrt, prod

from adcli.codegen.nests.stepwise import EACH, ELEMENT, LOOP, PLAIN, SUM, StepAccess, StepPart
from adcli.lang.ir import Var
from adcli.lang.sizes.binding import number

LEAST_BLOCK = 1 << 16
"""Bytes of histories that a block makes at least: what is smaller lies near the processor anyway."""


@dataclass(slots=True)
class StepSweep:
    """One way through the steps of a group. `members` are the parts that may have to run in it, in order; `windows` the elements
    of each tensor that a block touches, by how far its ends are from those of the block."""

    group: int
    way: int
    members: list[int] = field(default_factory=list)
    shifts: dict[int, int] = field(default_factory=dict)
    windows: dict[Var, tuple[int, int]] = field(default_factory=dict)
    strained: set[Var] = field(default_factory=set)
    """Tensors that cannot be made in this sweep before they are read."""


class Sweeps:
    """The sweeps of a module at sizes: `sweeps`, and for each part its `level`, the number of its sweep (between two of them for
    what is not stepwise); a number has `width` bytes."""

    def __init__(self, parts: Sequence[StepPart], sizes: Mapping[str, int], shapes: Mapping[Var, tuple[int, ...]],
                 width: int) -> None:
        self.parts, self.sizes, self.shapes, self.width = parts, sizes, shapes, width
        self.ends = {p.k: (number(p.low, sizes), number(p.high, sizes)) for p in parts if p.index is not None}
        self.writers: dict[Var, list[int]] = {}
        self.readers: dict[Var, list[int]] = {}
        for p in parts:
            for a in p.accesses:
                of = self.writers if a.writes else self.readers
                if p.k not in of.setdefault(a.tensor, []):
                    of[a.tensor].append(p.k)
        self.group = self.groups()
        self.sweeps: list[StepSweep] = []
        self.level: dict[int, float] = {}
        self.pinned: dict[int, float] = {}
        self.asked: set[int] = set()
        """Parts of which somebody reads more than goes along the step."""
        for p in parts:
            self.place(p)
        for n, sweep in enumerate(self.sweeps):
            self.fill(n, sweep)
        self.first, self.size, self.count = dict[int, int](), dict[int, int](), dict[int, int]()
        for g in {s.group for s in self.sweeps}:
            self.cut(g)

    def groups(self) -> dict[int, int]:
        """Stepwise parts that touch the same histories along the step are of one group."""
        root = {p.k: p.k for p in self.parts}

        def top(k: int) -> int:
            while root[k] != k:
                k = root[k]
            return k
        owner: dict[Var, int] = {}
        for p in self.parts:
            for a in p.accesses:
                if p.moves(a):
                    other = top(owner.setdefault(a.tensor, p.k))
                    root[max(top(p.k), other)] = min(top(p.k), other)
        return {k: top(k) for k in root}

    # ------------------------------------------------------------ levels

    def before(self, p: StepPart, tensor: Var) -> list[int]:
        """The parts that write a tensor before a part."""
        return [k for k in self.writers.get(tensor, ()) if k < p.k]

    def hurried(self, p: StepPart, a: StepAccess) -> list[int]:
        """The parts that read what a part writes over."""
        return [k for k in self.readers.get(a.tensor, ()) if k < p.k] if a.writes else []

    def place(self, p: StepPart) -> None:
        """Find the sweep of a part, behind all that it reads."""
        least, plain = 0, -0.5
        chained = {k for a in p.accesses if a.writes and p.adds for k in self.before(p, a.tensor) if self.parts[k].adds}
        for a in p.accesses:
            for k in (*self.before(p, a.tensor), *self.hurried(p, a)):
                w = self.parts[k]
                near = k in chained or (p.moves(a) and w.kind != PLAIN and self.group[k] == self.group[p.k]
                                        and all(x.offset is not None or w.kind == ELEMENT for x in w.accesses
                                                if x.tensor is a.tensor))
                level = self.level[k] if near else self.pin(k)
                plain = max(plain, level if level % 1 else level + 0.5)
                least = max(least, ceil(level) if near or level % 1 else int(level) + 1)
        self.level[p.k] = plain if p.kind == PLAIN else least if p.free else self.sweep_of(p, least)

    def pin(self, k: int) -> float:
        """The level at which all that a part makes is there."""
        if self.parts[k].free:
            self.asked.add(k)
        return self.level_of(k)

    def level_of(self, k: int) -> float:
        """When a part has run for the first time."""
        return self.run_of(k) if self.parts[k].free else self.level[k]

    def run_of(self, k: int) -> float:
        """Where a part is run that could be in any sweep: in that of the loop that goes on from what it makes, or in the first
        one. All that has to be run before it is run there or before."""
        if k not in self.pinned:
            found, left = {k}, [k]
            while left:
                new = self.ahead_of(self.parts[left.pop()]) - self.pinned.keys() - found
                found |= new
                left += new
            due = self.due()
            for w in sorted(found):
                behind = max([self.pinned[x] for x in self.ahead_of(self.parts[w])], default=-0.5)
                fits = [n for n, s in enumerate(self.sweeps) if n >= max(self.level[w], behind) and s.group == self.group[w]]
                loops = [self.level[q] for a in self.parts[w].accesses if a.writes for q in self.writers[a.tensor]
                         if q > w and self.parts[q].kind == LOOP and q in self.level]
                fits = [n for n in fits if n in loops and n <= due[w]] or fits   # where the loop goes on from it
                self.pinned[w] = fits[0] if fits else max(self.level[w] - 0.5, behind if behind % 1 else behind + 0.5)
        return self.pinned[k]

    def ahead_of(self, p: StepPart) -> set[int]:
        """The parts that could be in any sweep and have to be run before a part."""
        return {w for a in p.accesses for w in (*self.before(p, a.tensor), *self.hurried(p, a))
                if self.parts[w].free}

    def due(self) -> dict[int, float]:
        """For each part the first level at which something needs what it makes, or writes over what it reads."""
        found: dict[int, float] = {}
        for p in reversed(self.parts):
            behind = {q for a in p.accesses for of in ((self.writers, self.readers) if a.writes else (self.writers,))
                      for q in of.get(a.tensor, ()) if q > p.k}
            found[p.k] = min([found[q] if self.parts[q].free else self.level.get(q, inf) for q in behind],
                             default=inf)
        return found

    def sweep_of(self, p: StepPart, least: int) -> int:
        for n, s in enumerate(self.sweeps):
            if n >= least and s.group == self.group[p.k] and (p.kind == SUM or s.way == p.way):
                return n
        self.sweeps += [StepSweep(-1, 1)] * (least - len(self.sweeps))
        self.sweeps.append(StepSweep(self.group[p.k], p.way or 1))
        return len(self.sweeps) - 1

    # ------------------------------------------------------------ shifts

    def fill(self, n: int, sweep: StepSweep) -> None:
        """Find the members of a sweep, with their shifts and windows."""
        mine = [p.k for p in self.parts if self.group[p.k] == sweep.group and p.kind != PLAIN]
        wanted = [k for k in mine if (self.level[k] == n if self.parts[k].kind in (LOOP, SUM) else self.run_of(k) == n)]
        sweep.members = sorted(self.closure(wanted, lambda _: True))
        self.shift(n, sweep)
        for k in sweep.members:
            for a in self.parts[k].accesses:
                if a.offset is not None:
                    at = sweep.shifts[k] + a.offset
                    low, high = sweep.windows.get(a.tensor, (at, at))
                    sweep.windows[a.tensor] = min(low, at), max(high, at)
        for tensor, owner in self.owners(n, sweep).items():
            low, high = self.sweeps[owner].windows[tensor]
            mine_low, mine_high = sweep.windows[tensor]
            sweep.windows[tensor] = min(low, mine_low), max(high, mine_high)

    def closure(self, wanted: Iterable[int], kept: Callable[[Var], bool]) -> set[int]:
        """The parts with those that write what they read along the step, of the tensors for which `kept` holds."""
        found, left = set(wanted), list(wanted)
        while left:
            p = self.parts[left.pop()]
            for a in p.accesses:
                if p.moves(a) and kept(a.tensor):
                    new = [k for k in self.before(p, a.tensor) if self.parts[k].kind not in (PLAIN, SUM)
                           and self.group[k] == self.group[p.k]]
                    left += [k for k in new if k not in found]
                    found.update(new)
        return found

    def owners(self, n: int, sweep: StepSweep) -> dict[Var, int]:
        """The tensors that loops of earlier sweeps make again in this one, with these sweeps."""
        found = {}
        for k in sweep.members:
            p = self.parts[k]
            if p.kind == LOOP and self.level[k] < n:
                found.update({a.tensor: int(self.level[k]) for a in p.accesses if a.writes and a.offset is not None})
        return found

    def shift(self, n: int, sweep: StepSweep) -> None:
        """Shifts as small as they can be for loops and sums, and as late as they can be for what only others need."""
        way, owners = sweep.way, self.owners(n, sweep)
        ahead: dict[int, float] = {}
        for k in sweep.members:
            p = self.parts[k]
            fixed = self.fixed(p, owners)
            bounds: list[float] = [inf if p.free else 0]
            for a in p.accesses:
                if a.offset is not None:
                    mine = [self.bound(sweep, owners, ahead, a, w) for w in self.before(p, a.tensor) if w in ahead]
                    mine += [ahead[q] + way * (c - a.offset) for q in self.hurried(p, a) if q in ahead
                             for c in self.parts[q].reads(a.tensor)]
                    bounds += mine
                    if fixed is not None and min(mine, default=inf) < way * fixed:
                        sweep.strained.add(a.tensor)
            ahead[k] = min(bounds) if fixed is None else way * fixed
        for k in reversed(sweep.members):
            p = self.parts[k]
            if p.kind == EACH and self.fixed(p, owners) is None:
                out = p.written
                (at,) = p.writes(out)
                needs = [ahead[q] + way * (a.offset - at) for q in sweep.members if q > k for a in self.parts[q].accesses
                         if a.tensor is out and a.offset is not None]
                if max(needs, default=0) > ahead[k]:
                    sweep.strained.add(out)
                needs += [ahead[q] + way * (o - a.offset) for a in p.accesses if a.offset is not None and not a.writes
                          for q in self.writers.get(a.tensor, ()) if q > k and q in ahead
                          for o in self.parts[q].writes(a.tensor)]   # it reads what they write over
                ahead[k] = min(ahead[k], max(needs, default=0))
        sweep.shifts = {k: int(way * x) if abs(x) < inf else 0 for k, x in ahead.items()}

    def fixed(self, p: StepPart, owners: Mapping[Var, int]) -> int | None:
        """The shift of what is made again as it was made in another sweep."""
        found = [self.sweeps[owners[a.tensor]].shifts.get(p.k) for a in p.accesses if a.writes and a.tensor in owners]
        return found[0] if found else None

    def bound(self, sweep: StepSweep, owners: Mapping[Var, int], ahead: Mapping[int, float], a: StepAccess, w: int) -> float:
        """How far ahead a part may be that touches elements which part `w` writes."""
        assert a.offset is not None
        owner = owners.get(a.tensor)
        if owner is not None and self.sweeps[owner].way != sweep.way:
            low, high = self.sweeps[owner].windows[a.tensor]
            return sweep.way * ((high if sweep.way > 0 else low) - a.offset)
        return min([ahead[w] + sweep.way * (o - a.offset) for o in self.parts[w].writes(a.tensor)], default=inf)

    # ------------------------------------------------------------ blocks

    def cut(self, group: int) -> None:
        """The blocks of a group: about as many as steps in each."""
        spans = [(low - s.shifts[k], high - s.shifts[k]) for s in self.sweeps if s.group == group for k in s.members
                 for low, high in [self.ends.get(k, (0, 0))] if low < high]
        self.first[group] = min((a for a, _ in spans), default=0)
        length = max((b for _, b in spans), default=0) - self.first[group]
        bytes_of_step = sum(self.width * prod(self.shapes[v][1:]) for v in self.along(group))
        least = max(isqrt(max(length - 1, 0)) + 1, -(-LEAST_BLOCK // max(bytes_of_step, 1)))
        self.count[group] = max(1, -(-length // least))
        self.size[group] = max(1, -(-length // self.count[group]))

    def along(self, group: int) -> dict[Var, None]:
        """The tensors that parts of a group write along the step."""
        return dict.fromkeys(a.tensor for p in self.parts if self.group[p.k] == group for a in p.accesses
                             if a.writes and a.offset is not None)

    def block(self, n: int, k: int, j: int) -> tuple[int, int]:
        """The steps of a part in block j of sweep n, none where the first is not before the second."""
        sweep = self.sweeps[n]
        begin = self.first[sweep.group] + j * self.size[sweep.group] + sweep.shifts[k]
        low, high = self.ends[k]
        return max(low, begin), min(high, begin + self.size[sweep.group])

    def blocks(self, n: int) -> Iterator[int]:
        """The numbers of the blocks of a sweep, in order."""
        count = self.count[self.sweeps[n].group]
        return iter(range(count) if self.sweeps[n].way > 0 else range(count - 1, -1, -1))
