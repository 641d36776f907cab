"""Loops over the indices of a nest: from where to where each runs, and what holds in them.

A guard limits the first loop where all its other indices are known; those that no loop is limited by are asked where a point is.
The vectorised index is done in blocks of registers, and what is left over masked.

A guard of a predicated schedule on the indices of an element says whether it is stored; a tile is computed where any of its
elements is. A guard on the innermost index, from where to where it runs, has most of that range in common for the rows of a tile:
in the rest, rows that have no point there keep their sums. What is computed beside the guards reads elements that exist, and goes
nowhere.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.boxes import Boxes
from adcli.codegen.rows.instructions import vector
from adcli.codegen.schedules.schedule import Schedule, indices
from adcli.lang.ir import Equation
from adcli.lang.ir.affine import Affine, Index, affine, greatest, linear, slope, without

FEWER_BLOCKS = 4
"""Registers of what is left where more are computed together: fewer would wait for one another."""


class IndexLoops(Boxes):
    """A nest whose loops are opened and closed."""

    def __init__(self, env: Environment, equation: Equation, schedule: Schedule) -> None:
        super().__init__(env, equation, schedule)
        self.undecided = [g for g in schedule.op.guards if indices(g) and not schedule.predicated]
        self.begins = ""
        """True if what a piece comes to is not added to what is there."""

    def limits(self, index: Index) -> tuple[str, str]:
        """The first value of an index and the one after the last, within what guards allow it where other indices are known."""
        if self.piece is not None and index is self.schedule.pieces:
            return self.piece
        r = self.schedule.range(index)
        low, high = self.number(r.low), self.number(r.high)
        for g in [g for g in self.undecided if linear(g) and slope(g, index).number]:
            others = [i for i in g.indices() if i is not index]
            if all(i in self.bound for i in others):
                low, high = self.tightened(g, index, others, low, high)
        if index is self.schedule.shared:
            low, high = self.extreme(low, ("%begin", 0), True), self.extreme(high, ("%end", 0), False)
        low, high = self.in_box(index, low, high)
        return low[0], high[0]

    def tightened(self, g: Affine, index: Index, others: Sequence[Index], low: Placed, high: Placed) -> tuple[Placed, Placed]:
        c, v = slope(g, index).number or 0, self.schedule.vector
        rest = without(g, index)
        if v in others and v is not None:
            reach = self.lanes * self.schedule.blocks - 1
            rest += greatest(affine(0), slope(rest, v) * reach)
        else:
            self.undecided.remove(g)
            self.floor = len(self.frames)
        text, level = self.number(rest)
        if c > 0:
            negative, _ = self.number(-rest)
            least = self.quotient(self.place(level, f"add i64 {negative}, {c - 1}"), level, str(c)) if c > 1 else negative
            return self.extreme(low, (least, level), True), high
        most = self.quotient(text, level, str(-c))
        return low, self.extreme(high, (self.place(level, f"add i64 {most}, 1"), level), False)

    def close(self, index: Index, results: Sequence[str]) -> list[str]:
        del self.bound[index]
        return self.close_loop(results)

    def rows(self, inside: Callable[[int], None]) -> None:
        assert self.schedule.tile is not None
        low, high = self.band or self.limits(self.schedule.tile)
        self.in_tiles(self.schedule.tile, low, high, self.schedule.rows, lambda step: self.columns(step, inside))

    def columns(self, rows: int, inside: Callable[[int], None]) -> None:
        """The index beside the tile's, if there is one; `inside` is told how many points the tile has."""
        if (index := self.schedule.column) is None:
            inside(rows)
            return

        def one(columns: int) -> None:
            self.rows_now = rows
            inside(rows * columns)
        self.in_tiles(index, *self.limits(index), self.schedule.columns, one)

    def in_tiles(self, index: Index, low: str, high: str, many: int, inside: Callable[[int], None]) -> None:
        """A loop over an index by so many values at a time, then one by one."""
        middle = self.whole(low, high, many)
        for first, last, step in ((low, middle, many), (middle, high, 1)):
            self.open_loop(index, first, last, step, ())
            saved = self.floor, list(self.undecided)
            inside(step)
            self.floor, self.undecided = saved
            self.close(index, [])

    def whole(self, low: str, high: str, step: int) -> str:
        """The end of the last whole block of `step` from `low`; no further than `high`."""
        length = self.put(f"sub i64 {high}, {low}")
        rest = self.put(f"srem i64 {length}, {step}")
        end = self.put(f"sub i64 {high}, {rest}")
        return self.put(f"call i64 @llvm.smax.i64(i64 {end}, i64 {low})")

    def vector_loops(self, inside: Callable[[int], None]) -> None:
        """The vectorised index, where it is in the result: whole blocks, whole registers, and what is left masked."""
        schedule = self.schedule
        if schedule.vector is None or schedule.reduces:
            inside(schedule.blocks)
            return
        low, high = self.limits(schedule.vector)
        for turns in self.passes(low, high):
            self.vector_loop(*turns, high, inside)

    def vector_loop(self, first: str, last: str, step: int, blocks: int, high: str, inside: Callable[[int], None]) -> None:
        """A loop along the vectorised index in blocks of registers, or masked where there are none."""
        assert self.schedule.vector is not None
        self.open_loop(self.schedule.vector, first, last, step, ())
        self.tail = self.remaining(high) if blocks == 0 else None
        inside(max(blocks, 1))
        self.tail = None
        self.close(self.schedule.vector, [])

    def passes(self, low: str, high: str) -> list[tuple[str, str, int, int]]:
        """First, last, step and number of registers of the loops along the vectorised index; no registers: masked."""
        found = []
        most = self.schedule.blocks
        for blocks in sorted({1, most, min(most, FEWER_BLOCKS)}, reverse=True):
            step = self.lanes * blocks
            end = self.whole(low, high, step)
            found.append((low, end, step, blocks))
            low = end
        return [*found, (low, high, self.lanes, 0)]

    def remaining(self, high: str) -> str:
        """The mask of lanes whose index is less than `high`."""
        assert self.schedule.vector is not None
        at, level = self.bound[self.schedule.vector]
        lanes, end = self.lanes_of(at, level, 1), self.spread_integer(high, level)
        return self.place(level, f"icmp slt {vector('i64', self.lanes)} {lanes}, {end}")

    def condition(self) -> str | None:
        """True if any lane is left by the guards that are not decided yet; sets the mask of lanes."""
        v, scalars, masks = self.schedule.vector, [], [self.tail] if self.tail else []
        for g in self.undecided:
            text, level = self.number(g)
            if v is not None and v in g.indices():
                moved = self.lanes_of(text, level, slope(g, v).number or 0)
                masks.append(self.place(level, f"icmp sge {vector('i64', self.lanes)} {moved}, zeroinitializer"))
            else:
                scalars.append(self.place(level, f"icmp sge i64 {text}, 0"))
        kind = vector("i1", self.lanes)
        for m in masks:
            self.mask = m if self.mask is None else self.put(f"and {kind} {self.mask}, {m}")
        if len(masks) > bool(self.tail):
            name = f"llvm.vector.reduce.or.v{self.lanes}i1"
            self.env.declare(name, f"declare i1 @{name}({kind})")
            scalars.append(self.put(f"call i1 @{name}({kind} {self.mask})"))
        whole = None
        for s in scalars:
            whole = s if whole is None else self.put(f"and i1 {whole}, {s}")
        return whole

    def step_over(self, at: str, u: int) -> str:
        return self.put(f"getelementptr {self.scalar}, ptr {at}, i64 {u * self.lanes}") if u else at

    # ------------------------------------------------------------ predicated tiles

    def stores_some(self, rows: int, blocks: int) -> str:
        """True if any element of a tile may be stored."""
        some = "true"
        for g in self.schedule.store_guards:
            most = self.number(g + self.reach(g, rows, blocks))[0]
            some = self.put(f"and i1 {some}, {self.put(f'icmp sge i64 {most}, 0')}")
        return some

    def reach(self, g: Affine, rows: int, blocks: int) -> int:
        """How much more than at its first element an expression is at most in a tile."""
        across = [(self.schedule.tile, rows - 1), (self.schedule.vector, self.lanes * blocks - 1)]
        return sum(max(0, (slope(g, i).number or 0) * n) for i, n in across if i is not None)

    def stored_lanes(self, t: int, u: int) -> str:
        """The mask of the lanes whose element is stored, at one row and register of a tile."""
        v, tile, kind, mask = self.schedule.vector, self.schedule.tile, vector("i1", self.lanes), self.tail
        for g in self.schedule.store_guards:
            first = self.number(g + t * (slope(g, tile).number or 0) if tile is not None else g)
            lanes = self.lanes_of(*first, slope(g, v).number or 0 if v is not None else 0, u * self.lanes)
            holds = self.put(f"icmp sge {vector('i64', self.lanes)} {lanes}, zeroinitializer")
            mask = holds if mask is None else self.put(f"and {kind} {mask}, {holds}")
        assert mask is not None
        return mask

    def stretches(self, index: Index, rows: int, low: str, high: str) -> list[tuple[str, str, bool]]:
        """The parts of the range of the innermost index from `low` to `high`, one behind the other, and whether all rows of a
        tile have points there."""
        def most(x: str, y: str) -> str:
            return self.put(f"call i64 @llvm.smax.i64(i64 {x}, i64 {y})")

        def least(x: str, y: str) -> str:
            return self.put(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")
        first, end = low, high
        for g in self.schedule.row_guards:
            c, rest = slope(g, index).number or 0, without(g, index)
            across = (slope(rest, self.schedule.tile).number or 0) * (rows - 1) if self.schedule.tile is not None else 0
            some, every = rest + max(0, across), rest + min(0, across)
            if c > 0:
                low, first = most(low, self.number(-some)[0]), most(first, self.number(-every)[0])
            else:
                high, end = least(high, self.number(some + 1)[0]), least(end, self.number(every + 1)[0])
        first = least(most(first, low), high)
        end = most(least(end, high), first)
        return [(low, first, False), (first, end, True), (end, high, False)]

    def row_has_point(self, t: int) -> str:
        """True if the guards that differ by rows hold for one."""
        whole, tile = "true", self.schedule.tile
        for g in self.schedule.row_guards:
            x = self.number(g + t * (slope(g, tile).number or 0) if tile is not None else g)[0]
            whole = self.put(f"and i1 {whole}, {self.put(f'icmp sge i64 {x}, 0')}")
        return whole
