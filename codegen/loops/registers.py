"""A loop over steps whose values are numbers, with those that later steps read in registers.

    define internal void @NAME(ptr %env, i64 %begin, i64 %end, i64 %filling)

The elements of a history that a step reads or writes are a window along the step: what it had at its last step, moved by one, and
the element that comes in. So an element is loaded when it comes in, where it has a value then, and stored when it gets one.

A statement under a condition on the step is computed at every step and chosen where the condition holds: what another one has
computed, too, is there. Where it does not hold, an element is stored in a place of the function.

A loop that has ended (`until`) is left where all that somebody reads behind it would be copied from step to step; a second loop
stores the last values.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.bodies import BodyValue, BodyWriter
from adcli.codegen.loops.nest_writer import NestWriter, fused_product
from adcli.codegen.nests.recurrences import Place, StepLoop, place
from adcli.codegen.schedules.schedule import Schedule
from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.affine import AffineAtom, affine, greatest, least
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.operations.matrix import accesses

NOWHERE = "%nowhere"
"""A place for what is stored where a condition does not hold."""


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
        self.holds = ""
        """True if the condition of the equation holds, where it has one."""
        self.take(env, loop.equations[0], first=True)
        self.move = -1 if loop.down else 1
        self.windows: dict[Place, StepWindow] = {}
        self.numbers: dict[Atom, str] = {}
        """Values of one step."""
        self.around: dict[tuple[Atom, tuple[Subscript, ...]], BodyValue] = {}
        """Elements of what the loop does not write."""
        self.bounded = any(e.op.guards for e in loop.equations)
        self.now: Placed = "", 0
        for e in loop.equations:
            touched = list(accesses(e, e.op)) + ([(e.outs[0], e.op.write)] if e.op.onto is not None else [])
            for a, subscripts in touched:
                if a in loop.histories and (found := place(loop, a, subscripts)) is not None:
                    window = self.windows.setdefault(found[0], StepWindow(found[1], found[1]))
                    window.first, window.last = min(window.first, found[1]), max(window.last, found[1])

    def take(self, env: Environment, e: Equation[Comprehension], first: bool = False) -> None:
        """Go on to an equation."""
        schedule = Schedule(e.op, e.args, (), ())
        if first:
            super().__init__(env, e, schedule)
        self.equation, self.schedule, self.op, self.out = e, schedule, e.op, e.outs[0]
        self.holds = "" if first else self.condition()
        self.fused = fused_product(e.op)

    def condition(self) -> str:
        """True if all that the equation's guards say holds at the step."""
        level, found = len(self.frames) - 1, ""
        for g in self.op.guards:
            one = self.place(level, f"icmp sge i64 {self.number(g)[0]}, 0", ("holds", g))
            found = one if not found else self.place(level, f"and i1 {found}, {one}", ("and", found, one))
        return found

    def atom(self, a: AffineAtom) -> Placed:
        return self.now if a == self.loop.step else super().atom(a)

    # ------------------------------------------------------------ the loop

    def write(self) -> None:
        if self.bounded:
            self.chunks[0].append(f"  {NOWHERE} = alloca double")
        low, high = self.number(self.loop.low)[0], self.number(self.loop.high)[0]
        self.open_condition(self.put(f"icmp slt i64 {low}, {high}"))
        self.floor = len(self.frames) - 1
        self.now = (self.place(self.floor, f"sub i64 {high}, 1") if self.loop.down else low), self.floor
        inside = [(key, k) for key, w in self.windows.items() for k in self.staying(w)]
        before = [(self.scalar, self.entering(key, k)) for key, k in inside]
        ending, stored = self.ending(), [e for e in self.loop.equations if e.outs[0] in self.kept]
        if ending is not None:
            before += [("i64", high), *[(self.scalar, "0.0") for _ in stored]]
        first = self.now[0]
        names = self.open_steps(first, low, low, high, before)
        for (key, k), text in zip(inside, names, strict=False):
            self.windows[key].values[k] = text
        for e in self.loop.equations:
            self.take(self.env, e)
            self.statement(e)
        results = [self.register(key, k + self.move) for key, k in inside]
        if ending is None:
            self.close_loop(results)
        else:
            following = self.put(f"add nsw i64 {self.frames[-1].index}, 1")
            last = [self.register(*self.written(e)) for e in stored]
            ended = self.put(f"fcmp ogt {self.scalar} {self.register(*ending)}, 0.5")
            begin, *values = self.close_loop([*results, following, *last], ended)[len(inside):]
            self.open_steps(first, low, begin, high, [])
            for e, value in zip(stored, values, strict=True):
                self.take(self.env, e)
                self.kept_in_memory(value)
            self.close_loop([])
        self.close_condition()

    def open_steps(self, first: str, low: str, begin: str, high: str, carried: Sequence[tuple[str, str]]) -> list[str]:
        """Begin a loop over the steps from turn `begin` on; the turn `low` is step `first`. The names of what is carried."""
        names = self.open_loop(None, begin, high, 1, carried)
        self.chunks.pop()   # all lines go to the beginning of the loop, in their order
        level, index = len(self.frames) - 1, self.frames[-1].index
        if self.loop.down:
            index = self.place(level, f"sub i64 {first}, {self.place(level, f'sub i64 {index}, {low}')}")
        self.now = index, level
        return names

    # ------------------------------------------------------------ leaving early

    def written(self, e: Equation[Comprehension]) -> tuple[Place, int]:
        """Element of a history that an equation writes, by its distance from the step."""
        found = place(self.loop, e.outs[0], e.op.write)
        assert found is not None
        return found

    def ending(self) -> tuple[Place, int] | None:
        """Where it is written whether the loop has ended; None where it does not end early, or somebody reads behind it what is
        not copied from then on."""
        until = self.loop.until
        found = next((self.written(e) for e in self.loop.equations if e.outs[0] is until), None)
        if found is None or not all(self.repeats(e, found) for e in self.loop.equations if e.outs[0] in {*self.kept, until}):
            return None
        return found

    def repeats(self, e: Equation[Comprehension], ending: tuple[Place, int]) -> bool:
        """True if an equation is `a(t) = done(t - 1) > 0.5 ? a(t - 1) : …`, or this with 1 for `done` itself."""
        op, (out,) = e.op, e.outs
        made: dict[Atom, Equation] = {x.outs[0]: x for x in op.body.equations}
        reads: dict[Atom, Read] = {p.var: s for p, s in op.inputs() if isinstance(s, Read)}
        chosen = made.get(op.body.results[0].atom)
        if op.reduction != "=" or op.onto is not None or op.guards or chosen is None or chosen.op is not TABLE["select"]:
            return False

        def one_before(a: Atom, what: tuple[Place, int]) -> bool:
            s = reads.get(a)
            return s is not None and place_of(e.args[s.arg], s) == (what[0], what[1] - self.move)

        def place_of(a: Atom, s: Read) -> tuple[Place, int] | None:
            return place(self.loop, a, s.subscripts) if a in self.loop.histories else None
        condition, then, _ = chosen.args
        test = made.get(condition)
        ended = test is not None and test.op is TABLE["gt"] and literal(test.args[1]) == 0.5 and one_before(test.args[0], ending)
        return ended and (one_before(then, self.written(e)) or (out is self.loop.until and literal(then) == 1.0))

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
        at = affine(self.loop.step) + k
        if self.bounded:   # an element that is not there is read where no condition holds
            at = least(greatest(at, affine(0)), history.shape[d] - 1)
        subscripts = (*others[:d], at, *others[d:])
        return self.place(level, f"load {self.scalar}, ptr {self.address(history, subscripts, 0)[0]}, align {self.bytes}")

    def statement(self, e: Equation) -> None:
        """The value of an equation, into registers and, where somebody reads it, memory."""
        op, (out,) = self.op, e.outs
        body = RegisterBody(self)
        body.write(self.fused)
        found = place(self.loop, out, op.write) if out in self.loop.histories else None
        if op.reduction == "=":
            value = body.result(0, 0)
        else:
            nothing = self.scalars.constant(-0.0 if op.onto is not None else NEUTRAL[op.reduction])
            value = self.accumulated(body, 0, 0, nothing, op.body.results[0].atom, self.fused)
            if op.onto is not None:
                value = self.combine(self.old(e.args[op.onto]), value, self.scalars)
        if self.holds:
            before = self.old(e.args[op.onto]) if op.onto is not None else self.register(*self.written(e))
            value = self.put(f"select i1 {self.holds}, {self.scalar} {value}, {self.scalar} {before}")
        if found is None:
            self.numbers[out] = value
            return
        self.windows[found[0]].values[found[1]] = value
        if out in self.kept:
            self.kept_in_memory(value)

    def kept_in_memory(self, value: str) -> None:
        """The value of the equation, where it lies for those who read it behind the loop."""
        at, _ = self.address(self.out, self.op.write, 0)
        if self.holds:
            at = self.put(f"select i1 {self.holds}, ptr {at}, ptr {NOWHERE}")
        self.say(f"store {self.scalar} {value}, ptr {at}, align {self.bytes}")

    def old(self, start: Atom) -> str:
        """Value that a statement adds to."""
        if isinstance(start, Lit):
            return self.scalars.constant(start.value)
        found = place(self.loop, start, self.op.write) if start in self.loop.histories else None
        return self.numbers[start] if found is None else self.register(*found)


def literal(a: Atom) -> float | None:
    return a.value if isinstance(a, Lit) else None


class RegisterBody(BodyWriter):
    """The body of a statement."""

    at: RegisterLoop

    def __init__(self, function: RegisterLoop) -> None:
        super().__init__(function, 1, 1)

    def read(self, s: Read) -> BodyValue:
        at, atom = self.at, self.at.schedule.args[s.arg]
        if atom in at.numbers:
            return BodyValue([[at.numbers[atom]]], False, False, len(at.frames) - 1)
        if isinstance(atom, Var) and atom in at.loop.histories and (found := place(at.loop, atom, s.subscripts)) is not None:
            return BodyValue([[at.register(*found)]], False, False, len(at.frames) - 1)
        key = atom, s.subscripts
        if key not in at.around:
            at.around[key] = super().read(s)
        return at.around[key]
