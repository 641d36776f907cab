"""NlExpressions of .nl files: prefix notation as trees, and trees as expressions of the language."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.readers.draft import number

TRUTH = ("or", "and", "not", "lt", "le", "eq", "ge", "gt", "ne")
FUNCTIONS = {4: "fmod", 13: "floor", 14: "ceil", 15: "abs", 37: "tanh", 38: "tan", 39: "sqrt", 40: "sinh", 41: "sin", 42: "log10",
             43: "log", 44: "exp", 45: "cosh", 46: "cos", 47: "atanh", 48: "atan2", 49: "atan", 50: "asinh", 51: "asin",
             52: "acosh", 53: "acos"}
OPERATORS = {0: "add", 1: "sub", 2: "mul", 3: "div", 5: "pow", 16: "neg", 20: "or", 21: "and", 22: "lt", 23: "le", 24: "eq",
             28: "ge", 29: "gt", 30: "ne", 34: "not", 54: "add", 70: "and", 71: "or", 76: "pow", 78: "pow"}
LISTED = {11: "min", 12: "max"}
COUNTING = {62: "ge", 63: "le", 66: "eq", 67: "lt", 68: "gt", 69: "ne"}
"""Comparisons of a number, the second operand, with the first."""
ARITY = {**dict.fromkeys((13, 14, 15, 16, 34, *range(37, 48), *range(49, 54), 77), 1),
         **dict.fromkeys((0, 1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 28, 29, 30, 48, 55, 57, 58, 73, 76, 78, *COUNTING), 2),
         35: 3, 72: 3, **dict.fromkeys((11, 12, 54, 59, 60, 64, 70, 71), -1)}
"""The number of operands by opcode; -1 where it stands behind the opcode."""
REFUSED = {56: "precision(x, n)", 61: "numberof of texts", 65: "if with texts", 74: "alldiff", 75: "not alldiff", 79: "a call"}
LITERAL = {5: 1, 76: 1, 57: 1, 58: 1}
"""Operands that are part of the operation where they are numbers: exponents and numbers of digits."""


class NlPart(NamedTuple):
    """An operation on parts, of which a leaf has the kind n, v, e (a number that is part of the operation) or s (a sum that is
    named) and its number among the numbers of the expression."""

    operation: int
    parts: tuple[NlPart, ...] = ()
    leaf: str = ""
    number: int = -1


Refuse = Callable[[str, int], Exception]


def parsed(lines: Sequence[str], fault: Refuse) -> tuple[NlPart, int]:
    """The tree of an expression whose numbers are left out, and how many these are. `fault` makes an error at a line."""
    waiting: list[tuple[int, int, list[NlPart]]] = []
    leaves, at = 0, 0
    while True:
        word = lines[at].strip() if at < len(lines) else ""
        at += 1
        if word in ("=n", "=v"):
            found: NlPart | None = NlPart(-1, (), word[1:], leaves)
            leaves += 1
        else:
            operation = int(word[1:]) if word[:1] == "o" and word[1:].isdecimal() else -1
            if operation not in ARITY:
                raise unread(word, operation, fault, at - 1)
            wanted = ARITY[operation]
            if wanted < 0:
                count = lines[at].strip() if at < len(lines) else ""
                wanted = int(count) if count.isdecimal() else 0
                at += 1
                if not 0 < wanted <= len(lines):
                    raise fault(f"expected the number of operands of o{operation}", at - 1)
                wanted = 2 * wanted if operation == 64 else wanted
            waiting.append((operation, wanted, []))
            continue
        while waiting and found is not None:
            operation, wanted, parts = waiting[-1]
            if LITERAL.get(operation) == len(parts) and found.leaf == "n":
                found = NlPart(-1, (), "e", found.number)
            parts.append(found)
            found = NlPart(operation, tuple(parts)) if len(parts) == wanted else None
            if found:
                waiting.pop()
                if operation == 64 and (any(p.leaf != "n" for p in parts[:-1]) or parts[-1].leaf != "v"):
                    raise fault("a piecewise-linear term has numbers and a variable", at - 1)
        if found is not None:
            if any(line.strip() for line in lines[at:]):
                raise fault("expected the end of the expression", at)
            return found, leaves


def unread(word: str, operation: int, fault: Refuse, at: int) -> Exception:
    if operation in REFUSED:
        return fault(f"o{operation}, {REFUSED[operation]}, is not read", at)
    if word[:1] in ("f", "h"):
        return fault("imported functions are not read", at)
    return fault(f"expected an expression, which begins with o, n or v{f', not {word[:20]!r}' if word else ''}", at)


class NlExpressions:
    """Trees as expressions at a place, with these leaves."""

    def __init__(self, leaves: Sequence[Node], span: Span) -> None:
        self.leaves, self.span = leaves, span

    def op(self, name: str, *args: Node) -> Node:
        return Op(name, list(args), *self.span)

    def call(self, name: str, *args: Node) -> Node:
        return Call(name, list(args), *self.span)

    def constant(self, value: float) -> Node:
        return number(value, self.span)

    def truth(self, part: NlPart) -> Node:
        """A condition; a number is one where it is not 0."""
        made = self.made(part)
        return made if isinstance(made, Op) and made.name in TRUTH else self.op("ne", made, self.constant(0))

    def value(self, part: NlPart) -> Node:
        """A number; a condition is 1 where it holds."""
        made = self.made(part)
        true = isinstance(made, Op) and made.name in TRUTH
        return self.op("select", made, self.constant(1), self.constant(0)) if true else made

    def made(self, part: NlPart) -> Node:
        if part.leaf:
            return self.leaves[part.number]
        k, parts = part.operation, part.parts
        special: Callable[..., Node] | None = getattr(self, f"of_{k}", None)
        if special:
            return special(*parts)
        if k in COUNTING:
            return self.op(COUNTING[k], self.value(parts[1]), self.value(parts[0]))
        if k in FUNCTIONS:
            return self.call(FUNCTIONS[k], *map(self.value, parts))
        if k in LISTED:
            values = [self.value(p) for p in parts]
            return self.call(LISTED[k], *values) if len(values) > 1 else values[0]
        if k in (20, 21, 34, 70, 71):
            return self.joined(OPERATORS[k], [self.truth(p) for p in parts])
        return self.joined(OPERATORS[k], [self.value(p) for p in parts])

    def joined(self, name: str, nodes: Sequence[Node]) -> Node:
        """An operator between operands, one after another; signs are not written twice."""
        if name == "neg" or name == "not":
            return self.op(name, *nodes)
        first, *rest = nodes
        for node in rest:
            first = self.two(name, first, node)
        return first

    def two(self, name: str, x: Node, y: Node) -> Node:
        if name == "mul" and is_number(x, "1"):
            return y
        if name == "mul" and isinstance(x, Op) and x.name == "neg" and is_number(x.args[0], "1"):
            return self.op("neg", y)
        if name in ("add", "sub") and (negated := self.negated(y)):
            return self.op({"add": "sub", "sub": "add"}[name], x, negated)
        return self.op(name, x, y)

    def negated(self, node: Node) -> Node | None:
        """The node without the sign that it begins with; None where there is none."""
        if not isinstance(node, Op) or node.name not in ("neg", "mul", "div"):
            return None
        first = node.args[0] if node.name == "neg" else self.negated(node.args[0])
        return first if node.name == "neg" or first is None else self.op(node.name, first, node.args[1])

    def of_6(self, x: NlPart, y: NlPart) -> Node:
        return self.call("max", self.op("sub", self.value(x), self.value(y)), self.constant(0))

    def of_35(self, c: NlPart, x: NlPart, y: NlPart) -> Node:
        return self.op("select", self.truth(c), self.value(x), self.value(y))

    def of_55(self, x: NlPart, y: NlPart) -> Node:
        return self.call("trunc", self.op("div", self.value(x), self.value(y)))

    def of_57(self, x: NlPart, digits: NlPart) -> Node:
        return self.to_digits("round", x, digits)

    def of_58(self, x: NlPart, digits: NlPart) -> Node:
        return self.to_digits("trunc", x, digits)

    def to_digits(self, name: str, x: NlPart, digits: NlPart) -> Node:
        """Rounded to so many digits behind the point."""
        places = self.value(digits)
        if is_number(places, "0"):
            return self.call(name, self.value(x))
        scale = self.op("pow", self.constant(10), places)
        return self.op("div", self.call(name, self.op("mul", self.value(x), scale)), scale)

    def of_59(self, *parts: NlPart) -> Node:
        return self.joined("add", [self.value(p) for p in parts])

    def of_60(self, x: NlPart, *parts: NlPart) -> Node:
        one, none = self.constant(1), self.constant(0)
        return self.joined("add", [self.op("select", self.op("eq", self.value(p), self.value(x)), one, none) for p in parts])

    def of_64(self, *parts: NlPart) -> Node:
        """Slopes and breakpoints in turn, and a variable; the term is 0 at 0."""
        first, x = self.value(parts[0]), self.value(parts[-1])
        made = self.op("mul", first, x)
        for before, at, behind in zip(parts[0:-3:2], parts[1:-2:2], parts[2:-1:2], strict=True):
            b = self.value(at)
            bend = self.op("sub", self.call("max", self.op("sub", x, b), self.constant(0)),
                           self.call("max", self.op("neg", b), self.constant(0)))
            made = self.op("add", made, self.op("mul", self.op("sub", self.value(behind), self.value(before)), bend))
        return made

    def of_72(self, c: NlPart, x: NlPart, y: NlPart) -> Node:
        condition = self.truth(c)
        return self.op("or", self.op("and", condition, self.truth(x)), self.op("and", self.op("not", condition), self.truth(y)))

    def of_73(self, x: NlPart, y: NlPart) -> Node:
        a, b = self.truth(x), self.truth(y)
        return self.op("or", self.op("and", a, b), self.op("and", self.op("not", a), self.op("not", b)))

    def of_77(self, x: NlPart) -> Node:
        return self.op("pow", self.value(x), self.constant(2))


def is_number(node: Node, text: str) -> bool:
    return isinstance(node, Token) and node.type == "NUMBER" and float(node.text) == float(text)
