"""--sum and --mean: the work on blocks of rows that are added up, read as ever, and never written."""
from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from adcli.answers.evaluation import points_at_once
from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.ir import Param, Values, Var
from adcli.lang.ir.errors import AdError
from adcli.output.layout import Row
from adcli.rows.blocks import Done, Work, parquet_tables
from adcli.rows.sum_report import Summed, sum_names, weighted_by
from adcli.rows.sum_work import SumWork, quantities
from adcli.rows.sums import Key, Sums
from adcli.tables.appended import slices
from adcli.tables.reader import Rows, Table
from adcli.tables.streams import PIECE
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.rows.grouped_sums import AnySums

FINITE_NEEDED = "a weight must be a finite number"


class Summing(Work, ABC):
    """Work on rows that are added up: reads inputs, weights and groups."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, float]) -> None:
        self.weights = weighted_by(options)
        self.names = names = sum_names(task.signature, options)
        if self.weights in fixed:
            raise AdError(f"--weights {self.weights}: --at gives it one value in every row",
                          help=f"leave out --at {self.weights}=…")
        form = options.form if options.form in ("csv", "tsv") else "csv"
        super().__init__(task, table, replace(options, only=True, form=form, form_known=True, fmt=None, hexadecimal=False,
                                              status=False), fixed)
        table.wanted, self.grouped = names.groups, bool(names.groups)
        table.required = [*(("--group-by", name) for name in names.groups),
                          *([] if self.weights is None else [("--weights", self.weights)])]
        self.by_columns = True
        if self.grouped:
            table.utf8, table.start = True, self.key

    @staticmethod
    def inputs(known: Sequence[Param], options: ResultOptions) -> list[Param]:
        weights = weighted_by(options)
        if weights is None or weights in (p.name for p in known):
            return list(known)
        return [*known, Param(Var(weights), weights)]

    def key(self, row: bytes) -> bytes:
        """The group of a row."""
        table = self.table
        if table.separator is not None:
            fields = table.fields(row)
            found = [fields[place].decode() for place in table.words]
        else:
            new = table.dialect.renamed
            members = {new.get(name, name): value for name, value in slices(row)}
            for name in table.wanted:
                if name not in members:
                    raise Fault(f"no '{name}', which --group-by names")
            found = [self.form.field(members[name]).decode() for name in table.wanted]
        return json.dumps(found).encode()

    def _read(self, block: bytes) -> Rows:
        rows = super()._read(block)
        self._check_weights(rows, block)
        return rows

    def _check_weights(self, rows: Rows, block: bytes) -> None:
        """Make rows bad whose weight is not finite."""
        place = next((i for i, p in enumerate(self.table.inputs) if p.name == self.weights), None)
        if place is None or finite(rows.columns[place]):
            return
        lines = [line for _, line in self.table.split(block)]
        for i, w in enumerate(rows.columns[place]):
            if not math.isfinite(w) and i not in rows.faults:
                rows.faults[i] = Fault(f"column '{self.weights}' is {w!r}: {FINITE_NEEDED}")
                rows.places[i] = lines[i]


    @abstractmethod
    def added(self, total: Any, done: Done) -> Any:
        """The sums of the rows so far, None of none, with those of a block; faults that are found in it go to the block."""

    @abstractmethod
    def summed(self, total: Any) -> Summed:
        """The sums of all rows."""


class SumBlocks(Summing):
    """From the bytes of rows to their sums."""

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, float]) -> None:
        super().__init__(task, table, options, fixed)
        self.block = PIECE   # results are not kept, so their number does not matter
        names = self.names
        summed = quantities(task.signature, options.gauss_newton, names.weights, (names.rows, *names.levels, *names.groups))
        self.adder = SumWork(self.kernel, task.signature, self.constant, summed, keep=not options.no_cache)

    def added(self, total: Any, done: Done) -> Any:
        if total is None:
            return done.sums
        total.merge(done.sums)
        return total

    def summed(self, total: Any) -> Summed:
        if total is None and self.grouped:
            from adcli.rows.grouped_sums import GroupedSums
            total = GroupedSums(self.adder.names, self.adder.factors)
        return Summed(Sums(self.adder.names) if total is None else total)

    def _in_arrays(self, lines: Any, block: Any) -> Done:
        count = len(lines)
        columns = dict(zip((p.name for p in self.table.inputs), lines.columns, strict=True))
        weights = columns.get(self.weights or "")
        if weights is not None and not math.isfinite(float(abs(weights).max())):
            text = block if isinstance(block, bytes) else parquet_tables("Parquet").as_csv(self.table, block)
            return self._listed(self._read(text), text)
        sums = self._added(columns, count, lines.grouped(self.table) if self.grouped else None)
        rough = self._first_rough(sums, columns, range(count), block)
        return Done(b"", count, count, [], *rough, self._outside_arrays(columns), sums)

    def _added(self, columns: Mapping[str, Any], count: int, groups: tuple[Sequence[Key], Any] | None) -> AnySums:
        weights = columns.get(self.weights or "")
        if groups is None:
            return self.adder.add_columns(columns, count, weights)
        return self.adder.add_groups(columns, count, *groups, weights)

    def _listed(self, rows: Rows, block: bytes) -> Done:
        kept, faults = self._kept(rows)
        rows = rows if len(kept) == len(rows.texts) else rows.only(kept, rows.lines)
        columns = {p.name: array("d", c) for p, c in zip(self.table.inputs, rows.columns, strict=True)}
        count, known = len(rows.texts), dict[bytes, int]()
        numbers = array("i", [known.setdefault(text, len(known)) for text in rows.texts]) if self.grouped else None
        groups = [tuple(json.loads(text)) for text in known], numbers
        sums = self._added(columns, count, groups if self.grouped else None)
        rough = self._first_rough(sums, columns, kept, block)
        return Done(b"", count, rows.lines, faults, *rough, self._outside(columns, ()), sums)

    def _first_rough(self, sums: AnySums, columns: Values, kept: Sequence[int],
                     block: Any) -> tuple[int, tuple[int, Row] | None]:
        """How many rows are not finite (with --strict: or not smooth), and the first of them with its line."""
        if not sums.rough(self.strict):
            return 0, None
        many, first, row = rough_rows(self.task, self.constant, columns, len(kept), self.strict)
        line = kept[first] if not isinstance(block, bytes) else next(islice(self.table.split(block), kept[first], None))[1]
        return many, (line, row)


def rough_rows(task: Task, known: Mapping[str, float], columns: Values, rows: int,
               smooth: bool) -> tuple[int, int, Row]:
    """How many rows are not finite, or not `smooth` where they must be, and the first one with its number. There is one."""
    import numpy as np

    from adcli.codegen.machine.arrays import of_doubles, run_arrays
    full = {p.name: np.full(rows, known[p.name]) if p.name in known else np.asarray(columns[p.name])
            for p in task.signature.inputs}
    kernel, many, found = of_doubles(task.kernel), 0, None
    size = points_at_once(kernel.entry.outputs, rows)
    for begin in range(0, rows, size):
        *results, levels = run_arrays(kernel, [c[begin:begin + size] for c in full.values()], min(size, rows - begin))
        fine = np.logical_and.reduce([*map(np.isfinite, results), *([levels == 0] if smooth else [])])
        wrong = np.flatnonzero(~fine)
        many += len(wrong)
        if found is None and len(wrong):
            i = int(wrong[0])
            at = {name: float(column[begin + i]) for name, column in full.items()}
            found = begin + i, Row(at, [float(r[i]) for r in results], int(levels[i]))
    assert found is not None
    return many, *found


def finite(column: Sequence[float]) -> bool:
    """True if all numbers are."""
    return all(map(math.isfinite, column))
