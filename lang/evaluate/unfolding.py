"""A program with tensors at a point, written out as a program of numbers: one equation for every operation on every element.

It is a verbatim tape (`adcli.lang.evaluate.recording`) on which elements have their names, as people write them: h(3, 0). Loops
are run step by step, matrices are eliminated with the pivots of this point, and gathers are resolved. So whoever follows single
numbers (a diagnosis, an evaluation table) needs to know nothing of tensors. Where an operation on matrices has no value, an
operation says for which pivot or element.

The length is that of the work: `length` says it beforehand, and `MOST_OPERATIONS` is where there should be an end.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value
from adcli.lang.evaluate.comprehensions import as_value, bound
from adcli.lang.evaluate.recording import NumberOnTape, NumberTape, Pivots, atom_of, element, elements
from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Var
from adcli.lang.ir.affine import value
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.matrix import MatrixOperation, matrix_extent
from adcli.lang.operations.recurrence import Recurrence

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

