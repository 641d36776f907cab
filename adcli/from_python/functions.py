"""Functions of Python itself and of its libraries that are not of numbers one by one: `call_NAME` is what `NAME` gives."""
from __future__ import annotations

import ast
from functools import partialmethod
from typing import Any

from adcli.from_python.expressions import Expressions
from adcli.from_python.frame import ZERO
from adcli.from_python.values import (
    Absent,
    Array,
    Indexed,
    KnownDict,
    PythonRange,
    Several,
    is_true,
    known,
    scalar,
    stacked,
    whole,
)
from adcli.lang.ir.affine import affine
from adcli.lang.tree.nodes import Call, Op


class Functions(Expressions):
    """Ranges, lists, and what goes along an axis."""

    # Python's own.

    def call_range(self, node: ast.Call, *args: Any) -> PythonRange:
        values = [self.as_whole(a, n, "the bound of a range") for a, n in zip(args, node.args, strict=False)]
        low, high = (ZERO, values[0]) if len(values) == 1 else values[:2]
        step = values[2] if len(values) > 2 else affine(1)
        if step.number == 0:
            raise self.fault(node, "the step of a range is 0")
        return PythonRange(low, high, step.number or step)

    def call_len(self, node: ast.Call, x: Any) -> Array:
        if isinstance(x, Several | KnownDict):
            return known(len(x.items), self.span(node))
        return whole(self.ranked(x, 1, node).shape[0], self.span(node))

    def call_int(self, node: ast.Call, x: Any) -> Array:
        a = self.as_array(x, node)
        if a.constant is not None:
            return known(int(a.constant), self.span(node))
        return a if a.whole is not None else self.operation("trunc", [a], node)

    def call_bool(self, node: ast.Call, x: Any) -> Array:
        return self.truth(node.args[0])

    def call_list(self, node: ast.Call, x: Any = None, kind: str = "list") -> Several:
        return Several([] if x is None else self.each_of(x, node), kind)

    call_tuple = partialmethod(call_list, kind="tuple")

    def call_dict(self, node: ast.Call, **items: Any) -> KnownDict:
        return KnownDict(items)

    def call_enumerate(self, node: ast.Call, x: Any, start: Any = None) -> Several | Indexed:
        first = 0 if start is None else self.as_whole(start, node, "a start").number or 0
        span = self.span(node)
        if (over := self.turns(x, node)) is not None:
            return Indexed(over.extent, lambda t: Several([whole(t + first, span), over.item(t)]))
        return Several([Several([known(k, span), item]) for k, item in enumerate(self.each_of(x, node), first)])

    def call_zip(self, node: ast.Call, *args: Any) -> Several | Indexed:
        over = [self.turns(a, node) for a in args]
        sizes = [o for o in over if o is not None]
        if len(sizes) == len(args) > 0:
            for o in sizes[1:]:
                self.equal(sizes[0].extent, o.extent, node)
            return Indexed(sizes[0].extent, lambda t: Several([o.item(t) for o in sizes]))
        return Several([Several(list(items)) for items in zip(*(self.each_of(a, node) for a in args), strict=False)])

    def call_reversed(self, node: ast.Call, x: Any) -> Several:
        return Several(self.each_of(x, node)[::-1], "list")

    # Along axes.

    def along(self, name: str, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None) -> Array:
        if isinstance(x, Several) and not x.items:
            return known(0 if name == "sum" else 1, self.span(node))
        return self.reduction(name, self.as_number(self.as_array(x, node), node), node, axis, is_true(keepdims))

    call_prod, call_logsumexp = partialmethod(along, "prod"), partialmethod(along, "logsumexp")
    call_amax, call_amin = partialmethod(along, "max"), partialmethod(along, "min")

    def call_sum(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None, start: Any = None) -> Array:
        if self.library == "builtins":   # of the rows of a matrix
            axis, start = known(0, self.span(node)), start if start is not None else axis
        found = self.along("sum", node, x, axis, keepdims)
        return found if start is None else self.binary(ast.Add, self.as_array(start, node), found, node)

    def extreme(self, name: str, node: ast.Call, x: Any, *others: Any, axis: Any = None, keepdims: Any = None) -> Array:
        if len(others) == 1 and self.library not in ("builtins", "torch"):
            axis, others = others[0], ()
        if not others:
            if self.library == "torch" and axis is not None:
                raise self.fault(node, f"'{name}' along a dimension gives two results", f"write torch.a{name}(x, dim=…)")
            return self.along(name, node, x, axis, keepdims)
        arrays = [self.as_array(a, node) for a in (x, *others)]
        whole_ones = [a.constant for a in arrays if isinstance(a.constant, int)]
        if len(whole_ones) == len(arrays):
            return known(max(whole_ones) if name == "max" else min(whole_ones), self.span(node))
        return self.folded(name, arrays, node)

    call_max, call_min = partialmethod(extreme, "max"), partialmethod(extreme, "min")

    def call_mean(self, node: ast.Call, x: Any, axis: Any = None, keepdims: Any = None) -> Array:
        return self.mean(self.as_array(x, node), node, axis, is_true(keepdims))

    call_average = call_mean

    def call_var(self, node: ast.Call, x: Any, axis: Any = None, ddof: Any = None) -> Array:
        usual = int(self.library == "torch")
        less = usual if ddof is None else self.as_whole(ddof, node, "ddof").number or 0
        return self.variance(self.as_array(x, node), node, axis, less)

    def call_std(self, node: ast.Call, x: Any, axis: Any = None, ddof: Any = None) -> Array:
        return self.operation("sqrt", [self.call_var(node, x, axis, ddof)], node)

    def call_softmax(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        return self.operation("exp", [self.call_log_softmax(node, x, axis)], node)

    def call_log_softmax(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        a = self.ranked(x, 1, node)
        if axis is None and self.library != "scipy.special":
            axis = known(-1, self.span(node))
        return self.binary(ast.Sub, a, self.reduction("logsumexp", a, node, axis, True), node)

    def running(self, name: str, kind: type[ast.operator], node: ast.Call, x: Any, axis: Any = None) -> Array:
        a = self.ranked(x, 1, node)
        if len(a.shape) > 1:
            raise self.fault(node, f"{name} of a matrix cannot be read", "take it of each row")
        if a.items is None:
            return self.called(name, [a], a.shape, self.span(node))
        found: list[Array] = []
        for item in a.items:
            found.append(self.binary(kind, found[-1], item, node) if found else item)
        return stacked(found)

    call_cumsum, call_cumprod = partialmethod(running, "cumsum", ast.Add), partialmethod(running, "cumprod", ast.Mult)


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

    def two_by_two(self, p: Array, q: Array, r: Array, s: Array, node: ast.AST) -> Array:
        """ps - qr."""
        return self.binary(ast.Sub, self.binary(ast.Mult, p, s, node), self.binary(ast.Mult, q, r, node), node)

    def call_cross(self, node: ast.Call, a: Any, b: Any) -> Array:
        x, y = (self.parts(self.as_array(v, node), 3, node) for v in (a, b))
        return stacked([self.two_by_two(x[i], x[j], y[i], y[j], node) for i, j in ((1, 2), (2, 0), (0, 1))])

    def call_einsum(self, node: ast.Call, spec: Any, *arrays: Any) -> Array:
        return self.einsum(spec, [self.as_array(a, node) for a in arrays], node)

    def call_norm(self, node: ast.Call, x: Any, ord: Any = None, axis: Any = None) -> Array:
        a = self.ranked(x, 1, node)
        span = self.span(node)
        if ord is not None and not (isinstance(ord, Array) and ord.constant == 2 and (len(a.shape) == 1 or axis is not None)):
            raise self.fault(node, "only Euclidean norms are read", "write np.sum(np.abs(x)) or np.max(np.abs(x))" if len(
                a.shape) == 1 else "write np.sqrt(np.max(np.linalg.eigvalsh(A.T @ A))) for that of order 2")
        if axis is not None:
            squares = self.reduction("sum", self.binary(ast.Pow, a, known(2, span), node), node, axis)
            return self.operation("sqrt", [squares], node)
        if a.items is not None and len(a.shape) == 1 and len(a.items) > 1:
            return self.operation("hypot", a.items, node)
        if len(a.shape) > 2:
            raise self.fault(node, "the norm of an array with three dimensions cannot be read")
        return scalar(Call("norm", [self.operand(a, span)], *span), loose=a.loose)

    def matrix(self, name: str, node: ast.Call, A: Any, *b: Any) -> Array:
        """An operation of the language on a square matrix, and on what goes with it."""
        a, span = self.ranked(A, 2, node), self.span(node)
        arrays = [a, *(self.ranked(x, 1, node) for x in b)]
        self.equal(a.shape[-2], a.shape[-1], node)
        for x in arrays[1:]:
            self.equal(a.shape[-1], x.shape[0], node)
        if name in ("det", "logdet"):
            return scalar(Call(name, [self.operand(a, span)], *span))
        return self.called(name, arrays, arrays[-1].shape[:1] if name == "eigenvalues" else arrays[-1].shape, span)

    call_inv, call_expm = partialmethod(matrix, "inverse"), partialmethod(matrix, "expm")
    call_eigvalsh, call_logdet = partialmethod(matrix, "eigenvalues"), partialmethod(matrix, "logdet")

    def call_solve(self, node: ast.Call, A: Any, b: Any) -> Array:
        return self.matrix("solve", node, A, b)

    def call_solve_triangular(self, node: ast.Call, A: Any, b: Any, lower: Any = None) -> Array:
        return self.matrix("solve_lower" if is_true(lower) else "solve_upper", node, A, b)

    def call_cholesky(self, node: ast.Call, A: Any, lower: Any = None) -> Array:
        found = self.matrix("cholesky", node, A)
        return self.transposed(found) if self.library.endswith("scipy.linalg") and not is_true(lower) else found

    def call_det(self, node: ast.Call, A: Any) -> Array:
        a = self.ranked(A, 2, node)
        if a.items is not None and len(a.items) == 2:
            (p, q), (r, s) = (self.parts(row, 2, node) for row in a.items)
            return self.two_by_two(p, q, r, s, node)
        return self.matrix("det", node, a)

    def call_slogdet(self, node: ast.Call, A: Any) -> Several:
        sign = Absent("is the sign of a determinant, which is not read", "use the second result, the logarithm")
        return Several([sign, self.matrix("logdet", node, A)])

    def call_trace(self, node: ast.Call, A: Any) -> Array:
        return self.reduction("sum", self.call_diag(node, A), node)

    def call_diag(self, node: ast.Call, A: Any) -> Array:
        a = self.ranked(A, 1, node)
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
        return self.transposed(a) if axes is None else self.permuted(a, self.axes(a, axes, node))

    # Arrays that are made.

    def call_array(self, node: ast.Call, x: Any) -> Array:
        return self.as_array(x, node)

    call_asarray = call_tensor = call_as_tensor = call_atleast_1d = call_array

    def call_stack(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        made = self.as_array(Several(self.each_of(x, node)), node)
        k = 0 if axis is None else self.axes(made, axis, node)[0]
        order = [*range(1, k + 1), 0, *range(k + 1, len(made.shape))]
        return made if k == 0 else self.permuted(self.one_array(made, self.span(node)), order)

    def call_vstack(self, node: ast.Call, x: Any) -> Array:
        parts = [self.as_array(p, node) for p in self.each_of(x, node)]
        return (self.call_concatenate if len(parts[0].shape) > 1 else self.call_stack)(node, Several(parts))

    def call_concatenate(self, node: ast.Call, x: Any, axis: Any = None) -> Array:
        if axis is not None and self.as_whole(axis, node, "an axis").number != 0:
            raise self.fault(node, "arrays are put together along their first axis only", "transpose them before and behind")
        return self.as_array(Several([item for part in self.each_of(x, node) for item in self.each_of(part, node)]), node)

    call_concat = call_cat = call_concatenate

    def call_hstack(self, node: ast.Call, x: Any) -> Array:
        for p in self.each_of(x, node):
            self.vector(p, node)
        return self.call_concatenate(node, x)

    def vector(self, x: Any, node: ast.AST) -> Array:
        """A vector, and nothing of more dimensions."""
        a = self.ranked(x, 1, node)
        if len(a.shape) > 1:
            raise self.fault(node, "this is read of vectors only", "write what it does with @, .T or np.einsum")
        return a

    def call_full(self, node: ast.Call, shape: Any, value: Any) -> Array:
        return self.filled(self.as_array(value, node), shape, node)

    def constant(self, value: int, node: ast.Call, shape: Any, *more: Any) -> Array:
        return self.filled(known(value, self.span(node)), Several([shape, *more]) if more else shape, node)

    call_zeros = call_empty = partialmethod(constant, 0)
    call_ones = partialmethod(constant, 1)

    def like(self, value: int, node: ast.Call, x: Any) -> Array:
        a = self.as_array(x, node)
        made = self.constant(value, node, Several([whole(e, self.span(node)) for e in a.shape]))
        made.loose = a.loose
        return made

    call_zeros_like = call_empty_like = partialmethod(like, 0)
    call_ones_like = partialmethod(like, 1)

    def call_eye(self, node: ast.Call, n: Any) -> Array:
        return self.eye(self.as_whole(n, node, "an extent"), node)

    call_identity = call_eye

    def call_arange(self, node: ast.Call, *args: Any) -> Array:
        low, high, step = self.call_range(node, *args)
        if not isinstance(step, int):
            raise self.fault(node, "the step of a range has to be a number here")
        span, length = self.span(node), high - low
        if length.number is not None:
            return stacked([known(k, span) for k in range(low.number or 0, high.number or 0, step)])
        return Array((length,), lambda at: whole(low + at[0] * step, span).element(()))

    def call_linspace(self, node: ast.Call, low: Any, high: Any, num: Any = None) -> Array:
        span = self.span(node)
        n = affine(50) if num is None else self.as_whole(num, node, "the number of points")
        a, b = self.as_array(low, node), self.as_array(high, node)
        places = self.call_arange(node, whole(n, span))
        step = self.binary(ast.Div, self.binary(ast.Sub, b, a, node), whole(n - 1, span), node)
        return self.binary(ast.Add, a, self.binary(ast.Mult, places, step, node), node)

    def call_diff(self, node: ast.Call, x: Any) -> Array:
        a = self.one_array(self.ranked(x, 1, node), self.span(node))
        one = Array((a.shape[0] - 1, *a.shape[1:]), lambda at: a.element([at[0] + 1, *at[1:]]), loose=a.loose)
        return self.binary(ast.Sub, one, Array(one.shape, a.element, loose=a.loose), node)

    def call_where(self, node: ast.Call, c: Any, a: Any, b: Any) -> Array:
        condition = self.truth(node.args[0]) if node.args else self.as_array(c, node)
        return self.as_array(self.choice(condition, self.as_array(a, node), self.as_array(b, node), node), node)

    def call_sort(self, node: ast.Call, x: Any) -> Array:
        a = self.vector(x, node)
        return self.called("sort", [a], a.shape, self.span(node))

    def call_stop_gradient(self, node: ast.Call, x: Any) -> Array:
        return self.operation("stop", [self.as_array(x, node)], node)

    call_detach = call_stop_gradient
