"""Linear algebra of Jacobians, dense or sparse: solutions, least singular values, norms of products.

What is sparse is factored by SuperLU, a square matrix as it is, one with more rows than columns by its normal equations; singular
values and norms are those of a few directions, by block iteration with the factors.

Named inputs, numbers and tensors, as the components of one vector.

The method of Levenberg and Marquardt for many residuals that each depend on few unknowns, within bounds: normal equations with
columns of length 1, of which the damping follows how well they foretell the cost (Nielsen, IMM-REP-1999-05). What its bound holds
against the gradient stays there for a step (projected steps: Kanzow, Yamashita and Fukushima 2004).
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.lang.ir.errors import AdError, missing

# ---------------------------------------------------------------- vectors

Vector = np.ndarray
UNREAD = "f2py", "testing", "ma", "polynomial", "ctypeslib"
"""Packages of NumPy that take as long to load as all of scipy.sparse, which copies every name of NumPy and uses none of these."""


def load_scipy() -> None:
    """Import scipy.sparse without these packages: for a process of our own, in which nobody else looks at NumPy meanwhile."""
    if find_spec("scipy") is None:
        return
    absent = [name for name in UNREAD if name not in vars(np)]
    for name in absent:
        setattr(np, name, None)
    try:
        import_module("scipy.sparse")
    finally:
        for name in absent:
            if vars(np)[name] is None:
                delattr(np, name)


@contextmanager
def quiet_scipy(what: str) -> Iterator[None]:
    """Silence NumPy and SciPy within. AdError where `what` needs SciPy and there is none."""
    if find_spec("scipy") is None:
        raise missing(what, "scipy")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Components:
    """The inputs `names` with their `shapes`, one after another, tensors raveled in the order of memory: n components."""

    def __init__(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        self.names, self.shapes = list(names), list(shapes)
        self.sizes = [math.prod(shape) for shape in shapes]
        self.n = sum(self.sizes)

    @cached_property
    def components(self) -> list[str]:
        """Names of the components: x, W(1, 0)."""
        from adcli.task.matrices import elements
        return [x for name, shape in zip(self.names, self.shapes, strict=True) for x in elements(name, shape)]

    def pack(self, point: Mapping[str, Any]) -> Vector:
        """The vector of a point, of which other inputs do not matter."""
        parts = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            part = np.asarray(point[name], dtype=np.float64)
            if part.shape != shape:
                raise AdError(f"'{name}' has shape {part.shape}, and {shape} in the vector")
            parts.append(part.ravel())
        return np.concatenate(parts) if parts else np.zeros(0)

    def unpack(self, x: Vector) -> dict[str, Any]:
        """The inputs of a vector: floats, and arrays where they are tensors."""
        found, at = {}, 0
        for name, shape, size in zip(self.names, self.shapes, self.sizes, strict=True):
            part = np.asarray(x[at:at + size], dtype=np.float64)
            found[name] = part.reshape(shape) if shape else float(part[0])
            at += size
        return found

    def repeated(self, values: Sequence[Any]) -> Vector:
        """One value for each input as one for each of its components."""
        return np.repeat(values, self.sizes)


def dense(matrix: Any) -> Vector:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def entries(matrix: Any) -> Vector:
    """The numbers of a matrix that are stored."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.data


def places(matrix: Any) -> tuple[Vector, Vector]:
    """Rows and columns of the entries of a matrix, dense or in compressed rows, in their order."""
    if isinstance(matrix, np.ndarray):
        i, j = np.indices(matrix.shape).reshape(2, -1)
        return i, j
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def scaled(matrix: Any, columns: Vector, rows: Vector | None = None) -> Any:
    """A dense or sparse matrix with its columns, and rows, multiplied by numbers; a sparse one keeps its entries."""
    if isinstance(matrix, np.ndarray):
        return matrix * columns if rows is None else matrix * rows[:, None] * columns
    made = copy(matrix)
    made.data = (matrix.data if rows is None else matrix.data * np.repeat(rows, np.diff(matrix.indptr))) * columns[matrix.indices]
    return made


Operator = Callable[[Vector], Vector]
MOST_DENSE = 300
"""Columns up to which a matrix is dense."""
REGULAR = 1e-12
"""Added to the unit diagonal of normal equations; refinement takes it back."""
LOST = 1e-9
"""Singular values of a sparse matrix with columns of length 1 that count as 0: normal equations tell no finer."""
REFINEMENTS, ROUNDS = 3, 4
"""Refinements of a solution, and rounds of a block iteration."""
BLOCK, MOST_LOST = 8, 64
"""Directions that are looked at first, and at most."""


def manageable(matrix: Any) -> Any:
    """The matrix, dense where it has few columns."""
    return dense(matrix) if matrix.shape[1] <= MOST_DENSE else matrix


def largest(matrix: Any, axis: int) -> Vector:
    """The largest magnitude in each column (axis 0) or row (axis 1)."""
    found = np.max(np.abs(matrix), axis=axis) if isinstance(matrix, np.ndarray) else abs(matrix).max(axis=axis).toarray()
    return np.asarray(found).ravel()


def finite_rows(matrix: Any) -> Vector:
    """Of each row, True if its numbers are finite."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.isfinite(matrix).all(axis=1))
    found = np.ones(matrix.shape[0], bool)
    found[places(matrix)[0][~np.isfinite(matrix.data)]] = False
    return found


def times(matrix: Any, rows: Vector) -> Any:
    """A matrix with its rows multiplied by numbers."""
    return matrix * rows[:, None] if isinstance(matrix, np.ndarray) else scaled(matrix, np.ones(matrix.shape[1]), rows)


def over(matrix: Any, rows: Vector, columns: Vector | None = None) -> Any:
    """A matrix with its rows, and columns, divided by numbers."""
    if isinstance(matrix, np.ndarray):
        return matrix / rows[:, None] if columns is None else matrix / rows[:, None] / columns
    return scaled(matrix.tocsr(), np.ones(matrix.shape[1]) if columns is None else 1 / columns, 1 / rows)


def column_lengths(matrix: Any) -> Vector:
    """The lengths of columns, 1 for those that are zero; without overflow or underflow of their squares."""
    greatest = np.abs(matrix).max(axis=0, initial=0.0) if isinstance(matrix, np.ndarray) else largest(matrix, 0)
    greatest[greatest == 0] = 1.0
    if isinstance(matrix, np.ndarray):
        found: Vector = greatest * np.linalg.norm(matrix / greatest, axis=0)
    else:
        _, j = places(matrix)
        found = greatest * np.sqrt(np.bincount(j, (matrix.data / greatest[j])**2, matrix.shape[1]))
    found[found == 0] = 1.0
    return found


def factored(matrix: Any, **options: Any) -> Any:
    """SuperLU's factors. LinAlgError where the matrix is singular."""
    from scipy.sparse.linalg import splu
    try:
        return splu(matrix.tocsc(), **options)
    except RuntimeError:
        raise np.linalg.LinAlgError("singular matrix") from None


# ---------------------------------------------------------------- square matrices

class Square:
    """A square matrix whose rows and columns are scaled to a largest entry of 1, and which is then factored once if sparse."""

    def __init__(self, matrix: Any) -> None:
        self.rows = largest(matrix, 1)
        self.columns = largest(over(matrix, self.rows), 0)
        self.unit = over(matrix, self.rows, self.columns)
        self.factors = None if isinstance(matrix, np.ndarray) else factored(self.unit)

    def solve(self, right: Vector) -> Vector:
        """The solution for a vector, or for the columns of a dense matrix."""
        right = (right.T / self.rows).T
        found = self.factors.solve(right) if self.factors else np.linalg.solve(self.unit, right)
        return np.asarray((found.T / self.columns).T)

    def transposed(self, right: Vector) -> Vector:
        """The solution of the transposed system."""
        right = right / self.columns
        found = self.factors.solve(right, "T") if self.factors else np.linalg.solve(self.unit.T, right)
        return np.asarray(found / self.rows)


def leading(apply: Operator, transposed: Operator, n: int, count: int = 1, accuracy: float = 1e-3) -> tuple[Vector, Vector]:
    """The largest singular values of an operator on n components, and the directions into which they lead, a row each."""
    from scipy.sparse.linalg import LinearOperator, eigsh
    both = LinearOperator((n, n), matvec=lambda v: apply(transposed(np.ravel(v))), dtype=np.float64)
    start = 1.5 + np.cos(np.arange(n))
    if not np.any(both @ start):
        return np.zeros(count), np.zeros((count, n))
    values, vectors = eigsh(both, count, which="LA", tol=accuracy, v0=start)
    return np.sqrt(np.maximum(values[::-1], 0.0)), vectors.T[::-1]


def condition(matrix: Any) -> float:
    """The condition number in the 2-norm, of a sparse matrix to three digits."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if isinstance(matrix, np.ndarray):
            return float(np.linalg.cond(matrix))
        n = matrix.shape[1]
        highest = leading(lambda v: matrix.T @ v, lambda v: matrix @ v, n, accuracy=1e-4)[0][0]
        if matrix.shape[0] != n:
            lengths = column_lengths(matrix)
            normal = Normal(scaled(matrix, 1 / lengths))
            return float(highest * leading(lambda v: normal.solve(v / lengths) / lengths, lambda v: v, n, accuracy=1e-4)[0][0])
        try:
            inverse = Square(matrix)
        except np.linalg.LinAlgError:
            return np.inf
        return float(highest * leading(inverse.solve, inverse.transposed, n, accuracy=1e-4)[0][0])


def lost_direction(matrix: Any, singular: float) -> Vector | None:
    """A direction that a matrix takes to nothing, beside what it makes of others; None where there is none."""
    rows = np.maximum(largest(matrix, 1), 1e-300)
    columns = largest(over(matrix, rows), 0)
    if isinstance(matrix, np.ndarray):
        if columns.all() and (values := np.linalg.svd(over(matrix, rows, columns))[1])[-1] > singular * values[0]:
            return None
        return np.asarray(np.linalg.svd(over(matrix, rows))[2][-1])
    if columns.all() and matrix.shape[0] == matrix.shape[1]:
        try:
            inverse, n = Square(over(matrix, rows, columns)), len(columns)
        except np.linalg.LinAlgError:
            pass
        else:
            values, along = leading(inverse.solve, inverse.transposed, n)
            return along[0] / columns if values[0] * singular >= 1 else None
    columns = column_lengths(over(matrix, rows))
    lost = Normal(over(matrix, rows, columns)).lost()
    return lost[0] / columns if len(lost) else None


def least_squares(matrix: Any, right: Vector) -> Vector:
    """The shortest x with the least |matrix x − right|."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
    lengths = column_lengths(matrix)
    return Normal(over(matrix, np.ones(matrix.shape[0]), lengths)).least_squares(right) / lengths


# ---------------------------------------------------------------- normal equations of sparse matrices

class Normal:
    """JᵀJ + damping of a sparse J, factored; its columns have length 1, or 0."""

    def __init__(self, j: Any, damping: float = REGULAR) -> None:
        from scipy.sparse import identity
        self.j, self.n = j, j.shape[1]
        require_room("the normal equations", 12 * int((np.diff(j.indptr).astype(float)**2).sum()))
        self.factors = factored(j.T @ j + damping * identity(self.n, format="csc"), permc_spec="MMD_AT_PLUS_A",
                                diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(self, right: Vector) -> Vector:
        """The solution without the damping, if that is small; of those the shortest, if there are many."""
        found = self.factors.solve(right)
        for _ in range(REFINEMENTS):
            found = found + self.factors.solve(right - self.j.T @ (self.j @ found))
        return np.asarray(found)

    def least_squares(self, r: Vector) -> Vector:
        """The shortest x with the least |J x − r|."""
        found = np.zeros(self.n)
        for _ in range(REFINEMENTS):
            found = found + self.factors.solve(self.j.T @ (r - self.j @ found))
        return found

    def lost(self) -> Vector:
        """Orthogonal directions of length 1 that J takes to nothing, a row each. AdError where there are more than MOST_LOST."""
        count = BLOCK
        while True:
            block = np.random.default_rng(0).normal(size=(self.n, min(count, self.n)))
            for _ in range(ROUNDS):
                block = np.linalg.qr(self.factors.solve(block))[0]
            for _ in range(2):
                block = np.linalg.qr(block - self.factors.solve(self.j.T @ (self.j @ block)))[0]
            _, s, vt = np.linalg.svd(self.j @ block, full_matrices=False)
            lost = (block @ vt[s <= LOST].T).T
            if len(lost) < count or count >= min(self.n, MOST_LOST):
                return np.asarray(lost)
            count *= 2

    def inverse(self, where: Vector) -> Vector:
        """Rows and columns `where` of (JᵀJ)⁻¹ on what is orthogonal to the directions that are lost."""
        lost, parts = self.lost(), []
        for some in np.array_split(where, -(-len(where) // BLOCK)):
            right = np.zeros((self.n, len(some)))
            right[some, np.arange(len(some))] = 1.0
            found = self.solve(right - lost.T @ (lost @ right))
            parts.append((found - lost.T @ (lost @ found))[where])
        return np.concatenate(parts, axis=1)


# ---------------------------------------------------------------- the method of Levenberg and Marquardt

DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e12
"""The damping at first, and the least and the most of it, relative to the diagonal."""
SAME = 1e-12
"""Steps that lower the cost by a smaller part of it are the last."""
MOST_STEPS = 300


class LocalModel(NamedTuple):
    """Cost at a point; residuals and Jacobian whose squares have its gradient, and its Hessian as Gauss and Newton have it."""

    cost: float
    residual: Vector
    jacobian: Any


def levenberg(at: Callable[[Vector], LocalModel], x: Vector, low: Vector, high: Vector, most: int = MOST_STEPS) -> Vector:
    """Where the method ends after at most so many steps."""
    here, damping, growth = at(x), DAMPING, 2.0
    for _ in range(most):
        slope = here.jacobian.T @ here.residual
        free = np.flatnonzero(~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0))))
        columns = here.jacobian[:, free]
        lengths = column_lengths(columns)
        unit = over(columns, np.ones(columns.shape[0]), lengths)
        step = np.zeros_like(x)
        step[free] = -Normal(unit, damping).factors.solve(slope[free] / lengths) / lengths
        new = np.clip(x + step, low, high)
        there = at(new)
        foretold = float(np.sum(here.residual**2) - np.sum((here.residual + here.jacobian @ (new - x))**2))
        gain = (here.cost - there.cost) / foretold if foretold > 0 else 0.0
        if not gain > 0:
            damping, growth = damping * growth, 2 * growth
            if not damping < MOST_DAMPING or np.array_equal(new, x):
                break
            continue
        last = here.cost - there.cost <= SAME * abs(here.cost)
        x, here, growth = new, there, 2.0
        damping = max(LEAST_DAMPING, damping * max(1 / 3, 1 - (2 * gain - 1)**3))
        if last:
            break
    return x
