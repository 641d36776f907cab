"""Where elements are: addresses, the checks of subscripts that are read, and values in all lanes of a register.

Each loop adds to an address what its index contributes, so that the innermost one adds as little as there is to add.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adcli.codegen.llvm_ir.frames import FunctionWriter, Placed
from adcli.codegen.loops.thread_pool import ThreadPool
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.machine.veclib import Library
from adcli.codegen.rows.instructions import Instructions, stack, vector
from adcli.codegen.schedules.schedule import Schedule
from adcli.lang.ir import Atom, Equation, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, slope, without
from adcli.lang.operations.comprehension import Read, Subscript
from adcli.lang.operations.precision import DOUBLE, Precision


@dataclass(frozen=True, slots=True)
class Machine:
    """Registers of `lanes` numbers, with a `library` of functions on them; `integer` is the type of whole numbers of inputs. On
    the architecture `flushing` numbers below the least normal one are 0 while code runs; on none where that is empty."""

    lanes: int
    library: Library
    precision: Precision = DOUBLE
    integer: str = "i64"
    flushing: str = ""


class Environment:
    """Where the values of a module are: positions in `env` of tensors, sizes and the flag; and what all functions share."""

    def __init__(self, tensors: Mapping[Var, int], sizes: Mapping[str, int], flag: int, machine: Machine) -> None:
        self.tensors, self.sizes, self.flag = tensors, sizes, flag
        self.lanes, self.library, self.precision = machine.lanes, machine.library, machine.precision
        self.integer, self.flushing = machine.integer, machine.flushing
        self.scalar, self.bytes = self.precision.type, self.precision.bytes
        self.stack = stack(self.lanes * self.bytes)
        self.instructions: dict[int, Instructions] = {}
        self.written: dict[tuple[str, ...], str] = {}
        """The functions there are, by their text."""
        self.team: ThreadPool | None = None
        """The team that may share steps; None where one thread runs all."""
        self.gathers: list[tuple[Equation, Read, Atom, int]] = []
        """Every subscript that is read: the equation, the read, the tensor that it is a subscript of, and the dimension."""

    def on(self, lanes: int) -> Instructions:
        """The instructions on registers of so many lanes."""
        if lanes not in self.instructions:
            self.instructions[lanes] = Instructions(lanes, self.library, False, self.precision, self.flushing)
        return self.instructions[lanes]

    def declare(self, symbol: str, declaration: str) -> None:
        self.on(1).declared[symbol] = declaration

    def step(self, name: str, f: FunctionWriter) -> list[str]:
        """The function of a step, which finds its cells itself."""
        f.tell("%cells", list(f.cells))
        return f.defined(f"define internal void @{name}(ptr %env, i64 %begin, i64 %end, i64 %filling){self.stack}")

    def nest(self, name: str, f: FunctionWriter) -> list[str]:
        """The function of a nest, which is told its cells."""
        return f.defined(f"define internal void @{name}(ptr %env, ptr %cells, i64 %begin, i64 %end, ptr %box){self.stack}")

    def flushed(self, f: FunctionWriter, call: str, flushes: bool = True) -> None:
        """A call where the text has come to, as `Instructions` writes it."""
        f.chunks[-1] += self.on(1).flushed(call, f.fresh() if self.flushing else "", flushes)


class Addresses(FunctionWriter):
    """A function about a nest, and what it says of the elements of its tensors."""

    def __init__(self, env: Environment, equation: Equation, schedule: Schedule) -> None:
        super().__init__(env.sizes)
        self.env, self.equation, self.schedule, self.op = env, equation, schedule, schedule.op
        self.lanes = env.lanes if schedule.vector is not None else 1
        self.vectors, self.scalars = env.on(self.lanes), env.on(1)
        """Instructions on registers, and on single numbers."""
        self.scalar, self.bytes, self.real = env.scalar, env.bytes, self.vectors.real
        self.tail: str | None = None
        """The mask of the lanes before the end of the vectorised index, in the loop over what is left of it."""
        self.mask: str | None = None
        """The mask of the lanes where guards hold, of those of `tail`, where guards differ from lane to lane."""
        self.piece: tuple[str, str] | None = None
        """The first value and the one after the last, where the range of an index is done in pieces."""
        self.copies = 0
        """How many elements stand together in the copies of what is read along the vectorised index; 0 where there are none."""
        self.rows_now = 1
        """How many values of the tile's index there are to each of the index beside it."""
        self.band: tuple[str, str] | None = None
        """The first row and the one after the last, where rows are done in bands."""
        self.group_begin = ""
        """The first value of the vectorised index in the copies that there are."""
        self.found_strides: dict[Atom, list[str]] = {}
        """Cache of `strides`, in the function's beginning, where all else can read it."""

    @property
    def present(self) -> str | None:
        """The mask of the lanes that have a point; None where all have."""
        return self.mask or self.tail

    # ------------------------------------------------------------ vectors of integers and spread values

    def spread(self, text: str, level: int, scalar: str | None = None) -> str:
        """A scalar in all lanes, a number unless its type is given."""
        scalar = scalar or self.scalar
        key, kind = ("spread", text), vector(scalar, self.lanes)
        if key in self.frames[level].known:
            return self.frames[level].known[key]
        one = self.place(level, f"insertelement {kind} poison, {scalar} {text}, i32 0")
        return self.place(level, f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer", key)

    def spread_integer(self, text: str, level: int) -> str:
        return self.spread(text, level, "i64")

    def lanes_of(self, text: str, level: int, c: int, start: int = 0) -> str:
        """text + c · (start + 0, 1, 2, …)."""
        kind = vector("i64", self.lanes)
        steps = ", ".join(f"i64 {c * (start + k)}" for k in range(self.lanes))
        return self.place(level, f"add {kind} {self.spread_integer(text, level)}, <{steps}>", ("lanes", text, c, start))

    # ------------------------------------------------------------ addresses

    def goes_around_once(self, whole: Affine, by: Affine) -> bool:
        for r in self.op.ranges:
            if slope(whole, r.index).number in (1, -1) and r.low.number == 0 and r.high == by:
                return without(whole, r.index).number in (-1, 0, 1)
        return False

    def strides(self, atom: Atom) -> list[str]:
        """How many elements apart the elements of each dimension are."""
        if (found := self.found_strides.get(atom)) is None:
            extents = [self.number(x)[0] for x in shape_of(atom)]
            found = self.found_strides[atom] = [self.product(extents[d + 1:]) for d in range(len(extents))]
        return found

    def coefficient(self, atom: Atom, subscripts: tuple[Subscript, ...], index: Index) -> str:
        """How many elements an access moves with an index."""
        total = "0"
        for s, stride in zip(subscripts, self.strides(atom), strict=True):
            if isinstance(s, Affine) and (c := self.number(slope(s, index))[0]) != "0":
                part = self.product([stride, c])
                total = part if total == "0" else self.place(0, f"add nsw i64 {total}, {part}", ("+", total, part))
        return total

    def tensor(self, atom: Atom) -> str:
        assert isinstance(atom, Var)
        return self.place(0, f"load ptr, ptr {self.cell(self.env.tensors[atom])}", ("address", atom))

    def address(self, atom: Atom, subscripts: tuple[Subscript, ...], t: int) -> Placed:
        """The address of an element at value `t` of the tile, lane 0. Each loop adds what its index contributes."""
        kind = self.kind(atom)
        steps: dict[int, list[str]] = {}
        for d, (s, stride) in enumerate(zip(subscripts, self.strides(atom), strict=True)):
            if isinstance(s, Read):
                text, level = self.gathered(s, atom, d)
                steps.setdefault(level, []).append(self.times(text, level, stride))
                continue
            loose = s
            for index in s.indices():
                loose = without(loose, index)
            text, level = self.number(loose)
            if text != "0":
                steps.setdefault(level, []).append(self.times(text, level, stride))
        for index in dict.fromkeys(i for s in subscripts if isinstance(s, Affine) for i in s.indices()):
            text, level = self.bound[index]
            c = self.coefficient(atom, subscripts, index)
            if c == "0":
                continue
            steps.setdefault(level, []).append(self.times(text, level, c))
            if further := self.further(index, t):
                steps[level].append(self.times(c, 0, str(further)))
        at, placed = self.tensor(atom), 0
        for level in sorted(steps):
            for offset in steps[level]:
                at, placed = self.place(level, f"getelementptr {kind}, ptr {at}, i64 {offset}", ("+", at, offset)), level
        return at, placed

    def further(self, index: Index, t: int) -> int:
        """By how much an index is more at point t of a tile than at the first."""
        if index is self.schedule.tile:
            return t % self.rows_now if self.schedule.column is not None else t
        return t // self.rows_now if index is self.schedule.column else 0

    def kind(self, atom: Atom) -> str:
        """The type of an element."""
        return self.env.integer if isinstance(atom, Var) and atom.integer else self.scalar

    def alignment(self, atom: Atom) -> int:
        """Bytes to which every element is aligned."""
        return {"i32": 4, "i64": 8}.get(self.kind(atom), self.bytes)

    def times(self, text: str, level: int, factor: str) -> str:
        if factor == "1":
            return text
        if text == "1":
            return factor
        return self.place(level, f"mul nsw i64 {text}, {factor}", ("*", text, factor))

    def gathered(self, s: Read, tensor: Atom, d: int) -> Placed:
        """A whole number that is a subscript. One that is outside raises the flag and is taken for 0, so that nothing outside is
        touched; the result is thrown away then."""
        source = self.schedule.args[s.arg]
        assert isinstance(source, Var)
        at, level = self.address(source, s.subscripts, 0)
        level = max(level, self.floor)
        got = self.place(level, f"load {self.kind(source)}, ptr {at}, align {self.alignment(source)}", ("subscript", at))
        key = ("checked", got, tensor, d)
        if key not in self.frames[level].known:
            number, inside, got = self.inside(level, got, source, tensor, d, 1)
            self.raise_flag(level, inside, self.word(level, got, source), at, source)
            self.env.gathers.append((self.equation, s, tensor, d))
            self.frames[level].known[key] = number
        return self.frames[level].known[key], level

    def inside(self, level: int, got: str, source: Var, tensor: Atom, d: int, lanes: int) -> tuple[str, str, str]:
        """So many subscripts that are read as integers, 0 for those outside of a dimension; True for those inside; and what was
        read: integers, or numbers that were computed, which may be NaN or infinite."""
        kind, truth, extent = vector("i64", lanes), vector("i1", lanes), self.number(shape_of(tensor)[d])[0]
        if not source.whole:
            if self.env.integer != "i64":
                got = self.place(level, f"sext {vector(self.env.integer, lanes)} {got} to {kind}", ("wide", got))
            inside = self.place(level, f"icmp ult {kind} {got}, {self.spread_integer(extent, 0) if lanes > 1 else extent}")
            return self.place(level, f"select {truth} {inside}, {kind} {got}, {kind} zeroinitializer"), inside, got
        real, limit = vector(self.scalar, lanes), self.place(0, f"sitofp i64 {extent} to {self.scalar}", ("as number", extent))
        natural = self.place(level, f"fcmp oge {real} {got}, zeroinitializer")
        below = self.place(level, f"fcmp olt {real} {got}, {self.spread(limit, 0) if lanes > 1 else limit}")
        inside = self.place(level, f"and {truth} {natural}, {below}")
        chosen = self.place(level, f"select {truth} {inside}, {real} {got}, {real} zeroinitializer")
        return self.place(level, f"fptosi {real} {chosen} to {kind}"), inside, got

    def word(self, level: int, got: str, source: Var) -> str:
        """A subscript as the flag has it: an integer, or a double."""
        if not source.whole:
            return got
        double = got if self.scalar == "double" else self.place(level, f"fpext {self.scalar} {got} to double")
        return self.place(level, f"bitcast double {double} to i64")

    def raise_flag(self, level: int, inside: str, got: str, at: str, source: Atom) -> None:
        """Keep the number of the gather, the integer and its place, of the first one that is outside."""
        flag = self.place(0, f"getelementptr i64, ptr %env, i64 {self.env.flag}", ("flag",))
        before = self.place(level, f"load i64, ptr {flag}")
        clear = self.place(level, f"icmp eq i64 {before}, 0")
        outside = self.place(level, f"xor i1 {inside}, true")
        new = self.place(level, f"and i1 {clear}, {outside}")
        shift = self.place(level, f"select i1 {new}, i64 0, i64 3")
        place = self.place(level, f"getelementptr i64, ptr {flag}, i64 {shift}")
        first = self.place(level, f"ptrtoint ptr {self.tensor(source)} to i64")
        mine = self.place(level, f"ptrtoint ptr {at} to i64")
        offset = self.place(level, f"sub i64 {mine}, {first}")
        for k, x in enumerate((str(len(self.env.gathers) + 1), got, offset)):
            cell = self.place(level, f"getelementptr i64, ptr {place}, i64 {k}")
            self.frames[level].head.append(f"  store i64 {x}, ptr {cell}")

    def fetch(self, address: str, first: int, count: int, written: bool = False) -> None:
        """The cache lines of so many elements, the `first` of which lies that far behind an address, are asked for."""
        self.env.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for k in range(first, first + count, CACHE_LINE // self.bytes):
            at = self.put(f"getelementptr {self.scalar}, ptr {address}, i64 {k}")
            self.say(f"call void @llvm.prefetch.p0(ptr {at}, i32 {int(written)}, i32 3, i32 1)")
