"""The statements of a function in the place of a call, under names of the scope that calls."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from adcli.lang.expressions.desugar import written_out
from adcli.lang.expressions.scope import CallShapes
from adcli.lang.operations.limits import OF_A_STATEMENT
from adcli.lang.statements.comprehension_body import is_integer, rewritten
from adcli.lang.statements.matrix_statement import is_matrix_call
from adcli.lang.statements.slices import Slice, Slices, words
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Clause,
    Def,
    For,
    Node,
    Statement,
    TensorAssign,
    Token,
    TupleAssign,
    Typed,
    bare,
    names_in,
    postorder,
    targets_of,
)


class FunctionBody:
    """The statements of a function for one call, under names of the scope that calls."""

    def __init__(self, calls: Slices, add: Callable[[Statement], None], definition: Def, found: CallShapes,
                 given: Mapping[str, Slice | Node], wanted: Mapping[str, Slice]) -> None:
        self.calls, self.add_to_scope, self.context = calls, add, calls.context
        self.definition, self.found, self.given, self.wanted = definition, found, dict(given), wanted
        self.slices: dict[str, Slice] = {}
        self.renamed: dict[str, Node] = {}   # sizes and indices
        for name, extent in found.sizes.items():
            key = f"{self.context.local_name(name)}#"
            calls.scope.tensors.sizes[key] = extent
            self.renamed[name] = Token("NAME", key, definition.start, definition.end)
        self.body = [self.plain(s) for s in self.statements()]
        self.depends = self.dependences()

    def statements(self) -> list[Statement]:
        d = self.definition
        return d.body if d.value is None else [Assign(d.results, [d.value], d.start, d.end)]

    def plain(self, s: Statement) -> Statement:
        """A statement with subscripts for one without."""
        if not isinstance(s, Assign):
            return s
        if (whole := written_out(self.calls.scope, s)) is not None:
            return whole
        if len(s.targets) == 1:
            return TensorAssign(s.targets[0], None, "=", s.values[0], None, [], s.start, s.end)
        return TupleAssign(s.targets, [None] * len(s.targets), s.values, [], s.start, s.end)

    def dependences(self) -> dict[str, set[str]]:
        """The indices that each name depends on."""
        known = {name: self.calls.indices(*(v.subscripts if isinstance(v, Slice) else [v])) for name, v in self.given.items()}
        assigned = {t.text for s in self.body for t in targets_of(s)}
        known = {name: set() for name in assigned} | known
        changed = True
        while changed:
            changed = False
            for s in self.body:
                used = set().union(*[known.get(name, set()) for name in names_used(s)])
                for t in targets_of(s):
                    if not used <= known[t.text]:
                        known[t.text] |= used
                        changed = True
        return known

    def unfold(self) -> None:
        for token in self.definition.params:
            if token.text in {t.text for t in self.definition.results}:
                self.begin(token)
        for k, s in enumerate(self.body):
            self.calls.scope.allowance.spend(OF_A_STATEMENT)
            self.add(s, self.body[k + 1:])

    def add(self, s: Statement, later: Sequence[Statement]) -> None:
        if self.is_alias(s):
            assert isinstance(s, TensorAssign)
            self.given[s.target.text] = self.read(s.value)
            return
        old = dict(self.slices)
        targets = {t.text: t for t in targets_of(s)}
        new = {name: self.target(t, later) for name, t in targets.items() if name not in old or self.starts_anew(s)}
        into = {**old, **new}
        if isinstance(s, For):
            self.slices |= new
            self.add_to_scope(self.loop(s))
            return
        made = self.statement(s, into)
        self.slices |= new
        self.add_to_scope(made)

    def begin(self, token: Token) -> None:
        """Begin a result that is a parameter too with what is given for it, unless it is kept there itself."""
        given, own = self.given[token.text], self.target(token, self.body)
        value, to = given.at((), token) if isinstance(given, Slice) else given, own.at((), token)
        if [*map(word_of, postorder(value))] != [*map(word_of, postorder(to))]:
            more = self.calls.fresh_indices(len(self.found.shapes[token.text]), value)
            left = [*own.subscripts, *more]
            name = Token("NAME", own.name, token.start, token.end)
            clauses = self.clauses([], left, [value])
            self.add_to_scope(TensorAssign(name, left or None, "=", self.calls.filled(value, more), None, clauses, token.start,
                                           token.end))
        self.slices[token.text] = own

    def is_alias(self, s: Statement) -> bool:
        """Test for a name of an element of a parameter, `m = p(2)`, which is read where it is then."""
        if not isinstance(s, TensorAssign) or s.subscripts is not None or s.symbol != "=" or s.clauses:
            return False
        name, value = s.target.text, bare(s.value)
        changed = [t.text for other in self.body for t in targets_of(other)]
        from_name = value.name if type(value) is Call else ""
        of_parameter = from_name in self.given and from_name not in changed
        numbers = of_parameter and type(value) is Call and all(type(bare(a)) is Token and not names_in(a) for a in value.args)
        return numbers and changed.count(name) == 1 and name not in {t.text for t in self.definition.results}

    def starts_anew(self, s: Statement) -> bool:
        """True if a statement gives what it assigns a new value, rather than some of its elements."""
        if isinstance(s, For):
            return False
        if isinstance(s, TupleAssign):
            whole = all(nodes is None for nodes in s.subscripts)
        else:
            whole = isinstance(s, TensorAssign) and s.subscripts is None and (s.symbol == "=" or s.symbol.endswith("!"))
        return whole or s.span in self.found.anew

    def target(self, token: Token, later: Sequence[Statement]) -> Slice:
        """Where a value of a name is kept: the last one of a result where that is wanted."""
        name, calls = token.text, self.calls
        last = not any(self.starts_anew(s) and name in {t.text for t in targets_of(s)} for s in later)
        own = self.wanted[name] if last and name in self.wanted else \
            Slice(self.context.local_name(name), calls.prefix(self.depends[name], token))
        calls.made.setdefault(own.name, (len(own.subscripts), self.found.shapes[name]))
        return own

    def statement(self, s: Statement, into: Mapping[str, Slice]) -> TensorAssign | TupleAssign:
        """A statement under the names of the scope that calls."""
        assert isinstance(s, TensorAssign | TupleAssign)
        if isinstance(s, TupleAssign):
            tokens = [self.token(t, into) for t in s.targets]
            lefts = [self.left(t, nodes, into) for t, nodes in zip(s.targets, s.subscripts, strict=True)]
            clauses = self.clauses(s.clauses, [n for left in lefts for n in left or ()], s.values)
            return TupleAssign(tokens, lefts, [self.read(v) for v in s.values], clauses, s.start, s.end)
        left, value = self.left(s.target, s.subscripts, into), self.read(s.value)
        copied = s.subscripts is None and self.found.shapes[s.target.text] and not self.is_operation(value)
        if copied:
            more = self.calls.fresh_indices(len(self.found.shapes[s.target.text]), s.value)
            left, value = [*(left or ()), *more], self.calls.filled(value, more)
        clauses = self.clauses(s.clauses, left or (), [value])
        return TensorAssign(self.token(s.target, into), left, s.symbol, value, s.same, clauses, s.start, s.end)

    def is_operation(self, value: Node) -> bool:
        return self.calls.is_call(value) or is_matrix_call(self.calls.scope, bare(value))

    def token(self, t: Token, into: Mapping[str, Slice]) -> Token:
        if t.text not in into:
            return t
        name = Token("NAME", into[t.text].name, t.start, t.end)
        return Typed(name, t.element, None, t.close) if is_integer(t) and isinstance(t, Typed) else name

    def left(self, t: Token, nodes: list[Node] | None, into: Mapping[str, Slice]) -> list[Node] | None:
        lead = into[t.text].subscripts if t.text in into else []
        return [*lead, *map(self.read, nodes or ())] or None

    def clauses(self, own: Sequence[Clause], left: Sequence[Node], values: Sequence[Node]) -> list[Clause]:
        """Those of the statement, and of the call what is about its subscripts; an index that is not read has the range that it
        has in an argument."""
        found = [replace(c, name=self.renamed_token(c.name), nodes=[*map(self.read, c.nodes)]) for c in own if c.kind != "shape"]
        found += self.calls.conditions(left)
        read = {n for v in values for c in postorder(v) if type(c) is Call and self.calls.rest(c, quiet=True) is not None
                for n in names_in(*c.args)} | {c.name.text for c in found if c.kind == "range" and c.name is not None}
        at, slices = self.definition.name, [v for v in self.given.values() if isinstance(v, Slice)]
        found += self.calls.ranges_of(self.calls.indices(*left) - read - {*self.calls.steps}, [v.at((), at) for v in slices], at)
        return found

    def loop(self, s: For) -> For:
        """A loop in the function, which has a value for each point of the indices."""
        name = self.definition.name.text
        if self.calls.steps:
            raise self.context.fault(f"function '{name}' has a loop, and is called in one", s.step,
                                     "call it before the loop, for all steps at once")
        if s.until is not None and any(self.depends[t.text] for t in targets_of(s)):
            raise self.context.fault(f"function '{name}' has a loop with until, and is called for several points", s.step,
                                     "call it for one point")
        step = self.renamed_token(s.step)
        assert step is not None
        body = [self.statement(self.plain(inner), self.slices) for inner in s.body]
        return replace(s, step=step, low=self.read(s.low), high=self.read(s.high), body=list(body),
                       until=None if s.until is None else self.read(s.until))

    # Expressions.

    def renamed_token(self, token: Token | None) -> Token | None:
        if token is None:
            return None
        node = self.index(token)
        return node if type(node) is Token else token

    def index(self, token: Token) -> Node:
        """A size, or an index, which has another name where the scope has its own."""
        name = token.text
        if name not in self.renamed and name not in NAMED_CONSTANTS:
            own = {n.text for n in self.renamed.values() if type(n) is Token}
            self.renamed[name] = Token("NAME", self.calls.free_name(name, own), token.start, token.end)
        known = self.renamed.get(name, token)
        return Token("NAME", known.text, token.start, token.end) if type(known) is Token else known

    def value(self, name: str) -> Slice | Node | None:
        return self.slices.get(name) or self.given.get(name)

    def read(self, root: Node) -> Node:
        """An expression of the function under the names of the scope that calls."""
        def change(node: Node) -> Node | None:
            if type(node) is not Token or node.type != "NAME":
                return None
            known = self.value(node.text)
            if known is None:
                return self.index(node)
            return known.at((), node) if isinstance(known, Slice) else known

        def after(node: Node) -> Node:
            known = self.value(node.name) if type(node) is Call else None
            return known.at(node.args, node) if isinstance(known, Slice) and type(node) is Call else node
        return rewritten(root, change, after)


def word_of(node: Node) -> object:
    """What tells nodes of one kind from one another, beside their operands."""
    return type(node), getattr(node, "name", getattr(node, "text", None))


def names_used(s: Statement) -> set[str]:
    """The names that a statement reads, those of tensors among them."""
    if isinstance(s, For):
        inner, roots = set().union(*map(names_used, s.body)), [s.low, s.high, *([s.until] if s.until is not None else [])]
    else:
        assert isinstance(s, TensorAssign | TupleAssign)
        left = s.subscripts or [] if isinstance(s, TensorAssign) else [n for nodes in s.subscripts for n in nodes or ()]
        values = [s.value] if isinstance(s, TensorAssign) else s.values
        inner, roots = set(), [*values, *left, *(n for c in s.clauses for n in c.nodes)]
    return inner | words(*roots)
