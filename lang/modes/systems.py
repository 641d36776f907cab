"""Equations between whole tensors, as recurrences where they depend on one another in a circle and as plain ones elsewhere.

The statements of a recurrence are true of the final histories, in whatever order, and so are their tangents and adjoints. A
`StepSystem` collects them with no regard to how they are computed, and then says how: histories that depend on one another (a
strongly connected component) are one recurrence, with the statements in the order in which they came; everything else stands
before or behind it with the step as an index like any other, in the order of what it reads.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import Span
from adcli.lang.operations.comprehension import Comprehension, Range, Subscript, all_fixed, covers
from adcli.lang.operations.elementwise import compact, filled
from adcli.lang.operations.matrix import Boxed, elements_read
from adcli.lang.operations.recurrence import (
    Recurrence,
    loops,
    signature_of,
    step_offset,
    step_places,
    whole_statements,
)

UNWRITTEN = Lit(0.0)
"""The initial value of a history that nothing has written."""


@dataclass(eq=False, slots=True)
class SystemPart:
    """A tensor of a system: a history with the subscript that has the step as its `place`, what it starts from and the statements
    that write it, each with its number in the system; or what one equation beside them defines. `zeros` says that an element
    that no statement writes is 0 and counts."""

    var: Var
    start: Atom | None
    place: int = 0
    zeros: bool = False
    statements: list[tuple[int, Equation]] = field(default_factory=list)

    def reads(self) -> Iterator[Atom]:
        """Its dependencies, itself too where a statement reads it."""
        if self.start is not None:
            yield self.start
        for _, s in self.statements:
            yield from (a for i, a in enumerate(s.args) if i != s.op.onto)


class StepSystem:
    """See the module. The range is that of the steps, which every statement of a history has first."""

    def __init__(self, loop: Recurrence, down: bool) -> None:
        self.steps, self.down, self.checkpoint = Range(loop.step, loop.low, loop.high), down, loop.checkpoint
        self.parts: dict[Atom, SystemPart] = {}
        self.count = 0

    def history(self, var: Var, start: Atom, place: int, zeros: bool = True) -> None:
        self.parts[var] = SystemPart(var, start, place, zeros)

    def assign(self, var: Var, op: Boxed, args: Atoms, span: Span | None) -> None:
        """A statement that gives elements of a history their value."""
        self.enter(Equation((var,), op, args, span))

    def add(self, var: Var, op: Comprehension, args: Atoms, span: Span | None) -> None:
        """A statement that adds to elements of a history."""
        self.enter(Equation((var,), replace(op, reduction="+", onto=len(args)), (*args, var), span))

    def line(self, e: Equation) -> None:
        """An equation beside the statements."""
        for out in e.outs:
            self.parts[out] = SystemPart(out, None)
        self.enter(e)

    def enter(self, e: Equation) -> None:
        """A statement, as it is, of what it writes."""
        self.parts[e.outs[0]].statements.append((self.count, e))
        self.count += 1

    def emit(self, b: Builder) -> dict[Atom, Atom]:
        """Append all equations, each behind those it reads; returns what histories are that no statement writes."""
        env: dict[Atom, Atom] = {}
        for var, part in [*self.parts.items()]:
            if part.start is not None and not part.statements:
                given = env.get(part.start, part.start)
                env[var] = filled(b, part.var.shape, given.value) if isinstance(given, Lit) else given
                del self.parts[var]
        for part in self.parts.values():
            part.start = None if part.start is None else env.get(part.start, part.start)
            part.statements = [(n, s.substituted(env)) for n, s in part.statements]
        for group in self._components():
            if len(group) > 1:
                self._recurrence(b, [self._as_history(p) for p in group])
            elif group[0].start is None:
                b.equations += [e for _, e in group[0].statements]
            elif group[0].var in set(group[0].reads()) or not self._alone(b, group[0]):
                self._recurrence(b, group)
        return env

    def _components(self) -> Iterator[list[SystemPart]]:
        """The strongly connected components, those that others read first (Tarjan 1972)."""
        number: dict[Atom, int] = {}
        low: dict[Atom, int] = {}
        path: list[SystemPart] = []
        on_path: set[Atom] = set()
        for root in self.parts.values():
            if root.var in number:
                continue
            work = [(root, iter([a for a in root.reads() if a in self.parts]))]
            number[root.var] = low[root.var] = len(number)
            path.append(root)
            on_path.add(root.var)
            while work:
                part, left = work[-1]
                for a in left:
                    if a not in number:
                        inner = self.parts[a]
                        number[a] = low[a] = len(number)
                        path.append(inner)
                        on_path.add(a)
                        work.append((inner, iter([x for x in inner.reads() if x in self.parts])))
                        break
                    if a in on_path:
                        low[part.var] = min(low[part.var], number[a])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0].var] = min(low[work[-1][0].var], low[part.var])
                    if low[part.var] == number[part.var]:
                        at = path.index(part)
                        found, path[at:] = path[at:], []
                        on_path.difference_update(p.var for p in found)
                        yield sorted(found, key=lambda p: number[p.var])

    def _as_history(self, part: SystemPart) -> SystemPart:
        """A part of a circle; what an equation beside the statements defines is made step by step like the rest."""
        if part.start is None:
            statements = [e for _, e in part.statements]
            part.start, part.place, part.zeros = UNWRITTEN, step_places(statements, self.steps.index)[part.var], True
        return part

    # -- outside of a loop

    def _alone(self, b: Builder, part: SystemPart) -> bool:
        """Append the statements of a history that is on no circle as equations onto one another; False where only steps can say
        which elements keep what they start from."""
        operations = [s.op for _, s in part.statements]
        plain = all(op.reduction in ("=", "+") for op in operations)
        whole = len(operations) == 1 and isinstance(operations[0], Comprehension) and covers(operations[0])
        assert part.start is not None
        fresh = isinstance(part.start, Lit) and part.start.bits == UNWRITTEN.bits
        if not plain and not (fresh and whole):
            return False
        later = [s.op for _, s in part.statements[0 if not fresh else 1:]]
        if any(not isinstance(op, Comprehension) or (op.onto is None and op.reduction != "=") for op in later):
            return False
        before = part.start
        for k, (_, s) in enumerate(part.statements):
            out = part.var if k == len(part.statements) - 1 else Var(part.var.name, True, shape=part.var.shape)
            before = _onto(b, s, before, out, fresh and k == 0, part.zeros)
        return True

    # -- a loop

    def _recurrence(self, b: Builder, group: list[SystemPart]) -> None:
        """Append the recurrence of histories that depend on one another, in the order of their first statements, as in texts."""
        group = sorted(group, key=lambda p: p.statements[0][0])
        inside = {p.var: Var(p.var.name, p.var.temp, shape=p.var.shape, whole=p.var.whole) for p in group}
        members = sorted([(n, s, p) for p in group for n, s in p.statements], key=lambda m: m[0])
        starts, statements = [], []
        read: defaultdict[Atom, list[tuple[Subscript, ...]]] = defaultdict(list)
        for p in self.parts.values():
            for _, e in p.statements:
                for atom, subscripts in elements_read(e, e.op) if isinstance(e.op, Boxed) else ():
                    read[atom].append(subscripts)
        assigned = {p.var for p in group if p.zeros and self._written_before_read(p, read)}
        for p in group:
            zeros = isinstance(p.start, Lit) and p.zeros and p.var not in assigned
            assert p.start is not None
            starts.append(filled(b, p.var.shape, p.start.value) if zeros and isinstance(p.start, Lit) else p.start)
        constants: dict[Atom, Var] = {}
        for n, s, p in members:
            op, args = apart(s.op, self.steps.index, p.place) if isinstance(s.op, Comprehension) else s.op, s.args
            if p.var in assigned and n == p.statements[0][0] and op.onto is not None:
                op, args = compact(replace(op, onto=None, reduction="=" if all_fixed(op.ranges, op.write) else "+"), args)
            for a in args:
                if isinstance(a, Var) and a not in inside and a not in constants:
                    constants[a] = Var(a.name, a.temp, a.truth, a.shape, a.integer, a.whole)
            named = tuple([(inside.get(a) or constants.get(a) or a) if isinstance(a, Var) else a for a in args])
            statements.append(Equation((inside[p.var],), op, named, s.span))
        loop = Recurrence(signature=signature_of(len(group)), step=self.steps.index, low=self.steps.low, high=self.steps.high,
                          down=self.down, checkpoint=self.checkpoint, histories=tuple(inside.values()),
                          constants=tuple(constants.values()),
                          statements=tuple(statements))
        b.equations.append(Equation(tuple(inside), loop, (*starts, *constants), members[0][1].span, b.group))

    def _written_before_read(self, part: SystemPart, read: Mapping[Atom, list[tuple[Subscript, ...]]]) -> bool:
        """Whether the first statement of a history writes every element of it that anything here reads or adds to."""
        if not isinstance(part.start, Lit):
            return False
        (_, s), *others = part.statements
        op, step = s.op, self.steps.index
        if op.guards or not covers_a_step(op, step, part.place):
            return False
        written = step_offset(op.write[part.place], step)
        if written is None or any(step_offset(x.op.write[part.place], step) != written for _, x in others):
            return False
        return all(len(subscripts) > part.place and step_offset(subscripts[part.place], step) == written
                   for subscripts in read.get(part.var, ()))


def _onto(b: Builder, s: Equation, before: Atom, out: Var, fresh: bool, zeros: bool) -> Var:
    """Append a statement as an equation of its own, onto what was `before` unless that is `fresh`, which nothing has written."""
    op, args = s.op, s.args
    if not isinstance(op, Comprehension):
        b.equations.append(Equation((out,), op, args, s.span, b.group))
        return out
    single = fresh and zeros and op.onto is not None and all_fixed(op.ranges, op.write)
    op, args = compact(replace(op, reduction="=" if single else op.reduction, onto=None), args)
    if not fresh:
        if isinstance(before, Lit):
            before = filled(b, out.shape, before.value)
        op, args = replace(op, onto=len(args)), (*args, before)
    b.equations.append(Equation((out,), op, args, s.span, b.group))
    return out


def covers_a_step(op: Boxed, step: Index, place: int) -> bool:
    """Whether a statement writes every element of a history that has the step it writes: the other subscripts are indices of
    their own that run through the whole extent."""
    others = [(s.index if isinstance(s, Affine) else None, n) for d, (s, n) in enumerate(zip(op.write, op.shape, strict=False))
              if d != place]
    ranges = {r.index: (r.low.number, r.high) for r in op.ranges}
    whole = all(i is not None and i is not step and ranges[i] == (0, n) for i, n in others)
    return whole and len({i for i, _ in others}) == len(others) and not op.guards


def apart(op: Comprehension, step: Index, place: int) -> Comprehension:
    """A comprehension with the step in no subscript of its write but the one at `place`: elsewhere an index of its own
    stands, which guards make equal."""
    write: list[Subscript] = []
    ranges, guards = op.ranges, op.guards
    for d, s in enumerate(op.write):
        if d != place and isinstance(s, Affine) and step in atoms(s):
            own = Index("k")
            ranges = (*ranges, Range(own, affine(0), op.shape[d]))
            guards = (*guards, affine(own) - s, s - affine(own))
            s = affine(own)
        write.append(s)
    return op if ranges is op.ranges else replace(op, write=tuple(write), ranges=ranges, guards=guards)


# ---------------------------------------------------------------- what of a loop needs no steps
# What of a loop needs no steps, beside it: `z(t, n) +=! W(n, m) * x(t, m)` is a product of matrices before a loop that reads it,
# and a result that nothing in the loop reads is one operation behind it.
#
# Every statement stays what it is, with the step as an index like any other, so no bit changes. A loop that is to end before its
# last step stays whole.

def distributed(program: Program) -> Program:
    """The program with recurrences of what depends on itself only."""
    if not loops(program.equations):
        return program
    b = Builder()
    for e in program.equations:
        b.span, b.group = e.span, e.group
        if isinstance(e.op, Recurrence) and e.op.until is None:
            _distribute(b, e, e.op)
        else:
            b.equations.append(e)
    return replace(program, equations=tuple(b.equations))


def _distribute(b: Builder, e: Equation, op: Recurrence) -> None:
    system, statements = StepSystem(op, op.down), whole_statements(e)
    places = step_places(statements, op.step)
    for out, start in zip(e.outs, e.args, strict=False):
        system.history(out, start, places[out], zeros=False)
    for s in statements:
        system.enter(s)
    system.emit(b)
