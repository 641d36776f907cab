"""Where elements of tensors come from zero seeds alone: comprehensions, loops and operations on matrices.

`adcli.lang.passes.zero_seeds` asks for this at the first of them.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import reduce

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Var, definitions, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, linear, never_negative, slope
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.modes.comprehension_rules import BodyBuilder
from adcli.lang.modes.guards import can_be_infinite
from adcli.lang.modes.matrix_rules import spread
from adcli.lang.modes.recurrence_rules import everywhere
from adcli.lang.modes.systems import StepSystem
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, body_of, ends_of, in_ranges
from adcli.lang.operations.elementwise import compact, elementwise, emit
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.recurrence import Recurrence, active_histories, step_places, whole_statements, without_onto
from adcli.lang.passes.zero_seeds import Gate, Present
from adcli.lang.simplify.nonzero_domains import follows, without_index
from adcli.lang.simplify.sum_parts import sources_of


def enter(gate: Gate, e: Equation) -> None:
    """Enter an operation on tensors, gated, and where its results exist."""
    if isinstance(e.op, MatrixOperation):
        _matrix(gate, e, e.op)
        return
    gate.flags.update({a: _number(gate.b, gate.present[a]) for a in e.args if a in gate.present and a not in gate.flags})
    (_recurrence if isinstance(e.op, Recurrence) else _comprehension)(gate, e, e.op)


def _comprehension(gate: Gate, e: Equation, op: Comprehension) -> None:
    """A comprehension with its body gated, and where its result exists."""
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


def _terms(op: Comprehension, body: BodyBuilder, exists: Var | None) -> tuple[Comprehension, Atoms]:
    """How many terms of each element exist, or whether the one does."""
    there: Atom = Lit(0.0) if exists is None else _number(body.b, exists)
    program = body_of(there, body.params, body.b.equations)
    return replace(op, sources=tuple(body.sources), body=program, onto=None), tuple(body.args)


def _recurrence(gate: Gate, e: Equation, op: Recurrence) -> None:
    """A recurrence with the bodies of its statements gated, and where its histories exist: histories again."""
    statements, system = whole_statements(e), StepSystem(op, op.down)
    starts = dict(zip(e.outs, e.args, strict=False))
    places = step_places(statements, op.step)
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
    gated, body, exists = _gated(gate, plain, plain.op)
    if isinstance(flags, Var) and (exists is not None or op.onto is None):
        counted, args = compact(*_terms(op, body, exists))
        (system.assign if op.onto is None else system.add)(flags, counted, args, s.span)
    if gated is plain:
        return s
    if op.onto is None:
        return gated
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


# ---------------------------------------------------------------- whether a sum has a term that exists
# Whether a sum has a term that exists: asked of each tensor by itself.
#
#     i(t, u) +=! a(t, e) != 0 or b(u, e) != 0 ? 1 : 0       T·U·E points
#
#     i1(t) +=! a(t, e) != 0 ? 1 : 0                         T·E
#     i2(u) +=! b(u, e) != 0 ? 1 : 0                         U·E
#     i(t, u) = i1(t) != 0 or i2(u) != 0 ? 1 : 0             T·U
#
# So it takes no longer to say where a product of matrices exists than to read the matrices. Indices that a question does not move
# with are left out of its sum, and guards say that there is a point for the others.

OR = TABLE["or"]
Applied = tuple[Comprehension, Atoms]
"""A comprehension and its arguments."""


def in_parts(b: Builder, op: Comprehension, args: Atoms, exists: Var) -> Applied | None:
    """A tensor that is not zero where a sum has a term for which `exists`, a truth value of its body, holds: sums over fewer
    indices, which are emitted; None where there are none."""
    kept = indices_of(op.write)
    if op.reduction != "+" or not all(isinstance(s, Affine) for s in op.write) or not closed(op.ranges, kept):
        return None
    conditions = [*op.guards, *in_ranges(op.ranges)]
    bound = {i for c in conditions if not kept.issuperset(c.indices()) for i in c.indices()} & kept
    questions: dict[frozenset[Index], list[Var]] = {}
    for v in alternatives(op.body.equations, exists):
        questions.setdefault(frozenset(indices_of(sources_of(op, [v])) | bound), []).append(v)
    sums = list[tuple[Comprehension, tuple[Affine, ...]]]()
    for along, asked in questions.items():
        made = None if along.issuperset(op.indices) else sum_along(op, along, kept, conditions, asked)
        if made is None:
            return None
        sums.append(made)
    params, inner = tuple([Param(Var(f"x{k}"), f"x{k}") for k in range(len(sums))]), Builder()
    value = one_where_any([inner.expr(p.var) != 0 for p in params])
    whole = replace(op, ranges=tuple([r for r in op.ranges if r.index in kept]), onto=None,
                    guards=tuple([g for g in op.guards if kept.issuperset(g.indices())]),
                    sources=tuple([Read(k, subscripts) for k, (_, subscripts) in enumerate(sums)]),
                    body=body_of(value, params, inner.equations))
    return whole, tuple([emit(b, made, args).atom for made, _ in sums])


def sum_along(op: Comprehension, along: Collection[Index], kept: Collection[Index], conditions: Iterable[Affine],
              asked: Iterable[Var]) -> tuple[Comprehension, tuple[Affine, ...]] | None:
    """At how many points along some indices any of the truth values `asked` holds, for each value of those of them that are
    `kept`, and how an element is read; None where conditions cannot be said without the other indices."""
    left: list[Affine] | None = list(conditions)
    for i in op.indices:
        if i not in along and left is not None:
            left = without_index(left, i)
    ranges = tuple([r for r in op.ranges if r.index in along])
    places = [place_of(op, r) for r in ranges if r.index in kept]
    if left is None or not closed(ranges, along) or None in places:
        return None
    subscripts, shape = (tuple([p[k] for p in places if p is not None]) for k in (0, 1))
    ends, inner = ends_of(ranges), Builder()
    inner.equations.extend(op.body.equations)
    body = body_of(one_where_any(map(inner.expr, asked)), op.body.params, inner.equations)
    guards = tuple(dict.fromkeys([c for c in left if not follows(c, ends, ())]))
    return Comprehension(ranges=ranges, guards=guards, write=subscripts, shape=shape, reduction="+", sources=op.sources,
                         body=body), subscripts


def place_of(op: Comprehension, r: Range) -> tuple[Affine, Affine] | None:
    """A subscript that tells the values of an index apart, with an extent that is one at all sizes; None where none is known."""
    for s, extent in zip(op.write, op.shape, strict=True):
        if isinstance(s, Affine) and s.indices() == [r.index] and linear(s) and slope(s, r.index).number in (1, -1):
            return s, extent
    length = r.high - r.low
    return None if length.indices() or not never_negative(length) else (affine(r.index) - r.low, length)


def alternatives(equations: Iterable[Equation], truth: Var) -> Iterator[Var]:
    """The truth values of which one holds where `truth` does."""
    made = definitions(equations)
    stack: list[Atom] = [truth]
    while stack:
        v = stack.pop()
        assert isinstance(v, Var)
        if v in made and made[v].op is OR:
            stack += reversed(made[v].args)
        else:
            yield v


def indices_of(sources: Iterable[BodySource]) -> set[Index]:
    """The indices in sources or subscripts, those inside of what is read too."""
    return {i for s in sources for i in (indices_of(s.subscripts) if isinstance(s, Read) else s.indices())}


def closed(ranges: Iterable[Range], among: Collection[Index]) -> bool:
    """Whether the ranges of these indices are said without others."""
    return all(i in among for r in ranges if r.index in among for end in (r.low, r.high) for i in end.indices())


def one_where_any(truths: Iterable[Expr]) -> Atom:
    """1 where one of some truth values holds, else 0."""
    return select(reduce(lambda x, y: x | y, truths), 1, 0).atom
