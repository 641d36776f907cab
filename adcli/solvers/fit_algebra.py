"""The linear algebra of least squares: singular values of Jacobians whose columns have length 1, so that units do not matter."""
from __future__ import annotations

import math

import numpy as np

Vector = np.ndarray
Matrix = np.ndarray

RANK = 1e-13
"""Singular values of the Jacobian with columns of length 1, relative to the largest, that are rounding of zero."""
BLOCK = 1024
"""Rows that are reduced at a time."""


def triangular(r: Vector, j: Matrix) -> tuple[Vector, Matrix]:
    """Qᵀr and QᵀJ for the Q of [J r] = QR: few rows, with the lengths and products of the many, which are all that the method of
    least squares asks for. Many rows are taken a block at a time, as far as they lie in the cache."""
    a = np.column_stack([j, r])
    rows, columns = a.shape
    whole = rows // BLOCK
    if whole > 1 and columns < BLOCK // 4:
        blocks: Matrix = np.linalg.qr(a[:whole * BLOCK].reshape(whole, BLOCK, columns), mode="r")   # type: ignore[assignment]
        a = np.concatenate([blocks.reshape(-1, columns), a[whole * BLOCK:]])
    found: Matrix = np.linalg.qr(a, mode="r")   # type: ignore[assignment]
    return found[:, -1], found[:, :-1]


def shortest_solution(j: Matrix, r: Vector) -> Vector:
    """The least squares solution of j x = r with columns of j scaled to length 1, the shortest where there are many."""
    lengths = column_lengths(j)
    u, s, vt = np.linalg.svd(j / lengths, full_matrices=False)
    kept = s > RANK * s[0] if len(s) else s > 0
    return (vt[kept].T @ ((u[:, kept].T @ r) / s[kept])) / lengths


def column_lengths(j: Matrix) -> Vector:
    """The lengths of columns, 1 for those that are zero; without overflow or underflow of their squares."""
    largest = np.abs(j).max(axis=0, initial=0.0)
    largest[largest == 0] = 1.0
    found: Vector = largest * np.linalg.norm(j / largest, axis=0)
    found[found == 0] = 1.0
    return found


def null_space(j: Matrix) -> Matrix:
    """Directions along which nothing changes, one a row, each with as few components as may be and the first of them 1; what is
    zero but for rounding is zero."""
    p = j.shape[1]
    if p == 0:
        return np.zeros((0, 0))
    lengths = column_lengths(j)
    _, s, vt = np.linalg.svd(j / lengths, full_matrices=True) if j.shape[0] < p else np.linalg.svd(j / lengths,
                                                                                                full_matrices=False)
    rank = int((s > RANK * s[0]).sum()) if s[0] > 0 else 0
    basis = reduced(vt[rank:])
    basis[np.abs(basis) < 1e-6] = 0.0
    basis /= lengths
    return np.array([d / d[np.flatnonzero(d)[0]] for d in basis]).reshape(len(basis), p)


def reduced(rows: Matrix) -> Matrix:
    """The reduced row echelon form of independent rows, the largest element of a row as its pivot."""
    rows = rows.copy()
    for i in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[i])))
        rows[i] /= rows[i, pivot]
        for k in range(len(rows)):
            if k != i:
                rows[k] -= rows[k, pivot] * rows[i]
    for row in rows:
        row /= np.abs(row).max()
    return rows


def spread(j: Matrix, lost: Matrix) -> tuple[Vector, Matrix]:
    """The roots of the diagonal of (JᵀJ)⁻¹, and that matrix with ones on its diagonal, by the singular values of J with columns
    of length 1; NaN for parameters that are not determined."""
    lengths = column_lengths(j)
    _, s, vt = np.linalg.svd(j / lengths, full_matrices=False)
    kept = s > RANK * s[0] if s[0] > 0 else s > 0
    root = vt[kept].T / s[kept]
    inner = column_lengths(root.T)
    found, together = inner / lengths, np.clip(root @ root.T / np.outer(inner, inner), -1.0, 1.0)
    np.fill_diagonal(together, 1.0)
    unknown = np.any(lost != 0, axis=0) if len(lost) else np.zeros(j.shape[1], bool)
    found[unknown] = together[unknown, :] = together[:, unknown] = math.nan
    return found, together
