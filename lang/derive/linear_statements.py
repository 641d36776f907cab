"""Programs that are linear in some inputs, as sums over boxes of indices of coefficients times elements of these inputs.

    dr(write) += coefficient · dx(read)        at every point of a box

A tangent program is linear in its tangents, and so is each statement of it. From the last statement to the first, a value that
is linear in them gives way to what it is the sum of: a read of it at some subscripts, and the statement that writes it at
others, become one statement over the box of both, if indices of one can be said by those of the other:

    dy(i) += a(i) · dv(i),   dv(from(l)) += b(l) · dx(l)       dy(from(l)) += a(from(l)) · b(l) · dx(l)

What is left reads inputs alone: each coefficient is an entry of a sparse matrix, for every point of its box. (ExaModels has
models as such statements from the start: Shin, Anitescu & Pacaud, arXiv:2307.16830.) Coefficients are computed from values that
do not depend on the tangents, which other statements make.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adcli.lang.derive import derivatives
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Result, Var, definitions
from adcli.lang.ir.affine import Affine, Index, affine, greatest, least, slope, substituted, without
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import Span
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.modes.comprehension_rules import cleared, may_meet
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.comprehension import Comprehension, Range, Read, Subscript, needed_guards
from adcli.lang.operations.elementwise import every_element, filled
from adcli.lang.simplify.simplify import prune

ADD, MUL, DUP, SELECT = TABLE["add"], TABLE["mul"], TABLE["dup"], TABLE["select"]
LINEAR = {SELECT: (1, 2), ADD: (0, 1), TABLE["sub"]: (0, 1), TABLE["neg"]: (0,), TABLE["div"]: (), MUL: ()}
"""Operations through which a factor goes to what a choice has made, and their arguments if it goes to each of these."""
MOST_STATEMENTS = 2000
"""Of one program: beyond, values are sums of sums in too many ways."""


class NoStatements(Exception):
    """A value that is no sum over a box of indices: `reason`, in the statement at `span`."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


@value_record
class ElementAt:
    """An element of a value; a subscript may be an element of integers."""

    atom: Atom
    subscripts: tuple[Affine | ElementAt, ...] = ()


Place = tuple[Affine | ElementAt, ...]
Source = Affine | ElementAt
By = Mapping[Index, Affine | ElementAt]


@dataclass(eq=False)
class Statement:
    """A sum over a box: `out`(`write`) += Σ coefficient · element, for the `terms`. Coefficients are values of the body, whose
    parameters are `sources`. Added to what `start` has; where `assigned`, only elements that no point writes are left of that."""

    out: Var
    ranges: tuple[Range, ...]
    guards: tuple[Affine, ...]
    write: Place
    sources: dict[Source, Var] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)
    terms: dict[ElementAt, Atom] = field(default_factory=dict)
    gated: dict[Atom, Equation] = field(default_factory=dict)
    start: Atom | None = None
    assigned: bool = False
    span: Span | None = None

    def source(self, s: Source) -> Var:
        """The parameter of the body that has this value."""
        return self.sources.setdefault(s, Var(f"x{len(self.sources)}"))

    def add(self, at: ElementAt, coefficient: Atom) -> None:
        """One more term."""
        there = self.terms.get(at)
        self.terms[at] = coefficient if there is None else self.line(ADD, there, coefficient)

    def times(self, one: Atom, other: Atom) -> Atom:
        """The product of two coefficients. What a choice makes zero by construction is so whatever it would be multiplied by: the
        product is that of its arms."""
        for a, b in ((one, other), (other, one)):
            if isinstance(a, Lit) and a.value == 1:
                return b
        for a, b in ((one, other), (other, one)):
            if a in self.gated:
                e = self.gated[a]
                to = LINEAR[e.op] or [next(k for k, x in enumerate(e.args) if x in self.gated)]
                return self.line(e.op, *[self.times(x, b) if k in to and not is_zero(x) else x for k, x in enumerate(e.args)])
        return self.line(MUL, one, other)

    def line(self, op: Primitive, *args: Atom) -> Atom:
        out = Var(None, True, op.truth)
        self.append(Equation((out,), op, args))
        return out

    def append(self, e: Equation) -> None:
        """One more line of the body."""
        self.equations.append(e)
        chooses = e.op is SELECT and any(is_zero(a) for a in e.args[1:])
        if chooses or (e.op in LINEAR and not self.gated.keys().isdisjoint(e.args)):
            self.gated[e.outs[0]] = e

    def take(self, other: Statement, by: By) -> dict[Atom, Atom]:
        """Have the body of another statement, with values for some of its indices; returns what its values are called here."""
        env: dict[Atom, Atom] = {v: self.source(put(s, by)) for s, v in other.sources.items()}
        for e in other.equations:
            env.update((out, Var(out.name, out.temp, out.truth)) for out in e.outs)
            self.append(e.substituted(env))
        return env

    def multiply(self, coefficient: Atom, other: Statement, by: By) -> None:
        """Add the terms of another statement, with values for some of its indices, times a coefficient."""
        env = self.take(other, by)
        for at, c in other.terms.items():
            self.add(put_in(at, by), self.times(coefficient, env.get(c, c)))

    def alone(self, by: By, coefficient: Atom) -> tuple[Statement, Atom]:
        """The statement without terms, with values for some of its indices; and what a coefficient is called there."""
        left = tuple([r for r in self.ranges if r.index not in by])
        found = Statement(self.out, left, tuple([affine_part(put(g, by)) for g in self.guards]),
                          tuple([put(x, by) for x in self.write]), span=self.span)
        return found, found.take(self, by).get(coefficient, coefficient)

    def moved(self, by: By) -> Statement:
        """The statement with values for some of its indices."""
        found, _ = replace(self, sources={}, equations=[], terms={}, gated={}).alone(by, Lit(1.0))
        found.multiply(Lit(1.0), self, by)
        return found

    def renamed(self) -> Statement:
        """The statement with indices of its own."""
        new = {r.index: Index(r.index.name) for r in self.ranges}
        found = self.moved({i: affine(j) for i, j in new.items()})
        found.ranges = tuple([replace(r, index=new[r.index]) for r in self.ranges])
        return found


def is_zero(a: Atom) -> bool:
    return isinstance(a, Lit) and a.value == 0


def put(s: Source, by: By) -> Source:
    """A source with values for some of its indices. NoStatements where an element would stand in an expression."""
    if isinstance(s, ElementAt):
        return put_in(s, by)
    there = [i for i in s.indices() if i in by]
    if s.index is not None and there:
        return by[there[0]]
    return substituted(s, {i: affine_part(by[i]) for i in there}) if there else s


def put_in(at: ElementAt, by: By) -> ElementAt:
    return ElementAt(at.atom, tuple([put(x, by) for x in at.subscripts]))


def affine_part(s: Source) -> Affine:
    """A source that is an expression of indices."""
    if isinstance(s, ElementAt):
        raise NoStatements("a place that is read from whole numbers stands in an expression")
    return s


# ---------------------------------------------------------------- statements as they are in the program

def statement_of(e: Equation, active: set[Atom], made: Mapping[Atom, Equation]) -> Statement:
    """An equation that is linear in active values, among those that have `made` others. NoStatements where it is no sum over a
    box."""
    e = on_numbers(e, made)
    op = e.op
    if not isinstance(op, Comprehension):
        raise NoStatements("a value is in a loop, or made by an operation on matrices", e.span)
    if op.reduction not in ("=", "+") or may_meet(op):
        raise NoStatements("several points write one element", e.span)
    found = Statement(e.outs[0], op.ranges, op.guards, tuple([element(s, e) for s in op.write]), span=e.span)
    if (start := op.start(e)) in active:
        found.start, found.assigned = start, op.reduction == "="
    params = [Param(p.var, f"x{k}") for k, p in enumerate(op.body.params)]
    places = {p.name: element(s, e) for p, s in zip(params, op.sources, strict=True)}
    own = {p.name: p.var for p in params if isinstance(s := places[p.name], ElementAt) and s.atom in active}
    if not own:
        return found
    body = derivatives.gradient(replace(op.body, params=tuple(params)), [*own], None, "reverse")
    body = prune(replace(body, results=tuple([r for r in body.results if r.wrt])))
    if not {*own.values()}.isdisjoint(a for x in body.equations for a in x.args):
        raise NoStatements("a statement is not linear", e.span)
    env: dict[Atom, Atom] = {p.var: found.source(places[p.name]) for p in params if p.name not in own}
    for x in body.equations:
        found.append(x.substituted(env))
    for r in body.results:
        if not is_zero(r.atom):
            at = places[r.wrt[0]]
            assert isinstance(at, ElementAt)
            found.add(at, env.get(r.atom, r.atom))
    return found


def on_numbers(e: Equation, made: Mapping[Atom, Equation]) -> Equation:
    """An operation on numbers as a comprehension of one point, in which are the conditions that it asks."""
    if e.op.tensors or e.op is DUP:
        return e
    lines = [e]
    for line in lines:
        lines += [made[a] for a in line.args if isinstance(a, Var) and a.truth]
    lines = [*dict.fromkeys(reversed(lines))]
    whole = {out for line in lines for out in line.outs}
    inner: dict[Atom, Var] = {a: Var(f"x{k}") for k, a in enumerate(dict.fromkeys(
        a for line in lines for a in line.args if isinstance(a, Var) and a not in whole))}
    env: dict[Atom, Atom] = {out: Var(out.name, out.temp, out.truth) for out in whole}
    env.update(inner)
    body = Program(tuple([Param(v, v.name or "") for v in inner.values()]), tuple([x.substituted(env) for x in lines]),
                   (Result("z", env[e.outs[0]]),))
    op = Comprehension(sources=tuple([Read(k, ()) for k in range(len(inner))]), body=body)
    return Equation(e.outs, op, tuple(inner), e.span)


def element(s: Subscript, e: Equation) -> Source:
    """A source of an equation's body, or a subscript, with what it reads itself."""
    return ElementAt(e.args[s.arg], tuple([element(x, e) for x in s.subscripts])) if isinstance(s, Read) else s


# ---------------------------------------------------------------- one statement into another

def linear_statements(program: Program, wrt: Sequence[str], rows: Sequence[Var], of: Sequence[Atom],
                      stages: list[Var] | None = None) -> tuple[list[Statement], list[Equation]]:
    """The values `of` as sums of elements of the inputs in `wrt`, in which they are linear, called `rows`; and equations of what
    no input in `wrt` goes into. NoStatements where there are none.

    A value that is a sum and read at places that indices do not say goes into `stages`, if given: reads of it stay, and it has
    statements as the rows have.
    """
    active = active_values(program, wrt)
    passive, whole = Builder(), StatementSet()
    passive.equations = [e for e in program.equations if active.isdisjoint(e.outs)]
    for row, value in zip(rows, of, strict=True):
        if value in active:
            ranges, here = every_element(row.shape)
            whole.enter(Statement(row, ranges, (), here, terms={ElementAt(value, here): Lit(1.0)}))
    of_value = definitions(program.equations)
    for e in reversed(program.equations):
        made = [out for out in e.outs if out in active]
        read = [s for s in whole if any(at.atom in made for at in s.terms)]
        if read:
            form = statement_of(e, active, of_value)
            kept = cleared(passive, e, filled(passive, form.out.shape, 1.0)) if form.assigned else None
            for s in read:
                whole.remove(s)
                for each in resolved(s, form, kept, stages is not None):
                    whole.enter(each)
            if stages is not None and any(at.atom is form.out for s in whole for at in s.terms):
                stages.append(form.out)
                for each in stage(form, kept):
                    whole.enter(each)
    return [s for s in whole if s.terms], passive.equations


class StatementSet:
    """Statements; those that write the same elements over equal boxes are one."""

    def __init__(self) -> None:
        self.of: dict[object, Statement] = {}

    def __iter__(self) -> Iterator[Statement]:
        return iter(list(self.of.values()))

    def remove(self, s: Statement) -> None:
        del self.of[place_key(s)]

    def enter(self, s: Statement) -> None:
        if any(g.number is not None and g.number < 0 for g in s.guards):
            return
        s = settled(s)
        there = self.of.setdefault(place_key(s), s)
        if there is not s:
            there.multiply(Lit(1.0), s, onto_box(s, there))
        if len(self.of) > MOST_STATEMENTS:
            raise NoStatements("values are sums of sums in too many ways")


def settled(s: Statement) -> Statement:
    """The statement over ranges that begin with 0 and have in them what guards say of single indices."""
    ranges, guards = {r.index: r for r in s.ranges}, list[Affine]()
    for g in s.guards:
        here = [i for i in g.indices() if i in ranges]
        steps = slope(g, here[0]).number if len(here) == 1 else None
        if steps not in (1, -1) or here[0] in (rest := without(g, here[0])).indices():
            guards.append(g)
        elif steps == 1:
            ranges[here[0]] = replace(ranges[here[0]], low=greatest(ranges[here[0]].low, -rest))
        else:
            ranges[here[0]] = replace(ranges[here[0]], high=least(ranges[here[0]].high, rest + 1))
    s.guards, s.ranges = tuple(guards), tuple(ranges.values())
    new = {r.index: Index(r.index.name) for r in s.ranges if r.low.number != 0}
    if new:
        ranges, s = {r.index: r for r in s.ranges}, s.moved({i: affine(j) + ranges[i].low for i, j in new.items()})
        s.ranges = tuple([replace(r, index=new[i], low=affine(0), high=r.high - r.low) if i in new else r
                          for i, r in ranges.items()])
    s.guards = needed_guards(s.guards, s.ranges)
    return s


def onto_box(s: Statement, other: Statement) -> dict[Index, Affine]:
    """The indices of a statement over an equal box."""
    return {r.index: affine(q.index) for r, q in zip(s.ranges, other.ranges, strict=True)}


def box_key(s: Statement) -> object:
    """A key, equal for statements over equal boxes."""
    by = numbered(s)
    return tuple([(r.low, r.high) for r in s.ranges]), tuple([put(g, by) for g in s.guards])


def place_key(s: Statement) -> object:
    """A key, equal for statements that write the same elements over equal boxes."""
    return s.out, box_key(s), tuple([put(x, numbered(s)) for x in s.write])


def numbered(s: Statement) -> dict[Index, Affine]:
    """Numbers in the place of indices, as names that no size has."""
    return {r.index: affine(f" {k}") for k, r in enumerate(s.ranges)}


def resolved(s: Statement, form: Statement, kept: Atom | None, staged: bool = False) -> list[Statement]:
    """A statement without reads of what another one makes, as one or several; `kept` is 1 where that leaves elements as they
    were, else 0. Where it is `staged`, reads stay that cannot be resolved."""
    found = [s]
    for at in [at for at in s.terms if at.atom is form.out]:
        coefficient = s.terms.pop(at)
        if form.terms:
            composed = next((c for c in (made(s, at, coefficient, form) for made in (by_inner, by_outer)) if c is not None), None)
            if composed is None and staged:
                s.terms[at] = coefficient
                continue
            if composed is None:
                raise NoStatements("a sum is read at places that indices do not say", form.span)
            found += [composed] if composed is not s else []
        if form.start is not None:
            factor = coefficient if kept is None else s.times(coefficient, s.source(ElementAt(kept, at.subscripts)))
            s.add(ElementAt(form.start, at.subscripts if form.start.shape else ()), factor)
    return found


def stage(form: Statement, kept: Atom | None) -> Iterator[Statement]:
    """The statements of a sum that stays a value: what it starts from, where it is `kept`, and what is added."""
    if form.start is not None:
        ranges, here = every_element(form.out.shape)
        start = Statement(form.out, ranges, (), here, span=form.span)
        start.add(ElementAt(form.start, here if form.start.shape else ()),
                  Lit(1.0) if kept is None else start.source(ElementAt(kept, here)))
        yield start
    yield replace(form, start=None, assigned=False)


def by_inner(s: Statement, at: ElementAt, coefficient: Atom, form: Statement) -> Statement | None:
    """coefficient · element with what the element is the sum of, whose indices are said by the subscripts of the read: in the
    statement itself where one point of the sum goes into each of its own, else over more indices."""
    form = form.renamed()
    said = solved(form.write, at.subscripts, form)
    try:
        inner = None if said is None else form.alone(said[0], Lit(1.0))[0]
    except NoStatements:
        return None
    if said is None or inner is None:
        return None
    guards = needed_guards((*s.guards, *inner.guards, *said[1]), (*s.ranges, *inner.ranges))
    into = s
    if inner.ranges or not {*guards} <= {*s.guards}:
        into = Statement(s.out, (*s.ranges, *inner.ranges), guards, s.write, span=form.span)
        coefficient = into.take(s, {}).get(coefficient, coefficient)
    into.multiply(coefficient, form, said[0])
    return into


def by_outer(s: Statement, at: ElementAt, coefficient: Atom, form: Statement) -> Statement | None:
    """coefficient · element where the subscripts that the sum is written at say the indices of the statement."""
    form = form.renamed()
    said = solved(at.subscripts, form.write, s, form.out)
    if said is None:
        return None
    try:
        into, coefficient = s.alone(said[0], coefficient)
    except NoStatements:
        return None
    into.ranges = (*form.ranges, *into.ranges)
    into.guards = (*into.guards, *form.guards, *said[1])
    into.multiply(coefficient, form, {})
    return into


Indices = tuple[dict[Index, Source], list[Affine]]
"""Values of indices, and guards that say that they are in their ranges."""


def solved(place: Place, values: Place, s: Statement, tensor: Var | None = None) -> Indices | None:
    """The indices of a statement for which a place in it is the element with these subscripts; None where subscripts do not say
    them."""
    by, guards = dict[Index, Source](), list[Affine]()
    ranges = {r.index: r for r in s.ranges}
    for x, y, extent in zip(place, values, (tensor or s.out).shape, strict=True):
        if isinstance(x, ElementAt):
            return None
        new = [i for i in x.indices() if i in ranges and i not in by]
        if not new:
            if not (isinstance(here := put(x, by), Affine) and isinstance(y, Affine)):
                return None
            guards += [] if here == y else [here - y, y - here]
            continue
        (i, *others), rest = new, without(x, new[0])
        steps = slope(x, i).number
        if others or steps not in (1, -1) or i in rest.indices():
            return None
        r, whole = ranges[i], x.index is i
        full = whole and r.low.number == 0 and r.high == extent
        if isinstance(y, ElementAt):
            if not full:
                return None
            by[i] = y
            continue
        before = put(rest, by)
        if isinstance(before, ElementAt):
            return None
        by[i] = here = (y - before) * steps
        guards += [] if full else [here - r.low, r.high - 1 - here]
    return by, guards
