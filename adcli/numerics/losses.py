"""Losses of residuals by name, those of scipy.optimize.least_squares: the cost is C²·½Σρ((r_i/C)²)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adcli.numerics.linear import Vector, times

Matrix = Any
"""A dense array, or a sparse one where there are many parameters of which each residual depends on few."""
Influence = Callable[[Vector], tuple[Vector, Vector]]
"""ρ' and ρ'' of a loss at z."""
EPS = float(np.finfo(float).eps)

LOSSES: dict[str, Influence] = {
    "linear": lambda z: (np.ones_like(z), np.zeros_like(z)),
    "soft_l1": lambda z: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
    "huber": lambda z: (np.where(z <= 1, 1.0, np.maximum(z, 1) ** -0.5), np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1) ** -1.5)),
    "cauchy": lambda z: (1 / (1 + z), -1 / (1 + z) ** 2),
    "arctan": lambda z: (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
}
"""The losses of scipy.optimize.least_squares."""


class Loss(NamedTuple):
    """A loss by its name, and the size C of residuals from which on it differs from squares."""

    name: str = "linear"
    scale: float = 1.0

    def influence(self, r: Vector) -> tuple[Vector, Vector]:
        """ψ and ψ'."""
        if self.name == "linear":
            return r, np.ones_like(r)
        z = (r / self.scale) ** 2
        first, second = LOSSES[self.name](z)
        return r * first, first + 2 * z * second

    def modified(self, r: Vector, j: Matrix) -> tuple[Vector, Matrix]:
        """Residuals and a Jacobian whose squares have the gradient of the cost and its Hessian as Gauss and Newton have it."""
        if self.name == "linear":
            return r, j
        psi, slope = self.influence(r)
        root = np.sqrt(np.maximum(slope, EPS))
        return psi / root, times(j, root)


def cost(r: Vector, loss: Loss) -> float:
    """Twice the cost: Σr² of least squares."""
    z, c = (r / loss.scale) ** 2, loss.scale * loss.scale
    match loss.name:
        case "linear":
            return float(r @ r)
        case "soft_l1":
            return c * float(np.sum(2 * z / (1 + np.sqrt(1 + z))))
        case "huber":
            return c * float(np.sum(np.where(z <= 1, z, 2 * np.sqrt(z) - 1)))
        case "cauchy":
            return c * float(np.sum(np.log1p(z)))
        case _:
            return c * float(np.sum(np.arctan(z)))
