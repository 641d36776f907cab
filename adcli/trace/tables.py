"""The trace of a program as a table: aligned text, Markdown, LaTeX, and HTML for notebooks; and as JSON.

A table has a row for every input, every line and every output. Beside the primal cell `v₂ = v₋₁ × v₀ = 2 × 5 = 10` stands the
tangent, in the same order, or the adjoints that the line sends to its operands, which the reverse sweep reaches from the last
row to the first: they are read upwards, as in the tables of the books. All renderers write the same cells. The JSON object of a
point has every number of the tables, with the places in the source.

Labels of values in the tables of `adcli trace`: those of all documents, or v₋₁, v₀, v₁, … as the books have them.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, zip_longest
from typing import Any, NamedTuple

from adcli.codegen.documents import names
from adcli.codegen.documents.columns import padded, width
from adcli.codegen.documents.names import examples, free_letter, legend
from adcli.codegen.documents.notation import Label, Notation, label_of
from adcli.lang.analyse.numeric_sweeps import Derivative
from adcli.lang.analyse.trace import (
    ADD,
    ADJOINT,
    DIV,
    MUL,
    NEG,
    SUB,
    TANGENT,
    VALUE,
    AdjointStep,
    Apply,
    Formula,
    Leaf,
    Trace,
    TracedLine,
    TracedTerm,
)
from adcli.lang.ir import LEVELS, Atom, Lit, Program, Result, Var
from adcli.lang.ir.errors import AdError, Source, Span, nearest
from adcli.lang.ir.names import name_table
from adcli.lang.tree.notation import ATOM, Piece
from adcli.output.typeset import booktabs, markdown_table
from adcli.output.wrap import folded


class Cell(NamedTuple):
    """`name = formula = numbers = value`; a part that says nothing new is empty."""

    name: str = ""
    formula: str = ""
    numbers: str = ""
    value: str = ""


class TraceRow(NamedTuple):
    primal: Cell
    derivative: Cell


class TraceTable(NamedTuple):
    """Rows in three sections: inputs, lines, outputs. Without a second title there is no second column. The `legend` says how
    names are made."""

    titles: tuple[str, str]
    sections: tuple[list[TraceRow], list[TraceRow], list[TraceRow]]
    legend: str = ""


MOST_ROWS = 500
"""Rows of a section that a notebook shows."""
PRIMAL, FORWARD, REVERSE = "Forward primal trace", "Forward tangent trace", "Reverse adjoint trace, read upwards"
NOTHING = Cell()


class Writer:
    """The cells of one trace in one notation."""

    def __init__(self, trace: Trace, names: Mapping[Var, Label], notation: Notation) -> None:
        self.trace, self.names, self.notation = trace, names, notation
        self.spelled: dict[tuple[Var, str], str] = {}

    def tables(self, tangent: bool, cotangent: bool) -> Iterator[TraceTable]:
        """The primal trace beside the tangents, then beside the adjoints, as far as they are asked for."""
        if tangent or not cotangent:
            yield TraceTable((PRIMAL, FORWARD if tangent else ""), (
                [TraceRow(self.given(p.name, p.var),
                          self.given(p.name, p.var, TANGENT) if p.var in self.trace.tangents else NOTHING)
                 for p in self.trace.program.params],
                [row for line in self.trace.lines for row in self.forward(line)],
                [TraceRow(self.output(r), self.output(r, TANGENT) if tangent else NOTHING) for r in self.trace.program.results]),
                self.legend(TANGENT if tangent else ""))
        if cotangent:
            yield TraceTable((PRIMAL, REVERSE), (
                [TraceRow(self.given(p.name, p.var), self.received(p.name, p.var)) for p in self.trace.program.params],
                [row for line in self.trace.lines for row in self.reverse(line)],
                [TraceRow(self.output(r), self.sown(r)) for r in self.trace.program.results]), self.legend(ADJOINT))

    def legend(self, kind: str) -> str:
        return legend(self.notation, self.names.values(), examples(self.notation, self.names.values(), [kind]))

    # ------------------------------------------------------------ cells

    def given(self, name: str, var: Var, kind: str = VALUE) -> Cell:
        """An input: v₋₁ = x1 = 2."""
        number = self.trace.values[var] if kind == VALUE else self.trace.tangents[var].value
        own, user = self.label(var, kind), self.notation.label(label_of(name), kind)
        return Cell(own, user if user != own else "", "", self.number(number))

    def received(self, name: str, var: Var) -> Cell:
        """The adjoint of an input: x̄1 = v̄₋₁ = 5.5."""
        if var not in self.trace.adjoints:
            return NOTHING
        own, user = self.label(var, ADJOINT), self.notation.label(label_of(name), ADJOINT)
        return Cell(user, own if user != own else "", "", self.number(self.trace.adjoints[var].value))

    def output(self, r: Result, kind: str = VALUE) -> Cell:
        """An output: y = v₅ = 11.652."""
        user = self.notation.label(label_of(r.name), kind)
        if isinstance(r.atom, Lit):
            return Cell(user, "", "", self.number(r.atom.value if kind == VALUE else 0.0))
        own = self.label(r.atom, kind)
        number = self.trace.values[r.atom] if kind == VALUE else self.trace.tangents.get(r.atom, Derivative(0.0)).value
        return Cell(user, own if own != user else "", "", self.number(number))

    def sown(self, r: Result) -> Cell:
        """The cotangent of an output: v̄₅ = ȳ = 1; where two outputs are one value, the second adds to it."""
        step = self.trace.seeds.get(r.name)
        if step is None:
            return NOTHING
        own, user = self.label(step.term.operand, ADJOINT), self.notation.label(label_of(r.name), ADJOINT)
        if step.before is None:
            return Cell(own, user if user != own else "", "", self.number(step.after.value))
        sums = [self.notation.operation("add", pair) for pair in (
            [(own, ATOM), (user, ATOM)],
            [self.notation.number(x.value) for x in (step.before, step.term.derivative)])]
        return Cell(own, sums[0][0], sums[1][0], self.number(step.after.value))

    def primal(self, line: TracedLine, out: Var) -> Cell:
        e = line.equation
        name = e.op.spelled or e.op.name
        values = [Leaf(VALUE, a, a.value if isinstance(a, Lit) else self.trace.values[a]) for a in e.args]
        pieces = [[self.piece(leaf, numbers) for leaf in values] for numbers in (False, True)]
        formula, numbers = (parts[0] if name == "dup" else self.notation.operation(name, parts) for parts in pieces)
        return self.cell(self.label(out), formula, numbers, self.trace.values[out], name == "dup")

    def forward(self, line: TracedLine) -> Iterator[TraceRow]:
        for out in line.equation.outs:
            derivative = self.trace.tangents.get(out) if line.terms else None
            yield TraceRow(self.primal(line, out), NOTHING if derivative is None else self.tangent(line, out, derivative))

    def tangent(self, line: TracedLine, out: Var, derivative: Derivative) -> Cell:
        whole, numbers = self.term(line.terms[0], False), self.term(line.terms[0], True)
        for t in line.terms[1:]:
            whole, numbers = self.plus(whole, t, False), self.plus(numbers, t, True)
        single = len(line.terms) == 1 and not isinstance(line.terms[0].formula, Apply)
        return self.cell(self.label(out, TANGENT), whole, numbers, derivative.value, single)

    def reverse(self, line: TracedLine) -> Iterator[TraceRow]:
        """The steps of the sweep upwards, the primal cell beside the uppermost."""
        primal = [self.primal(line, out) for out in line.equation.outs]
        for left, step in zip_longest(primal, reversed(line.steps)):
            yield TraceRow(left or NOTHING, self.adjoint(step) if step else NOTHING)

    def adjoint(self, step: AdjointStep) -> Cell:
        target, term = self.label(step.term.operand, ADJOINT), step.term
        if step.before is None:
            whole, numbers = self.term(term, False), self.term(term, True)
        else:
            whole, numbers = self.plus((target, ATOM), term, False), self.plus(
                self.notation.number(step.before.value), term, True)
        single = step.before is None and not isinstance(term.formula, Apply)
        return self.cell(target, whole, numbers, step.after.value, single)

    def cell(self, name: str, formula: Piece, numbers: Piece, value: float, single: bool) -> Cell:
        """A cell; the number of a formula that is a `single` name is the value already."""
        put_in, result = self.notation.polished(numbers[0]), self.number(value)
        return Cell(name, self.notation.polished(formula[0]), "" if single or put_in == result else put_in, result)

    # ------------------------------------------------------------ formulas

    def term(self, term: TracedTerm, numbers: bool) -> Piece:
        if term.formula is not None:
            return self.piece(term.formula, numbers)
        zero = self.notation.number(0.0)
        return zero if numbers else (f"{zero[0]} {self.notation.remark(term.derivative.absent)}", ATOM)

    def plus(self, whole: Piece, term: TracedTerm, numbers: bool) -> Piece:
        """The sum with one more term; a term with a minus in front is subtracted."""
        if term.formula is not None and (less := without_minus(term.formula)) is not None:
            return self.notation.operation(SUB.name, [whole, self.piece(less, numbers)])
        return self.notation.operation(ADD.name, [whole, self.term(term, numbers)])

    def piece(self, node: Formula, numbers: bool) -> Piece:
        """A formula in names, or with its numbers put in."""
        if isinstance(node, Lit):
            return self.notation.number(node.value)
        if isinstance(node, Leaf):
            if numbers or isinstance(node.atom, Lit):
                return self.notation.number(node.number)
            return self.label(node.atom, node.kind), ATOM
        parts = [self.piece(a, numbers) for a in node.args]
        return self.notation.operation(node.op.spelled or node.op.name, parts)

    def label(self, atom: Atom, kind: str = VALUE) -> str:
        assert isinstance(atom, Var)
        found = self.spelled.get((atom, kind))
        if found is None:
            found = self.spelled[atom, kind] = self.notation.label(self.names[atom], kind)
        return found

    def number(self, x: float) -> str:
        return self.notation.number(x)[0]


def without_minus(node: Formula) -> Formula | None:
    """A formula that begins with a minus, without it; None for any other."""
    if not isinstance(node, Apply) or node.op not in (NEG, MUL, DIV):
        return None
    if node.op is NEG:
        return node.args[0]
    first = without_minus(node.args[0])
    return None if first is None else Apply(node.op, (first, *node.args[1:]))


# ---------------------------------------------------------------- aligned text

WIDEST = 60
"""Characters of a column beyond which a longer entry no longer widens it."""


def text(table: TraceTable, columns: int | None = None) -> Iterator[str]:
    """Lines of aligned columns, a rule between the sections. In so many columns of a terminal the second side goes below the
    first where there is no room beside it."""
    both = [tuple(zip(*section, strict=True)) or ((), ()) for section in table.sections]
    sides = [TraceSide(title, [section[i] for section in both]) for i, title in enumerate(table.titles) if title]
    if columns is not None and sum(side.widest for side in sides) + 3 * len(sides[1:]) > columns:
        for i, side in enumerate(sides):
            yield "\n" * bool(i) + "".join(f"{line}\n" for line in side.narrow(columns))
        yield from (f"{line}\n" for line in folded(table.legend, columns) if line)
        return
    yield "".join(joined([padded(side.title, side.width) for side in sides], " │ "))
    for k in range(len(both)):
        if table.sections[k]:
            yield joined(["─" * side.width for side in sides], "─┼─")
            for cells in zip(*(side.sections[k] for side in sides), strict=True):
                lines = [padded(aligned(cell, side.parts), side.width) for cell, side in zip(cells, sides, strict=True)]
                yield joined(lines, " │ ")
    if table.legend:
        yield joined(["─" * side.width for side in sides], "─┴─") + f"{table.legend}\n"


def joined(sides: Sequence[str], bar: str) -> str:
    return bar.join(sides).rstrip() + "\n"


class TraceSide:
    """One side of a table: its title, its cells by section, the widths of their parts, and its own."""

    def __init__(self, title: str, sections: Sequence[Sequence[Cell]]) -> None:
        self.title, self.sections = title, sections
        cells = [cell for section in sections for cell in section]
        self.parts = [cell_width(parts) for parts in zip(*cells, strict=True)] if cells else [0] * 4
        self.width = max(width(title), sum(self.parts) + 3 * sum(map(bool, self.parts[1:])))
        self.widest = max([self.width, *(width(aligned(cell, self.parts).rstrip()) for cell in cells)])

    def narrow(self, columns: int) -> Iterator[str]:
        """The side alone; where it does not fit either, a line for each part of a cell."""
        yield self.title
        for section in filter(any, self.sections):
            yield "─" * min(columns, self.width)
            for cell in filter(any, section):
                fits = self.widest <= columns
                yield from [aligned(cell, self.parts).rstrip()] if fits else below_each_other(cell, columns)


def below_each_other(cell: Cell, columns: int) -> Iterator[str]:
    """The parts of a cell: v₁ = log(x), and what it is equal to in the lines below."""
    first, *others = filter(None, cell[1:])
    yield from folded(f"{cell.name} = {first}", columns)
    for part in others:
        yield from folded(f"{' ' * width(cell.name)} = {part}", columns)


def cell_width(parts: Sequence[str]) -> int:
    return max((w for p in parts if (w := width(p)) <= WIDEST), default=WIDEST)


def aligned(cell: Cell, columns: Sequence[int]) -> str:
    """The parts of a cell in columns, with = in front of those that are there."""
    found = padded(cell.name, columns[0])
    for part, size in zip(cell[1:], columns[1:], strict=True):
        if size:
            found += f" {'=' if part else ' '} {padded(part, size)}"
    return found


# ---------------------------------------------------------------- Markdown and LaTeX

def markdown(table: TraceTable) -> Iterator[str]:
    """A table of GitHub-flavoured Markdown."""
    columns = 2 if table.titles[1] else 1
    rows = ([" = ".join(filter(None, cell)) for cell in row[:columns]] for section in table.sections for row in section)
    yield from markdown_table(table.titles[:columns], rows)
    if table.legend:
        yield f"\n{table.legend}\n"


def latex(table: TraceTable) -> Iterator[str]:
    """A tabular with booktabs rules; its formulas need amsmath."""
    columns = 2 if table.titles[1] else 1
    layout = r"@{\qquad}".join([r"l@{\;}l@{\;}l@{\;}l"] * columns)
    head = [rf"\multicolumn{{4}}{{l}}{{{title}}}" for title in table.titles[:columns]]
    sections = [[latex_cells(row[:columns]) for row in section] for section in table.sections]
    yield from booktabs(f"@{{}}{layout}@{{}}", head, sections)
    if table.legend:
        yield f"% names: {table.legend}\n"


def latex_cells(row: Sequence[Cell]) -> list[str]:
    """The parts of a row's cells, each in a column of its own."""
    cells = [f"${part}$" if i == 0 else f"$= {part}$" if part else "" for cell in row for i, part in enumerate(cell)]
    return ["" if c == "$$" else c for c in cells]


# ---------------------------------------------------------------- notebooks

def in_html(table: TraceTable) -> Iterator[str]:
    """A table of HTML, four columns for the primal trace and four for the other; of a long one its first rows."""
    from adcli.output import html
    columns = 2 if table.titles[1] else 1
    sections = [[html_cells(row[:columns]) for row in section[:MOST_ROWS]] for section in table.sections]
    yield html.table("Evaluation table", table.titles[:columns], sections, "<" * 4 * columns, 4)
    if more := sum(max(0, len(section) - MOST_ROWS) for section in table.sections):
        yield html.paragraph(f"… {more:,} more rows")
    if table.legend:
        yield html.paragraph(table.legend)


def html_cells(row: Sequence[Cell]) -> list[str]:
    """The parts of a row's cells, each in a column of its own."""
    return [part and ("= " if i else "") + part for cell in row for i, part in enumerate(cell)]


RENDERERS = {"text": text, "markdown": markdown, "latex": latex, "html": in_html}


# ---------------------------------------------------------------- JSON

class TraceObject:
    """The JSON object of one point; `written` is how it has a number."""

    def __init__(self, writer: Writer, written: Callable[[float], object]) -> None:
        self.writer, self.trace, self.written = writer, writer.trace, written

    def record(self, at: Mapping[str, float], seeds: Mapping[str, Mapping[str, float]], level: int) -> dict[str, Any]:
        """The object. Terms are in the order of their sum, steps in the order of the reverse sweep."""
        program = self.trace.program
        return {**{kind: {name: self.number(x) for name, x in numbers.items()} for kind, numbers in {"at": at, **seeds}.items()},
                "inputs": [{"name": self.name(p.var), "input": p.name, **self.numbers(p.var)} for p in program.params],
                "lines": [record for line in self.trace.lines for record in self.lines(line)],
                "outputs": [{"output": r.name, "of": self.name(r.atom), **self.numbers(r.atom)} for r in program.results],
                "status": LEVELS[level]}

    def lines(self, line: TracedLine) -> list[dict[str, object]]:
        e = line.equation
        place = place_of(self.trace.program.source, e.span)
        return [{"name": self.name(out), **place, "op": e.op.spelled or e.op.name, "operands": [self.name(a) for a in e.args],
                 "formula": self.writer.primal(line, out).formula, **self.numbers(out),
                 **({"terms": [self.term(t) for t in line.terms]} if line.terms else {}),
                 **({"steps": [self.step(s) for s in line.steps]} if line.steps and i == 0 else {})}
                for i, out in enumerate(e.outs)]

    def numbers(self, atom: Atom) -> dict[str, object]:
        """The value of an atom, and what derivatives it has."""
        value = atom.value if isinstance(atom, Lit) else self.trace.values[atom]
        found: dict[str, Derivative | None] = {
            TANGENT: self.trace.tangents.get(atom), ADJOINT: self.trace.adjoints.get(atom)}
        return {"value": self.number(value), **{kind: self.number(d.value) for kind, d in found.items() if d is not None}}

    def term(self, term: TracedTerm) -> dict[str, object]:
        """One contribution; the reason where it is zero by construction."""
        absent = {"absent": term.derivative.absent} if term.derivative.absent else {}
        return {"operand": self.name(term.operand), "formula": self.writer.notation.polished(self.writer.term(term, False)[0]),
                "value": self.number(term.derivative.value), **absent}

    def step(self, step: AdjointStep) -> dict[str, object]:
        return {**self.term(step.term), "adjoint": self.number(step.after.value)}

    def name(self, atom: Atom) -> object:
        return self.writer.label(atom) if isinstance(atom, Var) else self.number(atom.value)

    def number(self, x: Any) -> object:
        return x if isinstance(x, bool) else self.written(x)


def place_of(source: Source | None, span: Span | None) -> dict[str, object]:
    """The place in a text of what a record is about, as far as it is known."""
    return {"line": source.where(span)[1], "span": list(source.shown(span)[1])} if source and span else {}


# ---------------------------------------------------------------- labels

def labels(program: Program, own: bool) -> dict[Var, Label]:
    """The label of every value: its `own` name, or v₁, v₂, … without one. As in the books, else, the n inputs are v₁₋ₙ … v₀,
    and a value that has the name of the output it is is numbered too."""
    table = name_table(program)
    if own:
        known = names.labels(program, table)
        return {v: known[name] for v, name in table.items()}
    letter = free_letter(set(table.values()) | {r.name for r in program.results} | {p.name for p in program.params})
    found: dict[Var, Label] = {}
    for i, p in enumerate(program.params, 1 - len(program.params)):
        found[p.var] = Label(letter, i)
    outputs = {(r.atom, r.name) for r in program.results}
    numbers = count(1)
    for e in program.equations:
        for o in e.outs:
            named = not o.temp and o.name is not None and (o, table[o]) not in outputs
            found[o] = Label(table[o]) if named else Label(letter, next(numbers))
    return found


def element_labels(trace: Trace, element_of: Mapping[Atom, str], inputs: Collection[str]) -> dict[Var, Label]:
    """Labels of the values of elements: a name of their own, v₁, v₂, … on the way to one, and of other elements what has no
    name is told by the element."""
    letter, numbers = free_letter(inputs), count(1)
    found = {x: label_of(x.name or element_of[x]) for x in trace.values if not x.temp}
    found.update({o: Label(letter, next(numbers)) for line in trace.lines for o in line.equation.outs if o.temp})
    for a in (a for line in trace.lines for a in line.equation.args):
        if isinstance(a, Var) and a not in found:
            found[a] = label_of(element_of[a])
    return found


def no_element(program: Program, wanted: str, computed: Mapping[str, tuple[int, ...]]) -> AdError:
    """The fault that no operation computes an element, with what there is."""
    name = wanted.replace(" ", "").partition("(")[0]
    if name in computed:
        shape = computed[name]
        last = f"{name}({', '.join(str(n - 1) for n in shape)})" if shape else name
        return AdError(f"{name} has no element {wanted}", help=f"the last one is {last}" if all(shape) else "it has none")
    if any(p.name == name for p in program.params):
        return AdError(f"{name} is an input: no operation computes {wanted}", help=f"computed are {', '.join(computed)}")
    return AdError(f"no statement computes '{name}'", help=nearest(name, computed) or f"computed are {', '.join(computed)}")
