"""Sums of the results of rows, exact until they are rounded once at the end: so order, blocks, threads, files and machines
cannot matter.

`Sums` is a state that can be merged with others, packed and unpacked: integers throughout. `adcli.rows.sum_work` has the same
for many groups, and `adcli.rows.sum_work` makes both of rows.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from adcli.lang.ir import LEVELS, Values

Key = tuple[str, ...]
"""A group: the texts of its columns; () where there are no groups."""


class ExactSum(NamedTuple):
    """A sum of doubles, or of their products: `whole`·2^`exponent`, and how many terms were NaN, +inf and -inf."""

    whole: int = 0
    exponent: int = 0
    nan: int = 0
    up: int = 0
    down: int = 0

    @classmethod
    def of(cls, whole: int, exponent: int, specials: tuple[int, int, int] = (0, 0, 0)) -> ExactSum:
        """A sum with an odd `whole`, which is short for most."""
        zeros = (whole & -whole).bit_length() - 1
        return cls(whole >> zeros, exponent + zeros, *specials) if whole else cls(0, 0, *specials)

    @classmethod
    def term(cls, x: float) -> ExactSum:
        """A sum of one double."""
        if not math.isfinite(x):
            return cls(0, 0, int(x != x), int(x > 0), int(x < 0))
        above, below = x.as_integer_ratio()
        return cls.of(above, 1 - below.bit_length())

    def __add__(self, other: ExactSum) -> ExactSum:  # type: ignore[override]  # a sum, not a longer tuple
        base = min(self.exponent, other.exponent)
        whole = (self.whole << self.exponent - base) + (other.whole << other.exponent - base)
        return ExactSum.of(whole, base, (self.nan + other.nan, self.up + other.up, self.down + other.down))

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
        return self.over(ONE)

    def sign(self) -> float:
        """The sum by IEEE 754 where terms are not finite, in any order; else a number of the same sign."""
        if self.nan or (self.up and self.down):
            return math.nan
        return math.inf if self.up else -math.inf if self.down else float((self.whole > 0) - (self.whole < 0))


ONE = ExactSum(1)


@dataclass(slots=True)
class Group:
    """The rows of one group: how many, how many of each status level, and their sums in the order of the names."""

    rows: int
    levels: list[int]
    sums: list[ExactSum]

    def merged(self, other: Group) -> Group:
        return Group(self.rows + other.rows, [a + b for a, b in zip(self.levels, other.levels, strict=True)],
                     [a + b for a, b in zip(self.sums, other.sums, strict=True)])


@dataclass(slots=True)
class Sums:
    """Sums by `names`, for each group by its key, in the order in which the groups were first seen."""

    names: tuple[str, ...]
    groups: dict[Key, Group] = field(default_factory=dict)

    def merge(self, other: Sums) -> None:
        """Add the rows of others, which come after these."""
        if self.names != other.names:
            raise ValueError("sums of different things")
        for key, group in other.groups.items():
            here = self.groups.get(key)
            self.groups[key] = here.merged(group) if here else group

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups.values())

    def rough(self, smooth: bool) -> bool:
        """True if a row is not finite, or not `smooth` where all must be."""
        return any(not s.finite for g in self.groups.values() for s in g.sums) or \
            (smooth and any(any(g.levels[1:]) for g in self.groups.values()))

    def items(self) -> Iterable[tuple[Key, Group]]:
        """Each group with its key."""
        return self.groups.items()

    def group(self, key: Key = ()) -> Group:
        """The sums of a group, of no rows where there is none."""
        return self.groups.get(key) or Group(0, [0] * len(LEVELS), [ExactSum()] * len(self.names))

    def values(self, key: Key = (), mean: bool = False, weights: str | None = None) -> list[float]:
        """`rounded` for the group with this key."""
        return rounded(self.names, self.group(key), mean, weights)

    def packed(self) -> dict[str, Any]:
        """The state as JSON has it: integers that can be large are texts."""
        return {"names": [[name, len(list(same))] for name, same in groupby(self.names)],
                "groups": [[list(key), g.rows, list(g.levels), [[f"{s.whole:x}", *s[1:]] for s in g.sums]]
                           for key, g in self.groups.items()]}

    @classmethod
    def unpacked(cls, found: Values) -> Sums:
        """The inverse of `packed`."""
        groups = {tuple(key): Group(rows, list(levels), [ExactSum(int(whole, 16), *rest) for whole, *rest in sums])
                  for key, rows, levels, sums in found["groups"]}
        return cls(tuple(name for name, times in found["names"] for _ in range(times)), groups)


def rounded(names: Sequence[str], group: Group, mean: bool = False, weights: str | None = None) -> list[float]:
    """The sums of a group, or with `mean` its means, in the order of the names; each rounded once. `weights` names the sum of the
    weights, where rows have one: it stays a sum."""
    if not mean:
        return [s.rounded() for s in group.sums]
    count = ExactSum(group.rows) if weights is None else group.sums[names.index(weights)]
    return [s.rounded() if name == weights else s.over(count) for name, s in zip(names, group.sums, strict=True)]
