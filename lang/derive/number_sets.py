"""Many sets of numbers below some number, each different one kept once and known by a number of its own.

A set is its words of 64 numbers that are not empty, so a sparse one costs its members, and a full one an eighth of a byte for
each number. Equal sets being one, whoever repeats what led to a set sees it by comparing numbers.
"""
from __future__ import annotations

from itertools import pairwise

import numpy as np
from adcli.lang.derive.sparsity import Pattern, TooMany

MOST_AT_ONCE = 1 << 25
"""Words of sets, entries of a pattern, and points of a box, that are handled at once; beyond, memory could end."""
EMPTY = 0
"""The number of the empty set."""
BLOCK = 1 << 16
"""Words whose members are listed at once."""


class NumberSets:
    """Sets of numbers below `numbers`: set 0 is empty, set 1 + k has k alone. TooMany beyond a limit."""

    def __init__(self, numbers: int) -> None:
        self.width = (numbers >> 6) + 1
        each = np.arange(numbers)
        self.start = GrowingRows(np.concatenate([[0], np.arange(numbers + 1)]))
        self.words = GrowingRows(_words(each))
        self.known = dict[bytes, int]()

    def single(self, first: int, count: int) -> np.ndarray:
        """Of each of so many elements the set of a number of its own, from `first` on."""
        return np.arange(first + 1, first + 1 + count)

    def unions(self, group: np.ndarray, sets: np.ndarray, groups: int) -> np.ndarray:
        """The union of the sets of each of so many groups; what is below 0 is as good as empty."""
        count, some = len(self.start.rows) - 1, sets > EMPTY
        group, sets = np.divmod(np.unique(group[some] * count + sets[some]), count)
        found, alone = np.zeros(groups, np.int64), np.bincount(group, minlength=groups)[group] == 1
        found[group[alone]] = sets[alone]
        if not alone.all():
            group, sets = group[~alone], sets[~alone]
            place, at = self.read(sets)
            self.join(group[place], self.words.rows[at], found)
        return found

    def collected(self, group: np.ndarray, members: np.ndarray, groups: int) -> np.ndarray:
        """The set of the members of each of so many groups."""
        found = np.zeros(groups, np.int64)
        if len(members):
            self.join(group, _words(members), found)
        return found

    def join(self, group: np.ndarray, words: np.ndarray, found: np.ndarray) -> None:
        """Put into `found` for each group that has words the set that they make."""
        key = group * self.width + words[:, 0]
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        group, word = np.divmod(key[first], self.width)
        words = np.stack([word, np.bitwise_or.reduceat(words[order, 1], first)], axis=1)
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])).tolist()
        whole, size, count = words.tobytes(), words.itemsize * 2, len(self.start.rows) - 1
        numbers, new, total = [], list[int](), len(self.words.rows)
        ends, fresh = list[int](), list[tuple[int, int]]()
        for a, b in pairwise((*starts, len(words))):
            name = whole[a * size:b * size]
            at = self.known.get(name)
            if at is None:
                self.known[name] = at = count + len(ends)
                fresh.append((a, b))
                total += b - a
                ends.append(total)
            numbers.append(at)
        if total > MOST_AT_ONCE:
            raise TooMany
        if len(fresh) < len(starts):
            new = [k for a, b in fresh for k in range(a, b)]
        self.words.extend(words if len(fresh) == len(starts) else words[new])
        self.start.extend(np.array(ends, np.int64))
        found[group[starts]] = numbers

    def read(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the words of these sets stand, each with the place in `sets` of the set that it is of."""
        first = self.start.rows[sets]
        counts = self.start.rows[sets + 1] - first
        whole = int(counts.sum())
        if whole > MOST_AT_ONCE:
            raise TooMany
        ends = np.cumsum(counts)
        return np.repeat(np.arange(len(sets)), counts), np.arange(whole) + np.repeat(first - ends + counts, counts)

    def members(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The members of these sets in ascending order, each with the place in `sets` of the set that it is of."""
        place, at = self.read(sets)
        places, members = [place[:0]], [place[:0]]
        for k in range(0, len(at), BLOCK):
            words = self.words.rows[at[k:k + BLOCK]]
            each = words[:, 1].astype("<i8").view(np.uint8).reshape(-1, 8)
            row, bit = np.nonzero(np.unpackbits(each, axis=1, bitorder="little"))
            places.append(place[k + row])
            members.append(words[row, 0] * 64 + bit)
            if sum(map(len, members)) > MOST_AT_ONCE:
                raise TooMany
        return np.concatenate(places), np.concatenate(members)

    def pattern(self, sets: np.ndarray) -> Pattern:
        """The sets as rows; equal ones share their tuple."""
        different, row = np.unique(np.maximum(sets, EMPTY), return_inverse=True)
        place, members = self.members(different)
        ends, listed = np.searchsorted(place, np.arange(len(different) + 1)).tolist(), members.tolist()
        if int(np.diff(ends)[row].sum()) > MOST_AT_ONCE:
            raise TooMany
        rows = [tuple(listed[a:b]) for a, b in pairwise(ends)]
        return tuple([rows[k] for k in row.tolist()])


class GrowingRows:
    """An array that rows are added to."""

    def __init__(self, rows: np.ndarray) -> None:
        self.space, self.rows = rows, rows

    def extend(self, more: np.ndarray) -> None:
        count = len(self.rows)
        if count + len(more) > len(self.space):
            self.space = np.concatenate([self.rows, more, np.empty_like(self.rows)])
        else:
            self.space[count:count + len(more)] = more
        self.rows = self.space[:count + len(more)]


def _words(members: np.ndarray) -> np.ndarray:
    """For each of these numbers its word, and that one's bits."""
    return np.stack([members >> 6, np.left_shift(np.int64(1), members & 63)], axis=1)
