"""The graph of a program as a picture of Unicode characters: boxes in rows, joined by lines from top to bottom.

Inputs have round corners, operations square ones, calls double sides, copies pointed sides, outputs double lines; a box of a
derivative is drawn in broken lines, and so is the line of a derivative, whose arrow is hollow. A value that is nan or infinite
has a thick box. Where a line crosses another, the one from the side goes below it. A line that ends in a cross brings nothing
back; why stands below.

A value leaves its box by one line, which branches. Between two rows the horizontal parts of lines go in tracks, assigned from
left to right (the left-edge algorithm of Hashimoto and Stevens, Wire routing by optimizing channel assignment, 1971). No line
comes down in a column in which another begins, so that any order of the tracks will do.

The layout is that of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system structures, IEEE
Transactions on Systems, Man and Cybernetics 11, 1981): rows by the longest path, the order in a row by the means of the
neighbours above and below, and places that are nearest to these means, by isotonic regression.
"""
from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from adcli.codegen.documents.columns import padded, width
from adcli.codegen.documents.graph import CALL, COPY, INPUT, Edge, Graph, Node

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


# ---------------------------------------------------------------- layout

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
SOLID = dict(zip(range(16), "?││││┘┐┤│└┌├─┴┬┼", strict=True))
BROKEN = SOLID | {UP: "╎", DOWN: "╎", UP | DOWN: "╎", LEFT | RIGHT: "╌", UP | LEFT: "╯", DOWN | LEFT: "╮", UP | RIGHT: "╰",
                  DOWN | RIGHT: "╭"}
"""Characters of lines by the sides of a cell that they reach; those of derivatives."""
ARROW, HOLLOW, CROSS, ONWARD = "▼", "▽", "╳", "→"
CORNERS = {"square": "┌─┐│└┘┬", "round": "╭─╮│╰╯┬", "sides": "╓─╖║╙╜┬", "pointed": "╭─╮│╰╯┬", "double": "╔═╗║╚╝╤",
           "thick": "┏━┓┃┗┛┯"}
"""Of a box: the upper left, across, the upper right, down, the lower left, the lower right, and where a line goes out."""
BROKEN_STROKES = str.maketrans("─│━┃═║", "╌╎╍╏╌╎")
GAP = 3
"""Columns between boxes."""


def picture(graph: Graph) -> str:
    """The picture of a graph."""
    return _Picture(graph).text()


@dataclass(frozen=True, slots=True)
class Box:
    """The lines of a node in its frame, and in which column from its left end its line goes out."""

    lines: tuple[str, ...]
    width: int


def box(node: Node, ports: int, used: bool) -> Box:
    """The frame of a node that as many lines reach, with a way out if its value is used."""
    told = [*node.lines, f"! {node.mark}"] if node.mark else list(node.lines)
    inner = max(2 * ports - 1, *map(width, told)) + 2
    left, across, right, down, foot, end, out = tuple(CORNERS[frame(node)])
    if node.derivative:
        across, down = across.translate(BROKEN_STROKES), down.translate(BROKEN_STROKES)
    sides = "⟨⟩" if node.kind == COPY and not node.mark else down * 2
    bottom = across * inner
    middle = (inner + 2) // 2 - 1
    if used:
        bottom = bottom[:middle] + out + bottom[middle + 1:]
    body = [sides[0] + padded(f" {line}", inner) + sides[1] for line in told]
    return Box((left + across * inner + right, *body, foot + bottom + end), inner + 2)


def frame(node: Node) -> str:
    """The kind of frame of a node."""
    if node.mark:
        return "thick"
    if node.output:
        return "double"
    return {INPUT: "round", COPY: "pointed", CALL: "sides"}.get(node.kind, "square")


@dataclass(slots=True)
class Net:
    """The line of a value between two rows: the column that it comes from, those that it goes to, and its track."""

    broken: bool
    start: int
    ends: list[int] = field(default_factory=list)
    track: int = -1

    @property
    def low(self) -> int:
        return min(self.start, *self.ends)

    @property
    def high(self) -> int:
        return max(self.start, *self.ends)

    @property
    def straight(self) -> bool:
        return self.low == self.high


class _Picture:
    """The canvas: characters by row and column. `exits` has the column in which each value leaves the row."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        joined: dict[tuple[int, int], list[Edge]] = {}
        for e in graph.edges:
            joined.setdefault((e.tail, e.head), []).append(e)
        self.cut = {pair: edges[0].cut if all(e.cut for e in edges) else "" for pair, edges in joined.items()}
        self.tails: list[list[int]] = [[] for _ in graph.nodes]
        for tail, head in joined:
            self.tails[head].append(tail)
        self.used = {tail for tail, _ in joined}
        self.boxes = [box(n, len(self.tails[i]), i in self.used) for i, n in enumerate(graph.nodes)]
        self.layout: Placement = layered([b.width for b in self.boxes], joined, GAP)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layout.ranks, default=-1) + 1)]
        for i, row in enumerate(self.layout.ranks):
            self.rows[row].append(i)
        self.lanes: list[list[int]] = [[] for _ in self.rows]
        for tail, row in self.layout.lanes:
            self.lanes[row].append(tail)
        self.cells: dict[tuple[int, int], str] = {}

    def text(self) -> str:
        y, exits = 0, dict[int, int]()
        for row, nodes in enumerate(self.rows):
            if row:
                y, lanes = self.channel(row, y, exits)
                exits = lanes
            height = max(len(self.boxes[i].lines) for i in nodes)
            for tail, x in exits.items():
                self.down(x, y, y + height, self.broken(tail))
            for i in nodes:
                self.draw(i, y)
                x = self.layout.x[i] + self.boxes[i].width // 2
                if i in self.used:
                    self.down(x, y + len(self.boxes[i].lines), y + height, self.broken(i))
                    exits[i] = x
            y += height
        return "\n".join([*self.lines(y), *self.reasons(), ""])

    def draw(self, i: int, y: int) -> None:
        for k, line in enumerate(self.boxes[i].lines):
            self.cells[y + k, self.layout.x[i]] = line

    def down(self, x: int, top: int, end: int, broken: bool) -> None:
        for y in range(top, end):
            self.cells[y, x] = (BROKEN if broken else SOLID)[UP | DOWN]

    def broken(self, tail: int) -> bool:
        return self.graph.nodes[tail].derivative

    # -- the lines between two rows

    def channel(self, row: int, y: int, exits: Mapping[int, int]) -> tuple[int, dict[int, int]]:
        """Draw the lines down to a row; returns where it begins, and the columns of the lines that pass it."""
        nets = {tail: Net(self.broken(tail), x) for tail, x in exits.items()}
        lanes: dict[int, int] = {}
        arrows: dict[int, str] = {}
        for tail in self.lanes[row]:
            x = self.layout.lanes[tail, row]
            lanes[tail] = spaced([nets[tail].start], [[c for c in range(x - 1, x + 2) if c not in others(exits, tail)]])[0]
            nets[tail].ends.append(lanes[tail])
        for head in self.rows[row]:
            for tail, x in self.ports(head, exits):
                nets[tail].ends.append(x)
                arrows[x] = CROSS if self.cut[tail, head] else HOLLOW if self.broken(tail) else ARROW
        height = tracks([n for n in nets.values() if n.ends])
        for net in nets.values():
            if net.ends:
                self.line(net, y, height)
        for x, arrow in arrows.items():
            self.cells[y + height, x] = arrow
        return y + height + 1, lanes

    def ports(self, head: int, exits: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """The columns in which the lines of its operands reach a node, from left to right."""
        tails = sorted(self.tails[head], key=exits.__getitem__)
        first, last = self.layout.x[head] + 1, self.layout.x[head] + self.boxes[head].width - 2
        wanted = [exits[t] for t in tails]
        if len(tails) == 1 and not first <= wanted[0] <= last:
            wanted = [(first + last) // 2]
        free = [[x for x in range(first, last + 1) if x not in others(exits, t)] for t in tails]
        return zip(tails, spaced(wanted, free), strict=True)

    def line(self, net: Net, y: int, height: int) -> None:
        """Draw a line; where it meets another, the one that goes down is seen."""
        form = BROKEN if net.broken else SOLID
        row = 0 if net.straight else net.track
        sides: dict[tuple[int, int], int] = {}
        for x in range(net.low, net.high + 1):
            sides[row, x] = (LEFT if x > net.low else 0) | (RIGHT if x < net.high else 0)
        sides[row, net.start] |= UP
        for k in range(row):
            sides[k, net.start] = UP | DOWN
        for x in net.ends:
            sides[row, x] |= DOWN
            for k in range(row + 1, height + 1):
                sides[k, x] = UP | DOWN
        for (k, x), reached in sides.items():
            if reached != LEFT | RIGHT or (y + k, x) not in self.cells:
                self.cells[y + k, x] = form[reached]

    # -- the text

    def lines(self, height: int) -> Iterator[str]:
        by_row: list[list[tuple[int, str]]] = [[] for _ in range(height)]
        for (y, x), text in self.cells.items():
            by_row[y].append((x, text))
        for cells in by_row:
            line, at = "", 0
            for x, text in sorted(cells):
                line += " " * (x - at) + text
                at = x + width(text)
            yield line

    def reasons(self) -> Iterator[str]:
        """Why lines end in a cross."""
        found = [(tail, head, why) for (tail, head), why in self.cut.items() if why]
        if found:
            yield ""
        for tail, head, why in found:
            yield f"{CROSS} {self.graph.nodes[tail].lines[0]} {ONWARD} {self.graph.nodes[head].lines[0]}: {why}"


def others(exits: Mapping[int, int], tail: int) -> set[int]:
    """The columns in which other lines begin."""
    return {x for other, x in exits.items() if other != tail}


def spaced(wanted: Sequence[int], free: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """One of the free columns for each wanted one, from left to right and as near as can be, neighbours only in need. Columns in
    which lines begin are two apart or more, and a box has two columns for each line that reaches it, so there always are some."""
    best: dict[int, tuple[int, tuple[int, ...]]] = {-NEXT: (0, ())}
    for x, room in zip(wanted, free, strict=True):
        best = {c: min((cost + abs(c - x) + NEXT * (c - p < 2), (*path, c)) for p, (cost, path) in best.items() if p < c)
                for c in room if any(p < c for p in best)}
    return min(best.values())[1]


NEXT = 8
"""Columns that a line may go farther to keep away from another."""


def tracks(nets: Sequence[Net]) -> int:
    """Give every line that is not straight a track in which no other is where it is; returns their number."""
    ends: list[int] = []
    for net in sorted((n for n in nets if not n.straight), key=lambda n: (n.low, n.high)):
        net.track = next((k for k, end in enumerate(ends) if end + 1 < net.low), len(ends))
        ends[net.track:net.track + 1] = [net.high]
    return len(ends)
