"""Divisions of doubles by what stays the same while a body is done again, as products with the bits of division.

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
from typing import TYPE_CHECKING

from adcli.codegen.rows.instructions import Instructions
from adcli.lang.ir import Equation, Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE

if TYPE_CHECKING:
    from adcli.codegen.loops.addresses import Addresses

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
    return at.either(real, found, all_lanes, [f"fdiv {real} {x}, {y}" for x, y, _ in divisions])
