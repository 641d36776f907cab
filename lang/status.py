"""The status of an evaluation as one more output of the program.

Each row of the table says where it is not smooth, as conditions in the IR. This pass walks a program backwards with the
condition under which each equation reaches a result (an arm that is not taken does not count), and emits the worst level
that any of them meets: 0 smooth … 6 indeterminate, in the order of `ir.LEVELS`.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from lang.build import Builder, Expr, apply
from lang.collector import paused
from lang.guards import Guard, either, restrict, truth
from lang.ir import DOMAIN, INDETERMINATE, Atom, Equation, Lit, Program, Result, Status, Var, substitute
from lang.names import Names
from lang.primitives import TABLE
from lang.reverse import active_values

SELECT = TABLE["select"]


class _Levels:
    """For each level the one truth value that says whether it was met."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.met: dict[int, Expr] = {}
        self.explained: Expr | None = None

    def note(self, level: int, condition: Expr, guard: Guard, nan: bool = False) -> None:
        if guard:
            condition = self.b.expr(truth(self.b, guard)) & condition
        self.met[level] = condition if level not in self.met else self.met[level] | condition
        if nan:
            self.explained = condition if self.explained is None else self.explained | condition

    def worst(self) -> Atom:
        value: Expr = self.b.expr(Lit(0.0))
        for level in sorted(self.met):
            value = apply(SELECT, self.met[level], level, value)
        return value.atom


@paused()
def with_status(program: Program, primal: Program, wrt: Collection[str]) -> Program:
    """`program`, a derivative of `primal` with the same inputs first, with its status as a last result."""
    b, copy = Builder(), _instantiate(primal, program)
    b.equations.extend(program.equations)
    b.equations.extend(copy.equations)
    levels = _Levels(b)
    active = active_values(copy, wrt)
    equations = list(reached(b, copy))
    for e, guard in equations:
        for status in e.op.status:
            if status.needs is None or e.args[status.needs] in active:
                levels.note(status.level, _condition(b, e, status), guard, status.nan)
    for value, guard in nan_checks(copy, equations):
        levels.note(DOMAIN, b.expr(value) != b.expr(value), guard)
    _indeterminate(b, program, primal, levels)
    worst = Result(Names.of(program).fresh("status"), levels.worst())
    return Program(program.params, tuple(b.equations), (*program.results, worst), program.source)


def reached(b: Builder, program: Program) -> Iterator[tuple[Equation, Guard]]:
    """The equations that reach a result, last first, each with the condition under which it does."""
    guards: dict[Atom, Guard] = {r.atom: () for r in program.results}
    for e in reversed(program.equations):
        uses = [guards[o] for o in e.outs if o in guards]
        if not uses:
            continue
        guard = uses[0] if len(uses) == 1 else either(b, uses[0], uses[1])
        yield e, guard
        for i, a in enumerate(e.args):
            if isinstance(a, Var):
                more: Guard = ((_truth(e.args[0]), i == 1),) if e.op is SELECT and i else ()
                use = restrict(b, guard, more)
                if use is not None:
                    guards[a] = either(b, guards[a], use) if a in guards else use


def nan_checks(program: Program, equations: Iterable[tuple[Equation, Guard]]) -> Iterator[tuple[Var, Guard]]:
    """The values that must be looked at so that no NaN goes unseen: results, and operands of what can hide a NaN."""
    looked: set[Atom] = set()
    for r in program.results:
        if isinstance(r.atom, Var) and r.atom not in looked:
            looked.add(r.atom)
            yield r.atom, ()
    for e, guard in equations:
        if e.op.hides_nan and e.op is not SELECT:
            for a in e.args:
                if isinstance(a, Var) and not a.truth and a not in looked:
                    if not guard:
                        looked.add(a)
                    yield a, guard


def _condition(b: Builder, e: Equation, status: Status) -> Expr:
    return status.condition(b.expr(e.outs[0]), *[b.expr(a) for a in e.args])


def _indeterminate(b: Builder, program: Program, primal: Program, levels: _Levels) -> None:
    """A derivative that is NaN although its value is a number, where no row's convention makes it so."""
    values = {r.name: r.atom for r in primal.results}
    outputs = {r.name: r.atom for r in program.results}
    surprise: Expr | None = None
    for r in program.results:
        if r.name not in values and isinstance(r.atom, Var):
            missing = b.expr(r.atom) != b.expr(r.atom)
            for name in values if r.of is None else [r.of]:
                value = outputs.get(name)
                if isinstance(value, Var):
                    missing = missing & (b.expr(value) == b.expr(value))
            surprise = missing if surprise is None else surprise | missing
    if surprise is not None:
        levels.note(INDETERMINATE, surprise if levels.explained is None else surprise & ~levels.explained, ())


def _instantiate(primal: Program, onto: Program) -> Program:
    """A copy of the primal with fresh variables, over the inputs of `onto`; simplification makes it one with the original."""
    params = onto.params[:len(primal.params)]
    env: dict[Atom, Atom] = {p.var: q.var for p, q in zip(primal.params, params, strict=True)}
    env.update((o, Var(o.name, True, o.truth)) for e in primal.equations for o in e.outs)
    return replace(substitute(primal, env), params=params)


def _truth(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom

