"""Evaluation trace of a program at a point: of every line its value, its tangent, and what it sends backwards.

The numbers of the tables that textbooks write by hand (Griewank and Walther, Evaluating Derivatives, 2nd ed. 2008, chapter
2; Baydin, Pearlmutter, Radul and Siskind, Automatic differentiation in machine learning: a survey, 2018, tables 2 and 3).
The numbers are those of the sweeps (lang/analyse/numeric_sweeps.py), the formulas the maps of the primitive table, emitted
as IR; there is no second table.

A formula is kept for reading: of a `select` in a rule it has the arm taken, and what a rule does for roundings and signs of
zero alone is left out (`x + 0`, a factor 1; `t * (1 / x)` reads t / x). Numbers are always those of the rule itself.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from adcli.lang.analyse.numeric_sweeps import Contribution, Derivative, Sweep, forward_sweep, outcome, reverse_sweep, rule_of
from adcli.lang.evaluate import FLOAT, Arithmetic, ValuesAt, every_value, read
from adcli.lang.ir import Atom, Equation, Lit, Point, Primitive, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.rule_programs import read_by

ADD, SUB, MUL, DIV, NEG, DUP, SELECT = (TABLE[name] for name in ("add", "sub", "mul", "div", "neg", "dup", "select"))

VALUE, TANGENT, ADJOINT = "value", "tangent", "adjoint"
"""Kinds of leaves of a formula."""


class Leaf(NamedTuple):
    """The value, tangent or adjoint of a variable, or a constant of the program, with its number at the point."""

    kind: str
    atom: Atom
    number: float


class Apply(NamedTuple):
    """An operation of a formula."""

    op: Primitive
    args: tuple[Formula, ...]


Formula = Leaf | Lit | Apply


class TracedTerm(NamedTuple):
    """Contribution of one argument, `operand`, by its rule. The formula is None where nothing but the reason can be shown."""

    operand: Var
    formula: Formula | None
    derivative: Derivative


class AdjointStep(NamedTuple):
    """One line of the reverse sweep: the adjoint of the term's operand receives the term."""

    term: TracedTerm
    before: Derivative | None
    after: Derivative


class TracedLine(NamedTuple):
    """An equation with the terms of its tangent, and the steps of its adjoint line in the order of the sweep."""

    equation: Equation
    terms: Sequence[TracedTerm]
    steps: Sequence[AdjointStep]


class Trace(NamedTuple):
    """A program at a point. `seeds` are the first steps of the reverse sweep, one for each output that has a cotangent; in
    `tangents` and `adjoints` stands what has a derivative at all."""

    program: Program
    values: ValuesAt
    lines: Sequence[TracedLine]
    seeds: Mapping[str, AdjointStep]
    tangents: Mapping[Atom, Derivative]
    adjoints: Mapping[Atom, Derivative]


def traced(program: Program, at: Point, wrt: Sequence[str], tangent: Point | None = None,
           cotangent: Point | None = None, arithmetic: Arithmetic = FLOAT) -> Trace:
    """The trace at a point: `tangent` has a number for every input in `wrt`, `cotangent` one for every output; either may
    be left out. Numbers are those of the `arithmetic`. Time is linear in the number of equations."""
    values = every_value(program, at, arithmetic)
    seeded = [(program.param(x).var, tangent[x]) for x in wrt] if tangent is not None else []
    forward = forward_sweep(program, values, seeded, keep=True)
    sown = [(r.name, r.atom) for r in reversed(program.results) if cotangent is not None and isinstance(r.atom, Var)]
    weights = [(atom, cotangent[name]) for name, atom in sown if cotangent]
    shown = active_values(program, wrt, [atom for atom, _ in weights])   # an output that is a constant has an adjoint too
    backward = reverse_sweep(program, values, weights, shown, shown, keep=True)
    seeds = {name: AdjointStep(TracedTerm(atom, None, seed), before, after)
             for (name, atom), (seed, before, after) in zip(sown, backward.sown, strict=True)}
    lines = [TracedLine(e, [term(part, forward) for part in terms],
                        [AdjointStep(term(part, backward), part.before, part.after) for part in steps])
             for e, terms, steps in zip(program.equations, forward.lines, backward.lines, strict=True)]
    return Trace(program, values, lines, seeds, forward.derivatives, backward.derivatives)


# ---------------------------------------------------------------- formulas

def term(part: Contribution, sweep: Sweep) -> TracedTerm:
    """A contribution with its formula, which is None where nothing but the reason why it is zero can be shown."""
    e, kind = part.equation, TANGENT if sweep.forward else ADJOINT
    shown: Formula | None
    if e.op is DUP and not sweep.forward:
        leaves = [Leaf(kind, o, sweep.derivatives[o].value) for o in e.outs if o in sweep.derivatives]
        shown = leaves[0] if len(leaves) == 1 else Apply(ADD, tuple(leaves))
    else:
        shown = formula(part, Leaf(kind, part.source, sweep.derivatives[part.source].value), sweep)
    return TracedTerm(_variable(e.args[part.position]), shown, part.derivative)


def formula(part: Contribution, leaf: Leaf, sweep: Sweep) -> Formula | None:
    """Formula of the contribution of the derivative that `leaf` shows; None where it is zero for another reason than this
    formula's."""
    e, rule = part.equation, rule_of(part.equation, part.position)
    assert rule is not None and sweep.kept is not None
    numbers = sweep.kept[e, part.position]
    value = outcome(rule, numbers, sweep.values.arithmetic)
    if value is None or (part.derivative.absent and value != 0):
        return None
    shown: dict[Var, Formula] = {rule.t: leaf, rule.z: Leaf(VALUE, e.outs[0], sweep.values[e.outs[0]])}
    atoms: Sequence[Atom | None] = read_by(e.op, part.position, e.args, lambda: None)
    for x, a in zip_longest(rule.args, atoms):
        if isinstance(x, Var):   # what the maps of many arguments have in common is a number here
            shown[x] = Lit(numbers[x]) if a is None else Leaf(VALUE, a, numbers[x])
    for made in rule.equations:
        operands = tuple([a if isinstance(a, Lit) else shown[a] for a in made.args])
        shown[made.outs[0]] = tidy(made.op, [read(numbers, a, sweep.values.arithmetic) for a in made.args], operands)
    return rule.value if isinstance(rule.value, Lit) else shown[rule.value]


def tidy(op: Primitive, numbers: Sequence[Any], args: tuple[Formula, ...]) -> Formula:
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
