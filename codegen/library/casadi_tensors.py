"""CasADi's functions of a program with tensors, at sizes that are fixed.

Integers, and the params that have a value, are data of the library. The inputs that are left are columns of their elements, one
tensor after another, and so are the outputs. Each function runs programs, whose results are one array, and every entry that it
returns is a sum of elements of this array: where the entries of Jacobians and Hessians stand is known here.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from adcli.codegen.library.casadi import CasadiMatrix, External, calling, column, columns, default, helpers, interface
from adcli.codegen.nests.layout import size_parameters
from adcli.codegen.rows.instructions import bits
from adcli.codegen.rows.llvm import Module
from adcli.lang.derive.entries import EntryProgram, EveryPlace, hessian_entries, jacobian_entries
from adcli.lang.derive.linear_statements import NoStatements
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Param, Program, Var, shape_of
from adcli.lang.ir.affine import atoms
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import bind, counts, number

Emitted = Callable[[Program, str], Module]
"""A program as a function of this name, with the interface that it has in C."""
Places = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows, columns, and the elements of the array of results that are added up there."""


class FixedSizes:
    """A program at a point: the inputs that vary, in the groups x and p, and the values of the others, `data`. AdError where a
    size or an integer is missing, or a subscript of these is outside."""

    def __init__(self, program: Program, point: Mapping[str, Any]) -> None:
        program = replace(program, params=tuple(sorted(program.params, key=lambda p: not p.active)))
        varies = [p for p in program.params if not p.var.integer and (p.active or p.name not in point)]
        given = tuple([p for p in program.params if p.name in point])
        self.program, self.varying = program, replace(program, params=tuple(varies))
        self.sizes = bind(replace(program, params=given), {name: np.shape(x) for name, x in point.items()}, point)
        for p in program.params:
            self.require(p, point)
        self.data = {p: np.asarray(point[p.name]) for p in program.params if p not in varies}
        self.point = {p.name: np.zeros(self.shape(p.var)) for p in varies} | {p.name: x for p, x in self.data.items()}
        x, others, _ = columns(self.varying)
        self.groups = {"x": x, "p": others} if others else {"x": x}
        self.places, self.inputs = self.offsets(p.var for p in varies)
        self.weights, self.outputs = self.offsets(Var(r.name, shape=shape_of(r.atom)) for r in program.results)
        border = self.places[others[0]] if others else self.inputs
        self.spans = dict(zip(self.groups, ((0, border), (border, self.inputs)), strict=False))
        evaluate(program, self.point, numpy_arithmetic())   # looks at subscripts

    def require(self, p: Param, point: Mapping[str, Any]) -> None:
        """AdError where an integer has no value, or an extent of an input follows from none."""
        if p.var.integer and p.name not in point:
            raise AdError(f"with --abi casadi integers are constants, and '{p.name}' has no value",
                          help=f"give it one: ⟦--at {p.name}=…⟧")
        for a in (a for x in p.var.shape for a in atoms(x)):
            if isinstance(a, str) and a not in self.sizes:
                raise AdError(f"with --abi casadi sizes are constants, and none is given for '{a}'",
                              help=f"give '{p.name}' a value of its shape: ⟦--at {p.name}=…⟧")

    def shape(self, a: Any) -> tuple[int, ...]:
        return tuple([number(x, self.sizes) for x in shape_of(a)])

    def count(self, a: Any) -> int:
        return math.prod(self.shape(a))

    def offsets(self, values: Iterable[Var]) -> tuple[dict[str, int], int]:
        """The number of the first element of each value, by name, and how many there are of all."""
        found, first = dict[str, int](), 0
        for v in values:
            found[str(v.name)] = first
            first += self.count(v)
        return found, first

    def entries(self, derive: Callable[..., EntryProgram]) -> tuple[EntryProgram, EveryPlace]:
        """A matrix by all inputs that vary, and the places of its entries. AdError where these do not follow from the data."""
        try:
            made = derive(self.program, [p.name for p in self.varying.params], staged=True)
            every = made.every_place(self.point)
        except NoStatements as none:
            raise AdError(f"--abi casadi needs derivatives made statement by statement: {none.reason}", none.span,
                          "leave it out: the library has the functions of C", self.program.source) from None
        read = {a for e in made.places.equations for a in e.args}
        for p in (p for p in self.varying.params if p.var in read):
            raise AdError(f"subscripts are computed from '{p.name}', and with --abi casadi patterns are constants",
                          help=f"{'declare it as a param, and ' if p.active else ''}give it a value: ⟦--at {p.name}=…⟧")
        return made, every


class ComputedProgram(NamedTuple):
    """A program, the names of its weights of outputs, and the products of its elements `left` and `right`, which are numbered
    behind them and may have products before as factors."""

    program: Program
    weights: Sequence[str] = ()
    left: Sequence[int] = ()
    right: Sequence[int] = ()


@dataclass(slots=True)
class SummedResults:
    """Programs, and the elements of their results and products that are added up for each entry of all matrices: `numbers` from
    one of `starts` to the next."""

    programs: Sequence[ComputedProgram]
    starts: list[int] = field(default_factory=lambda: [0])
    numbers: list[int] = field(default_factory=list)

    def matrix(self, name: str, places: Places, rows: tuple[int, int], across: tuple[int, int]) -> CasadiMatrix:
        """The block of a matrix in these rows and columns, which is stored behind the matrices before."""
        i, j, numbers = places
        inside = np.flatnonzero((i >= rows[0]) & (i < rows[1]) & (j >= across[0]) & (j < across[1]))
        inside = inside[np.lexsort((i[inside], j[inside]))]
        found = list(zip((j[inside] - across[0]).tolist(), (i[inside] - rows[0]).tolist(), strict=True))
        for k, (entry, place) in enumerate(zip(found, numbers[inside].tolist(), strict=True)):
            if k == 0 or entry != found[k - 1]:
                self.starts.append(self.starts[-1])
            self.starts[-1] += 1
            self.numbers.append(place)
        return CasadiMatrix(name, rows[1] - rows[0], across[1] - across[0], list(dict.fromkeys(found)))

    def column(self, name: str, span: tuple[int, int]) -> CasadiMatrix:
        """Results as they stand."""
        k = np.arange(*span)
        return self.matrix(name, (k, np.zeros_like(k), k), span, (0, 1))


def module(program: Program, name: str, given: Mapping[str, Any], emitted: Emitted, visible: str,
           ) -> tuple[str, list[str], list[str], int]:
    """The library of a program at a point as `adcli.codegen.library.casadi.module` gives it."""
    here = FixedSizes(program, given)
    lines, exports, length = [*helpers(name), *constants(here, name)], list[str](), 0
    for external in functions(here, name):
        point, (text, symbols) = Point(here, external, name, emitted), interface(external, name, visible)
        lines += [point.text(), text]
        exports += symbols
        length += point.length
    return once("\n".join(lines)), exports, list(calling(here.varying, name)), length


def functions(here: FixedSizes, name: str) -> Iterator[External[SummedResults]]:
    """The function and its derivatives."""
    program, groups, spans = here.program, here.groups, here.spans
    given = [column(g, range(*span)) for g, span in spans.items()]
    y = (0, here.outputs)
    value, weights = CasadiMatrix("out_y", here.outputs, 1, ()), column("adj_y", range(*y))
    sums = SummedResults([ComputedProgram(program)])
    yield External(name, given, [sums.column("y", y)], sums, [default(program, names) for names in groups.values()])

    made, every = here.entries(jacobian_entries)
    first, jacobian = computed(made, every), every[:3]
    sums = SummedResults([first])
    yield External(f"jac_{name}", [*given, value], [sums.matrix(f"jac_y_{g}", jacobian, y, s) for g, s in spans.items()], sums)

    swept = adjoint_program(program, [p.name for p in here.varying.params])
    seeds = {p.seed: p.name for p in swept.params if p.seed}
    adjoints = simplify(replace(swept, results=swept.results[len(program.results):]))
    sums = SummedResults([ComputedProgram(adjoints, [seeds[r.name] for r in program.results])])
    yield External(f"adj1_{name}", [*given, value, weights], [sums.column(f"adj_{g}", s) for g, s in spans.items()], sums)

    made, every = here.entries(hessian_entries)
    second, hessian = computed(made, every), every[:3]
    rows, across, numbers = jacobian
    behind = sum(here.count(r.atom) for r in second.program.results) + len(second.left)
    others = {**{g: (hessian, s) for g, s in spans.items()}, "out_y": (tuple(x[:0] for x in hessian), y),
              "adj_y": ((across, rows, numbers + behind), y)}
    sums = SummedResults([second, first])
    blocks = [sums.matrix(f"jac_adj_{g}_{other}", places, spans[g], s)  # type: ignore[arg-type]
              for g in groups for other, (places, s) in others.items()]
    unused = [CasadiMatrix(f"out_adj_{g}", end - start, 1, ()) for g, (start, end) in spans.items()]
    yield External(f"jac_adj1_{name}", [*given, value, weights, *unused], blocks, sums)


def computed(made: EntryProgram, every: EveryPlace) -> ComputedProgram:
    """The entries of a matrix."""
    return ComputedProgram(made.values, made.weights, every.left.tolist(), every.right.tolist())


# ---------------------------------------------------------------- their code

def constants(here: FixedSizes, name: str) -> list[str]:
    """The data, and the functions that multiply and add up."""
    return [*(f"@{name}.data.{k} = {array('i32' if p.var.integer else 'double', values.ravel().tolist())}"
              for k, (p, values) in enumerate(here.data.items())),
            *(line for text in (ADD_UP, MULTIPLY) for line in text.format(name=name).split("\n"))]


def array(kind: str, values: Sequence[float]) -> str:
    """A constant array of LLVM."""
    items = ", ".join(f"{kind} {bits(x) if kind == 'double' else int(x)}" for x in values)
    return f"private unnamed_addr constant [{len(values)} x {kind}] [{items}], align 8"


class Point:
    """The function NAME.point of an external function, and NAME.work, which says how long its `slots` must be."""

    def __init__(self, here: FixedSizes, external: External[SummedResults], library: str, emitted: Emitted) -> None:
        self.here, self.name, self.library, self.sums = here, external.name, library, external.program
        self.body, self.work, self.texts, self.length, self.results = list[str](), list[str](), list[str](), 0, 0
        for k, part in enumerate(self.sums.programs):
            made, first = emitted(part.program, f"{self.name}.{k}"), self.results
            self.texts.append(made.text)
            self.length += made.length
            self.run(k, part.program, part.weights, f"@{self.name}.{k}_work_size(" in made.text)
            if len(part.left):
                self.multiply(k, part, first)

    def run(self, k: int, program: Program, weights: Sequence[str], works: bool) -> None:
        """Call a program, its results behind those that are there. `works` if it needs memory."""
        here, own = self.here, f"@{self.name}.{k}"
        cotangents = {w: here.inputs + here.weights[r.name] for w, r in zip(weights, here.program.results, strict=False)}
        sizes = [f"i64 {here.sizes[n]}" for n in size_parameters(program)]
        args = [*sizes, *(self.argument(f"%in.{k}.{n}", p, here.places | cotangents) for n, p in enumerate(program.params))]
        for n, r in enumerate(program.results):
            self.body.append(f"%out.{k}.{n} = getelementptr double, ptr %slots, i64 {self.results}")
            args.append(f"ptr %out.{k}.{n}")
            self.results += here.count(r.atom)
        if works:
            counted = [f"i64 {here.sizes[p.name]}" for p in counts(program)]
            self.work += [f"%size.{k} = call i64 {own}_work_size({', '.join([*sizes, *counted])})",
                          f"%sum.{k} = add i64 %size.{k}, {self.work[-1].split()[0] if self.work else 0}"]
            args.append("ptr %work")
        self.body += [f"%ended.{k} = call i32 {own}({', '.join(args)})", f"%failed.{k} = icmp ne i32 %ended.{k}, 0",
                      f"br i1 %failed.{k}, label %failed, label %after.{k}", f"after.{k}:"]

    def multiply(self, k: int, part: ComputedProgram, first: int) -> None:
        """Put the products of a program's elements, which begin at `first`, behind them."""
        own = f"@{self.name}.{k}"
        self.texts += [f"{own}.{what} = {array('i32', values)}" for what, values in (("left", part.left), ("right", part.right))]
        self.body += [f"%from.{k} = getelementptr double, ptr %slots, i64 {first}",
                      f"%to.{k} = getelementptr double, ptr %slots, i64 {self.results}",
                      f"call void @{self.library}.multiply(ptr %from.{k}, ptr {own}.left, ptr {own}.right, ptr %to.{k}, "
                      f"i64 {len(part.left)})"]
        self.results += len(part.left)

    def argument(self, at: str, p: Param, places: Mapping[str, int]) -> str:
        """An input as a program takes it."""
        if p.name in places:
            self.body.append(f"{at} = getelementptr double, ptr %in, i64 {places[p.name]}")
        else:
            k = [q.name for q in self.here.data].index(p.name)
            self.body.append(f"{at} = getelementptr i8, ptr @{self.library}.data.{k}, i64 0")
        if p.var.shape:
            return f"ptr {at}"
        kind = "i32" if p.var.integer else "double"
        self.body.append(f"{at}.value = load {kind}, ptr {at}")
        return f"{kind} {at}.value"

    def text(self) -> str:
        own, sums = f"@{self.name}", self.sums
        total = self.work[-1].split()[0] if self.work else "0"
        return "\n".join([
            *self.texts, *(f"{own}.{what} = {array('i32', values)}" for what, values in
                           (("starts", sums.starts), ("numbers", sums.numbers))),
            f"define internal i64 {own}.work() {{", *self.work, f"%all = add i64 {total}, {self.results}", "ret i64 %all", "}",
            f"define internal i32 {own}.point(ptr %in, ptr %out, ptr %slots) {{",
            f"%work = getelementptr double, ptr %slots, i64 {self.results}", *self.body,
            f"call void @{self.library}.add_up(ptr %slots, ptr {own}.starts, ptr {own}.numbers, ptr %out, "
            f"i64 {len(sums.starts) - 1})", "ret i32 0", "failed:", "ret i32 1", "}", ""])


def once(text: str) -> str:
    """A text of LLVM without the declarations and functions that are there before."""
    return "\n".join(dict.fromkeys(re.findall(r"^define .*?^}$|^[^\n]+$", text, re.MULTILINE | re.DOTALL))) + "\n"


ADD_UP = """define internal void @{name}.add_up(ptr %from, ptr %starts, ptr %numbers, ptr %to, i64 %count) {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %exit
next:
  %i = phi i64 [ 0, %entry ], [ %following, %write ]
  %following = add i64 %i, 1
  %first.at = getelementptr i32, ptr %starts, i64 %i
  %first = load i32, ptr %first.at
  %end.at = getelementptr i32, ptr %starts, i64 %following
  %end = load i32, ptr %end.at
  br label %add
add:
  %k = phi i32 [ %first, %next ], [ %k.following, %add ]
  %sum = phi double [ -0.0, %next ], [ %total, %add ]
  %number.at = getelementptr i32, ptr %numbers, i32 %k
  %number = load i32, ptr %number.at
  %value.at = getelementptr double, ptr %from, i32 %number
  %value = load double, ptr %value.at, align 8
  %total = fadd double %sum, %value
  %k.following = add i32 %k, 1
  %again = icmp slt i32 %k.following, %end
  br i1 %again, label %add, label %write
write:
  %to.at = getelementptr double, ptr %to, i64 %i
  store double %total, ptr %to.at, align 8
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %exit
exit:
  ret void
}}"""
MULTIPLY = """define internal void @{name}.multiply(ptr %from, ptr %left, ptr %right, ptr %to, i64 %count) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %left.at = getelementptr i32, ptr %left, i64 %i
  %right.at = getelementptr i32, ptr %right, i64 %i
  %l = load i32, ptr %left.at
  %r = load i32, ptr %right.at
  %one.at = getelementptr double, ptr %from, i32 %l
  %other.at = getelementptr double, ptr %from, i32 %r
  %one = load double, ptr %one.at, align 8
  %other = load double, ptr %other.at, align 8
  %product = fmul double %one, %other
  %to.at = getelementptr double, ptr %to, i64 %i
  store double %product, ptr %to.at, align 8
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %exit
exit:
  ret void
}}"""
