"""The graph of a program as SVG, with colours for dark screens, and as a list for a terminal.

Inputs are round, copies pointed, calls have a thick edge on the left, outputs a double line; what is there for derivatives has
broken lines, a value that is nan or infinite a thick line and a sign, and an edge by which nothing goes back is dotted, ends in a
bar and says why.

The layout is that of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system structures, IEEE
Transactions on Systems, Man and Cybernetics 11, 1981): rows by the longest path, the order in a row by the means of the
neighbours above and below, and places as near to these means as the order lets them.
"""
from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate, groupby, pairwise
from statistics import fmean

from adcli.codegen.documents.columns import padded, width
from adcli.codegen.documents.dot import COPIED, DERIVATIVE, SIGN, VALUE, WRONG
from adcli.codegen.documents.graph import CALL, COPY, INPUT, Edge, Graph, Node, merged

LETTER, LINE, PAD, MARGIN, APART, BETWEEN = 7.3, 16, 10, 12, 22, 34
"""Pixels: the width of a letter, the height of a line, around a text, around the picture, between nodes and between rows."""
COLOURS = {"value": VALUE, "derivative": DERIVATIVE, "copy": COPIED, "wrong": WRONG}
DARK = {"value": ("#16324d", "#8ec3f5"), "derivative": ("#45290a", "#f3b566"), "copy": ("#2e2e2e", "#b8b8b8"),
        "wrong": ("#4f1019", "#ff98a6")}
"""Colours of the inside and of the line on a dark screen."""


def styles(colours: dict[str, tuple[str, str]], ground: str, ink: str, line: str) -> str:
    kinds = " ".join(f".adcli .{kind} {{ fill: {inside}; stroke: {edge} }}" for kind, (inside, edge) in colours.items())
    return (f".adcli .ground {{ fill: {ground} }} .adcli text {{ fill: {ink} }} .adcli .edge {{ fill: none; stroke: {line} }}"
            f" .adcli .tip {{ fill: {line} }} {kinds} .adcli .cut {{ fill: none; stroke: {colours['wrong'][1]} }}")


STYLE = (".adcli text { font: 12px Menlo, Consolas, monospace } .adcli .of { text-anchor: middle }"
         " .adcli .broken { stroke-dasharray: 5 3 }"
         " .adcli .cut { stroke-dasharray: 1 4 } " + styles(COLOURS, "#ffffff", "#1a1a1a", "#5a5a5a")
         + " @media (prefers-color-scheme: dark) { " + styles(DARK, "#15181d", "#f0f0f0", "#b8b8b8") + " }")
MARKERS = ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path class="tip" d="M0 0 8 4 0 8z"/></marker><marker id="bar" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="9"'
           ' markerHeight="9" orient="auto"><path class="wrong" d="M4 0V8"/></marker></defs>')


def svg(graph: Graph) -> str:
    """The picture of a graph."""
    return "\n".join(_Picture(graph).lines()) + "\n"


def listing(graph: Graph) -> str:
    """A line for every node, and below why nothing of an adjoint goes back along an edge."""
    told = ["\n".join(told_of(n)).replace("\n  ", " ").split("\n") for n in graph.nodes]   # long formulas on one line
    columns = [max((width(t[k]) for t in told if len(t) > k), default=0) for k in range(max(map(len, told), default=0))]
    lines = ["   ".join(padded(text, w) for text, w in zip(t, columns, strict=False)).rstrip() for t in told]
    cuts = [f"╳ {graph.nodes[e.tail].lines[0]} → {graph.nodes[e.head].lines[0]}: {e.cut}" for e in merged(graph.edges) if e.cut]
    return "\n".join([*lines, *([""] if cuts else []), *cuts, *([f"# {graph.legend}"] if graph.legend else []), ""])


def told_of(n: Node) -> list[str]:
    """The lines of a node, with what is wrong with its value."""
    return [*n.lines, f"{SIGN} {n.mark}"] if n.mark else list(n.lines)


class _Picture:
    """A graph with the places of its nodes, in pixels."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.edges = graph, merged(graph.edges)
        self.told = [told_of(n) for n in graph.nodes]
        self.widths = [round(LETTER * max(map(width, t))) + 2 * PAD for t in self.told]
        self.layout = layered(self.widths, [(e.tail, e.head) for e in self.edges], APART)
        self.heights = [0] * (max(self.layout.ranks, default=-1) + 1)
        for row, t in zip(self.layout.ranks, self.told, strict=True):
            self.heights[row] = max(self.heights[row], LINE * len(t) + PAD)
        self.tops = list(accumulate((h + BETWEEN for h in self.heights), initial=MARGIN))
        self.ends: dict[Edge, float] = {}   # across, side by side where several reach a node
        heads = sorted(self.edges, key=lambda e: (e.head, self.layout.x[e.tail]))
        for i, group in groupby(heads, key=lambda e: e.head):
            into, w = list(group), self.widths[i]
            self.ends |= {e: self.layout.x[i] + MARGIN + w * (k + 1) / (len(into) + 1) for k, e in enumerate(into)}

    def lines(self) -> Iterator[str]:
        ends = [x + MARGIN for x in self.layout.lanes.values()]
        ends += [x + w + MARGIN for x, w in zip(self.layout.x, self.widths, strict=True)]
        ends += [round(x + 6 + LETTER * width(e.cut)) for e, x in self.ends.items() if e.cut]
        legend = self.graph.legend.split("; ") if self.graph.legend else []
        across = max([*ends, *(round(LETTER * width(line)) + MARGIN for line in legend)], default=0) + MARGIN
        below = self.tops[-1] - BETWEEN + MARGIN
        down = below + LINE * len(legend)
        yield (f'<svg class="adcli" xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}"'
               f' viewBox="0 0 {across} {down}">')
        yield f"<style>{STYLE}</style>"
        yield MARKERS
        yield '<rect class="ground" width="100%" height="100%"/>'
        for e in self.edges:
            yield from self.edge(e)
        for i, n in enumerate(self.graph.nodes):
            yield from self.node(i, n)
        yield from (f'<text x="{MARGIN}" y="{below + LINE * k + 6}">{escape(line)}</text>' for k, line in enumerate(legend))
        yield "</svg>"

    def node(self, i: int, n: Node) -> Iterator[str]:
        x, y, w, h = self.box(i)
        kind = "wrong" if n.mark else COPY if n.kind == COPY else "derivative" if n.derivative else "value"
        broken, thick = " broken" if n.derivative else "", ' stroke-width="2.5"' if n.mark else ""
        if n.kind == COPY:
            points = f"{x - 8},{y + h / 2} {x},{y} {x + w},{y} {x + w + 8},{y + h / 2} {x + w},{y + h} {x},{y + h}"
            yield f'<polygon class="{kind}{broken}" points="{points}"{thick}/>'
        else:
            rx = 13 if n.kind == INPUT else 3
            yield f'<rect class="{kind}{broken}" x="{x}" y="{y}" width="{w}" height="{h}" rx="{rx}"{thick}/>'
        if n.output:
            yield f'<rect class="{kind}{broken}" x="{x + 3}" y="{y + 3}" width="{w - 6}" height="{h - 6}" rx="2"/>'
        if n.kind == CALL:
            yield f'<rect class="{kind}" x="{x - 3}" y="{y + 4}" width="6" height="{h - 8}"/>'
        for k, line in enumerate(self.told[i]):
            yield f'<text class="of" x="{x + w / 2}" y="{y + PAD / 2 + LINE * k + 12}">{escape(line.strip())}</text>'

    def box(self, i: int) -> tuple[int, float, int, int]:
        row, h = self.layout.ranks[i], LINE * len(self.told[i]) + PAD
        return self.layout.x[i] + MARGIN, self.tops[row] + (self.heights[row] - h) / 2, self.widths[i], h

    def edge(self, e: Edge) -> Iterator[str]:
        """A smooth line down from a node by the places where it passes rows."""
        x, y, w, h = self.box(e.tail)
        at = x + w / 2, y + h
        path = f"M{at[0]} {at[1]}"
        for row in range(self.layout.ranks[e.tail] + 1, self.layout.ranks[e.head]):
            lane = self.layout.lanes[e.tail, row] + MARGIN
            path += curve(at, (lane, self.tops[row])) + f"V{self.tops[row] + self.heights[row]}"
            at = lane, self.tops[row] + self.heights[row]
        end = self.ends[e], self.box(e.head)[1]
        kind, tip = ("cut", "bar") if e.cut else (f"edge{' broken' if e.derivative else ''}", "tip")
        yield f'<path class="{kind}" d="{path}{curve(at, end)}" marker-end="url(#{tip})"/>'
        if e.cut:
            yield f'<text x="{end[0] + 6}" y="{end[1] - 6}">{escape(e.cut)}</text>'


def curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve that is upright at both ends."""
    middle = (start[1] + end[1]) / 2
    return f"C{start[0]} {middle} {end[0]} {middle} {end[0]} {end[1]}"


# ---------------------------------------------------------------- layout

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
