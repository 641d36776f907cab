"""Programs with tensors for reading: comprehensions whose bodies have lost cases of rules, found at small tensors that are drawn.

The body of a comprehension is a program of numbers, which loses cases by the values that it had at all elements. It has no groups
that would tell a rule from the text: a value is the text's where a comprehension of the text computes the same of the same reads.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value, read
from adcli.lang.ir import Atom, Equation, Primitive, Program, Var
from adcli.lang.ir.affine import atoms, value
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import Comprehension, Read
from adcli.lang.operations.elementwise import compact
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.simplify.rule_cases import RANGES, drawn, without_cases

TRIES, POINTS, EXTENT, WORK = 40, 10, 3, 300_000
"""Points that are drawn, those that are enough, the size of tensors, and operations after which there is an end."""
Record = dict[Atom, Any]


@dataclass(frozen=True)
class Watching(Arithmetic):
    """Floats that remember the arguments and the result of every operation."""

    seen: dict[Atom, list[Record]] = field(default_factory=dict)

    def apply(self, op: Primitive, args: list[Any], atoms: tuple[Atom, ...], e: Equation | None = None) -> Any:
        result = FLOAT.apply(op, args, atoms)
        if e is not None:
            self.seen.setdefault(e.outs[0], []).append({**dict(zip(atoms, args, strict=False)), e.outs[0]: result})
        return result


def decided_bodies(program: Program, at: Mapping[str, Any] | None = None) -> Program:
    """The program without cases that hold no element inside of the domain, nor any of the point `at`."""
    seen = watched(program, at)
    if not seen:
        return program
    forms = Forms()
    known = {forms.of(e, out) for e in boxes(program.equations) if not e.group for out in defined(e.op.body)}
    own = {o for e in program.equations if not e.group for o in e.outs}
    whole = without_cases(program, points(program, seen), own, False).program

    def read_body(e: Equation[Comprehension]) -> Program:
        body = e.op.body
        written = {out for out in defined(body) if forms.of(e, out) in known}
        return without_cases(body, found, written, False).program if (found := points(body, seen)) else body
    return with_bodies(whole, lambda e: read_body(e) if e.group else e.op.body)


def boxes(equations: Iterable[Equation]) -> Iterator[Equation[Comprehension]]:
    """All comprehensions, those in loops too, in the groups of these."""
    for e in equations:
        if isinstance(e.op, Comprehension):
            yield e
        elif isinstance(e.op, Recurrence):
            yield from boxes(replace(s, group=e.group) for s in e.op.statements)


def with_bodies(program: Program, body: Callable[[Equation[Comprehension]], Program]) -> Program:
    """The program with other bodies of its comprehensions, which read what these need."""
    def changed(e: Equation, group: int) -> Equation:
        if isinstance(e.op, Comprehension):
            return e.with_op(*compact(replace(e.op, body=body(replace(e, group=group))), e.args))
        if isinstance(e.op, Recurrence):
            return e.with_op(replace(e.op, statements=tuple([changed(s, group) for s in e.op.statements])), e.args)
        return e
    return replace(program, equations=tuple([changed(e, e.group) for e in program.equations]))


def defined(body: Program) -> list[Var]:
    return [e.outs[0] for e in body.equations]


class Forms:
    """Numbers of what values are computed of: equal for the same operations on the same reads."""

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}
        self.bodies: dict[int, dict[Atom, int]] = {}

    def of(self, e: Equation[Comprehension], out: Var) -> int:
        known = self.bodies.get(id(e.op.body))
        if known is None:
            known = self.bodies[id(e.op.body)] = {}
            for p, s in e.op.inputs():
                source = (getattr(e.args[s.arg], "name", None), s.subscripts) if isinstance(s, Read) else s
                known[p.var] = self.number(repr(source))
            for made in e.op.body.equations:
                known[made.outs[0]] = self.number((made.op.name, *[
                    known[a] if isinstance(a, Var) else repr(a.value) for a in made.args]))
        return known[out]

    def number(self, form: object) -> int:
        return self.numbers.setdefault(form, len(self.numbers))


# ---------------------------------------------------------------- values

def watched(program: Program, at: Mapping[str, Any] | None) -> Mapping[Atom, Sequence[Record]]:
    """Arguments and results of operations on numbers at points inside of the domain and at a given one; none without any."""
    draw, whole, found, work = random.Random(0), dict[Atom, list[Record]](), 0, 0
    for k in range(TRIES):
        if found < POINTS and work < WORK:
            low, high = RANGES[k // 2 % len(RANGES)]   # and its mirror, since a number is drawn once for a whole tensor
            seen = carried_out(program, tensors_drawn(program, draw, *((-high, -low) if k % 2 else (low, high))), True)
            work += sum(map(len, seen.values()))
            found += bool(seen)
            for out, records in seen.items():
                whole.setdefault(out, []).extend(records)
    if found and at is not None:
        here = carried_out(program, at, False)
        return {out: [*records, *here.get(out, ())] for out, records in whole.items()} if here else {}
    return whole


def carried_out(program: Program, at: Mapping[str, Any], finite: bool) -> dict[Atom, list[Record]]:
    """Arguments and results of operations at a point; none where the program has no values, or it is outside of the domain."""
    watch = Watching(FLOAT.functions)
    try:
        values = every_value(program, at, watch)
        results = [np.asarray(read(values, r.atom, watch), float) for r in program.results]
    except (AdError, ArithmeticError, ValueError, IndexError):
        return {}
    return watch.seen if not finite or all(np.isfinite(x).all() for x in results) else {}


def tensors_drawn(program: Program, draw: random.Random, low: float, high: float) -> dict[str, Any]:
    """Small values of all inputs; integers are 0 or, as they may be sizes, the extent."""
    sizes: dict[Any, int] = {a: EXTENT for p in program.params for x in p.var.shape for a in atoms(x)}
    found: dict[str, Any] = {}
    for p in program.params:
        shape = tuple([max(0, value(x, sizes)) for x in p.var.shape])
        if p.var.integer:
            found[p.name] = np.zeros(shape, int) if shape else EXTENT - 1
        else:
            numbers = np.array([drawn(p, draw, low, high) for _ in range(int(np.prod(shape)))])
            found[p.name] = numbers.reshape(shape) if p.var.shape else float(numbers[0])
    return found


def points(body: Program, seen: Mapping[Atom, Sequence[Record]]) -> list[Record]:
    """The values of a body, one evaluation after the other."""
    records = [seen[e.outs[0]] for e in body.equations if e.outs[0] in seen]
    return [{a: x for record in each for a, x in record.items()} for each in zip(*records, strict=False)]
