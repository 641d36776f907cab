"""Systems whose known inputs are rows of a table: the solution of each is appended to its row."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adcli.answers.reporter import Reporter
from adcli.input.fields import Fault
from adcli.input.settings import ResultOptions
from adcli.lang.derive.derivatives import partial_name
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.output.layout import Layout, Row
from adcli.rows.stream import TableRun
from adcli.rows.tensor_rows import Found, TensorWork
from adcli.solvers.point_report import NOT_SMOOTH
from adcli.solvers.solution import Root
from adcli.solvers.solve import Sequel
from adcli.solvers.solve_report import SolveReport
from adcli.tables.appended import Columns, RowFormat
from adcli.tables.reader import Rows, Table
from adcli.task.tasks import Task

WORDS: Sequence[str] = (*Root, NOT_SMOOTH)
"""Values of the column `verdict`."""


class Solved(RowFormat):
    """Rows with their solutions; a text has the known inputs above, not where the unknowns started."""

    def _text(self, at: Mapping[str, Sequence[float]], results: Columns, words: Sequence[str] | None) -> bytes:
        return super()._text({name: column for name, column in at.items() if name not in self.names}, results, words)


class SolveWork(TensorWork):
    """From rows to rows with the unknowns, their derivatives by the other inputs, the residual, and the verdict."""

    @staticmethod
    def inputs(known: Sequence[Param], options: ResultOptions) -> list[Param]:
        unknowns = unknown_names(known, options)
        return [p for p in known if p.name not in unknowns]

    def __init__(self, task: Task, table: Table, options: ResultOptions, fixed: Mapping[str, Any]) -> None:
        super().__init__(task, table, options, fixed)
        unknowns = unknown_names(task.free, options)
        begins = {p.name: fixed.get(p.name, p.default) for p in task.free if p.name in unknowns}
        for name, begin in begins.items():
            if begin is None:
                raise AdError(f"the unknown '{name}' has no start", help=f"give one for all rows: --at {name}=1")
        self.constant = {**begins, **self.constant}
        self.words = self.strict = True
        ranks = {p.name: len(p.var.shape) for p in task.free}
        others = [p.name for p in task.free if p.name not in unknowns and not p.var.integer]
        rates = {partial_name(x, (p,)): ranks[x] + ranks[p] for p in others for x in begins}
        taken = Names.among(task.free, rates)
        self.names = [*begins, *rates, taken.fresh("residual")]
        layout = Layout(None, (), "", {}, tuple(self.names), (), taken.fresh("verdict"))
        self.form = Solved(table, options, layout, self.texts, self.form.number)
        self.form.ranks = [*map(ranks.__getitem__, begins), *rates.values(), 0]
        self.nothing = [None if rank else np.nan for rank in self.form.ranks]
        self.solver = sequel(task, None if options.wrt is None else tuple(options.inputs or ()),
                             None if options.of is None else tuple(options.outputs or ()), getattr(options, "equations", ()))

    @staticmethod
    def threads(jobs: int | None) -> int:
        """One after another, as a solution may be the start of the next."""
        return 1

    def _row(self, rows: Rows, i: int, at: dict[str, Any]) -> Found:
        if i in rows.faults:
            return self.nothing, 0
        try:
            told = SolveReport(self.solver(at))
        except AdError as fault:
            rows.faults[i] = Fault(fault.message, fault.help)
            return self.nothing, 0
        s = told.solution
        found = {**s.system.function.unpack(s.x), **told.derived(), self.names[-1]: s.norm}
        results = [found.get(name, nothing) for name, nothing in zip(self.names, self.nothing, strict=True)]
        return results, WORDS.index(told.verdict)

    def _rough(self, results: Sequence[Sequence[Any]], levels: Sequence[float]) -> list[int]:
        return [i for i, level in enumerate(levels) if WORDS[int(level)] not in (Root.SOLUTION, Root.LEAST_SQUARES)]

    @staticmethod
    def _words(levels: Sequence[float], faults: Mapping[int, Fault]) -> list[str]:
        return [faults[i].reason if i in faults else WORDS[int(level)] for i, level in enumerate(levels)]


def unknown_names(params: Sequence[Param], options: ResultOptions) -> list[str]:
    """The unknowns among inputs: those in --wrt, by default all but params."""
    return [p.name for p in params if p.active] if options.wrt is None else options.inputs or []


@lru_cache(1)
def sequel(task: Task, *asked: Any) -> Sequel:
    """The one Sequel for all tables of a run."""
    return Sequel(task.primal, *asked)


class SolveRun(TableRun):
    """Tables of known inputs on their way to solutions."""

    rough_words = "not solved", "not solved"

    @staticmethod
    def work_of(task: Task) -> type[SolveWork]:
        return SolveWork


class SolveReporter(Reporter):
    """Says of the first row without a solution why, as for a point."""

    asked: tuple[Any, ...] = ()

    def explained(self, row: Row) -> str:
        told = SolveReport(Sequel(self.task.primal, *self.asked)(row.at))
        return "\n".join([*map(str, told.reasons()), f"note: {told.sentence()}"])

    def conclude(self) -> int:
        return super().conclude() or int(self.failed)
