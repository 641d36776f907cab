"""Definitions of the names of a text, and the one that each use refers to, by the rules of scope that lowering has.

Values and functions are two name spaces, a function sees nothing of the program's values, and indices, with the names that
`where` gives, end with their statement. A name may be assigned again: a use refers to the latest assignment above it. Only
definitions are collected; a use is resolved when it is asked for.
"""
from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from adcli.lang.ir.names import RESERVED
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.nodes import (
    ELEMENTS,
    INTEGERS,
    Assign,
    Broken,
    Call,
    Clause,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Objective,
    Statement,
    SubjectTo,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    Typed,
    bare,
    names_of,
    postorder,
    within,
)

INPUT, VALUE, PARAMETER, SIZE, INDEX, GIVEN, FUNCTION, KNOWN, CONSTANT = (
    "input", "value", "parameter", "size", "index", "value of this statement", "function", "function of the language", "constant")
"""Kinds of names. KNOWN and CONSTANT are defined by the language and not by the text."""
DECLARED = frozenset((INPUT, PARAMETER, SIZE))
TYPES = frozenset((*ELEMENTS, *INTEGERS))


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A name at `start`..`end` of the text. `function` is the definition that it is inside of, or that it names; `statement` the
    innermost statement around it. `defines`: it gets a value here; else `definition` is where the value comes from."""

    name: str
    start: int
    end: int
    kind: str
    function: Def | None
    statement: Statement | None
    defines: bool = False
    subscripted: bool = False
    definition: Name | None = None

    @property
    def reads(self) -> Name | None:
        """Definition of the value that the name has here: itself where it defines."""
        return self if self.defines else self.definition


class ScopedNames:
    """The names of one text."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.outer = tree, [function_read(tree, s) for s in tree.statements]
        self.functions = {s.name.text: s for s in reversed(self.outer) if isinstance(s, Def)}
        self.definitions: dict[str, list[Name]] = defaultdict(list)
        for s in self.outer:
            for d in defined(tree, s, None):
                if d.kind != SIZE or not any(o.function is d.function and o.kind in DECLARED for o in self.definitions[d.name]):
                    self.definitions[d.name].append(d)

    @cached_property
    def tokens(self) -> list[tuple[Token, bool]]:
        """The names of the text, each with whether it is followed by a parenthesis."""
        found = scan(self.tree.source.text)[0]
        return [(t, after.type == "LPAR") for t, after in zip(found, [*found[1:], found[-1]], strict=True)
                if t.type == "NAME" and t.text not in TYPES]

    @cached_property
    def starts(self) -> list[int]:
        return [t.start for t, _ in self.tokens]

    @cached_property
    def statements(self) -> list[Statement]:
        """All statements in order, those of functions and loops behind them."""
        return [s for outer in self.outer for s in within(outer)]

    def at(self, offset: int) -> Name | None:
        """The name that a place is in, or directly behind."""
        number = bisect_right(self.starts, offset) - 1
        return self.resolved(*self.tokens[number]) if number >= 0 and offset <= self.tokens[number][0].end else None

    def all(self) -> Iterator[Name]:
        """Every name of the text, in order."""
        return (self.resolved(*t) for t in self.tokens)

    def around(self, offset: int) -> list[Statement]:
        """The statements around a place, the innermost last."""
        last = bisect_right(self.statements, offset, key=lambda s: s.start)
        first = bisect_right(self.outer, offset, key=lambda s: s.start) - 1
        outer = self.outer[first] if first >= 0 else None
        return [s for s in self.statements[:last] if s.start <= offset <= s.end] if isinstance(outer, Def | For) else \
            [outer] if outer is not None and offset <= outer.end else []

    def resolved(self, token: Token, called: bool) -> Name:
        """The definition that a name refers to."""
        known = self.definitions.get(token.text, [])
        if (own := next((d for d in known if d.start == token.start), None)) is not None:
            return own
        around = self.around(token.start)
        function = next((s for s in around if isinstance(s, Def)), None)
        scope = [d for d in known if d.function is function and d.kind != FUNCTION and (d.subscripted or not called)]
        found = local(scope, token) or latest(scope, token, around)
        if found is not None:
            return Name(token.text, token.start, token.end, found.kind, function, found.statement, definition=found)
        if called and token.text in self.functions:
            s = self.functions[token.text]
            target = next(d for d in known if d.kind == FUNCTION)
            return Name(token.text, token.start, token.end, FUNCTION, s, s, definition=target)
        if called or token.text in NAMED_CONSTANTS:
            return Name(token.text, token.start, token.end, KNOWN if called else CONSTANT, None, None)
        return self.undeclared(token, function, around)

    def undeclared(self, token: Token, function: Def | None, around: Sequence[Statement]) -> Name:
        """A name that nothing defines: an index in the subscripts of its statement, else an input."""
        s = around[-1] if around else None
        index = isinstance(s, TensorAssign | TupleAssign | SubjectTo) and token.text in self.subscript_names(s)
        kind = INDEX if index else VALUE if function else INPUT
        within_this = s if index else function
        low, high = within_this.span if within_this is not None else (0, token.end)
        apart = [] if within_this is not None else [f for f in self.outer if isinstance(f, Def)]
        first = next((t for t, called in self.tokens if t.text == token.text and low <= t.start <= high and not called
                      and not any(f.start <= t.start <= f.end for f in apart)), token)
        definition = Name(token.text, first.start, first.end, kind, function, s)
        return Name(token.text, token.start, token.end, kind, function, s, definition=definition)

    def subscript_names(self, s: TensorAssign | TupleAssign | SubjectTo) -> set[str]:
        """The names in subscripts, in ranges and in conditions."""
        match s:
            case SubjectTo():
                roots, values = [], [n for r in s.relations for n in r.parts]
            case TupleAssign():
                roots, values = [n for nodes in s.subscripts for n in nodes or ()], s.values
            case _:
                roots, values = [*(s.subscripts or ())], [s.value, *([s.same] if s.same is not None else [])]
        for c in s.clauses:
            roots += c.nodes if c.kind in ("range", "guard") else []
        for value in (*values, *(n for c in s.clauses for n in c.nodes)):
            for node in postorder(value):
                if type(node) is Call and any(d.subscripted for d in self.definitions.get(node.name, ())):
                    roots += node.args
        return {t.text for t in names_of(*roots)}

    def seen_from(self, offset: int) -> Iterator[Name]:
        """The definitions in force at a place: those above it, of the function that it is in or of the program, and of its own
        statement; inputs and functions of the whole text."""
        around = self.around(offset)
        inside = next((s for s in around if isinstance(s, Def) and s.brace < offset), None)
        own = [d for each in self.definitions.values() for d in each]
        inputs = (n for n in self.all() if n.kind in (INPUT, INDEX) and not n.defines)
        for d in sorted((*own, *inputs), key=lambda d: d.start):
            if (d.start > offset and d.kind != INPUT) or d.name in RESERVED or (d.kind == FUNCTION and d.function is inside):
                continue
            here = d.statement in around
            if d.kind == FUNCTION or (d.function is inside and (here if d.kind in (INDEX, GIVEN) else d.kind != VALUE or
                                                                inside is not None or not here)):
                yield d


def local(scope: Sequence[Name], token: Token) -> Name | None:
    """The index or given name of the statement that a name is in."""
    return next((d for d in scope if d.kind in (INDEX, GIVEN) and d.statement is not None
                 and d.statement.start <= token.start <= d.statement.end), None)


def latest(scope: Sequence[Name], token: Token, around: Sequence[Statement]) -> Name | None:
    """The last definition above a name; of an output, or in a problem, the last of all, and of what a loop carries the first in
    the loop."""
    found = None
    block = next((s for s in around if isinstance(s, Def)), None)
    for d in scope:
        if d.kind in (INDEX, GIVEN) or d.statement is None:
            continue
        above = d.start < token.start if d.kind in DECLARED else d.statement.end <= token.start
        carried = found is None and any(isinstance(s, For) and s.start <= d.start <= s.end for s in around)
        last = bool(around) and isinstance(around[-1], DeclareOutputs | Objective | SubjectTo)
        result = last or (block is not None and token.start < block.brace)
        if above or carried or result:
            found = d
    return found


# ---------------------------------------------------------------- definitions

def defined(tree: Tree, s: Statement, function: Def | None) -> Iterator[Name]:
    """The definitions in a statement, in order; sizes wherever an extent names one."""
    def name(token: Token, kind: str, subscripted: bool = False) -> Name:
        return Name(token.text, token.start, token.end, kind, function, s, True, subscripted)

    def declared(token: Token, kind: str) -> Iterator[Name]:
        extents = (token.extents or ()) if type(token) is Typed else ()
        yield from (name(t, SIZE) for t in names_of(*extents))
        yield name(token, kind, bool(extents))

    if isinstance(s, Def):
        yield Name(s.name.text, s.name.start, s.name.end, FUNCTION, s, s, True)
        function = s
        for token in s.params:
            yield from declared(token, PARAMETER)
        for inner in s.body:
            yield from defined(tree, inner, s)
        yield from (name(t, SIZE) for r in s.results if type(r) is Typed for t in names_of(*(r.extents or ())))
    elif isinstance(s, Declare):
        for item in s.items:
            yield from declared(item.name, INPUT)
    elif isinstance(s, For):
        yield name(s.step, INDEX)
        for inner in s.body:
            yield from defined(tree, inner, function)
    elif isinstance(s, Assign):
        subscripted = len(s.values) == 1 and type(bare(s.values[0])) is Call
        yield from (name(t, VALUE, subscripted) for t in s.targets)
    elif isinstance(s, TensorAssign | TupleAssign):
        targets = [(s.target, s.subscripts)] if isinstance(s, TensorAssign) else \
            [*zip(s.targets, s.subscripts, strict=True)]
        for c in s.clauses:
            yield from (name(t, kind, kind == VALUE) for t, kind in stated(c, {t.text for t, _ in targets}))
        yield from (name(t, VALUE, subscripts is not None) for t, subscripts in targets)
    elif isinstance(s, SubjectTo):
        yield from (name(t, kind) for c in s.clauses for t, kind in stated(c, set()))
    elif isinstance(s, Broken):
        tokens = scan(tree.source.text[:s.end], start=s.start)[0]
        yield from (name(t, VALUE) for t in {t.text: t for t in reversed(tokens) if t.text in s.names}.values())


def function_read(tree: Tree, s: Statement) -> Statement:
    """A statement; of a function that cannot be read its name, its parameters and what is assigned in it."""
    tokens = scan(tree.source.text[:s.end], start=s.start)[0] if isinstance(s, Broken) else []
    if len(tokens) < 2 or [t.type for t in tokens[:2]] != ["DEF", "NAME"]:
        return s
    opened = next((t.start for t in tokens if t.type in ("LBRACE", "EQUAL")), s.end)
    params = [t for t in tokens[2:] if t.type == "NAME" and t.start < opened]
    body: list[Statement] = [Assign([t], [t], t.start, t.end) for t, after in pairwise(tokens)
                             if t.type == "NAME" and after.type == "EQUAL" and t.start > opened]
    return Def(tokens[1], params, [], body, None, opened, s.start, s.end)


def stated(c: Clause, targets: set[str]) -> Iterator[tuple[Token, str]]:
    """The names that a clause gives a meaning to, each with its kind."""
    if c.kind == "shape" and type(c.name) is Typed:
        yield from ((t, SIZE) for t in names_of(*(c.name.extents or ())))
    if c.name is not None:
        yield c.name, VALUE if c.name.text in targets else INDEX if c.kind == "range" else GIVEN
