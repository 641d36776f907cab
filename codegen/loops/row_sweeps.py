"""The loop of a row sweep: statements along the same rows, whose elements are fetched once (adcli.codegen.nests.row_sweeps)."""
from __future__ import annotations

from collections.abc import Sequence

from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.bodies import BodyWriter
from adcli.codegen.loops.frames import Placed
from adcli.codegen.loops.nest_writer import NestWriter
from adcli.codegen.nests.row_sweeps import ELEMENTS, ROW_SUM, RowSweep, one_nest
from adcli.lang.ir import Equation
from adcli.lang.ir.affine import Index
from adcli.lang.operations.comprehension import NEUTRAL


class SweepWriter(NestWriter):
    """Writes the loop of a sweep. The sums of columns go on from what is there."""

    def __init__(self, env: Environment, sweep: RowSweep) -> None:
        schedule, self.results = one_nest(sweep)
        super().__init__(env, Equation(sweep.members[0].equation.outs, schedule.op, schedule.args), schedule)
        self.row_sums = [r for r in self.results if r.kind == ROW_SUM]

    def in_box(self, index: Index, low: Placed, high: Placed) -> tuple[Placed, Placed]:
        """The rows of the block; columns are all in one box, as only short rows are in blocks."""
        block = self.schedule.block
        return self.within_block(block, low, high) if block is not None and index is block.index else (low, high)

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
