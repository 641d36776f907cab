"""Expressions while they are read: operands with the operators between them, folded by the operators' levels.

The grammar has one rule for all operators (`grammar.lark` says why); here is the operator stack that gives them their
precedence, and what is said where operators cannot stand side by side.
"""
from __future__ import annotations

from typing import Any

from adcli.lang.ir.errors import AdError, Fix
from adcli.lang.tree.nodes import Node, Op, Token
from adcli.lang.tree.notation import ATOM, COMPARISON, INFIX, NOT, PRODUCT, TERNARY, UNARY

BINARY = {symbol: (name, level) for name, (symbol, level) in INFIX.items()}
BINARY |= {"||": BINARY["or"], "&&": BINARY["and"], "^": BINARY["**"], "%": ("rem", PRODUCT)}
PREFIX = {"-": ("neg", UNARY), "+": ("pos", UNARY), "not": ("not", NOT), "!": ("not", NOT)}
OPEN = -1
"""The level of a `?` whose `:` has not come yet: nothing folds across it."""
OUTER = -2
"""The level of what stands between two expressions and makes none: the `:` of a range, and `<=>`."""
MISPLACED = {":": ("':' without its '?'", "write c ? a : b"),
             "<=>": ("'<=>' belongs at the end of a tensor comprehension", "write C(i) = e <=> f(...)")}
THREE_BOUNDS = ("a range has two bounds, and an index goes by ones", "write k in 0:n, and 2*k where you need steps of 2")


class Chained(AdError):
    """a < b < c."""

    def __init__(self, operands: list[Node], symbols: tuple[str, str], span: tuple[int, int]) -> None:
        super().__init__("comparisons do not chain", span)
        self.operands, self.symbols = operands, symbols

    def quote(self, text: str) -> None:
        """Help that quotes the source text, which the callbacks do not see."""
        a, b, c = (text[n.start:n.end] for n in self.operands)
        first, second = self.symbols
        both = f"write {a} {first} {b} and {b} {second} {c}"
        self.help = both if len(both) <= 80 and "\n" not in both else "join two comparisons with and"
        self.fix = Fix(*self.span, both.removeprefix("write ")) if self.span else None

    def __reduce__(self) -> tuple[object, ...]:
        return AdError, (self.message, self.span, self.help, self.source, self.more)


class Chain:
    """Operands and the operators that wait for their right operand, with their levels."""

    __slots__ = ("nodes", "ops")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.ops: list[tuple[int, str, Token]] = []

    def fold(self) -> None:
        """Apply the last operator."""
        level, name, token = self.ops.pop()
        nodes = self.nodes
        right = nodes.pop()
        if level == TERNARY:
            middle, left = nodes.pop(), nodes.pop()
            nodes.append(Op("select", [left, middle, right], left.start, right.end))
        elif level == OUTER:
            second = name == ":" and any(other == ":" for _, other, _ in self.ops)
            what, help = THREE_BOUNDS if second else MISPLACED[name]
            raise AdError(what, token.span, help)
        elif level == OPEN:
            raise AdError("'?' without its ':'", token.span, "write c ? a : b")
        elif level in (UNARY, NOT):
            nodes.append(Op(name, [right], token.start, right.end))
        else:
            left = nodes.pop()
            if level == COMPARISON and type(left) is Op and left.name in INFIX and INFIX[left.name][1] == COMPARISON:
                raise Chained([*left.args, right], (INFIX[left.name][0], token.text), (left.start, right.end))
            nodes.append(Op(name, [left, right], left.start, right.end))

    def down_to(self, level: int) -> None:
        """Apply the operators that bind at least as tightly as `level`."""
        while self.ops and self.ops[-1][0] >= level:
            self.fold()


OTHER_LEVELS = {"select": TERNARY, "not": NOT, "neg": UNARY, "pos": UNARY, "rem": PRODUCT}


def level(node: Node) -> int:
    """The level of the operator that an expression is made by."""
    if not isinstance(node, Op):
        return ATOM
    return INFIX[node.name][1] if node.name in INFIX else OTHER_LEVELS[node.name]


def finished(chain: Any) -> Node:
    """The expression that a chain is once its last operand is there."""
    if type(chain) is not Chain:
        return chain
    while chain.ops:
        chain.fold()
    return chain.nodes[0]


def operand(chain: Chain, node: Node) -> Chain:
    chain.nodes.append(node)
    return chain


def open_chain(node: Any) -> Chain:
    return node if type(node) is Chain else Chain([node])


def two(chain: Any, between: str) -> tuple[Node, Node | None]:
    """The expressions before and behind what stands between them, where it does."""
    if type(chain) is Chain:
        chain.down_to(TERNARY)
        if [name for _, name, _ in chain.ops] == [between]:
            return chain.nodes[0], chain.nodes[1]
    return finished(chain), None
