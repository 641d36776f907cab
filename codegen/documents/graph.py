"""A program as a graph, in plain data: a node for every input and every operation, an edge for every use of a value.

`dot` (for Graphviz) and `svg` draw it. A node has the line of the operation as mathematics writes it, by the names of `names`,
which also says what is there for derivatives. An output is the node that computes it, or has a node of its own where that is an
input, a constant or another output.

The operations of a call can be one node, and their derivatives another: a call is folded with all that it calls. What it reads
and what others read of it are its edges; values inside go unseen, but for a mark on one of them.

The graph of a program for Graphviz.

What things are is told by shapes and lines first, and by colours beside: inputs are ellipses, operations boxes, copies hexagons,
folded calls boxes with tabs, outputs have a double line. What is there for derivatives has broken lines and, beside values, a
frame of its own. A value that is nan or infinite has a thick line and a sign, and an edge by which nothing goes back is dotted,
ends in a bar and says why. The colours are told apart by the colour-blind, and their texts have a contrast of 7 and more.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from adcli.codegen.documents.names import DocumentNames
from adcli.codegen.documents.notation import Unicode
from adcli.codegen.emission import EmitOptions, commented
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import CalledSpan, FunctionCall, Source, Span
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.printing.printer import writer_of
from adcli.lang.tree.notation import ATOM, INDENT, PRODUCT, Piece, call, number

INPUT, OPERATION, COPY, CALL, OUTPUT = "input", "operation", "copy", "call", "output"
"""Kinds of nodes: an input of the program or a seed; an operation or a comprehension; a `dup`; the operations of a call in one;
an output that no operation of its own computes."""
LONGEST_LINE = 44
"""Characters of a line of a node; what is longer goes on in the next."""
MOST_LINES = 6
"""Lines of a formula; what is longer is cut."""
DUP = TABLE["dup"]
NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Node:
    """A node: what it is, its lines, the formula first; whether it is there for derivatives, and whether it is an output. `mark`
    says what is wrong with its value, such as nan; `span` is where its operation stands in the text."""

    kind: str
    lines: tuple[str, ...]
    derivative: bool = False
    output: bool = False
    mark: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A use of the value of the node `tail` by the node `head`, both by their positions. `cut` says why nothing of the adjoint
    goes back along it, where that is so."""

    tail: int
    head: int
    derivative: bool = False
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order of evaluation, so that every edge goes forwards. The `legend` says how names are made."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A value at a point: lines for its node, and its fault, if any."""

    lines: tuple[str, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class AtPoint:
    """A program at a point: its values, and the arguments of operations by which no adjoint goes back."""

    values: Mapping[Atom, Said] = field(default_factory=dict)
    cuts: Mapping[tuple[Equation, int], str] = field(default_factory=dict)


NOWHERE = AtPoint()


def program_graph(program: Program, at: AtPoint = NOWHERE) -> Graph:
    """The graph of a program, with what is known of it at a point."""
    return _Builder(program, at).graph()


class _Builder:
    """The nodes of a program as they are made; `home` says which node has a value."""

    def __init__(self, program: Program, at: AtPoint) -> None:
        self.program, self.at = program, at
        self.formulas = _Formulas(program)
        self.derived = self.formulas.spelling.derived
        self.home: dict[Atom, int] = {}
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def graph(self) -> Graph:
        own = self.own_outputs()
        for p in self.program.params:
            self.input(p)
        for e in self.program.equations:
            self.operation(e, own)
        for r in self.program.results:
            if own.get(r.atom) != r.name:
                self.output(r)
        return Graph(tuple(self.nodes), tuple(self.edges), self.formulas.spelling.legend)

    def own_outputs(self) -> dict[Atom, str]:
        """The values that operations compute for an output, with its name."""
        computed = {o for e in self.program.equations if e.op is not DUP for o in e.outs}
        names = self.formulas.spelling.table
        return {r.atom: r.name for r in self.program.results if isinstance(r.atom, Var) and r.atom in computed
                and names[r.atom] == r.name}

    def add(self, node: Node, made: tuple[Var, ...] = ()) -> int:
        self.nodes.append(node)
        self.home.update(dict.fromkeys(made, len(self.nodes) - 1))
        return len(self.nodes) - 1

    def input(self, p: Param) -> None:
        said = self.said(p.var)
        default = f" = {number(p.default)}" if p.default is not None and not p.var.shape and not said.lines else ""
        shape = shape_text(p.var.shape) if p.var.shape else ""
        title = ("int32 " if p.var.integer else "") + self.formulas.names[p.var] + shape + default
        self.add(Node(INPUT, (*wrapped(title), *said.lines), p.var in self.derived.values, mark=said.mark), (p.var,))

    def operation(self, e: Equation, own: Mapping[Atom, str]) -> None:
        derived = self.derived.values.issuperset(e.outs)
        if e.op is DUP:
            lines = [line for o in e.outs for line in self.said(o).lines]
            mark = ""
        else:
            said, shape = self.said(e.outs[0]), e.outs[0].shape
            lines = [*([f"shape {shape_text(shape)}"] if shape else []), *said.lines]
            mark = said.mark
        title = wrapped(self.formulas.line(e))
        kind = COPY if e.op is DUP else OPERATION
        at = self.add(Node(kind, (*title, *lines), derived, any(o in own for o in e.outs), mark, e.span), e.outs)
        for i, a in enumerate(e.args):
            self.reached(a, at, self.at.cuts.get((e, i), ""))

    def output(self, r: Result) -> None:
        """An output whose value is an input, a constant, or has the name of another."""
        source, name = self.formulas.piece(r.atom)[0], self.formulas.spelling.texts[r.name]
        derived = r.name in self.derived.results
        title = wrapped(f"{name} = {source}" if source != name else name)
        at = self.add(Node(OUTPUT, (*title, *self.said(r.atom).lines[:1]), derived, True))
        self.reached(r.atom, at, "")

    def reached(self, atom: Atom, to: int, cut: str) -> None:
        if isinstance(atom, Var):
            tail = self.home[atom]
            self.edges.append(Edge(tail, to, self.nodes[tail].derivative, cut))

    def said(self, atom: Atom) -> Said:
        return self.at.values.get(atom, NOTHING)


NOTHING = Said(())


class _Formulas:
    """The lines of a program one by one, as mathematics writes them."""

    def __init__(self, program: Program) -> None:
        self.notation = Unicode(number)
        self.writer = writer_of(program, "anf")
        self.spelling = DocumentNames(program, self.writer.names, self.notation)
        self.names = {v: self.spelling.texts[name] for v, name in self.writer.names.items()}

    def line(self, e: Equation) -> str:
        if isinstance(e.op, Boxed):
            return self.renamed(" ".join(" ".join(self.writer.equation(e)).split()))
        if isinstance(e.op, Recurrence):
            written = "; ".join(line.strip() for text in self.writer.equation(e) for line in text.splitlines())
            return self.renamed(written.replace("{;", "{").replace("; }", " }"))
        parts = [self.piece(a) for a in e.args]
        if e.op is DUP and len(e.outs) == 1:   # of a program for reading
            return f"{self.names[e.outs[0]]} = {parts[0][0]}"
        name = e.op.spelled or e.op.name
        polished = self.notation.polished(self.notation.operation(name, parts)[0])
        return f"{', '.join(self.names[o] for o in e.outs)} = {call(name, parts)[0] if e.op is DUP else polished}"

    def renamed(self, text: str) -> str:
        """A line of the program with the names of documents."""
        return NAME.sub(lambda m: self.spelling.texts.get(m[0], m[0]), text)

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.notation.number(atom.value)
        return self.names[atom], PRODUCT if "/" in self.names[atom] else ATOM


def wrapped(text: str) -> list[str]:
    """A text over lines of a node, broken at blanks, the last of them cut where there are too many."""
    lines = list(_broken(text))
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES - 1], lines[MOST_LINES - 1][:LONGEST_LINE - 2] + " …"]


def _broken(text: str) -> Iterator[str]:
    indent = ""
    head, where, ranges = text.partition(" where ")
    if where and len(text) > LONGEST_LINE:
        yield from _broken(head)
        text, indent = f"where {ranges}", "  "
    while len(indent) + len(text) > LONGEST_LINE:
        room = LONGEST_LINE - len(indent)
        at = text.rfind(" ", 1, room + 1)
        at = room if at < 0 else at
        yield indent + text[:at].rstrip()
        text, indent = text[at:].lstrip(), "  "
    yield indent + text


# ---------------------------------------------------------------- calls in one node

Key = tuple[FunctionCall, bool]
"""A call, and whether it is its derivatives that are meant."""


def called(graph: Graph) -> dict[str, int]:
    """The functions that can be folded, with the number of their calls."""
    seen: dict[int, FunctionCall] = {}
    for node in graph.nodes:
        call = call_of(node.span)
        while call is not None and id(call) not in seen:
            seen[id(call)] = call
            call = call.outer
    found: dict[str, int] = {}
    for call in seen.values():
        found[call.name] = found.get(call.name, 0) + 1
    return found


def call_of(span: Span | None) -> FunctionCall | None:
    return span.call if isinstance(span, CalledSpan) else None


def folded(graph: Graph, source: Source | None, chosen: Callable[[str], bool]) -> Graph:
    """The graph with every call folded whose function is `chosen`, and that is in no other such call."""
    keys = [outermost(node, chosen) for node in graph.nodes]
    members: dict[int | tuple[int, bool], list[int]] = {}
    for i, key in enumerate(keys):
        members.setdefault(i if key is None else (id(key[0]), key[1]), []).append(i)
    groups = list(members.values())
    group_of = {i: g for g, group in enumerate(groups) for i in group}
    edges = merged([Edge(group_of[e.tail], group_of[e.head], e.derivative, e.cut) for e in graph.edges
                    if group_of[e.tail] != group_of[e.head]])
    place = {g: i for i, g in enumerate(in_order(len(groups), edges))}
    used = {e.tail for e in graph.edges if group_of[e.tail] != group_of[e.head]}
    made: dict[int, Node] = {}
    for g, group in enumerate(groups):
        there = [(graph.nodes[i], i in used) for i in group]
        made[place[g]] = _node(there, keys[group[0]], source)
    return Graph(tuple(made[i] for i in sorted(made)),
                 tuple(Edge(place[e.tail], place[e.head], e.derivative, e.cut) for e in edges), graph.legend)


def merged(edges: Sequence[Edge]) -> list[Edge]:
    """One edge for all between two nodes; it is cut where they all are."""
    found: dict[tuple[int, int], Edge] = {}
    for e in edges:
        known = found.setdefault((e.tail, e.head), e)
        if known.cut and not e.cut:
            found[e.tail, e.head] = e
    return list(found.values())


def in_order(count: int, edges: Iterable[Edge]) -> list[int]:
    """The nodes so that every edge goes forwards, otherwise as they are."""
    missing, heads = [0] * count, [list[int]() for _ in range(count)]
    for e in edges:
        missing[e.head] += 1
        heads[e.tail].append(e.head)
    ready, found = [g for g, n in enumerate(missing) if not n], list[int]()
    heapify(ready)
    while ready:
        found.append(heappop(ready))
        for h in heads[found[-1]]:
            missing[h] -= 1
            if not missing[h]:
                heappush(ready, h)
    assert len(found) == count, "a call reads what is made of it"
    return found


def outermost(node: Node, chosen: Callable[[str], bool]) -> Key | None:
    """The outermost chosen call that an operation is in."""
    found, call = None, call_of(node.span)
    while call is not None:
        found, call = call if chosen(call.name) else found, call.outer
    return (found, node.derivative) if found else None


def _node(there: Sequence[tuple[Node, bool]], key: Key | None, source: Source | None) -> Node:
    """One node for several operations, each given with a flag: used by others."""
    members = [node for node, _ in there]
    if key is None:
        return members[0]
    call, derivative = key
    text = " ".join(source.quoted(call.span).split()) if source else call.name
    shown = [n for n, used in there if used or n.output]
    names = ", ".join(n.lines[0].partition(" = ")[0] for n in shown)
    title = shortened(f"{shortened(names)} = {'derivative of ' * derivative}{text}", 2 * LONGEST_LINE)
    count = f"{len(members):,} operation{'s' * (len(members) != 1)}"
    known = [line for n in shown[:1] for line in n.lines[1:] if len(shown) == 1]
    marks = [n.mark for n in members if n.mark]
    return Node(CALL, (*wrapped(title), count, *known), derivative, any(n.output for n in members), marks[0] if marks else "",
                call.span)


def shortened(text: str, most: int = LONGEST_LINE // 2) -> str:
    """A text, or its beginning."""
    return text if len(text) <= most else f"{text[:most - 1]}…"


# ---------------------------------------------------------------- dot

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
