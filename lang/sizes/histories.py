"""How long a history is and which of its elements are written, for sizes that are names.

What is asked here is decided where that shows without numbers. Elements of a history are counted along the step; an interval is
half open.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, bounds, greatest, never_negative, substituted
from adcli.lang.ir.records import value_record
from adcli.lang.operations.comprehension import MOST_DIMENSIONS, Comprehension, Range, Subscript, ends_of, in_ranges
from adcli.lang.operations.matrix import Boxed

Interval = tuple[Affine, Affine]


@value_record
class WrittenElements:
    """The elements of a tensor that statements of a block write, along each dimension in which that is known before they are
    lowered; dimension `place` has the step of a loop, or is the first in which elements are named one by one."""

    place: int
    along: tuple[tuple[Interval, ...], ...] = ()

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Those along the step."""
        return self.along[self.place]

    def also(self, d: int, interval: Interval) -> WrittenElements:
        """With an interval more along a dimension."""
        along = [*self.along, *[()] * (d + 1 - len(self.along))]
        along[d] = joined((*along[d], interval))
        return WrittenElements(self.place, tuple(along))


def joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The union of intervals in as few as that shows. None is of negative length."""
    left, found = list(intervals), list[Interval]()
    while left:
        low, high = left.pop(0)
        again = True
        while again:
            again = False
            for other in left:
                if never_negative(other[0] - low) and never_negative(high - other[0]):
                    high, again = longer(high, *other), True
                elif never_negative(low - other[0]) and never_negative(other[1] - low):
                    low, high, again = other[0], longer(other[1], low, high), True
                else:
                    continue
                left.remove(other)
                break
        found.append((low, high))
    return tuple(found)


def longer(extent: Affine, low: Affine, high: Affine) -> Affine:
    """An extent that also has the elements low:high, where low <= high is known."""
    if never_negative(extent - high):
        return extent
    if never_negative(high - extent) or never_negative(low - extent):
        return high
    return greatest(extent, high)


NOTHING = affine(0)


def extent_over(intervals: Sequence[Interval], extent: Affine = NOTHING) -> Affine:
    """The extent that has the elements of all intervals, from element 0 on, and is no smaller than another."""
    for low, high in intervals:
        extent = longer(extent, low, high)
    return extent


def goes_beyond(low: Affine, high: Affine, extent: Affine) -> bool:
    """Whether the elements low:high surely go on behind an extent, for all sizes for which there are any; sizes that nothing is
    known of may be meant to be small enough."""
    return (never_negative(high - extent) or never_negative(low - extent)) and not never_negative(extent - high)


# ---------------------------------------------------------------- elements in all dimensions

Box = tuple[Interval, ...]
"""For each dimension an interval of subscripts."""


ELEMENT = tuple([Index(f"e{d}") for d in range(MOST_DIMENSIONS)])
"""The subscripts of an element."""
Region = tuple[Affine, ...]
"""Expressions of the subscripts of an element, not negative where it is written."""
MOST_REGIONS, MOST_PROOFS = 8, 200
"""Regions that a read is looked for in, and proofs that are tried for it."""


@value_record
class Gappy:
    """The boxes of a tensor that are written, the others not; dimension `place` has the step. `regions` says more exactly which
    elements of these are written, as far as that is known."""

    place: int
    boxes: tuple[Box, ...] = ()
    regions: tuple[Region, ...] = ()

    def also(self, *more: Box, regions: Iterable[Region | None] = ()) -> Gappy:
        """With more boxes; those that differ along one dimension only and touch are one."""
        boxes = (*self.boxes, *more)
        for d in range(len(boxes[0]) if boxes else 0):
            along = dict[Box, list[Interval]]()
            for box in boxes:
                along.setdefault((*box[:d], *box[d + 1:]), []).append(box[d])
            boxes = tuple([(*rest[:d], i, *rest[d:]) for rest, intervals in along.items() for i in joined(intervals)])
        return Gappy(self.place, boxes, (*self.regions, *[r for r in regions if r is not None]))


def box_of(subscripts: Sequence[Subscript], ranges: Iterable[Range], guards: Iterable[Affine]) -> Box | None:
    """The box of the elements that subscripts name over a domain, in which guards on one index count; None where one is
    gathered."""
    ends = dict(ends_of(ranges))
    for g in guards:
        if len(g.indices()) == 1 and abs(g.coefficient(i := g.indices()[0])) == 1:
            low, high = ends[i]
            rest = g - affine(i) * g.coefficient(i)
            if g.coefficient(i) > 0:
                ends[i] = low if never_negative(low + rest) else -rest, high
            else:
                ends[i] = low, high if never_negative(rest - high) else rest
    found = []
    for s in subscripts:
        if not isinstance(s, Affine):
            return None
        low, high = bounds(s, ends)
        found.append((low, high + 1))
    return tuple(found)


def written_box(op: Boxed) -> Box | None:
    """The box of the elements that an operation writes; None where one is gathered."""
    box = box_of(op.write, op.ranges, op.guards)
    return None if box is None else (*box, *[(affine(0), n) for n in op.shape[len(op.write):]])


def written_region(op: Boxed) -> Region | None:
    """The elements that an operation writes, exactly; None where their subscripts do not say at which point that is done. A
    reduction gives all elements of its box a value, whatever its guards are."""
    by: NewSubstitution = {}
    found: list[Affine] = []
    for d, s in enumerate(op.write):
        if not isinstance(s, Affine):
            return None
        own, at = s.indices(), affine(ELEMENT[d])
        if not own:
            found += [at - s, s - at]
        elif len(own) > 1 or own[0] in by or s.coefficient(own[0]) != 1:
            return None
        else:
            by[own[0]] = at - (s - affine(own[0]))
    for d, n in enumerate(op.shape[len(op.write):], len(op.write)):
        found += [affine(ELEMENT[d]), n - 1 - affine(ELEMENT[d])]
    found += in_ranges(r for r in op.ranges if r.index in by)
    if isinstance(op, Comprehension) and op.reduction == "=":
        if any(r.index not in by for r in op.ranges):
            return None
        found += op.guards
    return tuple([substituted(x, by) for x in found])


def surely_written(at: Sequence[Affine], known: Sequence[Affine], regions: Sequence[Region]) -> bool:
    """Whether an element is in one of the regions at every point where those of `known` are not negative, as far as that is
    found: a point at which it is not in the first for one of its conditions must have it in another."""
    from adcli.lang.sizes.proofs import proved  # few programs have a tensor of which not all is written
    left = MOST_PROOFS

    def inside(facts: list[Affine], regions: Sequence[Region]) -> bool:
        nonlocal left
        if not regions:
            return False
        first, *others = regions
        for condition in first:
            x = substituted(condition, dict(zip(ELEMENT, at, strict=False)))
            left -= 1
            if left < 0:
                return False
            if not never_negative(x) and not proved(x, facts):
                if not inside([*facts, -x - 1], others):
                    return False
                facts = [*facts, x]
        return True
    return 0 < len(regions) <= MOST_REGIONS and inside(list(known), regions)


Holds = Callable[[Affine], bool]
"""Whether an expression is known to be at least 0."""


def missing(read: Box, written: Sequence[Box], known: Sequence[Affine], first: int = 0) -> tuple[Affine, ...] | None:
    """An element of a box that is not surely in any of the others; None where all surely are. The expressions of `known` are at
    least 0. Dimension `first` is gone through first."""
    return _missing(read, written, _holds(known, written), [first, *(d for d in range(len(read)) if d != first)])


def _holds(known: Sequence[Affine], written: Iterable[Box]) -> Holds:
    from adcli.lang.sizes.proofs import proved  # few programs have a tensor of which not all is written
    facts = [*known, *(high - low for box in written for low, high in box)]
    return lambda x: never_negative(x) or proved(x, facts)


def _missing(read: Box, written: Sequence[Box], holds: Holds, order: Sequence[int]) -> tuple[Affine, ...] | None:
    """The walk starts where the read does, or where a box does that is not behind: at 0 for T:T + 1 in 0:1 and 1:T + 1."""
    if not order:
        return None if written else tuple(low for low, _ in read)
    d = order[0]
    starts = dict.fromkeys([read[d][0], *(b[d][0] for b in written if holds(read[d][0] - b[d][0]))])
    first, *others = starts
    lacking = _walked(first, read, written, holds, order)
    return None if lacking is None or any(_walked(at, read, written, holds, order) is None for at in others) else lacking


def _walked(at: Affine, read: Box, written: Sequence[Box], holds: Holds, order: Sequence[int]) -> tuple[Affine, ...] | None:
    lacking: tuple[Affine, ...] = tuple(low for low, _ in read)
    d, *rest = order
    high = read[d][1]
    for _ in range(len(written) + 1):
        if holds(at - high):
            return None
        here = [b for b in written if holds(at - b[d][0]) and holds(b[d][1] - at)]
        reached = at
        for end in dict.fromkeys(b[d][1] for b in here):
            if end != reached and holds(end - reached):
                lacks = _missing(read, [b for b in here if holds(b[d][1] - end)], holds, rest)
                if lacks is None:
                    reached = end
                else:
                    lacking = lacks
        if reached == at:
            break
        at = reached
    return (*lacking[:d], at, *lacking[d + 1:])


def surely_missing(at: Sequence[Affine], written: Sequence[Box], known: Sequence[Affine]) -> bool:
    """Whether an element is in none of the boxes, whatever the sizes are."""
    holds = _holds(known, written)
    return all(any(holds(low - x - 1) or holds(x - high) for x, (low, high) in zip(at, box, strict=True)) for box in written)
