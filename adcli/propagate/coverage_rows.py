"""Rows with coverage intervals: k, U and both ends of each output, from its standard uncertainty and its effective degrees of
freedom, which the program gives."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adcli.propagate.command import PropagateOptions, probability
from adcli.propagate.coverage import ENDLESS, WHOLE, coverage_factor
from adcli.rows.appended import RowFormat
from adcli.rows.blocks import Work
from adcli.rows.reading import Reading
from adcli.rows.rows import Table
from adcli.rows.stream import TableRun
from adcli.task.tasks import Task

KINDS = ("k", "U", "low", "high")


class CoverageWork(Work):
    """From rows to rows with results, and with coverage intervals of all outputs after these."""

    def __init__(self, task: Task, table: Table, options: PropagateOptions, fixed: Mapping[str, Any]) -> None:
        super().__init__(task, table, options, fixed)
        outputs, taken = task.signature.outputs, task.signature.names()
        self.count, self.coverage = len(outputs), probability(options.coverage or "")
        layout = task.layout(self.words)
        more = [(name := taken.fresh(f"{kind}_{v}"), (task.verb.name, name)) for v in outputs for kind in KINDS]
        self.form = RowFormat(table, options, layout._replace(derived=(*layout.derived, *more)), self.texts, self.form.number)

    def written(self, results: Sequence[Any]) -> list[Any]:
        """The results with the columns of intervals; of an output the results have value, standard uncertainty, and degrees of
        freedom, each kind together."""
        found = list(map(np.asarray, results))
        for value, u, dof in zip(*(found[i * self.count:(i + 1) * self.count] for i in range(3)), strict=True):
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


class CoverageReading(Reading):
    """A table of standard uncertainties, with the degrees of freedom that they have."""

    kind = CoverageWork


class CoverageRun(TableRun):
    """Tables of standard uncertainties on their way to coverage intervals."""

    kind = CoverageReading
