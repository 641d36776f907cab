"""The two modes for comprehensions: derivatives of comprehensions are comprehensions.

Forward: the same box and write, the body pushed forward, reduction "+" (or "=" for "="). Reverse, for one argument read at
r: the same box, the result's adjoint read where the result was written, the body pulled back, the values added up at r. One
read has changed places with the write, and nothing in it says diagonal, window or broadcast.

What a reduction does to a seed is a weight at each point of the box, the same in both modes (SEMANTICS.md):
  sum        1.
  "="        1 for the point that was the last to write the element, zero by construction for those that it overwrote; they can
             only meet where the write goes through integers. Forward mode assigns in the same order; reverse mode has a tensor
             of the last point of every element, a maximum of the points' numbers.
  min, max   1/n for each of the n elements equal to the extremum, zero by construction for the others, NaN where it is NaN. Onto
             a value that is an extremum of the same kind, the elements that went into that one count with the others, so that it
             makes no difference into how many comprehensions an extremum is divided.
             (The draft in seeds/002 multiplies the adjoint by all elements and takes the maximum of that, which is not
             linear in the adjoint, so it is no derivative: the maximum of the products has nothing to do with the element
             that was the maximum.)
  lse        exp(v - z) for the value v of the point and the result z, a difference that no ties disturb; NaN where z is infinite.
  product    the product of all other elements that went into the same result, so that zeros are exact at any order: not
             z / element. It is made of the products of those before and of those behind, two loops. Where only numbers say
             which elements these are (a write through integers), it costs the square of the reduced part of the box.

A body is differentiated as any program is, so the two modes are given: `push_forward` and `pull_back`, which come here for
comprehensions, are parameters.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Var, shape_of
from adcli.lang.ir.affine import (
    Affine,
    Index,
    Modulo,
    NewSubstitution,
    Substitution,
    affine,
    remainder,
    slope,
    substituted,
    within,
    without,
)
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE, exp, gt, lt, select
from adcli.lang.modes.guards import Guard, Term, can_be_infinite, literals, restrict, result, total, truth
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.comprehension import (
    BodySource,
    Comprehension,
    Read,
    Subscript,
    all_fixed,
    body_of,
    constant_body,
    corner,
    covers,
    extent_of,
    fixed_indices,
    identity_body,
)
from adcli.lang.operations.elementwise import elementwise, emit, every_element, filled, in_a_row, running
from adcli.lang.simplify.simplify import simplify

NE, DUP, MUL, SELECT = TABLE["ne"], TABLE["dup"], TABLE["mul"], TABLE["select"]
PushForward = Callable[[Builder, Equation, dict[Atom, Term], str], None]
"""Emits the tangent line of an equation and enters the tangent of what it defines: `adcli.lang.modes.forward`."""
PullBack = Callable[[Builder, Program, Mapping[str, Term], set[Atom]], dict[Atom, Term]]
"""Emits the adjoint lines of a program, last first: `adcli.lang.modes.reverse`."""


class BodyBuilder:
    """The body of a comprehension under differentiation, with more sources and arguments as they are needed."""

    def __init__(self, e: Equation[Comprehension], equations: Iterable[Equation]) -> None:
        self.op, self.args, self.b = e.op, list(e.args), Builder()
        self.sources, self.params = list(e.op.sources), list(e.op.body.params)
        self.names = Names.of(e.op.body)
        self.seeded: set[Var] = set()   # whether elements of seeds exist
        self.b.equations.extend(equations)

    def read(self, atom: Atom, subscripts: tuple[Subscript, ...]) -> Expr:
        """An element of one more argument, as a value in the body."""
        self.sources.append(Read(len(self.args), subscripts))
        self.args.append(atom)
        name = self.names.fresh("t")
        self.params.append(Param(Var(name), name))
        return self.b.expr(self.params[-1].var)

    def seed(self, term: Term, subscripts: tuple[Subscript, ...]) -> Term:
        """An element of a tangent or an adjoint, under the condition that it exists."""
        value = self.read(term.atom, subscripts)
        if term.exists is None:
            return Term.of(value)
        there = (self.read(term.exists, subscripts) != 0).var
        self.seeded.add(there)
        return Term.of(value, ((there, True),))

    def number(self, expression: Affine) -> Expr:
        """The value of an expression of indices and sizes."""
        self.sources.append(expression)
        name = self.names.fresh("k")
        self.params.append(Param(Var(name), name))
        return self.b.expr(self.params[-1].var)

    def reuse(self, e: Equation, value: Atom) -> None:
        """Where the value of the body stands in the result, read it there instead of computing it again."""
        at = [i for i, x in enumerate(self.b.equations) if x.outs == (value,)]
        if self.op.reduction == "=" and not may_meet(self.op) and at and isinstance(value, Var):
            del self.b.equations[at[0]]
            self.sources.append(Read(len(self.args), self.op.write))
            self.args.append(e.outs[0])
            self.params.append(Param(value, self.names.fresh("z")))

    def program(self, value: Atom) -> Program:
        """The body with a value of it as the result, simplified."""
        lines = [Equation(x.outs, x.op, x.args, x.span) for x in self.b.equations]
        return simplify(body_of(value, self.params, lines))

    def finish(self, term: Term | None) -> Program:
        return self.program(result(self.b, term))


Made = tuple[BodyBuilder, Term | None]
"""A body with the derivative in it."""
Ties = tuple[Atom, Atom, Atom | None]
"""The extremum to compare with, the number of values equal to it, and the values where they are kept."""


def pushed(b: Builder, e: Equation, tangents: Mapping[Atom, Term], push_forward: PushForward) -> Term | None:
    """The tangent of a comprehension's result; tangents that exist under one guard are pushed together."""
    groups: dict[Guard, dict[int, Term]] = {}
    for i, a in enumerate(e.args):
        if a in tangents:
            groups.setdefault(tangents[a].guard, {})[i] = tangents[a]
    terms = ((guard, _pushed_together(b, e, seeds, push_forward)) for guard, seeds in groups.items())
    return total(b, [_under(b, term, guard) for guard, term in terms])


def _pushed_together(b: Builder, e: Equation[Comprehension], seeds: Mapping[int, Term], push_forward: PushForward) -> Term | None:
    op = e.op
    start = None if op.onto is None else seeds.get(op.onto)
    if start is not None and op.reduction in ("min", "max"):
        others = {i: seed for i, seed in seeds.items() if i != op.onto}
        return total(b, [_started(b, e, start), _pushed_together(b, e, others, push_forward)])
    sums = replace(op, reduction="=" if op.reduction == "=" else "+", onto=None)
    if start is None:
        def made(known: Sequence[Term]) -> Made:
            return _pushed_body(b, e, dict(zip(seeds, known, strict=True)), push_forward)
        return _emitted(b, sums, seeds.values(), made)
    body, term = _pushed_body(b, e, seeds, push_forward)
    program = body.finish(term)
    if _nothing(program) and op.reduction == "+":
        return Term.of(start.value, exists=start.exists)
    onto = replace(sums, sources=tuple(body.sources), body=program, onto=len(body.args))
    return Term.of(emit(b, onto, (*body.args, start.atom)))


def _pushed_body(b: Builder, e: Equation[Comprehension], seeds: Mapping[int, Term], push_forward: PushForward) -> Made:
    op, body = e.op, BodyBuilder(e, ())
    tangents: dict[Atom, Term] = {
        op.body.params[k].var: body.seed(seeds[s.arg], s.subscripts) for k, s in op.reads() if s.arg in seeds}
    for inner in op.body.equations:
        body.b.equations.append(inner)
        push_forward(body.b, inner, tangents, "d%s")
    value = op.body.results[0].atom
    term = tangents.get(value)
    body.reuse(e, value)
    return body, None if term is None else _weighted(b, body, e, term, value)


def pulled(b: Builder, e: Equation[Comprehension], position: int, seed: Term, pull_back: PullBack) -> Term | None:
    """The adjoint of one argument of a comprehension from that of its result."""
    op = e.op
    found: list[Term | None] = [_started(b, e, seed)] if position == op.onto else []
    found += [pulled_at(b, e, k, s, seed, pull_back) for k, s in op.reads() if s.arg == position]
    return total(b, found)


def _started(b: Builder, e: Equation[Comprehension], seed: Term) -> Term | None:
    """The adjoint of what the result started from, or its tangent in that of the result: elements that "=" has overwritten have
    none."""
    op = e.op
    if op.reduction == "+":
        return seed
    if op.reduction in ("min", "max"):
        return _started_extremal(b, e, seed)
    everywhere = filled(b, op.shape, 1.0) if seed.exists is None else seed.exists
    exists = cleared(b, e, everywhere) if op.shape else None
    if exists is not None and seed.exists in b.chosen:
        b.chosen.add(exists)
    return Term(b, cleared(b, e, seed.atom), seed.guard, exists)


def cleared(b: Builder, e: Equation[Comprehension], value: Atom) -> Atom:
    """A value of the shape of a comprehension's result, with 0 wherever that is written."""
    zeros = replace(e.op, sources=(), body=constant_body(0.0), onto=len(e.args))
    return emit(b, zeros, (*e.args, value)).atom


def pulled_at(b: Builder, e: Equation[Comprehension], k: int, source: Read, seed: Term, pull_back: PullBack) -> Term | None:
    """The adjoint of what source `k` reads: the read and the write change places."""
    if not may_meet(e.op):   # the last point that writes an element is found by the order of points
        e = _unwound(e, e.op, source)
    source = next(s for i, s in e.op.reads() if i == k)
    reduction = "=" if all_fixed(e.op.ranges, source.subscripts) else "+"
    swapped = replace(e.op, write=source.subscripts, shape=shape_of(e.args[source.arg]), reduction=reduction, onto=None)
    term = _emitted(b, swapped, [seed], lambda known: _pulled_body(b, e, k, known[0], pull_back))
    return _under(b, term, seed.guard)


def _unwound(e: Equation, op: Comprehension, source: Read) -> Equation:
    """The comprehension with k for every subscript (i + c) % N of what is read, where i runs through all N values: i is
    (k - c) % N then, so that the adjoint is read around the end and not written around it."""
    for s in source.subscripts:
        around = s.terms[0][0] if isinstance(s, Affine) and len(s.terms) == 1 else None
        if not isinstance(around, Modulo) or s != affine(around):
            continue
        for r in op.ranges:
            steps = slope(around.whole, r.index).number
            rest = without(around.whole, r.index)
            plain = steps in (1, -1) and r.index not in {*rest.indices(), *(i for g in op.guards for i in g.indices())}
            if plain and r.low.number == 0 and r.high == around.divisor:
                new = Index(r.index.name)
                ranges = tuple(replace(x, index=new) if x is r else x for x in op.ranges)
                by: NewSubstitution = {r.index: remainder((affine(new) - rest) * (steps or 0), around.divisor)}
                ends = {x.index: (x.low, x.high - 1) for x in ranges}
                sources, write = _elsewhere(op.sources, by, ends), _elsewhere(op.write, by, ends)
                return e.with_op(replace(op, ranges=ranges, sources=sources, write=write), e.args)
    return e


def _pulled_body(b: Builder, e: Equation[Comprehension], k: int, seed: Term, pull_back: PullBack) -> Made:
    inner = e.op.body
    body, value, x = BodyBuilder(e, inner.equations), inner.results[0].atom, inner.params[k]
    if value not in (active := active_values(inner, {x.name})):
        return body, None
    start = _weighted(b, body, e, body.seed(seed, e.op.write), value)
    if start is not None and may_meet(e.op):
        start = _of_the_last(b, body, e, start)
    adjoints = pull_back(body.b, inner, {} if start is None else {inner.results[0].name: start}, active)
    body.reuse(e, value)
    return body, adjoints.get(x.var)


def _emitted(b: Builder, op: Comprehension, seeds: Collection[Term], make: Callable[[Sequence[Term]], Made]) -> Term | None:
    """The comprehension `op` with the body that `make` gives for the seeds, and where its elements exist.

    An element that no point writes, or none of whose contributions exists, is zero by construction, and a later line must not
    make 0·inf = NaN of it: so it is said by a tensor beside the value, behind a sum by the number of terms that exist. Only a
    body that can be infinite or reads what can looks at it, and one behind a choice of the program, which may be there for inputs
    that are no numbers. What none looks at is dropped, and nobody else pays.
    """
    body, term = make(list(seeds))
    program = body.finish(term)
    if term is None or _nothing(program):
        return None
    exists, guard = _exists(b, op, body, term.guard), _of_the_whole(b, body, term.guard)
    there = [t.exists for t in seeds if t.exists is not None]
    chosen = not b.chosen.isdisjoint(there)
    if exists is not None and (chosen or (chooses(op) and any(v not in body.seeded for v, _ in term.guard))):
        b.chosen.add(exists)
    if there and not _looks(b, body, program, seeds, chosen):
        body, term = make([replace(t, exists=None) for t in seeds])
        program = body.finish(term)
    return Term.of(emit(b, replace(op, sources=tuple(body.sources), body=program), tuple(body.args)), guard, exists)


def chooses(op: Comprehension) -> bool:
    """True if the body of a comprehension has a select."""
    return any(x.op is SELECT for x in op.body.equations)


def _looks(b: Builder, body: BodyBuilder, program: Program, seeds: Collection[Term], chosen: bool) -> bool:
    """Whether a body has to look where its seeds exist: what multiplies them there may be no number."""
    if any(map(can_be_infinite, program.equations)):
        return True
    used = {a for x in program.equations for a in x.args}
    own = {a for t in seeds for a in (t.atom, t.exists)}
    read = {body.args[s.arg] for p, s in zip(program.params, body.sources, strict=True) if p.var in used and isinstance(s, Read)}
    if not read.isdisjoint(b.infinite):
        return True
    multiplies = any(x.op is MUL and not any(isinstance(a, Lit) for a in x.args) for x in program.equations)
    return chosen and multiplies and bool(read - own)


def _under(b: Builder, term: Term | None, more: Guard) -> Term | None:
    """A term under a further guard; None where the two contradict each other."""
    guard = None if term is None else restrict(b, more, term.guard)
    return None if term is None or guard is None else replace(term, guard=guard)


def _of_the_whole(b: Builder, body: BodyBuilder, guard: Guard) -> Guard:
    """The part of a guard in the body that all points share: that a scalar, the flag of a gate, is not zero."""
    defined = {x.outs[0]: x for x in body.b.equations if x.op is NE and isinstance(x.args[1], Lit) and x.args[1].value == 0}
    scalars: dict[Atom, Atom] = {
        p.var: body.args[s.arg] for p, s in zip(body.params, body.sources, strict=True)
        if isinstance(s, Read) and not s.subscripts}
    found = [(scalars[defined[v].args[0]], wanted) for v, wanted in guard if v in defined and defined[v].args[0] in scalars]
    return tuple([((b.expr(flag) != 0).var, wanted) for flag, wanted in found])


def _exists(b: Builder, op: Comprehension, body: BodyBuilder, guard: Guard) -> Atom | None:
    """Not 0 where an element of the result exists, else 0; None where all do, or may. Behind a sum it is how many terms do."""
    single = all_fixed(op.ranges, op.write)
    if not guard and (not single or not op.shape or covers(op)):
        return None
    flag = body.program(select(body.b.expr(truth(body.b, guard)), 1, 0).atom if guard else Lit(1.0))
    reduction = "=" if single or op.reduction == "=" else "+"
    return emit(b, replace(op, reduction=reduction, sources=tuple(body.sources), body=flag), tuple(body.args)).atom


def _nothing(body: Program) -> bool:
    value = body.results[0].atom
    return isinstance(value, Lit) and value.value == 0


# ---------------------------------------------------------------- what a reduction does to a seed

def _weighted(b: Builder, body: BodyBuilder, e: Equation, t: Term, value: Atom) -> Term | None:
    """The seed times the weight of each point; `value` is that of the body there."""
    op = body.op
    if op.reduction in ("=", "+"):
        return t
    if op.reduction == "lse":
        return Term.of(t.value * exp(body.b.expr(value) - body.read(e.outs[0], op.write)), t.guard)
    if op.reduction == "*":
        return Term.of(_times_others(b, body, e, t.value), t.guard)
    return _extremal(b, body, e, t, value)


def may_meet(op: Comprehension) -> bool:
    """Whether several points may assign to one element: those that go through integers may, subscripts alone are proved apart."""
    return op.reduction == "=" and any(isinstance(s, Read) for s in op.write) and not all_fixed(op.ranges, op.write)


def _of_the_last(b: Builder, body: BodyBuilder, e: Equation, t: Term) -> Term | None:
    """The seed at the point that wrote last where it is read, compared by number with the last of all."""
    numbers = BodyBuilder(e, ())
    program = numbers.program(_number_of_point(numbers).atom)
    op = replace(numbers.op, reduction="max", onto=None, sources=tuple(numbers.sources), body=program)
    last = emit(b, op, tuple(numbers.args)).atom
    here, start = _number_of_point(body), len(body.b.equations)
    guard = restrict(body.b, t.guard, literals(body.b, body.read(last, body.op.write) == here, start))
    return None if guard is None else replace(t, guard=guard)


def _number_of_point(body: BodyBuilder) -> Expr:
    """A number that grows from point to point of those that may write one element, in the order of the domain."""
    shared, whole = fixed_indices(body.op.ranges, body.op.write), None
    for r in body.op.ranges:
        if r.index not in shared:
            digit = body.number(affine(r.index) - r.low)
            whole = digit if whole is None else whole * body.number(extent_of(r)) + digit
    assert whole is not None, "points that meet differ in an index"
    return whole


def _extremal(b: Builder, body: BodyBuilder, e: Equation, t: Term, value: Atom) -> Term | None:
    """1/n for each of n ties, where the value of the body is compared with the extremum it went into."""
    op, (z, n, kept) = body.op, count_ties(b, e)
    u = body.b.expr(value) if kept is None else body.read(kept, corner(op.ranges)[0])
    return _share(body.b, op.reduction, t, u, body.read(z, op.write), body.read(n, op.write))


def _started_extremal(b: Builder, e: Equation[Comprehension], seed: Term) -> Term | None:
    """The share of the value that a minimum or maximum started from, which counts as often as it has ties itself."""
    op, (z, n, _) = e.op, count_ties(b, e)
    assert op.onto is not None
    start, own = e.args[op.onto], _ties_before(b, e)
    if not op.shape:
        return _share(b, op.reduction, seed, *map(b.expr, (start, z, n, own)))
    ranges, here = every_element(op.shape)
    copy = replace(op, ranges=ranges, guards=(), write=here, reduction="=", sources=(), body=constant_body(0.0), onto=None)

    def made(known: Sequence[Term]) -> Made:
        body = BodyBuilder(Equation(e.outs, copy, (), e.span), ())
        t = body.seed(known[0], here)
        return body, _share(body.b, op.reduction, t, *[body.read(a, here if shape_of(a) else ()) for a in (start, z, n, own)])
    return _under(b, _emitted(b, copy, [seed], made), seed.guard)


def _share(b: Builder, reduction: str, t: Term, u: Expr, z: Expr, n: Expr, own: Expr | float = 1) -> Term | None:
    """own/n of the seed where u is the extremum z, zero by construction elsewhere, NaN where that is NaN."""
    start = len(b.equations)
    beyond = gt(z, u) if reduction == "max" else lt(z, u)
    guard = restrict(b, t.guard, literals(b, ~beyond, start))
    weight = select(z == z, own / n, math.nan)
    return None if guard is None else Term.of(t.value * weight, guard)


def count_ties(b: Builder, e: Equation[Comprehension]) -> Ties:
    """How many values are equal to the minimum or maximum they went into.

    That needs the very bits that were compared before. A body with calls of functions may not give them twice (vector code
    and the code for what is left over may round differently), so its values are kept in a tensor.
    """
    op, z, kept = e.op, e.outs[0], None
    reads, inner = tuple(e.args), op
    if not all(x.op.llvm for x in op.body.equations):
        kept = _kept(b, e)
        inner = replace(op, sources=(Read(len(reads), corner(op.ranges)[0]),), body=identity_body())
        reads = (*reads, kept)
        z = emit(b, inner, reads).var
    ties = BodyBuilder(Equation(e.outs, inner, reads), inner.body.equations)
    v, extremum = ties.b.expr(inner.body.results[0].atom), ties.read(z, op.write)
    counted = ties.finish(Term.of(select(v == extremum, 1, 0)))
    n = emit(b, replace(inner, reduction="+", sources=tuple(ties.sources), body=counted, onto=None), tuple(ties.args)).atom
    if op.onto is not None:
        n = _with_start(b, n, e.args[op.onto], z, _ties_before(b, e))
    return z, n, kept


def _with_start(b: Builder, n: Atom, start: Atom, z: Atom, own: Atom) -> Atom:
    """A number of ties with those of what the extremum z started from."""
    if not shape_of(z):
        return (b.expr(n) + select(b.expr(start) == b.expr(z), b.expr(own), 0)).atom
    return elementwise(b, lambda n, u, z, own: n + select(u == z, own, 0), n, start, z, own).atom


def _ties_before(b: Builder, e: Equation[Comprehension]) -> Atom:
    """How often what a minimum or maximum starts from counts among its ties: as often as it has ties itself, if it is an extremum
    of the same kind whose comprehension stands in `b`, else once."""
    assert e.op.onto is not None
    start, made = e.args[e.op.onto], None
    for x in reversed(b.equations):
        if start in x.outs:
            made, start = x, x.args[0] if x.op is DUP else start
            if x.op is not DUP:
                break
    same = made is not None and isinstance(made.op, Comprehension) and made.op.reduction == e.op.reduction
    return count_ties(b, made)[1] if same and made is not None else Lit(1.0)


def _kept(b: Builder, e: Equation[Comprehension]) -> Atom:
    """The value of the body at every point of the box."""
    op = e.op
    here, shape = corner(op.ranges)
    return emit(b, replace(op, reduction="=", write=here, shape=shape, onto=None), e.args).atom


def _times_others(b: Builder, body: BodyBuilder, e: Equation[Comprehension], seed: Expr) -> Expr:
    """A seed times the product of the body over all other points that are written where the point is: the product of those before
    it times that of those behind, both of them running products, where the subscripts written fix which points these are."""
    op = e.op
    fixed = fixed_indices(op.ranges, op.write)
    shared = tuple([r for r in op.ranges if r.index in fixed])
    if len(shared) == len(op.ranges):
        return seed
    if not all(isinstance(s, Affine) and fixed.issuperset(s.indices()) for s in op.write):
        return seed * body.read(_product_of_others(b, e), corner(op.ranges)[0])
    values, args, place = in_a_row(b, op, e.args, shared)
    here, _ = corner(shared)
    before, behind = (running(b, values, args, down) for down in (False, True))
    return seed * body.read(before, (place, *here)) * body.read(behind, (place + 1, *here))


def _product_of_others(b: Builder, e: Equation[Comprehension]) -> Atom:
    """For every point p of the box the product of the body over all other points that are written where p is, if that is known
    for numbers only.

    A product comprehension over pairs of points: indices that the element written determines are shared, the others are there
    twice, and the factor of a point with itself is 1. None where no two points meet.
    """
    op = e.op
    shared = fixed_indices(op.ranges, op.write)
    again = {r.index: Index(r.index.name) for r in op.ranges if r.index not in shared}
    by: NewSubstitution = {i: affine(j) for i, j in again.items()}
    pairs = op.ranges + tuple(replace(r, index=again[r.index]) for r in op.ranges if r.index in again)
    sources, write = _elsewhere(op.sources, by), _elsewhere(op.write, by)
    guards = op.guards + tuple(g for old in op.guards if (g := substituted(old, by)) != old)
    unequal = [affine(i) - j for i, j in by.items()]
    apart: list[tuple[BodySource, BodySource]] = []
    for mine, its in zip(op.write, write, strict=True):
        if isinstance(mine, Affine) and isinstance(its, Affine):
            guards += () if mine == its else (mine - its, its - mine)
        else:
            apart.append((mine, its))
    here, shape = corner(op.ranges)
    body, all_sources = _factor(op.body, sources, unequal, apart)
    product = replace(op, ranges=pairs, guards=guards, write=here, shape=shape, sources=all_sources, body=body)
    return emit(b, product, e.args).atom


def _factor(body: Program, sources: Iterable[BodySource], unequal: Iterable[BodySource],
            apart: Iterable[tuple[BodySource, BodySource]]) -> tuple[Program, tuple[BodySource, ...]]:
    """The body where the point is another one that goes to the same element, else 1.

    `unequal` are sources of which one at least is not 0 if the points differ, `apart` pairs that are equal if both go to the
    same element.
    """
    b, names, params, every = Builder(), Names.of(body), list(body.params), list(sources)

    def value(source: BodySource) -> Expr:
        every.append(source)
        name = names.fresh("k")
        params.append(Param(Var(name), name))
        return b.expr(params[-1].var)

    b.equations.extend(body.equations)
    differs: Expr | None = None
    for difference in unequal:
        here = value(difference) != 0
        differs = here if differs is None else differs | here
    assert differs is not None
    for mine, its in apart:
        differs = differs & (value(mine) == value(its))
    z = select(differs, b.expr(body.results[0].atom), 1)
    return body_of(z.atom, params, b.equations), tuple(every)


def _elsewhere(subscripts: Iterable[Subscript], by: Substitution,
               ends: Mapping[Index, tuple[Affine, Affine]] | None = None) -> tuple[Subscript, ...]:
    """Subscripts, or sources, at another point."""
    return tuple(replace(s, subscripts=_elsewhere(s.subscripts, by, ends)) if isinstance(s, Read) else
                 within(substituted(s, by), ends or {}) for s in subscripts)
