"""Definitions and uses of the names of a text, by the rules of scope that lowering has.

A name means a value of the program or of a function, an input, a size, an index, a function, or a constant; values and functions
are two name spaces, a function sees nothing of the program's values, and indices, with the names that `where` gives, end with
their statement. A name may be assigned again, so a use remembers which assignment it reads. The tree of a text with faults will
do: of a statement that cannot be read, names and what stands before a parenthesis are told apart.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from adcli.lang.ir.names import RESERVED
from adcli.lang.ir.notation import MATRIX_CALLS
from adcli.lang.lower.desugar import flat
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import scan
from adcli.lang.syntax.tree import (
    ELEMENTS,
    INTEGERS,
    Assign,
    Broken,
    Call,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Node,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    Typed,
    bare,
    names_of,
    postorder,
)

INPUT, VALUE, PARAMETER, SIZE, INDEX, GIVEN, FUNCTION, KNOWN, CONSTANT = (
    "input", "value", "parameter", "size", "index", "value of this statement", "function", "function of the language", "constant")
"""Kinds of meanings. KNOWN and CONSTANT are defined by the language and not by the text."""
ASSIGNING = frozenset(("EQUAL", "AUGMENT", "REDUCE"))
TYPES = frozenset((*ELEMENTS, *INTEGERS))


@dataclass(slots=True, eq=False, repr=False)
class Meaning:
    """Meaning of a name in a scope, with its occurrences; `function` is the definition that it is inside of, or that it names."""

    name: str
    kind: str
    function: Def | None = None
    places: list[Occurrence] = field(default_factory=list)

    @property
    def definition(self) -> Occurrence | None:
        """Occurrence of its first value, or the first use of an undeclared input."""
        own = self.kind not in (KNOWN, CONSTANT)
        return next((o for o in self.places if o.defines), self.places[0] if self.places and own else None)


@dataclass(slots=True, eq=False, repr=False)
class Occurrence:
    """A name at `start`..`end` of the text. `defines`: it gets a value here; `reads` is where the value comes from that it has
    here (itself, where it defines, and at the first place of an input that nothing declares); `statement` is the outermost
    statement that it stands in."""

    start: int
    end: int
    meaning: Meaning
    statement: int
    defines: bool = False
    reads: Occurrence | None = None


@dataclass(slots=True, eq=False, repr=False)
class Occurrences:
    """All occurrences in a text, in order of their places."""

    places: list[Occurrence]
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places.sort(key=lambda o: o.start)
        self._starts = [o.start for o in self.places]
        for meaning in self.meanings():
            meaning.places.sort(key=lambda o: o.start)

    def at(self, offset: int) -> Occurrence | None:
        """The name that a place is in, or directly behind."""
        found = bisect_right(self._starts, offset) - 1
        o = self.places[found] if found >= 0 else None
        return o if o is not None and offset <= o.end else None

    def between(self, start: int, end: int) -> list[Occurrence]:
        """The names that start in a part of the text."""
        return self.places[bisect_left(self._starts, start):bisect_left(self._starts, end)]

    def meanings(self) -> list[Meaning]:
        """Meanings in the order of their first occurrence."""
        return list({id(o.meaning): o.meaning for o in self.places}.values())


def occurrences(tree: Tree) -> Occurrences:
    """Every name in a text with its meaning."""
    return Occurrences(NameReader(tree).read())


class NameScope:
    """The values of the program, or of one function, as far as the text was read."""

    def __init__(self, function: Def | None = None) -> None:
        self.function = function
        self.values: dict[str, Meaning] = {}
        self.latest: dict[str, Occurrence] = {}
        self.sizes: dict[str, Meaning] = {}
        self.tensors: set[str] = set()


Locals = dict[str, Meaning]
"""Indices, and names that `where` gives, of one statement."""


class NameReader:
    """Goes through the statements in order, as lowering does."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.found = tree, list[Occurrence]()
        self.main = NameScope()
        self.known: dict[str, Meaning] = {}   # functions and constants of the language
        self.functions = {s.name.text: Meaning(s.name.text, FUNCTION, s) for s in reversed(tree.statements) if isinstance(s, Def)}
        self.statement = 0

    def read(self) -> list[Occurrence]:
        numbered = list(enumerate(self.tree.statements))
        for number, s in numbered:
            self.statement = number
            self.one(self.main, s)
        for number, s in numbered:   # an output is the last value of its name, wherever it is declared
            self.statement = number
            for token in s.names if isinstance(s, DeclareOutputs) else ():
                self.use(token, self.value(self.main, token.text), self.main.latest.get(token.text))
        for function in self.functions.values():   # which may be called above its definition, though that is a fault
            for o in function.places:
                o.reads = function.definition
        return self.found

    def one(self, scope: NameScope, s: Statement) -> None:
        if isinstance(s, Assign):
            self.assign(scope, s)
        elif isinstance(s, TensorAssign):
            self.compute(scope, s)
        elif isinstance(s, TupleAssign):
            self.compute_all(scope, s)
        elif isinstance(s, Declare):
            for item in s.items:
                for node in (item.default, item.low, item.high):
                    self.expression(scope, node)
                self.declare(scope, item.name, INPUT)
        elif isinstance(s, For):
            self.loop(scope, s)
        elif isinstance(s, Def):
            self.define(s)
        elif isinstance(s, Broken):
            self.broken(scope, s)

    # Occurrences.

    def use(self, token: Token, meaning: Meaning, reads: Occurrence | None = None) -> Occurrence:
        """A name at its place; one of no length was never written."""
        o = Occurrence(token.start, token.end, meaning, self.statement, reads=reads)
        if token.end > token.start:
            self.found.append(o)
            meaning.places.append(o)
        return o

    def defined(self, token: Token, meaning: Meaning) -> Occurrence:
        o = self.use(token, meaning)
        o.defines, o.reads = True, o
        return o

    def value(self, scope: NameScope, name: str, kind: str = VALUE) -> Meaning:
        """The meaning of a value of a scope, new where it has none yet."""
        if name not in scope.values:
            scope.values[name] = Meaning(name, kind, scope.function)
        return scope.values[name]

    def write(self, scope: NameScope, token: Token, tensor: bool, kind: str = VALUE) -> None:
        """A value is given to a name; what kind of thing it is was decided by its first occurrence."""
        scope.latest[token.text] = self.defined(token, self.value(scope, token.text, kind))
        (scope.tensors.add if tensor else scope.tensors.discard)(token.text)

    def read_value(self, scope: NameScope, token: Token, local: Locals) -> None:
        name = token.text
        if name in local:
            self.use(token, local[name], local[name].definition)
        elif name in scope.values:
            self.use(token, scope.values[name], scope.latest.get(name))
        elif name in scope.sizes:
            self.use(token, scope.sizes[name], scope.sizes[name].definition)
        elif name in NAMED_CONSTANTS:
            self.use(token, self.known.setdefault(name, Meaning(name, CONSTANT)))
        else:   # an input that nothing declares; in a function, a fault
            scope.latest[name] = o = self.use(token, self.value(scope, name, VALUE if scope.function else INPUT))
            o.reads = o

    def call(self, scope: NameScope, node: Call) -> None:
        """The name before the parentheses: a tensor that is there already, else a function."""
        token = Token("NAME", node.name, node.start, node.start + len(node.name))
        if node.name in scope.tensors:
            self.read_value(scope, token, {})
        elif (function := self.functions.get(node.name)) is not None:
            self.use(token, function)
        elif node.name not in TYPES:
            self.use(token, self.known.setdefault(f"{node.name}()", Meaning(node.name, KNOWN)))

    def expression(self, scope: NameScope, root: Node | None, local: Locals | None = None) -> None:
        for node in postorder(root) if root is not None else ():
            if type(node) is Call:
                self.call(scope, node)
            elif type(node) is Token and node.type == "NAME":
                self.read_value(scope, node, local or {})

    # Statements.

    def assign(self, scope: NameScope, s: Assign) -> None:
        for node in s.values:
            self.expression(scope, node)
        tensors = self.tensor_results(scope, s)
        for token, tensor in zip(s.targets, tensors, strict=True):
            self.write(scope, token, tensor)

    def tensor_results(self, scope: NameScope, s: Assign) -> list[bool]:
        """Mask of the targets that become tensors: those of a duplicate of one, of an operation on matrices but for a
        determinant, and of a function that gives them."""
        node, none = bare(s.values[0]), [False] * len(s.targets)
        if len(s.values) != 1 or type(node) is not Call:
            return none
        function = self.functions.get(node.name)
        if function is not None and function.function is not None:
            given = tensor_outputs(function.function)
            return given if len(given) == len(s.targets) else none
        if node.name in MATRIX_CALLS and function is None:
            return [node.name != "logdet"] * len(s.targets)
        copied = node.name == "dup" and any(type(a := bare(n)) is Token and a.text in scope.tensors for n in node.args)
        return [copied] * len(s.targets)

    def declare(self, scope: NameScope, token: Token, kind: str) -> None:
        """An input or a parameter; names in its extents are sizes."""
        self.extents(scope, token)
        self.write(scope, token, type(token) is Typed and bool(token.extents), kind)

    def extents(self, scope: NameScope, token: Token) -> None:
        for node in (token.extents or ()) if type(token) is Typed else ():
            for inner in postorder(node):
                if type(inner) is Token and inner.type == "NAME" and inner.text not in {**scope.values, **scope.sizes}:
                    scope.sizes[inner.text] = Meaning(inner.text, SIZE, scope.function)
                    self.defined(inner, scope.sizes[inner.text])
                elif type(inner) is Token and inner.type == "NAME":
                    self.read_value(scope, inner, {})

    def define(self, s: Def) -> None:
        self.defined(s.name, self.functions[s.name.text])
        scope = NameScope(s)
        for token in s.params:
            self.declare(scope, token, PARAMETER)
        self.expression(scope, s.value)
        for inner in s.body:
            self.one(scope, inner)
        for token in s.results:
            self.extents(scope, token)
            self.use(token, self.value(scope, token.text), scope.latest.get(token.text))

    def loop(self, scope: NameScope, s: For) -> None:
        """The step is an index of all statements; what these assign is there for all of them."""
        for node in (s.low, s.high):
            self.expression(scope, node)
        step = Meaning(s.step.text, INDEX, scope.function)
        self.defined(s.step, step)
        for token in s.targets:
            self.value(scope, token.text)
            scope.tensors.add(token.text)
        for inner in s.body:
            if isinstance(inner, TensorAssign):
                self.compute(scope, inner, {s.step.text: step})
            elif isinstance(inner, TupleAssign):
                self.compute_all(scope, inner, {s.step.text: step})
            else:
                self.one(scope, inner)
        self.expression(scope, s.until, {s.step.text: step})
        step.places.sort(key=lambda o: o.start)
        self.trace(step)

    def compute_all(self, scope: NameScope, s: TupleAssign, around: Locals | None = None) -> None:
        """Several targets: one statement with the subscripts of all, and a name that is not written for what they get."""
        values = Call("", s.values, s.start, s.start) if len(s.values) > 1 else s.values[0]
        subscripts = [n for nodes in s.subscripts for n in nodes or ()]
        self.compute(scope, TensorAssign(s.targets[0], subscripts, "=", values, None, s.clauses, s.start, s.end), around)
        for token, nodes in zip(s.targets[1:], s.subscripts[1:], strict=True):
            self.write(scope, token, nodes is not None)

    def compute(self, scope: NameScope, s: TensorAssign, around: Locals | None = None) -> None:
        """A comprehension: what its subscripts and conditions name is an index, unless it is a size or has a value."""
        local = {**self.locals(scope, s), **(around or {})}
        for node in (s.value, s.same, *(n for c in s.clauses if c.kind != "range" for n in c.nodes)):
            self.expression(scope, node, local)
        for node in (*(s.subscripts or ()), *(n for c in s.clauses if c.kind == "range" for n in c.nodes)):
            self.expression(scope, node, local)
        for c in s.clauses:
            if c.name is None:
                continue
            if c.kind == "shape":
                self.extents(scope, c.name)
            if c.name.text in local:
                self.defined(c.name, local[c.name.text])
        onto = [c.name for c in s.clauses if c.name is not None and c.name.text == s.target.text]
        if not s.symbol.endswith("!") and s.symbol != "=" and s.target.text not in scope.values:
            self.value(scope, s.target.text)
        self.write(scope, s.target, bool(s.subscripts))
        for token in onto:   # the tensor that the statement makes, or starts from
            self.use(token, scope.values[token.text], scope.latest[token.text])
        for meaning in local.values():
            meaning.places.sort(key=lambda o: o.start)
            self.trace(meaning)

    def trace(self, meaning: Meaning) -> None:
        """Every place of an index or a given name leads to the one where its range or value is stated, else to the first."""
        first = meaning.definition
        for o in meaning.places:
            o.reads = first
        if first is not None:
            first.defines = True

    def locals(self, scope: NameScope, s: TensorAssign) -> Locals:
        given = {c.name.text for c in s.clauses if c.kind == "let" and c.name is not None and c.name.text != s.target.text}
        local = {name: Meaning(name, GIVEN, scope.function) for name in given}
        named = {c.name.text for c in s.clauses if c.kind == "range" and c.name is not None}
        for token in self.subscript_names(scope, s):
            named.add(token.text)
        for name in named - given:
            if name not in scope.values and name not in scope.sizes and name not in NAMED_CONSTANTS:
                local[name] = Meaning(name, INDEX, scope.function)
        return local

    def subscript_names(self, scope: NameScope, s: TensorAssign) -> list[Token]:
        """The names in subscripts, in ranges and in conditions."""
        roots = [*(s.subscripts or ())]
        for c in s.clauses:
            roots += c.nodes if c.kind in ("range", "guard") else []
        values = [s.value, *([s.same] if s.same is not None else []), *(n for c in s.clauses for n in c.nodes)]
        for value in values:
            for node in postorder(value):
                if type(node) is Call and node.name in scope.tensors:
                    roots += node.args
        return names_of(*roots)

    # What cannot be read.

    def broken(self, scope: NameScope, s: Broken) -> None:
        """Names of a statement with a fault: what it would define, functions, and values."""
        tokens, _, _ = scan(self.tree.source.text[:s.end], start=s.start)
        definition = tokens[0].type == "DEF"
        if definition:
            scope = self.broken_function(tokens, s)
        written: list[Token] = []
        behind = next((i for i, t in enumerate(tokens) if t.type in ASSIGNING), 1)
        for i, (token, after) in enumerate(pairwise(tokens)):
            if token.type != "NAME" or token.text in TYPES or (definition and i == 1):
                continue
            if definition and after.type in ASSIGNING:
                self.write(scope, token, False)
            elif i < behind and token.text in s.names and not definition:
                written.append(token)
            elif after.type == "LPAR" and i > behind:
                self.call(scope, Call(token.text, [], token.start, token.end))
            elif definition and i < behind and token.text not in scope.values:
                self.write(scope, token, False, PARAMETER)
            else:
                self.read_value(scope, token, {})
        for token in written:
            self.write(scope, token, token.text in scope.tensors)

    def broken_function(self, tokens: list[Token], s: Broken) -> NameScope:
        """The scope of a function that cannot be read, which has a name all the same."""
        opened = next((t.start for t in tokens if t.type in ("LBRACE", "EQUAL")), s.end)
        function = Def(tokens[1], [], [], [], None, opened, s.start, s.end)
        if tokens[1].type == "NAME":
            name = tokens[1].text
            self.defined(tokens[1], self.functions.setdefault(name, Meaning(name, FUNCTION, function)))
        return NameScope(function)


def tensor_outputs(function: Def) -> list[bool]:
    """Mask of the results of a function that are tensors."""
    elements = {s.target.text for s in flat(function.body) if isinstance(s, TensorAssign) and s.subscripts}
    return [(type(t) is Typed and bool(t.extents)) or t.text in elements for t in function.results]


def seen_from(found: Occurrences, tree: Tree, offset: int) -> Iterable[Meaning]:
    """The names that have a meaning at a place, those that are defined above it: of the function that it is in, or of the
    program; of the statement that it is in; functions everywhere below their definition."""
    functions = {id(m.function): m.function for m in found.meanings() if m.function is not None}
    inside = next((f for f in functions.values() if f.brace <= offset <= f.end and f.start < offset), None)
    here = next((i for i, s in enumerate(tree.statements) if s.start <= offset <= s.end), None)
    for m in found.meanings():
        first = m.definition
        if first is None or (first.start > offset and m.kind != INPUT) or m.name in RESERVED:
            continue
        if m.kind == FUNCTION:
            if m.function is not inside:
                yield m
        elif m.kind == VALUE and inside is None and first.statement == here:   # what the statement itself makes
            continue
        elif m.function is inside and (m.kind not in (INDEX, GIVEN) or first.statement == here):
            yield m
