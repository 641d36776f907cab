"""Where the copies of a packed read are: how many are made together, and the address of each.

Registers of elements: of consecutive places, of places at a constant distance, and of places that integers of a tensor say.

Lanes behind the end of the vectorised index touch nothing and are 1.
"""
from __future__ import annotations

from collections.abc import Sequence

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.addresses import Addresses
from adcli.codegen.rows.instructions import suffix, vector
from adcli.codegen.schedules.schedule import CONSECUTIVE, GROUP, LONG_SUM, PIECE, indices, movement
from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.operations.comprehension import Range, Read, Subscript

# ---------------------------------------------------------------- gathers

class Gathers(Addresses):
    """A nest that reads registers."""

    def read_register(self, atom: Var, subscripts: tuple[Subscript, ...], t: int, u: int) -> Placed:
        """Register u of a read that moves with the vectorised index, at value t of the tile: integers as they are."""
        assert self.schedule.vector is not None
        if movement(subscripts, self.schedule.vector) == CONSECUTIVE:
            address, level = self.first_lane(atom, subscripts, t, u)
            if self.present is None:
                load = f"load {vector(self.kind(atom), self.lanes)}, ptr {address}, align {self.alignment(atom)}"
            else:
                load = self.masked("load", address, "ptr", self.present, atom)
            return self.place(level, load, ("register", load)), level
        places, level = self.lanes_at(atom, subscripts, t, u)
        gather = self.masked("gather", places, vector("ptr", self.lanes), self.present or "splat (i1 true)", atom)
        return self.place(level, gather, ("register", gather)), level

    def first_lane(self, atom: Var, subscripts: tuple[Subscript, ...], t: int, u: int) -> Placed:
        """The address of the first of consecutive elements."""
        address, level = self.address(atom, subscripts, t)
        level = max(level, self.floor)
        if u:
            address = self.place(level, f"getelementptr {self.kind(atom)}, ptr {address}, i64 {u * self.lanes}",
                                 ("register at", address, u))
        return address, level

    def lanes_at(self, atom: Atom, subscripts: tuple[Subscript, ...], t: int, u: int) -> Placed:
        """The addresses of the elements of a register."""
        v, kind = self.schedule.vector, vector("i64", self.lanes)
        assert v is not None
        moving = {d: s for d, s in enumerate(subscripts) if isinstance(s, Read) and v in indices(s)}
        still = tuple([affine(0) if d in moving else s for d, s in enumerate(subscripts)])
        address, level = self.address(atom, still, t)
        level, offsets = max(level, self.floor), list[str]()
        if (c := self.coefficient(atom, still, v)) != "0":
            steps = ", ".join(f"i64 {u * self.lanes + k}" for k in range(self.lanes))
            offsets.append(self.place(0, f"mul {kind} {self.spread_integer(c, 0)}, <{steps}>", ("offsets", c, u)))
        for d, s in moving.items():
            number, at = self.read_subscripts(s, atom, d, t, u)
            level, stride = max(level, at), self.strides(atom)[d]
            if stride != "1":
                number = self.place(level, f"mul {kind} {number}, {self.spread_integer(stride, 0)}")
            offsets.append(number)
        whole = offsets[0]
        for further in offsets[1:]:
            whole = self.place(level, f"add {kind} {whole}, {further}")
        return self.place(level, f"getelementptr {self.kind(atom)}, ptr {address}, {kind} {whole}"), level

    def read_subscripts(self, s: Read, tensor: Atom, d: int, t: int, u: int) -> Placed:
        """A register of subscripts that are read; those outside raise the flag and are taken for 0."""
        source = self.schedule.args[s.arg]
        assert isinstance(source, Var)
        got, level = self.read_register(source, s.subscripts, t, u)
        key = ("checked", got, tensor, d)
        if key not in self.frames[level].known:
            number, inside, got = self.inside(level, got, source, tensor, d, self.lanes)
            self.check(level, inside, got, s, (t, u))
            self.env.gathers.append((self.equation, s, tensor, d))
            self.frames[level].known[key] = number
        return self.frames[level].known[key], level

    def check(self, level: int, inside: str, got: str, s: Read, register: tuple[int, int]) -> None:
        """Raise the flag for the first lane that is not inside; the register is one of a tile."""
        source, bits, truth = self.schedule.args[s.arg], f"i{self.lanes}", vector("i1", self.lanes)
        assert isinstance(source, Var) and self.schedule.vector is not None
        outside = self.place(level, f"xor {truth} {inside}, splat (i1 true)")
        if self.present is not None:
            outside = self.place(level, f"and {truth} {outside}, {self.present}")
        mask = self.place(level, f"bitcast {truth} {outside} to {bits}")
        self.env.declare(f"llvm.cttz.{bits}", f"declare {bits} @llvm.cttz.{bits}({bits}, i1)")
        first = self.place(level, f"call {bits} @llvm.cttz.{bits}({bits} {mask}, i1 false)")
        lane = self.place(level, f"zext {bits} {self.place(level, f'urem {bits} {first}, {self.lanes}')} to i64")
        if movement(s.subscripts, self.schedule.vector) == CONSECUTIVE:
            begin, _ = self.first_lane(source, s.subscripts, *register)
            at = self.place(level, f"getelementptr {self.kind(source)}, ptr {begin}, i64 {lane}")
        else:
            places, _ = self.lanes_at(source, s.subscripts, *register)
            at = self.place(level, f"extractelement {vector('ptr', self.lanes)} {places}, i64 {lane}")
        one = self.place(level, f"extractelement {self.real if source.whole else vector('i64', self.lanes)} {got}, i64 {lane}")
        self.raise_flag(level, self.place(level, f"icmp eq {bits} {mask}, 0"), self.word(level, one, source), at, source)

    def masked(self, action: str, where: str, pointer: str, mask: str, atom: Var) -> str:
        """Elements where the mask allows it, 1 elsewhere."""
        lanes = self.lanes
        kinds = f"v{lanes}{self.env.integer}" if atom.integer else suffix(self.scalar, lanes)
        ending = f"{kinds}.{'p0' if action == 'load' else f'v{lanes}p0'}"
        name, kind, truth = f"llvm.masked.{action}.{ending}", vector(self.kind(atom), lanes), vector("i1", lanes)
        self.env.declare(name, f"declare {kind} @{name}({pointer}, i32, {truth}, {kind})")
        one = f"splat ({self.env.integer} 1)" if atom.integer else self.vectors.constant(1.0)
        return f"call {kind} @{name}({pointer} {where}, i32 {self.alignment(atom)}, {truth} {mask}, {kind} {one})"


# ---------------------------------------------------------------- copies

class Copies(Gathers):
    """A nest that may read copies."""

    def place_in_copy(self, s: Read, width: int) -> Placed:
        """Where the copy of an element is: in its panel `width` elements stand together for each point of the reduced indices."""
        assert self.schedule.vector is not None
        if (kept := dict(self.schedule.hoisted).get(s)) is not None:
            return self.among_all_points(kept, s, width)
        return self.among_points(self.scratch(s), width, self.schedule.vector, self.group_begin, self.points())

    def among_points(self, at: str, width: int, along: Index, begin: str, points: str) -> Placed:
        """Where `width` elements are that stand together for a point, in copies that start with value `begin` of an index, and
        have room for so many points at each of its values."""
        stride = str(width)
        steps = []
        for index in reversed(self.schedule.inner):
            r = self.schedule.range(index)
            low = self.piece[0] if self.piece is not None and index is self.schedule.pieces else self.number(r.low)[0]
            steps.append((self.bound[index], low, stride))
            stride = self.product([self.length(r), stride])
        steps.append((self.bound[along], begin, points))
        return self.stepped(at, steps)

    def among_all_points(self, kept: Var, s: Read, width: int) -> Placed:
        """Address of an element in a hoisted copy, which has all elements of a read."""
        vector, outer = self.schedule.vector, self.schedule.outer_of(s)
        assert vector is not None
        points = self.product([self.number(x)[0] for x in kept.shape[len(outer):-1]])
        panels, steps = self.product([points, self.number(kept.shape[-1])[0]]), list[tuple[Placed, str, str]]()
        for stride, group in ((str(width), self.schedule.inner), (points, [vector]), (panels, outer)):
            for index in reversed(group):
                r = self.schedule.range(index)
                steps.append((self.bound[index], self.number(r.low)[0], stride))
                stride = self.product([self.number(r.high - r.low)[0], stride])
        return self.stepped(self.tensor(kept), steps)

    def stepped(self, at: str, steps: Sequence[tuple[Placed, str, str]]) -> Placed:
        """The address that many elements further for each index: its value, less the first one, times a stride."""
        level = 0
        for (text, level), low, factor in sorted(steps, key=lambda step: step[0][1]):
            offset = self.times(self.place(level, f"sub i64 {text}, {low}", ("-", text, low)), level, factor)
            at = self.place(level, f"getelementptr {self.scalar}, ptr {at}, i64 {offset}", ("+", at, offset))
        return at, level

    def points(self) -> str:
        """How many points of the reduced indices a copy has."""
        return self.product([self.length(r) for r in self.op.ranges if r.index in self.schedule.inner])

    def group(self) -> str:
        """How many values of the vectorised index are copied before their rows are computed: whole panels, about as many in each
        group."""
        width = self.lanes * self.schedule.blocks
        points = self.at_least_one(self.points())
        numbers = GROUP // len(self.schedule.packed_reads) // width
        most = self.at_least_one(self.once(f"sdiv i64 {numbers}, {points}"))
        panels = self.panels()
        halves = self.once(f"add i64 {self.once(f'shl i64 {panels}, 1')}, {most}")
        groups = self.at_least_one(self.once(f"sdiv i64 {halves}, {self.once(f'shl i64 {most}, 1')}"))
        above = self.once(f"add i64 {panels}, {groups}")
        each = self.at_least_one(self.once(f"sdiv i64 {self.once(f'sub i64 {above}, 1')}, {groups}"))
        return self.once(f"mul i64 {each}, {width}")

    def once(self, right: str) -> str:
        """A value of the whole nest, computed once for the same text."""
        return self.place(0, right, right)

    def panels(self) -> str:
        """How many panels the vectorised index has."""
        assert self.schedule.vector is not None
        r, width = self.schedule.range(self.schedule.vector), self.lanes * self.schedule.blocks
        return self.quotient(self.number(r.high - r.low + (width - 1))[0], 0, str(width))

    def at_least_one(self, text: str) -> str:
        return self.extreme((text, 0), ("1", 0), True)[0]

    def scratch(self, s: Read) -> str:
        """Memory on the stack for the copies of a read."""
        size = self.product([self.group(), self.points()])
        return self.place(0, f"alloca {self.scalar}, i64 {size}, align {self.bytes * self.lanes}", ("scratch", s))

    def short_sum(self) -> str:
        """True if all points of a sum are no more than LONG_SUM."""
        points = self.product([self.number(r.high - r.low)[0] for r in map(self.schedule.range, self.schedule.inner)])
        return self.place(0, f"icmp sle i64 {points}, {LONG_SUM}", ("short", points))

    def length(self, r: Range) -> str:
        """How many values of a reduced index are copied at a time."""
        whole = self.number(r.high - r.low)[0]
        if r.index is not self.schedule.pieces:
            return whole
        others = self.product([self.number(x.high - x.low)[0] for x in self.op.ranges
                               if x.index in self.schedule.inner and x.index is not r.index])
        some = self.extreme((others, 0), ("1", 0), True)[0]
        points = str(LONG_SUM)
        if not self.schedule.adds:
            points = self.place(0, f"select i1 {self.short_sum()}, i64 {LONG_SUM}, i64 {PIECE}", ("points of a piece",))
        most = self.place(0, f"sdiv i64 {points}, {some}", ("piece", some))
        few = self.extreme((most, 0), ("1", 0), True)
        return self.extreme(few, (whole, 0), False)[0]
