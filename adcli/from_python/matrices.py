"""Functions of NumPy and its like that make arrays, multiply them, and solve with matrices."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adcli.from_python.frame import stacked
from adcli.from_python.functions import Functions
from adcli.from_python.values import Absent, Array, Several, known, scalar, whole
from adcli.lang.ir.affine import Affine, affine
from adcli.lang.tree.nodes import Call, Op


class MatrixFunctions(Functions):
    """Products, matrices, and arrays that are made."""

    # Products and matrices.

    def call_dot(self, node: ast.Call, a: Any, b: Any) -> Array:
        return self.matrix_product(self.as_array(a, node), self.as_array(b, node), node)

    call_matmul = call_mv = call_mm = call_dot

    def call_inner(self, node: ast.Call, a: Any, b: Any) -> Array:
        return self.matrix_product(self.vector(a, node), self.vector(b, node), node)

    call_vdot = call_inner

    def call_outer(self, node: ast.Call, a: Any, b: Any) -> Array:
        x, y = (self.vector(v, node) for v in (a, b))
        span = self.span(node)
        if x.items is not None:
            return stacked([self.binary(ast.Mult, item, y, node) for item in x.items])
        x, y = self.one_array(x, span), self.one_array(y, span)
        return Array((x.shape[0], y.shape[0]), lambda at: Op("mul", [x.element(at[:1]), y.element(at[1:])], *span),
                     loose=x.loose | y.loose)

    def call_cross(self, node: ast.Call, a: Any, b: Any) -> Array:
        x, y = (self.parts(self.as_array(v, node), 3, node) for v in (a, b))

        def part(i: int, j: int) -> Array:
            return self.binary(ast.Sub, self.binary(ast.Mult, x[i], y[j], node), self.binary(ast.Mult, x[j], y[i], node), node)
        return stacked([part(1, 2), part(2, 0), part(0, 1)])

    def call_einsum(self, node: ast.Call, spec: Any, *arrays: Any) -> Array:
        return self.einsum(spec, [self.as_array(a, node) for a in arrays], node)

    def call_norm(self, node: ast.Call, x: Any, ord: Any = None, axis: Any = None) -> Array:
        a = self.ranked(self.as_array(x, node), 1, node)
        span = self.span(node)
        if ord is not None and not (isinstance(ord, Array) and ord.constant == 2 and (len(a.shape) == 1 or axis is not None)):
            raise self.fault(node, "only Euclidean norms are read", "write np.sum(np.abs(x)) or np.max(np.abs(x))")
        if axis is not None:
            squares = self.reduction("sum", self.binary(ast.Pow, a, known(2, span), node), node, axis)
            return self.apply(lambda y: Call("sqrt", y, *span), [squares], node)
        if a.items is not None and len(a.shape) == 1 and len(a.items) > 1:
            return self.apply(lambda y: Call("hypot", y, *span), a.items, node)
        if len(a.shape) > 2:
            raise self.fault(node, "the norm of an array with three dimensions cannot be read")
        return scalar(Call("norm", [self.operand(a, span)], *span), loose=a.loose)

    def matrix(self, name: str, args: Sequence[Any], shape: Callable[[list[Array]], Sequence[Affine]], node: ast.Call) -> Array:
        arrays = [self.ranked(self.as_array(a, node), 2 if k == 0 else 1, node) for k, a in enumerate(args)]
        self.equal(arrays[0].shape[-2], arrays[0].shape[-1], node)
        if len(arrays) > 1:
            self.equal(arrays[0].shape[-1], arrays[1].shape[0], node)
        span = self.span(node)
        if name in ("det", "logdet"):
            return scalar(Call(name, [self.operand(arrays[0], span)], *span))
        return self.called(name, arrays, shape(arrays), span)

    def call_solve(self, node: ast.Call, A: Any, b: Any) -> Array:
        return self.matrix("solve", [A, b], lambda x: x[1].shape, node)

    def call_solve_triangular(self, node: ast.Call, A: Any, b: Any, lower: Any = None) -> Array:
        below = isinstance(lower, Array) and bool(lower.known)
        return self.matrix("solve_lower" if below else "solve_upper", [A, b], lambda x: x[1].shape, node)

    def call_inv(self, node: ast.Call, A: Any) -> Array:
        return self.matrix("inverse", [A], lambda x: x[0].shape, node)

    def call_cholesky(self, node: ast.Call, A: Any, lower: Any = None) -> Array:
        found = self.matrix("cholesky", [A], lambda x: x[0].shape, node)
        upper = self.library.endswith("scipy.linalg") and not (isinstance(lower, Array) and lower.known)
        return self.transposed(found) if upper else found

    def call_expm(self, node: ast.Call, A: Any) -> Array:
        return self.matrix("expm", [A], lambda x: x[0].shape, node)

    def call_eigvalsh(self, node: ast.Call, A: Any) -> Array:
        return self.matrix("eigenvalues", [A], lambda x: x[0].shape[:1], node)

    def call_det(self, node: ast.Call, A: Any) -> Array:
        a = self.ranked(self.as_array(A, node), 2, node)
        if a.items is not None and len(a.items) == 2:
            (p, q), (r, s) = ([self.parts(row, 2, node)[k] for k in range(2)] for row in a.items)
            return self.binary(ast.Sub, self.binary(ast.Mult, p, s, node), self.binary(ast.Mult, q, r, node), node)
        return self.matrix("det", [a], lambda x: (), node)

    def call_slogdet(self, node: ast.Call, A: Any) -> Several:
        sign = Absent("is the sign of a determinant, which is not read", "use the second result, the logarithm")
        return Several([sign, self.matrix("logdet", [A], lambda x: (), node)])

    def call_logdet(self, node: ast.Call, A: Any) -> Array:
        return self.matrix("logdet", [A], lambda x: (), node)

    def call_trace(self, node: ast.Call, A: Any) -> Array:
        return self.reduction("sum", self.call_diag(node, A), node)

    def call_diag(self, node: ast.Call, A: Any) -> Array:
        a = self.ranked(self.as_array(A, node), 1, node)
        span = self.span(node)
        if len(a.shape) == 2:
            self.equal(a.shape[0], a.shape[1], node)
            if a.items is not None and all(r.items is not None for r in a.items):
                return stacked([row.items[k] for k, row in enumerate(a.items) if row.items is not None])
            a = self.one_array(a, span)
            return Array(a.shape[:1], lambda at: a.element([at[0], at[0]]), loose=a.loose)
        if a.items is not None:
            zero = known(0, span)
            return stacked([stacked([x if i == j else zero for j in range(len(a.items))]) for i, x in enumerate(a.items)])
        return self.binary(ast.Mult, self.eye(a.shape[0], node), a, node)

    call_diagonal = call_diag

    def call_transpose(self, node: ast.Call, A: Any, axes: Any = None) -> Array:
        a = self.as_array(A, node)
        if axes is None:
            return self.transposed(a)
        return self.permuted(a, self.axes(a, axes, node))

    # Arrays that are made.

    def call_array(self, node: ast.Call, x: Any) -> Array:
        return self.as_array(x, node)

    call_asarray = call_tensor = call_as_tensor = call_atleast_1d = call_array

    def call_stack(self, node: ast.Call, x: Any, axis: Any = None, dim: Any = None) -> Array:
        made = self.as_array(Several(self.each_of(x, node)), node)
        k = 0 if (axis or dim) is None else self.axes(made, axis or dim, node)[0]
        order = [*range(1, k + 1), 0, *range(k + 1, len(made.shape))]
        return made if k == 0 else self.permuted(self.one_array(made, self.span(node)), order)

    def call_vstack(self, node: ast.Call, x: Any) -> Array:
        parts = [self.as_array(p, node) for p in self.each_of(x, node)]
        return (self.call_concatenate if len(parts[0].shape) > 1 else self.call_stack)(node, Several(parts))

    def call_concatenate(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        if axis is not None and self.as_whole(axis, node, "an axis").number != 0:
            raise self.fault(node, "arrays are put together along their first axis only", "transpose them before and behind")
        found: list[Any] = []
        for part in self.each_of(x, node):
            found += self.each_of(part, node)
        return self.as_array(Several(found), node)

    call_concat = call_cat = call_concatenate

    def call_hstack(self, node: ast.Call, x: Any) -> Array:
        for p in self.each_of(x, node):
            self.vector(p, node)
        return self.call_concatenate(node, x)

    def vector(self, x: Any, node: ast.AST) -> Array:
        """A vector, and nothing of more dimensions."""
        a = self.ranked(self.as_array(x, node), 1, node)
        if len(a.shape) > 1:
            raise self.fault(node, "this is read of vectors only", "write what it does with @, .T or np.einsum")
        return a

    def call_zeros(self, node: ast.Call, shape: Any, *more: Any) -> Array:
        return self.filled(known(0, self.span(node)), Several([shape, *more]) if more else shape, node)

    call_empty = call_zeros

    def call_ones(self, node: ast.Call, shape: Any, *more: Any) -> Array:
        return self.filled(known(1, self.span(node)), Several([shape, *more]) if more else shape, node)

    def call_full(self, node: ast.Call, shape: Any, value: Any) -> Array:
        return self.filled(self.as_array(value, node), shape, node)

    def call_zeros_like(self, node: ast.Call, x: Any) -> Array:
        return self.like(x, 0, node)

    call_empty_like = call_zeros_like

    def call_ones_like(self, node: ast.Call, x: Any) -> Array:
        return self.like(x, 1, node)

    def like(self, x: Any, value: int, node: ast.Call) -> Array:
        span, a = self.span(node), self.as_array(x, node)
        made = self.filled(known(value, span), Several([whole(e, span) for e in a.shape]), node)
        made.loose = a.loose
        return made

    def call_eye(self, node: ast.Call, n: Any) -> Array:
        return self.eye(self.as_whole(n, node, "an extent"), node)

    call_identity = call_eye

    def call_arange(self, node: ast.Call, *args: Any) -> Array:
        steps = self.call_range(node, *args)
        span = self.span(node)
        length = steps.high - steps.low
        if length.number is not None:
            return stacked([known(k, span) for k in range(steps.low.number or 0, steps.high.number or 0, steps.step)])
        return Array((length,), lambda at: whole(steps.low + at[0] * steps.step, span).element(()))

    def call_linspace(self, node: ast.Call, low: Any, high: Any, num: Any = None) -> Array:
        span = self.span(node)
        n = affine(50) if num is None else self.as_whole(num, node, "the number of points")
        a, b = self.as_array(low, node), self.as_array(high, node)
        places = self.call_arange(node, whole(n, span))
        step = self.binary(ast.Div, self.binary(ast.Sub, b, a, node), whole(n - 1, span), node)
        return self.binary(ast.Add, a, self.binary(ast.Mult, places, step, node), node)

    def call_diff(self, node: ast.Call, x: Any) -> Array:
        a = self.one_array(self.ranked(self.as_array(x, node), 1, node), self.span(node))
        one = Array((a.shape[0] - 1, *a.shape[1:]), lambda at: a.element([at[0] + 1, *at[1:]]), loose=a.loose)
        other = Array(one.shape, a.element, loose=a.loose)
        return self.binary(ast.Sub, one, other, node)

    def call_where(self, node: ast.Call, c: Any, a: Any, b: Any) -> Array:
        condition = self.truth(node.args[0]) if node.args else self.as_array(c, node)
        found = self.choice(condition, self.as_array(a, node), self.as_array(b, node), node)
        return self.as_array(found, node)

    def call_sort(self, node: ast.Call, x: Any) -> Array:
        a = self.vector(x, node)
        return self.called("sort", [a], a.shape, self.span(node))

    def call_stop_gradient(self, node: ast.Call, x: Any) -> Array:
        span = self.span(node)
        return self.apply(lambda y: Call("stop", y, *span), [self.as_array(x, node)], node)

    call_detach = call_stop_gradient
