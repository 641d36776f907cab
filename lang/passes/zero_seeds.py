"""The zero rule for seeds given at run time: an exact zero in a tangent or cotangent drops what it would have caused.

A derivative program is linear in its seeds, or a polynomial in them where it gives Taylor coefficients. Just before code is
made, this pass gives every value that depends on a seed the condition under which that is not zero by construction, and lets
it into a sum or a result only under that condition; 0·∞ from a direction the user did not ask for then never becomes NaN.
Derivative programs as text stay plain, since they are to be differentiated again, where a gate on a seed would be wrong.

For a scalar the condition is a truth value. For a tensor it is a tensor of its own, not zero where an element exists: the seed
itself, then, along lines that move elements, one computed beside the value, and behind a sum the number of terms that exist.
Only bodies that can be infinite at finite values look at it; what none looks at is dropped. A plain product with an element
that is infinite itself is none of them: a test in each would make products of matrices slower by a third.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var, shape_of
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.comprehension import Comprehension, Range, Read, body_of
from adcli.lang.ir.elementwise import compact, elementwise, emit
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.ir.recurrence import Recurrence, active_histories, step_place, whole_statements, without_onto
from adcli.lang.passes.comprehension_rules import BodyBuilder
from adcli.lang.passes.guards import ABSENT_TERM, can_be_infinite
from adcli.lang.passes.matrix_rules import spread
from adcli.lang.passes.recurrence_rules import everywhere
from adcli.lang.passes.simplify import prune
from adcli.lang.passes.systems import StepSystem

ADD, SUB, MUL, SELECT, DUP = TABLE["add"], TABLE["sub"], TABLE["mul"], TABLE["select"], TABLE["dup"]
AND, OR = TABLE["and"], TABLE["or"]
LINEAR_ROWS = {TABLE[name] for name in ("neg", "mul", "div")}
Present = dict[Atom, Var]
"""For a scalar that depends on seeds, the truth value that says that it does not come from zero seeds alone."""
Flags = dict[Atom, Atom]
"""For a tensor, or what comprehensions made of one, a value of the same shape that is not zero where the element exists."""


def drop_zero_seeds(program: Program) -> Program:
    """The program for evaluation, with every seed-dependent value let in only where a seed of it is not zero."""
    seeds = [p.var for p in program.params if p.seed]
    if not seeds:
        return program
    b = Builder()
    gate = _Gate(b, {x: (b.expr(x) != 0).var for x in seeds if not x.shape}, {x: x for x in seeds if x.shape})
    gate.lines(program.equations)
    results = tuple([r.with_atom(gate.or_else(r.atom, 0.0)) for r in program.results])
    return prune(replace(program, equations=tuple(b.equations), results=results))


class _Gate:
    """The lines of a program or of a body, with what depends on seeds let in only where it is there."""

    def __init__(self, b: Builder, present: Present, flags: Flags) -> None:
        self.b, self.present, self.flags = b, present, flags
        self.joined: dict[tuple[Primitive, Var, Var], Var] = {}

    def lines(self, equations: Iterable[Equation]) -> None:
        for e in equations:
            self.b.span, self.b.group = e.span, 0
            if isinstance(e.op, Comprehension):
                self.comprehension(e, e.op)
            elif isinstance(e.op, Recurrence):
                self.recurrence(e, e.op)
            elif isinstance(e.op, MatrixOperation):
                self.matrix(e, e.op)
            elif e.op is DUP:
                self.copy(e)
            else:
                self.row(e)

    def or_else(self, atom: Atom, otherwise: float) -> Atom:
        """The value where it is there, else a constant; a tensor as it is, since its elements have been seen to."""
        if atom not in self.present:
            return atom
        return apply(SELECT, self.b.expr(self.present[atom]), self.b.expr(atom), otherwise).atom

    def copy(self, e: Equation) -> None:
        self.b.equations.append(e)
        if e.args[0] in self.present:
            self.present.update(dict.fromkeys(e.outs, self.present[e.args[0]]))
        if e.args[0] in self.flags:
            self.flags.update(dict.fromkeys(e.outs, self.flags[e.args[0]]))

    # -- scalars

    def row(self, e: Equation) -> None:
        """A row of the table; what is linear in seeds stays, and its result is there when they are."""
        here, gated = [self.present[a] for a in e.args if a in self.present], e
        if here and e.op in (ADD, SUB, SELECT):
            gated = self.sum(e)
        elif here and e.op not in LINEAR_ROWS:
            gated, here = Equation(e.outs, e.op, tuple(self.or_else(a, 0.0) for a in e.args), e.span), []
        self.b.equations.append(gated)
        if here and not e.op.truth:
            whole = _chosen(self.b, e, self.present) if e.op is SELECT else here[0]
            for other in here[1:] if e.op is not SELECT else ():
                whole = self.join(AND if e.op is MUL else OR, whole, other)
            self.present.update(dict.fromkeys(e.outs, whole))

    def sum(self, e: Equation) -> Equation:
        """A sum, difference or choice whose terms come from different seeds."""
        first, second = e.args[-2:]
        plain = e.op is SELECT and (isinstance(first, Lit) or isinstance(second, Lit))
        if plain or self.present.get(first) is self.present.get(second):
            return e
        left, right = self.or_else(first, ABSENT_TERM), self.or_else(second, ABSENT_TERM if e.op is ADD else 0.0)
        return Equation(e.outs, e.op, (*e.args[:-2], left, right), e.span)

    def join(self, op: Primitive, one: Var, other: Var) -> Var:
        """Two conditions as one: a sum is there with one of its terms, a product with both factors."""
        if one is other:
            return one
        key = (op, one, other)
        if key not in self.joined:
            self.joined[key] = apply(op, self.b.expr(one), self.b.expr(other)).var
        return self.joined[key]

    # -- comprehensions

    def comprehension(self, e: Equation, op: Comprehension) -> None:
        """A comprehension with its body gated, and where its result exists."""
        numbers = {a: _number(self.b, self.present[a]) for a in e.args if a in self.present and a not in self.flags}
        self.flags.update(numbers)
        body = BodyBuilder(e, ())
        seeded: Present = {op.body.params[k].var: self.element(body, s, k) for k, s in op.reads() if e.args[s.arg] in self.flags}
        inner, value = _Gate(body.b, seeded, {}), op.body.results[0].atom
        inner.lines(op.body.equations)
        if inner.present and any(map(can_be_infinite, op.body.equations)):
            self.b.equations.append(_with_body(e, op, body, inner.or_else(value, 0.0)))
        else:
            self.b.equations.append(e)
        if op.reduction in ("=", "+"):
            self.enter(e, op, body, inner.present.get(value))

    def recurrence(self, e: Equation, op: Recurrence) -> None:
        """A recurrence with the bodies of its statements gated, and where its histories exist: histories again."""
        statements, system = whole_statements(e), StepSystem(Range(op.step, op.low, op.high), op.down, op.checkpoint)
        starts = dict(zip(e.outs, e.args, strict=False))
        self.flags.update({a: _number(self.b, self.present[a]) for a in e.args if a in self.present and a not in self.flags})
        places = {s.outs[0]: step_place(s.op, op.step)[0] for s in statements if isinstance(s.op, Boxed)}
        for out in active_histories(e, self.flags.keys()):
            assert isinstance(out, Var)
            start = self.flags.get(starts[out])
            flags = Var(None, True, shape=out.shape)
            system.history(flags, Lit(0.0) if start is None else _number(self.b, start), places[out])
            self.flags[out] = flags
        gated = [self.statement(s, s.op, system) if isinstance(s.op, Comprehension) else self.matrices(s, system)
                 for s in statements]
        if gated == [*statements]:
            self.b.equations.append(e)
        else:
            for out in e.outs:
                system.history(out, starts[out], places[out], zeros=False)
            for s in gated:
                system.enter(s)
        env = system.emit(self.b)
        self.flags.update({out: env.get(self.flags[out], self.flags[out]) for out in e.outs if out in self.flags})

    def matrices(self, s: Equation, system: StepSystem) -> Equation:
        """An operation on matrices in a recurrence: what it writes exists."""
        flags, there = self.flags.get(s.outs[0]), everywhere(s, 1.0)
        if isinstance(flags, Var) and isinstance(there.op, Comprehension):
            system.assign(flags, there.op, there.args, s.span)
        return s

    def statement(self, s: Equation, op: Comprehension, system: StepSystem) -> Equation:
        """A statement of a recurrence, gated; where what it writes exists is entered in the system."""
        plain = without_onto(s)
        body = BodyBuilder(plain, ())
        seeded: Present = {op.body.params[k].var: self.element(body, r, k) for k, r in op.reads() if s.args[r.arg] in self.flags}
        inner, value = _Gate(body.b, seeded, {}), op.body.results[0].atom
        inner.lines(op.body.equations)
        exists, flags = inner.present.get(value), self.flags.get(s.outs[0])
        if isinstance(flags, Var) and (exists is not None or op.onto is None):
            there: Atom = Lit(0.0) if exists is None else _number(body.b, exists)
            program = body_of(there, body.params, body.b.equations)
            counted, args = compact(replace(op, sources=tuple(body.sources), body=program, onto=None), tuple(body.args))
            (system.assign if op.onto is None else system.add)(flags, counted, args, s.span)
        if not inner.present or not any(map(can_be_infinite, op.body.equations)):
            return s
        gated = _with_body(plain, replace(op, onto=None), body, inner.or_else(value, 0.0))
        if op.onto is None:
            return gated
        assert isinstance(gated.op, Comprehension)
        return Equation(s.outs, replace(gated.op, onto=len(gated.args)), (*gated.args, s.outs[0]), s.span)

    def matrix(self, e: Equation, op: MatrixOperation) -> None:
        """An operation on matrices: a solve is linear in its right-hand side, so there is a point of it where that has one."""
        self.b.equations.append(e)
        matrix, *right = op.sources
        if right and e.args[matrix.arg] not in self.flags and e.args[right[0].arg] in self.flags:
            there = self.flags[e.args[right[0].arg]]
            self.flags[e.outs[0]] = spread(self.b, e, [(there, right[0].subscripts)], op.write, op.shape)

    def element(self, body: BodyBuilder, source: Read, k: int) -> Var:
        """In the body: whether what source `k` reads exists."""
        atom = body.args[source.arg]
        flag = self.flags[atom]
        value = body.b.expr(body.params[k].var) if flag is atom else body.read(flag, source.subscripts)
        return (value != 0).var

    def enter(self, e: Equation, op: Comprehension, body: BodyBuilder, exists: Var | None) -> None:
        """Where the result exists: where the value does that is written, and where that does which it starts from."""
        start = None if op.onto is None else self.flags.get(e.args[op.onto])
        if exists is None and start is None:
            return
        args, onto = list(body.args), None
        if start is not None:
            onto = len(args)
            args.append(_number(self.b, start))
        there: Atom = Lit(0.0) if exists is None else _number(body.b, exists)
        counted = replace(op, sources=tuple(body.sources), body=body_of(there, body.params, body.b.equations), onto=onto)
        out, flag = e.outs[0], emit(self.b, counted, tuple(args))
        self.flags[out] = flag.atom
        if not out.shape:
            self.present[out] = (flag != 0).var


def _chosen(b: Builder, e: Equation, present: Present) -> Var:
    """Whether a seed of the arm taken is not zero; an arm without seeds is what stands for nothing."""
    condition, first, second = e.args
    one, other, taken = present.get(first), present.get(second), b.expr(condition)
    if one is not None and other is not None:
        return one if one is other else ((taken & b.expr(one)) | (~taken & b.expr(other))).var
    return (taken & b.expr(one)).var if one is not None else (~taken & b.expr(present[second])).var


def _with_body(e: Equation, op: Comprehension, body: BodyBuilder, value: Atom) -> Equation:
    """The equation with another value of its body."""
    gated = replace(op, sources=tuple(body.sources), body=body_of(value, body.params, body.b.equations))
    tight, args = compact(gated, tuple(body.args))
    return Equation(e.outs, tight, args, e.span)


def _number(b: Builder, flag: Atom) -> Atom:
    """A truth value, or a flag, as 1 and 0."""
    if isinstance(flag, Var) and flag.truth:
        return select(b.expr(flag), 1, 0).atom
    if not shape_of(flag):
        return select(b.expr(flag) != 0, 1, 0).atom
    return elementwise(b, lambda x: select(x != 0, 1, 0), flag).atom
