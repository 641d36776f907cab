"""Names of values in documents: one naming for the trace, graphs, pages and LaTeX, whatever the notation.

Inputs, outputs and what a statement names keep their names, with digits at the end as an index. A value without a name of its
own is v₁, v₂, … where programs say i1, i2, …, or goes by another letter where the program uses v. A dot above is a tangent, a bar
an adjoint; ∂v/∂x is a partial derivative, and ẋ⁽²⁾ the tangent in the second of several directions. A `legend` says so.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import count, islice
from typing import NamedTuple

from adcli.codegen.documents.notation import Label, Notation
from adcli.lang.analyse.trace import ADJOINT, TANGENT, VALUE
from adcli.lang.ir import Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.recurrence import Recurrence

DIRECTED, BARRED = re.compile(r"(.+)_c(\d+)"), re.compile(r"d_d(.+)")
"""Names of derivatives in one of several directions, and of adjoints."""
NAMELESS, OF_NAMELESS = re.compile(r"i(\d+)"), re.compile(r"(?:d_d|d)?i\d+(?:_c\d+|_d\w+)?")
"""Names in programs of values that no user has named, and of their derivatives."""


class DocumentNames:
    """The texts of all names of a program in one notation, by the name that each has in the program (`table`).

    `shown` has what lines give, where these are not all: there d_di1 is the adjoint of a value that is gone."""

    def __init__(self, program: Program, table: Mapping[Var, str], notation: Notation,
                 shown: Collection[str] | None = None) -> None:
        self.program, self.table, self.notation, self.shown = program, table, notation, shown
        self.derived, self.labels = derivatives(program), labels(program, table, shown)
        self.marks: dict[str, dict[str, str]] = {TANGENT: {}, ADJOINT: {}}   # by kind: of a name in writing, what it is of
        found = {name: self.derivative(name) if var in self.derived.values else self.plain(name) for var, name in table.items()}
        found.update({r.name: self.result(r) for r in program.results})
        times = Counter(found.values())
        self.texts = {name: text if times[text] == 1 else notation.spelled(name) for name, text in found.items()}

    def plain(self, name: str, kind: str = VALUE) -> str:
        """The name of a value, or of its tangent or adjoint."""
        label = self.labels.get(name, Label(name))
        text = self.notation.label(label, kind)
        if kind != VALUE:
            self.marks[kind][text] = self.notation.label(label)
        return text

    def result(self, r: Result) -> str:
        if r.of is None or not r.wrt:
            return self.derivative(r.name) if r.name in self.derived.results else self.plain(r.name)
        return self.notation.partial(self.plain(r.of), Counter(map(self.plain, r.wrt)))

    def derivative(self, name: str) -> str:
        """The name of a derivative; a plain one where it does not say of what."""
        if name in self.labels and self.labels[name].subscript is not None:
            return self.plain(name)
        if m := DIRECTED.fullmatch(name):
            return self.notation.direction(self.derivative(m[1]), m[2])
        if m := BARRED.fullmatch(name):
            return self.marked(m[1], ADJOINT)
        for at in [m.start() for m in re.finditer("_d", name)]:
            of, by = name[1:at], name[at + 2:]
            adjoint = BARRED.fullmatch(of)
            if name[0] == "d" and by in self.labels and (adjoint[1] if adjoint else of) in self.labels:
                return self.notation.partial(self.derivative(of) if adjoint else self.plain(of), Counter([self.plain(by)]))
        return self.marked(name[1:], TANGENT) if name[0] == "d" and len(name) > 1 else self.plain(name)

    def marked(self, of: str, kind: str) -> str:
        """A dot or a bar above the name of a value, a copy of one (p2), or another derivative."""
        if not BARRED.fullmatch(of) and (of in self.labels or of.rstrip("0123456789") in self.labels):
            return self.plain(of, kind)
        return self.notation.marked(self.derivative(of), kind)

    @property
    def copied(self) -> list[tuple[str, str]]:
        """A copy and what is said of it, if there is any."""
        copies = (e for e in self.program.equations if e.op is TABLE["dup"] and len(e.outs) > 1)
        return [(self.texts[self.table[e.outs[0]]], f"the first copy of {self.texts[self.table[a]]}")
                for e in islice(copies, 1) for a in e.args if isinstance(a, Var)]

    @property
    def legend(self) -> str:
        texts = self.texts.values() if self.shown is None else [self.texts[name] for name in self.shown]
        marked = [next(((text, f"the {kind} of {of[text]}") for text in texts if text in of), ("", ""))
                  for kind, of in self.marks.items()]
        return legend(self.notation, self.labels.values(), [*filter(all, marked), *self.copied])


def legend(notation: Notation, labels: Collection[Label], said: Iterable[tuple[str, str]],
           nameless: str = "without a name in the program") -> str:
    """How names are made: those of values without one, and what is `said` of others; empty where all are the user's."""
    numbered = [notation.label(label) for label in labels if (label.subscript or 0) > 0]
    what = "a value" if len(numbered) == 1 else "values"
    examples = [(", ".join([*numbered[:2], *["…"] * (len(numbered) > 2)]), f"{what} {nameless}")] if numbered else []
    return "; ".join(f"{name}: {meaning}" for name, meaning in [*examples, *said])


def examples(notation: Notation, labels: Collection[Label], kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Derivatives of the first value, and what they are."""
    return [(notation.label(x, kind), f"the {kind} of {notation.label(x)}") for x in islice(labels, 1) for kind in kinds if kind]


def labels(program: Program, table: Mapping[Var, str], shown: Iterable[str] | None = None) -> dict[str, Label]:
    """The label of every name: itself, or of i1, which no user has named, a letter with the number 1. Where only some are `shown`
    these are numbered in turn."""
    made = {table[o]: o for e in program.equations for o in e.outs if o in table}
    numbers = {name: int(m[1]) for name, o in made.items() if (o.temp or not o.name) and (m := NAMELESS.fullmatch(name))}
    names = [*(p.name for p in sorted(program.params, key=lambda p: not p.active)), *made, *(r.name for r in program.results)]
    letter = free_letter({name for name in names if name not in numbers})
    if shown is not None:
        unnamed = (name for name in dict.fromkeys(shown) if name in made and nameless(made[name], name))
        numbers = {name: k for k, name in enumerate(unnamed, 1)}
    return {name: Label(letter, numbers[name]) if name in numbers else Label(name) for name in names}


def nameless(value: Var, name: str) -> bool:
    """True for what no user has named, and its derivatives."""
    return (value.temp or not value.name) and OF_NAMELESS.fullmatch(name) is not None


def free_letter(names: Collection[str]) -> str:
    """v, or the first other letter that the program does not use, alone or with a number: v1 and v_1 would look like v₁."""
    used = {m[1] for name in names if (m := re.fullmatch(r"(\w*?[^\W\d])_?\d*", name))}
    return next(letter for times in count(1) for x in "vwuzsqabcdefghijklmnoprtxy" if (letter := x * times) not in used)


class Derivatives(NamedTuple):
    """The part of a program for derivatives: values that nothing else needs, seeds among them, and names of results."""

    values: set[Var]
    results: set[str]


def derivatives(program: Program) -> Derivatives:
    """The derivatives of a program, in time linear in its length. A result is one that was taken with respect to inputs (dv_dx),
    that depends on a seed, or that is called the tangent of another result (dv) or the adjoint of an input (d_dx)."""
    seeds = {p.var for p in program.params if p.seed}
    moved = set(seeds)
    for e in program.equations:
        if not moved.isdisjoint(e.args):
            moved.update(e.outs)
    marked = {f"d{r.name}" for r in program.results} | {f"d_d{p.name}" for p in program.params}
    results = {r.name for r in program.results if r.wrt or r.name in marked or r.atom in moved}
    needed = {r.atom for r in program.results if r.name not in results}
    for e in reversed(program.equations):
        if not needed.isdisjoint(e.outs):
            needed.update(e.args)
            if isinstance(e.op, Recurrence):   # whose statements are written together
                needed.update(e.outs)
    return Derivatives(seeds | {out for e in program.equations for out in e.outs if out not in needed}, results)
