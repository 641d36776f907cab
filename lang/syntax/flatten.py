"""The flat form of a source tree: every nested operation has a statement of its own."""
from __future__ import annotations

from adcli.lang.ir.gc import paused
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.format import core
from adcli.lang.syntax.tree import (
    Assign,
    Call,
    Declare,
    Def,
    For,
    Node,
    Op,
    Statement,
    Token,
    Tree,
    bare,
    postorder,
    temporaries,
    tensor_names,
)


@paused()
def flatten(tree: Tree) -> Tree:
    """The same program with every nested operation assigned to a temporary of its own."""
    flat = Flattener(tree)
    statements = [piece for statement in tree.statements for piece in flat.statement(statement)]
    return Tree(tree.source, statements, tree.comments, tree.names)


class Flattener:
    """Takes statements apart; temporaries are numbered through the whole text.

    Undeclared inputs come in the order in which they are first read. Where taking a statement apart would change it, as
    in x/exp(y), the first input is copied into a temporary before the second is read; `known` are the names that have
    been read, assigned or declared so far.
    """

    def __init__(self, tree: Tree) -> None:
        self.fresh = temporaries(tree)
        self.tensors = tensor_names(tree)
        self.known: set[str] = set()

    def statement(self, statement: Statement) -> list[Statement]:
        if self.keeps(statement):
            return [statement]
        if isinstance(statement, Assign):
            pieces = self.assignment(statement)
            last = pieces[-1]
            assert isinstance(last, Assign)
            self.known.update(t.text for t in (*last.values, *last.targets) if type(t) is Token)
            return pieces
        if isinstance(statement, Declare):
            self.known.update(item.name.text for item in statement.items)
        return [self.function(statement)] if isinstance(statement, Def) else [statement]

    def keeps(self, s: Statement) -> bool:
        """Whether a statement works on tensors: subscripts are no operations."""
        if isinstance(s, Assign) and self.tensors:
            return any(isinstance(n, Call) and n.name in self.tensors for v in s.values for n in postorder(v))
        return isinstance(s, For) or (isinstance(s, Def) and s.tensors)

    def assignment(self, s: Assign) -> list[Statement]:
        pieces: list[Statement] = []
        if len(s.values) == 1:
            value = self.operation(s.values[0], s, pieces)
            return [*pieces, Assign(s.targets, [value], s.start, s.end)]
        values: list[Node] = []
        for v in s.values:
            if not is_atom(v):
                self.settle(values, list(range(len(values))), s, pieces)
            values.append(self.atom(v, s, pieces))
        return [*pieces, Assign(s.targets, values, s.start, s.end)]

    def function(self, d: Def) -> Def:
        outside, self.known = self.known, {p.text for p in d.params}
        flat = self.body(d)
        self.known = outside
        return flat

    def body(self, d: Def) -> Def:
        if d.value is None:
            body = [piece for s in d.body for piece in self.statement(s)]
            return Def(d.name, d.params, d.results, body, None, d.brace, d.start, d.end)
        pieces: list[Statement] = []
        span = Assign([], [], d.start, d.end)
        value = self.operation(d.value, span, pieces)
        if not pieces:
            return Def(d.name, d.params, [], [], value, d.brace, d.start, d.end)
        result = Token("NAME", self.fresh(), d.start, d.end)
        pieces.append(Assign([result], [value], d.start, d.end))
        return Def(d.name, d.params, [result], pieces, None, d.brace, d.start, d.end)

    def atom(self, root: Node, s: Assign, pieces: list[Statement]) -> Node:
        """The name or constant that an expression becomes."""
        value = self.operation(root, s, pieces)
        return value if is_atom(value) else self.named(value, s, pieces)

    def settle(self, nodes: list[Node], places: list[int], s: Assign, pieces: list[Statement]) -> None:
        """Read the inputs at `places` now, where this is their first reading."""
        for i in places:
            node = nodes[i]
            if type(node) is Token and self.first(node):
                nodes[i] = self.named(node, s, pieces)
                self.known.add(node.text)

    def first(self, token: Token) -> bool:
        """Whether a token is the first mention of an input."""
        return token.type == "NAME" and token.text not in self.known and token.text not in NAMED_CONSTANTS

    def named(self, value: Node, s: Assign, pieces: list[Statement]) -> Token:
        name = Token("NAME", self.fresh(), s.start, s.end)
        self.known.add(name.text)
        pieces.append(Assign([name], [value], s.start, s.end))
        return name

    def operation(self, root: Node, s: Assign, pieces: list[Statement]) -> Node:
        """The last operation of an expression; the ones inside it go to `pieces`."""
        top = core(root)
        stack: list[Node] = []
        constants: set[int] = set()
        waiting: list[int] = []   # places in `stack` of inputs not read yet
        for node in postorder(top):
            if type(node) is Token:
                if node.type == "NUMBER" or node.text in NAMED_CONSTANTS:
                    constants.add(id(node))
                elif self.first(node):
                    waiting.append(len(stack))
                stack.append(node)
                continue
            assert isinstance(node, Op | Call)
            split = len(stack) - len(node.args)
            args = stack[split:]
            if type(node) is Op and node.name == "pos":
                continue
            made: Node = type(node)(node.name, args, node.start, node.end)
            if type(node) is Op and node.name == "neg" and id(args[0]) in constants:
                constants.add(id(made))
            elif node is not top:
                consumed = [a.text for a in args if type(a) is Token]
                while waiting and waiting[-1] >= split:
                    waiting.pop()
                self.settle(stack, waiting, s, pieces)
                waiting.clear()
                self.known.update(consumed)
                made = self.named(made, s, pieces)
            stack[split:] = [made]
        result = stack[0]
        if isinstance(result, Op | Call):
            self.known.update(a.text for a in result.args if type(a) is Token)
        return result


def is_atom(node: Node) -> bool:
    """Whether a node is a name, a number or a number with its sign."""
    node, signed = bare(node), False
    while type(node) is Op and node.name == "neg":
        node, signed = bare(node.args[0]), True
    return type(node) is Token and (not signed or node.type == "NUMBER" or node.text in NAMED_CONSTANTS)
