"""Derivatives from values alone: central differences, extrapolated, each with an error bar.

The quotient (f(x+h) − f(x−h))/2h has an error series in h², so halving h and eliminating terms gives a tableau (L. F.
Richardson 1911; A. Neville 1934); C. J. F. Ridders (Accurate computation of F′(x) and F′(x)F″(x), 1982) takes the entry whose
neighbours differ least, and their difference as its error. To that is added what rounding of the values can do to the entry.

Steps at which a value is not finite are left out, with all that are longer.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adcli.lang.ir.records import value_record

TABLEAU_COLUMNS = 6
"""Columns of the tableau: beyond, rounding only grows."""
FEWEST_STEPS = 4
"""Steps without which nothing is extrapolated."""
BAR_SAFETY = 16.0
"""An error bar is so many times the difference of neighbours in the tableau."""

APPROACH = 0.8
"""By what factor the difference between the slopes of the two sides falls at least when a step is halved."""
UNRESOLVED = "no step between rounding and the scale on which the value varies"
WITHIN = "a kink, jump, pole or edge of the domain within the step"


@value_record
class Quotient:
    """A derivative by differences, ± `bar`; `problem` says why there is none."""

    value: float = math.nan
    bar: float = math.inf
    problem: str | None = None


def extrapolated(spans: Sequence[float], above: Sequence[float], below: Sequence[float], centre: float, noise: float,
                 operations: int = 1) -> Quotient:
    """The derivative at x, where the value is `centre`, from values at x ± h for steps that halve. `spans` are the full
    widths 2h as they are; `noise` bounds the error of a value at x, and each of the `operations` may round what it changes.
    Steps at the beginning that cannot be used have a NaN among their values."""
    rows: list[QuotientRow] = []
    for width, high, low in zip(reversed(spans), reversed(above), reversed(below), strict=True):
        q = (high - low) / width
        if high - high != 0 or low - low != 0 or q - q != 0:
            break
        rounded = noise + operations * math.ulp(max(abs(high - centre), abs(low - centre)))
        rows.append(QuotientRow(q, 2 * rounded / width, abs((high - centre) - (centre - low)) / width))
    if len(rows) < FEWEST_STEPS:
        return Quotient(problem=WITHIN if len(spans) >= FEWEST_STEPS else UNRESOLVED)
    rows.reverse()
    tableau = _tableau([row.quotient for row in rows])
    for bar, i, m in sorted(_bars(tableau, rows)):
        if _borne_out(tableau[i][m], bar, tableau, rows, i):
            return Quotient(tableau[i][m], bar) if _one_slope(rows, i) else Quotient(problem=WITHIN)
    return Quotient(problem="differences do not converge")


class QuotientRow(NamedTuple):
    """A difference quotient, what rounding can do to it, and by how much the quotients of the two sides differ."""

    quotient: float
    noise: float
    sides: float


def _tableau(quotients: Sequence[float]) -> list[list[float]]:
    rows: list[list[float]] = []
    for q in quotients:
        row = [q]
        for m in range(1, min(len(rows), TABLEAU_COLUMNS) + 1):
            power = 4.0 ** m
            row.append((power * row[m - 1] - rows[-1][m - 1]) / (power - 1))
        rows.append(row)
    return rows


def _bars(tableau: Sequence[Sequence[float]], rows: Sequence[QuotientRow]) -> Iterator[tuple[float, int, int]]:
    """Error bars of the entries, from their three neighbours before them, and where each entry stands."""
    for i in range(1, len(tableau)):
        now, before = tableau[i], tableau[i - 1]
        for m in range(1, min(len(now), len(before))):
            apart = max(abs(now[m] - now[m - 1]), abs(now[m] - before[m - 1]), abs(now[m] - before[m]))
            yield BAR_SAFETY * apart + 3 * rows[i].noise, i, m


def _borne_out(value: float, bar: float, tableau: Sequence[Sequence[float]], rows: Sequence[QuotientRow], at: int) -> bool:
    """True if all shorter steps agree with an entry, as far as they go: long ones can converge to something else, as over a
    pole or many periods."""
    return all(abs(value - later[1]) <= bar + BAR_SAFETY * abs(later[1] - later[0]) + 4 * row.noise
               for later, row in zip(tableau[at + 1:], rows[at + 1:], strict=True))


def _one_slope(rows: Sequence[QuotientRow], at: int) -> bool:
    """True if the slopes of the two sides approach each other there, as they do not at a kink or a pole."""
    at = max(at, 1)
    return rows[at].sides <= APPROACH * rows[at - 1].sides + 8 * rows[at].noise
