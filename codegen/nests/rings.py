"""Histories of which only the last few elements are ever read: a ring of these is kept, in place of all.

A loop reads a history at constant distances behind its writes, so beside what is read behind the loop it needs no more elements
along the step than these reach. Where what is read behind the loop are the last ones, element s lies in place s mod R, and a loop
of a million steps takes the memory of R. A loop that may end early (`until`) remembers for as many steps that it has: where the
oldest of these elements says so, all of a ring are copies of one.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from adcli.codegen.nests.history_elements import covers, history_elements
from adcli.codegen.nests.recurrences import Ring, in_registers, in_ring, step_loop, used_outside
from adcli.lang.ir import Atom, Equation, Program, Var
from adcli.lang.ir.affine import Affine, affine
from adcli.lang.operations.comprehension import Comprehension, Subscript
from adcli.lang.operations.matrix import accesses
from adcli.lang.operations.recurrence import Recurrence, step_place


def with_rings(program: Program, registers: bool = False, whole: Collection[Atom] = ()) -> Program:
    """The program with short histories where they do, but for those of `whole`. With `registers` a loop over numbers keeps them
    there and stays as it is."""
    for n, e in enumerate(program.equations):
        if isinstance(e.op, Recurrence) and not (registers and in_registers(step_loop(e, used_outside(program, e), "step"))):
            least = 1
            others = [k for k in range(len(e.outs)) if k != e.op.until]
            for k in others if e.op.until is None else [*others, e.op.until]:   # the last tells when all are copies
                if e.outs[k] not in whole:
                    program, count = with_ring(program, n, k, least if k == e.op.until else 1)
                    least = max(least, count)
    return program


def with_ring(program: Program, n: int, k: int, least: int) -> tuple[Program, int]:
    """The program with history k of equation n in a ring, of how many elements; as it is, where more of it is read."""
    e = program.equations[n]
    kept = elements(program, e, k)
    chain = None if kept is None else starts(program, e, k, kept[1])
    if chain is None or kept is None:
        return program, 1
    d, count = kept[0], max(kept[1], least)
    new = {out: Var(out.name, out.temp, shape=(*out.shape[:d], affine(count), *out.shape[d + 1:])) for out in (*chain, e.outs[k])}

    by: dict[Atom, Atom] = dict(new.items())

    def changed(x: Equation) -> Equation:
        if new.keys().isdisjoint((*x.args, *x.outs)):
            return x
        if x is e or not isinstance(x.op, Comprehension):
            return x.substituted(by)
        return in_ring(x, dict.fromkeys(new, (d, count))).substituted(by)
    return replace(program, equations=tuple(map(changed, program.equations))), count


def elements(program: Program, e: Equation[Recurrence], k: int) -> Ring | None:
    """How many elements of history k are needed at a time; None where others are read, or some are not assigned as a whole
    before they are read."""
    op, out, accessed = e.op, e.outs[k], history_elements(e)
    found = accessed.assigned(k)
    if found is None or out.whole or out in {r.atom for r in program.results}:
        return None
    d, newest = found
    distances = [apart(subscripts[d], affine(op.step)) for _, subscripts in accessed.touched[out]]
    last = (op.low if op.down else op.high - 1) + newest
    behind = [apart(s, last) for s in read_behind(program, e, k, d)]
    if None in distances or None in behind:
        return None
    way = -1 if op.down else 1
    older = [way * (newest - x) for x in distances if x is not None] + [-way * x for x in behind if x is not None]
    return (d, max(older) + 1) if min(older) >= 0 else None


def apart(s: Subscript | None, other: Affine) -> int | None:
    """How far a subscript is from another, where that is a number."""
    return (s - other).number if isinstance(s, Affine) else None


def read_behind(program: Program, e: Equation, k: int, d: int) -> list[Subscript | None]:
    """The subscripts along the step of what other equations read of history k; None for what is no plain read."""
    found: list[Subscript | None] = []
    for x in program.equations:
        if x is not e and e.outs[k] in x.args:
            plain = isinstance(x.op, Comprehension) and (x.op.onto is None or x.args[x.op.onto] is not e.outs[k])
            reads = accesses(x, x.op) if isinstance(x.op, Comprehension) and plain else ()
            found += [s[d] for a, s in reads if a is e.outs[k]] or [None]
    return found


def starts(program: Program, e: Equation[Recurrence], k: int, count: int) -> list[Var] | None:
    """The tensors that history k enters with, one made of the other, each by an assignment of elements of one step that the first
    step of the loop finds in a ring of `count`; None where there is anything else."""
    op = e.op
    statement = next(s.op for s in op.statements if s.outs == (op.histories[k],))
    assert isinstance(statement, Comprehension)
    written = step_place(statement, op.step)
    if written is None:
        return None
    d, newest = written
    at = (op.high - 1 if op.down else op.low) + newest
    made = {out: x for x in program.equations for out in x.outs}
    found: list[Var] = []
    a: Atom | None = e.args[k]
    while isinstance(a, Var):
        x = made.get(a)
        if x is None or not isinstance(x.op, Comprehension) or uses(program, a) != 1 or not covers(x.op, d):
            return None
        distance = apart(x.op.write[d], at)
        if distance is None or not 0 < (distance if op.down else -distance) < count:
            return None
        found.append(a)
        a = None if x.op.onto is None else x.args[x.op.onto]
    return found


def uses(program: Program, a: Atom) -> int:
    return sum(x.args.count(a) for x in program.equations) + sum(r.atom is a for r in program.results)
