"""Loop schedules in LLVM IR: one comprehension as code.

    define internal void @NAME(ptr %env, ptr %cells, i64 %begin, i64 %end, ptr %box)

`env` holds the addresses of all tensors and the sizes, `cells` says in which of its cells those of this one are. Values
`begin` to `end` of the outermost index are computed, so that threads can share it. Inner loops along the vectorised index work
on whole registers; what is left over at the end is done with masked loads and stores, so that a result's bits do not depend on
its place. Sums over the vectorised index are kept in lanes and blocks and added up at the end, long ones box by box
(adcli.codegen.loops.index_loops): in an order that depends on the sizes alone. A sum of products uses fused operations where the
processor has them; nothing else in a body is reassociated or fused. Matrix products are nests like any other: with a tile of
accumulators and copies that lie together they were measured at twice the speed of NumPy's BLAS on a processor with AVX-512, and
they neither start threads nor depend on how many there are.
"""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.bodies import BodyWriter
from adcli.codegen.loops.index_loops import IndexLoops, within_block
from adcli.codegen.loops.packing import in_pieces
from adcli.codegen.nests.row_sweeps import ELEMENTS, ROW_SUM, RowSweep, one_nest
from adcli.codegen.rows.instructions import Instructions, suffix, vector
from adcli.codegen.schedules.schedule import GATHERED, Schedule, indices, movement
from adcli.lang.ir import Atom, Equation, Lit
from adcli.lang.ir.affine import Index
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import COMBINED_BY, NEUTRAL, Comprehension

SIDE_BY_SIDE = 1024
"""Elements whose accumulators lie in memory at a time."""


class Accumulators:
    """Memory of a nest for so many registers at each value of an index, from `low` on."""

    def __init__(self, f: IndexLoops, index: Index, blocks: int) -> None:
        self.f, self.index, self.width, self.low = f, index, f.lanes * blocks, ""
        self.align = f.bytes * f.lanes
        self.memory = f.place(0, f"alloca {f.scalar}, i64 {SIDE_BY_SIDE * self.width}, align {self.align}")

    def place(self) -> str:
        """Where those of the index at hand lie."""
        f, (text, level) = self.f, self.f.bound[self.index]
        offset = f.times(f.place(level, f"sub i64 {text}, {self.low}"), level, str(self.width))
        return f.place(level, f"getelementptr {f.scalar}, ptr {self.memory}, i64 {offset}")

    def keep(self, at: str, values: Sequence[str]) -> None:
        for u, x in enumerate(values):
            self.f.say(f"store {self.f.real} {x}, ptr {self.f.step_over(at, u)}, align {self.align}")

    def read(self, at: str, count: int) -> list[str]:
        return [self.f.put(f"load {self.f.real}, ptr {self.f.step_over(at, u)}, align {self.align}") for u in range(count)]


def fused_product(op: Comprehension) -> Equation | None:
    """The last product of a body that goes into a sum by a fused operation."""
    last = op.body.equations[-1] if op.body.equations else None
    product = last is not None and last.op is TABLE["mul"] and last.outs == (op.body.results[0].atom,)
    return last if product and op.reduction == "+" else None


class NestWriter(IndexLoops):
    """Writes one nest."""

    def __init__(self, env: Environment, equation: Equation, schedule: Schedule) -> None:
        super().__init__(env, equation, schedule)
        self.row_holds: list[str] | None = None
        """True if each row of a tile has the point, where that differs."""
        self.out = equation.outs[0]
        self.fused = None if schedule.scatter else fused_product(self.op)

    # ------------------------------------------------------------ the loops

    def write(self) -> None:
        """All loops."""
        fixed = [self.put(f"icmp sge i64 {self.number(g)[0]}, 0") for g in self.op.guards if not indices(g)]
        for holds in fixed:
            self.open_condition(holds)
            self.floor = len(self.frames) - 1
        self.outer_loops(self.schedule.outer)
        for _ in fixed:
            self.close_condition()

    def outer_loops(self, left: Sequence[Index]) -> None:
        for index in left:
            self.open_loop(index, *self.limits(index), 1, ())
        self.tile_loops()
        for index in reversed(left):
            self.close(index, [])

    def tile_loops(self) -> None:
        """The tile index: first in whole tiles, then one by one."""
        if self.schedule.packed:
            in_pieces(self, self.elements)
        elif self.schedule.tile is None:
            self.vector_loops(lambda blocks: self.elements(1, blocks))
        else:
            self.rows(lambda rows: self.vector_loops(lambda blocks: self.elements(rows, blocks)))

    # ------------------------------------------------------------ elements

    def elements(self, rows: int, blocks: int) -> None:
        """One tile of elements of the result, if any of them is stored."""
        with self.where(self.stores_some(rows, blocks)) if self.schedule.store_guards else nullcontext():
            self.whole_tile(rows, blocks)

    def whole_tile(self, rows: int, blocks: int) -> None:
        """All elements of a tile."""
        if self.schedule.scatter:
            self.point(rows, blocks, [])
            return
        nothing = -0.0 if self.op.reduction == "+" and self.op.onto is not None else NEUTRAL[self.op.reduction]
        neutral = self.vectors.constant(nothing)
        if (last := self.schedule.innermost) is not None and (v := self.schedule.vector) is not None:
            side_by_side(self, last, v, blocks, neutral)
            return
        sums = [neutral] * (rows * blocks)
        if not self.schedule.inner and not self.schedule.reduces:
            values = self.point(rows, blocks, sums)
        else:
            values = self.inner_loops(self.schedule.inner, rows, blocks, sums)
        places = [(t, u) for t in range(rows) for u in range(blocks)]
        if self.schedule.reduces:
            values = [self.across(values[t * blocks:(t + 1) * blocks]) for t in range(rows)]
            places = [(t, 0) for t in range(rows)]
        self.store(places, values, 1 if self.schedule.reduces else self.lanes)

    def inner_loops(self, left: Sequence[Index], rows: int, blocks: int, sums: list[str]) -> list[str]:
        """Loops over reduced indices with their accumulators; what these are at the end."""
        whole = left[:-1] if self.schedule.row_guards else left
        with self.apart():
            for index in whole:
                sums = self.open_loop(index, *self.limits(index), 1, [(self.real, s) for s in sums])
            if self.schedule.row_guards:
                sums = self.last_by_rows(left[-1], rows, blocks, sums)
            else:
                sums = self.reduced_vector(rows, blocks, sums) if self.schedule.reduces else self.point(rows, blocks, sums)
            for index in reversed(whole):
                sums = self.close(index, sums)
        return sums

    def last_by_rows(self, index: Index, rows: int, blocks: int, sums: list[str]) -> list[str]:
        """The innermost loop in three: first where some rows have points, then where all have, and where some have again."""
        low, high = self.limits(index)
        for begin, end, all_rows in self.stretches(index, rows, low, high):
            if all_rows or rows > 1:
                sums = self.open_loop(index, begin, end, 1, [(self.real, s) for s in sums])
                self.row_holds = None if all_rows else [self.row_has_point(t) for t in range(rows)]
                sums = self.close(index, self.point(rows, blocks, sums))
                self.row_holds = None
        return sums

    def reduced_vector(self, rows: int, blocks: int, sums: list[str]) -> list[str]:
        v = self.schedule.vector
        assert v is not None
        with self.apart():
            low, high = self.limits(v)
            for first, last, step, count in self.passes(low, high):
                mine = [t * blocks + u for t in range(rows) for u in range(max(count, 1))]
                names = self.open_loop(v, first, last, step, [(self.real, sums[k]) for k in mine])
                self.tail = self.remaining(high) if count == 0 else None
                ends = self.close(v, self.point(rows, max(count, 1), names))
                self.tail = None
                for k, x in zip(mine, ends, strict=True):
                    sums[k] = x
        return sums

    def point(self, rows: int, blocks: int, sums: list[str]) -> list[str]:
        """The body at one tile of points, combined with the accumulators; only where guards that are still open hold."""
        condition = self.condition()
        saved = self.floor
        if condition is not None:
            self.open_condition(condition, [(self.real, s) for s in sums])
            self.floor = len(self.frames) - 1
        results = self.combined(rows, blocks, sums)
        if condition is not None:
            results = self.close_condition(results)
        self.floor, self.mask = saved, None
        return results

    # ------------------------------------------------------------ values

    def combined(self, rows: int, blocks: int, sums: list[str]) -> list[str]:
        """The accumulators after one tile of points."""
        body = BodyWriter(self, rows, blocks)
        body.write(self.fused)
        chosen = self.mask is not None and (self.schedule.reduces or self.mask != self.tail)   # else the rest is not stored
        results = []
        for t in range(rows):
            for u in range(blocks):
                if self.schedule.scatter:
                    self.scatter(t, u, body.result(t, u))
                    continue
                old = sums[t * blocks + u]
                new = self.accumulated(body, t, u, old, self.op.body.results[0].atom, self.fused)
                if self.row_holds is not None:
                    new = self.put(f"select i1 {self.row_holds[t]}, {self.real} {new}, {self.real} {old}")
                results.append(self.put(self.chosen(new, old)) if chosen else new)
        return results

    def accumulated(self, body: BodyWriter, t: int, u: int, old: str, value: Atom, product: Equation | None) -> str:
        """An accumulator with a value of the body; by a fused operation where this is a product that the body has not written."""
        if product is None:
            return self.combine(old, body.operand(value, t, u, self.lanes > 1))
        x, y = (body.operand(a, t, u, self.lanes > 1) for a in product.args)
        name = self.vectors.intrinsic("llvm.fmuladd", 3)
        return self.put(f"call {self.real} @{name}({self.real} {x}, {self.real} {y}, {self.real} {old})")

    def chosen(self, new: str, old: str) -> str:
        return f"select {vector('i1', self.lanes)} {self.present}, {self.real} {new}, {self.real} {old}"

    def combine(self, one: str, other: str, instructions: Instructions | None = None) -> str:
        """Two values under the reduction; in registers, unless other instructions are given."""
        if self.op.reduction == "=":
            return other
        z, op = self.fresh(), TABLE[COMBINED_BY[self.op.reduction]]
        self.chunks[-1].append((instructions or self.vectors).template(op).format(one, other, z=z))
        return z

    def across(self, values: Sequence[str]) -> str:
        """Accumulators of blocks and lanes as one number."""
        left = list(values)
        while len(left) > 1:
            left = [self.combine(left[k], left[k + 1]) if k + 1 < len(left) else left[k] for k in range(0, len(left), 2)]
        whole, lanes, real = left[0], self.lanes, self.scalar
        while lanes > 1:
            low, high = (self.put(f"shufflevector <{lanes} x {real}> {whole}, <{lanes} x {real}> poison, <{lanes // 2} x i32> "
                             f"<{', '.join(f'i32 {k}' for k in range(start, start + lanes // 2))}>")
                         for start in (0, lanes // 2))
            lanes //= 2
            if lanes > 1:
                whole = self.combine(low, high, self.env.on(lanes))
            else:
                first, last = (self.put(f"extractelement <1 x {real}> {h}, i32 0") for h in (low, high))
                whole = self.combine(first, last, self.scalars)
        return whole

    # ------------------------------------------------------------ stores

    def store(self, places: Sequence[tuple[int, int]], values: Sequence[str], lanes: int) -> None:
        """Values for rows and registers of a tile: each with what the result starts from, or with what boxes or pieces before it
        have left."""
        at = [self.step_over(self.address(self.out, self.op.write, t)[0], u) for t, u in places]
        on, first = self.env.on(lanes), self.first_box() if self.piece is None else self.begins
        masks = [self.stored_lanes(t, u) for t, u in places] if self.schedule.store_guards else [self.mask] * len(places)
        whole = []
        for (t, u), x, self.mask in zip(places, values, masks, strict=True):
            whole.append(self.started(t, u, x, lanes))
        if first is not None:
            self.open_condition(self.put(f"xor i1 {first}, true"), [(on.real, x) for x in whole])
            sums = []
            for a, x, self.mask in zip(at, values, masks, strict=True):
                sums.append(self.combine(self.loaded(a, lanes), x, on))
            whole = self.close_condition(sums)
        for a, x, self.mask in zip(at, whole, masks, strict=True):
            if lanes == 1:
                self.say(f"store {self.scalar} {x}, ptr {a}, align {self.bytes}")
            else:
                self.stored(a, x)
        self.mask = None

    def started(self, t: int, u: int, value: str, lanes: int) -> str:
        """A value together with what the result starts from."""
        onto, on = self.op.onto, self.env.on(lanes)
        if onto is None or self.op.reduction == "=":
            return value
        source = self.schedule.args[onto]
        if isinstance(source, Lit):
            return self.combine(on.constant(source.value), value, on)
        return self.combine(self.loaded(self.step_over(self.address(source, self.op.write, t)[0], u), lanes), value, on)

    def stored(self, at: str, value: str) -> None:
        mask = self.present
        if mask is None or self.lanes == 1:
            self.say(f"store {self.real} {value}, ptr {at}, align {self.bytes}")
            return
        name, kind = f"llvm.masked.store.{suffix(self.scalar, self.lanes)}.p0", vector("i1", self.lanes)
        self.env.declare(name, f"declare void @{name}({self.real}, ptr, i32, {kind})")
        self.say(f"call void @{name}({self.real} {value}, ptr {at}, i32 {self.bytes}, {kind} {mask})")

    def scatter(self, t: int, u: int, value: str) -> None:
        """Read, combine and write at one point; lane by lane where these may be one element."""
        if self.schedule.vector is not None and movement(self.op.write, self.schedule.vector) == GATHERED:
            self.scatter_lanes(t, u, value)
            return
        at = self.step_over(self.address(self.out, self.op.write, t)[0], u)
        self.stored(at, value if self.op.reduction == "=" else self.combine(self.loaded(at, self.lanes), value))

    def scatter_lanes(self, t: int, u: int, value: str) -> None:
        places, on = self.lanes_at(self.out, self.op.write, t, u)[0], self.scalars
        for k in range(self.lanes):
            if self.present is not None:
                self.open_condition(self.put(f"extractelement {vector('i1', self.lanes)} {self.present}, i64 {k}"))
            at = self.put(f"extractelement {vector('ptr', self.lanes)} {places}, i64 {k}")
            one = self.put(f"extractelement {self.real} {value}, i64 {k}")
            if self.op.reduction != "=":
                one = self.combine(self.loaded(at, 1), one, on)
            self.say(f"store {self.scalar} {one}, ptr {at}, align {self.bytes}")
            if self.present is not None:
                self.close_condition()

    def loaded(self, at: str, lanes: int) -> str:
        """Load from an address, where the text has come to."""
        mask = self.present
        if mask is None or lanes == 1:
            return self.put(f"load {vector(self.scalar, lanes)}, ptr {at}, align {self.bytes}")
        return self.put(self.masked("load", at, "ptr", mask, self.out))


def side_by_side(f: NestWriter, last: Index, v: Index, blocks: int, neutral: str) -> None:
    """Elements along the last index together, for every block of the reduced one; as many as SIDE_BY_SIDE at a time."""
    side = Accumulators(f, last, blocks)
    whole = f.limits(last)
    with f.each(*whole, SIDE_BY_SIDE) as side.low:
        high = f.put(f"call i64 @llvm.smin.i64(i64 {f.put(f'add i64 {side.low}, {SIDE_BY_SIDE}')}, i64 {whole[1]})")
        with f.each(side.low, high, 1, last):
            side.keep(side.place(), [neutral] * blocks)
        begin, end = f.limits(v)
        for first, until, step, count in f.passes(begin, end):
            with f.each(first, until, step, v):
                f.tail = f.remaining(end) if count == 0 else None
                with f.each(side.low, high, 1, last):
                    at = side.place()
                    side.keep(at, f.point(1, max(count, 1), side.read(at, max(count, 1))))
                f.tail = None
        with f.each(side.low, high, 1, last):
            f.store([(0, 0)], [f.across(side.read(side.place(), blocks))], 1)


# ---------------------------------------------------------------- row sweeps
# Statements along the same rows, whose elements are fetched once (adcli.codegen.nests.row_sweeps).

class SweepWriter(NestWriter):
    """Writes the loop of a sweep. The sums of columns go on from what is there."""

    def __init__(self, env: Environment, sweep: RowSweep) -> None:
        schedule, self.results = one_nest(sweep)
        super().__init__(env, Equation(sweep.members[0].equation.outs, schedule.op, schedule.args), schedule)
        self.row_sums = [r for r in self.results if r.kind == ROW_SUM]

    def in_box(self, index: Index, low: Placed, high: Placed) -> tuple[Placed, Placed]:
        """The rows of the block; columns are all in one box, as only short rows are in blocks."""
        block = self.schedule.block
        return within_block(self, block, low, high) if block is not None and index is block.index else (low, high)

    def whole_tile(self, rows: int, blocks: int) -> None:
        v = self.schedule.vector
        assert v is not None
        low, high = self.limits(v)
        sums = [self.vectors.constant(NEUTRAL["+"])] * (rows * len(self.row_sums))
        for first, last, step, count in self.passes(low, high):
            names = self.open_loop(v, first, last, step, [(self.real, x) for x in sums])
            self.chunks.pop()   # all lines go to the beginning of the loop, in their order: few values wait for others
            self.tail = self.remaining(high) if count == 0 else None
            sums = self.close(v, self.one_register(rows, names))
            self.tail = None
        for k, r in enumerate(self.row_sums):
            for t, x in enumerate(sums[k * rows:(k + 1) * rows]):
                total, at = self.across([x]), self.address(r.out, r.write, t)[0]
                self.say(f"store {self.scalar} {total}, ptr {at}, align {self.bytes}")

    def one_register(self, rows: int, sums: Sequence[str]) -> list[str]:
        """Write a register of each of the rows; returns the sums of rows with it."""
        body, after = BodyWriter(self, rows, 1), list[str]()
        body.read_sources()
        for r in self.results:
            body.compute(r.equations)
            if r.kind == ELEMENTS:
                for t in range(rows):
                    self.stored(self.address(r.out, r.write, t)[0], body.operand(r.value, t, 0, True))
            elif r.kind == ROW_SUM:
                for t, old in enumerate(sums[len(after):len(after) + rows]):
                    new = self.accumulated(body, t, 0, old, r.value, r.product)
                    after.append(new if self.tail is None else self.put(self.chosen(new, old)))
            else:
                total = self.vectors.constant(-0.0)
                for t in range(rows):
                    total = self.accumulated(body, t, 0, total, r.value, r.product)
                at = self.address(r.out, r.write, 0)[0]
                self.stored(at, self.combine(self.loaded(at, self.lanes), total))
        return after
