"""What happens on every line of a program at a point: its value, its tangent, and what it sends backwards.

The numbers of the tables that textbooks write by hand (Griewank and Walther, Evaluating Derivatives, 2nd ed. 2008, chapter
2; Baydin, Pearlmutter, Radul and Siskind, Automatic differentiation in machine learning: a survey, 2018, tables 2 and 3).
The derivative formulas are the maps of `adcli.lang.ir.primitives`, emitted as IR and evaluated; there is no second table.
Since the point is known, so is every condition: a derivative exists or it does not, and where it does not
`Derivative.absent` says why. That is what the guards of the derivative programs come to at this point, and sums are taken in
the order of those programs, so the totals are theirs to the bit.

A formula is kept for reading: of a `select` in a rule it has the arm taken, and what a rule does for roundings and signs of
zero alone is left out (`x + 0`, a factor 1; `t * (1 / x)` reads t / x). Numbers are always those of the rule itself.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adcli.lang.analyse.numeric_rules import rule_of
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import is_step
from adcli.lang.passes.reverse import active_values

ADD, SUB, MUL, DIV, NEG, DUP, SELECT = (TABLE[name] for name in ("add", "sub", "mul", "div", "neg", "dup", "select"))

VALUE, TANGENT, ADJOINT = "value", "tangent", "adjoint"
"""What a leaf of a formula stands for."""

NO_SEED, ARM, STEP = "zero seed", "arm not taken", "flat step"
"""Why a derivative is zero by construction."""


class Leaf(NamedTuple):
    """The value, tangent or adjoint of a variable, or a constant of the program, with its number at the point."""

    kind: str
    atom: Atom
    number: float


class Apply(NamedTuple):
    """An operation of a formula."""

    op: Primitive
    args: tuple[Node, ...]


Node = Leaf | Lit | Apply


class Derivative(NamedTuple):
    """A tangent or an adjoint; where it is zero by construction, `absent` says why."""

    value: float
    absent: str = ""


class Term(NamedTuple):
    """What a rule makes of a seed at one argument, `operand`. The formula is None where nothing but the reason can be shown."""

    operand: Var
    formula: Node | None
    derivative: Derivative


class Step(NamedTuple):
    """One line of the reverse sweep: the adjoint of the term's operand receives the term."""

    term: Term
    before: Derivative | None
    after: Derivative


class Line(NamedTuple):
    """An equation with the terms of its tangent, and the steps of its adjoint line in the order of the sweep."""

    equation: Equation
    terms: Sequence[Term]
    steps: Sequence[Step]


class Trace(NamedTuple):
    """A program at a point. `seeds` are the first steps of the reverse sweep, one for each output that has a cotangent; in
    `tangents` and `adjoints` stands what has a derivative at all."""

    program: Program
    values: Mapping[Var, float]
    lines: Sequence[Line]
    seeds: Mapping[str, Step]
    tangents: Mapping[Atom, Derivative]
    adjoints: Mapping[Atom, Derivative]


def traced(program: Program, at: Mapping[str, float], wrt: Sequence[str], tangent: Mapping[str, float] | None = None,
           cotangent: Mapping[str, float] | None = None) -> Trace:
    """The trace at a point: `tangent` has a number for every input in `wrt`, `cotangent` one for every output; either may
    be left out. Time is linear in the number of equations."""
    values = every_value(program, at, FLOAT)
    tangents: dict[Atom, Derivative] = {}
    terms: Sequence[Sequence[Term]] = [()] * len(program.equations)
    if tangent is not None:
        tangents.update((program.param(x).var, seed(tangent[x])) for x in wrt)
        terms = [tangent_line(e, values, tangents) for e in program.equations]
    adjoints: dict[Atom, Derivative] = {}
    seeds: dict[str, Step] = {}
    steps: list[list[Step]] = [[] for _ in program.equations]
    if cotangent is not None:
        for r in reversed(program.results):
            if isinstance(r.atom, Var):
                seeds[r.name] = receive(Term(r.atom, None, seed(cotangent[r.name])), adjoints)
        active = active_values(program, wrt)
        steps = [adjoint_line(e, values, adjoints, active) for e in reversed(program.equations)][::-1]
    lines = [Line(*parts) for parts in zip(program.equations, terms, steps, strict=True)]
    return Trace(program, values, lines, seeds, tangents, adjoints)


def seed(number: float) -> Derivative:
    """A tangent or cotangent that the user gives: an exact zero drops what it would have caused (SEMANTICS, the zero rule)."""
    return Derivative(number, "" if number != 0 else NO_SEED)


def tangent_line(e: Equation, values: Mapping[Var, float], tangents: dict[Atom, Derivative]) -> Sequence[Term]:
    """The terms of the tangent of what `e` defines, whose sum is entered. As `forward.push_forward`."""
    active = [] if e.op.truth else [i for i, a in enumerate(e.args) if a in tangents]
    seeds = [(i, Leaf(TANGENT, e.args[i], tangents[e.args[i]].value), tangents[e.args[i]]) for i in active]
    terms = [t for i, leaf, given in seeds if (t := contribution(e, i, leaf, given, values)) is not None]
    if terms:
        whole = terms[0].derivative
        for t in terms[1:]:
            whole = plus(whole, t.derivative)
        tangents.update(dict.fromkeys(e.outs, whole))
    return terms


def adjoint_line(e: Equation, values: Mapping[Var, float], adjoints: dict[Atom, Derivative], active: set[Atom]) -> list[Step]:
    """The adjoints of the arguments of `e` receive their terms. As `reverse.adjoint_line`, in the order in which the copies of
    a value are added there: of an argument that occurs twice the last occurrence comes first."""
    outs = [o for o in e.outs if o in adjoints]
    if not outs:
        return []
    if e.op is DUP:
        return [receive(copied(e, outs, adjoints), adjoints)] if e.args[0] in active else []
    given = adjoints[outs[0]]
    leaf = Leaf(ADJOINT, outs[0], given.value)
    places: dict[Atom, list[int]] = {}
    for i, a in enumerate(e.args):
        if a in active:
            places.setdefault(a, []).insert(0, i)
    found = [contribution(e, i, leaf, given, values) for occurrences in places.values() for i in occurrences]
    return [receive(t, adjoints) for t in found if t is not None]


def copied(e: Equation, outs: Sequence[Var], adjoints: Mapping[Atom, Derivative]) -> Term:
    """The rule of `dup` backwards: the sum of the adjoints of the copies."""
    leaves = [Leaf(ADJOINT, o, adjoints[o].value) for o in outs]
    derivative = adjoints[outs[0]] if len(outs) == 1 else plus(adjoints[outs[0]], adjoints[outs[1]])
    return Term(_variable(e.args[0]), leaves[0] if len(outs) == 1 else Apply(ADD, tuple(leaves)), derivative)


def receive(term: Term, adjoints: dict[Atom, Derivative]) -> Step:
    before = adjoints.get(term.operand)
    after = term.derivative if before is None else plus(term.derivative, before)
    adjoints[term.operand] = after
    return Step(term, before, after)


def plus(x: Derivative, y: Derivative) -> Derivative:
    """The sum of what exists."""
    return Derivative(x.value + y.value) if not (x.absent or y.absent) else y if x.absent else x


# ---------------------------------------------------------------- one contribution

def contribution(e: Equation, position: int, leaf: Leaf, given: Derivative, values: Mapping[Var, float]) -> Term | None:
    """What the rule of `e` makes of a derivative `given`, which `leaf` shows, at one argument; None where the rule has nothing
    for that argument."""
    found = rule_of(e, position)
    if found is None:
        return None
    numbers: dict[Var, Any] = {found.t: given.value, found.z: values[e.outs[0]]}
    nodes: dict[Var, Node] = {found.t: leaf, found.z: Leaf(VALUE, e.outs[0], values[e.outs[0]])}
    for x, a in zip(found.args, e.args, strict=True):
        if isinstance(x, Var):
            numbers[x] = read(values, a, FLOAT)
            nodes[x] = Leaf(VALUE, a, numbers[x])
    for step in found.equations:
        args = [read(numbers, a, FLOAT) for a in step.args]
        numbers[step.outs[0]] = FLOAT.apply(step.op, args, step.args)
        nodes[step.outs[0]] = tidy(step.op, args, tuple([a if isinstance(a, Lit) else nodes[a] for a in step.args]))
    value = read(numbers, found.value, FLOAT)
    formula = found.value if isinstance(found.value, Lit) else nodes[found.value]
    operand = _variable(e.args[position])
    if found.condition is not None and not read(numbers, found.condition, FLOAT):
        return Term(operand, None, Derivative(0.0, STEP if is_step(e.op) else ARM))
    if given.absent:
        return Term(operand, formula if value == 0 else None, Derivative(0.0, given.absent))
    return Term(operand, formula, Derivative(value))


def tidy(op: Primitive, numbers: Sequence[Any], args: tuple[Node, ...]) -> Node:
    """The operation as a reader wants it, where the rule's constants make it simpler at this point."""
    if op is SELECT:
        return args[1] if numbers[0] else args[2]
    if all(isinstance(a, Lit) for a in args) and not op.truth:
        return Lit(FLOAT.apply(op, list(numbers), tuple([a for a in args if isinstance(a, Lit)])))
    if op is ADD or op is MUL:
        neutral = 0.0 if op is ADD else 1.0
        for one, other in (args, args[::-1]):
            if isinstance(one, Lit) and one.value == neutral:
                return other
    if op is MUL and isinstance(over := args[1], Apply) and over.op is DIV:
        first = over.args[0]
        if isinstance(first, Lit) and first.value == 1:
            return Apply(DIV, (args[0], over.args[1]))
    return Apply(op, args)


def _variable(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom
