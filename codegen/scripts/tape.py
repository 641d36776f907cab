"""Programs of any rank as plain data, for an interpreter of a few lines: what a page evaluates without being compiled.

    tape      ::= {inputs: count, operations: [name …], constants: [number …], equations: [[op, atom …] …], results: [atom …],
                   comprehensions: [comprehension …]}
    atom      ::= k, the value of slot k; −1 − k, constant k
    op        ::= k, operation k; −1 − k, comprehension k

Inputs have the first slots, in order, and every equation defines the next. Sizes are numbers. A comprehension is what
`adcli.lang.operations.comprehension` says, its body a tape of its own, indices by their positions in `ranges`; elements start as
`neutral` and are combined by the operation `combine`, the last one staying where that is null:

    affine    ::= number | {c: constant, t: [[index | {floor: [affine, divisor]} | {least: [affine …]} | {greatest: [affine …]}
                  | {times: [affine, affine]} | {remainder: [affine, affine]}, coefficient] …]}
    read      ::= {arg: argument, at: [affine | read …]}

Numbers that JSON does not have are "NaN", "Infinity" and "-Infinity". `interpreter.js` carries tapes out; its operations are
made from the table by `adcli.codegen.scripts.javascript.operations`.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from adcli.codegen.rows.expand import expand
from adcli.codegen.scripts.javascript import LANGUAGE, in_library
from adcli.lang.ir import Atom, Equation, Lit, Program
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, atoms, text
from adcli.lang.operations.comprehension import COMBINED_BY, NEUTRAL, BodySource, Comprehension, Read, Subscript
from adcli.lang.operations.elementwise import in_sums
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import number

Sizes = Mapping[str, int]
Json = dict[str, Any]


def tape(program: Program, sizes: Sizes) -> Json:
    """The tape of a program whose sizes are known; an exact zero in a seed drops what it would have caused."""
    return Taping(run(program, [drop_zero_seeds, in_sums, expanded, simplify]), sizes).made()


def expanded(program: Program) -> Program:
    """The program in operations that the interpreter has; long compositions are among them."""
    return expand(program, LANGUAGE.definitions, lambda e: e.op.value is not None and in_library(e.op))


def operations_of(made: Any) -> Iterator[str]:
    """The operations of a tape, or of all tapes in a document."""
    if isinstance(made, dict):
        if "equations" in made:
            yield from made["operations"]
        yield from filter(None, [made.get("combine")])
        made = made.values()
    elif not isinstance(made, list | tuple):
        return
    for x in made:
        yield from operations_of(x)


class Taping:
    """A program on its way to a tape: every value has its slot as soon as it is defined."""

    def __init__(self, program: Program, sizes: Sizes) -> None:
        self.program, self.sizes = program, sizes
        self.slots: dict[Atom, int] = {p.var: k for k, p in enumerate(program.params)}
        self.constants: dict[bytes, int] = {}
        self.numbers: list[float | str] = []
        self.operations: dict[str, int] = {}
        self.comprehensions: list[Json] = []

    def made(self) -> Json:
        equations = [self.equation(e) for e in self.program.equations]
        found: Json = {"inputs": len(self.program.params), "operations": [], "constants": self.numbers, "equations": equations,
                       "results": [self.atom(r.atom) for r in self.program.results]}
        found["operations"] = list(self.operations)
        return found | ({"comprehensions": self.comprehensions} if self.comprehensions else {})

    def equation(self, e: Equation) -> list[int]:
        args = [self.atom(a) for a in e.args]
        if isinstance(e.op, Comprehension):
            self.comprehensions.append(self.comprehension(e.op))
            code = -len(self.comprehensions)
        else:
            code = self.operations.setdefault(e.op.name, len(self.operations))
        self.slots[e.outs[0]] = len(self.slots)
        return [code, *args]

    def atom(self, atom: Atom) -> int:
        if not isinstance(atom, Lit):
            return self.slots[atom]
        if atom.bits not in self.constants:
            self.constants[atom.bits] = len(self.numbers)
            self.numbers.append(as_json(atom.value))
        return -1 - self.constants[atom.bits]

    # ------------------------------------------------------------ comprehensions

    def comprehension(self, op: Comprehension) -> Json:
        place = {r.index: k for k, r in enumerate(op.ranges)}
        made: Json = {
            "ranges": [[number(r.low, self.sizes), number(r.high, self.sizes)] for r in op.ranges],
            "guards": [self.affine(g, place) for g in op.guards],
            "write": [self.subscript(s, place) for s in op.write],
            "shape": [number(x, self.sizes) for x in op.shape],
            "neutral": as_json(NEUTRAL[op.reduction]), "combine": COMBINED_BY.get(op.reduction),
            "sources": [self.subscript(s, place) for s in op.sources],
            "body": Taping(run(op.body, [expanded]), self.sizes).made(),
            "text": [f"{r.index.name} = {text(r.low)} … {text(r.high - 1)}" for r in op.ranges],
        }
        return made | ({} if op.onto is None else {"onto": op.onto})

    def subscript(self, s: Subscript | BodySource, place: Mapping[Index, int]) -> Any:
        if isinstance(s, Read):
            return {"arg": s.arg, "at": [self.subscript(x, place) for x in s.subscripts]}
        return self.affine(s, place)

    def affine(self, x: Affine, place: Mapping[Index, int]) -> Any:
        if not any(isinstance(a, Index) for a in atoms(x)):
            return number(x, self.sizes)
        return {"c": x.constant, "t": [[self.term(a, place), c] for a, c in x.terms]}

    def term(self, a: AffineAtom, place: Mapping[Index, int]) -> Any:
        match a:
            case Index():
                return place[a]
            case Floor(whole, by):
                return {"floor": [self.affine(whole, place), self.affine(by, place)]}
            case Extreme(parts, greatest):
                return {"greatest" if greatest else "least": [self.affine(p, place) for p in parts]}
            case Product(left, right):
                return {"times": [self.affine(left, place), self.affine(right, place)]}
            case Modulo(whole, by):
                return {"remainder": [self.affine(whole, place), self.affine(by, place)]}
            case size:
                return {"least": [self.sizes[size]]}


def as_json(x: float) -> float | str:
    """A number as JSON has it."""
    return "NaN" if x != x else x if abs(x) != float("inf") else "Infinity" if x > 0 else "-Infinity"


def work(tape: Json) -> int:
    """The operations that a tape takes, those in bodies at every point."""
    points = [(prod(max(0, high - low) for low, high in c["ranges"]), c["body"]) for c in tape.get("comprehensions", ())]
    return len(tape["equations"]) + sum(count * (1 + work(body)) for count, body in points)
