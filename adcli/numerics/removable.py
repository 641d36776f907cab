"""Second derivatives at a point where they are conventions, though those on all sides of it agree.

The Hessian of hypot(x, y)**2 is twice the identity everywhere but at 0, where the rules of a kink give 0. Such a Hessian is found
out by its neighbours, and taken from them: they are the same in several directions and at two distances, and the value and the
gradient change from the point to each of them as that Hessian says. A kink of the value or of the gradient does not pass.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from adcli.numerics.optimality import STEADY, PointDerivatives
from adcli.numerics.vectors import Vector, dense

DISTANCES = 1e-6, 1e-8
"""How far away neighbours are, relative to the size of the variables."""
DerivativesAt = Callable[[Vector], PointDerivatives]


def mended(at: DerivativesAt, size: Vector) -> DerivativesAt:
    """The derivatives at a point, with the Hessian of its neighbours where these agree."""
    from scipy.sparse import csr_array

    def derivatives(x: Vector) -> PointDerivatives:
        here = at(x)
        own = here.hess

        def hess(v: Vector) -> Vector:
            assert own is not None
            found = agreed(at, here, size, v)
            return own(v) if found is None else csr_array(found)
        return here if own is None else here._replace(hess=hess)
    return derivatives


def agreed(at: DerivativesAt, here: PointDerivatives, size: Vector, multipliers: Vector) -> Vector | None:
    """The Hessian of the Lagrangian on all sides of a point; None where there is not one that value and gradient know."""
    found = [(step, there, dense(there.hess(multipliers))) for step in steps(size)
             if (there := at(here.x + step)).hess is not None]
    if not found or not all(np.isfinite(h).all() for *_, h in found):
        return None
    middle: Vector = np.mean([h for *_, h in found], axis=0)
    scale = 1 / np.sqrt(np.where((d := np.abs(np.diag(middle))) > 0, d, 1.0))
    least = float(np.min(np.abs(np.linalg.eigvalsh(middle * scale[:, None] * scale))))
    for step, there, hessian in found:
        if np.linalg.norm((hessian - middle) * scale[:, None] * scale, 2) > STEADY * least:
            return None
        change, expected = gradient(there, multipliers) - gradient(here, multipliers), middle @ step
        if float(np.max(np.abs(change - expected) * scale)) > STEADY * float(np.max(np.abs(expected) * scale)):
            return None
        rise, slope = value(there, multipliers) - value(here, multipliers), float(gradient(here, multipliers) @ step)
        room = abs(float(step @ expected)) + 1e-14 * max(abs(here.f), abs(there.f))
        if abs(rise - slope) > room:
            return None
    return middle


def steps(size: Vector) -> Iterator[Vector]:
    """To neighbours on both sides along two directions, in which all variables move."""
    count = np.arange(len(size))
    directions = 1.5 + np.cos(count), np.cos(np.pi * count) + np.sin(count) / 2
    for direction, distance, side in product(directions, DISTANCES, (1, -1)):
        yield side * distance * size * direction


def value(at: PointDerivatives, multipliers: Vector) -> float:
    return at.f - float(multipliers @ at.c)


def gradient(at: PointDerivatives, multipliers: Vector) -> Vector:
    return at.gradient - at.jacobian.T @ multipliers
