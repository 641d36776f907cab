"""Instruction selection for operations: an LLVM instruction, an intrinsic, or a call of a maths library.

Rows that have none of these are compositions, which `expand` has written out before. Loops over rows and loop nests use the same
`Instructions`, so an operation has the same bits in both. Nothing licenses LLVM to change a rounding, unless `fast` is asked for.
"""
from __future__ import annotations

import math
import struct

from adcli.codegen.machine import veclib
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.platforms import FLUSHING, flushed
from adcli.lang.ir import Atom, Lit, Primitive
from adcli.lang.ir.primitives import max_, min_, select
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.simplify.simplify import simplify

DEFINITIONS = {
    "fmax": lambda x, y: select(y != y, x, select(x != x, y, max_(x, y))),
    "fmin": lambda x, y: select(y != y, x, select(x != x, y, min_(x, y))),
}
"""libm leaves the sign of fmax(-0, +0) open; this does not, and is vector code on every machine."""

FAST = " contract arcp"
"""Licence of arithmetic with --fast-math; NaN, infinities and signs of zero keep their meaning."""
STACK_ALIGNMENT = 16
"""Bytes to which every caller aligns the stack."""


class Instructions:
    """Operations on `lanes` values at a time, and what they need beside them.

    `declared` has the declaration of each function that is called, `helpers` the text of functions of our own, `externals`
    the functions of maths libraries. With one lane every value is a plain number of the `precision`, whose type is `scalar`, and
    only libm is called. On the architecture `flushing`, if any, numbers below the least normal one are 0 in code that is called
    so.
    """

    def __init__(self, lanes: int, library: veclib.Library, fast: bool = False, precision: Precision = DOUBLE,
                 flushing: str = "") -> None:
        self.lanes, self.library, self.licence, self.flushing = lanes, library, FAST if fast else "", flushing
        self.precision, self.scalar, self.size = precision, precision.type, precision.bytes
        self.bits = f"i{8 * self.size}"
        self.real, self.truth, self.mask = (vector(scalar, lanes) for scalar in (self.scalar, "i1", self.bits))
        self.wide = library.wide and lanes * self.size == 64
        self.templates: dict[Primitive, str] = {}
        self.declared: dict[str, str] = {}
        self.helpers: dict[str, list[str]] = {}
        self.externals: set[str] = set()

    def template(self, op: Primitive) -> str:
        """The line of an operation, with places for its operands {0}, {1}, … and its result {z}; declares what it calls."""
        found = self.templates.get(op)
        if found is None:
            found = self.templates[op] = self.line(op)
        return found

    def line(self, op: Primitive) -> str:
        r, t, true = self.real, self.truth, "true" if self.lanes == 1 else "splat (i1 true)"
        match (op.llvm or "libm").split():
            case ["powi"]:
                return self.call(self.powers(), op.arity)
            case ["libm"]:
                return self.call(self.table_sum(op) if isinstance(op, TableSum) else self.libm(op), op.arity)
            case ["select"]:
                return f"  {{z}} = select {t} {{0}}, {r} {{1}}, {r} {{2}}"
            case ["fneg"]:
                return f"  {{z}} = fneg {r} {{0}}"
            case ["xor", "true"]:
                return f"  {{z}} = xor {t} {{0}}, {true}"
            case ["and" | "or" as name]:
                return f"  {{z}} = {name} {t} {{0}}, {{1}}"
            case [name] if name.startswith("llvm."):
                return self.call(self.intrinsic(name, op.arity), op.arity)
            case ["fadd" | "fsub" | "fmul" | "fdiv" as name]:
                return f"  {{z}} = {name}{self.licence} {r} {{0}}, {{1}}"
            case words:
                return f"  {{z}} = {' '.join(words)} {r} {{0}}, {{1}}"

    def call(self, symbol: str, arity: int) -> str:
        arguments = ", ".join(f"{self.real} {{{i}}}" for i in range(arity))
        return f"  {{z}} = call {self.real} @{symbol}({arguments})"

    def flushed(self, call: str, name: str, flushes: bool = True) -> list[str]:
        """The lines of a call with numbers below the least normal one as 0, or with all of them; as it is where none are flushed
        anywhere. Values of theirs begin with this name."""
        if not self.flushing:
            return [f"  {call}"]
        self.declared |= FLUSHING[self.flushing].declared
        return flushed(call, self.flushing, name, flushes)

    def intrinsic(self, name: str, arity: int) -> str:
        """The symbol of LLVM's intrinsic `name` on these values."""
        return self.declare(f"{name}.{suffix(self.scalar, self.lanes)}", self.real, arity)

    def libm(self, op: Primitive) -> str:
        """The function that computes a libm row on a whole block."""
        if op.libm is None:
            raise ValueError(f"{op.name} has neither an instruction nor a libm symbol nor a composition")
        function = op.libm + self.precision.suffix
        if self.lanes == 1:
            return self.external(function, op.arity)
        symbol = self.library.symbol(function, op.arity, self.lanes, self.size)
        return self.external(symbol, op.arity) if symbol else self.lane_by_lane(function, op.arity)

    def external(self, symbol: str, arity: int) -> str:
        self.externals.add(symbol)
        return self.declare(symbol, self.real, arity)

    def declare(self, symbol: str, kind: str, arity: int) -> str:
        self.declared[symbol] = f"declare {kind} @{symbol}({', '.join([kind] * arity)})"
        return symbol

    def lane_by_lane(self, function: str, arity: int) -> str:
        """A helper that calls the scalar function for each lane."""
        symbol, arguments = f"lanes.{function}", range(arity)
        self.externals.add(function)
        self.declare(function, self.scalar, arity)
        lines = [f"define internal {self.real} @{symbol}({', '.join(f'{self.real} %x{a}' for a in arguments)})"
                 f"{self.stack} {{"]
        for i in range(self.lanes):
            lines += [f"  %x{a}.{i} = extractelement {self.real} %x{a}, i32 {i}" for a in arguments]
            lines += [f"  %y{i} = call {self.scalar} @{function}({', '.join(f'{self.scalar} %x{a}.{i}' for a in arguments)})",
                      f"  %z{i} = insertelement {self.real} {f'%z{i - 1}' if i else 'poison'}, {self.scalar} %y{i}, i32 {i}"]
        self.helpers[symbol] = [*lines, f"  ret {self.real} %z{self.lanes - 1}", "}", ""]
        return symbol

    def powers(self) -> str:
        """A helper that multiplies as many factors as an exponent says, in each lane: until all have theirs, or from one to the
        next nothing changes but the sign."""
        lanes, truth = self.lanes, self.truth
        some = f"or {truth} %more, %more"
        if lanes > 1:
            name = f"llvm.vector.reduce.or.v{lanes}i1"
            self.declared[name] = f"declare i1 @{name}({truth})"
            some = f"call i1 @{name}({truth} %more)"
        symbols = {name: self.intrinsic(f"llvm.{name}", arity) for name, arity in (("fabs", 1), ("floor", 1), ("copysign", 2))}
        zero, half, one = (self.constant(x) for x in (0.0, 0.5, 1.0))
        self.helpers[f"powers.{lanes}"] = POWERS.format(
            lanes=lanes, r=self.real, t=truth, stack=self.stack, some=some, zero=zero, half=half, one=one, **symbols).split("\n")
        return f"powers.{lanes}"

    def table_sum(self, op: TableSum) -> str:
        """A helper that goes over the rows of a table and adds up terms."""
        symbol, lanes, count = f"sums.{op.name}.{self.lanes}", self.lanes, len(op.table)
        if symbol in self.helpers:
            return symbol
        op.require_digits(self.precision.name)
        term = simplify(expand(op.term, DEFINITIONS))
        columns, arguments = term.params[:len(op.table[0])], term.params[len(op.table[0]):]
        values: dict[Atom, str] = {p.var: f"%{p.name}" for p in term.params}
        lines = []
        for j in range(len(columns)):
            one = f"%c{j}" if lanes == 1 else f"%c{j}.one"
            lines += [f"  %c{j}.at = getelementptr [{len(columns)} x {self.scalar}], ptr @{symbol}.table, i64 %k, i64 {j}",
                      f"  {one} = load {self.scalar}, ptr %c{j}.at"]
            if lanes > 1:
                lines += [f"  %c{j}.first = insertelement {self.real} poison, {self.scalar} {one}, i32 0",
                          f"  %c{j} = shufflevector {self.real} %c{j}.first, {self.real} poison, <{lanes} x i32> zeroinitializer"]
        for k, e in enumerate(term.equations):
            values[e.outs[0]] = f"%v{k}"
            args = [self.constant(a.value) if isinstance(a, Lit) else values[a] for a in e.args]
            lines.append(self.template(e.op).format(*args, z=f"%v{k}"))
        rows = ", ".join(f"[{len(row)} x {self.scalar}] [{', '.join(f'{self.scalar} {self.number(x)}' for x in row)}]"
                         for row in op.table)
        self.helpers[symbol] = TABLE_SUM.format(
            symbol=symbol, rows=rows, row=f"[{len(columns)} x {self.scalar}]", count=count, r=self.real, stack=self.stack,
            arguments=", ".join(f"{self.real} %{p.name}" for p in arguments), zero=self.constant(0.0), licence=self.licence,
            body="\n".join(lines), term=values[term.results[0].atom]).split("\n")
        return symbol

    def constant(self, value: float) -> str:
        text = self.number(value)
        return text if self.lanes == 1 else f"splat ({self.scalar} {text})"

    def number(self, value: float) -> str:
        """A constant in one lane, rounded to the precision. AdError where that has no number near it."""
        return bits(self.precision.nearest(value))

    @property
    def stack(self) -> str:
        """The attribute of functions that such values wait in."""
        return stack(self.lanes * self.size)

    def declarations(self) -> list[str]:
        lines = [self.declared[symbol] for symbol in sorted(self.declared)]
        return ["", *lines, "", *(line for symbol in sorted(self.helpers) for line in self.helpers[symbol])]


def bits(value: float) -> str:
    """A double as LLVM writes it, exactly."""
    return "0x7FF8000000000000" if math.isnan(value) else f"0x{struct.pack('>d', value).hex().upper()}"


def vector(scalar: str, lanes: int) -> str:
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def suffix(scalar: str, lanes: int) -> str:
    """The suffix of an intrinsic on such values."""
    kind = "f64" if scalar == "double" else "f32"
    return kind if lanes == 1 else f"v{lanes}{kind}"


def stack(size: int) -> str:
    """The attribute by which values of `size` bytes that wait on the stack, as all do during a call, lie on whole cache lines:
    LLVM finds out what has to wait when it is too late to align the stack."""
    return f" alignstack({size})" if size > STACK_ALIGNMENT else ""


TABLE_SUM = """\
@{symbol}.table = internal constant [{count} x {row}] [{rows}]
define internal {r} @{symbol}({arguments}){stack} {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi {r} [ {zero}, %entry ], [ %sum, %loop ]
{body}
  %sum = fadd{licence} {r} %total, {term}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  ret {r} %sum
}}
"""
POWERS = """\
define internal {r} @powers.{lanes}({r} %x, {r} %n){stack} {{
entry:
  %size = call {r} @{fabs}({r} %n)
  %first = fcmp olt {r} {zero}, %size
  br label %loop
loop:
  %more = phi {t} [ %first, %entry ], [ %further, %factor ]
  %k = phi {r} [ {zero}, %entry ], [ %count, %factor ]
  %z = phi {r} [ {one}, %entry ], [ %longer, %factor ]
  %some = {some}
  br i1 %some, label %factor, label %done
factor:
  %product = fmul {r} %z, %x
  %longer = select {t} %more, {r} %product, {r} %z
  %next = fadd {r} %k, {one}
  %count = select {t} %more, {r} %next, {r} %k
  %was = call {r} @{fabs}({r} %z)
  %is = call {r} @{fabs}({r} %product)
  %moves = fcmp one {r} %was, %is
  %lacks = fcmp olt {r} %count, %size
  %goes = and {t} %moves, %lacks
  %further = and {t} %goes, %more
  br label %loop
done:
  %left = fsub {r} %size, %k
  %half = fmul {r} %left, {half}
  %whole = call {r} @{floor}({r} %half)
  %odd = fcmp one {r} %half, %whole
  %sign = call {r} @{copysign}({r} {one}, {r} %x)
  %turned = fmul {r} %z, %sign
  %all = select {t} %odd, {r} %turned, {r} %z
  %below = fcmp olt {r} %n, {zero}
  %reciprocal = fdiv {r} {one}, %all
  %power = select {t} %below, {r} %reciprocal, {r} %all
  ret {r} %power
}}
"""
