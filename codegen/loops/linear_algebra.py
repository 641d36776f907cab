"""Operations on matrices in LLVM IR, for modules that stand alone, as `adcli.codegen.c.matrix_functions` has them in C.

`ALGORITHMS` is their text in a few words of Python: loops over ranges, conditions, and arithmetic on whole numbers and doubles.
Operations that a processor does in one way only are in the order of the C, so that both give the same bits.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from adcli.codegen.loops.addresses import Addresses, Environment
from adcli.codegen.loops.frames import FunctionWriter
from adcli.codegen.nests.schedule import Schedule
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir import Equation, Var, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.operations.comprehension import Comprehension, Subscript, constant_body
from adcli.lang.operations.matrix import FACTORED, NUMBERS, MatrixOperation, matrix_extent, trailing

ALGORITHMS = """
def undefined(count, x):
    for k in range(0, count):
        x[k] = NAN

def finite(n, row, step, m, part):    # of the upper triangle with a part of 1, of the lower with -1
    good = True
    for i in range(0, n):
        for j in range(i if part > 0 else 0, i + 1 if part < 0 else n):
            x = m[i*row + j*step]
            good = good and x - x == 0.0
    return good

def eliminated(n, columns, row, step, m, a, b):    # the sign of the permutation, 0 for a pivot that is 0
    sign = 1
    for i in range(0, n):
        for j in range(0, n):
            a[i*n + j] = m[i*row + j*step]
    for k in range(0, n):
        best = k
        for i in range(k + 1, n):
            best = i if fabs(a[i*n + k]) > fabs(a[best*n + k]) else best
        for j in range(0, n):
            held = a[k*n + j]
            a[k*n + j] = a[best*n + j]
            a[best*n + j] = held
        for j in range(0, columns):
            held = b[k*columns + j]
            b[k*columns + j] = b[best*columns + j]
            b[best*columns + j] = held
        sign = sign if best == k else 0 - sign
        pivot = a[k*n + k]
        for i in range(k + 1, n):
            ratio = a[i*n + k] / pivot
            for j in range(k + 1, n):
                a[i*n + j] = a[i*n + j] - ratio*a[k*n + j]
            for j in range(0, columns):
                b[i*columns + j] = b[i*columns + j] - ratio*b[k*columns + j]
        sign = 0 if pivot == 0.0 else sign
    return sign

def solve_upper(n, columns, row, step, m, b, x):
    good = finite(n, row, step, m, 1)
    for i in range(0, n):
        good = good and m[i*row + i*step] != 0.0
    if good:
        for k in range(0, n*columns):
            x[k] = b[k]
        for turn in range(0, n):
            k = n - 1 - turn
            for j in range(0, columns):
                x[k*columns + j] = x[k*columns + j] / m[k*row + k*step]
            for i in range(0, k):
                factor = m[i*row + k*step]
                for j in range(0, columns):
                    x[i*columns + j] = x[i*columns + j] - factor*x[k*columns + j]
    else:
        undefined(n*columns, x)

def solve_lower(n, columns, row, step, m, b, x):
    good = finite(n, row, step, m, -1)
    for i in range(0, n):
        good = good and m[i*row + i*step] != 0.0
    if good:
        for k in range(0, n*columns):
            x[k] = b[k]
        for k in range(0, n):
            for j in range(0, columns):
                x[k*columns + j] = x[k*columns + j] / m[k*row + k*step]
            for i in range(k + 1, n):
                factor = m[i*row + k*step]
                for j in range(0, columns):
                    x[i*columns + j] = x[i*columns + j] - factor*x[k*columns + j]
    else:
        undefined(n*columns, x)

def solve(n, columns, row, step, m, b, x, a):
    for k in range(0, n*columns):
        x[k] = b[k]
    good = finite(n, row, step, m, 0)
    sign = eliminated(n, columns, row, step, m, a, x)
    if good and sign != 0:
        solve_upper(n, columns, n, 1, a, x, x)
    else:
        undefined(n*columns, x)

def inverse(n, row, step, m, x, a):
    for i in range(0, n):
        for j in range(0, n):
            x[i*n + j] = 1.0 if i == j else 0.0
    solve(n, n, row, step, m, x, x, a)

def det(n, row, step, m, a):
    good = finite(n, row, step, m, 0)
    sign = eliminated(n, 0, row, step, m, a, a)
    product = 1.0 if sign > 0 else 0.0 - 1.0
    for i in range(0, n):
        product = product*a[i*n + i]
    product = 0.0 if sign == 0 else product
    return product if good else NAN

def logdet(n, row, step, m, a):
    good = finite(n, row, step, m, 0)
    sign = eliminated(n, 0, row, step, m, a, a)
    singular = sign == 0
    total = 0.0
    for i in range(0, n):
        sign = 0 - sign if a[i*n + i] < 0.0 else sign
        total = total + log(fabs(a[i*n + i]))
    value = total if sign > 0 else NAN
    value = BELOW_ALL if singular else value
    return value if good else NAN

def cholesky(n, row, step, m, x):
    good = finite(n, row, step, m, 0)
    for i in range(0, n):
        for j in range(i, n):
            x[i*n + j] = 0.5*m[i*row + j*step] + 0.5*m[j*row + i*step]
    for k in range(0, n):    # its transpose first, along rows
        good = good and x[k*n + k] > 0.0
        root = sqrt(x[k*n + k])
        x[k*n + k] = root
        for j in range(k + 1, n):
            x[k*n + j] = x[k*n + j] / root
        for i in range(k + 1, n):
            factor = x[k*n + i]
            for j in range(i, n):
                x[i*n + j] = x[i*n + j] - factor*x[k*n + j]
    for i in range(0, n):
        for j in range(0, i):
            x[i*n + j] = x[j*n + i]
            x[j*n + i] = 0.0
    if not good:
        undefined(n*n, x)
"""
"""A matrix has its element i, j at i*row + j*step, so that a transposed one needs no copy; a is a place for a matrix."""
FUNCTIONS = {f.name: f for f in ast.parse(ALGORITHMS).body if isinstance(f, ast.FunctionDef)}
RETURNED = {"finite": "i1", "eliminated": "i64", "logdet": "double", "det": "double"}
TENSORS = ("m", "a", "b", "x")
CONSTANTS = {"NAN": ("0x7FF8000000000000", "double"), "BELOW_ALL": ("0xFFF0000000000000", "double")}
LIBRARY = {"fabs": "llvm.fabs.f64", "sqrt": "llvm.sqrt.f64", "log": "log"}
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
COMPARISONS = {ast.Gt: ("sgt", "ogt"), ast.Lt: ("slt", "olt"), ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une")}
IN_SINGLE = {"double": "float", "f64": "f32", "@log": "@logf", "align 8": "align 4"}
IN_DOUBLE = re.compile(r"\bdouble\b|(?<=llvm\.fabs\.|llvm\.sqrt\.)f64\b|@log\b|\balign 8\b")
"""Words of LLVM for doubles that differ for singles."""
Typed = tuple[str, str]
"""How a value is written, and its type."""


# ---------------------------------------------------------------- algorithms as functions

def parameters(name: str) -> list[Typed]:
    names = [a.arg for a in FUNCTIONS[name].args.args]
    return [(f"%{x}", "ptr" if x in TENSORS else "i64") for x in names]


def called(name: str, prefix: str, args: Iterable[str]) -> str:
    """A call of one of the functions; `prefix` stands before the names of all."""
    given = ", ".join(f"{kind} {x}" for (_, kind), x in zip(parameters(name), args, strict=True))
    return f"call {RETURNED.get(name, 'void')} @{prefix}.{name}({given})"


class Translator(FunctionWriter):
    """Writes one algorithm as a function; `known` are the values of its names where the text has come to."""

    def __init__(self, name: str, prefix: str) -> None:
        super().__init__({})
        self.name, self.prefix, self.ended = name, prefix, "ret void"
        self.known = CONSTANTS | dict(zip([a.arg for a in FUNCTIONS[name].args.args], parameters(name), strict=True))

    def written(self) -> list[str]:
        self.run(FUNCTIONS[self.name].body)
        self.say(self.ended)
        params = ", ".join(f"{kind} {x}" for x, kind in parameters(self.name))
        returned = RETURNED.get(self.name, "void")
        return [f"define internal {returned} @{self.prefix}.{self.name}({params}) {{", *self.text(), "}", ""]

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            match s:
                case ast.Assign([ast.Name(name)], value):
                    self.known[name] = self.value(value)
                case ast.Assign([ast.Subscript() as target], value):
                    text, kind = self.value(value)
                    self.say(f"store {kind} {text}, ptr {self.place_of(target)}, align 8")
                case ast.For(ast.Name(name), ast.Call(args=[low, high]), body):
                    self.loop(name, self.value(low)[0], self.value(high)[0], body)
                case ast.If(test, body, other):
                    holds = self.value(test)[0]
                    self.only(holds, body)
                    self.only(self.put(f"xor i1 {holds}, true"), other)
                case ast.Expr(ast.Call(ast.Name(name), args)):
                    self.say(called(name, self.prefix, [self.value(x)[0] for x in args]))
                case ast.Return(ast.expr() as value):
                    text, kind = self.value(value)
                    self.ended = f"ret {kind} {text}"

    def loop(self, name: str, low: str, high: str, body: Sequence[ast.stmt]) -> None:
        """A loop, with what it assigns of what was known before carried from turn to turn."""
        names = [x.id for s in body for x in ast.walk(s) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
        outside, carried = dict(self.known), [x for x in dict.fromkeys(names) if x in self.known]
        kinds = [self.known[x][1] for x in carried]
        names = self.open_loop(None, low, high, 1, [(kind, self.known[x][0]) for x, kind in zip(carried, kinds, strict=True)])
        self.known |= dict(zip(carried, zip(names, kinds, strict=True), strict=True))
        self.known[name] = self.frames[-1].index, "i64"
        self.run(body)
        after = self.close_loop([self.known[x][0] for x in carried])
        self.known = outside | dict(zip(carried, zip(after, kinds, strict=True), strict=True))

    def only(self, holds: str, body: Sequence[ast.stmt]) -> None:
        """Conditional block; it assigns no name that is read after it."""
        if body:
            outside = dict(self.known)
            self.open_condition(holds)
            self.run(body)
            self.close_condition()
            self.known = outside

    def place_of(self, x: ast.Subscript) -> str:
        return self.put(f"getelementptr double, ptr {self.value(x.value)[0]}, i64 {self.value(x.slice)[0]}")

    def value(self, x: ast.expr) -> Typed:
        match x:
            case ast.Constant(bool() as value):
                return str(value).lower(), "i1"
            case ast.Constant(value):
                return repr(value), "double" if isinstance(value, float) else "i64"
            case ast.Name(name):
                return self.known[name]
            case ast.Subscript():
                return self.put(f"load double, ptr {self.place_of(x)}, align 8"), "double"
            case ast.Call(ast.Name(name), args):
                given = [self.value(a)[0] for a in args]
                if name in LIBRARY:
                    return self.put(f"call double @{LIBRARY[name]}(double {given[0]})"), "double"
                return self.put(called(name, self.prefix, given)), RETURNED[name]
            case ast.IfExp(test, body, other):
                (holds, _), (one, kind), (two, _) = self.value(test), self.value(body), self.value(other)
                return self.put(f"select i1 {holds}, {kind} {one}, {kind} {two}"), kind
            case ast.BoolOp(op, [left, right]):
                word = "and" if isinstance(op, ast.And) else "or"
                return self.put(f"{word} i1 {self.value(left)[0]}, {self.value(right)[0]}"), "i1"
            case ast.UnaryOp(ast.Not(), operand):
                return self.put(f"xor i1 {self.value(operand)[0]}, true"), "i1"
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
                return f"-{value}", "i64"
            case ast.Compare(left, [op], [right]):
                (one, kind), (two, _) = self.value(left), self.value(right)
                of_numbers, of_reals = COMPARISONS[type(op)]
                compare = f"fcmp {of_reals}" if kind == "double" else f"icmp {of_numbers}"
                return self.put(f"{compare} {kind} {one}, {two}"), "i1"
        assert isinstance(x, ast.BinOp)   # which is all else that ALGORITHMS has
        (one, kind), (two, _) = self.value(x.left), self.value(x.right)
        return self.put(f"{'f' * (kind == 'double')}{ARITHMETIC[type(x.op)]} {kind} {one}, {two}"), kind


def functions(env: Environment, prefix: str) -> list[str]:
    """All functions; LLVM leaves out those that nothing calls."""
    for symbol in LIBRARY.values():
        declared = in_numbers(env, f"double @{symbol}(double)")
        env.declare(declared.partition("@")[2].partition("(")[0], f"declare {declared}")
    env.on(1).externals.add(in_numbers(env, "@log").removeprefix("@"))
    return [in_numbers(env, line) for name in FUNCTIONS for line in Translator(name, prefix).written()]


def in_numbers(env: Environment, line: str) -> str:
    """A line that is written for doubles, for the numbers of a module."""
    return line if env.scalar == "double" else IN_DOUBLE.sub(lambda word: IN_SINGLE[word[0]], line)


# ---------------------------------------------------------------- a step

def matrix_step(env: Environment, e: Equation[MatrixOperation], place: Var | None, stays: bool, prefix: str) -> Addresses:
    """The function of one operation at all points of its box; `place` is for one matrix, without it there is one of `SMALL` rows
    on the stack. Elements that no point writes are 0, or with `stays` what they were."""
    op = e.op
    box = Comprehension(ranges=op.ranges, guards=op.guards, write=padded(op.write, e.outs[0]), shape=op.shape, reduction="=",
                        sources=(), body=constant_body(0.0))
    f = Addresses(env, e, Schedule(box, e.args, (), ()))
    if op.name in FACTORED:   # by a callback
        return f
    if not stays:
        f.open_loop(None, "0", f.product([f.number(x)[0] for x in op.shape]), 1, ())
        at = f.put(f"getelementptr {f.scalar}, ptr {f.tensor(e.outs[0])}, i64 {f.frames[-1].index}")
        f.say(f"store {f.scalar} 0.0, ptr {at}")
        f.close_loop([])
    for r in op.ranges:
        f.open_loop(r.index, f.number(r.low)[0], f.number(r.high)[0], 1, ())
    for g in op.guards:
        f.open_condition(f.put(f"icmp sge i64 {f.number(g)[0]}, 0"))
    f.floor = len(f.frames) - 1
    matrix, *right = [f.address(e.args[s.arg], padded(s.subscripts, e.args[s.arg]), 0)[0] for s in op.sources]
    out, n = f.address(e.outs[0], box.write, 0)[0], f.number(matrix_extent(e))[0]
    columns = [f.product([f.number(x)[0] for x in trailing(e)[1:]])] if right else []
    given = [n, *columns, *(("1", n) if op.transposed else (n, "1")), matrix, *right]
    given += [] if op.name in NUMBERS else [out]
    if "a" in [a.arg for a in FUNCTIONS[op.name].args.args]:
        given.append(f.tensor(place) if place is not None else f.place(0, f"alloca {f.scalar}, i64 {SMALL * SMALL}"))
    call = in_numbers(env, called(op.name, prefix, given))
    if op.name in NUMBERS:
        f.say(f"store {f.scalar} {f.put(call)}, ptr {out}")
    else:
        f.say(call)
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
