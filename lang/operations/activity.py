"""Activity analysis: the inputs and outputs that a caller names, and the values in between that carry derivatives.

A value is active if it depends on an input that is differentiated with respect to; only those have tangents and adjoints.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Program, Var, shape_of
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.primitives import TABLE

STOP = TABLE["stop"]

PartialKey = tuple[str, tuple[str, ...]]
"""A partial derivative: the output it is of, and the inputs, in the order in which they are written."""


def inputs_to_differentiate(program: Program, wrt: Sequence[str] | None, chosen: Sequence[PartialKey] = ()) -> list[str]:
    """The names in `wrt`, checked, in order; by default those of the `chosen` partial derivatives, if there are any, else
    every input that is not a `param` and not of integers."""
    if wrt is None and chosen:
        wrt = [x for _, along in chosen for x in along]
    if wrt is None:
        return [p.name for p in program.params if p.active and not p.var.integer]
    known = {p.name: p for p in program.params}
    for name in wrt:
        if name not in known:
            from adcli.lang.ir.affine import atoms  # start-up: for a fault only
            if any(name in atoms(extent) for p in program.params for extent in p.var.shape):
                raise AdError(f"no input '{name}'", help=f"'{name}' is a size, which has no derivative")
            whole, element = parted(name)
            raise AdError(f"no input '{name}'", help=f"derivatives are by all elements: {whole}" if element and whole in known
                          else nearest(name, known) or f"the inputs are {', '.join(known) or 'none'}")
        if known[name].var.integer:
            raise AdError(f"'{name}' holds whole numbers and has no derivative")
    return list(dict.fromkeys(wrt))


def outputs_to_differentiate(program: Program, of: Sequence[str] | None) -> list[str]:
    """The names in `of`, checked, in order; by default every output that can have a derivative: whole numbers have none."""
    names, whole = outputs_named(program, of), {r.name for r in program.results if isinstance(r.atom, Var) and r.atom.whole}
    if of is not None and (refused := next((name for name in names if name in whole), None)) is not None:
        raise AdError(f"'{refused}' holds whole numbers and has no derivative")
    return [name for name in names if name not in whole]


def outputs_named(program: Program, of: Sequence[str] | None) -> list[str]:
    """The names in `of`, checked, in order; by default every output."""
    known = [r.name for r in program.results]
    for name in of or ():
        if name not in known:
            raise AdError(f"no output '{name}'", help=element_named(program, name) or nearest(name, known)
                          or f"the outputs are {', '.join(known)}")
    return list(dict.fromkeys(of)) if of is not None else known


def element_named(program: Program, name: str) -> str | None:
    """Advice for elements named as outputs: y[0][1], y[0:2]."""
    from adcli.lang.ir.affine import text  # start-up: for a fault only
    from adcli.lang.ir.names import Names
    from adcli.lang.operations.slices import subscripted
    whole, element = parted(name)
    shape = next((shape_of(r.atom) for r in program.results if r.name == whole), ())
    subscripts = element.split(",")
    if not element or len(subscripts) > len(shape):
        return None
    names = Names.of(program)
    found = subscripted([*subscripts, *[":"] * (len(shape) - len(subscripts))], [text(e) for e in shape],
                        {*names.taken, *subscripts})
    if found is None:
        return None
    new = names.fresh("e")
    target = f"{new}({found.indices})" if found.indices else new
    what = "the elements" if found.indices else "the element"
    return f"give {what} a name: {target} = {whole}({found.text}){found.ranges}, and choose {new}"


def parted(name: str) -> tuple[str, str]:
    """A tensor and the subscripts of an element of it, as people write them: y(0, 1), y[0][1]; none in other names."""
    whole = name.split("(")[0].split("[")[0]
    return whole, name[len(whole) + 1:-1].replace("][", ", ")


def with_outputs(program: Program, names: Sequence[str]) -> Program:
    """The program with these outputs only, in this order."""
    results = {r.name: r for r in program.results}
    program = without_problem(program) if program.problem else program
    return replace(program, results=tuple([results[name] for name in names]))


def without_problem(program: Program) -> Program:
    """The program without its conditions, and what only they need."""
    needed = needed_values(program, {r.name for r in program.results})
    equations = tuple([e for e in program.equations if not needed.isdisjoint(e.outs)])
    return replace(program, equations=equations, problem=None)


def active_values(program: Program, wrt: Collection[str], also: Iterable[Atom] = (), steps: bool = True) -> set[Atom]:
    """The values that depend on an input in `wrt`, or on one of the values `also`; not through `steps` if these are to move
    nothing: floor(x) stays as it is where it does not jump."""
    wanted = set(wrt)
    active: set[Atom] = {*also, *[p.var for p in program.params if p.name in wanted]}
    for e in program.equations:
        if not active.isdisjoint(e.args) and not e.op.truth and e.op is not STOP:
            active.update(e.op.moved(e, active, steps))
    return active


def needed_values(program: Program, of: Collection[str]) -> set[Atom]:
    """The values that the results in `of` depend on, and these."""
    needed: set[Atom] = {r.atom for r in program.results if r.name in of}
    for e in reversed(program.equations):
        if e.outs[0] in needed or (len(e.outs) > 1 and not needed.isdisjoint(e.outs)):
            needed.update(e.args)
    return needed


# ---------------------------------------------------------------- sets of sweeps as integers with a bit for each

Masks = dict[Atom, int]


def masks(groups: Iterable[Iterable[Atom]]) -> Masks:
    """For each value the groups it belongs to."""
    found: Masks = {}
    for i, atoms in enumerate(groups):
        for a in atoms:
            found[a] = found.get(a, 0) | 1 << i
    return found


def union(masks: Mapping[Atom, int], atoms: Sequence[Atom]) -> int:
    """The groups that any of the values belongs to."""
    whole = 0
    for a in atoms:
        whole |= masks.get(a, 0)
    return whole


FEW = tuple([tuple([i for i in range(8) if mask >> i & 1]) for mask in range(256)])
"""The sets of the first groups."""


def positions(mask: int) -> Iterable[int]:
    """The numbers of the groups in a set, lowest first."""
    return FEW[mask] if mask < len(FEW) else one_by_one(mask)


def one_by_one(mask: int) -> Iterator[int]:
    """The numbers of the groups in a set of any length, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
