"""Operations on small matrices of doubles, for stacks of them: in the order of compiled code, and so with its bits.

`m[k]` is the matrix and `b[k]` the right-hand sides, as columns, of member k of the stack; matrices are finite. Where an
operation has no value all elements are NaN.
"""
from __future__ import annotations

import math

import numpy as np

SMALL = 64
"""Rows, at most, of a matrix that compiled code computes with itself; with a larger one LAPACK is faster, its calls included."""


def value(name: str, m: np.ndarray, b: np.ndarray | None, transposed: bool = False) -> np.ndarray:
    """The operation of this name of `adcli.lang.operations.matrix`; `b` is for those with a right-hand side, of which `solve` may
    be with the `transposed` matrix."""
    if name == "cholesky":
        return factor(m)
    if name in ("logdet", "det"):
        return log_determinant(m) if name == "logdet" else determinant(m)
    if b is None or name == "solve":
        return solution(m, np.broadcast_to(np.eye(m.shape[-1], dtype=m.dtype), m.shape) if b is None else b, transposed)
    return {"solve_lower": forward, "solve_upper": backward}[name](m, b)


def eliminated(m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrices after Gauss's elimination with the pivot of greatest absolute value in its column, with the ratios below the
    diagonal; the order of their rows; and the signs of the permutations, 0 for a pivot that is 0."""
    a, sign, members = m.copy(), np.ones(len(m)), np.arange(len(m))
    order = np.broadcast_to(np.arange(m.shape[-1]), m.shape[:2]).copy()
    for k in range(m.shape[-1]):
        size = np.abs(a[:, k:, k])
        best = k + np.argmax(np.where(np.isnan(size), np.where(np.arange(size.shape[1]) == 0, np.inf, -1), size), axis=1)
        for rows in a, order:
            rows[members, best], rows[:, k] = rows[:, k].copy(), rows[members, best]
        sign[best != k] *= -1
        sign[a[:, k, k] == 0] = 0
        a[:, k + 1:, k] /= a[:, k, k, None]
        a[:, k + 1:, k + 1:] -= a[:, k + 1:, k, None] * a[:, k, None, k + 1:]
    return a, order, sign


def solution(m: np.ndarray, b: np.ndarray, transposed: bool = False) -> np.ndarray:
    a, order, sign = eliminated(m)
    members, unit = np.arange(len(m))[:, None], np.where(np.eye(m.shape[-1], dtype=bool), np.ones((), m.dtype), a)
    if not transposed:
        return where(sign != 0, backward(a, forward(unit, b[members, order])))
    x = np.empty_like(b)
    x[members, order] = backward(np.swapaxes(unit, 1, 2), forward(np.swapaxes(a, 1, 2), b))
    return where(sign != 0, x)


def backward(m: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with m·x = b, of m what is on and above the diagonal."""
    x = b.copy()
    for k in reversed(range(m.shape[-1])):
        x[:, k] /= m[:, k, k, None]
        x[:, :k] -= m[:, :k, k, None] * x[:, k, None]
    return where(regular(np.triu(m)), x)


def forward(m: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with m·x = b, of m what is on and below the diagonal."""
    x = b.copy()
    for k in range(m.shape[-1]):
        x[:, k] /= m[:, k, k, None]
        x[:, k + 1:] -= m[:, k + 1:, k, None] * x[:, k, None]
    return where(regular(np.tril(m)), x)


def regular(triangle: np.ndarray) -> np.ndarray:
    """True for finite matrices with no 0 on the diagonal."""
    return np.isfinite(triangle).all(axis=(1, 2)) & (np.diagonal(triangle, axis1=1, axis2=2) != 0).all(axis=1)


def factor(m: np.ndarray) -> np.ndarray:
    """Cholesky's factor of a symmetric matrix."""
    rest, made, good = m.copy(), np.zeros_like(m), np.full(len(m), True)
    for k in range(m.shape[-1]):
        good &= rest[:, k, k] > 0
        root = np.sqrt(rest[:, k, k])
        made[:, k:, k] = rest[:, k:, k] / root[:, None]
        made[:, k, k] = root
        rest[:, k + 1:, k + 1:] -= made[:, k + 1:, k, None] * made[:, None, k + 1:, k]
    return where(good, made)


def log_determinant(m: np.ndarray) -> np.ndarray:
    a, _, sign = eliminated(m)
    pivots = np.diagonal(a, axis1=1, axis2=2)
    total = np.zeros(len(m), m.dtype)
    for k in range(m.shape[-1]):
        total += logarithm(np.abs(pivots[:, k]))
    positive = sign * np.prod(np.sign(pivots), axis=1) > 0
    return np.where(sign == 0, -np.inf, np.where(positive, total, np.nan)).astype(m.dtype)


def determinant(m: np.ndarray) -> np.ndarray:
    a, _, sign = eliminated(m)
    product = sign.astype(m.dtype)
    for k in range(m.shape[-1]):
        product *= a[:, k, k]
    return np.where(sign == 0, 0.0, product).astype(m.dtype)


def logarithm(x: np.ndarray) -> np.ndarray:
    """By the C library for doubles, as in compiled code."""
    if x.dtype != np.float64:
        return np.log(x)
    return np.array([math.log(v) if v > 0 else -math.inf if v == 0 else math.nan for v in x.tolist()])


def where(good: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values; NaN for all of a member that is not good."""
    return np.where(good[:, None, None], values, np.array(np.nan, values.dtype))
