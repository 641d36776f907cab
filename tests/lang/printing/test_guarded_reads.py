"""Reads of a body that is printed: what is known where each of them is done."""
from __future__ import annotations

import operator
from itertools import product
from random import Random

from adcli.lang.ir import Atom, Equation, Lit, Var
from adcli.lang.ir.affine import Affine, Index, affine, greatest, value
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import BodySource, Read
from adcli.lang.printing.read_back import BodyReads
from adcli.lang.sizes.condition_dnf import COMPARISONS, EVERYWHERE, UNTOLD, Where
from session_seed import drawn

ROW = Index("i")
SOMEWHERE: Where = ((UNTOLD,),)
FIRST, SECOND, NUMBER = Read(0, (affine(ROW),)), Read(1, (affine(ROW) - 1,)), Read(2, ())
POINTS = [{ROW: i, "N": n} for i, n in product(range(-1, 8), range(1, 5))]


class Written:
    """A body that is told line by line, with the numbers that its lines have at every point."""

    def __init__(self) -> None:
        places: dict[Atom, Affine] = {Var(None): x for x in (affine(ROW), affine("N") - 1, affine(ROW) * 2 + 1)}
        self.first, self.second, self.number = Var(None), Var(None), Var(None)
        sources: dict[Atom, BodySource] = {**places, self.first: FIRST, self.second: SECOND, self.number: NUMBER}
        self.reads = BodyReads(sources, places)
        self.at: dict[Atom, list[float]] = {v: [value(x, p) for p in POINTS] for v, x in places.items()}
        self.places: list[Atom] = [*places, Lit(2.0)]
        self.at[self.places[-1]] = [2.0] * len(POINTS)

    def line(self, name: str, *args: Atom, plain: bool = True) -> Var:
        out = Var(None)
        self.reads.enter(Equation((out,), TABLE[name], args), False, plain)
        return out

    def condition(self, random: Random, depth: int) -> Var:
        """A random condition on places."""
        name = random.choice(("and", "or", "not")) if depth else random.choice(list(COMPARISONS))
        if depth:
            args: list[Atom] = [self.condition(random, depth - 1) for _ in range(1 if name == "not" else 2)]
        else:
            args = [random.choice(self.places) for _ in range(2)]
            if random.random() < 0.3:
                half = self.line("div", args[0], self.places[-1])   # as a value: not rounded
                self.at[half] = [x / 2 for x in self.at[args[0]]]
                args[0] = half
        out = self.line(name, *args)
        done = {"not": operator.not_, "and": lambda a, b: a and b, "or": lambda a, b: a or b}.get(name) or getattr(operator, name)
        self.at[out] = [done(*x) for x in zip(*map(self.at.__getitem__, args), strict=True)]
        return out


def told(where: Where) -> list[bool]:
    """Whether what is known of a read holds, at every point."""
    return [any(all(value(g, p) >= 0 for g in piece) for piece in where) for p in POINTS]


def test_an_arm_is_read_where_its_conditions_hold() -> None:
    random, seen = drawn("printed arms"), set[bool]()
    for _ in range(80):
        body = Written()
        inner, outer = body.condition(random, random.randint(0, 2)), body.condition(random, random.randint(0, 1))
        chosen = body.line("select", inner, body.first, body.second)
        assert body.reads.is_guard(Equation((Var(None),), TABLE["select"], (outer, chosen, body.first)))
        result = body.line("select", outer, chosen, body.number)
        known = {read: told(where) for read, where in body.reads.all_of(result)}
        one, other = body.at[inner], body.at[outer]
        assert known == {FIRST: [bool(a and b) for a, b in zip(one, other, strict=True)],
                         SECOND: [bool(b and not a) for a, b in zip(one, other, strict=True)],
                         NUMBER: [not b for b in other]}
        seen.update(known[FIRST])
    assert seen == {True, False}


def test_what_has_a_name_is_read_under_no_condition_of_where_the_name_stands() -> None:
    body = Written()
    low = body.line("lt", body.places[0], body.places[-1])
    body.reads.name(body.first)
    assert body.reads.all_of(body.line("select", low, body.first, body.second))[0] == (FIRST, EVERYWHERE)
    body.reads.name(low)   # a condition that has one says nothing of places to a reader
    again = body.reads.all_of(body.line("select", low, body.number, body.second))
    assert again[1:] == [(NUMBER, SOMEWHERE), (SECOND, SOMEWHERE)]


def test_a_comparison_of_numbers_says_nothing_of_places() -> None:
    """Nor does one of places that a reader cannot take for sums of them, of which it is not known what it does."""
    body = Written()
    for plain in (False, True):
        least = body.line("lt", body.number, body.places[0], plain=plain)
        reads = body.reads.all_of(body.line("select", least, body.first, body.second))
        assert reads == [(NUMBER, EVERYWHERE), (FIRST, SOMEWHERE), (SECOND, SOMEWHERE)]
        assert (least in body.reads.unsure, least in body.reads.speaking) == (plain, plain)
    most = Var(None)
    compared = BodyReads({}, {most: greatest(affine(ROW), affine("N"))})
    compared.enter(Equation((out := Var(None),), TABLE["lt"], (most, Lit(2.0))), False, True)
    assert out in compared.unsure
