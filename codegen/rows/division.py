"""Division by multiplication, with the bits of division: where the divider of a processor is what a loop waits for.

AVX-512 divides eight doubles in 16 cycles, and in these carries out 32 products, sums and fused ones. With r a reciprocal of the
divisor y, from a table of 14 bits and three steps of Newton,

    q = x·r,    x/y = q + (x − y·q)·r, rounded once

is the quotient as IEEE rounds it (Markstein, IBM J. Res. Dev. 34, 1990): x − y·q is exact where q is less than a unit off, else
it may lack its last bit, of 54; and r is so near to 1/y that no quotient, which is never nearer to the middle of two doubles than
2⁻⁵³ of their distance, falls on its wrong side: tests try all pairs of mantissas of few bits, and hard ones of 53. The one
divisor for which a step from below would end at the wrong reciprocal, the largest below a power of two, is why the second
step rounds upwards.

All that holds while nothing leaves the normal numbers: for |x| and |y| from 2⁻⁴⁰⁰ to 2⁴⁰⁰, or x = 0, which is usual where
derivatives cancel. A block with any other number in it is divided by the processor.
"""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from adcli.codegen.rows.instructions import Instructions, bits
from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.primitives import TABLE

DIV, SQRT = TABLE["div"], TABLE["sqrt"]
LEAST, MOST = 2.0 ** -400, 2.0 ** 400
"""Magnitudes between which no step of a division leaves the normal numbers."""
DIVISION, ROOT = 32, 48
"""How many instructions a processor carries out meanwhile."""
CALL = 40
"""Instructions of a function of the maths library."""
RECIPROCAL, QUOTIENT, CHECK = 15, 4, 5
"""Instructions of a reciprocal with the check of the divisor, of a quotient, and of the check of a dividend."""
REALS, WHOLES, TRUTHS = "<8 x double>", "<8 x i64>", "<8 x i1>"
MOST_CHOSEN = 8
"""Divisions that are multiplied out: each takes LLVM a millisecond or more, which a long program would wait for."""
WORTH = 0.95
"""The share of the time as counted below which it pays, since counts are no measurements."""
UPWARDS = 10
"""How AVX-512 is told to round towards +∞, and to raise no exception."""


def multiplied_out(equations: Sequence[Equation]) -> frozenset[Var]:
    """The results of those divisions that are better multiplied out, by counts: what costs least for what it saves first."""
    groups: defaultdict[Atom, list[Equation]] = defaultdict(list)
    waits = others = 0
    for e in equations:
        if e.op is DIV and suits(e):
            groups[e.args[1]].append(e)
        waits += DIVISION if e.op is DIV else ROOT if e.op is SQRT else 0
        others += 1 if e.op.llvm else CALL
    chosen: list[Equation] = []
    before = taken(waits, others)
    found = sorted(((*counted(y, group), group) for y, group in groups.items()), key=lambda part: part[1] / -part[0])
    for less, more, group in found:
        if len(chosen) + len(group) <= MOST_CHOSEN and taken(waits + less, others + more) < taken(waits, others):
            chosen += group
            waits, others = waits + less, others + more
    return frozenset(e.outs[0] for e in chosen if taken(waits, others) < WORTH * before)


def counted(divisor: Atom, group: Sequence[Equation]) -> tuple[int, int]:
    """By how much less the divider works, and by how much more the rest, where divisions by a divisor are multiplied out."""
    checks = sum(CHECK for e in group if isinstance(e.args[0], Var))
    return -DIVISION * len(group), QUOTIENT * len(group) + checks + (RECIPROCAL if isinstance(divisor, Var) else 0)


def taken(waits: float, others: float) -> float:
    """About how long a block takes in which the divider works so long and the rest so long, for the most part side by side."""
    return max(waits, others) + min(waits, others) / 3


def suits(e: Equation) -> bool:
    """Whether the constants of a division are such that it can be multiplied out, and that LLVM does not know better."""
    x, y = e.args
    power_of_two = isinstance(y, Lit) and abs(math.frexp(y.value)[0]) == 0.5
    return between(x) and between(y) and not power_of_two and not (isinstance(x, Lit) and isinstance(y, Lit))


def between(a: Atom) -> bool:
    return isinstance(a, Var) or LEAST <= abs(a.value) <= MOST


class Divisions:
    """Writes the divisions of one straight line of code that are multiplied out. Each ends a block of the text, which goes on in
    the block `here`; reciprocals and checks are made once for each operand."""

    def __init__(self, instructions: Instructions, chosen: frozenset[Var]) -> None:
        self.chosen, self.here, self.count = chosen, "block", 0
        self.constant = instructions.constant
        self.reciprocals: dict[Atom, str] = {}
        self.checks: dict[Atom, str] = {}
        self.zeros: dict[Atom, tuple[str, str]] = {}
        if chosen:
            for name, kinds in (("llvm.fma.v8f64", [REALS] * 3), ("llvm.copysign.v8f64", [REALS] * 2),
                                ("llvm.x86.avx512.rcp14.pd.512", [REALS, REALS, "i8"]),
                                ("llvm.x86.avx512.vfmadd.pd.512", [*[REALS] * 3, "i32"])):
                instructions.declared[name] = f"declare {REALS} @{name}({', '.join(kinds)})"

    def equation(self, e: Equation, args: Sequence[str], z: str) -> str:
        """The lines that divide, into `z`."""
        self.count += 1
        k, (x, y), (dividend, divisor) = self.count, e.args, args
        lines: list[str] = []
        r, q = self.reciprocal(lines, y, divisor), f"%quotient.{k}"
        lines += [
            f"  {q}.0 = fmul {REALS} {dividend}, {r}",
            f"  {q}.minus = fneg {REALS} {divisor}",
            fma(f"{q}.rest", f"{q}.minus", f"{q}.0", dividend),
            fma(f"{q}.1", f"{q}.rest", r, f"{q}.0")]
        found = f"{q}.1"
        holds = [self.check(lines, y, divisor)] if isinstance(y, Var) else []
        if isinstance(x, Var):
            within, zero = self.dividend(lines, x, dividend)
            holds.append(within)
            found = f"{q}.2"
            lines.append(f"  {found} = select {TRUTHS} {zero}, {REALS} {q}.0, {REALS} {q}.1")
        if len(holds) == 2:
            lines.append(f"  {q}.holds = and {TRUTHS} {holds[0]}, {holds[1]}")
        lines += [
            f"  {q}.bits = bitcast {TRUTHS} {holds[0] if len(holds) == 1 else f'{q}.holds'} to i8",
            f"  {q}.all = icmp eq i8 {q}.bits, -1",
            f"  br i1 {q}.all, label %divided.{k}, label %divide.{k}",
            f"divide.{k}:",
            f"  {q}.3 = fdiv {REALS} {dividend}, {divisor}",
            f"  br label %divided.{k}",
            f"divided.{k}:",
            f"  {z} = phi {REALS} [ {found}, %{self.here} ], [ {q}.3, %divide.{k} ]"]
        self.here = f"divided.{k}"
        return "\n".join(lines)

    def dividend(self, lines: list[str], x: Atom, text: str) -> tuple[str, str]:
        """Which numbers of a block can be divided, and which of them are zeros, whose own products have the right signs."""
        if x not in self.zeros:
            name, within = f"%zero.{len(self.zeros)}", self.check(lines, x, text)
            self.zeros[x] = f"{name}.or", name
            lines += [f"  {name} = fcmp oeq {REALS} {text}, {self.constant(0.0)}",
                      f"  {name}.or = or {TRUTHS} {within}, {name}"]
        return self.zeros[x]

    def check(self, lines: list[str], a: Atom, text: str) -> str:
        """Which numbers of a block are neither too small nor too large."""
        if a not in self.checks:
            name = self.checks[a] = f"%within.{len(self.checks)}"
            lines += [f"  {name}.bits = bitcast {REALS} {text} to {WHOLES}",
                      f"  {name}.size = and {WHOLES} {name}.bits, splat (i64 {(1 << 63) - 1})",
                      f"  {name}.above = sub {WHOLES} {name}.size, splat (i64 {int(bits(LEAST), 16)})",
                      f"  {name} = icmp ule {WHOLES} {name}.above, splat (i64 {int(bits(MOST), 16) - int(bits(LEAST), 16)})"]
        return self.checks[a]

    def reciprocal(self, lines: list[str], y: Atom, text: str) -> str:
        """1/y, to 2⁻⁵³ of itself."""
        if isinstance(y, Lit):
            return self.constant(1 / y.value)
        if y not in self.reciprocals:
            size = f"{self.check(lines, y, text)}.size"
            r, one = f"%reciprocal.{len(self.reciprocals)}", self.constant(1.0)
            lines += [f"  {r}.of = bitcast {WHOLES} {size} to {REALS}",
                      f"  {r}.minus = fneg {REALS} {r}.of",
                      f"  {r}.0 = call {REALS} @llvm.x86.avx512.rcp14.pd.512({REALS} {r}.of, {REALS} zeroinitializer, i8 -1)",
                      fma(f"{r}.e0", f"{r}.minus", f"{r}.0", one),
                      fma(f"{r}.1", f"{r}.0", f"{r}.e0", f"{r}.0"),
                      fma(f"{r}.e1", f"{r}.minus", f"{r}.1", one),
                      fma(f"{r}.2", f"{r}.1", f"{r}.e1", f"{r}.1", f", i32 {UPWARDS}"),
                      fma(f"{r}.e2", f"{r}.minus", f"{r}.2", one),
                      fma(f"{r}.3", f"{r}.2", f"{r}.e2", f"{r}.2"),
                      f"  {r} = call {REALS} @llvm.copysign.v8f64({REALS} {r}.3, {REALS} {text})"]
            self.reciprocals[y] = r
        return self.reciprocals[y]


def fma(z: str, a: str, b: str, c: str, rounding: str = "") -> str:
    """z = a·b + c, rounded as is said, or to the nearest."""
    symbol = "llvm.x86.avx512.vfmadd.pd.512" if rounding else "llvm.fma.v8f64"
    return f"  {z} = call {REALS} @{symbol}({REALS} {a}, {REALS} {b}, {REALS} {c}{rounding})"
