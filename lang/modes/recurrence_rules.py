"""The two modes for recurrences: derivatives of recurrences are recurrences, and comprehensions beside them.

A statement is true of the final histories, so its tangent is the tangent that it has as an operation over all steps, between the
tangents of whole histories, and so is its adjoint. These are not in an order yet: `adcli.lang.modes.systems` makes loops of
those that depend on one another in a circle, upwards for tangents, the other way for adjoints, and puts sums over steps behind.
    tangents   dh starts from the tangent of what h started from; what a statement writes into h, its tangent writes into dh.
    adjoints   d_dh starts from the adjoint that h has behind the loop; each read of h adds to it. What is left in elements that
               no statement has assigned is the adjoint of what h started from.
Beside each stands a history that says which of its elements exist (guards.py), by the same rules; what none looks at is dropped.
None stands beside those of which all elements that are read are certain to exist: that is supposed of all, and where the
derivatives made under the supposition do not bear it out of one, they are made again without it.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Shape, Var, definitions, shape_of
from adcli.lang.ir.affine import Affine, affine
from adcli.lang.ir.build import Builder, Hint
from adcli.lang.ir.primitives import TABLE
from adcli.lang.modes.comprehension_rules import PullBack, PushForward, chooses, pulled, pulled_at, pushed
from adcli.lang.modes.guards import Term, gate, present
from adcli.lang.modes.matrix_rules import pulled_matrix, pulled_matrix_at, pushed_matrix
from adcli.lang.modes.systems import UNWRITTEN, StepSystem
from adcli.lang.operations.comprehension import (
    Comprehension,
    Range,
    Read,
    Subscript,
    all_fixed,
    atoms_in,
    constant_body,
    identity_body,
)
from adcli.lang.operations.elementwise import compact, emit, every_element, filled
from adcli.lang.operations.matrix import Boxed, MatrixOperation, elements_read
from adcli.lang.operations.recurrence import Recurrence, active_histories, amended, step_places, whole_statements, without_onto
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.histories import Box, box_of, missing

ADD = TABLE["add"]
Named = Callable[[Var], Hint]
"""The printing hint of the derivative of a value."""


def pushed_recurrence(b: Builder, e: Equation[Recurrence], tangents: Mapping[Atom, Term], push_forward: PushForward,
                      named: Named) -> dict[Atom, Term]:
    """The tangents of a recurrence's results."""
    op, active = e.op, active_histories(e, tangents.keys())
    known = {a: settled(b, tangents[a]) for a in e.args if a in tangents}
    begun: dict[Atom, Atom] = {out: start for out, start in zip(e.outs, e.args, strict=False) if out in active}

    supposed = {out for out, start in begun.items() if isinstance(start, Lit) or start in known}
    given = {out: _elements_given(b, known.get(begun[out])) for out in supposed}
    made = _Derivatives(b, e, op.down, named, supposed, {out: known.get(start) for out, start in begun.items()})

    def tangent(s: Equation[Boxed]) -> _Source:
        return _Source(s, s.outs[0], {*s.args}, lambda: made.tangent(s, known, push_forward))
    made.settle([tangent(s) for s in made.statements if s.outs[0] in active],
                lambda out: made.all_certain(out, given[out], isinstance(begun[out], Lit)))
    made.enter({out for out, start in begun.items() if not isinstance(start, Lit)})
    found = {out: term for out, term in made.finish().items() if out in active}
    for out, term in found.items():
        start = known.get(begun[out])
        if term.exists is None and start is not None and start.exists is not None:
            found[out] = replace(term, exists=made.beside(b, out, start.exists))
    return found


def pulled_recurrence(b: Builder, e: Equation[Recurrence], adjoints: Mapping[Atom, Term], positions: Collection[int],
                      pull_back: PullBack, named: Named) -> dict[int, Term]:
    """The adjoints of a recurrence's arguments at these positions from those of its results."""
    op = e.op
    statements, count = whole_statements(e), len(e.outs)
    active, before = active_histories(e, {e.args[i] for i in positions}), -1
    reached = {*active.intersection(adjoints)}
    while len(reached) > before:
        before = len(reached)
        for s in reversed(statements):
            if s.outs[0] in reached:
                reached.update(a for a in s.args if a in active and a not in reached and s.op.moved(s, {a}, steps=False))
    seeds: dict[Atom, Term | None] = {
        out: settled(b, adjoints[out]) if out in adjoints else None for out in e.outs if out in reached}
    constants = {e.args[i]: i for i in positions if i >= count}
    given: dict[Atom, list[Box]] = {out: _elements_given(b, seed) for out, seed in seeds.items()}
    made = _Derivatives(b, e, not op.down, named, reached, seeds)

    def adjoint(s: Equation[Boxed], k: int, source: Read) -> _Source:
        return _Source(s, s.args[source.arg], [s.outs[0]], lambda: made.adjoint(s, k, source, pull_back))
    made.settle([adjoint(s, k, source) for s in reversed(made.statements) if s.outs[0] in reached for k, source in s.op.reads()
                 if s.args[source.arg] in reached or s.args[source.arg] in constants],
                lambda out: made.all_reached(out, given[out]))
    made.enter(reached)
    starts = {i: made.start(e.outs[i]) for i in positions if i < count and e.outs[i] in reached}
    found = made.finish()
    return {**{i: found[v] for i, v in starts.items()}, **{i: found[a] for a, i in constants.items() if a in found}}


def settled(b: Builder, term: Term) -> Term:
    """A derivative without its guard: 0 where it does not exist, which `exists` says."""
    if not term.guard:
        return term
    return Term.of(gate(b, term.value, term.guard, 0.0), (), present(b, term, term.guard))


class _Certainty(NamedTuple):
    """The contribution of one statement to a derivative: whether all of it is `certain` to exist, and the box of the elements
    that it is sure to write, if it is known."""

    certain: bool
    box: Box | None


class _Contribution(NamedTuple):
    """A term of a derivative, zero where there is none: the equations it needs, the one that makes it and the one that says where
    it exists. It `adds` to the derivative, or assigns to it."""

    lines: list[Equation]
    main: Equation
    exists: Equation
    adds: bool
    sure: _Certainty


class _Source(NamedTuple):
    """A contribution of a statement to the derivative of `target`, and the histories whose derivatives it is made from."""

    statement: Equation[Boxed]
    target: Atom
    read: Collection[Atom]
    make: Callable[[], _Contribution | None]


def _elements_given(b: Builder, seed: Term | None) -> list[Box]:
    """Boxes of elements of a seed that exist, as far as that shows; of what exists everywhere one is all of it."""
    if seed is None:
        return []
    if seed.exists is None:
        return [tuple([(affine(0), n) for n in shape_of(seed.atom)])]
    needed, cone = {seed.exists}, []
    for e in reversed(b.equations):
        if not needed.isdisjoint(e.outs):
            cone.append(e)
            needed.update(e.args)
    plain = simplify(Program((), tuple(reversed(cone)), (Result("exists", seed.exists),)))
    made, found, left = definitions(plain.equations), list[Box](), [plain.results[0].atom]
    while left:
        flags = left.pop()
        x = made.get(flags) if isinstance(flags, Var) else None
        if x is None or not isinstance(x.op, Comprehension):
            continue
        if _is_certain(x):
            found += [box for box in [sure_box(x.op)] if box is not None]
            left += [x.args[x.op.onto]] if x.op.onto is not None and x.op.reduction == "+" else []
        elif _is_sum(x.op):
            left += [x.args[s.arg] for _, s in x.op.reads()]
    return found


def _is_sum(op: Comprehension) -> bool:
    """Whether a comprehension adds tensors of one shape element by element."""
    params = [p.var for p in op.body.params]
    adds = len(params) == 2 and [(x.op, {*x.args}) for x in op.body.equations] == [(ADD, {*params})]
    return adds and op.onto is None and not op.guards and all(s.subscripts == op.write for _, s in op.reads())


def _is_certain(e: Equation) -> bool:
    """Whether an equation that says what exists says so of all that it writes."""
    value = e.op.body.results[0].atom if isinstance(e.op, Comprehension) else None
    return isinstance(value, Lit) and value.value > 0


def sure_box(op: Comprehension) -> Box | None:
    """The box of the elements that a comprehension writes, all of them; None where it may leave out some. Its box has points."""
    alone = [s.indices() for s in op.write if isinstance(s, Affine)]
    indices = [i for found in alone for i in found]
    dense = all(isinstance(s, Affine) and all(s.coefficient(i) == 1 for i in s.indices()) for s in op.write)
    if op.guards or not dense or len({*indices}) < len(indices) or any(len(found) > 1 for found in alone):
        return None
    return _leading_box(op, op.write, op.shape)


def _leading_box(op: Boxed, leading: tuple[Subscript, ...], shape: Shape) -> Box | None:
    """The box of the elements of a tensor behind leading subscripts, over all ranges."""
    box = box_of(leading, op.ranges, ())
    return None if box is None else (*box, *[(affine(0), n) for n in shape[len(leading):]])


class _Derivatives:
    """The derivatives of a recurrence's histories under construction, as the parts of a system. They start from those that have
    `begun`; those of `certain` histories are supposed to exist wherever they are read."""

    def __init__(self, b: Builder, e: Equation[Recurrence], down: bool, named: Named, certain: Collection[Atom],
                 begun: Mapping[Atom, Term | None]) -> None:
        op = e.op
        self.b, self.named, self.certain, self.begun = b, named, {*certain}, begun
        self.statements = whole_statements(e)
        self.amended = amended(self.statements)
        self.system = StepSystem(op, down)
        self.places = step_places(self.statements, op.step)
        self.terms: dict[Atom, Term] = {}
        self.there: dict[Atom, Var] = {}
        self.chooses = any(isinstance(s.op, Comprehension) and chooses(s.op) for s in self.statements)
        self.sources: Sequence[_Source] = ()
        self.made: list[_Contribution | None] = []
        self.into = defaultdict[Atom, list[int]](list)
        for out, before in begun.items():
            self.term(out, before)

    def term(self, out: Atom, before: Term | None) -> None:
        """Name the derivative of a history, or of a value beside them, which starts from the term `before`."""
        assert isinstance(out, Var)
        (name, temp), there = self.named(out), Var(None, True, shape=out.shape)
        self.there[out] = there
        if self.chooses or (before is not None and before.exists in self.b.chosen):
            self.b.chosen.add(there)
        self.terms[out] = Term(self.b, Var(name, temp, shape=out.shape), (), None if out in self.certain else there)

    def settle(self, sources: Sequence[_Source], holds: Callable[[Atom], bool]) -> None:
        """Make all contributions. Where they do not bear out that a derivative is certain to exist, those that are made from it
        are made again without that."""
        self.sources, readers, waiting = sources, defaultdict[Atom, list[int]](list), [*self.terms]
        for n, source in enumerate(sources):
            self.into[source.target].append(n)
            for out in source.read:
                readers[out].append(n)
        self.made = [source.make() for source in sources]
        while waiting:
            out = waiting.pop()
            if out in self.certain and not holds(out):
                self.certain.remove(out)
                self.terms[out] = replace(self.terms[out], exists=self.there[out])
                for n in readers[out]:
                    self.made[n] = sources[n].make()
                    waiting.append(sources[n].target)

    def found(self, out: Atom) -> list[_Certainty]:
        """The certainties of all contributions to the derivative of a history."""
        return [made.sure for n in self.into[out] if (made := self.made[n]) is not None]

    def tangent(self, s: Equation, known: Mapping[Atom, Term], push_forward: PushForward) -> _Contribution | None:
        """The contribution of `s` to the tangent of the history that it writes."""
        lines, plain = self.lines(s)
        seeds = {a: replace(t, builder=lines) for a in s.args if (t := self.terms.get(a) or known.get(a)) is not None}
        term, adds = tangent_of(lines, plain, seeds, push_forward), plain.op is not s.op
        if term is None:
            return None if adds else zero(plain)
        return contribution(lines, term, plain, adds)

    def adjoint(self, s: Equation[Boxed], k: int, source: Read, pull_back: PullBack) -> _Contribution | None:
        """The contribution of a read to the adjoint of the value that it reads."""
        (lines, plain), target = self.lines(s), s.args[source.arg]
        assert isinstance(target, Var)
        seed = replace(self.terms[s.outs[0]], builder=lines)
        matrix = isinstance(s.op, MatrixOperation)
        term = pulled_matrix_at(lines, plain, k, seed) if matrix else pulled_at(lines, plain, k, source, seed, pull_back)
        swapped = replace(plain.op, write=source.subscripts, shape=shape_of(target))
        return None if term is None else contribution(lines, term, Equation((target,), swapped, s.args, s.span), True)

    def lines(self, s: Equation) -> tuple[Builder, Equation]:
        """A place for what a statement makes, and the statement without what it adds to. Where others add to its elements the
        value that it gives is made again, beside."""
        b = Builder()
        b.span, b.infinite, b.chosen = s.span, self.b.infinite, self.b.chosen
        return b, self.amended.get(s, without_onto(s))

    def history(self, out: Atom, before: Term | None, place: int | None = None, zeros: bool = True) -> None:
        """Enter the derivative of a history, or of a value beside them, which starts from the term `before`."""
        assert isinstance(out, Var)
        at = self.places.get(out, 0) if place is None else place
        value, there = self.terms[out].value.var, self.terms[out].exists
        self.system.history(value, UNWRITTEN if before is None else before.atom, at, zeros)
        if isinstance(there, Var):
            exists = UNWRITTEN if before is None else before.exists
            self.system.history(there, filled(self.b, out.shape, 1.0) if exists is None else exists, at, zeros)

    def enter(self, zeros: Collection[Atom]) -> None:
        """Enter all histories, elements of `zeros` that no statement writes as such, and contributions."""
        for out, before in self.begun.items():
            self.history(out, before, zeros=out in zeros)
        known = defaultdict[Atom, list[_Certainty]](list)
        for source, made in zip(self.sources, self.made, strict=True):
            if source.statement in self.amended:
                self.system.line(self.amended[source.statement])
            if made is not None:
                if source.target not in self.terms:
                    self.term(source.target, None)
                    self.history(source.target, None)
                sure = made.sure
                once = made.adds and sure.certain and sure.box and sure in known[source.target]
                known[source.target].append(sure)
                self.contribute(source.target, made, not once)

    def contribute(self, target: Atom, made: _Contribution, exists: bool = True) -> None:
        """Enter a contribution: its lines, the statement that makes its term, and the one that says where the term exists."""
        for x in made.lines:
            self.system.line(x)
        term, write = self.terms[target], self.system.add if made.adds else self.system.assign
        write(term.value.var, made.main.op, made.main.args, made.main.span)
        if exists and isinstance(term.exists, Var):
            write(term.exists, made.exists.op, made.exists.args, made.main.span)

    def start(self, out: Var) -> Var:
        """The adjoint of what a history started from: that of the history where no statement assigns."""
        key, before = Var(out.name, True, shape=out.shape), self.terms[out]
        self.term(key, before)
        self.history(key, before, self.places[out])
        for s in self.statements:
            if s.outs[0] is out and s.op.onto is None:
                self.contribute(key, zero(s))
        return key

    def all_certain(self, out: Atom, given: list[Box], begins: bool) -> bool:
        """Whether the tangent of every element that statements read exists: it is certain where they write, and in the boxes that
        are `given`. What `begins` with the loop has no other elements."""
        found = self.found(out)
        boxes = [*given, *[x.box for x in found if x.box is not None]]
        for s in self.statements if not begins else ():
            for atom, subscripts in elements_read(s, s.op):
                points = [r.high - r.low - 1 for r in s.op.ranges]
                if atom is out and ((read := _leading_box(s.op, subscripts, shape_of(atom))) is None or missing(
                        read, boxes, points, self.places[out]) is not None):
                    return False
        return all(x.certain for x in found)

    def beside(self, b: Builder, out: Atom, exists: Atom) -> Atom:
        """Where the tangent of a history exists behind the loop, whose statements make all that they write exist."""
        for s in self.statements:
            if s.outs[0] is out:
                there = everywhere(s, 1.0)
                exists = emit(b, replace(there.op, onto=len(there.args)), (*there.args, exists)).atom
        return exists

    def all_reached(self, out: Atom, given: list[Box]) -> bool:
        """Whether the adjoint of every element that statements write exists: each is in a box that is `given`, or that
        certain reads add to."""
        boxes = [*given, *[x.box for x in self.found(out) if x.certain and x.box is not None]]
        for s in self.statements:
            if s.outs[0] is out:
                written, points = _leading_box(s.op, s.op.write, s.op.shape), [r.high - r.low - 1 for r in s.op.ranges]
                if written is None or missing(written, boxes, points, self.places[out]) is not None:
                    return False
        return True

    def finish(self) -> dict[Atom, Term]:
        """Append everything, and say what the derivatives are."""
        env = self.system.emit(self.b)
        return {out: Term(self.b, env.get(t.atom, t.atom), (), None if t.exists is None else
                          env.get(t.exists, t.exists)) for out, t in self.terms.items()}


def zero(over: Equation[Boxed]) -> _Contribution:
    """Zero for all elements that a statement writes."""
    made = everywhere(over, 0.0)
    return _Contribution([], made, made, False, _Certainty(False, None))


def contribution(lines: Builder, term: Term, over: Equation[Boxed], adds: bool) -> _Contribution:
    """The contribution of a term, with the lines it needs; `over` has the box and the write."""
    made = definitions(lines.equations)
    main, exists = made[term.value.var], made[term.exists] if isinstance(term.exists, Var) else everywhere(over, 1.0)
    needed = [x for x in lines.equations if x.outs[0] is not term.atom and x.outs[0] is not term.exists]
    if adds and isinstance(main.op, MatrixOperation):
        needed.append(main)
        main = copied(main, main.op)
    sure = _Certainty(_is_certain(exists), sure_box(exists.op))
    return _Contribution(needed, replace(main, span=over.span), exists, adds, sure)


def everywhere(s: Equation[Boxed], value: float) -> Equation:
    """A statement with one value for all elements that another one writes; a sum of it where conditions are on more indices."""
    op = s.op
    ranges, write = behind(op)
    ranges = (*written_ranges(op), *ranges)
    same = Comprehension(ranges=ranges, guards=op.guards, write=write, shape=op.shape,
                         reduction="=" if all_fixed(ranges, write) else "+", body=constant_body(value))
    return Equation(s.outs, *compact(same, s.args), s.span)


def written_ranges(op: Boxed) -> tuple[Range, ...]:
    """The ranges of the elements that an operation writes: those of the indices in its write, and in its guards."""
    used = atoms_in((*op.guards, *op.write))
    return tuple([r for r in op.ranges if r.index in used])


def copied(s: Equation, op: MatrixOperation) -> Equation:
    """A statement that copies what an operation on matrices writes."""
    ranges, write = behind(op)
    copy = Comprehension(ranges=(*op.ranges, *ranges), guards=op.guards, write=write, shape=op.shape,
                         sources=(Read(len(s.args), write),), body=identity_body())
    return Equation(s.outs, *compact(copy, (*s.args, s.outs[0])), s.span)


def behind(op: Boxed) -> tuple[tuple[Range, ...], tuple[Subscript, ...]]:
    """Ranges for the dimensions that the leading subscripts of a write leave out, and the subscripts with those."""
    ranges, here = every_element(op.shape[len(op.write):])
    return ranges, (*op.write, *here)


# ---------------------------------------------------------------- the rules of all operations on tensors
# Forward and reverse mode ask here where an operation is no row of the table, so a program of scalars loads none of this.

def tangents_of(b: Builder, e: Equation, tangents: Mapping[Atom, Term], push_forward: PushForward, hint: Named
                ) -> dict[Atom, Term]:
    """The tangents of what an operation on tensors gives."""
    if isinstance(e.op, Recurrence):
        return pushed_recurrence(b, e, tangents, push_forward, hint)
    start, out = len(b.equations), e.outs[0]
    term = tangent_of(b, e, tangents, push_forward)
    return {} if term is None else {out: term.named(b, hint(out), start)}


def tangent_of(b: Builder, e: Equation, tangents: Mapping[Atom, Term], push_forward: PushForward) -> Term | None:
    """The tangent of what an operation over a box gives."""
    return pushed(b, e, tangents, push_forward) if isinstance(e.op, Comprehension) else pushed_matrix(b, e, tangents)


def adjoint_of(b: Builder, e: Equation, position: int, seed: Term, pull_back: PullBack) -> Term | None:
    """The adjoint of one argument from that of the one result."""
    if isinstance(e.op, Comprehension):
        return pulled(b, e, position, seed, pull_back)
    return pulled_matrix(b, e, position, seed)


def adjoints_of_loop(b: Builder, e: Equation, adjoints: Mapping[Atom, Term], positions: Collection[int], pull_back: PullBack,
                     hint: Named) -> dict[int, Term] | None:
    """The adjoints of arguments of a loop from those of its results; None where the operation is no loop."""
    if not isinstance(e.op, Recurrence):
        return None
    return pulled_recurrence(b, e, adjoints, positions, pull_back, hint)
