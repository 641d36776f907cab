"""Constants of the language: number literals, `pi inf nan`, and the constant expressions of input declarations."""
from __future__ import annotations

import math

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import listed
from adcli.lang.syntax.scan import normal
from adcli.lang.tree.nodes import Assign, Call, Node, Token, bare, postorder

NAMED_CONSTANTS = {"pi": math.pi, "π": math.pi, "inf": math.inf, "nan": math.nan}
CONSTANTS_ELSEWHERE = listed("""
    e E: exp(1)
    PI Pi M_PI: pi
    Inf INF Infinity infinity oo: inf
    NaN NAN None: nan
    True true: 1
    False false: 0
""")
"""Spellings here of constants of other languages, whose names are inputs."""
ARITHMETIC = ("neg", "add", "sub", "mul", "div", "pow")
ALLOWED = "numbers, pi, inf and + - * / ** of them"
NEVER_HIDDEN = ("inf", "nan")
"""Constants that no variable may hide, because printed numbers use them."""


def number(token: Token, source: Source) -> float:
    """The double nearest to a literal."""
    text = token.text.replace("_", "")
    try:
        value = float.fromhex(text) if text[:2] in ("0x", "0X") else float(text)
    except OverflowError:
        value = math.inf
    if value == math.inf:
        raise AdError("this number is too large for a double", token.span,
                      "the largest is 1.7976931348623157e308; write inf for infinity", source)
    return value


def constant(root: Node, source: Source) -> float:
    """The value of a constant expression, in IEEE arithmetic."""
    stack: list[float] = []
    for node in postorder(root):
        if type(node) is Token:
            stack.append(leaf(node, source))
            continue
        assert not isinstance(node, Token)
        split = len(stack) - len(node.args)
        stack[split:] = [operate(node.name, stack[split:]) if type(node) is not Call else not_constant(node, source)]
    return stack[0]


def leaf(token: Token, source: Source) -> float:
    if token.type == "NUMBER":
        return number(token, source)
    return NAMED_CONSTANTS[token.text] if token.text in NAMED_CONSTANTS else not_constant(token, source)


def not_constant(node: Token | Call, source: Source) -> float:
    raise AdError("a default or a bound must be a constant", node.span,
                  ALLOWED, source)


def operate(name: str, args: list[float]) -> float:
    """One arithmetic operation on doubles, as the reference evaluator does it."""
    if name == "pos":
        return args[0]
    if name not in ARITHMETIC:
        raise AdError("a default or a bound must be a constant number", None, ALLOWED)
    from adcli.lang.evaluate import FLOAT  # few programs compute a default
    return float(FLOAT.functions[name](*args))


def constant_text(text: str) -> float:
    """The value of a constant expression given as text."""
    from adcli.lang.syntax.parse import parse_tree  # only for a text alone
    tree = parse_tree(normal(f"v = {text}", "number"))
    statement = tree.statements[0]
    if len(tree.statements) > 1:
        raise AdError("expected one number and nothing more")
    assert isinstance(statement, Assign)
    return constant(statement.values[0], tree.source)


def evaluated(node: Node, source: Source) -> float:
    """`constant`, with the place of the whole expression where the fault has none."""
    try:
        return constant(node, source)
    except AdError as fault:
        if fault.span is None:
            inner = bare(node)
            fault.span, fault.source = inner.span, source
        raise
