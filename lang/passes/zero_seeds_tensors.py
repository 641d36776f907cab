"""Where elements of tensors come from zero seeds alone: comprehensions, loops and operations on matrices.

`adcli.lang.passes.zero_seeds` asks for this at the first of them.
"""
from __future__ import annotations

from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Var, shape_of
from adcli.lang.ir.build import Builder
from adcli.lang.ir.comprehension import Comprehension, Range, Read, body_of
from adcli.lang.ir.elementwise import compact, elementwise, emit
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.primitives import select
from adcli.lang.ir.recurrence import Recurrence, active_histories, step_place, whole_statements, without_onto
from adcli.lang.passes.comprehension_rules import BodyBuilder
from adcli.lang.passes.existing_terms import in_parts
from adcli.lang.passes.guards import can_be_infinite
from adcli.lang.passes.matrix_rules import spread
from adcli.lang.passes.recurrence_rules import everywhere
from adcli.lang.passes.systems import StepSystem
from adcli.lang.passes.zero_seeds import Gate, Present


def enter(gate: Gate, e: Equation) -> None:
    """Enter an operation on tensors, gated, and where its results exist."""
    if isinstance(e.op, Comprehension):
        _comprehension(gate, e, e.op)
    elif isinstance(e.op, Recurrence):
        _recurrence(gate, e, e.op)
    elif isinstance(e.op, MatrixOperation):
        _matrix(gate, e, e.op)


def _comprehension(gate: Gate, e: Equation, op: Comprehension) -> None:
    """A comprehension with its body gated, and where its result exists."""
    numbers = {a: _number(gate.b, gate.present[a]) for a in e.args if a in gate.present and a not in gate.flags}
    gate.flags.update(numbers)
    gated, body, exists = _gated(gate, e, op)
    gate.b.equations.append(gated)
    if op.reduction in ("=", "+"):
        _exists_where(gate, e, op, body, exists)


def _gated(gate: Gate, e: Equation, op: Comprehension) -> tuple[Equation, BodyBuilder, Var | None]:
    """A comprehension with its body gated, if that can be infinite; the body with what it asks, and whether its value exists."""
    body, value = BodyBuilder(e, ()), op.body.results[0].atom
    seeded: Present = {op.body.params[k].var: _element(gate, body, s, k) for k, s in op.reads() if e.args[s.arg] in gate.flags}
    inner = Gate(body.b, seeded, {})
    inner.lines(op.body.equations)
    exists = inner.present.get(value)
    if not inner.present or not any(map(can_be_infinite, op.body.equations)):
        return e, body, exists
    program = body_of(inner.or_else(value, 0.0), body.params, body.b.equations)
    tight, args = compact(replace(op, sources=tuple(body.sources), body=program), tuple(body.args))
    return Equation(e.outs, tight, args, e.span), body, exists


def _terms(op: Comprehension, body: BodyBuilder, exists: Var | None) -> tuple[Comprehension, tuple[Atom, ...]]:
    """How many terms of each element exist, or whether the one does."""
    there: Atom = Lit(0.0) if exists is None else _number(body.b, exists)
    program = body_of(there, body.params, body.b.equations)
    return replace(op, sources=tuple(body.sources), body=program, onto=None), tuple(body.args)


def _recurrence(gate: Gate, e: Equation, op: Recurrence) -> None:
    """A recurrence with the bodies of its statements gated, and where its histories exist: histories again."""
    statements, system = whole_statements(e), StepSystem(Range(op.step, op.low, op.high), op.down, op.checkpoint)
    starts = dict(zip(e.outs, e.args, strict=False))
    gate.flags.update({a: _number(gate.b, gate.present[a]) for a in e.args if a in gate.present and a not in gate.flags})
    places = {s.outs[0]: step_place(s.op, op.step)[0] for s in statements if isinstance(s.op, Boxed)}
    active = active_histories(e, gate.flags.keys())
    for out in [out for out in e.outs if out in active]:
        start = gate.flags.get(starts[out])
        flags = Var(None, True, shape=out.shape)
        system.history(flags, Lit(0.0) if start is None else _number(gate.b, start), places[out])
        gate.flags[out] = flags
    gated = [_statement(gate, s, s.op, system) if isinstance(s.op, Comprehension) else _matrices(gate, s, system)
             for s in statements]
    if gated == [*statements]:
        gate.b.equations.append(e)
    else:
        for out in e.outs:
            system.history(out, starts[out], places[out], zeros=False)
        for s in gated:
            system.enter(s)
    env = system.emit(gate.b)
    gate.flags.update({out: env.get(gate.flags[out], gate.flags[out]) for out in e.outs if out in gate.flags})


def _matrices(gate: Gate, s: Equation, system: StepSystem) -> Equation:
    """An operation on matrices in a recurrence: what it writes exists."""
    flags, there = gate.flags.get(s.outs[0]), everywhere(s, 1.0)
    if isinstance(flags, Var) and isinstance(there.op, Comprehension):
        system.assign(flags, there.op, there.args, s.span)
    return s


def _statement(gate: Gate, s: Equation, op: Comprehension, system: StepSystem) -> Equation:
    """A statement of a recurrence, gated; where what it writes exists is entered in the system."""
    plain, flags = without_onto(s), gate.flags.get(s.outs[0])
    assert isinstance(plain.op, Comprehension)
    gated, body, exists = _gated(gate, plain, plain.op)
    if isinstance(flags, Var) and (exists is not None or op.onto is None):
        counted, args = compact(*_terms(op, body, exists))
        (system.assign if op.onto is None else system.add)(flags, counted, args, s.span)
    if gated is plain:
        return s
    if op.onto is None:
        return gated
    assert isinstance(gated.op, Comprehension)
    return Equation(s.outs, replace(gated.op, onto=len(gated.args)), (*gated.args, s.outs[0]), s.span)


def _matrix(gate: Gate, e: Equation, op: MatrixOperation) -> None:
    """An operation on matrices: a solve is linear in its right-hand side, so there is a point of it where that has one."""
    gate.b.equations.append(e)
    matrix, *right = op.sources
    if right and e.args[matrix.arg] not in gate.flags and e.args[right[0].arg] in gate.flags:
        there = gate.flags[e.args[right[0].arg]]
        gate.flags[e.outs[0]] = spread(gate.b, e, [(there, right[0].subscripts)], op.write, op.shape)


def _element(gate: Gate, body: BodyBuilder, source: Read, k: int) -> Var:
    """In the body: whether what source `k` reads exists."""
    atom = body.args[source.arg]
    flag = gate.flags[atom]
    value = body.b.expr(body.params[k].var) if flag is atom else body.read(flag, source.subscripts)
    return (value != 0).var


def _exists_where(gate: Gate, e: Equation, op: Comprehension, body: BodyBuilder, exists: Var | None) -> None:
    """Where the result exists: where the value does that is written, and where that does which it starts from."""
    start = None if op.onto is None else gate.flags.get(e.args[op.onto])
    if exists is None and start is None:
        return
    counted, args = _terms(op, body, exists)
    if exists is not None:
        counted, args = in_parts(gate.b, counted, args, exists) or (counted, args)
    if start is not None:
        counted, args = replace(counted, onto=len(args)), (*args, _number(gate.b, start))
    out, flag = e.outs[0], emit(gate.b, counted, args)
    gate.flags[out] = flag.atom
    if not out.shape:
        gate.present[out] = (flag != 0).var


def _number(b: Builder, flag: Atom) -> Atom:
    """A truth value, or a flag, as 1 and 0."""
    if isinstance(flag, Var) and flag.truth:
        return select(b.expr(flag), 1, 0).atom
    if not shape_of(flag):
        return select(b.expr(flag) != 0, 1, 0).atom
    return elementwise(b, lambda x: select(x != 0, 1, 0), flag).atom
