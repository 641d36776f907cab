"""Labels of values in the tables of `adcli trace`: those of all documents, or v₋₁, v₀, v₁, … as the books have them."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count

from adcli.codegen.documents import names
from adcli.codegen.documents.names import free_letter
from adcli.codegen.documents.notation import Label, label_of
from adcli.lang.analyse.trace import Trace
from adcli.lang.ir import Atom, Program, Var
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import name_table


def labels(program: Program, own: bool) -> dict[Var, Label]:
    """The label of every value: its `own` name, or v₁, v₂, … without one. As in the books, else, the n inputs are v₁₋ₙ … v₀,
    and a value that has the name of the output it is is numbered too."""
    table = name_table(program)
    if own:
        known = names.labels(program, table)
        return {v: known[name] for v, name in table.items()}
    letter = free_letter(set(table.values()) | {r.name for r in program.results} | {p.name for p in program.params})
    found: dict[Var, Label] = {}
    for i, p in enumerate(program.params, 1 - len(program.params)):
        found[p.var] = Label(letter, i)
    outputs = {(r.atom, r.name) for r in program.results}
    numbers = count(1)
    for e in program.equations:
        for o in e.outs:
            named = not o.temp and o.name is not None and (o, table[o]) not in outputs
            found[o] = Label(table[o]) if named else Label(letter, next(numbers))
    return found


def element_labels(trace: Trace, element_of: Mapping[Atom, str], inputs: Collection[str]) -> dict[Var, Label]:
    """Labels of the values of elements: a name of their own, v₁, v₂, … on the way to one, and of other elements what has no
    name is told by the element."""
    letter, numbers = free_letter(inputs), count(1)
    found = {x: label_of(x.name or element_of[x]) for x in trace.values if not x.temp}
    found.update({o: Label(letter, next(numbers)) for line in trace.lines for o in line.equation.outs if o.temp})
    for a in (a for line in trace.lines for a in line.equation.args):
        if isinstance(a, Var) and a not in found:
            found[a] = label_of(element_of[a])
    return found


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
