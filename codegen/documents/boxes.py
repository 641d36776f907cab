"""The graph of a program as a picture of Unicode characters: boxes in rows, joined by lines from top to bottom.

Inputs have round corners, operations square ones, calls double sides, copies pointed sides, outputs double lines; a box of a
derivative is drawn in broken lines, and so is the line of a derivative, whose arrow is hollow. A value that is nan or infinite
has a thick box. Where a line crosses another, the one from the side goes below it. A line that ends in a cross brings nothing
back; why stands below.

A value leaves its box by one line, which branches. Between two rows the horizontal parts of lines go in tracks, assigned from
left to right (the left-edge algorithm of Hashimoto and Stevens, Wire routing by optimizing channel assignment, 1971). No line
comes down in a column in which another begins, so that any order of the tracks will do.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adcli.codegen.documents.columns import padded, width
from adcli.codegen.documents.graph import CALL, COPY, INPUT, Edge, Graph, Node
from adcli.codegen.documents.layers import Placement, layered

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
