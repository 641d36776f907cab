"""Divisions of a body by what stays the same while the body is done again, as products with the bits of division.

A processor with AVX-512 divides eight doubles in 16 cycles, and multiplies or adds 32 in these. Where y has been known for longer
than x, so has r = 1/y, a division of its own in an outer loop, and

    q = x·r,    x/y = q + (x − y·q)·r, rounded once

is the quotient as IEEE rounds it (Markstein, IBM J. Res. Dev. 34, 1990). For mantissas x and y of p bits, from 1 to 2, r is off
by at most 2⁻ᵖ⁻¹. A quotient of 1 or more is at least 2¹⁻²ᵖ/y from the middle of two numbers, and where it is next to one, q is
half a unit off, 2⁻ᵖ: x − y·q is exact then, and the sum before its rounding is off by 2⁻ᵖ·y·2⁻ᵖ⁻¹, which is less, as y² < 4.
Below 1 all of these are half as large; q could be off by another unit only if x were 2.

That holds while nothing leaves the normal numbers: y is within `DIVISORS` (else r is NaN) and q within `QUOTIENTS`, or x is a
zero, as often in derivatives; the product q then has the right sign. Where any register of a tile has another number, the
processor divides all of them.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

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


def suits(e: Equation, on: Instructions) -> bool:
    """Whether an equation on registers is a division that can be multiplied out, and that LLVM does not know better."""
    if e.op is not DIVISION or not on.wide or on.fast:
        return False
    y, most = e.args[1], DIVISORS[on.precision]
    return not isinstance(y, Lit) or (1 / most <= abs(y.value) <= most and abs(math.frexp(y.value)[0]) != 0.5)


def reciprocal(at: Addresses, y: str, level: int, packed: bool) -> tuple[str, str]:
    """1/y and a zero in frame `level`, both NaN where y is too large, too small, or none; in registers if y is one."""
    on = at.vectors if packed else at.scalars
    most, real, truth = DIVISORS[on.precision], on.real, on.truth
    size = at.computed(level, on.call(on.intrinsic("llvm.fabs", 1), 1), [y])
    small = at.computed(level, f"  {{z}} = fcmp ole {real} {{0}}, {on.constant(most)}", [size])
    large = at.computed(level, f"  {{z}} = fcmp oge {real} {{0}}, {on.constant(1 / most)}", [size])
    holds = at.computed(level, f"  {{z}} = and {truth} {{0}}, {{1}}", [small, large])
    over = at.computed(level, f"  {{z}} = fdiv {real} {on.constant(1.0)}, {{0}}", [y])
    r, zero = (at.computed(level, f"  {{z}} = select {truth} {{0}}, {real} {{1}}, {real} {on.constant(math.nan)}", [holds, x])
               for x in (over, on.constant(0.0)))
    return (r, zero) if packed else (at.spread(r, level), at.spread(zero, level))


def constant_reciprocal(on: Instructions, y: float) -> tuple[str, str]:
    """The same of a constant that suits."""
    return on.constant(on.precision.rounded(1 / on.precision.nearest(y))), on.constant(0.0)


def quotients(at: Addresses, level: int, operands: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """The quotients of registers x, y, where the reciprocal of y and its zero are known, in the innermost frame; all of them by
    the processor where one needs it."""
    on, fused = at.vectors, at.vectors.intrinsic("llvm.fma", 3)
    real, truth, whole, bits = on.real, on.truth, on.mask, on.bits
    least, most = (pattern(x, on.precision) for x in QUOTIENTS[on.precision])

    def put(right: str) -> str:
        return at.place(level, right)

    found, holds = list[str](), list[str]()
    for x, y, r, zero in operands:
        q = put(f"fmul {real} {x}, {r}")
        rest = put(f"call {real} @{fused}({real} {put(f'fneg {real} {y}')}, {real} {q}, {real} {x})")
        better = put(f"call {real} @{fused}({real} {rest}, {real} {r}, {real} {q})")
        size = put(f"and {whole} {put(f'bitcast {real} {q} to {whole}')}, splat ({bits} {(1 << 8 * on.size - 1) - 1})")
        within = put(f"icmp ule {whole} {put(f'sub {whole} {size}, splat ({bits} {least})')}, splat ({bits} {most - least})")
        found.append(put(f"select {truth} {within}, {real} {better}, {real} {q}"))
        holds.append(put(f"or {truth} {within}, {put(f'fcmp oeq {real} {x}, {zero}')}"))
    while len(holds) > 1:
        pairs = zip(holds[::2], holds[1::2], strict=False)
        holds = [put(f"and {truth} {a}, {b}") for a, b in pairs] + holds[len(holds) // 2 * 2:]
    lanes = put(f"bitcast {truth} {holds[0]} to i{on.lanes}")
    return at.unless(put(f"icmp eq i{on.lanes} {lanes}, -1"), [(real, q) for q in found],
                     [f"fdiv {real} {x}, {y}" for x, y, *_ in operands])


def pattern(x: float, precision: Precision) -> int:
    """The bits of a number, as an integer."""
    return int.from_bytes(struct.pack(">" + precision.code, x), "big")
