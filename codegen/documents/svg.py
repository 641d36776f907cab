"""The graph of a program as SVG, with colours for dark screens, and as a list for a terminal.

Inputs are round, copies pointed, calls have a thick edge on the left, outputs a double line; what is there for derivatives has
broken lines, a value that is nan or infinite a thick line and a sign, and an edge by which nothing goes back is dotted, ends in a
bar and says why.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from adcli.codegen.documents.columns import padded, width
from adcli.codegen.documents.graph import CALL, COPIED, COPY, DERIVATIVE, INPUT, SIGN, VALUE, WRONG, Edge, Graph, Node, merged
from adcli.codegen.documents.layered import layered

LETTER, LINE, PAD, MARGIN, APART, BETWEEN = 7.3, 16, 10, 12, 22, 34
"""Pixels: the width of a letter, the height of a line, around a text, around the picture, between nodes and between rows."""
THICK = 2.5
"""Width of the line around a value that is wrong."""
COLOURS = {"value": VALUE, "derivative": DERIVATIVE, "copy": COPIED, "wrong": WRONG}
DARK = {"value": ("#16324d", "#8ec3f5"), "derivative": ("#45290a", "#f3b566"), "copy": ("#2e2e2e", "#b8b8b8"),
        "wrong": ("#4f1019", "#ff98a6")}
"""Colours of the inside and of the line on a dark screen."""


class Screen(NamedTuple):
    """Colours of the ground, of texts and of lines."""

    ground: str
    ink: str
    line: str


LIGHT, NIGHT = Screen("#ffffff", "#1a1a1a", "#5a5a5a"), Screen("#15181d", "#f0f0f0", "#b8b8b8")
LETTER_SIZE = 12


def styles(colours: dict[str, tuple[str, str]], screen: Screen) -> str:
    kinds = " ".join(f".adcli .{kind} {{ fill: {inside}; stroke: {edge} }}" for kind, (inside, edge) in colours.items())
    return (f".adcli .ground {{ fill: {screen.ground} }} .adcli text {{ fill: {screen.ink} }}"
            f" .adcli .edge {{ fill: none; stroke: {screen.line} }} .adcli .tip {{ fill: {screen.line} }} {kinds}"
            f" .adcli .cut {{ fill: none; stroke: {colours['wrong'][1]} }}")


STYLE = (f".adcli text {{ font: {LETTER_SIZE}px Menlo, Consolas, monospace }} .adcli .of {{ text-anchor: middle }}"
         " .adcli .broken { stroke-dasharray: 5 3 }"
         " .adcli .cut { stroke-dasharray: 1 4 } " + styles(COLOURS, LIGHT)
         + " @media (prefers-color-scheme: dark) { " + styles(DARK, NIGHT) + " }")
MARKERS = ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path class="tip" d="M0 0 8 4 0 8z"/></marker><marker id="bar" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="9"'
           ' markerHeight="9" orient="auto"><path class="wrong" d="M4 0V8"/></marker></defs>')


def svg(graph: Graph) -> str:
    """The picture of a graph."""
    return "\n".join(GraphPicture(graph).svg()) + "\n"


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


class Box(NamedTuple):
    """A rectangle: its style, left upper corner and size, with the radius of its corners; its line is `thick` at a value that is
    wrong."""

    style: str
    x: float
    y: float
    w: float
    h: float
    radius: int = 0
    thick: bool = False

    def svg(self) -> str:
        rx = f' rx="{self.radius}"' if self.radius else ""
        return f'<rect class="{self.style}" x="{self.x}" y="{self.y}" width="{self.w}" height="{self.h}"{rx}{wide(self.thick)}/>'


class Outline(NamedTuple):
    """A polygon."""

    style: str
    points: Sequence[tuple[float, float]]
    thick: bool = False

    def svg(self) -> str:
        points = " ".join(f"{x},{y}" for x, y in self.points)
        return f'<polygon class="{self.style}" points="{points}"{wide(self.thick)}/>'


class Wire(NamedTuple):
    """A line: a curve to the second of its points, straight on to the third, a curve to the fourth, and so on. A curve is upright
    at both ends. It ends in a tip, or in a bar where nothing goes back along it."""

    style: str
    points: Sequence[tuple[float, float]]
    end: str

    def svg(self) -> str:
        path = f"M{self.points[0][0]} {self.points[0][1]}"
        for k, (a, b) in enumerate(pairwise(self.points)):
            path += f"V{b[1]}" if k % 2 else "C" + " ".join(f"{x} {y}" for x, y in (*bend(a, b), b))
        return f'<path class="{self.style}" d="{path}" marker-end="url(#{self.end})"/>'


class Lettering(NamedTuple):
    """A line of text with its base line at y, from x on or about it."""

    text: str
    x: float
    y: float
    centred: bool = False

    def svg(self) -> str:
        style = 'class="of" ' if self.centred else ""
        return f'<text {style}x="{self.x}" y="{self.y}">{escape(self.text)}</text>'


Shape = Box | Outline | Wire | Lettering


def wide(thick: bool) -> str:
    return f' stroke-width="{THICK}"' if thick else ""


def bend(start: tuple[float, float], end: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The control points of a curve that is upright at both ends."""
    middle = (start[1] + end[1]) / 2
    return (start[0], middle), (end[0], middle)


class GraphPicture:
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

    def legend(self) -> list[str]:
        return self.graph.legend.split("; ") if self.graph.legend else []

    def size(self) -> tuple[int, int]:
        """Width and height."""
        ends = [x + MARGIN for x in self.layout.lanes.values()]
        ends += [x + w + MARGIN for x, w in zip(self.layout.x, self.widths, strict=True)]
        ends += [round(x + 6 + LETTER * width(e.cut)) for e, x in self.ends.items() if e.cut]
        across = max([*ends, *(round(LETTER * width(line)) + MARGIN for line in self.legend())], default=0) + MARGIN
        return across, self.tops[-1] - BETWEEN + MARGIN + LINE * len(self.legend())

    def svg(self) -> Iterator[str]:
        across, down = self.size()
        yield (f'<svg class="adcli" xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}"'
               f' viewBox="0 0 {across} {down}">')
        yield f"<style>{STYLE}</style>"
        yield MARKERS
        yield '<rect class="ground" width="100%" height="100%"/>'
        yield from (shape.svg() for shape in self.shapes())
        yield "</svg>"

    def shapes(self) -> Iterator[Shape]:
        """What is drawn, from the ground up."""
        for e in self.edges:
            yield from self.edge(e)
        for i, n in enumerate(self.graph.nodes):
            yield from self.node(i, n)
        below = self.tops[-1] - BETWEEN + MARGIN
        yield from (Lettering(line, MARGIN, below + LINE * k + 6) for k, line in enumerate(self.legend()))

    def node(self, i: int, n: Node) -> Iterator[Shape]:
        x, y, w, h = self.box(i)
        kind = "wrong" if n.mark else COPY if n.kind == COPY else "derivative" if n.derivative else "value"
        style, thick = kind + (" broken" if n.derivative else ""), bool(n.mark)
        if n.kind == COPY:
            middle = y + h / 2
            yield Outline(style, [(x - 8, middle), (x, y), (x + w, y), (x + w + 8, middle), (x + w, y + h), (x, y + h)], thick)
        else:
            yield Box(style, x, y, w, h, 13 if n.kind == INPUT else 3, thick)
        if n.output:
            yield Box(style, x + 3, y + 3, w - 6, h - 6, 2)
        if n.kind == CALL:
            yield Box(kind, x - 3, y + 4, 6, h - 8)
        for k, line in enumerate(self.told[i]):
            yield Lettering(line.strip(), x + w / 2, y + PAD / 2 + LINE * k + 12, True)

    def box(self, i: int) -> tuple[int, float, int, int]:
        row, h = self.layout.ranks[i], LINE * len(self.told[i]) + PAD
        return self.layout.x[i] + MARGIN, self.tops[row] + (self.heights[row] - h) / 2, self.widths[i], h

    def edge(self, e: Edge) -> Iterator[Shape]:
        """A smooth line down from a node by the places where it passes rows."""
        x, y, w, h = self.box(e.tail)
        points = [(x + w / 2, y + h)]
        for row in range(self.layout.ranks[e.tail] + 1, self.layout.ranks[e.head]):
            lane = self.layout.lanes[e.tail, row] + MARGIN
            points += [(lane, self.tops[row]), (lane, self.tops[row] + self.heights[row])]
        points.append(end := (self.ends[e], self.box(e.head)[1]))
        yield Wire(*(("cut", points, "bar") if e.cut else (f"edge{' broken' if e.derivative else ''}", points, "tip")))
        if e.cut:
            yield Lettering(e.cut, end[0] + 6, end[1] - 6)
