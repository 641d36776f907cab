"""Forward mode: each line gets its tangent line, and no rule looks at another line.

The tangent of z = f(x, y) is the sum of the maps of f applied to the tangents of x and y. It stands directly behind the line
it belongs to, so a value and its tangent can be dropped together.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Param, Program, Result, Var, shape_of
from adcli.lang.ir.build import Builder
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.modes.guards import ONE, Term, contributions, result
from adcli.lang.operations.activity import masks, needed_values, positions

DUP = TABLE["dup"]
Tangents = dict[Atom, Term]
FIRST, SECOND, BOTH = (0,), (1,), (0, 1)
"""Positions of arguments of an operation of two."""
NO_SEEDS: Mapping[str, Var] = {}


class EmittedSweep(NamedTuple):
    """A sweep as it was emitted into `b`: the inputs that are its `seeds`, and the `terms` of what has a derivative."""

    b: Builder
    seeds: tuple[Param, ...]
    terms: dict[Atom, Term]

    def derivative(self, atom: Atom) -> Atom:
        """The derivative of a value, zero where it does not exist; what that takes is emitted behind the sweep."""
        return result(self.b, self.terms.get(atom), shape_of(atom))


def jvp(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> Program:
    """Results and their tangents along a direction: inputs gain `dx` for every x in `wrt`, results gain `dv`.

    An input not in `wrt` has no tangent at all. `of` chooses the results that get a tangent, all by default.
    """
    return jvp_with_sweep(program, wrt, of)[0]


def jvp_with_sweep(program: Program, wrt: Collection[str], of: Collection[str] | None = None) -> tuple[Program, EmittedSweep]:
    """The tangent program and its sweep, which has the tangents of all values."""
    names, b = Names.of(program), Builder()
    seeds = tuple(seeded(names.fresh(f"d{p.name}"), p.var, p.name) for p in program.params if p.name in wrt)
    inputs = {p.name: p.var for p in program.params}
    tangents: Tangents = {inputs[s.seed or ""]: Term(b, s.var) for s in seeds}
    for e in program.equations:
        b.equations.append(e)
        b.group += 1
        push_forward(b, e, tangents, "d%s")
    sweep, chosen = EmittedSweep(b, seeds, tangents), [r for r in program.results if of is None or r.name in of]
    derivatives = [Result(names.fresh(f"d{r.name}"), sweep.derivative(r.atom)) for r in chosen]
    return replace(program, params=strip_seeds(program) + seeds, equations=tuple(b.equations),
                   results=(*program.results, *derivatives)), sweep


def partials(b: Builder, program: Program, groups: Sequence[Sequence[str]], of: Collection[str],
             seeds: Mapping[str, Var] = NO_SEEDS) -> dict[tuple[str, int], Atom]:
    """Append the program's equations with one tangent sweep for each group of inputs, whose seeds are 1; of inputs that have
    `seeds` these, whose elements exist where they are not 0.

    Returns the tangent of every result in `of` along each group that reaches it: the sum of its partial derivatives with
    respect to the inputs of the group. Where the group's columns do not meet in a row, that is the one entry of the row. A value
    that no result in `of` depends on has no tangent.
    """
    inputs = {p.name: p.var for p in program.params}
    tangents: list[Tangents] = [{inputs[x]: unit(b, seeds.get(x)) for x in group} for group in groups]
    names = [f"d%s_d{group[0]}" if len(group) == 1 else f"d%s_c{i}" for i, group in enumerate(groups, 1)]
    reach, needed, append = masks(tangents), needed_values(program, of), b.equations.append
    reached_by = reach.get
    for e in program.equations:
        append(e)
        outs, args, mask = e.outs, e.args, 0
        for a in args:
            mask |= reached_by(a, 0)
        if mask and not e.op.truth and not needed.isdisjoint(outs):
            for out in outs:
                reach[out] = mask
            long = active_arguments(e, reach) if len(args) > LONG else NONE_TOLD
            for i in positions(mask):
                b.group += 1
                push_forward(b, e, tangents[i], names[i], long.get(i))
    return {(r.name, i): tangent(b, r.atom, tangents[i])
            for r in program.results if r.name in of for i in positions(reach.get(r.atom, 0))}


def unit(b: Builder, seed: Var | None) -> Term:
    """The seed of a sweep: 1, or a tensor that is not everywhere 0."""
    return Term(b, ONE) if seed is None else Term(b, seed, (), seed)


LONG = 3
"""Arguments of one operation beyond which each sweep is told which of them it comes through, instead of looking at all."""
NONE_TOLD: Mapping[int, Sequence[int]] = {}


def active_arguments(e: Equation, reach: Mapping[Atom, int]) -> Mapping[int, Sequence[int]]:
    """For each sweep the positions of the arguments that it reaches."""
    found: dict[int, list[int]] = {}
    for position, a in enumerate(e.args):
        for i in positions(reach.get(a, 0)):
            found.setdefault(i, []).append(position)
    return found


def push_forward(b: Builder, equation: Equation, tangents: Tangents, name: str, reached: Sequence[int] | None = None) -> None:
    """Emit the tangent line of one equation and enter the tangent of what it defines, whose name is `name` with its own for %s;
    `reached` are the positions of the only arguments that can have a tangent, where that is known."""
    op, args, there = equation.op, equation.args, tangents.get
    active: tuple[int, ...]
    if len(args) == 2 and reached is None:   # as most of a long program
        first, second = there(args[0]), there(args[1])
        if first is not None:
            active, seeds = (FIRST, [first]) if second is None else (BOTH, [first, second])
        elif second is not None:
            active, seeds = SECOND, [second]
        else:
            return
    else:
        active = tuple([i for i in (range(len(args)) if reached is None else reached) if args[i] in tangents])
        seeds = [tangents[args[i]] for i in active]
    if not active or op.truth or all(out.whole for out in equation.outs):
        return
    b.span = equation.span
    if op is DUP:
        seed = seeds[0]
        copies = tuple(Var(name % o.name, o.temp, shape=o.shape) if o.name else Var(temp=True, shape=o.shape)
                       for o in equation.outs)
        b.equations.append(Equation(copies, op, (seed.atom,), b.span, b.group))
        tangents.update({o: Term(b, c, seed.guard, seed.exists) for o, c in zip(equation.outs, copies, strict=True)})
        return
    if op.tensors:
        from adcli.lang.modes.recurrence_rules import tangents_of  # only for programs with tensors
        tangents.update(tangents_of(b, equation, tangents, push_forward, lambda v: (v.name and name % v.name, v.temp)))
        return
    out = equation.outs[0]
    hint = name % out.name if out.name else None, out.temp
    term = contributions(b, equation, active, seeds, hint)
    if term is not None:
        tangents[out] = term


def tangent(b: Builder, atom: Atom, tangents: Tangents) -> Atom:
    return result(b, tangents.get(atom), shape_of(atom))


def seeded(name: str, value: Atom, seed: str) -> Param:
    """The input that is the tangent of an input or the cotangent of a result: of the same shape."""
    return Param(Var(name, shape=shape_of(value)), name, seed=seed)


def strip_seeds(program: Program) -> tuple[Param, ...]:
    """The inputs of a program that is differentiated once more: its own seeds are now inputs like any other."""
    return tuple([replace(p, seed=None) if p.seed else p for p in program.params])

