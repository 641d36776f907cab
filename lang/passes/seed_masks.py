"""Sets of sweeps as integers with a bit for each: which groups of seeds a value belongs to, or is reached by."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from adcli.lang.ir import Atom

Masks = dict[Atom, int]


def masks(groups: Iterable[Iterable[Atom]]) -> Masks:
    """For each value the groups it belongs to."""
    found: Masks = {}
    for i, atoms in enumerate(groups):
        for a in atoms:
            found[a] = found.get(a, 0) | 1 << i
    return found


def union(masks: Mapping[Atom, int], atoms: Sequence[Atom]) -> int:
    """The groups that any of the values belongs to."""
    whole = 0
    for a in atoms:
        whole |= masks.get(a, 0)
    return whole


FEW = tuple([tuple([i for i in range(8) if mask >> i & 1]) for mask in range(256)])
"""The sets of the first groups."""


def positions(mask: int) -> Iterable[int]:
    """The numbers of the groups in a set, lowest first."""
    return FEW[mask] if mask < len(FEW) else one_by_one(mask)


def one_by_one(mask: int) -> Iterator[int]:
    """The same of any set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
