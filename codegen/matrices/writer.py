"""Operations on matrices in LLVM IR, for modules that stand alone, as `adcli.codegen.c.matrix_functions` has them in C.

`algorithms` has their text. LLVM runs no passes on ours, so all is written as it shall run: registers, blocks, and
matrices of a few rows without loops.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

import numpy as np
from adcli.codegen.llvm_ir.translator import Translator, Typed
from adcli.codegen.llvm_ir.translator import functions as parsed
from adcli.codegen.loops.addresses import Addresses, Environment
from adcli.codegen.matrices.algorithms import ALGORITHMS, TINY
from adcli.codegen.nests.steps import ModuleStep
from adcli.codegen.rows.instructions import bits
from adcli.codegen.schedules.schedule import Schedule
from adcli.lang.evaluate.decompositions import PADE, PADE_NORM
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir import Equation, Lit, Var, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.operations.comprehension import Comprehension, Subscript, constant_body
from adcli.lang.operations.matrix import FACTORING, NUMBERS, SEARCH, TINY_ROWS, MatrixOperation, matrix_extent, trailing

FUNCTIONS, UNROLLED = map(parsed, (ALGORITHMS, TINY))
RETURNED = {"regular": "i1", "eliminated": "i64", "factored": "i64", "logdet": "double", "det": "double", "search": "i64"}
TENSORS = ("m", "a", "b", "c", "x", "f", "order")
CONSTANTS = {"NAN": ("0x7FF8000000000000", "double"), "BELOW_ALL": ("0xFFF0000000000000", "double")}
LIBRARY = {"fabs": "llvm.fabs.f64", "sqrt": "llvm.sqrt.f64", "log": "log"}
REGISTERS = ("p", "u", "v", "PADE")
"""Names of values in registers, each with a number that is known when the text is written."""
IN_SINGLE = {"double": "float", "f64": "f32", "@log": "@logf", "align 8": "align 4"}
IN_DOUBLE = re.compile(r"\bdouble\b|(?<=llvm\.fabs\.|llvm\.sqrt\.)f64\b|@log\b|\balign 8\b")
"""Words of LLVM for doubles that differ for singles."""

# ---------------------------------------------------------------- algorithms as functions

def parameters(name: str) -> list[Typed]:
    names = [a.arg for a in FUNCTIONS[name].args.args]
    return [(f"%{x}", "ptr" if x in TENSORS else "double" if x == "q" else "i64") for x in names]


def called(name: str, prefix: str, args: Iterable[str], rows: int = 0) -> str:
    """A call of one of the functions, or of that for so many `rows`; `prefix` stands before the names of all."""
    given = ", ".join(f"{kind} {x}" for (_, kind), x in zip(parameters(name), args, strict=True))
    return f"call {RETURNED.get(name, 'void')} @{prefix}.{name}{f'.{rows}' if rows else ''}({given})"


class MatrixWriter(Translator):
    """Writes an algorithm as a function for registers of some lanes, or without loops for so many `rows`."""

    def __init__(self, name: str, prefix: str, env: Environment, rows: int = 0) -> None:
        self.name, self.prefix, self.lanes, self.rows, self.precision = name, prefix, env.lanes, rows, env.precision
        each = ", ".join(f"i64 {k}" for k in range(self.lanes))
        super().__init__(CONSTANTS | {x.removeprefix("%"): (x, kind) for x, kind in parameters(name)} | {
            "LANES": (f"{self.lanes}", "i64"), "LANE": (f"<{each}>", self.register("i64")),
            "ZEROS": ("zeroinitializer", self.register("double")), "PADE_NORM": self.real(PADE_NORM)}
            | {f"PADE.{k}": self.real(x) for k, x in enumerate(PADE)} | ({"n": (f"{rows}", "i64")} if rows else {}))

    def real(self, x: float) -> Typed:
        return bits(float(np.array(x, self.precision.code))), "double"

    def register(self, kind: str) -> str:
        return f"<{self.lanes} x {kind}>"

    def condition(self, kind: str) -> str:
        return self.register("i1") if kind.startswith("<") else "i1"

    def written(self, stack: str) -> list[str]:
        params = parameters(self.name)
        if self.name in UNROLLED and not self.rows:
            for rows in range(1, TINY_ROWS + 1):
                self.leave(rows, [x for x, _ in params])
        self.run((UNROLLED if self.rows else FUNCTIONS)[self.name].body)
        self.say(self.ended)
        head = called(self.name, self.prefix, [x for x, _ in params], self.rows).replace("call", "define internal", 1)
        return [f"{head}{stack} {{", *self.text(), "}", ""]

    def leave(self, rows: int, args: Iterable[str]) -> None:
        """Leave the work to the function for so many rows."""
        self.say(f"br i1 {self.put(f'icmp eq i64 %n, {rows}')}, label %few.{rows}, label %more.{rows}")
        self.block(f"few.{rows}")
        call, kind = called(self.name, self.prefix, args, rows), RETURNED.get(self.name)
        self.say(f"ret {kind} {self.put(call)}" if kind else f"{call}\n  ret void")
        self.block(f"more.{rows}")

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            match s:
                case ast.For(ast.Name(name), ast.Call(ast.Name("unrolled"), limits), body):
                    for turn in range(*[int(self.value(x)[0]) for x in limits]):
                        self.known[name] = f"{turn}", "i64"
                        self.run(body)
                case ast.Expr(ast.Call(ast.Name(name), [])):
                    self.run(UNROLLED[name].body)
                case _:
                    super().run([s])

    def store(self, place: ast.expr, value: ast.expr) -> None:
        assert isinstance(place, ast.Subscript)
        if (name := self.in_register(place)) is not None:
            self.known[name] = self.value(value)
            return
        at, wanted = self.place_of(place)
        text, kind = self.alike(self.value(value), wanted)
        self.say(f"store {kind} {text}, ptr {at}, align 8")

    def load(self, x: ast.Subscript | ast.Attribute) -> Typed:
        assert isinstance(x, ast.Subscript)
        if (name := self.in_register(x)) is not None:
            return self.known[name]
        place, kind = self.place_of(x)
        return self.put(f"load {kind}, ptr {place}, align 8"), kind

    def in_register(self, x: ast.Subscript) -> str | None:
        """The name of a value in registers; None for one in memory."""
        assert isinstance(x.value, ast.Name)
        return f"{x.value.id}.{self.value(x.slice)[0]}" if x.value.id in REGISTERS else None

    def place_of(self, x: ast.Subscript) -> Typed:
        """The address, and the type of what lies there."""
        first, kind = (x.slice.lower, self.register("double")) if isinstance(x.slice, ast.Slice) else (x.slice, "double")
        assert first is not None, "a register begins somewhere"
        return self.put(f"getelementptr double, ptr {self.value(x.value)[0]}, i64 {self.value(first)[0]}"), kind

    def alike(self, x: Typed, kind: str) -> Typed:
        """A value in all lanes, where that is the type."""
        text, own = x
        if own == kind or not kind.startswith("<"):
            return x
        kind = self.register(own)
        one = self.put(f"insertelement {kind} poison, {own} {text}, i64 0")
        return self.put(f"shufflevector {kind} {one}, {kind} poison, {self.register('i32')} zeroinitializer"), kind

    def both(self, left: ast.expr, right: ast.expr) -> tuple[str, str, str]:
        one, two = self.value(left), self.value(right)
        kind = max(one[1], two[1], key=lambda kind: kind.startswith("<"))
        return self.alike(one, kind)[0], self.alike(two, kind)[0], kind

    def call(self, x: ast.Call) -> Typed:
        assert isinstance(x.func, ast.Name)
        name, given = x.func.id, [self.value(a)[0] for a in x.args]
        if name in LIBRARY:
            return self.put(f"call double @{LIBRARY[name]}(double {given[0]})"), "double"
        if name == "min":
            return self.put(f"call i64 @llvm.smin.i64(i64 {given[0]}, i64 {given[1]})"), "i64"
        if name == "at":
            return self.put(f"getelementptr double, ptr {given[0]}, i64 {given[1]}"), "ptr"
        if name == "int":
            return self.put(f"fptosi double {given[0]} to i64"), "i64"
        if name == "every":
            bits = self.put(f"bitcast {self.register('i1')} {given[0]} to i{self.lanes}")
            return self.put(f"icmp eq i{self.lanes} {bits}, -1"), "i1"
        line, kind = called(name, self.prefix, given), RETURNED.get(name)
        if kind is None:
            self.say(line)
        return self.put(line) if kind else "", kind or "void"


def functions(env: Environment, prefix: str, names: Iterable[str]) -> list[str]:
    """The functions of these names, and all that they call."""
    for symbol in LIBRARY.values():
        declared = in_numbers(env, f"double @{symbol}(double)")
        env.declare(declared.partition("@")[2].partition("(")[0], f"declare {declared}")
    env.on(1).externals.add(in_numbers(env, "@log").removeprefix("@"))
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in FUNCTIONS and name not in found:
            found[name] = None
            waiting += [x.func.id for x in ast.walk(FUNCTIONS[name]) if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)]
    return [in_numbers(env, line) for name in found for rows in range(TINY_ROWS + 1) if not rows or name in UNROLLED
            for line in MatrixWriter(name, prefix, env, rows).written(env.stack)]


def in_numbers(env: Environment, line: str) -> str:
    """A line that is written for doubles, for the numbers of a module."""
    return line if env.scalar == "double" else IN_DOUBLE.sub(lambda word: IN_SINGLE[word[0]], line)


def scratch(e: Equation[MatrixOperation]) -> Var:
    """A place for two matrices in rows of whole registers, of which none has more than 16 lanes, and for a factor."""
    n = matrix_extent(e)
    return Var(e.op.name, True, shape=(n * 3 + 1, n + 15))


# ---------------------------------------------------------------- a step

def matrix_step(env: Environment, step: ModuleStep, prefix: str) -> Addresses:
    """The function of one operation at all points of its box; its `place` is its `scratch`, without it there is one for `SMALL`
    rows on the stack. Elements that no point writes are 0, or where it `stays` what they were."""
    e, place, factor = step.equations[0], step.place, step.factor
    op = e.op
    box = Comprehension(ranges=op.ranges, guards=op.guards, write=padded(op.write, e.outs[0]), shape=op.shape, reduction="=",
                        sources=(), body=constant_body(0.0))
    f = Addresses(env, e, Schedule(box, e.args, (), ()))
    if op.name not in FUNCTIONS:   # by a callback
        return f
    if not step.stays:
        with f.each("0", f.product([f.number(x)[0] for x in op.shape])) as k:
            f.say(f"store {f.scalar} 0.0, ptr {f.put(f'getelementptr {f.scalar}, ptr {f.tensor(e.outs[0])}, i64 {k}')}")
    for r in op.ranges:
        f.open_loop(r.index, f.number(r.low)[0], f.number(r.high)[0], 1, ())
    for g in op.guards:
        f.open_condition(f.put(f"icmp sge i64 {f.number(g)[0]}, 0"))
    f.floor = len(f.frames) - 1
    if op.name == SEARCH:
        f.say(f"store {f.scalar} {searched(f, e, prefix)}, ptr {f.address(e.outs[0], box.write, 0)[0]}")
        return closed(f, op)
    matrix, *right = [f.address(e.args[s.arg], padded(s.subscripts, e.args[s.arg]), 0)[0] for s in op.sources]
    out, n = f.address(e.outs[0], box.write, 0)[0], f.number(matrix_extent(e))[0]
    columns = [f.product([f.number(x)[0] for x in trailing(e)[1:]])] if right else []
    given = [n, *columns, *(("1", n) if op.transposed else (n, "1")), matrix, *right]
    given += [] if op.name in NUMBERS else [out]
    rows = f.number(matrix_extent(e) + 15)[0]
    most = f.product([n, rows]) if place is not None else f"{SMALL * SMALL}"
    given.append(f.tensor(place) if place is not None else f.place(0, f"alloca {f.scalar}, i64 {3 * SMALL * SMALL + SMALL + 1}"))
    given.append(f.place(0, f"getelementptr {f.scalar}, ptr {given[-1]}, i64 {most}"))
    if op.name in FACTORING:
        given.append(f.place(0, f"getelementptr {f.scalar}, ptr {given[-1]}, i64 {most}") if factor is None else
                     f.address(factor.place, padded(factor.at, factor.place), 0)[0])
        given.append("0" if factor is None else "2" if factor.there else "1")
    call = in_numbers(env, called(op.name, prefix, given))
    if op.name in NUMBERS:
        f.say(f"store {f.scalar} {f.put(call)}, ptr {out}")
    else:
        f.say(call)
    return closed(f, op)


def searched(f: Addresses, e: Equation[MatrixOperation], prefix: str) -> str:
    """The number of elements of a vector that are at most a number; half of them are left in each turn."""
    vector, number = e.op.sources
    n, q = f.number(matrix_extent(e))[0], e.args[number.arg]
    f.env.declare("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1)")
    turns = f.put(f"sub i64 64, {f.put(f'call i64 @llvm.ctlz.i64(i64 {n}, i1 false)')}")
    value = f.scalars.constant(q.value) if isinstance(q, Lit) else \
        f.put(f"load {f.scalar}, ptr {f.address(q, number.subscripts, 0)[0]}")
    start = f.address(e.args[vector.arg], padded(vector.subscripts, e.args[vector.arg]), 0)[0]
    found = f.put(in_numbers(f.env, called(SEARCH, prefix, [n, turns, start, value])))
    return f.put(f"sitofp i64 {found} to {f.scalar}")


def closed(f: Addresses, op: MatrixOperation) -> Addresses:
    """The function, with the conditions and the loops around its points ended."""
    for _ in op.guards:
        f.close_condition()
    for r in reversed(op.ranges):
        del f.bound[r.index]
        f.close_loop([])
    return f


def padded(subscripts: tuple[Subscript, ...], atom: object) -> tuple[Subscript, ...]:
    """The subscripts of the first element of a matrix."""
    assert isinstance(atom, Var)
    return (*subscripts, *[affine(0)] * (len(shape_of(atom)) - len(subscripts)))
