"""Where elements are: addresses, the checks of subscripts that are read, and values in all lanes of a register.

Each loop adds to an address what its index contributes, so that the innermost one adds as little as there is to add.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adcli.codegen.loops.frames import FunctionWriter, Placed
from adcli.codegen.loops.thread_pool import ThreadPool
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.machine.veclib import Library
from adcli.codegen.nests.schedule import (
    GROUP,
    LONG_SUM,
    PIECE,
    Schedule,
)
from adcli.codegen.rows.instructions import Instructions, stack, vector
from adcli.lang.ir import Atom, Equation, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, slope, without
from adcli.lang.ir.comprehension import Range, Read, Subscript
from adcli.lang.ir.precision import DOUBLE, Precision


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
        """An integer that is a subscript. One that is outside raises the flag and is taken for 0, so that nothing outside is
        touched; the result is thrown away then."""
        source = self.schedule.args[s.arg]
        at, level = self.address(source, s.subscripts, 0)
        level = max(level, self.floor)
        if isinstance(source, Var) and source.whole:
            return self.whole_number(s, source, at, level, tensor, d), level
        got = self.place(level, f"load {self.env.integer}, ptr {at}", ("integer", at))
        if self.env.integer != "i64":
            got = self.place(level, f"sext {self.env.integer} {got} to i64", ("wide", got))
        key = ("checked", got, tensor, d)
        if key in self.frames[level].known:
            return self.frames[level].known[key], level
        extent, _ = self.number(shape_of(tensor)[d])
        inside = self.place(level, f"icmp ult i64 {got}, {extent}")
        self.raise_flag(level, inside, got, at, source)
        self.env.gathers.append((self.equation, s, tensor, d))
        return self.place(level, f"select i1 {inside}, i64 {got}, i64 0", key), level

    def whole_number(self, s: Read, source: Var, at: str, level: int, tensor: Atom, d: int) -> str:
        """A subscript that was computed: a number, which may be NaN or infinite. The flag gets it as a double."""
        real = self.scalar
        got = self.place(level, f"load {real}, ptr {at}, align {self.bytes}", ("number", at))
        key = ("checked", got, tensor, d)
        if key in self.frames[level].known:
            return self.frames[level].known[key]
        extent = self.place(level, f"sitofp i64 {self.number(shape_of(tensor)[d])[0]} to {real}")
        natural = self.place(level, f"fcmp oge {real} {got}, 0.0")
        below = self.place(level, f"fcmp olt {real} {got}, {extent}")
        inside = self.place(level, f"and i1 {natural}, {below}")
        double = got if real == "double" else self.place(level, f"fpext {real} {got} to double")
        self.raise_flag(level, inside, self.place(level, f"bitcast double {double} to i64"), at, source)
        self.env.gathers.append((self.equation, s, tensor, d))
        chosen = self.place(level, f"select i1 {inside}, {real} {got}, {real} 0.0")
        return self.place(level, f"fptosi {real} {chosen} to i64", key)

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

    # ------------------------------------------------------------ copies

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
        return self.quotient(self.number(r.high - r.low + (width - 1))[0], 0, width)

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
