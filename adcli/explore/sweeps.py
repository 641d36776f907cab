"""The derivative programs that a page shows, each line with the operation it came from, and one program of all their values.

An operation is an equation of the program, by its number. Passes hand the spans of equations on and never read them; so in the
`numbered` program the number stands in place of the span, and every line of every derivative program knows where it is from. What
is there for an input alone, as the copies of it, has the number −1 − k, for input k.

`Shown.everything` computes all that is to be seen: each value, its tangent and its adjoint, the adjoints of copies, and the
status. Its inputs are those of the program, a tangent for each input and a cotangent for each output; the zero rule for seeds
holds, as everywhere. Where only one seed can be chosen, it is 1.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var, substitute
from adcli.lang.ir.build import Builder
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.modes.duplicate import duplicate
from adcli.lang.modes.forward import EmittedSweep, jvp_with_sweep
from adcli.lang.modes.reverse import vjp_with_sweep
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify

DUP = TABLE["dup"]


@dataclass(frozen=True, eq=False)
class Shown:
    """The programs of the panes, and `everything`, whose last result is the status.

    `seen` has for each variable of a pane the result of `everything` that is its value; `tangents` and `adjoints` those of the
    tangent and the adjoint of a variable of the primal. `guards` says of such a result that no line of a pane makes, as under an
    arm of a `select`, when it exists (truth values, each as it is or negated), and the result that it is then. `tangent_seeds`
    and `cotangent_seeds` are the inputs of `everything` that come behind those of the program; a seed that is always 1 is none
    of them.
    """

    primal: Program
    forward: Program
    reverse: Program
    simplified: Program
    everything: Program
    tangent_seeds: tuple[Param, ...]
    cotangent_seeds: tuple[Param, ...]
    seen: dict[Atom, int]
    tangents: dict[Atom, int]
    adjoints: dict[Atom, int]
    guards: dict[int, tuple[list[tuple[int, bool]], int]]


def numbered(program: Program) -> Program:
    """The program with the number of each equation in place of its span."""
    return replace(program, equations=tuple(
        Equation(e.outs, e.op, e.args, (k, k), e.group) for k, e in enumerate(program.equations)))


def copies_numbered(program: Program) -> Program:
    """A program in explicit-duplication form with the number of the input in copies of inputs."""
    place: dict[Atom, int] = {p.var: -1 - k for k, p in enumerate(program.params)}
    equations = []
    for e in program.equations:
        if e.span is None and e.args and e.args[0] in place:
            place.update(dict.fromkeys(e.outs, place[e.args[0]]))
            e = Equation(e.outs, e.op, e.args, (place[e.args[0]],) * 2, e.group)
        equations.append(e)
    return replace(program, equations=tuple(equations))


def apart(program: Program) -> Program:
    """The program with variables of its own, but for the inputs."""
    outs = [o for e in program.equations for o in e.outs]
    return substitute(program, {o: Var(o.name, o.temp, o.truth, o.shape, False, o.whole) for o in outs})


def shown(program: Program, wrt: Sequence[str], of: Sequence[str]) -> Shown:
    """All programs of a page about `program`. Time is linear in the number of equations."""
    primal = numbered(program)
    own = apart(primal)
    forward, tangents = jvp_with_sweep(primal, wrt, of)
    reverse, adjoints = vjp_with_sweep(copies_numbered(duplicate(own)), wrt, of)
    results: dict[Atom, int] = {}

    def result(atom: Atom) -> int:
        return results.setdefault(atom, len(results))

    inputs: dict[Atom, Atom] = {p.var: p.var for p in primal.params}
    same = inputs | dict(zip(defined(own), defined(primal), strict=True))   # a variable of the reverse program, and of the primal
    seen = {v: result(as_number(tangents.b, v)) for v in same.values()}
    ahead = derivatives(tangents, [r.atom for r in primal.results if r.name in of], forward.results[len(primal.results):])
    back = derivatives(adjoints, [p.var for p in primal.params if p.name in wrt], reverse.results[len(primal.results):])
    of_tangents, of_adjoints = ({v: result(atom) for v, atom in found.items()} for found in (ahead, back))
    for sweep, found in ((tangents, of_tangents), (adjoints, of_adjoints)):
        for v, term in sweep.terms.items():
            seen.setdefault(term.atom, found[v])
    seen |= {v: seen[x] for v, x in same.items()}
    for e in reverse.equations:
        if e.op is DUP and e.args[0] in seen:
            for out in e.outs:
                seen.setdefault(out, seen[e.args[0]])
    for sweep, derived in ((tangents, forward), (adjoints, reverse)):
        for v in defined(derived):   # what stands inside of a rule
            if v not in seen:
                seen[v] = result(as_number(sweep.b, v))
    lines = {*seen.values()}
    guards = {found[v]: ([(seen[c], holds) for c, holds in term.guard], seen[term.atom])
              for sweep, found in ((tangents, of_tangents), (adjoints, of_adjoints)) for v, term in sweep.terms.items()
              if term.guard and found[v] not in lines}
    rough = with_status(replace(reverse, equations=tuple(adjoints.b.equations)), primal, wrt)
    names = Names.of(rough)
    ends = (*[Result(names.fresh("r"), a) for a in results], Result(names.fresh("status"), rough.results[-1].atom))
    first, second = (seeds_of(sweep, names) for sweep in (tangents, adjoints))
    given = (*[replace(p, seed=None) for p in primal.params], *first.params, *second.params)
    merged = Program(given, (*tangents.b.equations, *rough.equations), ends, program.source)
    of_primal = {same[v]: k for v, k in of_adjoints.items() if v in same}
    return Shown(primal, forward, reverse, run(reverse, [simplify]), substitute(merged, first.ones | second.ones),
                 first.params, second.params, seen, of_tangents, of_primal, guards)


def derivatives(sweep: EmittedSweep, ends: Sequence[Atom], results: Sequence[Result]) -> dict[Atom, Atom]:
    """The derivative of each value of a sweep; at its ends these are the results of the derivative program, which has lines for
    them."""
    said = {v: r.atom for v, r in zip(ends, results, strict=True) if isinstance(v, Var) and isinstance(r.atom, Var)}
    return {v: sweep.derivative(v) for v in sweep.terms if v not in said} | said


def as_number(b: Builder, atom: Atom) -> Atom:
    """A truth value as 1 or 0, any other as it is: results are numbers."""
    return select(b.expr(atom), 1, 0).atom if isinstance(atom, Var) and atom.truth else atom


def defined(program: Program) -> list[Atom]:
    return [o for e in program.equations for o in e.outs]


class Seeds(NamedTuple):
    """The seeds of a sweep that can be chosen; else the only one, which is 1."""

    params: tuple[Param, ...]
    ones: dict[Atom, Atom]


def seeds_of(sweep: EmittedSweep, names: Names) -> Seeds:
    if len(sweep.seeds) == 1 and not sweep.seeds[0].var.shape:
        return Seeds((), {sweep.seeds[0].var: Lit(1.0)})
    return Seeds(tuple([replace(p, name=names.fresh(p.name)) for p in sweep.seeds]), {})
