"""Simplification of operations on tensors: comprehensions with simplified bodies, and loops that share what they can.

`adcli.lang.simplify.simplify` asks for this at the first of them.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Program, Var
from adcli.lang.ir.affine import Affine, NewSubstitution, Substitution, affine, bounds, substituted
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import select
from adcli.lang.operations.comprehension import BodySource, Comprehension, Read, body_of, covers, ends_of, needed_guards
from adcli.lang.operations.elementwise import compact
from adcli.lang.operations.forms import loop_form
from adcli.lang.operations.matrix import Boxed, MatrixOperation, elements_read
from adcli.lang.operations.recurrence import Recurrence, signature_of, whole_statements
from adcli.lang.simplify.nonzero_domains import (
    Limited,
    Support,
    Supports,
    by_number,
    decided,
    guarded,
    histories_supports,
    support_of,
)
from adcli.lang.simplify.simplify import Folder, ValueKey, identity, simplify
from adcli.lang.sizes.ranges import never_negative

NOTHING_KNOWN: Supports = {}


def enter(f: Folder, e: Equation, args: Atoms) -> None:
    """Enter an operation on tensors in simplified form, unless an equal one stands already."""
    if isinstance(e.op, Recurrence):
        _recurrence(f, e, args)
    elif isinstance(e.op, Comprehension):
        f.env[e.outs[0]] = _comprehension(f, e, args)
    else:
        f.keep(e.with_args(args))


def structure(op: Boxed) -> ValueKey:
    """A value number of operations over boxes: equal for those that compute the same of their arguments, whatever indices are
    called."""
    by: NewSubstitution = {r.index: affine(f" {k}") for k, r in enumerate(op.ranges)}
    return (op.name, op.reduction, op.onto, op.shape, tuple((r.low, r.high) for r in op.ranges),
            tuple(substituted(g, by) for g in op.guards), tuple(_form(s, by) for s in op.write),
            tuple(_form(s, by) for s in op.sources),
            op.transposed if isinstance(op, MatrixOperation) else body_structure(op.body))


def _form(s: BodySource, by: Substitution) -> object:
    return (s.arg, *[_form(x, by) for x in s.subscripts]) if isinstance(s, Read) else substituted(s, by)


def body_structure(body: Program) -> ValueKey:
    """The operations of a body in order, with numbers for its values."""
    number: dict[Atom, int] = {p.var: k for k, p in enumerate(body.params)}

    def part(a: Atom) -> object:
        return identity(a) if isinstance(a, Lit) else number[a]

    lines: list[object] = []
    for e in body.equations:
        lines.append((e.op, *map(part, e.args)))
        for out in e.outs:
            number[out] = len(number)
    return (len(body.params), *lines, part(body.results[0].atom))


def _comprehension(f: Folder, e: Equation[Comprehension], args: Atoms) -> Atom:
    """A comprehension with its body simplified; what it starts from, where it has no points."""
    op, args = normal(e.op, args, f.supports, partial(_limited, f))
    if op.onto is not None and empty(op):
        return args[op.onto]
    if op.onto is not None and op.reduction == "=" and covers(op):
        op, args = compact(replace(op, onto=None), args)
    made = e.with_op(op, _past_writes(f, e.with_args(args), op))
    if op.onto is not None:
        f.onto[made.outs[0]] = made
    value, support = f.keep(made), support_of(op, args, f.supports)
    if support is not None:
        f.supports[value] = support
    return value


def _asking_numbers(f: Folder, e: Equation[Recurrence]) -> Equation:
    """A recurrence whose statements read numbers in place of tensors that are zero just where these are."""
    op = e.op
    constants = dict(zip(e.args[len(op.histories):], op.constants, strict=True))
    statements = []
    for s, whole in zip(op.statements, whole_statements(e), strict=True):
        if isinstance(whole.op, Comprehension):
            asking, read = by_number(whole.op, whole.args, f.supports, partial(_limited, f))
            added = read[len(whole.args):]
            constants.update({n: Var(None, True) for n in added if n not in constants})
            if added:
                args = (*s.args, *[constants[n] for n in added])
                asking, args = compact(replace(asking, body=simplify(asking.body, _sources_known(asking, args, {}))), args)
                s = s.with_op(asking, args)
        statements.append(s)
    small = replace(op, constants=tuple(constants.values()), statements=tuple(statements))
    return e.with_op(small, (*e.args[:len(op.histories)], *constants))


def _limited(f: Folder, number: Var, conditions: tuple[Affine, ...]) -> Var:
    """See `Limited`."""
    if not conditions:
        return number
    b = Builder()
    param = Param(Var("x0"), "x0")
    body = body_of(select(b.expr(param.var) != 0, 1, 0).atom, [param], b.equations)
    op = Comprehension(guards=conditions, sources=(Read(0, ()),), body=body)
    made = f.keep(Equation((Var(None, True),), op, (number,)))
    assert isinstance(made, Var)
    f.supports[made] = (*conditions, number)
    return made


def _past_writes(f: Folder, e: Equation, op: Comprehension) -> Atoms:
    """The arguments of a comprehension, each as it was before it was written at other elements than are read here."""
    found = list(e.args)
    for i, a in enumerate(e.args):
        while (before := f.onto.get(a)) is not None and read_past(Equation(e.outs, op, tuple(found)), i, before):
            assert before.op.onto is not None
            found[i] = a = before.args[before.op.onto]
    return tuple(found)


def _recurrence(f: Folder, e: Equation[Recurrence], args: Atoms) -> None:
    """Enter a recurrence with what its statements share, unless an equal one stands already; an operation beside it that is one
    of its statements again is the history that this writes."""
    given = zip(e.op.constants, args[len(e.op.histories):], strict=True)
    known: dict[Atom, Support] = {c: f.supports[a] for c, a in given if a in f.supports}
    made, same = shared(e, args, lambda op, inner: normal(op, inner, known) if isinstance(op, Comprehension)
                        else (op, inner), f.value_key)
    f.env.update(same)
    form, read, outs = loop_form(made)
    earlier = f.loops.setdefault((form, *[a.bits if isinstance(a, Lit) else a for a in read]), outs)
    if earlier is not outs:
        f.env.update(zip(outs, earlier, strict=True))
        return
    if f.supports:
        f.supports.update(histories_supports(made, f.supports))
        made = _asking_numbers(f, made)
    f.equations.append(made)
    whole = whole_statements(made)
    for i in standing_alone(made):
        s = next(s for s in whole if s.outs[0] is made.outs[i])
        f.seen.setdefault(f.value_key(s.op, s.args), made.outs[i])


def normal(op: Comprehension, args: Atoms, supports: Supports = NOTHING_KNOWN, limited: Limited | None = None
           ) -> tuple[Comprehension, Atoms]:
    """Simplify a comprehension: its body, without sources, arguments and guards that it does not need. A statement
    of a loop, where elements that no point writes are not 0, has no numbers that are `limited`."""
    known = decided(op, args, supports) if supports else {}
    op = replace(op, guards=needed_guards(op.guards, op.ranges), body=simplify(op.body, _sources_known(op, args, known)))
    if supports and limited is not None:
        op, known = guarded(op, args, supports)
        op, read = by_number(op, args, supports, limited)
        if known or read != args:
            op, args = replace(op, body=simplify(op.body, _sources_known(op, read, known))), read
    return compact(op, args)


def _sources_known(op: Comprehension, args: Atoms, known: Mapping[Atom, Atom]) -> dict[Atom, Atom]:
    """Known values of the parameters of a body, with those that are constants, or the same as others."""
    found, first = dict(known), dict[object, Var]()
    for p, s in op.inputs():
        constant = known.get(p.var) or _constant(s, args)
        if constant is not None:
            found[p.var] = constant
        else:
            earlier = first.setdefault(read_form(s, args), p.var)
            if earlier is not p.var:
                found[p.var] = earlier
    return found


def empty(op: Comprehension) -> bool:
    """Whether the domain has no points whatever the sizes are."""
    lengths = [(r.high - r.low).number for r in op.ranges]
    return any(g.number is not None and g.number < 0 for g in op.guards) or any(n is not None and n <= 0 for n in lengths)


def _constant(s: BodySource, args: Atoms) -> Lit | None:
    if isinstance(s, Read):
        atom = args[s.arg]
        return atom if isinstance(atom, Lit) else None
    return None if s.number is None else Lit(float(s.number))


def read_form(s: BodySource, args: Atoms) -> object:
    """A key, equal for sources of equal value: the argument is known by its value."""
    return (id(args[s.arg]), *[read_form(x, args) for x in s.subscripts]) if isinstance(s, Read) else s


# ---------------------------------------------------------------- what statements of a loop share, and what no result needs
# Recurrences in simplification: what their statements share, what no result needs, and what stands beside them again.
#
# Nothing here changes a bit: a statement is dropped where another one gives the same elements the same values, or where nothing
# that is needed reads what it writes.

Normal = Callable[[Boxed, Atoms], tuple[Boxed, Atoms]]
"""An operation with its arguments in simplified form."""
Key = Callable[[Boxed, Atoms], object]
"""A key, equal for comprehensions that compute the same of the same arguments."""


def shared(e: Equation[Recurrence], args: Atoms, normal: Normal, key: Key) -> tuple[Equation, dict[Atom, Atom]]:
    """A recurrence with simplified statements, each history with a value of its own, and constants among the arguments in the
    statements; and the results that are another one."""
    op = e.op
    count = len(op.histories)
    env: dict[Atom, Atom] = {}
    first: dict[Atom, Var] = {}
    for inner, given in zip(op.constants, args[count:], strict=True):
        env[inner] = given if isinstance(given, Lit) else first.setdefault(given, inner)
    outs, starts = dict(zip(op.histories, e.outs, strict=True)), dict(zip(op.histories, args, strict=False))
    single = {h for h, count in Counter(s.outs[0] for s in op.statements).items() if count == 1}
    last = None if op.until is None else op.histories[op.until]
    seen: dict[object, Var] = {}
    same: dict[Atom, Atom] = {}
    statements = []
    for s in op.statements:
        inner_op, inner_args = normal(s.op, tuple([env.get(a, a) for a in s.args]))
        history = s.outs[0]
        if history in single and inner_op.onto is None and starts_from_nothing(starts[history]) and history is not last:
            earlier = seen.setdefault(key(inner_op, inner_args), history)
            if earlier is not history:
                env[history], same[outs[history]] = earlier, outs[earlier]
                continue
        statements.append(s.with_op(inner_op, inner_args))
    kept = [h for h in op.histories if h not in env]
    constants = [c for c in op.constants if env[c] is c]
    read = dict(zip(op.constants, args[count:], strict=True))
    small = replace(op, signature=signature_of(len(kept)), histories=tuple(kept), constants=tuple(constants),
                    statements=tuple(statements), until=None if last is None else kept.index(last))
    made = e.with_op(small, (*[starts[h] for h in kept], *[read[c] for c in constants]), tuple([outs[h] for h in kept]))
    return made, same


def starts_from_nothing(start: Atom) -> bool:
    return isinstance(start, Lit) and start.bits == Lit(0.0).bits


def standing_alone(e: Equation[Recurrence]) -> list[int]:
    """The results of a recurrence that are what their one statement gives as an operation over all steps."""
    op = e.op
    found = []
    for i, (h, start) in enumerate(zip(op.histories, e.args, strict=False)):
        written = [s.op for s in op.statements if s.outs[0] is h]
        one = written[0]
        plain = len(written) == 1 and isinstance(one, Comprehension) and one.onto is None and one.reduction in ("=", "+")
        if plain and starts_from_nothing(start):
            found.append(i)
    return found


def read_past(e: Equation[Comprehension], position: int, made: Equation[Comprehension]) -> bool:
    """Whether a comprehension reads of an argument only elements that `made`, a comprehension onto another value, has not
    written."""
    op, written = e.op, made.op
    if op.onto == position:
        return False
    atom, ends = e.args[position], ends_of(op.ranges)
    its = ends_of(written.ranges)
    for a, subscripts in elements_read(e, op):
        if a is atom:
            pairs = [(x, y) for x, y in zip(subscripts, written.write, strict=True)
                     if isinstance(x, Affine) and isinstance(y, Affine)]
            if not any(_apart(bounds(x, ends), bounds(y, its)) for x, y in pairs):
                return False
    return True


def _apart(one: tuple[Affine, Affine], other: tuple[Affine, Affine]) -> bool:
    return never_negative(other[0] - one[1] - 1) or never_negative(one[0] - other[1] - 1)
