"""A .nl file as a program: variables, sums of terms over tables, and the problem that it states."""
from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from adcli.from_nl.operations import FUNCTIONS, LISTED, NlExpressions, NlPart
from adcli.from_nl.segments import PASSED_OVER, NlModel, decode, model
from adcli.from_nl.terms import TermPool
from adcli.lang.ir.errors import AdError, Note, Source, SourceOrigin, Span
from adcli.lang.ir.names import Names
from adcli.lang.printing.format import TreeWriter
from adcli.lang.tree.nodes import Node, Token
from adcli.lang.tree.notation import number
from adcli.readers.draft import number as constant

__all__ = ["decode", "names", "read"]

FEW = 100
"""Variables and constraints together up to which each has a name of its own, and nothing is in tables."""
LONG = 40_000
"""Characters of the expressions up to which the same holds."""
WIDTH = 130
ROUNDING = 1e-9
"""By how much a constraint without variables may be violated."""
MOST_NAMED = 6
"""Whole numbers that a note names."""


class Values(NamedTuple):
    """Values that are one tensor, or a number where there is one of them."""

    name: str
    ids: np.ndarray


class TermGroup(NamedTuple):
    """Terms of one shape that are added to one tensor, at `rows` of it, with their `places`; `numbers` have a column for each of
    `leaves`."""

    rows: np.ndarray
    part: NlPart
    leaves: str
    numbers: np.ndarray
    places: np.ndarray


Places = int | tuple[np.ndarray, np.ndarray]
"""The line of a statement in the file, or the rows of one about several with their lines."""


class NlOrigin(SourceOrigin):
    """The .nl file of a program: `places` are those of the lines of the program; `same` are rows that are a variable as
    it is, whose conditions are bounds of that."""

    variables: Sequence[Values] = ()
    rows: Sequence[Values] = ()
    same: Mapping[str, str] = MappingProxyType({})

    def __init__(self, found: NlModel, data: Mapping[str, np.ndarray], notes: Sequence[Note], places: Sequence[Places]) -> None:
        self.model, self.data, self.notes, self.places = found, data, notes, places

    def shown(self, text: str, span: Span, element: str = "") -> tuple[Source, Span]:
        """The line of the row that is an `element`, else that of the first row of a statement."""
        place = self.places[min(text.count("\n", 0, span[0]), len(self.places) - 1)]
        if isinstance(place, tuple):
            rows, places = place
            name, _, row = element.rstrip(")").partition("(")
            own = row.isdigit() and text.startswith(f"{name}(", text.rfind("\n", 0, span[0]) + 1)
            place = int(places[np.argmax(rows == int(row)) if own else 0])   # of a row that is none of them the first
        return self.model.source, self.model.span(place)


def read(source: Source, function: str | None, given: Mapping[str, object], ranks: Mapping[str, int]) -> Source:
    """The program that a model is."""
    try:
        return NlWriter(model(source)).source()
    except RecursionError:
        raise AdError("this is nested too deeply to be read", source=source) from None


def names(text: str) -> list[str]:
    """A model has no functions."""
    return []


class NlWriter:
    """The program in the making: lines with their places, and tables."""

    def __init__(self, found: NlModel) -> None:
        self.model, self.pool = found, TermPool(found)
        self.lines: list[tuple[str, Places]] = []
        self.data: dict[str, np.ndarray] = {}
        self.known: dict[tuple[str, bytes], str] = {}
        self.fresh = Names([*FUNCTIONS.values(), *LISTED.values()]).fresh
        length = sum(len(body.text) for some in found.bodies.values() for body in some)
        self.short = found.variables + found.constraints <= FEW and length <= LONG
        self.tensor = np.zeros(self.pool.count, dtype=np.int64)
        self.position = np.zeros(self.pool.count, dtype=np.int64)
        self.values: list[Values] = []
        self.index = self.fresh("k")
        self.same: dict[str, str] = {}
        self.grouped: dict[int, list[TermGroup]] = defaultdict(list)

    # Names.

    def named(self, ids: np.ndarray, listed: Sequence[str] | None, stem: str) -> list[Values]:
        """Tensors for values: one for the names with the same head, `power[1]` and `power[2]`; each value its own where the
        program is short."""
        heads: dict[str, list[int]] = {}
        for k in range(len(ids)):
            name = listed[k] if listed else f"{stem}{k}" if self.short else stem
            heads.setdefault(name if self.short else re.split(r"[\[(]", name)[0], []).append(k)
        if not self.short and len(heads) > FEW:
            heads = {stem: list(range(len(ids)))}
        return [self.value(name, ids[ks]) for name, ks in heads.items()]

    def value(self, name: str, ids: np.ndarray) -> Values:
        name = re.sub(r"\W+", "_", name).strip("_") or "x"
        made = Values(self.fresh(name if not name[0].isdigit() else f"x{name}"), ids)
        self.tensor[ids], self.position[ids] = len(self.values), np.arange(len(ids))
        self.values.append(made)
        return made

    def listed(self, suffix: str, count: int) -> list[str] | None:
        """The names in the file beside the model, if there is one that has them."""
        path = os.path.splitext(self.model.source.name)[0] + suffix
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = file.read().split("\n")
        except (OSError, ValueError):
            return None
        return found[:count] if len(found) >= count else None

    # The program.

    def source(self) -> Source:
        found, pool = self.model, self.pool
        m, n, first = found.constraints, found.variables, pool.first
        variables = self.named(np.arange(n), self.listed(".col", n), "x")
        row_names = self.listed(".row", m + found.objectives)
        objectives = [self.value((row_names and row_names[m + k]) or "objective", np.array([first["O"] + k]))
                      for k in range(found.objectives)]
        rows = self.named(first["C"] + np.arange(m), row_names and row_names[:m], "c")
        sums = self.sums()
        for each in [*sums, *objectives, *rows]:
            self.define(each)
        low, high = found.bounds["b"]
        found.start[:] = np.where(low > high, found.start, np.clip(found.start, low, high))
        made: list[tuple[str, Places]] = [*self.head(variables), *self.lines]
        made += self.joined("output ", [v.name for v in (*objectives, *rows)])
        made.append((f"{'maximize' if found.maximized[0] else 'minimize'} {objectives[0].name}", found.places["O", 0]))
        made += filter(None, (self.condition(v, found.bounds["r"][:, v.ids - first["C"]], self.place("C", v)) for v in rows))
        made += filter(None, (self.condition(v, found.bounds["b"][:, v.ids], found.seen.get("b", 0)) for v in variables))
        text = [*self.tables(), *made]
        program = "".join(f"{line}\n" for line, _ in text)
        inputs = {v.name: found.start[v.ids] for v in variables if len(v.ids) > 1}
        origin = NlOrigin(found, {**inputs, **self.data}, list(self.notes()), [place for _, place in text])
        origin.variables, origin.rows, origin.same = variables, rows, self.same
        return Source(found.source.name, program, origin=origin)

    def place(self, kind: str, v: Values) -> int:
        return self.model.places.get((kind, int(v.ids[0]) - self.pool.first[kind]), 0)

    def head(self, variables: Sequence[Values]) -> Iterator[tuple[str, int]]:
        """The declarations of the variables, with the starts of those that are numbers."""
        place = self.model.seen.get("x", 0)
        yield from self.joined("input ", [f"{v.name}({len(v.ids)})" if len(v.ids) > 1 else
                                          f"{v.name} = {number(float(self.model.start[v.ids[0]]))}" for v in variables], place)

    def tables(self) -> Iterator[tuple[str, int]]:
        """The declarations of the tables."""
        whole = [f"int32 {name}({len(x)})" for name, x in self.data.items() if x.dtype.kind == "i"]
        yield from self.joined("input ", whole)
        yield from self.joined("param ", [f"{name}({len(x)})" for name, x in self.data.items() if x.dtype.kind != "i"])

    def joined(self, word: str, items: Sequence[str], place: int = 0) -> Iterator[tuple[str, int]]:
        """Lines of items behind a word."""
        line: list[str] = []
        for item in items:
            if line and len(word) + len(", ".join([*line, item])) > WIDTH and word != "output ":
                yield word + ", ".join(line), place
                line = []
            line.append(item)
        if line:
            yield word + ", ".join(line), place

    def notes(self) -> Iterator[Note]:
        whole = self.model.discrete
        if len(whole):
            told = [self.element(int(i)) for i in whole[:MOST_NAMED]]
            more = f" and {len(whole) - MOST_NAMED} more" if len(whole) > MOST_NAMED else ""
            yield Note(f"{', '.join(told)}{more}: whole numbers in the model, any numbers here", None, self.model.source)
        for letter, what in PASSED_OVER.items():
            if letter in self.model.seen:
                yield Note(f"{what} are not used", self.model.span(self.model.seen[letter]), self.model.source)

    def element(self, i: int) -> str:
        values = self.values[self.tensor[i]]
        return values.name if len(values.ids) == 1 else f"{values.name}({self.position[i]})"

    def table(self, stem: str, numbers: np.ndarray) -> str:
        """The name of a table, one for the same numbers."""
        key = numbers.dtype.str, numbers.tobytes()
        if key not in self.known:
            self.known[key] = name = self.fresh(stem, 1)
            self.data[name] = numbers
        return self.known[key]

    # Sums.

    def sums(self) -> list[Values]:
        """Tensors for common expressions and named sums, those first that others are made of."""
        ids = self.pool.sums
        depth = np.zeros(self.pool.count, dtype=np.int64)
        inner = np.zeros(self.pool.count, dtype=bool)
        inner[ids] = True
        edges = [(rows[used], numbers[used, k].astype(np.int64)) for t in self.pool.found.values()
                 for rows, numbers in zip(t.rows, t.numbers, strict=True) for k, leaf in enumerate(t.leaves) if leaf == "v"
                 for used in (inner[rows] & inner[numbers[:, k].astype(np.int64)],)]
        above, below = np.hstack(edges) if edges else np.zeros((2, 0), np.int64)
        for _ in range(len(ids) + 1):
            deeper = depth.copy()
            np.maximum.at(deeper, above, depth[below] + 1)
            if (deeper == depth).all():
                break
            depth = deeper
        else:
            raise self.model.fault("a common expression is defined by itself", self.model.seen["V"])
        if self.short:
            return [self.value("t", ids[[k]]) for k in np.argsort(depth[ids], kind="stable")]
        return [self.value("t", ids[depth[ids] == d]) for d in np.unique(depth[ids])]

    def define(self, v: Values) -> None:
        """Write the statements that add up values: terms of the same rows are one statement."""
        alike: dict[bytes, list[TermGroup]] = {}
        for g in self.groups_of(v):
            alike.setdefault(g.rows.tobytes(), []).append(g)
        each, scalar = np.arange(len(v.ids)), len(v.ids) == 1
        groups = sorted(alike.values(), key=lambda g: not np.array_equal(g[0].rows, each))   # all of them first
        symbol = "=" if groups and np.array_equal(groups[0][0].rows, each) else "+=!" if scalar and groups else ""
        if not symbol:
            every = "" if scalar else f"({self.index})", "" if scalar else f" where {self.index} in 0:{len(v.ids)}"
            self.lines.append((f"{v.name}{every[0]} = 0{every[1]}", self.place_of(v)))
        for some in groups:
            rows, value = some[0].rows, self.value_of(some)
            left = v.name if scalar else f"{v.name}({self.subscript(rows)})"
            clause = f" where {self.index} in 0:{len(rows)}" if len(rows) > 1 else ""
            if left == v.name and symbol == "=" and value.isidentifier():
                self.same[v.name] = value
            self.lines.append((f"{left} {symbol or '+='} {value}{clause}", (rows, some[0].places)))
            symbol = "+="

    def place_of(self, v: Values) -> int:
        i = int(v.ids[0])
        return next((self.place(kind, v) for kind in "COV" if i >= self.pool.first[kind]), 0)

    def value_of(self, groups: Sequence[TermGroup]) -> str:
        """The text of a sum of terms over tables of as many rows."""
        made: Node | None = None
        for g in groups:
            span = int(g.places[0]), int(g.places[0])
            columns = [self.leaf(kind, g.numbers[:, k], span) for k, kind in enumerate(g.leaves)]
            expressions = NlExpressions(columns, span)
            node = expressions.value(g.part)
            made = node if made is None else expressions.two("add", made, node)
        assert made is not None, "there is a term"
        return "".join(TreeWriter("infix", set()).expression(made))

    def leaf(self, kind: str, column: np.ndarray, span: Span) -> Node:
        """The text of a leaf: a number, an element of a table, or a variable."""
        if kind == "v":
            values = self.values[self.tensor[int(column[0])]]
            if len(values.ids) == 1:
                return Token("NAME", values.name, *span)
            return Token("NAME", f"{values.name}({self.subscript(self.position[column.astype(np.int64)])})", *span)
        if (column == column[0]).all():
            return constant(float(column[0]), span)
        return Token("NAME", f"{self.table('a', column)}({self.index})", *span)

    def subscript(self, places: np.ndarray) -> str:
        """Places as multiples of the index where they are, else as a table of it."""
        first, step = int(places[0]), int(places[1] - places[0]) if len(places) > 1 else 0
        if (np.diff(places) == step).all():
            multiple = self.index if abs(step) == 1 else f"{abs(step)}*{self.index}"
            if step > 0:
                return f"{multiple} + {first}" if first else multiple
            return f"{first} - {multiple}" if step else str(first)
        return f"{self.table('I', places.astype(np.int64))}({self.index})"

    def groups_of(self, v: Values) -> list[TermGroup]:
        """The terms that are added to values, those together whose leaves are of the same tensors."""
        if not self.grouped:
            for terms in self.pool.found.values():
                rows, numbers, places = np.concatenate(terms.rows), np.vstack(terms.numbers), np.concatenate(terms.places)
                kinds = [self.tensor[rows], *(self.tensor[numbers[:, k].astype(np.int64)] if leaf == "v" else numbers[:, k]
                                              for k, leaf in enumerate(terms.leaves) if leaf != "n")]
                _, which = np.unique(np.column_stack(kinds), axis=0, return_inverse=True)
                order = np.argsort(which, kind="stable")
                for here in np.split(order, np.flatnonzero(np.diff(which[order])) + 1) if len(order) else ():
                    made = TermGroup(self.position[rows[here]], terms.part, terms.leaves, numbers[here], places[here])
                    self.grouped[int(self.tensor[rows[here[0]]])].append(made)
        return self.grouped[int(self.tensor[v.ids[0]])]

    # Conditions.

    def condition(self, v: Values, bounds: np.ndarray, place: int) -> tuple[str, int] | None:
        """The statement of the bounds of values; None where they have none, or are numbers, which keep them."""
        low, high = bounds
        if v.ids[0] >= self.pool.first["V"] and not any("v" in g.leaves for g in self.groups_of(v)):
            values = np.zeros(len(v.ids))
            for g in self.groups_of(v):
                np.add.at(values, g.rows, g.numbers[:, 0] * (-1 if g.part.operation == 16 else 1))
            if ((values < low - ROUNDING) | (values > high + ROUNDING)).any():
                raise self.model.fault("this constraint has no variables, and does not hold", place)
            return None
        if (low == high).all():
            return f"subject to {v.name} == {self.limit(f'{v.name}_value', low)}", place
        has_low, has_high = bool(np.isfinite(low).any()), bool(np.isfinite(high).any())
        least, greatest = has_low and self.limit(f"{v.name}_low", low), has_high and self.limit(f"{v.name}_high", high)
        if has_low and has_high:
            return f"subject to {least} <= {v.name} <= {greatest}", place
        return (f"subject to {v.name} {f'>= {least}' if has_low else f'<= {greatest}'}", place) if has_low or has_high else None

    def limit(self, name: str, numbers: np.ndarray) -> str:
        if (numbers == numbers[0]).all():
            return number(float(numbers[0]))
        self.data[made := self.fresh(name)] = numbers
        return made
