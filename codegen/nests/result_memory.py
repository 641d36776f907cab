"""Arrays for results, from the memory of results that nobody has any more.

Memory that is new to the process takes longer to come by than many results take: the system hands it out page by page, as it is
first written, and what is given back is new the next time.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from sys import getrefcount
from typing import Any

LARGE = 1 << 17
"""Bytes from which on an array has memory of its own from the system, which it gives back."""


def references(arrays: Sequence[object]) -> list[int]:
    """How many references there are to each array, with those that counting takes. A view of an array is one, too."""
    return [getrefcount(a) for a in arrays]


HELD_ONCE = references([object()])[0]
"""`references` of an array that is in its list and nowhere else."""


class ResultMemory:
    """The large results of the last calls; several threads may ask at once. `blank` makes an array of a shape, whose elements
    have so many bytes."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], element: int, blank: Callable[[tuple[int, ...]], Any]) -> None:
        sizes = [element * prod(shape) for shape in shapes]
        self.shapes, self.blank, self.bytes, self.large = shapes, blank, sum(sizes), max(sizes, default=0) >= LARGE
        self.kept: list[list[Any]] = []

    def arrays(self, limit: int) -> list[Any]:
        """An array for each result. None is kept where they take more bytes than the limit."""
        if not self.large or self.bytes > limit:
            self.kept.clear()
            return [self.blank(shape) for shape in self.shapes]
        try:
            before = self.kept.pop()
        except IndexError:
            before = []
        free = [a for a, count in zip(before, references(before), strict=True) if count == HELD_ONCE]
        found = []
        for shape in self.shapes:
            k = next((k for k, a in enumerate(free) if a.shape == shape), None)
            found.append(self.blank(shape) if k is None else free.pop(k))
        left = [a for a in before if not any(a is b for b in found)][:len(found)]
        self.kept.append([a for a in (*found, *left) if a.nbytes >= LARGE])   # who has what is left may give it back for the next
        return found
