"""Recurrences as loops of comprehensions in place: what there is to do at one step, and what lies in memory.

A history lies where the tensor lies that it enters with, and its statements write into it, so that nothing is copied at a step
or before the first one; where the loop writes every element, nothing is filled either. A history that is read at the step of its
writing only, and by nobody behind the loop, is a tensor of one step: its place is the same for all steps, and elementwise work on
it goes into the statement that reads it.

Histories of which only the last few elements are ever read: a ring of these is kept, in place of all.

A loop reads a history at constant distances behind its writes, so beside what is read behind the loop it needs no more elements
along the step than these reach. Where what is read behind the loop are the last ones, element s lies in place s mod R, and a loop
of a million steps takes the memory of R. A loop that may end early (`until`) remembers for as many steps that it has: where the
oldest of these elements says so, all of a ring are copies of one.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adcli.codegen.nests.fusion import fused, in_machine_terms, needed
from adcli.codegen.nests.history_elements import covers, history_elements
from adcli.codegen.schedules.schedule import writes_fixed
from adcli.codegen.schedules.search import reads_inside
from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Shape, Var
from adcli.lang.ir.affine import Affine, Index, Substitution, affine, atoms, floor, substituted
from adcli.lang.ir.build import Builder
from adcli.lang.operations.comprehension import (
    NEUTRAL,
    Comprehension,
    Range,
    Read,
    Subscript,
    constant_body,
    identity_body,
    replaced,
)
from adcli.lang.operations.elementwise import every_element, filled, moved
from adcli.lang.operations.matrix import Boxed, MatrixOperation, accesses
from adcli.lang.operations.recurrence import Recurrence, step_place, whole_statements

T = TypeVar("T")
Ring = tuple[int, int]
"""The dimension of a history that is the step, and how many elements along it are kept: see `adcli.codegen.nests.recurrences`."""
Place = tuple[Var, int, tuple[Affine, ...]]
"""A history, the dimension that is the step, and the other subscripts, which are numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class StepLoop:
    """A recurrence for the machine: `equations` are done in order at every step, which is a size of the name `step`.

    The result of an equation is either in `histories`, which lie in memory as a whole and of which an equation writes what it
    assigns, or a tensor of one step. `homes` are the tensors in whose place others of one step lie.
    """

    step: str
    low: Affine
    high: Affine
    down: bool
    equations: tuple[Equation, ...]
    histories: tuple[Var, ...]
    homes: Mapping[Var, Var]
    starts: Mapping[Var, float]
    """Initial number of each history that has one."""
    until: Var | None = None
    """The history that is 1 behind the step after which others copy: see `Recurrence.until`."""
    copies: int | None = None
    """How many steps behind that one change anything that somebody reads behind the loop; None where all do, as of a history
    that is read as a whole."""
    stored: bool = False
    """True if all histories lie in memory, because the loop goes on there after some of its steps."""
    registers: bool = False
    """True if it keeps what it computes in registers: see `in_registers`. Of all its steps, also where it does some of them."""

    @property
    def leaves(self) -> bool:
        """True if it ends where nobody reads what later steps would copy."""
        return self.until is not None and self.copies is not None and not self.stored

    @property
    def own(self) -> list[Var]:
        """Tensors in memory besides the histories that are read after the loop."""
        if self.registers:
            return [h for h in self.histories if self.stored or h not in self.starts]
        return list(dict.fromkeys(out for e in self.equations for out in e.outs))


# ---------------------------------------------------------------- histories in place

def own_starts(program: Program) -> Program:
    """The program with a boundary of its own for every history that enters with one that others enter with, too: zeros of one
    step are quickly made again, and a copy is of all steps."""
    uses = Counter(a for e in program.equations for a in e.args)
    uses.update(r.atom for r in program.results)
    made = {out: e for e in program.equations for out in e.outs}
    equations: list[Equation] = []
    for e in program.equations:
        args = list(e.args)
        for k, a in enumerate(e.args[:e.op.outs] if isinstance(e.op, Recurrence) else ()):
            before = made.get(a) if isinstance(a, Var) and uses[a] > 1 else None
            if before is not None and not before.args and history_elements(e).boundary(k, before) is not None:
                args[k] = again = Var(before.outs[0].name, True, shape=before.outs[0].shape)
                equations.append(Equation((again,), before.op, before.args, before.span, before.group))
        equations.append(e.with_args(args))
    return replace(program, equations=tuple(equations))


def in_place(program: Program) -> Program:
    """The program with a tensor of its own for every history of a recurrence to enter with, that nothing else reads: what it
    entered with before, a copy of that, or one that is filled. A number stays where no element keeps it."""
    given: set[Atom] = {*(p.var for p in program.params), *(r.atom for r in program.results)}
    last = {a: k for k, e in enumerate(program.equations) for a in e.args}
    b = Builder()
    for k, e in enumerate(program.equations):
        if isinstance(op := e.op, Recurrence):
            b.span, b.group = e.span, e.group
            outside, args, elements = used_outside(program, e), list(e.args), history_elements(e)
            registers = step_loop(e, outside, "step").registers
            for n, (a, out) in enumerate(zip(e.args[:op.outs], e.outs, strict=True)):
                if isinstance(a, Lit):
                    unseen = out not in outside and (registers or elements.one_step(n, outside) is not None)
                    stays = unseen or elements.written_wholly(n)
                    args[n] = a if stays else filled(b, out.shape, a.value)
                elif a in given or last[a] > k or e.args.count(a) > 1:
                    args[n] = copied(b, a)
            e = e.with_args(args)
        b.equations.append(e)
    return replace(program, equations=tuple(b.equations))


def copied(b: Builder, a: Var) -> Atom:
    ranges, here = every_element(a.shape)
    copy = Comprehension(ranges=ranges, write=here, shape=a.shape, reduction="=", sources=(Read(0, here),), body=identity_body())
    return b.emit(copy, a, shape=a.shape)


def used_outside(program: Program, e: Equation) -> set[Atom]:
    """Values read outside of the recurrence, and results."""
    return {*(r.atom for r in program.results), *(a for other in program.equations if other is not e for a in other.args)}


def unfilled(program: Program) -> set[Var]:
    """The tensors that a history enters with whose elements need no value but those that are assigned: the loop assigns all
    others."""
    made = {out: e for e in program.equations for out in e.outs}
    found = set()
    for e in program.equations:
        if isinstance(e.op, Recurrence):
            for k, a in enumerate(e.args[:e.op.outs]):
                steps = list[int]()
                before = made.get(a) if isinstance(a, Var) else None
                while before is not None and (step := history_elements(e).boundary(k, before)) is not None:
                    (first,), steps = before.outs, [*steps, step]
                    onto = before.op.start(before)
                    if onto is None and history_elements(e).written_wholly(k, steps):
                        found.add(first)
                    before = made.get(onto) if isinstance(onto, Var) else None
    return found


# ---------------------------------------------------------------- tensors of one step

def step_loop(e: Equation[Recurrence], outside: Collection[Atom], name: str) -> StepLoop:
    """The recurrence as a loop over a size `name`; `outside` is what is read elsewhere."""
    op = e.op
    elements = history_elements(e)
    places: dict[Atom, int] = {out: place for k, out in enumerate(e.outs) if (place := elements.one_step(k, outside)) is not None}
    rings = {out: (d, count) for out, inner in zip(e.outs, op.histories, strict=True) if out not in places
             for d, (n, full) in enumerate(zip(out.shape, inner.shape, strict=True))
             if n != full and (count := n.number) is not None}
    starts = dict(zip(e.outs, e.args, strict=False))
    now: dict[Atom, Var] = {}
    versions: dict[Var, list[Var]] = {}
    b = Builder()
    for whole in whole_statements(e):
        b.span, b.group = whole.span, whole.group
        (out,) = whole.outs
        s = at_step(whole, op.step, name)
        if isinstance(s.op, MatrixOperation):
            b.equations.append(s)
            continue
        adds = s.op.onto is not None or (s.op.reduction == "=" and out in places and not covers(s.op, places[out]))
        if out in places and out not in now and adds:
            now[out] = start = made(b, without(out.shape, places[out]), starts[out])
            versions.setdefault(out, []).append(start)
        s = in_terms_of_one_step(s, places, now)
        if out in places:
            now[out] = s.outs[0]
            versions.setdefault(out, []).append(s.outs[0])
        s = in_ring(s, rings)
        sums = s.op.reduction == "+" and writes_fixed(s.op)
        if out not in places and s.op.onto is None and s.op.reduction != "=" and not sums:
            b.equations.append(neutral(s))
        b.equations.append(s)
    histories = tuple(out for out in e.outs if out not in places)
    own = {a for x in b.equations for a in (*x.args, *x.outs) if isinstance(a, Var)}
    program = Program((), tuple(b.equations), tuple(Result(f"y{k}", h) for k, h in enumerate(h for h in histories if h in own)))
    equations = in_machine_terms(needed(fused(program))).equations
    homes = {v: many[-1] for many in versions.values() for v in many}
    numbers = {out: a.value for out, a in zip(e.outs, e.args, strict=False) if out in histories and isinstance(a, Lit)}
    until = None if op.until is None else e.outs[op.until]
    kept = [out for out in histories if out in outside]
    copies = max((rings[out][1] for out in kept), default=0) if rings.keys() >= {*kept} else None
    loop = StepLoop(name, op.low, op.high, op.down, equations, histories, homes, numbers, until, copies)
    return replace(loop, registers=in_registers(loop))


def at_step(s: Equation[Boxed], step: Index, name: str) -> Equation:
    """A statement at one step, which is a size."""
    return with_step(replace(s, op=replace(s.op, ranges=s.op.ranges[1:])), {step: affine(name)})


def over_all_steps(e: Equation, loop: StepLoop, index: Index) -> Equation:
    """An equation of a loop as one operation over all steps, with the step as an index: what is asked of it holds at every
    step."""
    x = with_step(e, {loop.step: affine(index)})
    return replace(x, op=replace(x.op, ranges=(Range(index, loop.low, loop.high), *x.op.ranges)))


def with_step(s: Equation[Boxed], by: Substitution) -> Equation:
    """A statement with something else for the step."""
    op: Any = s.op   # of either kind, with the same fields
    ranges = tuple([Range(r.index, substituted(r.low, by), substituted(r.high, by), r.why) for r in op.ranges])
    guards, write, sources = (tuple([replaced(x, by) for x in each]) for each in (op.guards, op.write, op.sources))
    return replace(s, op=replace(op, ranges=ranges, guards=guards, write=write, sources=sources, agreements=()))


def in_terms_of_one_step(s: Equation[Comprehension], places: Mapping[Atom, int], now: Mapping[Atom, Var]) -> Equation:
    """The statement with tensors of one step in the place of histories: those of `now`, and a new one for its result."""
    op, (out,) = s.op, s.outs

    def read(r: Read) -> Read:
        place = places.get(s.args[r.arg])
        return r if place is None else replace(r, subscripts=without(r.subscripts, place))
    op = moved(op, read, lambda position: position)
    args = tuple(now.get(a, a) for a in s.args)
    if out not in places:
        return Equation(s.outs, op, args, s.span, s.group)
    shape = without(out.shape, places[out])
    op = replace(op, write=without(op.write, places[out]), shape=shape)
    if out in now and op.onto is None:
        op, args = replace(op, onto=len(args)), (*args, now[out])
    return Equation((Var(out.name, True, shape=shape),), op, args, s.span, s.group)


def in_ring(x: Equation[Comprehension], rings: dict[Var, Ring]) -> Equation:
    """A comprehension that reads and writes tensors in rings."""
    op = x.op

    def read(r: Read) -> Read:
        a = x.args[r.arg]
        return replace(r, subscripts=turned(r.subscripts, rings[a])) if isinstance(a, Var) and a in rings else r
    op = moved(op, read, lambda position: position)
    if x.outs[0] in rings:
        d, count = rings[x.outs[0]]
        op = replace(op, write=turned(op.write, (d, count)), shape=(*op.shape[:d], affine(count), *op.shape[d + 1:]))
    return Equation(x.outs, op, x.args, x.span, x.group)


def turned(subscripts: tuple[Subscript, ...], ring: Ring) -> tuple[Subscript, ...]:
    """Where an element lies."""
    d, count = ring
    s = subscripts[d]
    assert isinstance(s, Affine)
    return (*subscripts[:d], s - floor(s, count) * count, *subscripts[d + 1:])


def without(values: tuple[T, ...], place: int) -> tuple[T, ...]:
    return values[:place] + values[place + 1:]


def made(b: Builder, shape: Shape, start: Atom) -> Var:
    """A tensor, or a number, with one value everywhere."""
    assert isinstance(start, Lit)
    ranges, here = every_element(shape)
    fill = Comprehension(ranges=ranges, write=here, shape=shape, reduction="=", sources=(), body=constant_body(start.value))
    return b.emit(fill, shape=shape)


def neutral(s: Equation[Comprehension]) -> Equation:
    """The elements of a history that a statement may write at one step as what its reduction starts from."""
    op, (out,) = s.op, s.outs
    ranges, here = every_element(out.shape)
    write = tuple(x if isinstance(x, Affine) else i for x, i in zip(op.write, here, strict=True))
    named = {i for x in write for i in atoms(x)}
    kept = tuple(r for r in (*op.ranges, *ranges) if r.index in named)
    guards = tuple(g for g in op.guards if set(g.indices()) <= named)
    fill = Comprehension(ranges=kept, guards=guards, write=write, shape=op.shape, reduction="=", sources=(),
                         body=constant_body(NEUTRAL[op.reduction]))
    return Equation(s.outs, fill, (), s.span, s.group)


# ---------------------------------------------------------------- loops over numbers

def in_registers(loop: StepLoop) -> bool:
    """True if all that the loop computes are numbers, at constant distances from the step; under a condition on the step one may
    be assigned or added to, of what is there also where the condition does not hold."""
    for e in loop.equations:
        op = e.op
        if not isinstance(op, Comprehension) or op.ranges or e.outs[0].whole:
            return False
        if op.guards:
            whole = over_all_steps(e, loop, Index("step")).op
            assert isinstance(whole, Comprehension)
            if (op.reduction != "=" and op.onto is None) or not reads_inside(whole, e.args, loop.histories):
                return False
        if any(a in loop.histories and place(loop, a, subscripts) is None for a, subscripts in accesses(e, op)):
            return False
    return True


def place(loop: StepLoop, history: Atom, subscripts: tuple[Subscript, ...]) -> tuple[Place, int] | None:
    """The history, with the subscripts beside the step, and the distance from the step; None for any other access."""
    apart = [s - affine(loop.step) if isinstance(s, Affine) else None for s in subscripts]
    steps = [d for d, (s, x) in enumerate(zip(subscripts, apart, strict=True))
             if isinstance(s, Affine) and s.number is None and x is not None and x.number is not None]
    others = tuple(s for d, s in enumerate(subscripts) if d not in steps)
    if len(steps) != 1 or not all(isinstance(s, Affine) and s.number is not None for s in others):
        return None
    (d,) = steps
    distance = apart[d]
    assert isinstance(history, Var) and distance is not None and distance.number is not None
    return (history, d, tuple(s for s in others if isinstance(s, Affine))), distance.number


# ---------------------------------------------------------------- rings

def with_rings(program: Program, registers: bool = False, whole: Collection[Atom] = ()) -> Program:
    """The program with short histories where they do, but for those of `whole`. With `registers` a loop over numbers keeps them
    there and stays as it is."""
    for n, e in enumerate(program.equations):
        if isinstance(e.op, Recurrence) and not (registers and step_loop(e, used_outside(program, e), "step").registers):
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
            plain = isinstance(x.op, Comprehension) and all(before is not e.outs[k] for before, _ in x.op.started(x))
            reads = accesses(x, x.op) if plain else ()
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
        a = x.op.start(x)
    return found


def uses(program: Program, a: Atom) -> int:
    return sum(x.args.count(a) for x in program.equations) + sum(r.atom is a for r in program.results)
