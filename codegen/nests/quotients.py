"""Divisions of a body by what stays the same while the body is done again, as products with the bits of division.

A processor with AVX-512 divides eight doubles in 16 cycles, and multiplies or adds 32 in these. Where y has been known for longer
than x, so has r = 1/y, a division of its own in an outer loop, and

    q = x·r,    x/y = q + (x − y·q)·r, rounded once

is the quotient as IEEE rounds it (Markstein, IBM J. Res. Dev. 34, 1990). For mantissas x and y of p bits, from 1 to 2, r is off
by at most 2⁻ᵖ⁻¹. A quotient of 1 or more is at least 2¹⁻²ᵖ/y from the middle of two numbers, and where it is next to one, q is
half a unit off, 2⁻ᵖ: x − y·q is exact then, and the sum before its rounding is off by 2⁻ᵖ·y·2⁻ᵖ⁻¹, which is less, as y² < 4.
Below 1 all of these are half as large; q could be off by another unit only if x were 2.

That holds while nothing leaves the normal numbers: y is within `DIVISORS` (else r is NaN) and q within `QUOTIENTS`, or x is a
zero, as often in derivatives; the product q then has the right sign. One addition to q says by one bit that the first two of its
exponent differ, as they do from 2⁻⁵¹¹ to 2⁵¹³ and for no zero. Only where that is not so for all of a tile's registers each lane
is asked what it has, and where any has another number, the processor divides all of them.

A quotient may be divided again, as derivatives of quotients are: x/y/y/y. Where x/y is far enough from the ends nothing more is
asked of the others, as each is off by no more than `DIVISORS`; and one r that is NaN says that any divisor is outside of these.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from adcli.codegen.nests.frames import OtherWay
from adcli.codegen.rows.instructions import Instructions
from adcli.lang.ir import Equation, Lit
from adcli.lang.ir.precision import DOUBLE, SINGLE, Precision
from adcli.lang.ir.primitives import TABLE

if TYPE_CHECKING:
    from adcli.codegen.nests.addresses import Addresses

DIVISION = TABLE["div"]
DIVISORS = {DOUBLE: 2.0 ** 200, SINGLE: 2.0 ** 20}
"""What divisors are at most, and their reciprocals."""
QUOTIENTS = {DOUBLE: (2.0 ** -700, 2.0 ** 700), SINGLE: (2.0 ** -80, 2.0 ** 80)}
"""What quotients are at least and at most: these times a divisor may be, and have all bits of a rest that is exact."""
MOST_IN_TURN = 3
"""How many times a value is divided with one question: 2⁻⁵¹¹ is far enough from the ends for two more divisors."""
TOGETHER = 4
"""Registers that one question is asked of: what more of them wait for the answer would wait in memory."""


@dataclass(frozen=True, slots=True)
class Divisor:
    """What is divided by, as it is known in frame `level`: in registers if `packed`."""

    text: str
    level: int
    packed: bool


@dataclass(frozen=True, slots=True)
class Dividend:
    """A register `x`, the divisors that it is divided by in turn with their reciprocals, and the zero of the first of these."""

    x: str
    zero: str
    by: Sequence[tuple[str, str]]


def suits(e: Equation, on: Instructions) -> bool:
    """Whether an equation on registers is a division that can be multiplied out, and that LLVM does not know better."""
    if e.op is not DIVISION or not on.wide:
        return False
    y, most = e.args[1], DIVISORS[on.precision]
    return not isinstance(y, Lit) or (1 / most <= abs(y.value) <= most and abs(math.frexp(y.value)[0]) != 0.5)


def reciprocals(at: Addresses, divisors: Sequence[Divisor | float]) -> tuple[str, list[str]]:
    """A zero and 1/y for each of the divisors, which are numbers, or known and all packed or none. In registers; the zero and the
    first are NaN where any divisor is too large, too small, or none."""
    known = list(dict.fromkeys(y for y in divisors if isinstance(y, Divisor)))
    packed = not known or known[0].packed
    on = at.vectors if packed else at.scalars
    real, truth = on.real, on.truth
    level = max((y.level for y in known), default=0)
    holds = ""
    for y in known:
        one = _suits(at, on, y)
        holds = at.computed(level, f"  {{z}} = and {truth} {{0}}, {{1}}", [holds, one]) if holds else one

    def in_registers(x: str, level: int) -> str:
        return x if packed else at.spread(x, level)

    def if_all_suit(x: str) -> str:
        nothing = on.constant(math.nan)
        return at.computed(level, f"  {{z}} = select {truth} {{0}}, {real} {{1}}, {real} {nothing}", [holds, x]) if holds else x

    def over(y: Divisor | float) -> tuple[str, int]:
        if isinstance(y, float):
            return on.constant(on.precision.rounded(1 / on.precision.nearest(y))), 0
        return at.computed(y.level, f"  {{z}} = fdiv {real} {on.constant(1.0)}, {{0}}", [y.text]), y.level

    zero, first = (in_registers(if_all_suit(x), level) for x in (on.constant(0.0), over(divisors[0])[0]))
    return zero, [first if y == divisors[0] else in_registers(*over(y)) for y in divisors]


def _suits(at: Addresses, on: Instructions, y: Divisor) -> str:
    """Whether a divisor is within `DIVISORS`."""
    most, real, truth = DIVISORS[on.precision], on.real, on.truth
    size = at.computed(y.level, on.call(on.intrinsic("llvm.fabs", 1), 1), [y.text])
    small = at.computed(y.level, f"  {{z}} = fcmp ole {real} {{0}}, {on.constant(most)}", [size])
    large = at.computed(y.level, f"  {{z}} = fcmp oge {real} {{0}}, {on.constant(1 / most)}", [size])
    return at.computed(y.level, f"  {{z}} = and {truth} {{0}}, {{1}}", [small, large])


def quotients(at: Addresses, level: int, dividends: Sequence[Dividend], wanted: Sequence[int]) -> list[list[str]]:
    """For each dividend those of its quotients that are wanted, by their numbers, in the innermost frame; all of them by the
    processor where one needs it."""
    lanes, processor = OtherWay(), OtherWay()

    def adding_to(way: OtherWay) -> Callable[[str], str]:
        def put(right: str) -> str:
            z = at.fresh()
            way.lines.append(f"  {z} = {right}")
            return z
        return put

    first = _QuotientLines(at.vectors, lambda right: at.place(level, right))
    found, holds = first.multiplied_out(dividends)
    second = _QuotientLines(at.vectors, adding_to(lanes))
    asked, lanes.holds = second.asked(dividends)
    third = _QuotientLines(at.vectors, adding_to(processor)).divided(dividends)
    values, lanes.values, processor.values = ([every[k] for every in each for k in wanted] for each in (found, asked, third))
    made = at.first_way([(at.real, x) for x in values], holds, [lanes, processor])
    return [made[k:k + len(wanted)] for k in range(0, len(made), len(wanted))]


class _QuotientLines:
    """Writes all quotients of dividends, each in one of three ways, by adding values to a text."""

    def __init__(self, on: Instructions, put: Callable[[str], str]) -> None:
        self.on, self.put = on, put
        self.fused = on.intrinsic("llvm.fma", 3)

    def step(self, x: str, y: str, r: str) -> tuple[str, str]:
        """The product x·r, and the quotient."""
        real = self.on.real
        q = self.put(f"fmul {real} {x}, {r}")
        rest = self.put(f"call {real} @{self.fused}({real} {self.put(f'fneg {real} {y}')}, {real} {q}, {real} {x})")
        return q, self.put(f"call {real} @{self.fused}({real} {rest}, {real} {r}, {real} {q})")

    def multiplied_out(self, dividends: Sequence[Dividend]) -> tuple[list[list[str]], str]:
        """The quotients, and whether the first ones have exponents with which all are right."""
        whole, found, every = self.on.mask, list[list[str]](), ""
        for d in dividends:
            x, row, first = d.x, list[str](), ""
            for y, r in d.by:
                q, x = self.step(x, y, r)
                first = first or q
                row.append(x)
            found.append(row)
            pattern = self.put(f"bitcast {self.on.real} {first} to {whole}")
            within = self.put(f"add {whole} {pattern}, splat ({self.on.bits} {1 << 8 * self.on.size - 3})")
            every = self.put(f"and {whole} {every}, {within}") if every else within
        ahead = self.put(f"and {whole} {every}, splat ({self.on.bits} {1 << 8 * self.on.size - 2})")
        return found, self.in_all_lanes(self.put(f"icmp ne {whole} {ahead}, zeroinitializer"))

    def asked(self, dividends: Sequence[Dividend]) -> tuple[list[list[str]], str]:
        """The quotients, those of zeros too, and whether each lane has them."""
        real, truth, whole, bits = self.on.real, self.on.truth, self.on.mask, self.on.bits
        found, every = list[list[str]](), ""
        for d in dividends:
            least, most = (pattern(x, self.on.precision) for x in ends(self.on.precision, len(d.by)))
            x, row, within, holds = d.x, list[str](), "", ""
            for y, r in d.by:
                q, better = self.step(x, y, r)
                if not within:
                    size = self.put(f"and {whole} {self.put(f'bitcast {real} {q} to {whole}')}, "
                                    f"splat ({bits} {(1 << 8 * self.on.size - 1) - 1})")
                    above = self.put(f"sub {whole} {size}, splat ({bits} {least})")
                    within = self.put(f"icmp ule {whole} {above}, splat ({bits} {most - least})")
                    holds = self.put(f"or {truth} {within}, {self.put(f'fcmp oeq {real} {x}, {d.zero}')}")
                x = self.put(f"select {truth} {within}, {real} {better}, {real} {q}")
                row.append(x)
            found.append(row)
            every = self.put(f"and {truth} {every}, {holds}") if every else holds
        return found, self.in_all_lanes(every)

    def divided(self, dividends: Sequence[Dividend]) -> list[list[str]]:
        """The quotients by the processor."""
        return [list(accumulate((y for y, _ in d.by), lambda x, y: self.put(f"fdiv {self.on.real} {x}, {y}"), initial=d.x))[1:]
                for d in dividends]

    def in_all_lanes(self, truths: str) -> str:
        lanes = self.on.lanes
        return self.put(f"icmp eq i{lanes} {self.put(f'bitcast {self.on.truth} {truths} to i{lanes}')}, -1")


def ends(precision: Precision, count: int) -> tuple[float, float]:
    """What the first of so many quotients in turn is at least and at most, so that the last is within `QUOTIENTS`."""
    (least, most), away = QUOTIENTS[precision], DIVISORS[precision] ** (count - 1)
    return least * away, most / away


def pattern(x: float, precision: Precision) -> int:
    """The bits of a number, as an integer."""
    return int.from_bytes(struct.pack(">" + precision.code, x), "big")
