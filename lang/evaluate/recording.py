"""Programs written out: what a program with tensors computes at a point, as a program of numbers.

The reference evaluator is run on numbers that remember the operation that made them. Sizes, subscripts, pivots and the end of a
loop are those at the point; a choice between values stays a choice. So everything that is known of programs of numbers holds for
the elements of tensors, as long as nothing that was decided so turns. What a reduction starts from is no operation.

There are two kinds of tape. A `verbatim` one has every operation in the order in which it is carried out, for whoever follows an
evaluation; what constants give is a constant. The other has each operation once, for whoever wants the function: what `stop`
holds is an input, a product with a constant that is 0 is 0 and a sum with it is the other term, since the seed of one element
has zeros for all others.

A program with tensors at a point, written out as a program of numbers: one equation for every operation on every element.

It is a verbatim tape (`adcli.lang.evaluate.recording`) on which elements have their names, as people write them: h(3, 0). Loops
are run step by step, matrices are eliminated with the pivots of this point, and gathers are resolved. So whoever follows single
numbers (a diagnosis, an evaluation table) needs to know nothing of tensors. Where an operation on matrices has no value, an
operation says for which pivot or element.

The length is that of the work: `length` says it beforehand, and `MOST_OPERATIONS` is where there should be an end.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import COMPARISONS, FLOAT, Arithmetic, evaluate, every_value
from adcli.lang.evaluate.comprehensions import as_value, bound
from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.affine import value
from adcli.lang.ir.errors import Span
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import folded, meaning
from adcli.lang.operations.comprehension import COMBINED_BY, NEUTRAL, Comprehension
from adcli.lang.operations.matrix import MatrixOperation, matrix_extent, no_value
from adcli.lang.operations.recurrence import Recurrence

STOP = TABLE["stop"]
NEUTRAL_OF = {COMBINED_BY[symbol]: x for symbol, x in NEUTRAL.items() if symbol in COMBINED_BY}


class TooLong(Exception):
    """A program comes to more operations than were allowed."""


class Pivots(NamedTuple):
    """Conditions under which an operation on a matrix has the value that is on the tape, wherever its inputs are: the elements
    of the matrix are numbers, and no pivot is 0. Then the order of the rows has no influence on the value."""

    operation: str
    elements: Atoms
    pivots: Atoms
    span: Span | None


class NumberOnTape:
    """A number, or a truth value, and the atom that stands for it."""

    __slots__ = ("atom", "value")

    def __init__(self, atom: Atom, value: Any) -> None:
        self.atom, self.value = atom, value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == value_of(other))

    def __lt__(self, other: object) -> bool:
        return bool(self.value < value_of(other))

    def __ge__(self, other: object) -> bool:
        return bool(self.value >= value_of(other))


def value_of(x: Any) -> Any:
    """The number alone."""
    return x.value if isinstance(x, NumberOnTape) else x


@dataclass(frozen=True)
class Recording(Arithmetic):
    """The arithmetic whose numbers are written on a tape."""

    tape: NumberTape = field(kw_only=True)

    def enter(self, e: Equation) -> None:
        self.tape.span = e.span

    def apply(self, op: Primitive, args: list[Any], atoms: Atoms, e: Equation | None = None) -> Any:
        return self.tape.record(op, args, (e and e.span) or self.tape.span, e.group if e else 0)


@dataclass
class NumberTape:
    """Equations between numbers, `most` of them at most; inputs, and the point."""

    most: float = math.inf
    verbatim: bool = False
    numbers: Arithmetic = FLOAT
    """Arithmetic of the numbers."""
    equations: list[Equation] = field(default_factory=list)
    params: list[Param] = field(default_factory=list)
    at: dict[str, float] = field(default_factory=dict)
    span: Span | None = None
    """Where the tensors stand whose elements are computed."""
    known: dict[Any, NumberOnTape] = field(default_factory=dict)
    pivots: list[Pivots] = field(default_factory=list)
    """Of a verbatim tape: what the operations on matrices on it are sure of."""
    held: list[Result] = field(default_factory=list)
    """Values held by `stop`, by the names of the inputs in their place."""

    def __post_init__(self) -> None:
        rows: dict[str, Callable[..., Any]] = {name: partial(self.combined, op) for name, op in TABLE.items() if name != "dup"}
        if self.verbatim:
            rows |= {"no_value": self.without_value, "regular": self.regular}
        self.arithmetic = Recording({**rows, **COMPARISONS}, self.constant, tape=self)

    def constant(self, value: float) -> NumberOnTape:
        """A number that is no input; one `Lit` for each."""
        key = "constant", math.copysign(1.0, value), meaning(value)
        if key not in self.known:
            self.known[key] = NumberOnTape(Lit(value), self.numbers.constant(float(value)))
        return self.known[key]

    def inputs(self, params: Iterable[Param], at: Mapping[str, Any]) -> dict[str, Any]:
        """The values of inputs as numbers on the tape: an input for each element. Integers stay as they are."""
        return {p.name: at[p.name] if p.var.integer else self.input(p, at[p.name]) for p in params}

    def input(self, p: Param, given: Any) -> Any:
        """An input of any rank."""
        if not p.var.shape:
            return self.number(p, p.name, p.seed, float(given))
        array = np.asarray(given, np.float64)
        made = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            made[place] = self.number(p, element(p.name, place), p.seed and element(p.seed, place), float(array[place]))
        return made

    def number(self, p: Param, name: str, seed: str | None, value: float) -> NumberOnTape:
        """One input that is a number."""
        var = Var(name)
        self.params.append(Param(var, name, None, p.low, p.high, p.active, seed))
        self.at[name] = value
        return NumberOnTape(var, value)

    def combined(self, op: Primitive, *args: Any) -> Any:
        """An operation of a reduction or an elimination."""
        first = args[0].atom
        if len(args) == 2 and isinstance(first, Lit) and first.value == NEUTRAL_OF.get(op.name):
            return args[1]
        return self.record(op, args, self.span)

    def without_value(self, op: MatrixOperation, blamed: NumberOnTape, pivot: int | None, operands: list[np.ndarray],
                      result: float) -> NumberOnTape:
        """Result of an operation on a matrix that it is not defined for."""
        args = [blamed, *[x for o in operands for x in o.flat]]
        return self.written(no_value(op, pivot, len(args), result), args, self.span)

    def regular(self, op: MatrixOperation, matrix: Sequence[Sequence[NumberOnTape]], pivots: Sequence[NumberOnTape]) -> None:
        """An operation on a matrix has its value, with these pivots."""
        self.pivots.append(Pivots(op.name, tuple([x.atom for row in matrix for x in row]), tuple([x.atom for x in pivots]),
                                  self.span))

    def record(self, op: Primitive, args: Sequence[Any], span: Span | None = None, group: int = 0) -> Any:
        """The result of an operation; where nothing is verbatim, truth values of constants are Python's."""
        if self.verbatim:
            known = self.of_constants(op, args)
            return self.written(op, args, span, group) if known is None else known
        if op.name == "select" and not isinstance(args[0], NumberOnTape):
            return args[1] if args[0] else args[2]
        if op.name in ("and", "or", "not") and not all(isinstance(x, NumberOnTape) for x in args):
            return connected(op.name, *args)
        numbers = [x if isinstance(x, NumberOnTape) else self.constant(float(x)) for x in args]
        if op.truth and all(isinstance(x.atom, Lit) for x in numbers):
            return FLOAT.apply(op, [x.value for x in numbers], ())
        found = self.without_zero(op, numbers)
        if found is not None:
            return found
        key = op, *(x.atom for x in numbers)
        if key not in self.known:
            self.known[key] = self.stopped(numbers[0]) if op is STOP else self.written(op, numbers, span, group)
        return self.known[key]

    def of_constants(self, op: Primitive, numbers: Sequence[NumberOnTape]) -> NumberOnTape | None:
        """Constant that an operation on constants gives, where that is finite; it knows what it was rounded from."""
        values = [x.atom.value for x in numbers if isinstance(x.atom, Lit)]
        if op.truth or len(values) < len(numbers):
            return None
        found = FLOAT.apply(op, values, tuple([x.atom for x in numbers]))
        meant = folded(op.name, found, tuple(values)) if math.isfinite(found) else None
        return None if meant is None else self.constant(meant)

    def written(self, op: Primitive, numbers: Sequence[NumberOnTape], span: Span | None = None, group: int = 0) -> NumberOnTape:
        """The number that an equation makes."""
        if len(self.equations) >= self.most:
            raise TooLong
        atoms = tuple([x.atom for x in numbers])
        out = Var(temp=True, truth=op.truth)
        self.equations.append(Equation((out,), op, atoms, span, group))
        return NumberOnTape(out, self.numbers.apply(op, [x.value for x in numbers], atoms))

    def stopped(self, x: NumberOnTape) -> NumberOnTape:
        """Value held by a `stop`, as an input."""
        name = f"stop {len(self.held) + 1}"
        var = Var(name)
        self.held.append(Result(name, x.atom))
        self.params.append(Param(var, name, active=False))
        self.at[name] = x.value
        return NumberOnTape(var, x.value)

    def without_zero(self, op: Primitive, numbers: Sequence[NumberOnTape]) -> NumberOnTape | None:
        """Result of an operation with a constant that is 0, without carrying it out."""
        if op.name not in ("add", "sub", "mul", "div", "neg"):
            return None
        zero = [is_zero(x) for x in numbers]
        match op.name:
            case "add" if any(zero):
                return numbers[zero[0]]
            case "sub" if zero[1]:
                return numbers[0]
            case "neg" if zero[0]:
                return numbers[0]
            case "mul" if any(zero) and math.isfinite(numbers[zero[0]].value):
                return numbers[not zero[0]]
            case "div" if zero[0] and numbers[1].value:
                return numbers[0]
        return None

    def program(self, results: Iterable[Result], params: Iterable[Param] | None = None) -> Program:
        """The tape as a program with these results."""
        return Program(tuple(self.params if params is None else params), tuple(self.equations), tuple(results))


def is_zero(x: NumberOnTape) -> bool:
    """True if a number is the constant 0."""
    return isinstance(x.atom, Lit) and x.value == 0


def connected(name: str, x: Any, y: Any = None) -> Any:
    """A connective of truth values of which one at least is a constant."""
    if name == "not":
        return not x
    known, other = (x, y) if not isinstance(x, NumberOnTape) else (y, x)
    return other if bool(known) == (name == "and") else known


def element(name: str, place: tuple[int, ...]) -> str:
    """A(1, 0): an element of a tensor; the name itself of a number."""
    return f"{name}({', '.join(map(str, place))})" if place else name


def elements(name: str, found: Any) -> dict[str, Any]:
    """The elements of a value of any rank by their names."""
    if not np.ndim(found):
        return {name: found[()] if isinstance(found, np.ndarray) else found}
    return {element(name, place): found[place] for place in np.ndindex(np.shape(found))}


def written_out(tape: NumberTape, program: Program, numbers: Mapping[str, Any]) -> dict[str, dict[str, Atom]]:
    """Results of a program on a tape, by name and element; `numbers` are the values of its inputs there."""
    found = evaluate(program, numbers, tape.arithmetic)
    return {r.name: {name: atom_of(tape, x) for name, x in elements(r.name, found[r.name]).items()} for r in program.results}


def atom_of(tape: NumberTape, x: Any) -> Atom:
    """Atom of a number."""
    return x.atom if isinstance(x, NumberOnTape) else tape.constant(float(x)).atom


# ---------------------------------------------------------------- unfolding

MOST_OPERATIONS = 400_000
"""Operations on numbers that are written out: about a second and some 200 MB."""


class Unfolded(NamedTuple):
    """The program of numbers with its point. `elements` has for every value of the program with tensors the atoms of its
    elements."""

    program: Program
    at: dict[str, float]
    elements: Mapping[Var, np.ndarray]
    pivots: tuple[Pivots, ...] = ()


def sizes_at(program: Program, at: Mapping[str, Any]) -> dict[str, int]:
    """The sizes at a point, which has every input. AdError where the point does not fit the program."""
    return bound(program, {p.var: as_value(p, at[p.name], FLOAT) if p.var.shape else at[p.name] for p in program.params})


def length(program: Program, at: Mapping[str, Any]) -> int:
    """About how many operations `unfolded` writes. AdError where the point does not fit the program."""
    return length_of_sizes(program, sizes_at(program, at))


def length_of_sizes(program: Program, sizes: Mapping[str, int]) -> int:
    """About how many operations on numbers a program is at sizes that are known."""
    return sum(_length(e, dict(sizes)) for e in program.equations)


def evaluations(program: Program, at: Mapping[str, Any]) -> int:
    """How many statements the reference evaluator computes one after another: those of a loop at every step. AdError where the
    point does not fit the program."""
    return _evaluations(program.equations, sizes_at(program, at))


def _evaluations(equations: Iterable[Equation], sizes: Mapping[Any, int]) -> int:
    return sum(_at_every_step(e.op, sizes) if isinstance(e.op, Recurrence) else 1 for e in equations)


def _at_every_step(op: Recurrence, sizes: Mapping[Any, int]) -> int:
    steps = range(value(op.low, sizes), value(op.high, sizes))
    return len(steps) * _evaluations(op.statements, {**sizes, op.step: steps[0]}) if steps else 0


def _length(e: Equation, sizes: Mapping[Any, int]) -> int:
    match e.op:
        case Comprehension():
            return box_points(e.op, sizes) * (len(e.op.body.equations) + (e.op.reduction != "="))
        case MatrixOperation():
            return box_points(e.op, sizes) * value(matrix_extent(e), sizes) ** 3
        case Recurrence():
            steps = range(value(e.op.low, sizes), value(e.op.high, sizes))
            if not steps:
                return 0
            env = {**sizes, e.op.step: steps[0]}
            return sum(_length(s, env) for s in e.op.statements)   # the step is the first range of every statement
    return 1


def box_points(op: Comprehension | MatrixOperation, sizes: Mapping[Any, int]) -> int:
    """How many points a box has, those included that its guards leave out."""
    spans, known = 1, dict(sizes)
    for r in op.ranges:
        low, high = value(r.low, known), value(r.high, known)
        known[r.index] = high - 1 if high > low else low
        spans *= max(0, high - low)
    return spans


def unfolded(program: Program, at: Mapping[str, Any], numbers: Arithmetic = FLOAT) -> Unfolded:
    """The program at a point, which has every input; what decides about its operations are `numbers` of an arithmetic."""
    tape = NumberTape(verbatim=True, numbers=numbers)
    values = every_value(program, tape.inputs(program.params, at), tape.arithmetic)
    env = named(program, values)
    written = tuple([e.substituted(env) for e in tape.equations])
    found = {var: _atoms(tape, x, env) for var, x in values.items()}
    results = [Result(element(r.name, place), a) for r in program.results for place, a in np.ndenumerate(
        np.array(r.atom, object) if isinstance(r.atom, Lit) else found[r.atom])]
    pivots = [p._replace(elements=renamed(p.elements, env), pivots=renamed(p.pivots, env)) for p in tape.pivots]
    return Unfolded(Program(tuple(tape.params), written, tuple(results), source=program.source), tape.at, found, tuple(pivots))


def renamed(atoms: Iterable[Atom], env: Mapping[Atom, Atom]) -> tuple[Atom, ...]:
    return tuple([env.get(a, a) for a in atoms])


def named(program: Program, values: Mapping[Var, Any]) -> dict[Atom, Atom]:
    """Named variables for the values that operations made: the element that each was first."""
    names: dict[Atom, Atom] = {}
    for o in (o for e in program.equations for o in e.outs if o.name and not o.temp):
        for name, x in elements(o.name or "", values[o]).items():
            if isinstance(x, NumberOnTape) and isinstance(x.atom, Var) and x.atom.temp and x.atom not in names:
                names[x.atom] = Var(name, truth=x.atom.truth)
    return names


def _atoms(tape: NumberTape, found: Any, env: Mapping[Atom, Atom]) -> np.ndarray:
    made = np.empty(np.shape(found), object)
    for place, x in np.ndenumerate(np.asarray(found, object)):
        atom = atom_of(tape, x)
        made[place] = env.get(atom, atom)
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
