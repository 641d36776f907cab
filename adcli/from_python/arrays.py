"""Arithmetic and arrays of Python: numbers, truth values and whole numbers; ranks, sums along axes, products."""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from adcli.from_python.frame import ZERO, PythonFrame
from adcli.from_python.reading import Advice
from adcli.from_python.values import (
    Absent,
    Array,
    Defined,
    KnownDict,
    LibraryName,
    Method,
    PythonRange,
    Several,
    Shape,
    first_of,
    loose_of,
    stacked,
)
from adcli.lang.ir.affine import Affine, affine, bounds, floor, product, remainder
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.readers.draft import DraftLine, IndexEntry, Ref, Variable, Whole, entries, leaves, sums

SUBSCRIPT = "a subscript"
Compute = Callable[[Any, Any], Any]
OPERATORS: dict[type[ast.operator], tuple[str, Compute]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.Pow: ("pow", operator.pow), ast.Mod: ("mod", operator.mod),
    ast.FloorDiv: ("floordiv", operator.floordiv)}


class PythonArithmetic(PythonFrame):
    """Values as numbers, and operators on them."""

    def as_array(self, value: Any) -> Array:
        """A value that is a number or an array of them."""
        if isinstance(value, Array):
            return value
        if isinstance(value, Several) and value.items:
            parts = [self.as_number(self.as_array(x)) for x in value.items]
            if all(len(p.shape) == len(parts[0].shape) for p in parts):
                for p in parts[1:]:
                    self.fit(parts[0].shape, p.shape)
                return stacked(parts)
        if isinstance(value, Absent):
            raise self.fault(value.reason, value.help)
        raise self.fault(f"{told(value)} stands where a number is needed")

    def ranked(self, value: Any, least: int) -> Array:
        """An array of at least so many dimensions; an input of which nobody has said the rank gets this one."""
        a = self.as_array(value)
        if len(a.shape) >= least:
            return a
        loose = sorted(p for p in a.loose if self.reading.open(p) and self.reading.facts.ranks.get(p, 0) < least)
        if len(loose) == 1:
            self.reading.learn_rank(loose[0], least)
        if loose:
            names = " and ".join(f"'{p}'" for p in loose)
            raise self.fault(f"which of {names} are arrays is not said",
                             f"annotate them, {loose[0]}: Float[Array, \"n\"] or {loose[0]}: float, or give the point with --at")
        raise self.fault(f"an array with {least} dimension{'s' * (least > 1)} is needed here, and this has {len(a.shape)}")

    def as_truth(self, value: Any) -> Array:
        """A truth value; a number is true where it is not 0."""
        if value is None or isinstance(value, str | Several | KnownDict):
            return self.known(bool(value.items if isinstance(value, Several | KnownDict) else value))
        a = self.as_array(value)
        if a.truth:
            return a
        if a.constant is not None:
            return self.known(bool(a.constant))
        return self.operation("ne", a, self.known(0))

    def as_whole(self, value: Any, what: str) -> Affine:
        """A whole number as a sum of sizes and indices: a subscript, or the bound of a loop."""
        if isinstance(value, Array):
            if value.whole is not None and (what == SUBSCRIPT or not any(entries(value.whole))):
                return value.whole
            if what == SUBSCRIPT and not value.shape:
                found = value.element(())
                if isinstance(found, Ref) and found.variable.input and found.subscripts:
                    self.reading.learn_whole(found.variable.hint)
                if is_whole(found):
                    return self.entry(found)
            self.settle_constant(value, True)
        raise self.fault(f"{what} depends on a value", Advice.EXTENT)

    def entry(self, found: Node) -> Affine:
        """A whole number that is no sum of indices and sizes: an element of a table with the indices that it depends on, and what
        is added to it."""
        match found:
            case Whole(value=value):
                return value
            case Token(type="NUMBER", text=text):
                return affine(int(text))
            case Op(name="add" | "sub", args=[one, other]):
                more = self.entry(other)
                return self.entry(one) + (more if found.name == "add" else -more)
        for t in leaves(found):
            if isinstance(t, Ref):
                t.variable.whole = True
        if isinstance(found, Ref):
            return affine(IndexEntry(found))
        used = {i for t in leaves(found) for x in sums(t) for i in x.indices()}
        steps, box = [(t, n) for t, n in self.steps if t in used], self.box
        at = [affine(t) for t, _ in steps]
        table = Variable("at", [bounds(n, box)[1] for _, n in steps], whole=True)
        self.lines.append(DraftLine([table], [found], self.here, tuple(at) or None, "=", {t: (ZERO, n) for t, n in steps}))
        return affine(IndexEntry(Ref(table, self.here, at or None)))

    def settle_constant(self, value: Array, needed: bool = False) -> None:
        """Take the one input that a number is made of for a constant, which it has to be where a number is `needed`."""
        names = [p for p in value.loose if p in self.reading.inputs]
        if not value.shape and len(names) == 1:
            default = self.reading.facts.given.get(names[0], self.reading.inputs[names[0]])
            if needed or (isinstance(default, int | float) and float(default).is_integer()):
                self.reading.learn_constant(names[0], default)

    def binary(self, kind: type[ast.operator], left: Array, right: Array) -> Array:
        name, compute = OPERATORS[kind]
        left, right = self.as_number(left), self.as_number(right)
        if (both := whole_arithmetic(name, left.whole, right.whole)) is not None:
            return self.whole(both)
        value = None
        if (a := left.constant) is not None and (b := right.constant) is not None:
            try:
                value = compute(a, b)
            except (ArithmeticError, ValueError):
                raise self.fault("this has no value") from None
            if isinstance(a, int) and isinstance(b, int) and isinstance(value, int):
                return self.known(value)
        made = self.operation("div" if name == "floordiv" else name, left, right)
        if name == "floordiv":
            made = self.operation("floor", made)
        made.known = value if isinstance(value, float) else None
        return made

    def all_of(self, name: str, parts: Sequence[Array]) -> Array:
        """Truth values joined by `and` or `or`; known ones decide or drop out."""
        decisive = name == "or"
        if any(p.known is not None and bool(p.known) == decisive for p in parts):
            return self.known(decisive)
        left = [p for p in parts if p.known is None]
        return reduce(lambda p, q: self.operation(name, p, q), left) if left else self.known(not decisive)


def is_whole(node: Node) -> bool:
    """True for a whole number that is computed from whole numbers, or rounded."""
    match node:
        case Ref(variable=v):
            return v.whole or (v.value is not None and is_whole(v.value))
        case Token(type="NUMBER", text=text):
            return text.isdecimal()
        case Op(name="add" | "sub" | "mul" | "neg", args=args):
            return all(map(is_whole, args))
        case Op(name="select", args=[_, *arms]):
            return all(map(is_whole, arms))
    return isinstance(node, Whole) or (isinstance(node, Call) and node.name in ("floor", "ceil", "round", "trunc"))


def told(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "None"
    return {str: "a text", Several: "a list", KnownDict: "a dictionary", PythonRange: "a range", LibraryName: "a function",
            Defined: "a function", Method: "a method"}.get(type(value), "this")


def whole_arithmetic(name: str, a: Affine | None, b: Affine | None) -> Affine | None:
    """Arithmetic on whole numbers that are sums of sizes and indices, as far as it gives one."""
    if a is None or b is None or (a.number is not None and b.number is not None):
        return None
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul" and not (a.indices() and b.indices()):
        return product(a, b)
    if name == "mod" and (b.number or 1) > 0:
        return remainder(a, b)
    if name == "floordiv" and b.number is not None and b.number > 0 and not a.indices():
        return floor(a, b.number)
    return None


SYMBOLS = {"sum": "+=!", "prod": "*=!", "max": "max=!", "min": "min=!", "logsumexp": "lse=!"}
"""How the language puts elements together."""
PAIRS = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "logsumexp": "logaddexp"}
"""The same for two numbers."""


MOST_WRITTEN_OUT = 4096
"""Elements of an array that are written out."""


class Arrays(PythonArithmetic):
    """Operations on whole arrays; one that is made is written out up to the `longest` extent."""

    longest = 64

    def transposed(self, a: Array) -> Array:
        if len(a.shape) < 2:
            return a
        return self.permuted(a, [*range(len(a.shape))][::-1])

    def permuted(self, a: Array, order: Sequence[int]) -> Array:
        """The array whose dimension d is dimension order[d]."""
        if [*order] == sorted(order):
            return a
        if len(order) == 2 and a.items is not None and all(p.items is not None for p in a.items):
            return stacked([stacked([first_of(row, affine(k)) for row in a.items]) for k in range(a.shape[1].number or 0)])
        a = self.one_array(a)
        back = [order.index(d) for d in range(len(order))]
        return Array(tuple(a.shape[d] for d in order), lambda at: a.element([at[d] for d in back]), a.truth, loose=a.loose)

    # Subscripts.

    def sliced(self, a: Array, parts: Sequence[Affine | tuple[Affine, Affine, int] | None]) -> Array:
        """The part of an array that these choose: a place, a start with length and step, or None for one dimension more."""
        shape = [affine(1) if p is None else p[1] for p in parts if not isinstance(p, Affine)]

        def element(at: Shape) -> Node:
            left, full = list(at), []
            for p in parts:
                if isinstance(p, Affine):
                    full.append(p)
                elif p is None:
                    left.pop(0)
                else:
                    full.append(p[0] + left.pop(0) * p[2])
            return a.element([*full, *left])
        return Array((*shape, *a.shape[len(parts) - parts.count(None):]), element, a.truth, loose=a.loose)

    def inside(self, k: Affine, extent: Affine) -> Affine:
        """A subscript, counted from the end where it is a negative number."""
        n = k.number
        if n is None:
            return k
        if extent.number is not None and not -extent.number <= n < extent.number:
            raise self.fault(f"there are {extent.number} elements, and none at {n}")
        return extent + n if n < 0 else k

    # Sums along axes.

    def axes(self, a: Array, axis: Any) -> list[int]:
        if axis is None:
            return list(range(len(a.shape)))
        given = axis.items if isinstance(axis, Several) else [axis]
        found = []
        for k in given:
            n = self.as_whole(k, "an axis").number
            if n is None or not -len(a.shape) <= n < len(a.shape):
                raise self.fault(f"there is no axis {n}")
            found.append(n % len(a.shape))
        return found

    def call_size(self, x: Any, axis: Any = None) -> Array:
        a = self.ranked(x, 1)
        return self.whole(reduce(product, [a.shape[d] for d in self.axes(a, axis)], affine(1)))

    def reduction(self, name: str, a: Array, axis: Any = None, keep: bool = False) -> Array:
        """sum, prod, max, min or logsumexp of all elements, or along an axis."""
        a = self.ranked(a, 1)
        over = self.axes(a, axis)
        found = self.over_axes(name, a, over)
        if not keep:
            return found
        kept = [None if d in over else (ZERO, x, 1) for d, x in enumerate(a.shape)]
        return self.sliced(self.one_array(found), kept)

    def over_axes(self, name: str, a: Array, over: Sequence[int]) -> Array:
        if a.items is None:
            return self.contracted(SYMBOLS[name], [a], [range(len(a.shape))], [d for d in range(len(a.shape)) if d not in over])
        inner = [d - 1 for d in over if d]
        parts = [self.over_axes(name, p, inner) for p in a.items] if inner else a.items
        return self.folded(name, parts) if 0 in over else stacked(parts)

    def folded(self, name: str, parts: Sequence[Array]) -> Array:
        """Parts that are written out, put together one after another."""
        pair = PAIRS[name]
        if not parts:
            return self.known(int(name != "sum"))
        if pair in ("max", "min") and len(parts) > 2:
            return self.operation(pair, *parts)
        return reduce(lambda p, q: self.operation(pair, p, q), parts)

    # Products.

    def matrix_product(self, a: Array, b: Array) -> Array:
        """a @ b, as np.dot and np.matmul have it for up to two dimensions."""
        if not a.shape and not b.shape:
            raise self.fault("what has two dimensions here is not said",
                             "annotate it, A: Float[Array, \"m n\"], or give the point with --at")
        a, b = self.ranked(a, 1), self.ranked(b, 1)
        if len(a.shape) > 2 or len(b.shape) > 2:
            raise self.fault("a product of arrays with three dimensions cannot be read",
                             "write np.einsum('bij,bjk->bik', A, B)")
        self.equal(a.shape[-1], b.shape[0])
        if a.items is not None and b.items is not None and a.shape[-1].number is not None:
            self.shortened("", a)
            self.shortened("", b)
            return self.product_of_items(a, b)
        row, column = "i" * (len(a.shape) - 1), "j" * (len(b.shape) - 1)
        return self.contracted("+=!", [self.one_array(a), self.one_array(b)], [f"{row}k", f"k{column}"], row + column)

    def product_of_items(self, a: Array, b: Array) -> Array:
        if len(a.shape) == 2:
            return stacked([self.matrix_product(row, b) for row in a.items or []])
        if len(b.shape) == 2:
            columns = self.transposed(b).items or []
            return stacked([self.matrix_product(a, column) for column in columns])
        return self.folded("sum", [self.binary(ast.Mult, x, y) for x, y in zip(a.items or [], b.items or [], strict=True)])

    def einsum(self, spec: Any, arrays: list[Array]) -> Array:
        if not isinstance(spec, str) or "." in spec:
            raise self.fault("this einsum cannot be read", "write its subscripts as a text: np.einsum('ij,j->i', A, x)")
        left, _, right = spec.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(arrays):
            raise self.fault(f"{len(terms)} subscripts for {len(arrays)} arrays")
        arrays = [self.one_array(self.ranked(a, len(t))) for a, t in zip(arrays, terms, strict=True)]
        out = right if "->" in spec else "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
        return self.contracted("+=!", arrays, terms, out)

    def contracted(self, symbol: str, arrays: Sequence[Array], terms: Sequence[Sequence[Any]], out: Sequence[Any]) -> Array:
        """Products of elements of arrays with the dimensions that `terms` name, put together over those that `out` lacks."""
        extents: dict[Any, Affine] = {}
        for a, term in zip(arrays, terms, strict=True):
            for c, x in zip(term, a.shape, strict=True):
                self.equal(extents.setdefault(c, x), x)
        over, span = [c for c in extents if c not in out], self.here

        def element(at: Shape, inner: Shape) -> Node:
            places = dict(zip([*out, *over], [*at, *inner], strict=True))
            factors = [a.element([places[c] for c in term]) for a, term in zip(arrays, terms, strict=True)]
            return reduce(lambda p, q: Op("mul", [p, q], *span), factors)
        if not over:
            return Array(tuple(extents[c] for c in out), lambda at: element(at, ()), loose=loose_of(arrays))
        return self.reduced(symbol, [extents[c] for c in out], element, [extents[c] for c in over])

    def filled(self, value: Array, shape: Any) -> Array:
        """An array whose elements are all one number."""
        extents = [self.as_whole(x, "an extent") for x in (shape.items if isinstance(shape, Several) else [shape])]
        counts = [x.number for x in extents if x.number is not None]
        if len(counts) < len(extents) or math.prod(counts) > MOST_WRITTEN_OUT or max(counts, default=0) > self.longest:
            return Array(tuple(extents), lambda at: value.element(()))
        made = value
        for n in reversed(counts):
            made = stacked([made] * n) if n else Array((ZERO, *made.shape), value.element, items=[])
        return made

    def eye(self, n: Affine) -> Array:
        if n.number is not None:
            return stacked([stacked([self.known(int(i == j)) for j in range(n.number)]) for i in range(n.number)])
        row, column = (Array((n, n), lambda at, d=d: self.whole(at[d]).element(())) for d in (0, 1))   # type: ignore[misc]
        return self.as_number(self.operation("eq", row, column))
