"""Copies that are kept: what a loop reads along vectors and never writes is copied once, and not at each of its steps.

    for t in 0:T { v(t, n, j) +=! h(t, n, k) * U(k, j); … }

The panels of U that tiles read (adcli.codegen.nests.panels) are the same at every step. They lie in a tensor of their own, which
one thread fills before the first step. Panels are counted from the first value of the vectorised index on, so that all threads
that share a step find them in the same places.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.nests.schedule import Schedule
from adcli.lang.ir import Atom, Var
from adcli.lang.ir.affine import Affine, floor
from adcli.lang.ir.comprehension import Range, Read, atoms_in


def keeping(schedules: Sequence[Schedule], loop: StepLoop, lanes: int) -> list[Schedule]:
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
    """Whether a read has the same elements at every step, at places that no other index limits."""
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
