"""Exact sums of doubles, and of products of two or three of them: native code that is the same for every program.

A sum is held in fixed point, as a small superaccumulator (R. M. Neal, "Fast exact summation using small and large
superaccumulators", arXiv:1505.05571, 2015): 64-bit limbs, limb i of weight 2^(32 i + UNIT·factors), so that each has 32 bits of
its own and room above them. A term is an integer of 53 bits a factor, shifted to its place and cut into pieces of 32 bits; each
limb gets less than 2^33 of it, with the sign of the term. So nothing is rounded, and nothing is carried from limb to limb before
MOST_TERMS terms have been added; the integer that the limbs stand for is put together once, at the end.

The terms of a row go to one of several records, by its number in a column of 32-bit integers: sums by groups, or neighbours
that do not wait for each other. Terms that are not finite are counted in their record, by what IEEE 754 makes of the product.
"""
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache, partial

from adcli.codegen.machine.kernel import EntryPoint, Kernel, NoExecutableMemory, Pointers
from adcli.codegen.rows.compiled import same_for_all

UNIT = -1074
"""The exponent of the smallest double; that of the smallest product is a multiple of it."""
MOST_FACTORS = 3
MOST_TERMS = 1 << 28
"""Terms that a record takes before its limbs could overflow; see BIAS."""
BIAS = 1 << 62
"""Initial value of limbs and counts, so that all stay positive: 2^28 terms move one by less than 2^61."""
SPECIALS = 4
"""Counts at the end of a record: of NaN, +inf and -inf, and one that stays as it is."""
LARGEST_EXPONENT = 2047
"""The biased exponent of what is not finite."""
LIMB = (1 << 32) - 1
"""The bits that are a limb's own."""
NEUTRAL = {"or": "false", "xor": "0", "add": "0", "mul": "1"}
"""The neutral elements of operations of LLVM."""


def limbs(factors: int) -> int:
    """Limbs of a sum of products: the places where one can begin, and its pieces beyond; an even number."""
    return -(-(32 * _pieces(factors) + factors * (LARGEST_EXPONENT - 2)) // 64) * 2 + 2


def record(factors: int) -> int:
    """Words of 64 bits in a record: its limbs, then its counts."""
    return limbs(factors) + SPECIALS


@cache
def adder(factors: int, keep: bool = True) -> Kernel:
    """The code for sums of products of so many factors. Its inputs are the columns of the factors, then that of the numbers of
    the records (32-bit integers); its one output is the records. `keep`: it may come from the compile cache and go there."""
    entry = EntryPoint("exact_sums", 1, 0, factors + 1, 1, ())
    try:
        return same_for_all(f"exact sums {factors}", entry, partial(text, factors), keep)
    except NoExecutableMemory:
        return InterpretedSums(entry)


# ---------------------------------------------------------------- as LLVM IR

def text(factors: int) -> str:
    """The code as an LLVM module, with the entry that `adcli.codegen.rows.llvm` describes."""
    wide, each = f"i{64 * max(2, factors)}", range(factors)
    return TEXT.format(
        columns="".join(COLUMN.format(j=j) for j in range(factors + 1)), which=factors, record=record(factors),
        factors="".join(FACTOR.format(j=j, largest=LARGEST_EXPONENT, fraction=(1 << 52) - 1) for j in each),
        whole="".join(_folded(*x, factors) for x in (("i1", "or", "special"), ("i64", "xor", "bits"), ("i64", "add", "place"))),
        product="".join(f"  %wide{j} = zext i64 %mantissa{j} to {wide}\n" for j in each) + _folded(wide, "mul", "wide", factors),
        deposits=_deposits(factors, wide), invalid=_folded("i1", "or", "nan", factors) + _folded("i1", "or", "zero", factors),
        nan=limbs(factors), above=limbs(factors) + 1, below=limbs(factors) + 2)


COLUMN = """\
  %slot{j} = getelementptr ptr, ptr %in, i64 {j}
  %column{j} = load ptr, ptr %slot{j}
"""
FACTOR = """\
  %x{j}.at = getelementptr double, ptr %column{j}, i64 %i
  %x{j} = load double, ptr %x{j}.at
  %bits{j} = bitcast double %x{j} to i64
  %raised{j} = lshr i64 %bits{j}, 52
  %exponent{j} = and i64 %raised{j}, {largest}
  %fraction{j} = and i64 %bits{j}, {fraction}
  %normal{j} = icmp ne i64 %exponent{j}, 0
  %one{j} = zext i1 %normal{j} to i64
  %place{j} = sub i64 %exponent{j}, %one{j}
  %leading{j} = shl i64 %one{j}, 52
  %mantissa{j} = or i64 %fraction{j}, %leading{j}
  %special{j} = icmp eq i64 %exponent{j}, {largest}
  %nan{j} = fcmp uno double %x{j}, 0.0
  %zero{j} = fcmp oeq double %x{j}, 0.0
"""
"""A factor taken apart: its bits, its mantissa as an integer, the place of that, and what it is if it is special."""
TEXT = """\
define void @exact_sums(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {{
entry:
{columns}  %records = load ptr, ptr %out
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %row, label %exit
row:
  %i = phi i64 [ %begin, %entry ], [ %next, %done ]
  %which.at = getelementptr i32, ptr %column{which}, i64 %i
  %which = load i32, ptr %which.at
  %number = zext i32 %which to i64
  %first = mul i64 %number, {record}
{factors}{whole}  br i1 %special.all, label %count, label %add
add:
{product}  %sign = ashr i64 %bits.all, 63
  %limb = lshr i64 %place.all, 5
  %shift = and i64 %place.all, 31
  %start = add i64 %first, %limb
{deposits}  br label %done
count:
{invalid}  %invalid = or i1 %nan.all, %zero.all
  %negative = icmp slt i64 %bits.all, 0
  %infinity = select i1 %negative, i64 {below}, i64 {above}
  %kind = select i1 %invalid, i64 {nan}, i64 %infinity
  %counted = add i64 %first, %kind
  %count.at = getelementptr i64, ptr %records, i64 %counted
  %seen = load i64, ptr %count.at
  %more = add i64 %seen, 1
  store i64 %more, ptr %count.at
  br label %done
done:
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %row, label %exit
exit:
  ret void
}}
"""


def _folded(kind: str, operation: str, name: str, count: int) -> str:
    """The values `name`0, `name`1, … joined by an operation, as `name`.all."""
    lines, last = "", NEUTRAL[operation]
    for j in range(count):
        here = f"%{name}.until{j}" if j < count - 1 else f"%{name}.all"
        lines += f"  {here} = {operation} {kind} {last}, %{name}{j}\n"
        last = here
    return lines


def _deposits(factors: int, wide: str) -> str:
    """The pieces of the product, shifted, each added to a limb and what is shifted out of it to the next."""
    pieces = _pieces(factors)
    lines = "".join(PIECE.format(t=t, wide=wide, from_bit=32 * t, limb=LIMB) for t in range(pieces))
    for t in range(pieces + 1):
        value = "%within0" if t == 0 else f"%beyond{pieces - 1}" if t == pieces else f"%share{t}"
        if 0 < t < pieces:
            lines += f"  %share{t} = add i64 %within{t}, %beyond{t - 1}\n"
        lines += DEPOSIT.format(t=t, value=value)
    return lines


PIECE = """\
  %from{t} = lshr {wide} %wide.all, {from_bit}
  %low{t} = trunc {wide} %from{t} to i64
  %piece{t} = and i64 %low{t}, {limb}
  %moved{t} = shl i64 %piece{t}, %shift
  %within{t} = and i64 %moved{t}, {limb}
  %beyond{t} = lshr i64 %moved{t}, 32
"""
DEPOSIT = """\
  %turned{t} = xor i64 {value}, %sign
  %signed{t} = sub i64 %turned{t}, %sign
  %index{t} = add i64 %start, {t}
  %limb{t}.at = getelementptr i64, ptr %records, i64 %index{t}
  %held{t} = load i64, ptr %limb{t}.at
  %now{t} = add i64 %held{t}, %signed{t}
  store i64 %now{t}, ptr %limb{t}.at
"""


def _pieces(factors: int) -> int:
    """Pieces of 32 bits of a product."""
    return -(-53 * factors // 32)


# ---------------------------------------------------------------- without native code

class InterpretedSums(Kernel):
    """Sums in Python's integers, called on the same memory, where a system allows no executable memory."""

    __slots__ = ()

    def __init__(self, entry: EntryPoint) -> None:
        self.entry, self.lanes, self.work_bytes = entry, entry.lanes, 0

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        from adcli.codegen.rows.compiled import columns
        factors = self.entry.inputs - 1
        given, (held,) = columns(inputs, factors + 1, "d"), columns(outputs, 1, "d")
        which = ctypes.cast(given.pop(), ctypes.POINTER(ctypes.c_int32))
        words = ctypes.cast(held, ctypes.POINTER(ctypes.c_int64))
        for row in range(begin, end):
            first, terms = record(factors) * which[row], [column[row] for column in given]
            if not all(map(math.isfinite, terms)):
                words[first + limbs(factors) + special(terms)] += 1
                continue
            above, below = (math.prod(n) for n in zip(*(x.as_integer_ratio() for x in terms), strict=True))
            scaled = abs(above) << -UNIT * factors - below.bit_length() + 1
            for i in range(-(-scaled.bit_length() // 32)):
                part = scaled >> 32 * i & LIMB
                words[first + i] += part if above > 0 else -part


def special(terms: Sequence[float]) -> int:
    """Where a product that is not finite is counted: 0 for NaN, 1 for +inf, 2 for -inf."""
    if any(map(math.isnan, terms)) or 0.0 in terms:
        return 0
    return 1 if math.prod(math.copysign(1.0, x) for x in terms) > 0 else 2
