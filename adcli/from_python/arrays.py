"""Arrays of Python: ranks, subscripts and slices, sums along axes, products and what matrices have."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import reduce
from typing import Any

from adcli.from_python.arithmetic import PythonArithmetic
from adcli.from_python.frame import ZERO
from adcli.from_python.values import Array, Several, Shape, first_of, known, stacked, whole
from adcli.lang.ir.affine import Affine, affine, product
from adcli.lang.tree.nodes import Node, Op
from adcli.readers.draft import number

SYMBOLS = {"sum": "+=!", "prod": "*=!", "max": "max=!", "min": "min=!", "logsumexp": "lse=!"}
"""How the language puts elements together."""
PAIRS = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "logsumexp": "logaddexp"}
"""The same for two numbers."""


class Arrays(PythonArithmetic):
    """Operations on whole arrays."""

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

    def sliced(self, a: Array, parts: Sequence[Affine | tuple[Affine, Affine, int] | None]) -> Array:
        """The part of an array that these choose: a place, a start with length and step, or None for one dimension more."""
        shape: list[Affine] = []
        steps: list[tuple[Affine | None, Affine, int]] = []   # for each dimension: fixed at, or start and step of what is left
        extents = iter(a.shape)
        for p in parts:
            if p is None:
                shape.append(affine(1))
            elif isinstance(p, tuple):
                shape.append(p[1])
                steps.append((None, p[0], p[2]))
            else:
                steps.append((p, ZERO, 1))
            if p is not None:
                next(extents)
        shape += extents
        new = [k for k, p in enumerate(p for p in parts if not isinstance(p, Affine)) if p is None]

        def element(at: Shape) -> Node:
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

            def element(at: Shape, inner: Shape) -> Node:
                places = dict(zip([*rest, *over], [*at, *inner], strict=True))
                return a.element([places[d] for d in range(len(a.shape))])
            found = self.reduced(SYMBOLS[name], [a.shape[d] for d in rest], element, [a.shape[d] for d in over], self.span(node))
        if not keep:
            return found
        kept = [None if d in over else (ZERO, x, 1) for d, x in enumerate(a.shape)]
        return self.sliced(self.one_array(found, self.span(node)), kept)

    def folded(self, name: str, parts: Sequence[Array], node: ast.AST) -> Array:
        """Parts that are written out, put together one after another."""
        pair = PAIRS[name]
        if not parts:
            return known(0 if name == "sum" else 1, self.span(node))
        if pair in ("max", "min") and len(parts) > 2:
            return self.operation(pair, parts, node)
        return reduce(lambda p, q: self.operation(pair, [p, q], node), parts)

    def mean(self, a: Array, node: ast.AST, axis: Any = None, keep: bool = False, less: int = 0) -> Array:
        a = self.ranked(a, 1, node)
        total = self.reduction("sum", a, node, axis, keep)
        n = reduce(product, [a.shape[d] for d in self.axes(a, axis, node)], affine(1)) - less
        return self.binary(ast.Div, total, whole(n, self.span(node)), node)

    def variance(self, a: Array, node: ast.AST, axis: Any = None, less: int = 0) -> Array:
        a = self.ranked(a, 1, node)
        apart = self.binary(ast.Sub, a, self.mean(a, node, axis, axis is not None), node)
        return self.mean(self.binary(ast.Pow, apart, known(2, self.span(node)), node), node, axis, less=less)

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
        if a.items is not None and b.items is not None and a.shape[-1].number is not None:
            return self.product_of_items(a, b, node)
        a, b = self.one_array(a, span), self.one_array(b, span)

        def element(at: Shape, inner: Shape) -> Node:
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

        def element(at: Shape, inner: Shape) -> Node:
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
