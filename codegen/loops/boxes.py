"""Long sums, cut into boxes: so the rounding errors of n terms grow with the root of n, and not with n.

The points that go into one element are cut, in their order, into boxes of so many turns of the loops. A nest sums the points of
one box; what it finds in the result it adds to, from the second box on (blocked summation: N. J. Higham, The accuracy of floating
point summation, 1993). The boxes depend on the extents alone, and with them the order. A sum of BOX turns or less is one box.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from adcli.codegen.llvm_ir.frames import FunctionWriter, Placed
from adcli.codegen.loops.copies import Copies
from adcli.codegen.schedules.schedule import Schedule, StepBlock
from adcli.lang.ir.affine import Index

BOX = 1024
"""Turns of the loops of one box, at least; more where the boxes would be more than turns in a box."""
BOXES = "%box"
"""The parameter of a nest that says which box it is: 0 for the first, then the first value of each index that is cut, and the one
behind its last."""


def reduced(schedule: Schedule) -> list[tuple[Index, int | None]]:
    """The indices that are reduced, the outermost first, with their number of values where that is known."""
    order = [*schedule.inner, *([schedule.vector] if schedule.reduces and schedule.vector is not None else [])]
    return [(i, (schedule.range(i).high - schedule.range(i).low).number) for i in order]


def cut(schedule: Schedule) -> list[Index]:
    """The indices along which boxes are cut, the outermost first; none where all turns fit one box, or where there are pieces,
    which are boxes too. The product that an index carries from turn to turn is not cut."""
    lengths, carried = reduced(schedule), {p.along for p in schedule.powers}
    if schedule.op.reduction != "+" or schedule.scatter or schedule.pieces is not None:
        return []
    if prod(BOX + 1 if n is None else n for _, n in lengths) <= BOX:
        return []
    return [i for i, n in lengths if i not in carried and n != 1]


def counted(schedule: Schedule) -> bool:
    """True if a nest must know which box is the first."""
    return bool(cut(schedule)) or (schedule.block is not None and schedule.block.adds)


def within_block(f: FunctionWriter, block: StepBlock, low: Placed, high: Placed) -> tuple[Placed, Placed]:
    """The limits of an index within its block."""
    first, end, _ = block.names
    return f.extreme(low, (f.size(first), 0), True), f.extreme(high, (f.size(end), 0), False)


class Boxes(Copies):
    """A nest that sums the points of one box."""

    def in_box(self, index: Index, low: Placed, high: Placed) -> tuple[Placed, Placed]:
        """The limits of an index within the box."""
        if (block := self.schedule.block) is not None and index is block.index:
            low, high = within_block(self, block, low, high)
        along = cut(self.schedule)
        if index not in along:
            return low, high
        r, k = self.schedule.range(index), 2 * along.index(index) + 1
        first, end = ((self.of_box(k + m), 0) for m in (0, 1))
        return (first if low == self.number(r.low) else self.extreme(low, first, True),
                end if high == self.number(r.high) else self.extreme(high, end, False))

    def of_box(self, k: int) -> str:
        where = self.place(0, f"getelementptr i64, ptr {BOXES}, i64 {k}", ("box at", k))
        return self.place(0, f"load i64, ptr {where}", ("box", k))

    def first_box(self) -> str | None:
        """True if it is the first box; None where there is only one."""
        return self.place(0, f"icmp eq i64 {self.of_box(0)}, 0", "first box") if counted(self.schedule) else None


def each_box(f: FunctionWriter, schedule: Schedule, lanes: int, name: str, call: Callable[[], None]) -> None:
    """Calls of a nest for one box after another, which the array `name` says."""
    along = cut(schedule)
    if not counted(schedule):
        f.chunks[0].append(f"  {name} = getelementptr i64, ptr null, i64 0")
        call()
        return
    f.chunks[0].append(f"  {name} = alloca i64, i64 {2 * len(along) + 1}")
    block = schedule.block
    f.say(f"store i64 {f.size(block.names[2]) if block is not None and block.adds else 0}, ptr {name}")
    steps = box_lengths(f, schedule, along, lanes)
    for k, i in enumerate(along):
        first, last = f.number(schedule.range(i).low), f.number(schedule.range(i).high)
        if block is not None and i is block.index:
            first, last = within_block(f, block, first, last)
        high = last[0]
        f.open_loop(None, first[0], high, steps[k], ())
        low = f.frames[-1].index
        end = f.put(f"call i64 @llvm.smin.i64(i64 {f.put(f'add i64 {low}, {steps[k]}')}, i64 {high})")
        for m, x in enumerate((low, end)):
            f.say(f"store i64 {x}, ptr {f.put(f'getelementptr i64, ptr {name}, i64 {2 * k + 1 + m}')}")
    call()
    f.say(f"store i64 1, ptr {name}")
    for _ in along:
        f.close_loop(())


def box_lengths(f: FunctionWriter, schedule: Schedule, along: Sequence[Index], lanes: int) -> list[str]:
    """How long a box is along each index: as many whole inner loops as it takes, at most."""
    width = lanes * schedule.blocks
    turns, steps = dict[Index, str](), dict[Index, str]()
    for i, _ in reduced(schedule):
        r = schedule.range(i)
        length = f.put(f"sub i64 {f.number(r.high)[0]}, {f.number(r.low)[0]}")
        if i is schedule.vector:
            length = f.put(f"sdiv i64 {f.put(f'add i64 {length}, {width - 1}')}, {width}")
        turns[i] = f.put(f"call i64 @llvm.smax.i64(i64 {length}, i64 1)")
    left = whole_root(f, list(turns.values()))
    for i, n in reversed(turns.items()):
        if i in along:
            n = f.put(f"call i64 @llvm.smin.i64(i64 {n}, i64 {left})")
            steps[i] = f.put(f"mul i64 {n}, {width}") if i is schedule.vector else n
        left = f.put(f"call i64 @llvm.smax.i64(i64 {f.put(f'udiv i64 {left}, {n}')}, i64 1)")
    return [steps[i] for i in along]


def whole_root(f: FunctionWriter, factors: Sequence[str]) -> str:
    """A power of 2 near the root of a product, BOX at least."""
    whole = "1.0"
    for n in factors:
        whole = f.put(f"fmul double {whole}, {f.put(f'uitofp i64 {n} to double')}")
    bits = f.put(f"bitcast double {whole} to i64")   # the exponent e of 2 stands in the bits from 52 on, as e + 1023
    exponent = f.put(f"sub i64 {f.put(f'lshr i64 {bits}, 52')}, 1023")
    half = f.put(f"lshr i64 {f.put(f'add i64 {exponent}, 1')}, 1")
    return f.put(f"call i64 @llvm.smax.i64(i64 {f.put(f'shl i64 1, {half}')}, i64 {BOX})")
