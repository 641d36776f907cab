"""Simplification of operations on tensors: comprehensions with simplified bodies, and loops that share what they can.

`adcli.lang.passes.simplify` asks for this at the first of them.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import BodySource, Comprehension, Read, body_of, covers, needed_guards
from adcli.lang.ir.elementwise import compact
from adcli.lang.ir.equal import loop_form
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.primitives import select
from adcli.lang.ir.recurrence import Recurrence, whole_statements
from adcli.lang.passes.loop_supports import histories_supports
from adcli.lang.passes.nonzero_domains import Limited, Support, Supports, by_number, decided, guarded, support_of
from adcli.lang.passes.simplify import Folder, ValueKey, identity, simplify
from adcli.lang.passes.simplify_loops import living, read_past, shared, standing_alone

NOTHING_KNOWN: Supports = {}


def enter(f: Folder, e: Equation, args: tuple[Atom, ...]) -> None:
    """Enter an operation on tensors in simplified form, unless an equal one stands already."""
    if isinstance(e.op, Recurrence):
        _recurrence(f, e, args)
    elif isinstance(e.op, Comprehension):
        f.env[e.outs[0]] = _comprehension(f, e, args)
    else:
        f.keep(e.with_args(args))


def needed_part(e: Equation, needed: Collection[Atom]) -> Equation:
    """An operation on tensors without what no `needed` result takes; only of a loop there is anything."""
    return living(e, needed) if isinstance(e.op, Recurrence) else e


def structure(op: Boxed) -> ValueKey:
    """What two operations over boxes have in common that compute the same of the same arguments, whatever their indices are
    called."""
    by: dict[Index | str, Affine] = {r.index: affine(f" {k}") for k, r in enumerate(op.ranges)}
    if isinstance(op, MatrixOperation):
        return (op.name, op.transposed, op.shape, tuple((r.low, r.high) for r in op.ranges),
                tuple(substituted(g, by) for g in op.guards), tuple(_form(s, by) for s in op.write),
                tuple(_form(s, by) for s in op.sources))
    return (op.reduction, op.onto, op.shape, tuple((r.low, r.high) for r in op.ranges),
            tuple(substituted(g, by) for g in op.guards), tuple(_form(s, by) for s in op.write),
            tuple(_form(s, by) for s in op.sources), body_structure(op.body))


def _form(s: BodySource, by: Mapping[Index | str, Affine]) -> object:
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


def _comprehension(f: Folder, e: Equation, args: tuple[Atom, ...]) -> Atom:
    """A comprehension with its body simplified; what it starts from, where it has no points."""
    assert isinstance(e.op, Comprehension)
    op, args = normal(e.op, args, f.supports, partial(_limited, f))
    if op.onto is not None and empty(op):
        return args[op.onto]
    if op.onto is not None and op.reduction == "=" and covers(op):
        op, args = compact(replace(op, onto=None), args)
    made = Equation(e.outs, op, _past_writes(f, e.with_args(args), op), e.span, e.group)
    if op.onto is not None:
        f.onto[made.outs[0]] = made
    value, support = f.keep(made), support_of(op, args, f.supports)
    if support is not None:
        f.supports[value] = support
    return value


def _asking_numbers(f: Folder, e: Equation) -> Equation:
    """A recurrence whose statements read numbers in place of tensors that are zero just where these are."""
    op = e.op
    assert isinstance(op, Recurrence)
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
                s = Equation(s.outs, asking, args, s.span, s.group)
        statements.append(s)
    small = replace(op, constants=tuple(constants.values()), statements=tuple(statements))
    return Equation(e.outs, small, (*e.args[:len(op.histories)], *constants), e.span, e.group)


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


def _past_writes(f: Folder, e: Equation, op: Comprehension) -> tuple[Atom, ...]:
    """The arguments of a comprehension, each as it was before it was written at other elements than are read here."""
    found = list(e.args)
    for i, a in enumerate(e.args):
        while (before := f.onto.get(a)) is not None and read_past(Equation(e.outs, op, tuple(found)), i, before):
            assert isinstance(before.op, Comprehension) and before.op.onto is not None
            found[i] = a = before.args[before.op.onto]
    return tuple(found)


def _recurrence(f: Folder, e: Equation, args: tuple[Atom, ...]) -> None:
    """Enter a recurrence with what its statements share, unless an equal one stands already; an operation beside it that is one
    of its statements again is the history that this writes."""
    assert isinstance(e.op, Recurrence)
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
        assert isinstance(s.op, Boxed)
        f.seen.setdefault(f.value_key(s.op, s.args), made.outs[i])


def normal(op: Comprehension, args: tuple[Atom, ...], supports: Supports = NOTHING_KNOWN, limited: Limited | None = None
           ) -> tuple[Comprehension, tuple[Atom, ...]]:
    """The same comprehension with a simplified body, and without sources, arguments and guards that it does not need. A statement
    of a loop, where elements that no point writes are not 0, has no numbers that are `limited`."""
    known = decided(op, args, supports) if supports else {}
    op = replace(op, guards=needed_guards(op.guards, op.ranges), body=simplify(op.body, _sources_known(op, args, known)))
    if supports and limited is not None:
        op, known = guarded(op, args, supports)
        op, read = by_number(op, args, supports, limited)
        if known or read != args:
            op, args = replace(op, body=simplify(op.body, _sources_known(op, read, known))), read
    return compact(op, args)


def _sources_known(op: Comprehension, args: tuple[Atom, ...], known: Mapping[Atom, Atom]) -> dict[Atom, Atom]:
    """What is known of the parameters of a body, with those that are constants, or the same as others."""
    found, first = dict(known), dict[object, Var]()
    for p, s in zip(op.body.params, op.sources, strict=True):
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


def _constant(s: BodySource, args: tuple[Atom, ...]) -> Lit | None:
    if isinstance(s, Read):
        atom = args[s.arg]
        return atom if isinstance(atom, Lit) else None
    return None if s.number is None else Lit(float(s.number))


def read_form(s: BodySource, args: tuple[Atom, ...]) -> object:
    """What two sources have in common that are the same value: the argument is known by its value."""
    return (id(args[s.arg]), *[read_form(x, args) for x in s.subscripts]) if isinstance(s, Read) else s
