"""The shortest decimal text of a double, as LLVM IR.

It is what Python's `repr` writes: of all decimals that read back to the double those with the fewest digits, of these the one
that is next to it, the even one of two (R. Giulietti, "The Schubfach way to render doubles", 2020). Its 17 digits are made eight
at a time in one word.
"""
from __future__ import annotations

NAME = 15
"""Bytes of the text for what is not finite, at most; a byte with their number follows."""


def spelled() -> str:
    """`@spelled`, which writes the text of a double at a place, with all that it needs."""
    return table() + EIGHT + SHORTEST + SPELLED


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


# ---------------------------------------------------------------- powers of ten

LOWEST, HIGHEST = -342, 324
"""The exponents of ten that doubles meet: read from 19 digits on, and as inverses of those they are written with."""
BITS = 128


def power(k: int) -> int:
    """10^k times the power of two that makes it BITS bits long, rounded up."""
    above, below = (10**k, 1) if k >= 0 else (1, 10**-k)
    shift = BITS - 1 - exponent(k)
    return -(-(above << max(0, shift)) // (below << max(0, -shift)))


def exponent(k: int) -> int:
    """⌊log2 10^k⌋ for |k| ≤ 1233, as native code has it too (`EXPONENT`)."""
    return k * 1741647 >> 19


def exponent_lines(name: str, k: str) -> str:
    """The exponent of a value, in native code."""
    return f"""\
  {name}.long = mul i64 {k}, 1741647
  {name} = ashr i64 {name}.long, 19"""


def table() -> str:
    """All powers as a constant of a module, from LOWEST on."""
    found = ", ".join(f"i{BITS} {power(k)}" for k in range(LOWEST, HIGHEST + 1))
    return f"@powers = private unnamed_addr constant [{HIGHEST - LOWEST + 1} x i{BITS}] [{found}]\n"


def power_lines(name: str, k: str) -> str:
    """The power of an exponent within the table: `name`.high and `name`.low, 64 bits each, as wide integers."""
    return f"""\
  {name}.place = sub i64 {k}, {LOWEST}
  {name}.at = getelementptr i{BITS}, ptr @powers, i64 {name}.place
  {name} = load i{BITS}, ptr {name}.at
  {name}.high = lshr i{BITS} {name}, 64
  {name}.low = and i{BITS} {name}, {(1 << 64) - 1}"""


SHORTEST = f"""
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
"""The function `shortest`: the whole number and the exponent of ten of the shortest decimal; the names are those of the paper,
whose numbers are in units of a quarter of the decimal place k."""
