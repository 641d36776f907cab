"""A loop over steps whose values are numbers, with those that later steps read in registers.

    define internal void @NAME(ptr %env, i64 %begin, i64 %end, i64 %filling)

The elements of a history that a step reads or writes are a window along the step: what it had at its last step, moved by one, and
the element that comes in. So an element is loaded when it comes in, where it has a value then, and stored when it gets one.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from adcli.codegen.nests.addresses import Environment
from adcli.codegen.nests.bodies import BodyValue, BodyWriter
from adcli.codegen.nests.frames import Placed
from adcli.codegen.nests.loops import NestWriter
from adcli.codegen.nests.nests import Nest
from adcli.codegen.nests.recurrences import Place, StepLoop, place
from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.affine import AffineAtom, affine
from adcli.lang.ir.comprehension import NEUTRAL, Comprehension, Read
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.sizes import accesses


@dataclass(slots=True)
class StepWindow:
    """The elements of a history that a step touches, by their distance from the step, from `first` to `last`."""

    first: int
    last: int
    values: dict[int, str] = field(default_factory=dict)


class RegisterLoop(NestWriter):
    """Writes one loop; `kept` are the histories that somebody reads behind it."""

    def __init__(self, env: Environment, loop: StepLoop, kept: Collection[Atom]) -> None:
        self.loop, self.kept = loop, kept
        self.take(env, loop.equations[0], first=True)
        self.windows: dict[Place, StepWindow] = {}
        self.numbers: dict[Atom, str] = {}
        """Values of one step."""
        self.now: Placed = "", 0
        for e in loop.equations:
            assert isinstance(e.op, Comprehension)
            touched = list(accesses(e, e.op)) + ([(e.outs[0], e.op.write)] if e.op.onto is not None else [])
            for a, subscripts in touched:
                if a in loop.histories and (found := place(loop, a, subscripts)) is not None:
                    window = self.windows.setdefault(found[0], StepWindow(found[1], found[1]))
                    window.first, window.last = min(window.first, found[1]), max(window.last, found[1])

    def take(self, env: Environment, e: Equation, first: bool = False) -> None:
        """Go on to an equation."""
        assert isinstance(e.op, Comprehension)
        nest = Nest(e.op, e.args, (), ())
        if first:
            super().__init__(env, e, nest)
        self.equation, self.nest, self.op, self.out = e, nest, e.op, e.outs[0]
        last = e.op.body.equations[-1] if e.op.body.equations else None
        product = last is not None and last.op is TABLE["mul"] and last.outs == (e.op.body.results[0].atom,)
        self.fused = last if product and e.op.reduction == "+" else None

    def atom(self, a: AffineAtom) -> Placed:
        return self.now if a == self.loop.step else super().atom(a)

    # ------------------------------------------------------------ the loop

    def write(self) -> list[str]:
        """The function without its head."""
        low, high = self.number(self.loop.low)[0], self.number(self.loop.high)[0]
        self.open_condition(self.put(f"icmp slt i64 {low}, {high}"))
        self.floor = len(self.frames) - 1
        self.now = (self.place(self.floor, f"sub i64 {high}, 1") if self.loop.down else low), self.floor
        inside = [(key, k) for key, w in self.windows.items() for k in self.staying(w)]
        before = [("double", self.entering(key, k)) for key, k in inside]
        names = self.open_loop(None, low, high, 1, before)
        self.chunks.pop()   # all lines go to the beginning of the loop, in their order
        level, index = len(self.frames) - 1, self.frames[-1].index
        if self.loop.down:
            index = self.place(level, f"sub i64 {self.now[0]}, {self.place(level, f'sub i64 {index}, {low}')}")
        self.now = index, level
        for (key, k), text in zip(inside, names, strict=True):
            self.windows[key].values[k] = text
        for e in self.loop.equations:
            self.take(self.env, e)
            self.statement(e)
        move = -1 if self.loop.down else 1
        self.close_loop([self.register(key, k + move) for key, k in inside])
        self.close_condition()
        self.say("ret void")
        return [*self.text(), "}", ""]

    def staying(self, w: StepWindow) -> range:
        """The distances of the elements that the step before had too."""
        return range(w.first + 1, w.last + 1) if self.loop.down else range(w.first, w.last)

    def register(self, key: Place, k: int) -> str:
        """The element at a distance from the step."""
        values = self.windows[key].values
        if k not in values:
            values[k] = self.entering(key, k)
        return values[k]

    def entering(self, key: Place, k: int) -> str:
        """An element that no register has: what its history starts from."""
        history, d, others = key
        level = len(self.frames) - 1
        if history not in self.kept and history in self.loop.starts:
            return self.scalars.constant(self.loop.starts[history])
        subscripts = (*others[:d], affine(self.loop.step) + k, *others[d:])
        return self.place(level, f"load double, ptr {self.address(history, subscripts, 0)[0]}, align 8")

    def statement(self, e: Equation) -> None:
        """The value of an equation, into registers and, where somebody reads it, memory."""
        op, (out,) = self.op, e.outs
        body = RegisterBody(self)
        body.write(self.fused)
        if op.reduction == "=":
            value = body.result(0, 0)
        else:
            nothing = self.scalars.constant(-0.0 if op.onto is not None else NEUTRAL[op.reduction])
            value = self.accumulated(body, 0, 0, nothing)
            if op.onto is not None:
                value = self.combine(self.old(e.args[op.onto]), value, self.scalars)
        found = place(self.loop, out, op.write) if out in self.loop.histories else None
        if found is None:
            self.numbers[out] = value
            return
        self.windows[found[0]].values[found[1]] = value
        if out in self.kept:
            self.say(f"store double {value}, ptr {self.address(out, op.write, 0)[0]}, align 8")

    def old(self, start: Atom) -> str:
        """What a statement adds to."""
        if isinstance(start, Lit):
            return self.scalars.constant(start.value)
        found = place(self.loop, start, self.op.write) if start in self.loop.histories else None
        return self.numbers[start] if found is None else self.register(*found)


class RegisterBody(BodyWriter):
    """The body of a statement."""

    at: RegisterLoop

    def __init__(self, function: RegisterLoop) -> None:
        super().__init__(function, 1, 1)

    def read(self, s: Read) -> BodyValue:
        at, atom = self.at, self.at.nest.args[s.arg]
        if atom in at.numbers:
            return BodyValue([[at.numbers[atom]]], False, False, len(at.frames) - 1)
        if isinstance(atom, Var) and atom in at.loop.histories and (found := place(at.loop, atom, s.subscripts)) is not None:
            return BodyValue([[at.register(*found)]], False, False, len(at.frames) - 1)
        return super().read(s)
