"""Written-out programs of numbers as sums over the terms of a shape: one pattern times data.

    v = v + 100*(x1 - x0**2)**2
    v = v + 100*(x2 - x1**2)**2          v(o(t)) += d(t)*(x(k1(t)) - x(k0(t))**2)**2

Every output is a sum of terms. Those that apply the same operations to inputs and constants, in the same order, are one
statement, which reads through whole numbers what stands in each. So derivatives, and code, are made once for each shape.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var, definitions
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import paused
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, body_of
from adcli.lang.operations.elementwise import filled

ADD, SUB, NEG, MUL = TABLE["add"], TABLE["sub"], TABLE["neg"], TABLE["mul"]
LONGEST = 200
"""Operations of a term."""
MOST_SHAPES, LEAST_REPEATED = 64, 16
"""Shapes that there may be, and terms of a shape on average."""
MOST_AGAIN = 4
"""Operations of all terms, relative to those of the program, at most: terms share none."""
UNKNOWNS, OTHERS = "x", "c"
"""The vectors of the inputs that are differentiated by, and of the others."""


class Repeated(NamedTuple):
    """A program with tensors for one of numbers, whose inputs are vectors UNKNOWNS and OTHERS, the latter of the inputs `others`;
    its one output has the outputs as elements. `data` are the values of what else it reads."""

    program: Program
    others: list[str]
    data: dict[str, Any]


class PlainTerm(NamedTuple):
    """A term of an output: its operations, and the inputs and constants that they read, in order."""

    equations: list[Equation]
    value: Atom
    leaves: list[Atom]


@dataclass(eq=False)
class TermShape:
    """Terms of one shape, of which this is the `first`: of each the output, the factor and the leaves."""

    first: PlainTerm
    outputs: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    leaves: list[list[Atom]] = field(default_factory=list)


@paused()
def repeated(program: Program, wrt: Sequence[str]) -> Repeated | None:
    """The program as statements over the terms of each shape; None where few are alike."""
    column = {name: k for k, name in enumerate(wrt)}
    others = [p.name for p in program.params if p.name not in column]
    places = {p.var: (UNKNOWNS, column[p.name]) for p in program.params if p.name in column}
    places |= {program.param(name).var: (OTHERS, k) for k, name in enumerate(others)}
    shapes = shapes_of(program, places)
    if not shapes or len(shapes) > MOST_SHAPES or sum(len(s.outputs) for s in shapes) < LEAST_REPEATED * len(shapes):
        return None
    count = len(program.results)
    writer = ShapeWriter({UNKNOWNS: Var(UNKNOWNS, shape=(affine(len(wrt)),)), OTHERS: Var(OTHERS, shape=(affine(len(others)),))},
                         places, count)
    for s in shapes:
        writer.statement(s)
    params = [Param(v, v.name or "") for v in (*writer.vectors.values(), *writer.inputs)]
    made = Program(tuple(params), tuple(writer.b.equations), (Result("y", writer.total),))
    return Repeated(made, others, writer.data)


Places = Mapping[Var, tuple[str, int]]
"""For each input the vector that it is an element of, and its number."""


def shapes_of(program: Program, places: Places) -> list[TermShape] | None:
    """The terms of all outputs by their shapes; None where terms are long, or share much."""
    made = definitions(program.equations)
    found, left = dict[object, TermShape](), MOST_AGAIN * len(program.equations)
    for number, r in enumerate(program.results):
        sums: list[tuple[Atom, float]] = [(r.atom, 1.0)]
        while sums:
            a, factor = sums.pop()
            e = made.get(a) if isinstance(a, Var) else None
            left -= 1
            if isinstance(a, Lit):
                continue
            if e is not None and e.op in (ADD, SUB, NEG):
                sums += [(x, -factor if e.op is NEG or (e.op is SUB and k) else factor) for k, x in enumerate(e.args)]
                continue
            term, key = term_of(a, made, places)
            left -= len(term.equations)
            if left < 0 or len(term.equations) > LONGEST:
                return None
            shape = found.setdefault(key, TermShape(term))
            shape.outputs.append(number)
            shape.factors.append(factor)
            shape.leaves.append(term.leaves)
    return list(found.values())


def term_of(value: Atom, made: Mapping[Atom, Equation], places: Places) -> tuple[PlainTerm, object]:
    """A term, and a key that is equal for those of the same shape."""
    equations, codes, key, leaves = list[Equation](), dict[Atom, object](), list[object](), list[Atom]()

    def code(a: Atom, static: bool) -> object:
        if isinstance(a, Lit):
            if static or plain(a):
                return a.bits
            leaves.append(a)
            return len(leaves) - 1
        if a not in codes:   # an input
            leaves.append(a)
            codes[a] = places[a][0], len(leaves) - 1
        return codes[a]

    stack = [value]
    while stack and len(equations) <= LONGEST:
        a = stack[-1]
        e = made.get(a) if isinstance(a, Var) else None
        before = [] if e is None or a in codes else [x for x in e.args if x in made and x not in codes]
        if before:
            stack += reversed(before)
            continue
        stack.pop()
        if e is not None and a not in codes:
            key.append((e.op, *[code(x, k in e.op.static) for k, x in enumerate(e.args)]))
            codes[a] = len(equations),
            equations.append(e)
    if len(equations) <= LONGEST:
        key.append(code(value, False))
    return PlainTerm(equations, value, leaves), tuple(key)


def plain(a: Lit) -> bool:
    """True for a constant that is one of a formula rather than data."""
    return abs(a.value) <= 16 and a.value * 2 == int(a.value * 2)


class ShapeWriter:
    """Statements over the terms of shapes, with the inputs that these read."""

    def __init__(self, vectors: dict[str, Var], places: Places, outputs: int) -> None:
        self.vectors, self.places, self.b = vectors, places, Builder()
        self.inputs, self.data = list[Var](), dict[str, Any]()
        self.total: Atom = filled(self.b, (affine(outputs),), 0.0)

    def listed(self, values: Sequence[float], integer: bool = False) -> Var:
        """An input with an element for each term."""
        v = Var(f"{'k' if integer else 'd'}{len(self.inputs)}", shape=(affine(len(values)),), integer=integer)
        self.inputs.append(v)
        self.data[v.name or ""] = values
        return v

    def statement(self, s: TermShape) -> None:
        """Add the terms of a shape to the outputs."""
        t, args, sources, params, env = Index("t"), list[Var](), list[BodySource](), list[Param](), dict[Atom, Atom]()
        here = (affine(t),)

        def read(v: Var, *subscripts: Read) -> Read:
            args.append(v)
            return Read(len(args) - 1, subscripts or here)

        def source(x: BodySource) -> Var:
            sources.append(x)
            params.append(Param(Var(f"x{len(params)}"), f"x{len(params)}"))
            return params[-1].var

        lines = list(s.first.equations)
        for j, a in enumerate(s.first.leaves):
            every = [leaves[j] for leaves in s.leaves]
            if isinstance(a, Lit):
                numbers = source(read(self.listed([x.value for x in every if isinstance(x, Lit)])))
                lines = [replaced(e, a, numbers) for e in lines]
            else:
                subscripts = self.listed([self.places[x][1] for x in every if isinstance(x, Var)], True)
                env[a] = source(read(self.vectors[self.places[a][0]], read(subscripts)))
        env.update((out, Var(out.name, True, out.truth)) for e in lines for out in e.outs)
        b = Builder()
        b.equations = [e.substituted(env) for e in lines]
        value = b.expr(env[s.first.value])
        if any(f != 1 for f in s.factors):
            value = value * b.expr(source(read(self.listed(s.factors))))
        write = read(self.listed(s.outputs, True))
        args_with = (*args, self.total)
        op = Comprehension(ranges=(Range(t, affine(0), affine(len(s.outputs))),), write=(write,), shape=self.total.shape,
                           reduction="+", sources=tuple(sources), body=body_of(value.atom, params, b.equations), onto=len(args))
        self.total = self.b.emit(op, *args_with, shape=op.shape)


def replaced(e: Equation, literal: Lit, by: Var) -> Equation:
    """The equation with a variable for a constant, which is known by identity."""
    return e.with_args([by if a is literal else a for a in e.args]) if any(a is literal for a in e.args) else e
