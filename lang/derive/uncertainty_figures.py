"""Figures of a propagation of uncertainty, and the correlations it starts from: all that must be known of it
where nothing is differentiated any more.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, nearest

Correlation = tuple[str, str, float]
"""Two inputs and the correlation coefficient of their estimates."""
Moments = tuple[str, float, float]
"""An input with the skewness and the kurtosis of its distribution: 0 and 3 where it is normal."""
Factor = list[dict[int, float]]
"""Rows of a lower triangular matrix, by column, without the zeros."""

DIGITS = 50
"""Decimal digits of the factorisation: contributions that cancel exactly must meet equal weights."""
SINGULAR = 1e-14
"""The square of a pivot of the Cholesky factorisation below this is zero: the correlations, which have the 16 digits of doubles,
make one estimate a combination of others."""
SLACK = 1e-9
"""How far a coefficient may lie outside of what the others allow, by rounding."""


class Figure(NamedTuple):
    """One result beside the outputs: its kind and the output it is about.

    u: the standard uncertainty; dof: one divided by its effective degrees of freedom; share: the percentage of the variance that
    the input `along` brings, or the correlation of the two inputs `along`; corr: the correlation of the output with the output
    `along`; mean, u2: estimate and standard uncertainty to second order.
    """

    kind: str
    of: str
    along: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """The name of the result, where it is free."""
        return "_".join((self.kind, self.of, *self.along))


def figures(outputs: Sequence[str], wrt: Sequence[str], order: int, correlations: Sequence[Correlation],
            dof: bool = False) -> list[Figure]:
    """The figures of a propagation, in the order of its results."""
    pairs = [(x, y) for x, y, r in correlations if r]
    return [*(Figure("u", v) for v in outputs), *(Figure("dof", v) for v in outputs if dof),
            *(Figure("share", v, along) for v in outputs for along in (*((x,) for x in wrt), *pairs)),
            *(Figure("corr", v, (w,)) for i, v in enumerate(outputs) for w in outputs[i + 1:]),
            *(Figure(kind, v) for v in outputs for kind in ("mean", "u2") if order > 1)]


def cholesky(names: Sequence[str], correlations: Sequence[Correlation]) -> Factor:
    """L with L Lᵀ the correlation matrix of the named inputs, row by row (Cholesky; Golub and Van Loan, Matrix Computations,
    section 4.2), each entry rounded once; a zero pivot is allowed. AdError for a name that is none of them, and for coefficients
    that cannot be together: the first pair at which they contradict each other is named."""
    given = _coefficients(names, correlations)
    if not given:
        return [{i: 1.0} for i in range(len(names))]
    from decimal import Decimal, localcontext
    first = {i: min(k for k, j in given if j == i) for i in {j for _, j in given}}
    rows: list[dict[int, Decimal]] = []
    with localcontext(prec=DIGITS):
        for i, x in enumerate(names):
            row: dict[int, Decimal] = {}
            rest = Decimal(1)
            for k in range(first.get(i, i), i):
                r, pivot = Decimal(repr(given.get((k, i), 0.0))), rows[k].get(k, Decimal(0))
                others = sum((row[j] * w for j, w in rows[k].items() if j in row), Decimal(0))
                reach = pivot * max(rest, Decimal(0)).sqrt()
                if abs(r - others) > reach + Decimal(SLACK):
                    raise _contradiction(names[k], x, float(r), float(max(others - reach, Decimal(-1))),
                                         float(min(others + reach, Decimal(1))))
                if pivot and r != others:
                    row[k] = (r - others) / pivot
                    rest -= row[k] ** 2
            if rest > SINGULAR:
                row[i] = rest.sqrt()
            rows.append(row)
        return [{k: float(w) for k, w in row.items()} for row in rows]


def components(names: Sequence[str], correlations: Sequence[Correlation]) -> list[list[str]]:
    """The names in groups that no correlation joins."""
    group = {x: [x] for x in names}
    for x, y, r in correlations:
        if r and group[x] is not group[y]:
            group[x] += group[y]
            for z in group[y]:
                group[z] = group[x]
    return list({id(g): g for g in group.values()}.values())


def _coefficients(names: Sequence[str], correlations: Sequence[Correlation]) -> dict[tuple[int, int], float]:
    """The coefficients by the places of their inputs, the earlier one first."""
    position, found = {x: i for i, x in enumerate(names)}, {}
    for x, y, r in correlations:
        for name in (x, y):
            if name not in position:
                raise AdError(f"⟦--correlation⟧: '{name}' is not an uncertain input",
                              help=nearest(name, names) or f"the uncertain inputs are {', '.join(names)}")
        found[min(position[x], position[y]), max(position[x], position[y])] = r
    return found


def _contradiction(x: str, y: str, r: float, low: float, high: float) -> AdError:
    between = f"from {low:.6g} to {high:.6g}" if high - low > SLACK else f"{low:.6g} alone"
    return AdError(f"⟦--correlation⟧ {x}:{y}={r!r} contradicts the others: the matrix is not positive semidefinite",
                   help=f"given the others, {x}:{y} can be {between}")
