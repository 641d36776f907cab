"""Doubles to their shortest decimal texts, and rows of them between pieces of text.

A double is written as Python's `repr` writes it: of all decimals that read back to it those with the fewest digits, of these the
one that is next to it, the even one of two (R. Giulietti, "The Schubfach way to render doubles", 2020). Its 17 digits are made
eight at a time in one word. A row is a list of steps, each of which appends something to it.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from adcli.codegen.machine.kernel import EntryPoint, Kernel, NoExecutableMemory, pointers
from adcli.codegen.rows.compiled import same_for_all
from adcli.codegen.texts.json_numbers import WHOLE, automaton
from adcli.codegen.texts.powers import exponent_lines, power_lines, table

ROOM = 40
"""Bytes that a number may touch; its text has up to 24, as -2.2250738585072014e-308."""
NAME = 15
"""Bytes of the text for what is not finite, at most; a byte with their number follows."""
LITERAL, NUMBER, WORD, SLICE, VALUE = range(5)
"""What a step appends."""
STEP = 3
"""Words of a step: what it appends, and two addresses or sizes."""


class NumberSpelling(NamedTuple):
    """How numbers are written: the decimal mark, and the texts for NaN, infinity and -infinity, of up to NAME bytes; and which
    decimal mark those have that stand in fields."""

    point: bytes = b"."
    names: tuple[bytes, bytes, bytes] = (b"nan", b"inf", b"-inf")
    mark: bytes = b"."


class WordColumn(NamedTuple):
    """A column of words: for each row the number of its word, as a double."""

    numbers: np.ndarray
    words: Sequence[bytes]


class TextColumn(NamedTuple):
    """A column of texts that stand in one text: for each row the begin and the end, as 64-bit integers."""

    text: bytes
    places: np.ndarray


class FieldColumn(NamedTuple):
    """A column of fields of a table, which stand in one text, with their quotes; they are written as values of JSON: numbers as
    they are, but with a point, anything else as a string. No control character may be in them."""

    text: bytes
    places: np.ndarray


Column = np.ndarray | WordColumn | TextColumn | FieldColumn
"""What stands in each row: a number (contiguous, float64), a word, a text or a field."""


class Step(NamedTuple):
    """What is appended, what it needs in memory, the size that may follow, and how many bytes it makes of all rows at most."""

    kind: int
    held: tuple[np.ndarray, ...]
    size: int
    most: int


def filled(kernel: Kernel, rows: int, pieces: Sequence[bytes | Column], spelling: NumberSpelling) -> bytes:
    """The text of rows, each of which has the pieces and the columns in this order; the kernel is that of `writer`."""
    steps = [step(piece, rows) for piece in pieces]
    plan = np.zeros((len(steps), STEP), np.int64)
    for s, words in zip(steps, plan, strict=True):
        words[:] = [s.kind, *(array.ctypes.data for array in s.held[:2]), *[s.size] * (len(s.held) < 2)]
    names = np.frombuffer(b"".join(n.ljust(NAME, b"\0") + bytes([len(n)]) for n in spelling.names), np.uint8)
    given = np.array([len(steps), ord(spelling.point), ord(spelling.mark)])
    made, size = np.empty(sum(s.most for s in steps) + ROOM, np.uint8), np.zeros(1, np.int64)
    kernel(pointers([a.ctypes.data for a in (plan, given, names)]), pointers([a.ctypes.data for a in (made, size)]), 0, rows)
    return made[:size[0]].tobytes()


def step(piece: bytes | Column, rows: int) -> Step:
    """What is done for a piece of each row."""
    if isinstance(piece, bytes):
        return Step(LITERAL, (np.frombuffer(piece, np.uint8),), len(piece), rows * len(piece))
    if isinstance(piece, WordColumn):
        texts = [np.frombuffer(word, np.uint8) for word in piece.words]
        places = np.array([[t.ctypes.data, len(t)] for t in texts])
        return Step(WORD, (piece.numbers, places, *texts), 0, rows * max(map(len, texts)))
    if isinstance(piece, TextColumn | FieldColumn):
        size = int((piece.places[:, 1] - piece.places[:, 0]).sum())
        held = piece.places, np.frombuffer(piece.text, np.uint8)
        return Step(SLICE, held, 0, size) if isinstance(piece, TextColumn) else Step(VALUE, held, 0, 2 * (size + rows))
    return Step(NUMBER, (piece,), 0, rows * ROOM)


@cache
def writer(keep: bool = True) -> Kernel:
    """The code that `filled` runs. `keep`: it may come from the compile cache and go there. NoExecutableMemory where the system
    runs no code of ours, or bytes lie in words the other way round."""
    if sys.byteorder == "big":
        raise NoExecutableMemory

    return same_for_all("texts of doubles", EntryPoint("fill", 1, 0, 3, 2, ()), text, keep)


# ---------------------------------------------------------------- as LLVM IR

def text() -> str:
    """The code as an LLVM module, with the entry that `adcli.codegen.rows.llvm` describes: of the plan, what is given and the
    names it makes the text and its size."""
    return table() + EIGHT + shortest() + SPELLED + automaton() + VALUED + FILL


ASCII = 0x3030303030303030
"""Eight times the digit 0."""

EIGHT = """
; A whole number below 10^8 as eight digits of a byte each, the first one lowest: cut into halves, each of these again, and again.
define private i64 @eight(i64 %n) {
  %upper = udiv i64 %n, 10000
  %lower = urem i64 %n, 10000
  %lower.up = shl i64 %lower, 32
  %fours = or i64 %upper, %lower.up
  %fours.many = mul i64 %fours, 10486                      ; 2^20/100, rounded up
  %fours.cut = lshr i64 %fours.many, 20
  %hundreds = and i64 %fours.cut, 545460846719             ; 0x7f of every 32 bits
  %hundreds.whole = mul i64 %hundreds, 100
  %rest = sub i64 %fours, %hundreds.whole
  %rest.up = shl i64 %rest, 16
  %twos = or i64 %hundreds, %rest.up
  %twos.many = mul i64 %twos, 103                          ; 2^10/10, rounded up
  %twos.cut = lshr i64 %twos.many, 10
  %tens = and i64 %twos.cut, 4222189076152335              ; 0xf of every 16 bits
  %tens.whole = mul i64 %tens, 10
  %ones = sub i64 %twos, %tens.whole
  %ones.up = shl i64 %ones, 8
  %digits = or i64 %tens, %ones.up
  ret i64 %digits
}
"""


def shortest() -> str:
    """The whole number and the exponent of ten of the shortest decimal; the names are those of the paper, whose numbers are in
    units of a quarter of the decimal place k."""
    return f"""
; The product of a power of ten and a whole number, its last bit set where anything was cut off.
define private i64 @odd_product(i128 %high, i128 %low, i64 %n) {{
  %wide = zext i64 %n to i128
  %below = mul i128 %low, %wide
  %carry = lshr i128 %below, 64
  %above = mul i128 %high, %wide
  %sum = add i128 %above, %carry
  %top = lshr i128 %sum, 64
  %whole = trunc i128 %top to i64
  %cut = trunc i128 %sum to i64
  %some = icmp ugt i64 %cut, 1                             ; the power is rounded up, by less than this
  %sticky = zext i1 %some to i64
  %odd = or i64 %whole, %sticky
  ret i64 %odd
}}

define private {{ i64, i64 }} @shortest(i64 %biased, i64 %fraction) {{
  %normal = icmp ne i64 %biased, 0
  %one = zext i1 %normal to i64
  %leading = shl i64 %one, 52
  %c = or i64 %fraction, %leading
  %raised = sub i64 %biased, %one
  %q = sub i64 %raised, 1074
  %power = icmp eq i64 %fraction, 0
  %above.least = icmp ugt i64 %biased, 1
  %closer = and i1 %power, %above.least                    ; the double below is half as far away as that above
  %uneven = trunc i64 %c to i1
  ; k: the place of the last digit that can be needed, ⌊log10 2^q⌋, or of ¾ 2^q
  %q.long = mul i64 %q, 1262611
  %less = select i1 %closer, i64 524031, i64 0
  %q.less = sub i64 %q.long, %less
  %k = ashr i64 %q.less, 22
  %up = sub i64 0, %k
{power_lines("%g", "%up")}
{exponent_lines("%log", "%up")}
  %q.log = add i64 %q, %log
  %h = add i64 %q.log, 1
  ; the double and the borders of what reads back to it
  %cb = shl i64 %c, 2
  %down = select i1 %closer, i64 1, i64 2
  %cbl = sub i64 %cb, %down
  %cbr = add i64 %cb, 2
  %cb.h = shl i64 %cb, %h
  %cbl.h = shl i64 %cbl, %h
  %cbr.h = shl i64 %cbr, %h
  %vb = call i64 @odd_product(i128 %g.high, i128 %g.low, i64 %cb.h)
  %vbl = call i64 @odd_product(i128 %g.high, i128 %g.low, i64 %cbl.h)
  %vbr = call i64 @odd_product(i128 %g.high, i128 %g.low, i64 %cbr.h)
  %outside = zext i1 %uneven to i64                        ; a border itself reads back to an even number
  %lower = add i64 %vbl, %outside
  %upper = sub i64 %vbr, %outside
  ; one digit less: is exactly one of the two neighbours inside?
  %s = lshr i64 %vb, 2
  %s10 = udiv i64 %s, 10
  %u10 = mul i64 %s10, 40
  %w10 = add i64 %u10, 40
  %u10.in = icmp ule i64 %lower, %u10
  %w10.in = icmp ule i64 %w10, %upper
  %fewer = xor i1 %u10.in, %w10.in
  ; else: is exactly one inside, or which one is nearer?
  %u = shl i64 %s, 2
  %w = add i64 %u, 4
  %u.in = icmp ule i64 %lower, %u
  %w.in = icmp ule i64 %w, %upper
  %differ = xor i1 %u.in, %w.in
  %middle = add i64 %u, 2
  %over = icmp ugt i64 %vb, %middle
  %half = icmp eq i64 %vb, %middle
  %s.uneven = trunc i64 %s to i1
  %to.even = and i1 %half, %s.uneven
  %nearer = or i1 %over, %to.even
  %next = select i1 %differ, i1 %w.in, i1 %nearer
  %add = zext i1 %next to i64
  %add10 = zext i1 %w10.in to i64
  %s.new = add i64 %s, %add
  %s10.new = add i64 %s10, %add10
  %found = select i1 %fewer, i64 %s10.new, i64 %s.new
  %place = zext i1 %fewer to i64
  %ten = add i64 %k, %place
  %both = insertvalue {{ i64, i64 }} undef, i64 %found, 0
  %all = insertvalue {{ i64, i64 }} %both, i64 %ten, 1
  ret {{ i64, i64 }} %all
}}
"""


SPELLED = f"""
; The text of a double at a place; the place behind it.
define private ptr @spelled(ptr %at, double %x, i8 %point, ptr %names) {{
  %bits = bitcast double %x to i64
  %magnitude = and i64 %bits, {(1 << 63) - 1}
  %biased = lshr i64 %magnitude, 52
  %fraction = and i64 %bits, {(1 << 52) - 1}
  %negative = icmp slt i64 %bits, 0
  %sign = zext i1 %negative to i64
  %special = icmp eq i64 %biased, 2047
  br i1 %special, label %named, label %finite

named:
  %infinite = icmp eq i64 %fraction, 0
  %which = add i64 %sign, 1
  %number = select i1 %infinite, i64 %which, i64 0
  %name = getelementptr [{NAME + 1} x i8], ptr %names, i64 %number
  %name.text = load i128, ptr %name, align 1
  store i128 %name.text, ptr %at, align 1
  %size.at = getelementptr i8, ptr %name, i64 {NAME}
  %size = load i8, ptr %size.at
  %size.long = zext i8 %size to i64
  %name.end = getelementptr i8, ptr %at, i64 %size.long
  ret ptr %name.end

finite:
  store i8 45, ptr %at                                     ; a minus, which a digit replaces where there is none
  %start = getelementptr i8, ptr %at, i64 %sign
  %zero = icmp eq i64 %magnitude, 0
  br i1 %zero, label %laid, label %digits

digits:
  %decimal = call {{ i64, i64 }} @shortest(i64 %biased, i64 %fraction)
  %found = extractvalue {{ i64, i64 }} %decimal, 0
  %ten = extractvalue {{ i64, i64 }} %decimal, 1
  br label %widen

widen:                                                     ; to 17 digits
  %wide = phi i64 [ %found, %digits ], [ %wider, %more ]
  %place = phi i64 [ %ten, %digits ], [ %lower.place, %more ]
  %full = icmp uge i64 %wide, {10**16}
  br i1 %full, label %laid, label %more

more:
  %wider = mul i64 %wide, 10
  %lower.place = sub i64 %place, 1
  br label %widen

laid:
  %all = phi i64 [ 0, %finite ], [ %wide, %widen ]
  %last = phi i64 [ -16, %finite ], [ %place, %widen ]
  %exponent = add i64 %last, 16                            ; of the first digit
  %first = udiv i64 %all, {10**16}
  %rest = urem i64 %all, {10**16}
  %upper = udiv i64 %rest, {10**8}
  %lower = urem i64 %rest, {10**8}
  %upper.digits = call i64 @eight(i64 %upper)
  %lower.digits = call i64 @eight(i64 %lower)
  ; how many digits there are up to the last one that is not 0
  %upper.free = call i64 @llvm.ctlz.i64(i64 %upper.digits, i1 false)
  %lower.free = call i64 @llvm.ctlz.i64(i64 %lower.digits, i1 false)
  %upper.zeros = lshr i64 %upper.free, 3
  %lower.zeros = lshr i64 %lower.free, 3
  %count.upper = sub i64 9, %upper.zeros
  %count.lower = sub i64 17, %lower.zeros
  %short = icmp eq i64 %lower, 0
  %count = select i1 %short, i64 %count.upper, i64 %count.lower
  ; the first digit and the 16 others as text
  %first.byte = trunc i64 %first to i8
  %first.text = or i8 %first.byte, 48
  %upper.text = or i64 %upper.digits, {ASCII}
  %lower.text = or i64 %lower.digits, {ASCII}
  %upper.long = zext i64 %upper.text to i128
  %lower.long = zext i64 %lower.text to i128
  %lower.up = shl i128 %lower.long, 64
  %others = or i128 %upper.long, %lower.up
  %second = getelementptr i8, ptr %start, i64 1
  %point.free = getelementptr i8, ptr %start, i64 2
  %is.large = icmp ult i64 %exponent, 16                   ; 1 to 9999999999999998
  %above = add i64 %exponent, 4
  %is.small = icmp ult i64 %above, 4                       ; 0.0001 to 0.9999999999999999
  br i1 %is.large, label %large, label %below

below:
  br i1 %is.small, label %small, label %exponential

large:
  store i8 %first.text, ptr %start
  store i128 %others, ptr %second, align 1
  %cut = getelementptr i8, ptr %second, i64 %exponent
  %behind = getelementptr i8, ptr %cut, i64 1
  %moved = load i128, ptr %cut, align 1
  store i128 %moved, ptr %behind, align 1
  store i8 %point, ptr %cut
  %least = add i64 %exponent, 2                            ; a digit behind the point
  %enough = icmp ugt i64 %count, %least
  %shown = select i1 %enough, i64 %count, i64 %least
  %large.size = add i64 %shown, 1
  %large.end = getelementptr i8, ptr %start, i64 %large.size
  ret ptr %large.end

small:
  store i64 {ASCII}, ptr %start, align 1
  store i8 %point, ptr %second
  %lead = sub i64 1, %exponent
  %from = getelementptr i8, ptr %start, i64 %lead
  %from.second = getelementptr i8, ptr %from, i64 1
  store i8 %first.text, ptr %from
  store i128 %others, ptr %from.second, align 1
  %small.end = getelementptr i8, ptr %from, i64 %count
  ret ptr %small.end

exponential:
  store i8 %first.text, ptr %start
  store i8 %point, ptr %second
  store i128 %others, ptr %point.free, align 1
  %alone = icmp eq i64 %count, 1
  %pointed = zext i1 %alone to i64
  %with.point = add i64 %count, 1
  %mantissa.size = sub i64 %with.point, %pointed
  %e = getelementptr i8, ptr %start, i64 %mantissa.size
  store i8 101, ptr %e
  %e.sign = getelementptr i8, ptr %e, i64 1
  %e.negative = icmp slt i64 %exponent, 0
  %e.text = select i1 %e.negative, i8 45, i8 43
  store i8 %e.text, ptr %e.sign
  %e.opposite = sub i64 0, %exponent
  %e.size = select i1 %e.negative, i64 %e.opposite, i64 %exponent
  %e.hundreds = udiv i64 %e.size, 100
  %e.rest = urem i64 %e.size, 100
  %e.tens = udiv i64 %e.rest, 10
  %e.ones = urem i64 %e.rest, 10
  %e.three = icmp ne i64 %e.hundreds, 0
  %e.more = zext i1 %e.three to i64
  %e.at = getelementptr i8, ptr %e, i64 2
  %e.tens.at = getelementptr i8, ptr %e.at, i64 %e.more
  %e.ones.at = getelementptr i8, ptr %e.tens.at, i64 1
  %e.end = getelementptr i8, ptr %e.tens.at, i64 2
  %e.hundreds.byte = trunc i64 %e.hundreds to i8
  %e.tens.byte = trunc i64 %e.tens to i8
  %e.ones.byte = trunc i64 %e.ones to i8
  %e.hundreds.text = or i8 %e.hundreds.byte, 48
  %e.tens.text = or i8 %e.tens.byte, 48
  %e.ones.text = or i8 %e.ones.byte, 48
  store i8 %e.hundreds.text, ptr %e.at
  store i8 %e.tens.text, ptr %e.tens.at
  store i8 %e.ones.text, ptr %e.ones.at
  ret ptr %e.end
}}

declare i64 @llvm.ctlz.i64(i64, i1)
"""


VALUED = f"""
; A field as a value of JSON at a place; the place behind it.
define private ptr @valued(ptr %at, ptr %from, i64 %size, i8 %mark) {{
entry:
  %first = load i8, ptr %from
  %some = icmp ne i64 %size, 0
  %mark.first = icmp eq i8 %first, 34
  %quoted = and i1 %some, %mark.first
  %off = zext i1 %quoted to i64
  %both = shl i64 %off, 1
  %begin = getelementptr i8, ptr %from, i64 %off
  %inner = sub i64 %size, %both
  %stop = getelementptr i8, ptr %begin, i64 %inner
  br label %look

look:                                                      ; is it a number?
  %p = phi ptr [ %begin, %entry ], [ %p.next, %character ]
  %state = phi i8 [ 0, %entry ], [ %state.next, %character ]
  %over = icmp eq ptr %p, %stop
  br i1 %over, label %seen, label %character

character:
  %c = load i8, ptr %p
  %is.mark = icmp eq i8 %c, %mark
  %is.point = icmp eq i8 %c, 46
  %other = select i1 %is.point, i8 0, i8 %c
  %shown = select i1 %is.mark, i8 46, i8 %other
  %class.place = zext i8 %shown to i64
  %class.at = getelementptr i8, ptr @classes, i64 %class.place
  %class = load i8, ptr %class.at
  %row = shl i8 %state, 3
  %entry.place = or i8 %row, %class
  %entry.long = zext i8 %entry.place to i64
  %state.at = getelementptr i8, ptr @after, i64 %entry.long
  %state.next = load i8, ptr %state.at
  %p.next = getelementptr i8, ptr %p, i64 1
  br label %look

seen:
  %state.long = zext i8 %state to i64
  %accepted = lshr i64 {WHOLE}, %state.long
  %number = trunc i64 %accepted to i1
  br i1 %number, label %copy, label %string

copy:
  %n = phi ptr [ %begin, %seen ], [ %n.next, %copy ]
  %n.to = phi ptr [ %at, %seen ], [ %n.to.next, %copy ]
  %n.c = load i8, ptr %n
  %n.mark = icmp eq i8 %n.c, %mark
  %n.shown = select i1 %n.mark, i8 46, i8 %n.c
  store i8 %n.shown, ptr %n.to
  %n.next = getelementptr i8, ptr %n, i64 1
  %n.to.next = getelementptr i8, ptr %n.to, i64 1
  %n.over = icmp eq ptr %n.next, %stop
  br i1 %n.over, label %copied, label %copy
copied:
  ret ptr %n.to.next

string:
  store i8 34, ptr %at
  %inside = getelementptr i8, ptr %at, i64 1
  br label %letter

letter:
  %s = phi ptr [ %begin, %string ], [ %s.next, %written ]
  %to = phi ptr [ %inside, %string ], [ %to.next, %written ]
  %s.over = icmp eq ptr %s, %stop
  br i1 %s.over, label %close, label %write

write:
  %s.c = load i8, ptr %s
  %s.quote = icmp eq i8 %s.c, 34
  %s.slash = icmp eq i8 %s.c, 92
  %escape = or i1 %s.quote, %s.slash
  %double = and i1 %s.quote, %quoted                        ; two of them stand for one
  store i8 92, ptr %to                                     ; a backslash, which the character replaces where it needs none
  %escape.size = zext i1 %escape to i64
  %escaped = getelementptr i8, ptr %to, i64 %escape.size
  store i8 %s.c, ptr %escaped
  %double.size = zext i1 %double to i64
  %s.last = getelementptr i8, ptr %s, i64 %double.size
  br label %written
written:
  %to.next = getelementptr i8, ptr %escaped, i64 1
  %s.next = getelementptr i8, ptr %s.last, i64 1
  br label %letter

close:
  store i8 34, ptr %to
  %end = getelementptr i8, ptr %to, i64 1
  ret ptr %end
}}
"""


FILL = f"""
define void @fill(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {{
entry:
  %given.slot = getelementptr ptr, ptr %in, i64 1
  %names.slot = getelementptr ptr, ptr %in, i64 2
  %size.slot = getelementptr ptr, ptr %out, i64 1
  %plan = load ptr, ptr %in
  %given = load ptr, ptr %given.slot
  %names = load ptr, ptr %names.slot
  %text = load ptr, ptr %out
  %size.at = load ptr, ptr %size.slot
  %count = load i64, ptr %given
  %point.at = getelementptr i64, ptr %given, i64 1
  %point.long = load i64, ptr %point.at
  %point = trunc i64 %point.long to i8
  %mark.at = getelementptr i64, ptr %given, i64 2
  %mark.long = load i64, ptr %mark.at
  %mark = trunc i64 %mark.long to i8
  br label %row

row:
  %i = phi i64 [ %begin, %entry ], [ %i.next, %row.end ]
  %row.at = phi ptr [ %text, %entry ], [ %at, %row.end ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %step, label %exit

step:
  %j = phi i64 [ 0, %row ], [ %j.next, %appended ]
  %at = phi ptr [ %row.at, %row ], [ %behind, %appended ]
  %some = icmp slt i64 %j, %count
  br i1 %some, label %do, label %row.end

row.end:
  %i.next = add i64 %i, 1
  br label %row

do:
  %step.at = getelementptr [{STEP} x i64], ptr %plan, i64 %j
  %first.at = getelementptr i64, ptr %step.at, i64 1
  %second.at = getelementptr i64, ptr %step.at, i64 2
  %kind = load i64, ptr %step.at
  %first = load ptr, ptr %first.at
  %second = load i64, ptr %second.at
  switch i64 %kind, label %literal [ i64 {NUMBER}, label %number  i64 {WORD}, label %word
                                     i64 {SLICE}, label %slice  i64 {VALUE}, label %slice ]

number:
  %x.at = getelementptr double, ptr %first, i64 %i
  %x = load double, ptr %x.at
  %number.end = call ptr @spelled(ptr %at, double %x, i8 %point, ptr %names)
  br label %appended

literal:
  br label %copy

word:
  %which.at = getelementptr double, ptr %first, i64 %i
  %which = load double, ptr %which.at
  %which.whole = fptosi double %which to i64
  %words = inttoptr i64 %second to ptr
  %word.at = getelementptr [2 x i64], ptr %words, i64 %which.whole
  %word.size.at = getelementptr i64, ptr %word.at, i64 1
  %word.from = load ptr, ptr %word.at
  %word.size = load i64, ptr %word.size.at
  br label %copy

slice:
  %slice.at = getelementptr [2 x i64], ptr %first, i64 %i
  %slice.end.at = getelementptr i64, ptr %slice.at, i64 1
  %slice.begin = load i64, ptr %slice.at
  %slice.end = load i64, ptr %slice.end.at
  %slice.size = sub i64 %slice.end, %slice.begin
  %source = inttoptr i64 %second to ptr
  %slice.from = getelementptr i8, ptr %source, i64 %slice.begin
  %is.value = icmp eq i64 %kind, {VALUE}
  br i1 %is.value, label %value, label %copy

value:
  %value.end = call ptr @valued(ptr %at, ptr %slice.from, i64 %slice.size, i8 %mark)
  br label %appended

copy:
  %from = phi ptr [ %first, %literal ], [ %word.from, %word ], [ %slice.from, %slice ]
  %size = phi i64 [ %second, %literal ], [ %word.size, %word ], [ %slice.size, %slice ]
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %from, i64 %size, i1 false)
  %copied = getelementptr i8, ptr %at, i64 %size
  br label %appended

appended:
  %behind = phi ptr [ %number.end, %number ], [ %value.end, %value ], [ %copied, %copy ]
  %j.next = add i64 %j, 1
  br label %step

exit:
  %text.begin = ptrtoint ptr %text to i64
  %text.end = ptrtoint ptr %row.at to i64
  %written = sub i64 %text.end, %text.begin
  store i64 %written, ptr %size.at
  ret void
}}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
