"""Derivatives that are conventions: those that an operation at a kink, a tie or a jump has a part in.

There a function has no derivative, or one that its operations do not tell: the Hessian of 0.5*hypot(x, y)**2 at 0 is 1, and the
rules give 0. Such a number is compared with nothing: it has no digits and no bounds.

A derivative is the coefficient of a product of small directions, and every value has those coefficients that are not zero by
construction. At a kink all coefficients of an operation are conventions, and so is everything that one of them has a part in.
Interval arithmetic decides whether an operation is at a kink: certainly, possibly (somewhere in a box, or for want of
precision), or not.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adcli.lang.analyse.enclosure import Enclosure, InputBox, enclose, interval_values, precision, precisions
from adcli.lang.analyse.numeric_sweeps import outcomes
from adcli.lang.evaluate import FLOAT, ValuesAt
from adcli.lang.ir import JUMP, KINK, LEVELS, SMOOTH, Atom, Equation, Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.sparsity.sparsity import interactions, passing

SELECT, STOP = TABLE["select"], TABLE["stop"]


class Convention(NamedTuple):
    """Level of the kink or jump at which a derivative is a convention, and if that is certain."""

    certain: bool
    level: int

    def __str__(self) -> str:
        return "may be " * (not self.certain) + f"by convention at a {LEVELS[self.level]}"


NO_CONVENTION = Convention(False, SMOOTH)


class AskedDerivative(NamedTuple):
    """A derivative of the outputs `of`, taken once along each entry of `along`: inputs that move together."""

    of: Collection[str]
    along: Sequence[Collection[str]]


Degrees = tuple[int, ...]
"""How often each direction is in a product of directions."""
Coefficients = Mapping[Degrees, Convention]
"""The coefficients of a value that are not zero by construction."""
Rough = Mapping[Equation, Sequence[tuple[Convention, int | None]]]
"""Kinks and jumps by operation, each with the argument that must move for it to count."""


def conventions(primal: Program, box: InputBox, asked: Sequence[AskedDerivative]) -> list[Convention]:
    """The kink or jump at which each derivative of a scalar program is a convention, at a point or in a box."""
    values, rough = rough_operations(primal, box) if any(d.along for d in asked) else ({}, {})
    return [CoefficientSweep(primal, values, rough, d).found() if rough else NO_CONVENTION for d in asked]


def enclosed(program: Program, box: InputBox, primal: Program, asked: Sequence[AskedDerivative]) -> Enclosure:
    """Bounds of the results of `program`, which are the derivatives `asked` of `primal`. One that is a convention has none."""
    known, own = enclose(program, box), {p.name: box[p.name] for p in primal.params}
    found = conventions(primal, own, asked)
    if known.pieces and any(c.level and not c.certain for c in found):
        parts = [conventions(primal, {x: piece[x] for x in own}, asked) for piece in known.pieces]
        found = [Convention(all(c.certain for c in each), max(c.level for c in each)) for each in zip(*parts, strict=True)]
    bounds = [(-math.inf, math.inf) if c.certain else b for b, c in zip(known.bounds, found, strict=True)]
    decorations = ["trv" if c.level else d for d, c in zip(known.decorations, found, strict=True)]
    undefined = ["everywhere" if c.certain else u for u, c in zip(known.undefined, found, strict=True)]
    return replace(known, bounds=bounds, decorations=decorations, undefined=undefined,
                   conventions=[str(c) if c.level else "" for c in found])


def rough_operations(primal: Program, box: InputBox) -> tuple[Mapping[Any, Any], Rough]:
    """The operations that may be at a kink or a jump, at rising precision while that is open, with the values of everything."""
    values = ValuesAt(FLOAT)
    rough: Rough = {}
    looked = [e for e in primal.equations if any(s.level in (KINK, JUMP) for s in e.op.status)]
    for bits in precisions(primal, box) if looked else ():
        with precision(bits):
            values = interval_values(primal, box)
            rough = rough_among(looked, values)
        if all(c.certain for each in rough.values() for c, _ in each):
            break
    return values, rough


def rough_among(equations: Iterable[Equation], values: ValuesAt) -> Rough:
    """The operations that are at a kink or a jump, or may be."""
    rough: dict[Equation, list[tuple[Convention, int | None]]] = {}
    for e in equations:
        for status, holds in outcomes(e, values) if e.op.status else ():
            if status.level in (KINK, JUMP) and holds is not False:
                rough.setdefault(e, []).append((Convention(holds is True, status.level), status.needs))
    return rough


def conventions_met(program: Program, values: ValuesAt, asked: Sequence[AskedDerivative]) -> list[tuple[int, Equation] | None]:
    """The level of what each derivative is a convention at, among these values of doubles, with the first operation to blame."""
    rough = rough_among(program.equations, values)
    found = []
    for d in asked if rough else ():
        own = CoefficientSweep(program, values, rough, d).found()
        found.append(None if not own.level else next(
            (own.level, e) for e in rough if CoefficientSweep(program, values, {e: rough[e]}, d).found() == own))
    return found or [None] * len(asked)


class CoefficientSweep:
    """The coefficients of all values up to those of one derivative."""

    def __init__(self, primal: Program, values: Mapping[Any, Any], rough: Rough, asked: AskedDerivative) -> None:
        self.primal, self.values, self.rough, self.asked = primal, values, rough, asked
        self.directions = list(dict.fromkeys(map(frozenset, asked.along)))
        self.most = tuple([sum(d == set(each) for each in asked.along) for d in self.directions])
        self.known: dict[Atom, Coefficients] = {}

    def found(self) -> Convention:
        for p in self.primal.params:
            own = {tuple([int(d is other) for other in self.directions]): NO_CONVENTION
                   for d in self.directions if p.name in d}
            if own:
                self.known[p.var] = own
        for e in self.primal.equations:
            if not self.known.keys().isdisjoint(e.args) and (found := joined(self.of_operation(e))):
                self.known.update(dict.fromkeys(e.outs, found))
        wanted = [self.at(r.atom).get(self.most, NO_CONVENTION) for r in self.primal.results if r.name in self.asked.of]
        return max(wanted, default=NO_CONVENTION)

    def at(self, atom: Atom) -> Coefficients:
        return self.known.get(atom, {})

    def of_operation(self, e: Equation) -> Iterator[Coefficients]:
        """The coefficients that each of the ways through an operation gives its result."""
        args = [self.at(a) for a in e.args]
        for convention, needs in self.rough.get(e, ()):
            yield marked(self.products(args if needs is None else [args[needs]], args), convention)
        if e.op is SELECT:
            yield from self.of_choice(self.values[e.args[0]], args)
        elif e.op.truth:
            yield from args if all(e.op.kind(i) == "t" for i in range(len(args))) else map(jumping, args)
        elif e.op is not STOP and e.op.pieces != "step":
            meets = interactions(e)
            yield from (args[i] for i in passing(e))
            if any(i in others for i, others in enumerate(meets)):
                yield self.products([args[i] for i in passing(e)], ())
            else:
                yield from (self.product(args[i], args[j]) for i, others in enumerate(meets) for j in others if i < j)

    def of_choice(self, condition: bool | None, args: Sequence[Coefficients]) -> Iterator[Coefficients]:
        """Those of the arm that is taken, and of everything where the condition itself is at a tie."""
        decided, *arms = args
        taken = arms if condition is None else [arms[not condition]]
        yield from taken if condition is not None else ({d: c._replace(certain=False) for d, c in arm.items()} for arm in arms)
        yield self.products([decided], arms)

    def product(self, first: Coefficients, second: Coefficients) -> Coefficients:
        """The products of one coefficient of each that are no higher than asked for."""
        return joined({degrees: max(c, d)} for a, c in first.items() for b, d in second.items()
                      if all(map(int.__le__, degrees := tuple(map(int.__add__, a, b)), self.most)))

    def products(self, first: Sequence[Coefficients], others: Sequence[Coefficients]) -> Coefficients:
        """The products of any number of coefficients, one at least of `first`, that are no higher than asked for."""
        found = todo = joined(first)
        factors = joined([*first, *others])
        while todo:
            more = self.product(todo, factors)
            todo = {d: c for d, c in more.items() if d not in found or found[d] < c}
            found = joined([found, todo])
        return found


def joined(several: Iterable[Coefficients]) -> Coefficients:
    """The coefficients of a sum: a convention where one of them is one."""
    found: dict[Degrees, Convention] = {}
    for each in several:
        for degrees, convention in each.items():
            found[degrees] = max(convention, found.get(degrees, NO_CONVENTION))
    return found


def jumping(coefficients: Coefficients) -> Coefficients:
    """Those of a value that is compared which may turn the comparison: it may jump over what it is compared with."""
    return {degrees: own for degrees, own in coefficients.items() if own.level == JUMP}


def marked(coefficients: Coefficients, convention: Convention) -> Coefficients:
    return {degrees: max(convention, own) for degrees, own in coefficients.items()}
