"""Rows as sums of terms, and terms of one shape together.

Each row (a constraint, an objective, a common expression, or a long sum inside of one of these) is a sum. Its terms are known by
their shape, the operations without the numbers, and terms of one shape are rows of a table: the row that each is part of and
its numbers, which are variables, constants and named sums. NlExpressions of one shape are taken apart once.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import is_not

import numpy as np

from adcli.from_nl.operations import NlPart, parsed
from adcli.from_nl.segments import NlModel, RowBody
from adcli.lang.ir.errors import AdError

NUMBER = re.compile(r"^([nvsl])[ \t]*(\S+)[ \t]*$", re.MULTILINE)
MANY = 12
"""Terms from which on a sum inside of an expression has a name."""
ALIKE = 8
"""Linear terms up to which rows of as many are one shape."""
SUMS = (0, 1, 16, 54)


@dataclass(eq=False, repr=False)
class Terms:
    """Terms of one shape: `leaves` are their kinds, `rows` the value that each is added to, `numbers` a column for each leaf,
    `places` where they stand."""

    part: NlPart
    leaves: str
    rows: list[np.ndarray] = field(default_factory=list)
    numbers: list[np.ndarray] = field(default_factory=list)
    places: list[np.ndarray] = field(default_factory=list)


class TermPool:
    """All terms by shape. Values are numbered: variables, then common expressions, objectives, constraints, and named sums."""

    def __init__(self, model: NlModel) -> None:
        self.model, self.found = model, dict[str, Terms]()
        self.first = {"V": model.variables}
        self.first["O"] = self.first["V"] + model.common
        self.first["C"] = self.first["O"] + model.objectives
        self.count = self.named = self.first["C"] + model.constraints
        for kind in "VOC":
            self.linear(kind)
            self.expressions(kind)

    @property
    def sums(self) -> np.ndarray:
        """The values that are neither variables nor rows of the model: common expressions and named sums."""
        return np.concatenate([np.arange(self.first["V"], self.first["O"]), np.arange(self.named, self.count)])

    def add(self, key: str, part: NlPart, order: list[NlPart], rows: np.ndarray, numbers: np.ndarray, places: np.ndarray) -> None:
        """Take terms of one shape in."""
        if key not in self.found:
            self.found[key] = Terms(renumbered(part, iter(range(len(order)))), "".join(p.leaf for p in order))
        here = self.found[key]
        here.rows.append(rows)
        here.numbers.append(numbers)
        here.places.append(places)

    def linear(self, kind: str) -> None:
        """Linear terms: those of rows with the same small number of them, the first of each together, the second, and so on."""
        row, variable, coefficient = self.model.linear[kind][:, self.model.linear[kind][2] != 0]
        if not len(row):
            return
        counts = np.diff(np.flatnonzero(np.diff(row, prepend=-1, append=-1)))
        lengths = np.repeat(counts, counts)
        ordinal = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        sort = np.where(lengths <= ALIKE, lengths * ALIKE + ordinal, 0)
        part, numbers = NlPart(2, (NlPart(-1, (), "n", 0), NlPart(-1, (), "v", 1))), np.column_stack([coefficient, variable])
        place = np.array([self.model.places.get((kind, k), 0) for k in range(self.model.count(kind))])
        places = place[row.astype(np.int64)]
        for each in np.unique(sort):
            here = np.flatnonzero(sort == each)
            rows = self.first[kind] + row[here].astype(np.int64)
            self.add(f"linear {each}", part, [*part.parts], rows, numbers[here], places[here])

    def expressions(self, kind: str) -> None:
        """Terms of the expressions, one shape of expressions after another."""
        bodies = self.model.bodies[kind]
        if not bodies:
            return
        whole = "\f\n".join(body.text for body in bodies)
        try:
            numbers = np.array([text for _, text in NUMBER.findall(whole)], dtype=np.float64)
        except ValueError:
            raise self.no_number(bodies) from None
        same: dict[str, list[int]] = {}
        masked = NUMBER.sub(lambda m: "=v" if m[1] == "v" else "=n", whole).split("\f\n")
        for k, text in enumerate(masked):
            same.setdefault(text, []).append(k)
        parts = {text: parsed(text.split("\n"), partial(self.fault, bodies[ks[0]])) for text, ks in same.items()}
        counts = np.array([parts[text][1] for text in masked])
        begins = np.cumsum(counts) - counts
        rows, places = (np.array(each) for each in zip(*((b.row, b.start) for b in bodies), strict=True))
        for text, ks in same.items():
            part, count = parts[text]
            table = numbers[begins[ks][:, None] + np.arange(count)]
            self.check(part, table, [bodies[k] for k in ks])
            self.split(part, self.first[kind] + rows[ks], table, places[ks])

    def split(self, part: NlPart, rows: np.ndarray, numbers: np.ndarray, places: np.ndarray) -> None:
        """Take the terms of a sum in, those of one shape at once; long sums inside are values of their own."""
        alike: dict[str, tuple[NlPart, list[list[NlPart]]]] = {}
        columns = [numbers]
        for sign, term in summands(part):
            inner: list[NlPart] = []
            named = with_names(term, inner, numbers.shape[1] + len(columns) - 1)
            for each in inner:
                columns.append(self.count + np.arange(len(rows))[:, None])
                self.count += len(rows)
                self.split(each, columns[-1][:, 0], numbers, places)
            order: list[NlPart] = []
            signed = named if sign > 0 else NlPart(16, (named,))
            alike.setdefault(written(signed, order), (signed, []))[1].append(order)
        wide = np.hstack(columns)
        for key, (signed, orders) in alike.items():
            chosen = np.array([[p.number for p in order] for order in orders])
            for k in range(len(orders)) if len(orders) <= ALIKE else [slice(None)]:
                table = wide[:, chosen[k]].reshape(-1, chosen.shape[1])
                repeats = len(table) // len(rows)
                kept = table[:, 0] != 0 if term_is_constant(signed) else np.full(len(table), True)
                self.add(f"{key} {k}", signed, orders[0], np.repeat(rows, repeats)[kept], table[kept],
                         np.repeat(places, repeats)[kept])

    def check(self, part: NlPart, numbers: np.ndarray, bodies: list[RowBody]) -> None:
        """AdError where a number of a variable is none."""
        order: list[NlPart] = []
        written(part, order)
        columns = [p.number for p in order if p.leaf == "v"]
        found = numbers[:, columns]
        wrong = np.argwhere(~((found >= 0) & (found < self.first["O"]) & (found == np.floor(found))))
        if len(wrong):
            body = bodies[int(wrong[0, 0])]
            line = [k for k, text in enumerate(body.text.split("\n")) if NUMBER.match(text)][columns[int(wrong[0, 1])]]
            raise self.fault(body, f"there are {self.first['O']} variables and common expressions, from 0 on", line)

    def no_number(self, bodies: list[RowBody]) -> AdError:
        """The error for the first number that is none."""
        for body in bodies:
            for k, line in enumerate(body.text.split("\n")):
                if m := NUMBER.match(line):
                    try:
                        float(m[2])
                    except ValueError:
                        return self.fault(body, f"'{m[2]}' is no number", k)
        raise AssertionError("a number is none")

    def fault(self, body: RowBody, message: str, line: int) -> AdError:
        lines = body.text.split("\n")
        if line >= len(lines) - 1 and not "".join(lines[line:]).strip():
            begin = self.model.source.text.rfind("\n", 0, max(body.start - 1, 0)) + 1
            return self.model.fault("the expression ends too early", begin)
        return self.model.fault(message, body.start + sum(len(x) + 1 for x in lines[:line]))


def summands(part: NlPart) -> Iterator[tuple[int, NlPart]]:
    """The terms of a sum with their signs."""
    stack = [(1, part)]
    while stack:
        sign, here = stack.pop()
        if here.operation in (0, 54):
            stack += [(sign, p) for p in reversed(here.parts)]
        elif here.operation == 1:
            stack += [(-sign, here.parts[1]), (sign, here.parts[0])]
        elif here.operation == 16:
            stack.append((-sign, here.parts[0]))
        else:
            yield sign, here


def term_is_constant(part: NlPart) -> bool:
    """True for a number with or without a sign."""
    return (part.parts[0] if part.operation == 16 else part).leaf == "n"


def with_names(part: NlPart, inner: list[NlPart], first: int) -> NlPart:
    """The part with each long sum in it as a leaf, whose number is `first` or one behind it; the sums are put into `inner`."""
    if not part.parts:
        return part
    if part.operation in SUMS and sum(1 for _ in summands(part)) >= MANY:
        inner.append(part)
        return NlPart(-1, (), "v", first + len(inner) - 1)
    parts = tuple([with_names(p, inner, first) if p.parts else p for p in part.parts])
    return part._replace(parts=parts) if any(map(is_not, parts, part.parts)) else part


def written(part: NlPart, order: list[NlPart]) -> str:
    """The shape of a part as a text; its leaves are put in order."""
    pieces, stack = [], [part]
    while stack:
        here = stack.pop()
        if here.leaf:
            order.append(here)
        pieces.append(here.leaf or f"o{here.operation}.{len(here.parts)}")
        stack += reversed(here.parts)
    return " ".join(pieces)


def renumbered(part: NlPart, numbers: Iterator[int]) -> NlPart:
    if part.leaf:
        return part._replace(number=next(numbers))
    return part._replace(parts=tuple([renumbered(p, numbers) for p in part.parts]))
