"""Reverse mode: each line gets its adjoint line, in reverse order after the program; no rule looks at another line.

It is given in explicit-duplication form (`adcli.lang.passes.duplicate`), so every value receives at most one adjoint: the
adjoint of x in z = f(x, y) is the map of f at x applied to the adjoint of z, and where a value was copied, the rule of `dup`
adds.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Program, Result, Var, shape_of
from adcli.lang.ir.activity import active_values
from adcli.lang.ir.build import NO_HINT, Builder, Hint
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes.duplicate import duplicated
from adcli.lang.passes.forward import NO_SEEDS, EmittedSweep, seeded, strip_seeds, unit
from adcli.lang.passes.guards import Term, contribution, result, total
from adcli.lang.passes.seed_masks import masks, positions, union

DUP = TABLE["dup"]
Adjoints = dict[Atom, Term]
NO_EQUATIONS: Mapping[Equation, Equation] = {}


def vjp(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> Program:
    """Results and the adjoints of inputs: inputs gain `d_dv` for every result v in `of`, results gain `d_dx`. The program is in
    explicit-duplication form."""
    return vjp_with_sweep(program, wrt, of)[0]


def vjp_with_sweep(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> tuple[Program, EmittedSweep]:
    """The same, with the sweep, which has the adjoints of all values and of all their copies."""
    names, b = Names.of(program), Builder()
    b.equations.extend(program.equations)
    chosen = [r for r in program.results if of is None or r.name in of]
    seeds = tuple(seeded(names.fresh(f"d_d{r.name}"), r.atom, r.name) for r in chosen)
    adjoints: Adjoints = {r.atom: Term(b.expr(s.var)) for r, s in zip(chosen, seeds, strict=True)}
    pull_back(b, program.equations, adjoints, active_values(program, wrt))
    sweep = EmittedSweep(b, seeds, adjoints)
    derivatives = [Result(names.fresh(f"d_d{p.name}"), sweep.derivative(p.var)) for p in program.params if p.name in wrt]
    return replace(program, params=strip_seeds(program) + seeds, equations=tuple(b.equations),
                   results=(*program.results, *derivatives)), sweep


def partials(b: Builder, program: Program, groups: Sequence[Sequence[str]], wrt: Collection[str],
             units: Mapping[str, Var] = NO_SEEDS) -> dict[tuple[int, str], Atom]:
    """Append one reverse sweep for each group of results, whose seeds are 1, or their tensors in `units`, to the program's
    equations, which stand in `b`.

    Returns the adjoint of every input in `wrt` for each group that it reaches: the sum of the partial derivatives of the group's
    results. Adjoints flow through copies of values; what their lines read are the values.
    """
    linear, plain = duplicated(program)
    wanted, active, found = set(wrt), active_values(linear, wrt), {}
    inputs = [(p.name, p.var) for p in linear.params if p.name in wanted]
    results = {r.name: r.atom for r in linear.results}
    ones = {results[name]: seed for name, seed in units.items()}
    seeds = [[results[name] for name in group] for group in groups]
    for i, equations in enumerate(reached(linear, seeds, active)):
        adjoints: Adjoints = {atom: unit(b, ones.get(atom)) for atom in seeds[i]}
        pull_back(b, equations, adjoints, active, plain)
        found.update({(i, x): result(b, adjoints[v]) for x, v in inputs if v in adjoints})
    return found


def reached(program: Program, seeds: Sequence[Sequence[Atom]], active: set[Atom]) -> list[list[Equation]]:
    """For each group of seeds the equations that its sweep goes through, in the order of the program."""
    reach = masks(seeds)
    found: list[list[Equation]] = [[] for _ in seeds]
    there = reach.get
    for e in reversed(program.equations):
        outs = e.outs
        mask = there(outs[0], 0) if len(outs) == 1 else union(reach, outs)
        if mask and not active.isdisjoint(outs):
            for a in e.args:
                if a in active:
                    reach[a] = there(a, 0) | mask
            for i in positions(mask):
                found[i].append(e)
    for equations in found:
        equations.reverse()
    return found


def pull_back(b: Builder, equations: Sequence[Equation], adjoints: Adjoints, active: set[Atom],
              plain: Mapping[Equation, Equation] = NO_EQUATIONS) -> None:
    """The reverse sweep: emit the adjoint line of every equation whose result has an adjoint, last equation first. Lines read
    what the `plain` equations do, where there are other ones than those in copies."""
    for e in reversed(equations):
        outs = e.outs
        if outs[0] in adjoints or (len(outs) > 1 and not adjoints.keys().isdisjoint(outs)):
            b.group += 1
            b.span = e.span
            adjoint_line(b, e, adjoints, active, plain.get(e, e))


def adjoint_line(b: Builder, e: Equation, adjoints: Adjoints, active: set[Atom], plain: Equation) -> None:
    if e.op is DUP:
        value = e.args[0]
        if value in active:
            receive(adjoints, value, total(b, [adjoints.get(o) for o in e.outs], adjoint_hint(value)))
        return
    if e.op.tensors:
        from adcli.lang.passes.tensor_rules import adjoints_of_loop  # only for programs with tensors
        positions = [i for i, a in enumerate(e.args) if a in active]
        found = adjoints_of_loop(b, plain, adjoints, positions, pull_back, adjoint_hint)
        if found is not None:
            for i, pulled in found.items():
                receive(adjoints, e.args[i], pulled)
            return
    seed, unchanged = adjoints[e.outs[0]], []
    for i, a in enumerate(e.args):
        if a in active:
            term = (through if e.op.tensors else contribution)(b, plain, i, seed, adjoint_hint(a))
            if term is None:
                continue
            receive(adjoints, a, term)
            if term is seed or (term.value.atom is seed.value.atom and term.guard == seed.guard):
                unchanged.append(a)
    if len(unchanged) == 2 and isinstance(seed.value.atom, Var):
        copies = tuple(Var(adjoint_hint(a)[0], True, shape=shape_of(a)) for a in unchanged)
        b.equations.append(Equation(copies, DUP, (seed.value.atom,), b.span, b.group))
        adjoints.update({a: Term(b.expr(c), seed.guard, seed.exists) for a, c in zip(unchanged, copies, strict=True)})


def through(b: Builder, e: Equation, position: int, seed: Term, hint: Hint) -> Term | None:
    """The adjoint of one argument of an operation on tensors from that of the result, under its printing hint."""
    from adcli.lang.passes.tensor_rules import adjoint_of  # only for programs with tensors
    start, term = len(b.equations), adjoint_of(b, e, position, seed, pull_back)
    return None if term is None else term.named(b, hint, start)


def receive(adjoints: Adjoints, value: Atom, term: Term | None) -> None:
    """Enter the one adjoint of a value."""
    if term is not None:
        assert value not in adjoints, "a value in explicit-duplication form has one adjoint"
        adjoints[value] = term


def adjoint_hint(value: Atom) -> Hint:
    """What the adjoint of a value is called."""
    return (f"d_d{value.name}" if value.name else None, value.temp) if isinstance(value, Var) else NO_HINT
