"""Text to source tree, and text to Program.

lark has made the LALR tables (`adcli.lang.syntax.grammar`); tokens are read one by one, and every rule's callback builds its
part of the source tree at once, so no parse tree exists and nothing recurses. A text without faults is read in one go. Where
that fails, tensor comprehensions that go on over several lines are put together (`adcli.lang.syntax.line_ends`); only after
a fault is a text read statement by statement (`adcli.lang.syntax.recover`), so that all faults are reported together.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.gc import paused
from adcli.lang.ir.notation import NOT, OR, POWER, TERNARY
from adcli.lang.syntax.chain import BINARY, OPEN, OUTER, PREFIX, Chain, Chained, finished, open_chain, operand
from adcli.lang.syntax.scan import scan
from adcli.lang.syntax.source import normal
from adcli.lang.syntax.tables import END, RULES, STATES
from adcli.lang.syntax.tensor_parse import TensorActions
from adcli.lang.syntax.tree import Assign, Call, Compute, Declare, Def, Group, Item, Node, Output, Statement, Token, Tree, Typed


def parse(text: str, name: str = "<text>") -> Program:
    """The program that a text says. Raises AdError with every fault found, at most 20."""
    return parse_source(normal(text, name))


def parse_source(source: Source) -> Program:
    """The same for a text that `decode` has made."""
    from adcli.lang.lower.program import lower
    tree, faults = read(source)
    return lower(tree, faults)


def parse_tree(source: Source) -> Tree:
    """The source tree of a text. Raises AdError with every fault of syntax found, at most 20."""
    tree, faults = read(source)
    if faults:
        raise together(faults)
    return tree


def together(faults: Iterable[AdError]) -> AdError:
    """Several errors as one, in order of their places; at most 20 of them."""
    first, *rest = sorted(faults, key=lambda e: e.span or (0, 0))[:20]
    first.more = tuple(rest)
    return first


@paused()
def read(source: Source) -> tuple[Tree, list[AdError]]:
    """The tree, with a Broken statement for each that has a fault, and the faults."""
    tokens, comments, names = scan(source.text)
    faults: list[AdError] = []
    try:
        statements = Reader(source).read(tokens)
    except (AdError, Unexpected):
        from adcli.lang.syntax.line_ends import laid_out
        from adcli.lang.syntax.recover import recover
        tensors = laid_out(tokens)
        if tensors is not None:
            names |= {t.text for t in tensors if t.type == "NAME"}
        try:
            if tensors is None:
                raise
            statements = Reader(source).read(tensors)
        except (AdError, Unexpected):
            statements, faults = recover(source)
    return Tree(source, statements, comments, names), faults


class Unexpected(Exception):
    """The token at `index` cannot follow the ones before it."""

    def __init__(self, index: int) -> None:
        self.index = index


class Reader:
    """Feeds tokens of one source to the grammar."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, tokens: list[Token]) -> list[Statement]:
        try:
            return statements(tokens)
        except AdError as fault:
            fault.source = self.source
            self.complete(fault)
            raise

    def complete(self, fault: AdError) -> None:
        """Help that quotes the source, which the callbacks do not see."""
        if isinstance(fault, Chained):
            a, b, c = (self.source.text[n.start:n.end] for n in fault.operands)
            first, second = fault.symbols
            fault.help = f"write {a} {first} {b} and {b} {second} {c}"
            if len(fault.help) > 80 or "\n" in fault.help:
                fault.help = "join two comparisons with and"


def statements(tokens: list[Token]) -> list[Statement]:
    """What the grammar's tables make of the tokens: an LALR parser, which folds each rule as soon as it is complete."""
    states: list[int] = [0]
    values: list[Any] = []
    for index, token in enumerate((*tokens, Token("$END", "", 0, 0))):
        kind = token.type
        while (what := STATES[states[-1]].get(kind, NOWHERE)) < 0:
            if what == NOWHERE:
                raise Unexpected(max(0, min(index, len(tokens) - 1)))
            symbol, length, callback = REDUCTIONS[~what]
            cut = len(values) - length
            parts = values[cut:]
            del values[cut:], states[cut + 1:]
            values.append(callback(parts))
            states.append(STATES[states[-1]][symbol])
            if states[-1] == END:
                return values[0]
        values.append(token)
        states.append(what)
    raise AssertionError("the tables accept no end")


Parts = list[Any]


class Actions(TensorActions):
    """The callbacks of the grammar, named as the rules are; each receives its parts in order."""

    def start(self, p: Parts) -> list[Statement]:
        return p[0]

    def first(self, p: Parts) -> Any:
        return p[0]

    def second(self, p: Parts) -> Any:
        return p[1]

    def no_lines(self, p: Parts) -> list[Statement]:
        return []

    none = no_lines

    def one(self, p: Parts) -> Parts:
        return [p[0]]

    def append(self, p: Parts) -> Parts:
        p[0].append(p[2])
        return p[0]

    def prepend(self, p: Parts) -> Parts:
        return [p[0], *p[2]]

    # Statements.

    def assign(self, p: Parts) -> list[Statement]:
        value = finished(p[3])
        p[0].append(Assign([p[1]], [value], p[1].start, value.end))
        return p[0]

    def line(self, p: Parts) -> list[Statement]:
        p[0].append(p[1])
        return p[0]

    def assign_results(self, p: Parts) -> Assign:
        value = finished(p[2])
        return Assign(p[0], [value], p[0][0].start, value.end)

    def assign_each(self, p: Parts) -> Assign:
        return Assign(p[0], [finished(p[3]), *p[5]], p[0][0].start, p[6].end)

    def assign_dup(self, p: Parts) -> Assign:
        name, argument = p[2], p[3]
        if name.text != "dup":
            raise AdError(f"an operator is missing between '{name.text}' and '{argument.text}'",
                          (argument.start, argument.end), f"write {name.text}*{argument.text}")
        return Assign(p[0], [Call("dup", [argument], name.start, argument.end)], p[0][0].start, argument.end)

    def declare(self, p: Parts) -> Declare:
        last = p[1][-1]
        end = max(n.end for n in (last.name, last.default, last.low, last.high) if n is not None)
        if type(last.name) is Typed:
            end = max(end, last.name.close)
        return Declare(p[0].text, p[1], p[0].start, end)

    def output(self, p: Parts) -> Output:
        return Output(p[1], p[0].start, p[1][-1].end)

    def def_line(self, p: Parts) -> Def:
        value = finished(p[4])
        return Def(p[1], p[2], [], [], value, value.start, p[0].start, value.end)

    def def_block(self, p: Parts) -> Def:
        for inner in p[6]:
            if not isinstance(inner, Assign | Compute):
                raise AdError("inside a function there are only assignments", (inner.start, inner.end),
                              "move it out of the braces")
        return Def(p[1], p[2], p[4], p[6], None, p[5].start, p[0].start, p[7].end)

    # Declarations of inputs.

    def item(self, p: Parts) -> Item:
        return Item(p[0])

    def item_default(self, p: Parts) -> Item:
        return Item(p[0], finished(p[2]))

    def item_range(self, p: Parts) -> Item:
        return Item(p[0], None, *p[2])

    def item_default_range(self, p: Parts) -> Item:
        return Item(p[0], finished(p[2]), *p[4])

    def item_range_default(self, p: Parts) -> Item:
        return Item(p[0], finished(p[4]), *p[2])

    def range(self, p: Parts) -> tuple[Node, Node]:
        return finished(p[1]), finished(p[3])

    # Operands.

    def arg(self, p: Parts) -> list[Node]:
        return [finished(p[0])]

    def more_args(self, p: Parts) -> list[Node]:
        p[0].append(finished(p[2]))
        return p[0]

    def group(self, p: Parts) -> Group:
        return Group(finished(p[1]), p[0].start, p[2].end)

    def call(self, p: Parts) -> Call:
        return Call(p[0].text, p[2], p[0].start, p[3].end)

    def call_empty(self, p: Parts) -> Call:
        return Call(p[0].text, [], p[0].start, p[2].end)

    def operand(self, p: Parts) -> Chain:
        p[0].nodes.append(p[1])
        return p[0]

    def operand_group(self, p: Parts) -> Chain:
        return operand(p[0], Group(finished(p[2]), p[1].start, p[3].end))

    def operand_call(self, p: Parts) -> Chain:
        return operand(p[0], Call(p[1].text, p[3], p[1].start, p[4].end))

    def operand_call_empty(self, p: Parts) -> Chain:
        return operand(p[0], Call(p[1].text, [], p[1].start, p[3].end))

    # Operators.

    def operator(self, p: Parts) -> Chain:
        chain, token = open_chain(p[0]), p[1]
        if token.text == "<=>":
            chain.down_to(OPEN)
            chain.ops.append((OUTER, "<=>", token))
            return chain
        name, level = BINARY[token.text]
        chain.down_to(level + (level == POWER))
        chain.ops.append((level, name, token))
        return chain

    def query(self, p: Parts) -> Chain:
        chain = open_chain(p[0])
        chain.down_to(OR)
        chain.ops.append((OPEN, "?", p[1]))
        return chain

    def colon(self, p: Parts) -> Chain:
        chain, token = open_chain(p[0]), p[1]
        chain.down_to(TERNARY)
        if not chain.ops or chain.ops[-1][0] != OPEN:
            chain.ops.append((OUTER, ":", token))
            return chain
        chain.ops[-1] = (TERNARY, "select", token)
        return chain

    def prefix(self, p: Parts) -> Chain:
        return self.prefix_again([Chain([]), p[0]])

    def prefix_again(self, p: Parts) -> Chain:
        chain, token = p
        name, level = PREFIX[token.text]
        if level == NOT and chain.ops and chain.ops[-1][0] > NOT:
            raise AdError(f"'{token.text}' binds less tightly than the operator before it", (token.start, token.end),
                          "put parentheses around it: (not a)")
        chain.ops.append((level, name, token))
        return chain


NOWHERE = -1 - len(RULES)
ACTIONS = Actions()
REDUCTIONS = [(symbol, length, getattr(ACTIONS, callback)) for symbol, length, callback in RULES]
"""The rules of the grammar with what they do."""
