"""A library with the interface of CasADi's external functions, with the derivatives that CasADi looks for beside a function.

    y = NAME(x, p)

`x` is the column of the inputs, `p` that of the inputs declared as params, if there are any, and `y` that of the outputs. The
functions, with inputs and outputs as CasADi 3.6 and later name them (casadi/core/external.cpp, function_internal.cpp):

    NAME             x, p                                          y
    jac_NAME         x, p, out_y                                   jac_y_x, jac_y_p
    adj1_NAME        x, p, out_y, adj_y                            adj_x, adj_p
    jac_adj1_NAME    x, p, out_y, adj_y, out_adj_x, out_adj_p      jac_adj_x_x, jac_adj_x_p, jac_adj_x_out_y, …

Matrices are compressed columns with the entries that are not zero by construction. What a function has no use for, as the values
of outputs beside their derivatives, is an input without entries. With weights `adj_y`, jac_adj1_NAME is the Hessian of the
weighted sum of the outputs, from one symmetric derivation, beside the transposed Jacobian.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from adcli.codegen.c.files import starts
from adcli.codegen.machine import veclib
from adcli.codegen.rows.instructions import Instructions
from adcli.codegen.rows.point import function
from adcli.lang.derive.derivatives import hessian, jacobian
from adcli.lang.ir import Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.passes.pipeline import Pass, adjoint_program
from adcli.lang.simplify.simplify import simplify

Entry = tuple[int, int]
"""Column and row."""
DerivedBlock = tuple[str, Sequence[str], Sequence[str]]
"""A block of derivatives: its name, the names of its rows and of its columns, '' for a column that is zero by construction."""


@dataclass(frozen=True, slots=True)
class CasadiMatrix:
    """An input or output: its name, rows and columns, and the entries that it has, in the order in which they are stored."""

    name: str
    rows: int
    columns: int
    entries: Sequence[Entry]

    @property
    def compressed(self) -> list[int]:
        """The pattern as CasADi reads it: rows, columns, where columns begin, the rows of entries; or 1 where all are there."""
        if len(self.entries) == self.rows * self.columns:
            return [self.rows, self.columns, 1]
        return [self.rows, self.columns, *starts([j for j, _ in self.entries], self.columns), *(row for _, row in self.entries)]


Body = TypeVar("Body")


@dataclass(frozen=True)
class External(Generic[Body]):
    """A function: its inputs and outputs, and the program of their entries, in order, or how else they are made; what an input is
    where nothing is given for it, for the functions that have this."""

    name: str
    inputs: Sequence[CasadiMatrix]
    outputs: Sequence[CasadiMatrix]
    program: Body
    defaults: Sequence[float] = ()


def module(program: Program, name: str, prepared: Pass, instructions: Instructions, visible: str,
           ) -> tuple[str, list[str], list[str], int]:
    """The library of a program as a text, the functions that others see, how it is called, and its length; `prepared` gives a
    program as code is made from it, `visible` is how LLVM is told that others can call a function."""
    lines, exports, length = [*helpers(name)], [], 0
    for external in functions(program, name):
        point = function(prepared(external.program), f"{external.name}.point", instructions, "internal", own=False)
        interface = Interface(external, name, visible)
        lines += [*point.lines, f"define internal i64 @{external.name}.work() {{", f"ret i64 {point.work}", "}",
                  *interface.lines()]
        exports += interface.exports
        length += point.length
    return "\n".join([*instructions.declarations(), *lines, ""]), exports, list(calling(program, name)), length


def calling(program: Program, name: str) -> Iterator[str]:
    """How the library is used, for its header."""
    x, p, _ = columns(program)
    yield f"call: casadi.external('{name}', './FILE'), a function of {'x and p' if p else 'x'} with the output y, all columns"
    yield f"x: {', '.join(x)}"
    if p:
        yield f"p: {', '.join(p)}"
    yield f"y: {', '.join(r.name for r in program.results)}"


# ---------------------------------------------------------------- the functions

def columns(program: Program) -> tuple[list[str], list[str], list[str]]:
    """The names in x, p and y. AdError where there are no inputs to differentiate by."""
    x = [p.name for p in program.params if p.active]
    if not x:
        raise AdError("--abi casadi needs an input to differentiate by", help="declare one without 'param', as in: input x")
    return x, [p.name for p in program.params if not p.active], [r.name for r in program.results]


def functions(program: Program, name: str) -> Iterator[External[Program]]:
    """The function and its derivatives."""
    x, p, y = columns(program)
    groups = {"x": x, "p": p} if p else {"x": x}
    program = replace(program, params=tuple(sorted(program.params, key=lambda q: not q.active)))
    given = [column(group, members) for group, members in groups.items()]
    value, weights = CasadiMatrix("out_y", len(y), 1, ()), column("adj_y", y)
    yield External(name, given, [column("y", y)], program, [default(program, members) for members in groups.values()])

    whole = jacobian(program, [*x, *p], zeros=False)
    entries = {(r.of or "", r.wrt[0]): r for r in whole.results if r.wrt}
    yield derived(f"jac_{name}", [*given, value], [(f"jac_y_{g}", y, groups[g]) for g in groups], whole, entries)

    swept = adjoint_program(program, [*x, *p])
    adjoints = dict(zip([*x, *p], swept.results[len(y):], strict=True))
    yield derived(f"adj1_{name}", [*given, value, weights], [(f"adj_{g}", groups[g], [""]) for g in groups], swept,
                  {(member, ""): r for member, r in adjoints.items()}, full=True)

    total, seeds = weighted(program)
    whole = hessian(total, [*x, *p, *seeds], zeros=False)
    second = {pair: r for r in whole.results if len(r.wrt) == 2 for pair in (r.wrt, r.wrt[::-1])}
    others = {**groups, "out_y": [""] * len(y), "adj_y": seeds}
    blocks = [(f"jac_adj_{g}_{other}", groups[g], members) for g in groups for other, members in others.items()]
    unused = [CasadiMatrix(f"out_adj_{g}", len(groups[g]), 1, ()) for g in groups]
    yield derived(f"jac_adj1_{name}", [*given, value, weights, *unused], blocks, whole, second)


def default(program: Program, members: Sequence[str]) -> float:
    """The value of all entries of a column where nothing is given for it: their default if they have one in common, else NaN.
    CasADi has one number for all, by itself 0, which would be a wrong one."""
    found = {program.param(name).default for name in members}
    value = found.pop() if len(found) == 1 else None
    return math.nan if value is None else value


def column(name: str, members: Sequence[object]) -> CasadiMatrix:
    return CasadiMatrix(name, len(members), 1, [(0, i) for i in range(len(members))])


def derived(name: str, inputs: Sequence[CasadiMatrix], blocks: Sequence[DerivedBlock], program: Program,
            entries: Mapping[tuple[str, str], Result], full: bool = False) -> External[Program]:
    """The function of blocks whose entries, by row and column, are results of a program: those that are not zero by construction,
    or all."""
    outputs, results = [], []
    present = [key for key, r in entries.items() if full or not (isinstance(r.atom, Lit) and r.atom.value == 0)]
    for block, rows, members in blocks:
        row, at = {x: i for i, x in enumerate(rows)}, {x: j for j, x in enumerate(members)}
        there = {(at[below], row[beside]): entries[beside, below].atom for beside, below in present
                 if beside in row and below in at}
        outputs.append(CasadiMatrix(block, len(rows), len(members), sorted(there)))
        results += [Result(f"{block}_{i}_{j}", there[j, i]) for j, i in sorted(there)]
    return External(name, inputs, outputs, simplify(replace(program, results=tuple(results))))


def weighted(program: Program) -> tuple[Program, list[str]]:
    """The sum of the outputs, each times an input of its own, and the names of these inputs, which come last."""
    names, b = Names.of(program), Builder()
    b.equations.extend(program.equations)
    weights = [names.fresh(f"adj_{r.name}") for r in program.results]
    params = [Param(Var(name, temp=False), name) for name in weights]
    total = sum((b.expr(p.var) * b.expr(r.atom) for p, r in zip(params, program.results, strict=True)), start=b.expr(Lit(-0.0)))
    result = Result(names.fresh("total"), total.atom)
    return replace(program, params=(*program.params, *params), equations=tuple(b.equations), results=(result,)), weights


# ---------------------------------------------------------------- how CasADi calls them

def helpers(name: str) -> list[str]:
    """Functions that all of a library call: `copy` moves so many numbers, from nowhere as zeros and to nowhere not at all; `put`
    writes a number where somebody wants it."""
    return f"""define internal void @{name}.copy(ptr %from, ptr %to, i64 %count) {{
entry:
  %given = icmp ne ptr %from, null
  %wanted = icmp ne ptr %to, null
  %some = icmp sgt i64 %count, 0
  %any = and i1 %wanted, %some
  br i1 %any, label %next, label %exit
next:
  %i = phi i64 [ 0, %entry ], [ %following, %write ]
  br i1 %given, label %read, label %write
read:
  %from.i = getelementptr double, ptr %from, i64 %i
  %there = load double, ptr %from.i, align 8
  br label %write
write:
  %value = phi double [ 0.0, %next ], [ %there, %read ]
  %to.i = getelementptr double, ptr %to, i64 %i
  store double %value, ptr %to.i, align 8
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %exit
exit:
  ret void
}}

define internal void @{name}.put(ptr %to, i64 %value) {{
  %wanted = icmp ne ptr %to, null
  br i1 %wanted, label %write, label %exit
write:
  store i64 %value, ptr %to, align 8
  br label %exit
exit:
  ret void
}}
""".split("\n")


class Interface:
    """Exports for one function: the call, which brings its inputs together and takes its outputs apart in `w`, and
    the functions that describe it. NAME.point computes all entries, with NAME.work numbers of memory."""

    def __init__(self, external: External[Any], library: str, visible: str) -> None:
        self.external, self.name, self.library = external, external.name, library
        self.define = f"define {visible} ".replace("  ", " ")
        self.exports: list[str] = []

    def lines(self) -> list[str]:
        ins, outs = self.external.inputs, self.external.outputs
        return [*self.call(), *self.sizes(),
                *self.function("i64", "n_in", "", [f"ret i64 {len(ins)}"]),
                *self.function("i64", "n_out", "", [f"ret i64 {len(outs)}"]),
                *(self.defaults() if self.external.defaults else ()),
                *self.table("name_in", [text_constant(m.name) for m in ins]),
                *self.table("name_out", [text_constant(m.name) for m in outs]),
                *self.table("sparsity_in", [integers(m.compressed) for m in ins]),
                *self.table("sparsity_out", [integers(m.compressed) for m in outs])]

    def call(self) -> list[str]:
        """int NAME(const double **arg, double **res, long long *iw, double *w, int mem)"""
        count = sum(len(m.entries) for m in self.external.inputs)
        results = sum(len(m.entries) for m in self.external.outputs)
        body = [f"%out = getelementptr double, ptr %w, i64 {count}",
                f"%slots = getelementptr double, ptr %w, i64 {count + results}",
                *self.moves("arg", "w", self.external.inputs),
                f"%ended = call i32 @{self.name}.point(ptr %w, ptr %out, ptr %slots)",
                *self.moves("res", "out", self.external.outputs), "ret i32 %ended"]
        return self.function("i32", "", "ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem", body)

    def moves(self, side: str, array: str, blocks: Sequence[CasadiMatrix]) -> Iterator[str]:
        """The entries of all matrices between an array and the places that CasADi gives, which may be none."""
        at = 0
        for k, block in enumerate(blocks):
            if block.entries:
                yield f"%{side}.{k}.at = getelementptr ptr, ptr %{side}, i64 {k}"
                yield f"%{side}.{k} = load ptr, ptr %{side}.{k}.at"
                yield f"%{array}.{k} = getelementptr double, ptr %{array}, i64 {at}"
                ends = (f"%{side}.{k}", f"%{array}.{k}")
                come, go = ends if side == "arg" else ends[::-1]
                yield f"call void @{self.library}.copy(ptr {come}, ptr {go}, i64 {len(block.entries)})"
            at += len(block.entries)

    def sizes(self) -> list[str]:
        """int NAME_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w)"""
        numbers = sum(len(m.entries) for m in (*self.external.inputs, *self.external.outputs))
        sizes = {"arg": len(self.external.inputs), "res": len(self.external.outputs), "iw": 0, "w": "%all"}
        return self.function("i32", "work", ", ".join(f"ptr %{name}" for name in sizes), [
            f"%slots = call i64 @{self.name}.work()", f"%all = add i64 %slots, {numbers}",
            *(f"call void @{self.library}.put(ptr %{name}, i64 {size})" for name, size in sizes.items()), "ret i32 0"])

    def defaults(self) -> list[str]:
        """double NAME_default_in(long long i)"""
        values = self.external.defaults
        bits = ", ".join(f"double {Instructions(1, veclib.NO_LIBRARY).constant(x)}" for x in values)
        own = f"@{self.name}.defaults"
        return [f"{own} = private unnamed_addr constant [{len(values)} x double] [{bits}], align 8", "",
                *self.function("double", "default_in", "i64 %i", [
                    f"%known = icmp ult i64 %i, {len(values)}", "br i1 %known, label %there, label %none", "there:",
                    f"%at = getelementptr double, ptr {own}, i64 %i", "%found = load double, ptr %at, align 8",
                    "ret double %found", "none:", "ret double 0.0"])]

    def table(self, what: str, rows: Sequence[tuple[str, str]]) -> list[str]:
        """A function of a number that points to a constant, each with its type; to nothing where there is none of the number."""
        own = f"@{self.name}.{what}"
        constants = [f"{own}.{k} = private unnamed_addr constant {kind} {value}, align 8" for k, (kind, value) in enumerate(rows)]
        pointers = ", ".join(f"ptr {own}.{k}" for k in range(len(rows)))
        return [*constants, f"{own}.all = private unnamed_addr constant [{len(rows)} x ptr] [{pointers}], align 8", "",
                *self.function("ptr", what, "i64 %i", [
                    f"%known = icmp ult i64 %i, {len(rows)}", "br i1 %known, label %there, label %none", "there:",
                    f"%at = getelementptr ptr, ptr {own}.all, i64 %i", "%found = load ptr, ptr %at", "ret ptr %found",
                    "none:", "ret ptr null"])]

    def function(self, kind: str, what: str, parameters: str, body: Sequence[str]) -> list[str]:
        """The definition of a function that others see."""
        symbol = f"{self.name}_{what}" if what else self.name
        self.exports.append(symbol)
        return [f"{self.define}{kind} @{symbol}({parameters}) {{", *body, "}", ""]


def text_constant(text: str) -> tuple[str, str]:
    return f"[{len(text) + 1} x i8]", f'c"{text}\\00"'


def integers(values: Sequence[int]) -> tuple[str, str]:
    return f"[{len(values)} x i64]", f"[{', '.join(f'i64 {value}' for value in values)}]"
