"""How a set of partial derivatives is computed: which sweeps, in which mode, with which of them read off where.

Inputs whose columns do not meet in any row share one tangent sweep, results whose rows do not meet in any column share one
reverse sweep: the sweep gives every entry by itself, so nothing is lost to sums that have to be taken apart again. With each
plan goes its cost, counted on the program, and the cheapest is taken.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.derive.cost import Paid, forward_cost, reverse_cost
from adcli.lang.ir import Atom, Equation, Program, Shape, Var, has_tensors, operations, shape_of
from adcli.lang.ir.build import Builder
from adcli.lang.ir.records import value_record
from adcli.lang.modes import forward, reverse
from adcli.lang.modes.guards import constant
from adcli.lang.operations.activity import active_values, masks, with_outputs
from adcli.lang.simplify.simplify import prune
from adcli.lang.sparsity.colouring import column_colours, row_colours, star_colours, star_reads
from adcli.lang.sparsity.sparsity import Pattern, is_passed_through, jacobian_pattern, symmetric, transposed

Groups = tuple[tuple[str, ...], ...]
MatrixEntry = tuple[str, str]
"""An entry of a matrix of partial derivatives: the result and the input."""


class EntryRead(NamedTuple):
    """Where an entry is found: in the sweep of the group that has this input (forward) or this result (reverse)."""

    mode: str
    result: str
    input: str


@value_record
class SweepPlan:
    """Sweeps that give all of a set of entries: groups of `inputs` pushed forward, groups of `outputs` pulled back."""

    inputs: Groups
    outputs: Groups
    reads: Mapping[MatrixEntry, EntryRead]
    cost: int = 0

    @property
    def mode(self) -> str:
        return "mixed" if self.inputs and self.outputs else "reverse" if self.outputs else "forward"

    @property
    def sweeps(self) -> int:
        return len(self.inputs) + len(self.outputs)


@value_record
class Entries:
    """A matrix of partial derivatives to be computed: `rows` are results, `columns` inputs.

    Of a `symmetric` one only the entries on and above the diagonal are wanted, and either of a pair will do.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    pattern: Pattern
    symmetric: bool = False
    dense: bool = False

    @classmethod
    def of(cls, program: Program, rows: Sequence[str], columns: Sequence[str], is_symmetric: bool = False) -> Entries:
        dense = has_tensors(program)
        pattern = (tuple(range(len(columns))),) * len(rows) if dense else jacobian_pattern(program, columns, rows)
        return cls(tuple(rows), tuple(columns), symmetric(pattern) if is_symmetric else pattern, is_symmetric, dense)

    def positions(self) -> list[tuple[int, int]]:
        """The entries that are wanted and not zero by construction, as row and column numbers."""
        return [(i, j) for i, row in enumerate(self.pattern) for j in row if not self.symmetric or i <= j]


# ---------------------------------------------------------------- plans

def plans(program: Program, entries: Entries) -> list[SweepPlan]:
    """The ways to compute the entries: forward, reverse, and both where that takes fewer sweeps."""
    if entries.dense:
        return tensor_plans(program, entries)
    return symmetric_plans(entries) if entries.symmetric else one_sided_plans(entries)


def needed_for(program: Program, rows: Collection[str]) -> Program:
    """The part of a simplified program that the results `rows` need: where plans for these are looked for and priced."""
    if len(rows) == len(program.results):
        return program
    return prune(with_outputs(program, [r.name for r in program.results if r.name in rows]))


def priced(needed: Program, plan: SweepPlan, most: float = math.inf) -> SweepPlan:
    """The plan with what its sweeps cost, where that is at most so much; else with a part of it that is more."""
    return plan if plan.cost else replace(plan, cost=cost(needed, plan, most))


def cheapest(needed: Program, found: Sequence[SweepPlan]) -> SweepPlan:
    """The plan that costs least; of equals the one of fewer sweeps. It is counted first what few sweeps cost: beside that many
    are soon seen to be dearer. One sweep back is cheapest, and not counted at all, where every derivative flows on: a value has
    one adjoint then, and at least one tangent, so that neither the maps nor the sums can be more."""
    best: SweepPlan | None = None
    few, *more = sorted(found, key=lambda p: p.sweeps)
    if few.sweeps == 1 and few.mode == "reverse" and all(map(is_passed_through, operations(needed))):
        return few
    for plan in (few, *more):
        costed = priced(needed, plan, math.inf if best is None else best.cost)
        if best is None or costed.cost < best.cost:
            best = costed
    assert best is not None, "there is a plan"
    return best


def tensor_plans(program: Program, entries: Entries) -> list[SweepPlan]:
    """Plans for a program with tensors: every entry counts as there. A sweep costs about what any other does; that of a tensor
    is one for each of its elements. Between equals what has tensors as results is pushed forward."""
    each = [(entries.rows[i], entries.columns[j]) for i, j in entries.positions()]
    results = {r.name: shape_of(r.atom) for r in program.results}
    inputs = {p.name: p.var.shape for p in program.params}
    back = SweepPlan((), tuple((r,) for r in entries.rows), {(r, x): EntryRead("reverse", r, x) for r, x in each},
                     sum(elements(results[r]) for r in entries.rows))
    ahead = SweepPlan(tuple((x,) for x in entries.columns), (), {(r, x): EntryRead("forward", r, x) for r, x in each},
                      sum(elements(inputs[x]) for x in entries.columns))
    return [ahead, back] if any(results[r] for r in entries.rows) else [back, ahead]


SOME = 32
"""Elements along a dimension whose extent is not known."""


def elements(shape: Shape) -> int:
    """About how many elements a tensor has."""
    return math.prod(SOME if n.number is None else max(n.number, 1) for n in shape)


def one_sided_plans(entries: Entries) -> list[SweepPlan]:
    rows, columns, pattern = entries.rows, entries.columns, entries.pattern
    across = grouped(columns, column_colours(pattern, len(columns)), used_columns(pattern))
    along = grouped(rows, row_colours(pattern, len(columns)), used_rows(pattern))
    found = [SweepPlan(across, (), reads(entries)), SweepPlan((), along, reads(entries, reverse_rows=range(len(rows))))]
    both = mixed(entries, min(len(across), len(along)))
    return [*found, both] if both else found


def symmetric_plans(entries: Entries) -> list[SweepPlan]:
    """Forward and reverse by a star colouring: of each pair of entries, the one that can be read is."""
    rows, columns, used = entries.rows, entries.columns, used_rows(entries.pattern)
    colours = star_colours(entries.pattern)
    tangents, adjoints = {}, {}
    for (i, j), (r, _) in star_reads(entries.pattern, colours).items():
        other = j if r == i else i
        tangents[rows[i], columns[j]] = EntryRead("forward", rows[r], columns[other])
        adjoints[rows[i], columns[j]] = EntryRead("reverse", rows[other], columns[r])
    return [SweepPlan(grouped(columns, colours, used), (), tangents), SweepPlan((), grouped(rows, colours, used), adjoints)]


def mixed(entries: Entries, best: int) -> SweepPlan | None:
    """Both modes at once where that takes fewer sweeps than `best`: the longest rows are pulled back one by one, and the
    rest is coloured by columns; or the longest columns are pushed forward, and the rest is coloured by rows.

    After Hossain & Steihaug, Computing a sparse Jacobian matrix by rows and columns (1998).
    """
    rows, columns, pattern = entries.rows, entries.columns, entries.pattern
    across = transposed(pattern, len(columns))
    plan, count = None, 1
    while count < best:
        long, wide = set(longest(pattern, count)), set(longest(across, count))
        short = tuple(() if i in long else row for i, row in enumerate(pattern))
        groups = grouped(columns, column_colours(short, len(columns)), used_columns(short))
        if count + len(groups) < best:
            best = count + len(groups)
            plan = SweepPlan(groups, tuple((rows[i],) for i in sorted(long)), reads(entries, reverse_rows=long))
        narrow = tuple(tuple(j for j in row if j not in wide) for row in pattern)
        groups = grouped(rows, row_colours(narrow, len(columns)), used_rows(narrow))
        if count + len(groups) < best:
            best = count + len(groups)
            plan = SweepPlan(tuple((columns[j],) for j in sorted(wide)), groups, reads(entries, reverse_but=wide))
        count *= 2
    return plan


def longest(pattern: Pattern, count: int) -> list[int]:
    return sorted(range(len(pattern)), key=lambda i: -len(pattern[i]))[:count]


def used_columns(pattern: Pattern) -> list[int]:
    return sorted({j for row in pattern for j in row})


def used_rows(pattern: Pattern) -> list[int]:
    return [i for i, row in enumerate(pattern) if row]


def grouped(names: Sequence[str], colours: Sequence[int], members: Sequence[int]) -> Groups:
    """The names of the members by colour."""
    groups: dict[int, list[str]] = {}
    for i in members:
        groups.setdefault(colours[i], []).append(names[i])
    return tuple(tuple(groups[c]) for c in sorted(groups))


def reads(entries: Entries, reverse_rows: Container[int] = (),
          reverse_but: Container[int] | None = None) -> dict[MatrixEntry, EntryRead]:
    """Every entry read where it stands: in reverse mode for these rows, or for all columns but these; else forward."""
    found = {}
    for i, j in entries.positions():
        back = i in reverse_rows if reverse_but is None else j not in reverse_but
        r, x = entries.rows[i], entries.columns[j]
        found[r, x] = EntryRead("reverse" if back else "forward", r, x)
    return found


# ---------------------------------------------------------------- what a plan costs

def cost(program: Program, plan: SweepPlan, most: float = math.inf) -> int:
    """The weighted operations of the sweeps of a plan; no further counted than to more than `most`."""
    total, paid = 0, Paid()
    if plan.inputs:
        inputs = {p.name: p.var for p in program.params}
        total += forward_cost(program, masks([[inputs[x] for x in group] for group in plan.inputs]), paid, most)
    if plan.outputs and total <= most:
        results = {r.name: r.atom for r in program.results}
        active = active_values(program, {at.input for at in plan.reads.values() if at.mode == "reverse"})
        seeds = masks([[results[v] for v in group] for group in plan.outputs])
        total += reverse_cost(program.equations, seeds, active, paid, most - total)
    return total


# ---------------------------------------------------------------- the sweeps

def carried_out(program: Program, plan: SweepPlan) -> tuple[list[Equation], dict[MatrixEntry, Atom]]:
    """The program's equations with the sweeps of the plan, and the entries."""
    b, tangents, adjoints = Builder(), dict[tuple[str, int], Atom](), dict[tuple[int, str], Atom]()
    ways = plan.reads.values()
    inputs = {p.name: p.var.shape for p in program.params}
    results = {r.name: shape_of(r.atom) for r in program.results}
    ahead = unit_seeds(inputs, plan.inputs)
    back = unit_seeds(results, plan.outputs)
    if plan.inputs:
        tangents = forward.partials(b, program, plan.inputs, {at.result for at in ways if at.mode == "forward"}, ahead)
    else:
        b.equations.extend(program.equations)
    if plan.outputs:
        adjoints = reverse.partials(b, program, plan.outputs, {at.input for at in ways if at.mode == "reverse"}, back)
    of_input = {x: i for i, group in enumerate(plan.inputs) for x in group}
    of_result = {v: i for i, group in enumerate(plan.outputs) for v in group}
    found: dict[MatrixEntry, Atom | None] = {
        entry: tangents.get((at.result, of_input[at.input])) if at.mode == "forward" else
        adjoints.get((of_result[at.result], at.input)) for entry, at in plan.reads.items()}
    shapes = {(v, x): (*results[v], *inputs[x]) for v, x in plan.reads}
    if ahead or back:
        b, found = in_all_directions(b, plan, ahead, back, found)
    return b.equations, {entry: constant(b, shapes[entry], 0.0) if value is None else value for entry, value in found.items()}


def unit_seeds(shapes: Mapping[str, Shape], groups: Groups) -> dict[str, Var]:
    """Placeholders of the seeds of tensors."""
    return {name: Var("e", True, shape=shapes[name]) for group in groups for name in group if shapes[name]}


def in_all_directions(b: Builder, plan: SweepPlan, ahead: Mapping[str, Var], back: Mapping[str, Var],
                      found: Mapping[MatrixEntry, Atom | None]) -> tuple[Builder, dict[MatrixEntry, Atom | None]]:
    """Sweeps by way of unit seeds as sweeps in all their directions, and the entries with the dimensions of these."""
    from adcli.lang.modes.vmap import Directions  # only for programs with tensors
    whole = Directions(Builder(), [*ahead.values(), *back.values()])
    whole.lines(b.equations)
    entries = dict(found)
    for entry, at in plan.reads.items():
        value, seed = found[entry], ahead.get(at.input) if at.mode == "forward" else back.get(at.result)
        if seed is not None and value is not None:
            entries[entry] = whole.result(value, seed.shape, at.mode == "forward")
    return whole.b, entries
