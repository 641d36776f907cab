"""Sums of the results of rows, exact until they are rounded once at the end: so order, blocks, threads, files and machines
cannot matter.

`Sums` is a state that can be merged with others, packed and unpacked; `adcli.rows.sum_work` makes one of rows. The limbs of the
same weight (see `adcli.codegen.rows.exact_sums`) of all groups and elements stand in one array, which is made when the first of
them is not 0. So a group takes as many words as its numbers span, and merging is a few additions of arrays.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.codegen.rows import exact_sums
from adcli.lang.ir import LEVELS, Values

Key = tuple[str, ...]
"""A group: the texts of its columns; () where there are no groups."""
Shape = tuple[int, ...]
FEW = 1 << 14
"""Sums that always have room."""
KEY_BYTES = 300
"""Bytes that a group takes for its texts, about."""
STEP = 1 << 12
"""Sums that are put together at a time."""
MOST_BITS = 1024
"""Of a whole number that is no double any more."""
CARRY = 32
"""Bits of a limb that are its own."""


class ExactSum(NamedTuple):
    """A sum of doubles, or of their products: `whole`·2^`exponent`, and how many terms were NaN, +inf and -inf."""

    whole: int = 0
    exponent: int = 0
    nan: int = 0
    up: int = 0
    down: int = 0

    @property
    def finite(self) -> bool:
        """True if all terms were finite."""
        return not (self.nan or self.up or self.down)

    def over(self, other: ExactSum) -> float:
        """The quotient of two sums, rounded once; NaN where the other one is zero."""
        if other.finite and not other.whole:
            return math.nan
        if not (self.finite and other.finite):
            return self.sign() / other.sign()
        if not self.whole:
            return 0.0
        up, down = max(0, self.exponent - other.exponent), max(0, other.exponent - self.exponent)
        above, below = self.whole << up, other.whole << down
        try:
            return above / below
        except OverflowError:
            return math.inf if (above > 0) == (below > 0) else -math.inf

    def rounded(self) -> float:
        """The double next to the sum, the even one of two."""
        bits = self.whole.bit_length()
        if bits < MOST_BITS and -MOST_BITS + 3 <= bits + self.exponent < MOST_BITS and self[2:] == (0, 0, 0):
            return math.ldexp(self.whole, self.exponent)   # a normal double, so rounded once, as the whole number
        return self.over(ONE)

    def sign(self) -> float:
        """The sum by IEEE 754 where terms are not finite, in any order; else a number of the same sign."""
        if self.nan or (self.up and self.down):
            return math.nan
        return math.inf if self.up else -math.inf if self.down else float((self.whole > 0) - (self.whole < 0))


ONE = ExactSum(1)


class Group(NamedTuple):
    """The rows of one group: how many of each status level, and their sums, those of an array element by element."""

    levels: list[int]
    sums: list[ExactSum]

    @property
    def rows(self) -> int:
        return sum(self.levels)

    def values(self, mean: bool = False, weighted: bool = False) -> list[float]:
        """The sums, or with `mean` the means, each rounded once. If rows are `weighted`, the first sum is that of the weights: it
        stays a sum."""
        count = ONE if not mean else self.sums[0] if weighted else ExactSum(self.rows)
        first = [s.rounded() for s in self.sums[:weighted]]
        return first + [s.over(count) for s in self.sums[weighted:]]


class OtherShapes(ValueError):
    """The results of a row have other shapes than those before; `name` is the first of them that has."""

    def __init__(self, name: str, known: Shape, found: Shape) -> None:
        super().__init__(name, known, found)
        self.name, self.known, self.found = name, known, found


def refuse_other_shapes(known: Mapping[str, Shape], found: Mapping[str, Shape]) -> None:
    """OtherShapes where results have other shapes than those before."""
    for name, shape in known.items():
        if found.get(name) != shape:
            raise OtherShapes(name, shape, found.get(name, ()))


class Sums:
    """Sums of arrays (or numbers) by their names, each of products of so many `factors`, which do not decrease from one to the
    next; for each group by its key, in the order in which the groups were first seen. Sums of nothing have no names, and take
    those of the first that are merged into them."""

    def __init__(self, shapes: Mapping[str, Shape] | None = None, factors: Sequence[int] = (),
                 keys: Iterable[Key] = ((),)) -> None:
        self.shapes, self.factors = dict(shapes or {}), tuple(factors)
        self.index = {key: n for n, key in enumerate(keys)}
        self.widths: Counter[int] = Counter()
        for shape, count in zip(self.shapes.values(), self.factors, strict=True):
            self.widths[count] += math.prod(shape)
        self.capacity = max(1, len(self.index))
        self.levels = np.zeros((self.capacity, len(LEVELS)), np.int64)
        self.limbs: dict[tuple[int, int], np.ndarray] = {}
        """By the number of factors and the position in a record: a row for each group, with all its sums of so many factors."""
        self.terms = 0

    @property
    def names(self) -> list[str]:
        """The name of each sum, as often as it has elements."""
        return [name for name, shape in self.shapes.items() for _ in range(math.prod(shape))]

    # ------------------------------------------------------------ what is added

    def add_records(self, factors: int, found: np.ndarray, groups: np.ndarray, start: int = 0) -> None:
        """Add records, a row of them for each of these groups, which all differ, of the sums from `start` on."""
        part = slice(start, start + found.shape[1])
        for word in np.flatnonzero((found != exact_sums.BIAS).any(axis=(0, 1))).tolist():
            self._limb(factors, word)[groups, part] += found[:, :, word] - exact_sums.BIAS

    def add_rows(self, groups: np.ndarray, local: np.ndarray, levels: np.ndarray, terms: int) -> None:
        """Count rows, which have added at most so many terms to a record: the position of its group among some, and its level,
        for each."""
        if len(groups) == 1 and not levels.any():   # as in most tables
            self.levels[groups, 0] += len(levels)
        else:
            found = np.bincount(local * len(LEVELS) + levels, minlength=len(groups) * len(LEVELS))
            self.levels[groups] += found.reshape(len(groups), -1)
        self._count(terms)

    def merge(self, other: Sums) -> None:
        """Add the rows of others, which come after these; they are not used any more. OtherShapes where they do not fit."""
        if not self.shapes:
            vars(self).update(vars(other))
            return
        if not other.shapes:
            return
        refuse_other_shapes(self.shapes, other.shapes)
        groups, count = self.numbers(other.index), len(other.index)
        self.levels[groups] += other.levels[:count]
        for place, limb in other.limbs.items():
            self._limb(*place)[groups] += limb[:count]
        self._count(other.terms)

    def numbers(self, keys: Iterable[Key]) -> np.ndarray:
        """The numbers of groups, for which there is room then."""
        index, old = self.index, self.capacity
        found = np.array([index.setdefault(key, len(index)) for key in keys], np.int64)
        if len(index) > old:
            self.capacity = 2 * len(index)
            self._require((self.capacity - old) * (KEY_BYTES + 8 * len(LEVELS) + sum(8 * self.widths[f] for f, _ in self.limbs)))
            more = ((0, self.capacity - old), (0, 0))
            self.levels = np.pad(self.levels, more)
            self.limbs = {place: np.pad(limb, more) for place, limb in self.limbs.items()}
        return found

    def _limb(self, factors: int, word: int) -> np.ndarray:
        """Word `word` of the records of sums of so many factors."""
        if (factors, word) not in self.limbs:
            self._require(8 * self.capacity * self.widths[factors])
            self.limbs[factors, word] = np.zeros((self.capacity, self.widths[factors]), np.int64)
        return self.limbs[factors, word]

    def _require(self, size: int) -> None:
        if self.capacity > FEW:
            require_room(f"sums of {len(self.index):,} groups", size, "group by columns of fewer different texts")
        elif size > 8 * FEW:
            require_room("the exact sum of these results", size, "name the results to add with --of")

    def _count(self, terms: int) -> None:
        """Carry before a limb can overflow: until then each moves by less than 2^33 a term."""
        self.terms += terms
        if self.terms >= exact_sums.MOST_TERMS:
            self._carry()

    def _carry(self) -> None:
        """Carry from limb to limb. What stays in one is small, of either sign, and the same however the sum has come about."""
        for factors in self.widths:
            for word in range(exact_sums.limbs(factors) - 1):
                if (factors, word) in self.limbs:
                    limb = self.limbs[factors, word]
                    carried = (limb + (1 << CARRY - 1)) >> CARRY
                    if carried.any():
                        limb -= carried << CARRY
                        self._limb(factors, word + 1)[:] += carried
        self.terms = 1

    # ------------------------------------------------------------ what there is

    @property
    def rows(self) -> int:
        return int(self.levels.sum())

    def rough(self, smooth: bool) -> bool:
        """True if a row is not finite, or not `smooth` where all must be."""
        return any(word >= exact_sums.limbs(factors) for factors, word in self.limbs) or \
            (smooth and bool(self.levels[:, 1:].any()))

    def items(self) -> Iterator[tuple[Key, Group]]:
        """Each group with its key."""
        keys, step = iter(self.index), max(1, STEP // max(1, self.widths.total()))
        for begin in range(0, len(self.index), step):
            end = min(begin + step, len(self.index))
            sums = [(width, self._sums(factors, begin, end)) for factors, width in self.widths.items()]
            for i, (key, levels) in enumerate(zip(islice(keys, end - begin), self.levels[begin:end].tolist(), strict=True)):
                yield key, Group(levels, [s for width, each in sums for s in each[i * width:(i + 1) * width]])

    def _sums(self, factors: int, begin: int, end: int) -> list[ExactSum]:
        """The sums of so many factors, of some groups."""
        words = low = exact_sums.limbs(factors)
        known = {word: limb[begin:end].ravel().tolist() for (f, word), limb in self.limbs.items() if f == factors}
        nothing = [0] * ((end - begin) * self.widths[factors])
        whole = nothing
        for word in sorted((word for word in known if word < words), reverse=True):
            up, low = CARRY * (low - word), word
            whole = [(n << up) + more for n, more in zip(whole, known[word], strict=True)]
        exponent = CARRY * low + exact_sums.UNIT * factors
        if max(known, default=0) < words:
            return [ExactSum(n, exponent) for n in whole]
        specials = (known.get(words + k, nothing) for k in range(3))
        return [ExactSum(n, exponent, *kinds) for n, *kinds in zip(whole, *specials, strict=True)]

    def packed(self, keys: Iterable[Key] | None = None) -> dict[str, Any]:
        """The state as JSON has it, its groups in the order of the `keys`, where they are given: the same for the same sums."""
        kept = Sums(self.shapes, self.factors, self.index if keys is None else keys)
        kept.merge(self)
        kept._carry()
        limbs = [[*place, limb.tolist()] for place, limb in sorted(kept.limbs.items()) if limb.any()]
        return {"shapes": kept.shapes, "factors": kept.factors, "keys": [*kept.index], "levels": kept.levels.tolist(),
                "limbs": limbs}

    @classmethod
    def unpacked(cls, found: Values) -> Sums:
        """The inverse of `packed`."""
        made = cls({name: tuple(shape) for name, shape in found["shapes"].items()}, found["factors"], map(tuple, found["keys"]))
        made.levels[:] = found["levels"]
        for factors, word, limb in found["limbs"]:
            made._limb(factors, word)[:] = limb
        made.terms = 1
        return made


def columns(shapes: Mapping[str, Shape], groups: Sized, values: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of several groups, one after the other, as arrays by name, whose first dimension is that of the groups."""
    whole, end, found = values.reshape(len(groups), sum(map(math.prod, shapes.values()))), 0, {}
    for name, shape in shapes.items():
        begin, end = end, end + math.prod(shape)
        found[name] = whole[:, begin:end].reshape(len(groups), *shape).copy()
    return found
