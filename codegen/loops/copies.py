"""Where the copies of a packed read are: how many are made together, and the address of each."""
from __future__ import annotations

from collections.abc import Sequence

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.gathers import Gathers
from adcli.codegen.schedules.schedule import GROUP, LONG_SUM, PIECE
from adcli.lang.ir import Var
from adcli.lang.ir.affine import Index
from adcli.lang.operations.comprehension import Range, Read


class Copies(Gathers):
    """A nest that may read copies."""

    def place_in_copy(self, s: Read, width: int) -> Placed:
        """Where the copy of an element is: in its panel `width` elements stand together for each point of the reduced indices."""
        assert self.schedule.vector is not None
        if (kept := dict(self.schedule.hoisted).get(s)) is not None:
            return self.among_all_points(kept, s, width)
        return self.among_points(self.scratch(s), width, self.schedule.vector, self.group_begin, self.points())

    def among_points(self, at: str, width: int, along: Index, begin: str, points: str) -> Placed:
        """Where `width` elements are that stand together for a point, in copies that start with value `begin` of an index, and
        have room for so many points at each of its values."""
        stride = str(width)
        steps = []
        for index in reversed(self.schedule.inner):
            r = self.schedule.range(index)
            low = self.piece[0] if self.piece is not None and index is self.schedule.pieces else self.number(r.low)[0]
            steps.append((self.bound[index], low, stride))
            stride = self.product([self.length(r), stride])
        steps.append((self.bound[along], begin, points))
        return self.stepped(at, steps)

    def among_all_points(self, kept: Var, s: Read, width: int) -> Placed:
        """Address of an element in a hoisted copy, which has all elements of a read."""
        vector, outer = self.schedule.vector, self.schedule.outer_of(s)
        assert vector is not None
        points = self.product([self.number(x)[0] for x in kept.shape[len(outer):-1]])
        panels, steps = self.product([points, self.number(kept.shape[-1])[0]]), list[tuple[Placed, str, str]]()
        for stride, group in ((str(width), self.schedule.inner), (points, [vector]), (panels, outer)):
            for index in reversed(group):
                r = self.schedule.range(index)
                steps.append((self.bound[index], self.number(r.low)[0], stride))
                stride = self.product([self.number(r.high - r.low)[0], stride])
        return self.stepped(self.tensor(kept), steps)

    def stepped(self, at: str, steps: Sequence[tuple[Placed, str, str]]) -> Placed:
        """The address that many elements further for each index: its value, less the first one, times a stride."""
        level = 0
        for (text, level), low, factor in sorted(steps, key=lambda step: step[0][1]):
            offset = self.times(self.place(level, f"sub i64 {text}, {low}", ("-", text, low)), level, factor)
            at = self.place(level, f"getelementptr {self.scalar}, ptr {at}, i64 {offset}", ("+", at, offset))
        return at, level

    def points(self) -> str:
        """How many points of the reduced indices a copy has."""
        return self.product([self.length(r) for r in self.op.ranges if r.index in self.schedule.inner])

    def group(self) -> str:
        """How many values of the vectorised index are copied before their rows are computed: whole panels, about as many in each
        group."""
        width = self.lanes * self.schedule.blocks
        points = self.at_least_one(self.points())
        numbers = GROUP // len(self.schedule.packed_reads) // width
        most = self.at_least_one(self.once(f"sdiv i64 {numbers}, {points}"))
        panels = self.panels()
        halves = self.once(f"add i64 {self.once(f'shl i64 {panels}, 1')}, {most}")
        groups = self.at_least_one(self.once(f"sdiv i64 {halves}, {self.once(f'shl i64 {most}, 1')}"))
        above = self.once(f"add i64 {panels}, {groups}")
        each = self.at_least_one(self.once(f"sdiv i64 {self.once(f'sub i64 {above}, 1')}, {groups}"))
        return self.once(f"mul i64 {each}, {width}")

    def once(self, right: str) -> str:
        """A value of the whole nest, computed once for the same text."""
        return self.place(0, right, right)

    def panels(self) -> str:
        """How many panels the vectorised index has."""
        assert self.schedule.vector is not None
        r, width = self.schedule.range(self.schedule.vector), self.lanes * self.schedule.blocks
        return self.quotient(self.number(r.high - r.low + (width - 1))[0], 0, str(width))

    def at_least_one(self, text: str) -> str:
        return self.extreme((text, 0), ("1", 0), True)[0]

    def scratch(self, s: Read) -> str:
        """Memory on the stack for the copies of a read."""
        size = self.product([self.group(), self.points()])
        return self.place(0, f"alloca {self.scalar}, i64 {size}, align {self.bytes * self.lanes}", ("scratch", s))

    def short_sum(self) -> str:
        """True if all points of a sum are no more than LONG_SUM."""
        points = self.product([self.number(r.high - r.low)[0] for r in map(self.schedule.range, self.schedule.inner)])
        return self.place(0, f"icmp sle i64 {points}, {LONG_SUM}", ("short", points))

    def length(self, r: Range) -> str:
        """How many values of a reduced index are copied at a time."""
        whole = self.number(r.high - r.low)[0]
        if r.index is not self.schedule.pieces:
            return whole
        others = self.product([self.number(x.high - x.low)[0] for x in self.op.ranges
                               if x.index in self.schedule.inner and x.index is not r.index])
        some = self.extreme((others, 0), ("1", 0), True)[0]
        points = str(LONG_SUM)
        if not self.schedule.adds:
            points = self.place(0, f"select i1 {self.short_sum()}, i64 {LONG_SUM}, i64 {PIECE}", ("points of a piece",))
        most = self.place(0, f"sdiv i64 {points}, {some}", ("piece", some))
        few = self.extreme((most, 0), ("1", 0), True)
        return self.extreme(few, (whole, 0), False)[0]
