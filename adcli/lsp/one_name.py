"""Facts about one name of a text: its value as a program, its shape, its bounds, and the derivatives by it as text.

The value that a name has at a place is the output of the text cut behind the assignment that gave it. In the derivatives by it
the name is an input: behind that assignment stands another one, from an input of its own. Both are ordinary programs, so what
holds of values and derivatives elsewhere holds here.

A text that an editor has open, as it was at one moment, with everything that is known of it; worked out when first asked.
"""
from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lsprotocol.types import Position, Range

from adcli.lang.analyse.enclosure import FloatBounds, enclose
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Param, Program, Var, has_tensors, shape_of
from adcli.lang.ir.affine import shape_text, text
from adcli.lang.ir.errors import AdError, Note, Source
from adcli.lang.ir.names import Names
from adcli.lang.lower.frontend import lower, read_through
from adcli.lang.lower.library import prelude
from adcli.lang.lower.program import is_function
from adcli.lang.operations.activity import active_values, with_outputs
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import prune
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.scan import normal
from adcli.lang.tree.nodes import (
    Assign,
    Broken,
    Call,
    Declare,
    DeclareOutputs,
    Def,
    Item,
    Statement,
    TensorAssign,
    Token,
    Tree,
    Typed,
)
from adcli.lsp.scopes import Name, ScopedNames

MOST_EQUATIONS = 1000
"""Equations of a program whose derivatives are written as text."""
MOST_BOUNDED = 100
"""Equations of a program whose bounds are looked for."""
BOUND_OPERATIONS = 5000
"""Operations that bounds may take, some hundredths of a second."""
MOST_OUTPUTS = 4
"""Outputs whose derivatives are written."""


class NamedBounds(NamedTuple):
    """Ends of all values that a name can have where its inputs are in their ranges, whether it has a value everywhere there, and
    what the inputs were."""

    ends: FloatBounds
    everywhere: bool
    inputs: tuple[Param, ...]


# ---------------------------------------------------------------- programs about a name

class Cut:
    """The statements among which a name gets its value, cut behind the one that gave it: those of the text, or of the one
    function that it is."""

    def __init__(self, tree: Tree, at: Name) -> None:
        self.tree, self.made = tree, at.reads
        self.whole = tree.statements[0] if is_function(tree) else None
        assert self.whole is None or isinstance(self.whole, Def)
        readable = not any(isinstance(s, Broken) for s in tree.statements)
        self.known = at.reads is not None and at.reads.defines and readable and at.function is self.whole
        self.statements = self.whole.body if isinstance(self.whole, Def) else tree.statements
        start = at.reads.start if at.reads else -1
        self.behind = next((i + 1 for i, s in enumerate(self.statements) if s.start <= start < s.end), 0)

    @property
    def gives(self) -> Assign | TensorAssign | None:
        """The assignment that the name has its value from; None for an input."""
        s = self.statements[self.behind - 1] if self.behind and self.known else None
        return s if isinstance(s, Assign | TensorAssign) else None

    def tree_of(self, statements: Sequence[Statement], params: Sequence[Token] = (), result: Token | None = None) -> Tree:
        """The text with other statements, further parameters, and one result if given."""
        if not isinstance(self.whole, Def):
            kept = [s for s in statements if result is None or not isinstance(s, DeclareOutputs)]
            end = [DeclareOutputs([result], result.start, result.end)] if result is not None else []
            return replace(self.tree, statements=[*kept, *end])
        d = self.whole
        declared = next((t for t in d.results if result is not None and t.text == result.text), result)
        results = d.results if declared is None else [declared]
        made = Def(d.name, [*d.params, *params], results, list(statements), None, d.brace, d.start, d.end)
        return replace(self.tree, statements=[made])


def lowered(tree: Tree) -> Program | None:
    """The program of a tree that was put together; None where it is wrong, as the text is then."""
    try:
        return lower(tree, prelude)
    except AdError:
        return None


def value_program(tree: Tree, at: Name) -> Program | None:
    """The program whose one output is the value that a name has at a place. None for an input, where the text is wrong, and
    inside of a function that is not the whole text."""
    cut = Cut(tree, at)
    if cut.gives is None or cut.made is None:
        return None
    name = Token("NAME", at.name, cut.made.start, cut.made.end)
    program = lowered(cut.tree_of(cut.statements[:cut.behind], result=name))
    return None if program is None else prune(program)


def program_by(tree: Tree, program: Program, at: Name, value: Program | None) -> tuple[Program, str] | None:
    """The program with the value that a name has at a place for an input, and that input; `value` is `value_program`."""
    name, cut = at.name, Cut(tree, at)
    if any(p.name == name for p in program.params) and value is None:
        return program, name
    if cut.gives is None or value is None:
        return None
    made = cut.gives
    own = Names(tree.names).fresh(name, 1)
    shape = shape_of(value.results[0].atom)
    input_token = typed(own, shape)
    at_start = made.start, made.start
    copy = Assign([Token("NAME", name, *at_start)], [Token("NAME", own, *at_start)], *at_start)
    declaration = [Declare("input", [Item(input_token)], *at_start)] if shape and cut.whole is None else []
    statements = [*cut.statements[:cut.behind], *declaration, copy, *cut.statements[cut.behind:]]
    found = lowered(cut.tree_of(statements, params=[input_token]))
    if found is None:
        return None
    taken = {*(p.name for p in found.params), *(r.name for r in found.results)}
    if name in taken or not any(p.name == own for p in found.params):
        return found, own
    params = tuple(replace(p, name=name) if p.name == own else p for p in found.params)
    return replace(found, params=params), name


def typed(name: str, shape: Sequence[object]) -> Token:
    """A name, declared with a shape where it has one."""
    if not shape:
        return Token("NAME", name, 0, 0)
    declaration = parse_tree(normal(f"input {name}{shape_text(shape)}", "")).statements[0]  # type: ignore[arg-type]
    assert isinstance(declaration, Declare) and isinstance(declaration.items[0].name, Typed)
    return declaration.items[0].name


# ---------------------------------------------------------------- what is told of it

def partials(program: Program, names: Sequence[str]) -> str:
    """The derivatives of the outputs by inputs, in the language, without declarations: first of all numbers together, then for
    each tensor the adjoints. Nothing of an output that does not depend on them, or that is one of them; empty where that would
    be too long."""
    inputs = {program.param(name).var for name in names}
    active = active_values(program, names)
    outputs = [r for r in program.results if r.atom in active and r.atom not in inputs][:MOST_OUTPUTS]
    numbers = [r.name for r in outputs if not shape_of(r.atom)]
    one = prune(with_outputs(program, [r.name for r in outputs]))
    if len(one.equations) > MOST_EQUATIONS:
        return ""
    made = [gradient(one, names, numbers)] if numbers else []
    kept = [replace(made[0], results=tuple(r for r in made[0].results if r.wrt))] if made else []
    for r in outputs:
        if shape_of(r.atom):
            swept = adjoint_program(with_outputs(one, [r.name]), names)
            kept.append(replace(swept, results=swept.results[1:]))
    return "\n".join(statements(p) for p in kept)


def statements(program: Program) -> str:
    """The text of a program without what declares its interface."""
    lines = print_program(prune(program)).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("input ", "param ", "output "))).strip()


def function_program(tree: Tree, definition: Def) -> Program | None:
    """A function of numbers as a program: its parameters are the inputs, its results the outputs. None of one of tensors."""
    if definition.tensors:
        return None
    at = definition.name.end
    params = [Token("NAME", t.text, at, at) for t in definition.params]
    results = [Token("NAME", t.text, at, at) for t in definition.results] or [Token("NAME", definition.name.text, at, at)]
    call = Call(definition.name.text, list(params), at, at)
    above = [s for s in tree.statements if isinstance(s, Def)]
    return lowered(replace(tree, statements=[*above, Assign(list(results), [call], at, at)]))


def bounds(value: Program) -> NamedBounds | None:
    """Proved bounds of the one output of a program of scalars over the ranges (else the defaults) of its inputs; None where an
    input has neither, where that takes long, and without the package that proves them."""
    used = {a for e in value.equations for a in e.args} | {r.atom for r in value.results}
    inputs = tuple(p for p in value.params if p.var in used)
    box: dict[str, FloatBounds] = {}
    for p in value.params:
        low, high = (p.low, p.high) if p.low is not None and p.high is not None else (p.default, p.default)
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
            if p in inputs:
                return None
            low = high = 0.0
        box[p.name] = low, high
    if has_tensors(value) or len(value.equations) > MOST_BOUNDED:
        return None
    try:
        found = enclose(value, box, BOUND_OPERATIONS)
    except AdError:
        return None
    if found.undefined[0] == "everywhere" or math.isnan(found.bounds[0][0]):
        return None
    return NamedBounds(found.bounds[0], found.decorations[0] != "trv", inputs)


def index_range(program: Program, start: int, name: str) -> tuple[str, str] | None:
    """Half-open range of an index of the statement that starts at a place."""
    for e in program.equations:
        if e.span is not None and e.span[0] == start and isinstance(e.op, Comprehension):
            found = next((r for r in e.op.ranges if r.index.name == name), None)
            if found is not None:
                return text(found.low), text(found.high)
    return None


def shape_at(value: Program) -> str:
    """The shape of the one output of a program, as (M, N); empty for a number."""
    atom = value.results[0].atom
    return shape_text(atom.shape) if isinstance(atom, Var) and atom.shape else ""


# ---------------------------------------------------------------- open text

class OpenText:
    """One version of a text. Nothing in it changes; the next version is another object."""

    def __init__(self, uri: str, text: str, version: int | None = None, encoding: str = "utf-16") -> None:
        self.uri, self.text, self.version = uri, text, version
        self.source: Source = normal(text, unquote(urlsplit(uri).path).rpartition("/")[2] or uri)
        self.places = Positions(text, self.source, encoding)

    @cached_property
    def _read(self) -> tuple[Tree, Program | None, AdError | None]:
        return read_through(self.source)

    @property
    def tree(self) -> Tree:
        return self._read[0]

    @property
    def program(self) -> Program | None:
        """The program; None where the text is wrong."""
        return self._read[1]

    @property
    def faults(self) -> Sequence[AdError]:
        error = self._read[2]
        return () if error is None else (error, *error.more)

    @property
    def notes(self) -> Sequence[Note]:
        return self.program.notes if self.program is not None else ()

    @cached_property
    def names(self) -> ScopedNames:
        return ScopedNames(self.tree)

    def name_at(self, offset: int) -> Name | None:
        return self.names.at(offset)

    def comment_above(self, offset: int) -> str:
        """The comment that stands over the line of a place, or behind it on the line."""
        line = self.source.place(offset)[0]
        by_line = {self.source.place(c.start)[0]: c for c in self.tree.comments}
        beside, found = by_line.get(line), []
        while (comment := by_line.get(line := line - 1)) is not None and self.source.line(line).lstrip().startswith("#"):
            found.append(comment)
        kept = [beside] if beside is not None and not found else found[::-1]
        return "\n".join(c.text.lstrip("#").strip() for c in kept)


LINE_END = re.compile(r"\r\n|\r|\n")
UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}
"""Length of a text in each encoding that an editor may count in."""


class Positions:
    """The places of one text: `text` as the editor has it, `source` as the program is read from it."""

    def __init__(self, text: str, source: Source, encoding: str = "utf-16") -> None:
        self.source, self.units = source, UNITS[encoding]
        self.lines = LINE_END.split(text)
        self.ends = "\r\n" if "\r\n" in text else "\n"

    def offset(self, position: Position) -> int:
        """The offset in the program of a place; the nearest one, where there is no such place."""
        if position.line >= len(self.lines):
            return len(self.source.text)
        line = self.lines[max(0, position.line)]
        column = len(normal(line[:self.characters(line, position.character)], "").text)
        return self.source.start_of(position.line + 1) + column

    def position(self, offset: int) -> Position:
        """The place of an offset in the program."""
        number, column = self.source.place(max(0, min(offset, len(self.source.text))))
        characters = column - 1
        line = self.lines[number - 1]
        if line.isascii():   # most lines: this is known at once, however long they are
            return Position(number - 1, characters)
        if line != self.source.line(number):   # letters that were composed, or a byte order mark
            characters = max((c for c in range(len(line) + 1) if len(normal(line[:c], "").text) <= characters), default=0)
        return Position(number - 1, self.units(line[:characters]))

    def characters(self, line: str, units: int) -> int:
        """Number of characters of a line in so many units; a unit inside of a character is at its start."""
        if line.isascii():
            return max(0, min(units, len(line)))
        return max(0, bisect_right(range(len(line) + 1), units, key=lambda count: self.units(line[:count])) - 1)

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def written(self, text: str) -> str:
        """A piece of the program with the line ends of the editor's text."""
        return text if self.ends == "\n" else text.replace("\n", self.ends)
