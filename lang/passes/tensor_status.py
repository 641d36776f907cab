"""The status of a comprehension: the greatest level that its body meets at any point of the domain.

It is a comprehension over the same domain, with reduction "max" and the conditions of the body's rows as its body. A minimum or
maximum over elements has a kink where two or more of them are the extremum. As with scalars, what reaches no result does not
count: whether an element does is a tensor beside it where some body chooses between elements, or where elements are
overwritten; nobody else pays for it.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from adcli.lang.ir import DOMAIN, JUMP, KINK, Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.comprehension import Comprehension, Read
from adcli.lang.ir.elementwise import elementwise, emit, every_element, filled, shape_of
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.passes.comprehension_rules import Body, count_ties, determined
from adcli.lang.passes.guards import Guard, flag, restrict, truth
from adcli.lang.passes.reverse import active_values
from adcli.lang.passes.status import Levels, Use, conditions, hidden, reached

DIV = TABLE["div"]


class Inside:
    """What is inside of a comprehension `e` that reaches a result: its body, walked backwards."""

    def __init__(self, b: Builder, e: Equation, use: Use) -> None:
        assert isinstance(e.op, Comprehension)
        self.b, self.e, self.op, self.use = b, e, e.op, use
        self.body = Body(e, e.op.body.equations)
        start: Guard = () if use.live is None else ((_truth(self.body.read(use.live, self.op.write) != 0), True),)
        self.uses: dict[Atom, Use] = {e.op.body.results[0].atom: Use(start)}
        still = unmoved(e)
        self.equations = [r for r in reached(self.body.b, e.op.body.equations, self.uses) if r.equation not in still]

    def note(self, levels: Levels, active: Collection[Atom]) -> None:
        """Note the levels that are met anywhere in the domain, and ties."""
        inner = Levels(self.body.b)
        conditions(inner, self.equations, self.active(active))
        for operand, guard in hidden(self.equations, set()):
            inner.note(DOMAIN, self.body.b.expr(operand) != self.body.b.expr(operand), guard)
        worst = self.greatest(inner.worst())
        if worst is not None:
            levels.note_number(worst, self.use.guard)
        explained = None if inner.explained is None else self.greatest(select(inner.explained, 1, 0).atom)
        if explained is not None:
            levels.explain(levels.under(explained > 0, self.use.guard))
        if self.op.reduction in ("min", "max"):
            self.note_ties(levels)

    def active(self, outside: Collection[Atom]) -> set[Atom]:
        """The active values in the body, where those outside are."""
        own = [self.op.body.params[k].name for k, s in self.op.reads() if self.e.args[s.arg] in outside]
        return active_values(self.op.body, own)

    def note_ties(self, levels: Levels) -> None:
        count, live = count_ties(self.b, self.e)[1], self.use.live
        if not self.op.shape:
            levels.note(KINK, self.b.expr(count) > 1, self.use.guard)
            return
        seen = count if live is None else elementwise(self.b, lambda n, x: select(x != 0, n, 0), count, live).atom
        levels.note(KINK, over_elements(self.b, seen, lambda n: n) > 1, self.use.guard)

    def greatest(self, value: Atom) -> Expr | None:
        """The greatest of a value in the body over the domain; None where it is 0 everywhere."""
        program = self.body.program(value)
        result = program.results[0].atom
        return None if isinstance(result, Lit) and result.value == 0 else self.reduced(program, "max")

    def least(self, value: Atom) -> Atom:
        """The least of a value in the body over the domain."""
        return self.reduced(self.body.program(value), "min").atom

    def reduced(self, program: Program, reduction: str) -> Expr:
        op = replace(self.op, sources=tuple(self.body.sources), body=program, write=(), shape=(), reduction=reduction, onto=None,
                     agreements=())
        return emit(self.b, op, tuple(self.body.args))

    def operands(self) -> Iterator[tuple[Var, Use]]:
        """What the comprehension reads, each with when it reaches a result through it."""
        if self.op.onto is not None and isinstance(start := self.e.args[self.op.onto], Var):
            yield start, self.started()
        for k, s in self.op.reads():
            atom, use = self.e.args[s.arg], self.uses.get(self.op.body.params[k].var)
            if use is not None and isinstance(atom, Var) and not atom.integer:
                yield atom, self.read(s, atom, use.guard)

    def read(self, s: Read, atom: Var, guard: Guard) -> Use:
        """When elements reach a result through one read, which counts under a guard in the body."""
        if not guard:
            return Use(self.use.guard)
        value = self.body.program(select(self.body.b.expr(truth(self.body.b, guard)), 1, 0).atom)
        op = replace(self.op, sources=tuple(self.body.sources), body=value, write=s.subscripts, shape=shape_of(atom), onto=None,
                     reduction="=" if determined(self.op.ranges, s.subscripts) else "+", agreements=())
        live = emit(self.b, op, tuple(self.body.args))
        if atom.shape:
            return Use(self.use.guard, live.atom)
        both = restrict(self.b, self.use.guard, ((_truth(live != 0), True),))
        assert both is not None
        return Use(both)

    def started(self) -> Use:
        """When elements that the result starts from reach a result: not where they are overwritten."""
        if self.op.reduction != "=" or not self.op.shape:
            return self.use
        nothing = Program((), (), (Result("z", Lit(0.0)),))
        everywhere = filled(self.b, self.op.shape, 1.0) if self.use.live is None else self.use.live
        cleared = replace(self.op, sources=(), body=nothing, onto=len(self.e.args), agreements=())
        return Use(self.use.guard, emit(self.b, cleared, (*self.e.args, everywhere)).atom)


def unmoved(e: Equation) -> set[Equation]:
    """The steps and kinks in the body of a comprehension whose operands are whole numbers that no input moves, as i of i >= 1:
    between those there is nothing to jump over."""
    op = e.op
    assert isinstance(op, Comprehension)
    fixed: set[Atom] = set()
    for p, s in zip(op.body.params, op.sources, strict=True):
        a = e.args[s.arg] if isinstance(s, Read) else None
        if a is None or (isinstance(a, Var) and a.integer):
            fixed.add(p.var)
    found = set()
    for line in op.body.equations:
        halved = line.op is DIV and isinstance(line.args[1], Lit) and line.args[1].value != 0
        plain = halved or all(status.level <= JUMP for status in line.op.status)
        if plain and all(isinstance(a, Lit) or a in fixed for a in line.args):
            fixed.update(line.outs)
            found.add(line)
    return found


def either_live(b: Builder, first: Use, second: Use) -> Use:
    """When a tensor reaches a result in one way or the other, at least one of which is by elements."""
    if first.guard == second.guard:
        if first.live is None or second.live is None:
            return Use(first.guard)
        return Use(first.guard, elementwise(b, _added, first.live, second.live).atom)
    return Use((), elementwise(b, _added, _live(b, first), _live(b, second)).atom)


def _live(b: Builder, use: Use) -> Atom:
    """A use with its guard in the elements; a number stands for all of them."""
    if use.live is None:
        return flag(b, use.guard)
    if not use.guard:
        return use.live
    return elementwise(b, lambda x, g: select(g != 0, x, 0), use.live, flag(b, use.guard)).atom


def _added(x: Expr, y: Expr) -> Expr:
    return x + y


def any_nan(b: Builder, tensor: Atom) -> Expr:
    """Whether an element of a tensor is NaN."""
    return over_elements(b, tensor, lambda x: select(x != x, 1, 0)) > 0


def over_elements(b: Builder, tensor: Atom, function: Callable[[Expr], Expr]) -> Expr:
    """The greatest value of a function of the elements."""
    ranges, here = every_element(shape_of(tensor))
    x, inner = Var("x"), Builder()
    value = function(inner.expr(x)).atom
    body = Program((Param(x, "x"),), tuple(inner.equations), (Result("z", value),))
    op = Comprehension(ranges=ranges, write=(), shape=(), reduction="max", sources=(Read(0, here),), body=body)
    return emit(b, op, (tensor,))


def _truth(x: Expr) -> Var:
    assert isinstance(x.atom, Var)
    return x.atom
