"""How long a history is and which of its elements are written, for sizes that are names.

What is asked here is decided where that shows without numbers. Elements of a history are counted along the step; an interval is
half open.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adcli.lang.ir.affine import Affine, affine, greatest, never_negative

Interval = tuple[Affine, Affine]


@dataclass(frozen=True, slots=True)
class WrittenElements:
    """The elements of a tensor that something has written: those of `intervals` along dimension `place`."""

    place: int
    intervals: tuple[Interval, ...] = ()

    def also(self, *more: Interval) -> WrittenElements:
        return WrittenElements(self.place, joined((*self.intervals, *more)))

    def reached(self, start: Affine) -> Affine:
        """The first element, counted from `start`, that is not surely written."""
        for low, high in self.intervals:
            if never_negative(start - low) and never_negative(high - start):
                return high
        return start

    def surely_lacks(self, at: Affine) -> bool:
        """Whether no interval has an element, whatever the sizes are."""
        return all(never_negative(low - at - 1) or never_negative(at - high) for low, high in self.intervals)


def joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same elements in as few intervals as that shows. None is of negative length."""
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


def extent_over(intervals: Sequence[Interval]) -> Affine:
    """The extent that has the elements of all intervals, from element 0 on."""
    extent = affine(0)
    for low, high in intervals:
        extent = longer(extent, low, high)
    return extent
