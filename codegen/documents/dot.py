"""A program as a graph for Graphviz: from inputs (boxes) through operations (ellipses) to outputs (double boxes).

An operation shows its sign and the name of its value, where that has one. Where the order of operands counts, edges have the
names of the arguments. What only derivatives need stands in a frame of its own, with broken lines.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from adcli.codegen.documents.sections import derivatives
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program
from adcli.lang.ir.names import name_table
from adcli.lang.ir.notation import INDENT, INFIX, number


def graph(program: Program, name: str) -> str:
    """The digraph of a program, without a comment in front."""
    drawing = Drawing(program)
    inputs = list(drawing.inputs())
    sections = {title: [*drawing.operations(second), *drawing.results(second)]
                for title, second in (("values", False), ("derivatives", True))}
    inside = [line for lines in sections.values() for line in lines]
    if all(sections.values()):
        inside = [line for title, lines in sections.items() for line in framed(title, lines)]
    return "\n".join([f"digraph {quoted(name)} {{", *(INDENT + line for line in [*inputs, *inside, *drawing.edges]), "}", ""])


def framed(title: str, lines: Sequence[str]) -> list[str]:
    """Nodes in a frame with a title."""
    style = f'label="{title}"; style={"dashed" if title == "derivatives" else "solid"};'
    return [f"subgraph cluster_{title} {{", *(INDENT + line for line in [style, *lines]), "}"]


class Drawing:
    """The nodes of a program; `edges` fills as they are made. Constants are nodes of their own, one for each use."""

    def __init__(self, program: Program) -> None:
        self.program, self.names, self.derived = program, name_table(program), derivatives(program)
        self.ids: dict[Atom, str] = {p.var: f"in{i}" for i, p in enumerate(program.params)}
        self.ids.update({out: f"n{i}" for i, e in enumerate(program.equations) for out in e.outs})
        self.edges: list[str] = []
        self.constants = 0

    def inputs(self) -> Iterator[str]:
        for p in self.program.params:
            default = "" if p.default is None else f" = {number(p.default)}"
            yield node(self.ids[p.var], p.name + default, "box", p.var in self.derived.values)

    def operations(self, derived: bool) -> Iterator[str]:
        """The operations of a section, each with the constants that it reads."""
        for e in self.program.equations:
            if (e.outs[0] in self.derived.values) == derived:
                labels = operands(e.op, len(e.args))
                for a, label in zip(e.args, labels, strict=True):
                    yield from self.reached(a, self.ids[e.outs[0]], label, derived)
                own = [self.names[o] for o in e.outs if o.name and not o.temp]
                yield node(self.ids[e.outs[0]], "\n".join([sign(e), *own]), "ellipse", derived)

    def results(self, derived: bool) -> Iterator[str]:
        """The outputs of a section."""
        for i, r in enumerate(self.program.results):
            if (r.name in self.derived.results) == derived:
                yield from self.reached(r.atom, f"out{i}", "", derived)
                yield node(f"out{i}", r.name, "box", derived, "peripheries=2")

    def reached(self, atom: Atom, to: str, label: str, derived: bool) -> Iterator[str]:
        """Draw an edge from a value; a constant becomes a node."""
        start = self.ids.get(atom)
        if start is None:
            assert isinstance(atom, Lit)
            start, self.constants = f"c{self.constants}", self.constants + 1
            yield node(start, number(atom.value), "plaintext", False)
        said = [*([f"label={quoted(label)}"] if label else []), *(["style=dashed"] if derived else [])]
        self.edges.append(f"{start} -> {to} [{', '.join(said)}];" if said else f"{start} -> {to};")


def node(name: str, label: str, shape: str, derived: bool, *more: str) -> str:
    said = [f"label={quoted(label)}", f"shape={shape}", *more, *(["style=dashed"] if derived else [])]
    return f"{name} [{', '.join(said)}];"


def operands(op: Primitive, count: int) -> list[str]:
    """What the operands are called, where their order counts."""
    return [""] * count if count == 1 or op.commutes else op.args.split(", ")[:count]


def sign(e: Equation) -> str:
    """The sign of an operation, or its name."""
    form = e.op.unicode or (INFIX[e.op.name][0] if e.op.name in INFIX else "-" if e.op.name == "neg" else e.op.name)
    return form.replace("#1", "·")


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
