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
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
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
        text, symbols = interface(external, name, visible)
        lines += [*point.lines, f"define internal i64 @{external.name}.work() {{", f"ret i64 {point.work}", "}", text]
        exports += symbols
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


def interface(external: External[Any], library: str, visible: str) -> tuple[str, list[str]]:
    """Definitions of what CasADi calls for one function, and their names. NAME.point computes all entries, with NAME.work numbers
    of memory; the call brings its inputs together and takes its outputs apart in `w`."""
    ins, outs = external.inputs, external.outputs
    count, results = (sum(len(m.entries) for m in each) for each in (ins, outs))
    words = {"define": f"define {visible}".rstrip(), "name": external.name, "library": library}
    text = INTERFACE.format(**words, count=count, all=count + results, ins=len(ins), outs=len(outs),
                            come=moves(COME, ins, library), go=moves(GO, outs, library))
    if external.defaults:
        values = [Instructions(1, veclib.NO_LIBRARY).constant(x) for x in external.defaults]
        text += table(words, "default_in", "double", values, "0.0")
    for side, each in (("in", ins), ("out", outs)):
        for what, rows in (("name", [text_constant(m.name) for m in each]), ("sparsity", [integers(m.compressed) for m in each])):
            own = f"@{external.name}.{what}_{side}"
            text += "".join(f"{own}.{k} = private unnamed_addr constant {row}, align 8\n" for k, row in enumerate(rows))
            text += table(words, f"{what}_{side}", "ptr", [f"{own}.{k}" for k in range(len(rows))], "null")
    return text, re.findall(r"^define .*@(\w+)\(", text, re.MULTILINE)


def moves(form: str, blocks: Sequence[CasadiMatrix], library: str) -> str:
    """The entries of all matrices between an array and the places that CasADi gives, which may be none."""
    starts = accumulate((len(block.entries) for block in blocks), initial=0)
    return "".join(form.format(k=k, at=at, count=len(block.entries), library=library)
                   for k, (block, at) in enumerate(zip(blocks, starts, strict=False)) if block.entries)


def table(words: Mapping[str, str], what: str, kind: str, values: Sequence[str], nothing: str) -> str:
    """A function of a number for the constant of that number; nothing where there is none."""
    items = ", ".join(f"{kind} {x}" for x in values)
    return TABLE.format(**words, what=what, kind=kind, items=items, count=len(values), nothing=nothing)


INTERFACE = """\
{define} i32 @{name}(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem) {{
%out = getelementptr double, ptr %w, i64 {count}
%slots = getelementptr double, ptr %w, i64 {all}
{come}%ended = call i32 @{name}.point(ptr %w, ptr %out, ptr %slots)
{go}ret i32 %ended
}}

{define} i32 @{name}_work(ptr %arg, ptr %res, ptr %iw, ptr %w) {{
%slots = call i64 @{name}.work()
%all = add i64 %slots, {all}
call void @{library}.put(ptr %arg, i64 {ins})
call void @{library}.put(ptr %res, i64 {outs})
call void @{library}.put(ptr %iw, i64 0)
call void @{library}.put(ptr %w, i64 %all)
ret i32 0
}}

{define} i64 @{name}_n_in() {{
ret i64 {ins}
}}

{define} i64 @{name}_n_out() {{
ret i64 {outs}
}}

"""
COME = """\
%arg.{k}.at = getelementptr ptr, ptr %arg, i64 {k}
%arg.{k} = load ptr, ptr %arg.{k}.at
%w.{k} = getelementptr double, ptr %w, i64 {at}
call void @{library}.copy(ptr %arg.{k}, ptr %w.{k}, i64 {count})
"""
GO = """\
%res.{k}.at = getelementptr ptr, ptr %res, i64 {k}
%res.{k} = load ptr, ptr %res.{k}.at
%out.{k} = getelementptr double, ptr %out, i64 {at}
call void @{library}.copy(ptr %out.{k}, ptr %res.{k}, i64 {count})
"""
TABLE = """\
@{name}.{what}.all = private unnamed_addr constant [{count} x {kind}] [{items}], align 8

{define} {kind} @{name}_{what}(i64 %i) {{
%known = icmp ult i64 %i, {count}
br i1 %known, label %there, label %none
there:
%at = getelementptr {kind}, ptr @{name}.{what}.all, i64 %i
%found = load {kind}, ptr %at
ret {kind} %found
none:
ret {kind} {nothing}
}}

"""


def text_constant(text: str) -> str:
    return f'[{len(text) + 1} x i8] c"{text}\\00"'


def integers(values: Sequence[int]) -> str:
    return f"[{len(values)} x i64] [{', '.join(f'i64 {value}' for value in values)}]"
