"""Expressions of Python as values: operators, comparisons, choices, names, subscripts and what stands in brackets."""
from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adcli.from_python.frame import PythonFrame, first_of, stacked, truth_as_number
from adcli.from_python.values import (
    Absent,
    Array,
    Defined,
    KnownDict,
    LibraryName,
    Method,
    PythonRange,
    Several,
    known,
    whole,
)
from adcli.lang.ir.affine import Affine, affine, floor
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.readers.names import CONSTANTS

OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul), ast.Div: ("div",
                                                                                                               operator.truediv),
    ast.Pow: ("pow", operator.pow), ast.Mod: ("mod", operator.mod), ast.FloorDiv: ("floordiv", operator.floordiv)}
COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", operator.lt), ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne)}
PLAIN = re.compile(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
"""Numbers that the language writes as Python does."""
LONGEST_SEQUENCE = 256
"""Elements of an array that is written out."""


class Expressions(PythonFrame):
    """The values of expressions."""

    def value(self, node: ast.expr) -> Any:
        """Any value."""
        visit = getattr(self, f"of_{type(node).__name__}", None)
        if visit is None:
            raise self.fault(node, f"{NOT_READ.get(type(node).__name__, 'this expression')} cannot be read")
        return visit(node)

    def array(self, node: ast.expr) -> Array:
        """A value that is a number or an array of them."""
        return self.as_array(self.value(node), node)

    def as_array(self, value: Any, node: ast.AST) -> Array:
        if isinstance(value, Array):
            return value
        if isinstance(value, Several) and value.items:
            parts = [truth_as_number(self, self.as_array(x, node), node) for x in value.items]
            if all(len(p.shape) == len(parts[0].shape) for p in parts):
                for p in parts[1:]:
                    for x, y in zip(parts[0].shape, p.shape, strict=True):
                        self.equal(x, y, node)
                return stacked(parts)
        if isinstance(value, Absent):
            raise self.fault(node, value.reason, value.help)
        raise self.fault(node, f"{told(value)} stands where a number is needed")

    def number(self, node: ast.expr) -> Array:
        """An array of numbers, truth values as 0 and 1."""
        return truth_as_number(self, self.array(node), node)

    def truth(self, node: ast.expr) -> Array:
        return self.as_truth(self.value(node), node)

    def as_truth(self, value: Any, node: ast.AST) -> Array:
        """A truth value; a number is true where it is not 0."""
        if value is None or isinstance(value, str | Several | KnownDict):
            return known(bool(value.items if isinstance(value, Several | KnownDict) else value), self.span(node))
        a = self.as_array(value, node)
        if a.truth:
            return a
        span = self.span(node)
        if a.constant is not None:
            return known(bool(a.constant), span)
        return self.apply(lambda x: Op("ne", [x[0], Token("NUMBER", "0", *span)], *span), [a], node, truth=True)

    def affine(self, node: ast.expr, what: str) -> Affine:
        """A whole number as a sum of sizes and indices: a subscript, or the bound of a loop."""
        return self.as_whole(self.value(node), node, what)

    def as_whole(self, value: Any, node: ast.AST, what: str) -> Affine:
        if isinstance(value, Array):
            if value.whole is not None:
                return value.whole
            self.settle_constant(value, node, True)
        raise self.fault(node, f"{what} depends on a value",
                         "it has to be made of numbers, sizes such as len(x), and indices of loops")

    def settle_constant(self, value: Array, node: ast.AST, needed: bool = False) -> None:
        """Take the one input that a number is made of for a constant, which it has to be where a number is `needed`."""
        names = [p for p in value.loose if p in self.reading.inputs]
        if not value.shape and len(names) == 1:
            default = self.reading.facts.given.get(names[0], self.reading.inputs[names[0]])
            if needed or (isinstance(default, int | float) and float(default).is_integer()):
                self.reading.learn_constant(names[0], node, default)

    # Constants and names.

    def of_Constant(self, node: ast.Constant) -> Any:
        span, value = self.span(node), node.value
        if isinstance(value, bool | int):
            return known(value, span)
        if isinstance(value, float):
            text = self.reading.source.text[span[0]:span[1]]
            token: Node = Token("NUMBER", text, *span)
            return Array((), lambda at: token, known=value) if PLAIN.fullmatch(text) and value < float("inf") else known(value,
                                                                                                                         span)
        if value is None or isinstance(value, str):
            return value
        raise self.fault(node, f"{type(value).__name__} {value!r} cannot be read", "numbers are real here")

    def of_Name(self, node: ast.Name) -> Any:
        if node.id in self.values:
            value = self.values[node.id]
            if isinstance(value, Absent):
                raise self.fault(node, f"'{node.id}' {value.reason}", value.help)
            return self.settled(value, self.span(node))
        found = self.reading.module_value(node.id, node)
        return self.settled(found, self.span(node))

    def of_Attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if isinstance(base, LibraryName):
            return self.in_library(base, node)
        if isinstance(base, Array):
            span = self.span(node)
            if node.attr in ("T", "mT"):
                return self.transposed(base)
            if node.attr == "shape":
                base = self.ranked(base, 1, node)
                return Several([whole(x, span) for x in base.shape])
            if node.attr == "ndim":
                return known(len(base.shape), span)
            if node.attr == "size":
                return self.count(self.ranked(base, 1, node), node)
        return Method(base, node.attr)

    def in_library(self, base: LibraryName, node: ast.Attribute) -> Any:
        span = self.span(node)
        if node.attr == "pi" and "pi" not in self.reading.top_inputs:
            return Array((), lambda at: Token("NAME", "pi", *span), known=CONSTANTS["pi"])
        if node.attr in CONSTANTS and base.path in ("math", "numpy", "jax.numpy", "torch", "autograd.numpy"):
            return known(CONSTANTS[node.attr], span)
        if node.attr == "newaxis":
            return None
        return LibraryName(f"{base.path}.{node.attr}")

    # Operators.

    def of_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.matrix_product(self.as_array(left, node.left), self.as_array(right, node.right), node)
        if isinstance(left, Several) and isinstance(right, Several) and isinstance(node.op, ast.Add) and left.kind == right.kind:
            return Several([*left.items, *right.items], left.kind)
        if isinstance(node.op, ast.Mult) and isinstance(left, Several) and left.kind != "array":
            return Several(left.items * (self.as_whole(right, node.right, "the number of elements").number or 0), left.kind)
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            name = "and" if isinstance(node.op, ast.BitAnd) else "or"
            span = self.span(node)
            both = [self.truth_of(v, n) for v, n in ((left, node.left), (right, node.right))]
            return self.apply(lambda x: Op(name, x, *span), both, node, truth=True)
        if type(node.op) not in OPERATORS:
            raise self.fault(node, "this operator cannot be read", "arithmetic is + - * / // % ** and @")
        return self.binary(type(node.op), self.as_array(left, node.left), self.as_array(right, node.right), node)

    def truth_of(self, value: Any, node: ast.AST) -> Array:
        a = self.as_array(value, node)
        return a if a.truth else self.refuse(node, "& and | are for truth values here", "compare: (x > 0) & (y > 0)")

    def binary(self, kind: type[ast.operator], left: Array, right: Array, node: ast.AST) -> Array:
        name, compute = OPERATORS[kind]
        left, right = (truth_as_number(self, a, node) for a in (left, right))
        span = self.span(node)
        if (both := whole_arithmetic(name, left.whole, right.whole)) is not None:
            return whole(both, span)
        a, b = left.constant, right.constant
        value = None
        if a is not None and b is not None:
            try:
                value = compute(a, b)
            except (ArithmeticError, ValueError):
                raise self.fault(node, "this has no value") from None
            if isinstance(a, int) and isinstance(b, int) and isinstance(value, int):
                return known(value, span)
        if name == "mod":
            make: Callable[[list[Node]], Node] = lambda x: Call("mod", x, *span)  # noqa: E731
        elif name == "floordiv":
            make = lambda x: Call("floor", [Op("div", x, *span)], *span)  # noqa: E731
        else:
            make = lambda x: Op(name, x, *span)  # noqa: E731
        made = self.apply(make, [left, right], node)
        made.known = value if isinstance(value, float) else None
        return made

    def of_UnaryOp(self, node: ast.UnaryOp) -> Array:
        span = self.span(node)
        if isinstance(node.op, ast.Not | ast.Invert):
            a = self.truth(node.operand)
            if a.known is not None:
                return known(not a.known, span)
            return self.apply(lambda x: Op("not", x, *span), [a], node, truth=True)
        a = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return a
        if a.whole is not None:
            return whole(-a.whole, span)
        made = self.apply(lambda x: Op("neg", x, *span), [a], node)
        made.known = None if a.known is None else -a.known
        return made

    def of_Compare(self, node: ast.Compare) -> Array:
        parts: list[Array] = []
        values = [self.value(n) for n in (node.left, *node.comparators)]
        nodes = [node.left, *node.comparators]
        for k, op in enumerate(node.ops):
            parts.append(self.compared(op, values[k], values[k + 1], (nodes[k], nodes[k + 1]), node))
        return self.all_of("and", parts, node)

    def compared(self, op: ast.cmpop, left: Any, right: Any, nodes: tuple[ast.expr, ast.expr], node: ast.AST) -> Array:
        span = self.span(node)
        if isinstance(op, ast.Is | ast.IsNot):
            return known((left is right) == isinstance(op, ast.Is), span)
        if isinstance(op, ast.In | ast.NotIn):
            raise self.fault(node, "'in' cannot be read", "compare with ==")
        name, compute = COMPARISONS[type(op)]
        if not isinstance(left, Array) and not isinstance(right, Array) and not isinstance(left, Several):
            return known(bool(compute(left, right)), span)
        a, b = self.as_array(left, nodes[0]), self.as_array(right, nodes[1])
        if a.constant is not None and b.constant is not None:
            return known(bool(compute(a.constant, b.constant)), span)
        a, b = (truth_as_number(self, x, node) for x in (a, b))
        return self.apply(lambda x: Op(name, x, *span), [a, b], node, truth=True)

    def all_of(self, name: str, parts: Sequence[Array], node: ast.AST) -> Array:
        """Truth values joined by `and` or `or`; known ones decide or drop out."""
        span = self.span(node)
        left: list[Array] = []
        for p in parts:
            if p.known is None:
                left.append(p)
            elif bool(p.known) == (name == "or"):
                return known(bool(p.known), span)
        if not left:
            return known(name == "and", span)
        found = left[0]
        for p in left[1:]:
            found = self.apply(lambda x: Op(name, x, *span), [found, p], node, truth=True)
        return found

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        name = "and" if isinstance(node.op, ast.And) else "or"
        first = self.value(node.values[0])
        if not isinstance(first, Array):   # a default: `scale or 1.0`
            return self.value(node.values[1]) if bool(first) == (name == "and") else first
        return self.all_of(name, [self.truth(n) for n in node.values], node)

    def of_IfExp(self, node: ast.IfExp) -> Any:
        c = self.truth(node.test)
        if c.known is not None:
            return self.value(node.body if c.known else node.orelse)
        found = self.choice(c, self.value(node.body), self.value(node.orelse), node)
        if isinstance(found, Absent):
            raise self.fault(node, "the arms of this choice are no numbers")
        return found

    # Sequences.

    def of_Tuple(self, node: ast.Tuple | ast.List) -> Several:
        items: list[Any] = []
        for n in node.elts:
            items += self.each(n.value) if isinstance(n, ast.Starred) else [self.value(n)]
        return Several(items, "list" if isinstance(node, ast.List) else "tuple")

    of_List = of_Tuple

    def of_Dict(self, node: ast.Dict) -> KnownDict:
        if any(k is None for k in node.keys):
            raise self.fault(node, "** in a dictionary cannot be read")
        return KnownDict({self.key(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None})

    def key(self, node: ast.expr) -> Any:
        value = self.value(node)
        found = value.constant if isinstance(value, Array) else value
        return found if isinstance(found, str | int) else self.refuse(node, "a key has to be known", "write a text or a number")

    def of_Lambda(self, node: ast.Lambda) -> Defined:
        return Defined(node, self.values)

    def of_Subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        if isinstance(base, KnownDict):
            key = self.key(node.slice)
            return base.items[key] if key in base.items else self.refuse(node, f"there is no key {key!r}")
        if isinstance(base, Several):
            return self.item(base, node)
        return self.taken(self.as_array(base, node.value), node)

    def item(self, base: Several, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Slice):
            low, high, step = (None if n is None else self.affine(n, "a slice").number for n in
                               (node.slice.lower, node.slice.upper, node.slice.step))
            return Several(base.items[low:high:step], base.kind)
        value = self.value(node.slice)
        if isinstance(value, Array) and value.whole is not None and (k := value.whole.number) is not None:
            if -len(base.items) <= k < len(base.items):
                return base.items[k]
            raise self.fault(node, f"there are {len(base.items)} elements, and none at {k}")
        return self.taken(self.as_array(base, node.value), node)

    def of_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        found: list[Any] = []
        if len(node.generators) == 1 and (made := self.indexed(node)) is not None:
            return made
        self.gather(node.generators, node.elt, found)
        return Several(found, "list")

    of_GeneratorExp = of_ListComp

    def gather(self, generators: Sequence[ast.comprehension], elt: ast.expr, found: list[Any]) -> None:
        """The elements of a comprehension one by one."""
        if not generators:
            found.append(self.value(elt))
            return
        g = generators[0]
        outer = dict(self.values)
        for item in self.each(g.iter):
            self.unpack(g.target, item, g.iter, quiet=True)
            conditions = [self.truth(n) for n in g.ifs]
            if any(c.known is None for c in conditions):
                raise self.fault(g.ifs[0], "a condition on values in a comprehension cannot be read",
                                 "write a choice: a if c else 0")
            if all(c.known for c in conditions):
                self.gather(generators[1:], elt, found)
        self.values.clear()
        self.values.update(outer)

    def each(self, node: ast.expr) -> list[Any]:
        """The elements of what is iterated over, where their number is known."""
        return self.each_of(self.value(node), node)

    def each_of(self, value: Any, node: ast.AST) -> list[Any]:
        span = self.span(node)
        if isinstance(value, PythonRange):
            low, high = value.low.number, value.high.number
            if low is None or high is None:
                raise self.fault(node, "the number of steps depends on a size",
                                 "in this place a loop needs bounds that are numbers")
            return [known(k, span) for k in range(low, high, value.step)]
        if isinstance(value, Several):
            return list(value.items)
        if isinstance(value, KnownDict):
            return list(value.items)
        if isinstance(value, Array):
            value = self.ranked(value, 1, node)
            n = value.shape[0].number
            if n is not None:
                return [first_of(value, affine(k)) for k in range(n)]
            raise self.fault(node, "the number of elements is not known here",
                             "write a loop over range(len(x)), or say the extent")
        raise self.fault(node, f"{told(value)} cannot be iterated over")

    def unpack(self, target: ast.expr, value: Any, node: ast.AST, quiet: bool = False) -> None:
        """Assign to a target. A `quiet` one makes no line."""
        if isinstance(target, ast.Name):
            if quiet:
                self.values[target.id] = value
            else:
                self.bind(target.id, value, node)
        elif isinstance(target, ast.Tuple | ast.List):
            items = self.parts(value, len(target.elts), node)
            for t, item in zip(target.elts, items, strict=True):
                self.unpack(t, item, node, quiet)
        else:
            self.store(target, value, node)

    def parts(self, value: Any, count: int, node: ast.AST) -> list[Any]:
        if isinstance(value, Array) and (not value.shape or value.shape[0].number is None):
            value = self.ranked(value, 1, node)
            self.equal(value.shape[0], affine(count), node)
        items = self.each_of(value, node)
        if len(items) != count:
            raise self.fault(node, f"{len(items)} values for {count} names")
        return items


NOT_READ = {"Await": "await", "Yield": "yield", "YieldFrom": "yield", "NamedExpr": "an assignment inside of an expression",
            "JoinedStr": "a formatted text", "Set": "a set", "SetComp": "a set", "DictComp": "a dictionary made in a loop",
            "Slice": "a slice here", "Starred": "an argument with *"}


def told(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "None"
    return {str: "a text", Several: "a list", KnownDict: "a dictionary", PythonRange: "a range", LibraryName: "a function",
            Defined: "a function",
            Method: "a method"}.get(type(value), "this")


def whole_arithmetic(name: str, a: Affine | None, b: Affine | None) -> Affine | None:
    """Arithmetic on whole numbers that are sums of sizes and indices, as far as it gives one."""
    if a is None or b is None or (a.number is not None and b.number is not None):
        return None
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul" and (a.number is not None or b.number is not None):
        return a * b.number if b.number is not None else b * (a.number or 0)
    if name == "floordiv" and b.number is not None and b.number > 0 and not a.indices():
        return floor(a, b.number)
    return None


def scalars_of(values: Sequence[Any]) -> Iterator[Array]:
    """The arrays among values, in order."""
    for v in values:
        if isinstance(v, Array):
            yield v
