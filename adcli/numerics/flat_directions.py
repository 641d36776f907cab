"""Directions along which nothing of a problem changes: an optimum that has one is not unique, and can be an optimum all the same.

A variable is linear where its row of the Hessian of f − Σ λ c is zero, for weights λ that no terms cancel with, at the point and
at others on both sides, near by and far away, as x¹²⁰ underflows near 0; a function that is analytic is then linear in it. What
the constant Jacobian of linear variables maps to zero, as the difference of two generators at one bus, changes neither f nor any
condition, however long the step.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcli.numerics.optimality import PointDerivatives
from adcli.numerics.vectors import Vector

ASIDE = 1e-5, -1e-5, 1e-3, -1e-3, 0.5, -0.5
"""Distances of the other points, relative to the size of variables."""
MOST_TOGETHER = 300
"""Linear variables that conditions connect, up to which directions are looked for."""
NULL = 1e-13
"""Largest change, relative to the largest that there is, that is rounding."""


def flat_directions(at: Callable[[Vector], PointDerivatives], x: Vector, free: Vector, size: Vector) -> Any:
    """A basis of directions of `free` variables along which neither f nor a condition changes: rows of a sparse matrix."""
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.csgraph import connected_components
    linear = np.flatnonzero(free & linear_variables(at, x, size))
    here = at(x)
    changes = csr_array(vstack([csr_array(here.gradient[None, :]), csr_array(here.jacobian)]))[:, linear].multiply(size[linear])
    changes = csr_array(changes)
    changes.eliminate_zeros()
    meets = csr_array(changes != 0)
    count, label = connected_components(meets.T @ meets, directed=False) if len(linear) else (0, np.zeros(0, np.int64))
    order, starts = np.argsort(label, kind="stable"), np.cumsum(np.bincount(label, minlength=count))
    columns, found = changes.tocsc(), list[tuple[Vector, Vector]]()
    for group in np.split(order, starts[:-1]) if count else []:
        part = columns[:, group]
        if len(group) > MOST_TOGETHER or (len(group) == 1 and part.nnz):
            continue
        rows = np.unique(part.indices)
        found += [(linear[group], direction) for direction in null_vectors(part.tocsr()[rows].toarray())]
    numbers = np.concatenate([d for _, d in found]) if found else np.zeros(0)
    index = np.concatenate([i for i, _ in found]) if found else np.zeros(0, np.int64)
    ends = np.cumsum([0, *(len(d) for _, d in found)])
    return csr_array((numbers * size[index], index, ends), shape=(len(found), len(x)))


def null_vectors(matrix: Vector) -> Vector:
    """An orthonormal basis of what a matrix maps to zero, a row each."""
    _, singular, right = np.linalg.svd(matrix)
    return right[int(np.sum(singular > NULL * max(matrix.shape) * np.max(singular, initial=0.0))):]


def linear_variables(at: Callable[[Vector], PointDerivatives], x: Vector, size: Vector) -> Vector:
    """True for variables in which f and all conditions are linear near by."""
    from scipy.sparse import csr_array
    count = np.arange(len(x))
    found = np.ones(len(x), bool)
    for step in (0.0, *(part * np.copysign(0.5 + np.cos(count)**2, np.cos(count)) for part in ASIDE)):
        there = at(x + step * size)
        if there.hess is None:
            return np.zeros(len(x), bool)
        hessian = csr_array(there.hess(1.0 + np.sin(1.0 + np.arange(len(there.c))) / 3))
        hessian.data[np.isnan(hessian.data)] = 1.0
        found &= np.asarray(abs(hessian).sum(axis=1)).ravel() == 0
    return found
