"""Tiles that read copies: what is read along a vector, the same for all rows, lies together for a panel of registers.

    for each piece of a reduced index
        for each group of panels: copy them
            for each band of rows: copy those that lie apart from point to point
                for each panel of the group, for each tile of the band

The copies of a group and what a band of rows reads for a piece stay in the second cache together, and a panel is read from there
by all tiles of a band (K. Goto, R. van de Geijn, Anatomy of high-performance matrix multiplication, 2008). The order of the
points of one element is that of the pieces.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from adcli.codegen.nests.bands import band_copied
from adcli.codegen.nests.bodies import BodyWriter
from adcli.codegen.nests.index_loops import IndexLoops
from adcli.lang.ir.comprehension import Range, Read

CACHE_LINE = 64
"""Bytes that are fetched together."""


def in_pieces(f: IndexLoops, tile: Callable[[int, int], None]) -> None:
    """All elements by tiles of rows and registers, for each piece of a reduced index: the first piece makes the sums, what the
    others of a long sum come to is added; in a shorter one they go on with the sums, as if there were one piece."""
    index = f.nest.pieces
    if index is None:
        in_panels(f, tile)
        return
    low, high = f.limits(index)
    length = f.length(f.nest.range(index))
    f.open_loop(None, low, high, f.extreme((length, 0), ("1", 0), True)[0], ())
    level, begin = len(f.frames) - 1, f.frames[-1].index
    end = f.extreme((f.place(level, f"add i64 {begin}, {length}"), level), (high, 0), False)[0]
    f.piece, f.begins = (begin, end), f.place(level, f"icmp eq i64 {begin}, {low}")
    if f.nest.goes_on:
        short = f.short_sum()
        f.continues = f.place(level, f"and i1 {short}, {f.place(level, f'xor i1 {f.begins}, true')}")
        f.begins = f.place(level, f"or i1 {short}, {f.begins}")
    if (first := f.first_box()) is not None:
        f.begins = f.place(level, f"and i1 {f.begins}, {first}")
    in_panels(f, tile)
    f.piece, f.continues = None, ""
    f.close_loop([])


def in_panels(f: IndexLoops, tile: Callable[[int, int], None]) -> None:
    """All rows for each group of panels, in bands."""
    assert f.nest.vector is not None and f.nest.tile is not None
    low, high = f.limits(f.nest.vector)
    if f.nest.kept and f.nest.shared is f.nest.vector:
        low, high = whole_panels(f, f.nest.range(f.nest.vector), low, high)
    kept = {s for s, _ in f.nest.kept}
    mine = [s for s in f.nest.packed if s not in kept]
    for first, last, step, blocks in f.passes(low, high):
        f.open_loop(None, first, last, f.group(), ())
        begin = f.frames[-1].index
        end = f.put(f"call i64 @llvm.smin.i64(i64 {f.put(f'add i64 {begin}, {f.group()}')}, i64 {last})")
        f.group_begin = begin
        if mine:
            f.vector_loop(begin, end, step, blocks, high, lambda count: copied(f, count, mine))
        rows = f.nest.range(f.nest.tile)
        f.open_loop(None, f.number(rows.low)[0], f.number(rows.high)[0], f.band_rows(), ())
        top = f.frames[-1].index
        f.band = top, f.put(f"add i64 {top}, {f.band_rows()}")
        if f.nest.banded:
            band_copied(f)
        f.vector_loop(begin, end, step, blocks, high, lambda count: tiles(f, count, tile))
        f.band = None
        f.close_loop([])
        f.close_loop([])


def whole_panels(f: IndexLoops, r: Range, low: str, high: str) -> tuple[str, str]:
    """The panels that begin in a part of a range, of those of all of it."""
    width, begin = f.lanes * f.nest.blocks, f.number(r.low)[0]

    def next_panel(x: str) -> str:
        above = f.put(f"add i64 {f.put(f'sub i64 {x}, {begin}')}, {width - 1}")
        rest = f.put(f"srem i64 {above}, {width}")
        return f.put(f"add i64 {begin}, {f.put(f'sub i64 {above}, {rest}')}")
    return next_panel(low), f.put(f"call i64 @llvm.smin.i64(i64 {next_panel(high)}, i64 {f.number(r.high)[0]})")


def write_kept(f: IndexLoops) -> list[str]:
    """The function, without its head, that makes the copies which are kept."""
    assert f.nest.vector is not None
    for s, _ in f.nest.kept:
        outer = f.nest.outer_of(s)
        for index in outer:
            f.open_loop(index, *f.limits(index), 1, ())
        low, high = f.limits(f.nest.vector)
        for first, last, step, blocks in f.passes(low, high):
            f.vector_loop(first, last, step, blocks, high, partial(copied, f, reads=[s]))
        for index in reversed(outer):
            f.close(index, [])
    f.say("ret void")
    return [*f.text(), "}", ""]


def copied(f: IndexLoops, blocks: int, reads: Sequence[Read]) -> None:
    """One panel of each of these reads is copied."""
    saved = f.floor, list(f.undecided)
    for index in f.nest.inner:
        f.open_loop(index, *f.limits(index), 1, ())
    condition = f.condition()
    if condition is not None:
        f.open_condition(condition)
        f.floor = len(f.frames) - 1
    for s in reads:
        value = BodyWriter(f, 1, blocks).read(s)
        at, _ = f.place_in_copy(s, f.lanes * blocks)
        for u, x in enumerate(value.texts[0]):
            f.say(f"store {f.real} {x}, ptr {f.step_over(at, u)}, align {f.bytes}")
    if condition is not None:
        f.close_condition()
    for index in reversed(f.nest.inner):
        f.close(index, [])
    f.mask = None
    f.floor, f.undecided = saved


def tiles(f: IndexLoops, blocks: int, tile: Callable[[int, int], None]) -> None:
    """The tiles of a band for one panel; what a whole one writes is fetched while it is made."""
    def one(rows: int) -> None:
        if rows > 1:
            fetch(f, rows, blocks)
        tile(rows, blocks)
    saved = f.floor, list(f.undecided)
    f.copies = f.lanes * blocks
    f.rows(one)
    f.copies = 0
    f.floor, f.undecided = saved


def fetch(f: IndexLoops, rows: int, blocks: int) -> None:
    """The cache lines of a tile are asked for."""
    f.env.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for t in range(rows):
        at = f.address(f.equation.outs[0], f.op.write, t)[0]
        for u in range(0, blocks, max(1, CACHE_LINE // (f.lanes * f.bytes))):
            f.say(f"call void @llvm.prefetch.p0(ptr {f.step_over(at, u)}, i32 1, i32 3, i32 1)")
