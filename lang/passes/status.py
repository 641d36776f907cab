"""The status of an evaluation as one more output of the program.

Each row of the table says where it is not smooth, as conditions in the IR. This pass walks a program backwards with the
condition under which each equation reaches a result (an arm that is not taken does not count), and emits the worst level
that any of them meets: 0 smooth … 6 indeterminate, in the order of `ir.LEVELS`. What a comprehension meets is a comprehension
again, a maximum over the same domain: see lang/passes/tensor_status.py.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from adcli.lang.ir import DOMAIN, INDETERMINATE, Atom, Equation, Lit, Program, Result, Status, Var, substitute
from adcli.lang.ir.build import Builder, Expr, apply
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.elementwise import shape_of
from adcli.lang.ir.gc import paused
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes.guards import Guard, either, restrict, truth
from adcli.lang.passes.reverse import active_values

if TYPE_CHECKING:
    from adcli.lang.passes.tensor_status import Inside

SELECT = TABLE["select"]


class Use(NamedTuple):
    """When a value reaches a result; of a tensor, `live` may say for each element whether it does (not 0) or not."""

    guard: Guard = ()
    live: Atom | None = None


class Reached(NamedTuple):
    """An equation that reaches a result, and when; a comprehension with what is inside of it."""

    equation: Equation
    use: Use
    inside: Inside | None = None


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
        self.numbers.append(apply(SELECT, self.b.expr(truth(self.b, guard)), level, 0.0) if guard else level)

    def explain(self, condition: Expr) -> None:
        self.explained = condition if self.explained is None else self.explained | condition

    def under(self, condition: Expr, guard: Guard) -> Expr:
        return self.b.expr(truth(self.b, guard)) & condition if guard else condition

    def worst(self) -> Atom:
        value: Expr = self.b.expr(Lit(0.0))
        for level in sorted(self.met):
            value = apply(SELECT, self.met[level], level, value)
        for number in self.numbers:
            value = apply(SELECT, number > value, number, value)
        return value.atom


@paused()
def with_status(program: Program, primal: Program, wrt: Collection[str]) -> Program:
    """`program`, a derivative of `primal` with the same inputs first, with its status as a last result."""
    b, copy = Builder(), _instantiate(primal, program)
    b.equations.extend(program.equations)
    b.equations.extend(copy.equations)
    levels = Levels(b)
    equations = list(reached(b, copy.equations, {r.atom: Use() for r in copy.results}))
    conditions(levels, equations, active_values(copy, wrt))
    for value in dict.fromkeys(r.atom for r in copy.results if isinstance(r.atom, Var)):
        levels.note(DOMAIN, is_nan(b, value), ())
    for operand, guard in hidden(equations, {r.atom for r in copy.results}):
        levels.note(DOMAIN, b.expr(operand) != b.expr(operand), guard)
    _indeterminate(b, program, primal, levels)
    worst = Result(Names.of(program).fresh("status"), levels.worst())
    return Program(program.params, tuple(b.equations), (*program.results, worst), program.source)


def reached(b: Builder, equations: Collection[Equation], uses: dict[Atom, Use]) -> Iterator[Reached]:
    """The equations that reach a result, last first, each with the condition under which it does. `uses` has the results to
    begin with, and in the end all values."""
    for e in reversed([*equations]):
        found = [uses[o] for o in e.outs if o in uses]
        if not found:
            continue
        use = found[0] if len(found) == 1 else joined(b, found[0], found[1])
        if isinstance(e.op, Comprehension):
            from adcli.lang.passes.tensor_status import Inside
            inside = Inside(b, e, use)
            yield Reached(e, use, inside)
            operands = inside.operands()
        else:
            yield Reached(e, use)
            operands = _operands(b, e, use)
        for a, more in operands:
            uses[a] = joined(b, uses[a], more) if a in uses else more


def _operands(b: Builder, e: Equation, use: Use) -> Iterator[tuple[Var, Use]]:
    """The operands of a row of the table, each with when it reaches a result through it."""
    for i, a in enumerate(e.args):
        if isinstance(a, Var):
            more: Guard = ((_truth(e.args[0]), i == 1),) if e.op is SELECT and i else ()
            guard = restrict(b, use.guard, more)
            if guard is not None:
                yield a, Use(guard, use.live)


def joined(b: Builder, first: Use, second: Use) -> Use:
    """When a value reaches a result in one way or the other."""
    if first.live is None and second.live is None:
        return Use(either(b, first.guard, second.guard))
    if Use() in (first, second):
        return Use()
    from adcli.lang.passes.tensor_status import either_live
    return either_live(b, first, second)


def conditions(levels: Levels, equations: Iterable[Reached], active: Collection[Atom]) -> None:
    """Note what the equations meet of the conditions of their rows."""
    for e, use, inside in equations:
        if inside is not None:
            inside.note(levels, active)
        for status in e.op.status:
            if status.needs is None or e.args[status.needs] in active:
                levels.note(status.level, condition(levels.b, e, status), use.guard, status.nan)


def hidden(equations: Iterable[Reached], looked: set[Atom]) -> Iterator[tuple[Var, Guard]]:
    """Operands of what can hide a NaN, which must be looked at so that none goes unseen; not those `looked` at already."""
    for e, use, _ in equations:
        if e.op.hides_nan and e.op is not SELECT:
            for a in e.args:
                if isinstance(a, Var) and not a.truth and a not in looked:
                    if not use.guard:
                        looked.add(a)
                    yield a, use.guard


def condition(b: Builder, e: Equation, status: Status) -> Expr:
    met: Expr = status.condition(b.expr(e.outs[0]), *[b.expr(a) for a in e.args])
    return met


def is_nan(b: Builder, value: Atom) -> Expr:
    """Whether a value, or any element of it, is NaN."""
    if shape_of(value):
        from adcli.lang.passes.tensor_status import any_nan
        return any_nan(b, value)
    return b.expr(value) != b.expr(value)


def _indeterminate(b: Builder, program: Program, primal: Program, levels: Levels) -> None:
    """A derivative that is NaN although its value is a number, where no row's convention makes it so."""
    values = {r.name: r.atom for r in primal.results}
    outputs = {r.name: r.atom for r in program.results}
    surprise: Expr | None = None
    for r in program.results:
        if r.name not in values and isinstance(r.atom, Var):
            missing = is_nan(b, r.atom)
            for name in values if r.of is None else [r.of]:
                value = outputs.get(name)
                if isinstance(value, Var):
                    missing = missing & (~is_nan(b, value) if shape_of(value) else b.expr(value) == b.expr(value))
            surprise = missing if surprise is None else surprise | missing
    if surprise is not None:
        levels.note(INDETERMINATE, surprise if levels.explained is None else surprise & ~levels.explained, ())


def _instantiate(primal: Program, onto: Program) -> Program:
    """A copy of the primal with fresh variables, over the inputs of `onto`; simplification makes it one with the original."""
    params = onto.params[:len(primal.params)]
    env: dict[Atom, Atom] = {p.var: q.var for p, q in zip(primal.params, params, strict=True)}
    env.update((o, Var(o.name, True, o.truth, o.shape)) for e in primal.equations for o in e.outs)
    return replace(substitute(primal, env), params=params)


def _truth(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom
