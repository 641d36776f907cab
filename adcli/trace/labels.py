"""Labels of values in the tables of `adcli trace`: v₋₁, v₀, v₁, … as the books do, and names of the program."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import count

from adcli.codegen.documents.notation import Label, label_of
from adcli.lang.analyse.trace import Trace
from adcli.lang.ir import Atom, Program, Var
from adcli.lang.ir.errors import AdError, nearest
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


def element_labels(trace: Trace, element_of: Mapping[Atom, str], inputs: Collection[str]) -> dict[Var, Label]:
    """Labels of the values of elements: a name of their own, v₁, v₂, … on the way to one, and of other elements what has no
    name is told by the element."""
    letter, numbers = free_letter(inputs), count(1)
    names = {x: label_of(x.name or element_of[x]) for x in trace.values if not x.temp}
    names.update({o: Label(letter, next(numbers)) for line in trace.lines for o in line.equation.outs if o.temp})
    for a in (a for line in trace.lines for a in line.equation.args):
        if isinstance(a, Var) and a not in names:
            names[a] = label_of(element_of[a])
    return names


def no_element(program: Program, wanted: str, computed: Mapping[str, tuple[int, ...]]) -> AdError:
    """The fault that no operation computes an element, with what there is."""
    name = wanted.replace(" ", "").partition("(")[0]
    if name in computed:
        shape = computed[name]
        last = f"{name}({', '.join(str(n - 1) for n in shape)})" if shape else name
        return AdError(f"{name} has no element {wanted}", help=f"the last one is {last}" if all(shape) else "it has none")
    if any(p.name == name for p in program.params):
        return AdError(f"{name} is an input: no operation computes {wanted}", help=f"computed are {', '.join(computed)}")
    return AdError(f"no statement computes '{name}'", help=nearest(name, computed) or f"computed are {', '.join(computed)}")


def free_letter(names: Collection[str]) -> str:
    """v, or the first other letter that the program does not use, alone or with a number: v1 and v_1 would look like v₁."""
    used = {m[1] for name in names if (m := re.fullmatch(r"(\w*?[^\W\d])_?\d*", name))}
    return next(letter for letter in letters() if letter not in used)


def letters() -> Iterator[str]:
    for times in count(1):
        yield from (letter * times for letter in "vwuzsqabcdefghijklmnoprtxy")
