"""Operations on matrices in LLVM IR, for modules that stand alone: what `adcli.codegen.c.matrices` writes in C, step by step.

A function takes the extents, the distances of the elements of the matrix along its rows and columns, the addresses of the matrix
and of the right-hand sides, of the result, and of a place for one matrix:

    void solve(i64 n, i64 columns, i64 row, i64 step, ptr matrix, ptr right, ptr result, ptr place)

The others have those of these that they need; `logdet` gives its number. Operations that a processor does in one way only are in
the order of the C, so that both give the same bits.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from adcli.codegen.nests.addresses import Addresses, Environment
from adcli.codegen.nests.frames import FunctionWriter
from adcli.codegen.nests.nest import Nest
from adcli.lang.ir import Equation, Var, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.ir.comprehension import Comprehension, Subscript, constant_body
from adcli.lang.ir.matrix import MatrixOperation, matrix_extent, trailing

SCRATCH = ("solve", "inverse", "logdet")
"""The operations that need a matrix beside their result."""
DECLARED = ("double @llvm.fabs.f64(double)", "double @llvm.sqrt.f64(double)", "double @log(double)")
IN_SINGLE = {"double": "float", "f64": "f32", "@log": "@logf", "align 8": "align 4"}
IN_DOUBLE = re.compile(r"\bdouble\b|(?<=llvm\.fabs\.|llvm\.sqrt\.)f64\b|@log\b|\balign 8\b")
"""What is written for doubles, and has other words for singles."""
NAN, BELOW_ALL = "0x7FF8000000000000", "0xFFF0000000000000"


def scratch(e: Equation) -> Var | None:
    """The matrix that an operation needs beside its result."""
    assert isinstance(e.op, MatrixOperation)
    n = matrix_extent(e)
    return Var(e.op.name, True, shape=(n, n)) if e.op.name in SCRATCH else None


# ---------------------------------------------------------------- functions

class MatrixFunction(FunctionWriter):
    """One of the functions; `prefix` stands before the names of all."""

    def __init__(self, prefix: str) -> None:
        super().__init__({})
        self.prefix = prefix

    @contextmanager
    def turns(self, low: str, high: str) -> Iterator[str]:
        """A loop from low to high - 1: its index."""
        self.open_loop(None, low, high, 1, ())
        yield self.frames[-1].index
        self.close_loop([])

    @contextmanager
    def only(self, holds: str) -> Iterator[None]:
        """What is done only where something holds."""
        self.open_condition(holds)
        yield
        self.close_condition()

    def carried(self, low: str, high: str, kind: str, start: str, turn: Callable[[str, str], str]) -> str:
        """What `turn` makes of an index and the value so far, from turn to turn."""
        (value,) = self.open_loop(None, low, high, 1, [(kind, start)])
        return self.close_loop([turn(self.frames[-1].index, value)])[0]

    def following(self, x: str) -> str:
        return self.put(f"add i64 {x}, 1")

    def at(self, base: str, i: str, row: str, j: str = "0", step: str = "1") -> str:
        """The address of an element."""
        down, along = self.put(f"mul i64 {i}, {row}"), self.put(f"mul i64 {j}, {step}")
        return self.put(f"getelementptr double, ptr {base}, i64 {self.put(f'add i64 {down}, {along}')}")

    def load(self, at: str) -> str:
        return self.put(f"load double, ptr {at}, align 8")

    def store(self, value: str, at: str) -> None:
        self.say(f"store double {value}, ptr {at}, align 8")

    def size(self, x: str) -> str:
        return self.put(f"call double @llvm.fabs.f64(double {x})")

    def negated(self, x: str) -> str:
        return self.put(f"xor i1 {x}, true")

    def less(self, rest: str, x: str, y: str) -> str:
        """rest - x*y"""
        return self.put(f"fsub double {rest}, {self.put(f'fmul double {x}, {y}')}")

    def call(self, name: str, *args: str) -> str:
        """A call of one of the functions."""
        kinds = [p.split()[0] for p in PARAMETERS[name]]
        given = ", ".join(f"{kind} {x}" for kind, x in zip(kinds, args, strict=True))
        return f"call {RETURNED.get(name, 'void')} @{self.prefix}.{name}({given})"


PARAMETERS = {
    "undefined": ("i64 count", "ptr x"),
    "finite": ("i64 n", "i64 row", "i64 step", "ptr m", "i64 part"),
    "eliminated": ("i64 n", "i64 columns", "i64 row", "i64 step", "ptr m", "ptr a", "ptr b"),
    "solve_upper": ("i64 n", "i64 columns", "i64 row", "i64 step", "ptr m", "ptr b", "ptr x"),
    "solve_lower": ("i64 n", "i64 columns", "i64 row", "i64 step", "ptr m", "ptr b", "ptr x"),
    "solve": ("i64 n", "i64 columns", "i64 row", "i64 step", "ptr m", "ptr b", "ptr x", "ptr a"),
    "inverse": ("i64 n", "i64 row", "i64 step", "ptr m", "ptr x", "ptr a"),
    "logdet": ("i64 n", "i64 row", "i64 step", "ptr m", "ptr a"),
    "cholesky": ("i64 n", "i64 row", "i64 step", "ptr m", "ptr x"),
}
RETURNED = {"finite": "i1", "eliminated": "i64", "logdet": "double"}


def undefined(f: MatrixFunction) -> str:
    with f.turns("0", "%count") as k:
        f.store(NAN, f.at("%x", k, "1"))
    return "void"


def finite(f: MatrixFunction) -> str:
    """Whether all elements of the matrix are finite, or with a part of 1 or -1 those of its upper or lower triangle."""
    upper, lower = f.put("icmp sgt i64 %part, 0"), f.put("icmp slt i64 %part, 0")

    def element(i: str, j: str, good: str) -> str:
        x = f.load(f.at("%m", i, "%row", j, "%step"))
        none = f.put(f"fsub double {x}, {x}")
        return f.put(f"and i1 {good}, {f.put(f'fcmp oeq double {none}, 0.0')}")

    def line(i: str, good: str) -> str:
        low = f.put(f"select i1 {upper}, i64 {i}, i64 0")
        high = f.put(f"select i1 {lower}, i64 {f.following(i)}, i64 %n")
        return f.carried(low, high, "i1", good, lambda j, good: element(i, j, good))
    return f"i1 {f.carried('0', '%n', 'i1', 'true', line)}"


def eliminated(f: MatrixFunction) -> str:
    """The sign of the permutation, 0 for a pivot that is 0."""
    with f.turns("0", "%n") as i, f.turns("0", "%n") as j:
        f.store(f.load(f.at("%m", i, "%row", j, "%step")), f.at("%a", i, "%n", j))

    def larger(k: str, i: str, best: str) -> str:
        one, other = (f.size(f.load(f.at("%a", x, "%n", k))) for x in (i, best))
        return f.put(f"select i1 {f.put(f'fcmp ogt double {one}, {other}')}, i64 {i}, i64 {best}")

    def swapped(base: str, k: str, best: str, columns: str) -> None:
        with f.turns("0", columns) as j:
            one, other = f.at(base, k, columns, j), f.at(base, best, columns, j)
            x, y = f.load(one), f.load(other)
            f.store(y, one)
            f.store(x, other)

    def reduced(base: str, ratio: str, i: str, k: str, low: str, columns: str) -> None:
        with f.turns(low, columns) as j:
            at = f.at(base, i, columns, j)
            f.store(f.less(f.load(at), ratio, f.load(f.at(base, k, columns, j))), at)

    def column(k: str, sign: str) -> str:
        best = f.carried(f.following(k), "%n", "i64", k, lambda i, best: larger(k, i, best))
        swapped("%a", k, best, "%n")
        swapped("%b", k, best, "%columns")
        same, pivot = f.put(f"icmp eq i64 {best}, {k}"), f.load(f.at("%a", k, "%n", k))
        sign = f.put(f"select i1 {same}, i64 {sign}, i64 {f.put(f'sub i64 0, {sign}')}")
        with f.turns(f.following(k), "%n") as i:
            ratio = f.put(f"fdiv double {f.load(f.at('%a', i, '%n', k))}, {pivot}")
            reduced("%a", ratio, i, k, f.following(k), "%n")
            reduced("%b", ratio, i, k, "0", "%columns")
        return f.put(f"select i1 {f.put(f'fcmp oeq double {pivot}, 0.0')}, i64 0, i64 {sign}")
    return f"i64 {f.carried('0', '%n', 'i64', '1', column)}"


def solve_upper(f: MatrixFunction) -> str:
    return substituted(f, "1")


def solve_lower(f: MatrixFunction) -> str:
    return substituted(f, "-1")


def substituted(f: MatrixFunction, part: str) -> str:
    """x with M*x = b, for the upper triangle with a part of 1, the lower with -1."""
    good = f.put(f.call("finite", "%n", "%row", "%step", "%m", part))

    def diagonal(i: str, good: str) -> str:
        some = f.put(f"fcmp une double {f.load(f.at('%m', i, '%row', i, '%step'))}, 0.0")
        return f.put(f"and i1 {good}, {some}")
    good = f.carried("0", "%n", "i1", good, diagonal)
    with f.only(f.negated(good)):
        f.say(f.call("undefined", f.put("mul i64 %n, %columns"), "%x"))
    with f.only(good), f.turns("0", "%n") as turn:
        i = turn if part == "-1" else f.put(f"sub i64 {f.put('sub i64 %n, 1')}, {turn}")
        low, high = ("0", i) if part == "-1" else (f.following(i), "%n")
        with f.turns("0", "%columns") as j:
            rest = f.carried(low, high, "double", f.load(f.at("%b", i, "%columns", j)), lambda k, rest: f.less(
                rest, f.load(f.at("%m", i, "%row", k, "%step")), f.load(f.at("%x", k, "%columns", j))))
            pivot = f.load(f.at("%m", i, "%row", i, "%step"))
            f.store(f.put(f"fdiv double {rest}, {pivot}"), f.at("%x", i, "%columns", j))
    return "void"


def solve(f: MatrixFunction) -> str:
    count = f.put("mul i64 %n, %columns")
    with f.turns("0", count) as k:
        f.store(f.load(f.at("%b", k, "1")), f.at("%x", k, "1"))
    return by_elimination(f, "%columns", count)


def inverse(f: MatrixFunction) -> str:
    with f.turns("0", "%n") as i, f.turns("0", "%n") as j:
        one = f.put(f"select i1 {f.put(f'icmp eq i64 {i}, {j}')}, double 1.0, double 0.0")
        f.store(one, f.at("%x", i, "%n", j))
    return by_elimination(f, "%n", f.put("mul i64 %n, %n"))


def by_elimination(f: MatrixFunction, columns: str, count: str) -> str:
    """The solution in the place of the right-hand sides x."""
    good = f.put(f.call("finite", "%n", "%row", "%step", "%m", "0"))
    sign = f.put(f.call("eliminated", "%n", columns, "%row", "%step", "%m", "%a", "%x"))
    good = f.put(f"and i1 {good}, {f.put(f'icmp ne i64 {sign}, 0')}")
    with f.only(good):
        f.say(f.call("solve_upper", "%n", columns, "%n", "1", "%a", "%x", "%x"))
    with f.only(f.negated(good)):
        f.say(f.call("undefined", count, "%x"))
    return "void"


def logdet(f: MatrixFunction) -> str:
    good = f.put(f.call("finite", "%n", "%row", "%step", "%m", "0"))
    sign = f.put(f.call("eliminated", "%n", "0", "%row", "%step", "%m", "%a", "%a"))

    def diagonal(i: str) -> str:
        return f.load(f.at("%a", i, "%n", i))

    def turned(i: str, sign: str) -> str:
        below = f.put(f"fcmp olt double {diagonal(i)}, 0.0")
        return f.put(f"select i1 {below}, i64 {f.put(f'sub i64 0, {sign}')}, i64 {sign}")

    def added(i: str, total: str) -> str:
        size = f.size(diagonal(i))
        return f.put(f"fadd double {total}, {f.put(f'call double @log(double {size})')}")
    singular = f.put(f"icmp eq i64 {sign}, 0")
    sign = f.carried("0", "%n", "i64", sign, turned)
    total = f.carried("0", "%n", "double", "0.0", added)
    value = f.put(f"select i1 {f.put(f'icmp sgt i64 {sign}, 0')}, double {total}, double {NAN}")
    value = f.put(f"select i1 {singular}, double {BELOW_ALL}, double {value}")
    return f"double {f.put(f'select i1 {good}, double {value}, double {NAN}')}"


def cholesky(f: MatrixFunction) -> str:
    good = f.put(f.call("finite", "%n", "%row", "%step", "%m", "0"))

    def start(i: str, j: str) -> str:
        one, other = (f.put(f"fmul double 0.5, {f.load(f.at('%m', x, '%row', y, '%step'))}") for x, y in ((i, j), (j, i)))
        return f.put(f"fadd double {one}, {other}")

    def element(i: str, j: str, good: str) -> str:
        rest = f.carried("0", j, "double", start(i, j), lambda k, rest: f.less(
            rest, f.load(f.at("%x", i, "%n", k)), f.load(f.at("%x", j, "%n", k))))
        here, above = f.put(f"icmp eq i64 {i}, {j}"), f.put(f"fcmp ogt double {rest}, 0.0")
        pivot = f.put(f"select i1 {here}, double 1.0, double {f.load(f.at('%x', j, '%n', j))}")
        root, ratio = f.put(f"call double @llvm.sqrt.f64(double {rest})"), f.put(f"fdiv double {rest}, {pivot}")
        f.store(f.put(f"select i1 {here}, double {root}, double {ratio}"), f.at("%x", i, "%n", j))
        fails = f.put(f"and i1 {here}, {f.negated(above)}")
        return f.put(f"and i1 {good}, {f.negated(fails)}")

    def line(i: str, good: str) -> str:
        with f.turns("0", "%n") as j:
            f.store("0.0", f.at("%x", i, "%n", j))
        return f.carried("0", f.following(i), "i1", good, lambda j, good: element(i, j, good))
    good = f.carried("0", "%n", "i1", good, line)
    with f.only(f.negated(good)):
        f.say(f.call("undefined", f.put("mul i64 %n, %n"), "%x"))
    return "void"


FUNCTIONS: dict[str, Callable[[MatrixFunction], str]] = {
    "undefined": undefined, "finite": finite, "eliminated": eliminated, "solve_upper": solve_upper, "solve_lower": solve_lower,
    "solve": solve, "inverse": inverse, "logdet": logdet, "cholesky": cholesky}


def functions(env: Environment, prefix: str) -> list[str]:
    """All functions; LLVM leaves out those that nothing calls."""
    for line in DECLARED:
        declared = in_numbers(env, line)
        env.declare(declared.partition("@")[2].partition("(")[0], f"declare {declared}")
    env.on(1).externals.add(in_numbers(env, "@log").removeprefix("@"))
    lines: list[str] = []
    for name, write in FUNCTIONS.items():
        f = MatrixFunction(prefix)
        returned = write(f)
        f.say(f"ret {returned}")
        params = ", ".join(f"{kind} %{x}" for kind, x in map(str.split, PARAMETERS[name]))
        lines += [f"define internal {RETURNED.get(name, 'void')} @{prefix}.{name}({params}) {{", *f.text(), "}", ""]
    return [in_numbers(env, line) for line in lines]


def in_numbers(env: Environment, line: str) -> str:
    """A line that is written for doubles, for the numbers of a module."""
    return line if env.scalar == "double" else IN_DOUBLE.sub(lambda word: IN_SINGLE[word[0]], line)


# ---------------------------------------------------------------- a step

def matrix_step(env: Environment, e: Equation, place: Var | None, stays: bool, prefix: str) -> list[str]:
    """What computes one operation at all points of its box, without its head and the cells; `place` is for one matrix. Elements
    that no point writes are 0, or with `stays` what they were."""
    op = e.op
    assert isinstance(op, MatrixOperation)
    box = Comprehension(ranges=op.ranges, guards=op.guards, write=padded(op.write, e.outs[0]), shape=op.shape, reduction="=",
                        sources=(), body=constant_body(0.0))
    f = Addresses(env, e, Nest(box, e.args, (), ()))
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
    given += ([] if op.name == "logdet" else [out]) + ([f.tensor(place)] if place is not None else [])
    call = in_numbers(env, MatrixFunction(prefix).call(op.name, *given))
    if op.name == "logdet":
        f.say(f"store {f.scalar} {f.put(call)}, ptr {out}")
    else:
        f.say(call)
    for _ in op.guards:
        f.close_condition()
    for r in reversed(op.ranges):
        del f.bound[r.index]
        f.close_loop([])
    f.say("ret void")
    cells = [f"  %cells = alloca i64, i64 {max(1, len(f.cells))}"]
    for k, position in enumerate(f.cells):
        cells += [f"  %cells.{k}.at = getelementptr i64, ptr %cells, i64 {k}", f"  store i64 {position}, ptr %cells.{k}.at"]
    f.chunks[0] += cells
    return f.text()


def padded(subscripts: tuple[Subscript, ...], atom: object) -> tuple[Subscript, ...]:
    """The subscripts of the first element of a matrix."""
    assert isinstance(atom, Var)
    return (*subscripts, *[affine(0)] * (len(shape_of(atom)) - len(subscripts)))
