"""Functions of Python itself and of its libraries that are not of numbers one by one: `call_NAME` is what `NAME` gives."""
from __future__ import annotations

import ast
from functools import partialmethod
from typing import Any

from adcli.from_python.expressions import Expressions
from adcli.from_python.frame import ZERO
from adcli.from_python.values import Absent, Array, Indexed, KnownDict, PythonRange, Several, is_true, scalar, stacked, whole
from adcli.lang.ir.affine import affine, product
from adcli.lang.tree.nodes import Call


class Functions(Expressions):
    """Ranges, lists, and what goes along an axis."""

    # Python's own.

    def call_range(self, *args: Any) -> PythonRange:
        values = [self.at(n, self.as_whole, a, "the bound of a range") for a, n in zip(args, self.argument_nodes(), strict=False)]
        low, high = (ZERO, values[0]) if len(values) == 1 else values[:2]
        step = values[2] if len(values) > 2 else affine(1)
        if step.number == 0:
            raise self.fault("the step of a range is 0")
        return PythonRange(low, high, step)

    def call_len(self, x: Any) -> Array:
        if isinstance(x, Several | KnownDict):
            return self.known(len(x.items))
        return self.whole(self.ranked(x, 1).shape[0])

    def call_int(self, x: Any) -> Array:
        a = self.as_array(x)
        if a.constant is not None:
            return self.known(int(a.constant))
        return a if a.whole is not None else self.operation("trunc", a)

    def call_bool(self, x: Any) -> Array:
        return self.as_truth(x)

    def call_list(self, x: Any = None, kind: str = "list") -> Several:
        return Several([] if x is None else self.each_of(x), kind)

    call_tuple = partialmethod(call_list, kind="tuple")

    def call_dict(self, **items: Any) -> KnownDict:
        return KnownDict(items)

    def call_enumerate(self, x: Any, start: Any = None) -> Several | Indexed:
        first = 0 if start is None else self.as_whole(start, "a start").number or 0
        if (over := self.turns(x)) is not None:
            return Indexed(over.extent, lambda t: Several([self.whole(t + first), over.item(t)]))
        return Several([Several([self.known(k), item]) for k, item in enumerate(self.each_of(x), first)])

    def call_zip(self, *args: Any) -> Several | Indexed:
        over = [self.turns(a) for a in args]
        sizes = [o for o in over if o is not None]
        if len(sizes) == len(args) > 0:
            for o in sizes[1:]:
                self.equal(sizes[0].extent, o.extent)
            return Indexed(sizes[0].extent, lambda t: Several([o.item(t) for o in sizes]))
        return Several([Several(list(items)) for items in zip(*(self.each_of(a) for a in args), strict=False)])

    def call_reversed(self, x: Any) -> Several:
        return Several(self.each_of(x)[::-1], "list")

    # Along axes.

    def along(self, name: str, x: Any, axis: Any = None, keepdims: Any = None) -> Array:
        if isinstance(x, Several) and not x.items:
            return self.known(0 if name == "sum" else 1)
        return self.reduction(name, self.as_number(self.as_array(x)), axis, is_true(keepdims))

    call_prod, call_logsumexp = partialmethod(along, "prod"), partialmethod(along, "logsumexp")
    call_amax, call_amin = partialmethod(along, "max"), partialmethod(along, "min")

    def call_sum(self, x: Any, axis: Any = None, keepdims: Any = None, start: Any = None) -> Array:
        if self.library == "builtins":   # of the rows of a matrix
            axis, start = self.known(0), start if start is not None else axis
        found = self.along("sum", x, axis, keepdims)
        return found if start is None else self.binary(ast.Add, self.as_array(start), found)

    def extreme(self, name: str, x: Any, *others: Any, axis: Any = None, keepdims: Any = None) -> Array:
        if len(others) == 1 and self.library not in ("builtins", "torch"):
            axis, others = others[0], ()
        if not others:
            if self.library == "torch" and axis is not None:
                raise self.fault(f"'{name}' along a dimension gives two results", f"write torch.a{name}(x, dim=…)")
            return self.along(name, x, axis, keepdims)
        arrays = [self.as_array(a) for a in (x, *others)]
        whole_ones = [a.constant for a in arrays if isinstance(a.constant, int)]
        if len(whole_ones) == len(arrays):
            return self.known(max(whole_ones) if name == "max" else min(whole_ones))
        return self.folded(name, arrays)

    call_max, call_min = partialmethod(extreme, "max"), partialmethod(extreme, "min")

    def running(self, name: str, kind: type[ast.operator], x: Any, axis: Any = None) -> Array:
        a = self.ranked(x, 1)
        if len(a.shape) > 1:
            raise self.fault(f"{name} of a matrix cannot be read", "take it of each row")
        if a.items is None:
            return self.called(name, [a], a.shape)
        found: list[Array] = []
        for item in a.items:
            found.append(self.binary(kind, found[-1], item) if found else item)
        return stacked(found)

    call_cumsum, call_cumprod = partialmethod(running, "cumsum", ast.Add), partialmethod(running, "cumprod", ast.Mult)


class MatrixFunctions(Functions):
    """Products, matrices, and arrays that are made."""

    # Products and matrices.

    def call_dot(self, a: Any, b: Any) -> Array:
        return self.matrix_product(self.as_array(a), self.as_array(b))

    call_matmul = call_mv = call_mm = call_dot

    def call_inner(self, a: Any, b: Any) -> Array:
        return self.matrix_product(self.vector(a), self.vector(b))

    call_vdot = call_inner

    def call_outer(self, a: Any, b: Any) -> Array:
        x, y = self.vector(a), self.vector(b)
        if x.items is not None:
            return stacked([self.binary(ast.Mult, item, y) for item in x.items])
        return self.contracted("", [self.one_array(x), self.one_array(y)], "ij", "ij")

    def two_by_two(self, p: Array, q: Array, r: Array, s: Array) -> Array:
        """ps - qr."""
        return self.binary(ast.Sub, self.binary(ast.Mult, p, s), self.binary(ast.Mult, q, r))

    def call_cross(self, a: Any, b: Any) -> Array:
        x, y = (self.parts(self.as_array(v), 3) for v in (a, b))
        return stacked([self.two_by_two(x[i], x[j], y[i], y[j]) for i, j in ((1, 2), (2, 0), (0, 1))])

    def call_einsum(self, spec: Any, *arrays: Any) -> Array:
        return self.einsum(spec, [self.as_array(a) for a in arrays])

    def call_norm(self, x: Any, ord: Any = None, axis: Any = None) -> Array:
        a = self.ranked(x, 1)
        if ord is not None and not (isinstance(ord, Array) and ord.constant == 2 and (len(a.shape) == 1 or axis is not None)):
            raise self.fault("only Euclidean norms are read", "write np.sum(np.abs(x)) or np.max(np.abs(x))" if len(
                a.shape) == 1 else "write np.sqrt(np.max(np.linalg.eigvalsh(A.T @ A))) for that of order 2")
        if axis is not None:
            squares = self.reduction("sum", self.binary(ast.Pow, a, self.known(2)), axis)
            return self.operation("sqrt", squares)
        if a.items is not None and len(a.shape) == 1 and len(a.items) > 1:
            return self.operation("hypot", *a.items)
        if len(a.shape) > 2:
            raise self.fault("the norm of an array with three dimensions cannot be read")
        return scalar(Call("norm", [self.operand(a)], *self.here), loose=a.loose)

    def matrix(self, name: str, A: Any, *b: Any) -> Array:
        """An operation of the language on a square matrix, and on what goes with it."""
        a = self.ranked(A, 2)
        arrays = [a, *(self.ranked(x, 1) for x in b)]
        self.equal(a.shape[-2], a.shape[-1])
        for x in arrays[1:]:
            self.equal(a.shape[-1], x.shape[0])
        if name in ("det", "logdet"):
            return scalar(Call(name, [self.operand(a)], *self.here))
        return self.called(name, arrays, arrays[-1].shape[:1] if name == "eigenvalues" else arrays[-1].shape)

    call_inv, call_expm = partialmethod(matrix, "inverse"), partialmethod(matrix, "expm")
    call_eigvalsh, call_logdet = partialmethod(matrix, "eigenvalues"), partialmethod(matrix, "logdet")

    def call_solve(self, A: Any, b: Any) -> Array:
        return self.matrix("solve", A, b)

    def call_solve_triangular(self, A: Any, b: Any, lower: Any = None) -> Array:
        return self.matrix("solve_lower" if is_true(lower) else "solve_upper", A, b)

    def call_cholesky(self, A: Any, lower: Any = None) -> Array:
        found = self.matrix("cholesky", A)
        return self.transposed(found) if self.library.endswith("scipy.linalg") and not is_true(lower) else found

    def call_det(self, A: Any) -> Array:
        a = self.ranked(A, 2)
        if a.items is not None and len(a.items) == 2:
            (p, q), (r, s) = (self.parts(row, 2) for row in a.items)
            return self.two_by_two(p, q, r, s)
        return self.matrix("det", a)

    def call_slogdet(self, A: Any) -> Several:
        sign = Absent("is the sign of a determinant, which is not read", "use the second result, the logarithm")
        return Several([sign, self.matrix("logdet", A)])

    def call_diag(self, A: Any) -> Array:
        a = self.ranked(A, 1)
        if len(a.shape) == 2:
            self.equal(a.shape[0], a.shape[1])
            if a.items is not None and all(r.items is not None for r in a.items):
                return stacked([row.items[k] for k, row in enumerate(a.items) if row.items is not None])
            return self.contracted("", [self.one_array(a)], ["ii"], "i")
        if a.items is not None:
            zero = self.known(0)
            return stacked([stacked([x if i == j else zero for j in range(len(a.items))]) for i, x in enumerate(a.items)])
        return self.binary(ast.Mult, self.eye(a.shape[0]), a)

    call_diagonal = call_diag

    def call_transpose(self, A: Any, axes: Any = None) -> Array:
        a = self.as_array(A)
        return self.transposed(a) if axes is None else self.permuted(a, self.axes(a, axes))

    # Arrays that are made.

    def call_array(self, x: Any) -> Array:
        return self.as_array(x)

    call_asarray = call_tensor = call_as_tensor = call_atleast_1d = call_array

    def call_stack(self, x: Any, axis: Any = None) -> Array:
        made = self.as_array(Several(self.each_of(x)))
        k = 0 if axis is None else self.axes(made, axis)[0]
        order = [*range(1, k + 1), 0, *range(k + 1, len(made.shape))]
        return made if k == 0 else self.permuted(self.one_array(made), order)

    def call_vstack(self, x: Any) -> Array:
        parts = [self.as_array(p) for p in self.each_of(x)]
        return (self.call_concatenate if len(parts[0].shape) > 1 else self.call_stack)(Several(parts))

    def call_concatenate(self, x: Any, axis: Any = None) -> Array:
        if axis is not None and self.as_whole(axis, "an axis").number != 0:
            raise self.fault("arrays are put together along their first axis only", "transpose them before and behind")
        return self.as_array(Several([item for part in self.each_of(x) for item in self.each_of(part)]))

    call_concat = call_cat = call_concatenate

    def call_hstack(self, x: Any) -> Array:
        for p in self.each_of(x):
            self.vector(p)
        return self.call_concatenate(x)

    def vector(self, x: Any) -> Array:
        """A vector, and nothing of more dimensions."""
        a = self.ranked(x, 1)
        if len(a.shape) > 1:
            raise self.fault("this is read of vectors only", "write what it does with @, .T or np.einsum")
        return a

    def call_full(self, shape: Any, value: Any) -> Array:
        return self.filled(self.as_array(value), shape)

    def constant(self, value: int, shape: Any, *more: Any) -> Array:
        return self.filled(self.known(value), Several([shape, *more]) if more else shape)

    call_zeros = call_empty = partialmethod(constant, 0)
    call_ones = partialmethod(constant, 1)

    def like(self, value: int, x: Any) -> Array:
        a = self.as_array(x)
        made = self.constant(value, Several([self.whole(e) for e in a.shape]))
        made.loose = a.loose
        return made

    call_zeros_like = call_empty_like = partialmethod(like, 0)
    call_ones_like = partialmethod(like, 1)

    def call_eye(self, n: Any) -> Array:
        return self.eye(self.as_whole(n, "an extent"))

    call_identity = call_eye

    def call_arange(self, *args: Any) -> Array:
        low, high, step = self.call_range(*args)
        if step.number is None:
            raise self.fault("the step of a range has to be a number here")
        span, length = self.here, high - low
        if length.number is not None:
            return stacked([*map(self.known, range(low.number or 0, high.number or 0, step.number))])
        return Array((length,), lambda at: whole(low + product(at[0], step), span).element(()))

    def call_where(self, c: Any, a: Any, b: Any) -> Array:
        return self.as_array(self.choice(self.as_truth(c), self.as_array(a), self.as_array(b)))

    def call_clip(self, x: Any, a_min: Any = None, a_max: Any = None) -> Array:
        bounds = [self.as_array(v) for v in (x, a_min, a_max) if v is not None]
        return self.operation("clamp" if len(bounds) == 3 else "min" if a_min is None else "max", *bounds)

    call_clamp = call_clip

    def call_sort(self, x: Any) -> Array:
        a = self.vector(x)
        return self.called("sort", [a], a.shape)

    def call_stop_gradient(self, x: Any) -> Array:
        return self.operation("stop", self.as_array(x))

    call_detach = call_stop_gradient
