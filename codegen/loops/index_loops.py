"""Loops over the indices of a nest: from where to where each runs, and what holds in them.

A guard limits the first loop where all its other indices are known; those that no loop is limited by are asked where a point is.
The vectorised index is done in blocks of registers, and what is left over masked.

A guard of a predicated schedule on the indices of an element says whether it is stored; a tile is computed where any of its
elements is. A guard on the innermost index, from where to where it runs, has most of that range in common for the rows of a tile:
in the rest, rows that have no point there keep their sums. What is computed beside the guards reads elements that exist, and goes
nowhere.

Long sums, cut into boxes: so the rounding errors of n terms grow with the root of n, and not with n.

The points that go into one element are cut, in their order, into boxes of so many turns of the loops. A nest sums the points of
one box; what it finds in the result it adds to, from the second box on (blocked summation: N. J. Higham, The accuracy of floating
point summation, 1993). The boxes depend on the extents alone, and with them the order. A sum of BOX turns or less is one box.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from adcli.codegen.llvm_ir.frames import FunctionWriter, Placed
from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.copies import Copies
from adcli.codegen.rows.instructions import vector
from adcli.codegen.schedules.schedule import Schedule, StepBlock, indices
from adcli.lang.ir import Equation
from adcli.lang.ir.affine import Affine, Index, affine, greatest, linear, slope, without

# ---------------------------------------------------------------- boxes

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


# ---------------------------------------------------------------- loops

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

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is decided of guards, and where elements can be read, is so inside alone."""
        saved = self.floor, list(self.undecided)
        yield
        self.floor, self.undecided = saved

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
            with self.each(first, last, step, index), self.apart():
                inside(step)

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
        with self.each(first, last, step, self.schedule.vector):
            self.tail = self.remaining(high) if blocks == 0 else None
            inside(max(blocks, 1))
            self.tail = None

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
        return self.every(self.put(f"icmp sge i64 {self.number(g + self.reach(g, rows, blocks))[0]}, 0")
                          for g in self.schedule.store_guards)

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
        tile = self.schedule.tile
        rows = [g + t * (slope(g, tile).number or 0) if tile is not None else g for g in self.schedule.row_guards]
        return self.every(self.put(f"icmp sge i64 {self.number(g)[0]}, 0") for g in rows)
