"""The order of a recurrence: that an element is read behind all writes to it, and written by one statement only.

Where lags are constant the offsets of the subscripts from the step say it. What they leave open are lags that are sizes or
indices, statements that touch other elements of one step, or steps that no write reaches: with sizes as numbers it is proved that
no point of the one meets a point of the other.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adcli.lang.ir import Program
from adcli.lang.ir.affine import Affine, Index, affine, atoms, never_negative, substituted, text
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import Range, in_ranges
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import Meeting, Recurrence, meetings
from adcli.lang.sizes.binding import number
from adcli.lang.sizes.in_bounds import at_sizes, ends
from adcli.lang.sizes.proofs import eliminated, impossible

# ---------------------------------------------------------------- with sizes as numbers

def prove_steps(program: Program, sizes: Mapping[str, int]) -> None:
    """AdError unless in every recurrence all writes to an element come before its first read, and one statement assigns it."""
    for e in program.equations:
        if isinstance(e.op, Recurrence):
            for each in meetings(e):
                if _meet(each, e.op, sizes):
                    raise _in_wrong_order(program, each, e.op)


def _meet(each: Meeting, op: Recurrence, sizes: Mapping[str, int]) -> bool:
    """Whether there may be a point of each that are the same element, the write not over before the other."""
    rows, ranges = _together(each, op)
    box = {r.index: (number(r.low, sizes), number(r.high, sizes) - 1) for r in ranges}
    if any(last < first for first, last in box.values()):
        return False
    return not impossible([*[at_sizes(x, sizes) for x in rows], *ends(box)])


def _together(each: Meeting, op: Recurrence) -> tuple[list[Affine], list[Range]]:
    """Expressions that are at least 0 at a point of each where they are the same element and the write is not over before the
    other; and the ranges of both points, the other's with indices of its own."""
    writer, other = each.writer.op, each.other.op
    assert isinstance(writer, Boxed)
    again = {r.index: Index(r.index.name) for r in other.ranges}
    by: dict[Index | str, Affine] = {i: affine(j) for i, j in again.items()}
    rows: list[Affine] = [*writer.guards, *[substituted(g, by) for g in other.guards]]
    for mine, its in zip(writer.write, each.subscripts, strict=False):
        if isinstance(mine, Affine) and isinstance(its, Affine):
            rows += [mine - substituted(its, by), substituted(its, by) - mine]
    if each.reads:
        later = affine(op.step) - substituted(affine(op.step), by)
        rows.append((-later if op.down else later) - (1 if each.same_step else 0))
    return rows, [*writer.ranges, *[replace(r, index=again[r.index]) for r in other.ranges]]


# ---------------------------------------------------------------- for all sizes

def meeting_sizes(each: Meeting, op: Recurrence, known: Sequence[Affine]) -> tuple[Affine, ...] | None:
    """Expressions of sizes that are all at least 0 wherever two statements may meet; None where they never do. Those of `known`
    are at least 0."""
    rows, ranges = _together(each, op)
    rows += in_ranges(ranges)
    indices = {r.index for r in ranges}
    rows = [x for x in (*rows, *known) if all(isinstance(a, Index) or indices.isdisjoint(atoms(affine(a))) for a, _ in x.terms)]
    name = {a: a if isinstance(a, Index) else Index("") for x in rows for a, _ in x.terms}
    left = eliminated([({name[a]: c for a, c in x.terms}, x.constant) for x in rows], indices)
    if left is None:
        return ()
    if any(not row and constant < 0 for row, constant in left):
        return None
    sized = {i: a for a, i in name.items() if i not in indices}
    found = [sum((affine(sized[i]) * c for i, c in row.items()), start=affine(constant)) for row, constant in left]
    if impossible(found):
        return None
    given = set(known)
    return tuple([x for x in found if not never_negative(x) and x not in given])


def _in_wrong_order(program: Program, each: Meeting, op: Recurrence) -> AdError:
    name = each.writer.outs[0].name or "a history"
    element = f"{name}({', '.join(text(s) if isinstance(s, Affine) else '…' for s in each.subscripts)})"
    if each.reads:
        return AdError(f"{element} is read before the loop over {op.step.name} has written it", each.other.span,
                       "a read is at least one step behind, or stands behind the assignment of its step",
                       program.source)
    return AdError(f"two statements of the loop over {op.step.name} give elements of '{name}' a value", each.other.span,
                   "an element is assigned once, and added to only behind that: write += for all that is added up",
                   program.source)
