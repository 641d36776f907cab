"""Expressions of Python as values: operators, comparisons, choices, names, subscripts and what stands in brackets."""
from __future__ import annotations

import ast
import operator
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from adcli.from_python.arrays import OPERATORS, SUBSCRIPT, Arrays, Compute, told
from adcli.from_python.frame import ZERO
from adcli.from_python.values import (
    Absent,
    Array,
    Defined,
    Indexed,
    KnownDict,
    LibraryName,
    Method,
    PythonRange,
    Several,
    every_turn,
    first_of,
    stacked,
)
from adcli.lang.ir.affine import Affine, Index, affine, exact_quotient, floor, product
from adcli.lang.tree.nodes import Token
from adcli.readers.names import CONSTANTS

COMPARISONS: dict[type[ast.cmpop], tuple[str, Compute]] = {
    ast.Lt: ("lt", operator.lt), ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne)}
LOGICAL: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or"}
PLAIN = re.compile(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
"""Numbers that the language writes as Python does."""


class Expressions(Arrays):
    """The values of expressions."""

    def value(self, node: ast.expr) -> Any:
        """Any value."""
        outer, self.reading.part = self.reading.part, node   # as `at` does, with one call less for each level of nesting
        try:
            return getattr(self, f"of_{type(node).__name__}", self.not_read)(node)
        finally:
            self.reading.part = outer

    def not_read(self, node: ast.expr) -> NoReturn:
        raise self.fault(f"{NOT_READ.get(type(node).__name__, 'this expression')} cannot be read")

    def array(self, node: ast.expr) -> Array:
        """An array of numbers or of truth values."""
        return self.at(node, self.as_array, self.value(node))

    def number(self, node: ast.expr) -> Array:
        """An array of numbers, truth values as 0 and 1."""
        return self.at(node, self.as_number, self.array(node))

    def truth(self, node: ast.expr) -> Array:
        return self.at(node, self.as_truth, self.value(node))

    def affine(self, node: ast.expr, what: str) -> Affine:
        """A whole number as a sum of sizes and indices: a subscript, or the bound of a loop."""
        return self.at(node, self.as_whole, self.value(node), what)

    # Constants and names.

    def of_Constant(self, node: ast.Constant) -> Any:
        span, value = self.here, node.value
        if value is None or value is Ellipsis or isinstance(value, str):
            return value
        if not isinstance(value, int | float):
            raise self.fault(f"{type(value).__name__} {value!r} cannot be read", "numbers are real here")
        text = self.reading.source.text[span[0]:span[1]]
        if isinstance(value, float) and PLAIN.fullmatch(text) and value < float("inf"):
            return Array((), lambda at: Token("NUMBER", text, *span), known=value)
        return self.known(value)

    def of_Name(self, node: ast.Name) -> Any:
        own = node.id in self.values
        value = self.values[node.id] if own else self.reading.module_value(node.id)
        if own and isinstance(value, Absent):
            raise self.fault(f"'{node.id}' {value.reason}", value.help)
        if self.closed and not own and isinstance(value, Array | Several | KnownDict):
            if not isinstance(value, Array) or value.constant is None:
                raise self.fault("a value of the file that is no number")
            return self.known(value.constant)
        return self.settled(value)

    def of_Attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if isinstance(base, LibraryName):
            return self.in_library(base.path, node.attr)
        if isinstance(base, Array):
            if node.attr in ("T", "mT"):
                return self.transposed(base)
            if node.attr == "shape":
                return Several([*map(self.whole, self.ranked(base, 1).shape)])
            if node.attr == "ndim":
                return self.known(len(base.shape))
            if node.attr == "size":
                return self.call_size(base)
        return Method(base, node.attr)

    def in_library(self, path: str, name: str) -> Any:
        span = self.here
        if name == "pi" and "pi" not in self.reading.top_inputs:
            return Array((), lambda at: Token("NAME", "pi", *span), known=CONSTANTS["pi"])
        if name in CONSTANTS and path in ("math", "numpy", "jax.numpy", "torch", "autograd.numpy"):
            return self.known(CONSTANTS[name])
        return None if name == "newaxis" else LibraryName(f"{path}.{name}")

    # Operators.

    def of_BinOp(self, node: ast.BinOp) -> Any:
        return self.combined(type(node.op), (self.value(node.left), node.left), (self.value(node.right), node.right))

    def combined(self, op: type[ast.operator], *operands: tuple[Any, ast.expr]) -> Any:
        """Two values, each with its place, joined by an operator."""
        (left, _), (right, at_right) = operands
        if op is ast.Add and isinstance(left, Several) and isinstance(right, Several) and left.kind == right.kind:
            return Several([*left.items, *right.items], left.kind)
        if op is ast.Mult and isinstance(left, Several):
            times = self.at(at_right, self.as_whole, right, "the number of elements").number
            return Several(left.items * (times or 0), left.kind)
        a, b = both = [self.at(n, self.as_array, v) for v, n in operands]
        if op is ast.MatMult:
            return self.matrix_product(a, b)
        if op in LOGICAL:
            for x, (_, n) in zip(both, operands, strict=True):
                if not x.truth:
                    raise self.fault("& and | are for truth values here", "compare: (x > 0) & (y > 0)", n)
            return self.operation(LOGICAL[op], *both)
        if op not in OPERATORS:
            raise self.fault("this operator cannot be read", "arithmetic is + - * / // % ** and @")
        return self.binary(op, a, b)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Array:
        if isinstance(node.op, ast.Not | ast.Invert):
            a = self.truth(node.operand)
            return self.operation("not", a) if a.known is None else self.known(not a.known)
        a = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return a
        if a.whole is not None:
            return self.whole(-a.whole)
        made = self.operation("neg", a)
        made.known = None if a.known is None else -a.known
        return made

    def of_Compare(self, node: ast.Compare) -> Array:
        nodes = [node.left, *node.comparators]
        values = [self.value(n) for n in nodes]
        pairs = zip(node.ops, values, values[1:], nodes, nodes[1:], strict=False)
        return self.all_of("and", [self.compared(*pair) for pair in pairs])

    def compared(self, op: ast.cmpop, left: Any, right: Any, left_node: ast.expr, right_node: ast.expr) -> Array:
        if isinstance(op, ast.Is | ast.IsNot):
            return self.known((left is right) == isinstance(op, ast.Is))
        if isinstance(op, ast.In | ast.NotIn):
            raise self.fault("'in' cannot be read", "compare with ==")
        name, compute = COMPARISONS[type(op)]
        if not isinstance(left, Array) and not isinstance(right, Array) and not isinstance(left, Several):
            return self.known(bool(compute(left, right)))
        a, b = self.at(left_node, self.as_array, left), self.at(right_node, self.as_array, right)
        if a.constant is not None and b.constant is not None:
            return self.known(bool(compute(a.constant, b.constant)))
        return self.operation(name, self.as_number(a), self.as_number(b))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        name = "and" if isinstance(node.op, ast.And) else "or"
        first = self.value(node.values[0])
        if not isinstance(first, Array):   # a default: `scale or 1.0`
            return self.value(node.values[1]) if bool(first) == (name == "and") else first
        return self.all_of(name, [self.truth(n) for n in node.values])

    def of_IfExp(self, node: ast.IfExp) -> Any:
        c = self.truth(node.test)
        if c.known is not None:
            return self.value(node.body if c.known else node.orelse)
        found = self.choice(c, self.value(node.body), self.value(node.orelse))
        if isinstance(found, Absent):
            raise self.fault("the arms of this choice are no numbers")
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
            raise self.fault("** in a dictionary cannot be read")
        return KnownDict({self.key(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None})

    def key(self, node: ast.expr) -> Any:
        value = self.value(node)
        found = value.constant if isinstance(value, Array) else value
        if not isinstance(found, str | int):
            raise self.fault("a key has to be known", "write a text or a number", node)
        return found

    def of_Lambda(self, node: ast.Lambda) -> Defined:
        return Defined(node, self.values)

    def of_Subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        if isinstance(base, KnownDict):
            return self.entry_of(base, node)
        if isinstance(base, Several):
            return self.item(base, node)
        return self.taken(self.at(node.value, self.as_array, base), node)

    def entry_of(self, base: KnownDict, node: ast.Subscript) -> Any:
        if (key := self.key(node.slice)) not in base.items:
            raise self.fault(f"there is no key {key!r}")
        return base.items[key]

    def item(self, base: Several, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Slice):
            low, high, step = (None if n is None else self.affine(n, "a slice").number for n in
                               (node.slice.lower, node.slice.upper, node.slice.step))
            return Several(base.items[low:high:step], base.kind)
        value = self.value(node.slice)
        if isinstance(value, Array) and value.whole is not None and (k := value.whole.number) is not None:
            if -len(base.items) <= k < len(base.items):
                return self.settled(base.items[k])
            raise self.fault(f"there are {len(base.items)} elements, and none at {k}")
        return self.taken(self.at(node.value, self.as_array, base), node)

    def taken(self, a: Array, node: ast.Subscript) -> Any:
        """x[i], x[1:], x[:, 0], x[None, :], x[i, j]."""
        parts = subscripts_of(node)
        values = [p if isinstance(p, ast.Slice) else self.value(p) for p in parts]
        counted = sum(v is not None and v is not Ellipsis for v in values)
        a = self.ranked(a, max(counted, 1))
        if Ellipsis in values:
            k = values.index(Ellipsis)
            values[k:k + 1] = [ast.Slice()] * (len(a.shape) - counted)
        for v, p in zip(values, parts, strict=False):
            if isinstance(v, Several) or (isinstance(v, Array) and v.shape):
                raise self.fault("an array as a subscript cannot be read", "write the elements, or a loop over indices", p)
        while values and a.items is not None and isinstance(values[0], Array) and values[0].whole is not None and (
                at := self.inside(values[0].whole, a.shape[0])).number is not None:
            a, values = first_of(a, at), values[1:]
        if not values:
            return self.settled(a)
        if len(values) == 1 and a.items is not None and isinstance(values[0], ast.Slice):
            low, extent, step = self.bounds(values[0], a.shape[0])
            if low.number is not None and (extent.number or 0) > 0:
                return stacked([a.items[low.number + k * step] for k in range(extent.number or 0)])
        a = self.one_array(a)
        extents = iter(a.shape)
        return self.sliced(a, [None if v is None else self.bounds(v, next(extents)) if isinstance(v, ast.Slice) else
                               self.inside(self.as_whole(v, SUBSCRIPT), next(extents)) for v in values])

    def bounds(self, s: ast.Slice, extent: Affine) -> tuple[Affine, Affine, int]:
        """Where a slice starts, how many elements it has, and its step."""
        step = 1 if s.step is None else self.affine(s.step, "a step").number
        if step is None or step == 0 or (step < 0 and (s.lower or s.upper)):
            raise self.fault("this step cannot be read", "a step is a number; a negative one stands alone, x[::-1]", s.step or s)
        if step < 0:
            return extent - 1, floor(extent - 1 - step, -step) if step != -1 else extent, step
        low, high = (None if n is None else self.affine(n, "the bound of a slice") for n in (s.lower, s.upper))
        low, high = (None if x is None else extent + x if (x.number or 0) < 0 else x for x in (low, high))
        low, high = low or ZERO, high or extent
        if high.number is not None and extent.number is not None:
            high = affine(min(high.number, extent.number))
        length = high - low
        return low, length if step == 1 else floor(length + step - 1, step), step

    def turns(self, value: Any) -> Indexed | None:
        """The items of a loop, where their number is a size or a sum of sizes."""
        if isinstance(value, Array) and not value.shape and value.loose:
            value = self.ranked(value, 1)
        if isinstance(value, Indexed):
            return value
        if isinstance(value, PythonRange) and ((length := value.high - value.low).number is None or value.step.number is None):
            down = (value.step.number or 1) < 0
            length, by = (-length, -value.step) if down else (length, value.step)
            turns = exact_quotient(length, by)
            return Indexed(floor(length + by - 1, by) if turns is None else turns,
                           lambda t: self.whole(value.low + product(t, value.step)),
                           (lambda t: self.whole(value.high + 1 + t)) if value.step.number == -1 else None)
        if isinstance(value, Array) and value.shape and value.shape[0].number is None:
            return Indexed(value.shape[0], lambda t: first_of(value, t))
        return None

    def indexed(self, node: ast.ListComp | ast.GeneratorExp) -> Array | None:
        g = node.generators[0]
        over = None if g.ifs else self.at(g.iter, self.turns, self.value(g.iter))
        if over is None:
            return None
        t = Index("t")
        frame = self.turn(t, over.extent)
        self.at(g.iter, frame.unpack, g.target, over.item(affine(t)), True)
        made = frame.one_array(frame.number(node.elt))
        self.lines += frame.lines
        return every_turn(t, over.extent, made)

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
            self.at(g.iter, self.unpack, g.target, item, True)
            conditions = [self.truth(n) for n in g.ifs]
            if any(c.known is None for c in conditions):
                raise self.fault("a condition on values in a comprehension cannot be read", "write a choice: a if c else 0",
                                 g.ifs[0])
            if all(c.known for c in conditions):
                self.gather(generators[1:], elt, found)
        self.values.clear()
        self.values.update(outer)

    def each(self, node: ast.expr) -> list[Any]:
        """The elements of what is iterated over, where their number is known."""
        return self.at(node, self.each_of, self.value(node))

    def each_of(self, value: Any) -> list[Any]:
        if isinstance(value, PythonRange):
            low, high = value.low.number, value.high.number
            if low is None or high is None or value.step.number is None:
                raise self.fault("the number of steps depends on a size", "in this place a loop needs bounds that are numbers")
            return [*map(self.known, range(low, high, value.step.number))]
        if isinstance(value, Several | KnownDict):
            return list(value.items)
        if isinstance(value, Array):
            value = self.ranked(value, 1)
            n = value.shape[0].number
            if n is None:
                raise self.fault("the number of elements is not known here", "write a loop over range(len(x)), or say the extent")
            return [first_of(value, affine(k)) for k in range(n)]
        raise self.fault(f"{told(value)} cannot be iterated over")

    def unpack(self, target: ast.expr, value: Any, quiet: bool = False) -> None:
        """Assign to a target. A `quiet` one makes no line."""
        if isinstance(target, ast.Name):
            if quiet:
                self.values[target.id] = value
            else:
                self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            items = self.parts(value, len(target.elts))
            for t, item in zip(target.elts, items, strict=True):
                self.unpack(t, item, quiet)
        else:
            self.store(target, value)

    def parts(self, value: Any, count: int) -> list[Any]:
        if isinstance(value, Array) and (not value.shape or value.shape[0].number is None):
            value = self.ranked(value, 1)
            self.equal(value.shape[0], affine(count))
        items = self.each_of(value)
        if len(items) != count:
            raise self.fault(f"{len(items)} values for {count} names")
        return items


NOT_READ = {"Await": "await", "Yield": "yield", "YieldFrom": "yield", "NamedExpr": "an assignment inside of an expression",
            "JoinedStr": "a formatted text", "Set": "a set", "SetComp": "a set", "DictComp": "a dictionary made in a loop",
            "Slice": "a slice here", "Starred": "an argument with *"}


def subscripts_of(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
