"""What a propagation of uncertainty gives beside the outputs, and the correlations it starts from: what must be known of it
where nothing is differentiated any more.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, nearest

Correlation = tuple[str, str, float]
"""Two inputs and the correlation coefficient of their estimates."""
Factor = list[dict[int, float]]
"""Rows of a lower triangular matrix, by column, without the zeros."""

SINGULAR = 1e-14
"""A pivot of the Cholesky factorisation below this is zero: the correlations make one estimate a combination of others."""
SLACK = 1e-9
"""How far a coefficient may lie outside of what the others allow, by rounding."""


class Figure(NamedTuple):
    """One result beside the outputs: its kind and the output it is about.

    u: the standard uncertainty; share: the percentage of the variance that the input `along` brings, or the correlation of the
    two inputs `along`; corr: the correlation of the output with the output `along`; mean, u2: estimate and standard uncertainty
    to second order.
    """

    kind: str
    of: str
    along: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """The name of the result, where it is free."""
        return "_".join((self.kind, self.of, *self.along))


def figures(outputs: Sequence[str], wrt: Sequence[str], order: int, correlations: Sequence[Correlation]) -> list[Figure]:
    """What a propagation gives beside the outputs, in the order of its results."""
    pairs = [(x, y) for x, y, r in correlations if r]
    return [*(Figure("u", v) for v in outputs),
            *(Figure("share", v, along) for v in outputs for along in (*((x,) for x in wrt), *pairs)),
            *(Figure("corr", v, (w,)) for i, v in enumerate(outputs) for w in outputs[i + 1:]),
            *(Figure(kind, v) for v in outputs for kind in ("mean", "u2") if order > 1)]


def cholesky(names: Sequence[str], correlations: Sequence[Correlation]) -> Factor:
    """L with L Lᵀ the correlation matrix of the named inputs, row by row (Cholesky; Golub and Van Loan, Matrix Computations,
    section 4.2); a zero pivot is allowed. AdError for a name that is none of them, and for coefficients that cannot be
    together: the first pair at which they contradict each other is named."""
    given = _coefficients(names, correlations)
    rows: Factor = []
    for i, x in enumerate(names):
        row: dict[int, float] = {}
        rest = 1.0
        for k in range(min((k for k, j in given if j == i), default=i), i):
            r, pivot = given.get((k, i), 0.0), rows[k].get(k, 0.0)
            others = math.fsum(row[j] * w for j, w in rows[k].items() if j in row)
            reach = pivot * math.sqrt(max(rest, 0.0))
            if abs(r - others) > reach + SLACK:
                raise _contradiction(names[k], x, r, max(others - reach, -1.0), min(others + reach, 1.0))
            if pivot and r != others:
                row[k] = (r - others) / pivot
                rest -= row[k] ** 2
        if rest > SINGULAR:
            row[i] = math.sqrt(rest)
        rows.append(row)
    return rows


def _coefficients(names: Sequence[str], correlations: Sequence[Correlation]) -> dict[tuple[int, int], float]:
    """The coefficients by the places of their inputs, the earlier one first."""
    position, found = {x: i for i, x in enumerate(names)}, {}
    for x, y, r in correlations:
        for name in (x, y):
            if name not in position:
                raise AdError(f"--correlation: '{name}' is not an uncertain input",
                              help=nearest(name, names) or f"the uncertain inputs are {', '.join(names)}")
        found[min(position[x], position[y]), max(position[x], position[y])] = r
    return found


def _contradiction(x: str, y: str, r: float, low: float, high: float) -> AdError:
    between = f"from {low:.6g} to {high:.6g}" if high - low > SLACK else f"{low:.6g} alone"
    return AdError(f"--correlation {x}:{y}={r!r} contradicts the others: the matrix is not positive semidefinite",
                   help=f"given the others, {x}:{y} can be {between}")
