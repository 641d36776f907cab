"""Where the nodes of a graph go: in rows, every edge downwards, with few crossings and straight lines.

The steps are those of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system structures, IEEE
Transactions on Systems, Man and Cybernetics 11, 1981): rows by the longest path, the order in a row by the means of the
neighbours above and below, and places that are nearest to these means, by isotonic regression. What is laid out is plain numbers,
in characters or in pixels.
"""
from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

SWEEPS = 8
"""How often the rows are gone through, down and up, for their order and for their places."""
STRAIGHT = 8.0
"""How much more the line of a long edge wants to be straight than a node wants to be in the middle."""
LANE = 1
"""Width of a line that passes a row."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The row of every node and its left end in it; and where the line of a node passes a row on its way to another: its left
    end, by (tail, row)."""

    ranks: list[int]
    x: list[int]
    lanes: dict[tuple[int, int], int] = field(default_factory=dict)


def layered(widths: Sequence[int], edges: Iterable[tuple[int, int]], gap: int = 2) -> Placement:
    """The layout of nodes of such widths with such edges (tail, head), which have no circle; nodes of a row are `gap` apart. Time
    grows as the number of rows that edges pass."""
    heads: list[list[int]] = [[] for _ in widths]
    for tail, head in dict.fromkeys(edges):
        heads[tail].append(head)
    ranks = rows_of(heads)
    lanes = [(tail, row) for tail, there in enumerate(heads)
             for row in range(ranks[tail] + 1, max((ranks[h] for h in there), default=0))]
    items = _Items([*widths, *[LANE] * len(lanes)], [*ranks, *(row for _, row in lanes)], len(widths), gap)
    at = {lane: len(widths) + i for i, lane in enumerate(lanes)}
    for tail, there in enumerate(heads):
        before = tail
        for row in range(ranks[tail] + 1, max((ranks[h] for h in there), default=0) + 1):
            onward = [h for h in there if ranks[h] == row]
            if (lane := at.get((tail, row))) is not None:
                onward.append(lane)
            items.link(before, onward)
            before = lane if lane is not None else before
    items.ordered()
    x = items.placed()
    return Placement(ranks, x[:len(widths)], {lane: x[i] for lane, i in at.items()})


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


class _Items:
    """Nodes, and behind them lanes, in their rows; links are between neighbouring rows."""

    def __init__(self, widths: Sequence[int], ranks: Sequence[int], nodes: int, gap: int) -> None:
        self.widths, self.gap, self.nodes = widths, gap, nodes
        self.rows: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
        for i, row in enumerate(ranks):
            self.rows[row].append(i)
        self.above: list[list[int]] = [[] for _ in widths]
        self.below: list[list[int]] = [[] for _ in widths]

    def link(self, upper: int, lower: Sequence[int]) -> None:
        self.below[upper] += lower
        for i in lower:
            self.above[i].append(upper)

    # -- the order in the rows

    def ordered(self) -> None:
        """Bring every row into the order of the means of its neighbours, and keep what has the fewest crossings."""
        best, fewest = [list(row) for row in self.rows], self.crossings()
        for sweep in range(SWEEPS):
            if not fewest:
                break
            down = sweep % 2 == 0
            for r in range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1):
                self.sort(self.rows[r], self.rows[r - 1 if down else r + 1], self.above if down else self.below)
            if (now := self.crossings()) < fewest:
                best, fewest = [list(row) for row in self.rows], now
        self.rows = best

    def sort(self, row: list[int], beside: list[int], neighbours: Sequence[Sequence[int]]) -> None:
        """Sort a row by the means of its neighbours; items without any stay in place."""
        place = {i: k for k, i in enumerate(beside)}
        mean = {i: fmean([place[n] for n in neighbours[i]]) for i in row if neighbours[i]}
        moved = iter(sorted(mean, key=mean.__getitem__))
        row[:] = [next(moved) if i in mean else i for i in row]

    def crossings(self) -> int:
        """How often two links cross."""
        found = 0
        for upper, lower in pairwise(self.rows):
            place, seen = {i: k for k, i in enumerate(lower)}, list[int]()
            for i in upper:
                ends = [place[n] for n in self.below[i]]
                found += sum(len(seen) - bisect_right(seen, e) for e in ends)
                for e in ends:
                    insort(seen, e)
        return found

    # -- the places in the rows

    def placed(self) -> list[int]:
        """The left ends; the least is 0."""
        centre = [0.0] * len(self.widths)
        for row in self.rows:
            at = 0
            for i in row:
                centre[i] = at + self.widths[i] / 2
                at += self.widths[i] + self.gap
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                self.settle(row, centre, self.above if down else self.below)
        for row in reversed(self.rows):   # what has nothing above it stands over what is below
            self.settle(row, centre, [[*a, *b] for a, b in zip(self.above, self.below, strict=True)])
        left = [round(c - w / 2 + 1e-9) for c, w in zip(centre, self.widths, strict=True)]
        for row in self.rows:   # rounding may have brought two too near
            for a, b in pairwise(row):
                left[b] = max(left[b], left[a] + self.widths[a] + self.gap)
        least = min(left, default=0)
        return [x - least for x in left]

    def settle(self, row: list[int], centre: list[float], neighbours: Sequence[Sequence[int]]) -> None:
        """Move the items of a row as near to the means of their neighbours as the order and the gaps let them."""
        offsets, wanted, weights = [0.0], list[float](), list[float]()
        for a, b in pairwise(row):
            offsets.append(offsets[-1] + (self.widths[a] + self.widths[b]) / 2 + self.gap)
        for i, offset in zip(row, offsets, strict=True):
            near = neighbours[i]
            wanted.append((fmean([centre[n] for n in near]) if near else centre[i]) - offset)
            weights.append((1.0 if i < self.nodes else STRAIGHT) if near else 0.1)
        for i, offset, x in zip(row, offsets, isotonic(wanted, weights), strict=True):
            centre[i] = x + offset


def isotonic(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers that do not fall and are nearest to the wanted ones, by weighted squares: neighbours that would fall are pooled
    (Barlow et al., Statistical Inference under Order Restrictions, 1972)."""
    pools: list[tuple[float, float, int]] = []
    for x, w in zip(wanted, weights, strict=True):
        pools.append((x, w, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (x1, w1, n1), (x2, w2, n2) = pools[-2:]
            pools[-2:] = [((x1 * w1 + x2 * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    return [x for x, _, n in pools for _ in range(n)]
