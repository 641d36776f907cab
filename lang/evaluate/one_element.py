"""One element of a tensor as a program of numbers: the operations that make it of the elements that its statement reads.

For programs that are too long to be written out as a whole (`adcli.lang.evaluate.unfolding`), where the values of all tensors are
known. A statement of a loop is looked at as one operation over all steps, which is true of the final values
(`adcli.lang.ir.recurrence`); so the step belongs to the element.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import FLOAT, Arithmetic, evaluate
from adcli.lang.evaluate.comprehensions import bound, numbers, points, subscripts_at
from adcli.lang.evaluate.matrices import by_elimination
from adcli.lang.evaluate.recording import NumberOnTape, NumberTape, TooLong, atom_of, element
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, affine, value
from adcli.lang.ir.comprehension import COMBINED_BY, NEUTRAL, BodySource, Comprehension, Range, Read, Subscript
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.names import name_table
from adcli.lang.ir.recurrence import Recurrence, whole_statements
from adcli.lang.ir.reductions import in_sums

MOST_POINTS = 400_000
"""Points of a statement that one element may have."""
Place = tuple[int, ...]


class Element(NamedTuple):
    """An element of a value of the program."""

    of: Var
    place: Place


class MadeElement(NamedTuple):
    """How an element is made: a program of numbers with its point, and the elements that its inputs are."""

    program: Program
    at: dict[str, float]
    read: dict[str, Element]


class KnownValues:
    """A program at a point with the values of all its variables, log-sum-exps being written out."""

    def __init__(self, program: Program, values: Mapping[Var, Any], arithmetic: Arithmetic = FLOAT) -> None:
        assert program.equations == in_sums(program).equations, "log-sum-exps are written out"
        self.program, self.values, self.arithmetic = program, values, arithmetic
        self.sizes: dict[Any, int] = dict(bound(program, values))
        self.makers: dict[Var, list[Equation]] = {}
        self.starts: dict[Var, Atom] = {}
        self.names: dict[Var, str] = {p.var: p.name for p in program.params}
        for e in program.equations:
            statements = whole_statements(e) if isinstance(e.op, Recurrence) else (e,)
            if isinstance(e.op, Recurrence):
                self.starts.update(zip(e.outs, e.args, strict=False))
            for s in statements:
                for o in s.outs:
                    self.makers.setdefault(o, []).append(s)
        table = name_table(program)
        self.names.update({o: o.name if o.name and not o.temp else table[o] for e in program.equations for o in e.outs})

    def name(self, x: Element) -> str:
        return element(self.names[x.of], x.place)

    def number(self, x: Element) -> float:
        return float(np.asarray(self.values[x.of])[x.place])

    def made(self, x: Element) -> MadeElement:
        """How an element is made; one of an input is read. TooLong where its statement has too many operations for it."""
        return _Maker(self, x).all()


class _Maker:
    """Writes what makes one element on a tape."""

    def __init__(self, elements: KnownValues, x: Element) -> None:
        self.elements, self.x = elements, x
        self.tape = NumberTape(MOST_POINTS, verbatim=True, numbers=elements.arithmetic)
        self.read: dict[str, Element] = {}
        self.inputs: dict[Element, NumberOnTape] = {}

    def all(self) -> MadeElement:
        found: Any = self.input(self.x) if self.x.of not in self.elements.makers else None
        for e in self.elements.makers.get(self.x.of, ()):
            self.tape.span = e.span
            found = self.changed(e, found)
        if found is None:
            found = self.unwritten()
        name, made = self.elements.name(self.x), atom_of(self.tape, found)
        env: dict[Atom, Atom] = {made: Var(name, truth=made.truth)} if isinstance(made, Var) and made.temp else {}
        equations = tuple([e.substituted(env) for e in self.tape.equations])
        program = Program(tuple(self.tape.params), equations, (Result(name, env.get(made, made)),),
                          source=self.elements.program.source)
        return MadeElement(program, self.tape.at, {n: x for n, x in self.read.items() if x != self.x})

    def unwritten(self) -> Any:
        """An element that no point writes to: of a loop what it starts from."""
        if self.x.of in self.elements.starts:
            return self.atom(self.elements.starts[self.x.of], self.x.place)
        op = self.elements.makers[self.x.of][0].op
        return self.tape.constant(NEUTRAL[op.reduction] if isinstance(op, Comprehension) else 0.0)

    def changed(self, e: Equation, before: Any) -> Any:
        """Value of the element after an equation."""
        if isinstance(e.op, MatrixOperation):
            return self.matrix(e, e.op, before)
        if isinstance(e.op, Comprehension):
            return self.combined(e, e.op, before)
        args = [self.atom(a, self.x.place) for a in e.args]
        return args[0] if e.op.name == "dup" else self.tape.record(e.op, args, e.span, e.group)

    # -- operands

    def atom(self, a: Atom, place: Place) -> Any:
        """An element of an argument; of a number the number."""
        if isinstance(a, Lit):
            return self.tape.constant(a.value)
        if a.truth:
            (e,) = self.elements.makers[a]
            return self.tape.record(e.op, [self.atom(x, ()) for x in e.args], e.span, e.group)
        return self.input(Element(a, place if np.ndim(self.elements.values[a]) else ()))

    def input(self, x: Element) -> NumberOnTape:
        if x not in self.inputs:
            name = self.elements.name(x)
            self.read[name] = x
            self.inputs[x] = self.tape.number(Param(Var(name), name), name, None, self.elements.number(x))
        return self.inputs[x]

    # -- statements

    def combined(self, e: Equation, op: Comprehension, before: Any) -> Any:
        """Value of the element after a comprehension; as before where that does not write to it."""
        onto = op.onto is not None
        if onto and before is None:
            before = self.onto(e.args[op.onto or 0])
        known, count = self.here(e, op)
        columns = [self.column(e, s, known, count) for s in op.sources]
        inputs, result = [p.name for p in op.body.params], op.body.results[0].name
        terms = [evaluate(op.body, dict(zip(inputs, [c[k] for c in columns], strict=True)), self.tape.arithmetic)[result]
                 for k in range(count)]
        if not terms:
            return before
        if op.reduction == "=":
            return terms[-1]
        total = before if onto else self.tape.constant(NEUTRAL[op.reduction])
        for x in terms:
            total = self.tape.arithmetic.functions[COMBINED_BY[op.reduction]](total, x)
        return total

    def onto(self, a: Atom) -> Any:
        """Value that terms are added to: of a loop the start."""
        return self.atom(self.elements.starts[self.x.of] if a is self.x.of else a, self.x.place)

    def column(self, e: Equation, s: BodySource, known: dict[Any, Any], count: int) -> list[Any]:
        """Values that a body reads at each of some points."""
        if isinstance(s, Read):
            return [self.atom(e.args[s.arg], place) for place in self.places(e, e.args[s.arg], s.subscripts, known, count)]
        return [self.tape.constant(float(x)) for x in np.broadcast_to(numbers(s, known), count)]

    def places(self, e: Equation, of: Atom, subscripts: tuple[Subscript, ...], known: dict[Any, Any], count: int) -> list[Place]:
        """The elements that an access goes to at each of some points."""
        found = subscripts_at(e, subscripts, of, np.shape(self.value(of)), [self.value(a) for a in e.args], known, count)
        return [tuple([int(at[k]) for at in found]) for k in range(count)]

    def value(self, a: Atom) -> Any:
        return a.value if isinstance(a, Lit) else self.elements.values[a]

    def here(self, e: Equation, op: Boxed) -> tuple[dict[Any, Any], int]:
        """The indices at all points of an operation that write to the element, and how many there are."""
        sizes = self.elements.sizes
        ranges = tuple([self.narrowed(r, op, sizes) for r in op.ranges])
        if math.prod([max(0, value(r.high, sizes) - value(r.low, sizes)) for r in ranges]) > MOST_POINTS:
            raise TooLong
        known, count = points(replace(op, ranges=ranges), sizes)
        leading = self.x.place[:len(op.write)]
        kept = [k for k, place in enumerate(self.places(e, self.x.of, op.write, known, count)) if place == leading]
        return {i: x[kept] if np.ndim(x) else x for i, x in known.items()}, len(kept)

    def narrowed(self, r: Range, op: Boxed, sizes: Mapping[Any, int]) -> Range:
        """The range of an index as far as it can write to the element."""
        for s, p in zip(op.write, self.x.place, strict=False):
            if isinstance(s, Affine) and s.coefficient(r.index) == 1 and (rest := s - affine(r.index)).number is not None:
                at = p - (rest.number or 0)
                low, high = max(at, value(r.low, sizes)), min(at + 1, value(r.high, sizes))
                return replace(r, low=affine(low), high=affine(max(low, high)))
        return r

    def matrix(self, e: Equation, op: MatrixOperation, before: Any) -> Any:
        """An element of the result for the last of the points that write it."""
        known, count = self.here(e, op)
        if not count:
            return before
        operands = [self.operand(e.args[s.arg], self.places(e, e.args[s.arg], s.subscripts, known, count)[-1])
                    for _, s in op.reads()]
        if len(operands[0]) ** 3 > MOST_POINTS:
            raise TooLong
        return np.asarray(by_elimination(op, operands, self.tape.arithmetic), object)[self.x.place[len(op.write):]]

    def operand(self, of: Atom, leading: Place) -> np.ndarray:
        """A matrix, or a right-hand side, all elements on the tape."""
        made = np.empty(np.shape(self.value(of))[len(leading):], object)
        for place in np.ndindex(made.shape):
            made[place] = self.atom(of, (*leading, *place))
        return made
