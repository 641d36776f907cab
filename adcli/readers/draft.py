"""A program in the making: lines about values and elements that have no names yet, each with its place in the text that is read.

A reader gives every value a `Variable` of its own, however often the source assigns a name; `written` chooses the names.
Expressions are those of the source tree, with `Ref` and `Whole` as leaves. Subscripts are affine, an index is known by identity.

In its text lines whose value nobody reads are left out. A name that the source assigns again stays one name where the earlier
value is not read any more, and is numbered elsewhere; indices are i, j, k, … in each statement.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adcli.lang.ir.affine import Affine, Floor, Index, Modulo, Product, affine, substituted
from adcli.lang.ir.errors import Source, Span
from adcli.lang.ir.names import RESERVED, Names, look
from adcli.lang.printing.format import TreeWriter
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Clause,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Item,
    Node,
    Op,
    Statement,
    TensorAssign,
    Token,
    Typed,
)
from adcli.lang.tree.notation import TENSOR_CALLS, constant
from adcli.readers.origin import TextOrigin, places


class Variable:
    """A value with a name: `hint` is what the source calls it. `shape` is () for a number. An input keeps its name. A `whole` one
    may be read in subscripts; `value` is that of a number."""

    __slots__ = ("hint", "input", "name", "shape", "value", "whole")

    def __init__(self, hint: str, shape: Sequence[Affine] = (), input: bool = False, whole: bool = False) -> None:
        self.hint, self.shape, self.input, self.name, self.whole = hint, tuple(shape), input, hint, whole
        self.value: Node | None = None


class Ref(Token):
    """A variable, or an element of one; a whole tensor has subscripts None."""

    __slots__ = ("subscripts", "variable")

    def __init__(self, variable: Variable, span: Span, subscripts: Sequence[Affine] | None = None) -> None:
        super().__init__("NAME", variable.hint, *span)
        self.variable, self.subscripts = variable, None if subscripts is None else tuple(subscripts)


class IndexEntry(Index):
    """A whole number that is read from a variable, as an atom of subscripts."""

    __slots__ = ("ref",)

    def __init__(self, ref: Ref) -> None:
        super().__init__(ref.text)
        self.ref = ref


def put_in(x: Affine, by: Mapping[Index | str, Affine]) -> Affine:
    """A sum with some of its indices replaced, those in its entries too."""
    all_of = dict(by)
    for e in x.indices():
        if isinstance(e, IndexEntry):
            all_of[e] = affine(IndexEntry(Ref(e.ref.variable, e.ref.span, [put_in(y, by) for y in e.ref.subscripts or ()])))
    return substituted(x, all_of)


def entries(x: Affine) -> Iterator[Ref]:
    """What a sum reads of variables."""
    for e in x.indices():
        if isinstance(e, IndexEntry):
            yield e.ref
            for y in e.ref.subscripts or ():
                yield from entries(y)


class Whole(Token):
    """A sum of indices and sizes as a number."""

    __slots__ = ("value",)

    def __init__(self, value: Affine, span: Span) -> None:
        super().__init__("NAME", "", *span)
        self.value = value


Range = tuple[Affine, Affine]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftLine:
    """An assignment. `subscripts` are those of the one target, None for a number or a whole
    tensor; `ranges` are those of its indices."""

    targets: list[Variable]
    values: list[Node]
    span: Span
    subscripts: tuple[Affine, ...] | None = None
    symbol: str = "="
    ranges: dict[Index, Range] = field(default_factory=dict)

    @property
    def lines(self) -> list[DraftLine]:
        return [self]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DraftLoop:
    """A loop over steps, `down` from the last one."""

    step: Index
    low: Affine
    high: Affine
    body: list[DraftLine | DraftLoop]
    span: Span
    down: bool = False

    @property
    def lines(self) -> list[DraftLine]:
        return flat(self.body)


def flat(lines: Iterable[DraftLine | DraftLoop]) -> list[DraftLine]:
    """The lines with those of loops."""
    return [x for each in lines for x in each.lines]


class DraftFunction(NamedTuple):
    """A function of numbers: its value, or lines and the results among their targets."""

    name: str
    params: list[Variable]
    lines: list[DraftLine]
    results: list[Variable]
    value: Node | None
    span: Span


class DraftInput(NamedTuple):
    """An input with its default; a fixed one has its only value as its range."""

    variable: Variable
    span: Span
    default: Node | None = None
    param: bool = False
    fixed: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Draft:
    """A program: `outputs` by name, in their order; `sizes` are the names of those in extents."""

    inputs: list[DraftInput] = field(default_factory=list)
    functions: list[DraftFunction] = field(default_factory=list)
    lines: list[DraftLine | DraftLoop] = field(default_factory=list)
    outputs: list[tuple[str, Variable]] = field(default_factory=list)
    sizes: dict[str, str] = field(default_factory=dict)


def number(value: float, span: Span) -> Node:
    """A constant."""
    text, _ = constant(float(value))
    if text.startswith("-"):
        return Op("neg", [number(-value, span)], *span)
    return Token("NAME" if text in ("inf", "nan") else "NUMBER", text, *span)


def sums(leaf: Token) -> Sequence[Affine]:
    """The sums of indices and sizes in a leaf."""
    return leaf.subscripts or () if isinstance(leaf, Ref) else [leaf.value] if isinstance(leaf, Whole) else ()


def leaves(*roots: Node) -> Iterator[Token]:
    """The leaves of expressions."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, Op | Call):
            stack += node.args
        elif isinstance(node, Token):
            yield node
            for x in sums(node):
                yield from entries(x)


def read_in(line: DraftLine | DraftLoop) -> set[Variable]:
    """The variables that a line reads."""
    return {t.variable for each in line.lines for t in (
        *leaves(*each.values), *(r for x in each.subscripts or () for r in entries(x))) if isinstance(t, Ref)}


# ---------------------------------------------------------------- as a text

WORDS = RESERVED - {"pi", "π", "where"}
"""Words that are no names of inputs and outputs."""
LETTERS = "ijklmnpqr"
INT32 = Token("NAME", "int32", 0, 0)


def written(draft: Draft, source: Source, name: str, function: Span, comments: Sequence[tuple[int, str]],
            head: Sequence[str]) -> Source:
    """The text of a program that was made of a `function` in a source. `comments` have their lines there; `head` stands first."""
    draft.lines = alive(draft)
    name_all(draft)
    statements = DraftTree(draft).made()
    writer = TreeWriter("infix", {f.name for f in draft.functions} | {v.name for v in variables(draft) if v.shape})
    lines = [f"# {line}".rstrip() for line in head]
    left = list(comments)
    for s in statements:
        here, behind = source.place(s.start)[0], source.place(max(s.start, s.end - 1))[0]
        if function[0] <= s.start < function[1] and not isinstance(s, Declare | DeclareOutputs | Def):
            while left and left[0][0] < here:
                lines.append(left.pop(0)[1])
        each = [line.indent + line.text for line in writer.statement(s, "")]
        if left and here <= left[0][0] <= behind:
            each[0] += f"  {left.pop(0)[1]}"
        lines += each
    lines[-1:-1] = [text for _, text in left]
    return Source(name, "\n".join([*lines, ""]), origin=TextOrigin(source, list(places(statements)), function))


# ---------------------------------------------------------------- what is read, and names

def alive(draft: Draft) -> list[DraftLine | DraftLoop]:
    """The lines that an output depends on."""
    wanted = {v for _, v in draft.outputs}
    kept: list[DraftLine | DraftLoop] = []
    for line in reversed(draft.lines):
        if any(t in wanted for each in line.lines for t in each.targets):
            if isinstance(line, DraftLine) and covers(line):
                wanted -= {*line.targets}
            wanted |= read_in(line)
            kept.append(line)
    return kept[::-1]


def covers(line: DraftLine) -> bool:
    """True for a statement that assigns all elements of its target, whatever these were."""
    at, shape = line.subscripts or (), line.targets[0].shape
    own = len({x.index for x in at}) == len(at) == len(shape)
    return own and line.symbol == "=" and all(x.index is not None and line.ranges.get(x.index) == (Affine(), extent)
                                              for x, extent in zip(at, shape, strict=True))


def variables(draft: Draft) -> list[Variable]:
    """All variables in the order of their definition."""
    found = [i.variable for i in draft.inputs]
    return list(dict.fromkeys([*found, *(t for line in flat(draft.lines) for t in line.targets)]))


def name_all(draft: Draft) -> None:
    """Give every variable its name: inputs and outputs theirs, unless that is a word of the language or of a function that the
    program calls and that a value would hide."""
    called = {call for line in flat(draft.lines) for call in calls(*line.values)}

    def hidden(name: str, v: Variable) -> bool:
        return name in WORDS or (name in called and (bool(v.shape) or name in TENSOR_CALLS))
    for i in draft.inputs:
        i.variable.name += "_" * hidden(i.variable.name, i.variable)
    draft.outputs = [(name + "_" * hidden(name, v), v) for name, v in draft.outputs]
    first, last = lives(draft)
    names = Names([*(i.variable.name for i in draft.inputs), *(name for name, _ in draft.outputs), *draft.sizes.values()])
    holders: dict[str, list[Variable]] = {}
    for name, v in draft.outputs:
        v.name = name
        holders[name] = [v]
    given = {*(i.variable for i in draft.inputs), *(v for _, v in draft.outputs)}
    for v in (v for v in first if v not in given):
        v.hint = f"{v.hint or 't'}{'_' * hidden(v.hint, v)}"
        there = holders.get(v.hint, [])
        apart = all(not w.shape and (last.get(w, first[w]) <= first[v] or last.get(v, first[v]) <= first[w]) for w in there)
        free = there and apart and not v.shape
        v.name = v.hint if free else names.fresh(v.hint, 2 if look(v.hint) in names else None)
        holders.setdefault(v.name, []).append(v)
    for f in draft.functions:
        own = Names()
        for v in (*f.params, *(v for line in f.lines for v in line.targets)):
            v.name = own.fresh(v.hint)


def lives(draft: Draft) -> tuple[dict[Variable, int], dict[Variable, int]]:
    """The lines in which variables are assigned, and read for the last time."""
    last = {v: len(draft.lines) for _, v in draft.outputs}
    first = {i.variable: -1 for i in draft.inputs}
    for at, line in enumerate(draft.lines):
        for v in read_in(line):
            last[v] = max(last.get(v, at), at)
        for each in line.lines:
            for v in each.targets:
                first.setdefault(v, at)
    return first, last


def calls(*roots: Node) -> Iterator[str]:
    """The names of the functions that expressions call."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            yield node.name
        if isinstance(node, Op | Call):
            stack += node.args


# ---------------------------------------------------------------- the tree

class DraftTree:
    """The tree of a Draft whose variables have their names."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        taken = Names([v.name for v in variables(draft)])
        taken.taken |= set(map(look, draft.sizes.values()))
        self.letters = [c for c in LETTERS if c not in taken] + [taken.fresh("i", 1) for _ in range(9)]

    def made(self) -> list[Statement]:
        d = self.draft
        made: list[Statement] = [*self.declarations(), *map(self.function, d.functions)]
        for line in d.lines:
            made.append(self.loop(line, {}) if isinstance(line, DraftLoop) else self.line(line, {}))
        end = d.lines[-1].span if d.lines else (0, 0)
        return [*made, DeclareOutputs([Token("NAME", name, *end) for name, _ in d.outputs], *end)]

    def declarations(self) -> Iterator[Declare]:
        """A statement for the inputs that follow one another with the same keyword."""
        group: list[Item] = []
        for k, i in enumerate(self.draft.inputs):
            group.append(self.item(i))
            after = self.draft.inputs[k + 1] if k + 1 < len(self.draft.inputs) else None
            if after is None or after.param != i.param or i.param:
                yield Declare("param" if i.param else "input", group, group[0].name.start, group[-1].name.end)
                group = []

    def item(self, i: DraftInput) -> Item:
        v = i.variable
        names: dict[Index, str] = {}
        if v.shape:
            name: Token = Typed(Token("NAME", v.name, *i.span), INT32 if v.whole else None,
                                [self.affine(x, i.span, names) for x in v.shape], i.span[1])
        else:
            name = Token("NAME", v.name, *i.span)
        return Item(name, i.default, i.default if i.fixed else None, i.default if i.fixed else None)

    def function(self, f: DraftFunction) -> Def:
        tokens = [[Token("NAME", v.name, *f.span) for v in group] for group in (f.params, f.results)]
        name = Token("NAME", f.name, *f.span)
        value = None if f.value is None else self.node(f.value, {})
        return Def(name, tokens[0], tokens[1], [self.line(line, {}) for line in f.lines], value, f.span[0], *f.span)

    def loop(self, s: DraftLoop, around: dict[Index, str]) -> For:
        names = around | {s.step: next(c for c in self.letters if c not in around.values())}
        body = [self.loop(x, names) if isinstance(x, DraftLoop) else self.line(x, names) for x in s.body]
        bounds = [self.affine(x, s.span, names) for x in (s.low, s.high)]
        return For(Token("NAME", names[s.step], *s.span), bounds[0], bounds[1], s.down, None, False, body, s.span[0], *s.span)

    def line(self, line: DraftLine, around: dict[Index, str]) -> Statement:
        letters = (c for c in self.letters if c not in around.values())
        names = around | {i: next(letters) for i in line.ranges}
        targets = [Token("NAME", v.name, *line.span) for v in line.targets]
        if line.targets[0].whole:
            targets = [Typed(targets[0], INT32, None, line.span[1])]
        values = [self.node(v, names) for v in line.values]
        if line.targets[0].whole and isinstance(v := values[0], Op) and v.name == "select":   # which need be no whole number
            values = [Call("round", [v], *v.span)]
        if line.subscripts is None and line.symbol == "=" and not line.ranges and type(targets[0]) is Token:
            return Assign(targets, values, *line.span)
        subscripts = None if line.subscripts is None else [self.affine(x, line.span, names) for x in line.subscripts]
        clauses = [Clause("range", Token("NAME", names[i], *line.span), [self.affine(x, line.span, names) for x in bounds],
                          *line.span)
                   for i, bounds in line.ranges.items() if not inferred(line, i)]
        return TensorAssign(targets[0], subscripts, line.symbol, values[0], None, clauses, *line.span)

    def node(self, node: Node, names: dict[Index, str]) -> Node:
        if isinstance(node, Ref):
            token = Token("NAME", node.variable.name, node.start, node.end)
            if node.subscripts is None:
                return token
            return Call(token.text, [self.affine(x, node.span, names) for x in node.subscripts], node.start,
                        node.end)
        if isinstance(node, Whole):
            return as_value(self.affine(node.value, node.span, names))
        if isinstance(node, Op | Call):
            return type(node)(node.name, [self.node(a, names) for a in node.args], node.start, node.end)
        return node

    def affine(self, x: Affine, span: Span, names: dict[Index, str]) -> Node:
        """A sum as the language writes it, indices first and a subtraction for what is taken away."""
        found: Node | None = None
        terms = [*sorted(x.terms, key=lambda t: (t[1] < 0, names.get(t[0], "") if isinstance(t[0], Index) else "~")),
                 *([(None, x.constant)] if x.constant else [])]
        for atom, c in terms:
            factor = self.factor(atom, abs(c), span, names)
            if found is None:
                found = Op("neg", [factor], *span) if c < 0 else factor
            else:
                found = Op("sub" if c < 0 else "add", [found, factor], *span)
        return found or Token("NUMBER", "0", *span)

    def factor(self, atom: Any, c: int, span: Span, names: dict[Index, str]) -> Node:
        count = Token("NUMBER", str(c), *span)
        if atom is None:
            return count
        if isinstance(atom, Floor):
            whole = self.affine(atom.whole, span, names)
            inner: Node = Call("floor", [Op("div", [whole, self.affine(atom.divisor, span, names)], *span)], *span)
        elif isinstance(atom, IndexEntry):
            inner = self.node(atom.ref, names)
        elif isinstance(atom, Product):
            inner = Op("mul", [self.affine(atom.left, span, names), self.affine(atom.right, span, names)], *span)
        elif isinstance(atom, Modulo):
            inner = Op("rem", [self.affine(atom.whole, span, names), self.affine(atom.divisor, span, names)], *span)
        else:
            inner = Token("NAME", names[atom] if isinstance(atom, Index) else self.draft.sizes.get(str(atom), str(atom)), *span)
        return inner if c == 1 else Op("mul", [count, inner], *span)


def as_value(node: Node) -> Node:
    """A sum of indices and sizes outside of subscripts, where a remainder is a call."""
    if not isinstance(node, Op):
        return node
    args = [as_value(a) for a in node.args]
    return Call("mod", args, *node.span) if node.name == "rem" else Op(node.name, args, *node.span)


def inferred(line: DraftLine, i: Index) -> bool:
    """True if the language finds the range of an index by itself: it stands alone as a subscript, of extents that are the range,
    and in no other subscript."""
    low, high = line.ranges[i]
    if high.indices():   # a range that differs from row to row
        return False
    found = Counter[bool]()
    for t in leaves(*line.values):
        if isinstance(t, Ref) and t.subscripts is not None:
            for x, extent in zip(t.subscripts, t.variable.shape, strict=False):   # of an operand, the leading ones
                if i in x.indices():
                    found[x.index is i and extent == high and low == Affine()] += 1
    return found[True] > 0 and not found[False]
