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


def positions(mask: int) -> Iterator[int]:
    """The numbers of the groups in a set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
