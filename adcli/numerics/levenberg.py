"""The method of Levenberg and Marquardt for many residuals that each depend on few unknowns, within bounds: normal equations with
columns of length 1, of which the damping follows how well they foretell the cost (Nielsen, IMM-REP-1999-05). What its bound holds
against the gradient stays there for a step (projected steps: Kanzow, Yamashita and Fukushima 2004)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.linear import Normal, Vector, column_lengths, over

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
