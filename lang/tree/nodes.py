"""The source tree: what the text says, statement by statement, before any meaning is given to it.

Parsing makes it, lowering reads it, `fmt` writes it back. It keeps what a formatter needs (number literals as written,
comments) and what a diagnostic needs (character offsets, half open). Leaves of expressions are the tokens themselves.
Expressions may be 100,000 levels deep, so a walk over them uses a stack: see `postorder`.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import accumulate, count

from adcli.lang.ir.errors import Source, Span
from adcli.lang.ir.names import look
from adcli.lang.ir.records import plain_record

ELEMENTS = ("float", "double", "half", "float16", "float32", "float64")
"""Types of elements that mean double."""
LIST = "["
"""The name of a list of elements, which is kept as a call is."""
INTEGERS = ("int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Types of elements that are whole numbers: for subscripts, without derivative."""


class Placed:
    """A part of a text, from `start` up to `end`."""

    __slots__ = ()
    start: int
    end: int

    @property
    def span(self) -> Span:
        return self.start, self.end


class Token(Placed):
    """A piece of text with its kind; as a node of an expression its `type` is NAME or NUMBER."""

    __slots__ = ("end", "start", "text", "type")

    def __init__(self, type: str, text: str, start: int, end: int) -> None:
        self.type, self.text, self.start, self.end = type, text, start, end


class Typed(Token):
    """A name that is declared with the type of its elements and its extents: `float(M, N) A`; `extents` is None for a scalar.

    The declaration ends at `close`; the name itself, as for every token, is at `start`..`end`.
    """

    __slots__ = ("close", "element", "extents")

    def __init__(self, name: Token, element: Token | None, extents: list[Node] | None, close: int) -> None:
        super().__init__(name.type, name.text, name.start, name.end)
        self.element, self.extents, self.close = element, extents, close


class Op(Placed):
    """An operator applied: `name` is the operation's prefix name, `pos` for a unary plus."""

    __slots__ = ("args", "end", "name", "start")

    def __init__(self, name: str, args: list[Node], start: int, end: int) -> None:
        self.name, self.args, self.start, self.end = name, args, start, end


class Call(Placed):
    """A function call; the function's name stands at `start`."""

    __slots__ = ("args", "end", "name", "start")

    def __init__(self, name: str, args: list[Node], start: int, end: int) -> None:
        self.name, self.args, self.start, self.end = name, args, start, end


class Parens(Placed):
    """A pair of parentheses."""

    __slots__ = ("end", "inner", "start")

    def __init__(self, inner: Node, start: int, end: int) -> None:
        self.inner, self.start, self.end = inner, start, end


Node = Token | Op | Call | Parens


class Assign(Placed):
    """`a = e`; with several targets either one call that has as many results, or one value a target."""

    __slots__ = ("end", "start", "targets", "values")

    def __init__(self, targets: list[Token], values: list[Node], start: int, end: int) -> None:
        self.targets, self.values, self.start, self.end = targets, values, start, end


@plain_record
class Clause(Placed):
    """A part of `where`, told apart by `kind`.

    "range": name in low:high. "let": name = value. "guard": a condition. "exists": a read that only restricts ranges.
    "shape": `float(M, N) C`, the shape of the tensor that the statement writes.
    """

    kind: str
    name: Token | None
    nodes: list[Node]
    start: int
    end: int


@plain_record
class TensorAssign(Placed):
    """A tensor comprehension: `target(subscripts) symbol value where clauses`; a scalar target has subscripts None.

    `same` is what stands behind `<=>`.
    """

    target: Token
    subscripts: list[Node] | None
    symbol: str
    value: Node
    same: Node | None
    clauses: list[Clause]
    start: int
    end: int


@plain_record
class TupleAssign(Placed):
    """Elements of several tensors: `(u(i), v(i)) = …`, values as those of an Assign. `subscripts` are those of each target, None
    for a name alone, as `_` is for a value not wanted."""

    targets: list[Token]
    subscripts: list[list[Node] | None]
    values: list[Node]
    clauses: list[Clause]
    start: int
    end: int

    def parts(self, values: list[Node]) -> list[TensorAssign]:
        """A statement for each target that is wanted, with these values."""
        return [TensorAssign(t, subscripts, "=", v, None, self.clauses, self.start, self.end)
                for t, subscripts, v in zip(self.targets, self.subscripts, values, strict=True) if t.text != "_" or subscripts]


@plain_record
class Item:
    """One input of a declaration; a Typed name is that of a tensor, or of a scalar with its type."""

    name: Token
    default: Node | None = None
    low: Node | None = None
    high: Node | None = None
    constraint: Token | None = None


@plain_record
class Declare(Placed):
    """`input …` or `param …`, told apart by `keyword`."""

    keyword: str
    items: list[Item]
    start: int
    end: int


@plain_record
class DeclareOutputs(Placed):
    """`output v, w`."""

    names: list[Token]
    start: int
    end: int


@plain_record
class Def(Placed):
    """A function: `value` of the one-line form, or `results` and `body` of the block form, `{` at `brace`."""

    name: Token
    params: list[Token]
    results: list[Token]
    body: list[Statement]
    value: Node | None
    brace: int
    start: int
    end: int

    @property
    def tensors(self) -> bool:
        """Test for a function of tensors: it declares a type, or one of its statements is a comprehension."""
        return any(type(t) is Typed for t in (*self.params, *self.results)) or any(
            type(s) in (TensorAssign, TupleAssign, For) for s in self.body)


@plain_record
class For(Placed):
    """A loop: `for step in low:high down until c checkpoint { body }`, `{` at `brace`."""

    step: Token
    low: Node
    high: Node
    down: bool
    until: Node | None
    checkpoint: bool
    body: list[Statement]
    brace: int
    start: int
    end: int

    @property
    def targets(self) -> list[Token]:
        """The names that it assigns, each at its first assignment."""
        found: dict[str, Token] = {}
        for statement in self.body:
            for token in targets_of(statement):
                found.setdefault(token.text, token)
        return list(found.values())


@plain_record
class Broken(Placed):
    """Where a statement could not be read: the names it would have given a meaning to."""

    names: set[str]
    start: int
    end: int


@plain_record
class Objective(Placed):
    """`minimize e` or `maximize e`, told apart by `word`."""

    word: Token
    value: Node
    start: int
    end: int


@plain_record
class Relation:
    """`a <= b <= c`: expressions with the signs between them."""

    parts: list[Node]
    signs: list[Token]


@plain_record
class SubjectTo(Placed):
    """`subject to a <= b, c == d where clauses`."""

    relations: list[Relation]
    clauses: list[Clause]
    start: int
    end: int


class Shape:
    """Template of assignments that differ only in their names and numbers: `model` is one of
    them with a text of its own, whose names and numbers stand at `words`, the target first."""

    __slots__ = ("ends", "lengths", "model", "words")

    def __init__(self, model: Assign, words: list[tuple[int, int]]) -> None:
        self.model, self.words = model, words
        self.ends = [end for _, end in words]
        self.lengths = [0, *accumulate(end - start for start, end in words)]

    def place(self, offset: int) -> tuple[int, int]:
        """An offset in the model as it is in every line of this shape: how many words come before it, and what is to be added to
        their length."""
        before = bisect_right(self.ends, offset)
        return before, offset - self.lengths[before]


class KnownLine:
    """An assignment that is no tree: its names and numbers, the target first, and where that stands."""

    __slots__ = ("start", "words")
    start: int
    words: list[str]


class ShapedLine(KnownLine):
    """An assignment that is known by its shape. One whose target is empty is a piece of a LongLine: what would be assigned,
    behind an `=` that is not there."""

    __slots__ = ("shape",)

    def __init__(self, shape: Shape, words: list[str], start: int) -> None:
        self.shape, self.words, self.start = shape, words, start


Joint = tuple[str, int, int]
"""An operator between two values: the prefix name of the operation, and its span."""


class LongLine(KnownLine):
    """An assignment whose value is put together: `steps` are in the order of evaluation, pieces that are values and what is done
    with the two values before."""

    __slots__ = ("steps",)

    def __init__(self, steps: list[ShapedLine | Joint], words: list[str], start: int) -> None:
        self.steps, self.words, self.start = steps, words, start


Statement = Assign | TensorAssign | TupleAssign | For | Declare | DeclareOutputs | Def | Objective | SubjectTo | Broken


@plain_record
class Tree:
    """A whole source text. `names` are all the names in it, so that new ones can be chosen."""

    source: Source
    statements: list[Statement]
    comments: list[Token] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def temporaries(tree: Tree) -> Callable[[], str]:
    """Gives names for temporaries, i1, i2, …, that occur nowhere in the text, a new one at each call."""
    taken = set(map(look, tree.names))
    return (name for n in count(1) if (name := f"i{n}") not in taken).__next__


def bare(node: Node) -> Node:
    """The node inside any number of parentheses."""
    while type(node) is Parens:
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
        order.append(node)  # type: ignore[arg-type]  # `bare` leaves no Parens
    order.reverse()
    return order


def names_of(*roots: Node) -> list[Token]:
    """The names in expressions; those of what is called apart."""
    return [t for root in roots for t in postorder(root) if type(t) is Token and t.type == "NAME"]


def names_in(*roots: Node) -> list[str]:
    """The texts of the names in expressions."""
    return [t.text for t in names_of(*roots)]


def targets_of(statement: Statement) -> list[Token]:
    """The names that a statement assigns."""
    if isinstance(statement, Assign | For):
        return statement.targets
    if isinstance(statement, TupleAssign):
        return [t for t in statement.targets if t.text != "_"]
    return [statement.target] if isinstance(statement, TensorAssign) else []


def within(statement: Statement) -> Iterator[Statement]:
    """A statement and those inside of it, in order."""
    yield statement
    for inner in statement.body if isinstance(statement, Def | For) else ():
        yield from within(inner)


def tensor_names(tree: Tree) -> set[str]:
    """The names that stand before subscripts, and those of functions of tensors."""
    names: set[str] = set()
    for s in tree.statements:
        if type(s) is TensorAssign and s.subscripts is not None:
            names.add(s.target.text)
        elif type(s) is TupleAssign:
            names |= {t.text for t, subscripts in zip(s.targets, s.subscripts, strict=True) if subscripts is not None}
        elif type(s) is For:
            names |= {t.text for t in s.targets}
        elif isinstance(s, Declare):
            names |= {i.name.text for i in s.items if type(i.name) is Typed}
        elif isinstance(s, Def) and s.tensors:
            names |= {s.name.text, *(t.text for t in (*s.params, *s.results))}
            names |= {t.text for b in s.body if type(b) in (TensorAssign, TupleAssign, For) for t in targets_of(b)}
        elif type(s) is Assign and type(value := bare(s.values[0])) is Call:
            copied = value.name == "dup" and any(type(a) is Token and a.text in names for a in value.args)
            names |= {t.text for t in s.targets} if copied or value.name in names else set()
    return names
