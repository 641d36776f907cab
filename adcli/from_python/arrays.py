"""Arrays of Python: ranks, subscripts and slices, sums along axes, products and what matrices have."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import reduce
from typing import Any

from adcli.from_python.expressions import Expressions
from adcli.from_python.frame import ZERO, first_of, stacked
from adcli.from_python.values import Array, Several, known, whole
from adcli.lang.ir.affine import Affine, affine, floor, product
from adcli.lang.tree.nodes import Call, Node, Op
from adcli.readers.draft import number

SYMBOLS = {"sum": "+=!", "prod": "*=!", "max": "max=!", "min": "min=!", "logsumexp": "lse=!"}
"""How the language puts elements together."""
PAIRS = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "logsumexp": "logaddexp"}
"""The same for two numbers."""


class Arrays(Expressions):
    """Operations on whole arrays."""

    def ranked(self, a: Array, least: int, node: ast.AST) -> Array:
        """An array of at least so many dimensions; an input of which nobody has said the rank gets this one."""
        if len(a.shape) >= least:
            return a
        loose = sorted(p for p in a.loose if self.reading.open(p) and self.reading.facts.ranks.get(p, 0) < least)
        if len(loose) == 1:
            self.reading.learn_rank(loose[0], least)
        if loose:
            names = " and ".join(f"'{p}'" for p in loose)
            raise self.fault(node, f"which of {names} are arrays is not said",
                             f"annotate them, {loose[0]}: Float[Array, \"n\"] or {loose[0]}: float, or give the point with --at")
        raise self.fault(node, f"an array with {least} dimension{'s' * (least > 1)} is needed here, and this has {len(a.shape)}")

    def count(self, a: Array, node: ast.AST) -> Array:
        return whole(reduce(product, a.shape, affine(1)), self.span(node))

    def transposed(self, a: Array) -> Array:
        if len(a.shape) < 2:
            return a
        return self.permuted(a, [*range(len(a.shape))][::-1])

    def permuted(self, a: Array, order: Sequence[int]) -> Array:
        """The array whose dimension d is dimension order[d]."""
        if a.items is not None:
            a = self.one_array(a, (0, 0)) if any(p.items is None for p in a.items) else self.turned(a, order)
            if a.items is not None:
                return a
        back = [order.index(d) for d in range(len(order))]
        return Array(tuple(a.shape[d] for d in order), lambda at: a.element([at[d] for d in back]), a.truth, loose=a.loose)

    def turned(self, a: Array, order: Sequence[int]) -> Array:
        if list(order) != [1, 0]:
            return a if list(order) == sorted(order) else self.one_array(a, (0, 0))
        return stacked([stacked([first_of(row, affine(k)) for row in a.items or []]) for k in range(a.shape[1].number or 0)])

    # Subscripts.

    def taken(self, a: Array, node: ast.Subscript) -> Any:
        """x[i], x[1:], x[:, 0], x[None, :], x[i, j]."""
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        values = [p if isinstance(p, ast.Slice) else self.value(p) for p in parts]
        counted = sum(v is not None and v is not Ellipsis for v in values)
        a = self.ranked(a, max(counted, 1), node)
        if Ellipsis in values:
            k = values.index(Ellipsis)
            values[k:k + 1] = [ast.Slice()] * (len(a.shape) - counted)
        for v, p in zip(values, parts, strict=False):
            if isinstance(v, Several) or (isinstance(v, Array) and v.shape):
                raise self.fault(p, "an array as a subscript cannot be read", "write the elements, or a loop over indices")
        if len(values) == 1 and a.items is not None and isinstance(values[0], Array) and values[0].whole is not None:
            at = self.inside(values[0].whole, a.shape[0], node)
            if at.number is not None:
                return first_of(a, at)
        a = self.one_array(a, self.span(node))
        return self.sliced(a, values, node)

    def sliced(self, a: Array, values: list[Any], node: ast.AST) -> Array:
        """The part of an array that subscripts choose: numbers, slices and None for a dimension of one element."""
        shape: list[Affine] = []
        steps: list[tuple[Affine | None, Affine, int]] = []   # for each dimension: fixed at, or start and step of what is left
        d = 0
        for v in values:
            if v is None:
                shape.append(affine(1))
                continue
            if isinstance(v, ast.Slice):
                low, extent, step = self.bounds(v, a.shape[d])
                steps.append((None, low, step))
                shape.append(extent)
            else:
                steps.append((self.inside(self.as_whole(v, node, "a subscript"), a.shape[d], node), ZERO, 1))
            d += 1
        shape += a.shape[d:]
        new = [k for k, v in enumerate(v for v in values if v is None or isinstance(v, ast.Slice)) if v is None]

        def element(at: Sequence[Affine]) -> Node:
            left = [x for k, x in enumerate(at) if k not in new]
            full = [fixed if fixed is not None else low + left.pop(0) * step for fixed, low, step in steps]
            return a.element([*full, *left])
        return Array(tuple(shape), element, a.truth, loose=a.loose)

    def inside(self, k: Affine, extent: Affine, node: ast.AST) -> Affine:
        """A subscript, counted from the end where it is a negative number."""
        n = k.number
        if n is None:
            return k
        if extent.number is not None and not -extent.number <= n < extent.number:
            raise self.fault(node, f"there are {extent.number} elements, and none at {n}")
        return extent + n if n < 0 else k

    def bounds(self, s: ast.Slice, extent: Affine) -> tuple[Affine, Affine, int]:
        """Where a slice starts, how many elements it has, and its step."""
        step = 1 if s.step is None else self.affine(s.step, "a step").number
        if step is None or step == 0 or (step < 0 and (s.lower or s.upper)):
            raise self.fault(s.step or s, "this step cannot be read", "a step is a number; a negative one stands alone, x[::-1]")
        if step < 0:
            return extent - 1, floor(extent - 1 - step, -step) if step != -1 else extent, step
        low, high = (None if n is None else self.affine(n, "the bound of a slice") for n in (s.lower, s.upper))
        low, high = (None if x is None else extent + x if (x.number or 0) < 0 else x for x in (low, high))
        low, high = low or ZERO, high or extent
        if high.number is not None and extent.number is not None:
            high = affine(min(high.number, extent.number))
        length = high - low
        return low, length if step == 1 else floor(length + step - 1, step), step

    # Sums along axes.

    def axes(self, a: Array, axis: Any, node: ast.AST) -> list[int]:
        if axis is None:
            return list(range(len(a.shape)))
        given = axis.items if isinstance(axis, Several) else [axis]
        found = []
        for k in given:
            n = self.as_whole(k, node, "an axis").number
            if n is None or not -len(a.shape) <= n < len(a.shape):
                raise self.fault(node, f"there is no axis {n}")
            found.append(n % len(a.shape))
        return found

    def reduction(self, name: str, a: Array, node: ast.AST, axis: Any = None, keep: bool = False) -> Array:
        """sum, prod, max, min or logsumexp of all elements, or along an axis."""
        a = self.ranked(a, 1, node)
        over = self.axes(a, axis, node)
        if a.items is not None and 0 in over:
            parts = a.items if len(over) == 1 else [self.reduction(name, p, node, Several([
                whole(affine(d - 1), (0, 0)) for d in over if d])) for p in a.items]
            found = self.folded(name, parts, node)
        elif a.items is not None:
            found = stacked([self.reduction(name, p, node, Several([whole(affine(d - 1), (0, 0)) for d in over]))
                             for p in a.items])
        else:
            rest = [d for d in range(len(a.shape)) if d not in over]

            def element(at: Sequence[Affine], inner: Sequence[Affine]) -> Node:
                places = dict(zip([*rest, *over], [*at, *inner], strict=True))
                return a.element([places[d] for d in range(len(a.shape))])
            found = self.reduced(SYMBOLS[name], [a.shape[d] for d in rest], element, [a.shape[d] for d in over], self.span(node))
        if not keep:
            return found
        span = ast.Slice()
        return self.sliced(self.one_array(found, self.span(node)), [None if d in over else span for d in range(len(a.shape))],
                           node)

    def folded(self, name: str, parts: Sequence[Array], node: ast.AST) -> Array:
        """Parts that are written out, put together one after another."""
        span, pair = self.span(node), PAIRS[name]
        if not parts:
            return known(0 if name == "sum" else 1, span)
        if pair in ("max", "min") and len(parts) > 2:
            return self.apply(lambda x: Call(pair, x, *span), list(parts), node)
        kind = Op if pair in ("add", "mul") else Call
        return reduce(lambda p, q: self.apply(lambda x: kind(pair, x, *span), [p, q], node), parts)

    def mean(self, a: Array, node: ast.AST, axis: Any = None, keep: bool = False, less: int = 0) -> Array:
        a = self.ranked(a, 1, node)
        total = self.reduction("sum", a, node, axis, keep)
        n = reduce(product, [a.shape[d] for d in self.axes(a, axis, node)], affine(1)) - less
        return self.binary(ast.Div, total, whole(n, self.span(node)), node)

    def variance(self, a: Array, node: ast.AST, axis: Any = None, less: int = 0) -> Array:
        a = self.ranked(a, 1, node)
        span = self.span(node)
        apart = self.binary(ast.Sub, a, self.mean(a, node, axis, axis is not None), node)
        return self.mean(self.binary(ast.Pow, apart, known(2, span), node), node, axis, less=less)

    # Products.

    def matrix_product(self, a: Array, b: Array, node: ast.AST) -> Array:
        """a @ b, as np.dot and np.matmul have it for up to two dimensions."""
        if not a.shape and not b.shape:
            raise self.fault(node, "what has two dimensions here is not said",
                             "annotate it, A: Float[Array, \"m n\"], or give the point with --at")
        a, b = self.ranked(a, 1, node), self.ranked(b, 1, node)
        if len(a.shape) > 2 or len(b.shape) > 2:
            raise self.fault(node, "a product of arrays with three dimensions cannot be read",
                             "write np.einsum('bij,bjk->bik', A, B)")
        self.equal(a.shape[-1], b.shape[0], node)
        span = self.span(node)
        times = [a if a.items is not None else None, b if b.items is not None else None]
        if None not in times and a.shape[-1].number is not None:
            return self.product_of_items(a, b, node)
        a, b = self.one_array(a, span), self.one_array(b, span)

        def element(at: Sequence[Affine], inner: Sequence[Affine]) -> Node:
            split = len(a.shape) - 1
            return Op("mul", [a.element([*at[:split], *inner]), b.element([*inner, *at[split:]])], *span)
        return self.reduced("+=!", [*a.shape[:-1], *b.shape[1:]], element, [b.shape[0]], span)

    def product_of_items(self, a: Array, b: Array, node: ast.AST) -> Array:
        if len(a.shape) == 2:
            return stacked([self.matrix_product(row, b, node) for row in a.items or []])
        if len(b.shape) == 2:
            columns = self.transposed(b).items or []
            return stacked([self.matrix_product(a, column, node) for column in columns])
        return self.folded("sum", [self.binary(ast.Mult, x, y, node) for x, y in zip(a.items or [], b.items or [], strict=True)],
                           node)

    def einsum(self, spec: Any, arrays: list[Array], node: ast.Call) -> Array:
        if not isinstance(spec, str) or "." in spec:
            raise self.fault(node, "this einsum cannot be read", "write its subscripts as a text: np.einsum('ij,j->i', A, x)")
        left, _, right = spec.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(arrays):
            raise self.fault(node, f"{len(terms)} subscripts for {len(arrays)} arrays")
        span = self.span(node)
        arrays = [self.one_array(self.ranked(a, len(t), node), span) for a, t in zip(arrays, terms, strict=True)]
        out = right if "->" in spec else "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
        extents: dict[str, Affine] = {}
        for a, term in zip(arrays, terms, strict=True):
            for c, x in zip(term, a.shape, strict=True):
                self.equal(extents.setdefault(c, x), x, node)
        over = [c for c in extents if c not in out]

        def element(at: Sequence[Affine], inner: Sequence[Affine]) -> Node:
            places = dict(zip([*out, *over], [*at, *inner], strict=True))
            factors = [a.element([places[c] for c in term]) for a, term in zip(arrays, terms, strict=True)]
            return reduce(lambda p, q: Op("mul", [p, q], *span), factors)
        if not over:
            return Array(tuple(extents[c] for c in out), lambda at: element(at, ()))
        return self.reduced("+=!", [extents[c] for c in out], element, [extents[c] for c in over], span)

    def filled(self, value: Array, shape: Any, node: ast.AST) -> Array:
        """An array whose elements are all one number."""
        given = shape.items if isinstance(shape, Several) else [shape]
        extents = [self.as_whole(x, node, "an extent") for x in given]
        made = value
        for x in reversed(extents):
            n = x.number
            if n is not None and n <= 64 and (not made.shape or made.items is not None):
                made = stacked([made] * n) if n else Array((ZERO, *made.shape), value.element, items=[])
            else:
                made = Array((x, *made.shape), lambda at: value.element(()))
        return made

    def eye(self, n: Affine, node: ast.AST) -> Array:
        span = self.span(node)
        if n.number is not None:
            return stacked([stacked([known(int(i == j), span) for j in range(n.number)]) for i in range(n.number)])
        return Array((n, n), lambda at: Op("select", [Op("eq", [whole(x, span).element(()) for x in at], *span),
                                                      number(1, span), number(0, span)], *span))
