"""Layered layouts of graphs, as those of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system
structures, IEEE Transactions on Systems, Man and Cybernetics 11, 1981).

Rows are by the longest path, the order in a row by the means of the neighbours above and below, and places as near to these means
as the order lets them.
"""
from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import fmean

SWEEPS = 8
"""How often the rows are gone through, down and up, for their order and for their places."""
STRAIGHT = 8
"""How many times more the line of a long edge wants to be straight than a node wants to be in the middle."""
LANE = 1
"""Width of a line that passes a row."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The row of every node and its left end in it; and where the line of a node passes a row on its way to another: its left
    end, by (tail, row)."""

    ranks: list[int]
    x: list[int]
    lanes: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class LayoutItem:
    """A node or a lane: its row, its width, its neighbours in the rows above and below, and the place of its middle."""

    row: int
    width: int
    lane: bool = False
    above: list[LayoutItem] = field(default_factory=list)
    below: list[LayoutItem] = field(default_factory=list)
    at: float = 0.0


def layered(widths: Sequence[int], edges: Iterable[tuple[int, int]], gap: int = 2) -> Placement:
    """The layout of nodes of such widths with such edges (tail, head), which have no circle; nodes of a row are `gap` apart. Time
    grows as the number of rows that edges pass."""
    heads: list[list[int]] = [[] for _ in widths]
    for tail, head in dict.fromkeys(edges):
        heads[tail].append(head)
    ranks = rows_of(heads)
    nodes, lanes = [LayoutItem(row, width) for row, width in zip(ranks, widths, strict=True)], dict[tuple[int, int], LayoutItem]()
    for tail, there in enumerate(heads):
        before, last = nodes[tail], max((ranks[h] for h in there), default=0)
        for row in range(ranks[tail] + 1, last + 1):
            onward = [nodes[h] for h in there if ranks[h] == row]
            if row < last:
                onward.append(lanes.setdefault((tail, row), LayoutItem(row, LANE, True)))
            before.below += onward
            for item in onward:
                item.above.append(before)
            before = onward[-1] if row < last else before
    rows: list[list[LayoutItem]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item in (*nodes, *lanes.values()):
        rows[item.row].append(item)
    order(rows)
    left = place(rows, gap)
    return Placement(ranks, [left[n] for n in nodes], {key: left[lane] for key, lane in lanes.items()})


def rows_of(heads: Sequence[Sequence[int]]) -> list[int]:
    """The length of the longest path to each node; what has nothing above it stands right above what uses it first."""
    missing = [0] * len(heads)
    for there in heads:
        for h in there:
            missing[h] += 1
    ready, ranks = [i for i, n in enumerate(missing) if not n], [0] * len(heads)
    sources = list(ready)
    for i in ready:
        for h in heads[i]:
            ranks[h] = max(ranks[h], ranks[i] + 1)
            missing[h] -= 1
            if not missing[h]:
                ready.append(h)
    assert len(ready) == len(heads), "a circle"
    for i in sources:
        ranks[i] = min((ranks[h] for h in heads[i]), default=1) - 1
    return ranks


def order(rows: list[list[LayoutItem]]) -> None:
    """Bring every row into the order of the means of its neighbours, downwards and upwards in turn, then of the fewest
    crossings beside each other, and keep what has the fewest."""
    best, fewest = [[*row] for row in rows], crossings(rows)
    for sweep in range(SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            at = {n: k for r in (row[0].row - 1, row[0].row + 1) if 0 <= r < len(rows) for k, n in enumerate(rows[r])}
            means = {i: fmean(at[n] for n in near) for i in row if (near := i.below if sweep % 2 else i.above)}
            moved = iter(sorted(means, key=means.__getitem__))
            row[:] = [next(moved) if i in means else i for i in row]   # what has no neighbour stays where it is
        switch(rows)
        if (now := crossings(rows)) < fewest:
            best, fewest = [[*row] for row in rows], now
    rows[:] = best
    for _ in range(SWEEPS):
        switch(rows)


def switch(rows: Sequence[list[LayoutItem]]) -> None:
    """Exchange two that stand beside each other wherever their lines cross less often then."""
    at = {item: k for row in rows for k, item in enumerate(row)}
    for row in rows:
        for k, (a, b) in enumerate(pairwise([*row])):
            a = row[k]   # which may have been moved by the pair before
            pairs = [(at[x], at[y]) for m, n in ((a.above, b.above), (a.below, b.below)) for x in m for y in n]
            if sum((x > y) - (x < y) for x, y in pairs) > 0:
                row[k], row[k + 1], at[a], at[b] = b, a, k + 1, k


def crossings(rows: Sequence[Sequence[LayoutItem]]) -> int:
    """How often two lines cross."""
    found = 0
    for upper, lower in pairwise(rows):
        at, seen = {item: k for k, item in enumerate(lower)}, list[int]()
        for item in upper:
            ends = [at[n] for n in item.below]
            found += sum(len(seen) - bisect_right(seen, e) for e in ends)
            for e in ends:
                insort(seen, e)
    return found


def place(rows: Sequence[Sequence[LayoutItem]], gap: int) -> dict[LayoutItem, int]:
    """The left ends of items, the least being 0: each near the middle of its neighbours, no two of a row nearer than the gap."""
    for row in rows:
        for item, x in zip(row, accumulate((a.width + gap for a in row), initial=0), strict=False):
            item.at = x + item.width / 2
    for sweep in range(SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            settle(row, [middle(item, item.below if sweep % 2 else item.above) for item in row], gap)
    for row in reversed(rows):   # what has nothing above it stands over what is below
        settle(row, [middle(item, [*item.above, *item.below]) for item in row], gap)
    left = {item: round(item.at - item.width / 2 + 1e-9) for row in rows for item in row}
    for row in rows:   # rounding may have brought two too near
        for a, b in pairwise(row):
            left[b] = max(left[b], left[a] + a.width + gap)
    least = min(left.values(), default=0)
    return {item: x - least for item, x in left.items()}


def middle(item: LayoutItem, near: Sequence[LayoutItem]) -> float:
    """The mean of its neighbours, those on one long line with it counting more."""
    found = [n.at for n in near for _ in range(STRAIGHT if n.lane and item.lane else 1)]
    return fmean(found) if found else item.at


def settle(row: Sequence[LayoutItem], wanted: Sequence[float], gap: int) -> None:
    """Move the items of a row to between the places nearest to the wanted ones that leave the gaps, from the left and from the
    right."""
    from_left, from_right = [*wanted], [*wanted]
    apart = [(a.width + b.width) / 2 + gap for a, b in pairwise(row)]
    for k, d in enumerate(apart):
        from_left[k + 1] = max(wanted[k + 1], from_left[k] + d)
    for k, d in reversed([*enumerate(apart)]):
        from_right[k] = min(wanted[k], from_right[k + 1] - d)
    for item, a, b in zip(row, from_left, from_right, strict=True):
        item.at = (a + b) / 2
