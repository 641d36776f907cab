"""Guards in tiles: conditions that would else take one element at a time.

A guard on the indices of an element says whether it is stored; a tile is computed where any of its elements is. A guard on the
innermost index, from where to where it runs, has most of that range in common for the rows of a tile: in the rest, rows that
have no point there keep their sums. What is computed beside the guards reads elements that exist, and goes nowhere.
"""
from __future__ import annotations

from adcli.codegen.nests.boxes import Boxes
from adcli.codegen.rows.instructions import vector
from adcli.lang.ir.affine import Affine, Index, slope, without


class TileGuards(Boxes):
    """A nest with guards that are late or by rows."""

    def stores_some(self, rows: int, blocks: int) -> str:
        """Whether any element of a tile may be stored."""
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
        """Whether the guards that differ by rows hold for one."""
        whole, tile = "true", self.schedule.tile
        for g in self.schedule.row_guards:
            x = self.number(g + t * (slope(g, tile).number or 0) if tile is not None else g)[0]
            whole = self.put(f"and i1 {whole}, {self.put(f'icmp sge i64 {x}, 0')}")
        return whole
