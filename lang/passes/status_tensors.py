"""The status of operations on tensors: what reaches a result element by element, and what a comprehension meets inside.

`adcli.lang.passes.status` asks for this at the first of them.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from adcli.lang.ir import JUMP, KINK, SINGULAR, Atom, Equation, Lit, Program, Var, definitions, shape_of
from adcli.lang.ir.affine import Index, affine, least
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.primitives import TABLE, abs_, select
from adcli.lang.modes.comprehension_rules import BodyBuilder, cleared, count_ties
from adcli.lang.modes.guards import Guard, flag, restrict, truth
from adcli.lang.modes.matrix_rules import made_by, spread, whole_numbers
from adcli.lang.modes.systems import UNWRITTEN, StepSystem
from adcli.lang.operations.activity import active_values
from adcli.lang.operations.comprehension import Comprehension, Range, Read, all_fixed, nested_reads
from adcli.lang.operations.elementwise import computed, elementwise, emit, every_element, filled
from adcli.lang.operations.matrix import DETERMINANTS, SEARCH, MatrixOperation, operand_shape
from adcli.lang.operations.recurrence import Recurrence, amended, step_places, whole_statements, without_onto
from adcli.lang.passes.status import (
    Activity,
    Levels,
    Liveness,
    Reached,
    conditions,
    enter,
    joined,
    note_hidden,
    reached,
)

SELECT, DIV, EQ = (TABLE[name] for name in ("select", "div", "eq"))

# ---------------------------------------------------------------- what reaches a result, and when

def reached_by_elements(b: Builder, e: Equation, uses: dict[Atom, Liveness]) -> Iterator[Reached]:
    """An operation on tensors that reaches a result, or the statements of a loop that do; `uses` gets what they read."""
    if isinstance(e.op, Recurrence):
        yield from _reached_in_loop(b, e, uses)
        return
    use = next(uses[o] for o in e.outs if o in uses)
    inside = inside_of(b, e, use)
    yield Reached(e, use, inside)
    enter(b, uses, inside.operands())


def _reached_in_loop(b: Builder, e: Equation, uses: dict[Atom, Liveness]) -> Iterator[Reached]:
    """The statements of a recurrence that reach a result, as operations over all steps, each with when it does. Of a history that
    is read only under conditions a history of its own, which runs the other way, says which elements do."""
    whole_loop = whole_statements(e)
    own, statements = amended(whole_loop), [*map(without_onto, whole_loop)]
    found = {out: uses[out] for out in e.outs if out in uses}
    moving, guards = {out for out, use in found.items() if not use.still}, {use.guard for use in found.values()}
    common = guards.pop() if len(guards) == 1 else ()
    by_elements = {out: _all_by_elements(b, out, use, common) for out, use in found.items()}
    whole = {out for out, live in by_elements.items() if live is None}
    histories = {*e.outs}
    reached_outs, reads = {*found}, {s: [*inside_of(Builder(), s, Liveness()).operands()] for s in statements}
    before = -1
    while len(whole) + len(reached_outs) + len(moving) > before:
        before = len(whole) + len(reached_outs) + len(moving)
        for s in reversed(statements):
            if s.outs[0] in reached_outs:
                reached_outs.update(a for a in s.args if a in histories)
            if s.outs[0] in whole:
                whole.update(a for a, use in reads[s] if a in histories and use == Liveness(still=use.still))
            if s.outs[0] in moving:
                moving.update(a for a, use in reads[s] if a in histories and not use.still)
    live = _live_elements(b, e, statements, [out for out in e.outs if out in reached_outs and out not in whole], by_elements)
    operands = [(a, Liveness(common, None, out not in moving)) for out, a in zip(e.outs, e.args, strict=False)
                if out in reached_outs and isinstance(a, Var)]
    for s in reversed(statements):
        if s.outs[0] in reached_outs:
            use = Liveness(common, live.get(s.outs[0]), s.outs[0] not in moving)
            s = own.get(s, s)
            b.equations += [s] if s in own.values() else []
            inside = inside_of(b, s, use)
            yield Reached(s, use, inside)
            operands += [(a, more) for a, more in inside.operands() if a not in e.outs]
    for a, more in operands:
        uses[a] = joined(b, uses[a], more) if a in uses else more


def _all_by_elements(b: Builder, out: Var, use: Liveness, common: Guard) -> Atom | None:
    """When elements of a history reach a result behind its loop, beside what is `common` to all of them; None where all do."""
    if use.guard == common or shape_of(_by_elements(b, use)):
        return use.live if use.guard == common else _by_elements(b, use)
    return elementwise(b, lambda x, g: x * g, filled(b, out.shape, 1.0), flag(b, use.guard)).atom


def _live_elements(b: Builder, e: Equation[Recurrence], statements: Sequence[Equation], some: Sequence[Var],
                   starts: Mapping[Var, Atom | None]) -> dict[Var, Atom]:
    """For histories of which some elements reach a result a tensor each that says which."""
    op = e.op
    system = StepSystem(op, not op.down)
    live = {out: Var(None, True, shape=out.shape) for out in some}
    places = step_places(statements, op.step)
    for out in some:
        system.history(live[out], starts.get(out) or UNWRITTEN, places[out])
    for s in reversed(statements) if some else ():
        lines = Builder()
        for a, use in inside_of(lines, s, Liveness((), live.get(s.outs[0]))).operands():
            if a in live and use.live is not None:
                *before, last = _needed_for(use.live, lines.equations)
                for line in before:
                    system.line(line)
                system.add(live[a], last.op, last.args, s.span)
    env = system.emit(b)
    return {out: env.get(v, v) for out, v in live.items()}


def _needed_for(atom: Atom, equations: Sequence[Equation]) -> list[Equation]:
    """Of equations those that a value comes from, the last of which makes it."""
    needed, found = {atom}, list[Equation]()
    for e in reversed(equations):
        if not needed.isdisjoint(e.outs):
            found.insert(0, e)
            needed.update(e.args)
    return found


def joined_elements(b: Builder, first: Liveness, second: Liveness) -> Liveness:
    """When a tensor reaches a result in one way or the other, one of which is said element by element."""
    still = first.still and second.still
    if first.guard != second.guard:
        return Liveness((), elementwise(b, _added, _by_elements(b, first), _by_elements(b, second)).atom, still)
    if first.live is None or second.live is None:
        return Liveness(first.guard, None, still)
    return Liveness(first.guard, elementwise(b, _added, first.live, second.live).atom, still)


def _by_elements(b: Builder, use: Liveness) -> Atom:
    """A use with its guard in the elements; a number stands for all of them."""
    if use.live is None:
        return flag(b, use.guard)
    if not use.guard:
        return use.live
    return elementwise(b, lambda x, g: select(g != 0, x, 0), use.live, flag(b, use.guard)).atom


def _added(x: Expr, y: Expr) -> Expr:
    return x + y


# ---------------------------------------------------------------- what is met there

MET = {"logdet": SINGULAR, "det": SINGULAR, "eigenvalues": KINK, "eigenvectors": SINGULAR, "sort": KINK, "sort_order": JUMP,
       "singular_values": KINK, "search": JUMP, **dict.fromkeys(("svd_u", "svd_v", "qr_q", "qr_r"), SINGULAR)}
"""Where operations on matrices have no derivative: at a determinant that is 0, at equal eigenvalues, singular values (or one that
is 0) and elements, at columns that depend on those before, at a number that is equal to an element."""
CLOSE = 1e-15
"""Distance of eigenvalues, relative to the greatest absolute value, that rounding may have made."""


def is_special(b: Builder, e: Equation, use: Liveness) -> Expr:
    """Whether the operation on matrices is at a point where it has no derivative."""
    value, name = e.outs[0], e.op.name
    if name in DETERMINANTS:
        zero, other = (-math.inf, 0.0) if name == "logdet" else (0.0, 1.0)
        if not shape_of(value):
            return b.expr(value) == zero
        looked = value if use.live is None else elementwise(b, lambda x, live: select(live != 0, x, other), value, use.live).atom
        return any_element(b, looked, lambda x: x == zero)
    if name == SEARCH:
        return found_equal(b, e)
    return dependent_columns(b, e) if name.startswith("qr") else equal_neighbours(b, e)


def found_equal(b: Builder, e: Equation[MatrixOperation]) -> Expr:
    """True if a number is equal to the last element that is at most it."""
    op, (vector, number) = e.op, e.op.sources
    at = Comprehension(ranges=op.ranges, guards=op.guards, write=op.write, shape=op.shape)
    last = whole_numbers(b, computed(b, at, lambda n: select(n > 1, n - 1, 0), [(e.outs[0], op.write)], e.args))
    read = [(e.args[vector.arg], (*vector.subscripts, Read(len(e.args), op.write))), (e.args[number.arg], number.subscripts)]
    return computed(b, replace(at, write=(), shape=(), reduction="max"), lambda x, q: select(x == q, 1, 0), read,
                    (*e.args, last)) > 0


def dependent_columns(b: Builder, e: Equation[MatrixOperation]) -> Expr:
    """Whether a column of a matrix is a combination of those before, but for rounding: the least part of it is left in R."""
    op, r, n = e.op, made_by(b, e, "qr_r"), operand_shape(e)[-1]
    i, k = Index("i"), Index("k")
    columns, here = (*op.ranges, Range(i, affine(0), n)), (*op.write, affine(i))
    squares = Comprehension(ranges=(*columns, Range(k, affine(0), n)), guards=op.guards, write=here, reduction="+",
                            shape=(*op.shape[:len(op.write)], n))
    whole = computed(b, squares, lambda x: x * x, [(r, (*op.write, affine(k), affine(i)))], e.args).atom
    found = Comprehension(ranges=columns, guards=op.guards, reduction="max")
    return computed(b, found, lambda x, s: select(x * x <= (4 * CLOSE)**2 * s, 1, 0), [(r, (*here, affine(i))), (whole, here)],
                    e.args) > 0


def may_meet(e: Equation[MatrixOperation], use: Liveness, known: Activity) -> bool:
    """Whether inputs move the operand of an operation on matrices, and what they change reaches a result."""
    return e.op.name in DETERMINANTS or (not use.still and not known.moving.isdisjoint(e.args))


def equal_neighbours(b: Builder, e: Equation[MatrixOperation]) -> Expr:
    """Whether two eigenvalues, singular values or elements of a vector are equal, or the least singular value is 0."""
    op, name = e.op, e.op.name
    kind = "sort" if name.startswith("sort") else "eigenvalues" if name.startswith("eigen") else "singular_values"
    values, n = made_by(b, e, kind), operand_shape(e)[-1]
    i, last, zero = Index("i"), n - (0 if kind == "singular_values" else 1), affine(0)
    next_one = least(affine(i) + 1, n - 1) if kind == "singular_values" else affine(i) + 1
    read = [(values, (*op.write, x)) for x in (affine(i), next_one, zero, n - 1)]

    def equal(x: Expr, y: Expr, first: Expr, end: Expr, *rest: Expr) -> Expr:
        if kind == "sort":
            return x == y
        close = CLOSE * (abs_(first) + abs_(end))
        return abs_(x - y) <= close if kind == "eigenvalues" else select(rest[0] == 0, x, x - y) <= close
    found = Comprehension(ranges=(*op.ranges, Range(i, zero, last)), guards=op.guards, reduction="max")
    more = [n - 1 - affine(i)] if kind == "singular_values" else []
    return computed(b, found, lambda *x: select(equal(*x), 1, 0), [*read, *more], e.args) > 0


def any_element(b: Builder, tensor: Atom, met: Callable[[Expr], Expr]) -> Expr:
    """Whether a condition holds of any element."""
    return over_elements(b, tensor, lambda x: select(met(x), 1, 0)) > 0


def over_elements(b: Builder, tensor: Atom, function: Callable[[Expr], Expr]) -> Expr:
    """The greatest value of a function of the elements."""
    ranges, here = every_element(shape_of(tensor))
    return computed(b, Comprehension(ranges=ranges, reduction="max"), function, [(tensor, here)])


# ---------------------------------------------------------------- extrema

def is_place(e: Equation[Comprehension]) -> bool:
    """Whether an equation finds the place of an extremum: the least index at which a value is equal to another one."""
    body = e.op.body
    made = definitions(body.equations)
    last = made.get(body.results[0].atom)
    chosen = made.get(last.args[0]) if last is not None and last.op is SELECT else None
    never = last.args[-1] if last is not None else None
    return (e.outs[0].whole and e.op.reduction == "min" and chosen is not None and chosen.op is EQ and isinstance(never, Lit)
            and never.value == math.inf)


def ties(b: Builder, e: Equation[Comprehension]) -> tuple[Atom | None, int]:
    """How many values are equal to the extremum that they went into, and the level where they are several; none are counted
    for whole numbers, which have no derivative, but where the place of an extremum jumps."""
    op = e.op
    if not is_place(e):
        return (None, KINK) if e.outs[0].whole else (count_ties(b, e)[1], KINK)
    body = BodyBuilder(e, op.body.equations)
    last = next(x for x in op.body.equations if x.outs[0] is op.body.results[0].atom)
    program = body.program(select(body.b.expr(last.args[0]), 1, 0).atom)
    counted = replace(op, reduction="+", sources=tuple(body.sources), body=program, onto=None)
    return emit(b, counted, tuple(body.args)).atom, JUMP


# ---------------------------------------------------------------- the inside of a comprehension

class Inside:
    """The body of a comprehension `e` that reaches a result, walked backwards."""

    def __init__(self, b: Builder, e: Equation[Comprehension], use: Liveness) -> None:
        self.b, self.e, self.op, self.use = b, e, e.op, use
        self.body = BodyBuilder(e, e.op.body.equations)
        start: Guard = () if use.live is None else (((self.body.read(use.live, self.op.write) != 0).var, True),)
        self.uses: dict[Atom, Liveness] = {e.op.body.results[0].atom: Liveness(start, None, use.still)}
        still = {*e.op.body.equations} if is_place(e) else unmoved(e)
        self.equations = [r for r in reached(self.body.b, e.op.body.equations, self.uses) if r.equation not in still]

    def note(self, levels: Levels, known: Activity) -> None:
        """Note the levels that are met anywhere in the domain, and ties."""
        inner = Levels(self.body.b)
        conditions(inner, self.equations, self.active(known))
        note_hidden(inner, self.equations, set())
        worst = self.greatest(inner.worst())
        if worst is not None:
            levels.note_number(worst, self.use.guard)
        explained = None if inner.explained is None else self.greatest(select(inner.explained, 1, 0).atom)
        if explained is not None:
            levels.explain(levels.under(explained > 0, self.use.guard))
        if self.may_tie(known):
            self.note_ties(levels)

    def active(self, outside: Activity) -> Activity:
        """The active values in the body, where those outside are."""
        def inside(values: Set[Atom], steps: bool) -> set[Atom]:
            own = [self.op.body.params[k].name for k, s in self.op.reads() if self.e.args[s.arg] in values]
            return active_values(self.op.body, own, steps=steps)
        return Activity(inside(outside.active, True), inside(outside.moving, False), outside.order)

    def may_tie(self, known: Activity) -> bool:
        """Whether this is an extremum of values that inputs move, or the place of one."""
        if self.op.reduction not in ("min", "max") or self.use.still:
            return False
        moved = not known.moving.isdisjoint(self.e.args)
        return moved if is_place(self.e) else moved and any(self.op.moved(self.e, known.moving, steps=False))

    def note_ties(self, levels: Levels) -> None:
        (count, level), live = ties(self.b, self.e), self.use.live
        if count is None:
            return
        if not self.op.shape:
            levels.note(level, self.b.expr(count) > 1, self.use.guard)
            return
        seen = count if live is None else elementwise(self.b, lambda n, x: select(x != 0, n, 0), count, live).atom
        levels.note(level, over_elements(self.b, seen, lambda n: n) > 1, self.use.guard)

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

    def operands(self) -> Iterator[tuple[Var, Liveness]]:
        """The operands of the comprehension, each with when it reaches a result through it."""
        if isinstance(start := self.op.start(self.e), Var):
            yield start, self.started()
        for k, s in self.op.reads():
            atom, use = self.e.args[s.arg], self.uses.get(self.op.body.params[k].var)
            if use is not None and isinstance(atom, Var) and not atom.integer:
                yield atom, self.read(s, atom, use.guard, use.still)
            for inner in nested_reads(s.subscripts):
                if use is not None and isinstance(found := self.e.args[inner.arg], Var) and found.whole:
                    yield found, self.read(inner, found, use.guard, use.still)
        for inner in nested_reads(self.op.write):
            if isinstance(found := self.e.args[inner.arg], Var) and found.whole:
                yield found, Liveness(self.use.guard, None, self.use.still)

    def read(self, s: Read, atom: Var, guard: Guard, still: bool) -> Liveness:
        """When elements reach a result through one read, which counts under a guard in the body."""
        if not guard:
            return Liveness(self.use.guard, None, still)
        value = self.body.program(select(self.body.b.expr(truth(self.body.b, guard)), 1, 0).atom)
        op = replace(self.op, sources=tuple(self.body.sources), body=value, write=s.subscripts, shape=shape_of(atom), onto=None,
                     reduction="=" if all_fixed(self.op.ranges, s.subscripts) else "+", agreements=())
        live = emit(self.b, op, tuple(self.body.args))
        if atom.shape:
            return Liveness(self.use.guard, live.atom, still)
        both = restrict(self.b, self.use.guard, (((live != 0).var, True),))
        assert both is not None
        return Liveness(both, None, still)

    def started(self) -> Liveness:
        """When elements that the result starts from reach a result: not where they are overwritten."""
        if self.op.reduction != "=" or not self.op.shape:
            return self.use
        everywhere = filled(self.b, self.op.shape, 1.0) if self.use.live is None else self.use.live
        return Liveness(self.use.guard, cleared(self.b, self.e, everywhere), self.use.still)


class OnMatrices:
    """An operation on matrices `e` that reaches a result."""

    def __init__(self, b: Builder, e: Equation[MatrixOperation], use: Liveness) -> None:
        self.b, self.e, self.use = b, e, use

    def note(self, levels: Levels, known: Activity) -> None:
        """Note that a matrix is singular."""
        level = MET.get(self.e.op.name)
        if level is not None and may_meet(self.e, self.use, known):
            levels.note(level, is_special(levels.b, self.e, self.use), self.use.guard, level == SINGULAR)

    def operands(self) -> Iterator[tuple[Var, Liveness]]:
        """The matrix and the right-hand side, each with when it reaches a result through the operation."""
        use, op = self.use, self.e.op
        for s in op.sources:
            a = self.e.args[s.arg]
            if isinstance(a, Var):
                live = None if use.live is None else spread(self.b, self.e, [(use.live, op.write)], s.subscripts, a.shape)
                yield a, Liveness(use.guard, live, use.still)


def inside_of(b: Builder, e: Equation, use: Liveness) -> Inside | OnMatrices:
    return Inside(b, e, use) if isinstance(e.op, Comprehension) else OnMatrices(b, e, use)


def unmoved(e: Equation[Comprehension]) -> set[Equation]:
    """The steps and kinks in the body of a comprehension whose operands are whole numbers that no input moves, as i of i >= 1:
    between those there is nothing to jump over."""
    op = e.op
    fixed: set[Atom] = set()
    for p, s in op.inputs():
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
