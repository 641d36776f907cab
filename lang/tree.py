"""The source tree: what the text says, statement by statement, before any meaning is given to it.

Parsing makes it, lowering reads it, `fmt` writes it back. It keeps what a formatter needs (number literals as written,
comments) and what a diagnostic needs (character offsets, half open). Leaves of expressions are the tokens themselves.
Expressions may be 100,000 levels deep, so whoever walks them does it with a stack: see `postorder`.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from lang.errors import Source


class Token:
    """A piece of text with its kind; as a node of an expression its `type` is NAME or NUMBER."""

    __slots__ = ("end", "start", "text", "type")

    def __init__(self, type: str, text: str, start: int, end: int) -> None:
        self.type, self.text, self.start, self.end = type, text, start, end


class Op:
    """An operator applied: `name` is the operation's prefix name, `pos` for a unary plus."""

    __slots__ = ("args", "end", "name", "start")

    def __init__(self, name: str, args: list[Node], start: int, end: int) -> None:
        self.name, self.args, self.start, self.end = name, args, start, end


class Call:
    """A function call; the function's name stands at `start`."""

    __slots__ = ("args", "end", "name", "start")

    def __init__(self, name: str, args: list[Node], start: int, end: int) -> None:
        self.name, self.args, self.start, self.end = name, args, start, end


class Group:
    """A pair of parentheses."""

    __slots__ = ("end", "inner", "start")

    def __init__(self, inner: Node, start: int, end: int) -> None:
        self.inner, self.start, self.end = inner, start, end


Node = Token | Op | Call | Group


class Assign:
    """`a = e`; with several targets either one call that has as many results, or one value a target."""

    __slots__ = ("end", "start", "targets", "values")

    def __init__(self, targets: list[Token], values: list[Node], start: int, end: int) -> None:
        self.targets, self.values, self.start, self.end = targets, values, start, end


@dataclass(slots=True)
class Item:
    """One input of a declaration."""

    name: Token
    default: Node | None = None
    low: Node | None = None
    high: Node | None = None


@dataclass(slots=True)
class Declare:
    """`input …` or `param …`, told apart by `keyword`."""

    keyword: str
    items: list[Item]
    start: int
    end: int


@dataclass(slots=True)
class Output:
    names: list[Token]
    start: int
    end: int


@dataclass(slots=True)
class Def:
    """A function: `value` of the one-line form, or `results` and `body` of the block form, `{` at `brace`."""

    name: Token
    params: list[Token]
    results: list[Token]
    body: list[Statement]
    value: Node | None
    brace: int
    start: int
    end: int


@dataclass(slots=True)
class Broken:
    """Where a statement could not be read: the names it would have given a meaning to."""

    names: set[str]
    start: int
    end: int


Statement = Assign | Declare | Output | Def | Broken


@dataclass(slots=True)
class Tree:
    """A whole source text. `names` are all the names in it, so that new ones can be chosen."""

    source: Source
    statements: list[Statement]
    comments: list[Token] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def bare(node: Node) -> Node:
    """The node inside any number of parentheses."""
    while type(node) is Group:
        node = node.inner
    return node


def postorder(root: Node) -> list[Token | Op | Call]:
    """All nodes in order of evaluation: operands left to right, then what is done with them."""
    order: list[Token | Op | Call] = []
    stack = [root]
    while stack:
        node = bare(stack.pop())
        if type(node) is Op or type(node) is Call:
            stack += node.args
        order.append(node)  # type: ignore[arg-type]  # `bare` leaves no Group
    order.reverse()
    return order
