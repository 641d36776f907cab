"""Tiles that read copies: what is read along a vector, the same for all rows, lies together for a panel of registers.

    for each piece of a reduced index
        for each group of panels: copy them
            for each band of rows
                for each panel of the group, for each tile of the band

The copies of a group stay in the second cache (K. Goto, R. van de Geijn, Anatomy of high-performance matrix multiplication,
2008), and all tiles of a band read a panel from the first. The order of the points of an element is that of the pieces.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from adcli.codegen.loops.bodies import BodyWriter
from adcli.codegen.loops.index_loops import IndexLoops
from adcli.codegen.schedules.schedule import BAND
from adcli.lang.operations.comprehension import Range, Read


def in_pieces(f: IndexLoops, tile: Callable[[int, int], None]) -> None:
    """All elements by tiles of rows and registers, for each piece of a reduced index: the first piece makes the sums, what the
    others come to is added."""
    index = f.schedule.pieces
    if index is None:
        in_panels(f, tile)
        return
    low, high = f.limits(index)
    length = f.length(f.schedule.range(index))
    with f.each(low, high, f.extreme((length, 0), ("1", 0), True)[0]) as begin:
        level = len(f.frames) - 1
        end = f.extreme((f.place(level, f"add i64 {begin}, {length}"), level), (high, 0), False)[0]
        f.piece, f.begins = (begin, end), f.place(level, f"icmp eq i64 {begin}, {low}")
        if (first := f.first_box()) is not None:
            f.begins = f.place(level, f"and i1 {f.begins}, {first}")
        in_panels(f, tile)
        f.piece = None


def in_panels(f: IndexLoops, tile: Callable[[int, int], None]) -> None:
    """All rows for each group of panels, in bands."""
    assert f.schedule.vector is not None and f.schedule.tile is not None
    low, high = f.limits(f.schedule.vector)
    if f.schedule.hoisted and f.schedule.shared is f.schedule.vector:
        low, high = whole_panels(f, f.schedule.range(f.schedule.vector), low, high)
    hoisted = {s for s, _ in f.schedule.hoisted}
    mine = [s for s in f.schedule.packed_reads if s not in hoisted]
    with f.each(low, high, f.group()) as f.group_begin:
        end = f.put(f"call i64 @llvm.smin.i64(i64 {f.put(f'add i64 {f.group_begin}, {f.group()}')}, i64 {high})")
        panels = f.passes(f.group_begin, end)

        def each_panel(inside: Callable[[int], None]) -> None:
            for panel in panels:
                with f.apart():
                    f.vector_loop(*panel, end, inside)

        if mine:
            each_panel(lambda count: copied(f, count, mine))
        with f.each(*f.limits(f.schedule.tile), BAND) as top:
            f.band = top, f.put(f"call i64 @llvm.smin.i64(i64 {f.put(f'add i64 {top}, {BAND}')}, i64 {f.frames[-1].last})")
            each_panel(lambda count: f.rows(lambda rows: one_tile(f, rows, count, tile)))
            f.band = None


def copied(f: IndexLoops, blocks: int, reads: Sequence[Read]) -> None:
    """Copy one panel of each of these reads, at the points that are there."""
    with f.apart(), ExitStack() as around:
        for index in f.schedule.inner:
            around.enter_context(f.each(*f.limits(index), 1, index))
        if (condition := f.condition()) is not None:
            around.enter_context(f.where(condition))
            f.floor = len(f.frames) - 1
        for s in reads:
            value = BodyWriter(f, 1, blocks).read(s)
            at, _ = f.place_in_copy(s, f.lanes * blocks)
            for u, x in enumerate(value.texts[0]):
                f.say(f"store {f.real} {x}, ptr {f.step_over(at, u)}, align {f.bytes}")
    f.mask = None


def one_tile(f: IndexLoops, rows: int, blocks: int, tile: Callable[[int, int], None]) -> None:
    """A tile of a band in one panel; what a whole one writes is fetched while it is made."""
    if rows > 1:
        for t in range(rows):
            f.fetch(f.address(f.equation.outs[0], f.op.write, t)[0], 0, blocks * f.lanes, written=True)
    f.copies = f.lanes * blocks
    tile(rows, blocks)
    f.copies = 0


def write_hoisted(f: IndexLoops) -> None:
    """Make the copies that are kept."""
    assert f.schedule.vector is not None
    for s, _ in f.schedule.hoisted:
        with ExitStack() as around:
            for index in f.schedule.outer_of(s):
                around.enter_context(f.each(*f.limits(index), 1, index))
            low, high = f.limits(f.schedule.vector)
            for turns in f.passes(low, high):
                f.vector_loop(*turns, high, partial(copied, f, reads=[s]))


def whole_panels(f: IndexLoops, r: Range, low: str, high: str) -> tuple[str, str]:
    """The panels that begin in a part of a range, of those of all of it."""
    width, begin = f.lanes * f.schedule.blocks, f.number(r.low)[0]

    def next_panel(x: str) -> str:
        above = f.put(f"add i64 {f.put(f'sub i64 {x}, {begin}')}, {width - 1}")
        rest = f.put(f"srem i64 {above}, {width}")
        return f.put(f"add i64 {begin}, {f.put(f'sub i64 {above}, {rest}')}")
    return next_panel(low), f.put(f"call i64 @llvm.smin.i64(i64 {next_panel(high)}, i64 {f.number(r.high)[0]})")
