"""Rows of decimal texts to columns of doubles.

A number is the double next to its text. Up to 19 digits are one whole number, which a power of ten that is a double itself
multiplies or divides with one rounding (W. D. Clinger, "How to read floating point numbers accurately", 1990), or a power of 128
bits with an error that is known (after D. Lemire, "Number parsing at a gigabyte per second", 2021). Digits behind these make it
larger by less than 1, which is part of the error. Where that error could matter the number is odd, as is all that is no plain
decimal: its place is handed back.
"""
from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import numpy as np
from adcli.codegen.machine.kernel import EntryPoint, Kernel, Pointers, pointers
from adcli.codegen.rows.compiled import same_for_all
from adcli.codegen.texts.shortest import HIGHEST, LOWEST, exponent_lines, power_lines, table

FIELD = 2
"""Words for a field: the address of its numbers, and that of its places; 0 where they are not wanted."""
ODD = 4
"""Words for an odd number: its row, its field, where it begins and ends."""


class ScannedRows(NamedTuple):
    """Rows of a text: where each begins and ends, the numbers of fields, what there is in place of odd ones (row, field, begin
    and end), and where the texts of fields begin and end."""

    places: np.ndarray
    numbers: dict[int, np.ndarray]
    odd: np.ndarray
    texts: dict[int, np.ndarray]


def scanned(kernel: Kernel, text: bytes, separator: bytes, fields: int, numbers: Collection[int], texts: Collection[int],
            point: bytes = b".") -> ScannedRows | None:
    """The rows of a text, each of which has so many `fields`; of some the `numbers` are wanted, of some the `texts`, with their
    quotes. The kernel is that of `reader`. None where a line is not ended, is blank, has another number of fields or a quote that
    is not closed in it."""
    if not text.endswith(b"\n"):
        return None
    rows = text.count(b"\n")
    columns = {field: np.empty(rows) for field in numbers}
    slices = {field: np.empty((rows, 2), np.int64) for field in texts}
    plan = np.zeros((fields, FIELD), np.int64)
    for field, array in columns.items():
        plan[field, 0] = array.ctypes.data
    for field, found_at in slices.items():
        plan[field, 1] = found_at.ctypes.data
    places, odd = np.empty((rows, 2), np.int64), np.empty((rows * len(columns), ODD), np.int64)
    given, counts = np.array([fields, separator[0], point[0]]), np.zeros(2, np.int64)
    data = np.frombuffer(text, np.uint8)
    kernel(addresses(data, plan, given), addresses(places, odd, counts), 0, len(text))
    found, strange = counts.tolist()
    return ScannedRows(places, columns, odd[:strange], slices) if found == rows else None


def addresses(*arrays: np.ndarray) -> Pointers:
    return pointers([a.ctypes.data for a in arrays])


@cache
def reader(keep: bool = True) -> Kernel:
    """The code that `scanned` runs. `keep`: it may come from the compile cache and go there. NoExecutableMemory where the system
    runs no code of ours."""
    return same_for_all("doubles of texts", EntryPoint("scan", 1, 0, 3, 3, ()), text, keep)


# ---------------------------------------------------------------- as LLVM IR

EXACT = 22
"""The largest power of ten that is a double."""
MOST_WHOLE = ((1 << 64) - 10) // 10
"""The largest number that takes one more digit below 2^64."""


def text() -> str:
    """The code as an LLVM module, with the entry that `adcli.codegen.rows.llvm` describes: of the text, the plan and what is
    given it makes the places of rows, the odd numbers, and how many there are of both (no rows where one is irregular)."""
    return table() + small_powers() + NUMBER + SCAN


def small_powers() -> str:
    """The powers of ten that are doubles, as a constant of a module."""
    small = ", ".join(f"double {float(10**k):.1f}" for k in range(EXACT + 1))
    return f"@small = private unnamed_addr constant [{EXACT + 1} x double] [{small}]\n"


def digits(name: str, start: str, value: str, before: str, full: str) -> str:
    """A loop over the digits from `start` on, which are joined to `value`: `name`.at and `name`.value are where they end and what
    they are then, `name`.c is the character there. It is entered from the block `before`, the block `name`.end follows it, and
    `full` where there is no room for another digit."""
    return f"""
{name}:
  %{name}.at = phi ptr [ {start}, %{before} ], [ %{name}.next, %{name}.take ]
  %{name}.value = phi i64 [ {value}, %{before} ], [ %{name}.more, %{name}.take ]
  %{name}.c = load i8, ptr %{name}.at
  %{name}.digit = sub i8 %{name}.c, 48
  %{name}.is = icmp ult i8 %{name}.digit, 10
  br i1 %{name}.is, label %{name}.room, label %{name}.end
{name}.room:
  %{name}.fits = icmp ule i64 %{name}.value, {MOST_WHOLE}
  br i1 %{name}.fits, label %{name}.take, label %{full}
{name}.take:
  %{name}.next = getelementptr i8, ptr %{name}.at, i64 1
  %{name}.tens = mul i64 %{name}.value, 10
  %{name}.long = zext i8 %{name}.digit to i64
  %{name}.more = add i64 %{name}.tens, %{name}.long
  br label %{name}
"""


def dropped(name: str, start: str) -> str:
    """A loop over the digits for which there is no room, and the beginning of the block `name`.end: `name`.last is where all
    digits from `start` on end, `name`.stop the character there, `name`.count and `name`.less how many were taken and left."""
    return f"""
{name}.drop:
  %{name}.d.at = phi ptr [ %{name}.at, %{name}.room ], [ %{name}.d.next, %{name}.drop ]
  %{name}.d.next = getelementptr i8, ptr %{name}.d.at, i64 1
  %{name}.d.c = load i8, ptr %{name}.d.next
  %{name}.d.digit = sub i8 %{name}.d.c, 48
  %{name}.d.is = icmp ult i8 %{name}.d.digit, 10
  br i1 %{name}.d.is, label %{name}.drop, label %{name}.end
{name}.end:
  %{name}.last = phi ptr [ %{name}.at, %{name} ], [ %{name}.d.next, %{name}.drop ]
  %{name}.stop = phi i8 [ %{name}.c, %{name} ], [ %{name}.d.c, %{name}.drop ]
  %{name}.first.long = ptrtoint ptr {start} to i64
  %{name}.at.long = ptrtoint ptr %{name}.at to i64
  %{name}.last.long = ptrtoint ptr %{name}.last to i64
  %{name}.count = sub i64 %{name}.at.long, %{name}.first.long
  %{name}.less = sub i64 %{name}.last.long, %{name}.at.long"""


def signed(name: str, at: str) -> str:
    """The test for a minus at a place, and the place after a sign."""
    return f"""\
  %{name}.c = load i8, ptr {at}
  %{name}.minus = icmp eq i8 %{name}.c, 45
  %{name}.plus = icmp eq i8 %{name}.c, 43
  %{name}.any = or i1 %{name}.minus, %{name}.plus
  %{name}.size = zext i1 %{name}.any to i64
  %{name}.end = getelementptr i8, ptr {at}, i64 %{name}.size"""


NUMBER = f"""
define private {{ double, ptr }} @number(ptr %at, i8 %point) {{
start:
{signed("sign", "%at")}
  br label %whole
{digits("whole", "%sign.end", "0", "start", "whole.drop")}
{dropped("whole", "%sign.end")}
  %pointed = icmp eq i8 %whole.stop, %point
  br i1 %pointed, label %behind.point, label %mantissa

behind.point:
  %part.first = getelementptr i8, ptr %whole.last, i64 1
  br label %part
{digits("part", "%part.first", "%whole.value", "behind.point", "part.drop")}
{dropped("part", "%part.first")}
  %both.less = add i64 %whole.less, %part.less
  br label %mantissa

mantissa:                                                  ; m·10^(more - places), and `less` digits behind it
  %m = phi i64 [ %whole.value, %whole.end ], [ %part.value, %part.end ]
  %m.end = phi ptr [ %whole.last, %whole.end ], [ %part.last, %part.end ]
  %m.c = phi i8 [ %whole.stop, %whole.end ], [ %part.stop, %part.end ]
  %places = phi i64 [ 0, %whole.end ], [ %part.count, %part.end ]
  %less = phi i64 [ %whole.less, %whole.end ], [ %both.less, %part.end ]
  %m.count = add i64 %whole.count, %places
  %m.none = icmp eq i64 %m.count, 0
  br i1 %m.none, label %odd, label %mantissa.some

mantissa.some:
  %letter = or i8 %m.c, 32
  %e = icmp eq i8 %letter, 101
  br i1 %e, label %exponent, label %scale

exponent:
  %e.at = getelementptr i8, ptr %m.end, i64 1
{signed("e.sign", "%e.at")}
  br label %power
{digits("power", "%e.sign.end", "0", "exponent", "odd")}
power.end:
  %power.none = icmp eq ptr %power.at, %e.sign.end
  %power.large = icmp ugt i64 %power.value, 9999
  %power.odd = or i1 %power.none, %power.large
  %power.opposite = sub i64 0, %power.value
  %power.signed = select i1 %e.sign.minus, i64 %power.opposite, i64 %power.value
  br i1 %power.odd, label %odd, label %scale

scale:                                                     ; m·10^ten
  %written = phi i64 [ 0, %mantissa.some ], [ %power.signed, %power.end ]
  %end = phi ptr [ %m.end, %mantissa.some ], [ %power.at, %power.end ]
  %ten.less = sub i64 %written, %places
  %ten = add i64 %ten.less, %whole.less
  %m.exact = icmp ule i64 %m, {1 << 53}
  %ten.shifted = add i64 %ten, {EXACT}
  %ten.exact = icmp ule i64 %ten.shifted, {2 * EXACT}
  %exact = and i1 %m.exact, %ten.exact
  br i1 %exact, label %quick, label %inexact

quick:                                                     ; both are doubles: one rounding
  %m.double = uitofp i64 %m to double
  %divide = icmp slt i64 %ten, 0
  %ten.opposite = sub i64 0, %ten
  %ten.size = select i1 %divide, i64 %ten.opposite, i64 %ten
  %small.at = getelementptr double, ptr @small, i64 %ten.size
  %small = load double, ptr %small.at
  %product = fmul double %m.double, %small
  %quotient = fdiv double %m.double, %small
  %quick.value = select i1 %divide, double %quotient, double %product
  br label %done

inexact:
  %m.zero = icmp eq i64 %m, 0
  %ten.place = sub i64 %ten, {LOWEST}
  %ten.known = icmp ule i64 %ten.place, {HIGHEST - LOWEST}
  %ten.odd = xor i1 %ten.known, true
  %inexact.odd = or i1 %m.zero, %ten.odd
  br i1 %inexact.odd, label %odd, label %long

long:
  %free = call i64 @llvm.ctlz.i64(i64 %m, i1 false)
  %n = shl i64 %m, %free
{power_lines("%g", "%ten")}
{exponent_lines("%log", "%ten")}
  ; the first 128 of the 192 bits of n·g, from which the true ones differ by less than one unit of the last
  %n.wide = zext i64 %n to i128
  %below = mul i128 %g.low, %n.wide
  %carry = lshr i128 %below, 64
  %above = mul i128 %g.high, %n.wide
  %t = add i128 %above, %carry
  ; 54 of these, one more than a double has, and the rest
  %top = lshr i128 %t, 127
  %cut = add i128 %top, 73
  %kept = lshr i128 %t, %cut
  %whole.part = shl i128 %kept, %cut
  %rest = sub i128 %t, %whole.part
  %unit = shl i128 1, %cut
  %cut.off = icmp ne i64 %less, 0                          ; the digits left out add less than g·2^free
  %cut.one = zext i1 %cut.off to i128
  %cut.bits = add i64 %free, 64
  %cut.by = zext i64 %cut.bits to i128
  %cut.most = shl i128 %cut.one, %cut.by
  %slack = or i128 %cut.most, %cut.one
  ; sure: surely below what is half-way, or above it; on both sides of a double it is that
  %unit.less = sub i128 %unit, 1
  %room = sub i128 %unit.less, %slack
  %upper = trunc i128 %kept to i1
  %is.above = icmp ne i128 %rest, 0
  %is.below = icmp ult i128 %rest, %room
  %sure = select i1 %upper, i1 %is.above, i1 %is.below
  %bits54 = trunc i128 %kept to i64
  %bits54.up = add i64 %bits54, 1
  %bits53 = lshr i64 %bits54.up, 1
  %top.long = trunc i128 %top to i64
  %scale.top = add i64 %log, %top.long
  %scale.free = sub i64 %scale.top, %free
  %biased.less = add i64 %scale.free, 1085
  %normal = icmp ult i64 %biased.less, 2045                ; a double of 53 bits, and below the largest power of two
  %field = shl i64 %biased.less, 52
  %bits = add i64 %field, %bits53
  %long.value = bitcast i64 %bits to double
  %good = and i1 %sure, %normal
  br i1 %good, label %done, label %odd

done:
  %size = phi double [ %quick.value, %quick ], [ %long.value, %long ]
  %opposite = fneg double %size
  %value = select i1 %sign.minus, double %opposite, double %size
  %first = insertvalue {{ double, ptr }} undef, double %value, 0
  %both = insertvalue {{ double, ptr }} %first, ptr %end, 1
  ret {{ double, ptr }} %both

odd:
  ret {{ double, ptr }} {{ double 0x7FF8000000000000, ptr null }}
}}

declare i64 @llvm.ctlz.i64(i64, i1)
"""
"""The function `number`: a number and the place behind it, which is null where it is odd."""


ARGUMENTS = """\
  %plan.slot = getelementptr ptr, ptr %in, i64 1
  %given.slot = getelementptr ptr, ptr %in, i64 2
  %odd.slot = getelementptr ptr, ptr %out, i64 1
  %counts.slot = getelementptr ptr, ptr %out, i64 2
  %text = load ptr, ptr %in
  %plan = load ptr, ptr %plan.slot
  %given = load ptr, ptr %given.slot
  %places = load ptr, ptr %out
  %odd = load ptr, ptr %odd.slot
  %counts = load ptr, ptr %counts.slot
  %text.begin = ptrtoint ptr %text to i64
  %text.end = getelementptr i8, ptr %text, i64 %end
  %strange.at = getelementptr i64, ptr %counts, i64 1
"""
"""The arguments of a function that scans a text, as lines of its entry."""

ENDS = """\
irregular:
  store i64 -1, ptr %counts
  ret void

exit:
  store i64 %i, ptr %counts
  store i64 %strange.row, ptr %strange.at
  ret void
"""
"""How it ends: at a line that is not as the others, or at the end of the text."""


SCAN = f"""
define void @scan(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {{
entry:
{ARGUMENTS}  %separator.at = getelementptr i64, ptr %given, i64 1
  %point.at = getelementptr i64, ptr %given, i64 2
  %fields = load i64, ptr %given
  %separator.long = load i64, ptr %separator.at
  %point.long = load i64, ptr %point.at
  %separator = trunc i64 %separator.long to i8
  %point = trunc i64 %point.long to i8
  br label %row

row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %row.at = phi ptr [ %text, %entry ], [ %row.next, %row.end ]
  %strange.row = phi i64 [ 0, %entry ], [ %strange.next, %row.end ]
  %more = icmp ult ptr %row.at, %text.end
  br i1 %more, label %row.some, label %exit

row.some:
  %row.begin = ptrtoint ptr %row.at to i64
  %row.place = sub i64 %row.begin, %text.begin
  %row.c = load i8, ptr %row.at
  %row.lf = icmp eq i8 %row.c, 10
  br i1 %row.lf, label %irregular, label %row.filled

row.filled:
  %row.cr = icmp eq i8 %row.c, 13
  br i1 %row.cr, label %row.return, label %field

row.return:
  %row.second.at = getelementptr i8, ptr %row.at, i64 1
  %row.second = load i8, ptr %row.second.at
  %row.blank = icmp eq i8 %row.second, 10
  br i1 %row.blank, label %irregular, label %field

field:
  %j = phi i64 [ 0, %row.filled ], [ 0, %row.return ], [ %j.next, %field.next ]
  %at = phi ptr [ %row.at, %row.filled ], [ %row.at, %row.return ], [ %at.next, %field.next ]
  %strange = phi i64 [ %strange.row, %row.filled ], [ %strange.row, %row.return ], [ %strange.next, %field.next ]
  %begin.long = ptrtoint ptr %at to i64
  %begin.place = sub i64 %begin.long, %text.begin
  %field.at = getelementptr [{FIELD} x i64], ptr %plan, i64 %j
  %slices.at = getelementptr i64, ptr %field.at, i64 1
  %column = load ptr, ptr %field.at
  %slices = load ptr, ptr %slices.at
  %wanted = icmp ne ptr %column, null
  %c = load i8, ptr %at
  %quoted = icmp eq i8 %c, 34
  br i1 %quoted, label %quote, label %bare

bare:
  br i1 %wanted, label %blanks, label %skip
quote:
  %quote.next = getelementptr i8, ptr %at, i64 1
  br i1 %wanted, label %blanks, label %inside

blanks:                                                    ; in front of a number
  %b.at = phi ptr [ %at, %bare ], [ %quote.next, %quote ], [ %b.next, %blank ]
  %b.c = load i8, ptr %b.at
  %b.space = icmp eq i8 %b.c, 32
  %b.tab = icmp eq i8 %b.c, 9
  %b.any = or i1 %b.space, %b.tab
  %b.separates = icmp ne i8 %b.c, %separator
  %b.blank = and i1 %b.any, %b.separates
  br i1 %b.blank, label %blank, label %value
blank:
  %b.next = getelementptr i8, ptr %b.at, i64 1
  br label %blanks

value:
  %parsed = call {{ double, ptr }} @number(ptr %b.at, i8 %point)
  %x = extractvalue {{ double, ptr }} %parsed, 0
  %x.end = extractvalue {{ double, ptr }} %parsed, 1
  %x.at = getelementptr double, ptr %column, i64 %i
  store double %x, ptr %x.at
  %x.odd = icmp eq ptr %x.end, null
  br i1 %x.odd, label %strange.begin, label %blanks.behind

blanks.behind:                                             ; up to the end of the field
  %a.at = phi ptr [ %x.end, %value ], [ %a.next, %blank.behind ]
  %a.c = load i8, ptr %a.at
  %a.separates = icmp eq i8 %a.c, %separator
  %a.lf = icmp eq i8 %a.c, 10
  %a.ends = or i1 %a.separates, %a.lf
  br i1 %a.ends, label %bare.end, label %behind.other
behind.other:
  %a.next = getelementptr i8, ptr %a.at, i64 1
  %a.cr = icmp eq i8 %a.c, 13
  br i1 %a.cr, label %behind.return, label %behind.blank
behind.return:
  %a.second = load i8, ptr %a.next
  %a.crlf = icmp eq i8 %a.second, 10
  br i1 %a.crlf, label %bare.end, label %strange.begin
behind.blank:
  %a.space = icmp eq i8 %a.c, 32
  %a.tab = icmp eq i8 %a.c, 9
  %a.blank = or i1 %a.space, %a.tab
  br i1 %a.blank, label %blank.behind, label %behind.quote
blank.behind:
  br label %blanks.behind
behind.quote:
  %a.quote = icmp eq i8 %a.c, 34
  %a.closes = and i1 %a.quote, %quoted
  br i1 %a.closes, label %closing, label %strange.begin
bare.end:                                                  ; not in quotes
  br i1 %quoted, label %inside, label %field.end
strange.begin:
  br i1 %quoted, label %inside, label %skip

skip:                                                      ; any text, or an odd number
  br label %skipping
skipping:
  %s.at = phi ptr [ %at, %skip ], [ %s.next, %skipped ]
  %s.c = load i8, ptr %s.at
  %s.separates = icmp eq i8 %s.c, %separator
  br i1 %s.separates, label %strange.end, label %skip.other
skip.other:
  %s.lf = icmp eq i8 %s.c, 10
  br i1 %s.lf, label %skip.line, label %skipped
skipped:
  %s.next = getelementptr i8, ptr %s.at, i64 1
  br label %skipping
skip.line:                                                 ; a return before the end of the line is part of that
  %s.first = icmp eq ptr %s.at, %at
  %s.before = getelementptr i8, ptr %s.at, i64 -1
  %s.last = load i8, ptr %s.before
  %s.cr = icmp eq i8 %s.last, 13
  %s.other = xor i1 %s.first, true
  %s.crlf = and i1 %s.cr, %s.other
  %s.end = select i1 %s.crlf, ptr %s.before, ptr %s.at
  br label %strange.end

inside:                                                    ; quotes; two of them are none
  %q.from = phi ptr [ %at, %quote ], [ %at, %bare.end ], [ %at, %strange.begin ], [ %q.second, %doubled ]
  br label %inside.next
inside.next:
  %q.before = phi ptr [ %q.from, %inside ], [ %q.at, %inside.other ]
  %q.at = getelementptr i8, ptr %q.before, i64 1
  %q.c = load i8, ptr %q.at
  %q.quote = icmp eq i8 %q.c, 34
  br i1 %q.quote, label %closing, label %inside.other
inside.other:
  %q.lf = icmp eq i8 %q.c, 10
  br i1 %q.lf, label %irregular, label %inside.next
closing:
  %q.last = phi ptr [ %q.at, %inside.next ], [ %a.at, %behind.quote ]
  %q.odd = phi i1 [ %wanted, %inside.next ], [ false, %behind.quote ]
  %q.second = getelementptr i8, ptr %q.last, i64 1
  %q.behind = load i8, ptr %q.second
  %q.twice = icmp eq i8 %q.behind, 34
  br i1 %q.twice, label %doubled, label %closed
doubled:
  br label %inside
closed:
  %q.separates = icmp eq i8 %q.behind, %separator
  %q.ends = icmp eq i8 %q.behind, 10
  %q.good = or i1 %q.separates, %q.ends
  br i1 %q.good, label %strange.end, label %closed.other
closed.other:
  %q.cr = icmp eq i8 %q.behind, 13
  br i1 %q.cr, label %closed.return, label %irregular
closed.return:
  %q.third.at = getelementptr i8, ptr %q.second, i64 1
  %q.third = load i8, ptr %q.third.at
  %q.crlf = icmp eq i8 %q.third, 10
  br i1 %q.crlf, label %strange.end, label %irregular

strange.end:                                               ; odd, where its number is wanted
  %o.end = phi ptr [ %s.at, %skipping ], [ %s.end, %skip.line ], [ %q.second, %closed ], [ %q.second, %closed.return ]
  %o.odd = phi i1 [ %wanted, %skipping ], [ %wanted, %skip.line ], [ %q.odd, %closed ], [ %q.odd, %closed.return ]
  br i1 %o.odd, label %note, label %field.end
note:
  %o.at = getelementptr [{ODD} x i64], ptr %odd, i64 %strange
  %o.field = getelementptr i64, ptr %o.at, i64 1
  %o.begin = getelementptr i64, ptr %o.at, i64 2
  %o.last = getelementptr i64, ptr %o.at, i64 3
  %o.end.long = ptrtoint ptr %o.end to i64
  %o.end.place = sub i64 %o.end.long, %text.begin
  store i64 %i, ptr %o.at
  store i64 %j, ptr %o.field
  store i64 %begin.place, ptr %o.begin
  store i64 %o.end.place, ptr %o.last
  br label %field.end

field.end:
  %f.end = phi ptr [ %a.at, %bare.end ], [ %o.end, %strange.end ], [ %o.end, %note ]
  %f.odd = phi i64 [ 0, %bare.end ], [ 0, %strange.end ], [ 1, %note ]
  %strange.next = add i64 %strange, %f.odd
  %f.long = ptrtoint ptr %f.end to i64
  %f.place = sub i64 %f.long, %text.begin
  %kept = icmp ne ptr %slices, null
  br i1 %kept, label %keep, label %field.kept
keep:
  %k.at = getelementptr [2 x i64], ptr %slices, i64 %i
  %k.end = getelementptr i64, ptr %k.at, i64 1
  store i64 %begin.place, ptr %k.at
  store i64 %f.place, ptr %k.end
  br label %field.kept

field.kept:
  %j.next = add i64 %j, 1
  %last = icmp eq i64 %j.next, %fields
  %f.c = load i8, ptr %f.end
  %f.separates = icmp eq i8 %f.c, %separator
  %at.next = getelementptr i8, ptr %f.end, i64 1
  br i1 %f.separates, label %field.next, label %line.end
field.next:
  br i1 %last, label %irregular, label %field
line.end:
  br i1 %last, label %row.end, label %irregular

row.end:
  %f.cr = icmp eq i8 %f.c, 13
  %f.return = zext i1 %f.cr to i64
  %row.next = getelementptr i8, ptr %at.next, i64 %f.return
  %p.at = getelementptr [2 x i64], ptr %places, i64 %i
  %p.end = getelementptr i64, ptr %p.at, i64 1
  store i64 %row.place, ptr %p.at
  store i64 %f.place, ptr %p.end
  %i.next = add i64 %i, 1
  br label %row

{ENDS}}}
"""
