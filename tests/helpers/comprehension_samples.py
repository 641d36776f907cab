"""Programs of comprehensions as plain data, as IR, and as what they mean, by loops that know nothing of the IR.

A `Sample` is written down as data (`Statement`, `Access`, `Line`, expressions as nested tuples). `program` builds the IR
from it; `meaning` walks every point of every box with Python's own loops on any kind of number. `stated` and `written` are
for samples by hand; tests/helpers/random_comprehensions.py writes them at random.
"""
from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath
import numpy as np
from adcli.lang.ir import Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.errors import Source
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, Range, Read

# ---------------------------------------------------------------- the data

@dataclass(frozen=True)
class Line:
    """Σ coefficient · name + constant; names are those of indices and sizes."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def at(self, known: Mapping[str, int]) -> int:
        return self.constant + sum(c * known[n] for n, c in self.terms)

    def plus(self, other: Line, factor: int = 1) -> Line:
        sums = dict(self.terms)
        for n, c in other.terms:
            sums[n] = sums.get(n, 0) + factor * c
        return Line(tuple((n, c) for n, c in sums.items() if c), self.constant + factor * other.constant)


@dataclass(frozen=True)
class Access:
    tensor: str
    subscripts: tuple[Any, ...]


@dataclass(frozen=True)
class Statement:
    out: str
    ranges: tuple[tuple[str, Line, Line], ...]
    guards: tuple[Line, ...]
    write: tuple[Any, ...]
    shape: tuple[Line, ...]
    reduction: str
    sources: tuple[Any, ...]
    body: Any
    onto: str | None = None


@dataclass(frozen=True)
class Scalar:
    out: str
    body: Any
    args: tuple[str, ...]


@dataclass
class Sample:
    sizes: dict[str, int]
    shapes: dict[str, tuple[Line, ...]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    statements: list[Statement | Scalar] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    @property
    def reals(self) -> list[str]:
        """The inputs that have derivatives."""
        return [n for n in self.values if n not in self.integers]

    def extents(self, name: str) -> tuple[int, ...]:
        return tuple(x.at(self.sizes) for x in self.shapes[name])

    def program(self) -> Program:
        return _build(self)

    def meaning(self, values: Mapping[str, Any] | None = None, numbers: Numbers | None = None) -> dict[str, Any]:
        """The results for values of the inputs (default: the sample's own), as arrays."""
        return _meaning(self, self.values if values is None else values, numbers or FLOATS)


# ---------------------------------------------------------------- what it means

@dataclass(frozen=True)
class Numbers:
    """A kind of number and its functions."""

    make: Callable[[Any], Any]
    functions: Any


FLOATS, BIG = Numbers(float, math), Numbers(mpmath.mpf, mpmath)

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda f, x, y: x + y, "sub": lambda f, x, y: x - y, "mul": lambda f, x, y: x * y, "neg": lambda f, x: -x,
    "div": lambda f, x, y: x / y, "sin": lambda f, x: f.sin(x), "exp": lambda f, x: f.exp(x), "tanh": lambda f, x: f.tanh(x),
    "sqrt": lambda f, x: f.sqrt(x), "relu": lambda f, x: x if x > 0 else 0 * x, "max": lambda f, x, y: x if x > y else y,
    "min": lambda f, x, y: x if x < y else y, "where": lambda f, x, y, u, v: u if x < y else v}



def log_of_both(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), in digits enough that it does not matter how."""
    if x in (-math.inf, math.inf) or y in (-math.inf, math.inf):
        return y if x == -math.inf else x if y == -math.inf else x + y
    with mpmath.workdps(60):
        z = mpmath.log(mpmath.exp(x) + mpmath.exp(y))
    return z if isinstance(x, mpmath.mpf) else type(x)(z)


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda old, new: new, "+": lambda old, new: old + new, "*": lambda old, new: old * new,
    "min": lambda old, new: new if new < old else old, "max": lambda old, new: new if new > old else old, "lse": log_of_both}
FIRST = {"=": 0, "+": 0, "*": 1, "min": math.inf, "max": -math.inf, "lse": -math.inf}


def _value(body: Any, inputs: list[Any], n: Numbers) -> Any:
    match body:
        case int():
            return inputs[body]
        case float():
            return n.make(body)
        case (name, *parts):
            return OPERATIONS[name](n.functions, *[_value(p, inputs, n) for p in parts])


def _meaning(sample: Sample, values: Mapping[str, Any], n: Numbers) -> dict[str, Any]:
    known: dict[str, Any] = dict(values)
    for s in sample.statements:
        if isinstance(s, Scalar):
            known[s.out] = _value(s.body, [known[a] for a in s.args], n)
        else:
            known[s.out] = _run(sample, s, known, n)
    return {r: known[r] for r in sample.results}


def _run(sample: Sample, s: Statement, known: Mapping[str, Any], n: Numbers) -> Any:
    shape = tuple(x.at(sample.sizes) for x in s.shape)
    out = {at: n.make(FIRST[s.reduction]) for at in itertools.product(*map(range, shape))}
    if s.onto:
        out = {at: known[s.onto][at] if shape else known[s.onto] for at in out}
    for point in itertools.product(*[range(low.at(sample.sizes), high.at(sample.sizes)) for _, low, high in s.ranges]):
        here = {**sample.sizes, **dict(zip([i for i, _, _ in s.ranges], point, strict=True))}
        if all(g.at(here) >= 0 for g in s.guards):
            inputs = [_element(x, known, here, n) for x in s.sources]
            at = tuple(_subscript(x, known, here) for x in s.write)
            out[at] = COMBINE[s.reduction](out[at], _value(s.body, inputs, n))
    if not shape:
        return out[()]
    array = np.empty(shape, object)
    for at, x in out.items():
        array[at] = x
    return array


def _element(x: Any, known: Mapping[str, Any], here: Mapping[str, int], n: Numbers) -> Any:
    if isinstance(x, Line):
        return n.make(x.at(here))
    at = tuple(_subscript(s, known, here) for s in x.subscripts)
    got = known[x.tensor][at] if at else known[x.tensor]
    return n.make(int(got) if isinstance(got, np.integer) else got)


def _subscript(x: Any, known: Mapping[str, Any], here: Mapping[str, int]) -> int:
    if isinstance(x, Line):
        return x.at(here)
    return int(known[x.tensor][tuple(_subscript(s, known, here) for s in x.subscripts)])


# ---------------------------------------------------------------- the IR

def _build(sample: Sample) -> Program:
    variables: dict[str, Var] = {}
    params, equations = [], []
    for name in sample.values:
        shape = tuple(_affine(x, {}) for x in sample.shapes[name])
        variables[name] = Var(name, shape=shape, integer=name in sample.integers)
        params.append(Param(variables[name], name))
    for s in sample.statements:
        if isinstance(s, Scalar):
            b = Builder()
            value = expression(b, s.body, [b.expr(variables[a]) for a in s.args])
            equations += b.equations
            assert isinstance(value.atom, Var)
            variables[s.out] = value.atom
        else:
            op, args = _comprehension(s)
            variables[s.out] = Var(s.out, shape=op.shape)
            equations.append(Equation((variables[s.out],), op, tuple(variables[a] for a in args)))
    return Program(tuple(params), tuple(equations), tuple(Result(r, variables[r]) for r in sample.results))


def _comprehension(s: Statement) -> tuple[Comprehension, list[str]]:
    indices = {i: Index(i) for i, _, _ in s.ranges}
    args: list[str] = []

    def convert(x: Any) -> Any:
        if isinstance(x, Line):
            return _affine(x, indices)
        args.append(x.tensor)
        return Read(len(args) - 1, tuple([convert(y) for y in x.subscripts]))

    sources, write = tuple(map(convert, s.sources)), tuple(map(convert, s.write))
    if s.onto:
        args.append(s.onto)
    ranges = tuple(Range(indices[i], _affine(low, {}), _affine(high, {})) for i, low, high in s.ranges)
    body = scalar_program(s.body, len(s.sources))
    return Comprehension(ranges=ranges, guards=tuple(_affine(g, indices) for g in s.guards), write=write,
                         shape=tuple(_affine(x, {}) for x in s.shape), reduction=s.reduction, sources=sources, body=body,
                         onto=len(args) - 1 if s.onto else None), args


def scalar_program(body: Any, count: int) -> Program:
    """An expression of `count` inputs as the body of a comprehension."""
    params, b = tuple(Param(Var(f"x{i}"), f"x{i}") for i in range(count)), Builder()
    value = expression(b, body, [b.expr(p.var) for p in params])
    return Program(params, tuple(b.equations), (Result("z", value.atom),))


def expression(b: Builder, body: Any, inputs: list[Expr]) -> Expr:
    match body:
        case int():
            return inputs[body]
        case float():
            return b.expr(Lit(body))
        case ("where", x, y, u, v):
            left, right, one, other = (expression(b, p, inputs) for p in (x, y, u, v))
            condition = b.expr(b.emit(TABLE["lt"], left.atom, right.atom))
            return apply(TABLE["select"], condition, one, other)
        case (name, *parts):
            return b.expr(b.emit(TABLE[name], *[expression(b, p, inputs).atom for p in parts]))
    raise AssertionError(body)


def _affine(x: Line, indices: Mapping[str, Index]) -> Affine:
    whole = affine(x.constant)
    for name, c in x.terms:
        whole = whole + affine(indices.get(name, name)) * c
    return whole


# ---------------------------------------------------------------- by hand

def line(text: str) -> Line:
    """2*i + kh - 1 as a Line."""
    whole = Line()
    for sign, factor, name, constant in re.findall(r"([+-]?)\s*(?:(?:(\d+)\s*\*\s*)?([A-Za-z_]\w*)|(\d+))", text):
        c = -1 if sign == "-" else 1
        whole = whole.plus(Line(((name, c * int(factor or 1)),)) if name else Line((), c * int(constant)))
    return whole


def access(text: str) -> Any:
    """A(i, I(j)) as an Access; anything that is not one as a Line."""
    name, _, inside = text.strip().partition("(")
    if not inside:
        return line(name)
    return Access(name.strip(), tuple(access(s) for s in _split(inside.strip()[:-1], ",")))


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that stand outside of parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == separator and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p.strip()]


def stated(out: str, reduction: str, sources: str, body: Any, where: str, shape: str = "", guards: str = "",
           onto: str | None = None) -> Statement:
    """stated("C(i)", "+", "A(i, j); B(j)", ("mul", 0, 1), "i:M j:0:N", "M") is C(i) +=! A(i, j) * B(j)."""
    target = access(out) if "(" in out else Access(out, ())
    ranges = [r.split(":") for r in where.split()]
    box = tuple((r[0], line(r[1] if len(r) > 2 else "0"), line(r[-1])) for r in ranges)
    return Statement(target.tensor, box, tuple(map(line, _split(guards, ";"))), target.subscripts,
                     tuple(map(line, _split(shape, ","))), reduction, tuple(map(access, _split(sources, ";"))), body, onto)


def written(inputs: Mapping[str, tuple[str, Any]], *statements: Statement | Scalar, results: str, integers: str = "") -> Sample:
    """A sample by hand: inputs with their shapes and values, statements, names of the results and of integer tensors."""
    made = Sample({}, integers=set(integers.split()), statements=list(statements), results=results.split())
    for name, (shape, value) in inputs.items():
        made.shapes[name] = tuple(map(line, _split(shape, ",")))
        made.values[name] = np.array(value, int if name in made.integers else float) if shape else float(value)
        made.sizes.update({x.terms[0][0]: n for x, n in zip(made.shapes[name], np.shape(value), strict=True) if x.terms})
    made.shapes.update({s.out: s.shape if isinstance(s, Statement) else () for s in statements})
    return made


def convolution(image: int = 7, kernel: int = 3) -> Sample:
    """O(h) = Σ I(h + k)·W(k)."""
    return written({"I": ("H", [0.0] * image), "W": ("K", [1.0] * kernel)},
                   stated("O(h)", "+", "I(h + k); W(k)", ("mul", 0, 1), "h:H-K+1 k:K", "H - K + 1"), results="O")


def with_op(program: Program, **changes: object) -> Program:
    """The program with its only comprehension changed."""
    [e] = program.equations
    return replace(program, equations=(replace(e, op=replace(e.op, **changes), span=(0, 4)),), source=Source("t.ad", "O(h) = …"))
