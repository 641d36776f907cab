"""A program with tensors at a point, written out as a program of numbers: one equation for every operation on every element.

It is the reference evaluation (`adcli.lang.evaluate`) in an arithmetic whose numbers remember how they came about. Loops are
run step by step, matrices are eliminated with the pivots of this point, and gathers are resolved. So whoever follows single
numbers (a diagnosis, an evaluation table) needs to know nothing of tensors. Elements are named as people write them,
h(3, 0), and so are the inputs. Where an operation on matrices has no value, an operation says for which pivot or element.

The length is that of the work: `length` says it beforehand, and `MOST_OPERATIONS` is where there should be an end.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import COMPARISONS, FLOAT, Arithmetic
from adcli.lang.evaluate.comprehensions import as_value, bound, comprehension
from adcli.lang.evaluate.matrices import matrix_operation
from adcli.lang.evaluate.recording import NumberOnTape, element
from adcli.lang.evaluate.recurrences import recurrence
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.affine import value
from adcli.lang.ir.comprehension import COMBINED_BY, NEUTRAL, Comprehension
from adcli.lang.ir.errors import Span
from adcli.lang.ir.matrix import MatrixOperation, matrix_extent, no_value
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.recurrence import Recurrence

MOST_OPERATIONS = 400_000
"""Operations on numbers that are written out: about a second and some 200 MB."""
NEUTRAL_OF = {COMBINED_BY[symbol]: x for symbol, x in NEUTRAL.items() if symbol in COMBINED_BY}


class Unfolded(NamedTuple):
    """The program of numbers with its point. `elements` has for every value of the program with tensors the atoms of its
    elements."""

    program: Program
    at: dict[str, float]
    elements: Mapping[Var, np.ndarray]


def length(program: Program, at: Mapping[str, Any]) -> int:
    """About how many operations `unfolded` writes. AdError where the point does not fit the program."""
    sizes = dict(bound(program, {p.var: as_value(p, at[p.name], FLOAT) if p.var.shape else at[p.name] for p in program.params}))
    return sum(_length(e, sizes) for e in program.equations)


def _length(e: Equation, sizes: Mapping[Any, int]) -> int:
    match e.op:
        case Comprehension():
            return _points(e.op, sizes) * (len(e.op.body.equations) + (e.op.reduction != "="))
        case MatrixOperation():
            return _points(e.op, sizes) * value(matrix_extent(e), sizes) ** 3
        case Recurrence():
            steps = range(value(e.op.low, sizes), value(e.op.high, sizes))
            if not steps:
                return 0
            env = {**sizes, e.op.step: steps[0]}
            return sum(_length(s, env) for s in e.op.statements)   # the step is the first range of every statement
    return 1


def _points(op: Comprehension | MatrixOperation, sizes: Mapping[Any, int]) -> int:
    spans, known = 1, dict(sizes)
    for r in op.ranges:
        low, high = value(r.low, known), value(r.high, known)
        known[r.index] = high - 1 if high > low else low
        spans *= max(0, high - low)
    return spans


def unfolded(program: Program, at: Mapping[str, Any]) -> Unfolded:
    """The program at a point, which has every input."""
    return _Unfolder(program).all(at)


class _Unfolder:
    """Carries out a program and writes down what it does."""

    def __init__(self, program: Program) -> None:
        self.whole = program
        self.equations: list[Equation] = []
        self.span: Span | None = None
        functions: dict[str, Any] = {name: self.combining(op) for name, op in TABLE.items()}
        functions |= {name: lambda x, y, f=f: f(x.value, y.value) for name, f in COMPARISONS.items()}
        functions["no_value"] = self.without_value
        self.arithmetic = Arithmetic(functions, lambda x: NumberOnTape(Lit(float(x)), float(x)))
        self.env: dict[Atom, Atom] = {}
        self.names: dict[Atom, str] = {}

    def all(self, at: Mapping[str, Any]) -> Unfolded:
        values: dict[Var, Any] = {}
        params: list[Param] = []
        point: dict[str, float] = {}
        for p in self.whole.params:
            if p.var.integer:
                values[p.var] = as_value(p, at[p.name], FLOAT) if p.var.shape else at[p.name]
                continue
            numbers = np.asarray(at[p.name], float)
            made = np.empty(numbers.shape, object)
            for place in np.ndindex(numbers.shape):
                name, x = element(p.name, place), float(numbers[place])
                var = Var(name)
                params.append(replace(p, var=var, name=name))
                made[place], point[name] = NumberOnTape(var, x), x
            values[p.var] = made if p.var.shape else made[()]
        sizes = dict(bound(self.whole, values))
        for e in self.whole.equations:
            self.equation(e, values, sizes)
        results = [Result(element(r.name, place), x.atom) for r in self.whole.results
                   for place, x in np.ndenumerate(self.array(values, r.atom))]
        return self.finished(params, point, results, values)

    def array(self, values: Mapping[Var, Any], atom: Atom) -> np.ndarray:
        found = self.arithmetic.constant(atom.value) if isinstance(atom, Lit) else values[atom]
        made = np.empty(np.shape(found), object)
        made[...] = found
        return made

    def equation(self, e: Equation, values: dict[Var, Any], sizes: dict[Any, int]) -> None:
        args = [self.arithmetic.constant(a.value) if isinstance(a, Lit) else values[a] for a in e.args]
        self.span = e.span
        if isinstance(e.op, Comprehension):
            values[e.outs[0]] = comprehension(e, args, sizes, self.arithmetic, self.body)
        elif isinstance(e.op, Recurrence):
            values.update(zip(e.outs, recurrence(e, args, sizes, self.arithmetic, self.body, self.at_statement), strict=True))
        elif isinstance(e.op, MatrixOperation):
            values[e.outs[0]] = matrix_operation(e, args, sizes, self.arithmetic)
        else:
            values.update(dict.fromkeys(e.outs, self.one(e, [self.element(a) for a in args])))
        for o in e.outs:
            if o.name and not o.temp:
                self.name(o.name, values[o])

    def element(self, x: Any) -> NumberOnTape:
        return x if isinstance(x, NumberOnTape) else self.arithmetic.constant(float(x))

    def name(self, name: str, found: Any) -> None:
        """Give the elements of a value their names, where they have none yet."""
        for place, x in np.ndenumerate(np.asarray(found, object)):
            if isinstance(x, NumberOnTape) and isinstance(x.atom, Var) and x.atom.temp and x.atom not in self.names:
                self.names[x.atom] = element(name, place)

    # -- operations

    def at_statement(self, s: Equation) -> None:
        self.span = s.span

    def body(self, body: Program, at: Mapping[str, Any]) -> dict[str, Any]:
        """The results of a body, whose operations are written down."""
        known: dict[Atom, NumberOnTape] = {p.var: self.element(at[p.name]) for p in body.params}

        def read(a: Atom) -> NumberOnTape:
            return self.arithmetic.constant(a.value) if isinstance(a, Lit) else known[a]
        for e in body.equations:
            known.update(dict.fromkeys(e.outs, self.one(e, [read(a) for a in e.args])))
        return {r.name: read(r.atom) for r in body.results}

    def one(self, e: Equation, args: list[NumberOnTape]) -> NumberOnTape:
        return args[0] if e.op is TABLE["dup"] else self.recorded(e.op, args, e.span or self.span, e.group)

    def recorded(self, op: Primitive, args: list[NumberOnTape], span: Span | None, group: int = 0) -> NumberOnTape:
        """An operation on numbers, written down; of constants it is one, where it is finite."""
        atoms = tuple([a.atom for a in args])
        number = FLOAT.apply(op, [a.value for a in args], atoms)
        if not op.truth and math.isfinite(number) and all(isinstance(a, Lit) for a in atoms):
            return NumberOnTape(Lit(number), number)
        out = Var(temp=True, truth=op.truth)
        self.equations.append(Equation((out,), op, atoms, span, group))
        return NumberOnTape(out, number)

    def combining(self, op: Primitive) -> Any:
        """An operation of a reduction or an elimination; the neutral value that it starts from is left out."""
        neutral = NEUTRAL_OF.get(op.name)

        def combined(*args: NumberOnTape) -> NumberOnTape:
            first = args[0].atom
            if neutral is not None and len(args) == 2 and isinstance(first, Lit) and first.value == neutral:
                return args[1]
            return self.recorded(op, list(args), self.span)
        return combined

    def without_value(self, op: MatrixOperation, blamed: NumberOnTape, pivot: int | None, operands: list[np.ndarray],
                      result: float) -> NumberOnTape:
        args = [blamed, *[x for o in operands for x in o.flat]]
        return self.recorded(no_value(op, pivot, len(args), result), args, self.span)

    # -- the end

    def finished(self, params: list[Param], point: dict[str, float], results: list[Result],
                 values: Mapping[Var, Any]) -> Unfolded:
        env: dict[Atom, Atom] = {a: Var(name, truth=a.truth) for a, name in self.names.items() if isinstance(a, Var)}
        equations = tuple([e.substituted(env) for e in self.equations])
        program = Program(tuple(params), equations, tuple([r.with_atom(env.get(r.atom, r.atom)) for r in results]),
                          source=self.whole.source)
        elements = {var: _atoms(x, env) for var, x in values.items() if not var.integer}
        return Unfolded(program, point, elements)


def _atoms(found: Any, env: Mapping[Atom, Atom]) -> np.ndarray:
    made = np.empty(np.shape(found), object)
    for place, x in np.ndenumerate(np.asarray(found, object)):
        made[place] = env.get(x.atom, x.atom) if isinstance(x, NumberOnTape) else Lit(float(x))
    return made


def elements_of(program: Program) -> dict[Atom, str]:
    """For every value of a program of numbers the name of the element it is, or that it is first needed for."""
    found: dict[Atom, str] = {r.atom: r.name for r in program.results}
    found.update({p.var: p.name for p in program.params})
    found.update({o: o.name for e in program.equations for o in e.outs if o.name and not o.temp})
    for e in reversed(program.equations):
        element = next((found[o] for o in e.outs if o in found), None)
        for a in e.args:
            if element is not None and isinstance(a, Var) and a.temp:
                found[a] = element
    return found

