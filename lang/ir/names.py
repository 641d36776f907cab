"""The name table: every value of a program gets a name of its own, close to its hint.

Inputs and results keep their names, which are a contract. Everything else takes its hint where that is free, else the hint with
a number; values without a hint are i1, i2, …. A clash with a user's name is resolved here and nowhere else.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from adcli.lang.ir import Param, Program, Var

RESERVED = frozenset({"input", "output", "param", "def", "dup", "and", "or", "not", "inf", "nan", "pi", "π", "in", "where", "_"})
"""Words that the language reads as something else."""


ALONG = re.compile(r":(?![^(\[]*[)\]])")
"""The separator of an output and the inputs of its partial derivative: a colon outside of the brackets of an element."""


def composed(text: str) -> str:
    """A name, or a text with names, in the form in which names are compared: NFC, and the micro sign as the letter mu."""
    if text.isascii():
        return text
    import unicodedata
    return unicodedata.normalize("NFC", text).replace("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}")


def tensor_of(name: str) -> str:
    """The tensor that an element belongs to: A of A(1, 0). A name without subscripts is itself."""
    return name.partition("(")[0]


def look(name: str) -> str:
    """The compatibility form of a name (NFKC): a text cannot have two names that only their code points tell apart."""
    if name.isascii():
        return name
    import unicodedata
    return unicodedata.normalize("NFKC", name)


def repeated(names: Iterable[str]) -> str | None:
    """The first name that has been there before, in time that grows as their number does."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


class Names:
    """Names in use, with fresh ones on request in constant time: `taken` has what names look like, beside those `around`."""

    def __init__(self, taken: Iterable[str] = (), around: Names | None = None) -> None:
        self.taken: set[str] = {*RESERVED, *map(look, taken)}
        self.around = around
        self._next: dict[str, int] = {}

    @classmethod
    def of(cls, program: Program) -> Names:
        """The names that a program's interface has taken, sizes among them."""
        return cls.among(program.params, (r.name for r in program.results))

    @classmethod
    def among(cls, params: Iterable[Param], results: Iterable[str]) -> Names:
        """The names of inputs and results, sizes among them."""
        params = tuple(params)
        taken = [*(p.name for p in params), *results]
        extents = [x for p in params for x in p.var.shape]
        if extents:   # programs of scalars, which start fast, do without the import
            from adcli.lang.ir.affine import atoms
            taken += [a for x in extents for a in atoms(x) if isinstance(a, str)]
        return cls(taken)

    def __contains__(self, seen: str) -> bool:
        return seen in self.taken or (self.around is not None and seen in self.around)

    def within(self) -> Names:
        """Names of a scope inside: fresh beside these, which do not learn of them."""
        return Names((), self)

    def fresh(self, hint: str, first: int | None = None) -> str:
        """`hint` if it is free, else hint_1, hint_2, …; with `first`, hint1, hint2, … from that number on."""
        seen = look(hint)
        if first is None and seen not in self:
            self.taken.add(seen)
            return hint
        tail = "" if first is not None else "_"
        stem = seen + tail
        n = self._next.get(stem, first or 1)
        while f"{stem}{n}" in self:
            n += 1
        self._next[stem] = n + 1
        self.taken.add(f"{stem}{n}")
        return f"{hint}{tail}{n}"


def name_table(program: Program, continued: dict[Var, Var] | None = None) -> dict[Var, str]:
    """A name for every variable; a result's name goes to the value it is, where that is no input. `continued` are values that are
    written under the name of another, which goes on from them: they take no name that a reader of the text does not see."""
    continued = continued or {}
    names, table = Names.of(program), {}
    for p in program.params:
        table[p.var] = p.name
    inputs = {p.name for p in program.params}
    for r in program.results:
        if isinstance(r.atom, Var) and r.atom not in table and r.name not in inputs:
            table[r.atom] = r.name
    unnamed = []
    for e in program.equations:
        for out in e.outs:
            if out not in table and out not in continued:
                if out.name:
                    table[out] = names.fresh(out.name)
                else:
                    unnamed.append(out)
    for out in unnamed:
        table[out] = names.fresh("i", 1)
    for out in reversed(continued):
        table[out] = table[continued[out]]
    return table


# ---------------------------------------------------------------- tables of names as text

def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def listed(table: str) -> dict[str, str]:
    """A table of lines such as `ln loge: log`: the text after the colon by each name before it."""
    lines = [line.strip().partition(":") for line in table.strip().splitlines()]
    return {name: value.strip() for names, _, value in lines for name in names.split()}
