"""Rows with coverage intervals: k, U and both ends of each output, from its standard uncertainty and its effective degrees of
freedom, of which the program gives the inverse: infinitely many are the rule."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adcli.answers.reporter import Reporter
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import Note
from adcli.output.layout import Row
from adcli.propagate.coverage import ENDLESS, WHOLE, coverage_factor, probability
from adcli.rows.blocks import Work
from adcli.rows.stream import Reading, TableRun
from adcli.tables.appended import RowFormat
from adcli.tables.reader import Table
from adcli.task.tasks import Task

KINDS = ("k", "U", "low", "high")


class CoverageWork(Work):
    """From rows to rows with results, and with coverage intervals of all outputs after these."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, Any]) -> None:
        super().__init__(task, table, options, fixed)
        outputs, taken = task.signature.outputs, task.signature.names()
        self.count, self.coverage = len(outputs), probability(getattr(options, "coverage", ""))
        layout = task.layout(self.words)
        more = [(name := taken.fresh(f"{kind}_{v}"), (task.verb.name, name)) for v in outputs for kind in KINDS]
        self.form = RowFormat(table, options, layout._replace(derived=(*layout.derived, *more)), self.texts, self.form.number)

    def written(self, results: Sequence[Any]) -> list[Any]:
        """The results with the columns of intervals; of all outputs the results have first the values, then the standard
        uncertainties, then the inverses of the degrees of freedom."""
        found, n = list(map(np.asarray, results)), self.count
        with np.errstate(divide="ignore"):
            found[2 * n:3 * n] = [1 / inverse for inverse in found[2 * n:3 * n]]
        for value, u, dof in zip(found[:n], found[n:2 * n], found[2 * n:3 * n], strict=True):
            k = factors(self.coverage, dof)
            expanded = k * u
            found += [k, expanded, value - expanded, value + expanded]
        return found if isinstance(results[0], np.ndarray) else [x.tolist() for x in found]


def factors(coverage: float, dof: np.ndarray) -> np.ndarray:
    """The coverage factors for degrees of freedom."""
    each, place = np.unique(np.floor(np.minimum(dof, ENDLESS) * (1 + WHOLE)), return_inverse=True)
    return np.array([factor(coverage, whole) for whole in each.tolist()])[place]


@lru_cache(1 << 16)
def factor(coverage: float, whole: float) -> float:
    return math.nan if whole != whole else coverage_factor(coverage, whole if whole < ENDLESS else math.inf)


class CoverageReporter(Reporter):
    """Says of a row why it has no degrees of freedom where all else is finite."""

    def explained(self, row: Row) -> Note | str:
        n = len(self.task.signature.outputs)
        unknown = [v for v, x in zip(self.task.signature.outputs, row.results[2 * n:], strict=False) if math.isnan(x)]
        if not unknown or not all(map(math.isfinite, row.results[:2 * n])):
            return super().explained(row)
        return (f"note: {', '.join(unknown)}: no effective degrees of freedom, since inputs are correlated and their degrees of"
                " freedom differ")


class CoverageReading(Reading):
    """A table of standard uncertainties, with the degrees of freedom that they have."""

    kind = CoverageWork


class CoverageRun(TableRun):
    """Tables of standard uncertainties on their way to coverage intervals."""

    kind = CoverageReading
