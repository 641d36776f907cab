"""The body of a comprehension at one tile of points, each value once for what it depends on.

A value that does not change along the vectorised index is a scalar, one that does is a register for each block; one that does not
change along the tile's index is computed once for all its rows. Each goes to the outermost loop that knows its operands.

Functions of a library that only one arm of a choice needs, as each formula of a function that has one for every range, are called
where some number takes that arm.

Divisions of doubles by what stays the same while a body is done again, as products with the bits of division.

A processor with AVX-512 divides eight doubles in 16 cycles, and multiplies or adds 32 in these. Where y has been known for longer
than x, so has r = 1/y, a division of its own in an outer loop, and

    q = x·r,    x/y = q + (x − y·q)·r, rounded once

is the quotient as IEEE rounds it (Markstein, IBM J. Res. Dev. 34, 1990). For mantissas x and y of p bits, from 1 to 2, r is off
by at most 2⁻ᵖ⁻¹. A quotient of 1 or more is at least 2¹⁻²ᵖ/y from the middle of two numbers, and where it is next to one, q is
half a unit off, 2⁻ᵖ: x − y·q is exact then, and the sum before its rounding is off by 2⁻ᵖ·y·2⁻ᵖ⁻¹, which is less, as y² < 4.
Below 1 all of these are half as large; q could be off by another unit only if x were 2.

That holds while nothing leaves the normal numbers: y is within `LARGEST_DIVISOR` (else r is NaN) and q is from 2⁻⁵¹¹ to 2⁵¹³. One
addition to q says by one bit that the first two of its exponent differ, as they do there, and for no zero, infinity or NaN. Where
that is not so for all registers that are asked together the processor divides all of them.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adcli.codegen.loops.copies import Copies
from adcli.codegen.rows.instructions import Instructions, vector
from adcli.codegen.schedules.schedule import STILL, STRIDED, IndexPower, indices, movement
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.affine import Affine, affine, slope, substituted
from adcli.lang.ir.primitives import INDEX_POWER, TABLE
from adcli.lang.operations.comprehension import BodySource, Read
from adcli.lang.operations.precision import DOUBLE

if TYPE_CHECKING:
    from adcli.codegen.loops.addresses import Addresses


@dataclass(slots=True)
class BodyValue:
    """A value at one tile of points: how it is written for each row (one if `tiled` is false) and each block (one if `packed`
    is false), and the number of the frame that computes it."""

    texts: list[list[str]]
    tiled: bool
    packed: bool
    level: int


class BodyWriter:
    """Writes the body of the comprehension of `function`, for a tile of so many rows and blocks."""

    def __init__(self, function: Copies, rows: int, blocks: int) -> None:
        self.at, self.rows, self.blocks = function, rows, blocks
        self.values: dict[Atom, BodyValue] = {}
        self.arms, self.own = arms(function.op.body) if function.lanes > 1 else {}, dict[Arm, list[Equation]]()
        for e in reversed(self.arms):
            self.own.setdefault(self.arms[e], []).append(e)
        self.carried = {power.result: power for power in function.schedule.powers if power.along is not None}

    def write(self, fused: Equation | None) -> None:
        """Sources and equations; all but a product that goes into the sum by a fused operation."""
        self.read_sources()
        self.compute([e for e in self.at.op.body.equations if e is not fused])

    def read_sources(self) -> None:
        op = self.at.op
        for p, s in op.inputs():
            self.values[p.var] = self.source(s)

    def compute(self, equations: Sequence[Equation]) -> None:
        """Equations in their order; those first that stand still, so that all such divisors are known where one is divided by."""
        later = list[Equation]()
        for e in equations:
            args = [self.values.get(a) for a in e.args if isinstance(a, Var)]
            if any(a is None or a.packed for a in args):
                later.append(e)
            else:
                self.values[e.outs[0]] = self.equation(e)
        self.in_turn([e for e in later if e not in self.arms])

    def in_turn(self, equations: Sequence[Equation]) -> None:
        """Equations, choices after what only their arms need."""
        for e in equations:
            for k in (1, 2) if e.op is SELECT else ():
                mine = [x for x in self.own.get((e, k), ()) if x.outs[0] not in self.values]
                self.write_arm(e.args[0], e.args[k], k == 1, mine)
            self.values[e.outs[0]] = self.equation(e)

    def write_arm(self, c: Atom, value: Atom, holds: bool, own: Sequence[Equation]) -> None:
        """Equations for a value that is chosen where a condition holds, or where it does not: skipped if it is nowhere chosen."""
        at, level, truth = self.at, len(self.at.frames) - 1, self.at.vectors.truth
        if all(e.op.llvm for e in own) or not at.at_beginning(level):
            self.in_turn(own)
            return
        places, some = [(t, u) for t in range(self.rows) for u in range(self.blocks)], ""
        for here in places:
            one = self.operand(c, *here, True)
            some = at.place(level, f"{'or' if holds else 'and'} {truth} {some}, {one}") if some else one
        lanes = at.place(level, f"bitcast {truth} {some} to i{at.lanes}")
        nowhere = at.place(level, f"icmp eq i{at.lanes} {lanes}, {0 if holds else -1}")

        def written() -> list[str]:
            self.in_turn(own)
            return [self.operand(value, *here, True) for here in places]

        made = at.either(at.real, ["poison"] * len(places), nowhere, written)
        self.values[value] = BodyValue([made[k:k + self.blocks] for k in range(0, len(made), self.blocks)], True, True, level)

    def result(self, t: int, u: int) -> str:
        return self.operand(self.at.op.body.results[0].atom, t, u, self.at.lanes > 1)

    # ------------------------------------------------------------ equations

    def equation(self, e: Equation) -> BodyValue:
        power = self.carried.get(e.outs[0])
        if power is not None and (found := self.product(e.args[0], power)) is not None:
            return found
        args = [self.values[a] for a in e.args if isinstance(a, Var)]
        tiled, packed = any(a.tiled for a in args), any(a.packed for a in args)
        level = max((a.level for a in args), default=0)
        if (packed and suits(e, self.at.vectors) and self.at.at_beginning(level)
                and not self.as_new(e.args[1], self.rows if tiled else 1, level)):
            return self.quotient(e, tiled, level)
        template, texts = (self.at.vectors if packed else self.at.scalars).template(e.op), []
        for t in range(self.rows if tiled else 1):
            row = []
            for u in range(self.blocks if packed else 1):
                operands = [self.operand(a, t, u, packed) for a in e.args]
                row.append(self.at.computed(level, template, operands))
            texts.append(row)
        return BodyValue(texts, tiled, packed, level)

    def quotient(self, e: Equation, tiled: bool, level: int) -> BodyValue:
        """A division by what was known before, or by one number for several registers, multiplied out."""
        (x, y), rows = e.args, self.rows if tiled else 1
        divisions = [(self.operand(x, t, u, True), self.operand(y, t, u, True), self.reciprocal(y, t, u))
                     for t in range(rows) for u in range(self.blocks)]
        made = [z for k in range(0, len(divisions), TOGETHER) for z in quotients(self.at, level, divisions[k:k + TOGETHER])]
        return BodyValue([made[t * self.blocks:(t + 1) * self.blocks] for t in range(rows)], tiled, True, level)

    def reciprocal(self, y: Atom, t: int, u: int) -> str:
        """1/y in a register."""
        at = self.at
        if isinstance(y, Lit):
            return at.vectors.constant(1 / y.value)
        by = self.values[y]
        text = by.texts[t if by.tiled else 0][u if by.packed else 0]
        inverse = reciprocal(at, at.vectors if by.packed else at.scalars, text, by.level)
        return inverse if by.packed else at.spread(inverse, by.level)

    def as_new(self, y: Atom, rows: int, level: int) -> bool:
        """True if each register of a tile with so many rows has a divisor of its own, which the innermost loop makes."""
        if isinstance(y, Lit):
            return False
        by = self.values[y]
        return by.level == level and (by.tiled or rows == 1) and (by.packed or self.blocks == 1)

    def product(self, x: Atom, power: IndexPower) -> BodyValue | None:
        """A power whose exponent grows by 1 from turn to turn of a loop: the product goes along. None where its base is not known
        before the loop."""
        at = self.at
        assert power.along is not None
        level, base = at.bound[power.along][1], self.values.get(x, BodyValue([[""]], False, False, 0))
        if base.level >= level:
            return None
        texts = [[self.carried_on(self.operand(x, t, u, base.packed), base.packed, level, power) for u in range(len(row))]
                 for t, row in enumerate(base.texts)]
        return BodyValue(texts, base.tiled, base.packed, level)

    def carried_on(self, x: str, packed: bool, level: int, power: IndexPower) -> str:
        """The product of factors x in the loop of frame `level`."""
        at, frame, e = self.at, self.at.frames[level], power.exponent
        key = ("power", x, e)
        if key in frame.known:
            return frame.known[key]
        on = at.vectors if packed else at.scalars
        kind, one = on.real, on.constant(1.0)
        assert power.along is not None
        rest = at.number(e - affine(power.along))[0]
        before = at.place(level - 1, f"add i64 {rest}, {frame.phis[0]}")
        first = at.place(level - 1, f"sitofp i64 {before} to {at.scalar}")
        if packed:
            first = at.spread(first, level - 1)
        start, name, product = at.fresh(), at.fresh(), at.fresh()
        at.frames[level - 1].head.append(on.template(INDEX_POWER).format(x, first, z=start))
        frame.head.append(f"  {product} = fmul {kind} {name}, {x}")
        now = at.number(e)[0] if power.least < 0 else ""
        for n in range(power.least, 0):   # until there are factors, each reciprocal is one of its own; from 1/x it goes on to 1
            following = one
            if n < -1:
                following = at.fresh()
                at.frames[level - 1].head.append(on.template(INDEX_POWER).format(x, on.constant(n + 1.0), z=following))
            here = at.place(level, f"icmp eq i64 {now}, {n}")
            product = at.place(level, f"select i1 {here}, {kind} {following}, {kind} {product}")
        frame.kept.append((kind, start, name, product))
        frame.known[key] = name
        return name

    def operand(self, a: Atom, t: int, u: int, packed: bool) -> str:
        """How an equation writes a value; `packed` if all its operands are registers."""
        if isinstance(a, Lit):
            return (self.at.vectors if packed else self.at.scalars).constant(a.value)
        value = self.values[a]
        text = value.texts[t if value.tiled else 0][u if value.packed else 0]
        if packed and not value.packed:
            return self.at.spread(text, value.level, "i1" if a.truth else None)
        return text

    # ------------------------------------------------------------ sources

    def source(self, s: BodySource) -> BodyValue:
        return self.read(s) if isinstance(s, Read) else self.position(s)

    def position(self, s: Affine) -> BodyValue:
        """The value of an expression of indices and sizes, as a number."""
        at, v = self.at, self.at.schedule.vector
        across = [i for i in at.schedule.across if i in indices(s)]
        c = slope(s, v).number or 0 if v is not None else 0
        texts, level = [], 0
        for t in range(self.rows if across else 1):
            text, level = at.number(substituted(s, {i: affine(i) + at.further(i, t) for i in across}))
            if c:
                kind = at.lanes
                row = [at.place(level, f"sitofp {vector('i64', kind)} {at.lanes_of(text, level, c, u * kind)} to {at.real}")
                       for u in range(self.blocks)]
            else:
                row = [at.place(level, f"sitofp i64 {text} to {at.scalar}")]
            texts.append(row)
        return BodyValue(texts, bool(across), c != 0, level)

    def read(self, s: Read) -> BodyValue:
        """Elements of an argument."""
        at, schedule = self.at, self.at.schedule
        atom = schedule.args[s.arg]
        if isinstance(atom, Lit):
            return BodyValue([[at.scalars.constant(atom.value)]], False, False, 0)
        if at.copies and s in schedule.packed_reads:
            address, level = at.place_in_copy(s, at.copies)
            return BodyValue([[self.copied(level, address, u) for u in range(self.blocks)]], False, True, level)
        moves = STILL if schedule.vector is None else movement(s.subscripts, schedule.vector)
        tiled = any(movement(s.subscripts, i) != STILL for i in schedule.across)
        texts, level = list[list[str]](), 0
        if moves == STRIDED and schedule.vector is not None and at.coefficient(atom, s.subscripts, schedule.vector) == "0":
            moves = STILL   # beside an extent of 0: no element is there
        for t in range(self.rows if tiled else 1):
            if moves == STILL:
                address, level = at.address(atom, s.subscripts, t)
                level = max(level, at.floor)
                load = f"load {at.kind(atom)}, ptr {address}, align {at.alignment(atom)}"
                texts.append([self.as_number(level, at.place(level, load, ("element", load)), atom, 1)])
            else:
                row = [at.read_register(atom, s.subscripts, t, u) for u in range(self.blocks)]
                level = row[0][1]
                texts.append([self.as_number(level, x, atom, at.lanes) for x, _ in row])
        return BodyValue(texts, tiled, moves != STILL, level)

    def copied(self, level: int, address: str, u: int) -> str:
        """A register of what was copied."""
        at = self.at
        begin = at.place(level, f"getelementptr {at.scalar}, ptr {address}, i64 {u * at.lanes}") if u else address
        return at.place(level, f"load {at.real}, ptr {begin}, align {at.bytes}")

    def as_number(self, level: int, got: str, atom: Var, lanes: int) -> str:
        if not atom.integer:
            return got
        of, to = vector(self.at.env.integer, lanes), vector(self.at.scalar, lanes)
        return self.at.place(level, f"sitofp {of} {got} to {to}", ("number", got))


# ---------------------------------------------------------------- arms of choices

SELECT = TABLE["select"]
Arm = tuple[Equation, int]
"""A choice, and which of its operands is meant."""


def arms(body: Program) -> dict[Equation, Arm]:
    """The equations that only an arm needs, from the last on."""
    users: dict[Atom, set[object]] = {r.atom: {None} for r in body.results}
    found = dict[Equation, Arm]()
    for e in reversed(body.equations):
        match [*users.get(e.outs[0], ())]:
            case [(Equation() as choice, int(k))]:
                found[e] = choice, k
        for k, a in enumerate(e.args):
            users.setdefault(a, set()).add((e, k) if e.op is SELECT and k else found.get(e))
    return found


# ---------------------------------------------------------------- quotients

LARGEST_DIVISOR = 2.0 ** 200
"""The largest absolute value of a divisor, and of its reciprocal."""
TOGETHER = 4
"""Registers that are asked together: what more of them wait for the answer would wait in memory."""


def suits(e: Equation, on: Instructions) -> bool:
    """True if an equation on registers is a division that can be multiplied out, and that LLVM does not know better."""
    if e.op is not TABLE["div"] or not on.wide or on.precision is not DOUBLE:
        return False
    y, most = e.args[1], LARGEST_DIVISOR
    return not isinstance(y, Lit) or (1 / most <= abs(y.value) <= most and abs(math.frexp(y.value)[0]) != 0.5)


def reciprocal(at: Addresses, on: Instructions, y: str, level: int) -> str:
    """1/y in frame `level`, NaN where y is too large or too small."""
    real, truth = on.real, on.truth

    def ends(comparison: str, end: float) -> str:
        return at.computed(level, f"  {{z}} = fcmp {comparison} {real} {{0}}, {on.constant(end)}", [size])
    size = at.computed(level, on.call(on.intrinsic("llvm.fabs", 1), 1), [y])
    within = [ends("ole", LARGEST_DIVISOR), ends("oge", 1 / LARGEST_DIVISOR)]
    holds = at.computed(level, f"  {{z}} = and {truth} {{0}}, {{1}}", within)
    inverse = at.computed(level, f"  {{z}} = fdiv {real} {on.constant(1.0)}, {{0}}", [y])
    return at.computed(level, f"  {{z}} = select {truth} {{0}}, {real} {{1}}, {real} {on.constant(math.nan)}", [holds, inverse])


def quotients(at: Addresses, level: int, divisions: Sequence[tuple[str, str, str]]) -> list[str]:
    """x/y for registers x, y and 1/y, at the beginning of the innermost frame."""
    on, every, found = at.vectors, "", list[str]()
    fused, real, whole, lanes = on.intrinsic("llvm.fma", 3), on.real, on.mask, on.lanes

    def put(right: str) -> str:
        return at.place(level, right)
    for x, y, r in divisions:
        q = put(f"fmul {real} {x}, {r}")
        rest = put(f"call {real} @{fused}({real} {put(f'fneg {real} {y}')}, {real} {q}, {real} {x})")
        found.append(put(f"call {real} @{fused}({real} {rest}, {real} {r}, {real} {q})"))
        within = put(f"add {whole} {put(f'bitcast {real} {q} to {whole}')}, splat ({on.bits} {1 << 61})")
        every = put(f"and {whole} {every}, {within}") if every else within
    differ = put(f"icmp ne {whole} {put(f'and {whole} {every}, splat ({on.bits} {1 << 62})')}, zeroinitializer")
    all_lanes = put(f"icmp eq i{lanes} {put(f'bitcast {on.truth} {differ} to i{lanes}')}, -1")
    return at.either(real, found, all_lanes, lambda: [put(f"fdiv {real} {x}, {y}") for x, y, _ in divisions])
