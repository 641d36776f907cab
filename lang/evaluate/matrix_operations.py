"""Evaluation of operations on matrices: in doubles as compiled code does, so large ones by NumPy's LAPACK, in every other
arithmetic by elimination.

Elimination is Gauss's with the pivot of greatest absolute value in its column, Cholesky's by rows, and substitution, as
textbooks have them (Golub and Van Loan, Matrix Computations, 4th edition, 3.4, 4.2 and 3.1).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.evaluate import decompositions, small_matrices
from adcli.lang.evaluate.comprehensions import ElementArithmetic, Known, is_double, points, subscripts_at
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir import Equation
from adcli.lang.ir.affine import value
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.matrix import FACTORED, FORMS, NUMBERS, SEARCH, TINY_ROWS, MatrixOperation

INF = float("inf")
Functions = Mapping[str, Callable[..., Any]]


def matrix_operation(e: Equation[MatrixOperation], args: list[Any], sizes: Known, arithmetic: ElementArithmetic) -> Any:
    """The value of the result of an operation on matrices."""
    shape = tuple([value(x, sizes) for x in e.op.shape])
    double = is_double(arithmetic)
    out = np.full(shape, 0.0 if double else arithmetic.constant(0.0), np.float64 if double else object)
    written_matrices(e, e.op, out, args, sizes, arithmetic)
    return out if shape else out[()]


def written_matrices(e: Equation, op: MatrixOperation, out: np.ndarray, args: list[Any], sizes: Known,
                     arithmetic: ElementArithmetic) -> None:
    """Write what all points give into `out`. `sizes` may have indices too, those that are no range."""
    known, count = points(op, sizes)
    if count:
        where = subscripts_at(e, op.write, e.outs[0], out.shape, args, known, count)
        operands = []
        for _, s in op.reads():
            given = np.asarray(args[s.arg])
            at = subscripts_at(e, s.subscripts, e.args[s.arg], given.shape, args, known, count)
            operands.append(given[at] if at else np.broadcast_to(given, (count, *given.shape)))
        if is_double(arithmetic):
            values = in_doubles(op, *operands)
        else:
            values = np.stack([Elimination(op, [o[k] for o in operands], arithmetic).value() for k in range(count)])
        out[where if where else ()] = values if where else values[-1]


# ---------------------------------------------------------------- doubles

class Pivot(NamedTuple):
    """Where an elimination ended: the place of the pivot, counted from 0, and its value."""

    place: int
    value: Any


def in_doubles(op: MatrixOperation, matrix: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """The operation on stacks of matrices and right-hand sides, `matrix[k]` and `right[k]` for point k."""
    if op.name in FACTORED:
        return decompositions.in_doubles(op.name, matrix)
    if op.name == SEARCH and right is not None:
        return searched(matrix, right)
    small = matrix.shape[-1] <= SMALL
    by_factor = op.transposed and op.name == "solve" and small and matrix.shape[-1] > TINY_ROWS
    m = np.swapaxes(matrix, -1, -2) if op.transposed and not by_factor else matrix
    with np.errstate(all="ignore"):
        if op.name == "cholesky":
            m = 0.5 * m + 0.5 * np.swapaxes(m, -1, -2)
        elif op.name in TRIANGULAR:
            m = TRIANGULAR[op.name](m)
        good = np.isfinite(m).all(axis=(-1, -2))
        m = np.where(good[:, None, None], m, np.eye(m.shape[-1], dtype=m.dtype))
        columns = right[..., None] if right is not None and right.ndim == 2 else right
        if small:
            values = small_matrices.value(op.name, m, columns, by_factor)
        else:
            values = UNARY[op.name](m) if columns is None else solved(op.name, m, columns)
        values = values if columns is right else values[..., 0]
    return np.where(good.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)


def searched(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The numbers of elements of ascending vectors that are at most q, by bisection."""
    rows, found, left = np.arange(len(q)), np.zeros(len(q), np.int64), x.shape[-1]
    while left:
        found += np.where(x[rows, found + (left + 1) // 2 - 1] <= q, (left + 1) // 2, 0)
        left //= 2
    return found.astype(x.dtype)


def solved(name: str, m: np.ndarray, b: np.ndarray) -> np.ndarray:
    if name == "solve":
        return each(np.linalg.solve, m, b)
    x = substituted_lower(m, b) if name == "solve_lower" else \
        substituted_lower(m[:, ::-1, ::-1], b[:, ::-1])[:, ::-1]
    singular = (np.diagonal(m, axis1=-2, axis2=-1) == 0).any(axis=-1)
    return np.where(singular[:, None, None], np.nan, x)


def substituted_lower(m: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with m·x = b for lower triangular matrices: small ones, and the halves of others, whose products are matrix products."""
    n = m.shape[-1]
    if n <= SMALL:
        return small_matrices.forward(m, b)
    half = n // 2
    first = substituted_lower(m[:, :half, :half], b[:, :half])
    rest = b[:, half:] - m[:, half:, :half] @ first
    return np.concatenate([first, substituted_lower(m[:, half:, half:], rest)], axis=1)


def each(function: Callable[..., np.ndarray], *stacks: np.ndarray) -> np.ndarray:
    """A function of NumPy's on stacks: NaN for the members for which it has no value."""
    try:
        return function(*stacks)
    except np.linalg.LinAlgError:
        if len(stacks[0]) == 1:
            return np.full(stacks[-1].shape, np.nan, stacks[-1].dtype)
        return np.concatenate([each(function, *[s[k:k + 1] for s in stacks]) for k in range(len(stacks[0]))])


def logarithm(m: np.ndarray) -> np.ndarray:
    sign, value = np.linalg.slogdet(m)
    return np.where(sign < 0, np.nan, value)


TRIANGULAR: dict[str, Callable[[np.ndarray], np.ndarray]] = {"solve_lower": np.tril, "solve_upper": np.triu}
UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "cholesky": lambda m: each(np.linalg.cholesky, m), "inverse": lambda m: each(np.linalg.inv, m), "logdet": logarithm,
    "det": np.linalg.det}


def failed_pivot(op: MatrixOperation, m: np.ndarray) -> Pivot | None:
    """The pivot for which an operation on a matrix of doubles is not defined; None where it is. A number on the diagonal of a
    triangular matrix is one."""
    if op.name in FACTORED or op.name == SEARCH:
        return None
    if op.name in TRIANGULAR:
        zeros = np.flatnonzero(np.diagonal(m) == 0)
        return Pivot(int(zeros[0]), 0.0) if len(zeros) else None
    symmetric, a = op.name == "cholesky", np.array(m)
    if symmetric:
        a = 0.5 * a + 0.5 * a.T
    for k in range(len(a)):
        if not symmetric:
            best = k + int(np.argmax(np.abs(a[k:, k])))
            a[[k, best]] = a[[best, k]]
        if not (a[k, k] > 0 if symmetric else a[k, k] != 0):
            return Pivot(k, float(a[k, k]))
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k] / a[k, k], a[k, k + 1:])
    return None


# ---------------------------------------------------------------- any arithmetic

class Elimination:
    """An operation on one matrix, of elements of an arithmetic."""

    def __init__(self, op: MatrixOperation, operands: list[np.ndarray], arithmetic: ElementArithmetic) -> None:
        self.op, self.operands, self.f, self.constant = op, operands, arithmetic.functions, arithmetic.constant
        if "gt" not in self.f or "abs" not in self.f:
            raise AdError(f"'{op.name}' needs numbers that have an order")
        if op.name in FACTORED:
            if "no_value" in self.f:
                raise AdError(f"'{op.name}' is computed as a whole, not number by number")
            return
        if op.name == SEARCH:
            return
        self.m = [list(row) for row in (operands[0].T if op.transposed else operands[0])]
        self.shape = () if op.name in NUMBERS else operands[-1].shape

    def value(self) -> np.ndarray:
        if self.op.name in FACTORED:
            return self.decomposed()
        if self.op.name == SEARCH:
            return _array(self.constant(float(self.searched(*self.operands))), ())
        for x in (x for row in self.m for x in row):
            if x != x or x == INF or x == -INF:
                return self.undefined(x)
        return {"cholesky": self.cholesky, "solve_lower": self.triangular, "solve_upper": self.triangular,
                "logdet": self.determinant, "det": self.determinant}.get(self.op.name, self.solution)()

    def searched(self, x: np.ndarray, q: Any) -> int:
        """The number of elements that are at most q, by bisection."""
        found, left = 0, len(x)
        while left:
            middle = x[found + (left + 1) // 2 - 1]
            found += (left + 1) // 2 if middle == middle and q == q and not self.f["gt"](middle, q) else 0
            left //= 2
        return found

    def decomposed(self) -> np.ndarray:
        (m,), (extents, made) = self.operands, FORMS[self.op.name]
        size = dict(zip(extents, m.shape, strict=True))
        shape = tuple([size[n] for n in made])
        if m.ndim == 2 and any(x != x or x == INF or x == -INF for x in m.flat):
            return np.full(shape, self.constant(math.nan), object)
        return _array(decompositions.Decomposition(self.f, self.constant).value(self.op.name, m), shape)

    def undefined(self, blamed: Any, pivot: int | None = None, result: float = float("nan")) -> np.ndarray:
        """Elements where the operation has no value; an arithmetic may say itself what they are."""
        f = self.f
        made = f["no_value"](self.op, blamed, pivot, self.operands, result) if "no_value" in f else self.constant(result)
        return np.full(self.shape, made, object)

    def regular(self, rows: list[list[Any]]) -> None:
        """The operation has a value; an arithmetic may take down with which pivots, the diagonal of `rows`."""
        if "regular" in self.f:
            self.f["regular"](self.op, self.m, [row[i] for i, row in enumerate(rows)])

    def cholesky(self) -> np.ndarray:
        factor, failed = factor_of(self.m, self.f, self.constant)
        if failed:
            return self.undefined(failed.value, failed.place + 1)
        self.regular(factor)
        return _array(factor, self.shape)

    def triangular(self) -> np.ndarray:
        m = self.m
        for i in range(len(m)):
            if m[i][i] == 0:
                return self.undefined(m[i][i], i + 1)
        self.regular(m)
        right = [list(r) for r in columns(self.operands[1])]
        return _array(triangle_solved(m, right, self.f, self.op.name == "solve_lower"), self.shape)

    def solution(self) -> np.ndarray:
        """The solution of a system, or of that with a unit matrix on the right: the inverse."""
        n, f = len(self.m), self.f
        right = columns(self.operands[1]) if self.op.name == "solve" else _identity(n, self.constant)
        rows = [[*row, *r] for row, r in zip(self.m, right, strict=True)]
        if failed := eliminated(rows, f)[0]:
            return self.undefined(failed.value, failed.place + 1)
        self.regular(rows)
        return _array(triangle_solved([row[:n] for row in rows], [row[n:] for row in rows], f, False), self.shape)

    def determinant(self) -> np.ndarray:
        """The determinant, or its logarithm."""
        f, rows = self.f, [list(row) for row in self.m]
        failed, sign = eliminated(rows, f)
        if failed is not None:
            return self.undefined(failed.value, failed.place + 1, 0.0 if self.op.name == "det" else -INF)
        if self.op.name == "det":
            self.regular(rows)
            product = self.constant(float(sign))
            for i in range(len(rows)):
                product = f["mul"](product, rows[i][i])
            return _array(product, ())
        total, zero = self.constant(0.0), self.constant(0.0)
        for i in range(len(rows)):
            sign = sign if f["gt"](rows[i][i], zero) else -sign
            total = f["add"](total, f["log"](f["abs"](rows[i][i])))
        if sign < 0:
            return self.undefined(rows[-1][-1])
        self.regular(rows)
        return _array(total, ())


def columns(right: np.ndarray) -> np.ndarray:
    """Right-hand sides as the columns of a matrix, which may have no rows."""
    return right.reshape(len(right), math.prod(right.shape[1:]))


def eliminated(rows: list[list[Any]], f: Functions) -> tuple[Pivot | None, int]:
    """Gauss's elimination in place, on as many columns as there are rows; the first pivot that is 0, and the sign of the
    permutation."""
    n, sign = len(rows), 1
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if f["gt"](f["abs"](rows[i][k]), f["abs"](rows[best][k])):
                best = i
        if best != k:
            rows[k], rows[best], sign = rows[best], rows[k], -sign
        if rows[k][k] == 0:
            return Pivot(k, rows[k][k]), sign
        for i in range(k + 1, n):
            ratio = f["div"](rows[i][k], rows[k][k])
            rows[i][k + 1:] = [f["sub"](x, f["mul"](ratio, y)) for x, y in zip(rows[i][k + 1:], rows[k][k + 1:], strict=True)]
    return None, sign


def triangle_solved(m: list[list[Any]], b: list[list[Any]], f: Functions, lower: bool) -> list[list[Any]]:
    n, x = len(m), [list(row) for row in b]
    for k in range(n) if lower else range(n - 1, -1, -1):
        x[k] = [f["div"](v, m[k][k]) for v in x[k]]
        for i in range(k + 1, n) if lower else range(k):
            x[i] = [f["sub"](v, f["mul"](m[i][k], w)) for v, w in zip(x[i], x[k], strict=True)]
    return x


def factor_of(m: list[list[Any]], f: Functions, constant: Callable[[float], Any]) -> tuple[list[list[Any]], Pivot | None]:
    """Cholesky's factor of the symmetric part, and the first pivot that is not above 0."""
    n, half, zero = len(m), constant(0.5), constant(0.0)
    a = [[f["add"](f["mul"](half, m[i][j]), f["mul"](half, m[j][i])) for j in range(n)] for i in range(n)]
    factor = [[zero] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            value = a[i][j]
            for k in range(j):
                value = f["sub"](value, f["mul"](factor[i][k], factor[j][k]))
            if i == j:
                if not f["gt"](value, zero):
                    return factor, Pivot(j, value)
                factor[j][j] = f["sqrt"](value)
            else:
                factor[i][j] = f["div"](value, factor[j][j])
    return factor, None


def _identity(n: int, constant: Callable[[float], Any]) -> np.ndarray:
    return _array([[constant(float(i == j)) for j in range(n)] for i in range(n)], (n, n))


def _array(rows: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of an arithmetic as an array, without looking into them."""
    made = np.empty(int(np.prod(shape)), object)
    flat = [rows] if not shape else rows if rows and not isinstance(rows[0], list) else [x for row in rows for x in row]
    for k, x in enumerate(flat):
        made[k] = x
    return made.reshape(shape)
