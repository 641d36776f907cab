"""Registers of elements: of consecutive places, of places at a constant distance, and of places that integers of a tensor say.

Lanes behind the end of the vectorised index touch nothing and are 1.
"""
from __future__ import annotations

from adcli.codegen.llvm_ir.frames import Placed
from adcli.codegen.loops.addresses import Addresses
from adcli.codegen.rows.instructions import suffix, vector
from adcli.codegen.schedules.schedule import CONSECUTIVE, indices, movement
from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import affine
from adcli.lang.operations.comprehension import Read, Subscript


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
