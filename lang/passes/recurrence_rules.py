"""The two modes for recurrences: derivatives of recurrences are recurrences, and comprehensions beside them.

A statement is true of the final histories, so its tangent is the tangent that it has as an operation over all steps, between the
tangents of whole histories, and so is its adjoint. These are not in an order yet: `adcli.lang.passes.systems` makes loops of
those that depend on one another in a circle, upwards for tangents, the other way for adjoints, and puts sums over steps behind.
    tangents   dh starts from the tangent of what h started from; what a statement writes into h, its tangent writes into dh.
    adjoints   d_dh starts from the adjoint that h has behind the loop; each read of h adds to it. What is left in elements that
               no statement has assigned is the adjoint of what h started from.
Beside each stands a history that says which of its elements exist (guards.py), by the same rules; what none looks at is dropped.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.activity import active_histories
from adcli.lang.ir.build import Builder, Hint
from adcli.lang.ir.comprehension import Comprehension, Range, constant_body, written_ranges
from adcli.lang.ir.elementwise import compact, elementwise, filled, shape_of
from adcli.lang.ir.primitives import select
from adcli.lang.ir.recurrence import Recurrence, step_place, whole_statements, without_onto
from adcli.lang.passes.comprehension_rules import PullBack, PushForward, pulled_at, pushed
from adcli.lang.passes.guards import Term, flag, gate
from adcli.lang.passes.systems import UNWRITTEN, System

Named = Callable[[Var], Hint]
"""What the derivative of a value is called."""


def pushed_recurrence(b: Builder, e: Equation, tangents: Mapping[Atom, Term], push_forward: PushForward,
                      named: Named) -> dict[Atom, Term]:
    """The tangents of a recurrence's results."""
    op = e.op
    assert isinstance(op, Recurrence)
    made, active = _Derivatives(b, e, op.down, named), active_histories(e, tangents.keys())
    known = {a: settled(b, tangents[a]) for a in e.args if a in tangents}
    for out, start in zip(e.outs, e.args, strict=False):
        if out in active:
            made.history(out, known.get(start), zeros=not isinstance(start, Lit))
    for s in made.statements:
        if s.outs[0] in active:
            made.tangent(s, {**known, **made.terms}, push_forward)
    return {out: term for out, term in made.finish().items() if out in active}


def pulled_recurrence(b: Builder, e: Equation, adjoints: Mapping[Atom, Term], positions: Collection[int], pull_back: PullBack,
                      named: Named) -> dict[int, Term]:
    """The adjoints of a recurrence's arguments at these positions from those of its results."""
    op = e.op
    assert isinstance(op, Recurrence)
    made, count = _Derivatives(b, e, not op.down, named), len(e.outs)
    active, before = active_histories(e, {e.args[i] for i in positions}), -1
    reached = {*active.intersection(adjoints)}
    while len(reached) > before:
        before = len(reached)
        reached.update(a for s in made.statements if s.outs[0] in reached for a in s.args if a in active)
    for out in e.outs:
        if out in reached:
            made.history(out, settled(b, adjoints[out]) if out in adjoints else None)
    constants = {e.args[i]: i for i in positions if i >= count}
    for s in reversed(made.statements):
        if s.outs[0] in reached:
            made.adjoint(s, {*reached, *constants}, pull_back)
    starts = {i: made.start(e.outs[i]) for i in positions if i < count and e.outs[i] in reached}
    found = made.finish()
    return {**{i: found[v] for i, v in starts.items()}, **{i: found[a] for a, i in constants.items() if a in found}}


def settled(b: Builder, term: Term) -> Term:
    """The same derivative without a guard: 0 where it does not exist, which `exists` says."""
    if not term.guard:
        return term
    value, shape = gate(b, term.value, term.guard, 0.0), shape_of(term.value.atom)
    if not shape:
        there = flag(b, term.guard) if term.exists is None else gate(b, b.expr(term.exists), term.guard, 0.0).atom
        return Term(value, (), there)
    there = filled(b, shape, 1.0) if term.exists is None else term.exists
    return Term(value, (), elementwise(b, lambda x, g: select(g != 0, x, 0), there, flag(b, term.guard)).atom)


class _Derivatives:
    """The derivatives of a recurrence's histories under construction, as the parts of a system."""

    def __init__(self, b: Builder, e: Equation, down: bool, named: Named) -> None:
        op = e.op
        assert isinstance(op, Recurrence)
        self.b, self.named = b, named
        self.statements = whole_statements(e)
        self.system = System(Range(op.step, op.low, op.high), down)
        self.places = {s.outs[0]: step_place(s.op, op.step)[0] for s in self.statements if isinstance(s.op, Comprehension)}
        self.terms: dict[Atom, Term] = {}

    def history(self, out: Atom, before: Term | None, place: int | None = None, zeros: bool = True) -> None:
        """Enter the derivative of a history, or of a value beside them, which starts from the term `before`."""
        assert isinstance(out, Var)
        (name, temp), exists = self.named(out), UNWRITTEN
        if before is not None:
            exists = filled(self.b, out.shape, 1.0) if before.exists is None else before.exists
        value, there = Var(name, temp, shape=out.shape), Var(None, True, shape=out.shape)
        at = self.places.get(out, 0) if place is None else place
        self.system.history(value, UNWRITTEN if before is None else before.value.atom, at, zeros)
        self.system.history(there, exists, at, zeros)
        self.terms[out] = Term(self.b.expr(value), (), there)

    def tangent(self, s: Equation, known: Mapping[Atom, Term], push_forward: PushForward) -> None:
        """The statement that gives the tangent of what `s` writes."""
        lines, plain = self.lines(s)
        seeds = {a: replace(t, value=lines.expr(t.value.atom)) for a, t in known.items()}
        term, adds = pushed(lines, plain, seeds, push_forward), plain.op is not s.op
        if term is not None:
            self.enter(s.outs[0], lines, term, plain, adds)
        elif not adds:
            self.clear(s.outs[0], plain)

    def adjoint(self, s: Equation, active: Collection[Atom], pull_back: PullBack) -> None:
        """What the reads of a statement add to the adjoints of what they read."""
        assert isinstance(s.op, Comprehension)
        for k, source in s.op.reads():
            target = s.args[source.arg]
            if isinstance(target, Var) and target in active:
                (lines, plain), seed = self.lines(s), self.terms[s.outs[0]]
                term = pulled_at(lines, plain, k, source, replace(seed, value=lines.expr(seed.value.atom)), pull_back)
                if term is not None:
                    if target not in self.terms:
                        self.history(target, None)
                    swapped = replace(plain.op, write=source.subscripts, shape=target.shape)  # type: ignore[call-arg]
                    self.enter(target, lines, term, Equation((target,), swapped, s.args, s.span), True)

    def lines(self, s: Equation) -> tuple[Builder, Equation]:
        """A place for what a statement makes, and the statement without what it adds to."""
        b = Builder()
        b.span = s.span
        return b, without_onto(s)

    def enter(self, target: Atom, lines: Builder, term: Term, over: Equation, adds: bool) -> None:
        """The statement that makes `term`, and the one that says where it exists, for the derivative of `target`; the lines it
        needs stand beside. `over` has the box and the write."""
        enter, (value, there) = self.system.add if adds else self.system.assign, self._both(target)
        made = {x.outs[0]: x for x in lines.equations}
        for x in lines.equations:
            if x.outs[0] is not term.value.atom and x.outs[0] is not term.exists:
                self.system.line(x)
        main, exists = made[term.value.var], made[term.exists] if isinstance(term.exists, Var) else everywhere(over, 1.0)
        for out, line in ((value, main), (there, exists)):
            assert isinstance(line.op, Comprehension)
            enter(out, line.op, line.args, over.span)

    def clear(self, target: Atom, s: Equation) -> None:
        """The statements that make the derivative of what another one assigns zero."""
        zero = everywhere(s, 0.0)
        for part in self._both(target):
            assert isinstance(zero.op, Comprehension)
            self.system.assign(part, zero.op, zero.args, s.span)

    def start(self, out: Var) -> Var:
        """The adjoint of what a history started from: that of the history where no statement assigns."""
        key = Var(out.name, True, shape=out.shape)
        self.history(key, self.terms[out], self.places[out])
        for s in self.statements:
            if s.outs[0] is out and isinstance(s.op, Comprehension) and s.op.onto is None:
                self.clear(key, s)
        return key

    def _both(self, out: Atom) -> tuple[Var, Var]:
        term = self.terms[out]
        assert isinstance(term.exists, Var)
        return term.value.var, term.exists

    def finish(self) -> dict[Atom, Term]:
        """Append everything, and say what the derivatives are."""
        env = self.system.emit(self.b)
        return {out: Term(self.b.expr(env.get(t.value.atom, t.value.atom)), (), None if t.exists is None else
                          env.get(t.exists, t.exists)) for out, t in self.terms.items()}


def everywhere(s: Equation, value: float) -> Equation:
    """A statement with one value for all elements that another one writes."""
    op = s.op
    assert isinstance(op, Comprehension)
    same = replace(op, ranges=written_ranges(op), reduction="=", sources=(), body=constant_body(value), onto=None)
    return Equation(s.outs, *compact(same, s.args), s.span)
