"""Sums over the rows of programs with tensors, element by element: a network's loss and gradient over a file of data.

Rows are computed in threads and added up in the order of the table, so the first row says what shapes the results have, and one
with other shapes is a bad row.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.input.fields import Fault
from adcli.rows.blocks import Done
from adcli.rows.rows import Rows
from adcli.rows.sum_report import Shapes, other_shapes
from adcli.rows.sum_work import ArraySums
from adcli.rows.summing import Summing
from adcli.rows.sums import Key, Sums
from adcli.rows.tensor_rows import TensorWork

if TYPE_CHECKING:
    from adcli.rows.grouped_sums import AnySums


class SummedRow(NamedTuple):
    """The contribution of a row: its line in the block, its group and its weight, its results and their status."""

    line: int
    key: Key
    weight: float | None
    results: list[Any]
    level: int


@dataclass(slots=True)
class RowsToSum(Done):
    """A block whose rows are still to be added."""

    found: Sequence[SummedRow] = ()


class TensorSumWork(Summing, TensorWork):
    """From the bytes of rows to their results."""

    def _written(self, rows: Rows, faults: list[tuple[int, Fault]], columns: Mapping[str, Sequence[Any]],
                 results: Sequence[Sequence[Any]], levels: Sequence[float], block: bytes, places: Sequence[int]) -> Done:
        weights = next((c for p, c in zip(self.table.inputs, rows.columns, strict=True) if p.name == self.weights), None)
        found = [SummedRow(rows.places[i], tuple(json.loads(text)) if self.grouped else (),
                           None if weights is None else float(weights[i]), [c[i] for c in results], int(levels[i]))
                 for i, text in enumerate(rows.texts)]
        rough = [i for i, row in enumerate(found) if (self.strict and row.level) or not all(map(self.finite, row.results))]
        first = self._first(block, places[rough[0]], rough[0], columns, results, levels) if rough else None
        return RowsToSum(b"", len(found), rows.lines, faults, len(rough), first, self._outside(columns, ()), found=found)

    def added(self, total: Any, done: Done) -> Any:
        assert isinstance(done, RowsToSum)
        for row in done.found:
            shapes = {c.name: np.shape(x) for c, x in zip(self.task.signature.results, row.results, strict=True)}
            if total is None:
                total = ArraySums(shapes, self.names.weights, keep=self.keep)
            if shapes != total.shapes:
                done.faults.append((row.line, Fault(other_shapes(total.shapes, shapes))))
                done.rows -= 1
                continue
            total.add_arrays(row.results, row.level, row.key, row.weight)
        done.faults.sort(key=lambda fault: fault[0])
        return total

    def summed(self, total: Any) -> tuple[AnySums, Shapes | None]:
        return (total.sums(), total.shapes) if total else (Sums(()), {})
