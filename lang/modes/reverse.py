"""Reverse mode: each line gets its adjoint line, in reverse order after the program; no rule looks at another line.

The adjoint of x in z = f(x, y) is the map of f at x applied to the adjoint of z. The contributions of several uses of a value are
added as the rule of `dup` adds them in explicit-duplication form (`adcli.lang.modes.reverse`), in the same places, without the
copies: from the last use on, each behind the lines of the equation that it is in, and the first one where the value is defined.
In a program in that form every value receives at most one adjoint.

Explicit duplication: after this pass every value is used at most once.

A value used n times is copied by n − 1 `dup` equations: the first directly behind its definition, each further one right
before the use it serves. Reverse mode then needs no accumulation: the one sum of an adjoint is the rule of `dup`, and it
adds contributions as they become known, so few of them are alive at a time. A result counts as a use.
Tensors are copied as scalars are; truth values and whole numbers have no adjoint and are not.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from adcli.lang.ir import Atom, Atoms, Equation, Program, Result, Var, has_tensors, shape_of
from adcli.lang.ir.build import NO_HINT, Builder, Hint
from adcli.lang.ir.errors import Span
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.modes.forward import NO_SEEDS, EmittedSweep, seeded, strip_seeds, unit
from adcli.lang.modes.guards import Term, add, contribution, infinite_values, result, total
from adcli.lang.operations.activity import active_values, masks, positions, union

# ---------------------------------------------------------------- duplicate

DUP = TABLE["dup"]
Adjoints = dict[Atom, Term]


def vjp(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> Program:
    """Results and the adjoints of inputs: inputs gain `d_dv` for every result v in `of`, results gain `d_dx`."""
    return vjp_with_sweep(program, wrt, of)[0]


def vjp_with_sweep(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> tuple[Program, EmittedSweep]:
    """The adjoint program and its sweep, which has the adjoints of all values."""
    names, b = Names.of(program), Builder()
    b.equations.extend(program.equations)
    chosen = [r for r in program.results if of is None or r.name in of]
    seeds = tuple(seeded(names.fresh(f"d_d{r.name}"), r.atom, r.name) for r in chosen)
    given = {r.name: Term(b, s.var) for r, s in zip(chosen, seeds, strict=True)}
    sweep = EmittedSweep(b, seeds, pull_back(b, program, given, active_values(program, wrt)))
    derivatives = [Result(names.fresh(f"d_d{p.name}"), sweep.derivative(p.var)) for p in program.params if p.name in wrt]
    return replace(program, params=strip_seeds(program) + seeds, equations=tuple(b.equations),
                   results=(*program.results, *derivatives)), sweep


def partials(b: Builder, program: Program, groups: Sequence[Sequence[str]], wrt: Collection[str],
             units: Mapping[str, Var] = NO_SEEDS) -> dict[tuple[int, str], Atom]:
    """Append one reverse sweep for each group of results, whose seeds are 1, or their tensors in `units`, to the program's
    equations, which stand in `b`.

    Returns the adjoint of every input in `wrt` for each group that it reaches: the sum of the partial derivatives of the group's
    results.
    """
    wanted, found = set(wrt), {}
    inputs = [p for p in program.params if p.name in wanted]
    given = [{name: unit(b, units.get(name)) for name in group} for group in groups]
    for i, adjoints in enumerate(sweeps(b, program, given, active_values(program, wrt))):
        found.update({(i, p.name): result(b, adjoints[p.var]) for p in inputs if p.var in adjoints})
    return found


def pull_back(b: Builder, program: Program, seeds: Mapping[str, Term], active: set[Atom]) -> Adjoints:
    """Append the reverse sweep from results with these seeds to the program's equations, which stand in `b`; the adjoints of all
    values that it reaches."""
    adjoints, = sweeps(b, program, [seeds], active)
    return adjoints


def sweeps(b: Builder, program: Program, groups: Sequence[Mapping[str, Term]], active: set[Atom]) -> Iterator[Adjoints]:
    """The sweeps of `pull_back` for several groups of seeds, one after the other."""
    b.infinite = infinite_values(program) if has_tensors(program) else ()
    b.group += 1   # also of an input that nothing reaches
    uses = copied_values(program)
    left = dict(uses)
    results = [(r.name, r.atom, one_less(left, r.atom)) for r in reversed(program.results)
               if isinstance(r.atom, Var) and not r.atom.integer and not r.atom.whole]
    swept = reached(program, [[atom for name, atom, _ in results if name in group] for group in groups], active, left)
    for group, lines in zip(groups, swept, strict=True):
        sums = AdjointSums(b, uses)
        for name, atom, use in results:
            if name in group:
                sums.receive(atom, use, group[name], None)
        sums.pull_back(lines, active)
        for p in reversed(program.params):
            sums.complete(p.var, None)
        yield sums.whole


NumberedUses = Sequence[int]
"""Of each argument of an equation which use of it this is, from 1; 0 where it has no other. () where none has another."""
ReachedLine = tuple[Equation, NumberedUses]


def one_less(left: dict[Atom, int], value: Atom) -> int:
    """The number of the last use of a value that is `left`, which is then not; 0 of one without copies."""
    use = left.get(value, 0)
    if use:
        left[value] = use - 1
    return use


def reached(program: Program, seeds: Sequence[Sequence[Atom]], active: set[Atom],
            left: dict[Atom, int]) -> list[list[ReachedLine]]:
    """For each group of seeds the equations that its sweep goes through, last first; `left` are the numbers of uses of values
    that are copied."""
    reach = masks(seeds)
    found: list[list[ReachedLine]] = [[] for _ in seeds]
    there, copied, there_are = reach.get, left.keys(), left.get
    for e in reversed(program.equations):
        outs, args = e.outs, e.args
        uses: list[int] = []
        if not copied.isdisjoint(args):
            for a in reversed(args):
                use = there_are(a, 0)
                uses.append(use)
                if use:
                    left[a] = use - 1
            uses.reverse()
        mask = there(outs[0], 0) if len(outs) == 1 else union(reach, outs)
        if mask and not active.isdisjoint(outs):
            for a in args:
                if a in active:
                    reach[a] = there(a, 0) | mask
            for i in positions(mask):
                found[i].append((e, uses))
    return found


class AdjointSums:
    """The adjoints of one sweep through a program whose values are used more than once."""

    def __init__(self, b: Builder, uses: Mapping[Atom, int]) -> None:
        self.b, self.uses = b, uses
        self.whole: Adjoints = {}
        self.first: Adjoints = {}   # of the first use
        self.later: Adjoints = {}   # of the others, as far as the sweep has come

    def receive(self, value: Atom, use: int, term: Term, span: Span | None) -> None:
        """Enter the adjoint that one use gives, in an equation of this span."""
        if use == 1:
            self.first[value] = term
        elif not use:
            receive(self.whole, value, term)
        elif value in self.later:
            self.add(term, self.later.pop(value), numbered_hint(value, 2 * use - 2), span, self.later, value)
        else:
            self.later[value] = term

    def complete(self, value: Atom, span: Span | None) -> None:
        """A value is defined here: no use is left."""
        if value in self.uses:
            first, later = self.first.pop(value, None), self.later.pop(value, None)
            self.add(first, later, adjoint_hint(value), span, self.whole, value)

    def add(self, first: Term | None, second: Term | None, hint: Hint, span: Span | None, into: Adjoints, value: Atom) -> None:
        """Enter the sum of those terms that exist."""
        if first is not None and second is not None:
            self.b.group += 1
            self.b.span = span
            into[value] = add(self.b, first, second, hint)
        elif found := first or second:
            into[value] = found

    def pull_back(self, lines: Iterable[ReachedLine], active: set[Atom]) -> None:
        """The reverse sweep through lines that it reaches, the last of which comes first."""
        b, whole, copied = self.b, self.whole, self.uses
        for e, uses in lines:
            outs, span = e.outs, e.span
            for out in reversed(outs):
                if out in copied:
                    self.complete(out, span)
            if outs[0] in whole or (len(outs) > 1 and not whole.keys().isdisjoint(outs)):
                b.group += 1
                b.span = span
                for i, term in reversed(adjoint_line(b, e, whole, active, uses, copied)):
                    a = e.args[i]
                    if a in copied:
                        self.receive(a, uses[i], term, span)
                    else:
                        receive(whole, a, term)


def numbered_hint(value: Atom, number: int) -> Hint:
    """The printing hint of the adjoint of a numbered copy."""
    assert isinstance(value, Var), "constants are not copied"
    return f"d_d{copy_name(value, number)}", True


def adjoint_line(b: Builder, e: Equation, adjoints: Adjoints, active: set[Atom], uses: NumberedUses,
                 copied: Mapping[Atom, int]) -> list[tuple[int, Term]]:
    """Emit the adjoint line of an equation; the adjoints of its arguments by their positions. They are called after the copies
    that would serve these `uses` of values that are `copied`; where none is, the form is that of explicit duplication, and an
    adjoint that two arguments get unchanged is copied, too."""
    if e.op is DUP:
        if e.args[0] not in active:
            return []
        term = total(b, [adjoints.get(o) for o in e.outs], use_hint(e, 0, uses, copied))
        return [] if term is None else [(0, term)]
    make: Callable[[Builder, Equation, int, Term, Hint], Term | None] = contribution
    if e.op.tensors:
        from adcli.lang.modes.recurrence_rules import adjoints_of_loop  # only for programs with tensors
        carrying = [i for i, a in enumerate(e.args) if a in active]
        hints = {e.args[i]: use_hint(e, i, uses, copied) for i in carrying}
        loop = adjoints_of_loop(b, e, adjoints, carrying, pull_back, lambda v: hints.get(v) or adjoint_hint(v))
        if loop is not None:
            return sorted(loop.items(), key=itemgetter(0))
        make = through
    seed, found = adjoints[e.outs[0]], list[tuple[int, Term]]()
    for i, a in enumerate(e.args):
        if a in active:
            term = make(b, e, i, seed, use_hint(e, i, uses, copied))
            if term is not None:
                found.append((i, term))
    return found if copied else with_copies(b, e, seed, found)


def with_copies(b: Builder, e: Equation, seed: Term, terms: list[tuple[int, Term]]) -> list[tuple[int, Term]]:
    """The adjoints of the arguments of an equation, where two of them are its own as it is: a copy of it for each."""
    unchanged = [i for i, term in terms
                 if term is seed or (term.atom is seed.atom and term.guard == seed.guard)]
    if len(unchanged) != 2 or not isinstance(seed.atom, Var):
        return terms
    copies = tuple(Var(adjoint_hint(e.args[i])[0], True, shape=shape_of(e.args[i])) for i in unchanged)
    b.equations.append(Equation(copies, DUP, (seed.atom,), b.span, b.group))
    own = dict(zip(unchanged, copies, strict=True))
    return [(i, Term(b, own[i], seed.guard, seed.exists) if i in own else term) for i, term in terms]


def through(b: Builder, e: Equation, position: int, seed: Term, hint: Hint) -> Term | None:
    """The adjoint of one argument of an operation on tensors from that of the result, under its printing hint."""
    from adcli.lang.modes.recurrence_rules import adjoint_of  # only for programs with tensors
    start, term = len(b.equations), adjoint_of(b, e, position, seed, pull_back)
    return None if term is None else term.named(b, hint, start)


def receive(adjoints: Adjoints, value: Atom, term: Term) -> None:
    """Enter the one adjoint of a value."""
    assert value not in adjoints, "a value in explicit-duplication form has one adjoint"
    adjoints[value] = term


def use_hint(e: Equation, position: int, uses: NumberedUses, copied: Mapping[Atom, int]) -> Hint:
    """The printing hint of the adjoint that an argument gets from an equation."""
    value = e.args[position]
    return numbered_hint(value, serving(uses[position], copied[value])) if value in copied else adjoint_hint(value)


def adjoint_hint(value: Atom) -> Hint:
    """The printing hint of the adjoint of a value."""
    return (f"d_d{value.name}" if value.name else None, value.temp) if isinstance(value, Var) else NO_HINT


def copied_values(program: Program) -> dict[Atom, int]:
    """The values that are copied, each with the number of its uses."""
    used = Counter([a for e in program.equations for a in e.args])
    used.update([r.atom for r in program.results])
    return {a: n for a, n in used.items()
            if n > 1 and type(a) is Var and not a.truth and not a.integer and not a.whole}


def copy_name(value: Var, number: int) -> str:
    """The name of a numbered copy of a value; they are numbered as they are made, two at a time."""
    return f"{value.name or 'i'}{number}"


def serving(use: int, uses: int) -> int:
    """The number of the copy that serves a use, from 1, of so many: the first one of its two, but for the last use."""
    return 2 * use - 1 if use < uses else 2 * use - 2


class _Copies:
    """Deals out the uses of each value in order."""

    def __init__(self, program: Program) -> None:
        self.left = copied_values(program)
        self.ready: dict[Atom, list[Var]] = {}   # the last one first
        self.made: dict[Var, int] = {}
        self.equations: list[Equation] = []

    def open(self, value: Var, span: Span | None) -> None:
        """A value has been defined: copy it if more than one use will come."""
        if value in self.left:
            self.ready[value] = self.split(value, value, span)

    def read(self, args: Atoms, span: Span | None) -> Atoms:
        """The copies that serve these uses."""
        return args if self.ready.keys().isdisjoint(args) else tuple([self.use(a, span) for a in args])

    def split(self, origin: Var, value: Var, span: Span | None) -> list[Var]:
        n = self.made.get(origin, 0) + 2
        self.made[origin] = n
        first, second = [Var(copy_name(origin, i), True, False, value.shape) for i in (n - 1, n)]
        self.equations.append(Equation((first, second), DUP, (value,), span))
        return [second, first]

    def use(self, atom: Atom, span: Span | None) -> Atom:
        """The copy that serves the next use of a value."""
        copies = self.ready.get(atom)
        if copies is None or type(atom) is not Var:
            return atom
        self.left[atom] -= 1
        if len(copies) == 2:
            return copies.pop()
        if self.left[atom] == 0:
            return self.ready.pop(atom).pop()
        rest, first = self.split(atom, copies.pop(), span)
        copies.append(rest)
        return first


def duplicate(program: Program) -> Program:
    """Bring a program into explicit-duplication form: every value used at most once."""
    copies = _Copies(program)
    for p in program.params:
        copies.open(p.var, None)
    for e in program.equations:
        args = copies.read(e.args, e.span)
        copies.equations.append(e if args is e.args else Equation(e.outs, e.op, args, e.span, e.group))
        for out in e.outs:
            copies.open(out, e.span)
    results = tuple([r.with_atom(copies.use(r.atom, None)) for r in program.results])
    return replace(program, equations=tuple(copies.equations), results=results)
