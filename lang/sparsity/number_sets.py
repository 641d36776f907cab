"""Many sets of numbers below some number, each different one kept once and known by a number of its own.

A set is its words of 64 numbers that are not empty, so a sparse one costs its members, and a full one an eighth of a byte for
each number. Equal sets being one, whoever repeats what led to a set sees it by comparing numbers.
"""
from __future__ import annotations

from itertools import pairwise

import numpy as np
from adcli.lang.sparsity.sparsity import Pattern


class TooMany(Exception):
    """The sets have become larger than the limit."""


MOST_AT_ONCE = 1 << 25
"""Words of sets, entries of a pattern, and points of a box, that are handled at once, and twice the words that are kept; beyond,
memory could end."""
EMPTY = 0
"""The number of the empty set."""
FEW = 8
"""Sets that are made at once up to which it is not asked whether they are made of the same."""
MANY = 1 << 14
"""Sets that are made at once beyond which they are not looked for among those that are there: hardly one is."""
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
        key = np.sort(group[some] * count + sets[some])
        group, sets = np.divmod(key[_changes(key)], count)
        found, alone = np.zeros(groups, np.int64), np.bincount(group, minlength=groups)[group] == 1
        found[group[alone]] = sets[alone]
        if not alone.all():
            group, sets = group[~alone], sets[~alone]
            starts = _changes(group)
            first, same = _equal_runs(sets, starts)
            of = group[starts]
            if len(first) < len(starts):
                one = np.zeros(len(starts), bool)
                one[first] = True
                some = np.repeat(one, _lengths(starts, len(sets)))
                group, sets = group[some], sets[some]
            place, at = self.read(sets)
            self.join(group[place], self.words.rows[at], found)
            found[of] = found[of[first]][same]
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
        first = _changes(key)
        group, word = np.divmod(key[first], self.width)
        words = _pairs(word, np.bitwise_or.reduceat(words[order, 1], first))
        starts, count = _changes(group), len(self.start.rows) - 1
        lengths, numbers = _lengths(starts, len(words)), np.arange(count, count + len(starts))
        if len(starts) <= MANY:
            whole, size = words.tobytes(), 2 * words.itemsize
            known, before = self.known, count - len(self.known)
            numbers[:] = [known.setdefault(whole[a * size:b * size], before + len(known))
                          for a, b in pairwise((*starts.tolist(), len(words)))]
            if before + len(known) < count + len(starts):
                new = np.zeros(len(starts), bool)
                new[np.unique(numbers, return_index=True)[1]] = True
                new &= numbers >= count
                words, lengths = words[np.repeat(new, lengths)], lengths[new]
        found[group[starts]] = numbers
        self.start.extend(len(self.words.rows) + np.cumsum(lengths))
        self.words.extend(words)
        if len(self.words.rows) > MOST_AT_ONCE // 2:
            raise TooMany

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
            self.space = np.concatenate([self.rows, more, np.empty_like(self.rows[:1 + count // 2])])
        else:
            self.space[count:count + len(more)] = more
        self.rows = self.space[:count + len(more)]


def _equal_runs(numbers: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of runs of numbers, which begin at `starts`, different ones by their places in `starts`, and which of these each run is.
    (Some that are equal may count as different.)"""
    if len(starts) < FEW:
        return np.arange(len(starts)), np.arange(len(starts))
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    _, first, same = np.unique(np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), starts), return_index=True, return_inverse=True)
    lengths = _lengths(starts, len(numbers))
    if len(first) < len(starts) and (lengths[first][same] == lengths).all() and (
            numbers[np.repeat(starts[first][same] - starts, lengths) + np.arange(len(numbers))] == numbers).all():
        return first, same
    return np.arange(len(starts)), np.arange(len(starts))


def _changes(ordered: np.ndarray) -> np.ndarray:
    """Where another number begins."""
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first.nonzero()[0]


def _lengths(starts: np.ndarray, end: int) -> np.ndarray:
    """The lengths of runs that begin at these places, the last of which ends at `end`."""
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = end - starts[-1:]
    return lengths


def _pairs(word: np.ndarray, bits: np.ndarray) -> np.ndarray:
    both = np.empty((len(word), 2), np.int64)
    both[:, 0], both[:, 1] = word, bits
    return both


def _words(members: np.ndarray) -> np.ndarray:
    """For each of these numbers its word, and that one's bits."""
    return _pairs(members >> 6, np.left_shift(np.int64(1), members & 63))
