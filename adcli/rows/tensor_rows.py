"""Rows of programs with tensors: each is a point of its own, with the shapes that its lists have.

A row is worked on as it is asked for: its results may be far larger than the row, so a block gives its rows with results a few
at a time, and memory depends on neither. Sums are element by element: rows are computed in threads and added up in the order of
the table, so the first row says what shapes the results have, and one with other shapes is a bad row.
"""
from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.evaluation import NUMBERS_AT_ONCE, computation
from adcli.codegen.machine.kernel import NoExecutableMemory, processors
from adcli.input.arrays import filled, fitting
from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Values, shape_of
from adcli.lang.ir.affine import text
from adcli.lang.ir.errors import AdError
from adcli.lang.sizes.binding import bind
from adcli.output.streams import say
from adcli.rows.blocks import ComputedRows, Done, Work
from adcli.rows.sum_work import ArraySums
from adcli.rows.summing import Summing, other_shapes
from adcli.rows.sums import Key, OtherShapes
from adcli.tables.reader import Rows, Table
from adcli.task.tasks import Task

BLOCK = 1 << 16
"""Bytes of a block."""
SHAPES = 64
"""Sets of shapes that are remembered to fit the program."""
Found = tuple[list[Any], int]
"""The results of a row, and its status."""


class RowResults:
    """The results of a task at points, one after the other; of several tables too."""

    def __init__(self, task: Task, jobs: int | None, quiet: bool) -> None:
        self.task, self.own = task, task.signature.own
        self.integers = [p.name for p in self.own if p.var.integer and not p.var.shape]
        self.compute = computation(task, jobs, None if quiet else say)
        self.seeds: dict[object, dict[str, Any]] = {}

    @classmethod
    @lru_cache(8)   # a worker of a cluster has several runs at once
    def of(cls, task: Task, jobs: int | None, quiet: bool) -> RowResults:
        """One for all tables of a run."""
        return cls(task, jobs, quiet)

    def __call__(self, at: dict[str, Any]) -> Found:
        return self.compute(self._point(at))

    def _point(self, at: dict[str, Any]) -> dict[str, Any]:
        """The point of a row with its seeds, and with empty lists as tensors of all dimensions. AdError where shapes do not fit
        the program or each other, which is found out once for each set of shapes."""
        key = tuple([np.shape(at[p.name]) for p in self.own]), tuple([int(at[name]) for name in self.integers])
        seeds = self.seeds.get(key)
        if seeds is None:
            point = {p.name: at[p.name] for p in self.own}
            whole = filled(self.task.program, point, self.task.seeds) if self.task.seeds else fitting(self.task.primal, point)
            if len(self.seeds) >= SHAPES:
                self.seeds.clear()
            seeds = self.seeds[key] = {name: x for name, x in whole.items()
                                       if name in self.task.seeds or np.shape(x) != np.shape(at[name])}   # without elements
        return {**at, **seeds}


class TensorWork(Work):
    """From the bytes of rows to the bytes of rows with results, where some inputs or results are tensors."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Values) -> None:
        super().__init__(task, table, options, fixed)
        refuse_unfit(task, fixed)
        self.block = BLOCK
        self.form.ranks = result_ranks(task)
        self.nothing = [None if rank else math.nan for rank in self.form.ranks]
        self.results_at = RowResults.of(task, options.jobs, options.quiet)

    @staticmethod
    def threads(jobs: int | None) -> int:
        """Compiled code runs outside the interpreter's lock, whatever reads and writes."""
        return jobs or min(8, processors())

    def fast(self, size: int) -> Any:
        """None: native code reads no lists."""

    def _computed(self, rows: Rows, columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[list[list[Any]], list[float]]]:
        end = 0
        while end < len(rows.texts) or not end:
            found: list[Found] = []
            numbers = 0
            while end < len(rows.texts) and numbers < NUMBERS_AT_ONCE:
                found.append(self._row(rows, end, {name: column[end] for name, column in columns.items()}))
                numbers += sum([getattr(x, "size", 1) for x in found[-1][0]])
                end += 1
                if self.policy == "stop" and end - 1 in rows.faults:
                    break
            yield [[results[k] for results, _ in found] for k in range(len(self.nothing))], [level for _, level in found]
            if not end:
                return

    def _row(self, rows: Rows, i: int, at: dict[str, Any]) -> Found:
        """The results of a row and its status; nothing where it is bad, which is noted."""
        if i not in rows.faults:
            try:
                return self.results_at(at)
            except NoExecutableMemory:
                raise
            except AdError as fault:
                rows.faults[i] = Fault(fault.message, fault.help)
        return self.nothing, 0

    @staticmethod
    def finite(x: Any) -> bool:
        return x is not None and bool(np.isfinite(x).all())


def result_ranks(task: Task) -> list[int]:
    """The number of dimensions of every result."""
    return [len(shape_of(r.atom)) for r in task.program.results]


def refuse_unfit(task: Task, fixed: Values) -> None:
    """AdError where the tensors that have one value for all rows do not fit the program or each other."""
    params = tuple(p for p in task.primal.params if p.name in fixed and all(
        text(extent).isidentifier() or text(extent).isdigit() for extent in p.var.shape))
    bind(replace(task.primal, params=params), {p.name: np.shape(fixed[p.name]) for p in params}, fixed, unseen=True)


# ---------------------------------------------------------------- sums

class SummedRow(NamedTuple):
    """The contribution of a row: its line in the block, its group and its weight, its results and their status."""

    line: int
    key: Key
    weight: float | None
    results: list[Any]
    level: int


class TensorSumWork(Summing, TensorWork):
    """From the bytes of rows to their results."""

    def _written(self, computed: ComputedRows, faults: list[tuple[int, Fault]], block: bytes) -> Done:
        rows, columns, results, levels, places = computed
        weights = next((c for p, c in zip(self.table.inputs, rows.columns, strict=True) if p.name == self.weights), None)
        found = [SummedRow(rows.places[i], tuple(json.loads(text)) if self.grouped else (),
                           None if weights is None else float(weights[i]), [c[i] for c in results], int(levels[i]))
                 for i, text in enumerate(rows.texts)]
        rough = [i for i, row in enumerate(found) if (self.strict and row.level) or not all(map(self.finite, row.results))]
        first = self._first(block, places[rough[0]], rough[0], columns, results, levels) if rough else None
        return Done(b"", len(found), rows.lines, faults, len(rough), first, self._outside(columns, ()), summed=found)

    def empty(self) -> ArraySums:
        return ArraySums([c.name for c in self.task.signature.results], self.names.weights, self.keep)

    def add(self, total: Any, done: Done) -> None:
        for row in done.summed:
            try:
                total.add(row.results, row.level, row.key, row.weight)
            except OtherShapes as fault:
                done.faults.append((row.line, Fault(other_shapes(fault))))
                done.rows -= 1
        done.faults.sort(key=lambda fault: fault[0])
