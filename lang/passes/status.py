"""The status of an evaluation as one more output of the program.

Each row of the table says where it is not smooth, as conditions in the IR. This pass walks a program backwards with the
condition under which each equation reaches a result (an arm that is not taken does not count), and emits the worst level
that any of them meets: 0 smooth … 6 indeterminate, in the order of `ir.LEVELS`.

What a comprehension meets is a comprehension again, the greatest level that its body meets at any point of the domain; a minimum
or maximum over elements has a kink where two or more of them are the extremum. Whether an element reaches a result is a tensor
beside it where some body chooses between elements, or where elements are overwritten; nobody else pays for it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property, reduce
from importlib import import_module
from operator import and_, or_
from typing import Any, NamedTuple

from adcli.lang.ir import (
    DOMAIN,
    INDETERMINATE,
    JUMP,
    POLE,
    SINGULAR,
    Atom,
    Equation,
    Lit,
    Primitive,
    Program,
    Result,
    Status,
    Var,
    has_tensors,
    operations,
    shape_of,
)
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE, abs_, max_, select
from adcli.lang.ir.records import paused
from adcli.lang.modes.guards import Guard, either, restrict, truth
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.rule_programs import Rule, Statics, by_operation, map_rule, statics, status_rule
from adcli.lang.simplify.simplify import Folder

SELECT, STOP = TABLE["select"], TABLE["stop"]
of_tensors = cache(lambda: import_module(f"{__name__}_tensors"))
"""The part for operations on tensors, which programs of scalars never load."""


class Liveness(NamedTuple):
    """When a value reaches a result; of a tensor, `live` may say for each element whether it does (not 0) or not. It is `still`
    where it does so only through `stop`, which has no derivative: nothing is rough there, but NaN and poles count."""

    guard: Guard = ()
    live: Atom | None = None
    still: bool = False


ALWAYS = Liveness()


class Reached(NamedTuple):
    """An equation that reaches a result, and when; an operation on tensors with what is inside of it (status_tensors.py)."""

    equation: Equation
    use: Liveness
    inside: Any = None


class Levels:
    """For each level the one truth value that says whether it was met; and levels that are numbers, from comprehensions."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.met: dict[int, Expr] = {}
        self.numbers: list[Expr] = []
        self.explained: Expr | None = None

    def note(self, level: int, condition: Expr, guard: Guard, nan: bool = False) -> None:
        condition = self.under(condition, guard)
        self.met[level] = condition if level not in self.met else self.met[level] | condition
        if nan:
            self.explain(condition)

    def note_number(self, level: Expr, guard: Guard) -> None:
        self.numbers.append(select(self.b.expr(truth(self.b, guard)), level, 0) if guard else level)

    def explain(self, condition: Expr) -> None:
        self.explained = condition if self.explained is None else self.explained | condition

    def under(self, condition: Expr, guard: Guard) -> Expr:
        return self.b.expr(truth(self.b, guard)) & condition if guard else condition

    def atoms(self) -> list[Atom]:
        """The truth values and levels that were met."""
        return [x.atom for x in (*self.met.values(), *self.numbers, *([] if self.explained is None else [self.explained]))]

    def over(self, env: Mapping[Atom, Atom]) -> None:
        """Say what was met in terms of other variables."""
        def other(x: Expr) -> Expr:
            return self.b.expr(env.get(x.atom, x.atom))
        self.met = {level: other(x) for level, x in self.met.items()}
        self.numbers = [other(x) for x in self.numbers]
        self.explained = None if self.explained is None else other(self.explained)

    def worst(self) -> Atom:
        value: Expr = self.b.expr(Lit(0.0))
        for level in sorted(self.met):
            value = select(self.met[level], level, value)
        for number in self.numbers:
            value = select(number > value, number, value)
        return value.atom


@paused()
def with_status(program: Program, primal: Program, wrt: Collection[str]) -> Program:
    """`program`, a derivative of `primal` with the same inputs first, with its status as a last result. It states no problem."""
    b = Builder()
    levels, copy = Levels(b), _Copy(primal, program, b)
    with copy.taken_over(levels):
        uses = dict.fromkeys([r.atom for r in primal.results], ALWAYS)
        equations = [*reached(b, primal.equations, uses, is_looked_at)] if any_noted(primal) else []
        conditions(levels, equations, activity(primal, wrt, program) if equations else Activity(set(), set()))
    results = {r.atom: copy.result(r) for r in primal.results if isinstance(r.atom, Var)}
    for value in dict.fromkeys(results.values()):
        levels.note(DOMAIN, is_nan(b, value), ())
    with copy.taken_over(levels):
        note_hidden(levels, equations, {*results})
    values = {r.name: value for r in primal.results if isinstance(r.atom, Var) and isinstance(value := results[r.atom], Var)}
    not_finite(b, program, values, levels)
    worst = Result(Names.of(program).fresh("status"), levels.worst())
    return replace(program, equations=(*program.equations, *copy.equations(), *b.equations), results=(*program.results, worst),
                   problem=None)


class _Copy:
    """The primal with fresh variables over the inputs of its derivative, as far as conditions need it: they are written in the
    primal's own variables, and taken over to these. Where the derivative has a result of the primal, that is it."""

    def __init__(self, primal: Program, onto: Program, b: Builder) -> None:
        self.primal, self.b = primal, b
        self.env: dict[Atom, Atom] = {p.var: q.var for p, q in zip(primal.params, onto.params[:len(primal.params)], strict=True)}
        self.results = {r.name: r.atom for r in onto.results if r.of is None}
        self.needed: set[Atom] = set()

    @cached_property
    def computed(self) -> set[Var]:
        """The values that the primal computes: looked at only where a condition reads something."""
        return {o for e in self.primal.equations for o in e.outs}

    def take(self, atoms: Collection[Atom]) -> None:
        """Values of the primal are needed."""
        if not atoms:
            return
        more = self.computed.intersection(atoms)
        self.needed |= more
        self.env.update((o, Var(o.name, True, o.truth, o.shape, False, o.whole)) for o in more if o not in self.env)

    def result(self, r: Result) -> Atom:
        """A result of the primal."""
        there = self.results.get(r.name)
        if isinstance(there, Var):
            return there
        self.take([r.atom])
        return self.env.get(r.atom, r.atom)

    @contextmanager
    def taken_over(self, levels: Levels) -> Iterator[None]:
        """Take over the equations written within the block."""
        start = len(self.b.equations)
        yield
        written = self.b.equations[start:]
        self.take((*levels.atoms(), *[a for e in written for a in e.args]))
        self.b.equations[start:] = [e.substituted(self.env) for e in written]
        levels.over(self.env)

    def equations(self) -> list[Equation]:
        """The equations that what has been taken needs, in order."""
        if not self.needed:
            return []
        kept = []
        for e in reversed(self.primal.equations):
            if not self.needed.isdisjoint(e.outs):
                kept.append(e)
                self.needed.update(e.args)
        self.take([o for e in kept for o in e.outs])
        return [e.substituted(self.env) for e in reversed(kept)]


# ---------------------------------------------------------------- what reaches a result, and when

def reached(b: Builder, equations: Collection[Equation], uses: dict[Atom, Liveness],
            wanted: Callable[[Equation], bool] = lambda e: True) -> Iterator[Reached]:
    """The equations that reach a result and are `wanted`, last first, each with the condition under which it does. `uses` has the
    results to begin with, and in the end all values."""
    known = uses.get
    for e in reversed([*equations]):
        outs, op = e.outs, e.op
        use = known(outs[0]) if len(outs) == 1 else next((uses[o] for o in outs if o in uses), None)
        if use is None:
            continue
        if op.tensors:
            yield from of_tensors().reached_by_elements(b, e, uses)
            continue
        if len(outs) > 1 and all(o in uses for o in outs):
            use = joined(b, uses[outs[0]], uses[outs[1]])
        if wanted(e):
            yield Reached(e, use)
        if op is SELECT or op is STOP or use.live is not None:
            enter(b, uses, operands(b, e, use))
            continue
        for a in e.args:   # as most of a long program: `enter` is called for what reaches a result in several ways only
            if type(a) is Var and (before := known(a)) is not use:
                if before is None:
                    uses[a] = use
                else:
                    enter(b, uses, [(a, use)])


def enter(b: Builder, uses: dict[Atom, Liveness], more: Iterable[tuple[Var, Liveness]]) -> None:
    """More ways in which values reach a result."""
    for a, use in more:
        before = uses.get(a)
        uses[a] = use if before is None or (before is use and use.live is None) else joined(b, before, use)


def operands(b: Builder, e: Equation, use: Liveness) -> Iterable[tuple[Var, Liveness]]:
    """The operands of a row of the table, each with when it reaches a result through it."""
    if e.op is SELECT:
        return arms(b, e, use)
    through = use._replace(still=True) if e.op is STOP else use
    return [(a, through) for a in e.args if type(a) is Var]


def arms(b: Builder, e: Equation, use: Liveness) -> Iterator[tuple[Var, Liveness]]:
    """The operands of a choice, the values under its condition."""
    for i, a in enumerate(e.args):
        if isinstance(a, Var):
            guard = restrict(b, use.guard, ((b.expr(e.args[0]).var, i == 1),) if i else ())
            if guard is not None:
                yield a, Liveness(guard, use.live, use.still)


def joined(b: Builder, first: Liveness, second: Liveness) -> Liveness:
    """When a value reaches a result in one way or the other; of a tensor by elements where one of the ways is."""
    still = first.still and second.still
    if first.live is None and second.live is None:
        return Liveness(either(b, first.guard, second.guard), None, still)
    if Liveness() in (first, second):
        return Liveness()
    return of_tensors().joined_elements(b, first, second)


# ---------------------------------------------------------------- what is met there

class Activity(NamedTuple):
    """The values that have derivatives, of this order, and those that inputs move: the inputs in `wrt`, or all where none is
    asked.
    What is behind a step function moves with nothing: where it jumps, the step function itself is at a jump."""

    active: Set[Atom]
    moving: Set[Atom]
    order: int = 0


def activity(program: Program, wrt: Collection[str], derived: Program | None = None) -> Activity:
    """The activity from the inputs in `wrt`; where there are none all inputs that are no `param` move something. The
    order is that of the results of `derived`."""
    return Activity(active_values(program, wrt),
                    active_values(program, wrt or [p.name for p in program.params if p.active], steps=False),
                    0 if derived is None else max([len(r.wrt) for r in derived.results], default=0))


def conditions(levels: Levels, equations: Iterable[Reached], known: Activity) -> None:
    """Note what the equations meet of the conditions of their rows; kinks and jumps only where something moves their operands."""
    for e, use, inside in equations:
        if inside is not None:
            inside.note(levels, known)
        still = use.still or is_of_constants(e)
        for status in possible(e.op, statics(e), len(e.args)) if e.op.static else e.op.status:
            if counts(status, e, still, known):
                levels.note(status.level, condition(levels.b, e, status), use.guard, status.nan)


def counts(status: Status, e: Equation, still: bool, known: Activity) -> bool:
    """Whether an entry of its row matters to an equation that reaches a result, or does so through `stop` alone."""
    if (still and status.level < POLE) or (status.level <= JUMP and known.moving.isdisjoint(e.args)):
        return False
    if status.order > known.order:
        return False
    return status.needs is None or e.args[status.needs] in known.active


@by_operation
def is_looked_at(op: Primitive, static: Statics, count: int) -> bool:
    """Whether there can be anything to note of an equation of a row of the table."""
    if possible(op, static, count) if op.static else op.status:
        return True
    varying = [i for i in range(count) if i not in op.static]
    return op.hides_nan and (not op.static or any(map_rule(op, i, static, count) is None for i in varying))


@cache
def possible(op: Primitive, static: Statics, count: int) -> tuple[Status, ...]:
    """The entries of a row that are not false by construction for these constants, as that of x**n is for n ≥ 0."""
    given = tuple([(i, float(x)) for i, x in static])   # conditions compare doubles, whatever was rounded to them
    return tuple([s for k, s in enumerate(op.status) if truth_by_construction(status_rule(op, k, given, count)) is not False])


def truth_by_construction(rule: Rule) -> bool | None:
    """The value of a condition that is the same at every point, where that is known."""
    folder = Folder()
    folder.lines(rule.equations)
    return folder.known.get(rule.value)


def any_noted(program: Program) -> bool:
    """Whether there can be anything to note of a program: sums and products need no look at what reaches a result."""
    some = {op for op in operations(program) if op.status or op.hides_nan}
    return has_tensors(program) or any(is_looked_at(e) for e in program.equations if e.op in some)


def is_of_constants(e: Equation) -> bool:
    """Whether an equation compares constants, which it does the same way everywhere."""
    return e.op.truth and all(isinstance(a, Lit) for a in e.args)


def condition(b: Builder, e: Equation, status: Status) -> Expr:
    met: Expr = status.condition(b.expr(e.outs[0]), *[b.expr(a) for a in e.args])
    return met


def note_hidden(levels: Levels, equations: Iterable[Reached], looked: set[Atom]) -> None:
    """Note NaN among the operands of what can hide one, so that none goes unseen; not those `looked` at already."""
    for e, use, _ in equations:
        if e.op.hides_nan and e.op is not SELECT:
            for a in hidden(e):
                if isinstance(a, Var) and not a.truth and a not in looked:
                    if not use.guard:
                        looked.add(a)
                    levels.note(DOMAIN, is_nan(levels.b, a), use.guard)


def hidden(e: Equation) -> Sequence[Atom]:
    """The operands of what can hide NaN that it can hide: where constants say what an operation is, those that it does not depend
    on, as x of x**0."""
    return e.args if not e.op.static else [a for a, is_mapped in zip(e.args, mapped_arguments(e), strict=True) if not is_mapped]


@by_operation
def mapped_arguments(op: Primitive, static: Statics, count: int) -> tuple[bool, ...]:
    """Which arguments have a map that is not zero by construction."""
    return tuple([map_rule(op, i, static, count) is not None for i in range(count)])


def is_nan(b: Builder, value: Atom) -> Expr:
    """Whether a value, or any element of it, is NaN."""
    if shape_of(value):
        return of_tensors().any_element(b, value, lambda x: x != x)
    return b.expr(value) != b.expr(value)


def size(b: Builder, value: Atom) -> Expr:
    """The absolute value, or the largest of the elements; NaN where one of them is."""
    return of_tensors().over_elements(b, value, abs_) if shape_of(value) else abs_(b.expr(value))


def not_finite(b: Builder, program: Program, values: Mapping[str, Var], levels: Levels) -> None:
    """Note derivatives of any order, of one of the outputs with these `values` or of all. Infinite beside finite values is
    singular, and NaN beside numbers is indeterminate where no row's convention makes it so."""
    sizes = cache(lambda name: size(b, values[name]))
    numbers = cache(lambda name: (x := sizes(name) if values[name].shape else b.expr(values[name])) == x)
    largest: dict[tuple[str | None, bool], Expr] = {}
    for r in program.results:
        if r.name not in values and isinstance(r.atom, Var):
            here, figure = size(b, r.atom), r.of is not None and not r.wrt   # degrees of freedom may be infinite
            largest[r.of, figure] = max_(largest[r.of, figure], here) if (r.of, figure) in largest else here
    infinite, surprises = [], []
    for (of, figure), most in largest.items():
        known = [*values] if of is None else [of] if of in values else []
        surprises.append(reduce(and_, map(numbers, known), most != most))
        if not figure:
            infinite.append(reduce(and_, [sizes(name) < math.inf for name in known], most == math.inf))
    if infinite:
        levels.note(SINGULAR, reduce(or_, infinite), ())
    if surprises:
        surprise = reduce(or_, surprises)
        levels.note(INDETERMINATE, surprise if levels.explained is None else surprise & ~levels.explained, ())


# ---------------------------------------------------------------- the inside of a comprehension
