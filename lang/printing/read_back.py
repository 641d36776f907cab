"""A reader's knowledge of a text, which the printer asks for before it leaves anything out.

The reader looks ahead for all elements that a block writes, which are the extent along the step of a loop, and refuses a read of
an element that nothing has written: so it is found here where a zero that no statement writes is to be told. The reads of a body
stand under conditions on places, which say how far they bound the indices (`adcli.lang.sizes.ranges`): they are gathered here as
a reader finds them.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from adcli.lang.ir import Atom, Equation, Lit, Program, Var, shape_of
from adcli.lang.ir.affine import Affine, Extreme, affine, nested
from adcli.lang.operations.comprehension import BodySource, Read, Subscript, nested_reads
from adcli.lang.operations.matrix import Boxed, elements_read
from adcli.lang.operations.recurrence import Recurrence, loops, step_place, step_places, whole_statements
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, UNKNOWN, EitherWay, Where, compared, under
from adcli.lang.sizes.histories import Box, Gappy, Interval, WrittenElements, box_of, missing, written_box


def writes(e: Equation[Recurrence]) -> Iterator[tuple[Var, tuple[int, Interval]]]:
    """The histories that the statements of a loop write, with the subscript that has the step and the elements there."""
    for s in whole_statements(e):
        if (at := step_place(s.op, e.op.step)) is not None:
            yield s.outs[0], (at[0], (e.op.low + at[1], e.op.high + at[1]))


def single(op: Boxed, place: int) -> Affine | None:
    """The one element along a dimension that a comprehension writes, where it does."""
    at = op.write[place] if place < len(op.write) else None
    return at if isinstance(at, Affine) and not at.indices() else None


def planned(program: Program, names: Mapping[Var, str]) -> dict[str, WrittenElements]:
    """All elements along the step that statements write, of the tensors that loops assign, by name."""
    found: dict[str, WrittenElements] = {}
    for e in loops(program.equations):
        for out, (place, interval) in writes(e):
            found[names[out]] = found.get(names[out], WrittenElements(place)).also(place, interval)
    for e in program.equations if found else ():
        history = found.get(name := names[e.outs[0]])
        if history and isinstance(e.op, Boxed) and (at := single(e.op, history.place)) is not None:
            found[name] = history.also(history.place, (at, at + 1))
    return found


def told(program: Program, names: Mapping[Var, str], histories: Mapping[str, WrittenElements]) -> set[Var]:
    """The values behind which the text has to say that all of them is there: zero where no statement writes."""
    known: dict[Atom, Gappy] = {}
    origin: dict[Atom, Var] = {}
    found: set[Var] = set()
    for e in program.equations if histories else ():
        if isinstance(e.op, Boxed):
            (out,) = e.outs
            found |= lacking([e], known, origin)
            if (history := histories.get(names[out])) is not None:
                before = e.op.start(e)
                keep(known, origin, out, before or Lit(0.0), before is None, history.place, [written_box(e.op)])
        elif isinstance(e.op, Recurrence):
            statements = whole_statements(e)
            for before, out in e.op.started(e):
                own = [s.op for s in statements if s.outs[0] is out]
                if all(op.onto is None for op in own):
                    boxes = [written_box(op) for op in own]
                    fresh = isinstance(before, Lit) and before.value == 0
                    keep(known, origin, out, before, fresh, step_places(statements, e.op.step)[out], boxes)
            found |= lacking(statements, known, origin)
    for r in program.results if known else ():
        if r.atom in known and missing(whole(r.atom), known[r.atom].boxes, (), known[r.atom].place):
            found.add(origin[r.atom])
    return found


def keep(known: dict[Atom, Gappy], origin: dict[Atom, Var], out: Var, before: Atom, fresh: bool, place: int,
         boxes: Iterable[Box | None]) -> None:
    """Remember what of a value is written, by these boxes and before."""
    gappy = Gappy(place) if fresh else known.get(before)
    own = [b for b in boxes if b is not None]
    if gappy is not None:
        known[out], origin[out] = gappy.also(*own), origin.get(before, out)


def lacking(equations: Iterable[Equation], known: Mapping[Atom, Gappy], origin: Mapping[Atom, Var]) -> set[Var]:
    """Where the values start of which these equations read an element that is not surely written."""
    found = set()
    for e in equations:
        facts = [r.high - r.low - 1 for r in e.op.ranges]
        for atom, subscripts in elements_read(e, e.op):
            gappy = known.get(atom)
            if gappy is not None and missing(read_box(e.op, atom, subscripts), gappy.boxes, facts, gappy.place):
                found.add(origin[atom])
    return found


def read_box(op: Boxed, atom: Atom, subscripts: tuple[Subscript, ...]) -> Box:
    own = box_of([s if isinstance(s, Affine) else affine(0) for s in subscripts], op.ranges, op.guards)
    assert own is not None, "no subscript is gathered"
    everything = whole(atom)
    read = [b if isinstance(s, Affine) else w for s, b, w in zip(subscripts, own, everything, strict=False)]
    return (*read, *everything[len(read):])


def whole(atom: Atom) -> Box:
    return tuple((affine(0), extent) for extent in shape_of(atom))


# ---------------------------------------------------------------- what is read under conditions

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
