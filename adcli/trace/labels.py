"""What the tables of `adcli trace` call values: v₋₁, v₀, v₁, … as the books do, and names of the program."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import count

from adcli.codegen.documents.notation import Label
from adcli.lang.ir import Program, Var
from adcli.lang.ir.names import name_table


def labels(program: Program, own: bool) -> dict[Var, Label]:
    """The label of every value. As in the books, the n inputs are v₁₋ₙ … v₀ and what has no name of its own is v₁, v₂, …, and
    so is a value that has the name of the output it is; other values keep their names. With `own`, inputs and outputs keep
    theirs too."""
    table = name_table(program)
    letter = free_letter(set(table.values()) | {r.name for r in program.results} | {p.name for p in program.params})
    found: dict[Var, Label] = {}
    for i, p in enumerate(program.params, 1 - len(program.params)):
        found[p.var] = Label(p.name) if own else Label(letter, i)
    outputs = {(r.atom, r.name) for r in program.results}
    numbers = count(1)
    for e in program.equations:
        for o in e.outs:
            named = not o.temp and o.name is not None and (own or (o, table[o]) not in outputs)
            found[o] = Label(table[o]) if named else Label(letter, next(numbers))
    return found


def free_letter(names: Collection[str]) -> str:
    """v, or the first other letter that the program does not use, alone or with a number: v1 and v_1 would look like v₁."""
    used = {m[1] for name in names if (m := re.fullmatch(r"(\w*?[^\W\d])_?\d*", name))}
    return next(letter for letter in letters() if letter not in used)


def letters() -> Iterator[str]:
    for times in count(1):
        yield from (letter * times for letter in "vwuzsqabcdefghijklmnoprtxy")
