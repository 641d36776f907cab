"""Joint loops: statements over one range in one loop (horizontal fusion), where each element is read once and values are shared.

    lp +=! t*t/-2 where t = (y(i) - m(i))/s
    d_m(i) = t/s where t = (y(i) - m(i))/s
    d_s +=! t*t/s where t = (y(i) - m(i))/s

A statement of such a group writes an element for each value of the index, or adds to a number, or to the element that an integer
names. It may read what another one of the group writes, at its own index. Each sum keeps its accumulators and their order, so no
bit of a result changes. Groups are found twice: equations that may be moved to one stand behind each other first, which is of use
to all that writes loops; `groups` finds them among what stands behind each other.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adcli.codegen.schedules.schedule import indices
from adcli.lang.ir import Atom, Equation, Program
from adcli.lang.ir.affine import affine
from adcli.lang.operations.comprehension import Comprehension, Read

REACH, MOST_NUMBERS = 24, 200
"""Equations behind the first of a group among which others are looked for, and how many of numbers may be between them."""
MOST_MEMBERS, MOST_EQUATIONS = 8, 80
"""How many statements one loop has, and how long their bodies are together."""
EACH, TOTAL, SCATTER = "each", "total", "scatter"


@dataclass(frozen=True, slots=True)
class Joinable:
    """A statement that may be one of a group."""

    equation: Equation[Comprehension]
    kind: str

    @property
    def reads(self) -> set[Atom]:
        """Tensors read along the index."""
        op = self.equation.op
        return {self.equation.args[s.arg] for _, s in op.reads() if any(indices(x) for x in s.subscripts)}


def joinable(e: Equation) -> Joinable | None:
    """The statement as one of a group; None where it can be in none."""
    op = e.op
    if not isinstance(op, Comprehension) or len(op.ranges) != 1 or op.guards or op.onto is not None or e.outs[0].whole:
        return None
    (r,) = op.ranges
    kind = None
    if op.reduction == "=" and op.write == (affine(r.index),) and r.low == affine(0) and op.shape == (r.high,):
        kind = EACH
    elif op.reduction == "+":
        kind = TOTAL if not op.write else SCATTER if len(op.write) == 1 and isinstance(op.write[0], Read) else None
    return Joinable(e, kind) if kind else None


def joins(group: Sequence[Joinable], x: Joinable) -> bool:
    """True if a statement can be behind these in one loop, and shares with them what is read or made."""
    if len(group) == MOST_MEMBERS or sum(len(m.equation.op.body.equations) for m in (*group, x)) > MOST_EQUATIONS:
        return False
    op, made = x.equation.op, {m.equation.outs[0]: m.kind for m in group}
    ends = [(m.equation.op.ranges[0].low, m.equation.op.ranges[0].high) for m in (*group, x)]
    here = (affine(op.ranges[0].index),)
    mine = [(x.equation.args[s.arg], s.subscripts) for _, s in op.reads()]
    direct = {a for a, _ in mine}
    if len(set(ends)) > 1 or any(a in made and a not in direct for a in x.equation.args):
        return False
    if any(a in made and (made[a] != EACH or subscripts != here) for a, subscripts in mine):
        return False
    return not x.reads.isdisjoint({*made}.union(*[m.reads for m in group]))


def side_by_side(program: Program) -> Program:
    """The program with the statements of a group behind each other."""
    left, found = list(program.equations)[::-1], list[Equation]()
    while left:
        found.append(left.pop())
        first = joinable(found[-1])
        if first is None:
            continue
        group, passed, numbers, skipped = [first], list[Equation](), set[Equation](), set[Atom]()
        begin = len(found) - 1
        while left and len(passed) - len(numbers) < REACH and len(numbers) < MOST_NUMBERS:
            e = left.pop()
            free = skipped.isdisjoint(e.args)
            x = joinable(e) if free else None
            if x is not None and joins(group, x):
                group.append(x)
                found.append(e)
                continue
            passed.append(e)
            if free and not e.op.tensors and all(m.equation.outs[0] not in e.args for m in group):
                numbers.add(e)   # a later statement of the group may need it
            else:
                skipped.update(e.outs)
        before = numbers if len(group) > 1 else ()
        found[begin:begin] = [e for e in passed if e in before]
        left += [e for e in reversed(passed) if e not in before]
    return replace(program, equations=tuple(found))


def groups(equations: Sequence[Equation | None]) -> list[range]:
    """The positions of the statements of each group; None stands for what is in none."""
    found, current = list[range](), list[Joinable]()
    for k, e in enumerate((*equations, None)):
        x = None if e is None else joinable(e)
        if x is not None and current and joins(current, x):
            current.append(x)
            continue
        if len(current) > 1:
            found.append(range(k - len(current), k))
        current = [] if x is None else [x]
    return found
