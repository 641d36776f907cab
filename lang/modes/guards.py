"""Tangents and adjoints that exist only under a condition.

An adjoint that reaches only the arm of a `select` that was not taken is zero by construction; computed as a number it could
meet an infinity and become NaN. So a derivative value travels as a `Term`: the number, computed as if it existed, and the
guard under which it does. Guards stay symbolic until two terms with different guards are summed or a term becomes a
result; only then is a `select` emitted. Both modes use these functions, so they treat every awkward point alike.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from operator import itemgetter

from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Result, Shape, Var, shape_of
from adcli.lang.ir.build import NO_HINT, Builder, Expr, Hint, Operands, When, WrittenLine, apply, many, mapped
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.ir.records import record
from adcli.lang.operations.precision import SINGLE
from adcli.lang.operations.rule_programs import Statics, by_operation
from adcli.lang.simplify.simplify import simplify

Guard = tuple[tuple[Var, bool], ...]
"""A conjunction of truth values, each as it is (True) or negated (False); () is always true."""

POWN, ADD, DIV = TABLE["pown"], TABLE["add"], TABLE["div"]
LONGEST_GUARD = 4
"""Literals in a guard before they are and-ed into one truth value, so that nesting stays linear in size."""

ONE = Lit(1.0)
"""The seed of a sweep whose derivatives are partial ones: what the rules make of it is emitted simplified."""
ABSENT_TERM = -0.0
"""The addend of a term that does not exist: the one double with x + ABSENT_TERM = x for every x, −0 included."""


@record
class Term:
    """A derivative value and when it exists. Of a tensor, or of what comprehensions made a scalar, `exists` may say for each
    element whether it does (not 0) or not; only operations that can be infinite look at it."""

    builder: Builder
    atom: Atom
    guard: Guard = ()
    exists: Atom | None = None

    @classmethod
    def of(cls, value: Expr, guard: Guard = (), exists: Atom | None = None) -> Term:
        """The term that has this value."""
        return cls(value.builder, value.atom, guard, exists)

    @property
    def value(self) -> Expr:
        """The atom with its builder, for rules to reckon with."""
        return Expr(self.builder, self.atom)

    def stands_in(self, b: Builder) -> bool:
        """Whether it can be another value's as it is: in the program of `b`, and not for some elements only."""
        return self.exists is None and self.builder is b

    def named(self, b: Builder, hint: Hint, start: int) -> Term:
        """The term under a name, where an equation since `start` makes it."""
        atom = b.rename(self.value, hint, start).atom
        return self if atom is self.atom else Term(b, atom, self.guard, self.exists)


def contribution(b: Builder, equation: Equation, position: int, seed: Term, hint: Hint = NO_HINT) -> Term | None:
    """Apply the rule of `equation`, a row of the table, to `seed` at one argument; None where that is zero by
    construction. The value gets its printing hint where the last line makes it."""
    guard: Guard | None = seed.guard
    written = written_sum(equation)((position,), ONE_UNIT if seed.atom is ONE else NO_UNITS, False)
    if written is not None and not written.lines and not written.guard and written.value == 0 and seed.stands_in(b):
        return seed
    if seed.exists is not None and can_be_infinite(equation):
        guard = restrict(b, seed.guard, (((b.expr(seed.exists) != 0).var, True),))
    if written is not None and guard is not None:
        return written.term(b, (seed.atom, equation.outs[0], *equation.args), guard, seed.exists, hint)
    start, made = len(b.equations), mapped(b, equation, position, b.expr(seed.atom))   # of many arguments
    if isinstance(made, When):
        found = literals(b, made.condition, start)
        guard, made = None if guard is None else restrict(b, guard, found), made.value
    return None if guard is None or made is None else Term.of(made, guard, seed.exists).named(b, hint, start)


def contributions(b: Builder, equation: Equation, positions: tuple[int, ...], seeds: Sequence[Term], hint: Hint) -> Term | None:
    """The sum of what the rules of `equation`, a row of the table, make of `seeds` at the arguments of these positions, under its
    printing hint; None where all of it is zero by construction."""
    atoms, args, sums = [], equation.args, written_sum(equation)
    for seed in seeds:
        if seed.guard or seed.exists is not None:
            break
        atoms.append(seed.atom)
    else:
        written = sums(positions, tuple([a is ONE for a in atoms]) if ONE in atoms else NO_UNITS, args[0] is args[-1])
        if written is not None:
            return written.term(b, (*atoms, equation.outs[0], *args), (), None, hint)
    if len(seeds) == 1:
        return contribution(b, equation, positions[0], seeds[0], hint)
    start = len(b.equations)
    whole = total(b, [contribution(b, equation, i, seed) for i, seed in zip(positions, seeds, strict=True)], hint)
    return None if whole is None else whole.named(b, hint, start)


def can_be_infinite(e: Equation) -> bool:
    """Whether an operation, what is inside of it, or a derivative can be infinite at finite values."""
    if e.op is POWN:
        return isinstance(n := e.args[1], Lit) and n.value < 0
    if e.op is DIV and isinstance(e.args[1], Lit):
        return abs(e.args[1].value) < SINGLE.smallest   # its reciprocal can be infinite
    return e.op.singular or any(map(can_be_infinite, e.op.inner()))


def infinite_values(program: Program) -> set[Atom]:
    """The values that can be infinite or NaN at finite inputs, short of overflow."""
    found: set[Atom] = set()
    for e in program.equations:
        if not found.isdisjoint(e.args) or can_be_infinite(e):
            found.update(e.outs)
    return found


def literals(b: Builder, condition: Expr, start: int) -> Guard:
    """A condition emitted since `start` as a guard; the `not` and `and` equations that it dissolves are taken back."""
    defined = {e.outs[0]: e for e in b.equations[start:] if e.op is TABLE["and"] or e.op is TABLE["not"]}
    found: list[tuple[Var, bool]] = []
    dissolved: set[Var] = set()
    stack: list[tuple[Atom, bool]] = [(condition.atom, True)]
    while stack:
        atom, wanted = stack.pop()
        assert isinstance(atom, Var)
        e = defined.get(atom)
        if e is not None and e.op is TABLE["not"]:
            stack.append((e.args[0], not wanted))
        elif e is not None and wanted:
            stack += [(e.args[1], True), (e.args[0], True)]
        else:
            found.append((atom, wanted))
            continue
        dissolved.add(atom)
    kept = {a for e in b.equations[start:] if e.outs[0] not in dissolved for a in e.args} | {v for v, _ in found}
    b.equations[start:] = [e for e in b.equations[start:] if e.outs[0] not in dissolved - kept]
    return tuple(found)


def simplified(lines: Iterable[Equation], value: Atom, known: Mapping[Atom, Atom]) -> tuple[list[Equation], Atom]:
    """Lines that make one value, as `simplify` would leave them where some of their operands are known, and the value."""
    written = Program((), tuple(lines), (Result("value", value),))
    made = simplify(written, known)
    return list(made.equations), made.results[0].atom


@record
class WrittenSum:
    """The sum of the maps of some arguments as lines, of which the last makes it, `named` after what it is the derivative of. The
    `value` is found where operands are without lines or under a `guard` of values, which only one map alone may have."""

    lines: tuple[WrittenLine, ...]
    constants: tuple[Lit, ...]
    value: int
    named: bool
    guard: tuple[tuple[int, bool], ...] = ()

    def term(self, b: Builder, operands: tuple[Atom, ...], guard: Guard, exists: Atom | None, hint: Hint) -> Term | None:
        """Append the lines for these seeds, result and arguments; None where the guards contradict each other."""
        values = (*operands, *self.constants)
        if not self.guard:
            made = b.lines(self.lines, values, hint if self.named else NO_HINT) if self.lines else values[self.value]
            return Term(b, made, guard, exists)
        start = len(b.equations)
        for op, read in self.lines:
            values += (b.line(op, read(values), NO_HINT),)
        whole = restrict(b, guard, tuple([(v, wanted) for i, wanted in self.guard if isinstance(v := values[i], Var)]))
        return None if whole is None else Term(b, values[self.value], whole, exists).named(b, hint, start)


Units = tuple[bool, ...]
"""Which of some seeds are 1."""
NO_UNITS: Units = ()
ONE_UNIT: Units = (True,)
Sums = Callable[[tuple[int, ...], Units, bool], WrittenSum | None]


@by_operation
def written_sum(op: Primitive, static: Statics, count: int) -> Sums:
    """A factory of the sums for arguments of an equation at some positions: simplified for seeds of which some are 1, and where
    the first and the last argument are the same one."""
    return cache(partial(_written_sum, op, static, count))


def _written_sum(op: Primitive, static: Statics, count: int, positions: tuple[int, ...], units: Units,
                 same: bool) -> WrittenSum | None:
    """The sum of maps for seeds that exist always; None where that is not the same at every use: for several maps of which one
    exists under a condition, or where maps have lines in common with others; and where all of them are zero."""
    if many(op, count):
        return None
    b, constants, seeds = Builder(), dict(static), [Var("t") for _ in positions]
    args: list[Atom] = [Lit(constants[i]) if i in constants else Var(f"x{i}", truth=op.kind(i) == "t") for i in range(count)]
    if twice := same and count > 1 and count - 1 not in constants:
        args[-1] = args[0]
    e = Equation((Var("z", truth=op.truth),), op, tuple(args))
    maps = [m for i, t in zip(positions, seeds, strict=True) if (m := mapped(b, e, i, b.expr(t))) is not None]
    guard: Guard = ()
    if len(maps) == 1 and isinstance(when := maps[0], When):
        maps, guard = [when.value], literals(b, when.condition, 0)
    found = [m for m in maps if isinstance(m, Expr)]
    if not found or len(found) < len(maps):
        return None
    value: Atom = reduce(lambda x, y: x + y, found).atom
    if not guard and b.equations and b.equations[-1].outs[0] is not value:
        return None
    whole, lines, used = value, b.equations, (*seeds, e.outs[0], *e.args)
    if (units or twice) and not guard:
        lines, value = simplified(lines, value, {seed: ONE for seed, one in zip(seeds, units, strict=False) if one})
    read = [value, *[a for line in lines for a in line.args]]
    own = tuple(dict.fromkeys([a for a in read if isinstance(a, Lit) and a not in used]))
    place = places((*used, *own), lines)
    return WrittenSum(written_lines(lines, place), own, place[value], value is whole,
                      tuple([(place[v], wanted) for v, wanted in guard]))


def places(given: Iterable[Atom], equations: Iterable[Equation]) -> dict[Atom, int]:
    """Where a line finds its operands: among what is given, and what the lines before it have made."""
    return {a: i for i, a in enumerate((*given, *[e.outs[0] for e in equations]))}


def written_lines(equations: Iterable[Equation], place: Mapping[Atom, int]) -> tuple[WrittenLine, ...]:
    """Equations as lines whose operands stand at these places."""
    return tuple([(e.op, _operands([place[a] for a in e.args])) for e in equations])


def _operands(places: list[int]) -> Operands:
    if len(places) > 1:
        return itemgetter(*places)
    place = places[0]
    return lambda values: (values[place],)


def restrict(b: Builder, guard: Guard, more: Guard) -> Guard | None:
    """Both guards at once; None where they contradict each other."""
    known = dict(guard)
    for var, wanted in more:
        if known.setdefault(var, wanted) is not wanted:
            return None
    joined = tuple(known.items())
    return joined if len(joined) <= LONGEST_GUARD else ((truth(b, joined), True),)


def truth(b: Builder, guard: Guard) -> Var:
    """A nonempty guard as one truth value."""
    parts = [b.expr(v) if wanted else ~b.expr(v) for v, wanted in guard]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole & part
    return whole.var


def either(b: Builder, first: Guard, second: Guard) -> Guard:
    """The guard of what exists when one or the other does."""
    common, one, other = split(first, second)
    if not one or not other or complementary(one, other):
        return common
    whole = b.expr(truth(b, one)) | b.expr(truth(b, other))
    return (*common, (whole.var, True))


def split(first: Guard, second: Guard) -> tuple[Guard, Guard, Guard]:
    """The common part of two guards, and the rest of each."""
    common = tuple(x for x in first if x in second)
    return common, tuple(x for x in first if x not in common), tuple(x for x in second if x not in common)


def complementary(one: Guard, other: Guard) -> bool:
    """Whether exactly one of them always holds."""
    return len(one) == len(other) == 1 and one[0][0] is other[0][0] and one[0][1] is not other[0][1]


def gate(b: Builder, value: Expr, guard: Guard, otherwise: float) -> Expr:
    """The value where the guard holds, else a constant."""
    if not guard:
        return value
    if shape_of(value.atom):
        return elementwise(b, lambda x, g: select(g != 0, x, otherwise), value.atom, flag(b, guard))
    if len(guard) == 1 and not guard[0][1]:
        return apply(TABLE["select"], b.expr(guard[0][0]), otherwise, value)
    return apply(TABLE["select"], b.expr(truth(b, guard)), value, otherwise)


def flag(b: Builder, guard: Guard) -> Atom:
    """A guard as a number, 1 or 0: what comprehensions read where a guard governs a whole tensor."""
    return apply(TABLE["select"], b.expr(truth(b, guard)), 1.0, 0.0).atom


def total(b: Builder, terms: Iterable[Term | None], hint: Hint = NO_HINT) -> Term | None:
    """The sum of terms, in order; None where none exists."""
    there = [term for term in terms if term is not None]
    if len(there) < 2:
        return there[0] if there else None
    whole, last = there[0], there.pop()
    for term in there[1:]:
        whole = add(b, whole, term)
    return add(b, whole, last, hint)


def add(b: Builder, first: Term, second: Term, hint: Hint = NO_HINT) -> Term:
    x, y = first.atom, second.atom
    if first.guard == second.guard and not x.shape and not y.shape:
        exists = None if first.exists is None else either_element(b, first, (), second, ())
        return Term(b, b.line(ADD, (x, y), hint), first.guard, exists)
    start, (common, one, other) = len(b.equations), split(first.guard, second.guard)
    if complementary(one, other):
        a, z = (first.value, second.value) if one[0][1] else (second.value, first.value)
        if shape_of(a.atom) or shape_of(z.atom):
            positive = flag(b, ((one[0][0], True),))
            exists = either_element(b, first, one, second, other)
            chosen = elementwise(b, lambda g, x, y: select(g != 0, x, y), positive, a.atom, z.atom)
            return Term.of(chosen, common, exists).named(b, hint, start)
        return Term.of(apply(TABLE["select"], b.expr(one[0][0]), a, z), common).named(b, hint, start)
    exists = either_element(b, first, one, second, other)
    gated, beside = gate(b, first.value, one, ABSENT_TERM), gate(b, second.value, other, ABSENT_TERM)
    tensors = shape_of(gated.atom) or shape_of(beside.atom)
    value = elementwise(b, lambda x, y: x + y, gated.atom, beside.atom) if tensors else gated + beside
    guard = either(b, first.guard, second.guard) if one or other else first.guard
    return Term.of(value, guard, exists).named(b, hint, start)


def either_element(b: Builder, first: Term, one: Guard, second: Term, other: Guard) -> Atom | None:
    """Where the elements of a sum of tensors exist: where one of the terms does, each under what only its own guard says."""
    unseen = first.exists is None and second.exists is None
    if unseen or any(t.exists is None and not guard for t, guard in ((first, one), (second, other))):
        return None
    x, y = present(b, first, one), present(b, second, other)
    plain = not shape_of(x) and not shape_of(y)
    found = b.expr(x) + b.expr(y) if plain else elementwise(b, lambda x, y: x + y, x, y)
    if x in b.chosen or y in b.chosen:
        b.chosen.add(found.atom)
    return found.atom


def present(b: Builder, term: Term, guard: Guard) -> Atom:
    """Which elements of a term exist under a guard, 1 or more where one does and 0 where it does not."""
    there = constant(b, shape_of(term.atom), 1.0) if term.exists is None else term.exists
    if guard:
        there = gate(b, b.expr(there), guard, 0.0).atom
        b.chosen.add(there)
    return there


def result(b: Builder, term: Term | None, shape: Shape = ()) -> Atom:
    """The derivative a user sees: zero where it does not exist. `shape` is that of the value it belongs to."""
    if term is None:
        return constant(b, shape, 0.0)
    return gate(b, term.value, term.guard, 0.0).atom if term.guard else term.atom


def constant(b: Builder, shape: Shape, value: float) -> Atom:
    """A number, or a tensor of which every element is that number."""
    if not shape:
        return Lit(value)
    from adcli.lang.operations.elementwise import filled  # only for tensors
    return filled(b, shape, value)


def elementwise(b: Builder, function: Callable[..., Expr], *atoms: Atom) -> Expr:
    """The function of numbers on every element."""
    from adcli.lang.operations.elementwise import elementwise as on_every_element  # only for tensors
    return on_every_element(b, function, *atoms)

