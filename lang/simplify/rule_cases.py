"""Programs without the cases of rules that hold no point inside of the domain, for reading.

The cases are found by values: a condition that a rule has made (not one of the text) counts as decided where it has one truth
value at all drawn points at which its choice matters. Of programs with tensors the bodies of comprehensions lose cases
(`rule_cases_tensors`).
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adcli.lang.evaluate import FLOAT
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.simplify.ranges import Context, contexts

LONGEST = 2000
"""Equations of a program that is rewritten."""
TRIES, POINTS = 600, 48
"""Points that are drawn, and those of them that are enough where all values are finite."""
RANGES = (0.1, 2.0), (-0.9, 0.9), (-3.0, 3.0), (1.1, 6.0), (0.5, 9.0)
"""Ranges from which an input without one is drawn."""
SELECT, COPY = TABLE["select"], TABLE["dup"]
NEUTRAL = {TABLE["add"]: 0.0, TABLE["mul"]: 1.0}
"""Operations with the number beside which they are the other operand."""
CASES = ("sign", "select", "and", "or")


class Decided(NamedTuple):
    """A program without cases of rules, and for each group of equations what was assumed: a condition, its truth, and the context
    in which it has that."""

    program: Program
    assumed: Mapping[int, Sequence[tuple[Atom, bool, Context]]] = {}


def has_cases(program: Program, own: Container[Atom]) -> bool:
    """Whether points may tell values of rules apart, in a program without its `own`."""
    return any(e.outs[0] not in own and (e.op.name in CASES or (e.op in NEUTRAL and isinstance(e.args[-1], Lit)))
               for e in program.equations)


def without_cases(program: Program, points: Sequence[Mapping[Atom, Any]], own: Container[Atom], named: bool) -> Decided:
    """A program without cases that hold none of some points, at which its values are given, but for its `own` choices. What is
    `named` is a copy where it is another value."""
    under, results = contexts(program), {r.atom for r in program.results}
    env, copies = dict[Atom, Atom](), dict[Atom, Atom]()
    assumed: dict[int, list[tuple[Atom, bool, Context]]] = {}
    for e in program.equations:
        out, context = e.outs[0], under.get(e.outs[0])
        if out in own or context is None or type(e.op) is not Primitive:
            continue
        there = [p for p in points if all(bool(p[c]) is truth for c, truth in context)]
        first, last = (env.get(e.args[i], e.args[i]) for i in (0, -1))
        left: Atom | None = None
        if isinstance(last, Lit) and last.value == NEUTRAL.get(e.op) and all(
                repr(p[out]) == repr(number_of(first, p)) for p in there):   # as x + 0 is but for the sign of a zero
            left = first
        if e.op is TABLE["sign"] and len(signs := {p[out] for p in there}) == 1:
            left = Lit(signs.pop())
        for a, chosen in choices(e) if e.op.name in CASES[1:] else ():
            held = {bool(p[a]) for p in there} if isinstance(a, Var) and a not in own else set()
            if len(held) == 1:
                left = chosen(held == {True})
                left = env.get(left, left)
                assumed.setdefault(e.group, []).append((a, held == {True}, context))
                break
        if left is not None:
            (copies if named and (out.name or out in results) else env)[out] = left
    return Decided(without(program, env, copies, own), assumed)


def without(program: Program, env: Mapping[Atom, Atom], copies: Mapping[Atom, Atom], own: Container[Atom]) -> Program:
    """The program with other values for some, of which some stay as copies, and without the equations of rules that only those
    needed."""
    results = tuple([r.with_atom(env.get(r.atom, r.atom)) for r in program.results])
    lost, kept = {*env, *copies}, list[Equation]()
    needed = {r.atom for r in results}
    for e in reversed(program.equations):
        rule = e.outs[0] not in own
        if rule and not lost.isdisjoint(e.outs):
            lost.update(e.args)
            if needed.isdisjoint(e.outs) and (e.outs[0] in env or not e.outs[0].name):
                continue
        if e.outs[0] in copies:
            e = Equation(e.outs, COPY, (copies[e.outs[0]],), e.span, e.group)
        elif rule and type(e.op) is Primitive:
            e = e.with_args([env.get(a, a) if isinstance(a, Var) or a.value else Lit(0.0) for a in e.args])
        elif not env.keys().isdisjoint(e.args):
            e = e.with_args([env.get(a, a) for a in e.args])
        needed.update(e.args)
        kept.append(e)
    return replace(program, equations=tuple(reversed(kept)), results=results)


def choices(e: Equation) -> list[tuple[Atom, Callable[[bool], Atom]]]:
    """The conditions of a choice, or of a conjunction or disjunction, and by the truth of each the argument that is left."""
    if e.op is SELECT:
        return [(e.args[0], lambda true: e.args[1 if true else 2])]
    one, other = e.args
    passes = e.op is TABLE["and"]
    return [(one, lambda true: other if true is passes else one), (other, lambda true: one if true is passes else other)]


def inside(program: Program) -> list[dict[Atom, Any]]:
    """All values at drawn points where none of them is infinite or NaN."""
    draw, found = random.Random(0), []
    for k in range(TRIES):
        low, high = RANGES[k % len(RANGES)]
        values: dict[Atom, Any] = {p.var: drawn(p, draw, low, high) for p in program.params}
        if carried_out(program.equations, values) and all(math.isfinite(number_of(r.atom, values)) for r in program.results):
            found.append(values)
            if len(found) == POINTS:
                break
    return found


def drawn(p: Param, draw: random.Random, low: float, high: float) -> float:
    """A value of an input in its declared range, or from low to high."""
    least, most = p.ends
    if math.isfinite(most - least):
        return draw.uniform(least, most)
    x = draw.uniform(low, high)
    return least + abs(x) if math.isfinite(least) else most - abs(x) if math.isfinite(most) else x


def number_of(atom: Atom, values: Mapping[Atom, Any]) -> Any:
    return atom.value if isinstance(atom, Lit) else values[atom]


def carried_out(equations: Iterable[Equation], values: dict[Atom, Any]) -> bool:
    """Put the values of the equations into `values`; false where the point is outside of what floats can."""
    for e in equations:
        try:
            args = [number_of(a, values) for a in e.args]
            value = args * len(e.outs) if e.op is COPY else [FLOAT.apply(e.op, args, e.args)]
        except (ArithmeticError, ValueError):
            return False
        values.update(zip(e.outs, value, strict=True))
    return True
