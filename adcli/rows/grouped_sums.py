"""Exact sums of many groups, in arrays: a million groups are a few arrays, not millions of objects.

The limbs of all groups that have the same weight (see `adcli.codegen.rows.exact_sums`) stand in an array of their own, which is
made when the first of them is not 0. So a group takes as many words as its numbers span, and adding the groups of a block is a
few additions of arrays.
"""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.codegen.rows import exact_sums
from adcli.lang.ir import LEVELS
from adcli.rows.sums import ExactSum, Group, Key, Sums

FEW = 1 << 14
"""Groups that always have room."""
KEY_BYTES = 300
"""Bytes that a group takes for its texts, about."""
STEP = 1 << 12
"""Groups whose sums are put together at a time."""
CARRY = 32
"""Bits of a limb that are its own."""


class GroupedSums:
    """`Sums` for many groups: sums by `names`, each of products of so many `factors`, and the groups in the order in which
    they were first seen."""

    def __init__(self, names: tuple[str, ...], factors: Sequence[int], keys: Sequence[Key] = ()) -> None:
        self.names, self.factors = names, tuple(factors)
        self.index = {key: n for n, key in enumerate(keys)}
        self.capacity = max(64, len(keys))
        self.levels = np.zeros((self.capacity, len(LEVELS)), np.int64)
        self.limbs: dict[tuple[int, int], np.ndarray] = {}
        self.terms = 0

    # ------------------------------------------------------------ what is added

    def add_records(self, which: int, records: array[int], numbers: np.ndarray, terms: int) -> None:
        """Add records, each of at most so many terms, to sum `which` of the groups with these numbers, which all differ."""
        found = np.frombuffer(records, np.int64).reshape(len(numbers), -1)
        for word in np.flatnonzero((found != exact_sums.BIAS).any(axis=0)).tolist():
            self._limb(which, word)[numbers] += found[:, word] - exact_sums.BIAS
        self._count(terms)

    def add_levels(self, numbers: np.ndarray, levels: np.ndarray) -> None:
        """Count rows: the number of its group and its status level for each."""
        places = numbers.astype(np.int64) * len(LEVELS) + levels
        self.levels += np.bincount(places, minlength=self.levels.size).reshape(self.levels.shape)

    def merge(self, other: GroupedSums) -> None:
        """Add the rows of others, which come after these."""
        if (self.names, self.factors) != (other.names, other.factors):
            raise ValueError("sums of different things")
        index, count = self.index, len(other.index)
        numbers = np.array([index.setdefault(key, len(index)) for key in other.index], np.int64)
        self._grow()
        self.levels[numbers] += other.levels[:count]
        for place, limb in other.limbs.items():
            self._limb(*place)[numbers] += limb[:count]
        self._count(other.terms)

    def _limb(self, which: int, word: int) -> np.ndarray:
        """Word `word` of the records of sum `which`, for all groups."""
        if (which, word) not in self.limbs:
            self._require(8 * self.capacity)
            self.limbs[which, word] = np.zeros(self.capacity, np.int64)
        return self.limbs[which, word]

    def _grow(self) -> None:
        """Have room for all groups, and for as many again."""
        old = self.capacity
        if len(self.index) <= old:
            return
        self.capacity = 2 * len(self.index)
        self._require((self.capacity - old) * (KEY_BYTES + 8 * (len(LEVELS) + len(self.limbs))))
        self.levels = np.pad(self.levels, ((0, self.capacity - old), (0, 0)))
        for place in self.limbs:
            self.limbs[place] = np.pad(self.limbs[place], (0, self.capacity - old))

    def _require(self, size: int) -> None:
        if self.capacity > FEW:
            require_room(f"sums of {len(self.index):,} groups", size, "group by columns of fewer different texts")

    def _count(self, terms: int) -> None:
        """Carry from limb to limb before one can overflow: until then each moves by less than 2^33 a term."""
        self.terms += terms
        if self.terms < exact_sums.MOST_TERMS:
            return
        for which, factors in enumerate(self.factors):
            for word in range(exact_sums.limbs(factors) - 1):
                if (which, word) in self.limbs:
                    limb = self.limbs[which, word]
                    carried = (limb + (1 << CARRY - 1)) >> CARRY   # what stays is small, of either sign
                    if carried.any():
                        limb -= carried << CARRY
                        self._limb(which, word + 1)[:] += carried
        self.terms = 1

    # ------------------------------------------------------------ what there is

    @property
    def rows(self) -> int:
        return int(self.levels.sum())

    def rough(self, smooth: bool) -> bool:
        """True if a row is not finite, or not `smooth` where all must be."""
        return any(word >= exact_sums.limbs(self.factors[which]) for which, word in self.limbs) or \
            (smooth and bool(self.levels[:, 1:].any()))

    def items(self) -> Iterator[tuple[Key, Group]]:
        """Each group that has rows, with its key."""
        keys = iter(self.index)
        for begin in range(0, len(self.index), STEP):
            end = min(begin + STEP, len(self.index))
            each = zip(*(self._sums(which, begin, end) for which in range(len(self.names))), strict=True)
            for key, levels, sums in zip(islice(keys, end - begin), self.levels[begin:end].tolist(), each, strict=True):
                if rows := sum(levels):
                    yield key, Group(rows, levels, list(sums))

    def _sums(self, which: int, begin: int, end: int) -> list[ExactSum]:
        """One sum of some groups."""
        words = exact_sums.limbs(factors := self.factors[which])
        used = sorted(word for k, word in self.limbs if k == which)
        whole, low = [0] * (end - begin), words
        for word in reversed([word for word in used if word < words]):
            up, low = CARRY * (low - word), word
            whole = [(n << up) + more for n, more in zip(whole, self.limbs[which, word][begin:end].tolist(), strict=True)]
        exponent = CARRY * low + exact_sums.UNIT * factors
        if not used or used[-1] < words:
            return [ExactSum.of(n, exponent) for n in whole]
        zeros = np.zeros(end, np.int64)
        nan, up, down = (self.limbs.get((which, words + k), zeros)[begin:end].tolist() for k in range(3))
        return [ExactSum.of(n, exponent, specials) for n, specials in zip(whole, zip(nan, up, down, strict=True), strict=True)]

    def sums(self) -> Sums:
        """The sums as objects."""
        return Sums(self.names, dict(self.items()))

    def packed(self) -> dict[str, Any]:
        """See `Sums.packed`."""
        return self.sums().packed()


AnySums: TypeAlias = Sums | GroupedSums
