"""Recurrences in simplification: what their statements share, what no result needs, and what stands beside them again.

Nothing here changes a bit: a statement is dropped where another one gives the same elements the same values, or where nothing
that is needed reads what it writes.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.affine import Affine, bounds
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.matrix import Boxed, elements_read
from adcli.lang.ir.recurrence import Recurrence, signature_of
from adcli.lang.sizes.ranges import never_negative

Normal = Callable[[Boxed, tuple[Atom, ...]], tuple[Boxed, tuple[Atom, ...]]]
"""An operation with its arguments in simplified form."""
Key = Callable[[Boxed, tuple[Atom, ...]], object]
"""What is equal for comprehensions that compute the same of the same arguments."""


def living(e: Equation, needed: Collection[Atom]) -> Equation:
    """A recurrence without the histories that neither the `needed` results nor the end of the loop take, and without constants
    that are not read."""
    op = e.op
    assert isinstance(op, Recurrence)
    alive: set[Atom] = {inner for inner, out in zip(op.histories, e.outs, strict=True) if out in needed}
    if op.until is not None:
        alive.add(op.histories[op.until])
    before = -1
    while len(alive) > before:
        before = len(alive)
        alive.update(a for s in op.statements if s.outs[0] in alive for a in s.args)
    if alive.issuperset(op.histories) and alive.issuperset(op.constants):
        return e
    kept = [i for i, h in enumerate(op.histories) if h in alive]
    count = len(op.histories)
    constants = [i for i, c in enumerate(op.constants) if c in alive]
    small = replace(op, signature=signature_of(len(kept)), histories=tuple([op.histories[i] for i in kept]),
                    constants=tuple([op.constants[i] for i in constants]),
                    until=None if op.until is None else kept.index(op.until),
                    statements=tuple([s for s in op.statements if s.outs[0] in alive]))
    args = (*[e.args[i] for i in kept], *[e.args[count + i] for i in constants])
    return Equation(tuple([e.outs[i] for i in kept]), small, args, e.span, e.group)


def shared(e: Equation, args: tuple[Atom, ...], normal: Normal, key: Key) -> tuple[Equation, dict[Atom, Atom]]:
    """A recurrence with simplified statements, each history with a value of its own, and constants among the arguments in the
    statements; and the results that are another one."""
    op = e.op
    assert isinstance(op, Recurrence)
    count = len(op.histories)
    env: dict[Atom, Atom] = {}
    first: dict[Atom, Var] = {}
    for inner, given in zip(op.constants, args[count:], strict=True):
        env[inner] = given if isinstance(given, Lit) else first.setdefault(given, inner)
    outs, starts = dict(zip(op.histories, e.outs, strict=True)), dict(zip(op.histories, args, strict=False))
    single = {h for h in op.histories if sum(s.outs[0] is h for s in op.statements) == 1}
    last = None if op.until is None else op.histories[op.until]
    seen: dict[object, Var] = {}
    same: dict[Atom, Atom] = {}
    statements = []
    for s in op.statements:
        assert isinstance(s.op, Boxed)
        inner_op, inner_args = normal(s.op, tuple([env.get(a, a) for a in s.args]))
        history = s.outs[0]
        if history in single and inner_op.onto is None and starts_from_nothing(starts[history]) and history is not last:
            earlier = seen.setdefault(key(inner_op, inner_args), history)
            if earlier is not history:
                env[history], same[outs[history]] = earlier, outs[earlier]
                continue
        statements.append(Equation(s.outs, inner_op, inner_args, s.span, s.group))
    kept = [h for h in op.histories if h not in env]
    constants = [c for c in op.constants if env[c] is c]
    read = dict(zip(op.constants, args[count:], strict=True))
    small = replace(op, signature=signature_of(len(kept)), histories=tuple(kept), constants=tuple(constants),
                    statements=tuple(statements), until=None if last is None else kept.index(last))
    made = Equation(tuple([outs[h] for h in kept]), small, (*[starts[h] for h in kept], *[read[c] for c in constants]),
                    e.span, e.group)
    return made, same


def starts_from_nothing(start: Atom) -> bool:
    return isinstance(start, Lit) and start.bits == Lit(0.0).bits


def standing_alone(e: Equation) -> list[int]:
    """The results of a recurrence that are what their one statement gives as an operation over all steps."""
    op = e.op
    assert isinstance(op, Recurrence)
    found = []
    for i, (h, start) in enumerate(zip(op.histories, e.args, strict=False)):
        written = [s.op for s in op.statements if s.outs[0] is h]
        one = written[0]
        plain = len(written) == 1 and isinstance(one, Comprehension) and one.onto is None and one.reduction in ("=", "+")
        if plain and starts_from_nothing(start):
            found.append(i)
    return found


def read_past(e: Equation, position: int, made: Equation) -> bool:
    """Whether a comprehension reads of an argument only elements that `made`, a comprehension onto another value, has not
    written."""
    op, written = e.op, made.op
    assert isinstance(op, Comprehension) and isinstance(written, Comprehension)
    if op.onto == position:
        return False
    atom, ends = e.args[position], {r.index: (r.low, r.high - 1) for r in op.ranges}
    its = {r.index: (r.low, r.high - 1) for r in written.ranges}
    for a, subscripts in elements_read(e, op):
        if a is atom:
            pairs = [(x, y) for x, y in zip(subscripts, written.write, strict=True)
                     if isinstance(x, Affine) and isinstance(y, Affine)]
            if not any(_apart(bounds(x, ends), bounds(y, its)) for x, y in pairs):
                return False
    return True


def _apart(one: tuple[Affine, Affine], other: tuple[Affine, Affine]) -> bool:
    return never_negative(other[0] - one[1] - 1) or never_negative(one[0] - other[1] - 1)
