"""The graph of a program for Graphviz.

What things are is told by shapes and lines first, and by colours beside: inputs are ellipses, operations boxes, copies hexagons,
folded calls boxes with tabs, outputs have a double line. What is there for derivatives has broken lines and, beside values, a
frame of its own. A value that is nan or infinite has a thick line and a sign, and an edge by which nothing goes back is dotted,
ends in a bar and says why. The colours are told apart by the colour-blind, and their texts have a contrast of 7 and more.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from adcli.codegen.documents.graph import CALL, COPY, INPUT, OPERATION, OUTPUT, Edge, Graph, Node, program_graph
from adcli.codegen.emission import EmitOptions, commented
from adcli.lang.ir import Program
from adcli.lang.tree.notation import INDENT

SHAPES = {INPUT: "ellipse", OPERATION: "box", COPY: "hexagon", CALL: "component", OUTPUT: "box"}
VALUE, DERIVATIVE, COPIED, WRONG = ("#eaf2fb", "#2a5d8f"), ("#fdf1e0", "#8f4e00"), ("#f1f1f1", "#5a5a5a"), ("#ffe4e4", "#a4001d")
"""Colours of the inside and of the line: of values, of derivatives, of copies, and of what is wrong."""
FONT = 'fontname="Helvetica,Arial,sans-serif"'
HEAD = (f'graph [{FONT}, fontsize=11, fontcolor="#444444", bgcolor="white", pad=0.15, nodesep=0.28, ranksep=0.34];',
        f'node [{FONT}, fontsize=12, fontcolor="#1a1a1a", height=0.3, margin="0.12,0.05", style=filled];',
        f'edge [{FONT}, fontsize=10, fontcolor="#444444", color="#5a5a5a", arrowsize=0.7];')
LARGE, VERY_LARGE = 150, 400
"""Nodes from which Graphviz is told to look for a good layout less long, and to draw straight lines."""
HASTE = ("nslimit=1; nslimit1=1; mclimit=0.1;", "splines=line;")
SIGN = "⚠"
"""Stands before what is wrong with a value."""


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    return commented([*header, "draw: dot -Tsvg FILE"], "//") + digraph(program_graph(program), options.name)


def digraph(graph: Graph, name: str) -> str:
    """The text of a graph."""
    sections = {title: [node_line(i, n) for i, n in enumerate(graph.nodes) if n.derivative == second and n.kind != INPUT]
                for title, second in (("values", False), ("derivatives", True))}
    inside = [line for lines in sections.values() for line in lines]
    if all(sections.values()):
        inside = [line for title, lines in sections.items() for line in framed(title, lines)]
    inputs = [node_line(i, n) for i, n in enumerate(graph.nodes) if n.kind == INPUT]
    edges = [edge_line(e) for e in graph.edges]
    haste = [line for line, least in zip(HASTE, (LARGE, VERY_LARGE), strict=True) if len(graph.nodes) >= least]
    legend = [f'label={quoted(graph.legend)}; labelloc=b; labeljust=l;'] if graph.legend else []
    body = (INDENT + line for line in [*HEAD, *legend, *haste, *inputs, *inside, *edges])
    return "\n".join([f"digraph {quoted(name)} {{", *body, "}", ""])


def framed(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Nodes in a frame with a title."""
    style = "dashed" if title == "derivatives" else "solid"
    yield f"subgraph cluster_{title} {{"
    yield from (INDENT + line for line in [f'label="{title}"; labeljust=l; style={style}; color="#9a9a9a";', *lines])
    yield "}"


def node_line(i: int, n: Node) -> str:
    inside, line = WRONG if n.mark else COPIED if n.kind == COPY else DERIVATIVE if n.derivative else VALUE
    label = [*n.lines, f"{SIGN} {n.mark}"] if n.mark else n.lines
    styles = ["filled", *(["dashed"] if n.derivative else []), *(["bold"] if n.mark else [])]
    said = [f"label={quoted(lines(label))}", f"shape={SHAPES[n.kind]}", f'fillcolor="{inside}"',
            f'color="{line}"', *([f'style="{",".join(styles)}"'] if styles[1:] else []), *(["peripheries=2"] if n.output else [])]
    return f"n{i} [{', '.join(said)}];"


def edge_line(e: Edge) -> str:
    said = ["style=dashed"] if e.derivative else []
    if e.cut:
        said = [f"label={quoted(' ' + e.cut)}", "style=dotted", "arrowhead=tee", f'color="{WRONG[1]}"',
                f'fontcolor="{WRONG[1]}"']
    return f"n{e.tail} -> n{e.head} [{', '.join(said)}];" if said else f"n{e.tail} -> n{e.head};"


def lines(told: Sequence[str]) -> str:
    """One line in the middle; several from the left, each with its end."""
    return told[0] if len(told) == 1 else "".join(f"{line}\n" for line in told)


def quoted(text: str) -> str:
    """A text as DOT has it; the end of a line puts that line to the left."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}"'
