"""Where values lie in a function that allocates nothing: its caller brings one array for all that is kept between two nests.

A tensor that is only there for another to start from becomes that other where it lies, and the place of one that nothing reads
any more is free for another of the same shape, so that the array's length is a sum that a person can check.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from adcli.codegen.nests.fusion import groups, in_machine_terms, needed, own_indices
from adcli.codegen.nests.recurrences import StepLoop, in_place, over_all_steps, own_starts, with_rings
from adcli.lang.ir import Equation, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, substituted
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.elementwise import arguments, compact
from adcli.lang.operations.matrix import FACTORING, MatrixOperation, matrix_extent
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.operations.recurrence import loops as loops_of
from adcli.lang.sizes.all_sizes import SizeConditions, size_conditions

ALONE: Mapping[Var, Sequence[Var]] = MappingProxyType({})


def plain(program: Program) -> Program:
    """The program in terms of what a machine has, without what nothing needs."""
    program = in_machine_terms(program)
    return needed(replace(program, equations=tuple(map(without_start, program.equations))))


def placed(program: Program, registers: bool = False) -> Program:
    """The program with its loops in place, and of histories of which only the last elements are read these alone. A subscript of
    a history that is checked where it is used needs all of it; so do loops over numbers that are kept in `registers`."""
    if not loops_of(program.equations):
        return program
    return in_place(with_rings(own_starts(program), registers, {v for v, _, _ in size_conditions(program).loose}))


def elements(op: Comprehension) -> list[Index] | None:
    """The indices of an element of the result, where they run over all elements, and each is computed at once."""
    found = own_indices(op)
    several = op.reduction == "=" and op.shape and (op.guards or len(found or ()) < len(op.ranges))
    return None if several else found


def without_start(e: Equation) -> Equation:
    """The equation without the value that its result starts from, where every element is replaced."""
    op = e.op
    if not isinstance(op, Comprehension) or op.onto is None or op.reduction != "=" or op.guards:
        return e
    if elements(op) is None or len(op.ranges) > len(op.write):
        return e
    op, args = compact(replace(op, onto=None), e.args)
    return replace(e, op=op, args=args)


def homes(program: Program) -> dict[Var, Var]:
    """The value in whose array a tensor lies: its own, but one that is only there for another to start from becomes that other
    element by element."""
    last = {a: k for k, e in enumerate(program.equations) for a in e.args}
    given = {p.var for p in program.params} | {r.atom for r in program.results}
    found: dict[Var, Var] = {}
    for k, e in reversed(list(enumerate(program.equations))):
        out = e.outs[0]
        if isinstance(e.op, Recurrence):
            for out, before in zip(e.outs, e.args, strict=False):
                found.setdefault(out, out)
                if isinstance(before, Var):   # which nothing else reads: `adcli.codegen.nests.recurrences.in_place`
                    found[before] = found[out]
        if isinstance(e.op, Comprehension) and out.shape:
            found.setdefault(out, out)
            onto = e.op.onto
            if onto is None or list(arguments(e.op)).count(onto) > 1 or e.args.count(before := e.args[onto]) > 1:
                continue
            if isinstance(before, Var) and last[before] == k and before not in given:
                found[before] = found[out]
    return found


def work_slots(program: Program, home: Mapping[Var, Var], beside: Mapping[Var, Sequence[Var]] = ALONE) -> list[tuple[Var, int]]:
    """The tensors that are neither inputs nor outputs, in order, each with the number of its place in `work`. A place is free
    for another tensor of the same shape behind the last equation that reads it. `beside` has the tensors that are there while an
    equation is computed, by its first result, as those of the steps of a loop are; its results lie in memory where others read
    them."""
    given = {p.var for p in program.params} | {r.atom for r in program.results}
    read = {a for e in program.equations for a in e.args}
    made = [[*beside.get(e.outs[0], ()), *(v for v in e.outs if v in read or not isinstance(e.op, Recurrence))]
            for e in program.equations]
    ends = {k: r[-1] for r in groups(program.equations) for k in r}   # of a joint loop all are read to its end
    last = {home.get(a, a): ends.get(k, k) for k, e in enumerate(program.equations) for a in (*e.args, *made[k])
            if isinstance(a, Var)}
    free: dict[tuple[Affine, ...], list[int]] = {}
    ending: dict[int, list[tuple[Var, int]]] = {}
    slots: dict[Var, int] = {}
    count = 0
    for k in range(len(program.equations)):
        for v in [home.get(v, v) for v in made[k] if v.shape]:
            if v in given or v in slots:
                continue
            if there := free.get(v.shape):
                slots[v] = there.pop()
            else:
                slots[v], count = count, count + 1
            ending.setdefault(last[v], []).append((v, slots[v]))
        for v, slot in ending.pop(k, []):
            free.setdefault(v.shape, []).append(slot)
    return list(slots.items())


def conditions_of(program: Program, slots: Sequence[tuple[Var, int]], loops: Iterable[StepLoop] = ()) -> SizeConditions:
    """Conditions on sizes, so that the length of `work` does not overflow either; `loops` are those that are run for the
    program's recurrences, whose statements are others."""
    found = size_conditions(program)
    in_loops = {out for e in loops_of(program.equations) for out in e.outs}
    found.loose = {x for x in found.loose if x[0] not in in_loops}
    for loop in loops:
        index = Index(loop.step)
        steps = size_conditions(replace(program, equations=tuple([over_all_steps(e, loop, index) for e in loop.equations])))
        found.divisor = max(found.divisor, steps.divisor)
        found.positive += [x for x in steps.positive if x not in found.positive]
        found.products += [x for x in steps.products if x not in found.products]
        found.conditions += [c for c in steps.conditions if c not in found.conditions]
        found.loose |= {(v, substituted(s, {index: affine(loop.step)}), extent) for v, s, extent in steps.loose}
    found.divisor = max(found.divisor, 8 * len({slot for _, slot in slots}))
    return found


def size_parameters(program: Program) -> list[str]:
    """The sizes that a program is called with, in the order in which its inputs name them."""
    integers = {p.name for p in program.params if p.var.integer and not p.var.shape}
    named = (a for p in program.params for x in p.var.shape for a in ordered(x))
    return [a for a in dict.fromkeys(named) if a not in integers]


def ordered(x: Affine) -> list[str]:
    """The sizes in an extent; what is inside of floors and products by name."""
    plain = [a for a, _ in x.terms if isinstance(a, str)]
    return plain + sorted(a for a in atoms(x) if isinstance(a, str) and a not in plain)


def scratch(e: Equation[MatrixOperation]) -> Var | None:
    """The matrix that an operation needs beside its result."""
    n = matrix_extent(e)
    return Var(e.op.name, True, shape=(n, n)) if e.op.name in FACTORING else None
