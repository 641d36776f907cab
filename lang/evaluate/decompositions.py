"""Operations on matrices that NumPy computes at every size: eigenvalues, orthogonal factors, exponentials, and sorting.

In doubles they are LAPACK's, with the signs that `adcli.lang.operations.matrix` fixes; the exponential is by N. Higham, The
scaling and squaring method for the matrix exponential revisited (2005), of small matrices in the order of compiled code. In
other arithmetics with an order they are Jacobi's rotations, the Gram-Schmidt process done twice, and Taylor's series (Golub and
Van Loan, Matrix Computations, 4th edition, 8.5, 5.2 and 9.3).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cmp_to_key, partial
from typing import Any

import numpy as np
from adcli.lang.evaluate import small_matrices

Functions = Mapping[str, Callable[..., Any]]
Rows = list[list[Any]]
SWEEPS, MORE = 100, 3
"""Sweeps of Jacobi's method, at most, of which about ten are needed; and those behind: where a tape of doubles is computed again
in multiple precision each of them doubles the digits."""
SMALL, TERMS = 0.0625, 24
"""Size of a matrix, times its rows, at which the series of the exponential is taken; and its terms at least, for such tapes."""
PADE = [math.factorial(26 - k) * math.factorial(13) / (math.factorial(26) * math.factorial(k) * math.factorial(13 - k))
        for k in range(14)]
"""Coefficients of the numerator of the diagonal approximant of exp of degree 13."""
PADE_NORM = 5.37
"""1-norm up to which that approximant is exact to a rounding error."""
SMALL_EXPONENT = 32
"""Rows, at most, of a matrix whose exponential compiled code computes itself."""


# ---------------------------------------------------------------- doubles

def in_doubles(name: str, m: np.ndarray) -> np.ndarray:
    """The operation on a stack of matrices, or of vectors that are sorted; NaN for a matrix that is not finite."""
    if name in SORTED:
        return SORTED[name](m)
    good = np.isfinite(m).all(axis=(-1, -2))
    with np.errstate(all="ignore"):
        values = STACKED[name](np.where(good[:, None, None], m, np.eye(*m.shape[-2:], dtype=m.dtype)))
    return np.where(good.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan).astype(m.dtype)


def symmetric(m: np.ndarray) -> np.ndarray:
    return 0.5 * m + 0.5 * np.swapaxes(m, -1, -2)


def signs(vectors: np.ndarray) -> np.ndarray:
    """Of each column that of its first element of at least half of the greatest absolute value."""
    size = np.abs(vectors)
    if not vectors.shape[-2]:
        return np.ones((*vectors.shape[:-2], 1, vectors.shape[-1]))
    first = np.argmax(size >= 0.5 * size.max(axis=-2, keepdims=True), axis=-2)
    return np.sign(np.take_along_axis(vectors, first[..., None, :], axis=-2))


def eigenvectors(m: np.ndarray) -> np.ndarray:
    found = np.linalg.eigh(symmetric(m))[1]
    return found * signs(found)


def singular(name: str, m: np.ndarray) -> np.ndarray:
    """Singular values or vectors, of NaN where there are fewer rows than columns."""
    rows, columns = m.shape[-2:]
    if rows < columns:
        given = {"singular_values": (columns,), "svd_u": (rows, columns), "svd_v": (columns, columns)}[name]
        return np.full((len(m), *given), np.nan)
    if name == "singular_values":
        return np.linalg.svd(m, compute_uv=False)
    u, _, v = np.linalg.svd(m, full_matrices=False)
    v = np.swapaxes(v, -1, -2)
    return (v if name == "svd_v" else u) * signs(v)


def factors(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and R, of NaN where there are fewer rows than columns."""
    rows, columns = m.shape[-2:]
    if rows < columns:
        return np.full(m.shape, np.nan), np.full((len(m), columns, columns), np.nan)
    q, r = np.linalg.qr(m)
    sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0).astype(m.dtype)
    return q * sign[:, None, :], r * sign[:, :, None]


def exponentials(m: np.ndarray) -> np.ndarray:
    return np.stack([exponential(x) for x in m]) if len(m) else m


def exponential(a: np.ndarray) -> np.ndarray:
    """Of the negative powers -A², -A⁴ and -A⁶, so that all products are taken away from what is there."""
    small = len(a) <= SMALL_EXPONENT
    less = less_small if small else lambda x, m, b: x - m @ b
    norm, zero, one = column_norm(a) / a.dtype.type(PADE_NORM), np.zeros_like(a), np.eye(len(a), dtype=a.dtype)
    halvings = max(0, math.frexp(float(norm))[1])
    a = np.ldexp(a, -halvings)
    second = less(zero, a, a)
    fourth = less(zero, second, second)
    sixth = less(zero, second, fourth)
    even, odd = (less(PADE[k + 6] * sixth + PADE[k + 4] * fourth + PADE[k + 2] * second - PADE[k] * one, sixth,
                      PADE[k + 12] * sixth + PADE[k + 10] * fourth + PADE[k + 8] * second) for k in (0, 1))
    odd = less(zero, a, odd)
    found = small_matrices.solution((even + odd)[None], (odd - even)[None])[0] if small else \
        np.linalg.solve(even + odd, odd - even)
    for _ in range(halvings):
        found = less(zero, found, found)
    return 0.0 - found


def column_norm(a: np.ndarray) -> Any:
    """The greatest sum of the absolute values of a column, added from the top."""
    total = np.zeros(a.shape[1:], a.dtype)
    for row in np.abs(a):
        total = total + row
    return total.max(initial=0)


def less_small(x: np.ndarray, m: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x - m·b, term by term in the order of compiled code."""
    for k in range(len(b)):
        x = x - m[:, k, None] * b[k]
    return x


STACKED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "eigenvalues": lambda m: np.linalg.eigvalsh(symmetric(m)), "eigenvectors": eigenvectors,
    **{name: partial(singular, name) for name in ("singular_values", "svd_u", "svd_v")},
    "qr_q": lambda m: factors(m)[0], "qr_r": lambda m: factors(m)[1], "expm": exponentials}
SORTED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sort": lambda x: np.sort(x, axis=-1), "sort_order": lambda x: np.argsort(x, axis=-1, kind="stable").astype(x.dtype)}


# ---------------------------------------------------------------- any arithmetic with an order

class Decomposition:
    """An operation on one matrix, or on a vector, of numbers of an arithmetic that are finite."""

    def __init__(self, f: Functions, constant: Callable[[float], Any]) -> None:
        self.f, self.constant, self.zero, self.one = f, constant, constant(0.0), constant(1.0)

    def value(self, name: str, m: np.ndarray) -> list[Any]:
        """The elements of the result, in order."""
        if name in SORTED:
            order = self.order(list(m))
            return [m[k] if name == "sort" else self.constant(float(k)) for k in order]
        rows = [list(row) for row in m]
        if name == "expm":
            return flat(self.exponential(rows))
        if name in ("qr_q", "qr_r"):
            return flat(self.factors(rows)[name == "qr_r"])
        if name not in ("eigenvalues", "eigenvectors"):
            return self.singular(name, rows)
        values, vectors = self.rotated(rows)
        order = self.order(values)
        if name == "eigenvalues":
            return [values[k] for k in order]
        columns = [self.signed([row[k] for row in vectors]) for k in order]
        return flat(transposed(columns))

    def order(self, x: list[Any]) -> list[int]:
        """The places of the elements in ascending order, those of NaN last."""
        def compared(i: int, j: int) -> int:
            if x[i] != x[i] or x[j] != x[j]:
                return bool(x[i] != x[i]) - bool(x[j] != x[j])
            return bool(self.f["gt"](x[i], x[j])) - bool(self.f["gt"](x[j], x[i]))
        return sorted(range(len(x)), key=cmp_to_key(compared))

    def signed(self, column: list[Any]) -> list[Any]:
        """An eigenvector with its sign."""
        f, half = self.f, self.constant(0.5)
        size = [f["abs"](x) for x in column]
        most = size[self.order(size)[-1]]
        first = next(x for x, s in zip(column, size, strict=True) if not f["gt"](f["mul"](half, most), s))
        return [f["neg"](x) for x in column] if f["gt"](self.zero, first) else column

    def sum(self, terms: list[Any]) -> Any:
        total = self.zero
        for x in terms:
            total = self.f["add"](total, x)
        return total

    def product(self, a: Rows, b: Rows) -> Rows:
        columns = list(zip(*b, strict=True))
        return [[self.sum([self.f["mul"](x, y) for x, y in zip(row, c, strict=True)]) for c in columns] for row in a]

    def rotated(self, m: Rows) -> tuple[list[Any], Rows]:
        """Eigenvalues and eigenvectors by sweeps of rotations, until one changes nothing in this arithmetic, and some more."""
        f, n, half = self.f, len(m), self.constant(0.5)
        a = [[f["add"](f["mul"](half, m[i][j]), f["mul"](half, m[j][i])) for j in range(n)] for i in range(n)]
        v = self.identity(n)
        self.swept(n, lambda p, q: self.rotate(a, v, p, q))
        return [a[k][k] for k in range(n)], v

    def identity(self, n: int) -> Rows:
        return [[self.one if i == j else self.zero for j in range(n)] for i in range(n)]

    def swept(self, n: int, rotate: Callable[[int, int], bool]) -> None:
        """Rotate all pairs until that moves none, and some times more."""
        left = SWEEPS
        while left:
            moved = [rotate(p, q) for p in range(n) for q in range(p + 1, n)]
            left = min(left - 1, left if any(moved) else MORE)

    def singular(self, name: str, m: Rows) -> list[Any]:
        """Singular values or vectors, by rotations of columns until they are orthogonal (Hestenes)."""
        f, n = self.f, len(m[0]) if m else 0
        columns, v = transposed(m), self.identity(n)

        def rotate(p: int, q: int) -> bool:
            below, above, both = [self.sum([f["mul"](x, y) for x, y in zip(columns[i], columns[j], strict=True)])
                                  for i, j in ((p, p), (q, q), (p, q))]
            turn = self.turn(f["add"](both, both), f["sub"](above, below), (below, above))
            if turn is None:
                return False
            c, s, _, moved = turn
            for rows in columns, v:
                rows[p], rows[q] = transposed([self.turned(c, s, x, y) for x, y in zip(rows[p], rows[q], strict=True)])
            return moved
        self.swept(n, rotate)
        length = [f["sqrt"](self.sum([f["mul"](x, x) for x in c])) for c in columns]
        order = self.order(length)[::-1]
        if name == "singular_values":
            return [length[k] for k in order]
        kept = []
        for k in order:
            signed = self.signed(v[k])
            unit = [f["div"](x, length[k]) for x in columns[k]]
            kept.append(signed if name == "svd_v" else unit if signed is v[k] else [f["neg"](x) for x in unit])
        return flat(transposed(kept))

    def turn(self, twice: Any, apart: Any, diagonal: tuple[Any, Any]) -> tuple[Any, Any, Any, bool] | None:
        """Cosine, sine and tangent of the rotation that makes a symmetric matrix of two rows diagonal, and whether that is more
        than rounding; from twice the element off its diagonal and the difference of those on it."""
        f = self.f
        if twice == 0 and apart == 0:
            return None
        moved = any(f["add"](f["abs"](d), f["abs"](twice)) != f["abs"](d) for d in diagonal)
        root = f["sqrt"](f["add"](f["mul"](apart, apart), f["mul"](twice, twice)))
        t = f["div"](twice, f["sub"](apart, root) if f["gt"](self.zero, apart) else f["add"](apart, root))
        c = f["div"](self.one, f["sqrt"](f["add"](f["mul"](t, t), self.one)))
        return c, f["mul"](t, c), t, moved

    def turned(self, c: Any, s: Any, x: Any, y: Any) -> list[Any]:
        f = self.f
        return [f["sub"](f["mul"](c, x), f["mul"](s, y)), f["add"](f["mul"](s, x), f["mul"](c, y))]

    def rotate(self, a: Rows, v: Rows, p: int, q: int) -> bool:
        """Make the element p, q zero; False where it is already, but for rounding."""
        f = self.f
        turn = self.turn(f["add"](a[p][q], a[p][q]), f["sub"](a[q][q], a[p][p]), (a[p][p], a[q][q]))
        if turn is None:
            return False
        c, s, t, moved = turn
        by = f["mul"](t, a[p][q])
        a[p][p], a[q][q], a[p][q], a[q][p] = f["sub"](a[p][p], by), f["add"](a[q][q], by), self.zero, self.zero
        for k in range(len(a)):
            v[k][p], v[k][q] = self.turned(c, s, v[k][p], v[k][q])
            if k not in (p, q):
                a[k][p], a[k][q] = self.turned(c, s, a[k][p], a[k][q])
                a[p][k], a[q][k] = a[k][p], a[k][q]
        return moved

    def factors(self, m: Rows) -> tuple[Rows, Rows]:
        """Q and R; every column is made orthogonal to those before it twice."""
        f, count = self.f, len(m[0]) if m else 0
        columns: Rows = []
        r = [[self.zero] * count for _ in range(count)]
        for k in range(count):
            rest = [row[k] for row in m]
            for j in [*range(k)] * 2:
                part = self.sum([f["mul"](x, y) for x, y in zip(columns[j], rest, strict=True)])
                r[j][k] = f["add"](r[j][k], part)
                rest = [f["sub"](x, f["mul"](part, y)) for x, y in zip(rest, columns[j], strict=True)]
            r[k][k] = f["sqrt"](self.sum([f["mul"](x, x) for x in rest]))
            columns.append([f["div"](x, r[k][k]) for x in rest])
        if len(m) < count:
            columns, r = [[self.constant(math.nan)] * len(m)] * count, [[self.constant(math.nan)] * count] * count
        return transposed(columns), r

    def exponential(self, m: Rows) -> Rows:
        """The series at a matrix that is halved until its elements are small, squared as often."""
        f, n, half, halvings = self.f, len(m), self.constant(0.5), 0
        while any(f["gt"](f["abs"](x), self.constant(SMALL / n)) for row in m for x in row):
            m, halvings = [[f["mul"](half, x) for x in row] for row in m], halvings + 1
        term = found = self.identity(n)
        for k in range(1, 10000):
            term = [[f["div"](x, self.constant(float(k))) for x in row] for row in self.product(term, m)]
            before, found = found, [[f["add"](x, y) for x, y in zip(a, b, strict=True)] for a, b in zip(found, term, strict=True)]
            if before == found and k >= TERMS:
                break
        for _ in range(halvings):
            found = self.product(found, found)
        return found


def transposed(rows: Rows) -> Rows:
    return [list(row) for row in zip(*rows, strict=True)]


def flat(rows: Rows) -> list[Any]:
    return [x for row in rows for x in row]
