"""Programs as steps: what runs as a whole, with the nests that there are for it, and what is said of it for all shapes.

A step of a program without loops may go along the rows of a tensor with others; one of a program with loops, along the steps of
these.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.codegen.nests.fusion import joinable, needed
from adcli.codegen.nests.history_elements import history_elements
from adcli.codegen.nests.recurrences import (
    StepLoop,
    step_loop,
    unfilled,
    used_outside,
)
from adcli.codegen.nests.row_sweeps import RowBlocks, RowStep, RowSweep, in_row_blocks, in_sweeps
from adcli.codegen.nests.stepwise import PLAIN, SUM, StepPart, step_parts
from adcli.codegen.rows.parts import PART_SIZE
from adcli.codegen.schedules.schedule import Schedule, StepBlock, indices
from adcli.codegen.schedules.search import schedules
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, floor, greatest, least, substituted
from adcli.lang.operations.comprehension import NEUTRAL, Comprehension, Range, Read, atoms_in, covers
from adcli.lang.operations.matrix import FACTORING, TINY_ROWS, MatrixOperation, covered_points, matrix_extent
from adcli.lang.operations.recurrence import Recurrence


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """Where a matrix after elimination lies, with the subscripts of a point; `there` once an earlier step has made it."""

    place: Var
    at: tuple[Affine, ...]
    there: bool


Limits = tuple[Index | str, Affine, Affine]
"""An index, or the step of a loop, with its range."""


@dataclass(slots=True)
class ModuleStep:
    """Part of a program that runs as a whole: a comprehension with its `schedules`, a recurrence with its `loop` and the steps
    that `each` step of it has, or scalar equations. With `fills` elements may be left that no schedule writes; `stays` says
    that these keep what they have. A step that `calls` is an operation on matrices; in a module that stands alone it may need a
    `place` for one matrix, and the `factor` of one may be that of several steps. A sum over rows that are done in parts has a
    place for what these come to."""

    equations: Sequence[Equation]
    schedules: Sequence[Schedule] = ()
    fills: bool = False
    stays: bool = False
    calls: bool = False
    place: Var | None = None
    factor: SharedFactor | None = None
    loop: StepLoop | None = None
    each: Sequence[ModuleStep] = ()
    block: StepBlock | None = None


def divided(program: Program, lanes: int, size: int = 8, given: Program | None = None) -> list[ModuleStep]:
    """The steps of a program, in order, for registers of `lanes` numbers of `size` bytes; equations that nothing needs are left
    out. Schedules are those that statements have in the `given` program, before invariants left them: sums keep their order."""
    steps: list[ModuleStep] = []
    run: list[Equation] = []
    program = needed(program)
    plain = unfilled(program)
    before = {} if given is None else {e.outs[0]: e for e in given.equations if joinable(e)}
    for e in program.equations:
        if isinstance(e.op, (Comprehension, Recurrence, MatrixOperation)):
            steps += [ModuleStep(run)] if run else []
            run = []
            if isinstance(e.op, Recurrence):
                steps.append(looped(step_loop(e, used_outside(program, e), f"step {len(steps)}"), e, lanes, size))
            elif isinstance(e.op, MatrixOperation):
                steps.append(ModuleStep((e,), stays=covered_points(e.op), calls=True))
            else:
                made = nested(before.get(e.outs[0], e), lanes, e.outs[0] in plain, size)
                if e.outs[0] in before:
                    made = replace(made, equations=(e,), schedules=[replace(n, op=e.op, args=e.args) for n in made.schedules])
                steps.append(made)
        else:
            run.append(e)
            if len(run) == PART_SIZE:
                steps.append(ModuleStep(run))
                run = []
    return with_factors(steps + ([ModuleStep(run)] if run else []))


def nested(e: Equation[Comprehension], lanes: int, stays: bool, size: int) -> ModuleStep:
    """A comprehension as a step; `stays`: elements that it does not write keep what they have."""
    made = schedules(e, e.op, lanes, stays, size)
    return ModuleStep((e,), made, not all(map(covered, made)), stays)


def looped(loop: StepLoop, e: Equation, lanes: int, size: int) -> ModuleStep:
    """A recurrence as a step."""
    each: list[ModuleStep] = []
    for inner in () if loop.registers else loop.equations:
        if isinstance(inner.op, MatrixOperation):
            each.append(ModuleStep((inner,), stays=inner.outs[0] in loop.histories or covered_points(inner.op), calls=True))
            continue
        made = nested(inner, lanes, inner.outs[0] in loop.histories, size)
        each.append(replace(made, schedules=hoisted_packing(made.schedules, loop, lanes)))
    return ModuleStep((e,), loop=loop, each=each)


def with_factors(steps: list[ModuleStep]) -> list[ModuleStep]:
    """The steps, with one factor for all operations on a matrix at the same points. Where a loop is checkpointed memory is worth
    more, and one that may end early has no factors behind its end: there it is only for the operations of one of its steps."""
    keeps = not any(isinstance(op := s.equations[0].op, Recurrence) and op.checkpoint for s in steps)
    uses: dict[object, list[tuple[ModuleStep, StepLoop | None, list[Limits]]]] = {}
    for outer in steps:
        loop = outer.loop
        for step in outer.each if loop is not None else [outer]:
            e = step.equations[0]
            if isinstance(op := e.op, MatrixOperation) and op.name in FACTORING and not op.guards:
                over: list[Limits] = [(loop.step, loop.low, loop.high)] if loop is not None else []
                over += [(r.index, r.low, r.high) for r in op.ranges]
                by = {x: affine(f"index {n}") for n, (x, _, _) in enumerate(over)}
                at = [substituted(s, by) if isinstance(s, Affine) else id(step) for s in op.sources[0].subscripts]
                own = loop if loop is not None and not (keeps and loop.until is None) else None
                key = e.args[op.sources[0].arg], *at, *[limits[1:] for limits in over], id(own)
                uses.setdefault(key, []).append((step, loop, over))
    for group in uses.values():
        first, loop, over = group[0]
        inside = int(loop is not None and all(other is loop for _, other, _ in group))
        n, points = matrix_extent(first.equations[0]), [high - low for _, low, high in over[inside:]]
        plain = {x for x, _, _ in over}.isdisjoint({a for x in points for a in atoms(x)})
        if len(group) > 1 and plain and (keeps or not points) and (n.number or TINY_ROWS + 1) > TINY_ROWS:
            place = Var("factor", True, shape=(*points, n + 1, n + 1))
            for step, _, over in group:
                step.factor = SharedFactor(place, tuple([affine(x) - low for x, low, _ in over[inside:]]), step is not first)
    return steps


def hoisted_packing(schedules: Sequence[Schedule], loop: StepLoop, lanes: int) -> list[Schedule]:
    """The nests of a statement of a loop with the copies that are kept. Those that lie alike have one place."""
    made: set[Atom] = {*loop.histories, *loop.homes, *loop.homes.values(), *(out for e in loop.equations for out in e.outs)}
    places: dict[object, Var] = {}
    found = []
    for schedule in schedules:
        kept = []
        for s in schedule.packed_reads:
            if schedule.args[s.arg] not in made and same_at_every_step(schedule, s, loop.step):
                shape = shape_of_copies(schedule, s, lanes)
                kept.append((s, places.setdefault((s, schedule.vector, schedule.inner, shape), Var(None, True, shape=shape))))
        found.append(replace(schedule, hoisted=tuple(kept)))
    return found


def same_at_every_step(schedule: Schedule, s: Read, step: str) -> bool:
    """True if a read has the same elements at every step, at places that no other index limits."""
    ends = atoms_in([x for r in copied_ranges(schedule, s) for x in (r.low, r.high)])
    plain = all(isinstance(x, Affine) for x in s.subscripts) and not schedule.op.guards
    return plain and step not in ends | atoms_in([s]) and ends.isdisjoint(schedule.op.indices)


def copied_ranges(schedule: Schedule, s: Read) -> list[Range]:
    """The ranges of the indices for each of whose values there are copies, the vectorised one last."""
    return [schedule.range(i) for i in (*schedule.outer_of(s), *schedule.inner, schedule.vector) if i is not None]


def shape_of_copies(schedule: Schedule, s: Read, lanes: int) -> tuple[Affine, ...]:
    """How many numbers there are: whole panels along the vectorised index."""
    width = lanes * schedule.blocks
    *lengths, along = (r.high - r.low for r in copied_ranges(schedule, s))
    return (*lengths, floor(along + (width - 1), width) * width)


def crossing(program: Program, steps: Sequence[ModuleStep]) -> list[Var]:
    """The values that lie in memory: inputs, then results, then what one step makes and another one reads."""
    home = {out: k for k, s in enumerate(steps) for e in s.equations for out in e.outs}
    results = {r.atom for r in program.results}
    read = {a for k, s in enumerate(steps) for e in s.equations for a in e.args if isinstance(a, Var) and home.get(a, k) != k}
    own = [v for s in steps if s.loop is not None for v in s.loop.own]
    own += [v for s in steps for x in (s, *s.each) for v in of_its_own(x)]
    made = [*(v for v in home if v in results), *(v for v in home if v in read), *own]
    return list(dict.fromkeys([*(p.var for p in program.params), *made]))


def of_its_own(step: ModuleStep) -> list[Var]:
    """Tensors in memory for a step alone: its place, and hoisted copies."""
    copies = [v for n in step.schedules for _, v in n.hoisted]
    return [*([] if step.place is None else [step.place]), *([] if step.factor is None else [step.factor.place]), *copies]


def in_blocks(program: Program, steps: list[ModuleStep],
              home: Mapping[Var, Var]) -> tuple[list[ModuleStep], list[StepPart]]:
    """The steps, those that go along the steps of a loop with cells that say for which; and what they do there. Sums are always
    in blocks, the rest where a loop is checkpointed."""
    checkpointed = any(s.equations[0].op.checkpoint for s in steps if s.loop is not None)
    lying = set(crossing(program, [stored(s) for s in steps] if checkpointed else steps))
    inputs = {p.var for p in program.params}
    apart = {a for s in steps for e in s.equations for a in (*e.args, *e.outs) if a not in lying} | inputs

    def starts(k: int) -> dict[Var, float | None]:
        e, step = steps[k].equations[0], steps[k]
        if isinstance(e.op, Recurrence):
            return {home.get(out, out): a.value for n, (out, a) in enumerate(zip(e.outs, e.args, strict=False))
                    if isinstance(a, Lit) and not history_elements(e).written_wholly(n)}
        plain = isinstance(e.op, (Comprehension, MatrixOperation)) and e.op.onto is None and not step.stays
        return {home.get(e.outs[0], e.outs[0]): NEUTRAL[e.op.reduction]} if plain else {}
    parts = step_parts([(s.equations, s.schedules) for s in steps], lambda v: home.get(v, v), apart, starts)
    found = []
    for s, p in zip(steps, parts, strict=True):
        names = f"from {p.k}", f"to {p.k}", f"more {p.k}"
        if p.kind == SUM and (p.adds or checkpointed):
            assert p.index is not None
            block = StepBlock(p.index, p.adds, names)
            s = replace(s, schedules=[replace(n, block=block) for n in s.schedules], block=block)
        elif checkpointed and p.kind != PLAIN:
            s = limited(s, p, names)
        found.append(s)
    return found, parts


def along_rows(steps: Sequence[ModuleStep],
               home: Mapping[Var, Var]) -> tuple[list[ModuleStep], list[RowBlocks], list[RowSweep]]:
    """The steps of a program without loops, with those that go along rows of one tensor behind each other, these groups, and what
    of them is done in one loop."""
    def places(atoms: Iterable[Atom]) -> frozenset[Var]:
        return frozenset(home.get(a, a) for a in atoms if isinstance(a, Var))

    seen = [RowStep(s.equations, s.schedules, not s.fills and not s.stays, places(a for e in s.equations for a in e.args),
                    places(out for e in s.equations for out in e.outs)) for s in steps]
    order, groups = in_row_blocks(seen, lambda v: home.get(v, v))
    found = [steps[k] for k in order]
    sweeps = [sweep for g in groups for sweep in in_sweeps([seen[k] for k in order], g.blocks)]
    for k, block in [(k, block) for g in groups for k, block in g.blocks.items()]:
        found[k] = replace(found[k], schedules=[replace(n, block=block) for n in found[k].schedules], block=block)
    for k, apart in [(k, apart) for g in groups for k, (_, apart) in g.sums.items()]:
        found[k] = replace(found[k], place=apart)
    return found, groups, sweeps


def limited(s: ModuleStep, p: StepPart, names: tuple[str, str, str]) -> ModuleStep:
    """A step that goes along the steps of a checkpointed loop, for some of them. What it does not write a plan fills, which
    knows how much there is."""
    if p.index is None:
        return replace(s, stays=True)
    block = StepBlock(p.index, False, names)
    if s.loop is not None:
        loop = replace(s.loop, low=affine(names[0]), high=affine(names[1]), stored=True)
        return replace(s, loop=loop, block=block)
    (e,) = s.equations
    if isinstance(op := e.op, MatrixOperation):
        ranges = [Range(r.index, greatest(r.low, affine(names[0])), least(r.high, affine(names[1])), r.why)
                  if r.index is p.index else r for r in op.ranges]
        s = replace(s, equations=(replace(e, op=replace(op, ranges=tuple(ranges))),))
    return replace(s, schedules=[replace(n, block=block) for n in s.schedules], stays=True, block=block)


def stored(s: ModuleStep) -> ModuleStep:
    return s if s.loop is None else replace(s, loop=replace(s.loop, stored=True))


def covered(schedule: Schedule) -> bool:
    """True if a nest writes every element of the result, whatever the sizes are, if no range is empty."""
    op = schedule.op
    if schedule.scatter:
        return False
    reduced = {r.index for r in op.ranges}.difference(*[indices(s) for s in op.write])
    return covers(replace(op, guards=())) and all(not indices(g) or indices(g) & reduced for g in op.guards)
