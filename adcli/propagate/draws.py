"""How the values of uncertain inputs are drawn: each from its distribution, and together what belongs together.

Normal inputs and t-distributed ones come from jointly normal numbers with the given correlations; a group of correlated inputs
that are t-distributed is divided by one root of a χ²/ν, which makes it a multivariate t-distribution. Values of one file are
taken row by row. No other joint distribution follows from a correlation coefficient, so any other is refused.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adcli.input.distributions import NORMAL, SAMPLES, Spread, T
from adcli.lang.derive.uncertainty_figures import Correlation, Factor, cholesky, components
from adcli.lang.ir.errors import AdError


class Divided(NamedTuple):
    """Inputs that share one χ² of so many degrees of freedom."""

    names: Sequence[str]
    dof: float


class Draws(NamedTuple):
    """How inputs are drawn, `uncertain` by name. `joint` are those that come from normal numbers, `factor` is that of their
    correlations, `divided` their t-distributed groups. `columns` are values of files, with the file that each is from."""

    uncertain: Mapping[str, Spread]
    joint: Sequence[str]
    factor: Factor
    divided: Sequence[Divided]
    columns: Mapping[str, tuple[str, np.ndarray]]

    def block(self, random: np.random.Generator, size: int) -> dict[str, np.ndarray]:
        """So many values of every uncertain input."""
        normal = random.standard_normal((len(self.joint), size))
        deviations = {x: combined(normal, row, size) for x, row in zip(self.joint, self.factor, strict=True)}
        for group in self.divided:
            scale = np.sqrt(group.dof / random.chisquare(group.dof, size))
            for x in group.names:
                deviations[x] *= scale
        rows: dict[str, np.ndarray] = {}
        found = {}
        for x, spread in self.uncertain.items():
            if x in deviations:
                found[x] = spread.x + spread.width * deviations[x]
            elif x in self.columns:
                path, values = self.columns[x]
                if path not in rows:
                    rows[path] = random.integers(0, len(values), size)
                found[x] = values[rows[path]]
            elif spread.kind.draw:
                found[x] = spread.kind.draw(random, size, spread.x, spread.width, spread.parameter)
        return found


def draws(uncertain: Mapping[str, Spread], correlations: Sequence[Correlation]) -> Draws:
    """How these inputs are drawn. AdError where the correlations define no joint distribution."""
    pairs = [c for c in correlations if c[2] and not same_rows(uncertain, c) and all(uncertain[x].u for x in c[:2])]
    joint = [x for x, spread in uncertain.items() if spread.kind in (NORMAL, T)]
    for x, y, _ in pairs:
        for name in (x, y):
            if name not in joint:
                raise AdError(f"⟦--monte-carlo⟧ cannot draw {x} and {y} together: {name} is {uncertain[name].label}, and a"
                              " correlation coefficient says how normal and t-distributed inputs are drawn",
                              help=f"give values that belong together: ⟦--at {x}=@values.csv:{x},{y}=@values.csv:{y}⟧")
    divided = []
    for group in components(joint, pairs):
        dofs = {uncertain[x].dof for x in group}
        if len(dofs) > 1:
            raise AdError(f"⟦--monte-carlo⟧ cannot draw {' and '.join(group)} together: their degrees of freedom differ",
                          help="correlated inputs must all be normal, or all t with the same degrees of freedom")
        if (dof := dofs.pop()) < math.inf:
            divided.append(Divided(group, dof))
    columns = {x: (s.sample.path, np.array(s.sample.values)) for x, s in uncertain.items() if s.kind is SAMPLES and s.sample}
    return Draws(uncertain, joint, cholesky(joint, pairs), divided, columns)


def same_rows(uncertain: Mapping[str, Spread], pair: Correlation) -> bool:
    """True if two inputs are columns of one file, whose rows have their correlation."""
    one, other = (uncertain[x] for x in pair[:2])
    return (one.kind is other.kind is SAMPLES and one.sample is not None and other.sample is not None
            and one.sample.path == other.sample.path)


def combined(normal: np.ndarray, row: Mapping[int, float], size: int) -> np.ndarray:
    """One row of the Cholesky factor times independent standard normal numbers."""
    whole = np.zeros(size)
    for k, weight in row.items():
        whole += normal[k] if weight == 1 else weight * normal[k]
    return whole
