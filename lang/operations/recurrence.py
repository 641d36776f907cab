"""The third kind of operation: a system of equations with lags, run in the order of an index.

    for t in low:high [down] { z(t, n) +=! W(n, m) * h(t, m); h(t+1, n) = tanh(z(t, n) + x(t, n)) }

Every statement is a whole operation on tensors (a comprehension, or an operation on matrices) that has the step as its first
range, and is run one step at a time: all statements in their order at the first step, then at the next. What the statements
write are histories: tensors that keep the elements of all steps. So a statement, looked at as one operation over all steps, is
true of the final histories; that is why the derivative of a recurrence is made of the derivatives of its statements and needs
no stack.

Meaning. History k starts as a copy of argument k of the equation (a number: every element is that number), and leaves as
result k. At each step, for each statement: a statement with `onto` adds to the elements of its history, any other one gives
the elements that its `write` names at this step a value; with a reduction these start from its neutral value, which those keep
that no point is left for. All other elements stay as they are. Reads see what the histories hold at that moment.

What a program must satisfy: the write of a statement that assigns has the step in one subscript, as step + constant, and in no
other; an element is assigned by one statement at one step, and added to only behind that; all writes to an element come before
its first read. With that every read, at whatever moment, sees the final value. Constant distances from the step tell the order;
for lags that are sizes or indices, and sums at any subscripts, it is proved (`adcli.lang.sizes.in_bounds`).
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from adcli.lang.ir import Atom, Equation, Primitive, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms
from adcli.lang.ir.records import named_record
from adcli.lang.operations.comprehension import Comprehension, Subscript
from adcli.lang.operations.matrix import Boxed, BoxedOp, elements_read


@named_record
class Recurrence(Primitive):
    """See the module. `histories` and `constants` are the names that the statements have for the arguments of the equation,
    first the histories, then the tensors and numbers that are only read; `statements` are equations between these names, whose
    results are histories. `signature` has one result for each history.

    `until` is the place among the histories of one of a single dimension whose element behind a step is 1 where the loop has
    ended, else 0: from there on every statement copies, so a back end may stop and copy. `checkpoint`: a
    back end keeps some of the steps and computes the others again. Neither changes a value.
    """

    tensors: ClassVar[bool] = True
    name: str = "recurrence"
    step: Index
    low: Affine
    high: Affine
    down: bool = False
    histories: tuple[Var, ...]
    constants: tuple[Var, ...]
    statements: tuple[Equation[Boxed], ...]
    until: int | None = None
    checkpoint: bool = False

    def kind(self, position: int) -> str:
        return "r"

    def started(self, e: Equation) -> Iterable[tuple[Atom, Var]]:
        return zip(e.args, e.outs, strict=False)

    def inner(self) -> Sequence[Equation]:
        return self.statements

    def moved(self, e: Equation, values: Collection[Atom], steps: bool = True) -> Iterable[Atom]:
        return active_histories(e, values)

    def living(self, e: Equation, needed: Collection[Atom]) -> Equation:
        """The recurrence without the histories that neither the `needed` results nor the end of the loop take, and without
        constants that are not read."""
        alive: set[Atom] = {inner for inner, out in zip(self.histories, e.outs, strict=True) if out in needed}
        if self.until is not None:
            alive.add(self.histories[self.until])
        before = -1
        while len(alive) > before:
            before = len(alive)
            alive.update(a for s in reversed(self.statements) if s.outs[0] in alive for a in s.args)
        if alive.issuperset(self.histories) and alive.issuperset(self.constants):
            return e
        kept = [i for i, h in enumerate(self.histories) if h in alive]
        count = len(self.histories)
        constants = [i for i, c in enumerate(self.constants) if c in alive]
        small = replace(self, signature=signature_of(len(kept)), histories=tuple([self.histories[i] for i in kept]),
                        constants=tuple([self.constants[i] for i in constants]),
                        until=None if self.until is None else kept.index(self.until),
                        statements=tuple([s for s in self.statements if s.outs[0] in alive]))
        args = (*[e.args[i] for i in kept], *[e.args[count + i] for i in constants])
        return e.with_op(small, args, tuple([e.outs[i] for i in kept]))


def signature_of(histories: int) -> str:
    """The signature of a recurrence with so many histories."""
    return ">" + "r" * histories


def whole_statements(e: Equation[Recurrence]) -> tuple[Equation[Boxed], ...]:
    """The statements of a recurrence as operations over all steps on the values of the program around it, histories being the
    final ones. Each is true there, but they depend on one another in a circle: they say what holds, not how it is computed."""
    op = e.op
    env: dict[Atom, Atom] = dict(zip(op.histories, e.outs, strict=True))
    env.update(zip(op.constants, e.args[len(op.histories):], strict=True))
    return tuple([s.substituted(env) for s in op.statements])


def without_onto(s: Equation) -> Equation:
    """A statement without what it adds to: what it adds, as an operation of its own."""
    return s if not isinstance(s.op, Comprehension) or s.op.onto is None else replace(s, op=replace(s.op, onto=None))


def amended(statements: Collection[Equation]) -> dict[Equation, Equation]:
    """Of a recurrence's statements over all steps those whose elements another one adds to behind them: each with a
    name of its own for the value that it gives, which its derivative may need and the final history does not hold."""
    sums = {s.outs[0] for s in statements if without_onto(s) is not s}
    return {s: replace(s, outs=(Var(s.outs[0].name, True, shape=s.outs[0].shape),)) for s in statements
            if s.outs[0] in sums and without_onto(s) is s}


def loops(equations: Iterable[Equation]) -> list[Equation[Recurrence]]:
    """The recurrences among equations."""
    return [e for e in equations if isinstance(e.op, Recurrence)]


def ended_by_values(equations: Iterable[Equation]) -> list[Equation[Recurrence]]:
    """The recurrences whose number of steps values decide."""
    return [e for e in loops(equations) if e.op.until is not None]


def with_statements(equations: Iterable[Equation]) -> Iterator[Equation]:
    """The equations, and in the place of a recurrence its statements as operations over all steps."""
    for e in equations:
        if isinstance(e.op, Recurrence):
            yield from whole_statements(e)
        else:
            yield e


def boxed(equations: Iterable[Equation]) -> Iterator[Equation[Boxed]]:
    """The operations over boxes among equations, those of recurrences as operations over all steps."""
    return (e for e in with_statements(equations) if isinstance(e.op, Boxed))


def at_one_step(op: BoxedOp, step: Index) -> BoxedOp:
    """A statement's operation at one step: the step is no range any more but a number that whoever evaluates must know."""
    assert op.ranges[0].index is step
    return replace(op, ranges=op.ranges[1:])


def step_place(op: Boxed, step: Index) -> tuple[int, int] | None:
    """Which subscript of a statement's write is the step, and the constant that is added to it there; None where a statement adds
    to what is there at any other subscripts."""
    found = [(d, n) for d, s in enumerate(op.write) if (n := step_offset(s, step)) is not None]
    return found[0] if len(found) == 1 else None


def step_places(statements: Iterable[Equation[Boxed]], step: Index) -> dict[Atom, int]:
    """For each history the subscript that has the step, the first where no statement says which."""
    found: dict[Atom, int] = {s.outs[0]: 0 for s in statements}
    found.update((s.outs[0], at[0]) for s in statements if (at := step_place(s.op, step)) is not None)
    return found


def active_histories(e: Equation, active: Collection[Atom]) -> set[Atom]:
    """The results of a recurrence that depend on active values: those that start from one, and those with a statement that reads
    an active one."""
    found: set[Atom] = {out for out, start in zip(e.outs, e.args, strict=False) if start in active and not out.whole}
    statements, before = whole_statements(e), -1
    while len(found) > before:
        before = len(found)
        found.update(s.outs[0] for s in statements if not s.outs[0].whole and any(a in found or a in active for a in s.args))
    return found


class Meeting(NamedTuple):
    """A statement of a recurrence that writes a history, and another that has to do with it at these subscripts: a write, which
    is to be of other elements, or a read (`reads`), which is to be later; `same_step` says whether one of the same step is."""

    writer: Equation[Boxed]
    other: Equation[Boxed]
    subscripts: tuple[Subscript, ...]
    same_step: bool
    reads: bool


def meetings(e: Equation[Recurrence]) -> Iterator[Meeting]:
    """Pairs of accesses whose order the offsets of the subscripts do not settle, in the statements as operations over all
    steps."""
    op = e.op
    statements = whole_statements(e)
    accesses: defaultdict[Atom, list[tuple[int, tuple[Subscript, ...] | None]]] = defaultdict(list)
    for k, each in enumerate(statements):
        accesses[each.outs[0]].append((k, None))
        for atom, subscripts in elements_read(each, each.op):
            accesses[atom].append((k, subscripts))
    for i, writer in enumerate(statements):
        place, written = step_place(writer.op, op.step) or (0, None)
        for k, read in accesses[writer.outs[0]]:
            other = statements[k]
            if read is None:
                if k > i and not adds_to_what_is_there(writer.op, other.op, op):
                    yield Meeting(writer, other, other.op.write, False, False)
                continue
            offset = step_offset(read[place], op.step)
            behind = None if offset is None or written is None else (offset - written if op.down else written - offset)
            if behind is None or behind < 0 or (behind == 0 and i >= k):
                yield Meeting(writer, other, read, i < k, True)


def adds_to_what_is_there(first: Boxed, second: Boxed, op: Recurrence) -> bool:
    """Whether two statements of one history may write one element: both add to it, or one adds to what the other has assigned
    before, at the same step or an earlier one."""
    if None not in (first.onto, second.onto):
        return True
    if first.onto is None and second.onto is None:
        return False
    one, other = step_place(first, op.step), step_place(second, op.step)
    if one is None or other is None:
        return False
    ahead = other[1] - one[1] if op.down else one[1] - other[1]   # by how many steps the first is there earlier
    return ahead >= 0 if first.onto is None else ahead < 0


def step_offset(s: Subscript, step: Index) -> int | None:
    """How far a subscript is from the step, where that is a number."""
    return (s - affine(step)).number if isinstance(s, Affine) else None


def surely_met(each: Meeting, step: Index) -> bool:
    """Whether two statements meet whatever the sizes are, as far as that shows: where they do the same but for the step."""
    op, other = each.writer.op, each.other.op
    plain = not op.guards and not other.guards
    return plain and all(x == y or (isinstance(x, Affine) and isinstance(y, Affine) and (x - y).number is not None
                                    and step in atoms(x))
                         for x, y in zip(op.write, each.subscripts, strict=False))   # of matrices the leading ones
