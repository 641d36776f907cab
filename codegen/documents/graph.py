"""A program as a graph, in plain data: a node for every input and every operation, an edge for every use of a value.

What is drawn of it, and how, is the business of `dot` (for Graphviz) and of `boxes` (in Unicode). A node has the line that
`adcli show` has for the operation, as mathematics writes it, so that pictures and listings go by the same names. An output is the
node that computes it, or has a node of its own where that is an input, a constant or another output.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from adcli.codegen.documents.notation import Unicode
from adcli.codegen.documents.sections import derivatives
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var, has_tensors
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import Span
from adcli.lang.ir.matrix import Boxed
from adcli.lang.ir.names import name_table
from adcli.lang.ir.notation import ATOM, Piece, call, number
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.recurrence import Recurrence

INPUT, OPERATION, COPY, CALL, OUTPUT = "input", "operation", "copy", "call", "output"
"""Kinds of nodes: an input of the program or a seed; an operation or a comprehension; a `dup`; the operations of a call in one;
an output that no operation of its own computes."""
LONGEST_LINE = 44
"""Characters of a line of a node; what is longer goes on in the next."""
MOST_LINES = 6
"""Lines of a formula; what is longer is cut."""
DUP = TABLE["dup"]


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
    """Nodes in the order of evaluation, so that every edge goes forwards."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of a value at a point: lines for its node, and what is wrong with it."""

    lines: tuple[str, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class AtPoint:
    """What is known of a program at a point: of its values, and of the arguments of its operations by which nothing goes back."""

    values: Mapping[Atom, Said] = field(default_factory=dict)
    cuts: Mapping[tuple[Equation, int], str] = field(default_factory=dict)


NOWHERE = AtPoint()


def program_graph(program: Program, at: AtPoint = NOWHERE) -> Graph:
    """The graph of a program, with what is known of it at a point."""
    return _Builder(program, at).graph()


class _Builder:
    """The nodes of a program as they are made; `home` says which node has a value."""

    def __init__(self, program: Program, at: AtPoint) -> None:
        self.program, self.at, self.derived = program, at, derivatives(program)
        self.formulas = _Formulas(program)
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
        return Graph(tuple(self.nodes), tuple(self.edges))

    def own_outputs(self) -> dict[Atom, str]:
        """The values that operations compute for an output, with its name."""
        computed = {o for e in self.program.equations if e.op is not DUP for o in e.outs}
        names = self.formulas.names
        return {r.atom: r.name for r in self.program.results if isinstance(r.atom, Var) and r.atom in computed
                and names[r.atom] == r.name}

    def add(self, node: Node, made: tuple[Var, ...] = ()) -> int:
        self.nodes.append(node)
        self.home.update(dict.fromkeys(made, len(self.nodes) - 1))
        return len(self.nodes) - 1

    def input(self, p: Param) -> None:
        said = self.said(p.var)
        default = f" = {number(p.default)}" if p.default is not None and not said.lines else ""
        title = ("int32 " if p.var.integer else "") + p.name + (shape_text(p.var.shape) if p.var.shape else "") + default
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
        source = number(r.atom.value) if isinstance(r.atom, Lit) else self.formulas.names[r.atom]
        derived = r.name in self.derived.results
        title = wrapped(f"{r.name} = {source}" if source != r.name else r.name)
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
    """The lines of a program one by one, by the names that `adcli show` gives."""

    def __init__(self, program: Program) -> None:
        self.notation = Unicode(number)
        self.tensors = None
        self.names = name_table(program)
        if has_tensors(program):
            from adcli.lang.syntax.comprehension_printer import TensorWriter
            self.tensors = TensorWriter(program, "anf")
            self.names = self.tensors.names

    def line(self, e: Equation) -> str:
        if self.tensors is not None and isinstance(e.op, Boxed):
            return " ".join(" ".join(self.tensors.equation(e)).split())
        if self.tensors is not None and isinstance(e.op, Recurrence):
            written = "; ".join(line.strip() for text in self.tensors.equation(e) for line in text.splitlines())
            return written.replace("{;", "{").replace("; }", " }")
        parts = [self.piece(a) for a in e.args]
        name = e.op.spelled or e.op.name
        polished = self.notation.polished(self.notation.operation(name, parts)[0])
        return f"{', '.join(self.names[o] for o in e.outs)} = {call(name, parts)[0] if e.op is DUP else polished}"

    def piece(self, atom: Atom) -> Piece:
        return self.notation.number(atom.value) if isinstance(atom, Lit) else (self.names[atom], ATOM)


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
