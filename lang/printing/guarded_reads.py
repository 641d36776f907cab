"""The reads of a body, with the conditions on places under which a reader of its text finds them: these say how far they bound
the indices (`adcli.lang.sizes.ranges`), so a printer that leaves ranges out must see them as a reader does."""
from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from adcli.lang.ir import Atom, Equation, Lit
from adcli.lang.ir.affine import Affine, Extreme, affine, nested
from adcli.lang.operations.comprehension import BodySource, Read, nested_reads
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, UNKNOWN, EitherWay, Where, compared, under

GuardedRead = tuple[Read, Where]


class BodyReads:
    """Reads and conditions of the values of a body, gathered while its text is made."""

    def __init__(self, sources: Mapping[Atom, BodySource], places: Mapping[Atom, Affine]) -> None:
        """`places` are the inputs that are expressions of indices and sizes for a reader."""
        self.reads: dict[Atom, list[GuardedRead]] = {
            v: [(r, EVERYWHERE) for r in nested_reads([s])] for v, s in sources.items()}
        self.places: dict[Atom, tuple[Affine, int]] = {v: (x, 1) for v, x in places.items() if readable(x)}
        self.sides: dict[Atom, EitherWay[Affine]] = {}   # of conditions that are made of comparisons
        self.speaking: set[Atom] = set()   # conditions that compare places
        self.unsure: set[Atom] = set()   # those of which it is not known what a reader makes of them
        self.named: list[GuardedRead] = []

    def is_guard(self, e: Equation) -> bool:
        """Test for a choice between reads by a comparison of places."""
        return e.op.name == "select" and e.args[0] in self.speaking and any(map(self.reads.get, e.args[1:]))

    def enter(self, e: Equation, apart: bool, plain: bool) -> None:
        """A line of the body; `apart`: its operands are written so that a reader makes no sum of them; `plain`: all that it is
        made of are places."""
        out, name = e.outs[0], e.op.name
        places = [(affine(a.integer), 1) if isinstance(a, Lit) and a.integer is not None else self.places.get(a) for a in e.args]
        if name == "div" and not apart and places[0] and places[1] and places[0][1] == places[1][1] == 1:
            if (by := places[1][0].number) is not None and by > 0:
                self.places[out] = places[0][0], by
        elif name in COMPARISONS:
            self.comparison(e, [p for p in places if p], plain)
        elif name in ("and", "or", "not") and all(a in self.sides for a in e.args):
            first, *others = [self.sides[a] for a in e.args]
            self.sides[out] = first.negated() if not others else (first.also if name == "and" else first.either)(others[0])
            for found in (self.speaking, self.unsure):
                found.update([out] * (not found.isdisjoint(e.args)))
        parts = [self.reads.get(a, []) for a in e.args]
        if name in ("select", "and", "or"):
            sides = self.sides.get(e.args[0], UNKNOWN)
            outcomes = (sides.holds, sides.fails) if name == "select" else (sides.holds if name == "and" else sides.fails,)
            parts[1:] = [[(r, under(where, pieces)) for r, where in part]
                         for part, pieces in zip(parts[1:], outcomes, strict=True)]
        self.reads[out] = list(chain(*parts))

    def comparison(self, e: Equation, places: list[tuple[Affine, int]], plain: bool) -> None:
        out = e.outs[0]
        self.sides[out] = UNKNOWN
        if len(places) == 2:
            (left, by), (right, its) = places
            self.sides[out] = compared(e.op.name, left * its, right * by)
            self.speaking.add(out)
        elif plain:
            self.speaking.add(out)
            self.unsure.add(out)

    def name(self, v: Atom) -> None:
        """A value gets a name of its own: what it reads is under no condition of the place where the name stands."""
        self.named += self.reads.pop(v, [])
        self.sides.pop(v, None)
        self.places.pop(v, None)
        self.speaking.discard(v)

    def all_of(self, result: Atom) -> list[GuardedRead]:
        """The reads of the whole text."""
        return [*self.named, *self.reads.get(result, [])]


def readable(x: Affine) -> bool:
    """Test for an expression that a condition may compare: the least of several is none."""
    return not any(isinstance(a, Extreme) for part in nested(x) for a, _ in part.terms)

