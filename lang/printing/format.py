"""The source tree back to text: the canonical form of `fmt`, in infix or prefix notation.

Canonical: one statement a line, the fewest parentheses that keep the order of every operation, at most one blank line
in a row, number literals as written, every comment kept (one that stood inside a statement moves above it). Text is
collected in pieces from a stack of what is still to be written, so deep and long expressions take linear time.
"""
from __future__ import annotations

from collections.abc import Iterable

from adcli.lang.ir.records import paused, plain_record
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
    Clause,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Item,
    Node,
    Objective,
    Op,
    Parens,
    Relation,
    Statement,
    SubjectTo,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    Typed,
    tensor_names,
)
from adcli.lang.tree.notation import ALIASES, ATOM, COMPARISON, INDENT, INFIX, NOT, OR, POWER, PRODUCT, TERNARY, UNARY

COUNTS = {**dict.fromkeys(INFIX, 2), "neg": 1, "not": 1, "select": 3}
"""Operations that have an operator, with their number of operands."""

Unwritten = str | tuple[Node, int]
"""Text, or an expression still to be written and the least level that needs no parentheses there."""


@paused()
def format_tree(tree: Tree, style: str = "infix") -> str:
    """The canonical text of a tree. `style` is "infix" or "prefix" (operations as calls)."""
    writer = TreeWriter(style, {s.name.text for s in tree.statements if isinstance(s, Def)} | tensor_names(tree))
    return merged(tree, [e for s in tree.statements for e in writer.statement(s, "")])


@plain_record
class TextLine:
    """A line to be written for the source text `start`..`end`; `edge` joins it to the line before or after it."""

    start: int
    end: int
    indent: str
    text: str
    opens: bool = False
    closes: bool = False


def merged(tree: Tree, lines: list[TextLine]) -> str:
    """The lines with the comments of the source between and behind them, and its blank lines."""
    place, comments, at = tree.source.place, tree.comments, 0
    out: list[str] = []
    last, opened = 0, True   # the source line that was written last, and whether no blank line may follow it

    def add(text: str, first: int, final: int, closes: bool = False) -> None:
        nonlocal last, opened
        if first > last + 1 and not opened and not closes:
            out.append("\n")
        out.append(text)
        last, opened = max(last, final), False

    for index, line in enumerate(lines):
        first, final = place(line.start)[0], place(max(line.start, line.end - 1))[0]
        while at < len(comments) and comments[at].start < line.end:
            own = min(first, place(comments[at].start)[0])
            deeper = INDENT if line.closes else ""
            add(f"{line.indent}{deeper}{comments[at].text}\n", own, own)
            at += 1
        add(f"{line.indent}{line.text}", first, final, line.closes)
        following = lines[index + 1].start if index + 1 < len(lines) else len(tree.source.text) + 1
        if at < len(comments) and comments[at].start < following and place(comments[at].start)[0] == final:
            out.append(f"  {comments[at].text}")
            at += 1
        out.append("\n")
        opened = line.opens
    for comment in comments[at:]:
        own = place(comment.start)[0]
        add(f"{comment.text}\n", own, own)
    return "".join(out)


class TreeWriter:
    """Writes statements and expressions in one style. Operations that a user's function hides stay operators."""

    def __init__(self, style: str, own: set[str]) -> None:
        self.prefix, self.own = style == "prefix", own

    def statement(self, statement: Statement, indent: str) -> list[TextLine]:
        start, end = statement.start, statement.end
        if isinstance(statement, For) or (isinstance(statement, Def) and statement.value is None):
            return self.block(statement, indent)
        return [TextLine(start, end, indent, "".join(self.simple(statement)))]

    def simple(self, statement: Statement) -> Iterable[str]:
        match statement:
            case Assign():
                return [joined(statement.targets, tuple_of=len(statement.targets) > 1), " = ", *self.values(statement)]
            case TensorAssign():
                return self.compute(statement)
            case TupleAssign():
                return self.elements(statement)
            case Declare():
                return [statement.keyword, " ", ", ".join(self.item(i) for i in statement.items)]
            case DeclareOutputs():
                return ["output ", joined(statement.names)]
            case Objective():
                return [f"{statement.word.text} ", *self.expression(statement.value)]
            case SubjectTo():
                return ["subject to ", ", ".join(map(self.relation, statement.relations)), *self.conditions(statement.clauses)]
            case Def(value=value):
                head = f"def {statement.name.text}({joined(statement.params)}) = "
                return [head, *self.expression(value)] if value is not None else [head]
        return []

    def block(self, block: Def | For, indent: str) -> list[TextLine]:
        head = f"{self.head(block) if isinstance(block, Def) else self.header(block)} {{"
        inner = [line for s in block.body for line in self.statement(s, indent + INDENT)]
        return [TextLine(block.start, block.brace + 1, indent, head, opens=True), *inner,
                TextLine(block.end - 1, block.end, indent, "}", closes=True)]

    def head(self, d: Def) -> str:
        params, results = (", ".join(self.typed(t) for t in names) for names in (d.params, d.results))
        return f"def {d.name.text}({params}) -> ({results})"

    def header(self, s: For) -> str:
        low, high = ("".join(self.expression(n)) for n in (s.low, s.high))
        until = ["until " + "".join(self.expression(s.until))] if s.until is not None else []
        words = [word for word, there in (("down", s.down), ("checkpoint", s.checkpoint)) if there]
        return " ".join([f"for {s.step.text} in {low}:{high}", *words[:s.down], *until, *words[s.down:]])

    def values(self, statement: Assign | TupleAssign) -> list[str]:
        if len(statement.values) == 1:
            return self.expression(statement.values[0])
        pieces = ["("]
        for value in statement.values:
            pieces += self.expression(value)
            pieces.append(", ")
        pieces[-1] = ")"
        return pieces

    def item(self, item: Item) -> str:
        """An input; its constants are always written with operators, as only those are allowed there."""
        infix = TreeWriter("infix", self.own)
        text = item.name.text
        if type(item.name) is Typed:
            extents = self.listed(item.name.extents) if item.name.extents is not None else ""
            text = (f"{item.name.element.text} " if item.name.element else "") + text + extents
        if item.default is not None:
            text += f" = {''.join(infix.expression(item.default))}"
        if item.low is not None and item.high is not None:
            text += f" in [{''.join(infix.expression(item.low))}, {''.join(infix.expression(item.high))}]"
        return f"{text} in {item.constraint.text}" if item.constraint is not None else text

    # Tensors.

    def compute(self, s: TensorAssign) -> list[str]:
        subscripts = self.listed(s.subscripts) if s.subscripts is not None else ""
        pieces = [f"{self.typed(s.target)}{subscripts} {s.symbol} ", *self.expression(s.value)]
        if s.same is not None:
            pieces += [" <=> ", *self.expression(s.same)]
        return [*pieces, *self.conditions(s.clauses)]

    def elements(self, s: TupleAssign) -> list[str]:
        targets = [t.text + (self.listed(nodes) if nodes is not None else "")
                   for t, nodes in zip(s.targets, s.subscripts, strict=True)]
        return [f"({', '.join(targets)}) = ", *self.values(s), *self.conditions(s.clauses)]

    def conditions(self, clauses: list[Clause]) -> list[str]:
        return [piece for position, clause in enumerate(clauses)
                for piece in (", " if position else " where ", *self.clause(clause))]

    def clause(self, c: Clause) -> list[str]:
        values = ["".join(self.expression(n)) for n in c.nodes]
        if c.name is None:
            return [f"exists {values[0]}" if c.kind == "exists" else values[0]]
        if c.kind == "shape":
            return [self.typed(c.name)]
        return [f"{c.name.text} in {values[0]}:{values[1]}" if c.kind == "range" else f"{c.name.text} = {values[0]}"]

    def relation(self, r: Relation) -> str:
        first, *rest = ("".join(self.expression(part, COMPARISON + 1)) for part in r.parts)
        return first + "".join(f" {sign.text} {part}" for sign, part in zip(r.signs, rest, strict=True))

    def typed(self, token: Token) -> str:
        """A name, with its type before it where it has one."""
        if type(token) is not Typed or token.element is None:
            return token.text
        return f"{token.element.text}{self.listed(token.extents) if token.extents is not None else ''} {token.text}"

    def listed(self, nodes: list[Node]) -> str:
        """Subscripts of what is assigned, and extents: with operators, as a step of a loop is read from them."""
        infix = TreeWriter("infix", self.own)
        return f"({', '.join(''.join(infix.expression(n)) for n in nodes)})"

    # Expressions.

    def expression(self, root: Node, least: int = TERNARY) -> list[str]:
        """The pieces of an expression's text, in parentheses below a level."""
        pieces: list[str] = []
        stack: list[Unwritten] = [(root, least)]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                pieces.append(part)
                continue
            node = core(part[0])
            if type(node) is Token:
                pieces.append(node.text)
                continue
            assert isinstance(node, Op | Call)
            parts, level = self.shape(node)
            if level < part[1]:
                parts = ["(", *parts, ")"]
            stack += reversed(parts)
        return pieces

    def shape(self, node: Op | Call) -> tuple[list[Unwritten], int]:
        """An operation as text around its operands, and the level of that text."""
        name, args = node.name, node.args
        if name == LIST:
            return ["[", *called("", args)[1:-1], "]"], ATOM
        name = ALIASES.get(name, name) if type(node) is Op or name not in self.own else name
        operator = type(node) is Op or (COUNTS.get(name) == len(args) and name not in self.own)
        if name == "neg" and operator:
            return self.negation(node)
        if not operator or (self.prefix and name not in self.own and name != "rem"):
            return called(name, args), NOT if name == "not" and operator else ATOM
        if name == "select":
            return [(args[0], OR), " ? ", (args[1], OR), " : ", (args[2], TERNARY)], TERNARY
        if name == "not":
            return ["not ", (args[0], NOT)], NOT
        symbol, level = INFIX.get(name, ("%", PRODUCT))   # a remainder has no other spelling
        left = {POWER: ATOM, COMPARISON: COMPARISON + 1}.get(level, level)
        right = UNARY if level == POWER else level + 1
        return [(args[0], left), "**" if level == POWER else f" {symbol} ", (args[1], right)], level

    def negation(self, node: Op | Call) -> tuple[list[Unwritten], int]:
        """A sign before a constant is part of it, while `neg(2)` is an operation: neither may become the other."""
        signs, inner = 0, node.args[0]
        while type(inner := core(inner)) is Op and inner.name == "neg":
            signs, inner = signs + 1, inner.args[0]
        constant = type(inner) is Token and (inner.type == "NUMBER" or inner.text in NAMED_CONSTANTS)
        if type(node) is Op:
            if constant or not self.prefix or "neg" in self.own:
                return ["-" * (signs + 1), (inner, UNARY)], UNARY
            return ["neg(" * (signs + 1), (inner, TERNARY), ")" * (signs + 1)], ATOM
        if constant or self.prefix:
            return called("neg", node.args), ATOM
        return ["-", (node.args[0], UNARY)], UNARY


def core(node: Node) -> Node:
    """The node without parentheses and unary plus, which do nothing."""
    while isinstance(node, Parens) or (isinstance(node, Op) and node.name == "pos"):
        node = node.inner if isinstance(node, Parens) else node.args[0]
    return node


def called(name: str, args: list[Node]) -> list[Unwritten]:
    parts: list[Unwritten] = [f"{name}("]
    for arg in args:
        parts += [(arg, TERNARY), ", "]
    if args:
        parts.pop()
    return [*parts, ")"]


def joined(tokens: list[Token], tuple_of: bool = False) -> str:
    text = ", ".join(t.text for t in tokens)
    return f"({text})" if tuple_of else text
